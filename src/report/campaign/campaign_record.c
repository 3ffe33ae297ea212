/*
 * Records of a campaign as JSON.
 */
#include "report/campaign/campaign_report.h"

#include "base/hash.h"
#include "bench/config/profile.h"
#include "report/finding_report.h"
#include "report/text_json.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* All counts of a record, in one list for both directions. */
#define COUNTS(X)                                                                                  \
    X(seed)                                                                                        \
    X(operations)                                                                                  \
    X(submissions)                                                                                 \
    X(paging_operations)                                                                           \
    X(evictions)                                                                                   \
    X(pages_checked)                                                                               \
    X(translations_checked)                                                                        \
    X(mismatches)                                                                                  \
    X(finding_total)

char *campaign_record_json(const struct campaign_record *record)
{
    json_t *json = json_object(), *findings = json_array();
    char digest[24], replay[CAMPAIGN_REPLAY_BYTES], *text;

#define X(name) json_object_set_new(json, #name, json_integer((json_int_t)record->name));
    COUNTS(X)
#undef X
    snprintf(digest, sizeof digest, "%016" PRIx64, record->digest);
    campaign_replay_command(record, replay, sizeof replay);
    json_object_set_new(json, "digest", json_string(digest));
    json_object_set_new(json, "case", report_text_json(record->case_path));
    json_object_set_new(json, "driver", report_text_json(record->driver));
    json_object_set_new(
        json, "profile",
        report_text_json(record->profile[0] ? record->profile : RUN_PROFILE_DEFAULT));
    if (record->board[0])
        json_object_set_new(json, "board", report_text_json(record->board));
    json_object_set_new(json, "model", json_string(campaign_model_name(record->model)));
    json_object_set_new(json, "wddm", json_integer(record->wddm));
    json_object_set_new(json, "outcome", json_string(campaign_outcome_name(record->outcome)));
    json_object_set_new(json, "was_repeated", json_boolean(record->was_repeated));
    json_object_set_new(json, "setup", report_text_json(record->setup));
    json_object_set_new(json, "detail", report_text_json(record->detail));
    json_object_set_new(json, "replay", report_text_json(replay));
    for (unsigned i = 0; i < record->finding_count; i++) {
        const struct campaign_finding *finding = &record->findings[i];
        json_t *one = json_object();

        json_object_set_new(one, "kind", report_text_json(finding->kind));
        json_object_set_new(one, "rule", report_text_json(finding->rule));
        json_object_set_new(one, "line", json_integer(finding->line));
        json_object_set_new(one, "text", report_text_json(finding->text));
        json_object_set_new(one, "event", json_integer((json_int_t)finding->detail.event));
        json_object_set_new(one, "seen", json_integer((json_int_t)finding->seen));
        json_object_set_new(one, "consequence_of", json_integer(finding->consequence_of));
        json_object_set_new(one, "where", report_text_json(finding->detail.where));
        json_object_set_new(one, "function", report_text_json(finding->detail.function));
        json_object_set_new(one, "objects", report_text_json(finding->detail.objects));
        json_object_set_new(one, "arguments", report_text_json(finding->detail.arguments));
        json_object_set_new(one, "argument", report_argument_json(&finding->detail.argument));
        json_object_set_new(one, "bytes", report_text_json(finding->detail.bytes));
        json_object_set_new(one, "writers", report_text_json(finding->detail.writers));
        json_object_set_new(one, "printed", report_text_json(finding->detail.printed));
        json_array_append_new(findings, one);
    }
    json_object_set_new(json, "findings", findings);
    text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(json);
    return text;
}

static bool get_text(const json_t *json, const char *key, char *out, size_t out_bytes)
{
    const char *text = json_string_value(json_object_get(json, key));

    snprintf(out, out_bytes, "%s", text ? text : "");
    return text != NULL;
}

#define GET_TEXT(json, key, field) get_text(json, key, field, sizeof(field))

/* Rules and kinds name files: nothing but letters, digits and what joins them. */
static bool is_name(const char *text)
{
    return text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")] ==
           '\0';
}

