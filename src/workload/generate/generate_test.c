/*
 * Generators: the same seed gives the same case, parameters are checked, and the sizes are those
 * of the layer arithmetic.
 */
#include "workload/generate/generate.h"
#include "workload/case/template.h"
#include "workload/summary.h"

#include "base/bits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct workload *generate(const char *name, const char *const *settings, size_t count)
{
    struct workload_error error;
    struct workload *workload;

    if (!workload_generate(name, settings, count, &workload, &error))
        fail_msg("%s", error.text);
    return workload;
}

static uint64_t size_of(const struct workload *workload, const char *name)
{
    for (uint32_t i = 0; i < workload->allocation_count; i++) {
        if (strcmp(workload_allocation_name(workload, i), name) == 0)
            return workload->allocations[i].size;
    }
    fail_msg("no allocation %s", name);
    return 0;
}

static void the_same_seed_gives_the_same_case(void **state)
{
    static const char *const first[] = {"seed=5"}, *const second[] = {"seed=6"};

    (void)state;
    for (const struct workload_generator *g = workload_generators; g->name; g++) {
        struct workload *a = generate(g->name, first, 1), *b = generate(g->name, first, 1);
        struct workload *c = generate(g->name, second, 1);
        bool is_random = strcmp(g->name, "game") == 0 || strcmp(g->name, "random") == 0;

        assert_true(workload_equal(a, b));
        assert_int_equal(workload_equal(a, c), !is_random);
        workload_free(a);
        workload_free(b);
        workload_free(c);
    }
}

static void every_generator_makes_a_case_that_is_under_pressure(void **state)
{
    (void)state;
    for (const struct workload_generator *g = workload_generators; g->name; g++) {
        struct workload *w = generate(g->name, NULL, 0);
        uint64_t local = workload_option_number(w, "local-memory", 0);
        struct workload_summary summary;

        workload_summarise(w, &summary);
        assert_true(local > summary.largest_submission_bytes);
        assert_true(local * 2 < summary.peak_live_bytes);
        assert_true(summary.step_count >= 2);
        assert_true(summary.duration_ns > 0);
        assert_string_not_equal(w->name, "");
        assert_ptr_equal(workload_find_generator(g->name), g);
        workload_free(w);
    }
    assert_null(workload_find_generator("nothing"));
}

static void each_parameter_takes_its_smallest_value_and_nothing_below(void **state)
{
    (void)state;
    for (const struct workload_generator *g = workload_generators; g->name; g++) {
        for (const struct workload_param *p = g->params; p->name; p++) {
            struct workload_error error;
            struct workload *workload;
            char setting[64];
            const char *settings[1] = {setting};

            assert_non_null(p->summary);
            /* The smallest value of each, but where it contradicts another one's default. */
            snprintf(setting, sizeof setting, "%s=%llu", p->name, (unsigned long long)p->min);
            if (p->choices)
                snprintf(setting, sizeof setting, "%s=%.*s", p->name, (int)strcspn(p->choices, "|"),
                         p->choices);
            if (workload_generate(g->name, settings, 1, &workload, &error))
                workload_free(workload);
            else if (!strstr(error.text, "(expected"))
                fail_msg("%s", error.text);
            if (p->choices || p->min == 0)
                continue;
            snprintf(setting, sizeof setting, "%s=%llu", p->name, (unsigned long long)p->min - 1);
            assert_false(workload_generate(g->name, settings, 1, &workload, &error));
            assert_null(workload);
        }
    }
}

static void transformer_sizes_follow_the_arithmetic(void **state)
{
    static const char *const settings[] = {"layers=2", "hidden=64",  "heads=4",
                                           "seq=32",   "batch=3",    "vocab=1000",
                                           "steps=1",  "dtype=fp16", "optimizer=adam"};
    struct workload *w = generate("transformer", settings, ARRAY_COUNT(settings));
    struct workload_summary summary;

    (void)state;
    assert_int_equal(size_of(w, "l0.qkv.weight"), 64 * 192 * 2);
    assert_int_equal(size_of(w, "l1.up.weight"), 64 * 256 * 2);
    assert_int_equal(size_of(w, "l1.up.master"), 64 * 256 * 4);
    assert_int_equal(size_of(w, "l1.up.state1"), 64 * 256 * 4);
    assert_int_equal(size_of(w, "l1.up.gradient"), 64 * 256 * 2);
    assert_int_equal(size_of(w, "l0.probs"), 3 * 4 * 32 * 32 * 2);
    assert_int_equal(size_of(w, "l0.act"), 3 * 32 * 256 * 2);
    assert_int_equal(size_of(w, "l2.logits"), 3 * 32 * 1000 * 2);
    assert_int_equal(size_of(w, "tokens"), 3 * 32 * 4);
    workload_summarise(w, &summary);
    /* Per layer 9 forward and 13 backward; 6 around the head; 2 embedding; 13 updates, 13 fills. */
    assert_int_equal(summary.op_counts[WORKLOAD_OP_SUBMIT], 2 * (9 + 13) + 6 + 2 + 13 + 13);
    workload_free(w);
}

