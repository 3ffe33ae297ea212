/*
 * What the record has of a run. A row of `objects` for each call that makes or ends objects of the
 * driver; the rest is one function for each thing that can happen.
 */
#include "bench/record/run_record.h"

#include "base/bits.h"
#include "base/hash.h"
#include "bench/child/crash_recorder.h"
#include "miniport/operation.h"
#include "record/record_line.h"
#include "trace/trace_handles.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parts of a call are the groups of its item, in the numbers of the record. */
_Static_assert((int)TRACE_PART_DECIMAL == (int)RECORD_PART_DECIMAL &&
                   (int)TRACE_PART_HEX == (int)RECORD_PART_HEX &&
                   (int)TRACE_PART_SIGNED == (int)RECORD_PART_SIGNED &&
                   (int)TRACE_PART_DIGITS == (int)RECORD_PART_DIGITS &&
                   (int)TRACE_PART_TEXT == (int)RECORD_PART_TEXT &&
                   (int)TRACE_PART_NOTHING == (int)RECORD_PART_NOTHING &&
                   (int)TRACE_PART_PLAIN == (int)RECORD_PART_PLAIN,
               "a part of the trace is a part of the record");
_Static_assert(TRACE_HANDLE_UNKNOWN == RECORD_HANDLE_UNKNOWN, "and so is a handle without number");
_Static_assert(sizeof(struct record_call_group) == 3 * sizeof(uint64_t), "field, type, value");

#define FIRST_VALUES     64u
#define MOST_VALUES_KEPT 64u
#define CALL_FIELDS      3u /* of a call that are not in its pattern: sequence, object, status */

_Static_assert(sizeof(struct record_call) == (CALL_FIELDS + 5) * sizeof(uint64_t), "5 are P");

uint64_t run_record_now(const struct run_record *record)
{
    return record->machine ? machine_now(record->machine) : record->last_ns;
}

/* More room for the values of a call; false: none. */
static bool make_room(struct run_record *record)
{
    const size_t room = record->value_room ? 2 * record->value_room : FIRST_VALUES;
    const size_t used = record->values ? (size_t)(record->parts.next - record->values) : 0;
    uint64_t *values = realloc(record->values, room * sizeof *values);

    if (!values)
        return false;
    record->values = values;
    record->value_room = room;
    record->parts.next = values + used;
    record->parts.end = values + room;
    return true;
}

static void release_parts(struct run_record *record)
{
    free(record->values);
    free(record->patterns);
    record->values = NULL;
    record->patterns = NULL;
}

/* ---- The run --------------------------------------------------------------------------------- */

static void put_fact(struct run_record *record, const char *key, const char *value)
{
    RECORD_ITEM(record->record, run, run_record_now(record),
                .key = record_literal(record->record, key),
                .value = record_text(record->record, value));
}

__attribute__((format(printf, 3, 4))) static void
put_fact_of(struct run_record *record, const char *key, const char *format, ...)
{
    char text[64];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    put_fact(record, key, text);
}

bool run_record_open(struct run_record *record, const struct machine *machine,
                     const struct run_config *config, struct run_result *result)
{
    const struct record_limits limits = {.file_bytes = config->record_limit};

    *record = (struct run_record){
        .machine = machine, .result = result, .has_added_layer = config->add_layer != NULL};
    if (!config->record_file)
        return true;
    record->patterns = calloc(RUN_RECORD_PATTERNS, sizeof *record->patterns);
    record->record = record_create(base_services_libc(), config->record_file, &limits);
    if (!record->patterns || !record->record || !make_room(record)) {
        record_abandon(record->record);
        record->record = NULL;
        release_parts(record);
        return false;
    }
    crash_recorder_set_record(record->record);
    put_fact(record, "version", DRYDOCK_VERSION);
    put_fact(record, "case", result->case_name);
    put_fact(record, "driver", config->driver);
    put_fact(record, "model", run_model_name(config->model));
    put_fact_of(record, "wddm", "%u.%u", config->wddm / 10, config->wddm % 10);
    put_fact_of(record, "seed", "%" PRIu64, config->seed);
    put_fact_of(record, "local_memory", "%" PRIu64, config->local_bytes);
    for (unsigned i = 0; i < result->process_count; i++)
        RECORD_ITEM(record->record, object, run_record_now(record),
                    .type = record_literal(record->record, "case_process"), .number = i + 1,
                    .name = record_text(record->record, result->processes[i].name));
    run_record_stage(record, "start");
    return true;
}

