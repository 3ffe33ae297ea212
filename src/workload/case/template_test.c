#include "workload/case/template.h"

#include "base/bits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void fields_follow_each_other_little_endian(void **state)
{
    const char *text = "size:u64,flags:u32 0x102:u16,7:u8*3";
    struct workload_template_values values = workload_template_values_of(0x12345);
    static const uint8_t expected[] = {0x45, 0x23, 1,    0, 0, 0, 0, 0, 0x21,
                                       0x43, 0x65, 0x87, 2, 1, 7, 7, 7};
    uint8_t out[sizeof expected + 1] = {0};
    struct workload_error error;

    values.flags = 0x87654321;
    assert_true(workload_template_check(text, &error));
    assert_int_equal(workload_template_bytes(text), sizeof expected);
    workload_template_fill(text, &values, out);
    assert_memory_equal(out, expected, sizeof expected);
    assert_int_equal(out[sizeof expected], 0);
    assert_int_equal(workload_template_bytes(NULL), 0);
}

static void a_surface_holds_what_was_asked_for(void **state)
{
    static const uint64_t sizes[] = {1, 4, 4095, 4096, 4097, 3 * MiB, 3 * MiB + 1};

    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
        struct workload_template_values values = workload_template_values_of(sizes[i]);

        assert_true(values.width * values.height * 4 >= sizes[i]);
        assert_true(values.width * (values.height - 1) * 4 < sizes[i]);
        assert_int_equal(values.pages, (sizes[i] + 4095) / 4096);
    }
}

static void a_message_names_the_offending_word(void **state)
{
    static const struct {
        const char *text, *word;
    } wrong[] = {
        {"size:u64,flagz:u32", "'flagz:u32'"},
        {"size:u46", "'size:u46'"},
        {"size:u64 pages", "'pages'"},
        {"0:u8*257", "'0:u8*257'"},
        {"0:u8*", "'0:u8*'"},
        {":u8", "':u8'"},
        {"", "0 bytes"},
        {"0:u64*256,0:u64*256,0:u8", "4097 bytes"},
    };
    struct workload_error error;

    for (size_t i = 0; i < ARRAY_COUNT(wrong); i++) {
        assert_false(workload_template_check(wrong[i].text, &error));
        assert_non_null(strstr(error.text, wrong[i].word));
    }
}

static void a_case_may_quote_a_template_and_keeps_it(void **state)
{
    static const char text[] = "drydock-case 1\n"
                               "option allocation-data \"size:u64  0x1:u32\"\n"
                               "option context-data 1:u32,seed:u64\n";
    struct workload_error error;
    struct workload *workload;

    assert_true(workload_parse(text, strlen(text), "t.case", &workload, &error));
    assert_string_equal(workload_option(workload, "allocation-data"), "size:u64,0x1:u32");
    assert_string_equal(workload_option(workload, "context-data"), "1:u32,seed:u64");
    assert_true(workload_set_option(workload, "command-data", "index:u32 size:u64", &error));
    assert_string_equal(workload_option(workload, "command-data"), "index:u32,size:u64");
    assert_false(workload_set_option(workload, "command-data", "index:x", &error));
    assert_non_null(strstr(error.text, "option command-data"));
    assert_non_null(strstr(error.text, "'index:x'"));
    workload_free(workload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_follow_each_other_little_endian),
        cmocka_unit_test(a_surface_holds_what_was_asked_for),
        cmocka_unit_test(a_message_names_the_offending_word),
        cmocka_unit_test(a_case_may_quote_a_template_and_keeps_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
