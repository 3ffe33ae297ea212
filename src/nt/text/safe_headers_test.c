/*
 * Ntstrsafe.h and Ntintsafe.h, which are code of their headers alone: each function against a plain
 * model of what its page says.
 */
#include <ntddk.h>
#include <ntintsafe.h>
#include <ntstrsafe.h>

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 12 };

/* ---- Text ------------------------------------------------------------------------------------ */

/* What a function with flags leaves: the text, where it ends, and every byte of the room. */
struct model {
    CHAR text[ROOM];
    SIZE_T end;
    NTSTATUS status;
};

/* `from` behind `start` characters in a room of so many. */
static void model_put(struct model *model, SIZE_T room, SIZE_T start, const char *from, SIZE_T most,
                      ULONG flags)
{
    SIZE_T length = strlen(from), count;

    if (length > most)
        length = most;
    count = start + length < room ? length : room - 1 - start;
    model->status = count < length ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS;
    memcpy(model->text + start, from, count);
    model->end = start + count;
    model->text[model->end] = 0;
    if (NT_SUCCESS(model->status)) {
        if (flags & STRSAFE_FILL_BEHIND_NULL)
            memset(model->text + model->end + 1, (int)(flags & 0xff), room - model->end - 1);
        return;
    }
    if (flags & STRSAFE_NO_TRUNCATION)
        model->text[start] = 0;
    if (flags & STRSAFE_FILL_ON_FAILURE) {
        memset(model->text, (int)(flags & 0xff), room);
        model->text[room - 1] = 0;
    }
    if (flags & STRSAFE_NULL_ON_FAILURE)
        model->text[0] = 0;
    model->end = strlen(model->text);
}

static const ULONG flag_bits[] = {STRSAFE_IGNORE_NULLS, STRSAFE_FILL_BEHIND_NULL,
                                  STRSAFE_FILL_ON_FAILURE, STRSAFE_NULL_ON_FAILURE,
                                  STRSAFE_NO_TRUNCATION};

static void texts_agree_with_a_model(void **state)
{
    struct rng rng;

    rng_init(&rng, 17);
    for (unsigned round = 0; round < 20000; round++) {
        const SIZE_T room = rng_between(&rng, 1, ROOM), start = rng_between(&rng, 0, room - 1);
        const SIZE_T length = rng_between(&rng, 0, ROOM + 2), most = rng_between(&rng, 0, ROOM);
        const unsigned which = (unsigned)rng_between(&rng, 0, 7);
        const bool is_cat = which & 1, is_limited = which & 2, is_in_bytes = which & 4;
        ULONG flags = rng_between(&rng, 0, 3) ? 'z' : 0;
        struct model model;
        CHAR text[ROOM], from[ROOM + 3] = {0}, *end = NULL;
        SIZE_T left = 99;
        NTSTATUS status;

        for (unsigned i = 0; i < 5; i++)
            flags |= rng_between(&rng, 0, 1) ? flag_bits[i] : 0;
        memset(text, 'x', sizeof text);
        memset(from, 'f', length);
        if (is_cat)
            text[start] = 0;
        memcpy(model.text, text, sizeof text);
        model_put(&model, room, is_cat ? start : 0, from, is_limited ? most : ROOM + 3, flags);
        if (is_in_bytes && is_limited)
            status = is_cat ? RtlStringCbCatNExA(text, room, from, most, &end, &left, flags)
                            : RtlStringCbCopyNExA(text, room, from, most, &end, &left, flags);
        else if (is_in_bytes)
            status = is_cat ? RtlStringCbCatExA(text, room, from, &end, &left, flags)
                            : RtlStringCbCopyExA(text, room, from, &end, &left, flags);
        else if (is_limited)
            status = is_cat ? RtlStringCchCatNExA(text, room, from, most, &end, &left, flags)
                            : RtlStringCchCopyNExA(text, room, from, most, &end, &left, flags);
        else
            status = is_cat ? RtlStringCchCatExA(text, room, from, &end, &left, flags)
                            : RtlStringCchCopyExA(text, room, from, &end, &left, flags);
        assert_int_equal(status, model.status);
        assert_ptr_equal(end, text + model.end);
        assert_int_equal(left, room - model.end);
        assert_memory_equal(text, model.text, sizeof text);
    }
}

