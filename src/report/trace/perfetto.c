/*
 * The trace is written part by part, each track front to back: a reader sorts the events by time,
 * and keeps the order of those of one time.
 */
#include "report/trace/perfetto.h"
#include "report/trace/trace_events.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Processes of the trace that are none of the run, and the first of those that are. */
enum { PID_GPU = 1, PID_MANAGER = 2, PID_FIRST = 10 };

/* The order of the tracks of a process. */
enum {
    RANK_FIRST = 1,
    RANK_STEPS = 1,
    RANK_NODES = 10,
    RANK_WORK = 20,
    RANK_CALLS = 30,
    RANK_MARKS = 40
};

/* Rows of a table by the row that a column of theirs names. */
struct groups {
    size_t
        *starts; /* those of row + 1 = n are rows[starts[n]] .. rows[starts[n + 1] - 1]; 0: none */
    size_t *rows;
};

struct writer {
    struct trace trace;
    const struct story *story;
    const struct perfetto_options *options;

    struct groups operations_of_packet, submissions_of_packet, packets_of_node, packets_of_context,
        requests_of_process, submissions_of_context, flows_of_mark, flows_of_request, arguments_of,
        marks_of_packet, marks_of_object, waits_of_mark, waits_of_process, waits_of_packet,
        client_calls_of;
    uint64_t *interrupt_of_packet; /* mark plus one */

    uint64_t gpu, manager, *processes; /* tracks; by object's row plus one */
};

#define GET(TABLE, COLUMN, row) story_get(writer->story, STORY_##TABLE##_##COLUMN, row)
#define ROWS(TABLE)             story_rows(writer->story, STORY_##TABLE)

/* ---- Groups ---------------------------------------------------------------------------------- */

static bool group(struct writer *writer, enum story_column column, struct groups *groups)
{
    size_t rows = story_rows(writer->story, story_columns[column].table);
    size_t targets = story_rows(writer->story, story_columns[column].target) + 1;

    groups->starts = calloc(targets + 2, sizeof *groups->starts);
    groups->rows = calloc(rows + 1, sizeof *groups->rows);
    if (!groups->starts || !groups->rows)
        return false;
    for (size_t i = 0; i < rows; i++) {
        uint64_t target = story_get(writer->story, column, i);

        groups->starts[(target < targets ? target : 0) + 2]++;
    }
    for (size_t i = 2; i < targets + 2; i++)
        groups->starts[i] += groups->starts[i - 1];
    for (size_t i = 0; i < rows; i++) {
        uint64_t target = story_get(writer->story, column, i);

        groups->rows[groups->starts[(target < targets ? target : 0) + 1]++] = i;
    }
    return true;
}

static void groups_fini(struct groups *groups)
{
    free(groups->starts);
    free(groups->rows);
}

#define FOR_GROUP(groups, target, row)                                                             \
    for (size_t at_ = (groups)->starts[target], row = (groups)->rows[at_];                         \
         at_ < (groups)->starts[(target) + 1]; row = (groups)->rows[++at_])

/* ---- Lanes ----------------------------------------------------------------------------------- */

/* A row that is a slice. */
struct span {
    uint64_t begins, ends;
    size_t row;
};

