/*
 * Judge: a run in a process that has the driver, and the same run in one that never has it.
 *
 * Place      bench, above child_run.h; used by the verbs that play one case, and by campaigns.
 * Model      The first process writes a transcript of what the driver answered and did
 *            (layers/transcript/). When its run is clean, a second process plays the transcript in
 *            place of the driver: it computes the calls itself, and judges the answers. Where it
 *            finds something, or comes to another digest, or the transcript does not fit, the first
 *            process has not told the truth: a finding of kind "hostile".
 *            A driver that does what a transcript does not follow (record.h) is not judged again:
 *            that is no finding, and out_judgement says so.
 * Ownership  As run_execute(): the caller ends the result with run_result_fini().
 * Errors     As child_run_execute(). Without a file for the transcript there is no second run, and
 *            out_judgement says so.
 */
#ifndef DRYDOCK_BENCH_JUDGE_H
#define DRYDOCK_BENCH_JUDGE_H

#include "bench/run/run_result.h"

enum judgement_kind {
    JUDGEMENT_NONE,    /* the first run has findings, or was not played to its end */
    JUDGEMENT_AGREES,  /* the second run is the same one */
    JUDGEMENT_UNKNOWN, /* it cannot be played; why */
    JUDGEMENT_DIFFERS, /* the result has a finding of it */
};

struct judgement {
    enum judgement_kind kind;
    char why[256];
};

/* Of drivers that are images a clean run is judged, where nobody says otherwise. */
bool judge_is_usual(const char *driver);

bool judge_execute(const struct run_config *config, const struct workload *workload, double seconds,
                   struct run_result *out_result, struct judgement *out_judgement);

#endif
