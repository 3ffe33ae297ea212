/*
 * Run text: the lists of calls that people read, made of the record of a run.
 *
 * Place      bench; used when a run is over, and by `drydock trace`.
 * Model      The calls of the record become lines again. Those that the level asks for have the
 *            virtual time in front,
 *
 *                1234567 > DxgkDdiSubmitCommand ...
 *
 *            (at the level "paging" one line a call, "> call and fields < status and results"), up
 *            to a number of lines and of bytes; lines that are left out are counted, and the last
 *            line says so. What the driver prints stands among the calls. Calls that take
 *            everything down stand only in the short list (run_calls.h).
 * Errors     false: a file cannot be written, or the record cannot be read to its end; the lines
 *            that could be made are there.
 */
#ifndef DRYDOCK_BENCH_RUN_TEXT_H
#define DRYDOCK_BENCH_RUN_TEXT_H

#include "bench/config/run_config.h"
#include "record/record_reader.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Of a list of events that nobody has limited. */
#define RUN_TEXT_LINES UINT64_C(200000)
#define RUN_TEXT_BYTES (UINT64_C(32) << 20)

struct run_text {
    FILE *events; /* NULL: none; the caller's, as the other */
    enum run_events level;
    uint64_t limit, byte_limit; /* lines and bytes of events; 0: as many as there are */
    /* How a line of events is written, with its end; NULL: as it is. */
    void (*put)(FILE *out, const char *line, size_t length);
    FILE *calls;               /* the short list; NULL: none */
    uint64_t written, dropped; /* lines of events, afterwards */
};

/* Reads the record to its end. */
bool run_text_write(struct run_text *text, struct record_reader *reader, char error[256]);

#endif
