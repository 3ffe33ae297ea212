/*
 * The top of the player: which function plays which operation, steps, and the life of a player.
 */
#include "bench/play/player_private.h"
#include "check/report/decode.h"

#define FIRST_TAG           (UINT64_C(1) << 40) /* above keys that people write in cases */
#define PROGRESS_OPERATIONS 256u

/* ---- Steps ----------------------------------------------------------------------------------- */

static void step_end(struct player *player)
{
    const struct vidmm_statistics *now = vidmm_statistics(player->vidmm);
    struct run_step *step = player->step;

    if (!step)
        return;
    step->end_ns = machine_now(player->machine);
    step->moved_in_bytes = now->moved_in_bytes - player->step_start.moved_in_bytes;
    step->moved_out_bytes = now->moved_out_bytes - player->step_start.moved_out_bytes;
    step->evictions = now->evictions - player->step_start.evictions;
}

static void step_begin(struct player *player, const char *name, uint32_t line)
{
    player->step = &player->result->steps[player->result->step_count++];
    *player->step =
        (struct run_step){.name = name, .line = line, .start_ns = machine_now(player->machine)};
    player->step_start = *vidmm_statistics(player->vidmm);
}

bool player_play_step(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);

    if (!player_wait_idle(player))
        return false;
    player_inform_budgets(player);
    step_end(player);
    step_begin(player, workload_string(player->workload, op->text), op->line);
    return true;
}

