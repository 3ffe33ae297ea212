#include "nt/rig/test_fault.h"
#include "nt/rig/test_kernel.h"

#include "nt/memory/mapping.h"
#include "nt/threads/scheduler.h"

#include <string.h>

#define TAG 0x31746754u
#define PTE 0xDA
#define ANYWHERE                                                                                   \
    (PHYSICAL_ADDRESS){.QuadPart = 0}, (PHYSICAL_ADDRESS){.QuadPart = INT64_MAX},                  \
        (PHYSICAL_ADDRESS)                                                                         \
    {                                                                                              \
        .QuadPart = 0                                                                              \
    }

static unsigned left;

static void on_left(void *context, const char *text)
{
    left += strstr(text, "MmAllocateMappingAddress") != NULL;
}

static unsigned ranges_left(struct test_kernel *kernel)
{
    left = 0;
    nt_for_each_leftover(kernel->nt, on_left, NULL);
    return left;
}

static void one_range_shows_one_list_after_another(void **state)
{
    struct test_kernel *kernel = *state;
    PMDL lists[2] = {MmAllocatePagesForMdlEx(ANYWHERE, 3 * PAGE_SIZE, MmCached, 0),
                     MmAllocatePagesForMdlEx(ANYWHERE, 2 * PAGE_SIZE, MmCached, 0)};
    uint8_t *range = MmAllocateMappingAddress(3 * PAGE_SIZE - 5, TAG);

    assert_non_null(range);
    assert_true(faults(range));
    assert_int_equal(ranges_left(kernel), 1);
    for (unsigned i = 0; i < 2; i++) {
        uint8_t *view = MmMapLockedPagesWithReservedMapping(range, TAG, lists[i], MmCached);

        assert_ptr_equal(view, range);
        assert_ptr_equal(lists[i]->MappedSystemVa, range);
        view[PAGE_SIZE + i] = (uint8_t)(0x40 + i);
        MmUnmapReservedMapping(view, TAG, lists[i]);
        assert_null(lists[i]->MappedSystemVa);
        assert_true(faults(range + PAGE_SIZE));
    }
    MmFreeMappingAddress(range, TAG);
    assert_int_equal(ranges_left(kernel), 0);
    for (unsigned i = 0; i < 2; i++) {
        uint8_t *view = MmGetSystemAddressForMdlSafe(lists[i], NormalPagePriority);

        assert_int_equal(view[PAGE_SIZE + i], 0x40 + i);
        MmFreePagesFromMdl(lists[i]);
        ExFreePool(lists[i]);
    }
}

static void a_list_keeps_its_offset(void **state)
{
    uint8_t *block = ExAllocatePool2(POOL_FLAG_NON_PAGED, 2 * PAGE_SIZE, TAG);
    uint8_t *range = MmAllocateMappingAddress(PAGE_SIZE, TAG), *view;
    PMDL mdl = IoAllocateMdl(block + 100, 50, FALSE, FALSE, NULL);
    PMDL large = IoAllocateMdl(block + 100, PAGE_SIZE, FALSE, FALSE, NULL);

    MmProbeAndLockPages(mdl, KernelMode, IoModifyAccess);
    MmProbeAndLockPages(large, KernelMode, IoModifyAccess);
    assert_null(MmMapLockedPagesWithReservedMapping(range, TAG, large, MmCached));
    view = MmMapLockedPagesWithReservedMapping(range, TAG, mdl, MmCached);
    assert_ptr_equal(view, range + mdl->ByteOffset);
    view[0] = 9;
    MmUnmapReservedMapping(view, TAG, mdl);
    assert_int_equal(block[100], 9);
    MmUnlockPages(mdl);
    MmUnlockPages(large);
    IoFreeMdl(mdl);
    IoFreeMdl(large);
    MmFreeMappingAddress(range, TAG);
    ExFreePoolWithTag(block, TAG);
}

/* Giving the pages back ends what shows them, and the addresses know. */
static void pages_that_go_leave_the_addresses(void **state)
{
    PMDL mdl = MmAllocatePagesForMdlEx(ANYWHERE, PAGE_SIZE, MmCached, 0);
    uint8_t *range = MmAllocateMappingAddress(PAGE_SIZE, TAG);

    assert_non_null(MmMapLockedPagesWithReservedMapping(range, TAG, mdl, MmCached));
    MmFreePagesFromMdl(mdl);
    ExFreePool(mdl);
    mdl = MmAllocatePagesForMdlEx(ANYWHERE, PAGE_SIZE, MmCached, 0);
    assert_non_null(MmMapLockedPagesWithReservedMapping(range, TAG, mdl, MmCached));
    MmUnmapReservedMapping(range, TAG, mdl);
    MmFreePagesFromMdl(mdl);
    ExFreePool(mdl);
    MmFreeMappingAddress(range, TAG);
}

static void misuse_is_what_windows_calls_it(void **state)
{
    PMDL mdl = MmAllocatePagesForMdlEx(ANYWHERE, PAGE_SIZE, MmCached, 0);
    PMDL other = MmAllocatePagesForMdlEx(ANYWHERE, PAGE_SIZE, MmCached, 0);
    uint8_t *range = MmAllocateMappingAddress(PAGE_SIZE, TAG);

    assert_stops_with(PTE, 0x100, MmAllocateMappingAddress(0, TAG));
    assert_stops_with(PTE, 0x102, MmFreeMappingAddress(range + PAGE_SIZE, TAG));
    assert_stops_with(PTE, 0x101, MmFreeMappingAddress(range, TAG + 1));
    assert_stops_with(PTE, 0x105,
                      MmMapLockedPagesWithReservedMapping(range + PAGE_SIZE, TAG, mdl, MmCached));
    assert_stops_with(PTE, 0x104,
                      MmMapLockedPagesWithReservedMapping(range, TAG + 1, mdl, MmCached));
    assert_stops_with(PTE, 0x10B, MmUnmapReservedMapping(range, TAG, mdl));
    assert_non_null(MmMapLockedPagesWithReservedMapping(range, TAG, mdl, MmCached));
    assert_stops_with(PTE, 0x107, MmMapLockedPagesWithReservedMapping(range, TAG, other, MmCached));
    assert_stops_with(PTE, 0x103, MmFreeMappingAddress(range, TAG));
    assert_stops_with(PTE, 0x108, MmUnmapReservedMapping(range, TAG + 1, mdl));
    assert_stops_with(PTE, 0x10B, MmUnmapReservedMapping(range, TAG, other));
    assert_stops_with(PTE, 0x109, MmUnmapReservedMapping(range + PAGE_SIZE, TAG, mdl));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MACHINE_TEST(one_range_shows_one_list_after_another),
        MACHINE_TEST(a_list_keeps_its_offset),
        MACHINE_TEST(pages_that_go_leave_the_addresses),
        MACHINE_TEST(misuse_is_what_windows_calls_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
