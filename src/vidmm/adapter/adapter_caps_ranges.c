/*
 * Adapter caps: the ranges of a segment in which nothing is placed.
 *
 * Three kinds, kept in one list. Defective memory (NumInvalidMemoryRanges, SEGMENTMEMORYSTATE).
 * Where the firmware's picture stands (NumUEFIFrameBufferRanges, UEFIFRAMEBUFFERRANGES, which
 * answers in the same structure; WDDM 2.2). And the range for protected content (VprSupported; WDDM
 * 2.1): nothing here is protected, so nothing is placed there.
 */
#include "vidmm/adapter/adapter_caps_private.h"

#include <stdio.h>

struct range_query {
    DXGK_QUERYADAPTERINFOTYPE type;
    const char *name;
    const char *count_name;
    uint32_t count; /* of the segment's descriptor */
};

static NTSTATUS fail_range(struct caps_query *query, const struct range_query *asked,
                           unsigned index, uint32_t range, const char *field, uint64_t value)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof path, "%s(segment %u).pMemoryRanges[%u].%s", asked->name, index + 1,
             range, field);
    return caps_fail(query, "SEG-019", path, value,
                     "whole pages of the segment (64 KiB ones with Use64KBPages) inside it");
}

static NTSTATUS enter_answer(struct caps_query *query, const struct range_query *asked,
                             unsigned index, const DXGK_MEMORYRANGE *ranges)
{
    struct vidmm_segment_caps *segment = &query->caps->segments[index];
    uint64_t page_bytes = caps_page_bytes(&query->reports[index]);

    for (uint32_t i = 0; i < asked->count; i++) {
        if (!is_aligned(ranges[i].SegmentOffset, page_bytes) ||
            ranges[i].SegmentOffset >= segment->size)
            return fail_range(query, asked, index, i, "SegmentOffset", ranges[i].SegmentOffset);
        if (!ranges[i].SizeInBytes || !is_aligned(ranges[i].SizeInBytes, page_bytes) ||
            ranges[i].SizeInBytes > segment->size - ranges[i].SegmentOffset)
            return fail_range(query, asked, index, i, "SizeInBytes", ranges[i].SizeInBytes);
        segment->invalid_ranges[segment->invalid_range_count++] = (struct vidmm_invalid_range){
            .offset = ranges[i].SegmentOffset,
            .size = ranges[i].SizeInBytes,
        };
    }
    return STATUS_SUCCESS;
}

/* The structure carries the question and the answer; it is given as both. */
static NTSTATUS ask(struct caps_query *query, const struct range_query *asked, unsigned index)
{
    DXGK_QUERYSEGMENTMEMORYSTATE state = {
        .DriverSegmentId = (WORD)(index + 1),
        .NumInvalidMemoryRanges = asked->count,
    };
    DXGK_MEMORYRANGE *ranges;
    char path[PATH_BYTES];
    NTSTATUS status;

    if (!asked->count)
        return STATUS_SUCCESS;
    ranges = base_alloc_array(query->services, asked->count, sizeof *ranges);
    if (!ranges)
        return caps_no_memory(query);
    state.pMemoryRanges = ranges;
    status = caps_ask(query, asked->type, asked->name, &state, sizeof state, &state, sizeof state);
    if (NT_SUCCESS(status) && state.NumInvalidMemoryRanges != asked->count) {
        snprintf(path, sizeof path, "%s.%s", asked->name, asked->count_name);
        status = caps_fail(query, "SEG-019", path, state.NumInvalidMemoryRanges,
                           "the number in the segment's descriptor");
    }
    if (NT_SUCCESS(status))
        status = enter_answer(query, asked, index, ranges);
    base_free_array(query->services, ranges, asked->count, sizeof *ranges);
    return status;
}

NTSTATUS caps_enter_ranges(struct caps_query *query, unsigned index)
{
    const struct segment_report *report = &query->reports[index];
    struct vidmm_segment_caps *segment = &query->caps->segments[index];
    const struct range_query invalid = {DXGKQAITYPE_SEGMENTMEMORYSTATE, "SEGMENTMEMORYSTATE",
                                        "NumInvalidMemoryRanges", report->invalid_range_count};
    const struct range_query firmware = {
        DXGKQAITYPE_UEFIFRAMEBUFFERRANGES, "UEFIFRAMEBUFFERRANGES", "NumUEFIFrameBufferRanges",
        caps_is_at_least(query, DXGKDDI_INTERFACE_VERSION_WDDM2_2) ? report->firmware_range_count
                                                                   : 0};
    bool has_protected = caps_is_at_least(query, DXGKDDI_INTERFACE_VERSION_WDDM2_1) &&
                         report->flags.VprSupported && report->vpr_size;
    uint32_t count = invalid.count + firmware.count + has_protected;
    NTSTATUS status;

    if (!count)
        return STATUS_SUCCESS;
    segment->invalid_ranges =
        base_alloc_array(query->services, count, sizeof *segment->invalid_ranges);
    if (!segment->invalid_ranges)
        return caps_no_memory(query);
    segment->invalid_range_capacity = count;
    status = ask(query, &invalid, index);
    if (NT_SUCCESS(status))
        status = ask(query, &firmware, index);
    if (NT_SUCCESS(status) && has_protected)
        segment->invalid_ranges[segment->invalid_range_count++] = (struct vidmm_invalid_range){
            .offset = report->vpr_start,
            .size = report->vpr_size,
        };
    return status;
}
