#define _GNU_SOURCE
#include "bench/child/cage.h"

#include "base/bits.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__)

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

void cage_set_reporter(cage_reporter *report, void *context)
{
    reporter = report;
    reporter_context = context;
}

/* ---- What nobody may do ---------------------------------------------------------------------- */

static const struct {
    uint32_t number;
    const char *name;
} forbidden[] = {
/* clang-format off */
#define X(name) {SYS_##name, #name},
    /* Connections. send() and recv() stay, for connections that are open already. */
    X(socket) X(socketpair) X(connect) X(bind) X(listen) X(accept) X(accept4) X(sendmsg) X(sendmmsg)
    /* Processes, programs. */
    X(fork) X(vfork) X(clone) X(clone3) X(execve) X(execveat) X(ptrace) X(process_vm_writev)
    X(tkill) X(rt_sigqueueinfo) X(rt_tgsigqueueinfo) X(pidfd_open) X(pidfd_getfd)
    X(pidfd_send_signal) X(unshare) X(setns) X(setpgid) X(setsid)
    /* Files by name. */
    X(creat) X(openat2) X(open_by_handle_at) X(unlink) X(unlinkat) X(rename) X(renameat)
    X(renameat2) X(link) X(linkat) X(symlink) X(symlinkat) X(mkdir) X(mkdirat) X(rmdir) X(mknod)
    X(mknodat) X(chmod) X(fchmodat) X(chown) X(lchown) X(fchownat) X(truncate) X(utime) X(utimes)
    X(utimensat) X(futimesat) X(setxattr) X(lsetxattr) X(removexattr) X(lremovexattr)
    /* The system. */
    X(mount) X(umount2) X(pivot_root) X(chroot) X(swapon) X(swapoff) X(reboot) X(kexec_load)
    X(kexec_file_load) X(init_module) X(finit_module) X(delete_module) X(bpf) X(perf_event_open)
    X(keyctl) X(add_key) X(request_key) X(io_uring_setup) X(io_uring_enter) X(io_uring_register)
    X(settimeofday) X(clock_settime) X(adjtimex) X(clock_adjtime) X(sethostname) X(setdomainname)
    X(acct) X(quotactl) X(iopl) X(ioperm) X(syslog) X(setuid) X(setgid) X(setreuid) X(setregid)
    X(setresuid) X(setresgid) X(setgroups) X(capset)
/* clang-format on */
#undef X
};

/* Lawful or not by an argument. */
#define WRITES (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND)

static const char *name_of(int number)
{
    for (size_t i = 0; i < ARRAY_COUNT(forbidden); i++)
        if (forbidden[i].number == (uint32_t)number)
            return forbidden[i].name;
    switch (number) {
    case SYS_open:
    case SYS_openat:
        return "open for writing";
    case SYS_kill:
    case SYS_tgkill:
        return "kill";
    case SYS_process_vm_readv:
        return "process_vm_readv";
    case SYS_ioctl:
        return "ioctl";
    default:
        return NULL;
    }
}

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
    if (info->si_errno == REASON_NUMBER)
        call.name = name_of(call.number);
    if (reporter)
        reporter(reporter_context, &call);
}

#define REFUSE(reason) ANSWER(SECCOMP_RET_TRAP | (reason))

/* The call with this number unless the low half of an argument is the value. */
static unsigned add_equal(struct sock_filter *at, uint32_t number, unsigned argument,
                          uint32_t value)
{
    at[0] = JUMP(BPF_JEQ, number, 0, 4);
    at[1] = LOAD(offsetof(struct seccomp_data, args) + 8 * argument);
    at[2] = JUMP(BPF_JEQ, value, 1, 0);
    at[3] = REFUSE(REASON_NUMBER);
    at[4] = LOAD(offsetof(struct seccomp_data, nr));
    return 5;
}

/* Forbids the call if one of the bits is set. */
static unsigned add_bits(struct sock_filter *at, uint32_t number, unsigned argument, uint32_t bits)
{
    at[0] = JUMP(BPF_JEQ, number, 0, 4);
    at[1] = LOAD(offsetof(struct seccomp_data, args) + 8 * argument);
    at[2] = JUMP(BPF_JSET, bits, 0, 1);
    at[3] = REFUSE(REASON_NUMBER);
    at[4] = LOAD(offsetof(struct seccomp_data, nr));
    return 5;
}

#define FORBIDDEN_STEPS (2 * ARRAY_COUNT(forbidden) + 48)

static unsigned add_forbidden(struct sock_filter *steps)
{
    uint32_t own = (uint32_t)getpid();
    unsigned count = 0;

    steps[count++] = LOAD(offsetof(struct seccomp_data, nr));
    steps[count++] = JUMP(BPF_JGE, 0x40000000, 0, 1); /* the x32 convention */
    steps[count++] = REFUSE(REASON_PLACE);
    for (size_t i = 0; i < ARRAY_COUNT(forbidden); i++) {
        steps[count++] = JUMP(BPF_JEQ, forbidden[i].number, 0, 1);
        steps[count++] = REFUSE(REASON_NUMBER);
    }
    count += add_bits(steps + count, SYS_open, 1, WRITES);
    count += add_bits(steps + count, SYS_openat, 2, WRITES);
    count += add_equal(steps + count, SYS_kill, 0, own);
    count += add_equal(steps + count, SYS_tgkill, 0, own);
    count += add_equal(steps + count, SYS_process_vm_readv, 0, own);
    count += add_equal(steps + count, SYS_ioctl, 1, TCGETS); /* isatty() */
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

bool cage_is_closed(void)
{
    return is_closed;
}

bool cage_close(void)
{
    static struct sock_filter steps[(MAX_RANGES + 1) * RANGE_STEPS + FORBIDDEN_STEPS + 4];
    struct sigaction action = {.sa_sigaction = on_system_call, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    const struct rlimit no_core = {0, 0};
    struct sock_fprog program = {.filter = steps};
    unsigned count = 0, ranges;

    if (is_closed)
        return true;
    setrlimit(RLIMIT_CORE, &no_core);
    be_the_first_to_go();
    steps[count++] = LOAD(offsetof(struct seccomp_data, arch));
    steps[count++] = JUMP(BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0);
    steps[count++] = REFUSE(REASON_PLACE);
    count += add_forbidden(steps + count);
    ranges = add_ranges(steps + count);
    count += ranges;
    steps[count++] = REFUSE(REASON_PLACE);
    program.len = (unsigned short)count;
    sigemptyset(&action.sa_mask);
    if (!ranges || sigaction(SIGSYS, &action, NULL) != 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return false;
    is_closed = true;
    return true;
}

#else

void cage_set_reporter(cage_reporter *report, void *context)
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