void run_record_close(struct run_record *record)
{
    const struct run_result *result = record->result;
    char error[256];

    if (!record->record)
        return;
    record->machine = NULL; /* it is gone */
    run_record_progress(record);
    put_fact(record, "outcome", run_outcome_name(result->outcome));
    if (result->error[0])
        put_fact(record, "error", result->error);
    put_fact_of(record, "digest", "%016" PRIx64, result->digest);
    put_fact_of(record, "virtual_time_ns", "%" PRIu64, result->virtual_time_ns);
    crash_recorder_set_record(NULL);
    if (!record_close(record->record, error))
        snprintf(record->result->record_error, sizeof record->result->record_error, "%s", error);
    record->record = NULL;
    release_parts(record);
}

void run_record_stage(struct run_record *record, const char *name)
{
    RECORD_ITEM(record->record, stage, record->record ? run_record_now(record) : 0,
                .name = record_literal(record->record, name));
}

void run_record_print(struct run_record *record, const char *text)
{
    if (record->record)
        RECORD_ITEM(record->record, print, run_record_now(record),
                    .text = record_text(record->record, text));
}

static inline bool is_behind(const struct run_record *record)
{
    return record->steps_noted != record->result->step_count ||
           record->findings_noted != record->result->finding_count;
}

/* What was told goes to the file, so that a run that is killed has it there. */
void run_record_progress(struct run_record *record)
{
    const struct run_result *result = record->result;

    if (!record->record || !is_behind(record))
        return;
    while (record->steps_noted < result->step_count) {
        const struct run_step *step = &result->steps[record->steps_noted++];

        RECORD_ITEM(record->record, step, step->start_ns, .number = record->steps_noted,
                    .name = record_text(record->record, step->name));
    }
    while (record->findings_noted < result->finding_count) {
        const struct run_finding *finding = &result->findings[record->findings_noted++];

        RECORD_ITEM(record->record, found,
                    finding->time_ns ? finding->time_ns : run_record_now(record),
                    .number = record->findings_noted, .sequence = record->sequence,
                    .rule = record_text(record->record, finding->rule),
                    .text = record_text(record->record, finding->text));
    }
    record_flush(record->record);
}

/* ---- Objects --------------------------------------------------------------------------------- */

uint64_t run_record_number(const struct run_record *record, char kind, const void *handle)
{
    return record->record && record->handles
               ? trace_handles_number(record->handles, (enum trace_handle_kind)kind, handle)
               : 0;
}

/* An object as the driver has made it; what makes it says whose it is, and how large. */
struct object {
    const char *type, *parent_type;
    char kind, parent_kind;
    const void *handle, *parent;
    uint64_t bytes;
};

static void put_object(struct run_record *record, const struct object *object)
{
    if (object->handle)
        RECORD_ITEM(record->record, object, run_record_now(record),
                    .type = record_literal(record->record, object->type),
                    .number = run_record_number(record, object->kind, object->handle),
                    .parent_type =
                        object->parent ? record_literal(record->record, object->parent_type) : 0,
                    .parent = run_record_number(record, object->parent_kind, object->parent),
                    .bytes = object->bytes);
}

static void put_end(struct run_record *record, const char *type, char kind, const void *handle)
{
    if (handle)
        RECORD_ITEM(record->record, object_end, run_record_now(record),
                    .type = record_literal(record->record, type),
                    .number = run_record_number(record, kind, handle));
}

