/*
 * Defects of page tables, of what caches them, and of what tells about places (D60 to D68).
 */
#include "zoo/zoo_tables.h"

#include <string.h>

#define MOST_ENTRIES 4096u

static NTSTATUS build(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return miniport_forward_build_paging_buffer(self, object, arg);
}

static bool is_update(const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return arg->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE;
}

static bool is_flush(const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return arg->Operation == DXGK_OPERATION_FLUSH_TLB;
}

/*
 * Has the driver write other entries: each of the array goes through change first. Repeats become
 * arrays when change wants to see every index.
 */
static NTSTATUS update_as(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg,
                          void (*change)(DXGK_PTE *entry, UINT index))
{
    DXGKARG_BUILDPAGINGBUFFER as = *arg;
    UINT count = arg->UpdatePageTable.Flags.Repeat ? 1 : arg->UpdatePageTable.NumPageTableEntries;
    DXGK_PTE entries[MOST_ENTRIES];

    if (!is_update(arg) || arg->UpdatePageTable.PageTableLevel || count > MOST_ENTRIES ||
        !arg->UpdatePageTable.pPageTableEntries)
        return build(self, object, arg);
    memcpy(entries, arg->UpdatePageTable.pPageTableEntries, count * sizeof entries[0]);
    for (UINT i = 0; i < count; i++)
        change(&entries[i], i);
    as.UpdatePageTable.pPageTableEntries = entries;
    return zoo_build_as(self, object, arg, &as);
}

static void walk_past_repeat(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (is_update(arg) && arg->UpdatePageTable.Flags.Repeat &&
        arg->UpdatePageTable.NumPageTableEntries > 1) {
        /* Only the first is as the array says: the others are not written at all. */
        arg->UpdatePageTable.NumPageTableEntries = 1;
    }
}

static void ignore_start(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (is_update(arg) && !arg->UpdatePageTable.PageTableLevel)
        arg->UpdatePageTable.StartIndex = 0;
}

/* The index counts in the array too: entry i of the table is element StartIndex + i. */
static NTSTATUS start_on_both(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    DXGKARG_BUILDPAGINGBUFFER as = *arg;
    UINT count = arg->UpdatePageTable.NumPageTableEntries;
    DXGK_PTE entries[MOST_ENTRIES];

    if (!is_update(arg) || arg->UpdatePageTable.PageTableLevel ||
        arg->UpdatePageTable.Flags.Repeat || count < 2 || count > MOST_ENTRIES ||
        !arg->UpdatePageTable.pPageTableEntries)
        return build(self, object, arg);
    for (UINT i = 0; i < count; i++)
        entries[i] =
            arg->UpdatePageTable.pPageTableEntries[(i + arg->UpdatePageTable.StartIndex) % count];
    as.UpdatePageTable.pPageTableEntries = entries;
    return zoo_build_as(self, object, arg, &as);
}

/* What tells of GPU pages above 4 KiB: memory in pages of 64 KiB without tables for them. */
static NTSTATUS learn_gpu_page(struct miniport *self, HANDLE object,
                               const DXGKARG_QUERYADAPTERINFO *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    NTSTATUS status = miniport_forward_query_adapter_info(self, object, arg);

    if (NT_SUCCESS(status) && arg->Type == DXGKQAITYPE_GPUMMUCAPS)
        layer->state[0] =
            !((DXGK_GPUMMUCAPS *)arg->pOutputData)->LeafPageTableSizeFor64KPagesInBytes;
    if (NT_SUCCESS(status) && arg->Type == DXGKQAITYPE_QUERYSEGMENT4) {
        const DXGK_QUERYSEGMENTOUT4 *out = arg->pOutputData;

        layer->state[1] =
            out->pSegmentDescriptor &&
            ((DXGK_SEGMENTDESCRIPTOR4 *)(void *)out->pSegmentDescriptor)->Flags.Use64KBPages;
    }
    return status;
}

