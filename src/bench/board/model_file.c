#include "bench/board/model_file.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#if defined __x86_64__
#define OWN_MACHINE EM_X86_64
#elif defined __aarch64__
#define OWN_MACHINE EM_AARCH64
#endif

bool model_file_check(const char *path, char error[GPU_PLUGIN_ERROR_BYTES])
{
    struct stat status;
    FILE *file;
    Elf64_Ehdr header;
    size_t got;
    char text[160];

    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return model_file_refuse(error, path, "it is no file"); /* a pipe would be waited for */
    file = fopen(path, "rb");
    if (!file)
        return model_file_refuse(error, path, strerror(errno));
    got = fread(&header, 1, sizeof header, file);
    fclose(file);
    if (got >= 2 && memcmp(&header, "MZ", 2) == 0)
        return model_file_refuse(
            error, path,
            "it is an image for Windows, and a GPU model is a shared object of this "
            "system (cc -shared -fPIC)");
    if (got < sizeof header || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return model_file_refuse(error, path,
                                 "it is no shared object (cc -shared -fPIC makes one)");
    if (header.e_ident[EI_CLASS] != ELFCLASS64)
        return model_file_refuse(error, path,
                                 "it is a shared object of 32 bits, and this bench has 64");
    if (header.e_type != ET_DYN)
        return model_file_refuse(
            error, path,
            "it is an object file or a program, and no shared object (cc -shared -fPIC "
            "makes one)");
#ifdef OWN_MACHINE
    if (header.e_machine != OWN_MACHINE) {
        snprintf(text, sizeof text, "it is for another processor (ELF machine %u; this one is %u)",
                 header.e_machine, OWN_MACHINE);
        return model_file_refuse(error, path, text);
    }
#endif
    return true;
}
