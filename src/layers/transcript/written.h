/*
 * Written: which bytes of the machine's memory a driver has changed.
 *
 * Place      layers. Used by record.c, which asks what a driver has written.
 * Model      A driver writes by ordinary instructions, through mappings that the page stores watch
 *            (machine/page_watch.h). The first write to a page is caught, and a copy is taken of
 *            what the page held before. When the driver stops running, the pages that were written
 *            are compared with their copies.
 *
 *            A page that has been written once is soon written again. So some pages stay open for
 *            a while: they are copied each time that the driver begins to run, and caught again
 *            when they have not changed for some time.
 * Ownership  The copies are this module's until written_fini().
 * Errors     false: no memory for a copy.
 */
#ifndef DRYDOCK_LAYERS_WRITTEN_H
#define DRYDOCK_LAYERS_WRITTEN_H

#include "machine/machine.h"
#include "machine/page_watch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct written_page;

struct written {
    struct page_store *local; /* the device's memory; NULL: none */
    struct page_store *ram;
    struct page_watch watch;
    struct written_page *pages; /* that are open */
    uint32_t count;
    bool has_failed; /* too many pages at once */
};

/* bytes of a page, from this offset on; is_local: of the device's memory. */
typedef void written_tell(void *context, bool is_local, uint64_t page, uint32_t offset,
                          const uint8_t *bytes, uint32_t count);

/* Stays where it is: the stores point at it, until it stops. */
bool written_init(struct written *written, struct machine *machine);
void written_stop(struct written *written);
void written_fini(struct written *written);

/* The driver begins to run: memory is as it should be now. */
void written_begin(struct written *written);
/* It stops: tells what it has changed since. */
bool written_end(struct written *written, written_tell *tell, void *context);

#endif
