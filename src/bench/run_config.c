/*
 * What a run is made of: defaults, the options of a case, and what follows from the workload.
 */
#include "bench/run.h"

#include "base/bits.h"

#include <string.h>

#define DEFAULT_QUEUE_DEPTH  4u
#define DEFAULT_LOCAL_BYTES  (4 * GiB)
#define DEFAULT_APERTURE     (4 * GiB)
#define DEFAULT_JITTER_NS    UINT64_C(100)
#define DEFAULT_EVENTS_LIMIT UINT64_C(200000)
#define DEFAULT_EVENTS_BYTES (32 * MiB)
#define RAM_UNIT             (2 * MiB)

static const char *const model_names[] = {
    [RUN_PHYSICAL] = "physical",
    [RUN_GPUMMU] = "gpummu",
    [RUN_IOMMU] = "iommu",
};
static const char *const update_mode_names[] = {
    [RUN_UPDATE_GPU_VIRTUAL] = "gpu-virtual",
    [RUN_UPDATE_GPU_PHYSICAL] = "gpu-physical",
    [RUN_UPDATE_CPU] = "cpu",
};

const char *run_model_name(enum run_model model)
{
    return model_names[model];
}

const char *run_update_mode_name(enum run_update_mode mode)
{
    return update_mode_names[mode];
}

unsigned run_update_mode_count(void)
{
    return ARRAY_COUNT(update_mode_names);
}

/* The place of name in names, or count. */
static size_t find_name(const char *const *names, size_t count, const char *name)
{
    size_t i = 0;

    while (i < count && strcmp(names[i], name) != 0)
        i++;
    return i;
}

bool run_find_model(const char *name, enum run_model *out)
{
    size_t i = find_name(model_names, ARRAY_COUNT(model_names), name);

    if (i == ARRAY_COUNT(model_names))
        return false;
    *out = (enum run_model)i;
    return true;
}

bool run_find_update_mode(const char *name, enum run_update_mode *out)
{
    size_t i = find_name(update_mode_names, ARRAY_COUNT(update_mode_names), name);

    if (i == ARRAY_COUNT(update_mode_names))
        return false;
    *out = (enum run_update_mode)i;
    return true;
}

void run_config_defaults(struct run_config *out_config)
{
    *out_config = (struct run_config){
        .driver = "ref",
        .model = RUN_GPUMMU,
        .seed = 1,
        .scatter = MACHINE_SCATTERED,
        .checks_content = true,
        .checks_rules = true,
        .hashes_calls = true,
        .events = RUN_EVENTS_NONE,
    };
}

static enum run_preserve find_preserve(const char *name)
{
    static const char *const names[] = {"nothing", "standby", "hibernate", "part"};

    return (enum run_preserve)(find_name(names, ARRAY_COUNT(names), name) % ARRAY_COUNT(names));
}

static const struct {
    const char *word;
    uint32_t bit;
} traits[] = {
    {"from-system", SGPU_TRAIT_FROM_SYSTEM},     {"from-firmware", SGPU_TRAIT_FROM_FIRMWARE},
    {"scan-out", SGPU_TRAIT_SCAN_OUT},           {"for-users", SGPU_TRAIT_FOR_USERS},
    {"encrypts", SGPU_TRAIT_ENCRYPTS},           {"keeps-protected", SGPU_TRAIT_KEEPS_PROTECTED},
    {"cached-window", SGPU_TRAIT_CACHED_WINDOW},
};

static const struct {
    const char *word;
    unsigned bit;
} fault_words[] = {{"probes", RUN_FAULT_PROBES}, {"page-lists", RUN_FAULT_PAGE_LISTS}};

