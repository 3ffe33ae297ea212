/* With a program of the test's own for llvm-symbolizer. */
#define _GNU_SOURCE
#include "bench/drivers/source_places.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64], program[96];

/* What it answers, and with which words it wants to be asked. */
static void install(const char *words, const char *answer)
{
    FILE *file = fopen(program, "w");

    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n[ \"$*\" = '%s' ] || exit 1\ncat <<'END'\n%sEND\n", words, answer);
    fclose(file);
    assert_int_equal(chmod(program, 0700), 0);
}

static int setup(void **state)
{
    char *path = NULL;

    snprintf(folder, sizeof folder, "/tmp/places-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(program, sizeof program, "%s/llvm-symbolizer", folder);
    assert_true(asprintf(&path, "%s:/bin:/usr/bin", folder) > 0);
    setenv("PATH", path, 1);
    free(path);
    return 0;
}

static int teardown(void **state)
{
    unlink(program);
    return rmdir(folder);
}

static void expect(const char *from, const char *to)
{
    char text[400];
    const struct source_text one = {text, sizeof text};

    snprintf(text, sizeof text, "%s", from);
    source_places_add("x.sys", &one, 1);
    assert_string_equal(text, to);
}

static void lines_take_the_place_of_addresses(void **state)
{
    install("--obj=x.sys --relative-address --output-style=LLVM 0x1010 0x2040",
            "Copy\n/elsewhere/src/copy.c:12:3\n\nBuild\nC:\\src\\build.c:7:1\n\n");
    expect("#0 x.sys!Copy+0x10 (+0x1010)\n#1 x.sys!Build+0x40 (+0x2040)\n#2 x.sys!Copy (+0x1010)",
           "#0 x.sys!Copy+0x10 (copy.c:12)\n#1 x.sys!Build+0x40 (build.c:7)\n#2 x.sys!Copy "
           "(copy.c:12)");
}

/* The innermost of what is inlined there; and what only a PDB knows. */
static void functions_are_named_that_the_text_does_not_name(void **state)
{
    install("--obj=x.sys --relative-address --output-style=LLVM 0x10 0x20 0x30",
            "Inner\n/a/in.h:3:0\nOuter\n/a/out.c:9:0\n\nDeep\n??:0:0\n\n??\n??:0:0\n\n");
    expect("x.sys!Outer+0x10 (+0x10) x.sys!.text+0x20 (+0x20) x.sys!.text+0x30 (+0x30)",
           "x.sys!Outer+0x10 (Inner, in.h:3) x.sys!.text+0x20 (Deep) x.sys!.text+0x30 (+0x30)");
}

static void a_file_under_the_folder_keeps_its_path(void **state)
{
    char answer[200], *here = get_current_dir_name();

    assert_int_equal(chdir(folder), 0);
    snprintf(answer, sizeof answer, "Copy\n%s/src/copy.c:12:3\n\n", folder);
    install("--obj=x.sys --relative-address --output-style=LLVM 0x1", answer);
    expect("x.sys!Copy (+0x1)", "x.sys!Copy (src/copy.c:12)");
    assert_int_equal(chdir(here), 0);
    free(here);
}

static void what_is_no_mark_and_what_has_no_room_stays(void **state)
{
    char text[] = "x.sys!Copy (+0x1)", *end = text + sizeof text;
    const struct source_text one = {text, (size_t)(end - text)};

    install("--obj=x.sys --relative-address --output-style=LLVM 0x1",
            "Copy\na-file-of-a-long-name.c:12:3\n\n");
    source_places_add("x.sys", &one, 1);
    assert_string_equal(text, "x.sys!Copy (+0x1)");
    expect("a (+0x) b (+0xzz) c (+0x1", "a (+0x) b (+0xzz) c (+0x1");
    unlink(program);
    setenv("PATH", folder, 1);
    expect("x.sys!Copy (+0x1)", "x.sys!Copy (+0x1)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_take_the_place_of_addresses, setup, teardown),
        cmocka_unit_test_setup_teardown(functions_are_named_that_the_text_does_not_name, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_file_under_the_folder_keeps_its_path, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_no_mark_and_what_has_no_room_stays, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
