#define _GNU_SOURCE
#include "bench/exec/client_place.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_FILE_BYTES (UINT64_C(1) << 30)

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

struct image {
    const uint8_t *bytes;
    uint64_t size;
};

static bool is_inside(const struct image *image, uint64_t offset, uint64_t bytes)
{
    return offset <= image->size && bytes <= image->size - offset;
}

/* False: no segment of the file has the offset. */
static bool find_address(const struct image *image, const Elf64_Ehdr *head, uint64_t offset,
                         uint64_t *out_address)
{
    for (unsigned i = 0; i < head->e_phnum; i++) {
        Elf64_Phdr part;

        if (!is_inside(image, head->e_phoff + i * sizeof part, sizeof part))
            return false;
        memcpy(&part, image->bytes + head->e_phoff + i * sizeof part, sizeof part);
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
        !is_inside(image, head->e_shoff, (uint64_t)head->e_shnum * sizeof *out))
        return false;
    memcpy(out, image->bytes + head->e_shoff + index * sizeof *out, sizeof *out);
    return out->sh_type == SHT_NOBITS || is_inside(image, out->sh_offset, out->sh_size);
}

static bool find_in_table(const struct image *image, const Elf64_Shdr *symbols,
                          const Elf64_Shdr *names, uint64_t address, char *out, size_t size)
{
    uint64_t best = 0;
    bool is_found = false;

    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols->sh_size; at += sizeof(Elf64_Sym)) {
        const char *name;
        Elf64_Sym symbol;

        memcpy(&symbol, image->bytes + symbols->sh_offset + at, sizeof symbol);
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_value > address ||
            address - symbol.st_value >= (symbol.st_size ? symbol.st_size : 1) ||
            symbol.st_value < best || symbol.st_name >= names->sh_size)
            continue;
        name = (const char *)image->bytes + names->sh_offset + symbol.st_name;
        if (!memchr(name, 0, names->sh_size - symbol.st_name) || !*name)
            continue;
        best = symbol.st_value;
        is_found = true;
        snprintf(out, size, "%.100s+0x%" PRIx64, name, address - symbol.st_value);
    }
    return is_found;
}

bool client_place_symbol(const uint8_t *bytes, uint64_t size, uint64_t offset, char *out,
                         size_t out_size)
{
    const struct image whole = {bytes, size}, *image = &whole;
    static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
    Elf64_Shdr section, names;
    Elf64_Ehdr head;
    uint64_t address;

    if (image->size < sizeof head)
        return false;
    memcpy(&head, image->bytes, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_phentsize != sizeof(Elf64_Phdr) || !find_address(image, &head, offset, &address))
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
    bool is_found = false;
    struct stat status;
    void *memory;

    if (file < 0)
        return false;
    if (!fstat(file, &status) && S_ISREG(status.st_mode) && status.st_size > 0 &&
        (uint64_t)status.st_size <= MOST_FILE_BYTES) {
        memory = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (memory != MAP_FAILED) {
            is_found =
                client_place_symbol(memory, (uint64_t)status.st_size, module->offset, out, size);
            munmap(memory, (size_t)status.st_size);
        }
    }
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
