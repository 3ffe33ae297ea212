/* What the oracle says about renders and CPU accesses; oracle_paging_test.c has the layer. */
#include "check/oracle/oracle.h"

#include "check/rig/test_told.h"

#include "base/bits.h"
#include "base/failing_services.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define PAGE_NUMBER(n) ((uint64_t)(n)*PAGE_BYTES)

struct bench {
    struct page_store *ram;
    struct page_store *local;
    struct oracle *oracle;
    unsigned report_count;
    struct oracle_report last;
    struct rule_counts counts;
    struct hash said;
    char text[ORACLE_TEXT_BYTES];
    char where[128], bytes[640];
};

static void keep_report(void *context, const struct oracle_report *report)
{
    struct bench *bench = context;

    bench->report_count++;
    bench->last = *report;
    told_oracle_report(&bench->said, report);
    snprintf(bench->text, sizeof bench->text, "%s", report->text);
    snprintf(bench->where, sizeof bench->where, "%s", report->where);
    snprintf(bench->bytes, sizeof bench->bytes, "%s", report->bytes);
}

static void open_bench(struct bench *bench, uint64_t pages)
{
    struct oracle_config config = {
        .services = base_services_libc(),
        .expected_bytes = 4 * pages * PAGE_BYTES,
        .context = bench,
        .report = keep_report,
        .counts = &bench->counts,
    };

    *bench = (struct bench){0};
    hash_init(&bench->said, 0);
    bench->ram = page_store_create(base_services_libc(), pages);
    bench->local = page_store_create(base_services_libc(), pages);
    config.ram = bench->ram;
    config.local = bench->local;
    assert_int_equal(oracle_create(&config, &bench->oracle), STATUS_SUCCESS);
}

static void close_bench(struct bench *bench)
{
    told_oracle(&bench->said, bench->oracle, 7);
    told_add(&bench->counts, hash_final(&bench->said));
    assert_true(oracle_check(bench->oracle));
    oracle_destroy(bench->oracle);
    page_store_destroy(bench->ram);
    page_store_destroy(bench->local);
}

static uint64_t problems(const struct bench *bench, enum oracle_problem problem)
{
    return oracle_counters(bench->oracle)->problems[problem];
}

/* Only this problem was found, that often. */
static void assert_only(const struct bench *bench, enum oracle_problem problem, uint64_t count)
{
    for (unsigned i = 0; i < ORACLE_PROBLEM_COUNT; i++)
        assert_int_equal(problems(bench, i), i == problem ? count : 0);
}

static void assert_silent(const struct bench *bench)
{
    assert_only(bench, ORACLE_PROBLEM_COUNT, 0);
    assert_int_equal(bench->report_count, 0);
}

static void create(struct bench *bench, uint64_t id, uint64_t bytes)
{
    assert_int_equal(oracle_allocation_created(bench->oracle, id, bytes, "texture"),
                     STATUS_SUCCESS);
}

static struct oracle_reference whole(uint64_t id, uint64_t bytes, uint64_t key, const char *how)
{
    return (struct oracle_reference){
        .allocation = id,
        .bytes = bytes,
        .key = key,
        .is_read = strchr(how, 'r') != NULL,
        .is_written = strchr(how, 'w') != NULL,
    };
}

/* The GPU runs a submission of one reference, which stands in one piece. */
static void run(struct bench *bench, uint64_t token, struct oracle_reference reference,
                struct page_store *store, uint64_t address)
{
    assert_int_equal(oracle_submission(bench->oracle, token, 1, &reference), STATUS_SUCCESS);
    oracle_render_begin(bench->oracle, token, 0);
    if (reference.is_read)
        oracle_render_read(bench->oracle, token, 0, 0, store, address, reference.bytes);
    if (reference.is_written) {
        oracle_render_write(bench->oracle, token, 0, 0, store, address, reference.bytes);
        if (store)
            page_store_write_tag(store, address, reference.bytes, reference.key);
    }
    oracle_render_end(bench->oracle, token);
    oracle_submission_retired(bench->oracle, token);
}

/* ---- Content ---- */

