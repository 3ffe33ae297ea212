/*
 * The stack of layers of a run. The table `layers` below is the one place that says which layers
 * there are, in which order they stand and when a run has them.
 */
#include "bench/run/run_stack.h"

#include "base/bits.h"
#include "bench/board/foreign_board.h"
#include "bench/child/crash_recorder.h"
#include "bench/config/profile.h"
#include "coverage/coverage.h"
#include "layers/busy.h"
#include "layers/deny.h"
#include "layers/dma_buffer_size.h"
#include "layers/guard.h"
#include "layers/irql.h"
#include "layers/late_end.h"
#include "layers/lend.h"
#include "layers/device_memory.h"
#include "layers/lowered_size.h"
#include "layers/private_data.h"
#include "layers/probe.h"
#include "layers/spurious.h"
#include "layers/hostile_client.h"
#include "layers/user_memory.h"
#include "trace/trace.h"

static const struct base_services *services_of(struct run_assembly *run)
{
    return &run->own.services;
}

/* ---- Right above the driver ------------------------------------------------------------------ */

static bool has_no_gpu(const struct run_assembly *run)
{
    return !run->gpu;
}

static NTSTATUS create_board(struct run_assembly *run, struct miniport *next,
                             struct miniport **out_layer)
{
    NTSTATUS status = foreign_board_create(services_of(run), run->machine, next, out_layer);

    run->foreign_board = *out_layer;
    return status;
}

static bool is_wrapped(const struct run_assembly *run)
{
    return run->driver.wrap != NULL;
}

static NTSTATUS create_wrap(struct run_assembly *run, struct miniport *next,
                            struct miniport **out_layer)
{
    return run->driver.wrap(&run->driver, services_of(run), next, out_layer);
}

static bool has_coverage(const struct run_assembly *run)
{
    return run->config->coverage != NULL;
}

static NTSTATUS create_driver_coverage(struct run_assembly *run, struct miniport *next,
                                       struct miniport **out_layer)
{
    coverage_begin_run(run->config->coverage);
    return coverage_driver_layer_create(run->config->coverage, services_of(run), next, out_layer);
}

/* ---- Other drivers than the one that is there ------------------------------------------------ */

static bool asks_memory(const struct run_assembly *run)
{
    return run->config->asks_memory;
}

static NTSTATUS create_device_memory(struct run_assembly *run, struct miniport *next,
                                     struct miniport **out_layer)
{
    return device_memory_layer_create(services_of(run), next, out_layer);
}

static bool lowers_size(const struct run_assembly *run)
{
    return run->config->lowers_dma_size;
}

static NTSTATUS create_lowered_size(struct run_assembly *run, struct miniport *next,
                                    struct miniport **out_layer)
{
    return lowered_size_layer_create(services_of(run), next, out_layer);
}

static bool has_private_data(const struct run_assembly *run)
{
    return run->config->private_data_bytes != RUN_DRIVERS_OWN;
}

static NTSTATUS create_private_data(struct run_assembly *run, struct miniport *next,
                                    struct miniport **out_layer)
{
    return private_data_layer_create(services_of(run), run->config->private_data_bytes, next,
                                     out_layer);
}

static bool has_dma_buffer_size(const struct run_assembly *run)
{
    return run->config->dma_buffer_bytes != 0;
}

static NTSTATUS create_dma_buffer_size(struct run_assembly *run, struct miniport *next,
                                       struct miniport **out_layer)
{
    return dma_buffer_size_layer_create(services_of(run), run->config->dma_buffer_bytes, next,
                                        out_layer);
}

static bool is_busy(const struct run_assembly *run)
{
    return run->config->is_busy_until_idle;
}

static NTSTATUS create_busy(struct run_assembly *run, struct miniport *next,
                            struct miniport **out_layer)
{
    return busy_layer_create(services_of(run), next, out_layer);
}

