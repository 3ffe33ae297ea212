#include "vidmm/rig/test_rig_notes.h"

#include "vidmm/mappings/mapping.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/segment.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/residency/request.h"
#include "vidmm/rig/test_rig.h"
#include "vidmm/rig/test_rig_told.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/bits.h"
#include "base/hash.h"
#include "base/list.h"

#include <stdlib.h>
#include <string.h>

/* ---- A table from numbers to things ---------------------------------------------------------- */

struct entry {
    uint64_t key[2];
    void *value; /* NULL: free */
};

struct table {
    struct entry *entries;
    size_t capacity, count;
};

static size_t home_of(const struct table *table, uint64_t a, uint64_t b)
{
    return (size_t)hash_pair(a, b) & (table->capacity - 1);
}

static struct entry *slot_of(const struct table *table, uint64_t a, uint64_t b)
{
    size_t i = home_of(table, a, b);

    while (table->entries[i].value &&
           (table->entries[i].key[0] != a || table->entries[i].key[1] != b))
        i = (i + 1) & (table->capacity - 1);
    return &table->entries[i];
}

static void *find(const struct table *table, uint64_t a, uint64_t b)
{
    return table->capacity ? slot_of(table, a, b)->value : NULL;
}

static void put(struct table *table, uint64_t a, uint64_t b, void *value)
{
    if (2 * (table->count + 1) > table->capacity) {
        struct table bigger = {.capacity = table->capacity ? 2 * table->capacity : 64};

        bigger.entries = calloc(bigger.capacity, sizeof *bigger.entries);
        assert_non_null(bigger.entries);
        for (size_t i = 0; i < table->capacity; i++) {
            struct entry *entry = &table->entries[i];

            if (entry->value)
                *slot_of(&bigger, entry->key[0], entry->key[1]) = *entry;
        }
        bigger.count = table->count;
        free(table->entries);
        *table = bigger;
    }
    EXPECT(!slot_of(table, a, b)->value);
    *slot_of(table, a, b) = (struct entry){{a, b}, value};
    table->count++;
}

/* The entries behind it that do not stand at their home move up. */
static void *take(struct table *table, uint64_t a, uint64_t b)
{
    size_t mask = table->capacity - 1, hole, i;
    void *value;

    if (!find(table, a, b))
        return NULL;
    hole = (size_t)(slot_of(table, a, b) - table->entries);
    value = table->entries[hole].value;
    for (i = (hole + 1) & mask; table->entries[i].value; i = (i + 1) & mask) {
        size_t home = home_of(table, table->entries[i].key[0], table->entries[i].key[1]);

        if (((i - home) & mask) < ((i - hole) & mask))
            continue;
        table->entries[hole] = table->entries[i];
        hole = i;
    }
    table->entries[hole].value = NULL;
    table->count--;
    return value;
}

static void free_table(struct table *table)
{
    for (size_t i = 0; i < table->capacity; i++)
        free(table->entries[i].value);
    free(table->entries);
}

/* ---- The world ------------------------------------------------------------------------------- */

struct place {
    bool is_there;
    unsigned segment;
    uint64_t bytes;
    unsigned run_count;
    struct vidmm_noted_run *runs;
};

struct thing { /* an object */
    enum vidmm_object_kind kind;
    enum vidmm_noted_state state;
    const void *parent;
    bool is_offered, departs;
    struct place places[2];
    uint64_t fence_value; /* of a device's paging fence, as it was told last */
};

struct asked { /* a request */
    bool has_begun;
};

struct work { /* a job, an operation or a packet */
    unsigned step;
    uint64_t subject;
    enum vidmm_packet_kind kind;
    unsigned operation;
};

struct shown { /* a mapping */
    const void *allocation;
    uint64_t bytes, offset;
};

#define SEGMENTS 16

