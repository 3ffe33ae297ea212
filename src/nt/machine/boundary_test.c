#include "nt/machine/boundary.h"

#include "base/bits.h"

#include <ntdef.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Functions of this file play the image: their stack is none that a sanitizer knows. */
#define IMAGE NTAPI __attribute__((noinline, no_sanitize("address", "undefined")))

static struct boundary *boundary;
static unsigned broken_count;
static struct boundary_breach broken[40];

static void on_broken(void *context, const struct boundary_breach *breach)
{
    if (broken_count < ARRAY_COUNT(broken))
        broken[broken_count] = *breach;
    broken_count++;
}

static int setup(void **state)
{
    broken_count = 0;
    boundary = boundary_create(base_services_libc(), on_broken, NULL);
    return boundary ? 0 : -1;
}

static int teardown(void **state)
{
    boundary_destroy(boundary);
    return 0;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

typedef uint64_t NTAPI sum_function(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
                                    uint64_t f, uint64_t g, uint64_t h, uint64_t i, uint64_t j,
                                    uint64_t k, uint64_t l, uint64_t m, uint64_t n, uint64_t o,
                                    uint64_t p);

static sum_function *service_of_test;
static bool image_was_on_kernel_stack, service_was_on_bench_stack;

static uint64_t NTAPI service(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
                              uint64_t f, uint64_t g, uint64_t h, uint64_t i, uint64_t j,
                              uint64_t k, uint64_t l, uint64_t m, uint64_t n, uint64_t o,
                              uint64_t p)
{
    char here;
    const struct boundary_registers *caller = boundary_caller(boundary);

    service_was_on_bench_stack = !boundary_is_on_stack(boundary, (uintptr_t)&here) && caller &&
                                 boundary_is_on_stack(boundary, caller->rsp);
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k +
           12 * l + 13 * m + 14 * n + 15 * o + 16 * p;
}

static uint64_t IMAGE image(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f,
                            uint64_t g, uint64_t h, uint64_t i, uint64_t j, uint64_t k, uint64_t l,
                            uint64_t m, uint64_t n, uint64_t o, uint64_t p)
{
    volatile char here = 0;

    image_was_on_kernel_stack = boundary_is_on_stack(boundary, (uintptr_t)&here);
    return 1 + service_of_test(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
}

static void arguments_and_results_pass_both_ways(void **state)
{
    sum_function *entry = boundary_entry(boundary, image);
    uint64_t expected = 1;

    service_of_test = boundary_service(boundary, service);
    for (uint64_t i = 1; i <= 16; i++)
        expected += i * (100 + i);
    assert_int_equal(
        entry(101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115, 116),
        expected);
    assert_true(image_was_on_kernel_stack);
    assert_true(service_was_on_bench_stack);
    assert_null(boundary_caller(boundary));
    assert_int_equal(broken_count, 0);
    assert_in_range(boundary_deepest_stack(boundary), BOUNDARY_KERNEL_FRAMES + 32,
                    BOUNDARY_KERNEL_FRAMES + 4096);
}

typedef uint64_t NTAPI step_function(uint64_t depth);

static step_function *down, *up;

static uint64_t NTAPI step_in_bench(uint64_t depth)
{
    return depth ? 1 + down(depth - 1) : 0;
}

static uint64_t IMAGE step_in_image(uint64_t depth)
{
    return depth ? 1 + up(depth - 1) : 0;
}

static void calls_nest(void **state)
{
    down = boundary_entry(boundary, step_in_image);
    up = boundary_service(boundary, step_in_bench);
    assert_int_equal(down(40), 40);
    assert_int_equal(down(41), 41);
    assert_null(boundary_caller(boundary));
}

static void a_function_has_one_thunk_of_each_kind(void **state)
{
    void *entry = boundary_entry(boundary, image), *as_service = boundary_service(boundary, image);

    assert_non_null(entry);
    assert_ptr_not_equal(entry, as_service);
    assert_ptr_equal(boundary_entry(boundary, image), entry);
    assert_ptr_equal(boundary_target(boundary, entry), image);
    assert_ptr_equal(boundary_target(boundary, as_service), image);
    assert_null(boundary_target(boundary, (char *)entry + 1));
    assert_null(boundary_target(boundary, image));
    assert_null(boundary_entry(boundary, NULL));
    for (uintptr_t i = 1; i < 6000; i++) {
        void *thunk = boundary_service(boundary, (void *)(i << 4));

        assert_ptr_equal(boundary_target(boundary, thunk), (void *)(i << 4));
    }
    assert_ptr_equal(boundary_entry(boundary, image), entry);
}

static uint64_t NTAPI add_one(void *context)
{
    return ++*(uint64_t *)context;
}

static step_function *closure;

static uint64_t IMAGE call_closure(uint64_t twice)
{
    return closure(twice) + closure(twice);
}

static void a_closure_brings_its_context(void **state)
{
    uint64_t number = 10;
    step_function *entry = boundary_entry(boundary, call_closure);

    closure = boundary_closure(boundary, add_one, &number);
    assert_int_equal(entry(77), 11 + 12);
    assert_int_equal(number, 12);
}

/* Drivers whose assembly breaks the convention: bytes of code, in front of "mov eax, 42; ret". */
static const struct {
    unsigned char code[20];
    unsigned bytes;
    enum boundary_rule rule;
    unsigned number;
    uint64_t after;
} broken_code[] = {
    {{0x31, 0xdb}, 2, BOUNDARY_GENERAL, 3, 0},             /* xor ebx, ebx */
    {{0x31, 0xed}, 2, BOUNDARY_GENERAL, 5, 0},             /* xor ebp, ebp */
    {{0x31, 0xf6}, 2, BOUNDARY_GENERAL, 6, 0},             /* xor esi, esi */
    {{0x31, 0xff}, 2, BOUNDARY_GENERAL, 7, 0},             /* xor edi, edi */
    {{0x45, 0x31, 0xe4}, 3, BOUNDARY_GENERAL, 12, 0},      /* xor r12d, r12d */
    {{0x45, 0x31, 0xed}, 3, BOUNDARY_GENERAL, 13, 0},      /* xor r13d, r13d */
    {{0x45, 0x31, 0xf6}, 3, BOUNDARY_GENERAL, 14, 0},      /* xor r14d, r14d */
    {{0x45, 0x31, 0xff}, 3, BOUNDARY_GENERAL, 15, 0},      /* xor r15d, r15d */
    {{0x0f, 0x57, 0xf6}, 3, BOUNDARY_VECTOR, 6, 0},        /* xorps xmm6, xmm6 */
    {{0x0f, 0x57, 0xff}, 3, BOUNDARY_VECTOR, 7, 0},        /* xorps xmm7, xmm7 */
    {{0x45, 0x0f, 0x57, 0xc0}, 4, BOUNDARY_VECTOR, 8, 0},  /* xorps xmm8, xmm8 */
    {{0x45, 0x0f, 0x57, 0xc9}, 4, BOUNDARY_VECTOR, 9, 0},  /* xorps xmm9, xmm9 */
    {{0x45, 0x0f, 0x57, 0xd2}, 4, BOUNDARY_VECTOR, 10, 0}, /* xorps xmm10, xmm10 */
    {{0x45, 0x0f, 0x57, 0xdb}, 4, BOUNDARY_VECTOR, 11, 0}, /* xorps xmm11, xmm11 */
    {{0x45, 0x0f, 0x57, 0xe4}, 4, BOUNDARY_VECTOR, 12, 0}, /* xorps xmm12, xmm12 */
    {{0x45, 0x0f, 0x57, 0xed}, 4, BOUNDARY_VECTOR, 13, 0}, /* xorps xmm13, xmm13 */
    {{0x45, 0x0f, 0x57, 0xf6}, 4, BOUNDARY_VECTOR, 14, 0}, /* xorps xmm14, xmm14 */
    {{0x45, 0x0f, 0x57, 0xff}, 4, BOUNDARY_VECTOR, 15, 0}, /* xorps xmm15, xmm15 */
    {{0xfd}, 1, BOUNDARY_DIRECTION, 0, 1},                 /* std */
    /* push 0x27f; fldcw [rsp]; pop rax */
    {{0x68, 0x7f, 0x02, 0, 0, 0xd9, 0x2c, 0x24, 0x58}, 9, BOUNDARY_X87_CONTROL, 0, 0x27f},
    /* pxor mm0, mm0: all eight are in use, mm0 is a number that is special */
    {{0x0f, 0xef, 0xc0}, 3, BOUNDARY_X87_STACK, 0, UINT64_MAX},
    /* fldz: one register is in use */
    {{0xd9, 0xee}, 2, BOUNDARY_X87_STACK, 0, UINT64_MAX},
    /* push 0x7f80; ldmxcsr [rsp]; pop rax: rounds to zero */
    {{0x68, 0x80, 0x7f, 0, 0, 0x0f, 0xae, 0x14, 0x24, 0x58}, 10, BOUNDARY_MXCSR, 0, 0x7f80},
    /* xor eax, eax; wrgsbase rax */
    {{0x31, 0xc0, 0xf3, 0x48, 0x0f, 0xae, 0xd8}, 7, BOUNDARY_GS_BASE, 0, 0},
};

static unsigned char page[4096] __attribute__((aligned(4096)));

static uint64_t run_code(const unsigned char *code, size_t bytes)
{
    static const unsigned char end[] = {0xb8, 0x2a, 0x00, 0x00, 0x00, 0xc3};
    uint64_t NTAPI (*entry)(void);
    extern int mprotect(void *, size_t, int);
    uint64_t result;

    memcpy(page, code, bytes);
    memcpy(page + bytes, end, sizeof end);
    assert_int_equal(mprotect(page, sizeof page, 1 | 4), 0);
    entry = boundary_entry(boundary, page);
    result = entry();
    assert_int_equal(mprotect(page, sizeof page, 1 | 2), 0);
    return result;
}

static bool has_gs(void)
{
    extern unsigned long getauxval(unsigned long);

    return getauxval(26) & 2; /* AT_HWCAP2 */
}

/* What is given back is there in the next call. */
static void each_breach_of_the_convention_is_told_and_made_good(void **state)
{
    static const unsigned char nothing[] = {0x90};

    for (size_t i = 0; i < ARRAY_COUNT(broken_code); i++) {
        broken_count = 0;
        if (broken_code[i].rule == BOUNDARY_GS_BASE) {
            if (!has_gs())
                continue;
            __asm__ volatile("wrgsbase %0" : : "r"((uint64_t)(uintptr_t)page));
        }
        assert_int_equal(run_code(broken_code[i].code, broken_code[i].bytes), 42);
        assert_int_equal(broken_count, 1);
        assert_int_equal(broken[0].rule, broken_code[i].rule);
        assert_int_equal(broken[0].number, broken_code[i].number);
        assert_ptr_equal(broken[0].function, page);
        assert_int_not_equal(broken[0].before, broken[0].after);
        if (broken_code[i].after != UINT64_MAX)
            assert_int_equal(broken[0].after, broken_code[i].after);
        broken_count = 0;
        assert_int_equal(run_code(nothing, sizeof nothing), 42);
        assert_int_equal(broken_count, 0);
    }
}

static void several_breaches_of_one_call_are_told(void **state)
{
    /* xor ebx, ebx; xor r15d, r15d; xorps xmm9, xmm9; std */
    static const unsigned char code[] = {0x31, 0xdb, 0x45, 0x31, 0xff,
                                         0x45, 0x0f, 0x57, 0xc9, 0xfd};

    run_code(code, sizeof code);
    assert_int_equal(broken_count, 4);
}

static void what_is_used_and_left_as_it_was_is_lawful(void **state)
{
    /* fldz; fstp st(0): a number comes and goes. pxor mm0, mm0; emms */
    static const unsigned char x87[] = {0xd9, 0xee, 0xdd, 0xd8},
                               mmx[] = {0x0f, 0xef, 0xc0, 0x0f, 0x77};
    /* xorps xmm5, xmm5; and an inexact sum that sets a flag of MXCSR: mov eax, 0x3f800001;
     * movd xmm4, eax; mulss xmm4, xmm4 */
    static const unsigned char vectors[] = {0x0f, 0x57, 0xed, 0xb8, 0x01, 0x00, 0x80, 0x3f,
                                            0x66, 0x0f, 0x6e, 0xe0, 0xf3, 0x0f, 0x59, 0xe4};

    run_code(x87, sizeof x87);
    run_code(mmx, sizeof mmx);
    run_code(vectors, sizeof vectors);
    assert_int_equal(broken_count, 0);
}

/* Calls the service with its stack 8 bytes off, or with the direction flag. */
static uint64_t NTAPI seven(void)
{
    return 7;
}

static void a_service_is_called_by_the_convention(void **state)
{
    /* sub rsp, 32; mov rax, service; call rax; add rsp, 32; ret: 8 bytes are missing */
    unsigned char code[] = {0x48, 0x83, 0xec, 0x20, 0x48, 0xb8, 0,    0,    0,    0,   0,
                            0,    0,    0,    0xff, 0xd0, 0x48, 0x83, 0xc4, 0x20, 0xc3};
    /* sub rsp, 40; std; mov rax, service; call rax; add rsp, 40; ret */
    unsigned char backwards[] = {0x48, 0x83, 0xec, 0x28, 0xfd, 0x48, 0xb8, 0,    0,    0,    0,
                                 0,    0,    0,    0,    0xff, 0xd0, 0x48, 0x83, 0xc4, 0x28, 0xc3};
    const void *thunk = boundary_service(boundary, seven);

    memcpy(code + 6, &thunk, sizeof thunk);
    assert_int_equal(run_code(code, sizeof code), 7);
    assert_int_equal(broken_count, 1);
    assert_int_equal(broken[0].rule, BOUNDARY_STACK);
    assert_ptr_equal(broken[0].function, seven);
    assert_int_equal(broken[0].after % 16, 8);
    broken_count = 0;
    memcpy(backwards + 7, &thunk, sizeof thunk);
    assert_int_equal(run_code(backwards, sizeof backwards), 7);
    assert_int_equal(broken_count, 1);
    assert_int_equal(broken[0].rule, BOUNDARY_CALL_DIRECTION);
}

/* ---- Going on elsewhere ---------------------------------------------------------------------- */

typedef uint64_t NTAPI raise_function(uint64_t value);

static raise_function *raise_up;

static uint64_t NTAPI go_on_at_outer(uint64_t value)
{
    boundary_resume(boundary, boundary_caller(boundary), value + 1);
}

static uint64_t IMAGE raising(uint64_t value)
{
    return raise_up(value) + 10;
}

static void a_service_can_go_on_where_it_was_called(void **state)
{
    raise_function *entry = boundary_entry(boundary, raising);

    raise_up = boundary_service(boundary, go_on_at_outer);
    assert_int_equal(entry(5), 16);
    assert_null(boundary_caller(boundary));
    assert_int_equal(entry(6), 17);
}

static jmp_buf out;

static uint64_t NTAPI leave_for_good(uint64_t value)
{
    longjmp(out, 1);
}

static void what_is_abandoned_is_forgotten(void **state)
{
    raise_function *entry = boundary_entry(boundary, raising);

    raise_up = boundary_service(boundary, leave_for_good);
    for (unsigned i = 0; i < 100; i++) {
        if (!setjmp(out)) {
            entry(1);
            fail();
        }
        boundary_abandon(boundary);
        assert_null(boundary_caller(boundary));
    }
    raise_up = boundary_service(boundary, go_on_at_outer);
    assert_int_equal(entry(5), 16);
    assert_in_range(boundary_deepest_stack(boundary), BOUNDARY_KERNEL_FRAMES + 32,
                    BOUNDARY_KERNEL_FRAMES + 4096);
}

/* ---- Threads --------------------------------------------------------------------------------- */

static struct boundary_thread *main_thread, *workers[3];
static char order[64];
static step_function *work;
static step_function *rest;

static uint64_t NTAPI switch_away(uint64_t number)
{
    char letter[2] = {(char)('a' + number), 0};

    strcat(order, letter);
    boundary_switch(main_thread);
    return number;
}

/* Runs in the image, rests in the bench, with calls under way on both of its stacks. */
static uint64_t IMAGE work_in_image(uint64_t number)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < 3; i++)
        sum += rest(number);
    return sum;
}

