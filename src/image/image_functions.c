/*
 * Function table (.pdata) and unwind information (.xdata).
 *
 *      RUNTIME_FUNCTION, 12 bytes      UNWIND_INFO
 *      0   begin, rva                  0   version (3 bits), flags (5 bits)
 *      4   end, rva                    1   bytes of the prolog
 *      8   unwind information, rva     2   slots of unwind codes
 *                                      3   frame register (4 bits), its offset / 16 (4 bits)
 *                                      4   codes, 2 bytes for each slot, padded to an even number
 *                                          the rva of a handler and its data, or the
 *                                          RUNTIME_FUNCTION to which this one is chained
 */
#include "image/image_private.h"

enum { FUNCTION_BYTES = 12, UNWIND_HEADER_BYTES = 4 };

static struct image_function read_function(const uint8_t *entry)
{
    return (struct image_function){read_u32(entry), read_u32(entry + 4), read_u32(entry + 8)};
}

unsigned image_unwind_slots(unsigned version, const uint8_t *code)
{
    unsigned operation = code[1] & 15, operand = code[1] >> 4;

    switch (operation) {
    case UNWIND_PUSH_NONVOL:
    case UNWIND_ALLOC_SMALL:
    case UNWIND_SET_FPREG:
        return 1;
    case UNWIND_PUSH_MACHFRAME:
        return operand <= 1 ? 1 : 0;
    case UNWIND_ALLOC_LARGE:
        return operand <= 1 ? 2 + operand : 0;
    case UNWIND_SAVE_NONVOL:
    case UNWIND_SAVE_XMM128:
        return 2;
    case UNWIND_SAVE_NONVOL_FAR:
    case UNWIND_SAVE_XMM128_FAR:
        return 3;
    case UNWIND_EPILOG:
        return version == 2 ? 1 : 0;
    default:
        return 0;
    }
}

static bool check_codes(const struct image_unwind_info *info, uint32_t rva,
                        struct image_error *error)
{
    for (unsigned i = 0; i < info->slot_count;) {
        const uint8_t *code = info->codes + 2 * i;
        unsigned slots = image_unwind_slots(info->version, code);

        if (slots == 0)
            return image_refuse(error,
                                "unwind information at rva 0x%" PRIx32 ": slot %u holds operation "
                                "%u with %u, which version %u does not have",
                                rva, i, code[1] & 15, code[1] >> 4, info->version);
        if (i + slots > info->slot_count)
            return image_refuse(error,
                                "unwind information at rva 0x%" PRIx32 ": the code in slot %u "
                                "takes %u of %u slots",
                                rva, i, slots, info->slot_count);
        if ((code[1] & 15) == UNWIND_SET_FPREG && info->frame_register == 0)
            return image_refuse(error,
                                "unwind information at rva 0x%" PRIx32
                                ": slot %u sets a frame register, and none is named",
                                rva, i);
        i += slots;
    }
    return true;
}

bool image_read_unwind_info(const struct image *image, uint32_t rva, struct image_unwind_info *out,
                            struct image_error *error)
{
    const uint8_t *header = image_file_bytes(image, rva, UNWIND_HEADER_BYTES), *tail;
    uint32_t tail_offset, tail_bytes;

    memset(out, 0, sizeof *out);
    if (!header || !is_aligned(rva, 4))
        return image_refuse(error,
                            "unwind information at rva 0x%" PRIx32
                            ": not a multiple of 4 in what the file has of a section",
                            rva);
    out->version = header[0] & 7;
    out->flags = header[0] >> 3;
    out->prolog_bytes = header[1];
    out->slot_count = header[2];
    out->frame_register = header[3] & 15;
    out->frame_offset = header[3] >> 4;
    if (out->version != 1 && out->version != 2)
        return image_refuse(error,
                            "unwind information at rva 0x%" PRIx32 ": version %u is not 1 or 2",
                            rva, out->version);
    if (out->flags > IMAGE_UNWIND_CHAINED)
        return image_refuse(error,
                            "unwind information at rva 0x%" PRIx32
                            ": flags 0x%x are not those of a handler or of a chain",
                            rva, out->flags);
    tail_offset = UNWIND_HEADER_BYTES + 2 * ((out->slot_count + 1u) & ~1u);
    tail_bytes = out->flags & IMAGE_UNWIND_CHAINED ? FUNCTION_BYTES : out->flags ? 4 : 0;
    if (!image_file_bytes(image, rva, tail_offset + tail_bytes))
        return image_refuse(error,
                            "unwind information at rva 0x%" PRIx32
                            ": %u slots and what is behind them do not lie in the section",
                            rva, out->slot_count);
    out->codes = header + UNWIND_HEADER_BYTES;
    tail = header + tail_offset;
    if (out->flags & IMAGE_UNWIND_CHAINED) {
        out->parent = read_function(tail);
    } else if (out->flags) {
        const struct image_section *section = image_section_of(image, read_u32(tail), 1);

        if (!section || !section->is_executable)
            return image_refuse(error,
                                "unwind information at rva 0x%" PRIx32
                                ": the handler at rva 0x%" PRIx32
                                " does not lie in an executable section",
                                rva, read_u32(tail));
        out->handler_rva = read_u32(tail);
        out->handler_data_rva = rva + tail_offset + tail_bytes;
    }
    return check_codes(out, rva, error);
}

