#include "nt/nt_private.h"

#include "base/failing_services.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define TAG 0x74736554u /* "Test" */

/* A kernel whose bug checks are caught, and whose log is the last line. */
struct fixture {
    struct failing_services memory;
    struct nt *nt;
    jmp_buf stopped;
    uint32_t code;
    uint64_t parameters[4];
    char line[600];
    uint32_t level;
};

static void on_bug_check(void *context, uint32_t code, const uint64_t parameters[4])
{
    struct fixture *fixture = context;

    fixture->code = code;
    memcpy(fixture->parameters, parameters, sizeof fixture->parameters);
    longjmp(fixture->stopped, 1);
}

static void on_log(void *context, uint32_t component, uint32_t level, const char *text)
{
    struct fixture *fixture = context;

    assert_int_equal(component, DPFLTR_IHVVIDEO_ID);
    fixture->level = level;
    snprintf(fixture->line, sizeof fixture->line, "%s", text);
}

static int setup(void **state)
{
    static struct fixture fixture;
    const struct nt_host host = {.context = &fixture, .log = on_log, .bug_check = on_bug_check};

    memset(&fixture, 0, sizeof fixture);
    failing_services_init(&fixture.memory);
    fixture.nt = nt_create(&fixture.memory.services, NULL, &host);
    assert_non_null(fixture.nt);
    nt_bind(fixture.nt);
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    nt_destroy(fixture->nt);
    return fixture->memory.live_blocks ? -1 : 0;
}

/* Runs statement, which must stop with this bug check. */
#define assert_bug_check(fixture, statement, expected_code, expected_parameter)                    \
    do {                                                                                           \
        (fixture)->code = 0;                                                                       \
        if (!setjmp((fixture)->stopped)) {                                                         \
            statement;                                                                             \
        }                                                                                          \
        assert_int_equal((fixture)->code, (expected_code));                                        \
        assert_int_equal((fixture)->parameters[0], (expected_parameter));                          \
    } while (0)

static void pool_counts_what_lives(void **state)
{
    struct fixture *fixture = *state;
    void *a = ExAllocatePool2(POOL_FLAG_NON_PAGED, 100, TAG);
    void *b = ExAllocatePoolWithTag(PagedPool, 1, TAG + 1);

    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal((uintptr_t)a % 16, 0);
    assert_int_equal(nt_pool_live_blocks(fixture->nt), 2);
    assert_int_equal(nt_pool_live_bytes(fixture->nt), 101);
    ExFreePoolWithTag(a, TAG);
    assert_int_equal(nt_pool_live_blocks(fixture->nt), 1);
    assert_int_equal(nt_pool_live_bytes(fixture->nt), 1);
    ExFreePool(b);
    assert_int_equal(nt_pool_live_blocks(fixture->nt), 0);
    assert_int_equal(nt_pool_allocation_count(fixture->nt), 2);
}

static void pool_zeroes_unless_told_not_to(void **state)
{
    const uint8_t zero[64] = {0};
    uint8_t *zeroed = ExAllocatePool2(POOL_FLAG_NON_PAGED, 64, TAG);
    uint8_t *raw = ExAllocatePool2(POOL_FLAG_NON_PAGED | POOL_FLAG_UNINITIALIZED, 64, TAG);

    assert_memory_equal(zeroed, zero, 64);
    assert_int_not_equal(raw[0], 0);
    assert_int_not_equal(raw[63], 0);
    ExFreePool(zeroed);
    ExFreePool(raw);
}

/* More blocks than there are places to look for them. */
static void pool_finds_each_of_many_blocks(void **state)
{
    enum { COUNT = 3000 };
    struct fixture *fixture = *state;
    static uint32_t *blocks[COUNT];
    uint64_t live_bytes = 0;

    for (uint32_t i = 0; i < COUNT; i++) {
        blocks[i] = ExAllocatePool2(POOL_FLAG_NON_PAGED, 4 + i, TAG + i);
        *blocks[i] = i;
        live_bytes += 4 + i;
    }
    assert_int_equal(nt_pool_live_bytes(fixture->nt), live_bytes);
    for (uint32_t n = 0; n < COUNT; n++) {
        uint32_t i = n * 7 % COUNT;

        assert_int_equal(*blocks[i], i);
        ExFreePoolWithTag(blocks[i], TAG + i);
        live_bytes -= 4 + i;
        assert_int_equal(nt_pool_live_bytes(fixture->nt), live_bytes);
    }
}

