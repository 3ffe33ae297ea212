/*
 * SARIF 2.1.0, within what code-hosting sites ask of an upload: the schema, one run, a tool with a
 * name, rules with texts, and for each result its rule, a message, a place in a file and a
 * fingerprint that stays when the numbers change.
 */
#include "report/finding_report.h"
#include "report/text_json.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCHEMA "https://json.schemastore.org/sarif-2.1.0.json"

static json_t *message_json(const char *text)
{
    json_t *json = json_object();

    json_object_set_new(json, "text", report_text_json(text));
    return json;
}

/* A finding that no rule names goes under its kind. */
static const char *rule_name(const struct report_finding *finding)
{
    return finding->rule[0] ? finding->rule : finding->kind;
}

static const char *level_of(const struct report_finding *finding)
{
    if (report_is_advice(finding) || report_blames_manager(finding)) /* no error of the author's */
        return "note";
    return !finding->rule[0] && strcmp(finding->kind, "submission") == 0 ? "warning" : "error";
}

/* ---- Rules ----------------------------------------------------------------------------------- */

static char *help_text(const struct rule *rule, enum rule_side side)
{
    char violation[REPORT_VIOLATION_BYTES];
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    fprintf(out,
            "%s\n\nWho must obey: %s.\nWDDM versions: %s.\nSource: %s (%s).\n"
            "Windows: %s.\nHow it is seen: %s\n\ndrydock explain %s tells more.",
            rule->sentence, side == RULE_SIDE_OS ? "the operating system" : "the driver",
            rule->versions, rule->source, rule_basis_name(rule->basis),
            report_violation(rule, violation), rule->check, rule->id);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static json_t *rule_json(const struct report_finding *finding)
{
    enum rule_id id = rule_find(finding->rule);
    json_t *json = json_object(), *configuration = json_object(), *properties = json_object(),
           *tags = json_array();
    const char *sentence =
        id == RULE_NONE ? report_kind_sentence(finding->kind) : rule_get(id)->sentence;
    enum rule_side side = id == RULE_NONE ? RULE_SIDE_DRIVER : report_side(finding, id);
    char *help = id == RULE_NONE ? NULL : help_text(rule_get(id), side);

    json_object_set_new(configuration, "level", json_string(level_of(finding)));
    json_array_append_new(tags, json_string("wddm"));
    if (id != RULE_NONE) {
        json_array_append_new(tags, json_string(rule_side_name(side)));
        json_array_append_new(tags, json_string(rule_basis_name(rule_get(id)->basis)));
    }
    json_object_set_new(properties, "tags", tags);
    json_object_set_new(properties, "precision", json_string("very-high"));
    json_object_set_new(properties, "problem.severity", json_string(level_of(finding)));
    json_object_set_new(json, "id", report_text_json(rule_name(finding)));
    json_object_set_new(json, "shortDescription", message_json(sentence));
    json_object_set_new(json, "fullDescription", message_json(sentence));
    json_object_set_new(json, "help", message_json(help ? help : sentence));
    json_object_set_new(json, "defaultConfiguration", configuration);
    json_object_set_new(json, "properties", properties);
    free(help);
    return json;
}

/* The place of the finding's rule among the rules, which it enters when it is new. */
static size_t enter_rule(json_t *rules, const struct report_finding *finding)
{
    const char *name = rule_name(finding);
    size_t i;

    for (i = 0; i < json_array_size(rules); i++) {
        const json_t *id = json_object_get(json_array_get(rules, i), "id");

        if (strcmp(json_string_value(id), name) == 0)
            return i;
    }
    json_array_append_new(rules, rule_json(finding));
    return i;
}

/* ---- Results --------------------------------------------------------------------------------- */

/*
 * The path as it may leave this machine: beneath the working folder without it, elsewhere the last
 * part alone. A site finds what is in the repository, and nobody learns where that is.
 */
static const char *public_path(const char *path)
{
    char folder[4096];
    size_t length;

    if (path[0] != '/')
        return path;
    length = getcwd(folder, sizeof folder) ? strlen(folder) : 0;
    if (length && strncmp(path, folder, length) == 0 && path[length] == '/')
        return path + length + 1;
    return strrchr(path, '/') + 1;
}

/* The text with the public path in place of the path, wherever it stands; the caller frees it. */
static char *public_text(const char *text, const char *path, const char *shown)
{
    char *copy = NULL;
    size_t size = 0, length = strlen(path);
    FILE *out = open_memstream(&copy, &size);

    if (!out)
        return NULL;
    while (*text) {
        if (length && shown != path && strncmp(text, path, length) == 0) {
            fputs(shown, out);
            text += length;
        } else {
            fputc(*text++, out);
        }
    }
    if (fclose(out) == 0)
        return copy;
    free(copy);
    return NULL;
}

/* A path as a relative reference. */
static json_t *uri_json(const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-._~/";
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    json_t *json;

    if (!out)
        return json_string("unknown");
    if (strncmp(path, "./", 2) == 0)
        path += 2;
    for (; *path; path++) {
        if (strchr(plain, *path))
            fputc(*path, out);
        else
            fprintf(out, "%%%02X", (unsigned char)*path);
    }
    json = fclose(out) == 0 && text[0] ? report_text_json(text) : json_string("unknown");
    free(text);
    return json;
}

/* The first place that a text names, "mygpu.sys!Build (src/mygpu.c:519)"; 0: it names none. */
static unsigned long line_in(const char *text, char *file, size_t size)
{
    for (const char *open = strchr(text, '('); open; open = strchr(open + 1, '(')) {
        const char *end = open + strcspn(open, ")\n"), *colon = end;
        const char *comma = strstr(open, ", "), *name = comma && comma < end ? comma + 2 : open + 1;

        while (colon > name && *colon != ':')
            colon--;
        if (*end == ')' && colon > name && isdigit((unsigned char)colon[1])) {
            snprintf(file, size, "%.*s", (int)(colon - name), name);
            return strtoul(colon + 1, NULL, 10);
        }
    }
    return 0;
}

/*
 * Where the driver wrote the commands that the finding is about, else where its function begins; 0:
 * its debug information does not say.
 */
static unsigned long source_line(const struct report_finding *finding, char *file, size_t size)
{
    const char *last = strrchr(finding->detail->writers, '\n');
    unsigned long line = last ? line_in(last, file, size) : 0;

    return line ? line : line_in(finding->detail->function, file, size);
}

/* In the driver's source where that is known, in the case otherwise. */
static json_t *location_json(const struct report_finding *finding)
{
    json_t *location = json_object(), *physical = json_object(), *artifact = json_object(),
           *region = json_object();
    char file[FINDING_FUNCTION_BYTES];
    unsigned long line = source_line(finding, file, sizeof file);

    json_object_set_new(artifact, "uri", uri_json(line ? file : finding->case_file));
    if (!line)
        line = finding->line ? finding->line : 1;
    json_object_set_new(region, "startLine", json_integer((json_int_t)line));
    json_object_set_new(physical, "artifactLocation", artifact);
    json_object_set_new(physical, "region", region);
    json_object_set_new(location, "physicalLocation", physical);
    if (finding->detail->where[0]) {
        json_t *logical = json_array(), *one = json_object();

        json_object_set_new(one, "fullyQualifiedName", report_text_json(finding->detail->where));
        json_array_append_new(logical, one);
        json_object_set_new(location, "logicalLocations", logical);
    }
    return location;
}

/* "\n\nWhat follows from it: PT-013, fault." */
static size_t describe_consequences(const struct report_finding *list, size_t count,
                                    const struct report_finding *finding, char *text, size_t size)
{
    struct report_consequence found;
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; report_consequence(list, count, finding, i, &found) && used + 512 < size;
         i++)
        used += (size_t)snprintf(
            text + used, size - used, "%s%s%s%s",
            i ? ", " : "\n\nWhat follows from it: ", found.rule[0] ? found.rule : found.kind,
            found.where[0] ? " " : "", found.where);
    return used;
}

