/*
 * Real bytes: making them, pinning, mapping scattered pages, and giving host memory back.
 */
#define _GNU_SOURCE
#include "machine/page_store_private.h"

#include "base/hash.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>

/* By its place in the arrays by slot. */
static bool is_stained(const struct page_store *store, uint64_t place)
{
    return store->stains[place / 64] >> (place % 64) & 1;
}

/*
 * Pages that become bytes one behind the other (page tables do) are got from the host some at a
 * time: a fault each costs several times what one page of a batch does. It is only a hint.
 */
#define POPULATE_PAGES 32

static void populate(struct page_store *store, uint64_t page)
{
#ifdef MADV_POPULATE_WRITE
    madvise(page_home(store, page), POPULATE_PAGES * PAGE_BYTES, MADV_POPULATE_WRITE);
#endif
}

/* The page is BYTES from now on; returns whether its home holds old bytes. */
static bool enter_home(struct page_store *store, uint64_t page)
{
    struct page_slot *slot;
    bool was_stained;
    uint64_t place;

    page_store_give_slot(store, page);
    slot = page_slot(store, page);
    place = page_place(store, page);
    was_stained = is_stained(store, place);
    if (was_stained) {
        slot->stale_count--;
        store->stale_pages--;
    }
    store->stains[place / 64] |= UINT64_C(1) << (place % 64);
    store->descriptors[place] = DESCRIPTOR_BYTES;
    store->bytes_pages++;
    slot->bytes_count++;
    page_store_touch(store, page);
    if (!was_stained && page % POPULATE_PAGES == 0 && page % GROUP_PAGES > 0 &&
        is_stained(store, place - 1))
        populate(store, page);
    return was_stained;
}

void page_store_take_home(struct page_store *store, uint64_t page)
{
    assert_pages(store, page, 1);
    if (!descriptor_is_bytes(page_descriptor(store, page)))
        enter_home(store, page);
}

uint8_t *page_store_bytes(struct page_store *store, uint64_t page)
{
    uint64_t descriptor;

    assert_pages(store, page, 1);
    descriptor = page_descriptor(store, page);
    if (!descriptor_is_bytes(descriptor) && (enter_home(store, page) || descriptor != 0))
        page_descriptor_bytes(descriptor, 0, PAGE_BYTES, page_home(store, page));
    page_foreign_refresh(store, page, 1);
    return page_home(store, page);
}

void page_store_make_bytes(struct page_store *store, uint64_t page, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        page_store_bytes(store, page + i);
}

const uint8_t *page_store_peek_bytes(const struct page_store *store, uint64_t page)
{
    assert_pages(store, page, 1);
    page_foreign_refresh(store, page, 1);
    return descriptor_is_bytes(page_descriptor(store, page)) ? page_home(store, page) : NULL;
}

void page_store_pin(struct page_store *store, uint64_t page, uint64_t count)
{
    page_store_make_bytes(store, page, count);
    for (uint64_t i = 0; i < count; i++) {
        uint16_t *pins = store->pins + page_place(store, page + i);

        ASSERT(*pins < UINT16_MAX);
        if ((*pins)++ == 0) {
            store->pinned_pages++;
            page_slot(store, page + i)->pinned_count++;
        }
    }
}

void page_store_unpin(struct page_store *store, uint64_t page, uint64_t count)
{
    assert_pages(store, page, count);
    for (uint64_t i = 0; i < count; i++) {
        uint16_t *pins = store->pins + page_place(store, page + i);

        ASSERT(*pins > 0);
        if (--*pins == 0) {
            store->pinned_pages--;
            page_slot(store, page + i)->pinned_count--;
        }
    }
}

uint8_t *page_store_shown(struct page_store *store, uint64_t page)
{
    return (store->view ? store->view : store->arena) + page_place(store, page) * PAGE_BYTES;
}

bool page_store_is_in_one_piece(const struct page_store *store, uint64_t page, uint64_t count)
{
    uint64_t groups = (page % GROUP_PAGES + count + GROUP_PAGES - 1) / GROUP_PAGES;
    const struct page_group *group = page_group(store, page);

    assert_pages(store, page, count);
    for (uint64_t i = 0; i < groups; i++)
        if (!group[i].slot || group[i].slot != group[0].slot + i)
            return false;
    return true;
}

