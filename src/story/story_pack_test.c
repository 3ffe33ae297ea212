#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/failing_services.h"
#include "base/rng.h"
#include "story/story.h"
#include "story/test_synthetic.h"
#include "story/test_unpack.h"

#include <stdio.h>
#include <string.h>

static const struct story_pack_limits no_limit = {0};

static struct unpacked *packed(struct story *story, const struct story_pack_limits *limits,
                               size_t *out_size)
{
    struct unpacked *unpacked;
    unsigned char *bytes;
    char error[512];

    assert_true(story_pack(story, limits, &bytes, out_size, error));
    unpacked = unpack(bytes, *out_size);
    assert_non_null(unpacked);
    story_pack_free(story, bytes, *out_size);
    return unpacked;
}

/* The value of a story as the packed form has it, but for texts. */
static uint64_t expected(const struct story *story, enum story_column column, size_t row)
{
    return story_get(story, column, row) + (story_columns[column].type == STORY_TYPE_TIME);
}

static void every_value_comes_back(void **state)
{
    struct story *story = synthetic_story(base_services_libc(), 1000);
    struct unpacked *unpacked;
    size_t size;

    unpacked = packed(story, &no_limit, &size);
    for (unsigned i = 0; i < STORY_COLUMN_COUNT; i++) {
        const struct story_column_shape *column = &story_columns[i];
        const char *table = story_tables[column->table].name;

        assert_int_equal(unpacked_rows(unpacked, table), story_rows(story, column->table));
        for (size_t row = 0; row < story_rows(story, column->table); row += 7) {
            if (column->type != STORY_TYPE_TEXT)
                assert_int_equal(unpacked_value(unpacked, table, column->name, row),
                                 expected(story, (enum story_column)i, row));
            else if (i != STORY_MARKS_TEXT) /* one is not UTF-8 */
                assert_string_equal(
                    unpacked_text(unpacked, table, column->name, row),
                    story_text_of(story, story_get(story, (enum story_column)i, row)));
        }
    }
    unpacked_free(unpacked);
    story_destroy(story);
}

static void values_of_all_sizes_come_back(void **state)
{
    static const uint64_t edges[] = {0,
                                     1,
                                     0x7f,
                                     0x80,
                                     UINT64_C(1) << 32,
                                     (UINT64_C(1) << 51) - 1,
                                     UINT64_C(1) << 53,
                                     UINT64_MAX - 1,
                                     UINT64_MAX};
    struct rng rng;

    rng_init(&rng, 1);
    for (unsigned largest = 1; largest <= sizeof edges / sizeof edges[0]; largest++) {
        struct story *story = story_create(base_services_libc());
        struct unpacked *unpacked;
        size_t size;

        for (unsigned i = 0; i < 64; i++)
            story_add_row(story, STORY_MAPPINGS,
                          (uint64_t[]){0, 0, edges[rng_below(&rng, largest)],
                                       edges[rng_below(&rng, largest)], 5, i * 100, STORY_NEVER});
        unpacked = packed(story, &no_limit, &size);
        for (unsigned i = STORY_FIRST_MAPPINGS; i <= STORY_MAPPINGS_TO; i++) {
            for (size_t row = 0; row < 64; row++)
                assert_int_equal(unpacked_value(unpacked, "mappings", story_columns[i].name, row),
                                 expected(story, (enum story_column)i, row));
        }
        assert_int_equal(unpacked_encoding(unpacked, "mappings", "offset"), 'c');
        assert_int_equal(unpacked_encoding(unpacked, "mappings", "from"), 'd');
        unpacked_free(unpacked);
        story_destroy(story);
    }
}

