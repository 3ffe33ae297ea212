/*
 * Run: the driver goes up, from its kernel services to a started adapter.
 *
 * The layers from the driver up: raw, a planted defect of the zoo, coverage of the driver, counts,
 * busy, lend, check, probe, levels, the oracle's, trace, coverage of the manager, private data,
 * deny, and the one that a test adds. Where each stands in the order is told in
 * docs/architecture.md.
 */
#include "bench/board/bare_device.h"
#include "coverage/coverage.h"
#include "bench/drivers/driver_image.h"
#include "bench/drivers/drivers.h"
#include "layers/levels.h"
#include "layers/private_data.h"
#include "bench/config/profile.h"
#include "bench/run/run_private.h"
#include "bench/child/vigil.h"
#include "layers/busy.h"
#include "layers/counts.h"
#include "layers/deny.h"
#include "layers/lend.h"
#include "layers/probe.h"
#include "miniport/raw.h"
#include "trace/trace.h"
#include "nt/machine/trap.h"

#include <stdio.h>

static unsigned denied_kinds(const struct run_config *config)
{
    return (config->faults & RUN_FAULT_START ? DENY_START : 0) |
           (config->faults & RUN_FAULT_CONTEXT_ALLOCATIONS ? DENY_CONTEXT_ALLOCATIONS : 0);
}

static bool add_device(struct run_assembly *run)
{
    NTSTATUS status = run->top->ops->add_device(run->top);

    if (!NT_SUCCESS(status))
        return run_refuse(run, "DxgkDdiAddDevice failed with status 0x%08x", (unsigned)status);
    run->is_added = true;
    vidmm_query_early(run->top, &run->early);
    if (run->early.highest_visible_address &&
        run->config->ram_bytes - 1 > run->early.highest_visible_address)
        return run_refuse(run,
                          "driver '%s' reaches system memory up to 0x%llx "
                          "(PHYSICAL_MEMORY_CAPS.HighestVisibleAddress), and the machine has %llu "
                          "bytes",
                          run->config->driver,
                          (unsigned long long)run->early.highest_visible_address,
                          (unsigned long long)run->config->ram_bytes);
    return true;
}

static NTSTATUS start_device(struct run_assembly *run)
{
    ULONG sources = 0, children = 0;
    const DXGK_START_INFO start = {.RequiredDmaQueueEntry = run->config->hardware_queue_depth
                                                                ? run->config->hardware_queue_depth
                                                                : 2};
    NTSTATUS status = run->top->ops->start_device(run->top, &start, &sources, &children);

    run->is_started = NT_SUCCESS(status);
    return status;
}

/*
 * A start that fails because a callback did ends in RemoveDevice, without StopDevice: the device
 * never ran. Nothing of the driver's may be left then; its second start finds everything in order.
 */
static bool start_adapter(struct run_assembly *run)
{
    NTSTATUS status;

    if (!add_device(run))
        return false;
    status = start_device(run);
    if (!NT_SUCCESS(status) && run->deny && miniport_deny_count(run->deny)) {
        run->top->ops->remove_device(run->top);
        run->is_added = false;
        run_report_driver_leaks(run, "a start that failed", false);
        if (!add_device(run))
            return false;
        status = start_device(run);
    }
    return NT_SUCCESS(status) ||
           run_refuse(run, "DxgkDdiStartDevice failed with status 0x%08x", (unsigned)status);
}

static enum nt_pool_guard pool_guard(const struct run_config *config, bool is_image)
{
    switch (config->pool_guard) {
    case RUN_POOL_AUTO:
        return is_image ? NT_POOL_GUARD_END : NT_POOL_CHEAP;
    case RUN_POOL_END:
        return NT_POOL_GUARD_END;
    case RUN_POOL_BEGIN:
        return NT_POOL_GUARD_BEGIN;
    case RUN_POOL_NONE:
        return is_image ? NT_POOL_OPEN : NT_POOL_CHEAP;
    }
    return NT_POOL_CHEAP;
}

/*
 * Whether the driver may use what BuildPagingBuffer was lent until the work is done. One that works
 * with the CPU cannot but keep the address of its buffer, which no submission tells it again.
 */
static bool is_kept(const struct run_config *config, bool works_with_cpu)
{
    return config->lending == RUN_LENT_AUTO ? works_with_cpu : config->lending == RUN_LENT_KEPT;
}

/* Of a driver that is linked in, registers are trapped; the rest of its code is the bench's own. */
static bool is_nowhere(void *context, uint64_t address)
{
    return false;
}

