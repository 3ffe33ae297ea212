#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/trace/perfetto.h"
#include "story/test_synthetic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- A decoder that shares nothing with the writer ------------------------------------------- */

struct cursor {
    const uint8_t *at, *end;
};

struct field {
    unsigned number, type;
    uint64_t value;      /* of a varint or a fixed64 */
    struct cursor bytes; /* of bytes */
};

static uint64_t varint(struct cursor *cursor)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte;

        assert_true(cursor->at < cursor->end);
        byte = *cursor->at++;
        value |= (uint64_t)(byte & 0x7f) << (shift < 64 ? shift : 0);
        if (!(byte & 0x80))
            return value;
    }
    fail_msg("a varint is too long");
    return 0;
}

static bool next_field(struct cursor *cursor, struct field *field)
{
    uint64_t tag;

    if (cursor->at == cursor->end)
        return false;
    tag = varint(cursor);
    *field = (struct field){.number = (unsigned)(tag >> 3), .type = tag & 7};
    if (field->type == 0) {
        field->value = varint(cursor);
    } else if (field->type == 1) {
        assert_true(cursor->end - cursor->at >= 8);
        for (unsigned i = 0; i < 8; i++)
            field->value |= (uint64_t)*cursor->at++ << 8 * i;
    } else {
        uint64_t size;

        assert_int_equal(field->type, 2);
        size = varint(cursor);
        assert_true(size <= (uint64_t)(cursor->end - cursor->at));
        field->bytes = (struct cursor){cursor->at, cursor->at + size};
        cursor->at += size;
    }
    return true;
}

/* ---- What a trace must be -------------------------------------------------------------------- */

#define MOST_TRACKS 4096
#define MOST_OPEN   80

struct flow {
    uint64_t from, to; /* times plus one; 0: not seen */
};

struct seen {
    bool is_track[MOST_TRACKS], is_counter[MOST_TRACKS];
    uint64_t open[MOST_TRACKS][MOST_OPEN]; /* when the slices of a track began */
    unsigned open_count[MOST_TRACKS];
    uint64_t last[MOST_TRACKS];
    struct flow *flows;
    size_t flow_room;
    size_t slices, instants, counters, flow_count, deepest;
    bool names[3][1 << 16];
    size_t packets;
    uint64_t last_annotation; /* its value, and the field that it is in */
    unsigned last_field;
};

static struct flow *flow_of(struct seen *seen, uint64_t id)
{
    assert_true(id < seen->flow_room);
    return &seen->flows[id];
}

static void see_event(struct seen *seen, uint64_t time, struct cursor event)
{
    uint64_t type = 0, track = 0;
    struct cursor again = event;
    struct field field;

    while (next_field(&event, &field)) {
        if (field.number == 9)
            type = field.value;
        else if (field.number == 11)
            track = field.value;
        else if (field.number == 10)
            assert_true(seen->names[1][field.value]);
        else if (field.number == 3)
            assert_true(seen->names[0][field.value]);
    }
    assert_true(track < MOST_TRACKS && seen->is_track[track]);
    assert_true(seen->is_counter[track] == (type == 4));
    if (type == 1) {
        unsigned *open = &seen->open_count[track];

        assert_true(time >= seen->last[track]);
        assert_true(*open < MOST_OPEN);
        seen->open[track][(*open)++] = time;
        seen->deepest = *open > seen->deepest ? *open : seen->deepest;
        seen->last[track] = time;
        seen->slices++;
    } else if (type == 2) {
        assert_true(seen->open_count[track] > 0);
        assert_true(time >= seen->open[track][--seen->open_count[track]]);
        assert_true(time >= seen->last[track]);
        seen->last[track] = time;
    } else if (type == 3) {
        seen->instants++;
    } else {
        assert_int_equal(type, 4);
        assert_true(time >= seen->last[track]);
        seen->last[track] = time;
        seen->counters++;
    }
    while (next_field(&again, &field)) {
        if (field.number == 47) {
            assert_int_equal(field.type, 1);
            assert_int_equal(flow_of(seen, field.value)->from, 0);
            flow_of(seen, field.value)->from = time + 1;
            seen->flow_count++;
        } else if (field.number == 48) {
            assert_int_equal(flow_of(seen, field.value)->to, 0);
            flow_of(seen, field.value)->to = time + 1;
        } else if (field.number == 4) {
            struct field name = {0};

            assert_true(next_field(&field.bytes, &name) && name.number == 1);
            assert_true(seen->names[2][name.value]);
            assert_true(next_field(&field.bytes, &name));
            seen->last_annotation = name.value;
            seen->last_field = name.number;
        }
    }
}