static void what_was_written_is_read_in_silence(void **state)
{
    struct bench bench;

    open_bench(&bench, 64);
    create(&bench, 7, PAGE_NUMBER(4));
    run(&bench, 1, whole(7, PAGE_NUMBER(4), 0, "r"), bench.local, PAGE_NUMBER(8)); /* zero */
    run(&bench, 2, whole(7, PAGE_NUMBER(4), 100, "w"), bench.local, PAGE_NUMBER(8));
    run(&bench, 3, whole(7, PAGE_NUMBER(4), 200, "rw"), bench.local, PAGE_NUMBER(8));
    run(&bench, 4, whole(7, PAGE_NUMBER(4), 0, "r"), bench.local, PAGE_NUMBER(8));
    assert_silent(&bench);
    assert_true(oracle_final_check(bench.oracle));
    assert_int_equal(oracle_counters(bench.oracle)->pages_checked, 16);
    assert_int_equal(oracle_counters(bench.oracle)->submissions, 4);
    close_bench(&bench);
}

static void parts_of_pages_are_compared_as_the_gpu_packet_defines_them(void **state)
{
    struct oracle_reference part = {
        .allocation = 7, .offset = 0xff8, .bytes = 0x1010, .key = 50, .is_written = true};
    struct bench bench;

    open_bench(&bench, 64);
    create(&bench, 7, PAGE_NUMBER(3) - 16);
    run(&bench, 1, part, bench.local, PAGE_NUMBER(8) + 0xff8);
    assert_true(page_store_is_tag(bench.local, PAGE_NUMBER(8) + 0xff8, 8, 50, NULL));
    assert_true(page_store_is_tag(bench.local, PAGE_NUMBER(9), PAGE_BYTES, 51, NULL));
    assert_true(page_store_is_tag(bench.local, PAGE_NUMBER(10), 8, 52, NULL));
    run(&bench, 2, whole(7, PAGE_NUMBER(3) - 16, 0, "r"), bench.local, PAGE_NUMBER(8));
    assert_silent(&bench);

    page_store_write(bench.local, PAGE_NUMBER(10) + 7, "!", 1);
    run(&bench, 3, whole(7, PAGE_NUMBER(3) - 16, 0, "r"), bench.local, PAGE_NUMBER(8));
    assert_only(&bench, ORACLE_CONTENT, 1);
    assert_int_equal(bench.last.page, 2);
    assert_int_equal(bench.last.offset, PAGE_NUMBER(2) + 7);
    close_bench(&bench);
}

static void stale_content_is_reported_once_with_its_place(void **state)
{
    struct bench bench;

    open_bench(&bench, 64);
    create(&bench, 7, PAGE_NUMBER(4));
    run(&bench, 1, whole(7, PAGE_NUMBER(4), 100, "w"), bench.local, PAGE_NUMBER(8));
    page_store_write_tag(bench.local, PAGE_NUMBER(10), PAGE_BYTES, 5000);
    page_store_fill(bench.local, PAGE_NUMBER(11), 8, 0);
    run(&bench, 2, whole(7, PAGE_NUMBER(4), 0, "r"), bench.local, PAGE_NUMBER(8));
    run(&bench, 3, whole(7, PAGE_NUMBER(4), 0, "r"), bench.local, PAGE_NUMBER(8));
    assert_only(&bench, ORACLE_CONTENT, 2);
    assert_int_equal(oracle_counters(bench.oracle)->mismatched_pages, 4);
    assert_int_equal(bench.report_count, 1);
    assert_int_equal(bench.last.allocation, 7);
    assert_int_equal(bench.last.token, 2);
    assert_int_equal(bench.last.page, 2);
    assert_int_equal(bench.last.offset, PAGE_NUMBER(2));
    assert_non_null(strstr(bench.text, "texture (allocation 7), page 2, byte 0x2000 of 0x4000"));
    assert_non_null(strstr(bench.text, "(tag 0x66)\n  found "));
    assert_non_null(strstr(bench.text, "(tag 0x1388)\n  where "));
    assert_non_null(strstr(bench.text, "local page 0xa"));
    assert_non_null(strstr(bench.text, "submission 0x2, reference 0"));
    assert_string_equal(bench.where, "read by the GPU");
    assert_int_equal(strncmp(bench.bytes, "0x002000  expected ", 19), 0);
    assert_false(oracle_final_check(bench.oracle));
    close_bench(&bench);
}

