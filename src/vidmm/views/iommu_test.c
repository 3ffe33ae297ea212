/* The IoMmu model: the addresses of a process show the pages of backing stores, as long as they
 * may. */
#include "vidmm/views/iommu.h"

#include "vidmm/memory/page_units.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#include "base/bits.h"

static NTSTATUS create_space(void *context, uint32_t *out_pasid)
{
    return STATUS_NOT_SUPPORTED;
}

static void destroy_space(void *context, uint32_t pasid)
{
}

static NTSTATUS map_space(void *context, uint32_t pasid, uint64_t va, uint64_t count,
                          const uint64_t *pages)
{
    return STATUS_NOT_SUPPORTED;
}

static void unmap_space(void *context, uint32_t pasid, uint64_t va, uint64_t count)
{
}

/* RES-017: an adapter is refused when one of them is missing, whichever that is. */
static void the_platform_has_all_functions_of_the_iommu_or_the_model_is_refused(void **state)
{
    struct vidmm *vidmm = test_calloc(1, sizeof *vidmm);
    struct vidmm_platform *platform = &vidmm->config.platform;

    for (unsigned given = 0; given < 16; given++) {
        platform->create_space = given & 1 ? create_space : NULL;
        platform->destroy_space = given & 2 ? destroy_space : NULL;
        platform->map_space = given & 4 ? map_space : NULL;
        platform->unmap_space = given & 8 ? unmap_space : NULL;
        vidmm->caps.is_virtual = true;
        assert_int_equal(iommu_check(vidmm), given == 15 ? STATUS_SUCCESS : STATUS_NOT_SUPPORTED);
        vidmm->caps.has_page_tables = true;
        assert_int_equal(iommu_check(vidmm), STATUS_SUCCESS);
        vidmm->caps.has_page_tables = vidmm->caps.is_virtual = false;
        assert_int_equal(iommu_check(vidmm), STATUS_SUCCESS);
    }
    test_free(vidmm);
}

static ULONG newer_version(struct miniport *self)
{
    return DXGKDDI_INTERFACE_VERSION_WDDM2_9;
}

static NTSTATUS (*query_caps)(struct miniport *self, HANDLE adapter,
                              const DXGKARG_QUERYADAPTERINFO *query);

static NTSTATUS query_with_lists(struct miniport *self, HANDLE adapter,
                                 const DXGKARG_QUERYADAPTERINFO *query)
{
    NTSTATUS status = query_caps(self, adapter, query);

    if (query->Type == DXGKQAITYPE_DRIVERCAPS)
        ((DXGK_DRIVERCAPS *)query->pOutputData)->MemoryManagementCaps.MapAperture2Supported = 1;
    return status;
}

static uint64_t same_page(void *context, uint64_t page)
{
    return page;
}

/* ADL-001: a driver behind an IOMMU that remaps takes address lists, and says so early. */
static void a_driver_starts_behind_an_iommu_that_remaps_if_it_has_both_caps(void **state)
{
    for (unsigned variant = 0; variant < 8; variant++) {
        bool remaps = variant & 1, can_remap = variant & 2, has_lists = variant & 4;
        bool is_refused = remaps && !(can_remap && has_lists);
        const struct rig_config config = rig_model(1);
        struct rig *rig = rig_new(&config);
        struct vidmm_failure failure;
        NTSTATUS status;

        rig->manager.platform.device_page = remaps ? same_page : NULL;
        rig->manager.early.can_remap = can_remap;
        query_caps = rig->ops.query_adapter_info;
        rig->ops.interface_version = newer_version;
        if (has_lists)
            rig->ops.query_adapter_info = query_with_lists;
        assert_int_equal(vidmm_create(rig->top, &rig->manager, &rig->vidmm), STATUS_SUCCESS);
        status = vidmm_start(rig->vidmm, &failure);
        assert_int_equal(status, is_refused ? STATUS_NOT_SUPPORTED : STATUS_SUCCESS);
        if (is_refused) {
            assert_string_equal(failure.rule, "ADL-001");
            vidmm_destroy(rig->vidmm);
            rig->vidmm = NULL;
        }
        rig_free(rig);
    }
}

/* ---- Spaces ---------------------------------------------------------------------------------- */

