/* The loaded image: its extent, and the section of an address. Safe in a signal handler. */
#include "image/image_private.h"

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
