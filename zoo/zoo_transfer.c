/*
 * Defects of transfers, fills and discards (D30 to D46).
 */
#include "zoo/zoo_tables.h"

#include <drydock/sgpu.h>

#include <string.h>

#define PAGE 4096u

static NTSTATUS build(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return miniport_forward_build_paging_buffer(self, object, arg);
}

static bool is_transfer(const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return arg->Operation == DXGK_OPERATION_TRANSFER;
}

static bool is_virtual_transfer(const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return arg->Operation == DXGK_OPERATION_VIRTUAL_TRANSFER;
}

/* ---- Offsets ---- */

static void ignore_offset(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (is_transfer(arg))
        arg->Transfer.TransferOffset = 0;
}

static void ignore_special_offset(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (arg->Operation == DXGK_OPERATION_SPECIAL_LOCK_TRANSFER)
        arg->SpecialLockTransfer.TransferOffset = 0;
}

static void offset_list_too(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (is_transfer(arg))
        arg->Transfer.MdlOffset += arg->Transfer.TransferOffset / PAGE;
}

static void ignore_list_offset(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (is_transfer(arg))
        arg->Transfer.MdlOffset = 0;
}

static void list_offset_in_bytes(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (is_transfer(arg))
        arg->Transfer.MdlOffset /= PAGE;
}

/* ---- Which way ---- */

static NTSTATUS reject_segments(struct miniport *self, HANDLE object,
                                DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return is_transfer(arg) && arg->Transfer.Source.SegmentId && arg->Transfer.Destination.SegmentId
               ? STATUS_SUCCESS
               : build(self, object, arg);
}

static NTSTATUS reject_local_to_local(struct miniport *self, HANDLE object,
                                      DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return is_virtual_transfer(arg) &&
                   arg->TransferVirtual.TransferDirection == DXGK_MEMORY_TRANSFER_LOCAL_TO_LOCAL
               ? STATUS_SUCCESS
               : build(self, object, arg);
}

static void swap_directions(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    DXGKARG_BUILDPAGINGBUFFER was = *arg;

    if (is_transfer(arg) && !arg->Transfer.Destination.SegmentId) {
        memcpy(&arg->Transfer.Source, &was.Transfer.Destination, sizeof arg->Transfer.Source);
        memcpy(&arg->Transfer.Destination, &was.Transfer.Source, sizeof arg->Transfer.Destination);
    }
    if (is_virtual_transfer(arg) &&
        arg->TransferVirtual.TransferDirection == DXGK_MEMORY_TRANSFER_LOCAL_TO_SYSTEM) {
        arg->TransferVirtual.SourceVirtualAddress = was.TransferVirtual.DestinationVirtualAddress;
        arg->TransferVirtual.DestinationVirtualAddress = was.TransferVirtual.SourceVirtualAddress;
    }
}

/* ---- How much ---- */

static void round_up(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (is_transfer(arg))
        arg->Transfer.TransferSize = (arg->Transfer.TransferSize + 0xffff) & ~(SIZE_T)0xffff;
    if (is_virtual_transfer(arg))
        arg->TransferVirtual.TransferSizeInBytes =
            (arg->TransferVirtual.TransferSizeInBytes + 0xffff) & ~(SIZE_T)0xffff;
}

static void drop_last_page(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (is_transfer(arg) && arg->Transfer.TransferSize > PAGE)
        arg->Transfer.TransferSize -= PAGE;
    if (is_virtual_transfer(arg) && arg->TransferVirtual.TransferSizeInBytes > PAGE)
        arg->TransferVirtual.TransferSizeInBytes -= PAGE;
}

/* Only the first part of a transfer that comes in several, as if it were all. */
static NTSTATUS first_part_only(struct miniport *self, HANDLE object,
                                DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (is_transfer(arg) && !arg->Transfer.Flags.TransferStart)
        return STATUS_SUCCESS;
    return build(self, object, arg);
}

/*
 * A transfer that starts again is another one: what its first buffer held is done twice, and not
 * here.
 */
static NTSTATUS restart_is_new(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    DXGKARG_BUILDPAGINGBUFFER as = *arg;

    if (is_transfer(arg) && arg->MultipassOffset && arg->Transfer.Flags.TransferStart)
        as.MultipassOffset = 0;
    layer->calls++;
    return zoo_build_as(self, object, arg, &as);
}

/* ---- Evictions ---- */

static NTSTATUS skip_evictions(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (is_transfer(arg) && !arg->Transfer.Destination.SegmentId)
        return STATUS_SUCCESS;
    if (is_virtual_transfer(arg) &&
        arg->TransferVirtual.TransferDirection == DXGK_MEMORY_TRANSFER_LOCAL_TO_SYSTEM)
        return STATUS_SUCCESS;
    return build(self, object, arg);
}

