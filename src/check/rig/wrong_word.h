/*
 * Wrong word: one word of what a call of the DDI hands over is made another one than it should be.
 *
 * Place      check, tests only: of told_run() (test_told.h) and of the bench's
 *            whole_runs/distortion_test.c.
 * Model      The words are the members that data/ddi and miniport/loans.h name: of the argument
 *            structure and of the lists behind it. Pointers, lengths of lists and what tells the
 *            members of a union stay, since they are no values. Which word is wrong and by how much
 *            is drawn: flags differ by one bit, a handle is 0 or that of the call before, a number
 *            lies next to the right one, a page beside it, or is the one of the call before.
 */
#ifndef DRYDOCK_CHECK_WRONG_WORD_H
#define DRYDOCK_CHECK_WRONG_WORD_H

#include "base/rng.h"
#include "miniport/loans.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wrong_side { WRONG_BY_MANAGER, WRONG_BY_DRIVER, WRONG_BY_INTERRUPT, WRONG_SIDES };

struct wrong_words;

/* NULL: no memory. */
struct wrong_words *wrong_words_create(void);
void wrong_words_destroy(struct wrong_words *words);

/* All that is drawn from now on comes from the seed, and no call was before. */
void wrong_words_begin(struct wrong_words *words, uint64_t seed);
struct rng *wrong_words_rng(struct wrong_words *words);

/* Of DXGKARGCB_NOTIFY_INTERRUPT_DATA; the structures of DDIs are loans_of(). */
extern const struct loan_structure wrong_word_interrupt;

/* The call before, to whose words a wrong one may go back. */
void wrong_words_remember(struct wrong_words *words, const struct loan_structure *structure,
                          const void *memory, size_t bytes);

/* What was made wrong. size 0: nothing was. */
struct wrong_word {
    char *at;
    unsigned size;
    uint64_t right, wrong;
    const char *structure, *member;
    bool is_of_another; /* element of its list than the first */
};

struct wrong_word wrong_words_distort(struct wrong_words *words, enum wrong_side side,
                                      const struct loan_structure *structure, void *memory,
                                      size_t bytes);

/* Makes right behind the call what was wrong, if it is still the same: it was the call's. */
void wrong_word_undo(const struct wrong_word *word);

/* A status that is not the right one. */
NTSTATUS wrong_words_status(struct wrong_words *words, NTSTATUS right);

#endif
