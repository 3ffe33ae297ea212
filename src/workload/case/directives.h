/*
 * Directives: what a line of the case format can be, as rows of one table.
 *
 * Place      workload. Data only, and calls nothing, so that every file can read it: the parser,
 *            the printer, the checks of the builder, the documentation, and the player, who finds
 *            its functions by it.
 * Model      directives.inc holds the rows. A row names the words that a line begins with, and its
 *            members: the words and attributes that follow, each with a type and with the member of
 *            struct directive_line that it fills.
 *            Rows whose names share the first word ("pte map", "pte unmap") are forms of one
 *            directive. The second word of such a name stands behind the first member of the line.
 *            Attributes that two forms share have the same type and the same place.
 *            How a value of a type is read, printed, checked and described is said once for each
 *            type: in case_read.c, case_print.c, builder_add.c and directives_text.c.
 */
#ifndef WORKLOAD_DIRECTIVES_H
#define WORKLOAD_DIRECTIVES_H

#include "workload/build/builder.h"
#include "workload/workload.h"

#include <string.h>

/* Types of values. The comment says what fills the place of the member. */
enum directive_type {
    TYPE_NEW_NAME,       /* nothing: an object gets this name */
    TYPE_ALLOCATION,     /* the index of a live allocation */
    TYPE_CONTEXT,        /* an index, as the next three */
    TYPE_CONTEXT_OR_ALL, /* all: WORKLOAD_NONE */
    TYPE_PROCESS,
    TYPE_DEVICE,
    TYPE_LIST_DEVICE, /* a device, by default that of the first allocation of the list */
    TYPE_NODE,
    TYPE_FENCE,        /* the number of a fence that exists */
    TYPE_NEW_FENCE,    /* the number of a fence that does not exist yet */
    TYPE_SIZE,         /* a number, printed as bytes are: 64K */
    TYPE_RANGE_SIZE,   /* bytes of a range of the line's allocation, by default to its end */
    TYPE_COUNT,        /* a number, printed in decimal */
    TYPE_HEX,          /* a number, printed in hexadecimal */
    TYPE_PAGES,        /* bytes, written as a count of pages of 4 KiB */
    TYPE_PAGE_SIZE,    /* the base 2 logarithm of the bytes written */
    TYPE_SIGNAL,       /* one more than the number of a fence */
    TYPE_VA,           /* a GPU VA */
    TYPE_VA_OR_AUTO,   /* auto: WORKLOAD_VA_AUTO */
    TYPE_FIXED_VA,     /* a GPU VA that is not 0 */
    TYPE_YES,          /* 1, written as yes; 0 is no */
    TYPE_CHOICE,       /* which of the words that are shown */
    TYPE_SEGMENT,      /* enum workload_segment */
    TYPE_SEGMENTS,     /* alloc.segments and their count */
    TYPE_FLAGS,        /* enum workload_allocation_flag */
    TYPE_PRIORITY,     /* a number, or one of its words */
    TYPE_PROTECTION,   /* enum workload_protection */
    TYPE_REFERENCES,   /* nothing: a list of ranges with their access */
    TYPE_ALLOCATIONS,  /* nothing: a list of allocations */
    TYPE_TEXT,         /* a text in quotes */
    TYPE_NAME_OR_TEXT, /* a text, in quotes or not */
    TYPE_ANY,          /* nothing: a word that may be anything */
    TYPE_ANY_OR_TEXT,
    TYPE_COUNT_OF_TYPES,
};

enum directive_presence {
    PRESENCE_END, /* behind the last member of a row */
    PRESENCE_WORD,
    PRESENCE_NEED,
    PRESENCE_MAY,
    PRESENCE_ALWAYS, /* may be there, and is printed always */
    PRESENCE_WITH,   /* there if and only if the member in front of it is */
    PRESENCE_LIST,
};

