/*
 * Functions of the C run time that the kernel exports, for strings of WCHAR. See text.c.
 */
#include "nt/nt_private.h"
#include "nt/text/format.h"
#include "nt/text/text.h"

#include <wdm/strings.h>

#include <string.h>

static SIZE_T NTAPI text_length_within(const WCHAR *string, SIZE_T most)
{
    SIZE_T length = 0;

    while (length < most && string[length])
        length++;
    return length;
}

static SIZE_T NTAPI text_length(const WCHAR *string)
{
    return text_length_within(string, SIZE_MAX);
}

static int NTAPI text_compare_within(const WCHAR *first, const WCHAR *second, SIZE_T most)
{
    for (SIZE_T i = 0; i < most; i++) {
        if (first[i] != second[i])
            return first[i] < second[i] ? -1 : 1;
        if (!first[i])
            break;
    }
    return 0;
}

static int NTAPI text_compare(const WCHAR *first, const WCHAR *second)
{
    return text_compare_within(first, second, SIZE_MAX);
}

static int NTAPI text_compare_ignoring_case_within(const WCHAR *first, const WCHAR *second,
                                                   SIZE_T most)
{
    for (SIZE_T i = 0; i < most; i++) {
        WCHAR a = RtlDowncaseUnicodeChar(first[i]), b = RtlDowncaseUnicodeChar(second[i]);

        if (a != b || !a)
            return (int)a - (int)b;
    }
    return 0;
}

static int NTAPI text_compare_ignoring_case(const WCHAR *first, const WCHAR *second)
{
    return text_compare_ignoring_case_within(first, second, SIZE_MAX);
}

static WCHAR *NTAPI text_find_character(const WCHAR *string, WCHAR c)
{
    for (; *string != c; string++) {
        if (!*string)
            return NULL;
    }
    return (WCHAR *)(uintptr_t)string;
}

static WCHAR *NTAPI text_find_last_character(const WCHAR *string, WCHAR c)
{
    for (const WCHAR *at = string + text_length(string); at >= string; at--) {
        if (*at == c)
            return (WCHAR *)(uintptr_t)at;
    }
    return NULL;
}

static WCHAR *NTAPI text_find(const WCHAR *string, const WCHAR *part)
{
    SIZE_T length = text_length(part);

    for (;; string++) {
        if (text_compare_within(string, part, length) == 0)
            return (WCHAR *)(uintptr_t)string;
        if (!*string)
            return NULL;
    }
}

static WCHAR *NTAPI text_copy(WCHAR *to, const WCHAR *from)
{
    return memcpy(to, from, (text_length(from) + 1) * sizeof *to);
}

static WCHAR *NTAPI text_copy_within(WCHAR *to, const WCHAR *from, SIZE_T most)
{
    SIZE_T length = text_length_within(from, most);

    memcpy(to, from, length * sizeof *to);
    memset(to + length, 0, (most - length) * sizeof *to);
    return to;
}

static WCHAR *NTAPI text_append_within(WCHAR *to, const WCHAR *from, SIZE_T most)
{
    SIZE_T end = text_length(to), length = text_length_within(from, most);

    memcpy(to + end, from, length * sizeof *to);
    to[end + length] = 0;
    return to;
}

static WCHAR *NTAPI text_append(WCHAR *to, const WCHAR *from)
{
    return text_append_within(to, from, SIZE_MAX);
}

static int NTAPI text_append_within_safely(WCHAR *to, SIZE_T room, const WCHAR *from, SIZE_T most)
{
    SIZE_T end, length;
    int error = 0;

    if (!to || !room)
        return NT_EINVAL;
    end = text_length_within(to, room);
    if (!from || end == room) {
        to[0] = 0;
        return NT_EINVAL;
    }
    length = text_length_within(from, most < room - end ? most : room - end);
    if (length == room - end) {
        if (most != NT_TRUNCATE) {
            to[0] = 0;
            return NT_ERANGE;
        }
        length--;
        error = NT_STRUNCATE;
    }
    memcpy(to + end, from, length * sizeof *to);
    to[end + length] = 0;
    return error;
}

static int NTAPI text_copy_within_safely(WCHAR *to, SIZE_T room, const WCHAR *from, SIZE_T most)
{
    if (to && room)
        to[0] = 0;
    return text_append_within_safely(to, room, from, most);
}

static int NTAPI text_copy_safely(WCHAR *to, SIZE_T room, const WCHAR *from)
{
    return text_copy_within_safely(to, room, from, SIZE_MAX - 1);
}

static int NTAPI text_append_safely(WCHAR *to, SIZE_T room, const WCHAR *from)
{
    return text_append_within_safely(to, room, from, SIZE_MAX - 1);
}

static WCHAR *NTAPI text_to_upper(WCHAR *string)
{
    for (WCHAR *c = string; *c; c++)
        *c = RtlUpcaseUnicodeChar(*c);
    return string;
}

static WCHAR *NTAPI text_to_lower(WCHAR *string)
{
    for (WCHAR *c = string; *c; c++)
        *c = RtlDowncaseUnicodeChar(*c);
    return string;
}

/* ---- Format ---------------------------------------------------------------------------------- */

#define UNIT     WCHAR
#define NT_PRINT nt_print_wide
#include "nt/text/text_print.inc"

#define CALL(name, function)                                                                       \
    {                                                                                              \
        name, (const void *)(function), NT_EXPORT_SERVICE, NULL                                    \
    }

static const struct nt_export services[] = {
    NT_DIRECT("wcslen", text_length),
    NT_DIRECT("wcsnlen", text_length_within),
    NT_DIRECT("wcscmp", text_compare),
    NT_DIRECT("wcsncmp", text_compare_within),
    NT_DIRECT("_wcsicmp", text_compare_ignoring_case),
    NT_DIRECT("_wcsnicmp", text_compare_ignoring_case_within),
    NT_DIRECT("wcschr", text_find_character),
    NT_DIRECT("wcsrchr", text_find_last_character),
    NT_DIRECT("wcsstr", text_find),
    NT_DIRECT("wcscpy", text_copy),
    NT_DIRECT("wcsncpy", text_copy_within),
    NT_DIRECT("wcscat", text_append),
    NT_DIRECT("wcsncat", text_append_within),
    NT_DIRECT("wcscpy_s", text_copy_safely),
    NT_DIRECT("wcsncpy_s", text_copy_within_safely),
    NT_DIRECT("wcscat_s", text_append_safely),
    NT_DIRECT("wcsncat_s", text_append_within_safely),
    NT_DIRECT("_wcsupr", text_to_upper),
    NT_DIRECT("_wcslwr", text_to_lower),
    NT_DIRECT("towupper", RtlUpcaseUnicodeChar),
    NT_DIRECT("towlower", RtlDowncaseUnicodeChar),
    CALL("swprintf", print_anywhere),
    CALL("_snwprintf", print_old_arguments),
    CALL("_vsnwprintf", print_old),
    CALL("swprintf_s", print_arguments_safely),
    CALL("vswprintf_s", print_safely),
    CALL("_snwprintf_s", print_arguments_cut_safely),
    CALL("_vsnwprintf_s", print_cut_safely),
    {0},
};

const struct nt_area nt_wide_text_area = {.exports = services};
