/*
 * Opening: everything is judged, in an order in which each table relies on those before it.
 */
#include "image/image_private.h"

#include <stdio.h>

static bool read_everything(struct image *image, struct image_error *error)
{
    return image_read_headers(image, error) && image_read_directories(image, error) &&
           image_walk_relocations(image, NULL, NULL, error) &&
           image_walk_imports(image, NULL, NULL, error) && image_read_config(image, error) &&
           image_read_exports(image, error) && image_read_functions(image, error) &&
           image_read_symbols(image, error);
}

bool image_open(const struct base_services *services, const void *bytes, size_t size,
                struct image **out, struct image_error *error)
{
    struct image *image;

    *out = NULL;
    error->text[0] = '\0';
    image = base_alloc(services, sizeof *image);
    if (!image)
        return image_refuse(error, "no memory");
    image->services = services;
    image->bytes = bytes;
    image->size = size;
    if (!read_everything(image, error)) {
        image_close(image);
        return false;
    }
    *out = image;
    return true;
}

void image_close(struct image *image)
{
    if (!image)
        return;
    image_unload(image);
    base_free_array(image->services, image->symbols, image->symbol_room, sizeof *image->symbols);
    base_free(image->services, image, sizeof *image);
}

void image_for_each_remark(const struct image *image,
                           void (*visit)(void *context, const char *text), void *context)
{
    for (uint32_t i = 0; i < image->section_count; i++) {
        const struct image_section *section = &image->sections[i];
        char text[96];

        if (!section->is_writable || !section->is_executable)
            continue;
        snprintf(text, sizeof text, "section %" PRIu32 " '%s' can be written and executed",
                 section->number, section->name);
        visit(context, text);
    }
    if (image->symbol_remark.text[0])
        visit(context, image->symbol_remark.text);
}

bool image_function_at(const struct image *image, uint64_t address, struct image_function *out)
{
    memset(out, 0, sizeof *out);
    return image_contains(image, address) &&
           image_function_of_rva(image, address - image_base(image), out);
}
