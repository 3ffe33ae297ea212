/*
 * The builder, and what is computed from a finished workload, each against the plainest model.
 */
#include "workload/build/builder_private.h"
#include "workload/case/case_parse.h"
#include "workload/file.h"
#include "workload/generate/generate.h"
#include "workload/workload.h"
#include "workload/summary.h"
#include "workload/translations.h"
#include "workload/words.h"

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

static void expect_error(struct workload_builder *builder, const char *expected)
{
    struct workload_error error;
    struct workload *workload;

    assert_false(workload_builder_finish(builder, &workload, &error));
    assert_null(workload);
    assert_string_equal(error.text, expected);
}

static struct workload_builder *new_builder(void)
{
    struct workload_error error;
    struct workload_builder *builder = workload_builder_create("b", &error);

    assert_non_null(builder);
    return builder;
}

static const struct workload_allocation_info one_page = {.size = 4096};

static void the_first_error_stays(void **state)
{
    struct workload_builder *builder = new_builder();

    (void)state;
    workload_builder_set_line(builder, 7);
    workload_builder_free(builder, 3);
    workload_builder_set_line(builder, 8);
    assert_int_equal(workload_builder_alloc(builder, "a", &one_page), WORKLOAD_NONE);
    workload_builder_step(builder, "later");
    workload_builder_wait(builder, WORKLOAD_NONE);
    expect_error(builder, "b:7: allocation 3 does not exist (expected below 0)");
}

static void misuse_by_index_is_an_error(void **state)
{
    struct workload_builder *builder = new_builder();
    uint32_t a;

    (void)state;
    workload_builder_submit_begin(builder, 1, 0);
    expect_error(builder, "b: context 1 does not exist (expected below 1)");

    builder = new_builder();
    workload_builder_wait(builder, 1);
    expect_error(builder, "b: context 1 does not exist (expected below 1)");

    builder = new_builder();
    workload_builder_ref(builder, 0, 0, 0, WORKLOAD_ACCESS_READ, 0);
    expect_error(builder, "b: a reference outside a submission (expected submit_begin before it)");

    builder = new_builder();
    workload_builder_submit_begin(builder, 0, 0);
    workload_builder_step(builder, "x");
    expect_error(builder, "b: step inside a submission (expected submit_end before it)");

    builder = new_builder();
    workload_builder_submit_begin(builder, 0, 0);
    expect_error(builder, "b: a submission is not ended (expected submit_end)");

    builder = new_builder();
    workload_builder_submit_end(builder);
    expect_error(builder, "b: the end of no submission (expected submit_begin before it)");

    builder = new_builder();
    a = workload_builder_alloc(builder, "a", &one_page);
    workload_builder_submit_begin(builder, 0, 0);
    workload_builder_ref(builder, a, 0, 0, 4, 0);
    expect_error(builder, "b: access 4 (expected r, w or rw)");

    builder = new_builder();
    a = workload_builder_alloc(builder, "a", &one_page);
    workload_builder_resident(builder, 5, &a, 1);
    expect_error(builder, "b: device 5 does not exist (expected below 1)");

    builder = new_builder();
    workload_builder_evict(builder, 0, NULL, 0);
    expect_error(builder, "b: evict of nothing (expected at least one allocation)");

    builder = new_builder();
    workload_builder_pte_map(builder, 0, 0, (enum workload_segment)9, 0, 1, 12, 0);
    expect_error(builder, "b: segment 9 (expected local, local-invisible or system)");

    builder = new_builder();
    workload_builder_pte_unmap(builder, 1, 0, 1);
    expect_error(builder, "b: process 1 does not exist (expected below 1)");

    builder = new_builder();
    workload_builder_device(builder, "d", 1);
    expect_error(builder, "b: process 1 does not exist (expected below 0)");

    builder = new_builder();
    workload_builder_context(builder, "c", 1, 0);
    expect_error(builder, "b: device 1 does not exist (expected below 0)");
}

static void a_name_lives_from_alloc_to_free(void **state)
{
    struct workload_builder *builder = new_builder();
    struct workload_error error;
    struct workload *workload;
    uint32_t first, second;

    (void)state;
    assert_int_equal(workload_builder_find(builder, "a"), WORKLOAD_NONE);
    first = workload_builder_alloc(builder, "a", &one_page);
    assert_int_equal(workload_builder_find(builder, "a"), first);
    workload_builder_free(builder, first);
    assert_int_equal(workload_builder_find(builder, "a"), WORKLOAD_NONE);
    second = workload_builder_alloc(builder, "a", &one_page);
    assert_int_not_equal(first, second);
    assert_int_equal(workload_builder_find(builder, "a"), second);
    assert_true(workload_builder_finish(builder, &workload, &error));
    assert_int_equal(workload->allocations[first].free_op, 1);
    assert_int_equal(workload->allocations[second].alloc_op, 2);
    workload_free(workload);
}

