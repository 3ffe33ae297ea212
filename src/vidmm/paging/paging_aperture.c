/*
 * Paging buffers in an aperture segment, where PagingBufferSegmentId asks for one.
 *
 * The CPU writes them in system memory as ever; the GPU finds them behind slots, which
 * MAP_APERTURE_SEGMENT points at their pages before anything is built (APER-005: it names no
 * allocation). The driver has to do that itself, when it is called: commands for it could only run
 * in a buffer that is mapped already. Before the power goes, and before the buffers do, the slots
 * are unmapped in the same way, when nothing is built or under way; when the power is back they are
 * pointed again.
 *
 * In the GpuMmu model the paging process maps the buffers like any other, and no slot is needed,
 * as Windows has been seen to do (docs/observed.md, O28).
 *
 * Source     contract.md PB-018, APER-005, SUB-006; sequence S-01, step 6.
 */
#include "vidmm/paging/paging_aperture.h"

#include "vidmm/adapter/adapter_caps.h"
#include "vidmm/adapter/driver_error.h"
#include "vidmm/views/aperture.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"

#include "base/bits.h"
#include "base/services.h"

#include <stdio.h>

static uint64_t bytes_of(const struct vidmm *vidmm)
{
    return align_up(vidmm->caps.paging_buffer_bytes, PAGE_BYTES);
}

bool paging_aperture_is_used(const struct vidmm *vidmm)
{
    return vidmm->caps.paging_buffer_segment && !vidmm->caps.has_page_tables;
}

NTSTATUS paging_aperture_take(struct vidmm *vidmm, struct paging_buffer *buffer)
{
    struct segment *segment = segment_by_id(vidmm, vidmm->caps.paging_buffer_segment);
    NTSTATUS status;

    if (!paging_aperture_is_used(vidmm))
        return STATUS_SUCCESS;
    status = segment_take_slots(vidmm, segment, bytes_of(vidmm), &buffer->slots);
    if (!NT_SUCCESS(status))
        return status;
    buffer->has_slots = true;
    segment->used += bytes_of(vidmm);
    segment->table_bytes += bytes_of(vidmm);
    if (notes_are_heard(vidmm))
        note_range(vidmm, segment, buffer->slots, bytes_of(vidmm), VIDMM_RANGE_BUFFERS, true);
    return STATUS_SUCCESS;
}

void paging_aperture_release(struct vidmm *vidmm, struct paging_buffer *buffer)
{
    struct segment *segment = segment_by_id(vidmm, vidmm->caps.paging_buffer_segment);

    if (!buffer->has_slots)
        return;
    buffer->has_slots = false;
    segment_release_slots(vidmm, segment, buffer->slots, bytes_of(vidmm));
    segment->used -= bytes_of(vidmm);
    segment->table_bytes -= bytes_of(vidmm);
    if (notes_are_heard(vidmm))
        note_range(vidmm, segment, buffer->slots, bytes_of(vidmm), VIDMM_RANGE_BUFFERS, false);
}

uint64_t paging_aperture_address(struct vidmm *vidmm, const struct paging_buffer *buffer,
                                 UINT *out_segment)
{
    if (!buffer->has_slots) {
        *out_segment = 0;
        return PAGE_BYTES_OF(device_page(vidmm, buffer->first_page));
    }
    *out_segment = vidmm->caps.paging_buffer_segment;
    return segment_by_id(vidmm, *out_segment)->caps->base + buffer->slots;
}

static void describe_map(struct vidmm *vidmm, const struct paging_buffer *buffer, MDL *mdl,
                         DXGKARG_BUILDPAGINGBUFFER *args)
{
    uint64_t page_count = bytes_of(vidmm) / PAGE_BYTES;

    if (vidmm->caps.maps_aperture2) {
        args->Operation = DXGK_OPERATION_MAP_APERTURE_SEGMENT2;
        args->MapApertureSegment2.hDevice = vidmm->queue.driver_device;
        args->MapApertureSegment2.SegmentId = vidmm->caps.paging_buffer_segment;
        args->MapApertureSegment2.OffsetInPages = (SIZE_T)(buffer->slots / PAGE_BYTES);
        args->MapApertureSegment2.NumberOfPages = (SIZE_T)page_count;
        args->MapApertureSegment2.Adl.PageCount = (UINT32)page_count;
        args->MapApertureSegment2.Adl.Flags.Contiguous = 1;
        args->MapApertureSegment2.Adl.BasePageNumber = device_page(vidmm, buffer->first_page);
    } else {
        args->Operation = DXGK_OPERATION_MAP_APERTURE_SEGMENT;
        args->MapApertureSegment.hDevice = vidmm->queue.driver_device;
        args->MapApertureSegment.SegmentId = vidmm->caps.paging_buffer_segment;
        args->MapApertureSegment.OffsetInPages = (SIZE_T)(buffer->slots / PAGE_BYTES);
        args->MapApertureSegment.NumberOfPages = (SIZE_T)page_count;
        args->MapApertureSegment.pMdl = mdl;
    }
}

