#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/failing_services.h"
#include "base/rng.h"
#include "record/record.h"
#include "record/record_line.h"
#include "record/rig/test_record.h"
#include "story/story_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Writes with a function, and gives the bytes of the file. */
static struct record_bytes_of written(void (*write)(struct record *record))
{
    int file = test_record_file();
    struct record *record = record_create(base_services_libc(), file, NULL);
    char error[256];

    write(record);
    assert_true(record_close(record, error));
    return test_record_take(file);
}

static struct story *read_bytes(struct record_bytes_of of, const struct story_limits *limits)
{
    char error[512] = "";
    struct story *story =
        story_read_bytes(base_services_libc(), "test", of.bytes, of.size, limits, error);

    assert_string_equal(error, "");
    assert_non_null(story);
    free(of.bytes);
    return story;
}

#define GET(TABLE, COLUMN, row)  story_get(story, STORY_##TABLE##_##COLUMN, row)
#define TEXT(TABLE, COLUMN, row) story_text_of(story, GET(TABLE, COLUMN, row))
#define ROWS(TABLE)              story_rows(story, STORY_##TABLE)
#define T(words)                 record_literal(record, words)

/* "a3" of the row that a column names; "-": none. Lent until the next call. */
static const char *name_of(const struct story *story, enum story_column column, size_t row)
{
    static char name[64];
    uint64_t object = story_get(story, column, row);

    if (!object)
        return "-";
    snprintf(name, sizeof name, "%s %llu", TEXT(OBJECTS, KIND, (size_t)object - 1),
             (unsigned long long)GET(OBJECTS, NUMBER, (size_t)object - 1));
    return name;
}

/* Process 1 pushes allocation 2 of process 2 out to bring in allocation 1. */
static void write_eviction(struct record *record)
{
    RECORD_ITEM(record, run, 0, .key = T("case"), .value = T("main.case"));
    for (unsigned i = 1; i <= 2; i++) {
        RECORD_ITEM(record, object, i, .type = T("process"), .number = i, .name = T("p"));
        RECORD_ITEM(record, object, i, .type = T("device"), .number = i,
                    .parent_type = T("process"), .parent = i);
        RECORD_ITEM(record, object, i, .type = T("allocation"), .number = i,
                    .parent_type = T("device"), .parent = i, .name = T(i == 1 ? "wanted" : "old"),
                    .bytes = 4096);
    }
    RECORD_ITEM(record, placed, 10, .allocation = 2, .segment = 1, .offset = 8192, .bytes = 4096,
                .why = T("asked for"), .request = 1);
    RECORD_ITEM(record, request, 20, .number = 2, .process = 1, .allocations = 1);
    RECORD_ITEM(record, request_begins, 21, .number = 2);
    RECORD_ITEM(record, victim, 22, .request = 2, .allocation = 2, .segment = 1,
                .why = T("used least recently"), .rank = 3, .last_use = 12);
    RECORD_ITEM(record, operation, 23, .number = 1, .job = 7, .name = T("TRANSFER"),
                .allocation = 2, .process = 2, .from_segment = 1, .from_offset = 8192,
                .bytes = 4096);
    RECORD_ITEM(record, operation_built, 24, .number = 1, .buffer = 3, .bytes = 64, .passes = 1);
    RECORD_ITEM(record, operation_built, 25, .number = 1, .buffer = 4, .bytes = 32, .passes = 1);
    RECORD_ITEM(record, packet, 26, .number = 1, .type = T("paging"), .node = 1, .fence = 5,
                .bytes = 96);
    RECORD_ITEM(record, operation_packet, 26, .number = 1, .packet = 1);
    RECORD_ITEM(record, request_waits, 26, .number = 2, .reason = T("an eviction"),
                .object_type = T("operation"), .object = 1);
    RECORD_ITEM(record, packet_submitted, 27, .number = 1);
    RECORD_ITEM(record, packet_begins, 28, .number = 1);
    RECORD_ITEM(record, packet_ends, 30, .number = 1, .status = 0);
    RECORD_ITEM(record, interrupt, 31, .type = T("DMA_COMPLETED"), .node = 1, .fence = 5);
    RECORD_ITEM(record, dpc, 32, .number = 1);
    RECORD_ITEM(record, operation_retired, 33, .number = 1);
    RECORD_ITEM(record, range, 24, .segment = 1, .offset = 65536, .bytes = 4096, .use = T("tables"),
                .is_taken = 1);
    RECORD_ITEM(record, range, 34, .segment = 1, .offset = 65536, .bytes = 4096, .use = T("tables"),
                .is_taken = 0);
    RECORD_ITEM(record, job, 23, .number = 7, .name = T("leave"), .allocation = 2, .request = 2);
    RECORD_ITEM(record, job_ends, 33, .number = 7);
    RECORD_ITEM(record, departs, 22, .allocation = 2, .segment = 1, .why = T("memory pressure"),
                .request = 2);
    RECORD_ITEM(record, entries, 27, .operation = 1, .count = 8, .covers = 4096, .valid = 1);
    RECORD_ITEM(record, packet_retired, 32, .number = 1);
    RECORD_ITEM(record, left, 33, .allocation = 2, .segment = 1, .offset = 8192, .bytes = 4096,
                .why = T("evicted"), .request = 2);
    RECORD_ITEM(record, placed, 40, .allocation = 1, .segment = 1, .offset = 8192, .bytes = 4096,
                .why = T("asked for"), .request = 2);
    RECORD_ITEM(record, request_ends, 41, .number = 2, .status = 0);
    RECORD_ITEM(record, object_end, 50, .type = T("allocation"), .number = 1);
}

