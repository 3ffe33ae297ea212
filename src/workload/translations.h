/*
 * Translations: what the pte lines of a finished workload leave mapped.
 *
 * Place      workload.
 * Ownership  workload_expected_translations() gives an array, which the caller frees with free().
 */
#ifndef WORKLOAD_TRANSLATIONS_H
#define WORKLOAD_TRANSLATIONS_H

#include "workload/workload.h"

/*
 * What the pte lines leave behind: each mapped run of GPU VA with the segment and page it
 * translates to. Replays PTE_MAP and PTE_UNMAP up to, not including, operation end_op (op_count
 * for all); a later map of the same VA wins. Runs are sorted by process and VA, do not overlap,
 * and neighbours that continue each other are one run. The caller frees *out with free().
 */
struct workload_translation {
    uint32_t process;
    uint8_t segment; /* enum workload_segment */
    uint8_t flags;   /* enum workload_protection */
    uint64_t va;
    uint64_t page;
    uint64_t page_count;
};

/* Of a ZERO translation the page is that of its own address. */
bool workload_expected_translations(const struct workload *workload, uint32_t end_op,
                                    struct workload_translation **out, size_t *out_count,
                                    struct workload_error *error);

#endif
