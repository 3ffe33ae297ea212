/*
 * Physical memory: contiguous blocks, device memory, and the pages behind addresses.
 */
#include "nt/machine/boundary.h"
#include "nt/machine/bug_check.h"
#include "nt/memory/mapping.h"
#include "nt/memory/pool.h"
#include "nt/memory/take.h"
#include "nt/nt_private.h"

#include "base/bits.h"
#include "image/image.h"

#include <string.h>

#define NO_ACCESS_BYTES 0x10000u /* from address 0 on */

/* ---- Contiguous memory ----------------------------------------------------------------------- */

static void *allocate_contiguous(uint64_t bytes, uint64_t lowest, uint64_t highest,
                                 uint64_t boundary)
{
    const struct nt_page_range range = {lowest, highest, 0};
    struct nt *nt = nt_current();
    uint64_t count, *pfns = nt_take_contiguous(nt, &range, bytes, boundary, &count);
    struct nt_mapping *mapping;

    if (!pfns)
        return NULL;
    mapping = nt_map(nt, NT_MAPPING_CONTIGUOUS, pfns, count, 0, bytes, NULL);
    if (!mapping) {
        nt_free_taken(nt, pfns, count);
        return NULL;
    }
    base_free_array(nt->services, pfns, count, sizeof *pfns);
    return mapping->address;
}

PVOID NTAPI MmAllocateContiguousMemory(SIZE_T Bytes, PHYSICAL_ADDRESS Highest)
{
    nt_require_irql(nt_current(), "MmAllocateContiguousMemory", DISPATCH_LEVEL);
    return allocate_contiguous(Bytes, 0, (uint64_t)Highest.QuadPart, 0);
}

PVOID NTAPI MmAllocateContiguousMemorySpecifyCache(SIZE_T Bytes, PHYSICAL_ADDRESS Lowest,
                                                   PHYSICAL_ADDRESS Highest,
                                                   PHYSICAL_ADDRESS Boundary,
                                                   MEMORY_CACHING_TYPE CacheType)
{
    nt_require_irql(nt_current(), "MmAllocateContiguousMemorySpecifyCache", DISPATCH_LEVEL);
    return allocate_contiguous(Bytes, (uint64_t)Lowest.QuadPart, (uint64_t)Highest.QuadPart,
                               (uint64_t)Boundary.QuadPart);
}

PVOID NTAPI MmAllocateContiguousMemorySpecifyCacheNode(SIZE_T Bytes, PHYSICAL_ADDRESS Lowest,
                                                       PHYSICAL_ADDRESS Highest,
                                                       PHYSICAL_ADDRESS Boundary,
                                                       MEMORY_CACHING_TYPE CacheType, ULONG Node)
{
    return MmAllocateContiguousMemorySpecifyCache(Bytes, Lowest, Highest, Boundary, CacheType);
}

PVOID NTAPI MmAllocateContiguousNodeMemory(SIZE_T Bytes, PHYSICAL_ADDRESS Lowest,
                                           PHYSICAL_ADDRESS Highest, PHYSICAL_ADDRESS Boundary,
                                           ULONG Protect, ULONG Node)
{
    return MmAllocateContiguousMemorySpecifyCache(Bytes, Lowest, Highest, Boundary, MmCached);
}

VOID NTAPI MmFreeContiguousMemory(PVOID Address)
{
    struct nt *nt = nt_current();
    struct nt_mapping *mapping = nt_mapping_at(nt, Address);
    uint64_t first, count;

    nt_require_irql(nt_current(), "MmFreeContiguousMemory", DISPATCH_LEVEL);
    if (!mapping || mapping->kind != NT_MAPPING_CONTIGUOUS)
        KeBugCheckEx(NT_BAD_POOL_CALLER, NT_POOL_FREE_CONTIGUOUS, (ULONG_PTR)Address, 0, 0);
    first = mapping->pfns[0];
    count = mapping->page_count;
    nt_unmap(nt, mapping);
    machine_free_contiguous(nt->machine, first, count);
}

VOID NTAPI MmFreeContiguousMemorySpecifyCache(PVOID Address, SIZE_T Bytes,
                                              MEMORY_CACHING_TYPE CacheType)
{
    MmFreeContiguousMemory(Address);
}