static bool is_lent_for_call(const struct run_assembly *run, bool may_use_cpu)
{
    return run->config->lending == RUN_LENT_AUTO ? !may_use_cpu
                                                 : run->config->lending != RUN_LENT_KEPT;
}

bool run_is_lent_for_call(const struct run_assembly *run)
{
    return is_lent_for_call(run, run->driver.image_path && !run->gpu && !run->plugin);
}

bool run_is_work_lent_for_call(const struct run_assembly *run)
{
    return is_lent_for_call(run, run->driver.image_path && !run->gpu);
}

static bool checks_rules(const struct run_assembly *run)
{
    return run->config->checks_rules;
}

static void stand_in(void *context, const void *copy, const void *buffer, size_t bytes)
{
    const struct run_assembly *run = context;

    nt_stand_in(run->nt, copy, buffer, bytes);
}

/* ---- Who writes what (run_writers.h) --------------------------------------------------------- */

static void calls_driver(void *context, uint64_t event, const struct check_lent *lent)
{
    run_writers_call(((struct run_assembly *)context)->writers, event, lent);
}

static void enters(void *context, const struct write_watch_piece *pieces, size_t count)
{
    const struct run_assembly *run = context;

    run_writers_enter(run->writers, run->image, pieces, count);
}

static void leaves(void *context)
{
    run_writers_leave(((struct run_assembly *)context)->writers);
}

static uint64_t find_slack(void *context, const void *end)
{
    const struct run_assembly *run = context;

    return run->has_platform ? platform_slack(&run->platform, end) : 0;
}

static NTSTATUS create_guard(struct run_assembly *run, struct miniport *next,
                             struct miniport **out_layer)
{
    const struct guard_config config = {.context = run,
                                        .report = run_report_loan,
                                        .stands_in = stand_in,
                                        .find_slack = find_slack,
                                        .enters = run->writers ? enters : NULL,
                                        .leaves = run->writers ? leaves : NULL,
                                        .lends_work = run_is_work_lent_for_call(run),
                                        .lends_lists = run_is_lent_for_call(run)};

    return guard_layer_create(services_of(run), &config, next, out_layer);
}

static NTSTATUS create_lend(struct run_assembly *run, struct miniport *next,
                            struct miniport **out_layer)
{
    const uint64_t seed = run->config->faults & RUN_FAULT_PAGE_LISTS ? run->config->seed + 1 : 0;

    return lend_layer_create(services_of(run), seed, next, out_layer);
}

/* ---- Layers that judge and record ------------------------------------------------------------ */

static bool has_instances(const struct run_assembly *run)
{
    return run->config->renames;
}

static const void *paging_instance(void *context)
{
    const struct run_assembly *run = context;

    return run->vidmm ? vidmm_paging_instance(run->vidmm) : NULL;
}

/* The lower one of two layers, which share run->instances. */
static NTSTATUS create_one_handle(struct run_assembly *run, struct miniport *next,
                                  struct miniport **out_layer)
{
    run->instances = (struct instances){.instance = paging_instance, .context = run};
    return one_handle_layer_create(&run->instances, services_of(run), next, out_layer);
}

static unsigned driver_irql(void *context)
{
    return nt_irql(((struct run_assembly *)context)->nt);
}

static unsigned driver_held(void *context)
{
    return nt_held_by_thread(((struct run_assembly *)context)->nt);
}

static NTSTATUS create_check(struct run_assembly *run, struct miniport *next,
                             struct miniport **out_layer)
{
    const struct run_profile *profile =
        run_find_profile(run->config->profile ? run->config->profile : RUN_PROFILE_DEFAULT);
    struct check_config config = {
        .services = services_of(run),
        .context = run,
        .report = run_report_rule,
        .irql = driver_irql,
        .held = driver_held,
        .stands_in = stand_in,
        .counts = &run->result->rules,
        .calls = &run->result->calls,
        .profile = profile->check,
        .guards_buffers = run_is_lent_for_call(run),
        .marks_buffers = !run_is_lent_for_call(run),
        .enables_native_fences = run->config->native_fences != 0,
        .guarantees_one_buffer = run->config->guarantees_one_buffer,
        .submission_alignment = run->gpu ? SGPU_SUBMIT_ALIGN : 0,
        .remaps_dma = run->config->remaps_dma,
        .calls_driver = run->writers ? calls_driver : NULL,
        .watches_loans = true,
    };
    NTSTATUS status;

