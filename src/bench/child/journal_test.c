/* A journal over a pipe; what a parent makes of frames and records that are not true. */
#define _GNU_SOURCE
#include "bench/child/journal_reader.h"

#include "bench/child/case_facts.h"
#include "bench/child/child_run.h"
#include "bench/drivers/drivers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define KEY 0x1234

static const char case_text[] = "drydock-case 1\n"
                                "option seed 5\n"
                                "alloc a size=64K\n"
                                "submit c0 a:w\n"
                                "wait all\n"
                                "read a\n";

/* A run that is told by hand. */
struct told {
    int ends[2];
    struct run_result *result;
    struct journal_reader *reader;
    struct workload *workload;
    struct run_config config;
    uint64_t answer;
};

static int set_up(void **state)
{
    struct told *told = calloc(1, sizeof *told);
    struct workload_error error;

    assert_non_null(told);
    assert_int_equal(pipe(told->ends), 0);
    told->result = calloc(1, sizeof *told->result);
    told->reader = calloc(1, sizeof *told->reader);
    assert_non_null(told->result);
    assert_non_null(told->reader);
    assert_true(workload_parse(case_text, strlen(case_text), "told.case", &told->workload, &error));
    run_config_defaults(&told->config);
    run_config_from_workload(&told->config, told->workload);
    run_config_complete(&told->config, told->workload);
    journal_open(told->ends[1], KEY, true);
    journal_begin_run(told->result);
    journal_reader_begin(told->reader, told->ends[0], KEY);
    *state = told;
    return 0;
}

static int tear_down(void **state)
{
    struct told *told = *state;

    close(told->ends[0]);
    close(told->ends[1]);
    workload_free(told->workload);
    free(told->result);
    free(told->reader);
    free(told);
    return 0;
}

static void call_driver(unsigned times, enum miniport_ddi ddi)
{
    const struct trace_event event = {.phase = TRACE_BEFORE, .ddi = ddi};

    while (times--)
        journal_note_call(&event);
}

/* What a lawful run of the case counts. */
static void play(struct told *told)
{
    call_driver(2 * JOURNAL_PACE, MINIPORT_DDI_BuildPagingBuffer);
    call_driver(1, MINIPORT_DDI_SubmitCommandVirtual);
    told->result->operations_played = 4;
    told->result->submissions = 1;
    told->result->rules.evaluated[RULE_NONE + 1] = 10 * JOURNAL_PACE;
    told->result->pages_checked = 32;
    told->result->digest = 77;
}

static enum journal_got read_all(struct told *told)
{
    enum journal_got got;

    do
        got = journal_read(told->reader, &told->answer, sizeof told->answer);
    while (got == JOURNAL_GOT_FRAME);
    return got;
}

static struct journal_claim claim_of(const struct told *told)
{
    struct journal_claim claim = {.digest = told->result->digest,
                                  .outcome = told->result->outcome,
                                  .tally = told->reader->end.tally};

    journal_count(told->result, &claim.tally);
    return claim;
}

static void end_run(struct told *told)
{
    const uint64_t answer = 42;

    journal_end_run();
    assert_true(journal_answer(&answer, sizeof answer));
    assert_int_equal(read_all(told), JOURNAL_GOT_ANSWER);
    assert_int_equal(told->answer, 42);
}

static void assert_contradicted(const struct told *told, const struct journal_claim *claim,
                                const char *expected)
{
    char why[256] = "";

    assert_true(
        journal_contradiction(told->reader, claim, &told->config, told->workload, why, sizeof why));
    if (!strstr(why, expected))
        fail_msg("'%s' does not say '%s'", why, expected);
}

static void a_run_in_order_is_believed(void **state)
{
    struct told *told = *state;
    struct journal_claim claim;
    char why[256] = "";

    play(told);
    end_run(told);
    claim = claim_of(told);
    assert_false(journal_contradiction(told->reader, &claim, &told->config, told->workload, why,
                                       sizeof why));
    assert_true(told->reader->has_end);
    assert_true(told->reader->number >= 4); /* two of progress at least, the end, the answer */
}

