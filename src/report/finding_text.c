/*
 * A finding as text, and the views on findings of runs and campaigns.
 */
#include "report/finding_report.h"

#include "report/plain_words.h"
#include "report/plain_text.h"
#include "report/report.h"
#include "report/source_link.h"

#include "base/hash.h"
#include "bench/drivers/drivers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LINE_WIDTH  100
#define LABEL_WIDTH 11 /* behind the two columns of the margin */

void report_cause_id(const char *kind, const char *rule, uint64_t cause, char out[REPORT_ID_BYTES])
{
    snprintf(out, REPORT_ID_BYTES, "%.20s-%08" PRIx32, rule[0] ? rule : kind,
             (uint32_t)(cause >> 32));
}

void report_finding_id(const char *kind, const char *rule, const char *where, const char *text,
                       char out[REPORT_ID_BYTES])
{
    report_cause_id(kind, rule, finding_cause(rule_find(rule), where, text), out);
}

static void id_of(const struct report_finding *finding, char out[REPORT_ID_BYTES])
{
    report_finding_id(finding->kind, finding->rule, finding->detail->where, finding->text, out);
}

struct report_finding report_finding_of_run(const struct run_result *result,
                                            const struct run_finding *finding,
                                            const struct report_origin *origin)
{
    enum rule_id rule = rule_find(finding->rule);
    unsigned wddm = result->config.wddm;

    run_driver_entry(result->config.model, &wddm);
    return (struct report_finding){
        .kind = run_finding_kind_name(finding->kind),
        .rule = finding->rule,
        .text = finding->text,
        .detail = &finding->detail,
        .case_file = origin->case_file,
        .line = finding->line,
        .driver = result->config.driver,
        .model = run_model_name(result->config.model),
        .setup = "",
        .wddm = wddm,
        .seed = result->config.seed,
        .replay = origin->replay,
        .output = finding->kind == RUN_FINDING_CRASHED || finding->kind == RUN_FINDING_HUNG
                      ? result->ending
                      : "",
        .broken = rule == RULE_NONE ? 0 : result->rules.broken[rule],
        .evaluated = rule == RULE_NONE ? 0 : result->rules.evaluated[rule],
    };
}

size_t report_findings_of_run(const struct run_result *result, const struct report_origin *origin,
                              struct report_finding out[REPORT_RUN_FINDINGS])
{
    static const struct run_finding no_finding;
    const struct report_finding *cause = NULL;
    size_t count = 0;

    for (uint32_t i = 0; i < result->finding_count; i++) {
        const uint32_t of = result->findings[i].consequence_of;

        out[count] = report_finding_of_run(result, &result->findings[i], origin);
        out[count].cause = of ? &out[of - 1] : NULL;
        if (!of && !cause && !report_is_advice(&out[count]))
            cause = &out[count];
        count++;
    }
    if (result->outcome == RUN_REFUSED || result->outcome == RUN_BROKEN) {
        out[count] = report_finding_of_run(result, &no_finding, origin);
        out[count].kind = run_outcome_name(result->outcome);
        out[count].cause = cause;
        out[count++].text = result->error;
    }
    return count;
}

struct report_finding report_finding_of_record(const struct campaign_record *record,
                                               unsigned finding, const char *folder,
                                               char text[REPORT_RECORD_TEXT])
{
    const struct campaign_finding *found = &record->findings[finding];
    const size_t half = REPORT_RECORD_TEXT / 2;
    char *replay = text, *case_file = text + half;

    memcpy(replay, "drydock ", 9);
    campaign_replay_command(record, replay + 8, half - 8);
    /* The campaign's case, or the one that the seed drew, where the folder has it. */
    if (record->case_path[0])
        snprintf(case_file, half, "%s", record->case_path);
    else
        snprintf(case_file, half, "%s%sfindings/%s-%" PRIu64 ".case", folder ? folder : "",
                 folder ? "/" : "", campaign_model_name(record->model), record->seed);
    return (struct report_finding){
        .kind = found->kind,
        .rule = found->rule,
        .text = found->text,
        .detail = &found->detail,
        .case_file = case_file,
        .line = found->line,
        .driver = record->driver,
        .model = campaign_model_name(record->model),
        .setup = record->setup,
        .wddm = record->wddm,
        .seed = record->seed,
        .replay = replay,
        .output = record->detail,
    };
}

