/*
 * Operations on pages none of which is remote: whole-page ones, and byte-granular ones built from
 * them.
 *
 * Every operation on a range is cut three ways: the part of a page before the first page boundary,
 * whole pages, and the part of a page after the last one. Whole pages go group by group: a whole
 * group becomes plain; if no page of the group has real bytes, a loop over descriptors; else page
 * by page.
 */
#include "machine/page_bulk.h"
#include "machine/page_store_private.h"

/* ---- Whole pages ----------------------------------------------------------------------------- */

static void set_symbolic(struct page_store *store, uint64_t page, uint64_t descriptor)
{
    struct page_slot *slot;
    uint64_t place;

    ASSERT(!descriptor_is_bytes(descriptor));
    page_store_touch(store, page);
    if (page_descriptor(store, page) == descriptor)
        return;
    page_store_give_slot(store, page);
    slot = page_slot(store, page);
    place = page_place(store, page);
    if (store->pins[place]) {
        page_descriptor_bytes(descriptor, 0, PAGE_BYTES, page_home(store, page));
        return;
    }
    if (descriptor_is_bytes(store->descriptors[place])) {
        slot->bytes_count--;
        slot->stale_count++;
        store->bytes_pages--;
        store->stale_pages++;
    }
    store->descriptors[place] = descriptor;
}

/* Called after operations that may have made pages stale. */
static void limit_stale_pages(struct page_store *store)
{
    if (store->stale_pages > STALE_PAGES_KEPT)
        page_store_trim(store);
}

/* A pattern into leading pages as far as they are all pinned or all not; returns how many. */
static uint64_t set_mixed_run(struct page_store *store, uint64_t page, uint64_t count,
                              uint64_t descriptor, bool is_large)
{
    const uint16_t *pins = store->pins + page_place(store, page);
    uint64_t run = 0;

    while (run < count && pins[run])
        run++;
    if (run) {
        page_bulk_fill(page_home(store, page), run * PAGE_BYTES, (uint32_t)descriptor, is_large);
        return run;
    }
    while (run < count && !pins[run])
        set_symbolic(store, page + run++, descriptor);
    return run;
}

static bool is_run(const uint64_t *descriptors, uint64_t step)
{
    uint64_t wrong = 0;

    for (uint64_t i = 0; i < GROUP_PAGES && !wrong; i += 16) {
        for (uint64_t j = i; j < i + 16; j++)
            wrong |= descriptors[j] ^ continue_descriptor(descriptors[0], step, j);
    }
    return !wrong;
}

/* Some neighbours in a group without bytes have changed: perhaps all continue each other now. */
static void make_plain_if_run(struct page_store *store, uint64_t page)
{
    const struct page_group *group = page_group(store, page);
    const uint64_t *descriptors = store->descriptors + group->slot * GROUP_PAGES;
    const uint64_t step = descriptor_is_tag(descriptors[0]);

    if (descriptors[GROUP_PAGES - 1] ==
            continue_descriptor(descriptors[0], step, GROUP_PAGES - 1) &&
        is_run(descriptors, step))
        page_store_make_plain(store, page, descriptors[0], step);
}

/* Pages of one group whose pages have no bytes. */
static void set_part(struct page_store *store, uint64_t page, uint64_t count, uint64_t descriptor,
                     uint64_t step)
{
    const struct page_group *group = page_group(store, page);
    uint64_t *out;

    page_store_touch(store, page);
    if (!group->slot && page_descriptor(store, page) == descriptor &&
        (count == 1 || group->step == step))
        return;
    page_store_give_slot(store, page);
    out = store->descriptors + page_place(store, page);
    for (uint64_t i = 0; i < count; i++)
        out[i] = continue_descriptor(descriptor, step, i);
    if (count > 1)
        make_plain_if_run(store, page);
}

void page_store_join(struct page_store *store, uint64_t page)
{
    const struct page_group *group = page_group(store, page);

    assert_pages(store, page, 1);
    if (group->slot && !group_has_bytes(store, group))
        make_plain_if_run(store, page);
}