/* The call has returned: what it has made. */
static void note_made(struct run_record *record, const struct trace_event *event)
{
    switch ((unsigned)event->ddi) {
    case MINIPORT_DDI_CreateProcess: {
        const DXGKARG_CREATEPROCESS *arg = event->argument;

        put_object(record, &(struct object){.type = "process",
                                            .kind = TRACE_HANDLE_PROCESS,
                                            .handle = arg->hKmdProcess,
                                            .parent_type = "case_process",
                                            .parent_kind = TRACE_HANDLE_OS_PROCESS,
                                            .parent = arg->hDxgkProcess});
        break;
    }
    case MINIPORT_DDI_CreateDevice: {
        const DXGKARG_CREATEDEVICE *arg = event->argument;

        put_object(record, &(struct object){.type = "device",
                                            .kind = TRACE_HANDLE_DEVICE,
                                            .handle = arg->hDevice,
                                            .parent_type = "process",
                                            .parent_kind = TRACE_HANDLE_PROCESS,
                                            .parent = arg->hKmdProcess});
        break;
    }
    case MINIPORT_DDI_CreateContext: {
        const DXGKARG_CREATECONTEXT *arg = event->argument;

        put_object(record, &(struct object){.type = "context",
                                            .kind = TRACE_HANDLE_CONTEXT,
                                            .handle = arg->hContext,
                                            .parent_type = "device",
                                            .parent_kind = TRACE_HANDLE_DEVICE,
                                            .parent = event->object});
        break;
    }
    case MINIPORT_DDI_CreateAllocation: {
        const DXGKARG_CREATEALLOCATION *arg = event->argument;

        if (arg->Flags.Resource)
            put_object(record, &(struct object){.type = "resource",
                                                .kind = TRACE_HANDLE_RESOURCE,
                                                .handle = arg->hResource});
        for (UINT i = 0; arg->pAllocationInfo && i < arg->NumAllocations; i++)
            put_object(record, &(struct object){.type = "allocation",
                                                .kind = TRACE_HANDLE_ALLOCATION,
                                                .handle = arg->pAllocationInfo[i].hAllocation,
                                                .parent_type = "resource",
                                                .parent_kind = TRACE_HANDLE_RESOURCE,
                                                .parent = arg->hResource,
                                                .bytes = arg->pAllocationInfo[i].Size});
        break;
    }
    case MINIPORT_DDI_CreateNativeFence: {
        const DXGKARG_CREATENATIVEFENCE *arg = event->argument;

        put_object(record, &(struct object){.type = "fence",
                                            .kind = TRACE_HANDLE_FENCE,
                                            .handle = arg->hGlobalNativeFence});
        break;
    }
    default:
        break;
    }
}

/* The call begins: what it will end. */
static void note_ended(struct run_record *record, const struct trace_event *event)
{
    switch ((unsigned)event->ddi) {
    case MINIPORT_DDI_DestroyProcess:
        put_end(record, "process", TRACE_HANDLE_PROCESS, event->object);
        break;
    case MINIPORT_DDI_DestroyDevice:
        put_end(record, "device", TRACE_HANDLE_DEVICE, event->object);
        break;
    case MINIPORT_DDI_DestroyContext:
        put_end(record, "context", TRACE_HANDLE_CONTEXT, event->object);
        break;
    case MINIPORT_DDI_DestroyAllocation: {
        const DXGKARG_DESTROYALLOCATION *arg = event->argument;

        for (UINT i = 0; arg->pAllocationList && i < arg->NumAllocations; i++)
            put_end(record, "allocation", TRACE_HANDLE_ALLOCATION, arg->pAllocationList[i]);
        if (arg->Flags.DestroyResource)
            put_end(record, "resource", TRACE_HANDLE_RESOURCE, arg->hResource);
        break;
    }
    case MINIPORT_DDI_DestroyNativeFence: {
        const DXGKARG_DESTROYNATIVEFENCE *arg = event->argument;

        put_end(record, "fence", TRACE_HANDLE_FENCE, arg->hGlobalNativeFence);
        break;
    }
    default:
        break;
    }
}