static void what_an_answer_leaves_out_is_zero(void **state)
{
    struct told *told = *state;
    const uint8_t part[] = {42, 1};

    play(told);
    journal_end_run();
    assert_true(journal_answer(part, sizeof part));
    told->answer = UINT64_MAX;
    assert_int_equal(read_all(told), JOURNAL_GOT_ANSWER);
    assert_int_equal(told->answer, 42 + (1 << 8));
}

static void an_answer_that_is_too_long_breaks_it(void **state)
{
    struct told *told = *state;
    const uint64_t two[] = {1, 2};

    play(told);
    journal_end_run();
    assert_true(journal_answer(two, sizeof two));
    assert_int_equal(read_all(told), JOURNAL_GOT_BROKEN);
}

static void a_finding_that_was_told_stays(void **state)
{
    struct told *told = *state;
    struct journal_claim claim;

    run_result_report(told->result, RUN_FINDING_DRIVER, 0, 0, "a mistake");
    journal_tell_findings();
    memset(told->result->findings, 0, sizeof told->result->findings);
    memset(told->result->finding_totals, 0, sizeof told->result->finding_totals);
    told->result->finding_count = 0;
    play(told);
    end_run(told);
    assert_int_equal(told->reader->finding_count, 1);
    assert_string_equal(told->reader->findings[0].text, "a mistake");
    claim = claim_of(told);
    assert_contradicted(told, &claim, "a finding was told during the run");
}

static void findings_that_were_told_are_counted(void **state)
{
    struct told *told = *state;
    struct journal_claim claim;

    run_result_report(told->result, RUN_FINDING_DRIVER, 0, 0, "a mistake");
    run_result_report(told->result, RUN_FINDING_DRIVER, 0, 0, "another one");
    run_result_report(told->result, RUN_FINDING_ADVICE, 0, 0, "advice");
    journal_tell_findings();
    told->result->finding_totals[RUN_FINDING_DRIVER] = 1;
    told->result->outcome = RUN_FINDINGS;
    play(told);
    end_run(told);
    claim = claim_of(told);
    assert_contradicted(told, &claim,
                        "2 findings were told during the run, and at its end it had 1");
}

static void counts_never_become_less(void **state)
{
    struct told *told = *state;

    play(told);
    call_driver(JOURNAL_PACE, MINIPORT_DDI_BuildPagingBuffer);
    told->result->submissions = 0;
    call_driver(JOURNAL_PACE, MINIPORT_DDI_BuildPagingBuffer);
    assert_int_equal(read_all(told), JOURNAL_GOT_BROKEN);
    assert_non_null(strstr(told->reader->why, "submissions that ran: first 1 were told, then 0"));
    /* For good. */
    assert_int_equal(read_all(told), JOURNAL_GOT_BROKEN);
}

static void another_record_than_the_end_told_is_not_believed(void **state)
{
    struct told *told = *state;
    struct journal_claim claim;

    play(told);
    end_run(told);
    claim = claim_of(told);
    claim.digest++;
    assert_contradicted(told, &claim, "digest");
    claim = claim_of(told);
    claim.outcome = RUN_REFUSED;
    assert_contradicted(told, &claim, "another outcome");
    claim = claim_of(told);
    claim.tally.pages_checked++;
    assert_contradicted(told, &claim, "compared pages: the run ended with 32, the record has 33");
}

static void a_record_without_an_end_is_not_believed(void **state)
{
    struct told *told = *state;
    const uint64_t answer = 42;
    struct journal_claim claim;

    play(told);
    assert_true(journal_answer(&answer, sizeof answer));
    assert_int_equal(read_all(told), JOURNAL_GOT_ANSWER);
    claim = claim_of(told);
    assert_contradicted(told, &claim, "the end of the run was not told");
}

