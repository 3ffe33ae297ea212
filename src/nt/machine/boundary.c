/*
 * Boundary: two stacks for each thread, and the code that passes from one to the other.
 *
 * All boundaries share one processor: the bench has one thread of the host. The boundary that runs
 * on it is found without an argument, because the code below is reached from code that has none to
 * give.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS, REG_RIP */
#include "nt/machine/boundary.h"

#include "nt/machine/boundary_thunks.h"

#include "base/assert.h"
#include "base/bits.h"
#include "base/list.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAS_FIBERS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_FIBERS 1
#endif
#endif
#ifdef HAS_FIBERS
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#define BENCH_STACK      (512u * 1024)             /* of a thread's; untouched pages cost nothing */
#define ARGUMENT_BYTES   (8u * BOUNDARY_ARGUMENTS) /* of the first call, above the counted bytes */
#define MOST_FIRST_STACK (UINT64_C(256) << 20)     /* where there is no limit */
#define HAS_GS_BASE      2u                        /* of AT_HWCAP2: RDGSBASE and its like */
#define FRESH_STACK      0xa5                      /* bytes that nobody has written to */

/* Shared by the code of this file and the assembly, which knows the offsets. */
struct processor {
    uint64_t kernel_sp;         /* 0: where the next entry begins */
    uint64_t bench_sp;          /* 8: where the next service begins */
    struct boundary_call *call; /* 16: the innermost service */
};

struct boundary_thread {
    struct boundary *boundary;
    struct list link;
    struct processor processor; /* while another one runs */
    uint64_t switched_sp;       /* the same */
    void (*function)(void *argument);
    void *argument;
    uint8_t *kernel_stack; /* the mapping: a page, the stack, a page of slack, a page */
    uint8_t *bench_stack;  /* NULL: the process's own */
#ifdef HAS_FIBERS
    void *fake_stack;
    const void *bench_bottom;
    size_t bench_bytes;
#endif
};

struct boundary {
    const struct base_services *services;
    void (*broken)(void *context, const struct boundary_breach *breach);
    void *broken_context;
    struct boundary_thunks thunks;
    struct list threads;
    struct boundary_thread *current;
    struct boundary_thread first;
    uint64_t anchor; /* on the first thread's stack of the bench */
    size_t deepest;  /* of threads that are gone */
};

/* The layout is known to the assembly. */
_Static_assert(offsetof(struct processor, bench_sp) == 8 && offsetof(struct processor, call) == 16,
               "known to the assembly");
_Static_assert(offsetof(struct boundary_call, outer) == 240 &&
                   offsetof(struct boundary_call, outer_kernel_sp) == 248 &&
                   offsetof(struct boundary_call, kernel_sp) == 256 &&
                   offsetof(struct boundary_call, function) == 264 &&
                   offsetof(struct boundary_call, note) == 272 &&
                   offsetof(struct boundary_call, arguments) == 280 &&
                   sizeof(struct boundary_call) == 320,
               "known to the assembly");
_Static_assert(offsetof(struct boundary_state, rip) == 128 &&
                   offsetof(struct boundary_state, flags) == 136 &&
                   offsetof(struct boundary_state, vector) == 144 &&
                   offsetof(struct boundary_state, mxcsr) == 400,
               "known to the assembly");
_Static_assert(offsetof(struct boundary_registers, rsp) == 64 &&
                   offsetof(struct boundary_registers, xmm) == 80 &&
                   sizeof(struct boundary_registers) == 240,
               "known to the assembly");
_Static_assert(BOUNDARY_ARGUMENTS == 16, "known to the assembly");

struct processor boundary_processor __attribute__((visibility("hidden")));
static struct boundary *alive;

void boundary_enter(void) __attribute__((visibility("hidden")));
void boundary_leave(void) __attribute__((visibility("hidden")));
void boundary_swap(uint64_t *out_sp, uint64_t sp) __attribute__((visibility("hidden")));
void boundary_load(const struct boundary_registers *registers, uint64_t rax)
    __attribute__((visibility("hidden"), noreturn));
void boundary_load_all(const struct boundary_state *state)
    __attribute__((visibility("hidden"), noreturn));
extern const char boundary_returned[] __attribute__((visibility("hidden")));
struct returned;
struct entered;
void boundary_report_return(const struct returned *returned, const struct entered *entered)
    __attribute__((visibility("hidden"), used));
void boundary_report_call(const struct boundary_call *call, uint64_t flags)
    __attribute__((visibility("hidden"), used));
/* Programs may read and write the base of GS. */
bool boundary_has_gs __attribute__((visibility("hidden")));

#if defined(__x86_64__) && defined(__linux__)
#include <sys/auxv.h>

