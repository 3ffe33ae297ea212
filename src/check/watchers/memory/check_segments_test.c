#include "base/rng.h"
#include "check/rig/test_rig.h"

#include <string.h>

/* Queries the segments again: the driver reports what the test has changed. */
static void report(struct rig *rig)
{
    rig_query_segments(rig);
}

static void change_and_report(struct rig *rig, void (*change)(DXGK_SEGMENTDESCRIPTOR4 *segments))
{
    change(rig->segments);
    report(rig);
}

/* Segment 1 or 2 is otherwise: this breaks the rule, and the neighbour keeps it. */
#define DESCRIPTOR_PAIR_IN(identifier, model, broken, kept)                                        \
    static void break_descriptor_##identifier(DXGK_SEGMENTDESCRIPTOR4 *segments)                   \
    {                                                                                              \
        broken;                                                                                    \
    }                                                                                              \
    static void keep_descriptor_##identifier(DXGK_SEGMENTDESCRIPTOR4 *segments)                    \
    {                                                                                              \
        kept;                                                                                      \
    }                                                                                              \
    RULE_BROKEN_IN(identifier, model)                                                              \
    {                                                                                              \
        change_and_report(rig, break_descriptor_##identifier);                                     \
    }                                                                                              \
    RULE_KEPT_IN(identifier, model)                                                                \
    {                                                                                              \
        change_and_report(rig, keep_descriptor_##identifier);                                      \
    }
#define DESCRIPTOR_PAIR(identifier, broken, kept)                                                  \
    DESCRIPTOR_PAIR_IN(identifier, RIG_GPUMMU, broken, kept)

/* Flags of WDDM 2 are looked at from 2.0 on, and not below. */
static void flags_are_judged_from_the_version_on_that_has_them(void **state)
{
    static const struct {
        ULONG version;
        bool is_judged;
    } rows[] = {
        {DXGKDDI_INTERFACE_VERSION_WIN8, false},
        {DXGKDDI_INTERFACE_VERSION_WDDM1_3, false},
        {DXGKDDI_INTERFACE_VERSION_WDDM2_0, true},
        {DXGKDDI_INTERFACE_VERSION_WDDM2_1, true},
    };

    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct rig rig;

        rig_prepare(&rig, RIG_PHYSICAL);
        rig.version = rows[i].version;
        rig_init_prepared(&rig);
        assert_int_equal(rig.counts.evaluated[RULE_SEG_026] > 0, rows[i].is_judged);
        rig_fini(&rig);
    }
}

/* ---- The query ------------------------------------------------------------------------------- */

/* A manager that asks for descriptors at once. */
static void ask_without_count(struct rig *rig)
{
    DXGK_SEGMENTDESCRIPTOR4 descriptors[RIG_MAX_SEGMENTS] = {0};
    DXGK_QUERYSEGMENTOUT4 out = {
        .NbSegment = 1,
        .pSegmentDescriptor = (BYTE *)descriptors,
        .SegmentDescriptorStride = sizeof descriptors[0],
    };

    rig_query(rig, DXGKQAITYPE_QUERYSEGMENT4, NULL, 0, &out, sizeof out);
}

RULE_BROKEN(SEG_001)
{
    ask_without_count(rig);
}

RULE_KEPT(SEG_001)
{
    report(rig);
}

RULE_BROKEN(SEG_002)
{
    DXGK_QUERYSEGMENTOUT4 out = {.SegmentDescriptorStride = sizeof(DXGK_SEGMENTDESCRIPTOR4)};

    rig->segment_count = 3;
    rig_query(rig, DXGKQAITYPE_QUERYSEGMENT4, NULL, 0, &out, sizeof out);
}

RULE_KEPT(SEG_002)
{
    report(rig);
}

RULE_BROKEN(SEG_003)
{
    DXGK_QUERYSEGMENTOUT3 out = {0};

    rig_query(rig, DXGKQAITYPE_QUERYSEGMENT3, NULL, 0, &out, sizeof out);
}

RULE_KEPT_IN(SEG_003, RIG_PHYSICAL)
{
    report(rig);
}

/* Elements stand further apart than they are long. */
static void ask_with_stride(struct rig *rig)
{
    const SIZE_T stride = sizeof(DXGK_SEGMENTDESCRIPTOR4) + 32;
    BYTE *descriptors = malloc(stride * RIG_MAX_SEGMENTS);
    DXGK_QUERYSEGMENTOUT4 out = {.SegmentDescriptorStride = stride};

    assert_non_null(descriptors);
    memset(descriptors, 0xa5, stride * RIG_MAX_SEGMENTS);
    rig_query(rig, DXGKQAITYPE_QUERYSEGMENT4, NULL, 0, &out, sizeof out);
    out.pSegmentDescriptor = descriptors;
    rig_query(rig, DXGKQAITYPE_QUERYSEGMENT4, NULL, 0, &out, sizeof out);
    free(descriptors);
}

static NTSTATUS ignore_stride(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    const DXGKARG_QUERYADAPTERINFO *query = arg;
    DXGK_QUERYSEGMENTOUT4 *out;
    SIZE_T stride;
    NTSTATUS status;

    if (ddi != MINIPORT_DDI_QueryAdapterInfo || query->Type != DXGKQAITYPE_QUERYSEGMENT4)
        return rig_answer(rig, ddi, object, arg);
    out = query->pOutputData;
    stride = out->SegmentDescriptorStride;
    out->SegmentDescriptorStride = sizeof(DXGK_SEGMENTDESCRIPTOR4);
    status = rig_answer(rig, ddi, object, arg);
    out->SegmentDescriptorStride = stride;
    return status;
}

RULE_BROKEN(SEG_004)
{
    rig->answer = ignore_stride;
    ask_with_stride(rig);
    assert_non_null(strstr(rig->last.text, "bytes behind element 0 were written"));
}

RULE_KEPT(SEG_004)
{
    ask_with_stride(rig);
}

/* ---- Descriptors ----------------------------------------------------------------------------- */

DESCRIPTOR_PAIR(SEG_006, segments[1].BaseAddress.QuadPart = 16 * MiB - 4096,
                segments[1].BaseAddress.QuadPart = 16 * MiB)
/* Segments that all begin at 0 are advice, and a breach where the profile says so. */
static void segments_may_begin_at_zero_together(void **state)
{
    for (int is_strict = 0; is_strict < 2; is_strict++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_prepare(rig, RIG_GPUMMU);
        rig->config.profile.wants_own_addresses = is_strict;
        rig->segments[1].BaseAddress.QuadPart = 0;
        rig_init_prepared(rig);
        assert_int_equal(rig->last.is_advice, !is_strict);
        assert_int_equal(rig->last.rule, RULE_SEG_006);
        rig_expect_only(rig, is_strict ? RULE_SEG_006 : RULE_NONE);
        rig_fini(rig);
        free(rig);
    }
}

DESCRIPTOR_PAIR(SEG_007, segments[1].Size += 1, segments[1].Size += 4096)
DESCRIPTOR_PAIR(SEG_009, segments[0].CommitLimit -= 4096, segments[1].CommitLimit -= 4096)
DESCRIPTOR_PAIR(SEG_010, segments[0].Flags.CpuVisible = 1, segments[0].Flags.CpuVisible = 1;
                segments[0].CpuTranslatedAddress.QuadPart = RIG_BAR)
DESCRIPTOR_PAIR(SEG_012, segments[0].Flags.CacheCoherent = 1, segments[1].Flags.CacheCoherent = 1)
DESCRIPTOR_PAIR(SEG_014, segments[0].Flags.ReservedSysMem = 1, segments[0].Flags.DirectFlip = 1)
DESCRIPTOR_PAIR(SEG_015, segments[0].Flags.SupportsCachedCpuHostAperture = 1,
                segments[0].Flags.SupportsCachedCpuHostAperture = 1;
                segments[0].Flags.SupportsCpuHostAperture = 1)
DESCRIPTOR_PAIR(SEG_016, segments[1].Flags.Value = 0, segments[1].Flags.CacheCoherent = 0)
DESCRIPTOR_PAIR(SEG_025, segments[0].Flags.VprSupported = 1; segments[0].VprRangeStartOffset = 4096;
                segments[0].VprRangeSize = 65536;
                segments[0].VprAlignment = 65536, segments[0].Flags.VprSupported = 1;
                segments[0].VprRangeStartOffset = 65536; segments[0].VprRangeSize = 65536;
                segments[0].VprAlignment = 65536)
DESCRIPTOR_PAIR(SEG_026, segments[0].Flags.LocalBudgetGroup = 1;
                segments[0].Flags.NonLocalBudgetGroup = 1, segments[0].Flags.LocalBudgetGroup = 1)

/* Flags and a protected range as the seed draws them: each rule says what a plain model says. */
static void random_descriptors_break_what_a_plain_model_says(void **state)
{
    static const uint64_t places[] = {0, 4096, 65536, 4 * MiB, UINT64_C(1) << 63, UINT64_MAX};
    struct rig *rig = malloc(sizeof *rig);
    struct rng rng;

    assert_non_null(rig);
    rng_init(&rng, 12);
    for (int i = 0; i < 400; i++) {
        DXGK_SEGMENTDESCRIPTOR4 *drawn = &rig->segments[0];
        unsigned __int128 end;
        bool is_range;

        rig_init(rig, RIG_GPUMMU);
        drawn->Flags.SupportsCpuHostAperture = rng_chance(&rng, 1, 2);
        drawn->Flags.SupportsCachedCpuHostAperture = rng_chance(&rng, 1, 2);
        drawn->Flags.CpuVisible = rng_chance(&rng, 1, 4);
        drawn->Flags.CacheCoherent = rng_chance(&rng, 1, 4);
        drawn->Flags.ReservedSysMem = rng_chance(&rng, 1, 4);
        drawn->Flags.LocalBudgetGroup = rng_chance(&rng, 1, 2);
        drawn->Flags.NonLocalBudgetGroup = rng_chance(&rng, 1, 2);
        drawn->Flags.VprSupported = rng_chance(&rng, 3, 4);
        drawn->CpuTranslatedAddress.QuadPart = RIG_BAR;
        drawn->VprAlignment = rng_chance(&rng, 1, 2) ? 65536 : 0;
        drawn->VprRangeStartOffset = places[rng_below(&rng, ARRAY_COUNT(places))];
        drawn->VprRangeSize = places[rng_below(&rng, ARRAY_COUNT(places))];
        if (rng_chance(&rng, 1, 3)) /* up to the end of the segment, or a page beyond it */
            drawn->VprRangeSize =
                drawn->Size - drawn->VprRangeStartOffset + (rng_chance(&rng, 1, 2) ? 4096 : 0);
        memset(&rig->counts, 0, sizeof rig->counts);
        rig_query_segments(rig);

        end = (unsigned __int128)drawn->VprRangeStartOffset + drawn->VprRangeSize;
        is_range = end <= drawn->Size &&
                   (!drawn->VprAlignment ||
                    (drawn->VprRangeStartOffset % 65536 == 0 && drawn->VprRangeSize % 65536 == 0));
        assert_int_equal(rig->counts.broken[RULE_SEG_012] > 0, drawn->Flags.CacheCoherent);
        assert_int_equal(rig->counts.broken[RULE_SEG_014] > 0, drawn->Flags.ReservedSysMem);
        assert_int_equal(rig->counts.broken[RULE_SEG_015] > 0,
                         drawn->Flags.SupportsCpuHostAperture
                             ? drawn->Flags.CpuVisible
                             : drawn->Flags.SupportsCachedCpuHostAperture);
        assert_int_equal(rig->counts.broken[RULE_SEG_025] > 0,
                         drawn->Flags.VprSupported && !is_range);
        assert_int_equal(rig->counts.broken[RULE_SEG_026] > 0,
                         drawn->Flags.LocalBudgetGroup && drawn->Flags.NonLocalBudgetGroup);
        rig_fini(rig);
    }
    free(rig);
}

/* Both segments say so: of the second, an aperture, that means nothing. */
static void report_population(struct rig *rig, uint64_t bytes)
{
    rig->segments[0].Flags.PopulatedFromSystemMemory = 1;
    rig->segments[1].Flags.PopulatedFromSystemMemory = 1;
    rig->system_bytes = bytes;
    report(rig);
}

RULE_BROKEN(SEG_013)
{
    report_population(rig, rig->segments[0].Size - 1);
}

RULE_KEPT(SEG_013)
{
    report_population(rig, rig->segments[0].Size);
}

/* The first pass of a new adapter tells so many. */
static void count_segments(struct rig *rig, unsigned count)
{
    DXGK_QUERYSEGMENTOUT4 out = {.SegmentDescriptorStride = sizeof(DXGK_SEGMENTDESCRIPTOR4)};

    miniport_add_device(rig->top);
    rig->segment_count = count;
    rig_query(rig, DXGKQAITYPE_QUERYSEGMENT4, NULL, 0, &out, sizeof out);
}

RULE_BROKEN(SEG_008)
{
    count_segments(rig, 32);
}

RULE_KEPT(SEG_008)
{
    count_segments(rig, 31);
}

/* Segment 1 is CpuVisible; its window is BAR 1, linear or not. */
static void show_window(struct rig *rig, bool is_linear)
{
    DXGKARG_BUILDPAGINGBUFFER fill;

    rig->segments[0].Flags.CpuVisible = 1;
    rig->segments[0].CpuTranslatedAddress.QuadPart = RIG_BAR;
    for (unsigned i = 0; i < RIG_SLOTS; i++)
        rig->window[i] = i + 2;
    rig->has_window = !is_linear;
    report(rig);
    fill = rig_fill(rig_create_allocation(rig, NULL));
    rig_build(rig, &fill);
}

RULE_BROKEN(SEG_011)
{
    show_window(rig, false);
}

RULE_KEPT(SEG_011)
{
    show_window(rig, true);
}

/* Memory of the bus up to a limit, with a break at the same place in another run. */
static uint64_t memory_ends, memory_breaks;

static bool find_memory(void *context, uint64_t address, uint64_t *out_number)
{
    *out_number = address + (address >= memory_breaks ? 4096 : 0);
    return address >= RIG_BAR && address < memory_ends;
}

static void show_unknown_memory(uint64_t ends, uint64_t breaks, enum rule_id expected)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGKARG_BUILDPAGINGBUFFER fill;

    assert_non_null(rig);
    rig_prepare(rig, RIG_PHYSICAL);
    rig->config.bus_local = NULL;
    rig->config.bus_memory = find_memory;
    rig->segments[0].Flags.CpuVisible = 1;
    rig->segments[0].CpuTranslatedAddress.QuadPart = RIG_BAR;
    memory_ends = RIG_BAR + ends;
    memory_breaks = RIG_BAR + breaks;
    rig_init_prepared(rig);
    fill = rig_fill(rig_create_allocation(rig, NULL));
    rig_build(rig, &fill);
    assert_true(rig->counts.evaluated[RULE_SEG_011] > 0);
    if (expected == RULE_NONE)
        assert_int_equal(rig->finding_count, 0);
    else
        rig_expect_only(rig, expected);
    rig_fini(rig);
    free(rig);
}

