/*
 * Addresses that a driver reserves, to show pages at them later without anything that could fail.
 *
 * A range has one owner, told by its tag, and shows one list at a time, from its first page on.
 */
#include "nt/machine/bug_check.h"
#include "nt/memory/mapping.h"
#include "nt/nt_private.h"

#include "base/bits.h"

#include <stdio.h>

struct reserved_range {
    struct list link; /* in ranges() */
    uint8_t *address;
    uint64_t page_count;
    ULONG tag;
    struct nt_mapping *mapping; /* NULL: nothing is shown */
};

/* The state of the area: of struct reserved_range. */
static struct list *ranges(const struct nt *nt)
{
    return NT_STATE(nt, reserved_mapping);
}

static struct reserved_range *find_range(struct nt *nt, const void *address)
{
    struct reserved_range *range;

    list_for_each (range, ranges(nt), struct reserved_range, link) {
        if (range->address == (const uint8_t *)address)
            return range;
    }
    return NULL;
}

PVOID NTAPI MmAllocateMappingAddress(SIZE_T NumberOfBytes, ULONG PoolTag)
{
    struct nt *nt = nt_current();
    struct reserved_range *range;

    nt_require_irql(nt, "MmAllocateMappingAddress", APC_LEVEL);
    if (!NumberOfBytes)
        KeBugCheckEx(NT_SYSTEM_PTE_MISUSE, NT_PTE_RESERVE_NOTHING, 0, PoolTag, 0);
    if (NumberOfBytes > UINT64_MAX - PAGE_SIZE)
        return NULL;
    range = base_alloc(nt->services, sizeof *range);
    if (!range)
        return NULL;
    range->page_count = (NumberOfBytes + PAGE_SIZE - 1) / PAGE_SIZE;
    range->tag = PoolTag;
    range->address = nt_pages_take(&nt->pages, range->page_count);
    if (!range->address) {
        base_free(nt->services, range, sizeof *range);
        return NULL;
    }
    list_push_back(ranges(nt), &range->link);
    return range->address;
}

VOID NTAPI MmFreeMappingAddress(PVOID BaseAddress, ULONG PoolTag)
{
    struct nt *nt = nt_current();
    struct reserved_range *range = find_range(nt, BaseAddress);

    nt_require_irql(nt, "MmFreeMappingAddress", APC_LEVEL);
    if (!range)
        KeBugCheckEx(NT_SYSTEM_PTE_MISUSE, NT_PTE_FREE_OF_NOTHING, (ULONG_PTR)BaseAddress, PoolTag,
                     0);
    if (range->tag != PoolTag)
        KeBugCheckEx(NT_SYSTEM_PTE_MISUSE, NT_PTE_FREE_OF_OTHERS, (ULONG_PTR)BaseAddress, PoolTag,
                     range->tag);
    if (range->mapping)
        KeBugCheckEx(NT_SYSTEM_PTE_MISUSE, NT_PTE_FREE_OF_MAPPED,
                     (ULONG_PTR)range->mapping->address, PoolTag, range->page_count);
    list_remove(&range->link);
    base_free(nt->services, range, sizeof *range);
}

