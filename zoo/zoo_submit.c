/*
 * Defects of submission, patching, fences and recovery (D08, D16, D18, D70 to D77).
 */
#include "zoo/zoo_tables.h"

#include "base/bits.h"
#include "drydock/sgpu.h"

#include <string.h>

#define EVERY(layer, n) (++(layer)->calls % (n) == 0)

/* ---- Statuses ---- */

static NTSTATUS submit_fails(struct miniport *self, HANDLE object, const DXGKARG_SUBMITCOMMAND *arg)
{
    return EVERY(zoo_layer_of(self), 11) ? STATUS_DEVICE_BUSY
                                         : miniport_forward_submit_command(self, object, arg);
}

static NTSTATUS submit_virtual_fails(struct miniport *self, HANDLE object,
                                     const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    return EVERY(zoo_layer_of(self), 11)
               ? STATUS_DEVICE_BUSY
               : miniport_forward_submit_command_virtual(self, object, arg);
}

static void plant_submit_fails(struct zoo_layer *layer)
{
    layer->ops.submit_command = submit_fails;
    layer->ops.submit_command_virtual = submit_virtual_fails;
}

static NTSTATUS patch_fails(struct miniport *self, HANDLE object, const DXGKARG_PATCH *arg)
{
    return EVERY(zoo_layer_of(self), 7) ? STATUS_INVALID_PARAMETER
                                        : miniport_forward_patch(self, object, arg);
}

static void plant_patch_fails(struct zoo_layer *layer)
{
    layer->ops.patch = patch_fails;
}

static NTSTATUS preempt_fails(struct miniport *self, HANDLE object,
                              const DXGKARG_PREEMPTCOMMAND *arg)
{
    miniport_forward_preempt_command(self, object, arg);
    return STATUS_NOT_SUPPORTED;
}

static void plant_preempt_fails(struct zoo_layer *layer)
{
    layer->ops.preempt_command = preempt_fails;
}

/* ---- Presents ---- */

static NTSTATUS present_fails(struct miniport *self, HANDLE object, DXGKARG_PRESENT *arg)
{
    return EVERY(zoo_layer_of(self), 3) ? STATUS_INVALID_PARAMETER
                                        : miniport_forward_present(self, object, arg);
}

static NTSTATUS render_km_fails(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    return EVERY(zoo_layer_of(self), 3) ? STATUS_NOT_SUPPORTED
                                        : miniport_forward_render_km(self, object, arg);
}

static void plant_render_km_fails(struct zoo_layer *layer)
{
    layer->ops.render_km = render_km_fails;
}

/* The first sub-rectangle of each command is what it takes for all of them. */
static NTSTATUS render_km_draws_one(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    DXGK_RENDERKM_COMMAND *command = arg->pCommand;
    RECT *rectangles;
    UINT count;

    if (arg->CommandLength >= sizeof *command && command->OpCode == DXGK_GDIOP_BITBLT) {
        count = command->Command.BitBlt.NumSubRects;
        rectangles = command->Command.BitBlt.pSubRects;
        if (count > 1) {
            RECT second = rectangles[1];
            NTSTATUS status;

            rectangles[1] = rectangles[0];
            status = miniport_forward_render_km(self, object, arg);
            rectangles[1] = second;
            return status;
        }
    }
    return miniport_forward_render_km(self, object, arg);
}

static void plant_render_km_draws_one(struct zoo_layer *layer)
{
    layer->ops.render_km = render_km_draws_one;
}

static void plant_present_fails(struct zoo_layer *layer)
{
    layer->ops.present = present_fails;
}

/* The destination of the last rectangle is in the commands, and not in the list. */
static NTSTATUS present_lists_less(struct miniport *self, HANDLE object, DXGKARG_PRESENT *arg)
{
    const D3DDDI_PATCHLOCATIONLIST *first = arg->pPatchLocationListOut;
    NTSTATUS status = miniport_forward_present(self, object, arg);

    if (arg->pPatchLocationListOut > first)
        arg->pPatchLocationListOut--;
    return status;
}

static void plant_present_lists_less(struct zoo_layer *layer)
{
    layer->ops.present = present_lists_less;
}

/* Begins anew in each buffer, and says that it has come no further. */
static NTSTATUS present_without_progress(struct miniport *self, HANDLE object, DXGKARG_PRESENT *arg)
{
    UINT multipass = arg->MultipassOffset;
    void *start = arg->pDmaBuffer;
    D3DDDI_PATCHLOCATIONLIST *first = arg->pPatchLocationListOut;
    NTSTATUS status = miniport_forward_present(self, object, arg);

    if (arg->SubRectCnt < 8 || !NT_SUCCESS(status))
        return status;
    arg->MultipassOffset = multipass;
    arg->pDmaBuffer = start;
    arg->pPatchLocationListOut = first;
    return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
}

static void plant_present_without_progress(struct zoo_layer *layer)
{
    layer->ops.present = present_without_progress;
}

/* Its own idea of the source: what stands at the place of the destination. */
static NTSTATUS present_in_place(struct miniport *self, HANDLE object, DXGKARG_PRESENT *arg)
{
    RECT source = arg->SrcRect;
    NTSTATUS status;

    arg->SrcRect = arg->DstRect;
    status = miniport_forward_present(self, object, arg);
    arg->SrcRect = source;
    return status;
}

static void plant_present_in_place(struct zoo_layer *layer)
{
    layer->ops.present = present_in_place;
}

