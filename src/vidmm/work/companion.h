/*
 * Companion: the context on which copies of page table entries run for a client's context (S-25).
 *
 * Place      vidmm. Made by tile.c with the first update of a context; the paging queue builds for
 *            it.
 * Model      A companion is a system context of the paging process, on the node that the driver
 *            named for the client's context (PagingCompanionNodeId).
 * Ownership  Embedded in struct vidmm_context, which companion_destroy() leaves without one.
 * Errors     The driver's own status; STATUS_NO_MEMORY.
 * Source     contract.md CPTE-001, CPTE-007, PT-009; sequence S-25.
 */
#ifndef VIDMM_COMPANION_H
#define VIDMM_COMPANION_H

#include <ntddk.h>

struct vidmm;
struct vidmm_context;
struct vidsch_context;

struct companion {
    HANDLE driver_context; /* NULL: there is none */
    struct vidsch_context *scheduler;
    unsigned node;
};

/*
 * Makes the context's companion, unless it has one. The driver may refuse, or have named no node.
 */
NTSTATUS companion_create(struct vidmm_context *context);
/* No update of the context is left. */
void companion_destroy(struct vidmm_context *context);
/* The paging process's root is new to the driver: all companions are told (PT-009). */
NTSTATUS companions_set_root(struct vidmm *vidmm);

#endif
