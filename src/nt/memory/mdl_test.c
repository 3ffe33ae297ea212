#include "nt/machine/bug_check.h"
#include "nt/memory/mapping.h"
#include "nt/rig/test_fault.h"
#include "nt/rig/test_kernel.h"

#include <string.h>

static const PHYSICAL_ADDRESS lowest = {.QuadPart = 0}, highest = {.QuadPart = INT64_MAX};
#define ANYWHERE lowest, (PHYSICAL_ADDRESS){.QuadPart = INT64_MAX}, lowest

static void a_list_has_the_bytes_of_windows(void **state)
{
    PMDL mdl = IoAllocateMdl((PVOID)(uintptr_t)0x12345678, 0x3000, FALSE, FALSE, NULL);

    assert_int_equal(sizeof(MDL), 48);
    assert_int_equal(mdl->Size, 48 + 4 * 8);
    assert_int_equal(mdl->MdlFlags, MDL_ALLOCATED_FIXED_SIZE);
    assert_ptr_equal(MmGetMdlVirtualAddress(mdl), (PVOID)(uintptr_t)0x12345678);
    assert_ptr_equal(mdl->StartVa, (PVOID)(uintptr_t)0x12345000);
    assert_int_equal(MmGetMdlByteOffset(mdl), 0x678);
    assert_int_equal(MmGetMdlByteCount(mdl), 0x3000);
    assert_null(mdl->Next);
    assert_null(mdl->MappedSystemVa);
    assert_int_equal(MmSizeOfMdl((PVOID)(uintptr_t)0x12345678, 0x3000), 80);
    IoFreeMdl(mdl);
}

static void pages_are_taken_mapped_and_given_back(void **state)
{
    struct test_kernel *kernel = *state;

    for (uint64_t pages = 1; pages <= 1000; pages = pages * 10) {
        PMDL mdl = MmAllocatePagesForMdlEx(ANYWHERE, pages * PAGE_SIZE, MmCached, 0);
        uint8_t *view, byte;

        assert_non_null(mdl);
        assert_int_equal(mdl->MdlFlags & ~MDL_ALLOCATED_FIXED_SIZE, MDL_PAGES_LOCKED);
        assert_int_equal(mdl->ByteCount, pages * PAGE_SIZE);
        assert_int_equal(machine_allocated_pages(kernel->machine), pages);
        view = MmGetSystemAddressForMdlSafe(mdl, NormalPagePriority | MdlMappingNoExecute);
        assert_non_null(view);
        assert_ptr_equal(MmGetSystemAddressForMdlSafe(mdl, NormalPagePriority), view);
        for (uint64_t i = 0; i < pages; i++) {
            uint64_t pa = MmGetMdlPfnArray(mdl)[i] * PAGE_SIZE;

            assert_int_equal(view[i * PAGE_SIZE + 9], 0);
            view[i * PAGE_SIZE + 9] = (uint8_t)(i + 1);
            assert_true(machine_bus_read(kernel->machine, pa + 9, &byte, 1));
            assert_int_equal(byte, (uint8_t)(i + 1));
            assert_int_equal(MmGetPhysicalAddress(view + i * PAGE_SIZE + 9).QuadPart, pa + 9);
        }
        MmUnmapLockedPages(view, mdl);
        assert_int_equal(mdl->MdlFlags & ~MDL_ALLOCATED_FIXED_SIZE, MDL_PAGES_LOCKED);
        assert_true(faults(view)); /* a stale mapping */
        assert_true(faults(view + pages * PAGE_SIZE - 1));
        MmFreePagesFromMdl(mdl);
        ExFreePool(mdl);
        assert_int_equal(machine_allocated_pages(kernel->machine), 0);
    }
}

