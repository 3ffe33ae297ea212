/*
 * One run, from an empty machine to a result.
 *
 * The order of going up; each part stands on those above it here. Down is the reverse:
 *
 *     machine, GPU                   the hardware
 *     oracle                         told by player and GPU, looks through its layer
 *     kernel services, host          what the driver links against and is called from
 *     driver, layers                 the stack of miniports (run_stack.c)
 *     memory manager                 borrows the stack
 *     player                         borrows everything
 *
 * The manager allocates from memory of its own, so that a test can fail its n-th allocation and
 * nobody else's, and a leak has an owner. If the run ends where nothing can be taken down in order
 * (the driver stopped the machine, or something hangs for good), both memories are given up whole.
 */
#include "bench/drivers/driver_image.h"
#include "bench/drivers/drivers.h"
#include "bench/run/run.h"
#include "bench/run/run_private.h"

#include "bench/board/client_file.h"
#include "bench/board/foreign_registers.h"
#include "bench/board/policy_file.h"

#include "base/hash.h"
#include "bench/child/crash_recorder.h"
#include "bench/child/journal.h"
#include "bench/run/host_lack.h"
#include "machine/signal_hook.h"
#include "miniport/raw.h"
#include "trace/trace.h"
#include "nt/machine/trap.h"
#include "nt/memory/device_memory.h"
#include "nt/memory/save_area.h"
#include "workload/summary.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A longer run is not repeated unasked: its slowdown is told against the sum of durations. */
#define REFERENCE_CALLS 200000u

static double wall_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/*
 * The kernel keeps a high-water mark of the process and resets it when asked. Its files are opened
 * once in a process: out of a cage nothing can be opened.
 */
static struct {
    pid_t process;
    int reset, status;
} peak_files;

static void open_peak_files(void)
{
    if (peak_files.process == getpid())
        return;
    if (peak_files.process) {
        close(peak_files.reset);
        close(peak_files.status);
    }
    peak_files.process = getpid();
    peak_files.reset = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    peak_files.status = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
}

static void reset_peak_memory(void)
{
    open_peak_files();
    if (write(peak_files.reset, "5", 1) != 1)
        return; /* a kernel without it: the mark stays */
}

static uint64_t peak_memory(void)
{
    static const char name[] = "VmHWM:";
    char text[4096];
    ssize_t got = pread(peak_files.status, text, sizeof text - 1, 0);
    const char *line;

    text[got > 0 ? got : 0] = '\0';
    line = strstr(text, name);
    return line ? strtoull(line + strlen(name), NULL, 10) * KiB : 0;
}

/* ---- Going up -------------------------------------------------------------------------------- */

static bool raise_oracle(struct run_assembly *run)
{
    struct workload_summary summary;
    struct oracle_config config;
    uint64_t total = 0;
    NTSTATUS status;

    if (!run->config->checks_content)
        return true;
    workload_summarise(run->workload, &summary);
    for (uint32_t i = 0; i < run->workload->allocation_count; i++)
        total += align_up(run->workload->allocations[i].size, PAGE_BYTES);
    config = (struct oracle_config){
        .services = &run->own.services,
        .context = run,
        .report = run_report_content,
        .judges_reports = !run->gpu && !run->plugin,
        .ram = machine_ram(run->machine),
        .local = machine_local(run->machine),
        .initial_pattern = run->config->fill_pattern,
        .expected_bytes = max_u64(min_u64(total, 4 * summary.peak_live_bytes) + GiB, GiB),
        .counts = &run->result->rules,
    };
    run_hardware_for_oracle(run, &config);
    status = oracle_create(&config, &run->oracle);
    if (!NT_SUCCESS(status))
        return run_refuse(run, "no memory to follow the content of the run");
    return true;
}

static void on_paging_wait(void *context, const struct vidmm_device *device, uint64_t value,
                           bool is_over)
{
    struct run_assembly *run = context;

    run_record_manager_paging_wait(&run->managers_record, device, value, is_over);
}

