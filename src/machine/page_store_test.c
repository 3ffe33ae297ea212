/* Page store: directed tests, and random operations against plain arrays of bytes. */
#include "machine/page_store.h"

#include "base/failing_services.h"
#include "base/rng.h"
#include "machine/page_store_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct page_store *new_store(uint64_t page_count)
{
    struct page_store *store = page_store_create(base_services_libc(), page_count);

    assert_non_null(store);
    return store;
}

static void a_new_store_reads_zero(void **state)
{
    struct page_store *store = new_store(UINT64_C(1) << 28); /* 1 TiB */
    uint64_t last = (UINT64_C(1) << 40) - 8;
    uint64_t value = 1;
    struct page_store_usage usage;

    page_store_read(store, last, &value, 8);
    assert_int_equal(value, 0);
    assert_int_equal(page_store_kind(store, (UINT64_C(1) << 28) - 1), PAGE_ZERO);
    page_store_usage(store, &usage);
    assert_int_equal(usage.bytes_pages, 0);
    assert_int_equal(usage.descriptor_bytes, 0);
    page_store_destroy(store);
}

static void untouched_ranges_are_counted(void **state)
{
    struct page_store *store = page_store_create(base_services_libc(), UINT64_C(1) << 30);

    assert_non_null(store);
    assert_int_equal(page_store_count_untouched(store, 5, (UINT64_C(1) << 30) - 5),
                     (UINT64_C(1) << 30) - 5);
    page_store_write_tag(store, UINT64_C(5000) * PAGE_BYTES, 1, 7);
    assert_true(page_store_count_untouched(store, 5, 10000) <= 5000 - 5);
    assert_true(page_store_count_untouched(store, 5, 10000) > 4000);
    assert_int_equal(page_store_count_untouched(store, 5000, 10), 0);
    page_store_destroy(store);
}

static void scattered_pages_are_the_same_until_one_differs_or_has_bytes(void **state)
{
    static const uint64_t mask = UINT64_C(0xffff);
    uint64_t pages[] = {900, 17, 18, 500, 3, 40};
    struct page_store *expected = new_store(64), *found = new_store(1024);
    uint8_t byte = 0x5a;

    page_store_write_tag(expected, 10 * PAGE_BYTES, 6 * PAGE_BYTES, 1000);
    for (unsigned i = 0; i < ARRAY_COUNT(pages); i++) {
        page_store_write_tag(found, pages[i] * PAGE_BYTES, PAGE_BYTES, 1000 + i);
        pages[i] |= UINT64_C(1) << 62; /* what the mask takes off */
    }
    assert_int_equal(page_store_count_same(expected, 10, found, pages, mask, 6), 6);
    assert_int_equal(page_store_count_same(expected, 10, found, pages, mask, 0), 0);
    assert_int_equal(page_store_count_same(expected, 11, found, pages, mask, 5), 0);
    page_store_fill(found, 500 * PAGE_BYTES, PAGE_BYTES, 7);
    assert_int_equal(page_store_count_same(expected, 10, found, pages, mask, 6), 3);
    /* The same bytes on both sides: still for page_store_compare() to tell. */
    page_store_write(expected, 11 * PAGE_BYTES, &byte, 1);
    page_store_write(found, 17 * PAGE_BYTES, &byte, 1);
    assert_true(page_store_compare(expected, 11, found, 17, 1, NULL));
    assert_int_equal(page_store_count_same(expected, 10, found, pages, mask, 6), 1);
    page_store_destroy(found);
    page_store_destroy(expected);
}

static void unlawful_sizes_and_lost_memory_give_null(void **state)
{
    struct failing_services memory;

    assert_null(page_store_create(base_services_libc(), 0));
    assert_null(page_store_create(base_services_libc(), UINT64_MAX));
    failing_services_init(&memory);
    failing_services_fail_at(&memory, 1);
    assert_null(page_store_create(&memory.services, 16));
    assert_int_equal(memory.live_blocks, 0);
}