static void pages_of_others_are_seen_through_a_list(void **state)
{
    struct test_kernel *kernel = *state;
    PMDL mdl = IoAllocateMdl(NULL, 4 * PAGE_SIZE, FALSE, FALSE, NULL);
    uint8_t *view;

    /* as the memory manager hands them out: in system memory, and through BAR 1 */
    assert_true(machine_alloc_pages(kernel->machine, 4, MmGetMdlPfnArray(mdl)));
    mdl->MdlFlags |= MDL_PAGES_LOCKED;
    view = MmMapLockedPagesSpecifyCache(mdl, KernelMode, MmWriteCombined, NULL, FALSE,
                                        NormalPagePriority);
    memset(view, 0x77, 4 * PAGE_SIZE);
    for (int i = 0; i < 4; i++)
        assert_int_equal(
            page_store_bytes(machine_ram(kernel->machine), MmGetMdlPfnArray(mdl)[i])[4095], 0x77);
    MmUnmapLockedPages(view, mdl);
    machine_free_pages(kernel->machine, MmGetMdlPfnArray(mdl), 4);
    for (uint64_t i = 0; i < 4; i++)
        MmGetMdlPfnArray(mdl)[i] = machine_bar1_pa(kernel->machine) / PAGE_SIZE + 7 - i;
    view = MmMapLockedPagesSpecifyCache(mdl, KernelMode, MmCached, NULL, FALSE, 0);
    view[0] = 0x11;
    assert_int_equal(page_store_bytes(machine_local(kernel->machine), 7)[0], 0x11);
    MmUnmapLockedPages(view, mdl);
    MmGetMdlPfnArray(mdl)[2] = UINT64_C(1) << 50; /* nobody answers */
    assert_null(MmMapLockedPagesSpecifyCache(mdl, KernelMode, MmCached, NULL, FALSE, 0));
    IoFreeMdl(mdl);
}

static void lists_describe_pool_and_parts_of_others(void **state)
{
    uint8_t *block = ExAllocatePool2(POOL_FLAG_NON_PAGED, 5 * PAGE_SIZE, TEST_TAG);
    PMDL mdl = IoAllocateMdl(block + 100, 4 * PAGE_SIZE, FALSE, FALSE, NULL);
    PMDL part = IoAllocateMdl(block + 2 * PAGE_SIZE + 8, 50, FALSE, FALSE, NULL);
    uint8_t *view;

    MmBuildMdlForNonPagedPool(mdl);
    assert_int_equal(mdl->MdlFlags, MDL_ALLOCATED_FIXED_SIZE | MDL_SOURCE_IS_NONPAGED_POOL);
    assert_ptr_equal(MmGetSystemAddressForMdlSafe(mdl, 0), block + 100);
    for (int i = 0; i < 5; i++)
        assert_int_equal(MmGetMdlPfnArray(mdl)[i] * PAGE_SIZE,
                         MmGetPhysicalAddress(block + i * PAGE_SIZE).QuadPart);
    IoBuildPartialMdl(mdl, part, block + 2 * PAGE_SIZE + 8, 50);
    assert_int_equal(MmGetMdlPfnArray(part)[0], MmGetMdlPfnArray(mdl)[2]);
    assert_int_equal(part->ByteOffset, 8);
    assert_int_equal(part->ByteCount, 50);
    assert_true(part->MdlFlags & MDL_PARTIAL);
    assert_ptr_equal(part->MappedSystemVa, block + 2 * PAGE_SIZE + 8);
    IoFreeMdl(part);
    IoFreeMdl(mdl);

    mdl = IoAllocateMdl(block + 100, 4 * PAGE_SIZE, FALSE, FALSE, NULL);
    MmProbeAndLockPages(mdl, KernelMode, IoModifyAccess);
    assert_true(mdl->MdlFlags & MDL_PAGES_LOCKED && mdl->MdlFlags & MDL_WRITE_OPERATION);
    view = MmGetSystemAddressForMdlSafe(mdl, 0);
    assert_ptr_not_equal(view, block + 100);
    view[3] = 0x99;
    assert_int_equal(block[103], 0x99);
    part = IoAllocateMdl(block + PAGE_SIZE, 50, FALSE, FALSE, NULL);
    assert_stops_with(0x40, 0, IoBuildPartialMdl(mdl, part, block + PAGE_SIZE, 0));
    IoFreeMdl(part);
    part = IoAllocateMdl(block + PAGE_SIZE, 4 * PAGE_SIZE, FALSE, FALSE, NULL);
    IoBuildPartialMdl(mdl, part, block + PAGE_SIZE, 0);
    assert_int_equal(part->ByteCount, 3 * PAGE_SIZE + 100);
    IoFreeMdl(part);
    MmUnlockPages(mdl); /* unmaps as well */
    assert_false(mdl->MdlFlags & (MDL_PAGES_LOCKED | MDL_MAPPED_TO_SYSTEM_VA));
    assert_stops_with(0x4E, 0x07, MmUnlockPages(mdl));
    IoFreeMdl(mdl);
    mdl = IoAllocateMdl((PVOID)(uintptr_t)0x10000, 8, FALSE, FALSE, NULL);
    assert_stops_with(0x1E, (uint64_t)(int64_t)STATUS_ACCESS_VIOLATION,
                      MmProbeAndLockPages(mdl, UserMode, IoReadAccess));
    IoFreeMdl(mdl);
    ExFreePool(block);
}

