#include "vidmm/rig/test_rig_told.h"

#include "vidmm/memory/allocation.h"
#include "vidmm/notes.h"
#include "vidmm/vidmm.h"
#include "vidmm/work/client.h"

#include "base/bits.h"
#include "base/list.h"
#include "base/services.h"
#include "tests/told.h"
#include "trace/trace.h"

#include <limits.h>

/* ---- Calls of the driver --------------------------------------------------------------------- */

static void tell_call(void *context, const struct trace_event *event)
{
    char line[4096];

    trace_event_format(event, line, sizeof line);
    told_text(line);
}

struct miniport *rig_told_begin(struct rig *rig)
{
    const struct trace_sink sink = {.event = tell_call};
    struct miniport *trace;

    if (!told_is_wanted())
        return &rig->miniport;
    assert_int_equal(miniport_trace_create(base_services_libc(), &rig->miniport, &trace),
                     STATUS_SUCCESS);
    miniport_trace_set_sink(trace, &sink);
    return trace;
}

void rig_told_end(struct miniport *top)
{
    miniport_destroy(top);
}

/* ---- State ----------------------------------------------------------------------------------- */

static void tell_allocation(const struct vidmm_allocation *allocation)
{
    told_number(allocation->handle);
    told_number(allocation->state);
    told_number(allocation->holds);
    told_number(allocation->uses);
    told_number(allocation->lock_count);
    told_number(allocation->place.segment ? allocation->place.segment->id : UINT64_MAX);
    told_number(allocation->priority_class | allocation->offer_class << 4 |
                allocation->is_offered << 8 | allocation->is_dropped << 9 |
                allocation->has_content << 10 | allocation->is_dirty << 11 |
                allocation->is_pinned << 12 | allocation->entries_valid << 13);
}

static void tell_process(const struct vidmm_process *process)
{
    const struct vidmm_device *device;
    const struct vidmm_allocation *allocation;
    struct vidmm_budget_info info;

    for (unsigned group = 0; group < ARRAY_COUNT(process->budgets); group++) {
        vidmm_budget_info(process, (enum vidmm_budget_group)group, &info);
        told_number(info.budget);
        told_number(info.resident);
        told_number(info.held);
    }
    list_for_each (device, &process->devices, struct vidmm_device, link) {
        told_number(device->requests_made);
        told_number(vidmm_device_paging_fence(device));
        list_for_each (allocation, &device->allocations, struct vidmm_allocation, device_link)
            tell_allocation(allocation);
    }
}

void rig_told_state(const struct rig *rig)
{
    const struct vidmm_process *process;
    struct vidmm_segment_info info;

    if (!told_is_wanted())
        return;
    told_numbers(vidmm_statistics(rig->vidmm), sizeof(struct vidmm_statistics));
    for (unsigned id = 1; id <= vidmm_segment_count(rig->vidmm); id++) {
        vidmm_segment_info(rig->vidmm, id, &info);
        told_number(info.base);
        told_number(info.size);
        told_number(info.used);
        told_number(info.peak_used);
        told_number(info.allocation_count);
    }
    list_for_each (process, &rig->vidmm->processes, struct vidmm_process, link)
        tell_process(process);
}

/* ---- Notes ----------------------------------------------------------------------------------- */

enum told_type { NUMBER, TEXT, ALLOCATION, ALLOCATIONS, OBJECT, PREFERRED, REFERENCES, RUNS };

/*
 * A member of a note that is told: a number, a text (NULL: none), the handle of an allocation or of
 * each that a list has, the place of an object among those that there are.
 */
