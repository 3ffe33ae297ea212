/*
 * Campaign page: the results of a campaign's folder, or of several, as a page.
 *
 * Place      report. Uses the bench's summaries of campaigns.
 * Model      The facts of the page are those of `drydock check --json` and
 *
 *            | folder, driver, model, cases | what was played, as campaign.json has it
 *            | causes[]   | also "seeds": those that it was seen in, at most
 *            |            | CAMPAIGN_PAGE_CAUSE_SEEDS, "page": the path of its page, or null, and
 *            |            | "case_text": the smallest case that the folder has of it, of the first
 *            |            | CAMPAIGN_PAGE_CASES that have one
 *            | seeds      | [{"seed", "model", "case", "outcome", "findings", "causes"}]: each run
 *            |            | with findings, and the ids of its causes; at most CAMPAIGN_PAGE_SEEDS
 *            | contract   | [{"id", "sentence", "side", "tier", "versions", "reason"}]: all rules,
 *            |            | so that those that were never evaluated are seen; reason: why no run
 *            |            | can see it, or ""
 *            | alternatives | [{"structure", "name", "condition", "source", "runs", "reason"}]: the
 *            |            | alternatives of the operations that `drydock ops` counts, all of them;
 *            |            | runs: how many runs had it; reason: why none can, or ""
 *            | trend      | [{"name", "driver", "time", "runs", "findings", "rules_evaluated",
 *            |            | "rules_broken", "alternatives", "causes", "new_causes"}]: the campaigns
 *            |            | of the folder; alternatives: how many of them runs had;
 *            |            | the oldest first; causes by their ids. One entry, where the folder is
 *            |            | that of one campaign
 * Ownership  A campaign that was loaded is ended by report_campaign_fini().
 * Errors     bool or NULL, and one line in the caller's text.
 */
#ifndef DRYDOCK_REPORT_PAGE_CAMPAIGN_PAGE_H
#define DRYDOCK_REPORT_PAGE_CAMPAIGN_PAGE_H

#include "report/campaign/campaign_report.h"

#include <jansson.h>

#define CAMPAIGN_PAGE_SEEDS       20000
#define CAMPAIGN_PAGE_CAUSE_SEEDS 200
#define CAMPAIGN_PAGE_CASE_BYTES  16384
#define CAMPAIGN_PAGE_CASES       50

struct report_campaign {
    char folder[512]; /* of the campaign itself: in a folder of several, the newest */
    struct campaign_summary summary;
    struct campaign_damage damage;
    json_t *description; /* campaign.json */
    json_t *seeds, *pages, *trend;
};

/* The folder of a campaign, or of several. */
bool report_campaign_load(const char *folder, struct report_campaign *out_campaign,
                          char error[512]);
void report_campaign_fini(struct report_campaign *campaign);

/* "PB-008-1": the cause's name among the files of the folder. */
#define REPORT_CAUSE_NAME 64
void report_cause_name(const struct campaign_summary *summary, size_t cause,
                       char out[REPORT_CAUSE_NAME]);

/* The case of the folder that shows the cause: its smallest, else that of its seed. False: none. */
bool report_cause_case(const struct report_campaign *campaign, size_t cause, char path[1100]);

/*
 * The text of that case, of at most CAMPAIGN_PAGE_CASE_BYTES; the caller owns it. NULL: the folder
 * has none, or a longer one.
 */
json_t *report_cause_case_text(const struct report_campaign *campaign, size_t cause);

/* The finding of the cause, as `drydock check --json` has it. */
json_t *report_cause_json(const struct report_campaign *campaign, size_t cause);

/* The path of the cause's page, from the folder of the campaign's page. */
void report_campaign_set_page(struct report_campaign *campaign, size_t cause, const char *path);

char *report_campaign_html(const struct report_campaign *campaign, size_t *out_size,
                           char error[512]);

/* The page of a cause that was not played: the finding alone. why: a sentence for its top. */
char *report_cause_html(const struct report_campaign *campaign, size_t cause, const char *why,
                        size_t *out_size, char error[512]);

#endif
