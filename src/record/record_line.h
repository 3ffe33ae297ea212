/*
 * Record line: the line of a call, made of an item of kind `call`.
 *
 * Place      record.
 * Model      The groups of a call are parts of its line: a text (the field `field`), and behind it
 *            a value that is written as the type says. A type below RECORD_PART_PLAIN, or a small
 *            letter, names a field: its text is written " name=". The others are plain: their text
 *            is written as it is. A letter is the kind of a handle (a, o, d, c, p, q, r, f), of
 *            which the value is the number.
 *
 *                ("SubmissionFenceId", DECIMAL, 7)           " SubmissionFenceId=7"
 *                ("hContext", 'c', 1)                        " hContext=c1"
 *                ("Destination", DECIMAL, 1), (":", PLAIN + HEX, 4096)    " Destination=1:0x1000"
 *
 *            trace_event_format() (trace/trace.h) makes the same line of the call itself.
 */
#ifndef DRYDOCK_RECORD_RECORD_LINE_H
#define DRYDOCK_RECORD_RECORD_LINE_H

#include "record/record_reader.h"

enum record_part {
    RECORD_PART_DECIMAL = 1,
    RECORD_PART_HEX,
    RECORD_PART_SIGNED,
    RECORD_PART_DIGITS,
    RECORD_PART_TEXT,
    RECORD_PART_NOTHING,
    RECORD_PART_PLAIN = 32
};

/* A handle that has no number. 0 is NULL. */
#define RECORD_HANDLE_UNKNOWN UINT64_MAX

/* The letter of a handle's kind, or 0: the part has no handle. */
char record_part_handle(uint64_t type);
/* The part begins a field, and its text is the field's name. */
bool record_part_is_field(uint64_t type);

/*
 * Writes the line without a line end, cut at size - 1 characters, and gives the length that it
 * would have in full: two blanks for each level of depth, "> " or "< ", the name, the operation,
 * the object (before) or the status (after), and the parts.
 */
size_t record_line_format(const struct record_reader *reader, const struct record_reader_item *call,
                          char *buffer, size_t size);

/* The parts alone, without the blank in front. */
size_t record_line_arguments(const struct record_reader *reader,
                             const struct record_reader_item *call, char *buffer, size_t size);

/* The values of parts that belong together, without the name of the field: "1:0x1000". */
size_t record_parts_format(const struct record_reader *reader,
                           const struct record_call_group *parts, size_t count, char *buffer,
                           size_t size);

#endif
