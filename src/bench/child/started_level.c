#include "bench/child/started_level.h"

#include "bench/child/child_run.h"

#include <stdlib.h>

#define SECONDS 10.0

unsigned child_started_level(const char *path, enum run_model model)
{
    static const char text[] = "drydock-case 1\n";
    struct run_result *result = calloc(1, sizeof *result);
    struct workload_error error;
    struct workload *workload;
    struct run_config config;
    unsigned wddm = 0;

    if (result && workload_parse(text, sizeof text - 1, "a start", &workload, &error)) {
        run_config_defaults(&config);
        config.driver = path;
        config.model = model;
        config.reference = RUN_REFERENCE_NEVER;
        if (child_run_execute(&config, workload, SECONDS, result)) {
            wddm = result->started_wddm;
            run_result_fini(result);
        }
        workload_free(workload);
    }
    free(result);
    return wddm;
}
