#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/failing_services.h"
#include "image/image.h"
#include "image/rig/test_image.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COOKIE UINT64_C(0x0000123456789abc)

typedef int64_t(__attribute__((ms_abi)) * driver_function)(int64_t);

struct calls {
    unsigned resolved, delayed;
};

static __attribute__((ms_abi)) int64_t triple(int64_t value)
{
    return 3 * value;
}

static __attribute__((ms_abi)) int64_t seventh(int64_t value)
{
    return value + 7;
}

static __attribute__((ms_abi)) int64_t offset_by_one(int64_t value)
{
    return value + 1;
}

static __attribute__((ms_abi)) int64_t negate(int64_t value)
{
    return -value;
}

static uint64_t resolve(void *context, const struct image_import *import)
{
    struct calls *calls = context;

    calls->resolved++;
    calls->delayed += import->is_delayed;
    if (!import->name)
        return import->ordinal == 7 ? (uint64_t)(uintptr_t)seventh : 0;
    if (strcmp(import->module, "alpha.sys") == 0 && strcmp(import->name, "Triple") == 0)
        return (uint64_t)(uintptr_t)triple;
    if (strcmp(import->module, "beta.sys") == 0 && strcmp(import->name, "Offset") == 0)
        return (uint64_t)(uintptr_t)offset_by_one;
    if (strcmp(import->module, "gamma.sys") == 0 && strcmp(import->name, "Delayed") == 0)
        return (uint64_t)(uintptr_t)negate;
    return 0;
}

struct fixture {
    struct test_image file;
    struct image *image;
    struct image_error error;
    struct calls calls;
};

static bool open_file(struct fixture *fixture)
{
    return image_open(base_services_libc(), fixture->file.bytes, sizeof fixture->file.bytes,
                      &fixture->image, &fixture->error);
}

static bool load(struct fixture *fixture)
{
    struct image_load_options options = {resolve, &fixture->calls, COOKIE};

    return image_load(fixture->image, &options, &fixture->error);
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);

    test_image_build(&fixture->file);
    *state = fixture;
    return 0;
}

/* The good image, open and loaded. */
static int set_up_loaded(void **state)
{
    struct fixture *fixture;

    set_up(state);
    fixture = *state;
    if (!open_file(fixture) || !load(fixture))
        fail_msg("%s", fixture->error.text);
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    image_close(fixture->image);
    free(fixture);
    return 0;
}

static int64_t call(const struct fixture *fixture, uint32_t rva, int64_t argument)
{
    return ((driver_function)(uintptr_t)(image_base(fixture->image) + rva))(argument);
}

static void code_runs_with_its_imports_and_relocations(void **state)
{
    struct fixture *fixture = *state;

    assert_true(image_base(fixture->image) >= 4 * GiB);
    assert_true(is_aligned(image_base(fixture->image), 64 * KiB));
    assert_int_equal(image_entry(fixture->image), image_base(fixture->image) + RVA_ENTRY);
    assert_int_equal(image_size(fixture->image), TEST_IMAGE_BYTES);
    assert_int_equal(fixture->calls.resolved, TEST_IMAGE_IMPORTS);
    assert_int_equal(fixture->calls.delayed, 1);
    assert_int_equal(call(fixture, RVA_ENTRY, 5), 5 * 3 + 7 + 1000);
    assert_int_equal(call(fixture, RVA_CALL_OFFSET, 41), 42);
    assert_int_equal(call(fixture, RVA_CALL_DELAYED, 41), -41);
}

static void guarded_calls_reach_their_targets(void **state)
{
    struct fixture *fixture = *state;
    uint64_t slots[5];

    assert_int_equal(call(fixture, RVA_GUARDED, 12), 144);
    memcpy(slots, (const void *)(uintptr_t)(image_base(fixture->image) + RVA_GUARD_SLOTS),
           sizeof slots);
    assert_int_equal(slots[2], slots[0]); /* XFG: check, dispatch, dispatch by table */
    assert_int_equal(slots[3], slots[1]);
    assert_int_equal(slots[4], slots[1]);
}

