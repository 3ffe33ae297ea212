/*
 * Creation, whole-page operations and byte-granular ones built from them.
 *
 * Every operation on a range is cut three ways: the part of a page before the first page boundary,
 * whole pages, and the part of a page after the last one. Whole pages go group by group: if no page
 * of the group has real bytes, a loop over descriptors; else page by page.
 */
#define _GNU_SOURCE
#include "machine/page_store_private.h"
#include "machine/page_window.h"

#include <sys/mman.h>
#include <unistd.h>

static void *reserve(uint64_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

static void release(void *memory, uint64_t bytes)
{
    if (memory)
        munmap(memory, bytes);
}

static uint64_t stain_words(uint64_t page_count)
{
    return div_round_up(page_count, 64);
}

/* Reserves what no spare store has left. */
static bool take_new_memory(struct page_store *store)
{
    const uint64_t pages = store->capacity;

    store->arena_file = memfd_create("page-store", MFD_CLOEXEC);
    if (store->arena_file < 0 || ftruncate(store->arena_file, (off_t)(pages * PAGE_BYTES)))
        return false;
    store->descriptors = reserve(pages * sizeof *store->descriptors);
    store->stains = reserve(stain_words(pages) * sizeof *store->stains);
    store->pins = reserve(pages * sizeof *store->pins);
    store->groups = reserve(group_count(store) * sizeof *store->groups);
    store->arena = mmap(NULL, pages * PAGE_BYTES, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_NORESERVE, store->arena_file, 0);
    if (store->arena == MAP_FAILED)
        store->arena = NULL;
    if (!store->descriptors || !store->stains || !store->pins || !store->groups || !store->arena)
        return false;
    madvise(store->descriptors, pages * sizeof *store->descriptors, MADV_HUGEPAGE);
    return true;
}

void page_store_release_memory(struct page_store *store)
{
    release(store->arena, store->capacity * PAGE_BYTES);
    release(store->groups, group_count(store) * sizeof *store->groups);
    release(store->pins, store->capacity * sizeof *store->pins);
    release(store->stains, stain_words(store->capacity) * sizeof *store->stains);
    release(store->descriptors, store->capacity * sizeof *store->descriptors);
    if (store->arena_file >= 0)
        close(store->arena_file);
}

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
    if (page_store_take_spare(store) || take_new_memory(store))
        return store;
    page_store_release_memory(store);
    base_free(services, store, sizeof *store);
    return NULL;
}

void page_store_expect_scatter(struct page_store *store)
{
    madvise(store->descriptors, store->capacity * sizeof *store->descriptors, MADV_NOHUGEPAGE);
}

void page_store_destroy(struct page_store *store)
{
    if (!store)
        return;
    page_windows_close_all(store);
    if (!page_store_leave_spare(store))
        page_store_release_memory(store);
    base_free(store->services, store, sizeof *store);
}

uint64_t page_store_page_count(const struct page_store *store)
{
    return store->page_count;
}

bool page_store_contains(const struct page_store *store, uint64_t address, uint64_t bytes)
{
    uint64_t size = store->page_count * PAGE_BYTES;

    return address <= size && bytes <= size - address;
}

/* ---- Whole pages ----------------------------------------------------------------------------- */

static void set_symbolic(struct page_store *store, uint64_t page, uint64_t descriptor)
{
    struct page_group *group = page_group(store, page);

    ASSERT(!descriptor_is_bytes(descriptor));
    if (store->pins[page]) {
        page_descriptor_bytes(descriptor, 0, PAGE_BYTES, page_home(store, page));
        return;
    }
    if (descriptor_is_bytes(store->descriptors[page])) {
        group->bytes_count--;
        group->stale_count++;
        store->bytes_pages--;
        store->stale_pages++;
    }
    store->descriptors[page] = descriptor;
    touch_group(store, group);
}

/* Called after operations that may have made pages stale. */
static void limit_stale_pages(struct page_store *store)
{
    if (store->stale_pages > STALE_PAGES_KEPT)
        page_store_trim(store);
}

/* A pattern into leading pages as far as they are all pinned or all not; returns how many. */
static uint64_t set_mixed_run(struct page_store *store, uint64_t page, uint64_t count,
                              uint64_t descriptor)
{
    uint64_t run = 0;

    while (run < count && store->pins[page + run])
        run++;
    if (run) {
        page_fill_pattern(page_home(store, page), 0, run * PAGE_BYTES, (uint32_t)descriptor);
        return run;
    }
    while (run < count && !store->pins[page + run])
        set_symbolic(store, page + run++, descriptor);
    return run;
}

