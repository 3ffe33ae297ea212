/*
 * The builder's operations on the GPU itself: hangs, preemptions, resets, power, its end.
 */
#include "workload/build/builder_private.h"

#include <inttypes.h>

static void add(struct workload_builder *builder, enum workload_op_kind kind, uint32_t node,
                uint64_t value)
{
    struct workload_op *op;

    if (node >= WORKLOAD_MAX_NODES) {
        workload_builder_fail(builder, "node %" PRIu32 " (expected 0 to %u)", node,
                              WORKLOAD_MAX_NODES - 1);
        return;
    }
    op = workload_builder_op(builder, kind, node);
    if (op)
        op->value = value;
}

void workload_builder_hang(struct workload_builder *builder, uint32_t node, uint64_t packets)
{
    if (packets > UINT32_MAX)
        workload_builder_fail(builder, "%" PRIu64 " packets before it (expected at most %u)",
                              packets, UINT32_MAX);
    else
        add(builder, WORKLOAD_OP_HANG, node, packets);
}

void workload_builder_preempt(struct workload_builder *builder, uint32_t node)
{
    add(builder, WORKLOAD_OP_PREEMPT, node, 0);
}

void workload_builder_lose_interrupt(struct workload_builder *builder, uint32_t node)
{
    add(builder, WORKLOAD_OP_LOSE_INTERRUPT, node, 0);
}

void workload_builder_reset(struct workload_builder *builder)
{
    add(builder, WORKLOAD_OP_RESET, 0, 0);
}

void workload_builder_switch_domain(struct workload_builder *builder, uint64_t duration_ns)
{
    add(builder, WORKLOAD_OP_SWITCH_DOMAIN, 0, duration_ns);
}

void workload_builder_power(struct workload_builder *builder, enum workload_power power)
{
    bool is_off = builder->is_off;
    struct workload_op *op;

    if (is_off != (power == WORKLOAD_POWER_ON)) {
        workload_builder_fail(builder, is_off ? "the power is off already (expected power on)"
                                              : "the power is on already");
        return;
    }
    builder->is_off = false;
    op = workload_builder_op(builder, WORKLOAD_OP_POWER, 0);
    if (op)
        op->flags = (uint8_t)power;
    builder->is_off = power != WORKLOAD_POWER_ON;
}

void workload_builder_stop(struct workload_builder *builder)
{
    add(builder, WORKLOAD_OP_STOP, 0, 0);
}

/* Also of a board that is asleep: nothing stands behind it then. */
void workload_builder_remove(struct workload_builder *builder, uint64_t after_ns)
{
    builder->is_off = false;
    add(builder, WORKLOAD_OP_REMOVE, 0, after_ns);
}
