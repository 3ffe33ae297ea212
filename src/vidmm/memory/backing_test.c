/* What a backing store holds at first, where the system does not hand out zeroed pages. */
#include "vidmm/memory/page_units.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#include "base/bits.h"

#define PATTERN 0xa5c3f00du

static struct {
    uint8_t *memory; /* what map_pages() gave */
    uint64_t page_count;
    unsigned filled, mapped; /* calls */
    const uint64_t *pages;
    uint32_t pattern;
    bool fails;
} seen;

static void *map_pages(void *context, uint64_t count, const uint64_t *pages)
{
    if (seen.fails)
        return NULL;
    for (uint64_t i = 0; i < count; i++)
        rig_page(context, 0, pages[i]); /* which were given out */
    seen.mapped++;
    seen.page_count = count;
    seen.memory = calloc(count + 1, PAGE_BYTES);
    EXPECT(seen.memory);
    return seen.memory;
}

static void unmap_pages(void *context, void *address, uint64_t count)
{
    const uint32_t *words = address;
    uint64_t word_count = PAGE_BYTES_OF(count) / sizeof *words;

    EXPECT(address == seen.memory && count == seen.page_count);
    for (uint64_t i = 0; i < word_count; i++)
        EXPECT(words[i] == PATTERN);
    EXPECT(words[word_count] == 0); /* and no word behind */
    free(address);
}

static void fill_pages(void *context, uint64_t count, const uint64_t *pages, uint32_t pattern)
{
    seen.filled++;
    seen.page_count = count;
    seen.pattern = pattern;
    for (uint64_t i = 0; i < count; i++)
        rig_page(context, 0, pages[i]);
}

static struct rig *start(bool can_fill, uint32_t pattern)
{
    struct rig_config config = rig_model(0);
    struct rig *rig = rig_new(&config);

    memset(&seen, 0, sizeof seen);
    rig->manager.fill_pattern = pattern;
    rig->manager.platform.map_pages = map_pages;
    rig->manager.platform.unmap_pages = unmap_pages;
    rig->manager.platform.fill_pages = can_fill ? fill_pages : NULL;
    assert_int_equal(rig_start(rig), STATUS_SUCCESS);
    assert_int_equal(rig_open(rig), STATUS_SUCCESS);
    return rig;
}

/* By the platform where it can, else word by word; once, before anybody has written to it. */
static void a_new_backing_store_holds_the_pattern(void **state)
{
    for (unsigned can_fill = 0; can_fill < 2; can_fill++) {
        struct rig *rig = start(can_fill, PATTERN);
        struct rig_object object;

        rig_object(rig, 5, 1, &object);
        for (unsigned turn = 0; turn < 2; turn++) {
            rig_lock(rig, &object);
            vidmm_unlock(object.allocation);
            assert_int_equal(seen.filled, can_fill);
            assert_int_equal(seen.mapped, !can_fill);
            assert_int_equal(seen.page_count, 5);
            assert_int_equal(seen.pattern, can_fill ? PATTERN : 0);
        }
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

static void zeroed_pages_are_not_written(void **state)
{
    for (unsigned can_fill = 0; can_fill < 2; can_fill++) {
        struct rig *rig = start(can_fill, 0);
        struct rig_object object;

        rig_object(rig, 5, 1, &object);
        rig_cpu(rig, &object, true);
        assert_int_equal(seen.filled + seen.mapped, 0);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

static void pages_that_cannot_be_mapped_are_given_back(void **state)
{
    struct rig *rig = start(false, PATTERN);
    struct rig_object object;
    uint64_t taken = rig->taken_pages;

    rig_object(rig, 5, 1, &object);
    seen.fails = true;
    assert_int_equal(vidmm_lock(object.allocation), STATUS_NO_MEMORY);
    assert_int_equal(rig->taken_pages, taken);
    seen.fails = false;
    assert_int_equal(vidmm_lock(object.allocation), STATUS_SUCCESS);
    assert_int_equal(rig->taken_pages, taken + 5);
    vidmm_unlock(object.allocation);
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_backing_store_holds_the_pattern),
        cmocka_unit_test(zeroed_pages_are_not_written),
        cmocka_unit_test(pages_that_cannot_be_mapped_are_given_back),
    };

    return cmocka_run_group_tests_name("vidmm/backing", tests, NULL, NULL);
}