static int by_begin(const void *a, const void *b)
{
    const struct span *x = a, *y = b;

    if (x->begins != y->begins)
        return x->begins < y->begins ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Tracks of one name, on each of which slices do not overlap. */
#define LANE_MOST 64

struct lanes {
    uint64_t parent;
    const char *name;
    int rank;
    uint64_t tracks[LANE_MOST], free_from[LANE_MOST];
    unsigned count;
};

/* The track on which the span has room. A slice that no track has room for begins later. */
static uint64_t lane_of(struct trace *trace, struct lanes *lanes, struct span *span)
{
    unsigned best = 0;

    for (unsigned i = 0; i < lanes->count; i++) {
        if (lanes->free_from[i] < lanes->free_from[best])
            best = i;
        if (lanes->free_from[i] <= span->begins) {
            lanes->free_from[i] = span->ends;
            return lanes->tracks[i];
        }
    }
    if (lanes->count < LANE_MOST) {
        lanes->tracks[lanes->count] = trace_track(trace, lanes->parent, lanes->name, lanes->rank);
        lanes->free_from[lanes->count] = span->ends;
        return lanes->tracks[lanes->count++];
    }
    span->begins = lanes->free_from[best];
    span->ends = span->ends > span->begins ? span->ends : span->begins;
    lanes->free_from[best] = span->ends;
    return lanes->tracks[best];
}

/* How the rows of a table are slices. */
struct slices {
    enum story_column begins, ends;
    void (*put)(struct writer *writer, size_t row); /* name, annotations and flows */
    void (*put_inside)(struct writer *writer, size_t row, const struct span *span, uint64_t on);
};

static bool is_span(const struct writer *writer, const struct slices *slices, size_t row)
{
    uint64_t begins = story_get(writer->story, slices->begins, row);
    uint64_t ends = story_get(writer->story, slices->ends, row);

    return begins != STORY_NEVER && ends != STORY_NEVER && begins <= ends;
}

static void put_slices(struct writer *writer, const struct slices *slices, struct lanes *lanes,
                       const size_t *rows, size_t row_count)
{
    struct trace *trace = &writer->trace;
    struct span *spans = calloc(row_count + 1, sizeof *spans);
    size_t count = 0;

    if (!spans) {
        trace->failed = true;
        return;
    }
    for (size_t i = 0; i < row_count; i++) {
        size_t row = rows ? rows[i] : i;

        if (is_span(writer, slices, row))
            spans[count++] = (struct span){story_get(writer->story, slices->begins, row),
                                           story_get(writer->story, slices->ends, row), row};
    }
    qsort(spans, count, sizeof *spans, by_begin);
    for (size_t i = 0; i < count && !trace->failed; i++) {
        uint64_t on = lane_of(trace, lanes, &spans[i]);

        trace_begin(trace, SLICE_BEGIN, spans[i].begins, on);
        slices->put(writer, spans[i].row);
        trace_end(trace);
        if (slices->put_inside)
            slices->put_inside(writer, spans[i].row, &spans[i], on);
        trace_end_slice(trace, spans[i].ends, on);
    }
    free(spans);
}

/* ---- Packets --------------------------------------------------------------------------------- */

static void put_packet(struct writer *writer, size_t row);
static void put_queued(struct writer *writer, size_t row);
static void put_operation(struct writer *writer, size_t row);
static void put_request(struct writer *writer, size_t row);
static void put_client_call(struct writer *writer, size_t row);
static void put_request_told(struct writer *writer, size_t row, const struct span *span,
                             uint64_t on);
static void put_queue_told(struct writer *writer, size_t row, const struct span *span, uint64_t on);
static void put_wait(struct writer *writer, size_t row);
static void put_wait_told(struct writer *writer, size_t row, const struct span *span, uint64_t on);

static const struct slices packet_slices = {STORY_PACKETS_BEGINS, STORY_PACKETS_ENDS, put_packet,
                                            NULL};
static const struct slices queue_slices = {STORY_PACKETS_QUEUED, STORY_PACKETS_BEGINS, put_queued,
                                           put_queue_told};
static const struct slices operation_slices = {STORY_OPERATIONS_ASKED, STORY_OPERATIONS_RETIRED,
                                               put_operation, NULL};
static const struct slices wait_slices = {STORY_FENCE_WAITS_BEGINS, STORY_FENCE_WAITS_ENDS,
                                          put_wait, put_wait_told};
static const struct slices request_slices = {STORY_REQUESTS_ASKED, STORY_REQUESTS_ENDS, put_request,
                                             put_request_told};

static const struct slices client_call_slices = {STORY_CLIENT_CALLS_BEGINS, STORY_CLIENT_CALLS_ENDS,
                                                 put_client_call, NULL};

/* A flow has both of its ends, and leads forward in time. */
static bool operation_flows(const struct writer *writer, size_t row)
{
    uint64_t packet = GET(OPERATIONS, PACKET, row);

    return packet && is_span(writer, &operation_slices, row) &&
           is_span(writer, &packet_slices, (size_t)packet - 1) &&
           GET(OPERATIONS, ASKED, row) <= GET(PACKETS, BEGINS, (size_t)packet - 1);
}

static bool submission_flows(const struct writer *writer, size_t row)
{
    uint64_t packet = GET(SUBMISSIONS, PACKET, row), context = GET(SUBMISSIONS, CONTEXT, row);

    return packet && context && GET(SUBMISSIONS, TIME, row) != STORY_NEVER &&
           is_span(writer, &packet_slices, (size_t)packet - 1) &&
           GET(SUBMISSIONS, TIME, row) <= GET(PACKETS, BEGINS, (size_t)packet - 1);
}

static bool is_told(const struct writer *writer, size_t packet)
{
    uint64_t mark = writer->interrupt_of_packet[packet];

    return mark && is_span(writer, &packet_slices, packet) && GET(PACKETS, NODE, packet) &&
           GET(PACKETS, BEGINS, packet) <= GET(MARKS, TIME, (size_t)mark - 1);
}

static bool is_interrupt(const struct writer *writer, size_t mark)
{
    return GET(MARKS, TIME, mark) != STORY_NEVER &&
           strcmp(story_text_of(writer->story, GET(MARKS, KIND, mark)), "interrupt") == 0;
}

static bool is_fence_value(const struct writer *writer, size_t mark)
{
    return GET(MARKS, TIME, mark) != STORY_NEVER &&
           strcmp(story_text_of(writer->story, GET(MARKS, KIND, mark)), "fence") == 0;
}

/* A packet has written a value of a fence. */
static bool is_written(const struct writer *writer, size_t mark)
{
    uint64_t packet = GET(MARKS, PACKET, mark);

    return packet && is_fence_value(writer, mark) &&
           is_span(writer, &packet_slices, (size_t)packet - 1) &&
           GET(PACKETS, NODE, (size_t)packet - 1) &&
           GET(PACKETS, BEGINS, (size_t)packet - 1) <= GET(MARKS, TIME, mark);
}

/* The value let go who waited: a process, or a packet in its context's queue. */
static bool wait_flows(const struct writer *writer, size_t wait)
{
    uint64_t mark = GET(FENCE_WAITS, MARK, wait), packet = GET(FENCE_WAITS, PACKET, wait);
    uint64_t ends = GET(FENCE_WAITS, ENDS, wait);

    if (!mark || !is_fence_value(writer, (size_t)mark - 1) || ends == STORY_NEVER ||
        GET(MARKS, TIME, (size_t)mark - 1) > ends)
        return false;
    if (GET(FENCE_WAITS, PROCESS, wait))
        return is_span(writer, &wait_slices, wait);
    return packet && GET(PACKETS, CONTEXT, (size_t)packet - 1) &&
           is_span(writer, &queue_slices, (size_t)packet - 1) &&
           GET(PACKETS, QUEUED, (size_t)packet - 1) <= ends &&
           ends <= GET(PACKETS, BEGINS, (size_t)packet - 1);
}

static bool mark_ends(const struct writer *writer, size_t flow)
{
    uint64_t mark = GET(FLOWS, MARK, flow), request = GET(FLOWS, REQUEST, flow), time;

    if (!mark || !request || !is_span(writer, &request_slices, (size_t)request - 1) ||
        !is_interrupt(writer, (size_t)mark - 1))
        return false;
    time = GET(MARKS, TIME, (size_t)mark - 1);
    return GET(REQUESTS, ASKED, (size_t)request - 1) <= time &&
           time <= GET(REQUESTS, ENDS, (size_t)request - 1);
}

static void put_packet(struct writer *writer, size_t row)
{
    struct trace *trace = &writer->trace;

    trace_name(trace, trace_text(trace, NAME_EVENT, GET(PACKETS, KIND, row)), "packet");
    trace_annotate_all(trace, STORY_PACKETS, row);
    FOR_GROUP(&writer->operations_of_packet, row + 1, operation)
    {
        if (operation_flows(writer, operation))
            trace_flow_to(trace, FLOW_OPERATION, operation);
    }
    FOR_GROUP(&writer->submissions_of_packet, row + 1, submission)
    {
        if (submission_flows(writer, submission))
            trace_flow_to(trace, FLOW_SUBMISSION, submission);
    }
    if (is_told(writer, row))
        trace_flow_from(trace, FLOW_TOLD, row);
    FOR_GROUP(&writer->marks_of_packet, row + 1, mark)
    {
        if (is_written(writer, mark))
            trace_flow_from(trace, FLOW_WROTE, mark);
    }
}

static void put_queued(struct writer *writer, size_t row)
{
    struct trace *trace = &writer->trace;

    trace_name(trace, trace_literal(trace, NAME_EVENT, "in the queue"), "queue");
    trace_annotate(trace, STORY_PACKETS_NUMBER, row);
    trace_annotate(trace, STORY_PACKETS_KIND, row);
    trace_annotate(trace, STORY_PACKETS_NODE, row);
    trace_annotate(trace, STORY_PACKETS_FENCE, row);
}

/* In the slice of who waited for a fence: where it went on. */
static void put_fence_told(struct writer *writer, size_t wait, uint64_t on)
{
    struct trace *trace = &writer->trace;

    if (!wait_flows(writer, wait))
        return;
    trace_begin(trace, INSTANT, GET(FENCE_WAITS, ENDS, wait), on);
    trace_name(trace, trace_literal(trace, NAME_EVENT, "the fence has the value"), "fence");
    trace_annotate_all(trace, STORY_FENCE_WAITS, wait);
    trace_flow_to(trace, FLOW_REACHED, wait);
    trace_end(trace);
}

static void put_queue_told(struct writer *writer, size_t row, const struct span *span, uint64_t on)
{
    FOR_GROUP(&writer->waits_of_packet, row + 1, wait)
    {
        if (!GET(FENCE_WAITS, PROCESS, wait))
            put_fence_told(writer, wait, on);
    }
}

static void put_wait(struct writer *writer, size_t row)
{
    struct trace *trace = &writer->trace;

    trace_name(trace, trace_literal(trace, NAME_EVENT, "wait for a fence"), "fence");
    trace_annotate_all(trace, STORY_FENCE_WAITS, row);
}

static void put_wait_told(struct writer *writer, size_t row, const struct span *span, uint64_t on)
{
    put_fence_told(writer, row, on);
}

static void put_operation(struct writer *writer, size_t row)
{
    struct trace *trace = &writer->trace;

    trace_name(trace, trace_text(trace, NAME_EVENT, GET(OPERATIONS, NAME, row)), "paging");
    trace_annotate_all(trace, STORY_OPERATIONS, row);
    if (operation_flows(writer, row))
        trace_flow_from(trace, FLOW_OPERATION, row);
}

static void put_request(struct writer *writer, size_t row)
{
    struct trace *trace = &writer->trace;

    trace_name(trace, trace_literal(trace, NAME_EVENT, "request"), "request");
    trace_annotate_all(trace, STORY_REQUESTS, row);
}

static void put_client_call(struct writer *writer, size_t row)
{
    struct trace *trace = &writer->trace;

    trace_name(trace, trace_text(trace, NAME_EVENT, GET(CLIENT_CALLS, NAME, row)), "client");
    trace_annotate_all(trace, STORY_CLIENT_CALLS, row);
}

/* Where a request learned that what it had waited for is done. */
static void put_request_told(struct writer *writer, size_t row, const struct span *span,
                             uint64_t on)
{
    struct trace *trace = &writer->trace;

    FOR_GROUP(&writer->flows_of_request, row + 1, flow)
    {
        if (!mark_ends(writer, flow))
            continue;
        trace_begin(trace, INSTANT, GET(MARKS, TIME, (size_t)GET(FLOWS, MARK, flow) - 1), on);
        trace_name(trace, trace_literal(trace, NAME_EVENT, "what it waited for is done"),
                   "request");
        trace_flow_to(trace, FLOW_ENDED, flow);
        trace_end(trace);
    }
}

/* ---- Tracks of the GPU and of processes ------------------------------------------------------ */

/* Rows of a group as slices of lanes of this name. */
static void put_group(struct writer *writer, const struct groups *groups, uint64_t target,
                      const struct slices *slices, uint64_t parent, const char *name, int rank)
{
    struct lanes lanes = {.parent = parent, .name = name, .rank = rank};

    put_slices(writer, slices, &lanes, groups->rows + groups->starts[target],
               groups->starts[target + 1] - groups->starts[target]);
}

static bool is_kind(const struct writer *writer, size_t object, const char *kind)
{
    return strcmp(story_text_of(writer->story, GET(OBJECTS, KIND, object)), kind) == 0;
}

static void put_nodes(struct writer *writer)
{
    char name[TRACE_OBJECT_NAME];

    for (size_t i = 0; i < ROWS(OBJECTS); i++) {
        if (writer->packets_of_node.starts[i + 1] == writer->packets_of_node.starts[i + 2])
            continue;
        trace_object_name(writer->story, i + 1, name);
        put_group(writer, &writer->packets_of_node, i + 1, &packet_slices, writer->gpu, name,
                  RANK_NODES);
    }
}

static uint64_t process_of(struct writer *writer, uint64_t object)
{
    uint64_t process = object ? GET(OBJECTS, PROCESS, (size_t)object - 1) : 0;

    return process <= ROWS(OBJECTS) && writer->processes[process] ? writer->processes[process]
                                                                  : writer->manager;
}

static void put_submissions(struct writer *writer, uint64_t context, uint64_t parent,
                            const char *name)
{
    struct trace *trace = &writer->trace;
    uint64_t on = 0;

    FOR_GROUP(&writer->submissions_of_context, context, row)
    {
        if (GET(SUBMISSIONS, TIME, row) == STORY_NEVER)
            continue;
        if (!on)
            on = trace_track(trace, parent, name, RANK_WORK);
        trace_begin(trace, INSTANT, GET(SUBMISSIONS, TIME, row), on);
        trace_name(trace, trace_literal(trace, NAME_EVENT, "submission"), "submission");
        trace_annotate_all(trace, STORY_SUBMISSIONS, row);
        if (submission_flows(writer, row))
            trace_flow_from(trace, FLOW_SUBMISSION, row);
        trace_end(trace);
    }
}

static void put_contexts(struct writer *writer)
{
    char name[TRACE_OBJECT_NAME], label[TRACE_OBJECT_NAME + 32];

    for (size_t i = 0; i < ROWS(OBJECTS); i++) {
        uint64_t process = process_of(writer, i + 1);

        trace_object_name(writer->story, i + 1, name);
        snprintf(label, sizeof label, "%s: submissions", name);
        put_submissions(writer, i + 1, process, label);
        snprintf(label, sizeof label, "%s: queue", name);
        put_group(writer, &writer->packets_of_context, i + 1, &queue_slices, process, label,
                  RANK_WORK + 1);
    }
}

static void put_client_calls(struct writer *writer)
{
    for (size_t i = 0; i <= ROWS(OBJECTS); i++) {
        if (writer->client_calls_of.starts[i] != writer->client_calls_of.starts[i + 1])
            put_group(writer, &writer->client_calls_of, i, &client_call_slices,
                      process_of(writer, i), "calls of the client", RANK_FIRST);
    }
}

static void put_requests(struct writer *writer)
{
    for (size_t i = 0; i <= ROWS(OBJECTS); i++) {
        if (writer->requests_of_process.starts[i] != writer->requests_of_process.starts[i + 1])
            put_group(writer, &writer->requests_of_process, i, &request_slices,
                      process_of(writer, i), "requests", RANK_FIRST);
    }
    for (size_t i = 1; i <= ROWS(OBJECTS); i++) {
        if (writer->waits_of_process.starts[i] != writer->waits_of_process.starts[i + 1])
            put_group(writer, &writer->waits_of_process, i, &wait_slices, process_of(writer, i),
                      "waits for fences", RANK_FIRST + 1);
    }
}

/* ---- Marks ----------------------------------------------------------------------------------- */

static void put_mark(struct writer *writer, size_t row, uint64_t on)
{
    struct trace *trace = &writer->trace;
    uint64_t packet = GET(MARKS, PACKET, row), text = GET(MARKS, TEXT, row);

    trace_begin(trace, INSTANT, GET(MARKS, TIME, row), on);
    trace_name(trace, trace_text(trace, NAME_EVENT, text ? text : GET(MARKS, KIND, row)), "mark");
    trace_annotate_all(trace, STORY_MARKS, row);
    if (packet && packet <= ROWS(PACKETS) && writer->interrupt_of_packet[packet - 1] == row + 1 &&
        is_told(writer, (size_t)packet - 1))
        trace_flow_to(trace, FLOW_TOLD, packet - 1);
    FOR_GROUP(&writer->flows_of_mark, row + 1, flow)
    {
        if (mark_ends(writer, flow))
            trace_flow_from(trace, FLOW_ENDED, flow);
    }
    if (is_written(writer, row))
        trace_flow_to(trace, FLOW_WROTE, row);
    FOR_GROUP(&writer->waits_of_mark, row + 1, wait)
    {
        if (wait_flows(writer, wait))
            trace_flow_from(trace, FLOW_REACHED, wait);
    }
    trace_end(trace);
}

static bool is_kind_of_mark(const struct writer *writer, size_t row, const char *kind)
{
    return strcmp(story_text_of(writer->story, GET(MARKS, KIND, row)), kind) == 0;
}

/* All marks of a kind on one track. A mark without a text is named after its kind. */
static void put_marks(struct writer *writer, const char *kind, uint64_t parent, const char *title,
                      int rank)
{
    struct trace *trace = &writer->trace;
    uint64_t on = 0;

    for (size_t i = 0; i < ROWS(MARKS); i++) {
        if (!is_kind_of_mark(writer, i, kind) || GET(MARKS, TIME, i) == STORY_NEVER)
            continue;
        if (!on)
            on = trace_track(trace, parent, title, rank);
        put_mark(writer, i, on);
    }
}

/* From each step to the next one; the last ends with the story. */
static void put_steps(struct writer *writer, uint64_t end)
{
    struct trace *trace = &writer->trace;
    uint64_t on = 0, last = STORY_NEVER;

    for (size_t i = 0; i < ROWS(MARKS); i++) {
        uint64_t time = GET(MARKS, TIME, i);

        if (!is_kind_of_mark(writer, i, "step") || time == STORY_NEVER ||
            (last != STORY_NEVER && time < last))
            continue;
        if (!on)
            on = trace_track(trace, writer->manager, "steps", RANK_STEPS);
        if (last != STORY_NEVER)
            trace_end_slice(trace, time, on);
        trace_begin(trace, SLICE_BEGIN, time, on);
        trace_name(trace,
                   GET(MARKS, TEXT, i) ? trace_text(trace, NAME_EVENT, GET(MARKS, TEXT, i))
                                       : trace_literal(trace, NAME_EVENT, "before the first step"),
                   "step");
        trace_annotate(trace, STORY_MARKS_VALUE, i);
        trace_end(trace);
        last = time;
    }
    if (last != STORY_NEVER)
        trace_end_slice(trace, end > last ? end : last, on);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void annotate_argument(struct writer *writer, size_t row)
{
    struct trace *trace = &writer->trace;
    const char *type = story_text_of(writer->story, GET(ARGUMENTS, TYPE, row));
    uint64_t value = GET(ARGUMENTS, VALUE, row);
    uint64_t name = trace_text(trace, NAME_ANNOTATION, GET(ARGUMENTS, FIELD, row));
    char words[TRACE_OBJECT_NAME];

    if (strcmp(type, "text") == 0) {
        trace_annotate_text(trace, name, story_text_of(writer->story, value));
    } else if (strcmp(type, "object") == 0) {
        trace_object_name(writer->story, value, words);
        trace_annotate_text(trace, name, value ? words : "none");
    } else if (strcmp(type, "hex") == 0) {
        trace_annotate_pointer(trace, name, value);
    } else if (strcmp(type, "signed") == 0) {
        trace_annotate_int(trace, name, (int64_t)value);
    } else {
        trace_annotate_uint(trace, name, value);
    }
}

static void put_call(struct writer *writer, size_t row, uint64_t on)
{
    struct trace *trace = &writer->trace;
    uint64_t operation = GET(CALLS, OPERATION, row);
    char name[TRACE_OBJECT_NAME];

    trace_begin(trace, SLICE_BEGIN, GET(CALLS, BEGINS, row), on);
    trace_name(trace, trace_text(trace, NAME_EVENT, GET(CALLS, NAME, row)), "call");
    if (operation)
        trace_annotate(trace, STORY_CALLS_OPERATION, row);
    trace_annotate(trace, STORY_CALLS_SEQUENCE, row);
    trace_annotate(trace, STORY_CALLS_STATUS, row);
    if (GET(CALLS, OBJECT, row)) {
        trace_object_name(writer->story, GET(CALLS, OBJECT, row), name);
        trace_annotate_text(trace, trace_literal(trace, NAME_ANNOTATION, "object"), name);
    }
    FOR_GROUP(&writer->arguments_of, row + 1, argument)
    annotate_argument(writer, argument);
    trace_end(trace);
}

/*
 * Calls nest by their depth: before a call begins, those that are open at its depth or deeper end,
 * at the latest where it begins.
 * Calls of one time stay in the order of the story, which is that of the run.
 */
#define CALL_DEPTH 64

static void put_calls(struct writer *writer)
{
    struct trace *trace = &writer->trace;
    uint64_t ends[CALL_DEPTH], now = 0, on = 0;
    unsigned open = 0;

    for (size_t i = 0; i < ROWS(CALLS) && !trace->failed; i++) {
        uint64_t begins = GET(CALLS, BEGINS, i), end = GET(CALLS, ENDS, i);
        unsigned depth =
            GET(CALLS, DEPTH, i) < CALL_DEPTH ? (unsigned)GET(CALLS, DEPTH, i) : CALL_DEPTH - 1;

        if (begins == STORY_NEVER || end == STORY_NEVER || begins > end || begins < now)
            continue;
        if (!on)
            on = trace_track(trace, writer->manager, "calls of the driver", RANK_CALLS);
        while (open && (open > depth || ends[open - 1] < begins)) {
            open--;
            trace_end_slice(trace, ends[open] < begins ? ends[open] : begins, on);
        }
        if (open && end > ends[open - 1])
            end = ends[open - 1];
        put_call(writer, i, on);
        ends[open++] = end;
        now = begins;
    }
    while (open)
        trace_end_slice(trace, ends[--open], on);
}

/* ---- Findings and counters ------------------------------------------------------------------- */

static void put_findings(struct writer *writer)
{
    struct trace *trace = &writer->trace;
    uint64_t on = 0;

    for (size_t i = 0; i < ROWS(FINDINGS); i++) {
        uint64_t rule = GET(FINDINGS, RULE, i);

        if (GET(FINDINGS, TIME, i) == STORY_NEVER)
            continue;
        if (!on)
            on = trace_track(trace, writer->manager, "findings", RANK_FIRST);
        trace_begin(trace, INSTANT, GET(FINDINGS, TIME, i), on);
        trace_name(trace,
                   rule ? trace_text(trace, NAME_EVENT, rule)
                        : trace_literal(trace, NAME_EVENT, "finding"),
                   "finding");
        trace_annotate(trace, STORY_FINDINGS_JSON, i);
        trace_end(trace);
    }
}

static void put_series(struct writer *writer)
{
    struct trace *trace = &writer->trace;
    uint64_t *tracks = calloc(ROWS(SERIES) + 1, sizeof *tracks);
    char name[TRACE_OBJECT_NAME], title[2 * TRACE_OBJECT_NAME];

    if (!tracks) {
        trace->failed = true;
        return;
    }
    for (size_t i = 0; i < ROWS(SERIES); i++) {
        uint64_t object = GET(SERIES, OBJECT, i), group = GET(SERIES, GROUP, i);
        bool is_bytes = strcmp(story_text_of(writer->story, GET(SERIES, UNIT, i)), "bytes") == 0;

        name[0] = '\0';
        if (object)
            trace_object_name(writer->story, object, name);
        snprintf(title, sizeof title, "%s %.80s%s%.40s", name,
                 story_text_of(writer->story, GET(SERIES, NAME, i)), group ? ", " : "",
                 story_text_of(writer->story, group));
        tracks[i + 1] = trace_counter(trace, process_of(writer, object), title,
                                      is_bytes ? UNIT_BYTES : UNIT_COUNT);
    }
    for (size_t i = 0; i < ROWS(SAMPLES) && !trace->failed; i++) {
        uint64_t series = GET(SAMPLES, SERIES, i);

        if (series && series <= ROWS(SERIES) && GET(SAMPLES, TIME, i) != STORY_NEVER)
            trace_count(trace, GET(SAMPLES, TIME, i), tracks[series], GET(SAMPLES, VALUE, i));
    }
    free(tracks);
}

/* A value that rises and falls. */
struct change {
    uint64_t time;
    int64_t by;
};

static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return (x->by > y->by) - (x->by < y->by); /* falls first */
}

/*
 * A counter of what is open: each of the rows adds its amount when it begins, and takes it away
 * when it ends. amount: STORY_COLUMN_COUNT counts rows.
 */
static void put_open(struct writer *writer, const size_t *rows, size_t count,
                     enum story_column begins, enum story_column ends, enum story_column amount,
                     uint64_t parent, const char *title)
{
    struct trace *trace = &writer->trace;
    struct change *changes = calloc(2 * count + 1, sizeof *changes);
    uint64_t on, value = 0;
    size_t used = 0;

    if (!changes) {
        trace->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        size_t row = rows ? rows[i] : i;
        uint64_t from = story_get(writer->story, begins, row);
        uint64_t to = story_get(writer->story, ends, row);
        uint64_t by = amount == STORY_COLUMN_COUNT ? 1 : story_get(writer->story, amount, row);

        if (from == STORY_NEVER || to == STORY_NEVER || from > to || !by || by > INT64_MAX / 2)
            continue;
        changes[used++] = (struct change){from, (int64_t)by};
        changes[used++] = (struct change){to, -(int64_t)by};
    }
    qsort(changes, used, sizeof *changes, by_time);
    on = used ? trace_counter(trace, parent, title,
                              amount == STORY_COLUMN_COUNT ? UNIT_COUNT : UNIT_BYTES)
              : 0;
    for (size_t i = 0; i < used && !trace->failed; i++) {
        value += (uint64_t)changes[i].by;
        if (i + 1 == used || changes[i + 1].time != changes[i].time)
            trace_count(trace, changes[i].time, on, value);
    }
    free(changes);
}

/* The values of a fence. One that a lost device's fences have, the largest there is, is no curve.
 */
static void put_fence_curves(struct writer *writer)
{
    struct trace *trace = &writer->trace;
    char name[TRACE_OBJECT_NAME];

    for (size_t i = 0; i < ROWS(OBJECTS); i++) {
        uint64_t on = 0;

        FOR_GROUP(&writer->marks_of_object, i + 1, mark)
        {
            if (!is_fence_value(writer, mark) || GET(MARKS, VALUE, mark) > INT64_MAX)
                continue;
            if (!on) {
                trace_object_name(writer->story, i + 1, name);
                on = trace_counter(trace, writer->gpu, name, UNIT_COUNT);
            }
            trace_count(trace, GET(MARKS, TIME, mark), on, GET(MARKS, VALUE, mark));
        }
    }
}

static void put_counters(struct writer *writer)
{
    char name[TRACE_OBJECT_NAME], title[TRACE_OBJECT_NAME + 32];

    put_series(writer);
    put_fence_curves(writer);
    for (size_t i = 0; i < ROWS(OBJECTS); i++) {
        size_t first = writer->packets_of_node.starts[i + 1];
        size_t count = writer->packets_of_node.starts[i + 2] - first;

        if (!count)
            continue;
        trace_object_name(writer->story, i + 1, name);
        snprintf(title, sizeof title, "%s: packets queued", name);
        put_open(writer, writer->packets_of_node.rows + first, count, STORY_PACKETS_QUEUED,
                 STORY_PACKETS_ENDS, STORY_COLUMN_COUNT, writer->gpu, title);
    }
    put_open(writer, NULL, ROWS(OPERATIONS), STORY_OPERATIONS_ASKED, STORY_OPERATIONS_RETIRED,
             STORY_COLUMN_COUNT, writer->manager, "paging operations in flight");
    put_open(writer, NULL, ROWS(OPERATIONS), STORY_OPERATIONS_ASKED, STORY_OPERATIONS_RETIRED,
             STORY_OPERATIONS_BYTES, writer->manager, "bytes of paging in flight");
}

/* ---- The whole ------------------------------------------------------------------------------- */

static void find_interrupts(struct writer *writer)
{
    for (size_t i = 0; i < ROWS(MARKS); i++) {
        uint64_t packet = GET(MARKS, PACKET, i);

        if (packet && packet <= ROWS(PACKETS) && is_interrupt(writer, i))
            writer->interrupt_of_packet[packet - 1] = i + 1;
    }
}

static bool prepare(struct writer *writer)
{
    static const struct {
        enum story_column column;
        size_t place;
    } wanted[] = {
#define WANTED(column, member) {column, offsetof(struct writer, member)}
        WANTED(STORY_OPERATIONS_PACKET, operations_of_packet),
        WANTED(STORY_SUBMISSIONS_PACKET, submissions_of_packet),
        WANTED(STORY_PACKETS_NODE, packets_of_node),
        WANTED(STORY_PACKETS_CONTEXT, packets_of_context),
        WANTED(STORY_CLIENT_CALLS_PROCESS, client_calls_of),
        WANTED(STORY_REQUESTS_PROCESS, requests_of_process),
        WANTED(STORY_SUBMISSIONS_CONTEXT, submissions_of_context),
        WANTED(STORY_FLOWS_MARK, flows_of_mark),
        WANTED(STORY_FLOWS_REQUEST, flows_of_request),
        WANTED(STORY_ARGUMENTS_CALL, arguments_of),
        WANTED(STORY_MARKS_PACKET, marks_of_packet),
        WANTED(STORY_MARKS_OBJECT, marks_of_object),
        WANTED(STORY_FENCE_WAITS_MARK, waits_of_mark),
        WANTED(STORY_FENCE_WAITS_PROCESS, waits_of_process),
        WANTED(STORY_FENCE_WAITS_PACKET, waits_of_packet),
#undef WANTED
    };

    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        if (!group(writer, wanted[i].column, (struct groups *)((char *)writer + wanted[i].place)))
            return false;
    }
    writer->interrupt_of_packet = calloc(ROWS(PACKETS) + 1, sizeof *writer->interrupt_of_packet);
    writer->processes = calloc(ROWS(OBJECTS) + 1, sizeof *writer->processes);
    if (!writer->interrupt_of_packet || !writer->processes)
        return false;
    find_interrupts(writer);
    return true;
}