    *out_layer = NULL;
    run_hardware_for_check(run, &config);
    run_driver_for_check(run, &config);
    status = check_create(&config, &run->check);
    if (NT_SUCCESS(status))
        status = check_layer_create(run->check, next, out_layer);
    if (NT_SUCCESS(status))
        crash_recorder_set_check(run->check);
    return status;
}

static bool probes(const struct run_assembly *run)
{
    return run->config->faults & RUN_FAULT_PROBES;
}

static NTSTATUS create_probe(struct run_assembly *run, struct miniport *next,
                             struct miniport **out_layer)
{
    return probe_layer_create(services_of(run), run->config->seed, next, out_layer);
}

static NTSTATUS create_irql(struct run_assembly *run, struct miniport *next,
                            struct miniport **out_layer)
{
    return irql_layer_create(services_of(run), run->nt, next, out_layer);
}

static bool changes_user_memory(const struct run_assembly *run)
{
    return run->config->changes_user_memory;
}

/*
 * How many instructions a copy takes is the compiler's choice, and so is what a trial ends with: it
 * does not count in how often rules were looked at.
 */
static void begin_trial(void *context)
{
    struct run_assembly *run = context;

    run->before_trial = run->result->rules;
}

static void end_trial(void *context)
{
    struct run_assembly *run = context;

    memcpy(run->result->rules.evaluated, run->before_trial.evaluated,
           sizeof run->before_trial.evaluated);
}

static NTSTATUS create_user_memory(struct run_assembly *run, struct miniport *next,
                                   struct miniport **out_layer)
{
    const struct user_memory_config config = {
        .seed = run->config->seed,
        .nt = run->driver.image_path ? run->nt : NULL,
        .context = run,
        .begin = begin_trial,
        .end = end_trial,
    };

    return user_memory_layer_create(services_of(run), &config, next, out_layer);
}

static bool has_hostile_client(const struct run_assembly *run)
{
    return run->config->has_hostile_client;
}

static NTSTATUS create_hostile_client(struct run_assembly *run, struct miniport *next,
                                      struct miniport **out_layer)
{
    return hostile_client_layer_create(services_of(run), run->config->seed, next, out_layer);
}

static bool has_oracle(const struct run_assembly *run)
{
    return run->oracle != NULL;
}

static NTSTATUS create_oracle(struct run_assembly *run, struct miniport *next,
                              struct miniport **out_layer)
{
    return oracle_layer_create(run->oracle, next, out_layer);
}

static NTSTATUS create_instances(struct run_assembly *run, struct miniport *next,
                                 struct miniport **out_layer)
{
    return instances_layer_create(&run->instances, services_of(run), next, out_layer);
}

static NTSTATUS create_trace(struct run_assembly *run, struct miniport *next,
                             struct miniport **out_layer)
{
    const struct trace_sink sink = run_event_log_sink(&run->events);
    NTSTATUS status = miniport_trace_create(services_of(run), next, out_layer);

    run->trace = *out_layer;
    if (NT_SUCCESS(status) && (run->config->hashes_calls || run->record.record))
        miniport_trace_set_sink(run->trace, &sink);
    return status;
}

/* ---- Right below the manager ----------------------------------------------------------------- */

static NTSTATUS create_manager_coverage(struct run_assembly *run, struct miniport *next,
                                        struct miniport **out_layer)
{
    return coverage_manager_layer_create(run->config->coverage, services_of(run), next, out_layer);
}

