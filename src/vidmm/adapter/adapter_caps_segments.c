/*
 * Adapter caps: segments. QUERYSEGMENT of the driver's version in two passes, SEGMENTMEMORYSTATE,
 * and the rules.
 *
 * Each answer is copied into one shape for all versions (struct segment_report) and judged by a
 * table: a row names the rule, the field, what is expected, and the versions it holds for. Rows
 * are in the order in which a reader would want to hear of them; the first one broken is reported.
 */
#include "vidmm/adapter/adapter_caps_private.h"

#include <stdio.h>
#include <string.h>

/* No address or size that hardware has is larger; sums below cannot overflow. */
#define HIGHEST_ADDRESS (UINT64_C(1) << 52)

/* No driver needs more; larger numbers are garbage that would be allocated. */
#define HIGHEST_BUFFER_BYTES (1 * GiB)

#define HIGHEST_BANK_COUNT 127u /* BANK-004: seven bits name a bank */

/* Bytes behind each descriptor of QUERYSEGMENT4, which nobody may touch (SEG-004). */
#define STRIDE_GAP_BYTES 64u
#define STRIDE_GAP_FILL  0xa5
_Static_assert(STRIDE_GAP_BYTES % _Alignof(DXGK_SEGMENTDESCRIPTOR4) == 0,
               "descriptors are read in place");

static NTSTATUS fail_segment(struct caps_query *query, const char *rule, unsigned index,
                             const char *field, uint64_t value, const char *expected)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof path, "%s.pSegmentDescriptor[%u].%s", query->segment_query, index, field);
    return caps_fail(query, rule, path, value, expected);
}

static NTSTATUS fail_paging(struct caps_query *query, const char *rule, const char *field,
                            uint64_t value, const char *expected)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof path, "%s.%s", query->segment_query, field);
    return caps_fail(query, rule, path, value, expected);
}

/* ---- Segments: asking ---- */

static NTSTATUS check_count(struct caps_query *query, uint64_t count)
{
    if (!count)
        return fail_paging(query, "", "NbSegment", count, "at least one segment");
    if (count > VIDMM_MAX_SEGMENTS)
        return fail_paging(query, "SEG-008", "NbSegment", count,
                           "at most 31: five bits name a segment");
    query->caps->segment_count = (uint32_t)count;
    return STATUS_SUCCESS;
}

/* The first pass tells a number and nothing else. */
static NTSTATUS check_first_pass(struct caps_query *query, UINT count, const UINT paging[3])
{
    static const char *const fields[] = {"PagingBufferSegmentId", "PagingBufferSize",
                                         "PagingBufferPrivateDataSize"};

    for (size_t i = 0; i < ARRAY_COUNT(fields); i++) {
        if (paging[i])
            return fail_paging(query, "SEG-001", fields[i], paging[i],
                               "the first pass to write NbSegment only");
    }
    return check_count(query, count);
}

static NTSTATUS check_second_pass(struct caps_query *query, UINT count, const UINT paging[3])
{
    if (count != query->caps->segment_count)
        return fail_paging(query, "SEG-002", "NbSegment", count, "the count of the first pass");
    query->caps->paging_buffer_segment = paging[0];
    query->caps->paging_buffer_bytes = paging[1];
    query->caps->paging_private_bytes = paging[2];
    return STATUS_SUCCESS;
}

#define PAGING_FIELDS(out)                                                                         \
    (const UINT[3])                                                                                \
    {                                                                                              \
        (out).PagingBufferSegmentId, (out).PagingBufferSize, (out).PagingBufferPrivateDataSize     \
    }

/* Before WDDM 2.0 the driver is told of the bridge's window, or that there is none. */
static DXGK_QUERYSEGMENTIN agp_window(const struct caps_query *query)
{
    DXGK_QUERYSEGMENTIN in = {0};

    in.AgpApertureBase.QuadPart = (LONGLONG)query->platform->agp_base;
    in.AgpApertureSize.QuadPart = (LONGLONG)query->platform->agp_bytes;
    in.AgpFlags.Agp = query->platform->agp_bytes != 0;
    in.AgpFlags.Aperture = in.AgpFlags.Agp;
    return in;
}