/* Give [page, page + count) a descriptor that grows by step from page to page. */
static void set_symbolic_run(struct page_store *store, uint64_t page, uint64_t count,
                             uint64_t descriptor, uint64_t step)
{
    const bool is_large = page_bulk_is_large_fill(count * PAGE_BYTES);
    uint64_t piece;

    assert_pages(store, page, count);
    for (; count; page += piece, count -= piece) {
        const struct page_group *group = page_group(store, page);

        piece = pages_in_group(page, count);
        if (piece == GROUP_PAGES && !store->slots[group->slot].pinned_count) {
            page_store_make_plain(store, page, descriptor, step);
        } else if (!group_has_bytes(store, group)) {
            set_part(store, page, piece, descriptor, step);
        } else if (step == 0) {
            piece = set_mixed_run(store, page, piece, descriptor, is_large);
        } else {
            for (uint64_t i = 0; i < piece; i++)
                set_symbolic(store, page + i, continue_descriptor(descriptor, step, i));
        }
        descriptor = continue_descriptor(descriptor, step, piece);
    }
    limit_stale_pages(store);
}

/* Number of pages from page, at most limit and of one group, that are BYTES. */
static uint64_t count_bytes_pages(const struct page_store *store, uint64_t page, uint64_t limit)
{
    const struct page_group *group = page_group(store, page);
    const uint64_t *descriptors = store->descriptors + page_place(store, page);
    uint64_t count = 0;

    if (!group_has_bytes(store, group))
        return 0;
    limit = pages_in_group(page, limit);
    while (count < limit && descriptor_is_bytes(descriptors[count]))
        count++;
    return count;
}

/* Pages of one group on either side. */
static void copy_mixed(struct page_store *destination, uint64_t destination_page,
                       struct page_store *source, uint64_t source_page, uint64_t count,
                       bool is_large)
{
    while (count) {
        uint64_t run = count_bytes_pages(source, source_page, count);

        if (run) {
            for (uint64_t i = count_bytes_pages(destination, destination_page, run); i < run; i++)
                page_store_take_home(destination, destination_page + i);
            page_bulk_copy(page_home(destination, destination_page), page_home(source, source_page),
                           run * PAGE_BYTES, is_large);
        } else {
            run = 1;
            set_symbolic(destination, destination_page, page_descriptor(source, source_page));
        }
        destination_page += run;
        source_page += run;
        count -= run;
    }
}

/* Pages of one group on either side; the source's group has a slot. */
static void copy_part_of_group(struct page_store *destination, uint64_t destination_page,
                               struct page_store *source, uint64_t source_page, uint64_t count,
                               bool is_large)
{
    const uint64_t *from;
    uint64_t *to;

    if (group_has_bytes(destination, page_group(destination, destination_page)) ||
        page_slot(source, source_page)->bytes_count) {
        copy_mixed(destination, destination_page, source, source_page, count, is_large);
        return;
    }
    page_store_give_slot(destination, destination_page);
    page_store_touch(destination, destination_page);
    to = destination->descriptors + page_place(destination, destination_page);
    from = source->descriptors + page_place(source, source_page);
    if (count == 1) { /* scattered pages: most copies are of one */
        *to = *from;
        return;
    }
    memmove(to, from, count * sizeof *from);
    make_plain_if_run(destination, destination_page);
}

void page_own_copy(struct page_store *destination, uint64_t destination_page,
                   struct page_store *source, uint64_t source_page, uint64_t count)
{
    const bool is_large = page_bulk_is_large_copy(count * PAGE_BYTES);
    uint64_t piece;

    assert_pages(destination, destination_page, count);
    assert_pages(source, source_page, count);
    for (; count; destination_page += piece, source_page += piece, count -= piece) {
        if (page_group(source, source_page)->slot) {
            piece = pages_in_group(source_page, pages_in_group(destination_page, count));
            copy_part_of_group(destination, destination_page, source, source_page, piece, is_large);
        } else {
            uint64_t descriptor, step;

            piece = page_store_plain_run(source, source_page, count, &descriptor, &step);
            set_symbolic_run(destination, destination_page, piece, descriptor, step);
        }
    }
    limit_stale_pages(destination);
}

/* ---- Ranges of bytes ------------------------------------------------------------------------- */

