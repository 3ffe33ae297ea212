#include "check/rules/rule_needs.h"

#include <string.h>

struct need {
    const char *of; /* "PB-003", or "PT" for all of an area */
    enum rule_lack lack;
    const char *sentence;
};

static const struct need needs[] = {
#define NEED(of, lack, sentence) {of, RULE_LACK_##lack, sentence},
#include "check/rules/rule_needs.inc"
#undef NEED
};

/* The row whose name is the first `length` characters of the rule's id; NULL: none. */
static const struct need *find_row(enum rule_id id, size_t length)
{
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++) {
        if (strlen(needs[i].of) == length && strncmp(needs[i].of, rule_get(id)->id, length) == 0)
            return &needs[i];
    }
    return NULL;
}

static const struct need *find_area(enum rule_id id)
{
    return find_row(id, strcspn(rule_get(id)->id, "-"));
}

static const struct need *find_need(enum rule_id id)
{
    const struct need *need = find_row(id, strlen(rule_get(id)->id));

    return need ? need : find_area(id);
}

/* A driver of WDDM 2 hears the system context in every paging operation. */
static bool has_wddm2(const struct rule_counts *counts)
{
    return counts->evaluated[RULE_PB_025] > 0;
}

/* One with page tables is asked how many levels they have. */
static bool has_gpummu(const struct rule_counts *counts)
{
    return counts->evaluated[RULE_PT_003] > 0;
}

/* A model tells of every packet that the driver hands to the GPU. */
static bool has_gpu(const struct rule_counts *counts)
{
    return counts->evaluated[RULE_SUB_002] > 0;
}

static bool is_of_wddm2(enum rule_id id)
{
    return strchr("23", rule_get(id)->versions[0]) != NULL;
}

const char *rule_lack_name(enum rule_lack lack)
{
    static const char *const names[] = {
        [RULE_LACK_NOTHING] = "",
        [RULE_LACK_GPU] = "told by a model of the GPU alone",
        [RULE_LACK_WDDM2] = "of WDDM 2.0 and later",
        [RULE_LACK_GPUMMU] = "of drivers with GPU virtual addresses (GpuMmu)",
        [RULE_LACK_FEATURE] = "of features that the driver does not have",
        [RULE_LACK_CHANCE] = "of situations that no run came to",
    };

    return names[lack];
}

enum rule_lack rule_find_lack(enum rule_id id, const struct rule_counts *counts)
{
    const struct need *need = find_need(id), *area = find_area(id);

    if (counts->evaluated[id] || rule_reason_unchecked(id))
        return RULE_LACK_NOTHING;
    if (is_of_wddm2(id) && !has_wddm2(counts))
        return RULE_LACK_WDDM2;
    if (!need)
        return RULE_LACK_CHANCE;
    if (need->lack == RULE_LACK_GPUMMU || (area && area->lack == RULE_LACK_GPUMMU)) {
        if (!has_gpummu(counts))
            return RULE_LACK_GPUMMU;
        if (need->lack == RULE_LACK_GPUMMU)
            return RULE_LACK_CHANCE;
    }
    if (need->lack == RULE_LACK_GPU)
        return has_gpu(counts) ? RULE_LACK_CHANCE : RULE_LACK_GPU;
    return need->lack;
}

const char *rule_need_sentence(enum rule_id id)
{
    const struct need *need = find_need(id);

    return need ? need->sentence : NULL;
}