#define HAS_BOUNDARY 1
/* clang-format off */
__asm__(
    ".text\n"
    /*
     * From a stack of the bench to the kernel stack. r10: the function of the image. Registers that
     * the image has to preserve are set to one value, which is there again when it returns. The x87
     * stack begins one register further each time: an MMX instruction sets it back to 0. Where
     * anything differs, boundary_report_return() tells what, and makes the rest good.
     */
    ".hidden boundary_enter\n.globl boundary_enter\n.type boundary_enter, @function\n"
    "boundary_enter:\n"
    "  pushq %rbp\n  movq %rsp, %rbp\n"
    "  pushq %rbx\n  pushq %rsi\n  pushq %rdi\n"
    "  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  pushq 0+boundary_processor(%rip)\n"
    "  pushq 8+boundary_processor(%rip)\n"
    "  pushq 16+boundary_processor(%rip)\n"
    "  subq $208, %rsp\n"
    "  movaps %xmm6, (%rsp)\n    movaps %xmm7, 16(%rsp)\n   movaps %xmm8, 32(%rsp)\n"
    "  movaps %xmm9, 48(%rsp)\n  movaps %xmm10, 64(%rsp)\n  movaps %xmm11, 80(%rsp)\n"
    "  movaps %xmm12, 96(%rsp)\n movaps %xmm13, 112(%rsp)\n movaps %xmm14, 128(%rsp)\n"
    "  movaps %xmm15, 144(%rsp)\n"
    "  stmxcsr 160(%rsp)\n"
    "  fnstcw 168(%rsp)\n  fincstp\n  fnstsw 172(%rsp)\n"
    "  cmpb $0, boundary_has_gs(%rip)\n  je 1f\n"
    "  rdgsbase %rax\n  movq %rax, 176(%rsp)\n"
    "1: movq %r10, 192(%rsp)\n"
    "  movaps boundary_mark(%rip), %xmm6\n"
    "  movaps %xmm6, %xmm7\n   movaps %xmm6, %xmm8\n   movaps %xmm6, %xmm9\n"
    "  movaps %xmm6, %xmm10\n  movaps %xmm6, %xmm11\n  movaps %xmm6, %xmm12\n"
    "  movaps %xmm6, %xmm13\n  movaps %xmm6, %xmm14\n  movaps %xmm6, %xmm15\n"
    "  movq 0+boundary_processor(%rip), %rax\n"
    "  andq $-16, %rax\n"
    "  subq $128, %rax\n"
    "  xorl %ebx, %ebx\n"
    "1: movq 48(%rbp,%rbx,8), %rsi\n"
    "  movq %rsi, 32(%rax,%rbx,8)\n"
    "  incl %ebx\n  cmpl $12, %ebx\n  jne 1b\n"
    "  movq %rsp, 8+boundary_processor(%rip)\n"
    "  movq %rax, %rsp\n"
    "  movq boundary_mark(%rip), %rbx\n"
    "  movq %rbx, %rbp\n  movq %rbx, %rsi\n  movq %rbx, %rdi\n"
    "  movq %rbx, %r12\n  movq %rbx, %r13\n  movq %rbx, %r14\n  movq %rbx, %r15\n"
    "  cld\n"
    "  call *%r10\n"
    ".hidden boundary_returned\n.globl boundary_returned\nboundary_returned:\n"
    "  movq 8+boundary_processor(%rip), %rsp\n"
    "  pushfq\n  popq %rdx\n  cld\n"
    "  movq boundary_mark(%rip), %r11\n"
    "  movl %edx, %r8d\n   andl $0x400, %r8d\n"
    "  movq %rbx, %r9\n    xorq %r11, %r9\n   orq %r9, %r8\n"
    "  movq %rbp, %r9\n    xorq %r11, %r9\n   orq %r9, %r8\n"
    "  movq %rsi, %r9\n    xorq %r11, %r9\n   orq %r9, %r8\n"
    "  movq %rdi, %r9\n    xorq %r11, %r9\n   orq %r9, %r8\n"
    "  movq %r12, %r9\n    xorq %r11, %r9\n   orq %r9, %r8\n"
    "  movq %r13, %r9\n    xorq %r11, %r9\n   orq %r9, %r8\n"
    "  movq %r14, %r9\n    xorq %r11, %r9\n   orq %r9, %r8\n"
    "  movq %r15, %r9\n    xorq %r11, %r9\n   orq %r9, %r8\n"
    /* The control bits of MXCSR are preserved, its flags are not. */
    "  stmxcsr 164(%rsp)\n"
    "  movl 164(%rsp), %ecx\n xorl 160(%rsp), %ecx\n andl $0xffc0, %ecx\n orq %rcx, %r8\n"
    "  fnstcw 170(%rsp)\n  fnstsw 174(%rsp)\n"
    "  movzwl 170(%rsp), %ecx\n xorw 168(%rsp), %cx\n orq %rcx, %r8\n"
    "  movzwl 174(%rsp), %ecx\n xorw 172(%rsp), %cx\n andl $0x3800, %ecx\n orq %rcx, %r8\n"
    "  cmpb $0, boundary_has_gs(%rip)\n  je 1f\n"
    "  rdgsbase %rcx\n  movq %rcx, 184(%rsp)\n"
    "  xorq 176(%rsp), %rcx\n  orq %rcx, %r8\n"
    "1: movaps boundary_mark(%rip), %xmm5\n"
    "  movaps %xmm6, %xmm4\n  pxor %xmm5, %xmm4\n"
    "  movaps %xmm7, %xmm3\n  pxor %xmm5, %xmm3\n  por %xmm3, %xmm4\n"
    "  movaps %xmm8, %xmm3\n  pxor %xmm5, %xmm3\n  por %xmm3, %xmm4\n"
    "  movaps %xmm9, %xmm3\n  pxor %xmm5, %xmm3\n  por %xmm3, %xmm4\n"
    "  movaps %xmm10, %xmm3\n pxor %xmm5, %xmm3\n  por %xmm3, %xmm4\n"
    "  movaps %xmm11, %xmm3\n pxor %xmm5, %xmm3\n  por %xmm3, %xmm4\n"
    "  movaps %xmm12, %xmm3\n pxor %xmm5, %xmm3\n  por %xmm3, %xmm4\n"
    "  movaps %xmm13, %xmm3\n pxor %xmm5, %xmm3\n  por %xmm3, %xmm4\n"
    "  movaps %xmm14, %xmm3\n pxor %xmm5, %xmm3\n  por %xmm3, %xmm4\n"
    "  movaps %xmm15, %xmm3\n pxor %xmm5, %xmm3\n  por %xmm3, %xmm4\n"
    "  pxor %xmm3, %xmm3\n  pcmpeqb %xmm3, %xmm4\n  pmovmskb %xmm4, %ecx\n"
    "  xorl $0xffff, %ecx\n  orq %rcx, %r8\n"
    "  jne 2f\n"
    "3: fdecstp\n"
    "  movaps (%rsp), %xmm6\n    movaps 16(%rsp), %xmm7\n   movaps 32(%rsp), %xmm8\n"
    "  movaps 48(%rsp), %xmm9\n  movaps 64(%rsp), %xmm10\n  movaps 80(%rsp), %xmm11\n"
    "  movaps 96(%rsp), %xmm12\n movaps 112(%rsp), %xmm13\n movaps 128(%rsp), %xmm14\n"
    "  movaps 144(%rsp), %xmm15\n"
    "  addq $208, %rsp\n"
    "  popq 16+boundary_processor(%rip)\n"
    "  popq 8+boundary_processor(%rip)\n"
    "  popq 0+boundary_processor(%rip)\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n"
    "  popq %rdi\n  popq %rsi\n  popq %rbx\n  popq %rbp\n"
    "  ret\n"
    "2: subq $256, %rsp\n"
    "  movq %rax, (%rsp)\n    movq %rdx, 8(%rsp)\n    movaps %xmm0, 16(%rsp)\n"
    "  movq %rbx, 32(%rsp)\n  movq %rbp, 40(%rsp)\n  movq %rsi, 48(%rsp)\n"
    "  movq %rdi, 56(%rsp)\n  movq %r12, 64(%rsp)\n  movq %r13, 72(%rsp)\n"
    "  movq %r14, 80(%rsp)\n  movq %r15, 88(%rsp)\n"
    "  movaps %xmm6, 96(%rsp)\n   movaps %xmm7, 112(%rsp)\n  movaps %xmm8, 128(%rsp)\n"
    "  movaps %xmm9, 144(%rsp)\n  movaps %xmm10, 160(%rsp)\n movaps %xmm11, 176(%rsp)\n"
    "  movaps %xmm12, 192(%rsp)\n movaps %xmm13, 208(%rsp)\n movaps %xmm14, 224(%rsp)\n"
    "  movaps %xmm15, 240(%rsp)\n"
    "  movq %rsp, %rdi\n  leaq 416(%rsp), %rsi\n"
    "  call boundary_report_return\n"
    "  movq (%rsp), %rax\n  movaps 16(%rsp), %xmm0\n"
    "  addq $256, %rsp\n"
    "  jmp 3b\n"
    ".size boundary_enter, . - boundary_enter\n"

    /*
     * From the kernel stack to the bench's, above the part in use there. r10: the function of the
     * bench.
     */
    ".hidden boundary_leave\n.globl boundary_leave\n.type boundary_leave, @function\n"
    "boundary_leave:\n"
    "  movq %rsp, %rax\n"
    "  movq 8+boundary_processor(%rip), %rsp\n"
    "  subq $320, %rsp\n"
    "  movq %rbx, (%rsp)\n   movq %rbp, 8(%rsp)\n  movq %rsi, 16(%rsp)\n  movq %rdi, 24(%rsp)\n"
    "  movq %r12, 32(%rsp)\n movq %r13, 40(%rsp)\n movq %r14, 48(%rsp)\n  movq %r15, 56(%rsp)\n"
    "  leaq 8(%rax), %r11\n  movq %r11, 64(%rsp)\n"
    "  movq (%rax), %r11\n   movq %r11, 72(%rsp)\n"
    "  movaps %xmm6, 80(%rsp)\n   movaps %xmm7, 96(%rsp)\n   movaps %xmm8, 112(%rsp)\n"
    "  movaps %xmm9, 128(%rsp)\n  movaps %xmm10, 144(%rsp)\n movaps %xmm11, 160(%rsp)\n"
    "  movaps %xmm12, 176(%rsp)\n movaps %xmm13, 192(%rsp)\n movaps %xmm14, 208(%rsp)\n"
    "  movaps %xmm15, 224(%rsp)\n"
    "  movq 16+boundary_processor(%rip), %r11\n  movq %r11, 240(%rsp)\n"
    "  movq 0+boundary_processor(%rip), %r11\n   movq %r11, 248(%rsp)\n"
    "  movq %rax, 256(%rsp)\n"
    "  movq %r10, 264(%rsp)\n"
    "  movq $0, 272(%rsp)\n"
    "  movq %rcx, 280(%rsp)\n movq %rdx, 288(%rsp)\n movq %r8, 296(%rsp)\n movq %r9, 304(%rsp)\n"
    "  movq %rsp, 16+boundary_processor(%rip)\n"
    "  movq %rax, 0+boundary_processor(%rip)\n"
    "  movq %rsp, %rbx\n"
    "  pushfq\n  popq %rsi\n  cld\n"
    "  andl $0x400, %esi\n"
    "  leal 8(%rax), %edi\n  andl $15, %edi\n  orl %esi, %edi\n  jne 2f\n"
    "3:\n"
    "  subq $128, %rsp\n"
    "  xorl %esi, %esi\n"
    "1: movq 40(%rax,%rsi,8), %rdi\n"
    "  movq %rdi, 32(%rsp,%rsi,8)\n"
    "  incl %esi\n  cmpl $12, %esi\n  jne 1b\n"
    "  call *%r10\n"
    "  movq %rbx, %rsp\n"
    "  movq 240(%rsp), %r11\n  movq %r11, 16+boundary_processor(%rip)\n"
    "  movq 248(%rsp), %r11\n  movq %r11, 0+boundary_processor(%rip)\n"
    "  movq 8(%rsp), %rbp\n  movq 16(%rsp), %rsi\n  movq 24(%rsp), %rdi\n"
    "  movq (%rsp), %rbx\n"
    "  movq 256(%rsp), %rsp\n"
    "  ret\n"
    /* rbx: the call. Arguments may be in vector registers, too. */
    "2: subq $64, %rsp\n"
    "  movaps %xmm0, (%rsp)\n   movaps %xmm1, 16(%rsp)\n"
    "  movaps %xmm2, 32(%rsp)\n movaps %xmm3, 48(%rsp)\n"
    "  movq %rbx, %rdi\n"
    "  call boundary_report_call\n"
    "  movaps (%rsp), %xmm0\n   movaps 16(%rsp), %xmm1\n"
    "  movaps 32(%rsp), %xmm2\n movaps 48(%rsp), %xmm3\n"
    "  movq %rbx, %rsp\n"
    "  movq 256(%rsp), %rax\n  movq 264(%rsp), %r10\n"
    "  movq 280(%rsp), %rcx\n  movq 288(%rsp), %rdx\n"
    "  movq 296(%rsp), %r8\n   movq 304(%rsp), %r9\n"
    "  jmp 3b\n"
    ".size boundary_leave, . - boundary_leave\n"

    /* From one stack of the bench to another, in the convention of the bench. */
    ".hidden boundary_swap\n.globl boundary_swap\n.type boundary_swap, @function\n"
    "boundary_swap:\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  subq $32, %rsp\n  fnstenv (%rsp)\n  stmxcsr 28(%rsp)\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  fldenv (%rsp)\n  ldmxcsr 28(%rsp)\n  addq $32, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
    "  ret\n"
    ".size boundary_swap, . - boundary_swap\n"

    /* Goes on in the image with registers (rdi) and rax (rsi). */
    ".hidden boundary_load\n.globl boundary_load\n.type boundary_load, @function\n"
    "boundary_load:\n"
    "  movq %rsi, %rax\n  movq %rdi, %r11\n"
    "  movups 80(%r11), %xmm6\n   movups 96(%r11), %xmm7\n   movups 112(%r11), %xmm8\n"
    "  movups 128(%r11), %xmm9\n  movups 144(%r11), %xmm10\n movups 160(%r11), %xmm11\n"
    "  movups 176(%r11), %xmm12\n movups 192(%r11), %xmm13\n movups 208(%r11), %xmm14\n"
    "  movups 224(%r11), %xmm15\n"
    "  movq (%r11), %rbx\n   movq 8(%r11), %rbp\n  movq 16(%r11), %rsi\n  movq 24(%r11), %rdi\n"
    "  movq 32(%r11), %r12\n movq 40(%r11), %r13\n movq 48(%r11), %r14\n  movq 56(%r11), %r15\n"
    "  movq 64(%r11), %rsp\n"
    "  jmpq *72(%r11)\n"
    ".size boundary_load, . - boundary_load\n"

    /* Goes on with all registers (rdi). */
    ".hidden boundary_load_all\n.globl boundary_load_all\n"
    ".type boundary_load_all, @function\n"
    "boundary_load_all:\n"
    "  movups 144(%rdi), %xmm0\n   movups 160(%rdi), %xmm1\n  movups 176(%rdi), %xmm2\n"
    "  movups 192(%rdi), %xmm3\n   movups 208(%rdi), %xmm4\n  movups 224(%rdi), %xmm5\n"
    "  movups 240(%rdi), %xmm6\n   movups 256(%rdi), %xmm7\n  movups 272(%rdi), %xmm8\n"
    "  movups 288(%rdi), %xmm9\n   movups 304(%rdi), %xmm10\n movups 320(%rdi), %xmm11\n"
    "  movups 336(%rdi), %xmm12\n  movups 352(%rdi), %xmm13\n movups 368(%rdi), %xmm14\n"
    "  movups 384(%rdi), %xmm15\n"
    "  ldmxcsr 400(%rdi)\n"
    "  subq $40, %rsp\n"
    "  movq 128(%rdi), %rax\n movq %rax, (%rsp)\n"
    "  movq %cs, %rax\n       movq %rax, 8(%rsp)\n"
    "  movq 136(%rdi), %rax\n movq %rax, 16(%rsp)\n"
    "  movq 32(%rdi), %rax\n  movq %rax, 24(%rsp)\n"
    "  movq %ss, %rax\n       movq %rax, 32(%rsp)\n"
    "  movq (%rdi), %rax\n    movq 8(%rdi), %rcx\n   movq 16(%rdi), %rdx\n"
    "  movq 24(%rdi), %rbx\n  movq 40(%rdi), %rbp\n  movq 48(%rdi), %rsi\n"
    "  movq 64(%rdi), %r8\n   movq 72(%rdi), %r9\n   movq 80(%rdi), %r10\n"
    "  movq 88(%rdi), %r11\n  movq 96(%rdi), %r12\n  movq 104(%rdi), %r13\n"
    "  movq 112(%rdi), %r14\n movq 120(%rdi), %r15\n"
    "  movq 56(%rdi), %rdi\n"
    "  iretq\n"
    ".size boundary_load_all, . - boundary_load_all\n"

    ".section .rodata\n.balign 16\n"
    "boundary_mark: .quad 0x5f9d3a6b7c41e820, 0x5f9d3a6b7c41e820\n"
    ".text\n");
