/*
 * The handlers touch nothing but the static state here, and call nothing but the watch's functions:
 * the bytes may be those of anybody.
 */
#define _GNU_SOURCE /* names of the registers of a signal's context */
#include "machine/write_watch.h"

#if defined(__x86_64__) && defined(__linux__)

#include "base/bits.h"
#include "machine/page_fault.h"
#include "machine/signal_hook.h"

#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define TRAP_FLAG      0x100
#define ERROR_IS_WRITE 2   /* bit of the page-fault error code */
#define MOST_BEFORE    64u /* a write that crosses into a closed page faults at that page */
#define MOST_BYTES     64u /* that an instruction writes at once */

static struct {
    struct write_watch by;
    struct write_watch_piece pieces[WRITE_WATCH_PIECES]; /* closed, in whole pages */
    size_t piece_count;
    struct signal_hook fault, trap;
    volatile bool is_on, is_stepping;
    /* The write that is being stepped. */
    uint8_t *at, *from, *to; /* where it faulted; what is compared */
    uint8_t before[MOST_BEFORE + MOST_BYTES];
    struct write_watch_piece piece;
    struct page_store *store; /* NULL: of a piece of memory */
    uint64_t page;
} watch;

static bool protect(struct write_watch_piece piece, int protection)
{
    return mprotect(piece.start, piece.bytes, protection) == 0;
}

/* In the page around it, or in the piece of memory. */
static void keep_bytes(uint8_t *address)
{
    uint8_t *first = watch.piece.start, *end = first + watch.piece.bytes;

    watch.at = address;
    watch.from = address - min_u64(MOST_BEFORE, (uint64_t)(address - first));
    watch.to = address + min_u64(MOST_BYTES, (uint64_t)(end - address));
    memcpy(watch.before, watch.from, (size_t)(watch.to - watch.from));
}

static void begin_step(ucontext_t *state, uint8_t *address)
{
    watch.by.comes(watch.by.context, state);
    keep_bytes(address);
    watch.is_stepping = true;
    state->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void tell_write(void)
{
    const uint8_t *first = watch.from, *end = watch.to;
    size_t bytes = (size_t)(watch.to - watch.from);
    size_t low = 0, high = bytes;

    while (low < high && watch.before[low] == first[low])
        low++;
    while (high > low && watch.before[high - 1] == first[high - 1])
        high--;
    end = first + high;
    first += low;
    if (low == high) {
        first = watch.at;
        end = first + 1;
    } else if (first > watch.at) {
        first = watch.at;
    }
    watch.by.wrote(watch.by.context, first, (size_t)(end - first), watch.store, watch.page);
}

static void end_step(ucontext_t *state)
{
    state->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    watch.is_stepping = false;
}

/* Opens what the address is in; false: it is not watched. */
static bool open_page(uint8_t *address)
{
    watch.store = NULL;
    for (size_t i = 0; i < watch.piece_count; i++) {
        watch.piece = watch.pieces[i];
        if (address >= watch.piece.start && address < watch.piece.start + watch.piece.bytes)
            return protect(watch.piece, PROT_READ | PROT_WRITE);
    }
    watch.piece = (struct write_watch_piece){address - (uintptr_t)address % PAGE_BYTES, PAGE_BYTES};
    return page_watch_find(address, &watch.store, &watch.page) && page_fault_take(address);
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    ucontext_t *state = context;

    if (watch.is_on && watch.is_stepping) { /* by another operand of the instruction */
        end_step(state);
        watch.is_on = false;
    } else if (watch.is_on && info->si_code == SEGV_ACCERR &&
               (state->uc_mcontext.gregs[REG_ERR] & ERROR_IS_WRITE) && open_page(info->si_addr)) {
        begin_step(state, info->si_addr);
        return;
    }
    signal_hook_pass_on(&watch.fault, info, context);
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
    if (!watch.is_stepping) {
        signal_hook_pass_on(&watch.trap, info, context);
        return;
    }
    end_step(context);
    tell_write();
    if (watch.store)
        page_watch_close_page(watch.piece.start);
    else if (watch.is_on)
        protect(watch.piece, PROT_READ);
}

static struct write_watch_piece whole_pages(struct write_watch_piece piece)
{
    size_t before = (uintptr_t)piece.start % PAGE_BYTES;

    return (struct write_watch_piece){piece.start - before,
                                      align_up(before + piece.bytes, PAGE_BYTES)};
}

bool write_watch_begin(const struct write_watch *by)
{
    if (watch.by.wrote || by->piece_count > WRITE_WATCH_PIECES ||
        !signal_hook_set(&watch.fault, SIGSEGV, on_fault))
        return false;
    watch.by = *by;
    watch.is_on = signal_hook_set(&watch.trap, SIGTRAP, on_trap);
    page_watch_close_all();
    for (watch.piece_count = 0; watch.is_on && watch.piece_count < by->piece_count;) {
        struct write_watch_piece piece = whole_pages(by->pieces[watch.piece_count]);

        watch.pieces[watch.piece_count++] = piece;
        watch.is_on = protect(piece, PROT_READ);
    }
    if (!watch.is_on)
        write_watch_end();
    return watch.is_on;
}

void write_watch_end(void)
{
    watch.is_on = watch.is_stepping = false;
    for (size_t i = 0; i < watch.piece_count; i++)
        protect(watch.pieces[i], PROT_READ | PROT_WRITE);
    watch.piece_count = 0;
    watch.by = (struct write_watch){0};
    signal_hook_release(&watch.fault);
    signal_hook_release(&watch.trap);
}

#else

bool write_watch_begin(const struct write_watch *by)
{
    return false;
}

void write_watch_end(void)
{
}

#endif
