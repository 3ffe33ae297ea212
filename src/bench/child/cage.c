#define _GNU_SOURCE
#include "bench/child/cage.h"

#if defined(__x86_64__) && defined(__linux__)

#include "base/assert.h"
#include "base/bits.h"
#include "bench/child/system_call_names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* Newer than some C libraries' headers. */
#define POPULATE_READ           22
#define POPULATE_WRITE          23
#define LANDLOCK_CREATE_RULESET 444
#define LANDLOCK_RESTRICT_SELF  446
#define LANDLOCK_VERSION_FLAG   1
#define SYS_CLOSE_RANGE         436

#define MAX_VALUES        12
#define MAX_KEPT          (MAX_VALUES - 1)
#define MAX_CONDITIONS    2
#define MAX_RANGES        128
#define RANGE_STEPS       6
#define LOW(value)        (uint32_t)(value)
#define HIGH(value)       (uint32_t)((value) >> 32)
#define LOAD(offset)      (struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offset))
#define ANSWER(what)      (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, what)
#define JUMP(op, k, t, f) (struct sock_filter) BPF_JUMP(BPF_JMP | (op) | BPF_K, k, t, f)

static cage_reporter *reporter;
static void *reporter_context;
static bool is_closed;

/* The standard files, and those that cage_leave_files() left. The parent is told through them. */
static uint32_t kept_files[MAX_KEPT] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
static unsigned kept_count = STDERR_FILENO + 1;

void cage_set_reporter(cage_reporter *report, void *context)
{
    reporter = report;
    reporter_context = context;
}

/* ---- What may be done ------------------------------------------------------------------------ */

/* An argument that a call on the list has to have. */
struct condition {
    enum {
        NO_CONDITION,
        IS_OWN_PROCESS,
        IS_OWN_PROCESS_OR_ZERO,
        IS_NULL,
        IS_ONE_OF,
        IS_NOT_KEPT, /* a file that the process is not left with */
    } kind;
    unsigned argument;
    unsigned value_count;
    uint32_t values[MAX_VALUES]; /* of IS_ONE_OF */
};

struct allowed_call {
    uint32_t number;
    struct condition conditions[MAX_CONDITIONS];
};

#define FREE(name)                                                                                 \
    {                                                                                              \
        .number = SYS_##name                                                                       \
    }
#define CALL(name, ...)                                                                            \
    {                                                                                              \
        .number = SYS_##name, .conditions = { __VA_ARGS__ }                                        \
    }
#define IF(what, index)                                                                            \
    {                                                                                              \
        .kind = what, .argument = index                                                            \
    }