/* Give [page, page + count) a descriptor that grows by step from page to page. */
static void set_symbolic_run(struct page_store *store, uint64_t page, uint64_t count,
                             uint64_t descriptor, uint64_t step)
{
    const uint64_t kind = descriptor & DESCRIPTOR_KIND_MASK;
    uint64_t piece;

    assert_pages(store, page, count);
    for (; count; page += piece, count -= piece) {
        struct page_group *group = page_group(store, page);
        uint64_t *out = store->descriptors + page;

        piece = pages_in_group(page, count);
        if (group->bytes_count == 0) {
            for (uint64_t i = 0; i < piece; i++)
                out[i] = kind | ((descriptor + i * step) & PAGE_TAG_MASK);
            touch_group(store, group);
        } else if (step == 0) {
            piece = set_mixed_run(store, page, piece, descriptor);
        } else {
            for (uint64_t i = 0; i < piece; i++)
                set_symbolic(store, page + i, kind | ((descriptor + i * step) & PAGE_TAG_MASK));
        }
        descriptor = kind | ((descriptor + piece * step) & PAGE_TAG_MASK);
    }
    limit_stale_pages(store);
}

/* Number of pages from page, at most limit, that are BYTES. */
static uint64_t count_bytes_pages(const struct page_store *store, uint64_t page, uint64_t limit)
{
    uint64_t count = 0;

    while (count < limit && descriptor_is_bytes(store->descriptors[page + count]))
        count++;
    return count;
}

static void copy_mixed(struct page_store *destination, uint64_t destination_page,
                       struct page_store *source, uint64_t source_page, uint64_t count)
{
    while (count) {
        uint64_t run = count_bytes_pages(source, source_page, count);

        if (run) {
            for (uint64_t i = 0; i < run; i++)
                page_store_take_home(destination, destination_page + i);
            memmove(page_home(destination, destination_page), page_home(source, source_page),
                    run * PAGE_BYTES);
        } else {
            run = 1;
            set_symbolic(destination, destination_page, source->descriptors[source_page]);
        }
        destination_page += run;
        source_page += run;
        count -= run;
    }
}

void page_store_copy(struct page_store *destination, uint64_t destination_page,
                     struct page_store *source, uint64_t source_page, uint64_t count)
{
    uint64_t piece;

    assert_pages(destination, destination_page, count);
    assert_pages(source, source_page, count);
    for (; count; destination_page += piece, source_page += piece, count -= piece) {
        struct page_group *group = page_group(destination, destination_page);

        piece = pages_in_group(source_page, pages_in_group(destination_page, count));
        if (group->bytes_count == 0 && page_group(source, source_page)->bytes_count == 0) {
            if (piece == 1) /* scattered pages: most copies are of one */
                destination->descriptors[destination_page] = source->descriptors[source_page];
            else
                memmove(destination->descriptors + destination_page,
                        source->descriptors + source_page, piece * sizeof *source->descriptors);
            touch_group(destination, group);
        } else {
            copy_mixed(destination, destination_page, source, source_page, piece);
        }
    }
    limit_stale_pages(destination);
}

/* ---- Ranges of bytes ------------------------------------------------------------------------- */

/* [address, address + bytes) as part of a first page, whole pages, part of a last page. */
struct range_cut {
    uint64_t head_bytes;
    uint64_t first_page; /* of the whole ones */
    uint64_t page_count;
    uint64_t tail_bytes;
};

static struct range_cut cut_range(uint64_t address, uint64_t bytes)
{
    struct range_cut cut = {0};
    uint64_t in_page = address % PAGE_BYTES;

    if (in_page)
        cut.head_bytes = min_u64(bytes, PAGE_BYTES - in_page);
    cut.first_page = (address + cut.head_bytes) / PAGE_BYTES;
    cut.page_count = (bytes - cut.head_bytes) / PAGE_BYTES;
    cut.tail_bytes = (bytes - cut.head_bytes) % PAGE_BYTES;
    return cut;
}

/* Part of one page takes the bytes that a page of the descriptor has there. */
static void blend(struct page_store *store, uint64_t address, uint64_t bytes, uint64_t descriptor)
{
    uint64_t page = address / PAGE_BYTES;

    if (store->descriptors[page] == descriptor)
        return;
    page_descriptor_bytes(descriptor, address % PAGE_BYTES, bytes,
                          page_store_bytes(store, page) + address % PAGE_BYTES);
}

