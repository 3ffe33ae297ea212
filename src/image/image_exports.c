/*
 * Export table: a header of 40 bytes, an array of rvas by ordinal, and two arrays side by side with
 * names, sorted, and their places in the first. An rva inside of the export directory is not code
 * but the text of a forwarder.
 */
#include "image/image_private.h"

#include <strings.h>

enum {
    HEADER_BYTES = 40,
    MODULE_NAME = 12,
    ORDINAL_BASE = 16,
    ADDRESS_COUNT = 20,
    NAME_COUNT = 24,
    ADDRESSES = 28,
    NAMES = 32,
    PLACES = 36,
};

/* The arrays; all NULL when there are no exports. Valid once image_read_exports() was content. */
struct export_table {
    const char *module;
    const uint8_t *addresses, *names, *places;
    uint32_t address_count, name_count, ordinal_base;
};

static const uint8_t *export_header(const struct image *image)
{
    const struct image_directory *directory = &image->directories[IMAGE_EXPORTS];

    return directory->size ? image_file_bytes(image, directory->rva, HEADER_BYTES) : NULL;
}

static bool find_table(const struct image *image, struct export_table *table)
{
    const uint8_t *header = export_header(image);
    const char *reason;

    memset(table, 0, sizeof *table);
    if (!header)
        return false;
    table->ordinal_base = read_u32(header + ORDINAL_BASE);
    table->address_count = read_u32(header + ADDRESS_COUNT);
    table->name_count = read_u32(header + NAME_COUNT);
    table->module = image_file_name(image, read_u32(header + MODULE_NAME), &reason);
    table->addresses =
        image_file_bytes(image, read_u32(header + ADDRESSES), (uint64_t)table->address_count * 4);
    table->names =
        image_file_bytes(image, read_u32(header + NAMES), (uint64_t)table->name_count * 4);
    table->places =
        image_file_bytes(image, read_u32(header + PLACES), (uint64_t)table->name_count * 2);
    return true;
}

static bool is_forwarder(const struct image *image, uint32_t rva)
{
    const struct image_directory *directory = &image->directories[IMAGE_EXPORTS];

    return rva >= directory->rva && rva - directory->rva < directory->size;
}

/* Once the names were judged: they end where they should. */
static const char *export_name(const struct image *image, const struct export_table *table,
                               uint32_t index)
{
    return (const char *)image_file_bytes(image, read_u32(table->names + 4 * index), 1);
}

/* The index in the array of names. */
static bool find_name(const struct image *image, const struct export_table *table, const char *name,
                      uint32_t *out_index)
{
    uint32_t low = 0, high = table->name_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = strcmp(name, export_name(image, table, middle));

        if (order == 0) {
            *out_index = middle;
            return true;
        }
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

/* ---- Forwarders ------------------------------------------------------------------------------ */

/* Decimal digits to the end of the text, at most 65535. */
static bool read_ordinal(const char *text, uint32_t *out)
{
    *out = 0;
    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        *out = *out * 10 + (uint32_t)(*text - '0');
        if (*out > UINT16_MAX)
            return false;
    }
    return true;
}

/* Whether a forwarder names this image, by its name in the export table without the extension. */
static bool is_own_module(const struct export_table *table, const char *text, size_t length)
{
    const char *dot;
    size_t own;

    if (!table->module)
        return false;
    dot = strrchr(table->module, '.');
    own = dot ? (size_t)(dot - table->module) : strlen(table->module);
    return own == length && strncasecmp(table->module, text, length) == 0;
}

/* Where a forwarder leads: *is_here, and then the place in the array of rvas. */
static bool read_forwarder(const struct image *image, const struct export_table *table,
                           const char *text, bool *is_here, uint32_t *place,
                           struct image_error *error)
{
    const char *dot = strrchr(text, '.');
    uint32_t ordinal = 0, index;

    *is_here = false;
    if (!dot || dot == text || !dot[1] || (dot[1] == '#' && !read_ordinal(dot + 2, &ordinal)))
        return image_refuse(error,
                            "export table: forwarder '%.64s' is neither 'module.name' nor "
                            "'module.#ordinal'",
                            text);
    if (!is_own_module(table, text, (size_t)(dot - text)))
        return true;
    *is_here = true;
    if (dot[1] != '#') {
        if (!find_name(image, table, dot + 1, &index))
            return image_refuse(error,
                                "export table: forwarder '%.64s' leads to an export that this "
                                "image does not have",
                                text);
        *place = read_u16(table->places + 2 * index);
    } else {
        if (ordinal < table->ordinal_base || ordinal - table->ordinal_base >= table->address_count)
            return image_refuse(error,
                                "export table: forwarder '%.64s' leads to an ordinal outside of "
                                "[%" PRIu32 ", %" PRIu64 ")",
                                text, table->ordinal_base,
                                (uint64_t)table->ordinal_base + table->address_count);
        *place = ordinal - table->ordinal_base;
    }
    return true;
}

