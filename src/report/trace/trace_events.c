#include "report/trace/trace_events.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The numbers of the fields, as trace.proto has them. */
enum { TRACE_PACKET = 1 };
enum {
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_TRACK = 60
};
enum {
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    TRACK_ORDERING = 11,
    TRACK_RANK = 12
};
enum { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum { COUNTER_UNIT = 3 };
enum {
    EVENT_CATEGORIES = 3,
    EVENT_ANNOTATIONS = 4,
    EVENT_TYPE = 9,
    EVENT_NAME = 10,
    EVENT_TRACK = 11,
    EVENT_COUNTER_VALUE = 30,
    EVENT_FLOWS = 47,
    EVENT_LAST_FLOWS = 48
};
enum {
    ANNOTATION_NAME = 1,
    ANNOTATION_UINT = 3,
    ANNOTATION_INT = 4,
    ANNOTATION_TEXT = 6,
    ANNOTATION_POINTER = 7
};
enum { INTERNED_CATEGORIES = 1, INTERNED_NAMES = 2, INTERNED_ANNOTATIONS = 3 };
enum { INTERNED_ID = 1, INTERNED_TEXT = 2 };

enum { FLAG_CLEARED = 1, FLAG_NEEDS = 2, ORDERING_EXPLICIT = 3 };

#define SEQUENCE 1 /* all packets are of one writer */

/* ---- Packets --------------------------------------------------------------------------------- */

void trace_init(struct trace *trace, FILE *out, const struct story *story,
                struct perfetto_counts *counts)
{
    *trace = (struct trace){.out = out, .story = story, .counts = counts};
    for (unsigned i = 0; i < NAME_KIND_COUNT; i++) {
        trace->names[i] = calloc(story_text_count(story) + 1, sizeof *trace->names[i]);
        trace->failed = trace->failed || !trace->names[i];
    }
}

void trace_fini(struct trace *trace)
{
    for (unsigned i = 0; i < NAME_KIND_COUNT; i++)
        free(trace->names[i]);
    proto_fini(&trace->packet);
    proto_fini(&trace->event);
    proto_fini(&trace->interned);
    proto_fini(&trace->part);
    proto_fini(&trace->inner);
}

static void begin_packet(struct trace *trace)
{
    proto_clear(&trace->packet);
    proto_clear(&trace->event);
    proto_clear(&trace->interned);
}

static void end_packet(struct trace *trace)
{
    struct proto *packet = &trace->packet;
    unsigned flags = trace->has_begun ? FLAG_NEEDS : FLAG_CLEARED | FLAG_NEEDS;

    proto_put_uint(packet, PACKET_SEQUENCE, SEQUENCE);
    proto_put_uint(packet, PACKET_FLAGS, flags);
    if (trace->interned.size)
        proto_put_message(packet, PACKET_INTERNED, &trace->interned);
    trace->has_begun = true;
    proto_clear(&trace->part);
    proto_put_message(&trace->part, TRACE_PACKET, packet);
    if (trace->part.failed || trace->event.failed || trace->interned.failed ||
        trace->inner.failed ||
        fwrite(trace->part.data, 1, trace->part.size, trace->out) != trace->part.size)
        trace->failed = true;
}

/* Tells a name in the packet that is being made, and gives its number. */
static uint64_t tell_name(struct trace *trace, enum kind_of_name kind, const char *text)
{
    static const unsigned fields[NAME_KIND_COUNT] = {
        [NAME_CATEGORY] = INTERNED_CATEGORIES,
        [NAME_EVENT] = INTERNED_NAMES,
        [NAME_ANNOTATION] = INTERNED_ANNOTATIONS,
    };
    uint64_t number = ++trace->name_counts[kind];

    proto_clear(&trace->inner);
    proto_put_uint(&trace->inner, INTERNED_ID, number);
    proto_put_text(&trace->inner, INTERNED_TEXT, text);
    proto_put_message(&trace->interned, fields[kind], &trace->inner);
    return number;
}

uint64_t trace_text(struct trace *trace, enum kind_of_name kind, uint64_t id)
{
    if (id >= story_text_count(trace->story))
        id = 0;
    if (!trace->names[kind][id])
        trace->names[kind][id] = tell_name(trace, kind, story_text_of(trace->story, id));
    return trace->names[kind][id];
}

uint64_t trace_literal(struct trace *trace, enum kind_of_name kind, const char *text)
{
    size_t count = sizeof trace->literals[0] / sizeof trace->literals[0][0];

    for (size_t i = 0; i < count; i++) {
        struct literal *literal = &trace->literals[kind][i];

        if (!literal->text)
            *literal = (struct literal){text, tell_name(trace, kind, text)};
        if (literal->text == text || strcmp(literal->text, text) == 0)
            return literal->number;
    }
    return tell_name(trace, kind, text);
}

/* ---- Tracks ---------------------------------------------------------------------------------- */

uint64_t trace_track(struct trace *trace, uint64_t parent, const char *name, int rank)
{
    uint64_t uuid = ++trace->next_track;

    begin_packet(trace);
    proto_put_uint(&trace->event, TRACK_UUID, uuid);
    if (parent)
        proto_put_uint(&trace->event, TRACK_PARENT, parent);
    proto_put_text(&trace->event, TRACK_NAME, name);
    proto_put_uint(&trace->event, TRACK_RANK, (uint64_t)rank);
    proto_put_message(&trace->packet, PACKET_TRACK, &trace->event);
    end_packet(trace);
    trace->counts->tracks++;
    return uuid;
}

uint64_t trace_counter(struct trace *trace, uint64_t parent, const char *name,
                       enum counter_unit unit)
{
    uint64_t uuid = ++trace->next_track;

