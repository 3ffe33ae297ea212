/*
 * A configuration's defaults, and what follows from the workload. Its options: run_options.c.
 */
#include "bench/config/run_config.h"

#include "base/bits.h"
#include "bench/config/profile.h"
#include "workload/case/options.h"
#include "workload/summary.h"
#include "workload/words.h"

#include <string.h>

#define DEFAULT_QUEUE_DEPTH 4u
#define DEFAULT_LOCAL_BYTES (4 * GiB)
#define DEFAULT_APERTURE    (4 * GiB)
#define DEFAULT_JITTER_NS   UINT64_C(100)
#define RAM_UNIT            (2 * MiB)

/* The word of a case for a value of the member that the option stands for. */
static const char *word_of(const char *key, unsigned value)
{
    return workload_options[workload_option_place(key)].words[value];
}

const char *run_model_name(enum run_model model)
{
    return word_of("model", model);
}

const char *run_update_mode_name(enum run_update_mode mode)
{
    return word_of("page-tables", mode);
}

void run_config_defaults(struct run_config *out_config)
{
    *out_config = (struct run_config){
#define RUN_OPTION(type, member, key, values, initial, ...)     .member = initial,
#define RUN_MMU_OPTION(type, member, key, values, initial, ...) .mmu.member = initial,
#define CASE_OPTION(...)
#include "workload/case/run_options.inc"
        .hashes_calls = true,
        .reference = RUN_REFERENCE_SHORT,
    };
}

const char *run_config_unsupported_option(const struct workload *workload)
{
    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT; i++) {
        if (!workload_options[i].is_followed && workload_option(workload, workload_options[i].key))
            return workload_options[i].key;
    }
    return NULL;
}

/* Half of what is alive at the peak, but room for any single submission twice. */
static uint64_t choose_local(const struct workload_summary *summary)
{
    uint64_t local = min_u64(DEFAULT_LOCAL_BYTES, summary->peak_live_bytes / 2);

    local = max_u64(local, 2 * summary->largest_submission_bytes + 16 * MiB);
    return align_up(local, MiB);
}

static unsigned choose_nodes(const struct workload *workload)
{
    unsigned nodes = SGPU_NODE_COPY + 1;

    for (uint32_t i = 0; i < workload->context_count; i++) {
        if (workload->contexts[i].node >= nodes)
            nodes = workload->contexts[i].node + 1;
    }
    return nodes;
}

void run_config_resolve(struct run_config *config, const struct workload *workload)
{
    struct workload_summary summary;
    struct machine_config machine;

    workload_summarise(workload, &summary);
    if (!config->local_bytes)
        config->local_bytes = choose_local(&summary);
    config->local_bytes = align_up(config->local_bytes, PAGE_BYTES);
    if (!config->visible_bytes || config->visible_bytes > config->local_bytes)
        config->visible_bytes = config->local_bytes;
    config->visible_bytes = align_up(config->visible_bytes, PAGE_BYTES);
    if (!config->aperture_bytes)
        config->aperture_bytes = DEFAULT_APERTURE;
    config->aperture_bytes = align_up(config->aperture_bytes, PAGE_BYTES);
    if (!config->ram_bytes)
        config->ram_bytes =
            min_u64(2 * summary.peak_live_bytes + config->local_bytes + GiB, RUN_MAX_BYTES);
    config->ram_bytes = align_up(max_u64(config->ram_bytes, 2 * RAM_UNIT), RAM_UNIT);
    if (!config->node_count)
        config->node_count = choose_nodes(workload);
    if (!config->jitter_ns)
        config->jitter_ns = DEFAULT_JITTER_NS;
    machine_config_defaults(&machine, config->seed);
    if (!config->link_bytes_per_second)
        config->link_bytes_per_second = machine.pcie_bytes_per_second;
    if (!config->local_bytes_per_second)
        config->local_bytes_per_second = machine.local_bytes_per_second;
    if (!config->queue_depth)
        config->queue_depth = DEFAULT_QUEUE_DEPTH;
}