static void without_a_model_a_window_is_memory_in_one_piece(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    uint64_t size;

    assert_non_null(rig);
    rig_prepare(rig, RIG_PHYSICAL);
    size = rig->segments[0].Size;
    free(rig);
    show_unknown_memory(size, size, RULE_NONE);
    show_unknown_memory(size - 4096, size, RULE_SEG_011);
    show_unknown_memory(0, size, RULE_SEG_011);
    show_unknown_memory(size, size / 2, RULE_SEG_011);
}

/* Segment 1 of three, the last of which is not it, has a host aperture. */
static void host_aperture_in_front(struct rig *rig, bool is_last_wanted)
{
    rig_fini(rig);
    rig_prepare(rig, RIG_GPUMMU);
    rig->config.profile.wants_host_aperture_last = is_last_wanted;
    rig->segments[0].Flags.SupportsCpuHostAperture = 1;
    rig_init_prepared(rig);
}

RULE_BROKEN(SEG_017)
{
    host_aperture_in_front(rig, true);
}

RULE_KEPT(SEG_017)
{
    host_aperture_in_front(rig, false); /* nothing documented forbids it */
}

static NTSTATUS answer_ranges(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    const DXGKARG_QUERYADAPTERINFO *query = arg;

    if (ddi != MINIPORT_DDI_QueryAdapterInfo || query->Type != DXGKQAITYPE_SEGMENTMEMORYSTATE)
        return rig_answer(rig, ddi, object, arg);
    *((DXGK_QUERYSEGMENTMEMORYSTATE *)query->pOutputData)->pMemoryRanges =
        *(const DXGK_MEMORYRANGE *)rig->told;
    return STATUS_SUCCESS;
}