static const struct told_member {
    enum vidmm_note_kind kind;
    enum told_type type;
    size_t offset, size;
} told_members[] = {
#define TOLD(kind, type, member)                                                                   \
    {                                                                                              \
        VIDMM_NOTE_##kind, type, offsetof(struct vidmm_note, member),                              \
            sizeof(((struct vidmm_note *)0)->member)                                               \
    }
    TOLD(OBJECT, OBJECT, object.object),
    TOLD(OBJECT, OBJECT, object.parent),
    TOLD(OBJECT, PREFERRED, object),
    TOLD(OBJECT_ENDS, OBJECT, object.object),
    TOLD(OBJECT_ENDS, OBJECT, object.parent),
    TOLD(LIST, OBJECT, list.list),
    TOLD(LIST, ALLOCATIONS, list.allocations),
    TOLD(REQUEST, OBJECT, request.device),
    TOLD(REQUEST, OBJECT, request.list),
    TOLD(REQUEST, ALLOCATIONS, request.allocations),
    TOLD(REQUEST_WAITS, OBJECT, request_waits.process),
    TOLD(GIVEN_UP, OBJECT, given_up.device),
    TOLD(GIVEN_UP, OBJECT, given_up.list),
    TOLD(GIVEN_UP, ALLOCATIONS, given_up.allocations),
    TOLD(BUDGET, OBJECT, budget.process),
    TOLD(TRIM, OBJECT, budget.process),
    TOLD(MAPPING, OBJECT, mapping.process),
    TOLD(OPERATION, OBJECT, operation.process),
    TOLD(ENTRIES, OBJECT, entries.process),
    TOLD(SUBMISSION, OBJECT, submission.context),
    TOLD(SUBMISSION, REFERENCES, submission),
    TOLD(FENCE_VALUE, OBJECT, fence.fence),
    TOLD(FENCE_VALUE, OBJECT, fence.device),
    TOLD(FENCE_WAITS, OBJECT, fence_wait.fence),
    TOLD(FENCE_WAIT_ENDS, OBJECT, fence_wait.fence),
    TOLD(OBJECT, NUMBER, object.kind),
    TOLD(OBJECT, NUMBER, object.bytes),
    TOLD(OBJECT, NUMBER, object.preferred_count),
    TOLD(OBJECT, NUMBER, object.state),
    TOLD(OBJECT, NUMBER, object.node),
    TOLD(OBJECT_ENDS, NUMBER, object.kind),
    TOLD(LIST, NUMBER, list.count),
    TOLD(REQUEST, NUMBER, request.number),
    TOLD(REQUEST, NUMBER, request.kind),
    TOLD(REQUEST, NUMBER, request.fence_value),
    TOLD(REQUEST, NUMBER, request.submission),
    TOLD(REQUEST, NUMBER, request.at_once),
    TOLD(REQUEST, NUMBER, request.count),
    TOLD(REQUEST, NUMBER, request.table_bytes),
    TOLD(REQUEST_WAITS, NUMBER, request_waits.number),
    TOLD(REQUEST_WAITS, NUMBER, request_waits.wait),
    TOLD(REQUEST_WAITS, NUMBER, request_waits.request),
    TOLD(REQUEST_WAITS, ALLOCATION, request_waits.allocation.named),
    TOLD(REQUEST_WAITS, NUMBER, request_waits.segment),
    TOLD(REQUEST_BEGINS, NUMBER, request_begins.number),
    TOLD(REQUEST_ENDS, NUMBER, request_ends.number),
    TOLD(REQUEST_ENDS, NUMBER, request_ends.status),
    TOLD(REQUEST_ENDS, NUMBER, request_ends.needed),
    TOLD(REQUEST_ENDS, NUMBER, request_ends.available),
    TOLD(GIVEN_UP, NUMBER, given_up.count),
    TOLD(VICTIM, NUMBER, victim.request),
    TOLD(VICTIM, ALLOCATION, victim.allocation.named),
    TOLD(VICTIM, NUMBER, victim.segment),
    TOLD(VICTIM, TEXT, victim.policy),
    TOLD(VICTIM, TEXT, victim.reason),
    TOLD(VICTIM, NUMBER, victim.group),
    TOLD(VICTIM, NUMBER, victim.priority),
    TOLD(VICTIM, NUMBER, victim.compared),
    TOLD(VICTIM, NUMBER, victim.passed_over),
    TOLD(VICTIM, NUMBER, victim.last_use),
    TOLD(VICTIM, NUMBER, victim.is_forecast),
    TOLD(VICTIM, NUMBER, victim.next_use_ns),
    TOLD(VICTIM, NUMBER, victim.queued),
    TOLD(VICTIM, NUMBER, victim.turn),
    TOLD(OFFER, ALLOCATION, offer.allocation.named),
    TOLD(OFFER, NUMBER, offer.is_offered),
    TOLD(OFFER, NUMBER, offer.priority),
    TOLD(BUDGET, NUMBER, budget.group),
    TOLD(BUDGET, NUMBER, budget.bytes),
    TOLD(TRIM, NUMBER, budget.group),
    TOLD(TRIM, NUMBER, budget.bytes),
    TOLD(DEPARTS, NUMBER, departs.request),
    TOLD(DEPARTS, ALLOCATION, departs.allocation.named),
    TOLD(DEPARTS, NUMBER, departs.segment),
    TOLD(DEPARTS, NUMBER, departs.how),
    TOLD(DEPARTS, TEXT, departs.reason),
    TOLD(PLACED, ALLOCATION, place.allocation.named),
    TOLD(PLACED, NUMBER, place.request),
    TOLD(PLACED, NUMBER, place.segment),
    TOLD(PLACED, NUMBER, place.reason),
    TOLD(PLACED, NUMBER, place.bytes),
    TOLD(PLACED, RUNS, place),
    TOLD(LEFT, ALLOCATION, place.allocation.named),
    TOLD(LEFT, NUMBER, place.segment),
    TOLD(LEFT, NUMBER, place.reason),
    TOLD(LEFT, NUMBER, place.bytes),
    TOLD(LEFT, RUNS, place),
    TOLD(STATE, ALLOCATION, state.allocation.named),
    TOLD(STATE, NUMBER, state.former),
    TOLD(STATE, NUMBER, state.state),
    TOLD(RANGE, NUMBER, range.is_taken),
    TOLD(RANGE, NUMBER, range.use),
    TOLD(RANGE, NUMBER, range.segment),
    TOLD(RANGE, NUMBER, range.offset),
    TOLD(RANGE, NUMBER, range.bytes),
    TOLD(SAMPLE, NUMBER, sample.segment),
    TOLD(SAMPLE, NUMBER, sample.resident),
    TOLD(SAMPLE, NUMBER, sample.free),
    TOLD(SAMPLE, NUMBER, sample.leaving),
    TOLD(SAMPLE, NUMBER, sample.doomed),
    TOLD(SAMPLE, NUMBER, sample.tables),
    TOLD(SAMPLE, NUMBER, sample.committed),
    TOLD(SAMPLE, NUMBER, sample.demand),
    TOLD(MAPPING, NUMBER, mapping.is_mapped),
    TOLD(MAPPING, ALLOCATION, mapping.allocation),
    TOLD(MAPPING, NUMBER, mapping.va),
    TOLD(MAPPING, NUMBER, mapping.bytes),
    TOLD(MAPPING, NUMBER, mapping.offset),
    TOLD(MAPPING, NUMBER, mapping.protect),
    TOLD(MAPPING, NUMBER, mapping.is_own),
    TOLD(JOB, NUMBER, job.number),
    TOLD(JOB, TEXT, job.name),
    TOLD(JOB, NUMBER, job.request),
    TOLD(JOB, ALLOCATION, job.allocation.named),
    TOLD(JOB_ENDS, NUMBER, job.number),
    TOLD(JOB_ENDS, NUMBER, job.is_lost),
    TOLD(QUEUE_WAITS, NUMBER, queue_waits.wait),
    TOLD(QUEUE_WAITS, NUMBER, queue_waits.job),
    TOLD(OPERATION, NUMBER, operation.number),
    TOLD(OPERATION, NUMBER, operation.job),
    TOLD(OPERATION, TEXT, operation.job_name),
    TOLD(OPERATION, ALLOCATION, operation.allocation.named),
    TOLD(OPERATION_BUILT, NUMBER, built.number),
    TOLD(OPERATION_BUILT, NUMBER, built.status),
    TOLD(OPERATION_BUILT, NUMBER, built.is_complete),
    TOLD(OPERATION_BUILT, NUMBER, built.buffer),
    TOLD(OPERATION_BUILT, NUMBER, built.offset),
    TOLD(OPERATION_BUILT, NUMBER, built.bytes),
    TOLD(OPERATION_BUILT, NUMBER, built.multipass),
    TOLD(OPERATION_BUILT, NUMBER, built.paging),
    TOLD(ENTRIES, NUMBER, entries.operation),
    TOLD(ENTRIES, NUMBER, entries.level),
    TOLD(ENTRIES, NUMBER, entries.is_64k),
    TOLD(ENTRIES, NUMBER, entries.va),
    TOLD(ENTRIES, NUMBER, entries.count),
    TOLD(ENTRIES, NUMBER, entries.entry_bytes),
    TOLD(ENTRIES, NUMBER, entries.is_valid),
    TOLD(ENTRIES, NUMBER, entries.segment),
    TOLD(ENTRIES, NUMBER, entries.offset),
    TOLD(ENTRIES, NUMBER, entries.stride),
    TOLD(ENTRIES, NUMBER, entries.is_scattered),
    TOLD(ENTRIES, NUMBER, entries.hash),
    TOLD(ENTRIES, NUMBER, entries.flags),
    TOLD(SUBMISSION, NUMBER, submission.number),
    TOLD(SUBMISSION, NUMBER, submission.node),
    TOLD(SUBMISSION, NUMBER, submission.is_present),
    TOLD(SUBMISSION, NUMBER, submission.is_null),
    TOLD(SUBMISSION, NUMBER, submission.va),
    TOLD(SUBMISSION, NUMBER, submission.bytes),
    TOLD(SUBMISSION, NUMBER, submission.reference_count),
    TOLD(PACKET, NUMBER, packet.step),
    TOLD(PACKET, NUMBER, packet.number),
    TOLD(PACKET, NUMBER, packet.kind),
    TOLD(PACKET, NUMBER, packet.subject),
    TOLD(PACKET, NUMBER, packet.node),
    TOLD(PACKET, NUMBER, packet.fence_id),
    TOLD(PACKET, NUMBER, packet.bytes),
    TOLD(PACKET, NUMBER, packet.status),
    TOLD(PACKET, NUMBER, packet.wait_value),
    TOLD(PACKET, NUMBER, packet.queue_depth),
    TOLD(FENCE_VALUE, NUMBER, fence.value),
    TOLD(FENCE_VALUE, NUMBER, fence.request),
    TOLD(FENCE_WAITS, NUMBER, fence_wait.number),
    TOLD(FENCE_WAITS, NUMBER, fence_wait.value),
    TOLD(FENCE_WAIT_ENDS, NUMBER, fence_wait.number),
    TOLD(FENCE_WAIT_ENDS, NUMBER, fence_wait.status),
#undef TOLD
};

