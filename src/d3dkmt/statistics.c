/*
 * What a client is told of the adapter, its segments and its own part in them, and of the clocks of
 * nodes.
 *
 * Members that nobody counts here are zero; their pages say nothing of them but their names: so are
 * the results of preemptions, packets of waits and signals, and a node's performance. Types about
 * displays are STATUS_NOT_SUPPORTED. Segments have the numbers 0 to NbSegments - 1, as open clients
 * take them; the driver's begin at 1.
 */
#include "d3dkmt/front.h"

/* ---- Statistics ------------------------------------------------------------------------------ */

static ULONG low_part(uint64_t count)
{
    return (ULONG)min_u64(count, UINT32_MAX);
}

static void tell_adapter(const struct d3dkmt *front,
                         D3DKMT_QUERYSTATISTICS_ADAPTER_INFORMATION *adapter)
{
    const struct vidmm_statistics *statistics = vidmm_statistics(front->config.vidmm);

    adapter->NbSegments = vidmm_segment_count(front->config.vidmm);
    adapter->NodeCount = vidmm_node_count(front->config.vidmm);
    adapter->TdrDetectedCount = low_part(statistics->timeouts);
    adapter->Renaming.NbAllocationsRenamed = low_part(statistics->renames);
    adapter->PagingFault.Faults.Count = low_part(statistics->page_faults);
    adapter->PagingFault.Evictions = (D3DKMT_QUERYSTATISTICS_COUNTER){
        low_part(statistics->evictions), statistics->moved_out_bytes + statistics->discarded_bytes};
    adapter->PagingTransfer.BytesFilled = statistics->filled_bytes;
    adapter->PagingTransfer.BytesDiscarded = statistics->discarded_bytes;
    adapter->PagingTransfer.BytesTransferredFromMdlToMemory = statistics->moved_in_bytes;
    adapter->PagingTransfer.BytesTransferredFromMemoryToMdl = statistics->moved_out_bytes;
    adapter->Flags.NumberOfMemoryGroups = 2;
    adapter->Flags.SupportsDemotion = 1;
}

/* Everything that has a place is committed. */
static void tell_segment(const struct d3dkmt *front, unsigned id,
                         D3DKMT_QUERYSTATISTICS_SEGMENT_INFORMATION *segment)
{
    struct vidmm_segment_info info;

    vidmm_segment_info(front->config.vidmm, id, &info);
    segment->CommitLimit = info.size;
    segment->BytesCommitted = info.used;
    segment->BytesResident = info.used;
    segment->Memory.AllocsCommitted = low_part(info.allocation_count);
    segment->Memory.AllocsResident = low_part(info.allocation_count);
    segment->Aperture = info.is_aperture;
}

static void tell_process_segment(const struct d3dkmt_process *process, unsigned id,
                                 D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT_INFORMATION *segment)
{
    const struct allocation *allocation;
    const struct device *device;

    list_for_each (device, &process->devices, struct device, link) {
        list_for_each (allocation, &device->allocations, struct allocation, link) {
            unsigned place;

            if (allocation->is_dead || !vidmm_allocation_segment(allocation->handle, &place) ||
                place != id)
                continue;
            segment->BytesCommitted += allocation->bytes;
            segment->VideoMemory.AllocsCommitted++;
        }
    }
}

static bool tell_process_group(const struct d3dkmt_process *process,
                               D3DKMT_MEMORY_SEGMENT_GROUP which,
                               D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT_GROUP_INFORMATION *group)
{
    enum vidmm_budget_group budget;
    struct vidmm_budget_info info;

    if (!budget_find_group(which, &budget))
        return false;
    vidmm_budget_info(process->handle, budget, &info);
    group->Budget = budget_of(process, budget);
    group->Requested = info.held;
    group->Usage = info.resident;
    return true;
}

static D3DKMT_QUERYSTATISTICS_QUEUE_PACKET_TYPE_INFORMATION
queue_packets(const struct vidmm_packet_counts *counts)
{
    return (D3DKMT_QUERYSTATISTICS_QUEUE_PACKET_TYPE_INFORMATION){
        .PacketSubmited = low_part(counts->queued),
        .PacketCompleted = low_part(counts->completed + counts->failed)};
}

static D3DKMT_QUERYSTATISTICS_DMA_PACKET_TYPE_INFORMATION
dma_packets(const struct vidmm_packet_counts *counts)
{
    return (D3DKMT_QUERYSTATISTICS_DMA_PACKET_TYPE_INFORMATION){
        .PacketSubmited = low_part(counts->submitted),
        .PacketCompleted = low_part(counts->completed),
        .PacketPreempted = low_part(counts->came_back),
        .PacketFaulted = low_part(counts->failed)};
}

static void tell_node(const struct vidmm_node_counts *counts,
                      D3DKMT_QUERYSTATISTICS_PROCESS_NODE_INFORMATION *node)
{
    D3DKMT_QUERYSTATISTICS_PACKET_INFORMATION *packets = &node->PacketStatistics;

    node->RunningTime.QuadPart = (LONGLONG)(counts->running_ns / 1000);
    node->ContextSwitch = low_part(counts->switches);
    packets->QueuePacket[D3DKMT_RenderCommandBuffer] = queue_packets(&counts->work);
    packets->QueuePacket[D3DKMT_SystemCommandBuffer] = queue_packets(&counts->paging);
    packets->DmaPacket[D3DKMT_ClientRenderBuffer] = dma_packets(&counts->work);
    packets->DmaPacket[D3DKMT_SystemPagingBuffer] = dma_packets(&counts->paging);
}