/* Segment 1 has one range in which nothing may be. */
static void report_range(struct rig *rig, DXGK_MEMORYRANGE range)
{
    DXGK_MEMORYRANGE answer = {0};
    DXGK_QUERYSEGMENTMEMORYSTATE state = {
        .DriverSegmentId = 1, .NumInvalidMemoryRanges = 1, .pMemoryRanges = &answer};

    rig->segments[0].NumInvalidMemoryRanges = 1;
    report(rig);
    rig->answer = answer_ranges;
    rig->told = &range;
    rig_query(rig, DXGKQAITYPE_SEGMENTMEMORYSTATE, &state, sizeof state, &state, sizeof state);
    rig->answer = NULL;
}

RULE_BROKEN(SEG_019)
{
    report_range(rig, (DXGK_MEMORYRANGE){16 * MiB - 4096, 8192});
}

RULE_KEPT(SEG_019)
{
    report_range(rig, (DXGK_MEMORYRANGE){16 * MiB - 8192, 8192});
}

/* To the aperture, segment 2; rows are aligned in the segment named. */
static void create_with_eviction(struct rig *rig, unsigned aligned)
{
    DXGK_ALLOCATIONINFO info = {.EvictionSegmentSet = 2};

    rig->segments[aligned - 1].Flags.PitchAlignment = 1;
    report(rig);
    rig_create_allocation(rig, &info);
}

