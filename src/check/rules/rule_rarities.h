/*
 * Rarities: rules that tests evaluate and no campaign of the reference driver does.
 *
 * Place      check. `drydock rules` shows the sentence where a rule was not evaluated.
 * Model      A rule that campaigns pass by is not checked by them: the sentence says why, and what
 *            a driver does with which they would evaluate it. Rules that no run can see at all are
 *            in src/check/rules/rule_reasons.inc.
 * Errors     None.
 * Source     docs/contract-choices.md.
 */
#ifndef DRYDOCK_CHECK_RULE_RARITIES_H
#define DRYDOCK_CHECK_RULE_RARITIES_H

#include "check/rules/rules.h"

/* NULL: campaigns evaluate it, or no run can see it. */
const char *rule_reason_rare(enum rule_id id);

#endif
