/* The guarded pool; what both kinds share is in nt_test.c. */
#include "nt/rig/test_kernel.h"

#include "machine/page_fault.h"
#include "nt/memory/mapping.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static sigjmp_buf faulted;
static const void *volatile fault_address;

static void on_fault(int signal, siginfo_t *info, void *context)
{
    if (page_fault_take(info->si_addr))
        return;
    fault_address = info->si_addr;
    siglongjmp(faulted, 1);
}

/* Where the access faults; NULL: it does not. */
static const void *fault_of(volatile uint8_t *address, bool writes)
{
    struct sigaction ours = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, before;

    fault_address = NULL;
    sigaction(SIGSEGV, &ours, &before);
    if (!sigsetjmp(faulted, 1)) {
        if (writes)
            *address = 1;
        else
            (void)*address;
    }
    sigaction(SIGSEGV, &before, NULL);
    return fault_address;
}

static const char *in_a_call(void *context)
{
    return "DxgkDdiCreateDevice";
}

static void take_block(void *context, const struct nt_pool_block *block)
{
    *(struct nt_pool_block *)context = *block;
}

static void a_block_knows_the_call_that_took_it(void **state)
{
    struct test_kernel *kernel = *state;
    struct nt_pool_block found = {0};
    void *block;

    kernel->nt->host.running = in_a_call;
    block = ExAllocatePool2(POOL_FLAG_NON_PAGED, 24, TEST_TAG);
    nt_pool_for_each(kernel->nt, take_block, &found);
    assert_ptr_equal(found.memory, block);
    assert_string_equal(found.during, "DxgkDdiCreateDevice");
    ExFreePool(block);
}

static void blocks_end_at_a_page_that_nobody_may_touch(void **state)
{
    struct test_kernel *kernel = *state;
    char text[128];

    nt_pool_set_guard(kernel->nt, NT_POOL_GUARD_END);
    for (SIZE_T bytes = 16; bytes < 3 * PAGE_SIZE; bytes = bytes * 2 + (bytes > 4000 ? 4096 : 0)) {
        uint8_t *block = ExAllocatePool2(POOL_FLAG_NON_PAGED, bytes, TEST_TAG);

        assert_non_null(block);
        assert_int_equal((uintptr_t)block % (bytes < PAGE_SIZE ? 16 : PAGE_SIZE), 0);
        assert_int_equal(block[0] | block[bytes - 1], 0);
        assert_null(fault_of(block + bytes - 1, true));
        assert_ptr_equal(fault_of(block + bytes, true), block + bytes);
        assert_true(nt_pool_explain(kernel->nt, block + bytes, text, sizeof text));
        assert_non_null(strstr(text, "0 bytes behind pool block"));
        assert_non_null(strstr(text, "tag 'Test'"));
        ExFreePool(block);
    }
}

static void blocks_begin_at_one_when_told_to(void **state)
{
    struct test_kernel *kernel = *state;
    uint8_t *block;
    char text[128];

    nt_pool_set_guard(kernel->nt, NT_POOL_GUARD_BEGIN);
    block = ExAllocatePool2(POOL_FLAG_NON_PAGED, 100, TEST_TAG);
    assert_ptr_equal(fault_of(block - 1, false), block - 1);
    assert_true(nt_pool_explain(kernel->nt, block - 1, text, sizeof text));
    assert_string_equal(text, "1 bytes before pool block 1 (100 bytes, tag 'Test')");
    ExFreePool(block);
}

static void use_after_free_faults_and_is_explained(void **state)
{
    struct test_kernel *kernel = *state;
    uint8_t *first, *second;
    char text[128];

    nt_pool_set_guard(kernel->nt, NT_POOL_GUARD_END);
    first = ExAllocatePool2(POOL_FLAG_NON_PAGED, 100, TEST_TAG);
    ExFreePool(first);
    second = ExAllocatePool2(POOL_FLAG_NON_PAGED, 100, TEST_TAG);
    assert_ptr_not_equal(first, second);
    assert_ptr_equal(fault_of(first + 7, false), first + 7);
    assert_true(nt_pool_explain(kernel->nt, first + 7, text, sizeof text));
    assert_string_equal(text, "7 bytes into pool block 1 (100 bytes, tag 'Test'), which was freed");
    assert_false(nt_pool_explain(kernel->nt, second, text, sizeof text));
    assert_false(nt_pool_explain(kernel->nt, &text, text, sizeof text));
    assert_stops_with(0xC2, 0x07, ExFreePool(first));
    assert_int_equal(kernel->parameters[3], (uintptr_t)first);
    assert_stops_with(0xC2, 0x46, ExFreePool(second + 16));
    ExFreePool(second);
}

