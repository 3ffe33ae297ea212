/*
 * Adding an operation to a builder: what its members name is checked by their types, then its rule,
 * then it is appended. And the two kinds of lists: of allocations, and of the ranges that a
 * submission refers to, which come one by one.
 */
#include "workload/build/builder_private.h"
#include "workload/case/directives.h"
#include "workload/words.h"

#include "base/bits.h"

#include <inttypes.h>

#define PROGRESS_OPERATIONS 4096 /* between two times that progress is told */

/* Operations that may stand between a power-down and the power-up. */
static bool may_be_asleep(enum workload_op_kind kind)
{
    return kind == WORKLOAD_OP_NOTE || kind == WORKLOAD_OP_POWER || kind == WORKLOAD_OP_REMOVE ||
           kind == WORKLOAD_OP_UNLOCK;
}

struct workload_op *workload_builder_append(struct workload_builder *builder,
                                            enum workload_op_kind kind, uint32_t object)
{
    struct workload_owned *out = builder->out;
    struct workload_op *op;

    if (!workload_builder_end_header(builder))
        return NULL;
    if (builder->in_list) {
        workload_builder_fail(builder, "%s inside a submission (expected submit_end before it)",
                              workload_op_name(kind));
        return NULL;
    }
    if (builder->is_off && !may_be_asleep(kind)) {
        workload_builder_fail(builder, "%s without power (expected power on before it)",
                              workload_op_name(kind));
        return NULL;
    }
    if (out->view.op_count >= WORKLOAD_MAX_OPS) {
        workload_builder_fail(builder, "too many operations (expected at most %u)",
                              WORKLOAD_MAX_OPS);
        return NULL;
    }
    if (!workload_grow(out->services, &out->ops, &out->op_room, out->view.op_count, 1,
                       sizeof *op)) {
        workload_builder_fail_memory(builder);
        return NULL;
    }
    op = &out->ops[out->view.op_count++];
    if (builder->progress && out->view.op_count % PROGRESS_OPERATIONS == 0)
        builder->progress(builder->progress_context, out->view.op_count);
    *op = (struct workload_op){.kind = (uint8_t)kind, .line = builder->line, .object = object};
    return op;
}

/* The object that a member of an operation names exists. */
static bool check_member(struct workload_builder *builder, struct workload_op *op,
                         const struct directive_member *member)
{
    uint64_t value;

    if (member->place >= sizeof *op)
        return true; /* not in the operation */
    value = directive_get(op, member);
    switch ((enum directive_type)member->type) {
    case TYPE_ALLOCATION:
        return workload_builder_live_allocation(builder, (uint32_t)value) != NULL;
    case TYPE_CONTEXT_OR_ALL:
        return value == WORKLOAD_NONE || workload_builder_check_context(builder, (uint32_t)value);
    case TYPE_CONTEXT:
        return workload_builder_check_context(builder, (uint32_t)value);
    case TYPE_PROCESS:
        return workload_builder_check_process(builder, (uint32_t)value);
    case TYPE_DEVICE:
    case TYPE_LIST_DEVICE:
        return workload_builder_check_device(builder, (uint32_t)value);
    case TYPE_NODE:
        return workload_builder_check_node(builder, (uint32_t)value);
    case TYPE_FENCE:
        if (!workload_builder_check_fence(builder, value, true))
            return false;
        op->object = builder->fence_processes[value];
        return true;
    case TYPE_NEW_FENCE:
        return workload_builder_check_fence(builder, value, false);
    default:
        return true;
    }
}

static struct workload_op *add(struct workload_builder *builder, const struct workload_op *wanted,
                               const struct workload_ref *refs)
{
    const struct directive *directive = directive_of_kind((enum workload_op_kind)wanted->kind);
    workload_rule *rule = workload_rules[wanted->kind];
    struct workload_op whole = *wanted, *op;

    if (builder->failed || !workload_builder_end_header(builder))
        return NULL;
    for (const struct directive_member *m = directive->members; m->presence; m++) {
        if (!check_member(builder, &whole, m))
            return NULL;
    }
    if (rule && !rule(builder, &whole, refs))
        return NULL;
    op = workload_builder_append(builder, (enum workload_op_kind)whole.kind, whole.object);
    if (!op)
        return NULL;
    whole.line = op->line;
    whole.first_ref = 0;
    whole.ref_count = 0;
    *op = whole;
    return op;
}