static void an_eviction_is_told_from_request_to_request(void **state)
{
    struct story *story = read_bytes(written(write_eviction), NULL);
    uint64_t mark;

    assert_string_equal(story_fact_of(story, "case"), "main.case");
    assert_int_equal(ROWS(PLACES), 2);
    assert_string_equal(name_of(story, STORY_PLACES_ALLOCATION, 0), "allocation 2");
    assert_int_equal(GET(PLACES, FROM, 0), 10);
    assert_int_equal(GET(PLACES, TO, 0), 33);
    assert_string_equal(TEXT(PLACES, WHY_LEFT, 0), "evicted");
    assert_string_equal(name_of(story, STORY_PLACES_EVICTOR, 0), "process 1");
    assert_int_equal(GET(REQUESTS, NUMBER, (size_t)GET(PLACES, LEFT_FOR, 0) - 1), 2);
    assert_int_equal(GET(REQUESTS, NUMBER, (size_t)GET(PLACES, CAME_FOR, 1) - 1), 2);
    assert_int_equal(GET(PLACES, TO, 1), STORY_NEVER);

    assert_int_equal(GET(OBJECTS, EVICTED, (size_t)GET(PLACES, ALLOCATION, 0) - 1), 1);
    assert_int_equal(GET(OBJECTS, MOVED, (size_t)GET(PLACES, ALLOCATION, 0) - 1), 4096);
    assert_int_equal(GET(OBJECTS, DESTROYED, (size_t)GET(PLACES, ALLOCATION, 1) - 1), 50);
    assert_string_equal(TEXT(OBJECTS, NAME, (size_t)GET(PLACES, ALLOCATION, 1) - 1), "wanted");
    assert_string_equal(
        name_of(story, STORY_OBJECTS_PROCESS, (size_t)GET(PLACES, ALLOCATION, 0) - 1), "process 2");

    assert_int_equal(GET(OPERATIONS, BUILT, 0), 25);
    assert_int_equal(GET(OPERATIONS, BUFFER_BYTES, 0), 96);
    assert_int_equal(GET(OPERATIONS, PASSES, 0), 2);
    assert_int_equal(GET(OPERATIONS, RETIRED, 0), 33);
    assert_string_equal(name_of(story, STORY_OPERATIONS_FROM_SEGMENT, 0), "segment 1");
    assert_int_equal(GET(OPERATIONS, TO_SEGMENT, 0), STORY_NONE);
    assert_int_equal(GET(PACKETS, ENDS, (size_t)GET(OPERATIONS, PACKET, 0) - 1), 30);

    assert_int_equal(GET(PLACES, DECIDED, 0), 22);
    assert_string_equal(TEXT(PLACES, REASON, 0), "memory pressure");
    assert_int_equal(GET(RANGES, FROM, 0), 24);
    assert_int_equal(GET(RANGES, TO, 0), 34);
    assert_string_equal(TEXT(RANGES, USE, 0), "tables");
    assert_int_equal(GET(JOBS, NUMBER, 0), 7);
    assert_int_equal(GET(JOBS, ENDS, 0), 33);
    assert_int_equal(GET(ENTRIES, COVERS, 0), 4096);
    assert_int_equal(GET(ENTRIES, VALID, 0), 8);
    assert_int_equal(GET(PACKETS, RETIRED, 0), 32);
    assert_int_equal(GET(VICTIMS, RANK, 0), 3);
    assert_int_equal(GET(VICTIMS, LAST_USE, 0), 12);
    assert_int_equal(GET(WAITS, OPERATION, 0), 1);

    /* The arrow from the packet's interrupt to the request that waited for its operation. */
    assert_int_equal(ROWS(FLOWS), 1);
    mark = GET(FLOWS, MARK, 0);
    assert_string_equal(TEXT(MARKS, KIND, (size_t)mark - 1), "interrupt");
    assert_int_equal(GET(MARKS, PACKET, (size_t)mark - 1), GET(OPERATIONS, PACKET, 0));
    assert_int_equal(GET(REQUESTS, NUMBER, (size_t)GET(FLOWS, REQUEST, 0) - 1), 2);
    story_destroy(story);
}

