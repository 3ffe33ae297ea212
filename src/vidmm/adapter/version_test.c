/*
 * The library and the header that a program was built with are of one version, or it is told.
 */
#include "vidmm/adapter/recovery.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void the_version_is_that_of_the_library(void **state)
{
    assert_string_equal(vidmm_version(), DRYDOCK_VERSION);
}

static void a_configuration_of_another_size_is_refused(void **state)
{
    const struct vidmm_config config = {.paging_buffer_count = 1};
    const size_t sizes[] = {0, sizeof config - 8, sizeof config + 8};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct vidmm *vidmm = (struct vidmm *)&config;

        assert_int_equal(vidmm_create_sized(NULL, &config, sizes[i], &vidmm),
                         STATUS_REVISION_MISMATCH);
        assert_null(vidmm);
    }
}

/* No more times of resets are kept than there is room for; 0 is no limit. */
static void more_resets_than_can_be_kept_are_not_counted(void **state)
{
    static const unsigned limits[] = {0, 1, VIDMM_MAX_TIMEOUT_LIMIT, VIDMM_MAX_TIMEOUT_LIMIT + 1,
                                      UINT32_MAX};

    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        const struct vidmm_config config = {.platform.services = base_services_libc(),
                                            .timeout_limit = limits[i]};
        struct vidmm *vidmm = NULL;

        assert_int_equal(vidmm_create(NULL, &config, &vidmm), STATUS_SUCCESS);
        assert_int_equal(vidmm->config.timeout_limit, i < 3 ? limits[i] : VIDMM_MAX_TIMEOUT_LIMIT);
        vidmm_destroy(vidmm);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_version_is_that_of_the_library),
        cmocka_unit_test(a_configuration_of_another_size_is_refused),
        cmocka_unit_test(more_resets_than_can_be_kept_are_not_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
