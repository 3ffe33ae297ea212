/*
 * The table of members, and the two ways along it.
 */
#include "bench/config/run_options.h"

#include "base/assert.h"
#include "base/bits.h"
#include "workload/words.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define FIRST_REMAPPING_LEVEL 30u /* the first level of the reference driver that can */

/* The rows name words in the order of these values, and bits from the lowest on. */
_Static_assert(SGPU_TRAIT_FROM_SYSTEM == 1 && SGPU_TRAIT_LEFT_ALONE == 1 << 7 &&
                   RUN_FAULT_PROBES == 1 && RUN_FAULT_ALL == 511 && MACHINE_SCATTERED == 0 &&
                   MACHINE_CONTIGUOUS == 2 && WORKLOAD_IN_PHYSICAL == 1u << RUN_PHYSICAL &&
                   WORKLOAD_IN_GPUMMU == 1u << RUN_GPUMMU && WORKLOAD_IN_IOMMU == 1u << RUN_IOMMU,
               "the values stand in the order of the words of run_options.inc");

#define NUMBER(min, max)           RUN_OPTION_NUMBER
#define SIZE(min, max)             RUN_OPTION_NUMBER
#define MEMORY(min, max)           RUN_OPTION_NUMBER
#define LOCAL_MEMORY(min, max)     RUN_OPTION_LOCAL
#define INVISIBLE_MEMORY(min, max) RUN_OPTION_INVISIBLE
#define WORDS(...)                 RUN_OPTION_CHOICE
#define SET(...)                   RUN_OPTION_SET
#define LEVEL(...)                 RUN_OPTION_LEVEL
#define NAME                       RUN_OPTION_TEXT
#define PATH                       RUN_OPTION_TEXT
#define TEMPLATE                   RUN_OPTION_TEXT
#define SURROUNDINGS               RUN_OPTION_TEXT

#define MEMBER(name, values)                                                                       \
    {#name, offsetof(struct run_config, name), sizeof((struct run_config *)0)->name, values},
#define RUN_OPTION(type, member, key, values, ...)     MEMBER(member, values)
#define RUN_MMU_OPTION(type, member, key, values, ...) MEMBER(mmu.member, values)
#define CASE_OPTION(...)                               {.kind = RUN_OPTION_NONE},

const struct run_option run_options[WORKLOAD_OPTION_COUNT] = {
#include "workload/case/run_options.inc"
};

/* ---- Members --------------------------------------------------------------------------------- */

_Static_assert(sizeof(bool) == sizeof(uint8_t) && sizeof(enum run_model) == sizeof(uint32_t),
               "members are numbers of the sizes that are known");

uint64_t run_option_number(size_t place, const struct run_config *config)
{
    const struct run_option *option = &run_options[place];
    const char *at = (const char *)config + option->offset;

    switch (option->size) {
    case sizeof(uint8_t):
        return *(const uint8_t *)at;
    case sizeof(uint32_t):
        return *(const uint32_t *)at;
    default:
        ASSERT(option->size == sizeof(uint64_t));
        return *(const uint64_t *)at;
    }
}

void run_option_set_number(size_t place, struct run_config *config, uint64_t number)
{
    const struct run_option *option = &run_options[place];
    char *at = (char *)config + option->offset;

    switch (option->size) {
    case sizeof(uint8_t):
        *(uint8_t *)at = (uint8_t)number;
        break;
    case sizeof(uint32_t):
        *(uint32_t *)at = (uint32_t)number;
        break;
    default:
        ASSERT(option->size == sizeof(uint64_t));
        *(uint64_t *)at = number;
        break;
    }
}

static const char **text_of(size_t place, const struct run_config *config)
{
    return (const char **)((char *)config + run_options[place].offset);
}

/* ---- From a case ----------------------------------------------------------------------------- */

/* The bits of the words in a list that commas separate. */
static uint64_t read_set(const char *const *words, const char *value)
{
    uint64_t bits = 0;

    for (const char *at = value; *at; at += *at == ',') {
        size_t length = strcspn(at, ",");

        for (unsigned bit = 0; words[bit]; bit++) {
            if (strlen(words[bit]) == length && memcmp(words[bit], at, length) == 0)
                bits |= UINT64_C(1) << bit;
        }
        at += length;
    }
    return bits;
}

static uint64_t read_number(size_t place, const char *value, const struct run_config *config)
{
    const char *const *words = workload_options[place].words;
    uint64_t number = 0;

    switch (run_options[place].kind) {
    case RUN_OPTION_CHOICE:
        while (words[number] && strcmp(words[number], value) != 0)
            number++;
        ASSERT(words[number]);
        return number;
    case RUN_OPTION_SET:
        return run_option_number(place, config) | read_set(words, value);
    case RUN_OPTION_LEVEL:
        return (uint64_t)(value[0] - '0') * 10 + (uint64_t)(value[2] - '0');
    default:
        workload_parse_number(value, strlen(value), &number);
        return number;
    }
}

void run_option_read(size_t place, const char *value, struct run_config *config)
{
    uint64_t number;

    switch (run_options[place].kind) {
    case RUN_OPTION_NONE:
        break;
    case RUN_OPTION_TEXT:
        *text_of(place, config) = value;
        break;
    case RUN_OPTION_LOCAL:
        config->local_bytes = config->visible_bytes = read_number(place, value, config);
        break;
    case RUN_OPTION_INVISIBLE: /* behind local-memory, without which it says nothing */
        number = read_number(place, value, config);
        if (config->visible_bytes)
            config->local_bytes = config->visible_bytes + number;
        break;
    default:
        run_option_set_number(place, config, read_number(place, value, config));
        break;
    }
}

void run_config_from_workload(struct run_config *config, const struct workload *workload)
{
    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT; i++) {
        const char *value = workload_option(workload, workload_options[i].key);

        if (value)
            run_option_read(i, value, config);
    }
    config->is_model_given |= workload_option(workload, "model") != NULL;
    if (config->remaps_dma && !config->wddm)
        config->wddm = FIRST_REMAPPING_LEVEL;
}

