/*
 * Companion contexts: copies of page table entries run on them (S-25).
 *
 * Model  A context whose tiles are updated by copies has a companion, made with its first update,
 *        on the node that the driver named when it created the context (PagingCompanionNodeId). It
 *        is a system context of the paging process, whose window shows the tables of all processes:
 *        that is the privileged address space here (docs/contract-choices.md). The paging queue
 *        builds the operations of one job for it, and lets nothing else run meanwhile.
 *
 * Source contract.md CPTE-001, CPTE-007, PT-009; sequence S-25.
 */
#include "vidmm/work/companion.h"

#include "vidmm/adapter/driver_error.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/tables/paging_process.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/list.h"
#include "vidsch/vidsch.h"

NTSTATUS companion_create(struct vidmm_context *context)
{
    struct vidmm *vidmm = context->device->vidmm;
    struct companion *companion = &context->companion;
    DXGKARG_CREATECONTEXT create = {0};
    NTSTATUS status;

    if (companion->driver_context)
        return STATUS_SUCCESS;
    companion->node = context->info.PagingCompanionNodeId;
    if (companion->node >= vidmm->caps.node_count) {
        vidmm_driver_error(vidmm, "CPTE-007",
                           "DxgkDdiCreateContext.ContextInfo.PagingCompanionNodeId is %u of %u "
                           "nodes: entries cannot be copied for the context",
                           companion->node, vidmm->caps.node_count);
        return STATUS_INVALID_PARAMETER;
    }
    status = vidsch_context_create(vidmm->vidsch, companion->node, true, &companion->scheduler);
    if (!NT_SUCCESS(status))
        return status;
    create.hContext = companion;
    create.NodeOrdinal = companion->node;
    create.EngineAffinity = 1;
    create.Flags.SystemContext = 1;
    create.Flags.VirtualAddressing = 1;
    status = miniport_create_context(vidmm->miniport, vidmm->queue.driver_device, &create);
    if (!NT_SUCCESS(status))
        goto destroy_scheduler;
    companion->driver_context = create.hContext;
    status = paging_process_set_root(vidmm, companion->driver_context);
    if (!NT_SUCCESS(status))
        goto destroy_context;
    return STATUS_SUCCESS;

destroy_context:
    miniport_destroy_context(vidmm->miniport, companion->driver_context);
    companion->driver_context = NULL;
destroy_scheduler:
    vidsch_context_destroy(companion->scheduler);
    companion->scheduler = NULL;
    return status;
}

void companion_destroy(struct vidmm_context *context)
{
    struct vidmm *vidmm = context->device->vidmm;
    struct companion *companion = &context->companion;

    if (!companion->driver_context)
        return;
    paging_queue_leave(vidmm, companion);
    miniport_destroy_context(vidmm->miniport, companion->driver_context);
    vidsch_context_destroy(companion->scheduler);
    companion->driver_context = NULL;
    companion->scheduler = NULL;
}

NTSTATUS companions_set_root(struct vidmm *vidmm)
{
    struct vidmm_process *process;
    struct vidmm_device *device;
    struct vidmm_context *context;

    list_for_each (process, &vidmm->processes, struct vidmm_process, link) {
        list_for_each (device, &process->devices, struct vidmm_device, link) {
            list_for_each (context, &device->contexts, struct vidmm_context, link) {
                NTSTATUS status;

                if (!context->companion.driver_context)
                    continue;
                status = paging_process_set_root(vidmm, context->companion.driver_context);
                if (!NT_SUCCESS(status))
                    return status;
            }
        }
    }
    return STATUS_SUCCESS;
}
