/*
 * One function for each kind of item, take_KIND(). Each finds the row that the item is about by the
 * number that the record gives it, and sets what the item adds.
 */
#include "story/story_join.h"

#include "base/bits.h"
#include "record/record_line.h"
#include "story/story_read.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* ---- Texts and objects ----------------------------------------------------------------------- */

/* A text of the record as one of the story. */
static uint64_t text(struct join *join, uint64_t number)
{
    size_t size;
    const char *bytes;

    if (!number || number > record_reader_text_count(join->reader))
        return 0;
    if (number >= join->text_room) {
        size_t room = join->text_room ? join->text_room : 1024;
        uint64_t *grown;

        while (room <= number)
            room *= 2;
        grown = base_alloc_array(story_services(join->story), room, sizeof *grown);
        if (!grown) {
            join->failed = true;
            return 0;
        }
        if (join->text_room)
            memcpy(grown, join->texts, join->text_room * sizeof *grown);
        base_free_array(story_services(join->story), join->texts, join->text_room, sizeof *grown);
        join->texts = grown;
        join->text_room = room;
    }
    if (!join->texts[number]) {
        bytes = record_reader_bytes(join->reader, number, &size);
        join->texts[number] =
            story_text_bytes(join->story, bytes ? bytes : "", bytes ? size : 0) + 1;
    }
    return join->texts[number] - 1;
}

/* The row plus one of an object, which is made when the record did not tell of it. */
static uint64_t numbered_object(struct join *join, uint64_t type, uint64_t number)
{
    uint64_t key = row_key2(type, number), row = row_map_get(&join->objects, key);

    if (!row) {
        row = story_add(join->story, STORY_OBJECTS) + 1;
        story_set(join->story, STORY_OBJECTS_KIND, row - 1, type);
        story_set(join->story, STORY_OBJECTS_NUMBER, row - 1, number);
        if (type == join->words.process)
            story_set(join->story, STORY_OBJECTS_PROCESS, row - 1, row);
        row_map_set(&join->objects, key, row);
    }
    return row;
}

/* 0 is none. */
static uint64_t object(struct join *join, uint64_t type, uint64_t number)
{
    return number ? numbered_object(join, type, number) : STORY_NONE;
}

#define OBJECT(join, kind, number) object(join, (join)->words.kind, number)

/* Nodes are numbered from 0; every one of them is an object. */
static uint64_t node(struct join *join, uint64_t ordinal)
{
    return numbered_object(join, join->words.node, ordinal);
}

/*
 * The driver is not told whose an allocation is. The first process whose work is about it has it.
 */
static void give_to(struct join *join, uint64_t allocation, uint64_t process)
{
    if (allocation && process &&
        !story_get(join->story, STORY_OBJECTS_PROCESS, (size_t)allocation - 1))
        story_set(join->story, STORY_OBJECTS_PROCESS, (size_t)allocation - 1, process);
}

static uint64_t process_of(const struct join *join, uint64_t object)
{
    return object ? story_get(join->story, STORY_OBJECTS_PROCESS, (size_t)object - 1) : 0;
}

/* The row plus one of something that is numbered, which is made when it is new. */
static uint64_t numbered(struct join *join, struct row_map *map, enum story_table table,
                         enum story_column number_column, uint64_t number)
{
    uint64_t row;

    if (!number)
        return STORY_NONE;
    row = row_map_get(map, row_key(number));
    if (!row) {
        row = story_add(join->story, table) + 1;
        story_set(join->story, number_column, row - 1, number);
        row_map_set(map, row_key(number), row);
    }
    return row;
}

static uint64_t packet_of(struct join *join, uint64_t number)
{
    return numbered(join, &join->packets, STORY_PACKETS, STORY_PACKETS_NUMBER, number);
}

static uint64_t operation_of(struct join *join, uint64_t number)
{
    return numbered(join, &join->operations, STORY_OPERATIONS, STORY_OPERATIONS_NUMBER, number);
}

static uint64_t request_of(struct join *join, uint64_t number)
{
    return numbered(join, &join->requests, STORY_REQUESTS, STORY_REQUESTS_NUMBER, number);
}

/* The process of a request, or of its context. */
static uint64_t process_of_request(const struct join *join, uint64_t request)
{
    return request ? story_get(join->story, STORY_REQUESTS_PROCESS, (size_t)request - 1) : 0;
}

static void add_to(struct join *join, enum story_column column, uint64_t row, uint64_t amount)
{
    if (row)
        story_set(join->story, column, (size_t)row - 1,
                  story_get(join->story, column, (size_t)row - 1) + amount);
}

/* ---- The run and its objects ----------------------------------------------------------------- */

