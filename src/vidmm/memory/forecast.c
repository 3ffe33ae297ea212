/*
 * Forecast: times of uses, bytes that will be created and destroyed, and the clock that passes
 * them.
 *
 * The heap has an allocation under the use that was the next one when it was put there. The clock
 * may have passed that use since: forecast_take_absent() puts such an allocation back under its
 * next one.
 */
#include "vidmm/memory/forecast.h"

#include "vidmm/adapter/pump.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/segment.h"
#include "vidmm/policy.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/memory/handles.h"

#include "base/bits.h"
#include "base/list.h"
#include "base/services.h"

#include <string.h>

static bool is_absent_sooner(const struct heap_node *a, const struct heap_node *b)
{
    const struct told_uses *first = container_of(a, struct told_uses, absent);
    const struct told_uses *second = container_of(b, struct told_uses, absent);

    if (first->absent_until != second->absent_until)
        return first->absent_until < second->absent_until;
    return first->allocation->handle < second->allocation->handle;
}

void forecast_init(struct vidmm *vidmm)
{
    heap_init(&vidmm->forecast.absent, is_absent_sooner);
}

static void free_demand(struct vidmm *vidmm)
{
    struct forecast *forecast = &vidmm->forecast;

    base_free_array(vidmm->services, forecast->demand, forecast->demand_count,
                    sizeof *forecast->demand);
    forecast->demand = NULL;
    forecast->demand_count = forecast->demand_at = 0;
    forecast->segment = NULL;
}

void forecast_fini(struct vidmm *vidmm)
{
    free_demand(vidmm);
    forecast_init(vidmm);
    vidmm->forecast.submitted_ns = vidmm->forecast.done_ns = 0;
}

static struct told_uses *uses_of(const struct vidmm_allocation *allocation)
{
    return allocation->handle ? allocation->vidmm->handles[allocation->handle - 1].uses : NULL;
}

static size_t uses_bytes(uint32_t count)
{
    return sizeof(struct told_uses) + count * sizeof(uint64_t);
}

static void leave_heap(struct vidmm *vidmm, struct told_uses *uses)
{
    if (!uses->is_absent)
        return;
    heap_remove(&vidmm->forecast.absent, &uses->absent);
    uses->is_absent = false;
}

static uint64_t next_use(const struct vidmm *vidmm, struct told_uses *uses)
{
    while (uses->at < uses->count && uses->ns[uses->at] < vidmm->forecast.submitted_ns)
        uses->at++;
    return uses->at < uses->count ? uses->ns[uses->at] : VIDMM_NEVER;
}

/* The allocation stands in the heap if it is not resident, has content and will be used. */
static void settle(struct vidmm *vidmm, struct told_uses *uses)
{
    const struct vidmm_allocation *allocation = uses->allocation;

    leave_heap(vidmm, uses);
    if (allocation->state != ALLOCATION_BACKED || allocation->is_destroyed ||
        allocation->instances || uses->is_for_cpu)
        return;
    uses->absent_until = next_use(vidmm, uses);
    if (uses->absent_until == VIDMM_NEVER)
        return;
    heap_insert(&vidmm->forecast.absent, &uses->absent);
    uses->is_absent = true;
}

bool forecast_next_use(const struct vidmm_allocation *allocation, uint64_t *out_ns)
{
    struct told_uses *uses = uses_of(allocation);

    *out_ns = VIDMM_NEVER;
    if (!uses)
        return false;
    *out_ns = uses->is_for_cpu ? allocation->vidmm->forecast.submitted_ns
                               : next_use(allocation->vidmm, uses);
    return true;
}

struct vidmm_allocation *forecast_take_absent(struct vidmm *vidmm, uint64_t *out_ns)
{
    struct heap_node *node;

    *out_ns = VIDMM_NEVER;
    while ((node = heap_first(&vidmm->forecast.absent))) {
        struct told_uses *uses = container_of(node, struct told_uses, absent);
        uint64_t use_ns = next_use(vidmm, uses);

        if (use_ns == uses->absent_until) {
            leave_heap(vidmm, uses);
            *out_ns = use_ns;
            return uses->allocation;
        }
        settle(vidmm, uses);
    }
    return NULL;
}

void forecast_put_back(struct vidmm_allocation *allocation)
{
    settle(allocation->vidmm, uses_of(allocation));
}