static void put_processes(struct writer *writer)
{
    char name[TRACE_OBJECT_NAME];

    writer->gpu = trace_process(&writer->trace, PID_GPU, "GPU");
    writer->manager = trace_process(&writer->trace, PID_MANAGER, "Memory manager");
    for (size_t i = 0; i < ROWS(OBJECTS); i++) {
        if (!is_kind(writer, i, "process"))
            continue;
        trace_object_name(writer->story, i + 1, name);
        writer->processes[i + 1] = trace_process(&writer->trace, PID_FIRST + i, name);
    }
}

/* The last time of the story that a packet, an operation or a call has. */
static uint64_t last_time(const struct writer *writer)
{
    static const enum story_column columns[] = {STORY_PACKETS_ENDS, STORY_OPERATIONS_RETIRED,
                                                STORY_CALLS_ENDS, STORY_MARKS_TIME};
    uint64_t last = 0;

    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        size_t rows = story_rows(writer->story, story_columns[columns[i]].table);

        for (size_t row = 0; row < rows; row++) {
            uint64_t time = story_get(writer->story, columns[i], row);

            if (time != STORY_NEVER && time > last)
                last = time;
        }
    }
    return last;
}

static void put_all(struct writer *writer)
{
    struct lanes paging = {
        .parent = writer->manager, .name = "paging operations", .rank = RANK_WORK};

    put_steps(writer, last_time(writer));
    put_findings(writer);
    put_slices(writer, &operation_slices, &paging, NULL, ROWS(OPERATIONS));
    if (!writer->options->leaves_out_calls)
        put_calls(writer);
    put_marks(writer, "interrupt", writer->gpu, "interrupts", RANK_MARKS);
    put_marks(writer, "dpc", writer->gpu, "DPCs", RANK_MARKS);
    put_marks(writer, "fence", writer->gpu, "fences", RANK_MARKS);
    put_marks(writer, "print", writer->manager, "prints of the driver", RANK_MARKS);
    put_nodes(writer);
    put_contexts(writer);
    put_client_calls(writer);
    put_requests(writer);
    put_counters(writer);
}

