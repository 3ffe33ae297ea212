/*
 * Idle updates: operations that must have the GPU, or an address space of it, for themselves.
 *
 * The first kind are those of drivers whose page tables may not change while the GPU uses them
 * (PageTableUpdateRequireAddressSpaceIdle).
 *
 * The first operation on tables of a process, or on cached entries of them, holds the contexts of
 * the process and waits until they are quiet; they go on when everything that was built has
 * retired. Switches of nodes to the null context, out of a context of the process, are submissions
 * of it as well. The paging process is not concerned: its tables are used by the buffers that
 * change them.
 *
 * The others are all that move an allocation with SynchronousPaging: in the same way they hold and
 * wait for the contexts of every process, and for switches to the null context, which are
 * submissions as well (ALLOC-015).
 *
 * Source     contract.md PT-036, TLB-003, ALLOC-015.
 */
#include "vidmm/work/idle_updates.h"

#include "vidmm/memory/allocation.h"
#include "vidmm/work/null_context.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"
#include "vidmm/work/space_contexts.h"

#include "base/list.h"
#include "miniport/operation.h"

/* NULL: the driver knows no process that has contexts by this handle. */
static struct vidmm_process *find_process(const struct vidmm *vidmm, HANDLE driver_process)
{
    struct vidmm_process *process;

    list_for_each (process, &vidmm->processes, struct vidmm_process, link) {
        if (process->space.driver_process == driver_process)
            return process;
    }
    return NULL;
}

/* Of a driver that gives its processes no handle of its own, the name is NULL. */
static bool names_process(const DXGKARG_BUILDPAGINGBUFFER *args)
{
    return args->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE ||
           args->Operation == DXGK_OPERATION_FLUSH_TLB;
}

/* Holds its contexts. */
static bool process_is_quiet(struct vidmm_process *process)
{
    if (!process->space.is_held_for_updates) {
        process->space.is_held_for_updates = true;
        process->vidmm->holds_for_updates = true;
        space_hold(&process->space);
    }
    return space_is_quiet(&process->space);
}

void idle_updates_meet(struct vidmm_process *process)
{
    if (process->vidmm->holds_everybody)
        process_is_quiet(process);
}

static bool moves_synchronous_one(const struct job *job)
{
    const struct vidmm_allocation *allocation = allocation_of_job(job);

    return allocation && allocation->is_synchronous;
}

bool idle_updates_may_go(struct vidmm *vidmm, struct job *job,
                         const DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct vidmm_process *process;
    bool is_quiet;

    if (moves_synchronous_one(job)) {
        vidmm->holds_everybody = true;
        is_quiet = null_contexts_hold(vidmm);
        list_for_each (process, &vidmm->processes, struct vidmm_process, link)
            is_quiet = process_is_quiet(process) && is_quiet;
        return is_quiet;
    }
    if (!vidmm->caps.update_requires_idle)
        return true;
    process = names_process(args) ? find_process(vidmm, miniport_operation_process(args)) : NULL;
    is_quiet = !process || process_is_quiet(process);
    return (!process || null_contexts_hold_process(vidmm, process)) && is_quiet;
}

void idle_updates_end(struct vidmm *vidmm)
{
    struct vidmm_process *process;

    if (!vidmm->holds_for_updates && !vidmm->holds_everybody)
        return;
    vidmm->holds_for_updates = vidmm->holds_everybody = false;
    null_contexts_release(vidmm);
    list_for_each (process, &vidmm->processes, struct vidmm_process, link) {
        if (!process->space.is_held_for_updates)
            continue;
        process->space.is_held_for_updates = false;
        space_release(&process->space);
    }
}
