/*
 * Told: what the checker looks at and says in the tests of a file is what it was.
 *
 * Place      check, tests only. rig_run_tests() plays the tests of a file between the functions of
 *            this header; the rig tells what it hears.
 * Model      tests/golden/told/FILE.txt has a line for each test that has a rig: the rules that
 *            were broken in it, and a hash of how often each rule was looked at and of all that
 *            was said. A second line is of the calls of a test of a rule, which are played again
 *            so many times: each time one word of one call is wrong (wrong_word.h), in what the
 *            manager hands down, in what the driver answers, or in an interrupt. So a rule is
 *            asked for the limits around the calls of all tests, not of its own alone.
 *
 *            `scripts/golden.sh` updates the files. DRYDOCK_TOLD_DETAILS=1 writes what was said of
 *            each wrong word to stderr: two builds can be compared by it.
 */
#ifndef DRYDOCK_CHECK_TEST_TOLD_H
#define DRYDOCK_CHECK_TEST_TOLD_H

#include "check/rig/test_rig.h"

/* The name of the test that begins or has ended. */
void told_begin_test(const char *test);
void told_end_test(const char *test);

/* Something was said. Where things lie in this process is left out of the hash. */
void told_finding(struct hash *hash, const struct finding *finding);

/* A rig has come to its end, and nothing in it failed on purpose. */
void told_rig(const struct rig *rig);

/* These calls are to be played with wrong words; they are of the test that is played. */
void told_calls(enum rig_model model, void (*function)(struct rig *rig));

/* Plays them, and compares all lines with those of the file (its path, of __FILE__). Gives how many
 * tests of this failed. */
int told_finish(const char *file);

/* What the rig's driver answers, on its way up. is_const: only the status is its answer. */
NTSTATUS told_answer(enum miniport_ddi ddi, void *arg, bool is_const, NTSTATUS status);

#endif
