/*
 * Laying an image out in memory. Everything that could be wrong with the file was judged when it
 * was opened; only memory and the resolver can fail here.
 */
#define _GNU_SOURCE
#include "image/image_private.h"

#include <errno.h>
#include <sys/mman.h>

#define LEAST_BASE (4 * GiB)
/* Asked for when the system offers less than LEAST_BASE. */
#define FALLBACK_BASE (64 * GiB)

static const uint8_t check_thunk[] = {0xc3};          /* ret: every target is good */
static const uint8_t dispatch_thunk[] = {0xff, 0xe0}; /* jmp rax */

enum { CHECK_THUNK = 0, DISPATCH_THUNK = 16 };

static uint8_t *reserve(uint64_t bytes)
{
    const uint64_t wishes[] = {0, FALLBACK_BASE};

    for (size_t i = 0; i < ARRAY_COUNT(wishes); i++) {
        void *map = mmap((void *)(uintptr_t)wishes[i], bytes, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (map == MAP_FAILED)
            return NULL;
        if ((uint64_t)(uintptr_t)map >= LEAST_BASE)
            return map;
        munmap(map, bytes);
        errno = ENOMEM;
    }
    return NULL;
}

static uint8_t *thunks(const struct image *image)
{
    return image->base + align_up(image->image_bytes, PAGE_BYTES) + PAGE_BYTES;
}

/* Address space with a page of no access before and behind the image, and the thunks' page. */
static bool map_image(struct image *image, struct image_error *error)
{
    uint64_t alignment = max_u64(image->section_alignment, 64 * KiB);
    uint64_t bytes = align_up(image->image_bytes, PAGE_BYTES) + 3 * PAGE_BYTES + alignment;

    image->map = reserve(bytes);
    if (!image->map)
        return image_refuse(error, "mapping: no room above 4 GiB for 0x%" PRIx64 " bytes: %s",
                            bytes, strerror(errno));
    image->map_bytes = bytes;
    image->base = (uint8_t *)(uintptr_t)align_up((uintptr_t)image->map + PAGE_BYTES, alignment);
    if (mprotect(image->base, image->image_bytes, PROT_READ | PROT_WRITE) != 0 ||
        mprotect(thunks(image), PAGE_BYTES, PROT_READ | PROT_WRITE) != 0)
        return image_refuse(error, "mapping: 0x%" PRIx32 " bytes: %s", image->image_bytes,
                            strerror(errno));
    return true;
}

static void copy_file(const struct image *image)
{
    memcpy(image->base, image->bytes, image->header_bytes);
    for (uint32_t i = 0; i < image->section_count; i++) {
        const struct image_section *section = &image->sections[i];

        memcpy(image->base + section->rva, image->bytes + section->file_offset,
               section->file_bytes);
    }
    memset(thunks(image), 0xcc, PAGE_BYTES);
    memcpy(thunks(image) + CHECK_THUNK, check_thunk, sizeof check_thunk);
    memcpy(thunks(image) + DISPATCH_THUNK, dispatch_thunk, sizeof dispatch_thunk);
}

static void write_slot(const struct image *image, uint32_t rva, uint64_t value)
{
    memcpy(image->base + rva, &value, sizeof value);
}

static void relocate(void *context, uint32_t rva)
{
    const struct image *image = context;
    uint64_t value;

    memcpy(&value, image->base + rva, sizeof value);
    write_slot(image, rva, value + image_base(image) - image->preferred_base);
}

struct binding {
    const struct image *image;
    const struct image_load_options *options;
};

static bool bind_import(void *context, const struct image_import *import, struct image_error *error)
{
    const struct binding *binding = context;
    uint64_t address = binding->options->resolve(binding->options->context, import);

    if (address == 0 && import->name)
        return image_refuse(error, "import of '%.64s': '%.128s' is not known", import->module,
                            import->name);
    if (address == 0)
        return image_refuse(error, "import of '%.64s': ordinal %u is not known", import->module,
                            import->ordinal);
    write_slot(binding->image, import->slot_rva, address);
    return true;
}

static void set_config(const struct image *image, uint64_t cookie)
{
    const struct image_config *config = &image->config;

    if (config->cookie_rva)
        write_slot(image, config->cookie_rva, cookie);
    for (size_t i = 0; i < ARRAY_COUNT(config->check_rva); i++)
        if (config->check_rva[i])
            write_slot(image, config->check_rva[i],
                       (uint64_t)(uintptr_t)(thunks(image) + CHECK_THUNK));
    for (size_t i = 0; i < ARRAY_COUNT(config->dispatch_rva); i++)
        if (config->dispatch_rva[i])
            write_slot(image, config->dispatch_rva[i],
                       (uint64_t)(uintptr_t)(thunks(image) + DISPATCH_THUNK));
}

static bool protect(const struct image *image, struct image_error *error)
{
    uint64_t headers = align_up(image->header_bytes, image->section_alignment);

    if (mprotect(image->base, headers, PROT_READ) != 0 ||
        mprotect(thunks(image), PAGE_BYTES, PROT_READ | PROT_EXEC) != 0)
        return image_refuse(error, "mapping: the headers cannot be protected: %s", strerror(errno));
    for (uint32_t i = 0; i < image->section_count; i++) {
        const struct image_section *section = &image->sections[i];
        int protection = (section->is_readable ? PROT_READ : 0) |
                         (section->is_writable ? PROT_WRITE : 0) |
                         (section->is_executable ? PROT_EXEC : 0);

        if (section->bytes && mprotect(image->base + section->rva, section->bytes, protection) != 0)
            return image_refuse(error, "section %" PRIu32 " '%s': cannot be protected: %s",
                                section->number, section->name, strerror(errno));
    }
    return true;
}

static bool check_options(const struct image *image, const struct image_load_options *options,
                          struct image_error *error)
{
    uint64_t cookie = options->security_cookie;

    if (image->base)
        return image_refuse(error, "image: is loaded already, at 0x%" PRIx64, image_base(image));
    if (cookie == 0 || cookie == IMAGE_DEFAULT_COOKIE || cookie >> 48)
        return image_refuse(error,
                            "security cookie: 0x%" PRIx64
                            " is zero, the linker's default or has any of its highest 16 bits set",
                            cookie);
    return true;
}

bool image_load(struct image *image, const struct image_load_options *options,
                struct image_error *error)
{
    struct binding binding = {image, options};

    error->text[0] = '\0';
    if (!check_options(image, options, error))
        return false;
    if (!map_image(image, error))
        goto unload;
    copy_file(image);
    if (!image_walk_relocations(image, relocate, image, error) ||
        !image_walk_imports(image, bind_import, &binding, error))
        goto unload;
    set_config(image, options->security_cookie);
    if (!protect(image, error))
        goto unload;
    return true;

unload:
    image_unload(image);
    return false;
}

void image_unload(struct image *image)
{
    if (image->map)
        munmap(image->map, image->map_bytes);
    image->map = NULL;
    image->base = NULL;
    image->map_bytes = 0;
}