static void whole_pages_stay_symbolic(void **state)
{
    struct page_store *store = new_store(4096);
    struct page_store_usage usage;

    page_store_write_tag(store, 0, 1024 * PAGE_BYTES, 1000);
    page_store_copy(store, 2000, store, 100, 700);
    page_store_fill(store, 3000 * PAGE_BYTES, 5 * PAGE_BYTES, 0xc0ffee);
    page_store_fill(store, 0, PAGE_BYTES, 0);
    assert_int_equal(page_store_kind(store, 0), PAGE_ZERO);
    assert_int_equal(page_store_kind(store, 2699), PAGE_TAG);
    assert_int_equal(page_store_value(store, 2699), 1000 + 799);
    assert_int_equal(page_store_value(store, 3004), 0xc0ffee);
    assert_int_equal(page_store_count_tag(store, 2000, 1100, 800), 700);
    page_store_usage(store, &usage);
    assert_int_equal(usage.bytes_pages, 0);
    assert_true(page_store_check(store));
    page_store_destroy(store);
}

static void a_run_of_plain_pages_is_looked_at_in_pieces(void **state)
{
    const uint64_t pages = UINT64_C(1) << 20;
    struct page_store *store = new_store(pages);
    uint64_t descriptor, step;

    page_store_write_tag(store, 0, pages * PAGE_BYTES, 1000);
    assert_int_equal(page_store_plain_run(store, 100, pages - 100, &descriptor, &step),
                     PLAIN_RUN_PAGES);
    assert_int_equal(page_store_plain_run(store, 100, 1000, &descriptor, &step), 1000);
    page_store_fill(store, 2000 * PAGE_BYTES, PAGE_BYTES, 9); /* in the group of 1536 to 2047 */
    assert_int_equal(page_store_plain_run(store, 100, pages - 100, &descriptor, &step), 1436);
    page_store_destroy(store);
}

static void pages_that_continue_each_other_cost_a_record_for_512(void **state)
{
    const uint64_t pages = UINT64_C(1) << 20; /* 4 GiB, whose descriptors would be 8 MiB */
    struct page_store *a = new_store(pages), *b = new_store(pages);
    struct page_store_usage usage;
    uint64_t difference = 0;

    page_store_write_tag(a, 0, pages * PAGE_BYTES, 1000);
    page_store_copy(b, 300, a, 0, pages - 300); /* each group of b is of two groups of a */
    page_store_usage(b, &usage);
    assert_in_range(usage.descriptor_bytes, 1, 64 * KiB);
    assert_true(page_store_compare(a, 0, b, 300, pages - 300, NULL));
    assert_int_equal(page_store_count_tag(b, 300, 1000, pages - 300), pages - 300);

    page_store_fill(b, 5000 * PAGE_BYTES, PAGE_BYTES, 9);
    assert_int_equal(page_store_count_tag(b, 300, 1000, pages - 300), 4700);
    assert_false(page_store_compare(b, 300, a, 0, pages - 300, &difference));
    assert_int_equal(difference, 4700 * PAGE_BYTES);
    assert_false(page_store_compare(a, 0, b, 300, pages - 300, &difference));
    assert_int_equal(difference, 4700 * PAGE_BYTES);

    page_store_bytes(b, 700)[0] = 1;
    page_store_fill(b, 0, pages * PAGE_BYTES, 7);
    page_store_usage(b, &usage);
    assert_in_range(usage.descriptor_bytes, 1, 64 * KiB);
    assert_int_equal(usage.bytes_pages, 0);
    assert_int_equal(usage.stale_pages, 1);
    assert_true(page_store_is_fill(b, 0, pages * PAGE_BYTES, 7, NULL));
    assert_true(page_store_check(b));
    page_store_destroy(a);
    page_store_destroy(b);
}

