/*
 * Page store internals, shared by the sources page_store*.c, page_foreign*.c and page_window.c.
 *
 * Place   machine. Nobody else includes this.
 * Model   Pages stand in groups of 512. The pages of a plain group continue each other: all have
 *         the same pattern, or tags that count up. The group's record says so, and costs nothing
 *         else. Any other group has a slot: 512 descriptors, and homes in the arena for its pages.
 *
 *             groups:       | plain: tag 7.. | slot 2 | plain: 0 | plain: 0 | slot 1 | ...
 *             descriptors,
 *             arena:        | slot 1 | slot 2 |
 *
 *         So descriptors and homes of what is used lie close together, however far apart the pages
 *         are. A group that becomes plain gives its slot back.
 *
 *         Besides its descriptor a page of a slot has a stain bit: its home in the arena may hold
 *         host memory and old bytes. A page that is BYTES is always stained; one that is stained
 *         but not BYTES is stale. An unstained home reads as zero, so making bytes of a zero page
 *         costs nothing. A slot without real bytes takes the fast path, in which a run of
 *         descriptors is stored or copied in one loop.
 */
#ifndef DRYDOCK_MACHINE_PAGE_STORE_PRIVATE_H
#define DRYDOCK_MACHINE_PAGE_STORE_PRIVATE_H

#include "machine/page_store.h"
#include "machine/page_watch.h"

#include "base/assert.h"
#include "base/list.h"

#include <string.h>
#include <sys/mman.h>

#define DESCRIPTOR_KIND_MASK (UINT64_C(3) << 62)
#define DESCRIPTOR_TAG       (UINT64_C(1) << 62)
#define DESCRIPTOR_BYTES     (UINT64_C(2) << 62)

#define GROUP_PAGES UINT64_C(512)

/* Stale pages whose host memory is kept before it is given back: 64 MiB of them. */
#define STALE_PAGES_KEPT 16384u

struct page_group {
    uint64_t first;     /* of a plain group: the descriptor of its first page */
    uint32_t slot;      /* 0: the group is plain */
    uint8_t step;       /* of a plain group: what the descriptor grows by, page by page */
    uint8_t is_touched; /* some descriptor may be other than zero */
};

struct page_slot {
    uint32_t group;
    uint16_t bytes_count; /* pages that are BYTES */
    uint16_t stale_count;
    uint16_t pinned_count;
    uint8_t is_taken;
};

/* The least capacity of a store: 16 MiB of content. */
#define LEAST_CAPACITY_PAGES UINT64_C(4096)

struct page_store {
    const struct base_services *services;
    uint64_t page_count;
    uint64_t capacity; /* pages that memory is reserved for: a power of two, page_count or more */
    struct page_group *groups;
    uint32_t *touched; /* groups that are touched, in the order in which that began */
    uint64_t touched_groups;

    /* By slot; slot 0 is nobody's. Never more than one slot a group. */
    struct page_slot *slots;
    uint64_t *descriptors;
    uint64_t *stains; /* one bit a page */
    uint16_t *pins;   /* mappings that show the page */
    uint8_t *arena;
    int arena_file;
    uint32_t slot_count;  /* slots 1 to slot_count are taken, or free again */
    uint32_t slot_most;   /* the most that slot_count was: further slots have no stale pages */
    uint32_t *free_slots; /* a stack of those that are free again */
    uint32_t free_slot_count;

    uint64_t bytes_pages;
    uint64_t stale_pages;
    uint64_t pinned_pages;
    const struct page_watch *watch; /* NULL: nobody */
    uint8_t *view;                  /* of the arena, for the mappings of a watched store; or NULL */

    /* By page; NULL: none is foreign (page_foreign.h). */
    struct page_foreign_entry *foreign;
    uint64_t foreign_count, remote_count, shown_runs;
};

/* ---- Foreign pages (page_foreign_table.c, page_foreign_access.c, page_foreign.c) ---- */

bool page_foreign_is_remote(const struct page_store *store, uint64_t page, uint64_t count);
static inline bool page_range_is_remote(const struct page_store *store, uint64_t address,
                                        uint64_t bytes)
{
    return __builtin_expect(store->remote_count != 0, 0) && bytes &&
           page_foreign_is_remote(store, address / PAGE_BYTES,
                                  (address + bytes - 1) / PAGE_BYTES - address / PAGE_BYTES + 1);
}
/* Operations on a range of which pages are remote. */
void page_foreign_read(struct page_store *store, uint64_t address, void *out, uint64_t bytes);
void page_foreign_write(struct page_store *store, uint64_t address, const void *from,
                        uint64_t bytes);
void page_foreign_fill(struct page_store *store, uint64_t address, uint64_t bytes,
                       uint32_t pattern);
void page_foreign_copy(struct page_store *destination, uint64_t to, struct page_store *source,
                       uint64_t from, uint64_t bytes);
/* The homes of remote pages get the content of this moment. */
void page_foreign_refresh(const struct page_store *store, uint64_t page, uint64_t count);
/* A shown page in a mapping, at this address; false: it is remote, or the host has no room. */
bool page_foreign_map(const struct page_store *store, uint64_t page, uint8_t *address);
bool page_foreign_is(const struct page_store *store, uint64_t page);
void page_foreign_end(struct page_store *store);

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

