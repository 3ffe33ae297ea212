/* What is printed of strangers' words: nothing that a terminal or a build service obeys. */
#include "report/plain_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect(const char *text, const char *plain)
{
    char *out = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&out, &length);

    plain_text_write(file, text, strlen(text));
    fclose(file);
    assert_string_equal(out, plain);
    free(out);
}

static void words_stay_as_they_are(void **state)
{
    expect("", "");
    expect("a finding\n  of Foo::bar, 3 # of 4\n\tend",
           "a finding\n  of Foo::bar, 3 # of 4\n\tend");
    expect("Gr\xc3\xb6\xc3\x9f"
           "e \xe2\x82\xac \xf0\x9f\x9a\xa2",
           "Gr\xc3\xb6\xc3\x9f"
           "e \xe2\x82\xac \xf0\x9f\x9a\xa2");
    expect(":", ":");
    expect("##", "##");
}

static void control_characters_are_shown(void **state)
{
    expect("\033[2J\033]0;title\007", "\\x1b[2J\\x1b]0;title\\x07");
    expect("back\b\r\x7f", "back\\x08\\x0d\\x7f");
    expect("\xc2\x9b"
           "31m \x9b"
           "31m",
           "\\xc2\\x9b31m \\x9b31m");
    expect("\xe2\x80\xae"
           "live",
           "\\xe2\\x80\\xaelive");
    expect("\xe2\x81\xa6.", "\\xe2\\x81\\xa6.");
    expect("\xf0"
           "aa\x9b"
           "31m",
           "\xf0"
           "aa\\x9b"
           "31m");
    expect("\xd8\x9c.", "\\xd8\\x9c.");
}

static void commands_of_build_services_are_parted(void **state)
{
    expect("::error ::x", "\\::error ::x");
    expect("a\n  ::set-output name=a::b", "a\n  \\::set-output name=a::b");
    expect("see ##[group]x", "see \\##[group]x");
    expect("a ##vso[task.setvariable]x", "a \\##vso[task.setvariable]x");
    expect("\xc2\xa0::error::x", "\xc2\xa0\\::error::x");
    expect("\xe3\x80\x80::stop-commands::x", "\xe3\x80\x80\\::stop-commands::x");
    expect("Foo ::bar", "Foo ::bar");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_stay_as_they_are),
        cmocka_unit_test(control_characters_are_shown),
        cmocka_unit_test(commands_of_build_services_are_parted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
