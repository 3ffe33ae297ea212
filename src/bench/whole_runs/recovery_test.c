/*
 * Whole runs in which the GPU is preempted, hangs, is reset and loses its power: no allocation that
 * may be kept loses a byte, and what is lost was only where the reset took it.
 */
#include "bench/whole_runs/test_run.h"

#include "base/rng.h"

#define ALLOCATIONS 8u
#define OPERATIONS  60u
#define TEXT_BYTES  16384u

enum trouble {
    PREEMPTIONS = 1 << 0,
    SLEEPS = 1 << 1,
    RESETS = 1 << 2, /* and hangs */
};

struct writer {
    char text[TEXT_BYTES];
    size_t length;
    struct rng rng;
};

static void put(struct writer *writer, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    writer->length += (size_t)vsnprintf(writer->text + writer->length, TEXT_BYTES - writer->length,
                                        format, arguments);
    va_end(arguments);
    assert_true(writer->length < TEXT_BYTES);
}

static unsigned below(struct writer *writer, unsigned bound)
{
    return (unsigned)rng_below(&writer->rng, bound);
}

static void put_trouble(struct writer *writer, unsigned troubles)
{
    static const char *const sleeps[] = {"standby", "hibernate", "d3"};

    switch (below(writer, 12)) {
    case 0:
    case 1:
        if (troubles & PREEMPTIONS)
            put(writer, "preempt %u\n", below(writer, 2));
        break;
    case 2:
        if (troubles & PREEMPTIONS)
            put(writer, "lose-interrupt %u\n", below(writer, 2));
        break;
    case 3:
        if (troubles & SLEEPS)
            put(writer, "power %s\npower on\n", sleeps[below(writer, 3)]);
        break;
    case 4:
        if (troubles & RESETS)
            put(writer, "hang %u after=%u\n", below(writer, 2), below(writer, 5));
        break;
    case 5:
        if (troubles & RESETS)
            put(writer, "reset\n");
        break;
    default:
        break;
    }
}

/* Allocations of three times the local memory, in every kind of place, used at random. */
static void write_case(struct writer *writer, uint64_t seed, unsigned troubles)
{
    static const char *const places[] = {"local", "local", "local,aperture", "aperture"};
    static const char *const boards[] = {"nothing", "standby", "hibernate", "part"};

    *writer = (struct writer){0};
    rng_init(&writer->rng, seed);
    put(writer,
        "drydock-case 1\noption local-memory 2M\noption aperture 4M\noption system-memory 64M\n"
        "option timeout 300000\noption seed %llu\noption preserve %s\noption queue-depth 6\n",
        (unsigned long long)seed, boards[below(writer, 4)]);
    if (below(writer, 3) == 0)
        put(writer, "option paging-buffer %u\n", 2048 + 64 * below(writer, 64));
    put(writer, "context c0\ncontext c1 node=1\n");
    for (unsigned i = 0; i < ALLOCATIONS; i++)
        put(writer, "alloc a%u size=%uK segments=%s flags=cpu-visible\nwrite a%u\n", i,
            64 + 4 * below(writer, 160), places[below(writer, 4)], i);
    for (unsigned i = 0; i < OPERATIONS; i++) {
        unsigned first = below(writer, ALLOCATIONS), second = below(writer, ALLOCATIONS);

        switch (below(writer, 6)) {
        case 0:
            put(writer, "write a%u\n", first);
            break;
        case 1:
            put(writer, "read a%u\n", first);
            break;
        case 2:
            put(writer, "wait all\n");
            break;
        default:
            put(writer, "submit c%u duration=%u a%u:r a%u:rw\nwait c%u\n", 0u,
                1000 + below(writer, 60000), first, second, 0u);
            put(writer, "submit c1 duration=%u\n", 500 + below(writer, 20000));
            break;
        }
        put_trouble(writer, troubles);
    }
    put(writer, "wait all\n");
    for (unsigned i = 0; i < ALLOCATIONS; i++)
        put(writer, "read a%u\n", i);
}

static struct run_result *play(uint64_t seed, unsigned troubles, const char *model,
                               const char *page_tables)
{
    static struct writer writer;
    struct workload *workload;

    write_case(&writer, seed, troubles);
    workload = test_parse(writer.text);
    test_option(workload, "model", model);
    if (page_tables)
        test_option(workload, "page-tables", page_tables);
    return test_play(workload);
}

