/*
 * A submission is written to the registers of its node.
 */
#include "refkmd/work/doorbell.h"

#include "refkmd/memory/save_area.h"
#include "refkmd/objects.h"
#include "refkmd/registers.h"
#include "refkmd/work/scheduling_log.h"

/*
 * The kernel keeps the area resident while the context has work (CTX-003). The GPU checks that the
 * area says as many runs as there were, which proves that no move has lost any. Submissions that a
 * preemption or a reset of the node drops have not run, and are not counted
 * (refkmd_drop_submissions()); a reset of the device takes the content of local memory, and the
 * count is given up until there is a new image.
 */
void refkmd_run_in_save_area(const struct refkmd_context *context,
                             struct refkmd_submission *submission)
{
    struct refkmd_save_area *area = context->save_area;
    UINT device_resets = context->device->adapter->nodes[context->node].device_resets;

    if (area->device_resets != device_resets)
        area->has_lost_count = TRUE;
    area->device_resets = device_resets;
    submission->save_area = area;
    submission->save_runs = area->has_lost_count ? SGPU_SAVE_RUNS_ANY : area->runs++;
    submission->doorbell |= SGPU_SUBMIT_SAVE;
    if (area->va)
        submission->doorbell |= SGPU_SUBMIT_SAVE_VIRTUAL;
}

/*
 * A context whose work went to a hardware queue may have been suspended since: its tables and its
 * save area may be elsewhere.
 */
static void find_context_again(struct refkmd_submission *submission)
{
    const struct refkmd_context *context = submission->queue->context;

    submission->root = context->root;
    submission->doorbell &= ~(ULONG)(SGPU_SUBMIT_SAVE | SGPU_SUBMIT_SAVE_VIRTUAL);
    submission->save_area = NULL;
    if (submission->bytes && context->save_area)
        refkmd_run_in_save_area(context, submission);
}

/*
 * The kernel keeps no more submissions under way than a node has slots: StartDevice refuses a
 * kernel that wants more. One too many would be lost, found by the timeout, and is said.
 */
void refkmd_ring_doorbell(struct refkmd_adapter *adapter, UINT ordinal,
                          const struct refkmd_submission *submission)
{
    struct refkmd_node *node = &adapter->nodes[ordinal];
    struct refkmd_submission *slot = &node->submissions[node->newest % SGPU_QUEUE_SLOTS];
    ULONG block = SGPU_REG_NODE(ordinal);

    if (node->newest - node->oldest >= SGPU_QUEUE_SLOTS) {
        DbgPrintEx(DPFLTR_IHVVIDEO_ID, DPFLTR_ERROR_LEVEL,
                   "refkmd: node %u has no slot for fence %u\n", ordinal, submission->fence);
        return;
    }
    *slot = *submission;
    if (submission->queue)
        find_context_again(slot);
    node->newest++; /* before the doorbell: the interrupt may come at once */
    if (slot->queue)
        refkmd_log_submission(adapter, ordinal);

    refkmd_write64(adapter, block + SGPU_NODE_ADDRESS, slot->address);
    refkmd_write64(adapter, block + SGPU_NODE_ROOT, slot->root);
    refkmd_write(adapter, block + SGPU_NODE_SIZE, slot->bytes);
    refkmd_write(adapter, block + SGPU_NODE_FENCE, slot->fence);
    if (slot->queue) {
        refkmd_write64(adapter, block + SGPU_NODE_PROGRESS_VA, slot->progress_va);
        refkmd_write64(adapter, block + SGPU_NODE_PROGRESS, slot->progress);
    }
    if (slot->save_area) {
        refkmd_write64(adapter, block + SGPU_NODE_SAVE_AREA,
                       refkmd_save_area_address(slot->save_area));
        refkmd_write64(adapter, block + SGPU_NODE_SAVE_RUNS, slot->save_runs);
        refkmd_write(adapter, block + SGPU_NODE_SAVE_BYTES,
                     (ULONG)slot->save_area->allocation.bytes);
    }
    refkmd_write(adapter, block + SGPU_NODE_DOORBELL, slot->doorbell);
}
