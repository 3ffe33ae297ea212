/* How often a cause is told, what is silent, and that a check which goes leaves nothing. */
#include "check/check_watch.h"
#include "check/report/check_report.h"
#include "check/rig/test_rig.h"

static void advice_is_told_once_for_each_rule_and_is_no_breach(void **state)
{
    struct rig rig;

    rig_init(&rig, RIG_GPUMMU);
    for (unsigned i = 0; i < 3; i++)
        assert_false(check_advise(rig.check, RULE_ALLOC_001, NULL, "Size", "said"));
    assert_int_equal(rig.finding_count, 1);
    assert_true(rig.last.is_advice);
    assert_int_equal(rig.last.rule, RULE_ALLOC_001);
    check_advise(rig.check, RULE_ALLOC_002, NULL, "Size", "said");
    assert_int_equal(rig.finding_count, 2);
    assert_int_equal(rig.counts.broken[RULE_ALLOC_001] + rig.counts.broken[RULE_ALLOC_002], 0);
    rig_fini(&rig);
}

/* A breach counts each time and is told once for each object, rule and place. */
static void a_cause_is_told_once_and_counted_each_time(void **state)
{
    const struct check_object *first, *second;
    struct check_ledger *ledger;
    struct rig rig;

    rig_init(&rig, RIG_GPUMMU);
    ledger = check_ledger(rig.check);
    first = &check_find_allocation(ledger, rig_create_allocation(&rig, NULL))->object;
    second = &check_find_allocation(ledger, rig_create_allocation(&rig, NULL))->object;
    for (unsigned i = 0; i < 3; i++) {
        assert_false(check_report(rig.check, RULE_ALLOC_001, first, "Size", "said"));
        assert_int_equal(rig.finding_count, 1);
        assert_int_equal(rig.counts.broken[RULE_ALLOC_001], i + 1);
    }
    assert_false(rig.last.is_advice);
    assert_int_equal(rig.last.object, first->number);
    assert_non_null(strstr(rig.last.detail.objects, "allocation"));
    check_report(rig.check, RULE_ALLOC_001, second, "Size", "said");
    check_report(rig.check, RULE_ALLOC_001, first, "Alignment", "said");
    check_report(rig.check, RULE_ALLOC_002, first, "Size", "said");
    assert_int_equal(rig.finding_count, 4);
    rig_fini(&rig);
}

/* Behind the adapter's removal a rule is neither broken nor kept, but those about it. */
static void nothing_is_said_of_an_adapter_that_was_pulled_out(void **state)
{
    struct rig rig;

    rig_init(&rig, RIG_GPUMMU);
    check_ledger(rig.check)->is_pulled_out = true;
    assert_false(check_report(rig.check, RULE_ALLOC_001, NULL, "Size", "said"));
    assert_int_equal(rig.finding_count, 0);
    assert_int_equal(rig.counts.broken[RULE_ALLOC_001], 0);
    check_report(rig.check, RULE_PWR_014, NULL, "", "said");
    assert_int_equal(rig.finding_count, 1);
    rig_fini(&rig);
}

/* The field is the argument, and the braces of the format its values. */
static void a_breach_tells_the_argument_beside_what_it_should_be(void **state)
{
    const struct finding_argument *argument;
    struct rig rig;

    rig_init(&rig, RIG_GPUMMU);
    argument = &rig.last.detail.argument;
    check_report(rig.check, RULE_ALLOC_001, NULL, "Size", "is {%u}; {=~at least ~%u} is", 5u, 6u);
    assert_string_equal(rig.last.text, "is 5; 6 is");
    assert_string_equal(argument->name, "Size");
    assert_string_equal(argument->value, "5");
    assert_string_equal(argument->expected, "at least 6");
    check_report(rig.check, RULE_ALLOC_002, NULL, "", "said");
    assert_string_equal(argument->name, "");
    assert_string_equal(argument->expected, "");
    rig_fini(&rig);
}

static void no_more_causes_are_told_than_the_limit_says(void **state)
{
    struct rig rig;

    rig_prepare(&rig, RIG_GPUMMU);
    rig.config.report_limit = 2;
    rig_init_prepared(&rig);
    check_report(rig.check, RULE_ALLOC_001, NULL, "Size", "said");
    check_report(rig.check, RULE_ALLOC_002, NULL, "Size", "said");
    check_report(rig.check, RULE_ALLOC_003, NULL, "Size", "said");
    assert_int_equal(rig.finding_count, 2);
    assert_int_equal(rig.counts.broken[RULE_ALLOC_003], 1);
    rig_fini(&rig);
}

static void every_nth_allocation_failure_leaves_no_check(void **state)
{
    NTSTATUS status = STATUS_NO_MEMORY;

    for (uint64_t n = 1; status == STATUS_NO_MEMORY; n++) {
        struct failing_services memory;
        struct rule_counts counts = {0};
        struct check_config config = {.counts = &counts};
        struct check *check;

        failing_services_init(&memory);
        config.services = &memory.services;
        failing_services_fail_at(&memory, n);
        status = check_create(&config, &check);
        assert_int_equal(NT_SUCCESS(status), check != NULL);
        check_destroy(check);
        assert_int_equal(memory.live_blocks, 0);
    }
    assert_int_equal(status, STATUS_SUCCESS);
}

static unsigned mapping_count(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned count = 0;
    int c;

    assert_non_null(maps);
    while ((c = getc(maps)) != EOF)
        count += c == '\n';
    fclose(maps);
    return count;
}

/* Guards are mappings of their own: a check that keeps one adds to those of the process. */
static void a_check_that_goes_leaves_no_mapping(void **state)
{
    unsigned before = 0;

    for (unsigned i = 0; i < 40; i++) {
        struct rig rig;
        DXGKARG_BUILDPAGINGBUFFER fill;

        rig_prepare(&rig, RIG_PHYSICAL);
        rig.config.guards_buffers = true;
        rig_init_prepared(&rig);
        fill = rig_fill(rig_create_allocation(&rig, NULL));
        rig_build(&rig, &fill);
        rig_complete(&rig, 0, rig_submit(&rig));
        rig_fini(&rig);
        if (i == 4) /* the host's own memory has settled */
            before = mapping_count();
    }
    assert_true(mapping_count() < before + 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(advice_is_told_once_for_each_rule_and_is_no_breach),
        cmocka_unit_test(a_cause_is_told_once_and_counted_each_time),
        cmocka_unit_test(a_breach_tells_the_argument_beside_what_it_should_be),
        cmocka_unit_test(nothing_is_said_of_an_adapter_that_was_pulled_out),
        cmocka_unit_test(no_more_causes_are_told_than_the_limit_says),
        cmocka_unit_test(every_nth_allocation_failure_leaves_no_check),
        cmocka_unit_test(a_check_that_goes_leaves_no_mapping),
    };

    return cmocka_run_group_tests_name("check/report", tests, NULL, NULL);
}
