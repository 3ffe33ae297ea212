/*
 * Watcher: segments as the driver reports them (SEG, BANK), both passes of the query, and what
 * allocations say about them. Where things are placed is judged by check_placement.c.
 *
 * The ledger has the segments in one shape for all versions; what only older versions have (banks)
 * is read from the answer.
 */
#include "check/check_watch.h"

#include "base/bits.h"

#include <string.h>

#define PAGE      4096u
#define HIGHEST   31u  /* five bits name a segment (SEG-008) */
#define MAX_BANKS 127u /* seven a bank (BANK-004) */
#define GAP_BYTES 64u  /* behind a descriptor, that are compared (SEG-004) */

struct segment_watch {
    bool has_count; /* the first pass told one */
    uint64_t count;
    bool has_gaps;
    uint64_t gap_bytes;
    unsigned char gaps[CHECK_MAX_SEGMENTS][GAP_BYTES];
    uint64_t agp_bytes;                       /* of the window that the driver was told of */
    uint32_t bank_counts[CHECK_MAX_SEGMENTS]; /* 0: UseBanking is not set */
    bool is_linear_due;                       /* SEG-011 is to be looked at */
};

/* One of the three queries in one shape. */
struct query {
    unsigned type;
    bool has_descriptors;
    uint64_t count;  /* NbSegment */
    uint64_t stride; /* QUERYSEGMENT4 */
    BYTE *descriptors;
};

static bool read_query(const DXGKARG_QUERYADAPTERINFO *arg, struct query *out)
{
    *out = (struct query){.type = (unsigned)arg->Type};
    if (!arg->pOutputData)
        return false;
    switch (out->type) {
    case DXGKQAITYPE_QUERYSEGMENT: {
        const DXGK_QUERYSEGMENTOUT *answer = arg->pOutputData;

        out->has_descriptors = answer->pSegmentDescriptor != NULL;
        out->count = answer->NbSegment;
        return true;
    }
    case DXGKQAITYPE_QUERYSEGMENT3: {
        const DXGK_QUERYSEGMENTOUT3 *answer = arg->pOutputData;

        out->has_descriptors = answer->pSegmentDescriptor != NULL;
        out->count = answer->NbSegment;
        return true;
    }
    case DXGKQAITYPE_QUERYSEGMENT4: {
        const DXGK_QUERYSEGMENTOUT4 *answer = arg->pOutputData;

        out->descriptors = answer->pSegmentDescriptor;
        out->has_descriptors = answer->pSegmentDescriptor && answer->SegmentDescriptorStride;
        out->count = answer->NbSegment;
        out->stride = answer->SegmentDescriptorStride;
        return true;
    }
    default:
        return false;
    }
}

/* ---- The query ------------------------------------------------------------------------------- */

static unsigned query_of_version(ULONG version)
{
    return version >= DXGKDDI_INTERFACE_VERSION_WDDM2_0 ? DXGKQAITYPE_QUERYSEGMENT4
           : version >= DXGKDDI_INTERFACE_VERSION_WIN8  ? DXGKQAITYPE_QUERYSEGMENT3
                                                        : DXGKQAITYPE_QUERYSEGMENT;
}

static uint64_t gap_of(const struct query *query)
{
    return query->stride > sizeof(DXGK_SEGMENTDESCRIPTOR4)
               ? min_u64(query->stride - sizeof(DXGK_SEGMENTDESCRIPTOR4), GAP_BYTES)
               : 0;
}

static const BYTE *gap_at(const struct query *query, uint64_t i)
{
    return query->descriptors + i * query->stride + sizeof(DXGK_SEGMENTDESCRIPTOR4);
}