/* WDDM 1.0 and 1.1. */
static NTSTATUS query_segments(struct caps_query *query)
{
    DXGK_QUERYSEGMENTIN in = agp_window(query);
    DXGK_QUERYSEGMENTOUT out = {0};
    DXGK_SEGMENTDESCRIPTOR *descriptors;
    uint32_t count;
    NTSTATUS status;

    status =
        caps_ask(query, DXGKQAITYPE_QUERYSEGMENT, "QUERYSEGMENT", &in, sizeof in, &out, sizeof out);
    if (NT_SUCCESS(status))
        status = check_first_pass(query, out.NbSegment, PAGING_FIELDS(out));
    if (!NT_SUCCESS(status))
        return status;
    count = query->caps->segment_count;
    descriptors = base_alloc_array(query->services, count, sizeof *descriptors);
    if (!descriptors)
        return caps_no_memory(query);
    out.pSegmentDescriptor = descriptors;
    status =
        caps_ask(query, DXGKQAITYPE_QUERYSEGMENT, "QUERYSEGMENT", &in, sizeof in, &out, sizeof out);
    if (NT_SUCCESS(status))
        status = check_second_pass(query, out.NbSegment, PAGING_FIELDS(out));
    for (uint32_t i = 0; i < count; i++) {
        query->reports[i] = (struct segment_report){
            .flags = descriptors[i].Flags,
            .base = (uint64_t)descriptors[i].BaseAddress.QuadPart,
            .cpu_address = (uint64_t)descriptors[i].CpuTranslatedAddress.QuadPart,
            .size = descriptors[i].Size,
            .commit_limit = descriptors[i].CommitLimit,
            .bank_count = descriptors[i].NbOfBanks,
            .bank_ends = descriptors[i].pBankRangeTable,
        };
    }
    base_free_array(query->services, descriptors, count, sizeof *descriptors);
    return status;
}

/* WDDM 1.2 and 1.3. */
static NTSTATUS query_segments3(struct caps_query *query)
{
    DXGK_QUERYSEGMENTIN in = agp_window(query);
    DXGK_QUERYSEGMENTOUT3 out = {0};
    DXGK_SEGMENTDESCRIPTOR3 *descriptors;
    uint32_t count;
    NTSTATUS status;

    status = caps_ask(query, DXGKQAITYPE_QUERYSEGMENT3, "QUERYSEGMENT3", &in, sizeof in, &out,
                      sizeof out);
    if (NT_SUCCESS(status))
        status = check_first_pass(query, out.NbSegment, PAGING_FIELDS(out));
    if (!NT_SUCCESS(status))
        return status;
    count = query->caps->segment_count;
    descriptors = base_alloc_array(query->services, count, sizeof *descriptors);
    if (!descriptors)
        return caps_no_memory(query);
    out.pSegmentDescriptor = descriptors;
    status = caps_ask(query, DXGKQAITYPE_QUERYSEGMENT3, "QUERYSEGMENT3", &in, sizeof in, &out,
                      sizeof out);
    if (NT_SUCCESS(status))
        status = check_second_pass(query, out.NbSegment, PAGING_FIELDS(out));
    for (uint32_t i = 0; i < count; i++) {
        query->reports[i] = (struct segment_report){
            .flags = descriptors[i].Flags,
            .base = (uint64_t)descriptors[i].BaseAddress.QuadPart,
            .cpu_address = (uint64_t)descriptors[i].CpuTranslatedAddress.QuadPart,
            .size = descriptors[i].Size,
            .commit_limit = descriptors[i].CommitLimit,
            .system_memory_end = descriptors[i].SystemMemoryEndAddress,
            .bank_count = descriptors[i].NbOfBanks,
            .bank_ends = descriptors[i].pBankRangeTable,
        };
    }
    base_free_array(query->services, descriptors, count, sizeof *descriptors);
    return status;
}

