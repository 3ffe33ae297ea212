/*
 * Exceptions: raised by services and by the processor, handled by the tables of the driver's image.
 *
 * Place      nt. Over image/unwind.h (frames and handlers) and boundary.h (stacks). Services raise
 *            with exception_raise(); trap.c gives the faults. Services for drivers are declared in
 *            wdm/exception.h.
 * Model      An exception begins where the image called a service, or at the instruction that
 *            faulted. From there on, frame by frame, the handlers of the image are asked:
 *
 *                image: Foo -> Bar -> ExRaiseStatus --service--> bench: Bar's? Foo's?
 *                                                                   |      |
 *                image:                                  handler <--entry--  ...
 *
 *            A handler is the image's; that of C calls __C_specific_handler, which is ours, asks
 *            the filters of __except, and unwinds with RtlUnwindEx, which runs every __finally up
 *            to the frame that handles and goes on there. An exception in a filter or in a
 *            __finally is looked for further out, behind the frame whose handlers ran. It does not
 *            pass a service that called the image back (a DPC, a comparison): there it is
 *            unhandled.
 *
 *            Faults end as on Windows:
 *
 *                page fault at DISPATCH_LEVEL or above       bug check 0xD1, at once
 *                beyond the kernel stack                     bug check 0x7F, 8: a double fault
 *                executing data                              bug check 0xFC
 *                writing to a read-only section of the image bug check 0xBE
 *                an address of the kernel's half, or pages   bug check 0x50
 *                    that are there and may not be touched
 *                any other page fault                        STATUS_ACCESS_VIOLATION
 *                divide error, invalid opcode, int3, ...     their exceptions
 *
 *            A service that faults where an argument of the image led it faults for the image
 *            (service_fault.h): the same, but from DISPATCH_LEVEL on bug check 0xA, also in
 *            services that raise the IRQL themselves (KeSetEvent). Its exceptions begin where the
 *            image called it, and name the argument. In a callback of the graphics kernel
 *            (DxgkCb...) the handlers of the image are not asked.
 *
 *            Any other fault in the bench's own code, while it serves the image, stays a crash of
 *            the bench. The service and the place in the image go to standard error.
 *
 *            An exception that nobody handles is bug check 0x1E, in a thread of the driver 0x7E,
 *            and goes to nt_host.crash with the registers and the frames of the image.
 * Limits     Linked-in drivers have no tables: every exception of theirs is unhandled. A debugger's
 *            second chance, vectored handlers and x87 state: there are none. An integer division
 *            whose quotient is too large is STATUS_INTEGER_DIVIDE_BY_ZERO too: Linux does not tell
 *            them apart.
 * Errors     None: when nothing can go on, the run ends with a crash.
 * Source     Documentation of x64 exception handling, of the functions, and of bug checks 0xA,
 *            0x1E, 0x50, 0x7E, 0x7F, 0xBE, 0xD1 and 0xFC.
 */
#ifndef DRYDOCK_NT_EXCEPTION_H
#define DRYDOCK_NT_EXCEPTION_H

#include "nt/nt.h"

#include <wdm.h>

/*
 * Raises the exception where the image called the innermost service. Never returns: the image goes
 * on in its handler, or in the caller when a filter says EXCEPTION_CONTINUE_EXECUTION.
 * ExceptionAddress is filled in when it is NULL.
 */
void exception_raise(struct nt *nt, EXCEPTION_RECORD *record) __attribute__((noreturn));
void exception_raise_status(struct nt *nt, NTSTATUS status) __attribute__((noreturn));

/*
 * In a signal handler: whether the fault is the image's; then it is dispatched when the handler
 * returns. info is a siginfo_t.
 */
bool exception_take_fault(struct nt *nt, int signal, const void *info, void *context);

/* The same for "int 29h": bug check 0x139, with the code in ecx. */
void exception_take_fast_fail(struct nt *nt, void *context);

/*
 * Where the image is, a line for each of its frames: from a signal's context, or, with NULL, from
 * where it called the innermost service. "" when it runs nothing. The length. Fit for signal
 * handlers.
 */
size_t exception_backtrace(const struct nt *nt, const void *signal_context, char *text,
                           size_t size);

/* "mygpu.sys!Foo+0x1f", or the address as a number. */
void exception_name_address(const struct nt *nt, uint64_t address, char *text, size_t size);

#endif
