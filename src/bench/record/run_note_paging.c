/*
 * Notes of paging: where allocations are, and the operations that bring them there.
 */
#include "bench/record/run_note_private.h"

#include "miniport/entries.h"
#include "miniport/operation.h"

#include <stdlib.h>
#include <string.h>

#define PAGE UINT64_C(4096)

/* ---- Places ---------------------------------------------------------------------------------- */

void run_note_departs(struct run_record_manager *manager, const struct vidmm_note_departs *noted)
{
    struct run_record_object *object = run_note_allocation(manager, &noted->allocation);

    if (!object)
        return;
    object->why = noted->reason;
    object->request = run_note_numbered(manager, RUN_RECORD_REQUESTS, noted->request);
    ITEM(manager, departs, .allocation = object->number, .instance = object->instance,
         .segment = noted->segment, .why = run_note_word(manager, noted->reason),
         .request = object->request);
}

void run_note_placed(struct run_record_manager *manager, const struct vidmm_note_place *noted)
{
    struct run_record_object *object = run_note_allocation(manager, &noted->allocation);
    const struct vidmm_noted_run whole = {0, noted->bytes / PAGE};
    const struct vidmm_noted_run *runs = noted->run_count ? noted->runs : &whole;
    unsigned count = noted->run_count ? noted->run_count : 1;
    unsigned place;

    if (!object)
        return;
    place = object->segment[0] ? 1 : 0;
    object->segment[place] = noted->segment + 1;
    free(object->runs[place]);
    object->runs[place] = malloc(count * sizeof *runs);
    object->run_counts[place] = object->runs[place] ? count : 0;
    if (object->runs[place])
        memcpy(object->runs[place], runs, count * sizeof *runs);
    for (unsigned i = 0; i < count; i++)
        ITEM(manager, placed, .allocation = object->number, .instance = object->instance,
             .segment = noted->segment, .offset = runs[i].first_page * PAGE,
             .bytes = runs[i].page_count * PAGE,
             .why = run_note_word(manager, vidmm_place_reason_name(noted->reason)),
             .request = run_note_numbered(manager, RUN_RECORD_REQUESTS, noted->request));
}

static bool is_place(const struct run_record_object *object, unsigned place,
                     const struct vidmm_note_place *noted)
{
    return object->segment[place] == noted->segment + 1 &&
           (!noted->run_count || !object->runs[place] ||
            object->runs[place][0].first_page == noted->runs[0].first_page);
}

/* Why it left, as its departure has said; what is destroyed or lost has none. */
static const char *why_left(const struct run_record_object *object,
                            const struct vidmm_note_place *noted)
{
    bool has_departed = noted->reason == VIDMM_LEFT_EVICTED ||
                        noted->reason == VIDMM_LEFT_DROPPED || noted->reason == VIDMM_LEFT_MOVED;

    return has_departed && object->why ? object->why : vidmm_place_reason_name(noted->reason);
}

void run_note_left(struct run_record_manager *manager, const struct vidmm_note_place *noted)
{
    struct run_record_object *object = run_note_allocation(manager, &noted->allocation);
    const struct vidmm_noted_run whole = {0, noted->bytes / PAGE};
    const struct vidmm_noted_run *runs = noted->run_count ? noted->runs : &whole;
    unsigned count = noted->run_count ? noted->run_count : 1;
    const char *why;

    if (!object)
        return;
    why = why_left(object, noted);
    for (unsigned i = 0; i < count; i++)
        ITEM(manager, left, .allocation = object->number, .instance = object->instance,
             .segment = noted->segment, .offset = runs[i].first_page * PAGE,
             .bytes = runs[i].page_count * PAGE, .why = run_note_word(manager, why),
             .request = why == object->why ? object->request : 0);
    object->why = NULL;
    object->request = 0;
    if (is_place(object, 0, noted)) {
        free(object->runs[0]);
        object->segment[0] = object->segment[1];
        object->runs[0] = object->runs[1];
        object->run_counts[0] = object->run_counts[1];
    } else {
        free(object->runs[1]);
    }
    object->segment[1] = 0;
    object->runs[1] = NULL;
    object->run_counts[1] = 0;
}

/* ---- Operations ------------------------------------------------------------------------------ */

