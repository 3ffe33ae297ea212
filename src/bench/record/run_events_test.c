/*
 * The file of calls: how long it gets, and that the digest does not depend on it.
 */
#include "bench/whole_runs/test_run.h"

#include "bench/run/run_text.h"

struct recorded {
    uint64_t digest;
    uint64_t bytes;
    char last_line[256];
    unsigned prints; /* lines with words of the driver */
};

/* The lines of the text that the record's list of calls is. */
static void read_text(FILE *file, struct recorded *recorded)
{
    char line[4096];

    rewind(file);
    while (fgets(line, sizeof line, file)) {
        snprintf(recorded->last_line, sizeof recorded->last_line, "%.200s", line);
        recorded->prints += strstr(line, " the driver prints: refkmd: ") != NULL;
    }
    recorded->bytes = (uint64_t)ftell(file);
}

static struct recorded record(uint64_t limit, uint64_t bytes)
{
    struct workload *workload = test_load("evict-and-restore.case");
    struct run_result *result = calloc(1, sizeof *result);
    FILE *file = tmpfile(), *events = tmpfile();
    struct run_text text = {
        .events = events, .level = RUN_EVENTS_PAGING, .limit = limit, .byte_limit = bytes};
    struct recorded recorded = {0};
    struct record_reader *reader;
    struct run_config config;
    char error[256];

    assert_non_null(result);
    assert_true(file && events);
    config = test_config(workload);
    config.record_file = fileno(file);
    run_execute(&config, workload, result);
    assert_int_equal(result->outcome, RUN_CLEAN);
    assert_string_equal(result->record_error, "");
    recorded.digest = result->digest;
    reader = record_reader_open_file(base_services_libc(), "x", fileno(file), error);
    assert_non_null(reader);
    assert_true(run_text_write(&text, reader, error));
    record_reader_close(reader);
    read_text(events, &recorded);
    fclose(events);
    fclose(file);
    for (uint32_t i = 0; i < result->step_count; i++)
        result->steps[i].name = NULL; /* lent by the workload */
    workload_free(workload);
    test_finish(result);
    return recorded;
}

static void calls_and_bytes_of_the_file_are_limited(void **state)
{
    struct recorded whole = record(0, 0);
    struct recorded few_calls = record(10, 0);
    struct recorded few_bytes = record(0, 4096);

    assert_true(whole.prints > 0);
    assert_true(strstr(whole.last_line, "# complete: ") == whole.last_line);
    assert_non_null(strstr(few_calls.last_line, " more calls are not in this file (it holds 10)"));
    assert_non_null(strstr(few_bytes.last_line, " more calls are not in this file"));
    assert_true(few_calls.bytes < whole.bytes);
    assert_true(few_bytes.bytes > 4096 && few_bytes.bytes < 4096 + 4096);
    assert_int_equal(few_calls.digest, whole.digest);
    assert_int_equal(few_bytes.digest, whole.digest);
}

/* The number of the last call that the record of a play has, and the last of the checking layer. */
static void play_recorded(const char *name, enum run_model model, uint64_t *out_recorded,
                          uint64_t *out_checked)
{
    struct workload *workload = test_load(name);
    struct run_result *result = calloc(1, sizeof *result);
    struct run_config config = test_config(workload);
    FILE *file = tmpfile();
    struct record_reader *reader;
    struct record_reader_item item;
    char error[256];

    assert_true(result && file);
    config.model = model;
    config.record_file = fileno(file);
    run_execute(&config, workload, result);
    assert_int_equal(result->outcome, RUN_CLEAN);
    reader = record_reader_open_file(base_services_libc(), "x", fileno(file), error);
    assert_non_null(reader);
    *out_recorded = 0;
    while (record_reader_next(reader, &item))
        if (item.kind == RECORD_KIND_call)
            *out_recorded = RECORD_FIELDS(call, &item)->sequence;
    record_reader_close(reader);
    fclose(file);
    *out_checked = result->calls.last;
    for (uint32_t i = 0; i < result->step_count; i++)
        result->steps[i].name = NULL; /* lent by the workload */
    workload_free(workload);
    test_finish(result);
}