static void bytes_around_a_block_must_stay(void **state)
{
    struct test_kernel *kernel = *state;
    uint8_t *block;

    nt_pool_set_guard(kernel->nt, NT_POOL_GUARD_END);
    block = ExAllocatePool2(POOL_FLAG_NON_PAGED, 100, TEST_TAG);
    block[101] = 0; /* not at a multiple of 16 yet */
    assert_stops_with(0xC1, (uintptr_t)block, ExFreePool(block));
    assert_int_equal(kernel->parameters[1], (uintptr_t)block + 101);
    assert_int_equal(kernel->parameters[3], 0x24);
    block[101] = 0xf5;
    block[-3] = 0;
    assert_stops_with(0xC1, (uintptr_t)block, ExFreePool(block));
    assert_int_equal(kernel->parameters[3], 0x23);
}

static void who_reads_too_far_in_an_open_pool_goes_on(void **state)
{
    struct test_kernel *kernel = *state;
    uint8_t *block;

    nt_pool_set_guard(kernel->nt, NT_POOL_OPEN);
    block = ExAllocatePool2(POOL_FLAG_NON_PAGED, 100, TEST_TAG);
    assert_int_equal(block[100], 0);
    assert_int_equal(block[16 * PAGE_SIZE], 0);
    block[200] = 1; /* and nobody notices */
    assert_int_not_equal(MmGetPhysicalAddress(block).QuadPart, 0);
    ExFreePool(block);
    assert_ptr_equal(fault_of(block, false), block);
    assert_ptr_equal(fault_of(block + 5 * PAGE_SIZE, false), block + 5 * PAGE_SIZE);
}

static void blocks_become_pages_of_the_machine(void **state)
{
    struct test_kernel *kernel = *state;
    uint8_t *block;
    PHYSICAL_ADDRESS second;
    uint64_t pa;
    uint8_t byte;

    nt_pool_set_guard(kernel->nt, NT_POOL_GUARD_END);
    block = ExAllocatePool2(POOL_FLAG_NON_PAGED, 3 * PAGE_SIZE, TEST_TAG);
    block[PAGE_SIZE + 5] = 0x41;
    pa = (uint64_t)MmGetPhysicalAddress(block + PAGE_SIZE + 5).QuadPart;
    assert_int_equal(pa % PAGE_SIZE, 5);
    assert_int_equal(machine_allocated_pages(kernel->machine), 3);
    assert_true(machine_bus_read(kernel->machine, pa, &byte, 1));
    assert_int_equal(byte, 0x41);
    block[PAGE_SIZE + 5] = 0x42; /* and it stays so */
    assert_true(machine_bus_read(kernel->machine, pa, &byte, 1));
    assert_int_equal(byte, 0x42);
    byte = 0x43;
    assert_true(machine_bus_write(kernel->machine, pa, &byte, 1));
    assert_int_equal(block[PAGE_SIZE + 5], 0x43);
    second = MmGetPhysicalAddress(block + PAGE_SIZE);
    assert_int_equal(second.QuadPart, pa - 5);
    ExFreePool(block);
    assert_int_equal(machine_allocated_pages(kernel->machine), 0);
    assert_ptr_equal(fault_of(block, true), block);
    assert_int_equal(MmGetPhysicalAddress(block).QuadPart, 0);
    assert_non_null(strstr(kernel->missing, "MmGetPhysicalAddress"));
}

static void backing_survives_each_failure(void **state)
{
    struct test_kernel *kernel = *state;
    bool is_backed = false;

    nt_pool_set_guard(kernel->nt, NT_POOL_GUARD_END);
    for (uint64_t n = 1; !is_backed; n++) {
        uint8_t *block = ExAllocatePool2(POOL_FLAG_NON_PAGED, 5000, TEST_TAG);

        memset(block, 0x5a, 5000);
        failing_services_fail_at(&kernel->memory, n);
        is_backed = MmGetPhysicalAddress(block).QuadPart != 0;
        failing_services_fail_at(&kernel->memory, 0);
        for (int i = 0; i < 5000; i++)
            assert_int_equal(block[i], 0x5a);
        ExFreePool(block);
        assert_true(n < 10);
    }
}