static NTSTATUS read_descriptors4(struct caps_query *query, const uint8_t *descriptors,
                                  size_t stride)
{
    for (uint32_t i = 0; i < query->caps->segment_count; i++) {
        const uint8_t *at = descriptors + i * stride;
        const DXGK_SEGMENTDESCRIPTOR4 *descriptor = (const void *)at;

        for (size_t j = sizeof *descriptor; j < stride; j++) {
            if (at[j] != STRIDE_GAP_FILL)
                return fail_paging(query, "SEG-004", "pSegmentDescriptor", i,
                                   "descriptors to stand SegmentDescriptorStride apart; something "
                                   "was written behind this one");
        }
        query->reports[i] = (struct segment_report){
            .flags = descriptor->Flags,
            .base = (uint64_t)descriptor->BaseAddress.QuadPart,
            .size = descriptor->Size,
            .commit_limit = descriptor->CommitLimit,
            .system_memory_end = descriptor->SystemMemoryEndAddress,
            .invalid_range_count = descriptor->NumInvalidMemoryRanges,
            .vpr_start = descriptor->VprRangeStartOffset,
            .vpr_size = descriptor->VprRangeSize,
            .vpr_alignment = descriptor->VprAlignment,
            .vpr_count = descriptor->NumVprSupported,
            .vpr_reserve = descriptor->VprReserveSize,
            .firmware_range_count = descriptor->NumUEFIFrameBufferRanges,
        };
        /* The field is shared: with SupportsCpuHostAperture it is no linear window. */
        if (!descriptor->Flags.SupportsCpuHostAperture) {
            query->reports[i].cpu_address = (uint64_t)descriptor->CpuTranslatedAddress.QuadPart;
        } else {
            query->reports[i].host_address = descriptor->CpuHostAperture.PhysicalAddress;
            query->reports[i].host_pages = descriptor->CpuHostAperture.SizeInPages;
        }
    }
    return STATUS_SUCCESS;
}

/* WDDM 2.0 and later. */
static NTSTATUS query_segments4(struct caps_query *query)
{
    const size_t stride = sizeof(DXGK_SEGMENTDESCRIPTOR4) + STRIDE_GAP_BYTES;
    DXGK_QUERYSEGMENTIN4 in = {.PhysicalAdapterIndex = 0};
    DXGK_QUERYSEGMENTOUT4 out = {.SegmentDescriptorStride = stride};
    uint8_t *descriptors;
    uint32_t count;
    NTSTATUS status;

    status = caps_ask(query, DXGKQAITYPE_QUERYSEGMENT4, "QUERYSEGMENT4", &in, sizeof in, &out,
                      sizeof out);
    if (NT_SUCCESS(status))
        status = check_first_pass(query, out.NbSegment, PAGING_FIELDS(out));
    if (!NT_SUCCESS(status))
        return status;
    count = query->caps->segment_count;
    descriptors = base_alloc_array(query->services, count, stride);
    if (!descriptors)
        return caps_no_memory(query);
    for (uint32_t i = 0; i < count; i++)
        memset(descriptors + i * stride + sizeof(DXGK_SEGMENTDESCRIPTOR4), STRIDE_GAP_FILL,
               STRIDE_GAP_BYTES);
    out.NbSegment = count;
    out.pSegmentDescriptor = descriptors;
    out.SegmentDescriptorStride = stride;
    status = caps_ask(query, DXGKQAITYPE_QUERYSEGMENT4, "QUERYSEGMENT4", &in, sizeof in, &out,
                      sizeof out);
    if (NT_SUCCESS(status))
        status = check_second_pass(query, out.NbSegment, PAGING_FIELDS(out));
    if (NT_SUCCESS(status))
        status = read_descriptors4(query, descriptors, stride);
    base_free_array(query->services, descriptors, count, stride);
    return status;
}

/* ---- Segments: rules ---- */

static bool is_size_possible(const struct caps_query *query, const struct segment_report *s,
                             uint64_t *v)
{
    *v = s->size;
    return s->size && s->size <= HIGHEST_ADDRESS;
}

static bool is_base_possible(const struct caps_query *query, const struct segment_report *s,
                             uint64_t *v)
{
    *v = s->base;
    return s->base <= HIGHEST_ADDRESS - s->size;
}

static bool is_base_aligned(const struct caps_query *query, const struct segment_report *s,
                            uint64_t *v)
{
    *v = s->base;
    return is_aligned(s->base, PAGE_BYTES);
}

