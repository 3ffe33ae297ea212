/*
 * Runs that are judged again from what the driver answered and did: a transcript that is played in
 * place of the driver gives the same run, and one that does not fit is found.
 */
#define _GNU_SOURCE /* memfd_create() */
#include "bench/campaign/campaign.h"
#include "bench/run/run.h"
#include "bench/whole_runs/test_run.h"
#include "layers/transcript/transcript.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct recorded {
    struct workload *workload;
    struct campaign_setup setup;
    struct run_result result;
    uint8_t *bytes;
    size_t size;
};

/* The run of a seed, with a transcript of its driver. */
static void record(struct recorded *recorded, uint64_t seed)
{
    const struct campaign_options options = {.driver = "ref", .model = CAMPAIGN_ALL_MODELS};
    int file = memfd_create("transcript", MFD_CLOEXEC);
    struct workload_error error;
    struct stat state;

    assert_true(campaign_draw_workload(seed, NULL, &recorded->workload, &error));
    campaign_draw_setup(&options, seed, recorded->workload, &recorded->setup);
    recorded->setup.config.reference = RUN_REFERENCE_NEVER;
    if (recorded->setup.config.model == RUN_PHYSICAL) /* few seeds draw it, and it adds calls */
        recorded->setup.config.changes_user_memory |= seed % 2;
    recorded->setup.config.transcript_file = file;
    run_execute(&recorded->setup.config, recorded->workload, &recorded->result);
    recorded->setup.config.transcript_file = 0;
    assert_int_equal(fstat(file, &state), 0);
    recorded->size = (size_t)state.st_size;
    recorded->bytes = malloc(recorded->size);
    assert_int_equal(pread(file, recorded->bytes, recorded->size, 0), recorded->size);
    close(file);
}

static void retell(const struct recorded *recorded, struct run_result *out_result)
{
    struct run_config config = recorded->setup.config;

    config.transcript = recorded->bytes;
    config.transcript_bytes = recorded->size;
    run_execute(&config, recorded->workload, out_result);
}

static void finish(struct recorded *recorded)
{
    run_result_fini(&recorded->result);
    workload_free(recorded->workload);
    free(recorded->bytes);
}

/* ---- The same run ---------------------------------------------------------------------------- */

/* SEG-013 needs the driver's pool, CALL-003 the table that it registers, and CLK-004 the time
 * within a call. The first other rule that one of them has looked at and the other has not; NULL:
 * none. */
static const char *other_rule(const struct rule_counts *told, const struct rule_counts *is)
{
    for (int i = 0; i < RULE_COUNT; i++) {
        if (i != RULE_SEG_013 && i != RULE_CALL_003 && i != RULE_CLK_004 &&
            !told->evaluated[i] != !is->evaluated[i])
            return rule_get((enum rule_id)i)->id;
    }
    return NULL;
}

static void assert_same(uint64_t seed, const struct run_result *told, const struct run_result *is)
{
    const char *why = is->finding_count ? is->findings[0].text : is->error;
    const char *rule = other_rule(&told->rules, &is->rules);

    if (told->outcome == is->outcome && told->digest == is->digest && !rule)
        return;
    fail_msg("seed %llu: %s with digest %016llx; retold %s with %016llx: %s %s",
             (unsigned long long)seed, run_outcome_name(told->outcome),
             (unsigned long long)told->digest, run_outcome_name(is->outcome),
             (unsigned long long)is->digest, rule ? rule : "", why);
}

static void a_run_without_its_driver_is_the_same_run(void **state)
{
    const char *first = getenv("DRYDOCK_FIRST_SEED"), *count = getenv("DRYDOCK_SEEDS");
    const uint64_t from = first ? strtoull(first, NULL, 10) : 1;
    const uint64_t end = from + (count ? strtoull(count, NULL, 10) : 24);

    for (uint64_t seed = from; seed < end; seed++) {
        struct recorded recorded;
        struct run_result retold;

        record(&recorded, seed);
        retell(&recorded, &retold);
        if (retold.outcome != RUN_REFUSED) /* what it does is not followed */
            assert_same(seed, &recorded.result, &retold);
        run_result_fini(&retold);
        finish(&recorded);
    }
}

/* ---- What is found --------------------------------------------------------------------------- */

static const struct run_finding *hostile_of(const struct run_result *result)
{
    for (uint32_t i = 0; i < result->finding_count; i++) {
        if (result->findings[i].kind == RUN_FINDING_HOSTILE)
            return &result->findings[i];
    }
    return NULL;
}

/* A transcript that ends early, wherever that is, is told, and nothing else happens. */
static void a_transcript_that_is_cut_is_found(void **state)
{
    struct recorded recorded;
    const size_t whole = (record(&recorded, 3), recorded.size);

    for (unsigned part = 0; part < 8; part++) {
        struct run_result retold;

        recorded.size = whole * part / 8;
        retell(&recorded, &retold);
        assert_int_equal(retold.outcome, RUN_FINDINGS);
        assert_non_null(hostile_of(&retold));
        run_result_fini(&retold);
    }
    finish(&recorded);
}

/* The first item of that kind behind the first call of the function. */
static struct transcript_item find_item(const struct recorded *recorded, enum miniport_ddi ddi,
                                        enum transcript_kind kind)
{
    struct transcript_reader reader = {recorded->bytes, recorded->size, 0};
    struct transcript_item item;
    bool is_behind = false;

    while (transcript_next(&reader, &item)) {
        const struct transcript_call *call = item.structure;

        is_behind |= item.kind == TRANSCRIPT_CALL && call->ddi == (uint32_t)ddi;
        if (is_behind && item.kind == kind)
            return item;
    }
    fail_msg("the transcript has no item of kind %d", (int)kind);
    return item;
}

/* A call that answers for another function does not fit what the manager asks. */
static void answers_to_other_calls_are_found(void **state)
{
    struct recorded recorded;
    struct run_result retold;
    struct transcript_item item;
    struct transcript_call *call;

    record(&recorded, 3);
    item = find_item(&recorded, MINIPORT_DDI_StartDevice, TRANSCRIPT_CALL);
    call = (struct transcript_call *)(uintptr_t)item.structure;
    call->ddi++;
    retell(&recorded, &retold);
    assert_int_equal(retold.outcome, RUN_FINDINGS);
    assert_non_null(strstr(hostile_of(&retold)->text, "is called, and it answers"));
    run_result_fini(&retold);
    finish(&recorded);
}

/* Who leaves the level raised, and says nothing of it, has broken the rule all the same. */
static void a_broken_rule_is_found_without_the_drivers_word(void **state)
{
    struct recorded recorded;
    struct run_result retold;
    struct transcript_item item;

    record(&recorded, 3);
    item = find_item(&recorded, MINIPORT_DDI_BuildPagingBuffer, TRANSCRIPT_RETURN);
    ((struct transcript_head *)(uintptr_t)item.structure)[-1].irql = 2;
    retell(&recorded, &retold);
    assert_int_equal(recorded.result.outcome, RUN_CLEAN);
    assert_int_equal(retold.outcome, RUN_FINDINGS);
    assert_string_equal(retold.findings[0].rule, "PB-030");
    run_result_fini(&retold);
    finish(&recorded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_without_its_driver_is_the_same_run),
        cmocka_unit_test(a_transcript_that_is_cut_is_found),
        cmocka_unit_test(answers_to_other_calls_are_found),
        cmocka_unit_test(a_broken_rule_is_found_without_the_drivers_word),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
