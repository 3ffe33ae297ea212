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
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
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

/* Kernels without calls of 32-bit programs answer int 80h with SIGSEGV: nobody gets out by it. */
static bool has_old_calls(int (*call)(void))
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        _exit(call() <= 0);
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* One call since the last time, and of that name. */
static bool is_reported(const char *name)
{
    bool is_right = report_count == 1 && reported.name && strcmp(reported.name, name) == 0;

    report_count = 0;
    return is_right;
}

/* Calls that are not on the list, from the bench's own code, and the C library's. */
static int reach_out(void)
{
    unsigned char *made =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int (*const old_call)(void) = (int (*)(void))(uintptr_t)made;
    int ends[2], file = open("/proc/self/status", O_RDONLY);
    bool is_old_known;
    char byte = 1;

    memcpy(made, old_code, sizeof old_code);
    mprotect(made, 4096, PROT_READ | PROT_EXEC);
    is_old_known = has_old_calls(old_call);
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
    if (unlink("/tmp/drydock-cage-test") != -1 || errno != EPERM || !is_reported("unlink"))
        return 7;
    if (kill(getppid(), 0) != -1 || errno != EPERM || report_count != 2) /* getppid() too */
        return 8;
    report_count = 0;
    if (ioctl(0, TIOCSTI, &byte) != -1 || errno != EPERM || !is_reported("ioctl"))
        return 9;
    if (is_old_known && (old_call() >= 0 || report_count != 1 || reported.name))
        return 10;
    report_count = 0;
    /* The bench needs these. */
    if (file < 0 || read(file, &byte, 1) != 1 || kill(getpid(), 0) != 0 ||
        send(ends[0], &byte, 1, MSG_NOSIGNAL) != 1 || recv(ends[1], &byte, 1, 0) != 1)
        return 11;
    isatty(0);
    return report_count ? 12 : 0;
}

static int open_files(void)
{
    static const char path[] = "/etc/passwd";
    struct stat state;

    cage_set_reporter(on_call, NULL);
    if (!cage_close())
        return 1;
    if (open(path, O_RDONLY) != -1 || errno != EPERM || !is_reported("openat"))
        return 2;
    if (syscall(SYS_open, path, O_RDONLY) != -1 || errno != EPERM || !is_reported("open"))
        return 3;
    if (open("/tmp/drydock-cage-test", O_WRONLY | O_CREAT, 0600) != -1 || !is_reported("openat"))
        return 4;
    if (stat(path, &state) != -1 || errno != EPERM || report_count != 1)
        return 5;
    report_count = 0;
    if (access(path, R_OK) != -1 || !is_reported("access"))
        return 6;
    if (syscall(SYS_fchmod, 2, 0600) != -1 || !is_reported("fchmod"))
        return 7;
    if (syscall(SYS_fsetxattr, 2, "user.x", "x", 1, 0) != -1 || !is_reported("fsetxattr"))
        return 8;
    return 0;
}

/* A process of the user that stands for all of them. */
static pid_t victim;

static int harm_processes(void)
{
    const struct rlimit limit = {1, 1};
    struct rlimit got;
    int ends[2], status;

    if (pipe(ends) != 0)
        return 1;
    cage_set_reporter(on_call, NULL);
    if (!cage_close())
        return 2;
    if (fcntl(ends[0], F_SETOWN, victim) != -1 || errno != EPERM || !is_reported("fcntl"))
        return 3;
    if (fcntl(ends[0], F_SETSIG, SIGKILL) != -1 || !is_reported("fcntl"))
        return 4;
    if (fcntl(ends[0], F_SETFL, O_ASYNC) != -1 || !is_reported("fcntl"))
        return 5;
    if (prlimit(victim, RLIMIT_CPU, &limit, NULL) != -1 || !is_reported("prlimit64"))
        return 6;
    if (prlimit(0, RLIMIT_CPU, &limit, NULL) != -1 || !is_reported("prlimit64"))
        return 7;
    if (prlimit(0, RLIMIT_CPU, NULL, &got) != 0 || fcntl(ends[0], F_GETFL) < 0 || report_count)
        return 8;
    if (kill(victim, SIGKILL) != -1 || !is_reported("kill"))
        return 9;
    if (kill(0, 0) != -1 || kill(-1, 0) != -1 || report_count != 2)
        return 10;
    report_count = 0;
    if (syscall(SYS_wait4, victim, &status, 0, NULL) != -1 || !is_reported("wait4"))
        return 11;
    if (syscall(SYS_shmget, IPC_PRIVATE, 4096, 0600) != -1 || !is_reported("shmget"))
        return 12;
    return 0;
}

