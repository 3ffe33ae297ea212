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

static bool is_stained(const struct page_store *store, uint64_t page)
{
    return store->stains[page / 64] >> (page % 64) & 1;
}

/*
 * Pages that become bytes one behind the other (page tables do) are got from the host some at a
 * time: a fault each costs several times what one page of a batch does. It is only a hint.
 */
#define POPULATE_PAGES 32

static void populate(struct page_store *store, uint64_t page)
{
#ifdef MADV_POPULATE_WRITE
    uint64_t count = store->page_count - page;

    if (count > POPULATE_PAGES)
        count = POPULATE_PAGES;
    madvise(page_home(store, page), count * PAGE_BYTES, MADV_POPULATE_WRITE);
#endif
}

/* The page is BYTES from now on; returns whether its home holds old bytes. */
static bool enter_home(struct page_store *store, uint64_t page)
{
    struct page_group *group = page_group(store, page);
    bool was_stained = is_stained(store, page);

    if (was_stained) {
        group->stale_count--;
        store->stale_pages--;
    }
    store->stains[page / 64] |= UINT64_C(1) << (page % 64);
    store->descriptors[page] = DESCRIPTOR_BYTES;
    store->bytes_pages++;
    group->bytes_count++;
    touch_group(store, group);
    if (!was_stained && page % POPULATE_PAGES == 0 && page > 0 && is_stained(store, page - 1))
        populate(store, page);
    return was_stained;
}

void page_store_take_home(struct page_store *store, uint64_t page)
{
    assert_pages(store, page, 1);
    if (!descriptor_is_bytes(store->descriptors[page]))
        enter_home(store, page);
}

uint8_t *page_store_bytes(struct page_store *store, uint64_t page)
{
    uint64_t descriptor;
    uint8_t *home;

    assert_pages(store, page, 1);
    descriptor = store->descriptors[page];
    home = page_home(store, page);
    if (descriptor_is_bytes(descriptor))
        return home;
    if (enter_home(store, page) || descriptor != 0)
        page_descriptor_bytes(descriptor, 0, PAGE_BYTES, home);
    return home;
}

void page_store_make_bytes(struct page_store *store, uint64_t page, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        page_store_bytes(store, page + i);
}

const uint8_t *page_store_peek_bytes(const struct page_store *store, uint64_t page)
{
    assert_pages(store, page, 1);
    return descriptor_is_bytes(store->descriptors[page]) ? page_home(store, page) : NULL;
}

void page_store_pin(struct page_store *store, uint64_t page, uint64_t count)
{
    page_store_make_bytes(store, page, count);
    for (uint64_t i = 0; i < count; i++) {
        ASSERT(store->pins[page + i] < UINT16_MAX);
        if (store->pins[page + i]++ == 0)
            store->pinned_pages++;
    }
}

void page_store_unpin(struct page_store *store, uint64_t page, uint64_t count)
{
    assert_pages(store, page, count);
    for (uint64_t i = 0; i < count; i++) {
        ASSERT(store->pins[page + i] > 0);
        if (--store->pins[page + i] == 0)
            store->pinned_pages--;
    }
}

uint64_t page_store_next_pinned(const struct page_store *store, uint64_t page)
{
    while (page < store->page_count) {
        if (!page_group(store, page)->bytes_count)
            page = align_down(page, GROUP_PAGES) + GROUP_PAGES;
        else if (store->pins[page])
            return page;
        else
            page++;
    }
    return UINT64_MAX;
}

/* ---- Mapping --------------------------------------------------------------------------------- */

static uint64_t ascending_run(const uint64_t *pages, uint64_t count)
{
    uint64_t run = 1;

    while (run < count && pages[run] == pages[0] + run)
        run++;
    return run;
}

