/*
 * Drivers that a compiler made are unwound at every one of their instructions.
 *
 * The entry is called with known values in all registers that a call preserves, and with the trap
 * flag set: after each instruction the handler unwinds from there to the caller of the entry, and
 * compares. Prologs and epilogs of real compilers are covered at each of their places that way.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "image/rig/test_driver.h"
#include "image/unwind.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define MOST_FRAMES 32

/* What image_unwind_step() must arrive at: filled by call_stepping(). */
struct known {
    uint64_t rsp, rip;
    uint64_t general[16];
    uint8_t vector[16][16];
};

struct known known_context;

/* int call_stepping(uint64_t entry, uint64_t argument): known values, the trap flag, the call. */
int call_stepping(uint64_t entry, uint64_t argument);

/* clang-format off */
__asm__(".text\n"
        ".globl call_stepping\n"
        "call_stepping:\n"
        "    pushq %rbx\n    pushq %rbp\n    pushq %r12\n"
        "    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    subq $40, %rsp\n"
        "    movq %rdi, %rax\n"
        "    movq %rsi, %rcx\n"
        "    xorl %edx, %edx\n"
        "    movabsq $0x1111111122222203, %rbx\n"
        "    movabsq $0x1111111122222205, %rbp\n"
        "    movabsq $0x1111111122222206, %rsi\n"
        "    movabsq $0x1111111122222207, %rdi\n"
        "    movabsq $0x111111112222220c, %r12\n"
        "    movabsq $0x111111112222220d, %r13\n"
        "    movabsq $0x111111112222220e, %r14\n"
        "    movabsq $0x111111112222220f, %r15\n"
        "    movq %rbx, known_context+16+24(%rip)\n"
        "    movq %rbp, known_context+16+40(%rip)\n"
        "    movq %rsi, known_context+16+48(%rip)\n"
        "    movq %rdi, known_context+16+56(%rip)\n"
        "    movq %r12, known_context+16+96(%rip)\n"
        "    movq %r13, known_context+16+104(%rip)\n"
        "    movq %r14, known_context+16+112(%rip)\n"
        "    movq %r15, known_context+16+120(%rip)\n"
        "    movq %rsp, known_context(%rip)\n"
        "    leaq 1f(%rip), %r8\n"
        "    movq %r8, known_context+8(%rip)\n"
        "    movups known_context+144+6*16(%rip), %xmm6\n"
        "    movups known_context+144+7*16(%rip), %xmm7\n"
        "    movups known_context+144+8*16(%rip), %xmm8\n"
        "    movups known_context+144+9*16(%rip), %xmm9\n"
        "    movups known_context+144+10*16(%rip), %xmm10\n"
        "    movups known_context+144+11*16(%rip), %xmm11\n"
        "    movups known_context+144+12*16(%rip), %xmm12\n"
        "    movups known_context+144+13*16(%rip), %xmm13\n"
        "    movups known_context+144+14*16(%rip), %xmm14\n"
        "    movups known_context+144+15*16(%rip), %xmm15\n"
        "    pushfq\n"
        "    orq $0x100, (%rsp)\n"
        "    popfq\n"
        "    callq *%rax\n"
        "1:  pushfq\n"
        "    andq $~0x100, (%rsp)\n"
        "    popfq\n"
        "    addq $40, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbp\n    popq %rbx\n"
        "    ret\n");
/* clang-format on */

/* The registers that calls preserve, by number. */
static const unsigned preserved[] = {3, 5, 6, 7, 12, 13, 14, 15};

struct walk {
    const struct image *image;
    unsigned instructions, places[4], most_frames;
    char failure[640]; /* the first one */
};

static struct walk *current_walk;

static bool read_memory(void *context, uint64_t address, void *out, size_t size)
{
    const uint64_t *low = context;

    if (address < *low || address + size > known_context.rsp + 8)
        return false;
    memcpy(out, (const void *)(uintptr_t)address, size);
    return true;
}

static void context_of_signal(const ucontext_t *signal, struct image_context *out)
{
    static const int registers[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                      REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                      REG_R12, REG_R13, REG_R14, REG_R15};

    out->rip = (uint64_t)signal->uc_mcontext.gregs[REG_RIP];
    for (unsigned i = 0; i < 16; i++)
        out->general[i] = (uint64_t)signal->uc_mcontext.gregs[registers[i]];
    memcpy(out->vector, signal->uc_mcontext.fpregs->_xmm, sizeof out->vector);
}

static void fail_walk(struct walk *walk, uint64_t rip, const char *what)
{
    struct image_symbol symbol;

    if (walk->failure[0] || !image_symbol_at(walk->image, rip, &symbol))
        return;
    snprintf(walk->failure, sizeof walk->failure, "from %s+0x%" PRIx64 ": %s", symbol.name,
             symbol.offset, what);
}

