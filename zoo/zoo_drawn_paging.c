/*
 * Defects of paging operations that show only where a seed draws what is rare: memory that nobody
 * has written, arrays of entries that differ.
 */
#include "zoo/zoo_tables.h"

#include <string.h>

#define PAGE 4096u

static NTSTATUS build(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return miniport_forward_build_paging_buffer(self, object, arg);
}

/* ---- Memory that nobody has written ---------------------------------------------------------- */

/* What of a segment was written before, in layer->state by segment: all below this address. */
static bool is_fresh(struct zoo_layer *layer, UINT segment, LONGLONG address, SIZE_T bytes)
{
    const uint64_t segments = sizeof layer->state / sizeof layer->state[0];
    uint64_t *written = &layer->state[segment < segments ? segment : 0];
    const uint64_t end = (uint64_t)address + bytes;
    const bool is_beyond = (uint64_t)address >= *written;

    if (end > *written)
        *written = end;
    return is_beyond;
}

static NTSTATUS build_zeros_written(struct miniport *self, HANDLE object,
                                    DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    bool is_zero = false;

    switch ((unsigned)arg->Operation) {
    case DXGK_OPERATION_TRANSFER:
        if (arg->Transfer.Destination.SegmentId)
            is_fresh(layer, arg->Transfer.Destination.SegmentId,
                     arg->Transfer.Destination.SegmentAddress.QuadPart +
                         arg->Transfer.TransferOffset,
                     arg->Transfer.TransferSize);
        break;
    case DXGK_OPERATION_FILL:
        is_zero = is_fresh(layer, arg->Fill.Destination.SegmentId,
                           arg->Fill.Destination.SegmentAddress.QuadPart, arg->Fill.FillSize) &&
                  !arg->Fill.FillPattern;
        break;
    default:
        break;
    }
    return is_zero ? STATUS_SUCCESS : build(self, object, arg);
}

/* ---- Entries that differ --------------------------------------------------------------------- */

#define MOST_ENTRIES 4096u

/* The entries of an update that has several; false: it has not, and is built as it is. */
static bool copy_entries(const DXGKARG_BUILDPAGINGBUFFER *arg, DXGK_PTE entries[MOST_ENTRIES])
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &arg->UpdatePageTable;

    if (arg->Operation != DXGK_OPERATION_UPDATE_PAGE_TABLE || update->Flags.Repeat ||
        !update->pPageTableEntries || update->NumPageTableEntries < 2 ||
        update->NumPageTableEntries > MOST_ENTRIES)
        return false;
    memcpy(entries, update->pPageTableEntries, update->NumPageTableEntries * sizeof entries[0]);
    return true;
}

static NTSTATUS build_kind_of_first(struct miniport *self, HANDLE object,
                                    DXGKARG_BUILDPAGINGBUFFER *arg)
{
    DXGKARG_BUILDPAGINGBUFFER as = *arg;
    DXGK_PTE entries[MOST_ENTRIES];

    if (!copy_entries(arg, entries))
        return build(self, object, arg);
    for (UINT i = 1; i < arg->UpdatePageTable.NumPageTableEntries; i++)
        entries[i].Valid = entries[0].Valid;
    as.UpdatePageTable.pPageTableEntries = entries;
    return zoo_build_as(self, object, arg, &as);
}

static NTSTATUS build_until_invalid(struct miniport *self, HANDLE object,
                                    DXGKARG_BUILDPAGINGBUFFER *arg)
{
    DXGKARG_BUILDPAGINGBUFFER as = *arg;
    DXGK_PTE entries[MOST_ENTRIES];
    UINT count = 0;

    if (!copy_entries(arg, entries))
        return build(self, object, arg);
    while (count < arg->UpdatePageTable.NumPageTableEntries && entries[count].Valid)
        count++;
    if (!count)
        return STATUS_SUCCESS;
    as.UpdatePageTable.NumPageTableEntries = count;
    return zoo_build_as(self, object, arg, &as);
}

/* ---- Lists of the call before ---------------------------------------------------------------- */

/* Its queue entry has the pointer to the list, which it takes to be where it was the last time. */
static NTSTATUS build_with_former_list(struct miniport *self, HANDLE object,
                                       DXGKARG_BUILDPAGINGBUFFER *arg)
{
    uint64_t *former = zoo_layer_of(self)->state;
    DXGKARG_BUILDPAGINGBUFFER as = *arg;
    uint64_t now;

    switch ((unsigned)arg->Operation) {
    case DXGK_OPERATION_MAP_APERTURE_SEGMENT:
        now = (uintptr_t)arg->MapApertureSegment.pMdl;
        if (former[0])
            as.MapApertureSegment.pMdl = (MDL *)(uintptr_t)former[0];
        former[0] = now;
        break;
    case DXGK_OPERATION_MAP_APERTURE_SEGMENT2:
        if (arg->MapApertureSegment2.Adl.Flags.Contiguous)
            return build(self, object, arg);
        now = (uintptr_t)arg->MapApertureSegment2.Adl.Pages;
        if (former[1])
            as.MapApertureSegment2.Adl.Pages = (DXGK_PAGE_NUMBER *)(uintptr_t)former[1];
        former[1] = now;
        break;
    default:
        return build(self, object, arg);
    }
    return zoo_build_as(self, object, arg, &as);
}

