/*
 * The options of a workload: which there are, and the values that a case sets.
 */
#include "workload/case/surroundings.h"
#include "workload/build/builder_private.h"
#include "workload/words.h"

#include "base/bits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME 250 /* of an option: paths are names, too */

/* Options ------------------------------------------------------------------------------------ */

const struct workload_option_info workload_options[] = {
    {"model", WORKLOAD_OPTION_CHOICE, "physical|gpummu|iommu", 0, 0,
     "how the GPU addresses memory: patched physical addresses, GPU virtual addresses, or the "
     "process's own"},
    {"wddm", WORKLOAD_OPTION_CHOICE,
     "1.0|1.1|1.2|1.3|2.0|2.1|2.2|2.3|2.4|2.5|2.6|2.7|2.8|2.9|3.0|3.1|3.2", 0, 0,
     "WDDM level of the run"},
    {"local-memory", WORKLOAD_OPTION_SIZE, NULL, 64 * KiB, 16 * TiB,
     "local memory that the CPU can see (all of it, unless local-invisible is given)"},
    {"local-invisible", WORKLOAD_OPTION_SIZE, NULL, 0, 16 * TiB,
     "further local memory that the CPU cannot see"},
    {"aperture", WORKLOAD_OPTION_SIZE, NULL, 0, 16 * TiB, "size of the aperture segment"},
    {"system-memory", WORKLOAD_OPTION_SIZE, NULL, 4 * MiB, TiB, "system memory of the machine"},
    {"budget", WORKLOAD_OPTION_SIZE, NULL, 0, 16 * TiB,
     "local memory that one process may keep resident"},
    {"paging-buffer", WORKLOAD_OPTION_SIZE, NULL, 64, 16 * MiB, "bytes of one paging buffer"},
    {"paging-buffers", WORKLOAD_OPTION_NUMBER, NULL, 1, 64, "paging buffers in rotation"},
    {"private-data", WORKLOAD_OPTION_SIZE, NULL, 0, 64 * KiB,
     "bytes of private data that the driver declares for a paging buffer"},
    {"hardware-queue", WORKLOAD_OPTION_NUMBER, NULL, 1, 64, "packets with the driver at once"},
    {"local-limit", WORKLOAD_OPTION_SIZE, NULL, 4 * KiB, 16 * TiB,
     "bytes of local memory that the manager uses at most"},
    {"jitter", WORKLOAD_OPTION_NUMBER, NULL, 1, WORKLOAD_MAX_DURATION_NS,
     "nanoseconds by which an interrupt or a transfer is late at most"},
    {"profile", WORKLOAD_OPTION_NAME, NULL, 0, 0,
     "under which readings of the contract the driver is judged"},
    {"driver", WORKLOAD_OPTION_NAME, NULL, 0, 0, "which driver is loaded"},
    {"gpu", WORKLOAD_OPTION_NAME, NULL, 0, 0,
     "which GPU the driver finds: sgpu, none, or the path of a model"},
    {"allocation-data", WORKLOAD_OPTION_TEMPLATE, NULL, 0, 0,
     "private data of allocations for drivers of other GPUs, field by field"},
    {"context-data", WORKLOAD_OPTION_TEMPLATE, NULL, 0, 0, "the same of contexts"},
    {"command-data", WORKLOAD_OPTION_TEMPLATE, NULL, 0, 0, "the same of command buffers"},
    {"surroundings", WORKLOAD_OPTION_SURROUNDINGS, NULL, 0, 0,
     "what the driver finds around its board: hardware ID, registry values, other devices"},
    {"dma-buffer", WORKLOAD_OPTION_SIZE, NULL, 256, 16 * MiB, "bytes of one DMA buffer"},
    {"queue-depth", WORKLOAD_OPTION_NUMBER, NULL, 1, 65536,
     "submissions that a context may have in flight"},
    {"link-bandwidth", WORKLOAD_OPTION_NUMBER, NULL, MiB, UINT64_C(1) << 50,
     "bytes per second between system and local memory"},
    {"local-bandwidth", WORKLOAD_OPTION_NUMBER, NULL, MiB, UINT64_C(1) << 50,
     "bytes per second inside local memory"},
    {"nodes", WORKLOAD_OPTION_NUMBER, NULL, 2, WORKLOAD_MAX_NODES, "engines of the GPU"},
    {"scatter", WORKLOAD_OPTION_CHOICE, "no|yes|fragmented", 0, 0,
     "whether system pages behind an allocation are scattered, and how far"},
    {"dma-remapping", WORKLOAD_OPTION_CHOICE, "no|yes", 0, 0,
     "whether an IOMMU gives the device logical addresses of its own"},
    {"residency-part", WORKLOAD_OPTION_SIZE, NULL, 4 * KiB, GiB,
     "bytes that one NOTIFY_RESIDENCY2 is about"},
    {"auxiliary-mmus", WORKLOAD_OPTION_NUMBER, NULL, 0, 8,
     "MMUs that MAP_MMU and UNMAP_MMU are about"},
    {"native-fences", WORKLOAD_OPTION_NUMBER, NULL, 0, 64,
     "native fences that share a page of storage"},
    {"busy", WORKLOAD_OPTION_CHOICE, "no|yes", 0, 0,
     "whether the driver answers ALLOCATION_BUSY until an allocation is said to be idle"},
    {"lowers-dma-size", WORKLOAD_OPTION_CHOICE, "no|yes", 0, 0,
     "whether the driver lowers DmaSize by what it has written"},
    {"faults", WORKLOAD_OPTION_WORDS,
     "probes|page-lists|pool|start|context-allocations|preemptions|late-dpcs", 0, 0,
     "what is made harder for the driver than need be: unknown operations, parts of page lists, "
     "pool that fails, callbacks that fail, preemptions, DPCs that come late"},
    {"host-aperture", WORKLOAD_OPTION_CHOICE, "no|yes", 0, 0,
     "whether the CPU reaches local memory page by page only, as the driver maps it"},
    {"fill-pattern", WORKLOAD_OPTION_NUMBER, NULL, 0, UINT32_MAX,
     "word that allocations are full of before they are written"},
    {"tables-in-transfer", WORKLOAD_OPTION_CHOICE, "no|yes", 0, 0,
     "whether the driver wants to know the page tables of a VIRTUAL_TRANSFER"},
    {"local-traits", WORKLOAD_OPTION_WORDS,
     "from-system|from-firmware|scan-out|for-users|encrypts|keeps-protected|cached-window", 0, 0,
     "what the driver says of local memory besides"},
    {"coherent-aperture", WORKLOAD_OPTION_CHOICE, "no|yes", 0, 0,
     "whether the aperture snoops the CPU's caches"},
    {"protected-memory", WORKLOAD_OPTION_SIZE, NULL, 64 * KiB, 16 * TiB,
     "bytes of local memory that are for protected content"},
    {"firmware-picture", WORKLOAD_OPTION_SIZE, NULL, 64 * KiB, 16 * TiB,
     "bytes of local memory where the firmware's picture stands"},
    {"dead-memory", WORKLOAD_OPTION_SIZE, NULL, 4 * KiB, 16 * TiB,
     "bytes in the middle of local memory that are defective"},
    {"transfer-piece", WORKLOAD_OPTION_SIZE, NULL, 4 * KiB, GiB,
     "most bytes that one TRANSFER moves"},
    {"scratch", WORKLOAD_OPTION_SIZE, NULL, 64 * KiB, 64 * GiB,
     "bytes of the paging process in which virtual transfers and fills see allocations"},
    {"null-context", WORKLOAD_OPTION_CHOICE, "no|yes", 0, 0,
     "whether nodes are told to leave a context before an allocation of its device goes"},
    {"announce-idle", WORKLOAD_OPTION_CHOICE, "no|yes", 0, 0,
     "whether AllocationIsIdle is set before the driver says BUSY"},
    {"paging-patch", WORKLOAD_OPTION_CHOICE, "no|yes", 0, 0,
     "whether DxgkDdiPatch is called for paging buffers"},
    {"resubmission", WORKLOAD_OPTION_CHOICE, "all|paging", 0, 0,
     "which packets are marked when they come back from a preemption"},
    {"start", WORKLOAD_OPTION_CHOICE, "documented|observed", 0, 0,
     "whether the adapter is started as the pages say, or with what Windows 11 does besides"},
    {"paging-segment", WORKLOAD_OPTION_CHOICE, "system|aperture", 0, 0,
     "where the driver wants its paging buffers: in system memory, or behind slots of its "
     "aperture"},
    {"paging-address", WORKLOAD_OPTION_CHOICE, "virtual|none", 0, 0,
     "GpuMmu: whether paging buffers in system memory have an address in the paging process"},
    {"patch-locations", WORKLOAD_OPTION_CHOICE, "none|each", 0, 0,
     "physical model: the client hands in a patch location for each allocation"},
    {"initial-update", WORKLOAD_OPTION_CHOICE, "whole|pieces", 0, 0,
     "GpuMmu: whether one call with InitialUpdate writes a new page table, or several do"},
    {"brought-in", WORKLOAD_OPTION_CHOICE, "listed|patched", 0, 0,
     "physical model: bring in all of an allocation list, or what patch locations name"},
    {"rename", WORKLOAD_OPTION_CHOICE, "no|yes", 0, 0,
     "physical model: whether a write with discard gets another instance of what the GPU uses"},
    {"render-piece", WORKLOAD_OPTION_NUMBER, NULL, 1, 8192,
     "physical model: split points of a DMA buffer after so many references"},
    {"dma-split", WORKLOAD_OPTION_CHOICE, "needed|always", 0, 0,
     "physical model: split DMA buffers where they do not fit, or wherever they can be"},
    {"dma-contract", WORKLOAD_OPTION_CHOICE, "multipass|guaranteed", 0, 0,
     "physical model: whether a command buffer may need several DMA buffers"},
    {"context-handle", WORKLOAD_OPTION_CHOICE, "kernel|driver", 0, 0,
     "whose handle of a context allocation INIT_CONTEXT_RESOURCE carries"},
    {"banks", WORKLOAD_OPTION_CHOICE, "no|yes", 0, 0,
     "physical model: whether local memory is divided into banks"},
    {"pitch", WORKLOAD_OPTION_CHOICE, "no|yes", 0, 0,
     "physical model: whether rows have a pitch in the local memory that the CPU can see"},
    {"eviction", WORKLOAD_OPTION_CHOICE, "pages|aperture", 0, 0,
     "physical model: whether allocations leave through slots of the aperture"},
    {"swizzling-ranges", WORKLOAD_OPTION_CHOICE, "no|yes", 0, 0,
     "physical model: whether the CPU can see tiled memory in linear order"},
    {"agp", WORKLOAD_OPTION_SIZE, NULL, 0, 2 * GiB, "window of an AGP bridge (physical model)"},
    {"aperture-piece", WORKLOAD_OPTION_SIZE, NULL, 4 * KiB, 16 * TiB,
     "most bytes that one operation maps in an aperture"},
    {"content", WORKLOAD_OPTION_CHOICE, "none|full", 0, 0,
     "whether every byte moved and read is checked"},
    {"rules", WORKLOAD_OPTION_CHOICE, "none|full", 0, 0,
     "whether every call is judged by the rules of the contract"},
    {"resets", WORKLOAD_OPTION_CHOICE, "engine|adapter", 0, 0,
     "whether one engine may be reset alone"},
    {"pool-guard", WORKLOAD_OPTION_CHOICE, "auto|none|end|begin", 0, 0,
     "at which end of a pool block of the driver's a page lies that nobody may touch"},
    {"lent", WORKLOAD_OPTION_CHOICE, "auto|call|kept", 0, 0,
     "how long the driver may use paging buffers and page lists: for the call, or until the work "
     "is done"},
    {"fail-allocation", WORKLOAD_OPTION_NUMBER, NULL, 1, UINT64_MAX,
     "which allocation of the memory manager fails, counted from its start"},
    {"timeout", WORKLOAD_OPTION_NUMBER, NULL, 1000, WORKLOAD_MAX_DURATION_NS,
     "nanoseconds that a packet may take; with it the run has a watchdog"},
    {"timeout-limit", WORKLOAD_OPTION_NUMBER, NULL, 0, 64,
     "time-outs within 60 s that are suffered (0: any number)"},
    {"preserve", WORKLOAD_OPTION_CHOICE, "nothing|standby|hibernate|part", 0, 0,
     "through which sleep the board keeps local memory"},
    {"seed", WORKLOAD_OPTION_NUMBER, NULL, 0, UINT64_MAX, "of every choice that the run makes"},
    {"page-tables", WORKLOAD_OPTION_CHOICE, "gpu-virtual|gpu-physical|cpu", 0, 0,
     "who writes page tables, and how they are named"},
    {"page-table-memory", WORKLOAD_OPTION_CHOICE, "local|system", 0, 0,
     "where page tables are, if the GPU writes them"},
    {"page-table-levels", WORKLOAD_OPTION_NUMBER, NULL, 2, 6, "levels of page tables"},
    {"pages-64k", WORKLOAD_OPTION_CHOICE, "none|single|dual", 0, 0,
     "whether local memory has 64 KiB pages, and how page tables name them"},
    {"large-pages", WORKLOAD_OPTION_CHOICE, "no|yes", 0, 0,
     "whether entries above the leaf may map pages"},
    {"free-page-tables", WORKLOAD_OPTION_CHOICE, "no|yes", 0, 0,
     "whether page tables go with the last mapping in their range"},
    {"cached-invalid-entries", WORKLOAD_OPTION_CHOICE, "no|yes", 0, 0,
     "whether the GPU may have cached that an entry was not valid"},
    {"reserved-range", WORKLOAD_OPTION_CHOICE, "no|yes", 0, 0,
     "whether the driver reserves what an entry of each root page table translates"},
    {"clear-page-tables", WORKLOAD_OPTION_CHOICE, "no|yes", 0, 0,
     "whether the driver wants every entry invalid before its table goes"},
    {"idle-updates", WORKLOAD_OPTION_CHOICE, "no|yes", 0, 0,
     "whether page tables may change only while no context uses them"},
    {"page-table-entries", WORKLOAD_OPTION_CHOICE, "full|plain", 0, 0,
     "whether entries know zero, read-only, no-execute and cache-coherent"},
    {NULL, WORKLOAD_OPTION_NUMBER, NULL, 0, 0, NULL},
};

