#include "vidmm/memory/allocation_info.h"

#include "vidmm/adapter/adapter_caps.h"
#include "vidmm/adapter/driver_error.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/segment.h"
#include "vidmm/vidmm_private.h"

#include "base/bits.h"

#include <stdio.h>

#define MOST_BYTES (UINT64_C(1) << 46)

/* The driver's report, and the facts by which it is judged. */
struct report {
    const struct vidmm *vidmm;
    const DXGK_ALLOCATIONINFO *info;
    uint32_t all;          /* segments of the adapter, one bit each */
    uint32_t supported;    /* for reading or for writing */
    uint32_t set;          /* in which it may be placed */
    unsigned preferred[5]; /* segment ids, best first; 0: none */
    bool from_end[5];      /* ... to be placed from the end of it */
};

static struct report make_report(const struct vidmm *vidmm, const DXGK_ALLOCATIONINFO *info)
{
    const DXGK_SEGMENTPREFERENCE *preferred = &info->PreferredSegment;
    struct report report = {
        .vidmm = vidmm,
        .info = info,
        .all = (uint32_t)((UINT64_C(1) << vidmm->caps.segment_count) - 1),
        .supported = info->SupportedWriteSegmentSet,
        .set = info->SupportedWriteSegmentSet,
        .preferred = {preferred->SegmentId0, preferred->SegmentId1, preferred->SegmentId2,
                      preferred->SegmentId3, preferred->SegmentId4},
        .from_end = {preferred->Direction0, preferred->Direction1, preferred->Direction2,
                     preferred->Direction3, preferred->Direction4},
    };

    if (vidmm->caps.is_virtual)
        return report; /* GpuMmu: only the write set (ALLOC-006) */
    report.supported |= info->SupportedReadSegmentSet;
    /* Where both do not meet, it is placed as for writing, which any use may be. */
    if (report.set & info->SupportedReadSegmentSet)
        report.set &= info->SupportedReadSegmentSet;
    return report;
}

/* ---- Rules: false, and the sentence behind "pAllocationInfo[0].", when one is broken --------- */

#define TEXT_BYTES 160

static bool has_handle(const struct report *report, char *text)
{
    snprintf(text, TEXT_BYTES, "hAllocation is NULL");
    return report->info->hAllocation != NULL;
}

static bool has_size(const struct report *report, char *text)
{
    snprintf(text, TEXT_BYTES, "Size is %llu", (unsigned long long)report->info->Size);
    return report->info->Size != 0 && report->info->Size <= MOST_BYTES;
}

/* One that is no power of two counts as the next one. */
static bool has_alignment(const struct report *report, char *text)
{
    snprintf(text, TEXT_BYTES, "Alignment is %u, more than 2^31", report->info->Alignment);
    return report->info->Alignment <= UINT32_C(1) << 31;
}

static bool has_segments(const struct report *report, char *text)
{
    snprintf(text, TEXT_BYTES,
             "SupportedWriteSegmentSet is 0x%x (read 0x%x); the adapter has segments 0x%x",
             report->info->SupportedWriteSegmentSet, report->info->SupportedReadSegmentSet,
             report->all);
    return (report->set & report->all) && !(report->info->SupportedWriteSegmentSet & ~report->all);
}

static bool has_priority(const struct report *report, char *text)
{
    snprintf(text, TEXT_BYTES, "AllocationPriority is 0");
    return report->info->AllocationPriority != 0;
}

static bool is_notified_by_address(const struct report *report, char *text)
{
    snprintf(text, TEXT_BYTES,
             "FlagsWddm2.ExplicitResidencyNotification is set without AccessedPhysically");
    return !report->vidmm->caps.is_virtual ||
           !report->info->FlagsWddm2.ExplicitResidencyNotification ||
           report->info->FlagsWddm2.AccessedPhysically;
}

static bool prefers_supported(const struct report *report, char *text)
{
    unsigned i;

    for (i = 0; i < ARRAY_COUNT(report->preferred); i++) {
        unsigned id = report->preferred[i];

        if (!id || (id <= report->vidmm->caps.segment_count && (report->supported >> (id - 1) & 1)))
            continue;
        snprintf(text, TEXT_BYTES,
                 "PreferredSegment.SegmentId%u is %u, outside the supported set 0x%x", i, id,
                 report->supported);
        return false;
    }
    return true;
}

