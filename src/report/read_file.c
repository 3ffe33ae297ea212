#include "report/read_file.h"

#include "workload/named_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *report_read_file(const char *path, size_t most_bytes, size_t *out_size, char error[512])
{
    FILE *file = named_file_open(path, "rb");
    char *text = NULL;
    bool is_fine = false;

    if (!file) {
        snprintf(error, 512, "cannot read '%.400s': %s", path, named_file_reason(errno));
        return NULL;
    }
    text = malloc(most_bytes + 1);
    *out_size = text ? fread(text, 1, most_bytes + 1, file) : 0;
    if (!text)
        snprintf(error, 512, "no memory");
    else if (ferror(file))
        snprintf(error, 512, "cannot read '%.400s': %s", path, strerror(errno));
    else if (*out_size > most_bytes)
        snprintf(error, 512, "'%.400s' has more than %zu bytes", path, most_bytes);
    else
        is_fine = true;
    fclose(file);
    if (is_fine) {
        text[*out_size] = '\0';
        return text;
    }
    free(text);
    return NULL;
}