static void a_driver_cannot_have_all_memory_of_the_host(void **state)
{
    void *block = ExAllocatePool2(POOL_FLAG_NON_PAGED, PAGE_SIZE, TEST_TAG);

    assert_non_null(block);
    assert_null(ExAllocatePool2(POOL_FLAG_NON_PAGED, SIZE_MAX, TEST_TAG));
    assert_null(
        ExAllocatePoolWithTag(NonPagedPoolNx, NT_POOL_MOST_BYTES - PAGE_SIZE + 1, TEST_TAG));
    ExFreePool(block);
}

static void flags_and_variants_do_what_they_say(void **state)
{
    struct test_kernel *kernel = *state;
    const uint8_t zero[32] = {0};
    void *memory;

    memory = ExAllocatePoolZero(NonPagedPoolNx, 32, TEST_TAG);
    assert_memory_equal(memory, zero, 32);
    ExFreePool2(memory, TEST_TAG, NULL, 0);
    memory = ExAllocatePoolWithQuotaTag((POOL_TYPE)(PagedPool | POOL_QUOTA_FAIL_INSTEAD_OF_RAISE),
                                        32, TEST_TAG);
    assert_non_null(memory);
    ExFreePool(memory);
    memory = ExAllocatePool3(POOL_FLAG_PAGED, 32, TEST_TAG, NULL, 0);
    assert_memory_equal(memory, zero, 32);
    ExFreePool(memory);
    assert_null(ExAllocatePool2(0, 32, TEST_TAG));
    assert_null(ExAllocatePool2(POOL_FLAG_PAGED | POOL_FLAG_NON_PAGED, 32, TEST_TAG));
    nt_pool_fail_at(kernel->nt, 1);
    assert_null(ExAllocatePoolWithQuotaTag(
        (POOL_TYPE)(PagedPool | POOL_QUOTA_FAIL_INSTEAD_OF_RAISE), 32, TEST_TAG));
    nt_pool_fail_at(kernel->nt, 1);
    assert_stops_with(0x1E, (uint64_t)(int64_t)STATUS_INSUFFICIENT_RESOURCES,
                      ExAllocatePool2(POOL_FLAG_PAGED | POOL_FLAG_RAISE_ON_FAILURE, 32, TEST_TAG));
}

static void paged_pool_is_away_at_dispatch_level(void **state)
{
    struct test_kernel *kernel = *state;
    uint8_t *paged = ExAllocatePool2(POOL_FLAG_PAGED, 100, TEST_TAG);
    uint8_t *stays = ExAllocatePool2(POOL_FLAG_NON_PAGED, 100, TEST_TAG);
    struct nt_paged found;
    KSPIN_LOCK lock;
    KIRQL before;

    KeInitializeSpinLock(&lock);
    before = KeAcquireSpinLockRaiseToDpc(&lock);
    assert_ptr_equal(fault_of(paged + 8, true), paged + 8);
    assert_null(fault_of(stays + 8, true));
    assert_true(nt_paging_explain(kernel->nt, paged + 8, &found));
    assert_string_equal(found.name, "paged pool block 1 (tag 'Test')");
    assert_int_equal(found.offset, 8);
    assert_int_equal(found.bytes, 100);
    assert_false(nt_paging_explain(kernel->nt, stays + 8, &found));
    KeReleaseSpinLock(&lock, before);
    assert_true(nt_paging_explain(kernel->nt, paged + 8, &found)); /* until somebody comes to it */
    assert_null(fault_of(paged + 8, true));
    assert_false(nt_paging_explain(kernel->nt, paged + 8, &found));
    KfRaiseIrql(APC_LEVEL);
    assert_null(fault_of(paged + 8, true));
    KeLowerIrql(PASSIVE_LEVEL);
    ExFreePool(stays);
    ExFreePool(paged);
}