/* A request's value, a packet that waits for it, and a process that waits for a native fence. */
static void write_fences(struct record *record)
{
    RECORD_ITEM(record, object, 0, .type = T("paging_fence"), .number = 2,
                .parent_type = T("device"), .parent = 2);
    RECORD_ITEM(record, fence_value, 1, .type = T("fence"), .fence = 3, .value = 10);
    RECORD_ITEM(record, fence_waits, 2, .number = 1, .type = T("fence"), .fence = 3, .value = 20,
                .waiter_type = T("process"), .waiter = 1);
    RECORD_ITEM(record, request, 3, .number = 5, .process = 1, .fence_value = 8);
    RECORD_ITEM(record, job, 4, .number = 1, .name = T("enter"), .request = 5);
    RECORD_ITEM(record, operation, 5, .number = 1, .job = 1, .name = T("TRANSFER"));
    RECORD_ITEM(record, operation, 6, .number = 2, .job = 1, .name = T("SIGNAL_MONITORED_FENCE"));
    RECORD_ITEM(record, packet, 7, .number = 4, .type = T("paging"), .node = 1);
    RECORD_ITEM(record, operation_packet, 7, .number = 1, .packet = 4);
    RECORD_ITEM(record, packet, 8, .number = 5, .type = T("paging"), .node = 1);
    RECORD_ITEM(record, operation_packet, 8, .number = 2, .packet = 5);
    RECORD_ITEM(record, packet_submitted, 8, .number = 5, .node = 1, .fence = 77);
    RECORD_ITEM(record, packet, 9, .number = 6, .type = T("render"));
    RECORD_ITEM(record, fence_waits, 9, .number = 2, .type = T("paging_fence"), .fence = 2,
                .value = 8, .waiter_type = T("packet"), .waiter = 6);
    RECORD_ITEM(record, interrupt, 10, .type = T("DMA_COMPLETED"), .node = 1, .fence = 77);
    RECORD_ITEM(record, request_ends, 11, .number = 5);
    RECORD_ITEM(record, fence_value, 11, .type = T("paging_fence"), .fence = 2, .value = 8,
                .request = 5);
    RECORD_ITEM(record, fence_wait_ends, 11, .number = 2);
    RECORD_ITEM(record, fence_value, 12, .type = T("fence"), .fence = 3, .value = 20, .packet = 6);
    RECORD_ITEM(record, fence_wait_ends, 13, .number = 1);
    RECORD_ITEM(record, fence_waits, 14, .number = 3, .type = T("fence"), .fence = 3, .value = 30,
                .waiter_type = T("process"), .waiter = 1);
    RECORD_ITEM(record, fence_wait_ends, 15, .number = 3, .status = 0xc0000120);
    RECORD_ITEM(record, fence_waits, 16, .number = 4, .type = T("fence"), .fence = 3, .value = 30,
                .waiter_type = T("process"), .waiter = 1);
    RECORD_ITEM(record, fence_wait_ends, 17, .number = 9);
    /* One that was given up for a value that the fence has; and a request that came afterwards. */
    RECORD_ITEM(record, fence_waits, 17, .number = 5, .type = T("fence"), .fence = 3, .value = 5,
                .waiter_type = T("process"), .waiter = 1);
    RECORD_ITEM(record, fence_wait_ends, 17, .number = 5, .status = 0xc0000120);
    RECORD_ITEM(record, request, 17, .number = 6, .process = 1);
    RECORD_ITEM(record, job, 17, .number = 2, .name = T("enter"), .request = 6);
    RECORD_ITEM(record, operation, 17, .number = 3, .job = 2, .name = T("TRANSFER"));
    RECORD_ITEM(record, operation_packet, 17, .number = 3, .packet = 5);
    RECORD_ITEM(record, request_ends, 17, .number = 6);
    RECORD_ITEM(record, fence_value, 18, .fence = 3, .value = 1); /* as older records have it */
}

