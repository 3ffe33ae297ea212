/*
 * DOS header, NT headers, section table and data directories.
 *
 *      0   DOS header, 64 bytes; u32 at 60: offset of the NT headers
 *      n   "PE\0\0"
 *    n+4   file header, 20 bytes
 *   n+24   optional header: 112 bytes and 8 for each data directory
 *          section table, 40 bytes for each section
 */
#include "image/image_private.h"

enum {
    DOS_BYTES = 64,
    DOS_NT_OFFSET = 60,
    FILE_BYTES = 20,
    OPTIONAL_BYTES = 112,
    SECTION_BYTES = 40,

    MACHINE_AMD64 = 0x8664,
    MAGIC_PE32 = 0x10b,
    MAGIC_PE32_PLUS = 0x20b,
    MAGIC_ROM = 0x107,
    SUBSYSTEM_NATIVE = 1,
    FILE_RELOCATIONS_STRIPPED = 0x0001,
    FILE_EXECUTABLE = 0x0002,
};

#define SECTION_EXECUTE UINT32_C(0x20000000)
#define SECTION_READ    UINT32_C(0x40000000)
#define SECTION_WRITE   UINT32_C(0x80000000)

/* ---- Sections -------------------------------------------------------------------------------- */

static void read_section_name(struct image_section *section, const uint8_t *entry)
{
    for (unsigned i = 0; i < 8 && entry[i]; i++)
        section->name[i] = entry[i] > ' ' && entry[i] <= '~' ? (char)entry[i] : '?';
}

static bool read_section(const struct image *image, const uint8_t *entry, uint64_t expected_rva,
                         struct image_section *section, struct image_error *error)
{
    uint32_t virtual_bytes = read_u32(entry + 8), raw_bytes = read_u32(entry + 16);
    uint32_t flags = read_u32(entry + 36);
    uint64_t raw, bytes;

    read_section_name(section, entry);
    section->rva = read_u32(entry + 12);
    raw = read_u32(entry + 20);
    bytes = align_up(virtual_bytes ? virtual_bytes : raw_bytes, image->section_alignment);
    if (section->rva != expected_rva)
        return image_refuse(error,
                            "section %" PRIu32 " '%s': begins at rva 0x%" PRIx32
                            ", and what lies before it ends at 0x%" PRIx64
                            " (sections are adjacent, aligned to 0x%" PRIx32 ")",
                            section->number, section->name, section->rva, expected_rva,
                            image->section_alignment);
    if (bytes > image->image_bytes - expected_rva)
        return image_refuse(error,
                            "section %" PRIu32 " '%s': [0x%" PRIx32 ", 0x%" PRIx64
                            ") lies behind the end of the image (0x%" PRIx32 ")",
                            section->number, section->name, section->rva, section->rva + bytes,
                            image->image_bytes);
    section->bytes = (uint32_t)bytes;
    section->is_readable = (flags & (SECTION_READ | SECTION_WRITE | SECTION_EXECUTE)) != 0;
    section->is_writable = (flags & SECTION_WRITE) != 0;
    section->is_executable = (flags & SECTION_EXECUTE) != 0;
    if (raw == 0 || raw_bytes == 0) /* uninitialized data; some linkers give it a raw size */
        return true;
    if (!is_aligned(raw, image->file_alignment))
        return image_refuse(error,
                            "section %" PRIu32 " '%s': raw data begins at 0x%" PRIx64
                            ", not a multiple of FileAlignment 0x%" PRIx32,
                            section->number, section->name, raw, image->file_alignment);
    if (raw + raw_bytes > image->size)
        return image_refuse(error,
                            "section %" PRIu32 " '%s': raw data [0x%" PRIx64 ", 0x%" PRIx64
                            ") lies behind the end of the file (0x%" PRIx64 ")",
                            section->number, section->name, raw, raw + raw_bytes, image->size);
    if (raw < image->header_bytes)
        return image_refuse(error,
                            "section %" PRIu32 " '%s': raw data [0x%" PRIx64 ", 0x%" PRIx64
                            ") overlaps the headers (0x%" PRIx32 " bytes)",
                            section->number, section->name, raw, raw + raw_bytes,
                            image->header_bytes);
    section->file_offset = (uint32_t)raw;
    section->file_bytes = (uint32_t)min_u64(raw_bytes, bytes);
    return true;
}

