#include "bench/measure/live_manager.h"

#include "workload/workload.h"

#include <stdlib.h>

#define MOST_EVENTS 10000000u

bool live_manager_run(const struct live_manager *manager)
{
    static const char text[] = "drydock-case 1\n";
    const struct run_tamper tamper = {
        .op_index = 0, .fn = manager->fn, .context = manager->context};
    struct workload_error error;
    struct workload *workload;
    struct run_config config;
    struct run_result *result = calloc(1, sizeof *result);
    bool done;

    if (!result || !workload_parse(text, sizeof text - 1, "bench", &workload, &error)) {
        free(result);
        return false;
    }
    run_config_defaults(&config);
    config.model = manager->model;
    config.local_bytes = manager->local_bytes;
    config.ram_bytes = manager->ram_bytes;
    config.mmu = manager->mmu;
    config.checks_content = config.checks_rules = false;
    config.reference = RUN_REFERENCE_NEVER;
    config.hashes_calls = false;
    config.tamper = &tamper;
    config.add_layer = manager->add_layer;
    config.layer_context = manager->context;
    done = run_execute(&config, workload, result) == RUN_CLEAN;
    run_result_fini(result);
    free(result);
    workload_free(workload);
    return done;
}

bool live_manager_settle(const struct run_live *live)
{
    for (unsigned i = 0; !vidmm_is_idle(live->vidmm); i++) {
        if (i == MOST_EVENTS || !machine_run_next(live->machine))
            return false;
    }
    return true;
}