static void an_option_can_be_replaced_afterwards(void **state)
{
    struct workload_builder *builder = new_builder();
    struct workload_error error;
    struct workload *workload;

    (void)state;
    workload_builder_option(builder, "local-memory", "64M");
    assert_true(workload_builder_finish(builder, &workload, &error));
    assert_true(workload_set_option(workload, "local-memory", "32M", &error));
    assert_true(workload_set_option(workload, "seed", "5", &error));
    assert_int_equal(workload->option_count, 2);
    assert_int_equal(workload_option_number(workload, "local-memory", 0), 32 * MiB);
    assert_int_equal(workload_option_number(workload, "seed", 0), 5);
    assert_int_equal(workload_option_number(workload, "nodes", 9), 9);
    assert_false(workload_set_option(workload, "seed", "x", &error));
    assert_false(workload_set_option(workload, "sead", "1", &error));
    assert_int_equal(workload->option_count, 2);
    workload_free(workload);
}

static void numbers_are_read_exactly(void **state)
{
    static const struct {
        const char *text;
        bool ok;
        uint64_t value;
    } numbers[] = {
        {"0", true, 0},
        {"18446744073709551615", true, UINT64_MAX},
        {"18446744073709551616", false, 0},
        {"0xffffffffffffffff", true, UINT64_MAX},
        {"0x10000000000000000", false, 0},
        {"0X1f", true, 0x1f},
        {"1K", true, 1024},
        {"0x10K", true, 16384},
        {"17179869183G", true, 17179869183 * GiB},
        {"17179869184G", false, 0},
        {"", false, 0},
        {"G", false, 0},
        {"0x", false, 0},
        {"0xG", false, 0},
        {"1T", false, 0},
        {"1 ", false, 0},
        {"+1", false, 0},
        {"1K1", false, 0},
        {"a", false, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(numbers); i++) {
        uint64_t value = 1;

        if (workload_parse_number(numbers[i].text, strlen(numbers[i].text), &value) !=
            numbers[i].ok)
            fail_msg("%s", numbers[i].text);
        assert_true(value == numbers[i].value);
    }
}

/* Random cases for the models below. */
static struct workload *random_case(unsigned seed, const char *ops)
{
    struct workload_error error;
    struct workload *workload;
    char setting[32];
    const char *settings[3] = {setting, ops, "ptes=yes"};

    snprintf(setting, sizeof setting, "seed=%u", seed);
    if (!workload_generate("random", settings, 3, &workload, &error))
        fail_msg("%s", error.text);
    return workload;
}

/* What a finished workload promises, said again without the builder. */
static void check_promises(const struct workload *w)
{
    bool *live = calloc(w->allocation_count + 1, sizeof *live);

    assert_non_null(live);
    for (uint32_t i = 0; i < w->op_count; i++) {
        const struct workload_op *op = &w->ops[i];

        switch (op->kind) {
        case WORKLOAD_OP_ALLOC:
            assert_false(live[op->object]);
            assert_int_equal(w->allocations[op->object].alloc_op, i);
            for (uint32_t other = 0; other < op->object; other++)
                assert_false(live[other] && strcmp(workload_allocation_name(w, other),
                                                   workload_allocation_name(w, op->object)) == 0);
            live[op->object] = true;
            break;
        case WORKLOAD_OP_FREE:
            assert_true(live[op->object]);
            assert_int_equal(w->allocations[op->object].free_op, i);
            live[op->object] = false;
            break;
        case WORKLOAD_OP_READ:
        case WORKLOAD_OP_WRITE:
        case WORKLOAD_OP_MAP:
            assert_true(live[op->object]);
            assert_true(op->size > 0 && op->offset + op->size <= w->allocations[op->object].size);
            break;
        case WORKLOAD_OP_SUBMIT:
            assert_true(op->object < w->context_count);
            for (uint32_t r = 0; r < op->ref_count; r++) {
                const struct workload_ref *ref = &w->refs[op->first_ref + r];

                assert_true(live[ref->allocation]);
                assert_true(ref->size > 0 &&
                            ref->offset + ref->size <= w->allocations[ref->allocation].size);
            }
            break;
        default:
            break;
        }
    }
    free(live);
}

static void random_cases_keep_what_a_workload_promises(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 20; seed++) {
        struct workload *workload = random_case(seed, "ops=600");

        check_promises(workload);
        workload_free(workload);
    }
}

/*
 * The random generator claims that its cases do not depend on timing: whoever meets an earlier
 * writer of another context, or writes what another one reads, has waited.
 */
