/*
 * Items of memory: places of allocations, paging operations, mappings, and curves.
 */
#include "story/join_private.h"

/* ---- Places ---------------------------------------------------------------------------------- */

static uint64_t place_key(uint64_t allocation, uint64_t instance, uint64_t segment, uint64_t offset)
{
    return row_key2(row_key2(allocation, instance), row_key2(segment, offset));
}

void join_take_placed(struct join *join, const struct record_reader_item *item)
{
    FIELDS(placed);
    uint64_t allocation = OBJECT(join, allocation, fields->allocation), row;

    row =
        ADD(PLACES, allocation, fields->instance, OBJECT(join, segment, fields->segment),
            fields->offset, fields->bytes, item->time_ns, STORY_NEVER, join_text(join, fields->why),
            0, join_request(join, fields->request), 0, 0, STORY_NEVER, 0);
    row_map_set(&join->places,
                place_key(fields->allocation, fields->instance, fields->segment, fields->offset),
                row);
    join_add_to(join, STORY_OBJECTS_PLACED, allocation, 1);
}

void join_take_left(struct join *join, const struct record_reader_item *item)
{
    FIELDS(left);
    uint64_t key = place_key(fields->allocation, fields->instance, fields->segment, fields->offset);
    uint64_t row = row_map_get(&join->places, key), departure;
    uint64_t request = join_request(join, fields->request);
    uint64_t allocation = OBJECT(join, allocation, fields->allocation);

    /* A place that was not told of, or has ended already, was there from the beginning. */
    if (!row || story_get(join->story, STORY_PLACES_TO, (size_t)row - 1) != STORY_NEVER)
        row = ADD(PLACES, allocation, fields->instance, OBJECT(join, segment, fields->segment),
                  fields->offset, fields->bytes, 0, STORY_NEVER, 0, 0, 0, 0, 0, STORY_NEVER, 0);
    departure = row_map_get(&join->departures, place_key(fields->allocation, fields->instance,
                                                         fields->segment, UINT64_MAX));
    if (departure) {
        SET(PLACES, DECIDED, row, story_get(join->story, STORY_MARKS_TIME, (size_t)departure - 1));
        SET(PLACES, REASON, row, story_get(join->story, STORY_MARKS_TEXT, (size_t)departure - 1));
    }
    SET(PLACES, TO, row, item->time_ns);
    SET(PLACES, WHY_LEFT, row, join_text(join, fields->why));
    SET(PLACES, LEFT_FOR, row, request);
    SET(PLACES, EVICTOR, row, join_process_of_request(join, request));
    if (request)
        join_add_to(join, STORY_OBJECTS_EVICTED, allocation, 1);
}

/* The decision, which may be long before the place is free. */
void join_take_departs(struct join *join, const struct record_reader_item *item)
{
    FIELDS(departs);

    join_mark(join, item->time_ns, "departs", join_text(join, fields->why), 0,
              OBJECT(join, allocation, fields->allocation), fields->request, 0, 0);
    row_map_set(&join->departures,
                place_key(fields->allocation, fields->instance, fields->segment, UINT64_MAX),
                story_rows(join->story, STORY_MARKS));
}

void join_take_range(struct join *join, const struct record_reader_item *item)
{
    FIELDS(range);
    uint64_t key = row_key2(row_key2(fields->segment, fields->offset), fields->bytes);
    uint64_t row = row_map_get(&join->ranges, key);
    bool is_open = row && story_get(join->story, STORY_RANGES_TO, (size_t)row - 1) == STORY_NEVER;

    if (!fields->is_taken && is_open) {
        SET(RANGES, TO, row, item->time_ns);
        return;
    }
    row = ADD(RANGES, OBJECT(join, segment, fields->segment), fields->offset, fields->bytes,
              join_text(join, fields->use), fields->is_taken ? item->time_ns : 0,
              fields->is_taken ? STORY_NEVER : item->time_ns);
    row_map_set(&join->ranges, key, row);
}

void join_take_offer(struct join *join, const struct record_reader_item *item)
{
    FIELDS(offer);

    join_mark(join, item->time_ns, fields->is_offered ? "offer" : "reclaim", 0, 0,
              OBJECT(join, allocation, fields->allocation), fields->priority, 0, 0);
}

