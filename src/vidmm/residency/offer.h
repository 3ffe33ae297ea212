/*
 * Offer and reclaim: content that its owner can do without.
 *
 * Place      vidmm. Residency drops offered allocations first; public functions are in vidmm.h.
 * Model      An offered allocation is dropped without a copy when room is needed. One that is
 *            BACKED stands in vidmm->offered, and its system pages may be dropped.
 * Source     contract.md OFFER-001..005, DISC-001; sequence S-18.
 */
#ifndef VIDMM_OFFER_H
#define VIDMM_OFFER_H

#include <stdbool.h>

struct vidmm;
struct vidmm_allocation;

/* It is destroyed: no offer any more, all references as before. */
void offer_cancel(struct vidmm_allocation *allocation);
/* One of the residency references that an offer has put aside is given up. */
void offer_drop_hold(struct vidmm_allocation *allocation);
/* A reclaim's request has ended, which held the allocation once. */
void offer_settle_reclaim(struct vidmm_allocation *allocation, bool is_resident);

#endif
