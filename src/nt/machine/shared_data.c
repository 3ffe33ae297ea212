#define _GNU_SOURCE /* REG_RIP */
#include "nt/machine/shared_data.h"

#include "nt/devices/system.h"
#include "nt/machine/boundary.h"
#include "nt/nt_private.h"

#include "base/bits.h"
#include "machine/machine.h"

#include <wdm/shared_data.h>

#define TICK_100NS 156250u /* KeQueryTimeIncrement() */
#define TRAP_FLAG  0x100

/*
 * By the numbers of IsProcessorFeaturePresent(): the features of every x64 processor that Windows
 * 11 runs on.
 */
static const uint8_t features[] = {
    2,  /* PF_COMPARE_EXCHANGE_DOUBLE */
    3,  /* PF_MMX_INSTRUCTIONS_AVAILABLE */
    6,  /* PF_XMMI_INSTRUCTIONS_AVAILABLE */
    8,  /* PF_RDTSC_INSTRUCTION_AVAILABLE */
    10, /* PF_XMMI64_INSTRUCTIONS_AVAILABLE */
    12, /* PF_NX_ENABLED */
    13, /* PF_SSE3_INSTRUCTIONS_AVAILABLE */
    14, /* PF_COMPARE_EXCHANGE128 */
};

BOOLEAN NTAPI ExIsProcessorFeaturePresent(ULONG ProcessorFeature)
{
    nt_require_irql(nt_current(), "ExIsProcessorFeaturePresent", PASSIVE_LEVEL);
    for (size_t i = 0; i < ARRAY_COUNT(features); i++) {
        if (features[i] == ProcessorFeature)
            return TRUE;
    }
    return FALSE;
}

static const struct nt_export services[] = {
    NT_SERVICE(ExIsProcessorFeaturePresent),
    {0},
};

const struct nt_area nt_shared_data_area = {.exports = services};

bool shared_data_has(const void *address)
{
    return (uintptr_t)address - KI_USER_SHARED_DATA < 4096;
}

#if defined(__x86_64__) && defined(__linux__)

#include <signal.h>
#include <string.h>
#include <ucontext.h>

static struct {
    union {
        KUSER_SHARED_DATA data;
        uint8_t bytes[4096];
    } page;
    bool is_fresh;   /* filled for the instruction that faults next */
    bool is_pending; /* it runs alone */
    int base;        /* its base register, by its place in the signal's state */
    uint64_t value;  /* its value before */
    uint64_t kept;   /* the bits of it that the instruction does not write */
} shared __attribute__((aligned(4096)));

static void set_time(volatile KSYSTEM_TIME *time, uint64_t value)
{
    time->LowPart = (ULONG)value;
    time->High1Time = time->High2Time = (LONG)(value >> 32);
}

static void fill(struct nt *nt)
{
    KUSER_SHARED_DATA *data = &shared.page.data;
    RTL_OSVERSIONINFOEXW version = {.dwOSVersionInfoSize = sizeof version};
    static const char root[] = "C:\\Windows";
    uint64_t interrupt_time = nt_now(nt) / 100;

    nt_version((PRTL_OSVERSIONINFOW)&version);
    memset(&shared.page, 0, sizeof shared.page);
    set_time(&data->InterruptTime, interrupt_time);
    set_time(&data->SystemTime, nt_system_time(nt));
    set_time(&data->TickCount, interrupt_time / TICK_100NS);
    data->TickCountLowDeprecated = (ULONG)(interrupt_time / TICK_100NS);
    data->TickCountMultiplier = (ULONG)(((uint64_t)TICK_100NS << 24) / 10000);
    data->QpcFrequency = 10000000;
    for (size_t i = 0; i < sizeof root; i++)
        data->NtSystemRoot[i] = (UCHAR)root[i];
    data->NtBuildNumber = version.dwBuildNumber;
    data->NtMajorVersion = version.dwMajorVersion;
    data->NtMinorVersion = version.dwMinorVersion;
    data->NtProductType = NtProductWinNt;
    data->ProductTypeIsValid = TRUE;
    data->NativeProcessorArchitecture = 9; /* PROCESSOR_ARCHITECTURE_AMD64 */
    data->SuiteMask = version.wSuiteMask;
    for (size_t i = 0; i < ARRAY_COUNT(features); i++)
        data->ProcessorFeatures[features[i]] = TRUE;
    data->LargePageMinimum = 2 * MiB;
    data->ActiveConsoleId = 1;
    if (nt->machine)
        data->NumberOfPhysicalPages =
            (ULONG)(machine_get_config(nt->machine)->ram_bytes / PAGE_SIZE);
    data->ActiveProcessorCount = 1;
    data->UnparkedProcessorCount = 1;
    data->ActiveGroupCount = 1;
}

