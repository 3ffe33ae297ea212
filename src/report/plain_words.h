/*
 * Plain words: sentences of rules without the abbreviations of the catalogue.
 *
 * Place      report, below lessons and findings. Uses the names of operations only.
 * Model      A name (BPB, op 17) is replaced where it stands. An abbreviation that a reader should
 *            learn (PTE) stays, and its meaning is told behind.
 * Ownership  Tables are constant; texts are the caller's.
 */
#ifndef DRYDOCK_REPORT_PLAIN_WORDS_H
#define DRYDOCK_REPORT_PLAIN_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The sentence of a rule with names in full: DxgkDdiBuildPagingBuffer for BPB,
 * MAP_APERTURE_SEGMENT2 (17) for op 17. Gives text. area is a rule's id, or what begins it.
 */
#define REPORT_SENTENCE_BYTES 1024
const char *report_plain_words(const char *area, const char *sentence,
                               char text[REPORT_SENTENCE_BYTES]);

struct report_abbreviation {
    const char *word, *meaning;
};

/* By number from 0; NULL behind the last. */
const struct report_abbreviation *report_abbreviation_at(unsigned index);

/* The sentence has the word, or its plural. */
bool report_has_abbreviation(const char *sentence, const struct report_abbreviation *abbreviation);

#endif
