/*
 * Creation, and the operations that everybody calls. Where pages of the range are remote they go to
 * page_foreign_access.c, else to page_store_own.c.
 */
#include "machine/page_store_private.h"
#include "machine/page_window.h"

/* Few sizes, so that a store finds a spare one of its own size. */
static uint64_t capacity_for(uint64_t page_count)
{
    uint64_t capacity = LEAST_CAPACITY_PAGES;

    while (capacity < page_count)
        capacity *= 2;
    return capacity;
}

struct page_store *page_store_create(const struct base_services *services, uint64_t page_count)
{
    struct page_store *store;

    /* 64 TiB: half of what a process can address. */
    if (page_count == 0 || page_count > (UINT64_C(1) << 34))
        return NULL;
    store = base_alloc(services, sizeof *store);
    if (!store)
        return NULL;
    store->services = services;
    store->page_count = page_count;
    store->capacity = capacity_for(page_count);
    if (page_store_take_spare(store) || page_store_take_new_memory(store))
        return store;
    page_store_release_memory(store);
    base_free(services, store, sizeof *store);
    return NULL;
}

void page_store_destroy(struct page_store *store)
{
    if (!store)
        return;
    page_windows_close_all(store);
    page_watch_end(store);
    page_foreign_end(store);
    if (!page_store_leave_spare(store))
        page_store_release_memory(store);
    base_free(store->services, store, sizeof *store);
}

uint64_t page_store_page_count(const struct page_store *store)
{
    return store->page_count;
}

/* ---- Operations ------------------------------------------------------------------------------ */

void page_store_copy(struct page_store *destination, uint64_t destination_page,
                     struct page_store *source, uint64_t source_page, uint64_t count)
{
    assert_pages(destination, destination_page, count);
    assert_pages(source, source_page, count);
    if (page_range_is_remote(destination, destination_page * PAGE_BYTES, count * PAGE_BYTES) ||
        page_range_is_remote(source, source_page * PAGE_BYTES, count * PAGE_BYTES))
        page_foreign_copy(destination, destination_page * PAGE_BYTES, source,
                          source_page * PAGE_BYTES, count * PAGE_BYTES);
    else
        page_own_copy(destination, destination_page, source, source_page, count);
}

void page_store_fill(struct page_store *store, uint64_t address, uint64_t bytes, uint32_t pattern)
{
    ASSERT(page_store_contains(store, address, bytes));
    if (page_range_is_remote(store, address, bytes))
        page_foreign_fill(store, address, bytes, pattern);
    else
        page_own_fill(store, address, bytes, pattern);
}

void page_store_write_tag(struct page_store *store, uint64_t address, uint64_t bytes, uint64_t tag)
{
    ASSERT(page_store_contains(store, address, bytes));
    if (page_range_is_remote(store, address, bytes)) {
        uint8_t content[PAGE_BYTES];

        for (uint64_t piece; bytes; tag++, address += piece, bytes -= piece) {
            piece = min_u64(bytes, PAGE_BYTES - address % PAGE_BYTES);
            page_tag_bytes(tag & PAGE_TAG_MASK, content);
            page_store_write(store, address, content + address % PAGE_BYTES, piece);
        }
        return;
    }
    page_own_write_tag(store, address, bytes, tag);
}

void page_store_read(struct page_store *store, uint64_t address, void *out, uint64_t bytes)
{
    ASSERT(page_store_contains(store, address, bytes));
    if (page_range_is_remote(store, address, bytes))
        page_foreign_read(store, address, out, bytes);
    else
        page_own_read(store, address, out, bytes);
}

void page_store_write(struct page_store *store, uint64_t address, const void *from, uint64_t bytes)
{
    ASSERT(page_store_contains(store, address, bytes));
    if (page_range_is_remote(store, address, bytes))
        page_foreign_write(store, address, from, bytes);
    else
        page_own_write(store, address, from, bytes);
}

void page_store_copy_bytes(struct page_store *destination, uint64_t destination_address,
                           struct page_store *source, uint64_t source_address, uint64_t bytes)
{
    ASSERT(page_store_contains(destination, destination_address, bytes));
    ASSERT(page_store_contains(source, source_address, bytes));
    if (page_range_is_remote(destination, destination_address, bytes) ||
        page_range_is_remote(source, source_address, bytes))
        page_foreign_copy(destination, destination_address, source, source_address, bytes);
    else
        page_own_copy_bytes(destination, destination_address, source, source_address, bytes);
}
