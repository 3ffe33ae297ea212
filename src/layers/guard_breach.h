/*
 * Guard breach: the name of what a slot was lent as.
 *
 * Place      layers, private to the guard.
 */
#ifndef DRYDOCK_LAYERS_GUARD_BREACH_H
#define DRYDOCK_LAYERS_GUARD_BREACH_H

#include "layers/guard_slots.h"
#include "miniport/loans.h"

/* Whether its elements have numbers. NULL: no. */
bool guard_is_list(const struct loan_member *member);

/*
 * Writes call and name of the breach. member: of an element of what the label names; NULL: it is
 * about all of that.
 */
void guard_breach_name(struct loan_breach *breach, const struct guard_label *label,
                       const struct loan_member *member, uint32_t element);

#endif
