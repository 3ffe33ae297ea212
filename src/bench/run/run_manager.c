/*
 * The memory manager of a run goes up. Its events go to the player, the checking layer, the oracle
 * and the counts of the result.
 */
#include "bench/run/run_private.h"

#include "bench/board/policy_file.h"
#include "check/report/decode.h"
#include "nt/memory/device_memory.h"
#include "nt/memory/save_area.h"
#include "vidmm/policy.h"

#include "base/bits.h"
#include "base/hash.h"

#include <string.h>

/* Allocations of the driver before the one that fails. */
#define MOST_POOL_BEFORE_FAILURE 200u

static void on_adapter_ended(void *context)
{
    struct run_assembly *run = context;

    if (run->player)
        player_adapter_ended(run->player);
}

static void on_page_fault(void *context, unsigned node, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct run_assembly *run = context;

    if (run->player &&
        !player_expects_fault(run->player, node, 0, data->DmaPageFaulted.FaultedVirtualAddress))
        player_note_fault(run->player);
}

static void on_evicted(void *context, struct vidmm_allocation *allocation, const char *reason)
{
    struct run_result *result = ((struct run_assembly *)context)->result;
    unsigned i = 0;

    while (i < result->eviction_reason_count && strcmp(result->eviction_reasons[i], reason) != 0)
        i++;
    if (i == ARRAY_COUNT(result->eviction_reasons))
        return;
    if (i == result->eviction_reason_count)
        result->eviction_reasons[result->eviction_reason_count++] = reason;
    result->evictions_by_reason[i]++;
}

static void on_departs(void *context, struct vidmm_allocation *allocation, enum vidmm_departure how)
{
    struct run_assembly *run = context;
    const void *name = allocation;

    if (run->check)
        check_client(run->check,
                     &(struct check_client_event){.kind = CHECK_CLIENT_DEPARTS,
                                                  .count = 1,
                                                  .allocations = &name,
                                                  .is_dropped = how == VIDMM_DEPARTURE_DROPPED});
}

static void on_content_lost(void *context, struct vidmm_allocation *allocation)
{
    struct run_assembly *run = context;
    const void *name = allocation;

    if (run->player)
        player_note_lost(run->player, allocation);
    if (run->check)
        check_client(run->check, &(struct check_client_event){
                                     .kind = CHECK_CLIENT_LOST, .count = 1, .allocations = &name});
}

/* A process was asked to hold less. Whether it does is the business of the case. */
static void on_trim(void *context, struct vidmm_process *process, enum vidmm_budget_group group,
                    uint64_t bytes)
{
    struct run_assembly *run = context;

    if (run->check)
        check_client(run->check, &(struct check_client_event){.kind = CHECK_CLIENT_TRIM,
                                                              .device = process,
                                                              .group = group,
                                                              .bytes = bytes});
    if (run->guest && run->guest->trim)
        run->guest->trim(run->guest->context, process, group, bytes);
}

static void on_instance_ended(void *context, struct vidmm_allocation *allocation,
                              const void *instance)
{
    struct run_assembly *run = context;
    const void *name = allocation;

    if (run->oracle && instance)
        oracle_instance_ended(run->oracle, instance);
    if (run->check)
        check_client(run->check, &(struct check_client_event){.kind = CHECK_CLIENT_INSTANCE_ENDED,
                                                              .count = 1,
                                                              .allocations = &name,
                                                              .instance = instance});
}

static void on_told(void *context, const struct vidmm_note *note)
{
    struct run_assembly *run = context;

    run_record_manager_note(&run->managers_record, note);
}

static void on_device_error(void *context, struct vidmm_device *device, const char *reason)
{
    const struct run_guest *guest = ((struct run_assembly *)context)->guest;

    if (guest && guest->device_error)
        guest->device_error(guest->context, device);
}

static struct vidmm_events manager_events(struct run_assembly *run)
{
    return (struct vidmm_events){
        .context = run,
        .driver_error = run_report_driver_error,
        .refused = run_note_refusal,
        .adapter_ended = on_adapter_ended,
        .page_fault = on_page_fault,
        .evicted = on_evicted,
        .departs = on_departs,
        .content_lost = on_content_lost,
        .device_error = on_device_error,
        .trim = on_trim,
        .instance_ended = on_instance_ended,
        .told = run->record.record ? on_told : NULL,
    };
}

/* The record has GPU addresses as offsets of segments. */
static void tell_segments(struct run_assembly *run)
{
    for (unsigned id = 1; id <= vidmm_segment_count(run->vidmm); id++) {
        struct vidmm_segment_info info;

        vidmm_segment_info(run->vidmm, id, &info);
        run_record_manager_segment(&run->managers_record, &info);
    }
}

static const struct vidmm_policy *const policies[] = {
    [RUN_POLICY_LRU] = &vidmm_policy_lru,
    [RUN_POLICY_LOOK_AHEAD] = &vidmm_policy_look_ahead,
    [RUN_POLICY_HINTED] = &vidmm_policy_hinted,
    [RUN_POLICY_TURNS] = &vidmm_policy_turns,
};

static struct vidmm_config manager_config(struct run_assembly *run)
{
    const struct run_config *config = run->config;

