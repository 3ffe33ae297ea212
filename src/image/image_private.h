/*
 * Inside of the image module: the state of an open image, and how tables are read.
 *
 * Place      image, private. image.c opens, image_load.c maps, unwind.c steps; between them stand
 *            the files of the tables, and below those image_bytes.c and image_query.c.
 * Model      One file for each table of the format. Each has a function that judges the table and
 *            relies on the tables before it: headers, then sections, then everything that is found
 *            by rva. Walkers (imports, relocations) judge while they walk, so judging, listing and
 *            applying are one piece of code.
 * Errors     Functions with an error parameter fill it and return false; image_refuse() does both.
 */
#ifndef DRYDOCK_IMAGE_IMAGE_PRIVATE_H
#define DRYDOCK_IMAGE_IMAGE_PRIVATE_H

#include "image/image.h"

#include <inttypes.h>
#include <string.h>

enum image_directory_index {
    IMAGE_EXPORTS = 0,
    IMAGE_IMPORTS = 1,
    IMAGE_RESOURCES = 2,
    IMAGE_FUNCTIONS = 3, /* the specification's "exception table" */
    IMAGE_CERTIFICATES = 4,
    IMAGE_RELOCATIONS = 5,
    IMAGE_DEBUG = 6,
    IMAGE_TLS = 9,
    IMAGE_LOAD_CONFIG = 10,
    IMAGE_IAT = 12,
    IMAGE_DELAY_IMPORTS = 13,
    IMAGE_CLR = 14,
    IMAGE_DIRECTORIES = 16,
};

struct image_directory {
    uint32_t rva, size; /* both 0 when the image has none */
};

/* Offsets in the image that the load configuration names; 0: none. */
struct image_config {
    uint32_t cookie_rva;
    uint32_t check_rva[2];    /* of control flow guard, of extended flow guard */
    uint32_t dispatch_rva[3]; /* the third: extended flow guard by table */
};

/* A name and where it is; reference is an index in the symbol table or in the export names. */
struct image_symbol_entry {
    uint32_t rva, reference;
    uint8_t rank; /* of two at one place the higher one wins */
};

struct image {
    const struct base_services *services;
    const uint8_t *bytes;
    uint64_t size; /* of the file */

    uint64_t preferred_base;
    uint32_t image_bytes, header_bytes, section_alignment, file_alignment, entry_rva;
    uint32_t section_count;
    struct image_section sections[IMAGE_MAX_SECTIONS];
    struct image_directory directories[IMAGE_DIRECTORIES];
    struct image_config config;

    uint32_t function_count;
    const uint8_t *functions; /* in the file */

    uint32_t coff_offset, coff_count;
    const uint8_t *coff_strings;
    uint32_t coff_string_bytes;
    struct image_symbol_entry *symbols; /* sorted by rva */
    uint32_t symbol_count, symbol_room;
    bool symbols_are_exports;
    struct image_error symbol_remark; /* why the symbol table is not used; empty: no reason */

    uint8_t *map; /* NULL: not loaded */
    uint64_t map_bytes;
    uint8_t *base;
};

static inline uint16_t read_u16(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

static inline uint32_t read_u32(const uint8_t *at)
{
    return read_u16(at) | (uint32_t)read_u16(at + 2) << 16;
}

static inline uint64_t read_u64(const uint8_t *at)
{
    return read_u32(at) | (uint64_t)read_u32(at + 4) << 32;
}

/* ---- Reading (image_bytes.c) ----------------------------------------------------------------- */

/* Fills error if it is not NULL, and returns false. */
__attribute__((format(printf, 2, 3))) bool image_refuse(struct image_error *error,
                                                        const char *format, ...);

/* The section in which all of [rva, rva + size) lies; NULL: none. */
const struct image_section *image_section_of(const struct image *image, uint64_t rva,
                                             uint64_t size);

/*
 * The file's bytes of [rva, rva + size). NULL: the range does not lie in one section, or the file
 * holds less of that section.
 */
const uint8_t *image_file_bytes(const struct image *image, uint64_t rva, uint64_t size);

/*
 * A name that ends inside of its section, prints and is neither empty nor longer than
 * IMAGE_MAX_NAME. NULL: *reason says why there is no such name.
 */
const char *image_file_name(const struct image *image, uint64_t rva, const char **reason);

/* ---- Judges, in the order in which image_open() calls them ----------------------------------- */

bool image_read_headers(struct image *image, struct image_error *error);
bool image_read_directories(const struct image *image, struct image_error *error);
bool image_read_config(struct image *image, struct image_error *error);
bool image_read_exports(const struct image *image, struct image_error *error);
bool image_read_functions(struct image *image, struct image_error *error);
/* False only when there is no memory. */
bool image_read_symbols(struct image *image, struct image_error *error);

/* ---- Walkers: they judge each entry before they show it -------------------------------------- */

/* visit may refuse too; it fills error then. NULL: judge only. */
bool image_walk_imports(const struct image *image,
                        bool (*visit)(void *context, const struct image_import *import,
                                      struct image_error *error),
                        void *context, struct image_error *error);
bool image_walk_relocations(const struct image *image, void (*visit)(void *context, uint32_t rva),
                            void *context, struct image_error *error);

/* ---- Exports by index of the name table ------------------------------------------------------ */

uint32_t image_export_name_count(const struct image *image);
bool image_export_at(const struct image *image, uint32_t index, struct image_export *out);

/* ---- Unwind information ---------------------------------------------------------------------- */

enum image_unwind_flag {
    IMAGE_UNWIND_EXCEPTION_HANDLER = 1,
    IMAGE_UNWIND_TERMINATION_HANDLER = 2,
    IMAGE_UNWIND_CHAINED = 4,
};

/* Unwind codes; image_unwind_slots() gives the number of their 16-bit slots. */
enum image_unwind_code {
    UNWIND_PUSH_NONVOL = 0,
    UNWIND_ALLOC_LARGE = 1,
    UNWIND_ALLOC_SMALL = 2,
    UNWIND_SET_FPREG = 3,
    UNWIND_SAVE_NONVOL = 4,
    UNWIND_SAVE_NONVOL_FAR = 5,
    UNWIND_EPILOG = 6, /* version 2 only */
    UNWIND_SAVE_XMM128 = 8,
    UNWIND_SAVE_XMM128_FAR = 9,
    UNWIND_PUSH_MACHFRAME = 10,
};

struct image_unwind_info {
    uint8_t version, flags, prolog_bytes, slot_count, frame_register, frame_offset;
    const uint8_t *codes;         /* slot_count slots of two bytes, whole codes */
    uint32_t handler_rva;         /* 0: none */
    uint32_t handler_data_rva;    /* of the bytes behind handler_rva */
    struct image_function parent; /* when chained */
};

/* Reads and judges one UNWIND_INFO. */
bool image_read_unwind_info(const struct image *image, uint32_t rva, struct image_unwind_info *out,
                            struct image_error *error);
/* Slots of the unwind code that begins there; 0: this version has no such code. */
unsigned image_unwind_slots(unsigned version, const uint8_t *code);
bool image_function_of_rva(const struct image *image, uint64_t rva, struct image_function *out);

#endif
