/*
 * Names that a compiler or a linker does not know: what the public documentation says of each.
 *
 * Place      cli. Stands on data/ddi/documented.tsv, which the build turns into a table.
 * Model      A list of names, gathered from the messages of clang and lld: which name, whether it
 *            was taken for a type, a value, a call, a member, a header or a symbol, where it was
 *            first, how often. Then one paragraph tells all of them, in groups by what to do.
 * Ownership  The caller's structure, cc_names_fini() frees what is in it.
 * Errors     Names beyond CC_MAX_NAMES are counted and not kept.
 */
#ifndef DRYDOCK_CLI_CC_NAMES_H
#define DRYDOCK_CLI_CC_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define CC_MAX_NAMES 4096

enum cc_name_use {
    CC_NAME_TYPE,
    CC_NAME_VALUE,
    CC_NAME_CALL,
    CC_NAME_MEMBER,
    CC_NAME_HEADER,
    CC_NAME_SYMBOL,
};

struct cc_name {
    char *name;
    char *of;    /* of a member: its structure; else NULL */
    char *place; /* FILE:LINE of the first message, or NULL */
    enum cc_name_use use;
    unsigned count;
};

struct cc_names {
    struct cc_name *rows;
    size_t count, lost;
    unsigned other_errors; /* errors of the compiler that are about no name */
    unsigned literals;     /* messages about a string literal for a PVOID */
};

/* What the documentation says of a name. */
enum cc_standing {
    CC_STANDING_NOWHERE,
    CC_STANDING_DOCUMENTED,
    CC_STANDING_MACRO, /* documented as a macro: a header must have it, no image exports it */
};

/* With the kind and the header of the page; of a member: of that structure, or NULL. */
enum cc_standing cc_name_standing(const char *name, const char *of, const char **out_kind,
                                  const char **out_header);

/* One line of a compiler's messages; escape sequences of colours are looked through. */
void cc_names_read_line(struct cc_names *names, const char *line);

void cc_names_add(struct cc_names *names, const char *name, const char *of, enum cc_name_use use,
                  const char *place);

/* The paragraph; nothing when there is no name and no literal. */
void cc_names_tell(const struct cc_names *names, FILE *file);

void cc_names_fini(struct cc_names *names);

#endif
