/*
 * One run, from an empty machine to a result.
 *
 * What stands on what, and so the order of going up; down is the reverse:
 *
 *     machine, GPU                   the hardware
 *     kernel services, host          what the driver links against and is called from
 *     oracle                         told by player and GPU, looks through its layer
 *     driver > raw > [busy] > lend > check > levels > oracle > trace: the stack of miniports, the
 *     manager's end last
 *     memory manager                 borrows the stack
 *     player                         borrows everything
 *
 * The manager allocates from memory of its own, so that a test can fail its n-th allocation and
 * nobody else's, and a leak has an owner. If the run ends where nothing can be taken down in order
 * (the driver stopped the machine, or something hangs for good), both memories are given up whole.
 */
#include "bench/board/bare_device.h"
#include "bench/drivers/driver_image.h"
#include "bench/drivers/drivers.h"
#include "bench/run/run.h"
#include "bench/run/run_private.h"

#include "base/assert.h"
#include "base/hash.h"
#include "bench/config/run_mmu.h"
#include "bench/child/vigil.h"
#include "miniport/raw.h"
#include "trace/trace.h"
#include "nt/machine/trap.h"
#include "workload/summary.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A longer run is not repeated unasked: its slowdown is told against the sum of durations. */
#define REFERENCE_CALLS 200000u

/* Allocations of the driver before the one that fails. */
#define MOST_POOL_BEFORE_FAILURE 200u

static double wall_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The kernel keeps a high-water mark of the process and resets it when asked. */
static void reset_peak_memory(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");

    if (!file)
        return;
    fputs("5", file);
    fclose(file);
}

static uint64_t peak_memory(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    unsigned long long kilobytes = 0;
    char line[256];

    if (!file)
        return 0;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "VmHWM: %llu", &kilobytes) == 1)
            break;
    }
    fclose(file);
    return kilobytes * KiB;
}

bool run_refuse(struct run_assembly *run, const char *format, ...)
{
    va_list arguments;

    run->result->outcome = RUN_REFUSED;
    va_start(arguments, format);
    vsnprintf(run->result->error, sizeof run->result->error, format, arguments);
    va_end(arguments);
    return false;
}

static bool broken(struct run_assembly *run, const char *text)
{
    if (run->result->outcome != RUN_BROKEN)
        snprintf(run->result->error, sizeof run->result->error, "%s", text);
    run->result->outcome = RUN_BROKEN;
    return false;
}

/* ---- Going up -------------------------------------------------------------------------------- */

static uint32_t straps_of(const struct run_config *config)
{
    static const uint32_t modes[] = {
        [RUN_UPDATE_GPU_VIRTUAL] = SGPU_STRAP_UPDATE_GPU_VIRTUAL,
        [RUN_UPDATE_GPU_PHYSICAL] = SGPU_STRAP_UPDATE_GPU_PHYSICAL,
        [RUN_UPDATE_CPU] = SGPU_STRAP_UPDATE_CPU,
    };

    return modes[config->update_mode] << SGPU_STRAP_UPDATE_MODE_SHIFT |
           (config->has_tables_in_system_memory ? SGPU_STRAP_TABLES_IN_SYSTEM : 0) |
           run_mmu_straps(&config->mmu) |
           (config->has_host_aperture && config->model != RUN_PHYSICAL ? SGPU_STRAP_HOST_APERTURE
                                                                       : 0) |
           (config->tells_tables_in_transfer ? SGPU_STRAP_TABLES_IN_COPY : 0) |
           (config->has_coherent_aperture ? SGPU_STRAP_COHERENT_APERTURE : 0) |
           (config->native_fences ? SGPU_STRAP_FENCE_UNIT : 0) |
           (config->pages_through_aperture ? SGPU_STRAP_PAGING_APERTURE : 0) |
           (config->has_banks && config->model == RUN_PHYSICAL ? SGPU_STRAP_BANKS : 0) |
           (config->has_pitch ? SGPU_STRAP_PITCH : 0) |
           (config->evicts_through_aperture ? SGPU_STRAP_SLOW_LISTS : 0) |
           (config->has_no_ranges ? SGPU_STRAP_NO_RANGES : 0) |
           (config->preserve ? SGPU_STRAP_KEEPS_STANDBY : 0) |
           (config->preserve > RUN_PRESERVE_STANDBY ? SGPU_STRAP_KEEPS_HIBERNATE : 0);
}

