/*
 * Test image: a small driver, put together byte by byte, so that tests need no compiler.
 *
 * Place      image, tests only.
 * Model      Every structure has a fixed place, named below; a test changes what it wants with
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

#include "image/image.h"

#include <string.h>

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

    RVA_ENTRY = RVA_TEXT, /* Triple(x), ordinal 7 of it, plus what the pointer leads to */
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
static inline uint32_t test_image_at(uint32_t rva)
{
    return rva >= RVA_RELOC   ? rva - RVA_RELOC + AT_RELOC
           : rva >= RVA_INIT  ? rva - RVA_INIT + AT_INIT
           : rva >= RVA_DATA  ? rva - RVA_DATA + AT_DATA
           : rva >= RVA_RDATA ? rva - RVA_RDATA + AT_RDATA
                              : rva - RVA_TEXT + AT_TEXT;
}

static inline void test_image_put(struct test_image *image, uint32_t at, unsigned bytes,
                                  uint64_t value)
{
    for (unsigned i = 0; i < bytes; i++)
        image->bytes[at + i] = (uint8_t)(value >> (8 * i));
}

static inline void test_image_put_rva(struct test_image *image, uint32_t rva, unsigned bytes,
                                      uint64_t value)
{
    test_image_put(image, test_image_at(rva), bytes, value);
}

static inline void test_image_text(struct test_image *image, uint32_t rva, const char *text)
{
    memcpy(image->bytes + test_image_at(rva), text, strlen(text) + 1);
}

/* ---- Code ----------------------------------------------------------------------------------- */

/* Bytes of an instruction; returns where the next one begins. */
static inline uint32_t test_image_code(struct test_image *image, uint32_t rva, const char *bytes,
                                       unsigned count)
{
    memcpy(image->bytes + test_image_at(rva), bytes, count);
    return rva + count;
}

/* An instruction that ends with a displacement from its end to target. */
static inline uint32_t test_image_relative(struct test_image *image, uint32_t rva,
                                           const char *bytes, unsigned count, uint32_t target)
{
    rva = test_image_code(image, rva, bytes, count);
    test_image_put_rva(image, rva, 4, target - (rva + 4));
    return rva + 4;
}

#define CODE(bytes) at = test_image_code(image, at, bytes, sizeof(bytes) - 1)
#define RELATIVE(bytes, target)                                                                    \
    at = test_image_relative(image, at, bytes, sizeof(bytes) - 1, target)

static inline void test_image_write_code(struct test_image *image)
{
    uint32_t at = RVA_ENTRY;

    memset(image->bytes + AT_TEXT, 0xcc, AT_RDATA - AT_TEXT);
    CODE("\x48\x83\xec\x28");                  /* sub rsp, 40 */
    RELATIVE("\xff\x15", RVA_ALPHA_SLOTS);     /* call [Triple] */
    CODE("\x48\x89\xc1");                      /* mov rcx, rax */
    RELATIVE("\xff\x15", RVA_ALPHA_SLOTS + 8); /* call [ordinal 7] */
    RELATIVE("\x48\x8b\x0d", RVA_POINTER);     /* mov rcx, [pointer] */
    CODE("\x48\x03\x01");                      /* add rax, [rcx] */
    CODE("\x48\x83\xc4\x28\xc3");              /* add rsp, 40; ret */
    at = RVA_GUARDED;
    CODE("\x48\x83\xec\x28");                     /* sub rsp, 40 */
    RELATIVE("\xff\x15", RVA_GUARD_SLOTS);        /* call [check] */
    RELATIVE("\x48\x8b\x05", RVA_SQUARE_POINTER); /* mov rax, [pointer to square] */
    RELATIVE("\xff\x15", RVA_GUARD_SLOTS + 8);    /* call [dispatch] */
    CODE("\x48\x83\xc4\x28\xc3");                 /* add rsp, 40; ret */
    at = RVA_SQUARE;
    CODE("\x48\x89\xc8\x48\x0f\xaf\xc1\xc3"); /* mov rax, rcx; imul rax, rcx; ret */
    at = RVA_CALL_DELAYED;
    CODE("\x48\x83\xec\x28");                /* sub rsp, 40 */
    RELATIVE("\xff\x15", RVA_DELAYED_SLOTS); /* call [Delayed] */
    CODE("\x48\x83\xc4\x28\xc3");            /* add rsp, 40; ret */
    at = RVA_READ_COOKIE;
    RELATIVE("\x48\x8b\x05", RVA_COOKIE); /* mov rax, [cookie] */
    CODE("\xc3");                         /* ret */
    at = RVA_COUNT;
    RELATIVE("\x48\xff\x05", RVA_COUNTER); /* inc [counter] */
    RELATIVE("\x48\x8b\x05", RVA_COUNTER); /* mov rax, [counter] */
    CODE("\xc3");                          /* ret */
    at = RVA_CALL_OFFSET;
    CODE("\x48\x83\xec\x28");             /* sub rsp, 40 */
    RELATIVE("\xff\x15", RVA_BETA_SLOTS); /* call [Offset] */
    CODE("\x48\x83\xc4\x28\xc3");         /* add rsp, 40; ret */
}