static void a_fence_leads_from_its_packet_to_who_waited(void **state)
{
    struct story *story = read_bytes(written(write_fences), NULL);

    assert_int_equal(ROWS(FENCE_WAITS), 5);
    assert_int_equal(GET(FENCE_WAITS, MARK, 4), STORY_NONE);
    assert_string_equal(name_of(story, STORY_FENCE_WAITS_FENCE, 0), "fence 3");
    assert_string_equal(name_of(story, STORY_FENCE_WAITS_PROCESS, 0), "process 1");
    assert_int_equal(GET(FENCE_WAITS, PACKET, 0), STORY_NONE);
    assert_int_equal(GET(FENCE_WAITS, BEGINS, 0), 2);
    assert_int_equal(GET(FENCE_WAITS, ENDS, 0), 13);
    assert_int_equal(GET(FENCE_WAITS, MARK, 0), 4);
    assert_int_equal(GET(MARKS, VALUE, 3), 20);
    assert_int_equal(GET(PACKETS, NUMBER, (size_t)GET(MARKS, PACKET, 3) - 1), 6);

    assert_string_equal(name_of(story, STORY_FENCE_WAITS_FENCE, 1), "paging_fence 2");
    assert_int_equal(GET(FENCE_WAITS, PROCESS, 1), STORY_NONE);
    assert_int_equal(GET(PACKETS, NUMBER, (size_t)GET(FENCE_WAITS, PACKET, 1) - 1), 6);
    assert_int_equal(GET(FENCE_WAITS, ENDS, 1), 11);
    assert_int_equal(GET(FENCE_WAITS, MARK, 1), 3);
    /* The value of a request is written by the packet with its last operation. */
    assert_int_equal(GET(PACKETS, NUMBER, (size_t)GET(MARKS, PACKET, 2) - 1), 5);

    assert_int_equal(GET(FENCE_WAITS, STATUS, 2), 0xc0000120);
    assert_int_equal(GET(FENCE_WAITS, MARK, 2), STORY_NONE);
    assert_int_equal(GET(FENCE_WAITS, ENDS, 3), STORY_NEVER);
    assert_string_equal(name_of(story, STORY_MARKS_OBJECT, 4), "fence 3");

    /* The interrupt of that packet lets the request go. */
    assert_int_equal(ROWS(FLOWS), 1);
    assert_string_equal(TEXT(MARKS, KIND, (size_t)GET(FLOWS, MARK, 0) - 1), "interrupt");
    assert_int_equal(GET(REQUESTS, NUMBER, (size_t)GET(FLOWS, REQUEST, 0) - 1), 5);
    story_destroy(story);
}

/* Two clients whose calls overlap; one ends unanswered, one answer is of no call. */
static void write_client_calls(struct record *record)
{
    RECORD_ITEM(record, object, 0, .type = T("process"), .number = 2);
    RECORD_ITEM(record, named, 1, .type = T("process"), .number = 2, .name = T("copy (pid 7)"));
    RECORD_ITEM_WITH(
        record, client_call, 2,
        ((const struct record_client_call_group[]){{T("NumAllocations"), 0}, {T("Flags"), 64}}), 2,
        .number = 1, .process = 2, .name = T("D3DKMTEvict"));
    RECORD_ITEM(record, client_breach, 2, .call = 1, .process = 2, .rule = T("KMT-013"),
                .says = T("a list has a member"), .text = T("NumAllocations is 0"),
                .argument = T("NumAllocations"), .value = T("0"), .expected = T("at least 1"),
                .place = T("umd.so+0x10"), .is_advice = 1);
    RECORD_ITEM(record, client_call, 3, .number = 2, .process = 3, .name = T("D3DKMTLock2"));
    RECORD_ITEM(record, client_call_ends, 4, .number = 2, .status = 0xc000000d);
    RECORD_ITEM_WITH(record, client_call_ends, 9,
                     ((const struct record_client_call_ends_group[]){{T("NumBytesToTrim"), 4096}}),
                     1, .number = 1);
    RECORD_ITEM(record, client_call, 9, .number = 3, .process = 2, .name = T("D3DKMTLock2"));
    RECORD_ITEM(record, client_call_ends, 9, .number = 17);
}