static bool is_evicted_through_apertures(const struct report *report, char *text)
{
    const struct vidmm *vidmm = report->vidmm;
    unsigned i;

    for (i = 0; i < vidmm->caps.segment_count && !vidmm->caps.is_virtual; i++) {
        if (!(report->info->EvictionSegmentSet >> i & 1) ||
            vidmm->segments[i].kind == SEGMENT_APERTURE)
            continue;
        snprintf(text, TEXT_BYTES, "EvictionSegmentSet is 0x%x, but segment %u is not an aperture",
                 report->info->EvictionSegmentSet, i + 1);
        return false;
    }
    return true;
}

static bool asks_for_cpu_view(const struct report *report)
{
    return report->vidmm->caps.is_virtual &&
           report->vidmm->caps.interface_version >= DXGKDDI_INTERFACE_VERSION_WDDM2_9 &&
           report->info->FlagsWddm2.MapApertureCpuVisible;
}

static bool can_have_cpu_view(const struct report *report, char *text)
{
    snprintf(text, TEXT_BYTES, "Flags.MapApertureCpuVisible without MapAperture2Supported");
    return !asks_for_cpu_view(report) || report->vidmm->caps.maps_aperture2;
}

static const struct {
    const char *rule;
    bool (*is_kept)(const struct report *report, char *text);
} rules[] = {
    {"ALLOC-001", has_handle},        {"ALLOC-001", has_size},
    {"ALLOC-001", has_alignment},     {"ALLOC-005", has_segments},
    {"ALLOC-008", has_priority},      {"NTF-002", is_notified_by_address},
    {"ALLOC-005", prefers_supported}, {"ALLOC-007", is_evicted_through_apertures},
    {"ADL-012", can_have_cpu_view},
};

static bool is_lawful(struct vidmm *vidmm, const struct report *report)
{
    char text[TEXT_BYTES];
    unsigned i;

    for (i = 0; i < ARRAY_COUNT(rules); i++) {
        if (rules[i].is_kept(report, text))
            continue;
        vidmm_refuse_answer(vidmm, rules[i].rule, "DxgkDdiCreateAllocation.pAllocationInfo[0].%s",
                            text);
        return false;
    }
    return true;
}

/* ---- Copies ---------------------------------------------------------------------------------- */

unsigned allocation_priority_class(uint32_t priority)
{
    unsigned class = priority / 0x28000000u;

    if (class > PRIORITY_CLASSES)
        class = PRIORITY_CLASSES;
    return class ? class - 1 : 0;
}

static bool has_memory_segment(const struct vidmm *vidmm, uint32_t set)
{
    unsigned i;

    for (i = 0; i < vidmm->caps.segment_count; i++) {
        if ((set >> i & 1) && vidmm->segments[i].kind == SEGMENT_CONTIGUOUS)
            return true;
    }
    return false;
}

static void copy_size(struct vidmm_allocation *allocation, const struct report *report)
{
    const DXGK_ALLOCATIONINFO *info = report->info;

    allocation->page_count = div_round_up(info->Size, PAGE_BYTES);
    allocation->pitched_pages = div_round_up(info->PitchAlignedSize, PAGE_BYTES);
    if (allocation->context) /* nobody asks: one row, as long as it is */
        allocation->pitched_pages = allocation->page_count;
    allocation->alignment = info->Alignment > PAGE_BYTES
                                ? UINT32_C(1) << log2_ceil_u64(info->Alignment)
                                : (uint32_t)PAGE_BYTES;
}

static void copy_physical(struct vidmm_allocation *allocation, const struct report *report)
{
    const DXGK_ALLOCATIONINFO *info = report->info;

    allocation->uses_alternate_va =
        info->Flags.UseAlternateVA && report->vidmm->caps.swizzling_range_count;
    allocation->is_swizzled =
        info->Flags.Swizzled && has_memory_segment(report->vidmm, report->set);
    allocation->renaming_limit = info->MaximumRenamingListLength;
    allocation->hinted_bank = info->HintedBank;
}

static void copy_virtual(struct vidmm_allocation *allocation, const struct report *report)
{
    const DXGK_ALLOCATIONINFO *info = report->info;
    UINT version = report->vidmm->caps.interface_version;

    allocation->is_accessed_physically = info->FlagsWddm2.AccessedPhysically;
    allocation->wants_residency_notice = info->FlagsWddm2.ExplicitResidencyNotification;
    allocation->wants_cpu_view = asks_for_cpu_view(report);
    if (version >= DXGKDDI_INTERFACE_VERSION_WDDM2_1)
        allocation->forbids_large_pages = info->FlagsWddm2.DisableLargePageMapping;
    if (version >= DXGKDDI_INTERFACE_VERSION_WDDM3_2) {
        allocation->wants_eviction_notice = info->Flags2.NotifyEviction;
        allocation->wants_unmap_notice = info->Flags2.NotifyIoMmuUnmap;
    }
}

