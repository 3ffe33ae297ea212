/*
 * Foreign pages. The table of them has an entry for each page of the store; the host gives memory
 * for what is touched of it, and a store without foreign pages has no table.
 *
 * A shown page's home in the arena is mapped anew, onto the file. A remote page is BYTES and
 * pinned, so that no operation makes it symbolic; its home is used for copies of a moment only.
 */
#define _GNU_SOURCE
#include "machine/page_foreign.h"
#include "machine/page_store_private.h"

#include <sys/mman.h>
#include <unistd.h>

struct page_foreign_entry {
    const struct page_foreign *memory; /* NULL: the page is the store's own */
    uint64_t place;                    /* offset in the file, or address; bit 0: it is shown */
};

#define IS_SHOWN UINT64_C(1)

static uint64_t table_bytes(const struct page_store *store)
{
    return store->capacity * sizeof(struct page_foreign_entry);
}

static bool make_table(struct page_store *store)
{
    void *table;

    if (store->foreign)
        return true;
    table = mmap(NULL, table_bytes(store), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (table == MAP_FAILED)
        return false;
    store->foreign = table;
    return true;
}

static bool is_mapped(const struct page_store *store, uint64_t page)
{
    return store->pins[page_place(store, page)] != 0;
}

/* Nobody else has them mapped, and they are no one's. */
static bool are_free(struct page_store *store, const uint64_t *pages, uint64_t count)
{
    if (store->view || !make_table(store))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        if (store->foreign[pages[i]].memory ||
            (page_group(store, pages[i])->slot && is_mapped(store, pages[i])))
            return false;
    }
    return true;
}

static void enter(struct page_store *store, uint64_t page, const struct page_foreign *memory,
                  uint64_t place)
{
    store->foreign[page] = (struct page_foreign_entry){memory, place};
    store->foreign_count++;
}

static void leave(struct page_store *store, uint64_t page)
{
    store->foreign[page] = (struct page_foreign_entry){0};
    store->foreign_count--;
}

/* ---- Shown ----------------------------------------------------------------------------------- */

/* Pages from i on whose homes and whose places in the file follow each other. */
static uint64_t run_of_homes(const struct page_store *store, const uint64_t *pages, uint64_t i,
                             uint64_t count)
{
    const uint64_t first = page_place(store, pages[i]);
    uint64_t run = 1;

    while (i + run < count && page_place(store, pages[i + run]) == first + run)
        run++;
    return run;
}

static bool map_home(struct page_store *store, uint64_t page, uint64_t count, int file,
                     uint64_t offset)
{
    return mmap(page_home(store, page), count * PAGE_BYTES, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, (off_t)offset) != MAP_FAILED;
}

static bool write_file(int file, const uint8_t *from, uint64_t bytes, uint64_t offset)
{
    return pwrite(file, from, bytes, (off_t)offset) == (ssize_t)bytes;
}

/* The homes are the arena's again, with the content. */
static void map_back(struct page_store *store, uint64_t page, uint64_t count, bool forgets)
{
    uint8_t content[16 * PAGE_BYTES];

    for (uint64_t piece; count; page += piece, count -= piece) {
        piece = min_u64(count, sizeof content / PAGE_BYTES);
        if (!forgets)
            memcpy(content, page_home(store, page), piece * PAGE_BYTES);
        if (!map_home(store, page, piece, store->arena_file, page_place(store, page) * PAGE_BYTES))
            continue; /* the host has no mapping left: the page stays where it is */
        if (forgets)
            memset(page_home(store, page), 0, piece * PAGE_BYTES);
        else
            memcpy(page_home(store, page), content, piece * PAGE_BYTES);
    }
}

void page_store_end_show(struct page_store *store, const uint64_t *pages, uint64_t count,
                         bool forgets)
{
    uint64_t run;

    for (uint64_t i = 0; i < count; i += run) {
        run = run_of_homes(store, pages, i, count);
        map_back(store, pages[i], run, forgets);
        for (uint64_t k = i; k < i + run; k++) {
            leave(store, pages[k]);
            page_store_unpin(store, pages[k], 1);
        }
    }
}