#define IF_VALUE(what, index, ...)                                                                 \
    {                                                                                              \
        .kind = what, .argument = index, .value_count = ARRAY_COUNT(((uint32_t[]){__VA_ARGS__})),  \
        .values = {                                                                                \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

/* The list. What a run asks for most often comes first: the filter is read from its start. */
static const struct allowed_call allowed[] = {
    /* clang-format off */
    FREE(mprotect), FREE(mmap), FREE(munmap), FREE(rt_sigreturn),
    CALL(madvise, IF_VALUE(IS_ONE_OF, 2, MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED,
                           MADV_DONTNEED, MADV_FREE, MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_DONTDUMP,
                           MADV_DODUMP, POPULATE_READ, POPULATE_WRITE)),
    /* Files that are open. */
    FREE(read), FREE(write), FREE(readv), FREE(writev), FREE(pread64), FREE(pwrite64), FREE(lseek),
    FREE(fstat), CALL(close, IF(IS_NOT_KEPT, 0)), CALL(ftruncate, IF(IS_NOT_KEPT, 0)),
    CALL(sendto, IF(IS_NULL, 4)), CALL(recvfrom, IF(IS_NULL, 4)),
    CALL(fcntl, IF_VALUE(IS_ONE_OF, 1, F_GETFD, F_SETFD, F_GETFL)),
    CALL(ioctl, IF_VALUE(IS_ONE_OF, 1, TCGETS)), /* isatty() */
    /* Memory of its own. */
    FREE(brk), FREE(mremap), FREE(memfd_create), CALL(process_vm_readv, IF(IS_OWN_PROCESS, 0)),
    /* Its own signals. Handlers: of what the processor refuses, as they come and go in a run. */
    CALL(rt_sigaction,
         IF_VALUE(IS_ONE_OF, 0, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT)),
    FREE(rt_sigprocmask), FREE(sigaltstack),
    FREE(rt_sigpending), FREE(rt_sigsuspend), FREE(rt_sigtimedwait), FREE(alarm),
    CALL(kill, IF(IS_OWN_PROCESS, 0)), CALL(tgkill, IF(IS_OWN_PROCESS, 0)),
    /* Time, chance, and what the C library and sanitizers ask of themselves. */
    FREE(clock_gettime), FREE(clock_getres), FREE(gettimeofday), FREE(time), FREE(nanosleep),
    FREE(clock_nanosleep), FREE(restart_syscall), FREE(getrandom), FREE(futex), FREE(sched_yield),
    FREE(getpid), FREE(gettid), FREE(getrusage), FREE(sysinfo), FREE(arch_prctl), FREE(getcpu),
    FREE(getrlimit), CALL(sched_getaffinity, IF(IS_OWN_PROCESS_OR_ZERO, 0)),
    CALL(prlimit64, IF(IS_OWN_PROCESS_OR_ZERO, 0), IF(IS_NULL, 2)),
    FREE(exit), FREE(exit_group),
    /* clang-format on */
};

/* A filter of ours says which of the two it is by the data that comes with the signal. */
enum reason { REASON_PLACE = 1, REASON_NUMBER = 2 };

static void on_system_call(int signal, siginfo_t *info, void *context)
{
    ucontext_t *state = context;
    struct cage_call call = {
        .number = info->si_syscall,
        .address = (uint64_t)(uintptr_t)info->si_call_addr,
        .stack = (uint64_t)state->uc_mcontext.gregs[REG_RSP],
        .state = context,
    };

    state->uc_mcontext.gregs[REG_RAX] = info->si_errno == REASON_NUMBER ? -EPERM : -ENOSYS;
    if (info->si_errno == REASON_NUMBER) {
        call.name = system_call_name(call.number);
        if (!call.name)
            call.name = "not a call that this bench knows";
    }
    if (reporter)
        reporter(reporter_context, &call);
}

#define REFUSE(reason)  ANSWER(SECCOMP_RET_TRAP | (reason))
#define CONDITION_STEPS (MAX_VALUES + 2)
#define CALL_STEPS      (2 + MAX_CONDITIONS * CONDITION_STEPS)
#define LIST_STEPS      (ARRAY_COUNT(allowed) * CALL_STEPS + 8)

/*
 * Refuses the call unless its argument meets the condition. The kernel takes numbers of processes,
 * files, commands and signals from the low half of an argument, pointers from both.
 */
static unsigned add_condition(struct sock_filter *at, const struct condition *condition)
{
    const size_t low = offsetof(struct seccomp_data, args) + 8 * condition->argument;
    unsigned count = 0;

    at[count++] = LOAD(low);
    switch (condition->kind) {
    case NO_CONDITION:
        return 0;
    case IS_OWN_PROCESS:
        at[count++] = JUMP(BPF_JEQ, (uint32_t)getpid(), 1, 0);
        break;
    case IS_OWN_PROCESS_OR_ZERO:
        at[count++] = JUMP(BPF_JEQ, (uint32_t)getpid(), 2, 0);
        at[count++] = JUMP(BPF_JEQ, 0, 1, 0);
        break;
    case IS_NULL:
        at[count++] = JUMP(BPF_JEQ, 0, 0, 2);
        at[count++] = LOAD(low + 4);
        at[count++] = JUMP(BPF_JEQ, 0, 1, 0);
        break;
    case IS_ONE_OF:
        for (unsigned i = 0; i < condition->value_count; i++)
            at[count++] =
                JUMP(BPF_JEQ, condition->values[i], (uint8_t)(condition->value_count - i), 0);
        break;
    case IS_NOT_KEPT:
        for (unsigned i = 0; i < kept_count; i++)
            at[count++] = JUMP(BPF_JEQ, kept_files[i], (uint8_t)(kept_count - i), 0);
        at[count++] = (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 1);
        break;
    }
    at[count++] = REFUSE(REASON_NUMBER);
    return count;
}

/* Each row of the list, as steps; a call that is on it goes on behind the last of them. */
static unsigned add_list(struct sock_filter *steps)
{
    unsigned ends[ARRAY_COUNT(allowed)];
    unsigned count = 0;

    steps[count++] = LOAD(offsetof(struct seccomp_data, nr));
    steps[count++] = JUMP(BPF_JGE, 0x40000000, 0, 1); /* the x32 convention */
    steps[count++] = REFUSE(REASON_PLACE);
    for (size_t i = 0; i < ARRAY_COUNT(allowed); i++) {
        const unsigned start = count++;

        for (size_t j = 0; j < MAX_CONDITIONS; j++)
            count += add_condition(steps + count, &allowed[i].conditions[j]);
        ends[i] = count++;
        steps[start] = JUMP(BPF_JEQ, allowed[i].number, 0, (uint8_t)(count - start - 1));
    }
    steps[count++] = REFUSE(REASON_NUMBER);
    for (size_t i = 0; i < ARRAY_COUNT(allowed); i++)
        steps[ends[i]] = (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, count - ends[i] - 1);
    return count;
}

/* ---- Where it may be done -------------------------------------------------------------------- */

/*
 * One range [start, end) in which the high half of addresses is the same: allowed, else to the
 * next.
 */
static unsigned add_range(struct sock_filter *at, uint64_t start, uint64_t end)
{
    const size_t address = offsetof(struct seccomp_data, instruction_pointer);

    at[0] = LOAD(address + 4);
    at[1] = JUMP(BPF_JEQ, HIGH(start), 0, 4);
    at[2] = LOAD(address);
    at[3] = JUMP(BPF_JGE, LOW(start), 0, 2);
    at[4] = JUMP(BPF_JGT, LOW(end - 1), 1, 0);
    at[5] = ANSWER(SECCOMP_RET_ALLOW);
    return RANGE_STEPS;
}

/*
 * The code of files that are mapped, and of the kernel's own page: not what was made at run time.
 */
static unsigned add_ranges(struct sock_filter *steps)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    unsigned count = 0, ranges = 0;
    char line[4400];

    while (maps && ranges < MAX_RANGES && fgets(line, sizeof line, maps)) {
        unsigned long long start, end;
        char rights[5] = "", path[4097] = "";

        if (sscanf(line, "%llx-%llx %4s %*s %*s %*s %4096s", &start, &end, rights, path) < 3 ||
            rights[2] != 'x' || (path[0] != '/' && strcmp(path, "[vdso]") != 0))
            continue;
        if (HIGH(start) != HIGH(end - 1)) { /* in two parts */
            uint64_t middle = (uint64_t)HIGH(end - 1) << 32;

            count += add_range(steps + count, start, middle);
            start = middle;
            ranges++;
        }
        count += add_range(steps + count, start, end);
        ranges++;
    }
    if (maps)
        fclose(maps);
    return ranges < MAX_RANGES ? count : 0;
}

/* Whoever else runs here has not asked for this. */
static void be_the_first_to_go(void)
{
    FILE *file = fopen("/proc/self/oom_score_adj", "we");

    if (!file)
        return;
    fputs("1000\n", file);
    fclose(file);
}

/* ---- What is left behind --------------------------------------------------------------------- */

/* A copy of the parent's environment may hold what is secret: words for a machine that builds. */
static void empty_environment(void)
{
    for (char **word = environ; word && *word; word++)
        explicit_bzero(*word, strlen(*word));
    clearenv();
}

/* Nothing is read from where the bench is typed at, nor written where its results are printed. */
static void leave_terminal(void)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (nothing < 0)
        return;
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    if (nothing > STDERR_FILENO)
        close(nothing);
}