/* ---- The clock is looked at where time may pass ---------------------------------------------- */

struct look {
    struct nt *nt;
    struct boundary_state state;
};

static void look(struct boundary_call *call, const void *data)
{
    const struct look *look = data;

    nt_look_at_clock(look->nt);
    fill(look->nt);
    shared.is_fresh = true;
    boundary_continue(look->nt->boundary, &look->state);
}

/* ---- The instruction ------------------------------------------------------------------------- */

static const int places[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                             REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                             REG_R12, REG_R13, REG_R14, REG_R15};

static ZydisRegister whole(ZydisRegister name)
{
    return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);
}

/*
 * Whether the instruction uses its base register for nothing but the address, and its value behind
 * the instruction.
 */
static bool examine(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operands,
                    ZydisRegister base, uint64_t *out_kept)
{
    *out_kept = UINT64_MAX;
    for (unsigned i = 0; i < instruction->operand_count; i++) {
        const ZydisDecodedOperand *operand = &operands[i];

        if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY) {
            if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE || operand->mem.base != base ||
                operand->mem.index != ZYDIS_REGISTER_NONE ||
                operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
                return false;
        } else if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
                   whole(operand->reg.value) == base) {
            bool is_high =
                operand->reg.value >= ZYDIS_REGISTER_AH && operand->reg.value <= ZYDIS_REGISTER_BH;

            if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ || is_high)
                return false;
            *out_kept = operand->size >= 32 ? 0 : ~((UINT64_C(1) << operand->size) - 1);
        }
    }
    return true;
}

/* mov al, ax, eax or rax from a 64-bit address. */
static bool load(greg_t *registers, const ZydisDecodedInstruction *instruction,
                 const ZydisDecodedOperand *operands)
{
    uint64_t offset = (uint64_t)operands[1].mem.disp.value - KI_USER_SHARED_DATA;
    size_t bytes = operands[1].size / 8;
    uint64_t value = 0, mask = bytes == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * bytes) - 1;

    if (instruction->mnemonic != ZYDIS_MNEMONIC_MOV || !bytes ||
        operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
        whole(operands[0].reg.value) != ZYDIS_REGISTER_RAX ||
        offset > sizeof shared.page - sizeof value)
        return false;
    memcpy(&value, shared.page.bytes + offset, bytes);
    if (bytes < 4)
        value |= (uint64_t)registers[REG_RAX] & ~mask;
    registers[REG_RAX] = (greg_t)value;
    registers[REG_RIP] += instruction->length;
    return true;
}

bool shared_data_begin(struct nt *nt, void *context, const ZydisDecodedInstruction *instruction,
                       const ZydisDecodedOperand *operands)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    ZydisRegister base = ZYDIS_REGISTER_NONE;
    unsigned memory = 0;

    while (memory < instruction->operand_count &&
           operands[memory].type != ZYDIS_OPERAND_TYPE_MEMORY)
        memory++;
    if (shared.is_pending || memory == instruction->operand_count)
        return false;
    base = operands[memory].mem.base;
    if (base != ZYDIS_REGISTER_NONE && (base < ZYDIS_REGISTER_RAX || base > ZYDIS_REGISTER_R15 ||
                                        !examine(instruction, operands, base, &shared.kept)))
        return false;
    if (!shared.is_fresh && nt->boundary) {
        struct look data = {.nt = nt};

        boundary_state_of_signal(context, &data.state);
        boundary_interrupt(nt->boundary, context, look, &data, sizeof data);
        return true;
    }
    if (!shared.is_fresh)
        fill(nt);
    shared.is_fresh = false;
    if (base == ZYDIS_REGISTER_NONE)
        return memory == 1 && load(registers, instruction, operands);
    shared.base = places[base - ZYDIS_REGISTER_RAX];
    shared.value = (uint64_t)registers[shared.base];
    shared.is_pending = true;
    registers[shared.base] =
        (greg_t)(shared.value + ((uintptr_t)&shared.page - KI_USER_SHARED_DATA));
    registers[REG_EFL] |= TRAP_FLAG;
    return true;
}

bool shared_data_end(void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    uint64_t now;

    if (!shared.is_pending)
        return false;
    now = (uint64_t)registers[shared.base];
    registers[shared.base] = (greg_t)((now & ~shared.kept) | (shared.value & shared.kept));
    registers[REG_EFL] &= ~TRAP_FLAG;
    shared.is_pending = false;
    return true;
}

#endif