static void before_query(struct check *check, struct segment_watch *watch,
                         const DXGKARG_QUERYADAPTERINFO *arg, const struct query *query)
{
    ULONG version = check_ledger(check)->interface_version;
    bool is_first = !query->has_descriptors;
    bool is_counted = is_first || (watch->has_count && (query->type != DXGKQAITYPE_QUERYSEGMENT4 ||
                                                        query->count == watch->count));
    const DXGK_QUERYSEGMENTIN *in = arg->pInputData;

    CHECK_RULE(check, RULE_SEG_003, query->type == query_of_version(version), NULL, "Type",
               "is {%u} for a driver of version 0x%x (expected {=%u})", query->type,
               (unsigned)version, query_of_version(version));
    CHECK_RULE(check, RULE_SEG_001, is_counted, NULL, "pOutputData.NbSegment",
               watch->has_count ? "asks for {%llu} descriptors; the first pass told {=%llu}"
                                : "asks for %llu descriptors before a pass for the count",
               (unsigned long long)query->count, (unsigned long long)watch->count);
    if (query->type != DXGKQAITYPE_QUERYSEGMENT4 && in && arg->InputDataSize >= sizeof *in)
        watch->agp_bytes = (uint64_t)in->AgpApertureSize.QuadPart;
    watch->gap_bytes = query->has_descriptors && query->descriptors ? gap_of(query) : 0;
    for (uint64_t i = 0; watch->gap_bytes && i < min_u64(query->count, CHECK_MAX_SEGMENTS); i++)
        memcpy(watch->gaps[i], gap_at(query, i), (size_t)watch->gap_bytes);
}

/* False: the descriptors do not stand where they should, and nothing can be read from them. */
static bool check_gaps(struct check *check, const struct segment_watch *watch,
                       const struct query *query)
{
    uint64_t bad = UINT64_MAX;

    for (uint64_t i = 0; watch->gap_bytes && i < min_u64(query->count, CHECK_MAX_SEGMENTS); i++) {
        if (bad == UINT64_MAX &&
            memcmp(watch->gaps[i], gap_at(query, i), (size_t)watch->gap_bytes) != 0)
            bad = i;
    }
    return !watch->gap_bytes ||
           CHECK_RULE(check, RULE_SEG_004, bad == UINT64_MAX, NULL,
                      "pOutputData.pSegmentDescriptor",
                      "bytes behind element %llu were written: elements stand %llu bytes apart, "
                      "DXGK_SEGMENTDESCRIPTOR4 has %zu",
                      (unsigned long long)bad, (unsigned long long)query->stride,
                      sizeof(DXGK_SEGMENTDESCRIPTOR4));
}

/* ---- One segment ----------------------------------------------------------------------------- */

/* Reports a rule of segment i; the field is that of its descriptor. */
#define SEGMENT_RULE(rule, holds, name, ...)                                                       \
    CHECK_RULE(check, rule, holds, NULL,                                                           \
               check_field(check, "pSegmentDescriptor[%u].%s", segment->id - 1, name),             \
               __VA_ARGS__)

static unsigned known_flag_bits(ULONG version)
{
    return version >= DXGKDDI_INTERFACE_VERSION_WDDM2_9   ? 22
           : version >= DXGKDDI_INTERFACE_VERSION_WDDM2_0 ? 21
           : version >= DXGKDDI_INTERFACE_VERSION_WIN8    ? 11
                                                          : 7;
}

static uint64_t page_of(const struct check_segment *segment, bool is_new)
{
    return is_new && segment->flags.Use64KBPages ? 65536 : PAGE;
}

static void check_flags(struct check *check, const struct check_segment *segment, ULONG version)
{
    DXGK_SEGMENTFLAGS flags = segment->flags;
    uint32_t unknown = flags.Value & (uint32_t)~low_mask_u64(known_flag_bits(version));
    bool is_new = version >= DXGKDDI_INTERFACE_VERSION_WDDM2_0;

    SEGMENT_RULE(RULE_SEG_014, !unknown && !(is_new && flags.ReservedSysMem), "Flags",
                 "is {0x%x}: bits 0x%x are not the driver's", flags.Value,
                 unknown ? unknown : flags.Value);
    if (flags.CacheCoherent)
        SEGMENT_RULE(RULE_SEG_012, flags.Aperture, "Flags.CacheCoherent",
                     "is {set} for a memory segment (flags 0x%x){=~clear~}", flags.Value);
    if (!is_new)
        return;
    if (flags.SupportsCpuHostAperture || flags.SupportsCachedCpuHostAperture)
        SEGMENT_RULE(RULE_SEG_015, flags.SupportsCpuHostAperture && !flags.CpuVisible,
                     "Flags.SupportsCpuHostAperture",
                     "is {%u} with CpuVisible %u and SupportsCachedCpuHostAperture %u",
                     flags.SupportsCpuHostAperture, flags.CpuVisible,
                     flags.SupportsCachedCpuHostAperture);
    SEGMENT_RULE(RULE_SEG_026, !flags.LocalBudgetGroup || !flags.NonLocalBudgetGroup,
                 "Flags.LocalBudgetGroup",
                 "is {set} and NonLocalBudgetGroup too: a byte counts in one budget");
}

