/*
 * The driver of a run goes up: kernel services and host, DriverEntry, the raw bottom of the stack,
 * the layers over it (run_stack.c), and the start of the adapter.
 */
#include "bench/run/run_private.h"

#include "bench/config/profile.h"
#include "bench/drivers/driver_image.h"
#include "bench/run/program_code.h"
#include "bench/run/run_stack.h"
#include "check/report/decode.h"
#include "layers/deny.h"
#include "miniport/raw.h"
#include "nt/machine/trap.h"

#include <wdm/registry.h>

#include <stdio.h>

/* ---- Kernel services and host ---------------------------------------------------------------- */

static NTSTATUS set_value(struct nt *nt, const struct workload_surrounding *word)
{
    WCHAR text[WORKLOAD_MAX_SURROUNDING_BYTES + 1] = {0};

    if (word->kind == WORKLOAD_SURROUNDING_VALUE)
        return nt_set_driver_value(nt, word->name, REG_DWORD, &word->number, sizeof word->number);
    if (word->kind == WORKLOAD_SURROUNDING_BYTES)
        return nt_set_driver_value(nt, word->name, REG_BINARY, word->bytes, word->byte_count);
    for (uint32_t i = 0; i < word->byte_count; i++)
        text[i] = word->bytes[i];
    return nt_set_driver_value(nt, word->name, REG_SZ, text,
                               (word->byte_count + 1) * (ULONG)sizeof(WCHAR));
}

/* A name of the hardware, registry values, neighbours. The board has read what is its own. */
static bool place_surroundings(struct run_assembly *run)
{
    const char *at = run->config->surroundings;
    struct workload_surrounding word;
    NTSTATUS status = STATUS_SUCCESS;

    while (NT_SUCCESS(status) && workload_surroundings_next(&at, &word)) {
        struct nt_neighbour neighbour = {
            .has_answer = word.has_answer, .offset = word.place, .number = word.number};

        switch (word.kind) {
        case WORKLOAD_SURROUNDING_ID:
            snprintf(run->hardware_id, sizeof run->hardware_id, "%s", word.name);
            nt_set_hardware_id(run->nt, run->hardware_id);
            break;
        case WORKLOAD_SURROUNDING_VALUE:
        case WORKLOAD_SURROUNDING_TEXT:
        case WORKLOAD_SURROUNDING_BYTES:
            status = set_value(run->nt, &word);
            break;
        case WORKLOAD_SURROUNDING_DEVICE:
            snprintf(neighbour.path, sizeof neighbour.path, "%s", word.name);
            status = nt_add_neighbour(run->nt, &neighbour);
            break;
        case WORKLOAD_SURROUNDING_PORT:
            status = nt_set_port(run->nt, (uint16_t)word.place, word.number);
            break;
        default:
            break;
        }
    }
    return NT_SUCCESS(status);
}

static bool raise_kernel(struct run_assembly *run)
{
    const struct nt_host nt_host = run_kernel_host(run);

    run->nt = nt_create(&run->own.services, run->machine, &nt_host);
    if (!run->nt)
        return run_refuse(run, "no memory for the driver's kernel services");
    run->previous_nt = nt_bind(run->nt);
    if (!NT_SUCCESS(host_init(&run->host, run->machine, run->nt)))
        return run_refuse(run, "no memory for the driver's host");
    run->has_host = true;
    run->host.lacks = run_note_lacking;
    run->host.lacks_context = run;
    if (run->config->hardware_queues)
        run->host.features |= UINT64_C(1) << DXGK_FEATURE_HWSCH;
    if (!place_surroundings(run))
        return run_refuse(run, "no memory for the driver's surroundings");
    if (run->plugin)
        gpu_plugin_set_host(run->plugin, &run->host);
    nt_set_register_time(run->nt, run->config->register_ns);
    if (run->config->faults & RUN_FAULT_LATE_DPCS)
        run->host.dpc_delay_ns = HOST_LATE_DPC_NS;
    return run_raise_recorder(run);
}

/* ---- The driver's entry ---------------------------------------------------------------------- */

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

/* The registers of a driver that is linked in are trapped; its code counts as the bench's own. */
static bool is_nowhere(void *context, uint64_t address)
{
    return false;
}

/* The driver by its name; an image says which model it is of when it has started. */
static bool find_driver(struct run_assembly *run)
{
    const struct run_config *config = run->config;

    if (config->profile && !run_find_profile(config->profile))
        return run_refuse(run, "there is no profile '%s'", config->profile);
    if (!run_find_driver(config->driver, &run->driver))
        return run_refuse(run, "there is no driver '%s'", config->driver);
    if (!run->driver.image_path && !run_driver_has_model(&run->driver, config->model))
        return run_refuse(run, "driver '%s' is not of the %s model", config->driver,
                          run_model_name(config->model));
    nt_pool_set_guard(run->nt, pool_guard(config, run->driver.image_path != NULL));
    return true;
}

/* Before the cage is closed around the driver, in which no file is opened for writing. */
static bool begin_events(struct run_assembly *run)
{
    run_event_log_begin(&run->events, &run->record, run->result);
    return run_record_open(&run->record, run->machine, run->config, run->result) ||
           run_refuse(run, "no memory to record the run");
}