static void calls_of_clients_are_rows(void **state)
{
    struct story *story = read_bytes(written(write_client_calls), NULL);
    const size_t process = (size_t)GET(CLIENT_CALLS, PROCESS, 0) - 1;

    assert_int_equal(ROWS(CLIENT_CALLS), 3);
    assert_string_equal(TEXT(OBJECTS, NAME, process), "copy (pid 7)");
    assert_string_equal(TEXT(CLIENT_CALLS, NAME, 0), "D3DKMTEvict");
    assert_int_equal(GET(CLIENT_CALLS, BEGINS, 0), 2);
    assert_int_equal(GET(CLIENT_CALLS, ENDS, 0), 9);
    assert_string_equal(name_of(story, STORY_CLIENT_CALLS_PROCESS, 1), "process 3");
    assert_int_equal(GET(CLIENT_CALLS, ENDS, 1), 4);
    assert_int_equal(GET(CLIENT_CALLS, STATUS, 1), 0xc000000d);
    assert_int_equal(GET(CLIENT_CALLS, ENDS, 2), STORY_NEVER);

    assert_int_equal(ROWS(CLIENT_ARGUMENTS), 3);
    assert_string_equal(TEXT(CLIENT_ARGUMENTS, FIELD, 1), "Flags");
    assert_string_equal(TEXT(CLIENT_ARGUMENTS, VALUE, 1), "64 (0x40)");
    assert_int_equal(GET(CLIENT_ARGUMENTS, IS_ANSWER, 1), 0);
    assert_string_equal(TEXT(CLIENT_ARGUMENTS, FIELD, 2), "NumBytesToTrim");
    assert_int_equal(GET(CLIENT_ARGUMENTS, IS_ANSWER, 2), 1);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(GET(CLIENT_ARGUMENTS, CALL, i), 1);

    assert_int_equal(ROWS(CLIENT_BREACHES), 1);
    assert_int_equal(GET(CLIENT_BREACHES, CALL, 0), 1);
    assert_int_equal(GET(CLIENT_BREACHES, TIME, 0), 2);
    assert_int_equal(GET(CLIENT_BREACHES, PROCESS, 0), process + 1);
    assert_string_equal(TEXT(CLIENT_BREACHES, RULE, 0), "KMT-013");
    assert_string_equal(TEXT(CLIENT_BREACHES, SAYS, 0), "a list has a member");
    assert_string_equal(TEXT(CLIENT_BREACHES, TEXT, 0), "NumAllocations is 0");
    assert_string_equal(TEXT(CLIENT_BREACHES, ARGUMENT, 0), "NumAllocations");
    assert_string_equal(TEXT(CLIENT_BREACHES, VALUE, 0), "0");
    assert_string_equal(TEXT(CLIENT_BREACHES, EXPECTED, 0), "at least 1");
    assert_string_equal(TEXT(CLIENT_BREACHES, PLACE, 0), "umd.so+0x10");
    assert_int_equal(GET(CLIENT_BREACHES, IS_ADVICE, 0), 1);
    story_destroy(story);
}

static void write_calls(struct record *record)
{
    for (unsigned i = 1; i <= 2000; i++) {
        RECORD_ITEM_WITH(
            record, call, 10 * i,
            ((const struct record_call_group[]){{T("DmaSize"), RECORD_PART_DECIMAL, i}}), 1,
            .sequence = i, .phase = 0, .name = T("DxgkDdiBuildPagingBuffer"),
            .operation = T("FILL"), .object_type = T("allocation"), .object = 3);
        RECORD_ITEM_WITH(record, call, 10 * i + 5,
                         ((const struct record_call_group[]){
                             {T("hAllocation"), 'a', i},
                             {T("Destination"), RECORD_PART_DECIMAL, 1},
                             {T(":"), RECORD_PART_PLAIN + RECORD_PART_HEX, 64 * i}}),
                         3, .sequence = i, .phase = 1, .name = T("DxgkDdiBuildPagingBuffer"),
                         .operation = T("FILL"), .status = 0xc0000001);
        if (i == 1000)
            RECORD_ITEM(record, found, 10 * i + 6, .number = 1, .sequence = 999,
                        .rule = T("PB-004"), .text = T("moved 288 bytes"));
    }
    RECORD_ITEM(record, finding, 30000, .number = 1, .sequence = 1000,
                .json =
                    T("{\"rule\": \"PB-004\", \"event\": 1000, \"text\": \"moved 289 bytes\"}"));
    RECORD_ITEM(record, finding, 30000, .json = T("no JSON"));
    RECORD_ITEM(record, finding, 30000, .json = T("{\"rule\": 7, \"event\": \"x\"}"));
}

