/*
 * Run: one workload on one driver, from an empty machine to a result.
 *
 * Place      bench. Uses all below; used by cli and campaigns, and by whole-run tests. What goes in
 *            is described in bench/config/run_config.h, what comes out in bench/run/run_result.h.
 * Model      A run assembles machine, GPU, driver, layers, memory manager and player, plays the
 *            workload, checks every live byte at the end, takes everything down and counts what
 *            was left. The CPU side is free of charge: calls take no virtual time, events rule.
 * Ownership  run_execute() fills a result that the caller ends with run_result_fini().
 * Errors     The outcome and result->error.
 */
#ifndef DRYDOCK_BENCH_RUN_H
#define DRYDOCK_BENCH_RUN_H

#include "bench/config/run_config.h"
#include "bench/run/run_result.h"
#include "workload/workload.h"

struct gpu_plugin;
struct miniport;
struct run_record_manager;

/* Plays the workload. out_result is complete whatever the outcome, which is also returned. */
enum run_outcome run_execute(const struct run_config *config, const struct workload *workload,
                             struct run_result *out_result);

/*
 * A guest plays in the place of a workload: it has the machine and the started manager, and calls
 * what it likes. All that it made is gone when play() returns; the run is then taken down, checked
 * for leaks and judged like any other. Content is not followed.
 */
struct run_board {
    struct machine *machine;
    struct vidmm *vidmm;
    struct check *check; /* NULL: rules are not judged */
    const struct run_config *config;
    struct run_result *result;
    struct miniport *miniport;       /* what the manager calls: the driver under all layers */
    const struct gpu_plugin *plugin; /* NULL: the Drydock GPU, or none */
    struct run_record_manager *record;
};
struct run_guest {
    const char *name; /* of the run, in the place of its case's; NULL: guest */
    void *context;
    void (*play)(void *context, const struct run_board *board);
    /* Of vidmm_config.events; may be NULL. */
    void (*device_error)(void *context, struct vidmm_device *device);
    void (*trim)(void *context, struct vidmm_process *process, enum vidmm_budget_group group,
                 uint64_t bytes);
};
enum run_outcome run_execute_guest(const struct run_config *config, const struct run_guest *guest,
                                   struct run_result *out_result);

#endif