bool page_store_contains(const struct page_store *store, uint64_t address, uint64_t bytes)
{
    uint64_t size = store->page_count * PAGE_BYTES;

    return address <= size && bytes <= size - address;
}

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

    if (page_descriptor(store, page) == descriptor)
        return;
    page_descriptor_bytes(descriptor, address % PAGE_BYTES, bytes,
                          page_store_bytes(store, page) + address % PAGE_BYTES);
}

/*
 * The content of a whole page of a group with a slot and without bytes: most writes to scattered
 * pages. False: nothing has changed, the range is another one.
 */
static bool set_one_page(struct page_store *store, uint64_t address, uint64_t bytes,
                         uint64_t descriptor)
{
    const uint64_t page = address / PAGE_BYTES;
    const struct page_group *group;

    if (bytes != PAGE_BYTES || address % PAGE_BYTES)
        return false;
    group = page_group(store, page);
    if (!group->slot || store->slots[group->slot].bytes_count)
        return false;
    page_store_touch(store, page);
    store->descriptors[page_place(store, page)] = descriptor;
    return true;
}

void page_own_fill(struct page_store *store, uint64_t address, uint64_t bytes, uint32_t pattern)
{
    struct range_cut cut;

    ASSERT(page_store_contains(store, address, bytes));
    if (set_one_page(store, address, bytes, pattern))
        return;
    cut = cut_range(address, bytes);
    if (cut.head_bytes)
        blend(store, address, cut.head_bytes, pattern);
    set_symbolic_run(store, cut.first_page, cut.page_count, pattern, 0);
    if (cut.tail_bytes)
        blend(store, address + bytes - cut.tail_bytes, cut.tail_bytes, pattern);
}

void page_own_write_tag(struct page_store *store, uint64_t address, uint64_t bytes, uint64_t tag)
{
    struct range_cut cut;
    uint64_t first;

    ASSERT(page_store_contains(store, address, bytes));
    if (set_one_page(store, address, bytes, tag_descriptor(tag)))
        return;
    cut = cut_range(address, bytes);
    first = cut.first_page - address / PAGE_BYTES;
    if (cut.head_bytes)
        blend(store, address, cut.head_bytes, tag_descriptor(tag));
    set_symbolic_run(store, cut.first_page, cut.page_count, tag_descriptor(tag + first), 1);
    if (cut.tail_bytes)
        blend(store, address + bytes - cut.tail_bytes, cut.tail_bytes,
              tag_descriptor(tag + first + cut.page_count));
}

void page_own_read(struct page_store *store, uint64_t address, void *out, uint64_t bytes)
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
            page_descriptor_bytes(page_descriptor(store, page), in_page, piece, to);
    }
}

void page_own_write(struct page_store *store, uint64_t address, const void *from, uint64_t bytes)
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
    for (uint64_t piece; bytes;
         address += piece, from = (const uint8_t *)from + piece, bytes -= piece) {
        piece = min_u64(bytes, GROUP_PAGES * PAGE_BYTES - address % (GROUP_PAGES * PAGE_BYTES));
        memmove(page_home(store, address / PAGE_BYTES) + address % PAGE_BYTES, from, piece);
    }
}

/* Within one source page and one destination page. */
static void copy_part(struct page_store *destination, uint64_t destination_address,
                      struct page_store *source, uint64_t source_address, uint64_t bytes)
{
    uint64_t descriptor = page_descriptor(source, source_address / PAGE_BYTES);
    uint64_t shift = (destination_address - source_address) % PAGE_BYTES;
    uint8_t *to;

    if (descriptor_is_bytes(descriptor)) {
        to = page_store_bytes(destination, destination_address / PAGE_BYTES);
        memmove(to + destination_address % PAGE_BYTES,
                page_home(source, source_address / PAGE_BYTES) + source_address % PAGE_BYTES,
                bytes);
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

void page_own_copy_bytes(struct page_store *destination, uint64_t destination_address,
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
            page_own_copy(destination, destination_address / PAGE_BYTES, source,
                          source_address / PAGE_BYTES, piece / PAGE_BYTES);
            continue;
        }
        piece = min_u64(bytes, PAGE_BYTES - max_u64(destination_in_page, source_in_page));
        copy_part(destination, destination_address, source, source_address, piece);
    }
}