static void mistakes_with_lists_stop_the_machine(void **state)
{
    PMDL mdl = MmAllocatePagesForMdlEx(ANYWHERE, 2 * PAGE_SIZE, MmCached, 0);
    PMDL other = IoAllocateMdl(NULL, 8, FALSE, FALSE, NULL);
    uint8_t *view;
    PFN_NUMBER first;

    assert_stops_with(0xDA, 6, MmUnmapLockedPages(&first, mdl));
    assert_stops_with(0xDA, 6,
                      MmMapLockedPagesSpecifyCache(other, KernelMode, MmCached, NULL, FALSE, 0));
    view = MmMapLockedPagesSpecifyCache(mdl, KernelMode, MmCached, NULL, FALSE, 0);
    assert_stops_with(0xDA, 6,
                      MmMapLockedPagesSpecifyCache(mdl, KernelMode, MmCached, NULL, FALSE, 0));
    assert_stops_with(0xDA, 3, MmUnmapLockedPages(view + PAGE_SIZE, mdl));
    first = MmGetMdlPfnArray(mdl)[0];
    MmGetMdlPfnArray(mdl)[0]++;
    assert_stops_with(0xDA, 4, MmUnmapLockedPages(view, mdl));
    assert_stops_with(0x4E, 0x99, MmFreePagesFromMdl(mdl));
    MmGetMdlPfnArray(mdl)[0] = first;
    assert_stops_with(0x4E, 0x07, MmFreePagesFromMdl(other));
    MmFreePagesFromMdl(mdl);
    assert_true(faults(view)); /* what the driver forgot to unmap */
    ExFreePool(mdl);
    IoFreeMdl(other);
}

