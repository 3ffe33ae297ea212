/* The line of a call, whole and cut, and of texts that would obey a terminal. */
#include "record/record_line.h"
#include "record/rig/test_record.h"

#include "base/bits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char whole[] = "  > DxgkDdiPatch c7 Long=4294967296 hContext=c? Flags=0xfeed Delta=-3 "
                            "Hash=00000000000000ff Text=one?[1mtwo? and three?four:0x0";

/* A call with a part of each type; its texts have control characters at several places. */
static struct record_reader *read_call(struct record_reader_item *out_item)
{
    int file = test_record_file();
    struct record *record = record_create(base_services_libc(), file, NULL);
    const struct record_call_group parts[] = {
        {record_text(record, "Long"), RECORD_PART_DECIMAL, UINT64_C(1) << 32},
        {record_text(record, "hContext"), 'c', RECORD_HANDLE_UNKNOWN},
        {record_text(record, "Flags"), RECORD_PART_HEX, 0xfeed},
        {record_text(record, "Delta"), RECORD_PART_SIGNED, (uint64_t)-3},
        {record_text(record, "Hash"), RECORD_PART_DIGITS, 0xff},
        {record_text(record, "Text"), RECORD_PART_TEXT,
         record_text(record, "one\x1b[1mtwo\n and three\x7f"
                             "four")},
        {record_text(record, ":"), RECORD_PART_PLAIN + RECORD_PART_HEX, 0},
    };
    struct record_reader *reader;
    char error[256];

    RECORD_ITEM_WITH(record, call, 5, parts, ARRAY_COUNT(parts), .sequence = 1, .depth = 1,
                     .name = record_text(record, "DxgkDdiPatch"),
                     .object_type = record_text(record, "context"), .object = 7);
    assert_true(record_close(record, error));
    assert_int_equal(lseek(file, 0, SEEK_SET), 0);
    reader = record_reader_open_file(base_services_libc(), "record", file, error);
    assert_non_null(reader);
    assert_true(record_reader_next(reader, out_item));
    close(file);
    return reader;
}

static void a_line_has_every_part_and_no_control_character(void **state)
{
    struct record_reader_item item;
    struct record_reader *reader = read_call(&item);
    char line[256];

    assert_int_equal(record_line_format(reader, &item, line, sizeof line), strlen(whole));
    assert_string_equal(line, whole);
    assert_int_equal(record_line_arguments(reader, &item, line, sizeof line),
                     strlen(strstr(whole, "Long")));
    assert_string_equal(line, strstr(whole, "Long"));
    record_reader_close(reader);
}

static void a_line_is_cut_anywhere_and_tells_its_length(void **state)
{
    struct record_reader_item item;
    struct record_reader *reader = read_call(&item);

    for (size_t size = 1; size <= sizeof whole; size++) {
        char line[sizeof whole + 1];

        memset(line, '#', sizeof line);
        assert_int_equal(record_line_format(reader, &item, line, size), strlen(whole));
        assert_int_equal(strlen(line), size - 1);
        assert_memory_equal(line, whole, size - 1);
        assert_int_equal(line[size], '#'); /* nothing is written behind it */
    }
    assert_int_equal(record_line_format(reader, &item, NULL, 0), strlen(whole));
    record_reader_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_has_every_part_and_no_control_character),
        cmocka_unit_test(a_line_is_cut_anywhere_and_tells_its_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
