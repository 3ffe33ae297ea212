/*
 * Watcher: notices, the paging operations that move nothing and tell the driver where things are
 * (NTF-001..005, NTF-008, NTF-012, NTF-014..016, NTF-018, NTF-020).
 *
 * What an allocation was told last is in the ledger's account of it; a reset or sleep ends it. An
 * operation that goes on in another buffer has been judged already.
 */
#include "check/check_watch.h"

#include "base/bits.h"

#include <string.h>

#define MAX_FENCES 64

struct notice_watch {
    struct {
        uint64_t va, value;
    } fences[MAX_FENCES]; /* signalled last */
    unsigned fence_count;
};

static uint64_t page_count(const struct check_allocation *allocation)
{
    return (allocation->bytes + PAGE_SIZE - 1) / PAGE_SIZE;
}

/* ---- Residency ------------------------------------------------------------------------------- */

static bool is_place_there(const struct check_ledger *ledger, const D3DGPU_PHYSICAL_ADDRESS *place,
                           uint64_t bytes)
{
    const struct check_segment *segment = check_find_segment(ledger, place->SegmentId);

    return segment && place->SegmentOffset <= segment->size &&
           bytes <= segment->size - place->SegmentOffset;
}

static void check_asked_for(struct check *check, const struct check_allocation *allocation)
{
    const DXGK_ALLOCATIONINFOFLAGS_WDDM2_0 *flags = &allocation->info.FlagsWddm2;

    if (!check_holds(check, RULE_NTF_001,
                     flags->ExplicitResidencyNotification && flags->AccessedPhysically))
        check_report(
            check, RULE_NTF_001, &allocation->object, "hAllocation",
            "has ExplicitResidencyNotification %u and AccessedPhysically %u (expected both)",
            flags->ExplicitResidencyNotification, flags->AccessedPhysically);
}

static void before_residency(struct check *check,
                             const DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY *notice)
{
    const struct check_ledger *ledger = check_ledger(check);
    struct check_allocation *allocation = check_find_allocation(ledger, notice->hAllocation);
    const D3DGPU_PHYSICAL_ADDRESS *place = &notice->PhysicalAddress;
    bool is_known;

    if (!allocation)
        return;
    check_asked_for(check, allocation);
    if (notice->Resident) {
        if (!check_holds(check, RULE_NTF_003, is_place_there(ledger, place, allocation->bytes)))
            check_report(check, RULE_NTF_003, &allocation->object, "PhysicalAddress",
                         "segment %u, offset 0x%llx: 0x%llx bytes are not there", place->SegmentId,
                         (unsigned long long)place->SegmentOffset,
                         (unsigned long long)allocation->bytes);
    } else if (!check_holds(check, RULE_NTF_004, !place->SegmentId && !place->SegmentOffset)) {
        check_report(check, RULE_NTF_004, &allocation->object, "PhysicalAddress",
                     "segment %u, offset 0x%llx for an allocation that goes (expected 0, 0)",
                     place->SegmentId, (unsigned long long)place->SegmentOffset);
    }
    is_known = allocation->notice_epoch == ledger->tables.epoch;
    if (!check_holds(check, RULE_NTF_005,
                     !is_known || allocation->is_noticed != (notice->Resident != 0)))
        check_report(check, RULE_NTF_005, &allocation->object, "Resident",
                     "is %u again: one notice for each commit and each eviction", notice->Resident);
    allocation->notice_epoch = ledger->tables.epoch;
    allocation->is_noticed = notice->Resident;
    check_remember(&allocation->object, check_current_call(check)->event,
                   notice->Resident ? "told resident in segment %u at 0x%llx" : "told that it goes",
                   place->SegmentId, (unsigned long long)place->SegmentOffset);
}