static void a_mismatch_shows_its_bytes_up_to_the_page_end(void **state)
{
    const uint64_t wrong = PAGE_NUMBER(8) + 0xffb;
    struct bench bench;

    open_bench(&bench, 64);
    create(&bench, 7, PAGE_NUMBER(4));
    run(&bench, 1, whole(7, PAGE_NUMBER(4), 100, "w"), bench.local, PAGE_NUMBER(8));
    oracle_cpu_write(bench.oracle, 7, 0, bench.local, PAGE_NUMBER(8), PAGE_BYTES, 900);
    page_store_write_tag(bench.local, PAGE_NUMBER(8), PAGE_BYTES, 900);
    page_store_write(bench.local, wrong, "\x5a", 1);
    oracle_cpu_read(bench.oracle, 7, 0, bench.local, PAGE_NUMBER(8), PAGE_BYTES);
    assert_int_equal(bench.report_count, 1);
    assert_int_equal(bench.last.offset, 0xffb);
    assert_string_equal(bench.where, "read by the CPU");
    assert_int_equal(strncmp(bench.bytes, "0x000ff8  expected ", 19), 0);
    assert_non_null(strstr(bench.bytes, " 5a "));
    assert_non_null(strstr(bench.bytes, "  *"));
    assert_null(strchr(bench.bytes, '\n'));
    close_bench(&bench);
}

static void a_zero_entry_reads_as_zero_and_loses_writes(void **state)
{
    struct bench bench;

    open_bench(&bench, 64);
    create(&bench, 7, PAGE_NUMBER(2));
    run(&bench, 1, whole(7, PAGE_NUMBER(2), 0, "r"), NULL, 0);
    assert_silent(&bench);
    run(&bench, 2, whole(7, PAGE_NUMBER(2), 9, "w"), NULL, 0);
    assert_only(&bench, ORACLE_WRITE_LOST, 1);
    run(&bench, 3, whole(7, PAGE_NUMBER(2), 9, "r"), NULL, 0);
    assert_int_equal(problems(&bench, ORACLE_CONTENT), 1);
    assert_int_equal(oracle_counters(bench.oracle)->mismatched_pages, 2);
    close_bench(&bench);
}

static void cpu_accesses_are_compared_and_tell_where_pages_are(void **state)
{
    struct page_store *store;
    struct bench bench;
    uint64_t page;

    open_bench(&bench, 64);
    create(&bench, 7, PAGE_NUMBER(2));
    assert_false(oracle_find_page(bench.oracle, 7, 0, &store, &page));
    oracle_cpu_write(bench.oracle, 7, 0, bench.ram, PAGE_NUMBER(20), PAGE_BYTES, 70);
    oracle_cpu_write(bench.oracle, 7, PAGE_BYTES, bench.ram, PAGE_NUMBER(5), 64, 71);
    page_store_write_tag(bench.ram, PAGE_NUMBER(20), PAGE_BYTES, 70);
    page_store_write_tag(bench.ram, PAGE_NUMBER(5), 64, 71);
    oracle_cpu_read(bench.oracle, 7, PAGE_BYTES, bench.ram, PAGE_NUMBER(5), PAGE_BYTES);
    assert_true(oracle_find_page(bench.oracle, 7, 1, &store, &page));
    assert_ptr_equal(store, bench.ram);
    assert_int_equal(page, 5);
    assert_true(oracle_final_check(bench.oracle));
    assert_silent(&bench);

    page_store_fill(bench.ram, PAGE_NUMBER(20), 16, 0);
    assert_false(oracle_final_check(bench.oracle));
    assert_only(&bench, ORACLE_CONTENT, 1);
    assert_int_equal(bench.last.page, 0);
    assert_non_null(strstr(bench.text, "system page 0x14"));
    assert_non_null(strstr(bench.text, "final check"));
    close_bench(&bench);
}

static void an_access_tells_of_all_its_pages_whatever_was_known(void **state)
{
    struct oracle_reference first = whole(7, PAGE_NUMBER(2), 5, "w");
    struct page_store *store;
    struct bench bench;
    uint64_t page;

    open_bench(&bench, 64);
    create(&bench, 7, PAGE_NUMBER(4));
    run(&bench, 1, first, bench.ram, PAGE_NUMBER(8));
    run(&bench, 2, whole(7, PAGE_NUMBER(4), 6, "w"), bench.ram, PAGE_NUMBER(8));
    for (uint64_t i = 0; i < 4; i++) {
        assert_true(oracle_find_page(bench.oracle, 7, i, &store, &page));
        assert_int_equal(page, 8 + i);
    }
    /* What is known stays: this one goes elsewhere, and only page 0 of the next was unknown. */
    create(&bench, 8, PAGE_NUMBER(2));
    oracle_cpu_write(bench.oracle, 8, PAGE_BYTES, bench.ram, PAGE_NUMBER(21), 16, 70);
    page_store_write_tag(bench.ram, PAGE_NUMBER(21), 16, 70);
    run(&bench, 3, whole(8, PAGE_NUMBER(2), 0, "r"), bench.ram, PAGE_NUMBER(30));
    assert_true(oracle_find_page(bench.oracle, 8, 0, &store, &page));
    assert_int_equal(page, 30);
    assert_true(oracle_find_page(bench.oracle, 8, 1, &store, &page));
    assert_int_equal(page, 21);
    close_bench(&bench);
}

