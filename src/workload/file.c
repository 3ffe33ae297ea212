/*
 * Whole files in and out of memory; see file.h.
 */
#include "workload/file.h"
#include "workload/named_file.h"
#include "workload/owned.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

/* Reads to the end of the stream; a size that seems right cannot be trusted for a pipe. */
static bool read_stream(FILE *file, const char *path, char **out, size_t *out_size,
                        struct workload_error *error)
{
    size_t room = 1 << 16, size = 0;
    char *data = malloc(room);

    while (data) {
        size_t got = fread(data + size, 1, room - size, file);
        char *grown;

        size += got;
        if (ferror(file)) {
            workload_error_set(error, "%.200s: cannot read: %s", path, strerror(errno));
            free(data);
            return false;
        }
        if (feof(file)) {
            *out = data;
            *out_size = size;
            return true;
        }
        if (size < room)
            continue;
        if (room >= WORKLOAD_MAX_FILE_BYTES) {
            workload_error_set(error, "%.200s: the file is too large (expected at most %zu bytes)",
                               path, WORKLOAD_MAX_FILE_BYTES);
            free(data);
            return false;
        }
        room *= 2;
        grown = realloc(data, room);
        if (!grown)
            free(data);
        data = grown;
    }
    workload_error_set(error, "%.200s: out of memory", path);
    return false;
}

/* Unpacks frame after frame; data is one complete file. */
static bool unpack_frames(const void *data, size_t size, size_t limit, const char *path, char **out,
                          size_t *out_size, struct workload_error *error)
{
    ZSTD_DCtx *context = ZSTD_createDCtx();
    ZSTD_inBuffer in = {data, size, 0};
    ZSTD_outBuffer unpacked = {NULL, 0, 0};
    size_t room = 1 << 16, left = 1;

    while (context) {
        void *grown;

        if (unpacked.pos == unpacked.size) {
            if (unpacked.size >= limit) {
                workload_error_set(error,
                                   "%.200s: the unpacked file is too large (expected at most %zu "
                                   "bytes)",
                                   path, limit);
                goto fail;
            }
            grown = realloc(unpacked.dst, room);
            if (!grown)
                break;
            unpacked.dst = grown;
            unpacked.size = room;
            room *= 2;
        }
        left = ZSTD_decompressStream(context, &unpacked, &in);
        if (ZSTD_isError(left)) {
            workload_error_set(error, "%.200s: damaged zstd data: %s (expected a whole file)", path,
                               ZSTD_getErrorName(left));
            goto fail;
        }
        /* All output is out once the decoder stops short of the buffer's end. */
        if (in.pos == in.size && unpacked.pos < unpacked.size) {
            if (left != 0) {
                workload_error_set(
                    error, "%.200s: the zstd data is cut off (expected a whole file)", path);
                goto fail;
            }
            ZSTD_freeDCtx(context);
            *out = unpacked.dst;
            *out_size = unpacked.pos;
            return true;
        }
    }
    workload_error_set(error, "%.200s: out of memory", path);
fail:
    ZSTD_freeDCtx(context);
    free(unpacked.dst);
    return false;
}

bool workload_unpack(const void *data, size_t size, size_t limit, const char *path, char **out,
                     size_t *out_size, struct workload_error *error)
{
    static const unsigned char magic[4] = {0x28, 0xb5, 0x2f, 0xfd};

    *out = NULL;
    *out_size = 0;
    if (size >= sizeof magic && memcmp(data, magic, sizeof magic) == 0)
        return unpack_frames(data, size, limit, path, out, out_size, error);
    *out = malloc(size ? size : 1);
    if (!*out) {
        workload_error_set(error, "%.200s: out of memory", path);
        return false;
    }
    if (size)
        memcpy(*out, data, size);
    *out_size = size;
    return true;
}

/*
 * A text may begin with the mark of UTF-8, which goes. A text of UTF-16, as some shells write into
 * files, is named: read as bytes, each of its lines would be unknown.
 */
static bool take_byte_order_mark(const char *path, char *data, size_t *size,
                                 struct workload_error *error)
{
    if (*size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0) {
        *size -= 3;
        memmove(data, data + 3, *size);
    }
    if (*size >= 2 && (memcmp(data, "\xff\xfe", 2) == 0 || memcmp(data, "\xfe\xff", 2) == 0)) {
        workload_error_set(error, "%.200s: a text in UTF-16 (expected UTF-8)", path);
        return false;
    }
    return true;
}

bool workload_file_read(const char *path, char **out, size_t *out_size,
                        struct workload_error *error)
{
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : named_file_open(path, "rb");
    char *raw;
    size_t raw_size;
    bool ok;