void page_store_lay_together(struct page_store *store, uint64_t page, uint64_t count)
{
    assert_pages(store, page, count);
    for (uint64_t i = 0; i < count; i += pages_in_group(page + i, count - i))
        page_store_give_slot(store, page + i);
}

/* ---- Mapping --------------------------------------------------------------------------------- */

static uint64_t ascending_run(const uint64_t *pages, uint64_t count)
{
    uint64_t run = 1;

    while (run < count && pages[run] == pages[0] + run)
        run++;
    return run;
}

bool page_store_show(struct page_store *store, const uint64_t *pages, uint64_t count,
                     uint8_t *address)
{
    uint64_t run;

    for (uint64_t i = 0; i < count; i += run) {
        uint64_t place = page_place(store, pages[i]);

        if (page_foreign_is(store, pages[i])) {
            run = 1;
            if (!page_foreign_map(store, pages[i], address + i * PAGE_BYTES))
                return false;
            continue;
        }
        for (run = 1; i + run < count && page_place(store, pages[i + run]) == place + run &&
                      !page_foreign_is(store, pages[i + run]);)
            run++;
        if (mmap(address + i * PAGE_BYTES, run * PAGE_BYTES, page_protection(store),
                 MAP_SHARED | MAP_FIXED | MAP_NORESERVE, store->arena_file,
                 (off_t)(place * PAGE_BYTES)) == MAP_FAILED)
            return false;
    }
    return true;
}