static void pages_that_were_filled_one_by_one_are_joined(void **state)
{
    struct page_store *store = new_store(1024);
    struct page_store_usage scattered, plain;

    for (uint64_t i = 0; i < 512; i++)
        page_store_write_tag(store, (i * 77 % 512) * PAGE_BYTES, PAGE_BYTES, 1000 + i);
    page_store_usage(store, &scattered);
    for (uint64_t i = 0; i < 512; i++) {
        page_store_join(store, i);
        page_store_usage(store, &plain);
        assert_int_equal(plain.descriptor_bytes, scattered.descriptor_bytes);
        page_store_fill(store, (i * 99 % 512) * PAGE_BYTES, PAGE_BYTES, 9);
    }
    page_store_join(store, 77);
    page_store_usage(store, &plain);
    assert_in_range(plain.descriptor_bytes, 1, scattered.descriptor_bytes - 4096);
    page_store_join(store, 77);
    assert_true(page_store_is_fill(store, 0, 512 * PAGE_BYTES, 9, NULL));
    assert_true(page_store_check(store));

    page_store_bytes(store, 3)[5] = 1;
    page_store_join(store, 3);
    assert_false(page_store_is_fill(store, 0, 512 * PAGE_BYTES, 9, NULL));
    assert_true(page_store_check(store));
    page_store_destroy(store);
}

static void a_partial_tag_write_blends_at_the_same_offset(void **state)
{
    struct page_store *store = new_store(16);
    uint8_t expected[4096];
    uint8_t found[4096];
    uint64_t difference = 0;

    page_store_fill(store, 0, 16 * PAGE_BYTES, 0x11111111);
    page_store_write_tag(store, 0x1800, 0x2000, 50); /* half of 1, all of 2, half of 3 */
    page_tag_bytes(50, expected);
    page_store_read(store, 0x1000, found, 4096);
    assert_memory_equal(found + 0x800, expected + 0x800, 0x800);
    assert_int_equal(found[0x7ff], 0x11);
    assert_int_equal(page_store_kind(store, 2), PAGE_TAG);
    assert_int_equal(page_store_value(store, 2), 51);
    page_tag_bytes(52, expected);
    page_store_read(store, 0x3000, found, 4096);
    assert_memory_equal(found, expected, 0x800);
    assert_int_equal(found[0x800], 0x11);
    assert_true(page_store_is_tag(store, 0x1800, 0x2000, 50, NULL));
    assert_false(page_store_is_tag(store, 0x1800, 0x2001, 50, &difference));
    assert_int_equal(difference, 0x2000);
    page_store_destroy(store);
}

static void a_partial_write_of_what_is_there_changes_no_representation(void **state)
{
    struct page_store *store = new_store(4);

    page_store_write_tag(store, 0, 4 * PAGE_BYTES, 9);
    page_store_write_tag(store, 0x10, 0x20, 9);
    page_store_fill(store, 0x1000, 0x1000, 7);
    page_store_fill(store, 0x1004, 0x10, 7);
    assert_int_equal(page_store_kind(store, 0), PAGE_TAG);
    assert_int_equal(page_store_kind(store, 1), PAGE_PATTERN);
    page_store_destroy(store);
}

static void tag_pages_differ_in_every_word_and_are_recognised(void **state)
{
    uint64_t a[512];
    uint64_t b[512];
    struct rng rng;

    rng_init(&rng, 1);
    for (int round = 0; round < 50; round++) {
        uint64_t tag = rng_next(&rng) & PAGE_TAG_MASK;
        enum page_kind kind;
        uint64_t value;

        page_tag_bytes(tag, (uint8_t *)a);
        page_tag_bytes((tag + 1) & PAGE_TAG_MASK, (uint8_t *)b);
        for (int i = 0; i < 512; i++)
            assert_int_not_equal(a[i], b[i]);
        for (int i = 1; i < 512; i++)
            assert_int_not_equal(a[i], a[i - 1]);
        assert_int_equal(page_explain((uint8_t *)a, 0, &kind, &value), 4096);
        assert_int_equal(kind, PAGE_TAG);
        assert_int_equal(value, tag);
        memcpy((uint8_t *)b, a, 1000);
        assert_int_equal(page_explain((uint8_t *)b, 13, &kind, &value), 1000 - 13);
        assert_int_equal(value, tag);
        assert_int_equal(page_explain((uint8_t *)b, 1000, &kind, &value), 3096);
        assert_int_equal(value, (tag + 1) & PAGE_TAG_MASK);
    }
}

