/*
 * Story: what happened in a run, as tables that a program can walk.
 *
 * Place      story. Uses base and record; the report's page, the trace for Perfetto and the
 *            comparison of runs read it. Knows nothing of WDDM but the names in story_tables.inc.
 * Model      A table is columns of the same length; a value is a uint64_t. A row is named by its
 *            number from 0, and where a column refers to a row it holds the number plus one. Texts
 *            are interned: the same text has one id. The builder only adds rows and sets values;
 *            story_read.h makes a story of a record.
 * Ownership  The story is the caller's. Texts and columns that are given are lent until the story
 *            is changed or destroyed.
 * Errors     Without memory a change does nothing, and the story has failed. story_failed() is
 *            asked once, at the end.
 * Units      Bytes; virtual nanoseconds.
 */
#ifndef DRYDOCK_STORY_STORY_H
#define DRYDOCK_STORY_STORY_H

#include "base/services.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORY_NEVER UINT64_MAX
#define STORY_NONE  UINT64_C(0) /* of a column that refers to a row */

enum story_table {
#define STORY_TABLE(table, name, text) STORY_##table,
#define STORY_COLUMN(table, column, name, type, target, text)
#include "story/story_tables.inc"
    STORY_TABLE_COUNT
};

/* A column is named with its table: STORY_PLACES_FROM. The first of a table is STORY_FIRST_PLACES.
 */
enum story_column {
#define STORY_TABLE(table, name, text)                                                             \
    STORY_FIRST_##table, STORY_BEFORE_##table = STORY_FIRST_##table - 1,
#define STORY_COLUMN(table, column, name, type, target, text) STORY_##table##_##column,
#include "story/story_tables.inc"
    STORY_COLUMN_COUNT
};

enum story_type {
    STORY_TYPE_TIME,
    STORY_TYPE_COUNT,
    STORY_TYPE_BYTES,
    STORY_TYPE_FLAG,
    STORY_TYPE_TEXT,
    STORY_TYPE_ROW
};

/* The columns of a table are first .. first of the next table - 1. */
struct story_table_shape {
    const char *name, *text;
    unsigned first;
};
extern const struct story_table_shape story_tables[STORY_TABLE_COUNT + 1];

struct story_column_shape {
    enum story_table table;
    const char *name, *text;
    enum story_type type;
    enum story_table target; /* of STORY_TYPE_ROW */
};
extern const struct story_column_shape story_columns[STORY_COLUMN_COUNT];

/* "time", "count", "bytes", "flag", "text", "row". */
const char *story_type_name(enum story_type type);

struct story;

/* NULL: no memory. */
struct story *story_create(const struct base_services *services);
void story_destroy(struct story *story);
const struct base_services *story_services(const struct story *story);

/* True once a change had no memory. */
bool story_failed(const struct story *story);

/*
 * Adds a row and gives its number. Its times are STORY_NEVER, all else is 0. A story that has
 * failed gives 0, and takes no value for it.
 */
size_t story_add(struct story *story, enum story_table table);

/* A row with all its values, in the order of the table's columns. */
size_t story_add_row(struct story *story, enum story_table table, const uint64_t *values);

void story_set(struct story *story, enum story_column column, size_t row, uint64_t value);

/* Behind the last row: 0, or STORY_NEVER for a time. */
uint64_t story_get(const struct story *story, enum story_column column, size_t row);

/* The values of a column, story_rows() of them. NULL: no rows. */
const uint64_t *story_values(const struct story *story, enum story_column column);

size_t story_rows(const struct story *story, enum story_table table);

/* The id of a text, which may hold any bytes. */
uint64_t story_text(struct story *story, const char *text);
uint64_t story_text_bytes(struct story *story, const char *bytes, size_t size);

/* The text of an id, ended by a zero byte; "" for an id that is none. */
const char *story_text_of(const struct story *story, uint64_t id);
size_t story_text_size(const struct story *story, uint64_t id);
size_t story_text_count(const struct story *story); /* ids are 0 .. count - 1 */

/* A row of FACTS. The format is printf's. */
void story_fact(struct story *story, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The value of the first fact of this key, or NULL. */
const char *story_fact_of(const struct story *story, const char *key);

/* Calls before and behind that of a finding, which stay where there are too many. */
#define STORY_NEAR_CALLS 200

/* "1,234,567", as facts have it. */
void story_count(char out[32], uint64_t count);

/* ---- Packed ---------------------------------------------------------------------------------- */

struct story_pack_limits {
    size_t base64_bytes; /* the most that the packed story takes as base64; 0: no limit */
};

/* 5 MB, for the page as a whole: the viewer and the facts of the run need the rest. */
#define STORY_PACK_BASE64_BYTES ((size_t)4600 * 1000)

/*
 * The story as bytes for the page (story_pack.c has the format). What does not fit is left out in
 * the order of story_pack.c, whole tables but for what is near a finding, and each thing that was
 * left out becomes a fact "left_out" of the story. False with a message.
 */
bool story_pack(struct story *story, const struct story_pack_limits *limits,
                unsigned char **out_bytes, size_t *out_size, char error[512]);
void story_pack_free(const struct story *story, unsigned char *bytes, size_t size);

/* Bytes as base64 without line breaks: story_base64_size() characters and a zero byte. */
size_t story_base64_size(size_t size);
char *story_base64(const struct base_services *services, const unsigned char *bytes, size_t size);

#endif
