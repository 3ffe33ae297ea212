/*
 * Hostile images: the good one of test_image.h with a few bytes changed.
 *
 * Place      image, tests only.
 * Model      Each is either refused with a sentence that names the structure, or loaded, asked
 *            about everything and unloaded. A test program has tables of cases and PLAYS() for
 *            each.
 */
#ifndef IMAGE_TEST_HOSTILE_H
#define IMAGE_TEST_HOSTILE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "image/image.h"
#include "image/test_image.h"
#include "image/unwind.h"

#include <stdlib.h>

struct patch {
    uint32_t at;
    uint32_t bytes; /* 0: no more patches */
    uint64_t value;
};

struct hostile {
    const char *name;
    const char *message; /* part of the refusal; NULL: it is odd but loads */
    uint32_t file_bytes; /* 0: all */
    struct patch patches[6];
};

/* A field of the optional header, a directory, a section's entry, and what lies at an rva. */
#define OPTIONAL(offset, bytes, value)                                                             \
    {                                                                                              \
        AT_OPTIONAL + (offset), (bytes), (value)                                                   \
    }
#define DIRECTORY(index, rva, size)                                                                \
    {                                                                                              \
        AT_DIRECTORIES + 8 * (index), 8, (rva) | (uint64_t)(size) << 32                            \
    }
#define SECTION(index, offset, bytes, value)                                                       \
    {                                                                                              \
        AT_SECTIONS + 40 * (index) + (offset), (bytes), (value)                                    \
    }
#define RDATA(rva, bytes, value)                                                                   \
    {                                                                                              \
        (rva) - RVA_RDATA + AT_RDATA, (bytes), (value)                                             \
    }
#define DATA(rva, bytes, value)                                                                    \
    {                                                                                              \
        (rva) - RVA_DATA + AT_DATA, (bytes), (value)                                               \
    }
#define RELOC(offset, bytes, value)                                                                \
    {                                                                                              \
        AT_RELOC + (offset), (bytes), (value)                                                      \
    }
#define FUNCTION(index, begin, end)                                                                \
    RDATA(RVA_FUNCTIONS + 12 * (index), 8, (begin) | (uint64_t)(end) << 32)
#define UNWIND_OF(index, rva)  RDATA(RVA_FUNCTIONS + 12 * (index) + 8, 4, rva)
#define CONFIG(offset, value)  RDATA(RVA_CONFIG + (offset), 8, value)
#define FORWARDER(index, text) RDATA(RVA_EXPORT_TEXTS + 16 * (index), 8, text)

/* Eight characters as a number, the first one lowest. */
#define TEXT8(a, b, c, d, e, f, g, h)                                                              \
    ((uint64_t)(a) | (uint64_t)(b) << 8 | (uint64_t)(c) << 16 | (uint64_t)(d) << 24 |              \
     (uint64_t)(e) << 32 | (uint64_t)(f) << 40 | (uint64_t)(g) << 48 | (uint64_t)(h) << 56)

/* ---- Playing them --------------------------------------------------------------------------- */

static inline uint64_t any_address(void *context, const struct image_import *import)
{
    return 0x123456789;
}

static inline bool any_memory(void *context, uint64_t address, void *out, size_t size)
{
    memset(out, 0x33, size);
    return true;
}

static inline void drop_remark(void *context, const char *text)
{
    assert_true(strlen(text) > 0);
}

/* Loads, asks for everything and unloads; what it says must make sense. */
static inline void load_and_ask(struct image *image, const char *name)
{
    struct image_load_options options = {any_address, NULL, 0x1234};
    struct image_memory memory = {any_memory, NULL};
    struct image_error error;
    uint64_t base;

    if (!image_load(image, &options, &error))
        fail_msg("%s: %s", name, error.text);
    base = image_base(image);
    for (uint64_t at = 0; at < image_size(image); at += 512) {
        struct image_function function;
        struct image_context context = {.rip = base + at};
        struct image_symbol symbol;
        struct image_frame frame;

        image_function_at(image, base + at, &function);
        assert_true(image_unwind_step(image, &context, &memory, &frame, &error));
        assert_int_equal(frame.function.begin_rva, function.begin_rva);
        assert_true(image_symbol_at(image, base + at, &symbol));
        assert_true(symbol.offset < image_size(image));
    }
    image_for_each_remark(image, drop_remark, NULL);
    image_unload(image);
}

static inline void play(const struct hostile *hostile)
{
    size_t size = hostile->file_bytes ? hostile->file_bytes : TEST_IMAGE_FILE_BYTES;
    struct test_image file;
    struct image_error error;
    struct image *image;
    uint8_t *bytes;
    bool is_open;

    test_image_build(&file);
    for (size_t i = 0; i < ARRAY_COUNT(hostile->patches) && hostile->patches[i].bytes; i++)
        test_image_put(&file, hostile->patches[i].at, hostile->patches[i].bytes,
                       hostile->patches[i].value);
    bytes = malloc(size); /* of the exact size, for the address sanitizer */
    assert_non_null(bytes);
    memcpy(bytes, file.bytes, size);
    is_open = image_open(base_services_libc(), bytes, size, &image, &error);
    if (is_open != !hostile->message)
        fail_msg("%s: %s", hostile->name, is_open ? "was not refused" : error.text);
    if (!is_open && !strstr(error.text, hostile->message))
        fail_msg("%s: '%s' does not say '%s'", hostile->name, error.text, hostile->message);
    if (is_open)
        load_and_ask(image, hostile->name);
    else
        assert_null(image);
    image_close(image);
    free(bytes);
}

#define PLAYS(group)                                                                               \
    static void hostile_##group(void **state)                                                      \
    {                                                                                              \
        for (size_t i = 0; i < ARRAY_COUNT(group##_cases); i++)                                    \
            play(&group##_cases[i]);                                                               \
    }

#endif