#define FIELDS(kind) const struct record_##kind *fields = RECORD_FIELDS(kind, item)
#define SET(TABLE, COLUMN, row, value)                                                             \
    story_set(join->story, STORY_##TABLE##_##COLUMN, (size_t)(row)-1, value)
#define ADD(TABLE, ...) add(join, STORY_##TABLE, (const uint64_t[]){__VA_ARGS__})

/* A row with all its values; gives it plus one. */
static uint64_t add(struct join *join, enum story_table table, const uint64_t *values)
{
    return story_add_row(join->story, table, values) + 1;
}

static void take_run(struct join *join, const struct record_reader_item *item)
{
    FIELDS(run);

    ADD(FACTS, text(join, fields->key), text(join, fields->value));
}

static void take_object(struct join *join, const struct record_reader_item *item)
{
    FIELDS(object);
    uint64_t type = text(join, fields->type), row, parent;

    if (!fields->number)
        return;
    parent = object(join, text(join, fields->parent_type), fields->parent);
    /* A number that is given again is another object. */
    row = row_map_get(&join->objects, row_key2(type, fields->number));
    if (row && story_get(join->story, STORY_OBJECTS_CREATED, (size_t)row - 1) != STORY_NEVER) {
        row = story_add(join->story, STORY_OBJECTS) + 1;
        SET(OBJECTS, KIND, row, type);
        SET(OBJECTS, NUMBER, row, fields->number);
        row_map_set(&join->objects, row_key2(type, fields->number), row);
    } else {
        row = object(join, type, fields->number);
    }
    if (parent == row)
        parent = 0;
    SET(OBJECTS, PARENT, row, parent);
    SET(OBJECTS, NAME, row, text(join, fields->name));
    /* A process of the driver has the name of the case's. */
    if (type == join->words.process && parent && !fields->name)
        SET(OBJECTS, NAME, row, story_get(join->story, STORY_OBJECTS_NAME, (size_t)parent - 1));
    SET(OBJECTS, BYTES, row, fields->bytes);
    SET(OBJECTS, CREATED, row, item->time_ns);
    if (type == join->words.process)
        SET(OBJECTS, PROCESS, row, row);
    else if (parent)
        SET(OBJECTS, PROCESS, row, process_of(join, parent));
}

/* What the record has of an object beside its making: the case's name of it, and whose it is. */
static void take_named(struct join *join, const struct record_reader_item *item)
{
    FIELDS(named);
    uint64_t row = object(join, text(join, fields->type), fields->number), parent;

    if (!row)
        return;
    parent = object(join, text(join, fields->parent_type), fields->parent);
    if (fields->name)
        SET(OBJECTS, NAME, row, text(join, fields->name));
    if (!parent || parent == row)
        return;
    if (!story_get(join->story, STORY_OBJECTS_PARENT, (size_t)row - 1))
        SET(OBJECTS, PARENT, row, parent);
    if (!story_get(join->story, STORY_OBJECTS_PROCESS, (size_t)row - 1))
        SET(OBJECTS, PROCESS, row, process_of(join, parent));
}

static void take_object_end(struct join *join, const struct record_reader_item *item)
{
    FIELDS(object_end);
    uint64_t row = object(join, text(join, fields->type), fields->number);

    if (row)
        SET(OBJECTS, DESTROYED, row, item->time_ns);
}

static void mark(struct join *join, uint64_t time, const char *kind, uint64_t words, uint64_t on,
                 uint64_t about, uint64_t value, uint64_t packet, uint64_t sequence)
{
    ADD(MARKS, time, story_text(join->story, kind), words, on, about, value, packet,
        sequence ? row_map_get(&join->calls, row_key(sequence)) : 0);
}

static void take_step(struct join *join, const struct record_reader_item *item)
{
    FIELDS(step);

    mark(join, item->time_ns, "step", text(join, fields->name), 0, 0, fields->number, 0, 0);
}

static void take_stage(struct join *join, const struct record_reader_item *item)
{
    FIELDS(stage);

    mark(join, item->time_ns, "stage", text(join, fields->name), 0, 0, 0, 0, 0);
}

static void take_print(struct join *join, const struct record_reader_item *item)
{
    FIELDS(print);

    mark(join, item->time_ns, "print", text(join, fields->text), 0, 0, 0, 0, 0);
}

/* A whole JSON text is small beside what a text of a record may be. */
#define FINDING_BYTES ((size_t)4 << 20)

static json_t *finding_json(const char *json)
{
    return strlen(json) <= FINDING_BYTES ? json_loads(json, JSON_REJECT_DUPLICATES, NULL) : NULL;
}

uint64_t finding_event(const char *text)
{
    json_t *json = finding_json(text);
    json_int_t event = json_integer_value(json_object_get(json, "event"));

    json_decref(json);
    return event > 0 ? (uint64_t)event : 0;
}

/* The row of a finding, which is told when it is found and again, in whole, at the end. */
static uint64_t finding_of(struct join *join, uint64_t number, uint64_t time, uint64_t sequence)
{
    uint64_t row = number ? row_map_get(&join->findings, row_key(number)) : 0;

    if (!row) {
        row = story_add(join->story, STORY_FINDINGS) + 1;
        if (number)
            row_map_set(&join->findings, row_key(number), row);
        SET(FINDINGS, TIME, row, time);
    }
    if (sequence && !story_get(join->story, STORY_FINDINGS_CALL, (size_t)row - 1))
        SET(FINDINGS, CALL, row, row_map_get(&join->calls, row_key(sequence)));
    return row;
}

static void take_found(struct join *join, const struct record_reader_item *item)
{
    FIELDS(found);
    uint64_t row = finding_of(join, fields->number, item->time_ns, fields->sequence);

    SET(FINDINGS, RULE, row, text(join, fields->rule));
    SET(FINDINGS, TEXT, row, text(join, fields->text));
}

static void take_finding(struct join *join, const struct record_reader_item *item)
{
    FIELDS(finding);
    uint64_t words = text(join, fields->json), row;
    json_t *json = finding_json(story_text_of(join->story, words));
    json_int_t event = json_integer_value(json_object_get(json, "event"));
    const char *rule = json_string_value(json_object_get(json, "rule"));
    const char *says = json_string_value(json_object_get(json, "text"));

    if (json_is_object(json)) {
        uint64_t seen = event > 0 ? row_map_get(&join->calls, row_key((uint64_t)event)) : 0;

        row = finding_of(join, fields->number, item->time_ns, fields->sequence);
        if (seen)
            SET(FINDINGS, CALL, row, seen);
        SET(FINDINGS, JSON, row, words);
        if (rule)
            SET(FINDINGS, RULE, row, story_text(join->story, rule));
        if (says)
            SET(FINDINGS, TEXT, row, story_text(join->story, says));
    }
    json_decref(json);
}

static void take_cut(struct join *join, const struct record_reader_item *item)
{
    FIELDS(cut);

    if (fields->count)
        story_fact(join->story, "not_recorded", "%llu %s, which the record had no room for",
                   (unsigned long long)fields->count,
                   record_reader_text(join->reader, fields->what));
    else /* a sentence about the end */
        story_fact(join->story, "cut", "%s", record_reader_text(join->reader, fields->what));
}

/* ---- Calls ----------------------------------------------------------------------------------- */

bool call_is_near(const struct call_choice *choice, uint64_t sequence)
{
    size_t low = 0, high = choice->near_count;

    /* The first finding that is not more than the distance before the call. */
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (choice->near[middle] < sequence && sequence - choice->near[middle] > STORY_NEAR_CALLS)
            low = middle + 1;
        else
            high = middle;
    }
    return low < choice->near_count &&
           (choice->near[low] <= sequence || choice->near[low] - sequence <= STORY_NEAR_CALLS);
}