static void lists_that_are_freed_too_early_are_told(void **state)
{
    struct test_kernel *kernel = *state;
    uint8_t *block = ExAllocatePool2(POOL_FLAG_NON_PAGED, 3 * PAGE_SIZE, TEST_TAG);
    PMDL mdl = IoAllocateMdl(block, 2 * PAGE_SIZE, FALSE, FALSE, NULL), again;
    uint64_t bytes;
    uint8_t *view;

    MmProbeAndLockPages(mdl, KernelMode, IoModifyAccess);
    assert_string_equal(kernel->misuse, "");
    MmProbeAndLockPages(mdl, KernelMode, IoModifyAccess);
    assert_string_equal(kernel->misuse,
                        "MmProbeAndLockPages: the pages of this MDL are locked already");
    assert_int_equal(nt_held_list_count(kernel->nt, &bytes), 1);
    IoFreeMdl(mdl);
    assert_string_equal(
        kernel->misuse,
        "an MDL is freed while 2 pages are locked by it; MmUnlockPages comes first");
    assert_int_equal(nt_held_list_count(kernel->nt, &bytes), 1); /* for ever */
    /* A new one, which may lie where that one lay, has nothing to do with it. */
    again = IoAllocateMdl(block, 2 * PAGE_SIZE, FALSE, FALSE, NULL);
    assert_stops_with(0x4E, 0x07, MmUnlockPages(again));
    kernel->misuse[0] = '\0';
    MmProbeAndLockPages(again, KernelMode, IoModifyAccess);
    MmUnlockPages(again);
    IoFreeMdl(again);
    assert_string_equal(kernel->misuse, "");

    mdl = MmAllocatePagesForMdlEx(ANYWHERE, 3 * PAGE_SIZE, MmCached, 0);
    ExFreePool(mdl);
    assert_string_equal(
        kernel->misuse,
        "an MDL is freed while 3 pages are its own; MmFreePagesFromMdl comes first");

    mdl = MmAllocatePagesForMdlEx(ANYWHERE, PAGE_SIZE, MmCached, 0);
    MmFreePagesFromMdl(mdl);
    mdl->MdlFlags |= MDL_PARTIAL;
    MmGetMdlPfnArray(mdl)[0] = MmGetPhysicalAddress(block).QuadPart / PAGE_SIZE;
    view = MmMapLockedPagesSpecifyCache(mdl, KernelMode, MmCached, NULL, FALSE, 0);
    ExFreePool(mdl);
    assert_string_equal(kernel->misuse,
                        "an MDL is freed while it is mapped; MmUnmapLockedPages comes first");
    assert_false(faults(view)); /* it stays, as there */
    ExFreePool(block);
}

static void what_is_left_is_counted_and_taken_down(void **state)
{
    struct test_kernel *kernel = *state;
    PMDL mdl = MmAllocatePagesForMdlEx(ANYWHERE, 2 * PAGE_SIZE, MmCached, 0);
    uint64_t bytes;

    assert_int_equal(nt_held_list_count(kernel->nt, &bytes), 1);
    assert_int_equal(bytes, 2 * PAGE_SIZE);
    MmMapLockedPagesSpecifyCache(mdl, KernelMode, MmCached, NULL, FALSE, 0);
    assert_int_equal(nt_mapping_count(kernel->nt, &bytes), 1);
    assert_int_equal(bytes, 2 * PAGE_SIZE);
    assert_non_null(MmAllocateContiguousMemory(100, highest));
    assert_int_equal(nt_mapping_count(kernel->nt, &bytes), 2);
    /* teardown: destroying the kernel gives all pages back */
}

static void pages_come_from_the_range_that_is_asked_for(void **state)
{
    struct test_kernel *kernel = *state;
    const PHYSICAL_ADDRESS low = {.QuadPart = 16 << 20}, high = {.QuadPart = (32 << 20) - 1};
    PMDL mdl = MmAllocatePagesForMdl(low, high, lowest, 20 << 20);

    assert_non_null(mdl); /* fewer than asked for: all that there are */
    assert_int_equal(mdl->ByteCount, 16 << 20);
    for (uint64_t i = 0; i < 4096; i++)
        assert_in_range(MmGetMdlPfnArray(mdl)[i], 4096, 8191);
    assert_int_equal(machine_allocated_pages(kernel->machine), 4096);
    MmFreePagesFromMdl(mdl);
    ExFreePool(mdl);
    assert_null(
        MmAllocatePagesForMdlEx(low, high, lowest, 20 << 20, MmCached, MM_ALLOCATE_FULLY_REQUIRED));
    assert_int_equal(machine_allocated_pages(kernel->machine), 0);
    assert_null(MmAllocatePagesForMdlEx(ANYWHERE, 128 << 20, MmCached, MM_ALLOCATE_FULLY_REQUIRED));
    mdl = MmAllocatePagesForMdlEx(ANYWHERE, 1 << 20, MmCached,
                                  MM_ALLOCATE_REQUIRE_CONTIGUOUS_CHUNKS | MM_DONT_ZERO_ALLOCATION);
    for (uint64_t i = 1; i < 256; i++)
        assert_int_equal(MmGetMdlPfnArray(mdl)[i], MmGetMdlPfnArray(mdl)[0] + i);
    MmFreePagesFromMdl(mdl);
    ExFreePool(mdl);
}

