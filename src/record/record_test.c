/* What the writer writes the reader reads, whole or cut or damaged. */
#include "record/record_reader.h"

#include "base/bits.h"
#include "base/failing_services.h"
#include "base/rng.h"
#include "record/record_format.h"
#include "record/rig/test_record.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define LONG_TEXT 700000

/* The number of fields of a kind, and of its group. */
static size_t count_fields(enum record_kind kind, bool of_group)
{
    const char *shape = record_kind_shape(kind), *bar = strchr(shape, '|');
    const char *end = bar ? bar : shape + strlen(shape);
    size_t count = 0;

    for (const char *at = of_group ? end : shape; of_group ? *at : at < end; at++)
        count += *at == ':';
    return count;
}

static uint64_t draw_value(struct rng *rng)
{
    return rng_next(rng) >> rng_below(rng, 64);
}

/* Item number n of a stream: always the same. Every value of it is drawn. */
static size_t draw_item(uint64_t n, enum record_kind *kind, uint64_t *time, uint64_t values[512])
{
    struct rng rng;
    size_t count, group;

    rng_init(&rng, n);
    *kind = (enum record_kind)rng_below(&rng, RECORD_KIND_COUNT);
    *time = n * 1000 + rng_below(&rng, 3000);
    group = count_fields(*kind, true);
    count = count_fields(*kind, false) + group * rng_below(&rng, 9);
    for (size_t i = 0; i < count; i++)
        values[i] = draw_value(&rng);
    return count;
}

/* Fields and groups behind one another. */
static void put_item(struct record *record, enum record_kind kind, uint64_t time,
                     const uint64_t *values, size_t count)
{
    const size_t fixed = count_fields(kind, false), group = count_fields(kind, true);

    record_item(record, kind, time, values, values + fixed, group ? (count - fixed) / group : 0);
}

static uint64_t text_numbers[60000 / 3];

static void draw_text(uint64_t n, char text[64])
{
    snprintf(text, 64, "text %llu of a driver", (unsigned long long)n);
}

static struct record_bytes_of write_items(uint64_t items, const struct record_limits *limits)
{
    int file = test_record_file();
    struct record *record = record_create(base_services_libc(), file, limits);
    char error[256], text[64];

    assert_non_null(record);
    for (uint64_t n = 0; n < items; n++) {
        enum record_kind kind;
        uint64_t time, values[512];
        size_t count = draw_item(n, &kind, &time, values);

        if (n % 3 == 0) {
            draw_text(n, text);
            text_numbers[n / 3] = record_text(record, text);
            assert_int_equal(record_text(record, text), text_numbers[n / 3]);
        }
        put_item(record, kind, time, values, count);
    }
    assert_true(record_close(record, error));
    assert_string_equal(error, "");
    return test_record_take(file);
}

/* Reads as far as it goes, and compares each item with the one that was drawn. */
static uint64_t read_items(struct record_reader *reader)
{
    struct record_reader_item item;
    uint64_t n = 0;

    for (; record_reader_next(reader, &item); n++) {
        enum record_kind kind;
        uint64_t time, values[512];
        size_t count = draw_item(n, &kind, &time, values);
        size_t fixed = count_fields(kind, false), group = count_fields(kind, true);
        char text[64];

        assert_int_equal(item.kind, kind);
        assert_int_equal(item.time_ns, time);
        assert_memory_equal(item.fields, values, fixed * sizeof *values);
        assert_int_equal(item.group_count * group, count - fixed);
        if (count > fixed)
            assert_memory_equal(item.groups, values + fixed, (count - fixed) * sizeof *values);
        draw_text(n - n % 3, text);
        assert_string_equal(record_reader_text(reader, text_numbers[n / 3]), text);
    }
    return n;
}

static void reads_what_was_written(void **state)
{
    struct record_bytes_of taken = write_items(60000, NULL);
    char error[256];
    struct record_reader *reader = record_reader_open_bytes(base_services_libc(), "run/record.ddr",
                                                            taken.bytes, taken.size, error);

    (void)state;
    assert_non_null(reader);
    assert_int_equal(read_items(reader), 60000);
    assert_int_equal(record_reader_state(reader), RECORD_WHOLE);
    assert_string_equal(record_reader_error(reader), "");
    assert_in_range(record_reader_text_count(reader), 20000, 25000);
    assert_int_equal(record_reader_item_count(reader), 60000);
    assert_string_equal(record_reader_text(reader, 0), "");
    assert_string_equal(record_reader_text(reader, 25001), "");
    record_reader_close(reader);
    free(taken.bytes);
}

