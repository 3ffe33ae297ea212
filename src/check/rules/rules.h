/*
 * Rules: the catalogue of the contract, as the program knows it.
 *
 * Place      check. Used by everything that judges, counts or explains.
 * Model      One table, made at build time from data/ddi/contract.md: nothing in it is typed twice.
 *            Whoever judges counts each evaluation of a rule in a struct rule_counts, so that a
 *            rule that was never looked at shows. A rule that no run can see has a sentence in
 *            src/check/rules/rule_reasons.inc, one that is taught by an example has it in
 *            src/check/rules/rule_examples.inc; a rule whose pair of tests (broken: this rule
 *            alone; kept: silence) exists is told from the tests' sources.
 * Errors     None.
 * Source     data/ddi/contract.md.
 */
#ifndef DRYDOCK_CHECK_RULES_H
#define DRYDOCK_CHECK_RULES_H

#include <stdbool.h>
#include <stdint.h>

/* RULE_NONE, RULE_PB_001, ... RULE_COUNT. */
enum rule_id {
    RULE_NONE,
#define RULE(identifier, id, side, sentence, check, violation, versions, source, basis, tier)      \
    RULE_##identifier,
#include "rule_table.inc"
#undef RULE
    RULE_COUNT
};

/* Who breaks it: the operating system's half (our manager) or the driver. */
enum rule_side { RULE_SIDE_OS, RULE_SIDE_DRIVER };
enum rule_basis { RULE_BASIS_DOC, RULE_BASIS_INFERRED };

struct rule {
    const char *id; /* "PB-004" */
    enum rule_side side;
    const char *sentence;  /* what must hold */
    const char *check;     /* what can be seen of it from outside */
    const char *violation; /* what Windows would do, as far as it is documented */
    const char *versions;  /* "2.0+" */
    const char *source;    /* names of documentation pages */
    enum rule_basis basis;
    unsigned tier; /* 1: in every run; 2: of a version or feature, or no failure by itself */
};

const struct rule *rule_get(enum rule_id id); /* not of RULE_NONE */
/* Which rule says when ALLOCATION_BUSY answers the operation; RULE_NONE: none but PB-008. */
enum rule_id rule_about_busy(unsigned operation);
enum rule_id rule_find(const char *id); /* "PB-004", case ignored; RULE_NONE: there is none */
const char *rule_side_name(enum rule_side side); /* "os", "driver" */
/*
 * A rule of the system's half for what it asks, and of the driver's for what its packets then do:
 * memory that does not hold what was asked for is the driver's fault.
 */
bool rule_is_carried_out(enum rule_id id);
const char *rule_basis_name(enum rule_basis basis);

/* Why no run can check it, NULL: it is checked where it is evaluated. */
const char *rule_reason_unchecked(enum rule_id id);
/* It has its pair of tests. */
bool rule_is_tested(enum rule_id id);

/* A few lines of a driver, of a manager or of calls that keep a rule, and that break it. */
struct rule_example {
    const char *lawful, *unlawful;
};
const struct rule_example *rule_find_example(enum rule_id id); /* NULL: none was written */
/* What an area is about, of "PB" or of "PB-004"; NULL: there is no such area. */
const char *rule_area_subject(const char *id);

struct hash;
/* How often a rule was looked at and found broken. Zeroed memory is no counts. */
struct rule_counts {
    uint64_t evaluated[RULE_COUNT];
    uint64_t broken[RULE_COUNT];
};
void rule_counts_add(struct rule_counts *counts, const struct rule_counts *from);
void rule_counts_hash(struct hash *hash, const struct rule_counts *counts);

#endif
