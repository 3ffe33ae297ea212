/*
 * Tables of columns. A column grows by doubling, all columns of a table together. Texts stand one
 * behind the other in one piece of memory, each ended by a zero byte; a table of ids by hash finds
 * them.
 */
#include "story/story.h"
#include "base/hash.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct story_column_shape story_columns[STORY_COLUMN_COUNT] = {
#define STORY_TABLE(table, name, text)
#define STORY_COLUMN(table, column, name, type, target, text)                                      \
    {STORY_##table, name, text, STORY_TYPE_##type, STORY_##target},
#include "story/story_tables.inc"
};

const struct story_table_shape story_tables[STORY_TABLE_COUNT + 1] = {
#define STORY_TABLE(table, name, text) {name, text, STORY_FIRST_##table},
#define STORY_COLUMN(table, column, name, type, target, text)
#include "story/story_tables.inc"
    {"", "", STORY_COLUMN_COUNT},
};

const char *story_type_name(enum story_type type)
{
    static const char *const names[] = {"time", "count", "bytes", "flag", "text", "row"};

    return names[type];
}

struct table {
    size_t rows, room;
};

struct text {
    size_t at, size; /* in story.text_bytes */
};

struct story {
    const struct base_services *services;
    bool failed;

    struct table tables[STORY_TABLE_COUNT];
    uint64_t *columns[STORY_COLUMN_COUNT]; /* tables[].room values each */

    struct text *texts;
    size_t text_count, text_room;
    char *text_bytes;
    size_t text_size, text_bytes_room;
    uint32_t *slots; /* ids + 1 by hash, open addressing; at most half are used */
    size_t slot_count;
};

/* ---- Texts ----------------------------------------------------------------------------------- */

/* Room for at least need elements; false: the story has failed. */
static bool grow(struct story *story, void **memory, size_t *room, size_t need, size_t element_size)
{
    size_t more = *room ? *room : 64;
    void *grown;

    if (need <= *room)
        return true;
    while (more < need) {
        if (more > SIZE_MAX / 4) {
            story->failed = true;
            return false;
        }
        more *= 2;
    }
    grown = base_alloc_array(story->services, more, element_size);
    if (!grown) {
        story->failed = true;
        return false;
    }
    if (*room)
        memcpy(grown, *memory, *room * element_size);
    base_free_array(story->services, *memory, *room, element_size);
    *memory = grown;
    *room = more;
    return true;
}

static uint64_t hash_of(const char *bytes, size_t size)
{
    struct hash hash;

    hash_init(&hash, 0);
    hash_update(&hash, bytes, size);
    return hash_final(&hash);
}

/* The slot of a text: one that holds it, or the free one where it belongs. */
static size_t slot_of(const struct story *story, const char *bytes, size_t size)
{
    size_t slot = (size_t)hash_of(bytes, size) & (story->slot_count - 1);

    while (story->slots[slot]) {
        const struct text *text = &story->texts[story->slots[slot] - 1];

        if (text->size == size && memcmp(story->text_bytes + text->at, bytes, size) == 0)
            break;
        slot = (slot + 1) & (story->slot_count - 1);
    }
    return slot;
}

static bool grow_slots(struct story *story)
{
    size_t former_count = story->slot_count, count = former_count ? former_count * 2 : 256;
    uint32_t *former = story->slots, *slots;

    if (story->text_count < former_count / 2)
        return true;
    slots = base_alloc_array(story->services, count, sizeof *slots);
    if (!slots || story->text_count >= UINT32_MAX / 2) {
        base_free_array(story->services, slots, count, sizeof *slots);
        story->failed = true;
        return false;
    }
    story->slots = slots;
    story->slot_count = count;
    for (size_t i = 0; i < story->text_count; i++) {
        const struct text *text = &story->texts[i];

        slots[slot_of(story, story->text_bytes + text->at, text->size)] = (uint32_t)i + 1;
    }
    base_free_array(story->services, former, former_count, sizeof *former);
    return true;
}

uint64_t story_text_bytes(struct story *story, const char *bytes, size_t size)
{
    size_t slot;

    if (!grow_slots(story))
        return 0;
    slot = slot_of(story, bytes, size);
    if (story->slots[slot])
        return story->slots[slot] - 1;
    if (size >= SIZE_MAX / 4 ||
        !grow(story, (void **)&story->texts, &story->text_room, story->text_count + 1,
              sizeof *story->texts) ||
        !grow(story, (void **)&story->text_bytes, &story->text_bytes_room,
              story->text_size + size + 1, 1)) {
        story->failed = true;
        return 0;
    }
    story->texts[story->text_count] = (struct text){.at = story->text_size, .size = size};
    memcpy(story->text_bytes + story->text_size, bytes, size);
    story->text_bytes[story->text_size + size] = '\0';
    story->text_size += size + 1;
    story->slots[slot] = (uint32_t)++story->text_count;
    return story->text_count - 1;
}

