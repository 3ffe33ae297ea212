/* Windows has no pipes among its files. */
#include "workload/named_file.h"

#include <string.h>

FILE *named_file_open(const char *path, const char *mode)
{
    return fopen(path, mode);
}

const char *named_file_reason(int error)
{
    return strerror(error);
}
