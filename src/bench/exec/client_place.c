#define _GNU_SOURCE
#include "bench/exec/client_place.h"

#include "base/bits.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_SYMBOLS (UINT64_C(1) << 22) /* twenty times those of a large driver */

struct module {
    char path[512];
    uint64_t offset; /* of the address, in the file */
};

static bool find_module(pid_t pid, uint64_t address, struct module *out)
{
    char name[64], line[1024];
    bool is_found = false;
    FILE *file;

    snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
    file = fopen(name, "re");
    while (file && !is_found && fgets(line, sizeof line, file)) {
        uint64_t start, end, offset;
        int path = 0;

        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &start, &end,
                   &offset, &path) < 3 ||
            address < start || address >= end || !path || line[path] != '/')
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(out->path, sizeof out->path, "%s", line + path);
        out->offset = offset + (address - start);
        is_found = true;
    }
    if (file)
        fclose(file);
    return is_found;
}

/* ---- Symbols --------------------------------------------------------------------------------- */

/*
 * The file is the client's, who may cut it while it is read: it is read, and never mapped. And it
 * may say that it has more symbols than anybody could look at.
 */
struct image {
    int file;
    uint64_t size;
    uint64_t left; /* symbols that may still be looked at */
};

static bool is_inside(const struct image *image, uint64_t offset, uint64_t bytes)
{
    return offset <= image->size && bytes <= image->size - offset;
}

static bool read_at(const struct image *image, uint64_t offset, void *out, uint64_t bytes)
{
    return is_inside(image, offset, bytes) &&
           pread(image->file, out, bytes, (off_t)offset) == (ssize_t)bytes;
}

/* False: no segment of the file has the offset. */
static bool find_address(const struct image *image, const Elf64_Ehdr *head, uint64_t offset,
                         uint64_t *out_address)
{
    for (unsigned i = 0; i < head->e_phnum; i++) {
        Elf64_Phdr part;

        if (!read_at(image, head->e_phoff + i * sizeof part, &part, sizeof part))
            return false;
        if (part.p_type == PT_LOAD && offset >= part.p_offset &&
            offset - part.p_offset < part.p_filesz) {
            *out_address = part.p_vaddr + (offset - part.p_offset);
            return true;
        }
    }
    return false;
}

static bool read_section(const struct image *image, const Elf64_Ehdr *head, unsigned index,
                         Elf64_Shdr *out)
{
    if (index >= head->e_shnum || head->e_shentsize != sizeof *out ||
        !read_at(image, head->e_shoff + index * sizeof *out, out, sizeof *out))
        return false;
    return out->sh_type == SHT_NOBITS || is_inside(image, out->sh_offset, out->sh_size);
}

static bool is_of_function(const Elf64_Sym *symbol, uint64_t address)
{
    return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_value <= address &&
           address - symbol->st_value < (symbol->st_size ? symbol->st_size : 1);
}

static bool find_in_table(struct image *image, const Elf64_Shdr *symbols, const Elf64_Shdr *names,
                          uint64_t address, char *out, size_t size)
{
    Elf64_Sym read[256], best = {0};
    char name[101] = "";
    uint64_t length;

    for (uint64_t at = 0, count = 0; symbols->sh_size - at >= sizeof read[0] && image->left;
         at += count * sizeof read[0]) {
        count = min_u64((symbols->sh_size - at) / sizeof read[0], ARRAY_COUNT(read));
        count = min_u64(count, image->left);
        image->left -= count;
        if (!read_at(image, symbols->sh_offset + at, read, count * sizeof read[0]))
            return false;
        for (uint64_t i = 0; i < count; i++) {
            if (is_of_function(&read[i], address) && read[i].st_value >= best.st_value &&
                read[i].st_name < names->sh_size)
                best = read[i];
        }
    }
    if (!ELF64_ST_TYPE(best.st_info))
        return false;
    length = min_u64(names->sh_size - best.st_name, sizeof name - 1);
    if (!read_at(image, names->sh_offset + best.st_name, name, length) || !name[0])
        return false;
    snprintf(out, size, "%s+0x%" PRIx64, name, address - best.st_value);
    return true;
}

bool client_place_symbol(int file, uint64_t offset, char *out, size_t out_size)
{
    static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
    struct image own = {.file = file, .left = MOST_SYMBOLS}, *image = &own;
    Elf64_Shdr section, names;
    struct stat status;
    Elf64_Ehdr head;
    uint64_t address;

    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0)
        return false;
    own.size = (uint64_t)status.st_size;
    if (!read_at(image, 0, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(Elf64_Phdr) ||
        !find_address(image, &head, offset, &address))
        return false;
    for (unsigned type = 0; type < 2; type++) {
        for (unsigned i = 0; i < head.e_shnum; i++) {
            if (read_section(image, &head, i, &section) && section.sh_type == types[type] &&
                read_section(image, &head, section.sh_link, &names) &&
                names.sh_type == SHT_STRTAB &&
                find_in_table(image, &section, &names, address, out, out_size))
                return true;
        }
    }
    return false;
}

static bool name_function(const struct module *module, char *out, size_t size)
{
    const int file = open(module->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool is_found = file >= 0 && client_place_symbol(file, module->offset, out, size);

    if (file >= 0)
        close(file);
    return is_found;
}

void client_place(pid_t pid, uint64_t address, char *out, size_t size)
{
    char function[160];
    const char *name;
    struct module module;

    if (!find_module(pid, address, &module)) {
        snprintf(out, size, "0x%" PRIx64, address);
        return;
    }
    name = strrchr(module.path, '/') + 1;
    if (name_function(&module, function, sizeof function))
        snprintf(out, size, "%s (%.60s)", function, name);
    else
        snprintf(out, size, "%.60s+0x%" PRIx64, name, module.offset);
}
