/* Notes: the ones of objects, requests and places. note_work.c has those of work. */
#include "vidmm/notes/note.h"

#include "vidmm/mappings/mapping.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/reference_list.h"
#include "vidmm/memory/segment.h"
#include "vidmm/residency/request.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"
#include "vidmm/work/submission.h"

#include "base/bits.h"

_Static_assert((int)VIDMM_STATE_EMPTY == ALLOCATION_EMPTY &&
                   (int)VIDMM_STATE_BACKED == ALLOCATION_BACKED &&
                   (int)VIDMM_STATE_ENTERING == ALLOCATION_ENTERING &&
                   (int)VIDMM_STATE_RESIDENT == ALLOCATION_RESIDENT &&
                   (int)VIDMM_STATE_LEAVING == ALLOCATION_LEAVING &&
                   (int)VIDMM_STATE_DYING == ALLOCATION_DYING,
               "the states are told as they are");

static void tell(const struct vidmm *vidmm, const struct vidmm_note *note)
{
    vidmm->config.events.told(vidmm->config.events.context, note);
}

static struct vidmm_noted_allocation noted(const struct vidmm_allocation *allocation)
{
    const struct vidmm_allocation *first = allocation_first(allocation);

    return (struct vidmm_noted_allocation){first, allocation == first ? NULL : allocation};
}

static uint64_t number_of(const struct request *request)
{
    return request ? request->number : 0;
}

/* ---- Objects --------------------------------------------------------------------------------- */

static void tell_object(const struct vidmm *vidmm, bool is_there,
                        const struct vidmm_note_object *object)
{
    struct vidmm_note note = {.kind = is_there ? VIDMM_NOTE_OBJECT : VIDMM_NOTE_OBJECT_ENDS,
                              .object = *object};

    tell(vidmm, &note);
}

void note_process(struct vidmm_process *process, bool is_there)
{
    tell_object(process->vidmm, is_there,
                &(struct vidmm_note_object){.kind = VIDMM_OBJECT_PROCESS,
                                            .object = process,
                                            .driver_handle = process->space.driver_process});
}

void note_device(struct vidmm_device *device, bool is_there)
{
    tell_object(device->vidmm, is_there,
                &(struct vidmm_note_object){.kind = VIDMM_OBJECT_DEVICE,
                                            .object = device,
                                            .parent = device->process,
                                            .driver_handle = device->driver_device,
                                            .paging_fence = &device->paging_fence.waiters});
}

void note_context(struct vidmm_context *context, bool is_there)
{
    tell_object(context->device->vidmm, is_there,
                &(struct vidmm_note_object){.kind = VIDMM_OBJECT_CONTEXT,
                                            .object = context,
                                            .parent = context->device,
                                            .driver_handle = context->driver_context,
                                            .node = context->node});
}

static enum vidmm_object_kind kind_of(const struct vidmm_allocation *allocation)
{
    if (allocation_first(allocation) != allocation)
        return VIDMM_OBJECT_INSTANCE;
    if (allocation->is_dma_buffer)
        return VIDMM_OBJECT_BUFFER;
    return allocation->context ? VIDMM_OBJECT_OWN_ALLOCATION : VIDMM_OBJECT_ALLOCATION;
}

void note_allocation(const struct vidmm_allocation *allocation, bool is_there)
{
    enum vidmm_object_kind kind = kind_of(allocation);

    tell_object(allocation->vidmm, is_there,
                &(struct vidmm_note_object){
                    .kind = kind,
                    .object = allocation,
                    .parent = kind == VIDMM_OBJECT_INSTANCE
                                  ? (const void *)allocation_first(allocation)
                                  : allocation->device,
                    .driver_handle = allocation->driver_handle,
                    .bytes = PAGE_BYTES_OF(allocation->page_count),
                    .preferred = allocation->preference,
                    .preferred_count = allocation->preference_count,
                    .state = (enum vidmm_noted_state)allocation->state,
                });
}

void note_native_fence(struct vidmm_process *process, const struct vidmm_native_fence *fence,
                       HANDLE driver_handle, bool is_there)
{
    tell_object(process->vidmm, is_there,
                &(struct vidmm_note_object){.kind = VIDMM_OBJECT_NATIVE_FENCE,
                                            .object = fence,
                                            .parent = process,
                                            .driver_handle = driver_handle});
}