_Static_assert(WORKLOAD_MAX_NODES == SGPU_MAX_NODES, "cases name no node that no GPU has");

/* What drivers of WDDM 2 can keep the manager out of; the eighth keeps such ranges apart. */
static uint64_t reserved_bytes(const struct run_config *config, uint64_t bytes)
{
    return config->model == RUN_GPUMMU
               ? align_down(min_u64(bytes, config->local_bytes / 8), 64 * KiB)
               : 0;
}

/* What the case asks of the manager that it would have to guess at. */
static bool can_be_followed(struct run_assembly *run)
{
    const char *flag = run_config_refused_flag(run->workload);

    return !flag ||
           run_refuse(run,
                      "flag '%s' of allocations: the documents say what must not be set with it, "
                      "not what becomes of such content when it is paged (expected a case "
                      "without it)",
                      flag);
}

static bool raise_hardware(struct run_assembly *run)
{
    const struct run_config *config = run->config;
    struct sgpu_config gpu_config = {
        .straps = straps_of(config),
        .kept_bytes = config->preserve == RUN_PRESERVE_PART
                          ? align_up(config->local_bytes / 4, PAGE_BYTES)
                          : 0,
        .node_count = config->node_count,
        .traits = config->local_traits,
        .protected_offset = align_down(config->local_bytes / 4, 64 * KiB),
        .protected_bytes = reserved_bytes(config, config->protected_bytes),
        .picture_offset = align_down(config->local_bytes / 4 * 3, 64 * KiB),
        .picture_bytes = reserved_bytes(config, config->picture_bytes),
        .dead_offset = align_down(config->local_bytes / 2, 64 * KiB),
        /* A driver can report it from WDDM 2.0 on; before, such a board cannot be sold. */
        .dead_bytes = config->model == RUN_PHYSICAL ? 0 : config->dead_bytes,
    };
    struct machine_config machine_config;
    struct workload_summary summary;
    char why[GPU_PLUGIN_ERROR_BYTES];

    workload_summarise(run->workload, &summary);
    if (summary.peak_live_bytes > RUN_MAX_BYTES || config->ram_bytes > RUN_MAX_BYTES)
        return run_refuse(run,
                          "too much memory: %llu bytes are alive at the peak of the case, and the "
                          "machine has %llu bytes of system memory (expected at most %llu each)",
                          (unsigned long long)summary.peak_live_bytes,
                          (unsigned long long)config->ram_bytes, (unsigned long long)RUN_MAX_BYTES);
    run_mmu_index_bits(&config->mmu, gpu_config.index_bits);
    machine_config_defaults(&machine_config, config->seed);
    machine_config.ram_bytes = config->ram_bytes;
    machine_config.local_bytes = config->local_bytes;
    machine_config.visible_bytes = config->visible_bytes;
    machine_config.aperture_bytes = config->aperture_bytes;
    machine_config.scatter = config->scatter;
    machine_config.jitter_ns = config->jitter_ns;
    if (config->link_bytes_per_second)
        machine_config.pcie_bytes_per_second = config->link_bytes_per_second;
    if (config->local_bytes_per_second)
        machine_config.local_bytes_per_second = config->local_bytes_per_second;
    run->machine = machine_create(&run->own.services, &machine_config);
    if (!run->machine)
        return run_refuse(
            run,
            "no machine with %llu bytes of system memory, %llu bytes of local memory "
            "(%llu visible) and an aperture of %llu bytes",
            (unsigned long long)config->ram_bytes, (unsigned long long)config->local_bytes,
            (unsigned long long)config->visible_bytes, (unsigned long long)config->aperture_bytes);
    if (config->node_count < 2 || config->node_count > SGPU_MAX_NODES)
        return run_refuse(run, "no GPU with %u nodes (expected 2 to %u)", config->node_count,
                          SGPU_MAX_NODES);
    if (strcmp(config->gpu, RUN_GPU_NONE) == 0)
        return bare_registers_open(run->machine) || run_refuse(run, "no memory for the registers");
    if (gpu_plugin_is_path(config->gpu))
        return gpu_plugin_load(&run->own.services, config->gpu, run->machine, &run->plugin, why) ||
               run_refuse(run, "%s", why);
    if (strcmp(config->gpu, RUN_GPU_DRYDOCK) != 0)
        return run_refuse(run,
                          "there is no GPU '%s' (expected sgpu, none, or the path of a model: "
                          "./mygpu.so)",
                          config->gpu);
    run->gpu = sgpu_create(run->machine, &gpu_config);
    if (!run->gpu)
        return run_refuse(run, "no memory for the GPU");
    return true;
}

