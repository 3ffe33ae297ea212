/*
 * Hostile images: the good one of test_image.h with a few bytes changed.
 *
 * Place      image, tests only.
 * Model      Each is either refused with a sentence that names the structure, or loaded, asked
 *            about everything and unloaded. A test program has tables of cases and PLAYS() for
 *            each.
 */
#ifndef IMAGE_TEST_HOSTILE_H
#define IMAGE_TEST_HOSTILE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "image/image.h"
#include "image/rig/test_image.h"

struct patch {
    uint32_t at;
    uint32_t bytes; /* 0: no more patches */
    uint64_t value;
};

struct hostile {
    const char *name;
    const char *message; /* part of the refusal; NULL: it is odd but loads */
    uint32_t file_bytes; /* 0: all */
    struct patch patches[6];
};

/* A field of the optional header, a directory, a section's entry, and bytes at an rva. */
#define OPTIONAL(offset, bytes, value)                                                             \
    {                                                                                              \
        AT_OPTIONAL + (offset), (bytes), (value)                                                   \
    }
#define DIRECTORY(index, rva, size)                                                                \
    {                                                                                              \
        AT_DIRECTORIES + 8 * (index), 8, (rva) | (uint64_t)(size) << 32                            \
    }
#define SECTION(index, offset, bytes, value)                                                       \
    {                                                                                              \
        AT_SECTIONS + 40 * (index) + (offset), (bytes), (value)                                    \
    }
#define RDATA(rva, bytes, value)                                                                   \
    {                                                                                              \
        (rva) - RVA_RDATA + AT_RDATA, (bytes), (value)                                             \
    }
#define DATA(rva, bytes, value)                                                                    \
    {                                                                                              \
        (rva) - RVA_DATA + AT_DATA, (bytes), (value)                                               \
    }
#define RELOC(offset, bytes, value)                                                                \
    {                                                                                              \
        AT_RELOC + (offset), (bytes), (value)                                                      \
    }
#define FUNCTION(index, begin, end)                                                                \
    RDATA(RVA_FUNCTIONS + 12 * (index), 8, (begin) | (uint64_t)(end) << 32)
#define UNWIND_OF(index, rva)  RDATA(RVA_FUNCTIONS + 12 * (index) + 8, 4, rva)
#define CONFIG(offset, value)  RDATA(RVA_CONFIG + (offset), 8, value)
#define FORWARDER(index, text) RDATA(RVA_EXPORT_TEXTS + 16 * (index), 8, text)

/* Eight characters as a number, the first one lowest. */
#define TEXT8(a, b, c, d, e, f, g, h)                                                              \
    ((uint64_t)(a) | (uint64_t)(b) << 8 | (uint64_t)(c) << 16 | (uint64_t)(d) << 24 |              \
     (uint64_t)(e) << 32 | (uint64_t)(f) << 40 | (uint64_t)(g) << 48 | (uint64_t)(h) << 56)

/* ---- Playing them ---------------------------------------------------------------------------- */

/* A resolver that knows every import. */
uint64_t test_hostile_any_address(void *context, const struct image_import *import);

/* Loads, asks for everything and unloads; every answer must make sense. */
void test_hostile_load_and_ask(struct image *image, const char *name);

/* Opens the patched image, which must be refused or odd as the row says. */
void test_hostile_play(const struct hostile *hostile);

#define PLAYS(group)                                                                               \
    static void hostile_##group(void **state)                                                      \
    {                                                                                              \
        for (size_t i = 0; i < ARRAY_COUNT(group##_cases); i++)                                    \
            test_hostile_play(&group##_cases[i]);                                                  \
    }

#endif