/* As from a list that is good for as long as the context lives. */
static NTSTATUS present_to_the_first(struct miniport *self, HANDLE object, DXGKARG_PRESENT *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    DXGK_ALLOCATIONLIST *given = arg->pAllocationList;
    DXGK_ALLOCATIONLIST list[MINIPORT_PRESENT_ALLOCATIONS];
    NTSTATUS status;

    memcpy(list, given, sizeof list);
    if (!layer->state[0])
        layer->state[0] = list[DXGK_PRESENT_DESTINATION_INDEX].VirtualAddress;
    list[DXGK_PRESENT_DESTINATION_INDEX].VirtualAddress = layer->state[0];
    arg->pAllocationList = list;
    status = miniport_forward_present(self, object, arg);
    arg->pAllocationList = given;
    return status;
}

static void plant_present_to_the_first(struct zoo_layer *layer)
{
    layer->ops.present = present_to_the_first;
}

/* ---- What runs ---- */

static NTSTATUS submit_whole(struct miniport *self, HANDLE object, const DXGKARG_SUBMITCOMMAND *arg)
{
    DXGKARG_SUBMITCOMMAND as = *arg;

    if (as.DmaBufferSubmissionEndOffset > as.DmaBufferSubmissionStartOffset)
        as.DmaBufferSubmissionEndOffset = as.DmaBufferSize;
    return miniport_forward_submit_command(self, object, &as);
}

static NTSTATUS submit_virtual_whole(struct miniport *self, HANDLE object,
                                     const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    DXGKARG_SUBMITCOMMANDVIRTUAL as = *arg;

    if (as.DmaBufferSize)
        as.DmaBufferSize = (as.DmaBufferSize + 4095) & ~4095u;
    return miniport_forward_submit_command_virtual(self, object, &as);
}

static void plant_submit_whole(struct zoo_layer *layer)
{
    layer->ops.submit_command = submit_whole;
    layer->ops.submit_command_virtual = submit_virtual_whole;
}

static NTSTATUS submit_from_start(struct miniport *self, HANDLE object,
                                  const DXGKARG_SUBMITCOMMAND *arg)
{
    DXGKARG_SUBMITCOMMAND as = *arg;

    as.DmaBufferSubmissionStartOffset = 0;
    return miniport_forward_submit_command(self, object, &as);
}

static void plant_submit_from_start(struct zoo_layer *layer)
{
    layer->ops.submit_command = submit_from_start;
}

static NTSTATUS submit_by_address(struct miniport *self, HANDLE object,
                                  const DXGKARG_SUBMITCOMMAND *arg)
{
    DXGKARG_SUBMITCOMMAND as = *arg;

    if (!arg->Flags.Paging)
        as.DmaBufferSegmentId = 0;
    return miniport_forward_submit_command(self, object, &as);
}

static void plant_submit_by_address(struct zoo_layer *layer)
{
    layer->ops.submit_command = submit_by_address;
}

static NTSTATUS submit_lost(struct miniport *self, HANDLE object, const DXGKARG_SUBMITCOMMAND *arg)
{
    return EVERY(zoo_layer_of(self), 9) ? STATUS_SUCCESS
                                        : miniport_forward_submit_command(self, object, arg);
}

static NTSTATUS submit_virtual_lost(struct miniport *self, HANDLE object,
                                    const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    return EVERY(zoo_layer_of(self), 9)
               ? STATUS_SUCCESS
               : miniport_forward_submit_command_virtual(self, object, arg);
}

static void plant_submit_lost(struct zoo_layer *layer)
{
    layer->ops.submit_command = submit_lost;
    layer->ops.submit_command_virtual = submit_virtual_lost;
}

static NTSTATUS resubmission_lost(struct miniport *self, HANDLE object,
                                  const DXGKARG_SUBMITCOMMAND *arg)
{
    return arg->Flags.Resubmission ? STATUS_SUCCESS
                                   : miniport_forward_submit_command(self, object, arg);
}

static NTSTATUS resubmission_virtual_lost(struct miniport *self, HANDLE object,
                                          const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    return arg->Flags.Resubmission ? STATUS_SUCCESS
                                   : miniport_forward_submit_command_virtual(self, object, arg);
}

static void plant_resubmission_lost(struct zoo_layer *layer)
{
    layer->ops.submit_command = resubmission_lost;
    layer->ops.submit_command_virtual = resubmission_virtual_lost;
}

/* The GPU goes on with the root table that it had first. */
static NTSTATUS keep_first_root(struct miniport *self, HANDLE object,
                                const DXGKARG_SETROOTPAGETABLE *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    DXGKARG_SETROOTPAGETABLE as = *arg;

    if (!layer->calls++)
        memcpy(&layer->state[0], &arg->Address, sizeof arg->Address);
    memcpy(&as.Address, &layer->state[0], sizeof as.Address);
    return miniport_forward_set_root_page_table(self, object, &as);
}

static void plant_first_root(struct zoo_layer *layer)
{
    layer->ops.set_root_page_table = keep_first_root;
}

/* The contexts whose roots are kept: the first is the system's, whose root stays. */
#define ROOTS_KEPT 2

/* A root that has grown is somewhere else; a context goes on with the one that it had first. */
static NTSTATUS keep_own_root(struct miniport *self, HANDLE object,
                              const DXGKARG_SETROOTPAGETABLE *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    DXGKARG_SETROOTPAGETABLE as = *arg;

    for (unsigned i = 0; i < ROOTS_KEPT; i++) {
        uint64_t *kept = &layer->state[4 * i];

        if (!kept[0]) {
            kept[0] = (uint64_t)(uintptr_t)arg->hContext;
            kept[1] = arg->NumEntries;
            kept[2] = arg->Address.SegmentId;
            kept[3] = arg->Address.SegmentOffset;
        }
        if (kept[0] != (uint64_t)(uintptr_t)arg->hContext)
            continue;
        as.NumEntries = (UINT)kept[1];
        as.Address.SegmentId = (UINT)kept[2];
        as.Address.SegmentOffset = kept[3];
        break;
    }
    return miniport_forward_set_root_page_table(self, object, &as);
}