RULE_BROKEN_IN(SEG_021, RIG_PHYSICAL)
{
    create_with_eviction(rig, 2);
}

RULE_KEPT_IN(SEG_021, RIG_PHYSICAL)
{
    create_with_eviction(rig, 1);
}

/* ---- Banks and AGP (before WDDM 2) ----------------------------------------------------------- */

struct banks {
    UINT count;
    SIZE_T *ends;
};

static NTSTATUS answer_banks(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    const DXGKARG_QUERYADAPTERINFO *query = arg;
    const struct banks *banks = rig->told;
    NTSTATUS status = rig_answer(rig, ddi, object, arg);

    if (ddi == MINIPORT_DDI_QueryAdapterInfo && query->Type == DXGKQAITYPE_QUERYSEGMENT3) {
        const DXGK_QUERYSEGMENTOUT3 *out = query->pOutputData;

        if (out->pSegmentDescriptor) {
            out->pSegmentDescriptor[0].NbOfBanks = banks->count;
            out->pSegmentDescriptor[0].pBankRangeTable = banks->ends;
        }
    }
    return status;
}

static void report_banks(struct rig *rig, struct banks banks)
{
    rig->segments[0].Flags.UseBanking = 1;
    rig->answer = answer_banks;
    rig->told = &banks;
    report(rig);
    rig->answer = NULL;
}

