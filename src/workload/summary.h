/*
 * Summary: facts about a finished workload, for headings and for choosing a memory size.
 *
 * Place      workload. One pass over the operations.
 * Units      Bytes, unless the name says something else.
 */
#ifndef WORKLOAD_SUMMARY_H
#define WORKLOAD_SUMMARY_H

#include "workload/workload.h"

struct workload_summary {
    uint32_t op_counts[WORKLOAD_OP_COUNT];
    uint32_t step_count;
    uint64_t peak_live_bytes;    /* largest sum of sizes alive at once */
    uint64_t largest_allocation; /* bytes */
    uint64_t gpu_read_bytes;     /* sums over all references */
    uint64_t gpu_write_bytes;
    uint64_t cpu_read_bytes;
    uint64_t cpu_write_bytes;
    uint64_t duration_ns;              /* sum over all submissions */
    uint64_t largest_submission_bytes; /* distinct allocations of one submission, whole sizes */
};

void workload_summarise(const struct workload *workload, struct workload_summary *out);

#endif