/* The descriptor so many pages behind one of a run that grows by step. */
static inline uint64_t continue_descriptor(uint64_t descriptor, uint64_t step, uint64_t pages)
{
    return (descriptor & DESCRIPTOR_KIND_MASK) | ((descriptor + step * pages) & PAGE_TAG_MASK);
}

static inline struct page_group *page_group(const struct page_store *store, uint64_t page)
{
    return &store->groups[page / GROUP_PAGES];
}

/* Where the page of a group with a slot stands in the arrays by slot, and in the arena. */
static inline uint64_t page_place(const struct page_store *store, uint64_t page)
{
    return page_group(store, page)->slot * GROUP_PAGES + page % GROUP_PAGES;
}

static inline struct page_slot *page_slot(const struct page_store *store, uint64_t page)
{
    return &store->slots[page_group(store, page)->slot];
}

static inline uint8_t *page_home(const struct page_store *store, uint64_t page)
{
    return store->arena + page_place(store, page) * PAGE_BYTES;
}

static inline uint64_t page_descriptor(const struct page_store *store, uint64_t page)
{
    const struct page_group *group = page_group(store, page);

    if (group->slot)
        return store->descriptors[group->slot * GROUP_PAGES + page % GROUP_PAGES];
    return continue_descriptor(group->first, group->step, page % GROUP_PAGES);
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

static inline bool group_has_bytes(const struct page_store *store, const struct page_group *group)
{
    return group->slot && store->slots[group->slot].bytes_count;
}

static inline void assert_pages(const struct page_store *store, uint64_t page, uint64_t count)
{
    ASSERT(page <= store->page_count && count <= store->page_count - page);
    (void)store;
    (void)page;
    (void)count;
}

/* ---- Groups (page_store_groups.c) ---- */

/* Before a descriptor of the page's group becomes other than zero. */
void page_store_touch(struct page_store *store, uint64_t page);

/* The page's group has a slot from now on. */
void page_store_give_slot(struct page_store *store, uint64_t page);

/*
 * All pages of the page's group, of which none is pinned, take a content: the first has the
 * descriptor, which grows by the step. The group's slot is free again.
 */
void page_store_make_plain(struct page_store *store, uint64_t page, uint64_t descriptor,
                           uint64_t step);

/*
 * Number of leading pages of [page, page + count), at least one, of plain groups that continue each
 * other: the first has the descriptor, which grows by the step. The page's group is plain. At most
 * PLAIN_RUN_PAGES: who compares begins anew behind each page that differs, and walks no farther.
 */
#define PLAIN_RUN_PAGES (16 * GROUP_PAGES)
uint64_t page_store_plain_run(const struct page_store *store, uint64_t page, uint64_t count,
                              uint64_t *out_descriptor, uint64_t *out_step);

/* ---- Bytes and descriptors (page_store_bytes.c, page_content.c) ---- */

/*
 * Shows the homes of pages that have bytes from host addresses on that are reserved. False: the
 * host has no mapping left, and some may show.
 */
bool page_store_show(struct page_store *store, const uint64_t *pages, uint64_t count,
                     uint8_t *address);

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

/* ---- Operations on pages none of which is remote (page_store_own.c) ---- */

/* Each is the operation page_store_*() of its name. */
void page_own_copy(struct page_store *destination, uint64_t destination_page,
                   struct page_store *source, uint64_t source_page, uint64_t count);
void page_own_fill(struct page_store *store, uint64_t address, uint64_t bytes, uint32_t pattern);
void page_own_write_tag(struct page_store *store, uint64_t address, uint64_t bytes, uint64_t tag);
void page_own_read(struct page_store *store, uint64_t address, void *out, uint64_t bytes);
void page_own_write(struct page_store *store, uint64_t address, const void *from, uint64_t bytes);
void page_own_copy_bytes(struct page_store *destination, uint64_t destination_address,
                         struct page_store *source, uint64_t source_address, uint64_t bytes);

/* ---- Mappings of watched stores (page_watch.c) ---- */

/* What a new mapping's pages may be used for. */
static inline int page_protection(const struct page_store *store)
{
    return store->watch ? PROT_READ : PROT_READ | PROT_WRITE;
}

/*
 * A new mapping, if the store is watched: its pages, or (NULL) those from the first one on. False:
 * no memory for its account.
 */
bool page_watch_add(struct page_store *store, uint8_t *address, const uint64_t *pages,
                    uint64_t first_page, uint64_t count);
void page_watch_remove(struct page_store *store, const uint8_t *address);
/* All pages of the mapping are shown anew, with their protection. */
void page_watch_show_again(const uint8_t *address);
bool page_watch_find_page(const struct page_store *store, const void *pointer, uint64_t *out_page);
/* Of a store that ends. */
void page_watch_end(struct page_store *store);

/* ---- Memory of stores (page_store_memory.c, page_store_spare.c) ---- */

/* Reserves what no spare store has left. False: the host has none; some may be reserved. */
bool page_store_take_new_memory(struct page_store *store);

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