static void before_part(struct check *check, const DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY2 *notice)
{
    const struct check_allocation *allocation =
        check_find_allocation(check_ledger(check), notice->hAllocation);
    uint64_t end = (uint64_t)notice->AllocationOffsetInPages + notice->SizeInPages;

    if (!allocation)
        return;
    check_asked_for(check, allocation);
    if (!check_holds(check, RULE_NTF_014,
                     notice->SizeInPages && end <= page_count(allocation) &&
                         (notice->Resident || !notice->SegmentId)))
        check_report(check, RULE_NTF_014, &allocation->object,
                     notice->Resident || !notice->SegmentId ? "SizeInPages" : "SegmentId",
                     "%u pages from page %u on, segment %u, Resident %u; the allocation has %llu",
                     notice->SizeInPages, notice->AllocationOffsetInPages, notice->SegmentId,
                     notice->Resident, (unsigned long long)page_count(allocation));
}

/* ---- Others ---------------------------------------------------------------------------------- */

static void before_alloc(struct check *check, const DXGK_BUILDPAGINGBUFFER_NOTIFYALLOC *notice)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_allocation *allocation = check_find_allocation(ledger, notice->hAllocation);
    const struct check_object *object = allocation ? &allocation->object : NULL;
    uint64_t page;

    if (!check_holds(check, RULE_NTF_020, notice->Flags.Eviction != notice->Flags.IoMmuUnmap))
        check_report(check, RULE_NTF_020, object, "Flags",
                     "Eviction %u and IoMmuUnmap %u (expected one of them)", notice->Flags.Eviction,
                     notice->Flags.IoMmuUnmap);
    else if (allocation &&
             !check_holds(check, RULE_NTF_015,
                          notice->Flags.Eviction ? allocation->info.Flags2.NotifyEviction
                                                 : allocation->info.Flags2.NotifyIoMmuUnmap))
        check_report(check, RULE_NTF_015, object, "Flags", "%s for an allocation without %s",
                     notice->Flags.Eviction ? "Eviction" : "IoMmuUnmap",
                     notice->Flags.Eviction ? "NotifyEviction" : "NotifyIoMmuUnmap");
    if (notice->Flags.Eviction && !notice->Flags.IoMmuUnmap && ledger->system_process &&
        check_is_leaf_known(ledger, ledger->system_process, notice->GpuVirtualAddressAtOffset)) {
        bool is_mapped = check_translate(ledger, ledger->system_process,
                                         notice->GpuVirtualAddressAtOffset, &page) != 0;

        if (!check_holds(check, RULE_NTF_016, !notice->hKmdProcessHandle && is_mapped))
            check_report(check, RULE_NTF_016, object,
                         is_mapped ? "hKmdProcessHandle" : "GpuVirtualAddressAtOffset",
                         is_mapped ? "is not NULL: VA 0x%llx is one of the paging process"
                                   : "nothing is mapped at VA 0x%llx of the paging process",
                         (unsigned long long)notice->GpuVirtualAddressAtOffset);
    }
    if (notice->Flags.IoMmuUnmap && !notice->Flags.Eviction) {
        const struct check_process *process = check_find_process(ledger, notice->hKmdProcessHandle);

        if (!check_holds(check, RULE_NTF_018, process && !process->is_system))
            check_report(check, RULE_NTF_018, object, "hKmdProcessHandle",
                         "is %s; the address is one of the process that owns the mapping",
                         process ? "the paging process" : "no process");
    }
}

static void before_map_mmu(struct check *check, HANDLE handle, uint64_t va, uint64_t first,
                           uint64_t count)
{
    const struct check_allocation *allocation = check_find_allocation(check_ledger(check), handle);

    if (!check_holds(check, RULE_NTF_012,
                     count && va % PAGE_SIZE == 0 &&
                         (!allocation || first + count <= page_count(allocation))))
        check_report(check, RULE_NTF_012, allocation ? &allocation->object : NULL, "VirtualAddress",
                     "%llu pages from page %llu on, at VA 0x%llx", (unsigned long long)count,
                     (unsigned long long)first, (unsigned long long)va);
}

