#include "bench/record/run_events.h"

#include "bench/child/crash_recorder.h"
#include "bench/child/journal.h"

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

static void note_event(void *context, const struct trace_event *event)
{
    struct run_event_log *log = context;
    char line[RUN_EVENT_LINE_BYTES];
    size_t length;

    journal_note_call(event);
    run_record_event(log->record, event);
    if (event->phase == TRACE_AFTER && !event->is_callback && !NT_SUCCESS(event->status)) {
        log->result->refusal.ddi = event->ddi;
        log->result->refusal.ddi_status = event->status;
    }
    if (hash_paging(log, event)) {
        crash_recorder_note_paging(event);
        return;
    }
    length = trace_event_format(event, line, sizeof line);
    if (length >= sizeof line)
        length = sizeof line - 1;
    crash_recorder_note_line(line, length);
    hash_update(&log->hash, line, length);
}

void run_event_log_begin(struct run_event_log *log, struct run_record *record,
                         struct run_result *result)
{
    *log = (struct run_event_log){.record = record, .result = result};
    hash_init(&log->hash, 0);
}

struct trace_sink run_event_log_sink(struct run_event_log *log)
{
    return (struct trace_sink){.event = note_event, .context = log};
}
