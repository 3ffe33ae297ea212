/*
 * Guard: a layer that gives the driver everything by pointer in memory of its own, between guards.
 *
 * Place      layers. Right above what plays the driver, below the layers that judge, so that they
 *            see what the manager lent and what came back.
 * Model      For each call the argument structure and what the table of loans says that it points
 *            at (miniport/loans.h) goes into slots (guard_slots.h), with pointers that lead to
 *            each other. When the driver has returned, each slot is looked at: bytes around what
 *            was lent, bytes that are only to be read, values that were to be written. Then the
 *            driver's answers go back to where the caller expects them, and the slots are poison.
 *            What the driver forgot to write is as the caller left it. Pages of the bench's
 *            memory (DMA buffers) are lent so, too, unless the driver may keep what it is lent:
 *            then a canary stands behind them.
 *            Whoever asks is told of each breach. The call goes on, unless it reached a page
 *            without access: then guard_explain() tells what the signal means.
 * Ownership  Gives a miniport that owns next; on failure next is still the caller's.
 * Errors     STATUS_NO_MEMORY. What is too large or finds no free slot goes down as it is.
 * Source     contract.md MEM-001 to MEM-004.
 */
#ifndef DRYDOCK_LAYERS_GUARD_H
#define DRYDOCK_LAYERS_GUARD_H

#include "base/services.h"
#include "machine/write_watch.h"
#include "miniport/loans.h"
#include "miniport/miniport.h"

struct guard_config {
    void *context;
    void (*report)(void *context, const struct loan_breach *breach);
    /* A DMA buffer's copy stands for it during a call; 0 bytes: not any more. May be NULL. */
    void (*stands_in)(void *context, const void *copy, const void *buffer, size_t bytes);
    /*
     * The driver is called with these pieces of memory, in which the guards are; it has returned.
     * Both NULL: nobody asks.
     */
    void (*enters)(void *context, const struct write_watch_piece *pieces, size_t count);
    void (*leaves)(void *context);
    bool lends_work;  /* copies of DMA buffers and their private data, too */
    bool lends_lists; /* and of page lists */
    /*
     * Without lends_work: how many bytes from the address on are nobody's, behind a buffer that
     * the driver keeps. They get a canary. NULL: nobody knows of any.
     */
    uint64_t (*find_slack)(void *context, const void *end);
};

NTSTATUS guard_layer_create(const struct base_services *services, const struct guard_config *config,
                            struct miniport *next, struct miniport **out_layer);

/*
 * An access to the address faulted: what that means, if it belongs to what the process's layer has
 * lent. Allocates nothing and may be called from a signal handler, when all else may be written
 * over.
 */
bool guard_explain(const void *address, struct loan_breach *out_breach);

#endif