/* A cause, shown as `finding` shows it: without paths of this machine. */
static json_t *result_json(json_t *rules, const struct report_finding *list, size_t count,
                           const struct report_finding *original,
                           const struct report_finding *finding)
{
    json_t *json = json_object(), *locations = json_array(), *prints = json_object(),
           *properties = report_finding_json(list, count, original);
    char cause[24], line[32], text[FINDING_TEXT_BYTES + FINDING_WHERE_BYTES + 2048];
    size_t used;

    snprintf(cause, sizeof cause, "%016" PRIx64,
             finding_cause(rule_find(finding->rule), finding->detail->where, finding->text));
    snprintf(line, sizeof line, "%s:1", cause);
    used = (size_t)snprintf(text, sizeof text, "%s%s%s", finding->detail->where,
                            finding->detail->where[0] ? ": " : "", finding->text);
    used += describe_consequences(list, count, original, text + used, sizeof text - used);
    snprintf(text + used, sizeof text - used, "\n\nTo see it again: %s", finding->replay);
    json_object_set_new(properties, "case", report_text_json(finding->case_file));
    json_object_set_new(properties, "replay", report_text_json(finding->replay));
    json_object_set_new(json, "ruleId", report_text_json(rule_name(finding)));
    json_object_set_new(json, "ruleIndex", json_integer((json_int_t)enter_rule(rules, finding)));
    json_object_set_new(json, "level", json_string(finding->excuse ? "note" : level_of(finding)));
    if (finding->excuse)
        json_object_set_new(json, "suppressions",
                            json_pack("[{s:s, s:s}]", "kind", "external", "justification",
                                      campaign_excuse_name(finding->excuse)));
    json_object_set_new(json, "kind", json_string("fail"));
    json_object_set_new(json, "message", message_json(text));
    json_array_append_new(locations, location_json(finding));
    json_object_set_new(json, "locations", locations);
    json_object_set_new(prints, "primaryLocationLineHash", json_string(line));
    json_object_set_new(prints, "drydockCause/v1", json_string(cause));
    json_object_set(prints, "drydockId/v1", json_object_get(properties, "id"));
    json_object_set_new(json, "partialFingerprints", prints);
    json_object_set_new(json, "properties", properties);
    return json;
}