static void tell_number(const void *member, size_t size)
{
    switch (size) {
    case sizeof(uint8_t):
        told_number(*(const uint8_t *)member);
        break;
    case sizeof(uint32_t):
        told_number(*(const uint32_t *)member);
        break;
    default:
        told_number(*(const uint64_t *)member);
    }
}

static void tell_runs(const struct vidmm_note_place *place)
{
    for (unsigned i = 0; i < place->run_count; i++) {
        told_number(place->runs[i].first_page);
        told_number(place->runs[i].page_count);
    }
}

/* The objects that there are. Another one that begins where one has ended is another one. */
static const void *objects[512];

static unsigned number_of(const void *object)
{
    for (unsigned i = 0; object && i < ARRAY_COUNT(objects); i++) {
        if (objects[i] == object)
            return 1 + i;
    }
    return object ? UINT_MAX : 0;
}

static void enter_object(const void *object)
{
    for (unsigned i = 0; i < ARRAY_COUNT(objects); i++) {
        if (objects[i])
            continue;
        objects[i] = object;
        return;
    }
}

static void forget_object(const void *object)
{
    const unsigned number = number_of(object);

    if (number && number != UINT_MAX)
        objects[number - 1] = NULL;
}

static void tell_preferred(const struct vidmm_note_object *object)
{
    for (unsigned i = 0; object->preferred && i < object->preferred_count; i++)
        told_number(object->preferred[i]);
}