static void a_short_load_configuration_has_no_guards(void **state)
{
    struct fixture *fixture = *state;
    uint64_t slots[5];

    test_image_put_rva(&fixture->file, RVA_CONFIG, 4, 128); /* up to the dispatch pointer */
    assert_true(open_file(fixture));
    assert_true(load(fixture));
    memcpy(slots, (const void *)(uintptr_t)(image_base(fixture->image) + RVA_GUARD_SLOTS),
           sizeof slots);
    assert_int_not_equal(slots[1], 0);
    assert_int_equal(slots[2], 0);
    assert_int_equal(slots[4], 0);
}

static void the_cookie_has_the_value_of_the_caller(void **state)
{
    struct fixture *fixture = *state;

    assert_true(call(fixture, RVA_READ_COOKIE, 0) == (int64_t)COOKIE);
}

static void a_cookie_that_a_driver_would_not_take_is_refused(void **state)
{
    static const uint64_t cookies[] = {0, IMAGE_DEFAULT_COOKIE, UINT64_C(0x0001000000000000)};
    struct fixture *fixture = *state;
    struct image_load_options options = {resolve, &fixture->calls, 0};

    assert_true(open_file(fixture));
    for (size_t i = 0; i < ARRAY_COUNT(cookies); i++) {
        options.security_cookie = cookies[i];
        assert_false(image_load(fixture->image, &options, &fixture->error));
        assert_non_null(strstr(fixture->error.text, "security cookie"));
        assert_int_equal(image_base(fixture->image), 0);
    }
}

static void data_behind_the_file_is_zero_and_can_be_written(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(call(fixture, RVA_COUNT, 0), 1);
    assert_int_equal(call(fixture, RVA_COUNT, 0), 2);
}

static void it_can_be_loaded_again_and_begins_anew(void **state)
{
    struct fixture *fixture = *state;

    assert_false(load(fixture));
    assert_non_null(strstr(fixture->error.text, "is loaded already"));
    call(fixture, RVA_COUNT, 0);
    image_unload(fixture->image);
    assert_int_equal(image_base(fixture->image), 0);
    assert_int_equal(image_entry(fixture->image), 0);
    assert_false(image_contains(fixture->image, RVA_ENTRY));
    assert_true(load(fixture));
    assert_int_equal(call(fixture, RVA_COUNT, 0), 1);
}

/* ---- Protections ----------------------------------------------------------------------------- */

/* "r-xp" and its like for an address of this process; "" where nothing is mapped. */
static void protection_at(uint64_t address, char out[5])
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];

    assert_non_null(maps);
    out[0] = '\0';
    while (fgets(line, sizeof line, maps)) {
        uint64_t begin, end;
        char protection[5];

        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &begin, &end, protection) == 3 &&
            address >= begin && address < end)
            memcpy(out, protection, sizeof protection);
    }
    fclose(maps);
}

static void sections_are_protected_by_their_flags(void **state)
{
    static const struct {
        int64_t rva;
        const char *protection;
    } places[] = {
        {-1, "---p"},
        {0, "r--p"},
        {RVA_TEXT, "r-xp"},
        {RVA_RDATA, "r--p"},
        {RVA_DATA, "rw-p"},
        {RVA_COUNTER, "rw-p"},
        {RVA_INIT, "rwxp"},
        {RVA_RELOC, "r--p"},
        {TEST_IMAGE_BYTES, "---p"},
        {TEST_IMAGE_BYTES + 4096, "r-xp"},
    };
    struct fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_COUNT(places); i++) {
        char protection[5];

        protection_at(image_base(fixture->image) + (uint64_t)places[i].rva, protection);
        assert_string_equal(protection, places[i].protection);
    }
}

static void count_remark(void *context, const char *text)
{
    char *all = context;

    strcat(strcat(all, text), ";");
}

static void a_section_that_is_written_and_executed_is_remarked(void **state)
{
    struct fixture *fixture = *state;
    char remarks[512] = "";

    image_for_each_remark(fixture->image, count_remark, remarks);
    assert_string_equal(remarks, "section 3 'INIT' can be written and executed;");
}

/* ---- Queries --------------------------------------------------------------------------------- */