/* DriverEntry, of an image or of a driver that is linked in, fills the driver's table. */
static bool enter_driver(struct run_assembly *run, DRIVER_INITIALIZATION_DATA *out_data)
{
    const struct run_driver *driver = &run->driver;
    unsigned wddm = run->config->wddm;
    DRIVER_INITIALIZE *entry = driver->entry;
    char why[DRIVER_IMAGE_ERROR_BYTES];
    const void *present;
    NTSTATUS status;

    if (driver->image_path) {
        if (!driver_image_load(&run->own.services, driver->image_path, run->nt, &run->image, why))
            return run_refuse(run, "%s", why);
    } else {
        if (!entry)
            entry = run_driver_entry(run->config->model, &wddm);
        if (!entry)
            return run_refuse(run, "driver '%s' has no WDDM %u.%u for the %s model",
                              run->config->driver, wddm / 10, wddm % 10,
                              run_model_name(run->config->model));
    }
    if (driver->entry)
        trap_install(run->nt, &(struct trap_config){.is_driver = is_nowhere});
    run->is_in_entry = true;
    recorder_begin(run->recorder);
    status = run->image ? driver_image_enter(run->image, out_data)
                        : host_load_driver(run->nt, entry, out_data);
    run->is_in_entry = false;
    if (!NT_SUCCESS(status))
        return run_refuse(run, "driver '%s' did not register: %s", run->config->driver,
                          host_tell_refusal(status, out_data, why, sizeof why));
    run->is_display_only = nt_is_display_only(run->nt, &present);
    run->registered = run->image ? *driver_image_registered(run->image) : *out_data;
    if (run->driver.registers)
        run->driver.registers(&run->driver, &run->registered);
    run->entered = run_what_driver_holds(run);
    return true;
}

static bool raise_raw(struct run_assembly *run, const DRIVER_INITIALIZATION_DATA *data)
{
    const void *present;

    if (!NT_SUCCESS(miniport_raw_create(&run->own.services, data, &run->raw)))
        return run_refuse(run, "driver '%s' has an interface version that is not known: 0x%x",
                          run->config->driver, (unsigned)data->Version);
    if (nt_is_display_only(run->nt, &present))
        miniport_raw_set_display_only(run->raw, (PDXGKDDI_PRESENTDISPLAYONLY)present);
    miniport_raw_set_device_object(run->raw, nt_physical_device(run->nt));
    miniport_raw_set_witness(run->raw, run_report_overwritten, run);
    run->bottom = run->top = run->raw;
    if (!run->recorder)
        return true;
    recorder_end(run->recorder, run->raw);
    if (!NT_SUCCESS(record_layer_create(run->recorder, run->raw, &run->bottom)))
        return run_refuse(run, "no memory to record the driver");
    run->top = run->bottom;
    return true;
}

/* The driver, entered; or its transcript. */
static bool raise_bottom(struct run_assembly *run)
{
    DRIVER_INITIALIZATION_DATA data;

    return run->config->transcript ? run_raise_retold(run)
                                   : enter_driver(run, &data) && raise_raw(run, &data);
}

/* Of a driver that is linked in: in code of this program or of a library. */
static bool is_driver_code(void *context, const void *address)
{
    const struct run_assembly *run = context;

    return run->image ? driver_image_has_code(run->image, address) : program_has_code(address);
}

void run_driver_for_check(const struct run_assembly *run, struct check_config *config)
{
    if (run->retold)
        return;
    config->registered = &run->registered;
    config->is_code = is_driver_code;
}

/* ---- The start of the adapter ---------------------------------------------------------------- */

static bool add_device(struct run_assembly *run)
{
    NTSTATUS status = run->top->ops->add_device(run->top);

    if (!NT_SUCCESS(status))
        return run_refuse(run, "DxgkDdiAddDevice failed with status %s",
                          decode_status(status).text);
    run->is_added = true;
    if (run->is_display_only)
        return true;
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

NTSTATUS run_start_device(struct run_assembly *run)
{
    const DXGK_START_INFO start = {.RequiredDmaQueueEntry = run->config->hardware_queue_depth
                                                                ? run->config->hardware_queue_depth
                                                                : 2};
    NTSTATUS status;

    run->video_present_sources = run->children = 0;
    status =
        run->top->ops->start_device(run->top, &start, &run->video_present_sources, &run->children);

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
    status = run_start_device(run);
    if (!NT_SUCCESS(status) && run->deny && deny_layer_count(run->deny)) {
        run->top->ops->remove_device(run->top);
        run->is_added = false;
        run_report_driver_leaks(run, "a start that failed", false);
        if (!add_device(run))
            return false;
        status = run_start_device(run);
    }
    return NT_SUCCESS(status) ||
           run_refuse(run, "DxgkDdiStartDevice failed with status %s", decode_status(status).text);
}

bool run_restart_device(struct run_assembly *run)
{
    NTSTATUS status;

    nt_pool_fail_at(run->nt, 0); /* a start without memory is a failed one, and not of interest */
    run->is_started = false;
    run->top->ops->stop_device(run->top);
    if (run->check && !check_begin_again(run->check))
        return run_refuse(run, "no memory to check the rules of another start");
    vidmm_query_early(run->top, &run->early);
    status = run_start_device(run);
    return NT_SUCCESS(status) ||
           run_refuse(run, "DxgkDdiStartDevice failed with status %s behind DxgkDdiStopDevice",
                      decode_status(status).text);
}

bool run_raise_driver(struct run_assembly *run)
{
    if (!raise_kernel(run) || !find_driver(run) || !begin_events(run) || !raise_bottom(run) ||
        !run_raise_stack(run))
        return false;
    host_set_miniport(&run->host, run->top);
    if (run->is_display_only && (!run_can_show(run) || !run_raise_screen(run, NULL)))
        return false;
    return run_can_start(run) && start_adapter(run);
}
