/*
 * The handlers run on the signal stack, in the middle of an instruction of the driver: nothing of
 * the bench is half done then, so they may call the device.
 */
#define _GNU_SOURCE /* REG_RIP */
#include "nt/machine/trap.h"

#if defined(__x86_64__) && defined(__linux__)

#include "nt/exceptions/exception.h"
#include "nt/machine/port.h"
#include "nt/machine/processor.h"
#include "nt/machine/shared_data.h"
#include "nt/nt_private.h"

#include "base/bits.h"
#include "machine/page_fault.h"
#include "machine/signal_hook.h"

#include <Zydis/Zydis.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define TRAP_FLAG        0x100
#define ALIGNMENT_FLAG   0x40000
#define MAX_INSTRUCTION  15
#define MAX_ACCESS_BYTES 64
#define FAST_FAIL        0x29
#define SIGNAL_STACK     (64 * 1024)

/* An instruction that runs alone, with memory where there are registers. */
struct access {
    bool is_pending, is_write;
    uint8_t *address;
    unsigned bytes;
};

static struct {
    struct nt *nt;
    struct trap_config config;
    struct signal_hook segv, step, other[3];
    ZydisDecoder decoder;
    struct access access;
    uint64_t count;
} trap;

/* ---- Instructions ---------------------------------------------------------------------------- */

struct instruction {
    ZydisDecodedInstruction info;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

static bool decode(uint64_t rip, struct instruction *out)
{
    return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&trap.decoder, (const void *)(uintptr_t)rip,
                                               MAX_INSTRUCTION, &out->info, out->operands));
}

/* Where the processor's state keeps a general register, by its number; NULL: it is none. */
static greg_t *register_of(ucontext_t *state, ZydisRegister name)
{
    static const int places[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                 REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                 REG_R12, REG_R13, REG_R14, REG_R15};

    return name >= ZYDIS_REGISTER_RAX && name <= ZYDIS_REGISTER_R15
               ? &state->uc_mcontext.gregs[places[name - ZYDIS_REGISTER_RAX]]
               : NULL;
}

/* ---- Registers of the device ----------------------------------------------------------------- */

static bool is_register(const void *address)
{
    uint64_t offset;

    return trap.nt->machine && machine_register_at(trap.nt->machine, address, &offset);
}

/* The largest size that a register has and that this access may be made in, from here on. */
static unsigned step_of(uintptr_t address, unsigned left)
{
    unsigned size = 8;

    while (size > left || address % size)
        size /= 2;
    return size;
}

static bool set_pages(int protection)
{
    uintptr_t start = align_down((uintptr_t)trap.access.address, PAGE_BYTES);
    uintptr_t end = align_up((uintptr_t)trap.access.address + trap.access.bytes, PAGE_BYTES);

    return mprotect((void *)start, end - start, protection) == 0;
}

static void fetch(void)
{
    for (unsigned at = 0, size; at < trap.access.bytes; at += size) {
        uint64_t value;

        size = step_of((uintptr_t)trap.access.address + at, trap.access.bytes - at);
        value = machine_read_register(trap.nt->machine, trap.access.address + at, size);
        memcpy(trap.access.address + at, &value, size);
    }
}

static void deliver(const uint8_t *bytes)
{
    for (unsigned at = 0, size; at < trap.access.bytes; at += size) {
        uint64_t value = 0;

        size = step_of((uintptr_t)trap.access.address + at, trap.access.bytes - at);
        memcpy(&value, bytes + at, size);
        machine_write_register(trap.nt->machine, trap.access.address + at, size, value);
    }
}

/* Where an operand in memory is; false: it is nowhere. */
static bool address_of(const ucontext_t *state, const struct instruction *instruction,
                       const ZydisDecodedOperand *operand, uint64_t *out)
{
    ZydisRegisterContext registers = {0};

    for (ZydisRegister name = ZYDIS_REGISTER_RAX; name <= ZYDIS_REGISTER_R15; name++)
        registers.values[name] = (ZyanU64)*register_of((ucontext_t *)(uintptr_t)state, name);
    return operand->type == ZYDIS_OPERAND_TYPE_MEMORY && operand->size >= 8 &&
           ZYAN_SUCCESS(ZydisCalcAbsoluteAddressEx(&instruction->info, operand,
                                                   (ZyanU64)state->uc_mcontext.gregs[REG_RIP],
                                                   &registers, out));
}