void note_list(const struct vidmm_list *list, bool ends)
{
    tell(list->device->vidmm, &(struct vidmm_note){.kind = VIDMM_NOTE_LIST,
                                                   .list = {.list = list,
                                                            .count = ends ? 0 : list->count,
                                                            .allocations = list->allocations}});
}

/* ---- Requests -------------------------------------------------------------------------------- */

static enum vidmm_request_kind request_kind(const struct request *request)
{
    if (request->make_tables)
        return VIDMM_REQUEST_TABLES;
    return request->is_reclaim ? VIDMM_REQUEST_RECLAIM : request->kind;
}

void note_request(struct request *request, const struct request *before)
{
    struct vidmm *vidmm = request->vidmm;
    enum vidmm_request_kind kind = request_kind(request);
    bool has_submission = kind == VIDMM_REQUEST_SUBMISSION;

    request->number = ++vidmm->notes.requests;
    request->has_told_wait = false;
    vidmm->notes.sample_is_due = true;
    tell(vidmm, &(struct vidmm_note){
                    .kind = VIDMM_NOTE_REQUEST,
                    .request = {
                        .number = request->number,
                        .kind = kind,
                        .device = request->device,
                        .list = request->list,
                        .fence_value = request->fence_value,
                        .submission =
                            has_submission ? ((struct submission *)request->context)->sequence : 0,
                        .count = request->count,
                        .allocations = request->allocations,
                        .table_bytes = request->table_bytes,
                    }});
    if (before)
        note_request_waits(request, &(struct vidmm_note_request_waits){.wait = VIDMM_WAIT_REQUEST,
                                                                       .request = before->number});
}

void note_request_at_once(struct vidmm_device *device, const struct vidmm_list *list,
                          unsigned count, struct vidmm_allocation *const *allocations)
{
    struct vidmm *vidmm = device->vidmm;

    tell(vidmm, &(struct vidmm_note){.kind = VIDMM_NOTE_REQUEST,
                                     .request = {
                                         .number = ++vidmm->notes.requests,
                                         .device = device,
                                         .list = list,
                                         .at_once = true,
                                         .count = count,
                                         .allocations = list ? NULL : allocations,
                                     }});
}

void note_request_waits(struct request *request, struct vidmm_note_request_waits *waits)
{
    const struct vidmm_note_request_waits *last = &request->told_wait;

    waits->number = request->number;
    if (request->has_told_wait && last->wait == waits->wait && last->request == waits->request &&
        last->process == waits->process && last->allocation.named == waits->allocation.named &&
        last->allocation.instance == waits->allocation.instance && last->segment == waits->segment)
        return;
    request->told_wait = *waits;
    request->has_told_wait = true;
    tell(request->vidmm,
         &(struct vidmm_note){.kind = VIDMM_NOTE_REQUEST_WAITS, .request_waits = *waits});
}

void note_request_begins(const struct request *request)
{
    tell(request->vidmm, &(struct vidmm_note){.kind = VIDMM_NOTE_REQUEST_BEGINS,
                                              .request_begins = {.number = request->number}});
}

void note_request_ends(const struct request *request, NTSTATUS status, uint64_t needed,
                       uint64_t available)
{
    request->vidmm->notes.sample_is_due = true;
    tell(request->vidmm, &(struct vidmm_note){.kind = VIDMM_NOTE_REQUEST_ENDS,
                                              .request_ends = {.number = request->number,
                                                               .status = status,
                                                               .needed = needed,
                                                               .available = available}});
}

void note_given_up(const struct vidmm_device *device, const struct vidmm_list *list, unsigned count,
                   struct vidmm_allocation *const *allocations)
{
    tell(device->vidmm,
         &(struct vidmm_note){.kind = VIDMM_NOTE_GIVEN_UP,
                              .given_up = {.device = device,
                                           .list = list,
                                           .count = count,
                                           .allocations = list ? NULL : allocations}});
}

void note_offer(const struct vidmm_allocation *allocation)
{
    tell(allocation->vidmm, &(struct vidmm_note){.kind = VIDMM_NOTE_OFFER,
                                                 .offer = {.allocation = noted(allocation),
                                                           .is_offered = allocation->is_offered,
                                                           .priority = allocation->offer_class}});
}

