/*
 * A rule as a lesson: its text, its reason, an example that breaks it and what the bench says then.
 */
#include "report/explain.h"

#include "report/finding_report.h"
#include "report/look.h"
#include "report/plain_words.h"
#include "report/report.h"
#include "report/rules_report.h"
#include "report/source_link.h"

#include <stdbool.h>
#include <string.h>

#define LINE_WIDTH  100
#define LABEL_WIDTH 10

/* ---- Lines ----------------------------------------------------------------------------------- */

static void label(FILE *out, const char *name)
{
    fprintf(out, "  %-*s", LABEL_WIDTH, name);
}

/* The text in lines of at most the width, each with what comes before it; goes on at `first`. */
static void wrap(FILE *out, const char *first, const char *before, const char *text)
{
    do {
        size_t width = LINE_WIDTH - strlen(first), part = strlen(text);

        if (part > width) {
            for (part = width; part && text[part] != ' '; part--)
                ;
            part = part ? part : width;
        }
        fprintf(out, "%s%.*s\n", first, (int)part, text);
        first = before;
        text += part;
        text += *text == ' ';
    } while (*text);
}

/* A paragraph under a label. */
static void tell(FILE *out, const char *name, const char *text)
{
    char first[32], before[32];

    snprintf(first, sizeof first, "  %-*s", LABEL_WIDTH, name);
    snprintf(before, sizeof before, "  %-*s", LABEL_WIDTH, "");
    wrap(out, first, before, text);
}

/* Lines as they are. */
static void show(FILE *out, const char *name, const char *lines)
{
    fprintf(out, "\n  %s\n", name);
    while (*lines) {
        size_t length = strcspn(lines, "\n");

        fprintf(out, "      %.*s\n", (int)length, lines);
        lines += length;
        lines += *lines == '\n';
    }
}

/* "nc-dxgkddi_buildpagingbuffer": what kind of page that is, and its address. */
static void tell_sources(FILE *out, const char *source)
{
    const char *at = source, *name = "Source";
    char link[SOURCE_LINK_BYTES];

    while (*at) {
        size_t length = strcspn(at, ",");
        const char *kind = strncmp(at, "ns-", 3) == 0         ? "structure, in the DDI reference"
                           : strncmp(at, "nc-", 3) == 0       ? "function, in the DDI reference"
                           : strncmp(at, "nf-", 3) == 0       ? "function, in the DDI reference"
                           : strncmp(at, "ne-", 3) == 0       ? "enumeration, in the DDI reference"
                           : strncmp(at, "bug-check", 9) == 0 ? "bug-check reference"
                                                              : "design guide";

        label(out, name);
        name = "";
        if (source_link(at, length, link)) {
            fprintf(out, "%.*s (%s)\n", (int)length, at, kind);
            label(out, name);
            look_link(out, link);
            fputs(link, out);
            look_link(out, "");
            fputc('\n', out);
        } else {
            fprintf(out, "%.*s\n", (int)length, at);
        }
        at += length;
        at += strspn(at, ", ");
    }
}

static void tell_versions(FILE *out, const struct rule *rule)
{
    char text[256];
    size_t length = strlen(rule->versions);

    if (length > 1 && rule->versions[length - 1] == '+' &&
        strspn(rule->versions, "0123456789.") == length - 1)
        snprintf(text, sizeof text, "WDDM %.*s and later", (int)length - 1, rule->versions);
    else
        snprintf(text, sizeof text, "WDDM %s", rule->versions);
    tell(out, "Versions", text);
}

static void tell_check(FILE *out, enum rule_id id, const struct rule_counts *counts)
{
    const struct rule *rule = rule_get(id);
    const char *reason = rule_reason_unchecked(id);
    char text[REPORT_SENTENCE_BYTES], number[2][REPORT_NUMBER_BYTES];

    if (reason && (!counts || !counts->evaluated[id])) {
        snprintf(text, sizeof text, "no run can see it: %s", reason);
        tell(out, "Checked", text);
        return;
    }
    report_plain_words(rule->id, rule->check, text);
    tell(out, "Checked", text);
    tell(out, "",
         rule_is_tested(id)
             ? "Two tests show that it is found when it is broken, and alone, and silent when not."
             : "No pair of tests shows that it is found when it is broken.");
    if (!counts)
        return;
    snprintf(text, sizeof text, "Evaluated %s times, broken %s times in what --from names.",
             report_count(number[0], counts->evaluated[id]),
             report_count(number[1], counts->broken[id]));
    tell(out, "",
         counts->evaluated[id] ? text
                               : "Never evaluated in what --from names: there it was not checked.");
}