/* One by one, as /proc lists them: the limit may be a thousand million. */
static void close_listed_files(int first, int end)
{
    DIR *list = opendir("/proc/self/fd");

    for (struct dirent *entry; list && (entry = readdir(list)) != NULL;) {
        int file = atoi(entry->d_name);

        if (file >= first && file < end && file != dirfd(list) && entry->d_name[0] != '.')
            close(file);
    }
    if (list)
        closedir(list);
    else
        for (int file = first; file < end && file < (int)sysconf(_SC_OPEN_MAX); file++)
            close(file);
}

void cage_leave_files(const int *kept, unsigned count)
{
    int first = STDERR_FILENO + 1;

    ASSERT(count <= MAX_KEPT - (STDERR_FILENO + 1));
    kept_count = STDERR_FILENO + 1;
    for (unsigned i = 0; i < count; i++)
        kept_files[kept_count++] = (uint32_t)kept[i];
    for (;;) {
        int next = -1;

        for (unsigned i = 0; i < count; i++)
            if (kept[i] >= first && (next < 0 || kept[i] < next))
                next = kept[i];
        if (next != first && syscall(SYS_CLOSE_RANGE, first, next < 0 ? ~0u : next - 1u, 0) != 0)
            close_listed_files(first, next < 0 ? INT_MAX : next);
        if (next < 0)
            return;
        first = next + 1;
    }
}

