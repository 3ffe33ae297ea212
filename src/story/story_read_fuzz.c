/*
 * A story of any record, made and packed. The first byte says what the others are: odd: the file
 * itself; even: items, which a writer of ours writes, so that what they say is tried and not only
 * the file.
 */
#define _GNU_SOURCE /* memfd_create */
#include "base/services.h"
#include "record/record.h"
#include "story/story_read.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ITEM_FIELDS 24
#define MOST_FIXED  24 /* fields before the group of any kind */

/* The number of fields of a kind, and of its group. */
static size_t count_fields(enum record_kind kind, bool of_group)
{
    bool in_group = false;
    size_t count = 0;

    for (const char *at = record_kind_shape(kind); *at; at++) {
        in_group |= *at == '|';
        count += *at == ':' && in_group == of_group;
    }
    return count;
}

/* Small numbers are objects and texts that other items name, too; some are at the edges. */
static uint64_t value_of(uint8_t byte)
{
    static const uint64_t edges[] = {UINT64_MAX,          UINT64_MAX - 1,   UINT64_C(1) << 63,
                                     UINT64_C(1) << 32,   UINT32_MAX,       UINT64_C(1) << 53,
                                     UINT64_C(0x1000000), UINT64_C(1) << 40};

    return byte < 248 ? byte % 32 : edges[byte - 248];
}

static void write_items(struct record *record, const uint8_t *data, size_t size)
{
    static const char *const texts[] = {"process",       "device",
                                        "context",       "node",
                                        "segment",       "allocation",
                                        "fence",         "packet",
                                        "paging_fence",  "fence",
                                        "operation",     "request",
                                        "text",          "{\"event\": 3, \"rule\": \"PB-004\"}",
                                        "</script>\xff", "{\"event\": -1, \"event\": 2"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        record_text(record, texts[i]);
    while (size >= 2) {
        const enum record_kind kind = (enum record_kind)(data[0] % RECORD_KIND_COUNT);
        const size_t fixed = count_fields(kind, false), group = count_fields(kind, true);
        uint64_t fields[MOST_FIXED + ITEM_FIELDS] = {0};
        size_t count = data[1] % (ITEM_FIELDS + 1);

        count = count < size - 2 ? count : size - 2;
        for (size_t i = 0; i < count; i++)
            fields[i] = value_of(data[2 + i]);
        record_item(record, kind, data[1] * 1000, fields, fields + fixed,
                    group && count > fixed ? (count - fixed) / group : 0);
        data += 2 + count;
        size -= 2 + count;
    }
}

/* The items as a file; the caller frees its bytes. */
static uint8_t *file_of_items(const uint8_t *data, size_t size, size_t *out_size)
{
    int file = memfd_create("record", 0);
    struct record *record = record_create(base_services_libc(), file, NULL);
    uint8_t *bytes;
    char error[256];
    off_t end;

    write_items(record, data, size);
    if (!record_close(record, error))
        abort();
    end = lseek(file, 0, SEEK_END);
    bytes = malloc((size_t)end);
    if (end <= 0 || !bytes || pread(file, bytes, (size_t)end, 0) != end)
        abort();
    close(file);
    *out_size = (size_t)end;
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct story_limits limits = {.calls = 2000, .arguments = 20000, .rows = 200000};
    const struct story_pack_limits pack_limits = {.base64_bytes = 20000};
    bool is_items = size && data[0] % 2 == 0;
    uint8_t *made = NULL;
    char error[512];
    struct story *story;
    unsigned char *bytes;
    size_t packed;

    if (!size)
        return 0;
    data++;
    size--;
    if (is_items)
        data = made = file_of_items(data, size, &size);
    story = story_read_bytes(base_services_libc(), "fuzz", data, size, &limits, error);
    if (is_items && !story)
        abort();
    if (story) {
        if (!story_pack(story, &pack_limits, &bytes, &packed, error) || !packed)
            abort();
        story_pack_free(story, bytes, packed);
        story_destroy(story);
    }
    free(made);
    return 0;
}