#define SPACE_PAGES  4096u
#define SYSTEM_PAGES 64u

/* What the IOMMU shows of the one process: at each address a system page. */
static struct {
    bool is_open;
    struct {
        uint64_t va, page;
    } shown[SPACE_PAGES];
    uint64_t count;
    unsigned failing_map; /* the call, from now on, that fails; 0: none */
} space;

static NTSTATUS open_space(void *context, uint32_t *out_pasid)
{
    EXPECT(!space.is_open && !space.count);
    space.is_open = true;
    *out_pasid = 7;
    return STATUS_SUCCESS;
}

static void close_space(void *context, uint32_t pasid)
{
    EXPECT(space.is_open && pasid == 7 && !space.count);
    space.is_open = false;
}

/* Where in shown[] the page of the address is; space.count: nowhere. */
static uint64_t find(uint64_t va)
{
    uint64_t i = 0;

    while (i < space.count && space.shown[i].va != va)
        i++;
    return i;
}

static NTSTATUS show(void *context, uint32_t pasid, uint64_t va, uint64_t count,
                     const uint64_t *pages)
{
    EXPECT(space.is_open && pasid == 7 && va && is_aligned(va, PAGE_BYTES) && count);
    if (space.failing_map && --space.failing_map == 0)
        return STATUS_NO_MEMORY;
    for (uint64_t i = 0; i < count; i++) {
        EXPECT(find(va + PAGE_BYTES_OF(i)) == space.count && space.count < SPACE_PAGES);
        rig_page(context, 0, pages[i]); /* which the platform has given out */
        space.shown[space.count].va = va + PAGE_BYTES_OF(i);
        space.shown[space.count++].page = pages[i];
    }
    return STATUS_SUCCESS;
}

static void hide(void *context, uint32_t pasid, uint64_t va, uint64_t count)
{
    EXPECT(space.is_open && pasid == 7 && count);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = find(va + PAGE_BYTES_OF(i));

        EXPECT(at < space.count);
        rig_page(context, 0, space.shown[at].page); /* not given back before */
        space.shown[at] = space.shown[--space.count];
    }
}

static struct rig *start(void)
{
    struct rig_config config = rig_model(1);
    struct rig *rig;

    memset(&space, 0, sizeof space);
    config.is_iommu = true;
    config.hides_address = true;
    config.system_pages = SYSTEM_PAGES;
    rig = rig_new(&config);
    rig->manager.platform.create_space = open_space;
    rig->manager.platform.destroy_space = close_space;
    rig->manager.platform.map_space = show;
    rig->manager.platform.unmap_space = hide;
    assert_int_equal(rig_start(rig), STATUS_SUCCESS);
    assert_int_equal(rig_open(rig), STATUS_SUCCESS);
    assert_true(space.is_open);
    return rig;
}

static NTSTATUS map_part(struct rig *rig, const struct rig_object *object, uint64_t first,
                         uint64_t pages, uint64_t *out_va)
{
    return vidmm_map_gpu_va(rig->process,
                            &(struct vidmm_map_request){.allocation = object->allocation,
                                                        .offset = PAGE_BYTES_OF(first),
                                                        .bytes = PAGE_BYTES_OF(pages)},
                            out_va);
}

/* The address shows these pages of the object, which the CPU sees too. */
static void assert_shown(struct rig *rig, struct rig_object *object, uint64_t va, uint64_t first,
                         uint64_t pages)
{
    rig_lock(rig, object);
    rig_touch_locked(rig, object, true);
    for (uint64_t i = 0; i < pages; i++) {
        uint64_t at = find(va + PAGE_BYTES_OF(i));

        assert_true(at < space.count);
        assert_int_equal(PAGE_BYTES_OF(space.shown[at].page),
                         vidmm_locked_page_address(object->allocation, first + i));
    }
    vidmm_unlock(object->allocation);
}