/* Bits that a version has names for. */
static bool are_flags_known(const struct caps_query *query, const struct segment_report *s,
                            uint64_t *v)
{
    unsigned bits = 7;

    if (caps_is_at_least(query, DXGKDDI_INTERFACE_VERSION_WIN8))
        bits = 11;
    if (caps_is_at_least(query, DXGKDDI_INTERFACE_VERSION_WDDM2_0))
        bits = 21;
    if (caps_is_at_least(query, DXGKDDI_INTERFACE_VERSION_WDDM2_9))
        bits = 22;
    *v = s->flags.Value & ~low_mask_u64(bits);
    return *v == 0;
}

static bool is_not_reserved(const struct caps_query *query, const struct segment_report *s,
                            uint64_t *v)
{
    *v = s->flags.ReservedSysMem;
    return *v == 0;
}

static bool is_agp_possible(const struct caps_query *query, const struct segment_report *s,
                            uint64_t *v)
{
    *v = s->flags.Agp;
    return *v == 0 || (query->platform->agp_bytes &&
                       !caps_is_at_least(query, DXGKDDI_INTERFACE_VERSION_WDDM2_0));
}

static bool is_agp_alone(const struct caps_query *query, const struct segment_report *s,
                         uint64_t *v)
{
    DXGK_SEGMENTFLAGS agp = {.Agp = 1};

    *v = s->flags.Value;
    return !s->flags.Agp || s->flags.Value == agp.Value;
}

static bool is_page_multiple(const struct caps_query *query, const struct segment_report *s,
                             uint64_t *v)
{
    *v = s->size;
    return is_aligned(s->size, PAGE_BYTES);
}

static bool is_64kb_multiple(const struct caps_query *query, const struct segment_report *s,
                             uint64_t *v)
{
    *v = s->size;
    return is_aligned(s->size, caps_page_bytes(s));
}

/*
 * 0 is what drivers leave who know that it is Size in any case: they are started (the checker tells
 * them).
 */
static bool is_all_of_memory_committable(const struct caps_query *query,
                                         const struct segment_report *s, uint64_t *v)
{
    *v = s->commit_limit;
    return s->flags.Aperture || !s->commit_limit || s->commit_limit == s->size;
}

static bool is_aperture_limit_inside(const struct caps_query *query, const struct segment_report *s,
                                     uint64_t *v)
{
    *v = s->commit_limit;
    return !s->flags.Aperture || s->commit_limit <= s->size;
}

static bool has_bus_address(const struct segment_report *s)
{
    return s->cpu_address && is_aligned(s->cpu_address, PAGE_BYTES) &&
           s->cpu_address <= HIGHEST_ADDRESS - s->size;
}

/*
 * Of an aperture the address is meaningless (SEG-010): drivers without a window there write what no
 * bus has, and are not asked for more.
 */
static bool is_window_possible(const struct caps_query *query, const struct segment_report *s,
                               uint64_t *v)
{
    *v = s->cpu_address;
    return !s->flags.CpuVisible || s->flags.Agp || s->flags.Aperture || has_bus_address(s);
}

static bool is_seen_by_bus(const struct segment_report *s)
{
    return s->flags.CpuVisible && !s->flags.Agp && has_bus_address(s);
}

static bool is_one_kind_of_window(const struct caps_query *query, const struct segment_report *s,
                                  uint64_t *v)
{
    *v = s->flags.SupportsCpuHostAperture;
    return !s->flags.SupportsCpuHostAperture || !s->flags.CpuVisible;
}

static bool is_cached_host_aperture(const struct caps_query *query, const struct segment_report *s,
                                    uint64_t *v)
{
    *v = s->flags.SupportsCachedCpuHostAperture;
    return !s->flags.SupportsCachedCpuHostAperture || s->flags.SupportsCpuHostAperture;
}

/* (standby, hibernate, partial): 000, 100, 101, 110. */
static bool is_preserve_triple(const struct caps_query *query, const struct segment_report *s,
                               uint64_t *v)
{
    bool standby = s->flags.PreservedDuringStandby;
    bool hibernate = s->flags.PreservedDuringHibernate;
    bool partial = s->flags.PartiallyPreservedDuringHibernate;

    *v = (uint64_t)standby | (uint64_t)hibernate << 1 | (uint64_t)partial << 2;
    return (!hibernate && !partial) || (standby && hibernate != partial);
}