static void tell_handle(const struct vidmm_allocation *allocation)
{
    told_number(allocation ? allocation->handle : 0);
}

/* Of the notes that have a list of them. */
static void tell_allocations(const struct vidmm_note *note)
{
    const unsigned count = note->kind == VIDMM_NOTE_LIST      ? note->list.count
                           : note->kind == VIDMM_NOTE_REQUEST ? note->request.count
                                                              : note->given_up.count;
    struct vidmm_allocation *const *allocations =
        note->kind == VIDMM_NOTE_LIST      ? note->list.allocations
        : note->kind == VIDMM_NOTE_REQUEST ? note->request.allocations
                                           : note->given_up.allocations;

    for (unsigned i = 0; allocations && i < count; i++)
        tell_handle(allocations[i]);
}

static void tell_references(const struct vidmm_note_submission *submission)
{
    for (unsigned i = 0; submission->references && i < submission->reference_count; i++) {
        tell_handle(submission->references[i].allocation);
        told_number(submission->references[i].is_written);
    }
}

static void tell_member(const struct told_member *told, const struct vidmm_note *note)
{
    const void *member = (const char *)note + told->offset;
    const char *text;

    switch (told->type) {
    case NUMBER:
        tell_number(member, told->size);
        break;
    case TEXT:
        text = *(const char *const *)member;
        told_text(text ? text : "");
        break;
    case ALLOCATION:
        tell_handle(*(const struct vidmm_allocation *const *)member);
        break;
    case ALLOCATIONS:
        tell_allocations(note);
        break;
    case OBJECT:
        told_number(number_of(*(const void *const *)member));
        break;
    case PREFERRED:
        tell_preferred(member);
        break;
    case REFERENCES:
        tell_references(member);
        break;
    case RUNS:
        tell_runs(member);
        break;
    }
}

void rig_told_note(const struct vidmm_note *note)
{
    if (!told_is_wanted())
        return;
    if (note->kind == VIDMM_NOTE_OBJECT)
        enter_object(note->object.object);
    told_text(vidmm_note_name(note->kind));
    for (size_t i = 0; i < ARRAY_COUNT(told_members); i++) {
        if (told_members[i].kind == note->kind)
            tell_member(&told_members[i], note);
    }
    if (note->kind == VIDMM_NOTE_OBJECT_ENDS)
        forget_object(note->object.object);
}