static void a_call_has_begin_end_and_arguments(void **state)
{
    struct story *story = read_bytes(written(write_calls), NULL);

    assert_int_equal(ROWS(CALLS), 2000);
    assert_int_equal(ROWS(ARGUMENTS), 6000);
    assert_int_equal(GET(CALLS, BEGINS, 4), 50);
    assert_int_equal(GET(CALLS, ENDS, 4), 55);
    assert_int_equal(GET(CALLS, STATUS, 4), 0xc0000001);
    assert_string_equal(TEXT(CALLS, OPERATION, 4), "FILL");
    assert_string_equal(name_of(story, STORY_CALLS_OBJECT, 4), "allocation 3");
    assert_int_equal(GET(ARGUMENTS, CALL, 13), 5);
    assert_string_equal(TEXT(ARGUMENTS, FIELD, 12), "DmaSize");
    assert_string_equal(TEXT(ARGUMENTS, TYPE, 12), "number");
    assert_int_equal(GET(ARGUMENTS, VALUE, 12), 5);
    assert_int_equal(GET(ARGUMENTS, IS_ANSWER, 12), 0);
    assert_string_equal(TEXT(ARGUMENTS, TYPE, 13), "object");
    assert_string_equal(name_of(story, STORY_ARGUMENTS_VALUE, 13), "allocation 5");
    assert_int_equal(GET(ARGUMENTS, IS_ANSWER, 13), 1);
    assert_string_equal(TEXT(ARGUMENTS, FIELD, 14), "Destination");
    assert_string_equal(TEXT(ARGUMENTS, TYPE, 14), "text");
    assert_string_equal(TEXT(ARGUMENTS, VALUE, 14), "1:0x140");

    /* What is no finding's JSON is none; one without rule and call is one. */
    assert_int_equal(ROWS(FINDINGS), 2);
    assert_string_equal(TEXT(FINDINGS, RULE, 0), "PB-004");
    assert_string_equal(TEXT(FINDINGS, TEXT, 0), "moved 289 bytes");
    assert_int_equal(GET(FINDINGS, TIME, 0), 10006);
    assert_int_equal(GET(CALLS, SEQUENCE, (size_t)GET(FINDINGS, CALL, 0) - 1), 1000);
    assert_int_equal(GET(FINDINGS, CALL, 1), STORY_NONE);
    assert_null(story_fact_of(story, "left_out"));
    story_destroy(story);
}

static void where_calls_are_too_many_those_near_a_finding_stay(void **state)
{
    const struct story_limits few_calls = {.calls = 500}, few_arguments = {.arguments = 500};
    struct story *story = read_bytes(written(write_calls), &few_calls);

    assert_int_equal(ROWS(CALLS), 402);
    assert_int_equal(ROWS(ARGUMENTS), 1206);
    assert_int_equal(GET(CALLS, SEQUENCE, 0), 799);
    assert_int_equal(GET(CALLS, SEQUENCE, 401), 1200);
    assert_string_equal(story_fact_of(story, "left_out"),
                        "4,794 arguments of calls far from any finding");
    story_destroy(story);

    story = read_bytes(written(write_calls), &few_arguments);
    assert_int_equal(ROWS(CALLS), 2000);
    assert_int_equal(ROWS(ARGUMENTS), 1206);
    story_destroy(story);
}

static void write_curves(struct record *record)
{
    RECORD_ITEM(record, sample, 1, .segment = 1, .resident = 10, .free = 90, .demand = 10);
    RECORD_ITEM(record, sample, 2, .segment = 2, .resident = 5, .free = 95);
    RECORD_ITEM(record, sample, 3, .segment = 1, .resident = 20, .free = 80, .demand = 10);
    RECORD_ITEM(record, budget, 4, .process = 1, .group = 1, .bytes = 1 << 20);
}

static void curves_have_a_point_where_they_change(void **state)
{
    struct story *story = read_bytes(written(write_curves), NULL);
    size_t resident = 0, demand = 0;

    assert_int_equal(ROWS(SERIES), 13);
    for (size_t i = 0; i < ROWS(SAMPLES); i++) {
        size_t series = (size_t)GET(SAMPLES, SERIES, i) - 1;

        if (strcmp(name_of(story, STORY_SERIES_OBJECT, series), "segment 1") != 0)
            continue;
        resident += strcmp(TEXT(SERIES, NAME, series), "resident") == 0;
        demand += strcmp(TEXT(SERIES, NAME, series), "demand") == 0;
    }
    assert_int_equal(resident, 2);
    assert_int_equal(demand, 1);
    assert_string_equal(TEXT(SERIES, GROUP, 12), "non-local");
    story_destroy(story);
}

