/*
 * Load configuration (IMAGE_LOAD_CONFIG_DIRECTORY64): the security cookie and the pointers through
 * which guarded indirect calls go. Its fields are addresses at the preferred base.
 */
#include "image/image_private.h"

enum {
    CONFIG_LEAST_BYTES = 112, /* of the first layout for 64 bits, up to SEHandlerCount */
    CONFIG_MOST_BYTES = 4096,

    SECURITY_COOKIE = 88,
    GUARD_CHECK = 112,
    GUARD_DISPATCH = 120,
    CHPE_METADATA = 200,
    XFG_CHECK = 280,
    XFG_DISPATCH = 288,
    XFG_TABLE_DISPATCH = 296,
};

/* A field that holds the address of eight bytes; absent fields and 0 give 0. */
static bool read_slot(const struct image *image, const uint8_t *config, uint32_t bytes,
                      uint32_t offset, const char *name, uint32_t *out, struct image_error *error)
{
    uint64_t address;

    *out = 0;
    if (offset + 8 > bytes)
        return true;
    address = read_u64(config + offset);
    if (address == 0)
        return true;
    if (address < image->preferred_base ||
        !image_section_of(image, address - image->preferred_base, 8))
        return image_refuse(error,
                            "load configuration: %s 0x%" PRIx64
                            " does not lie in a section of the image at 0x%" PRIx64,
                            name, address, image->preferred_base);
    *out = (uint32_t)(address - image->preferred_base);
    return true;
}

bool image_read_config(struct image *image, struct image_error *error)
{
    const struct {
        uint32_t offset;
        const char *name;
        uint32_t *rva;
    } slots[] = {
        {SECURITY_COOKIE, "SecurityCookie", &image->config.cookie_rva},
        {GUARD_CHECK, "GuardCFCheckFunctionPointer", &image->config.check_rva[0]},
        {GUARD_DISPATCH, "GuardCFDispatchFunctionPointer", &image->config.dispatch_rva[0]},
        {XFG_CHECK, "GuardXFGCheckFunctionPointer", &image->config.check_rva[1]},
        {XFG_DISPATCH, "GuardXFGDispatchFunctionPointer", &image->config.dispatch_rva[1]},
        {XFG_TABLE_DISPATCH, "GuardXFGTableDispatchFunctionPointer",
         &image->config.dispatch_rva[2]},
    };
    uint64_t rva = image->directories[IMAGE_LOAD_CONFIG].rva;
    const uint8_t *config;
    uint32_t bytes;

    if (rva == 0)
        return true;
    config = image_file_bytes(image, rva, 4);
    if (!config)
        return image_refuse(error,
                            "load configuration: rva 0x%" PRIx64
                            " lies outside of what the file has of the sections",
                            rva);
    bytes = read_u32(config);
    if (bytes < CONFIG_LEAST_BYTES || bytes > CONFIG_MOST_BYTES ||
        !image_file_bytes(image, rva, bytes))
        return image_refuse(error,
                            "load configuration: Size 0x%" PRIx32 " at rva 0x%" PRIx64
                            " is not from %d to %d inside of the section",
                            bytes, rva, CONFIG_LEAST_BYTES, CONFIG_MOST_BYTES);
    if (bytes >= CHPE_METADATA + 8 && read_u64(config + CHPE_METADATA))
        return image_refuse(error,
                            "load configuration: CHPEMetadataPointer is 0x%" PRIx64
                            ", so the code is ARM64EC",
                            read_u64(config + CHPE_METADATA));
    for (size_t i = 0; i < ARRAY_COUNT(slots); i++)
        if (!read_slot(image, config, bytes, slots[i].offset, slots[i].name, slots[i].rva, error))
            return false;
    return true;
}