static void plant_own_root(struct zoo_layer *layer)
{
    layer->ops.set_root_page_table = keep_own_root;
}

/* ---- Patching ---- */

#define MOST_LOCATIONS 1024u

static NTSTATUS patch_as(struct miniport *self, HANDLE object, const DXGKARG_PATCH *arg,
                         void (*change)(const DXGKARG_PATCH *arg, DXGK_ALLOCATIONLIST *list))
{
    DXGK_ALLOCATIONLIST list[MOST_LOCATIONS];
    DXGKARG_PATCH as = *arg;

    if (!arg->pAllocationList || !arg->AllocationListSize ||
        arg->AllocationListSize > MOST_LOCATIONS)
        return miniport_forward_patch(self, object, arg);
    memcpy(list, arg->pAllocationList, arg->AllocationListSize * sizeof list[0]);
    change(arg, list);
    as.pAllocationList = list;
    return miniport_forward_patch(self, object, &as);
}

static void truncate_addresses(const DXGKARG_PATCH *arg, DXGK_ALLOCATIONLIST *list)
{
    for (UINT i = 0; i < arg->AllocationListSize; i++)
        list[i].PhysicalAddress.QuadPart &= 0xfffff;
}

static NTSTATUS patch_truncated(struct miniport *self, HANDLE object, const DXGKARG_PATCH *arg)
{
    return patch_as(self, object, arg, truncate_addresses);
}

static void plant_patch_truncated(struct zoo_layer *layer)
{
    layer->ops.patch = patch_truncated;
}

static NTSTATUS patch_wrong_range(struct miniport *self, HANDLE object, const DXGKARG_PATCH *arg)
{
    DXGKARG_PATCH as = *arg;

    /* Start for length, and the other way round. */
    if (as.PatchLocationListSubmissionStart < as.PatchLocationListSubmissionLength)
        as.PatchLocationListSubmissionLength = as.PatchLocationListSubmissionStart;
    return miniport_forward_patch(self, object, &as);
}

static void plant_patch_wrong_range(struct zoo_layer *layer)
{
    layer->ops.patch = patch_wrong_range;
}

static NTSTATUS patch_without_offset(struct miniport *self, HANDLE object, const DXGKARG_PATCH *arg)
{
    D3DDDI_PATCHLOCATIONLIST list[MOST_LOCATIONS];
    DXGKARG_PATCH as = *arg;

    if (!arg->pPatchLocationList || arg->PatchLocationListSize > MOST_LOCATIONS)
        return miniport_forward_patch(self, object, arg);
    memcpy(list, arg->pPatchLocationList, arg->PatchLocationListSize * sizeof list[0]);
    for (UINT i = 0; i < arg->PatchLocationListSize; i++)
        list[i].AllocationOffset = 0;
    as.pPatchLocationList = list;
    return miniport_forward_patch(self, object, &as);
}

static void plant_patch_without_offset(struct zoo_layer *layer)
{
    layer->ops.patch = patch_without_offset;
}

static void wait_for_zero(const DXGKARG_PATCH *arg, DXGK_ALLOCATIONLIST *list)
{
    /* What is at the start of a segment has "no address": that of its neighbour in the list. */
    for (UINT i = 0; i < arg->AllocationListSize; i++) {
        if (!list[i].PhysicalAddress.QuadPart)
            list[i].PhysicalAddress.QuadPart = 0x100000;
    }
}

static NTSTATUS patch_zero(struct miniport *self, HANDLE object, const DXGKARG_PATCH *arg)
{
    return patch_as(self, object, arg, wait_for_zero);
}

static void plant_patch_zero(struct zoo_layer *layer)
{
    layer->ops.patch = patch_zero;
}

static NTSTATUS patch_outside(struct miniport *self, HANDLE object, const DXGKARG_PATCH *arg)
{
    NTSTATUS status = miniport_forward_patch(self, object, arg);

    if (arg->pDmaBuffer && arg->DmaBufferSubmissionEndOffset + 8 <= arg->DmaBufferSize)
        memset((char *)arg->pDmaBuffer + arg->DmaBufferSubmissionEndOffset, 0x77, 8);
    return status;
}

static void plant_patch_outside(struct zoo_layer *layer)
{
    layer->ops.patch = patch_outside;
}

/* ---- Interrupts ---- */

/* Which of the two the interrupt handler calls: what the driver says of fences on its way up. */
static void tell(struct zoo_layer *layer, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    layer->host.upper->ops->notify_interrupt(layer->host.upper, data);
}

static bool is_completion(const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    return data->InterruptType == DXGK_INTERRUPT_DMA_COMPLETED;
}

static void tell_twice(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);

    tell(layer, data);
    if (is_completion(data) && EVERY(layer, 5))
        tell(layer, data);
}

static void plant_tell_twice(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_twice;
}

static void tell_unknown(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);
    DXGKARGCB_NOTIFY_INTERRUPT_DATA as = *data;

    if (is_completion(data) && EVERY(layer, 6)) {
        as.DmaCompleted.SubmissionFenceId += 1000;
        tell(layer, &as);
    }
    tell(layer, data);
}

static void plant_tell_unknown(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_unknown;
}

static void tell_other_node(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);
    DXGKARGCB_NOTIFY_INTERRUPT_DATA as = *data;

    if (is_completion(data) && EVERY(layer, 6))
        as.DmaCompleted.NodeOrdinal ^= 1;
    tell(layer, &as);
}

static void plant_tell_other_node(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_other_node;
}

static void tell_nothing(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);

    if (!is_completion(data) || !EVERY(layer, 8))
        tell(layer, data);
}

static void plant_tell_nothing(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_nothing;
}