/* Messages are the device's own. */
static bool shares_interrupt(const struct run_assembly *run)
{
    return run->config->shares_interrupt && !machine_pci(run->machine)->message_count;
}

static NTSTATUS create_spurious(struct run_assembly *run, struct miniport *next,
                                struct miniport **out_layer)
{
    return spurious_layer_create(services_of(run), run->machine, run->config->seed, next,
                                 out_layer);
}

static bool ends_late(const struct run_assembly *run)
{
    for (uint32_t i = 0; run->gpu && i < run->workload->op_count; i++) {
        if (run->workload->ops[i].kind == WORKLOAD_OP_HANG && run->workload->ops[i].flags)
            return true;
    }
    return false;
}

static void end_hang(void *context, unsigned node)
{
    sgpu_end_hang(((struct run_assembly *)context)->gpu, node);
}

static NTSTATUS create_late_end(struct run_assembly *run, struct miniport *next,
                                struct miniport **out_layer)
{
    return late_end_layer_create(services_of(run), end_hang, run, next, out_layer);
}

static unsigned denied_kinds(const struct run_config *config)
{
    return (config->faults & RUN_FAULT_START ? DENY_START : 0) |
           (config->faults & RUN_FAULT_CONTEXT_ALLOCATIONS ? DENY_CONTEXT_ALLOCATIONS : 0) |
           (config->faults & RUN_FAULT_RESERVED_RANGES ? DENY_RESERVED_RANGES : 0) |
           (config->faults & RUN_FAULT_SAVE_AREA ? DENY_SAVE_AREA : 0);
}

static bool denies(const struct run_assembly *run)
{
    return denied_kinds(run->config) != 0;
}

static NTSTATUS create_deny(struct run_assembly *run, struct miniport *next,
                            struct miniport **out_layer)
{
    NTSTATUS status = deny_layer_create(services_of(run), denied_kinds(run->config),
                                        run->config->seed, next, out_layer);

    run->deny = *out_layer;
    return status;
}

static bool has_added_layer(const struct run_assembly *run)
{
    return run->config->add_layer != NULL;
}

