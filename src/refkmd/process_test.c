/*
 * Processes: the range of addresses that some boards' driver has for itself.
 */
#include "refkmd/rig/test_kernel.h"

#include <string.h>

#define LOCAL   1u
#define SPAN    (UINT64_C(1) << 39) /* of an entry of the root: 512 GiB */
#define OWN_VA  (3 * SPAN)
#define KERNELS ((HANDLE)(uintptr_t)0x5150)
#define ROOT    0x10000u /* in local memory */

static struct test_kernel kernel;
static DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE asked;
static unsigned ask_count;
static NTSTATUS answer;

static NTSTATUS NTAPI reserve(const HANDLE adapter, DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE *range)
{
    assert_ptr_equal(adapter, kernel.dxgkrnl.DeviceHandle);
    ask_count++;
    asked = *range;
    if (NT_SUCCESS(answer))
        range->StartVirtualAddress = OWN_VA;
    return answer;
}

static void start(PDRIVER_INITIALIZE entry, uint32_t straps)
{
    struct machine_config config;
    struct sgpu_config gpu_config;

    test_config_defaults(&config, &gpu_config);
    gpu_config.straps = straps;
    test_create(&kernel, entry, &config, &gpu_config);
    kernel.dxgkrnl.DxgkCbReserveGpuVirtualAddressRange = reserve;
    ask_count = 0;
    answer = STATUS_SUCCESS;
    assert_int_equal(test_start(&kernel), STATUS_SUCCESS);
}

static NTSTATUS create_process(bool is_system, HANDLE *out_process)
{
    DXGKARG_CREATEPROCESS create = {.hDxgkProcess = KERNELS};
    NTSTATUS status;

    create.Flags.SystemProcess = is_system;
    status = kernel.ddi.DxgkDdiCreateProcess(kernel.adapter, &create);
    *out_process = create.hKmdProcess;
    return status;
}

static void destroy_process(HANDLE process)
{
    assert_int_equal(kernel.ddi.DxgkDdiDestroyProcess(kernel.adapter, process), STATUS_SUCCESS);
}

/* PT-044: an entry of the root, whose 512 GiB Alignment cannot say. */
static void a_range_is_reserved_in_every_process(void **state)
{
    start(RefKmdDriverEntryGpuMmu, SGPU_STRAP_OWN_RANGE);
    for (unsigned i = 0; i < 2; i++) {
        HANDLE process;

        assert_int_equal(create_process(i == 0, &process), STATUS_SUCCESS);
        assert_int_equal(ask_count, i + 1);
        assert_ptr_equal(asked.hDxgkProcess, KERNELS);
        assert_int_equal(asked.SizeInBytes, SPAN);
        assert_int_equal(asked.Alignment, 0);
        assert_int_equal(asked.BaseAddress, 0);
        assert_int_equal(asked.Flags, 0);
        destroy_process(process);
    }
    test_destroy(&kernel);
}

static void other_boards_and_models_reserve_nothing(void **state)
{
    HANDLE process;

    start(RefKmdDriverEntryGpuMmu, 0);
    assert_int_equal(create_process(false, &process), STATUS_SUCCESS);
    destroy_process(process);
    assert_int_equal(ask_count, 0);
    test_destroy(&kernel);
    start(RefKmdDriverEntryIoMmu, SGPU_STRAP_OWN_RANGE);
    assert_int_equal(create_process(false, &process), STATUS_SUCCESS);
    destroy_process(process);
    assert_int_equal(ask_count, 0);
    test_destroy(&kernel);
}

/* test_destroy() sees what would be left behind. */
static void without_a_range_there_is_no_process(void **state)
{
    HANDLE process;

    start(RefKmdDriverEntryGpuMmu, SGPU_STRAP_OWN_RANGE);
    answer = STATUS_NO_MEMORY;
    assert_int_equal(create_process(false, &process), STATUS_NO_MEMORY);
    assert_null(process);
    test_destroy(&kernel);
}

/* Entries [first, first + count) of the root, by the CPU; the one at valid is valid. */
static void update_root(HANDLE process, uint8_t *window, UINT first, UINT count, UINT valid,
                        UINT is_repeated)
{
    DXGKARG_BUILDPAGINGBUFFER args = {.Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE};
    DXGK_PTE entries[8] = {{{{0}}, {0}}};

    entries[valid].Valid = valid < count;
    entries[valid].Segment = LOCAL;
    args.UpdatePageTable.PageTableLevel = 3;
    args.UpdatePageTable.pPageTableEntries = entries;
    args.UpdatePageTable.StartIndex = first;
    args.UpdatePageTable.NumPageTableEntries = count;
    args.UpdatePageTable.FirstPteVirtualAddress = first * SPAN;
    args.UpdatePageTable.hProcess = process;
    args.UpdatePageTable.UpdateMode = DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
    args.UpdatePageTable.PageTableAddress.CpuVirtual = window + ROOT;
    args.UpdatePageTable.Flags.Repeat = is_repeated;
    kernel.last_line[0] = '\0';
    assert_int_equal(kernel.ddi.DxgkDdiBuildPagingBuffer(kernel.adapter, &args), STATUS_SUCCESS);
}

/* PT-045: entry 3 is the driver's. */
static void an_entry_made_valid_in_the_range_is_printed(void **state)
{
    static const struct {
        UINT first, count, valid, is_repeated;
        bool is_printed;
    } updates[] = {
        {0, 8, 2, 0, false}, {0, 8, 3, 0, true},  {2, 2, 1, 0, true}, {2, 2, 0, 0, false},
        {0, 3, 2, 0, false}, {4, 2, 0, 0, false}, {3, 1, 0, 0, true}, {0, 8, 0, 1, true},
        {0, 8, 7, 1, false}, {4, 4, 0, 1, false},
    };
    uint8_t *window;
    HANDLE process;

    start(RefKmdDriverEntryGpuMmu, SGPU_STRAP_OWN_RANGE);
    window = machine_map_physical(kernel.machine, machine_bar1_pa(kernel.machine), 1 << 20);
    assert_non_null(window);
    assert_int_equal(create_process(false, &process), STATUS_SUCCESS);
    for (size_t i = 0; i < sizeof updates / sizeof *updates; i++) {
        update_root(process, window, updates[i].first, updates[i].count, updates[i].valid,
                    updates[i].is_repeated);
        if (updates[i].is_printed)
            assert_non_null(strstr(kernel.last_line, "PT-045"));
        else
            assert_string_equal(kernel.last_line, "");
    }
    destroy_process(process);
    machine_unmap_physical(kernel.machine, window, 1 << 20);
    test_destroy(&kernel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_is_reserved_in_every_process),
        cmocka_unit_test(other_boards_and_models_reserve_nothing),
        cmocka_unit_test(without_a_range_there_is_no_process),
        cmocka_unit_test(an_entry_made_valid_in_the_range_is_printed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