/* ---- Examples -------------------------------------------------------------------------------- */

/* The call in which the rules of an area hold. */
static const char *call_of(const char *id)
{
    static const char *const calls[][2] = {
        {"PB", "DxgkDdiBuildPagingBuffer"},
        {"XFER", "DxgkDdiBuildPagingBuffer(TRANSFER)"},
        {"FILL", "DxgkDdiBuildPagingBuffer(FILL)"},
        {"DISC", "DxgkDdiBuildPagingBuffer(DISCARD_CONTENT)"},
        {"PHYS", "DxgkDdiBuildPagingBuffer(READ_PHYSICAL, WRITE_PHYSICAL)"},
        {"APER", "DxgkDdiBuildPagingBuffer(MAP_APERTURE_SEGMENT, UNMAP_APERTURE_SEGMENT)"},
        {"ADL", "DxgkDdiBuildPagingBuffer(MAP_APERTURE_SEGMENT2)"},
        {"SLT", "DxgkDdiBuildPagingBuffer(SPECIAL_LOCK_TRANSFER)"},
        {"VX", "DxgkDdiBuildPagingBuffer(VIRTUAL_TRANSFER, VIRTUAL_FILL)"},
        {"CTX", "DxgkDdiBuildPagingBuffer(INIT_CONTEXT_RESOURCE, UPDATE_CONTEXT_ALLOCATION)"},
        {"PT", "DxgkDdiBuildPagingBuffer(UPDATE_PAGE_TABLE), DxgkDdiSetRootPageTable"},
        {"TLB", "DxgkDdiBuildPagingBuffer(FLUSH_TLB)"},
        {"CPTE", "DxgkDdiBuildPagingBuffer(COPY_PAGE_TABLE_ENTRIES)"},
        {"NTF", "DxgkDdiBuildPagingBuffer(NOTIFY_RESIDENCY, SIGNAL_MONITORED_FENCE, ...)"},
        {"SEG", "DxgkDdiQueryAdapterInfo(QUERYSEGMENT, 3, 4)"},
        {"BANK", "DxgkDdiQueryAdapterInfo(QUERYSEGMENT, 3, 4)"},
        {"ALLOC", "DxgkDdiCreateAllocation, DxgkDdiOpenAllocation"},
        {"SWZ", "DxgkDdiAcquireSwizzlingRange, DxgkDdiReleaseSwizzlingRange"},
        {"CHA", "DxgkDdiMapCpuHostAperture, DxgkDdiUnmapCpuHostAperture"},
        {"RES", "MakeResident, Evict, and the submissions between them"},
        {"OFFER", "Offer, Reclaim"},
        {"PATCH", "DxgkDdiRender, DxgkDdiPatch"},
        {"SUB", "DxgkDdiSubmitCommand, DxgkDdiSubmitCommandVirtual"},
        {"FENCE", "DxgkCbNotifyInterrupt, DxgkDdiPreemptCommand"},
        {"PWR", "DxgkDdiSetPowerState"},
        {"TDR", "DxgkDdiResetFromTimeout, DxgkDdiResetEngine"},
        {"IOMMU", "BeginExclusiveAccess, EndExclusiveAccess"},
        {"HWQ", "DxgkDdiCreateHwQueue, DxgkDdiSubmitCommandToHwQueue"},
        {"CALL", "any call"},
    };
    size_t length = strcspn(id, "-");

    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (strlen(calls[i][0]) == length && strncmp(calls[i][0], id, length) == 0)
            return calls[i][1];
    }
    return "the call";
}

