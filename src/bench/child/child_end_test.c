#define _GNU_SOURCE
#include "bench/child/child_end.h"

#include "bench/child/crash_recorder.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static void the_status_of_a_process_that_ends_is_given(void **state)
{
    pid_t child = fork();
    bool is_late;
    int status;

    if (child == 0)
        _exit(3);
    status = child_end_wait(child, CHILD_END_SECONDS, &is_late);
    assert_false(is_late);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 3);
}

static void a_process_that_blocks_all_signals_is_ended(void **state)
{
    pid_t child = fork();
    sigset_t all;
    bool is_late;
    int status;

    if (child == 0) {
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, NULL);
        for (;;)
            pause();
    }
    status = child_end_wait(child, 0.05, &is_late);
    assert_true(is_late);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
}

static pid_t spin_on_one_processor(void)
{
    pid_t child = fork();
    cpu_set_t one;

    if (child)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails does not end it */
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    for (;;)
        ;
}

/*
 * Four share a processor: each stands ready three quarters of the time or more, which does not
 * count. Of the first, a nice one, not even the limit is left, and ten times the limit is its end.
 * All of the time of one that sleeps counts, from when it has got to its sleep.
 */
static void standing_ready_is_not_sleeping(void **state)
{
    const struct timespec seconds = {2, 0};
    const bool is_counted = access("/proc/self/schedstat", R_OK) == 0;
    struct child_moment since[5];
    cpu_set_t all, one;
    bool is_late;

    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one); /* all of them where this process is */
    for (unsigned i = 0; i < 4; i++)
        since[i] = child_moment_now(spin_on_one_processor());
    sched_setaffinity(0, sizeof all, &all);
    setpriority(PRIO_PROCESS, (id_t)since[0].child, 10);
    since[4].child = fork();
    if (since[4].child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    since[4] = child_moment_now(since[4].child);
    for (unsigned i = 0; i < 5; i++)
        assert_false(child_moment_is_over(&since[i], 60));
    nanosleep(&seconds, NULL);
    assert_true(child_moment_is_over(&since[4], 1));
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(child_moment_is_over(&since[i], 2), !is_counted);
        assert_true(child_moment_is_over(&since[i], 0.2));
    }
    for (unsigned i = 0; i < 5; i++)
        child_end_wait(since[i].child, 0, &is_late);
}

/* What a process says is there, and cannot grow: not by a write, and not by the size. */
static void errors_have_an_end(void **state)
{
    static char block[CRASH_RECORDER_TEXT];
    char got[8] = "";
    const int file = child_errors_open("test");

    assert_true(file >= 0);
    assert_int_equal(write(file, "words", 5), 5);
    assert_int_equal(pread(file, got, 6, 0), 6);
    assert_string_equal(got, "words");
    write(file, block, sizeof block); /* as much as there is room for, or nothing */
    lseek(file, CRASH_RECORDER_TEXT, SEEK_SET);
    assert_int_equal(write(file, block, sizeof block), -1);
    assert_int_equal(ftruncate(file, 1 << 20), -1);
    assert_int_equal(lseek(file, 0, SEEK_END), CRASH_RECORDER_TEXT);
    child_errors_clear(file);
    assert_int_equal(write(file, "so", 2), 2);
    assert_int_equal(pread(file, got, 6, 0), 6);
    assert_string_equal(got, "so");
    close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_status_of_a_process_that_ends_is_given),
        cmocka_unit_test(a_process_that_blocks_all_signals_is_ended),
        cmocka_unit_test(standing_ready_is_not_sleeping),
        cmocka_unit_test(errors_have_an_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