static void written_content_that_is_nowhere_is_reported(void **state)
{
    struct oracle_reference elsewhere = whole(7, PAGE_NUMBER(1), 5, "w");
    struct page_store *other = page_store_create(base_services_libc(), 4);
    struct bench bench;

    open_bench(&bench, 64);
    create(&bench, 7, PAGE_NUMBER(2));
    run(&bench, 1, elsewhere, other, 0); /* in neither memory: nothing is learnt */
    assert_false(oracle_final_check(bench.oracle));
    assert_only(&bench, ORACLE_UNLOCATED, 1);
    assert_int_equal(oracle_counters(bench.oracle)->unlocated_pages, 1);
    close_bench(&bench);
    page_store_destroy(other);
}

static void lost_content_is_not_expected_until_it_is_written(void **state)
{
    struct oracle_reference second = whole(7, PAGE_NUMBER(1), 60, "w");
    struct bench bench;

    second.offset = PAGE_BYTES;
    open_bench(&bench, 64);
    create(&bench, 7, PAGE_NUMBER(3));
    run(&bench, 1, whole(7, PAGE_NUMBER(3), 100, "w"), bench.local, PAGE_NUMBER(8));
    oracle_content_lost(bench.oracle, 7);
    page_store_fill(bench.local, PAGE_NUMBER(8), PAGE_NUMBER(3), 0xdeadbeef);
    run(&bench, 2, whole(7, PAGE_NUMBER(3), 0, "r"), bench.local, PAGE_NUMBER(8));
    run(&bench, 3, second, bench.local, PAGE_NUMBER(9));
    run(&bench, 4, whole(7, PAGE_NUMBER(3), 0, "r"), bench.local, PAGE_NUMBER(8));
    assert_true(oracle_final_check(bench.oracle));
    assert_silent(&bench);
    page_store_fill(bench.local, PAGE_NUMBER(8), PAGE_NUMBER(3), 0xdeadbeef);
    oracle_cpu_read(bench.oracle, 7, 0, bench.local, PAGE_NUMBER(8), PAGE_NUMBER(3));
    assert_only(&bench, ORACLE_CONTENT, 1);
    assert_int_equal(oracle_counters(bench.oracle)->mismatched_pages, 1);
    assert_int_equal(bench.last.page, 1);
    close_bench(&bench);
}

/* A page that is copied from the end of a lost page and the start of another one is lost, too. */
static void a_copy_of_lost_content_is_lost_at_its_own_offset(void **state)
{
    const struct oracle_reference copy[] = {
        {.allocation = 7, .offset = PAGE_BYTES / 2, .bytes = PAGE_BYTES, .is_read = true},
        {.allocation = 8,
         .offset = PAGE_BYTES,
         .bytes = PAGE_BYTES,
         .is_written = true,
         .source = ORACLE_COPY},
    };
    struct oracle_reference rest = whole(7, PAGE_NUMBER(3), 60, "w");
    struct bench bench;

    rest.offset = PAGE_BYTES;
    open_bench(&bench, 64);
    create(&bench, 7, PAGE_NUMBER(4));
    create(&bench, 8, PAGE_NUMBER(2));
    run(&bench, 1, whole(7, PAGE_NUMBER(4), 100, "w"), bench.local, PAGE_NUMBER(8));
    run(&bench, 2, whole(8, PAGE_NUMBER(2), 200, "w"), bench.local, PAGE_NUMBER(16));
    oracle_content_lost(bench.oracle, 7);
    page_store_fill(bench.local, PAGE_NUMBER(8), PAGE_NUMBER(1), 0xdeadbeef);
    run(&bench, 3, rest, bench.local, PAGE_NUMBER(9));
    assert_int_equal(oracle_submission(bench.oracle, 4, 2, copy), STATUS_SUCCESS);
    oracle_render_begin(bench.oracle, 4, 0);
    oracle_render_read(bench.oracle, 4, 0, 0, bench.local, PAGE_NUMBER(8) + PAGE_BYTES / 2,
                       PAGE_BYTES);
    oracle_render_write(bench.oracle, 4, 1, 0, bench.local, PAGE_NUMBER(17), PAGE_BYTES);
    page_store_copy_bytes(bench.local, PAGE_NUMBER(17), bench.local,
                          PAGE_NUMBER(8) + PAGE_BYTES / 2, PAGE_BYTES);
    oracle_render_end(bench.oracle, 4);
    oracle_submission_retired(bench.oracle, 4);
    page_store_fill(bench.local, PAGE_NUMBER(17), PAGE_BYTES, 0x12345678);
    run(&bench, 5, whole(8, PAGE_NUMBER(2), 0, "r"), bench.local, PAGE_NUMBER(16));
    assert_true(oracle_final_check(bench.oracle));
    assert_silent(&bench);
    close_bench(&bench);
}

