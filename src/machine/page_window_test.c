/* Page windows: touched pages are bytes, others stay; faults of others go on. */
#include "machine/page_window.h"

#include "machine/machine.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static void windows_end_with_their_store(void **state)
{
    struct page_store *store = page_store_create(base_services_libc(), 1024);
    struct page_store *other = page_store_create(base_services_libc(), 1024);
    struct page_window *stays = page_window_open(other, 0, 512);
    const void *address, *other_address = page_window_address(stays);

    address = page_window_address(page_window_open(store, 0, 512));
    *(volatile uint8_t *)(uintptr_t)address = 1;
    page_store_destroy(store);
    assert_null(page_window_find(address));
    assert_ptr_equal(page_window_find(other_address), stays);
    page_window_close(stays);
    page_store_destroy(other);
}

/* An access to a page that is watched is noticed, whether the page was touched before or not. */
static void accesses_to_watched_pages_are_noticed(void **state)
{
    struct page_store *store = page_store_create(base_services_libc(), 8192);
    struct page_window *window = page_window_open(store, 16, 8000);
    volatile uint8_t *bytes = page_window_address(window);
    uint64_t page = 0;

    assert_false(page_windows_watch(store, 8100, 8)); /* not of the window */
    assert_false(page_windows_end_watch(&page));
    bytes[100 * PAGE_BYTES] = 7;
    for (unsigned is_new = 0; is_new < 2; is_new++) {
        const uint64_t at = is_new ? 4000 : 100;

        assert_true(page_windows_watch(store, 16 + at, 20));
        bytes[(at + 200) * PAGE_BYTES] = 1;
        assert_false(page_windows_end_watch(&page));
        assert_true(page_windows_watch(store, 16 + at, 20));
        assert_int_equal(bytes[(at + 19) * PAGE_BYTES], 0);
        assert_true(page_windows_end_watch(&page));
        assert_int_equal(page, 16 + at + 19);
    }
    assert_true(page_windows_watch(store, 16 + 100, 1));
    assert_int_equal(bytes[101 * PAGE_BYTES], 0); /* beside it */
    assert_false(page_windows_end_watch(&page));
    assert_int_equal(bytes[100 * PAGE_BYTES], 7);
    page_window_close(window);
    page_store_destroy(store);
}

static void only_touched_pages_become_bytes(void **state)
{
    struct page_store *store = page_store_create(base_services_libc(), 1 << 20); /* 4 GiB */
    struct page_window *window;
    struct page_store_usage usage;
    volatile uint8_t *bytes;
    uint8_t expected[4096];

    page_store_write_tag(store, 0, (UINT64_C(1) << 20) * PAGE_BYTES, 100);
    window = page_window_open(store, 8, (1 << 20) - 8);
    assert_non_null(window);
    bytes = page_window_address(window);
    page_tag_bytes(100 + 8 + 5000, expected);
    assert_int_equal(bytes[5000 * PAGE_BYTES + 77], expected[77]);
    bytes[5000 * PAGE_BYTES] = 0x5a;
    bytes[((1 << 20) - 9) * PAGE_BYTES + 1] = 0x5b; /* the last page, in a block that is cut */
    assert_int_equal(page_store_bytes(store, 5008)[0], 0x5a);
    assert_int_equal(page_store_bytes(store, (1 << 20) - 1)[1], 0x5b);
    page_store_usage(store, &usage);
    assert_in_range(usage.pinned_pages, 2, 32);
    assert_int_equal(page_store_kind(store, 6000), PAGE_TAG);

    /* Written behind the window's back, touched and untouched pages show it. */
    page_store_fill(store, 0, (UINT64_C(1) << 20) * PAGE_BYTES, 0x11223344);
    assert_int_equal(bytes[5000 * PAGE_BYTES], 0x44);
    assert_int_equal(bytes[70000 * PAGE_BYTES + 3], 0x11);
    assert_int_equal(page_store_kind(store, 6000), PAGE_PATTERN);
    assert_ptr_equal(page_window_find((const void *)(bytes + PAGE_BYTES)), window);
    assert_null(page_window_find(&usage));

    page_window_close(window);
    page_store_usage(store, &usage);
    assert_int_equal(usage.pinned_pages, 0);
    assert_true(page_store_check(store));
    page_store_destroy(store);
}