static void names_fields(void **state)
{
    int file = test_record_file();
    struct record *record = record_create(base_services_libc(), file, NULL);
    struct record_call_group group[2] = {{.field = 1, .value = 70},
                                         {.type = 5, .value = ~UINT64_C(0)}};
    struct record_reader *reader;
    struct record_reader_item item;
    struct record_bytes_of taken;
    static const char literal[] = "why";
    char error[256];
    size_t size;

    (void)state;
    RECORD_ITEM(record, placed, 5, .allocation = 3, .bytes = 65536,
                .why = record_literal(record, literal));
    RECORD_ITEM_WITH(record, call, 3, group, 2, .sequence = 9, .status = 0xC000000D);
    assert_int_equal(record_literal(record, literal), 1);
    assert_int_equal(record_bytes(record, "a\0b", 3), 3); /* 2 is the pattern of the call */
    assert_true(record_close(record, error));
    taken = test_record_take(file);
    reader = record_reader_open_bytes(base_services_libc(), "x", taken.bytes, taken.size, error);
    assert_true(record_reader_next(reader, &item));
    assert_int_equal(item.kind, RECORD_KIND_placed);
    assert_int_equal(item.time_ns, 5);
    assert_int_equal(RECORD_FIELDS(placed, &item)->allocation, 3);
    assert_int_equal(RECORD_FIELDS(placed, &item)->segment, 0);
    assert_int_equal(RECORD_FIELDS(placed, &item)->bytes, 65536);
    assert_string_equal(record_reader_text(reader, RECORD_FIELDS(placed, &item)->why), "why");
    assert_true(record_reader_next(reader, &item));
    assert_int_equal(item.time_ns, 3);
    assert_int_equal(item.group_count, 2);
    assert_int_equal(RECORD_GROUP(call, &item, 0)->value, 70);
    assert_int_equal(RECORD_GROUP(call, &item, 1)->type, 5);
    assert_true(RECORD_GROUP(call, &item, 1)->value == ~UINT64_C(0));
    assert_false(record_reader_next(reader, &item));
    assert_memory_equal(record_reader_bytes(reader, 3, &size), "a\0b", 3);
    assert_int_equal(size, 3);
    record_reader_close(reader);
    free(taken.bytes);
}

/* The same items, with patterns by their numbers. */
static void repeats_patterns(void **state)
{
    int file = test_record_file();
    struct record *record = record_create(base_services_libc(), file, NULL);
    struct record_call_group group[2] = {{.field = 7, .type = 300}, {.field = 8, .type = 2}};
    const struct record_call call = {.depth = 4, .name = 5};
    struct record_pattern *pattern = record_pattern(
        record, RECORD_KIND_call, (const uint64_t *)&call, (const uint64_t *)group, 2);
    struct record_reader *reader;
    struct record_reader_item item;
    struct record_bytes_of taken;
    char error[256];

    (void)state;
    for (uint64_t i = 0; i < 3; i++) {
        const uint64_t values[] = {2 * i, 8, 9, i, ~i}; /* sequence, object and status first */

        record_item_patterned(record, i, pattern, values);
        group[0].value = i;
        group[1].value = ~i;
        RECORD_ITEM_WITH(record, call, i, group, 2, .sequence = 2 * i + 1, .depth = 4, .name = 5,
                         .object = 8, .status = 9);
    }
    assert_true(record_close(record, error));
    taken = test_record_take(file);
    reader = record_reader_open_bytes(base_services_libc(), "x", taken.bytes, taken.size, error);
    for (uint64_t i = 0; i < 6; i++) {
        assert_true(record_reader_next(reader, &item));
        assert_int_equal(RECORD_FIELDS(call, &item)->sequence, i);
        assert_int_equal(RECORD_FIELDS(call, &item)->depth, 4);
        assert_int_equal(RECORD_FIELDS(call, &item)->name, 5);
        assert_int_equal(RECORD_FIELDS(call, &item)->object, 8);
        assert_int_equal(RECORD_FIELDS(call, &item)->status, 9);
        assert_int_equal(item.group_count, 2);
        assert_int_equal(RECORD_GROUP(call, &item, 0)->field, 7);
        assert_int_equal(RECORD_GROUP(call, &item, 0)->type, 300);
        assert_int_equal(RECORD_GROUP(call, &item, 0)->value, i / 2);
        assert_int_equal(RECORD_GROUP(call, &item, 1)->field, 8);
        assert_true(RECORD_GROUP(call, &item, 1)->value == ~(i / 2));
    }
    assert_false(record_reader_next(reader, &item));
    assert_int_equal(record_reader_text_count(reader), 1);
    record_reader_close(reader);
    free(taken.bytes);
}