static void random_cases_have_no_races(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 20; seed++) {
        struct workload *w = random_case(seed, "ops=1500");
        uint32_t contexts = w->context_count;
        /* Per allocation and context: bits of accesses since the last wait for the context. */
        uint8_t *busy = calloc((size_t)(w->allocation_count + 1) * contexts, 1);

        assert_non_null(busy);
        for (uint32_t i = 0; i < w->op_count; i++) {
            const struct workload_op *op = &w->ops[i];

            if (op->kind == WORKLOAD_OP_WAIT || op->kind == WORKLOAD_OP_STEP) {
                for (uint32_t a = 0; a < w->allocation_count; a++) {
                    for (uint32_t c = 0; c < contexts; c++) {
                        if (op->kind == WORKLOAD_OP_STEP || op->object == WORKLOAD_NONE ||
                            op->object == c)
                            busy[a * contexts + c] = 0;
                    }
                }
            }
            for (uint32_t r = 0; op->kind == WORKLOAD_OP_SUBMIT && r < op->ref_count; r++) {
                const struct workload_ref *ref = &w->refs[op->first_ref + r];

                for (uint32_t c = 0; c < contexts; c++) {
                    uint8_t other = busy[ref->allocation * contexts + c];

                    if (c != op->object && other && ((other | ref->access) & WORKLOAD_ACCESS_WRITE))
                        fail_msg("seed %u: operation %u meets context %u", seed, i, c);
                }
                busy[ref->allocation * contexts + op->object] |= (uint8_t)ref->access;
            }
        }
        free(busy);
        workload_free(w);
    }
}

static void the_summary_agrees_with_counting(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 10; seed++) {
        struct workload *w = random_case(seed, "ops=500");
        struct workload_summary summary;
        uint64_t peak = 0, largest = 0, steps = 0;

        workload_summarise(w, &summary);
        for (uint32_t i = 0; i < w->op_count; i++) {
            const struct workload_op *op = &w->ops[i];
            uint64_t live = 0, submission = 0;

            for (uint32_t a = 0; a < w->allocation_count; a++) {
                bool is_referred = false;

                if (w->allocations[a].alloc_op <= i && w->allocations[a].free_op > i)
                    live += w->allocations[a].size;
                for (uint32_t r = 0; r < op->ref_count; r++)
                    is_referred |= w->refs[op->first_ref + r].allocation == a;
                if (is_referred && op->kind == WORKLOAD_OP_SUBMIT)
                    submission += w->allocations[a].size;
            }
            peak = max_u64(peak, live);
            largest = max_u64(largest, submission);
            steps += op->kind == WORKLOAD_OP_STEP;
        }
        assert_true(summary.peak_live_bytes == peak);
        assert_true(summary.largest_submission_bytes == largest);
        assert_int_equal(summary.step_count, steps);
        workload_free(w);
    }
}

/* Raw page-table lines against one array entry per page. */
#define MODEL_PAGES 1024u
#define MODEL_BASE  UINT64_C(0x600000000000)

static struct workload *random_page_tables(struct rng *rng, uint64_t model[2][MODEL_PAGES])
{
    struct workload_builder *builder = new_builder();
    struct workload_error error;
    struct workload *workload;

    memset(model, 0, 2 * sizeof *model);
    workload_builder_process(builder, "p0");
    workload_builder_process(builder, "p1");
    for (unsigned i = 0; i < 300; i++) {
        uint32_t process = (uint32_t)rng_below(rng, 2), shift = rng_chance(rng, 1, 4) ? 16 : 12;
        uint64_t unit = (uint64_t)1 << (shift - 12);
        uint64_t first = rng_below(rng, MODEL_PAGES / unit) * unit;
        uint64_t count = min_u64((1 + rng_below(rng, 6)) * unit, MODEL_PAGES - first);
        uint64_t page = rng_below(rng, 64);
        bool is_map = rng_chance(rng, 2, 3);
        uint32_t segment = (uint32_t)rng_below(rng, 2), flags = (uint32_t)rng_below(rng, 2);

        if (is_map)
            workload_builder_pte_map(builder, process, MODEL_BASE + first * 4096,
                                     (enum workload_segment)segment, page, count, shift, flags);
        else
            workload_builder_pte_unmap(builder, process, MODEL_BASE + first * 4096, count);
        for (uint64_t n = 0; n < count; n++)
            model[process][first + n] =
                is_map ? (page + n) << 8 | segment << 4 | flags << 1 | 1 : 0;
    }
    assert_true(workload_builder_finish(builder, &workload, &error));
    return workload;
}

