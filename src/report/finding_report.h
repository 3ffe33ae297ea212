/*
 * Finding report: one finding, as text, as JSON and in the formats that other tools read.
 *
 * Place      report. Findings of runs and of campaigns are shown alike; jansson for JSON.
 * Model      struct report_finding is a view: what was found, where, and how to see it again. What
 *            follows from the rule (sentence, source, what Windows would do) comes from the rule
 *            table. On the screen:
 *
 *                error PB-004  DxgkDdiBuildPagingBuffer(TRANSFER).pDmaBuffer
 *                  moved 288 bytes; 256 were offered
 *                  rule       Before returning, set pDmaBuffer to the byte after the last byte ...
 *                             driver's side, tier 1, WDDM 1.0+, documented; drydock explain PB-004
 *                  source     nc-dxgkddi_buildpagingbuffer, bug-check-0x10e
 *                  Windows    bug check 0x10E, parameter 1 = 0x12 when past the end
 *                  objects    allocation a3: event 4711 paged in to segment 1 at 0x240000
 *                  arguments  DmaSize  16384 (0x4000)
 *                             ...
 *                  seed       7, gpummu, driver ref, WDDM 2.0
 *                  replay     drydock run cases/a.case --model gpummu --seed 7
 *
 *            | form  | what stands for what                                                    |
 *            | JUnit | a test case for each rule, and for each kind of finding without a rule: |
 *            |       | passed, failed, or skipped when it was never evaluated, or was broken   |
 *            |       | as a consequence alone                                                  |
 *            | SARIF | a result for each cause, with its consequences; rules with their texts  |
 * Ownership  A view borrows its strings. Texts given are freed with free().
 * Errors     NULL: no memory.
 */
#ifndef DRYDOCK_REPORT_FINDING_REPORT_H
#define DRYDOCK_REPORT_FINDING_REPORT_H

#include "bench/campaign/campaign.h"
#include "bench/run/run_result.h"
#include "check/report/finding.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct report_finding {
    const char *kind; /* "driver", "content", "crashed", ... */
    const char *rule; /* "PB-004", or "" */
    const char *text;
    const struct finding_detail *detail;
    const char *case_file;              /* the case, as a path for people and tools */
    uint32_t line;                      /* of it; 0: none */
    const char *driver, *model, *setup; /* setup "": nothing that the command does not say */
    unsigned wddm;
    uint64_t seed;
    const char *replay;                 /* "drydock run ..." */
    const char *output;                 /* what a worker wrote before it crashed or hung, or "" */
    uint32_t shrunk_lines, shrunk_from; /* replay plays so many operations of so many; 0: of all */
    bool shrunk_in_part;                /* time ran out: a smaller case may be there */
    uint64_t runs;                      /* of a campaign that had it; 0: of one run */
    uint64_t broken, evaluated;         /* the rule, in this run; evaluated 0: not told */
    const struct report_finding *cause; /* in the same list; NULL: it is a cause itself */
    const struct campaign_cause *campaign; /* whose consequences it has; NULL: those of its list */
    enum campaign_excuse excuse;           /* of a campaign's */
};

/*
 * What a finding is called in every form: its rule, or its kind without one, and eight hexadecimal
 * digits of its cause, "PB-004-e4458707". It stays when seeds, numbers and versions change.
 */
#define REPORT_ID_BYTES 32
void report_finding_id(const char *kind, const char *rule, const char *where, const char *text,
                       char out[REPORT_ID_BYTES]);
/* The same of a finding_cause(). */
void report_cause_id(const char *kind, const char *rule, uint64_t cause, char out[REPORT_ID_BYTES]);

/* What was told behind a cause, once for all that are of one kind. Strings are borrowed. */
struct report_consequence {
    const char *kind, *rule, *where, *text;
    uint64_t event; /* number of the call of the first; 0: of a campaign, or outside of calls */
    uint64_t count; /* findings of a run; of a campaign: runs that told it behind the cause */
    uint64_t alone; /* of a campaign: runs that told it and did not see the cause */
};
/* The consequence number i of a finding of the list; false: there are no more. */
bool report_consequence(const struct report_finding *list, size_t count,
                        const struct report_finding *finding, size_t i,
                        struct report_consequence *out);

/* Where a run came from: its case, and the command that plays it again. Both may be "". */
struct report_origin {
    const char *case_file, *replay;
};

struct report_finding report_finding_of_run(const struct run_result *result,
                                            const struct run_finding *finding,
                                            const struct report_origin *origin);

/* All that were kept; and that the run could not be begun or ended. Gives how many. */
#define REPORT_RUN_FINDINGS (RUN_MAX_FINDINGS + 1)
size_t report_findings_of_run(const struct run_result *result, const struct report_origin *origin,
                              struct report_finding out[REPORT_RUN_FINDINGS]);

/* The strings of a view that are not in the record: the command, and where the case is. */
#define REPORT_RECORD_TEXT 5120
/* folder: where the campaign's findings are, NULL: nowhere. text is borrowed by the view. */
struct report_finding report_finding_of_record(const struct campaign_record *record,
                                               unsigned finding, const char *folder,
                                               char text[REPORT_RECORD_TEXT]);

/* The first of a cause; its smallest case is what replay plays, where there is one. */
struct report_finding report_finding_of_cause(const struct campaign_cause *cause,
                                              const char *folder, char text[REPORT_RECORD_TEXT]);

/* One for each cause of a campaign. */
struct report_causes {
    struct report_finding *findings;
    size_t count;
    char (*texts)[REPORT_RECORD_TEXT];
};
bool report_causes_init(struct report_causes *causes, const struct campaign_summary *summary,
                        const char *folder); /* false: no memory */
void report_causes_fini(struct report_causes *causes);

/* The sentence that must hold, for a kind of finding that no rule names: "content", "crashed". */
const char *report_kind_sentence(const char *kind);
bool report_is_kind(const char *word);
/* Told and no failure: JUnit leaves it out, SARIF has it as a note. */
bool report_is_advice(const struct report_finding *finding);
/* The driver is not at fault: the memory manager of the bench is, or the run did not come to its
 * end. */
bool report_blames_manager(const struct report_finding *finding);

/* The lines of the drawing above, for a cause that is one of the list. */
void report_finding_text(FILE *out, const struct report_finding *list, size_t count,
                         const struct report_finding *finding);

/*
 * All causes: what has the same place as an earlier one adds a line to that one, "also ...", and
 * consequences are lines under their cause, "follows ...".
 */
void report_finding_list(FILE *out, const struct report_finding *findings, size_t count);

/* Name, value and expected value; JSON's null: no argument is told. The caller owns it. */
json_t *report_argument_json(const struct finding_argument *argument);

/* Every key, always; the caller owns it. The finding is one of the list. */
json_t *report_finding_json(const struct report_finding *list, size_t count,
                            const struct report_finding *finding);

/*
 * Whose fault it is: what memory holds is the driver's, whoever the rule binds
 * (rule_is_carried_out()).
 */
enum rule_side report_side(const struct report_finding *finding, enum rule_id id);

/* The harm that a breach does to Windows, abbreviations spelled out. Gives text. */
#define REPORT_VIOLATION_BYTES 256
const char *report_violation(const struct rule *rule, char text[REPORT_VIOLATION_BYTES]);

/* A suite of JUnit: the findings of some runs, and the rules that were evaluated in them. */
struct report_suite {
    const char *name;
    const struct rule_counts *rules;
    const struct report_finding *findings;
    size_t count;
    double seconds;
};
char *report_junit(const struct report_suite *suites, size_t count);

char *report_sarif(const struct report_finding *findings, size_t count);

#endif
