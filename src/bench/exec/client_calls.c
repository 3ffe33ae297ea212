#define _GNU_SOURCE
#include "bench/exec/client_calls.h"

#include "bench/board/client_memory.h"
#include "bench/exec/client_arguments.h"
#include "bench/record/run_record_manager.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct client_calls_process {
    const void *client;
    uint64_t number; /* of the process in the record */
};

struct client_calls_open {
    const struct d3dkmt_call *call;
    uint64_t number;
    void *given; /* the structure as it was given; NULL: there was no memory */
};

#define ITEM(calls, kind, ...)                                                                     \
    RECORD_ITEM((calls)->record->record->record, kind, run_record_now((calls)->record->record),    \
                __VA_ARGS__)

void client_calls_init(struct client_calls *calls, const struct run_board *board)
{
    const struct run_record *record = board->record ? board->record->record : NULL;

    *calls = (struct client_calls){.record = record && record->record ? board->record : NULL};
}

void client_calls_fini(struct client_calls *calls)
{
    for (size_t i = 0; i < calls->open_count; i++)
        free(calls->open[i].given);
    free(calls->processes);
    free(calls->open);
    free(calls->values);
    *calls = (struct client_calls){0};
}

/* False: there is no memory for one more. */
static bool make_room(void **array, size_t count, size_t *room, size_t size)
{
    const size_t larger = *room ? 2 * *room : 16;
    void *grown;

    if (count < *room)
        return true;
    grown = realloc(*array, larger * size);
    if (!grown)
        return false;
    *array = grown;
    *room = larger;
    return true;
}

/* "copytest (pid 4711)". A program that has gone already has its pid alone. */
static void describe(pid_t pid, char name[320])
{
    char link[32], path[4096];
    const char *slash;
    ssize_t length;

    snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    slash = strrchr(path, '/');
    if (slash)
        snprintf(name, 320, "%.255s (pid %d)", slash + 1, (int)pid);
    else
        snprintf(name, 320, "pid %d", (int)pid);
}

/* The process in the record, which is named when it is new. 0: it has no number. */
static uint64_t number_of(struct client_calls *calls, const void *client,
                          const struct d3dkmt_process *process)
{
    const struct client_memory *memory = client;
    char name[320];
    uint64_t number;

    for (size_t i = 0; i < calls->process_count; i++) {
        if (calls->processes[i].client == client)
            return calls->processes[i].number;
    }
    describe(memory->pid, name);
    number = run_record_manager_process(calls->record, d3dkmt_process_manager(process), name);
    if (make_room((void **)&calls->processes, calls->process_count, &calls->process_room,
                  sizeof *calls->processes))
        calls->processes[calls->process_count++] = (struct client_calls_process){client, number};
    return number;
}

static void add_value(void *context, const char *name, uint64_t value)
{
    struct client_calls *calls = context;

    if (make_room((void **)&calls->values, calls->value_count, &calls->value_room,
                  sizeof *calls->values))
        calls->values[calls->value_count++] = (struct record_client_call_group){
            .field = record_text(calls->record->record->record, name), .value = value};
}

void client_calls_made(struct client_calls *calls, const void *client,
                       const struct d3dkmt_call *call)
{
    const struct client_arguments_visitor visitor = {add_value, calls};
    const size_t bytes = thunk_structure_bytes(call->function);
    struct client_calls_open *open;
    char name[64];

    if (!calls->record || !make_room((void **)&calls->open, calls->open_count, &calls->open_room,
                                     sizeof *calls->open))
        return;
    open = &calls->open[calls->open_count++];
    *open = (struct client_calls_open){call, ++calls->count, malloc(bytes)};
    if (open->given)
        memcpy(open->given, call->arguments, bytes);
    snprintf(name, sizeof name, "D3DKMT%s", d3dkmt_function_name(call->function));
    calls->value_count = 0;
    client_arguments_given(call->function, call->arguments, &visitor);
    RECORD_ITEM_WITH(calls->record->record->record, client_call,
                     run_record_now(calls->record->record), calls->values, calls->value_count,
                     .number = calls->count, .process = number_of(calls, client, call->process),
                     .name = record_text(calls->record->record->record, name));
}

void client_calls_ended(struct client_calls *calls, const struct d3dkmt_call *call)
{
    const struct client_arguments_visitor visitor = {add_value, calls};

    for (size_t i = calls->open_count; i-- > 0;) {
        const struct client_calls_open open = calls->open[i];

        if (open.call != call)
            continue;
        calls->value_count = 0;
        if (open.given)
            client_arguments_answered(call->function, call->arguments, open.given, &visitor);
        RECORD_ITEM_WITH(calls->record->record->record, client_call_ends,
                         run_record_now(calls->record->record), calls->values, calls->value_count,
                         .number = open.number, .status = (uint32_t)call->status);
        free(open.given);
        calls->open[i] = calls->open[--calls->open_count];
        return;
    }
}

void client_calls_breach(struct client_calls *calls, const void *client,
                         const struct d3dkmt_call *call, const struct client_calls_rule *rule)
{
    uint64_t number = 0, process = 0;
    struct record *record;

    if (!calls->record)
        return;
    record = calls->record->record->record;
    for (size_t i = 0; i < calls->open_count; i++) {
        if (calls->open[i].call == call)
            number = calls->open[i].number;
    }
    for (size_t i = 0; i < calls->process_count; i++) {
        if (calls->processes[i].client == client)
            process = calls->processes[i].number;
    }
    ITEM(calls, client_breach, .call = number, .process = process,
         .rule = record_text(record, rule->id), .says = record_text(record, rule->says),
         .text = record_text(record, rule->text),
         .argument = record_text(record, rule->argument->name),
         .value = record_text(record, rule->argument->value),
         .expected = record_text(record, rule->argument->expected),
         .place = record_text(record, rule->place), .is_advice = rule->is_advice);
}

void client_calls_closed(struct client_calls *calls, const void *client)
{
    for (size_t i = 0; i < calls->process_count; i++) {
        if (calls->processes[i].client == client) {
            calls->processes[i] = calls->processes[--calls->process_count];
            return;
        }
    }
}
