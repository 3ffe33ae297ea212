/*
 * libwsl_compute_helper.so, which Intel's user-mode drivers for WSL load from the driver's folder
 * and ask to turn tokens into the structures of this kernel side, and back. Our structures are the
 * tokens as they are (examples/gpu/intel_blt/intel_tokens.h), so that both ways copy.
 *
 * Sizes are those of the token streams that release 22.43.24595 of the compute runtime sends.
 * Zeros behind a stream are tokens of no length.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static size_t bytes_of(uint32_t structure)
{
    switch (structure) {
    case 1: /* the adapter */
        return 640;
    case 7: /* a resource */
        return 6692;
    case 33: /* a context that is created */
        return 84;
    case 48: /* a submission */
        return 120;
    case 135: /* the partition of addresses */
        return 296;
    default:
        return 0;
    }
}

static bool copy(void *to, size_t room, const void *from, size_t bytes)
{
    if (bytes > room)
        return false;
    memcpy(to, from, bytes);
    memset((char *)to + bytes, 0, room - bytes);
    return true;
}

EXPORT uint64_t getVersion(void)
{
    return 1;
}

EXPORT size_t getSizeRequiredForStruct(uint32_t structure)
{
    return bytes_of(structure);
}

EXPORT size_t getSizeRequiredForTokens(uint32_t structure)
{
    return bytes_of(structure);
}

EXPORT bool tokensToStruct(uint32_t structure, void *out, size_t bytes, const uint32_t *begin,
                           const uint32_t *end)
{
    return end >= begin && copy(out, bytes, begin, (size_t)(end - begin) * sizeof *begin);
}

/* What is left out would be 0 in the driver's structure: all tokens come back. */
EXPORT bool structToTokens(uint32_t structure, uint32_t *out, size_t bytes, const void *from,
                           size_t from_bytes)
{
    return copy(out, bytes, from, from_bytes < bytes ? from_bytes : bytes);
}

EXPORT void destroyStructRepresentation(uint32_t structure, void *out, size_t bytes)
{
}
