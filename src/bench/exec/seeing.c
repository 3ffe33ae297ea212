#define _GNU_SOURCE
#include "bench/exec/seeing.h"

#include "bench/exec/client_place.h"
#include "clients/recorder.h"
#include "workload/named_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void write_case(struct exec_server *shared, const struct recorder_board *board)
{
    const char *path = shared->config.record;
    FILE *file = named_file_open(path, "w");
    bool is_whole;

    if (!file) {
        snprintf(shared->error, sizeof shared->error, "cannot write '%.150s': %s", path,
                 named_file_reason(errno));
        return;
    }
    is_whole = recorder_case_write(shared->session.recorder, file, board);
    if (fclose(file) || !is_whole)
        snprintf(shared->error, sizeof shared->error, "'%.150s' is not whole: %s", path,
                 shared->session.seen->is_lost ? "no memory" : strerror(errno));
}

/* With the programs' name as its title. */
static void write_record(struct exec_server *shared, const struct run_board *board)
{
    const struct recorder_board told = {.title = basename(shared->config.program[0]),
                                        .local_bytes = board->config->local_bytes,
                                        .system_bytes = board->config->ram_bytes,
                                        .seed = board->config->seed,
                                        .has_hw_queues = board->config->hardware_queues};

    if (!shared->config.record)
        return;
    if (!shared->session.recorder)
        snprintf(shared->error, sizeof shared->error, "no memory for a record");
    else if (shared->has_started)
        write_case(shared, &told);
    recorder_case_destroy(shared->session.recorder);
    shared->session.recorder = NULL;
}

/* While the client waits for the call's answer: its process is there. */
static void note_breach(void *context, const struct client_breach *breach)
{
    struct exec_server *shared = context;
    const struct client_memory *memory = breach->process->client;
    struct exec_breach *kept;

    if (shared->breach_count == EXEC_MOST_BREACHES)
        return;
    kept = &shared->breaches[shared->breach_count++];
    *kept = (struct exec_breach){
        .rule = breach->rule, .process = breach->process->number, .pid = (int)memory->pid};
    snprintf(kept->text, sizeof kept->text, "%s", breach->text);
    kept->argument = *breach->argument;
    for (unsigned i = 0; i < breach->stack_count && i < 7; i++)
        client_place(memory->pid, breach->stack[i], kept->places[i], sizeof kept->places[i]);
    client_calls_breach(
        &shared->session.calls, memory, breach->call,
        &(struct client_calls_rule){.id = client_rule_id(breach->rule),
                                    .says = client_rule_text(breach->rule),
                                    .text = kept->text,
                                    .argument = &kept->argument,
                                    .place = kept->places[0],
                                    .is_advice = client_rule_is_advice(breach->rule)});
}

void exec_begin_seeing(struct exec_server *shared, struct seen *seen, const struct run_board *board)
{
    const struct seen_source source = exec_session_source(board);

    seen_init(seen, &source);
    shared->session.seen = seen;
    if (shared->config.record)
        shared->session.recorder = recorder_case_create(seen);
    if (board->check) /* option rules */
        shared->session.rules = client_rules_create(seen, note_breach, shared);
}

void exec_end_seeing(struct exec_server *shared, const struct run_board *board)
{
    write_record(shared, board);
    for (unsigned rule = 0; shared->session.rules && rule < CLIENT_RULE_COUNT; rule++)
        shared->broken[rule] = client_rules_broken(shared->session.rules, rule);
    client_rules_destroy(shared->session.rules);
    seen_fini(shared->session.seen);
    shared->session.rules = NULL;
    shared->session.seen = NULL;
}
