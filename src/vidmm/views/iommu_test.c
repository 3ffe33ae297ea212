/* The IoMmu model needs four functions of the platform. Whole runs go by its addresses (bench). */
#include "vidmm/views/iommu.h"

#include "vidmm/rig/test_rig.h"
#include "vidmm/vidmm.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_platform_has_all_functions_of_the_iommu_or_the_model_is_refused),
    };

    return cmocka_run_group_tests_name("vidmm/iommu", tests, NULL, NULL);
}
