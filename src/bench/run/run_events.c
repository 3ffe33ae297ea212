#include "bench/run/run_events.h"

#include "bench/child/crash_recorder.h"
#include "bench/child/journal.h"

#include <inttypes.h>
#include <string.h>

static bool is_wanted(const struct run_event_log *log, const struct trace_event *event)
{
    if (log->level == RUN_EVENTS_ALL)
        return true;
    if (log->level == RUN_EVENTS_NONE || event->is_callback)
        return false;
    switch (event->ddi) {
    case MINIPORT_DDI_BuildPagingBuffer:
    case MINIPORT_DDI_SubmitCommand:
    case MINIPORT_DDI_SubmitCommandVirtual:
        return true;
    default:
        return false;
    }
}

/* True when the bytes that the driver wrote say all there is to say, and have been hashed. */
static bool hash_paging(struct run_event_log *log, const struct trace_event *event)
{
    if (event->is_callback || event->ddi != MINIPORT_DDI_BuildPagingBuffer)
        return false;
    if (event->phase == TRACE_BEFORE)
        return true;
    hash_update_u64(&log->hash, event->operation);
    hash_update_u64(&log->hash, (uint32_t)event->status);
    hash_update_u64(&log->hash, (uint64_t)event->written);
    if (!event->dma_bytes)
        return false;
    hash_update(&log->hash, event->dma_start, event->dma_bytes);
    return true;
}

/* Steps that have begun since the last call are parts of the list of calls. */
static void note_steps(struct run_event_log *log)
{
    while (log->steps_noted < log->result->step_count) {
        const char *name = log->result->steps[log->steps_noted++].name;

        run_calls_begin_part(&log->calls, *name ? name : "play");
    }
}

/*
 * One line a call at the level "paging": the line of the call is kept until the call returns, and
 * its results, which begin with the status, are put behind it.
 */
static void write_event(struct run_event_log *log, const struct trace_event *event,
                        const char *line)
{
    const char *result = strstr(line, "0x");
    int bytes;

    if (log->level == RUN_EVENTS_PAGING && event->phase == TRACE_BEFORE) {
        snprintf(log->call, sizeof log->call, "%s", line);
        return;
    }
    if (log->level == RUN_EVENTS_PAGING && log->call[0] && result)
        bytes = fprintf(log->file, "%" PRIu64 " %s < %s\n", machine_now(log->machine), log->call,
                        result);
    else
        bytes = fprintf(log->file, "%" PRIu64 " %s\n", machine_now(log->machine), line);
    log->bytes += bytes > 0 ? (uint64_t)bytes : 0;
    log->call[0] = '\0';
    log->written++;
}

static void note_event(void *context, const struct trace_event *event)
{
    struct run_event_log *log = context;
    bool is_hashed = hash_paging(log, event);
    bool is_written = log->file && is_wanted(log, event);
    char line[RUN_EVENT_LINE_BYTES];
    size_t length;

    journal_note_call(event);
    run_record_event(log->record, event);
    if (event->phase == TRACE_AFTER && !event->is_callback && !NT_SUCCESS(event->status)) {
        log->result->refusal.ddi = event->ddi;
        log->result->refusal.ddi_status = event->status;
    }
    if (log->calls.file) {
        note_steps(log);
        run_calls_note(&log->calls, event);
    }
    if (is_written && (log->written >= log->limit || log->bytes >= log->byte_limit)) {
        log->dropped += log->level == RUN_EVENTS_ALL || event->phase == TRACE_AFTER;
        is_written = false;
    }
    if (is_hashed)
        crash_recorder_note_paging(event);
    if (is_hashed && !is_written)
        return;
    length = trace_event_format(event, line, sizeof line);
    if (length >= sizeof line)
        length = sizeof line - 1;
    if (!is_hashed) {
        crash_recorder_note_line(line, length);
        hash_update(&log->hash, line, length);
    }
    if (is_written)
        write_event(log, event, line);
}

void run_event_log_print(struct run_event_log *log, const char *text)
{
    int bytes;

    run_record_print(log->record, text);
    if (!log->file)
        return;
    if (log->written >= log->limit || log->bytes >= log->byte_limit) {
        log->dropped++;
        return;
    }
    bytes = fprintf(log->file, "%" PRIu64 " the driver prints: ", machine_now(log->machine));
    log->bytes += bytes > 0 ? (uint64_t)bytes : 0;
    for (; *text && *text != '\r' && *text != '\n'; text++, log->bytes++)
        fputc((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text, log->file);
    fputc('\n', log->file);
    log->written++;
}

bool run_event_log_open(struct run_event_log *log, struct machine *machine,
                        struct run_record *record, const struct run_config *config,
                        struct run_result *result)
{
    *log = (struct run_event_log){
        .machine = machine,
        .record = record,
        .level = config->events,
        .limit = config->events_limit,
        .byte_limit = config->events_bytes,
        .result = result,
    };
    hash_init(&log->hash, 0);
    if (!run_calls_open(&log->calls, config->calls_path))
        return false;
    run_calls_begin_part(&log->calls, "start");
    if (!config->events_path || config->events == RUN_EVENTS_NONE)
        return true;
    log->file = fopen(config->events_path, "w");
    if (!log->file)
        return false;
    fprintf(log->file, "# drydock events: %s, model %s, seed %" PRIu64 "; ns, then the call\n",
            config->events == RUN_EVENTS_ALL ? "every call" : "paging operations and submissions",
            run_model_name(config->model), config->seed);
    return true;
}

struct trace_sink run_event_log_sink(struct run_event_log *log)
{
    return (struct trace_sink){.event = note_event, .context = log};
}

bool run_event_log_end(struct run_event_log *log)
{
    return run_calls_close(&log->calls);
}

void run_event_log_close(struct run_event_log *log)
{
    run_calls_begin_part(&log->calls, "end");
    run_record_stage(log->record, "end");
    if (!log->file)
        return;
    if (log->dropped)
        fprintf(log->file, "# %" PRIu64 " more calls are not in this file (it holds %" PRIu64 ")\n",
                log->dropped, log->written);
    else
        fprintf(log->file, "# complete: %" PRIu64 " calls\n", log->written);
    fclose(log->file);
    log->file = NULL;
}
