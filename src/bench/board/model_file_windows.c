#include "bench/board/model_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool model_file_check(const char *path, char error[GPU_PLUGIN_ERROR_BYTES])
{
    FILE *file = fopen(path, "rb");
    char mark[2] = "";
    size_t got;

    if (!file)
        return model_file_refuse(error, path, strerror(errno));
    got = fread(mark, 1, sizeof mark, file);
    fclose(file);
    return (got == sizeof mark && memcmp(mark, "MZ", 2) == 0) ||
           model_file_refuse(error, path,
                             "it is no DLL (x86_64-w64-mingw32-gcc -shared makes one)");
}