static void check_protected_range(struct check *check, const struct check_segment *segment)
{
    const DXGK_SEGMENTDESCRIPTOR4 *whole = &segment->whole;
    bool is_aligned_range =
        !whole->VprAlignment || (whole->VprRangeStartOffset % whole->VprAlignment == 0 &&
                                 whole->VprRangeSize % whole->VprAlignment == 0);
    bool is_inside = whole->VprRangeStartOffset <= segment->size &&
                     whole->VprRangeSize <= segment->size - whole->VprRangeStartOffset;

    SEGMENT_RULE(RULE_SEG_025, is_aligned_range && is_inside, "VprRangeStartOffset",
                 "0x%llx and VprRangeSize 0x%llx: %s",
                 (unsigned long long)whole->VprRangeStartOffset,
                 (unsigned long long)whole->VprRangeSize,
                 is_inside ? "no multiples of VprAlignment" : "beyond the segment");
}

static void check_size(struct check *check, const struct check_segment *segment, bool is_new)
{
    uint64_t page = page_of(segment, is_new);

    SEGMENT_RULE(RULE_SEG_007, segment->size && segment->size % page == 0, "Size",
                 "is {0x%llx} (expected {=a multiple of 0x%llx})",
                 (unsigned long long)segment->size, (unsigned long long)page);
    SEGMENT_RULE(RULE_SEG_009,
                 segment->flags.Aperture ? segment->commit_limit <= segment->size
                                         : segment->commit_limit == segment->size,
                 "CommitLimit", "is {0x%llx}; Size is {=~at most ~0x%llx}",
                 (unsigned long long)segment->commit_limit, (unsigned long long)segment->size);
    if (segment->flags.CpuVisible && !segment->flags.Aperture) {
        uint64_t address = (uint64_t)segment->whole.CpuTranslatedAddress.QuadPart;
        const struct check_config *config = check_configuration(check);
        uint64_t shown;
        bool is_there =
            address && address % PAGE == 0 &&
            (!config->bus_local ||
             (config->bus_local(config->context, address, &shown) &&
              config->bus_local(config->context, address + align_down(segment->size - 1, PAGE),
                                &shown)));

        SEGMENT_RULE(RULE_SEG_010, is_there, "CpuTranslatedAddress",
                     "0x%llx: no bus addresses of the device for 0x%llx bytes",
                     (unsigned long long)address, (unsigned long long)segment->size);
    }
    if (is_new)
        SEGMENT_RULE(RULE_SEG_019, segment->whole.NumInvalidMemoryRanges <= segment->size / page,
                     "NumInvalidMemoryRanges", "is {%u}; the segment has {=~at most ~0x%llx} pages",
                     segment->whole.NumInvalidMemoryRanges,
                     (unsigned long long)(segment->size / page));
}

/* SEG-013, for all segments together: what the driver has taken from the system is in one alone. */
static void check_population(struct check *check)
{
    const struct check_config *config = check_configuration(check);
    const struct check_ledger *ledger = check_ledger(check);
    uint64_t told = 0, taken;

    if (!config->system_bytes)
        return;
    taken = config->system_bytes(config->context);
    for (unsigned i = 0; i < ledger->segment_count; i++) {
        const struct check_segment *segment = &ledger->segments[i];

        if (segment->flags.Aperture || !segment->flags.PopulatedFromSystemMemory)
            continue;
        told += segment->size;
        SEGMENT_RULE(RULE_SEG_013, told <= taken, "Flags.PopulatedFromSystemMemory",
                     "is set; such segments have 0x%llx bytes, and the driver has allocated 0x%llx",
                     (unsigned long long)told, (unsigned long long)taken);
    }
}