/* ---- To a case ------------------------------------------------------------------------------- */

static void print_set(const char *const *words, uint64_t bits, char value[RUN_OPTION_VALUE_BYTES])
{
    size_t used = 0;

    for (unsigned bit = 0; words[bit]; bit++) {
        if (bits >> bit & 1)
            used += (size_t)snprintf(value + used, RUN_OPTION_VALUE_BYTES - used, "%s%s",
                                     used ? "," : "", words[bit]);
    }
}

void run_option_print(size_t place, const struct run_config *config,
                      char out_value[RUN_OPTION_VALUE_BYTES])
{
    const char *text;
    uint64_t number;

    out_value[0] = '\0';
    switch (run_options[place].kind) {
    case RUN_OPTION_NONE:
        return;
    case RUN_OPTION_TEXT:
        text = *text_of(place, config);
        snprintf(out_value, RUN_OPTION_VALUE_BYTES, "%s", text ? text : "");
        return;
    case RUN_OPTION_LOCAL:
        number = config->local_bytes && config->visible_bytes ? config->visible_bytes
                                                              : config->local_bytes;
        break;
    case RUN_OPTION_INVISIBLE:
        number = config->visible_bytes && config->visible_bytes < config->local_bytes
                     ? config->local_bytes - config->visible_bytes
                     : 0;
        break;
    default:
        number = run_option_number(place, config);
        break;
    }
    if (run_options[place].kind == RUN_OPTION_CHOICE)
        snprintf(out_value, RUN_OPTION_VALUE_BYTES, "%s", workload_options[place].words[number]);
    else if (run_options[place].kind == RUN_OPTION_SET)
        print_set(workload_options[place].words, number, out_value);
    else if (run_options[place].kind == RUN_OPTION_LEVEL)
        snprintf(out_value, RUN_OPTION_VALUE_BYTES, "%u.%u", (unsigned)(number / 10),
                 (unsigned)(number % 10));
    else
        snprintf(out_value, RUN_OPTION_VALUE_BYTES, "%" PRIu64, number);
}

bool run_config_to_options(const struct run_config *config, struct workload *workload,
                           struct workload_error *error)
{
    char values[WORKLOAD_OPTION_COUNT][RUN_OPTION_VALUE_BYTES];
    struct run_config defaults;

    run_config_defaults(&defaults);
    /* All before the first is set: texts may be the workload's own. */
    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT; i++) {
        char initial[RUN_OPTION_VALUE_BYTES];

        run_option_print(i, &defaults, initial);
        run_option_print(i, config, values[i]);
        if (strcmp(values[i], initial) == 0)
            values[i][0] = '\0';
    }
    workload_clear_options(workload);
    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT; i++) {
        if (values[i][0] &&
            !workload_set_option(workload, workload_options[i].key, values[i], error))
            return false;
    }
    return true;
}