bool perfetto_write(FILE *out, const struct story *story, const struct perfetto_options *options,
                    struct perfetto_counts *out_counts)
{
    struct writer writer = {.story = story, .options = options};
    bool is_written = false;

    *out_counts = (struct perfetto_counts){0};
    trace_init(&writer.trace, out, story, out_counts);
    if (!writer.trace.failed && prepare(&writer)) {
        put_processes(&writer);
        put_all(&writer);
        is_written = !writer.trace.failed;
    }
    groups_fini(&writer.operations_of_packet);
    groups_fini(&writer.submissions_of_packet);
    groups_fini(&writer.packets_of_node);
    groups_fini(&writer.packets_of_context);
    groups_fini(&writer.client_calls_of);
    groups_fini(&writer.requests_of_process);
    groups_fini(&writer.submissions_of_context);
    groups_fini(&writer.flows_of_mark);
    groups_fini(&writer.flows_of_request);
    groups_fini(&writer.arguments_of);
    groups_fini(&writer.marks_of_packet);
    groups_fini(&writer.marks_of_object);
    groups_fini(&writer.waits_of_mark);
    groups_fini(&writer.waits_of_process);
    groups_fini(&writer.waits_of_packet);
    free(writer.interrupt_of_packet);
    free(writer.processes);
    trace_fini(&writer.trace);
    return is_written;
}
