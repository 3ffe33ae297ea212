/*
 * Demotion: a process gives way to another one that finds no room.
 *
 * A request that has starved for a while may take memory of others: references that a client holds
 * are given back to the manager without its doing, and its device is suspended: no work of it is
 * handed over until they have been taken again. Who is demoted stands in the line of the starved
 * from then on, and demotes in its turn. So processes that do not fit side by side have the memory
 * one after the other, and none of them is lost.
 *
 * A device also gives way to itself: a user-mode driver may hold resident all that it has ever
 * used. What comes new gets local memory then, and what came first gets the system memory that its
 * driver allows as well.
 *
 * Who has to give way: processes over their budget, the most first; then those that have not worked
 * for longest. Locked allocations and those of system memory stay.
 */
#include "d3dkmt/front.h"

/* One that has not found room by then is larger than what can be had. */
#define MOST_DEMOTIONS 3u

static uint64_t bytes_of(const struct paging_operation *operation)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < operation->count; i++) {
        if (!vidmm_allocation_is_resident(operation->allocations[i]->handle))
            bytes += operation->allocations[i]->bytes;
    }
    return bytes ? bytes : PAGE_SIZE_BYTES;
}

static bool is_in_memory(const struct d3dkmt *front, const struct allocation *allocation)
{
    struct vidmm_segment_info info;
    unsigned segment;

    if (!vidmm_allocation_segment(allocation->handle, &segment) || !segment)
        return false;
    vidmm_segment_info(front->config.vidmm, segment, &info);
    return !info.is_aperture;
}

static bool may_be_demoted(const struct allocation *allocation)
{
    return allocation->residency > allocation->demoted && !allocation->requests &&
           !allocation->is_destroyed && !allocation->locks && !allocation->client_pages &&
           !allocation->memory->lock_count && is_in_memory(allocation->process->front, allocation);
}

/* Other devices hold it, too: it would not leave. */
static bool is_held_by_others(const struct allocation *allocation)
{
    const struct allocation *opening;

    list_for_each (opening, &allocation->memory->openings, struct allocation, memory_link) {
        if (opening != allocation && opening->residency > opening->demoted)
            return true;
    }
    return false;
}

static unsigned references_of(const struct device *device)
{
    const struct allocation *allocation;
    unsigned count = 0;

    list_for_each (allocation, &device->allocations, struct allocation, link) {
        if (may_be_demoted(allocation))
            count += allocation->residency - allocation->demoted;
    }
    return count;
}

/* ---- Victims --------------------------------------------------------------------------------- */

static bool is_better(const struct device *device, const struct device *than)
{
    const uint64_t excess = budget_excess(device->process);
    const uint64_t other = than ? budget_excess(than->process) : 0;

    return !than || excess > other || (excess == other && device->last_work < than->last_work);
}

static struct device *choose_victim(struct d3dkmt *front, const struct d3dkmt_process *for_whom)
{
    struct d3dkmt_process *process;
    struct device *device, *chosen = NULL;

    list_for_each (process, &front->processes, struct d3dkmt_process, link) {
        if (process == for_whom || process->is_closed)
            continue;
        list_for_each (device, &process->devices, struct device, link) {
            if (!device->object.is_going && references_of(device) && is_better(device, chosen))
                chosen = device;
        }
    }
    return chosen;
}

/* All references of one allocation; what is to take them again notes them. */
static void demote_allocation(struct allocation *allocation, struct paging_operation *restore)
{
    const unsigned count = allocation->residency - allocation->demoted;

    for (unsigned i = 0; i < count; i++) {
        restore->allocations[restore->count] = allocation;
        restore->handles[restore->count++] = allocation->handle;
    }
    allocation->requests += count;
    allocation->demoted += count;
    allocation->device->demoted += count;
    allocation_give_back(allocation, count);
}

/*
 * All that the device has: a part of it would leave it suspended and help it to nothing. Adds the
 * bytes that can leave now. False: no memory.
 */
static bool demote_device(struct device *device, uint64_t *bytes)
{
    struct d3dkmt *front = device->process->front;
    struct allocation *allocation;
    struct paging_operation *restore;
    const uint64_t before = *bytes;

    if (!NT_SUCCESS(paging_begin_for(device, references_of(device), &restore)))
        return false;
    restore->count = 0;
    restore->is_restore = true;
    list_for_each (allocation, &device->allocations, struct allocation, link) {
        if (!may_be_demoted(allocation))
            continue;
        if (!is_held_by_others(allocation))
            *bytes += allocation->bytes;
        demote_allocation(allocation, restore);
    }
    front->statistics.demoted_bytes += *bytes - before;
    front->statistics.demotions++;
    paging_wait_for_room(restore);
    return true;
}

