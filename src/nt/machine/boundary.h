/*
 * Boundary: where control passes between the bench and the code of a driver image.
 *
 * Place      nt. The host of an image makes its imports, its callbacks and the functions that it
 *            registers pass here; drivers that are linked in call the services directly.
 * Model      A thread of the driver has two stacks. On the kernel stack, which has the size of a
 *            real one and pages around it that nobody may touch, runs the code of the image; on the
 *            bench's stack all other code. On the thread that calls the driver's DDIs the kernel's
 *            own frames have taken BOUNDARY_KERNEL_FRAMES before the first frame of the driver. So
 *            a driver that needs too much stack is found out, and the bench never runs on a stack
 *            that is nearly used up. Both grow and shrink together, like one:
 *
 *                bench: calls DxgkDdiX --entry--> driver: calls KeSetEvent --service--> bench: ...
 *
 *            boundary_entry() makes, of a function of the image, one that the bench may call;
 *            boundary_service(), of a function of the bench, one that the image may call. Both ends
 *            use the driver's calling convention. Up to BOUNDARY_ARGUMENTS arguments of 8 bytes
 *            pass.
 *
 *            A service can ask who called it: the registers that a function preserves, and where it
 *            returns to. That is where an exception that the service raises begins.
 *
 *            A driver that returns with other preserved registers than it was called with would
 *            break its caller in ways that nobody understands later: the boundary reports it, gives
 *            the caller its registers, and goes on. So for a service that is called with a stack
 *            that is not aligned. What is left in x87 and MMX registers is reported where they are
 *            not empty; their use alone is not.
 * Ownership  The boundary owns the functions that it makes; those behind them outlive it.
 * Errors     NULL: no memory, or a host that is not x86-64.
 * Units      Bytes.
 * Source     The x64 calling convention's public documentation. A kernel stack of x64 has 24 KiB.
 */
#ifndef DRYDOCK_NT_BOUNDARY_H
#define DRYDOCK_NT_BOUNDARY_H

#include "base/services.h"

#include <ntdef.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BOUNDARY_ARGUMENTS    16
#define BOUNDARY_REGISTERS    4 /* arguments in registers */
#define BOUNDARY_KERNEL_STACK (24u * 1024)
/* As a dump shows them below DxgkDdiBuildPagingBuffer (docs/observed.md, O23). */
#define BOUNDARY_KERNEL_FRAMES 0x12d0u

struct boundary;

/*
 * What of the calling convention an image has not kept, by register number where there are several
 * (3 rbx, 5 rbp, 6 rsi, 7 rdi, 12 to 15; 6 to 15 of xmm).
 */
enum boundary_rule {
    BOUNDARY_GENERAL,
    BOUNDARY_VECTOR, /* before and after: the half that differs first */
    BOUNDARY_DIRECTION,
    BOUNDARY_X87_CONTROL,
    BOUNDARY_X87_STACK, /* its tags: MMX registers are the same ones */
    BOUNDARY_MXCSR,     /* its control bits */
    BOUNDARY_GS_BASE,
    BOUNDARY_STACK,          /* rsp as a service is called */
    BOUNDARY_CALL_DIRECTION, /* the same of the direction flag */
};

struct boundary_breach {
    enum boundary_rule rule;
    unsigned number;
    const void *function; /* of the image, which returned; of a call, the service */
    uint64_t before, after;
};

/* One at a time in a process. broken, which may be NULL, is told of each breach. */
struct boundary *
boundary_create(const struct base_services *services,
                void (*broken)(void *context, const struct boundary_breach *breach), void *context);
void boundary_destroy(struct boundary *boundary);

/* The same for the same function. NULL for NULL. */
void *boundary_entry(struct boundary *boundary, const void *function);
void *boundary_service(struct boundary *boundary, const void *function);

/* One that the image may call with any arguments: runs function(context), whose result it gets. */
void *boundary_closure(struct boundary *boundary, uint64_t(NTAPI *function)(void *context),
                       void *context);

/* The function that boundary_entry() or boundary_service() made the thunk of; NULL: neither did. */
const void *boundary_target(const struct boundary *boundary, const void *thunk);

/* ---- Threads --------------------------------------------------------------------------------- */

/* A pair of stacks. The one that every boundary begins with uses the bench's own stack. */
struct boundary_thread;

/*
 * It will run function(argument) on a stack of the bench when it is switched to; function never
 * returns.
 */
struct boundary_thread *boundary_thread_create(struct boundary *boundary,
                                               void (*function)(void *argument), void *argument);

/* Not the one that runs. */
void boundary_thread_destroy(struct boundary_thread *thread);

struct boundary_thread *boundary_current_thread(const struct boundary *boundary);

