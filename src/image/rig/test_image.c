#include "image/rig/test_image.h"

#include "image/image.h"

#include <string.h>

uint32_t test_image_at(uint32_t rva)
{
    return rva >= RVA_RELOC   ? rva - RVA_RELOC + AT_RELOC
           : rva >= RVA_INIT  ? rva - RVA_INIT + AT_INIT
           : rva >= RVA_DATA  ? rva - RVA_DATA + AT_DATA
           : rva >= RVA_RDATA ? rva - RVA_RDATA + AT_RDATA
                              : rva - RVA_TEXT + AT_TEXT;
}

void test_image_put(struct test_image *image, uint32_t at, unsigned bytes, uint64_t value)
{
    for (unsigned i = 0; i < bytes; i++)
        image->bytes[at + i] = (uint8_t)(value >> (8 * i));
}

void test_image_put_rva(struct test_image *image, uint32_t rva, unsigned bytes, uint64_t value)
{
    test_image_put(image, test_image_at(rva), bytes, value);
}

void test_image_text(struct test_image *image, uint32_t rva, const char *text)
{
    memcpy(image->bytes + test_image_at(rva), text, strlen(text) + 1);
}

/* ---- Code ------------------------------------------------------------------------------------ */

/* Bytes of an instruction; returns where the next one begins. */
static uint32_t code(struct test_image *image, uint32_t rva, const char *bytes, unsigned count)
{
    memcpy(image->bytes + test_image_at(rva), bytes, count);
    return rva + count;
}

/* An instruction that ends with a displacement from its end to target. */
static uint32_t relative(struct test_image *image, uint32_t rva, const char *bytes, unsigned count,
                         uint32_t target)
{
    rva = code(image, rva, bytes, count);
    test_image_put_rva(image, rva, 4, target - (rva + 4));
    return rva + 4;
}

#define CODE(bytes)             at = code(image, at, bytes, sizeof(bytes) - 1)
#define RELATIVE(bytes, target) at = relative(image, at, bytes, sizeof(bytes) - 1, target)

static void write_code(struct test_image *image)
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

/* ---- Tables ---------------------------------------------------------------------------------- */

static void section(struct test_image *image, unsigned index, const char *name, uint32_t rva,
                    uint32_t bytes, uint32_t at, uint32_t file_bytes, uint32_t flags)
{
    uint32_t entry = AT_SECTIONS + 40 * index;

    memcpy(image->bytes + entry, name, strlen(name));
    test_image_put(image, entry + 8, 4, bytes);
    test_image_put(image, entry + 12, 4, rva);
    test_image_put(image, entry + 16, 4, file_bytes);
    test_image_put(image, entry + 20, 4, at);
    test_image_put(image, entry + 36, 4, flags);
}

static void directory(struct test_image *image, unsigned index, uint32_t rva, uint32_t size)
{
    test_image_put(image, AT_DIRECTORIES + 8 * index, 4, rva);
    test_image_put(image, AT_DIRECTORIES + 8 * index + 4, 4, size);
}

static void write_headers(struct test_image *image)
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
    directory(image, 0, RVA_EXPORTS, 0xc0);
    directory(image, 1, RVA_IMPORTS, 60);
    directory(image, 3, RVA_FUNCTIONS, TEST_IMAGE_FUNCTIONS * 12);
    directory(image, 5, RVA_RELOC, 20);
    directory(image, 10, RVA_CONFIG, 320);
    directory(image, 12, RVA_ALPHA_SLOTS, 0x40);
    directory(image, 13, RVA_DELAYED, 64);
    section(image, 0, ".text", RVA_TEXT, 0x400, AT_TEXT, 0x400, 0x60000020);
    section(image, 1, ".rdata", RVA_RDATA, 0xa00, AT_RDATA, 0xa00, 0x40000040);
    section(image, 2, ".data", RVA_DATA, 0x1800, AT_DATA, 0x400, 0xc0000040);
    section(image, 3, "INIT", RVA_INIT, 0x200, AT_INIT, 0x200, 0xe2000020);
    section(image, 4, ".reloc", RVA_RELOC, 0x200, AT_RELOC, 0x200, 0x42000040);
}

static void write_imports(struct test_image *image)
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
static void write_exports(struct test_image *image)
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

static void write_config(struct test_image *image)
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

static void write_functions(struct test_image *image)
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

static void symbol(struct test_image *image, unsigned index, const char *name, uint32_t value,
                   unsigned section, unsigned type, unsigned class)
{
    uint32_t at = AT_SYMBOLS + 18 * index;

    if (name)
        memcpy(image->bytes + at, name, strlen(name));
    test_image_put(image, at + 8, 4, value);
    test_image_put(image, at + 12, 2, section);
    test_image_put(image, at + 14, 2, type);
    test_image_put(image, at + 16, 1, class);
}

static void write_symbols(struct test_image *image)
{
    static const char long_name[] = "a_function_with_a_long_name";

    symbol(image, 0, ".text", 0, 1, 0, 3);
    test_image_put(image, AT_SYMBOLS + 17, 1, 1); /* an auxiliary symbol follows */
    symbol(image, 2, "Entry", RVA_ENTRY - RVA_TEXT, 1, 0x20, 2);
    symbol(image, 3, NULL, RVA_GUARDED - RVA_TEXT, 1, 0x20, 3);
    test_image_put(image, AT_SYMBOLS + 18 * 3 + 4, 4, 4);
    symbol(image, 4, "Square", RVA_SQUARE - RVA_TEXT, 1, 0x20, 2);
    test_image_put(image, AT_SYMBOLS + 18 * 5, 4, 4 + sizeof long_name);
    memcpy(image->bytes + AT_SYMBOLS + 18 * 5 + 4, long_name, sizeof long_name);
}

void test_image_build(struct test_image *image)
{
    memset(image, 0, sizeof *image);
    write_headers(image);
    write_code(image);
    write_imports(image);
    write_exports(image);
    write_config(image);
    write_functions(image);
    write_symbols(image);
}
