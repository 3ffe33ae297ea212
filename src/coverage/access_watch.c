/*
 * The handlers touch nothing but the static state here: the watched bytes may share a page with any
 * block of the heap.
 */
#define _GNU_SOURCE /* names of the registers of a signal's context */

#include "coverage/access_watch.h"

#include <string.h>

#if defined(__x86_64__) && defined(__linux__)

#include "machine/signal_hook.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define TRAP_FLAG      0x100
#define PAGE_SIZE      4096u
#define ERROR_IS_WRITE 2 /* bit of the page-fault error code */

static struct {
    uintptr_t start, end;             /* bytes of interest */
    uintptr_t pages_start, pages_end; /* closed */
    volatile sig_atomic_t is_on, is_stepping;
    struct signal_hook fault, trap;
    uint8_t read[ACCESS_WATCH_MAX_BYTES];
} watch;

/* ---- Instructions ---------------------------------------------------------------------------- */

struct instruction {
    bool has_66, has_f2, has_f3, is_wide; /* prefixes; REX.W, VEX.W or EVEX.W */
    unsigned map;                         /* 0: one byte, 1: 0F, 2: 0F 38, 3: 0F 3A */
    unsigned vector_bytes;                /* 0: no VEX or EVEX */
    uint8_t opcode;
};

static void set_pp(struct instruction *instruction, unsigned pp)
{
    instruction->has_66 = pp == 1;
    instruction->has_f3 = pp == 2;
    instruction->has_f2 = pp == 3;
}

static struct instruction parse(const uint8_t *code)
{
    struct instruction in = {0};

    for (;; code++) {
        if (*code == 0x66)
            in.has_66 = true;
        else if (*code == 0xF2)
            in.has_f2 = true;
        else if (*code == 0xF3)
            in.has_f3 = true;
        else if (!strchr("\x2E\x36\x3E\x26\x64\x65\x67\xF0", *code) || !*code)
            break;
    }
    if (*code == 0xC5) {
        set_pp(&in, code[1] & 3);
        in.map = 1;
        in.vector_bytes = code[1] & 4 ? 32 : 16;
        in.opcode = code[2];
        return in;
    }
    if (*code == 0xC4) {
        in.map = code[1] & 31;
        set_pp(&in, code[2] & 3);
        in.is_wide = code[2] & 0x80;
        in.vector_bytes = code[2] & 4 ? 32 : 16;
        in.opcode = code[3];
        return in;
    }
    if (*code == 0x62) {
        in.map = code[1] & 7;
        set_pp(&in, code[2] & 3);
        in.is_wide = code[2] & 0x80;
        in.vector_bytes = 16u << ((code[3] >> 5) & 3);
        in.opcode = code[4];
        return in;
    }
    if ((*code & 0xF0) == 0x40)
        in.is_wide = *code++ & 8;
    if (*code == 0x0F) {
        code++;
        in.map = 1;
        if (*code == 0x38 || *code == 0x3A)
            in.map = *code++ == 0x38 ? 2 : 3;
    }
    in.opcode = *code;
    return in;
}

static size_t operand_bytes(const struct instruction *in)
{
    return in->is_wide ? 8 : in->has_66 ? 2 : 4;
}

static size_t one_byte_map(const struct instruction *in)
{
    uint8_t op = in->opcode;

    if (op >= 0xD8 && op <= 0xDF)
        return 1; /* x87: not known */
    if (op == 0xFF || op == 0x8F)
        return operand_bytes(in); /* inc, dec; a push or call takes at least that */
    if (op == 0x69 || op == 0x6B || op == 0x63)
        return op == 0x63 ? 4 : operand_bytes(in);
    if (op < 0x40 || (op >= 0x80 && op <= 0x8B) || (op >= 0xA4 && op <= 0xAF) ||
        (op >= 0xC0 && op <= 0xC7) || (op >= 0xD0 && op <= 0xD3) || op >= 0xF6)
        return op & 1 ? operand_bytes(in) : 1;
    return 1;
}

static size_t vector_map(const struct instruction *in)
{
    size_t full = in->vector_bytes ? in->vector_bytes : 16;
    uint8_t op = in->opcode;

    switch (op) {
    case 0x10:
    case 0x11: /* movups, movss, movsd */
    case 0x51:
    case 0x58:
    case 0x59:
    case 0x5C:
    case 0x5D:
    case 0x5E:
    case 0x5F:
        return in->has_f3 ? 4 : in->has_f2 ? 8 : full;
    case 0x2A:
    case 0x2D:
    case 0x2C:
        return operand_bytes(in);
    case 0x12:
    case 0x13:
    case 0x16:
    case 0x17:
    case 0xD6: /* halves of a register */
        return 8;
    case 0x6E:
        return in->is_wide ? 8 : 4;
    case 0x7E:
        return in->has_f3 || in->is_wide ? 8 : 4;
    case 0x6F:
    case 0x7F: /* movdqu; without a prefix: MMX */
        return in->has_66 || in->has_f3 || in->has_f2 || in->vector_bytes ? full : 8;
    case 0x28:
    case 0x29:
    case 0x14:
    case 0x15:
    case 0xC6:
    case 0xE7:
    case 0xF0:
    case 0x54:
    case 0x55:
    case 0x56:
    case 0x57:
    case 0x60:
    case 0x61:
    case 0x62:
    case 0x6C:
    case 0x6D:
    case 0xD4:
    case 0xDB:
    case 0xEB:
    case 0xEF:
    case 0xFA:
    case 0xFB:
    case 0xFE:
        return full;
    default:
        return 0;
    }
}