/* Of an array it takes the first entries, one for each GPU page. */
static NTSTATUS pack_gpu_pages(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct zoo_layer *layer = zoo_layer_of(self);
    DXGKARG_BUILDPAGINGBUFFER as = *arg;
    UINT count = arg->UpdatePageTable.NumPageTableEntries;
    DXGK_PTE entries[MOST_ENTRIES];

    if (!layer->state[0] || !layer->state[1] || !is_update(arg) ||
        arg->UpdatePageTable.PageTableLevel || arg->UpdatePageTable.Flags.Repeat ||
        count > MOST_ENTRIES || !arg->UpdatePageTable.pPageTableEntries ||
        !arg->UpdatePageTable.pPageTableEntries[0].Segment)
        return build(self, object, arg);
    for (UINT i = 0; i < count; i++)
        entries[i] = arg->UpdatePageTable.pPageTableEntries[i / 4];
    as.UpdatePageTable.pPageTableEntries = entries;
    return zoo_build_as(self, object, arg, &as);
}

static void plant_packed_gpu_pages(struct zoo_layer *layer)
{
    layer->ops.query_adapter_info = learn_gpu_page;
    layer->ops.build_paging_buffer = pack_gpu_pages;
}

static void bytes_for_pages(DXGK_PTE *entry, UINT index)
{
    if (entry->Valid && index % 8 == 7)
        entry->PageAddress <<= 1;
}

static NTSTATUS build_bytes_for_pages(struct miniport *self, HANDLE object,
                                      DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return update_as(self, object, arg, bytes_for_pages);
}

static void truncate_page(DXGK_PTE *entry, UINT index)
{
    if (entry->Valid && !entry->Segment && index % 8 == 7)
        entry->PageAddress &= 0xffff; /* of bytes the low 28 bits, no more */
}

static NTSTATUS build_truncated(struct miniport *self, HANDLE object,
                                DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return update_as(self, object, arg, truncate_page);
}

static void drop_zero(DXGK_PTE *entry, UINT index)
{
    if (entry->Zero)
        entry->Valid = 0;
    entry->Zero = 0;
}

static NTSTATUS build_without_zero(struct miniport *self, HANDLE object,
                                   DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return update_as(self, object, arg, drop_zero);
}

static void drop_read_only(DXGK_PTE *entry, UINT index)
{
    entry->ReadOnly = 0;
}

static NTSTATUS build_without_read_only(struct miniport *self, HANDLE object,
                                        DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return update_as(self, object, arg, drop_read_only);
}

static void drop_no_execute(DXGK_PTE *entry, UINT index)
{
    entry->NoExecute = 0;
}

static NTSTATUS build_without_no_execute(struct miniport *self, HANDLE object,
                                         DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return update_as(self, object, arg, drop_no_execute);
}

static void lose_every_64th(DXGK_PTE *entry, UINT index)
{
    if (index % 64 == 63)
        entry->Valid = 0;
}

static NTSTATUS build_with_losses(struct miniport *self, HANDLE object,
                                  DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return update_as(self, object, arg, lose_every_64th);
}

static void shift_entries(DXGK_PTE *entry, UINT index)
{
    if (entry->Valid && index)
        entry->PageAddress -= 1;
}

static NTSTATUS build_shifted(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return update_as(self, object, arg, shift_entries);
}

static void set_read_only(DXGK_PTE *entry, UINT index)
{
    entry->ReadOnly = entry->Valid;
}

static NTSTATUS build_read_only(struct miniport *self, HANDLE object,
                                DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return update_as(self, object, arg, set_read_only);
}

static void set_large(DXGK_PTE *entry, UINT index)
{
    entry->LargePage = entry->Valid;
}

static NTSTATUS build_large(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return update_as(self, object, arg, set_large);
}

static void set_no_execute(DXGK_PTE *entry, UINT index)
{
    entry->NoExecute = entry->Valid;
}

static NTSTATUS build_no_execute(struct miniport *self, HANDLE object,
                                 DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return update_as(self, object, arg, set_no_execute);
}