/* What a training step allocates, it frees: only parameters, their state and two buffers stay. */
static void training_frees_activations_and_gradients(void **state)
{
    static const char *const names[] = {"transformer", "cnn"};

    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        struct workload *w = generate(names[i], NULL, 0);

        for (uint32_t a = 0; a < w->allocation_count; a++) {
            const char *name = workload_allocation_name(w, a);
            bool stays = strstr(name, ".weight") || strstr(name, ".state") ||
                         strcmp(name, "tokens") == 0 || strcmp(name, "images") == 0 ||
                         strcmp(name, "loss") == 0;

            assert_int_equal(w->allocations[a].free_op == WORKLOAD_NONE, stays);
        }
        workload_free(w);
    }
}

/* Every activation and gradient is written before anything reads it. */
static void training_reads_nothing_before_it_is_written(void **state)
{
    static const char *const names[] = {"transformer", "cnn", "game"};

    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        struct workload *w = generate(names[i], NULL, 0);
        bool *written = calloc(w->allocation_count, sizeof *written);

        assert_non_null(written);
        for (uint32_t o = 0; o < w->op_count; o++) {
            const struct workload_op *op = &w->ops[o];

            if (op->kind == WORKLOAD_OP_WRITE)
                written[op->object] = true;
            for (uint32_t r = 0; op->kind == WORKLOAD_OP_SUBMIT && r < op->ref_count; r++) {
                const struct workload_ref *ref = &w->refs[op->first_ref + r];

                if ((ref->access & WORKLOAD_ACCESS_READ) && !written[ref->allocation])
                    fail_msg("%s: operation %u reads %s", names[i], o,
                             workload_allocation_name(w, ref->allocation));
                if (ref->access & WORKLOAD_ACCESS_WRITE)
                    written[ref->allocation] = true;
            }
        }
        free(written);
        workload_free(w);
    }
}

static void cnn_sizes_follow_the_arithmetic(void **state)
{
    static const char *const settings[] = {"depth=26", "batch=2",    "image=64",
                                           "width=8",  "classes=10", "steps=1"};
    struct workload *w = generate("cnn", settings, ARRAY_COUNT(settings));

    (void)state;
    assert_int_equal(size_of(w, "images"), 2 * 3 * 64 * 64 * 4);
    assert_int_equal(size_of(w, "stem.conv.weight"), 7 * 7 * 3 * 8 * 4);
    assert_int_equal(size_of(w, "stem.raw"), 2 * 8 * 16 * 16 * 4);
    assert_int_equal(size_of(w, "s1b0.expand.raw"), 2 * 32 * 16 * 16 * 4);
    assert_int_equal(size_of(w, "s2b0.middle.conv.weight"), 3 * 3 * 16 * 16 * 4);
    assert_int_equal(size_of(w, "s4b1.expand.raw"), 2 * 256 * 2 * 2 * 4);
    assert_int_equal(size_of(w, "classifier.weight"), 256 * 10 * 4);
    workload_free(w);
}

static void pressure_and_local_memory_decide_the_option(void **state)
{
    static const char *const given[] = {"local-memory=100M"}, *const twice[] = {"pressure=200"};
    struct workload *w = generate("transformer", given, 1);
    struct workload_summary summary;
    uint64_t local;

    (void)state;
    assert_string_equal(workload_option(w, "local-memory"), "100M");
    workload_free(w);
    w = generate("transformer", twice, 1);
    workload_summarise(w, &summary);
    local = workload_option_number(w, "local-memory", 0);
    assert_true(local >= summary.peak_live_bytes / 2);
    assert_true(local < summary.peak_live_bytes / 2 + 2 * MiB);
    workload_free(w);
}