static const struct workload_option_info *find_option(const char *key)
{
    for (const struct workload_option_info *info = workload_options; info->key; info++) {
        if (strcmp(info->key, key) == 0)
            return info;
    }
    return NULL;
}

/* True when word is one of the words in choices, which '|' separates. */
static bool is_choice(const char *choices, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = choices; length && (at = strstr(at, word)) != NULL; at++) {
        if ((at == choices || at[-1] == '|') && (at[length] == '|' || at[length] == '\0'))
            return true;
    }
    return false;
}

/* The next word of a list is *out_length bytes long; false at the end. */
static bool next_word(const char **at, size_t *out_length)
{
    if (!**at)
        return false;
    *out_length = strcspn(*at, ",");
    return true;
}

static const char *behind_word(const char *at, size_t length)
{
    return at[length] == ',' ? at + length + 1 : at + length;
}

static bool are_choices(const char *choices, const char *value)
{
    size_t total = strlen(value), length;
    char word[32];

    if (!total || value[total - 1] == ',' || strchr(value, '|'))
        return false;
    for (const char *at = value; next_word(&at, &length); at = behind_word(at, length)) {
        if (length >= sizeof word)
            return false;
        memcpy(word, at, length);
        word[length] = '\0';
        if (!is_choice(choices, word))
            return false;
    }
    return true;
}