static bool check_range(const struct image *image, const struct image_function *function,
                        struct image_error *error)
{
    return (function->begin_rva < function->end_rva &&
            image_section_of(image, function->begin_rva, function->end_rva - function->begin_rva) !=
                NULL) ||
           image_refuse(error,
                        "exception table: function [0x%" PRIx32 ", 0x%" PRIx32
                        ") does not lie in one section",
                        function->begin_rva, function->end_rva);
}

/* The unwind information of a function and all to which it is chained. *chained counts the steps of
 * all functions, so that a small file cannot ask for much work. */
static bool check_unwind(const struct image *image, const struct image_function *function,
                         uint32_t *chained, struct image_error *error)
{
    struct image_function at = *function;

    for (unsigned depth = 0;; depth++) {
        struct image_unwind_info info;

        if (!check_range(image, &at, error) ||
            !image_read_unwind_info(image, at.unwind_rva, &info, error))
            return false;
        if (!(info.flags & IMAGE_UNWIND_CHAINED))
            return true;
        if (depth == IMAGE_MAX_CHAIN || ++*chained > IMAGE_MAX_FUNCTIONS)
            return image_refuse(error,
                                "unwind information at rva 0x%" PRIx32
                                ": the chain does not end after %d steps, or all chains not after "
                                "%u",
                                function->unwind_rva, IMAGE_MAX_CHAIN, IMAGE_MAX_FUNCTIONS);
        at = info.parent;
    }
}

bool image_read_functions(struct image *image, struct image_error *error)
{
    const struct image_directory *directory = &image->directories[IMAGE_FUNCTIONS];
    uint32_t count = directory->size / FUNCTION_BYTES, last_end = 0, chained = 0;
    const uint8_t *table;

    if (directory->size == 0)
        return true;
    table = image_file_bytes(image, directory->rva, directory->size);
    if (!table || !is_aligned(directory->rva, 4) || directory->size % FUNCTION_BYTES)
        return image_refuse(error,
                            "exception table: 0x%" PRIx32 " bytes at rva 0x%" PRIx32
                            " are not entries of 12 bytes, aligned to 4, in what the file has of "
                            "one section",
                            directory->size, directory->rva);
    if (count > IMAGE_MAX_FUNCTIONS)
        return image_refuse(error, "exception table: %" PRIu32 " functions; the limit is %u", count,
                            IMAGE_MAX_FUNCTIONS);
    for (uint32_t i = 0; i < count; i++) {
        struct image_function function = read_function(table + (uint64_t)FUNCTION_BYTES * i);

        if (function.begin_rva < last_end)
            return image_refuse(error,
                                "exception table: entry %" PRIu32 " begins at rva 0x%" PRIx32
                                ", before the end of the one before it (0x%" PRIx32 ")",
                                i, function.begin_rva, last_end);
        if (!check_unwind(image, &function, &chained, error))
            return false;
        last_end = function.end_rva;
    }
    image->functions = table;
    image->function_count = count;
    return true;
}

/* The index of the entry that covers rva; function_count: none does. */
static uint32_t find_function(const struct image *image, uint64_t rva, struct image_function *out)
{
    uint32_t low = 0, high = image->function_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        struct image_function function =
            read_function(image->functions + (uint64_t)FUNCTION_BYTES * middle);

        if (rva < function.begin_rva) {
            high = middle;
        } else if (rva >= function.end_rva) {
            low = middle + 1;
        } else {
            *out = function;
            return middle;
        }
    }
    return image->function_count;
}

bool image_function_of_rva(const struct image *image, uint64_t rva, struct image_function *out)
{
    memset(out, 0, sizeof *out);
    return find_function(image, rva, out) < image->function_count;
}

uint64_t image_function_entry_at(const struct image *image, uint64_t address)
{
    struct image_function function;
    uint32_t index;

    if (!image_contains(image, address))
        return 0;
    index = find_function(image, address - image_base(image), &function);
    return index == image->function_count
               ? 0
               : image_base(image) + image->directories[IMAGE_FUNCTIONS].rva +
                     (uint64_t)FUNCTION_BYTES * index;
}