static bool check_raw_overlap(const struct image *image, const struct image_section *section,
                              struct image_error *error)
{
    for (uint32_t i = 0; i < section->number; i++) {
        const struct image_section *other = &image->sections[i];

        if (section->file_bytes && other->file_bytes &&
            section->file_offset < other->file_offset + other->file_bytes &&
            other->file_offset < section->file_offset + section->file_bytes)
            return image_refuse(error,
                                "section %" PRIu32 " '%s': raw data [0x%" PRIx32 ", 0x%" PRIx32
                                ") overlaps that of section %" PRIu32 " '%s', [0x%" PRIx32
                                ", 0x%" PRIx32 ")",
                                section->number, section->name, section->file_offset,
                                section->file_offset + section->file_bytes, i, other->name,
                                other->file_offset, other->file_offset + other->file_bytes);
    }
    return true;
}

static bool read_sections(struct image *image, uint64_t table, struct image_error *error)
{
    uint64_t rva = align_up(image->header_bytes, image->section_alignment);

    if (rva > image->image_bytes)
        return image_refuse(error,
                            "optional header: SizeOfHeaders 0x%" PRIx32
                            " is larger than SizeOfImage 0x%" PRIx32,
                            image->header_bytes, image->image_bytes);
    for (uint32_t i = 0; i < image->section_count; i++) {
        struct image_section *section = &image->sections[i];

        section->number = i;
        if (!read_section(image, image->bytes + table + (uint64_t)SECTION_BYTES * i, rva, section,
                          error) ||
            !check_raw_overlap(image, section, error))
            return false;
        rva += section->bytes;
    }
    if (rva != image->image_bytes)
        return image_refuse(error,
                            "section table: the sections end at rva 0x%" PRIx64
                            ", and SizeOfImage is 0x%" PRIx32,
                            rva, image->image_bytes);
    if (image->entry_rva) {
        const struct image_section *section = image_section_of(image, image->entry_rva, 1);

        if (!section || !section->is_executable)
            return image_refuse(error,
                                "optional header: AddressOfEntryPoint 0x%" PRIx32
                                " does not lie in an executable section",
                                image->entry_rva);
    }
    return true;
}

/* ---- Headers --------------------------------------------------------------------------------- */

static const char *machine_name(unsigned machine)
{
    switch (machine) {
    case 0x14c:
        return "i386";
    case 0x1c0:
    case 0x1c4:
        return "ARM";
    case 0xaa64:
        return "ARM64";
    case 0xa641:
        return "ARM64EC";
    case 0x200:
        return "Itanium";
    default:
        return "unknown";
    }
}

static const char *subsystem_name(unsigned subsystem)
{
    switch (subsystem) {
    case 2:
        return "a Windows program with windows";
    case 3:
        return "a console program";
    case 10:
    case 11:
    case 12:
    case 13:
        return "EFI";
    case 16:
        return "a boot application";
    default:
        return "no driver";
    }
}

static bool read_file_header(struct image *image, const uint8_t *header, uint32_t *optional_bytes,
                             struct image_error *error)
{
    unsigned machine = read_u16(header), flags = read_u16(header + 18);

    if (machine != MACHINE_AMD64)
        return image_refuse(error,
                            "file header: Machine is 0x%x (%s), and only AMD64 (0x8664) runs here",
                            machine, machine_name(machine));
    image->section_count = read_u16(header + 2);
    if (image->section_count == 0 || image->section_count > IMAGE_MAX_SECTIONS) {
        uint32_t count = image->section_count;

        image->section_count = 0;
        return image_refuse(error, "file header: NumberOfSections is %" PRIu32 ", not 1 to %d",
                            count, IMAGE_MAX_SECTIONS);
    }
    image->coff_offset = read_u32(header + 8);
    image->coff_count = read_u32(header + 12);
    *optional_bytes = read_u16(header + 16);
    if (*optional_bytes < OPTIONAL_BYTES)
        return image_refuse(error,
                            "file header: SizeOfOptionalHeader is %" PRIu32
                            ", and the fields of PE32+ take %d bytes",
                            *optional_bytes, OPTIONAL_BYTES);
    if (!(flags & FILE_EXECUTABLE))
        return image_refuse(error, "file header: Characteristics 0x%x say that the linker failed",
                            flags);
    if (flags & FILE_RELOCATIONS_STRIPPED)
        return image_refuse(error,
                            "file header: Characteristics 0x%x say that the relocations "
                            "were stripped, so the image cannot be moved",
                            flags);
    return true;
}