/* Data and commands for the Drydock GPU are in a language that the bench itself speaks. */
static bool raise_client(struct run_assembly *run)
{
    char why[CLIENT_FILE_ERROR_BYTES];
    const struct drydock_client *client;

    if (!run->config->client_file)
        return true;
    if (!client_file_load(&run->own.services, run->config->client_file, run->config->seed,
                          &run->client, why))
        return run_refuse(run, "%s", why);
    client = client_file_table(run->client);
    if (run->gpu && (client->allocation_data || client->context_data || client->commands))
        return run_refuse(run,
                          "client '%s' makes private data or commands, which the Drydock GPU's own "
                          "client does; --gpu names another GPU",
                          client->name);
    return true;
}

/* Objects in files are loaded before a driver image is: then the process loads no other. */
static bool raise_files(struct run_assembly *run)
{
    char why[POLICY_FILE_ERROR_BYTES];

    if (run->config->policy_file && !policy_file_load(run->config->policy_file, why))
        return run_refuse(run, "%s", why);
    return run->guest || raise_client(run);
}

static bool raise_player(struct run_assembly *run)
{
    const struct player_config player_config = {
        .run = run->config,
        .workload = run->workload,
        .machine = run->machine,
        .gpu = run->gpu,
        .nt = run->nt,
        .plugin = run->plugin,
        .client = run->client,
        .vidmm = run->vidmm,
        .platform = &run->vidmm_platform,
        .oracle = run->oracle,
        .check = run->check,
        .result = run->result,
        .paging_wait = on_paging_wait,
        .context = run,
    };

    if (!NT_SUCCESS(player_create(&player_config, &run->player)))
        return run_refuse(run, "no memory to play the workload");
    return true;
}

/* ---- The run --------------------------------------------------------------------------------- */

/*
 * Nothing more happens: the driver owes something, or it is an error of ours. Where no call is
 * judged, the manager's word stands for what the driver owes; elsewhere the manager waits for
 * something that by the calls the driver does not owe.
 */
static void note_stuck(struct run_assembly *run, const char *text)
{
    char what[200], whole[sizeof run->result->error];
    const char *rule;

    run->is_driver_stuck = run->check && check_stands_still(run->check);
    if (run->is_driver_stuck)
        return;
    rule = vidmm_explain_wait(run->vidmm, what, sizeof what);
    if (rule && !run->check) {
        run->is_driver_stuck = true;
        snprintf(whole, sizeof whole, "%s: nothing is left that could happen", what);
        run_report_driver_error(run, rule, whole);
        return;
    }
    snprintf(whole, sizeof whole, "%s. The memory manager was to act: %s%s%s", text, what,
             rule ? "; by its calls the driver owes nothing of the kind, " : "", rule ? rule : "");
    run_break(run, whole);
}

static void note_stop(struct run_assembly *run)
{
    char text[512];

    switch (player_stop_reason(run->player, text)) {
    case PLAYER_NOT_STOPPED:
        break;
    case PLAYER_OBJECT:
    case PLAYER_CLIENT:
        run_refuse(run, "%s", text);
        break;
    case PLAYER_FAULTED:
        run_result_report(run->result, RUN_FINDING_FAULT, 0, machine_now(run->machine), "%s", text);
        break;
    case PLAYER_STUCK:
        note_stuck(run, text);
        break;
    case PLAYER_ENDED:
        break; /* as the case says: everything has to be taken down without a trace */
    }
}

