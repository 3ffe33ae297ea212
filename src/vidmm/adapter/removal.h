/*
 * Removal: the end of an adapter that still has work, stopped or gone.
 *
 * Place      vidmm. Recovery gives an adapter up that does not come back.
 * Source     DXGKDDI_NOTIFY_SURPRISE_REMOVAL, DXGK_SURPRISE_REMOVAL_TYPE; contract.md TDR-012.
 */
#ifndef VIDMM_REMOVAL_H
#define VIDMM_REMOVAL_H

struct vidmm;

/* Everything ends, and nothing goes to the driver any more. The caller pumps. */
void removal_give_up(struct vidmm *vidmm, const char *reason);

#endif
