/*
 * Fuzz target: any bytes as the file of a record, read by the reader, and gone on with.
 */
#define _GNU_SOURCE /* memfd_create() */
#include "record/record_line.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every item, every text it may name, and the line of every call. Gives how it ended. */
static enum record_state read_all(struct record_reader *reader, uint64_t *out_items)
{
    struct record_reader_item item;
    enum record_state state;
    char line[256];
    size_t length;

    while (record_reader_next(reader, &item)) {
        if (item.kind >= RECORD_KIND_COUNT)
            abort();
        record_reader_bytes(reader, item.fields[0], &length);
        if (item.kind == RECORD_KIND_call) {
            record_line_format(reader, &item, line, sizeof line);
            record_line_arguments(reader, &item, line, 1);
        }
    }
    state = record_reader_state(reader);
    if (state == RECORD_READING || (state != RECORD_WHOLE && !record_reader_error(reader)[0]))
        abort();
    *out_items = record_reader_item_count(reader);
    return state;
}

/* A record that is whole or cut can be gone on with, and is whole then, with one item more. */
static void go_on(const uint8_t *data, size_t size, enum record_state state, uint64_t items)
{
    int file = memfd_create("record", MFD_CLOEXEC);
    struct record_reader *reader;
    struct record *record;
    char error[256];
    uint64_t count;
    bool was_cut;

    if (file < 0 || write(file, data, size) != (ssize_t)size)
        abort();
    record = record_resume(base_services_libc(), file, NULL, &was_cut, error);
    if (record) {
        if (was_cut != (state == RECORD_CUT) && state != RECORD_DAMAGED)
            abort();
        RECORD_ITEM(record, dpc, 1, .number = 1);
        if (!record_close(record, error))
            abort();
        reader = record_reader_open_file(base_services_libc(), "again", file, error);
        if (!reader)
            abort();
        if (state == RECORD_WHOLE || state == RECORD_CUT)
            if (read_all(reader, &count) == RECORD_WHOLE && count != items + 1)
                abort();
        record_reader_close(reader);
    } else if (state == RECORD_WHOLE || state == RECORD_CUT) {
        abort();
    }
    close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[256];
    struct record_reader *reader =
        record_reader_open_bytes(base_services_libc(), "fuzz", data, size, error);
    enum record_state state;
    uint64_t items;

    if (!reader)
        return 0;
    state = read_all(reader, &items);
    record_reader_close(reader);
    go_on(data, size, state, items);
    return 0;
}