/* Shows the pages from address on, which is reserved. False: some may show. */
static bool show(struct page_store *store, const uint64_t *pages, uint64_t count, uint8_t *address)
{
    uint64_t run;

    for (uint64_t i = 0; i < count; i += run) {
        run = ascending_run(pages + i, count - i);
        assert_pages(store, pages[i], run);
        if (mmap(address + i * PAGE_BYTES, run * PAGE_BYTES, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_FIXED | MAP_NORESERVE, store->arena_file,
                 (off_t)(pages[i] * PAGE_BYTES)) == MAP_FAILED)
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
    if (!show(store, pages, count, address)) {
        hide(address, count);
        base_free_array(store->services, mapping.pages, count, sizeof *pages);
        return false;
    }
    for (uint64_t i = 0; i < count; i++)
        page_store_pin(store, pages[i], 1);
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
    if (ascending_run(pages, count) == count) {
        out_mapping->page_count = count;
        out_mapping->is_linear = true;
        out_mapping->first_page = pages[0];
        out_mapping->address = page_home(store, pages[0]);
        page_store_pin(store, pages[0], count);
        return true;
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

    *out_page = 0;
    if ((uintptr_t)pointer < (uintptr_t)store->arena || offset >= store->page_count * PAGE_BYTES)
        return false;
    *out_page = offset / PAGE_BYTES;
    return true;
}

/* ---- Giving back ----------------------------------------------------------------------------- */

static bool is_stale(const struct page_store *store, uint64_t page)
{
    return is_stained(store, page) && !descriptor_is_bytes(store->descriptors[page]);
}

static void trim_group(struct page_store *store, uint64_t first, uint64_t end)
{
    for (uint64_t page = first; page < end; page++) {
        uint64_t run = 0;

        while (page + run < end && is_stale(store, page + run))
            run++;
        if (run == 0)
            continue;
        /* A hole reads as zero, which is what an unstained home must do. */
        if (fallocate(store->arena_file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                      (off_t)(page * PAGE_BYTES), (off_t)(run * PAGE_BYTES)))
            memset(page_home(store, page), 0, run * PAGE_BYTES);
        for (uint64_t i = page; i < page + run; i++)
            store->stains[i / 64] &= ~(UINT64_C(1) << (i % 64));
        page_group(store, first)->stale_count -= (uint16_t)run;
        store->stale_pages -= run;
        page += run;
    }
}

void page_store_trim(struct page_store *store)
{
    for (uint64_t g = 0; g < group_count(store) && store->stale_pages; g++)
        if (store->groups[g].stale_count)
            trim_group(store, g * GROUP_PAGES, (g + 1) * GROUP_PAGES);
}

/* ---- Look ------------------------------------------------------------------------------------ */

enum page_kind page_store_kind(const struct page_store *store, uint64_t page)
{
    uint64_t descriptor;

    assert_pages(store, page, 1);
    descriptor = store->descriptors[page];
    if (descriptor_is_bytes(descriptor))
        return PAGE_BYTES_REAL;
    if (descriptor_is_tag(descriptor))
        return PAGE_TAG;
    return descriptor ? PAGE_PATTERN : PAGE_ZERO;
}

uint64_t page_store_value(const struct page_store *store, uint64_t page)
{
    assert_pages(store, page, 1);
    return store->descriptors[page] & ~DESCRIPTOR_KIND_MASK;
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
            uint64_t content = store->descriptors[page];

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
        .descriptor_bytes = store->touched_groups * GROUP_PAGES * sizeof *store->descriptors,
    };
}

bool page_store_check(const struct page_store *store)
{
    uint64_t bytes_pages = 0;
    uint64_t stale_pages = 0;
    uint64_t pinned_pages = 0;

    for (uint64_t g = 0; g < group_count(store); g++) {
        const struct page_group *group = &store->groups[g];
        uint64_t end = (g + 1) * GROUP_PAGES;
        uint64_t bytes_count = 0;
        uint64_t stale_count = 0;

        /* Looking at what was never touched would touch it: terabytes of nothing. */
        if (!group->is_touched && group->bytes_count == 0 && group->stale_count == 0)
            continue;
        for (uint64_t page = g * GROUP_PAGES; page < end; page++) {
            uint64_t descriptor = store->descriptors[page];
            bool is_bytes = descriptor_is_bytes(descriptor);

            if (descriptor && !group->is_touched)
                return false;
            if ((descriptor & DESCRIPTOR_KIND_MASK) == DESCRIPTOR_KIND_MASK)
                return false;
            if (is_bytes && (descriptor != DESCRIPTOR_BYTES || !is_stained(store, page)))
                return false;
            if (store->pins[page] && !is_bytes)
                return false;
            bytes_count += is_bytes;
            stale_count += is_stale(store, page);
            pinned_pages += store->pins[page] != 0;
        }
        if (bytes_count != group->bytes_count || stale_count != group->stale_count)
            return false;
        bytes_pages += bytes_count;
        stale_pages += stale_count;
    }
    return bytes_pages == store->bytes_pages && stale_pages == store->stale_pages &&
           pinned_pages == store->pinned_pages;
}