static void tell_preempted_wrong(struct miniport_host *host,
                                 const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA as = *data;

    if (data->InterruptType == DXGK_INTERRUPT_DMA_PREEMPTED)
        as.DmaPreempted.LastCompletedFenceId--;
    tell(zoo_layer_of_host(host), &as);
}

static void plant_tell_preempted_wrong(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_preempted_wrong;
}

/* Where a preemption is answered early: of each node, in the layer's memory. */
enum early_word {
    EARLY_SUBMITTED,
    EARLY_COMPLETED,
    EARLY_ASKED,
    EARLY_PREEMPTION,
    EARLY_FORGOTTEN, /* the last one that it does not tell of any more */
    EARLY_WORDS
};

static uint64_t *early_word(struct zoo_layer *layer, unsigned node, enum early_word word)
{
    return &layer->memory.words[node % 64 * EARLY_WORDS + word];
}

static void note_early(struct zoo_layer *layer, unsigned node, uint32_t fence)
{
    *early_word(layer, node, EARLY_SUBMITTED) = fence;
    if (fence <= *early_word(layer, node, EARLY_FORGOTTEN))
        *early_word(layer, node, EARLY_FORGOTTEN) = fence - 1; /* it is back */
}

static NTSTATUS submit_before_early(struct miniport *self, HANDLE object,
                                    const DXGKARG_SUBMITCOMMAND *arg)
{
    note_early(zoo_layer_of(self), arg->NodeOrdinal, arg->SubmissionFenceId);
    return miniport_forward_submit_command(self, object, arg);
}

static NTSTATUS submit_virtual_before_early(struct miniport *self, HANDLE object,
                                            const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    note_early(zoo_layer_of(self), arg->NodeOrdinal, arg->SubmissionFenceId);
    return miniport_forward_submit_command_virtual(self, object, arg);
}

static void note_completed(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);

    if (is_completion(data)) {
        unsigned node = data->DmaCompleted.NodeOrdinal;

        if (data->DmaCompleted.SubmissionFenceId <= *early_word(layer, node, EARLY_FORGOTTEN))
            return;
        *early_word(layer, node, EARLY_COMPLETED) = data->DmaCompleted.SubmissionFenceId;
    }
    tell(layer, data);
}

static BOOLEAN NTAPI tell_early_at_device_irql(PVOID context)
{
    struct zoo_layer *layer = context;

    for (unsigned node = 0; node < 64; node++) {
        if (!*early_word(layer, node, EARLY_ASKED))
            continue;
        *early_word(layer, node, EARLY_ASKED) = 0;
        *early_word(layer, node, EARLY_FORGOTTEN) = *early_word(layer, node, EARLY_SUBMITTED);
        zoo_tell_preempted(layer, node, *early_word(layer, node, EARLY_PREEMPTION),
                           *early_word(layer, node, EARLY_COMPLETED));
    }
    return TRUE;
}

/* The GPU is told nothing where it has work: what it has runs on. */
static NTSTATUS preempt_early(struct miniport *self, HANDLE object,
                              const DXGKARG_PREEMPTCOMMAND *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    DXGKARG_QUERYCURRENTFENCE query = {.NodeOrdinal = arg->NodeOrdinal};
    BOOLEAN result;

    miniport_query_current_fence(self->next, object, &query); /* tells what has run */
    if (*early_word(layer, arg->NodeOrdinal, EARLY_SUBMITTED) ==
        *early_word(layer, arg->NodeOrdinal, EARLY_COMPLETED))
        return miniport_forward_preempt_command(self, object, arg);
    *early_word(layer, arg->NodeOrdinal, EARLY_PREEMPTION) = arg->PreemptionFenceId;
    *early_word(layer, arg->NodeOrdinal, EARLY_ASKED) = 1;
    layer->host.upper->ops->synchronize_execution(layer->host.upper, tell_early_at_device_irql,
                                                  layer, 0, &result);
    return STATUS_SUCCESS;
}

static void plant_preempt_early(struct zoo_layer *layer)
{
    layer->ops.submit_command = submit_before_early;
    layer->ops.submit_command_virtual = submit_virtual_before_early;
    layer->ops.preempt_command = preempt_early;
    layer->host_ops.notify_interrupt = note_completed;
}

static void tell_reserved(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);
    DXGKARGCB_NOTIFY_INTERRUPT_DATA as = *data;

    if (is_completion(data) && EVERY(layer, 12)) {
        as.InterruptType = DXGK_INTERRUPT_DMA_FAULTED;
        tell(layer, &as);
    }
    tell(layer, data);
}

static void plant_tell_reserved(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_reserved;
}

/* The rest of a structure on the stack that nobody has set to zero. */
static void tell_garbage(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA as = *data;

    as.Flags.Reserved = 0x0badbad;
    tell(zoo_layer_of_host(host), &as);
}

static void plant_tell_garbage(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_garbage;
}

/* As if nobody waited for a native fence. */
static void tell_no_fence(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    if (data->InterruptType != DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED ||
        data->MonitoredFenceSignaled.NodeOrdinal != 0)
        tell(zoo_layer_of_host(host), data);
}

static void plant_tell_no_fence(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_no_fence;
}

static NTSTATUS update_nothing(struct miniport *self, HANDLE object,
                               const DXGKARG_UPDATEMONITOREDVALUES *arg)
{
    return STATUS_SUCCESS;
}

static void plant_update_nothing(struct zoo_layer *layer)
{
    layer->ops.update_monitored_values = update_nothing;
}

/* The upper half of an awaited value is lost on its way to memory. */
static NTSTATUS update_lower_half(struct miniport *self, HANDLE object,
                                  const DXGKARG_UPDATEMONITOREDVALUES *arg)
{
    NTSTATUS status = miniport_forward_update_monitored_values(self, object, arg);

    for (UINT i = 0; i < arg->NumFences; i++)
        *(volatile uint64_t *)arg->MonitoredValueKernelCpuVa[i] &= UINT32_MAX;
    return status;
}