#undef CODE
#undef RELATIVE

/* ---- Tables --------------------------------------------------------------------------------- */

static inline void test_image_section(struct test_image *image, unsigned index, const char *name,
                                      uint32_t rva, uint32_t bytes, uint32_t at,
                                      uint32_t file_bytes, uint32_t flags)
{
    uint32_t entry = AT_SECTIONS + 40 * index;

    memcpy(image->bytes + entry, name, strlen(name));
    test_image_put(image, entry + 8, 4, bytes);
    test_image_put(image, entry + 12, 4, rva);
    test_image_put(image, entry + 16, 4, file_bytes);
    test_image_put(image, entry + 20, 4, at);
    test_image_put(image, entry + 36, 4, flags);
}

static inline void test_image_directory(struct test_image *image, unsigned index, uint32_t rva,
                                        uint32_t size)
{
    test_image_put(image, AT_DIRECTORIES + 8 * index, 4, rva);
    test_image_put(image, AT_DIRECTORIES + 8 * index + 4, 4, size);
}

static inline void test_image_write_headers(struct test_image *image)
{
    memcpy(image->bytes, "MZ", 2);
    test_image_put(image, 60, 4, AT_NT);
    memcpy(image->bytes + AT_NT, "PE\0\0", 4);
    test_image_put(image, AT_FILE, 2, 0x8664);
    test_image_put(image, AT_FILE + 2, 2, TEST_IMAGE_SECTIONS);
    test_image_put(image, AT_FILE + 8, 4, AT_SYMBOLS);
    test_image_put(image, AT_FILE + 12, 4, 5);
    test_image_put(image, AT_FILE + 16, 2, 112 + 16 * 8);
    test_image_put(image, AT_FILE + 18, 2, 0x22);
    test_image_put(image, AT_OPTIONAL, 2, 0x20b);
    test_image_put(image, AT_OPTIONAL + 16, 4, RVA_ENTRY);
    test_image_put(image, AT_OPTIONAL + 24, 8, TEST_IMAGE_BASE);
    test_image_put(image, AT_OPTIONAL + 32, 4, 0x1000);
    test_image_put(image, AT_OPTIONAL + 36, 4, 0x200);
    test_image_put(image, AT_OPTIONAL + 56, 4, TEST_IMAGE_BYTES);
    test_image_put(image, AT_OPTIONAL + 60, 4, 0x400);
    test_image_put(image, AT_OPTIONAL + 68, 2, 1);
    test_image_put(image, AT_OPTIONAL + 108, 4, 16);
    test_image_directory(image, 0, RVA_EXPORTS, 0xc0);
    test_image_directory(image, 1, RVA_IMPORTS, 60);
    test_image_directory(image, 3, RVA_FUNCTIONS, TEST_IMAGE_FUNCTIONS * 12);
    test_image_directory(image, 5, RVA_RELOC, 20);
    test_image_directory(image, 10, RVA_CONFIG, 320);
    test_image_directory(image, 12, RVA_ALPHA_SLOTS, 0x40);
    test_image_directory(image, 13, RVA_DELAYED, 64);
    test_image_section(image, 0, ".text", RVA_TEXT, 0x400, AT_TEXT, 0x400, 0x60000020);
    test_image_section(image, 1, ".rdata", RVA_RDATA, 0xa00, AT_RDATA, 0xa00, 0x40000040);
    test_image_section(image, 2, ".data", RVA_DATA, 0x1800, AT_DATA, 0x400, 0xc0000040);
    test_image_section(image, 3, "INIT", RVA_INIT, 0x200, AT_INIT, 0x200, 0xe2000020);
    test_image_section(image, 4, ".reloc", RVA_RELOC, 0x200, AT_RELOC, 0x200, 0x42000040);
}