static void two_large_allocations_end_a_random_case(void **state)
{
    static const char *const small[] = {"ops=50", "seed=7"};
    static const char *const large[] = {"ops=50", "seed=7", "large=20M"};
    struct workload *without = generate("random", small, ARRAY_COUNT(small));
    struct workload *w = generate("random", large, ARRAY_COUNT(large));
    const struct workload_op *last = &w->ops[w->op_count - 1];

    (void)state;
    assert_int_equal(size_of(w, "large0"), 20 * MiB);
    assert_int_equal(size_of(w, "large1"), 20 * MiB);
    assert_int_equal(w->allocation_count, without->allocation_count + 2);
    assert_int_equal(last->kind, WORKLOAD_OP_SUBMIT);
    assert_in_range(last->ref_count, 1024, 4096); /* of 32 bytes, more than 32 KiB */
    assert_string_equal(workload_option(w, "scatter"), "no");
    assert_null(workload_option(without, "scatter"));
    workload_free(w);
    workload_free(without);
}

static void clients_are_processes_with_sets_of_their_own(void **state)
{
    static const char *const settings[] = {
        "decode=2",        "training=1",  "games=1",     "layers=4",   "decode-set=4M",
        "training-set=8M", "game-set=4M", "bandwidth=4", "busy-ms=10", "local-memory=12M"};
    struct workload *w = generate("clients", settings, ARRAY_COUNT(settings));
    uint64_t kernel_ns[4] = {0};

    (void)state;
    assert_int_equal(w->process_count, 4);
    assert_int_equal(size_of(w, "decode1.weights3"), MiB / 32 * 30);
    assert_int_equal(size_of(w, "decode0.kv0"), MiB / 32 * 2);
    assert_int_equal(size_of(w, "train0.states2"), 2 * MiB / 32 * 8);
    assert_true(workload_option_number(w, "backlog", 0) > 0);
    for (uint32_t i = 0; i < w->allocation_count; i++) {
        bool is_game = strncmp(workload_allocation_name(w, i), "game", 4) == 0;

        assert_int_equal(w->allocations[i].priority,
                         is_game ? WORKLOAD_PRIORITY_HIGH : WORKLOAD_PRIORITY_NORMAL);
    }
    for (uint32_t i = 0; i < w->op_count; i++) {
        const struct workload_op *op = &w->ops[i];

        if (op->kind == WORKLOAD_OP_SUBMIT)
            kernel_ns[w->devices[w->contexts[op->object].device].process] += op->value;
    }
    assert_true(kernel_ns[0] == kernel_ns[1]);
    /* What fills the set, and as many rounds as fit into the time, in one of which: */
    assert_in_range(kernel_ns[0], 10 * MiB, 10 * MiB + 100);             /* 9, the set is read */
    assert_in_range(kernel_ns[2], 9 * 2 * MiB - 100, 9 * 2 * MiB + 100); /* 1, 8 times */
    assert_in_range(kernel_ns[3], 46 * MiB / 10 - 100, 46 * MiB / 10 + 100); /* 1, 3.6 times */
    workload_free(w);
}

static unsigned count_of(const struct workload *w, enum workload_op_kind kind, uint32_t *out_last)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < w->op_count; i++) {
        if (w->ops[i].kind != kind)
            continue;
        *out_last = i;
        count++;
    }
    return count;
}

/* Now in the middle, and now in a sleep that is the end; what is in front of it stays the same. */
static void a_board_is_pulled_out_of_a_random_case(void **state)
{
    unsigned asleep = 0, in_the_middle = 0;

    (void)state;
    for (unsigned seed = 1; seed <= 16; seed++) {
        char text[16];
        const char *const settings[] = {"ops=60", text, "removal=30"};
        struct workload *without, *w;
        uint32_t at = 0;

        snprintf(text, sizeof text, "seed=%u", seed);
        without = generate("random", settings, 2);
        w = generate("random", settings, 3);
        assert_int_equal(count_of(without, WORKLOAD_OP_REMOVE, &at), 0);
        assert_int_equal(count_of(w, WORKLOAD_OP_REMOVE, &at), 1);
        if (w->ops[at].value == 0) {
            assert_int_equal(at, w->op_count - 1);
            assert_int_equal(w->ops[--at].kind, WORKLOAD_OP_POWER);
            asleep++;
        } else {
            assert_true(at < w->op_count - 1);
            in_the_middle++;
        }
        assert_true(at >= 10);
        for (uint32_t i = 0; i < at; i++) {
            assert_int_equal(w->ops[i].kind, without->ops[i].kind);
            assert_int_equal(w->ops[i].object, without->ops[i].object);
        }
        workload_free(w);
        workload_free(without);
    }
    assert_true(asleep >= 3 && in_the_middle >= 3);
}

