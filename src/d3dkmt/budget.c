/*
 * Budgets of processes, reservations, and notices to trim.
 *
 * A process with devices has in each group of segments what it has reserved, and an equal share of
 * what nobody has reserved. So a budget changes when processes come and go and when one changes its
 * reservation; who holds more from then on is asked to trim (TrimToBudget). A process that is alone
 * has everything.
 *
 * At most half of a group is reserved in all, and of that nobody takes what others have.
 */
#include "d3dkmt/front.h"

static bool counts(const struct d3dkmt_process *process)
{
    return !process->is_closed && !list_is_empty(&process->devices);
}

/* Bytes of the group's segments. */
static uint64_t group_bytes(const struct d3dkmt *front, enum vidmm_budget_group group)
{
    uint64_t bytes = 0;

    for (unsigned id = 1; id <= vidmm_segment_count(front->config.vidmm); id++) {
        struct vidmm_segment_info info;

        vidmm_segment_info(front->config.vidmm, id, &info);
        if (info.is_aperture == (group == VIDMM_BUDGET_NON_LOCAL))
            bytes += info.size;
    }
    return bytes;
}

static uint64_t reserved_by_others(const struct d3dkmt *front, const struct d3dkmt_process *than,
                                   enum vidmm_budget_group group)
{
    const struct d3dkmt_process *process;
    uint64_t bytes = 0;

    list_for_each (process, &front->processes, struct d3dkmt_process, link) {
        if (process != than && counts(process))
            bytes += process->reservation[group];
    }
    return bytes;
}

static void share_group(struct d3dkmt *front, enum vidmm_budget_group group)
{
    const uint64_t size = group_bytes(front, group);
    const uint64_t reserved = reserved_by_others(front, NULL, group);
    struct d3dkmt_process *process;
    uint64_t count = 0;

    list_for_each (process, &front->processes, struct d3dkmt_process, link)
        count += counts(process);
    list_for_each (process, &front->processes, struct d3dkmt_process, link) {
        if (!counts(process))
            continue;
        process->budget[group] =
            process->reservation[group] + (size > reserved ? (size - reserved) / count : 0);
        vidmm_set_budget(process->handle, group, process->budget[group]);
    }
}

void budgets_share(struct d3dkmt *front)
{
    share_group(front, VIDMM_BUDGET_LOCAL);
    share_group(front, VIDMM_BUDGET_NON_LOCAL);
}