    *out = NULL;
    *out_size = 0;
    if (!file) {
        workload_error_set(error, "%.200s: cannot open: %s", path, named_file_reason(errno));
        return false;
    }
    ok = read_stream(file, path, &raw, &raw_size, error);
    if (!is_stdin)
        fclose(file);
    if (!ok)
        return false;
    ok = workload_unpack(raw, raw_size, WORKLOAD_MAX_FILE_BYTES, path, out, out_size, error);
    free(raw);
    if (ok && !take_byte_order_mark(path, *out, out_size, error)) {
        free(*out);
        *out = NULL;
        ok = false;
    }
    return ok;
}

static bool ends_with(const char *text, const char *end)
{
    size_t text_length = strlen(text), end_length = strlen(end);

    return text_length >= end_length && strcmp(text + text_length - end_length, end) == 0;
}

static bool write_stream(FILE *file, const void *data, size_t size, bool is_closed)
{
    bool ok = file != NULL && fwrite(data, 1, size, file) == size;

    if (file && is_closed)
        ok = fclose(file) == 0 && ok;
    else if (file)
        ok = fflush(file) == 0 && ok;
    return ok;
}

/*
 * Writes a file beside path and puts it in path's place; mode is that of the file it replaces. What
 * would end the program waits meanwhile, so that no half a file is ever left behind.
 */
static bool write_beside(const char *path, const void *data, size_t size, const mode_t *mode)
{
    const char *slash = strrchr(path, '/');
    int folder_length = slash ? (int)(slash - path + 1) : 0;
    size_t length = strlen(path) + sizeof ".partial-" + 24;
    char *partial = malloc(length);
    sigset_t deadly, former;
    FILE *file;
    bool ok;
    int reason;

    if (!partial)
        return false;
    sigemptyset(&deadly);
    sigaddset(&deadly, SIGINT);
    sigaddset(&deadly, SIGTERM);
    sigaddset(&deadly, SIGHUP);
    sigprocmask(SIG_BLOCK, &deadly, &former);
    snprintf(partial, length, "%.*s.partial-%ld-%s", folder_length, path, (long)getpid(),
             path + folder_length);
    file = fopen(partial, "wb");
    ok = file != NULL;
    if (ok && mode)
        ok = fchmod(fileno(file), *mode & 07777) == 0;
    ok = write_stream(file, data, size, true) && ok;
    if (ok)
        ok = rename(partial, path) == 0;
    reason = errno;
    if (!ok && file)
        remove(partial);
    sigprocmask(SIG_SETMASK, &former, NULL);
    free(partial);
    errno = reason;
    return ok;
}

/* No file can be put in the place of this one, which can be written for all that. */
static bool is_in_place_only(int reason)
{
    return reason == EACCES || reason == EPERM || reason == EBUSY || reason == EROFS;
}

/*
 * What is no file is written as it stands, and stays what it is: a device, a pipe, a link that
 * leads nowhere yet. Behind a link to a file it is the file that is replaced.
 */
bool workload_file_write_plain(const char *path, const void *data, size_t size,
                               struct workload_error *error)
{
    struct stat status;
    char *target;
    bool ok;

    if (strcmp(path, "-") == 0) {
        ok = write_stream(stdout, data, size, false);
    } else if (stat(path, &status) == 0 && S_ISREG(status.st_mode)) {
        target = realpath(path, NULL);
        ok = target && write_beside(target, data, size, &status.st_mode);
        if (target && !ok && is_in_place_only(errno))
            ok = write_stream(fopen(target, "wb"), data, size, true);
        free(target);
    } else if (lstat(path, &status) == 0) {
        ok = write_stream(named_file_open(path, "wb"), data, size, true);
    } else {
        ok = write_beside(path, data, size, NULL);
    }
    if (!ok)
        workload_error_set(error, "%.200s: cannot write: %s", path, named_file_reason(errno));
    return ok;
}

bool workload_file_write(const char *path, const char *data, size_t size,
                         struct workload_error *error)
{
    void *packed;
    size_t packed_size;
    bool ok;

    if (!ends_with(path, ".zst"))
        return workload_file_write_plain(path, data, size, error);
    packed = malloc(ZSTD_compressBound(size));
    if (!packed) {
        workload_error_set(error, "%.200s: out of memory", path);
        return false;
    }
    packed_size = ZSTD_compress(packed, ZSTD_compressBound(size), data, size, 9);
    if (ZSTD_isError(packed_size)) {
        workload_error_set(error, "%.200s: cannot compress: %s", path,
                           ZSTD_getErrorName(packed_size));
        ok = false;
    } else {
        ok = workload_file_write_plain(path, packed, packed_size, error);
    }
    free(packed);
    return ok;
}

bool workload_load(const char *path, struct workload **out, struct workload_error *error)
{
    char *text;
    size_t size;
    bool ok;

    *out = NULL;
    if (!workload_file_read(path, &text, &size, error))
        return false;
    ok = workload_parse(text, size, path, out, error);
    free(text);
    return ok;
}