static void check_segment(struct check *check, const struct segment_watch *watch,
                          const struct check_segment *segment)
{
    ULONG version = check_ledger(check)->interface_version;
    bool is_new = version >= DXGKDDI_INTERFACE_VERSION_WDDM2_0;
    DXGK_SEGMENTFLAGS agp = {.Agp = 1};

    check_flags(check, segment, version);
    if (segment->flags.Agp) {
        SEGMENT_RULE(RULE_BANK_006,
                     segment->flags.Value == agp.Value && watch->agp_bytes && !is_new, "Flags",
                     "is 0x%x with Agp; the window that the driver was told of has 0x%llx bytes",
                     segment->flags.Value, (unsigned long long)watch->agp_bytes);
        return; /* the rest of it is not read (BANK-007) */
    }
    check_size(check, segment, is_new);
    if (version >= DXGKDDI_INTERFACE_VERSION_WDDM2_1 && segment->flags.VprSupported)
        check_protected_range(check, segment);
}

static void check_banks(struct check *check, struct segment_watch *watch,
                        const struct check_segment *segment, uint64_t count, const SIZE_T *ends)
{
    uint64_t former = 0;
    uint64_t bad = UINT64_MAX;
    bool is_possible = count && count <= MAX_BANKS && ends && !segment->flags.Aperture;

    if (!segment->flags.UseBanking)
        return;
    watch->bank_counts[segment->id - 1] = (uint32_t)count;
    SEGMENT_RULE(RULE_BANK_001, is_possible, "Flags.UseBanking",
                 "is set with %llu banks, %s table, in %s segment", (unsigned long long)count,
                 ends ? "a" : "no", segment->flags.Aperture ? "an aperture" : "a memory");
    if (!is_possible)
        return;
    /* The last bank ends with the segment; its end need not be given. */
    for (uint64_t i = 0; i + 1 < count; i++) {
        if (bad == UINT64_MAX && (ends[i] <= former || ends[i] >= segment->size))
            bad = i;
        former = ends[i];
    }
    SEGMENT_RULE(RULE_BANK_002, bad == UINT64_MAX, "pBankRangeTable",
                 "element %llu is 0x%llx: ends rise, and stay below Size, 0x%llx",
                 (unsigned long long)bad, bad == UINT64_MAX ? 0 : (unsigned long long)ends[bad],
                 (unsigned long long)segment->size);
}

static void enter_banks(struct check *check, struct segment_watch *watch,
                        const DXGKARG_QUERYADAPTERINFO *arg)
{
    const struct check_ledger *ledger = check_ledger(check);

    memset(watch->bank_counts, 0, sizeof watch->bank_counts);
    for (unsigned i = 0; i < ledger->segment_count; i++) {
        if (arg->Type == DXGKQAITYPE_QUERYSEGMENT) {
            const DXGK_QUERYSEGMENTOUT *out = arg->pOutputData;

            check_banks(check, watch, &ledger->segments[i], out->pSegmentDescriptor[i].NbOfBanks,
                        out->pSegmentDescriptor[i].pBankRangeTable);
        } else if (arg->Type == DXGKQAITYPE_QUERYSEGMENT3) {
            const DXGK_QUERYSEGMENTOUT3 *out = arg->pOutputData;

            check_banks(check, watch, &ledger->segments[i], out->pSegmentDescriptor[i].NbOfBanks,
                        out->pSegmentDescriptor[i].pBankRangeTable);
        }
    }
}

/* ---- All of them ----------------------------------------------------------------------------- */

static void check_overlap(struct check *check, const struct check_segment *segment)
{
    const struct check_ledger *ledger = check_ledger(check);

    for (unsigned i = 0; i + 1 < segment->id; i++) {
        const struct check_segment *other = &ledger->segments[i];

        if (segment->flags.Agp || other->flags.Agp)
            continue;
        if (!segment->base && !other->base &&
            !check_configuration(check)->profile.wants_own_addresses) {
            CHECK_ADVICE(check, RULE_SEG_006, false, false, NULL,
                         check_field(check, "pSegmentDescriptor[%u].BaseAddress", segment->id - 1),
                         "is {0} as that of segment %u: by one reading segments do not overlap, by "
                         "the other an address counts within its segment",
                         other->id);
            continue;
        }
        SEGMENT_RULE(RULE_SEG_006,
                     !ranges_overlap(segment->base, segment->size, other->base, other->size),
                     "BaseAddress", "0x%llx and 0x%llx bytes overlap segment %u at 0x%llx",
                     (unsigned long long)segment->base, (unsigned long long)segment->size,
                     other->id, (unsigned long long)other->base);
    }
}