static bool raise_oracle(struct run_assembly *run)
{
    struct workload_summary summary;
    struct oracle_config config;
    uint64_t total = 0;
    NTSTATUS status;

    if (run->gpu)
        sgpu_set_observer(run->gpu, run_tell_gpu(run->config->checks_content), run);
    if (run->plugin) {
        const struct gpu_plugin_observer observer = run_tell_plugin(run);

        gpu_plugin_set_observer(run->plugin, &observer);
    }
    if (!run->config->checks_content)
        return true;
    workload_summarise(run->workload, &summary);
    for (uint32_t i = 0; i < run->workload->allocation_count; i++)
        total += align_up(run->workload->allocations[i].size, PAGE_BYTES);
    config = (struct oracle_config){
        .services = &run->own.services,
        .ram = machine_ram(run->machine),
        .local = machine_local(run->machine),
        .initial_pattern = run->config->fill_pattern,
        .expected_bytes = max_u64(min_u64(total, 4 * summary.peak_live_bytes) + GiB, GiB),
        .counts = &run->result->rules,
    };
    run_tell_oracle(run, &config);
    status = oracle_create(&config, &run->oracle);
    if (!NT_SUCCESS(status))
        return run_refuse(run, "no memory to follow the content of the run");
    return true;
}

static bool raise_manager(struct run_assembly *run)
{
    const struct run_config *config = run->config;
    struct vidmm_failure failure = {0};
    struct vidmm_config manager_config = {
        .events = run_tell_manager(run),
        .paging_buffer_count = config->paging_buffer_count,
        .paging_buffer_bytes = config->paging_buffer_bytes,
        .hardware_queue_depth = config->hardware_queue_depth,
        .switches_to_null_context = config->switches_to_null_context,
        .frees_empty_tables = config->mmu.frees_tables,
        .local_limit = config->local_limit,
        .fill_pattern = config->fill_pattern,
        .transfer_bytes = config->transfer_piece_bytes,
        .scratch_bytes = config->scratch_bytes,
        .announces_idle = config->announces_idle,
        .skips_patch_for_paging = config->skips_paging_patch,
        .marks_paging_only = config->marks_paging_only,
        .starts_as_observed = config->starts_as_observed,
        .hides_buffer_address = config->hides_buffer_address,
        .initialises_in_pieces = config->initialises_in_pieces,
        .pages_in_patched_only = config->pages_in_patched_only,
        .timeout_ns = config->timeout_ns,
        .timeout_limit = config->timeout_limit,
        .splits_dma_buffers = config->splits_dma_buffers,
        .renames = config->renames,
        .guarantees_one_buffer = config->guarantees_one_buffer,
        .inits_contexts_by_driver_handle = config->inits_by_driver_handle,
        .aperture_piece_pages = config->aperture_piece_bytes / PAGE_BYTES,
        .residency_part_pages = config->residency_part_bytes / PAGE_BYTES,
        .auxiliary_mmus = config->auxiliary_mmus,
        .native_fences = config->native_fences,
        .early = run->early,
        .resets_whole_adapter = config->resets_whole_adapter,
    };
    NTSTATUS status;

    if (config->hides_buffer_address && config->has_private_data && config->model == RUN_GPUMMU)
        return run_refuse(run, "paging-address none leaves a driver nothing but the private data "
                               "that it asks for, and private-data gives others");
    platform_init(&run->platform, run->machine, &run->managers.services);
    run->has_platform = true;
    run->platform.agp_bytes = config->model == RUN_PHYSICAL ? config->agp_bytes : 0;
    if (config->remaps_dma && !platform_remap_init(&run->platform.remap, run->machine))
        return run_refuse(run, "no memory for the IOMMU's logical addresses");
    manager_config.platform = platform_get(&run->platform);
    status = vidmm_create(run->top, &manager_config, &run->vidmm);
    if (!NT_SUCCESS(status))
        return run_refuse(run, "no memory for the memory manager");
    host_set_manager(&run->host, run->vidmm);
    run->managers.fail_at = config->fail_allocation;
    status = vidmm_start(run->vidmm, &failure);
    if (!NT_SUCCESS(status))
        return run_refuse(run, "the adapter did not start: %s%s%s%s", failure.rule,
                          failure.rule[0] ? ": " : "",
                          failure.text[0] ? failure.text : "no reason was given",
                          status == STATUS_NO_MEMORY                  ? " (no memory)"
                          : status == STATUS_GRAPHICS_NO_VIDEO_MEMORY ? " (too little local memory)"
                                                                      : "");
    run->is_manager_started = true;
    if (config->faults & RUN_FAULT_POOL)
        nt_pool_fail_at(run->nt, 1 + hash_u64(config->seed) % MOST_POOL_BEFORE_FAILURE);
    vidmm_paging_buffers(run->vidmm, &run->result->config.paging_buffer_count,
                         &run->result->config.paging_buffer_bytes);
    return true;
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
        .vidmm = run->vidmm,
        .oracle = run->oracle,
        .check = run->check,
        .result = run->result,
    };

    if (!NT_SUCCESS(player_create(&player_config, &run->player)))
        return run_refuse(run, "no memory to play the workload");
    return true;
}

