/* In a process of its own: a cage that is closed stays. */
#define _GNU_SOURCE
#include "bench/cage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__x86_64__)

static int told_number;
static uint64_t told_address;

static void on_call(void *context, int number, uint64_t address)
{
    told_number = number;
    told_address = address;
    ++*(unsigned *)context;
}

/* mov eax, SYS_getpid; syscall; ret */
static const unsigned char code[] = {0xb8, SYS_getpid, 0, 0, 0, 0x0f, 0x05, 0xc3};

/* The number of the first expectation that fails; 0: none. */
static int look_from_inside(void)
{
    unsigned count = 0;
    unsigned char *made =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int (*call)(void);
    int result;

    memcpy(made, code, sizeof code);
    mprotect(made, 4096, PROT_READ | PROT_EXEC);
    call = (int (*)(void))(uintptr_t)made;
    if (call() != getpid())
        return 1;
    cage_set_teller(on_call, &count);
    if (!cage_close())
        return 2;
    result = call();
    if (result != -ENOSYS || count != 1)
        return 3;
    if (told_number != SYS_getpid || told_address != (uintptr_t)made + 7)
        return 4;
    /* The bench itself goes on. */
    if (getpid() <= 0 || !cage_close() || count != 1)
        return 5;
    cage_set_teller(NULL, NULL);
    if (call() != -ENOSYS || count != 1)
        return 6;
    return 0;
}

static void only_the_bench_makes_system_calls(void **state)
{
    pid_t child = fork();
    int status;

    if (child == 0)
        _exit(look_from_inside());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(only_the_bench_makes_system_calls)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    print_message("not an x86-64 machine: skipped\n");
    return 0;
}

#endif
