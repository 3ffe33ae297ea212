/*
 * Oracle: the layer. Looks at some DDIs and one callback and hands everything on unchanged. What
 * goes down is looked at after the driver has answered, except a submission: its packet must
 * be known before the driver can report it complete.
 */
#include "check/oracle/oracle_private.h"

#include <string.h>

struct oracle_layer {
    struct miniport miniport;
    struct miniport_host_layer host;
    struct miniport_ops ops;
    struct miniport_host_ops host_ops;
    struct oracle *oracle;
};

static struct oracle_layer *layer_of(struct miniport *miniport)
{
    return (struct oracle_layer *)miniport;
}

static struct oracle *oracle_of(struct miniport *miniport)
{
    return layer_of(miniport)->oracle;
}

/* ---- Segments ---- */

static void enter_segment(struct oracle *oracle, unsigned index, DXGK_SEGMENTFLAGS flags,
                          PHYSICAL_ADDRESS base, SIZE_T size)
{
    oracle->segments[index] = (struct oracle_segment){
        .id = index + 1,
        .is_aperture = flags.Aperture || flags.Agp,
        .is_pitch_aligned =
            oracle->interface_version < DXGKDDI_INTERFACE_VERSION_WDDM2_0 && flags.PitchAlignment,
        .base = (uint64_t)base.QuadPart,
        .size = size,
    };
}

#define ENTER_SEGMENTS(descriptors, count)                                                         \
    for (unsigned i = 0; i < (count); i++)                                                         \
    enter_segment(oracle, i, (descriptors)[i].Flags, (descriptors)[i].BaseAddress,                 \
                  (descriptors)[i].Size)

/* The answer of the second pass; the first one gives no descriptors. */
static void enter_segments(struct oracle *oracle, const DXGKARG_QUERYADAPTERINFO *query)
{
    unsigned count = 0;

    switch ((unsigned)query->Type) {
    case DXGKQAITYPE_QUERYSEGMENT: {
        const DXGK_QUERYSEGMENTOUT *out = query->pOutputData;

        if (!out->pSegmentDescriptor)
            return;
        count = (unsigned)min_u64(out->NbSegment, MAX_SEGMENTS);
        ENTER_SEGMENTS(out->pSegmentDescriptor, count);
        break;
    }
    case DXGKQAITYPE_QUERYSEGMENT3: {
        const DXGK_QUERYSEGMENTOUT3 *out = query->pOutputData;

        if (!out->pSegmentDescriptor)
            return;
        count = (unsigned)min_u64(out->NbSegment, MAX_SEGMENTS);
        ENTER_SEGMENTS(out->pSegmentDescriptor, count);
        break;
    }
    case DXGKQAITYPE_QUERYSEGMENT4: {
        const DXGK_QUERYSEGMENTOUT4 *out = query->pOutputData;

        if (!out->pSegmentDescriptor || !out->SegmentDescriptorStride)
            return;
        count = (unsigned)min_u64(out->NbSegment, MAX_SEGMENTS);
        for (unsigned i = 0; i < count; i++) {
            DXGK_SEGMENTDESCRIPTOR4 descriptor = {0};

            memcpy(&descriptor, out->pSegmentDescriptor + i * out->SegmentDescriptorStride,
                   min_u64(sizeof descriptor, out->SegmentDescriptorStride));
            enter_segment(oracle, i, descriptor.Flags, descriptor.BaseAddress, descriptor.Size);
        }
        break;
    }
    default:
        return;
    }
    oracle->segment_count = count;
}

static NTSTATUS watch_query_adapter_info(struct miniport *self, HANDLE object,
                                         const DXGKARG_QUERYADAPTERINFO *query)
{
    NTSTATUS status = miniport_forward_query_adapter_info(self, object, query);

    oracle_of(self)->event_count++;
    oracle_of(self)->interface_version = miniport_interface_version(self->next);
    if (NT_SUCCESS(status) && query->pOutputData)
        enter_segments(oracle_of(self), query);
    return status;
}

/* ---- Objects ---- */

static NTSTATUS watch_create_process(struct miniport *self, HANDLE object,
                                     DXGKARG_CREATEPROCESS *arg)
{
    NTSTATUS status = miniport_forward_create_process(self, object, arg);
    struct oracle *oracle = oracle_of(self);

    oracle->event_count++;
    if (NT_SUCCESS(status) && arg->Flags.SystemProcess) {
        oracle->has_paging_process = true;
        oracle->paging_process = (uint64_t)(uintptr_t)arg->hKmdProcess;
    }
    return status;
}

static NTSTATUS watch_create_allocation(struct miniport *self, HANDLE object,
                                        DXGKARG_CREATEALLOCATION *arg)
{
    NTSTATUS status = miniport_forward_create_allocation(self, object, arg);

    oracle_of(self)->event_count++;
    for (UINT i = 0; NT_SUCCESS(status) && i < arg->NumAllocations; i++)
        oracle_handle_created(oracle_of(self),
                              (uint64_t)(uintptr_t)arg->pAllocationInfo[i].hAllocation);
    return status;
}