RULE_BROKEN_IN(BANK_001, RIG_PHYSICAL)
{
    report_banks(rig, (struct banks){4, NULL});
}

RULE_KEPT_IN(BANK_001, RIG_PHYSICAL)
{
    report_banks(rig, (struct banks){2, (SIZE_T[]){8 * MiB, 0}});
}

RULE_BROKEN_IN(BANK_002, RIG_PHYSICAL)
{
    report_banks(rig, (struct banks){3, (SIZE_T[]){8 * MiB, 8 * MiB, 16 * MiB}});
}

RULE_KEPT_IN(BANK_002, RIG_PHYSICAL)
{
    report_banks(rig, (struct banks){3, (SIZE_T[]){8 * MiB, 9 * MiB, 0}});
}

static void hint_banks(struct rig *rig, UINT first, UINT second)
{
    DXGK_ALLOCATIONINFO info = {.PreferredSegment.SegmentId0 = 1};

    report_banks(rig, (struct banks){2, (SIZE_T[]){8 * MiB, 0}});
    info.HintedBank.Bank0 = first;
    info.HintedBank.Bank1 = second;
    rig_create_allocation(rig, &info);
}

RULE_BROKEN_IN(BANK_004, RIG_PHYSICAL)
{
    hint_banks(rig, 1, 3);
}

