/* Drivers that a compiler made: loaded, and their entries called. Skipped without the compilers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "image/image.h"
#include "image/rig/test_driver.h"

#include <stdlib.h>
#include <string.h>

#define COOKIE UINT64_C(0x0000feedc0ffee11)

typedef int(__attribute__((ms_abi)) * driver_entry)(void *object, void *path);

static __attribute__((ms_abi)) int64_t kernel_add(int64_t a, int64_t b)
{
    return a + b;
}

static __attribute__((ms_abi)) int64_t kernel_late(int64_t a)
{
    return 100 * a;
}

static uint64_t resolve(void *context, const struct image_import *import)
{
    bool *late_is_delayed = context;

    if (strcmp(import->module, "kernel.sys") == 0 && strcmp(import->name, "KernelAdd") == 0)
        return (uint64_t)(uintptr_t)kernel_add;
    if (strcmp(import->module, "late.sys") == 0 && strcmp(import->name, "KernelLate") == 0) {
        *late_is_delayed = import->is_delayed;
        return (uint64_t)(uintptr_t)kernel_late;
    }
    return 0;
}

static void load_and_enter(uint8_t *bytes, size_t size, struct image **out, bool *late_is_delayed)
{
    struct image_load_options options = {resolve, late_is_delayed, COOKIE};
    struct image_error error;

    assert_non_null(bytes);
    if (!image_open(base_services_libc(), bytes, size, out, &error) ||
        !image_load(*out, &options, &error))
        fail_msg("%s", error.text);
    for (int64_t a = 0; a < 50; a += 7)
        assert_int_equal(((driver_entry)(uintptr_t)image_entry(*out))((void *)a, NULL),
                         test_driver_result(a));
}

/* The function table knows the entry, and the symbol table its name. */
static void assert_entry_is_known(const struct image *image)
{
    struct image_function function;
    struct image_symbol symbol;

    assert_true(image_function_at(image, image_entry(image) + 4, &function));
    assert_int_equal(image_base(image) + function.begin_rva, image_entry(image));
    assert_true(image_symbol_at(image, image_entry(image) + 4, &symbol));
    assert_int_equal(symbol.kind, IMAGE_SYMBOL_COFF);
    assert_string_equal(symbol.name, "DriverEntry");
    assert_int_equal(symbol.offset, 4);
}

static void a_driver_of_clang_and_lld_runs(void **state)
{
    struct image *image;
    bool late_is_delayed = false;
    size_t size;
    uint8_t *bytes;

    if (!test_driver_has_clang()) {
        print_message("skipped: no clang, lld-link or llvm-dlltool here\n");
        skip();
    }
    bytes = test_driver_build(TEST_DRIVER_CLANG, &size);
    load_and_enter(bytes, size, &image, &late_is_delayed);
    assert_true(late_is_delayed);
    assert_entry_is_known(image);
    image_close(image);
    free(bytes);
}

static void a_driver_of_mingw_runs(void **state)
{
    struct image *image;
    bool late_is_delayed = false;
    size_t size;
    uint8_t *bytes;

    if (!test_driver_has_mingw()) {
        print_message("skipped: no x86_64-w64-mingw32-gcc here\n");
        skip();
    }
    bytes = test_driver_build(TEST_DRIVER_MINGW, &size);
    load_and_enter(bytes, size, &image, &late_is_delayed);
    assert_false(late_is_delayed);
    assert_entry_is_known(image);
    image_close(image);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_driver_of_clang_and_lld_runs),
        cmocka_unit_test(a_driver_of_mingw_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
