/*
 * Watcher: scheduling logs of nodes with hardware queues (HWQ-021, HWQ-022).
 *
 * The buffer before is looked at where a driver may have written: behind its interrupt routine, its
 * DPC and each submission. The system has it back when it gives it again, and with the end of its
 * own context.
 */
#include "check/check_watch.h"

#include "base/hash.h"

struct node_log {
    const DXGK_SCHEDULING_LOG_BUFFER *current, *former; /* NULL: none */
    UINT entries, former_entries;
    uint64_t content; /* of the former one */
};

struct log_watch {
    struct node_log nodes[CHECK_MAX_NODES];
};

static uint64_t content_of(const DXGK_SCHEDULING_LOG_BUFFER *buffer, UINT entries)
{
    return hash_bytes(buffer, sizeof buffer->Header + entries * sizeof buffer->Entries[0], 0);
}

static void before_set(struct check *check, struct log_watch *watch,
                       const DXGKARG_SETSCHEDULINGLOGBUFFER *arg)
{
    const DXGK_SCHEDULING_LOG_BUFFER *buffer = arg->LogBufferCpuVa;

    if (!CHECK_RULE(check, RULE_HWQ_021, buffer && arg->NumberOfEntries, NULL, "NumberOfEntries",
                    "is {%u}, and LogBufferCpuVa %p{=~not 0~}", arg->NumberOfEntries,
                    (const void *)buffer))
        return;
    CHECK_RULE(check, RULE_HWQ_021,
               !buffer->Header.FirstFreeEntryIndex && !buffer->Header.WraparoundCount, NULL,
               "LogBufferCpuVa", "FirstFreeEntryIndex is {%u}, WraparoundCount %u (expected {=0})",
               buffer->Header.FirstFreeEntryIndex, buffer->Header.WraparoundCount);
    CHECK_RULE(check, RULE_HWQ_021, buffer->Header.NumberOfEntries == arg->NumberOfEntries, NULL,
               "LogBufferCpuVa", "Header.NumberOfEntries is {%llu} (expected {=%u})",
               (unsigned long long)buffer->Header.NumberOfEntries, arg->NumberOfEntries);
    for (unsigned i = 0; i < CHECK_MAX_NODES; i++) {
        if (watch->nodes[i].former == buffer)
            watch->nodes[i].former = NULL;
    }
}

static void after_set(struct check *check, struct log_watch *watch,
                      const DXGKARG_SETSCHEDULINGLOGBUFFER *arg)
{
    struct node_log *node;

    if (arg->NodeOrdinal >= CHECK_MAX_NODES || !arg->LogBufferCpuVa)
        return;
    node = &watch->nodes[arg->NodeOrdinal];
    if (node->current && node->current != arg->LogBufferCpuVa) {
        node->former = node->current;
        node->former_entries = node->entries;
        node->content = content_of(node->former, node->former_entries);
        check_looked_at(check, RULE_HWQ_022);
    }
    node->current = arg->LogBufferCpuVa;
    node->entries = arg->NumberOfEntries;
}

static void look_at_former(struct check *check, struct log_watch *watch)
{
    for (unsigned i = 0; i < CHECK_MAX_NODES; i++) {
        struct node_log *node = &watch->nodes[i];
        uint64_t content;

        if (!node->former)
            continue;
        content = content_of(node->former, node->former_entries);
        CHECK_RULE(check, RULE_HWQ_022, content == node->content, NULL, "",
                   "the log that node %u had before has been written since "
                   "DxgkDdiSetSchedulingLogBuffer returned; its FirstFreeEntryIndex is %u",
                   i, node->former->Header.FirstFreeEntryIndex);
        node->content = content;
    }
}

static void before(struct check *check, void *state, const struct check_call *call)
{
    const struct check_context *context;

    if (call->ddi == MINIPORT_DDI_SetSchedulingLogBuffer) {
        before_set(check, state, call->arg.set_scheduling_log_buffer);
        return;
    }
    context = call->ddi == MINIPORT_DDI_DestroyContext
                  ? check_find_context(check_ledger(check), call->object)
                  : NULL;
    if (call->ddi == MINIPORT_DDI_StartDevice || (context && context->flags.SystemContext))
        *(struct log_watch *)state = (struct log_watch){0};
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    if (call->ddi != MINIPORT_DDI_SetSchedulingLogBuffer)
        look_at_former(check, state);
    else if (NT_SUCCESS(call->status))
        after_set(check, state, call->arg.set_scheduling_log_buffer);
}

const struct check_watcher check_scheduling_log_watcher = {
    .name = "scheduling logs",
    .state_bytes = sizeof(struct log_watch),
    .before = before,
    .before_calls = CHECK_CALLS(MINIPORT_DDI_SetSchedulingLogBuffer, MINIPORT_DDI_DestroyContext,
                                MINIPORT_DDI_StartDevice),
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_SetSchedulingLogBuffer, MINIPORT_DDI_InterruptRoutine,
                               MINIPORT_DDI_DpcRoutine, MINIPORT_DDI_SubmitCommandToHwQueue),
};