static void plant_update_lower_half(struct zoo_layer *layer)
{
    layer->ops.update_monitored_values = update_lower_half;
}

/* ---- Where native fences are ---- */

static NTSTATUS prefer_another(struct miniport *self, HANDLE object,
                               DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA *arg)
{
    NTSTATUS status = miniport_forward_get_standard_allocation_driver_data(self, object, arg);

    if (NT_SUCCESS(status) &&
        arg->StandardAllocationType == D3DKMDT_STANDARDALLOCATION_FENCESTORAGE)
        arg->pCreateFenceStorageData->AllocationInfo.PreferredSegment.SegmentId0 = 4;
    return status;
}

static void plant_prefer_another(struct zoo_layer *layer)
{
    layer->ops.get_standard_allocation_driver_data = prefer_another;
}

static NTSTATUS hide_monitored(struct miniport *self, HANDLE object,
                               DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA *arg)
{
    NTSTATUS status = miniport_forward_get_standard_allocation_driver_data(self, object, arg);

    /* Segment 3 is memory that the CPU cannot see, as the row has it. */
    if (NT_SUCCESS(status) &&
        arg->StandardAllocationType == D3DKMDT_STANDARDALLOCATION_FENCESTORAGE) {
        arg->pCreateFenceStorageData->AllocationInfo.SupportedWriteSegmentSet = 1u << 2;
        arg->pCreateFenceStorageData->AllocationInfo.PreferredSegment.SegmentId0 = 3;
    }
    return status;
}

static void plant_hide_monitored(struct zoo_layer *layer)
{
    layer->ops.get_standard_allocation_driver_data = hide_monitored;
}

static NTSTATUS want_private(struct miniport *self, HANDLE object,
                             DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA *arg)
{
    NTSTATUS status = miniport_forward_get_standard_allocation_driver_data(self, object, arg);

    if (NT_SUCCESS(status) &&
        arg->StandardAllocationType == D3DKMDT_STANDARDALLOCATION_FENCESTORAGE)
        arg->AllocationPrivateDriverDataSize = 24;
    return status;
}

static void plant_want_private(struct zoo_layer *layer)
{
    layer->ops.get_standard_allocation_driver_data = want_private;
}

/*
 * The segment is taken for system memory: the offset in it is used as an address of the bus. Both
 * are numbers that such a driver writes to its unit.
 */
static NTSTATUS forget_segment(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    DXGK_FENCE_RESIDENCY_INFO infos[16];
    DXGKARG_BUILDPAGINGBUFFER as = *arg;
    UINT count = arg->NotifyFenceResidency.NumFences;

    if (arg->Operation != DXGK_OPERATION_NOTIFY_FENCE_RESIDENCY || count > ARRAY_COUNT(infos))
        return miniport_forward_build_paging_buffer(self, object, arg);
    memcpy(infos, arg->NotifyFenceResidency.FenceResidencyInfo, count * sizeof infos[0]);
    for (UINT i = 0; i < count; i++)
        infos[i].CurrentValuePhysicalAddress.SegmentId = 0;
    as.NotifyFenceResidency.FenceResidencyInfo = infos;
    return zoo_build_as(self, object, arg, &as);
}

/* A fence that it knows comes to a segment, and the notice is lost. */
static NTSTATUS miss_return(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    const DXGK_BUILDPAGINGBUFFER_NOTIFY_FENCE_RESIDENCY *notice = &arg->NotifyFenceResidency;
    bool has_news = false;

    if (arg->Operation != DXGK_OPERATION_NOTIFY_FENCE_RESIDENCY)
        return miniport_forward_build_paging_buffer(self, object, arg);
    for (UINT i = 0; i < notice->NumFences; i++) {
        uint64_t fence = (uint64_t)(uintptr_t)notice->FenceResidencyInfo[i].hGlobalNativeFence;
        unsigned at = 0;

        has_news |= !notice->FenceResidencyInfo[i].CurrentValuePhysicalAddress.SegmentId;
        while (at < layer->state[0] && layer->memory.words[at] != fence)
            at++;
        if (at == layer->state[0] && at < ARRAY_COUNT(layer->memory.words)) {
            layer->memory.words[layer->state[0]++] = fence;
            has_news = true;
        }
    }
    return has_news ? miniport_forward_build_paging_buffer(self, object, arg) : STATUS_SUCCESS;
}

static void plant_miss_return(struct zoo_layer *layer)
{
    layer->ops.build_paging_buffer = miss_return;
}

/* ---- What a display shows ---- */

/* The page behind the one that is meant: of two surfaces side by side it is the other one's. */
static NTSTATUS show_next_page(struct miniport *self, HANDLE object,
                               const DXGKARG_SETVIDPNSOURCEADDRESS *arg)
{
    DXGKARG_SETVIDPNSOURCEADDRESS as = *arg;

    as.PrimaryAddress.QuadPart += 4096;
    return miniport_forward_set_vid_pn_source_address(self, object, &as);
}

static void plant_show_next_page(struct zoo_layer *layer)
{
    layer->ops.set_vid_pn_source_address = show_next_page;
}

static void tell_no_sync(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    if (data->InterruptType != DXGK_INTERRUPT_CRTC_VSYNC)
        tell(zoo_layer_of_host(host), data);
}

static void plant_tell_no_sync(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_no_sync;
}

