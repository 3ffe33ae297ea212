#define _GNU_SOURCE /* memfd_create() */
#include "record/rig/test_record.h"

#include "record/record_format.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

int test_record_file(void)
{
    return memfd_create("record", MFD_CLOEXEC);
}

struct record_bytes_of test_record_take(int file)
{
    struct record_bytes_of taken = {0};
    struct stat status;

    if (fstat(file, &status) == 0) {
        taken.size = (size_t)status.st_size;
        taken.bytes = malloc(taken.size + 1);
        if (pread(file, taken.bytes, taken.size, 0) != (ssize_t)taken.size)
            taken.size = 0;
    }
    close(file);
    return taken;
}

void test_blocks_begin(struct test_blocks *blocks, unsigned major)
{
    uint8_t *header = blocks->file;

    memset(blocks, 0, sizeof *blocks);
    memcpy(header, RECORD_MAGIC, sizeof RECORD_MAGIC);
    header[6] = (uint8_t)major;
    record_store32(header + 12, record_check_of(header));
    blocks->file_size = RECORD_HEADER_BYTES;
}

void test_blocks_varint(struct test_blocks *blocks, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        blocks->raw[blocks->raw_size++] = (uint8_t)(value | 0x80);
    blocks->raw[blocks->raw_size++] = (uint8_t)value;
}

void test_blocks_bytes(struct test_blocks *blocks, const char *text)
{
    test_blocks_varint(blocks, strlen(text));
    memcpy(blocks->raw + blocks->raw_size, text, strlen(text));
    blocks->raw_size += strlen(text);
}

void test_blocks_kind(struct test_blocks *blocks, const char *name, const char *shape)
{
    test_blocks_varint(blocks, RECORD_CODE_KIND);
    test_blocks_bytes(blocks, name);
    test_blocks_bytes(blocks, shape);
}

void test_blocks_end(struct test_blocks *blocks, uint64_t items, uint64_t texts, uint64_t kinds,
                     uint64_t time_ns)
{
    test_blocks_varint(blocks, RECORD_CODE_END);
    test_blocks_varint(blocks, items);
    test_blocks_varint(blocks, texts);
    test_blocks_varint(blocks, kinds);
    test_blocks_varint(blocks, time_ns);
    test_blocks_pack(blocks, RECORD_TAG_END, 0);
}

void test_blocks_pack(struct test_blocks *blocks, uint32_t tag, uint32_t raw_size)
{
    uint8_t *header = blocks->file + blocks->file_size;
    size_t packed =
        ZSTD_compress(header + RECORD_BLOCK_HEADER_BYTES,
                      sizeof blocks->file - blocks->file_size - RECORD_BLOCK_HEADER_BYTES,
                      blocks->raw, blocks->raw_size, 1);

    record_store32(header, tag);
    record_store32(header + 4, (uint32_t)packed);
    record_store32(header + 8, raw_size ? raw_size : (uint32_t)blocks->raw_size);
    record_store32(header + 12, record_check_of(header));
    blocks->file_size += RECORD_BLOCK_HEADER_BYTES + packed;
    blocks->raw_size = 0;
}