/* A loop that polls costs few system calls; another place has the next rise against it again. */
static void a_place_that_comes_again_lets_rises_pass(void **state)
{
    struct test_kernel *kernel = *state;
    uint8_t *paged = ExAllocatePool2(POOL_FLAG_PAGED, 100, TEST_TAG);
    struct nt_paged found;
    uint32_t closed = 0;

    for (uint32_t i = 0; i < 3600; i++) {
        KfRaiseIrql(DISPATCH_LEVEL);
        closed += nt_paging_explain(kernel->nt, paged + 8, &found);
        KeLowerIrql(PASSIVE_LEVEL);
        assert_null(fault_of(paged + 8, false));
    }
    assert_in_range(closed, 200, 240); /* the n-th time, 1 + n / 8 rises: 240 * 240 / 16 are 3600 */
    do {
        KfRaiseIrql(DISPATCH_LEVEL);
        KeLowerIrql(PASSIVE_LEVEL);
    } while (!nt_paging_explain(kernel->nt, paged + 8, &found));
    assert_null(fault_of(paged + 9, false));
    KfRaiseIrql(DISPATCH_LEVEL);
    assert_true(nt_paging_explain(kernel->nt, paged + 8, &found));
    KeLowerIrql(PASSIVE_LEVEL);
    ExFreePool(paged);
}

/* The block comes while others are still closed. */
static void a_new_block_is_away_at_the_next_rise(void **state)
{
    struct test_kernel *kernel = *state;
    uint8_t *first = ExAllocatePool2(POOL_FLAG_PAGED, 100, TEST_TAG), *second;
    struct nt_paged found;

    KfRaiseIrql(DISPATCH_LEVEL);
    KeLowerIrql(PASSIVE_LEVEL);
    assert_true(nt_paging_explain(kernel->nt, first, &found));
    second = ExAllocatePool2(POOL_FLAG_PAGED, 100, TEST_TAG);
    KfRaiseIrql(DISPATCH_LEVEL);
    assert_ptr_equal(fault_of(second + 8, true), second + 8);
    KeLowerIrql(PASSIVE_LEVEL);
    ExFreePool(second);
    ExFreePool(first);
}

/* A run that cannot be taken down frees the kernel whole: no handler may look into it then. */
static void addresses_that_are_given_up_are_nobodys(void **state)
{
    struct test_kernel *kernel = *state;
    uint8_t *paged = ExAllocatePool2(POOL_FLAG_PAGED, 100, TEST_TAG);

    KfRaiseIrql(DISPATCH_LEVEL);
    KeLowerIrql(PASSIVE_LEVEL);
    nt_give_up_addresses(kernel->nt);
    assert_false(page_fault_take(paged + 8));
}

/* Who has locked its pages may use them at any level. */
static void locked_paged_pool_stays(void **state)
{
    uint8_t *paged = ExAllocatePool2(POOL_FLAG_PAGED, 100, TEST_TAG);
    MDL *list = IoAllocateMdl(paged, 100, FALSE, FALSE, NULL);

    MmProbeAndLockPages(list, KernelMode, IoModifyAccess);
    KfRaiseIrql(DISPATCH_LEVEL);
    assert_null(fault_of(paged + 8, true));
    KeLowerIrql(PASSIVE_LEVEL);
    MmUnlockPages(list);
    IoFreeMdl(list);
    ExFreePool(paged);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(a_block_knows_the_call_that_took_it),
        KERNEL_TEST(blocks_end_at_a_page_that_nobody_may_touch),
        KERNEL_TEST(blocks_begin_at_one_when_told_to),
        KERNEL_TEST(use_after_free_faults_and_is_explained),
        KERNEL_TEST(bytes_around_a_block_must_stay),
        MACHINE_TEST(who_reads_too_far_in_an_open_pool_goes_on),
        MACHINE_TEST(blocks_become_pages_of_the_machine),
        MACHINE_TEST(backing_survives_each_failure),
        KERNEL_TEST(paged_pool_is_away_at_dispatch_level),
        KERNEL_TEST(a_place_that_comes_again_lets_rises_pass),
        KERNEL_TEST(a_new_block_is_away_at_the_next_rise),
        KERNEL_TEST(addresses_that_are_given_up_are_nobodys),
        MACHINE_TEST(locked_paged_pool_stays),
        KERNEL_TEST(a_driver_cannot_have_all_memory_of_the_host),
        KERNEL_TEST(flags_and_variants_do_what_they_say),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