/* The instruction's accesses to registers, by its operands that lie there. */
static bool begin_access(ucontext_t *state)
{
    struct instruction instruction;
    bool is_read = false;

    if (trap.access.is_pending ||
        !decode((uint64_t)state->uc_mcontext.gregs[REG_RIP], &instruction))
        return false;
    trap.access = (struct access){0};
    for (unsigned i = 0; i < instruction.info.operand_count; i++) {
        const ZydisDecodedOperand *operand = &instruction.operands[i];

        uint64_t address;

        if (!address_of(state, &instruction, operand, &address) ||
            !is_register((void *)(uintptr_t)address))
            continue;
        trap.access.address = (uint8_t *)(uintptr_t)address;
        trap.access.bytes = operand->size / 8;
        is_read |= operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
        trap.access.is_write |= (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    }
    if (!trap.access.bytes || trap.access.bytes > MAX_ACCESS_BYTES ||
        !is_register(trap.access.address + trap.access.bytes - 1) ||
        !set_pages(PROT_READ | PROT_WRITE))
        return false;
    if (is_read)
        fetch();
    trap.access.is_pending = true;
    trap.count++;
    state->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
    return true;
}

static void end_access(ucontext_t *state)
{
    uint8_t bytes[MAX_ACCESS_BYTES];

    state->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
    memcpy(bytes, trap.access.address, trap.access.bytes);
    memset(trap.access.address, 0, trap.access.bytes);
    set_pages(PROT_NONE);
    trap.access.is_pending = false;
    if (trap.access.is_write)
        deliver(bytes);
}

/*
 * The instruction has faulted in another operand, or in the bytes that it read: it has not written.
 */
static void give_up_access(ucontext_t *state)
{
    if (!trap.access.is_pending)
        return;
    state->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
    memset(trap.access.address, 0, trap.access.bytes);
    set_pages(PROT_NONE);
    trap.access.is_pending = false;
}

/* ---- Instructions for a kernel only ---------------------------------------------------------- */

static void report(const char *what, uint64_t rip)
{
    char text[96];

    snprintf(text, sizeof text, "%s (at 0x%llx)", what, (unsigned long long)rip);
    nt_report_missing(trap.nt, text);
}

static bool move_control(ucontext_t *state, const struct instruction *instruction)
{
    const ZydisDecodedOperand *to = &instruction->operands[0], *from = &instruction->operands[1];
    greg_t *general;

    if (to->type != ZYDIS_OPERAND_TYPE_REGISTER || from->type != ZYDIS_OPERAND_TYPE_REGISTER)
        return false;
    if (from->reg.value == ZYDIS_REGISTER_CR8 && (general = register_of(state, to->reg.value))) {
        *general = trap.nt->irql;
        return true;
    }
    if (to->reg.value == ZYDIS_REGISTER_CR8 && (general = register_of(state, from->reg.value))) {
        nt_set_irql(trap.nt, (KIRQL)(*general & 0xf));
        return true;
    }
    if (from->reg.value >= ZYDIS_REGISTER_CR0 && from->reg.value <= ZYDIS_REGISTER_CR15 &&
        (general = register_of(state, to->reg.value))) {
        report("a control register of the processor", (uint64_t)state->uc_mcontext.gregs[REG_RIP]);
        *general = 0;
        return true;
    }
    return false;
}

/* "in" and "out": of DX or an immediate number, from or to a part of EAX. */
static void access_port(greg_t *registers, const struct instruction *instruction)
{
    const bool is_write = instruction->info.mnemonic == ZYDIS_MNEMONIC_OUT;
    const ZydisDecodedOperand *where = &instruction->operands[is_write ? 0 : 1];
    const unsigned bytes = instruction->operands[is_write ? 1 : 0].size / 8u;
    const uint64_t part = UINT64_MAX >> (64 - 8 * bytes);
    uint64_t rax = (uint64_t)registers[REG_RAX];
    uint16_t port;

    port = where->type == ZYDIS_OPERAND_TYPE_IMMEDIATE ? (uint16_t)where->imm.value.u
                                                       : (uint16_t)registers[REG_RDX];
    if (is_write) {
        nt_write_port(trap.nt, port, bytes, (uint32_t)(rax & part));
        return;
    }
    /* A write of EAX clears the upper half of RAX, one of a smaller part leaves the rest. */
    rax = bytes == 4 ? 0 : rax & ~part;
    registers[REG_RAX] = (greg_t)(rax | nt_read_port(trap.nt, port, bytes));
}

static bool answer(ucontext_t *state, const struct instruction *instruction)
{
    greg_t *registers = state->uc_mcontext.gregs;
    uint64_t rip = (uint64_t)registers[REG_RIP];

    switch (instruction->info.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
        return move_control(state, instruction);
    case ZYDIS_MNEMONIC_CLI:
    case ZYDIS_MNEMONIC_STI:
    case ZYDIS_MNEMONIC_WBINVD:
    case ZYDIS_MNEMONIC_INVD:
    case ZYDIS_MNEMONIC_INVLPG:
    case ZYDIS_MNEMONIC_SWAPGS:
        return true;
    case ZYDIS_MNEMONIC_HLT:
        report("hlt", rip);
        return true;
    case ZYDIS_MNEMONIC_RDMSR:
    case ZYDIS_MNEMONIC_RDPMC:
        report("registers of the processor's model", rip);
        registers[REG_RAX] = registers[REG_RDX] = 0;
        return true;
    case ZYDIS_MNEMONIC_WRMSR:
        report("registers of the processor's model", rip);
        return true;
    case ZYDIS_MNEMONIC_IN:
    case ZYDIS_MNEMONIC_OUT:
        access_port(registers, instruction);
        return true;
    default:
        return false;
    }
}

/* "int n" that no process may use; the number in the instruction's second byte. */
static bool is_fast_fail(const struct instruction *instruction)
{
    return instruction->info.mnemonic == ZYDIS_MNEMONIC_INT &&
           instruction->operands[0].imm.value.u == FAST_FAIL;
}

static bool emulate(ucontext_t *state)
{
    uint64_t rip = (uint64_t)state->uc_mcontext.gregs[REG_RIP];
    struct instruction instruction;

    if (!trap.config.is_driver(trap.config.context, rip) || !decode(rip, &instruction))
        return false;
    if (is_fast_fail(&instruction)) {
        exception_take_fast_fail(trap.nt, state);
        return true;
    }
    if (!answer(state, &instruction))
        return false;
    state->uc_mcontext.gregs[REG_RIP] += instruction.info.length;
    return true;
}

/* ---- Signals --------------------------------------------------------------------------------- */

static bool read_shared_data(ucontext_t *state)
{
    uint64_t rip = (uint64_t)state->uc_mcontext.gregs[REG_RIP];
    struct instruction instruction;

    return trap.config.is_driver(trap.config.context, rip) && decode(rip, &instruction) &&
           shared_data_begin(trap.nt, state, &instruction.info, instruction.operands);
}

static void on_segv(int signal, siginfo_t *info, void *context)
{
    if (info->si_code > 0 && page_fault_take(info->si_addr))
        return;
    if (trap.nt && info->si_code > 0) {
        if (info->si_code != SI_KERNEL && shared_data_has(info->si_addr)) {
            if (read_shared_data(context))
                return;
        } else if (info->si_code != SI_KERNEL && is_register(info->si_addr)) {
            if (begin_access(context))
                return;
        } else if (info->si_code == SI_KERNEL && emulate(context)) {
            return;
        }
    }
    give_up_access(context);
    shared_data_end(context);
    if (!trap.nt || !exception_take_fault(trap.nt, signal, info, context))
        signal_hook_pass_on(&trap.segv, info, context);
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
    if (trap.access.is_pending)
        end_access(context);
    else if (!shared_data_end(context) &&
             (!trap.nt || !exception_take_fault(trap.nt, signal, info, context)))
        signal_hook_pass_on(&trap.step, info, context);
}

/*
 * A driver has left the flag set that makes the processor check alignment: in a kernel it means
 * nothing.
 */
static bool forget_alignment(const siginfo_t *info, ucontext_t *state)
{
    greg_t *registers = state->uc_mcontext.gregs;

    if (info->si_code != BUS_ADRALN || !(registers[REG_EFL] & ALIGNMENT_FLAG))
        return false;
    registers[REG_EFL] &= ~(greg_t)ALIGNMENT_FLAG;
    return true;
}

static const int other_signals[] = {SIGBUS, SIGFPE, SIGILL};

static void on_other(int signal, siginfo_t *info, void *context)
{
    const struct signal_hook *hook = trap.other;

    for (size_t i = 0; i < ARRAY_COUNT(other_signals); i++)
        if (other_signals[i] == signal)
            hook = &trap.other[i];
    if (trap.nt && signal == SIGBUS && forget_alignment(info, context))
        return;
    give_up_access(context);
    if (!trap.nt || !exception_take_fault(trap.nt, signal, info, context))
        signal_hook_pass_on(hook, info, context);
}

/* A kernel stack is small, and may be used up: handlers need one of their own. */
static void give_signal_stack(void)
{
    static char memory[SIGNAL_STACK];
    const stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    stack_t now;

    if (sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_DISABLE))
        sigaltstack(&stack, NULL);
}