struct report_finding report_finding_of_cause(const struct campaign_cause *cause,
                                              const char *folder, char text[REPORT_RECORD_TEXT])
{
    struct report_finding finding =
        report_finding_of_record(&cause->first, cause->finding, folder, text);

    finding.runs = cause->count;
    finding.campaign = cause;
    finding.excuse = cause->excuse;
    if (!cause->shrunk_path[0])
        return finding;
    campaign_shrunk_command(cause, text + strlen("drydock "),
                            REPORT_RECORD_TEXT / 2 - strlen("drydock "));
    finding.shrunk_lines = cause->shrunk_lines;
    finding.shrunk_from = cause->shrunk_from;
    finding.shrunk_in_part = cause->shrunk_in_part;
    return finding;
}

bool report_causes_init(struct report_causes *causes, const struct campaign_summary *summary,
                        const char *folder)
{
    *causes = (struct report_causes){
        .findings = calloc(summary->cause_count + 1, sizeof *causes->findings),
        .texts = calloc(summary->cause_count + 1, sizeof *causes->texts),
        .count = summary->cause_count,
    };
    if (!causes->findings || !causes->texts) {
        report_causes_fini(causes);
        return false;
    }
    for (size_t i = 0; i < causes->count; i++) {
        const struct campaign_cause *cause = &summary->causes[i];

        causes->findings[i] = report_finding_of_cause(cause, folder, causes->texts[i]);
    }
    return true;
}

void report_causes_fini(struct report_causes *causes)
{
    free(causes->findings);
    free(causes->texts);
    *causes = (struct report_causes){0};
}

static const char *const kinds[][2] = {
    {"content", "Memory must hold what was written to it last, wherever it was paged to."},
    {"translation", "A page-table entry must say where the page is."},
    {"driver", "A driver must not do what its kernel or the memory manager refuses."},
    {"manager", "The memory manager must keep its side of the contract."},
    {"fault", "The GPU must not fault on work that is lawful."},
    {"submission", "A submission that is lawful must run."},
    {"leak", "Everything that was made must be gone when the driver is unloaded."},
    {"crashed", "A driver must not crash."},
    {"hung", "A run must come to its end."},
    {"hostile", "A driver must leave the bench and the system of its user alone."},
    {"refused", "An adapter must start."},
    {"broken", "A run must come to its end in order."},
    {"digest", "The same run must do the same again."},
    {"advice", "What documents leave open is better done as all of them say."},
    {"bench", "The bench has no such callback; Windows does."},
    {NULL, "A run must have nothing to tell."},
};

static const char *const *find_kind(const char *kind)
{
    size_t i = 0;

    while (kinds[i][0] && strcmp(kinds[i][0], kind) != 0)
        i++;
    return kinds[i];
}

bool report_is_advice(const struct report_finding *finding)
{
    return run_finding_kind_is_remark(finding->kind);
}

bool report_blames_manager(const struct report_finding *finding)
{
    return strcmp(finding->kind, run_finding_kind_name(RUN_FINDING_MANAGER)) == 0 ||
           strcmp(finding->kind, run_outcome_name(RUN_BROKEN)) == 0;
}

const char *report_kind_sentence(const char *kind)
{
    return find_kind(kind)[1];
}

bool report_is_kind(const char *word)
{
    return find_kind(word)[0] != NULL;
}

/* ---- What Windows would do ------------------------------------------------------------------- */

/* "0x10E" and the like begin with three digits of a bug check; parameters are "p1=". */
static bool is_code(const char *at)
{
    return strncmp(at, "0x1", 3) == 0 && strspn(at + 2, "0123456789ABCDEF") == 3;
}

/* A wrong byte is the driver's: requests of the manager are judged by rules of their own. */
enum rule_side report_side(const struct report_finding *finding, enum rule_id id)
{
    return strcmp(finding->kind, "content") == 0 ? RULE_SIDE_DRIVER : rule_get(id)->side;
}