/* An item and a text that are larger than a block. */
static void holds_large_items(void **state)
{
    int file = test_record_file();
    struct record *record = record_create(base_services_libc(), file, NULL);
    size_t count = count_fields(RECORD_KIND_call, false) + 3 * 100000;
    uint64_t *values = calloc(count, sizeof *values);
    char *text = malloc(LONG_TEXT + 1), error[256];
    struct record_reader *reader;
    struct record_reader_item item;
    struct record_bytes_of taken;

    (void)state;
    memset(text, 'x', LONG_TEXT);
    text[LONG_TEXT] = '\0';
    for (size_t i = 0; i < count; i++)
        values[i] = hash_u64(i);
    assert_int_equal(record_text(record, text), 1);
    put_item(record, RECORD_KIND_call, 1, values, count);
    RECORD_ITEM(record, print, 2, .text = 1);
    assert_true(record_close(record, error));
    taken = test_record_take(file);
    reader = record_reader_open_bytes(base_services_libc(), "x", taken.bytes, taken.size, error);
    assert_true(record_reader_next(reader, &item));
    assert_int_equal(item.group_count, 100000);
    assert_memory_equal(item.groups, values + count - 300000, 300000 * sizeof *values);
    assert_true(record_reader_next(reader, &item));
    assert_string_equal(record_reader_text(reader, 1), text);
    assert_false(record_reader_next(reader, &item));
    assert_int_equal(record_reader_state(reader), RECORD_WHOLE);
    record_reader_close(reader);
    free(taken.bytes);
    free(values);
    free(text);
}

/* Each size of the header, then in steps that become smaller towards the end. */
static size_t step_of(size_t size, size_t whole)
{
    size_t step = size < 300 ? 1 : 4093;

    return step < (whole - size) / 2 ? step : (whole - size) / 2 + 1;
}

/* A file that is cut anywhere gives a beginning of what was written, and says that it was cut. */
static void reads_a_cut_file(void **state)
{
    struct record_bytes_of taken = write_items(12000, NULL);
    char error[256];
    uint64_t before = 0;

    (void)state;
    for (size_t size = 0; size < taken.size; size += step_of(size, taken.size)) {
        struct record_reader *reader = record_reader_open_bytes(
            base_services_libc(), "run/record.ddr", taken.bytes, size, error);

        if (!reader) {
            assert_true(size < RECORD_HEADER_BYTES);
            assert_non_null(strstr(error, "run/record.ddr: "));
            continue;
        }
        assert_true(read_items(reader) >= before);
        before = record_reader_item_count(reader);
        assert_int_equal(record_reader_state(reader), RECORD_CUT);
        assert_non_null(strstr(record_reader_error(reader), "the record is cut"));
        record_reader_close(reader);
    }
    assert_int_equal(before, 12000); /* only the end was missing */
    free(taken.bytes);
}

/*
 * Whatever byte is changed, the items before are right and the change is told. A frame of zstd has
 * one bit that nobody reads.
 */
static void tells_damage(void **state)
{
    struct record_bytes_of taken = write_items(3000, NULL);
    char error[256];
    unsigned unread = 0;

    (void)state;
    for (size_t at = 0; at < taken.size; at += at < 400 || taken.size - at < 100 ? 1 : 61) {
        const uint8_t old = taken.bytes[at];
        struct record_reader *reader;

        taken.bytes[at] ^= (uint8_t)(1u << (at % 8));
        reader =
            record_reader_open_bytes(base_services_libc(), "x", taken.bytes, taken.size, error);
        if (reader) {
            if (read_items(reader) == 3000 && record_reader_state(reader) == RECORD_WHOLE) {
                unread++;
            } else {
                assert_int_equal(record_reader_state(reader), RECORD_DAMAGED);
                assert_non_null(strstr(record_reader_error(reader), "damaged"));
            }
            record_reader_close(reader);
        } else {
            assert_true(at < RECORD_HEADER_BYTES);
            assert_true(strlen(error) > 5);
        }
        taken.bytes[at] = old;
    }
    assert_true(unread <= 8); /* there are some frames */
    free(taken.bytes);
}

