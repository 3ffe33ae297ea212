/*
 * Functions of the C run time that the kernel exports, for strings of CHAR; those for strings of
 * WCHAR are in wide_text.c. Short ones run where they are called; those that format pass the
 * boundary, because they need more stack than a driver expects to give.
 */
#include "nt/text/text.h"

#include "nt/nt_private.h"
#include "nt/text/format.h"

#include <string.h>

/* The state of the area. */
struct random {
    uint32_t state; /* of rand() */
};

static struct random *random_of(const struct nt *nt)
{
    return NT_STATE(nt, text);
}

/* ---- Search and compare ---------------------------------------------------------------------- */

static SIZE_T NTAPI text_length(const char *string)
{
    return strlen(string);
}

static SIZE_T NTAPI text_length_within(const char *string, SIZE_T most)
{
    SIZE_T length = 0;

    while (length < most && string[length])
        length++;
    return length;
}

static int NTAPI text_compare(const char *first, const char *second)
{
    return strcmp(first, second);
}

static int NTAPI text_compare_within(const char *first, const char *second, SIZE_T most)
{
    return strncmp(first, second, most);
}

static int lower(int c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static int upper(int c)
{
    return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c;
}

static int NTAPI text_compare_ignoring_case_within(const char *first, const char *second,
                                                   SIZE_T most)
{
    for (SIZE_T i = 0; i < most; i++) {
        int a = lower((UCHAR)first[i]), b = lower((UCHAR)second[i]);

        if (a != b || !a)
            return a - b;
    }
    return 0;
}

static int NTAPI text_compare_ignoring_case(const char *first, const char *second)
{
    return text_compare_ignoring_case_within(first, second, SIZE_MAX);
}

static char *NTAPI text_find_character(const char *string, int c)
{
    return (char *)(uintptr_t)strchr(string, c);
}

static char *NTAPI text_find_last_character(const char *string, int c)
{
    return (char *)(uintptr_t)strrchr(string, c);
}

static char *NTAPI text_find(const char *string, const char *part)
{
    return (char *)(uintptr_t)strstr(string, part);
}

static SIZE_T NTAPI text_span(const char *string, const char *set)
{
    return strspn(string, set);
}

static void *NTAPI memory_find(const void *memory, int c, SIZE_T bytes)
{
    return (void *)(uintptr_t)memchr(memory, c, bytes);
}

/* ---- Copy ------------------------------------------------------------------------------------ */

static char *NTAPI text_copy(char *to, const char *from)
{
    return strcpy(to, from);
}

static char *NTAPI text_copy_within(char *to, const char *from, SIZE_T most)
{
    SIZE_T i = 0;

    for (; i < most && from[i]; i++)
        to[i] = from[i];
    memset(to + i, 0, most - i);
    return to;
}

static char *NTAPI text_append(char *to, const char *from)
{
    return strcat(to, from);
}

static char *NTAPI text_append_within(char *to, const char *from, SIZE_T most)
{
    SIZE_T end = strlen(to), length = text_length_within(from, most);

    memcpy(to + end, from, length);
    to[end + length] = 0;
    return to;
}

/*
 * The _s functions: text that does not fit leaves an empty string and an error. The kernel has no
 * handler for invalid parameters to call.
 */
static int NTAPI text_append_within_safely(char *to, SIZE_T room, const char *from, SIZE_T most)
{
    SIZE_T end, length;

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
        memcpy(to + end, from, length);
        to[end + length] = 0;
        return NT_STRUNCATE;
    }
    memcpy(to + end, from, length);
    to[end + length] = 0;
    return 0;
}

static int NTAPI text_copy_within_safely(char *to, SIZE_T room, const char *from, SIZE_T most)
{
    if (to && room)
        to[0] = 0;
    return text_append_within_safely(to, room, from, most);
}

static int NTAPI text_copy_safely(char *to, SIZE_T room, const char *from)
{
    return text_copy_within_safely(to, room, from, SIZE_MAX - 1);
}