/* Numbers that nothing told of, ends without beginnings, objects that are their own parents. */
static void write_nonsense(struct record *record)
{
    RECORD_ITEM(record, left, 5, .allocation = 9, .segment = 9, .bytes = 1, .request = 9);
    RECORD_ITEM(record, left, 6, .allocation = 9, .segment = 9, .bytes = 1, .request = 9);
    RECORD_ITEM(record, mapping, 7, .process = 1, .allocation = 9, .va = UINT64_MAX);
    RECORD_ITEM(record, packet_ends, 8, .number = UINT64_MAX, .status = 3);
    RECORD_ITEM(record, object, 9, .type = T("process"), .number = 4, .parent_type = T("process"),
                .parent = 4);
    RECORD_ITEM(record, object, 9, .type = T("process"), .number = 4, .parent_type = T("process"),
                .parent = 4);
    RECORD_ITEM(record, object_end, 9, .type = 12345, .number = 4);
    RECORD_ITEM(record, object, 9, .type = T("device"));
    RECORD_ITEM(record, request_waits, 9, .number = 1, .object_type = T("packet"), .object = 17);
    RECORD_ITEM(record, request_waits, 9, .object_type = T("packet"), .object = 17);
}

static void what_was_never_told_of_makes_rows_of_its_own(void **state)
{
    struct story *story = read_bytes(written(write_nonsense), NULL);

    assert_int_equal(ROWS(PLACES), 2);
    assert_int_equal(GET(PLACES, FROM, 0), 0);
    assert_int_equal(GET(PLACES, TO, 1), 6);
    assert_int_equal(GET(MAPPINGS, TO, 0), 7);
    assert_int_equal(GET(MAPPINGS, VA, 0), UINT64_MAX);
    assert_int_equal(GET(PACKETS, STATUS, 0), 3);
    assert_int_equal(GET(PACKETS, QUEUED, 0), STORY_NEVER);
    assert_int_equal(ROWS(WAITS), 1);
    for (size_t i = 0; i < ROWS(OBJECTS); i++)
        assert_true(GET(OBJECTS, PARENT, i) != i + 1);
    story_destroy(story);
}

static void write_rows_of_operations(struct record *record)
{
    for (uint64_t i = 1; i <= 80; i++)
        RECORD_ITEM(record, operation, i, .number = i, .name = T("FILL"));
    RECORD_ITEM(record, packet, 90, .number = 1, .type = T("paging"));
    RECORD_ITEM(record, operation_packet, 90, .number = 3, .packet = 1, .more = 2);
    RECORD_ITEM(record, operation_retired, 95, .number = 4, .more = 1);
    RECORD_ITEM(record, operation_retired, 97, .number = 10, .more = UINT64_MAX);
    RECORD_ITEM(record, operation_retired, 99, .number = 79, .more = 9);
}

static void an_item_may_name_operations_in_a_row(void **state)
{
    struct story *story = read_bytes(written(write_rows_of_operations), NULL);

    assert_int_equal(story_rows(story, STORY_OPERATIONS), 80); /* none is made up */
    for (uint64_t i = 1; i <= 80; i++) {
        const uint64_t retired = i >= 79             ? 99
                                 : i >= 10 && i < 74 ? 97 /* the one and 63 behind it */
                                 : i == 4 || i == 5  ? 95
                                                     : UINT64_MAX;

        assert_int_equal(story_get(story, STORY_OPERATIONS_PACKET, i - 1), i >= 3 && i <= 5);
        assert_int_equal(story_get(story, STORY_OPERATIONS_RETIRED, i - 1), retired);
    }
    story_destroy(story);
}

/* As the writer says it: so many items that a limit has cut, and a sentence about the end. */
static void write_cuts(struct record *record)
{
    RECORD_ITEM(record, cut, 1, .what = record_text(record, "call"), .count = 7);
    RECORD_ITEM(record, cut, 1, .what = record_text(record, "the process ended"));
}

static void what_a_record_lacks_is_told(void **state)
{
    struct story *story = read_bytes(written(write_cuts), NULL);

    assert_string_equal(story_fact_of(story, "not_recorded"),
                        "7 call, which the record had no room for");
    assert_string_equal(story_fact_of(story, "cut"), "the process ended");
    assert_null(story_fact_of(story, "left_out"));
    story_destroy(story);
}

