/*
 * Shrink: makes a case smaller for as long as it shows the same.
 *
 * Place      workload. Knows no run: whoever asks says which cases still show it.
 * Model      Works on the text of the case, line by line, so it knows few directives and serves
 *            each of them. What stands behind the finding goes first; then lines in ever smaller
 *            groups, from the end; a line that makes no sense without one that went (an allocation
 *            that is not there) goes with it. Memory gets small, so that less fills it. Contexts,
 *            devices, processes, submissions of a context and at last allocations are tried as one,
 *            these also with the sizes of both. Then words go from the lines that are left
 *            (references of a submission, attributes, ranges and keys), sizes get small, and what
 *            no line needs goes from the header. All of it again until nothing is left to take.
 * Ownership  Gives a new workload; the old one is the caller's as before.
 * Errors     bool and a line in struct workload_error: the case does not show it at all, or no
 *            memory.
 */
#ifndef WORKLOAD_SHRINK_H
#define WORKLOAD_SHRINK_H

#include "workload/workload.h"

struct workload_shrink {
    void *context;
    /* Shows the same. The candidate is lent for the call. */
    bool (*shows)(void *context, const struct workload *candidate);
    /* After each try; false stops, and the smallest case so far is the result. NULL: goes on. */
    bool (*progress)(void *context, uint32_t lines, uint32_t tries);
    uint32_t most_tries; /* 0: 2,000 */
    bool keeps_sizes;    /* no less memory, no larger allocations: what is shown is that they do not
                            fit */
};

struct workload_shrink_result {
    uint32_t lines_before, lines_after; /* of operations */
    uint32_t tries;
    bool is_finished; /* not stopped by progress or the number of tries */
};

bool workload_shrink(const struct workload_shrink *shrink, const struct workload *workload,
                     struct workload **out, struct workload_shrink_result *out_result,
                     struct workload_error *error);

#endif
