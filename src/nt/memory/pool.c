/* The pool's services: the IRQL that each may be called at, and the bug checks for bad pointers. */
#include "nt/memory/pool.h"

#include "nt/machine/bug_check.h"
#include "nt/nt_private.h"

#include <string.h>

#define FRESH_BYTE 0xcd /* of memory that was not asked to be zero */

/* ---- Take ------------------------------------------------------------------------------------ */

static void *allocate(struct nt *nt, uint64_t bytes, uint32_t tag, bool is_paged, bool is_zeroed)
{
    struct nt_pool *pool = nt_pool_of(nt);
    struct pool_header *header;

    pool->allocation_count++;
    if (nt->irql > (is_paged ? APC_LEVEL : DISPATCH_LEVEL))
        KeBugCheckEx(NT_BAD_POOL_CALLER, NT_POOL_ALLOCATE_IRQL, nt->irql, is_paged, bytes);
    if (!tag)
        KeBugCheckEx(NT_BAD_POOL_CALLER, NT_POOL_TAG_ZERO, is_paged, bytes, nt_caller(nt));
    if (pool->allocation_count == pool->fail_at || !bytes ||
        bytes > NT_POOL_MOST_BYTES - pool->live_bytes)
        return NULL;
    header = nt_pool_take(nt, bytes, tag, is_paged);
    if (!header)
        return NULL;
    if (!is_zeroed)
        memset(header->memory, FRESH_BYTE, bytes);
    return header->memory;
}

static void *or_raise(void *memory, bool raises)
{
    if (!memory && raises)
        ExRaiseStatus(STATUS_INSUFFICIENT_RESOURCES);
    return memory;
}

#define POOL_KINDS (POOL_FLAG_NON_PAGED | POOL_FLAG_NON_PAGED_EXECUTE | POOL_FLAG_PAGED)

/* One kind of pool, and no flag of the required half that nobody knows. */
static bool is_lawful(POOL_FLAGS flags)
{
    const POOL_FLAGS known = POOL_KINDS | POOL_FLAG_USE_QUOTA | POOL_FLAG_UNINITIALIZED |
                             POOL_FLAG_SESSION | POOL_FLAG_CACHE_ALIGNED |
                             POOL_FLAG_RAISE_ON_FAILURE | POOL_FLAG_SPECIAL_POOL;
    POOL_FLAGS kind = flags & POOL_KINDS;

    return kind && !(kind & (kind - 1)) && !((ULONG)flags & ~(ULONG)known);
}

PVOID NTAPI ExAllocatePool2(POOL_FLAGS Flags, SIZE_T NumberOfBytes, ULONG Tag)
{
    bool raises = (Flags & POOL_FLAG_RAISE_ON_FAILURE) != 0;

    if (!is_lawful(Flags)) {
        if (raises)
            ExRaiseStatus(STATUS_INVALID_PARAMETER);
        return NULL;
    }
    return or_raise(allocate(nt_current(), NumberOfBytes, Tag, (Flags & POOL_FLAG_PAGED) != 0,
                             !(Flags & POOL_FLAG_UNINITIALIZED)),
                    raises);
}

PVOID NTAPI ExAllocatePool3(POOL_FLAGS Flags, SIZE_T NumberOfBytes, ULONG Tag,
                            PCPOOL_EXTENDED_PARAMETER ExtendedParameters,
                            ULONG ExtendedParametersCount)
{
    return ExAllocatePool2(Flags, NumberOfBytes, Tag);
}

PVOID NTAPI ExAllocatePoolWithTag(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag)
{
    return or_raise(allocate(nt_current(), NumberOfBytes, Tag, (PoolType & PagedPool) != 0,
                             (PoolType & POOL_ZERO_ALLOCATION) != 0),
                    (PoolType & POOL_RAISE_IF_ALLOCATION_FAILURE) != 0);
}

PVOID NTAPI ExAllocatePool(POOL_TYPE PoolType, SIZE_T NumberOfBytes)
{
    return ExAllocatePoolWithTag(PoolType, NumberOfBytes, NT_POOL_NO_TAG);
}