static void descriptions_name_what_is_there(void **state)
{
    struct page_store *store = new_store(8);
    char text[PAGE_TEXT_BYTES];

    assert_string_equal(page_store_describe(store, 0, text), "zero");
    page_store_write_tag(store, 0, PAGE_BYTES, 0x12);
    assert_string_equal(page_store_describe(store, 0, text), "tag 0x12");
    page_store_fill(store, 0, 0x200, 0xc0ffee);
    assert_string_equal(page_store_describe(store, 0, text),
                        "bytes: [0x0, 0x200) pattern 0x00c0ffee, [0x200, 0x1000) tag 0x12");
    page_store_fill(store, 0x1000, 0x1000, 5);
    assert_string_equal(page_store_describe(store, 1, text), "pattern 0x00000005");
    for (uint64_t i = 0; i < 0x1000; i += 16)
        page_store_fill(store, 0x2000 + i, 16, (uint32_t)i);
    page_store_describe(store, 2, text);
    assert_true(strlen(text) < PAGE_TEXT_BYTES);
    page_store_destroy(store);
}

static void equal_contents_have_equal_digests(void **state)
{
    struct page_store *a = new_store(1024);
    struct page_store *b = new_store(1024);

    page_store_write_tag(a, 0, 600 * PAGE_BYTES, 77);
    page_store_write_tag(b, 0, 600 * PAGE_BYTES, 77);
    page_store_fill(a, 700 * PAGE_BYTES, PAGE_BYTES, 3);
    page_store_fill(b, 700 * PAGE_BYTES, PAGE_BYTES, 3);
    page_store_make_bytes(b, 0, 1000);
    assert_int_equal(page_store_digest(a), page_store_digest(b));
    page_store_bytes(b, 999)[5] = 1;
    assert_int_not_equal(page_store_digest(a), page_store_digest(b));
    page_store_destroy(a);
    page_store_destroy(b);
}

static void a_mapping_shows_scattered_pages_in_order_and_stays_live(void **state)
{
    struct page_store *store = new_store(64);
    static const uint64_t pages[] = {40, 41, 7, 63, 0};
    struct page_mapping mapping;
    struct page_mapping second;
    uint8_t expected[4096];

    page_store_write_tag(store, 7 * PAGE_BYTES, PAGE_BYTES, 1);
    assert_true(page_store_map(store, pages, 5, &mapping));
    page_tag_bytes(1, expected);
    assert_memory_equal(mapping.address + 2 * PAGE_BYTES, expected, 4096);

    /* Written by the GPU, whichever way, it shows in the mapping; and the other way round. */
    page_store_write_tag(store, 40 * PAGE_BYTES, 2 * PAGE_BYTES, 90);
    page_tag_bytes(91, expected);
    assert_memory_equal(mapping.address + PAGE_BYTES, expected, 4096);
    page_store_fill(store, 63 * PAGE_BYTES, PAGE_BYTES, 0x61626364);
    assert_memory_equal(mapping.address + 3 * PAGE_BYTES, "dcba", 4);
    memcpy(mapping.address + 4 * PAGE_BYTES, "hello", 5);
    assert_memory_equal(page_store_bytes(store, 0), "hello", 5);

    assert_true(page_store_map(store, pages, 2, &second));
    assert_true(second.is_linear);
    second.address[PAGE_BYTES] = 0x5a;
    assert_int_equal(mapping.address[PAGE_BYTES], 0x5a);
    page_store_unmap(store, &mapping);
    page_store_copy(store, 40, store, 10, 2); /* still pinned by the second */
    assert_int_equal(second.address[PAGE_BYTES], 0);
    page_store_unmap(store, &second);

    page_store_fill(store, 40 * PAGE_BYTES, PAGE_BYTES, 1);
    assert_int_equal(page_store_kind(store, 40), PAGE_PATTERN);
    assert_true(page_store_check(store));
    page_store_destroy(store);
}