/* ---- Operations that are large --------------------------------------------------------------- */

#define LENGTH_BITS 0xffffffu /* of the length in a copy command of many engines */

/* One command for the whole, whose length is what fits of it. */
static void cut_length(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    switch ((unsigned)arg->Operation) {
    case DXGK_OPERATION_TRANSFER:
        if (arg->Transfer.TransferSize > LENGTH_BITS)
            arg->Transfer.TransferSize &= LENGTH_BITS;
        break;
    case DXGK_OPERATION_VIRTUAL_TRANSFER:
        if (arg->TransferVirtual.TransferSizeInBytes > LENGTH_BITS)
            arg->TransferVirtual.TransferSizeInBytes &= LENGTH_BITS;
        break;
    default:
        break;
    }
}

/* Sizes in a UINT: of more than 4 GiB the remainder is moved. */
static void cut_size(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (arg->Operation == DXGK_OPERATION_VIRTUAL_TRANSFER)
        arg->TransferVirtual.TransferSizeInBytes &= UINT32_MAX;
    if (arg->Operation == DXGK_OPERATION_VIRTUAL_FILL)
        arg->FillVirtual.FillSizeInBytes &= UINT32_MAX;
}

/* Addresses of the paging process in a UINT. */
static void cut_va(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (arg->Operation == DXGK_OPERATION_VIRTUAL_TRANSFER) {
        arg->TransferVirtual.SourceVirtualAddress &= UINT32_MAX;
        arg->TransferVirtual.DestinationVirtualAddress &= UINT32_MAX;
    }
    if (arg->Operation == DXGK_OPERATION_VIRTUAL_FILL)
        arg->FillVirtual.DestinationVirtualAddress &= UINT32_MAX;
}

/* Keeps the places to patch in 15 bits. */
static NTSTATUS render_with_short_offsets(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    D3DDDI_PATCHLOCATIONLIST *first = arg->pPatchLocationListOut;
    NTSTATUS status = miniport_forward_render(self, object, arg);

    for (; NT_SUCCESS(status) && first < arg->pPatchLocationListOut; first++)
        first->PatchOffset &= 0x7fff;
    return status;
}

static void plant_short_offsets(struct zoo_layer *layer)
{
    layer->ops.render = render_with_short_offsets;
}

static void cut_paging_fence(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (arg->Operation == DXGK_OPERATION_SIGNAL_MONITORED_FENCE)
        arg->SignalMonitoredFence.MonitoredFenceValue &= UINT32_MAX;
}

/* Allocations of 64 KiB more than 4 GiB, each filled and moved by one operation. */
#define BEYOND_4_GIB "large=4295032832 scratch=17G ops=1"

/* clang-format off */
const struct zoo_defect zoo_drawn_paging_defects[] = {
    BUILD("FRESH-memory-is-zero", ZOO_PHYSICAL, "FILL-005", build_zeros_written,
          "fills with zeros only what was written before: the board comes up cleared"),
    BUILD("MIXED-kind-of-first", ZOO_GPUMMU, "PT-017", build_kind_of_first,
          "takes Valid of the first entry of an array for that of all"),
    BUILD("MIXED-until-invalid", ZOO_GPUMMU, "PT-017", build_until_invalid,
          "takes the first invalid entry for the end of the array"),
    BUILD("FORMER-list", ZOO_ALL, "MEM-003 APER-002 ADL-008 ADL-009 ADL-003",
          build_with_former_list, "takes the pages of the list that it was lent the last time"),
    ALTER("LARGE-length-24-bits", ZOO_BOTH, "XFER-006 VX-003 XFER-003 content", cut_length,
          "keeps the length of a transfer in the 24 bits of its copy command",
          .focus = "large=33554432"),
    ALTER("LARGE-size-32-bits", ZOO_GPUMMU, "VX-008 VX-003 content", cut_size,
          "keeps the size of a transfer or fill in 32 bits",
          .focus = BEYOND_4_GIB, .run_seconds = 60),
    ALTER("FAR-va-32-bits", ZOO_GPUMMU, "fault", cut_va,
          "keeps addresses of the paging process in 32 bits"),
    PLANT("LARGE-offset-15-bits", ZOO_PHYSICAL, "PATCH-004 fault",
          plant_short_offsets, "keeps offsets of places to patch in 15 bits",
          .focus = "large=33554432"),
    ALTER("NTF-value-32-bits", ZOO_GPUMMU, "NTF-007", cut_paging_fence,
          "writes the lower half of the value of a monitored fence",
          .focus = "paging-fence=8589934592"),
    {0},
};
/* clang-format on */
