/*
 * Items of the run itself: its facts, its objects, its steps and what was found.
 */
#include "story/join_private.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* ---- The run and its objects ----------------------------------------------------------------- */

void join_take_run(struct join *join, const struct record_reader_item *item)
{
    FIELDS(run);

    ADD(FACTS, join_text(join, fields->key), join_text(join, fields->value));
}

void join_take_object(struct join *join, const struct record_reader_item *item)
{
    FIELDS(object);
    uint64_t type = join_text(join, fields->type), row, parent;

    if (!fields->number)
        return;
    parent = join_object(join, join_text(join, fields->parent_type), fields->parent);
    /* A number that is given again is another object. */
    row = row_map_get(&join->objects, row_key2(type, fields->number));
    if (row && story_get(join->story, STORY_OBJECTS_CREATED, (size_t)row - 1) != STORY_NEVER) {
        row = story_add(join->story, STORY_OBJECTS) + 1;
        SET(OBJECTS, KIND, row, type);
        SET(OBJECTS, NUMBER, row, fields->number);
        row_map_set(&join->objects, row_key2(type, fields->number), row);
    } else {
        row = join_object(join, type, fields->number);
    }
    if (parent == row)
        parent = 0;
    SET(OBJECTS, PARENT, row, parent);
    SET(OBJECTS, NAME, row, join_text(join, fields->name));
    /* A process of the driver has the name of the case's. */
    if (type == join->words.process && parent && !fields->name)
        SET(OBJECTS, NAME, row, story_get(join->story, STORY_OBJECTS_NAME, (size_t)parent - 1));
    SET(OBJECTS, BYTES, row, fields->bytes);
    SET(OBJECTS, CREATED, row, item->time_ns);
    if (type == join->words.process)
        SET(OBJECTS, PROCESS, row, row);
    else if (parent)
        SET(OBJECTS, PROCESS, row, join_process_of(join, parent));
}

/* What the record has of an object beside its making: the case's name of it, and whose it is. */
void join_take_named(struct join *join, const struct record_reader_item *item)
{
    FIELDS(named);
    uint64_t row = join_object(join, join_text(join, fields->type), fields->number), parent;

    if (!row)
        return;
    parent = join_object(join, join_text(join, fields->parent_type), fields->parent);
    if (fields->name)
        SET(OBJECTS, NAME, row, join_text(join, fields->name));
    if (!parent || parent == row)
        return;
    if (!story_get(join->story, STORY_OBJECTS_PARENT, (size_t)row - 1))
        SET(OBJECTS, PARENT, row, parent);
    if (!story_get(join->story, STORY_OBJECTS_PROCESS, (size_t)row - 1))
        SET(OBJECTS, PROCESS, row, join_process_of(join, parent));
}

void join_take_object_end(struct join *join, const struct record_reader_item *item)
{
    FIELDS(object_end);
    uint64_t row = join_object(join, join_text(join, fields->type), fields->number);

    if (row)
        SET(OBJECTS, DESTROYED, row, item->time_ns);
}

void join_take_step(struct join *join, const struct record_reader_item *item)
{
    FIELDS(step);

    join_mark(join, item->time_ns, "step", join_text(join, fields->name), 0, 0, fields->number, 0,
              0);
}

void join_take_stage(struct join *join, const struct record_reader_item *item)
{
    FIELDS(stage);

    join_mark(join, item->time_ns, "stage", join_text(join, fields->name), 0, 0, 0, 0, 0);
}

void join_take_print(struct join *join, const struct record_reader_item *item)
{
    FIELDS(print);

    join_mark(join, item->time_ns, "print", join_text(join, fields->text), 0, 0, 0, 0, 0);
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

void join_take_found(struct join *join, const struct record_reader_item *item)
{
    FIELDS(found);
    uint64_t row = finding_of(join, fields->number, item->time_ns, fields->sequence);

    SET(FINDINGS, RULE, row, join_text(join, fields->rule));
    SET(FINDINGS, TEXT, row, join_text(join, fields->text));
}

void join_take_finding(struct join *join, const struct record_reader_item *item)
{
    FIELDS(finding);
    uint64_t words = join_text(join, fields->json), row;
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

void join_take_cut(struct join *join, const struct record_reader_item *item)
{
    FIELDS(cut);

    if (fields->count)
        story_fact(join->story, "not_recorded", "%llu %s, which the record had no room for",
                   (unsigned long long)fields->count,
                   record_reader_text(join->reader, fields->what));
    else /* a sentence about the end */
        story_fact(join->story, "cut", "%s", record_reader_text(join->reader, fields->what));
}
