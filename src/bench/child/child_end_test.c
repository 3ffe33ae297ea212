#include "bench/child/child_end.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_status_of_a_process_that_ends_is_given),
        cmocka_unit_test(a_process_that_blocks_all_signals_is_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