static void wide_rooms_are_counted_in_bytes_or_characters(void **state)
{
    static const WCHAR three[] = {'a', 'b', 'c', 0};
    WCHAR text[4], *end;
    SIZE_T left;

    assert_int_equal(RtlStringCbCopyExW(text, sizeof text, three, &end, &left, 0), STATUS_SUCCESS);
    assert_ptr_equal(end, text + 3);
    assert_int_equal(left, sizeof(WCHAR));
    assert_int_equal(RtlStringCchCopyExW(text, 4, three, &end, &left, 0), STATUS_SUCCESS);
    assert_int_equal(left, 1);
    assert_int_equal(RtlStringCchCatNW(text, 4, three, 1), STATUS_BUFFER_OVERFLOW);
    assert_int_equal(RtlStringCbCatNW(text, 4 * sizeof(WCHAR), three, 0), STATUS_SUCCESS);
    assert_memory_equal(text, three, sizeof text);
}

static void nulls_are_the_empty_text_if_one_says_so(void **state)
{
    CHAR text[4] = "old", *end;
    SIZE_T left;

    assert_int_equal(RtlStringCchCopyExA(text, 4, NULL, &end, &left, 0), STATUS_INVALID_PARAMETER);
    assert_string_equal(text, "old");
    assert_int_equal(RtlStringCchCopyExA(text, 4, NULL, &end, &left, STRSAFE_IGNORE_NULLS),
                     STATUS_SUCCESS);
    assert_string_equal(text, "");
    assert_int_equal(left, 4);
    assert_int_equal(RtlStringCchCopyExA(NULL, 0, "", &end, &left, STRSAFE_IGNORE_NULLS),
                     STATUS_SUCCESS);
    assert_int_equal(RtlStringCchCopyExA(NULL, 0, "x", &end, &left, STRSAFE_IGNORE_NULLS),
                     STATUS_BUFFER_OVERFLOW);
    assert_int_equal(RtlStringCchCopyExA(text, 0, "x", &end, &left, 0), STATUS_INVALID_PARAMETER);
}

/* ---- Counted strings ------------------------------------------------------------------------- */

static void counted_strings_agree_with_a_model(void **state)
{
    struct rng rng;

    rng_init(&rng, 23);
    for (unsigned round = 0; round < 20000; round++) {
        const USHORT room = (USHORT)rng_between(&rng, 0, ROOM),
                     start = (USHORT)rng_between(&rng, 0, room);
        const SIZE_T length = rng_between(&rng, 0, ROOM + 2), most = rng_between(&rng, 0, ROOM);
        const bool is_cat = rng_between(&rng, 0, 1), is_limited = rng_between(&rng, 0, 1),
                   is_counted = rng_between(&rng, 0, 1);
        const ULONG flags = (ULONG)rng_between(&rng, 0, 255) | flag_bits[rng_between(&rng, 0, 4)];
        const SIZE_T wanted = is_limited && most < length ? most : length, at = is_cat ? start : 0,
                     count = wanted < room - at ? wanted : room - at;
        WCHAR buffer[ROOM], expected[ROOM], source[ROOM + 3] = {0};
        UNICODE_STRING to = {(USHORT)(2 * start), (USHORT)(2 * room), buffer}, left = {0},
                       from = {(USHORT)(2 * length), (USHORT)(2 * length), source};
        USHORT end = (USHORT)(2 * (at + count));
        NTSTATUS status;

        memset(buffer, 'x', sizeof buffer);
        for (SIZE_T i = 0; i < length; i++)
            source[i] = 'f';
        memcpy(expected, buffer, sizeof buffer);
        for (SIZE_T i = 0; i < count; i++)
            expected[at + i] = 'f';
        if (count == wanted && (flags & STRSAFE_FILL_BEHIND_NULL))
            memset((char *)expected + end, (int)(flags & 0xff), 2u * room - end);
        if (count < wanted && (flags & STRSAFE_FILL_ON_FAILURE))
            memset(expected, (int)(flags & 0xff), 2u * room);
        if (count < wanted && (flags & STRSAFE_NO_TRUNCATION))
            end = (USHORT)(2 * at);
        if (count < wanted && (flags & STRSAFE_FILL_ON_FAILURE))
            end = (USHORT)(2 * room);
        if (count < wanted && (flags & STRSAFE_NULL_ON_FAILURE))
            end = 0;
        if (is_cat && is_counted)
            status = is_limited ? RtlUnicodeStringCchCatNEx(&to, &from, most, &left, flags)
                                : RtlUnicodeStringCatEx(&to, &from, &left, flags);
        else if (is_cat)
            status = is_limited
                         ? RtlUnicodeStringCbCatStringNEx(&to, source, 2 * most, &left, flags)
                         : RtlUnicodeStringCatStringEx(&to, source, &left, flags);
        else if (is_counted)
            status = is_limited ? RtlUnicodeStringCbCopyNEx(&to, &from, 2 * most, &left, flags)
                                : RtlUnicodeStringCopyEx(&to, &from, &left, flags);
        else
            status = is_limited ? RtlUnicodeStringCchCopyStringNEx(&to, source, most, &left, flags)
                                : RtlUnicodeStringCopyStringEx(&to, source, &left, flags);
        assert_int_equal(status, count < wanted ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS);
        assert_int_equal(to.Length, end);
        assert_int_equal(left.Length, 0);
        assert_int_equal(left.MaximumLength, 2 * room - end);
        assert_ptr_equal(left.Buffer, buffer + end / 2);
        assert_memory_equal(buffer, expected, sizeof buffer);
    }
}