static NTSTATUS watch_destroy_allocation(struct miniport *self, HANDLE object,
                                         const DXGKARG_DESTROYALLOCATION *arg)
{
    oracle_of(self)->event_count++;
    for (UINT i = 0; i < arg->NumAllocations; i++)
        oracle_handle_destroyed(oracle_of(self), (uint64_t)(uintptr_t)arg->pAllocationList[i]);
    return miniport_forward_destroy_allocation(self, object, arg);
}

static NTSTATUS watch_create_native_fence(struct miniport *self, HANDLE object,
                                          DXGKARG_CREATENATIVEFENCE *arg)
{
    NTSTATUS status = miniport_forward_create_native_fence(self, object, arg);

    oracle_of(self)->event_count++;
    if (NT_SUCCESS(status))
        oracle_fence_created(oracle_of(self), (uint64_t)(uintptr_t)arg->hGlobalNativeFence);
    return status;
}

static NTSTATUS watch_destroy_native_fence(struct miniport *self, HANDLE object,
                                           DXGKARG_DESTROYNATIVEFENCE *arg)
{
    oracle_of(self)->event_count++;
    oracle_fence_destroyed(oracle_of(self), (uint64_t)(uintptr_t)arg->hGlobalNativeFence);
    return miniport_forward_destroy_native_fence(self, object, arg);
}

/* ---- Paging ---- */

/* Bytes that the driver says it wrote; what lies outside the buffer is another layer's finding. */
static uint32_t written_bytes(const DXGKARG_BUILDPAGINGBUFFER *before,
                              const DXGKARG_BUILDPAGINGBUFFER *after)
{
    uint64_t advance = (uint64_t)((uintptr_t)after->pDmaBuffer - (uintptr_t)before->pDmaBuffer);

    return advance <= before->DmaSize ? (uint32_t)advance : 0;
}

static NTSTATUS watch_build_paging_buffer(struct miniport *self, HANDLE object,
                                          DXGKARG_BUILDPAGINGBUFFER *arg)
{
    DXGKARG_BUILDPAGINGBUFFER before = *arg;
    NTSTATUS status = miniport_forward_build_paging_buffer(self, object, arg);
    struct oracle *oracle = oracle_of(self);

    oracle->event_count++;
    if (NT_SUCCESS(status) || status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER)
        oracle_built(oracle, &before, written_bytes(&before, arg), NT_SUCCESS(status));
    if (NT_SUCCESS(status) && before.Operation == DXGK_OPERATION_NOTIFY_FENCE_RESIDENCY)
        oracle_fences_told(oracle, &before.NotifyFenceResidency);
    return status;
}

/* ---- Work ---- */

static NTSTATUS watch_render(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    oracle_buffer_made(oracle_of(self), arg->pDmaBuffer, false);
    return miniport_forward_render(self, object, arg);
}

static NTSTATUS watch_render_km(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    oracle_buffer_made(oracle_of(self), arg->pDmaBuffer, true);
    return miniport_forward_render_km(self, object, arg);
}

static NTSTATUS watch_render_gdi(struct miniport *self, HANDLE object, DXGKARG_RENDERGDI *arg)
{
    oracle_buffer_drawn(oracle_of(self), object, arg->DmaBufferGpuVirtualAddress);
    return miniport_forward_render_gdi(self, object, arg);
}

static NTSTATUS watch_present(struct miniport *self, HANDLE object, DXGKARG_PRESENT *arg)
{
    oracle_buffer_made(oracle_of(self), arg->pDmaBuffer, false);
    return miniport_forward_present(self, object, arg);
}

static NTSTATUS watch_present_to_hw_queue(struct miniport *self, HANDLE object,
                                          DXGKARG_PRESENT *arg)
{
    oracle_buffer_made(oracle_of(self), arg->pDmaBuffer, false);
    return miniport_forward_present_to_hw_queue(self, object, arg);
}

static NTSTATUS watch_patch(struct miniport *self, HANDLE object, const DXGKARG_PATCH *arg)
{
    oracle_buffer_patched(oracle_of(self), arg);
    return miniport_forward_patch(self, object, arg);
}

static NTSTATUS watch_submit_command(struct miniport *self, HANDLE object,
                                     const DXGKARG_SUBMITCOMMAND *arg)
{
    struct oracle *oracle = oracle_of(self);

    oracle->event_count++;
    if (arg->Flags.Paging)
        oracle_submitted(oracle,
                         arg->DmaBufferSubmissionEndOffset - arg->DmaBufferSubmissionStartOffset,
                         arg->SubmissionFenceId, arg->NodeOrdinal);
    else
        oracle_buffer_submitted(oracle, arg);
    return miniport_forward_submit_command(self, object, arg);
}

