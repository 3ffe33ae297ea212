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

#define NT_APC_INDEX_MISMATCH                    0x01u
#define NT_IRQL_NOT_GREATER_OR_EQUAL             0x09u
#define NT_IRQL_NOT_LESS_OR_EQUAL                0x0Au
#define NT_MAXIMUM_WAIT_OBJECTS_EXCEEDED         0x0Cu
#define NT_SPIN_LOCK_ALREADY_OWNED               0x0Fu
#define NT_SPIN_LOCK_NOT_OWNED                   0x10u
#define NT_THREAD_NOT_MUTEX_OWNER                0x11u
#define NT_KMODE_EXCEPTION_NOT_HANDLED           0x1Eu
#define NT_SYSTEM_EXIT_OWNED_MUTEX               0x39u
#define NT_TARGET_MDL_TOO_SMALL                  0x40u
#define NT_NO_PAGES_AVAILABLE                    0x4Du
#define NT_PFN_LIST_CORRUPT                      0x4Eu
#define NT_PAGE_FAULT_IN_NONPAGED_AREA           0x50u
#define NT_SYSTEM_THREAD_EXCEPTION_NOT_HANDLED   0x7Eu
#define NT_UNEXPECTED_KERNEL_MODE_TRAP           0x7Fu
#define NT_ATTEMPTED_SWITCH_FROM_DPC             0xB8u
#define NT_ATTEMPTED_WRITE_TO_READONLY_MEMORY    0xBEu
#define NT_MUTEX_ALREADY_OWNED                   0xBFu
#define NT_SPECIAL_POOL_CORRUPTION               0xC1u
#define NT_BAD_POOL_CALLER                       0xC2u
#define NT_TIMER_OR_DPC_INVALID                  0xC7u
#define NT_DRIVER_IRQL_NOT_LESS_OR_EQUAL         0xD1u
#define NT_SYSTEM_PTE_MISUSE                     0xDAu
#define NT_WORKER_THREAD_RETURNED_AT_BAD_IRQL    0xE1u
#define NT_RESOURCE_NOT_OWNED                    0xE3u
#define NT_WORKER_INVALID                        0xE4u
#define NT_ACTIVE_EX_WORKER_THREAD_TERMINATION   0xE9u
#define NT_ATTEMPTED_EXECUTE_OF_NOEXECUTE_MEMORY 0xFCu
#define NT_KERNEL_SECURITY_CHECK_FAILURE         0x139u
#define NT_THREAD_TERMINATE_HELD_MUTEX           0x4000008Au

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

/* Fourth parameter of NT_SPECIAL_POOL_CORRUPTION. */
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