static bool follow_forwarder(const struct image *image, const struct export_table *table,
                             uint32_t place, struct image_error *error)
{
    const char *first = NULL;

    for (unsigned depth = 0;; depth++) {
        uint32_t rva = read_u32(table->addresses + 4 * place), next = 0;
        const char *text, *reason;
        bool is_here;

        if (!is_forwarder(image, rva))
            return true;
        text = image_file_name(image, rva, &reason);
        if (!text)
            return image_refuse(
                error, "export table: the forwarder of ordinal %" PRIu64 " at rva 0x%" PRIx32 " %s",
                (uint64_t)table->ordinal_base + place, rva, reason);
        first = first ? first : text;
        if (depth == IMAGE_MAX_FORWARDS)
            return image_refuse(error,
                                "export table: the chain of forwarders from '%.64s' does not end "
                                "after %d steps",
                                first, IMAGE_MAX_FORWARDS);
        if (!read_forwarder(image, table, text, &is_here, &next, error))
            return false;
        if (!is_here)
            return true;
        place = next;
    }
}

/* ---- Judging --------------------------------------------------------------------------------- */

static bool check_array(const void *array, const char *name, uint32_t rva, uint32_t count,
                        struct image_error *error)
{
    return array || count == 0 ||
           image_refuse(error,
                        "export table: %s, %" PRIu32 " entries at rva 0x%" PRIx32
                        ", lies outside of what the file has of one section",
                        name, count, rva);
}

static bool check_names(const struct image *image, const struct export_table *table,
                        struct image_error *error)
{
    const char *last = NULL;

    for (uint32_t i = 0; i < table->name_count; i++) {
        uint32_t rva = read_u32(table->names + 4 * i), place = read_u16(table->places + 2 * i);
        const char *reason, *name = image_file_name(image, rva, &reason);

        if (!name)
            return image_refuse(error, "export table: name %" PRIu32 " at rva 0x%" PRIx32 " %s", i,
                                rva, reason);
        if (last && strcmp(last, name) >= 0)
            return image_refuse(error,
                                "export table: name %" PRIu32 " '%.64s' is not sorted behind "
                                "'%.64s'",
                                i, name, last);
        if (place >= table->address_count)
            return image_refuse(error, "export table: '%.64s' is export %" PRIu32 " of %" PRIu32,
                                name, place, table->address_count);
        last = name;
    }
    return true;
}

static bool check_addresses(const struct image *image, const struct export_table *table,
                            struct image_error *error)
{
    for (uint32_t i = 0; i < table->address_count; i++) {
        uint32_t rva = read_u32(table->addresses + 4 * i);

        if (is_forwarder(image, rva)) {
            if (!follow_forwarder(image, table, i, error))
                return false;
        } else if (rva && !image_section_of(image, rva, 1)) {
            return image_refuse(error,
                                "export table: ordinal %" PRIu64 " is at rva 0x%" PRIx32
                                ", outside of the sections",
                                (uint64_t)table->ordinal_base + i, rva);
        }
    }
    return true;
}

bool image_read_exports(const struct image *image, struct image_error *error)
{
    const struct image_directory *directory = &image->directories[IMAGE_EXPORTS];
    struct export_table table;
    const uint8_t *header;

    if (directory->size == 0)
        return true;
    if (!find_table(image, &table))
        return image_refuse(error,
                            "export table: the header at rva 0x%" PRIx32
                            " lies outside of what the file has of one section",
                            directory->rva);
    if (table.address_count > IMAGE_MAX_EXPORTS || table.name_count > IMAGE_MAX_EXPORTS)
        return image_refuse(
            error, "export table: %" PRIu32 " addresses and %" PRIu32 " names; the limit is %d",
            table.address_count, table.name_count, IMAGE_MAX_EXPORTS);
    header = export_header(image);
    return check_array(table.addresses, "the address table", read_u32(header + ADDRESSES),
                       table.address_count, error) &&
           check_array(table.names, "the name table", read_u32(header + NAMES), table.name_count,
                       error) &&
           check_array(table.places, "the ordinal table", read_u32(header + PLACES),
                       table.name_count, error) &&
           check_names(image, &table, error) && check_addresses(image, &table, error);
}

/* ---- Queries --------------------------------------------------------------------------------- */

uint32_t image_export_name_count(const struct image *image)
{
    struct export_table table;

    return find_table(image, &table) ? table.name_count : 0;
}

bool image_export_at(const struct image *image, uint32_t index, struct image_export *out)
{
    struct export_table table;
    const char *reason;
    uint32_t place, rva;

    memset(out, 0, sizeof *out);
    if (!find_table(image, &table) || index >= table.name_count)
        return false;
    place = read_u16(table.places + 2 * index);
    rva = read_u32(table.addresses + 4 * place);
    out->name = export_name(image, &table, index);
    out->ordinal = (uint16_t)(table.ordinal_base + place);
    if (is_forwarder(image, rva))
        out->forwarder = image_file_name(image, rva, &reason);
    else
        out->rva = rva;
    return true;
}

bool image_find_export(const struct image *image, const char *name, struct image_export *out)
{
    struct export_table table;
    uint32_t index;

    memset(out, 0, sizeof *out);
    return find_table(image, &table) && find_name(image, &table, name, &index) &&
           image_export_at(image, index, out);
}