/* The address that the kernel gave last is reported at once, whatever is scanned out. */
static NTSTATUS report_at_once(struct miniport *self, HANDLE object,
                               const DXGKARG_SETVIDPNSOURCEADDRESS *arg)
{
    NTSTATUS status = miniport_forward_set_vid_pn_source_address(self, object, arg);
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_CRTC_VSYNC};
    struct zoo_layer *layer = zoo_layer_of(self);

    data.CrtcVsync.PhysicalAddress = arg->PrimaryAddress;
    if (NT_SUCCESS(status) && arg->ContextCount) {
        tell(layer, &data);
        layer->host.upper->ops->queue_dpc(layer->host.upper);
    }
    return status;
}

static void plant_report_at_once(struct zoo_layer *layer)
{
    layer->ops.set_vid_pn_source_address = report_at_once;
}

static NTSTATUS forget_size(struct miniport *self, HANDLE object,
                            DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA *arg)
{
    NTSTATUS status = miniport_forward_get_standard_allocation_driver_data(self, object, arg);

    if (arg->StandardAllocationType == D3DKMDT_STANDARDALLOCATION_SHAREDPRIMARYSURFACE &&
        arg->pAllocationPrivateDriverData)
        arg->AllocationPrivateDriverDataSize += 8;
    return status;
}

static void plant_forget_size(struct zoo_layer *layer)
{
    layer->ops.get_standard_allocation_driver_data = forget_size;
}

static bool queue_no_dpc(struct miniport_host *host)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);

    return EVERY(layer, 9) ? true : layer->host.upper->ops->queue_dpc(layer->host.upper);
}

static void plant_queue_no_dpc(struct zoo_layer *layer)
{
    layer->host_ops.queue_dpc = queue_no_dpc;
}

static void notify_no_dpc(struct miniport_host *host)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);

    if (!EVERY(layer, 9))
        layer->host.upper->ops->notify_dpc(layer->host.upper);
}

static void plant_notify_no_dpc(struct zoo_layer *layer)
{
    layer->host_ops.notify_dpc = notify_no_dpc;
}

/* ---- The end of things ---- */

static NTSTATUS keep_pool(struct miniport *self, HANDLE object,
                          const DXGKARG_DESTROYALLOCATION *arg)
{
    if (EVERY(zoo_layer_of(self), 4))
        ExAllocatePoolWithTag(NonPagedPoolNx, 64, 0x6f6f5a);
    return miniport_forward_destroy_allocation(self, object, arg);
}

static void plant_keep_pool(struct zoo_layer *layer)
{
    layer->ops.destroy_allocation = keep_pool;
}

static NTSTATUS keep_mapping(struct miniport_host *host, PVOID virtual_address)
{
    return STATUS_SUCCESS;
}

static void plant_keep_mapping(struct zoo_layer *layer)
{
    layer->host_ops.unmap_memory = keep_mapping;
}

/* Its StopDevice leaves the mask of interrupts as it was: put back before the registers go. */
static NTSTATUS unmap_enabled(struct miniport_host *host, PVOID virtual_address)
{
    WRITE_REGISTER_ULONG((volatile ULONG *)((char *)virtual_address + SGPU_REG_IRQ_ENABLE),
                         SGPU_IRQ_COMPLETED(0) | SGPU_IRQ_FAULTED(0));
    return miniport_host_forward_ops.unmap_memory(host, virtual_address);
}

static void plant_stay_enabled(struct zoo_layer *layer)
{
    layer->host_ops.unmap_memory = unmap_enabled;
}

/* Goes on without what it could not have. */
static NTSTATUS start_anyway(struct miniport *self, const DXGK_START_INFO *start, ULONG *sources,
                             ULONG *children)
{
    miniport_start_device(self->next, start, sources, children);
    return STATUS_SUCCESS;
}

static void plant_start_anyway(struct zoo_layer *layer)
{
    layer->ops.start_device = start_anyway;
}

static bool interrupt_denied(struct miniport *self, ULONG message)
{
    miniport_forward_ops.interrupt(self, message);
    return false;
}

static void plant_interrupt_denied(struct zoo_layer *layer)
{
    layer->ops.interrupt = interrupt_denied;
}

static NTSTATUS group_by_ordinal(struct miniport *self, HANDLE object,
                                 DXGKARG_QUERYDEPENDENTENGINEGROUP *arg)
{
    NTSTATUS status = miniport_forward_query_dependent_engine_group(self, object, arg);

    arg->DependentNodeOrdinalMask = arg->NodeOrdinal;
    return status;
}

static void plant_group_by_ordinal(struct zoo_layer *layer)
{
    layer->ops.query_dependent_engine_group = group_by_ordinal;
}

static NTSTATUS reset_fails(struct miniport *self, HANDLE object)
{
    miniport_forward_reset_from_timeout(self, object);
    return STATUS_UNSUCCESSFUL;
}

static void plant_reset_fails(struct zoo_layer *layer)
{
    layer->ops.reset_from_timeout = reset_fails;
}

static NTSTATUS query_old_fence(struct miniport *self, HANDLE object,
                                DXGKARG_QUERYCURRENTFENCE *arg)
{
    arg->CurrentFence = 0;
    return STATUS_SUCCESS;
}

static void plant_query_old_fence(struct zoo_layer *layer)
{
    layer->ops.query_current_fence = query_old_fence;
}

/* ---- A counter that a reset of the adapter leaves as it is ---- */

#define NODES_FOLLOWED 8
#define AFTER_RESET    (UINT64_C(1) << 32) /* beside the fence: nothing was reported since */

static uint64_t *completed_of(struct zoo_layer *layer, UINT node)
{
    return &layer->state[node % NODES_FOLLOWED];
}

static void follow_completed(struct miniport_host *host,
                             const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);
    DXGKARGCB_NOTIFY_INTERRUPT_DATA as = *data;

    if (is_completion(data)) {
        *completed_of(layer, data->DmaCompleted.NodeOrdinal) = data->DmaCompleted.SubmissionFenceId;
    } else if (data->InterruptType == DXGK_INTERRUPT_DMA_PREEMPTED) {
        uint64_t *completed = completed_of(layer, data->DmaPreempted.NodeOrdinal);

        if (*completed & AFTER_RESET)
            as.DmaPreempted.LastCompletedFenceId = (UINT)*completed;
    }
    tell(layer, &as);
}