static void bytes_of_others_break_it(void **state)
{
    struct told *told = *state;
    struct journal_frame frame = {
        .mark = JOURNAL_MARK, .kind = JOURNAL_ANSWER, .number = 1, .bytes = sizeof told->answer};
    char bytes[sizeof frame + sizeof told->answer] = {0};

    /* A frame that is right but for its seal. */
    memcpy(bytes, &frame, sizeof frame);
    assert_int_equal(write(told->ends[1], bytes, sizeof bytes), sizeof bytes);
    assert_int_equal(read_all(told), JOURNAL_GOT_BROKEN);
    assert_non_null(strstr(told->reader->why, "seal"));
    /* A kind that there is not, of any length. */
    journal_reader_begin(told->reader, told->ends[0], KEY);
    frame.kind = JOURNAL_ANSWER + 1;
    frame.bytes = SIZE_MAX;
    assert_int_equal(write(told->ends[1], &frame, sizeof frame), sizeof frame);
    assert_int_equal(read_all(told), JOURNAL_GOT_BROKEN);
    /* No frame at all. */
    journal_reader_begin(told->reader, told->ends[0], KEY);
    assert_int_equal(write(told->ends[1], case_text, sizeof bytes), sizeof bytes);
    assert_int_equal(read_all(told), JOURNAL_GOT_BROKEN);
    assert_non_null(strstr(told->reader->why, "not what the bench sends"));
}

static void a_frame_that_is_sent_twice_breaks_it(void **state)
{
    struct told *told = *state;
    char bytes[4096];
    ssize_t got;

    call_driver(1, MINIPORT_DDI_BuildPagingBuffer);
    got = read(told->ends[0], bytes, sizeof bytes);
    assert_true(got > 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(write(told->ends[1], bytes, (size_t)got), got);
    assert_int_equal(read_all(told), JOURNAL_GOT_BROKEN);
}

static void nothing_more_is_told_behind_the_end(void **state)
{
    struct told *told = *state;

    play(told);
    journal_end_run();
    /* A second run in the same process is not told. */
    journal_begin_run(told->result);
    call_driver(JOURNAL_PACE, MINIPORT_DDI_BuildPagingBuffer);
    assert_int_equal(read_all(told), JOURNAL_GOT_NOTHING);
    assert_true(told->reader->has_end);
    close(told->ends[1]);
    assert_int_equal(read_all(told), JOURNAL_GOT_CLOSED);
    told->ends[1] = dup(told->ends[0]);
}

/* Each count that a clean run of the case has at least, one less. */
static void a_clean_run_has_done_what_the_case_asks_for(void **state)
{
    const struct told *told = *state;
    const struct journal_tally lawful = {.calls = 100,
                                         .submit_calls = 1,
                                         .operations = 4,
                                         .submissions = 1,
                                         .evaluated = 200,
                                         .pages_checked = 2};
    struct journal_tally tally = lawful;
    char why[256];

    assert_false(case_contradiction(&told->config, told->workload, &tally, why, sizeof why));
    tally.operations--;
    assert_true(case_contradiction(&told->config, told->workload, &tally, why, sizeof why));
    assert_non_null(strstr(why, "at least this: 4 lines of the case are played"));
    tally = lawful;
    tally.submissions = 0;
    assert_true(case_contradiction(&told->config, told->workload, &tally, why, sizeof why));
    assert_non_null(strstr(why, "1 submissions have ended; the record has 0"));
    tally.aborted = 1;
    assert_false(case_contradiction(&told->config, told->workload, &tally, why, sizeof why));
    tally = lawful;
    tally.submit_calls = 0;
    assert_true(case_contradiction(&told->config, told->workload, &tally, why, sizeof why));
    assert_non_null(strstr(why, "handed to the driver"));
    tally = lawful;
    tally.evaluated--;
    assert_true(case_contradiction(&told->config, told->workload, &tally, why, sizeof why));
    assert_non_null(strstr(why, "200 rules are evaluated"));
    tally = lawful;
    tally.pages_checked--;
    assert_true(case_contradiction(&told->config, told->workload, &tally, why, sizeof why));
    assert_non_null(strstr(why, "2 pages are compared"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TOLD(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TOLD(a_run_in_order_is_believed),
        TOLD(what_an_answer_leaves_out_is_zero),
        TOLD(an_answer_that_is_too_long_breaks_it),
        TOLD(a_finding_that_was_told_stays),
        TOLD(findings_that_were_told_are_counted),
        TOLD(counts_never_become_less),
        TOLD(another_record_than_the_end_told_is_not_believed),
        TOLD(a_record_without_an_end_is_not_believed),
        TOLD(bytes_of_others_break_it),
        TOLD(a_frame_that_is_sent_twice_breaks_it),
        TOLD(nothing_more_is_told_behind_the_end),
        TOLD(a_clean_run_has_done_what_the_case_asks_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