bool trap_install(struct nt *nt, const struct trap_config *config)
{
    if (trap.nt || !ZYAN_SUCCESS(ZydisDecoderInit(&trap.decoder, ZYDIS_MACHINE_MODE_LONG_64,
                                                  ZYDIS_STACK_WIDTH_64)))
        return false;
    trap.nt = nt;
    trap.config = *config;
    processor_install();
    give_signal_stack();
    signal_hook_set(&trap.segv, SIGSEGV, on_segv);
    signal_hook_set(&trap.step, SIGTRAP, on_trap);
    for (size_t i = 0; i < ARRAY_COUNT(other_signals); i++)
        signal_hook_set(&trap.other[i], other_signals[i], on_other);
    return true;
}

void trap_remove(struct nt *nt)
{
    if (trap.nt != nt || !nt)
        return;
    signal_hook_release(&trap.segv);
    signal_hook_release(&trap.step);
    for (size_t i = 0; i < ARRAY_COUNT(other_signals); i++)
        signal_hook_release(&trap.other[i]);
    trap.nt = NULL;
}

uint64_t trap_register_accesses(void)
{
    return trap.count;
}

#else

bool trap_install(struct nt *nt, const struct trap_config *config)
{
    return false;
}

void trap_remove(struct nt *nt)
{
}

uint64_t trap_register_accesses(void)
{
    return 0;
}

#endif
