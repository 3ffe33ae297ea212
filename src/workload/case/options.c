/*
 * Options: the table of the case format, which values each takes, and the values that a case sets.
 */
#include "workload/case/options.h"

#include "base/bits.h"
#include "workload/case/surroundings.h"
#include "workload/case/template.h"
#include "workload/owned.h"
#include "workload/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_NAME 250                 /* bytes of a name, or of a path */
#define MUCH     (UINT64_C(1) << 40) /* a larger bound is none */

/* ---- The table ------------------------------------------------------------------------------- */

#define WORDS_OF(...)              ((const char *const[]){__VA_ARGS__, NULL})
#define NUMBER(min, max)           WORKLOAD_OPTION_NUMBER, NULL, min, max
#define SIZE(min, max)             WORKLOAD_OPTION_SIZE, NULL, min, max
#define MEMORY(min, max)           WORKLOAD_OPTION_MEMORY, NULL, min, max
#define LOCAL_MEMORY(min, max)     WORKLOAD_OPTION_MEMORY, NULL, min, max
#define INVISIBLE_MEMORY(min, max) WORKLOAD_OPTION_MEMORY, NULL, min, max
#define WORDS(...)                 WORKLOAD_OPTION_CHOICE, WORDS_OF(__VA_ARGS__), 0, 0
#define LEVEL(...)                 WORKLOAD_OPTION_CHOICE, WORDS_OF(__VA_ARGS__), 0, 0
#define SET(...)                   WORKLOAD_OPTION_WORDS, WORDS_OF(__VA_ARGS__), 0, 0
#define NAME                       WORKLOAD_OPTION_NAME, NULL, 0, 0
#define PATH                       WORKLOAD_OPTION_PATH, NULL, 0, 0
#define TEMPLATE                   WORKLOAD_OPTION_TEMPLATE, NULL, 0, 0
#define SURROUNDINGS               WORKLOAD_OPTION_SURROUNDINGS, NULL, 0, 0

#define EVERYWHERE         WORKLOAD_IN_ALL, 0
#define PHYSICAL           WORKLOAD_IN_PHYSICAL, 0
#define GPUMMU             WORKLOAD_IN_GPUMMU, 0
#define VIRTUAL            WORKLOAD_IN_GPUMMU | WORKLOAD_IN_IOMMU, 0
#define SINCE(wddm)        WORKLOAD_IN_ALL, wddm
#define GPUMMU_SINCE(wddm) WORKLOAD_IN_GPUMMU, wddm

#define RUN_OPTION(type, member, key, values, initial, where, drawn, told, line, text)             \
    {key, values, {where}, true, text},
#define RUN_MMU_OPTION                 RUN_OPTION
#define CASE_OPTION(key, values, text) {key, values, {EVERYWHERE}, false, text},

const struct workload_option_info workload_options[WORKLOAD_OPTION_COUNT] = {
#include "workload/case/run_options.inc"
};

