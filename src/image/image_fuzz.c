/*
 * Fuzz target: any bytes as a driver image.
 *
 * With an even first byte the rest is the file. With an odd one it changes the good image of
 * test_image.h: pairs of 16 bits, where and what. Headers are hard to guess, and the tables are the
 * larger part. An image that opens is loaded and asked about everything; its code does not run.
 */
#include "image/image.h"
#include "image/rig/test_image.h"
#include "image/unwind.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t any_address(void *context, const struct image_import *import)
{
    return 0x123456789;
}

static bool count_name(void *context, const struct image_import *import)
{
    *(size_t *)context += strlen(import->module) + (import->name ? strlen(import->name) : 0);
    return true;
}

static void count_remark(void *context, const char *text)
{
    *(size_t *)context += strlen(text);
}

static bool any_memory(void *context, uint64_t address, void *out, size_t size)
{
    memset(out, (int)(address >> 3), size);
    return true;
}

static void ask(const struct image *image)
{
    uint64_t base = image_base(image);
    struct image_function function;
    struct image_export export;
    struct image_symbol symbol;
    struct image_memory memory = {any_memory, NULL};
    struct image_error error;
    size_t total = 0;

    image_for_each_import(image, count_name, &total);
    image_for_each_remark(image, count_remark, &total);
    image_find_export(image, "Beta", &export);
    for (uint64_t at = 0; at < image_size(image) && at < 16 * PAGE_BYTES; at += 61) {
        struct image_context context = {.rip = base + at};
        struct image_frame frame;

        image_function_at(image, base + at, &function);
        image_unwind_step(image, &context, &memory, &frame, &error);
        if (!image_symbol_at(image, base + at, &symbol))
            abort();
    }
}

static void open_and_load(const uint8_t *bytes, size_t size)
{
    struct image_load_options options = {any_address, NULL, 0x1234};
    struct image_error error;
    struct image *image;

    if (!image_open(base_services_libc(), bytes, size, &image, &error))
        return;
    if (image_load(image, &options, &error))
        ask(image);
    image_close(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct test_image file;

    if (size == 0)
        return 0;
    if (data[0] & 1) {
        test_image_build(&file);
        for (size_t i = 1; i + 4 <= size; i += 4)
            test_image_put(&file, (data[i] | data[i + 1] << 8) % (TEST_IMAGE_FILE_BYTES - 1), 2,
                           data[i + 2] | (uint64_t)data[i + 3] << 8);
        open_and_load(file.bytes, sizeof file.bytes);
    } else {
        open_and_load(data + 1, size - 1);
    }
    return 0;
}