struct leaks {
    struct nt_pool_block blocks[4];
    int count;
};

static void on_leak(void *context, const struct nt_pool_block *block)
{
    struct leaks *leaks = context;

    assert_true(leaks->count < 4);
    leaks->blocks[leaks->count++] = *block;
}

static void pool_lists_leaks_oldest_first(void **state)
{
    struct fixture *fixture = *state;
    struct leaks leaks = {.count = 0};
    void *first = ExAllocatePool2(POOL_FLAG_NON_PAGED, 10, TAG);
    void *second = ExAllocatePool2(POOL_FLAG_NON_PAGED, 20, TAG + 1);
    void *third = ExAllocatePool2(POOL_FLAG_NON_PAGED, 30, TAG + 2);

    ExFreePool(second);
    nt_pool_for_each(fixture->nt, on_leak, &leaks);
    assert_int_equal(leaks.count, 2);
    assert_ptr_equal(leaks.blocks[0].memory, first);
    assert_int_equal(leaks.blocks[0].bytes, 10);
    assert_int_equal(leaks.blocks[0].tag, TAG);
    assert_int_equal(leaks.blocks[0].sequence, 1);
    assert_ptr_equal(leaks.blocks[1].memory, third);
    assert_int_equal(leaks.blocks[1].sequence, 3);
    /* teardown: destroying the kernel frees them */
}

static void pool_fails_the_allocation_that_it_is_told_to(void **state)
{
    struct fixture *fixture = *state;
    void *first;
    void *third;

    nt_pool_fail_at(fixture->nt, 2);
    first = ExAllocatePool2(POOL_FLAG_NON_PAGED, 8, TAG);
    assert_non_null(first);
    assert_null(ExAllocatePool2(POOL_FLAG_NON_PAGED, 8, TAG));
    third = ExAllocatePool2(POOL_FLAG_NON_PAGED, 8, TAG);
    assert_non_null(third);
    assert_int_equal(nt_pool_live_blocks(fixture->nt), 2);
    ExFreePool(first);
    ExFreePool(third);

    failing_services_fail_at(&fixture->memory, 1);
    assert_null(ExAllocatePool2(POOL_FLAG_NON_PAGED, 8, TAG));
    assert_int_equal(nt_pool_live_blocks(fixture->nt), 0);
    assert_null(ExAllocatePool2(POOL_FLAG_NON_PAGED, 0, TAG));
    assert_null(ExAllocatePool2(POOL_FLAG_NON_PAGED, SIZE_MAX, TAG));
}

static void pool_stops_who_frees_wrongly(void **state)
{
    struct fixture *fixture = *state;
    char *memory = ExAllocatePool2(POOL_FLAG_NON_PAGED, 8, TAG);
    void *paged = ExAllocatePool2(POOL_FLAG_PAGED, 8, TAG);

    assert_bug_check(fixture, ExFreePoolWithTag(memory, TAG + 1), 0xC2, 0x0A);
    assert_bug_check(fixture, ExFreePool(memory + 4), 0xC2, 0x46);
    ExFreePool(memory);
    assert_bug_check(fixture, ExFreePool(memory), 0xC2, 0x46);
    nt_set_irql(fixture->nt, DISPATCH_LEVEL);
    assert_bug_check(fixture, ExFreePool(paged), 0xC2, 0x09);
    nt_set_irql(fixture->nt, PASSIVE_LEVEL);
    ExFreePool(paged);
}

static void pool_stops_who_allocates_at_a_wrong_irql(void **state)
{
    struct fixture *fixture = *state;

    nt_set_irql(fixture->nt, DISPATCH_LEVEL);
    ExFreePool(ExAllocatePool2(POOL_FLAG_NON_PAGED, 8, TAG));
    assert_bug_check(fixture, ExAllocatePool2(POOL_FLAG_PAGED, 8, TAG), 0xC2, 0x08);
    nt_set_irql(fixture->nt, NT_DEVICE_IRQL);
    assert_bug_check(fixture, ExAllocatePool2(POOL_FLAG_NON_PAGED, 8, TAG), 0xC2, 0x08);
    assert_bug_check(fixture, (nt_set_irql(fixture->nt, 0), ExAllocatePool2(POOL_FLAG_PAGED, 8, 0)),
                     0xC2, 0x9B);
}

