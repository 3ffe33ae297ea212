/*
 * Defects that show only where a seed draws what few machines and few days have: memory beyond
 * 4 GiB, counters that wrap, interrupts at a bad moment, things that end and are made anew.
 */
#include "zoo/zoo_tables.h"

#include "drydock/sgpu.h"

#include <string.h>

#define PAGE       4096u
#define MOST_PAGES 4096u
#define LOW_PAGES  0xfffffu /* numbers of the pages of 4 GiB */
#define LOW_BYTES  0xffffffffu

static NTSTATUS build(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return miniport_forward_build_paging_buffer(self, object, arg);
}

/* ---- Addresses beyond 4 GiB ------------------------------------------------------------------ */

/* Of local memory; the aperture's addresses are high on every board. */
static void cut_address(LARGE_INTEGER *address)
{
    if ((UINT64)address->QuadPart < SGPU_PA_APERTURE)
        address->QuadPart &= LOW_BYTES;
}

static NTSTATUS build_with_entries(struct miniport *self, HANDLE object,
                                   DXGKARG_BUILDPAGINGBUFFER *arg, bool is_system)
{
    DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &arg->UpdatePageTable;
    UINT count = update->Flags.Repeat ? 1 : update->NumPageTableEntries;
    DXGKARG_BUILDPAGINGBUFFER as = *arg;
    DXGK_PTE entries[MOST_PAGES];

    if (update->PageTableLevel || count > MOST_PAGES || !update->pPageTableEntries)
        return build(self, object, arg);
    memcpy(entries, update->pPageTableEntries, count * sizeof entries[0]);
    for (UINT i = 0; i < count; i++) {
        if (entries[i].Valid && !entries[i].Zero && !entries[i].Segment == is_system)
            entries[i].PageAddress &= LOW_PAGES;
    }
    as.UpdatePageTable.pPageTableEntries = entries;
    return zoo_build_as(self, object, arg, &as);
}

static NTSTATUS build_local_cut(struct miniport *self, HANDLE object,
                                DXGKARG_BUILDPAGINGBUFFER *arg)
{
    DXGKARG_BUILDPAGINGBUFFER as = *arg;

    switch ((unsigned)arg->Operation) {
    case DXGK_OPERATION_TRANSFER:
        if (arg->Transfer.Source.SegmentId)
            cut_address(&as.Transfer.Source.SegmentAddress);
        if (arg->Transfer.Destination.SegmentId)
            cut_address(&as.Transfer.Destination.SegmentAddress);
        break;
    case DXGK_OPERATION_FILL:
        cut_address(&as.Fill.Destination.SegmentAddress);
        break;
    case DXGK_OPERATION_UPDATE_PAGE_TABLE:
        return build_with_entries(self, object, arg, false);
    default:
        return build(self, object, arg);
    }
    return zoo_build_as(self, object, arg, &as);
}

/* A list of pages, whose numbers an unsigned long of bytes has lost the high half of. */
struct cut_list {
    MDL head;
    PFN_NUMBER pages[MOST_PAGES];
};

static bool cut_pages(struct cut_list *list, MDL **mdl, ULONG *offset, SIZE_T count)
{
    if (!*mdl || count > MOST_PAGES)
        return false;
    list->head = **mdl;
    list->head.ByteCount = (ULONG)(count * PAGE);
    for (SIZE_T i = 0; i < count; i++)
        list->pages[i] = MmGetMdlPfnArray(*mdl)[*offset + i] & LOW_PAGES;
    *offset = 0;
    *mdl = &list->head;
    return true;
}

