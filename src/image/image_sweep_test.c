/* Damage at every byte of a good image, and images that ask for more than anybody needs. */
#include "image/rig/test_hostile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Opens a copy of the exact size; loads what is accepted. False: refused, and the sentence is
 * there.
 */
static bool survives(const uint8_t *bytes, size_t size, const char *name)
{
    uint8_t *copy = malloc(size ? size : 1);
    struct image_error error;
    struct image *image;
    bool is_open;

    assert_non_null(copy);
    memcpy(copy, bytes, size);
    is_open = image_open(base_services_libc(), copy, size, &image, &error);
    if (is_open)
        test_hostile_load_and_ask(image, name);
    else if (strlen(error.text) < 10 || !strpbrk(error.text, ":"))
        fail_msg("%s: '%s' names no structure", name, error.text);
    image_close(image);
    free(copy);
    return is_open;
}

static void every_truncation_is_refused_up_to_the_last_section(void **state)
{
    struct test_image file;

    test_image_build(&file);
    for (size_t size = 0; size <= sizeof file.bytes; size++) {
        char name[64];

        snprintf(name, sizeof name, "cut to %zu bytes", size);
        assert_int_equal(survives(file.bytes, size, name), size >= 0x1a00);
    }
}

static void every_byte_may_be_wrong(void **state)
{
    static const uint8_t flips[] = {0xff, 0x01, 0x80};
    struct test_image file;
    unsigned opened = 0, refused = 0;

    test_image_build(&file);
    for (size_t i = 0; i < sizeof file.bytes; i++) {
        for (size_t flip = 0; flip < ARRAY_COUNT(flips); flip++) {
            char name[64];

            snprintf(name, sizeof name, "byte 0x%zx ^ 0x%x", i, flips[flip]);
            file.bytes[i] ^= flips[flip];
            if (survives(file.bytes, sizeof file.bytes, name))
                opened++;
            else
                refused++;
            file.bytes[i] ^= flips[flip];
        }
    }
    assert_true(refused > 1000);
    assert_true(opened > 1000);
}

/* ---- More than anybody needs ----------------------------------------------------------------- */

enum { BIG_AT = AT_RELOC + 0x200, BIG_RVA = RVA_RELOC + 0x200 };

/* The good image with the last section so long that bytes of it lie behind BIG_AT. */
static uint8_t *big_image(uint32_t bytes, size_t *out_size)
{
    uint32_t section = (uint32_t)align_up(0x200 + bytes, 0x1000);
    struct test_image file;
    uint8_t *big = calloc(1, AT_RELOC + section);

    assert_non_null(big);
    test_image_build(&file);
    test_image_put(&file, AT_FILE + 8, 8, 0);
    test_image_put(&file, AT_SECTIONS + 40 * 4 + 8, 4, section);
    test_image_put(&file, AT_SECTIONS + 40 * 4 + 16, 4, section);
    test_image_put(&file, AT_OPTIONAL + 56, 4, RVA_RELOC + section);
    memcpy(big, file.bytes, AT_SYMBOLS);
    *out_size = AT_RELOC + section;
    return big;
}