static inline void test_image_write_imports(struct test_image *image)
{
    test_image_put_rva(image, RVA_IMPORTS, 4, RVA_ALPHA_THUNKS);
    test_image_put_rva(image, RVA_IMPORTS + 12, 4, RVA_ALPHA);
    test_image_put_rva(image, RVA_IMPORTS + 16, 4, RVA_ALPHA_SLOTS);
    test_image_put_rva(image, RVA_IMPORTS + 20, 4, RVA_BETA_THUNKS);
    test_image_put_rva(image, RVA_IMPORTS + 32, 4, RVA_BETA);
    test_image_put_rva(image, RVA_IMPORTS + 36, 4, RVA_BETA_SLOTS);
    test_image_put_rva(image, RVA_ALPHA_THUNKS, 8, RVA_TRIPLE);
    test_image_put_rva(image, RVA_ALPHA_THUNKS + 8, 8, UINT64_C(1) << 63 | 7);
    test_image_put_rva(image, RVA_BETA_THUNKS, 8, RVA_OFFSET);
    test_image_put_rva(image, RVA_TRIPLE, 2, 3);
    test_image_text(image, RVA_TRIPLE + 2, "Triple");
    test_image_text(image, RVA_OFFSET + 2, "Offset");
    test_image_text(image, RVA_ALPHA, "alpha.sys");
    test_image_text(image, RVA_BETA, "beta.sys");
    test_image_put_rva(image, RVA_DELAYED, 4, 1);
    test_image_put_rva(image, RVA_DELAYED + 4, 4, RVA_GAMMA);
    test_image_put_rva(image, RVA_DELAYED + 8, 4, RVA_DELAYED_MODULE);
    test_image_put_rva(image, RVA_DELAYED + 12, 4, RVA_DELAYED_SLOTS);
    test_image_put_rva(image, RVA_DELAYED + 16, 4, RVA_DELAYED_THUNKS);
    test_image_put_rva(image, RVA_DELAYED_THUNKS, 8, RVA_DELAYED_NAME);
    test_image_text(image, RVA_DELAYED_NAME + 2, "Delayed");
    test_image_text(image, RVA_GAMMA, "gamma.sys");
}

/* Alpha is the entry, Beta is forwarded elsewhere, Gamma to Alpha; ordinal 13 has no name. */
static inline void test_image_write_exports(struct test_image *image)
{
    static const char *const texts[] = {"image.sys", "Alpha",       "Beta",
                                        "Gamma",     "other.Thing", "image.Alpha"};
    const uint32_t addresses[] = {RVA_ENTRY, RVA_EXPORT_TEXTS + 4 * 16, RVA_EXPORT_TEXTS + 5 * 16,
                                  RVA_SQUARE};

    test_image_put_rva(image, RVA_EXPORTS + 12, 4, RVA_EXPORT_TEXTS);
    test_image_put_rva(image, RVA_EXPORTS + 16, 4, 10);
    test_image_put_rva(image, RVA_EXPORTS + 20, 4, 4);
    test_image_put_rva(image, RVA_EXPORTS + 24, 4, 3);
    test_image_put_rva(image, RVA_EXPORTS + 28, 4, RVA_EXPORT_ADDRESSES);
    test_image_put_rva(image, RVA_EXPORTS + 32, 4, RVA_EXPORT_NAMES);
    test_image_put_rva(image, RVA_EXPORTS + 36, 4, RVA_EXPORT_PLACES);
    for (unsigned i = 0; i < 6; i++)
        test_image_text(image, RVA_EXPORT_TEXTS + 16 * i, texts[i]);
    for (unsigned i = 0; i < 4; i++)
        test_image_put_rva(image, RVA_EXPORT_ADDRESSES + 4 * i, 4, addresses[i]);
    for (unsigned i = 0; i < 3; i++) {
        test_image_put_rva(image, RVA_EXPORT_NAMES + 4 * i, 4, RVA_EXPORT_TEXTS + 16 * (i + 1));
        test_image_put_rva(image, RVA_EXPORT_PLACES + 2 * i, 2, i);
    }
}