static void spin_locks_raise_and_restore_irql(void **state)
{
    struct fixture *fixture = *state;
    KSPIN_LOCK outer;
    KSPIN_LOCK inner;
    KIRQL before;

    KeInitializeSpinLock(&outer);
    KeInitializeSpinLock(&inner);
    nt_set_irql(fixture->nt, APC_LEVEL);
    KeAcquireSpinLock(&outer, &before);
    assert_int_equal(before, APC_LEVEL);
    assert_int_equal(KeGetCurrentIrql(), DISPATCH_LEVEL);
    KeAcquireSpinLockAtDpcLevel(&inner);
    assert_int_equal(nt_held_lock_count(fixture->nt), 2);
    KeReleaseSpinLockFromDpcLevel(&inner);
    KeReleaseSpinLock(&outer, before);
    assert_int_equal(KeGetCurrentIrql(), APC_LEVEL);
    assert_int_equal(nt_held_lock_count(fixture->nt), 0);
}

static void the_level_is_raised_and_lowered(void **state)
{
    struct fixture *fixture = *state;
    KIRQL before;

    KeRaiseIrql(DISPATCH_LEVEL, &before);
    assert_int_equal(before, PASSIVE_LEVEL);
    assert_int_equal(nt_irql(fixture->nt), DISPATCH_LEVEL);
    KeLowerIrql(before);
    assert_int_equal(nt_irql(fixture->nt), PASSIVE_LEVEL);
}

static void spin_locks_stop_a_deadlock_and_a_release_too_many(void **state)
{
    struct fixture *fixture = *state;
    KSPIN_LOCK lock;
    KIRQL before;

    KeInitializeSpinLock(&lock);
    assert_bug_check(fixture, KeAcquireSpinLockAtDpcLevel(&lock), 0x09, (uintptr_t)&lock);
    KeAcquireSpinLock(&lock, &before);
    assert_bug_check(fixture, KeAcquireSpinLockAtDpcLevel(&lock), 0x0F, (uintptr_t)&lock);
    KeReleaseSpinLock(&lock, before);
    nt_set_irql(fixture->nt, DISPATCH_LEVEL);
    assert_bug_check(fixture, KeReleaseSpinLock(&lock, before), 0x10, (uintptr_t)&lock);
    nt_set_irql(fixture->nt, NT_DEVICE_IRQL);
    assert_bug_check(fixture, KeAcquireSpinLock(&lock, &before), 0x0A, (uintptr_t)&lock);
}

/* Expected text, then the arguments of DbgPrintEx from the format on. */
#define assert_prints(fixture, expected, ...)                                                      \
    do {                                                                                           \
        DbgPrintEx(DPFLTR_IHVVIDEO_ID, DPFLTR_INFO_LEVEL, __VA_ARGS__);                            \
        assert_string_equal((fixture)->line, (expected));                                          \
    } while (0)

static void debug_text_has_the_lengths_of_windows(void **state)
{
    struct fixture *fixture = *state;
    const WCHAR wide[] = {'w', 'i', 0x263a, 0};
    const UNICODE_STRING counted = {4, 8, (PWSTR)wide};
    const uint64_t big = UINT64_C(0x1234567890abcdef);

    assert_prints(fixture, "plain", "plain");
    assert_prints(fixture, "-1 4294967295 ffffffff", "%d %u %x", -1, -1, -1);
    assert_prints(fixture, "-1 4294967295", "%ld %lu", -1, -1);
    assert_prints(fixture, "1234567890abcdef 1311768467294899695", "%I64x %llu", big, big);
    assert_prints(fixture, "0x0000002a|    42|42    |00042|", "0x%08x|%6d|%-6d|%.5d|", 42, 42, 42,
                  42);
    assert_prints(fixture, "   42", "%*d", 5, 42);
    assert_prints(fixture, "1234567890ABCDEF 0000000000000001", "%p %p", big, (uint64_t)1);
    assert_prints(fixture, "abc|ab|  abc|abc  |", "%s|%.2s|%5s|%-5s|", "abc", "abc", "abc", "abc");
    assert_prints(fixture, "wi?|wi?|wi|(null)", "%ws|%S|%wZ|%s", wide, wide, &counted, NULL);
    assert_prints(fixture, "c 100% <float> 7", "%c 100%% %f %d", 'c', 1.5, 7);
    assert_int_equal(fixture->level, DPFLTR_INFO_LEVEL);
}

