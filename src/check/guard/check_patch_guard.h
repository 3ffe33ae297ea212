/*
 * Patch guard: gives the driver a copy of a DMA buffer in which only its submission is real.
 *
 * Place      check, private. Used by check_layer.c around DxgkDdiPatch.
 * Model      The copy reads GUARD_FILL outside of the submission; behind the buffer lies a page
 *            more. Patch locations that are not of the submission are poisoned: they point into the
 *            last half of that page, so that who processes them writes where it shows.
 *
 *                no access | front | fill .. submission .. fill | canary | poisoned | no access
 *
 *            After the call the submission is copied back, and the copy is all fill again.
 * Ownership  patch_guard_begin() on zeroed memory the first time; patch_guard_fini() unmaps.
 *            Nothing of the call is kept behind patch_guard_end().
 * Errors     A buffer for which there is no memory goes down as it is: patch_guard_begin() is
 *            false.
 */
#ifndef DRYDOCK_CHECK_PATCH_GUARD_H
#define DRYDOCK_CHECK_PATCH_GUARD_H

#include "base/services.h"
#include "check/guard/check_guard.h"

#include <ntddk.h>
#include <dispmprt.h>
#include <d3dkmddi.h>

#include <stdbool.h>

struct patch_guard {
    char *map;
    size_t map_bytes;
    D3DDDI_PATCHLOCATIONLIST *list;
    size_t list_capacity;
    char *copy; /* of the buffer of the call */
};

/* What a driver did to bytes that are not of the submission, or of a paging buffer. */
struct patch_verdict {
    bool is_outside; /* of the submission, or of the buffer */
    bool is_kept; /* the driver had the buffer itself, and its own locations: patch_guard_keep() */
    bool is_foreign; /* where only a location points that is not of the submission */
    int64_t outside_offset;
    bool is_edited; /* the submission has changed */
    uint32_t edited_offset;
};

void patch_guard_fini(struct patch_guard *guard, const struct base_services *services);

/* Gives in out_lent what goes down instead. */
bool patch_guard_begin(struct patch_guard *guard, const struct base_services *services,
                       const DXGKARG_PATCH *real, DXGKARG_PATCH *out_lent);
void patch_guard_end(struct patch_guard *guard, const DXGKARG_PATCH *real,
                     struct patch_verdict *out_verdict);

/*
 * The driver patches the buffer itself, which is compared with what it was: bytes beyond the buffer
 * and locations of other submissions are not seen. One guard serves in one of the two ways. False:
 * no memory, or an offset that is wrong.
 */
bool patch_guard_keep(struct patch_guard *guard, const DXGKARG_PATCH *real);
void patch_guard_compare(const struct patch_guard *guard, const DXGKARG_PATCH *real,
                         struct patch_verdict *out_verdict);

#endif
