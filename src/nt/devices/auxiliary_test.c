/*
 * The Auxiliary Kernel-Mode Library for a driver that is linked in; for an image: services.c of
 * tests/images.
 */
#include "nt/rig/test_kernel.h"

#include <aux_klib.h>

/* 'ACPI', 'RSMB' and a provider that there is none of. */
#define ACPI 0x41435049u
#define RSMB 0x52534d42u
#define NONE 0x4e4f4e45u

static void all_but_one_are_called_behind_AuxKlibInitialize(void **state)
{
    KBUGCHECK_DATA data = {.BugCheckDataSize = sizeof data};
    struct test_kernel *kernel = *state;
    ULONG bytes = 8;

    assert_int_equal(AuxKlibQueryModuleInformation(&bytes, sizeof(AUX_MODULE_BASIC_INFO), NULL),
                     STATUS_UNSUCCESSFUL);
    assert_string_equal(kernel->misuse,
                        "AuxKlibQueryModuleInformation is called before AuxKlibInitialize");
    assert_int_equal(AuxKlibGetBugCheckData(&data), STATUS_UNSUCCESSFUL);
    assert_null(AuxKlibGetImageExportDirectory(&data));
    assert_int_equal(AuxKlibEnumerateSystemFirmwareTables(ACPI, NULL, 0, &bytes),
                     STATUS_UNSUCCESSFUL);
    assert_int_equal(kernel->misuse_count, 4);
    assert_int_equal(bytes, 8);
    assert_int_equal(AuxKlibInitialize(), STATUS_SUCCESS);
    assert_int_equal(AuxKlibQueryModuleInformation(&bytes, sizeof(AUX_MODULE_BASIC_INFO), NULL),
                     STATUS_SUCCESS);
    assert_int_equal(kernel->misuse_count, 4);
}

static void without_an_image_there_are_no_modules(void **state)
{
    AUX_MODULE_EXTENDED_INFO info = {.ImageSize = 7};
    ULONG bytes = sizeof info;

    AuxKlibInitialize();
    assert_int_equal(AuxKlibQueryModuleInformation(&bytes, sizeof info, &info), STATUS_SUCCESS);
    assert_int_equal(bytes, 0);
    assert_int_equal(info.ImageSize, 7);
    assert_int_equal(AuxKlibQueryModuleInformation(&bytes, 12, NULL), STATUS_INVALID_PARAMETER);
}

static void no_module_is_at_another_address(void **state)
{
    struct test_kernel *kernel = *state;

    AuxKlibInitialize();
    assert_null(AuxKlibGetImageExportDirectory(kernel));
    assert_int_equal(kernel->misuse_count, 1);
    assert_non_null(strstr(kernel->misuse, "AuxKlibQueryModuleInformation has not told"));
}

static void there_is_no_bug_check_to_ask_about(void **state)
{
    KBUGCHECK_DATA data = {.BugCheckDataSize = 8, .BugCheckCode = 5};
    struct test_kernel *kernel = *state;

    AuxKlibInitialize();
    assert_int_equal(AuxKlibGetBugCheckData(&data), STATUS_INFO_LENGTH_MISMATCH);
    assert_int_equal(kernel->misuse_count, 0);
    data.BugCheckDataSize = sizeof data;
    assert_int_equal(AuxKlibGetBugCheckData(&data), STATUS_SUCCESS);
    assert_int_equal(data.BugCheckCode, 0);
    assert_int_equal(kernel->misuse_count, 1);
}

static void firmware_has_no_tables(void **state)
{
    ULONG length = 9;

    AuxKlibInitialize();
    assert_int_equal(AuxKlibEnumerateSystemFirmwareTables(ACPI, NULL, 0, &length), STATUS_SUCCESS);
    assert_int_equal(length, 0);
    assert_int_equal(AuxKlibGetSystemFirmwareTable(RSMB, 0, NULL, 0, &length), STATUS_NOT_FOUND);
    assert_int_equal(AuxKlibGetSystemFirmwareTable(NONE, 0, NULL, 0, &length),
                     STATUS_INVALID_PARAMETER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(all_but_one_are_called_behind_AuxKlibInitialize),
        KERNEL_TEST(without_an_image_there_are_no_modules),
        KERNEL_TEST(no_module_is_at_another_address),
        KERNEL_TEST(there_is_no_bug_check_to_ask_about),
        KERNEL_TEST(firmware_has_no_tables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