void note_budget(enum vidmm_note_kind kind, const struct vidmm_process *process,
                 enum vidmm_budget_group group, uint64_t bytes)
{
    tell(process->vidmm,
         &(struct vidmm_note){.kind = kind,
                              .budget = {.process = process, .group = group, .bytes = bytes}});
}

/* ---- Places ---------------------------------------------------------------------------------- */

static void tell_victim(const struct vidmm_allocation *victim, const char *reason)
{
    struct vidmm *vidmm = victim->vidmm;
    const struct noted_choice *choice = &vidmm->notes.choice;
    unsigned class = victim->is_offered ? victim->offer_class : victim->priority_class;
    struct vidmm_note note = {
        .kind = VIDMM_NOTE_VICTIM,
        .victim =
            {
                .request = number_of(vidmm->notes.serving),
                .allocation = noted(victim),
                .segment = victim->place.segment->id,
                .policy = vidmm->config.policy->name,
                .reason = reason,
                .group = victim->is_offered ? VIDMM_VICTIM_OFFERED : VIDMM_VICTIM_PRIORITY,
                .priority = class,
                .last_use = victim->busy_until,
                .next_use_ns = VIDMM_NEVER,
                .turn = VIDMM_NO_TURN,
            },
    };

    if (choice->victim == victim) {
        if (choice->is_over_budget && !victim->is_offered)
            note.victim.group = VIDMM_VICTIM_OVER_BUDGET;
        note.victim.compared = choice->compared;
        note.victim.passed_over = choice->passed_over;
        note.victim.is_forecast = choice->candidate.is_forecast;
        if (choice->candidate.allocation) {
            note.victim.next_use_ns = choice->candidate.next_use_ns;
            note.victim.queued = choice->candidate.queued;
            note.victim.turn = choice->candidate.turn;
        }
    }
    tell(vidmm, &note);
}

void note_departs(const struct vidmm_allocation *allocation, enum vidmm_departure how,
                  const char *reason)
{
    struct vidmm *vidmm = allocation->vidmm;

    if (vidmm->notes.victim == allocation)
        tell_victim(allocation, reason);
    vidmm->notes.victim = NULL;
    tell(vidmm, &(struct vidmm_note){.kind = VIDMM_NOTE_DEPARTS,
                                     .departs = {.request = number_of(vidmm->notes.serving),
                                                 .allocation = noted(allocation),
                                                 .segment = allocation->place.segment->id,
                                                 .how = how,
                                                 .reason = reason}});
}

_Static_assert(sizeof(struct vidmm_noted_run) == sizeof(struct page_run) &&
                   offsetof(struct vidmm_noted_run, page_count) ==
                       offsetof(struct page_run, page_count),
               "runs are told where they are");

static void tell_place(enum vidmm_note_kind kind, const struct vidmm_allocation *allocation,
                       const struct placement *place, enum vidmm_place_reason reason)
{
    struct vidmm *vidmm = allocation->vidmm;
    bool is_placed = kind == VIDMM_NOTE_PLACED;
    struct vidmm_noted_run one = {.page_count = place->page_count};
    struct vidmm_note note = {
        .kind = kind,
        .place = {.allocation = noted(allocation),
                  .request = is_placed ? number_of(vidmm->notes.serving) : 0,
                  .segment = place->segment->id,
                  .reason = reason,
                  .bytes = placement_bytes(place)},
    };

    switch (place->segment->kind) {
    case SEGMENT_SYSTEM:
        break;
    case SEGMENT_CONTIGUOUS:
    case SEGMENT_APERTURE:
    case SEGMENT_AGP:
        one.first_page = place->offset / PAGE_BYTES;
        note.place.run_count = 1;
        note.place.runs = &one;
        break;
    case SEGMENT_PAGES:
        note.place.run_count = place->runs->count;
        note.place.runs = (const struct vidmm_noted_run *)place->runs->run;
        break;
    }
    vidmm->notes.sample_is_due = true;
    tell(vidmm, &note);
}

