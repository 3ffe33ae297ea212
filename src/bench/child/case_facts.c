#include "bench/child/case_facts.h"

#include "base/bits.h"
#include "bench/drivers/drivers.h"
#include "workload/summary.h"

#include <stdio.h>
#include <string.h>

/* Half of all rules that are evaluated at a call of the least talkative run that was measured. */
#define RULES_OF_A_CALL 2
/*
 * A page that is read is compared, and most of them again at the end. A read may be of a page that
 * nobody has written, or whose content is lost: the least share that was measured is 40 %.
 */
#define READS_OF_A_PAGE 8

/* What the least values are made of. */
struct facts {
    uint64_t lines, submissions; /* that are played in any case */
    uint64_t read_pages;
    bool may_end_early; /* the adapter ends in the middle, and submissions with it */
};

/* A case that stops or removes the adapter may end behind that line. */
static struct facts collect(const struct run_config *config, const struct workload *workload)
{
    const bool has_gpu = strcmp(config->gpu, RUN_GPU_NONE) != 0;
    struct workload_summary summary;
    struct facts facts = {0};

    workload_summarise(workload, &summary);
    facts.read_pages =
        (summary.cpu_read_bytes + (has_gpu ? summary.gpu_read_bytes : 0)) / PAGE_BYTES;
    for (uint32_t i = 0; i < workload->op_count && !facts.may_end_early; i++) {
        const enum workload_op_kind kind = workload->ops[i].kind;

        facts.lines++;
        facts.submissions += kind == WORKLOAD_OP_SUBMIT;
        facts.may_end_early = kind == WORKLOAD_OP_STOP || kind == WORKLOAD_OP_REMOVE;
    }
    return facts;
}

bool case_contradiction(const struct run_config *config, const struct workload *workload,
                        const struct journal_tally *tally, char *why, size_t why_bytes)
{
    /* Lines about memory are not played of a display-only driver. */
    const struct facts facts = run_is_display_only(config->driver)
                                   ? (struct facts){.may_end_early = true}
                                   : collect(config, workload);
    const bool is_whole = !facts.may_end_early;
    const uint64_t ended = tally->submissions + tally->failed + tally->aborted;
    const struct {
        bool counts;
        const char *what;
        uint64_t least, is;
    } rows[] = {
        {true, "lines of the case are played", facts.lines, tally->operations},
        {is_whole, "submissions have ended", facts.submissions, ended},
        {true, "submissions are handed to the driver", tally->submissions, tally->submit_calls},
        {config->checks_rules, "rules are evaluated", RULES_OF_A_CALL * tally->calls,
         tally->evaluated},
        {config->checks_content && is_whole && !tally->aborted, "pages are compared",
         facts.read_pages / READS_OF_A_PAGE, tally->pages_checked},
    };

    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        if (!rows[i].counts || rows[i].is >= rows[i].least)
            continue;
        snprintf(why, why_bytes,
                 "a run of this case in which nothing is found has at least this: %llu %s; the "
                 "record has %llu",
                 (unsigned long long)rows[i].least, rows[i].what, (unsigned long long)rows[i].is);
        return true;
    }
    return false;
}