static NTSTATUS build_system_cut(struct miniport *self, HANDLE object,
                                 DXGKARG_BUILDPAGINGBUFFER *arg)
{
    DXGKARG_BUILDPAGINGBUFFER as = *arg;
    struct cut_list list;
    ULONG offset;
    MDL **mdl;

    switch ((unsigned)arg->Operation) {
    case DXGK_OPERATION_TRANSFER:
        mdl = !arg->Transfer.Source.SegmentId        ? &as.Transfer.Source.pMdl
              : !arg->Transfer.Destination.SegmentId ? &as.Transfer.Destination.pMdl
                                                     : NULL;
        offset = arg->Transfer.MdlOffset;
        if (!mdl || !cut_pages(&list, mdl, &offset, (arg->Transfer.TransferSize + PAGE - 1) / PAGE))
            return build(self, object, arg);
        as.Transfer.MdlOffset = offset;
        break;
    case DXGK_OPERATION_MAP_APERTURE_SEGMENT:
        if (!cut_pages(&list, &as.MapApertureSegment.pMdl, &as.MapApertureSegment.MdlOffset,
                       arg->MapApertureSegment.NumberOfPages))
            return build(self, object, arg);
        break;
    case DXGK_OPERATION_UPDATE_PAGE_TABLE:
        return build_with_entries(self, object, arg, true);
    default:
        return build(self, object, arg);
    }
    return zoo_build_as(self, object, arg, &as);
}

/* ---- Fences that wrap ------------------------------------------------------------------------ */

/*
 * Knows the last fence by its number alone: one that is smaller than the last of its node is an old
 * one, and is not reported.
 */
static void tell_rising(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);
    uint64_t *last = layer->state;

    if (data->InterruptType == DXGK_INTERRUPT_DMA_COMPLETED &&
        data->DmaCompleted.NodeOrdinal < sizeof layer->state / sizeof layer->state[0]) {
        last += data->DmaCompleted.NodeOrdinal;
        if (data->DmaCompleted.SubmissionFenceId < *last)
            return;
        *last = data->DmaCompleted.SubmissionFenceId;
    }
    layer->host.upper->ops->notify_interrupt(layer->host.upper, data);
}

static void plant_rising(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_rising;
}

/* ---- Reports of engines that are not --------------------------------------------------------- */

/* The engine's number in its chip, as its registers count. */
static void tell_engine(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);
    DXGKARGCB_NOTIFY_INTERRUPT_DATA as = *data;

    if (data->InterruptType == DXGK_INTERRUPT_DMA_COMPLETED)
        as.DmaCompleted.EngineOrdinal = data->DmaCompleted.NodeOrdinal;
    layer->host.upper->ops->notify_interrupt(layer->host.upper, &as);
}

static void plant_engine(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_engine;
}

/* The bit of the node in its status register, and not its number. */
static void tell_bit(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);
    DXGKARGCB_NOTIFY_INTERRUPT_DATA as = *data;

    if (data->InterruptType == DXGK_INTERRUPT_DMA_COMPLETED && ++layer->calls % 8 == 0)
        as.DmaCompleted.NodeOrdinal = SGPU_IRQ_COMPLETED(data->DmaCompleted.NodeOrdinal + 8);
    layer->host.upper->ops->notify_interrupt(layer->host.upper, &as);
}

static void plant_bit(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_bit;
}

#define BUILD(id_, models_, rules_, function, sentence_)                                           \
    {                                                                                              \
        .id = id_, .sentence = sentence_, .models = models_, .rules = rules_, .since = ZOO_SINCE,  \
        .build = function,                                                                         \
    }
#define PLANT(id_, models_, rules_, function, sentence_)                                           \
    {                                                                                              \
        .id = id_, .sentence = sentence_, .models = models_, .rules = rules_, .since = ZOO_SINCE,  \
        .plant = function,                                                                         \
    }

/* clang-format off */
const struct zoo_defect zoo_drawn_defects[] = {
    BUILD("FAR-local-32-bits", ZOO_BOTH, "FILL-005 XFER-006 XFER-003 PT-013 PT-015 content fault",
          build_local_cut, "keeps addresses of local memory in 32 bits"),
    BUILD("FAR-system-32-bits", ZOO_ALL, "XFER-005 XFER-006 APER-002 PT-013 PT-015 content fault",
          build_system_cut, "keeps addresses of system pages in 32 bits"),
    PLANT("FENCE-wrap-is-old", ZOO_ALL, "FENCE-004 FENCE-006", plant_rising,
          "takes a fence that has wrapped for one that was reported before"),
    PLANT("FENCE-engine-counted", ZOO_ALL, "FENCE-004", plant_engine,
          "reports the node's number as EngineOrdinal, too"),
    PLANT("FENCE-node-beyond", ZOO_ALL, "FENCE-004", plant_bit,
          "reports a NodeOrdinal that the adapter does not have, now and then"),
    {0},
};
/* clang-format on */