void run_config_from_workload(struct run_config *config, const struct workload *workload)
{
    uint64_t local = workload_option_number(workload, "local-memory", 0);
    uint64_t hidden = workload_option_number(workload, "local-invisible", 0);
    const char *model = workload_option(workload, "model");
    const char *wddm = workload_option(workload, "wddm");
    const char *banks = workload_option(workload, "banks");
    const char *ranges = workload_option(workload, "swizzling-ranges");
    const char *splitting = workload_option(workload, "dma-split");
    const char *contract = workload_option(workload, "dma-contract");
    const char *handle = workload_option(workload, "context-handle");
    const char *remapping = workload_option(workload, "dma-remapping");
    const char *busy = workload_option(workload, "busy");
    const char *told = workload_option(workload, "tables-in-transfer");
    const char *coherent = workload_option(workload, "coherent-aperture");
    const char *host = workload_option(workload, "host-aperture");
    const char *idle = workload_option(workload, "announce-idle");
    const char *patch = workload_option(workload, "paging-patch");
    const char *scatter = workload_option(workload, "scatter");
    const char *content = workload_option(workload, "content");
    const char *updates = workload_option(workload, "page-tables");
    const char *tables = workload_option(workload, "page-table-memory");
    const char *preserve = workload_option(workload, "preserve");

    config->budget = workload_option_number(workload, "budget", config->budget);
    if (model)
        run_find_model(model, &config->model);
    if (wddm) /* "3.0" */
        config->wddm = (unsigned)(wddm[0] - '0') * 10 + (unsigned)(wddm[2] - '0');
    if (local) {
        config->local_bytes = local + hidden;
        config->visible_bytes = local;
    }
    config->aperture_bytes = workload_option_number(workload, "aperture", config->aperture_bytes);
    config->residency_part_bytes =
        workload_option_number(workload, "residency-part", config->residency_part_bytes);
    config->auxiliary_mmus =
        (unsigned)workload_option_number(workload, "auxiliary-mmus", config->auxiliary_mmus);
    config->native_fences =
        (unsigned)workload_option_number(workload, "native-fences", config->native_fences);
    config->ram_bytes = workload_option_number(workload, "system-memory", config->ram_bytes);
    config->paging_buffer_bytes =
        (uint32_t)workload_option_number(workload, "paging-buffer", config->paging_buffer_bytes);
    config->queue_depth =
        (unsigned)workload_option_number(workload, "queue-depth", config->queue_depth);
    config->link_bytes_per_second =
        workload_option_number(workload, "link-bandwidth", config->link_bytes_per_second);
    config->local_bytes_per_second =
        workload_option_number(workload, "local-bandwidth", config->local_bytes_per_second);
    config->node_count = (unsigned)workload_option_number(workload, "nodes", config->node_count);
    config->seed = workload_option_number(workload, "seed", config->seed);
    if (scatter)
        config->scatter = strcmp(scatter, "no") == 0 ? MACHINE_CONTIGUOUS : MACHINE_SCATTERED;
    config->render_piece_refs =
        (unsigned)workload_option_number(workload, "render-piece", config->render_piece_refs);
    if (splitting)
        config->splits_dma_buffers = strcmp(splitting, "always") == 0;
    if (contract)
        config->guarantees_one_buffer = strcmp(contract, "guaranteed") == 0;
    if (handle)
        config->inits_by_driver_handle = strcmp(handle, "driver") == 0;
    if (banks)
        config->has_banks = strcmp(banks, "yes") == 0;
    if (ranges)
        config->has_no_ranges = strcmp(ranges, "no") == 0;
    config->agp_bytes = workload_option_number(workload, "agp", config->agp_bytes);
    if (remapping)
        config->remaps_dma = strcmp(remapping, "no") != 0;
    if (config->remaps_dma && !config->wddm)
        config->wddm = 30; /* the first level of the driver that can */
    if (busy)
        config->is_busy_until_idle = strcmp(busy, "no") != 0;
    for (size_t i = 0; i < ARRAY_COUNT(fault_words); i++) {
        if (workload_option_has(workload, "faults", fault_words[i].word))
            config->faults |= fault_words[i].bit;
    }
    for (size_t i = 0; i < ARRAY_COUNT(traits); i++) {
        if (workload_option_has(workload, "local-traits", traits[i].word))
            config->local_traits |= traits[i].bit;
    }
    config->fill_pattern =
        (uint32_t)workload_option_number(workload, "fill-pattern", config->fill_pattern);
    if (told)
        config->tells_tables_in_transfer = strcmp(told, "no") != 0;
    if (coherent)
        config->has_coherent_aperture = strcmp(coherent, "no") != 0;
    config->protected_bytes =
        workload_option_number(workload, "protected-memory", config->protected_bytes);
    config->picture_bytes =
        workload_option_number(workload, "firmware-picture", config->picture_bytes);
    if (host)
        config->has_host_aperture = strcmp(host, "no") != 0;
    config->dead_bytes = workload_option_number(workload, "dead-memory", config->dead_bytes);
    config->transfer_piece_bytes =
        workload_option_number(workload, "transfer-piece", config->transfer_piece_bytes);
    if (idle)
        config->announces_idle = strcmp(idle, "no") != 0;
    if (patch)
        config->skips_paging_patch = strcmp(patch, "no") == 0;
    config->aperture_piece_bytes =
        workload_option_number(workload, "aperture-piece", config->aperture_piece_bytes);
    if (tables)
        config->has_tables_in_system_memory = strcmp(tables, "system") == 0;
    if (updates)
        run_find_update_mode(updates, &config->update_mode);
    run_mmu_from_workload(&config->mmu, workload);
    config->timeout_ns = workload_option_number(workload, "timeout", config->timeout_ns);
    config->timeout_limit =
        (unsigned)workload_option_number(workload, "timeout-limit", config->timeout_limit);
    if (preserve)
        config->preserve = find_preserve(preserve);
    if (content)
        config->checks_content = strcmp(content, "none") != 0;
}

const char *run_config_unsupported_option(const struct workload *workload)
{
    static const char *const keys[] = {"dma-buffer"};

    for (size_t i = 0; i < ARRAY_COUNT(keys); i++) {
        if (workload_option(workload, keys[i]))
            return keys[i];
    }
    return NULL;
}

const char *run_config_refused_flag(const struct workload *workload)
{
    static const uint32_t flags[] = {
        WORKLOAD_ALLOCATION_EXISTING_SYSMEM,
        WORKLOAD_ALLOCATION_PROTECTED,
        WORKLOAD_ALLOCATION_HARDWARE_PROTECTED,
    };

    for (uint32_t i = 0; i < workload->allocation_count; i++) {
        for (size_t j = 0; j < ARRAY_COUNT(flags); j++) {
            if (workload->allocations[i].flags & flags[j])
                return workload_allocation_flag_name(flags[j]);
        }
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
    if (!config->events_bytes)
        config->events_bytes = config->events_limit ? UINT64_MAX : DEFAULT_EVENTS_BYTES;
    if (!config->events_limit)
        config->events_limit = DEFAULT_EVENTS_LIMIT;
}