/*
 * Who replaces the handler of refused calls would not be heard of; who has one of his own for
 * another signal has code that runs in the middle of the bench.
 */
static int silence_the_cage(void)
{
    cage_set_reporter(on_call, NULL);
    if (!cage_close())
        return 1;
    if (signal(SIGSYS, SIG_IGN) != SIG_ERR || !is_reported("rt_sigaction"))
        return 2;
    for (int number = 1; number < SIGRTMAX; number++) {
        const bool is_fault = number == SIGSEGV || number == SIGBUS || number == SIGFPE ||
                              number == SIGILL || number == SIGTRAP || number == SIGABRT;
        struct sigaction action = {.sa_handler = SIG_IGN};

        if (number == SIGKILL || number == SIGSTOP || number == 32 || number == 33)
            continue; /* nobody may; the C library's */
        if ((sigaction(number, &action, NULL) == 0) != is_fault ||
            is_fault == is_reported("rt_sigaction"))
            return 3;
    }
    return 0;
}

/* Each number that a system call can have, but those that a run needs. */
static int try_all_numbers(void)
{
    static const int lawful[] = {
        SYS_mprotect,
        SYS_mmap,
        SYS_munmap,
        SYS_mremap,
        SYS_madvise,
        SYS_brk,
        SYS_memfd_create,
        SYS_process_vm_readv,
        SYS_read,
        SYS_write,
        SYS_readv,
        SYS_writev,
        SYS_pread64,
        SYS_pwrite64,
        SYS_lseek,
        SYS_close,
        SYS_fstat,
        SYS_ftruncate,
        SYS_sendto,
        SYS_recvfrom,
        SYS_fcntl,
        SYS_ioctl,
        SYS_rt_sigaction,
        SYS_rt_sigprocmask,
        SYS_rt_sigreturn,
        SYS_sigaltstack,
        SYS_rt_sigpending,
        SYS_rt_sigsuspend,
        SYS_rt_sigtimedwait,
        SYS_alarm,
        SYS_kill,
        SYS_tgkill,
        SYS_clock_gettime,
        SYS_clock_getres,
        SYS_gettimeofday,
        SYS_time,
        SYS_nanosleep,
        SYS_clock_nanosleep,
        SYS_restart_syscall,
        SYS_getrandom,
        SYS_futex,
        SYS_sched_yield,
        SYS_getpid,
        SYS_gettid,
        SYS_getrusage,
        SYS_sysinfo,
        SYS_arch_prctl,
        SYS_getcpu,
        SYS_getrlimit,
        SYS_sched_getaffinity,
        SYS_prlimit64,
        SYS_exit,
        SYS_exit_group,
        /* uretprobe, uprobe: newer kernels show them to no filter, and answer us with SIGILL. */
        335,
        336,
    };
    unsigned refused = 0;

    cage_set_reporter(on_call, NULL);
    if (!cage_close())
        return 1;
    for (int number = 0; number < 1024; number++) {
        bool is_lawful = false;

        for (size_t i = 0; i < sizeof lawful / sizeof lawful[0]; i++)
            is_lawful |= lawful[i] == number;
        if (is_lawful)
            continue;
        report_count = 0;
        if (syscall(number, -1L, -1L, -1L, -1L, -1L, -1L) != -1 || errno != EPERM ||
            report_count != 1 || reported.number != number || !reported.name) {
            fprintf(stderr, "system call %d is not refused\n", number);
            return 2;
        }
        refused++;
    }
    return refused == 1024 - sizeof lawful / sizeof lawful[0] ? 0 : 3;
}