static NTSTATUS reset_and_keep_counter(struct miniport *self, HANDLE object)
{
    struct zoo_layer *layer = zoo_layer_of(self);

    for (UINT i = 0; i < NODES_FOLLOWED; i++)
        layer->state[i] |= AFTER_RESET;
    return miniport_forward_reset_from_timeout(self, object);
}

static NTSTATUS query_kept_counter(struct miniport *self, HANDLE object,
                                   DXGKARG_QUERYCURRENTFENCE *arg)
{
    NTSTATUS status = miniport_forward_query_current_fence(self, object, arg);
    const uint64_t completed = *completed_of(zoo_layer_of(self), arg->NodeOrdinal);

    if (completed & AFTER_RESET)
        arg->CurrentFence = (UINT)completed;
    return status;
}

static void plant_counter_kept(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = follow_completed;
    layer->ops.reset_from_timeout = reset_and_keep_counter;
    layer->ops.query_current_fence = query_kept_counter;
}

#define PLANT(id_, models_, rules_, function, ...)                                                 \
    {                                                                                              \
        .id = id_, .models = models_, .rules = rules_, .since = ZOO_SINCE, .plant = function,      \
        .sentence = __VA_ARGS__,                                                                   \
    }

/* clang-format off */
#define DISPLAY            "display=yes shows=yes"
#define FENCES_IN_SEGMENTS "wddm=3.2 native-fences=2 native-fence-memory=both fences=leave"