size_t workload_option_place(const char *key)
{
    size_t place = 0;

    while (place < WORKLOAD_OPTION_COUNT && strcmp(workload_options[place].key, key) != 0)
        place++;
    return place;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static bool is_one_of(const char *const *words, const char *word, size_t length)
{
    for (; *words; words++) {
        if (strlen(*words) == length && memcmp(*words, word, length) == 0)
            return true;
    }
    return false;
}

/* Words of a list, separated by commas. False at the end. */
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

static bool are_some_of(const char *const *words, const char *value)
{
    size_t total = strlen(value), length;

    if (!total || value[total - 1] == ',')
        return false;
    for (const char *at = value; next_word(&at, &length); at = behind_word(at, length)) {
        if (!is_one_of(words, at, length))
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

/* A file's name may hold all that is no control character; what is no ASCII is not looked at. */
static bool is_path(const char *value)
{
    size_t length = 0;

    while ((unsigned char)value[length] >= 0x20 && value[length] != 0x7f)
        length++;
    return length && length <= MAX_NAME && !value[length];
}

/* The words of an option with something before, between and behind them. */
static void join_words(const char *const *words, const char *before, const char *between, char *out,
                       size_t out_bytes)
{
    size_t used = 0;

    out[0] = '\0';
    for (const char *const *word = words; *word && used < out_bytes; word++)
        used += (size_t)snprintf(out + used, out_bytes - used, "%s%s%s%s",
                                 word == words ? "" : between, before, *word, before);
}

static bool check_words(const struct workload_option_info *info, const char *value,
                        struct workload_error *error)
{
    bool is_set = info->type == WORKLOAD_OPTION_WORDS;
    char words[256];

    if (is_set ? are_some_of(info->words, value) : is_one_of(info->words, value, strlen(value)))
        return true;
    join_words(info->words, "", "|", words, sizeof words);
    workload_error_set(error, "option %s is '%.80s' (expected %s%s%s)", info->key, value,
                       is_set ? "some of " : "", words, is_set ? ", separated by commas" : "");
    return false;
}

static bool check_name(const struct workload_option_info *info, const char *value,
                       struct workload_error *error)
{
    if (is_name(value))
        return true;
    workload_error_set(error,
                       "option %s is '%.80s' (expected letters, digits and _ . : / @ + = ~ , -, at "
                       "most %d)",
                       info->key, value, MAX_NAME);
    return false;
}

static bool check_path(const struct workload_option_info *info, const char *value,
                       struct workload_error *error)
{
    if (is_path(value))
        return true;
    workload_error_set(error,
                       "option %s is '%.80s' (expected a name or a path without control "
                       "characters, at most %d bytes)",
                       info->key, value, MAX_NAME);
    return false;
}

static bool check_number(const struct workload_option_info *info, const char *value,
                         struct workload_error *error)
{
    uint64_t number;

    if (workload_parse_number(value, strlen(value), &number) && number >= info->min &&
        number <= info->max)
        return true;
    workload_error_set(error,
                       "option %s is '%.80s' (expected a number from %" PRIu64 " to %" PRIu64 ")",
                       info->key, value, info->min, info->max);
    return false;
}

bool workload_check_option(const char *key, const char *value, struct workload_error *error)
{
    const struct workload_option_info *info;
    size_t place = workload_option_place(key);
    struct workload_error why;

    if (place == WORKLOAD_OPTION_COUNT) {
        workload_error_set(error,
                           "unknown option '%.80s' (expected one of those in the manual: "
                           "local-memory, model, seed ...)",
                           key);
        return false;
    }
    info = &workload_options[place];
    switch (info->type) {
    case WORKLOAD_OPTION_CHOICE:
    case WORKLOAD_OPTION_WORDS:
        return check_words(info, value, error);
    case WORKLOAD_OPTION_NAME:
        return check_name(info, value, error);
    case WORKLOAD_OPTION_PATH:
        return check_path(info, value, error);
    case WORKLOAD_OPTION_TEMPLATE:
        if (workload_template_check(value, &why))
            return true;
        break;
    case WORKLOAD_OPTION_SURROUNDINGS:
        if (workload_surroundings_check(value, &why))
            return true;
        break;
    default:
        return check_number(info, value, error);
    }
    workload_error_set(error, "option %s: %s", key, why.text);
    return false;
}

const char *workload_option_as_kept(const char *key, const char *value,
                                    char room[WORKLOAD_MAX_OPTION_VALUE + 1])
{
    const struct workload_option_info *info = &workload_options[workload_option_place(key)];
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

/* ---- In words -------------------------------------------------------------------------------- */

/* With the largest suffix that keeps it whole. */
static void print_size(uint64_t bytes, char out[32])
{
    const char *suffix = "";

    for (const char *next = "KMG"; *next && bytes && bytes % KiB == 0; next++) {
        bytes /= KiB;
        suffix = next;
    }
    snprintf(out, 32, "%" PRIu64 "%.1s", bytes, suffix);
}

void workload_option_values(const struct workload_option_info *info, char *out, size_t out_bytes)
{
    char min[32], max[32], words[400];

    switch (info->type) {
    case WORKLOAD_OPTION_CHOICE:
        join_words(info->words, "`", ", ", out, out_bytes);
        return;
    case WORKLOAD_OPTION_WORDS:
        join_words(info->words, "`", ", ", words, sizeof words);
        snprintf(out, out_bytes, "some of %s, separated by commas", words);
        return;
    case WORKLOAD_OPTION_NAME:
        snprintf(out, out_bytes, "a name");
        return;
    case WORKLOAD_OPTION_PATH:
        snprintf(out, out_bytes, "a name or a path");
        return;
    case WORKLOAD_OPTION_TEMPLATE:
        snprintf(out, out_bytes, "a template");
        return;
    case WORKLOAD_OPTION_SURROUNDINGS:
        snprintf(out, out_bytes, "words");
        return;
    default:
        break;
    }
    if (info->type == WORKLOAD_OPTION_NUMBER) {
        snprintf(min, sizeof min, "%" PRIu64, info->min);
        snprintf(max, sizeof max, "%" PRIu64, info->max);
    } else {
        print_size(info->min, min);
        print_size(info->max, max);
    }
    if (info->max <= MUCH)
        snprintf(out, out_bytes, "%s to %s", min, max);
    else
        snprintf(out, out_bytes, "%s and up", min);
}

void workload_option_runs(const struct workload_option_info *info, char *out, size_t out_bytes)
{
    static const char *const models[WORKLOAD_IN_ALL + 1] = {
        [WORKLOAD_IN_PHYSICAL] = "physical model",
        [WORKLOAD_IN_GPUMMU] = "GpuMmu",
        [WORKLOAD_IN_GPUMMU | WORKLOAD_IN_IOMMU] = "GpuMmu and IoMmu",
    };
    const char *model = models[info->where.models];
    unsigned wddm = info->where.wddm;
    size_t used =
        (size_t)snprintf(out, out_bytes, "%s%s", model ? model : "", model && wddm ? ", " : "");

    if (wddm)
        snprintf(out + used, out_bytes - used, "from WDDM %u.%u on", wddm / 10, wddm % 10);
}

/* ---- What a case sets ------------------------------------------------------------------------ */

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
    struct workload_option option = {0};
    char room[WORKLOAD_MAX_OPTION_VALUE + 1];
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
