/*
 * Page bulk: many real bytes at once.
 *
 * Place   machine. For page stores, whose copies and fills of real bytes end here.
 * Model   What is larger than a part of the host's cache goes around the cache, by non-temporal
 *         stores: the cache line of the destination is not read before it is written. Whether that
 *         pays depends on the whole operation, of which a call may be a piece, so the caller asks
 *         once for it. Hosts without such stores get memcpy().
 */
#ifndef DRYDOCK_MACHINE_PAGE_BULK_H
#define DRYDOCK_MACHINE_PAGE_BULK_H

#include <stdbool.h>
#include <stdint.h>

/* A copy, a fill of so many bytes goes around the cache. */
bool page_bulk_is_large_copy(uint64_t bytes);
bool page_bulk_is_large_fill(uint64_t bytes);

/* Ranges of whole pages, both on page boundaries; they may overlap (a driver asks for it). */
void page_bulk_copy(uint8_t *to, const uint8_t *from, uint64_t bytes, bool is_large);

/* The pattern, little endian, repeated from the first byte on. */
void page_bulk_fill(uint8_t *to, uint64_t bytes, uint32_t pattern, bool is_large);

#endif