static int NTAPI text_append_safely(char *to, SIZE_T room, const char *from)
{
    return text_append_within_safely(to, room, from, SIZE_MAX - 1);
}

static int NTAPI memory_copy_safely(void *to, SIZE_T room, const void *from, SIZE_T bytes)
{
    if (!bytes)
        return 0;
    if (!to)
        return NT_EINVAL;
    if (!from || bytes > room) {
        memset(to, 0, room);
        return from ? NT_ERANGE : NT_EINVAL;
    }
    memmove(to, from, bytes);
    return 0;
}

static int NTAPI memory_move_safely(void *to, SIZE_T room, const void *from, SIZE_T bytes)
{
    if (!bytes)
        return 0;
    if (!to || !from)
        return NT_EINVAL;
    if (bytes > room)
        return NT_ERANGE;
    memmove(to, from, bytes);
    return 0;
}

static char *NTAPI text_to_upper(char *string)
{
    for (char *c = string; *c; c++)
        *c = (char)upper(*c);
    return string;
}

static char *NTAPI text_to_lower(char *string)
{
    for (char *c = string; *c; c++)
        *c = (char)lower(*c);
    return string;
}

/* ---- Characters and numbers ------------------------------------------------------------------ */

static int NTAPI to_upper(int c)
{
    return upper(c);
}

static int NTAPI to_lower(int c)
{
    return lower(c);
}

static int NTAPI is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static int NTAPI is_space(int c)
{
    return c == ' ' || (c >= 9 && c <= 13);
}

static int NTAPI is_upper(int c)
{
    return c >= 'A' && c <= 'Z';
}

static int NTAPI is_lower(int c)
{
    return c >= 'a' && c <= 'z';
}

static int NTAPI is_alpha(int c)
{
    return is_upper(c) || is_lower(c);
}

static int NTAPI is_alnum(int c)
{
    return is_alpha(c) || is_digit(c);
}

static int NTAPI is_hex_digit(int c)
{
    return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'f');
}

static int NTAPI is_printable(int c)
{
    return c >= 0x20 && c < 0x7f;
}

static LONG NTAPI text_to_integer(const char *string)
{
    bool is_negative;
    ULONG value = 0;

    while (is_space((UCHAR)*string))
        string++;
    is_negative = *string == '-';
    string += *string == '-' || *string == '+';
    for (; is_digit((UCHAR)*string); string++)
        value = value * 10 + (ULONG)(*string - '0');
    return (LONG)(is_negative ? 0u - value : value);
}

/* ---- Sorted arrays --------------------------------------------------------------------------- */

typedef int(NTAPI compare_function)(const void *first, const void *second);

/* The driver's function may be an image's. */
static compare_function *callable(compare_function *compare)
{
    return (compare_function *)nt_driver_function(nt_current(), (const void *)compare);
}

static void swap(UCHAR *first, UCHAR *second, SIZE_T size)
{
    for (SIZE_T i = 0; i < size; i++) {
        UCHAR byte = first[i];

        first[i] = second[i];
        second[i] = byte;
    }
}

static void sift(UCHAR *base, SIZE_T root, SIZE_T count, SIZE_T size, compare_function *compare)
{
    for (SIZE_T child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && compare(base + child * size, base + (child + 1) * size) < 0)
            child++;
        if (compare(base + root * size, base + child * size) >= 0)
            return;
        swap(base + root * size, base + child * size, size);
    }
}

static VOID NTAPI sort(void *array, SIZE_T count, SIZE_T size, compare_function *function)
{
    compare_function *compare = callable(function);
    UCHAR *base = array;

    if (!compare)
        return;
    for (SIZE_T i = count / 2; i-- > 0;)
        sift(base, i, count, size, compare);
    for (SIZE_T end = count; end-- > 1;) {
        swap(base, base + end * size, size);
        sift(base, 0, end, size, compare);
    }
}