#define PHASE_AFTER 1

/* Kinds of objects by the letter of their handles (trace/trace.h). */
static uint64_t kind_of_handle(struct join *join, char letter)
{
    switch (letter) {
    case 'a':
        return join->words.allocation;
    case 'd':
        return join->words.device;
    case 'c':
        return join->words.context;
    case 'p':
        return join->words.process;
    case 'f':
        return join->words.fence;
    case 'r':
        return join->words.resource;
    default:
        return 0;
    }
}

/* The argument that begins with a group: its type and value, when it is no more than that. */
static void one_part(struct join *join, const struct record_call_group *part, const char **type,
                     uint64_t *value)
{
    uint64_t kind = kind_of_handle(join, record_part_handle(part->type));

    *value = part->value;
    if (kind && part->value != RECORD_HANDLE_UNKNOWN) {
        *type = "object";
        *value = object(join, kind, part->value);
    } else if (part->type == RECORD_PART_TEXT) {
        *type = "text";
        *value = text(join, part->value);
    } else if (part->type == RECORD_PART_DECIMAL) {
        *type = "number";
    } else if (part->type == RECORD_PART_SIGNED) {
        *type = "signed";
    } else if (part->type == RECORD_PART_NOTHING) {
        *type = "text";
        *value = 0;
    } else {
        *type = "hex";
    }
}

/*
 * The arguments of a call. One of several parts ("1:0x1000") is a text, as the line of the call has
 * it.
 */
static void take_arguments(struct join *join, const struct record_reader_item *item, uint64_t call,
                           bool is_answer)
{
    for (size_t i = 0, next; i < item->group_count; i = next) {
        const struct record_call_group *part = RECORD_GROUP(call, item, i);
        bool is_field = record_part_is_field(part->type);
        const char *type;
        uint64_t value;

        for (next = i + 1; next < item->group_count &&
                           !record_part_is_field(RECORD_GROUP(call, item, next)->type);)
            next++;
        if (is_field && next == i + 1) {
            one_part(join, part, &type, &value);
        } else {
            char words[512];

            record_parts_format(join->reader, part, next - i, words, sizeof words);
            type = "text";
            value = story_text(join->story, words);
        }
        ADD(ARGUMENTS, call, is_field ? text(join, part->field) : 0, story_text(join->story, type),
            value, is_answer);
    }
}

/* Arguments, not the parts of which some consist. */
static uint64_t count_arguments(const struct record_reader_item *item)
{
    uint64_t count = 0;

    for (size_t i = 0; i < item->group_count; i++)
        count += record_part_is_field(RECORD_GROUP(call, item, i)->type);
    return count;
}

