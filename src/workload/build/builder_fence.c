/*
 * The builder's operations on native fences.
 */
#include "workload/build/builder_private.h"

#include <inttypes.h>

/* A fence that is there, or is not, as wanted. */
static bool check_fence(struct workload_builder *builder, uint64_t fence, bool is_live)
{
    if (builder->failed)
        return false;
    if (fence >= WORKLOAD_MAX_FENCES) {
        workload_builder_fail(builder, "fence %" PRIu64 " (expected 0 to %u)", fence,
                              WORKLOAD_MAX_FENCES - 1);
        return false;
    }
    if ((builder->live_fences >> fence & 1) == is_live)
        return true;
    workload_builder_fail(builder, "fence %" PRIu64 " %s (expected %s)", fence,
                          is_live ? "does not exist" : "exists already",
                          is_live ? "one that was created" : "another number");
    return false;
}

static void add(struct workload_builder *builder, enum workload_op_kind kind, uint64_t fence,
                uint64_t value)
{
    struct workload_op *op =
        workload_builder_op(builder, kind, builder->fence_processes[fence % WORKLOAD_MAX_FENCES]);

    if (!op)
        return;
    op->offset = fence;
    op->value = value;
}

void workload_builder_fence_create(struct workload_builder *builder, uint32_t process,
                                   uint64_t fence, uint64_t value)
{
    if (!workload_builder_end_header(builder) || !check_fence(builder, fence, false))
        return;
    if (process >= builder->out->view.process_count) {
        workload_builder_fail(builder, "process %" PRIu32 " does not exist (expected below %u)",
                              process, builder->out->view.process_count);
        return;
    }
    builder->live_fences |= UINT64_C(1) << fence;
    builder->fence_processes[fence] = process;
    add(builder, WORKLOAD_OP_FENCE_CREATE, fence, value);
}

void workload_builder_fence_destroy(struct workload_builder *builder, uint64_t fence)
{
    if (!check_fence(builder, fence, true))
        return;
    builder->live_fences &= ~(UINT64_C(1) << fence);
    add(builder, WORKLOAD_OP_FENCE_DESTROY, fence, 0);
}

void workload_builder_fence_expect(struct workload_builder *builder, uint64_t fence, uint64_t value)
{
    if (check_fence(builder, fence, true))
        add(builder, WORKLOAD_OP_FENCE_EXPECT, fence, value);
}

void workload_builder_fence_wait(struct workload_builder *builder, uint64_t fence, uint64_t value)
{
    if (check_fence(builder, fence, true))
        add(builder, WORKLOAD_OP_FENCE_WAIT, fence, value);
}

void workload_builder_pack_fences(struct workload_builder *builder)
{
    workload_builder_op(builder, WORKLOAD_OP_PACK_FENCES, 0);
}

void workload_builder_signal(struct workload_builder *builder, uint64_t fence, uint64_t value)
{
    const struct workload_owned *out = builder->out;
    struct workload_op *op;
    uint32_t process;

    if (!check_fence(builder, fence, true))
        return;
    op = &builder->out->ops[out->view.op_count - 1];
    process = out->devices[out->contexts[op->object].device].process;
    if (process != builder->fence_processes[fence]) {
        workload_builder_fail(
            builder,
            "fence %" PRIu64 " belongs to process %s, the context to %s (expected "
            "a fence of the context's process)",
            fence, out->strings + out->processes[builder->fence_processes[fence]].name,
            out->strings + out->processes[process].name);
        return;
    }
    op->offset = fence + 1;
    op->size = value;
}