/* clang-format on */
#endif

/* ---- What the convention wants --------------------------------------------------------------- */

#define MARK           UINT64_C(0x5f9d3a6b7c41e820) /* boundary_mark */
#define DIRECTION_FLAG 0x400
#define STACK_TOP      0x3800 /* of the x87 status word */
#define MXCSR_CONTROL  0xffc0

static void tell_breach(enum boundary_rule rule, unsigned number, const void *function,
                        uint64_t before, uint64_t after)
{
    if (alive->broken)
        alive->broken(alive->broken_context,
                      &(struct boundary_breach){rule, number, function, before, after});
}

/* Of boundary_enter(): registers as the image left them ... */
struct returned {
    uint64_t rax, flags;
    uint8_t xmm0[16];
    uint64_t general[8]; /* rbx, rbp, rsi, rdi, r12 to r15 */
    uint64_t vector[10][2];
};

/* ... and the end of its frame, from MXCSR on. */
struct entered {
    uint32_t mxcsr, mxcsr_after;
    uint16_t control, control_after, status, status_after;
    uint64_t gs_base, gs_base_after;
    const void *function;
};

_Static_assert(sizeof(struct returned) == 256 && offsetof(struct returned, general) == 32 &&
                   offsetof(struct returned, vector) == 96 &&
                   offsetof(struct entered, control) == 8 &&
                   offsetof(struct entered, gs_base) == 16 &&
                   offsetof(struct entered, function) == 32,
               "known to the assembly");

