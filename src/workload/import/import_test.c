/*
 * Importers: small files made here, damaged ones, and the facts known about the real traces, which
 * lie beside the project and are looked for there; without them those tests are skipped.
 */
#include "workload/import/import.h"
#include "workload/import/import_formats.h"
#include "workload/build/builder_private.h"
#include "workload/summary.h"
#include "workload/translations.h"

#include "base/bits.h"
#include "base/failing_services.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zstd.h>

static void check_round_trip(const struct workload *workload)
{
    struct workload_error error;
    struct workload *again;
    char *text;
    size_t size;

    assert_true(workload_print(workload, &text, &size, &error));
    if (!workload_parse(text, size, "again", &again, &error))
        fail_msg("%s", error.text);
    assert_true(workload_equal(workload, again));
    workload_free(again);
    free(text);
}

static void assert_refused(const void *data, size_t size, const char *message)
{
    struct workload_error error = {""};
    struct workload *workload;

    assert_false(workload_import_memory(data, size, "t", NULL, &workload, NULL, &error));
    assert_null(workload);
    if (strncmp(error.text, message, strlen(message)) != 0)
        fail_msg("%s\n  instead of  %s", error.text, message);
    assert_non_null(strstr(error.text, "(expected"));
}

/* .trace ------------------------------------------------------------------------------------- */

static const char small_trace[] = "# drydock source trace\n"
                                  "A 0 1000 1 0 3\n"
                                  "A 1 2000 0 0 1\n"
                                  "A 2 3000 0 1 9\n"
                                  "S 0 500 2 0:r 1:w\n"
                                  "S 1 600 3 1:r 2:rw 0:r\n"
                                  "S 2 0 0\n";

static void a_trace_becomes_steps(void **state)
{
    const struct workload_import_options options = {.steps = 3};
    struct workload_import_report report;
    struct workload_error error;
    struct workload *w;
    struct workload_summary summary;
    uint32_t at;

    (void)state;
    if (!workload_import_memory(small_trace, sizeof small_trace - 1, "t", &options, &w, &report,
                                &error))
        fail_msg("%s", error.text);
    assert_int_equal(report.format, WORKLOAD_IMPORT_TRACE);
    assert_int_equal(report.tensor_count, 3);
    assert_int_equal(report.kernel_count, 3);
    assert_int_equal(workload_option_number(w, "local-memory", 0), 40 * GiB);
    workload_summarise(w, &summary);
    assert_int_equal(summary.step_count, 4);
    assert_int_equal(summary.duration_ns, 3 * 1100);
    assert_int_equal(w->allocation_count, 1 + 3 * 2);
    assert_int_equal(summary.op_counts[WORKLOAD_OP_FREE], 3 * 2);
    assert_int_equal(w->allocations[0].free_op, WORKLOAD_NONE);
    check_round_trip(w);

    /* In the first step: alloc t1, kernel 0, alloc t2, kernel 1, free t1, kernel 2, free t2. */
    at = w->allocations[1].alloc_op;
    assert_string_equal(workload_string(w, w->ops[at - 1].text), "step-1");
    assert_int_equal(w->ops[at + 1].kind, WORKLOAD_OP_SUBMIT);
    assert_int_equal(w->ops[at + 1].value, 500);
    assert_int_equal(w->allocations[2].alloc_op, at + 2);
    assert_int_equal(w->ops[at + 3].kind, WORKLOAD_OP_SUBMIT);
    assert_int_equal(w->allocations[1].free_op, at + 4);
    assert_int_equal(w->ops[at + 5].kind, WORKLOAD_OP_SUBMIT);
    assert_int_equal(w->allocations[2].free_op, at + 6);
    assert_int_equal(w->ops[at + 7].kind, WORKLOAD_OP_WAIT);
    workload_free(w);
}

