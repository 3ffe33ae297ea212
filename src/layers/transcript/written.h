/*
 * Written: which bytes of the machine's memory have changed since somebody looked.
 *
 * Place      layers. Used by record.c, which asks what a driver has written.
 * Model      A driver writes by ordinary instructions into pages of the machine that are mapped for
 *            the CPU: those that the page stores have pinned. A copy of each such page is kept, and
 *            compared. A page that was not pinned at the last look has changed as a whole.
 * Ownership  The copies are this module's until written_fini().
 * Errors     false: no memory for a copy.
 */
#ifndef DRYDOCK_LAYERS_WRITTEN_H
#define DRYDOCK_LAYERS_WRITTEN_H

#include "base/services.h"
#include "machine/machine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct written_page;
struct written_chunk;

struct written_store {
    struct page_store *store;
    struct written_page *pages; /* by number */
};

struct written {
    const struct base_services *services;
    struct written_store stores[2]; /* system memory, the device's */
    struct written_chunk *chunks;
    uint32_t look; /* the last one */
};

/* bytes of a page, from this offset on; is_local: of the device's memory. */
typedef void written_tell(void *context, bool is_local, uint64_t page, uint32_t offset,
                          const uint8_t *bytes, uint32_t count);

bool written_init(struct written *written, const struct base_services *services,
                  struct machine *machine);
void written_fini(struct written *written);

/* Memory is as it should be now. */
bool written_look(struct written *written);
/* Tells what has changed since, and looks. */
bool written_find(struct written *written, written_tell *tell, void *context);

#endif
