/* What is handed on, to whom, and which hooks stay. */
#include "machine/signal_hook.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct signal_hook first, second;
static volatile unsigned first_calls, second_calls; /* a signal handler writes them */
static volatile bool second_takes;

static void on_first(int signal, siginfo_t *info, void *context)
{
    assert_int_equal(signal, SIGUSR1);
    assert_int_equal(info->si_signo, SIGUSR1);
    first_calls++;
}

static void on_second(int signal, siginfo_t *info, void *context)
{
    second_calls++;
    if (!second_takes)
        signal_hook_pass_on(&second, info, context);
}

static void *handler_now(void)
{
    struct sigaction now;

    assert_int_equal(sigaction(SIGUSR1, NULL, &now), 0);
    return now.sa_flags & SA_SIGINFO ? (void *)now.sa_sigaction : (void *)now.sa_handler;
}

static void begin(void)
{
    first_calls = second_calls = 0;
    second_takes = false;
    assert_true(signal_hook_set(&first, SIGUSR1, on_first));
    assert_true(signal_hook_set(&second, SIGUSR1, on_second));
}

static void what_the_last_one_does_not_take_goes_to_the_one_before_it(void **state)
{
    begin();
    raise(SIGUSR1);
    assert_int_equal(second_calls, 1);
    assert_int_equal(first_calls, 1);
    second_takes = true;
    raise(SIGUSR1);
    assert_int_equal(second_calls, 2);
    assert_int_equal(first_calls, 1);
    signal_hook_release(&second);
    raise(SIGUSR1);
    assert_int_equal(second_calls, 2);
    assert_int_equal(first_calls, 2);
    signal_hook_release(&first);
    assert_ptr_equal(handler_now(), (void *)SIG_DFL);
}

/* The first one is released below the second one, and set again: nobody is called in a circle. */
static void a_hook_below_another_stays(void **state)
{
    begin();
    signal_hook_release(&first);
    assert_true(first.is_set);
    assert_true(signal_hook_set(&first, SIGUSR1, on_first));
    assert_ptr_equal(handler_now(), (void *)on_second);
    raise(SIGUSR1);
    assert_int_equal(second_calls, 1);
    assert_int_equal(first_calls, 1);
    signal_hook_release(&second);
    signal_hook_release(&first);
    assert_ptr_equal(handler_now(), (void *)SIG_DFL);
}

static void a_handler_that_somebody_else_has_set_is_told(void **state)
{
    struct sigaction theirs = {.sa_handler = SIG_IGN}, ours;

    begin();
    assert_int_equal(signal_hook_find_lost(), 0);
    sigaction(SIGUSR1, &theirs, &ours);
    assert_int_equal(signal_hook_find_lost(), SIGUSR1);
    sigaction(SIGUSR1, &ours, NULL);
    assert_int_equal(signal_hook_find_lost(), 0);
    signal_hook_release(&second);
    assert_int_equal(signal_hook_find_lost(), 0);
    signal_hook_release(&first);
    assert_int_equal(signal_hook_find_lost(), 0);
}

static void what_was_ignored_is_ignored_again(void **state)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    sigaction(SIGUSR1, &ignore, NULL);
    assert_true(signal_hook_set(&second, SIGUSR1, on_second));
    second_calls = 0;
    second_takes = false;
    raise(SIGUSR1);
    assert_int_equal(second_calls, 1);
    assert_ptr_equal(handler_now(), (void *)SIG_IGN);
    second.is_set = false;
    ignore.sa_handler = SIG_DFL;
    sigaction(SIGUSR1, &ignore, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_last_one_does_not_take_goes_to_the_one_before_it),
        cmocka_unit_test(a_hook_below_another_stays),
        cmocka_unit_test(a_handler_that_somebody_else_has_set_is_told),
        cmocka_unit_test(what_was_ignored_is_ignored_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
