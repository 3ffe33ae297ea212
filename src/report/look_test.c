#include "report/look.h"

#include "report/plain_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int end(void **state)
{
    look_choose(&(struct look){0});
    return 0;
}

static void a_stream_has_colours_only_when_it_was_chosen(void **state)
{
    assert_string_equal(look_begin(stdout, LOOK_ERROR), "");
    look_choose(&(struct look){.out_has_color = true});
    assert_string_equal(look_begin(stdout, LOOK_ERROR), "\033[0;1;31m");
    assert_string_equal(look_begin(stderr, LOOK_ERROR), "");
    assert_string_equal(look_begin(stdin, LOOK_ERROR), ""); /* a file of ours, or any other */
}

static void a_curve_shows_the_most_of_each_part(void **state)
{
    const uint64_t values[] = {0, 8, 0, 4, 1, 0};
    char text[LOOK_CURVE_BYTES(6)];

    look_curve(text, 6, values, 6, 8);
    assert_string_equal(text, " @ =. ");
    look_curve(text, 3, values, 6, 8);
    assert_string_equal(text, "@=.");
    look_choose(&(struct look){.has_blocks = true});
    look_curve(text, 6, values, 6, 8);
    assert_string_equal(text, " █ ▄▁ ");
}

static void a_curve_of_few_or_wrong_values_stays_in_its_room(void **state)
{
    const uint64_t values[] = {UINT64_MAX, 1};
    char text[LOOK_CURVE_BYTES(9)];

    look_curve(text, 9, values, 2, 1); /* more than there is room for: full */
    assert_int_equal(strlen(text), 9);
    assert_int_equal(strspn(text, "@"), 9);
    look_curve(text, 9, values, 2, 0);
    assert_int_equal(strspn(text, " "), 9);
    look_curve(text, 9, values, 0, 1);
    assert_string_equal(text, "");
}

/* What is written to standard output with colours on, in place of standard output's file. */
static void write_styled(const char *from_driver, char *out, size_t size)
{
    int real = dup(STDOUT_FILENO), ends[2];
    struct plain_text plain;
    ssize_t got;

    fflush(stdout);
    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], STDOUT_FILENO);
    look_choose(&(struct look){.out_has_color = true});
    plain_text_begin(&plain);
    plain_text_style(&plain, LOOK_ERROR);
    fputs("error", plain.stream);
    plain_text_style(&plain, LOOK_PLAIN);
    fputs(from_driver, plain.stream);
    plain_text_end(&plain, stdout);
    fflush(stdout);
    dup2(real, STDOUT_FILENO);
    close(real);
    close(ends[1]);
    got = read(ends[0], out, size - 1);
    out[got > 0 ? got : 0] = '\0';
    close(ends[0]);
}

static void only_our_colours_reach_the_terminal(void **state)
{
    char text[256];

    write_styled(" says \033[31mred\033[0m\n", text, sizeof text);
    assert_string_equal(text, "\033[0;1;31merror\033[0m says \\x1b[31mred\\x1b[0m\n\033[0m");
}

static void a_colour_does_not_hide_a_command_from_the_filter(void **state)
{
    char text[256];

    write_styled("\n::warning::x\n", text, sizeof text);
    assert_string_equal(text, "\033[0;1;31merror\033[0m\n\\::warning::x\n\033[0m");
}

static void a_link_is_printed_where_it_was_chosen(void **state)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length), *out = stdout;
    struct plain_text plain;

    for (unsigned has_links = 0; has_links < 2; has_links++) {
        look_choose(&(struct look){.out_has_links = has_links});
        rewind(file);
        stdout = file;
        plain_text_begin(&plain);
        plain_text_link(&plain, "https://example.org/");
        fputs("page \033]8;;x\033\\", plain.stream);
        plain_text_link(&plain, "");
        plain_text_end(&plain, stdout);
        stdout = out;
        fflush(file);
        assert_string_equal(text, has_links ? "\033]8;;https://example.org/\033\\"
                                              "page \\x1b]8;;x\\x1b\\"
                                              "\033]8;;\033\\"
                                            : "page \\x1b]8;;x\\x1b\\");
    }
    fclose(file);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_stream_has_colours_only_when_it_was_chosen, end),
        cmocka_unit_test_teardown(a_link_is_printed_where_it_was_chosen, end),
        cmocka_unit_test_teardown(a_curve_shows_the_most_of_each_part, end),
        cmocka_unit_test_teardown(a_curve_of_few_or_wrong_values_stays_in_its_room, end),
        cmocka_unit_test_teardown(only_our_colours_reach_the_terminal, end),
        cmocka_unit_test_teardown(a_colour_does_not_hide_a_command_from_the_filter, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