static bool check_alignments(const struct image *image, struct image_error *error)
{
    uint32_t section = image->section_alignment, file = image->file_alignment;

    if (!is_power_of_two(section) || section > IMAGE_MAX_ALIGNMENT)
        return image_refuse(error,
                            "optional header: SectionAlignment 0x%" PRIx32
                            " is not a power of two up to 0x%" PRIx64,
                            section, IMAGE_MAX_ALIGNMENT);
    if (section < PAGE_BYTES)
        return image_refuse(error,
                            "optional header: SectionAlignment 0x%" PRIx32
                            " is below a page, so sections cannot be protected",
                            section);
    if (!is_power_of_two(file) || file < 512 || file > 64 * KiB || file > section)
        return image_refuse(error,
                            "optional header: FileAlignment 0x%" PRIx32
                            " is not a power of two from 512 to 64 KiB, up to SectionAlignment "
                            "0x%" PRIx32,
                            file, section);
    return true;
}

static bool read_optional_header(struct image *image, const uint8_t *header, uint32_t bytes,
                                 struct image_error *error)
{
    unsigned magic = read_u16(header), subsystem = read_u16(header + 68);
    uint32_t directories = read_u32(header + 108);

    if (magic != MAGIC_PE32_PLUS)
        return image_refuse(error, "optional header: Magic is 0x%x (%s), not 0x20b (PE32+)", magic,
                            magic == MAGIC_PE32  ? "PE32, a 32-bit image"
                            : magic == MAGIC_ROM ? "a ROM image"
                                                 : "unknown");
    if (subsystem != SUBSYSTEM_NATIVE)
        return image_refuse(error,
                            "optional header: Subsystem is %u (%s), and drivers have 1 "
                            "(native)",
                            subsystem, subsystem_name(subsystem));
    image->entry_rva = read_u32(header + 16);
    image->preferred_base = read_u64(header + 24);
    image->section_alignment = read_u32(header + 32);
    image->file_alignment = read_u32(header + 36);
    image->image_bytes = read_u32(header + 56);
    image->header_bytes = read_u32(header + 60);
    if (!check_alignments(image, error))
        return false;
    if (image->image_bytes == 0 || image->image_bytes > IMAGE_MAX_BYTES ||
        !is_aligned(image->image_bytes, image->section_alignment))
        return image_refuse(error,
                            "optional header: SizeOfImage 0x%" PRIx32
                            " is not a multiple of SectionAlignment 0x%" PRIx32 " up to 0x%" PRIx64,
                            image->image_bytes, image->section_alignment, IMAGE_MAX_BYTES);
    if (!is_aligned(image->preferred_base, 64 * KiB) ||
        image->preferred_base > UINT64_MAX - image->image_bytes)
        return image_refuse(error,
                            "optional header: ImageBase 0x%" PRIx64
                            " is not a multiple of 64 KiB with room for SizeOfImage 0x%" PRIx32,
                            image->preferred_base, image->image_bytes);
    if (directories > IMAGE_DIRECTORIES || OPTIONAL_BYTES + 8 * directories > bytes)
        return image_refuse(error,
                            "optional header: NumberOfRvaAndSizes is %" PRIu32
                            "; there are %d, and SizeOfOptionalHeader %" PRIu32 " has room for "
                            "%" PRIu32,
                            directories, IMAGE_DIRECTORIES, bytes, (bytes - OPTIONAL_BYTES) / 8);
    for (uint32_t i = 0; i < directories; i++) {
        image->directories[i].rva = read_u32(header + OPTIONAL_BYTES + 8 * i);
        image->directories[i].size = read_u32(header + OPTIONAL_BYTES + 8 * i + 4);
    }
    return true;
}