/*
 * TDR-002: a call that waits for what hangs returns before the reset; its update comes behind that.
 */
static void a_call_that_waits_returns_before_the_reset(void **state)
{
    struct workload *workload = test_load("reset-behind-a-waiting-call.case");
    struct run_result *result;

    test_option(workload, "model", "gpummu");
    result = test_play(workload);
    test_assert_clean(result);
    assert_int_equal(result->statistics.timeouts, 1);
    assert_true(test_count(result, DXGK_OPERATION_UPDATE_CONTEXT_ALLOCATION) >= 2);
    test_finish(result);
}

/* Nobody is told of the loss, for it was freed: the fill for the work that is left is lawful. */
static void content_of_what_was_freed_may_be_lost_in_a_reset(void **state)
{
    struct workload *workload = test_load("reset-of-a-freed-allocation.case");
    struct run_result *result = test_play(workload);

    test_assert_clean(result);
    assert_int_equal(result->statistics.adapter_resets, 1);
    test_finish(result);
}

/* The wait ended by itself, in the interrupt that tells of the fault: its call still runs. */
static void a_call_whose_wait_has_ended_returns_before_the_reset(void **state)
{
    struct workload *workload = test_load("fault-behind-a-waiting-call.case");
    struct run_result *result;

    test_option(workload, "model", "gpummu");
    result = test_play(workload);
    test_assert_clean(result);
    assert_int_equal(result->statistics.adapter_resets, 1);
    test_finish(result);
}

/* FENCE-004: PreemptCommand tells of progress whose interrupt gets lost, and asks for the DPC
 * itself. */
static void progress_that_a_preemption_finds_is_heard_of(void **state)
{
    struct workload *workload = test_load("progress-found-by-a-preemption.case");
    struct run_result *result = test_play(workload);

    test_assert_clean(result);
    assert_int_equal(result->statistics.engine_resets + result->statistics.adapter_resets, 1);
    test_finish(result);
}

/* TDR-008: nothing was aborted, and the work that ended at last counts. */
static void a_queue_that_runs_empty_before_the_reset_loses_nothing(void **state)
{
    static const char *const models[] = {"physical", "gpummu", "iommu"};

    for (size_t i = 0; i < ARRAY_COUNT(models); i++) {
        struct workload *workload = test_load("hang-that-ends.case");
        struct run_result *result;

        test_option(workload, "model", models[i]);
        result = test_play(workload);
        test_assert_clean(result);
        assert_int_equal(result->statistics.engine_resets, 1);
        assert_int_equal(result->aborted_submissions, 0);
        assert_int_equal(result->submissions, 1);
        assert_true(result->rules.evaluated[RULE_TDR_008] > 0);
        test_finish(result);
    }
}

static void campaign(unsigned troubles, bool may_lose)
{
    static const char *const updates[] = {"gpu-virtual", "gpu-physical", "cpu"};
    uint64_t lost = 0;

    for (uint64_t seed = 1; seed <= 12; seed++) {
        for (unsigned model = 0; model < 2; model++) {
            struct run_result *result = play(seed, troubles, model ? "gpummu" : "physical",
                                             model ? updates[seed % 3] : NULL);

            test_assert_clean(result);
            if (!may_lose)
                assert_int_equal(result->lost_pages, 0);
            lost += result->lost_pages;
            test_finish(result);
        }
    }
    assert_int_equal(lost != 0, may_lose);
}

static void preemptions_lose_nothing(void **state)
{
    campaign(PREEMPTIONS, false);
}

static void sleeps_lose_nothing(void **state)
{
    campaign(SLEEPS | PREEMPTIONS, false);
}

static void resets_lose_only_what_was_in_local_memory(void **state)
{
    campaign(RESETS | SLEEPS | PREEMPTIONS, true);
}

static void the_same_seed_gives_the_same_run(void **state)
{
    for (unsigned model = 0; model < 2; model++) {
        const char *name = model ? "gpummu" : "physical";
        struct run_result *one = play(5, RESETS | SLEEPS | PREEMPTIONS, name, NULL);
        struct run_result *two = play(5, RESETS | SLEEPS | PREEMPTIONS, name, NULL);

        assert_true(one->digest == two->digest);
        test_finish(one);
        test_finish(two);
    }
}