/* ---- The run --------------------------------------------------------------------------------- */

static void note_stop(struct run_assembly *run)
{
    char text[512];

    switch (player_stop_reason(run->player, text)) {
    case PLAYER_NOT_STOPPED:
        break;
    case PLAYER_OBJECT:
        run_refuse(run, "%s", text);
        break;
    case PLAYER_FAULTED:
        run_result_report(run->result, RUN_FINDING_FAULT, 0, machine_now(run->machine), "%s", text);
        break;
    case PLAYER_STUCK:
        run->is_driver_stuck = run->check && check_stands_still(run->check);
        if (!run->is_driver_stuck)
            broken(run, text);
        break;
    case PLAYER_ENDED:
        break; /* as it should: what is left is to go without a trace */
    }
}

static void collect(struct run_assembly *run)
{
    struct run_result *result = run->result;
    const struct trace_counters *calls = miniport_trace_counters(run->trace);
    struct hash digest;

    result->statistics = *vidmm_statistics(run->vidmm);
    if (run->gpu)
        sgpu_get_statistics(run->gpu, &result->gpu);
    result->interrupts = machine_interrupt_count(run->machine);
    result->link_to_device_bytes = machine_link_to_device(run->machine)->carried_bytes;
    result->link_from_device_bytes = machine_link_from_device(run->machine)->carried_bytes;
    for (unsigned id = 1;
         id <= vidmm_segment_count(run->vidmm) && result->segment_count < RUN_MAX_SEGMENTS; id++) {
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
        result->finding_totals[RUN_FINDING_CONTENT] = problems;
        if (content->lost_operations)
            broken(run, "the oracle ran out of memory and lost sight of operations");
    }
    result->events_written = run->events.written;
    result->events_dropped = run->events.dropped;

    /* Calls in order, what the device retired, what was read and left in memory. */
    hash_init(&digest, 0);
    hash_update_u64(&digest, hash_final(&run->events.hash));
    hash_update_u64(&digest, machine_digest(run->machine));
    hash_update_u64(&digest, result->virtual_time_ns);
    hash_update_u64(&digest, result->pages_checked);
    hash_update_u64(&digest, result->mismatches);
    hash_update_u64(&digest, result->translations_checked);
    hash_update_u64(&digest, result->translation_mismatches);
    result->digest = hash_final(&digest);
}

