#include "vidmm/work/null_context.h"

#include "vidmm/adapter/power.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/paging/job.h"
#include "vidmm/tables/address_space.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/services.h"
#include "vidsch/vidsch.h"

/* Of one node. */
struct null_context {
    struct vidsch_packet packet;
    struct vidmm *vidmm;
    struct vidsch_context *scheduler;    /* client work, no paging */
    const struct vidmm_context *current; /* ran last; NULL: the system's, or none */
    bool is_system;                      /* ... the system's */
    bool is_under_way;
    bool is_held;                        /* the scheduler is, by idle_updates.c */
    HANDLE driver_context;               /* the context that the node leaves */
    const struct vidmm_process *process; /* ... its process; NULL: the system's */
    unsigned node;
};

static bool is_wanted(const struct vidmm *vidmm)
{
    return vidmm->config.switches_to_null_context &&
           vidmm->caps.interface_version >= DXGKDDI_INTERFACE_VERSION_WIN8;
}

static NTSTATUS submit_switch(struct vidsch_packet *packet, struct miniport *miniport)
{
    struct null_context *switched = container_of(packet, struct null_context, packet);

    /* Work of the context may have gone to the node while the switch was queued. */
    switched->current = NULL;
    switched->is_system = false;
    if (packet->is_virtual) {
        DXGKARG_SUBMITCOMMANDVIRTUAL args = {0};

        args.hContext = switched->driver_context;
        args.SubmissionFenceId = packet->fence_id;
        args.Flags.ContextSwitch = 1;
        args.Flags.Paging = packet->is_paging;
        args.Flags.Resubmission = packet->is_resubmission;
        args.NodeOrdinal = switched->node;
        return miniport_submit_command_virtual(miniport, NULL, &args);
    } else {
        DXGKARG_SUBMITCOMMAND args = {0};

        args.hContext = switched->driver_context;
        args.SubmissionFenceId = packet->fence_id;
        args.Flags.ContextSwitch = 1;
        args.Flags.Paging = packet->is_paging;
        args.NodeOrdinal = switched->node;
        return miniport_submit_command(miniport, NULL, &args);
    }
}

/* A reset has no current context either. */
static void switch_retired(struct vidsch_packet *packet, NTSTATUS status)
{
    container_of(packet, struct null_context, packet)->is_under_way = false;
}

static const struct vidsch_packet_ops switch_ops = {NULL, submit_switch, switch_retired,
                                                    VIDMM_PACKET_SWITCH};

static void leave(struct null_context *node)
{
    struct vidmm *vidmm = node->vidmm;

    node->driver_context =
        node->is_system ? vidmm->queue.driver_context : node->current->driver_context;
    node->packet = (struct vidsch_packet){
        .ops = &switch_ops,
        .is_paging = node->is_system,
        .is_virtual = node->is_system ? vidmm->caps.has_page_tables : vidmm->caps.is_virtual};
    node->process = node->is_system ? NULL : node->current->device->process;
    node->current = NULL;
    node->is_under_way = true;
    vidmm->statistics.context_switches++;
    vidsch_submit(node->is_system ? vidmm->queue.context : node->scheduler, &node->packet);
    node->is_system = false;
}

NTSTATUS null_contexts_init(struct vidmm *vidmm)
{
    unsigned count = vidmm->caps.node_count;
    NTSTATUS status = STATUS_SUCCESS;
    unsigned i;

    if (!is_wanted(vidmm))
        return STATUS_SUCCESS;
    vidmm->null_contexts = base_alloc_array(vidmm->services, count, sizeof *vidmm->null_contexts);
    if (!vidmm->null_contexts)
        return STATUS_NO_MEMORY;
    for (i = 0; i < count && NT_SUCCESS(status); i++) {
        vidmm->null_contexts[i].vidmm = vidmm;
        vidmm->null_contexts[i].node = i;
        status = vidsch_context_create(vidmm->vidsch, i, false, &vidmm->null_contexts[i].scheduler);
    }
    if (!NT_SUCCESS(status))
        null_contexts_fini(vidmm);
    return status;
}

void null_contexts_fini(struct vidmm *vidmm)
{
    unsigned i;

    if (!vidmm->null_contexts)
        return;
    for (i = 0; i < vidmm->caps.node_count; i++) {
        if (vidmm->null_contexts[i].scheduler)
            vidsch_context_destroy(vidmm->null_contexts[i].scheduler);
    }
    base_free_array(vidmm->services, vidmm->null_contexts, vidmm->caps.node_count,
                    sizeof *vidmm->null_contexts);
    vidmm->null_contexts = NULL;
}

/*
 * The node was given work of the driver's context. A switch that is queued, and would leave another
 * one, is not needed any more: the node has left that by itself.
 */
static void entered(struct null_context *node, const struct vidmm_context *current, bool is_system,
                    HANDLE driver_context)
{
    if (node->is_under_way && node->driver_context != driver_context)
        vidsch_cancel(&node->packet, STATUS_CANCELLED);
    node->current = current;
    node->is_system = is_system;
}

