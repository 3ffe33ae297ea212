#include "nt/rig/test_kernel.h"

static void strings_are_counted_copied_and_joined(void **state)
{
    WCHAR room[8];
    UNICODE_STRING string = U("ab"), to, none;

    assert_int_equal(string.Length, 4);
    assert_int_equal(string.MaximumLength, 6);
    RtlInitUnicodeString(&none, NULL);
    assert_int_equal(none.Length + none.MaximumLength, 0);
    RtlInitEmptyUnicodeString(&to, room, sizeof room);
    RtlCopyUnicodeString(&to, &string);
    assert_string_is(&to, "ab");
    assert_int_equal(RtlAppendUnicodeToString(&to, W("cde")), STATUS_SUCCESS);
    assert_string_is(&to, "abcde");
    assert_int_equal(room[5], 0);
    assert_int_equal(RtlAppendUnicodeStringToString(&to, &string), STATUS_SUCCESS);
    assert_int_equal(RtlAppendUnicodeStringToString(&to, &string), STATUS_BUFFER_TOO_SMALL);
    assert_string_is(&to, "abcdeab");
    to.MaximumLength = 2;
    RtlCopyUnicodeString(&to, &string);
    assert_string_is(&to, "a");
}

static void strings_compare_with_and_without_case(void **state)
{
    UNICODE_STRING small = U("registry"), large = U("REGISTRY"), more = U("Registry\\Machine");
    STRING first, second;

    assert_true(RtlEqualUnicodeString(&small, &large, TRUE));
    assert_false(RtlEqualUnicodeString(&small, &large, FALSE));
    assert_true(RtlCompareUnicodeString(&small, &large, FALSE) > 0);
    assert_int_equal(RtlCompareUnicodeString(&small, &large, TRUE), 0);
    assert_true(RtlCompareUnicodeString(&small, &more, TRUE) < 0);
    assert_true(RtlPrefixUnicodeString(&large, &more, TRUE));
    assert_false(RtlPrefixUnicodeString(&more, &large, TRUE));
    assert_int_equal(RtlUpcaseUnicodeChar(0xe9), 0xc9);
    assert_int_equal(RtlUpcaseUnicodeChar(0x451), 0x401);
    assert_int_equal(RtlDowncaseUnicodeChar(0x3a9), 0x3c9);
    assert_int_equal(RtlUpcaseUnicodeChar(0xf7), 0xf7);
    RtlInitAnsiString(&first, "abc");
    RtlInitAnsiString(&second, "ABD");
    assert_true(RtlCompareString(&first, &second, TRUE) < 0);
    assert_false(RtlEqualString(&first, &second, TRUE));
}

/* Of every 16-bit character: what has an upper form goes back by the lower one. */
static void case_goes_both_ways(void **state)
{
    for (ULONG c = 0; c < 0x10000; c++) {
        WCHAR upper = RtlUpcaseUnicodeChar((WCHAR)c);

        assert_int_equal(RtlUpcaseUnicodeChar(upper), upper);
        if (upper != c)
            assert_int_equal(RtlDowncaseUnicodeChar(upper), c);
    }
}

static void strings_convert_and_what_they_take_is_freed(void **state)
{
    struct test_kernel *kernel = *state;
    ANSI_STRING ansi, back;
    UNICODE_STRING wide, upper;

    RtlInitAnsiString(&ansi, "caf\xe9");
    assert_int_equal(RtlAnsiStringToUnicodeSize(&ansi), 10);
    assert_int_equal(RtlAnsiStringToUnicodeString(&wide, &ansi, TRUE), STATUS_SUCCESS);
    assert_int_equal(wide.Length, 8);
    assert_int_equal(wide.Buffer[3], 0xe9);
    assert_int_equal(RtlUpcaseUnicodeString(&upper, &wide, TRUE), STATUS_SUCCESS);
    assert_int_equal(upper.Buffer[3], 0xc9);
    assert_int_equal(RtlUnicodeStringToAnsiString(&back, &wide, TRUE), STATUS_SUCCESS);
    assert_string_equal(back.Buffer, "caf\xe9");
    assert_int_equal(nt_pool_live_blocks(kernel->nt), 3);
    back.MaximumLength = 3;
    assert_int_equal(RtlUnicodeStringToAnsiString(&back, &wide, FALSE), STATUS_BUFFER_OVERFLOW);
    assert_string_equal(back.Buffer, "ca");
    RtlFreeAnsiString(&back);
    RtlFreeUnicodeString(&wide);
    RtlFreeUnicodeString(&upper);
    assert_int_equal(nt_pool_live_blocks(kernel->nt), 0);
    nt_pool_fail_at(kernel->nt, 1);
    assert_int_equal(RtlAnsiStringToUnicodeString(&wide, &ansi, TRUE), STATUS_NO_MEMORY);
}

static void a_string_may_have_a_buffer_of_the_driver(void **state)
{
    struct test_kernel *kernel = *state;
    UNICODE_STRING wide = {.MaximumLength = 16};
    ANSI_STRING ansi = {.MaximumLength = 8};

    wide.Buffer = ExAllocatePool2(POOL_FLAG_PAGED, 16, TEST_TAG);
    ansi.Buffer = ExAllocatePool2(POOL_FLAG_NON_PAGED, 8, TEST_TAG);
    RtlFreeUnicodeString(&wide);
    RtlFreeAnsiString(&ansi);
    assert_null(wide.Buffer);
    assert_null(ansi.Buffer);
    assert_int_equal(nt_pool_live_blocks(kernel->nt), 0);
}