static void collect(struct run_assembly *run)
{
    struct run_result *result = run->result;
    const struct trace_counters *calls = miniport_trace_counters(run->trace);
    struct hash digest;

    if (run->vidmm)
        result->statistics = *vidmm_statistics(run->vidmm);
    if (run->gpu)
        sgpu_get_statistics(run->gpu, &result->gpu);
    result->interrupts = machine_interrupt_count(run->machine);
    result->link_to_device_bytes = machine_link_to_device(run->machine)->carried_bytes;
    result->link_from_device_bytes = machine_link_from_device(run->machine)->carried_bytes;
    for (unsigned id = 1; run->vidmm && id <= vidmm_segment_count(run->vidmm) &&
                          result->segment_count < RUN_MAX_SEGMENTS;
         id++) {
        struct vidmm_segment_info info;

        vidmm_segment_info(run->vidmm, id, &info);
        result->segments[result->segment_count++] =
            (struct run_segment){id, info.is_aperture, info.size, info.peak_used};
    }
    for (unsigned i = 0; i < MINIPORT_DDI_COUNT && result->ddi_count < RUN_MAX_DDI; i++) {
        result->ddi_names[result->ddi_count] = miniport_ddi_name((enum miniport_ddi)i);
        result->ddi_calls[result->ddi_count++] = calls->calls[i];
    }
    if (run->oracle) {
        const struct oracle_counters *content = oracle_counters(run->oracle);
        uint64_t problems = 0;

        for (unsigned i = 0; i < ORACLE_PROBLEM_COUNT; i++)
            problems += content->problems[i];
        result->pages_checked = content->pages_checked;
        result->lost_pages = content->lost_pages;
        result->lost_pages_read = content->lost_pages_read;
        result->mismatches = problems;
        /* Not all are told one by one; rules that pages show to be broken are among those told. */
        result->finding_totals[RUN_FINDING_CONTENT] =
            max_u64(problems, result->finding_totals[RUN_FINDING_CONTENT]);
        if (content->lost_operations)
            run_break(run, "the oracle ran out of memory and lost sight of operations");
    }
    /* The calls in order, the work that the device retired, the bytes that were read and left. */
    hash_init(&digest, 0);
    hash_update_u64(&digest, hash_final(&run->events.hash));
    hash_update_u64(&digest, machine_digest(run->machine));
    hash_update_u64(&digest, result->virtual_time_ns);
    hash_update_u64(&digest, result->pages_checked);
    hash_update_u64(&digest, result->mismatches);
    hash_update_u64(&digest, result->translations_checked);
    hash_update_u64(&digest, result->translation_mismatches);
    /* What manager, device and player have counted: each a row of 64-bit numbers. */
    hash_update(&digest, &result->statistics, sizeof result->statistics);
    hash_update(&digest, &result->gpu, sizeof result->gpu);
    hash_update_u64(&digest, result->interrupts);
    hash_update_u64(&digest, result->link_to_device_bytes);
    hash_update_u64(&digest, result->link_from_device_bytes);
    for (unsigned i = 0; i < result->segment_count; i++)
        hash_update_u64(&digest, result->segments[i].peak_used);
    for (unsigned i = 0; i < result->eviction_reason_count; i++)
        hash_update_u64(&digest, result->evictions_by_reason[i]);
    hash_update_u64(&digest, result->lost_pages);
    hash_update_u64(&digest, result->lost_pages_read);
    hash_update_u64(&digest, result->submissions);
    hash_update_u64(&digest, result->failed_submissions);
    hash_update_u64(&digest, result->retried_submissions);
    hash_update_u64(&digest, result->aborted_submissions);
    hash_update_u64(&digest, result->device_errors);
    hash_update_u64(&digest, result->reclaims);
    hash_update_u64(&digest, result->reclaims_discarded);
    result->digest = hash_final(&digest);
}

static void play(struct run_assembly *run)
{
    double start = wall_now();
    bool done;

    if (run->is_display_only) {
        run_play_screen(run);
        run->result->play_wall_seconds = wall_now() - start;
        collect(run);
        return;
    }
    if (run->guest) {
        const struct run_board board = {
            .machine = run->machine,
            .vidmm = run->vidmm,
            .check = run->check,
            .config = run->config,
            .result = run->result,
            .miniport = run->top,
            .plugin = run->plugin,
            .record = &run->managers_record,
        };
        const uint64_t start_ns = machine_now(run->machine);

        run->guest->play(run->guest->context, &board);
        run->result->virtual_time_ns = machine_now(run->machine) - start_ns;
        done = true;
    } else {
        done = player_play(run->player, UINT32_MAX);
    }
    run->result->play_wall_seconds = wall_now() - start;
    if (!done)
        note_stop(run);
    else if (run->oracle)
        oracle_final_check(run->oracle);
    if (done && !vidmm_check(run->vidmm))
        run_break(run, "the memory manager's account is not whole (vidmm_check())");
    collect(run);
}

/* ---- Going down ------------------------------------------------------------------------------ */

/*
 * Destroys what the player and the manager hold. False: it cannot, because something hangs. After a
 * fault that is no news: the engine stands still, and resetting it is not this bench's to do.
 */