/* A copy stands as it is at the end of its piece, whatever the next piece writes to its source. */
static void each_piece_of_a_render_is_expected_once_and_when_it_ends(void **state)
{
    const struct oracle_reference pieces[] = {
        {.allocation = 7, .bytes = PAGE_BYTES, .is_read = true},
        {.allocation = 8, .bytes = PAGE_BYTES, .is_written = true, .source = ORACLE_COPY},
        {.allocation = 7, .bytes = PAGE_BYTES, .key = 300, .is_written = true},
    };
    struct bench bench;

    open_bench(&bench, 64);
    create(&bench, 7, PAGE_BYTES);
    create(&bench, 8, PAGE_BYTES);
    run(&bench, 1, whole(7, PAGE_BYTES, 100, "w"), bench.local, PAGE_NUMBER(8));
    run(&bench, 2, whole(8, PAGE_BYTES, 200, "w"), bench.local, PAGE_NUMBER(16));
    assert_int_equal(oracle_submission(bench.oracle, 3, 3, pieces), STATUS_SUCCESS);
    oracle_render_begin(bench.oracle, 3, 0);
    oracle_render_read(bench.oracle, 3, 0, 0, bench.local, PAGE_NUMBER(8), PAGE_BYTES);
    oracle_render_write(bench.oracle, 3, 1, 0, bench.local, PAGE_NUMBER(16), PAGE_BYTES);
    page_store_copy_bytes(bench.local, PAGE_NUMBER(16), bench.local, PAGE_NUMBER(8), PAGE_BYTES);
    oracle_render_piece_end(bench.oracle, 3);
    oracle_render_write(bench.oracle, 3, 2, 0, bench.local, PAGE_NUMBER(8), PAGE_BYTES);
    page_store_write_tag(bench.local, PAGE_NUMBER(8), PAGE_BYTES, 300);
    oracle_render_piece_end(bench.oracle, 3);
    oracle_render_end(bench.oracle, 3);
    oracle_submission_retired(bench.oracle, 3);
    run(&bench, 4, whole(7, PAGE_BYTES, 0, "r"), bench.local, PAGE_NUMBER(8));
    run(&bench, 5, whole(8, PAGE_BYTES, 0, "r"), bench.local, PAGE_NUMBER(16));
    assert_true(oracle_final_check(bench.oracle));
    assert_silent(&bench);
    close_bench(&bench);
}

/* The pages of lost content belong to others: what is written next is where it is written. */
static void lost_content_is_looked_for_where_it_is_written_next(void **state)
{
    struct bench bench;

    open_bench(&bench, 64);
    create(&bench, 7, PAGE_NUMBER(2));
    run(&bench, 1, whole(7, PAGE_NUMBER(2), 100, "w"), bench.local, PAGE_NUMBER(8));
    oracle_content_lost(bench.oracle, 7);
    page_store_fill(bench.local, PAGE_NUMBER(8), PAGE_NUMBER(2), 0xdeadbeef);
    run(&bench, 2, whole(7, PAGE_NUMBER(2), 200, "w"), bench.local, PAGE_NUMBER(16));
    assert_true(oracle_final_check(bench.oracle));
    assert_silent(&bench);
    page_store_fill(bench.local, PAGE_NUMBER(17), PAGE_NUMBER(1), 0xdeadbeef);
    assert_false(oracle_final_check(bench.oracle));
    assert_only(&bench, ORACLE_CONTENT, 1);
    assert_int_equal(bench.last.page, 1);
    close_bench(&bench);
}