static void translations_agree_with_an_array_of_pages(void **state)
{
    static uint64_t model[2][MODEL_PAGES];
    struct rng rng;

    (void)state;
    rng_init(&rng, 11);
    for (unsigned round = 0; round < 200; round++) {
        struct workload *workload = random_page_tables(&rng, model);
        struct workload_translation *runs;
        struct workload_error error;
        size_t count;

        assert_true(
            workload_expected_translations(workload, workload->op_count, &runs, &count, &error));
        for (size_t i = 0; i < count; i++) {
            const struct workload_translation *run = &runs[i];
            uint64_t first = (run->va - MODEL_BASE) / 4096;

            for (uint64_t n = 0; n < run->page_count; n++) {
                uint64_t *entry = &model[run->process][first + n];

                assert_true(*entry == ((run->page + n) << 8 | (uint64_t)run->segment << 4 |
                                       (uint64_t)run->flags << 1 | 1));
                *entry = 0;
            }
            if (i > 0 && runs[i - 1].process == run->process) {
                uint64_t end = runs[i - 1].va + runs[i - 1].page_count * 4096;

                assert_true(end <= run->va);
                /* Neighbours that continue each other are one run. */
                assert_false(end == run->va && runs[i - 1].segment == run->segment &&
                             runs[i - 1].flags == run->flags &&
                             runs[i - 1].page + runs[i - 1].page_count == run->page);
            }
        }
        for (size_t n = 0; n < MODEL_PAGES; n++)
            assert_true(model[0][n] == 0 && model[1][n] == 0);
        free(runs);
        workload_free(workload);
    }
}

static void translations_stop_where_they_are_told(void **state)
{
    static const char text[] = "drydock-case 1\n"
                               "pte p0 map va=0x1000 segment=local page=5 pages=2\n"
                               "pte p0 unmap va=0x1000 pages=1\n";
    struct workload_translation *runs;
    struct workload_error error;
    struct workload *workload;
    size_t count;

    (void)state;
    assert_true(workload_parse(text, sizeof text - 1, "t", &workload, &error));
    assert_true(workload_expected_translations(workload, 0, &runs, &count, &error));
    assert_int_equal(count, 0);
    free(runs);
    assert_true(workload_expected_translations(workload, 1, &runs, &count, &error));
    assert_int_equal(count, 1);
    assert_int_equal(runs[0].page_count, 2);
    free(runs);
    assert_true(workload_expected_translations(workload, UINT32_MAX, &runs, &count, &error));
    assert_int_equal(count, 1);
    assert_int_equal(runs[0].va, 0x2000);
    assert_int_equal(runs[0].page, 6);
    free(runs);
    workload_free(workload);
}

/* Parses text with memory that fails at one point. True when it did not fail any more. */
static bool parse_failing(const char *text, size_t size, uint64_t fail_at)
{
    struct failing_services memory;
    struct workload_error error = {""};
    struct workload_builder *builder;
    struct workload *workload = NULL;
    bool ok = false;

    failing_services_init(&memory);
    failing_services_fail_at(&memory, fail_at);
    builder = workload_builder_create_with(&memory.services, "t", &error);
    if (builder && !workload_parse_into(builder, text, size)) {
        workload_builder_destroy(builder);
        snprintf(error.text, sizeof error.text, "out of memory");
        builder = NULL;
    }
    if (builder)
        ok = workload_builder_finish(builder, &workload, &error);
    if (ok)
        ok = workload_set_option(workload, "seed", "77", &error);
    if (memory.has_failed) {
        assert_false(ok);
        assert_non_null(strstr(error.text, "out of memory"));
    } else {
        assert_true(ok);
        check_promises(workload);
    }
    workload_free(workload);
    assert_int_equal(memory.live_blocks, 0);
    return !memory.has_failed;
}

static void every_nth_allocation_failure_leaves_nothing_behind(void **state)
{
    struct workload *workload = random_case(3, "ops=300");
    struct workload_error error;
    char *text;
    size_t size;
    uint64_t n = 1;

    (void)state;
    assert_true(workload_print(workload, &text, &size, &error));
    workload_free(workload);
    while (!parse_failing(text, size, n))
        n++;
    assert_true(n > 20);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_error_stays),
        cmocka_unit_test(misuse_by_index_is_an_error),
        cmocka_unit_test(a_name_lives_from_alloc_to_free),
        cmocka_unit_test(an_option_can_be_replaced_afterwards),
        cmocka_unit_test(numbers_are_read_exactly),
        cmocka_unit_test(random_cases_keep_what_a_workload_promises),
        cmocka_unit_test(random_cases_have_no_races),
        cmocka_unit_test(the_summary_agrees_with_counting),
        cmocka_unit_test(translations_agree_with_an_array_of_pages),
        cmocka_unit_test(translations_stop_where_they_are_told),
        cmocka_unit_test(every_nth_allocation_failure_leaves_nothing_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
