#include "image/rig/test_hostile.h"

#include "image/unwind.h"

#include <stdlib.h>
#include <string.h>

uint64_t test_hostile_any_address(void *context, const struct image_import *import)
{
    return 0x123456789;
}

static bool any_memory(void *context, uint64_t address, void *out, size_t size)
{
    memset(out, 0x33, size);
    return true;
}

static void drop_remark(void *context, const char *text)
{
    assert_true(strlen(text) > 0);
}

void test_hostile_load_and_ask(struct image *image, const char *name)
{
    struct image_load_options options = {test_hostile_any_address, NULL, 0x1234};
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

void test_hostile_play(const struct hostile *hostile)
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
        test_hostile_load_and_ask(image, hostile->name);
    else
        assert_null(image);
    image_close(image);
    free(bytes);
}
