/*
 * Imports and delay imports.
 *
 *      import descriptor, 20 bytes             delay-import descriptor, 32 bytes
 *      0   names, rva (OriginalFirstThunk)     0   attributes; bit 0: the rest are rvas
 *      12  module name, rva                    4   module name, rva
 *      16  addresses, rva (FirstThunk)         8   module handle, rva
 *                                              12  addresses, rva
 *                                              16  names, rva
 *
 * A table of descriptors ends with a zero one. Names is an array of 64-bit thunks that ends with a
 * zero one: bit 63 and an ordinal, or the rva of a 16-bit hint with a name behind it. Addresses is
 * an array of the same length, which the loader fills; without names it holds the thunks instead.
 */
#include "image/image_private.h"

enum { DESCRIPTOR_BYTES = 20, DELAY_DESCRIPTOR_BYTES = 32, THUNK_BYTES = 8 };

struct import_walk {
    const struct image *image;
    bool (*visit)(void *context, const struct image_import *import, struct image_error *error);
    void *context;
    struct image_error *error;
    uint32_t total;
};

static bool walk_thunk(struct import_walk *walk, uint64_t thunk, struct image_import *import)
{
    const char *reason;

    import->name = NULL;
    if (thunk >> 63) {
        if (thunk << 1 >> 17)
            return image_refuse(walk->error,
                                "import of '%.64s': thunk 0x%" PRIx64
                                " is an ordinal of more than 16 bits",
                                import->module, thunk);
        import->ordinal = (uint16_t)thunk;
    } else {
        const uint8_t *hint = image_file_bytes(walk->image, thunk, 2);

        if (!hint)
            return image_refuse(walk->error,
                                "import of '%.64s': thunk 0x%" PRIx64
                                " leads outside of what the file has of the sections",
                                import->module, thunk);
        import->ordinal = read_u16(hint);
        import->name = image_file_name(walk->image, thunk + 2, &reason);
        if (!import->name)
            return image_refuse(walk->error, "import of '%.64s': the name at rva 0x%" PRIx64 " %s",
                                import->module, thunk + 2, reason);
    }
    return !walk->visit || walk->visit(walk->context, import, walk->error);
}

static bool walk_module(struct import_walk *walk, uint64_t name_rva, uint64_t names,
                        uint64_t addresses, bool is_delayed)
{
    const char *kind = is_delayed ? "delay imports" : "import table", *reason;
    struct image_import import = {.is_delayed = is_delayed};

    import.module = image_file_name(walk->image, name_rva, &reason);
    if (!import.module)
        return image_refuse(walk->error, "%s: the module name at rva 0x%" PRIx64 " %s", kind,
                            name_rva, reason);
    for (uint64_t i = 0;; i++) {
        const uint8_t *thunk = image_file_bytes(walk->image, names + i * THUNK_BYTES, THUNK_BYTES);

        if (!thunk)
            return image_refuse(walk->error,
                                "import of '%.64s': the thunks at rva 0x%" PRIx64
                                " do not end inside of their section",
                                import.module, names);
        if (read_u64(thunk) == 0)
            return true;
        if (++walk->total > IMAGE_MAX_IMPORTS)
            return image_refuse(walk->error, "import of '%.64s': more than %d imports in all",
                                import.module, IMAGE_MAX_IMPORTS);
        if (!image_section_of(walk->image, addresses + i * THUNK_BYTES, THUNK_BYTES))
            return image_refuse(walk->error,
                                "import of '%.64s': address %" PRIu64
                                " of the table at rva 0x%" PRIx64 " lies outside of the sections",
                                import.module, i, addresses);
        import.slot_rva = (uint32_t)(addresses + i * THUNK_BYTES);
        if (!walk_thunk(walk, read_u64(thunk), &import))
            return false;
    }
}

/* The descriptor at an index. *is_end: it is the zero one. */
static const uint8_t *descriptor_at(struct import_walk *walk, enum image_directory_index directory,
                                    uint64_t index, uint32_t bytes, const char *kind, bool *is_end)
{
    uint64_t rva = walk->image->directories[directory].rva;
    const uint8_t *descriptor = image_file_bytes(walk->image, rva + index * bytes, bytes);

    *is_end = false;
    if (!descriptor) {
        image_refuse(walk->error,
                     "%s: the descriptors at rva 0x%" PRIx64 " do not end inside of their section",
                     kind, rva);
        return NULL;
    }
    *is_end = true;
    for (uint32_t i = 0; i < bytes; i++)
        *is_end = *is_end && descriptor[i] == 0;
    if (!*is_end && index >= IMAGE_MAX_IMPORT_MODULES) {
        image_refuse(walk->error, "%s: more than %d modules", kind, IMAGE_MAX_IMPORT_MODULES);
        return NULL;
    }
    return descriptor;
}

static bool walk_ordinary(struct import_walk *walk)
{
    for (uint64_t i = 0;; i++) {
        bool is_end;
        const uint8_t *descriptor =
            descriptor_at(walk, IMAGE_IMPORTS, i, DESCRIPTOR_BYTES, "import table", &is_end);
        uint32_t names, addresses;

        if (!descriptor)
            return false;
        if (is_end)
            return true;
        names = read_u32(descriptor);
        addresses = read_u32(descriptor + 16);
        if (!walk_module(walk, read_u32(descriptor + 12), names ? names : addresses, addresses,
                         false))
            return false;
    }
}

static bool walk_delayed(struct import_walk *walk)
{
    for (uint64_t i = 0;; i++) {
        bool is_end;
        const uint8_t *descriptor = descriptor_at(walk, IMAGE_DELAY_IMPORTS, i,
                                                  DELAY_DESCRIPTOR_BYTES, "delay imports", &is_end);

        if (!descriptor)
            return false;
        if (is_end)
            return true;
        if (!(read_u32(descriptor) & 1))
            return image_refuse(walk->error,
                                "delay imports: descriptor %" PRIu64 " has Attributes 0x%" PRIx32
                                ", so its fields are addresses; they must be rvas",
                                i, read_u32(descriptor));
        if (read_u32(descriptor + 8) && !image_section_of(walk->image, read_u32(descriptor + 8), 8))
            return image_refuse(walk->error,
                                "delay imports: the module handle of descriptor %" PRIu64
                                " at rva 0x%" PRIx32 " lies outside of the sections",
                                i, read_u32(descriptor + 8));
        if (!walk_module(walk, read_u32(descriptor + 4), read_u32(descriptor + 16),
                         read_u32(descriptor + 12), true))
            return false;
    }
}

bool image_walk_imports(const struct image *image,
                        bool (*visit)(void *context, const struct image_import *import,
                                      struct image_error *error),
                        void *context, struct image_error *error)
{
    struct import_walk walk = {.image = image, .visit = visit, .context = context, .error = error};

    return (image->directories[IMAGE_IMPORTS].rva == 0 || walk_ordinary(&walk)) &&
           (image->directories[IMAGE_DELAY_IMPORTS].rva == 0 || walk_delayed(&walk));
}

struct listing {
    bool (*visit)(void *context, const struct image_import *import);
    void *context;
};

static bool list_import(void *context, const struct image_import *import, struct image_error *error)
{
    const struct listing *listing = context;

    return listing->visit(listing->context, import);
}

void image_for_each_import(const struct image *image,
                           bool (*visit)(void *context, const struct image_import *import),
                           void *context)
{
    struct listing listing = {.visit = visit, .context = context};
    struct image_error error;

    image_walk_imports(image, list_import, &listing, &error);
}