/* Everything but the escapes is as it is without them, and their data differs. */
static void escapes_stand_between_the_lines_of_a_random_case(void **state)
{
    unsigned escapes = 0, heads = 0, for_hardware = 0;

    (void)state;
    for (unsigned seed = 1; seed <= 16; seed++) {
        char text[16];
        const char *const settings[] = {"ops=400", text, "escapes=yes"};
        struct workload *without, *w;
        uint32_t at = 0;

        snprintf(text, sizeof text, "seed=%u", seed);
        without = generate("random", settings, 2);
        w = generate("random", settings, 3);
        for (uint32_t i = 0; i < w->op_count; i++) {
            const struct workload_op *op = &w->ops[i];

            if (op->kind == WORKLOAD_OP_ESCAPE) {
                escapes++;
                heads += strcmp(workload_string(w, op->text), "1:u32 1:u32 0:u64*2") == 0;
                for_hardware += op->flags != 0;
                assert_true(op->object < w->context_count && op->value <= 2);
                assert_in_range(workload_template_bytes(workload_string(w, op->text)), 1, 1544);
                continue;
            }
            assert_true(at < without->op_count);
            assert_int_equal(op->kind, without->ops[at].kind);
            assert_int_equal(op->object, without->ops[at].object);
            at++;
        }
        assert_int_equal(at, without->op_count);
        workload_free(w);
        workload_free(without);
    }
    assert_in_range(escapes, 16 * 20, 16 * 50);
    assert_in_range(heads, escapes / 24, escapes / 6);
    assert_in_range(for_hardware, escapes / 12, escapes / 3);
}

/* By turns, unplugged first; all else is as it is without them, and the case's text has them. */
static void monitors_come_and_go_between_the_lines_of_a_random_case(void **state)
{
    unsigned changes = 0;

    (void)state;
    for (unsigned seed = 1; seed <= 16; seed++) {
        char seed_text[16], *text;
        const char *const settings[] = {"ops=400", seed_text, "monitors=yes"};
        struct workload *without, *w, *again;
        struct workload_error error;
        bool is_unplugged = false;
        uint32_t at = 0;
        size_t size;

        snprintf(seed_text, sizeof seed_text, "seed=%u", seed);
        without = generate("random", settings, 2);
        w = generate("random", settings, 3);
        for (uint32_t i = 0; i < w->op_count; i++) {
            const unsigned kind = w->ops[i].kind;

            if (kind == WORKLOAD_OP_UNPLUG || kind == WORKLOAD_OP_PLUG) {
                assert_int_equal(kind == WORKLOAD_OP_PLUG, is_unplugged);
                is_unplugged = !is_unplugged;
                changes++;
                continue;
            }
            assert_true(at < without->op_count);
            assert_int_equal(kind, without->ops[at].kind);
            assert_int_equal(w->ops[i].object, without->ops[at++].object);
        }
        assert_int_equal(at, without->op_count);
        assert_true(workload_print(w, &text, &size, &error));
        assert_true(workload_parse(text, size, "again.case", &again, &error));
        assert_true(workload_equal(w, again));
        free(text);
        workload_free(again);
        workload_free(w);
        workload_free(without);
    }
    assert_in_range(changes, 16 * 6, 16 * 30);
}

