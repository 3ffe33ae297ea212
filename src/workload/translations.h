/*
 * Translations: what the pte lines of a finished workload leave mapped.
 *
 * Place      workload.
 * Ownership  workload_expected_translations() gives an array, which the caller frees with free().
 */
#ifndef WORKLOAD_TRANSLATIONS_H
#define WORKLOAD_TRANSLATIONS_H

#include "workload/workload.h"

/* A run of GPU VA, and the segment and page that it translates to. */
struct workload_translation {
    uint32_t process;
    uint8_t segment; /* enum workload_segment */
    uint8_t flags;   /* enum workload_protection */
    uint64_t va;
    uint64_t page; /* a ZERO run: the page of its own address */
    uint64_t page_count;
};

/*
 * Replays the pte lines in front of operation end_op (op_count: all of them); a later map of the
 * same VA wins. Runs are sorted by process and VA, do not overlap, and neighbours that continue
 * each other are one run.
 */
bool workload_expected_translations(const struct workload *workload, uint32_t end_op,
                                    struct workload_translation **out, size_t *out_count,
                                    struct workload_error *error);

#endif
