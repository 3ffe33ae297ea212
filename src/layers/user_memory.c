/*
 * The handlers touch nothing but the static state here and the pages: an access may come from any
 * instruction of the driver, or of a service that copies for it.
 */
#define _GNU_SOURCE /* names of the registers of a signal's context */
#include "layers/user_memory.h"

#include "base/bits.h"
#include "base/rng.h"
#include "layers/layer.h"

#include <string.h>

#define USER_RNG_STREAM UINT64_C(0x75736572) /* "user" */
#define USER_PAGES      16u                  /* commands of more are not tried */
#define ALWAYS_FIRST    3u                   /* calls that are tried; of the others one in... */
#define THEN_ONE_IN     8u
#define MOST_TRIALS     8u
#define MOST_READS      4096u /* behind them the pages stay open */
#define LAST_READS      4u    /* one half of the changes comes behind one of them */

enum change { ALL_ONES, ALL_ZEROS, ONE_MORE, TURNED, CHANGE_COUNT };

struct user_memory_layer {
    struct layer layer;
    struct user_memory_config config;
    struct rng rng;
    char *pages; /* USER_PAGES, with one behind them that is never there */
    uint64_t calls;
    struct user_memory_counts counts;
};

static void change_bytes(char *bytes, size_t count, enum change how)
{
    if (how == ALL_ONES || how == ALL_ZEROS) {
        memset(bytes, how == ALL_ONES ? 0xff : 0, count);
        return;
    }
    for (size_t i = 0; i + sizeof(uint32_t) <= count; i += sizeof(uint32_t)) {
        uint32_t word;

        memcpy(&word, bytes + i, sizeof word);
        word = how == ONE_MORE ? word + 1 : word ^ 0x80000000u;
        memcpy(bytes + i, &word, sizeof word);
    }
}

#if defined(__x86_64__) && defined(__linux__)

#include "machine/signal_hook.h"

#include <sys/mman.h>
#include <ucontext.h>

#define TRAP_FLAG 0x100

/* ---- The n-th read --------------------------------------------------------------------------- */

static struct {
    struct user_memory_layer *user; /* NULL: nothing is watched */
    char *command;
    size_t bytes;
    unsigned reads; /* so far */
    unsigned last;  /* behind which the bytes change, if they do */
    bool changes;
    enum change how;
    volatile sig_atomic_t is_stepping;
    struct signal_hook fault, trap;
} watch;

static bool protect(struct user_memory_layer *user, int protection)
{
    return mprotect(user->pages, USER_PAGES * PAGE_BYTES, protection) == 0;
}

/* The instruction that read has run, or has failed at another address. */
static void end_step(ucontext_t *machine)
{
    machine->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    watch.is_stepping = 0;
    if (!watch.user)
        return;
    if (watch.reads < watch.last) {
        protect(watch.user, PROT_NONE);
    } else if (watch.changes) {
        change_bytes(watch.command, watch.bytes, watch.how);
        watch.user->counts.changed++;
    }
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    ucontext_t *machine = context;
    const char *address = info->si_addr;

    if (watch.is_stepping)
        end_step(machine);
    if (!watch.user || info->si_code != SEGV_ACCERR || watch.reads >= watch.last ||
        address < watch.user->pages || address >= watch.user->pages + USER_PAGES * PAGE_BYTES) {
        signal_hook_pass_on(&watch.fault, info, context);
        return;
    }
    watch.reads++;
    protect(watch.user, PROT_READ | PROT_WRITE);
    watch.is_stepping = 1;
    machine->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
    if (watch.is_stepping)
        end_step(context);
    else
        signal_hook_pass_on(&watch.trap, info, context);
}

static bool begin_watch(struct user_memory_layer *user, size_t bytes, unsigned last, bool changes)
{
    if (watch.user || !signal_hook_set(&watch.fault, SIGSEGV, on_fault))
        return false;
    if (!signal_hook_set(&watch.trap, SIGTRAP, on_trap)) {
        signal_hook_release(&watch.fault);
        return false;
    }
    watch.user = user;
    watch.command = user->pages;
    watch.bytes = bytes;
    watch.reads = 0;
    watch.last = last;
    watch.changes = changes;
    watch.how = (enum change)rng_below(&user->rng, CHANGE_COUNT);
    protect(user, PROT_NONE);
    return true;
}

static void end_watch(void)
{
    struct user_memory_layer *user = watch.user;

    watch.user = NULL;
    watch.is_stepping = 0;
    protect(user, PROT_READ | PROT_WRITE);
    signal_hook_release(&watch.fault);
    signal_hook_release(&watch.trap);
}

/* ---- Trials ---------------------------------------------------------------------------------- */

/* Which pages are not there: the first, or all from the second on. The commands lie across. */
struct gap {
    char *start;
    size_t bytes;
    char *commands;
};

static struct gap draw_gap(struct user_memory_layer *user, size_t bytes)
{
    size_t most = min_u64(bytes, PAGE_BYTES);

    if (rng_chance(&user->rng, 1, 2))
        return (struct gap){user->pages, PAGE_BYTES,
                            user->pages + PAGE_BYTES - 1 - rng_below(&user->rng, most)};
    return (struct gap){user->pages + PAGE_BYTES, (USER_PAGES - 1) * PAGE_BYTES,
                        user->pages + PAGE_BYTES - rng_below(&user->rng, most)};
}