/* What else there is in the system, for the driver to find. */
static bool place_surroundings(struct run_assembly *run)
{
    const char *at = run->config->surroundings;
    struct workload_surrounding word;
    NTSTATUS status = STATUS_SUCCESS;

    while (NT_SUCCESS(status) && workload_surroundings_next(&at, &word)) {
        if (word.kind == WORKLOAD_SURROUNDING_ID) {
            snprintf(run->hardware_id, sizeof run->hardware_id, "%s", word.name);
            nt_set_hardware_id(run->nt, run->hardware_id);
        } else if (word.kind == WORKLOAD_SURROUNDING_VALUE) {
            status = nt_set_driver_value(run->nt, word.name, word.number);
        } else {
            struct nt_neighbour neighbour = {
                .has_answer = word.has_answer, .offset = word.offset, .number = word.number};

            snprintf(neighbour.path, sizeof neighbour.path, "%s", word.name);
            status = nt_add_neighbour(run->nt, &neighbour);
        }
    }
    return NT_SUCCESS(status);
}

bool run_raise_driver(struct run_assembly *run)
{
    const struct nt_host nt_host = run_tell_kernel(run);
    unsigned wddm = run->config->wddm;
    struct run_driver driver;
    DRIVER_INITIALIZATION_DATA data;
    DRIVER_INITIALIZE *entry;
    char why[DRIVER_IMAGE_ERROR_BYTES];
    struct miniport *layer;
    NTSTATUS status;

    run->nt = nt_create(&run->own.services, run->machine, &nt_host);
    if (!run->nt)
        return run_refuse(run, "no memory for the driver's kernel services");
    run->previous_nt = nt_bind(run->nt);
    status = host_init(&run->host, run->machine, run->nt);
    if (!NT_SUCCESS(status))
        return run_refuse(run, "no memory for the driver's host");
    run->has_host = true;
    if (!place_surroundings(run))
        return run_refuse(run, "no memory for the driver's surroundings");
    if (run->plugin)
        gpu_plugin_set_host(run->plugin, &run->host);
    if (run->config->faults & RUN_FAULT_LATE_DPCS)
        run->host.dpc_delay_ns = HOST_LATE_DPC_NS;
    if (run->config->profile && !run_find_profile(run->config->profile))
        return run_refuse(run, "there is no profile '%s'", run->config->profile);
    if (!run_find_driver(run->config->driver, &driver))
        return run_refuse(run, "there is no driver '%s'", run->config->driver);
    /* Of an image, what it says when it has started counts. */
    if (!driver.image_path && !run_driver_has_model(&driver, run->config->model))
        return run_refuse(run, "driver '%s' is not of the %s model", run->config->driver,
                          run_model_name(run->config->model));
    nt_pool_set_guard(run->nt, pool_guard(run->config, driver.image_path != NULL));
    /* Before the cage is closed around the driver, in which no file is opened for writing. */
    if (!run_event_log_open(&run->events, run->machine, run->config, run->result))
        return run_refuse(run, "cannot write '%s'",
                          run->config->calls_path ? run->config->calls_path
                                                  : run->config->events_path);
    run->has_events = true;
    if (driver.image_path) {
        if (!driver_image_load(&run->own.services, driver.image_path, run->nt, &run->image, why))
            return run_refuse(run, "%s", why);
        wddm = driver.wddm;
    }
    entry = driver.image_path ? NULL
            : driver.entry    ? driver.entry
                              : run_driver_entry(run->config->model, &wddm);
    if (!driver.image_path && !entry)
        return run_refuse(run, "driver '%s' has no WDDM %u.%u for the %s model",
                          run->config->driver, wddm / 10, wddm % 10,
                          run_model_name(run->config->model));
    if (driver.entry)
        trap_install(run->nt, &(struct trap_config){.is_driver = is_nowhere});
    run->is_in_entry = true;
    status = run->image ? driver_image_enter(run->image, &data)
                        : host_load_driver(run->nt, entry, &data);
    run->is_in_entry = false;
    if (!NT_SUCCESS(status))
        return run_refuse(run, "driver '%s' did not register: status 0x%08x", run->config->driver,
                          (unsigned)status);
    run->entered = run_what_driver_holds(run);
    status = miniport_raw_create(&run->own.services, &data, &run->raw);
    if (!NT_SUCCESS(status))
        return run_refuse(run, "driver '%s' has an interface version that is not known: 0x%x",
                          run->config->driver, (unsigned)data.Version);
    miniport_raw_set_device_object(run->raw, nt_physical_device(run->nt));
    miniport_raw_set_witness(run->raw, run_tell_overwritten, run);
    run->top = run->raw;
    if (!run->gpu) {
        status = bare_device_create(&run->own.services, run->machine, run->top, &run->bare);
        if (!NT_SUCCESS(status))
            return run_refuse(run, "no memory for the bare device");
        run->top = run->bare;
    }
    if (driver.wrap) {
        status = driver.wrap(&driver, &run->own.services, run->top, &layer);
        if (!NT_SUCCESS(status))
            return run_refuse(run, "no memory for driver '%s'", run->config->driver);
        run->top = layer;
    }
    if (run->config->coverage) {
        coverage_begin_run(run->config->coverage);
        status = coverage_driver_layer_create(run->config->coverage, &run->own.services, run->top,
                                              &layer);
        if (!NT_SUCCESS(status))
            return run_refuse(run, "no memory for the coverage layer");
        run->top = layer;
    }
    if (run->config->lowers_dma_size) {
        status = miniport_counts_create(&run->own.services, run->top, &layer);
        if (!NT_SUCCESS(status))
            return run_refuse(run, "no memory for the layer that counts");
        run->top = layer;
    }
    if (run->config->has_private_data) {
        status = private_data_create(&run->own.services, run->config->private_data_bytes, run->top,
                                     &layer);
        if (!NT_SUCCESS(status))
            return run_refuse(run, "no memory for the layer that declares private data");
        run->top = layer;
    }
    if (run->config->is_busy_until_idle) {
        status = miniport_busy_create(&run->own.services, run->top, &layer);
        if (!NT_SUCCESS(status))
            return run_refuse(run, "no memory for the layer that is busy");
        run->top = layer;
    }
    if (!is_kept(run->config, driver.image_path && !run->gpu && !run->plugin)) {
        status = miniport_lend_create(
            &run->own.services,
            run->config->faults & RUN_FAULT_PAGE_LISTS ? run->config->seed + 1 : 0, run->top,
            &layer);
        if (!NT_SUCCESS(status))
            return run_refuse(run, "no memory for the layer that lends page lists");
        run->top = layer;
    }
    run->instances = run_tell_instances(run);
    if (run->config->renames) {
        status = instances_create_below(&run->instances, &run->own.services, run->top, &layer);
        if (!NT_SUCCESS(status))
            return run_refuse(run, "no memory for the layer of the one handle");
        run->top = layer;
    }
    if (run->config->checks_rules) {
        const struct run_profile *profile =
            run_find_profile(run->config->profile ? run->config->profile : RUN_PROFILE_DEFAULT);
        struct check_config check_config = {
            .services = &run->own.services,
            .counts = &run->result->rules,
            .profile = profile->check,
            .guards_buffers = !is_kept(run->config, driver.image_path && !run->gpu && !run->plugin),
            .enables_native_fences = run->config->native_fences != 0,
            .guarantees_one_buffer = run->config->guarantees_one_buffer,
            .submission_alignment = run->gpu ? SGPU_SUBMIT_ALIGN : 0,
            .remaps_dma = run->config->remaps_dma,
        };

        run_tell_check(run, &check_config);
        status = check_create(&check_config, &run->check);
        if (NT_SUCCESS(status))
            status = check_layer_create(run->check, run->top, &layer);
        if (!NT_SUCCESS(status))
            return run_refuse(run, "no memory for the checking layer");
        vigil_watch(run->check);
        run->top = layer;
    }
    if (run->config->faults & RUN_FAULT_PROBES) {
        status = miniport_probe_create(&run->own.services, run->config->seed, run->top, &layer);
        if (!NT_SUCCESS(status))
            return run_refuse(run, "no memory for the layer that probes");
        run->top = layer;
    }
    status = levels_create(&run->own.services, run->nt, run->top, &layer);
    if (!NT_SUCCESS(status))
        return run_refuse(run, "no memory for the layer that sets the IRQL");
    run->top = layer;
    if (run->oracle) {
        status = oracle_layer_create(run->oracle, run->top, &layer);
        if (!NT_SUCCESS(status))
            return run_refuse(run, "no memory for the oracle's layer");
        run->top = layer;
    }
    if (run->config->renames) {
        status = instances_create_above(&run->instances, &run->own.services, run->top, &layer);
        if (!NT_SUCCESS(status))
            return run_refuse(run, "no memory for the layer of instances");
        run->top = layer;
    }
    status = miniport_trace_create(&run->own.services, run->top, &layer);
    if (!NT_SUCCESS(status))
        return run_refuse(run, "no memory for the trace layer");
    run->top = run->trace = layer;
    if (run->config->coverage) {
        status = coverage_manager_layer_create(run->config->coverage, &run->own.services, run->top,
                                               &layer);
        if (!NT_SUCCESS(status))
            return run_refuse(run, "no memory for the coverage layer");
        run->top = layer;
    }
    if (run->config->hashes_calls || run->events.file || run->events.calls.file) {
        const struct trace_sink sink = run_event_log_sink(&run->events);

        miniport_trace_set_sink(run->trace, &sink);
    }
    if (denied_kinds(run->config)) {
        status = miniport_deny_create(&run->own.services, denied_kinds(run->config),
                                      run->config->seed, run->top, &run->deny);
        if (!NT_SUCCESS(status))
            return run_refuse(run, "no memory for the layer that lets callbacks fail");
        run->top = run->deny;
    }
    if (run->config->add_layer)
        run->top = run->config->add_layer(run->config->layer_context, run->top);
    host_set_miniport(&run->host, run->top);
    return start_adapter(run);
}