static void tells_another_version(void **state)
{
    static struct test_blocks blocks;
    char error[256];

    (void)state;
    test_blocks_begin(&blocks, RECORD_MAJOR + 1);
    test_blocks_end(&blocks, 0, 0, 0, 0);
    assert_null(record_reader_open_bytes(base_services_libc(), "old/record.ddr", blocks.file,
                                         blocks.file_size, error));
    assert_string_equal(error, "old/record.ddr: the record is of version 4.0; this drydock reads "
                               "version 3");
    assert_null(record_reader_open_bytes(base_services_libc(), "x", "drydock events", 14, error));
    assert_string_equal(error, "x: this is no record of drydock");
    assert_null(record_reader_open(base_services_libc(), "/nowhere/record.ddr", error));
    assert_string_equal(error, "/nowhere/record.ddr: cannot read: No such file or directory");
    assert_null(record_reader_open(base_services_libc(), "/", error));
    assert_string_equal(error, "/: this is no file");
}

/* Kinds and fields of a later drydock are left out; what it no longer writes is 0. */
static void matches_names(void **state)
{
    static struct test_blocks blocks;
    struct record_reader *reader;
    struct record_reader_item item;
    char error[256];

    (void)state;
    test_blocks_begin(&blocks, RECORD_MAJOR);
    test_blocks_kind(&blocks, "thing_of_later", "a:n b:u | c:t ");
    test_blocks_kind(&blocks, "placed", "colour:t bytes:u allocation:u");
    test_blocks_kind(&blocks, "call", "name:t | value:u length:u ");
    for (unsigned i = 0; i < 2; i++) {
        const uint8_t later[] = {8, 3, 1, 2, 1, 4};
        /* The mask of the fields that change: all of the first item, the allocation of the next. */
        const uint8_t placed[2][7] = {{11, 20, 7, 18, 0x9a, 1, 10}, {11, 20, 4, 10}};
        const uint8_t call[] = {12, 0, 2, 50, 51, 60, 61};

        memcpy(blocks.raw + blocks.raw_size, later, sizeof later);
        blocks.raw_size += sizeof later;
        memcpy(blocks.raw + blocks.raw_size, placed[i], i ? 4 : 7);
        blocks.raw_size += i ? 4 : 7;
        memcpy(blocks.raw + blocks.raw_size, call, sizeof call);
        blocks.raw_size += sizeof call;
    }
    test_blocks_pack(&blocks, RECORD_TAG_ITEMS, 0);
    test_blocks_end(&blocks, 6, 0, 3, 20);
    reader =
        record_reader_open_bytes(base_services_libc(), "x", blocks.file, blocks.file_size, error);
    assert_non_null(reader);
    for (unsigned i = 0; i < 2; i++) {
        assert_true(record_reader_next(reader, &item));
        assert_int_equal(item.kind, RECORD_KIND_placed);
        assert_int_equal(item.time_ns, 10 * (i + 1));
        assert_int_equal(RECORD_FIELDS(placed, &item)->allocation, 5 * (i + 1));
        assert_int_equal(RECORD_FIELDS(placed, &item)->bytes, 77);
        assert_int_equal(RECORD_FIELDS(placed, &item)->segment, 0);
        assert_true(record_reader_next(reader, &item));
        assert_int_equal(item.kind, RECORD_KIND_call);
        assert_int_equal(item.group_count, 2);
        assert_int_equal(RECORD_GROUP(call, &item, 1)->value, 60);
        assert_int_equal(RECORD_GROUP(call, &item, 1)->field, 0);
    }
    assert_false(record_reader_next(reader, &item));
    assert_int_equal(record_reader_state(reader), RECORD_WHOLE);
    assert_int_equal(record_reader_unknown_count(reader), 2);
    record_reader_close(reader);
}

