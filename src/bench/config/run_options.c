/*
 * The table of options, and the two ways along it.
 */
#include "bench/config/run_options.h"

#include "base/assert.h"
#include "base/bits.h"
#include "workload/case/template.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define WORD_BYTES 32

/* The words of a set, from the lowest bit on. */
_Static_assert(SGPU_TRAIT_FROM_SYSTEM == 1 && SGPU_TRAIT_CACHED_WINDOW == 1 << 6 &&
                   RUN_FAULT_PROBES == 1 && RUN_FAULT_ALL == 127,
               "the table below names the bits in order");

#define MEMBER(name) #name, offsetof(struct run_config, name), sizeof((struct run_config *)0)->name
#define NUMBER(name, key)                                                                          \
    {                                                                                              \
        MEMBER(name), RUN_OPTION_NUMBER, key, NULL                                                 \
    }
#define CHOICE(name, key, words)                                                                   \
    {                                                                                              \
        MEMBER(name), RUN_OPTION_CHOICE, key, words                                                \
    }
#define SET(name, key, words)                                                                      \
    {                                                                                              \
        MEMBER(name), RUN_OPTION_SET, key, words                                                   \
    }
#define SPECIAL(name, kind, key)                                                                   \
    {                                                                                              \
        MEMBER(name), kind, key, NULL                                                              \
    }
#define NONE(name, reason)                                                                         \
    {                                                                                              \
        MEMBER(name), RUN_OPTION_NONE, reason, NULL                                                \
    }