/* ---- Where it may be placed ------------------------------------------------------------------ */

/* The segment that stands for the reported one in this model; 0: system memory. */
static unsigned effective_segment(const struct vidmm_allocation *allocation, unsigned id)
{
    const struct vidmm *vidmm = allocation->vidmm;
    bool is_aperture = vidmm->segments[id - 1].kind == SEGMENT_APERTURE;

    if (!vidmm->caps.is_virtual)
        return id;
    if (!vidmm->caps.has_page_tables && !is_aperture)
        return 0; /* IoMmu: there is system memory only (RES-017) */
    /*
     * GpuMmu: an aperture segment stands for system memory, which page tables reach by themselves;
     * only what is accessed physically is really mapped there (ALLOC-016).
     */
    return is_aperture && !allocation->is_accessed_physically ? 0 : id;
}

static bool may_be_in(const struct vidmm_allocation *allocation, const struct segment *segment)
{
    /*
     * Rows are aligned there, which takes a PitchAlignedSize; slots show pages of the backing
     * store, which has no gaps between them (XFER-018).
     */
    if (segment->kind != SEGMENT_SYSTEM && segment->caps->is_pitch_aligned &&
        (!allocation->pitched_pages || (segment->kind != SEGMENT_CONTIGUOUS &&
                                        allocation->pitched_pages != allocation->page_count)))
        return false;
    /*
     * Unswizzled ones must not be in an aperture (SWZ-008); the others could, and are not either.
     */
    return !allocation->is_swizzled || segment->kind == SEGMENT_CONTIGUOUS;
}

static void prefer(struct vidmm_allocation *allocation, unsigned reported_id)
{
    unsigned id = effective_segment(allocation, reported_id);
    unsigned i;

    if (!may_be_in(allocation, segment_by_id(allocation->vidmm, id)))
        return;
    for (i = 0; i < allocation->preference_count; i++) {
        if (allocation->preference[i] == id)
            return;
    }
    if (allocation->preference_count < ARRAY_COUNT(allocation->preference))
        allocation->preference[allocation->preference_count++] = (uint8_t)id;
}

/* The preferred segments, then the other supported ones. */
static void copy_preferences(struct vidmm_allocation *allocation, const struct report *report)
{
    unsigned i;

    for (i = 0; i < ARRAY_COUNT(report->preferred); i++) {
        unsigned id = report->preferred[i];

        if (!id || !(report->set >> (id - 1) & 1))
            continue; /* one for reading only is no place here */
        if (report->from_end[i])
            allocation->from_end |= 1u << (id - 1);
        prefer(allocation, id);
    }
    if (report->info->Flags.FromEndOfSegment)
        allocation->from_end = UINT32_MAX;
    for (i = 0; i < report->vidmm->caps.segment_count; i++) {
        if (report->set >> i & 1)
            prefer(allocation, i + 1);
    }
}

bool allocation_accept_info(struct vidmm_allocation *allocation, const DXGK_ALLOCATIONINFO *info)
{
    struct vidmm *vidmm = allocation->vidmm;
    const struct report report = make_report(vidmm, info);

    if (!is_lawful(vidmm, &report))
        return false;
    allocation->driver_handle = info->hAllocation;
    allocation->eviction_set = info->EvictionSegmentSet & report.all;
    allocation->priority_class = allocation_priority_class(info->AllocationPriority);
    allocation->is_cpu_visible = info->Flags.CpuVisible;
    allocation->is_cached = info->Flags.Cached;
    allocation->is_permanent = info->Flags.PermanentSysMem;
    allocation->backing_is_linear = true;
    copy_size(allocation, &report);
    if (vidmm->caps.is_virtual)
        copy_virtual(allocation, &report);
    else
        copy_physical(allocation, &report);
    copy_preferences(allocation, &report);
    if (allocation->preference_count)
        return true;
    vidmm_refuse_answer(
        vidmm, "ALLOC-005",
        "DxgkDdiCreateAllocation.pAllocationInfo[0].PitchAlignedSize is 0x%llx: nothing of the "
        "supported set 0x%x is left without the segments that have PitchAlignment",
        (unsigned long long)info->PitchAlignedSize, report.set);
    return false;
}