struct rig_notes {
    uint64_t counts[VIDMM_NOTE_KINDS];
    struct table things, requests, jobs, packets, mappings;
    struct {
        uint64_t placed, count, ranges[VIDMM_RANGE_USES];
        uint64_t peak; /* of what is resident, when something came that counts there */
    } segments[SEGMENTS];
    uint64_t operations[32], immediate;
    uint64_t paging_bytes;   /* that drivers have written */
    uint64_t unpacked_bytes; /* of these, that no packet has been told of */
    uint64_t evictions, trims;
    uint64_t scattered; /* ranges of entries */
    const void *victim; /* whose departure comes next */
    uint64_t last_request, last_operation, last_job, last_fence_wait;
    uint64_t fence_waits;  /* that have not ended */
    struct work operation; /* the one that is being built */
    bool is_building;
};

struct rig_notes *rig_notes_create(void)
{
    struct rig_notes *notes = calloc(1, sizeof *notes);

    assert_non_null(notes);
    return notes;
}

static void free_place(struct place *place)
{
    free(place->runs);
    *place = (struct place){0};
}

void rig_notes_stopped(struct rig *rig)
{
    struct rig_notes *notes = rig->notes;

    for (unsigned id = 1; id < SEGMENTS; id++) {
        EXPECT(!notes->segments[id].placed && !notes->segments[id].count);
        for (unsigned use = 0; use < VIDMM_RANGE_USES; use++)
            EXPECT(!notes->segments[id].ranges[use]);
    }
    memset(notes->segments, 0, sizeof notes->segments);
}

void rig_notes_free(struct rig_notes *notes)
{
    for (size_t i = 0; i < notes->things.capacity; i++) {
        struct thing *thing = notes->things.entries[i].value;

        for (unsigned j = 0; thing && j < 2; j++)
            free_place(&thing->places[j]);
    }
    free_table(&notes->things);
    free_table(&notes->requests);
    free_table(&notes->jobs);
    free_table(&notes->packets);
    free_table(&notes->mappings);
    free(notes);
}

static void *make(size_t size)
{
    void *value = calloc(1, size);

    assert_non_null(value);
    return value;
}

static struct thing *thing_of(const struct rig_notes *notes, const void *object)
{
    return find(&notes->things, (uintptr_t)object, 0);
}

/* The instance, where one is named. */
static struct thing *noted_thing(const struct rig_notes *notes,
                                 const struct vidmm_noted_allocation *noted)
{
    struct thing *thing = thing_of(notes, noted->instance ? noted->instance : noted->named);

    EXPECT(thing && thing_of(notes, noted->named));
    EXPECT(!noted->instance || thing->parent == noted->named);
    return thing;
}

/* ---- What is heard --------------------------------------------------------------------------- */

static void hear_object(struct rig_notes *notes, const struct vidmm_note_object *object)
{
    struct thing *thing = make(sizeof *thing);

    thing->kind = object->kind;
    thing->state = object->state;
    thing->parent = object->parent;
    EXPECT(!object->parent || thing_of(notes, object->parent));
    EXPECT(object->kind < VIDMM_OBJECT_ALLOCATION || object->kind > VIDMM_OBJECT_INSTANCE ||
           (object->bytes && object->preferred_count));
    put(&notes->things, (uintptr_t)object->object, 0, thing);
}

static void hear_object_ends(struct rig_notes *notes, const struct vidmm_note_object *object)
{
    struct thing *thing = take(&notes->things, (uintptr_t)object->object, 0);

    EXPECT(thing && thing->kind == object->kind);
    EXPECT(!thing->places[0].is_there && !thing->places[1].is_there);
    free(thing);
}

static void hear_request(struct rig_notes *notes, const struct vidmm_note_request *request)
{
    EXPECT(request->number == ++notes->last_request);
    EXPECT(!request->device || thing_of(notes, request->device));
    EXPECT((request->kind == VIDMM_REQUEST_TABLES) == !request->device);
    for (unsigned i = 0; i < request->count && request->allocations; i++)
        EXPECT(thing_of(notes, request->allocations[i]));
    if (!request->at_once)
        put(&notes->requests, request->number, 0, make(sizeof(struct asked)));
}

