/*
 * Defects that authors of open drivers report of their own drivers, measured on Windows, or that
 * lie next to them: docs/observed.md says which, and what each of them did there.
 */
#include "zoo/zoo_tables.h"

#include <stddef.h>
#include <string.h>

/* ---- Start ---- */

/*
 * The headers of the build are newer than the interface that the driver asks for. StartDevice
 * failed.
 */
static NTSTATUS want_newest_size(struct miniport *self, HANDLE object,
                                 const DXGKARG_QUERYADAPTERINFO *arg)
{
    bool is_short =
        (arg->Type == DXGKQAITYPE_DRIVERCAPS && arg->OutputDataSize < sizeof(DXGK_DRIVERCAPS)) ||
        (arg->Type == DXGKQAITYPE_PHYSICALADAPTERCAPS &&
         arg->OutputDataSize < sizeof(DXGK_PHYSICALADAPTERCAPS));

    return is_short ? STATUS_BUFFER_TOO_SMALL
                    : miniport_forward_query_adapter_info(self, object, arg);
}

static void plant_newest_size(struct zoo_layer *layer)
{
    layer->ops.query_adapter_info = want_newest_size;
}

/* SupportPerEngineTDR is reported. StartDevice failed with STATUS_INVALID_PARAMETER. */
static bool has_no_engine_reset(struct miniport *self, enum miniport_ddi ddi)
{
    return ddi != MINIPORT_DDI_ResetEngine && miniport_has(self->next, ddi);
}

static void plant_no_engine_reset(struct zoo_layer *layer)
{
    layer->ops.has = has_no_engine_reset;
}

/* ---- Paging buffers ---- */

/* DmaSize is what is left behind what others wrote in the buffer. */
static void take_rest_for_whole(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (arg->pDmaBuffer)
        arg->DmaSize += arg->DmaBufferWriteOffset;
}

/*
 * Where scratch showed before the updates of the same buffer, by its first address. The driver
 * walked the tables when it built, and they had not been written yet: data went to the place of an
 * older operation.
 */
enum { OLD_VA, OLD_SEGMENT, OLD_PAGE, OLD_PAGES, NEW_SEGMENT, NEW_PAGE, NEW_PAGES };

static void remember_update(struct zoo_layer *layer, const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const DXGK_PTE *entry = arg->UpdatePageTable.pPageTableEntries;
    bool is_again = layer->state[OLD_VA] == arg->UpdatePageTable.FirstPteVirtualAddress;

    if (arg->UpdatePageTable.PageTableLevel || arg->UpdatePageTable.Flags.Repeat ||
        arg->MultipassOffset || !entry || !entry->Valid || !entry->Segment)
        return;
    memcpy(&layer->state[OLD_SEGMENT], &layer->state[NEW_SEGMENT], 3 * sizeof layer->state[0]);
    if (!is_again)
        layer->state[OLD_PAGES] = 0;
    layer->state[OLD_VA] = arg->UpdatePageTable.FirstPteVirtualAddress;
    layer->state[NEW_SEGMENT] = entry->Segment;
    layer->state[NEW_PAGE] = entry->PageAddress;
    layer->state[NEW_PAGES] = arg->UpdatePageTable.NumPageTableEntries;
}

static NTSTATUS fill_where_it_was(struct miniport *self, HANDLE object,
                                  DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    DXGKARG_BUILDPAGINGBUFFER as = *arg;

    if (arg->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE)
        remember_update(layer, arg);
    if (arg->Operation != DXGK_OPERATION_VIRTUAL_FILL || !layer->state[OLD_PAGES] ||
        arg->FillVirtual.DestinationVirtualAddress != layer->state[OLD_VA])
        return miniport_forward_build_paging_buffer(self, object, arg);
    as.Operation = DXGK_OPERATION_FILL;
    memset(&as.Fill, 0, sizeof as.Fill);
    as.Fill.hAllocation = arg->FillVirtual.hAllocation;
    as.Fill.FillSize = (SIZE_T)arg->FillVirtual.FillSizeInBytes;
    if (as.Fill.FillSize > layer->state[OLD_PAGES] * 4096)
        as.Fill.FillSize = (SIZE_T)layer->state[OLD_PAGES] * 4096;
    as.Fill.FillPattern = arg->FillVirtual.FillPattern;
    as.Fill.Destination.SegmentId = (UINT)layer->state[OLD_SEGMENT];
    as.Fill.Destination.SegmentAddress.QuadPart = (LONGLONG)(layer->state[OLD_PAGE] * 4096);
    return zoo_build_as(self, object, arg, &as);
}