/* What leads to tables is one page too high. */
static NTSTATUS build_pointers_off(struct miniport *self, HANDLE object,
                                   DXGKARG_BUILDPAGINGBUFFER *arg)
{
    DXGKARG_BUILDPAGINGBUFFER as = *arg;
    DXGK_PTE entry;

    if (!is_update(arg) || arg->UpdatePageTable.PageTableLevel != 1 ||
        arg->UpdatePageTable.NumPageTableEntries != 1 || !arg->UpdatePageTable.pPageTableEntries ||
        !arg->UpdatePageTable.pPageTableEntries[0].Valid)
        return build(self, object, arg);
    entry = arg->UpdatePageTable.pPageTableEntries[0];
    entry.PageAddress++;
    as.UpdatePageTable.pPageTableEntries = &entry;
    return zoo_build_as(self, object, arg, &as);
}

/* The loop over an array ends in front of its last entry. */
static void stop_early(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (is_update(arg) && !arg->UpdatePageTable.Flags.Repeat &&
        arg->UpdatePageTable.NumPageTableEntries > 1)
        arg->UpdatePageTable.NumPageTableEntries--;
}

static void start_late(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (is_update(arg) && !arg->UpdatePageTable.Flags.Repeat &&
        !arg->UpdatePageTable.PageTableLevel)
        arg->UpdatePageTable.StartIndex++;
}

/* A repetition is one entry too long; not those that make tables. */
static void repeat_once_more(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const UINT end =
        is_update(arg) ? arg->UpdatePageTable.StartIndex + arg->UpdatePageTable.NumPageTableEntries
                       : 0;

    if (is_update(arg) && arg->UpdatePageTable.Flags.Repeat &&
        !arg->UpdatePageTable.Flags.InitialUpdate && !arg->UpdatePageTable.PageTableLevel &&
        end & (end - 1)) /* not at the end of a table, which has a power of two of them */
        arg->UpdatePageTable.NumPageTableEntries++;
}

/* Counts entries of 64 KiB two by two. */
static void index_64k_twice(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (is_update(arg) && arg->UpdatePageTable.Flags.Use64KBPages)
        arg->UpdatePageTable.StartIndex &= ~1u;
}

/* Entries that take mappings away are not written: what was there stays. */
static NTSTATUS keep_old(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    bool is_clearing = is_update(arg) && !arg->UpdatePageTable.PageTableLevel &&
                       arg->UpdatePageTable.pPageTableEntries &&
                       !arg->UpdatePageTable.pPageTableEntries[0].Valid;

    return is_clearing ? STATUS_SUCCESS : build(self, object, arg);
}

static NTSTATUS skip_initial(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return is_update(arg) && arg->UpdatePageTable.Flags.InitialUpdate && arg->pDmaBuffer &&
                   zoo_layer_of(self)->calls++ > 8
               ? STATUS_SUCCESS
               : build(self, object, arg);
}

/* Every entry in the table of the process before. */
static void wrong_protection(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (is_update(arg))
        arg->UpdatePageTable.DriverProtection = 0;
}

static NTSTATUS skip_flush(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return is_flush(arg) ? STATUS_SUCCESS : build(self, object, arg);
}

static void flush_first_page(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (is_flush(arg) && arg->FlushTlb.EndVirtualAddress)
        arg->FlushTlb.EndVirtualAddress = arg->FlushTlb.StartVirtualAddress + 4096;
}

static void flush_another(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (!is_flush(arg))
        return;
    if (layer->state[0])
        arg->FlushTlb.RootPageTableAddress.SegmentOffset = (UINT64)layer->state[1];
    layer->state[0] = 1;
    layer->state[1] ^= arg->FlushTlb.RootPageTableAddress.SegmentOffset + 0x1000;
}

static NTSTATUS skip_copy(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return arg->Operation == DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES ? STATUS_SUCCESS
                                                                    : build(self, object, arg);
}

static NTSTATUS skip_signal(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return arg->Operation == DXGK_OPERATION_SIGNAL_MONITORED_FENCE &&
                   ++zoo_layer_of(self)->calls > 3
               ? STATUS_SUCCESS
               : build(self, object, arg);
}