static bool map_pages(struct user_memory_layer *user)
{
    void *pages =
        mmap(NULL, (USER_PAGES + 1) * PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    user->pages = pages == MAP_FAILED ? NULL : pages;
    return user->pages && protect(user, PROT_READ | PROT_WRITE);
}

static void unmap_pages(struct user_memory_layer *user)
{
    if (watch.user == user) /* the driver has ended the run in the middle of a trial */
        end_watch();
    if (user->pages)
        munmap(user->pages, (USER_PAGES + 1) * PAGE_BYTES);
}

static void call_driver(struct user_memory_layer *user, HANDLE object, DXGKARG_RENDER *trial)
{
    const struct user_memory_config *config = &user->config;

    if (config->begin)
        config->begin(config->context);
    miniport_render(user->layer.miniport.next, object, trial);
    if (config->end)
        config->end(config->context);
}

static void try_without_pages(struct user_memory_layer *user, HANDLE object, DXGKARG_RENDER *trial)
{
    const struct gap gap = draw_gap(user, trial->CommandLength);

    memcpy(gap.commands, trial->pCommand, trial->CommandLength);
    trial->pCommand = gap.commands;
    user->counts.gone++;
    mprotect(gap.start, gap.bytes, PROT_NONE);
    nt_set_user_memory(user->config.nt, user->pages, USER_PAGES * PAGE_BYTES);
    call_driver(user, object, trial);
    nt_set_user_memory(user->config.nt, NULL, 0);
    protect(user, PROT_READ | PROT_WRITE);
}

/* How often the driver has read, up to the last read that counts. */
static unsigned call_watched(struct user_memory_layer *user, HANDLE object,
                             const DXGKARG_RENDER *arg, const void *commands, unsigned last,
                             bool changes)
{
    DXGKARG_RENDER trial = *arg;

    memcpy(user->pages, commands, trial.CommandLength);
    if (!begin_watch(user, trial.CommandLength, last, changes))
        return 0;
    call_driver(user, object, &trial);
    end_watch();
    return watch.reads;
}

static void try_commands(struct user_memory_layer *user, HANDLE object, DXGKARG_RENDER *trial)
{
    const void *commands = trial->pCommand;
    uint64_t reads, last, draw;
    bool is_late;

    user->counts.trials++;
    if (user->config.nt && rng_chance(&user->rng, 1, 2)) {
        try_without_pages(user, object, trial);
        return;
    }
    trial->pCommand = user->pages;
    /*
     * The first one tells how often the driver reads. A transcript retells calls and no reads: both
     * are made, and as much is drawn, whatever it tells.
     */
    is_late = rng_chance(&user->rng, 1, 2);
    draw = rng_next(&user->rng);
    reads = max_u64(call_watched(user, object, trial, commands, MOST_READS, false), 1);
    last = is_late ? reads - draw % min_u64(reads, LAST_READS) : 1 + draw % reads;
    call_watched(user, object, trial, commands, (unsigned)last, true);
}

#else

static bool map_pages(struct user_memory_layer *user)
{
    (void)user;
    return true;
}

static void unmap_pages(struct user_memory_layer *user)
{
    (void)user;
}

static void try_commands(struct user_memory_layer *user, HANDLE object, DXGKARG_RENDER *trial)
{
    (void)user;
    (void)object;
    (void)trial;
}

#endif

/* ---- The layer ------------------------------------------------------------------------------- */

static bool is_due(struct user_memory_layer *user, const DXGKARG_RENDER *arg)
{
    uint64_t draw = rng_below(&user->rng, THEN_ONE_IN);

    return (user->calls++ < ALWAYS_FIRST || draw == 0) && user->counts.trials < MOST_TRIALS &&
           arg->pCommand && arg->CommandLength &&
           arg->CommandLength <= (USER_PAGES - 1) * PAGE_BYTES;
}

static NTSTATUS render(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    struct user_memory_layer *user = (struct user_memory_layer *)self;
    const struct base_services *services = user->layer.services;
    size_t bytes = arg->DmaBufferPrivateDataSize;

    if (is_due(user, arg)) {
        DXGKARG_RENDER trial = *arg;
        void *before = bytes ? base_alloc(services, bytes) : NULL;

        if (before)
            memcpy(before, arg->pDmaBufferPrivateData, bytes);
        if (before || !bytes)
            try_commands(user, object, &trial);
        if (before)
            memcpy(arg->pDmaBufferPrivateData, before, bytes);
        base_free(services, before, bytes);
    }
    return miniport_forward_render(self, object, arg);
}

static void destroy(struct miniport *self)
{
    struct user_memory_layer *user = (struct user_memory_layer *)self;

    unmap_pages(user);
    base_free(user->layer.services, user, user->layer.bytes);
}

NTSTATUS user_memory_layer_create(const struct base_services *services,
                                  const struct user_memory_config *config, struct miniport *next,
                                  struct miniport **out_layer)
{
    struct user_memory_layer *user = layer_create(services, sizeof *user, "user memory", next);
    struct rng parent;

    *out_layer = NULL;
    if (!user)
        return STATUS_NO_MEMORY;
    user->config = *config;
    rng_init(&parent, config->seed);
    rng_fork(&parent, USER_RNG_STREAM, &user->rng);
    if (!map_pages(user)) {
        unmap_pages(user);
        base_free(services, user, user->layer.bytes);
        return STATUS_NO_MEMORY;
    }
    user->layer.ops.render = render;
    user->layer.ops.destroy = destroy;
    *out_layer = &user->layer.miniport;
    return STATUS_SUCCESS;
}

struct user_memory_counts user_memory_layer_counts(const struct miniport *layer)
{
    return ((const struct user_memory_layer *)layer)->counts;
}
