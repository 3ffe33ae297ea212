#include "story/story_read.h"
#include "story/story_join.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the record is: a path, or bytes in memory. */
struct source {
    const struct base_services *services;
    const char *name;
    const void *bytes; /* NULL: name is a path */
    size_t size;
};

static struct record_reader *open_source(const struct source *source, char error[512])
{
    char reason[256] = "";
    struct record_reader *reader =
        source->bytes ? record_reader_open_bytes(source->services, source->name, source->bytes,
                                                 source->size, reason)
                      : record_reader_open(source->services, source->name, reason);

    if (!reader)
        snprintf(error, 512, "%s", reason);
    return reader;
}

/* ---- First time: how many calls, and which are near findings --------------------------------- */

struct survey {
    uint64_t calls, arguments;
    uint64_t *near;
    size_t near_count, near_room;
    bool failed;
};

static void add_near(const struct base_services *services, struct survey *survey, uint64_t sequence)
{
    size_t room = survey->near_room ? survey->near_room * 2 : 64;
    uint64_t *grown;

    if (survey->near_count == survey->near_room) {
        grown = base_alloc_array(services, room, sizeof *grown);
        if (!grown) {
            survey->failed = true;
            return;
        }
        if (survey->near_room)
            memcpy(grown, survey->near, survey->near_room * sizeof *grown);
        base_free_array(services, survey->near, survey->near_room, sizeof *grown);
        survey->near = grown;
        survey->near_room = room;
    }
    survey->near[survey->near_count++] = sequence;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static bool take_survey(const struct source *source, struct survey *survey, char error[512])
{
    struct record_reader *reader = open_source(source, error);
    struct record_reader_item item;

    if (!reader)
        return false;
    while (record_reader_next(reader, &item)) {
        if (item.kind == RECORD_KIND_call) {
            survey->calls += RECORD_FIELDS(call, &item)->phase == 0;
            survey->arguments += item.group_count;
        } else if (item.kind == RECORD_KIND_finding) {
            uint64_t event =
                finding_event(record_reader_text(reader, RECORD_FIELDS(finding, &item)->json));

            if (event)
                add_near(source->services, survey, event);
        } else if (item.kind == RECORD_KIND_found) {
            add_near(source->services, survey, RECORD_FIELDS(found, &item)->sequence);
        }
    }
    if (record_reader_state(reader) == RECORD_FAILED) {
        snprintf(error, 512, "%s", record_reader_error(reader));
        survey->failed = true;
    } else if (survey->failed) {
        snprintf(error, 512, "%s: no memory", source->name);
    }
    record_reader_close(reader);
    if (survey->near_count)
        qsort(survey->near, survey->near_count, sizeof *survey->near, by_number);
    return !survey->failed;
}

/* ---- Second time: the tables ----------------------------------------------------------------- */

static size_t rows_of(const struct story *story)
{
    size_t rows = 0;

    for (unsigned i = 0; i < STORY_TABLE_COUNT; i++) {
        if (i != STORY_CALLS && i != STORY_ARGUMENTS)
            rows += story_rows(story, (enum story_table)i);
    }
    return rows;
}

#define ITEMS_BETWEEN_LOOKS 4096 /* at the limit of rows, and at the memory */

/* False: no memory, or the file cannot be read; the message is out. */
static bool read_items(struct record_reader *reader, struct join *join, size_t most_rows,
                       const char *name, char error[512])
{
    struct record_reader_item item;
    uint64_t count = 0;

    while (record_reader_next(reader, &item)) {
        join_item(join, &item);
        if (++count % ITEMS_BETWEEN_LOOKS)
            continue;
        if (join_failed(join))
            break;
        if (rows_of(join->story) > most_rows) {
            story_fact(join->story, "cut",
                       "the record has more than can be shown: it was read up to %.3f ms",
                       (double)item.time_ns / 1e6);
            break;
        }
    }
    switch (record_reader_state(reader)) {
    case RECORD_FAILED:
        snprintf(error, 512, "%s", record_reader_error(reader));
        return false;
    case RECORD_CUT:
        story_fact(join->story, "cut", "%s", record_reader_error(reader));
        break;
    case RECORD_DAMAGED:
        story_fact(join->story, "damaged", "%s", record_reader_error(reader));
        break;
    case RECORD_READING:
    case RECORD_WHOLE:
        break;
    }
    join_end(join);
    if (join_failed(join)) {
        snprintf(error, 512, "%s: no memory for what it tells", name);
        return false;
    }
    return true;
}

static struct story *read_source(const struct source *source, const struct story_limits *limits,
                                 char error[512])
{
    size_t most_calls = limits && limits->calls ? limits->calls : STORY_MAX_CALLS;
    size_t most_arguments = limits && limits->arguments ? limits->arguments : STORY_MAX_ARGUMENTS;
    size_t most_rows = limits && limits->rows ? limits->rows : STORY_MAX_ROWS;
    struct survey survey = {0};
    struct call_choice choice;
    struct record_reader *reader = NULL;
    struct story *story = NULL;
    struct join join;
    bool is_read = false;

    if (!take_survey(source, &survey, error))
        goto free_survey;
    choice = (struct call_choice){
        .keeps_all_calls = survey.calls <= most_calls,
        .keeps_all_arguments = survey.calls <= most_calls && survey.arguments <= most_arguments,
        .near = survey.near,
        .near_count = survey.near_count,
    };
    reader = open_source(source, error);
    if (!reader)
        goto free_survey;
    story = story_create(source->services);
    if (!story) {
        snprintf(error, 512, "%s: no memory", source->name);
        goto close_reader;
    }
    if (join_init(&join, story, reader, &choice))
        is_read = read_items(reader, &join, most_rows, source->name, error);
    else
        snprintf(error, 512, "%s: no memory", source->name);
    join_fini(&join);
    if (!is_read) {
        story_destroy(story);
        story = NULL;
    }
close_reader:
    record_reader_close(reader);
free_survey:
    base_free_array(source->services, survey.near, survey.near_room, sizeof *survey.near);
    return story;
}

struct story *story_read(const struct base_services *services, const char *path,
                         const struct story_limits *limits, char error[512])
{
    const struct source source = {.services = services, .name = path};

    return read_source(&source, limits, error);
}

struct story *story_read_bytes(const struct base_services *services, const char *name,
                               const void *bytes, size_t size, const struct story_limits *limits,
                               char error[512])
{
    const struct source source = {.services = services, .name = name, .bytes = bytes, .size = size};

    return read_source(&source, limits, error);
}