static void signal_early(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (arg->Operation == DXGK_OPERATION_SIGNAL_MONITORED_FENCE)
        arg->SignalMonitoredFence.MonitoredFenceValue++;
}

static NTSTATUS skip_init_context(struct miniport *self, HANDLE object,
                                  DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return arg->Operation == DXGK_OPERATION_INIT_CONTEXT_RESOURCE ? STATUS_SUCCESS
                                                                  : build(self, object, arg);
}

/* ---- One entry among many ---- */

/*
 * One of SINGLE entries of leaves that lead to a page is another one; its neighbours are as they
 * should be.
 */
#define SINGLE 200u

static NTSTATUS update_single(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg,
                              void (*change)(DXGK_PTE *entry))
{
    struct zoo_layer *layer = zoo_layer_of(self);
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &arg->UpdatePageTable;
    DXGKARG_BUILDPAGINGBUFFER as = *arg;
    DXGK_PTE entries[MOST_ENTRIES];
    UINT count = update->NumPageTableEntries, next;
    NTSTATUS status;

    /* state[0]: entries so far; a part that is asked for again has the same number. */
    if (!is_update(arg) || update->PageTableLevel || update->Flags.Repeat || count > MOST_ENTRIES ||
        !update->pPageTableEntries || !update->pPageTableEntries[0].Valid)
        return build(self, object, arg);
    next = SINGLE - 1 - layer->state[0] % SINGLE;
    if (next < count) {
        memcpy(entries, update->pPageTableEntries, count * sizeof entries[0]);
        for (; next < count; next += SINGLE)
            change(&entries[next]);
        as.UpdatePageTable.pPageTableEntries = entries;
        status = zoo_build_as(self, object, arg, &as);
    } else {
        status = build(self, object, arg);
    }
    if (NT_SUCCESS(status))
        layer->state[0] += count;
    return status;
}

static void lead_to_next(DXGK_PTE *entry)
{
    entry->PageAddress++;
}

static void lead_nowhere(DXGK_PTE *entry)
{
    entry->Valid = 0;
}

static void allow_no_writes(DXGK_PTE *entry)
{
    entry->ReadOnly = 1;
}

static void lead_elsewhere(DXGK_PTE *entry)
{
    entry->PageAddress ^= 1u << 10;
}

static NTSTATUS build_single_next(struct miniport *self, HANDLE object,
                                  DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return update_single(self, object, arg, lead_to_next);
}

static NTSTATUS build_single_invalid(struct miniport *self, HANDLE object,
                                     DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return update_single(self, object, arg, lead_nowhere);
}

static NTSTATUS build_single_read_only(struct miniport *self, HANDLE object,
                                       DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return update_single(self, object, arg, allow_no_writes);
}

static NTSTATUS build_single_bit(struct miniport *self, HANDLE object,
                                 DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return update_single(self, object, arg, lead_elsewhere);
}

/* ---- Content that is read too early ---- */

#define WINDOW_BYTES (64u << 20) /* of the first segment, from its begin on */

/* Where the CPU finds the first segment, in state[0], and how much of it is seen, in state[1]. */
static NTSTATUS query_window(struct miniport *self, HANDLE object,
                             const DXGKARG_QUERYADAPTERINFO *arg)
{
    NTSTATUS status = miniport_forward_query_adapter_info(self, object, arg);
    const DXGK_QUERYSEGMENTOUT4 *out = arg->pOutputData;
    const DXGK_SEGMENTDESCRIPTOR4 *first;

    if (!NT_SUCCESS(status) || arg->Type != DXGKQAITYPE_QUERYSEGMENT4 || !out ||
        !out->pSegmentDescriptor)
        return status;
    first = (const void *)out->pSegmentDescriptor;
    zoo_layer_of(self)->state[0] = (uint64_t)first->CpuTranslatedAddress.QuadPart;
    zoo_layer_of(self)->state[1] = first->Flags.CpuVisible ? first->Size : 0;
    return status;
}