static void check_all(struct check *check, const struct segment_watch *watch)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_profile *profile = &check_configuration(check)->profile;
    bool is_new = ledger->interface_version >= DXGKDDI_INTERFACE_VERSION_WDDM2_0;
    unsigned apertures = 0, agps = 0;

    for (unsigned i = 0; i < ledger->segment_count; i++) {
        const struct check_segment *segment = &ledger->segments[i];

        apertures += segment->flags.Aperture;
        agps += segment->flags.Agp;
        check_segment(check, watch, segment);
        check_overlap(check, segment);
        if (is_new && segment->flags.SupportsCpuHostAperture)
            SEGMENT_RULE(RULE_SEG_017,
                         !profile->wants_host_aperture_last || segment->id == ledger->segment_count,
                         "Flags.SupportsCpuHostAperture", "is set for segment %u of %u",
                         segment->id, ledger->segment_count);
    }
    check_population(check);
    if (is_new)
        CHECK_RULE(check, RULE_SEG_016, apertures == 1, NULL, "pOutputData.NbSegment",
                   "{%u} of %u segments are apertures (expected {=one})", apertures,
                   ledger->segment_count);
    if (agps > 1)
        CHECK_RULE(check, RULE_BANK_006, false, NULL, "pOutputData.NbSegment",
                   "{%u} segments are AGP apertures (expected {=one})", agps);
}

static void after_query(struct check *check, struct segment_watch *watch,
                        const struct check_call *call, const struct query *query)
{
    if (!query->has_descriptors || !watch->has_count) {
        if (watch->has_count)
            CHECK_RULE(check, RULE_SEG_002, query->count == watch->count, NULL,
                       "pOutputData.NbSegment", "is {%llu}; it was {=%llu} before",
                       (unsigned long long)query->count, (unsigned long long)watch->count);
        watch->has_count = true;
        watch->count = query->count;
        CHECK_RULE(check, RULE_SEG_008, query->count <= HIGHEST, NULL, "pOutputData.NbSegment",
                   "is {%llu}: five bits name a segment, {=~at most ~%u} of them",
                   (unsigned long long)query->count, HIGHEST);
        return;
    }
    CHECK_RULE(check, RULE_SEG_002, query->count == watch->count, NULL, "pOutputData.NbSegment",
               "is {%llu}; the pass for the count told {=%llu}", (unsigned long long)query->count,
               (unsigned long long)watch->count);
    if (!check_gaps(check, watch, query))
        return;
    check_all(check, watch);
    enter_banks(check, watch, call->arg.query_adapter_info);
    watch->is_linear_due = true;
}

/* ---- What follows from them ------------------------------------------------------------------ */

/* The window of a board that nobody knows: memory in one piece, wherever it begins. */
static void check_piece(struct check *check, const struct check_segment *segment,
                        const uint64_t *offsets, unsigned count)
{
    const struct check_config *config = check_configuration(check);
    uint64_t bus = (uint64_t)segment->whole.CpuTranslatedAddress.QuadPart;
    uint64_t first = 0, number;

    for (unsigned i = 0; i < count; i++) {
        bool is_shown = config->bus_memory(config->context, bus + offsets[i], &number);

        first = i ? first : number;
        if (!CHECK_RULE(check, RULE_SEG_011, is_shown && number == first + offsets[i], NULL, "",
                        "segment %u is CpuVisible, and offset 0x%llx of its window, 0x%llx on the "
                        "bus, %s",
                        segment->id, (unsigned long long)offsets[i],
                        (unsigned long long)(bus + offsets[i]),
                        is_shown ? "is not in one piece with its start" : "leads to no memory"))
            return;
    }
}

/* SEG-011: by the first paging buffer at the latest the window is open. */
static void check_linear(struct check *check, struct segment_watch *watch)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_config *config = check_configuration(check);

    watch->is_linear_due = false;
    if (!config->bus_local && !config->bus_memory)
        return;
    for (unsigned i = 0; i < ledger->segment_count; i++) {
        const struct check_segment *segment = &ledger->segments[i];
        uint64_t offsets[] = {0, align_down(segment->size / 2, PAGE), segment->size - PAGE};
        uint64_t bus = (uint64_t)segment->whole.CpuTranslatedAddress.QuadPart;

        if (!segment->flags.CpuVisible || segment->flags.Aperture || segment->flags.Agp)
            continue;
        if (!config->bus_local) {
            check_piece(check, segment, offsets, ARRAY_COUNT(offsets));
            continue;
        }
        for (unsigned j = 0; j < ARRAY_COUNT(offsets); j++) {
            uint64_t shown = 0;
            bool is_shown = config->bus_local(config->context, bus + offsets[j], &shown);

            if (!CHECK_RULE(
                    check, RULE_SEG_011, is_shown && shown == segment->base + offsets[j], NULL, "",
                    "segment %u is CpuVisible, and offset 0x%llx of its window shows %s0x%llx "
                    "of local memory (expected 0x%llx)",
                    segment->id, (unsigned long long)offsets[j], is_shown ? "" : "nothing, ",
                    (unsigned long long)shown, (unsigned long long)(segment->base + offsets[j])))
                break;
        }
    }
}