static void take_call(struct join *join, const struct record_reader_item *item)
{
    FIELDS(call);
    bool is_near = call_is_near(join->choice, fields->sequence);
    uint64_t row;

    if (!is_near && !join->choice->keeps_all_calls) {
        join->calls_left_out += fields->phase != PHASE_AFTER;
        join->arguments_left_out += count_arguments(item);
        return;
    }
    row = numbered(join, &join->calls, STORY_CALLS, STORY_CALLS_SEQUENCE, fields->sequence);
    if (!row)
        return;
    if (fields->phase == PHASE_AFTER) {
        SET(CALLS, ENDS, row, item->time_ns);
        SET(CALLS, STATUS, row, fields->status);
    } else {
        SET(CALLS, BEGINS, row, item->time_ns);
    }
    SET(CALLS, DEPTH, row, fields->depth);
    SET(CALLS, NAME, row, text(join, fields->name));
    SET(CALLS, OPERATION, row, text(join, fields->operation));
    if (fields->object)
        SET(CALLS, OBJECT, row, object(join, text(join, fields->object_type), fields->object));
    if (!is_near && !join->choice->keeps_all_arguments) {
        join->arguments_left_out += count_arguments(item);
        return;
    }
    take_arguments(join, item, row, fields->phase == PHASE_AFTER);
}

/* ---- Calls of client processes --------------------------------------------------------------- */

static void take_client_call(struct join *join, const struct record_reader_item *item)
{
    FIELDS(client_call);
    uint64_t row = ADD(CLIENT_CALLS, fields->number, OBJECT(join, process, fields->process),
                       text(join, fields->name), item->time_ns, STORY_NEVER, 0);

    row_map_set(&join->client_calls, row_key(fields->number), row);
}

static void take_client_call_ends(struct join *join, const struct record_reader_item *item)
{
    FIELDS(client_call_ends);
    uint64_t row = row_map_get(&join->client_calls, row_key(fields->number));

    if (!row)
        return;
    SET(CLIENT_CALLS, ENDS, row, item->time_ns);
    SET(CLIENT_CALLS, STATUS, row, fields->status);
}

/* ---- Work of the GPU ------------------------------------------------------------------------- */

static void take_submission(struct join *join, const struct record_reader_item *item)
{
    FIELDS(submission);
    uint64_t row = ADD(SUBMISSIONS, fields->number, OBJECT(join, context, fields->context),
                       node(join, fields->node), fields->fence, item->time_ns,
                       request_of(join, fields->request), packet_of(join, fields->packet));

    for (size_t i = 0; i < item->group_count; i++) {
        const struct record_submission_group *reference = RECORD_GROUP(submission, item, i);

        uint64_t allocation = OBJECT(join, allocation, reference->allocation);

        ADD(REFERENCES, row, allocation, reference->offset, reference->is_write != 0);
        give_to(join, allocation, process_of(join, OBJECT(join, context, fields->context)));
    }
}

static void take_packet(struct join *join, const struct record_reader_item *item)
{
    FIELDS(packet);
    uint64_t row = packet_of(join, fields->number);

    if (!row)
        return;
    SET(PACKETS, KIND, row, text(join, fields->type));
    SET(PACKETS, CONTEXT, row, OBJECT(join, context, fields->context));
    SET(PACKETS, NODE, row, node(join, fields->node));
    SET(PACKETS, FENCE, row, fields->fence);
    SET(PACKETS, BYTES, row, fields->bytes);
    SET(PACKETS, QUEUED, row, item->time_ns);
    if (fields->fence)
        row_map_set(&join->fences, row_key2(fields->node, fields->fence), row);
}

static void take_packet_submitted(struct join *join, const struct record_reader_item *item)
{
    FIELDS(packet_submitted);
    uint64_t row = packet_of(join, fields->number);

    if (!row)
        return;
    SET(PACKETS, SUBMITTED, row, item->time_ns);
    SET(PACKETS, FENCE, row, fields->fence); /* it had none when it was queued */
    row_map_set(&join->fences, row_key2(fields->node, fields->fence), row);
}

static void take_packet_begins(struct join *join, const struct record_reader_item *item)
{
    uint64_t row = packet_of(join, RECORD_FIELDS(packet_begins, item)->number);

    if (row)
        SET(PACKETS, BEGINS, row, item->time_ns);
}

static void take_packet_ends(struct join *join, const struct record_reader_item *item)
{
    FIELDS(packet_ends);
    uint64_t row = packet_of(join, fields->number);

    if (!row)
        return;
    SET(PACKETS, ENDS, row, item->time_ns);
    SET(PACKETS, STATUS, row, fields->status);
}

static void take_packet_returns(struct join *join, const struct record_reader_item *item)
{
    FIELDS(packet_returns);

    mark(join, item->time_ns, "packet returns", 0, 0, 0, fields->number,
         packet_of(join, fields->number), 0);
}