RULE_KEPT_IN(BANK_004, RIG_PHYSICAL)
{
    hint_banks(rig, 2, 1);
}

/* Segment 2 is the AGP aperture; the driver is told of a window of so many bytes. */
static void report_agp(struct rig *rig, uint64_t bytes, UINT others)
{
    DXGK_QUERYSEGMENTIN in = {.AgpApertureBase.QuadPart = 0xd0000000,
                              .AgpApertureSize.QuadPart = (LONGLONG)bytes};
    DXGK_SEGMENTDESCRIPTOR3 descriptors[RIG_MAX_SEGMENTS] = {0};
    DXGK_QUERYSEGMENTOUT3 out = {0};

    rig->segments[1].Flags.Value = others;
    rig->segments[1].Flags.Agp = 1;
    rig_query(rig, DXGKQAITYPE_QUERYSEGMENT3, &in, sizeof in, &out, sizeof out);
    out.pSegmentDescriptor = descriptors;
    rig_query(rig, DXGKQAITYPE_QUERYSEGMENT3, &in, sizeof in, &out, sizeof out);
}

RULE_BROKEN_IN(BANK_006, RIG_PHYSICAL)
{
    report_agp(rig, 0, 0);
}

RULE_KEPT_IN(BANK_006, RIG_PHYSICAL)
{
    report_agp(rig, 4 * MiB, 0);
}

/* That the CPU sees the window, and that it is an aperture, goes without saying: no flag says it.
 */
static void a_flag_beside_Agp_breaks_BANK_006(void **state)
{
    static const DXGK_SEGMENTFLAGS others[] = {{.Aperture = 1}, {.CpuVisible = 1}};

    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_init(rig, RIG_PHYSICAL);
        report_agp(rig, 4 * MiB, others[i].Value);
        rig_expect_only(rig, RULE_BANK_006);
        rig_fini(rig);
        free(rig);
    }
}

/* ---- What the system places ------------------------------------------------------------------ */

static DXGKARG_BUILDPAGINGBUFFER discard_at(struct rig *rig, UINT segment, uint64_t address)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_DISCARD_CONTENT};

    arg.DiscardContent.hAllocation = rig_create_allocation(rig, NULL);
    arg.DiscardContent.SegmentId = segment;
    arg.DiscardContent.SegmentAddress.QuadPart = (LONGLONG)address;
    return arg;
}

static void discard(struct rig *rig, UINT segment, uint64_t address)
{
    DXGKARG_BUILDPAGINGBUFFER arg = discard_at(rig, segment, address);

    rig_build(rig, &arg);
}