static void describe_unmap(struct vidmm *vidmm, const struct paging_buffer *buffer,
                           DXGKARG_BUILDPAGINGBUFFER *args)
{
    args->Operation = DXGK_OPERATION_UNMAP_APERTURE_SEGMENT;
    args->UnmapApertureSegment.hDevice = vidmm->queue.driver_device;
    args->UnmapApertureSegment.SegmentId = vidmm->caps.paging_buffer_segment;
    args->UnmapApertureSegment.OffsetInPages = (SIZE_T)(buffer->slots / PAGE_BYTES);
    args->UnmapApertureSegment.NumberOfPages = (SIZE_T)(bytes_of(vidmm) / PAGE_BYTES);
    args->UnmapApertureSegment.DummyPage.QuadPart =
        (LONGLONG)PAGE_BYTES_OF(device_page(vidmm, vidmm->dummy_page));
}

/* The call appends to the operations of the current buffer, as any other. */
static void *offer(struct vidmm *vidmm, DXGKARG_BUILDPAGINGBUFFER *args)
{
    const struct paging_buffer *current = &vidmm->queue.buffers[vidmm->queue.current];

    args->pDmaBuffer = current->cpu + current->used;
    args->DmaSize = current->bytes - current->used;
    args->DmaBufferWriteOffset = current->used;
    if (current->private_data) {
        args->pDmaBufferPrivateData = current->private_data + current->private_used;
        args->DmaBufferPrivateDataSize = current->private_bytes - current->private_used;
    }
    args->hSystemContext = vidmm->queue.driver_context;
    return args->pDmaBuffer;
}

/* False, and why: the driver has not changed the slots at once. */
static bool build_at_once(struct vidmm *vidmm, DXGKARG_BUILDPAGINGBUFFER *args,
                          const char **out_why)
{
    void *offered = offer(vidmm, args);
    NTSTATUS status;

    vidmm->statistics.build_calls++;
    paging_queue_count(vidmm, args);
    if (notes_are_heard(vidmm))
        note_operation(vidmm, NULL, args);
    status = miniport_build_paging_buffer(vidmm->miniport, NULL, args);
    *out_why = status != STATUS_SUCCESS ? "another status than STATUS_SUCCESS"
                                        : "commands, and none can run in a buffer without slots";
    return status == STATUS_SUCCESS && args->pDmaBuffer == offered;
}

static bool map_buffer(struct vidmm *vidmm, struct paging_buffer *buffer, MDL *mdl,
                       const char **out_why)
{
    DXGKARG_BUILDPAGINGBUFFER args = {0};
    uint64_t *pages = (uint64_t *)(mdl + 1);

    for (uint64_t i = 0; i < bytes_of(vidmm) / PAGE_BYTES; i++)
        pages[i] = buffer->first_page + i;
    mdl->ByteCount = (ULONG)bytes_of(vidmm);
    mdl->MdlFlags = MDL_PAGES_LOCKED;
    describe_map(vidmm, buffer, mdl, &args);
    buffer->is_mapped = build_at_once(vidmm, &args, out_why);
    return buffer->is_mapped;
}

static size_t mdl_bytes(const struct vidmm *vidmm)
{
    return sizeof(MDL) + (size_t)(bytes_of(vidmm) / PAGE_BYTES) * sizeof(uint64_t);
}

NTSTATUS paging_aperture_map(struct vidmm *vidmm, struct vidmm_failure *failure)
{
    MDL *mdl;
    const char *why = "";
    bool is_mapped = true;

    if (!paging_aperture_is_used(vidmm))
        return STATUS_SUCCESS;
    mdl = base_alloc(vidmm->services, mdl_bytes(vidmm));
    if (!mdl)
        return STATUS_NO_MEMORY;
    for (unsigned i = 0; is_mapped && i < vidmm->queue.buffer_count; i++)
        is_mapped = map_buffer(vidmm, &vidmm->queue.buffers[i], mdl, &why);
    base_free(vidmm->services, mdl, mdl_bytes(vidmm));
    if (is_mapped)
        return STATUS_SUCCESS;
    snprintf(failure->rule, sizeof failure->rule, "APER-015");
    snprintf(
        failure->text, sizeof failure->text,
        "mapping a paging buffer in segment %u gave %s; expected slots that are changed at once",
        vidmm->caps.paging_buffer_segment, why);
    return STATUS_INVALID_PARAMETER;
}

void paging_aperture_unmap(struct vidmm *vidmm)
{
    for (unsigned i = 0; i < vidmm->queue.buffer_count; i++) {
        struct paging_buffer *buffer = &vidmm->queue.buffers[i];
        DXGKARG_BUILDPAGINGBUFFER args = {0};
        const char *why;

        if (!buffer->is_mapped)
            continue;
        buffer->is_mapped = false;
        if (vidmm->is_removed)
            continue;
        describe_unmap(vidmm, buffer, &args);
        if (!build_at_once(vidmm, &args, &why))
            vidmm_driver_error(vidmm, "APER-015",
                               "unmapping a paging buffer in segment %u gave %s; expected slots "
                               "that are changed at once",
                               vidmm->caps.paging_buffer_segment, why);
    }
}
