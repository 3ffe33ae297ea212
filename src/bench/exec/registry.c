#define _GNU_SOURCE
#include "bench/exec/registry.h"

#include <ntstatus.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Behind the last slash there is the image. */
void exec_find_store(const char *driver, char *out, size_t room)
{
    char *path = driver && strchr(driver, '/') ? realpath(driver, NULL) : NULL;

    out[0] = '\0';
    if (path) {
        *strrchr(path, '/') = '\0';
        if (strlen(path) < room)
            memcpy(out, path, strlen(path) + 1);
    }
    free(path);
}

#define STRING offsetof(D3DDDI_QUERYREGISTRY_INFO, OutputString)

NTSTATUS exec_query_registry(const char *store, void *data, uint32_t bytes)
{
    const size_t characters = strlen(store);
    D3DDDI_QUERYREGISTRY_INFO info;

    if (bytes < STRING)
        return STATUS_BUFFER_TOO_SMALL;
    memcpy(&info, data, STRING);
    info.Status = D3DDDI_QUERYREGISTRY_STATUS_FAIL;
    info.OutputValueSize = 0;
    if (info.QueryType == D3DDDI_QUERYREGISTRY_DRIVERSTOREPATH && characters) {
        info.OutputValueSize = (ULONG)(characters * sizeof(D3DKMT_WSL_WCHAR));
        info.Status = D3DDDI_QUERYREGISTRY_STATUS_BUFFER_OVERFLOW;
    }
    if (info.OutputValueSize && bytes - STRING >= info.OutputValueSize) {
        info.Status = D3DDDI_QUERYREGISTRY_STATUS_SUCCESS;
        for (size_t i = 0; i < characters; i++) {
            const D3DKMT_WSL_WCHAR character = (unsigned char)store[i];

            memcpy((char *)data + STRING + i * sizeof character, &character, sizeof character);
        }
    }
    memcpy(data, &info, STRING);
    return STATUS_SUCCESS;
}
