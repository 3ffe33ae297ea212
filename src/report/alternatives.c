#include "report/alternatives.h"

#include <stdio.h>
#include <string.h>

#define NAME_BYTES 256

static void name_of(const struct coverage_arm *arm, char out[NAME_BYTES])
{
    snprintf(out, NAME_BYTES, "%s: %s", coverage_group_name(arm->group), arm->name);
}

json_t *report_alternatives_json(const struct coverage_arm_counts *counts)
{
    struct coverage *coverage = coverage_create_counting();
    json_t *json = json_object();
    char name[NAME_BYTES];

    for (unsigned i = 0; coverage && i < coverage_arm_count(); i++) {
        if (!counts->runs[i])
            continue;
        name_of(coverage_arm(coverage, i), name);
        json_object_set_new(json, name, json_integer((json_int_t)counts->runs[i]));
    }
    coverage_destroy(coverage);
    return json;
}

/* The index of the arm with this name; coverage_arm_count(): there is none. */
static unsigned find(const struct coverage *coverage, const char *wanted)
{
    char name[NAME_BYTES];
    unsigned i;

    for (i = 0; i < coverage_arm_count(); i++) {
        name_of(coverage_arm(coverage, i), name);
        if (strcmp(name, wanted) == 0)
            break;
    }
    return i;
}

bool report_alternatives_parse(const json_t *json, struct coverage_arm_counts *counts,
                               json_t **others)
{
    struct coverage *coverage;
    const char *key;
    json_t *one;
    bool is_fine = true;

    if (!json)
        return true;
    coverage = json_is_object(json) ? coverage_create_counting() : NULL;
    if (!coverage)
        return false;
    json_object_foreach((json_t *)json, key, one)
    {
        unsigned arm = find(coverage, key);

        is_fine = json_is_integer(one) && json_integer_value(one) >= 0;
        if (!is_fine)
            break;
        if (arm < coverage_arm_count()) {
            counts->runs[arm] += (uint64_t)json_integer_value(one);
        } else if (others) {
            *others = *others ? *others : json_object();
            json_object_set(*others, key, one);
        }
    }
    coverage_destroy(coverage);
    return is_fine;
}

bool report_alternatives_load(const char *folder, struct coverage_arm_counts *counts)
{
    char path[1100];
    json_t *json;
    bool is_fine;

    if ((size_t)snprintf(path, sizeof path, "%s/rules.json", folder) >= sizeof path)
        return false;
    json = json_load_file(path, 0, NULL);
    is_fine = json_is_object(json) &&
              report_alternatives_parse(json_object_get(json, "alternatives"), counts, NULL);
    json_decref(json);
    return is_fine;
}

json_t *report_alternatives_list(const struct coverage_arm_counts *counts)
{
    struct coverage *coverage = coverage_create_counting();
    json_t *list = json_array();

    for (unsigned i = 0; coverage && i < coverage_arm_count(); i++) {
        const struct coverage_arm *arm = coverage_arm(coverage, i);

        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:I, s:s}", "structure",
                                              coverage_group_name(arm->group), "name", arm->name,
                                              "condition", arm->condition, "source", arm->source,
                                              "runs", (json_int_t)counts->runs[i], "reason",
                                              arm->reason ? arm->reason : ""));
    }
    coverage_destroy(coverage);
    return list;
}