static void worker(void *argument)
{
    uint64_t number = (uintptr_t)argument;

    if (work(number) != 3 * number)
        strcat(order, "!");
    strcat(order, ".");
    for (;;)
        boundary_switch(main_thread);
}

static void threads_take_turns_with_calls_under_way(void **state)
{
    order[0] = '\0';
    main_thread = boundary_current_thread(boundary);
    work = boundary_entry(boundary, work_in_image);
    rest = boundary_service(boundary, switch_away);
    for (uintptr_t i = 0; i < ARRAY_COUNT(workers); i++) {
        workers[i] = boundary_thread_create(boundary, worker, (void *)i);
        assert_non_null(workers[i]);
    }
    for (unsigned turn = 0; turn < 4; turn++)
        for (unsigned i = 0; i < ARRAY_COUNT(workers); i++)
            boundary_switch(workers[i]);
    assert_string_equal(order, "abcabcabc...");
    boundary_thread_destroy(workers[1]);
    boundary_switch(workers[0]);
    assert_ptr_equal(boundary_current_thread(boundary), main_thread);
    assert_int_equal(broken_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(arguments_and_results_pass_both_ways),
        TEST(calls_nest),
        TEST(a_function_has_one_thunk_of_each_kind),
        TEST(a_closure_brings_its_context),
        TEST(each_breach_of_the_convention_is_told_and_made_good),
        TEST(several_breaches_of_one_call_are_told),
        TEST(what_is_used_and_left_as_it_was_is_lawful),
        TEST(a_service_is_called_by_the_convention),
        TEST(a_service_can_go_on_where_it_was_called),
        TEST(what_is_abandoned_is_forgotten),
        TEST(threads_take_turns_with_calls_under_way),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
