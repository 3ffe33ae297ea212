/*
 * Poison: page numbers that no system has, which stand in lists of pages where a driver may not
 * look.
 *
 * Place      miniport. The layer that lends page lists (layers/lend.h) writes them; the checking
 *            layer recognises them where a driver used one.
 * Source     contract.md XFER-004, APER-002, ADL-005, ADL-006, ADL-014.
 */
#ifndef MINIPORT_POISON_H
#define MINIPORT_POISON_H

#include <stdint.h>

#define LEND_POISON_PAGE                                                                           \
    UINT64_C(0xdead0000dead) /* around a list during the call; beyond every bus */
#define LEND_STALE_PAGE                                                                            \
    UINT64_C(0xdead0001dead) /* all of a list when the call has returned        */

#endif