static void tell_general(const struct returned *returned, const void *function)
{
    static const unsigned numbers[] = {3, 5, 6, 7, 12, 13, 14, 15};

    for (size_t i = 0; i < ARRAY_COUNT(numbers); i++) {
        if (returned->general[i] != MARK)
            tell_breach(BOUNDARY_GENERAL, numbers[i], function, MARK, returned->general[i]);
    }
    for (unsigned i = 0; i < 10; i++) {
        for (unsigned half = 0; half < 2; half++) {
            if (returned->vector[i][half] == MARK)
                continue;
            tell_breach(BOUNDARY_VECTOR, 6 + i, function, MARK, returned->vector[i][half]);
            break;
        }
    }
}

#ifdef HAS_BOUNDARY
/* As FNSTENV stores it in 64-bit mode, for 32 bits. */
struct float_environment {
    uint32_t control, status, tags, others[4];
};

/* An MMX or x87 register in use is not empty: its two bits of the tags are not 3. */
static void look_at_float(const struct entered *entered)
{
    struct float_environment environment;
    bool is_used;

    __asm__ volatile("fnstenv %0" : "=m"(environment));
    is_used = (environment.tags & 0xffff) != 0xffff;
    if (entered->control != entered->control_after)
        tell_breach(BOUNDARY_X87_CONTROL, 0, entered->function, entered->control,
                    entered->control_after);
    if (is_used)
        tell_breach(BOUNDARY_X87_STACK, 0, entered->function, 0xffff, environment.tags & 0xffff);
    environment.control = entered->control;
    environment.status = entered->status & STACK_TOP;
    environment.tags = 0xffff;
    __asm__ volatile("fldenv %0" : : "m"(environment));
}

