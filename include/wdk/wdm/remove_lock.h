/*
 * Remove locks: a count of who uses a device, that is waited for before the device goes.
 *
 * Place   include/wdk/wdm.
 * Model   The lock has the size of a free build's; sources of checked builds have the same here.
 * Source  Public documentation of the macros and of the functions that they wrap.
 */
#ifndef WDM_REMOVE_LOCK_H
#define WDM_REMOVE_LOCK_H

#include "sync.h"

typedef struct _IO_REMOVE_LOCK {
    ULONG_PTR Reserved[4];
} IO_REMOVE_LOCK, *PIO_REMOVE_LOCK;

EXTERN_C_START

NTKERNELAPI VOID NTAPI IoInitializeRemoveLockEx(PIO_REMOVE_LOCK Lock, ULONG AllocateTag,
                                                ULONG MaxLockedMinutes, ULONG HighWatermark,
                                                ULONG RemlockSize);
/* STATUS_DELETE_PENDING: IoReleaseRemoveLockAndWait has been called. */
NTKERNELAPI NTSTATUS NTAPI IoAcquireRemoveLockEx(PIO_REMOVE_LOCK RemoveLock, PVOID Tag, PCSTR File,
                                                 ULONG Line, ULONG RemlockSize);
NTKERNELAPI VOID NTAPI IoReleaseRemoveLockEx(PIO_REMOVE_LOCK RemoveLock, PVOID Tag,
                                             ULONG RemlockSize);
NTKERNELAPI VOID NTAPI IoReleaseRemoveLockAndWaitEx(PIO_REMOVE_LOCK RemoveLock, PVOID Tag,
                                                    ULONG RemlockSize);

EXTERN_C_END

#define IoInitializeRemoveLock(lock, tag, minutes, high)                                           \
    IoInitializeRemoveLockEx((lock), (tag), (minutes), (high), sizeof(IO_REMOVE_LOCK))
#define IoAcquireRemoveLock(lock, tag)                                                             \
    IoAcquireRemoveLockEx((lock), (tag), __FILE__, __LINE__, sizeof(IO_REMOVE_LOCK))
#define IoReleaseRemoveLock(lock, tag) IoReleaseRemoveLockEx((lock), (tag), sizeof(IO_REMOVE_LOCK))
#define IoReleaseRemoveLockAndWait(lock, tag)                                                      \
    IoReleaseRemoveLockAndWaitEx((lock), (tag), sizeof(IO_REMOVE_LOCK))

#endif