static bool is_name(const char *value)
{
    size_t length = strlen(value);

    return length && length <= MAX_NAME &&
           strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                         "_.:/@+=~,-") == length;
}

bool workload_option_has(const struct workload *workload, const char *key, const char *word)
{
    const char *at = workload_option(workload, key);
    size_t length;

    for (; at && next_word(&at, &length); at = behind_word(at, length)) {
        if (length == strlen(word) && memcmp(at, word, length) == 0)
            return true;
    }
    return false;
}

bool workload_check_option(const char *key, const char *value, struct workload_error *error)
{
    const struct workload_option_info *info = find_option(key);
    uint64_t number;

    if (!info) {
        workload_error_set(error,
                           "unknown option '%.80s' (expected one of those in the manual: "
                           "local-memory, model, seed ...)",
                           key);
        return false;
    }
    if (info->type == WORKLOAD_OPTION_CHOICE) {
        if (!strchr(value, '|') && is_choice(info->choices, value))
            return true;
        workload_error_set(error, "option %s is '%.80s' (expected %s)", key, value, info->choices);
        return false;
    }
    if (info->type == WORKLOAD_OPTION_WORDS) {
        if (are_choices(info->choices, value))
            return true;
        workload_error_set(error, "option %s is '%.80s' (expected some of %s, separated by commas)",
                           key, value, info->choices);
        return false;
    }
    if (info->type == WORKLOAD_OPTION_NAME) {
        if (is_name(value))
            return true;
        workload_error_set(
            error,
            "option %s is '%.80s' (expected letters, digits and _ . : / @ + = ~ , -, at most %d)",
            key, value, MAX_NAME);
        return false;
    }
    if (info->type == WORKLOAD_OPTION_TEMPLATE || info->type == WORKLOAD_OPTION_SURROUNDINGS) {
        struct workload_error why;

        if (info->type == WORKLOAD_OPTION_TEMPLATE ? workload_template_check(value, &why)
                                                   : workload_surroundings_check(value, &why))
            return true;
        workload_error_set(error, "option %s: %s", key, why.text);
        return false;
    }
    if (workload_parse_number(value, strlen(value), &number) && number >= info->min &&
        number <= info->max)
        return true;
    workload_error_set(error,
                       "option %s is '%.80s' (expected a number from %" PRIu64 " to %" PRIu64 ")",
                       key, value, info->min, info->max);
    return false;
}