static void host_memory_of_overwritten_pages_is_given_back(void **state)
{
    struct page_store *store = new_store(40000);
    struct page_store_usage usage;

    page_store_write_tag(store, 0, 40000 * PAGE_BYTES, 1);
    page_store_make_bytes(store, 0, 17000);
    page_store_fill(store, 0, 17000 * PAGE_BYTES, 0xffffffff);
    page_store_usage(store, &usage);
    assert_int_equal(usage.bytes_pages, 0);
    assert_int_equal(usage.stale_pages, 0);
    page_store_fill(store, 0, 17000 * PAGE_BYTES, 0);
    assert_int_equal(page_store_bytes(store, 16999)[4095], 0);

    page_store_bytes(store, 5)[9] = 9; /* stale, then zero, then bytes again: zero */
    page_store_fill(store, 5 * PAGE_BYTES, PAGE_BYTES, 0);
    page_store_usage(store, &usage);
    assert_int_equal(usage.stale_pages, 1);
    assert_int_equal(page_store_bytes(store, 5)[9], 0);
    assert_true(page_store_check(store));
    page_store_destroy(store);
}

static void a_store_on_spare_memory_reads_zero(void **state)
{
    const uint64_t scattered[] = {9, 700, 3};
    struct page_store *store;
    struct page_store_usage usage;
    uint64_t value;

    page_store_keep_memory(true);
    store = new_store(5000);
    page_store_write_tag(store, 10 * PAGE_BYTES, 2000 * PAGE_BYTES, 7);
    memset(page_store_bytes(store, 3), 0x5a, PAGE_BYTES);
    memset(page_store_bytes(store, 4000), 0x5a, PAGE_BYTES);
    page_store_destroy(store);

    store = new_store(6000); /* of the same capacity */
    page_store_usage(store, &usage);
    assert_int_equal(usage.bytes_pages, 0);
    assert_int_equal(usage.stale_pages, 2); /* so it is the memory of the first one */
    assert_int_equal(page_store_count_untouched(store, 0, 6000), 6000);
    for (uint64_t page = 0; page < 6000; page++)
        assert_int_equal(page_store_kind(store, page), PAGE_ZERO);
    page_store_read(store, 3 * PAGE_BYTES, &value, sizeof value);
    assert_int_equal(value, 0);
    assert_int_equal(page_store_bytes(store, 4000)[100], 0);
    assert_true(page_store_check(store));
    page_store_destroy(store);

    store = new_store(6000);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(page_store_bytes(store, scattered[i])[0], 0);
    page_store_destroy(store);
    page_store_keep_memory(false);
}

static void memory_that_must_not_be_reused_is_given_back(void **state)
{
    struct page_store_usage usage;
    struct page_store *store;

    page_store_keep_memory(true);
    store = new_store(5000);
    page_store_pin(store, 17, 1); /* and never unpinned: something shows the page still */
    page_store_destroy(store);
    store = new_store(5000);
    page_store_usage(store, &usage);
    assert_int_equal(usage.stale_pages, 0);

    page_store_bytes(store, 17)[0] = 1;
    page_store_destroy(store);
    page_store_keep_memory(false); /* what is kept is given back */
    page_store_keep_memory(true);
    store = new_store(5000);
    page_store_usage(store, &usage);
    assert_int_equal(usage.stale_pages, 0);
    page_store_destroy(store);
    page_store_keep_memory(false);
}