static size_t two_byte_map(const struct instruction *in)
{
    size_t bytes = vector_map(in);
    uint8_t op = in->opcode;

    if (bytes)
        return bytes;
    if (op == 0xB6 || op == 0xBE || op == 0xB0 || op == 0xC0 || (op >= 0x90 && op <= 0x9F))
        return 1;
    if (op == 0xB7 || op == 0xBF)
        return 2;
    if ((op >= 0x40 && op <= 0x4F) || op == 0xAF || op == 0xB1 || op == 0xC1 || op == 0xBA ||
        op == 0xA3 || op == 0xAB || op == 0xB3 || op == 0xBB || op == 0xBC || op == 0xBD)
        return operand_bytes(in);
    return 1;
}

size_t access_watch_instruction_bytes(const uint8_t *code)
{
    struct instruction in = parse(code);

    if (in.map == 0)
        return one_byte_map(&in);
    if (in.map == 1)
        return two_byte_map(&in);
    if (in.map == 2 && (in.opcode == 0x58 || in.opcode == 0x59))
        return in.opcode == 0x58 ? 4 : 8; /* vpbroadcastd, vpbroadcastq */
    if (in.map == 2 && in.vector_bytes && in.opcode >= 0xF0)
        return in.is_wide ? 8 : 4; /* andn, bextr, shlx */
    if (in.map == 2 && (in.opcode == 0xF0 || in.opcode == 0xF1))
        return operand_bytes(&in); /* movbe */
    if (in.map == 3 && in.opcode == 0x22)
        return in.is_wide ? 8 : 4; /* pinsrd, pinsrq */
    return 1;
}

/* ---- Signals --------------------------------------------------------------------------------- */

static void protect(int protection)
{
    mprotect((void *)watch.pages_start, watch.pages_end - watch.pages_start, protection);
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    ucontext_t *machine = context;
    uintptr_t address = (uintptr_t)info->si_addr;
    greg_t *registers = machine->uc_mcontext.gregs;

    if (!watch.is_on || watch.is_stepping || address < watch.pages_start ||
        address >= watch.pages_end) {
        signal_hook_pass_on(&watch.fault, info, context);
        return;
    }
    protect(PROT_READ | PROT_WRITE);
    if (!(registers[REG_ERR] & ERROR_IS_WRITE)) {
        const uint8_t *code = (const uint8_t *)registers[REG_RIP];
        size_t bytes = access_watch_instruction_bytes(code);

        for (size_t i = 0; i < bytes; i++) {
            if (address + i >= watch.start && address + i < watch.end)
                watch.read[address + i - watch.start] = 1;
        }
    }
    watch.is_stepping = 1;
    registers[REG_EFL] |= TRAP_FLAG;
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
    ucontext_t *machine = context;

    if (!watch.is_stepping) {
        signal_hook_pass_on(&watch.trap, info, context);
        return;
    }
    machine->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    watch.is_stepping = 0;
    if (watch.is_on)
        protect(PROT_NONE);
}

/* ---- Watches --------------------------------------------------------------------------------- */

bool access_watch_is_available(void)
{
    return true;
}

void *access_watch_alloc(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

void access_watch_free(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes);
}

static bool install(void)
{
    if (signal_hook_set(&watch.fault, SIGSEGV, on_fault) &&
        signal_hook_set(&watch.trap, SIGTRAP, on_trap))
        return true;
    signal_hook_release(&watch.fault);
    return false;
}

bool access_watch_begin(void *memory, size_t bytes)
{
    if (watch.is_on || bytes > ACCESS_WATCH_MAX_BYTES || !install())
        return false;
    watch.start = (uintptr_t)memory;
    watch.end = watch.start + bytes;
    watch.pages_start = watch.start & ~(uintptr_t)(PAGE_SIZE - 1);
    watch.pages_end = (watch.end + PAGE_SIZE - 1) & ~(uintptr_t)(PAGE_SIZE - 1);
    memset(watch.read, 0, bytes);
    watch.is_on = 1;
    protect(PROT_NONE);
    return true;
}

void access_watch_end(void)
{
    if (!watch.is_on)
        return;
    watch.is_on = 0;
    protect(PROT_READ | PROT_WRITE);
    signal_hook_release(&watch.fault);
    signal_hook_release(&watch.trap);
}

bool access_watch_was_read(size_t offset, size_t bytes)
{
    for (size_t i = offset; i < offset + bytes && i < ACCESS_WATCH_MAX_BYTES; i++) {
        if (watch.read[i])
            return true;
    }
    return false;
}

#else

#include <stdlib.h>

bool access_watch_is_available(void)
{
    return false;
}

void *access_watch_alloc(size_t bytes)
{
    return malloc(bytes);
}

void access_watch_free(void *memory, size_t bytes)
{
    free(memory);
}

bool access_watch_begin(void *memory, size_t bytes)
{
    return false;
}

void access_watch_end(void)
{
}

bool access_watch_was_read(size_t offset, size_t bytes)
{
    return false;
}

size_t access_watch_instruction_bytes(const uint8_t *code)
{
    return 1;
}

#endif
