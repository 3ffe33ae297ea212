/*
 * Lists and sums that are changed in one piece: nothing else of the driver's runs in a service.
 */
#include "nt/machine/bug_check.h"
#include "nt/nt_private.h"

/*
 * The first parameter of bug check 0x139; the others are a trap frame and a record, which there are
 * not.
 */
#define FAST_FAIL_CORRUPT_LIST_ENTRY 3

/* The holder of the lock was interrupted, and would never give it back. */
static void require_free(PKSPIN_LOCK lock)
{
    if (*lock)
        KeBugCheckEx(NT_SPIN_LOCK_ALREADY_OWNED, (ULONG_PTR)lock, 0, 0, 0);
}

static PLIST_ENTRY none_if_head(PLIST_ENTRY head, PLIST_ENTRY entry)
{
    return entry == head ? NULL : entry;
}

static void link_between(PLIST_ENTRY before, PLIST_ENTRY entry, PLIST_ENTRY after)
{
    if (before->Flink != after || after->Blink != before)
        KeBugCheckEx(NT_KERNEL_SECURITY_CHECK_FAILURE, FAST_FAIL_CORRUPT_LIST_ENTRY, 0, 0, 0);
    entry->Flink = after;
    entry->Blink = before;
    before->Flink = entry;
    after->Blink = entry;
}

PLIST_ENTRY NTAPI ExInterlockedInsertHeadList(PLIST_ENTRY ListHead, PLIST_ENTRY ListEntry,
                                              PKSPIN_LOCK Lock)
{
    PLIST_ENTRY first = ListHead->Flink;

    require_free(Lock);
    link_between(ListHead, ListEntry, first);
    return none_if_head(ListHead, first);
}

PLIST_ENTRY NTAPI ExInterlockedInsertTailList(PLIST_ENTRY ListHead, PLIST_ENTRY ListEntry,
                                              PKSPIN_LOCK Lock)
{
    PLIST_ENTRY last = ListHead->Blink;

    require_free(Lock);
    link_between(last, ListEntry, ListHead);
    return none_if_head(ListHead, last);
}

PLIST_ENTRY NTAPI ExInterlockedRemoveHeadList(PLIST_ENTRY ListHead, PKSPIN_LOCK Lock)
{
    PLIST_ENTRY first = ListHead->Flink;

    require_free(Lock);
    if (first == ListHead)
        return NULL;
    if (first->Blink != ListHead || first->Flink->Blink != first)
        KeBugCheckEx(NT_KERNEL_SECURITY_CHECK_FAILURE, FAST_FAIL_CORRUPT_LIST_ENTRY, 0, 0, 0);
    ListHead->Flink = first->Flink;
    first->Flink->Blink = ListHead;
    return first;
}

PSINGLE_LIST_ENTRY NTAPI ExInterlockedPushEntryList(PSINGLE_LIST_ENTRY ListHead,
                                                    PSINGLE_LIST_ENTRY ListEntry, PKSPIN_LOCK Lock)
{
    PSINGLE_LIST_ENTRY before = ListHead->Next;

    require_free(Lock);
    ListEntry->Next = before;
    ListHead->Next = ListEntry;
    return before;
}

PSINGLE_LIST_ENTRY NTAPI ExInterlockedPopEntryList(PSINGLE_LIST_ENTRY ListHead, PKSPIN_LOCK Lock)
{
    PSINGLE_LIST_ENTRY first = ListHead->Next;

    require_free(Lock);
    if (first)
        ListHead->Next = first->Next;
    return first;
}

LARGE_INTEGER NTAPI ExInterlockedAddLargeInteger(PLARGE_INTEGER Addend, LARGE_INTEGER Increment,
                                                 PKSPIN_LOCK Lock)
{
    LARGE_INTEGER before = *Addend;

    require_free(Lock);
    Addend->QuadPart = (LONGLONG)((ULONGLONG)before.QuadPart + (ULONGLONG)Increment.QuadPart);
    return before;
}

ULONG NTAPI ExInterlockedAddUlong(PULONG Addend, ULONG Increment, PKSPIN_LOCK Lock)
{
    ULONG before = *Addend;

    require_free(Lock);
    *Addend += Increment;
    return before;
}

/* ---- SLISTs ---------------------------------------------------------------------------------- */

static PSLIST_ENTRY first_of(PSLIST_HEADER head)
{
    return (PSLIST_ENTRY)(uintptr_t)((ULONGLONG)head->HeaderX64.NextEntry << 4);
}

static void set_first(PSLIST_HEADER head, PSLIST_ENTRY first, ULONGLONG depth)
{
    head->HeaderX64.NextEntry = (uintptr_t)first >> 4;
    head->HeaderX64.Depth = depth & 0xffff;
    head->HeaderX64.Sequence++;
}

VOID NTAPI InitializeSListHead(PSLIST_HEADER SListHead)
{
    SListHead->Alignment = SListHead->Region = 0;
}

PSLIST_ENTRY NTAPI ExpInterlockedPushEntrySList(PSLIST_HEADER ListHead, PSLIST_ENTRY ListEntry)
{
    PSLIST_ENTRY before = first_of(ListHead);

    if ((uintptr_t)ListEntry % MEMORY_ALLOCATION_ALIGNMENT)
        nt_misuse(nt_current(), "an entry of an SLIST is not aligned to %d bytes",
                  MEMORY_ALLOCATION_ALIGNMENT);
    ListEntry->Next = before;
    set_first(ListHead, ListEntry, ListHead->HeaderX64.Depth + 1u);
    return before;
}

PSLIST_ENTRY NTAPI ExpInterlockedPopEntrySList(PSLIST_HEADER ListHead)
{
    PSLIST_ENTRY first = first_of(ListHead);

    if (first)
        set_first(ListHead, first->Next, ListHead->HeaderX64.Depth - 1u);
    return first;
}

PSLIST_ENTRY NTAPI ExpInterlockedFlushSList(PSLIST_HEADER ListHead)
{
    PSLIST_ENTRY first = first_of(ListHead);

    set_first(ListHead, NULL, 0);
    return first;
}

USHORT NTAPI ExQueryDepthSList(PSLIST_HEADER SListHead)
{
    return (USHORT)SListHead->HeaderX64.Depth;
}

PSLIST_ENTRY NTAPI RtlFirstEntrySList(const SLIST_HEADER *ListHead)
{
    return (PSLIST_ENTRY)(uintptr_t)((ULONGLONG)ListHead->HeaderX64.NextEntry << 4);
}

static const struct nt_export services[] = {
    NT_SERVICE(ExInterlockedInsertHeadList),  NT_SERVICE(ExInterlockedInsertTailList),
    NT_SERVICE(ExInterlockedRemoveHeadList),  NT_SERVICE(ExInterlockedPushEntryList),
    NT_SERVICE(ExInterlockedPopEntryList),    NT_SERVICE(ExInterlockedAddLargeInteger),
    NT_SERVICE(ExInterlockedAddUlong),        NT_SERVICE(InitializeSListHead),
    NT_SERVICE(ExpInterlockedPushEntrySList), NT_SERVICE(ExpInterlockedPopEntrySList),
    NT_SERVICE(ExpInterlockedFlushSList),     NT_SERVICE(ExQueryDepthSList),
    NT_SERVICE(RtlFirstEntrySList),           {0},
};

const struct nt_area nt_interlocked_area = {.exports = services};