const struct zoo_defect zoo_submit_defects[] = {
    PLANT("D08-submit-fails", ZOO_ALL, "SUB-001 SUB-003 SUB-007 SUB-010 SUB-011", plant_submit_fails,
          "fails SubmitCommand when it is busy"),
    PLANT("D08-patch-fails", ZOO_PHYSICAL, "PATCH-002", plant_patch_fails,
          "fails Patch"),
    PLANT("D08-preempt-fails", ZOO_ALL, "FENCE-009", plant_preempt_fails,
          "fails PreemptCommand"),
    PLANT("D16-whole-buffer", ZOO_ALL, "SUB-002", plant_submit_whole,
          "runs the whole buffer, whatever was submitted of it"),
    PLANT("D16-from-start", ZOO_PHYSICAL | ZOO_IOMMU, "SUB-002", plant_submit_from_start,
          "runs the buffer from its start, and what ran before again"),
    PLANT("SUB-segment-ignored", ZOO_PHYSICAL, "SUB-002", plant_submit_by_address,
          "takes the address of every client's DMA buffer for one in system memory"),
    PLANT("D18-submission-lost", ZOO_ALL, "SUB-002 SUB-004 FENCE-004", plant_submit_lost,
          "loses a submission now and then"),
    PLANT("SUB-first-root", ZOO_GPUMMU, "SUB-011", plant_first_root,
          "gives every context the root table that the first one had"),
    PLANT("SUB-root-kept", ZOO_GPUMMU, "SUB-011", plant_own_root,
          "goes on with the first root table of a context when the root has grown"),
    PLANT("D76-resubmission-lost", ZOO_GPUMMU, "SUB-010", plant_resubmission_lost,
          "takes a fence that comes back after a preemption for a stale one"),
    PLANT("D70-range-confused", ZOO_PHYSICAL, "PATCH-003 PATCH-004", plant_patch_wrong_range,
          "confuses start and length of the patch locations"),
    PLANT("D71-address-truncated", ZOO_PHYSICAL, "PATCH-004", plant_patch_truncated,
          "truncates physical addresses when it patches"),
    PLANT("D70-offset-ignored", ZOO_PHYSICAL, "PATCH-004", plant_patch_without_offset,
          "ignores AllocationOffset when it patches"),
    PLANT("D72-zero-no-address", ZOO_PHYSICAL, "PATCH-004", plant_patch_zero,
          "takes offset 0 of a segment for no address"),
    PLANT("D70-patch-outside", ZOO_PHYSICAL, "PATCH-007", plant_patch_outside,
          "writes behind the submission when it patches"),
    PLANT("PRESENT-status", ZOO_ALL, "PATCH-021", plant_present_fails,
          "fails Present by a status that it does not have", .focus = "presents=yes"),
    PLANT("RENDERKM-status", ZOO_PHYSICAL, "PATCH-026", plant_render_km_fails,
          "fails RenderKm by a status that it does not have",
          .focus = "presents=yes present-by=render-km coherent-aperture=yes"),
    PLANT("RENDERKM-one-rectangle", ZOO_PHYSICAL, "content", plant_render_km_draws_one,
          "takes the first sub-rectangle of a command for the second one, too",
          .focus = "presents=yes present-by=render-km coherent-aperture=yes"),
    PLANT("PRESENT-location-left", ZOO_PHYSICAL, "PATCH-011", plant_present_lists_less,
          "leaves a reference of a present out of the patch list", .focus = "presents=yes"),
    PLANT("PRESENT-no-progress", ZOO_ALL, "PATCH-014", plant_present_without_progress,
          "wants another buffer for a present and has come no further", .focus = "presents=yes"),
    PLANT("PRESENT-source-moved", ZOO_ALL, "content", plant_present_in_place,
          "takes the rectangle of the destination for that of the source of a present",
          .focus = "presents=yes"),
    PLANT("PRESENT-address-kept", ZOO_GPUMMU | ZOO_IOMMU, "content", plant_present_to_the_first,
          "presents to the virtual address of the first destination that it was told",
          .focus = "presents=yes"),
    PLANT("D76-fence-twice", ZOO_ALL, "FENCE-002", plant_tell_twice,
          "reports a fence twice"),
    PLANT("D76-fence-unknown", ZOO_ALL, "FENCE-002", plant_tell_unknown,
          "reports a fence that was never submitted"),
    PLANT("D76-fence-other-node", ZOO_ALL, "FENCE-002 FENCE-003", plant_tell_other_node,
          "reports a fence of another node"),
    PLANT("D76-fence-lost", ZOO_ALL, "FENCE-004 FENCE-006", plant_tell_nothing,
          "does not report a fence now and then"),
    PLANT("D76-preempted-wrong", ZOO_ALL, "FENCE-007", plant_tell_preempted_wrong,
          "reports a wrong last fence with a preemption"),
    PLANT("PREEMPT-answered-early", ZOO_ALL, "FENCE-007", plant_preempt_early,
          "reports a preemption at once, and never tells the GPU to preempt"),
    PLANT("FENCE-reserved-type", ZOO_ALL, "FENCE-010", plant_tell_reserved,
          "reports DMA_FAULTED, which is reserved"),
    PLANT("FENCE-garbage-flags", ZOO_ALL, "CALL-002", plant_tell_garbage,
          "leaves reserved bits of DXGKARGCB_NOTIFY_INTERRUPT_DATA as its stack had them",
          .profile = "strict-open"),
    PLANT("FENCE-no-dpc", ZOO_ALL, "FENCE-004", plant_queue_no_dpc,
          "does not queue a DPC behind a completion"),
    PLANT("FENCE-no-notify", ZOO_ALL, "FENCE-004", plant_notify_no_dpc,
          "does not call DxgkCbNotifyDpc in its DPC"),
    PLANT("FENCE-native-untold", ZOO_GPUMMU, "FENCE-013", plant_tell_no_fence,
          "reports no native fence of an engine that it renders with"),
    PLANT("FENCE-update-ignored", ZOO_GPUMMU, "FENCE-014", plant_update_nothing,
          "does not write the values that DxgkDdiUpdateMonitoredValues gives"),
    PLANT("FENCE-update-32-bits", ZOO_GPUMMU, "FENCE-014", plant_update_lower_half,
          "writes the lower half of an awaited value in DxgkDdiUpdateMonitoredValues"),
    PLANT("FENCE-prefers-another", ZOO_GPUMMU, "FENCE-018", plant_prefer_another,
          "prefers a segment for fences that it does not name among those for them",
          .focus = FENCES_IN_SEGMENTS),
    PLANT("FENCE-monitored-hidden", ZOO_GPUMMU, "FENCE-019", plant_hide_monitored,
          "wants monitored values in memory that the CPU does not see",
          .focus = FENCES_IN_SEGMENTS " local-invisible=4M"),
    PLANT("FENCE-storage-private", ZOO_GPUMMU, "FENCE-020", plant_want_private,
          "wants private data for the storage of fences", .focus = FENCES_IN_SEGMENTS),
    PLANT("FENCE-return-missed", ZOO_GPUMMU, "NTF-011", plant_miss_return,
          "does not hear that a fence has come back to a segment",
          .focus = FENCES_IN_SEGMENTS),
    {.id = "FENCE-segment-forgotten",
     .sentence = "takes the offset of a current value in its segment for an address of the bus",
     .models = ZOO_GPUMMU,
     .rules = "NTF-011",
     .since = ZOO_SINCE,
     .focus = FENCES_IN_SEGMENTS,
     .build = forget_segment},
    PLANT("FLIP-next-page", ZOO_BOTH, "FENCE-021", plant_show_next_page,
          "scans out from the page behind PrimaryAddress", .focus = DISPLAY),
    PLANT("FLIP-untold", ZOO_BOTH, "FENCE-022", plant_tell_no_sync,
          "reports no CRTC_VSYNC", .focus = DISPLAY),
    PLANT("FLIP-told-at-once", ZOO_BOTH, "FENCE-022", plant_report_at_once,
          "reports a flip when it is asked for, and not when it is scanned out", .focus = DISPLAY),
    PLANT("FLIP-size-changes", ZOO_BOTH, "ALLOC-025", plant_forget_size,
          "tells another size of a standard allocation's description when it has written that",
          .focus = DISPLAY),
    PLANT("FENCE-query-old", ZOO_ALL, "FENCE-006 TDR-002", plant_query_old_fence,
          "answers QueryCurrentFence without looking"),
    PLANT("D77-pool-leaks", ZOO_ALL, "leak", plant_keep_pool,
          "leaks pool over start and stop"),
    PLANT("D77-mapping-kept", ZOO_ALL, "leak", plant_keep_mapping,
          "leaves the device's registers mapped when it stops"),
    PLANT("STOP-interrupts-on", ZOO_ALL, "PWR-013", plant_stay_enabled,
          "leaves interrupts of the device enabled when it stops"),
    PLANT("START-goes-on", ZOO_ALL, "refused", plant_start_anyway,
          "starts without what a callback could not give"),
    PLANT("INT-denied", ZOO_ALL, "FENCE-017", plant_interrupt_denied,
          "returns FALSE from its interrupt routine, which has told of events"),
    PLANT("TDR-group-by-ordinal", ZOO_ALL, "TDR-014", plant_group_by_ordinal,
          "answers QueryDependentEngineGroup with the ordinal in the place of its bit"),
    PLANT("TDR-counter-kept", ZOO_ALL, "TDR-015", plant_counter_kept,
          "goes on with its last completed fences when the adapter was reset",
          .focus = "incidents=yes ops=1000"),
    PLANT("TDR-reset-fails", ZOO_ALL, "TDR-001", plant_reset_fails,
          "fails ResetFromTimeout"),
    {0},
};
/* clang-format on */
