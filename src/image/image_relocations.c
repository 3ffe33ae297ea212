/*
 * Base relocations: blocks of u32 page, u32 size and 16-bit entries (type in the high four bits,
 * offset in the page in the others).
 */
#include "image/image_private.h"

enum { BLOCK_BYTES = 8, RELOCATION_ABSOLUTE = 0, RELOCATION_DIR64 = 10 };

static bool walk_block(const struct image *image, const uint8_t *block, uint64_t block_rva,
                       void (*visit)(void *context, uint32_t rva), void *context,
                       struct image_error *error)
{
    uint32_t page = read_u32(block), size = read_u32(block + 4);

    for (uint32_t i = BLOCK_BYTES; i + 2 <= size; i += 2) {
        unsigned entry = read_u16(block + i), type = entry >> 12;
        uint64_t target = (uint64_t)page + (entry & 0xfff);

        if (type == RELOCATION_ABSOLUTE)
            continue;
        if (type != RELOCATION_DIR64)
            return image_refuse(error,
                                "base relocations: entry at rva 0x%" PRIx64 " has type %u; images "
                                "of AMD64 have 10 (DIR64) and 0 (ABSOLUTE)",
                                block_rva + i, type);
        if (!image_section_of(image, target, 8))
            return image_refuse(error,
                                "base relocations: entry at rva 0x%" PRIx64 " changes [0x%" PRIx64
                                ", 0x%" PRIx64 "), which does not lie in one section",
                                block_rva + i, target, target + 8);
        if (visit)
            visit(context, (uint32_t)target);
    }
    return true;
}

bool image_walk_relocations(const struct image *image, void (*visit)(void *context, uint32_t rva),
                            void *context, struct image_error *error)
{
    uint64_t rva = image->directories[IMAGE_RELOCATIONS].rva;
    uint64_t size = image->directories[IMAGE_RELOCATIONS].size, at = 0;
    const uint8_t *bytes;

    if (size == 0)
        return true;
    bytes = image_file_bytes(image, rva, size);
    if (!bytes || !is_aligned(rva, 4))
        return image_refuse(error,
                            "base relocations: [0x%" PRIx64 ", 0x%" PRIx64
                            ") is not aligned to 4 in what the file has of one section",
                            rva, rva + size);
    while (at < size) {
        uint64_t left = size - at, block = left < BLOCK_BYTES ? 0 : read_u32(bytes + at + 4);

        if (block < BLOCK_BYTES || block > left || !is_aligned(block, 4))
            return image_refuse(error,
                                "base relocations: block at rva 0x%" PRIx64 " has 0x%" PRIx64
                                " bytes, which is not a multiple of 4 from 8 to the 0x%" PRIx64
                                " that are left",
                                rva + at, block, left);
        if (!is_aligned(read_u32(bytes + at), PAGE_BYTES))
            return image_refuse(error,
                                "base relocations: block at rva 0x%" PRIx64 " is for 0x%" PRIx32
                                ", which is not a page",
                                rva + at, read_u32(bytes + at));
        if (!walk_block(image, bytes + at, rva + at, visit, context, error))
            return false;
        at += block;
    }
    return true;
}