static void a_child_does_not_use_spare_memory_of_its_parent(void **state)
{
    struct page_store *store;
    pid_t child;
    int status;

    page_store_keep_memory(true);
    store = new_store(5000);
    page_store_bytes(store, 17)[0] = 1;
    page_store_destroy(store);
    child = fork();
    if (child == 0) {
        struct page_store_usage usage;

        store = new_store(5000);
        page_store_usage(store, &usage);
        _exit(usage.stale_pages == 0 ? 0 : 1);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_int_equal(status, 0);
    page_store_keep_memory(false);
}

static void comparison_tells_the_first_byte_that_differs(void **state)
{
    struct page_store *a = new_store(2048);
    struct page_store *b = new_store(2048);
    uint64_t difference = 1;

    page_store_write_tag(a, 0, 2000 * PAGE_BYTES, 5);
    page_store_write_tag(b, 3 * PAGE_BYTES, 2000 * PAGE_BYTES, 5);
    assert_true(page_store_compare(a, 0, b, 3, 2000, &difference));
    page_store_make_bytes(b, 100, 3);
    assert_true(page_store_compare(a, 0, b, 3, 2000, &difference));
    page_store_bytes(b, 101)[17] ^= 1;
    assert_false(page_store_compare(a, 0, b, 3, 2000, &difference));
    assert_int_equal(difference, 98 * PAGE_BYTES + 17);
    assert_false(page_store_compare_bytes(a, 98 * PAGE_BYTES + 16, b, 101 * PAGE_BYTES + 16, 500,
                                          &difference));
    assert_int_equal(difference, 1);
    assert_false(page_store_is_tag(b, 3 * PAGE_BYTES, 2000 * PAGE_BYTES, 5, &difference));
    assert_int_equal(difference, 98 * PAGE_BYTES + 17);
    page_store_destroy(a);
    page_store_destroy(b);
}

static void real_bytes_on_both_sides_are_compared(void **state)
{
    struct page_store *store = new_store(64);
    uint64_t difference = 0;

    page_store_make_bytes(store, 0, 64);
    assert_true(page_store_compare(store, 0, store, 32, 32, &difference));
    page_store_bytes(store, 3)[7] = 1; /* in the part that is compared eight pages at a time */
    assert_false(page_store_compare(store, 0, store, 32, 32, &difference));
    assert_int_equal(difference, 3 * PAGE_BYTES + 7);
    page_store_bytes(store, 3)[7] = 0;
    page_store_bytes(store, 63)[0] = 1;
    assert_false(page_store_compare(store, 27, store, 59, 5, &difference)); /* and in the rest */
    assert_int_equal(difference, 4 * PAGE_BYTES);
    page_store_destroy(store);
}

/* ---- Random operations against plain arrays ------------------------------------------------- */

#define MODEL_PAGES 1100u
#define MODEL_BYTES (MODEL_PAGES * PAGE_BYTES)

struct model {
    struct page_store *store[2];
    uint8_t *bytes[2];
    struct page_mapping mapping;
    int mapped_store;
    uint64_t mapped_pages[4];
    struct rng rng;
};

static void random_range(struct model *model, uint64_t *out_address, uint64_t *out_bytes)
{
    bool is_paged = rng_chance(&model->rng, 1, 2);
    uint64_t limit = rng_chance(&model->rng, 1, 8) ? MODEL_BYTES / 2 : 20 * PAGE_BYTES;
    uint64_t bytes = rng_below(&model->rng, rng_chance(&model->rng, 1, 4) ? 64 : limit);

    if (is_paged)
        bytes = align_up(bytes, PAGE_BYTES);
    *out_address = rng_below(&model->rng, MODEL_BYTES - bytes + 1);
    if (is_paged)
        *out_address = align_down(*out_address, PAGE_BYTES);
    *out_bytes = bytes;
}

static void model_tag(uint8_t *bytes, uint64_t address, uint64_t count, uint64_t tag)
{
    uint8_t page[4096];

    for (uint64_t i = address; i < address + count; i++) {
        if (i == address || i % PAGE_BYTES == 0)
            page_tag_bytes(tag + (i / PAGE_BYTES - address / PAGE_BYTES), page);
        bytes[i] = page[i % PAGE_BYTES];
    }
}

static void one_random_operation(struct model *model)
{
    struct rng *rng = &model->rng;
    int s = (int)rng_below(rng, 2);
    int d = (int)rng_below(rng, 2);
    uint64_t address, bytes, to;
    uint8_t *buffer;

    random_range(model, &address, &bytes);
    switch (rng_below(rng, 8)) {
    case 0: {
        uint32_t pattern = rng_chance(rng, 1, 3) ? 0 : (uint32_t)rng_next(rng);

        page_store_fill(model->store[s], address, bytes, pattern);
        for (uint64_t i = address; i < address + bytes; i++)
            model->bytes[s][i] = (uint8_t)(pattern >> 8 * (i % 4));
        assert_true(page_store_is_fill(model->store[s], address, bytes, pattern, NULL));
        break;
    }
    case 1: {
        uint64_t tag = rng_chance(rng, 1, 2) ? rng_below(rng, 64) : PAGE_TAG_MASK - 3;

        page_store_write_tag(model->store[s], address, bytes, tag);
        model_tag(model->bytes[s], address, bytes, tag);
        assert_true(page_store_is_tag(model->store[s], address, bytes, tag, NULL));
        break;
    }
    case 2:
    case 3:
        to = rng_below(rng, MODEL_BYTES - bytes + 1);
        if (address % PAGE_BYTES == 0 || rng_chance(rng, 1, 2))
            to = align_down(to, PAGE_BYTES) +
                 min_u64(address % PAGE_BYTES, MODEL_BYTES - bytes - align_down(to, PAGE_BYTES));
        if (s == d && ranges_overlap(address, bytes, to, bytes))
            break;
        page_store_copy_bytes(model->store[d], to, model->store[s], address, bytes);
        memmove(model->bytes[d] + to, model->bytes[s] + address, bytes);
        assert_true(
            page_store_compare_bytes(model->store[d], to, model->store[s], address, bytes, NULL));
        break;
    case 4:
        buffer = malloc(bytes + 1);
        for (uint64_t i = 0; i < bytes; i++)
            buffer[i] = (uint8_t)rng_next(rng);
        page_store_write(model->store[s], address, buffer, bytes);
        memcpy(model->bytes[s] + address, buffer, bytes);
        free(buffer);
        break;
    case 5:
        if (model->mapping.address) {
            for (int i = 0; i < 4; i++)
                assert_memory_equal(model->mapping.address + (uint64_t)i * PAGE_BYTES,
                                    model->bytes[model->mapped_store] +
                                        model->mapped_pages[i] * PAGE_BYTES,
                                    PAGE_BYTES);
            page_store_unmap(model->store[model->mapped_store], &model->mapping);
        }
        model->mapped_store = s;
        for (int i = 0; i < 4; i++)
            model->mapped_pages[i] = rng_below(rng, MODEL_PAGES / 4) * 4 + (uint64_t)i;
        assert_true(page_store_map(model->store[s], model->mapped_pages, 4, &model->mapping));
        break;
    case 6:
        if (!model->mapping.address)
            break;
        to = rng_below(rng, 4);
        memset(model->mapping.address + to * PAGE_BYTES, (int)to, 100);
        memset(model->bytes[model->mapped_store] + model->mapped_pages[to] * PAGE_BYTES, (int)to,
               100);
        break;
    case 7:
        if (rng_chance(rng, 1, 10))
            page_store_trim(model->store[s]);
        page_store_make_bytes(model->store[s], address / PAGE_BYTES, bytes / PAGE_BYTES / 4);
        break;
    }
}

/* A store written in one go from the plain bytes must have the digest of the one that grew. */
static void assert_digest(struct page_store *store, const uint8_t *bytes)
{
    struct page_store *copy = new_store(MODEL_PAGES);

    page_store_write(copy, 0, bytes, MODEL_BYTES);
    assert_int_equal(page_store_digest(copy), page_store_digest(store));
    page_store_destroy(copy);
}

static void both_agree(struct model *model, uint8_t *buffer, uint64_t seed, int step)
{
    for (int s = 0; s < 2; s++) {
        page_store_read(model->store[s], 0, buffer, MODEL_BYTES);
        if (memcmp(buffer, model->bytes[s], MODEL_BYTES) != 0 || !page_store_check(model->store[s]))
            fail_msg("store %d differs after step %d of seed %d", s, step, (int)seed);
    }
}

static void random_operations_agree_with_plain_bytes(void **state)
{
    uint8_t *buffer = malloc(MODEL_BYTES);

    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct model model = {0};

        rng_init(&model.rng, seed);
        for (int s = 0; s < 2; s++) {
            model.store[s] = new_store(MODEL_PAGES);
            model.bytes[s] = calloc(1, MODEL_BYTES);
        }
        for (int step = 1; step <= 400; step++) {
            one_random_operation(&model);
            if (step % 20 == 0)
                both_agree(&model, buffer, seed, step);
        }
        if (model.mapping.address)
            page_store_unmap(model.store[model.mapped_store], &model.mapping);
        for (int s = 0; s < 2; s++) {
            assert_digest(model.store[s], model.bytes[s]);
            page_store_destroy(model.store[s]);
            free(model.bytes[s]);
        }
    }
    free(buffer);
}

