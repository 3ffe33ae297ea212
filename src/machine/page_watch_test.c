/* Page watches: the first write to a page is told before it happens, whichever mapping it is by. */
#include "machine/page_watch.h"

#include "machine/page_window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define PAGES 4096u

/* A signal handler writes it. */
struct seen {
    volatile unsigned touched, unmapped;
    volatile uint64_t page;
    uint8_t *volatile address;
    volatile uint8_t before; /* the page's first byte */
    volatile uint64_t unmapped_count;
};

static void note_touch(void *context, struct page_store *store, uint64_t page, uint8_t *address)
{
    struct seen *seen = context;

    seen->touched++;
    seen->page = page;
    seen->address = address;
    seen->before = address[0];
    (void)store;
}

static void note_unmapped(void *context, const uint8_t *address, uint64_t count)
{
    struct seen *seen = context;

    seen->unmapped++;
    seen->unmapped_count = count;
    (void)address;
}

static struct page_store *watched_store(struct seen *seen, struct page_watch *watch)
{
    struct page_store *store = page_store_create(base_services_libc(), PAGES);

    *seen = (struct seen){0};
    *watch = (struct page_watch){seen, note_touch, note_unmapped};
    assert_true(page_store_set_watch(store, watch));
    return store;
}

static void assert_told(struct seen *seen, unsigned count, uint64_t page, const void *address)
{
    assert_int_equal(seen->touched, count);
    assert_int_equal(seen->page, page);
    assert_ptr_equal(seen->address, address);
}

static void the_first_write_to_a_page_is_told_before_it(void **state)
{
    const uint64_t scattered[] = {9, 4, 30}, neighbours[] = {100, 101, 102};
    struct page_mapping mapping, row;
    struct page_watch watch;
    struct seen seen;
    struct page_store *store = watched_store(&seen, &watch);
    volatile uint8_t *bytes;
    uint64_t page;

    page_store_fill(store, 4 * PAGE_BYTES, PAGE_BYTES, 0x21212121);
    assert_true(page_store_map(store, scattered, 3, &mapping));
    bytes = mapping.address;
    assert_int_equal(bytes[PAGE_BYTES], 0x21);
    assert_int_equal(seen.touched, 0);
    bytes[PAGE_BYTES] = 7;
    assert_told(&seen, 1, 4, mapping.address + PAGE_BYTES);
    assert_int_equal(seen.before, 0x21);
    assert_int_equal(page_store_peek_bytes(store, 4)[0], 7);
    bytes[PAGE_BYTES + 5] = 8; /* the page is open */
    assert_int_equal(seen.touched, 1);

    assert_true(page_store_map(store, neighbours, 3, &row));
    bytes = row.address;
    bytes[2 * PAGE_BYTES] = 9;
    assert_told(&seen, 2, 102, row.address + 2 * PAGE_BYTES);
    assert_true(page_store_find_page(store, row.address + PAGE_BYTES, &page));
    assert_int_equal(page, 101);
    assert_ptr_equal(page_store_shown(store, 101), row.address + PAGE_BYTES);

    page_store_unmap(store, &mapping);
    assert_int_equal(seen.unmapped, 1);
    assert_int_equal(seen.unmapped_count, 3);
    page_store_unmap(store, &row);
    page_store_destroy(store);
}

static void a_page_that_is_closed_is_told_again(void **state)
{
    const uint64_t pages[] = {5, 3};
    struct page_mapping mapping;
    struct page_watch watch;
    struct seen seen;
    struct page_store *store = watched_store(&seen, &watch);
    volatile uint8_t *bytes;

    assert_true(page_store_map(store, pages, 2, &mapping));
    bytes = mapping.address;
    bytes[0] = 1;
    bytes[PAGE_BYTES] = 1;
    page_watch_close_page(mapping.address);
    bytes[PAGE_BYTES] = 2;
    assert_int_equal(seen.touched, 2);
    bytes[0] = 2;
    assert_told(&seen, 3, 5, mapping.address);
    assert_int_equal(seen.before, 1);
    page_store_unmap(store, &mapping);
    page_store_destroy(store);
}

static void what_the_store_itself_writes_is_not_told(void **state)
{
    const uint64_t pages[] = {5, 6};
    struct page_mapping mapping;
    struct page_watch watch;
    struct seen seen;
    struct page_store *store = watched_store(&seen, &watch);

    assert_true(page_store_map(store, pages, 2, &mapping));
    page_store_write(store, 5 * PAGE_BYTES, "x", 1);
    page_store_fill(store, 6 * PAGE_BYTES, PAGE_BYTES, 0x33333333);
    assert_int_equal(mapping.address[0], 'x');
    assert_int_equal(mapping.address[PAGE_BYTES], 0x33);
    assert_int_equal(seen.touched, 0);
    page_store_unmap(store, &mapping);
    page_store_destroy(store);
}

static void windows_are_watched_as_well(void **state)
{
    struct page_watch watch;
    struct seen seen;
    struct page_store *store = watched_store(&seen, &watch);
    struct page_window *window = page_window_open(store, 16, 1000);
    volatile uint8_t *bytes = page_window_address(window);

    assert_int_equal(bytes[600 * PAGE_BYTES], 0);
    assert_int_equal(seen.touched, 0);
    bytes[601 * PAGE_BYTES + 1] = 4;
    assert_told(&seen, 1, 617, (const void *)(bytes + 601 * PAGE_BYTES));
    assert_int_equal(page_store_peek_bytes(store, 617)[1], 4);
    page_window_close(window);
    assert_int_equal(seen.unmapped, 1);
    page_store_destroy(store);
}

/* Who has ended leaves mappings behind, whose pages open without a word. */
static void without_a_watch_pages_open_all_the_same(void **state)
{
    const uint64_t pages[] = {8, 2};
    struct page_mapping mapping;
    struct page_watch watch;
    struct seen seen;
    struct page_store *store = watched_store(&seen, &watch);

    assert_true(page_store_map(store, pages, 2, &mapping));
    assert_true(page_store_set_watch(store, NULL));
    mapping.address[0] = 1;
    page_store_unmap(store, &mapping);
    assert_int_equal(seen.touched + seen.unmapped, 0);
    page_store_destroy(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_write_to_a_page_is_told_before_it),
        cmocka_unit_test(a_page_that_is_closed_is_told_again),
        cmocka_unit_test(what_the_store_itself_writes_is_not_told),
        cmocka_unit_test(windows_are_watched_as_well),
        cmocka_unit_test(without_a_watch_pages_open_all_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