const char *workload_option_as_kept(const char *key, const char *value,
                                    char room[WORKLOAD_MAX_TEMPLATE + 1])
{
    const struct workload_option_info *info = find_option(key);
    size_t length = 0;

    if (info->type != WORKLOAD_OPTION_TEMPLATE && info->type != WORKLOAD_OPTION_SURROUNDINGS)
        return value;
    for (const char *at = value; *at; at++) {
        bool is_blank = *at == ' ' || *at == '\t' || *at == ',';

        if (!is_blank)
            room[length++] = *at;
        else if (length && room[length - 1] != ',')
            room[length++] = ',';
    }
    while (length && room[length - 1] == ',')
        length--;
    room[length] = '\0';
    return room;
}

const char *workload_option(const struct workload *workload, const char *key)
{
    for (uint32_t i = 0; i < workload->option_count; i++) {
        if (strcmp(workload_string(workload, workload->options[i].key), key) == 0)
            return workload_string(workload, workload->options[i].value);
    }
    return NULL;
}

uint64_t workload_option_number(const struct workload *workload, const char *key, uint64_t fallback)
{
    const char *value = workload_option(workload, key);
    uint64_t number;

    if (value && workload_parse_number(value, strlen(value), &number))
        return number;
    return fallback;
}

void workload_clear_options(struct workload *workload)
{
    workload->option_count = 0;
}

