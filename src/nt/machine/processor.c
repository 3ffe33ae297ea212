#define _GNU_SOURCE /* syscall() */
#include "nt/machine/processor.h"

#include "base/bits.h"

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#define SET_GS 0x1001 /* arch_prctl()'s ARCH_SET_GS */

/* The known members; the bytes behind them are zero, as far as a driver could reasonably reach. */
struct kpcr {
    uint64_t gdt, tss, user_rsp;
    struct kpcr *self;
    void *current_prcb;
    uint8_t rest[0x158];
    uint32_t mxcsr; /* the KPRCB begins here */
    uint8_t legacy_number, reserved[3];
    void *current_thread;
    void *next_thread, *idle_thread;
    uint8_t nesting_level, unused[3];
    uint32_t number;
    uint8_t end[4 * PAGE_BYTES];
};

_Static_assert(offsetof(struct kpcr, self) == 0x18 && offsetof(struct kpcr, current_prcb) == 0x20 &&
                   offsetof(struct kpcr, mxcsr) == 0x180 &&
                   offsetof(struct kpcr, legacy_number) == 0x184 &&
                   offsetof(struct kpcr, current_thread) == 0x188 &&
                   offsetof(struct kpcr, number) == 0x1a4,
               "where drivers read it");

static struct kpcr kpcr __attribute__((aligned(4096)));

bool processor_install(void)
{
#if defined(__x86_64__) && defined(__linux__)
    kpcr.self = &kpcr;
    kpcr.current_prcb = &kpcr.mxcsr;
    kpcr.mxcsr = 0x1f80;
    return syscall(SYS_arch_prctl, SET_GS, &kpcr) == 0;
#else
    return false;
#endif
}

void processor_set_thread(void *thread)
{
    kpcr.current_thread = thread;
}