/* No reset took anything of it. */
static void content_that_no_reset_took_stays_expected(void **state)
{
    struct bench bench;

    open_bench(&bench, 64);
    create(&bench, 7, PAGE_NUMBER(2));
    run(&bench, 1, whole(7, PAGE_NUMBER(2), 100, "w"), bench.local, PAGE_NUMBER(8));
    oracle_reset_took(bench.oracle, 7);
    page_store_fill(bench.local, PAGE_NUMBER(8), PAGE_NUMBER(2), 0xdeadbeef);
    assert_false(oracle_final_check(bench.oracle));
    assert_only(&bench, ORACLE_CONTENT, 1);
    close_bench(&bench);
}

/* ---- Submissions ---- */

static void a_gap_an_overlap_and_a_short_run_are_coverage(void **state)
{
    static const struct {
        uint64_t at[2];
        uint64_t bytes[2];
    } cases[] = {
        {{0, 0x2000}, {0x1000, 0x2000}}, /* a gap     */
        {{0, 0x1000}, {0x2000, 0x3000}}, /* an overlap */
        {{0, 0x1000}, {0x1000, 0x1000}}, /* too short */
        {{0, 0x1000}, {0x1000, 0x4000}}, /* too long  */
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct oracle_reference reference = whole(7, PAGE_NUMBER(4), 0, "r");
        struct bench bench;

        open_bench(&bench, 64);
        create(&bench, 7, PAGE_NUMBER(4));
        assert_int_equal(oracle_submission(bench.oracle, 1, 1, &reference), STATUS_SUCCESS);
        oracle_render_begin(bench.oracle, 1, 0);
        for (int j = 0; j < 2; j++)
            oracle_render_read(bench.oracle, 1, 0, cases[i].at[j], bench.local,
                               PAGE_NUMBER(8) + cases[i].at[j], cases[i].bytes[j]);
        oracle_render_end(bench.oracle, 1);
        oracle_submission_retired(bench.oracle, 1);
        assert_true(problems(&bench, ORACLE_COVERAGE) > 0);
        assert_int_equal(problems(&bench, ORACLE_CONTENT), 0);
        assert_int_equal(bench.report_count, 1);
        assert_int_equal(bench.last.token, 1);
        close_bench(&bench);
    }
}

static void a_submission_runs_exactly_once(void **state)
{
    struct oracle_reference none = whole(7, PAGE_NUMBER(1), 0, "");
    struct bench bench;

    open_bench(&bench, 64);
    create(&bench, 7, PAGE_NUMBER(1));
    oracle_submission(bench.oracle, 1, 1, &none); /* never runs */
    oracle_submission_retired(bench.oracle, 1);
    assert_only(&bench, ORACLE_RUN_COUNT, 1);
    oracle_submission(bench.oracle, 2, 1, &none); /* runs twice */
    for (int i = 0; i < 2; i++) {
        oracle_render_begin(bench.oracle, 2, 0);
        oracle_render_end(bench.oracle, 2);
    }
    oracle_submission_retired(bench.oracle, 2);
    assert_only(&bench, ORACLE_RUN_COUNT, 2);
    oracle_render_begin(bench.oracle, 2, 0); /* is none any more */
    oracle_render_end(bench.oracle, 2);
    assert_only(&bench, ORACLE_RUN_COUNT, 3);
    oracle_submission(bench.oracle, 3, 1, &none); /* reported before its end */
    oracle_render_begin(bench.oracle, 3, 0);
    oracle_submission_retired(bench.oracle, 3);
    assert_only(&bench, ORACLE_RUN_COUNT, 4);
    oracle_submission(bench.oracle, 4, 1, &none);
    oracle_submission_cancelled(bench.oracle, 4);
    assert_only(&bench, ORACLE_RUN_COUNT, 4);
    assert_int_equal(bench.report_count, 4);
    close_bench(&bench);
}

