/*
 * The library and the header that a program was built with are of one version, or it is told.
 */
#include "vidmm/vidmm.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_version_is_that_of_the_library),
        cmocka_unit_test(a_configuration_of_another_size_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