void note_placed(const struct vidmm_allocation *allocation, const struct placement *place)
{
    enum vidmm_place_reason reason = VIDMM_PLACE_AHEAD;

    if (place != &allocation->place)
        reason = VIDMM_PLACE_MOVE;
    else if (allocation->vidmm->notes.serving)
        reason = VIDMM_PLACE_ASKED;
    tell_place(VIDMM_NOTE_PLACED, allocation, place, reason);
}

/* The state is still that of the allocation before it left. */
static enum vidmm_place_reason why_left(const struct vidmm_allocation *allocation,
                                        const struct placement *place)
{
    if (allocation->vidmm->recovery.is_under_way || allocation->is_reset)
        return VIDMM_LEFT_LOST;
    if (place == allocation->other)
        return allocation->state == ALLOCATION_LEAVING ? VIDMM_LEFT_MOVED : VIDMM_LEFT_UNUSED;
    switch (allocation->state) {
    case ALLOCATION_LEAVING:
        return allocation->is_dropped ? VIDMM_LEFT_DROPPED : VIDMM_LEFT_EVICTED;
    case ALLOCATION_DYING:
        return VIDMM_LEFT_DESTROYED;
    default: /* its place could not be shown, or was kept through a sleep for nobody */
        return allocation->vidmm->notes.serving ? VIDMM_LEFT_UNUSED : VIDMM_LEFT_LOST;
    }
}

void note_left(const struct vidmm_allocation *allocation, const struct placement *place)
{
    tell_place(VIDMM_NOTE_LEFT, allocation, place, why_left(allocation, place));
}

/* One that is being made is told of when it is there, with its state. */
void note_state(const struct vidmm_allocation *allocation, unsigned former)
{
    struct vidmm *vidmm = allocation->vidmm;

    if (!list_is_linked(&allocation->device_link))
        return;
    vidmm->notes.sample_is_due = true;
    tell(vidmm,
         &(struct vidmm_note){.kind = VIDMM_NOTE_STATE,
                              .state = {.allocation = noted(allocation),
                                        .former = (enum vidmm_noted_state)former,
                                        .state = (enum vidmm_noted_state)allocation->state}});
}

void note_range(struct vidmm *vidmm, const struct segment *segment, uint64_t offset, uint64_t bytes,
                enum vidmm_range_use use, bool is_taken)
{
    vidmm->notes.sample_is_due = true;
    tell(vidmm, &(struct vidmm_note){.kind = VIDMM_NOTE_RANGE,
                                     .range = {.is_taken = is_taken,
                                               .use = use,
                                               .segment = segment->id,
                                               .offset = offset,
                                               .bytes = bytes}});
}

void note_sample(struct vidmm *vidmm, struct segment *segment, uint64_t free, uint64_t wanted)
{
    struct vidmm_note_sample sample = {
        .segment = segment->id,
        .resident = segment->used,
        .free = free,
        .leaving = segment->leaving,
        .doomed = segment->doomed,
        .tables = segment->table_bytes,
        .committed = segment->committed,
        .demand = segment->used - segment->leaving - segment->doomed + wanted,
    };
    const struct vidmm_note_sample *last = &segment->told;

    if (last->resident == sample.resident && last->free == sample.free &&
        last->leaving == sample.leaving && last->doomed == sample.doomed &&
        last->tables == sample.tables && last->committed == sample.committed &&
        last->demand == sample.demand)
        return;
    segment->told = sample;
    tell(vidmm, &(struct vidmm_note){.kind = VIDMM_NOTE_SAMPLE, .sample = sample});
}

void note_mapping(const struct mapping *mapping, bool is_mapped)
{
    tell(mapping->process->vidmm,
         &(struct vidmm_note){.kind = VIDMM_NOTE_MAPPING,
                              .mapping = {.is_mapped = is_mapped,
                                          .process = mapping->process,
                                          .allocation = allocation_first(mapping->allocation),
                                          .va = mapping->va,
                                          .bytes = PAGE_BYTES_OF(mapping->page_count),
                                          .offset = PAGE_BYTES_OF(mapping->first_page),
                                          .protect = mapping->protect,
                                          .is_own = mapping->role != MAPPING_ORDINARY ||
                                                    allocation_is_internal(mapping->allocation)}});
}
