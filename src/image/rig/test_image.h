/*
 * Test image: a small driver, put together byte by byte, so that tests need no compiler.
 *
 * Place      image, tests only.
 * Model      Every structure has a fixed place, named below; a test changes bytes with
 *            test_image_put(). Names that begin with RVA_ are offsets in memory, AT_ in the file.
 *
 *                headers   0x0000    file 0x0000, 0x400 bytes
 *                .text     0x1000         0x0400          RX
 *                .rdata    0x2000         0x0800          R
 *                .data     0x3000         0x1200          RW, 0x2000 bytes in memory
 *                INIT      0x5000         0x1600          RWX
 *                .reloc    0x6000         0x1800          R, discardable
 *                symbols                  0x1a00
 */
#ifndef IMAGE_TEST_IMAGE_H
#define IMAGE_TEST_IMAGE_H

#include <stdint.h>

#define TEST_IMAGE_BASE UINT64_C(0x140000000)

enum {
    TEST_IMAGE_FILE_BYTES = 0x1b00,
    TEST_IMAGE_BYTES = 0x7000,

    AT_NT = 0x80,
    AT_FILE = AT_NT + 4,
    AT_OPTIONAL = AT_FILE + 20,
    AT_DIRECTORIES = AT_OPTIONAL + 112,
    AT_SECTIONS = AT_DIRECTORIES + 16 * 8,
    AT_TEXT = 0x400,
    AT_RDATA = 0x800,
    AT_DATA = 0x1200,
    AT_INIT = 0x1600,
    AT_RELOC = 0x1800,
    AT_SYMBOLS = 0x1a00,

    RVA_TEXT = 0x1000,
    RVA_RDATA = 0x2000,
    RVA_DATA = 0x3000,
    RVA_INIT = 0x5000,
    RVA_RELOC = 0x6000,

    RVA_ENTRY = RVA_TEXT, /* Triple(x), ordinal 7 of it, plus the value behind the pointer */
    RVA_GUARDED = RVA_TEXT + 0x40,
    RVA_SQUARE = RVA_TEXT + 0x80,
    RVA_CALL_DELAYED = RVA_TEXT + 0xa0,
    RVA_READ_COOKIE = RVA_TEXT + 0xc0,
    RVA_COUNT = RVA_TEXT + 0xd0,
    RVA_CALL_OFFSET = RVA_TEXT + 0xf0,

    RVA_ALPHA_SLOTS = RVA_RDATA,
    RVA_BETA_SLOTS = RVA_RDATA + 0x20,
    RVA_IMPORTS = RVA_RDATA + 0x40,
    RVA_ALPHA_THUNKS = RVA_RDATA + 0x80,
    RVA_BETA_THUNKS = RVA_RDATA + 0xa0,
    RVA_TRIPLE = RVA_RDATA + 0xc0,
    RVA_OFFSET = RVA_RDATA + 0xd0,
    RVA_ALPHA = RVA_RDATA + 0xe0,
    RVA_BETA = RVA_RDATA + 0xf0,
    RVA_CONFIG = RVA_RDATA + 0x100,
    RVA_EXPORTS = RVA_RDATA + 0x240,
    RVA_EXPORT_ADDRESSES = RVA_EXPORTS + 0x28,
    RVA_EXPORT_NAMES = RVA_EXPORTS + 0x38,
    RVA_EXPORT_PLACES = RVA_EXPORTS + 0x44,
    RVA_EXPORT_TEXTS = RVA_EXPORTS + 0x50,
    RVA_DELAYED = RVA_RDATA + 0x300,
    RVA_DELAYED_THUNKS = RVA_RDATA + 0x340,
    RVA_DELAYED_NAME = RVA_RDATA + 0x350,
    RVA_GAMMA = RVA_RDATA + 0x360,
    RVA_FUNCTIONS = RVA_RDATA + 0x380,
    RVA_UNWIND = RVA_RDATA + 0x400,

    RVA_COOKIE = RVA_DATA,
    RVA_POINTER = RVA_DATA + 0x08, /* to RVA_VALUE */
    RVA_VALUE = RVA_DATA + 0x10,
    RVA_GUARD_SLOTS = RVA_DATA + 0x18, /* check, dispatch, and the three of XFG */
    RVA_DELAYED_SLOTS = RVA_DATA + 0x40,
    RVA_DELAYED_MODULE = RVA_DATA + 0x48,
    RVA_SQUARE_POINTER = RVA_DATA + 0x50,
    RVA_COUNTER = RVA_DATA + 0x1000, /* not in the file */

    TEST_IMAGE_SECTIONS = 5,
    TEST_IMAGE_FUNCTIONS = 4,
    TEST_IMAGE_IMPORTS = 4,
};

struct test_image {
    uint8_t bytes[TEST_IMAGE_FILE_BYTES];
};

/* The file offset of an rva in a section. */
uint32_t test_image_at(uint32_t rva);

/* Little endian: at an offset of the file, and at an rva. */
void test_image_put(struct test_image *image, uint32_t at, unsigned bytes, uint64_t value);
void test_image_put_rva(struct test_image *image, uint32_t rva, unsigned bytes, uint64_t value);

/* With the 0 behind it. */
void test_image_text(struct test_image *image, uint32_t rva, const char *text);

/* The good image. */
void test_image_build(struct test_image *image);

#endif
