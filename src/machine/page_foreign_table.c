/*
 * Foreign pages: what the table says of them.
 */
#define _GNU_SOURCE
#include "machine/page_foreign_private.h"

#include <sys/mman.h>

bool page_foreign_is(const struct page_store *store, uint64_t page)
{
    return store->foreign && store->foreign[page].memory;
}

bool page_foreign_map(const struct page_store *store, uint64_t page, uint8_t *address)
{
    const struct page_foreign_entry *entry = &store->foreign[page];

    return (entry->place & PLACE_IS_SHOWN) &&
           mmap(address, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
                entry->memory->file, (off_t)(entry->place & ~PLACE_IS_SHOWN)) != MAP_FAILED;
}

bool page_foreign_is_remote(const struct page_store *store, uint64_t page, uint64_t count)
{
    for (uint64_t i = 0; store->remote_count && i < count; i++) {
        if (page_remote_at(store, page + i))
            return true;
    }
    return false;
}

void page_remote_read(const struct page_store *store, uint64_t address, void *out, uint64_t bytes)
{
    const struct page_foreign_entry *entry = page_remote_at(store, address / PAGE_BYTES);

    entry->memory->read(entry->memory->context, entry->place + address % PAGE_BYTES, out, bytes);
}

void page_foreign_refresh(const struct page_store *store, uint64_t page, uint64_t count)
{
    for (uint64_t i = 0; store->remote_count && i < count; i++) {
        if (page_remote_at(store, page + i))
            page_remote_read(store, (page + i) * PAGE_BYTES, page_home(store, page + i),
                             PAGE_BYTES);
    }
}
