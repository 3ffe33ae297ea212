/*
 * Scheduling logs. A buffer is written anew before it is given: nothing of it counts any more.
 *
 * Source     contract.md HWQ-021, HWQ-022.
 */
#include "vidmm/work/scheduling_log.h"

#include "vidmm/memory/page_units.h"
#include "vidmm/vidmm_private.h"

#include <string.h>

_Static_assert(sizeof(DXGK_SCHEDULING_LOG_HEADER) +
                       SCHEDULING_LOG_ENTRIES * sizeof(DXGK_SCHEDULING_LOG_ENTRY) <=
                   PAGE_BYTES,
               "a page has room for them");

/* The first of the node's two pages. */
static uint64_t first_page_of(const struct vidmm *vidmm, unsigned node)
{
    uint64_t page = 0;

    for (unsigned i = 0; i < node; i++)
        page += vidmm->queue_nodes >> i & 1 ? 2 : 0;
    return page;
}

NTSTATUS scheduling_logs_init(struct vidmm *vidmm)
{
    const struct vidmm_platform *platform = &vidmm->config.platform;
    struct scheduling_logs *logs = &vidmm->logs;
    const uint64_t count = first_page_of(vidmm, vidmm->caps.node_count);
    NTSTATUS status;

    if (!count || !vidmm->config.log_entries ||
        vidmm->config.log_entries > SCHEDULING_LOG_ENTRIES ||
        !miniport_has(vidmm->miniport, MINIPORT_DDI_SetSchedulingLogBuffer))
        return STATUS_SUCCESS;
    status = platform->take_contiguous(platform->context, count, &logs->first_page);
    if (!NT_SUCCESS(status))
        return status;
    logs->page_count = count;
    logs->cpu =
        platform->map_bus(platform->context, PAGE_BYTES_OF(logs->first_page), PAGE_BYTES_OF(count));
    return logs->cpu ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

void scheduling_logs_fini(struct vidmm *vidmm)
{
    const struct vidmm_platform *platform = &vidmm->config.platform;
    struct scheduling_logs *logs = &vidmm->logs;

    if (logs->cpu)
        platform->unmap_bus(platform->context, logs->cpu, PAGE_BYTES_OF(logs->page_count));
    if (logs->page_count)
        platform->release_contiguous(platform->context, logs->page_count, logs->first_page);
    *logs = (struct scheduling_logs){0};
}

/* What the entries held before is left in them: drivers expect nothing of it. */
static NTSTATUS give(struct vidmm *vidmm, unsigned node)
{
    const struct scheduling_logs *logs = &vidmm->logs;
    const uint64_t page = first_page_of(vidmm, node) + (logs->second >> node & 1);
    DXGK_SCHEDULING_LOG_BUFFER *buffer = (void *)(logs->cpu + PAGE_BYTES_OF(page));
    const DXGKARG_SETSCHEDULINGLOGBUFFER args = {
        .NodeOrdinal = node,
        .NumberOfEntries = vidmm->config.log_entries,
        .LogBufferCpuVa = buffer,
        .LogBufferGpuVa = paging_process_log_va(vidmm) + PAGE_BYTES_OF(page),
        .InterruptEntry = vidmm->config.log_entries / 2,
    };

    memset(&buffer->Header, 0, sizeof buffer->Header);
    buffer->Header.NumberOfEntries = args.NumberOfEntries;
    return miniport_set_scheduling_log_buffer(vidmm->miniport, NULL, &args);
}

void scheduling_logs_open(struct vidmm *vidmm)
{
    for (unsigned i = 0; vidmm->logs.cpu && i < vidmm->caps.node_count; i++) {
        if (vidmm->queue_nodes >> i & 1)
            give(vidmm, i);
    }
}

void scheduling_logs_interrupted(struct vidmm *vidmm, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    if (data->InterruptType == DXGK_INTERRUPT_SCHEDULING_LOG_INTERRUPT && vidmm->logs.cpu &&
        data->SchedulingLogInterrupt.NodeOrdinal < vidmm->caps.node_count)
        vidmm->logs.is_full |= UINT64_C(1) << data->SchedulingLogInterrupt.NodeOrdinal;
}

void scheduling_logs_rescan(struct vidmm *vidmm)
{
    struct scheduling_logs *logs = &vidmm->logs;
    const uint64_t full = logs->is_full & vidmm->queue_nodes;

    if (!full || vidmm->is_removed || vidmm->recovery.is_under_way ||
        vidmm->power.state != POWER_ON)
        return;
    logs->is_full = 0;
    for (unsigned i = 0; i < vidmm->caps.node_count; i++) {
        if (!(full >> i & 1))
            continue;
        logs->second ^= UINT64_C(1) << i;
        if (!NT_SUCCESS(give(vidmm, i)))
            logs->second ^= UINT64_C(1) << i;
    }
}
