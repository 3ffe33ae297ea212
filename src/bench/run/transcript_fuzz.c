/*
 * Fuzz target: a run that plays a transcript ends, whatever stands in it. Without a first byte of 1
 * the bytes behind it are the transcript; else they are changes of a true one, which the reference
 * driver has given, of 13 bytes each: where (4), what is done (1), a value (8).
 */
#define _GNU_SOURCE /* memfd_create() */
#include "bench/run/run.h"

#include "bench/config/run_options.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHANGE_BYTES 13u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char case_text[] = "drydock-case 1\n"
                                "name \"a few transfers\"\n"
                                "option local-memory 8M\n"
                                "alloc a size=3M segments=local\n"
                                "alloc b size=3M segments=local\n"
                                "alloc c size=3M segments=local\n"
                                "step one\n"
                                "submit c0 duration=50000 a:w\n"
                                "submit c0 duration=50000 b:w\n"
                                "submit c0 duration=50000 c:w\n"
                                "submit c0 duration=50000 a:r b:rw\n"
                                "wait all\n"
                                "read a\n";

static struct {
    struct workload *workload;
    struct run_config config;
    uint8_t *bytes; /* a true transcript */
    size_t size;
} base;

static enum run_outcome play(const uint8_t *transcript, size_t size, int file)
{
    struct run_result *result = calloc(1, sizeof *result);
    struct run_config config = base.config;
    enum run_outcome outcome;

    if (!result)
        abort();
    config.transcript_file = file;
    config.transcript = transcript;
    config.transcript_bytes = size;
    outcome = run_execute(&config, base.workload, result);
    run_result_fini(result);
    free(result);
    return outcome;
}

static void record(void)
{
    struct workload_error error;
    struct stat state;
    int file = memfd_create("transcript", MFD_CLOEXEC);

    if (file <= 0 ||
        !workload_parse(case_text, sizeof case_text - 1, "fuzz", &base.workload, &error))
        abort();
    run_config_defaults(&base.config);
    run_config_from_workload(&base.config, base.workload);
    base.config.model = RUN_GPUMMU;
    base.config.reference = RUN_REFERENCE_NEVER;
    if (play(NULL, 0, file) != RUN_CLEAN || fstat(file, &state) != 0)
        abort();
    base.size = (size_t)state.st_size;
    base.bytes = malloc(base.size);
    if (!base.bytes || pread(file, base.bytes, base.size, 0) != (ssize_t)base.size)
        abort();
    close(file);
}

/* Its new size. */
static size_t change(uint8_t *bytes, size_t size, const uint8_t how[CHANGE_BYTES])
{
    uint32_t where;
    size_t count;

    memcpy(&where, how, sizeof where);
    where = size ? where % (uint32_t)size : 0;
    count = size - where < 8 ? size - where : 8;
    switch (how[4] % 4) {
    case 0: /* a word in its place */
        where -= where % 8;
        count = size - where < 8 ? size - where : 8;
        memcpy(bytes + where, how + 5, count);
        return size;
    case 1:
        memcpy(bytes + where, how + 5, count ? 1 : 0);
        return size;
    case 2:
        memmove(bytes + where, bytes + where + count, size - where - count);
        return size - count;
    default:
        return how[5] ? size : where; /* mostly not cut */
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes;
    size_t used;

    if (!base.bytes)
        record();
    if (!size)
        return 0;
    used = data[0] == 1 ? base.size : size - 1;
    if (!used)
        return 0;
    bytes = malloc(used);
    if (!bytes)
        return 0;
    memcpy(bytes, data[0] == 1 ? base.bytes : data + 1, used);
    for (size_t at = 1; data[0] == 1 && at + CHANGE_BYTES <= size; at += CHANGE_BYTES)
        used = change(bytes, used, data + at);
    if (play(bytes, used, 0) != RUN_CLEAN && data[0] == 1 && size <= CHANGE_BYTES)
        abort(); /* it is the true one */
    free(bytes);
    return 0;
}
