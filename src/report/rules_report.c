/*
 * The catalogue of rules with how often each was evaluated and broken, as text and as JSON.
 */
#include "report/rules_report.h"
#include "report/alternatives.h"

#include "report/client_catalogue.h"
#include "report/document.h"

#include "check/rules/rule_needs.h"
#include "check/rules/rule_rarities.h"
#include "report/campaign/folder_files.h"
#include "report/report.h"
#include "report/source_link.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

const char *rule_state_name(enum rule_state state)
{
    static const char *const names[] = {
        [RULE_STATE_CHECKED] = "checked",
        [RULE_STATE_UNCHECKED] = "unchecked",
        [RULE_STATE_CANNOT] = "cannot",
        [RULE_STATE_UNKNOWN] = "unknown",
    };

    return names[state];
}

/* A rule that was evaluated is checked, whatever the list of reasons says. */
enum rule_state rule_state(enum rule_id rule, const struct rule_counts *counts)
{
    if (counts && counts->evaluated[rule])
        return RULE_STATE_CHECKED;
    if (rule_reason_unchecked(rule))
        return RULE_STATE_CANNOT;
    return counts ? RULE_STATE_UNCHECKED : RULE_STATE_UNKNOWN;
}

/* ---- Counts as JSON -------------------------------------------------------------------------- */

json_t *report_rule_counts_json(const struct rule_counts *counts)
{
    json_t *json = json_object();

    for (unsigned i = RULE_NONE + 1; i < RULE_COUNT; i++) {
        json_t *one;

        if (!counts->evaluated[i] && !counts->broken[i])
            continue;
        one = json_object();
        json_object_set_new(one, "evaluated", json_integer((json_int_t)counts->evaluated[i]));
        json_object_set_new(one, "broken", json_integer((json_int_t)counts->broken[i]));
        json_object_set_new(json, rule_get((enum rule_id)i)->id, one);
    }
    return json;
}