/* An end without its flag says nothing: the page wants it to be 0 by "should". */
static bool is_end_with_flag(const struct caps_query *query, const struct segment_report *s,
                             uint64_t *v)
{
    *v = s->system_memory_end;
    return s->system_memory_end || !s->flags.PartiallyPreservedDuringHibernate;
}

static bool is_end_inside(const struct caps_query *query, const struct segment_report *s,
                          uint64_t *v)
{
    *v = s->system_memory_end;
    return s->system_memory_end < s->size || !s->flags.PartiallyPreservedDuringHibernate;
}

static bool is_banked_memory(const struct caps_query *query, const struct segment_report *s,
                             uint64_t *v)
{
    *v = s->flags.UseBanking;
    return !s->flags.UseBanking || !s->flags.Aperture;
}

static bool is_bank_count_possible(const struct caps_query *query, const struct segment_report *s,
                                   uint64_t *v)
{
    *v = s->bank_count;
    return !s->flags.UseBanking || (s->bank_count && s->bank_count <= HIGHEST_BANK_COUNT);
}

static bool has_bank_table(const struct caps_query *query, const struct segment_report *s,
                           uint64_t *v)
{
    *v = 0;
    return !s->flags.UseBanking || s->bank_ends;
}

/* The last bank ends with the segment, and the driver need not say so: its end is not read. */
static bool are_banks_rising(const struct caps_query *query, const struct segment_report *s,
                             uint64_t *v)
{
    uint64_t former = 0;

    for (uint32_t i = 0; s->flags.UseBanking && i + 1 < s->bank_count; i++) {
        *v = s->bank_ends[i];
        if (*v <= former || *v >= s->size)
            return false;
        former = *v;
    }
    return true;
}

static bool is_range_count_possible(const struct caps_query *query, const struct segment_report *s,
                                    uint64_t *v)
{
    *v = s->invalid_range_count;
    return s->invalid_range_count <= s->size / caps_page_bytes(s);
}

static bool is_vpr_aligned(const struct caps_query *query, const struct segment_report *s,
                           uint64_t *v)
{
    if (!s->flags.VprSupported || !s->vpr_alignment)
        return true;
    *v = s->vpr_start % s->vpr_alignment ? s->vpr_start : s->vpr_size;
    return *v % s->vpr_alignment == 0;
}

static bool is_vpr_inside(const struct caps_query *query, const struct segment_report *s,
                          uint64_t *v)
{
    *v = s->vpr_start;
    return !s->flags.VprSupported ||
           (s->vpr_start <= s->size && s->vpr_size <= s->size - s->vpr_start);
}

static bool is_vpr_reserve_inside(const struct caps_query *query, const struct segment_report *s,
                                  uint64_t *v)
{
    *v = s->vpr_reserve;
    return !s->flags.VprSupported || s->vpr_reserve <= s->vpr_size;
}

/* Ranges that are protected need one to be in; 0 of them is any number. */
static bool is_vpr_count_possible(const struct caps_query *query, const struct segment_report *s,
                                  uint64_t *v)
{
    *v = s->vpr_count;
    return !s->vpr_count || s->flags.VprSupported;
}

static bool is_vpr_flag_possible(const struct caps_query *query, const struct segment_report *s,
                                 uint64_t *v)
{
    *v = s->flags.VprPreservedDuringStandby;
    return !s->flags.VprPreservedDuringStandby || s->flags.VprSupported;
}

static bool is_firmware_count_possible(const struct caps_query *query,
                                       const struct segment_report *s, uint64_t *v)
{
    *v = s->firmware_range_count;
    return s->firmware_range_count <= s->size / caps_page_bytes(s);
}

/* Whose the memory is: of the system, or what firmware keeps from it; not both (SEG-013). */
static bool is_one_source(const struct caps_query *query, const struct segment_report *s,
                          uint64_t *v)
{
    *v = s->flags.PopulatedByReservedDDRByFirmware;
    return !s->flags.PopulatedByReservedDDRByFirmware || !s->flags.PopulatedFromSystemMemory;
}