/* The case of that name, both models: what it says happens. */
static void a_reset_aborts_and_goes_on(void **state)
{
    for (unsigned model = 0; model < 2; model++) {
        struct workload *workload = test_load("sequences/S-17-tdr-in-the-middle-of-paging.case");
        struct run_result *result;

        test_option(workload, "model", model ? "gpummu" : "physical");
        result = test_play(workload);
        test_assert_clean(result);
        assert_int_equal(result->statistics.timeouts, 1);
        assert_int_equal(result->statistics.engine_resets, 1);
        assert_int_equal(result->statistics.adapter_resets, 1);
        assert_true(result->statistics.lost_allocations > 0);
        assert_true(result->lost_pages > 0);
        assert_true(result->device_errors > 0);
        test_finish(result);
    }
}

/* An engine that renders is reset alone: its packet is aborted, nothing is lost. */
static void a_hung_render_takes_one_engine(void **state)
{
    for (unsigned model = 0; model < 2; model++) {
        struct workload *workload = test_parse("drydock-case 1\n"
                                               "option timeout 100000\noption local-memory 4M\n"
                                               "alloc a size=1M segments=local flags=cpu-visible\n"
                                               "alloc b size=1M segments=local flags=cpu-visible\n"
                                               "write a\nwrite b\n"
                                               "submit c0 duration=1000 a:rw\nwait all\n"
                                               "hang 0\n"
                                               "submit c0 duration=1000 a:rw\n"
                                               "wait all\n"
                                               "submit c0 duration=1000 a:r b:rw\n"
                                               "wait all\nread a\nread b\n");
        struct run_result *result;

        test_option(workload, "model", model ? "gpummu" : "physical");
        result = test_play(workload);
        test_assert_clean(result);
        assert_int_equal(result->aborted_submissions, 1);
        assert_int_equal(result->submissions, 2);
        assert_int_equal(result->statistics.engine_resets, 1);
        assert_int_equal(result->statistics.adapter_resets, 0);
        assert_int_equal(result->lost_pages, 0);
        test_finish(result);
    }
}

/* Hangs one after the other, every packet on a node of its own time-out. */
static struct run_result *hang_often(unsigned count, const char *limit, const char *model)
{
    char text[2048] = "drydock-case 1\noption timeout 100000\noption local-memory 4M\n"
                      "alloc a size=1M segments=local,aperture flags=cpu-visible\nwrite a\n";
    struct workload *workload;

    for (unsigned i = 0; i < count; i++)
        strcat(text, "hang 0\nsubmit c0 duration=1000 a:rw\nwait all\n");
    strcat(text, "submit c0 duration=1000 a:w\nwait all\nread a\n");
    workload = test_parse(text);
    test_option(workload, "model", model);
    test_option(workload, "timeout-limit", limit);
    return test_play(workload);
}

/* TDR-012: five within a minute are suffered, the sixth ends the adapter. */
static void one_time_out_too_many_ends_the_adapter(void **state)
{
    for (unsigned model = 0; model < 2; model++) {
        const char *name = model ? "gpummu" : "physical";
        struct run_result *result = hang_often(5, "5", name);

        test_assert_clean(result);
        assert_int_equal(result->statistics.timeouts, 5);
        assert_int_equal(result->submissions, 1);
        test_finish(result);
        result = hang_often(6, "0", name);
        test_assert_clean(result);
        assert_int_equal(result->statistics.timeouts, 6);
        test_finish(result);
        result = hang_often(6, "5", name);
        assert_int_equal(result->outcome, RUN_FINDINGS);
        assert_int_equal(result->statistics.timeouts, 6);
        assert_int_equal(result->submissions, 0);
        assert_int_equal(result->finding_count, 1);
        assert_non_null(strstr(result->findings[0].text, "bug check 0x116"));
        test_finish(result);
    }
}