static void addresses_are_found(void **state)
{
    struct fixture *fixture = *state;
    uint64_t base = image_base(fixture->image);
    struct image_function function;

    assert_false(image_contains(fixture->image, base - 1));
    assert_true(image_contains(fixture->image, base));
    assert_true(image_contains(fixture->image, base + TEST_IMAGE_BYTES - 1));
    assert_false(image_contains(fixture->image, base + TEST_IMAGE_BYTES));
    assert_null(image_section_at(fixture->image, base));
    assert_string_equal(image_section_at(fixture->image, base + RVA_TEXT)->name, ".text");
    assert_string_equal(image_section_at(fixture->image, base + RVA_COUNTER)->name, ".data");
    assert_int_equal(image_section_count(fixture->image), TEST_IMAGE_SECTIONS);
    assert_int_equal(image_section(fixture->image, 2)->bytes, 0x2000);
    assert_int_equal(image_section(fixture->image, 2)->file_bytes, 0x400);
    assert_true(image_function_at(fixture->image, base + RVA_GUARDED, &function));
    assert_int_equal(function.begin_rva, RVA_GUARDED);
    assert_true(image_function_at(fixture->image, base + RVA_GUARDED + 0x1b, &function));
    assert_false(image_function_at(fixture->image, base + RVA_GUARDED + 0x1c, &function));
    assert_false(image_function_at(fixture->image, base + RVA_SQUARE, &function));
    assert_int_equal(function.begin_rva, 0);
    assert_false(image_function_at(fixture->image, base - 1, &function));
}

static void assert_symbol(const struct fixture *fixture, uint32_t rva, enum image_symbol_kind kind,
                          const char *name, uint64_t offset)
{
    struct image_symbol symbol;

    assert_true(image_symbol_at(fixture->image, image_base(fixture->image) + rva, &symbol));
    assert_int_equal(symbol.kind, kind);
    assert_string_equal(symbol.name, name);
    assert_int_equal(symbol.offset, offset);
}

static void symbols_come_from_the_symbol_table(void **state)
{
    struct fixture *fixture = *state;
    struct image_symbol symbol;

    assert_symbol(fixture, RVA_ENTRY + 3, IMAGE_SYMBOL_COFF, "Entry", 3);
    assert_symbol(fixture, RVA_GUARDED, IMAGE_SYMBOL_COFF, "a_function_with_a_long_name", 0);
    assert_symbol(fixture, RVA_COUNT, IMAGE_SYMBOL_COFF, "Square", RVA_COUNT - RVA_SQUARE);
    assert_symbol(fixture, RVA_VALUE, IMAGE_SYMBOL_SECTION, ".data", 0x10);
    assert_symbol(fixture, 0x80, IMAGE_SYMBOL_HEADERS, "headers", 0x80);
    assert_false(image_symbol_at(fixture->image, image_base(fixture->image) - 1, &symbol));
}

static void without_a_symbol_table_the_exports_name_code(void **state)
{
    struct fixture *fixture = *state;

    test_image_put(&fixture->file, AT_FILE + 8, 8, 0);
    assert_true(open_file(fixture));
    assert_true(load(fixture));
    assert_symbol(fixture, RVA_GUARDED, IMAGE_SYMBOL_EXPORT, "Alpha", RVA_GUARDED - RVA_ENTRY);
}

static void a_symbol_table_that_makes_no_sense_is_a_remark(void **state)
{
    static const struct {
        uint32_t at;
        uint64_t value;
        const char *remark;
    } wrongs[] = {
        {AT_FILE + 8, 0x1b00, "symbol table: [0x1b00"},
        {AT_FILE + 12, 0xffffffff, "symbol table: 4294967295 symbols"},
        {AT_SYMBOLS + 18 * 5, 0x1000, "string table: 0x1000 bytes"},
    };
    struct fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_COUNT(wrongs); i++) {
        char remarks[1024] = "";

        test_image_build(&fixture->file);
        test_image_put(&fixture->file, wrongs[i].at, 4, wrongs[i].value);
        assert_true(open_file(fixture));
        assert_true(load(fixture));
        image_for_each_remark(fixture->image, count_remark, remarks);
        assert_non_null(strstr(remarks, wrongs[i].remark));
        assert_symbol(fixture, RVA_GUARDED, IMAGE_SYMBOL_EXPORT, "Alpha", RVA_GUARDED - RVA_ENTRY);
        image_close(fixture->image);
        fixture->image = NULL;
    }
}