static void assert_damaged(const struct test_blocks *blocks, const char *what)
{
    char error[256];
    struct record_reader_item item;
    struct record_reader *reader =
        record_reader_open_bytes(base_services_libc(), "x", blocks->file, blocks->file_size, error);

    assert_non_null(reader);
    while (record_reader_next(reader, &item))
        ;
    assert_int_equal(record_reader_state(reader), RECORD_DAMAGED);
    assert_non_null(strstr(record_reader_error(reader), what));
    record_reader_close(reader);
}

/* A kind whose one field is in the pattern, and a text. */
static void begin_patterns(struct test_blocks *blocks, const char *text)
{
    test_blocks_begin(blocks, RECORD_MAJOR);
    test_blocks_kind(blocks, "call", "| field:p ");
    test_blocks_varint(blocks, RECORD_CODE_TEXT);
    test_blocks_bytes(blocks, text);
}

static void put_pattern(struct test_blocks *blocks, uint64_t code, uint64_t kind, uint64_t groups,
                        uint64_t text)
{
    test_blocks_varint(blocks, RECORD_CODE_PATTERN);
    test_blocks_varint(blocks, code);
    test_blocks_varint(blocks, kind);
    test_blocks_varint(blocks, groups);
    test_blocks_varint(blocks, text);
}

static void refuses_hostile_counts(void **state)
{
    static struct test_blocks blocks;
    const uint64_t huge[] = {UINT64_MAX, UINT64_C(1) << 63, UINT32_MAX, 1 << 21};

    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(huge); i++) {
        test_blocks_begin(&blocks, RECORD_MAJOR);
        test_blocks_varint(&blocks, RECORD_CODE_TEXT);
        test_blocks_varint(&blocks, huge[i]);
        test_blocks_pack(&blocks, RECORD_TAG_ITEMS, 0);
        assert_damaged(&blocks, "a text is longer than its block");

        test_blocks_begin(&blocks, RECORD_MAJOR);
        test_blocks_kind(&blocks, "call", "| value:u");
        test_blocks_varint(&blocks, RECORD_CODE_FIRST);
        test_blocks_varint(&blocks, huge[i]);
        test_blocks_pack(&blocks, RECORD_TAG_ITEMS, 0);
        assert_damaged(&blocks, "an item is longer than its block");

        test_blocks_begin(&blocks, RECORD_MAJOR);
        begin_patterns(&blocks, "ab");
        put_pattern(&blocks, RECORD_CODE_FIRST + 2, RECORD_CODE_FIRST, huge[i], 1);
        test_blocks_pack(&blocks, RECORD_TAG_ITEMS, 0);
        assert_damaged(&blocks, "a pattern is no pattern of its kind");

        begin_patterns(&blocks, "ab");
        put_pattern(&blocks, huge[i] & ~UINT64_C(1), RECORD_CODE_FIRST, 1, 1);
        test_blocks_pack(&blocks, RECORD_TAG_ITEMS, 0);
        assert_damaged(&blocks, "an item has a kind that no kind is");

        test_blocks_begin(&blocks, RECORD_MAJOR);
        test_blocks_varint(&blocks, huge[i]);
        test_blocks_pack(&blocks, RECORD_TAG_ITEMS, 0);
        assert_damaged(&blocks, "an item has a kind that no kind is");

        test_blocks_begin(&blocks, RECORD_MAJOR);
        test_blocks_end(&blocks, huge[i], 0, 0, 0);
        assert_damaged(&blocks, "the end counts other items");

        test_blocks_begin(&blocks, RECORD_MAJOR);
        test_blocks_kind(&blocks, "placed", "bytes:u ");
        test_blocks_varint(&blocks, RECORD_CODE_FIRST);
        test_blocks_varint(&blocks, 2u << i); /* the mask has a bit behind the only field */
        test_blocks_pack(&blocks, RECORD_TAG_ITEMS, 0);
        assert_damaged(&blocks, "an item has more fields than its kind");
    }
    test_blocks_begin(&blocks, RECORD_MAJOR);
    test_blocks_kind(&blocks, "call", "name:? ");
    test_blocks_pack(&blocks, RECORD_TAG_ITEMS, 0);
    assert_damaged(&blocks, "fields of no known form");
    test_blocks_begin(&blocks, RECORD_MAJOR);
    test_blocks_kind(&blocks, "call", "name");
    test_blocks_pack(&blocks, RECORD_TAG_ITEMS, 0);
    assert_damaged(&blocks, "fields of no known form");
    for (unsigned bytes = 1; bytes < 10; bytes++) {
        test_blocks_begin(&blocks, RECORD_MAJOR);
        memset(blocks.raw, 0xff, bytes);
        blocks.raw_size = bytes;
        test_blocks_pack(&blocks, RECORD_TAG_ITEMS, 0);
        assert_damaged(&blocks, "a number has no end");
    }
}

