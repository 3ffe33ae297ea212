#include "nt/exports.h"

#include "base/bits.h"
#include "base/hash.h"

#include <ntdef.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void every_name_is_listed_once_and_found(void **state)
{
    const struct nt_export *row;
    size_t count = 0;

    for (; (row = nt_export_at(count)) != NULL; count++) {
        assert_non_null(row->address);
        assert_ptr_equal(nt_find_export(row->name), row);
    }
    assert_true(count > 20);
    assert_null(nt_find_export("KeDoWhatNobodyKnows"));
    assert_null(nt_find_export(""));
}

static void memory_functions_have_the_conventions_of_the_image(void **state)
{
    void *NTAPI (*copy)(void *, const void *, SIZE_T) = nt_find_export("memcpy")->address;
    void *NTAPI (*move)(void *, const void *, SIZE_T) = nt_find_export("memmove")->address;
    void *NTAPI (*set)(void *, int, SIZE_T) = nt_find_export("memset")->address;
    int NTAPI (*compare)(const void *, const void *, SIZE_T) = nt_find_export("memcmp")->address;
    char text[16] = "abcdefgh", other[16];

    assert_ptr_equal(copy(other, text, sizeof text), other);
    assert_int_equal(compare(other, "abcdefgh", 9), 0);
    assert_ptr_equal(move(text + 2, text, 5), text + 2);
    assert_string_equal(text, "ababcdeh");
    assert_ptr_equal(set(text, 'x', 3), text);
    assert_string_equal(text, "xxxbcdeh");
    assert_true(compare(text, other, 8) > 0);
}

#if defined(__x86_64__)
/* Touches each page down to what is asked for, and changes no register. */
static void stack_is_probed_page_by_page(void **state)
{
    static const uint64_t sizes[] = {8, 4095, 4096, 4097, 65536};
    const void *probe = nt_find_export("__chkstk")->address;

    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
        uint64_t rax = sizes[i], rcx = 77;

        __asm__ volatile("call *%2" : "+a"(rax), "+c"(rcx) : "r"(probe) : "memory", "cc");
        assert_int_equal(rax, sizes[i]);
        assert_int_equal(rcx, 77);
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_is_listed_once_and_found),
        cmocka_unit_test(memory_functions_have_the_conventions_of_the_image),
#if defined(__x86_64__)
        cmocka_unit_test(stack_is_probed_page_by_page),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