/* What a preemption or a reset drops runs later, or not at all: save areas count neither twice. */
static void a_save_area_counts_what_has_run(void **state)
{
    static const char *const incidents[] = {"preempt 0\n", "hang 0 after=1\n",
                                            "hang 0\npreempt 0\n"};

    for (unsigned i = 0; i < 3; i++) {
        char text[1024];
        struct workload *workload;
        struct run_result *result;

        snprintf(text, sizeof text,
                 "drydock-case 1\noption timeout 100000\noption local-memory 4M\n"
                 "option queue-depth 6\n"
                 "context c0 save=64K\ncontext c1 save=64K save-in=local\n"
                 "alloc a size=1M segments=local\n"
                 "submit c0 duration=9000 a:w\nsubmit c1 duration=9000 a:rw\n"
                 "submit c0 duration=9000 a:rw\nsubmit c1 duration=9000 a:rw\n%s"
                 "submit c0 duration=9000 a:w\nsubmit c1 duration=9000\nwait all\n"
                 "submit c0 duration=9000 a:rw\nsubmit c1 duration=9000 a:r\nwait all\n",
                 incidents[i]);
        workload = test_parse(text);
        test_option(workload, "model", "gpummu");
        result = test_play(workload);
        test_assert_clean(result);
        assert_true(result->submissions >= 2);
        assert_true(i == 0 || result->statistics.engine_resets > 0);
        test_finish(result);
    }
}

/*
 * Of what is mapped by numbers the entries come back; the content of local pages does not
 * (TDR-011).
 */
static void pages_mapped_by_number_outlive_resets_and_sleeps(void **state)
{
    static const char *const incidents[] = {"reset\n", "power d3\npower on\n",
                                            "reset\npower hibernate\npower on\n"};

    for (unsigned i = 0; i < 6; i++) {
        bool shows_memory = i & 1;
        char text[512];
        struct workload *workload;
        struct run_result *result;

        snprintf(text, sizeof text,
                 "drydock-case 1\noption local-memory 8M\noption model gpummu\n"
                 "pte p0 map va=0x40000000 segment=system page=16 pages=600\n"
                 "pte p0 map va=0x40040000 segment=%s page=5 pages=7\n"
                 "pte p0 unmap va=0x40080000 pages=9\n"
                 "wait all\n%swait all\n",
                 shows_memory ? "local" : "system", incidents[i / 2]);
        workload = test_parse(text);
        result = test_play(workload);
        test_assert_clean(result);
        assert_int_equal(result->translations_checked, 600 - 9);
        assert_int_equal(result->translation_mismatches, 0);
        assert_int_equal(result->device_errors, shows_memory && i / 2 != 1);
        test_finish(result);
    }
}

/* What was submitted before the sleep goes on behind it, and is compared as always. */
static void a_case_that_ends_asleep_is_woken(void **state)
{
    static const char *const models[] = {"physical", "gpummu", "iommu"};
    static const char *const sleeps[] = {"standby", "hibernate", "d3"};

    for (unsigned i = 0; i < 9; i++) {
        char text[256];
        struct workload *workload;
        struct run_result *result;

        snprintf(text, sizeof text,
                 "drydock-case 1\noption local-memory 8M\n"
                 "alloc a size=1M segments=local,aperture flags=cpu-visible\n"
                 "write a\nsubmit c0 duration=1000 a:rw\npower %s\n",
                 sleeps[i / 3]);
        workload = test_parse(text);
        test_option(workload, "model", models[i % 3]);
        result = test_play(workload);
        test_assert_clean(result);
        assert_int_equal(result->submissions, 1);
        test_finish(result);
    }
}

/*
 * A hang in the middle of an eviction in parts: some pages have arrived in system memory, and the
 * manager keeps none of them, which its owner is told.
 */
static void an_eviction_that_was_half_done_is_lost_as_a_whole(void **state)
{
    static const char *const models[] = {"physical", "gpummu"};
    unsigned lost = 0;

    for (unsigned i = 0; i < 16; i++) {
        char text[256];
        struct workload *workload;
        struct run_result *result;

        snprintf(text, sizeof text,
                 "drydock-case 1\noption paging-buffer 80\noption transfer-piece 4096\n"
                 "alloc a size=16K segments=local\nsubmit c0 a:w\nwait all\n"
                 "hang 1 after=%u\npower hibernate\npower on\nsubmit c0 a:r\nwait all\n",
                 i / 2);
        workload = test_parse(text);
        test_option(workload, "model", models[i % 2]);
        result = test_play(workload);
        test_assert_clean(result);
        lost += result->statistics.lost_allocations != 0;
        test_finish(result);
    }
    assert_true(lost >= 4);
}

/*
 * NTF-003. When the adapter is reset, a notice may have been made for which there was no room yet:
 * the driver does not know it, and is not told the opposite. However many operations are in front
 * of it.
 */