static void play(struct run_assembly *run)
{
    double start = wall_now();
    bool done = player_play(run->player);

    run->result->play_wall_seconds = wall_now() - start;
    if (!done)
        note_stop(run);
    else if (run->oracle)
        oracle_final_check(run->oracle);
    if (done)
        vidmm_check(run->vidmm);
    collect(run);
}

/* ---- Going down ------------------------------------------------------------------------------ */

static void report_leak_after(struct run_assembly *run, const char *after, const char *what,
                              uint64_t count, uint64_t bytes)
{
    if (count)
        run_result_report(run->result, RUN_FINDING_LEAK, 0, machine_now(run->machine),
                          "%llu %s (%llu bytes) are left after %s", (unsigned long long)count, what,
                          (unsigned long long)bytes, after);
}

static void report_leak(struct run_assembly *run, const char *what, uint64_t count, uint64_t bytes)
{
    report_leak_after(run, "everything was destroyed", what, count, bytes);
}

static void report_leftover(void *context, const char *text)
{
    struct run_assembly *run = context;

    run_result_report(run->result, RUN_FINDING_LEAK, 0, machine_now(run->machine), "%s", text);
}

struct run_held run_what_driver_holds(const struct run_assembly *run)
{
    struct run_held held = {.blocks = nt_pool_live_blocks(run->nt),
                            .block_bytes = nt_pool_live_bytes(run->nt)};

    held.mappings = nt_mapping_count(run->nt, &held.mapping_bytes);
    held.lists = nt_held_list_count(run->nt, &held.list_bytes);
    return held;
}

/* What is there beyond what may be. */
static void report_more(struct run_assembly *run, const char *after, const char *what,
                        uint64_t count, uint64_t bytes, uint64_t kept, uint64_t kept_bytes)
{
    if (count > kept)
        report_leak_after(run, after, what, count - kept,
                          bytes > kept_bytes ? bytes - kept_bytes : 0);
}

void run_report_driver_leaks(struct run_assembly *run, const char *after, bool is_unloaded)
{
    const struct run_held now = run_what_driver_holds(run);
    const struct run_held kept = is_unloaded ? (struct run_held){0} : run->entered;
    uint64_t bytes, count = host_mapping_count(&run->host, &bytes);

    report_leak_after(run, after, "mappings of the driver's device", count, bytes);
    report_more(run, after, "blocks of the driver's pool", now.blocks, now.block_bytes, kept.blocks,
                kept.block_bytes);
    report_more(run, after, "mappings of the driver's", now.mappings, now.mapping_bytes,
                kept.mappings, kept.mapping_bytes);
    report_more(run, after, "MDLs of the driver's with pages", now.lists, now.list_bytes,
                kept.lists, kept.list_bytes);
    nt_for_each_leftover(run->nt, report_leftover, run);
}

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
            if (stop != PLAYER_FAULTED && !run->is_driver_stuck) {
                player_stop_reason(run->player, text);
                broken(run, text);
            }
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
        report_leak(run, "mappings of the memory manager", run->platform.mapping_count, 0);
        platform_fini(&run->platform);
        run->has_platform = false;
        report_leak(run, "blocks of the memory manager", run->managers.live_blocks,
                    run->managers.live_bytes);
    }
    return true;
}

static void lower_check(struct run_assembly *run, bool is_orderly)
{
    if (!run->check)
        return;
    vigil_watch(NULL);
    check_end(run->check, is_orderly);
    if (!check_is_whole(run->check))
        broken(run, "the checking layer ran out of memory and lost sight of calls");
    check_destroy(run->check);
    run->check = NULL;
}

/* Which of the driver's functions a finding is about; while it is known. */
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

