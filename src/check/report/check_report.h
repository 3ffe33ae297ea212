/*
 * Report: how a watcher judges a rule.
 *
 * Place      check, private. Every watcher calls it; it knows no watcher.
 * Model      CHECK_RULE() is one evaluation of a rule, and its report when the rule is broken:
 *
 *                CHECK_RULE(check, RULE_PB_004, advance <= size, NULL, "pDmaBuffer",
 *                           "moved %llu bytes; %llu were offered", ...);
 *
 *            It is a rule's whole text: where, what must hold, whom it is about, which field, what
 *            was seen. Evaluate a rule only where it could be broken. A rule is told once for each
 *            object and place; the others are counted.
 *
 *            Some rules are evaluated in one place and found broken in another. For them there are
 *            the two halves: check_looked_at() counts an evaluation, check_report() tells a breach
 *            whose evaluation has been counted. After a surprise removal every rule holds and
 *            nothing is counted, but for the two about it.
 * Ownership  Everything is borrowed for the call. A finding is lent to check_config.report.
 */
#ifndef DRYDOCK_CHECK_REPORT_H
#define DRYDOCK_CHECK_REPORT_H

#include "check/report/check_blame.h"
#include "check/rules/rules.h"

#include <stdbool.h>

struct check;
struct check_object;

/*
 * Counts an evaluation of the rule and gives `holds`, a bool. When it is false the rest is
 * evaluated and reported, as by check_report(check, rule, object, field, format, ...): an argument
 * of the format may follow a pointer that is NULL where the rule holds.
 */
#define CHECK_RULE(check, rule, holds, ...)                                                        \
    check_verdict(check_holds(check, rule, holds) || check_report(check, rule, __VA_ARGS__))

/*
 * The same for a reading that documents leave open: where it does not hold that is advice, told
 * once a run, and the rule is not broken. The text names both readings, the profile for the strict
 * one makes it a breach (is_strict).
 */
#define CHECK_ADVICE(check, rule, is_strict, holds, ...)                                           \
    check_verdict(check_holds(check, rule, holds) ||                                               \
                  ((is_strict) ? check_report(check, rule, __VA_ARGS__)                            \
                               : check_advise(check, rule, __VA_ARGS__)))

/* Counts an evaluation of a rule that could have been broken here. */
void check_looked_at(struct check *check, enum rule_id rule);

/*
 * A breach, about an object of the ledger (or NULL), at a field of the current call: "pDmaBuffer",
 * "pAllocationInfo[2].Size", "" for the call as a whole, "status" for what it returned. Where the
 * rule compares the field with a value, the format marks both in braces
 * (finding_write_sentence()). Gives false.
 */
bool check_report(struct check *check, enum rule_id rule, const struct check_object *object,
                  const char *field, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Of CHECK_ADVICE(): gives false. */
bool check_advise(struct check *check, enum rule_id rule, const struct check_object *object,
                  const char *field, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The name of a field that is made of numbers. Lent until the next call. */
const char *check_field(struct check *check, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Of CHECK_RULE(): counts the evaluation and gives `holds`. */
bool check_holds(struct check *check, enum rule_id rule, bool holds);

/* Of CHECK_RULE(): a value that may stay unused. */
static inline bool check_verdict(bool holds)
{
    return holds;
}

#endif
