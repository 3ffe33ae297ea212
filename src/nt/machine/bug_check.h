/*
 * Bug checks: the codes that services raise, and the end of a run from whichever thread.
 *
 * Place      nt, private. KeBugCheckEx() is declared in wdm.h and implemented in bug_check.c.
 * Model      A run ends on the first thread always. A thread of the driver that stops the machine
 *            notes how, and gives its turn back: the first thread then ends the run for it.
 * Source     "Bug Check Code Reference", one page a code. Parameters are those of the reference;
 *            reserved ones, and those about things that there are none of here (trap frames,
 *            tracking structures of the memory manager), are 0.
 */
#ifndef DRYDOCK_NT_BUG_CHECK_H
#define DRYDOCK_NT_BUG_CHECK_H

#include "nt/nt.h"

/* The host is told of a crash, not of a bug check. Returns on the first thread only. */
void nt_crash_from_thread(struct nt *nt, const struct nt_crash *crash);

/* The host is told the sentence; ends the run. */
void nt_deadlock(struct nt *nt, const char *text) __attribute__((noreturn));

/* On the first thread, when a thread has stopped the machine: ends the run as it has noted. */
void nt_stop_run(struct nt *nt);

/* By code: those that services and faults raise, and those of the graphics kernel. */
#define NT_BUG_CHECKS(X)                                                                           \
    X(APC_INDEX_MISMATCH, 0x1)                                                                     \
    X(IRQL_NOT_GREATER_OR_EQUAL, 0x9)                                                              \
    X(IRQL_NOT_LESS_OR_EQUAL, 0xA)                                                                 \
    X(MAXIMUM_WAIT_OBJECTS_EXCEEDED, 0xC)                                                          \
    X(SPIN_LOCK_ALREADY_OWNED, 0xF)                                                                \
    X(SPIN_LOCK_NOT_OWNED, 0x10)                                                                   \
    X(THREAD_NOT_MUTEX_OWNER, 0x11)                                                                \
    X(KMODE_EXCEPTION_NOT_HANDLED, 0x1E)                                                           \
    X(NO_MORE_IRP_STACK_LOCATIONS, 0x35)                                                           \
    X(SYSTEM_EXIT_OWNED_MUTEX, 0x39)                                                               \
    X(TARGET_MDL_TOO_SMALL, 0x40)                                                                  \
    X(MULTIPLE_IRP_COMPLETE_REQUESTS, 0x44)                                                        \
    X(NO_PAGES_AVAILABLE, 0x4D)                                                                    \
    X(PFN_LIST_CORRUPT, 0x4E)                                                                      \
    X(PAGE_FAULT_IN_NONPAGED_AREA, 0x50)                                                           \
    X(SYSTEM_THREAD_EXCEPTION_NOT_HANDLED, 0x7E)                                                   \
    X(UNEXPECTED_KERNEL_MODE_TRAP, 0x7F)                                                           \
    X(ATTEMPTED_SWITCH_FROM_DPC, 0xB8)                                                             \
    X(ATTEMPTED_WRITE_TO_READONLY_MEMORY, 0xBE)                                                    \
    X(MUTEX_ALREADY_OWNED, 0xBF)                                                                   \
    X(SPECIAL_POOL_DETECTED_MEMORY_CORRUPTION, 0xC1)                                               \
    X(BAD_POOL_CALLER, 0xC2)                                                                       \
    X(TIMER_OR_DPC_INVALID, 0xC7)                                                                  \
    X(DRIVER_IRQL_NOT_LESS_OR_EQUAL, 0xD1)                                                         \
    X(SYSTEM_PTE_MISUSE, 0xDA)                                                                     \
    X(WORKER_THREAD_RETURNED_AT_BAD_IRQL, 0xE1)                                                    \
    X(RESOURCE_NOT_OWNED, 0xE3)                                                                    \
    X(WORKER_INVALID, 0xE4)                                                                        \
    X(ACTIVE_EX_WORKER_THREAD_TERMINATION, 0xE9)                                                   \
    X(ATTEMPTED_EXECUTE_OF_NOEXECUTE_MEMORY, 0xFC)                                                 \
    X(VIDEO_MEMORY_MANAGEMENT_INTERNAL, 0x10E)                                                     \
    X(VIDEO_DXGKRNL_FATAL_ERROR, 0x113)                                                            \
    X(VIDEO_TDR_FAILURE, 0x116)                                                                    \
    X(VIDEO_SCHEDULER_INTERNAL_ERROR, 0x119)                                                       \
    X(KERNEL_SECURITY_CHECK_FAILURE, 0x139)                                                        \
    X(THREAD_TERMINATE_HELD_MUTEX, 0x4000008A)

enum {
#define X(name, code) NT_##name = (code),
    NT_BUG_CHECKS(X)
#undef X
};

/* First parameter of NT_PFN_LIST_CORRUPT. */
#define NT_PFN_LIST_IS_WRONG 0x99u
#define NT_PFN_NOT_LOCKED    0x07u /* unlocked more often than locked */

/* First parameter of NT_SYSTEM_PTE_MISUSE. */
#define NT_PTE_WRONG_COUNT   0x02u
#define NT_PTE_WRONG_MAPPING 0x03u
#define NT_PTE_WRONG_PAGE    0x04u
#define NT_PTE_NOT_MAPPED    0x06u
/* And of ranges of addresses that a driver reserves. */
#define NT_PTE_RESERVE_NOTHING     0x100u
#define NT_PTE_FREE_OF_OTHERS      0x101u
#define NT_PTE_FREE_OF_NOTHING     0x102u
#define NT_PTE_FREE_OF_MAPPED      0x103u
#define NT_PTE_MAP_TO_OTHERS       0x104u
#define NT_PTE_MAP_TO_NOTHING      0x105u
#define NT_PTE_MAP_TO_MAPPED       0x107u
#define NT_PTE_UNMAP_OF_OTHERS     0x108u
#define NT_PTE_UNMAP_OF_NOTHING    0x109u
#define NT_PTE_UNMAP_OF_NOT_MAPPED 0x10Bu

/* Fourth parameter of NT_SPECIAL_POOL_DETECTED_MEMORY_CORRUPTION. */
#define NT_SPECIAL_POOL_NEARBY 0x23u
#define NT_SPECIAL_POOL_BEHIND 0x24u

/* First parameter of NT_BAD_POOL_CALLER. */
#define NT_POOL_FREE_TWICE      0x07u
#define NT_POOL_ALLOCATE_IRQL   0x08u
#define NT_POOL_FREE_IRQL       0x09u
#define NT_POOL_FREE_TAG        0x0Au
#define NT_POOL_FREE_ADDRESS    0x46u
#define NT_POOL_FREE_CONTIGUOUS 0x60u
#define NT_POOL_TAG_ZERO        0x9Bu

#endif