/* Looks at the first byte of what comes in, through a window of its own for the time. */
static NTSTATUS build_and_peek(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    struct miniport_host *upper = layer->host.upper;
    const DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY *notice = &arg->NotifyResidency;
    uint64_t bytes = layer->state[1] < WINDOW_BYTES ? layer->state[1] : WINDOW_BYTES;
    PHYSICAL_ADDRESS address = {.QuadPart = (LONGLONG)layer->state[0]};
    void *window;

    if (arg->Operation == DXGK_OPERATION_NOTIFY_RESIDENCY && notice->Resident &&
        layer->memory.words[0] && notice->PhysicalAddress.SegmentId == 1 &&
        notice->PhysicalAddress.SegmentOffset < layer->memory.words[1])
        layer->state[2] += *((volatile const unsigned char *)(uintptr_t)layer->memory.words[0] +
                             notice->PhysicalAddress.SegmentOffset);
    else if (arg->Operation != DXGK_OPERATION_NOTIFY_RESIDENCY && !layer->memory.words[0] &&
             bytes &&
             NT_SUCCESS(upper->ops->map_memory(upper, address, (ULONG)bytes, FALSE, FALSE,
                                               MmNonCached, &window))) {
        layer->memory.words[0] = (uintptr_t)window;
        layer->memory.words[1] = bytes;
    }
    return miniport_forward_build_paging_buffer(self, object, arg);
}

static NTSTATUS stop_peeking(struct miniport *self)
{
    struct zoo_layer *layer = zoo_layer_of(self);

    if (layer->memory.words[0])
        layer->host.upper->ops->unmap_memory(layer->host.upper,
                                             (void *)(uintptr_t)layer->memory.words[0]);
    layer->memory.words[0] = 0;
    return miniport_forward_ops.stop_device(self);
}

static void plant_peek(struct zoo_layer *layer)
{
    layer->ops.query_adapter_info = query_window;
    layer->ops.build_paging_buffer = build_and_peek;
    layer->ops.stop_device = stop_peeking;
}

