/*
 * Finding: a mistake that was seen, told so that it is understood without the run.
 *
 * Place      check. Made by the checking layer and the oracle, kept by bench, printed by report.
 * Model      `where` is the path to the mistake, from the call down to the field; `text` is the
 *            sentence that stands alone with it; the others are lines for people, empty when there
 *            is nothing to say. What follows from the rule (sentence, source, bug check) is in the
 *            rule table, not here. Findings of one cause have the same finding_cause().
 * Ownership  A value: it owns nothing.
 */
#ifndef DRYDOCK_CHECK_FINDING_H
#define DRYDOCK_CHECK_FINDING_H

#include "check/rules/rules.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FINDING_WHERE_BYTES     112
#define FINDING_FUNCTION_BYTES  192
#define FINDING_TEXT_BYTES      640
#define FINDING_OBJECTS_BYTES   768
#define FINDING_ARGUMENTS_BYTES 2560
#define FINDING_BYTES_BYTES     640
#define FINDING_PRINTED_BYTES   512
#define FINDING_WRITERS_BYTES   1280
#define FINDING_NAME_BYTES      112
#define FINDING_VALUE_BYTES     128
#define FINDING_EXPECTED_BYTES  192

/* The argument that a rule compares, as texts; "": it is not told. */
struct finding_argument {
    char name[FINDING_NAME_BYTES];         /* "Fill.FillSize"; "status": what the call returned */
    char value[FINDING_VALUE_BYTES];       /* "0x402" */
    char expected[FINDING_EXPECTED_BYTES]; /* "a multiple of 4" */
};

/*
 * Commands that a call of DxgkDdiBuildPagingBuffer wrote: of the bytes that it wrote, so many from
 * this one on.
 */
struct finding_commands {
    uint64_t event; /* number of the call, 0: not known */
    uint32_t offset;
    uint32_t bytes; /* 0: all that it wrote */
    bool is_beside; /* no commands: the call, whichever it is, wrote a byte that it may not write */
};

/* What a person needs behind the first line. */
struct finding_detail {
    uint64_t event;                          /* number of the call, 0: outside of calls */
    char where[FINDING_WHERE_BYTES];         /* "DxgkDdiBuildPagingBuffer(TRANSFER).pDmaBuffer" */
    char function[FINDING_FUNCTION_BYTES];   /* the driver's: "mygpu.sys!BuildPagingBuffer
                                                (mygpu.c:519)" */
    char objects[FINDING_OBJECTS_BYTES];     /* a line an object, with its last events */
    char arguments[FINDING_ARGUMENTS_BYTES]; /* the call's argument structure, a line a field */
    char bytes[FINDING_BYTES_BYTES];         /* expected and observed, in hexadecimal */
    char printed[FINDING_PRINTED_BYTES];     /* the last lines that the driver printed before */
    struct finding_argument argument;        /* beside what it should be */
    struct finding_commands commands;        /* whose effect is wrong */
    char writers[FINDING_WRITERS_BYTES];     /* the instructions that wrote them, a line each */
};

struct finding {
    enum rule_id rule;   /* RULE_NONE: no rule of the catalogue names it */
    uint64_t object;     /* number of the object that it is about, 0: none */
    bool is_advice;      /* the documents leave it open: nobody is at fault (CHECK_ADVICE()) */
    bool is_carried_out; /* what the GPU did shows it: the driver's (rule_is_carried_out()) */
    const void *byte;    /* that was written, and may not be; lent with the finding; NULL: none */
    char text[FINDING_TEXT_BYTES]; /* "moved 288 bytes; 256 were offered" */
    struct finding_detail detail;
};

/*
 * The sentence of a finding, of a format in which braces mark what is data too: what the argument
 * that a rule judges has, and with a = what it should have. What stands between two ~ within braces
 * is in the data alone.
 *
 *     "is {%u}; the driver declared {=none~ (0)~}"
 *     "{moved %u bytes}; {=~at most ~%u} were offered"
 *
 * {@} is the argument's name, where who tells the finding does not know the field otherwise. Braces
 * of the values do not count. Parts that are not marked leave the argument as it was.
 */
void finding_write_sentence(char *sentence, size_t size, struct finding_argument *argument,
                            const char *format, va_list values);

struct hash;
/* All of what is told in words behind the first line, but for what the driver printed and who wrote
 * the commands. */
void finding_detail_hash(struct hash *hash, const struct finding_detail *detail);

/*
 * What findings of one cause have in common: rule and where, but for the numbers of elements in
 * brackets and for the paging operation; without a rule also the text but for its numbers.
 */
uint64_t finding_cause(enum rule_id rule, const char *where, const char *text);

#endif
