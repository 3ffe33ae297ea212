#include "vidmm/work/node_count.h"

#include "vidmm/notes/note.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"
#include "vidmm/work/submission.h"

#include "base/list.h"
#include "base/services.h"
#include "vidsch/vidsch.h"

struct node_count {
    struct vidmm_node_counts all, system;
    const struct vidsch_context *context; /* of the packet that went last; only compared */
    uint64_t since_ns;                    /* when the packet that ends next was the first */
};

NTSTATUS node_counts_init(struct vidmm *vidmm)
{
    vidmm->node_counts =
        base_alloc_array(vidmm->services, vidmm->caps.node_count, sizeof *vidmm->node_counts);
    return vidmm->node_counts ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

void node_counts_fini(struct vidmm *vidmm)
{
    if (vidmm->node_counts)
        base_free_array(vidmm->services, vidmm->node_counts, vidmm->caps.node_count,
                        sizeof *vidmm->node_counts);
    vidmm->node_counts = NULL;
}

NTSTATUS node_counts_open_process(struct vidmm_process *process)
{
    const struct vidmm *vidmm = process->vidmm;

    process->node_counts =
        base_alloc_array(vidmm->services, vidmm->caps.node_count, sizeof *process->node_counts);
    return process->node_counts ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

void node_counts_close_process(struct vidmm_process *process)
{
    const struct vidmm *vidmm = process->vidmm;

    base_free_array(vidmm->services, process->node_counts, vidmm->caps.node_count,
                    sizeof *process->node_counts);
}

/* The process's, or the system's. */
static struct vidmm_node_counts *counts_of(struct node_count *node, const struct vidsch_told *told)
{
    const struct submission *submission;

    if (told->packet->ops->kind != VIDMM_PACKET_SUBMISSION)
        return &node->system;
    submission = container_of(told->packet, const struct submission, packet);
    return &submission->context->device->process->node_counts[told->node];
}

static void count_step(struct vidmm_packet_counts *counts, const struct vidsch_told *told)
{
    switch (told->step) {
    case VIDSCH_QUEUED:
        counts->queued++;
        break;
    case VIDSCH_SUBMITTED:
        counts->submitted++;
        break;
    case VIDSCH_CAME_BACK:
        counts->came_back += told->packet->is_with_driver;
        break;
    case VIDSCH_RETIRED:
        counts->completed += NT_SUCCESS(told->status);
        counts->failed += !NT_SUCCESS(told->status);
        break;
    }
}

/* A node that leaves its context runs, and does no work. */
static void count(struct vidmm_node_counts *counts, const struct vidsch_told *told,
                  uint64_t running_ns, bool is_switch)
{
    counts->running_ns += running_ns;
    counts->switches += is_switch;
    if (told->packet->ops->kind == VIDMM_PACKET_SUBMISSION)
        count_step(&counts->work, told);
    else if (told->packet->ops->kind == VIDMM_PACKET_PAGING)
        count_step(&counts->paging, told);
}

void node_counts_told(void *context, const struct vidsch_told *told)
{
    struct vidmm *vidmm = context;
    const struct vidmm_platform *platform = &vidmm->config.platform;
    struct node_count *node = &vidmm->node_counts[told->node];
    const bool goes = told->step == VIDSCH_SUBMITTED;
    const bool ends = (told->step == VIDSCH_CAME_BACK || told->step == VIDSCH_RETIRED) &&
                      told->packet->is_with_driver;
    const bool is_switch = goes && node->context != told->packet->context;
    /* Of packets that come back together, newest first, the oldest alone has run. */
    const bool has_run = ends && (told->step == VIDSCH_RETIRED || !told->in_flight);
    const uint64_t now_ns =
        (goes || ends) && platform->now_ns ? platform->now_ns(platform->context) : 0;
    const uint64_t running_ns = has_run ? now_ns - node->since_ns : 0;

    count(&node->all, told, running_ns, is_switch);
    count(counts_of(node, told), told, running_ns, is_switch);
    if (has_run || (goes && told->in_flight == 1))
        node->since_ns = now_ns;
    if (goes)
        node->context = told->packet->context;
    if (notes_are_heard(vidmm))
        note_packet(vidmm, told);
}

void vidmm_node_counts(const struct vidmm *vidmm, unsigned node, struct vidmm_node_counts *out_all,
                       struct vidmm_node_counts *out_system)
{
    *out_all = vidmm->node_counts[node].all;
    *out_system = vidmm->node_counts[node].system;
}

void vidmm_process_node_counts(const struct vidmm_process *process, unsigned node,
                               struct vidmm_node_counts *out_counts)
{
    *out_counts = process->node_counts[node];
}