void page_store_fill(struct page_store *store, uint64_t address, uint64_t bytes, uint32_t pattern)
{
    struct range_cut cut = cut_range(address, bytes);

    ASSERT(page_store_contains(store, address, bytes));
    if (cut.head_bytes)
        blend(store, address, cut.head_bytes, pattern);
    set_symbolic_run(store, cut.first_page, cut.page_count, pattern, 0);
    if (cut.tail_bytes)
        blend(store, address + bytes - cut.tail_bytes, cut.tail_bytes, pattern);
}

void page_store_write_tag(struct page_store *store, uint64_t address, uint64_t bytes, uint64_t tag)
{
    struct range_cut cut = cut_range(address, bytes);
    uint64_t first = cut.first_page - address / PAGE_BYTES;

    ASSERT(page_store_contains(store, address, bytes));
    if (cut.head_bytes)
        blend(store, address, cut.head_bytes, tag_descriptor(tag));
    set_symbolic_run(store, cut.first_page, cut.page_count, tag_descriptor(tag + first), 1);
    if (cut.tail_bytes)
        blend(store, address + bytes - cut.tail_bytes, cut.tail_bytes,
              tag_descriptor(tag + first + cut.page_count));
}

void page_store_read(struct page_store *store, uint64_t address, void *out, uint64_t bytes)
{
    uint8_t *to = out;
    uint64_t piece;

    ASSERT(page_store_contains(store, address, bytes));
    for (; bytes; address += piece, to += piece, bytes -= piece) {
        uint64_t page = address / PAGE_BYTES;
        uint64_t in_page = address % PAGE_BYTES;
        uint64_t run = count_bytes_pages(store, page, bytes_to_pages(in_page + bytes));

        piece = min_u64(bytes, max_u64(run, 1) * PAGE_BYTES - in_page);
        if (run)
            memcpy(to, page_home(store, page) + in_page, piece);
        else
            page_descriptor_bytes(store->descriptors[page], in_page, piece, to);
    }
}

void page_store_write(struct page_store *store, uint64_t address, const void *from, uint64_t bytes)
{
    struct range_cut cut = cut_range(address, bytes);

    ASSERT(page_store_contains(store, address, bytes));
    if (!bytes)
        return;
    if (cut.head_bytes)
        page_store_bytes(store, address / PAGE_BYTES);
    for (uint64_t i = 0; i < cut.page_count; i++)
        page_store_take_home(store, cut.first_page + i);
    if (cut.tail_bytes)
        page_store_bytes(store, cut.first_page + cut.page_count);
    memmove(store->arena + address, from, bytes);
}

/* Within one source page and one destination page. */
static void copy_part(struct page_store *destination, uint64_t destination_address,
                      struct page_store *source, uint64_t source_address, uint64_t bytes)
{
    uint64_t descriptor = source->descriptors[source_address / PAGE_BYTES];
    uint64_t shift = (destination_address - source_address) % PAGE_BYTES;
    uint8_t *to;

    if (descriptor_is_bytes(descriptor)) {
        to = page_store_bytes(destination, destination_address / PAGE_BYTES);
        memmove(to + destination_address % PAGE_BYTES, source->arena + source_address, bytes);
        return;
    }
    /* Moved within the page, a tag is just bytes; zero stays zero wherever it goes. */
    if (shift == 0 || descriptor == 0) {
        blend(destination, destination_address, bytes, descriptor);
        return;
    }
    to = page_store_bytes(destination, destination_address / PAGE_BYTES);
    page_descriptor_bytes(descriptor, source_address % PAGE_BYTES, bytes,
                          to + destination_address % PAGE_BYTES);
}

void page_store_copy_bytes(struct page_store *destination, uint64_t destination_address,
                           struct page_store *source, uint64_t source_address, uint64_t bytes)
{
    uint64_t piece;

    ASSERT(page_store_contains(destination, destination_address, bytes));
    ASSERT(page_store_contains(source, source_address, bytes));
    for (; bytes; destination_address += piece, source_address += piece, bytes -= piece) {
        uint64_t destination_in_page = destination_address % PAGE_BYTES;
        uint64_t source_in_page = source_address % PAGE_BYTES;

        if (destination_in_page == 0 && source_in_page == 0 && bytes >= PAGE_BYTES) {
            piece = align_down(bytes, PAGE_BYTES);
            page_store_copy(destination, destination_address / PAGE_BYTES, source,
                            source_address / PAGE_BYTES, piece / PAGE_BYTES);
            continue;
        }
        piece = min_u64(bytes, PAGE_BYTES - max_u64(destination_in_page, source_in_page));
        copy_part(destination, destination_address, source, source_address, piece);
    }
}