static void a_case_is_imported_as_it_is(void **state)
{
    static const char text[] = "drydock-case 1\nalloc a size=1\n";
    struct workload_import_report report;
    struct workload_error error;
    struct workload *w;

    (void)state;
    assert_true(workload_import_memory(text, sizeof text - 1, "t", NULL, &w, &report, &error));
    assert_int_equal(report.format, WORKLOAD_IMPORT_CASE);
    assert_int_equal(w->op_count, 1);
    workload_free(w);
}

static void wrong_traces_are_refused_by_line(void **state)
{
    static const struct {
        const char *text, *message;
    } refused[] = {
        {"", "t: unknown kind of file (expected a .trace, an .rmv capture or a case)"},
        {"hello", "t: unknown kind of file (expected"},
        {"MINI\1\0\0\0", "t: an RMV capture of the format before RDF (expected"},
        {"A 0 1000 0 0\n", "t:1: death is '' (expected a number up to"},
        {"A x 1000 0 0 1\n", "t:1: the tensor's id is 'x' (expected a number up to 1048575)"},
        {"A 9999999 1000 0 0 1\n", "t:1: the tensor's id is '9999999' (expected"},
        {"A 0 99999999999999999999 0 0 1\n", "t:1: the tensor's size is '9999999999999999"},
        {"A 0 1 2 0 1\n", "t:1: global is '2' (expected a number up to 1)"},
        {"A 0 1 0 5 4\n", "t:1: tensor 0 has 1 bytes, birth 5 and death 4 (expected a size"},
        {"A 0 0 0 0 0\n", "t:1: tensor 0 has 0 bytes, birth 0 and death 0 (expected a size"},
        {"A 0 1 0 0 0\nA 0 1 0 0 0\n", "t:2: tensor 0 is described twice (expected once)"},
        {"A 0 1 0 0 0\n", "t: no kernels (expected S lines)"},
        {"S 1 0 0\n", "t:1: kernel 1 (expected kernel 0: they come in order)"},
        {"S 0 0 1\n", "t:1: kernel 0 has another number of references (expected 1)"},
        {"S 0 0 0 1:r\n", "t:1: kernel 0 has another number of references (expected 0)"},
        {"S 0 0 1 1:x\n", "t:1: '1:x' is no reference (expected ID:r, ID:w or ID:rw)"},
        {"S 0 0 1 1\n", "t:1: '1' is no reference (expected"},
        {"S 0 0 99999\n", "t:1: the number of references is '99999' (expected"},
        {"S 0 0 1 1:r\n", "t: kernel 0 uses tensor 1 (expected one with an A line)"},
        {"A 1 1 0 0 0\nS 0 0 0\nS 1 0 1 1:r\n",
         "t: kernel 1 uses tensor 1 (expected within its life, 0 to 0)"},
        {"A 1 1 0 3 4\nS 0 0 0\n", "t: tensor 1 is born at kernel 3 (expected one of the 1"},
        {"A 0 1 1 0 2\nS 0 0 1 0:w\n",
         "t: global tensor 0 lives to the end of kernel 2, but there are 1 kernels (expected"},
        {"A 1 1 0 0 0\nB\n", "t:2: 'B' begins no line of a trace (expected A or S)"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(refused); i++)
        assert_refused(refused[i].text, strlen(refused[i].text), refused[i].message);
}

static void too_many_steps_are_refused(void **state)
{
    const struct workload_import_options options = {.steps = 10001};
    struct workload_error error;
    struct workload *w;

    (void)state;
    assert_false(workload_import_memory(small_trace, sizeof small_trace - 1, "t", &options, &w,
                                        NULL, &error));
    assert_string_equal(error.text, "t: 10001 steps (expected at most 10000)");
}

/* .rmv --------------------------------------------------------------------------------------- */

/* A capture made here: bytes appended one token after the other. */
struct capture {
    unsigned char bytes[4096];
    size_t size;
};

static void put(struct capture *c, uint64_t value, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        c->bytes[c->size++] = (unsigned char)(value >> (8 * i));
}

/* Sets bits of a token that begins at byte token. */
static void set_bits(struct capture *c, size_t token, unsigned first, unsigned count,
                     uint64_t value)
{
    for (unsigned i = 0; i < count; i++) {
        if (value >> i & 1)
            c->bytes[token + (first + i) / 8] |= (unsigned char)(1 << (first + i) % 8);
    }
}

static size_t begin_token(struct capture *c, unsigned type, unsigned delta, unsigned bytes)
{
    size_t token = c->size;

    memset(c->bytes + token, 0, bytes);
    c->bytes[token] = (unsigned char)(type | delta << 4);
    c->size += bytes;
    return token;
}

static void put_update(struct capture *c, uint64_t va, uint64_t pa, uint64_t count, unsigned size,
                       bool is_unmap, uint32_t pid)
{
    size_t token = begin_token(c, 3, 1, 18);

    set_bits(c, token, 8, 36, va >> 12);
    set_bits(c, token, 44, 36, pa >> 12);
    set_bits(c, token, 80, 20, count);
    set_bits(c, token, 100, 3, size);
    set_bits(c, token, 103, 1, is_unmap);
    set_bits(c, token, 104, 32, pid);
    set_bits(c, token, 136, 2, 1);
}

static void put_chunk(struct capture *c, const char *name, uint64_t header, uint64_t header_bytes,
                      uint64_t data, uint64_t data_bytes, bool is_packed)
{
    char padded[16] = {0};

    memcpy(padded, name, strlen(name));
    memcpy(c->bytes + c->size, padded, 16);
    c->size += 16;
    put(c, is_packed, 4);
    put(c, 1, 4);
    put(c, header, 8);
    put(c, header_bytes, 8);
    put(c, data, 8);
    put(c, data_bytes, 8);
    put(c, 0, 8);
}

#define HEAP_BASE      (1 * MiB)
#define HEAP_VISIBLE   (16 * MiB)
#define HEAP_INVISIBLE (32 * MiB)

/*
 * Two streams: the kernel driver's page tables (time 64 and on), an application (time 32 and on).
 * The first one comes in three chunks, cut inside tokens; the second one may be compressed.
 */
static void make_capture(struct capture *c, bool is_packed)
{
    size_t heaps, kernel, kernel_end, app, app_end, headers, token;

    memset(c, 0, sizeof *c);
    c->size = 32;
    heaps = c->size;
    put(c, 0, 8), put(c, HEAP_BASE, 8), put(c, HEAP_VISIBLE, 8);
    put(c, 1, 8), put(c, HEAP_BASE + HEAP_VISIBLE, 8), put(c, HEAP_INVISIBLE, 8);
    put(c, 2, 8), put(c, 0, 8), put(c, GiB, 8);

    kernel = c->size;
    put(c, (uint64_t)2 << 4 | 0, 8), put(c, 10000000, 4);     /* timestamp 64 */
    put_update(c, 0x10000, 0x105000, 2, 1, false, 4);         /* visible */
    put_update(c, 0x20000, 0x1100000, 1, 2, false, 4);        /* invisible, 64 KiB */
    put_update(c, 0x30000, 0x10ff000, 2, 1, false, 4);        /* crosses heaps */
    put_update(c, 0x40000, 0, 3, 1, false, 4);                /* system, unknown pages */
    put_update(c, 0x50000, 0x80000000, 1, 1, false, 4);       /* system, known */
    put_update(c, 0x60000, 0, 1, 1, false, 4);                /* system, unknown */
    put_update(c, 0x10000, 0, 1, 1, true, 4);                 /* unmap */
    put_update(c, 0x70000, 0, 0, 1, true, 4);                 /* of no pages */
    put_update(c, 0x80000, 0xff000, 2, 1, false, 0x80000004); /* from system into a heap */
    kernel_end = c->size;

    app = c->size;
    put(c, (uint64_t)1 << 4 | 0, 8), put(c, 10000000, 4); /* timestamp 32 */
    token = begin_token(c, 12, 0, 12);                    /* virtual allocate, 4 pages */
    set_bits(c, token, 8, 24, 3);
    set_bits(c, token, 34, 48, 0x100000000);
    token = begin_token(c, 13, 0, 7 + 11); /* create a buffer */
    set_bits(c, token, 8, 32, 0x80000077);
    set_bits(c, token, 48, 6, 1);
    token = begin_token(c, 7, 0, 17); /* bind it */
    set_bits(c, token, 8, 48, 0x100000000);
    set_bits(c, token, 56, 44, 100);
    set_bits(c, token, 104, 32, 0x80000077);
    token = begin_token(c, 6, 0, 8); /* residency */
    set_bits(c, token, 9, 48, 0x100000000);
    token = begin_token(c, 4, 0, 4); /* a name, "tex" + id */
    set_bits(c, token, 12, 20, 7);
    memcpy(c->bytes + c->size, "t\x01x\x77\0\0\x80", 7);
    c->size += 7;
    token = begin_token(c, 14, 2, 3); /* time passes */
    set_bits(c, token, 8, 16, 100);
    token = begin_token(c, 11, 0, 7); /* virtual free */
    set_bits(c, token, 8, 48, 0x100000000);
    token = begin_token(c, 11, 0, 7); /* of something unknown */
    set_bits(c, token, 8, 48, 0x200000000);
    token = begin_token(c, 15, 0, 5); /* destroy */
    set_bits(c, token, 8, 32, 0x80000077);
    app_end = c->size;
    if (is_packed) {
        unsigned char packed[1024];
        size_t bytes = ZSTD_compress(packed, sizeof packed, c->bytes + app, app_end - app,
                                     ZSTD_CLEVEL_DEFAULT);

        assert_false(ZSTD_isError(bytes));
        memcpy(c->bytes + app, packed, bytes);
        app_end = c->size = app + bytes;
    }

    headers = c->size;
    put(c, 0, 4), put(c, 0, 4), put(c, kernel_end - kernel, 8), put(c, 0, 4), put(c, 0, 2);
    put(c, 1, 2);
    put(c, 9, 4), put(c, 0, 4), put(c, app_end - app, 8), put(c, 1, 4), put(c, 1, 2);
    put(c, 8, 2);

    token = c->size;
    put_chunk(c, "GpuMemSegment", heaps, 0, heaps, 72, false);
    put_chunk(c, "RmtData", headers, 24, kernel, 20, false);
    put_chunk(c, "RmtData", headers, 24, kernel + 20, 30, false);
    put_chunk(c, "RmtData", headers, 24, kernel + 50, kernel_end - kernel - 50, false);
    put_chunk(c, "RmtData", headers + 24, 24, app, app_end - app, is_packed);
    memcpy(c->bytes, "AMD_RDF \3\0\0\0\0\0\0\0", 16);
    for (unsigned i = 0; i < 8; i++)
        c->bytes[16 + i] = (unsigned char)(token >> (8 * i));
    c->bytes[24] = 5 * 64 & 0xff;
    c->bytes[25] = 5 * 64 >> 8;
}

static void a_capture_becomes_page_table_lines(void **state)
{
    static const char expected[] =
        "drydock-case 1\n"
        "name \"capture of an unnamed adapter\"\n"
        "option model gpummu\n"
        "option local-memory 16777216\n"
        "option local-invisible 33554432\n"
        "option system-memory 1073741824\n"
        "process pid9\n"
        "process pid4\n"
        "process pid2147483652\n"
        "device d0 process=pid9\n"
        "context c0 device=d0 node=0\n"
        "step \"capture\"\n"
        "vm-reserve pid9 va=0x100000000 size=16K\n"
        "note \"create 0x80000077 buffer\"\n"
        "label pid9 va=0x100000000 size=100 \"buffer 0x80000077\"\n"
        "note \"residency add 0x100000000 queue 0\"\n"
        "note \"name 0x80000077: t?x\"\n"
        "pte pid4 map va=0x10000 segment=local page=0x5 pages=2\n"
        "pte pid4 map va=0x20000 segment=local-invisible page=0x0 pages=16 page-size=64K\n"
        "pte pid4 map va=0x30000 segment=local page=0xfff pages=1\n"
        "pte pid4 map va=0x31000 segment=local-invisible page=0x0 pages=1\n"
        "pte pid4 map va=0x40000 segment=system page=0x80001 pages=3\n"
        "pte pid4 map va=0x50000 segment=system page=0x80000 pages=1\n"
        "pte pid4 map va=0x60000 segment=system page=0x80004 pages=1\n"
        "pte pid4 unmap va=0x10000 pages=1\n"
        "note \"page-table update of no pages at 0x70000\"\n"
        "pte pid2147483652 map va=0x80000 segment=system page=0xff pages=1\n"
        "pte pid2147483652 map va=0x81000 segment=local page=0x0 pages=1\n"
        "vm-release pid9 va=0x100000000 size=16K\n"
        "note \"free of a reservation at 0x200000000 from before the capture\"\n"
        "note \"destroy 0x80000077\"\n";
    struct workload_import_report report;
    struct workload_error error;
    struct capture capture;
    struct workload *w;
    char *text;
    size_t size;

    (void)state;
    make_capture(&capture, true);
    if (!workload_import_memory(capture.bytes, capture.size, "t", NULL, &w, &report, &error))
        fail_msg("%s", error.text);
    assert_true(workload_print(w, &text, &size, &error));
    assert_string_equal(text, expected);
    free(text);
    workload_free(w);

    make_capture(&capture, false);
    if (!workload_import_memory(capture.bytes, capture.size, "t", NULL, &w, &report, &error))
        fail_msg("%s", error.text);
    assert_true(workload_print(w, &text, &size, &error));
    assert_string_equal(text, expected);
    assert_int_equal(report.format, WORKLOAD_IMPORT_RMV);
    assert_int_equal(report.stream_count, 2);
    assert_int_equal(report.page_table_update_count, 9);
    assert_int_equal(report.virtual_allocation_count, 1);
    assert_int_equal(report.virtual_free_count, 2);
    assert_int_equal(report.resource_count, 1);
    assert_int_equal(report.process_count, 3);
    assert_int_equal(report.token_count, 10 + 10);
    check_round_trip(w);
    free(text);
    workload_free(w);
}

static void damaged_captures_are_refused_by_place(void **state)
{
    struct capture whole, c;
    size_t index;

    (void)state;
    make_capture(&whole, false);
    index = whole.size - 5 * 64;

    assert_refused(whole.bytes, 20, "t: the file has 20 bytes (expected 32 and more)");
    assert_refused(whole.bytes, whole.size - 1, "t: the index of 320 bytes at ");
    c = whole;
    c.bytes[24] = 1;
    assert_refused(c.bytes, c.size, "t: the index of 257 bytes at ");
    c = whole;
    memset(c.bytes + 16, 0xff, 8);
    assert_refused(c.bytes, c.size, "t: the index of 320 bytes at 18446744073709551615 is not");
    c = whole;
    memset(c.bytes + index + 40, 0xff, 8);
    assert_refused(c.bytes, c.size, "t: chunk 0 of the index leaves the file");
    c = whole;
    c.bytes[index + 16] = 9;
    assert_refused(c.bytes, c.size, "t: chunk 0 of the index leaves the file or has an unknown");
    c = whole;
    c.bytes[index + 48] = 71;
    assert_refused(c.bytes, c.size, "t: the heaps take 71 bytes (expected");
    c = whole;
    c.bytes[index] = 'X';
    assert_refused(c.bytes, c.size, "t: no heaps in the file (expected chunks GpuMemSegment)");
    c = whole;
    c.bytes[index + 64] = c.bytes[index + 128] = c.bytes[index + 192] = c.bytes[index + 256] = 'X';
    assert_refused(c.bytes, c.size, "t: no token streams in the file (expected chunks RmtData)");
    c = whole;
    c.bytes[index + 64 + 32] = 23;
    assert_refused(c.bytes, c.size, "t: the header of a stream takes 23 bytes (expected 24)");
    c = whole;
    c.bytes[32 + 8] = 1;
    assert_refused(c.bytes, c.size, "t: a heap of 16777216 bytes at 0x100001 (expected");
    c = whole; /* the stream ends inside its last token */
    c.bytes[index + 192 + 48]--;
    assert_refused(c.bytes, c.size,
                   "t: stream 0, byte 156: a token of type 3 that is unknown or cut off (expected");
    c = whole; /* a type that does not exist */
    c.bytes[32 + 72 + 12] = 2;
    assert_refused(c.bytes, c.size, "t: stream 0, byte 12: a token of type 2 that is unknown");
    c = whole; /* the first token is no timestamp */
    c.bytes[32 + 72] = 5;
    assert_refused(c.bytes, c.size,
                   "t: stream 0, byte 0: a token of type 5 (expected a timestamp at the");
    c = whole; /* page size 0 on a mapping */
    c.bytes[32 + 72 + 12 + 12] &= 0x8f;
    assert_refused(c.bytes, c.size,
                   "t: stream 0, byte 12: a mapping with an unknown page size (expected 4K,");
    c = whole; /* va near 2^48 */
    memset(c.bytes + 32 + 72 + 12 + 1, 0xff, 4);
    c.bytes[32 + 72 + 12 + 5] |= 0x0f;
    assert_refused(c.bytes, c.size,
                   "t: stream 0, byte 12: a page-table update that leaves the address space");
}

/* Whatever is cut off or changed: a workload or an error, and never more than that. */
static void damage_never_breaks_the_importers(void **state)
{
    struct capture capture;
    struct workload_error error;
    struct workload *w;
    struct rng rng;
    char text[sizeof small_trace];

    (void)state;
    make_capture(&capture, false);
    for (size_t cut = 0; cut < capture.size; cut++)
        assert_false(workload_import_memory(capture.bytes, cut, "t", NULL, &w, NULL, &error));
    rng_init(&rng, 3);
    for (unsigned i = 0; i < 5000; i++) {
        struct capture changed = capture;

        for (unsigned n = 0; n < 1 + i % 3; n++)
            changed.bytes[rng_below(&rng, changed.size)] = (unsigned char)rng_next(&rng);
        if (workload_import_memory(changed.bytes, changed.size, "t", NULL, &w, NULL, &error)) {
            check_round_trip(w);
            workload_free(w);
        }
    }
    for (unsigned i = 0; i < 5000; i++) {
        memcpy(text, small_trace, sizeof text);
        for (unsigned n = 0; n < 1 + i % 3; n++)
            text[rng_below(&rng, sizeof text - 1)] = (char)(0x20 + rng_below(&rng, 0x5f));
        if (workload_import_memory(text, sizeof text - 1, "t", NULL, &w, NULL, &error)) {
            check_round_trip(w);
            workload_free(w);
        }
    }
}

/* Imports with memory that fails at one point. True when it did not fail any more. */
static bool import_failing(const struct capture *capture, uint64_t fail_at)
{
    struct workload_import_report report = {0};
    struct failing_services memory;
    struct workload_builder *builder;
    struct workload_error error = {""};
    struct workload *w = NULL;

    failing_services_init(&memory);
    failing_services_fail_at(&memory, fail_at);
    builder = workload_builder_create_with(&memory.services, "t", &error);
    if (builder) {
        if (capture)
            workload_import_rmv(builder, capture->bytes, capture->size, &report);
        else
            workload_import_trace(builder, small_trace, sizeof small_trace - 1, 2, &report);
        assert_int_equal(workload_builder_finish(builder, &w, &error), !memory.has_failed);
    }
    if (memory.has_failed)
        assert_non_null(strstr(error.text, ": out of memory"));
    workload_free(w);
    assert_int_equal(memory.live_blocks, 0);
    return !memory.has_failed;
}

static void every_nth_allocation_failure_leaves_nothing_behind(void **state)
{
    struct capture capture;
    uint64_t n;

    (void)state;
    make_capture(&capture, false);
    for (n = 1; !import_failing(&capture, n); n++)
        ;
    assert_true(n > 15);
    for (n = 1; !import_failing(NULL, n); n++)
        ;
    assert_true(n > 15);
}

/* The real traces ---------------------------------------------------------------------------- */

/* Imports a shared trace, or skips the test. */
static struct workload *import_shared(const char *name, struct workload_import_report *report)
{
    struct workload_error error;
    struct workload *workload;
    char path[512];
    FILE *file;

    snprintf(path, sizeof path, "%s/../shared/traces/%s", DRYDOCK_SOURCE_DIR, name);
    file = fopen(path, "rb");
    if (!file) {
        print_message("skipped: no %s beside the project\n", name);
        skip();
    }
    fclose(file);
    if (!workload_import(path, NULL, &workload, report, &error))
        fail_msg("%s", error.text);
    return workload;
}

/*
 * The plainest pager: whole allocations, least recently used goes first, told of frees. Sums what
 * each step brings back in.
 */
struct lru {
    uint64_t capacity, used, moved_in;
    uint64_t *last_use; /* 0: not resident */
    bool *is_out;       /* its content is in system memory */
    uint64_t clock;
};

static void lru_touch(struct lru *lru, const struct workload *w, uint32_t id, uint64_t pinned_from)
{
    uint64_t size = w->allocations[id].size;

    if (!lru->last_use[id]) {
        while (lru->used + size > lru->capacity) {
            uint32_t victim = WORKLOAD_NONE;

            for (uint32_t i = 0; i < w->allocation_count; i++) {
                if (lru->last_use[i] && lru->last_use[i] < pinned_from &&
                    (victim == WORKLOAD_NONE || lru->last_use[i] < lru->last_use[victim]))
                    victim = i;
            }
            assert_int_not_equal(victim, WORKLOAD_NONE);
            lru->last_use[victim] = 0;
            lru->is_out[victim] = true;
            lru->used -= w->allocations[victim].size;
        }
        lru->used += size;
        if (lru->is_out[id])
            lru->moved_in += size;
        lru->is_out[id] = false;
    }
    lru->last_use[id] = ++lru->clock;
}

/* GiB moved in during the last step. */
static double lru_last_step(const struct workload *w)
{
    struct lru lru = {.capacity = workload_option_number(w, "local-memory", 0)};
    double result;

    lru.last_use = calloc(w->allocation_count, sizeof *lru.last_use);
    lru.is_out = calloc(w->allocation_count, sizeof *lru.is_out);
    assert_true(lru.last_use && lru.is_out);
    for (uint32_t i = 0; i < w->op_count; i++) {
        const struct workload_op *op = &w->ops[i];

        if (op->kind == WORKLOAD_OP_STEP)
            lru.moved_in = 0;
        if (op->kind == WORKLOAD_OP_FREE) {
            if (lru.last_use[op->object])
                lru.used -= w->allocations[op->object].size;
            lru.last_use[op->object] = 0;
        }
        if (op->kind == WORKLOAD_OP_SUBMIT) {
            uint64_t pinned_from = lru.clock + 1;

            for (uint32_t r = 0; r < op->ref_count; r++) {
                uint32_t id = w->refs[op->first_ref + r].allocation;

                if (lru.last_use[id])
                    lru.last_use[id] = ++lru.clock;
            }
            for (uint32_t r = 0; r < op->ref_count; r++)
                lru_touch(&lru, w, w->refs[op->first_ref + r].allocation, pinned_from);
        }
    }
    result = (double)lru.moved_in / (double)GiB;
    free(lru.last_use);
    free(lru.is_out);
    return result;
}

static void check_training(const char *name, uint32_t tensors, uint32_t kernels, double moved_gib)
{
    struct workload_import_report report;
    struct workload *w = import_shared(name, &report);
    double moved = lru_last_step(w);

    assert_int_equal(report.tensor_count, tensors);
    assert_int_equal(report.kernel_count, kernels);
    if (moved < moved_gib - 0.05 || moved > moved_gib + 0.05)
        fail_msg("%s: LRU moves %.3f GiB instead of %.2f", name, moved, moved_gib);
    check_round_trip(w);
    workload_free(w);
}

static void bert_256_has_its_known_figures(void **state)
{
    (void)state;
    check_training("bert256.trace", 1463, 1369, 10.60);
}

static void vit_1280_has_its_known_figures(void **state)
{
    (void)state;
    check_training("vit1280.trace", 1563, 1489, 22.3);
}

static void smaller_batches_fit(void **state)
{
    (void)state;
    check_training("bert128.trace", 1463, 1369, 0);
    check_training("vit256.trace", 1563, 1489, 0);
}

static void the_sample_capture_has_its_known_counts(void **state)
{
    struct workload_import_report report;
    struct workload *w = import_shared("sample_trace.rmv", &report);
    struct workload_translation *runs;
    struct workload_summary summary;
    struct workload_error error;
    uint64_t pages[WORKLOAD_SEGMENT_COUNT] = {0};
    size_t count;

    (void)state;
    assert_int_equal(report.page_table_update_count, 18805);
    assert_int_equal(report.virtual_allocation_count, 489);
    assert_int_equal(report.resource_count, 1216);
    assert_int_equal(report.residency_update_count, 944);
    assert_int_equal(report.heap_bytes[WORKLOAD_SEGMENT_LOCAL], 256 * MiB);
    assert_int_equal(report.heap_bytes[WORKLOAD_SEGMENT_LOCAL_INVISIBLE], 8304721920);
    assert_int_equal(report.heap_bytes[WORKLOAD_SEGMENT_SYSTEM], 68623638528);
    assert_string_equal(w->name, "capture of AMD Radeon RX 6600");
    workload_summarise(w, &summary);
    /* 474 updates are of no pages and become notes. */
    assert_int_equal(summary.op_counts[WORKLOAD_OP_PTE_MAP] +
                         summary.op_counts[WORKLOAD_OP_PTE_UNMAP],
                     18805 - 474);
    /* Counted page by page with an independent script. */
    assert_true(workload_expected_translations(w, w->op_count, &runs, &count, &error));
    for (size_t i = 0; i < count; i++)
        pages[runs[i].segment] += runs[i].page_count;
    assert_int_equal(pages[WORKLOAD_SEGMENT_LOCAL], 210);
    assert_int_equal(pages[WORKLOAD_SEGMENT_LOCAL_INVISIBLE], 957735);
    assert_int_equal(pages[WORKLOAD_SEGMENT_SYSTEM], 594);
    free(runs);
    check_round_trip(w);
    workload_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_becomes_steps),
        cmocka_unit_test(a_case_is_imported_as_it_is),
        cmocka_unit_test(wrong_traces_are_refused_by_line),
        cmocka_unit_test(too_many_steps_are_refused),
        cmocka_unit_test(a_capture_becomes_page_table_lines),
        cmocka_unit_test(damaged_captures_are_refused_by_place),
        cmocka_unit_test(damage_never_breaks_the_importers),
        cmocka_unit_test(every_nth_allocation_failure_leaves_nothing_behind),
        cmocka_unit_test(bert_256_has_its_known_figures),
        cmocka_unit_test(vit_1280_has_its_known_figures),
        cmocka_unit_test(smaller_batches_fit),
        cmocka_unit_test(the_sample_capture_has_its_known_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