bool report_rule_counts_parse(const json_t *json, struct rule_counts *counts)
{
    const char *key;
    json_t *one;

    if (!json_is_object(json))
        return false;
    json_object_foreach((json_t *)json, key, one)
    {
        const json_t *evaluated = json_object_get(one, "evaluated");
        const json_t *broken = json_object_get(one, "broken");
        enum rule_id rule = rule_find(key);

        if (!json_is_integer(evaluated) || !json_is_integer(broken) ||
            json_integer_value(evaluated) < 0 || json_integer_value(broken) < 0)
            return false;
        counts->evaluated[rule] += rule ? (uint64_t)json_integer_value(evaluated) : 0;
        counts->broken[rule] += rule ? (uint64_t)json_integer_value(broken) : 0;
    }
    return true;
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* Several runs are an array. */
static bool add_runs(const json_t *json, struct rule_counts *counts, uint64_t *runs)
{
    if (json_is_array(json_object_get(json, "runs"))) /* of several models */
        json = json_object_get(json, "runs");
    if (json_is_array(json)) {
        for (size_t i = 0; i < json_array_size(json); i++) {
            if (!add_runs(json_array_get(json, i), counts, runs))
                return false;
        }
        return true;
    }
    *runs += json_is_integer(json_object_get(json, "runs"))
                 ? (uint64_t)json_integer_value(json_object_get(json, "runs"))
                 : 1;
    return report_rule_counts_parse(json_object_get(json, "rules"), counts);
}

bool report_rule_counts_load(const char *path, struct rule_counts *out_counts, uint64_t *out_runs,
                             char error[512])
{
    static const char *const names[] = {"%s/rules.json", "%s/run.json", "%s"};
    json_error_t where;
    json_t *json = NULL;
    struct stat status;
    char name[600];
    bool is_fine;

    memset(out_counts, 0, sizeof *out_counts);
    *out_runs = 0;
    for (size_t i = 0; i < 3; i++) {
        if ((size_t)snprintf(name, sizeof name, names[i], path) < sizeof name &&
            stat(name, &status) == 0 && S_ISREG(status.st_mode))
            break;
        name[0] = '\0';
    }
    if (!name[0]) {
        snprintf(error, 512, "'%.400s' is no folder of drydock check or run, and no rules.json",
                 path);
        return false;
    }
    json = json_load_file(name, 0, &where);
    if (!json) {
        snprintf(error, 512, "%.400s:%d: %.80s", name, where.line, where.text);
        return false;
    }
    is_fine = add_runs(json, out_counts, out_runs);
    json_decref(json);
    if (!is_fine)
        snprintf(error, 512, "'%.400s' counts no rules", name);
    return is_fine;
}

bool report_rule_file_read(int folder, struct report_rule_file *out_file, char error[512])
{
    FILE *file = folder_fopen(folder, "rules.json", "r");
    json_error_t where;
    json_t *json, *rules, *one;
    const json_t *bytes;
    const char *key;
    bool is_fine;

    memset(out_file, 0, sizeof *out_file);
    out_file->results_bytes = UINT64_MAX;
    if (!file) {
        snprintf(error, 512, "cannot read 'rules.json': %s", strerror(errno));
        return errno == ENOENT;
    }
    json = json_loadf(file, 0, &where);
    fclose(file);
    if (!json) {
        snprintf(error, 512, "rules.json:%d: %.80s", where.line, where.text);
        return false;
    }
    is_fine = json_is_object(json) && add_runs(json, &out_file->counts, &out_file->runs) &&
              report_alternatives_parse(json_object_get(json, "alternatives"), &out_file->arms,
                                        &out_file->other_arms);
    bytes = json_object_get(json, "results_bytes");
    out_file->results_bytes =
        json_is_integer(bytes) ? (uint64_t)json_integer_value(bytes) : UINT64_MAX;
    rules = json_object_get(json, "rules");
    json_object_foreach(rules, key, one)
    {
        if (rule_find(key) != RULE_NONE)
            continue;
        if (!out_file->others)
            out_file->others = json_object();
        json_object_set(out_file->others, key, one);
    }
    json_decref(json);
    if (!is_fine) {
        report_rule_file_fini(out_file);
        snprintf(error, 512, "rules.json counts no rules");
    }
    return is_fine;
}

bool report_rule_file_write(int folder, const struct report_rule_file *file, char error[512])
{
    json_t *json = json_object(), *rules = report_rule_counts_json(&file->counts);
    json_t *alternatives = report_alternatives_json(&file->arms);
    char *text;
    bool is_fine;

    if (file->others)
        json_object_update_missing(rules, file->others);
    if (file->other_arms)
        json_object_update_missing(alternatives, file->other_arms);
    json_object_set_new(json, "rules", rules);
    json_object_set_new(json, "alternatives", alternatives);
    json_object_set_new(json, "runs", json_integer((json_int_t)file->runs));
    if (file->results_bytes != UINT64_MAX)
        json_object_set_new(json, "results_bytes", json_integer((json_int_t)file->results_bytes));
    text = json_dumps(json, JSON_INDENT(1) | JSON_SORT_KEYS);
    is_fine = text && folder_replace(folder, "rules.json", text);
    if (!is_fine)
        snprintf(error, 512, "cannot write 'rules.json': %s", strerror(errno));
    free(text);
    json_decref(json);
    return is_fine;
}

void report_rule_file_fini(struct report_rule_file *file)
{
    json_decref(file->others);
    json_decref(file->other_arms);
    file->others = file->other_arms = NULL;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static bool is_of(const struct rule *rule, const char *prefix)
{
    size_t length = strlen(prefix);

    return strncasecmp(rule->id, prefix, length) == 0 &&
           (!length || prefix[length - 1] == '-' || strchr(prefix, '-') || rule->id[length] == '-');
}

bool report_has_rules(const char *prefix)
{
    for (unsigned i = RULE_NONE + 1; i < RULE_COUNT; i++) {
        if (is_of(rule_get((enum rule_id)i), prefix))
            return true;
    }
    return false;
}

/* How many of a tier are in each state. */
struct tally {
    unsigned rules, states[4], tested;
};

static void put_tally(FILE *out, const char *name, const struct tally *tally)
{
    fprintf(out, "%-7s %3u rules: ", name, tally->rules);
    if (tally->states[RULE_STATE_UNKNOWN])
        fprintf(out, "%u of which a run can see, ", tally->states[RULE_STATE_UNKNOWN]);
    else
        fprintf(out, "%u checked, %u never evaluated, ", tally->states[RULE_STATE_CHECKED],
                tally->states[RULE_STATE_UNCHECKED]);
    fprintf(out, "%u that no run can see; %u tested both ways\n", tally->states[RULE_STATE_CANNOT],
            tally->tested);
}

/* " (not evaluated: ...)": of a rule that no run of the counts came to. */
static void put_lack(FILE *out, enum rule_id id, const struct rule_counts *counts)
{
    const enum rule_lack lack = rule_find_lack(id, counts);
    const char *sentence = rule_reason_rare(id);

    if (!sentence && (lack == RULE_LACK_GPU || lack == RULE_LACK_FEATURE))
        sentence = rule_need_sentence(id);
    if (sentence || lack != RULE_LACK_NOTHING)
        fprintf(out, " (%s%s%s)", rule_lack_name(lack), sentence ? ": " : "",
                sentence ? sentence : "");
}

void report_rule_lacks(FILE *out, const char *prefix, const struct rule_counts *counts)
{
    unsigned rules[RULE_LACK_COUNT] = {0}, told = 0;

    for (unsigned i = RULE_NONE + 1; i < RULE_COUNT; i++) {
        if (is_of(rule_get((enum rule_id)i), prefix))
            rules[rule_find_lack((enum rule_id)i, counts)]++;
    }
    for (unsigned lack = RULE_LACK_NOTHING + 1; lack < RULE_LACK_COUNT; lack++) {
        if (rules[lack])
            fprintf(out, "%s%u %s\n", told++ ? "            " : "  not asked ", rules[lack],
                    rule_lack_name((enum rule_lack)lack));
    }
}

static void put_rule(FILE *out, enum rule_id id, const struct rule_counts *counts)
{
    const struct rule *rule = rule_get(id);
    const char *reason = rule_reason_unchecked(id);
    enum rule_state state = rule_state(id, counts);
    char evaluated[REPORT_NUMBER_BYTES] = "-", broken[REPORT_NUMBER_BYTES] = "-";

    if (counts) {
        report_count(evaluated, counts->evaluated[id]);
        report_count(broken, counts->broken[id]);
    }
    fprintf(out, "%-9s %-6s %u  %-9s %-6s %13s %7s  %s", rule->id, rule_side_name(rule->side),
            rule->tier, rule_state_name(state), rule_is_tested(id) ? "both" : "no", evaluated,
            broken, state == RULE_STATE_CANNOT ? reason : rule->sentence);
    if (state == RULE_STATE_UNCHECKED)
        put_lack(out, id, counts);
    else if (state == RULE_STATE_UNKNOWN && rule_reason_rare(id))
        fprintf(out, " (tests alone: %s)", rule_reason_rare(id));
    fputc('\n', out);
}

void report_rules_text(FILE *out, const char *prefix, const struct rule_counts *counts,
                       uint64_t runs)
{
    struct tally tallies[3] = {{0}}; /* all, tier 1, tier 2 */
    char number[REPORT_NUMBER_BYTES];

    fprintf(out, "%-9s %-6s %s %-9s %-6s %13s %7s  %s\n", "rule", "side", "tier", "state", "tested",
            "evaluated", "broken", "what must hold, or why no run can see it");
    for (unsigned i = RULE_NONE + 1; i < RULE_COUNT; i++) {
        const struct rule *rule = rule_get((enum rule_id)i);

        if (!is_of(rule, prefix))
            continue;
        put_rule(out, (enum rule_id)i, counts);
        for (unsigned t = 0; t < 3; t++) {
            if (t && t != rule->tier)
                continue;
            tallies[t].rules++;
            tallies[t].states[rule_state((enum rule_id)i, counts)]++;
            tallies[t].tested += rule_is_tested((enum rule_id)i);
        }
    }
    fprintf(out, "\n");
    put_tally(out, "all", &tallies[0]);
    put_tally(out, "tier 1", &tallies[1]);
    put_tally(out, "tier 2", &tallies[2]);
    if (counts) {
        fprintf(out, "evaluated in %s run%s\n", report_count(number, runs), runs == 1 ? "" : "s");
        report_rule_lacks(out, prefix, counts);
    } else {
        fprintf(out, "evaluated: not known (--from FOLDER of drydock check --out tells)\n");
    }
}

json_t *report_rule_json(enum rule_id id, const struct rule_counts *counts)
{
    const struct rule *rule = rule_get(id);
    const char *reason = rule_reason_unchecked(id);
    const char *needs = rule_need_sentence(id);
    enum rule_state state = rule_state(id, counts);
    enum rule_lack lack = counts ? rule_find_lack(id, counts) : RULE_LACK_NOTHING;
    json_t *json = json_object();

    json_object_set_new(json, "id", json_string(rule->id));
    json_object_set_new(json, "side", json_string(rule_side_name(rule->side)));
    json_object_set_new(json, "tier", json_integer(rule->tier));
    json_object_set_new(json, "basis", json_string(rule_basis_name(rule->basis)));
    json_object_set_new(json, "versions", json_string(rule->versions));
    json_object_set_new(json, "source", json_string(rule->source));
    json_object_set_new(json, "links", source_links_json(rule->source));
    json_object_set_new(json, "sentence", json_string(rule->sentence));
    json_object_set_new(json, "state", json_string(rule_state_name(state)));
    json_object_set_new(json, "checked",
                        state == RULE_STATE_UNKNOWN ? json_null()
                                                    : json_boolean(state == RULE_STATE_CHECKED));
    json_object_set_new(json, "reason", reason ? json_string(reason) : json_null());
    json_object_set_new(json, "lack", lack ? json_string(rule_lack_name(lack)) : json_null());
    json_object_set_new(json, "needs", needs ? json_string(needs) : json_null());
    json_object_set_new(json, "tested_both_ways", json_boolean(rule_is_tested(id)));
    json_object_set_new(json, "evaluated",
                        counts ? json_integer((json_int_t)counts->evaluated[id]) : json_null());
    json_object_set_new(json, "broken",
                        counts ? json_integer((json_int_t)counts->broken[id]) : json_null());
    return json;
}

char *report_rules_json(const char *prefix, const struct rule_counts *counts, uint64_t runs)
{
    json_t *json = report_document("rules"), *rules = json_array();
    char *text;

    for (unsigned i = RULE_NONE + 1; i < RULE_COUNT; i++) {
        if (is_of(rule_get((enum rule_id)i), prefix))
            json_array_append_new(rules, report_rule_json((enum rule_id)i, counts));
    }
    json_object_set_new(json, "rules", rules);
    json_object_set_new(json, "client_rules", client_catalogue_json(prefix));
    json_object_set_new(json, "runs", counts ? json_integer((json_int_t)runs) : json_null());
    text = json_dumps(json, JSON_INDENT(2) | JSON_SORT_KEYS);
    json_decref(json);
    return text;
}
