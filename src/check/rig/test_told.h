/*
 * Told: what the checker looks at and says in the tests of a file is what it was.
 *
 * Place      check, tests only. told_run() plays the tests of a file; rigs tell what they hear.
 * Model      tests/golden/told/FILE.txt has a line for each test that has a rig: the rules that
 *            were broken in it, and a hash of how often each rule was looked at and of all that
 *            was said. A second line is of the calls of a test of a rule, which are played again
 *            so many times: each time one word of one call is wrong (wrong_word.h), in what the
 *            manager hands down, in what the driver answers, or in an interrupt. So a rule is
 *            asked for the limits around the calls of all tests, not of its own alone. A third
 *            line is of the same calls with one of the manager's left out or made twice, a fourth
 *            one of all of them in company: behind other objects and work that has ended.
 *
 *            `scripts/golden.sh` updates the files. DRYDOCK_TOLD_DETAILS=1 writes what was said of
 *            each wrong word to stderr: two builds can be compared by it.
 */
#ifndef DRYDOCK_CHECK_TEST_TOLD_H
#define DRYDOCK_CHECK_TEST_TOLD_H

#include "base/hash.h"
#include "check/oracle/oracle.h"
#include "check/report/finding.h"
#include "check/rules/rules.h"
#include "miniport/miniport.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct rig;

/* Plays the tests of a file (its path, of __FILE__), then their calls with wrong words, and
 * compares what was told with the file's lines. Gives how many tests failed. */
int told_run(struct CMUnitTest *tests, size_t count, const char *file);

/* Something was said. Where things lie in this process is left out of the hash. */
void told_finding(struct hash *hash, const struct finding *finding);

/* The oracle said it; at the end, what it has counted and where the pages of the allocation are. */
void told_oracle_report(struct hash *hash, const struct oracle_report *report);
void told_oracle(struct hash *hash, const struct oracle *oracle, uint64_t allocation);

/* A rig has come to its end, and nothing in it failed on purpose: what was looked at, and a hash of
 * what was said. */
void told_add(const struct rule_counts *counts, uint64_t said);

/* These calls are to be played with wrong words; they are of the test that is played. */
void told_calls(unsigned model, void (*function)(struct rig *rig));

/* What the rig's driver answers, on its way up. is_const: only the status is its answer. */
NTSTATUS told_answer(enum miniport_ddi ddi, void *arg, bool is_const, NTSTATUS status);

#endif