static void a_cut_record_is_told(void **state)
{
    struct record_bytes_of of = written(write_calls);
    struct story *story;

    of.size -= 10;
    story = read_bytes(of, NULL);
    assert_non_null(story_fact_of(story, "cut"));
    assert_non_null(strstr(story_fact_of(story, "cut"), "test"));
    story_destroy(story);
}

static void what_is_no_record_is_refused(void **state)
{
    static const char *const files[] = {"", "DDREC", "{\"version\": 1}"};
    char error[512];

    for (unsigned i = 0; i < COUNT(files); i++) {
        error[0] = '\0';
        assert_null(story_read_bytes(base_services_libc(), "test", files[i], strlen(files[i]), NULL,
                                     error));
        assert_non_null(strstr(error, "test"));
    }
    assert_null(story_read(base_services_libc(), "/no/such/file", NULL, error));
    assert_non_null(strstr(error, "/no/such/file"));
}

static void rows_have_a_limit(void **state)
{
    const struct story_limits limits = {.rows = 100};
    struct story *story = read_bytes(written(write_calls), &limits);

    assert_null(story_fact_of(story, "cut")); /* calls are counted apart */
    story_destroy(story);
}

static void write_many(struct record *record)
{
    for (unsigned i = 0; i < 50000; i++)
        RECORD_ITEM(record, placed, i, .allocation = i + 1, .segment = 1, .offset = i);
}

static void a_record_of_too_many_rows_is_read_in_part(void **state)
{
    const struct story_limits limits = {.rows = 10000};
    struct story *story = read_bytes(written(write_many), &limits);

    assert_true(ROWS(PLACES) > 4000 && ROWS(PLACES) < 20000);
    assert_non_null(strstr(story_fact_of(story, "cut"), "more than can be shown"));
    story_destroy(story);
}

static void every_nth_allocation_failure_is_told(void **state)
{
    struct record_bytes_of of = written(write_eviction);
    struct failing_services memory;

    for (uint64_t n = 1;; n++) {
        char error[512] = "";
        struct story *story;

        failing_services_init(&memory);
        failing_services_fail_at(&memory, n);
        story = story_read_bytes(&memory.services, "test", of.bytes, of.size, NULL, error);
        if (story) {
            assert_false(memory.has_failed);
            story_destroy(story);
        } else {
            assert_true(memory.has_failed);
            assert_non_null(strstr(error, "memory"));
        }
        assert_int_equal(memory.live_blocks, 0);
        if (!memory.has_failed)
            break;
    }
    free(of.bytes);
}

/* A record with bytes changed is read, cut or refused, and packed as any other. */
static void changed_bytes_are_survived(void **state)
{
    struct record_bytes_of of = written(write_eviction);
    uint8_t *bytes = malloc(of.size);
    struct rng rng;

    rng_init(&rng, 5);
    for (unsigned i = 0; i < 2000; i++) {
        struct story *story;
        char error[512] = "";

        memcpy(bytes, of.bytes, of.size);
        for (unsigned k = 0; k < 1 + i % 3; k++)
            bytes[rng_below(&rng, of.size)] ^= 1u << rng_below(&rng, 8);
        story = story_read_bytes(base_services_libc(), "test", bytes, of.size, NULL, error);
        assert_true(story || error[0]);
        story_destroy(story);
    }
    free(bytes);
    free(of.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_eviction_is_told_from_request_to_request),
        cmocka_unit_test(a_fence_leads_from_its_packet_to_who_waited),
        cmocka_unit_test(calls_of_clients_are_rows),
        cmocka_unit_test(a_call_has_begin_end_and_arguments),
        cmocka_unit_test(where_calls_are_too_many_those_near_a_finding_stay),
        cmocka_unit_test(curves_have_a_point_where_they_change),
        cmocka_unit_test(what_was_never_told_of_makes_rows_of_its_own),
        cmocka_unit_test(an_item_may_name_operations_in_a_row),
        cmocka_unit_test(what_a_record_lacks_is_told),
        cmocka_unit_test(a_cut_record_is_told),
        cmocka_unit_test(what_is_no_record_is_refused),
        cmocka_unit_test(rows_have_a_limit),
        cmocka_unit_test(a_record_of_too_many_rows_is_read_in_part),
        cmocka_unit_test(every_nth_allocation_failure_is_told),
        cmocka_unit_test(changed_bytes_are_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
