/*
 * Idle updates: drivers whose page tables may not change while the GPU uses them
 * (PageTableUpdateRequireAddressSpaceIdle).
 *
 * The first operation on tables of a process, or on what is cached of them, holds the contexts of the
 * process and waits until they are quiet; they go on when everything that was built has retired.
 * The paging process is not concerned: its tables are used by the buffers that change them.
 *
 * Source     contract.md PT-036, TLB-003.
 */
#include "vidmm/private.h"

static struct vidmm_process *find_process(const struct vidmm *vidmm, HANDLE driver_process)
{
    struct vidmm_process *process;

    list_for_each (process, &vidmm->processes, struct vidmm_process, link) {
        if (process->space.driver_process == driver_process)
            return process;
    }
    return NULL;
}

/* Whose tables the operation is about; NULL: nobody's that has contexts. */
static struct vidmm_process *concerned(const struct vidmm *vidmm,
                                       const DXGKARG_BUILDPAGINGBUFFER *args)
{
    switch ((unsigned)args->Operation) {
    case DXGK_OPERATION_UPDATE_PAGE_TABLE:
        return find_process(vidmm, args->UpdatePageTable.hProcess);
    case DXGK_OPERATION_FLUSH_TLB:
        return find_process(vidmm, args->FlushTlb.hProcess);
    default:
        return NULL;
    }
}

bool idle_updates_may_go(struct vidmm *vidmm, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct vidmm_process *process;

    if (!vidmm->caps.update_requires_idle)
        return true;
    process = concerned(vidmm, args);
    if (!process)
        return true;
    if (!process->space.is_held_for_updates) {
        process->space.is_held_for_updates = true;
        space_hold(&process->space);
    }
    return space_is_quiet(&process->space);
}

void idle_updates_end(struct vidmm *vidmm)
{
    struct vidmm_process *process;

    if (!vidmm->caps.update_requires_idle)
        return;
    list_for_each (process, &vidmm->processes, struct vidmm_process, link) {
        if (!process->space.is_held_for_updates)
            continue;
        process->space.is_held_for_updates = false;
        space_release(&process->space);
    }
}