static void contiguous_memory_is_that(void **state)
{
    struct test_kernel *kernel = *state;
    const PHYSICAL_ADDRESS boundary = {.QuadPart = 0x10000}, first_page = {.QuadPart = 0xfff};
    uint8_t *block = MmAllocateContiguousMemorySpecifyCache(
        3 * PAGE_SIZE, lowest, (PHYSICAL_ADDRESS){.QuadPart = INT64_MAX}, boundary, MmNonCached);
    uint64_t pa = (uint64_t)MmGetPhysicalAddress(block).QuadPart;

    assert_non_null(block);
    assert_int_equal(pa / 0x10000, (pa + 3 * PAGE_SIZE - 1) / 0x10000);
    for (int i = 0; i < 3; i++)
        assert_int_equal(MmGetPhysicalAddress(block + i * PAGE_SIZE).QuadPart, pa + i * PAGE_SIZE);
    assert_ptr_equal(MmGetVirtualForPhysical(MmGetPhysicalAddress(block + 5000)), block + 5000);
    assert_null(MmAllocateContiguousMemory(PAGE_SIZE, first_page));
    MmFreeContiguousMemory(block);
    assert_true(faults(block));
    assert_stops_with(NT_BAD_POOL_CALLER, NT_POOL_FREE_CONTIGUOUS, MmFreeContiguousMemory(block));
    assert_ptr_equal((void *)(uintptr_t)kernel->parameters[1], block);
}

static void what_stands_in_for_memory_has_its_pages(void **state)
{
    struct test_kernel *kernel = *state;
    uint8_t *block =
        MmAllocateContiguousMemory(2 * PAGE_SIZE, (PHYSICAL_ADDRESS){.QuadPart = INT64_MAX});
    uint64_t pa = (uint64_t)MmGetPhysicalAddress(block).QuadPart;
    static _Alignas(PAGE_SIZE) uint8_t copy[2 * PAGE_SIZE];

    nt_stand_in(kernel->nt, copy, block, sizeof copy);
    assert_int_equal(MmGetPhysicalAddress(copy + PAGE_SIZE + 24).QuadPart, pa + PAGE_SIZE + 24);
    nt_stand_in(kernel->nt, NULL, NULL, 0);
    assert_int_equal(MmGetPhysicalAddress(copy + PAGE_SIZE + 24).QuadPart, 0);
    MmFreeContiguousMemory(block);
}

