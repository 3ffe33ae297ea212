/*
 * Foreign pages: how a page becomes one, and the store's own again. The table of them has an entry
 * for each page of the store; the host gives memory for what is touched of it, and a store without
 * foreign pages has no table.
 *
 * A shown page's home in the arena is mapped anew, onto the file. A remote page is BYTES and
 * pinned, so that no operation makes it symbolic; its home is used for copies of a moment only.
 */
#define _GNU_SOURCE
#include "machine/page_foreign_private.h"

#include <sys/mman.h>
#include <unistd.h>

/*
 * Each is one mapping of the host, or two: Linux gives a process 65,530, and those of two stores
 * leave room for all else.
 */
#define MOST_SHOWN_RUNS 12288u

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

/* At most 2 GiB go at once. */
static bool write_file(int file, const uint8_t *from, uint64_t bytes, uint64_t offset)
{
    for (ssize_t piece; bytes; from += piece, offset += (uint64_t)piece, bytes -= (uint64_t)piece) {
        piece = pwrite(file, from, bytes, (off_t)offset);
        if (piece <= 0)
            return false;
    }
    return true;
}

/*
 * The homes are the arena's again, with the content. The host, asked for one mapping more than it
 * gives, has that of the old ones: they must not stay, because the file is the process's.
 */
static void map_back(struct page_store *store, uint64_t page, uint64_t count, bool forgets)
{
    const uint64_t place = page_place(store, page) * PAGE_BYTES;
    uint8_t *home = page_home(store, page);

    if (!forgets)
        write_file(store->arena_file, home, count * PAGE_BYTES, place);
    if (!map_home(store, page, count, store->arena_file, place)) {
        munmap(home, count * PAGE_BYTES);
        map_home(store, page, count, store->arena_file, place);
    }
    if (forgets)
        memset(home, 0, count * PAGE_BYTES);
    store->shown_runs--;
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
        if (store->shown_runs >= MOST_SHOWN_RUNS ||
            !write_file(memory->file, page_home(store, pages[i]), run * PAGE_BYTES,
                        offset + i * PAGE_BYTES) ||
            !map_home(store, pages[i], run, memory->file, offset + i * PAGE_BYTES))
            break;
        store->shown_runs++;
        for (uint64_t k = i; k < i + run; k++)
            enter(store, pages[k], memory, (offset + k * PAGE_BYTES) | PLACE_IS_SHOWN);
    }
    if (i >= count)
        return true;
    for (uint64_t k = i; k < count; k++)
        page_store_unpin(store, pages[k], 1);
    page_store_end_show(store, pages, i, false);
    return false;
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
        page_own_fill(store, pages[i] * PAGE_BYTES, PAGE_BYTES, 0);
    }
}

/* ---- The end --------------------------------------------------------------------------------- */

void page_foreign_end(struct page_store *store)
{
    if (!store->foreign)
        return;
    for (uint64_t page = 0; store->foreign_count && page < store->page_count; page++) {
        const struct page_foreign_entry entry = store->foreign[page];

        if (entry.memory && (entry.place & PLACE_IS_SHOWN))
            page_store_end_show(store, &page, 1, true);
        else if (entry.memory)
            page_store_end_remote(store, &page, 1);
    }
    munmap(store->foreign, table_bytes(store));
    store->foreign = NULL;
}