static NTSTATUS create_added_layer(struct run_assembly *run, struct miniport *next,
                                   struct miniport **out_layer)
{
    *out_layer = run->config->add_layer(run->config->layer_context, next);
    return *out_layer ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

/* ---- The table ------------------------------------------------------------------------------- */

static const struct run_layer layers[] = {
    {.name = "foreign board",
     .when = "without the Drydock GPU",
     .sentence = "learns the segments of the driver's own board; takes from memory what sleeps and "
                 "resets take",
     .is_in = has_no_gpu,
     .create = create_board},
    {.name = "zoo",
     .when = "`--driver` names a defect of the zoo",
     .sentence = "makes the reference driver a driver with one mistake",
     .is_in = is_wrapped,
     .create = create_wrap},
    {.name = "driver coverage",
     .when = "`drydock ops`",
     .sentence = "watches which members of an operation the driver reads",
     .is_in = has_coverage,
     .create = create_driver_coverage},
    {.name = "device memory",
     .when = "option `device-memory`",
     .sentence = "plays a driver that asks the graphics kernel for memory for its device",
     .is_in = asks_memory,
     .create = create_device_memory},
    {.name = "lowered size",
     .when = "option `lowers-dma-size`",
     .sentence = "plays a driver that lowers DmaSize by what it has written",
     .is_in = lowers_size,
     .create = create_lowered_size},
    {.name = "private data",
     .when = "option `private-data`",
     .sentence = "declares another size of private data than the driver does",
     .is_in = has_private_data,
     .create = create_private_data},
    {.name = "DMA buffer size",
     .when = "option `dma-buffer`",
     .sentence = "declares DMA buffers of another size than the driver does",
     .is_in = has_dma_buffer_size,
     .create = create_dma_buffer_size},
    {.name = "busy",
     .when = "option `busy`",
     .sentence = "plays a driver whose operations need the allocation to be idle",
     .is_in = is_busy,
     .create = create_busy},
    {.name = "guard",
     .when = "rules are checked",
     .sentence = "lends everything that a pointer leads to between guards, and poisons it behind "
                 "the call",
     .is_in = checks_rules,
     .create = create_guard},
    {.name = "lend",
     .when = "unless the driver may keep what it is lent",
     .sentence = "gives the driver copies of page lists, which are poisoned behind the call",
     .is_in = run_is_lent_for_call,
     .create = create_lend},
    {.name = "one handle",
     .when = "allocations are renamed",
     .sentence = "gives the driver the one handle of a renamed allocation again",
     .is_in = has_instances,
     .create = create_one_handle},
    {.name = "check",
     .when = "rules are checked",
     .sentence = "judges every call by the rules",
     .is_in = checks_rules,
     .create = create_check},
    {.name = "probe",
     .when = "fault `probes`",
     .sentence = "asks for operations that no driver knows",
     .is_in = probes,
     .create = create_probe},
    {.name = "irql",
     .when = "always",
     .sentence = "calls each function at the interrupt request level at which Windows does",
     .create = create_irql},
    {.name = "user memory",
     .when = "option `user-memory`",
     .sentence = "calls DxgkDdiRender once more first, while its commands change or go away",
     .is_in = changes_user_memory,
     .create = create_user_memory},
    {.name = "hostile client",
     .when = "option `client`",
     .sentence =
         "calls DxgkDdiRender once more first, with commands that no user-mode driver makes",
     .is_in = has_hostile_client,
     .create = create_hostile_client},
    {.name = "oracle",
     .when = "content is checked",
     .sentence = "tells the oracle which bytes each paging buffer must move",
     .is_in = has_oracle,
     .create = create_oracle},
    {.name = "instances",
     .when = "allocations are renamed",
     .sentence = "gives each instance of a renamed allocation a handle of its own",
     .is_in = has_instances,
     .create = create_instances},
    {.name = "trace",
     .when = "always",
     .sentence = "counts, hashes and writes down every call and callback",
     .create = create_trace},
    {.name = "spurious",
     .when = "option `shared-interrupt`",
     .sentence = "calls the interrupt routine for interrupts of another device on the line",
     .is_in = shares_interrupt,
     .create = create_spurious},
    {.name = "manager coverage",
     .when = "`drydock ops`",
     .sentence = "watches which members of a descriptor the manager reads",
     .is_in = has_coverage,
     .create = create_manager_coverage},
    {.name = "late end",
     .when = "a `hang` line says `ends=asked`",
     .sentence = "lets a node that hangs end its packet when the driver is asked for its state",
     .is_in = ends_late,
     .create = create_late_end},
    {.name = "deny",
     .when = "faults `start`, `context-allocations`, `reserved-ranges`, `save-area`",
     .sentence = "lets callbacks of the driver fail, as documented",
     .is_in = denies,
     .create = create_deny},
    {.name = "added layer",
     .when = "a test adds one",
     .sentence = "is the test's own",
     .is_in = has_added_layer,
     .create = create_added_layer},
};

const struct run_layer *run_layer_at(unsigned index)
{
    return index < ARRAY_COUNT(layers) ? &layers[index] : NULL;
}

bool run_raise_stack(struct run_assembly *run)
{
    for (size_t i = 0; i < ARRAY_COUNT(layers); i++) {
        struct miniport *layer = NULL;

        if (layers[i].is_in && !layers[i].is_in(run))
            continue;
        if (!NT_SUCCESS(layers[i].create(run, run->top, &layer)))
            return run_refuse(run, "no memory for the layer '%s'", layers[i].name);
        run->top = layer;
    }
    return true;
}