static void lower_driver(struct run_assembly *run)
{
    if (run->is_started)
        run->top->ops->stop_device(run->top);
    if (run->is_added)
        run->top->ops->remove_device(run->top);
    if (run->raw) {
        run->is_in_unload = true;
        if (!nt_unload_driver(run->nt, unload, run))
            broken(run, "no memory to call the driver's Unload");
        run->is_in_unload = false;
    }
    if (run->has_host) {
        host_set_miniport(&run->host, NULL);
        run_report_driver_leaks(run, "everything was destroyed", true);
        host_fini(&run->host);
    }
    miniport_destroy(run->top);
    lower_check(run, true);
    name_functions(run);
    driver_image_unload(run->image);
    if (run->nt) {
        trap_remove(run->nt);
        nt_bind(run->previous_nt);
        nt_destroy(run->nt);
    }
}

static void lower_hardware(struct run_assembly *run)
{
    oracle_destroy(run->oracle);
    if (run->gpu)
        sgpu_destroy(run->gpu);
    gpu_plugin_unload(run->plugin);
    if (run->machine) {
        report_leak(run, "system pages", machine_allocated_pages(run->machine),
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
    miniport_destroy(run->top);
    lower_check(run, false);
    name_functions(run);
    driver_image_unload(run->image);
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
    return can_be_followed(run) && raise_hardware(run) && raise_oracle(run) &&
           run_raise_driver(run) && run_is_of_model(run) && raise_manager(run) && raise_player(run);
}

static void settle_outcome(struct run_result *result)
{
    if (result->outcome != RUN_CLEAN)
        return;
    for (unsigned i = 0; i < RUN_FINDING_KIND_COUNT; i++) {
        if (result->finding_totals[i])
            result->outcome = RUN_FINDINGS;
    }
}

static void execute_once(const struct run_config *config, const struct workload *workload,
                         struct run_result *result)
{
    struct run_assembly *run = calloc(1, sizeof *run);
    struct workload_summary summary;
    double start = wall_now();

    memset(result, 0, sizeof *result);
    result->config = *config;
    run_config_complete(&result->config, workload);
    snprintf(result->case_name, sizeof result->case_name, "%s",
             workload->name[0] ? workload->name : workload->path);
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
    run->result = result;
    run_memory_init(&run->own);
    run_memory_init(&run->managers);
    reset_peak_memory();

    if (setjmp(run->bug_check) == 0) {
        if (assemble(run))
            play(run);
        if (run->has_events)
            run_event_log_close(&run->events);
        if (lower_manager(run)) {
            lower_driver(run);
            lower_hardware(run);
            if (run->own.live_blocks)
                broken(run, "blocks of the bench are left after the run");
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
        if (run->has_events)
            run_event_log_close(&run->events);
        give_everything_up(run);
    }
    if (run->has_events && !run_event_log_end(&run->events))
        broken(run, "the list of calls could not be written");
    result->has_failed_allocation = run->managers.has_failed;
    run_memory_free_all(&run->managers);
    run_memory_free_all(&run->own);
    free(run);
    settle_outcome(result);
    result->wall_seconds = wall_now() - start;
    result->peak_process_bytes = peak_memory();
}

/*
 * The same workload where nothing has to leave local memory: what the slowdown is measured against.
 * Its first uploads are in both times.
 */
static void run_reference(const struct workload *workload, struct run_result *result)
{
    struct run_config config = result->config;
    struct workload_summary summary;
    struct run_result reference;
    uint64_t hidden = config.local_bytes - config.visible_bytes;

    workload_summarise(workload, &summary);
    config.local_bytes =
        max_u64(config.local_bytes, align_up(2 * summary.peak_live_bytes, MiB) + 256 * MiB);
    config.visible_bytes = hidden ? config.visible_bytes : config.local_bytes;
    config.local_limit = 0;
    config.checks_content = false;
    config.checks_rules = false;
    config.hashes_calls = false;
    config.events = RUN_EVENTS_NONE;
    config.calls_path = NULL;
    config.tamper = NULL;
    config.add_layer = NULL;
    config.fail_allocation = 0;
    config.progress = NULL;
    execute_once(&config, workload, &reference);
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
    execute_once(config, workload, out_result);
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