static void take_packet_retired(struct join *join, const struct record_reader_item *item)
{
    FIELDS(packet_retired);
    uint64_t row = packet_of(join, fields->number);

    if (row)
        SET(PACKETS, RETIRED, row, item->time_ns);
}

static void take_interrupt(struct join *join, const struct record_reader_item *item)
{
    FIELDS(interrupt);
    uint64_t packet = row_map_get(&join->fences, row_key2(fields->node, fields->fence));

    mark(join, item->time_ns, "interrupt", text(join, fields->type), node(join, fields->node), 0,
         fields->fence, packet, fields->sequence);
    if (packet)
        row_map_set(&join->interrupts, row_key(packet), story_rows(join->story, STORY_MARKS));
}

static void take_dpc(struct join *join, const struct record_reader_item *item)
{
    FIELDS(dpc);

    mark(join, item->time_ns, "dpc", 0, 0, 0, fields->number, 0, fields->sequence);
}

/* A fence of any type; records of older versions name none. */
static uint64_t fence_object(struct join *join, uint64_t type, uint64_t number)
{
    return object(join, type ? text(join, type) : join->words.fence, number);
}

/* The packet with the last operation of a request; 0: there is none. */
static uint64_t last_packet(const struct join *join, uint64_t request)
{
    uint64_t operation = request ? row_map_get(&join->last_operations, row_key(request)) : 0;

    return operation ? story_get(join->story, STORY_OPERATIONS_PACKET, (size_t)operation - 1) : 0;
}

static void take_fence_value(struct join *join, const struct record_reader_item *item)
{
    FIELDS(fence_value);

    uint64_t fence = fence_object(join, fields->type, fields->fence);
    uint64_t packet = packet_of(join, fields->packet);

    if (!packet && fields->request)
        packet = last_packet(join, request_of(join, fields->request));
    mark(join, item->time_ns, "fence", 0, 0, fence, fields->value, packet, 0);
    if (fence)
        row_map_set(&join->fence_values, row_key(fence), story_rows(join->story, STORY_MARKS));
}

static void take_fence_waits(struct join *join, const struct record_reader_item *item)
{
    FIELDS(fence_waits);
    bool is_packet = text(join, fields->waiter_type) == join->words.packet;
    uint64_t row =
        ADD(FENCE_WAITS, fields->number, fence_object(join, fields->type, fields->fence),
            fields->value, is_packet ? 0 : OBJECT(join, process, fields->waiter),
            is_packet ? packet_of(join, fields->waiter) : 0, item->time_ns, STORY_NEVER, 0, 0);

    row_map_set(&join->fence_waits, row_key(fields->number), row);
}

/* The value that ends a wait is the last one that the fence has had, if that is enough. */
static void take_fence_wait_ends(struct join *join, const struct record_reader_item *item)
{
    FIELDS(fence_wait_ends);
    uint64_t row = row_map_get(&join->fence_waits, row_key(fields->number)), told;

    if (!row)
        return;
    SET(FENCE_WAITS, ENDS, row, item->time_ns);
    SET(FENCE_WAITS, STATUS, row, fields->status);
    told = row_map_get(&join->fence_values,
                       row_key(story_get(join->story, STORY_FENCE_WAITS_FENCE, (size_t)row - 1)));
    if (told && !fields->status &&
        story_get(join->story, STORY_MARKS_VALUE, (size_t)told - 1) >=
            story_get(join->story, STORY_FENCE_WAITS_VALUE, (size_t)row - 1))
        SET(FENCE_WAITS, MARK, row, told);
}

/* ---- Requests -------------------------------------------------------------------------------- */

static void take_request(struct join *join, const struct record_reader_item *item)
{
    FIELDS(request);
    uint64_t row = request_of(join, fields->number), process, context;

    if (!row)
        return;
    process = OBJECT(join, process, fields->process);
    context = OBJECT(join, context, fields->context);
    if (!process && context)
        process = process_of(join, context);
    SET(REQUESTS, PROCESS, row, process);
    SET(REQUESTS, CONTEXT, row, context);
    SET(REQUESTS, ALLOCATIONS, row, fields->allocations);
    SET(REQUESTS, ASKED, row, item->time_ns);
    SET(REQUESTS, WHY, row, text(join, fields->why));
    if (fields->at_once) {
        SET(REQUESTS, BEGINS, row, item->time_ns);
        SET(REQUESTS, ENDS, row, item->time_ns);
    }
}

static void take_request_begins(struct join *join, const struct record_reader_item *item)
{
    uint64_t row = request_of(join, RECORD_FIELDS(request_begins, item)->number);

    /* A request that gives up its places begins again: its first beginning counts. */
    if (row && story_get(join->story, STORY_REQUESTS_BEGINS, (size_t)row - 1) == STORY_NEVER)
        SET(REQUESTS, BEGINS, row, item->time_ns);
}

static void take_request_ends(struct join *join, const struct record_reader_item *item)
{
    FIELDS(request_ends);
    uint64_t row = request_of(join, fields->number);

    if (!row)
        return;
    SET(REQUESTS, ENDS, row, item->time_ns);
    SET(REQUESTS, STATUS, row, fields->status);
}