static const char *compare(const struct image_context *context)
{
    if (context->rip != known_context.rip)
        return "rip is wrong";
    if (context->general[IMAGE_RSP] != known_context.rsp)
        return "rsp is wrong";
    for (size_t i = 0; i < ARRAY_COUNT(preserved); i++)
        if (context->general[preserved[i]] != known_context.general[preserved[i]])
            return "a register is wrong";
    for (unsigned i = 6; i < 16; i++)
        if (memcmp(&context->vector[i], known_context.vector[i], 16) != 0)
            return "a vector register is wrong";
    return NULL;
}

static void unwind_here(int number, siginfo_t *information, void *signal)
{
    struct walk *walk = current_walk;
    struct image_context context;
    struct image_frame frame;
    struct image_error error;
    uint64_t begin, low;
    struct image_memory memory = {read_memory, &low};
    const char *wrong;

    context_of_signal(signal, &context);
    begin = context.rip;
    low = context.general[IMAGE_RSP];
    if (!image_contains(walk->image, begin))
        return; /* in an import */
    walk->instructions++;
    for (unsigned frames = 1; image_contains(walk->image, context.rip); frames++) {
        if (frames > MOST_FRAMES) {
            fail_walk(walk, begin, "there is no end");
            return;
        }
        if (!image_unwind_step(walk->image, &context, &memory, &frame, &error)) {
            fail_walk(walk, begin, error.text);
            return;
        }
        walk->places[frame.place] += frames == 1;
        walk->most_frames = frames > walk->most_frames ? frames : walk->most_frames;
    }
    wrong = compare(&context);
    if (wrong)
        fail_walk(walk, begin, wrong);
}

static __attribute__((ms_abi)) int64_t kernel_add(int64_t a, int64_t b)
{
    return a + b;
}

static __attribute__((ms_abi)) int64_t kernel_late(int64_t a)
{
    return 100 * a;
}

static uint64_t resolve(void *context, const struct image_import *import)
{
    return strcmp(import->name, "KernelAdd") == 0 ? (uint64_t)(uintptr_t)kernel_add
                                                  : (uint64_t)(uintptr_t)kernel_late;
}

static void step_through(uint8_t *bytes, size_t size, struct walk *walk)
{
    struct image_load_options options = {resolve, NULL, UINT64_C(0xabcdef012345)};
    struct sigaction action = {.sa_sigaction = unwind_here, .sa_flags = SA_SIGINFO}, before;
    struct image_error error;
    struct image *image;
    int result;

    assert_non_null(bytes);
    if (!image_open(base_services_libc(), bytes, size, &image, &error) ||
        !image_load(image, &options, &error))
        fail_msg("%s", error.text);
    *walk = (struct walk){.image = image};
    current_walk = walk;
    for (unsigned i = 0; i < 16; i++)
        memset(known_context.vector[i], 0x40 + (int)i, 16);
    assert_int_equal(sigaction(SIGTRAP, &action, &before), 0);
    result = call_stepping(image_entry(image), 21);
    sigaction(SIGTRAP, &before, NULL);
    assert_int_equal(result, test_driver_result(21));
    if (walk->failure[0])
        fail_msg("%s", walk->failure);
    image_close(image);
    free(bytes);
}

static void assert_all_places_were_seen(const struct walk *walk)
{
    assert_true(walk->instructions > 500);
    assert_true(walk->places[IMAGE_IN_PROLOG] > 20);
    assert_true(walk->places[IMAGE_IN_BODY] > 200);
    assert_true(walk->places[IMAGE_IN_EPILOG] > 20);
    assert_true(walk->places[IMAGE_IN_LEAF] > 0);
    assert_in_range(walk->most_frames, 5, 7);
}

static void code_of_clang_is_unwound_at_every_instruction(void **state)
{
    struct walk walk;
    size_t size;
    uint8_t *bytes;

    if (!test_driver_has_clang()) {
        print_message("skipped: no clang, lld-link or llvm-dlltool here\n");
        skip();
    }
    bytes = test_driver_build(TEST_DRIVER_CLANG, &size);
    step_through(bytes, size, &walk);
    assert_all_places_were_seen(&walk);
}

static void code_of_mingw_is_unwound_at_every_instruction(void **state)
{
    struct walk walk;
    size_t size;
    uint8_t *bytes;

    if (!test_driver_has_mingw()) {
        print_message("skipped: no x86_64-w64-mingw32-gcc here\n");
        skip();
    }
    bytes = test_driver_build(TEST_DRIVER_MINGW, &size);
    step_through(bytes, size, &walk);
    assert_all_places_were_seen(&walk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_of_clang_is_unwound_at_every_instruction),
        cmocka_unit_test(code_of_mingw_is_unwound_at_every_instruction),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