static bool lower_manager(struct run_assembly *run)
{
    char text[512];

    if (run->player) {
        enum player_stop stop = player_stop_reason(run->player, text);

        if (stop != PLAYER_NOT_STOPPED && run->is_manager_started)
            player_give_up(run->player);
        if (run->is_manager_started && !player_take_down(run->player)) {
            player_stop_reason(run->player, text);
            if (stop != PLAYER_FAULTED && !run->is_driver_stuck)
                note_stuck(run, text);
            return false;
        }
        player_destroy(run->player);
        run->player = NULL;
    }
    if (run->is_manager_started)
        vidmm_stop(run->vidmm);
    run->is_manager_started = false;
    if (run->vidmm) {
        host_set_manager(&run->host, NULL);
        vidmm_destroy(run->vidmm);
        run->vidmm = NULL;
    }
    if (run->has_platform) {
        run_report_leak(run, "mappings of the memory manager", run->platform.mapping_count, 0);
        if (run->config->remaps_dma) /* its logical addresses go with the platform */
            nt_set_save_area(run->nt, 0);
        nt_set_device_pages(run->nt, NULL);
        platform_fini(&run->platform);
        run->has_platform = false;
        run_report_leak(run, "blocks of the memory manager", run->managers.live_blocks,
                        run->managers.live_bytes);
    }
    return true;
}

/*
 * Plays the lines in front of the restart, if there is one, and lets the manager and the device go
 * and come again. False: the run has ended.
 */
static bool play_and_restart(struct run_assembly *run)
{
    const unsigned lines = run->config->restart_after;

    if (!lines || run->is_display_only)
        return true;
    if (!player_play(run->player, lines)) {
        note_stop(run);
        collect(run);
        return false;
    }
    run->result->step_count = 0;
    return lower_manager(run) && run_restart_device(run) && run_raise_manager(run) &&
           raise_player(run);
}

static void lower_check(struct run_assembly *run, bool is_orderly)
{
    if (!run->check)
        return;
    crash_recorder_set_check(NULL);
    check_end(run->check, is_orderly);
    if (!check_is_whole(run->check))
        run_break(run, "the checking layer ran out of memory and lost sight of calls");
    check_destroy(run->check);
    run->check = NULL;
}

/* Findings get the name of the driver's function that they are about, while the image is loaded. */
static void name_functions(struct run_assembly *run)
{
    for (unsigned i = 0; i < run->result->finding_count; i++) {
        struct finding_detail *detail = &run->result->findings[i].detail;

        driver_image_function(run->image, detail->where, detail->function, sizeof detail->function);
    }
}

static void unload(void *context)
{
    miniport_raw_unload(((struct run_assembly *)context)->raw);
}

/* Where a driver's own handler stands in the place of the bench's, nobody sees its faults. */
static void unload_image(struct run_assembly *run)
{
    const int lost = run->image ? signal_hook_find_lost() : 0;

    if (lost)
        run_result_report(
            run->result, RUN_FINDING_HOSTILE, 0, machine_now(run->machine),
            "the driver has taken over signal %d (%s), by which the bench learns what "
            "the processor refuses",
            lost, strsignal(lost));
    driver_image_unload(run->image);
}

static void lower_driver(struct run_assembly *run)
{
    if (run->is_started && run->screen)
        run_stop_screen(run);
    else if (run->is_started)
        run->top->ops->stop_device(run->top);
    if (run->nt)
        nt_set_save_area(run->nt, 0);
    if (run->is_added)
        run->top->ops->remove_device(run->top);
    retold_unload(run->retold);
    if (run->raw) {
        run->is_in_unload = true;
        recorder_begin(run->recorder);
        if (!nt_unload_driver(run->nt, unload, run))
            run_break(run, "no memory to call the driver's Unload");
        recorder_end(run->recorder, NULL);
        run->is_in_unload = false;
    }
    if (run->has_host) {
        host_set_miniport(&run->host, NULL);
        run_report_driver_leaks(run, "everything was destroyed", true);
        host_fini(&run->host);
    }
    run_lower_screen(run);
    miniport_destroy(run->top);
    run_lower_transcript(run);
    lower_check(run, true);
    name_functions(run);
    unload_image(run);
    if (run->nt) {
        trap_remove(run->nt);
        nt_bind(run->previous_nt);
        nt_destroy(run->nt);
    }
}