static void exports_are_found_and_forwarders_told(void **state)
{
    struct fixture *fixture = *state;
    struct image_export export;

    assert_true(image_find_export(fixture->image, "Alpha", &export));
    assert_int_equal(export.rva, RVA_ENTRY);
    assert_int_equal(export.ordinal, 10);
    assert_null(export.forwarder);
    assert_true(image_find_export(fixture->image, "Gamma", &export));
    assert_int_equal(export.rva, 0);
    assert_string_equal(export.forwarder, "image.Alpha");
    assert_false(image_find_export(fixture->image, "alpha", &export));
    assert_null(export.name);
}

static bool list_import(void *context, const struct image_import *import)
{
    char *list = context;

    sprintf(list + strlen(list), "%s!%s %u %d 0x%x;", import->module,
            import->name ? import->name : "-", import->ordinal, import->is_delayed,
            import->slot_rva);
    return strcmp(import->module, "gamma.sys") != 0;
}

static void imports_are_listed_before_loading(void **state)
{
    struct fixture *fixture = *state;
    char list[512] = "";

    assert_true(open_file(fixture));
    image_for_each_import(fixture->image, list_import, list);
    assert_string_equal(list, "alpha.sys!Triple 3 0 0x2000;alpha.sys!- 7 0 0x2008;"
                              "beta.sys!Offset 0 0 0x2020;gamma.sys!Delayed 0 1 0x3040;");
}

/* ---- Failures -------------------------------------------------------------------------------- */

static void an_import_that_nobody_knows_is_named(void **state)
{
    struct fixture *fixture = *state;

    test_image_text(&fixture->file, RVA_TRIPLE + 2, "Tripel");
    assert_true(open_file(fixture));
    assert_false(load(fixture));
    assert_string_equal(fixture->error.text, "import of 'alpha.sys': 'Tripel' is not known");
    assert_int_equal(image_base(fixture->image), 0);
    test_image_text(&fixture->file, RVA_TRIPLE + 2, "Triple");
    test_image_put_rva(&fixture->file, RVA_ALPHA_THUNKS + 8, 1, 8);
    assert_false(load(fixture));
    assert_string_equal(fixture->error.text, "import of 'alpha.sys': ordinal 8 is not known");
}

static void every_nth_allocation_failure_is_a_refusal(void **state)
{
    struct fixture *fixture = *state;
    struct failing_services services;
    unsigned failures = 0;

    failing_services_init(&services);
    for (uint64_t n = 1;; n++) {
        bool is_open;

        failing_services_fail_at(&services, n);
        is_open = image_open(&services.services, fixture->file.bytes, sizeof fixture->file.bytes,
                             &fixture->image, &fixture->error);
        assert_int_equal(is_open, !services.has_failed);
        image_close(fixture->image);
        fixture->image = NULL;
        assert_int_equal(services.live_blocks, 0);
        if (is_open)
            break;
        failures++;
        assert_string_equal(fixture->error.text, "no memory");
    }
    assert_int_equal(failures, 2); /* the image and its symbols */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define LOADED(test)    cmocka_unit_test_setup_teardown(test, set_up_loaded, tear_down)
#define FILE_ONLY(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
        LOADED(code_runs_with_its_imports_and_relocations),
        LOADED(guarded_calls_reach_their_targets),
        FILE_ONLY(a_short_load_configuration_has_no_guards),
        LOADED(the_cookie_has_the_value_of_the_caller),
        FILE_ONLY(a_cookie_that_a_driver_would_not_take_is_refused),
        LOADED(data_behind_the_file_is_zero_and_can_be_written),
        LOADED(it_can_be_loaded_again_and_begins_anew),
        LOADED(sections_are_protected_by_their_flags),
        LOADED(a_section_that_is_written_and_executed_is_remarked),
        LOADED(addresses_are_found),
        LOADED(symbols_come_from_the_symbol_table),
        FILE_ONLY(without_a_symbol_table_the_exports_name_code),
        FILE_ONLY(a_symbol_table_that_makes_no_sense_is_a_remark),
        LOADED(exports_are_found_and_forwarders_told),
        FILE_ONLY(imports_are_listed_before_loading),
        FILE_ONLY(an_import_that_nobody_knows_is_named),
        FILE_ONLY(every_nth_allocation_failure_is_a_refusal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
