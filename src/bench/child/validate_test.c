/* What comes out of a process that ran a driver, with anything in it. */
#include "bench/child/validate.h"
#include "bench/child/validate_value.h"

#include "base/rng.h"
#include "workload/workload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define PAGE 4096

static struct workload *small_workload(void)
{
    static const char text[] = "drydock-case 1\nprocess p0\ndevice d0 process=p0\n"
                               "alloc a0 size=4K\n";
    struct workload_error error;
    struct workload *workload;

    assert_true(workload_parse(text, sizeof text - 1, "test.case", &workload, &error));
    return workload;
}

static void fill(struct rng *rng, void *memory, size_t bytes, int value)
{
    unsigned char *at = memory;

    for (size_t i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >= 0 ? value : (int)rng_below(rng, 256));
}

/* Reads all that a report reads, as it reads it. */
static void use_detail(const struct finding_detail *detail)
{
    assert_in_range(strlen(detail->where), 0, sizeof detail->where - 1);
    assert_in_range(strlen(detail->objects), 0, sizeof detail->objects - 1);
    assert_in_range(strlen(detail->arguments), 0, sizeof detail->arguments - 1);
    assert_in_range(strlen(detail->bytes), 0, sizeof detail->bytes - 1);
}

static void use_result(const struct run_result *result)
{
    assert_non_null(run_outcome_name(result->outcome));
    assert_in_range(strlen(result->error), 0, sizeof result->error - 1);
    assert_in_range(result->finding_count, 0, RUN_MAX_FINDINGS);
    assert_in_range(result->step_count, 0, 7);
    for (uint32_t i = 0; i < result->finding_count; i++) {
        assert_non_null(run_finding_kind_name(result->findings[i].kind));
        assert_in_range(strlen(result->findings[i].text), 0, FINDING_TEXT_BYTES - 1);
        use_detail(&result->findings[i].detail);
    }
    for (unsigned i = 0; i < result->ddi_count; i++)
        assert_true(strlen(result->ddi_names[i]) < 128);
    for (unsigned i = 0; i < result->eviction_reason_count; i++)
        assert_true(strlen(result->eviction_reasons[i]) < 128);
    for (unsigned i = 0; i < result->segment_count; i++)
        assert_true(result->segments[i].is_aperture || !result->segments[i].is_aperture);
}

static void anything_at_all_can_be_read_afterwards(void **state)
{
    struct run_result *result = malloc(sizeof *result);
    struct campaign_record *record = malloc(sizeof *record);
    struct crash_recorder *recorder = malloc(sizeof *recorder);
    struct workload *workload = small_workload();
    struct run_config config;
    struct rng rng;
    char text[CRASH_RECORDER_TEXT];

    run_config_defaults(&config);
    rng_init(&rng, 1);
    for (int round = 0; round < 40; round++) {
        int value = round == 0 ? 0xff : round == 1 ? 0x41 : round == 2 ? 0 : -1;

        fill(&rng, result, sizeof *result, value);
        validate_result(result, &config, workload, 7);
        use_result(result);
        assert_string_equal(result->config.driver, config.driver);
        fill(&rng, recorder, sizeof *recorder, value);
        validate_crash_recorder(recorder);
        crash_recorder_describe(recorder, "", text, sizeof text);
        crash_recorder_explain_end(recorder, 11, "", text, sizeof text);
        crash_recorder_explain_hang(recorder, CHILD_OVERDUE, 2, text, sizeof text);
        assert_true(!recorder->has_finding || rule_get(recorder->finding.rule) != NULL);
        fill(&rng, record, sizeof *record, value);
        validate_record(record);
        assert_non_null(campaign_outcome_name(record->outcome));
        assert_non_null(campaign_model_name(record->model));
        assert_in_range(record->finding_count, 0, CAMPAIGN_MAX_FINDINGS);
        for (unsigned i = 0; i < record->finding_count; i++)
            use_detail(&record->findings[i].detail);
    }
    workload_free(workload);
    free(recorder);
    free(record);
    free(result);
}

static void literals_are_texts_that_are_there(void **state)
{
    static const char binary[] = "\1\2";
    char *endless = malloc(4096), *pages;

    memset(endless, 'x', 4096);
    assert_string_equal(validate_literal("evicted"), "evicted");
    assert_null(validate_literal(NULL));
    assert_null(validate_literal((const char *)(uintptr_t)0x41414141));
    assert_null(validate_literal((const char *)(uintptr_t)UINT64_C(0x4141414141414141)));
    assert_null(validate_literal(binary));
    assert_null(validate_literal(""));
    assert_null(validate_literal(endless));
    /* One that lies in two pages, and one behind which nothing is mapped. */
    pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED && munmap(pages + 2 * PAGE, PAGE) == 0);
    strcpy(pages + PAGE - 4, "evicted");
    assert_ptr_equal(validate_literal(pages + PAGE - 4), pages + PAGE - 4);
    strcpy(pages + 2 * PAGE - 8, "evicted");
    assert_ptr_equal(validate_literal(pages + 2 * PAGE - 8), pages + 2 * PAGE - 8);
    pages[2 * PAGE - 1] = 'x';
    assert_null(validate_literal(pages + 2 * PAGE - 8));
    munmap(pages, 2 * PAGE);
    free(endless);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(anything_at_all_can_be_read_afterwards),
        cmocka_unit_test(literals_are_texts_that_are_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
