/*
 * Lend: a layer that takes the driver's borrowed page lists at their word.
 *
 * Place      layers. Below the layers that judge, so that they do not see its copies.
 * Model      The page lists of DxgkDdiBuildPagingBuffer (MDLs and address descriptor lists) belong
 *            to the kernel and are lent for the call. The driver is given a copy in which only the
 *            pages that the operation is about are real: entries before the offset or behind the
 *            last page read LEND_POISON_PAGE, and when the call returns all of the copy
 *            LEND_STALE_PAGE. Who uses a page that is not its own, or keeps the list, reaches for
 *            memory that is not there. With a seed, lists of transfers are lent as parts of longer
 *            ones: up to LEND_MOST_BEFORE poisoned pages come before, and MdlOffset says so; or as
 *            windows, of the pages of the piece alone (contract.md, unknown 3). Which lists, and by
 *            how much, is the seed's choice and the same for each repeat of an operation. Those of
 *            the aperture are not: there the offset is what says which part of an allocation is
 *            mapped. Lists of more than LEND_LIMIT_PAGES, and calls for which there is no memory,
 *            go down as they are.
 * Ownership  Gives a miniport that owns next; on failure next is still the caller's.
 * Errors     STATUS_NO_MEMORY.
 * Source     contract.md XFER-004, APER-002, ADL-005, ADL-006, ADL-014.
 */
#ifndef DRYDOCK_LAYERS_LEND_H
#define DRYDOCK_LAYERS_LEND_H

#include "base/services.h"
#include "miniport/miniport.h"
#include "miniport/poison.h"

#define LEND_LIMIT_PAGES 4096u
#define LEND_MOST_BEFORE 7u

/* seed 0: lists start where the kernel's do. */
NTSTATUS lend_layer_create(const struct base_services *services, uint64_t seed,
                           struct miniport *next, struct miniport **out_layer);

#endif