static void wrong_parameters_are_refused_by_name(void **state)
{
    static const struct {
        const char *name, *setting, *message;
    } refused[] = {
        {"film", "seed=1",
         "unknown generator 'film' (expected transformer, cnn, game, clients or random)"},
        {"clients", "decode=0", "clients: no process (expected decode, training or games)"},
        {"clients", "busy-ms=10000000",
         "clients: more than 4194304 submissions (expected larger sets"},
        {"cnn", "depth", "cnn: unknown parameter 'depth' (expected KEY=VALUE with a key of the"},
        {"cnn", "layers=1", "cnn: unknown parameter 'layers=1' (expected KEY=VALUE"},
        {"cnn", "depth=18", "cnn: depth is '18' (expected 26|50|101|152)"},
        {"cnn", "depth=", "cnn: depth is '' (expected 26|50|101|152)"},
        {"cnn", "batch=0", "cnn: batch is '0' (expected a number from 1 to 65536)"},
        {"cnn", "batch=x", "cnn: batch is 'x' (expected a number from 1 to 65536)"},
        {"cnn", "image=33", "cnn: image is 33 (expected a multiple of 32)"},
        {"random", "seed=-1", "random: seed is '-1' (expected a number from 0 to"},
        {"transformer", "heads=7", "transformer: hidden is no multiple of heads (expected"},
        {"transformer", "seq=131072",
         "transformer: probs is too large (expected parameters that keep each tensor below"},
        {"game", "radius=64", "game: radius 64 sees the whole world of 48 tiles (expected"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(refused); i++) {
        struct workload_error error = {""};
        struct workload *workload;

        assert_false(workload_generate(refused[i].name, &refused[i].setting, 1, &workload, &error));
        assert_null(workload);
        if (strncmp(error.text, refused[i].message, strlen(refused[i].message)) != 0)
            fail_msg("%s\n  instead of  %s", error.text, refused[i].message);
    }
}

/* The main case is what its comment says it was made with. */
static void the_main_case_is_what_the_generator_makes(void **state)
{
    static const char *const settings[] = {"batch=11", "steps=4", "local-memory=256M"};
    struct workload *made = generate("transformer", settings, ARRAY_COUNT(settings)), *shipped;
    struct workload_error error;

    (void)state;
    if (!workload_load(DRYDOCK_SOURCE_DIR "/cases/main.case", &shipped, &error))
        fail_msg("%s", error.text);
    assert_true(workload_equal(made, shipped));
    workload_free(made);
    workload_free(shipped);
}

/*
 * The manager maps a pool with no driver protection, and would refuse it beside a unique one
 * (PT-029).
 */
static void a_pool_has_no_unique_protection(void **state)
{
    unsigned pools = 0, unique_mappings = 0;

    (void)state;
    for (unsigned seed = 1; seed <= 60; seed++) {
        const char *settings[] = {NULL, "ops=2000", "tiles=yes", "processes=1"};
        struct workload *workload;
        bool *is_unique;
        char text[32];

        snprintf(text, sizeof text, "seed=%u", seed);
        settings[0] = text;
        workload = generate("random", settings, ARRAY_COUNT(settings));
        is_unique = calloc(workload->allocation_count, sizeof *is_unique);
        assert_non_null(is_unique);
        for (uint64_t i = 0; i < workload->op_count; i++) {
            const struct workload_op *op = &workload->ops[i];

            if (op->kind != WORKLOAD_OP_MAP || !op->ref_count ||
                !(workload->refs[op->first_ref].key >> 63))
                continue;
            is_unique[op->object] = true;
            unique_mappings++;
        }
        for (uint64_t i = 0; i < workload->op_count; i++) {
            const struct workload_op *op = &workload->ops[i];

            if (op->kind != WORKLOAD_OP_TILE_MAP)
                continue;
            assert_false(is_unique[workload->refs[op->first_ref].allocation]);
            pools++;
        }
        free(is_unique);
        workload_free(workload);
    }
    assert_true(pools > 100);
    assert_true(unique_mappings > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_gives_the_same_case),
        cmocka_unit_test(every_generator_makes_a_case_that_is_under_pressure),
        cmocka_unit_test(each_parameter_takes_its_smallest_value_and_nothing_below),
        cmocka_unit_test(transformer_sizes_follow_the_arithmetic),
        cmocka_unit_test(training_frees_activations_and_gradients),
        cmocka_unit_test(training_reads_nothing_before_it_is_written),
        cmocka_unit_test(cnn_sizes_follow_the_arithmetic),
        cmocka_unit_test(pressure_and_local_memory_decide_the_option),
        cmocka_unit_test(two_large_allocations_end_a_random_case),
        cmocka_unit_test(clients_are_processes_with_sets_of_their_own),
        cmocka_unit_test(a_board_is_pulled_out_of_a_random_case),
        cmocka_unit_test(escapes_stand_between_the_lines_of_a_random_case),
        cmocka_unit_test(monitors_come_and_go_between_the_lines_of_a_random_case),
        cmocka_unit_test(wrong_parameters_are_refused_by_name),
        cmocka_unit_test(a_pool_has_no_unique_protection),
        cmocka_unit_test(the_main_case_is_what_the_generator_makes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
