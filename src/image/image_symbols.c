/*
 * Names for addresses: the COFF symbol table if the file has one, the exports otherwise.
 *
 *      symbol, 18 bytes
 *      0   name: eight characters, or four zero bytes and an offset in the string table
 *      8   value: offset in the section       16  storage class
 *      12  section, counted from 1            17  auxiliary symbols that follow
 *      14  type; 0x20: a function
 *
 * The string table follows; its first four bytes are its size. Windows does not read any of this in
 * an image, so a table that makes no sense is a remark and no refusal.
 */
#include "image/image_private.h"

#include <stdlib.h>

enum {
    SYMBOL_BYTES = 18,
    CLASS_EXTERNAL = 2,
    CLASS_STATIC = 3,
    TYPE_FUNCTION = 0x20,
};

enum symbol_rank { RANK_DATA, RANK_STATIC_FUNCTION, RANK_FUNCTION };

static const uint8_t *coff_symbol(const struct image *image, uint32_t index)
{
    return image->bytes + image->coff_offset + (uint64_t)SYMBOL_BYTES * index;
}

/* The name of a symbol and its length; NULL when the string table does not have it. */
static const char *coff_name(const struct image *image, const uint8_t *symbol, size_t *length)
{
    uint32_t offset = read_u32(symbol + 4), room;
    const char *text;

    if (read_u32(symbol) != 0) {
        *length = strnlen((const char *)symbol, 8);
        return (const char *)symbol;
    }
    if (offset < 4 || offset >= image->coff_string_bytes)
        return NULL;
    text = (const char *)image->coff_strings + offset;
    room = image->coff_string_bytes - offset;
    *length = strnlen(text, room);
    return *length < room ? text : NULL;
}

static bool find_coff(struct image *image)
{
    uint64_t strings = image->coff_offset + (uint64_t)SYMBOL_BYTES * image->coff_count;

    if (image->coff_count > IMAGE_MAX_SYMBOLS)
        return image_refuse(&image->symbol_remark,
                            "symbol table: %" PRIu32 " symbols are more than %u; it is not used",
                            image->coff_count, IMAGE_MAX_SYMBOLS);
    if (strings > image->size)
        return image_refuse(&image->symbol_remark,
                            "symbol table: [0x%" PRIx32 ", 0x%" PRIx64
                            ") lies behind the end of the file (0x%" PRIx64 "); it is not used",
                            image->coff_offset, strings, image->size);
    if (image->size - strings < 4)
        return true;
    image->coff_strings = image->bytes + strings;
    image->coff_string_bytes = read_u32(image->coff_strings);
    if (image->coff_string_bytes > image->size - strings)
        return image_refuse(&image->symbol_remark,
                            "string table: 0x%" PRIx32 " bytes at 0x%" PRIx64
                            " lie behind the end of the file (0x%" PRIx64 "); symbols are not used",
                            image->coff_string_bytes, strings, image->size);
    return true;
}

/* Whether it names a place in a section: no file, no section, no absolute value. */
static bool is_place(const struct image *image, const uint8_t *symbol, uint32_t *rva,
                     enum symbol_rank *rank)
{
    uint32_t value = read_u32(symbol + 8), section = read_u16(symbol + 12);
    unsigned type = read_u16(symbol + 14), class = symbol[16];
    const char *name;
    size_t length;

    if ((class != CLASS_EXTERNAL && class != CLASS_STATIC) || section == 0 ||
        section > image->section_count || value >= image->sections[section - 1].bytes)
        return false;
    if (class == CLASS_STATIC && type != TYPE_FUNCTION && symbol[17])
        return false; /* the section itself */
    name = coff_name(image, symbol, &length);
    if (!name || length == 0)
        return false;
    if (class == CLASS_STATIC && type != TYPE_FUNCTION && name[0] == '$')
        return false; /* a label of the compiler in the middle of a function ("$ehgcr_0_67") */
    *rva = image->sections[section - 1].rva + value;
    *rank = type != TYPE_FUNCTION     ? RANK_DATA
            : class == CLASS_EXTERNAL ? RANK_FUNCTION
                                      : RANK_STATIC_FUNCTION;
    return true;
}