static void utf8_goes_both_ways(void **state)
{
    static const WCHAR wide[] = {'a', 0xe9, 0x20ac, 0xd83d, 0xde00};
    static const char narrow[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
    char out[16];
    WCHAR back[8];
    ULONG used;

    assert_int_equal(RtlUnicodeToUTF8N(NULL, 0, &used, wide, sizeof wide), STATUS_SUCCESS);
    assert_int_equal(used, sizeof narrow - 1);
    assert_int_equal(RtlUnicodeToUTF8N(out, sizeof out, &used, wide, sizeof wide), STATUS_SUCCESS);
    assert_memory_equal(out, narrow, used);
    assert_int_equal(RtlUTF8ToUnicodeN(back, sizeof back, &used, narrow, sizeof narrow - 1),
                     STATUS_SUCCESS);
    assert_int_equal(used, sizeof wide);
    assert_memory_equal(back, wide, sizeof wide);
    assert_int_equal(RtlUnicodeToUTF8N(out, 5, &used, wide, sizeof wide), STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(used, 3);
    assert_int_equal(RtlUnicodeToUTF8N(out, 16, &used, wide + 4, 2), STATUS_SOME_NOT_MAPPED);
    assert_memory_equal(out, "\xef\xbf\xbd", 3);
    /* an overlong slash, a lone continuation, and a character that is cut */
    assert_int_equal(RtlUTF8ToUnicodeN(back, sizeof back, &used, "\xc0\xaf\x80\xe2\x82", 5),
                     STATUS_SOME_NOT_MAPPED);
    for (ULONG i = 0; i < used / 2; i++)
        assert_int_equal(back[i], 0xfffd);
}

static void numbers_are_written_and_read(void **state)
{
    WCHAR room[40];
    UNICODE_STRING string, text;
    ULONG value;

    RtlInitEmptyUnicodeString(&string, room, sizeof room);
    assert_int_equal(RtlIntegerToUnicodeString(48879, 16, &string), STATUS_SUCCESS);
    assert_string_is(&string, "BEEF");
    assert_int_equal(RtlInt64ToUnicodeString(UINT64_MAX, 0, &string), STATUS_SUCCESS);
    assert_string_is(&string, "18446744073709551615");
    assert_int_equal(RtlIntegerToUnicodeString(1, 3, &string), STATUS_INVALID_PARAMETER);
    string.MaximumLength = 4;
    assert_int_equal(RtlIntegerToUnicodeString(1000, 10, &string), STATUS_BUFFER_OVERFLOW);
    text = U("  -0x1F rest");
    assert_int_equal(RtlUnicodeStringToInteger(&text, 0, &value), STATUS_SUCCESS);
    assert_int_equal((LONG)value, -31);
    text = U("77");
    assert_int_equal(RtlUnicodeStringToInteger(&text, 8, &value), STATUS_SUCCESS);
    assert_int_equal(value, 63);
    assert_int_equal(RtlUnicodeStringToInteger(&text, 7, &value), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlCharToInteger("0b101", 0, &value), STATUS_SUCCESS);
    assert_int_equal(value, 5);
}

static void guids_are_written_and_read(void **state)
{
    const GUID guid = {0x01234567, 0x89ab, 0xcdef, {0, 1, 2, 3, 4, 5, 6, 0xff}};
    UNICODE_STRING string;
    GUID back;

    assert_int_equal(RtlStringFromGUID(&guid, &string), STATUS_SUCCESS);
    assert_string_is(&string, "{01234567-89AB-CDEF-0001-0203040506FF}");
    assert_int_equal(RtlGUIDFromString(&string, &back), STATUS_SUCCESS);
    assert_memory_equal(&back, &guid, sizeof guid);
    string.Buffer[9] = '+';
    assert_int_equal(RtlGUIDFromString(&string, &back), STATUS_INVALID_PARAMETER);
    RtlFreeUnicodeString(&string);
}

static void hashes_ignore_case_when_told_to(void **state)
{
    UNICODE_STRING small = U("key"), large = U("KEY");
    ULONG first, second;

    assert_int_equal(RtlHashUnicodeString(&small, TRUE, HASH_STRING_ALGORITHM_X65599, &first),
                     STATUS_SUCCESS);
    assert_int_equal(RtlHashUnicodeString(&large, TRUE, HASH_STRING_ALGORITHM_X65599, &second),
                     STATUS_SUCCESS);
    assert_int_equal(first, second);
    assert_int_equal(first, ('K' * 65599u + 'E') * 65599u + 'Y');
    assert_int_equal(RtlHashUnicodeString(&small, FALSE, 7, &first), STATUS_INVALID_PARAMETER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(strings_are_counted_copied_and_joined),
        KERNEL_TEST(strings_compare_with_and_without_case),
        KERNEL_TEST(case_goes_both_ways),
        KERNEL_TEST(strings_convert_and_what_they_take_is_freed),
        KERNEL_TEST(a_string_may_have_a_buffer_of_the_driver),
        KERNEL_TEST(utf8_goes_both_ways),
        KERNEL_TEST(numbers_are_written_and_read),
        KERNEL_TEST(guids_are_written_and_read),
        KERNEL_TEST(hashes_ignore_case_when_told_to),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