static void refuses_patterns_that_are_none(void **state)
{
    static struct test_blocks blocks;

    (void)state;
    begin_patterns(&blocks, "\xff\xff"); /* a number that has no end */
    put_pattern(&blocks, RECORD_CODE_FIRST + 2, RECORD_CODE_FIRST, 1, 1);
    test_blocks_varint(&blocks, RECORD_CODE_FIRST + 2);
    test_blocks_pack(&blocks, RECORD_TAG_ITEMS, 0);
    assert_damaged(&blocks, "an item is longer than its pattern");

    begin_patterns(&blocks, "ab");
    test_blocks_varint(&blocks, RECORD_CODE_FIRST);
    test_blocks_pack(&blocks, RECORD_TAG_ITEMS, 0);
    assert_damaged(&blocks, "an item has no pattern");

    begin_patterns(&blocks, "ab");
    put_pattern(&blocks, RECORD_CODE_FIRST, RECORD_CODE_FIRST, 1, 1);
    test_blocks_pack(&blocks, RECORD_TAG_ITEMS, 0);
    assert_damaged(&blocks, "a pattern has the code of a kind");

    begin_patterns(&blocks, "ab");
    put_pattern(&blocks, RECORD_CODE_FIRST + 2, RECORD_CODE_FIRST, 1, 2); /* no such text */
    test_blocks_pack(&blocks, RECORD_TAG_ITEMS, 0);
    assert_damaged(&blocks, "a pattern is no pattern of its kind");
}

/* A code may stand for another pattern later: values are compared with none of the former. */
static void takes_a_code_again(void **state)
{
    static struct test_blocks blocks;
    struct record_reader *reader;
    struct record_reader_item item;
    char error[256];

    (void)state;
    test_blocks_begin(&blocks, RECORD_MAJOR);
    test_blocks_kind(&blocks, "call", "object:u | field:p ");
    test_blocks_varint(&blocks, RECORD_CODE_TEXT);
    test_blocks_bytes(&blocks, "ab");
    for (unsigned i = 1; i < 3; i++) {
        put_pattern(&blocks, RECORD_CODE_FIRST + 2, RECORD_CODE_FIRST, i, 1);
        test_blocks_varint(&blocks, RECORD_CODE_FIRST + 2);
        test_blocks_varint(&blocks, 1);
        test_blocks_varint(&blocks, 14);
    }
    test_blocks_pack(&blocks, RECORD_TAG_ITEMS, 0);
    test_blocks_end(&blocks, 2, 1, 2, 0);
    reader =
        record_reader_open_bytes(base_services_libc(), "x", blocks.file, blocks.file_size, error);
    for (unsigned i = 1; i < 3; i++) {
        assert_true(record_reader_next(reader, &item));
        assert_int_equal(RECORD_FIELDS(call, &item)->object, 7);
        assert_int_equal(item.group_count, i);
        assert_int_equal(RECORD_GROUP(call, &item, i - 1)->field, 'a' + i - 1);
    }
    assert_false(record_reader_next(reader, &item));
    assert_int_equal(record_reader_state(reader), RECORD_WHOLE);
    record_reader_close(reader);
}

/* More patterns than are remembered. */
static void writes_many_patterns(void **state)
{
    int file = test_record_file();
    struct record *record = record_create(base_services_libc(), file, NULL);
    struct record_reader *reader;
    struct record_reader_item item;
    struct record_bytes_of taken;
    char error[256];

    (void)state;
    for (uint64_t i = 0; i < RECORD_PATTERNS + 300; i++)
        RECORD_ITEM(record, call, i, .sequence = 3 * i, .name = i, .object = 7, .status = i);
    assert_true(record_close(record, error));
    taken = test_record_take(file);
    reader = record_reader_open_bytes(base_services_libc(), "x", taken.bytes, taken.size, error);
    for (uint64_t i = 0; i < RECORD_PATTERNS + 300; i++) {
        assert_true(record_reader_next(reader, &item));
        assert_int_equal(RECORD_FIELDS(call, &item)->sequence, 3 * i);
        assert_int_equal(RECORD_FIELDS(call, &item)->name, i);
        assert_int_equal(RECORD_FIELDS(call, &item)->object, 7);
        assert_int_equal(RECORD_FIELDS(call, &item)->status, i);
    }
    assert_false(record_reader_next(reader, &item));
    assert_int_equal(record_reader_state(reader), RECORD_WHOLE);
    record_reader_close(reader);
    free(taken.bytes);
}