/* Of two budgets a byte counts against one (SEG-026). */
static bool is_one_budget(const struct caps_query *query, const struct segment_report *s,
                          uint64_t *v)
{
    *v = s->flags.NonLocalBudgetGroup;
    return !s->flags.NonLocalBudgetGroup || !s->flags.LocalBudgetGroup;
}

#define ALWAYS     0
#define EVER       UINT32_MAX
#define SINCE_1_2  DXGKDDI_INTERFACE_VERSION_WIN8
#define SINCE_2_0  DXGKDDI_INTERFACE_VERSION_WDDM2_0
#define SINCE_2_1  DXGKDDI_INTERFACE_VERSION_WDDM2_1
#define SINCE_2_2  DXGKDDI_INTERFACE_VERSION_WDDM2_2
#define SINCE_2_9  DXGKDDI_INTERFACE_VERSION_WDDM2_9
#define BEFORE_2_0 (DXGKDDI_INTERFACE_VERSION_WDDM2_0 - 1)

static const struct segment_rule {
    const char *rule;
    const char *field;
    const char *expected;
    ULONG since; /* versions that it holds for, both ends included */
    ULONG until;
    bool (*is_kept)(const struct caps_query *query, const struct segment_report *segment,
                    uint64_t *out_value);
} segment_rules[] = {
    {"SEG-014", "Flags", "bits without a name in the driver's version to be clear", ALWAYS, EVER,
     are_flags_known},
    {"SEG-014", "Flags.ReservedSysMem", "0: the bit is the system's", SINCE_2_0, EVER,
     is_not_reserved},
    {"BANK-006", "Flags.Agp", "0: DXGK_QUERYSEGMENTIN shows no AGP aperture", ALWAYS, EVER,
     is_agp_possible},
    {"BANK-006", "Flags", "no other flag with Agp", ALWAYS, EVER, is_agp_alone},
    {"SEG-007", "Size", "a multiple of the 4 KiB page", ALWAYS, EVER, is_page_multiple},
    {"SEG-007", "Size", "a multiple of 64 KiB with Use64KBPages", SINCE_2_0, EVER,
     is_64kb_multiple},
    {"", "Size", "more than 0 and at most 2^52 bytes", ALWAYS, EVER, is_size_possible},
    {"", "BaseAddress", "an end (BaseAddress + Size) of at most 2^52", ALWAYS, EVER,
     is_base_possible},
    {"", "BaseAddress", "a multiple of the 4 KiB page", ALWAYS, EVER, is_base_aligned},
    {"SEG-009", "CommitLimit", "Size, as for every memory segment", ALWAYS, EVER,
     is_all_of_memory_committable},
    {"SEG-009", "CommitLimit", "at most Size", ALWAYS, EVER, is_aperture_limit_inside},
    {"SEG-015", "Flags.SupportsCpuHostAperture", "no CpuVisible with it", SINCE_2_0, EVER,
     is_one_kind_of_window},
    {"SEG-015", "Flags.SupportsCachedCpuHostAperture", "SupportsCpuHostAperture with it", SINCE_2_0,
     EVER, is_cached_host_aperture},
    {"SEG-010", "CpuTranslatedAddress", "a page-aligned bus address with CpuVisible", ALWAYS, EVER,
     is_window_possible},
    {"PWR-001", "Flags.Preserved*",
     "(standby, hibernate, partial) to be 000, 100, 101 or 110, standby being bit 0", SINCE_1_2,
     EVER, is_preserve_triple},
    {"PWR-006", "SystemMemoryEndAddress", "not 0 with PartiallyPreservedDuringHibernate", SINCE_1_2,
     EVER, is_end_with_flag},
    {"PWR-006", "SystemMemoryEndAddress", "an address inside the segment", SINCE_1_2, EVER,
     is_end_inside},
    {"BANK-001", "Flags.UseBanking", "a memory segment with it", ALWAYS, BEFORE_2_0,
     is_banked_memory},
    {"BANK-001", "NbOfBanks", "1 to 127 banks with UseBanking", ALWAYS, BEFORE_2_0,
     is_bank_count_possible},
    {"BANK-001", "pBankRangeTable", "a table with UseBanking", ALWAYS, BEFORE_2_0, has_bank_table},
    {"BANK-002", "pBankRangeTable", "ends of banks to rise strictly and to stay below Size", ALWAYS,
     BEFORE_2_0, are_banks_rising},
    {"SEG-019", "NumInvalidMemoryRanges", "at most one a page", SINCE_2_0, EVER,
     is_range_count_possible},
    {"SEG-025", "VprRange", "start and size to be multiples of VprAlignment", SINCE_2_1, EVER,
     is_vpr_aligned},
    {"SEG-025", "VprRangeStartOffset", "a range inside the segment", SINCE_2_1, EVER,
     is_vpr_inside},
    {"SEG-025", "VprReserveSize", "at most VprRangeSize", SINCE_2_1, EVER, is_vpr_reserve_inside},
    {"SEG-025", "NumVprSupported", "0 without VprSupported", SINCE_2_1, EVER,
     is_vpr_count_possible},
    {"SEG-025", "Flags.VprPreservedDuringStandby", "VprSupported with it", SINCE_2_1, EVER,
     is_vpr_flag_possible},
    {"SEG-019", "NumUEFIFrameBufferRanges", "at most one a page", SINCE_2_2, EVER,
     is_firmware_count_possible},
    {"SEG-013", "Flags.PopulatedByReservedDDRByFirmware", "no PopulatedFromSystemMemory with it",
     SINCE_2_9, EVER, is_one_source},
    {"SEG-026", "Flags.NonLocalBudgetGroup", "no LocalBudgetGroup with it", SINCE_2_0, EVER,
     is_one_budget},
};