void boundary_report_return(const struct returned *returned, const struct entered *entered)
{
    tell_general(returned, entered->function);
    if (returned->flags & DIRECTION_FLAG)
        tell_breach(BOUNDARY_DIRECTION, 0, entered->function, 0, 1);
    if ((entered->mxcsr ^ entered->mxcsr_after) & MXCSR_CONTROL)
        tell_breach(BOUNDARY_MXCSR, 0, entered->function, entered->mxcsr, entered->mxcsr_after);
    __asm__ volatile("ldmxcsr %0" : : "m"(entered->mxcsr));
    look_at_float(entered);
    if (!boundary_has_gs || entered->gs_base == entered->gs_base_after)
        return;
    __asm__ volatile("wrgsbase %0" : : "r"(entered->gs_base));
    tell_breach(BOUNDARY_GS_BASE, 0, entered->function, entered->gs_base, entered->gs_base_after);
}

void boundary_report_call(const struct boundary_call *call, uint64_t flags)
{
    if (call->registers.rsp % 16)
        tell_breach(BOUNDARY_STACK, 4, call->function, call->registers.rsp & ~UINT64_C(15),
                    call->registers.rsp);
    if (flags & DIRECTION_FLAG)
        tell_breach(BOUNDARY_CALL_DIRECTION, 0, call->function, 0, 1);
}

/* For a thread that has not run: as it is here. */
static void save_float_state(uint8_t out[32])
{
    struct float_environment environment;
    uint32_t mxcsr;

    __asm__ volatile("fnstenv %0\n fldenv %0" : "=m"(environment));
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    memcpy(out, &environment, sizeof environment);
    memcpy(out + sizeof environment, &mxcsr, sizeof mxcsr);
}
#else
static void save_float_state(uint8_t out[32])
{
    memset(out, 0, 32);
}
#endif

/* ---- Stacks ---------------------------------------------------------------------------------- */

#define KERNEL_MAPPING (PAGE_BYTES + BOUNDARY_KERNEL_STACK + 2 * PAGE_BYTES)
#define BENCH_MAPPING  (PAGE_BYTES + BENCH_STACK)