static void take_request_waits(struct join *join, const struct record_reader_item *item)
{
    FIELDS(request_waits);
    uint64_t request = request_of(join, fields->number), type = text(join, fields->object_type);
    uint64_t about = 0, packet = 0, operation = 0, blocker = 0;

    if (!request)
        return;
    if (type == join->words.packet)
        packet = packet_of(join, fields->object);
    else if (type == join->words.operation)
        operation = operation_of(join, fields->object);
    else if (type == join->words.request)
        blocker = request_of(join, fields->object);
    else
        about = object(join, type, fields->object);
    ADD(WAITS, item->time_ns, request, text(join, fields->reason), about, packet, operation,
        blocker);
}

static void take_victim(struct join *join, const struct record_reader_item *item)
{
    FIELDS(victim);

    ADD(VICTIMS, item->time_ns, request_of(join, fields->request),
        OBJECT(join, allocation, fields->allocation), OBJECT(join, segment, fields->segment),
        text(join, fields->why), fields->rank, fields->last_use);
}

/* ---- Places ---------------------------------------------------------------------------------- */

static uint64_t place_key(uint64_t allocation, uint64_t instance, uint64_t segment, uint64_t offset)
{
    return row_key2(row_key2(allocation, instance), row_key2(segment, offset));
}

static void take_placed(struct join *join, const struct record_reader_item *item)
{
    FIELDS(placed);
    uint64_t allocation = OBJECT(join, allocation, fields->allocation), row;

    row = ADD(PLACES, allocation, fields->instance, OBJECT(join, segment, fields->segment),
              fields->offset, fields->bytes, item->time_ns, STORY_NEVER, text(join, fields->why), 0,
              request_of(join, fields->request), 0, 0, STORY_NEVER, 0);
    row_map_set(&join->places,
                place_key(fields->allocation, fields->instance, fields->segment, fields->offset),
                row);
    add_to(join, STORY_OBJECTS_PLACED, allocation, 1);
}

static void take_left(struct join *join, const struct record_reader_item *item)
{
    FIELDS(left);
    uint64_t key = place_key(fields->allocation, fields->instance, fields->segment, fields->offset);
    uint64_t row = row_map_get(&join->places, key), departure;
    uint64_t request = request_of(join, fields->request);
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
    SET(PLACES, WHY_LEFT, row, text(join, fields->why));
    SET(PLACES, LEFT_FOR, row, request);
    SET(PLACES, EVICTOR, row, process_of_request(join, request));
    if (request)
        add_to(join, STORY_OBJECTS_EVICTED, allocation, 1);
}

/* The decision, which may be long before the place is free. */
static void take_departs(struct join *join, const struct record_reader_item *item)
{
    FIELDS(departs);

    mark(join, item->time_ns, "departs", text(join, fields->why), 0,
         OBJECT(join, allocation, fields->allocation), fields->request, 0, 0);
    row_map_set(&join->departures,
                place_key(fields->allocation, fields->instance, fields->segment, UINT64_MAX),
                story_rows(join->story, STORY_MARKS));
}

static void take_range(struct join *join, const struct record_reader_item *item)
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
              text(join, fields->use), fields->is_taken ? item->time_ns : 0,
              fields->is_taken ? STORY_NEVER : item->time_ns);
    row_map_set(&join->ranges, key, row);
}

static void take_offer(struct join *join, const struct record_reader_item *item)
{
    FIELDS(offer);

    mark(join, item->time_ns, fields->is_offered ? "offer" : "reclaim", 0, 0,
         OBJECT(join, allocation, fields->allocation), fields->priority, 0, 0);
}

static void take_given_up(struct join *join, const struct record_reader_item *item)
{
    FIELDS(given_up);

    mark(join, item->time_ns, "given up", 0, 0, OBJECT(join, process, fields->process),
         fields->allocations, 0, 0);
}

static void take_trim(struct join *join, const struct record_reader_item *item)
{
    FIELDS(trim);

    mark(join, item->time_ns, "trim", fields->group ? join->words.non_local : join->words.local, 0,
         OBJECT(join, process, fields->process), fields->bytes, 0, 0);
}

/* ---- Operations ------------------------------------------------------------------------------ */

static uint64_t job_of(struct join *join, uint64_t number)
{
    return numbered(join, &join->jobs, STORY_JOBS, STORY_JOBS_NUMBER, number);
}

static void take_job(struct join *join, const struct record_reader_item *item)
{
    FIELDS(job);
    uint64_t row = job_of(join, fields->number);

    if (!row)
        return;
    SET(JOBS, NAME, row, text(join, fields->name));
    SET(JOBS, ALLOCATION, row, OBJECT(join, allocation, fields->allocation));
    SET(JOBS, REQUEST, row, request_of(join, fields->request));
    SET(JOBS, BEGINS, row, item->time_ns);
}

static void take_job_ends(struct join *join, const struct record_reader_item *item)
{
    FIELDS(job_ends);
    uint64_t row = job_of(join, fields->number);

    if (!row)
        return;
    SET(JOBS, ENDS, row, item->time_ns);
    SET(JOBS, IS_LOST, row, fields->is_lost != 0);
}