/*
 * Closes all files, where the kernel has landlock. The filter refuses the same calls and is
 * everywhere; this stays when the filter forgets one.
 */
static void close_file_system(void)
{
    /* By the version of the interface: rights on files, on connections, on signals to others. */
    static const uint64_t file_rights[] = {0, 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff};
    struct {
        uint64_t files, connections, scopes;
    } rules = {0};
    long version = syscall(LANDLOCK_CREATE_RULESET, NULL, 0, LANDLOCK_VERSION_FLAG);
    size_t size = version < 4 ? 8 : version < 6 ? 16 : 24;
    int set;

    if (version <= 0)
        return; /* a kernel without it */
    rules.files = file_rights[version < 5 ? version : 5];
    rules.connections = version < 4 ? 0 : 3;
    rules.scopes = version < 6 ? 0 : 3;
    set = (int)syscall(LANDLOCK_CREATE_RULESET, &rules, size, 0);
    if (set < 0)
        return;
    syscall(LANDLOCK_RESTRICT_SELF, set, 0);
    close(set);
}

/* A sanitizer reads then what it wants of the system later; without one there is none. */
void __sanitizer_sandbox_on_notify(void *arguments) __attribute__((weak));

/* ---- Closing --------------------------------------------------------------------------------- */

bool cage_is_closed(void)
{
    return is_closed;
}

bool cage_close(void)
{
    static struct sock_filter steps[(MAX_RANGES + 1) * RANGE_STEPS + LIST_STEPS + 4];
    struct sigaction action = {.sa_sigaction = on_system_call, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    const struct rlimit no_core = {0, 0};
    struct sock_fprog program = {.filter = steps};
    unsigned count = 0, ranges;

    if (is_closed)
        return true;
    setrlimit(RLIMIT_CORE, &no_core);
    be_the_first_to_go();
    if (__sanitizer_sandbox_on_notify)
        __sanitizer_sandbox_on_notify(NULL);
    steps[count++] = LOAD(offsetof(struct seccomp_data, arch));
    steps[count++] = JUMP(BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0);
    steps[count++] = REFUSE(REASON_PLACE);
    count += add_list(steps + count);
    ranges = add_ranges(steps + count);
    count += ranges;
    steps[count++] = REFUSE(REASON_PLACE);
    program.len = (unsigned short)count;
    sigemptyset(&action.sa_mask);
    if (!ranges || sigaction(SIGSYS, &action, NULL) != 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return false;
    leave_terminal();
    close_file_system();
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return false;
    is_closed = true;
    empty_environment();
    return true;
}

#else

void cage_set_reporter(cage_reporter *report, void *context)
{
}

void cage_leave_files(const int *kept, unsigned count)
{
}

bool cage_close(void)
{
    return false;
}

bool cage_is_closed(void)
{
    return false;
}

#endif