static void put(uint8_t *at, unsigned bytes, uint64_t value)
{
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static void set_directory(uint8_t *big, unsigned index, uint32_t rva, uint32_t size)
{
    put(big + AT_DIRECTORIES + 8 * index, 4, rva);
    put(big + AT_DIRECTORIES + 8 * index + 4, 4, size);
}

/* NULL: it must load. Frees the image's bytes. */
static void assert_refused(uint8_t *big, size_t size, const char *message)
{
    struct image_error error = {""};
    struct image *image;

    if (image_open(base_services_libc(), big, size, &image, &error)) {
        test_hostile_load_and_ask(image, "a big image");
        image_close(image);
    }
    if (!message)
        assert_string_equal(error.text, "");
    else if (!strstr(error.text, message))
        fail_msg("'%s' does not say '%s'", error.text, message);
    free(big);
}

static void import_descriptors(uint32_t count, const char *message)
{
    size_t size;
    uint8_t *big = big_image((count + 1) * 20, &size);

    for (uint32_t i = 0; i < count; i++)
        memcpy(big + BIG_AT + 20 * i, big + RVA_IMPORTS - RVA_RDATA + AT_RDATA, 20);
    set_directory(big, 1, BIG_RVA, (count + 1) * 20);
    assert_refused(big, size, message);
}

static void modules_are_limited(void **state)
{
    import_descriptors(IMAGE_MAX_IMPORT_MODULES, NULL);
    import_descriptors(IMAGE_MAX_IMPORT_MODULES + 1, "import table: more than 512 modules");
}

/* One module, whose names and addresses lie side by side; the delay import is one more. */
static void import_thunks(uint32_t count, const char *message)
{
    size_t size;
    uint8_t *big = big_image((count + 1) * 16, &size);
    uint8_t *descriptor = big + RVA_IMPORTS - RVA_RDATA + AT_RDATA;

    put(descriptor, 4, BIG_RVA);
    put(descriptor + 16, 4, BIG_RVA + (count + 1) * 8);
    put(descriptor + 20, 8, 0);
    put(descriptor + 28, 8, 0);
    put(descriptor + 36, 4, 0);
    for (uint32_t i = 0; i < count; i++)
        put(big + BIG_AT + 8 * i, 8, RVA_TRIPLE);
    assert_refused(big, size, message);
}

static void imports_are_limited(void **state)
{
    import_thunks(IMAGE_MAX_IMPORTS - 1, NULL);
    import_thunks(IMAGE_MAX_IMPORTS + 1, "import of 'alpha.sys': more than 16384 imports");
    import_thunks(IMAGE_MAX_IMPORTS, "import of 'gamma.sys': more than 16384 imports");
}

static void import_name(uint32_t length, const char *message)
{
    size_t size;
    uint8_t *big = big_image(length + 3, &size);

    memset(big + BIG_AT + 2, 'a', length);
    put(big + RVA_ALPHA_THUNKS - RVA_RDATA + AT_RDATA, 8, BIG_RVA);
    assert_refused(big, size, message);
}

static void names_are_limited(void **state)
{
    import_name(IMAGE_MAX_NAME, NULL);
    import_name(IMAGE_MAX_NAME + 1, "is longer than 1024 bytes");
}

/* Exports "a0" and so on, each forwarded to the next one; the last one is code. */
static void forwarders(uint32_t count, const char *message)
{
    enum { NAMES = 0x400, TEXTS = 0x800 };
    size_t size;
    uint8_t *big = big_image(0x2000, &size), *table = big + BIG_AT;

    memcpy(table, big + RVA_EXPORTS - RVA_RDATA + AT_RDATA, 40);
    put(table + 20, 4, count + 1);
    put(table + 24, 4, count + 1);
    put(table + 28, 4, BIG_RVA + 0x100);
    put(table + 32, 4, BIG_RVA + 0x200);
    put(table + 36, 4, BIG_RVA + 0x300);
    for (uint32_t i = 0; i <= count; i++) {
        put(table + 0x100 + 4 * i, 4, i < count ? BIG_RVA + TEXTS + 16 * i : RVA_SQUARE);
        put(table + 0x200 + 4 * i, 4, BIG_RVA + NAMES + 16 * i);
        put(table + 0x300 + 2 * i, 2, i);
        sprintf((char *)table + NAMES + 16 * i, "a%u", i % 10);
        sprintf((char *)table + TEXTS + 16 * i, "image.a%u", (i + 1) % 10);
    }
    set_directory(big, 0, BIG_RVA, 0x1000);
    assert_refused(big, size, message);
}

static void forwarder_chains_are_limited(void **state)
{
    forwarders(IMAGE_MAX_FORWARDS, NULL);
    forwarders(IMAGE_MAX_FORWARDS + 1, "the chain of forwarders from 'image.a1' does not end");
}

/* A function whose unwind information is chained count times. */
static void unwind_chain(uint32_t count, const char *message)
{
    size_t size;
    uint8_t *big = big_image((count + 2) * 16, &size);

    set_directory(big, 3, BIG_RVA, 12);
    for (uint32_t i = 0; i <= count; i++) {
        uint8_t *entry = i ? big + BIG_AT + 16 * i + 4 : big + BIG_AT;

        put(entry, 4, RVA_ENTRY);
        put(entry + 4, 4, RVA_ENTRY + 0x22);
        put(entry + 8, 4, BIG_RVA + 16 * (i + 1));
        put(big + BIG_AT + 16 * (i + 1), 4, i < count ? 0x21 : 0x01);
    }
    assert_refused(big, size, message);
}

static void chains_of_unwind_information_are_limited(void **state)
{
    unwind_chain(IMAGE_MAX_CHAIN, NULL);
    unwind_chain(IMAGE_MAX_CHAIN + 1, "unwind information at rva 0x6210: the chain does not end");
}

/* count functions of one byte each, over a section of their own length. */
static void functions(uint32_t count, const char *message)
{
    size_t size;
    uint8_t *big = big_image(count * 12, &size);

    for (uint32_t i = 0; i < count; i++) {
        put(big + BIG_AT + 12 * (uint64_t)i, 4, BIG_RVA + i);
        put(big + BIG_AT + 12 * (uint64_t)i + 4, 4, BIG_RVA + i + 1);
        put(big + BIG_AT + 12 * (uint64_t)i + 8, 4, RVA_UNWIND);
    }
    set_directory(big, 3, BIG_RVA, count * 12);
    assert_refused(big, size, message);
}

static void functions_are_limited(void **state)
{
    functions(100000, NULL);
    functions(IMAGE_MAX_FUNCTIONS + 1, "exception table: 1048577 functions");
}

static void many_relocations_are_no_trouble(void **state)
{
    enum { COUNT = 1000000 };
    size_t size;
    uint8_t *big = big_image(8 + 2 * COUNT, &size);

    put(big + BIG_AT, 4, RVA_DATA);
    put(big + BIG_AT + 4, 4, 8 + 2 * COUNT);
    for (uint32_t i = 0; i < COUNT; i++)
        put(big + BIG_AT + 8 + 2 * (uint64_t)i, 2, 0xa008);
    set_directory(big, 5, BIG_RVA, 8 + 2 * COUNT);
    assert_refused(big, size, NULL);
}

static void large_section_alignments_are_kept(void **state)
{
    struct image_load_options options = {test_hostile_any_address, NULL, 0x1234};
    struct image_error error;
    struct test_image file;
    struct image *image;

    test_image_build(&file);
    test_image_put(&file, AT_OPTIONAL + 32, 4, IMAGE_MAX_ALIGNMENT);
    test_image_put(&file, AT_OPTIONAL + 56, 4, 2 * IMAGE_MAX_ALIGNMENT);
    test_image_put(&file, AT_OPTIONAL + 16, 4, 0);
    test_image_put(&file, AT_OPTIONAL + 108, 4, 0);
    test_image_put(&file, AT_FILE + 2, 2, 1);
    test_image_put(&file, AT_SECTIONS + 12, 4, IMAGE_MAX_ALIGNMENT);
    if (!image_open(base_services_libc(), file.bytes, sizeof file.bytes, &image, &error) ||
        !image_load(image, &options, &error))
        fail_msg("%s", error.text);
    assert_true(is_aligned(image_base(image), IMAGE_MAX_ALIGNMENT));
    assert_int_equal(image_section(image, 0)->bytes, IMAGE_MAX_ALIGNMENT);
    image_close(image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_truncation_is_refused_up_to_the_last_section),
        cmocka_unit_test(every_byte_may_be_wrong),
        cmocka_unit_test(modules_are_limited),
        cmocka_unit_test(imports_are_limited),
        cmocka_unit_test(names_are_limited),
        cmocka_unit_test(forwarder_chains_are_limited),
        cmocka_unit_test(chains_of_unwind_information_are_limited),
        cmocka_unit_test(functions_are_limited),
        cmocka_unit_test(many_relocations_are_no_trouble),
        cmocka_unit_test(large_section_alignments_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