static void hear_request_waits(struct rig_notes *notes,
                               const struct vidmm_note_request_waits *waits)
{
    const struct asked *asked = find(&notes->requests, waits->number, 0);

    EXPECT(asked);
    switch (waits->wait) {
    case VIDMM_WAIT_REQUEST:
        EXPECT(!asked->has_begun && find(&notes->requests, waits->request, 0));
        break;
    case VIDMM_WAIT_TURN:
        EXPECT(!asked->has_begun);
        break;
    case VIDMM_WAIT_DEPARTURE:
        EXPECT(noted_thing(notes, &waits->allocation)->state == VIDMM_STATE_LEAVING);
        break;
    case VIDMM_WAIT_ROOM:
    case VIDMM_WAIT_LOCK:
        EXPECT(!noted_thing(notes, &waits->allocation)->places[0].is_there);
        break;
    default:
        EXPECT(asked->has_begun);
        break;
    }
}

static void hear_request_begins(struct rig_notes *notes,
                                const struct vidmm_note_request_begins *begins)
{
    struct asked *asked = find(&notes->requests, begins->number, 0);

    EXPECT(asked && !asked->has_begun);
    asked->has_begun = true;
}

static void hear_request_ends(struct rig_notes *notes, const struct vidmm_note_request_ends *ends)
{
    struct asked *asked = take(&notes->requests, ends->number, 0);

    EXPECT(asked);
    EXPECT(asked->has_begun || !NT_SUCCESS(ends->status));
    free(asked);
}

static void hear_victim(struct rig *rig, struct rig_notes *notes,
                        const struct vidmm_note_victim *victim)
{
    const struct thing *thing = noted_thing(notes, &victim->allocation);

    EXPECT(thing->state == VIDMM_STATE_LEAVING);
    EXPECT(thing->places[0].is_there && thing->places[0].segment == victim->segment);
    EXPECT(victim->compared && victim->last_use <= rig->vidmm->submitted);
    EXPECT(thing->is_offered == (victim->group == VIDMM_VICTIM_OFFERED));
    EXPECT(!victim->request || find(&notes->requests, victim->request, 0));
    notes->victim = thing;
}

static void hear_departs(struct rig_notes *notes, const struct vidmm_note_departs *departs)
{
    struct thing *thing = noted_thing(notes, &departs->allocation);

    EXPECT(thing->state == VIDMM_STATE_LEAVING && thing->places[0].segment == departs->segment);
    EXPECT(!notes->victim || notes->victim == thing);
    EXPECT(departs->reason && *departs->reason);
    EXPECT(thing->places[1].is_there == (departs->how == VIDMM_DEPARTURE_MOVED));
    notes->victim = NULL;
    notes->evictions += departs->how != VIDMM_DEPARTURE_MOVED;
}

static uint64_t resident_in(const struct rig_notes *notes, unsigned segment)
{
    return notes->segments[segment].placed + notes->segments[segment].ranges[VIDMM_RANGE_TABLES] +
           notes->segments[segment].ranges[VIDMM_RANGE_BUFFERS];
}

static void note_peak(struct rig_notes *notes, unsigned segment)
{
    notes->segments[segment].peak =
        max_u64(notes->segments[segment].peak, resident_in(notes, segment));
}

static bool is_same_place(const struct place *place, const struct vidmm_note_place *noted)
{
    return place->is_there && place->segment == noted->segment && place->bytes == noted->bytes &&
           place->run_count == noted->run_count &&
           (!noted->run_count ||
            !memcmp(place->runs, noted->runs, noted->run_count * sizeof *noted->runs));
}

static void hear_placed(struct rig_notes *notes, const struct vidmm_note_place *noted)
{
    struct thing *thing = noted_thing(notes, &noted->allocation);
    struct place *place = &thing->places[thing->places[0].is_there];
    uint64_t pages = 0;

    EXPECT(!place->is_there && noted->segment < SEGMENTS);
    EXPECT((place != thing->places) == (noted->reason == VIDMM_PLACE_MOVE));
    EXPECT(noted->reason != VIDMM_PLACE_ASKED || find(&notes->requests, noted->request, 0));
    *place = (struct place){true, noted->segment, noted->bytes, noted->run_count,
                            make((noted->run_count + 1) * sizeof *noted->runs)};
    for (unsigned i = 0; i < noted->run_count; i++) {
        place->runs[i] = noted->runs[i];
        pages += noted->runs[i].page_count;
    }
    EXPECT(!noted->segment || PAGE_BYTES_OF(pages) == noted->bytes);
    notes->segments[noted->segment].placed += noted->bytes;
    notes->segments[noted->segment].count++;
    note_peak(notes, noted->segment);
}