static const struct run_option rows[] = {
    SPECIAL(driver, RUN_OPTION_NAME, "driver"),
    SPECIAL(profile, RUN_OPTION_NAME, "profile"),
    SPECIAL(gpu, RUN_OPTION_NAME, "gpu"),
    SPECIAL(allocation_data, RUN_OPTION_TEMPLATE, "allocation-data"),
    SPECIAL(context_data, RUN_OPTION_TEMPLATE, "context-data"),
    SPECIAL(command_data, RUN_OPTION_TEMPLATE, "command-data"),
    SPECIAL(surroundings, RUN_OPTION_SURROUNDINGS, "surroundings"),
    CHOICE(model, "model", "physical|gpummu|iommu"),
    SPECIAL(wddm, RUN_OPTION_LEVEL, "wddm"),
    NUMBER(seed, "seed"),
    SPECIAL(local_bytes, RUN_OPTION_LOCAL, "local-memory"),
    NONE(visible_bytes, "local-memory is what is visible, local-invisible the rest"),
    NUMBER(aperture_bytes, "aperture"),
    NUMBER(ram_bytes, "system-memory"),
    NUMBER(link_bytes_per_second, "link-bandwidth"),
    NUMBER(local_bytes_per_second, "local-bandwidth"),
    CHOICE(scatter, "scatter", "yes|fragmented|no"),
    NUMBER(agp_bytes, "agp"),
    NUMBER(residency_part_bytes, "residency-part"),
    NUMBER(auxiliary_mmus, "auxiliary-mmus"),
    NUMBER(native_fences, "native-fences"),
    CHOICE(remaps_dma, "dma-remapping", "no|yes"),
    NUMBER(jitter_ns, "jitter"),
    CHOICE(has_banks, "banks", "no|yes"),
    CHOICE(has_pitch, "pitch", "no|yes"),
    CHOICE(evicts_through_aperture, "eviction", "pages|aperture"),
    CHOICE(has_no_ranges, "swizzling-ranges", "yes|no"),
    NUMBER(node_count, "nodes"),
    CHOICE(update_mode, "page-tables", "gpu-virtual|gpu-physical|cpu"),
    CHOICE(has_tables_in_system_memory, "page-table-memory", "local|system"),
    NUMBER(mmu.levels, "page-table-levels"),
    CHOICE(mmu.has_plain_entries, "page-table-entries", "full|plain"),
    CHOICE(mmu.pages_64k, "pages-64k", "none|single|dual"),
    CHOICE(mmu.has_large_pages, "large-pages", "no|yes"),
    CHOICE(mmu.frees_tables, "free-page-tables", "no|yes"),
    CHOICE(mmu.clears_tables, "clear-page-tables", "no|yes"),
    CHOICE(mmu.has_idle_updates, "idle-updates", "no|yes"),
    CHOICE(mmu.may_cache_invalid, "cached-invalid-entries", "no|yes"),
    CHOICE(mmu.reserves_range, "reserved-range", "no|yes"),
    NUMBER(budget, "budget"),
    NUMBER(paging_buffer_bytes, "paging-buffer"),
    NUMBER(paging_buffer_count, "paging-buffers"),
    NUMBER(private_data_bytes, "private-data"),
    SPECIAL(has_private_data, RUN_OPTION_OF_NUMBER, "private-data"),
    NUMBER(hardware_queue_depth, "hardware-queue"),
    NUMBER(local_limit, "local-limit"),
    SET(faults, "faults", "probes|page-lists|pool|start|context-allocations|preemptions|late-dpcs"),
    CHOICE(is_busy_until_idle, "busy", "no|yes"),
    CHOICE(lowers_dma_size, "lowers-dma-size", "no|yes"),
    NUMBER(fill_pattern, "fill-pattern"),
    CHOICE(tells_tables_in_transfer, "tables-in-transfer", "no|yes"),
    SET(local_traits, "local-traits",
        "from-system|from-firmware|scan-out|for-users|encrypts|keeps-protected|cached-window"),
    CHOICE(has_coherent_aperture, "coherent-aperture", "no|yes"),
    NUMBER(protected_bytes, "protected-memory"),
    NUMBER(picture_bytes, "firmware-picture"),
    CHOICE(has_host_aperture, "host-aperture", "no|yes"),
    NUMBER(dead_bytes, "dead-memory"),
    NUMBER(transfer_piece_bytes, "transfer-piece"),
    NUMBER(scratch_bytes, "scratch"),
    CHOICE(switches_to_null_context, "null-context", "no|yes"),
    CHOICE(announces_idle, "announce-idle", "no|yes"),
    CHOICE(skips_paging_patch, "paging-patch", "yes|no"),
    CHOICE(marks_paging_only, "resubmission", "all|paging"),
    CHOICE(starts_as_observed, "start", "documented|observed"),
    CHOICE(pages_through_aperture, "paging-segment", "system|aperture"),
    CHOICE(hides_buffer_address, "paging-address", "virtual|none"),
    CHOICE(names_allocations, "patch-locations", "none|each"),
    CHOICE(initialises_in_pieces, "initial-update", "whole|pieces"),
    CHOICE(pages_in_patched_only, "brought-in", "listed|patched"),
    NUMBER(render_piece_refs, "render-piece"),
    CHOICE(renames, "rename", "no|yes"),
    CHOICE(splits_dma_buffers, "dma-split", "needed|always"),
    CHOICE(guarantees_one_buffer, "dma-contract", "multipass|guaranteed"),
    CHOICE(inits_by_driver_handle, "context-handle", "kernel|driver"),
    NUMBER(aperture_piece_bytes, "aperture-piece"),
    NUMBER(timeout_ns, "timeout"),
    NUMBER(timeout_limit, "timeout-limit"),
    CHOICE(preserve, "preserve", "nothing|standby|hibernate|part"),
    CHOICE(resets_whole_adapter, "resets", "engine|adapter"),
    NUMBER(queue_depth, "queue-depth"),
    CHOICE(checks_content, "content", "none|full"),
    CHOICE(checks_rules, "rules", "none|full"),
    NUMBER(fail_allocation, "fail-allocation"),
    CHOICE(pool_guard, "pool-guard", "auto|none|end|begin"),
    NONE(is_model_given, "whether the case has a model"),
    CHOICE(lending, "lent", "auto|call|kept"),
    NONE(hashes_calls, "what the digest holds, nothing of the run"),
    NONE(reference, "a second run, to compare times with"),
    NONE(events, "what is written down"),
    NONE(events_path, "what is written down"),
    NONE(events_limit, "what is written down"),
    NONE(events_bytes, "what is written down"),
    NONE(calls_path, "what is written down"),
    NONE(check_interval, "how often debug builds look at the manager's invariants"),
    NONE(coverage, "who looks on"),
    NONE(tamper, "what a test does"),
    NONE(add_layer, "what a test does"),
    NONE(layer_context, "what a test does"),
    NONE(progress, "who looks on"),
    NONE(progress_context, "who looks on"),
};