static void a_notice_that_a_reset_dropped_was_not_given(void **state)
{
    static const char *const levels[] = {"3.1", "3.2"};

    for (unsigned i = 0; i < 32; i++) {
        char text[640];
        struct run_result *result;

        snprintf(text, sizeof text,
                 "drydock-case 1\noption model gpummu\noption wddm %s\noption page-tables cpu\n"
                 "option paging-buffer 256\noption aperture-piece 8192\n%s"
                 "alloc a size=%uK segments=aperture "
                 "flags=accessed-physically,explicit-residency-notification\n"
                 "submit c0\nsubmit c0 a:r\nreset\nsubmit c0 a:r\nwait all\n",
                 levels[i & 1], i & 1 && i & 2 ? "option residency-part 16K\n" : "",
                 88 + 8 * (i / 4));
        result = test_play(test_parse(text));
        assert_int_equal(result->finding_count, 0);
        test_finish(result);
    }
}

/*
 * ALLOC-015. A switch to the null context waits behind two packets of its node, for room that 's'
 * needs, when the adapter is reset or goes to sleep; afterwards it may not go beside the fill of
 * 's'.
 */
static void a_switch_that_waits_does_not_go_beside_synchronous_paging(void **state)
{
    static const char *const troubles[] = {"reset", "power standby\npower on"};

    for (unsigned i = 0; i < 2; i++) {
        char text[768];
        struct workload *workload;
        struct run_result *result;

        snprintf(text, sizeof text,
                 "drydock-case 1\noption model physical\noption local-memory 1280K\n"
                 "option null-context yes\noption queue-depth 8\n"
                 "alloc a size=1M segments=local\nalloc x size=4K segments=local\n"
                 "alloc s size=1M segments=local flags=synchronous-paging\n"
                 "submit c0 a:w\nsubmit c0 x:w\nwait c0\n"
                 "submit c0 x:w\nsubmit c0 x:w\nsubmit c0 x:w\nsubmit c0 s:w\n%s\nwait all\n",
                 troubles[i]);
        workload = test_parse(text);
        result = test_play(workload);
        test_assert_clean(result);
        assert_true(result->rules.evaluated[RULE_ALLOC_015] > 0);
        assert_int_equal(result->statistics.context_switches, 1 + i); /* and the system's own */
        test_finish(result);
    }
}

/* Every page has arrived behind its slots, but nobody knows: its owner is told that it is lost. */
static void an_eviction_whose_slots_are_still_mapped_is_lost(void **state)
{
    for (unsigned i = 0; i < 32; i++) {
        char text[320];
        struct run_result *result;

        snprintf(text, sizeof text,
                 "drydock-case 1\noption model physical\noption eviction aperture\n"
                 "option paging-buffer 128\n%s"
                 "alloc a size=7819\nsubmit c0 a:w\nalloc b size=1\nwait c0\n"
                 "submit c0 a:w b:w\nhang 1 after=%u\npower standby\n",
                 i & 1 ? "option aperture-piece 4096\n" : "", i / 2);
        result = test_play(test_parse(text));
        test_assert_clean(result);
        assert_true(result->statistics.adapter_resets || i / 2 > 9);
        test_finish(result);
    }
}

/* It went out for a lock before the reset, and comes back by the same operation behind it. */
static void content_behind_an_alternate_address_is_not_lost(void **state)
{
    struct run_result *result =
        test_play(test_parse("drydock-case 1\n"
                             "option model physical\n"
                             "option local-memory 655360\n"
                             "alloc a size=341272\n"
                             "alloc b size=128K\n"
                             "alloc p size=205134 flags=primary,use-alternate-va\n"
                             "alloc q size=4K flags=primary,use-alternate-va\n"
                             "submit c0 a:w p:r\n"
                             "write p\n"
                             "alloc r size=4K flags=primary,use-alternate-va\n"
                             "submit c0 b:rw a:w\n"
                             "wait all\n"
                             "hang 1\n"
                             "submit c0 q:rw r:w p:r\n"
                             "write r\n"
                             "read q\n"
                             "submit c0 a:r\n"));

    test_assert_clean(result);
    assert_int_equal(result->statistics.adapter_resets, 1);
    test_finish(result);
}