static void memory_of_a_client_is_locked_page_by_page(void **state)
{
    struct test_kernel *kernel = *state;
    static _Alignas(PAGE_SIZE) uint8_t client[2 * PAGE_SIZE];
    uint8_t content[2 * PAGE_SIZE];
    uint64_t pfns[2];
    PMDL mdl = IoAllocateMdl(client + 24, PAGE_SIZE, FALSE, FALSE, NULL);

    assert_true(machine_alloc_pages(kernel->machine, 2, pfns));
    memset(content, 0x11, PAGE_SIZE);
    memset(content + PAGE_SIZE, 0x22, PAGE_SIZE);
    machine_write_pages(kernel->machine, pfns, 2, content);
    assert_int_equal(MmGetPhysicalAddress(client).QuadPart, 0);
    nt_set_client_pages(kernel->nt, client, pfns, 2);
    MmProbeAndLockPages(mdl, UserMode, IoReadAccess);
    assert_int_equal(MmGetMdlPfnArray(mdl)[0], pfns[0]);
    assert_int_equal(MmGetMdlPfnArray(mdl)[1], pfns[1]);
    {
        const uint8_t *view = MmGetSystemAddressForMdlSafe(mdl, NormalPagePriority);

        assert_non_null(view);
        assert_int_equal(view[0], 0x11);
        assert_int_equal(view[PAGE_SIZE - 1], 0x22);
    }
    MmUnlockPages(mdl);
    IoFreeMdl(mdl);
    nt_set_client_pages(kernel->nt, NULL, NULL, 0);
    assert_int_equal(MmGetPhysicalAddress(client + PAGE_SIZE).QuadPart, 0);
    machine_free_pages(kernel->machine, pfns, 2);
}

static uint64_t on_read(void *context, uint64_t offset, unsigned size)
{
    return offset + 1;
}

static void on_write(void *context, uint64_t offset, unsigned size, uint64_t value)
{
    *(uint64_t *)context = offset;
}

static void device_memory_is_mapped_and_copied(void **state)
{
    struct test_kernel *kernel = *state;
    const struct machine_registers registers = {2 * PAGE_SIZE, on_read, on_write};
    PHYSICAL_ADDRESS pa = {.QuadPart = (LONGLONG)machine_bar1_pa(kernel->machine) + 0x234};
    MM_COPY_ADDRESS from;
    uint64_t written = 0;
    uint8_t *view, *other, copy[2];
    SIZE_T copied;

    view = MmMapIoSpace(pa, 4 << 20, MmWriteCombined);
    assert_int_equal((uintptr_t)view % PAGE_SIZE, 0x234);
    view[(4 << 20) - 1] = 0x3c;
    from.PhysicalAddress.QuadPart = pa.QuadPart + (4 << 20) - 2;
    assert_int_equal(MmCopyMemory(copy, from, 2, MM_COPY_MEMORY_PHYSICAL, &copied), STATUS_SUCCESS);
    assert_int_equal(copied, 2);
    assert_int_equal(copy[1], 0x3c);
    from.VirtualAddress = view + (4 << 20) - 1;
    assert_int_equal(MmCopyMemory(copy, from, 1, MM_COPY_MEMORY_VIRTUAL, &copied), STATUS_SUCCESS);
    assert_int_equal(copy[0], 0x3c);
    assert_stops_with(0xDA, 2, MmUnmapIoSpace(view, 1 << 20));
    MmUnmapIoSpace(view, 4 << 20);
    assert_true(faults(view));
    assert_stops_with(0xDA, 3, MmUnmapIoSpace(view, 4 << 20));

    assert_true(machine_set_registers(kernel->machine, &registers, &written));
    pa.QuadPart = (LONGLONG)machine_bar0_pa(kernel->machine) + 0x10;
    view = MmMapIoSpaceEx(pa, 0x100, PAGE_READWRITE | PAGE_NOCACHE);
    other = MmMapIoSpace(pa, 0x20, MmNonCached);
    assert_int_equal(READ_REGISTER_ULONG((ULONG *)(view + 4)), 0x15);
    WRITE_REGISTER_ULONG((ULONG *)(other + 8), 1);
    assert_int_equal(written, 0x18);
    assert_int_equal(MmGetPhysicalAddress(view).QuadPart, pa.QuadPart);
    from.PhysicalAddress = pa;
    assert_int_equal(MmCopyMemory(copy, from, 1, MM_COPY_MEMORY_PHYSICAL, &copied),
                     STATUS_INVALID_ADDRESS);
    MmUnmapIoSpace(view, 0x100);
    MmUnmapIoSpace(other, 0x20);
    pa.QuadPart = INT64_MAX - 0x1000;
    assert_null(MmMapIoSpace(pa, 16, MmNonCached));
}