/* A finding names its call by the number that the checking layer gave it. */
static void calls_have_the_same_numbers_in_findings_and_in_the_record(void **state)
{
    static const struct {
        const char *name;
        enum run_model model;
    } plays[] = {
        {"evict-and-restore.case", RUN_PHYSICAL},
        {"evict-and-restore.case", RUN_GPUMMU},
        {"freed-behind-a-save-area.case", RUN_GPUMMU},
    };

    for (size_t i = 0; i < sizeof plays / sizeof *plays; i++) {
        uint64_t recorded, checked;

        play_recorded(plays[i].name, plays[i].model, &recorded, &checked);
        assert_true(checked > 50);
        assert_int_equal(recorded, checked);
    }
}

/* As a process leaves it in whose driver a call has crashed. */
static void a_call_that_does_not_return_is_the_last_line(void **state)
{
    FILE *file = tmpfile(), *events = tmpfile();
    struct run_text text = {.events = events, .level = RUN_EVENTS_PAGING};
    struct record *record = record_create(base_services_libc(), fileno(file), NULL);
    char error[256], lines[4096] = "";
    struct record_reader *reader;

    for (unsigned phase = 0; phase < 3; phase++)
        RECORD_ITEM(record, call, 10 + phase, .sequence = 1 + phase / 2, .phase = phase % 2,
                    .name = record_literal(record, "DxgkDdiSubmitCommand"));
    assert_true(record_close(record, error));
    reader = record_reader_open_file(base_services_libc(), "x", fileno(file), error);
    assert_non_null(reader);
    assert_true(run_text_write(&text, reader, error));
    record_reader_close(reader);
    rewind(events);
    assert_true(fread(lines, 1, sizeof lines - 1, events) > 0);
    assert_non_null(strstr(lines, "11 > DxgkDdiSubmitCommand < 0x00000000\n"
                                  "12 > DxgkDdiSubmitCommand\n"
                                  "# complete: 2 calls\n"));
    fclose(events);
    fclose(file);
}

/* What a record says of its run, and what its driver has printed: each stays in its line. */
static void no_text_of_a_record_moves_anything(void **state)
{
    FILE *file = tmpfile(), *events = tmpfile();
    struct run_text text = {.events = events, .level = RUN_EVENTS_ALL};
    struct record *record = record_create(base_services_libc(), fileno(file), NULL);
    char error[256], lines[4096] = "";
    struct record_reader *reader;

    RECORD_ITEM(record, run, 0, .key = record_literal(record, "model"),
                .value = record_literal(record, "\x1b[2J\n::error ::forged"));
    RECORD_ITEM(record, run, 0, .key = record_literal(record, "seed"),
                .value = record_literal(record, "\r\x7f"));
    RECORD_ITEM(record, print, 5, .text = record_literal(record, "a\x1b[2J\nb"));
    assert_true(record_close(record, error));
    reader = record_reader_open_file(base_services_libc(), "x", fileno(file), error);
    assert_non_null(reader);
    assert_true(run_text_write(&text, reader, error));
    record_reader_close(reader);
    rewind(events);
    assert_true(fread(lines, 1, sizeof lines - 1, events) > 0);
    assert_string_equal(lines, "# drydock events: every call, model ?[2J?::error ::forged, seed "
                               "??; ns, then the call\n"
                               "5 the driver prints: a?[2J\n"
                               "# complete: 1 calls\n");
    fclose(events);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_and_bytes_of_the_file_are_limited),
        cmocka_unit_test(a_call_that_does_not_return_is_the_last_line),
        cmocka_unit_test(no_text_of_a_record_moves_anything),
        cmocka_unit_test(calls_have_the_same_numbers_in_findings_and_in_the_record),
    };

    return cmocka_run_group_tests_name("bench/run_events", tests, NULL, NULL);
}
