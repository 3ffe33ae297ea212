/*
 * Where the words of a case put an allocation: what fits tells.
 */
#include "bench/whole_runs/test_run.h"

/* 10 MiB at once in the segments named, on a board with 8 MiB of each kind of local memory. */
static bool fits(const char *model, const char *segments)
{
    char text[512];
    struct run_result *result;
    bool has_run;

    snprintf(text, sizeof text,
             "drydock-case 1\noption model %s\noption local-memory 8M\noption local-invisible 8M\n"
             "alloc a size=2M segments=%s\nalloc b size=5M segments=%s\nalloc c size=3M "
             "segments=%s\nsubmit c0 a:w b:w c:w\nwait all\n",
             model, segments, segments, segments);
    result = test_play(test_parse(text));
    has_run = result->outcome == RUN_CLEAN;
    assert_int_equal(result->submissions, has_run ? 1 : 0);
    assert_int_equal(result->finding_totals[RUN_FINDING_SUBMISSION], has_run ? 0 : 1);
    test_finish(result);
    return has_run;
}

static void invisible_memory_alone_is_not_helped_out_by_the_rest(void **state)
{
    static const char *const models[] = {"physical", "gpummu"};

    for (size_t i = 0; i < ARRAY_COUNT(models); i++) {
        assert_false(fits(models[i], "local-invisible"));
        assert_true(fits(models[i], "local-invisible,local"));
        assert_true(fits(models[i], "local"));
    }
}

/*
 * The driver moves what stands in the order of tiles as it stands; a packet that ends amid a tile
 * leaves pages of it behind that come before others that it has brought.
 */
static void a_tiled_allocation_moves_in_parts_of_any_size(void **state)
{
    static const char *const pieces[] = {"", "option transfer-piece 4096\n",
                                         "option transfer-piece 12288\n"};

    for (unsigned i = 0; i < 24; i++) {
        char text[256];
        struct run_result *result;

        snprintf(text, sizeof text,
                 "drydock-case 1\noption model physical\noption banks yes\n%s"
                 "option paging-buffer %u\nalloc a size=104120 flags=tiled\n"
                 "submit c0 a:rw\nmove a local\nsubmit c0 a:rw\nwait all\n",
                 pieces[i % 3], 96 + i / 3 * 128);
        result = test_play(test_parse(text));
        test_assert_clean(result);
        assert_true(result->statistics.operations[DXGK_OPERATION_TRANSFER] > 0);
        test_finish(result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invisible_memory_alone_is_not_helped_out_by_the_rest),
        cmocka_unit_test(a_tiled_allocation_moves_in_parts_of_any_size),
    };

    return cmocka_run_group_tests_name("bench/placement", tests, NULL, NULL);
}
