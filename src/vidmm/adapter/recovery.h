/*
 * Recovery: nodes that do not answer, adapters that are reset, and building everything up again.
 *
 * Place      vidmm, above everything else. The scheduler's watchdog calls it; power.c restores by
 *            it.
 * Model      recovery.c.
 * Errors     None: a recovery allocates nothing and cannot fail.
 * Source     contract.md TDR-001..013, XFER-016, XFER-017, APER-018, PWR-009; sequence S-17.
 */
#ifndef VIDMM_RECOVERY_H
#define VIDMM_RECOVERY_H

#include "vidmm/paging/job.h"

struct vidmm;
struct vidsch_packet;

#define VIDMM_MAX_TIMEOUT_LIMIT 64
#define RECOVERY_DEBUG_BYTES    2048

struct recovery {
    bool is_under_way;  /* packets that retire now with a failure have not run */
    bool blames_owners; /* ... and are the ones that did not end (TDR-009) */
    bool is_silent;     /* ResetFromTimeout was called, and RestartFromTimeout will be */
    bool is_put_off; /* to the watchdog's next look: a call of the driver waited, and may still run
                      */
    /* The driver has reported faults after which it wants these reset. */
    uint64_t faulted_nodes; /* a bit each */
    bool wants_adapter;
    struct list unfinished; /* jobs of such packets, in order */
    /* Allocations whose places are to be cleaned up, by next_reset; the job is at one of them. */
    struct vidmm_allocation *first, *last, *at;
    bool maps_again; /* the mappings of resident allocations are to be written */
    uint64_t now_ns; /* of the watchdog's last look */
    uint64_t time_outs[VIDMM_MAX_TIMEOUT_LIMIT]; /* when the last ones were, a ring */
    uint8_t debug_info[RECOVERY_DEBUG_BYTES];    /* what the driver has said of the last reset */
    struct job cleanup_job;
    struct job restored_job;
};

void recovery_init(struct vidmm *vidmm);
/*
 * Builds up again: the page tables, if they were lost; allocations that have kept their place
 * without their content; the mappings of the others. Rendering goes on when that has retired.
 */
void recovery_restore(struct vidmm *vidmm, bool lost_tables);
/* The same behind a sleep; what was queued in it goes last. */
void recovery_wake(struct vidmm *vidmm, bool lost_tables);
/*
 * The GPU stopped in a packet (NULL: the driver does not know in which), as the driver's report
 * says. recovery_run() makes the reset that the report asks for, outside of all callbacks. Nothing
 * is reset for a paging packet: Windows stops there with bug check 0x119. While a call of the
 * driver waits for an update, the reset is put off to the watchdog's next look (vidmm_watch()).
 */
void recovery_note_fault(struct vidmm *vidmm, unsigned node,
                         const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data,
                         const struct vidsch_packet *packet);
/* A step of the pump. */
bool recovery_run(struct vidmm *vidmm);
/* A node does not answer: resets it, or everything. False: not now, a call of the driver waits. */
bool recovery_timed_out(void *context, unsigned node);

#endif