    return (struct vidmm_config){
        .events = manager_events(run),
        .policy = policies[config->policy],
        .paging_buffer_count = config->paging_buffer_count,
        .paging_buffer_bytes = config->paging_buffer_bytes,
        .hardware_queue_depth = config->hardware_queue_depth,
        .switches_to_null_context = config->switches_to_null_context,
        .frees_empty_tables = config->mmu.frees_tables,
        .local_limit = config->local_limit,
        .ids_before_wrap = config->fence_wrap,
        .first_paging_fence = config->first_paging_fence,
        .local_start = config->far_bytes,
        .fill_pattern = config->fill_pattern,
        .transfer_bytes = config->transfer_piece_bytes,
        .scratch_bytes = config->scratch_bytes,
        .announces_idle = config->announces_idle,
        .skips_patch_for_paging = config->skips_paging_patch,
        .marks_paging_only = config->marks_paging_only,
        .starts_as_observed = config->starts_as_observed,
        .hides_buffer_address = config->hides_buffer_address,
        .initialises_in_pieces = config->initialises_in_pieces,
        .writes_neighbours = config->writes_neighbours,
        .pages_in_patched_only = config->pages_in_patched_only,
        .timeout_ns = config->timeout_ns,
        .timeout_limit = config->timeout_limit,
        .splits_dma_buffers = config->splits_dma_buffers,
        .renames = config->renames,
        .guarantees_one_buffer = config->guarantees_one_buffer,
        .inits_contexts_by_driver_handle = config->inits_by_driver_handle,
        .aperture_piece_pages = config->aperture_piece_bytes / PAGE_BYTES,
        .residency_part_pages = config->residency_part_bytes / PAGE_BYTES,
        .lists_residency = config->lists_residency,
        .auxiliary_mmus = config->auxiliary_mmus,
        .native_fences = config->native_fences,
        .native_fence_memory = config->native_fence_memory,
        .hardware_queues = config->hardware_queues,
        .bands = config->bands,
        .suspends = config->suspends,
        .lists = config->lists,
        .log_entries = config->log_entries,
        .early = run->early,
        .resets_whole_adapter = config->resets_whole_adapter,
    };
}

/* Pages that the driver has for its device have logical addresses as all others do. */
static bool show_pages(void *context, const uint64_t *pfns, uint64_t count, uint64_t *out_first)
{
    if (!platform_remap_show(context, pfns, count))
        return false;
    *out_first = platform_remap_logical(context, pfns[0]);
    return true;
}

static void hide_pages(void *context, const uint64_t *pfns, uint64_t count)
{
    platform_remap_hide(context, pfns, count);
}

static void wake_manager(void *context)
{
    host_wake_manager(&((struct run_assembly *)context)->host);
}

bool run_raise_manager(struct run_assembly *run)
{
    const struct run_config *config = run->config;
    struct vidmm_failure failure = {0};
    const char *status_name = NULL;
    struct vidmm_config vidmm_config = manager_config(run);
    char why[POLICY_FILE_ERROR_BYTES];
    NTSTATUS status;

    if (config->hides_buffer_address && config->private_data_bytes != RUN_DRIVERS_OWN &&
        config->model == RUN_GPUMMU)
        return run_refuse(run, "paging-address none leaves a driver nothing but the private data "
                               "that it asks for, and private-data gives others");
    if (config->policy_file) {
        vidmm_config.policy = policy_file_load(config->policy_file, why);
        if (!vidmm_config.policy)
            return run_refuse(run, "%s", why);
    }
    if (config->turn_ns) {
        run->policy = *vidmm_config.policy;
        run->policy.turn_ns = config->turn_ns;
        vidmm_config.policy = &run->policy;
    }
    platform_init(&run->platform, run->machine, &run->managers.services);
    run->has_platform = true;
    run->platform.woken = wake_manager;
    run->platform.woken_context = run;
    run->platform.has_slack = !run_is_work_lent_for_call(run);
    run->platform.agp_bytes = config->model == RUN_PHYSICAL ? config->agp_bytes : 0;
    if (config->remaps_dma) {
        if (!platform_remap_init(&run->platform.remap, run->machine))
            return run_refuse(run, "no memory for the IOMMU's logical addresses");
        nt_set_device_pages(
            run->nt, &(struct nt_device_pages){&run->platform.remap, show_pages, hide_pages});
    }
    run->vidmm_platform = vidmm_config.platform = platform_get(&run->platform);
    run_record_manager_init(&run->managers_record, &run->record, run->workload);
    status = vidmm_create(run->top, &vidmm_config, &run->vidmm);
    if (!NT_SUCCESS(status))
        return run_refuse(run, "no memory for the memory manager");
    host_set_manager(&run->host, run->vidmm);
    run->managers.fail_at = config->fail_allocation;
    status = vidmm_start(run->vidmm, &failure);
    if (strstr(failure.text, "with status 0x"))
        status_name = decode_status_name((uint32_t)status);
    if (!NT_SUCCESS(status))
        return run_refuse(run, "the adapter did not start: %s%s%s%s%s%s", failure.rule,
                          failure.rule[0] ? ": " : "",
                          failure.text[0] ? failure.text : "no reason was given",
                          status_name ? " " : "", status_name ? status_name : "",
                          status == STATUS_NO_MEMORY                  ? " (no memory)"
                          : status == STATUS_GRAPHICS_NO_VIDEO_MEMORY ? " (too little local memory)"
                                                                      : "");
    run->is_manager_started = true;
    if (!nt_set_save_area(run->nt, vidmm_save_area_bytes(run->vidmm)))
        return run_refuse(run,
                          "no memory for the %llu bytes that the driver saves of local memory "
                          "(DXGK_FRAMEBUFFERSAVEAREA)",
                          (unsigned long long)vidmm_save_area_bytes(run->vidmm));
    tell_segments(run);
    if (config->faults & RUN_FAULT_POOL)
        nt_pool_fail_at(run->nt, 1 + hash_u64(config->seed) % MOST_POOL_BEFORE_FAILURE);
    vidmm_paging_buffers(run->vidmm, &run->result->config.paging_buffer_count,
                         &run->result->config.paging_buffer_bytes);
    return true;
}
