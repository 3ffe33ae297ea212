/*
 * Page store: the content of a modelled memory, by page number, at eight bytes a page or less.
 *
 * Place      machine. Uses base only. RAM and local memory of a machine are one store each.
 * Model      A page is 4 KiB and has a descriptor:
 *
 *            | descriptor         | the page's bytes                                        |
 *            | 0                  | zero                                                    |
 *            | a 32-bit pattern   | the pattern, little endian, 1024 times                  |
 *            | TAG | 62-bit name  | page_tag_bytes(name): a keyed generator                 |
 *            | BYTES              | real, in the arena                                      |
 *
 *            Pages that continue each other (one pattern, or tags that count up) cost a record for
 *            each 2 MiB of them; other pages of such a group eight bytes each. The arena is a
 * memory file in which each group of 512 pages that has bytes has a place. All of it is reserved
 *            whole and filled by the host when touched, so terabytes cost nothing until used, and
 * no operation can run out of descriptors. Whole-page operations move descriptors; a partial one
 * makes bytes of the page at each end. A pinned page stays BYTES: what is written to it, whichever
 * way, lands in the bytes that its mappings show.
 *
 *            Tags of different names differ in every aligned 8-byte word, and no tag page repeats
 *            a word, so symbolic pages are equal exactly when their descriptors are.
 *            A store must not be used on both sides of a fork(): the arena would be shared.
 * Ownership  page_store_create() gives the store. Pointers from page_store_bytes() are lent until
 *            the page is overwritten by a symbolic operation; pinned, until the last unpin.
 * Errors     create and map can fail (NULL, false). Nothing else can. Ranges must lie inside the
 *            store; callers that take ranges from outside ask page_store_contains() first.
 * Units      Addresses and sizes in bytes from the start of the store; page numbers and counts
 *            where the name says page.
 */
#ifndef DRYDOCK_MACHINE_PAGE_STORE_H
#define DRYDOCK_MACHINE_PAGE_STORE_H

#include "base/bits.h"
#include "base/services.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct page_store;

#define PAGE_TAG_MASK                                                                              \
    ((UINT64_C(1) << 62) - 1) /* names of content; larger ones are cut to this                     \
                               */

enum page_kind { PAGE_ZERO, PAGE_PATTERN, PAGE_TAG, PAGE_BYTES_REAL };

struct page_store *page_store_create(const struct base_services *services, uint64_t page_count);

void page_store_destroy(struct page_store *store);

/*
 * From now on the memory of destroyed stores is kept for later stores of this process, some MiB of
 * it; false gives what is kept back. A later store reads as zero like any other. Its memory is what
 * a stray pointer into the earlier store leads to, so a process asks for this between runs that
 * went well.
 */
void page_store_keep_memory(bool is_kept);

uint64_t page_store_page_count(const struct page_store *store);

/* True when [address, address + bytes) lies inside the store. Any values. */
bool page_store_contains(const struct page_store *store, uint64_t address, uint64_t bytes);

/* ---- Copy and write --------------------------------------------------------------------------
 * Whole pages stay symbolic. Source and destination ranges of one store do not overlap.
 */
void page_store_copy(struct page_store *destination, uint64_t destination_page,
                     struct page_store *source, uint64_t source_page, uint64_t count);
void page_store_copy_bytes(struct page_store *destination, uint64_t destination_address,
                           struct page_store *source, uint64_t source_address, uint64_t bytes);

/* The pattern's byte at an address is that of the pattern repeated from address 0 of the store. */
void page_store_fill(struct page_store *store, uint64_t address, uint64_t bytes, uint32_t pattern);

/*
 * The page at offset i pages from the page in which address lies takes the content named tag + i,
 * at the same offset in the page; bytes outside [address, address + bytes) stay.
 */
void page_store_write_tag(struct page_store *store, uint64_t address, uint64_t bytes, uint64_t tag);

void page_store_read(struct page_store *store, uint64_t address, void *out, uint64_t bytes);
void page_store_write(struct page_store *store, uint64_t address, const void *from, uint64_t bytes);

/* ---- Compare ---------------------------------------------------------------------------------
 * True when equal. Otherwise *out_difference (may be NULL) is the offset, in bytes from the start
 * of the range, of the first byte that differs. Descriptors decide; bytes are read only where one
 * side has real ones.
 */
/*
 * Number of leading pages i of which page_a + i and page pages[i] & mask of b have the same
 * symbolic content. Pages with bytes end it, whatever is in them.
 */
uint64_t page_store_count_same(const struct page_store *a, uint64_t page_a,
                               const struct page_store *b, const uint64_t *pages, uint64_t mask,
                               uint64_t count);

bool page_store_compare(struct page_store *a, uint64_t page_a, struct page_store *b,
                        uint64_t page_b, uint64_t count, uint64_t *out_difference);
bool page_store_compare_bytes(struct page_store *a, uint64_t address_a, struct page_store *b,
                              uint64_t address_b, uint64_t bytes, uint64_t *out_difference);

/* Against what page_store_write_tag() and page_store_fill() with these arguments would leave. */
bool page_store_is_tag(struct page_store *store, uint64_t address, uint64_t bytes, uint64_t tag,
                       uint64_t *out_difference);
bool page_store_is_fill(struct page_store *store, uint64_t address, uint64_t bytes,
                        uint32_t pattern, uint64_t *out_difference);

