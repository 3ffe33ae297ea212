/*
 * A node's ring of submissions, and the way to device IRQL.
 */
#include "refkmd/work/node.h"

#include "refkmd/memory/save_area.h"

void refkmd_synchronize(struct refkmd_adapter *adapter, PKSYNCHRONIZE_ROUTINE routine,
                        void *context)
{
    BOOLEAN result;

    adapter->dxgkrnl.DxgkCbSynchronizeExecution(adapter->dxgkrnl.DeviceHandle, routine, context, 0,
                                                &result);
}

BOOLEAN refkmd_node_is_drained(const struct refkmd_node *node)
{
    return node->oldest == node->newest;
}

/* Submissions under way will not run: they count in no save area. */
void refkmd_drop_submissions(struct refkmd_node *node)
{
    node->log_running = NULL;
    for (; node->oldest != node->newest; node->oldest++) {
        const struct refkmd_submission *submission =
            &node->submissions[node->oldest % SGPU_QUEUE_SLOTS];

        if (submission->save_area && submission->save_runs != SGPU_SAVE_RUNS_ANY &&
            submission->save_area->runs)
            submission->save_area->runs--;
    }
}
