/*
 * For what the manager waits when nothing more happens: the first thing in the order in which one
 * stands in the way of the next.
 */
#include "vidmm/paging/monitored_fence.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/residency/request.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/list.h"
#include "vidsch/vidsch.h"

#include <stdio.h>

/* Its packets are done: the value is in memory, or is not, and an interrupt was to say so. */
static const char *explain_fence(const struct vidmm *vidmm, char *text, size_t size)
{
    const struct request *request;
    const struct monitored_fence *fence;

    if (list_is_empty(&vidmm->signalling) || !paging_queue_is_idle(vidmm))
        return NULL;
    request = container_of(vidmm->signalling.next, struct request, link);
    fence = &request->device->paging_fence;
    if (!fence->cpu)
        return NULL;
    snprintf(text, size,
             "the paging fence at GPU address 0x%llx has the value %llu, and %llu is waited for: "
             "%s",
             (unsigned long long)fence->va, (unsigned long long)*fence->cpu,
             (unsigned long long)request->fence_value,
             *fence->cpu < request->fence_value
                 ? "the operation that writes it has retired"
                 : "no DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED was reported");
    return *fence->cpu < request->fence_value ? "NTF-007" : "NTF-009";
}

static void explain_manager(const struct vidmm *vidmm, char *text, size_t size)
{
    if (!paging_queue_is_idle(vidmm))
        snprintf(text, size, "the paging queue has operations, and builds or submits none");
    else if (!list_is_empty(&vidmm->requests))
        snprintf(text, size, "%u residency requests wait for places in memory",
                 (unsigned)list_count(&vidmm->requests));
    else if (vidmm->vidsch && !vidsch_is_idle(vidmm->vidsch))
        snprintf(text, size, "packets wait in their contexts, and none of them is submitted");
    else
        snprintf(text, size, "nothing of the memory manager is pending");
}

const char *vidmm_explain_wait(const struct vidmm *vidmm, char *text, size_t size)
{
    const char *rule = vidmm->vidsch ? vidsch_explain_wait(vidmm->vidsch, text, size) : NULL;

    if (!rule)
        rule = explain_fence(vidmm, text, size);
    if (!rule)
        explain_manager(vidmm, text, size);
    return rule;
}