const struct run_option *run_option_at(unsigned index)
{
    return index < ARRAY_COUNT(rows) ? &rows[index] : NULL;
}

/* ---- Members --------------------------------------------------------------------------------- */

static uint64_t get_number(const struct run_option *row, const struct run_config *config)
{
    const char *at = (const char *)config + row->offset;

    switch (row->size) {
    case sizeof(uint8_t):
        return *(const uint8_t *)at;
    case sizeof(uint32_t):
        return *(const uint32_t *)at;
    default:
        ASSERT(row->size == sizeof(uint64_t));
        return *(const uint64_t *)at;
    }
}

static void set_number(const struct run_option *row, struct run_config *config, uint64_t value)
{
    char *at = (char *)config + row->offset;

    switch (row->size) {
    case sizeof(uint8_t):
        *(uint8_t *)at = (uint8_t)value;
        break;
    case sizeof(uint32_t):
        *(uint32_t *)at = (uint32_t)value;
        break;
    default:
        ASSERT(row->size == sizeof(uint64_t));
        *(uint64_t *)at = value;
        break;
    }
}

_Static_assert(sizeof(bool) == sizeof(uint8_t) && sizeof(enum run_model) == sizeof(uint32_t),
               "members are numbers of the sizes that are known");

static const char *get_name(const struct run_option *row, const struct run_config *config)
{
    return *(const char *const *)((const char *)config + row->offset);
}

static size_t word_length(const char *words)
{
    return strcspn(words, "|");
}

static const char *next_word(const char *words)
{
    size_t length = word_length(words);

    return words[length] ? words + length + 1 : NULL;
}

/* ---- From a case ----------------------------------------------------------------------------- */

static void read_choice(const struct run_option *row, const char *value, struct run_config *config)
{
    uint64_t number = 0;

    for (const char *word = row->words; word; word = next_word(word), number++) {
        if (strlen(value) == word_length(word) && memcmp(value, word, word_length(word)) == 0)
            set_number(row, config, number);
    }
}

void run_config_set_choice(struct run_config *config, const char *key, const char *word)
{
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        if (rows[i].kind == RUN_OPTION_CHOICE && strcmp(rows[i].key, key) == 0)
            read_choice(&rows[i], word, config);
    }
}

static void read_set(const struct run_option *row, const struct workload *workload,
                     struct run_config *config)
{
    uint64_t bits = get_number(row, config), bit = 1;
    char text[WORD_BYTES];

    for (const char *word = row->words; word; word = next_word(word), bit <<= 1) {
        snprintf(text, sizeof text, "%.*s", (int)word_length(word), word);
        if (workload_option_has(workload, row->key, text))
            bits |= bit;
    }
    set_number(row, config, bits);
}

static void read_option(const struct run_option *row, const struct workload *workload,
                        struct run_config *config)
{
    const char *value = workload_option(workload, row->key);

    if (!value)
        return;
    switch (row->kind) {
    case RUN_OPTION_NUMBER:
        set_number(row, config, workload_option_number(workload, row->key, 0));
        break;
    case RUN_OPTION_CHOICE:
        read_choice(row, value, config);
        break;
    case RUN_OPTION_NAME:
    case RUN_OPTION_TEMPLATE:
    case RUN_OPTION_SURROUNDINGS:
        *(const char **)((char *)config + row->offset) = value;
        break;
    case RUN_OPTION_LEVEL:
        set_number(row, config, (uint64_t)(value[0] - '0') * 10 + (uint64_t)(value[2] - '0'));
        break;
    case RUN_OPTION_SET:
        read_set(row, workload, config);
        break;
    case RUN_OPTION_LOCAL:
        config->visible_bytes = workload_option_number(workload, row->key, 0);
        config->local_bytes =
            config->visible_bytes + workload_option_number(workload, "local-invisible", 0);
        break;
    case RUN_OPTION_OF_NUMBER:
        set_number(row, config, true);
        break;
    case RUN_OPTION_NONE:
        break;
    }
}