/* The byte of the segment where a byte of the allocation lies; *segment 0: in system memory. */
static uint64_t offset_in(const struct run_record_object *object, unsigned place, uint64_t byte,
                          uint64_t *segment)
{
    uint64_t page = byte / PAGE;

    *segment = object->segment[place] ? object->segment[place] - 1 : 0;
    for (unsigned i = 0; *segment && i < object->run_counts[place]; i++) {
        const struct vidmm_noted_run *run = &object->runs[place][i];

        if (page < run->page_count)
            return (run->first_page + page) * PAGE + byte % PAGE;
        page -= run->page_count;
    }
    return 0;
}

/*
 * From where to where. Addresses in page tables are those of the paging process, which lead where
 * the job moves the allocation: in, out, or from one place to the other.
 */
static void find_place(const struct run_record_manager *manager,
                       const struct run_record_object *object, struct miniport_place place,
                       const char *job, bool is_source, uint64_t byte, uint64_t *segment,
                       uint64_t *offset)
{
    bool is_in, is_move;

    *segment = place.segment;
    *offset = place.segment ? place.address : 0;
    switch (place.kind) {
    case MINIPORT_PLACE_ADDRESS:
        if (place.segment && place.segment < RUN_RECORD_SEGMENTS)
            *offset -= manager->segment_bases[place.segment];
        break;
    case MINIPORT_PLACE_SLOT:
        *offset *= PAGE;
        break;
    case MINIPORT_PLACE_VIRTUAL:
        *segment = *offset = 0;
        is_in = !strcmp(job, "enter");
        is_move = !strcmp(job, "move");
        if (object && is_move)
            *offset = offset_in(object, is_source ? 0 : 1, byte, segment);
        else if (object && is_in != is_source)
            *offset = offset_in(object, 0, byte, segment);
        break;
    default:
        *segment = *offset = 0;
        break;
    }
}

void run_note_operation(struct run_record_manager *manager,
                        const struct vidmm_note_operation *noted)
{
    const DXGKARG_BUILDPAGINGBUFFER *arguments = noted->arguments;
    const struct run_record_object *object =
        noted->allocation.named ? run_note_allocation(manager, &noted->allocation) : NULL;
    const char *job = noted->job_name ? noted->job_name : "";
    struct record_operation item = {
        .number = run_note_numbered(manager, RUN_RECORD_OPERATIONS, noted->number),
        .job = run_note_numbered(manager, RUN_RECORD_JOBS, noted->job),
        .name = run_note_word(manager, miniport_operation_name((unsigned)arguments->Operation)),
        .process = run_note_number_of(manager, noted->process),
        .bytes = miniport_operation_bytes(arguments),
    };
    uint64_t byte = miniport_operation_offset(arguments);

    item.allocation = object ? object->number
                             : run_record_number(manager->record, TRACE_HANDLE_ALLOCATION,
                                                 miniport_operation_allocation(arguments));
    manager->record->entries = (struct run_record_entries){0};
    if (arguments->Operation == DXGK_OPERATION_NOTIFY_FENCE_RESIDENCY)
        run_note_fence_homes(manager, &arguments->NotifyFenceResidency);
    find_place(manager, object, miniport_operation_source(arguments), job, true, byte,
               &item.from_segment, &item.from_offset);
    find_place(manager, object, miniport_operation_destination(arguments), job, false, byte,
               &item.to_segment, &item.to_offset);
    record_item(manager->record->record, RECORD_KIND_operation, run_record_now(manager->record),
                (const uint64_t *)&item, NULL, 0);
    if (!noted->job)
        ITEM(manager, operation_retired,
             .number = run_note_numbered(manager, RUN_RECORD_OPERATIONS, noted->number));
}

static struct run_record_part *last_part(const struct run_record_manager *manager,
                                         uint64_t operation)
{
    struct run_record_part *part;

    if (manager->part_end == manager->part_first)
        return NULL;
    part = &manager->parts[manager->part_end - 1];
    return part->operation == operation ? part : NULL;
}

static void add_part(struct run_record_manager *manager, const struct run_record_part *part)
{
    if (manager->part_first && manager->part_end == manager->part_room) {
        memmove(manager->parts, manager->parts + manager->part_first,
                (manager->part_end - manager->part_first) * sizeof *part);
        manager->part_end -= manager->part_first;
        manager->part_first = 0;
    }
    if (manager->part_end == manager->part_room &&
        !run_note_grow((void **)&manager->parts, &manager->part_room, sizeof *part))
        return;
    manager->parts[manager->part_end++] = *part;
}