/* DmaBufferGpuVirtualAddress was 0. Every paging fence was reported, and nothing had run. */
static NTSTATUS note_address(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    zoo_layer_of(self)->state[0] = arg->pDmaBuffer && !arg->DmaBufferGpuVirtualAddress;
    return miniport_forward_build_paging_buffer(self, object, arg);
}

static NTSTATUS complete_without_buffer(struct miniport *self, HANDLE object,
                                        const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    DXGKARG_SUBMITCOMMANDVIRTUAL as = *arg;

    if (arg->Flags.Paging && zoo_layer_of(self)->state[0])
        as.DmaBufferSize = 0;
    return miniport_forward_submit_command_virtual(self, object, &as);
}

static void plant_no_address_no_buffer(struct zoo_layer *layer)
{
    layer->ops.build_paging_buffer = note_address;
    layer->ops.submit_command_virtual = complete_without_buffer;
}

/* ---- Submissions ---- */

/* It patches nothing, so it gives no locations. Nothing was mapped, and the GPU faulted. */
static NTSTATUS render_without_locations(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    D3DDDI_PATCHLOCATIONLIST *locations = arg->pPatchLocationListOut;
    UINT count = arg->PatchLocationListOutSize;
    NTSTATUS status = miniport_forward_render(self, object, arg);

    arg->pPatchLocationListOut = locations;
    arg->PatchLocationListOutSize = count;
    return status;
}

static void plant_no_locations(struct zoo_layer *layer)
{
    layer->ops.render = render_without_locations;
}

/* It leaves addresses to Patch, which is not called where nothing has moved since. */
static NTSTATUS render_for_patch(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    const D3DDDI_PATCHLOCATIONLIST *location = arg->pPatchLocationListOut;
    char *buffer = arg->pDmaBuffer;
    NTSTATUS status = miniport_forward_render(self, object, arg);

    for (; location < arg->pPatchLocationListOut; location++)
        memset(buffer + location->PatchOffset, 0, sizeof(uint64_t));
    return status;
}

static void plant_waits_for_patch(struct zoo_layer *layer)
{
    layer->ops.render = render_for_patch;
}

/* Its watchdog reports what the GPU has not done. Applications read what was not there. */
static NTSTATUS note_submission(struct zoo_layer *layer, unsigned node, uint32_t fence,
                                NTSTATUS status)
{
    layer->state[node & 7] = fence;
    return status;
}

static NTSTATUS submit_noted(struct miniport *self, HANDLE object, const DXGKARG_SUBMITCOMMAND *arg)
{
    return note_submission(zoo_layer_of(self), arg->NodeOrdinal, arg->SubmissionFenceId,
                           miniport_forward_submit_command(self, object, arg));
}

static NTSTATUS submit_virtual_noted(struct miniport *self, HANDLE object,
                                     const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    return note_submission(zoo_layer_of(self), arg->NodeOrdinal, arg->SubmissionFenceId,
                           miniport_forward_submit_command_virtual(self, object, arg));
}

static void tell_all_done(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);
    DXGKARGCB_NOTIFY_INTERRUPT_DATA as = *data;

    if (zoo_is_completion(data))
        as.DmaCompleted.SubmissionFenceId = (UINT)layer->state[data->DmaCompleted.NodeOrdinal & 7];
    zoo_tell(layer, &as);
}

static void plant_done_early(struct zoo_layer *layer)
{
    layer->ops.submit_command = submit_noted;
    layer->ops.submit_command_virtual = submit_virtual_noted;
    layer->host_ops.notify_interrupt = tell_all_done;
}