/* ---- Device memory --------------------------------------------------------------------------- */

static void *map_io(uint64_t pa, uint64_t bytes)
{
    struct nt *nt = nt_current();
    uint64_t offset = pa % PAGE_SIZE, count, i;
    struct nt_mapping *mapping;
    uint64_t *pfns;

    if (nt->irql > DISPATCH_LEVEL)
        KeBugCheckEx(NT_IRQL_NOT_LESS_OR_EQUAL, pa, nt->irql, 0, 0);
    if (!bytes || bytes > UINT64_MAX - pa - PAGE_SIZE)
        return NULL;
    count = div_round_up(offset + bytes, PAGE_SIZE);
    pfns = base_alloc_array(nt->services, count, sizeof *pfns);
    if (!pfns)
        return NULL;
    for (i = 0; i < count; i++)
        pfns[i] = pa / PAGE_SIZE + i;
    mapping = nt_map(nt, NT_MAPPING_IO, pfns, count, offset, bytes, NULL);
    base_free_array(nt->services, pfns, count, sizeof *pfns);
    return mapping ? mapping->address + offset : NULL;
}

PVOID NTAPI MmMapIoSpace(PHYSICAL_ADDRESS Address, SIZE_T Bytes, MEMORY_CACHING_TYPE CacheType)
{
    return map_io((uint64_t)Address.QuadPart, Bytes);
}

PVOID NTAPI MmMapIoSpaceEx(PHYSICAL_ADDRESS Address, SIZE_T Bytes, ULONG Protect)
{
    return map_io((uint64_t)Address.QuadPart, Bytes);
}

/* The same registers may be mapped several times at one address: the one of this size goes. */
static struct nt_mapping *find_io(const struct nt *nt, const void *address, uint64_t bytes)
{
    struct nt_mapping *mapping;

    list_for_each (mapping, &nt->mappings, struct nt_mapping, link) {
        if (mapping->kind == NT_MAPPING_IO && mapping->bytes == bytes &&
            mapping->address + mapping->offset == (const uint8_t *)address)
            return mapping;
    }
    return NULL;
}

VOID NTAPI MmUnmapIoSpace(PVOID Address, SIZE_T Bytes)
{
    struct nt *nt = nt_current();
    struct nt_mapping *mapping = find_io(nt, Address, Bytes);
    struct nt_mapping *other = nt_mapping_at(nt, Address);

    nt_require_irql(nt_current(), "MmUnmapIoSpace", DISPATCH_LEVEL);
    if (!mapping && other && other->kind == NT_MAPPING_IO)
        KeBugCheckEx(NT_SYSTEM_PTE_MISUSE, NT_PTE_WRONG_COUNT, 0, other->page_count,
                     div_round_up(other->offset + Bytes, PAGE_SIZE));
    if (!mapping)
        KeBugCheckEx(NT_SYSTEM_PTE_MISUSE, NT_PTE_WRONG_MAPPING, 0, 0, (ULONG_PTR)Address);
    nt_unmap(nt, mapping);
}

/* ---- Where ----------------------------------------------------------------------------------- */

/*
 * 0 for an address that has no page, as documented for invalid ones; a question without a known
 * answer is reported.
 */
PHYSICAL_ADDRESS NTAPI MmGetPhysicalAddress(PVOID Address)
{
    struct nt *nt = nt_current();
    PHYSICAL_ADDRESS result = {.QuadPart = 0};
    uint64_t pfn, offset;

    if (nt->machine && machine_register_at(nt->machine, Address, &offset))
        result.QuadPart = (LONGLONG)(machine_bar0_pa(nt->machine) + offset);
    else if (nt_address_pfn(nt, Address, &pfn))
        result.QuadPart = (LONGLONG)(pfn * PAGE_SIZE + BYTE_OFFSET(Address));
    else
        nt_report_missing(nt, "MmGetPhysicalAddress of memory that is no page of the machine's "
                              "(a stack, the image, a small block of a cheap pool)");
    return result;
}

/*
 * Whether an access would be served: to addresses that the kernel has shown the driver, its image
 * and its stacks. Of a driver that is linked in, its own data are everywhere, and nothing but the
 * lowest addresses is known to be none.
 */
