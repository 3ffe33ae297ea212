/*
 * Contexts of an address space: held together, and told of their root together.
 *
 * Place      vidmm. Uses the scheduler and the driver; used by whatever changes the tables of an
 *            address space.
 * Model      Contexts that are held give the GPU nothing new. They are quiet when the GPU has
 *            nothing of theirs. Holds are counted, and contexts that are made meanwhile are held
 *            as often.
 * Source     contract.md PT-009, PT-010.
 */
#ifndef VIDMM_SPACE_CONTEXTS_H
#define VIDMM_SPACE_CONTEXTS_H

#include <stdbool.h>

#include <ntddk.h>

struct address_space;
struct vidmm_context;

void space_hold(struct address_space *space);
void space_release(struct address_space *space);
bool space_is_quiet(const struct address_space *space);

/* Tells the driver where the root is. STATUS_INVALID_PARAMETER: nothing is mapped, so no root. */
NTSTATUS context_set_root(struct vidmm_context *of);
/* The same for the contexts that the driver has been told of before. */
void space_set_root(struct address_space *space);

#endif