static bool parse_findings(const json_t *list, struct campaign_record *record)
{
    record->finding_count = 0;
    for (size_t i = 0; i < json_array_size(list) && i < CAMPAIGN_MAX_FINDINGS; i++) {
        struct campaign_finding *finding = &record->findings[record->finding_count++];
        const json_t *one = json_array_get(list, i), *argument;

        if (!GET_TEXT(one, "kind", finding->kind) || !GET_TEXT(one, "rule", finding->rule) ||
            !GET_TEXT(one, "text", finding->text) ||
            !GET_TEXT(one, "where", finding->detail.where) ||
            !GET_TEXT(one, "function", finding->detail.function) ||
            !GET_TEXT(one, "objects", finding->detail.objects) ||
            !GET_TEXT(one, "arguments", finding->detail.arguments) ||
            !GET_TEXT(one, "bytes", finding->detail.bytes) ||
            !GET_TEXT(one, "printed", finding->detail.printed) || !is_name(finding->kind) ||
            !is_name(finding->rule))
            return false;
        /* Older folders do not have these. */
        GET_TEXT(one, "writers", finding->detail.writers);
        argument = json_object_get(one, "argument");
        GET_TEXT(argument, "name", finding->detail.argument.name);
        GET_TEXT(argument, "value", finding->detail.argument.value);
        GET_TEXT(argument, "expected", finding->detail.argument.expected);
        finding->detail.event = (uint64_t)json_integer_value(json_object_get(one, "event"));
        finding->line = (uint32_t)json_integer_value(json_object_get(one, "line"));
        /* Older folders have neither: each finding is a cause. */
        finding->seen = (uint64_t)json_integer_value(json_object_get(one, "seen"));
        finding->consequence_of =
            (uint32_t)json_integer_value(json_object_get(one, "consequence_of"));
        if (finding->consequence_of > i)
            return false;
    }
    return json_is_array(list);
}

static bool parse_object(const json_t *json, struct campaign_record *record)
{
    char digest[24], model[16], outcome[16];

#define X(name)                                                                                    \
    if (!json_is_integer(json_object_get(json, #name)))                                            \
        return false;                                                                              \
    record->name = (uint64_t)json_integer_value(json_object_get(json, #name));
    COUNTS(X)
#undef X
    if (!GET_TEXT(json, "digest", digest) || !GET_TEXT(json, "model", model) ||
        !GET_TEXT(json, "outcome", outcome) || !GET_TEXT(json, "case", record->case_path) ||
        !GET_TEXT(json, "driver", record->driver) || !GET_TEXT(json, "setup", record->setup) ||
        !GET_TEXT(json, "detail", record->detail) || !campaign_find_model(model, &record->model) ||
        !campaign_find_outcome(outcome, &record->outcome))
        return false;
    GET_TEXT(json, "profile", record->profile); /* older folders have none: by default */
    GET_TEXT(json, "board", record->board);     /* where something is said of it */
    if (strcmp(record->profile, RUN_PROFILE_DEFAULT) == 0)
        memset(record->profile, 0, sizeof record->profile);
    record->digest = strtoull(digest, NULL, 16);
    record->wddm = (unsigned)json_integer_value(json_object_get(json, "wddm"));
    record->was_repeated = json_is_true(json_object_get(json, "was_repeated"));
    return parse_findings(json_object_get(json, "findings"), record);
}

bool campaign_record_parse(const char *text, struct campaign_record *out_record)
{
    json_t *json = json_loads(text, 0, NULL);
    bool is_fine;

    memset(out_record, 0, sizeof *out_record);
    is_fine = json_is_object(json) && parse_object(json, out_record);
    json_decref(json);
    return is_fine;
}

/* ---- Lines with a checksum ------------------------------------------------------------------- */

#define CHECK_SEED UINT64_C(0x647264635f6c696e) /* any: it stays what it is */
#define CHECK_KEY  ",\"check\":\""
#define CHECK_TAIL (sizeof CHECK_KEY - 1 + 16 + 2) /* key, 16 digits, a quote and a brace */

char *campaign_line(const struct campaign_record *record)
{
    char *json = campaign_record_json(record), *line;
    size_t length;

    if (!json)
        return NULL;
    length = strlen(json) - 1; /* the brace */
    line = malloc(length + CHECK_TAIL + 2);
    if (line)
        sprintf(line, "%.*s" CHECK_KEY "%016" PRIx64 "\"}\n", (int)length, json,
                hash_bytes(json, length, CHECK_SEED));
    free(json);
    return line;
}

bool campaign_line_parse(const char *line, struct campaign_record *out_record)
{
    size_t length = strlen(line);
    char tail[CHECK_TAIL + 1];

    memset(out_record, 0, sizeof *out_record);
    if (!strstr(line, CHECK_KEY)) /* of an earlier version */
        return length && line[length - 1] == '\n' && campaign_record_parse(line, out_record);
    if (length <= CHECK_TAIL || line[length - 1] != '\n')
        return false;
    length -= CHECK_TAIL + 1;
    snprintf(tail, sizeof tail, CHECK_KEY "%016" PRIx64 "\"}",
             hash_bytes(line, length, CHECK_SEED));
    return memcmp(line + length, tail, CHECK_TAIL) == 0 && campaign_record_parse(line, out_record);
}
