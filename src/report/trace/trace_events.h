/*
 * Trace events: packets of a Perfetto trace, one after the other.
 *
 * Place      report, private to the trace: perfetto.c says what is on which track.
 * Model      A packet is a track or an event. An event is begun, gets its name, annotations and
 *            flows, and is ended. Names are told once, in the packet that has them first, and are
 *            numbers from then on.
 * Errors     Without memory, or when the file takes no more, failed is set, and nothing is written
 *            any more that matters.
 */
#ifndef DRYDOCK_REPORT_TRACE_TRACE_EVENTS_H
#define DRYDOCK_REPORT_TRACE_TRACE_EVENTS_H

#include "report/trace/perfetto.h"
#include "report/trace/protobuf.h"

enum event_type { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4 };
enum counter_unit { UNIT_COUNT = 2, UNIT_BYTES = 3 };

/* What names are interned: each kind has numbers of its own. */
enum kind_of_name { NAME_CATEGORY, NAME_EVENT, NAME_ANNOTATION, NAME_KIND_COUNT };

/* From an operation to its packet, a submission to its packet, a packet to its interrupt, and from
 * there on. */
enum flow_kind {
    FLOW_OPERATION,
    FLOW_SUBMISSION,
    FLOW_TOLD,
    FLOW_ENDED,
    FLOW_WROTE,   /* a packet, the value of a fence */
    FLOW_REACHED, /* the value, who waited for it */
    FLOW_KIND_COUNT
};

struct trace {
    FILE *out;
    const struct story *story;
    struct perfetto_counts *counts;
    bool failed;

    struct proto packet, event, interned, part, inner;
    bool has_begun;

    /* By id of a text of the story: its number in the trace; 0: not told so far. */
    uint64_t *names[NAME_KIND_COUNT];
    uint64_t name_counts[NAME_KIND_COUNT];
    struct literal {
        const char *text;
        uint64_t number;
    } literals[NAME_KIND_COUNT][64];

    uint64_t next_track;
};

void trace_init(struct trace *trace, FILE *out, const struct story *story,
                struct perfetto_counts *counts);
void trace_fini(struct trace *trace);

/* Tracks; they give their numbers. Those of a parent are shown in the order of rank. */
uint64_t trace_process(struct trace *trace, uint64_t pid, const char *name);
uint64_t trace_track(struct trace *trace, uint64_t parent, const char *name, int rank);
uint64_t trace_counter(struct trace *trace, uint64_t parent, const char *name,
                       enum counter_unit unit);

/* The number of a text of the story, or of a literal, as a name. */
uint64_t trace_text(struct trace *trace, enum kind_of_name kind, uint64_t id);
uint64_t trace_literal(struct trace *trace, enum kind_of_name kind, const char *text);

/* Begins an event on a track; what belongs to it follows, and trace_end(). */
void trace_begin(struct trace *trace, enum event_type type, uint64_t time, uint64_t on);
void trace_end(struct trace *trace);

void trace_name(struct trace *trace, uint64_t name, const char *category);
/* A value of the story under the name of its column, unless it says nothing; and all of a row. */
void trace_annotate(struct trace *trace, enum story_column column, size_t row);
void trace_annotate_all(struct trace *trace, enum story_table table, size_t row);
void trace_annotate_text(struct trace *trace, uint64_t name, const char *text);
void trace_annotate_uint(struct trace *trace, uint64_t name, uint64_t value);
void trace_annotate_int(struct trace *trace, uint64_t name, int64_t value);
void trace_annotate_pointer(struct trace *trace, uint64_t name, uint64_t value);

/* The two ends of a flow; row is that of what the flow is about. */
void trace_flow_from(struct trace *trace, enum flow_kind kind, uint64_t row);
void trace_flow_to(struct trace *trace, enum flow_kind kind, uint64_t row);

/* Whole events. */
void trace_end_slice(struct trace *trace, uint64_t time, uint64_t on);
void trace_count(struct trace *trace, uint64_t time, uint64_t on, uint64_t value);

/* "allocation 3 (weights)" of an object's row plus one. */
#define TRACE_OBJECT_NAME 160
void trace_object_name(const struct story *story, uint64_t object, char out[TRACE_OBJECT_NAME]);

#endif