bool page_store_show_in(struct page_store *store, const struct page_foreign *memory,
                        const uint64_t *pages, uint64_t count, uint64_t offset)
{
    uint64_t run, i;

    if (!are_free(store, pages, count))
        return false;
    for (i = 0; i < count; i++)
        page_store_pin(store, pages[i], 1);
    for (i = 0; i < count; i += run) {
        run = run_of_homes(store, pages, i, count);
        if (!write_file(memory->file, page_home(store, pages[i]), run * PAGE_BYTES,
                        offset + i * PAGE_BYTES) ||
            !map_home(store, pages[i], run, memory->file, offset + i * PAGE_BYTES))
            break;
        for (uint64_t k = i; k < i + run; k++)
            enter(store, pages[k], memory, (offset + k * PAGE_BYTES) | IS_SHOWN);
    }
    if (i >= count)
        return true;
    for (uint64_t k = i; k < count; k++)
        page_store_unpin(store, pages[k], 1);
    page_store_end_show(store, pages, i, false);
    return false;
}

bool page_foreign_is(const struct page_store *store, uint64_t page)
{
    return store->foreign && store->foreign[page].memory;
}

bool page_foreign_map(const struct page_store *store, uint64_t page, uint8_t *address)
{
    const struct page_foreign_entry *entry = &store->foreign[page];

    return (entry->place & IS_SHOWN) &&
           mmap(address, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
                entry->memory->file, (off_t)(entry->place & ~IS_SHOWN)) != MAP_FAILED;
}

/* ---- Remote ---------------------------------------------------------------------------------- */

bool page_store_make_remote(struct page_store *store, const struct page_foreign *memory,
                            const uint64_t *pages, uint64_t count, uint64_t address)
{
    if (!are_free(store, pages, count))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        page_store_take_home(store, pages[i]);
        page_store_pin(store, pages[i], 1);
        enter(store, pages[i], memory, address + i * PAGE_BYTES);
        store->remote_count++;
    }
    return true;
}

void page_store_end_remote(struct page_store *store, const uint64_t *pages, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        leave(store, pages[i]);
        store->remote_count--;
        page_store_unpin(store, pages[i], 1);
        page_store_fill(store, pages[i] * PAGE_BYTES, PAGE_BYTES, 0);
    }
}

static const struct page_foreign_entry *remote_at(const struct page_store *store, uint64_t page)
{
    const struct page_foreign_entry *entry = store->remote_count ? &store->foreign[page] : NULL;

    return entry && entry->memory && !(entry->place & IS_SHOWN) ? entry : NULL;
}

bool page_foreign_is_remote(const struct page_store *store, uint64_t page, uint64_t count)
{
    for (uint64_t i = 0; store->remote_count && i < count; i++) {
        if (remote_at(store, page + i))
            return true;
    }
    return false;
}

/* Bytes from the address on, at most this many, that are one piece of one process's memory. */
static uint64_t remote_run(const struct page_store *store, uint64_t address, uint64_t bytes)
{
    const struct page_foreign_entry *first = remote_at(store, address / PAGE_BYTES), *next;
    uint64_t run = PAGE_BYTES - address % PAGE_BYTES;

    while (run < bytes && (next = remote_at(store, (address + run) / PAGE_BYTES)) &&
           next->memory == first->memory &&
           next->place == first->place + (address + run) / PAGE_BYTES * PAGE_BYTES -
                              address / PAGE_BYTES * PAGE_BYTES)
        run += PAGE_BYTES;
    return min_u64(run, bytes);
}

static void read_remote(const struct page_store *store, uint64_t address, void *out, uint64_t bytes)
{
    const struct page_foreign_entry *entry = remote_at(store, address / PAGE_BYTES);

    entry->memory->read(entry->memory->context, entry->place + address % PAGE_BYTES, out, bytes);
}

static void write_remote(const struct page_store *store, uint64_t address, const void *from,
                         uint64_t bytes)
{
    const struct page_foreign_entry *entry = remote_at(store, address / PAGE_BYTES);

    entry->memory->write(entry->memory->context, entry->place + address % PAGE_BYTES, from, bytes);
}

