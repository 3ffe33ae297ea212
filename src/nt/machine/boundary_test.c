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
static unsigned lost_count, lost_number;

static void on_lost(void *context, unsigned number)
{
    lost_count++;
    lost_number = number;
}

static int setup(void **state)
{
    lost_count = 0;
    boundary = boundary_create(base_services_libc(), on_lost, NULL);
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
    assert_int_equal(lost_count, 0);
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

/* A driver whose assembly forgets to restore rsi. */
static const unsigned char clobber[] = {
    0x31, 0xf6,                   /* xor esi, esi */
    0xb8, 0x2a, 0x00, 0x00, 0x00, /* mov eax, 42 */
    0xc3,
};

static void a_register_that_is_lost_is_told_and_given_back(void **state)
{
    uint64_t NTAPI (*entry)(void);
    static unsigned char code[4096] __attribute__((aligned(4096)));
    extern int mprotect(void *, size_t, int);

    memcpy(code, clobber, sizeof clobber);
    assert_int_equal(mprotect(code, sizeof code, 1 | 4), 0);
    entry = boundary_entry(boundary, code);
    assert_int_equal(entry(), 42);
    assert_int_equal(lost_count, 1);
    assert_int_equal(lost_number, 6);
    assert_int_equal(mprotect(code, sizeof code, 1 | 2), 0);
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
    assert_int_equal(lost_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(arguments_and_results_pass_both_ways),
        TEST(calls_nest),
        TEST(a_function_has_one_thunk_of_each_kind),
        TEST(a_closure_brings_its_context),
        TEST(a_register_that_is_lost_is_told_and_given_back),
        TEST(a_service_can_go_on_where_it_was_called),
        TEST(what_is_abandoned_is_forgotten),
        TEST(threads_take_turns_with_calls_under_way),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