static NTSTATUS zero_size_fails(struct miniport *self, HANDLE object,
                                DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return is_transfer(arg) && !arg->Transfer.TransferSize ? STATUS_INVALID_PARAMETER
                                                           : build(self, object, arg);
}

/* Scrubs the place of what was lost, with the GPU, though nothing is to be moved. */
static void zero_size_scrubs(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const DXGKARG_BUILDPAGINGBUFFER was = *arg;

    if (!is_transfer(arg) || arg->Transfer.TransferSize || !arg->Transfer.Source.SegmentId ||
        !arg->pDmaBuffer)
        return;
    arg->Operation = DXGK_OPERATION_FILL;
    memset(&arg->Fill, 0, sizeof arg->Fill);
    arg->Fill.hAllocation = was.Transfer.hAllocation;
    arg->Fill.FillSize = PAGE;
    arg->Fill.Destination.SegmentId = was.Transfer.Source.SegmentId;
    arg->Fill.Destination.SegmentAddress = was.Transfer.Source.SegmentAddress;
}

/* ---- Fills ---- */

static NTSTATUS skip_fill(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return arg->Operation == DXGK_OPERATION_FILL || arg->Operation == DXGK_OPERATION_VIRTUAL_FILL
               ? STATUS_SUCCESS
               : build(self, object, arg);
}

static void fill_in_dwords(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (arg->Operation == DXGK_OPERATION_FILL)
        arg->Fill.FillSize /= 4;
    if (arg->Operation == DXGK_OPERATION_VIRTUAL_FILL)
        arg->FillVirtual.FillSizeInBytes /= 4;
}

static void fill_without_tail(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (arg->Operation == DXGK_OPERATION_FILL && arg->Fill.FillSize > PAGE)
        arg->Fill.FillSize -= PAGE;
    if (arg->Operation == DXGK_OPERATION_VIRTUAL_FILL && arg->FillVirtual.FillSizeInBytes > PAGE)
        arg->FillVirtual.FillSizeInBytes -= PAGE;
}

static UINT byte_of(UINT pattern)
{
    return (pattern & 0xff) * 0x01010101u + 1;
}

static void fill_with_byte(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (arg->Operation == DXGK_OPERATION_FILL)
        arg->Fill.FillPattern = byte_of(arg->Fill.FillPattern);
    if (arg->Operation == DXGK_OPERATION_VIRTUAL_FILL)
        arg->FillVirtual.FillPattern = byte_of(arg->FillVirtual.FillPattern);
}

static void fill_elsewhere(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    LONGLONG here;

    if (arg->Operation != DXGK_OPERATION_FILL)
        return;
    here = arg->Fill.Destination.SegmentAddress.QuadPart;
    if (layer->state[0])
        arg->Fill.Destination.SegmentAddress.QuadPart = (LONGLONG)layer->state[0] - 1;
    layer->state[0] = (uint64_t)here + 1;
}

static void fill_too_much(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (arg->Operation == DXGK_OPERATION_FILL)
        arg->Fill.FillSize += PAGE;
}

/* ---- Discards, physical accesses, locks ---- */

static NTSTATUS discard_writes(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    DXGKARG_BUILDPAGINGBUFFER as = *arg;
    struct zoo_layer *layer = zoo_layer_of(self);

    if (arg->Operation != DXGK_OPERATION_DISCARD_CONTENT)
        return build(self, object, arg);
    /* Scrubs what comes to be behind the place that is given up. */
    as.Operation = DXGK_OPERATION_FILL;
    memset(&as.Fill, 0, sizeof as.Fill);
    as.Fill.FillSize = 16 * PAGE;
    as.Fill.FillPattern = 0xdddddddd;
    as.Fill.Destination.SegmentId = arg->DiscardContent.SegmentId;
    as.Fill.Destination.SegmentAddress.QuadPart =
        arg->DiscardContent.SegmentAddress.QuadPart + 16 * PAGE;
    layer->calls++;
    return zoo_build_as(self, object, arg, &as);
}

static NTSTATUS skip_physical(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return arg->Operation == DXGK_OPERATION_READ_PHYSICAL ||
                   arg->Operation == DXGK_OPERATION_WRITE_PHYSICAL
               ? STATUS_SUCCESS
               : build(self, object, arg);
}

static void no_swizzle(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (is_transfer(arg))
        arg->Transfer.Flags.Swizzle = arg->Transfer.Flags.Unswizzle = 0;
}

static void swap_swizzle(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    UINT swizzle = arg->Transfer.Flags.Swizzle;

    if (!is_transfer(arg))
        return;
    arg->Transfer.Flags.Swizzle = arg->Transfer.Flags.Unswizzle;
    arg->Transfer.Flags.Unswizzle = swizzle;
}