static void hear_left(struct rig_notes *notes, const struct vidmm_note_place *noted)
{
    struct thing *thing = noted_thing(notes, &noted->allocation);
    struct place *place = &thing->places[!is_same_place(&thing->places[0], noted)];

    EXPECT(is_same_place(place, noted));
    switch (noted->reason) {
    case VIDMM_LEFT_EVICTED:
    case VIDMM_LEFT_DROPPED:
        EXPECT(thing->state == VIDMM_STATE_LEAVING);
        break;
    case VIDMM_LEFT_DESTROYED:
        EXPECT(thing->state == VIDMM_STATE_DYING);
        break;
    case VIDMM_LEFT_MOVED:
        EXPECT(thing->places[1].is_there);
        break;
    default:
        EXPECT(noted->reason == VIDMM_LEFT_LOST || noted->reason == VIDMM_LEFT_UNUSED);
        break;
    }
    free_place(place);
    if (place == &thing->places[0]) {
        thing->places[0] = thing->places[1];
        thing->places[1] = (struct place){0};
    }
    notes->segments[noted->segment].placed -= noted->bytes;
    notes->segments[noted->segment].count--;
}

static void hear_state(struct rig_notes *notes, const struct vidmm_note_state *state)
{
    struct thing *thing = noted_thing(notes, &state->allocation);

    EXPECT(thing->state == state->former);
    thing->state = state->state;
}

static void hear_range(struct rig_notes *notes, const struct vidmm_note_range *range)
{
    uint64_t *bytes = &notes->segments[range->segment].ranges[range->use];

    EXPECT(range->segment && range->segment < SEGMENTS);
    EXPECT(range->is_taken || *bytes >= range->bytes);
    *bytes = range->is_taken ? *bytes + range->bytes : *bytes - range->bytes;
    if (range->is_taken && range->use == VIDMM_RANGE_TABLES)
        note_peak(notes, range->segment);
}

static void hear_sample(struct rig_notes *notes, const struct vidmm_note_sample *sample)
{
    EXPECT(sample->resident == resident_in(notes, sample->segment));
    EXPECT(sample->resident == sample->tables + notes->segments[sample->segment].placed);
    EXPECT(sample->leaving + sample->doomed <= sample->resident);
}

static void hear_mapping(struct rig_notes *notes, const struct vidmm_note_mapping *mapping)
{
    struct shown *shown;

    if (mapping->is_mapped) {
        shown = make(sizeof *shown);
        *shown = (struct shown){mapping->allocation, mapping->bytes, mapping->offset};
        put(&notes->mappings, (uintptr_t)mapping->process, mapping->va, shown);
        return;
    }
    shown = take(&notes->mappings, (uintptr_t)mapping->process, mapping->va);
    EXPECT(shown && shown->allocation == mapping->allocation && shown->bytes == mapping->bytes &&
           shown->offset == mapping->offset);
    free(shown);
}

static void hear_job(struct rig_notes *notes, const struct vidmm_note_job *job)
{
    EXPECT(job->number == ++notes->last_job && job->name && *job->name);
    EXPECT(!job->allocation.named || noted_thing(notes, &job->allocation));
    put(&notes->jobs, job->number, 0, make(sizeof(struct work)));
}

static void hear_job_ends(struct rig_notes *notes, const struct vidmm_note_job *job)
{
    struct work *work = take(&notes->jobs, job->number, 0);

    EXPECT(work);
    free(work);
    if (job->is_lost) {
        notes->is_building = false;
        notes->unpacked_bytes = 0;
    }
}

static void hear_operation(struct rig_notes *notes, const struct vidmm_note_operation *operation)
{
    unsigned kind = (unsigned)operation->arguments->Operation;

    EXPECT(operation->number == ++notes->last_operation && kind < 32);
    if (!operation->job) {
        notes->operations[kind]++;
        return;
    }
    EXPECT(find(&notes->jobs, operation->job, 0));
    EXPECT(!notes->is_building);
    notes->is_building = true;
    notes->operation = (struct work){.subject = operation->number, .operation = kind};
}

