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
    assert_int_equal(word.place, 4);
    assert_int_equal(word.number, 0x80000000u);
    assert_true(workload_surroundings_next(&at, &word));
    assert_string_equal(word.name, "\\Device\\X");
    assert_false(word.has_answer);
    assert_false(workload_surroundings_next(&at, &word));
    at = NULL;
    assert_false(workload_surroundings_next(&at, &word));
}

static void the_board_and_the_registry_have_words(void **state)
{
    const char *at = "text:A%20B=x%2Cy,bytes:\\Registry\\Machine\\B=00Ff,pci:class=0x038000,"
                     "bar:4=64K,bar:0=0,registers=ones,registers=memory,register:0x40=7,"
                     "port:0xffff=0xb0c5,address:2=0x100000000,text:E=";
    struct workload_surrounding word;
    struct workload_error error;

    assert_true(workload_surroundings_check(at, &error));
    assert_true(workload_surroundings_next(&at, &word));
    assert_int_equal(word.kind, WORKLOAD_SURROUNDING_TEXT);
    assert_string_equal(word.name, "A B");
    assert_int_equal(word.byte_count, 3);
    assert_memory_equal(word.bytes, "x,y", 3);
    assert_true(workload_surroundings_next(&at, &word));
    assert_int_equal(word.kind, WORKLOAD_SURROUNDING_BYTES);
    assert_string_equal(word.name, "\\Registry\\Machine\\B");
    assert_int_equal(word.byte_count, 2);
    assert_memory_equal(word.bytes, "\0\xff", 2);
    assert_true(workload_surroundings_next(&at, &word));
    assert_int_equal(word.kind, WORKLOAD_SURROUNDING_PCI);
    assert_int_equal(word.place, WORKLOAD_PCI_CLASS);
    assert_int_equal(word.number, 0x038000);
    assert_true(workload_surroundings_next(&at, &word));
    assert_int_equal(word.kind, WORKLOAD_SURROUNDING_BAR);
    assert_int_equal(word.place, 4);
    assert_int_equal(word.number, 65536);
    assert_true(workload_surroundings_next(&at, &word));
    assert_int_equal(word.place, 0);
    assert_int_equal(word.number, 0);
    assert_true(workload_surroundings_next(&at, &word));
    assert_int_equal(word.kind, WORKLOAD_SURROUNDING_REGISTERS);
    assert_int_equal(word.number, 0);
    assert_true(workload_surroundings_next(&at, &word));
    assert_int_equal(word.number, 1);
    assert_true(workload_surroundings_next(&at, &word));
    assert_int_equal(word.kind, WORKLOAD_SURROUNDING_REGISTER);
    assert_int_equal(word.place, 0x40);
    assert_int_equal(word.number, 7);
    assert_true(workload_surroundings_next(&at, &word));
    assert_int_equal(word.kind, WORKLOAD_SURROUNDING_PORT);
    assert_int_equal(word.place, 0xffff);
    assert_int_equal(word.number, 0xb0c5);
    assert_true(workload_surroundings_next(&at, &word));
    assert_int_equal(word.kind, WORKLOAD_SURROUNDING_ADDRESS);
    assert_int_equal(word.place, 2);
    assert_true(word.address == 0x100000000);
    assert_true(workload_surroundings_next(&at, &word));
    assert_string_equal(word.name, "E");
    assert_int_equal(word.byte_count, 0);
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
        {"text:A", "'text:A'"},
        {"text:A=%0", "'text:A=%0'"},
        {"text:A=%00", "'text:A=%00'"},
        {"value:A%zz=1", "'value:A%zz=1'"},
        {"bytes:A=0", "'bytes:A=0'"},
        {"bytes:A=0g", "'bytes:A=0g'"},
        {"pci:vendor=0x10000", "'pci:vendor=0x10000'"},
        {"pci:revision=256", "'pci:revision=256'"},
        {"pci:maker=1", "'pci:maker=1'"},
        {"pci:messages=33", "'pci:messages=33'"},
        {"bar:1=4K", "'bar:1=4K'"},
        {"bar:0=5000", "'bar:0=5000'"},
        {"bar:0=128M", "'bar:0=128M'"},
        {"bar:0=1K", "'bar:0=1K'"},
        {"memory:8=4K", "'memory:8=4K'"},
        {"memory:0=5K", "'memory:0=5K'"},
        {"address:4=1M", "'address:4=1M'"},
        {"address:0=0", "'address:0=0'"},
        {"address:2=x", "'address:2=x'"},
        {"registers=none", "'registers=none'"},
        {"register:2=1", "'register:2=1'"},
        {"register:0x8000000=1", "'register:0x8000000=1'"},
        {"port:0x10000=1", "'port:0x10000=1'"},
        {"port:0x60", "'port:0x60'"},
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
        cmocka_unit_test(the_board_and_the_registry_have_words),
        cmocka_unit_test(a_message_names_the_offending_word),
        cmocka_unit_test(a_case_keeps_them_with_commas),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