/* The oldest for which others have not given way in vain; NULL: there is none. */
static struct paging_operation *first_in_line(struct d3dkmt *front)
{
    struct paging_operation *operation;

    list_for_each (operation, &front->starved, struct paging_operation, starved_link) {
        if (operation->demotions < MOST_DEMOTIONS)
            return operation;
    }
    return NULL;
}

/* What the process waits for, all in all: it has its turn with everything. */
static uint64_t wanted_by(struct d3dkmt *front, const struct d3dkmt_process *process)
{
    const struct paging_operation *operation;
    uint64_t bytes = 0;

    list_for_each (operation, &front->starved, struct paging_operation, starved_link) {
        if (operation->process == process)
            bytes += bytes_of(operation);
    }
    return bytes;
}

bool d3dkmt_demote(struct d3dkmt *front)
{
    struct paging_operation *operation = first_in_line(front);
    uint64_t wanted, bytes = 0;

    if (!operation)
        return false;
    operation->demotions++;
    wanted = wanted_by(front, operation->process);
    while (bytes < wanted) {
        struct device *victim = choose_victim(front, operation->process);

        if (!victim || !demote_device(victim, &bytes))
            break;
    }
    if (bytes)
        front_changed(front);
    return bytes;
}

/* ---- Within a device ------------------------------------------------------------------------- */

static bool is_memory(const struct d3dkmt *front, unsigned segment)
{
    struct vidmm_segment_info info = {.is_aperture = true};

    if (segment && segment <= vidmm_segment_count(front->config.vidmm))
        vidmm_segment_info(front->config.vidmm, segment, &info);
    return !info.is_aperture;
}

/* The memory segment that it wants most, where another one would do; 0: there is none. */
static unsigned wanted_segment(const struct allocation *allocation)
{
    const unsigned first = vidmm_allocation_choice(allocation->handle, 0);

    return is_memory(allocation->process->front, first) &&
                   vidmm_allocation_choice(allocation->handle, 1) != VIDMM_NO_CHOICE
               ? first
               : 0;
}

/* None that the operation names: those have requests. */
static bool gives_way(const struct allocation *allocation, unsigned segment)
{
    unsigned now;

    return may_be_demoted(allocation) && !is_held_by_others(allocation) &&
           wanted_segment(allocation) == segment &&
           vidmm_allocation_segment(allocation->handle, &now) && now == segment;
}

/* Bytes that are missing in the segment; 0: there is room, or nobody wants any. */
static uint64_t missing_bytes(const struct paging_operation *operation, unsigned *out_segment)
{
    struct vidmm_segment_info info;
    uint64_t bytes = 0;

    *out_segment = 0;
    for (unsigned i = 0; i < operation->count; i++) {
        const struct allocation *allocation = operation->allocations[i];
        const unsigned segment = wanted_segment(allocation);

        if (!segment || vidmm_allocation_is_resident(allocation->handle))
            continue;
        *out_segment = segment;
        bytes += allocation->bytes;
    }
    if (!bytes)
        return 0;
    vidmm_segment_info(operation->process->front->config.vidmm, *out_segment, &info);
    return bytes > info.size               ? 0
           : info.size - info.used < bytes ? bytes - info.size + info.used
                                           : 0;
}

/*
 * The oldest first, no more than are needed, and nobody where that is not enough. The manager takes
 * what nobody holds before what is let go here.
 */
void paging_make_way(struct paging_operation *operation)
{
    struct device *device = operation->device;
    struct paging_operation *restore;
    struct allocation *allocation;
    unsigned segment, references = 0;
    uint64_t missing = missing_bytes(operation, &segment), bytes = 0;

    if (!missing)
        return;
    list_for_each (allocation, &device->allocations, struct allocation, link) {
        if (bytes >= missing || !gives_way(allocation, segment))
            continue;
        bytes += allocation->bytes;
        references += allocation->residency - allocation->demoted;
    }
    if (bytes < missing || !NT_SUCCESS(paging_begin_for(device, references, &restore)))
        return;
    restore->count = 0;
    restore->is_restore = true;
    operation->makes_way = true;
    list_for_each (allocation, &device->allocations, struct allocation, link) {
        if (restore->count >= references)
            break;
        if (gives_way(allocation, segment))
            demote_allocation(allocation, restore);
    }
    device->process->front->statistics.demoted_bytes += bytes;
    device->process->front->statistics.demotions++;
    paging_wait_for_room(restore);
}
