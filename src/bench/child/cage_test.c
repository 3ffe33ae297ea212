/* In a process of its own: a cage that is closed stays. */
#define _GNU_SOURCE
#include "bench/child/cage.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__x86_64__)

/*
 * Written by a signal handler in the midst of a system call. The C library declares its system
 * calls as leaves, which do not come back into this file: without volatile these would be read too
 * early.
 */
static volatile struct cage_call reported;
static volatile unsigned report_count;

static void on_call(void *context, const struct cage_call *call)
{
    reported = *call;
    report_count = report_count + 1;
}

/* mov eax, SYS_getpid; syscall; ret */
static const unsigned char code[] = {0xb8, SYS_getpid, 0, 0, 0, 0x0f, 0x05, 0xc3};

/* The number of the first expectation that fails; 0: none. */
static int look_from_inside(void)
{
    unsigned char *made =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int (*call)(void);
    int result;

    memcpy(made, code, sizeof code);
    mprotect(made, 4096, PROT_READ | PROT_EXEC);
    call = (int (*)(void))(uintptr_t)made;
    if (call() != getpid())
        return 1;
    cage_set_reporter(on_call, NULL);
    if (!cage_close())
        return 2;
    result = call();
    if (result != -ENOSYS || report_count != 1)
        return 3;
    if (reported.number != SYS_getpid || reported.address != (uintptr_t)made + 7 || reported.name)
        return 4;
    /* The bench itself goes on. */
    if (getpid() <= 0 || !cage_close() || report_count != 1)
        return 5;
    cage_set_reporter(NULL, NULL);
    if (call() != -ENOSYS || report_count != 1)
        return 6;
    return 0;
}

/* mov eax, 20 (the old getpid); int 80h; ret */
static const unsigned char old_code[] = {0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3};

/* One call since the last time, and of that name. */
static bool is_reported(const char *name)
{
    bool is_right = report_count == 1 && reported.name && strcmp(reported.name, name) == 0;

    report_count = 0;
    return is_right;
}

/* The same for calls that nobody may make: from the bench's own code, and the C library's. */
static int reach_out(void)
{
    unsigned char *made =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int ends[2], file;
    char byte = 1;

    memcpy(made, old_code, sizeof old_code);
    mprotect(made, 4096, PROT_READ | PROT_EXEC);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return 1;
    cage_set_reporter(on_call, NULL);
    if (cage_is_closed() || !cage_close() || !cage_is_closed())
        return 2;
    if (socket(AF_INET, SOCK_STREAM, 0) != -1 || errno != EPERM || !is_reported("socket"))
        return 3;
    if (syscall(SYS_fork) != -1 || errno != EPERM || !is_reported("fork"))
        return 4;
    if (execl("/bin/true", "true", NULL) != -1 || errno != EPERM || !is_reported("execve"))
        return 5;
    if (open("/tmp/drydock-cage-test", O_WRONLY | O_CREAT, 0600) != -1 || errno != EPERM ||
        !is_reported("open for writing"))
        return 6;
    if (unlink("/tmp/drydock-cage-test") != -1 || errno != EPERM || !is_reported("unlink"))
        return 7;
    if (kill(getppid(), 0) != -1 || errno != EPERM || !is_reported("kill"))
        return 8;
    if (ioctl(0, TIOCSTI, &byte) != -1 || errno != EPERM || !is_reported("ioctl"))
        return 9;
    if (((int (*)(void))(uintptr_t)made)() >= 0 || report_count != 1 || reported.name)
        return 10;
    report_count = 0;
    /* The bench needs these. */
    file = open("/proc/self/status", O_RDONLY);
    if (file < 0 || read(file, &byte, 1) != 1 || kill(getpid(), 0) != 0 ||
        send(ends[0], &byte, 1, MSG_NOSIGNAL) != 1 || recv(ends[1], &byte, 1, 0) != 1)
        return 11;
    isatty(0);
    return report_count ? 12 : 0;
}

static void assert_child(int (*run)(void))
{
    pid_t child = fork();
    int status;

    if (child == 0)
        _exit(run());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void only_the_bench_makes_system_calls(void **state)
{
    assert_child(look_from_inside);
}

static void nobody_reaches_out_of_the_process(void **state)
{
    assert_child(reach_out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(only_the_bench_makes_system_calls),
                                       cmocka_unit_test(nobody_reaches_out_of_the_process)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    print_message("not an x86-64 machine: skipped\n");
    return 0;
}

#endif