void null_contexts_ran(struct vidmm *vidmm, unsigned node, const struct vidmm_context *context)
{
    if (vidmm->null_contexts)
        entered(&vidmm->null_contexts[node], context, !context,
                context ? context->driver_context : vidmm->queue.driver_context);
}

void null_contexts_ran_companion(struct vidmm *vidmm, unsigned node)
{
    if (vidmm->null_contexts)
        entered(&vidmm->null_contexts[node], NULL, false, NULL);
}

void null_contexts_forget(struct vidmm *vidmm, const struct vidmm_context *context)
{
    struct null_context *node = vidmm->null_contexts ? &vidmm->null_contexts[context->node] : NULL;

    if (!node)
        return;
    if (node->current == context)
        node->current = NULL;
    if (node->is_under_way && node->driver_context == context->driver_context)
        vidsch_cancel(&node->packet, STATUS_CANCELLED);
}

/* Queued switches would lead out of contexts that the GPU has lost; it has left them. */
void null_contexts_reset(struct vidmm *vidmm)
{
    unsigned i;

    for (i = 0; vidmm->null_contexts && i < vidmm->caps.node_count; i++) {
        struct null_context *node = &vidmm->null_contexts[i];

        node->current = NULL;
        node->is_system = false;
        if (node->is_under_way)
            vidsch_cancel(&node->packet, STATUS_CANCELLED);
    }
}

/* True: no switch of the node is with the driver, and none comes to it from now on. */
static bool hold(struct null_context *node)
{
    if (!node->is_held)
        vidsch_context_hold(node->scheduler);
    node->is_held = true;
    return vidsch_context_is_quiet(node->scheduler);
}

bool null_contexts_hold(struct vidmm *vidmm)
{
    bool is_quiet = true;
    unsigned i;

    for (i = 0; vidmm->null_contexts && i < vidmm->caps.node_count; i++)
        is_quiet = hold(&vidmm->null_contexts[i]) && is_quiet;
    return is_quiet;
}

bool null_contexts_hold_process(struct vidmm *vidmm, const struct vidmm_process *process)
{
    bool is_quiet = true;
    unsigned i;

    for (i = 0; vidmm->null_contexts && i < vidmm->caps.node_count; i++) {
        struct null_context *node = &vidmm->null_contexts[i];

        if (node->is_under_way && node->process == process)
            is_quiet = hold(node) && is_quiet;
    }
    return is_quiet;
}

void null_contexts_release(struct vidmm *vidmm)
{
    unsigned i;

    for (i = 0; vidmm->null_contexts && i < vidmm->caps.node_count; i++) {
        struct null_context *node = &vidmm->null_contexts[i];

        if (!node->is_held)
            continue;
        node->is_held = false;
        vidsch_context_release(node->scheduler);
    }
}

/* The allocation that the job takes away from its place; NULL: none. */
static const struct vidmm_allocation *taken_by(const struct job *job)
{
    switch (job->ops->kind) {
    case JOB_LEAVE:
    case JOB_DROP:
    case JOB_MOVE:
        return allocation_of_job(job);
    default:
        return NULL;
    }
}

/*
 * The allocation whose device's contexts have to be left before the next operation of the job;
 * NULL: none. While the adapter is going to sleep, only paging goes to the GPU, and nobody else's
 * work comes back.
 */
static const struct vidmm_allocation *loses(const struct vidmm *vidmm, const struct job *job)
{
    if (!vidmm->null_contexts || vidmm->power.state != POWER_ON || vidmm->recovery.is_under_way)
        return NULL;
    return taken_by(job);
}

static bool has_to_leave(const struct null_context *node, const struct vidmm_allocation *allocation)
{
    return !node->is_under_way && node->current && node->current->device == allocation->device;
}

bool null_contexts_need_release(const struct vidmm *vidmm, const struct job *job)
{
    const struct vidmm_allocation *allocation = loses(vidmm, job);
    unsigned i;

    for (i = 0; allocation && i < vidmm->caps.node_count; i++) {
        const struct null_context *node = &vidmm->null_contexts[i];

        if (node->is_under_way && node->is_held)
            return true;
        if (has_to_leave(node, allocation) &&
            node->current->device->process->space.is_held_for_updates)
            return true;
    }
    return false;
}

bool null_contexts_may_go(struct vidmm *vidmm, const struct job *job)
{
    const struct vidmm_allocation *allocation = loses(vidmm, job);
    bool may_go = true;
    unsigned i;

    for (i = 0; allocation && i < vidmm->caps.node_count; i++) {
        struct null_context *node = &vidmm->null_contexts[i];

        if (has_to_leave(node, allocation))
            leave(node);
        may_go = may_go && !node->is_under_way;
    }
    return may_go;
}

bool null_contexts_leave_paging(struct vidmm *vidmm)
{
    struct null_context *node =
        vidmm->null_contexts ? &vidmm->null_contexts[vidmm->queue.node] : NULL;

    if (!node || node->is_under_way || !node->is_system)
        return false;
    leave(node);
    return true;
}
