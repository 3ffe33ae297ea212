/*
 * Sums over the operations of a workload.
 */
#include "workload/summary.h"
#include "workload/owned.h"

#include "base/bits.h"

void workload_summarise(const struct workload *workload, struct workload_summary *out)
{
    uint64_t live = 0;

    *out = (struct workload_summary){
        .largest_submission_bytes =
            ((const struct workload_owned *)workload)->largest_submission_bytes};
    for (uint32_t i = 0; i < workload->op_count; i++) {
        const struct workload_op *op = &workload->ops[i];

        out->op_counts[op->kind]++;
        switch (op->kind) {
        case WORKLOAD_OP_ALLOC:
            live += workload->allocations[op->object].size;
            out->peak_live_bytes = max_u64(out->peak_live_bytes, live);
            out->largest_allocation =
                max_u64(out->largest_allocation, workload->allocations[op->object].size);
            break;
        case WORKLOAD_OP_FREE:
            live -= workload->allocations[op->object].size;
            break;
        case WORKLOAD_OP_READ:
            out->cpu_read_bytes += op->size;
            break;
        case WORKLOAD_OP_WRITE:
            out->cpu_write_bytes += op->size;
            break;
        case WORKLOAD_OP_STEP:
            out->step_count++;
            break;
        case WORKLOAD_OP_SUBMIT:
            out->duration_ns += op->value;
            for (uint32_t r = 0; r < op->ref_count; r++) {
                const struct workload_ref *ref = &workload->refs[op->first_ref + r];

                if (ref->access & WORKLOAD_ACCESS_READ)
                    out->gpu_read_bytes += ref->size;
                if (ref->access & WORKLOAD_ACCESS_WRITE)
                    out->gpu_write_bytes += ref->size;
            }
            break;
        default:
            break;
        }
    }
}