bool image_read_headers(struct image *image, struct image_error *error)
{
    uint32_t optional_bytes = 0;
    uint64_t nt, table, end;

    if (image->size > IMAGE_MAX_FILE_BYTES)
        return image_refuse(error, "file: 0x%" PRIx64 " bytes; the limit is 0x%" PRIx64,
                            image->size, IMAGE_MAX_FILE_BYTES);
    if (image->size < DOS_BYTES)
        return image_refuse(error, "DOS header: the file ends at 0x%" PRIx64 ", before 0x%x",
                            image->size, DOS_BYTES);
    if (memcmp(image->bytes, "MZ", 2) != 0)
        return image_refuse(error, "DOS header: the file begins with 0x%02x 0x%02x, not with 'MZ'",
                            image->bytes[0], image->bytes[1]);
    nt = read_u32(image->bytes + DOS_NT_OFFSET);
    if (nt < DOS_BYTES || !is_aligned(nt, 4) || nt > image->size ||
        image->size - nt < 4 + FILE_BYTES)
        return image_refuse(error,
                            "DOS header: e_lfanew 0x%" PRIx64 " is not a multiple of 4 behind the "
                            "header with room for NT headers in a file of 0x%" PRIx64 " bytes",
                            nt, image->size);
    if (memcmp(image->bytes + nt, "PE\0\0", 4) != 0)
        return image_refuse(
            error, "NT headers: the signature at 0x%" PRIx64 " is 0x%08" PRIx32 ", not 'PE'", nt,
            read_u32(image->bytes + nt));
    if (!read_file_header(image, image->bytes + nt + 4, &optional_bytes, error))
        return false;
    table = nt + 4 + FILE_BYTES + optional_bytes;
    if (table > image->size)
        return image_refuse(error,
                            "optional header: [0x%" PRIx64 ", 0x%" PRIx64
                            ") lies behind the end of the file (0x%" PRIx64 ")",
                            table - optional_bytes, table, image->size);
    if (!read_optional_header(image, image->bytes + table - optional_bytes, optional_bytes, error))
        return false;
    end = table + (uint64_t)SECTION_BYTES * image->section_count;
    if (end > image->header_bytes || image->header_bytes > image->size)
        return image_refuse(error,
                            "optional header: SizeOfHeaders 0x%" PRIx32
                            " does not lie between the end of the section table (0x%" PRIx64
                            ") and the end of the file (0x%" PRIx64 ")",
                            image->header_bytes, end, image->size);
    return read_sections(image, table, error);
}

/* ---- Directories ----------------------------------------------------------------------------- */

static const char *const directory_names[IMAGE_DIRECTORIES] = {
    "export table",     "import table",     "resource table",     "exception table",
    "certificates",     "base relocations", "debug directory",    "architecture",
    "global pointer",   "TLS directory",    "load configuration", "bound imports",
    "import addresses", "delay imports",    "CLR header",         "reserved directory",
};

bool image_read_directories(const struct image *image, struct image_error *error)
{
    for (unsigned i = 0; i < IMAGE_DIRECTORIES; i++) {
        uint64_t at = image->directories[i].rva, size = image->directories[i].size;

        if (at == 0 && size == 0)
            continue;
        if (i == IMAGE_TLS)
            return image_refuse(error,
                                "TLS directory: at rva 0x%" PRIx64 ", 0x%" PRIx64
                                " bytes; kernel images have no thread local storage",
                                at, size);
        if (i == IMAGE_CLR)
            return image_refuse(
                error, "CLR header: at rva 0x%" PRIx64 "; managed code does not run in a kernel",
                at);
        if (i == IMAGE_CERTIFICATES) { /* the one that is an offset in the file */
            if (at + size > image->size)
                return image_refuse(error,
                                    "certificates: [0x%" PRIx64 ", 0x%" PRIx64
                                    ") lies behind the end of the file (0x%" PRIx64 ")",
                                    at, at + size, image->size);
            continue;
        }
        if ((i == IMAGE_IMPORTS || i == IMAGE_DELAY_IMPORTS || i == IMAGE_LOAD_CONFIG) &&
            (at == 0 || size == 0))
            return image_refuse(error, "%s: rva 0x%" PRIx64 " with 0x%" PRIx64 " bytes",
                                directory_names[i], at, size);
        if (size == 0)
            continue;
        /* Bound imports lie behind the section table in the headers. */
        if (!image_section_of(image, at, size) && at + size > image->header_bytes)
            return image_refuse(error,
                                "%s: [0x%" PRIx64 ", 0x%" PRIx64 ") does not lie in one section of "
                                "the image (0x%" PRIx32 " bytes)",
                                directory_names[i], at, at + size, image->image_bytes);
    }
    return true;
}