static uint8_t *map_stack(size_t mapping, size_t bytes)
{
    uint8_t *stack =
        mmap(NULL, mapping, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (stack == MAP_FAILED)
        return NULL;
    if (mprotect(stack + PAGE_BYTES, bytes, PROT_READ | PROT_WRITE) == 0)
        return stack;
    munmap(stack, mapping);
    return NULL;
}

static uint64_t kernel_stack_end(const struct boundary_thread *thread)
{
    return (uint64_t)(uintptr_t)thread->kernel_stack + PAGE_BYTES + BOUNDARY_KERNEL_STACK;
}

/*
 * Where the first call of the thread into the image finds the stack: a thread of the driver's has
 * all of it.
 */
static uint64_t first_kernel_sp(const struct boundary_thread *thread)
{
    bool calls_ddis = thread == &thread->boundary->first;

    return kernel_stack_end(thread) + ARGUMENT_BYTES - (calls_ddis ? BOUNDARY_KERNEL_FRAMES : 0);
}

static bool thread_init(struct boundary_thread *thread, struct boundary *boundary)
{
    thread->boundary = boundary;
    thread->kernel_stack = map_stack(KERNEL_MAPPING, BOUNDARY_KERNEL_STACK + PAGE_BYTES);
    if (!thread->kernel_stack)
        return false;
    memset(thread->kernel_stack + PAGE_BYTES, FRESH_STACK, BOUNDARY_KERNEL_STACK);
    thread->processor = (struct processor){.kernel_sp = first_kernel_sp(thread)};
    list_push_back(&boundary->threads, &thread->link);
    return true;
}

static size_t depth_of(const struct boundary_thread *thread)
{
    const uint8_t *stack = thread->kernel_stack + PAGE_BYTES;
    size_t untouched = 0;

    while (untouched < BOUNDARY_KERNEL_STACK && stack[untouched] == FRESH_STACK)
        untouched++;
    return BOUNDARY_KERNEL_STACK - untouched;
}

static void thread_fini(struct boundary_thread *thread)
{
    if (!thread->kernel_stack)
        return;
    thread->boundary->deepest = max_u64(thread->boundary->deepest, depth_of(thread));
    list_remove(&thread->link);
    munmap(thread->kernel_stack, KERNEL_MAPPING);
    if (thread->bench_stack) {
#ifdef HAS_FIBERS
        /* Frames that were never left have marked it, and the next mapping may lie here. */
        __asan_unpoison_memory_region(thread->bench_stack, BENCH_MAPPING);
#endif
        munmap(thread->bench_stack, BENCH_MAPPING);
    }
}

size_t boundary_deepest_stack(const struct boundary *boundary)
{
    const struct boundary_thread *thread;
    size_t deepest = boundary->deepest;

    list_for_each (thread, &boundary->threads, struct boundary_thread, link)
        deepest = max_u64(deepest, depth_of(thread));
    return deepest;
}

bool boundary_is_on_stack(const struct boundary *boundary, uint64_t address)
{
    const struct boundary_thread *thread = boundary->current;

    return address < kernel_stack_end(thread) + PAGE_BYTES &&
           address >= kernel_stack_end(thread) - BOUNDARY_KERNEL_STACK;
}

bool boundary_is_beyond_stack(const struct boundary *boundary, uint64_t address)
{
    uint64_t start = kernel_stack_end(boundary->current) - BOUNDARY_KERNEL_STACK;

    return address >= start - PAGE_BYTES && address < start;
}

/* The process's own stack grows as it is used, up to its limit. */
static bool is_on_first_stack(const struct boundary *boundary, uint64_t address)
{
    struct rlimit limit;
    uint64_t most = MOST_FIRST_STACK;

    if (getrlimit(RLIMIT_STACK, &limit) == 0)
        most = min_u64(limit.rlim_cur, most);
    return address < boundary->anchor + most && address + most > boundary->anchor;
}

bool boundary_is_on_bench_stack(const struct boundary *boundary, uint64_t address)
{
    const struct boundary_thread *thread = boundary->current;
    stack_t handlers;

    if (sigaltstack(NULL, &handlers) == 0 && address - (uintptr_t)handlers.ss_sp < handlers.ss_size)
        return true;
    return thread->bench_stack ? address - (uintptr_t)thread->bench_stack < BENCH_MAPPING
                               : is_on_first_stack(boundary, address);
}

/* ---- Threads --------------------------------------------------------------------------------- */

/* The sanitizer has to know of a switch. */
static void before_switch(struct boundary_thread *from, const struct boundary_thread *to)
{
#ifdef HAS_FIBERS
    __sanitizer_start_switch_fiber(&from->fake_stack, to->bench_bottom, to->bench_bytes);
#else
    (void)from;
    (void)to;
#endif
}

static void after_switch(struct boundary_thread *now, struct boundary_thread *before)
{
#ifdef HAS_FIBERS
    const void **bottom = before ? &before->bench_bottom : NULL;
    size_t *bytes = before ? &before->bench_bytes : NULL;

    __sanitizer_finish_switch_fiber(now->fake_stack, bottom, bytes);
#else
    (void)now;
    (void)before;
#endif
}

static struct boundary_thread *switched_from;

static void thread_main(void)
{
    struct boundary_thread *thread = alive->current;

    after_switch(thread, switched_from);
    thread->function(thread->argument);
    ASSERT(!"a thread's function returned");
    __builtin_trap();
}

struct boundary_thread *boundary_thread_create(struct boundary *boundary,
                                               void (*function)(void *argument), void *argument)
{
    struct boundary_thread *thread = base_alloc(boundary->services, sizeof *thread);
    uint64_t *top;

    if (!thread)
        return NULL;
    thread->bench_stack = map_stack(BENCH_MAPPING, BENCH_STACK);
    if (!thread->bench_stack)
        goto free_thread;
    if (!thread_init(thread, boundary))
        goto free_stack;
    thread->function = function;
    thread->argument = argument;
#ifdef HAS_FIBERS
    thread->bench_bottom = thread->bench_stack + PAGE_BYTES;
    thread->bench_bytes = BENCH_STACK;
#endif
    /*
     * boundary_swap() takes the state of the floating-point units, six registers and an address to
     * go to from a stack. Aligned as in a call.
     */
    top = (uint64_t *)(void *)(thread->bench_stack + BENCH_MAPPING - PAGE_BYTES);
    top[-1] = 0;
    top[-2] = (uint64_t)(uintptr_t)thread_main;
    memset(top - 8, 0, 6 * sizeof *top);
    save_float_state((uint8_t *)(top - 12));
    thread->switched_sp = (uint64_t)(uintptr_t)(top - 12);
    return thread;

free_stack:
    munmap(thread->bench_stack, BENCH_MAPPING);
free_thread:
    base_free(boundary->services, thread, sizeof *thread);
    return NULL;
}

void boundary_thread_destroy(struct boundary_thread *thread)
{
    if (!thread)
        return;
    ASSERT(thread != thread->boundary->current && thread != &thread->boundary->first);
    thread_fini(thread);
    base_free(thread->boundary->services, thread, sizeof *thread);
}

struct boundary_thread *boundary_current_thread(const struct boundary *boundary)
{
    return boundary->current;
}

#ifdef HAS_BOUNDARY
void boundary_switch(struct boundary_thread *to)
{
    struct boundary *boundary = to->boundary;
    struct boundary_thread *from = boundary->current;

    if (to == from)
        return;
    from->processor = boundary_processor;
    boundary_processor = to->processor;
    boundary->current = to;
    switched_from = from;
    before_switch(from, to);
    boundary_swap(&from->switched_sp, to->switched_sp);
    after_switch(from, switched_from);
}
#else
void boundary_switch(struct boundary_thread *to)
{
    (void)to;
}
#endif

/* ---- Who called ------------------------------------------------------------------------------ */

struct boundary_registers *boundary_caller(const struct boundary *boundary)
{
    (void)boundary;
    return boundary_processor.call ? &boundary_processor.call->registers : NULL;
}

struct boundary_call *boundary_innermost_call(const struct boundary *boundary)
{
    (void)boundary;
    return boundary_processor.call;
}

/* Behind those in registers, and the room that a caller leaves for them, they lie on its stack. */
uint64_t boundary_argument(const struct boundary_call *call, unsigned index)
{
    uint64_t address = call->registers.rsp + 8ull * index, value;

    if (index < BOUNDARY_REGISTERS)
        return call->arguments[index];
    if (!call->registers.rsp || !boundary_is_on_stack(alive, address) ||
        !boundary_is_on_stack(alive, address + sizeof value - 1))
        return 0;
    memcpy(&value, (const void *)(uintptr_t)address, sizeof value);
    return value;
}

void boundary_drop_call(struct boundary *boundary)
{
    (void)boundary;
    ASSERT(boundary_processor.call->outer);
    boundary_processor.call = boundary_processor.call->outer;
    boundary_processor.kernel_sp = boundary_processor.call->kernel_sp;
}

#ifdef HAS_BOUNDARY
bool boundary_is_return(uint64_t address)
{
    return address == (uintptr_t)boundary_returned;
}

/* As if these calls, and the calls in them, had returned. */
static void give_up_calls(uint64_t rsp)
{
    while (boundary_processor.call && boundary_processor.call->registers.rsp <= rsp) {
        const struct boundary_call *call = boundary_processor.call;

        boundary_processor.kernel_sp = call->outer_kernel_sp;
        boundary_processor.bench_sp = (uintptr_t)(call + 1);
        boundary_processor.call = call->outer;
    }
}

void boundary_resume(struct boundary *boundary, const struct boundary_registers *registers,
                     uint64_t rax)
{
    (void)boundary;
    give_up_calls(registers->rsp);
    boundary_load(registers, rax);
}

void boundary_continue(struct boundary *boundary, const struct boundary_state *state)
{
    (void)boundary;
    give_up_calls(state->general[4]);
    boundary_load_all(state);
}

/* ---- Interrupts ------------------------------------------------------------------------------ */

static const int register_places[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                        REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                        REG_R12, REG_R13, REG_R14, REG_R15};

void boundary_state_of_signal(const void *signal, struct boundary_state *out)
{
    const ucontext_t *from = signal;

    memset(out, 0, sizeof *out);
    for (unsigned i = 0; i < 16; i++)
        out->general[i] = (uint64_t)from->uc_mcontext.gregs[register_places[i]];
    out->rip = (uint64_t)from->uc_mcontext.gregs[REG_RIP];
    out->flags = (uint64_t)from->uc_mcontext.gregs[REG_EFL];
    if (!from->uc_mcontext.fpregs)
        return;
    memcpy(out->vector, from->uc_mcontext.fpregs->_xmm, sizeof out->vector);
    out->mxcsr = from->uc_mcontext.fpregs->mxcsr;
}

#define FLAGS_OF_A_CALL                                                                            \
    UINT64_C(0x40500)   /* trap, direction, alignment: off where a function begins */
#define LIVE_BELOW 512u /* of a stack that was interrupted: its red zone and more */

/* The bench's: the image may have gone to that of 32-bit code, by a far jump or "sysenter". */
static greg_t code_segment(void)
{
    uint16_t selector;

    __asm__("movw %%cs, %0" : "=r"(selector));
    return selector;
}

void boundary_interrupt(struct boundary *boundary, void *signal,
                        void (*function)(struct boundary_call *call, const void *data),
                        const void *data, size_t bytes)
{
    greg_t *registers = ((ucontext_t *)signal)->uc_mcontext.gregs;
    uint64_t rsp = (uint64_t)registers[REG_RSP], base = boundary_processor.bench_sp;
    struct boundary_state state;
    bool is_on_kernel_stack =
        boundary_is_on_stack(boundary, rsp) || boundary_is_beyond_stack(boundary, rsp);
    struct boundary_call *call;
    uint8_t *copy;

    boundary_state_of_signal(signal, &state);
    if (!base || (!is_on_kernel_stack && rsp < base && base - rsp < BENCH_STACK))
        base = rsp - LIVE_BELOW;
    call = (struct boundary_call *)(uintptr_t)align_down(base, 16) - 1;
    copy = (uint8_t *)(uintptr_t)align_down((uintptr_t)call - bytes, 16);
    *call = (struct boundary_call){.registers =
                                       boundary_preserved(state.general, state.vector, state.rip),
                                   .outer = boundary_processor.call,
                                   .outer_kernel_sp = boundary_processor.kernel_sp,
                                   .kernel_sp = boundary_processor.kernel_sp};
    if (boundary_is_on_stack(boundary, rsp))
        call->kernel_sp = rsp;
    else if (!is_on_kernel_stack)
        call->registers.rsp = 0; /* the bench was: whatever is gone on with, this is given up */
    memcpy(copy, data, bytes);
    boundary_processor.call = call;
    boundary_processor.kernel_sp = call->kernel_sp;
    boundary_processor.bench_sp = (uintptr_t)copy;
    registers[REG_RIP] = (greg_t)(uintptr_t)function;
    registers[REG_RDI] = (greg_t)(uintptr_t)call;
    registers[REG_RSI] = (greg_t)(uintptr_t)copy;
    registers[REG_RSP] = (greg_t)(uintptr_t)(copy - 8);
    registers[REG_EFL] &= ~(greg_t)FLAGS_OF_A_CALL;
    registers[REG_CSGSFS] = (registers[REG_CSGSFS] & ~(greg_t)0xffff) | code_segment();
    *(uint64_t *)(void *)(copy - 8) = 0;
}
#else /* no image runs here (boundary_create()), so nothing returns to one */
bool boundary_is_return(uint64_t address)
{
    return false;
}

/* No register of x64 is known. */
void boundary_state_of_signal(const void *signal, struct boundary_state *out)
{
    memset(out, 0, sizeof *out);
}

void boundary_resume(struct boundary *boundary, const struct boundary_registers *registers,
                     uint64_t rax)
{
    abort();
}

void boundary_continue(struct boundary *boundary, const struct boundary_state *state)
{
    abort();
}
#endif

/*
 * Behind a longjmp() from the stack of one thread to that of another, which the sanitizer does not
 * see.
 */
static void after_jump(const struct boundary_thread *from, const struct boundary_thread *to)
{
#ifdef HAS_FIBERS
    uintptr_t end = (uintptr_t)__builtin_frame_address(0), start = end - BENCH_STACK;

    if (from == to)
        return;
    __sanitizer_start_switch_fiber(NULL, to->bench_bottom, to->bench_bytes);
    __sanitizer_finish_switch_fiber(to->fake_stack, NULL, NULL);
    /* The part that was below when it was left. */
    start = max_u64(start, (uintptr_t)to->bench_bottom);
    __asan_unpoison_memory_region((const void *)start, end - start);
#else
    (void)from;
    (void)to;
#endif
}

void boundary_abandon(struct boundary *boundary)
{
    after_jump(boundary->current ? boundary->current : &boundary->first, &boundary->first);
    boundary->current = &boundary->first;
    boundary_processor = (struct processor){.kernel_sp = first_kernel_sp(&boundary->first)};
}

/* ---- Thunks ---------------------------------------------------------------------------------- */

#ifdef HAS_BOUNDARY
void *boundary_closure(struct boundary *boundary, uint64_t(NTAPI *function)(void *context),
                       void *context)
{
    return boundary_thunks_closure(&boundary->thunks, (const void *)function,
                                   (const void *)boundary_leave, context);
}

void *boundary_entry(struct boundary *boundary, const void *function)
{
    return boundary_thunks_of(&boundary->thunks, function, (const void *)boundary_enter);
}

void *boundary_service(struct boundary *boundary, const void *function)
{
    return boundary_thunks_of(&boundary->thunks, function, (const void *)boundary_leave);
}
#else
void *boundary_closure(struct boundary *boundary, uint64_t(NTAPI *function)(void *context),
                       void *context)
{
    return NULL;
}

void *boundary_entry(struct boundary *boundary, const void *function)
{
    return NULL;
}

void *boundary_service(struct boundary *boundary, const void *function)
{
    return NULL;
}
#endif

const void *boundary_target(const struct boundary *boundary, const void *thunk)
{
    return boundary_thunks_target(&boundary->thunks, thunk);
}

/* ---- The whole ------------------------------------------------------------------------------- */

struct boundary *
boundary_create(const struct base_services *services,
                void (*broken)(void *context, const struct boundary_breach *breach), void *context)
{
#ifdef HAS_BOUNDARY
    struct boundary *boundary;

    if (alive)
        return NULL;
    boundary = base_alloc(services, sizeof *boundary);
    if (!boundary)
        return NULL;
    boundary->services = services;
    boundary->broken = broken;
    boundary->broken_context = context;
    boundary_has_gs = getauxval(AT_HWCAP2) & HAS_GS_BASE;
    boundary->anchor = (uintptr_t)__builtin_frame_address(0);
    boundary_thunks_init(&boundary->thunks, services);
    list_init(&boundary->threads);
    if (!thread_init(&boundary->first, boundary)) {
        base_free(services, boundary, sizeof *boundary);
        return NULL;
    }
    alive = boundary;
    boundary_abandon(boundary);
    return boundary;
#else
    (void)services;
    return NULL;
#endif
}

void boundary_destroy(struct boundary *boundary)
{
    struct list *node;

    if (!boundary)
        return;
    thread_fini(&boundary->first);
    while ((node = list_first(&boundary->threads)))
        boundary_thread_destroy(container_of(node, struct boundary_thread, link));
    boundary_thunks_fini(&boundary->thunks);
    alive = NULL;
    boundary_processor = (struct processor){0};
    base_free(boundary->services, boundary, sizeof *boundary);
}