void join_take_given_up(struct join *join, const struct record_reader_item *item)
{
    FIELDS(given_up);

    join_mark(join, item->time_ns, "given up", 0, 0, OBJECT(join, process, fields->process),
              fields->allocations, 0, 0);
}

void join_take_trim(struct join *join, const struct record_reader_item *item)
{
    FIELDS(trim);

    join_mark(join, item->time_ns, "trim",
              fields->group ? join->words.non_local : join->words.local, 0,
              OBJECT(join, process, fields->process), fields->bytes, 0, 0);
}

/* ---- Operations ------------------------------------------------------------------------------ */

static uint64_t job_of(struct join *join, uint64_t number)
{
    return join_numbered(join, &join->jobs, STORY_JOBS, STORY_JOBS_NUMBER, number);
}

void join_take_job(struct join *join, const struct record_reader_item *item)
{
    FIELDS(job);
    uint64_t row = job_of(join, fields->number);

    if (!row)
        return;
    SET(JOBS, NAME, row, join_text(join, fields->name));
    SET(JOBS, ALLOCATION, row, OBJECT(join, allocation, fields->allocation));
    SET(JOBS, REQUEST, row, join_request(join, fields->request));
    SET(JOBS, BEGINS, row, item->time_ns);
}

void join_take_job_ends(struct join *join, const struct record_reader_item *item)
{
    FIELDS(job_ends);
    uint64_t row = job_of(join, fields->number);

    if (!row)
        return;
    SET(JOBS, ENDS, row, item->time_ns);
    SET(JOBS, IS_LOST, row, fields->is_lost != 0);
}

void join_take_queue_waits(struct join *join, const struct record_reader_item *item)
{
    FIELDS(queue_waits);

    join_mark(join, item->time_ns, "paging queue waits", join_text(join, fields->reason), 0, 0,
              fields->job, 0, 0);
}

void join_take_operation(struct join *join, const struct record_reader_item *item)
{
    FIELDS(operation);
    uint64_t row = join_operation(join, fields->number), allocation;

    if (!row)
        return;
    allocation = OBJECT(join, allocation, fields->allocation);
    SET(OPERATIONS, JOB, row, fields->job);
    SET(OPERATIONS, NAME, row, join_text(join, fields->name));
    SET(OPERATIONS, ALLOCATION, row, allocation);
    SET(OPERATIONS, PROCESS, row, OBJECT(join, process, fields->process));
    SET(OPERATIONS, FROM_SEGMENT, row, OBJECT(join, segment, fields->from_segment));
    SET(OPERATIONS, FROM_OFFSET, row, fields->from_offset);
    SET(OPERATIONS, TO_SEGMENT, row, OBJECT(join, segment, fields->to_segment));
    SET(OPERATIONS, TO_OFFSET, row, fields->to_offset);
    SET(OPERATIONS, BYTES, row, fields->bytes);
    SET(OPERATIONS, ASKED, row, item->time_ns);
    join_add_to(join, STORY_OBJECTS_MOVED, allocation, fields->bytes);
    join_give_to(join, allocation, OBJECT(join, process, fields->process));
    if (fields->job) {
        uint64_t job = job_of(join, fields->job);
        uint64_t request = job ? story_get(join->story, STORY_JOBS_REQUEST, (size_t)job - 1) : 0;

        if (request)
            row_map_set(&join->last_operations, row_key(request), row);
    }
}

void join_take_operation_built(struct join *join, const struct record_reader_item *item)
{
    FIELDS(operation_built);
    uint64_t row = join_operation(join, fields->number);

    if (!row)
        return;
    SET(OPERATIONS, BUILT, row, item->time_ns);
    SET(OPERATIONS, BUFFER, row, fields->buffer);
    join_add_to(join, STORY_OPERATIONS_BUFFER_BYTES, row, fields->bytes);
    join_add_to(join, STORY_OPERATIONS_PASSES, row, fields->passes);
}