/* The digest goes on with what takes everything down: calls, and writes to registers. */
static void enter_end(struct run_assembly *run)
{
    struct hash digest;

    hash_init(&digest, run->result->digest);
    hash_update_u64(&digest, hash_final(&run->events.hash));
    hash_update_u64(&digest, machine_digest(run->machine));
    hash_update_u64(&digest, machine_now(run->machine));
    run->result->digest = hash_final(&digest);
}

static void lower_hardware(struct run_assembly *run)
{
    if (run->machine && run->result->digest)
        enter_end(run);
    oracle_destroy(run->oracle);
    if (run->gpu)
        sgpu_destroy(run->gpu);
    client_file_unload(run->client);
    gpu_plugin_unload(run->plugin);
    foreign_registers_close(run->registers);
    if (run->machine) {
        run_report_leak(run, "system pages", machine_allocated_pages(run->machine),
                        machine_allocated_pages(run->machine) * PAGE_BYTES);
        machine_destroy(run->machine);
        run->machine = NULL;
    }
}

/*
 * Nothing can be taken down in order: what holds host memory elsewhere goes, then the rest whole.
 */
static void give_everything_up(struct run_assembly *run)
{
    if (run->nt)
        nt_end_threads(run->nt);
    run_lower_screen(run);
    miniport_destroy(run->top);
    run_lower_transcript(run);
    lower_check(run, false);
    name_functions(run);
    unload_image(run);
    trap_remove(run->nt);
    nt_bind(run->previous_nt);
    if (run->has_platform)
        platform_fini(&run->platform);
    gpu_plugin_unload(run->plugin);
    machine_destroy(run->machine);
    if (run->nt)
        nt_give_up_addresses(run->nt);
    run_memory_free_all(&run->managers);
    run_memory_free_all(&run->own);
}

static bool assemble(struct run_assembly *run)
{
    if (!run_raise_hardware(run))
        return false;
    run->writers = run_writers_create(run->config->watched);
    run_writers_set_machine(run->writers, run->machine);
    if (!raise_oracle(run) || !raise_files(run) || !run_raise_driver(run))
        return false;
    if (run->is_display_only)
        return !run->guest || run_refuse(run, "a display-only driver serves no client processes");
    return run_is_of_model(run) && run_raise_manager(run) && (run->guest || raise_player(run));
}

static void execute_once(const struct run_config *config, const struct workload *workload,
                         const struct run_guest *guest, struct run_result *result)
{
    struct run_assembly *run = calloc(1, sizeof *run);
    struct workload_summary summary;
    double start = wall_now();
    const char *lack;

    memset(result, 0, sizeof *result);
    result->config = *config;
    run_config_complete(&result->config, workload);
    snprintf(result->case_name, sizeof result->case_name, "%s",
             workload->name[0] ? workload->name : workload->path);
    result->process_count = (unsigned)min_u64(workload->process_count, RUN_MAX_PROCESSES);
    for (unsigned i = 0; i < result->process_count; i++)
        snprintf(result->processes[i].name, sizeof result->processes[i].name, "%s",
                 workload_string(workload, workload->processes[i].name));
    workload_summarise(workload, &summary);
    result->steps = calloc((size_t)summary.step_count + 1, sizeof *result->steps);
    if (!run || !result->steps) {
        result->outcome = RUN_REFUSED;
        snprintf(result->error, sizeof result->error, "no memory");
        free(run);
        return;
    }
    run->config = &result->config;
    run->workload = workload;
    run->guest = guest;
    run->result = result;
    journal_begin_run(result);
    run_memory_init(&run->own);
    run_memory_init(&run->managers);
    reset_peak_memory();

    if (setjmp(run->bug_check) == 0) {
        if (assemble(run) && play_and_restart(run))
            play(run);
        run_record_stage(&run->record, "end");
        if (lower_manager(run)) {
            lower_driver(run);
            lower_hardware(run);
            if (run->own.live_blocks)
                run_break(run, "blocks of the bench are left after the run");
        } else {
            give_everything_up(run);
        }
    } else {
        miniport_raw_abandon();
        if (run->nt)
            nt_abandon(run->nt);
        if (run->machine)
            machine_forget_events(run->machine); /* waits lie on stacks that are gone */
        driver_image_abandon(run->image);
        run_record_stage(&run->record, "end");
        give_everything_up(run);
    }
    lack = host_lack();
    if (lack && result->outcome != RUN_REFUSED)
        run_refuse(run, "%s", lack);
    run_writers_tell(run->writers, result);
    run_writers_destroy(run->writers);
    result->has_failed_allocation = run->managers.has_failed;
    run_memory_free_all(&run->managers);
    run_memory_free_all(&run->own);
    run_settle_outcome(result);
    run_result_find_causes(result);
    run_record_manager_fini(&run->managers_record);
    run_record_close(&run->record);
    free(run);
    journal_end_run();
    result->wall_seconds = wall_now() - start;
    result->peak_process_bytes = peak_memory();
}