/* The last eight allocations whose rows have a pitch are remembered. */
static NTSTATUS create_rows(struct miniport *self, HANDLE object, DXGKARG_CREATEALLOCATION *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    NTSTATUS status = miniport_forward_create_allocation(self, object, arg);
    const DXGK_ALLOCATIONINFO *info = arg->pAllocationInfo;

    if (NT_SUCCESS(status) && info->PitchAlignedSize > info->Size)
        layer->state[layer->calls++ % 8] = (uint64_t)(uintptr_t)info->hAllocation;
    return status;
}

static bool has_rows(const struct zoo_layer *layer, HANDLE allocation)
{
    for (unsigned i = 0; i < 8; i++) {
        if (allocation && layer->state[i] == (uint64_t)(uintptr_t)allocation)
            return true;
    }
    return false;
}

/* Without an allocation bytes are bytes: no rows (XFER-010). */
static NTSTATUS take_rows_for_packed(struct miniport *self, HANDLE object,
                                     DXGKARG_BUILDPAGINGBUFFER *arg)
{
    DXGKARG_BUILDPAGINGBUFFER as = *arg;

    if (!is_transfer(arg) || !has_rows(zoo_layer_of(self), arg->Transfer.hAllocation))
        return build(self, object, arg);
    as.Transfer.hAllocation = NULL;
    return zoo_build_as(self, object, arg, &as);
}

static NTSTATUS take_rows_out_for_packed(struct miniport *self, HANDLE object,
                                         DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return arg->Transfer.Destination.SegmentId ? build(self, object, arg)
                                               : take_rows_for_packed(self, object, arg);
}

static void plant_rows_packed(struct zoo_layer *layer)
{
    layer->ops.create_allocation = create_rows;
    layer->ops.build_paging_buffer = take_rows_for_packed;
}

static void plant_rows_out_packed(struct zoo_layer *layer)
{
    layer->ops.create_allocation = create_rows;
    layer->ops.build_paging_buffer = take_rows_out_for_packed;
}

static NTSTATUS skip_special(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return arg->Operation == DXGK_OPERATION_SPECIAL_LOCK_TRANSFER ? STATUS_SUCCESS
                                                                  : build(self, object, arg);
}

static void special_half(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (arg->Operation == DXGK_OPERATION_SPECIAL_LOCK_TRANSFER)
        arg->SpecialLockTransfer.TransferSize /= 2;
}

/* Takes the pages of the list for one run behind the first. */
static NTSTATUS one_run(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    enum { MOST = 1024 };
    struct {
        MDL head;
        PFN_NUMBER pages[MOST];
    } list;
    bool is_in = is_transfer(arg) && !arg->Transfer.Source.SegmentId;
    bool is_out = is_transfer(arg) && !is_in && !arg->Transfer.Destination.SegmentId;
    SIZE_T count = arg->Transfer.TransferSize / PAGE;
    DXGKARG_BUILDPAGINGBUFFER as = *arg;
    const MDL *real;

    if ((!is_in && !is_out) || count > MOST || !count)
        return build(self, object, arg);
    real = is_in ? arg->Transfer.Source.pMdl : arg->Transfer.Destination.pMdl;
    memset(&list.head, 0, sizeof list.head);
    list.head.ByteCount = (ULONG)(count * PAGE);
    list.head.Size = (CSHORT)(sizeof list.head + count * sizeof list.pages[0]);
    for (SIZE_T i = 0; i < count; i++)
        list.pages[i] = MmGetMdlPfnArray(real)[arg->Transfer.MdlOffset] + i;
    as.Transfer.MdlOffset = 0;
    if (is_in)
        as.Transfer.Source.pMdl = &list.head;
    else
        as.Transfer.Destination.pMdl = &list.head;
    return zoo_build_as(self, object, arg, &as);
}

#define OLD ZOO_PHYSICAL /* the only model with operations 0 to 2 */