void run_note_built(struct run_record_manager *manager,
                    const struct vidmm_note_operation_built *noted)
{
    struct run_record_part *part;

    ITEM(manager, operation_built,
         .number = run_note_numbered(manager, RUN_RECORD_OPERATIONS, noted->number),
         .buffer = noted->buffer, .offset = noted->offset, .bytes = noted->bytes, .passes = 1,
         .status = (uint32_t)noted->status, .is_complete = noted->is_complete);
    if (noted->bytes) {
        add_part(manager,
                 &(struct run_record_part){
                     .operation = run_note_numbered(manager, RUN_RECORD_OPERATIONS, noted->number),
                     .paging = noted->paging,
                     .is_last = noted->is_complete});
        return;
    }
    if (!noted->is_complete)
        return;
    part = last_part(manager, run_note_numbered(manager, RUN_RECORD_OPERATIONS, noted->number));
    if (part)
        part->is_last = true;
    else /* no commands, or none that have still to run */
        ITEM(manager, operation_retired,
             .number = run_note_numbered(manager, RUN_RECORD_OPERATIONS, noted->number));
}

/* The adapter was reset: what has been built is gone. */
void run_note_job_ends(struct run_record_manager *manager, const struct vidmm_note_job *noted)
{
    ITEM(manager, job_ends, .number = run_note_numbered(manager, RUN_RECORD_JOBS, noted->number),
         .is_lost = noted->is_lost);
    if (noted->is_lost)
        manager->part_first = manager->part_end = 0;
}

/* The hash of all entries of the operation, for the line of the call that will have them. */
static void add_hash(struct run_record_entries *entries, const struct vidmm_note_entries *noted)
{
    if (!noted->hash || (entries->count && noted->entries != entries->first + entries->count))
        return;
    if (!entries->count)
        entries->first = noted->entries;
    entries->count += noted->count;
    entries->hash = miniport_entries_add_hash(entries->hash, noted->hash);
}

void run_note_entries(struct run_record_manager *manager, const struct vidmm_note_entries *noted)
{
    add_hash(&manager->record->entries, noted);
    ITEM(manager, entries, .covers = noted->entry_bytes,
         .operation = run_note_numbered(manager, RUN_RECORD_OPERATIONS, noted->operation),
         .process = run_note_number_of(manager, noted->process), .level = noted->level,
         .va = noted->va, .count = noted->count, .segment = noted->segment, .offset = noted->offset,
         .stride = (uint64_t)noted->stride, .flags = noted->flags, .valid = noted->is_valid,
         .scattered = noted->is_scattered);
}

/* ---- Operations in packets ------------------------------------------------------------------- */

/* So many operations follow `number` in a row of them that is to become one item. */
struct operation_row {
    uint64_t number, more;
};

/* True, and the row is longer: the operation is the next one behind it. */
static bool is_behind(struct operation_row *row, uint64_t operation)
{
    if (!row->number || operation != row->number + row->more + 1 || row->more == RECORD_MORE_MOST)
        return false;
    row->more++;
    return true;
}

static void put_retired(struct run_record_manager *manager, const struct operation_row *row)
{
    if (row->number)
        ITEM(manager, operation_retired, .number = row->number, .more = row->more);
}

static void put_in_packet(struct run_record_manager *manager, const struct operation_row *row,
                          uint64_t packet)
{
    if (row->number)
        ITEM(manager, operation_packet, .number = row->number, .packet = packet, .more = row->more);
}

/* The operations that have parts in this paging submission. */
void run_note_in_packet(struct run_record_manager *manager, uint64_t paging, uint64_t packet)
{
    struct operation_row row = {0};

    for (size_t i = manager->part_first; i < manager->part_end; i++) {
        const struct run_record_part *part = &manager->parts[i];

        if (part->paging != paging || is_behind(&row, part->operation))
            continue;
        put_in_packet(manager, &row, packet);
        row = (struct operation_row){.number = part->operation};
    }
    put_in_packet(manager, &row, packet);
}

/* All parts up to this paging submission have run, or have failed with it. */
void run_note_retire_parts(struct run_record_manager *manager, uint64_t paging)
{
    struct operation_row row = {0};

    while (manager->part_first < manager->part_end &&
           manager->parts[manager->part_first].paging <= paging) {
        const struct run_record_part *part = &manager->parts[manager->part_first++];

        if (!part->is_last || is_behind(&row, part->operation))
            continue;
        put_retired(manager, &row);
        row = (struct operation_row){.number = part->operation};
    }
    put_retired(manager, &row);
}
