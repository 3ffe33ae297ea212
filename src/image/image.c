/* Opening, closing, and what the other files share. */
#include "image/image_private.h"

#include <stdarg.h>
#include <stdio.h>

bool image_refuse(struct image_error *error, const char *format, ...)
{
    va_list arguments;

    if (!error)
        return false;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return false;
}

const struct image_section *image_section_of(const struct image *image, uint64_t rva, uint64_t size)
{
    for (uint32_t i = 0; i < image->section_count; i++) {
        const struct image_section *section = &image->sections[i];

        if (rva >= section->rva && rva - section->rva < section->bytes)
            return size <= section->bytes - (rva - section->rva) ? section : NULL;
    }
    return NULL;
}

const uint8_t *image_file_bytes(const struct image *image, uint64_t rva, uint64_t size)
{
    const struct image_section *section = image_section_of(image, rva, size);

    if (!section || rva - section->rva > section->file_bytes ||
        size > section->file_bytes - (rva - section->rva))
        return NULL;
    return image->bytes + section->file_offset + (rva - section->rva);
}

const char *image_file_name(const struct image *image, uint64_t rva, const char **reason)
{
    const struct image_section *section = image_section_of(image, rva, 1);
    const uint8_t *bytes = image_file_bytes(image, rva, 1);
    uint64_t room;

    *reason = NULL;
    if (!bytes) {
        *reason = "lies outside of what the file has of the sections";
        return NULL;
    }
    room = section->file_bytes - (rva - section->rva);
    for (uint64_t i = 0; i < room; i++) {
        if (bytes[i] == 0) {
            if (i == 0)
                *reason = "is empty";
            return i ? (const char *)bytes : NULL;
        }
        if (i == IMAGE_MAX_NAME) {
            *reason = "is longer than 1024 bytes";
            return NULL;
        }
        if (bytes[i] <= ' ' || bytes[i] > '~') {
            *reason = "has characters that do not print";
            return NULL;
        }
    }
    *reason = "does not end inside of its section";
    return NULL;
}

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

uint64_t image_base(const struct image *image)
{
    return (uint64_t)(uintptr_t)image->base;
}

uint64_t image_entry(const struct image *image)
{
    return image->base && image->entry_rva ? image_base(image) + image->entry_rva : 0;
}

uint64_t image_size(const struct image *image)
{
    return image->image_bytes;
}

bool image_contains(const struct image *image, uint64_t address)
{
    return image->base && address >= image_base(image) &&
           address - image_base(image) < image->image_bytes;
}

const struct image_section *image_section_at(const struct image *image, uint64_t address)
{
    if (!image_contains(image, address))
        return NULL;
    return image_section_of(image, address - image_base(image), 1);
}

uint32_t image_section_count(const struct image *image)
{
    return image->section_count;
}

const struct image_section *image_section(const struct image *image, uint32_t index)
{
    return &image->sections[index];
}

bool image_function_at(const struct image *image, uint64_t address, struct image_function *out)
{
    memset(out, 0, sizeof *out);
    return image_contains(image, address) &&
           image_function_of_rva(image, address - image_base(image), out);
}