bool player_play_wait(struct player *player, uint32_t op_index)
{
    uint32_t context = player_op(player, op_index)->object;

    for (uint32_t i = 0; i < player->workload->context_count; i++) {
        if ((context == WORKLOAD_NONE || context == i) &&
            !player_wait_context(player, &player->contexts[i]))
            return false;
    }
    player_ask_for_fences(player);
    return true;
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* Remarks, and reservations, whose mappings are said by the pte lines, do nothing by themselves. */

bool player_play_note(struct player *player, uint32_t op_index)
{
    return true;
}

bool player_play_label(struct player *player, uint32_t op_index)
{
    return true;
}

bool player_play_vm_reserve(struct player *player, uint32_t op_index)
{
    return true;
}

bool player_play_vm_release(struct player *player, uint32_t op_index)
{
    return true;
}

static bool play_operation(struct player *player, uint32_t op_index)
{
    static bool (*const plays[WORKLOAD_OP_COUNT])(struct player * player, uint32_t op_index) = {
#define OPERATION(NAME, name, ...) [WORKLOAD_OP_##NAME] = player_play_##name,
#define VARIANT(...)
#define HEADER(...)
#include "workload/case/directives.inc"
#undef OPERATION
#undef VARIANT
#undef HEADER
    };

    return plays[player_op(player, op_index)->kind](player, op_index);
}

static bool tamper(struct player *player)
{
    const struct run_live live = {
        .machine = player->machine,
        .gpu = player->config.gpu,
        .vidmm = player->vidmm,
        .workload = player->workload,
        .processes = player->processes,
        .allocations = player->live_handles,
    };

    if (!player_wait_idle(player))
        return false;
    player->config.run->tamper->fn(player->config.run->tamper->context, &live);
    return true;
}

bool player_open_process(struct player *player, uint32_t id)
{
    unsigned attempts = 0;
    NTSTATUS status;

    do {
        status = vidmm_process_create(player->vidmm, &player->processes[id]);
    } while (player_should_repeat(player, status, &attempts));
    if (!NT_SUCCESS(status))
        return player_stop_with(player, PLAYER_OBJECT, "process %u: status %s", id,
                                decode_status(status).text);
    vidmm_set_budget(player->processes[id], VIDMM_BUDGET_LOCAL, player->config.run->budget);
    return true;
}

bool player_open_device(struct player *player, uint32_t id)
{
    unsigned attempts = 0;
    NTSTATUS status;

    do {
        status = vidmm_device_create(player->processes[player->workload->devices[id].process],
                                     &player->devices[id]);
    } while (player_should_repeat(player, status, &attempts));
    player_inform(player, &(struct check_client_event){.kind = CHECK_CLIENT_DEVICE,
                                                       .device = player->devices[id]});
    return NT_SUCCESS(status) || player_stop_with(player, PLAYER_OBJECT, "device %u: status %s", id,
                                                  decode_status(status).text);
}

bool player_open_context(struct player *player, uint32_t id)
{
    const struct workload_context *source = &player->workload->contexts[id];
    NTSTATUS status = player_context_open(player, id);

    if (player->stop != PLAYER_NOT_STOPPED)
        return false;
    return NT_SUCCESS(status) ||
           player_stop_with(player, PLAYER_OBJECT, "context '%s' on node %u: status %s",
                            workload_string(player->workload, source->name), source->node,
                            decode_status(status).text);
}

static bool open_objects(struct player *player)
{
    const struct workload *workload = player->workload;

    for (uint32_t i = 0; i < workload->process_count; i++) {
        if (!player_open_process(player, i))
            return false;
    }
    for (uint32_t i = 0; i < workload->device_count; i++) {
        if (!player_open_device(player, i))
            return false;
    }
    for (uint32_t i = 0; i < workload->context_count; i++) {
        if (!player_open_context(player, i))
            return false;
    }
    return true;
}

static void tell_progress(const struct player *player, uint64_t done, uint64_t total)
{
    const struct run_config *run = player->config.run;
    struct run_progress progress = {
        .what = run_model_name(run->model), .done = done, .total = total};

    for (unsigned i = 0; i < RUN_FINDING_KIND_COUNT; i++) {
        if (!run_finding_is_remark((enum run_finding_kind)i))
            progress.findings += player->result->finding_totals[i];
    }
    run->progress(run->progress_context, &progress);
}

static void begin_samples(struct player *player, uint64_t start_ns)
{
    uint64_t size = 0;

    for (unsigned id = 1; id <= vidmm_segment_count(player->vidmm); id++) {
        struct vidmm_segment_info info;

        vidmm_segment_info(player->vidmm, id, &info);
        size += info.is_aperture ? 0 : info.size;
    }
    player->samples_start_ns = start_ns;
    run_samples_begin(&player->result->local_samples, size);
    player_take_sample(player);
}

bool player_play(struct player *player, uint32_t most_lines)
{
    const struct run_config *run = player->config.run;
    const bool is_part = most_lines < player->workload->op_count;
    uint32_t op_count = is_part ? most_lines : player->workload->op_count;
    uint64_t start;

    if (!player_survey_addresses(player))
        return player_stop_with(player, PLAYER_OBJECT, "no memory to survey addresses");
    if (!open_objects(player))
        return false;
    for (uint32_t i = 0; i < player->workload->allocation_count; i++)
        player->allocations[i].is_made = false;
    player_forecast_begin(player);
    start = machine_now(player->machine);
    begin_samples(player, start);
    player_start_watchdog(player);
    player_start_preemptions(player);
    step_begin(player, "", 0);
    for (uint32_t i = 0; i < op_count; i++) {
        if (run->stops && *run->stops) {
            op_count = i;
            break;
        }
        player->op_index = i;
        player->result->refusal = (struct run_refusal){0};
        if (run->progress && i % PROGRESS_OPERATIONS == 0)
            tell_progress(player, i, op_count);
        if (run->tamper && run->tamper->op_index == i && !tamper(player))
            return false;
        player_calibrate_when_due(player);
        player_share_components(player);
        if (!play_operation(player, i))
            return false;
        player->result->operations_played++;
        if (player->stop != PLAYER_NOT_STOPPED)
            return false; /* it was the adapter's last */
#ifdef DRYDOCK_DEBUG
        if (i % (run->check_interval ? run->check_interval : 64) == 0)
            vidmm_check(player->vidmm);
#endif
    }
    player->op_index = op_count;
    /* A board that is pulled out asleep is not woken for it; any other is, as the end of a case. */
    if (!player->removal.is_scheduled && !player->late_removal.is_queued)
        player_wake(player);
    if (!player_wait_idle(player))
        return false;
    while (player->removal.is_scheduled || player->late_removal.is_queued) {
        if (!player_advance(player))
            return false;
    }
    if (run->tamper && run->tamper->op_index >= op_count && !tamper(player))
        return false;
    step_end(player);
    player->result->virtual_time_ns = machine_now(player->machine) - start;
    if (player->page_table_failures)
        player_report(player, op_count ? op_count - 1 : 0, "%llu page-table requests failed",
                      (unsigned long long)player->page_table_failures);
    if (run->progress)
        tell_progress(player, op_count, op_count);
    return is_part || player_check_translations(player);
}

void player_give_up(struct player *player)
{
    const bool answers = player->stop == PLAYER_OBJECT;
    bool is_idle;

    player->has_ended = player->stop == PLAYER_ENDED;
    player->stop = PLAYER_NOT_STOPPED;
    player->progress.quiet_events = 0;
    is_idle = answers && player_wait_idle(player);
    player->stop = PLAYER_NOT_STOPPED;
    player->is_giving_up = true;
    if (!player->has_ended && !is_idle) {
        player_inform_hang(player, 0);
        player_inform(player, &(struct check_client_event){.kind = CHECK_CLIENT_GONE});
        vidmm_abort(player->vidmm, STATUS_UNSUCCESSFUL);
    }
    player->needs_pump = true;
}

static bool is_any(const struct player *player, uint32_t id, const void *choice)
{
    return true;
}

bool player_take_down(struct player *player)
{
    const struct workload *workload = player->workload;

    player->is_giving_up = true;
    player_stop_preemptions(player);
    for (uint32_t i = 0; i < workload->allocation_count; i++) {
        if (!player_free(player, i))
            return false;
    }
    for (uint32_t i = 0; i < WORKLOAD_MAX_FENCES; i++) {
        if (!player_destroy_fence(player, i))
            return false;
    }
    if (!player_unmap_translations(player))
        return false;
    for (uint32_t i = 0; i < workload->context_count; i++) {
        if (!player_context_close(player, &player->contexts[i]))
            return false;
    }
    if (!player_wait_idle(player))
        return false;
    player_destroy_contexts(player, is_any, NULL);
    if (!player_wait_idle(player)) /* what the driver had for its contexts */
        return false;
    for (uint32_t i = 0; i < workload->device_count; i++) {
        if (player->devices[i])
            vidmm_device_destroy(player->devices[i]);
        player->devices[i] = NULL;
    }
    if (!player_wait_idle(player)) /* ... and for all contexts of a device */
        return false;
    for (uint32_t i = 0; i < workload->process_count; i++) {
        if (player->processes[i])
            vidmm_process_destroy(player->processes[i]);
        player->processes[i] = NULL;
    }
    return player_wait_idle(player);
}

static size_t context_words(const struct workload *workload)
{
    return workload->context_count / 64 + 1;
}

NTSTATUS player_create(const struct player_config *config, struct player **out_player)
{
    const struct base_services *services = machine_services(config->machine);
    const struct workload *workload = config->workload;
    struct player *player = base_alloc(services, sizeof *player);

    *out_player = NULL;
    if (!player)
        return STATUS_NO_MEMORY;
    player->config = *config;
    player->services = services;
    player->workload = workload;
    player->result = config->result;
    player->vidmm = config->vidmm;
    player->machine = config->machine;
    player->oracle = config->oracle;
    player->is_virtual = vidmm_is_virtual(config->vidmm);
    player->has_page_tables = vidmm_has_page_tables(config->vidmm);
    player->protections =
        config->run->mmu.has_plain_entries
            ? 0
            : WORKLOAD_PROTECT_READ_ONLY | WORKLOAD_PROTECT_NO_EXECUTE | WORKLOAD_PROTECT_ZERO;
    player->queue_depth = config->run->queue_depth;
    player->next_token = 1;
    player->next_tag = FIRST_TAG;
    player->shown = WORKLOAD_NONE;
    list_init(&player->memories);
    player->processes =
        base_alloc_array(services, workload->process_count, sizeof *player->processes);
    player->devices = base_alloc_array(services, workload->device_count, sizeof *player->devices);
    player->contexts =
        base_alloc_array(services, workload->context_count, sizeof *player->contexts);
    player->allocations =
        base_alloc_array(services, workload->allocation_count + 1, sizeof *player->allocations);
    player->live_handles =
        base_alloc_array(services, workload->allocation_count + 1, sizeof *player->live_handles);
    player->stirring_contexts =
        base_alloc_array(services, context_words(workload), sizeof *player->stirring_contexts);
    if (!player->processes || !player->devices || !player->contexts || !player->allocations ||
        !player->live_handles || !player->stirring_contexts) {
        player_destroy(player);
        return STATUS_NO_MEMORY;
    }
    for (uint32_t i = 0; i < workload->context_count; i++)
        list_init(&player->contexts[i].submissions);
    player_measure_commands(player);
    *out_player = player;
    return STATUS_SUCCESS;
}

void player_destroy(struct player *player)
{
    const struct base_services *services;
    const struct workload *workload;

    if (!player)
        return;
    services = player->services;
    workload = player->workload;
    player_stop_watchdog(player);
    player_stop_preemptions(player);
    machine_cancel(player->machine, &player->removal);
    if (player->config.nt)
        nt_cancel_deferred(player->config.nt, &player->late_removal);
    if (player->contexts)
        player_abandon_submissions(player);
    player_free_memories(player);
    for (uint32_t i = 0; player->allocations && i < workload->allocation_count; i++) {
        struct player_allocation *entry = &player->allocations[i];

        while (entry->mappings) {
            struct player_mapping *mapping = entry->mappings;

            entry->mappings = mapping->next;
            base_free(services, mapping, sizeof *mapping);
        }
        while (entry->holds) {
            struct player_hold *hold = entry->holds;

            entry->holds = hold->next;
            base_free(services, hold, sizeof *hold);
        }
    }
    player_forecast_end(player);
    base_free(services, player->command, player->command_room);
    base_free_array(services, player->processes, workload->process_count,
                    sizeof *player->processes);
    base_free_array(services, player->devices, workload->device_count, sizeof *player->devices);
    base_free_array(services, player->contexts, workload->context_count, sizeof *player->contexts);
    base_free_array(services, player->allocations, workload->allocation_count + 1,
                    sizeof *player->allocations);
    base_free_array(services, player->live_handles, workload->allocation_count + 1,
                    sizeof *player->live_handles);
    base_free_array(services, player->stirring_contexts, context_words(workload),
                    sizeof *player->stirring_contexts);
    base_free(services, player, sizeof *player);
}