/* Of whatever is wrong in it, and whatever was wrong in another one of the same allocation. */
static void each_submission_is_reported_once(void **state)
{
    struct oracle_reference reference = whole(7, PAGE_NUMBER(4), 0, "r");
    struct bench bench;

    open_bench(&bench, 64);
    create(&bench, 7, PAGE_NUMBER(4));
    for (unsigned token = 1; token <= 2; token++) {
        assert_int_equal(oracle_submission(bench.oracle, token, 1, &reference), STATUS_SUCCESS);
        oracle_render_begin(bench.oracle, token, 0);
        oracle_render_read(bench.oracle, token, 0, PAGE_BYTES, bench.local, PAGE_NUMBER(9),
                           PAGE_BYTES); /* not from its start */
        oracle_render_end(bench.oracle, token);
        oracle_render_begin(bench.oracle, token, 0); /* once more */
        oracle_render_end(bench.oracle, token);
        oracle_submission_retired(bench.oracle, token);
        assert_int_equal(bench.report_count, token);
        assert_int_equal(bench.last.token, token);
        assert_int_equal(bench.last.problem, ORACLE_COVERAGE);
        assert_int_equal(problems(&bench, ORACLE_RUN_COUNT), token);
    }
    close_bench(&bench);
}

static void a_freed_allocation_is_known_until_its_submissions_retire(void **state)
{
    struct oracle_reference reference = whole(7, PAGE_NUMBER(1), 0, "r");
    struct bench bench;

    open_bench(&bench, 64);
    create(&bench, 7, PAGE_NUMBER(1));
    run(&bench, 1, whole(7, PAGE_NUMBER(1), 100, "w"), bench.local, PAGE_NUMBER(8));
    oracle_submission(bench.oracle, 2, 1, &reference);
    oracle_allocation_freed(bench.oracle, 7);
    create(&bench, 7, PAGE_NUMBER(1)); /* the id lives again, with other content */
    oracle_render_begin(bench.oracle, 2, 0);
    oracle_render_read(bench.oracle, 2, 0, 0, bench.local, PAGE_NUMBER(8), PAGE_BYTES);
    oracle_render_end(bench.oracle, 2);
    oracle_submission_retired(bench.oracle, 2);
    assert_silent(&bench);
    create(&bench, 8, PAGE_NUMBER(1)); /* takes the range: zero again */
    run(&bench, 3, whole(8, PAGE_NUMBER(1), 0, "r"), bench.local, PAGE_NUMBER(9));
    assert_silent(&bench);
    close_bench(&bench);
}

/* ---- Limits ---- */

static void reports_stop_at_the_limit_and_counting_goes_on(void **state)
{
    struct bench bench;

    open_bench(&bench, 64);
    for (uint64_t id = 0; id < 40; id++) {
        create(&bench, id, PAGE_NUMBER(1));
        oracle_cpu_write(bench.oracle, id, 0, bench.ram, PAGE_NUMBER(id), PAGE_BYTES, 1 + id);
    }
    assert_false(oracle_final_check(bench.oracle));
    assert_int_equal(bench.report_count, ORACLE_REPORTS);
    assert_only(&bench, ORACLE_CONTENT, 40);
    close_bench(&bench);
}

static void too_much_expected_content_is_refused(void **state)
{
    struct bench bench;

    open_bench(&bench, 64);
    assert_int_equal(oracle_allocation_created(bench.oracle, 1, PAGE_NUMBER(257), "x"),
                     STATUS_INSUFFICIENT_RESOURCES);
    create(&bench, 1, PAGE_NUMBER(200));
    assert_int_equal(oracle_allocation_created(bench.oracle, 2, PAGE_NUMBER(57), "x"),
                     STATUS_INSUFFICIENT_RESOURCES);
    create(&bench, 2, PAGE_NUMBER(56));
    oracle_allocation_freed(bench.oracle, 1);
    create(&bench, 1, PAGE_NUMBER(200) - 1);
    close_bench(&bench);
}

static NTSTATUS little_life(struct bench *bench, const struct base_services *services)
{
    struct oracle_config config = {.services = services,
                                   .ram = bench->ram,
                                   .local = bench->local,
                                   .expected_bytes = PAGE_NUMBER(64)};
    struct oracle_reference reference = whole(1, PAGE_NUMBER(2), 0, "rw");
    struct oracle *oracle;
    NTSTATUS status = oracle_create(&config, &oracle);

    if (!NT_SUCCESS(status))
        return status;
    status = oracle_allocation_created(oracle, 1, PAGE_NUMBER(2), "x");
    if (NT_SUCCESS(status)) {
        oracle_cpu_write(oracle, 1, 0, bench->ram, 0, PAGE_NUMBER(2), 4);
        page_store_write_tag(bench->ram, 0, PAGE_NUMBER(2), 4);
        status = oracle_submission(oracle, 1, 1, &reference);
    }
    assert_true(oracle_check(oracle));
    assert_int_equal(oracle_counters(oracle)->mismatches, 0);
    oracle_destroy(oracle);
    return status;
}