static NTSTATUS watch_submit_command_virtual(struct miniport *self, HANDLE object,
                                             const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    struct oracle *oracle = oracle_of(self);

    oracle->event_count++;
    if (arg->Flags.Paging)
        oracle_submitted(oracle, arg->DmaBufferSize, arg->SubmissionFenceId, arg->NodeOrdinal);
    else
        oracle_buffer_submitted_virtual(oracle, arg);
    return miniport_forward_submit_command_virtual(self, object, arg);
}

static NTSTATUS watch_reset_from_timeout(struct miniport *self, HANDLE object)
{
    NTSTATUS status = miniport_forward_reset_from_timeout(self, object);

    oracle_of(self)->event_count++;
    oracle_was_reset(oracle_of(self));
    return status;
}

/* The board sleeps: local memory need not keep content that nobody wants any more. */
static NTSTATUS watch_set_power_state(struct miniport *self, ULONG device_uid,
                                      DEVICE_POWER_STATE state, POWER_ACTION action)
{
    if (state != PowerDeviceD0)
        oracle_of(self)->reset_count++;
    return miniport_set_power_state(self->next, device_uid, state, action);
}

/* Operations under way do not happen, and the content of local memory is lost. */
static NTSTATUS watch_notify_surprise_removal(struct miniport *self,
                                              DXGK_SURPRISE_REMOVAL_TYPE type)
{
    oracle_of(self)->event_count++;
    oracle_was_reset(oracle_of(self));
    return miniport_notify_surprise_removal(self->next, type);
}

static void watch_notify_interrupt(struct miniport_host *host,
                                   const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct miniport_host_layer *layer_host = (struct miniport_host_layer *)host;
    struct oracle_layer *layer = container_of(layer_host, struct oracle_layer, host);

    layer->oracle->event_count++;
    if (data->InterruptType == DXGK_INTERRUPT_DMA_COMPLETED)
        oracle_completed(layer->oracle, data->DmaCompleted.SubmissionFenceId,
                         data->DmaCompleted.NodeOrdinal);
    if (data->InterruptType == DXGK_INTERRUPT_DMA_PREEMPTED)
        oracle_completed(layer->oracle, data->DmaPreempted.LastCompletedFenceId,
                         data->DmaPreempted.NodeOrdinal);
    layer_host->upper->ops->notify_interrupt(layer_host->upper, data);
}

/* ---- Life ---- */

static void layer_set_host(struct miniport *self, struct miniport_host *host)
{
    struct oracle_layer *layer = layer_of(self);

    layer->host.upper = host;
    miniport_set_host(self->next, &layer->host.host);
}

static void layer_destroy(struct miniport *self)
{
    struct oracle_layer *layer = layer_of(self);

    layer->oracle->has_layer = false;
    base_free(layer->oracle->services, layer, sizeof *layer);
}

NTSTATUS oracle_layer_create(struct oracle *oracle, struct miniport *next,
                             struct miniport **out_layer)
{
    struct oracle_layer *layer;

    *out_layer = NULL;
    ASSERT(!oracle->has_layer);
    layer = base_alloc(oracle->services, sizeof *layer);
    if (!layer)
        return STATUS_NO_MEMORY;
    layer->oracle = oracle;
    oracle->interface_version = miniport_interface_version(next);
    layer->ops = miniport_forward_ops;
    layer->ops.name = "oracle";
    layer->ops.destroy = layer_destroy;
    layer->ops.set_host = layer_set_host;
    layer->ops.query_adapter_info = watch_query_adapter_info;
    layer->ops.create_process = watch_create_process;
    layer->ops.create_allocation = watch_create_allocation;
    layer->ops.destroy_allocation = watch_destroy_allocation;
    layer->ops.create_native_fence = watch_create_native_fence;
    layer->ops.destroy_native_fence = watch_destroy_native_fence;
    layer->ops.build_paging_buffer = watch_build_paging_buffer;
    layer->ops.render = watch_render;
    layer->ops.render_km = watch_render_km;
    layer->ops.render_gdi = watch_render_gdi;
    layer->ops.present = watch_present;
    layer->ops.present_to_hw_queue = watch_present_to_hw_queue;
    layer->ops.patch = watch_patch;
    layer->ops.submit_command = watch_submit_command;
    layer->ops.submit_command_virtual = watch_submit_command_virtual;
    layer->ops.reset_from_timeout = watch_reset_from_timeout;
    layer->ops.set_power_state = watch_set_power_state;
    layer->ops.notify_surprise_removal = watch_notify_surprise_removal;
    layer->host_ops = miniport_host_forward_ops;
    layer->host_ops.notify_interrupt = watch_notify_interrupt;
    layer->host.host.ops = &layer->host_ops;
    layer->miniport.ops = &layer->ops;
    layer->miniport.next = next;
    oracle->has_layer = true;
    *out_layer = &layer->miniport;
    return STATUS_SUCCESS;
}
