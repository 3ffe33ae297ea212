/*
 * Repro: a case that shows one finding, and the smallest that still does.
 *
 * Place      bench, above child_run.h and the case's text-level shrinking (workload/shrink.h).
 * Model      The thing to be shown is a rule, or, for a finding that no rule names, its kind and
 *            cause (finding_cause()). A case shows it when a run as its options say does:
 *            candidates stand alone, so options go like lines, towards what a run has by default. A
 *            driver that crashes or hangs does it in a child (child_run.h), so such findings are
 *            made smaller as well.
 * Ownership  repro_shrink() gives a workload; a comment for its file is repro_save()'s.
 * Errors     bool and a line in struct workload_error.
 */
#ifndef DRYDOCK_BENCH_REPRO_H
#define DRYDOCK_BENCH_REPRO_H

#include "bench/run/run_result.h"
#include "workload/shrink.h"

struct repro {
    char rule[16]; /* or "": kind and cause */
    char kind[16];
    char text[FINDING_TEXT_BYTES]; /* of the finding that it was made of */
    uint64_t cause;
};

/*
 * Shows the finding that says most: one of the driver's by its rule, then any by rule, then the
 * first.
 */
bool repro_of_result(struct repro *out, const struct run_result *result);
void repro_of_rule(struct repro *out, const char *rule);
void repro_of_finding(struct repro *out, const char *kind, const char *rule, const char *where,
                      const char *text);

bool repro_is_shown(const struct repro *repro, const struct run_result *result);

struct repro_shrink {
    double seconds;     /* for all tries; 0: 60 */
    double try_seconds; /* a try without an end by then is hung; 0: 10 */
    /* Now and then; NULL: nobody looks. */
    void (*progress)(void *context, uint32_t lines_before, uint32_t lines, uint32_t tries);
    void *progress_context;
};

/* The options of the workload are all there is to the run (run_config_to_options()). */
bool repro_shrink(const struct repro_shrink *how, const struct repro *repro,
                  const struct workload *workload, struct workload **out,
                  struct workload_shrink_result *out_result, struct workload_error *error);

/* Saves it with comments in front: the finding, its rule, the command that plays it. */
bool repro_save(const struct repro *repro, const struct workload *workload,
                const struct workload_shrink_result *result, const char *path,
                struct workload_error *error);

#endif
