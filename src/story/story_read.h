/*
 * Story of a record: what the items of a record.ddr say, joined.
 *
 * Place      story. Uses record's reader.
 * Model      The record is read twice: the first time to count calls and to find the findings, the
 *            second time to make the tables. Items are joined by their numbers: an operation with
 *            its packet, a place with the request that took it and the one that ended it, a packet
 *            with the interrupt that told its end, a wait with who ended it.
 * Safety     Any file may be given. What an item says of things that the record did not tell makes
 *            rows of their own ("process 7" without a name), never a fault.
 * Limits     Rows in all tables together; calls and their arguments apart, which are kept near
 *            findings where there are too many. What a limit cuts is a fact: "left_out".
 * Errors     NULL and one line. A record that is cut or damaged is read as far as it is whole; the
 *            fact "cut" or "damaged" says so in a sentence.
 */
#ifndef DRYDOCK_STORY_STORY_READ_H
#define DRYDOCK_STORY_STORY_READ_H

#include "story/story.h"

struct story_limits {
    size_t calls;     /* 0: STORY_MAX_CALLS */
    size_t arguments; /* 0: STORY_MAX_ARGUMENTS */
    size_t rows;      /* of all other tables together; 0: STORY_MAX_ROWS */
};

#define STORY_MAX_CALLS     ((size_t)4 << 20)
#define STORY_MAX_ARGUMENTS ((size_t)8 << 20)
#define STORY_MAX_ROWS      ((size_t)32 << 20)

struct story *story_read(const struct base_services *services, const char *path,
                         const struct story_limits *limits, char error[512]);

/* The bytes are borrowed. The name stands in messages. */
struct story *story_read_bytes(const struct base_services *services, const char *name,
                               const void *bytes, size_t size, const struct story_limits *limits,
                               char error[512]);

#endif
