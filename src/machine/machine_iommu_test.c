/*
 * The IOMMU against the plainest table: an array of page numbers a space.
 */
#include "machine/machine_iommu.h"

#include "base/bits.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define SPACES 3u
#define PAGES  2048u
#define BASE   (MACHINE_IOMMU_PAGES - PAGES) /* the highest pages: every level is used */

static void a_space_is_reached_by_its_pasid_only(void **state)
{
    struct machine_iommu *iommu = machine_iommu_create(base_services_libc());
    const uint64_t pfns[] = {7, 5};
    uint32_t first, second;
    uint64_t page;

    assert_true(machine_iommu_space_create(iommu, &first));
    assert_true(machine_iommu_space_create(iommu, &second));
    assert_int_not_equal(first, MACHINE_NO_PASID);
    assert_int_not_equal(first, second);
    assert_true(machine_iommu_map(iommu, first, 100, 2, pfns));
    assert_true(machine_iommu_find(iommu, first, 101, &page));
    assert_int_equal(page, 5);
    assert_false(machine_iommu_find(iommu, second, 101, &page));
    assert_false(machine_iommu_find(iommu, MACHINE_NO_PASID, 101, &page));
    machine_iommu_space_destroy(iommu, first);
    assert_false(machine_iommu_find(iommu, first, 101, &page));
    assert_int_equal(machine_iommu_mapped_pages(iommu), 0);
    assert_true(machine_iommu_space_create(iommu, &first)); /* the number again, empty */
    assert_false(machine_iommu_find(iommu, first, 101, &page));
    machine_iommu_destroy(iommu);
}

static void a_page_is_mapped_once_and_a_failed_map_changes_nothing(void **state)
{
    struct machine_iommu *iommu = machine_iommu_create(base_services_libc());
    const uint64_t pfns[] = {1, 2, 3};
    uint64_t page;

    assert_true(machine_iommu_map(iommu, MACHINE_NO_PASID, 12, 1, pfns));
    assert_false(machine_iommu_map(iommu, MACHINE_NO_PASID, 10, 3, pfns));
    assert_false(machine_iommu_find(iommu, MACHINE_NO_PASID, 10, &page));
    assert_true(machine_iommu_find(iommu, MACHINE_NO_PASID, 12, &page));
    assert_int_equal(page, 1);
    assert_false(machine_iommu_map(iommu, MACHINE_NO_PASID, MACHINE_IOMMU_PAGES - 1, 2, pfns));
    assert_false(machine_iommu_map(iommu, 9, 0, 1, pfns));
    assert_int_equal(machine_iommu_mapped_pages(iommu), 1);
    machine_iommu_destroy(iommu);
}

static void random_ops_agree_with_an_array(void **state)
{
    static uint64_t expected[SPACES][PAGES]; /* pfn + 1 */
    struct machine_iommu *iommu = machine_iommu_create(base_services_libc());
    uint64_t pfns[64];
    struct rng rng;
    uint32_t pasid;

    memset(expected, 0, sizeof expected);
    rng_init(&rng, 11);
    for (uint32_t i = 1; i < SPACES; i++)
        assert_true(machine_iommu_space_create(iommu, &pasid));
    for (unsigned step = 0; step < 20000; step++) {
        uint64_t random = rng_next(&rng);
        uint32_t space = (uint32_t)(random % SPACES);
        uint64_t first = (random >> 8) % PAGES;
        uint64_t count = 1 + (random >> 32) % min_u64(64, PAGES - first);
        uint64_t page;

        if (random >> 63) {
            bool is_free = true;

            for (uint64_t i = 0; i < count; i++) {
                pfns[i] = rng_next(&rng) >> 20;
                is_free = is_free && !expected[space][first + i];
            }
            assert_int_equal(machine_iommu_map(iommu, space, BASE + first, count, pfns), is_free);
            for (uint64_t i = 0; is_free && i < count; i++)
                expected[space][first + i] = pfns[i] + 1;
        } else {
            machine_iommu_unmap(iommu, space, BASE + first, count);
            memset(&expected[space][first], 0, count * sizeof expected[0][0]);
        }
        first = rng_next(&rng) % PAGES;
        assert_int_equal(machine_iommu_find(iommu, space, BASE + first, &page),
                         expected[space][first] != 0);
        assert_int_equal(page, expected[space][first] ? expected[space][first] - 1 : 0);
    }
    machine_iommu_destroy(iommu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_space_is_reached_by_its_pasid_only),
        cmocka_unit_test(a_page_is_mapped_once_and_a_failed_map_changes_nothing),
        cmocka_unit_test(random_ops_agree_with_an_array),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