uint64_t story_text(struct story *story, const char *text)
{
    return story_text_bytes(story, text, strlen(text));
}

const char *story_text_of(const struct story *story, uint64_t id)
{
    return id < story->text_count ? story->text_bytes + story->texts[id].at : "";
}

size_t story_text_size(const struct story *story, uint64_t id)
{
    return id < story->text_count ? story->texts[id].size : 0;
}

size_t story_text_count(const struct story *story)
{
    return story->text_count;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static bool grow_table(struct story *story, enum story_table table)
{
    struct table *rows = &story->tables[table];
    unsigned first = story_tables[table].first, end = story_tables[table + 1].first;
    size_t room = rows->room ? rows->room * 2 : 64;
    uint64_t *grown[STORY_COLUMN_COUNT];

    if (rows->rows < rows->room)
        return true;
    for (unsigned i = first; i < end; i++) {
        grown[i] = room > rows->room
                       ? base_alloc_array(story->services, room, sizeof *story->columns[i])
                       : NULL;
        if (!grown[i]) {
            while (i-- > first)
                base_free_array(story->services, grown[i], room, sizeof *story->columns[i]);
            story->failed = true;
            return false;
        }
    }
    for (unsigned i = first; i < end; i++) {
        if (rows->rows)
            memcpy(grown[i], story->columns[i], rows->rows * sizeof *story->columns[i]);
        base_free_array(story->services, story->columns[i], rows->room, sizeof *story->columns[i]);
        story->columns[i] = grown[i];
    }
    rows->room = room;
    return true;
}

size_t story_add(struct story *story, enum story_table table)
{
    struct table *rows = &story->tables[table];

    if (!grow_table(story, table))
        return 0;
    for (unsigned i = story_tables[table].first; i < story_tables[table + 1].first; i++)
        story->columns[i][rows->rows] = story_columns[i].type == STORY_TYPE_TIME ? STORY_NEVER : 0;
    return rows->rows++;
}

size_t story_add_row(struct story *story, enum story_table table, const uint64_t *values)
{
    size_t row = story_add(story, table);

    for (unsigned i = story_tables[table].first; i < story_tables[table + 1].first; i++)
        story_set(story, (enum story_column)i, row, *values++);
    return row;
}

void story_set(struct story *story, enum story_column column, size_t row, uint64_t value)
{
    if (!story->failed && row < story->tables[story_columns[column].table].rows)
        story->columns[column][row] = value;
}

uint64_t story_get(const struct story *story, enum story_column column, size_t row)
{
    if (row < story->tables[story_columns[column].table].rows)
        return story->columns[column][row];
    return story_columns[column].type == STORY_TYPE_TIME ? STORY_NEVER : 0;
}

const uint64_t *story_values(const struct story *story, enum story_column column)
{
    return story->columns[column];
}

size_t story_rows(const struct story *story, enum story_table table)
{
    return story->tables[table].rows;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

void story_fact(struct story *story, const char *key, const char *format, ...)
{
    char value[1024];
    va_list list;

    va_start(list, format);
    vsnprintf(value, sizeof value, format, list);
    va_end(list);
    story_add_row(story, STORY_FACTS,
                  (uint64_t[]){story_text(story, key), story_text(story, value)});
}

const char *story_fact_of(const struct story *story, const char *key)
{
    for (size_t i = 0; i < story_rows(story, STORY_FACTS); i++) {
        if (strcmp(story_text_of(story, story_get(story, STORY_FACTS_KEY, i)), key) == 0)
            return story_text_of(story, story_get(story, STORY_FACTS_VALUE, i));
    }
    return NULL;
}

void story_count(char out[32], uint64_t count)
{
    char plain[24];
    size_t length = (size_t)snprintf(plain, sizeof plain, "%" PRIu64, count);

    for (size_t i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            *out++ = ',';
        *out++ = plain[i];
    }
    *out = '\0';
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct story *story_create(const struct base_services *services)
{
    struct story *story = base_alloc(services, sizeof *story);

    if (!story)
        return NULL;
    story->services = services;
    story_text(story, "");
    if (story->failed) {
        story_destroy(story);
        return NULL;
    }
    return story;
}

void story_destroy(struct story *story)
{
    if (!story)
        return;
    for (unsigned i = 0; i < STORY_COLUMN_COUNT; i++)
        base_free_array(story->services, story->columns[i],
                        story->tables[story_columns[i].table].room, sizeof *story->columns[i]);
    base_free_array(story->services, story->texts, story->text_room, sizeof *story->texts);
    base_free_array(story->services, story->text_bytes, story->text_bytes_room, 1);
    base_free_array(story->services, story->slots, story->slot_count, sizeof *story->slots);
    base_free(story->services, story, sizeof *story);
}

const struct base_services *story_services(const struct story *story)
{
    return story->services;
}

bool story_failed(const struct story *story)
{
    return story->failed;
}