PVOID NTAPI ExAllocatePoolWithTagPriority(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag,
                                          EX_POOL_PRIORITY Priority)
{
    return ExAllocatePoolWithTag(PoolType, NumberOfBytes, Tag);
}

/*
 * The system process has no quota; the particular thing is that a failure raises unless the caller
 * asks for NULL.
 */
PVOID NTAPI ExAllocatePoolWithQuotaTag(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag)
{
    bool raises = !(PoolType & POOL_QUOTA_FAIL_INSTEAD_OF_RAISE);

    return or_raise(ExAllocatePoolWithTag((POOL_TYPE)(PoolType & ~POOL_QUOTA_FAIL_INSTEAD_OF_RAISE),
                                          NumberOfBytes, Tag),
                    raises);
}

/* ---- Give back ------------------------------------------------------------------------------- */

/* The first byte of a range that is not as it was filled; NULL: all are. */
static const uint8_t *find_change(const uint8_t *from, const uint8_t *end)
{
    while (from < end && *from == NT_POOL_SLACK_BYTE)
        from++;
    return from < end ? from : NULL;
}

static void check_slack(const struct pool_header *header)
{
    const uint8_t *changed;

    if (!header->is_guarded)
        return;
    changed =
        find_change(header->memory + header->bytes, header->pages + header->page_count * PAGE_SIZE);
    if (changed)
        KeBugCheckEx(NT_SPECIAL_POOL_DETECTED_MEMORY_CORRUPTION, (ULONG_PTR)header->memory,
                     (ULONG_PTR)changed, 0, NT_SPECIAL_POOL_BEHIND);
    changed = find_change(header->pages, header->memory);
    if (changed)
        KeBugCheckEx(NT_SPECIAL_POOL_DETECTED_MEMORY_CORRUPTION, (ULONG_PTR)header->memory,
                     (ULONG_PTR)changed, 0, NT_SPECIAL_POOL_NEARBY);
}

/* Tag 0 frees any block. */
VOID NTAPI ExFreePoolWithTag(PVOID P, ULONG Tag)
{
    struct nt *nt = nt_current();
    struct pool_header *header = nt_pool_header(nt, P);

    if (!header) {
        const struct nt_pool_block *freed = nt_pool_find_freed(nt, P);

        if (freed && freed->memory == P)
            KeBugCheckEx(NT_BAD_POOL_CALLER, NT_POOL_FREE_TWICE, 0, freed->tag, (ULONG_PTR)P);
        KeBugCheckEx(NT_BAD_POOL_CALLER, NT_POOL_FREE_ADDRESS, (ULONG_PTR)P, 0, 0);
    }
    if (nt->irql > (header->is_paged ? APC_LEVEL : DISPATCH_LEVEL))
        KeBugCheckEx(NT_BAD_POOL_CALLER, NT_POOL_FREE_IRQL, nt->irql, header->is_paged,
                     (ULONG_PTR)P);
    if (Tag && Tag != header->tag)
        KeBugCheckEx(NT_BAD_POOL_CALLER, NT_POOL_FREE_TAG, (ULONG_PTR)P, header->tag, Tag);
    check_slack(header);
    nt_memory_freed(nt, P, header->bytes);
    nt_pool_destroy(nt, header);
}

VOID NTAPI ExFreePool(PVOID P)
{
    ExFreePoolWithTag(P, 0);
}

VOID NTAPI ExFreePool2(PVOID P, ULONG Tag, PCPOOL_EXTENDED_PARAMETER ExtendedParameters,
                       ULONG ExtendedParametersCount)
{
    ExFreePoolWithTag(P, Tag);
}

static const struct nt_export services[] = {
    NT_SERVICE(ExAllocatePool),
    NT_SERVICE(ExAllocatePool2),
    NT_SERVICE(ExAllocatePool3),
    NT_SERVICE(ExAllocatePoolWithTag),
    NT_SERVICE(ExAllocatePoolWithTagPriority),
    NT_SERVICE(ExAllocatePoolWithQuotaTag),
    NT_SERVICE(ExFreePoolWithTag),
    NT_SERVICE(ExFreePool),
    NT_SERVICE(ExFreePool2),
    {0},
};

const struct nt_area nt_pool_area = {.exports = services};