static void an_address_is_valid_while_it_is_the_drivers(void **state)
{
    struct test_kernel *kernel = *state;
    const struct machine_registers registers = {2 * PAGE_SIZE, on_read, on_write};
    PHYSICAL_ADDRESS pa = {.QuadPart = (LONGLONG)machine_bar1_pa(kernel->machine)};
    uint8_t *block = ExAllocatePoolWithTag(NonPagedPoolNx, 2 * PAGE_SIZE, 0x616263);
    uint8_t *small = ExAllocatePoolWithTag(NonPagedPoolNx, 16, 0x616263);
    uint8_t *view = MmMapIoSpace(pa, PAGE_SIZE, MmWriteCombined);
    uint64_t written = 0;

    assert_true(MmIsAddressValid(block + PAGE_SIZE) && MmIsAddressValid(small + 15));
    assert_true(MmIsAddressValid(view) && MmIsAddressValid(view + PAGE_SIZE - 1));
    assert_false(MmIsAddressValid(block - 1));
    assert_false(MmIsAddressValid(view + PAGE_SIZE));
    assert_false(MmIsAddressValid(NULL));
    ExFreePool(block);
    ExFreePool(small);
    MmUnmapIoSpace(view, PAGE_SIZE);
    assert_false(MmIsAddressValid(block));
    assert_false(MmIsAddressValid(view));
    assert_true(machine_set_registers(kernel->machine, &registers, &written));
    pa.QuadPart = (LONGLONG)machine_bar0_pa(kernel->machine);
    view = MmMapIoSpace(pa, PAGE_SIZE, MmNonCached);
    assert_true(MmIsAddressValid(view));
    MmUnmapIoSpace(view, PAGE_SIZE);
}

static void every_failure_of_memory_leaves_it_whole(void **state)
{
    struct test_kernel *kernel = *state;
    bool is_done = false;

    for (uint64_t n = 1; !is_done; n++) {
        PMDL mdl;
        uint8_t *view = NULL;

        failing_services_fail_at(&kernel->memory, n);
        mdl = MmAllocatePagesForMdlEx(ANYWHERE, 300 * PAGE_SIZE, MmCached, 0);
        if (mdl)
            view = MmMapLockedPagesSpecifyCache(mdl, KernelMode, MmCached, NULL, FALSE, 0);
        is_done = view != NULL;
        failing_services_fail_at(&kernel->memory, 0);
        if (view)
            MmUnmapLockedPages(view, mdl);
        if (mdl) {
            MmFreePagesFromMdl(mdl);
            ExFreePool(mdl);
        }
        assert_int_equal(machine_allocated_pages(kernel->machine), 0);
        assert_int_equal(nt_pool_live_blocks(kernel->nt), 0);
        assert_true(n < 40);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MACHINE_TEST(a_list_has_the_bytes_of_windows),
        MACHINE_TEST(pages_are_taken_mapped_and_given_back),
        MACHINE_TEST(pages_of_others_are_seen_through_a_list),
        MACHINE_TEST(lists_describe_pool_and_parts_of_others),
        MACHINE_TEST(mistakes_with_lists_stop_the_machine),
        MACHINE_TEST(lists_that_are_freed_too_early_are_told),
        MACHINE_TEST(what_is_left_is_counted_and_taken_down),
        MACHINE_TEST(pages_come_from_the_range_that_is_asked_for),
        MACHINE_TEST(contiguous_memory_is_that),
        MACHINE_TEST(what_stands_in_for_memory_has_its_pages),
        MACHINE_TEST(memory_of_a_client_is_locked_page_by_page),
        MACHINE_TEST(device_memory_is_mapped_and_copied),
        MACHINE_TEST(an_address_is_valid_while_it_is_the_drivers),
        MACHINE_TEST(every_failure_of_memory_leaves_it_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