static void see_names(struct seen *seen, struct cursor interned)
{
    struct field kind, id;

    while (next_field(&interned, &kind)) {
        assert_true(kind.number >= 1 && kind.number <= 3);
        assert_true(next_field(&kind.bytes, &id) && id.number == 1);
        assert_true(id.value && id.value < 1 << 16);
        assert_false(seen->names[kind.number - 1][id.value]);
        seen->names[kind.number - 1][id.value] = true;
    }
}

static void see_track(struct seen *seen, struct cursor track)
{
    uint64_t uuid = 0;
    bool is_counter = false;
    struct field field;

    while (next_field(&track, &field)) {
        if (field.number == 1)
            uuid = field.value;
        else if (field.number == 5)
            assert_true(seen->is_track[field.value]);
        else if (field.number == 8)
            is_counter = true;
    }
    assert_true(uuid && uuid < MOST_TRACKS && !seen->is_track[uuid]);
    seen->is_track[uuid] = true;
    seen->is_counter[uuid] = is_counter;
}

static void see_packet(struct seen *seen, struct cursor packet)
{
    struct cursor again = packet;
    uint64_t time = 0, flags = 0;
    struct field field;

    while (next_field(&packet, &field)) {
        if (field.number == 8)
            time = field.value;
        else if (field.number == 13)
            flags = field.value;
        else if (field.number == 12)
            see_names(seen, field.bytes);
    }
    assert_int_equal(flags, seen->packets++ ? 2 : 3);
    while (next_field(&again, &field)) {
        if (field.number == 11)
            see_event(seen, time, field.bytes);
        else if (field.number == 60)
            see_track(seen, field.bytes);
    }
}

/* Reads a whole trace and holds it to the rules; what was seen is the caller's to free. */
static struct seen *see(const struct story *story, const struct perfetto_options *options)
{
    struct seen *seen = calloc(1, sizeof *seen);
    struct perfetto_counts counts;
    char *bytes;
    size_t size;
    FILE *out = open_memstream(&bytes, &size);
    struct cursor trace;
    struct field field;

    assert_true(perfetto_write(out, story, options, &counts));
    fclose(out);
    seen->flow_room = 1 << 20;
    seen->flows = calloc(seen->flow_room, sizeof *seen->flows);
    trace = (struct cursor){(uint8_t *)bytes, (uint8_t *)bytes + size};
    while (next_field(&trace, &field)) {
        assert_int_equal(field.number, 1);
        see_packet(seen, field.bytes);
    }
    for (unsigned i = 0; i < MOST_TRACKS; i++)
        assert_int_equal(seen->open_count[i], 0);
    for (size_t i = 0; i < seen->flow_room; i++) {
        assert_int_equal(!seen->flows[i].from, !seen->flows[i].to);
        assert_true(seen->flows[i].from <= seen->flows[i].to);
    }
    assert_int_equal(seen->slices, counts.slices);
    assert_int_equal(seen->instants, counts.instants);
    assert_int_equal(seen->counters, counts.counters);
    assert_int_equal(seen->flow_count, counts.flows);
    free(bytes);
    return seen;
}