static void a_mapping_shows_the_pages_of_the_backing_store_until_it_goes(void **state)
{
    struct rig *rig = start();
    struct rig_object object, other;
    uint64_t whole, part, theirs;

    rig_object(rig, 9, 2, &object);
    rig_object(rig, 3, 2, &other);
    assert_int_equal(map_part(rig, &object, 0, 9, &whole), STATUS_SUCCESS);
    assert_int_equal(map_part(rig, &object, 4, 5, &part), STATUS_SUCCESS);
    assert_int_equal(map_part(rig, &other, 1, 1, &theirs), STATUS_SUCCESS);
    rig_drain(rig);
    assert_int_equal(space.count, 9 + 5 + 1);
    assert_shown(rig, &object, whole, 0, 9);
    assert_shown(rig, &object, part, 4, 5);
    assert_shown(rig, &other, theirs, 1, 1);
    assert_int_equal(vidmm_unmap_gpu_va(rig->process, whole, NULL, NULL), STATUS_SUCCESS);
    rig_drain(rig);
    assert_int_equal(space.count, 5 + 1);
    assert_shown(rig, &object, part, 4, 5);
    rig_destroy_object(rig, &object); /* with its other mapping */
    rig_drain(rig);
    assert_int_equal(space.count, 1);
    rig_destroy_object(rig, &other);
    rig_free(rig);
    assert_false(space.is_open || space.count);
}

static void a_mapping_that_cannot_be_shown_is_none(void **state)
{
    struct rig *rig = start();
    struct rig_object object;
    uint64_t va, other;

    rig_object(rig, 4, 2, &object);
    space.failing_map = 1;
    assert_int_equal(map_part(rig, &object, 0, 4, &va), STATUS_NO_MEMORY);
    assert_true(va == 0 && space.count == 0);
    assert_int_equal(map_part(rig, &object, 0, 4, &va), STATUS_SUCCESS);
    space.failing_map = 1;
    assert_int_equal(map_part(rig, &object, 1, 2, &other), STATUS_NO_MEMORY);
    rig_drain(rig);
    assert_int_equal(space.count, 4);
    assert_shown(rig, &object, va, 0, 4);
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

/* Its store goes when it is dropped, and the next one is shown at the same addresses. */
static void what_was_offered_and_dropped_is_shown_again_when_it_has_a_store(void **state)
{
    struct rig *rig = start();
    struct rig_object object, other, third;
    struct rig_done done = {0};
    enum vidmm_reclaim_result result;
    uint64_t first, second, fence;

    rig_object(rig, 6, 2, &object);
    assert_int_equal(map_part(rig, &object, 0, 6, &first), STATUS_SUCCESS);
    assert_int_equal(map_part(rig, &object, 2, 3, &second), STATUS_SUCCESS);
    rig_drain(rig);
    assert_int_equal(vidmm_offer(rig->device, 1, &object.allocation, VIDMM_OFFER_LOW),
                     STATUS_SUCCESS);
    rig_drain(rig);
    assert_int_equal(space.count, 6 + 3);
    rig_object(rig, SYSTEM_PAGES - rig->taken_pages, 2, &other); /* all that are left */
    rig_cpu(rig, &other, true);
    rig_object(rig, 1, 2, &third); /* one more */
    rig_cpu(rig, &third, true);
    assert_int_equal(space.count, 0);
    rig_destroy_object(rig, &other);
    rig_destroy_object(rig, &third);
    rig_drain(rig);
    vidmm_reclaim(rig->device, 1, &object.allocation, &result, rig_done, &done, &fence);
    rig_drain(rig);
    assert_int_equal(result, VIDMM_RECLAIM_DISCARDED);
    memset(object.driver->model, 0, 6 * sizeof *object.driver->model);
    rig_cpu(rig, &object, true);
    assert_int_equal(space.count, 6 + 3);
    assert_shown(rig, &object, first, 0, 6);
    assert_shown(rig, &object, second, 2, 3);
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mapping_shows_the_pages_of_the_backing_store_until_it_goes),
        cmocka_unit_test(a_mapping_that_cannot_be_shown_is_none),
        cmocka_unit_test(what_was_offered_and_dropped_is_shown_again_when_it_has_a_store),
        cmocka_unit_test(the_platform_has_all_functions_of_the_iommu_or_the_model_is_refused),
        cmocka_unit_test(a_driver_starts_behind_an_iommu_that_remaps_if_it_has_both_caps),
    };

    return cmocka_run_group_tests_name("vidmm/iommu", tests, NULL, NULL);
}