static void every_difference_of_one_byte_is_found(void **state)
{
    struct page_store *a = new_store(8);
    struct page_store *b = new_store(8);
    struct rng rng;

    rng_init(&rng, 3);
    for (int i = 0; i < 2000; i++) {
        uint64_t at = rng_below(&rng, 8 * PAGE_BYTES);
        uint64_t start = rng_below(&rng, at + 1);
        uint64_t difference = 0;

        page_store_write_tag(a, 0, 8 * PAGE_BYTES, 40);
        page_store_copy(b, 0, a, 0, 8);
        page_store_bytes(b, at / PAGE_BYTES)[at % PAGE_BYTES] ^=
            (uint8_t)(1 + rng_below(&rng, 255));
        assert_false(
            page_store_compare_bytes(a, start, b, start, 8 * PAGE_BYTES - start, &difference));
        assert_int_equal(difference, at - start);
        assert_false(page_store_is_tag(b, start, 8 * PAGE_BYTES - start, 40 + start / PAGE_BYTES,
                                       &difference));
        assert_int_equal(difference, at - start);
    }
    page_store_destroy(a);
    page_store_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_store_reads_zero),
        cmocka_unit_test(untouched_ranges_are_counted),
        cmocka_unit_test(scattered_pages_are_the_same_until_one_differs_or_has_bytes),
        cmocka_unit_test(unlawful_sizes_and_lost_memory_give_null),
        cmocka_unit_test(whole_pages_stay_symbolic),
        cmocka_unit_test(a_run_of_plain_pages_is_looked_at_in_pieces),
        cmocka_unit_test(pages_that_continue_each_other_cost_a_record_for_512),
        cmocka_unit_test(pages_that_were_filled_one_by_one_are_joined),
        cmocka_unit_test(a_partial_tag_write_blends_at_the_same_offset),
        cmocka_unit_test(a_partial_write_of_what_is_there_changes_no_representation),
        cmocka_unit_test(tag_pages_differ_in_every_word_and_are_recognised),
        cmocka_unit_test(descriptions_name_what_is_there),
        cmocka_unit_test(equal_contents_have_equal_digests),
        cmocka_unit_test(a_mapping_shows_scattered_pages_in_order_and_stays_live),
        cmocka_unit_test(host_memory_of_overwritten_pages_is_given_back),
        cmocka_unit_test(a_store_on_spare_memory_reads_zero),
        cmocka_unit_test(memory_that_must_not_be_reused_is_given_back),
        cmocka_unit_test(a_child_does_not_use_spare_memory_of_its_parent),
        cmocka_unit_test(comparison_tells_the_first_byte_that_differs),
        cmocka_unit_test(real_bytes_on_both_sides_are_compared),
        cmocka_unit_test(random_operations_agree_with_plain_bytes),
        cmocka_unit_test(every_difference_of_one_byte_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
