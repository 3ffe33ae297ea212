/*
 * Runner: one program for the tests of a module.
 *
 *     vidmm_tests                     every file, each in a process of its own
 *     vidmm_tests residency_test      the tests of one file
 *     vidmm_tests residency_test 'a*' those of them whose names match
 *     vidmm_tests --list              the files
 *
 * A file NAME_test.c has a main() as if it were a program; the build renames it to NAME_test_main
 * (cmake/modules.cmake) and makes the list of them, RUNNER_FILES.
 *
 * Exit status: 0 when all have passed, 1 when one has not, 2 when there is no such file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/told.h"

#define FILE_OF_TESTS(name) int name##_main(void);
#include RUNNER_FILES
#undef FILE_OF_TESTS

static const struct {
    const char *name;
    int (*run)(void);
} files[] = {
#define FILE_OF_TESTS(name) {#name, name##_main},
#include RUNNER_FILES
#undef FILE_OF_TESTS
};

#define FILE_COUNT (sizeof files / sizeof *files)

/* Of the tests of a module: RUNNER_FILES is <module>_tests.inc. */
static int run_file(size_t index)
{
    static char module[sizeof RUNNER_FILES];

    memcpy(module, RUNNER_FILES, strcspn(RUNNER_FILES, "_"));
    told_begin(module, files[index].name);
    return files[index].run() != 0;
}

static int run_all(void)
{
    unsigned failed = 0;

    for (size_t i = 0; i < FILE_COUNT; i++) {
        int status;
        pid_t child;

        fflush(NULL);
        child = fork();
        if (child == 0)
            return run_file(i);
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
            fprintf(stderr, "%s failed\n", files[i].name);
            failed++;
        }
    }
    printf("%zu files of tests, %u failed\n", FILE_COUNT, failed);
    return failed != 0;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return run_all();
    if (strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; i < FILE_COUNT; i++)
            puts(files[i].name);
        return 0;
    }
    for (size_t i = 0; i < FILE_COUNT; i++) {
        if (strcmp(argv[1], files[i].name) == 0) {
            if (argc > 2)
                cmocka_set_test_filter(argv[2]);
            return run_file(i);
        }
    }
    fprintf(stderr, "%s: there is no file of tests '%s'; --list names them\n", argv[0], argv[1]);
    return 2;
}
