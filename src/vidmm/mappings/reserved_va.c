/*
 * Address ranges that the driver has for itself: whole entries of a root page table.
 *
 * Such an entry is written as invalid with all others when the table is initialised, and never
 * again: the driver may point it at tables of its own. So it is enough that nothing of the
 * manager's, and no client's, ever gets an address there. In a process of a client the range is
 * taken from the others with an owner of its own; the paging process, whose layout is fixed, has
 * room below that.
 *
 * Source     contract.md PT-044, PT-045.
 */
#include "vidmm/adapter/driver_error.h"
#include "vidmm/mappings/mapping.h"
#include "vidmm/tables/address_space.h"
#include "vidmm/tables/page_table.h"
#include "vidmm/tables/paging_process.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/bits.h"
#include "base/range_allocator.h"

static bool breaks_rule(struct vidmm *vidmm, const char *what, uint64_t value, uint64_t unit)
{
    vidmm_driver_error(vidmm, "PT-044", "%s 0x%llx; an entry of the root translates 0x%llx bytes",
                       what, (unsigned long long)value, (unsigned long long)unit);
    return false;
}

/* Alignment has 32 bits: where an entry translates more than those can say, it says less. */
static bool is_well_formed(struct vidmm *vidmm,
                           const DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE *range, uint64_t unit)
{
    uint64_t limit = UINT64_C(1) << vidmm->caps.va_bits;

    if (!range->SizeInBytes || !is_aligned(range->SizeInBytes, unit))
        return breaks_rule(vidmm, "SizeInBytes is", range->SizeInBytes, unit);
    if (!is_aligned(range->BaseAddress, unit))
        return breaks_rule(vidmm, "BaseAddress is", range->BaseAddress, unit);
    if (range->Alignment & (range->Alignment - 1) ||
        (unit <= UINT32_MAX && range->Alignment && !is_aligned(range->Alignment, unit)))
        return breaks_rule(vidmm, "Alignment is", range->Alignment, unit);
    return range->BaseAddress < limit && range->SizeInBytes <= limit - range->BaseAddress &&
           (!range->Alignment || is_aligned(range->BaseAddress, range->Alignment));
}

/* Where the ranges of the process may be: behind entry 0, and where no tile pool is mapped. */
static void find_window(const struct address_space *space, uint64_t unit, uint64_t *out_low,
                        uint64_t *out_high)
{
    uint64_t start, end;

    *out_low = unit;
    *out_high = UINT64_C(1) << space->vidmm->caps.va_bits;
    if (!mapping_privileged_range(space, &start, &end))
        return;
    if (start < unit)
        *out_low = align_up(max_u64(end, unit), unit);
    else
        *out_high = align_down(start, unit);
}

static NTSTATUS take(struct range_allocator *ranges, uint64_t low, uint64_t high, uint64_t unit,
                     DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE *range)
{
    struct range_request request = {
        .size = range->SizeInBytes,
        .alignment = max_u64(unit, range->Alignment),
        .window_low = low,
        .window_high = high,
        .owner = OWNER_RESERVED,
        .place = RANGE_LOWEST,
    };
    uint64_t va = range->BaseAddress;
    NTSTATUS status;

    if (va && (va < low || va >= high || range->SizeInBytes > high - va))
        return STATUS_INVALID_PARAMETER;
    status =
        range_result(va ? range_allocator_take_at(ranges, va, range->SizeInBytes, OWNER_RESERVED)
                        : range_allocator_take(ranges, &request, &va));
    if (NT_SUCCESS(status))
        range->StartVirtualAddress = va;
    return status;
}

/* The first range of the paging process makes the allocator that all are taken from. */
static NTSTATUS take_of_paging_process(struct vidmm *vidmm, uint64_t unit,
                                       DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE *range)
{
    struct paging_process *process = &vidmm->paging;
    uint64_t high = align_down(paging_process_layout_start(vidmm), unit);
    NTSTATUS status;

    if (high <= unit)
        return STATUS_RESOURCE_IN_USE;
    if (!process->has_reserved) {
        status = range_result(
            range_allocator_init(&process->reserved, vidmm->services, unit, high - unit, unit));
        if (!NT_SUCCESS(status))
            return status;
        process->has_reserved = true;
    }
    return take(&process->reserved, unit, high, unit, range);
}

NTSTATUS vidmm_reserve_gpu_va(struct vidmm *vidmm, DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE *range)
{
    struct vidmm_process *process = range->hDxgkProcess;
    uint64_t unit, low, high;

    range->StartVirtualAddress = 0;
    if (!vidmm->caps.has_page_tables)
        return STATUS_NOT_SUPPORTED;
    if (!range->hDxgkProcess || range->hDxgkProcess != vidmm->process_in_creation) {
        vidmm_driver_error(vidmm, "PT-044",
                           "DxgkCbReserveGpuVirtualAddressRange for a process that is not being "
                           "created");
        return STATUS_INVALID_PARAMETER;
    }
    unit = page_table_coverage(vidmm, vidmm->caps.level_count - 1);
    if (!is_well_formed(vidmm, range, unit))
        return STATUS_INVALID_PARAMETER;
    if (range->Flags) /* nothing that the system writes may be in an entry that is the driver's */
        return range->AllowUserModeMapping && range->Flags == 1 ? STATUS_NOT_SUPPORTED
                                                                : STATUS_INVALID_PARAMETER;
    if (range->hDxgkProcess == PAGING_PROCESS_HANDLE)
        return take_of_paging_process(vidmm, unit, range);
    find_window(&process->space, unit, &low, &high);
    return take(&process->space.ranges, low, high, unit, range);
}