/* Of the operation and of those behind it; the record has told of these before. */
static void set_operations(struct join *join, uint64_t number, uint64_t more,
                           enum story_column column, uint64_t value)
{
    uint64_t row = join_operation(join, number);

    more = min_u64(more, RECORD_MORE_MOST);
    for (uint64_t i = 0; row; row = row_map_get(&join->operations, row_key(number + i))) {
        story_set(join->story, column, (size_t)row - 1, value);
        if (i++ == more)
            return;
    }
}

void join_take_operation_packet(struct join *join, const struct record_reader_item *item)
{
    FIELDS(operation_packet);

    set_operations(join, fields->number, fields->more, STORY_OPERATIONS_PACKET,
                   join_packet(join, fields->packet));
}

void join_take_operation_retired(struct join *join, const struct record_reader_item *item)
{
    FIELDS(operation_retired);

    set_operations(join, fields->number, fields->more, STORY_OPERATIONS_RETIRED, item->time_ns);
}

void join_take_entries(struct join *join, const struct record_reader_item *item)
{
    FIELDS(entries);

    ADD(ENTRIES, item->time_ns, join_operation(join, fields->operation),
        OBJECT(join, process, fields->process), fields->level, fields->va, fields->count,
        fields->covers, OBJECT(join, segment, fields->segment), fields->offset, fields->stride,
        fields->flags, fields->valid ? fields->count : 0, fields->scattered != 0);
}

void join_take_mapping(struct join *join, const struct record_reader_item *item)
{
    FIELDS(mapping);
    uint64_t key = row_key2(row_key2(fields->process, fields->allocation), fields->va);
    uint64_t row = row_map_get(&join->mappings, key);
    bool is_open = row && story_get(join->story, STORY_MAPPINGS_TO, (size_t)row - 1) == STORY_NEVER;

    if (fields->is_mapped) {
        row = ADD(MAPPINGS, OBJECT(join, process, fields->process),
                  OBJECT(join, allocation, fields->allocation), fields->va, fields->bytes,
                  fields->offset, item->time_ns, STORY_NEVER);
        row_map_set(&join->mappings, key, row);
        join_give_to(join, OBJECT(join, allocation, fields->allocation),
                     OBJECT(join, process, fields->process));
    } else if (is_open) {
        SET(MAPPINGS, TO, row, item->time_ns);
    } else {
        ADD(MAPPINGS, OBJECT(join, process, fields->process),
            OBJECT(join, allocation, fields->allocation), fields->va, fields->bytes, fields->offset,
            0, item->time_ns);
    }
}

/* ---- Curves ---------------------------------------------------------------------------------- */

/* A point of a curve, unless the curve has this value already. */
static void sample(struct join *join, uint64_t time, const char *name, uint64_t about,
                   uint64_t group, uint64_t value)
{
    uint64_t name_text = story_text(join->story, name);
    uint64_t key = row_key2(row_key2(about, group), name_text);
    uint64_t row = row_map_get(&join->series, key);

    if (!row) {
        row = ADD(SERIES, name_text, about, story_text(join->story, "bytes"), group);
        row_map_set(&join->series, key, row);
    } else if (row_map_get(&join->last_values, row_key(row)) == value + 1) {
        return;
    }
    row_map_set(&join->last_values, row_key(row), value + 1);
    ADD(SAMPLES, row, time, value);
}

void join_take_budget(struct join *join, const struct record_reader_item *item)
{
    FIELDS(budget);

    sample(join, item->time_ns, "budget", OBJECT(join, process, fields->process),
           fields->group ? join->words.non_local : join->words.local, fields->bytes);
}

void join_take_sample(struct join *join, const struct record_reader_item *item)
{
    FIELDS(sample);
    uint64_t segment = OBJECT(join, segment, fields->segment);

    sample(join, item->time_ns, "resident", segment, 0, fields->resident);
    sample(join, item->time_ns, "free", segment, 0, fields->free);
    sample(join, item->time_ns, "committed", segment, 0, fields->committed);
    sample(join, item->time_ns, "demand", segment, 0, fields->demand);
    sample(join, item->time_ns, "leaving", segment, 0, fields->leaving);
    sample(join, item->time_ns, "tables", segment, 0, fields->tables);
}