/*
 * The reference of the slowdown: the same workload where nothing has to leave local memory.
 * Its first uploads are in both times.
 */
static void run_reference(const struct workload *workload, struct run_result *result)
{
    struct run_config config = result->config;
    struct workload_summary summary;
    struct run_result reference;
    uint64_t hidden = config.local_bytes - config.visible_bytes;

    config.coverage = NULL;
    workload_summarise(workload, &summary);
    config.local_bytes =
        max_u64(config.local_bytes, align_up(2 * summary.peak_live_bytes, MiB) + 256 * MiB);
    config.visible_bytes = hidden ? config.visible_bytes : config.local_bytes;
    config.local_limit = 0;
    config.checks_content = false;
    config.checks_rules = false;
    config.hashes_calls = false;
    config.record_file = 0;
    config.transcript_file = 0;
    config.watched = NULL;
    config.tamper = NULL;
    config.add_layer = NULL;
    config.fail_allocation = 0;
    config.progress = NULL;
    execute_once(&config, workload, NULL, &reference);
    if (reference.outcome == RUN_CLEAN && reference.virtual_time_ns) {
        result->reference_ns = reference.virtual_time_ns;
        result->reference_wall_seconds = reference.wall_seconds;
        for (uint32_t i = 0; i < result->step_count && i < reference.step_count; i++)
            result->steps[i].reference_ns = reference.steps[i].end_ns - reference.steps[i].start_ns;
    }
    run_result_fini(&reference);
}

enum run_outcome run_execute(const struct run_config *config, const struct workload *workload,
                             struct run_result *out_result)
{
    execute_once(config, workload, NULL, out_result);
    if (config->reference != RUN_REFERENCE_NEVER &&
        (out_result->outcome == RUN_CLEAN || out_result->outcome == RUN_FINDINGS) &&
        out_result->statistics.moved_out_bytes &&
        (config->reference == RUN_REFERENCE_ALWAYS ||
         out_result->statistics.build_calls <= REFERENCE_CALLS))
        run_reference(workload, out_result);
    else if (out_result->outcome == RUN_CLEAN && !out_result->statistics.moved_out_bytes)
        out_result->reference_ns = out_result->virtual_time_ns; /* nothing was paged out */
    if (out_result->reference_ns) {
        out_result->is_slowdown_measured = true;
        out_result->slowdown =
            (double)out_result->virtual_time_ns / (double)out_result->reference_ns;
    } else if (out_result->kernel_ns) {
        out_result->slowdown = (double)out_result->virtual_time_ns / (double)out_result->kernel_ns;
    }
    return out_result->outcome;
}

enum run_outcome run_execute_guest(const struct run_config *config, const struct run_guest *guest,
                                   struct run_result *out_result)
{
    static const char nothing[] = "drydock-case 1\n";
    struct workload_error error;
    struct workload *workload;

    if (!workload_parse(nothing, sizeof nothing - 1, guest->name ? guest->name : "guest", &workload,
                        &error)) {
        memset(out_result, 0, sizeof *out_result);
        out_result->outcome = RUN_REFUSED;
        snprintf(out_result->error, sizeof out_result->error, "no memory");
        return RUN_REFUSED;
    }
    execute_once(config, workload, guest, out_result);
    for (uint32_t i = 0; i < out_result->step_count; i++)
        out_result->steps[i].name = NULL; /* lent by the workload */
    workload_free(workload);
    return out_result->outcome;
}