/* False: there is no such node. */
static bool tell_of_node(const struct d3dkmt *front, unsigned id,
                         D3DKMT_QUERYSTATISTICS_NODE_INFORMATION *node)
{
    struct vidmm_node_counts all, system;

    if (id >= vidmm_node_count(front->config.vidmm))
        return false;
    vidmm_node_counts(front->config.vidmm, id, &all, &system);
    tell_node(&all, &node->GlobalInformation);
    tell_node(&system, &node->SystemInformation);
    node->NodePerfData.NodeOrdinal = id;
    return true;
}

static bool tell_process_node(const struct d3dkmt_process *process, unsigned id,
                              D3DKMT_QUERYSTATISTICS_PROCESS_NODE_INFORMATION *node)
{
    struct vidmm_node_counts counts;

    if (id >= vidmm_node_count(process->front->config.vidmm))
        return false;
    vidmm_process_node_counts(process->handle, id, &counts);
    tell_node(&counts, node);
    return true;
}

static bool has_segment(const struct d3dkmt *front, unsigned number)
{
    return number < vidmm_segment_count(front->config.vidmm);
}

NTSTATUS d3dkmt_QueryStatistics(struct d3dkmt_call *call, D3DKMT_QUERYSTATISTICS *arguments)
{
    const struct d3dkmt_process *process = call->process;
    const struct d3dkmt *front = process->front;
    D3DKMT_QUERYSTATISTICS_RESULT *result = &arguments->QueryResult;
    const LUID luid = front->config.luid;

    if (arguments->hProcess || arguments->AdapterLuid.LowPart != luid.LowPart ||
        arguments->AdapterLuid.HighPart != luid.HighPart)
        return STATUS_INVALID_PARAMETER;
    memset(result, 0, sizeof *result);
    switch ((unsigned)arguments->Type) {
    case D3DKMT_QUERYSTATISTICS_ADAPTER:
        tell_adapter(front, &result->AdapterInformation);
        return STATUS_SUCCESS;
    case D3DKMT_QUERYSTATISTICS_PROCESS:
        result->ProcessInformation.NodeCount = vidmm_node_count(front->config.vidmm);
        return STATUS_SUCCESS;
    case D3DKMT_QUERYSTATISTICS_PROCESS_ADAPTER:
        result->ProcessAdapterInformation.NbSegments = vidmm_segment_count(front->config.vidmm);
        result->ProcessAdapterInformation.NodeCount = vidmm_node_count(front->config.vidmm);
        return STATUS_SUCCESS;
    case D3DKMT_QUERYSTATISTICS_SEGMENT:
        if (!has_segment(front, arguments->QuerySegment.SegmentId))
            return STATUS_INVALID_PARAMETER;
        tell_segment(front, arguments->QuerySegment.SegmentId + 1, &result->SegmentInformation);
        return STATUS_SUCCESS;
    case D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT:
        if (!has_segment(front, arguments->QueryProcessSegment.SegmentId))
            return STATUS_INVALID_PARAMETER;
        tell_process_segment(process, arguments->QueryProcessSegment.SegmentId + 1,
                             &result->ProcessSegmentInformation);
        return STATUS_SUCCESS;
    case D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT_GROUP:
        return tell_process_group(process, arguments->QueryProcessSegmentGroup,
                                  &result->ProcessSegmentGroupInformation)
                   ? STATUS_SUCCESS
                   : STATUS_INVALID_PARAMETER;
    case D3DKMT_QUERYSTATISTICS_NODE:
        return tell_of_node(front, arguments->QueryNode.NodeId, &result->NodeInformation)
                   ? STATUS_SUCCESS
                   : STATUS_INVALID_PARAMETER;
    case D3DKMT_QUERYSTATISTICS_PROCESS_NODE:
        return tell_process_node(process, arguments->QueryProcessNode.NodeId,
                                 &result->ProcessNodeInformation)
                   ? STATUS_SUCCESS
                   : STATUS_INVALID_PARAMETER;
    case D3DKMT_QUERYSTATISTICS_VIDPNSOURCE:
    case D3DKMT_QUERYSTATISTICS_PROCESS_VIDPNSOURCE:
    case D3DKMT_QUERYSTATISTICS_PHYSICAL_ADAPTER:
        return STATUS_NOT_SUPPORTED;
    default:
        return STATUS_INVALID_PARAMETER;
    }
}

/* ---- Clocks ---------------------------------------------------------------------------------- */

NTSTATUS d3dkmt_QueryClockCalibration(struct d3dkmt_call *call,
                                      D3DKMT_QUERYCLOCKCALIBRATION *arguments)
{
    struct vidmm *vidmm = call->process->front->config.vidmm;

    if (!handle_find(call->process, arguments->hAdapter, OBJECT_ADAPTER) ||
        arguments->PhysicalAdapterIndex || arguments->NodeOrdinal >= vidmm_node_count(vidmm))
        return STATUS_INVALID_PARAMETER;
    return vidmm_calibrate_clock(vidmm, arguments->NodeOrdinal, &arguments->ClockData);
}
