#include "bench/measure/image_bench.h"

#include "bench/campaign/campaign.h"
#include "nt/machine/boundary.h"

#include <ntddk.h>

#include <stdlib.h>
#include <time.h>

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

typedef NTSTATUS NTAPI ddi(HANDLE adapter, void *argument);

static ddi *volatile service;

static NTSTATUS NTAPI do_nothing(HANDLE adapter, void *argument)
{
    return STATUS_SUCCESS;
}

/* Plays the driver: it runs on its kernel stack. */
__attribute__((no_sanitize("address", "undefined"))) static NTSTATUS NTAPI
call_service(HANDLE adapter, void *argument)
{
    return service(adapter, argument);
}

static double time_calls(ddi *volatile function, uint64_t calls)
{
    double start = seconds_now();

    for (uint64_t i = 0; i < calls; i++)
        function(NULL, NULL);
    return (seconds_now() - start) / (double)calls * 1e9;
}

bool image_bench_calls_run(uint64_t calls, struct image_bench_calls *out)
{
    struct boundary *boundary = boundary_create(base_services_libc(), NULL, NULL);
    ddi *entry, *calling;

    if (!boundary)
        return false;
    entry = (ddi *)boundary_entry(boundary, (const void *)do_nothing);
    calling = (ddi *)boundary_entry(boundary, (const void *)call_service);
    service = (ddi *)boundary_service(boundary, (const void *)do_nothing);
    if (entry && calling && service) {
        out->straight_ns = time_calls(do_nothing, calls);
        out->entry_ns = time_calls(entry, calls);
        out->service_ns = time_calls(calling, calls);
    }
    boundary_destroy(boundary);
    return entry && calling && service;
}

/* ---- Seeds ----------------------------------------------------------------------------------- */

bool image_bench_seeds(const char *driver, enum run_model model, unsigned wddm, uint64_t count,
                       double *out_seconds)
{
    const struct campaign_options options = {.driver = driver, .model = (enum campaign_model)model};
    struct campaign_record *record = calloc(1, sizeof *record);
    bool is_clean = record != NULL;
    double start = seconds_now();

    for (uint64_t seed = 0, played = 0; is_clean && played < count; seed++) {
        struct campaign_setup setup;
        struct workload *workload;
        struct workload_error error;

        /* Both play the same seeds: those that draw this level with the reference driver. */
        if (!campaign_draw_workload(seed, NULL, &workload, &error)) {
            is_clean = false;
            break;
        }
        campaign_draw_setup(&(struct campaign_options){.driver = "ref", .model = options.model},
                            seed, workload, &setup);
        workload_free(workload);
        if (setup.config.wddm != wddm)
            continue;
        campaign_play(&options, seed, 0, record);
        is_clean = record->outcome == CAMPAIGN_CLEAN;
        played++;
    }
    *out_seconds = seconds_now() - start;
    free(record);
    return is_clean;
}