const char *report_violation(const struct rule *rule, char text[REPORT_VIOLATION_BYTES])
{
    const char *at = rule->violation;
    size_t used = 0;

    if (strcmp(at, "n/a") == 0 || strcmp(at, "undefined") == 0 || strcmp(at, "not specified") == 0)
        at = rule->side == RULE_SIDE_OS ? "nothing: this side is the system's own"
                                        : "not documented: anything may happen";
    for (text[0] = '\0'; *at && used + 24 < REPORT_VIOLATION_BYTES;) {
        if (is_code(at) && (at == rule->violation || at[-1] == ' ' || at[-1] == '/')) {
            bool goes_on = at > rule->violation && at[-1] == '/';

            used += (size_t)snprintf(text + used, REPORT_VIOLATION_BYTES - used, "%s%.5s",
                                     goes_on ? "" : "bug check ", at);
            at += 5;
            if (strncmp(at, " p1=", 4) == 0) {
                used += (size_t)snprintf(text + used, REPORT_VIOLATION_BYTES - used,
                                         ", parameter 1 = ");
                at += 4;
            }
        } else {
            text[used++] = *at++;
            text[used] = '\0';
        }
    }
    return text;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static void put_label(struct plain_text *plain, const char *label)
{
    if (label[0])
        plain_text_style(plain, LOOK_LABEL);
    fprintf(plain->stream, "  %-*s", LABEL_WIDTH, label);
    if (label[0])
        plain_text_style(plain, LOOK_PLAIN);
}

static void put_text(struct plain_text *plain, const char *text, size_t length)
{
    fprintf(plain->stream, "%.*s", (int)length, text);
}

/* Sources of a rule, each with a link to its page. */
static void put_sources(struct plain_text *plain, const char *text, size_t length)
{
    const char *const end = text + length;
    char link[SOURCE_LINK_BYTES];

    while (text < end) {
        size_t part = strcspn(text, ","), rest = (size_t)(end - text);

        part = part < rest ? part : rest;
        if (source_link(text, part, link))
            plain_text_link(plain, link);
        put_text(plain, text, part);
        if (link[0])
            plain_text_link(plain, "");
        text += part;
        part = strspn(text, ", ");
        rest = (size_t)(end - text);
        put_text(plain, text, part < rest ? part : rest);
        text += part;
    }
}

/*
 * A paragraph under a label, broken between words; the lines of the text stay lines. put writes a
 * part of a line.
 */
static void paragraph_by(struct plain_text *plain, const char *label, const char *text,
                         void (*put)(struct plain_text *, const char *, size_t))
{
    const size_t width = LINE_WIDTH - 2 - LABEL_WIDTH;
    bool is_first = true;

    if (!text[0])
        return;
    while (*text) {
        size_t line = strcspn(text, "\n"), part = line;

        if (part > width) {
            for (part = width; part && text[part] != ' '; part--)
                ;
            part = part ? part : width;
        }
        put_label(plain, is_first ? label : "");
        put(plain, text, part);
        fputc('\n', plain->stream);
        is_first = false;
        text += part;
        text += *text == '\n' || *text == ' ';
    }
}

static void paragraph(struct plain_text *plain, const char *label, const char *text)
{
    paragraph_by(plain, label, text, put_text);
}

static void rule_lines(struct plain_text *plain, const struct report_finding *finding)
{
    char text[REPORT_SENTENCE_BYTES + 160], sentence[REPORT_SENTENCE_BYTES];
    char violation[REPORT_VIOLATION_BYTES];
    enum rule_id id = rule_find(finding->rule);
    struct rule rule;
    const char *whose;

    if (id == RULE_NONE)
        return;
    rule = *rule_get(id);
    whose = rule.side == RULE_SIDE_DRIVER ? "the driver's"
            : report_side(finding, id) == RULE_SIDE_DRIVER
                ? "the driver's to carry out"
                : "the memory manager's: a defect of ours";
    rule.side = report_side(finding, id);
    snprintf(text, sizeof text, "%s\n(%s; tier %u, WDDM %s, %s; drydock explain %s)",
             report_plain_words(rule.id, rule.sentence, sentence), whose, rule.tier, rule.versions,
             rule_basis_name(rule.basis), rule.id);
    paragraph(plain, "rule", text);
    paragraph_by(plain, "source", rule.source, put_sources);
    paragraph(plain, "Windows", report_violation(&rule, violation));
}

/* The first lines of it: the rest is in the record. */
static void output_lines(struct plain_text *plain, const char *text)
{
    char part[RUN_ENDING_BYTES];
    size_t length = 0;

    for (unsigned line = 0; line < 80 && text[length] && length < sizeof part - 1; line++) {
        length += strcspn(text + length, "\n");
        length += text[length] == '\n';
    }
    snprintf(part, sizeof part, "%.*s", (int)length, text);
    paragraph(plain, "output", part);
}

static void finding_lines(struct plain_text *plain, const struct report_finding *finding)
{
    const struct finding_detail *detail = finding->detail;

    plain_text_style(plain, report_is_advice(finding) ? LOOK_ADVICE : LOOK_ERROR);
    fprintf(plain->stream, "%s %s",
            !report_is_advice(finding) ? "error"
            : finding->rule[0]         ? "advice"
                                       : "note",
            finding->rule[0] ? finding->rule : finding->kind);
    plain_text_style(plain, LOOK_STRONG);
    if (detail->where[0])
        fprintf(plain->stream, "  %s", detail->where);
    else if (finding->line)
        fprintf(plain->stream, "  %s:%u", finding->case_file, finding->line);
    plain_text_style(plain, LOOK_PLAIN);
    fprintf(plain->stream, "\n  %s\n", finding->text);
    rule_lines(plain, finding);
    paragraph(plain, "function", detail->function);
    paragraph(plain, "objects", detail->objects);
    paragraph(plain, "bytes", detail->bytes);
    paragraph(plain, "writers", detail->writers);
    paragraph(plain, "arguments", detail->arguments);
    paragraph(plain, "printed", detail->printed);
    output_lines(plain, finding->output);
}

static void origin_lines(struct plain_text *plain, const struct report_finding *finding)
{
    char text[512], number[2][REPORT_NUMBER_BYTES];

    if (finding->detail->where[0] && finding->line) {
        snprintf(text, sizeof text, "%s:%u", finding->case_file, finding->line);
        paragraph(plain, "case", text);
    }
    if (finding->broken > 1) {
        snprintf(text, sizeof text, "%s was broken %s times in %s evaluations", finding->rule,
                 report_count(number[0], finding->broken),
                 report_count(number[1], finding->evaluated));
        paragraph(plain, "counted", text);
    }
    if (finding->runs) {
        snprintf(text, sizeof text, "in %s run%s", report_count(number[0], finding->runs),
                 finding->runs == 1 ? "" : "s");
        paragraph(plain, "seen", text);
    }
    id_of(finding, text);
    paragraph(plain, "id", text);
    snprintf(text, sizeof text, "%" PRIu64 ", %s, driver %s", finding->seed, finding->model,
             finding->driver);
    paragraph(plain, "seed", text);
    paragraph(plain, "setup", finding->setup);
    if (!finding->replay[0])
        return;
    put_label(plain, "replay");
    plain_text_style(plain, LOOK_COMMAND);
    fputs(finding->replay, plain->stream); /* to be copied: in one line */
    plain_text_style(plain, LOOK_PLAIN);
    if (finding->shrunk_from)
        fprintf(plain->stream, "    (%s line%s, shrunk from %s)",
                report_count(number[0], finding->shrunk_lines),
                finding->shrunk_lines == 1 ? "" : "s",
                report_count(number[1], finding->shrunk_from));
    fputc('\n', plain->stream);
    if (finding->shrunk_in_part) {
        put_label(plain, "smaller");
        campaign_shrink_again_command(finding->campaign, text, sizeof text);
        fprintf(plain->stream, "drydock %s    (time ran out)\n", text);
    }
}

static uint64_t cause_of(const struct report_finding *finding)
{
    return hash_pair(
        hash_string(finding->kind),
        finding_cause(rule_find(finding->rule), finding->detail->where, finding->text));
}

/* ---- What follows from it -------------------------------------------------------------------- */

static bool consequence_of_campaign(const struct campaign_cause *cause, size_t i,
                                    struct report_consequence *out)
{
    const struct campaign_consequence *found;

    if (i >= cause->consequence_count)
        return false;
    found = &cause->consequences[i];
    *out = (struct report_consequence){
        .kind = found->kind,
        .rule = found->rule,
        .where = found->where,
        .text = found->text,
        .count = found->runs,
        .alone = found->alone,
    };
    return true;
}

bool report_consequence(const struct report_finding *list, size_t count,
                        const struct report_finding *finding, size_t i,
                        struct report_consequence *out)
{
    const struct report_finding *found = NULL;
    uint64_t times = 0;

    if (finding->campaign)
        return consequence_of_campaign(finding->campaign, i, out);
    for (size_t at = 0; at < count; at++) {
        bool is_new = list[at].cause == finding;

        for (size_t j = 0; j < at && is_new && !found; j++)
            is_new = list[j].cause != finding || cause_of(&list[j]) != cause_of(&list[at]);
        if (!found && is_new && i-- == 0)
            found = &list[at];
        times += found && list[at].cause == finding && cause_of(&list[at]) == cause_of(found);
    }
    if (!found)
        return false;
    *out = (struct report_consequence){
        .kind = found->kind,
        .rule = found->rule,
        .where = found->detail->where,
        .text = found->text,
        .event = found->detail->event,
        .count = times,
    };
    return true;
}

#define MOST_FOLLOW 6

static void follow_lines(struct plain_text *plain, const struct report_finding *list, size_t count,
                         const struct report_finding *finding)
{
    struct report_consequence found;
    char text[FINDING_TEXT_BYTES + FINDING_WHERE_BYTES + 160], number[2][REPORT_NUMBER_BYTES];
    const char *unit = finding->campaign ? "run" : "time";
    size_t i = 0;

    for (; report_consequence(list, count, finding, i, &found); i++) {
        size_t used;

        if (i >= MOST_FOLLOW)
            continue;
        used = (size_t)snprintf(text, sizeof text, "%s%s%s: %.*s",
                                found.rule[0] ? found.rule : found.kind, found.where[0] ? " " : "",
                                found.where, 160, found.text);
        if (found.count && (found.count > 1 || finding->campaign))
            used += (size_t)snprintf(text + used, sizeof text - used, " (%s %s%s)",
                                     report_count(number[0], found.count), unit,
                                     found.count == 1 ? "" : "s");
        if (found.alone)
            snprintf(text + used, sizeof text - used, " (in %s run%s seen alone)",
                     report_count(number[1], found.alone), found.alone == 1 ? "" : "s");
        paragraph(plain, i ? "" : "follows", text);
    }
    if (i > MOST_FOLLOW) {
        snprintf(text, sizeof text, "and %zu more", i - MOST_FOLLOW);
        paragraph(plain, "", text);
    }
}

/* ---- Lists ----------------------------------------------------------------------------------- */

#define MOST_ALSO 3

/* Those behind it that are of its kind, at its place. */
static void also_lines(struct plain_text *plain, const struct report_finding *finding,
                       size_t behind)
{
    const uint64_t cause = cause_of(finding);
    char text[FINDING_TEXT_BYTES + 64];
    unsigned count = 0;

    for (size_t i = 1; i <= behind; i++) {
        const char *objects = finding[i].detail->objects;
        int length = (int)strcspn(objects, ":\n");

        if (finding[i].cause || cause_of(&finding[i]) != cause || ++count > MOST_ALSO)
            continue;
        snprintf(text, sizeof text, "%.*s%s%s", length, objects, length ? ": " : "",
                 finding[i].text);
        paragraph(plain, count == 1 ? "also" : "", text);
    }
    if (count > MOST_ALSO) {
        snprintf(text, sizeof text, "and %u more", count - MOST_ALSO);
        paragraph(plain, "", text);
    }
}

/* "known PB-004-e4458707  DxgkDdiBuildPagingBuffer(FILL): moved 288 bytes (in 3 runs)"; of one run
 * without a number. */
static void put_excused(struct plain_text *plain, const struct report_finding *finding)
{
    char id[REPORT_ID_BYTES], number[REPORT_NUMBER_BYTES];

    id_of(finding, id);
    plain_text_style(plain, LOOK_ADVICE);
    fprintf(plain->stream, "%s %s", campaign_excuse_name(finding->excuse), id);
    plain_text_style(plain, LOOK_PLAIN);
    fprintf(plain->stream, "  %s%s%.*s", finding->detail->where,
            finding->detail->where[0] ? ": " : "", (int)strcspn(finding->text, "\n"),
            finding->text);
    if (finding->runs)
        fprintf(plain->stream, " (in %s run%s)", report_count(number, finding->runs),
                finding->runs == 1 ? "" : "s");
    fputc('\n', plain->stream);
}

/* Those that are told with it stand `behind` it in the list. */
static void put_finding(struct plain_text *plain, const struct report_finding *list, size_t count,
                        const struct report_finding *finding, size_t behind)
{
    if (finding->excuse) {
        put_excused(plain, finding);
        return;
    }
    finding_lines(plain, finding);
    also_lines(plain, finding, behind);
    follow_lines(plain, list, count, finding);
    origin_lines(plain, finding);
}

void report_finding_text(FILE *out, const struct report_finding *list, size_t count,
                         const struct report_finding *finding)
{
    struct plain_text plain;

    plain_text_begin(&plain);
    if (plain.stream)
        put_finding(&plain, list, count, finding, 0);
    plain_text_end(&plain, out);
}

void report_finding_list(FILE *out, const struct report_finding *findings, size_t count)
{
    struct plain_text plain;

    plain_text_begin(&plain);
    for (size_t i = 0; plain.stream && i < count; i++) {
        bool is_new = !findings[i].cause;

        for (size_t j = 0; j < i && is_new; j++)
            is_new = findings[j].cause || cause_of(&findings[j]) != cause_of(&findings[i]);
        if (!is_new)
            continue;
        put_finding(&plain, findings, count, &findings[i], count - i - 1);
    }
    plain_text_end(&plain, out);
}
