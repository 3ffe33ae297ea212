/*
 * The case parser's two halves; private to them.
 *
 * Place      workload. case_parse.c cuts lines into words by the table of directives; in
 *            case_directives.c each directive hands its words to the builder.
 * Model      A line fills struct parser, then the directive's handle() is called once. The items
 *            of a list (references, names) are handed over one by one while the line is cut, so
 *            a line of thousands needs no room.
 * Ownership  Words point into the text that is parsed.
 * Errors     Into the builder, where the first one stays.
 */
#ifndef WORKLOAD_CASE_PARSE_H
#define WORKLOAD_CASE_PARSE_H

#include "workload/build/builder_private.h"

#include <string.h>

struct word {
    const char *text;
    size_t length;
};

/* Everything that can stand as KEY=VALUE in some line. */
enum attribute {
    ATTR_PROCESS,
    ATTR_DEVICE,
    ATTR_NODE,
    ATTR_SIZE,
    ATTR_ALIGN,
    ATTR_PRIORITY,
    ATTR_SEGMENTS,
    ATTR_FLAGS,
    ATTR_VA,
    ATTR_OFFSET,
    ATTR_KEY,
    ATTR_DURATION,
    ATTR_PROTECT,
    ATTR_DRIVER_PROTECTION,
    ATTR_SEGMENT,
    ATTR_PAGE,
    ATTR_PAGES,
    ATTR_PAGE_SIZE,
    ATTR_FROM,
    ATTR_TO,
    ATTR_POOL,
    ATTR_AFTER,
    ATTR_SAVE,
    ATTR_SAVE_IN,
    ATTR_SAVE_BY,
    ATTR_SAVE_FOR,
    ATTR_SAVE_IMAGE,
    ATTR_SIGNAL,
    ATTR_VALUE,
    ATTR_NULL,
    ATTR_DISCARD,
    ATTR_COUNT,
};

#define MAX_POSITIONALS 2

struct parser {
    struct workload_builder *builder;
    const struct directive *directive;
    struct word words[MAX_POSITIONALS]; /* the positional words of the line */
    uint32_t word_count;
    uint32_t present; /* bits of enum attribute */
    struct word values[ATTR_COUNT];
    uint64_t numbers[ATTR_COUNT];
    char quoted[WORKLOAD_MAX_TEXT + 1];
    bool has_quoted;
    bool list_open;                      /* submit: its operation is begun */
    uint32_t list[WORKLOAD_MAX_OP_REFS]; /* of resident and evict */
    uint32_t list_count;
};

struct directive {
    const char *name;
    const char *syntax;
    uint32_t allowed, required;                            /* bits of enum attribute */
    uint8_t word_count;                                    /* positional words */
    bool has_text;                                         /* a quoted text ends the line */
    void (*item)(struct parser *parser, struct word word); /* lists: each further word */
    void (*handle)(struct parser *parser);
};

/* Parses into a builder, whose errors say what is wrong. False only when out of memory. */
bool workload_parse_into(struct workload_builder *builder, const void *text, size_t size);

/* NULL when no directive has that name. */
const struct directive *case_find_directive(struct word word);
/* step takes a word or a text, so its words cannot be counted by the table. */
bool case_has_free_form(const struct directive *directive);

/* The word at this place is a value, whatever is in it. */
bool case_is_value(const struct directive *directive, unsigned place);

#define fail(parser, ...) workload_builder_fail((parser)->builder, __VA_ARGS__)

/* How much of a wrong word a message shows. */
static inline int shown(struct word word)
{
    return word.length > 80 ? 80 : (int)word.length;
}

static inline bool word_is(struct word word, const char *text)
{
    return word.length == strlen(text) && memcmp(word.text, text, word.length) == 0;
}

#endif