static void every_nth_allocation_failure_leaves_it_whole(void **state)
{
    struct failing_services memory;
    struct bench bench;

    open_bench(&bench, 64);
    for (uint64_t n = 1;; n++) {
        NTSTATUS status;

        failing_services_init(&memory);
        failing_services_fail_at(&memory, n);
        status = little_life(&bench, &memory.services);
        assert_int_equal(memory.live_blocks, 0);
        assert_true(status == STATUS_SUCCESS || status == STATUS_NO_MEMORY);
        if (!memory.has_failed)
            break;
    }
    close_bench(&bench);
}

/*
 * The inner loop of a run, in its two forms: one piece, and a run a page as scattered pages give.
 */
static void ten_million_pages_are_compared_quickly(void **state)
{
    const uint64_t pages = UINT64_C(2500000);
    struct oracle_reference reference = whole(1, PAGE_NUMBER(pages), 0, "r");
    struct bench bench;
    clock_t started;
    double linear;
    double scattered;

    open_bench(&bench, pages);
    create(&bench, 1, PAGE_NUMBER(pages));
    run(&bench, 1, whole(1, PAGE_NUMBER(pages), 100, "w"), bench.local, 0);

    started = clock();
    for (uint64_t token = 2; token < 6; token++)
        run(&bench, token, reference, bench.local, 0);
    linear = (double)(clock() - started) / CLOCKS_PER_SEC;

    assert_int_equal(oracle_submission(bench.oracle, 6, 1, &reference), STATUS_SUCCESS);
    oracle_render_begin(bench.oracle, 6, 0);
    started = clock();
    for (uint64_t page = 0; page < pages; page++)
        oracle_render_read(bench.oracle, 6, 0, PAGE_NUMBER(page), bench.local, PAGE_NUMBER(page),
                           PAGE_BYTES);
    scattered = (double)(clock() - started) / CLOCKS_PER_SEC;
    oracle_render_end(bench.oracle, 6);
    oracle_submission_retired(bench.oracle, 6);

    print_message("10 M pages in one piece: %.1f ms; a page a run: %.1f ns a page\n", 1e3 * linear,
                  1e9 * scattered / (double)pages);
    assert_int_equal(oracle_counters(bench.oracle)->pages_checked, 5 * pages);
    assert_silent(&bench);
#if !defined(DRYDOCK_DEBUG) && defined(__OPTIMIZE__)
    assert_true(linear < 0.1);
#endif
    close_bench(&bench);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read_in_silence),
        cmocka_unit_test(parts_of_pages_are_compared_as_the_gpu_packet_defines_them),
        cmocka_unit_test(stale_content_is_reported_once_with_its_place),
        cmocka_unit_test(a_mismatch_shows_its_bytes_up_to_the_page_end),
        cmocka_unit_test(a_zero_entry_reads_as_zero_and_loses_writes),
        cmocka_unit_test(cpu_accesses_are_compared_and_tell_where_pages_are),
        cmocka_unit_test(an_access_tells_of_all_its_pages_whatever_was_known),
        cmocka_unit_test(written_content_that_is_nowhere_is_reported),
        cmocka_unit_test(lost_content_is_not_expected_until_it_is_written),
        cmocka_unit_test(a_copy_of_lost_content_is_lost_at_its_own_offset),
        cmocka_unit_test(lost_content_is_looked_for_where_it_is_written_next),
        cmocka_unit_test(content_that_no_reset_took_stays_expected),
        cmocka_unit_test(a_gap_an_overlap_and_a_short_run_are_coverage),
        cmocka_unit_test(a_submission_runs_exactly_once),
        cmocka_unit_test(each_submission_is_reported_once),
        cmocka_unit_test(a_freed_allocation_is_known_until_its_submissions_retire),
        cmocka_unit_test(reports_stop_at_the_limit_and_counting_goes_on),
        cmocka_unit_test(too_much_expected_content_is_refused),
        cmocka_unit_test(every_nth_allocation_failure_leaves_it_whole),
        cmocka_unit_test(ten_million_pages_are_compared_quickly),
        cmocka_unit_test(each_piece_of_a_render_is_expected_once_and_when_it_ends),
    };

    return told_run(tests, ARRAY_COUNT(tests), __FILE__);
}