static void a_counted_string_is_made_and_judged(void **state)
{
    static const WCHAR text[] = {'a', 'b', 0};
    WCHAR copy[3];
    UNICODE_STRING string, odd = {1, 2, copy}, longer = {4, 2, copy}, no_buffer = {0, 2, NULL};

    assert_int_equal(RtlUnicodeStringInit(&string, text), STATUS_SUCCESS);
    assert_int_equal(string.Length, 4);
    assert_int_equal(string.MaximumLength, 6);
    assert_int_equal(RtlStringCchCopyUnicodeString(copy, 3, &string), STATUS_SUCCESS);
    assert_memory_equal(copy, text, sizeof text);
    assert_int_equal(RtlStringCbCopyUnicodeString(copy, 4, &string), STATUS_BUFFER_OVERFLOW);
    assert_int_equal(copy[1], 0);
    assert_int_equal(RtlUnicodeStringInit(&string, NULL), STATUS_SUCCESS);
    assert_null(string.Buffer);
    assert_int_equal(RtlUnicodeStringValidate(&string), STATUS_SUCCESS);
    assert_int_equal(RtlUnicodeStringValidate(&odd), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlUnicodeStringValidate(&longer), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlUnicodeStringValidate(&no_buffer), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlUnicodeStringValidate(NULL), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlUnicodeStringValidateEx(NULL, STRSAFE_IGNORE_NULLS), STATUS_SUCCESS);
}

/* ---- Numbers --------------------------------------------------------------------------------- */

static void a_conversion_tells_what_does_not_fit(void **state)
{
    UCHAR byte;
    INT8 small;
    SHORT number;
    UINT_PTR pointer;
    LONG_PTR signed_pointer;
    ULONG wide;

    assert_int_equal(RtlUIntPtrToUChar(255, &byte), STATUS_SUCCESS);
    assert_int_equal(byte, 255);
    assert_int_equal(RtlUIntPtrToUChar(256, &byte), STATUS_INTEGER_OVERFLOW);
    assert_int_equal(RtlShortToInt8(-128, &small), STATUS_SUCCESS);
    assert_int_equal(small, -128);
    assert_int_equal(RtlShortToInt8(-129, &small), STATUS_INTEGER_OVERFLOW);
    assert_int_equal(RtlULongToShort(32767, &number), STATUS_SUCCESS);
    assert_int_equal(RtlULongToShort(32768, &number), STATUS_INTEGER_OVERFLOW);
    assert_int_equal(RtlLongToUIntPtr(-1, &pointer), STATUS_INTEGER_OVERFLOW);
    assert_int_equal(RtlULongPtrToLongPtr(~(ULONG_PTR)0, &signed_pointer), STATUS_INTEGER_OVERFLOW);
    assert_int_equal(RtlLongLongToULong(0xffffffffLL, &wide), STATUS_SUCCESS);
    assert_int_equal(RtlLongLongToULong(0x100000000LL, &wide), STATUS_INTEGER_OVERFLOW);
}

static void arithmetic_tells_what_does_not_fit(void **state)
{
    SHORT number;
    INT_PTR difference;
    SSIZE_T size;

    assert_int_equal(RtlShortAdd(32767, 0, &number), STATUS_SUCCESS);
    assert_int_equal(RtlShortAdd(32767, 1, &number), STATUS_INTEGER_OVERFLOW);
    assert_int_equal(RtlPtrdiffTSub(-5, 7, &difference), STATUS_SUCCESS);
    assert_int_equal(difference, -12);
    assert_int_equal(RtlSSIZETMult((SSIZE_T)1 << 62, 2, &size), STATUS_INTEGER_OVERFLOW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_agree_with_a_model),
        cmocka_unit_test(wide_rooms_are_counted_in_bytes_or_characters),
        cmocka_unit_test(nulls_are_the_empty_text_if_one_says_so),
        cmocka_unit_test(counted_strings_agree_with_a_model),
        cmocka_unit_test(a_counted_string_is_made_and_judged),
        cmocka_unit_test(a_conversion_tells_what_does_not_fit),
        cmocka_unit_test(arithmetic_tells_what_does_not_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