static void take_queue_waits(struct join *join, const struct record_reader_item *item)
{
    FIELDS(queue_waits);

    mark(join, item->time_ns, "paging queue waits", text(join, fields->reason), 0, 0, fields->job,
         0, 0);
}

static void take_operation(struct join *join, const struct record_reader_item *item)
{
    FIELDS(operation);
    uint64_t row = operation_of(join, fields->number), allocation;

    if (!row)
        return;
    allocation = OBJECT(join, allocation, fields->allocation);
    SET(OPERATIONS, JOB, row, fields->job);
    SET(OPERATIONS, NAME, row, text(join, fields->name));
    SET(OPERATIONS, ALLOCATION, row, allocation);
    SET(OPERATIONS, PROCESS, row, OBJECT(join, process, fields->process));
    SET(OPERATIONS, FROM_SEGMENT, row, OBJECT(join, segment, fields->from_segment));
    SET(OPERATIONS, FROM_OFFSET, row, fields->from_offset);
    SET(OPERATIONS, TO_SEGMENT, row, OBJECT(join, segment, fields->to_segment));
    SET(OPERATIONS, TO_OFFSET, row, fields->to_offset);
    SET(OPERATIONS, BYTES, row, fields->bytes);
    SET(OPERATIONS, ASKED, row, item->time_ns);
    add_to(join, STORY_OBJECTS_MOVED, allocation, fields->bytes);
    give_to(join, allocation, OBJECT(join, process, fields->process));
    if (fields->job) {
        uint64_t job = job_of(join, fields->job);
        uint64_t request = job ? story_get(join->story, STORY_JOBS_REQUEST, (size_t)job - 1) : 0;

        if (request)
            row_map_set(&join->last_operations, row_key(request), row);
    }
}

static void take_operation_built(struct join *join, const struct record_reader_item *item)
{
    FIELDS(operation_built);
    uint64_t row = operation_of(join, fields->number);

    if (!row)
        return;
    SET(OPERATIONS, BUILT, row, item->time_ns);
    SET(OPERATIONS, BUFFER, row, fields->buffer);
    add_to(join, STORY_OPERATIONS_BUFFER_BYTES, row, fields->bytes);
    add_to(join, STORY_OPERATIONS_PASSES, row, fields->passes);
}

/* Of the operation and of those behind it; the record has told of these before. */
static void set_operations(struct join *join, uint64_t number, uint64_t more,
                           enum story_column column, uint64_t value)
{
    uint64_t row = operation_of(join, number);

    more = min_u64(more, RECORD_MORE_MOST);
    for (uint64_t i = 0; row; row = row_map_get(&join->operations, row_key(number + i))) {
        story_set(join->story, column, (size_t)row - 1, value);
        if (i++ == more)
            return;
    }
}

static void take_operation_packet(struct join *join, const struct record_reader_item *item)
{
    FIELDS(operation_packet);

    set_operations(join, fields->number, fields->more, STORY_OPERATIONS_PACKET,
                   packet_of(join, fields->packet));
}

static void take_operation_retired(struct join *join, const struct record_reader_item *item)
{
    FIELDS(operation_retired);

    set_operations(join, fields->number, fields->more, STORY_OPERATIONS_RETIRED, item->time_ns);
}

static void take_entries(struct join *join, const struct record_reader_item *item)
{
    FIELDS(entries);

    ADD(ENTRIES, item->time_ns, operation_of(join, fields->operation),
        OBJECT(join, process, fields->process), fields->level, fields->va, fields->count,
        fields->covers, OBJECT(join, segment, fields->segment), fields->offset, fields->stride,
        fields->flags, fields->valid ? fields->count : 0, fields->scattered != 0);
}

