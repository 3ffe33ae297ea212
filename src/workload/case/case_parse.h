/*
 * The case parser, inside: what its files share.
 *
 * Place      workload, private to the module.
 *
 *            | file         | what it does                                        |
 *            | case_parse.c | cuts lines into words, by the table of directives    |
 *            | case_read.c  | reads a word by the type of its member               |
 *            | case_add.c   | hands a line that has been read to the builder       |
 *
 * Model      A line fills struct parser. The value of a member goes into parser->line, to the place
 *            that the member names. The items of a list (references, names) are handed over one by
 *            one while the line is cut, so a line of thousands needs no room.
 * Ownership  Words point into the text that is parsed.
 * Errors     Into the builder, where the first error stays.
 */
#ifndef WORKLOAD_CASE_PARSE_H
#define WORKLOAD_CASE_PARSE_H

#include "workload/build/builder_private.h"
#include "workload/case/directives.h"

#include <string.h>

struct word {
    const char *text;
    size_t length;
};

#define PARSER_MAX_WORDS 3 /* words without a key: an object, a verb, one more */
#define PARSER_SYNTAX    512

/* A word that lines begin with. */
struct directive_head {
    const struct directive *first; /* of its forms */
    size_t length;                 /* of the word */
    char initial;                  /* its first character */
    unsigned form_count;
    bool has_verb; /* a second word says which form it is */
    bool may_have_text;
    uint32_t word_count;                 /* words and texts that the line has to have */
    const struct directive_member *list; /* NULL: none */
};

struct parser {
    struct workload_builder *builder;

    /* Facts of the table of directives, found out once. */
    struct directive_head heads[ROW_COUNT];
    unsigned head_count;
    uint32_t needs[ROW_COUNT];   /* bits of the members that a row needs */
    uint32_t settles[ROW_COUNT]; /* bits of members to look at when they are not given */

    /* The line, as it is cut. */
    const struct directive_head *head;   /* NULL: its first word has not been read */
    const struct directive *first;       /* the first form of the line's word */
    const struct directive *directive;   /* the form; the first one until the verb is read */
    bool is_form_unknown;                /* the verb is none of them */
    struct word words[PARSER_MAX_WORDS]; /* those that are found by where they stand */
    uint32_t word_count;
    struct {
        const struct directive_member *member;
        struct word value;
    } given[DIRECTIVE_MAX_MEMBERS]; /* attributes of the line */
    uint32_t given_count;
    char quoted[WORKLOAD_MAX_TEXT + 1];
    bool has_quoted;

    /* The line, as it is read. */
    bool is_settled;                     /* words and attributes have been read */
    struct directive_line line;          /* what the members fill */
    bool is_submission_open;             /* submit: the operation is begun */
    uint32_t list[WORKLOAD_MAX_OP_REFS]; /* of allocations */
    uint32_t list_count;

    char syntax[PARSER_SYNTAX]; /* of a message */
};

/* Parses into a builder, whose errors say what is wrong. False only when out of memory. */
bool workload_parse_into(struct workload_builder *builder, const void *text, size_t size);

#define fail(parser, ...) workload_builder_fail((parser)->builder, __VA_ARGS__)

/* ---- case_read.c ---- */

/* How the line should be written, for a message. */
const char *case_syntax(struct parser *parser);
/* The value of a member, which goes to its place in the line. */
void case_read(struct parser *parser, const struct directive_member *member, struct word word);
/* One more word of a list. */
void case_read_item(struct parser *parser, const struct directive_member *list, struct word word);
/* The operation of a submission, before its first reference or at the end of the line. */
void case_open_submission(struct parser *parser);

/* ---- case_add.c ---- */

void case_add(struct parser *parser);

/* ---- Words ---- */

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