    begin_packet(trace);
    proto_put_uint(&trace->event, TRACK_UUID, uuid);
    proto_put_uint(&trace->event, TRACK_PARENT, parent);
    proto_put_text(&trace->event, TRACK_NAME, name);
    proto_clear(&trace->inner);
    proto_put_uint(&trace->inner, COUNTER_UNIT, unit);
    proto_put_message(&trace->event, TRACK_COUNTER, &trace->inner);
    proto_put_message(&trace->packet, PACKET_TRACK, &trace->event);
    end_packet(trace);
    trace->counts->tracks++;
    return uuid;
}

uint64_t trace_process(struct trace *trace, uint64_t pid, const char *name)
{
    uint64_t uuid = ++trace->next_track;

    begin_packet(trace);
    proto_put_uint(&trace->event, TRACK_UUID, uuid);
    proto_clear(&trace->inner);
    proto_put_uint(&trace->inner, PROCESS_PID, pid & INT32_MAX);
    proto_put_text(&trace->inner, PROCESS_NAME, name);
    proto_put_message(&trace->event, TRACK_PROCESS, &trace->inner);
    proto_put_uint(&trace->event, TRACK_ORDERING, ORDERING_EXPLICIT);
    proto_put_message(&trace->packet, PACKET_TRACK, &trace->event);
    end_packet(trace);
    trace->counts->tracks++;
    return uuid;
}

/* ---- Events ---------------------------------------------------------------------------------- */

void trace_begin(struct trace *trace, enum event_type type, uint64_t time, uint64_t on)
{
    begin_packet(trace);
    proto_put_uint(&trace->packet, PACKET_TIMESTAMP, time);
    proto_put_uint(&trace->event, EVENT_TYPE, type);
    proto_put_uint(&trace->event, EVENT_TRACK, on);
    trace->counts->slices += type == SLICE_BEGIN;
    trace->counts->instants += type == INSTANT;
    trace->counts->counters += type == COUNTER;
}

void trace_end(struct trace *trace)
{
    proto_put_message(&trace->packet, PACKET_EVENT, &trace->event);
    end_packet(trace);
}

void trace_name(struct trace *trace, uint64_t name, const char *category)
{
    proto_put_uint(&trace->event, EVENT_NAME, name);
    proto_put_uint(&trace->event, EVENT_CATEGORIES, trace_literal(trace, NAME_CATEGORY, category));
}

static void annotate_number(struct trace *trace, uint64_t name, unsigned field, uint64_t value)
{
    proto_clear(&trace->inner);
    proto_put_uint(&trace->inner, ANNOTATION_NAME, name);
    proto_put_uint(&trace->inner, field, value);
    proto_put_message(&trace->event, EVENT_ANNOTATIONS, &trace->inner);
}

void trace_annotate_uint(struct trace *trace, uint64_t name, uint64_t value)
{
    annotate_number(trace, name, ANNOTATION_UINT, value);
}

void trace_annotate_int(struct trace *trace, uint64_t name, int64_t value)
{
    annotate_number(trace, name, ANNOTATION_INT, (uint64_t)value);
}

void trace_annotate_pointer(struct trace *trace, uint64_t name, uint64_t value)
{
    annotate_number(trace, name, ANNOTATION_POINTER, value);
}

void trace_annotate_text(struct trace *trace, uint64_t name, const char *text)
{
    proto_clear(&trace->inner);
    proto_put_uint(&trace->inner, ANNOTATION_NAME, name);
    proto_put_text(&trace->inner, ANNOTATION_TEXT, text);
    proto_put_message(&trace->event, EVENT_ANNOTATIONS, &trace->inner);
}

void trace_object_name(const struct story *story, uint64_t object, char out[TRACE_OBJECT_NAME])
{
    size_t row = (size_t)object - 1;
    const char *name = story_text_of(story, story_get(story, STORY_OBJECTS_NAME, row));

    snprintf(out, TRACE_OBJECT_NAME, "%.40s %" PRIu64 "%s%.80s%s",
             story_text_of(story, story_get(story, STORY_OBJECTS_KIND, row)),
             story_get(story, STORY_OBJECTS_NUMBER, row), name[0] ? " (" : "", name,
             name[0] ? ")" : "");
}

void trace_annotate(struct trace *trace, enum story_column column, size_t row)
{
    const struct story_column_shape *shape = &story_columns[column];
    uint64_t value = story_get(trace->story, column, row), name;
    char text[160];

    if (shape->type == STORY_TYPE_TIME ? value == STORY_NEVER : !value)
        return;
    name = trace_literal(trace, NAME_ANNOTATION, shape->name);
    switch (shape->type) {
    case STORY_TYPE_TEXT:
        trace_annotate_text(trace, name, story_text_of(trace->story, value));
        break;
    case STORY_TYPE_ROW:
        if (shape->target == STORY_OBJECTS) {
            trace_object_name(trace->story, value, text);
            trace_annotate_text(trace, name, text);
        }
        break;
    default:
        annotate_number(trace, name, ANNOTATION_UINT, value);
        break;
    }
}

void trace_annotate_all(struct trace *trace, enum story_table table, size_t row)
{
    for (unsigned i = story_tables[table].first; i < story_tables[table + 1].first; i++)
        trace_annotate(trace, (enum story_column)i, row);
}

/* Numbers of flows: the kind, and the row that the flow is about. */
static uint64_t flow_id(enum flow_kind kind, uint64_t row)
{
    return (row + 1) * FLOW_KIND_COUNT + kind;
}

void trace_flow_from(struct trace *trace, enum flow_kind kind, uint64_t row)
{
    proto_put_fixed64(&trace->event, EVENT_FLOWS, flow_id(kind, row));
    trace->counts->flows++;
}

void trace_flow_to(struct trace *trace, enum flow_kind kind, uint64_t row)
{
    proto_put_fixed64(&trace->event, EVENT_LAST_FLOWS, flow_id(kind, row));
}

void trace_end_slice(struct trace *trace, uint64_t time, uint64_t on)
{
    trace_begin(trace, SLICE_END, time, on);
    trace_end(trace);
}

void trace_count(struct trace *trace, uint64_t time, uint64_t on, uint64_t value)
{
    trace_begin(trace, COUNTER, time, on);
    proto_put_uint(&trace->event, EVENT_COUNTER_VALUE, value);
    trace_end(trace);
}