static void debug_text_is_cut_and_always_ended(void **state)
{
    struct fixture *fixture = *state;

    DbgPrintEx(DPFLTR_IHVVIDEO_ID, DPFLTR_ERROR_LEVEL, "%1000d", 1);
    assert_true(strlen(fixture->line) < 512);
    DbgPrintEx(DPFLTR_IHVVIDEO_ID, DPFLTR_ERROR_LEVEL, "%300d%300d%300d", 1, 2, 3);
    assert_int_equal(strlen(fixture->line), 511);
    assert_int_equal(fixture->level, DPFLTR_ERROR_LEVEL);
}

static uint64_t on_register_read(void *context, uint64_t offset, unsigned size)
{
    return *(uint64_t *)context + offset + size;
}

static void on_register_write(void *context, uint64_t offset, unsigned size, uint64_t value)
{
    *(uint64_t *)context = value;
}

static void registers_reach_the_bound_machine(void **state)
{
    struct fixture *fixture = *state;
    const struct machine_registers registers = {4096, on_register_read, on_register_write};
    const struct nt_host host = {.context = fixture, .log = on_log, .bug_check = on_bug_check};
    uint64_t content[2] = {0x1000, 0x2000};
    struct machine_config config;
    struct machine *machines[2];
    struct nt *kernels[2];
    UCHAR *bars[2];
    USHORT words[2];
    int i;

    machine_config_defaults(&config, 1);
    config.ram_bytes = 4 << 20;
    for (i = 0; i < 2; i++) {
        machines[i] = machine_create(&fixture->memory.services, &config);
        assert_true(machine_set_registers(machines[i], &registers, &content[i]));
        kernels[i] = nt_create(&fixture->memory.services, machines[i], &host);
        bars[i] = machine_map_physical(machines[i], machine_bar0_pa(machines[i]), 4096);
    }
    for (i = 0; i < 2; i++) {
        nt_bind(kernels[i]);
        assert_int_equal(READ_REGISTER_UCHAR(bars[i] + 0x10), (UCHAR)(content[i] + 0x11));
        assert_int_equal(READ_REGISTER_USHORT((USHORT *)(bars[i] + 0x10)), content[i] + 0x12);
        assert_int_equal(READ_REGISTER_ULONG((ULONG *)(bars[i] + 0x10)), content[i] + 0x14);
        assert_int_equal(READ_REGISTER_ULONG64((ULONG64 *)(bars[i] + 0x10)), content[i] + 0x18);
        WRITE_REGISTER_ULONG((ULONG *)bars[i], 7);
        assert_int_equal(content[i], 7);
        WRITE_REGISTER_ULONG64((ULONG64 *)bars[i], UINT64_C(1) << 40);
        assert_int_equal(content[i], UINT64_C(1) << 40);
        WRITE_REGISTER_BUFFER_ULONG((ULONG *)bars[i], (ULONG[]){5, 6}, 2);
        assert_int_equal(content[i], 6);
        READ_REGISTER_BUFFER_USHORT((USHORT *)(bars[i] + 0x10), words, 2);
        assert_int_equal(words[0], 6 + 0x12);
        assert_int_equal(words[1], 6 + 0x14);
    }
    nt_bind(fixture->nt);
    for (i = 0; i < 2; i++) {
        machine_unmap_physical(machines[i], bars[i], 4096);
        nt_destroy(kernels[i]);
        machine_destroy(machines[i]);
    }
}

static void creation_survives_without_memory(void **state)
{
    struct fixture *fixture = *state;
    const struct nt_host host = {0};

    failing_services_fail_at(&fixture->memory, 1);
    assert_null(nt_create(&fixture->memory.services, NULL, &host));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(pool_counts_what_lives),
        TEST(pool_zeroes_unless_told_not_to),
        TEST(pool_finds_each_of_many_blocks),
        TEST(pool_lists_leaks_oldest_first),
        TEST(pool_fails_the_allocation_that_it_is_told_to),
        TEST(pool_stops_who_frees_wrongly),
        TEST(pool_stops_who_allocates_at_a_wrong_irql),
        TEST(spin_locks_raise_and_restore_irql),
        TEST(the_level_is_raised_and_lowered),
        TEST(spin_locks_stop_a_deadlock_and_a_release_too_many),
        TEST(debug_text_has_the_lengths_of_windows),
        TEST(debug_text_is_cut_and_always_ended),
        TEST(registers_reach_the_bound_machine),
        TEST(creation_survives_without_memory),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
