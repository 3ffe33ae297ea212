/*
 * Hostile client: a layer that hands in commands that no user-mode driver makes.
 *
 * Place      layers. Above the layers that judge, so that the driver's answers are judged; the
 *            layers above never hear of the trial.
 * Model      Commands and the number of allocations in the list are the client's own choice. Before
 *            some calls of DxgkDdiRender the driver gets a trial, the same call with one of these
 *            differences:
 *
 *                the list is shorter than what the commands name
 *                the commands end in the middle; behind them all bits are ones
 *                a word of the commands is another one: too large for an index or an offset, the
 *                first number behind the list, one more, or with its highest bit turned
 *
 *            A driver refuses such a call, or makes commands of it that break no rule. What a trial
 *            answers is thrown away, as when the client's device is in error by then, and the call
 *            follows as if there had been no trial. The calls and the differences are choices of
 *            the seed.
 * Ownership  Gives a miniport that owns next; on failure next is still the caller's.
 * Errors     STATUS_NO_MEMORY. A trial for which there is no memory is left out.
 * Source     contract.md PATCH-013, PATCH-016, PATCH-022; the page of DxgkDdiRender.
 */
#ifndef DRYDOCK_LAYERS_HOSTILE_CLIENT_H
#define DRYDOCK_LAYERS_HOSTILE_CLIENT_H

#include "base/services.h"
#include "miniport/miniport.h"

#include <stdint.h>

NTSTATUS hostile_client_layer_create(const struct base_services *services, uint64_t seed,
                                     struct miniport *next, struct miniport **out_layer);

/* Trials so far. */
uint64_t hostile_client_layer_trials(const struct miniport *layer);

#endif