/* clang-format off */
const struct zoo_defect zoo_table_defects[] = {
    ALTER("D60-repeat-once", ZOO_GPUMMU, "PT-016 PT-013", walk_past_repeat,
          "writes one entry where Repeat asks for many"),
    ALTER("D61-start-ignored", ZOO_GPUMMU, "PT-017", ignore_start,
          "writes leaf entries from index 0, whatever StartIndex says"),
    BUILD("D61-start-on-both", ZOO_GPUMMU, "PT-017", start_on_both,
          "applies StartIndex to the array of entries too"),
    {.id = "PT-gpu-pages-packed", .models = ZOO_GPUMMU, .rules = "PT-026 PT-017",
     .since = ZOO_SINCE, .plant = plant_packed_gpu_pages,
     .sentence = "takes the first entries of an array for GPU pages above 4 KiB",
     .focus = "gpu-page=64K ptes=no"},
    BUILD("D62-bytes-for-pages", ZOO_GPUMMU, "PT-017 PT-030", build_bytes_for_pages,
          "mixes pages and bytes in every eighth PageAddress"),
    BUILD("D71-page-truncated", ZOO_GPUMMU, "PT-017 PT-030", build_truncated,
          "truncates the address of every eighth system page"),
    BUILD("D63-zero-dropped", ZOO_GPUMMU, "PT-016 PT-017 PT-031", build_without_zero,
          "drops the Zero bit of an entry"),
    BUILD("D63-read-only-dropped", ZOO_GPUMMU, "PT-017 PT-032", build_without_read_only,
          "drops the ReadOnly bit of an entry", .focus = "ops=1000"),
    BUILD("D63-no-execute-dropped", ZOO_GPUMMU, "PT-017 PT-032", build_without_no_execute,
          "drops the NoExecute bit of an entry"),
    ALTER("D64-index-even", ZOO_GPUMMU, "PT-039 PT-041 PT-017", index_64k_twice,
          "writes 64 KiB entries from an even index only"),
    BUILD("D66-flush-skipped", ZOO_GPUMMU, "TLB-002", skip_flush,
          "does not flush the TLB"),
    ALTER("D66-flush-one-page", ZOO_GPUMMU, "TLB-007 TLB-002", flush_first_page,
          "flushes the first page of a range"),
    ALTER("D66-flush-another", ZOO_GPUMMU, "TLB-002", flush_another,
          "flushes another address space"),
    BUILD("D67-mappings-lost", ZOO_GPUMMU, "PT-017", build_with_losses,
          "loses every 64th mapping of an update"),
    BUILD("D67-mappings-shifted", ZOO_GPUMMU, "PT-017", build_shifted,
          "maps all but the first page one page too low"),
    BUILD("D68-old-entries-kept", ZOO_GPUMMU, "PT-017 PT-021", keep_old,
          "does not clear entries that are to be invalid"),
    BUILD("D68-initial-skipped", ZOO_GPUMMU, "PT-013 PT-014 PT-017", skip_initial,
          "does not write the first content of a table"),
    BUILD("PTE-read-only-set", ZOO_GPUMMU, "PT-017", build_read_only,
          "sets the ReadOnly bit of every leaf entry"),
    BUILD("PTE-no-execute-set", ZOO_GPUMMU, "PT-017", build_no_execute,
          "sets the NoExecute bit of every leaf entry"),
    BUILD("PTE-large-in-leaf", ZOO_GPUMMU, "PT-017", build_large,
          "sets the bit of large pages in every leaf entry", .focus = "large-pages=yes"),
    BUILD("PTE-pointers-off", ZOO_GPUMMU, "PT-017 PT-041", build_pointers_off,
          "leads entries of level 1 to the page behind the table"),
    BUILD("PTE-single-next", ZOO_GPUMMU, "PT-017", build_single_next,
          "leads one of 200 entries to the page behind"),
    BUILD("PTE-single-invalid", ZOO_GPUMMU, "PT-017 PT-016", build_single_invalid,
          "leaves one of 200 entries invalid"),
    BUILD("PTE-single-read-only", ZOO_GPUMMU, "PT-017", build_single_read_only,
          "makes one of 200 entries read-only"),
    BUILD("PTE-single-bit", ZOO_GPUMMU, "PT-017 PT-030", build_single_bit,
          "turns a bit of the address in one of 200 entries"),
    ALTER("PTE-last-missing", ZOO_GPUMMU, "PT-017 PT-019 PT-021", stop_early,
          "does not write the last entry of an array"),
    ALTER("PTE-one-late", ZOO_GPUMMU, "PT-017 PT-039", start_late,
          "writes leaf entries one index too high"),
    ALTER("PTE-one-too-many", ZOO_GPUMMU, "PT-016", repeat_once_more,
          "repeats an entry once more than asked"),
    ALTER("PT-protection-dropped", ZOO_GPUMMU, "PT-028 PT-017", wrong_protection,
          "drops the driver protection"),
    BUILD("CPTE-copy-skipped", ZOO_GPUMMU, "CPTE-002", skip_copy,
          "does not execute COPY_PAGE_TABLE_ENTRIES"),
    BUILD("NTF-signal-skipped", ZOO_GPUMMU, "NTF-007", skip_signal,
          "does not execute SIGNAL_MONITORED_FENCE"),
    ALTER("NTF-signal-early", ZOO_GPUMMU, "NTF-007", signal_early,
          "signals the value after the one asked for"),
    {.id = "NTF-content-read", .models = ZOO_GPUMMU, .rules = "NTF-006", .since = ZOO_SINCE,
     .sentence = "looks at the content when it is told that an allocation is resident",
     .plant = plant_peek},
    {.id = "CTX-init-skipped", .models = ZOO_ALL, .rules = "CTX-006", .since = ZOO_SINCE,
     .sentence = "does not initialise a context allocation", .build = skip_init_context},
    {0},
};
/* clang-format on */
