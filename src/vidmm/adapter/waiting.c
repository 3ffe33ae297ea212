/*
 * For what the manager waits when nothing more happens: the first thing in the order in which one
 * stands in the way of the next.
 */
#include "vidmm/paging/paging_queue.h"
#include "vidmm/residency/request.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/list.h"
#include "vidsch/vidsch.h"

#include <stdio.h>

static void explain_manager(const struct vidmm *vidmm, char *text, size_t size)
{
    if (!paging_queue_is_idle(vidmm))
        snprintf(text, size, "the paging queue has operations, and builds or submits none");
    else if (!list_is_empty(&vidmm->requests))
        snprintf(text, size, "%u residency requests wait for places in memory",
                 (unsigned)list_count(&vidmm->requests));
    else if (vidmm->vidsch && !vidsch_is_idle(vidmm->vidsch))
        snprintf(text, size, "packets wait in their contexts, and none of them is submitted");
    else if (vidmm->doomed_count)
        snprintf(text, size, "%u destroyed allocations have not gone",
                 (unsigned)vidmm->doomed_count);
    else
        snprintf(text, size, "nothing of the memory manager is pending");
}

const char *vidmm_explain_wait(const struct vidmm *vidmm, char *text, size_t size)
{
    const char *rule = vidmm->vidsch ? vidsch_explain_wait(vidmm->vidsch, text, size) : NULL;

    if (!rule)
        rule = components_explain_wait(vidmm, text, size);
    if (!rule)
        explain_manager(vidmm, text, size);
    return rule;
}