/*
 * From a stack of the bench: goes on where the other one was. Returns when somebody switches back.
 */
void boundary_switch(struct boundary_thread *to);

/* ---- Who called ------------------------------------------------------------------------------ */

/* Registers that a call preserves, in the order of their numbers. */
struct boundary_registers {
    uint64_t rbx, rbp, rsi, rdi, r12, r13, r14, r15;
    uint64_t rsp, rip;   /* behind the return from the call */
    uint8_t xmm[10][16]; /* xmm6 to xmm15 */
};

/* Picked from all registers: general ones by their numbers, vectors from xmm0 on. */
static inline struct boundary_registers boundary_preserved(const uint64_t general[16],
                                                           const void *vectors, uint64_t rip)
{
    struct boundary_registers registers = {.rbx = general[3],
                                           .rbp = general[5],
                                           .rsi = general[6],
                                           .rdi = general[7],
                                           .r12 = general[12],
                                           .r13 = general[13],
                                           .r14 = general[14],
                                           .r15 = general[15],
                                           .rsp = general[4],
                                           .rip = rip};

    memcpy(registers.xmm, (const uint8_t *)vectors + 6 * sizeof registers.xmm[0],
           sizeof registers.xmm);
    return registers;
}

/*
 * In a service: the caller in the image, of the innermost call; NULL: none, the bench runs on its
 * own.
 */
struct boundary_registers *boundary_caller(const struct boundary *boundary);

/* One call out of the image that is under way, on the bench's stack. */
struct boundary_call {
    struct boundary_registers registers; /* of the caller */
    struct boundary_call *outer;         /* the call in which the image was called; NULL: none */
    uint64_t outer_kernel_sp, kernel_sp;
    const void *function; /* of the bench; NULL: none was called, it was interrupted */
    void *note;           /* NULL; a note of the service that is called */
    uint64_t arguments[BOUNDARY_REGISTERS]; /* the first ones, as they came */
    uint64_t unused;
};

/* The argument with this number, from 0; 0 where there can be none. */
uint64_t boundary_argument(const struct boundary_call *call, unsigned index);

/* The last one of the running thread; NULL: none. */
struct boundary_call *boundary_innermost_call(const struct boundary *boundary);

/*
 * The innermost call has been abandoned for good: the one around it is the innermost. Not the last
 * one.
 */
void boundary_drop_call(struct boundary *boundary);

/* Whether a function of the image that returns to this address returns to the bench. */
bool boundary_is_return(uint64_t address);

/*
 * In a service or where the innermost call has been abandoned: gives the calls up to the one with
 * this kernel stack pointer up, and goes on in the image with these registers and rax. Does not
 * return.
 */
void boundary_resume(struct boundary *boundary, const struct boundary_registers *registers,
                     uint64_t rax) __attribute__((noreturn));

/*
 * All registers that a program has, the general ones by their numbers: rax, rcx, rdx, rbx, rsp...
 */
struct boundary_state {
    uint64_t general[16];
    uint64_t rip, flags;
    uint8_t vector[16][16];
    uint32_t mxcsr;
};

/* The same with all registers, for where the image was interrupted. */
void boundary_continue(struct boundary *boundary, const struct boundary_state *state)
    __attribute__((noreturn));

/*
 * Behind a longjmp() of the bench out of the driver: the first thread runs, on the bench's own
 * stack, and no call is under way.
 */
void boundary_abandon(struct boundary *boundary);

/* ---- For signal handlers --------------------------------------------------------------------- */

/* Whether the address is on a kernel stack of the running thread, or on the pages around it. */
bool boundary_is_on_stack(const struct boundary *boundary, uint64_t address);
bool boundary_is_beyond_stack(const struct boundary *boundary, uint64_t address);

/*
 * Whether the bench can run with its stack pointer there: on the stack of a thread, or of signal
 * handlers.
 */
bool boundary_is_on_bench_stack(const struct boundary *boundary, uint64_t address);

void boundary_state_of_signal(const void *signal, struct boundary_state *out);

/*
 * When the signal's handler returns, goes on with function(call, data) on the bench's stack, as if
 * the image had called it where it was interrupted; the registers there are the caller's. data is
 * copied to that stack. The function never returns: it ends in boundary_continue(),
 * boundary_resume() or outside.
 */
void boundary_interrupt(struct boundary *boundary, void *signal,
                        void (*function)(struct boundary_call *call, const void *data),
                        const void *data, size_t bytes);

/*
 * How deep kernel stacks have been, over all threads, with the kernel's own frames; found by the
 * bytes that were written to.
 */
size_t boundary_deepest_stack(const struct boundary *boundary);

#endif
