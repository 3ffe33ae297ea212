#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "bench/measure/bounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool read_text(struct bounds *bounds, const char *text, char *message)
{
    char path[] = "/tmp/drydock-bounds-XXXXXX";
    int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");
    bool is_fine;

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    is_fine = bounds_read(bounds, path, message);
    unlink(path);
    return is_fine;
}

static void a_figure_is_worse_beyond_its_spread(void **state)
{
    char message[BOUNDS_MESSAGE_BYTES];
    struct bounds bounds;
    double bound;

    (void)state;
    assert_true(read_text(&bounds, "# a comment\n\na/b c/1\t1.5\nother\t2\n", message));
    assert_int_equal(bounds.count, 2);
    assert_false(bounds_judge(&bounds, "a/b c/1", 1.5, 0, &bound));
    assert_true(bound == 1.5);
    assert_true(bounds_judge(&bounds, "a/b c/1", 1.51, 0, &bound));
    assert_false(bounds_judge(&bounds, "a/b c/1", 1.64, 0.1, &bound));
    assert_true(bounds_judge(&bounds, "a/b c/1", 1.66, 0.1, &bound));
    assert_false(bounds_judge(&bounds, "unknown", 1e9, 0, &bound));
    assert_true(bound == 0);
    assert_int_equal(bounds.judged, 4);
    assert_int_equal(bounds.worse, 2);
    assert_false(bounds.list[1].is_met);
    bounds_skip(&bounds, "other");
    bounds_skip(&bounds, "unknown");
    assert_true(bounds.list[1].is_met);
    assert_int_equal(bounds.unsteady, 1);
    bounds_free(&bounds);
}

static void the_bounds_of_a_bench_are_due_when_it_is_measured(void **state)
{
    char message[BOUNDS_MESSAGE_BYTES];
    struct bounds bounds;

    (void)state;
    assert_true(read_text(&bounds, "page/x\t1\npages/x\t1\nranges/y\t2\n", message));
    assert_true(bounds_have(&bounds, "page"));
    assert_true(bounds_have(&bounds, "ranges"));
    assert_false(bounds_have(&bounds, "range"));
    bounds_expect(&bounds, "page");
    bounds_expect(&bounds, "ranges");
    assert_true(bounds.list[0].is_due);
    assert_false(bounds.list[1].is_due);
    assert_true(bounds.list[2].is_due);
    bounds_expect(&bounds, NULL);
    assert_true(bounds.list[1].is_due);
    bounds_free(&bounds);
}

static void a_line_that_is_no_bound_is_told(void **state)
{
    static const char *const wrong[] = {"a 1\n", "a\tx\n", "a\t0\n", "a\t1 2\n", "\t1\n", "a\t1"};
    char message[BOUNDS_MESSAGE_BYTES];
    struct bounds bounds;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(read_text(&bounds, wrong[i], message));
        bounds_free(&bounds);
    }
    assert_false(bounds_read(&bounds, "/nonexistent/bounds", message));
    assert_string_equal(message, "/nonexistent/bounds: cannot be read");
}

/* The recorded ones, which `make bench-check` reads. */
static void the_recorded_bounds_are_readable(void **state)
{
    char message[BOUNDS_MESSAGE_BYTES];
    struct bounds bounds;

    (void)state;
    assert_true(bounds_read(&bounds, DRYDOCK_SOURCE_DIR "/tests/bench/bounds.tsv", message));
    assert_true(bounds.count > 10);
    bounds_free(&bounds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_figure_is_worse_beyond_its_spread),
        cmocka_unit_test(the_bounds_of_a_bench_are_due_when_it_is_measured),
        cmocka_unit_test(a_line_that_is_no_bound_is_told),
        cmocka_unit_test(the_recorded_bounds_are_readable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