#define PLACE_PAIR(identifier, prepare, bad_segment, bad_address, segment, address)                \
    RULE_BROKEN_IN(identifier, RIG_PHYSICAL)                                                       \
    {                                                                                              \
        prepare;                                                                                   \
        discard(rig, bad_segment, bad_address);                                                    \
    }                                                                                              \
    RULE_KEPT_IN(identifier, RIG_PHYSICAL)                                                         \
    {                                                                                              \
        prepare;                                                                                   \
        discard(rig, segment, address);                                                            \
    }

#define MOVE_UP                                                                                    \
    rig->segments[0].BaseAddress.QuadPart = 0x40000000 - 32 * (LONGLONG)MiB;                       \
    report(rig)

PLACE_PAIR(SEG_005, (void)0, 3, 0, 1, 0)
/* An offset where an address is due. */
PLACE_PAIR(SEG_018, MOVE_UP, 1, 65536, 1, 0x40000000 - 32 * MiB + 65536)
PLACE_PAIR(SEG_023, (void)0, 1, 16 * MiB - 4096, 1, 16 * MiB - 65536)
PLACE_PAIR(SEG_024, (void)0, 1, 0x10010, 1, 0x11000)
PLACE_PAIR(BANK_007, report_agp(rig, 4 * MiB, 0), 2, 0x40000000, 2, 0xd0000000)

static void an_allocation_ends_with_the_agp_window_at_the_latest(void **state)
{
    for (unsigned is_beyond = 0; is_beyond < 2; is_beyond++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_init(rig, RIG_PHYSICAL);
        report_agp(rig, 4 * MiB, 0);
        discard(rig, 2, 0xd0000000 + 4 * MiB - 65536 + is_beyond * 4096);
        assert_int_equal(rig->counts.evaluated[RULE_BANK_007], 1);
        assert_int_equal(rig->counts.broken[RULE_BANK_007], is_beyond);
        assert_int_equal(rig->finding_count, is_beyond);
        rig_fini(rig);
        free(rig);
    }
}

static void notify_in(struct rig *rig, unsigned segment, uint64_t offset)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_NOTIFY_RESIDENCY};
    DXGK_ALLOCATIONINFO info = {0};

    info.FlagsWddm2.ExplicitResidencyNotification = 1;
    info.FlagsWddm2.AccessedPhysically = 1;
    arg.NotifyResidency.hAllocation = rig_create_allocation(rig, &info);
    arg.NotifyResidency.PhysicalAddress.SegmentId = segment;
    arg.NotifyResidency.PhysicalAddress.SegmentOffset = offset;
    arg.NotifyResidency.Resident = 1;
    rig_build(rig, &arg);
}

static void notify(struct rig *rig, uint64_t offset)
{
    notify_in(rig, 1, offset);
}

RULE_BROKEN(SEG_020)
{
    report_range(rig, (DXGK_MEMORYRANGE){MiB, 65536});
    notify(rig, MiB + 4096);
}

RULE_KEPT(SEG_020)
{
    report_range(rig, (DXGK_MEMORYRANGE){MiB, 65536});
    notify(rig, MiB + 65536);
}

#define MANY_RANGES 65u /* one more than the checker keeps of a segment */

/* Ranges of 64 KiB, every other one, from MiB on. */
static NTSTATUS answer_many(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    const DXGKARG_QUERYADAPTERINFO *query = arg;
    const DXGK_QUERYSEGMENTMEMORYSTATE *state = query->pOutputData;

    if (ddi != MINIPORT_DDI_QueryAdapterInfo || query->Type != DXGKQAITYPE_SEGMENTMEMORYSTATE)
        return rig_answer(rig, ddi, object, arg);
    for (UINT i = 0; i < state->NumInvalidMemoryRanges; i++)
        state->pMemoryRanges[i] = (DXGK_MEMORYRANGE){MiB + i * 131072, 65536};
    return STATUS_SUCCESS;
}

static void query_ranges(struct rig *rig, unsigned segment)
{
    DXGK_MEMORYRANGE ranges[MANY_RANGES] = {0};
    DXGK_QUERYSEGMENTMEMORYSTATE state = {
        .DriverSegmentId = segment,
        .NumInvalidMemoryRanges = rig->segments[segment - 1].NumInvalidMemoryRanges,
        .pMemoryRanges = ranges,
    };

    rig->answer = answer_many;
    rig_query(rig, DXGKQAITYPE_SEGMENTMEMORYSTATE, &state, sizeof state, &state, sizeof state);
    rig->answer = NULL;
}

