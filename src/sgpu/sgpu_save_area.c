/*
 * Context-save areas: loaded when a submission starts, stored when it ends.
 */
#include "sgpu/sgpu_private.h"

static struct sgpu_space save_space(const struct sgpu_submission *submission)
{
    return (struct sgpu_space){
        .is_virtual = (submission->flags & SGPU_SUBMIT_SAVE_VIRTUAL) != 0,
        .root_pa = submission->root_pa,
        .pasid = MACHINE_NO_PASID,
    };
}

/* Reads or writes a few bytes that do not cross a page; false: the node has faulted. */
static bool access_area(struct sgpu_node *node, uint64_t address, void *bytes, uint64_t count,
                        enum sgpu_access access)
{
    const struct sgpu_space space = save_space(running_submission(node));
    struct sgpu_span span;

    if (!sgpu_translate(node, &space, address, count, access, &span) || span.bytes < count ||
        !span.store) {
        sgpu_raise_fault(node, SGPU_FAULT_SAVE_AREA, address);
        return false;
    }
    if (access == SGPU_ACCESS_WRITE)
        page_store_write(span.store, span.address, bytes, count);
    else
        page_store_read(span.store, span.address, bytes, count);
    return true;
}

static uint64_t tail_of(const struct sgpu_submission *submission)
{
    return submission->save_area + submission->save_bytes - sizeof(uint64_t);
}

bool sgpu_load_save_area(struct sgpu_node *node)
{
    const struct sgpu_submission *submission = running_submission(node);
    struct sgpu_save_area area;
    uint64_t tail;

    if (!(submission->flags & SGPU_SUBMIT_SAVE))
        return true;
    if (submission->save_area % 8 || submission->save_bytes % 8 ||
        submission->save_bytes < sizeof area) {
        sgpu_raise_fault(node, SGPU_FAULT_SAVE_AREA, submission->save_area);
        return false;
    }
    if (!access_area(node, submission->save_area, &area, sizeof area, SGPU_ACCESS_READ) ||
        !access_area(node, tail_of(submission), &tail, sizeof tail, SGPU_ACCESS_READ))
        return false;
    if (area.magic != SGPU_SAVE_MAGIC || area.node != node->index ||
        area.root != submission->root_pa || area.root_check != SGPU_SAVE_ROOT_CHECK(area.root) ||
        area.runs != tail ||
        (submission->save_runs != SGPU_SAVE_RUNS_ANY && area.runs != submission->save_runs)) {
        sgpu_raise_fault(node, SGPU_FAULT_SAVE_AREA, submission->save_area);
        return false;
    }
    node->save_runs = area.runs;
    return true;
}

bool sgpu_store_save_area(struct sgpu_node *node)
{
    const struct sgpu_submission *submission = running_submission(node);
    uint64_t runs = node->save_runs + 1;

    if (!(submission->flags & SGPU_SUBMIT_SAVE))
        return true;
    return access_area(node, submission->save_area + offsetof(struct sgpu_save_area, runs), &runs,
                       sizeof runs, SGPU_ACCESS_WRITE) &&
           access_area(node, tail_of(submission), &runs, sizeof runs, SGPU_ACCESS_WRITE);
}