/* The section of docs/case-format.md that describes a row. */
enum directive_section {
    SECTION_ALLOCATIONS,
    SECTION_CPU,
    SECTION_WORK,
    SECTION_RESIDENCY,
    SECTION_OFFERS,
    SECTION_ADDRESSES,
    SECTION_TILES,
    SECTION_FENCES,
    SECTION_GPU,
    SECTION_PHASES,
    SECTION_ENTRIES,
    SECTION_HEADER,
    SECTION_COUNT,
};

/* In which models a line counts; in the others it does nothing. */
enum directive_models {
    MODELS_ALL,
    MODELS_VIRTUAL, /* GpuMmu and IoMmu */
    MODELS_GPUMMU,
};

/* The places that the members of a line fill; the printer fills them from an operation. */
struct directive_line {
    struct workload_op op; /* first: a member of it is found in an operation alone, too */
    struct workload_ref ref;
    struct workload_allocation_info alloc;
    struct workload_device device;
    struct workload_context context;
    const char *name; /* printing: of the new object */
};

struct directive_member {
    const char *key;   /* of KEY=VALUE, else NULL */
    const char *shown; /* what stands for the value in a description */
    uint8_t type;      /* enum directive_type */
    uint8_t presence;  /* enum directive_presence */
    uint8_t bytes;     /* of the place */
    uint16_t place;    /* offset in struct directive_line */
    uint64_t fallback; /* the value where the line does not say */
};

#define DIRECTIVE_MAX_MEMBERS 9

struct directive {
    const char *name; /* the words of the line: "free", "pte map" */
    const char *meaning;
    uint8_t kind;    /* enum workload_op_kind; WORKLOAD_OP_COUNT: a line of the header */
    uint8_t section; /* enum directive_section */
    uint8_t models;  /* enum directive_models */
    struct directive_member members[DIRECTIVE_MAX_MEMBERS]; /* up to PRESENCE_END */
};

/* The rows, by their place in the table. */
enum directive_row {
#define OPERATION(NAME, ...)     ROW_##NAME,
#define VARIANT(NAME, KIND, ...) ROW_##NAME,
#define HEADER(NAME, ...)        ROW_HEADER_##NAME,
#include "workload/case/directives.inc"
#undef OPERATION
#undef VARIANT
#undef HEADER
    ROW_COUNT,
};

extern const struct directive directives[ROW_COUNT];

const struct directive *directive_of_kind(enum workload_op_kind kind);

/* How many rows are forms of the same first word: the rows from the first one on. */
unsigned directive_form_count(const struct directive *first);

static inline bool directive_is_header(const struct directive *directive)
{
    return directive->kind == WORKLOAD_OP_COUNT;
}

/* Length of the first word of a row, and what stands behind it: "" where it has no forms. */
static inline size_t directive_word_length(const struct directive *directive)
{
    return strcspn(directive->name, " ");
}

static inline const char *directive_verb(const struct directive *directive)
{
    const char *behind = directive->name + directive_word_length(directive);

    return *behind ? behind + 1 : behind;
}

/* The value of a member, of a line or of an operation that the member is in. */
static inline uint64_t directive_get(const void *line, const struct directive_member *member)
{
    const uint8_t *place = (const uint8_t *)line + member->place;
    uint64_t wide;
    uint32_t narrow;

    switch (member->bytes) {
    case sizeof wide:
        memcpy(&wide, place, sizeof wide);
        return wide;
    case sizeof narrow:
        memcpy(&narrow, place, sizeof narrow);
        return narrow;
    default:
        return *place;
    }
}

/* A value that does not fit becomes the largest one that does. */
static inline void directive_put(void *line, const struct directive_member *member, uint64_t value)
{
    uint8_t *place = (uint8_t *)line + member->place;
    uint32_t narrow = value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;

    switch (member->bytes) {
    case sizeof value:
        memcpy(place, &value, sizeof value);
        break;
    case sizeof narrow:
        memcpy(place, &narrow, sizeof narrow);
        break;
    default:
        *place = value > UINT8_MAX ? UINT8_MAX : (uint8_t)value;
        break;
    }
}

#endif