/* NTF-008: values of a fence rise. */
static void before_signal(struct check *check, struct notice_watch *watch,
                          const DXGK_BUILDPAGINGBUFFER_SIGNALMONITOREDFENCE *signal)
{
    unsigned i = 0;

    while (i < watch->fence_count && watch->fences[i].va != signal->MonitoredFenceGpuVa)
        i++;
    if (i == MAX_FENCES)
        return;
    if (i == watch->fence_count) {
        watch->fence_count++;
        watch->fences[i].va = signal->MonitoredFenceGpuVa;
        watch->fences[i].value = 0;
    }
    if (!check_holds(check, RULE_NTF_008, signal->MonitoredFenceValue > watch->fences[i].value))
        check_report(check, RULE_NTF_008, NULL, "MonitoredFenceValue",
                     "is %llu at VA 0x%llx; it was signalled with %llu before",
                     (unsigned long long)signal->MonitoredFenceValue,
                     (unsigned long long)signal->MonitoredFenceGpuVa,
                     (unsigned long long)watch->fences[i].value);
    watch->fences[i].value = signal->MonitoredFenceValue;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void after_create(struct check *check, const DXGKARG_CREATEALLOCATION *arg)
{
    const struct check_ledger *ledger = check_ledger(check);

    if (!ledger->caps.driver.MemoryManagementCaps.VirtualAddressingSupported)
        return;
    for (UINT i = 0; i < arg->NumAllocations; i++) {
        const DXGK_ALLOCATIONINFO *info = &arg->pAllocationInfo[i];
        const struct check_allocation *allocation =
            check_find_allocation(ledger, info->hAllocation);

        if (info->FlagsWddm2.ExplicitResidencyNotification &&
            !check_holds(check, RULE_NTF_002, info->FlagsWddm2.AccessedPhysically))
            check_report(check, RULE_NTF_002, allocation ? &allocation->object : NULL,
                         "pAllocationInfo.FlagsWddm2",
                         "ExplicitResidencyNotification without AccessedPhysically");
    }
}

static void before(struct check *check, void *state, const struct check_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *arg = call->before.build_paging_buffer;

    if (call->ddi != MINIPORT_DDI_BuildPagingBuffer || check_ledger(check)->is_operation_open)
        return;
    switch ((unsigned)arg->Operation) {
    case DXGK_OPERATION_NOTIFY_RESIDENCY:
        before_residency(check, &arg->NotifyResidency);
        break;
    case DXGK_OPERATION_NOTIFY_RESIDENCY2:
        before_part(check, &arg->NotifyResidency2);
        break;
    case DXGK_OPERATION_NOTIFY_ALLOC:
        before_alloc(check, &arg->NotifyAllocation);
        break;
    case DXGK_OPERATION_MAP_MMU:
        before_map_mmu(check, arg->MmapMmu.hAllocation, arg->MmapMmu.VirtualAddress,
                       arg->MmapMmu.AllocationOffsetInPages, arg->MmapMmu.Adl.PageCount);
        break;
    case DXGK_OPERATION_UNMAP_MMU:
        before_map_mmu(check, arg->UnmapMmu.hAllocation, arg->UnmapMmu.VirtualAddress,
                       arg->UnmapMmu.AllocationOffset, arg->UnmapMmu.NumberOfPages);
        break;
    case DXGK_OPERATION_SIGNAL_MONITORED_FENCE:
        before_signal(check, state, &arg->SignalMonitoredFence);
        break;
    default:
        break;
    }
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    struct notice_watch *watch = state;

    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_CreateAllocation:
        if (NT_SUCCESS(call->status))
            after_create(check, call->arg.create_allocation);
        break;
    case MINIPORT_DDI_ResetFromTimeout:
    case MINIPORT_DDI_SetPowerState:
        watch->fence_count = 0;
        break;
    default:
        break;
    }
}

static NTSTATUS create(struct check *check, void **out_state)
{
    *out_state = base_alloc(check_configuration(check)->services, sizeof(struct notice_watch));
    if (!*out_state)
        return STATUS_NO_MEMORY;
    memset(*out_state, 0, sizeof(struct notice_watch));
    return STATUS_SUCCESS;
}

static void destroy(struct check *check, void *state)
{
    base_free(check_configuration(check)->services, state, sizeof(struct notice_watch));
}

const struct check_watcher check_notice_watcher = {
    .name = "notices",
    .create = create,
    .destroy = destroy,
    .before = before,
    .after = after,
};