static void hide(uint8_t *address, uint64_t count)
{
    mmap(address, count * PAGE_BYTES, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

bool page_store_map_at(struct page_store *store, const uint64_t *pages, uint64_t count,
                       uint8_t *address, struct page_mapping *out_mapping)
{
    struct page_mapping mapping = {.page_count = count, .address = address, .is_reserved = true};

    memset(out_mapping, 0, sizeof *out_mapping);
    if (count == 0)
        return false;
    mapping.pages = base_alloc_array(store->services, count, sizeof *pages);
    if (!mapping.pages)
        return false;
    memcpy(mapping.pages, pages, count * sizeof *pages);
    for (uint64_t i = 0; i < count; i++)
        page_store_pin(store, pages[i], 1);
    if (!page_store_show(store, pages, count, address) ||
        !page_watch_add(store, address, pages, 0, count)) {
        hide(address, count);
        for (uint64_t i = 0; i < count; i++)
            page_store_unpin(store, pages[i], 1);
        base_free_array(store->services, mapping.pages, count, sizeof *pages);
        return false;
    }
    *out_mapping = mapping;
    return true;
}

bool page_store_map(struct page_store *store, const uint64_t *pages, uint64_t count,
                    struct page_mapping *out_mapping)
{
    uint8_t *address;

    memset(out_mapping, 0, sizeof *out_mapping);
    if (count == 0)
        return false;
    for (uint64_t i = 0; store->remote_count && i < count; i++) {
        if (page_foreign_is_remote(store, pages[i], 1))
            return false;
    }
    if (ascending_run(pages, count) == count) {
        page_store_pin(store, pages[0], count);
        if (page_store_is_in_one_piece(store, pages[0], count)) {
            out_mapping->page_count = count;
            out_mapping->is_linear = true;
            out_mapping->first_page = pages[0];
            out_mapping->address = page_store_shown(store, pages[0]);
            return true;
        }
        page_store_unpin(store, pages[0], count);
    }
    address = mmap(NULL, count * PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    if (address == MAP_FAILED)
        return false;
    if (!page_store_map_at(store, pages, count, address, out_mapping)) {
        munmap(address, count * PAGE_BYTES);
        return false;
    }
    out_mapping->is_reserved = false;
    return true;
}

void page_store_unmap(struct page_store *store, struct page_mapping *mapping)
{
    if (mapping->is_linear) {
        page_store_unpin(store, mapping->first_page, mapping->page_count);
    } else if (mapping->address) {
        page_watch_remove(store, mapping->address);
        if (mapping->is_reserved)
            hide(mapping->address, mapping->page_count);
        else
            munmap(mapping->address, mapping->page_count * PAGE_BYTES);
        for (uint64_t i = 0; i < mapping->page_count; i++)
            page_store_unpin(store, mapping->pages[i], 1);
        base_free_array(store->services, mapping->pages, mapping->page_count,
                        sizeof *mapping->pages);
    }
    memset(mapping, 0, sizeof *mapping);
}

bool page_store_find_page(const struct page_store *store, const void *pointer, uint64_t *out_page)
{
    uintptr_t offset = (uintptr_t)pointer - (uintptr_t)store->arena;
    uint64_t place = offset / PAGE_BYTES;
    const struct page_slot *slot;

    *out_page = 0;
    if ((uintptr_t)pointer < (uintptr_t)store->arena || place / GROUP_PAGES > store->slot_count)
        return page_watch_find_page(store, pointer, out_page);
    slot = &store->slots[place / GROUP_PAGES];
    if (!slot->is_taken)
        return false;
    *out_page = slot->group * GROUP_PAGES + place % GROUP_PAGES;
    return true;
}

/* ---- Giving back ----------------------------------------------------------------------------- */

/* Of a slot's page, by its place: its home holds its content. */
static bool is_at_home(const struct page_store *store, uint64_t place)
{
    return store->slots[place / GROUP_PAGES].is_taken &&
           descriptor_is_bytes(store->descriptors[place]);
}

/*
 * The homes from the first place to the end hold nothing. A hole reads as zero, which is what an
 * unstained home must do.
 */
static void give_back(struct page_store *store, uint64_t first, uint64_t end)
{
    bool is_hole = fallocate(store->arena_file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                             (off_t)(first * PAGE_BYTES), (off_t)((end - first) * PAGE_BYTES)) == 0;

    for (uint64_t place = first; place < end; place++) {
        if (!is_stained(store, place))
            continue;
        if (!is_hole)
            memset(store->arena + place * PAGE_BYTES, 0, PAGE_BYTES);
        store->stains[place / 64] &= ~(UINT64_C(1) << (place % 64));
        store->slots[place / GROUP_PAGES].stale_count--;
        store->stale_pages--;
    }
}

/* One hole from one page at home to the next: each flushes the processor's translations. */
static void trim_slot(struct page_store *store, uint32_t slot)
{
    const uint64_t end = (slot + UINT64_C(1)) * GROUP_PAGES;

    for (uint64_t place = slot * GROUP_PAGES; place < end; place++) {
        const uint64_t first = place;
        bool is_stale = false;

        while (place < end && !is_at_home(store, place))
            is_stale |= is_stained(store, place++);
        if (is_stale)
            give_back(store, first, place);
    }
}

void page_store_trim(struct page_store *store)
{
    for (uint32_t slot = 1; slot <= store->slot_most && store->stale_pages; slot++)
        if (store->slots[slot].stale_count)
            trim_slot(store, slot);
}

/* ---- Look ------------------------------------------------------------------------------------ */

enum page_kind page_store_kind(const struct page_store *store, uint64_t page)
{
    uint64_t descriptor;

    assert_pages(store, page, 1);
    descriptor = page_descriptor(store, page);
    if (descriptor_is_bytes(descriptor))
        return PAGE_BYTES_REAL;
    if (descriptor_is_tag(descriptor))
        return PAGE_TAG;
    return descriptor ? PAGE_PATTERN : PAGE_ZERO;
}

uint64_t page_store_value(const struct page_store *store, uint64_t page)
{
    assert_pages(store, page, 1);
    return page_descriptor(store, page) & ~DESCRIPTOR_KIND_MASK;
}

static int describe_symbolic(char *text, size_t size, enum page_kind kind, uint64_t value)
{
    switch (kind) {
    case PAGE_ZERO:
        return snprintf(text, size, "zero");
    case PAGE_PATTERN:
        return snprintf(text, size, "pattern 0x%08" PRIx64, value);
    case PAGE_TAG:
        return snprintf(text, size, "tag 0x%" PRIx64, value);
    case PAGE_BYTES_REAL:
        break;
    }
    return snprintf(text, size, "other bytes");
}

const char *page_store_describe(struct page_store *store, uint64_t page, char text[PAGE_TEXT_BYTES])
{
    enum page_kind kind = page_store_kind(store, page);
    const uint8_t *bytes = page_store_peek_bytes(store, page);
    int length;

    if (!bytes) {
        describe_symbolic(text, PAGE_TEXT_BYTES, kind, page_store_value(store, page));
        return text;
    }
    length = snprintf(text, PAGE_TEXT_BYTES, "bytes");
    for (uint64_t at = 0, step; at < PAGE_BYTES; at += step) {
        char part[48];
        uint64_t value;

        step = page_explain(bytes, at, &kind, &value);
        describe_symbolic(part, sizeof part, kind, value);
        length +=
            snprintf(text + length, PAGE_TEXT_BYTES - (size_t)length,
                     "%s [0x%" PRIx64 ", 0x%" PRIx64 ") %s", at ? "," : ":", at, at + step, part);
        if (length >= PAGE_TEXT_BYTES - 8)
            break;
    }
    if (length >= PAGE_TEXT_BYTES)
        memcpy(text + PAGE_TEXT_BYTES - 4, "...", 4);
    return text;
}

uint64_t page_store_digest(struct page_store *store)
{
    uint64_t digest = 0;

    for (uint64_t g = 0; g < group_count(store); g++) {
        uint64_t end = (g + 1) * GROUP_PAGES;

        if (!store->groups[g].is_touched)
            continue;
        for (uint64_t page = g * GROUP_PAGES; page < end; page++) {
            uint64_t content = page_descriptor(store, page);

            if (descriptor_is_bytes(content))
                content = page_recognise(page_home(store, page));
            if (descriptor_is_bytes(content))
                content = hash_bytes(page_home(store, page), PAGE_BYTES, 0);
            if (content)
                digest = hash_pair(digest, hash_pair(page, content));
        }
    }
    return digest;
}

void page_store_usage(const struct page_store *store, struct page_store_usage *out_usage)
{
    *out_usage = (struct page_store_usage){
        .bytes_pages = store->bytes_pages,
        .stale_pages = store->stale_pages,
        .pinned_pages = store->pinned_pages,
        .descriptor_bytes =
            store->touched_groups * sizeof *store->groups +
            (store->slot_count - store->free_slot_count) * GROUP_PAGES * sizeof *store->descriptors,
    };
}

/* The walk of one slot; adds what it has to the counters. */
static bool check_slot(const struct page_store *store, uint32_t number, uint64_t *bytes_pages,
                       uint64_t *stale_pages, uint64_t *pinned_pages)
{
    const struct page_slot *slot = &store->slots[number];
    uint64_t bytes_count = 0, stale_count = 0, pinned_count = 0;

    if (slot->is_taken && store->groups[slot->group].slot != number)
        return false;
    for (uint64_t i = 0; i < GROUP_PAGES; i++) {
        const uint64_t place = number * GROUP_PAGES + i;
        const uint64_t descriptor = slot->is_taken ? store->descriptors[place] : 0;
        const bool is_bytes = descriptor_is_bytes(descriptor);

        if (descriptor && !store->groups[slot->group].is_touched)
            return false;
        if ((descriptor & DESCRIPTOR_KIND_MASK) == DESCRIPTOR_KIND_MASK)
            return false;
        if (is_bytes && (descriptor != DESCRIPTOR_BYTES || !is_stained(store, place)))
            return false;
        if (store->pins[place] && !is_bytes)
            return false;
        bytes_count += is_bytes;
        stale_count += is_stained(store, place) && !is_bytes;
        pinned_count += store->pins[place] != 0;
    }
    *bytes_pages += bytes_count;
    *stale_pages += stale_count;
    *pinned_pages += pinned_count;
    return bytes_count == slot->bytes_count && stale_count == slot->stale_count &&
           pinned_count == slot->pinned_count;
}

bool page_store_check(const struct page_store *store)
{
    uint64_t bytes_pages = 0, stale_pages = 0, pinned_pages = 0;
    uint64_t touched_groups = 0, taken_slots = 0;

    for (uint64_t g = 0; g < group_count(store); g++) {
        const struct page_group *group = &store->groups[g];

        if ((group->first || group->step) && !group->slot && !group->is_touched)
            return false;
        if (group->slot && (group->slot > store->slot_count || !store->slots[group->slot].is_taken))
            return false;
        touched_groups += group->is_touched;
        taken_slots += group->slot != 0;
    }
    for (uint32_t slot = 1; slot <= store->slot_most; slot++)
        if (!check_slot(store, slot, &bytes_pages, &stale_pages, &pinned_pages))
            return false;
    return bytes_pages == store->bytes_pages && stale_pages == store->stale_pages &&
           pinned_pages == store->pinned_pages && touched_groups == store->touched_groups &&
           taken_slots == store->slot_count - store->free_slot_count;
}