/* SEG-020: more ranges of segment 1 than there is room for leave those of segment 2 what they are.
 */
static void ranges_of_a_segment_are_its_own(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    rig->segments[0].NumInvalidMemoryRanges = MANY_RANGES;
    rig->segments[1].NumInvalidMemoryRanges = 1;
    report(rig);
    query_ranges(rig, 2);
    query_ranges(rig, 1);
    rig_expect_silence(rig, RULE_SEG_019);
    notify_in(rig, 1, MiB + (MANY_RANGES - 2) * 131072);
    assert_int_equal(rig->counts.broken[RULE_SEG_020], 1);
    notify_in(rig, 2, MiB);
    assert_int_equal(rig->counts.broken[RULE_SEG_020], 2);
    rig_fini(rig);
    free(rig);
}

RULE_BROKEN(SEG_027)
{
    rig_create_allocation(rig, NULL);
    miniport_stop_device(rig->top);
}

RULE_KEPT(SEG_027)
{
    rig_destroy_allocation(rig, rig_create_allocation(rig, NULL));
    miniport_stop_device(rig->top);
}

static void unmap_slots(struct rig *rig, UINT segment)
{
    DXGKARG_BUILDPAGINGBUFFER map = {.Operation = DXGK_OPERATION_MAP_APERTURE_SEGMENT};
    struct {
        MDL mdl;
        PFN_NUMBER page;
    } list = {.mdl = {.MdlFlags = MDL_PAGES_LOCKED, .ByteCount = 4096}, .page = 0x100};

    map.MapApertureSegment.SegmentId = segment;
    map.MapApertureSegment.NumberOfPages = 1;
    map.MapApertureSegment.pMdl = &list.mdl;
    rig_build(rig, &map);
}

/* Segment 3 is an AGP aperture. */
static void add_agp(struct rig *rig)
{
    rig_fini(rig);
    rig_prepare(rig, RIG_PHYSICAL);
    rig->segments[2].Flags.Agp = 1;
    rig->segment_count = 3;
    rig_init_layer(rig);
    miniport_add_device(rig->top);
    rig->segments[1].Flags.Aperture = 1;
    {
        DXGK_QUERYSEGMENTIN in = {.AgpApertureBase.QuadPart = 0xd0000000,
                                  .AgpApertureSize.QuadPart = 4 * MiB};
        DXGK_SEGMENTDESCRIPTOR3 descriptors[RIG_MAX_SEGMENTS] = {0};
        DXGK_QUERYSEGMENTOUT3 out = {0};

        rig_query(rig, DXGKQAITYPE_QUERYSEGMENT3, &in, sizeof in, &out, sizeof out);
        out.pSegmentDescriptor = descriptors;
        rig_query(rig, DXGKQAITYPE_QUERYSEGMENT3, &in, sizeof in, &out, sizeof out);
    }
}

RULE_BROKEN_IN(BANK_008, RIG_PHYSICAL)
{
    add_agp(rig);
    unmap_slots(rig, 3);
}

RULE_KEPT_IN(BANK_008, RIG_PHYSICAL)
{
    add_agp(rig);
    unmap_slots(rig, 2);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_model_a_window_is_memory_in_one_piece),
        cmocka_unit_test(a_flag_beside_Agp_breaks_BANK_006),
        cmocka_unit_test(an_allocation_ends_with_the_agp_window_at_the_latest),
        cmocka_unit_test(segments_may_begin_at_zero_together),
        cmocka_unit_test(random_descriptors_break_what_a_plain_model_says),
        cmocka_unit_test(ranges_of_a_segment_are_its_own),
        cmocka_unit_test(flags_are_judged_from_the_version_on_that_has_them),
    };

    return RIG_RUN_TESTS(tests);
}
