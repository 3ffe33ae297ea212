/*
 * Runtime: functions that the compiler and the headers call.
 */
#include "nt/area.h"
#include "nt/machine/direct.h"

/* rax says how much stack the caller is about to take: every page of it is touched, from above. */
#if defined(__x86_64__) && defined(__linux__)
void nt_check_stack(void) __attribute__((visibility("hidden")));
/* clang-format off */
__asm__(
    ".text\n.hidden nt_check_stack\n.globl nt_check_stack\n.type nt_check_stack, @function\n"
    "nt_check_stack:\n"
    "  pushq %rcx\n  pushq %rax\n"
    "  leaq 24(%rsp), %rcx\n"
    "1: cmpq $4096, %rax\n"
    "  jb 2f\n"
    "  subq $4096, %rcx\n"
    "  testq %rcx, (%rcx)\n"
    "  subq $4096, %rax\n"
    "  jmp 1b\n"
    "2: subq %rax, %rcx\n"
    "  testq %rcx, (%rcx)\n"
    "  popq %rax\n  popq %rcx\n"
    "  ret\n"
    ".globl nt_check_stack_end\n.hidden nt_check_stack_end\nnt_check_stack_end:\n"
    ".size nt_check_stack, . - nt_check_stack\n");
/* clang-format on */

extern const char nt_check_stack_end[] __attribute__((visibility("hidden")));
#endif

bool direct_is_probe(uint64_t address)
{
#if defined(__x86_64__) && defined(__linux__)
    return address >= (uintptr_t)nt_check_stack && address < (uintptr_t)nt_check_stack_end;
#else
    return false;
#endif
}

static const struct nt_export services[] = {
#if defined(__x86_64__) && defined(__linux__)
    NT_DIRECT("memcpy", direct_copy),
    NT_DIRECT("RtlCopyMemory", direct_copy),
    NT_DIRECT("memmove", direct_move),
    NT_DIRECT("RtlMoveMemory", direct_move),
    NT_DIRECT("memset", direct_set),
    NT_DIRECT("memcmp", direct_compare),
    NT_DIRECT("__chkstk", nt_check_stack),
#endif
    {0},
};

const struct nt_area nt_runtime_area = {.exports = services};