void run_config_from_workload(struct run_config *config, const struct workload *workload)
{
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
        read_option(&rows[i], workload, config);
    config->is_model_given |= workload_option(workload, "model") != NULL;
    if (config->remaps_dma && !config->wddm)
        config->wddm = 30; /* the first level of the driver that can */
}

/* ---- To a case ------------------------------------------------------------------------------- */

#define VALUE_BYTES (WORKLOAD_MAX_TEMPLATE + 1)

static void write_choice(const struct run_option *row, uint64_t number, char value[VALUE_BYTES])
{
    const char *word = row->words;

    while (number-- && word)
        word = next_word(word);
    ASSERT(word);
    snprintf(value, VALUE_BYTES, "%.*s", (int)word_length(word), word);
}

static void write_set(const struct run_option *row, uint64_t bits, char value[VALUE_BYTES])
{
    size_t used = 0;

    for (const char *word = row->words; word; word = next_word(word), bits >>= 1) {
        if (bits & 1)
            used += (size_t)snprintf(value + used, VALUE_BYTES - used, "%s%.*s", used ? "," : "",
                                     (int)word_length(word), word);
    }
}

/* "" where the member is as by default. */
static void write_option(const struct run_option *row, const struct run_config *config,
                         const struct run_config *defaults, char value[VALUE_BYTES])
{
    uint64_t number;

    value[0] = '\0';
    switch (row->kind) {
    case RUN_OPTION_NAME:
    case RUN_OPTION_TEMPLATE:
    case RUN_OPTION_SURROUNDINGS:
        if (get_name(row, config) && (!get_name(row, defaults) ||
                                      strcmp(get_name(row, config), get_name(row, defaults)) != 0))
            snprintf(value, VALUE_BYTES, "%s", get_name(row, config));
        return;
    case RUN_OPTION_LOCAL:
        number = config->visible_bytes ? config->visible_bytes : config->local_bytes;
        if (config->local_bytes)
            snprintf(value, VALUE_BYTES, "%" PRIu64, number);
        return;
    case RUN_OPTION_OF_NUMBER:
        if (get_number(row, config))
            snprintf(value, VALUE_BYTES, "%" PRIu32, config->private_data_bytes);
        return;
    case RUN_OPTION_NONE:
        return;
    default:
        break;
    }
    number = get_number(row, config);
    if (number == get_number(row, defaults))
        return;
    if (row->kind == RUN_OPTION_NUMBER)
        snprintf(value, VALUE_BYTES, "%" PRIu64, number);
    else if (row->kind == RUN_OPTION_CHOICE)
        write_choice(row, number, value);
    else if (row->kind == RUN_OPTION_LEVEL)
        snprintf(value, VALUE_BYTES, "%u.%u", (unsigned)(number / 10), (unsigned)(number % 10));
    else
        write_set(row, number, value);
}

bool run_config_to_options(const struct run_config *config, struct workload *workload,
                           struct workload_error *error)
{
    struct run_config defaults;
    char values[ARRAY_COUNT(rows)][VALUE_BYTES], hidden[VALUE_BYTES];

    run_config_defaults(&defaults);
    /* All before the first is set: names may be the workload's own. */
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
        write_option(&rows[i], config, &defaults, values[i]);
    workload_clear_options(workload);
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        if (values[i][0] && !workload_set_option(workload, rows[i].key, values[i], error))
            return false;
    }
    if (!config->visible_bytes || config->visible_bytes >= config->local_bytes)
        return true;
    snprintf(hidden, sizeof hidden, "%" PRIu64, config->local_bytes - config->visible_bytes);
    return workload_set_option(workload, "local-invisible", hidden, error);
}