/* What is offered goes for the sleep, by an operation of no bytes behind the last packet. */
static void a_place_that_was_given_up_for_a_sleep_is_free(void **state)
{
    struct run_result *result = test_play(test_parse("drydock-case 1\n"
                                                     "option model physical\n"
                                                     "option paging-buffer 384\n"
                                                     "alloc a size=220857\n"
                                                     "alloc b size=1885\n"
                                                     "alloc o size=4K\n"
                                                     "submit c0 b:w o:w a:rw\n"
                                                     "offer priority=low o\n"
                                                     "move a local\n"
                                                     "power standby\n"
                                                     "power on\n"
                                                     "submit c0 a:r\n"));

    test_assert_clean(result);
    assert_true(result->rules.evaluated[RULE_RES_011] > 0);
    test_finish(result);
}

/* Parked for more work of its context by a hibernation, the area is nobody's any more when
 * a reset of the adapter comes in between. */
static void a_save_area_that_was_parked_goes_with_a_reset(void **state)
{
    struct run_result *result = test_play(test_load("hang-before-a-hibernation.case"));

    test_assert_clean(result);
    assert_int_equal(result->statistics.adapter_resets, 1);
    test_finish(result);
}

/* CTX-006: the driver has destroyed what it would be asked to fill. */
static void the_save_area_of_an_ended_context_does_not_come_back(void **state)
{
    struct run_result *result = test_play(test_load("reset-behind-an-ended-context.case"));

    test_assert_clean(result);
    assert_int_equal(result->statistics.adapter_resets, 1);
    assert_true(result->rules.evaluated[RULE_CTX_006] > 0);
    test_finish(result);
}

/*
 * The content of an allocation is lost, and its device fails. Work of the device ends when its
 * contexts are released behind the paging queue; what waited for that work goes on.
 */
static void work_that_ends_behind_the_paging_queue_is_seen_to_have_ended(void **state)
{
    struct workload *workload = test_parse("drydock-case 1\n"
                                           "option page-table-levels 6\n"
                                           "option idle-updates yes\n"
                                           "alloc a0 size=96K\n"
                                           "submit c0 a0:w\n"
                                           "tile c0 copy from=0x40001d0000 to=0x4000070000 "
                                           "pages=16\n"
                                           "alloc a1 size=4K\n"
                                           "submit c0\n"
                                           "reset\n"
                                           "free a0\n"
                                           "tile c0 unmap va=0x4000060000 pages=64\n");
    struct run_result *result;

    test_option(workload, "model", "gpummu");
    result = test_play(workload);
    test_assert_clean(result);
    test_finish(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_waits_returns_before_the_reset),
        cmocka_unit_test(content_of_what_was_freed_may_be_lost_in_a_reset),
        cmocka_unit_test(a_call_whose_wait_has_ended_returns_before_the_reset),
        cmocka_unit_test(progress_that_a_preemption_finds_is_heard_of),
        cmocka_unit_test(a_queue_that_runs_empty_before_the_reset_loses_nothing),
        cmocka_unit_test(preemptions_lose_nothing),
        cmocka_unit_test(sleeps_lose_nothing),
        cmocka_unit_test(resets_lose_only_what_was_in_local_memory),
        cmocka_unit_test(the_same_seed_gives_the_same_run),
        cmocka_unit_test(a_reset_aborts_and_goes_on),
        cmocka_unit_test(a_hung_render_takes_one_engine),
        cmocka_unit_test(one_time_out_too_many_ends_the_adapter),
        cmocka_unit_test(a_save_area_counts_what_has_run),
        cmocka_unit_test(a_case_that_ends_asleep_is_woken),
        cmocka_unit_test(pages_mapped_by_number_outlive_resets_and_sleeps),
        cmocka_unit_test(an_eviction_that_was_half_done_is_lost_as_a_whole),
        cmocka_unit_test(an_eviction_whose_slots_are_still_mapped_is_lost),
        cmocka_unit_test(a_place_that_was_given_up_for_a_sleep_is_free),
        cmocka_unit_test(a_save_area_that_was_parked_goes_with_a_reset),
        cmocka_unit_test(the_save_area_of_an_ended_context_does_not_come_back),
        cmocka_unit_test(content_behind_an_alternate_address_is_not_lost),
        cmocka_unit_test(a_notice_that_a_reset_dropped_was_not_given),
        cmocka_unit_test(work_that_ends_behind_the_paging_queue_is_seen_to_have_ended),
        cmocka_unit_test(a_switch_that_waits_does_not_go_beside_synchronous_paging),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