static void check_bank_hint(struct check *check, const struct segment_watch *watch,
                            const DXGK_ALLOCATIONINFO *info, UINT index)
{
    const DXGK_SEGMENTBANKPREFERENCE hint = info->HintedBank;
    const unsigned banks[] = {hint.Bank0, hint.Bank1, hint.Bank2, hint.Bank3};
    unsigned segment = info->PreferredSegment.SegmentId0;
    uint32_t count = segment && segment <= CHECK_MAX_SEGMENTS ? watch->bank_counts[segment - 1] : 0;
    bool is_right = true, has_ended = false;

    if (!hint.Value)
        return;
    for (unsigned i = 0; i < ARRAY_COUNT(banks); i++) {
        has_ended |= !banks[i];
        is_right &= banks[i] ? !has_ended && banks[i] <= count : true;
    }
    CHECK_RULE(check, RULE_BANK_004, is_right, NULL,
               check_field(check, "pAllocationInfo[%u].HintedBank", index),
               "is {0x%x}: banks %u, %u, %u, %u of preferred segment %u, which has %u", hint.Value,
               banks[0], banks[1], banks[2], banks[3], segment, count);
}

static void after_create(struct check *check, const struct segment_watch *watch,
                         const DXGKARG_CREATEALLOCATION *arg)
{
    const struct check_ledger *ledger = check_ledger(check);

    if (ledger->interface_version >= DXGKDDI_INTERFACE_VERSION_WDDM2_0)
        return;
    for (UINT i = 0; i < arg->NumAllocations; i++) {
        const DXGK_ALLOCATIONINFO *info = &arg->pAllocationInfo[i];
        unsigned bad = 0;

        check_bank_hint(check, watch, info, i);
        for (unsigned j = 0; j < ledger->segment_count; j++) {
            if (ledger->segments[j].flags.PitchAlignment && info->EvictionSegmentSet >> j & 1)
                bad = j + 1;
        }
        if (info->EvictionSegmentSet)
            CHECK_RULE(check, RULE_SEG_021, !bad, NULL,
                       check_field(check, "pAllocationInfo[%u].EvictionSegmentSet", i),
                       "is {0x%x}: segment %u has PitchAlignment", info->EvictionSegmentSet, bad);
    }
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void before(struct check *check, void *state, const struct check_call *call)
{
    struct segment_watch *watch = state;
    struct query query;

    if (call->ddi == MINIPORT_DDI_QueryAdapterInfo &&
        read_query(call->arg.query_adapter_info, &query))
        before_query(check, watch, call->arg.query_adapter_info, &query);
    if (call->ddi == MINIPORT_DDI_BuildPagingBuffer && watch->is_linear_due)
        check_linear(check, watch);
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    struct segment_watch *watch = state;
    struct query query;

    if (!NT_SUCCESS(call->status))
        return;
    if (call->ddi == MINIPORT_DDI_QueryAdapterInfo &&
        read_query(call->arg.query_adapter_info, &query))
        after_query(check, watch, call, &query);
    if (call->ddi == MINIPORT_DDI_CreateAllocation)
        after_create(check, watch, call->arg.create_allocation);
    if (call->ddi == MINIPORT_DDI_AddDevice)
        watch->has_count = false;
}

const struct check_watcher check_segment_watcher = {
    .name = "segments",
    .state_bytes = sizeof(struct segment_watch),
    .before = before,
    .before_calls = CHECK_CALLS(MINIPORT_DDI_QueryAdapterInfo, MINIPORT_DDI_BuildPagingBuffer),
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_QueryAdapterInfo, MINIPORT_DDI_CreateAllocation,
                               MINIPORT_DDI_AddDevice),
};