/* ---- Packets --------------------------------------------------------------------------------- */

static struct run_record_packet *slot_of(struct run_record *record, unsigned node, uint32_t fence)
{
    return &record->in_flight[node % RUN_RECORD_NODES][fence % RUN_RECORD_PACKETS];
}

void run_record_packet(struct run_record *record, uint64_t number, const char *type,
                       uint64_t context, unsigned node, uint32_t fence, uint64_t bytes)
{
    if (record->record)
        RECORD_ITEM(record->record, packet, run_record_now(record), .number = number,
                    .type = record_literal(record->record, type), .context = context, .node = node,
                    .fence = fence, .bytes = bytes);
}

void run_record_packet_submitted(struct run_record *record, uint64_t number, unsigned node,
                                 uint32_t fence)
{
    if (!record->record)
        return;
    *slot_of(record, node, fence) = (struct run_record_packet){fence, number};
    RECORD_ITEM(record->record, packet_submitted, run_record_now(record), .number = number,
                .node = node, .fence = fence);
}

static uint64_t packet_number(struct run_record *record, unsigned node, uint32_t fence)
{
    const struct run_record_packet *slot = slot_of(record, node, fence);

    return slot->fence == fence ? slot->number : 0;
}

void run_record_packet_begins(struct run_record *record, unsigned node, uint32_t fence)
{
    record->running[node % RUN_RECORD_NODES] = packet_number(record, node, fence);
    if (record->record)
        RECORD_ITEM(record->record, packet_begins, run_record_now(record),
                    .number = packet_number(record, node, fence), .node = node, .fence = fence);
}

void run_record_packet_ends(struct run_record *record, unsigned node, uint32_t fence,
                            NTSTATUS status)
{
    uint64_t *running = &record->running[node % RUN_RECORD_NODES];

    if (*running == packet_number(record, node, fence))
        *running = 0;
    if (record->record)
        RECORD_ITEM(record->record, packet_ends, run_record_now(record),
                    .number = packet_number(record, node, fence), .node = node, .fence = fence,
                    .status = (uint32_t)status);
}

/* ---- Interrupts ------------------------------------------------------------------------------ */