void page_foreign_refresh(const struct page_store *store, uint64_t page, uint64_t count)
{
    for (uint64_t i = 0; store->remote_count && i < count; i++) {
        if (remote_at(store, page + i))
            read_remote(store, (page + i) * PAGE_BYTES, page_home(store, page + i), PAGE_BYTES);
    }
}

/* Up to so many bytes from the address on that are all remote, or none of them. */
static uint64_t part_of(const struct page_store *store, uint64_t address, uint64_t bytes)
{
    uint64_t run = PAGE_BYTES - address % PAGE_BYTES;

    if (remote_at(store, address / PAGE_BYTES))
        return remote_run(store, address, bytes);
    while (run < bytes && !remote_at(store, (address + run) / PAGE_BYTES))
        run += PAGE_BYTES;
    return min_u64(run, bytes);
}

void page_foreign_read(struct page_store *store, uint64_t address, void *out, uint64_t bytes)
{
    uint8_t *to = out;

    for (uint64_t piece; bytes; address += piece, to += piece, bytes -= piece) {
        piece = part_of(store, address, bytes);
        if (remote_at(store, address / PAGE_BYTES))
            read_remote(store, address, to, piece);
        else
            page_store_read(store, address, to, piece);
    }
}

void page_foreign_write(struct page_store *store, uint64_t address, const void *from,
                        uint64_t bytes)
{
    const uint8_t *at = from;

    for (uint64_t piece; bytes; address += piece, at += piece, bytes -= piece) {
        piece = part_of(store, address, bytes);
        if (remote_at(store, address / PAGE_BYTES))
            write_remote(store, address, at, piece);
        else
            page_store_write(store, address, at, piece);
    }
}

void page_foreign_fill(struct page_store *store, uint64_t address, uint64_t bytes, uint32_t pattern)
{
    uint8_t content[PAGE_BYTES];

    page_descriptor_bytes(pattern, 0, PAGE_BYTES, content);
    for (uint64_t piece; bytes; address += piece, bytes -= piece) {
        piece = part_of(store, address, bytes);
        if (!remote_at(store, address / PAGE_BYTES)) {
            page_store_fill(store, address, piece, pattern);
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
            read_remote(source, from, page_store_bytes(destination, page) + to % PAGE_BYTES, piece);
            continue;
        }
        piece = pages_in_group(page, bytes / PAGE_BYTES) * PAGE_BYTES;
        for (uint64_t i = 0; i < piece / PAGE_BYTES; i++)
            page_store_take_home(destination, page + i);
        read_remote(source, from, page_home(destination, page), piece);
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
            page_store_read(source, from, content, piece);
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
        read_remote(source, from, content, piece);
        write_remote(destination, to, content, piece);
    }
}

void page_foreign_copy(struct page_store *destination, uint64_t to, struct page_store *source,
                       uint64_t from, uint64_t bytes)
{
    for (uint64_t piece; bytes; to += piece, from += piece, bytes -= piece) {
        const bool is_in = remote_at(source, from / PAGE_BYTES) != NULL;
        const bool is_out = remote_at(destination, to / PAGE_BYTES) != NULL;

        piece = min_u64(part_of(source, from, bytes), part_of(destination, to, bytes));
        if (is_in && is_out)
            copy_between(destination, to, source, from, piece);
        else if (is_in)
            copy_in(destination, to, source, from, piece);
        else if (is_out)
            copy_out(destination, to, source, from, piece);
        else
            page_store_copy_bytes(destination, to, source, from, piece);
    }
}

/* ---- The end --------------------------------------------------------------------------------- */

void page_foreign_end(struct page_store *store)
{
    if (!store->foreign)
        return;
    for (uint64_t page = 0; store->foreign_count && page < store->page_count; page++) {
        const struct page_foreign_entry entry = store->foreign[page];

        if (entry.memory && (entry.place & IS_SHOWN))
            page_store_end_show(store, &page, 1, true);
        else if (entry.memory)
            page_store_end_remote(store, &page, 1);
    }
    munmap(store->foreign, table_bytes(store));
    store->foreign = NULL;
}