/* Appends a string that nothing else shares. */
static bool append_string(struct workload_owned *owned, const char *text, uint32_t *out)
{
    uint32_t bytes = (uint32_t)strlen(text) + 1;

    if (!workload_grow(owned->services, &owned->strings, &owned->string_room,
                       owned->view.string_bytes, bytes, 1))
        return false;
    *out = owned->view.string_bytes;
    memcpy(owned->strings + *out, text, bytes);
    owned->view.string_bytes += bytes;
    return true;
}

bool workload_set_option(struct workload *workload, const char *key, const char *value,
                         struct workload_error *error)
{
    struct workload_owned *owned = (struct workload_owned *)workload;
    struct workload_option option;
    char room[WORKLOAD_MAX_TEMPLATE + 1];
    uint32_t i;
    bool ok;

    if (!workload_check_option(key, value, error))
        return false;
    value = workload_option_as_kept(key, value, room);
    ok = append_string(owned, key, &option.key) && append_string(owned, value, &option.value) &&
         workload_grow(owned->services, &owned->options, &owned->option_room,
                       workload->option_count, 1, sizeof option);
    workload_owned_publish(owned);
    if (!ok) {
        workload_error_set(error, "option %s: out of memory", key);
        return false;
    }
    for (i = 0; i < workload->option_count; i++) {
        if (strcmp(workload_string(workload, owned->options[i].key), key) == 0)
            break;
    }
    owned->options[i] = option;
    if (i == workload->option_count)
        workload->option_count++;
    return true;
}