/*
 * Number of leading pages of [page, page + count) whose descriptor is the tag + i. Looks at no
 * bytes: what it does not count may still be equal. The inner loop of the oracle.
 */
uint64_t page_store_count_tag(const struct page_store *store, uint64_t page, uint64_t tag,
                              uint64_t count);

/* ---- Real bytes ------------------------------------------------------------------------------ */

/*
 * Make bytes of the page and lend them. Within 2 MiB bytes of neighbouring pages are neighbours;
 * page_store_is_in_one_piece() tells whether a longer range can be used through the pointer of its
 * first page, too.
 */
uint8_t *page_store_bytes(struct page_store *store, uint64_t page);
void page_store_make_bytes(struct page_store *store, uint64_t page, uint64_t count);

/* Lend the bytes if the page has any, else NULL; changes nothing. Page tables are read by this. */
const uint8_t *page_store_peek_bytes(const struct page_store *store, uint64_t page);

/* Where mappings of neighbours show the page, which is pinned. */
uint8_t *page_store_shown(struct page_store *store, uint64_t page);

void page_store_pin(struct page_store *store, uint64_t page, uint64_t count);
void page_store_unpin(struct page_store *store, uint64_t page, uint64_t count);

/* True when the bytes of these pages, which have any, are neighbours in host memory. */
bool page_store_is_in_one_piece(const struct page_store *store, uint64_t page, uint64_t count);

/* The pages will have bytes: those of neighbours will be neighbours, unless some have any now. */
void page_store_lay_together(struct page_store *store, uint64_t page, uint64_t count);

/* One contiguous host range that shows pages in the order of a list. */
struct page_mapping {
    uint8_t *address; /* of pages[0]'s first byte */
    uint64_t page_count;
    uint64_t first_page; /* when is_linear */
    uint64_t *pages;     /* when not */
    bool is_linear;
    bool is_reserved; /* the addresses are the caller's */
};

/*
 * Pins the pages until unmapped. Fails when the host has no address space or no mapping left
 * (each break in the list costs one of the host's mappings, some 60,000 in a process).
 */
bool page_store_map(struct page_store *store, const uint64_t *pages, uint64_t count,
                    struct page_mapping *out_mapping);
void page_store_unmap(struct page_store *store, struct page_mapping *mapping);

/*
 * The same in place of host addresses that the caller has reserved without access, count pages of
 * them from this one on; unmapping leaves them so.
 */
bool page_store_map_at(struct page_store *store, const uint64_t *pages, uint64_t count,
                       uint8_t *address, struct page_mapping *out_mapping);

/*
 * The page whose home in the arena the pointer lies in, or, of a watched store, whose mapping;
 * false for any other pointer.
 */
bool page_store_find_page(const struct page_store *store, const void *pointer, uint64_t *out_page);

/* ---- Look ------------------------------------------------------------------------------------ */

enum page_kind page_store_kind(const struct page_store *store, uint64_t page);

/*
 * Number of leading pages of the range that nothing was ever written to; found without a look at
 * each.
 */
uint64_t page_store_count_untouched(const struct page_store *store, uint64_t page, uint64_t count);

/* The name of the content when the kind is PAGE_TAG, the pattern when PAGE_PATTERN, else 0. */
uint64_t page_store_value(const struct page_store *store, uint64_t page);

/*
 * "zero", "pattern 0x00c0ffee", "tag 0x12", or for real bytes what page_explain() finds in them:
 * "bytes: [0x0, 0x200) tag 0x12, [0x200, 0x1000) zero". Always ended by 0; cut with "...".
 */
#define PAGE_TEXT_BYTES 160
const char *page_store_describe(struct page_store *store, uint64_t page,
                                char text[PAGE_TEXT_BYTES]);

/* A hash of what the memory reads as: equal contents give equal digests, however represented. */
uint64_t page_store_digest(struct page_store *store);

struct page_store_usage {
    uint64_t bytes_pages;      /* pages that have real bytes                                    */
    uint64_t stale_pages;      /* pages that had, and whose host memory is kept for reuse       */
    uint64_t pinned_pages;     /* of bytes_pages                                                */
    uint64_t descriptor_bytes; /* host memory for descriptors, at most                          */
};
void page_store_usage(const struct page_store *store, struct page_store_usage *out_usage);

/*
 * Pages around this one have been written one by one, and may continue each other now: what is
 * found so costs a record. Nothing else changes.
 */
void page_store_join(struct page_store *store, uint64_t page);

/* Give host memory of stale pages back. Also happens by itself when there is much of it. */
void page_store_trim(struct page_store *store);

/* Invariant walk: counters agree with descriptors, pinned pages have bytes. */
bool page_store_check(const struct page_store *store);

/* ---- Content of a tag ------------------------------------------------------------------------ */

void page_tag_bytes(uint64_t tag, uint8_t out[4096]);

/*
 * What the bytes of a page from offset on are: a kind, its value (as page_store_value()), and how
 * many bytes that holds for, at least 1. PAGE_BYTES_REAL is what no tag and no pattern explains.
 * Tells whose data stands where other data should.
 */
uint64_t page_explain(const uint8_t bytes[4096], uint64_t offset, enum page_kind *out_kind,
                      uint64_t *out_value);

#endif
