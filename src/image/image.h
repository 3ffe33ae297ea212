/*
 * Image: an x64 Windows driver (.sys), read, judged and brought into this process.
 *
 * Place      image. Uses base and POSIX mmap(); knows no kernel service and no miniport. The
 *            caller's resolver knows the meaning of an import.
 * Model      image_open() reads a PE32+ file and judges all of it: headers, sections, directories,
 *            imports, exports, relocations, load configuration, function table and unwind
 *            information. Nothing is mapped, nothing is executed. An image that it accepts,
 *            image_load() can lay out: it maps the image somewhere above 4 GiB, applies base
 *            relocations, binds imports (delay imports as well: there is no helper that would bind
 *            them later), gives the security cookie its value and the control-flow-guard pointers
 *            their targets, and protects each section by its own flags.
 *
 *                no access    one page
 *                headers      read only
 *                sections     none, R, RW, RX or RWX; in the order of the file, without gaps
 *                no access    one page
 *                thunks       one page, RX: "ret" for guard checks, "jmp rax" for guard dispatch
 *
 *            Tables are read from the file's bytes and never from the mapped image, which the
 *            driver may have scribbled over. Forwarders in the export table are looked at, not
 *            followed: image_find_export() gives their text. A chain inside of the image that is a
 *            circle, or that is longer than IMAGE_MAX_FORWARDS, is refused.
 * Refused    By design: machines other than AMD64, subsystems other than native, managed code,
 *            ARM64EC, thread local storage, stripped relocations, section alignment below a page,
 *            delay imports by address, relocation types other than DIR64 and ABSOLUTE, unwind
 *            information of other versions than 1 and 2. By size: see the limits below. They are
 *            far above the numbers of drivers.
 * Ownership  image_open() gives the image and borrows the file's bytes until image_close(); they
 *            must not change. Names in imports and exports are lent until then. image_close()
 *            unloads.
 * Errors     bool. A refusal is a sentence in struct image_error that names the structure and its
 *            values. Nothing has changed then, and out parameters hold zero.
 * Threads    A loaded image does not change: its queries may run on any thread, and in a signal
 *            handler. They allocate nothing and take no lock.
 * Units      "rva" is an offset from the base of the image, "address" one of this process; bytes.
 * Source     Microsoft PE format specification; documentation of x64 exception handling and of
 *            IMAGE_LOAD_CONFIG_DIRECTORY64.
 */
#ifndef DRYDOCK_IMAGE_IMAGE_H
#define DRYDOCK_IMAGE_IMAGE_H

#include "base/bits.h"
#include "base/services.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMAGE_MAX_FILE_BYTES     (256 * MiB)
#define IMAGE_MAX_BYTES          (256 * MiB) /* SizeOfImage */
#define IMAGE_MAX_ALIGNMENT      (2 * MiB)   /* SectionAlignment */
#define IMAGE_MAX_SECTIONS       96          /* the limit of the Windows loader */
#define IMAGE_MAX_IMPORT_MODULES 512
#define IMAGE_MAX_IMPORTS        16384 /* over all modules, delay imports included */
#define IMAGE_MAX_EXPORTS        16384
#define IMAGE_MAX_FORWARDS       8
#define IMAGE_MAX_FUNCTIONS      (1u << 20)
#define IMAGE_MAX_SYMBOLS        (1u << 20)
#define IMAGE_MAX_CHAIN          32   /* chained unwind information */
#define IMAGE_MAX_NAME           1024 /* of a module, an import, an export */

/* The value that linkers leave in a security cookie; a driver that finds it there stops. */
#define IMAGE_DEFAULT_COOKIE UINT64_C(0x00002B992DDFA232)

struct image;

struct image_error {
    char text[320];
};

bool image_open(const struct base_services *services, const void *bytes, size_t size,
                struct image **out, struct image_error *error);
/* The image may be NULL. */
void image_close(struct image *image);

/* ---- Imports and exports --------------------------------------------------------------------- */

struct image_import {
    const char *module; /* as the image spells it */
    const char *name;   /* NULL: by ordinal */
    uint16_t ordinal;   /* with a name it is the linker's hint */
    bool is_delayed;
    uint32_t slot_rva; /* where the address goes */
};

/* Every import in the order of the tables, until visit returns false. */
void image_for_each_import(const struct image *image,
                           bool (*visit)(void *context, const struct image_import *import),
                           void *context);

struct image_export {
    const char *name;
    uint16_t ordinal;
    uint32_t rva;          /* 0 for a forwarder */
    const char *forwarder; /* "module.name" or "module.#ordinal"; NULL: the export is here */
};

/* By name, case counts. */
bool image_find_export(const struct image *image, const char *name, struct image_export *out);

/*
 * Remarks on lawful oddities, a sentence each: sections that can be written and executed, a symbol
 * table that could not be read. The text is lent until visit returns.
 */
void image_for_each_remark(const struct image *image,
                           void (*visit)(void *context, const char *text), void *context);

/* ---- In memory ------------------------------------------------------------------------------- */

struct image_load_options {
    /* The address of an import; 0 refuses the image. Called once for each import. */
    uint64_t (*resolve)(void *context, const struct image_import *import);
    void *context;
    /* Not 0, not IMAGE_DEFAULT_COOKIE, and the highest 16 bits are zero. */
    uint64_t security_cookie;
};

bool image_load(struct image *image, const struct image_load_options *options,
                struct image_error *error);
/* Unmaps; the image can be loaded again. Nothing happens when it is not loaded. */
void image_unload(struct image *image);

/* 0 when the image is not loaded; image_entry() also when it has no entry point. */
uint64_t image_base(const struct image *image);
uint64_t image_entry(const struct image *image);
/* SizeOfImage. */
uint64_t image_size(const struct image *image);

/* ---- Addresses of a loaded image ------------------------------------------------------------- */

bool image_contains(const struct image *image, uint64_t address);

struct image_section {
    char name[9]; /* characters that do not print are '?' */
    uint32_t number;
    uint32_t rva;
    uint32_t bytes;       /* in memory, up to the next section */
    uint32_t file_offset; /* of the bytes that come from the file */
    uint32_t file_bytes;  /* the rest is zero */
    bool is_readable, is_writable, is_executable;
};

/* NULL: the headers, or not in the image. */
const struct image_section *image_section_at(const struct image *image, uint64_t address);
uint32_t image_section_count(const struct image *image);
/* Index below the count. Works before the image is loaded. */
const struct image_section *image_section(const struct image *image, uint32_t index);

/* RUNTIME_FUNCTION. */
struct image_function {
    uint32_t begin_rva, end_rva, unwind_rva;
};

/*
 * The entry of the function table that covers address. False: none does, a leaf function has none.
 */
bool image_function_at(const struct image *image, uint64_t address, struct image_function *out);

/* The address of that entry in the loaded image's own table; 0: no entry covers address. */
uint64_t image_function_entry_at(const struct image *image, uint64_t address);

enum image_symbol_kind {
    IMAGE_SYMBOL_COFF,    /* of the symbol table that mingw-w64 and lld leave in the file */
    IMAGE_SYMBOL_EXPORT,  /* the nearest export before */
    IMAGE_SYMBOL_SECTION, /* the section */
    IMAGE_SYMBOL_HEADERS,
};

struct image_symbol {
    enum image_symbol_kind kind;
    char name[256]; /* cut where it is longer */
    uint64_t offset;
};

/* The best name for an address of the image. False: it is not in the image. */
bool image_symbol_at(const struct image *image, uint64_t address, struct image_symbol *out);

#endif