/* With the list's offset in its first page, which MappedSystemVa goes without. */
PVOID NTAPI MmMapLockedPagesWithReservedMapping(PVOID MappingAddress, ULONG PoolTag, PMDL Mdl,
                                                MEMORY_CACHING_TYPE CacheType)
{
    struct nt *nt = nt_current();
    struct reserved_range *range = find_range(nt, MappingAddress);
    uint64_t count =
        ADDRESS_AND_SIZE_TO_SPAN_PAGES((ULONG_PTR)Mdl->StartVa + Mdl->ByteOffset, Mdl->ByteCount);

    nt_require_irql(nt, "MmMapLockedPagesWithReservedMapping", DISPATCH_LEVEL);
    if (!range)
        KeBugCheckEx(NT_SYSTEM_PTE_MISUSE, NT_PTE_MAP_TO_NOTHING, (ULONG_PTR)MappingAddress,
                     PoolTag, 0);
    if (range->tag != PoolTag)
        KeBugCheckEx(NT_SYSTEM_PTE_MISUSE, NT_PTE_MAP_TO_OTHERS, (ULONG_PTR)MappingAddress, PoolTag,
                     range->tag);
    if (range->mapping)
        KeBugCheckEx(NT_SYSTEM_PTE_MISUSE, NT_PTE_MAP_TO_MAPPED, (ULONG_PTR)MappingAddress,
                     (ULONG_PTR)range->mapping->address,
                     (ULONG_PTR)range->address + (range->page_count - 1) * PAGE_SIZE);
    if (count > range->page_count)
        return NULL;
    range->mapping = nt_map_at(nt, range->address, NT_MAPPING_MDL, MmGetMdlPfnArray(Mdl), count,
                               Mdl->ByteOffset, Mdl->ByteCount, Mdl);
    if (!range->mapping)
        return NULL;
    range->mapping->holder = &range->mapping;
    Mdl->MdlFlags |= MDL_MAPPED_TO_SYSTEM_VA;
    Mdl->MappedSystemVa = range->address;
    return range->address + Mdl->ByteOffset;
}

/* BaseAddress with the list's offset, as it was given, or without. */
VOID NTAPI MmUnmapReservedMapping(PVOID BaseAddress, ULONG PoolTag, PMDL Mdl)
{
    struct nt *nt = nt_current();
    struct reserved_range *range =
        find_range(nt, (void *)((ULONG_PTR)BaseAddress & ~(ULONG_PTR)(PAGE_SIZE - 1)));

    nt_require_irql(nt, "MmUnmapReservedMapping", DISPATCH_LEVEL);
    if (!range)
        KeBugCheckEx(NT_SYSTEM_PTE_MISUSE, NT_PTE_UNMAP_OF_NOTHING, (ULONG_PTR)BaseAddress, PoolTag,
                     0);
    if (range->tag != PoolTag)
        KeBugCheckEx(NT_SYSTEM_PTE_MISUSE, NT_PTE_UNMAP_OF_OTHERS, (ULONG_PTR)BaseAddress, PoolTag,
                     range->tag);
    if (!range->mapping || range->mapping->owner != Mdl)
        KeBugCheckEx(NT_SYSTEM_PTE_MISUSE, NT_PTE_UNMAP_OF_NOT_MAPPED, (ULONG_PTR)BaseAddress,
                     PoolTag, range->page_count);
    nt_unmap(nt, range->mapping);
    Mdl->MdlFlags &= (CSHORT)~MDL_MAPPED_TO_SYSTEM_VA;
    Mdl->MappedSystemVa = NULL;
}

static void left(struct nt *nt, nt_leftover *tell, void *context)
{
    const struct reserved_range *range;

    list_for_each (range, ranges(nt), struct reserved_range, link) {
        char text[120];

        snprintf(text, sizeof text,
                 "%llu pages of addresses of MmAllocateMappingAddress, tag 0x%08x, are not freed",
                 (unsigned long long)range->page_count, (unsigned)range->tag);
        tell(context, text);
    }
}

static void fini(struct nt *nt)
{
    struct list *node;

    while ((node = list_pop_front(ranges(nt))))
        base_free(nt->services, container_of(node, struct reserved_range, link),
                  sizeof(struct reserved_range));
}

static void init(struct nt *nt)
{
    list_init(ranges(nt));
}

static const struct nt_export services[] = {
    NT_SERVICE(MmAllocateMappingAddress),
    NT_SERVICE(MmFreeMappingAddress),
    NT_SERVICE(MmMapLockedPagesWithReservedMapping),
    NT_SERVICE(MmUnmapReservedMapping),
    {0},
};

const struct nt_area nt_reserved_mapping_area = {
    .exports = services,
    .state_bytes = sizeof(struct list),
    .init = init,
    .fini = fini,
    .left = left,
};