static void take_mapping(struct join *join, const struct record_reader_item *item)
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
        give_to(join, OBJECT(join, allocation, fields->allocation),
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

static void take_budget(struct join *join, const struct record_reader_item *item)
{
    FIELDS(budget);

    sample(join, item->time_ns, "budget", OBJECT(join, process, fields->process),
           fields->group ? join->words.non_local : join->words.local, fields->bytes);
}

static void take_sample(struct join *join, const struct record_reader_item *item)
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

/* ---- The whole ------------------------------------------------------------------------------- */

void join_item(struct join *join, const struct record_reader_item *item)
{
    switch (item->kind) {
#define TAKE(kind)                                                                                 \
    case RECORD_KIND_##kind:                                                                       \
        take_##kind(join, item);                                                                   \
        break
        TAKE(run);
        TAKE(object);
        TAKE(object_end);
        TAKE(named);
        TAKE(departs);
        TAKE(offer);
        TAKE(range);
        TAKE(job);
        TAKE(job_ends);
        TAKE(queue_waits);
        TAKE(given_up);
        TAKE(trim);
        TAKE(packet_returns);
        TAKE(packet_retired);
        TAKE(step);
        TAKE(stage);
        TAKE(found);
        TAKE(finding);
        TAKE(print);
        TAKE(cut);
        TAKE(call);
        TAKE(client_call);
        TAKE(client_call_ends);
        TAKE(submission);
        TAKE(packet);
        TAKE(packet_submitted);
        TAKE(packet_begins);
        TAKE(packet_ends);
        TAKE(interrupt);
        TAKE(dpc);
        TAKE(fence_value);
        TAKE(fence_waits);
        TAKE(fence_wait_ends);
        TAKE(request);
        TAKE(request_waits);
        TAKE(request_begins);
        TAKE(request_ends);
        TAKE(victim);
        TAKE(placed);
        TAKE(left);
        TAKE(operation);
        TAKE(operation_built);
        TAKE(operation_packet);
        TAKE(operation_retired);
        TAKE(entries);
        TAKE(mapping);
        TAKE(budget);
        TAKE(sample);
#undef TAKE
    case RECORD_KIND_allocation_state:
    case RECORD_KIND_COUNT:
        break;
    }
}

/* The packet that a wait is about: the one it names, or that of the operation it names. */
static uint64_t packet_of_wait(const struct story *story, size_t wait)
{
    uint64_t packet = story_get(story, STORY_WAITS_PACKET, wait);
    uint64_t operation = story_get(story, STORY_WAITS_OPERATION, wait);

    if (!packet && operation)
        packet = story_get(story, STORY_OPERATIONS_PACKET, (size_t)operation - 1);
    return packet;
}

/* The interrupt that told the end of a packet with a request's last operation lets it go. */
static void join_requests(struct join *join)
{
    for (size_t i = 0; i < story_rows(join->story, STORY_REQUESTS); i++) {
        uint64_t packet = last_packet(join, i + 1), ends, time;
        uint64_t told = packet ? row_map_get(&join->interrupts, row_key(packet)) : 0;

        if (!told)
            continue;
        time = story_get(join->story, STORY_MARKS_TIME, (size_t)told - 1);
        ends = story_get(join->story, STORY_REQUESTS_ENDS, i);
        if (ends != STORY_NEVER && time <= ends &&
            time >= story_get(join->story, STORY_REQUESTS_ASKED, i))
            ADD(FLOWS, told, i + 1);
    }
}

/* The interrupt that told the end of a packet, and the request that waited for it. */
static void join_waits(struct join *join)
{
    for (size_t i = 0; i < story_rows(join->story, STORY_WAITS); i++) {
        uint64_t packet = packet_of_wait(join->story, i);
        uint64_t told = packet ? row_map_get(&join->interrupts, row_key(packet)) : 0;

        if (told)
            ADD(FLOWS, told, story_get(join->story, STORY_WAITS_REQUEST, i));
    }
}

void join_end(struct join *join)
{
    char count[32];

    join_waits(join);
    join_requests(join);
    if (join->arguments_left_out) {
        story_count(count, join->arguments_left_out);
        story_fact(join->story, "left_out", "%s arguments of calls far from any finding", count);
    }
    if (join->calls_left_out) {
        story_count(count, join->calls_left_out);
        story_fact(join->story, "left_out", "%s calls far from any finding", count);
    }
}

#define MAPS(X)                                                                                    \
    X(objects)                                                                                     \
    X(operations)                                                                                  \
    X(packets)                                                                                     \
    X(requests)                                                                                    \
    X(calls)                                                                                       \
    X(client_calls)                                                                                \
    X(places)                                                                                      \
    X(mappings)                                                                                    \
    X(fences)                                                                                      \
    X(fence_values)                                                                                \
    X(fence_waits)                                                                                 \
    X(last_operations)                                                                             \
    X(series)                                                                                      \
    X(last_values)                                                                                 \
    X(interrupts)                                                                                  \
    X(departures)                                                                                  \
    X(ranges)                                                                                      \
    X(jobs)                                                                                        \
    X(findings)

bool join_init(struct join *join, struct story *story, const struct record_reader *reader,
               const struct call_choice *choice)
{
    *join = (struct join){.story = story, .reader = reader, .choice = choice};
#define X(map) join->map.services = story_services(story);
    MAPS(X)
#undef X
#define WORD(name) join->words.name = story_text(story, #name)
    WORD(process);
    WORD(device);
    WORD(context);
    WORD(node);
    WORD(segment);
    WORD(allocation);
    WORD(fence);
    WORD(packet);
    WORD(operation);
    WORD(request);
    WORD(local);
    WORD(text);
    WORD(resource);
#undef WORD
    join->words.non_local = story_text(story, "non-local");
    return !story_failed(story);
}

bool join_failed(const struct join *join)
{
    bool failed = join->failed || story_failed(join->story);

#define X(map) failed = failed || join->map.failed;
    MAPS(X)
#undef X
    return failed;
}

void join_fini(struct join *join)
{
#define X(map) row_map_fini(&join->map);
    MAPS(X)
#undef X
    base_free_array(story_services(join->story), join->texts, join->text_room, sizeof *join->texts);
}