static NTSTATUS check_segment(struct caps_query *query, unsigned index)
{
    for (size_t i = 0; i < ARRAY_COUNT(segment_rules); i++) {
        const struct segment_rule *rule = &segment_rules[i];
        uint64_t value = 0;

        if (query->version < rule->since || query->version > rule->until ||
            rule->is_kept(query, &query->reports[index], &value))
            continue;
        return fail_segment(query, rule->rule, index, rule->field, value, rule->expected);
    }
    return STATUS_SUCCESS;
}

/* Rules between segments, and between them and the paging buffer. */
static NTSTATUS check_together(struct caps_query *query)
{
    const struct vidmm_caps *caps = query->caps;
    uint32_t paging_segment = caps->paging_buffer_segment;
    unsigned aperture_count = 0, agp_count = 0;
    char expected[PATH_BYTES];

    for (unsigned i = 0; i < caps->segment_count; i++) {
        const struct segment_report *segment = &query->reports[i];

        aperture_count += segment->flags.Aperture;
        agp_count += segment->flags.Agp;
        for (unsigned j = 0; j < i; j++) {
            const struct segment_report *other = &query->reports[j];

            if (!ranges_overlap(segment->base, segment->size, other->base, other->size) ||
                (!segment->base && !other->base)) /* addresses count within each of them */
                continue;
            snprintf(expected, sizeof expected, "no address of pSegmentDescriptor[%u] (0x%llx)", j,
                     (unsigned long long)other->base);
            return fail_segment(query, "SEG-006", i, "BaseAddress", segment->base, expected);
        }
    }
    if (agp_count > 1)
        return fail_paging(query, "BANK-006", "pSegmentDescriptor[*].Flags.Agp", agp_count,
                           "at most one AGP segment");
    if (caps_is_at_least(query, DXGKDDI_INTERFACE_VERSION_WDDM2_0) && query->caps->is_virtual &&
        aperture_count != 1)
        return fail_paging(query, "SEG-016", "pSegmentDescriptor[*].Flags.Aperture", aperture_count,
                           "exactly one aperture segment");
    if (paging_segment > caps->segment_count ||
        (paging_segment && !query->reports[paging_segment - 1].flags.Aperture))
        return fail_paging(query, "PB-019", "PagingBufferSegmentId", paging_segment,
                           "0 or the id of an aperture segment");
    if (!caps->paging_buffer_bytes)
        return fail_paging(query, "PB-020", "PagingBufferSize", 0,
                           "room for any operation to progress");
    if (caps->paging_buffer_bytes > HIGHEST_BUFFER_BYTES)
        return fail_paging(query, "", "PagingBufferSize", caps->paging_buffer_bytes,
                           "at most 1 GiB");
    if (caps->paging_private_bytes > HIGHEST_BUFFER_BYTES)
        return fail_paging(query, "", "PagingBufferPrivateDataSize", caps->paging_private_bytes,
                           "at most 1 GiB");
    return STATUS_SUCCESS;
}

