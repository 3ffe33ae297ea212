/* Logical pages: shown together, found page by page, hidden; and no memory for their table. */
#include "bench/board/platform_remap.h"

#include "base/bits.h"
#include "base/failing_services.h"
#include "machine/machine_iommu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Page 511 is the last of its leaf, page 512 the first of the next one. */
static const uint64_t pages[] = {7, 511, 512, 2000};
#define PAGES (sizeof pages / sizeof pages[0])

static struct machine *new_machine(const struct base_services *services)
{
    struct machine_config config;

    machine_config_defaults(&config, 1);
    config.ram_bytes = 16 * MiB;
    return machine_create(services, &config);
}

static void pages_have_logical_ones_while_they_are_shown(void **state)
{
    struct machine *machine = new_machine(base_services_libc());
    struct platform_remap remap = {0};
    uint64_t first, pfn;

    (void)state;
    assert_non_null(machine);
    assert_false(platform_remap_is_on(&remap));
    assert_true(platform_remap_init(&remap, machine));
    assert_true(platform_remap_is_on(&remap));
    assert_int_equal(platform_remap_logical(&remap, 7), 0); /* it has no leaf yet */
    assert_true(platform_remap_show(&remap, pages, PAGES));
    first = platform_remap_logical(&remap, 7);
    assert_true(first >= PLATFORM_LOGICAL_BASE);
    for (uint64_t i = 0; i < PAGES; i++) {
        assert_int_equal(platform_remap_logical(&remap, pages[i]), first + i);
        assert_true(machine_iommu_find(machine_iommu(machine), MACHINE_NO_PASID, first + i, &pfn));
        assert_int_equal(pfn, pages[i]);
    }
    assert_int_equal(platform_remap_logical(&remap, 8), 0); /* of a leaf that there is */
    platform_remap_hide(&remap, pages, PAGES);
    for (uint64_t i = 0; i < PAGES; i++)
        assert_int_equal(platform_remap_logical(&remap, pages[i]), 0);
    assert_int_equal(machine_iommu_mapped_pages(machine_iommu(machine)), 0);
    platform_remap_fini(&remap);
    assert_false(platform_remap_is_on(&remap));
    machine_destroy(machine);
}

/* Each page of three leaves, of which the middle one is whole, has a place of its own. */
static void a_range_is_hidden_whole(void **state)
{
    enum { FIRST = 500, COUNT = 600 };
    struct machine *machine = new_machine(base_services_libc());
    struct platform_remap remap = {0};
    uint64_t range[COUNT], first;

    (void)state;
    assert_non_null(machine);
    for (uint64_t i = 0; i < COUNT; i++)
        range[i] = FIRST + i;
    assert_true(platform_remap_init(&remap, machine));
    assert_true(platform_remap_show(&remap, range, COUNT));
    first = platform_remap_logical(&remap, FIRST);
    for (uint64_t i = 0; i < COUNT; i++)
        assert_int_equal(platform_remap_logical(&remap, FIRST + i), first + i);
    platform_remap_hide_range(&remap, FIRST, COUNT);
    for (uint64_t i = 0; i < COUNT; i++)
        assert_int_equal(platform_remap_logical(&remap, FIRST + i), 0);
    platform_remap_fini(&remap);
    machine_destroy(machine);
}

static void every_lost_allocation_shows_nothing(void **state)
{
    struct failing_services memory;

    (void)state;
    for (uint64_t n = 1;; n++) {
        struct platform_remap remap = {0};
        struct machine *machine;

        failing_services_init(&memory);
        machine = new_machine(&memory.services);
        assert_non_null(machine);
        failing_services_fail_at(&memory, n);
        if (platform_remap_init(&remap, machine) && !platform_remap_show(&remap, pages, PAGES)) {
            for (uint64_t i = 0; i < PAGES; i++)
                assert_int_equal(platform_remap_logical(&remap, pages[i]), 0);
            assert_int_equal(machine_iommu_mapped_pages(machine_iommu(machine)), 0);
            assert_true(platform_remap_show(&remap, pages, PAGES)); /* the next one fails not */
        }
        platform_remap_fini(&remap);
        machine_destroy(machine);
        assert_int_equal(memory.live_blocks, 0);
        if (!memory.has_failed)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_have_logical_ones_while_they_are_shown),
        cmocka_unit_test(a_range_is_hidden_whole),
        cmocka_unit_test(every_lost_allocation_shows_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
