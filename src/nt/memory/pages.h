/*
 * Pages: host addresses for the allocations and mappings of drivers, each used once.
 *
 * Place      nt, private. Pool and mappings take their addresses here.
 * Model      One large range of addresses without access. A taken piece has a page before and
 *            behind it that nobody may touch, and is opened, or shown pages of the machine in its
 *            place. Closed again, its addresses are never taken a second time: a stale pointer
 *            faults, whenever it is used.
 * Ownership  The kernel's; nt_pages_fini() gives all of it back.
 * Errors     NULL and false: the host has no addresses, mappings or memory left.
 * Units      Pages of 4096 bytes.
 */
#ifndef DRYDOCK_NT_PAGES_H
#define DRYDOCK_NT_PAGES_H

#include <stdbool.h>
#include <stdint.h>

struct nt_pages {
    uint8_t *base; /* NULL: nothing was taken yet */
    uint64_t used; /* bytes from base on */
};

void nt_pages_fini(struct nt_pages *pages);

/* Without access. */
uint8_t *nt_pages_take(struct nt_pages *pages, uint64_t count);

/* Zeroed memory that may be read and written. */
bool nt_pages_open(uint8_t *address, uint64_t count);
void nt_pages_close(uint8_t *address, uint64_t count);

bool nt_pages_contain(const struct nt_pages *pages, const void *address);

#endif