static void hear_built(struct rig *rig, struct rig_notes *notes,
                       const struct vidmm_note_operation_built *built)
{
    const struct paging_queue *queue = &rig->vidmm->queue;

    EXPECT(notes->is_building && built->number == notes->operation.subject);
    EXPECT(built->buffer < queue->buffer_count &&
           (uint64_t)built->offset + built->bytes <= queue->buffers[built->buffer].bytes);
    EXPECT((built->paging != 0) == (built->bytes != 0));
    notes->paging_bytes += built->bytes;
    notes->unpacked_bytes += built->bytes;
    if (!built->is_complete)
        return;
    notes->is_building = false;
    notes->operations[notes->operation.operation]++;
}

/* A range of several different entries says of each of them what stands there. */
static void check_range(const struct vidmm_note_entries *entries)
{
    bool is_even = true;

    for (uint64_t i = 0; i < entries->count; i++) {
        const DXGK_PTE *entry = &entries->entries[i];
        uint64_t offset = PAGE_BYTES_OF(entry->PageAddress);

        EXPECT(entry->Flags == entries->entries[0].Flags && entry->Segment == entries->segment);
        is_even = is_even && offset == entries->offset + i * (uint64_t)entries->stride;
    }
    EXPECT(is_even != entries->is_scattered);
}

static void hear_entries(struct rig_notes *notes, const struct vidmm_note_entries *entries)
{
    EXPECT(entries->operation == notes->last_operation);
    EXPECT(!entries->process || thing_of(notes, entries->process));
    EXPECT(entries->entry_bytes && (entries->is_valid || !entries->offset));
    EXPECT(!entries->is_scattered ||
           (entries->is_valid && !entries->segment && entries->count > 2));
    if (entries->is_valid && (entries->stride || entries->is_scattered))
        check_range(entries);
    notes->scattered += entries->is_scattered;
}

static void hear_packet(struct rig_notes *notes, const struct vidmm_note_packet *packet)
{
    struct work *work = find(&notes->packets, packet->number, 0);

    if (packet->step == VIDMM_PACKET_QUEUED) {
        work = make(sizeof *work);
        work->kind = packet->kind;
        work->subject = packet->subject;
        put(&notes->packets, packet->number, 0, work);
        if (packet->kind == VIDMM_PACKET_PAGING) {
            EXPECT(packet->bytes == notes->unpacked_bytes);
            notes->unpacked_bytes = 0;
        }
        return;
    }
    EXPECT(work && work->kind == packet->kind && work->subject == packet->subject);
    switch (packet->step) {
    case VIDMM_PACKET_SUBMITTED:
        EXPECT(work->step == VIDMM_PACKET_QUEUED || work->step == VIDMM_PACKET_CAME_BACK);
        EXPECT(packet->queue_depth);
        break;
    case VIDMM_PACKET_CAME_BACK:
        EXPECT(work->step == VIDMM_PACKET_SUBMITTED);
        break;
    default:
        EXPECT(packet->step == VIDMM_PACKET_RETIRED);
        EXPECT(work->step == VIDMM_PACKET_SUBMITTED || !NT_SUCCESS(packet->status));
        free(take(&notes->packets, packet->number, 0));
        return;
    }
    work->step = packet->step;
}

static void hear_fence_value(struct rig_notes *notes, const struct vidmm_note_fence *fence)
{
    struct thing *thing =
        thing_of(notes, fence->fence ? (const void *)fence->fence : (const void *)fence->device);

    EXPECT(thing && !fence->fence == !!fence->device);
    if (!fence->device)
        return;
    EXPECT(fence->value > thing->fence_value && fence->request);
    thing->fence_value = fence->value;
}

static void hear_fence_wait(struct rig_notes *notes, const struct vidmm_note_fence_wait *wait,
                            bool ends)
{
    if (ends) {
        EXPECT(notes->fence_waits && wait->number && wait->number <= notes->last_fence_wait);
        notes->fence_waits--;
    } else {
        EXPECT(wait->number == ++notes->last_fence_wait && thing_of(notes, wait->fence));
        notes->fence_waits++;
    }
}