/* To the open operation; the range is checked by the caller. */
static void append_ref(struct workload_builder *builder, const struct workload_ref *ref)
{
    struct workload_owned *out = builder->out;
    struct workload_op *op = &out->ops[out->view.op_count - 1];

    if (op->ref_count >= WORKLOAD_MAX_OP_REFS || out->view.ref_count >= WORKLOAD_MAX_REFS) {
        workload_builder_fail(builder, "too many references in one operation (expected at most %u)",
                              WORKLOAD_MAX_OP_REFS);
        return;
    }
    if (!workload_grow(out->services, &out->refs, &out->ref_room, out->view.ref_count, 1,
                       sizeof *ref)) {
        workload_builder_fail_memory(builder);
        return;
    }
    out->refs[out->view.ref_count++] = *ref;
    op->ref_count++;
    if (builder->stamps[ref->allocation] != out->view.op_count) {
        builder->stamps[ref->allocation] = out->view.op_count;
        builder->list_bytes += out->allocations[ref->allocation].size;
    }
}

void workload_builder_add(struct workload_builder *builder, const struct workload_op *op,
                          const struct workload_ref *refs, uint32_t ref_count)
{
    struct workload_op *added;
    struct workload_op whole = *op;

    whole.ref_count = ref_count;
    added = add(builder, &whole, refs);
    if (added && ref_count)
        added->first_ref = builder->out->view.ref_count;
    for (uint32_t i = 0; i < ref_count && !builder->failed; i++)
        append_ref(builder, &refs[i]);
}

void workload_builder_add_text(struct workload_builder *builder, const struct workload_op *op,
                               const char *text)
{
    struct workload_op whole = *op;

    if (workload_builder_text(builder, workload_op_name((enum workload_op_kind)op->kind), text,
                              &whole.text))
        workload_builder_add(builder, &whole, NULL, 0);
}

void workload_builder_add_list(struct workload_builder *builder, const struct workload_op *op,
                               const uint32_t *allocations, uint32_t count)
{
    struct workload_op whole = *op;
    struct workload_ref *refs;

    if (builder->failed)
        return;
    if (count == 0) {
        workload_builder_fail(builder, "%s of nothing (expected at least one allocation)",
                              workload_op_name((enum workload_op_kind)op->kind));
        return;
    }
    refs = base_alloc_array(builder->out->services, count, sizeof *refs);
    if (!refs) {
        workload_builder_fail_memory(builder);
        return;
    }
    if (workload_builder_live_allocation(builder, allocations[0]) && whole.object == WORKLOAD_NONE)
        whole.object = builder->out->allocations[allocations[0]].device;
    if (!builder->failed)
        workload_builder_check_device(builder, whole.object);
    for (uint32_t i = 0; i < count && !builder->failed; i++) {
        if (workload_builder_check_owner(builder, allocations[i], whole.object))
            refs[i] = (struct workload_ref){.allocation = allocations[i],
                                            .size = builder->out->allocations[allocations[i]].size};
    }
    workload_builder_add(builder, &whole, refs, count);
    base_free_array(builder->out->services, refs, count, sizeof *refs);
}

/* ---- Submissions ---- */

/* The submission that is open; NULL, and an error, when none is. */
static struct workload_op *open_submission(struct workload_builder *builder, const char *what)
{
    if (builder->failed)
        return NULL;
    if (!builder->in_list) {
        workload_builder_fail(builder, "%s outside a submission (expected submit_begin before it)",
                              what);
        return NULL;
    }
    return &builder->out->ops[builder->out->view.op_count - 1];
}

void workload_builder_submit_begin(struct workload_builder *builder, uint32_t context,
                                   uint64_t duration_ns)
{
    struct workload_op *op = add(
        builder,
        &(struct workload_op){.kind = WORKLOAD_OP_SUBMIT, .object = context, .value = duration_ns},
        NULL);

    if (!op)
        return;
    op->first_ref = builder->out->view.ref_count;
    builder->in_list = true;
    builder->list_bytes = 0;
}