static void note_interrupt(struct run_record *record, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    uint32_t node = 0, fence = 0;

    switch ((unsigned)data->InterruptType) {
    case DXGK_INTERRUPT_DMA_COMPLETED:
        node = data->DmaCompleted.NodeOrdinal;
        fence = data->DmaCompleted.SubmissionFenceId;
        break;
    case DXGK_INTERRUPT_HWQUEUE_PAGE_FAULTED:
        node = data->HwQueuePageFaulted.NodeOrdinal;
        fence = (uint32_t)data->HwQueuePageFaulted.FaultedFenceId;
        break;
    case DXGK_INTERRUPT_DMA_PREEMPTED:
        node = data->DmaPreempted.NodeOrdinal;
        fence = data->DmaPreempted.PreemptionFenceId;
        break;
    case DXGK_INTERRUPT_DMA_FAULTED:
        node = data->DmaFaulted.NodeOrdinal;
        fence = data->DmaFaulted.FaultedFenceId;
        break;
    case DXGK_INTERRUPT_DMA_PAGE_FAULTED:
        node = data->DmaPageFaulted.NodeOrdinal;
        fence = data->DmaPageFaulted.FaultedFenceId;
        break;
    case DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED:
        node = data->MonitoredFenceSignaled.NodeOrdinal;
        break;
    default:
        break;
    }
    RECORD_ITEM(
        record->record, interrupt, run_record_now(record),
        .type = record_literal(record->record, trace_interrupt_name((unsigned)data->InterruptType)),
        .node = node, .fence = fence, .sequence = record->sequence);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* A value that is a text, or has no room yet. */
static void note_other_value(void *context, const char *text, size_t length, unsigned type,
                             uint64_t value)
{
    struct run_record *record = context;

    if (record->parts.next == record->parts.end && !make_room(record)) {
        record->has_lost_parts = true;
        return;
    }
    if (type == TRACE_PART_TEXT)
        value = record_literal(record->record, (const char *)(uintptr_t)value);
    else if (type == TRACE_PART_PLAIN + TRACE_PART_TEXT)
        value = record_text(record->record, (const char *)(uintptr_t)value);
    trace_values_add(&record->parts, text, length, type, value);
}

/* Entries are read once: for the note of the manager, which has come before the call. */
static bool knows_entries(void *context, const DXGK_PTE *entries, uint64_t count,
                          uint64_t *out_hash)
{
    const struct run_record *record = context;

    *out_hash = record->entries.hash;
    return !record->has_added_layer && entries == record->entries.first &&
           count == record->entries.count;
}

/* Text and type of a part, in the second round over the parts of a call. */
static void note_text(void *context, const char *text, size_t length, unsigned type, uint64_t value)
{
    struct run_record *record = context;
    struct record_call_group *group = &record->groups[record->group_count++];

    group->field = record_literal_part(record->record, text, length);
    group->type = type;
}

/* A type of object begins with the letter of its handles. */
static const char *object_type(char kind)
{
    switch (kind) {
    case TRACE_HANDLE_CONTEXT:
        return "context";
    case TRACE_HANDLE_PROCESS:
        return "process";
    default:
        return "device";
    }
}

static uint64_t operation_text(struct run_record *record, const struct trace_event *event)
{
    char text[64];

    if (event->is_callback || event->ddi != MINIPORT_DDI_BuildPagingBuffer)
        return 0;
    if (event->operation < MINIPORT_OPERATION_COUNT)
        return record_literal(record->record, miniport_operation_name(event->operation));
    snprintf(text, sizeof text, "%s Operation=%u", miniport_operation_name(event->operation),
             event->operation);
    return record_text(record->record, text);
}

/* The fields of a call that are the same in all calls of its pattern. */
static struct record_call pattern_fields(struct run_record *record, const struct trace_event *event)
{
    return (struct record_call){
        .phase = event->phase == TRACE_AFTER,
        .depth = event->depth,
        .name = record_literal(record->record, trace_event_name(event)),
        .object_type =
            trace_event_has_object(event)
                ? record_literal(record->record, object_type(trace_event_object_kind(event)))
                : 0,
        .operation = operation_text(record, event),
    };
}

static struct record_pattern *make_pattern(struct run_record *record,
                                           const struct trace_event *event)
{
    const struct trace_visitor visitor = {note_text, record, knows_entries, NULL};
    const size_t count = (size_t)(record->parts.next - record->values) - CALL_FIELDS;
    struct record_pattern *pattern = NULL;
    struct record_call fields;

    record->groups = calloc(count + 1, sizeof *record->groups);
    if (record->groups && !record->has_lost_parts) {
        record->group_count = 0;
        trace_event_visit(event, &visitor);
        fields = pattern_fields(record, event);
        pattern = record_pattern(record->record, RECORD_KIND_call, (const uint64_t *)&fields,
                                 (const uint64_t *)record->groups, count);
    }
    free(record->groups);
    record->groups = NULL;
    return pattern;
}

/*
 * By the hash of 64 bits alone: what it is made of are numbers of this program, and addresses of
 * its own texts. A call with very many parts has a pattern that nobody else has.
 */
static struct record_pattern *find_pattern(struct run_record *record,
                                           const struct trace_event *event,
                                           struct run_record_likely *likely)
{
    const uint64_t hash = record->parts.hash;
    struct run_record_pattern *slot = &record->patterns[hash % RUN_RECORD_PATTERNS];
    struct record_pattern *pattern;

    if (slot->hash == hash) {
        *likely = (struct run_record_likely){slot, slot->pattern};
        return slot->pattern;
    }
    if (!record_wants(record->record, RECORD_KIND_call))
        return NULL; /* counted as missing */
    pattern = make_pattern(record, event);
    if (record->parts.next - record->values <= (ptrdiff_t)MOST_VALUES_KEPT &&
        record_pattern_lasts(record->record, pattern))
        *slot = (struct run_record_pattern){hash, pattern};
    return pattern;
}

/*
 * The run has used the caches for its own since the last call: the pattern that this one most
 * likely has is fetched while its values are collected. What is fetched in vain costs little.
 */
static struct run_record_likely *fetch_likely(struct run_record *record)
{
    struct run_record_likely *likely =
        &record->likely[record->parts.hash >> 32 & (RUN_RECORD_LIKELY - 1)];

    prefetch(likely->slot);
    prefetch_to_write(likely->pattern);
    for (unsigned line = 1; line < 3 && likely->pattern; line++)
        prefetch_to_write((const char *)likely->pattern + 64 * line);
    return likely;
}

/* Of all that pattern_fields() reads. It is never 0, which is that of a free slot. */
static uint64_t hash_of_fields(const struct trace_event *event)
{
    const unsigned call = event->is_callback ? (unsigned)event->callback : (unsigned)event->ddi;
    const uint64_t fields = call | (uint64_t)event->is_callback << 10 |
                            (uint64_t)(event->phase == TRACE_AFTER) << 11 |
                            (uint64_t)(event->object != NULL) << 12 | UINT64_C(1) << 13 |
                            (uint64_t)event->depth << 16 | (uint64_t)event->operation << 32;
    const uint64_t hash = fields * UINT64_C(0x9e3779b97f4a7c15); /* odd: nothing is lost */

    return event->is_callback && (event->callback == TRACE_CALLBACK_memory ||
                                  event->callback == TRACE_CALLBACK_power)
               ? hash_pair(hash, (uintptr_t)trace_event_name(event))
               : hash ^ hash >> 32;
}

static void put_call(struct run_record *record, const struct trace_event *event)
{
    const struct trace_visitor visitor = {note_other_value, record, knows_entries, &record->parts};
    uint64_t *const fields = record->values;
    struct run_record_likely *likely;

    fields[0] = event->sequence;
    fields[1] = event->object && trace_event_has_object(event)
                    ? run_record_number(record, trace_event_object_kind(event), event->object)
                    : 0;
    fields[2] = event->phase == TRACE_AFTER ? (uint32_t)event->status : 0;
    record->has_lost_parts = false;
    record->parts.next = record->values + CALL_FIELDS;
    record->parts.hash = hash_of_fields(event);
    likely = fetch_likely(record);
    trace_event_visit(event, &visitor);
    record_item_patterned(record->record, record->last_ns, find_pattern(record, event, likely),
                          record->values);
    if (!event->is_callback)
        record->entries.count = record->entries.hash = 0; /* a driver might write to them */
}

static void note_call(struct run_record *record, const struct trace_event *event)
{
    if (event->phase == TRACE_AFTER) {
        if (NT_SUCCESS(event->status) && event->argument)
            note_made(record, event);
        return;
    }
    note_ended(record, event);
    switch ((unsigned)event->ddi) {
    case MINIPORT_DDI_DpcRoutine:
        RECORD_ITEM(record->record, dpc, run_record_now(record), .number = ++record->dpcs,
                    .sequence = event->sequence);
        break;
    default:
        break;
    }
}

void run_record_event(struct run_record *record, const struct trace_event *event)
{
    if (!record->record)
        return;
    record->handles = event->handles;
    record->last_ns = run_record_now(record);
    if (is_behind(record))
        run_record_progress(record);
    record->sequence = event->sequence;
    put_call(record, event);
    if (!event->is_callback)
        note_call(record, event);
    else if (event->callback == TRACE_CALLBACK_notify_interrupt && event->phase == TRACE_BEFORE)
        note_interrupt(record, event->argument);
}