void rig_notes_hear(void *context, const struct vidmm_note *note)
{
    struct rig *rig = context;
    struct rig_notes *notes = rig->notes;

    EXPECT(note->kind < VIDMM_NOTE_KINDS);
    rig_told_note(note);
    notes->counts[note->kind]++;
    EXPECT(!notes->victim || note->kind == VIDMM_NOTE_DEPARTS);
    switch (note->kind) {
    case VIDMM_NOTE_OBJECT:
        hear_object(notes, &note->object);
        break;
    case VIDMM_NOTE_OBJECT_ENDS:
        hear_object_ends(notes, &note->object);
        break;
    case VIDMM_NOTE_REQUEST:
        hear_request(notes, &note->request);
        break;
    case VIDMM_NOTE_REQUEST_WAITS:
        hear_request_waits(notes, &note->request_waits);
        break;
    case VIDMM_NOTE_REQUEST_BEGINS:
        hear_request_begins(notes, &note->request_begins);
        break;
    case VIDMM_NOTE_REQUEST_ENDS:
        hear_request_ends(notes, &note->request_ends);
        break;
    case VIDMM_NOTE_VICTIM:
        hear_victim(rig, notes, &note->victim);
        break;
    case VIDMM_NOTE_OFFER:
        noted_thing(notes, &note->offer.allocation)->is_offered = note->offer.is_offered;
        break;
    case VIDMM_NOTE_TRIM:
        notes->trims++;
        break;
    case VIDMM_NOTE_DEPARTS:
        hear_departs(notes, &note->departs);
        break;
    case VIDMM_NOTE_PLACED:
        hear_placed(notes, &note->place);
        break;
    case VIDMM_NOTE_LEFT:
        hear_left(notes, &note->place);
        break;
    case VIDMM_NOTE_STATE:
        hear_state(notes, &note->state);
        break;
    case VIDMM_NOTE_RANGE:
        hear_range(notes, &note->range);
        break;
    case VIDMM_NOTE_SAMPLE:
        hear_sample(notes, &note->sample);
        break;
    case VIDMM_NOTE_MAPPING:
        hear_mapping(notes, &note->mapping);
        break;
    case VIDMM_NOTE_JOB:
        hear_job(notes, &note->job);
        break;
    case VIDMM_NOTE_JOB_ENDS:
        hear_job_ends(notes, &note->job);
        break;
    case VIDMM_NOTE_OPERATION:
        hear_operation(notes, &note->operation);
        break;
    case VIDMM_NOTE_OPERATION_BUILT:
        hear_built(rig, notes, &note->built);
        break;
    case VIDMM_NOTE_ENTRIES:
        hear_entries(notes, &note->entries);
        break;
    case VIDMM_NOTE_PACKET:
        hear_packet(notes, &note->packet);
        break;
    case VIDMM_NOTE_FENCE_VALUE:
        hear_fence_value(notes, &note->fence);
        break;
    case VIDMM_NOTE_FENCE_WAITS:
    case VIDMM_NOTE_FENCE_WAIT_ENDS:
        hear_fence_wait(notes, &note->fence_wait, note->kind == VIDMM_NOTE_FENCE_WAIT_ENDS);
        break;
    default:
        break;
    }
    if (rig->note_hook)
        rig->note_hook(rig, note);
}

uint64_t rig_notes_scattered(const struct rig *rig)
{
    return rig->notes->scattered;
}

uint64_t rig_notes_count(const struct rig *rig, enum vidmm_note_kind kind)
{
    return rig->notes->counts[kind];
}

/* ---- The world and the manager --------------------------------------------------------------- */

static bool is_place(const struct place *place, const struct placement *real)
{
    if (!real || !real->segment)
        return !place->is_there;
    if (!place->is_there || place->segment != real->segment->id ||
        place->bytes != placement_bytes(real))
        return false;
    switch (real->segment->kind) {
    case SEGMENT_SYSTEM:
        return !place->run_count;
    case SEGMENT_PAGES:
        return place->run_count == real->runs->count &&
               !memcmp(place->runs, real->runs->run, place->run_count * sizeof *place->runs);
    default:
        return place->run_count == 1 && PAGE_BYTES_OF(place->runs[0].first_page) == real->offset &&
               place->runs[0].page_count == real->page_count;
    }
}

