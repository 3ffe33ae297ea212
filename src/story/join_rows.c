/*
 * Rows by the numbers that the record gives, and texts.
 */
#include "story/join_private.h"

#include <string.h>

/* A text of the record as one of the story. */
uint64_t join_text(struct join *join, uint64_t number)
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
uint64_t join_object(struct join *join, uint64_t type, uint64_t number)
{
    return number ? numbered_object(join, type, number) : STORY_NONE;
}

/* Nodes are numbered from 0; every one of them is an object. */
uint64_t join_node(struct join *join, uint64_t ordinal)
{
    return numbered_object(join, join->words.node, ordinal);
}

/*
 * The driver is not told whose an allocation is. The first process whose work is about it has it.
 */
void join_give_to(struct join *join, uint64_t allocation, uint64_t process)
{
    if (allocation && process &&
        !story_get(join->story, STORY_OBJECTS_PROCESS, (size_t)allocation - 1))
        story_set(join->story, STORY_OBJECTS_PROCESS, (size_t)allocation - 1, process);
}

uint64_t join_process_of(const struct join *join, uint64_t object)
{
    return object ? story_get(join->story, STORY_OBJECTS_PROCESS, (size_t)object - 1) : 0;
}

/* The row plus one of something that is numbered, which is made when it is new. */
uint64_t join_numbered(struct join *join, struct row_map *map, enum story_table table,
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

uint64_t join_packet(struct join *join, uint64_t number)
{
    return join_numbered(join, &join->packets, STORY_PACKETS, STORY_PACKETS_NUMBER, number);
}

uint64_t join_operation(struct join *join, uint64_t number)
{
    return join_numbered(join, &join->operations, STORY_OPERATIONS, STORY_OPERATIONS_NUMBER,
                         number);
}

uint64_t join_request(struct join *join, uint64_t number)
{
    return join_numbered(join, &join->requests, STORY_REQUESTS, STORY_REQUESTS_NUMBER, number);
}

/* The process of a request, or of its context. */
uint64_t join_process_of_request(const struct join *join, uint64_t request)
{
    return request ? story_get(join->story, STORY_REQUESTS_PROCESS, (size_t)request - 1) : 0;
}

void join_add_to(struct join *join, enum story_column column, uint64_t row, uint64_t amount)
{
    if (row)
        story_set(join->story, column, (size_t)row - 1,
                  story_get(join->story, column, (size_t)row - 1) + amount);
}

/* A row with all its values; gives it plus one. */
uint64_t join_add(struct join *join, enum story_table table, const uint64_t *values)
{
    return story_add_row(join->story, table, values) + 1;
}

void join_mark(struct join *join, uint64_t time, const char *kind, uint64_t words, uint64_t on,
               uint64_t about, uint64_t value, uint64_t packet, uint64_t sequence)
{
    ADD(MARKS, time, story_text(join->story, kind), words, on, about, value, packet,
        sequence ? row_map_get(&join->calls, row_key(sequence)) : 0);
}