uint64_t budget_excess(const struct d3dkmt_process *process)
{
    struct vidmm_budget_info info;

    vidmm_budget_info(process->handle, VIDMM_BUDGET_LOCAL, &info);
    return info.budget && info.held > info.budget ? info.held - info.budget : 0;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

bool budget_find_group(D3DKMT_MEMORY_SEGMENT_GROUP wanted, enum vidmm_budget_group *out_group)
{
    *out_group =
        wanted == D3DKMT_MEMORY_SEGMENT_GROUP_LOCAL ? VIDMM_BUDGET_LOCAL : VIDMM_BUDGET_NON_LOCAL;
    return wanted == D3DKMT_MEMORY_SEGMENT_GROUP_LOCAL ||
           wanted == D3DKMT_MEMORY_SEGMENT_GROUP_NON_LOCAL;
}

static uint64_t available(const struct d3dkmt_process *process, enum vidmm_budget_group group)
{
    const uint64_t most = group_bytes(process->front, group) / 2;
    const uint64_t others = reserved_by_others(process->front, process, group);

    return most > others ? most - others : 0;
}

uint64_t budget_of(const struct d3dkmt_process *process, enum vidmm_budget_group group)
{
    struct vidmm_budget_info info;

    vidmm_budget_info(process->handle, group, &info);
    return info.budget ? info.budget : group_bytes(process->front, group);
}

NTSTATUS d3dkmt_QueryVideoMemoryInfo(struct d3dkmt_call *call,
                                     D3DKMT_QUERYVIDEOMEMORYINFO *arguments)
{
    const struct d3dkmt_process *process = call->process;
    enum vidmm_budget_group group;
    struct vidmm_budget_info info;

    if (!handle_find(call->process, arguments->hAdapter, OBJECT_ADAPTER) ||
        arguments->PhysicalAdapterIndex || arguments->hProcess ||
        !budget_find_group(arguments->MemorySegmentGroup, &group))
        return STATUS_INVALID_PARAMETER;
    vidmm_budget_info(process->handle, group, &info);
    arguments->Budget = budget_of(process, group);
    arguments->CurrentUsage = info.resident;
    arguments->CurrentReservation = process->reservation[group];
    arguments->AvailableForReservation = available(process, group);
    return STATUS_SUCCESS;
}

NTSTATUS
d3dkmt_ChangeVideoMemoryReservation(struct d3dkmt_call *call,
                                    const D3DKMT_CHANGEVIDEOMEMORYRESERVATION *arguments)
{
    struct d3dkmt_process *process = call->process;
    enum vidmm_budget_group group;

    if (!handle_find(process, arguments->hAdapter, OBJECT_ADAPTER) ||
        arguments->PhysicalAdapterIndex || arguments->hProcess ||
        !budget_find_group(arguments->MemorySegmentGroup, &group) ||
        arguments->Reservation > available(process, group))
        return STATUS_INVALID_PARAMETER;
    process->reservation[group] = arguments->Reservation;
    budgets_share(process->front);
    return STATUS_SUCCESS;
}

/* ---- Notices --------------------------------------------------------------------------------- */

static void notify(struct d3dkmt_process *process, D3DDDI_TRIMRESIDENCYSET_FLAGS flags,
                   uint64_t bytes)
{
    const struct d3dkmt_board *board = &process->front->config.board;

    for (unsigned i = 0; i < MOST_TRIM_NOTICES; i++) {
        if (process->trims[i])
            board->notify(board->context, process->client, i, flags.Value, bytes);
    }
}

void d3dkmt_note_trim(struct d3dkmt *front, struct vidmm_process *handle,
                      enum vidmm_budget_group group, uint64_t bytes)
{
    const D3DDDI_TRIMRESIDENCYSET_FLAGS flags = {{{.TrimToBudget = 1}}};
    struct d3dkmt_process *process;

    list_for_each (process, &front->processes, struct d3dkmt_process, link) {
        if (process->handle == handle && !process->is_closed)
            notify(process, flags, bytes);
    }
}

void d3dkmt_trim_periodically(struct d3dkmt *front)
{
    const D3DDDI_TRIMRESIDENCYSET_FLAGS flags = {{{.PeriodicTrim = 1}}};
    struct d3dkmt_process *process;

    list_for_each (process, &front->processes, struct d3dkmt_process, link) {
        if (!process->is_closed)
            notify(process, flags, 0);
    }
}

bool d3dkmt_wants_trims(const struct d3dkmt *front)
{
    return front->trim_count;
}

/* The handle is the number of the registration, from 1. */
NTSTATUS d3dkmt_RegisterTrimNotification(struct d3dkmt_call *call,
                                         D3DKMT_REGISTERTRIMNOTIFICATION *arguments)
{
    struct d3dkmt_process *process = call->process;
    const LUID luid = process->front->config.luid;

    arguments->Handle = NULL;
    if (!handle_find(process, arguments->hDevice, OBJECT_DEVICE) ||
        arguments->AdapterLuid.LowPart != luid.LowPart ||
        arguments->AdapterLuid.HighPart != luid.HighPart)
        return STATUS_INVALID_PARAMETER;
    if (!process->front->config.board.notify)
        return STATUS_NOT_SUPPORTED;
    for (unsigned i = 0; i < MOST_TRIM_NOTICES; i++) {
        if (process->trims[i])
            continue;
        process->trims[i] = arguments->hDevice;
        process->front->trim_count++;
        arguments->Handle = (VOID *)(uintptr_t)(i + 1);
        return STATUS_SUCCESS;
    }
    return STATUS_NO_MEMORY;
}

NTSTATUS d3dkmt_UnregisterTrimNotification(struct d3dkmt_call *call,
                                           D3DKMT_UNREGISTERTRIMNOTIFICATION *arguments)
{
    const uintptr_t number = (uintptr_t)arguments->Handle;

    if (!number || number > MOST_TRIM_NOTICES || !call->process->trims[number - 1])
        return STATUS_INVALID_PARAMETER;
    call->process->trims[number - 1] = 0;
    call->process->front->trim_count--;
    return STATUS_SUCCESS;
}

void trims_forget_device(struct d3dkmt_process *process, D3DKMT_HANDLE device)
{
    for (unsigned i = 0; i < MOST_TRIM_NOTICES; i++) {
        if (process->trims[i] != device)
            continue;
        process->trims[i] = 0;
        process->front->trim_count--;
    }
}