int64_t forecast_least_free(const struct vidmm *vidmm, const struct segment *segment,
                            uint64_t from_ns, uint64_t until_ns, int64_t free_bytes)
{
    const struct forecast *forecast = &vidmm->forecast;
    int64_t least = INT64_MAX;

    if (segment != forecast->segment)
        return free_bytes;
    for (unsigned at = forecast->demand_at;
         at < forecast->demand_count && forecast->demand[at].at_ns <= until_ns; at++) {
        const struct vidmm_demand *demand = &forecast->demand[at];

        if (demand->at_ns > from_ns && free_bytes < least)
            least = free_bytes;
        free_bytes += (int64_t)demand->destroyed - (int64_t)demand->created;
    }
    return free_bytes < least ? free_bytes : least;
}

void forecast_note_state(struct vidmm_allocation *allocation)
{
    struct told_uses *uses = allocation->vidmm->forecast.told_count ? uses_of(allocation) : NULL;

    if (!uses || uses->allocation != allocation)
        return;
    if (allocation->state == ALLOCATION_ENTERING)
        uses->is_for_cpu = false;
    settle(allocation->vidmm, uses);
}

void forecast_note_cpu(struct vidmm_allocation *allocation)
{
    struct told_uses *uses = uses_of(allocation);

    if (uses)
        uses->is_for_cpu = true;
}

void forecast_forget(struct vidmm_allocation *allocation)
{
    struct vidmm *vidmm = allocation->vidmm;
    struct told_uses *uses = uses_of(allocation);

    if (!uses)
        return;
    leave_heap(vidmm, uses);
    vidmm->handles[allocation->handle - 1].uses = NULL;
    vidmm->forecast.told_count--;
    base_free(vidmm->services, uses, uses_bytes(uses->count));
}

/* ---- The public side ------------------------------------------------------------------------- */

NTSTATUS vidmm_forecast_uses(struct vidmm_allocation *allocation, unsigned count,
                             const uint64_t *uses_ns)
{
    struct vidmm *vidmm = allocation->vidmm;
    struct told_uses *uses;

    for (unsigned i = 1; i < count; i++) {
        if (uses_ns[i] < uses_ns[i - 1])
            return STATUS_INVALID_PARAMETER;
    }
    if (allocation->is_destroyed || !allocation->handle)
        return STATUS_INVALID_HANDLE;
    uses = base_alloc(vidmm->services, uses_bytes(count));
    if (!uses)
        return STATUS_NO_MEMORY;
    forecast_forget(allocation);
    uses->allocation = allocation;
    uses->count = count;
    if (count) /* else there is nothing to copy from */
        memcpy(uses->ns, uses_ns, count * sizeof *uses_ns);
    vidmm->handles[allocation->handle - 1].uses = uses;
    vidmm->forecast.told_count++;
    settle(vidmm, uses);
    return STATUS_SUCCESS;
}

NTSTATUS vidmm_forecast_demand(struct vidmm *vidmm, unsigned segment, unsigned count,
                               const struct vidmm_demand *demand)
{
    struct forecast *forecast = &vidmm->forecast;
    struct vidmm_demand *copy;

    if (!segment || segment > vidmm->caps.segment_count)
        return STATUS_INVALID_PARAMETER;
    for (unsigned i = 1; i < count; i++) {
        if (demand[i].at_ns < demand[i - 1].at_ns)
            return STATUS_INVALID_PARAMETER;
    }
    copy = base_alloc_array(vidmm->services, count, sizeof *copy);
    if (!copy && count)
        return STATUS_NO_MEMORY;
    free_demand(vidmm);
    if (count)
        memcpy(copy, demand, count * sizeof *copy);
    forecast->segment = segment_by_id(vidmm, segment);
    forecast->demand = copy;
    forecast->demand_count = count;
    return STATUS_SUCCESS;
}

void vidmm_forecast_time(struct vidmm *vidmm, uint64_t submitted_ns, uint64_t done_ns)
{
    struct forecast *forecast = &vidmm->forecast;

    forecast->submitted_ns = submitted_ns;
    forecast->done_ns = done_ns < submitted_ns ? done_ns : submitted_ns;
    while (forecast->demand_at < forecast->demand_count &&
           forecast->demand[forecast->demand_at].at_ns < submitted_ns)
        forecast->demand_at++;
    vidmm_pump(vidmm);
}
