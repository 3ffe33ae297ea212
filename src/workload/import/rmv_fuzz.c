/*
 * Fuzz target: any bytes as an RMV capture.
 *
 * With an even first byte the rest is the file. With an odd one the rest is the token stream of a
 * capture that is sound otherwise: a container is hard to guess, and the tokens are the larger
 * part.
 */
#include "workload/import/import.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    HEAPS_AT = 32,
    HEADER_AT = HEAPS_AT + 3 * 24,
    INDEX_AT = HEADER_AT + 24,
    STREAM_AT = INDEX_AT + 2 * 64,
};

static void put(uint8_t *at, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static void put_chunk(uint8_t *entry, const char *name, uint64_t header_bytes, uint64_t data,
                      uint64_t bytes)
{
    memcpy(entry, name, strlen(name));
    put(entry + 24, HEADER_AT);
    put(entry + 32, header_bytes);
    put(entry + 40, data);
    put(entry + 48, bytes);
}

static void import(const uint8_t *data, size_t size)
{
    struct workload_import_report report;
    struct workload_error error;
    struct workload *workload;

    if (workload_import_memory(data, size, "fuzz", NULL, &workload, &report, &error))
        workload_free(workload);
}

static void import_stream(const uint8_t *stream, size_t size)
{
    uint8_t *file = calloc(1, STREAM_AT + size);

    if (!file)
        return;
    memcpy(file, "AMD_RDF \3", 9);
    put(file + 16, INDEX_AT);
    put(file + 24, 2 * 64);
    for (unsigned kind = 0; kind < 3; kind++) {
        put(file + HEAPS_AT + kind * 24, kind);
        put(file + HEAPS_AT + kind * 24 + 8, kind == 1 ? 1 << 28 : 0);
        put(file + HEAPS_AT + kind * 24 + 16, (uint64_t)1 << (28 + 2 * kind));
    }
    put(file + HEADER_AT, 5);
    put(file + HEADER_AT + 20, 1 | 8 << 16);
    put_chunk(file + INDEX_AT, "GpuMemSegment", 0, HEAPS_AT, 3 * 24);
    put_chunk(file + INDEX_AT + 64, "RmtData", 24, STREAM_AT, size);
    if (size)
        memcpy(file + STREAM_AT, stream, size);
    import(file, STREAM_AT + size);
    free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] & 1)
        import_stream(data + 1, size - 1);
    else
        import(data + 1, size - 1);
    return 0;
}