/* A frame that unpacks to more, or to less, than its header says; a header that asks for much. */
static void refuses_bombs(void **state)
{
    static struct test_blocks blocks;
    const uint32_t sizes[] = {1, sizeof blocks.raw - 1, sizeof blocks.raw + 1, RECORD_BLOCK_MOST};

    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
        test_blocks_begin(&blocks, RECORD_MAJOR);
        blocks.raw_size = sizeof blocks.raw;
        test_blocks_pack(&blocks, RECORD_TAG_ITEMS, sizes[i]);
        assert_true(blocks.file_size < 200);
        assert_damaged(&blocks, "a block does not unpack");
    }
    test_blocks_begin(&blocks, RECORD_MAJOR);
    blocks.raw_size = 9;
    test_blocks_pack(&blocks, RECORD_TAG_ITEMS, UINT32_MAX);
    assert_damaged(&blocks, "a size that no block has");
}

/* Kinds that may be cut are counted, those that are kept go on, and the end has the counts. */
static void tells_what_a_limit_cuts(void **state)
{
    const struct record_limits limits = {.file_bytes = 4000};
    int file = test_record_file();
    struct record *record = record_create(base_services_libc(), file, &limits);
    uint64_t cut_sizes = 0, placed = 0, steps = 0;
    char error[256];
    struct record_reader *reader;
    struct record_reader_item item;
    struct record_bytes_of taken;

    (void)state;
    for (uint64_t n = 0; n < 200000; n++) {
        RECORD_ITEM(record, placed, n, .allocation = hash_u64(n), .bytes = hash_u64(~n));
        if (n % 1000 == 0)
            RECORD_ITEM(record, step, n, .number = n / 1000, .name = record_text(record, "a step"));
    }
    assert_false(record_wants(record, RECORD_KIND_placed));
    assert_true(record_wants(record, RECORD_KIND_step));
    assert_true(record_close(record, error));
    taken = test_record_take(file);
    reader = record_reader_open_bytes(base_services_libc(), "x", taken.bytes, taken.size, error);
    while (record_reader_next(reader, &item)) {
        placed += item.kind == RECORD_KIND_placed;
        steps += item.kind == RECORD_KIND_step;
        if (item.kind == RECORD_KIND_cut) {
            assert_string_equal(record_reader_text(reader, RECORD_FIELDS(cut, &item)->what),
                                "placed");
            cut_sizes += RECORD_FIELDS(cut, &item)->count;
        }
    }
    assert_int_equal(record_reader_state(reader), RECORD_WHOLE);
    assert_int_equal(steps, 200);
    assert_true(placed > 1000);
    assert_int_equal(placed + cut_sizes, 200000 + 1); /* one was only asked for */
    record_reader_close(reader);
    free(taken.bytes);
}

/* A process that ends in the middle leaves what it had flushed. */
static void keeps_what_was_flushed(void **state)
{
    int file = test_record_file();
    struct record *record = record_create(base_services_libc(), file, NULL);
    struct record_reader *reader;
    struct record_reader_item item;
    struct record_bytes_of taken;
    char error[256];

    (void)state;
    RECORD_ITEM(record, dpc, 1, .number = 1);
    record_flush(record);
    RECORD_ITEM(record, dpc, 2, .number = 2);
    record_abandon(record);
    taken = test_record_take(file);
    reader = record_reader_open_bytes(base_services_libc(), "x", taken.bytes, taken.size, error);
    assert_true(record_reader_next(reader, &item));
    assert_int_equal(RECORD_FIELDS(dpc, &item)->number, 1);
    assert_false(record_reader_next(reader, &item));
    assert_int_equal(record_reader_state(reader), RECORD_CUT);
    record_reader_close(reader);
    free(taken.bytes);
}