static inline void test_image_write_config(struct test_image *image)
{
    test_image_put_rva(image, RVA_CONFIG, 4, 320);
    test_image_put_rva(image, RVA_CONFIG + 88, 8, TEST_IMAGE_BASE + RVA_COOKIE);
    test_image_put_rva(image, RVA_CONFIG + 112, 8, TEST_IMAGE_BASE + RVA_GUARD_SLOTS);
    test_image_put_rva(image, RVA_CONFIG + 120, 8, TEST_IMAGE_BASE + RVA_GUARD_SLOTS + 8);
    test_image_put_rva(image, RVA_CONFIG + 280, 8, TEST_IMAGE_BASE + RVA_GUARD_SLOTS + 16);
    test_image_put_rva(image, RVA_CONFIG + 288, 8, TEST_IMAGE_BASE + RVA_GUARD_SLOTS + 24);
    test_image_put_rva(image, RVA_CONFIG + 296, 8, TEST_IMAGE_BASE + RVA_GUARD_SLOTS + 32);
    test_image_put_rva(image, RVA_COOKIE, 8, IMAGE_DEFAULT_COOKIE);
    test_image_put_rva(image, RVA_POINTER, 8, TEST_IMAGE_BASE + RVA_VALUE);
    test_image_put_rva(image, RVA_VALUE, 8, 1000);
    test_image_put_rva(image, RVA_SQUARE_POINTER, 8, TEST_IMAGE_BASE + RVA_SQUARE);
    test_image_put_rva(image, RVA_RELOC, 4, RVA_DATA);
    test_image_put_rva(image, RVA_RELOC + 4, 4, 20);
    test_image_put_rva(image, RVA_RELOC + 8, 2, 0xa000 | (RVA_POINTER - RVA_DATA));
    test_image_put_rva(image, RVA_RELOC + 10, 2, 0xa000 | (RVA_SQUARE_POINTER - RVA_DATA));
}

static inline void test_image_write_functions(struct test_image *image)
{
    const uint32_t functions[TEST_IMAGE_FUNCTIONS][2] = {
        {RVA_ENTRY, RVA_ENTRY + 0x22},
        {RVA_GUARDED, RVA_GUARDED + 0x1c},
        {RVA_CALL_DELAYED, RVA_CALL_DELAYED + 0xf},
        {RVA_CALL_OFFSET, RVA_CALL_OFFSET + 0xf},
    };

    for (unsigned i = 0; i < TEST_IMAGE_FUNCTIONS; i++) {
        test_image_put_rva(image, RVA_FUNCTIONS + 12 * i, 4, functions[i][0]);
        test_image_put_rva(image, RVA_FUNCTIONS + 12 * i + 4, 4, functions[i][1]);
        test_image_put_rva(image, RVA_FUNCTIONS + 12 * i + 8, 4, RVA_UNWIND);
    }
    test_image_put_rva(image, RVA_UNWIND, 4, 0x00010401); /* version 1, prolog of 4 bytes, 1 slot */
    test_image_put_rva(image, RVA_UNWIND + 4, 2, 0x4204); /* at 4: ALLOC_SMALL of 40 */
}

static inline void test_image_symbol(struct test_image *image, unsigned index, const char *name,
                                     uint32_t value, unsigned section, unsigned type,
                                     unsigned class)
{
    uint32_t at = AT_SYMBOLS + 18 * index;

    if (name)
        memcpy(image->bytes + at, name, strlen(name));
    test_image_put(image, at + 8, 4, value);
    test_image_put(image, at + 12, 2, section);
    test_image_put(image, at + 14, 2, type);
    test_image_put(image, at + 16, 1, class);
}

static inline void test_image_write_symbols(struct test_image *image)
{
    static const char long_name[] = "a_function_with_a_long_name";

    test_image_symbol(image, 0, ".text", 0, 1, 0, 3);
    test_image_put(image, AT_SYMBOLS + 17, 1, 1); /* an auxiliary symbol follows */
    test_image_symbol(image, 2, "Entry", RVA_ENTRY - RVA_TEXT, 1, 0x20, 2);
    test_image_symbol(image, 3, NULL, RVA_GUARDED - RVA_TEXT, 1, 0x20, 3);
    test_image_put(image, AT_SYMBOLS + 18 * 3 + 4, 4, 4);
    test_image_symbol(image, 4, "Square", RVA_SQUARE - RVA_TEXT, 1, 0x20, 2);
    test_image_put(image, AT_SYMBOLS + 18 * 5, 4, 4 + sizeof long_name);
    memcpy(image->bytes + AT_SYMBOLS + 18 * 5 + 4, long_name, sizeof long_name);
}

static inline void test_image_build(struct test_image *image)
{
    memset(image, 0, sizeof *image);
    test_image_write_headers(image);
    test_image_write_code(image);
    test_image_write_imports(image);
    test_image_write_exports(image);
    test_image_write_config(image);
    test_image_write_functions(image);
    test_image_write_symbols(image);
}

#endif
