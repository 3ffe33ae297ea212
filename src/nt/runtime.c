/*
 * Runtime: what the compiler and the headers make calls of. The image has a convention of its own, so the
 * functions of the C library stand behind one of the same work each.
 */
#include "nt/exports.h"

#include <ntdef.h>

#include <string.h>

static void *NTAPI copy(void *destination, const void *source, SIZE_T bytes)
{
    return memcpy(destination, source, bytes);
}

static void *NTAPI move(void *destination, const void *source, SIZE_T bytes)
{
    return memmove(destination, source, bytes);
}

static void *NTAPI set(void *destination, int fill, SIZE_T bytes)
{
    return memset(destination, fill, bytes);
}

static int NTAPI compare(const void *first, const void *second, SIZE_T bytes)
{
    return memcmp(first, second, bytes);
}

/* rax says how much stack the caller is about to take: every page of it is touched, from above. */
#if defined(__x86_64__)
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
    ".size nt_check_stack, . - nt_check_stack\n");
/* clang-format on */
#endif

const struct nt_export nt_runtime_exports[] = {
    NT_DIRECT("memcpy", copy),
    NT_DIRECT("RtlCopyMemory", copy),
    NT_DIRECT("memmove", move),
    NT_DIRECT("RtlMoveMemory", move),
    NT_DIRECT("memset", set),
    NT_DIRECT("memcmp", compare),
#if defined(__x86_64__)
    NT_DIRECT("__chkstk", nt_check_stack),
#endif
    {0},
};