static void bytes_that_are_no_utf8_are_replaced(void **state)
{
    static const struct {
        const char *text, *packed;
    } cases[] = {
        {"plain", "plain"},
        {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"a\xff", "a\xef\xbf\xbd"},                               /* no lead */
        {"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* too long a form */
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* a surrogate */
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* too large */
        {"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},                                 /* cut off */
    };

    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct story *story = story_create(base_services_libc());
        struct unpacked *unpacked;
        size_t size;

        story_fact(story, "key", "%s", cases[i].text);
        unpacked = packed(story, &no_limit, &size);
        assert_string_equal(unpacked_text(unpacked, "facts", "value", 0), cases[i].packed);
        unpacked_free(unpacked);
        story_destroy(story);
    }
}

/* A million events fit, and what was left out is told. */
static void a_large_story_fits_and_says_what_is_missing(void **state)
{
    const struct story_pack_limits limits = {.base64_bytes = 100 * 1000};
    struct story *story = synthetic_story(base_services_libc(), 30000);
    size_t calls = story_rows(story, STORY_CALLS), size, found = 0;
    struct unpacked *unpacked = packed(story, &limits, &size);
    char text[96];

    assert_true(story_base64_size(size) <= limits.base64_bytes);
    assert_int_equal(unpacked_rows(unpacked, "places"), story_rows(story, STORY_PLACES));
    assert_int_equal(unpacked_rows(unpacked, "arguments"), 5 * 401);
    assert_int_equal(unpacked_rows(unpacked, "calls"), 401);
    snprintf(text, sizeof text, "%zu,%03zu calls", (calls - 401) / 1000, (calls - 401) % 1000);
    for (size_t i = 0; i < unpacked_rows(unpacked, "facts"); i++) {
        if (strcmp(unpacked_text(unpacked, "facts", "key", i), "left_out") == 0 &&
            strcmp(unpacked_text(unpacked, "facts", "value", i), text) == 0)
            found++;
    }
    assert_int_equal(found, 1);
    unpacked_free(unpacked);
    story_destroy(story);
}

/* Rows that refer to rows that stay find them under their new numbers. */
static void what_stays_refers_to_what_stays(void **state)
{
    const struct story_pack_limits limits = {.base64_bytes = 100 * 1000};
    struct story *story = synthetic_story(base_services_libc(), 30000);
    size_t size, call = (size_t)story_get(story, STORY_FINDINGS_CALL, 0) - 1;
    struct unpacked *unpacked = packed(story, &limits, &size);
    uint64_t kept = unpacked_value(unpacked, "findings", "call", 0);

    assert_int_equal(unpacked_value(unpacked, "calls", "sequence", (size_t)kept - 1),
                     story_get(story, STORY_CALLS_SEQUENCE, call));
    for (size_t i = 0; i < unpacked_rows(unpacked, "arguments"); i += 37)
        assert_int_equal(unpacked_value(unpacked, "arguments", "call", i), i / 5 + 1);
    unpacked_free(unpacked);
    story_destroy(story);
}

/* Where hardly anything has room, each kind of detail goes, and is told. */
static void each_kind_of_detail_can_be_left_out(void **state)
{
    static const char *const kinds[] = {"arguments of calls",     "calls",
                                        "interrupts, DPCs",       "references of submissions",
                                        "arrows from interrupts", "waits for fences",
                                        "paging operations"};
    const struct story_pack_limits limits = {.base64_bytes = 6 * 1000};
    struct story *story = synthetic_story(base_services_libc(), 20000);
    size_t size;
    struct unpacked *unpacked = packed(story, &limits, &size);

    for (unsigned kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        unsigned told = 0;

        for (size_t i = 0; i < story_rows(story, STORY_FACTS); i++)
            told += strstr(story_text_of(story, story_get(story, STORY_FACTS_VALUE, i)),
                           kinds[kind]) != NULL;
        if (!told)
            fail_msg("nobody says that %s were left out", kinds[kind]);
    }
    assert_int_equal(unpacked_rows(unpacked, "fence_waits"), 0);
    unpacked_free(unpacked);
    story_destroy(story);
}

/* The value of an argument of type "text" is a text, whose place the packed form has. */
static void arguments_may_be_texts(void **state)
{
    struct story *story = story_create(base_services_libc());
    uint64_t unused = story_text(story, "unused"), said = story_text(story, "said by the driver");
    struct unpacked *unpacked;
    size_t size;

    assert_int_equal(unused + 1, said);
    story_add_row(story, STORY_ARGUMENTS,
                  (uint64_t[]){0, story_text(story, "pText"), story_text(story, "text"), said, 0});
    story_add_row(story, STORY_ARGUMENTS,
                  (uint64_t[]){0, story_text(story, "hSize"), story_text(story, "hex"), said, 0});
    unpacked = packed(story, &no_limit, &size);
    assert_string_equal(
        unpacked_text_at(unpacked, unpacked_value(unpacked, "arguments", "value", 0)),
        "said by the driver");
    assert_int_equal(unpacked_value(unpacked, "arguments", "value", 1), said);
    unpacked_free(unpacked);
    story_destroy(story);
}

/* A reference to a row that is not there is packed as none. */
static void references_to_nothing_are_none(void **state)
{
    struct story *story = story_create(base_services_libc());
    struct unpacked *unpacked;
    size_t size;

    story_set(story, STORY_PACKETS_NODE, story_add(story, STORY_PACKETS), 17);
    story_set(story, STORY_PACKETS_KIND, 0, 99);
    unpacked = packed(story, &no_limit, &size);
    assert_int_equal(unpacked_value(unpacked, "packets", "node", 0), 0);
    assert_string_equal(unpacked_text(unpacked, "packets", "kind", 0), "");
    unpacked_free(unpacked);
    story_destroy(story);
}

static void every_nth_allocation_failure_is_told(void **state)
{
    const struct story_pack_limits limits = {.base64_bytes = 6 * 1000};
    struct failing_services memory;
    uint64_t n = 1;

    for (;; n += n / 16 + 1) {
        struct story *story;
        unsigned char *bytes = NULL;
        size_t size = 0;
        char error[512] = "";
        bool is_packed;

        failing_services_init(&memory);
        failing_services_fail_at(&memory, n);
        story = synthetic_story(&memory.services, 800);
        if (story) {
            is_packed = story_pack(story, &limits, &bytes, &size, error);
            if (story_failed(story))
                assert_true(memory.has_failed);
            assert_true(is_packed || (memory.has_failed && strstr(error, "no memory")));
            story_pack_free(story, bytes, size);
            story_destroy(story);
        }
        assert_int_equal(memory.live_blocks, 0);
        if (!memory.has_failed)
            break;
    }
    assert_true(n > 400);
}

static void base64_is_that_of_rfc_4648(void **state)
{
    static const struct {
        const char *bytes, *text;
    } cases[] = {{"", ""},
                 {"f", "Zg=="},
                 {"fo", "Zm8="},
                 {"foo", "Zm9v"},
                 {"foob", "Zm9vYg=="},
                 {"fooba", "Zm9vYmE="},
                 {"foobar", "Zm9vYmFy"},
                 {"\xff\xef\xbe", "/+++"}};
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t size = strlen(cases[i].bytes);
        char *text =
            story_base64(base_services_libc(), (const unsigned char *)cases[i].bytes, size);

        assert_string_equal(text, cases[i].text);
        assert_int_equal(strlen(text), story_base64_size(size));
        base_free(base_services_libc(), text, story_base64_size(size) + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_comes_back),
        cmocka_unit_test(values_of_all_sizes_come_back),
        cmocka_unit_test(bytes_that_are_no_utf8_are_replaced),
        cmocka_unit_test(a_large_story_fits_and_says_what_is_missing),
        cmocka_unit_test(what_stays_refers_to_what_stays),
        cmocka_unit_test(each_kind_of_detail_can_be_left_out),
        cmocka_unit_test(arguments_may_be_texts),
        cmocka_unit_test(references_to_nothing_are_none),
        cmocka_unit_test(every_nth_allocation_failure_is_told),
        cmocka_unit_test(base64_is_that_of_rfc_4648),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