/* ---- Resets ---- */

/*
 * One number of the last completed fence for all nodes. The engine was not reset: bug check 0x116.
 */
static void note_completed(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);

    if (zoo_is_completion(data))
        layer->state[0] = data->DmaCompleted.SubmissionFenceId;
    zoo_tell(layer, data);
}

static NTSTATUS abort_fence_of_any_node(struct miniport *self, HANDLE object,
                                        DXGKARG_RESETENGINE *arg)
{
    NTSTATUS status = miniport_forward_reset_engine(self, object, arg);

    if (NT_SUCCESS(status) && zoo_layer_of(self)->state[0])
        arg->LastAbortedFenceId = (UINT)zoo_layer_of(self)->state[0];
    return status;
}

static void plant_shared_fence(struct zoo_layer *layer)
{
    layer->ops.reset_engine = abort_fence_of_any_node;
    layer->host_ops.notify_interrupt = note_completed;
}

/* Says that it has reset a GPU that it cannot reset. */
static NTSTATUS claim_reset(struct miniport *self, HANDLE object)
{
    return STATUS_SUCCESS;
}

static void plant_claimed_reset(struct zoo_layer *layer)
{
    layer->ops.reset_from_timeout = claim_reset;
}

static NTSTATUS say_responsive(struct miniport *self, HANDLE object, DXGKARG_QUERYENGINESTATUS *arg)
{
    NTSTATUS status = miniport_forward_query_engine_status(self, object, arg);

    arg->EngineStatus.Responsive = 1;
    return status;
}

static void plant_ever_responsive(struct zoo_layer *layer)
{
    layer->ops.query_engine_status = say_responsive;
}

/* clang-format off */
const struct zoo_defect zoo_observed_defects[] = {
    PLANT("START-newest-size", ZOO_ALL, "refused", plant_newest_size,
          "wants room for caps as its own headers have them"),
    PLANT("TDR-engine-ddis-missing", ZOO_ALL, "TDR-013", plant_no_engine_reset,
          "reports SupportPerEngineTDR without DxgkDdiResetEngine"),
    {.id = "TDR-ever-responsive", .models = ZOO_ALL, .rules = "TDR-016", .since = ZOO_SINCE,
     .sentence = "says of every engine that it is responsive", .plant = plant_ever_responsive,
     .profile = "strict-open", .focus = "incidents=yes"},
    {.id = "D11-size-of-whole", .models = ZOO_GPUMMU, .rules = "PB-005", .since = ZOO_SINCE,
     .sentence = "takes DmaSize for the size of the whole buffer", .alter = take_rest_for_whole},
    {.id = "D67-tables-read-early", .models = ZOO_GPUMMU, .rules = "VX-008", .since = ZOO_SINCE,
     .sentence = "fills where the tables lead when it builds, before they are written", .build = fill_where_it_was},
    PLANT("D17-address-zero", ZOO_GPUMMU, "SUB-002", plant_no_address_no_buffer,
          "takes a paging buffer without a GPU address for none, and runs nothing"),
    PLANT("PATCH-no-locations", ZOO_PHYSICAL, "PATCH-011", plant_no_locations,
          "gives no patch locations for its allocations"),
    PLANT("PATCH-waited-for", ZOO_PHYSICAL, "PATCH-011", plant_waits_for_patch,
          "writes no addresses in Render, where it has them, and waits for Patch"),
    PLANT("D76-fence-early", ZOO_ALL, "FENCE-003", plant_done_early,
          "reports all that it was given when one of it has completed"),
    PLANT("TDR-fence-of-any-node", ZOO_GPUMMU | ZOO_IOMMU, "TDR-007", plant_shared_fence,
          "keeps one last completed fence for all nodes, and reports it as aborted"),
    PLANT("TDR-reset-claimed", ZOO_ALL, "TDR-012 FENCE-002", plant_claimed_reset,
          "says that it has reset the GPU, and has not",
          .focus = "incidents=yes ops=1000"),
    {0},
};
/* clang-format on */
