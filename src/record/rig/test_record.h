/*
 * A record in memory: what a test writes into a file that has no name, and its bytes.
 *
 * Place   record, tests only.
 */
#ifndef DRYDOCK_RECORD_TEST_RECORD_H
#define DRYDOCK_RECORD_TEST_RECORD_H

#include <stddef.h>
#include <stdint.h>

struct record_bytes_of {
    uint8_t *bytes;
    size_t size;
};

/* A file without a name, open for reading and writing. */
int test_record_file(void);
/* All bytes of the file, which is closed; the caller frees them. */
struct record_bytes_of test_record_take(int file);

/* Writes blocks by hand, as no writer of ours would. */
struct test_blocks {
    uint8_t file[1 << 20];
    size_t file_size;
    uint8_t raw[1 << 18];
    size_t raw_size;
};

void test_blocks_begin(struct test_blocks *blocks, unsigned major);
void test_blocks_varint(struct test_blocks *blocks, uint64_t value);
void test_blocks_bytes(struct test_blocks *blocks, const char *text);
void test_blocks_kind(struct test_blocks *blocks, const char *name, const char *shape);
void test_blocks_end(struct test_blocks *blocks, uint64_t items, uint64_t texts, uint64_t kinds,
                     uint64_t time_ns);
/* The block's items are packed; its header names raw_size bytes, or what is there if that is 0. */
void test_blocks_pack(struct test_blocks *blocks, uint32_t tag, uint32_t raw_size);

#endif
