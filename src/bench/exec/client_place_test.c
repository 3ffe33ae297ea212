/*
 * Places in processes: names of functions, and files that are none.
 */
#include "bench/exec/client_place.h"

#include "base/rng.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

__attribute__((noinline)) int client_place_test_landmark(int value);

int client_place_test_landmark(int value)
{
    return value * 3 + 1;
}

static void an_address_is_a_function_and_its_file(void **state)
{
    char text[256];

    client_place(getpid(), (uintptr_t)client_place_test_landmark + 1, text, sizeof text);
    assert_non_null(strstr(text, "client_place_test_landmark+0x1 ("));
    client_place(getpid(), 16, text, sizeof text);
    assert_string_equal(text, "0x10");
    client_place(0x7ffffff0, 4096, text, sizeof text); /* no such process */
    assert_string_equal(text, "0x1000");
}

struct file {
    uint8_t *bytes;
    size_t size;
};

static struct file read_own(void)
{
    FILE *stream = fopen("/proc/self/exe", "rb");
    struct file file = {0};

    assert_non_null(stream);
    fseek(stream, 0, SEEK_END);
    file.size = (size_t)ftell(stream);
    file.bytes = malloc(file.size);
    rewind(stream);
    assert_int_equal(fread(file.bytes, 1, file.size, stream), file.size);
    fclose(stream);
    return file;
}

/* Of the headers, where they are; each change is undone behind its try. */
static void any_bytes_are_read_within_their_bounds(void **state)
{
    struct file file = read_own();
    const Elf64_Ehdr head = *(const Elf64_Ehdr *)(const void *)file.bytes;
    const uint64_t parts[] = {0, head.e_phoff, head.e_shoff};
    char text[160];
    struct rng rng;

    rng_init(&rng, 1);
    for (unsigned i = 0; i < 400; i++) {
        const uint64_t at = parts[rng_below(&rng, 3)] + rng_below(&rng, 64) * 8;
        const uint64_t size = rng_below(&rng, 4) ? file.size : rng_below(&rng, file.size);
        uint64_t before, wrong = rng_below(&rng, 2) ? rng_next(&rng) : rng_below(&rng, file.size);

        if (at + 8 > file.size)
            continue;
        memcpy(&before, file.bytes + at, 8);
        memcpy(file.bytes + at, &wrong, 8);
        /* A copy of the right size, so that a read beyond it is seen by sanitizers. */
        if (size == file.size) {
            client_place_symbol(file.bytes, size, rng_below(&rng, file.size), text, sizeof text);
        } else {
            uint8_t *part = malloc(size + 1);

            memcpy(part, file.bytes, size);
            client_place_symbol(part, size, rng_below(&rng, file.size), text, sizeof text);
            free(part);
        }
        memcpy(file.bytes + at, &before, 8);
    }
    assert_false(client_place_symbol((const uint8_t *)"", 0, 0, text, sizeof text));
    free(file.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_a_function_and_its_file),
        cmocka_unit_test(any_bytes_are_read_within_their_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
