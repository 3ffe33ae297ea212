/*
 * Items of calls: of the driver, with their arguments, and of client processes.
 */
#include "story/join_private.h"

#include "record/record_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
        *value = join_object(join, kind, part->value);
    } else if (part->type == RECORD_PART_TEXT) {
        *type = "text";
        *value = join_text(join, part->value);
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
        ADD(ARGUMENTS, call, is_field ? join_text(join, part->field) : 0,
            story_text(join->story, type), value, is_answer);
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

void join_take_call(struct join *join, const struct record_reader_item *item)
{
    FIELDS(call);
    bool is_near = call_is_near(join->choice, fields->sequence);
    uint64_t row;

    if (!is_near && !join->choice->keeps_all_calls) {
        join->calls_left_out += fields->phase != PHASE_AFTER;
        join->arguments_left_out += count_arguments(item);
        return;
    }
    row = join_numbered(join, &join->calls, STORY_CALLS, STORY_CALLS_SEQUENCE, fields->sequence);
    if (!row)
        return;
    if (fields->phase == PHASE_AFTER) {
        SET(CALLS, ENDS, row, item->time_ns);
        SET(CALLS, STATUS, row, fields->status);
    } else {
        SET(CALLS, BEGINS, row, item->time_ns);
    }
    SET(CALLS, DEPTH, row, fields->depth);
    SET(CALLS, NAME, row, join_text(join, fields->name));
    SET(CALLS, OPERATION, row, join_text(join, fields->operation));
    if (fields->object)
        SET(CALLS, OBJECT, row,
            join_object(join, join_text(join, fields->object_type), fields->object));
    if (!is_near && !join->choice->keeps_all_arguments) {
        join->arguments_left_out += count_arguments(item);
        return;
    }
    take_arguments(join, item, row, fields->phase == PHASE_AFTER);
}

/* ---- Calls of client processes --------------------------------------------------------------- */

/* Groups of both kinds are a text and a value. */
_Static_assert(sizeof(struct record_client_call_group) ==
                   sizeof(struct record_client_call_ends_group),
               "one function reads both");

static void take_client_arguments(struct join *join, const struct record_reader_item *item,
                                  uint64_t call, bool is_answer)
{
    char words[48];

    for (size_t i = 0; i < item->group_count; i++) {
        const struct record_client_call_group *part = RECORD_GROUP(client_call, item, i);

        snprintf(words, sizeof words, "%" PRIu64 " (0x%" PRIx64 ")", part->value, part->value);
        ADD(CLIENT_ARGUMENTS, call, join_text(join, part->field), story_text(join->story, words),
            is_answer);
    }
}

void join_take_client_call(struct join *join, const struct record_reader_item *item)
{
    FIELDS(client_call);
    uint64_t row = ADD(CLIENT_CALLS, fields->number, OBJECT(join, process, fields->process),
                       join_text(join, fields->name), item->time_ns, STORY_NEVER, 0);

    row_map_set(&join->client_calls, row_key(fields->number), row);
    take_client_arguments(join, item, row, false);
}

void join_take_client_call_ends(struct join *join, const struct record_reader_item *item)
{
    FIELDS(client_call_ends);
    uint64_t row = row_map_get(&join->client_calls, row_key(fields->number));

    if (!row)
        return;
    SET(CLIENT_CALLS, ENDS, row, item->time_ns);
    SET(CLIENT_CALLS, STATUS, row, fields->status);
    take_client_arguments(join, item, row, true);
}

void join_take_client_breach(struct join *join, const struct record_reader_item *item)
{
    FIELDS(client_breach);

    ADD(CLIENT_BREACHES, item->time_ns, row_map_get(&join->client_calls, row_key(fields->call)),
        OBJECT(join, process, fields->process), join_text(join, fields->rule),
        join_text(join, fields->text), join_text(join, fields->argument),
        join_text(join, fields->value), join_text(join, fields->expected),
        join_text(join, fields->says), join_text(join, fields->place), fields->is_advice != 0);
}
