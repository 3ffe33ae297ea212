/*
 * Needs: what a driver, or a model of its GPU, must have for a rule to be asked.
 *
 * Place      check. `drydock rules --from` and the summary of a campaign show why a rule was not
 *            evaluated.
 * Model      A rule, or an area, belongs to a class. A class has a witness: a rule that is asked in
 *            every run whose driver is of the class. Where the witness was not evaluated, none of
 *            the runs was of the class, and its rules could not be. So the counts alone tell the
 *            reason, whatever driver they are of. A rule without a class can be asked of any
 *            driver, and one whose class was there needs a situation that no run came to.
 * Errors     None.
 */
#ifndef DRYDOCK_CHECK_RULE_NEEDS_H
#define DRYDOCK_CHECK_RULE_NEEDS_H

#include "check/rules/rules.h"

/* Why a rule was not evaluated, in the order in which summaries tell it. */
enum rule_lack {
    RULE_LACK_NOTHING, /* it was evaluated, or no run of any driver can see it */
    RULE_LACK_GPU,     /* only a model of the GPU tells what it is about */
    RULE_LACK_WDDM2,   /* it is of WDDM 2.0 and later, and so is no driver of these runs */
    RULE_LACK_GPUMMU,  /* it is about GPU virtual addresses and their tables */
    RULE_LACK_FEATURE, /* the driver does not declare, or use, what it is about */
    RULE_LACK_CHANCE,  /* it could be, and no run came to it */
    RULE_LACK_COUNT
};

/* "of WDDM 2.0 and later": what the rules of a lack are about. */
const char *rule_lack_name(enum rule_lack lack);

/* Why a rule that a run can see was not evaluated in these counts. */
enum rule_lack rule_find_lack(enum rule_id id, const struct rule_counts *counts);

/* The sentence to it. NULL: there is none but the name of the lack. */
const char *rule_need_sentence(enum rule_id id);

#endif