static void a_list_of_scattered_pages_is_one_range(void **state)
{
    enum { PAGES = 100 };
    struct page_store *store = page_store_create(base_services_libc(), 4096);
    uint8_t *reserved = mmap(NULL, PAGES * PAGE_BYTES, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct page_store_usage usage;
    struct page_window *window;
    uint64_t pages[PAGES];

    assert_ptr_not_equal(reserved, MAP_FAILED);
    for (uint64_t i = 0; i < PAGES; i++) {
        pages[i] = (i * 37 + 5) % 4096;
        page_store_fill(store, pages[i] * PAGE_BYTES, PAGE_BYTES, (uint32_t)i);
    }
    window = page_window_open_list(store, pages, PAGES, reserved);
    assert_non_null(window);
    assert_ptr_equal(page_window_address(window), reserved);
    assert_int_equal(reserved[99 * PAGE_BYTES + 4], 99);
    page_store_usage(store, &usage);
    assert_int_equal(usage.pinned_pages, 4); /* the last block, which is cut */
    for (uint64_t i = 0; i < PAGES; i++) {
        assert_int_equal(reserved[i * PAGE_BYTES], i);
        reserved[i * PAGE_BYTES + 1] = 0x77;
    }
    for (uint64_t i = 0; i < PAGES; i++)
        assert_int_equal(page_store_bytes(store, pages[i])[1], 0x77);
    page_window_close(window);
    page_store_usage(store, &usage);
    assert_int_equal(usage.pinned_pages, 0);
    assert_int_equal(mprotect(reserved, PAGES * PAGE_BYTES, PROT_READ), 0);
    assert_int_equal(reserved[5 * PAGE_BYTES], 0); /* the caller's addresses, and nothing shows */
    munmap(reserved, PAGES * PAGE_BYTES);
    page_store_destroy(store);
}

static void windows_may_overlap(void **state)
{
    struct page_store *store = page_store_create(base_services_libc(), 4096);
    struct page_window *a = page_window_open(store, 0, 4096);
    struct page_window *b = page_window_open(store, 1000, 2000);

    for (uint64_t i = 0; i < 2000; i += 7)
        page_window_address(a)[(1000 + i) * PAGE_BYTES] = (uint8_t)i;
    for (uint64_t i = 0; i < 2000; i += 7)
        assert_int_equal(page_window_address(b)[i * PAGE_BYTES], (uint8_t)i);
    page_window_close(a);
    page_window_address(b)[0] = 9;
    assert_int_equal(page_store_bytes(store, 1000)[0], 9);
    page_window_close(b);
    assert_true(page_store_check(store));
    page_store_destroy(store);
}

static void a_range_whose_bytes_are_no_neighbours_is_one_window(void **state)
{
    struct page_store *store = page_store_create(base_services_libc(), 4096);
    struct page_store_usage usage;
    struct page_window *window;
    uint64_t page = 0;

    for (uint64_t i = 2048; i-- > 0; i -= 511) /* the last of 2 MiB gets its place first */
        page_store_bytes(store, i)[0] = (uint8_t)(i / 512);
    assert_false(page_store_is_in_one_piece(store, 511, 2));
    assert_true(page_store_is_in_one_piece(store, 512, 512));
    assert_true(page_store_find_page(store, page_store_bytes(store, 1023) + 9, &page));
    assert_int_equal(page, 1023);

    window = page_window_open_whole(store, 500, 1500);
    assert_non_null(window);
    page_store_usage(store, &usage);
    assert_int_equal(usage.pinned_pages, 1500);
    assert_int_equal(page_window_address(window)[11 * PAGE_BYTES], 0);
    assert_int_equal(page_window_address(window)[(1535 - 500) * PAGE_BYTES], 2);
    for (uint64_t i = 0; i < 1500; i++)
        page_window_address(window)[i * PAGE_BYTES + 1] = (uint8_t)i;
    for (uint64_t i = 0; i < 1500; i++)
        assert_int_equal(page_store_bytes(store, 500 + i)[1], (uint8_t)i);
    page_window_close(window);
    assert_true(page_store_check(store));
    page_store_destroy(store);

    store = page_store_create(base_services_libc(), 4096);
    page_store_lay_together(store, 500, 1500);
    assert_true(page_store_is_in_one_piece(store, 500, 1500));
    page_store_destroy(store);
}

static void a_whole_bar_maps_without_becoming_bytes(void **state)
{
    struct machine_config config;
    struct machine *machine;
    struct page_store_usage usage;
    uint8_t *bar;
    uint64_t value = 7;

    machine_config_defaults(&config, 1);
    config.local_bytes = 8 * GiB;
    config.visible_bytes = 8 * GiB;
    machine = machine_create(base_services_libc(), &config);
    bar = machine_map_physical(machine, machine_bar1_pa(machine), 8 * GiB);
    assert_non_null(bar);
    machine_write_register(machine, bar + 6 * GiB, 8, 0x1234567890);
    page_store_read(machine_local(machine), 6 * GiB, &value, 8);
    assert_int_equal(value, 0x1234567890);
    page_store_usage(machine_local(machine), &usage);
    assert_in_range(usage.bytes_pages, 1, 16);
    machine_unmap_physical(machine, bar, 8 * GiB);
    page_store_usage(machine_local(machine), &usage);
    assert_int_equal(usage.pinned_pages, 0);
    machine_destroy(machine);
}

static sigjmp_buf out_of_fault;
static void *volatile faulted_at;

static void note_fault(int signal, siginfo_t *info, void *context)
{
    faulted_at = info->si_addr;
    siglongjmp(out_of_fault, 1);
}

static void faults_elsewhere_go_to_the_handler_before(void **state)
{
    struct sigaction action = {.sa_sigaction = note_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    struct page_store *store = page_store_create(base_services_libc(), 64);
    volatile uint8_t *nowhere = (volatile uint8_t *)64;
    struct page_window *window;

    sigaction(SIGSEGV, &action, NULL);
    window = page_window_open(store, 0, 64);
    assert_non_null(window);
    if (sigsetjmp(out_of_fault, 1) == 0) {
        *nowhere = 1;
        fail_msg("a write to address 64 went well");
    }
    assert_ptr_equal(faulted_at, (void *)64);
    page_window_address(window)[5] = 5; /* and its own still work */
    assert_int_equal(page_store_bytes(store, 0)[5], 5);
    page_window_close(window);
    sigaction(SIGSEGV, NULL, &action);
    assert_ptr_equal(action.sa_sigaction, note_fault);
    page_store_destroy(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_elsewhere_go_to_the_handler_before),
        cmocka_unit_test(accesses_to_watched_pages_are_noticed),
        cmocka_unit_test(only_touched_pages_become_bytes),
        cmocka_unit_test(windows_end_with_their_store),
        cmocka_unit_test(a_list_of_scattered_pages_is_one_range),
        cmocka_unit_test(windows_may_overlap),
        cmocka_unit_test(a_range_whose_bytes_are_no_neighbours_is_one_window),
        cmocka_unit_test(a_whole_bar_maps_without_becoming_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