static int compare_entries(const void *first, const void *second)
{
    const struct image_symbol_entry *a = first, *b = second;

    if (a->rva != b->rva)
        return a->rva < b->rva ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->reference < b->reference ? -1 : a->reference > b->reference;
}

static void add_coff(struct image *image)
{
    for (uint64_t i = 0; i < image->coff_count; i += 1 + coff_symbol(image, (uint32_t)i)[17]) {
        enum symbol_rank rank;
        uint32_t rva;

        if (is_place(image, coff_symbol(image, (uint32_t)i), &rva, &rank))
            image->symbols[image->symbol_count++] = (struct image_symbol_entry){
                .rva = rva, .reference = (uint32_t)i, .rank = (uint8_t)rank};
    }
}

static void add_exports(struct image *image)
{
    struct image_export export;

    for (uint32_t i = 0; image_export_at(image, i, &export); i++)
        if (export.rva)
            image->symbols[image->symbol_count++] =
                (struct image_symbol_entry){.rva = export.rva, .reference = i};
    image->symbols_are_exports = true;
}

bool image_read_symbols(struct image *image, struct image_error *error)
{
    uint32_t exports = image_export_name_count(image);

    if (image->coff_offset == 0 || image->coff_count == 0 || !find_coff(image))
        image->coff_count = 0;
    image->symbol_room = image->coff_count > exports ? image->coff_count : exports;
    if (image->symbol_room == 0)
        return true;
    image->symbols = base_alloc_array(image->services, image->symbol_room, sizeof *image->symbols);
    if (!image->symbols) {
        image->symbol_room = 0;
        return image_refuse(error, "no memory");
    }
    add_coff(image);
    if (image->symbol_count == 0)
        add_exports(image);
    qsort(image->symbols, image->symbol_count, sizeof *image->symbols, compare_entries);
    return true;
}

/* ---- Query ----------------------------------------------------------------------------------- */

static void set_name(struct image_symbol *out, enum image_symbol_kind kind, const char *name,
                     size_t length, uint64_t offset)
{
    length = min_u64(length, sizeof out->name - 1);
    out->kind = kind;
    memcpy(out->name, name, length);
    out->name[length] = '\0';
    out->offset = offset;
}

/* The last symbol at or before rva; NULL: none in the same section. */
static const struct image_symbol_entry *symbol_before(const struct image *image, uint64_t rva,
                                                      const struct image_section *section)
{
    uint32_t low = 0, high = image->symbol_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (image->symbols[middle].rva <= rva)
            low = middle + 1;
        else
            high = middle;
    }
    return low && image->symbols[low - 1].rva >= section->rva ? &image->symbols[low - 1] : NULL;
}

bool image_symbol_at(const struct image *image, uint64_t address, struct image_symbol *out)
{
    const struct image_section *section = image_section_at(image, address);
    const struct image_symbol_entry *entry;
    struct image_export export;
    const char *name;
    size_t length = 0;
    uint64_t rva;

    memset(out, 0, sizeof *out);
    if (!image_contains(image, address))
        return false;
    rva = address - image_base(image);
    if (!section) {
        set_name(out, IMAGE_SYMBOL_HEADERS, "headers", 7, rva);
        return true;
    }
    entry = symbol_before(image, rva, section);
    if (!entry) {
        set_name(out, IMAGE_SYMBOL_SECTION, section->name, strlen(section->name),
                 rva - section->rva);
    } else if (image->symbols_are_exports) {
        image_export_at(image, entry->reference, &export);
        set_name(out, IMAGE_SYMBOL_EXPORT, export.name, strlen(export.name), rva - entry->rva);
    } else {
        name = coff_name(image, coff_symbol(image, entry->reference), &length);
        set_name(out, IMAGE_SYMBOL_COFF, name, length, rva - entry->rva);
    }
    return true;
}