void workload_builder_null(struct workload_builder *builder)
{
    struct workload_op *op = open_submission(builder, "null=");

    if (!op)
        return;
    if (op->offset) {
        workload_builder_fail(builder,
                              "null= with signal= (expected one of them: what does not run "
                              "signals nothing)");
        return;
    }
    op->flags |= WORKLOAD_SUBMIT_NULL;
}

void workload_builder_present(struct workload_builder *builder, uint32_t rectangles)
{
    struct workload_op *op = open_submission(builder, "present=");

    if (!op)
        return;
    if (op->offset || op->flags) {
        workload_builder_fail(builder, "present= with signal= or null= (expected one of them)");
        return;
    }
    op->rectangles = rectangles;
}

/* A copy of rows to another allocation, or rows of one color. */
static bool check_present(struct workload_builder *builder, const struct workload_op *op)
{
    const struct workload_ref *refs = builder->out->refs + op->first_ref;
    const struct workload_ref *last = &refs[op->ref_count - 1];
    const char *what = NULL;

    if (op->ref_count < 1 || op->ref_count > 2 || last->access != WORKLOAD_ACCESS_WRITE ||
        (op->ref_count == 2 && refs[0].access != WORKLOAD_ACCESS_READ))
        what = "NAME:r NAME:w, or NAME:w=COLOR";
    else if (op->ref_count == 2 && refs[0].allocation == last->allocation)
        what = "two allocations";
    else if (op->ref_count == 2 ? last->key != 0 : last->key > UINT32_MAX)
        what = "a color of 32 bits where nothing is copied, and none elsewhere";
    for (uint32_t i = 0; !what && i < op->ref_count; i++) {
        if (refs[i].size != last->size || (refs[i].offset | refs[i].size) % PAGE_BYTES)
            what = "whole rows of 4 KiB, as many on both sides";
    }
    if (!what && op->rectangles > last->size / PAGE_BYTES)
        what = "a row for each rectangle at least";
    if (what)
        workload_builder_fail(builder, "what the present refers to (expected %s)", what);
    return !what;
}

void workload_builder_signal(struct workload_builder *builder, uint64_t fence, uint64_t value)
{
    const struct workload_owned *out = builder->out;
    struct workload_op *op = open_submission(builder, "signal=");
    uint32_t process;

    if (!op || !workload_builder_check_fence(builder, fence, true))
        return;
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

void workload_builder_ref(struct workload_builder *builder, uint32_t allocation, uint64_t offset,
                          uint64_t size, uint32_t access, uint64_t key)
{
    const struct workload_owned *out = builder->out;
    struct workload_ref ref = {
        .allocation = allocation, .access = access, .offset = offset, .size = size, .key = key};
    const struct workload_op *op = open_submission(builder, "a reference");

    if (!op)
        return;
    if (access == 0 || access > (WORKLOAD_ACCESS_READ | WORKLOAD_ACCESS_WRITE)) {
        workload_builder_fail(builder, "access %u (expected r, w or rw)", access);
        return;
    }
    if (key && !(access & WORKLOAD_ACCESS_WRITE)) {
        workload_builder_fail(builder, "a key on a read (expected it on w or rw only)");
        return;
    }
    if (workload_builder_check_range(builder, allocation, offset, &ref.size) &&
        workload_builder_check_owner(builder, allocation, out->contexts[op->object].device) &&
        workload_builder_check_unlocked(builder, allocation) &&
        workload_builder_check_not_offered(builder, allocation))
        append_ref(builder, &ref);
}

void workload_builder_submit_end(struct workload_builder *builder)
{
    const struct workload_op *op;

    if (builder->failed)
        return;
    if (!builder->in_list) {
        workload_builder_fail(builder,
                              "the end of no submission (expected submit_begin before it)");
        return;
    }
    builder->in_list = false;
    op = &builder->out->ops[builder->out->view.op_count - 1];
    if (op->rectangles && !check_present(builder, op))
        return;
    builder->out->largest_submission_bytes =
        max_u64(builder->out->largest_submission_bytes, builder->list_bytes);
}