/* Whoever goes on with a record writes behind its last item, be it whole or cut. */
static void goes_on_with_a_record(void **state)
{
    (void)state;
    for (unsigned is_cut = 0; is_cut < 2; is_cut++) {
        struct record_bytes_of taken = write_items(12000, NULL);
        struct record_reader *reader;
        struct record_reader_item item;
        struct record *record;
        int file = test_record_file();
        char error[256];
        uint64_t items;
        bool was_cut;

        assert_int_equal(write(file, taken.bytes, taken.size - 10 * is_cut),
                         taken.size - 10 * is_cut);
        free(taken.bytes);
        record = record_resume(base_services_libc(), file, NULL, &was_cut, error);
        assert_non_null(record);
        assert_int_equal(was_cut, is_cut);
        RECORD_ITEM(record, finding, 7, .number = 3, .json = record_text(record, "{}"));
        assert_true(record_close(record, error));
        taken = test_record_take(file);
        reader =
            record_reader_open_bytes(base_services_libc(), "x", taken.bytes, taken.size, error);
        for (items = 0; items < 12000; items++)
            assert_true(record_reader_next(reader, &item));
        assert_true(record_reader_next(reader, &item));
        assert_int_equal(item.kind, RECORD_KIND_finding);
        assert_int_equal(item.time_ns, 7);
        assert_int_equal(RECORD_FIELDS(finding, &item)->number, 3);
        assert_string_equal(record_reader_text(reader, RECORD_FIELDS(finding, &item)->json), "{}");
        assert_false(record_reader_next(reader, &item));
        assert_int_equal(record_reader_state(reader), RECORD_WHOLE);
        record_reader_close(reader);
        free(taken.bytes);
    }
}

static void tells_a_full_disk(void **state)
{
    int file = open("/dev/full", O_WRONLY | O_CLOEXEC);
    struct record *record = record_create(base_services_libc(), file, NULL);
    char error[256];

    (void)state;
    assert_true(file >= 0);
    RECORD_ITEM(record, dpc, 1, .number = 1);
    assert_false(record_close(record, error));
    assert_string_equal(error, "cannot write the record: No space left on device");
    close(file);
}

static void takes_everything_without_a_record(void **state)
{
    char error[256];

    (void)state;
    RECORD_ITEM(NULL, dpc, 1, .number = 1);
    assert_int_equal(record_text(NULL, "x"), 0);
    assert_int_equal(record_literal(NULL, "x"), 0);
    assert_false(record_wants(NULL, RECORD_KIND_dpc));
    record_flush(NULL);
    assert_true(record_close(NULL, error));
}

/* Each allocation fails once: nothing leaks, and what is read is a beginning. */
static void survives_without_memory(void **state)
{
    (void)state;
    for (unsigned nth = 1;; nth++) {
        struct failing_services memory;
        struct record *record;
        int file = test_record_file();
        char error[256], text[64];

        failing_services_init(&memory);
        failing_services_fail_at(&memory, nth);
        record = record_create(&memory.services, file, NULL);
        for (unsigned n = 0; record && n < 4000; n++) {
            snprintf(text, sizeof text, "%u", n);
            RECORD_ITEM(record, print, n, .text = record_text(record, text));
        }
        if (!record || !record_close(record, error))
            assert_true(memory.has_failed);
        close(file);
        assert_int_equal(memory.live_bytes, 0);
        if (!memory.has_failed)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_was_written),
        cmocka_unit_test(names_fields),
        cmocka_unit_test(repeats_patterns),
        cmocka_unit_test(holds_large_items),
        cmocka_unit_test(reads_a_cut_file),
        cmocka_unit_test(tells_damage),
        cmocka_unit_test(tells_another_version),
        cmocka_unit_test(matches_names),
        cmocka_unit_test(refuses_hostile_counts),
        cmocka_unit_test(refuses_patterns_that_are_none),
        cmocka_unit_test(takes_a_code_again),
        cmocka_unit_test(writes_many_patterns),
        cmocka_unit_test(refuses_bombs),
        cmocka_unit_test(tells_what_a_limit_cuts),
        cmocka_unit_test(keeps_what_was_flushed),
        cmocka_unit_test(goes_on_with_a_record),
        cmocka_unit_test(tells_a_full_disk),
        cmocka_unit_test(takes_everything_without_a_record),
        cmocka_unit_test(survives_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
