/*
 * Fuzz target: any bytes behind the first line of a .trace.
 */
#include "workload/import/import.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char head[] = "A 0 64 1 0 0\n";
    struct workload_import_report report;
    struct workload_error error;
    struct workload *workload;
    char *text = malloc(sizeof head - 1 + size);

    if (!text)
        return 0;
    memcpy(text, head, sizeof head - 1);
    if (size)
        memcpy(text + sizeof head - 1, data, size);
    if (workload_import_memory(text, sizeof head - 1 + size, "fuzz", NULL, &workload, &report,
                               &error))
        workload_free(workload);
    free(text);
    return 0;
}
