/*
 * Page store internals, shared by page_store.c, page_store_bytes.c and page_store_compare.c.
 *
 * Place   machine. Nobody else includes this.
 * Model   Besides its descriptor a page has a stain bit: its home in the arena may hold host memory
 *         and old bytes. A page that is BYTES is always stained; one that is stained but not BYTES
 *         is stale. An unstained home reads as zero, so making bytes of a zero page costs nothing.
 *         Pages are counted in groups of 512: a group without real bytes takes the fast path, in
 *         which a run of descriptors is stored or copied in one loop.
 */
#ifndef DRYDOCK_MACHINE_PAGE_STORE_PRIVATE_H
#define DRYDOCK_MACHINE_PAGE_STORE_PRIVATE_H

#include "machine/page_store.h"

#include "base/assert.h"

#include <string.h>

#define DESCRIPTOR_KIND_MASK (UINT64_C(3) << 62)
#define DESCRIPTOR_TAG       (UINT64_C(1) << 62)
#define DESCRIPTOR_BYTES     (UINT64_C(2) << 62)

#define GROUP_PAGES UINT64_C(512)

/* Stale pages whose host memory is kept before it is given back: 64 MiB of them. */
#define STALE_PAGES_KEPT 16384u

struct page_group {
    uint16_t bytes_count; /* pages that are BYTES */
    uint16_t stale_count;
    uint8_t is_touched; /* some descriptor may be other than zero */
};

/* The least capacity of a store: 16 MiB of content. */
#define LEAST_CAPACITY_PAGES UINT64_C(4096)

struct page_store {
    const struct base_services *services;
    uint64_t page_count;
    uint64_t capacity; /* pages that memory is reserved for: a power of two, page_count or more */
    uint64_t *descriptors;
    uint64_t *stains; /* one bit a page */
    uint16_t *pins;   /* mappings that show the page */
    struct page_group *groups;
    uint8_t *arena;
    int arena_file;
    uint64_t bytes_pages;
    uint64_t stale_pages;
    uint64_t pinned_pages;
    uint64_t touched_groups;
};

static inline bool descriptor_is_bytes(uint64_t descriptor)
{
    return (descriptor & DESCRIPTOR_KIND_MASK) == DESCRIPTOR_BYTES;
}

static inline bool descriptor_is_tag(uint64_t descriptor)
{
    return (descriptor & DESCRIPTOR_KIND_MASK) == DESCRIPTOR_TAG;
}

static inline uint64_t tag_descriptor(uint64_t tag)
{
    return DESCRIPTOR_TAG | (tag & PAGE_TAG_MASK);
}

static inline uint8_t *page_home(const struct page_store *store, uint64_t page)
{
    return store->arena + page * PAGE_BYTES;
}

static inline struct page_group *page_group(const struct page_store *store, uint64_t page)
{
    return &store->groups[page / GROUP_PAGES];
}

static inline uint64_t group_count(const struct page_store *store)
{
    return store->capacity / GROUP_PAGES;
}

/* Pages from page to the end of its group, at most count. */
static inline uint64_t pages_in_group(uint64_t page, uint64_t count)
{
    return min_u64(count, GROUP_PAGES - page % GROUP_PAGES);
}

/* Before a descriptor of the group becomes other than zero. */
static inline void touch_group(struct page_store *store, struct page_group *group)
{
    store->touched_groups += !group->is_touched;
    group->is_touched = 1;
}

static inline void assert_pages(const struct page_store *store, uint64_t page, uint64_t count)
{
    ASSERT(page <= store->page_count && count <= store->page_count - page);
    (void)store;
    (void)page;
    (void)count;
}

/* BYTES without content: the caller writes all 4096. */
void page_store_take_home(struct page_store *store, uint64_t page);

/* The bytes [offset, offset + bytes) of a page of that descriptor, which is not BYTES. */
void page_descriptor_bytes(uint64_t descriptor, uint64_t offset, uint64_t bytes, uint8_t *out);

void page_fill_pattern(uint8_t *out, uint64_t address, uint64_t bytes, uint32_t pattern);

/*
 * The descriptor of a symbolic page with the same content as these 4096 bytes; DESCRIPTOR_BYTES
 * when there is none.
 */
uint64_t page_recognise(const uint8_t *bytes);

/* ---- Memory of stores (page_store_spare.c) ---- */

/* Gives the host memory of the store back; its members are not valid any more. */
void page_store_release_memory(struct page_store *store);

/* True: the memory is kept for a later store, and is not the caller's any more. */
bool page_store_leave_spare(const struct page_store *store);

/*
 * True: the store, of which services, page_count and capacity are set, has the memory of an earlier
 * one.
 */
bool page_store_take_spare(struct page_store *store);

#endif