/* While GpuMmu moves it, the two places have changed roles for some time. */
static void check_allocation(const struct rig_notes *notes,
                             const struct vidmm_allocation *allocation)
{
    const struct thing *thing = thing_of(notes, allocation);
    bool is_straight;

    EXPECT(thing && (unsigned)thing->state == (unsigned)allocation->state);
    is_straight = is_place(&thing->places[0], &allocation->place) &&
                  is_place(&thing->places[1], allocation->other);
    EXPECT(is_straight || (allocation->other && is_place(&thing->places[1], &allocation->place) &&
                           is_place(&thing->places[0], allocation->other)));
    EXPECT(thing->is_offered == allocation->is_offered);
}

static void check_process(const struct rig_notes *notes, const struct vidmm_process *process,
                          size_t *allocations, size_t *mappings)
{
    const struct vidmm_device *device;
    const struct vidmm_allocation *allocation;
    const struct mapping *mapping;

    EXPECT(thing_of(notes, process));
    list_for_each (device, &process->devices, struct vidmm_device, link) {
        const struct thing *thing = thing_of(notes, device);

        EXPECT(thing &&
               (!thing->fence_value || thing->fence_value == device->paging_fence.waiters.value));
        list_for_each (allocation, &device->allocations, struct vidmm_allocation, device_link) {
            check_allocation(notes, allocation);
            (*allocations)++;
        }
    }
    list_for_each (mapping, &process->mappings, struct mapping, process_link) {
        const struct shown *shown = find(&notes->mappings, (uintptr_t)process, mapping->va);

        EXPECT(shown && shown->bytes == PAGE_BYTES_OF(mapping->page_count));
        (*mappings)++;
    }
}

static void check_segments(const struct rig_notes *notes, struct vidmm *vidmm)
{
    for (unsigned id = 0; id <= vidmm->caps.segment_count; id++) {
        const struct segment *segment = segment_by_id(vidmm, id);

        EXPECT(resident_in(notes, id) == segment->used);
        EXPECT(segment->used - notes->segments[id].placed == segment->table_bytes);
        EXPECT(notes->segments[id].count == segment->allocation_count);
        EXPECT(notes->segments[id].peak == segment->peak_used);
        if (segment->kind == SEGMENT_APERTURE)
            EXPECT(segment->used + notes->segments[id].ranges[VIDMM_RANGE_EVICTION] ==
                   segment->committed);
    }
}

static size_t allocations_of(const struct rig_notes *notes)
{
    size_t count = 0;

    for (size_t i = 0; i < notes->things.capacity; i++) {
        const struct thing *thing = notes->things.entries[i].value;

        count +=
            thing && thing->kind >= VIDMM_OBJECT_ALLOCATION && thing->kind <= VIDMM_OBJECT_INSTANCE;
    }
    return count;
}

void rig_notes_check(struct rig *rig)
{
    const struct rig_notes *notes = rig->notes;
    const struct vidmm_statistics *statistics = vidmm_statistics(rig->vidmm);
    const struct vidmm_process *process;
    size_t allocations = 0, mappings = 0;

    if (!rig->vidmm->notes.is_heard)
        return;
    list_for_each (process, &rig->vidmm->processes, struct vidmm_process, link)
        check_process(notes, process, &allocations, &mappings);
    EXPECT(allocations == allocations_of(notes) && mappings == notes->mappings.count);
    check_segments(notes, rig->vidmm);
    EXPECT(notes->evictions == statistics->evictions);
    EXPECT(notes->trims == statistics->trim_requests);
    EXPECT(notes->paging_bytes == statistics->paging_bytes);
    EXPECT(notes->fence_waits == rig->vidmm->native_fences.wait_count);
    for (unsigned i = 0; i < 32; i++)
        EXPECT(notes->operations[i] == statistics->operations[i]);
    if (!vidmm_is_idle(rig->vidmm))
        return;
    EXPECT(!notes->requests.count && !notes->packets.count);
    EXPECT(!notes->jobs.count && !notes->is_building);
}