/* A lesson made of the call that the rule's area is about, and of how a breach shows. */
static void show_generic(FILE *out, const struct rule *rule)
{
    const char *who = rule->side == RULE_SIDE_OS ? "the memory manager" : "the driver";
    char sentence[REPORT_SENTENCE_BYTES], text[2 * REPORT_SENTENCE_BYTES];

    report_plain_words(rule->id, rule->sentence, sentence);
    fprintf(out, "\n  Lawful\n      %s\n", call_of(rule->id));
    snprintf(text, sizeof text, "%s */", sentence);
    wrap(out, "      /* ", "         ", text);
    snprintf(text, sizeof text, "The same, where %s does otherwise. It shows: %s */", who,
             rule->check);
    fprintf(out, "\n  Unlawful\n      %s\n", call_of(rule->id));
    wrap(out, "      /* ", "         ", text);
}

static void tell_words(FILE *out, const struct rule *rule)
{
    const struct report_abbreviation *abbreviation;
    const char *name = "Words";

    for (unsigned i = 0; (abbreviation = report_abbreviation_at(i)) != NULL; i++) {
        if (!report_has_abbreviation(rule->sentence, abbreviation))
            continue;
        label(out, name);
        fprintf(out, "%s: %s\n", abbreviation->word, abbreviation->meaning);
        name = "";
    }
}

void report_explain(FILE *out, enum rule_id id, const struct rule_counts *counts)
{
    const struct rule *rule = rule_get(id);
    struct rule windows = *rule; /* as the one breaks it who may be at fault */
    const struct rule_example *example = rule_find_example(id);
    const char *subject = rule_area_subject(rule->id);
    char text[REPORT_SENTENCE_BYTES], violation[REPORT_VIOLATION_BYTES];

    snprintf(text, sizeof text, "%s   ", rule->id);
    wrap(out, text, "          ", subject ? subject : "");
    fputc('\n', out);
    tell(out, "Rule", report_plain_words(rule->id, rule->sentence, text));
    tell_words(out, rule);
    fputc('\n', out);
    tell(out, "Obeyed by",
         rule_is_carried_out(id)
             ? "the operating system, which asks, and the driver, whose packets do "
               "it: memory that does not hold what was asked for is the driver's"
         : rule->side == RULE_SIDE_OS ? "the operating system; here Drydock's memory manager, so a "
                                        "finding is a defect of ours"
                                      : "the driver");
    tell_versions(out, rule);
    tell(out, "Basis",
         rule->basis == RULE_BASIS_DOC ? "documented: the pages below say it"
                                       : "inferred: it follows from the pages below, none says it");
    tell_sources(out, rule->source);
    if (rule_is_carried_out(id))
        windows.side = RULE_SIDE_DRIVER;
    tell(out, "Windows", report_violation(&windows, violation));
    tell(out, "Tier",
         rule->tier == 1 ? "1: met in every run"
                         : "2: of a version or feature, or no failure by itself");
    tell_check(out, id, counts);
    if (example) {
        show(out, "Lawful", example->lawful);
        show(out, "Unlawful", example->unlawful);
    } else {
        show_generic(out, rule);
    }
}

void report_explain_client(FILE *out, const struct client_rule_row *row)
{
    const char *needs = client_catalogue_needs(row);
    char text[REPORT_SENTENCE_BYTES];

    fprintf(out, "%s   What a user-mode driver owes D3DKMT\n\n", row->id);
    tell(out, "Rule", row->sentence);
    fputc('\n', out);
    tell(out, "Obeyed by", "the client: an application's user-mode driver, which calls D3DKMT");
    tell(out, "Basis",
         row->is_documented ? "documented: the pages below say it"
                            : "inferred: it follows from the pages below, none says it");
    tell_sources(out, row->source);
    if (row->judged == CLIENT_JUDGED_NO) {
        snprintf(text, sizeof text, "no run judges it: %s", needs);
        tell(out, "Checked", text);
        return;
    }
    snprintf(text, sizeof text, "in every run of drydock exec%s%s%s",
             row->judged == CLIENT_JUDGED_ADVICE ? ", as advice: no finding, and no exit status"
                                                 : "",
             needs[0] ? ": " : "", needs);
    tell(out, "Checked", text);
    tell(out, "",
         "Two clients show it in tests: one breaks it, and it alone is told; one keeps it.");
    snprintf(text, sizeof text,
             "finding: %s D3DKMT...: what the call names, the process, and where in the client it "
             "came from (--stacks: the callers, too)",
             row->id);
    tell(out, "Told as", text);
}