/* ---- Segments: the caps that are kept ---- */

static NTSTATUS copy_banks(struct caps_query *query, unsigned index)
{
    const struct segment_report *report = &query->reports[index];
    struct vidmm_segment_caps *segment = &query->caps->segments[index];

    if (!report->flags.UseBanking || caps_is_at_least(query, DXGKDDI_INTERFACE_VERSION_WDDM2_0))
        return STATUS_SUCCESS;
    segment->bank_ends =
        base_alloc_array(query->services, report->bank_count, sizeof *segment->bank_ends);
    if (!segment->bank_ends)
        return caps_no_memory(query);
    segment->bank_count = report->bank_count;
    for (uint32_t i = 0; i + 1 < report->bank_count; i++)
        segment->bank_ends[i] = report->bank_ends[i];
    segment->bank_ends[report->bank_count - 1] = report->size;
    return STATUS_SUCCESS;
}

static NTSTATUS enter_segment(struct caps_query *query, unsigned index)
{
    const struct segment_report *report = &query->reports[index];
    bool is_seen = report->flags.CpuVisible && !report->flags.Aperture;
    NTSTATUS status;

    query->caps->segments[index] = (struct vidmm_segment_caps){
        .flags = report->flags.Value,
        .is_aperture = report->flags.Aperture,
        .is_agp = report->flags.Agp,
        .is_cpu_visible = is_seen,
        .is_cache_coherent = report->flags.CacheCoherent,
        .uses_64kb_pages = report->flags.Use64KBPages,
        .is_pitch_aligned = !caps_is_at_least(query, DXGKDDI_INTERFACE_VERSION_WDDM2_0) &&
                            report->flags.PitchAlignment,
        .base = report->base,
        .size = report->size,
        .commit_limit = report->flags.Aperture ? report->commit_limit : report->size,
        /* Of an aperture it counts for primaries alone (vidmm_locked_page_address()). */
        .cpu_address = is_seen_by_bus(report) ? report->cpu_address : 0,
        .has_host_aperture = report->host_pages != 0,
        .host_address = report->host_address,
        .host_pages = report->host_pages,
        .system_memory_end = report->system_memory_end,
    };
    status = copy_banks(query, index);
    if (NT_SUCCESS(status))
        status = caps_enter_ranges(query, index);
    return status;
}

NTSTATUS caps_query_segments(struct caps_query *query)
{
    NTSTATUS status;

    if (caps_is_at_least(query, DXGKDDI_INTERFACE_VERSION_WDDM2_0)) {
        query->segment_query = "QUERYSEGMENT4";
        status = query_segments4(query);
    } else if (caps_is_at_least(query, DXGKDDI_INTERFACE_VERSION_WIN8)) {
        query->segment_query = "QUERYSEGMENT3";
        status = query_segments3(query);
    } else {
        query->segment_query = "QUERYSEGMENT";
        status = query_segments(query);
    }
    for (unsigned i = 0; NT_SUCCESS(status) && i < query->caps->segment_count; i++) {
        if (query->reports[i].flags.Agp) { /* what the driver says of it is ignored (BANK-007) */
            query->reports[i].base = query->platform->agp_base;
            query->reports[i].size = query->reports[i].commit_limit = query->platform->agp_bytes;
        }
        status = check_segment(query, i);
    }
    if (NT_SUCCESS(status))
        status = check_together(query);
    for (unsigned i = 0; NT_SUCCESS(status) && i < query->caps->segment_count; i++)
        status = enter_segment(query, i);
    return status;
}
