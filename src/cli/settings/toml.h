/*
 * TOML: the part of it that settings need, read from a text of anybody's.
 *
 * Place      cli, for drydock.toml (project.h). Uses nothing of the rest.
 * Model      A text is a list of entries in the order of their lines, each with the table that it
 *            stands in ("" before the first). Taken of TOML 1.0:
 *
 *                # a comment
 *                bare-key = "a basic string, \"\\ \n \u00e9"
 *                "quoted key" = 'a literal string'
 *                count = 1_000        mask = 0xff        is-fine = true
 *                list = ["a", 'b', 3, # over several lines
 *                        ]
 *                [table]
 *
 *            Not taken, each with its own message: floats, dates, dotted keys and tables, inline
 *            tables, arrays of tables, arrays in arrays, strings of several lines. What this reads,
 *            every TOML reader reads alike.
 * Ownership  toml_parse() gives the entries; toml_free() takes them.
 * Errors     bool and one line, "FILE:LINE: ...". UTF-8 is expected and checked; a mark of UTF-8 at
 *            the beginning is left out, and UTF-16 is named.
 */
#ifndef DRYDOCK_CLI_TOML_H
#define DRYDOCK_CLI_TOML_H

#include <stdbool.h>
#include <stddef.h>

#define TOML_MOST_BYTES (1u << 20)

enum toml_kind { TOML_STRING, TOML_INTEGER, TOML_BOOLEAN, TOML_ARRAY };
const char *toml_kind_name(enum toml_kind kind); /* "a string", "an array" */

struct toml_entry {
    const char *table, *key;
    unsigned line;
    enum toml_kind kind;
    /* A value that is no array is its only element. Integers are decimal, booleans true, false. */
    char **elements;
    size_t count;
};

struct toml {
    struct toml_entry *entries;
    size_t count;
    /* Private. */
    size_t room;
    void **memory;
    size_t memory_count, memory_room;
};

/* path is for messages. */
bool toml_parse(const char *text, size_t size, const char *path, struct toml *out, char error[512]);
void toml_free(struct toml *toml);

#endif
