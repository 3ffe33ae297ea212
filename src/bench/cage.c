#define _GNU_SOURCE
#include "bench/cage.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <ucontext.h>

#if defined(__x86_64__)

#define MAX_RANGES        128
#define RANGE_STEPS       6
#define LOW(value)        (uint32_t)(value)
#define HIGH(value)       (uint32_t)((value) >> 32)
#define LOAD(offset)      (struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offset))
#define ANSWER(what)      (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, what)
#define JUMP(op, k, t, f) (struct sock_filter) BPF_JUMP(BPF_JMP | (op) | BPF_K, k, t, f)

static cage_teller *teller;
static void *teller_context;
static bool is_closed;

void cage_set_teller(cage_teller *tell, void *context)
{
    teller = tell;
    teller_context = context;
}

static void on_system_call(int signal, siginfo_t *info, void *context)
{
    ucontext_t *state = context;

    state->uc_mcontext.gregs[REG_RAX] = -ENOSYS;
    if (teller)
        teller(teller_context, info->si_syscall, (uint64_t)(uintptr_t)info->si_call_addr);
}

/* One range [start, end) in which the high half of addresses is the same: allowed, else to the next. */
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

/* The code of files that are mapped, and of the kernel's own page: not what was made at run time. */
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

bool cage_close(void)
{
    static struct sock_filter steps[(MAX_RANGES + 1) * RANGE_STEPS + 4];
    struct sigaction action = {.sa_sigaction = on_system_call, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    const struct rlimit no_core = {0, 0};
    struct sock_fprog program = {.filter = steps};
    unsigned count = 0, ranges;

    if (is_closed)
        return true;
    setrlimit(RLIMIT_CORE, &no_core);
    steps[count++] = LOAD(offsetof(struct seccomp_data, arch));
    steps[count++] = JUMP(BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0);
    steps[count++] = ANSWER(SECCOMP_RET_TRAP);
    ranges = add_ranges(steps + count);
    count += ranges;
    steps[count++] = ANSWER(SECCOMP_RET_TRAP);
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

void cage_set_teller(cage_teller *tell, void *context)
{
}

bool cage_close(void)
{
    return false;
}

#endif