static void *NTAPI search(const void *key, const void *array, SIZE_T count, SIZE_T size,
                          compare_function *function)
{
    compare_function *compare = callable(function);
    const UCHAR *base = array;

    while (compare && count) {
        const UCHAR *middle = base + count / 2 * size;
        int order = compare(key, middle);

        if (order == 0)
            return (void *)(uintptr_t)middle;
        if (order > 0) {
            base = middle + size;
            count -= count / 2 + 1;
        } else {
            count /= 2;
        }
    }
    return NULL;
}

static int NTAPI random_number(void)
{
    struct nt *nt = nt_current();

    random_of(nt)->state = random_of(nt)->state * 214013u + 2531011u;
    return (int)(random_of(nt)->state >> 16 & 0x7fff);
}

static VOID NTAPI seed_random_number(unsigned seed)
{
    random_of(nt_current())->state = seed;
}

/* ---- Format ---------------------------------------------------------------------------------- */

#define UNIT     char
#define NT_PRINT nt_print
#include "nt/text/text_print.inc"

static int NTAPI print_list_anywhere(char *out, const char *format, nt_va_list arguments)
{
    return print_within(out, INT32_MAX, format, arguments);
}

#define CALL(name, function)                                                                       \
    {                                                                                              \
        name, (const void *)(function), NT_EXPORT_SERVICE, NULL                                    \
    }

static const struct nt_export services[] = {
    NT_DIRECT("strlen", text_length),
    NT_DIRECT("strnlen", text_length_within),
    NT_DIRECT("strcmp", text_compare),
    NT_DIRECT("strncmp", text_compare_within),
    NT_DIRECT("_stricmp", text_compare_ignoring_case),
    NT_DIRECT("_strnicmp", text_compare_ignoring_case_within),
    NT_DIRECT("strchr", text_find_character),
    NT_DIRECT("strrchr", text_find_last_character),
    NT_DIRECT("strstr", text_find),
    NT_DIRECT("strspn", text_span),
    NT_DIRECT("memchr", memory_find),
    NT_DIRECT("strcpy", text_copy),
    NT_DIRECT("strncpy", text_copy_within),
    NT_DIRECT("strcat", text_append),
    NT_DIRECT("strncat", text_append_within),
    NT_DIRECT("strcpy_s", text_copy_safely),
    NT_DIRECT("strncpy_s", text_copy_within_safely),
    NT_DIRECT("strcat_s", text_append_safely),
    NT_DIRECT("strncat_s", text_append_within_safely),
    NT_DIRECT("memcpy_s", memory_copy_safely),
    NT_DIRECT("memmove_s", memory_move_safely),
    NT_DIRECT("_strupr", text_to_upper),
    NT_DIRECT("_strlwr", text_to_lower),
    NT_DIRECT("toupper", to_upper),
    NT_DIRECT("tolower", to_lower),
    NT_DIRECT("isdigit", is_digit),
    NT_DIRECT("isspace", is_space),
    NT_DIRECT("isupper", is_upper),
    NT_DIRECT("islower", is_lower),
    NT_DIRECT("isalpha", is_alpha),
    NT_DIRECT("isalnum", is_alnum),
    NT_DIRECT("isxdigit", is_hex_digit),
    NT_DIRECT("isprint", is_printable),
    NT_DIRECT("atoi", text_to_integer),
    NT_DIRECT("atol", text_to_integer),
    CALL("qsort", sort),
    CALL("bsearch", search),
    CALL("rand", random_number),
    CALL("srand", seed_random_number),
    CALL("sprintf", print_anywhere),
    CALL("vsprintf", print_list_anywhere),
    CALL("_snprintf", print_old_arguments),
    CALL("_vsnprintf", print_old),
    CALL("sprintf_s", print_arguments_safely),
    CALL("vsprintf_s", print_safely),
    CALL("_snprintf_s", print_arguments_cut_safely),
    CALL("_vsnprintf_s", print_cut_safely),
    {0},
};

const struct nt_area nt_text_area = {.exports = services, .state_bytes = sizeof(struct random)};
