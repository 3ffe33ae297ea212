/* The kernel as a whole: pool, IRQL, spin locks, debug output, registers. */
#include "nt/rig/test_kernel.h"

#include <string.h>

static void pool_counts_what_lives(void **state)
{
    void *a = ExAllocatePool2(POOL_FLAG_NON_PAGED, 100, TEST_TAG);
    void *b = ExAllocatePoolWithTag(PagedPool, 1, TEST_TAG + 1);

    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal((uintptr_t)a % 16, 0);
    assert_int_equal(nt_pool_live_blocks(test.nt), 2);
    assert_int_equal(nt_pool_live_bytes(test.nt), 101);
    ExFreePoolWithTag(a, TEST_TAG);
    assert_int_equal(nt_pool_live_blocks(test.nt), 1);
    assert_int_equal(nt_pool_live_bytes(test.nt), 1);
    ExFreePool(b);
    assert_int_equal(nt_pool_live_blocks(test.nt), 0);
    assert_int_equal(nt_pool_allocation_count(test.nt), 2);
}

static void pool_zeroes_unless_told_not_to(void **state)
{
    const uint8_t zero[64] = {0};
    uint8_t *zeroed = ExAllocatePool2(POOL_FLAG_NON_PAGED, 64, TEST_TAG);
    uint8_t *raw = ExAllocatePool2(POOL_FLAG_NON_PAGED | POOL_FLAG_UNINITIALIZED, 64, TEST_TAG);

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
    static uint32_t *blocks[COUNT];
    uint64_t live_bytes = 0;

    for (uint32_t i = 0; i < COUNT; i++) {
        blocks[i] = ExAllocatePool2(POOL_FLAG_NON_PAGED, 4 + i, TEST_TAG + i);
        *blocks[i] = i;
        live_bytes += 4 + i;
    }
    assert_int_equal(nt_pool_live_bytes(test.nt), live_bytes);
    for (uint32_t n = 0; n < COUNT; n++) {
        uint32_t i = n * 7 % COUNT;

        assert_int_equal(*blocks[i], i);
        ExFreePoolWithTag(blocks[i], TEST_TAG + i);
        live_bytes -= 4 + i;
        assert_int_equal(nt_pool_live_bytes(test.nt), live_bytes);
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
    struct leaks leaks = {.count = 0};
    void *first = ExAllocatePool2(POOL_FLAG_NON_PAGED, 10, TEST_TAG);
    void *second = ExAllocatePool2(POOL_FLAG_NON_PAGED, 20, TEST_TAG + 1);
    void *third = ExAllocatePool2(POOL_FLAG_NON_PAGED, 30, TEST_TAG + 2);

    ExFreePool(second);
    nt_pool_for_each(test.nt, on_leak, &leaks);
    assert_int_equal(leaks.count, 2);
    assert_ptr_equal(leaks.blocks[0].memory, first);
    assert_int_equal(leaks.blocks[0].bytes, 10);
    assert_int_equal(leaks.blocks[0].tag, TEST_TAG);
    assert_int_equal(leaks.blocks[0].sequence, 1);
    assert_ptr_equal(leaks.blocks[1].memory, third);
    assert_int_equal(leaks.blocks[1].sequence, 3);
    /* test_teardown: destroying the kernel frees them */
}

static void pool_fails_the_allocation_that_it_is_told_to(void **state)
{
    void *first;
    void *third;

    nt_pool_fail_at(test.nt, 2);
    first = ExAllocatePool2(POOL_FLAG_NON_PAGED, 8, TEST_TAG);
    assert_non_null(first);
    assert_null(ExAllocatePool2(POOL_FLAG_NON_PAGED, 8, TEST_TAG));
    third = ExAllocatePool2(POOL_FLAG_NON_PAGED, 8, TEST_TAG);
    assert_non_null(third);
    assert_int_equal(nt_pool_live_blocks(test.nt), 2);
    ExFreePool(first);
    ExFreePool(third);

    failing_services_fail_at(&test.memory, 1);
    assert_null(ExAllocatePool2(POOL_FLAG_NON_PAGED, 8, TEST_TAG));
    assert_int_equal(nt_pool_live_blocks(test.nt), 0);
    assert_null(ExAllocatePool2(POOL_FLAG_NON_PAGED, 0, TEST_TAG));
    assert_null(ExAllocatePool2(POOL_FLAG_NON_PAGED, SIZE_MAX, TEST_TAG));
}

static void pool_stops_who_frees_wrongly(void **state)
{
    char *memory = ExAllocatePool2(POOL_FLAG_NON_PAGED, 8, TEST_TAG);
    void *paged = ExAllocatePool2(POOL_FLAG_PAGED, 8, TEST_TAG);

    assert_stops_with(0xC2, 0x0A, ExFreePoolWithTag(memory, TEST_TAG + 1));
    assert_stops_with(0xC2, 0x46, ExFreePool(memory + 4));
    ExFreePool(memory);
    assert_stops_with(0xC2, 0x46, ExFreePool(memory));
    nt_set_irql(test.nt, DISPATCH_LEVEL);
    assert_stops_with(0xC2, 0x09, ExFreePool(paged));
    nt_set_irql(test.nt, PASSIVE_LEVEL);
    ExFreePool(paged);
}

static void pool_stops_who_allocates_at_a_wrong_irql(void **state)
{
    nt_set_irql(test.nt, DISPATCH_LEVEL);
    ExFreePool(ExAllocatePool2(POOL_FLAG_NON_PAGED, 8, TEST_TAG));
    assert_stops_with(0xC2, 0x08, ExAllocatePool2(POOL_FLAG_PAGED, 8, TEST_TAG));
    nt_set_irql(test.nt, NT_DEVICE_IRQL);
    assert_stops_with(0xC2, 0x08, ExAllocatePool2(POOL_FLAG_NON_PAGED, 8, TEST_TAG));
    assert_stops_with(0xC2, 0x9B,
                      (nt_set_irql(test.nt, 0), ExAllocatePool2(POOL_FLAG_PAGED, 8, 0)));
}

static void spin_locks_raise_and_restore_irql(void **state)
{
    KSPIN_LOCK outer;
    KSPIN_LOCK inner;
    KIRQL before;

    KeInitializeSpinLock(&outer);
    KeInitializeSpinLock(&inner);
    nt_set_irql(test.nt, APC_LEVEL);
    KeAcquireSpinLock(&outer, &before);
    assert_int_equal(before, APC_LEVEL);
    assert_int_equal(KeGetCurrentIrql(), DISPATCH_LEVEL);
    KeAcquireSpinLockAtDpcLevel(&inner);
    assert_int_equal(nt_held_lock_count(test.nt), 2);
    KeReleaseSpinLockFromDpcLevel(&inner);
    KeReleaseSpinLock(&outer, before);
    assert_int_equal(KeGetCurrentIrql(), APC_LEVEL);
    assert_int_equal(nt_held_lock_count(test.nt), 0);
}

static void the_level_is_raised_and_lowered(void **state)
{
    KIRQL before;

    KeRaiseIrql(DISPATCH_LEVEL, &before);
    assert_int_equal(before, PASSIVE_LEVEL);
    assert_int_equal(nt_irql(test.nt), DISPATCH_LEVEL);
    KeLowerIrql(before);
    assert_int_equal(nt_irql(test.nt), PASSIVE_LEVEL);
}

static void spin_locks_stop_a_deadlock_and_a_release_too_many(void **state)
{
    KSPIN_LOCK lock;
    KIRQL before;

    KeInitializeSpinLock(&lock);
    assert_stops_with(0x09, (uintptr_t)&lock, KeAcquireSpinLockAtDpcLevel(&lock));
    KeAcquireSpinLock(&lock, &before);
    assert_stops_with(0x0F, (uintptr_t)&lock, KeAcquireSpinLockAtDpcLevel(&lock));
    KeReleaseSpinLock(&lock, before);
    nt_set_irql(test.nt, DISPATCH_LEVEL);
    assert_stops_with(0x10, (uintptr_t)&lock, KeReleaseSpinLock(&lock, before));
    nt_set_irql(test.nt, NT_DEVICE_IRQL);
    assert_stops_with(0x0A, (uintptr_t)&lock, KeAcquireSpinLock(&lock, &before));
}

/* Expected text, then the arguments of DbgPrintEx from the format on. */
#define assert_prints(expected, ...)                                                               \
    do {                                                                                           \
        DbgPrintEx(DPFLTR_IHVVIDEO_ID, DPFLTR_INFO_LEVEL, __VA_ARGS__);                            \
        assert_string_equal(test.line, (expected));                                                \
    } while (0)

static void debug_text_has_the_lengths_of_windows(void **state)
{
    const WCHAR wide[] = {'w', 'i', 0x263a, 0};
    const UNICODE_STRING counted = {4, 8, (PWSTR)wide};
    const uint64_t big = UINT64_C(0x1234567890abcdef);

    assert_prints("plain", "plain");
    assert_prints("-1 4294967295 ffffffff", "%d %u %x", -1, -1, -1);
    assert_prints("-1 4294967295", "%ld %lu", -1, -1);
    assert_prints("1234567890abcdef 1311768467294899695", "%I64x %llu", big, big);
    assert_prints("0x0000002a|    42|42    |00042|", "0x%08x|%6d|%-6d|%.5d|", 42, 42, 42, 42);
    assert_prints("   42", "%*d", 5, 42);
    assert_prints("1234567890ABCDEF 0000000000000001", "%p %p", big, (uint64_t)1);
    assert_prints("abc|ab|  abc|abc  |", "%s|%.2s|%5s|%-5s|", "abc", "abc", "abc", "abc");
    assert_prints("wi?|wi?|wi|(null)", "%ws|%S|%wZ|%s", wide, wide, &counted, NULL);
    assert_prints("c 100% <float> 7", "%c 100%% %f %d", 'c', 1.5, 7);
    assert_int_equal(test.line_level, DPFLTR_INFO_LEVEL);
}

static void debug_text_is_cut_and_always_ended(void **state)
{
    DbgPrintEx(DPFLTR_IHVVIDEO_ID, DPFLTR_ERROR_LEVEL, "%1000d", 1);
    assert_true(strlen(test.line) < 512);
    DbgPrintEx(DPFLTR_IHVVIDEO_ID, DPFLTR_ERROR_LEVEL, "%300d%300d%300d", 1, 2, 3);
    assert_int_equal(strlen(test.line), 511);
    assert_int_equal(test.line_level, DPFLTR_ERROR_LEVEL);
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
    const struct machine_registers registers = {4096, on_register_read, on_register_write};
    const struct nt_host host = {0};
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
        machines[i] = machine_create(&test.memory.services, &config);
        assert_true(machine_set_registers(machines[i], &registers, &content[i]));
        kernels[i] = nt_create(&test.memory.services, machines[i], &host);
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
    nt_bind(test.nt);
    for (i = 0; i < 2; i++) {
        machine_unmap_physical(machines[i], bars[i], 4096);
        nt_destroy(kernels[i]);
        machine_destroy(machines[i]);
    }
}

static void creation_survives_without_memory(void **state)
{
    const struct nt_host host = {0};

    failing_services_fail_at(&test.memory, 1);
    assert_null(nt_create(&test.memory.services, NULL, &host));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, test_setup, test_teardown)
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
