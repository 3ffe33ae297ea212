/*
 * A finding as JSON.
 */
#include "report/finding_report.h"
#include "report/source_link.h"
#include "report/text_json.h"

#include <inttypes.h>
#include <string.h>

static void set(json_t *object, const char *key, uint64_t value)
{
    json_object_set_new(object, key, json_integer((json_int_t)value));
}

static void set_text(json_t *object, const char *key, const char *value)
{
    json_object_set_new(object, key, report_text_json(value));
}

/* The lines of a text, as an array. */
static void set_lines(json_t *object, const char *key, const char *text)
{
    json_t *lines = json_array();

    while (*text) {
        size_t length = strcspn(text, "\n");
        json_t *line = json_stringn(text, length);

        json_array_append_new(lines, line ? line : json_string("(not UTF-8)"));
        text += length;
        text += *text == '\n';
    }
    json_object_set_new(object, key, lines);
}

json_t *report_argument_json(const struct finding_argument *argument)
{
    json_t *json = json_object();

    if (!argument->name[0] || (!argument->value[0] && !argument->expected[0])) {
        json_decref(json);
        return json_null();
    }
    set_text(json, "name", argument->name);
    set_text(json, "value", argument->value);
    set_text(json, "expected", argument->expected);
    return json;
}

static void set_rule(json_t *json, const struct report_finding *finding, enum rule_id id)
{
    char violation[REPORT_VIOLATION_BYTES];
    struct rule rule;

    if (id == RULE_NONE) {
        static const char *const keys[] = {"sentence", "source", "links", "windows",
                                           "versions", "basis",  "side",  "tier"};

        for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
            json_object_set_new(json, keys[i], json_null());
        return;
    }
    rule = *rule_get(id);
    rule.side = report_side(finding, id);
    set_text(json, "sentence", rule.sentence);
    set_text(json, "source", rule.source);
    json_object_set_new(json, "links", source_links_json(rule.source));
    set_text(json, "windows", report_violation(&rule, violation));
    set_text(json, "versions", rule.versions);
    set_text(json, "basis", rule_basis_name(rule.basis));
    set_text(json, "side", rule_side_name(rule.side));
    set(json, "tier", rule.tier);
}

static void set_cause(json_t *json, const char *key, const struct report_finding *finding)
{
    char cause[24];

    snprintf(cause, sizeof cause, "%016" PRIx64,
             finding_cause(rule_find(finding->rule), finding->detail->where, finding->text));
    set_text(json, key, cause);
}

static json_t *consequences_json(const struct report_finding *list, size_t count,
                                 const struct report_finding *finding)
{
    json_t *array = json_array();
    struct report_consequence found;

    for (size_t i = 0; report_consequence(list, count, finding, i, &found); i++) {
        json_t *json = json_object();

        set_text(json, "kind", found.kind);
        set_text(json, "rule", found.rule);
        set_text(json, "where", found.where);
        set_text(json, "text", found.text);
        set(json, "event", found.event);
        set(json, "count", found.count);
        set(json, "alone", found.alone);
        json_array_append_new(array, json);
    }
    return array;
}

json_t *report_finding_json(const struct report_finding *list, size_t count,
                            const struct report_finding *finding)
{
    const struct finding_detail *detail = finding->detail;
    enum rule_id rule = rule_find(finding->rule);
    json_t *json = json_object();
    char id[REPORT_ID_BYTES];

    set_text(json, "kind", finding->kind);
    set_text(json, "rule", finding->rule);
    report_finding_id(finding->kind, finding->rule, detail->where, finding->text, id);
    set_text(json, "id", id);
    set_text(json, "state", campaign_excuse_name(finding->excuse));
    set_cause(json, "cause", finding);
    if (finding->cause)
        set_cause(json, "consequence_of", finding->cause);
    else
        json_object_set_new(json, "consequence_of", json_null());
    json_object_set_new(json, "consequences", consequences_json(list, count, finding));
    set_text(json, "where", detail->where);
    set_text(json, "text", finding->text);
    set_rule(json, finding, rule);
    set(json, "event", detail->event);
    set_text(json, "function", detail->function);
    set_lines(json, "objects", detail->objects);
    set_lines(json, "arguments", detail->arguments);
    json_object_set_new(json, "argument", report_argument_json(&detail->argument));
    set_lines(json, "bytes", detail->bytes);
    set_lines(json, "writers", detail->writers);
    set_lines(json, "printed", detail->printed);
    set_text(json, "case", finding->case_file);
    set(json, "line", finding->line);
    set(json, "seed", finding->seed);
    set_text(json, "driver", finding->driver);
    set_text(json, "model", finding->model);
    set(json, "wddm", finding->wddm);
    set_text(json, "setup", finding->setup);
    set_text(json, "replay", finding->replay);
    set(json, "shrunk_lines", finding->shrunk_lines);
    set(json, "shrunk_from", finding->shrunk_from);
    json_object_set_new(json, "shrunk_in_part", json_boolean(finding->shrunk_in_part));
    set_text(json, "output", finding->output);
    set(json, "runs", finding->runs);
    set(json, "broken", finding->broken);
    set(json, "evaluated", finding->evaluated);
    return json;
}
