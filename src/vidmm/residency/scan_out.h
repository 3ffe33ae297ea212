/*
 * Scan-out: the primary that a display shows stays where it is.
 *
 * Place      vidmm. Uses requests and the driver; asked by whatever moves or ends allocations.
 * Model      One source. A primary that is to be shown is brought in, held, and its address goes to
 *            the driver. It is pinned from then on until the driver has reported that another
 *            address is scanned out, or until nothing is shown.
 *
 *                vidmm_show(a)   a is held, and shown           a
 *                vidmm_show(b)   b is held; a is the former one  b, a
 *                CRTC_VSYNC      of b's address: a is let go     b
 *                vidmm_hide()    nothing is visible              -
 *
 *            The driver reports syncs while one is waited for: they are switched on in front of a
 *            flip, off when it was reported (in phase), and off for good when nothing is visible.
 *
 * Ownership  A hold on each primary that is shown, or was until a sync.
 * Source     contract.md RES-018, PATCH-024, FENCE-021..FENCE-023.
 */
#ifndef VIDMM_SCAN_OUT_H
#define VIDMM_SCAN_OUT_H

#include "vidmm/vidmm.h"

struct scan_out {
    struct vidmm_allocation *wanted; /* is being brought in; NULL: none */
    bool is_called_off;              /* wanted is not shown when it is there */
    struct vidmm_allocation *shown;  /* whose address the driver was given last; NULL: none */
    struct vidmm_allocation *former; /* scanned out until shown is; may be the same one */
    uint64_t address;                /* of shown */
    bool is_waiting;                 /* for a sync that tells of address */
    bool has_syncs;                  /* the driver was asked to report syncs, and not to stop */
    vidmm_done done;
    void *context;

    /* Written at device IRQL. */
    volatile bool has_synced;
    volatile uint64_t synced; /* the address that the driver has reported last */
};

/* It may not leave its place. */
bool scan_out_keeps(const struct vidmm_allocation *allocation);
/* At device IRQL: only records. */
void scan_out_interrupted(struct vidmm *vidmm, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data);
/* In the driver's DPC: what is not shown any more is let go. */
void scan_out_rescan(struct vidmm *vidmm);
/* A step of the pump: syncs that nobody waits for are switched off. */
bool scan_out_run(struct vidmm *vidmm);
/* Nothing is visible from now on. */
void scan_out_hide(struct vidmm *vidmm);
/* The hardware has been reset, or has gone: the same, and the driver is not told. */
void scan_out_forget(struct vidmm *vidmm, NTSTATUS status);

#endif