static void seen_free(struct seen *seen)
{
    free(seen->flows);
    free(seen);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void slices_nest_and_flows_have_both_ends(void **state)
{
    const struct perfetto_options options = {0};
    struct story *story = synthetic_story(base_services_libc(), 20000);
    struct seen *seen = see(story, &options);
    size_t told = story_rows(story, STORY_PACKETS);

    assert_true(seen->slices >= story_rows(story, STORY_CALLS) + story_rows(story, STORY_PACKETS));
    /* A value that a packet wrote, and each wait for a value, has an arrow beside these. */
    assert_true(seen->flow_count >= story_rows(story, STORY_OPERATIONS) + told +
                                        story_rows(story, STORY_FENCE_WAITS) * 3 / 2);
    assert_true(seen->counters > story_rows(story, STORY_SAMPLES));
    seen_free(seen);
    story_destroy(story);
}

static void calls_may_be_left_out(void **state)
{
    const struct perfetto_options all = {0}, without = {.leaves_out_calls = true};
    struct story *story = synthetic_story(base_services_libc(), 2000);
    struct seen *a = see(story, &all), *b = see(story, &without);

    assert_int_equal(a->slices - b->slices, story_rows(story, STORY_CALLS));
    seen_free(a);
    seen_free(b);
    story_destroy(story);
}

static void calls_nest_by_their_depth(void **state)
{
    static const uint64_t calls[][3] = {/* begins, ends, depth */
                                        {10, 50, 0}, {20, 30, 1}, {20, 20, 2}, {30, 40, 1},
                                        {50, 60, 0}, {60, 60, 0}, {61, 99, 7}, {62, 120, 8}};
    const struct perfetto_options options = {0};
    struct story *story = story_create(base_services_libc());
    struct seen *seen;

    for (unsigned i = 0; i < sizeof calls / sizeof calls[0]; i++)
        story_add_row(story, STORY_CALLS,
                      (uint64_t[]){i + 1, calls[i][0], calls[i][1], calls[i][2], 0, 0, 0, 0});
    seen = see(story, &options);
    assert_int_equal(seen->slices, 8);
    assert_int_equal(seen->deepest, 3);
    seen_free(seen);
    story_destroy(story);
}

/* Of two calls of one depth that overlap, the first ends where the second begins. */
static void calls_of_one_depth_do_not_overlap(void **state)
{
    static const uint64_t calls[][3] = {{10, 50, 0}, {20, 45, 1}, {30, 60, 0}, {31, 90, 1}};
    const struct perfetto_options options = {0};
    struct story *story = story_create(base_services_libc());
    struct seen *seen;

    for (unsigned i = 0; i < sizeof calls / sizeof calls[0]; i++)
        story_add_row(story, STORY_CALLS,
                      (uint64_t[]){i + 1, calls[i][0], calls[i][1], calls[i][2], 0, 0, 0, 0});
    seen = see(story, &options);
    assert_int_equal(seen->slices, 4);
    assert_int_equal(seen->deepest, 2);
    seen_free(seen);
    story_destroy(story);
}

/* Operation, packet, the value that it writes, and the two who wait for it. */
static void an_operation_leads_to_who_waits_for_its_fence(void **state)
{
    const struct perfetto_options options = {0};
    struct story *story = story_create(base_services_libc());
    uint64_t process, node, context, fence, number;
    struct seen *seen;

#define OBJECT(kind, of)                                                                           \
    (story_add_row(                                                                                \
         story, STORY_OBJECTS,                                                                     \
         (uint64_t[]){story_text(story, kind), 1, of, of, 0, 0, 0, STORY_NEVER, 0, 0, 0}) +        \
     1)
    process = OBJECT("process", 0);
    node = OBJECT("node", 0);
    context = OBJECT("context", process);
    fence = OBJECT("fence", process);
#undef OBJECT
    story_set(story, STORY_OBJECTS_PROCESS, process - 1, process);
    for (number = 1; number <= 2; number++) {
        size_t packet = story_add(story, STORY_PACKETS);
        uint64_t begins = 100 * number;

        story_set(story, STORY_PACKETS_NODE, packet, node);
        story_set(story, STORY_PACKETS_CONTEXT, packet, context);
        story_set(story, STORY_PACKETS_QUEUED, packet, 50);
        story_set(story, STORY_PACKETS_BEGINS, packet, begins);
        story_set(story, STORY_PACKETS_ENDS, packet, begins + 50);
    }
    story_add(story, STORY_OPERATIONS);
    story_set(story, STORY_OPERATIONS_ASKED, 0, 10);
    story_set(story, STORY_OPERATIONS_RETIRED, 0, 160);
    story_set(story, STORY_OPERATIONS_PACKET, 0, 1);
    story_add_row(story, STORY_MARKS,
                  (uint64_t[]){150, story_text(story, "fence"), 0, 0, fence, 7, 1, 0});
    story_add_row(story, STORY_FENCE_WAITS, (uint64_t[]){1, fence, 7, process, 0, 20, 155, 0, 1});
    story_add_row(story, STORY_FENCE_WAITS, (uint64_t[]){2, fence, 6, 0, 2, 60, 150, 0, 1});
    /* A wait that has not ended, and one that ended without the value: no arrows. */
    story_add_row(story, STORY_FENCE_WAITS,
                  (uint64_t[]){3, fence, 9, process, 0, 160, STORY_NEVER, 0, 0});
    story_add_row(story, STORY_FENCE_WAITS, (uint64_t[]){4, fence, 9, process, 0, 160, 170, 1, 0});
    seen = see(story, &options);
    assert_int_equal(seen->flow_count, 4);
    assert_int_equal(seen->slices, 1 + 2 + 2 + 2); /* operation, packets, queued, CPU's waits */
    assert_int_equal(seen->instants, 1 + 2);       /* the value, and where the two go on */
    seen_free(seen);
    story_destroy(story);
}

/* A lost device's fences have the largest value there is: it would flatten the curve. */
static void the_curve_of_a_fence_has_its_values_but_the_largest(void **state)
{
    static const uint64_t values[] = {7, UINT64_MAX, INT64_MAX, (uint64_t)INT64_MAX + 1};
    const struct perfetto_options options = {0};
    struct story *story = story_create(base_services_libc());
    uint64_t kind = story_text(story, "fence");
    struct seen *seen;

    story_add_row(story, STORY_OBJECTS, (uint64_t[]){kind, 1, 0, 0, 0, 0, 0, STORY_NEVER, 0, 0, 0});
    for (unsigned i = 0; i < sizeof values / sizeof values[0]; i++)
        story_add_row(story, STORY_MARKS, (uint64_t[]){10 + i, kind, 0, 0, 1, values[i], 0, 0});
    seen = see(story, &options);
    assert_int_equal(seen->instants, 4);
    assert_int_equal(seen->counters, 2);
    seen_free(seen);
    story_destroy(story);
}

/* As trace.proto has the fields of an annotation. */
static void an_argument_keeps_its_type(void **state)
{
    static const struct {
        const char *type;
        uint64_t value;
        unsigned field;
    } arguments[] = {{"number", 7, 3}, {"signed", (uint64_t)-3, 4}, {"hex", 0x1000, 7}};
    const struct perfetto_options options = {0};

    for (unsigned i = 0; i < sizeof arguments / sizeof arguments[0]; i++) {
        struct story *story = story_create(base_services_libc());
        struct seen *seen;

        story_add_row(story, STORY_CALLS, (uint64_t[]){1, 10, 20, 0, 0, 0, 0, 0});
        story_add_row(story, STORY_ARGUMENTS,
                      (uint64_t[]){1, story_text(story, "Offset"),
                                   story_text(story, arguments[i].type), arguments[i].value, 0});
        seen = see(story, &options);
        assert_int_equal(seen->last_annotation, arguments[i].value);
        assert_int_equal(seen->last_field, arguments[i].field);
        seen_free(seen);
        story_destroy(story);
    }
}

/* Rows without times, that end before they begin, that overlap, and that name what is not there. */
static void nonsense_becomes_a_trace(void **state)
{
    const struct perfetto_options options = {0};
    struct story *story = story_create(base_services_libc());
    struct seen *seen;

    for (unsigned table = 0; table < STORY_TABLE_COUNT; table++) {
        for (unsigned row = 0; row < 300; row++) {
            story_add(story, (enum story_table)table);
            for (unsigned i = story_tables[table].first; i < story_tables[table + 1].first; i++) {
                uint64_t value = (row * 7919u + i * 104729u) % 311;

                story_set(story, (enum story_column)i, row,
                          value == 310                               ? UINT64_MAX
                          : story_columns[i].type == STORY_TYPE_ROW  ? value
                          : story_columns[i].type == STORY_TYPE_TEXT ? value % 4
                                                                     : value);
            }
        }
    }
    story_text(story, "process");
    story_text(story, "interrupt");
    story_text(story, "step");
    seen = see(story, &options);
    assert_true(seen->slices > 100);
    seen_free(seen);
    story_destroy(story);
}

static void a_full_disk_is_told(void **state)
{
    const struct perfetto_options options = {0};
    struct story *story = synthetic_story(base_services_libc(), 20000);
    struct perfetto_counts counts;
    FILE *full = fopen("/dev/full", "w");

    if (full) {
        setvbuf(full, NULL, _IONBF, 0);
        assert_false(perfetto_write(full, story, &options, &counts));
        fclose(full);
    }
    story_destroy(story);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_nest_and_flows_have_both_ends),
        cmocka_unit_test(calls_may_be_left_out),
        cmocka_unit_test(calls_nest_by_their_depth),
        cmocka_unit_test(calls_of_one_depth_do_not_overlap),
        cmocka_unit_test(an_operation_leads_to_who_waits_for_its_fence),
        cmocka_unit_test(the_curve_of_a_fence_has_its_values_but_the_largest),
        cmocka_unit_test(an_argument_keeps_its_type),
        cmocka_unit_test(nonsense_becomes_a_trace),
        cmocka_unit_test(a_full_disk_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
