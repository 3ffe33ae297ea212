/*
 * Foreign pages: operations on ranges of which pages are remote. A range is cut into parts that are
 * all remote or all the store's own; the latter go to page_store_own.c.
 */
#include "machine/page_foreign_private.h"

/* Bytes from the address on, at most this many, that are one piece of one process's memory. */
static uint64_t remote_run(const struct page_store *store, uint64_t address, uint64_t bytes)
{
    const struct page_foreign_entry *first = page_remote_at(store, address / PAGE_BYTES), *next;
    uint64_t run = PAGE_BYTES - address % PAGE_BYTES;

    while (run < bytes && (next = page_remote_at(store, (address + run) / PAGE_BYTES)) &&
           next->memory == first->memory &&
           next->place == first->place + (address + run) / PAGE_BYTES * PAGE_BYTES -
                              address / PAGE_BYTES * PAGE_BYTES)
        run += PAGE_BYTES;
    return min_u64(run, bytes);
}

static void write_remote(const struct page_store *store, uint64_t address, const void *from,
                         uint64_t bytes)
{
    const struct page_foreign_entry *entry = page_remote_at(store, address / PAGE_BYTES);

    entry->memory->write(entry->memory->context, entry->place + address % PAGE_BYTES, from, bytes);
}

/* Up to so many bytes from the address on that are all remote, or none of them. */
static uint64_t part_of(const struct page_store *store, uint64_t address, uint64_t bytes)
{
    uint64_t run = PAGE_BYTES - address % PAGE_BYTES;

    if (page_remote_at(store, address / PAGE_BYTES))
        return remote_run(store, address, bytes);
    while (run < bytes && !page_remote_at(store, (address + run) / PAGE_BYTES))
        run += PAGE_BYTES;
    return min_u64(run, bytes);
}

void page_foreign_read(struct page_store *store, uint64_t address, void *out, uint64_t bytes)
{
    uint8_t *to = out;

    for (uint64_t piece; bytes; address += piece, to += piece, bytes -= piece) {
        piece = part_of(store, address, bytes);
        if (page_remote_at(store, address / PAGE_BYTES))
            page_remote_read(store, address, to, piece);
        else
            page_own_read(store, address, to, piece);
    }
}

void page_foreign_write(struct page_store *store, uint64_t address, const void *from,
                        uint64_t bytes)
{
    const uint8_t *at = from;

    for (uint64_t piece; bytes; address += piece, at += piece, bytes -= piece) {
        piece = part_of(store, address, bytes);
        if (page_remote_at(store, address / PAGE_BYTES))
            write_remote(store, address, at, piece);
        else
            page_own_write(store, address, at, piece);
    }
}

void page_foreign_fill(struct page_store *store, uint64_t address, uint64_t bytes, uint32_t pattern)
{
    uint8_t content[PAGE_BYTES];

    page_descriptor_bytes(pattern, 0, PAGE_BYTES, content);
    for (uint64_t piece; bytes; address += piece, bytes -= piece) {
        piece = part_of(store, address, bytes);
        if (!page_remote_at(store, address / PAGE_BYTES)) {
            page_own_fill(store, address, piece, pattern);
            continue;
        }
        piece = min_u64(piece, PAGE_BYTES - address % PAGE_BYTES);
        write_remote(store, address, content + address % PAGE_BYTES, piece);
    }
}

/* Out of a process into the store, straight into the homes. */
static void copy_in(struct page_store *destination, uint64_t to, struct page_store *source,
                    uint64_t from, uint64_t bytes)
{
    for (uint64_t piece; bytes; to += piece, from += piece, bytes -= piece) {
        const uint64_t page = to / PAGE_BYTES;

        if (to % PAGE_BYTES || bytes < PAGE_BYTES) {
            piece = min_u64(bytes, PAGE_BYTES - to % PAGE_BYTES);
            page_remote_read(source, from, page_store_bytes(destination, page) + to % PAGE_BYTES,
                             piece);
            continue;
        }
        piece = pages_in_group(page, bytes / PAGE_BYTES) * PAGE_BYTES;
        for (uint64_t i = 0; i < piece / PAGE_BYTES; i++)
            page_store_take_home(destination, page + i);
        page_remote_read(source, from, page_home(destination, page), piece);
    }
}

/* The other way, out of the homes of pages that have bytes. */
static void copy_out(struct page_store *destination, uint64_t to, struct page_store *source,
                     uint64_t from, uint64_t bytes)
{
    uint8_t content[PAGE_BYTES];

    for (uint64_t piece; bytes; to += piece, from += piece, bytes -= piece) {
        const uint64_t page = from / PAGE_BYTES;
        const uint64_t limit = pages_in_group(page, bytes_to_pages(from % PAGE_BYTES + bytes));
        uint64_t run = 0;

        while (run < limit && descriptor_is_bytes(page_descriptor(source, page + run)))
            run++;
        piece = min_u64(bytes, max_u64(run, 1) * PAGE_BYTES - from % PAGE_BYTES);
        if (run) {
            write_remote(destination, to, page_home(source, page) + from % PAGE_BYTES, piece);
        } else {
            page_own_read(source, from, content, piece);
            write_remote(destination, to, content, piece);
        }
    }
}

static void copy_between(struct page_store *destination, uint64_t to, struct page_store *source,
                         uint64_t from, uint64_t bytes)
{
    uint8_t content[16 * PAGE_BYTES];

    for (uint64_t piece; bytes; to += piece, from += piece, bytes -= piece) {
        piece = min_u64(bytes, sizeof content);
        page_remote_read(source, from, content, piece);
        write_remote(destination, to, content, piece);
    }
}

void page_foreign_copy(struct page_store *destination, uint64_t to, struct page_store *source,
                       uint64_t from, uint64_t bytes)
{
    for (uint64_t piece; bytes; to += piece, from += piece, bytes -= piece) {
        const bool is_in = page_remote_at(source, from / PAGE_BYTES) != NULL;
        const bool is_out = page_remote_at(destination, to / PAGE_BYTES) != NULL;

        piece = min_u64(part_of(source, from, bytes), part_of(destination, to, bytes));
        if (is_in && is_out)
            copy_between(destination, to, source, from, piece);
        else if (is_in)
            copy_in(destination, to, source, from, piece);
        else if (is_out)
            copy_out(destination, to, source, from, piece);
        else
            page_own_copy_bytes(destination, to, source, from, piece);
    }
}
