#define _GNU_SOURCE
#include "bench/exec/client_calls.h"

#include "bench/board/client_memory.h"
#include "bench/run/run_record_manager.h"

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
    free(calls->processes);
    free(calls->open);
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

void client_calls_made(struct client_calls *calls, const void *client,
                       const struct d3dkmt_call *call)
{
    char name[64];

    if (!calls->record || !make_room((void **)&calls->open, calls->open_count, &calls->open_room,
                                     sizeof *calls->open))
        return;
    calls->open[calls->open_count++] = (struct client_calls_open){call, ++calls->count};
    snprintf(name, sizeof name, "D3DKMT%s", d3dkmt_function_name(call->function));
    ITEM(calls, client_call, .number = calls->count,
         .process = number_of(calls, client, call->process),
         .name = record_text(calls->record->record->record, name));
}

void client_calls_ended(struct client_calls *calls, const struct d3dkmt_call *call)
{
    for (size_t i = calls->open_count; i-- > 0;) {
        if (calls->open[i].call != call)
            continue;
        ITEM(calls, client_call_ends, .number = calls->open[i].number,
             .status = (uint32_t)call->status);
        calls->open[i] = calls->open[--calls->open_count];
        return;
    }
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