/* clang-format off */
const struct zoo_defect zoo_transfer_defects[] = {
    ALTER("D30-offset-ignored", OLD, "XFER-003", ignore_offset,
          "ignores TransferOffset on the segment side"),
    ALTER("SLT-offset-ignored", OLD, "SLT-003 XFER-003", ignore_special_offset,
          "ignores TransferOffset of a special lock transfer", .focus = "wishes=yes ops=1000 transfer-piece=16384"),
    ALTER("D31-offset-on-list", OLD, "MEM-001 XFER-003 XFER-004", offset_list_too,
          "applies TransferOffset to the page list too",
          .focus = "ops=1000"),
    ALTER("D32-list-offset-ignored", OLD, "XFER-004", ignore_list_offset,
          "ignores MdlOffset"),
    ALTER("D32-list-offset-in-bytes", OLD, "XFER-004", list_offset_in_bytes,
          "takes MdlOffset for bytes"),
    BUILD("D33-segments-rejected", OLD, "XFER-006 XFER-019", reject_segments,
          "does not execute a transfer from segment to segment"),
    BUILD("D33-local-to-local-rejected", ZOO_GPUMMU, "VX-003 VX-005 XFER-006", reject_local_to_local,
          "does not execute a transfer within local memory",
          .focus = "ops=1000"),
    ALTER("D34-directions-swapped", ZOO_BOTH, "XFER-006 XFER-003 VX-005 VX-003", swap_directions,
          "swaps source and destination of what goes out"),
    ALTER("D36-size-rounded-up", ZOO_BOTH, "MEM-001 XFER-002 XFER-006 XFER-004 VX-003 VX-001", round_up,
          "copies up to a 64 KiB boundary, beyond the allocation"),
    ALTER("D24-last-page-left", ZOO_BOTH, "XFER-006 VX-003", drop_last_page,
          "does not move the last page"),
    BUILD("D41-first-part-only", OLD, "XFER-006 XFER-003", first_part_only,
          "takes the first part of a transfer for all of it"),
    BUILD("D25-restart-is-new", OLD, "XFER-008 XFER-006 PB-011 PB-012 PB-020", restart_is_new,
          "takes TransferStart on a repeat for a new transfer"),
    BUILD("D40-eviction-skipped", ZOO_BOTH, "XFER-006 VX-003", skip_evictions,
          "does not execute what goes out to system memory"),
    BUILD("D44-zero-size-fails", OLD, "PB-008 XFER-017", zero_size_fails,
          "fails a transfer of no bytes, an eviction without the GPU"),
    ALTER("D44-zero-size-scrubs", OLD, "XFER-017 TDR-004", zero_size_scrubs,
          "has the GPU write in a transfer of no bytes"),
    BUILD("D37-fill-skipped", ZOO_BOTH, "FILL-005 VX-008", skip_fill,
          "does not execute fills"),
    ALTER("D37-fill-in-dwords", ZOO_BOTH, "FILL-005 VX-008", fill_in_dwords,
          "fills a quarter: takes bytes for words of four"),
    ALTER("D37-fill-tail-dropped", ZOO_BOTH, "FILL-005 VX-008", fill_without_tail,
          "does not fill the last page"),
    ALTER("D38-fill-with-byte", ZOO_BOTH, "FILL-005 VX-008", fill_with_byte,
          "fills with a byte instead of the 32-bit pattern"),
    ALTER("D39-fill-old-place", OLD, "FILL-005", fill_elsewhere,
          "fills where the allocation before was filled"),
    ALTER("D37-fill-too-much", OLD, "FILL-005", fill_too_much,
          "fills a page too many"),
    BUILD("D42-discard-writes", OLD, "DISC-003", discard_writes,
          "scrubs memory behind what is discarded"),
    BUILD("D46-physical-skipped", ZOO_PHYSICAL, "PHYS-001 PHYS-002", skip_physical,
          "reports SUCCESS for READ_PHYSICAL and WRITE_PHYSICAL and does nothing",
          .focus = "ops=1000"),
    ALTER("D43-swizzle-ignored", ZOO_PHYSICAL, "XFER-014 SWZ-007", no_swizzle,
          "ignores Swizzle and Unswizzle"),
    ALTER("D43-swizzle-swapped", ZOO_PHYSICAL, "XFER-014 SWZ-007", swap_swizzle,
          "swizzles on the way out and unswizzles on the way in"),
    PLANT("D47-rows-packed", ZOO_PHYSICAL, "XFER-018", plant_rows_packed,
          "moves surfaces of rows as they are, between packed memory and a segment with a pitch", .focus = "rows=yes pitch=yes ops=1000"),
    PLANT("D47-rows-packed-out", ZOO_PHYSICAL, "XFER-018", plant_rows_out_packed,
          "takes the gaps between rows along on the way to system memory", .focus = "rows=yes pitch=yes ops=1000"),
    BUILD("D45-special-skipped", ZOO_PHYSICAL, "SLT-004 SLT-007 XFER-006", skip_special,
          "does not execute SPECIAL_LOCK_TRANSFER", .focus = "wishes=yes ops=1000"),
    ALTER("D45-special-half", ZOO_PHYSICAL, "SLT-004 SLT-007", special_half,
          "moves the first half in SPECIAL_LOCK_TRANSFER", .focus = "wishes=yes ops=1000"),
    BUILD("D32-pages-contiguous", OLD, "XFER-005", one_run,
          "takes the pages of a list for one contiguous run",
          .focus = "ops=1000"),
    {0},
};
/* clang-format on */
