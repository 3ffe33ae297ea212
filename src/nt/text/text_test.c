#include "nt/rig/test_kernel.h"

#include "nt/exports.h"

#include <stdlib.h>

#include "base/bits.h"

/* What an image would call. */
#define FIND(name) ((void *)(uintptr_t)nt_find_export(name)->address)

static void narrow_functions_do_what_their_names_say(void **state)
{
    SIZE_T NTAPI (*length)(const char *) = FIND("strlen");
    int NTAPI (*compare)(const char *, const char *) = FIND("_stricmp");
    char *NTAPI (*find)(const char *, const char *) = FIND("strstr");
    char *NTAPI (*copy)(char *, const char *, SIZE_T) = FIND("strncpy");
    int NTAPI (*number)(const char *) = FIND("atoi");
    char room[6] = "xxxxx";

    assert_int_equal(length("four"), 4);
    assert_int_equal(compare("Drydock", "dryDOCK"), 0);
    assert_true(compare("a", "B") < 0);
    assert_string_equal(find("a miniport", "mini"), "miniport");
    assert_null(find("a", "b"));
    copy(room, "ab", 4);
    assert_memory_equal(room, "ab\0\0x", 6);
    assert_int_equal(number(" -42x"), -42);
}

static void safe_functions_refuse_what_does_not_fit(void **state)
{
    int NTAPI (*copy)(char *, SIZE_T, const char *) = FIND("strcpy_s");
    int NTAPI (*append)(char *, SIZE_T, const char *) = FIND("strcat_s");
    int NTAPI (*copy_part)(char *, SIZE_T, const char *, SIZE_T) = FIND("strncpy_s");
    int NTAPI (*wide)(WCHAR *, SIZE_T, const WCHAR *) = FIND("wcscpy_s");
    char room[5];
    WCHAR wide_room[3];

    assert_int_equal(copy(room, 5, "four"), 0);
    assert_string_equal(room, "four");
    assert_int_equal(append(room, 5, "x"), 34);
    assert_string_equal(room, "");
    assert_int_equal(copy(room, 5, "fives"), 34);
    assert_int_equal(copy(room, 5, NULL), 22);
    assert_int_equal(copy_part(room, 5, "fives", SIZE_MAX), 80);
    assert_string_equal(room, "five");
    assert_int_equal(copy_part(room, 5, "fives", 2), 0);
    assert_string_equal(room, "fi");
    assert_int_equal(wide(wide_room, 3, W("ab")), 0);
    assert_int_equal(wide(wide_room, 3, W("abc")), 34);
    assert_int_equal(wide_room[0], 0);
}

static void text_is_formatted_and_cut_as_each_function_promises(void **state)
{
    int NTAPI (*old)(char *, SIZE_T, const char *, ...) = FIND("_snprintf");
    int NTAPI (*safe)(char *, SIZE_T, const char *, ...) = FIND("sprintf_s");
    int NTAPI (*cut)(char *, SIZE_T, SIZE_T, const char *, ...) = FIND("_snprintf_s");
    char room[5] = "....";

    assert_int_equal(old(room, 5, "%d", 123), 3);
    assert_string_equal(room, "123");
    assert_int_equal(old(room, 3, "%d", 456), 3); /* full, and no zero */
    assert_memory_equal(room, "456\0", 4);
    room[3] = '!';
    assert_int_equal(old(room, 3, "%d", 7890), -1);
    assert_memory_equal(room, "789!", 4);
    assert_int_equal(safe(room, 5, "%s", "four"), 4);
    assert_int_equal(safe(room, 5, "%s", "fives"), -1);
    assert_string_equal(room, "");
    assert_int_equal(cut(room, 5, SIZE_MAX, "%s", "fives"), -1);
    assert_string_equal(room, "five");
    assert_int_equal(cut(room, 5, 2, "%s", "fives"), -1);
    assert_string_equal(room, "fi");
}

static void wide_text_keeps_its_characters(void **state)
{
    int NTAPI (*old)(WCHAR *, SIZE_T, const WCHAR *, ...) = FIND("_snwprintf");
    int NTAPI (*safe)(WCHAR *, SIZE_T, const WCHAR *, ...) = FIND("swprintf_s");
    static const WCHAR euro[] = {0x20ac, 0};
    WCHAR room[32];

    assert_int_equal(safe(room, 32, W("%s|%S|%hs|%4s|%-3s|%c"), euro, "ab", "cd", euro, euro, 0xe9),
                     18);
    assert_int_equal(room[0], 0x20ac);
    test_assert_wide(room + 1, "|ab|cd|   ", 10);
    assert_int_equal(room[11], 0x20ac);
    assert_int_equal(room[13], 0x20ac);
    assert_int_equal(room[17], 0xe9);
    assert_int_equal(safe(room, 32, W("%08x %I64u %%"), 0xbeef, UINT64_MAX), 31);
    test_assert_wide(room, "0000beef 18446744073709551615 %", 31);
    room[3] = '!';
    assert_int_equal(old(room, 3, W("%u"), 123), 3);
    assert_int_equal(room[3], '!');
    assert_int_equal(old(room, 3, W("%u"), 1234), -1);
    assert_int_equal(safe(room, 3, W("%u"), 123), -1);
    assert_int_equal(room[0], 0);
}

static int NTAPI compare_numbers(const void *first, const void *second)
{
    int a = *(const int *)first, b = *(const int *)second;

    return (a > b) - (a < b);
}

static void arrays_are_sorted_and_searched(void **state)
{
    typedef int NTAPI compare_type(const void *, const void *);
    VOID NTAPI (*sort)(void *, SIZE_T, SIZE_T, compare_type *) = FIND("qsort");
    void *NTAPI (*search)(const void *, const void *, SIZE_T, SIZE_T, compare_type *) =
        FIND("bsearch");
    int NTAPI (*number)(void) = FIND("rand");
    VOID NTAPI (*seed)(unsigned) = FIND("srand");
    int numbers[257];
    int first;

    seed(1);
    first = number();
    assert_int_equal(first, 41); /* what the C run time gives for this seed */
    for (size_t count = 0; count < ARRAY_COUNT(numbers); count++) {
        for (size_t i = 0; i < count; i++)
            numbers[i] = number() % 200 * 2;
        sort(numbers, count, sizeof numbers[0], compare_numbers);
        for (size_t i = 0; i < count; i++) {
            int odd = numbers[i] + 1;
            int *found = search(&numbers[i], numbers, count, sizeof numbers[0], compare_numbers);

            assert_true(!i || numbers[i - 1] <= numbers[i]);
            assert_non_null(found);
            assert_int_equal(*found, numbers[i]);
            assert_null(search(&odd, numbers, count, sizeof numbers[0], compare_numbers));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(narrow_functions_do_what_their_names_say),
        KERNEL_TEST(safe_functions_refuse_what_does_not_fit),
        KERNEL_TEST(text_is_formatted_and_cut_as_each_function_promises),
        KERNEL_TEST(wide_text_keeps_its_characters),
        KERNEL_TEST(arrays_are_sorted_and_searched),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