static int look_for_secrets(void)
{
    static char word[] = "DRYDOCK_CAGE_TEST=secret";
    static const char nothing[sizeof word];

    putenv(word);
    if (!getenv("DRYDOCK_CAGE_TEST") || !cage_close())
        return 1;
    if (getenv("DRYDOCK_CAGE_TEST") || getenv("PATH"))
        return 2;
    return memcmp(word, nothing, sizeof word) == 0 ? 0 : 3;
}

/* Printed words would stand among those of the bench. */
static int print(void)
{
    int ends[2];
    char byte;

    if (pipe(ends) != 0 || dup2(ends[1], STDOUT_FILENO) < 0 || close(ends[1]) != 0 || !cage_close())
        return 1;
    if (write(STDOUT_FILENO, "x", 1) != 1)
        return 2;
    return read(ends[0], &byte, 1) == 0 ? 0 : 3; /* nobody has the other end */
}

static int keep_two_files(void)
{
    int files[5];

    for (unsigned i = 0; i < 5; i++)
        files[i] = dup(STDERR_FILENO);
    cage_leave_files((const int[]){files[3], files[1]}, 2);
    for (unsigned i = 0; i < 5; i++)
        if ((fcntl(files[i], F_GETFD) >= 0) != (i == 1 || i == 3))
            return 1 + (int)i;
    return fcntl(STDERR_FILENO, F_GETFD) >= 0 ? 0 : 6;
}

static int hang_up(void)
{
    int ends[2], other;

    if (pipe(ends) != 0)
        return 1;
    cage_leave_files(&ends[1], 1);
    cage_set_reporter(on_call, NULL);
    if (!cage_close())
        return 2;
    if (close(ends[1]) != -1 || errno != EPERM || !is_reported("close"))
        return 3;
    if (ftruncate(ends[1], 0) != -1 || errno != EPERM || !is_reported("ftruncate"))
        return 4;
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++)
        if (close(file) != -1 || !is_reported("close"))
            return 5;
    if (fcntl(ends[1], F_GETFD) < 0)
        return 6;
    /* What is made inside is the maker's. */
    other = memfd_create("own", 0);
    if (other < 0 || ftruncate(other, 4096) != 0 || close(other) != 0)
        return 7;
    return report_count ? 8 : 0;
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

static void no_file_is_opened(void **state)
{
    assert_child(open_files);
}

static void no_other_process_is_harmed(void **state)
{
    int status;

    victim = fork();
    if (victim == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause();
        _exit(0);
    }
    assert_child(harm_processes);
    assert_int_equal(waitpid(victim, &status, WNOHANG), 0); /* it lives */
    kill(victim, SIGKILL);
    assert_int_equal(waitpid(victim, &status, 0), victim);
}

static void the_report_of_refused_calls_stays(void **state)
{
    assert_child(silence_the_cage);
}

static void all_calls_but_those_that_a_run_needs_are_refused(void **state)
{
    assert_child(try_all_numbers);
}

static void the_environment_is_gone(void **state)
{
    assert_child(look_for_secrets);
}

static void standard_output_leads_nowhere(void **state)
{
    assert_child(print);
}

static void only_the_named_files_stay_open(void **state)
{
    assert_child(keep_two_files);
}

static void nobody_hangs_up_on_the_parent(void **state)
{
    assert_child(hang_up);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_bench_makes_system_calls),
        cmocka_unit_test(nobody_reaches_out_of_the_process),
        cmocka_unit_test(no_file_is_opened),
        cmocka_unit_test(no_other_process_is_harmed),
        cmocka_unit_test(the_report_of_refused_calls_stays),
        cmocka_unit_test(all_calls_but_those_that_a_run_needs_are_refused),
        cmocka_unit_test(the_environment_is_gone),
        cmocka_unit_test(standard_output_leads_nowhere),
        cmocka_unit_test(only_the_named_files_stay_open),
        cmocka_unit_test(nobody_hangs_up_on_the_parent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    print_message("not an x86-64 machine: skipped\n");
    return 0;
}

#endif