char *report_sarif(const struct report_finding *findings, size_t count)
{
    json_t *log = json_object(), *runs = json_array(), *run = json_object(), *tool = json_object(),
           *driver = json_object(), *rules = json_array(), *results = json_array();
    char *text;

    for (size_t i = 0; i < count; i++) {
        struct report_finding shown = findings[i];
        char *replay;

        if (findings[i].cause)
            continue;
        shown.case_file = public_path(findings[i].case_file);
        replay = public_text(findings[i].replay, findings[i].case_file, shown.case_file);
        shown.replay = replay ? replay : "";
        json_array_append_new(results, result_json(rules, findings, count, &findings[i], &shown));
        free(replay);
    }
    json_object_set_new(driver, "name", json_string("Drydock"));
    json_object_set_new(driver, "version", json_string(DRYDOCK_VERSION));
    json_object_set_new(driver, "semanticVersion", json_string(DRYDOCK_VERSION));
    json_object_set_new(driver, "rules", rules);
    json_object_set_new(tool, "driver", driver);
    json_object_set_new(run, "tool", tool);
    json_object_set_new(run, "columnKind", json_string("utf16CodeUnits"));
    json_object_set_new(run, "results", results);
    json_array_append_new(runs, run);
    json_object_set_new(log, "$schema", json_string(SCHEMA));
    json_object_set_new(log, "version", json_string("2.1.0"));
    json_object_set_new(log, "runs", runs);
    text = json_dumps(log, JSON_INDENT(2));
    json_decref(log);
    return text;
}
