/* Words for a shell: a shell reads what was written. */
#include "bench/config/command_line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static void a_shell_reads_the_word(const char *word)
{
    char line[400] = "printf %s", read[100] = "";
    FILE *shell;

    command_line_append(line, sizeof line, word);
    shell = popen(line, "r");
    assert_non_null(shell);
    read[fread(read, 1, sizeof read - 1, shell)] = '\0';
    assert_int_equal(pclose(shell), 0);
    assert_string_equal(read, word);
}

static void a_shell_reads_what_was_written(void **state)
{
    a_shell_reads_the_word("plain-word.so");
    a_shell_reads_the_word("");
    a_shell_reads_the_word("dry dock \xc3\xa4/x.sys");
    a_shell_reads_the_word("it's '' \"$HOME\" `id` \\ #1 ~ * ;");
}

static void only_what_needs_quotes_has_them(void **state)
{
    char line[64] = "drydock";

    command_line_append(line, sizeof line, "--gpu");
    command_line_append(line, sizeof line, "./my gpu.so");
    assert_string_equal(line, "drydock --gpu './my gpu.so'");
}

static void a_word_that_does_not_fit_is_left_out(void **state)
{
    char line[16] = "drydock";

    command_line_append(line, sizeof line, "abcdefgh");
    assert_string_equal(line, "drydock");
    command_line_append(line, sizeof line, "ab'"); /* its quotes are three more */
    assert_string_equal(line, "drydock");
    command_line_append(line, sizeof line, "abcdefg");
    assert_string_equal(line, "drydock abcdefg");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shell_reads_what_was_written),
        cmocka_unit_test(only_what_needs_quotes_has_them),
        cmocka_unit_test(a_word_that_does_not_fit_is_left_out),
    };

    return cmocka_run_group_tests_name("bench/command_line", tests, NULL, NULL);
}
