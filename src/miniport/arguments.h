/*
 * Arguments: what of an argument structure a driver may write, and putting right what it has
 * written beside.
 *
 * Place      miniport, private to raw.c.
 * Model      A structure is the caller's, and the driver has a pointer to it. What the prototype
 *            says is const is not for it to write at all; of the others the members in the table
 *            are the caller's: where arrays lie and how long they are. Whoever looks at them behind
 *            the call finds them as they were.
 * Source     The prototypes of the DDIs (const), and the structures' pages ([in]).
 */
#ifndef MINIPORT_ARGUMENTS_H
#define MINIPORT_ARGUMENTS_H

#include "miniport/miniport.h"

/*
 * Puts back what the driver has overwritten, and gives the name of the first such member ("" when
 * the whole structure is const); NULL: nothing.
 */
const char *arguments_restore(enum miniport_ddi ddi, void *argument, const void *before,
                              size_t bytes, bool is_const);

#endif
