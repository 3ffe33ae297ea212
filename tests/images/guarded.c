/*
 * A driver with the guards of compilers: stack probes, a security cookie, control flow guard.
 *
 * What the run-time library of a kit brings (cookie, check, load configuration) is here, for there
 * is none. For src/nt/machine/exception_test.c; also for mingw-w64, where there is no __try:
 *
 *     x86_64-w64-mingw32-dlltool -d ntoskrnl.def -l ntoskrnl.lib
 *     x86_64-w64-mingw32-gcc -O2 -nostdlib -DMINGW -o guarded.sys guarded.c ntoskrnl.lib -lgcc
 *         -Wl,--subsystem,native,--entry,DriverEntry,--dynamicbase
 *
 * where ntoskrnl.def has "LIBRARY ntoskrnl.exe", "EXPORTS" and a line for each import.
 */
typedef unsigned long long u64;

__declspec(dllimport) unsigned DbgPrint(const char *format, ...);
#ifdef MINGW
__declspec(dllimport) void ExRaiseStatus(int status);
#endif

#define NOINLINE __attribute__((noinline))

#ifndef MINGW
extern char __ImageBase;
extern void *__guard_fids_table[];
extern u64 __guard_fids_count;

u64 __security_cookie = 0x2B992DDFA232;
void *__guard_check_icall_fptr, *__guard_dispatch_icall_fptr;

/*
 * A cookie that is another one stops the machine as
 * __fastfail(FAST_FAIL_STACK_COOKIE_CHECK_FAILURE).
 */
__attribute__((no_stack_protector)) void __security_check_cookie(u64 cookie)
{
    if (cookie != __security_cookie)
        __asm__ volatile("int $0x29" : : "c"(2));
}

const struct {
    unsigned size, before[21];
    void *cookie;
    u64 handlers[2];
    void *check, *dispatch, *table, *count;
    u64 flags;
} _load_config_used = {0x98,
                       {0},
                       &__security_cookie,
                       {0},
                       &__guard_check_icall_fptr,
                       &__guard_dispatch_icall_fptr,
                       __guard_fids_table,
                       &__guard_fids_count,
                       0x500};
#endif

static NOINLINE u64 twice(u64 value)
{
    return 2 * value;
}

static NOINLINE u64 thrice(u64 value)
{
    return 3 * value;
}

static u64 (*volatile functions[2])(u64) = {twice, thrice};

/* Through a pointer, which control flow guard checks before. */
static NOINLINE u64 indirect(u64 value)
{
    return functions[value & 1](value) + functions[~value & 1](value);
}

/* More than a page, which a probe touches first. */
static NOINLINE u64 large_frame(u64 value)
{
    volatile unsigned char room[10000];
    u64 sum = 0;

    for (unsigned i = 0; i < sizeof room; i++)
        room[i] = (unsigned char)(value + i);
    for (unsigned i = 0; i < sizeof room; i++)
        sum += room[i];
    return sum;
}

/* As many bytes as it is told. */
static NOINLINE void fill(volatile char *at, u64 bytes)
{
    for (u64 i = 0; i < bytes; i++)
        at[i] = 'x';
}

static NOINLINE u64 overrun(u64 bytes)
{
    char room[32];

    fill(room, bytes);
    return (u64)room[0];
}

static NOINLINE u64 too_large(u64 value)
{
    volatile unsigned char room[40000];

    room[value] = 1;
    return room[value + 1];
}

u64 DriverEntry(u64 number, u64 argument)
{
    switch (number) {
    case 1:
        return indirect(argument);
    case 2:
        return large_frame(argument);
    case 3:
        return overrun(argument);
    case 4:
        return too_large(argument);
    case 5:
        DbgPrint("%s", "printed");
        return 0;
#ifdef MINGW
    case 6:
        ExRaiseStatus((int)0xC0001111);
        return 0;
#endif
    default:
        return ~(u64)0;
    }
}
