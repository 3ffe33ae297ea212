/*
 * Page tables as the driver describes them: the features of the MMU, and the sizes of its tables.
 *
 * The board says how its tables are shaped; the kernel builds them, and asks here (S-01).
 */
#include "refkmd/memory/mmu.h"

#include "refkmd/ddi.h"
#include "refkmd/memory/save_area.h"
#include "refkmd/memory/segments.h"
#include "refkmd/registers.h"
#include "refkmd/traits.h"

#include <ntstatus.h>

/* ---- The board's shape ----------------------------------------------------------------------- */

NTSTATUS refkmd_mmu_init(struct refkmd_adapter *adapter)
{
    UINT64 bits = refkmd_read64(adapter, SGPU_REG_INDEX_BITS);

    adapter->va_bits = SGPU_PAGE_SHIFT;
    adapter->level_count = 0;
    for (; bits && adapter->level_count < SGPU_MAX_LEVELS; bits >>= 8) {
        adapter->index_bits[adapter->level_count++] = (UCHAR)bits;
        adapter->va_bits += (UCHAR)bits;
    }
    return adapter->level_count >= 2 ? STATUS_SUCCESS : STATUS_NOT_SUPPORTED;
}

/* With two levels the root has as many entries as the kernel needs, and grows (PT-007). */
static BOOLEAN has_resizable_root(const struct refkmd_adapter *adapter)
{
    return adapter->level_count == 2;
}

/* Bytes of a table of that many entries of 8 bytes: whole pages (PT-006). */
static UINT table_bytes(UINT64 entries)
{
    UINT64 bytes = entries * sizeof(UINT64);

    return (UINT)((bytes + SGPU_PAGE_BYTES - 1) & ~(UINT64)(SGPU_PAGE_BYTES - 1));
}

/*
 * A level 1 entry of a board with both kinds of leaf tables is two words. 64 KiB leaves are said to
 * exist by their size, which is 0 otherwise (PT-039).
 */
static UINT entry_words(const struct refkmd_adapter *adapter, UINT level)
{
    return level == 1 && (adapter->straps & SGPU_STRAP_64K_DUAL) ? 2 : 1;
}

static UINT leaf_bytes_64k(const struct refkmd_adapter *adapter)
{
    return refkmd_has_64k_leaves(adapter)
               ? table_bytes((1ull << adapter->index_bits[0]) / SGPU_64K_ENTRIES)
               : 0;
}

BOOLEAN refkmd_tables_are_pages(const struct refkmd_adapter *adapter)
{
    UINT level;

    if (has_resizable_root(adapter))
        return FALSE;
    for (level = 0; level < adapter->level_count; level++) {
        if (table_bytes((UINT64)entry_words(adapter, level) << adapter->index_bits[level]) >
            SGPU_PAGE_BYTES)
            return FALSE;
    }
    return TRUE;
}

/* ---- Queries --------------------------------------------------------------------------------- */

static DXGK_PAGETABLEUPDATEMODE update_mode(const struct refkmd_adapter *adapter)
{
    switch ((adapter->straps >> SGPU_STRAP_UPDATE_MODE_SHIFT) & SGPU_STRAP_UPDATE_MODE_MASK) {
    case SGPU_STRAP_UPDATE_CPU:
        return DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
    case SGPU_STRAP_UPDATE_GPU_PHYSICAL:
        return DXGK_PAGETABLEUPDATE_GPU_PHYSICAL;
    default:
        return DXGK_PAGETABLEUPDATE_GPU_VIRTUAL;
    }
}

/* Keeps PT-003, PT-005 and TLB-005: most boards promise that entries not valid are not cached. */
NTSTATUS refkmd_query_gpu_mmu_caps(struct refkmd_adapter *adapter,
                                   const DXGKARG_QUERYADAPTERINFO *query)
{
    const DXGK_QUERYGPUMMUCAPSIN *in = query->pInputData;
    DXGK_GPUMMUCAPS *caps = query->pOutputData;
    BOOLEAN has_bits = !(adapter->straps & SGPU_STRAP_PLAIN_ENTRIES);

    if (in && !NT_SUCCESS(refkmd_check_physical_adapter(in->PhysicalAdapterIndex)))
        return STATUS_INVALID_PARAMETER;
    RtlZeroMemory(caps, sizeof *caps);
    caps->ReadOnlyMemorySupported = has_bits;
    caps->NoExecuteMemorySupported = has_bits;
    caps->ZeroInPteSupported = has_bits;
    caps->CacheCoherentMemorySupported = has_bits;
    /* PT-035: the walker of such a board may have read ahead in a table that is gone. */
    caps->ExplicitPageTableInvalidation = (adapter->straps & SGPU_STRAP_CLEAR_TABLES) != 0;
    /* PT-036 */
    caps->PageTableUpdateRequireAddressSpaceIdle = (adapter->straps & SGPU_STRAP_IDLE_UPDATES) != 0;
    caps->LargePageSupported = (adapter->straps & SGPU_STRAP_LARGE_PAGES) != 0;
    caps->AllowNonAlignedLargePageAddress =
        caps->LargePageSupported && refkmd_is_at_least(adapter, DXGKDDI_INTERFACE_VERSION_WDDM2_1);
    /* VX-006 */
    caps->LegacyBehaviors.SourcePageTableVaInTransfer =
        (adapter->straps & SGPU_STRAP_TABLES_IN_COPY) != 0;
    caps->DualPteSupported = (adapter->straps & SGPU_STRAP_64K_DUAL) != 0;
    caps->LeafPageTableSizeFor64KPagesInBytes = leaf_bytes_64k(adapter);
    caps->InvalidTlbEntriesNotCached = !(adapter->straps & SGPU_STRAP_MAY_CACHE_INVALID);
    caps->PageTableUpdateMode = update_mode(adapter);
    caps->VirtualAddressBitCount = adapter->va_bits;
    caps->PageTableLevelCount = adapter->level_count;
    return STATUS_SUCCESS;
}

