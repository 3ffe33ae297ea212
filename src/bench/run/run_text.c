#include "bench/run/run_text.h"

#include "bench/run/run_calls.h"
#include "record/record_line.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#define LINE_BYTES 1024

struct writer {
    struct run_text *text;
    struct record_reader *reader;
    struct run_calls calls;
    bool has_begun, has_ended; /* the events */
    uint64_t bytes;            /* of them */
    char model[32], seed[32];
    char call[LINE_BYTES]; /* level "paging": the call under way; "": none */
    uint64_t call_ns;
};

static const char *text_of(const struct writer *writer, uint64_t number)
{
    return record_reader_text(writer->reader, number);
}

/* ---- The events ------------------------------------------------------------------------------ */

/*
 * A line of the events, of two lines of the record at most, in which no control character moves
 * anything. Gives its bytes.
 */
__attribute__((format(printf, 2, 3))) static uint64_t put_line(const struct run_text *text,
                                                               const char *format, ...)
{
    char line[2 * LINE_BYTES + 64];
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    if (length < 0)
        return 0;
    if ((size_t)length > sizeof line - 2)
        length = sizeof line - 2;
    for (int i = 0; i < length; i++) {
        if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
            line[i] = '?';
    }
    line[length++] = '\n';
    if (text->put)
        text->put(text->events, line, (size_t)length);
    else
        fwrite(line, 1, (size_t)length, text->events);
    return (uint64_t)length;
}

static bool is_callback(const char *name)
{
    return strncmp(name, "DxgkDdi", 7) != 0;
}

static bool is_wanted(const struct run_text *text, const char *name)
{
    return text->level == RUN_EVENTS_ALL ||
           (text->level == RUN_EVENTS_PAGING && (strcmp(name, "DxgkDdiBuildPagingBuffer") == 0 ||
                                                 strcmp(name, "DxgkDdiSubmitCommand") == 0 ||
                                                 strcmp(name, "DxgkDdiSubmitCommandVirtual") == 0));
}

static void begin_events(struct writer *writer)
{
    writer->has_begun = true;
    put_line(writer->text, "# drydock events: %s, model %s, seed %s; ns, then the call",
             writer->text->level == RUN_EVENTS_ALL ? "every call"
                                                   : "paging operations and submissions",
             writer->model, writer->seed);
}

/* Whether another line has room; counted as dropped where it has not and is one of a call. */
static bool has_room(struct writer *writer, bool is_counted)
{
    struct run_text *text = writer->text;

    if ((!text->limit || text->written < text->limit) &&
        (!text->byte_limit || writer->bytes < text->byte_limit))
        return true;
    text->dropped += is_counted;
    return false;
}

/* At the level "paging" the line of a call is kept until it returns, and its results put behind. */
static void write_line(struct writer *writer, uint64_t time_ns, bool is_after, const char *line)
{
    struct run_text *text = writer->text;
    const char *result = NULL;

    if (text->level == RUN_EVENTS_PAGING && !is_after) {
        snprintf(writer->call, sizeof writer->call, "%s", line);
        writer->call_ns = time_ns;
        return;
    }
    if (text->level == RUN_EVENTS_PAGING && writer->call[0])
        result = strstr(line, "0x");
    if (result)
        writer->bytes += put_line(text, "%" PRIu64 " %s < %s", time_ns, writer->call, result);
    else
        writer->bytes += put_line(text, "%" PRIu64 " %s", time_ns, line);
    writer->call[0] = '\0';
    text->written++;
}

static void note_print(struct writer *writer, const struct record_reader_item *item)
{
    const char *at = text_of(writer, RECORD_FIELDS(print, item)->text);
    struct run_text *text = writer->text;

    if (!text->events || writer->has_ended || !has_room(writer, true))
        return;
    writer->bytes += put_line(text, "%" PRIu64 " the driver prints: %.*s", item->time_ns,
                              (int)strcspn(at, "\r\n"), at);
    text->written++;
}

static void end_events(struct writer *writer)
{
    struct run_text *text = writer->text;

    if (!text->events || writer->has_ended)
        return;
    writer->has_ended = true;
    if (writer->call[0]) { /* it has not returned: the driver crashed, or hung */
        put_line(text, "%" PRIu64 " %s", writer->call_ns, writer->call);
        text->written++;
    }
    if (text->dropped)
        put_line(text, "# %" PRIu64 " more calls are not in this file (it holds %" PRIu64 ")",
                 text->dropped, text->written);
    else
        put_line(text, "# complete: %" PRIu64 " calls", text->written);
}

/* ---- Items ----------------------------------------------------------------------------------- */

static void note_fact(struct writer *writer, const struct record_run *fact)
{
    const char *key = text_of(writer, fact->key), *value = text_of(writer, fact->value);

    if (strcmp(key, "model") == 0)
        snprintf(writer->model, sizeof writer->model, "%s", value);
    if (strcmp(key, "seed") == 0)
        snprintf(writer->seed, sizeof writer->seed, "%s", value);
}

static void note_call(struct writer *writer, const struct record_reader_item *item)
{
    const struct record_call *call = RECORD_FIELDS(call, item);
    const char *name = text_of(writer, call->name);
    const bool is_after = call->phase != 0;
    const bool is_event = writer->text->events && !writer->has_ended &&
                          is_wanted(writer->text, name) &&
                          has_room(writer, writer->text->level == RUN_EVENTS_ALL || is_after);
    const bool is_call =
        writer->text->calls && run_calls_wants(name, is_callback(name), is_after, call->status);
    char line[LINE_BYTES];

    if (!is_event && !is_call)
        return;
    record_line_format(writer->reader, item, line, sizeof line);
    if (is_call)
        run_calls_note(&writer->calls, line, is_after);
    if (is_event)
        write_line(writer, item->time_ns, is_after, line);
}

static void note_stage(struct writer *writer, const char *name)
{
    if (strcmp(name, "end") == 0)
        end_events(writer);
    run_calls_begin_part(&writer->calls, name);
}

static void note_item(struct writer *writer, const struct record_reader_item *item)
{
    const char *name;

    if (item->kind != RECORD_KIND_run && writer->text->events && !writer->has_begun)
        begin_events(writer);
    switch (item->kind) {
    case RECORD_KIND_run:
        note_fact(writer, RECORD_FIELDS(run, item));
        break;
    case RECORD_KIND_stage:
        note_stage(writer, text_of(writer, RECORD_FIELDS(stage, item)->name));
        break;
    case RECORD_KIND_step:
        name = text_of(writer, RECORD_FIELDS(step, item)->name);
        run_calls_begin_part(&writer->calls, *name ? name : "play");
        break;
    case RECORD_KIND_call:
        note_call(writer, item);
        break;
    case RECORD_KIND_print:
        note_print(writer, item);
        break;
    default:
        break;
    }
}

bool run_text_write(struct run_text *text, struct record_reader *reader, char error[256])
{
    struct writer writer = {.text = text, .reader = reader, .calls = {.file = text->calls}};
    struct record_reader_item item;

    text->written = text->dropped = 0;
    while (record_reader_next(reader, &item))
        note_item(&writer, &item);
    if (text->events && !writer.has_begun)
        begin_events(&writer);
    end_events(&writer);
    run_calls_end(&writer.calls);
    if (record_reader_state(reader) != RECORD_WHOLE) {
        snprintf(error, 256, "%s", record_reader_error(reader));
        return false;
    }
    if ((text->events && ferror(text->events)) || (text->calls && ferror(text->calls))) {
        snprintf(error, 256, "the list of calls could not be written");
        return false;
    }
    return true;
}