BOOLEAN NTAPI MmIsAddressValid(PVOID Address)
{
    struct nt *nt = nt_current();
    uint64_t ignored;

    nt_require_irql(nt_current(), "MmIsAddressValid", DISPATCH_LEVEL);
    if (nt_mapping_around(nt, Address) || nt_pool_has(nt, Address))
        return TRUE;
    if (nt->machine && (machine_register_at(nt->machine, Address, &ignored) ||
                        page_store_find_page(machine_ram(nt->machine), Address, &ignored)))
        return TRUE;
    if (nt->machine && machine_local(nt->machine) &&
        page_store_find_page(machine_local(nt->machine), Address, &ignored))
        return TRUE;
    if (nt->image)
        return image_contains(nt->image, (uintptr_t)Address) ||
               boundary_is_on_stack(nt->boundary, (uintptr_t)Address);
    return (uintptr_t)Address >= NO_ACCESS_BYTES && !nt_pages_contain(&nt->pages, Address);
}

PVOID NTAPI MmGetVirtualForPhysical(PHYSICAL_ADDRESS Address)
{
    struct nt *nt = nt_current();
    uint64_t pfn = (uint64_t)Address.QuadPart / PAGE_SIZE, i;
    struct nt_mapping *mapping;

    list_for_each (mapping, &nt->mappings, struct nt_mapping, link) {
        for (i = 0; i < mapping->page_count; i++) {
            if (mapping->pfns[i] == pfn)
                return mapping->address + i * PAGE_SIZE + (uint64_t)Address.QuadPart % PAGE_SIZE;
        }
    }
    return NULL;
}

/* Physical: RAM and device memory, never registers. Virtual: whatever the driver may touch. */
NTSTATUS NTAPI MmCopyMemory(PVOID Target, MM_COPY_ADDRESS Source, SIZE_T Bytes, ULONG Flags,
                            PSIZE_T Copied)
{
    struct nt *nt = nt_current();
    uint64_t pa = (uint64_t)Source.PhysicalAddress.QuadPart;
    struct machine_target target;

    nt_require_irql(nt_current(), "MmCopyMemory", APC_LEVEL);
    *Copied = 0;
    if (Flags == MM_COPY_MEMORY_VIRTUAL) {
        memcpy(Target, Source.VirtualAddress, Bytes);
        *Copied = Bytes;
        return STATUS_SUCCESS;
    }
    if (Flags != MM_COPY_MEMORY_PHYSICAL)
        return STATUS_INVALID_PARAMETER;
    if (!nt->machine || !machine_bus_find(nt->machine, pa, Bytes, &target) ||
        target.kind == MACHINE_REGISTERS)
        return STATUS_INVALID_ADDRESS;
    page_store_read(target.store, target.address, Target, Bytes);
    *Copied = Bytes;
    return STATUS_SUCCESS;
}

/* The memory of the machine has no caches. */
BOOLEAN NTAPI KeInvalidateAllCaches(VOID)
{
    nt_require_irql(nt_current(), "KeInvalidateAllCaches", DISPATCH_LEVEL);
    return TRUE;
}

static const struct nt_export services[] = {
    NT_SERVICE(MmAllocateContiguousMemory),
    NT_SERVICE(MmAllocateContiguousMemorySpecifyCache),
    NT_SERVICE(MmAllocateContiguousMemorySpecifyCacheNode),
    NT_SERVICE(MmAllocateContiguousNodeMemory),
    NT_SERVICE(MmFreeContiguousMemory),
    NT_SERVICE(MmFreeContiguousMemorySpecifyCache),
    NT_SERVICE(MmMapIoSpace),
    NT_SERVICE(MmMapIoSpaceEx),
    NT_SERVICE(MmUnmapIoSpace),
    NT_SERVICE(MmGetPhysicalAddress),
    NT_SERVICE(MmIsAddressValid),
    NT_SERVICE(MmGetVirtualForPhysical),
    NT_SERVICE(MmCopyMemory),
    NT_SERVICE(KeInvalidateAllCaches),
    {0},
};

const struct nt_area nt_memory_area = {.exports = services};
