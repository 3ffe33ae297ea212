/*
 * Reading: the bytes of the file by rva, and the sentence of a refusal. Every table is read with
 * these, so nothing here knows a table.
 */
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
