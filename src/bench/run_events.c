#include "bench/run_events.h"

#include <inttypes.h>
#include <string.h>

#define LINE_BYTES 1024

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
        return event->phase == TRACE_AFTER;
    default:
        return false;
    }
}

static void note_event(void *context, const struct trace_event *event)
{
    struct run_event_log *log = context;
    char line[LINE_BYTES];
    size_t length = trace_event_format(event, line, sizeof line);

    if (length >= sizeof line)
        length = sizeof line - 1;
    hash_update(&log->hash, line, length);
    if (!log->file || !is_wanted(log, event))
        return;
    if (log->written >= log->limit) {
        log->dropped++;
        return;
    }
    fprintf(log->file, "%" PRIu64 " %s\n", machine_now(log->machine), line);
    log->written++;
}

bool run_event_log_open(struct run_event_log *log, struct machine *machine,
                        const struct run_config *config)
{
    *log = (struct run_event_log){
        .machine = machine,
        .level = config->events,
        .limit = config->events_limit,
    };
    hash_init(&log->hash, 0);
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

void run_event_log_close(struct run_event_log *log)
{
    if (!log->file)
        return;
    if (log->dropped)
        fprintf(log->file, "# %" PRIu64 " more calls are not in this file (limit %" PRIu64 ")\n",
                log->dropped, log->limit);
    else
        fprintf(log->file, "# complete: %" PRIu64 " calls\n", log->written);
    log->has_failed = ferror(log->file) != 0;
    if (fclose(log->file) != 0)
        log->has_failed = true;
    log->file = NULL;
}