/* A root that grows has no size of its own here. Keeps PT-004, PT-006, PT-022. */
NTSTATUS refkmd_query_page_table_level(struct refkmd_adapter *adapter,
                                       const DXGKARG_QUERYADAPTERINFO *query)
{
    const DXGK_QUERYPAGETABLELEVELDESCIN *in = query->pInputData;
    DXGK_PAGE_TABLE_LEVEL_DESC *level = query->pOutputData;
    UINT segment =
        refkmd_tables_are_in_system_memory(adapter) ? REFKMD_SEGMENT_SYSTEM : REFKMD_SEGMENT_LOCAL;

    if (!in || query->InputDataSize < sizeof *in || in->LevelIndex >= adapter->level_count ||
        !NT_SUCCESS(refkmd_check_physical_adapter(in->PhysicalAdapterIndex)))
        return STATUS_INVALID_PARAMETER;
    RtlZeroMemory(level, sizeof *level);
    level->PageTableSegmentId = segment;
    level->PagingProcessPageTableSegmentId = segment;
    /* The paging process sees tables in local memory by pages of the GPU (PT-026). */
    level->PageTableAlignmentInBytes =
        segment == REFKMD_SEGMENT_LOCAL ? refkmd_gpu_page_bytes(adapter) : SGPU_PAGE_BYTES;
    if (in->LevelIndex == 1 && has_resizable_root(adapter))
        return STATUS_SUCCESS;
    level->PageTableIndexBitCount = adapter->index_bits[in->LevelIndex];
    level->PageTableSizeInBytes = table_bytes((UINT64)entry_words(adapter, in->LevelIndex)
                                              << adapter->index_bits[in->LevelIndex]);
    return STATUS_SUCCESS;
}

/*
 * Asked only of drivers with two levels, whose root grows (PT-007). The GPU takes roots of powers
 * of two, and a root fills at least a page, of 64 KiB where its segment has those; the kernel may
 * use all of it (PT-008).
 */
SIZE_T NTAPI RefKmdGetRootPageTableSize(IN_CONST_HANDLE hAdapter,
                                        INOUT_PDXGKARG_GETROOTPAGETABLESIZE args)
{
    const struct refkmd_adapter *adapter = hAdapter;
    UINT unit = refkmd_has_64k_pages(adapter) && !refkmd_tables_are_in_system_memory(adapter)
                    ? SGPU_64K_BYTES
                    : SGPU_PAGE_BYTES;
    UINT most = 1u << adapter->index_bits[adapter->level_count - 1];
    UINT entries = unit / sizeof(UINT64);

    if (entries > most)
        entries = most;
    while (entries < args->NumberOfPte && entries < most)
        entries *= 2;
    args->NumberOfPte = entries;
    return (table_bytes(entries) + unit - 1) & ~(unit - 1);
}

/*
 * The context is not scheduled (PT-010); its next submission takes the new root along (SUB-011),
 * and the number of its entries, beyond which the GPU faults (PT-011).
 */
VOID NTAPI RefKmdSetRootPageTable(IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_SETROOTPAGETABLE args)
{
    const struct refkmd_adapter *adapter = hAdapter;
    struct refkmd_context *context = args->hContext;
    UINT bits = 0;

    while (1ull << bits < args->NumEntries)
        bits++;
    context->root = SGPU_ROOT(
        refkmd_physical_address(adapter, args->Address.SegmentId, args->Address.SegmentOffset),
        bits);
    context->has_root = TRUE;
    if (context->device->process)
        context->device->process->root = context->root;
    refkmd_save_area_set_root(context);
}
