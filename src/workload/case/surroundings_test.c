#include "workload/case/surroundings.h"

#include "base/bits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void words_are_read_one_by_one(void **state)
{
    const char *at = " id=ACPI\\VEN_BCM&DEV_2850,value:RenderOnly=1 "
                     "device:\\DosDevices\\RPIQ@4=0x80000000,,device:\\Device\\X ";
    struct workload_surrounding word;
    struct workload_error error;

    assert_true(workload_surroundings_check(at, &error));
    assert_true(workload_surroundings_next(&at, &word));
    assert_int_equal(word.kind, WORKLOAD_SURROUNDING_ID);
    assert_string_equal(word.name, "ACPI\\VEN_BCM&DEV_2850");
    assert_true(workload_surroundings_next(&at, &word));
    assert_int_equal(word.kind, WORKLOAD_SURROUNDING_VALUE);
    assert_string_equal(word.name, "RenderOnly");
    assert_int_equal(word.number, 1);
    assert_true(workload_surroundings_next(&at, &word));
    assert_int_equal(word.kind, WORKLOAD_SURROUNDING_DEVICE);
    assert_string_equal(word.name, "\\DosDevices\\RPIQ");
    assert_true(word.has_answer);
    assert_int_equal(word.offset, 4);
    assert_int_equal(word.number, 0x80000000u);
    assert_true(workload_surroundings_next(&at, &word));
    assert_string_equal(word.name, "\\Device\\X");
    assert_false(word.has_answer);
    assert_false(workload_surroundings_next(&at, &word));
    at = NULL;
    assert_false(workload_surroundings_next(&at, &word));
}

static void a_message_names_the_offending_word(void **state)
{
    static const struct {
        const char *text, *word;
    } wrong[] = {
        {"", "nothing in it"},
        {"id=A,thing=3", "'thing=3'"},
        {"value:A", "'value:A'"},
        {"value:A=x", "'value:A=x'"},
        {"value:A=0x100000000", "'value:A=0x100000000'"},
        {"value:=1", "'value:=1'"},
        {"device:\\D@4", "'device:\\D@4'"},
        {"device:\\D@x=4", "'device:\\D@x=4'"},
        {"id=", "'id='"},
        {"id=a#b", "'id=a#b'"},
    };
    struct workload_error error;

    for (size_t i = 0; i < ARRAY_COUNT(wrong); i++) {
        assert_false(workload_surroundings_check(wrong[i].text, &error));
        assert_non_null(strstr(error.text, wrong[i].word));
    }
}

static void a_case_keeps_them_with_commas(void **state)
{
    static const char text[] =
        "drydock-case 1\noption surroundings \"id=A\\\\B&C  device:\\\\D\"\n";
    static const char bare[] = "drydock-case 1\noption surroundings id=A\\B&C,value:D=1\n";
    struct workload_error error;
    struct workload *workload;

    assert_true(workload_parse(text, strlen(text), "t.case", &workload, &error));
    assert_string_equal(workload_option(workload, "surroundings"), "id=A\\B&C,device:\\D");
    workload_free(workload);
    assert_true(workload_parse(bare, strlen(bare), "t.case", &workload, &error));
    assert_string_equal(workload_option(workload, "surroundings"), "id=A\\B&C,value:D=1");
    assert_false(workload_set_option(workload, "surroundings", "value:A", &error));
    assert_non_null(strstr(error.text, "option surroundings"));
    workload_free(workload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_read_one_by_one),
        cmocka_unit_test(a_message_names_the_offending_word),
        cmocka_unit_test(a_case_keeps_them_with_commas),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
