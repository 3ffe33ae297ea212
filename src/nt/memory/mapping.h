/*
 * Mappings: kernel addresses that show pages of the machine.
 *
 * Place      nt, private. MDLs, device memory and contiguous memory are views of the machine's
 *            pages.
 * Model      A mapping shows a list of pages one behind the other, at addresses that are never used
 *            a second time (pages.h) unless the driver reserved them: a use after the mapping is
 *            gone faults. Many pages are shown when they are touched. Registers have one address
 *            each, which is not the mapping's own.
 * Ownership  The kernel's; those that the driver has left end with it.
 * Errors     NULL: the host has no memory or addresses, or nobody answers there.
 * Units      Bytes; a page frame number is a bus address divided by 4096.
 */
#ifndef DRYDOCK_NT_MAPPING_H
#define DRYDOCK_NT_MAPPING_H

#include "base/list.h"
#include "machine/machine.h"
#include "machine/page_window.h"
#include "nt/nt.h"

/* DEVICE: of memory that the graphics kernel keeps for the driver (device_memory.h). */
enum nt_mapping_kind {
    NT_MAPPING_MDL,
    NT_MAPPING_IO,
    NT_MAPPING_CONTIGUOUS,
    NT_MAPPING_DEVICE,
};

struct nt_mapping {
    struct list link; /* in nt->mappings */
    enum nt_mapping_kind kind;
    uint8_t *address; /* of the first page */
    uint64_t page_count;
    uint64_t *pfns;
    struct page_store *store; /* NULL: registers */
    struct page_mapping view; /* one of these two */
    struct page_window *window;
    const void *owner;          /* the MDL; of DEVICE, its object */
    uint64_t bytes;             /* of the request that made it */
    uint64_t offset;            /* in the first page, where that begins */
    struct nt_mapping **holder; /* is NULL when this ends; NULL: nobody holds it */
};

struct nt_mapping *nt_map(struct nt *nt, enum nt_mapping_kind kind, const uint64_t *pfns,
                          uint64_t count, uint64_t offset, uint64_t bytes, const void *owner);
/* At addresses that were taken before, which the driver may have used for other pages. */
struct nt_mapping *nt_map_at(struct nt *nt, uint8_t *address, enum nt_mapping_kind kind,
                             const uint64_t *pfns, uint64_t count, uint64_t offset, uint64_t bytes,
                             const void *owner);
void nt_unmap(struct nt *nt, struct nt_mapping *mapping);
/* The mapping of this MDL, if there is one. */
void nt_unmap_list(struct nt *nt, const void *mdl);

/* The one that begins there, or that the address lies in. */
struct nt_mapping *nt_mapping_at(const struct nt *nt, const void *address);
struct nt_mapping *nt_mapping_around(const struct nt *nt, const void *address);

/*
 * The page behind an address of the driver's: pool, a mapping, memory that the bench mapped for it.
 * False: none, or none that is known.
 */
bool nt_address_pfn(struct nt *nt, const void *address, uint64_t *out_pfn);

#endif
