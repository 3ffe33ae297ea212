/*
 * Adapter caps internals, shared by the sources adapter_caps*.c.
 *
 * Place   vidmm. Only the sources adapter_caps*.c include it.
 */
#ifndef VIDMM_ADAPTER_CAPS_PRIVATE_H
#define VIDMM_ADAPTER_CAPS_PRIVATE_H

#include "vidmm/adapter/adapter_caps.h"

#include "base/bits.h"

/* A segment's descriptor, the same for all versions. */
struct segment_report {
    DXGK_SEGMENTFLAGS flags;
    uint64_t base;
    uint64_t cpu_address;
    uint64_t host_address;
    uint32_t host_pages;
    uint64_t size;
    uint64_t commit_limit;
    uint64_t system_memory_end;
    uint32_t bank_count;
    const SIZE_T *bank_ends; /* the driver's */
    uint32_t invalid_range_count;
    uint64_t vpr_start;
    uint64_t vpr_size;
    uint32_t vpr_alignment;
    uint32_t vpr_count;
    uint64_t vpr_reserve;
    uint32_t firmware_range_count;
};

static inline uint64_t caps_page_bytes(const struct segment_report *segment)
{
    return segment->flags.Use64KBPages ? 64 * KiB : PAGE_BYTES;
}

struct caps_query {
    struct miniport *miniport;
    const struct base_services *services;
    const struct vidmm_platform *platform;
    struct vidmm_caps *caps;
    struct vidmm_failure *failure;
    uint64_t told_node_count, told_paging_node; /* by DRIVERCAPS */
    ULONG version;
    const char *segment_query; /* "QUERYSEGMENT4" */
    struct segment_report reports[VIDMM_MAX_SEGMENTS];
};

static inline bool caps_is_at_least(const struct caps_query *query, ULONG version)
{
    return query->version >= version;
}

/* ---- adapter_caps_query.c ---- */

#define PATH_BYTES 96 /* of "QUERYSEGMENT4.pSegmentDescriptor[1].Size" */

/* Fills in the failure; gives STATUS_INVALID_PARAMETER. */
NTSTATUS caps_fail(struct caps_query *query, const char *rule, const char *path, uint64_t value,
                   const char *expected);

/* Fills in the failure; gives STATUS_NO_MEMORY. */
NTSTATUS caps_no_memory(struct caps_query *query);

/* Calls DxgkDdiQueryAdapterInfo; the driver's own failure is filled in. */
NTSTATUS caps_ask(struct caps_query *query, DXGK_QUERYADAPTERINFOTYPE type, const char *name,
                  void *input, UINT input_bytes, void *output, UINT output_bytes);

/* ---- adapter_caps_ranges.c ---- */

/* Asks where in the segment nothing may be placed, and keeps it. */
NTSTATUS caps_enter_ranges(struct caps_query *query, unsigned index);

/* ---- adapter_caps_segments.c ---- */

/* Everything about segments and the paging buffer. Memory for it hangs on the caps. */
NTSTATUS caps_query_segments(struct caps_query *query);

#endif
