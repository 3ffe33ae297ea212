/*
 * The GpuMmu model: page tables written in every mode, virtual transfers, the translation cache.
 *
 * A paging process of one branch: root, two tables between, and a leaf table that covers 2 MiB from
 * BASE_VA on. The tables lie in local memory, and are made as the kernel makes them: by the CPU,
 * without a buffer.
 */
#include "refkmd/rig/test_kernel.h"

#include <stdlib.h>
#include <string.h>

#define LOCAL   1u
#define PAGE    SGPU_PAGE_BYTES
#define ENTRIES SGPU_TABLE_ENTRIES
#define BASE_VA (UINT64_C(2) << 20)
#define TOKEN   0x2000u
#define GUARD   0x55667788u

/* Where the tables are in local memory, by level. */
#define TABLE(level) (0x10000u + 0x1000u * (level))
/* A second leaf table, for the tests to write to, mapped at a virtual address too. */
#define SCRATCH_TABLE 0x20000u
#define SCRATCH_VA    (BASE_VA + 0x40 * PAGE)
/* From here on the leaf is free. */
#define FREE_INDEX 0x80u
#define FREE_VA    (BASE_VA + FREE_INDEX * PAGE)

static struct test_kernel kernel;
static uint8_t *window; /* BAR 1 */
static HANDLE process;
static HANDLE device;
static HANDLE context;

static struct page_store *ram(void)
{
    return machine_ram(kernel.machine);
}

static struct page_store *local(void)
{
    return machine_local(kernel.machine);
}

static DXGK_PTE entry(UINT segment, uint64_t page)
{
    DXGK_PTE pte = {{{0}}, {0}};

    pte.Valid = 1;
    pte.Segment = segment;
    pte.PageAddress = page;
    return pte;
}

static DXGKARG_BUILDPAGINGBUFFER update(UINT level, DXGK_PTE *entries, UINT first, UINT count)
{
    DXGKARG_BUILDPAGINGBUFFER args = {.Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE};

    args.UpdatePageTable.PageTableLevel = level;
    args.UpdatePageTable.pPageTableEntries = entries;
    args.UpdatePageTable.StartIndex = first;
    args.UpdatePageTable.NumPageTableEntries = count;
    args.UpdatePageTable.hProcess = process;
    return args;
}

/* S-02: no buffer, the CPU writes. */
static void update_by_cpu(UINT table, UINT level, DXGK_PTE *entries, UINT first, UINT count,
                          UINT is_repeated)
{
    DXGKARG_BUILDPAGINGBUFFER args = update(level, entries, first, count);

    args.UpdatePageTable.UpdateMode = DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
    args.UpdatePageTable.PageTableAddress.CpuVirtual = window + table;
    args.UpdatePageTable.Flags.Repeat = is_repeated;
    args.UpdatePageTable.Flags.InitialUpdate = is_repeated;
    assert_int_equal(kernel.ddi.DxgkDdiBuildPagingBuffer(kernel.adapter, &args), STATUS_SUCCESS);
    assert_null(args.pDmaBuffer);
}

static void make_tables(void)
{
    DXGK_PTE invalid = {{{0}}, {0}};
    DXGK_PTE pages[TEST_BUFFER_PAGES];
    DXGK_PTE one;
    UINT i;

    for (i = 0; i < SGPU_LEVELS; i++) {
        memset(window + TABLE(i), 0xff, PAGE); /* garbage: PT-014 */
        update_by_cpu(TABLE(i), i, &invalid, 0, ENTRIES, 1);
    }
    for (i = 0; i < TEST_BUFFER_PAGES; i++)
        pages[i] = entry(0, kernel.buffer_pfn + i);
    update_by_cpu(TABLE(0), 0, pages, 0, TEST_BUFFER_PAGES, 0);
    one = entry(LOCAL, SCRATCH_TABLE / PAGE);
    update_by_cpu(TABLE(0), 0, &one, 0x40, 1, 0);
    one = entry(LOCAL, TABLE(0) / PAGE);
    update_by_cpu(TABLE(1), 1, &one, 1, 1, 0); /* index 1: BASE_VA */
    one = entry(LOCAL, TABLE(1) / PAGE);
    update_by_cpu(TABLE(2), 2, &one, 0, 1, 0);
    one = entry(LOCAL, TABLE(2) / PAGE);
    update_by_cpu(TABLE(3), 3, &one, 0, 1, 0);
}

static int setup_with(uint32_t straps)
{
    struct machine_config machine;
    struct sgpu_config board;
    DXGKARG_CREATEPROCESS create_process = {.Flags.SystemProcess = 1};
    DXGKARG_CREATEDEVICE create_device = {.Flags.SystemDevice = 1};
    DXGKARG_CREATECONTEXT create_context = {.NodeOrdinal = SGPU_NODE_COPY};
    DXGKARG_SETROOTPAGETABLE set_root = {.NumEntries = ENTRIES};

    test_config_defaults(&machine, &board);
    board.straps |= straps;
    test_create(&kernel, RefKmdDriverEntryGpuMmu, &machine, &board);
    assert_int_equal(test_start(&kernel), STATUS_SUCCESS);
    window = machine_map_physical(kernel.machine, machine_bar1_pa(kernel.machine), 1 << 20);
    assert_non_null(window);

    assert_int_equal(kernel.ddi.DxgkDdiCreateProcess(kernel.adapter, &create_process),
                     STATUS_SUCCESS);
    process = create_process.hKmdProcess;
    create_device.hKmdProcess = process;
    assert_int_equal(kernel.ddi.DxgkDdiCreateDevice(kernel.adapter, &create_device),
                     STATUS_SUCCESS);
    device = create_device.hDevice;
    create_context.Flags.SystemContext = 1;
    create_context.Flags.VirtualAddressing = 1;
    assert_int_equal(kernel.ddi.DxgkDdiCreateContext(device, &create_context), STATUS_SUCCESS);
    context = create_context.hContext;
    assert_true(create_context.ContextInfo.Caps.NoPatchingRequired);

    make_tables();
    set_root.hContext = context;
    set_root.Address.SegmentId = LOCAL;
    set_root.Address.SegmentOffset = TABLE(3);
    kernel.ddi.DxgkDdiSetRootPageTable(kernel.adapter, &set_root);
    kernel.paging_context = context;
    kernel.buffer_va = BASE_VA;
    return 0;
}

static int setup(void **state)
{
    return setup_with(0);
}

static int setup_gpu_pages_of_16k(void **state)
{
    return setup_with(1u << SGPU_STRAP_GPU_PAGE_SHIFT);
}

/* Paging buffers have no address: what is fetched at 0 would fault. */
static int setup_without_address(void **state)
{
    int result = setup(state);

    kernel.buffer_va = 0;
    return result;
}

static int teardown(void **state)
{
    kernel.ddi.DxgkDdiDestroyContext(context);
    kernel.ddi.DxgkDdiDestroyDevice(device);
    kernel.ddi.DxgkDdiDestroyProcess(kernel.adapter, process);
    machine_unmap_physical(kernel.machine, window, 1 << 20);
    test_destroy(&kernel);
    return 0;
}

#define FOR_EACH_BUFFER_SIZE(bytes)                                                                \
    for (UINT bytes = SGPU_SUBMIT_ALIGN; bytes <= PAGE; bytes += 104)

static uint64_t table_entry(UINT table, UINT index)
{
    uint64_t value;

    page_store_read(local(), table + index * 8, &value, sizeof value);
    return value;
}

static void invalidate_scratch(void)
{
    page_store_fill(local(), SCRATCH_TABLE, PAGE, GUARD);
}

/* ---- UPDATE_PAGE_TABLE ----------------------------------------------------------------------- */

static void tables_made_by_the_cpu_translate_at_once(void **state)
{
    struct sgpu_walk walk;

    sgpu_mmu_walk(kernel.gpu, TABLE(3), BASE_VA + 2 * PAGE + 5, &walk);
    assert_int_equal(walk.fault, SGPU_FAULT_NONE);
    assert_int_equal(walk.pa, SGPU_PA_SYSTEM | ((kernel.buffer_pfn + 2) * PAGE + 5));
    sgpu_mmu_walk(kernel.gpu, TABLE(3), SCRATCH_VA, &walk);
    assert_int_equal(walk.pa, SCRATCH_TABLE);
    sgpu_mmu_walk(kernel.gpu, TABLE(3), FREE_VA, &walk);
    assert_int_equal(walk.fault, SGPU_FAULT_NOT_VALID);
}

/* Every bit of the kernel's entry has its place in the hardware's, and only its own. */
static void each_attribute_sets_its_own_bit(void **state)
{
    const uint64_t base = SGPU_PTE_VALID | UINT64_C(0x123000);
    DXGK_PTE pte = entry(LOCAL, 0x123);

    update_by_cpu(SCRATCH_TABLE, 0, &pte, 0, 1, 0);
    assert_int_equal(table_entry(SCRATCH_TABLE, 0), base);
    pte.Segment = 0;
    update_by_cpu(SCRATCH_TABLE, 0, &pte, 0, 1, 0);
    assert_int_equal(table_entry(SCRATCH_TABLE, 0), base | SGPU_PTE_SYSTEM);
    pte = entry(LOCAL, 0x123);
    pte.ReadOnly = 1;
    update_by_cpu(SCRATCH_TABLE, 0, &pte, 0, 1, 0);
    assert_int_equal(table_entry(SCRATCH_TABLE, 0), base | SGPU_PTE_READ_ONLY);
    pte = entry(LOCAL, 0x123);
    pte.NoExecute = 1;
    update_by_cpu(SCRATCH_TABLE, 0, &pte, 0, 1, 0);
    assert_int_equal(table_entry(SCRATCH_TABLE, 0), base | SGPU_PTE_NO_EXECUTE);
    pte = entry(LOCAL, 0x123);
    pte.CacheCoherent = 1;
    update_by_cpu(SCRATCH_TABLE, 0, &pte, 0, 1, 0);
    assert_int_equal(table_entry(SCRATCH_TABLE, 0), base | SGPU_PTE_COHERENT);
    pte = entry(LOCAL, 0x123);
    pte.Zero = 1;
    update_by_cpu(SCRATCH_TABLE, 0, &pte, 0, 1, 0);
    assert_int_equal(table_entry(SCRATCH_TABLE, 0), base | SGPU_PTE_ZERO);
    pte.ReadOnly = 1;
    pte.Valid = 0;
    update_by_cpu(SCRATCH_TABLE, 0, &pte, 0, 1, 0);
    assert_int_equal(table_entry(SCRATCH_TABLE, 0), 0);
}

/* PT-026: of local memory the entry at the start of a GPU page, of system memory each. */
static void gpu_pages_get_their_first_entry_alone(void **state)
{
    DXGK_PTE ptes[8];

    for (UINT i = 0; i < 8; i++)
        ptes[i] = entry(LOCAL, 0x200 + i);
    update_by_cpu(SCRATCH_TABLE, 0, ptes, 14, 8, 0); /* two pages of a GPU page, one and a half */
    for (UINT i = 14; i < 22; i++)
        assert_int_equal(table_entry(SCRATCH_TABLE, i),
                         i % 4 ? 0 : (0x200 + i - 14) * PAGE | SGPU_PTE_VALID);
    for (UINT i = 0; i < 8; i++)
        ptes[i] = entry(0, 0x300 + i);
    update_by_cpu(SCRATCH_TABLE, 0, ptes, 14, 8, 0);
    for (UINT i = 14; i < 22; i++)
        assert_int_equal(table_entry(SCRATCH_TABLE, i),
                         (0x300 + i - 14) * PAGE | SGPU_PTE_VALID | SGPU_PTE_SYSTEM);
    ptes[0] = entry(LOCAL, 0x200);
    update_by_cpu(SCRATCH_TABLE, 1, ptes, 1, 1, 0); /* tables are named by each entry */
    assert_int_not_equal(table_entry(SCRATCH_TABLE, 1), 0);
}

/* PT-027, PT-028: in leaf entries, and in no other. */
static void driver_protection_goes_to_leaf_entries(void **state)
{
    DXGK_PTE pte = entry(LOCAL, 1);

    for (UINT level = 0; level < 2; level++) {
        DXGKARG_BUILDPAGINGBUFFER args = update(level, &pte, 3, 1);

        args.UpdatePageTable.UpdateMode = DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
        args.UpdatePageTable.PageTableAddress.CpuVirtual = window + SCRATCH_TABLE;
        args.UpdatePageTable.DriverProtection = UINT64_C(0x800000000000abcd);
        assert_int_equal(kernel.ddi.DxgkDdiBuildPagingBuffer(kernel.adapter, &args),
                         STATUS_SUCCESS);
        assert_int_equal(table_entry(SCRATCH_TABLE, 3) >> SGPU_PTE_PROTECTION_SHIFT,
                         level == 0 ? 0x2bcd : 0);
    }
}

static void set_scratch_address(DXGKARG_BUILDPAGINGBUFFER *args, DXGK_PAGETABLEUPDATEMODE mode)
{
    /* What the mode does not name is poison (PT-019). */
    memset(&args->UpdatePageTable.PageTableAddress, 0xee,
           sizeof args->UpdatePageTable.PageTableAddress);
    args->UpdatePageTable.UpdateMode = mode;
    if (mode == DXGK_PAGETABLEUPDATE_GPU_VIRTUAL) {
        args->UpdatePageTable.PageTableAddress.GpuVirtual = SCRATCH_VA;
    } else {
        args->UpdatePageTable.PageTableAddress.GpuPhysical.SegmentId = LOCAL;
        args->UpdatePageTable.PageTableAddress.GpuPhysical.SegmentOffset = SCRATCH_TABLE;
    }
}

static void lists_of_entries_arrive_whole_in_both_gpu_modes(void **state)
{
    enum { FIRST = 17, COUNT = 333 };
    DXGK_PTE entries[COUNT];
    DXGK_PAGETABLEUPDATEMODE mode;

    for (UINT i = 0; i < COUNT; i++) {
        entries[i] = entry(i % 3 ? 0 : LOCAL, 0x400 + 7 * i);
        entries[i].Valid = i % 11 != 0;
    }
    for (mode = DXGK_PAGETABLEUPDATE_GPU_VIRTUAL; mode <= DXGK_PAGETABLEUPDATE_GPU_PHYSICAL;
         mode++) {
        FOR_EACH_BUFFER_SIZE(dma_bytes)
        {
            DXGKARG_BUILDPAGINGBUFFER args = update(0, entries, FIRST, COUNT);

            set_scratch_address(&args, mode);
            invalidate_scratch();
            test_build(&kernel, &args, dma_bytes);
            for (UINT i = 0; i < COUNT; i++) {
                uint64_t expected = SGPU_PTE_VALID | (uint64_t)(0x400 + 7 * i) << SGPU_PAGE_SHIFT |
                                    (i % 3 ? SGPU_PTE_SYSTEM : 0);

                assert_int_equal(table_entry(SCRATCH_TABLE, FIRST + i), i % 11 ? expected : 0);
            }
            assert_true(page_store_is_fill(local(), SCRATCH_TABLE, FIRST * 8, GUARD, NULL));
            assert_true(page_store_is_fill(local(), SCRATCH_TABLE + (FIRST + COUNT) * 8,
                                           PAGE - (FIRST + COUNT) * 8, GUARD, NULL));
        }
    }
}

/* PT-016: one entry, with nothing behind it. */
static void repeat_reads_one_entry_and_writes_all(void **state)
{
    DXGK_PTE *one = malloc(sizeof *one); /* the sanitizer stands guard behind it */

    *one = entry(LOCAL, 0x77);
    FOR_EACH_BUFFER_SIZE(dma_bytes)
    {
        DXGKARG_BUILDPAGINGBUFFER args = update(0, one, 5, 500);

        args.UpdatePageTable.Flags.Repeat = 1;
        set_scratch_address(&args, DXGK_PAGETABLEUPDATE_GPU_VIRTUAL);
        invalidate_scratch();
        test_build(&kernel, &args, dma_bytes);
        for (UINT i = 5; i < 505; i++)
            assert_int_equal(table_entry(SCRATCH_TABLE, i), SGPU_PTE_VALID | 0x77000);
        assert_true(page_store_is_fill(local(), SCRATCH_TABLE, 5 * 8, GUARD, NULL));
        assert_true(page_store_is_fill(local(), SCRATCH_TABLE + 505 * 8, 7 * 8, GUARD, NULL));
    }
    free(one);
}

/* PT-023: until the GPU has run, nothing has changed. */
static void gpu_updates_wait_for_the_gpu(void **state)
{
    DXGK_PTE one = entry(LOCAL, 0x77);
    DXGKARG_BUILDPAGINGBUFFER args = update(0, &one, 0, 1);

    set_scratch_address(&args, DXGK_PAGETABLEUPDATE_GPU_VIRTUAL);
    invalidate_scratch();
    args.pDmaBuffer = kernel.buffer;
    args.DmaSize = PAGE;
    assert_int_equal(kernel.ddi.DxgkDdiBuildPagingBuffer(kernel.adapter, &args), STATUS_SUCCESS);
    test_run(&kernel);
    assert_true(page_store_is_fill(local(), SCRATCH_TABLE, PAGE, GUARD, NULL));
}

static void an_update_of_nothing_writes_nothing(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER args = update(0, NULL, 0, 0);

    args.UpdatePageTable.Flags.NotifyEviction = 1;
    set_scratch_address(&args, DXGK_PAGETABLEUPDATE_GPU_VIRTUAL);
    test_build(&kernel, &args, PAGE);
    assert_ptr_equal(args.pDmaBuffer, kernel.buffer);
}

/* ---- VIRTUAL_TRANSFER, VIRTUAL_FILL ---------------------------------------------------------- */

/* Map count pages at FREE_VA + offset to a list, or to local memory from a page on. */
static void map_pages(UINT first, UINT count, const uint64_t *pfns, uint64_t local_page)
{
    DXGK_PTE entries[64];

    for (UINT i = 0; i < count; i++)
        entries[i] = pfns ? entry(0, pfns[i]) : entry(LOCAL, local_page + i);
    update_by_cpu(TABLE(0), 0, entries, FREE_INDEX + first, count, 0);
}

static void virtual_transfers_move_exactly_their_bytes(void **state)
{
    enum { COUNT = 24 };
    const uint64_t bytes = COUNT * PAGE - 3 * PAGE - 200;
    uint64_t pfns[COUNT];

    assert_true(machine_alloc_pages(kernel.machine, COUNT, pfns));
    map_pages(0, COUNT, pfns, 0);
    map_pages(COUNT, COUNT, NULL, 0x80);
    FOR_EACH_BUFFER_SIZE(dma_bytes)
    {
        DXGKARG_BUILDPAGINGBUFFER args = {.Operation = DXGK_OPERATION_VIRTUAL_TRANSFER};

        page_store_write_tag(local(), 0x80000, COUNT * PAGE, TOKEN);
        for (UINT i = 0; i < COUNT; i++)
            page_store_fill(ram(), pfns[i] * PAGE, PAGE, GUARD);
        args.TransferVirtual.SourceVirtualAddress = FREE_VA + COUNT * PAGE;
        args.TransferVirtual.DestinationVirtualAddress = FREE_VA + PAGE;
        args.TransferVirtual.TransferSizeInBytes = bytes;
        args.TransferVirtual.AllocationOffsetInBytes = 0x123000; /* VX-002: of no use here */
        args.TransferVirtual.TransferDirection = DXGK_MEMORY_TRANSFER_LOCAL_TO_SYSTEM;
        test_build(&kernel, &args, dma_bytes);
        for (UINT i = 0; i < COUNT; i++) {
            uint64_t before = i < 1 ? 0 : (i - 1) * PAGE;
            uint64_t done = i < 1 || before >= bytes ? 0 : bytes - before;

            done = done < PAGE ? done : PAGE;
            assert_true(page_store_is_tag(ram(), pfns[i] * PAGE, done, TOKEN + i - 1, NULL));
            assert_true(page_store_is_fill(ram(), pfns[i] * PAGE + done, PAGE - done, GUARD, NULL));
        }
    }
    machine_free_pages(kernel.machine, pfns, COUNT);
}

/* Progress beyond 4 GiB of bytes, in pieces, on both sides. Nothing is run. */
static void a_long_virtual_transfer_is_cut_and_resumed(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER args = {.Operation = DXGK_OPERATION_VIRTUAL_TRANSFER};
    struct sgpu_packet_copy *copy = (void *)kernel.buffer;
    const uint64_t skipped = UINT64_C(12) << 30;

    args.TransferVirtual.SourceVirtualAddress = UINT64_C(1) << 40;
    args.TransferVirtual.DestinationVirtualAddress = UINT64_C(1) << 41;
    args.TransferVirtual.TransferSizeInBytes = UINT64_C(1) << 36;
    args.MultipassOffset = (UINT)(skipped / PAGE);
    args.pDmaBuffer = kernel.buffer;
    args.DmaSize = SGPU_SUBMIT_ALIGN;
    assert_int_equal(kernel.ddi.DxgkDdiBuildPagingBuffer(kernel.adapter, &args),
                     STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
    assert_int_equal(copy[0].flags, 0);
    assert_int_equal(copy[0].source, (UINT64_C(1) << 40) + skipped);
    assert_int_equal(copy[0].destination, (UINT64_C(1) << 41) + skipped);
    assert_int_equal(copy[1].source, copy[0].source + copy[0].bytes);
    assert_int_equal(copy[1].destination, copy[0].destination + copy[0].bytes);
    assert_int_equal((uint64_t)args.MultipassOffset * PAGE,
                     skipped + copy[0].bytes + copy[1].bytes);
}

static void virtual_fill_covers_its_range_and_no_more(void **state)
{
    map_pages(0, 16, NULL, 0x80);
    FOR_EACH_BUFFER_SIZE(dma_bytes)
    {
        DXGKARG_BUILDPAGINGBUFFER args = {.Operation = DXGK_OPERATION_VIRTUAL_FILL};

        page_store_fill(local(), 0x80000, 16 * PAGE, GUARD);
        args.FillVirtual.DestinationVirtualAddress = FREE_VA + PAGE;
        args.FillVirtual.FillSizeInBytes = 9 * PAGE;
        args.FillVirtual.FillPattern = 0xdeadbeef;
        args.FillVirtual.AllocationOffsetInBytes = 0x5000;
        test_build(&kernel, &args, dma_bytes);
        assert_true(page_store_is_fill(local(), 0x80000, PAGE, GUARD, NULL));
        assert_true(page_store_is_fill(local(), 0x81000, 9 * PAGE, 0xdeadbeef, NULL));
        assert_true(page_store_is_fill(local(), 0x8a000, 6 * PAGE, GUARD, NULL));
    }
}

/* All 64 bits, behind what was built before, and the interrupt that says so (NTF-007, NTF-009). */
static void monitored_fence_gets_its_value_and_an_interrupt(void **state)
{
    map_pages(0, 1, NULL, 0x80);
    FOR_EACH_BUFFER_SIZE(dma_bytes)
    {
        DXGKARG_BUILDPAGINGBUFFER args = {.Operation = DXGK_OPERATION_SIGNAL_MONITORED_FENCE};
        uint64_t expected = UINT64_C(0x123456789abcdef0) + dma_bytes;
        uint64_t value;

        page_store_fill(local(), 0x80000, PAGE, GUARD);
        memset(kernel.log, 0, sizeof kernel.log);
        args.SignalMonitoredFence.MonitoredFenceGpuVa = FREE_VA + 0x38;
        args.SignalMonitoredFence.MonitoredFenceValue = expected;
        test_build(&kernel, &args, dma_bytes);
        page_store_read(local(), 0x80038, &value, sizeof value);
        assert_int_equal(value, expected);
        assert_true(page_store_is_fill(local(), 0x80000, 0x38, GUARD, NULL));
        assert_true(page_store_is_fill(local(), 0x80040, PAGE - 0x40, GUARD, NULL));
        /* Told before the submission that wrote it is (FENCE-003); the log still holds it. */
        assert_int_equal(kernel.log[0].InterruptType, DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED);
    }
}

/* Physical operations work in the address space of the paging process, too. */
static void physical_operations_stay_physical_in_a_virtual_submission(void **state)
{
    struct test_mdl mdl;
    DXGKARG_BUILDPAGINGBUFFER fill = {.Operation = DXGK_OPERATION_FILL};
    DXGKARG_BUILDPAGINGBUFFER transfer = {.Operation = DXGK_OPERATION_TRANSFER};
    DXGKARG_BUILDPAGINGBUFFER map = {.Operation = DXGK_OPERATION_MAP_APERTURE_SEGMENT};

    test_mdl_init(&kernel, &mdl, 3);
    fill.Fill.FillSize = 3 * PAGE;
    fill.Fill.FillPattern = 0x01020304;
    fill.Fill.Destination.SegmentId = LOCAL;
    fill.Fill.Destination.SegmentAddress.QuadPart = 0x90000;
    test_build(&kernel, &fill, PAGE);
    transfer.Transfer.TransferSize = 3 * PAGE - 8;
    transfer.Transfer.Source.SegmentId = LOCAL;
    transfer.Transfer.Source.SegmentAddress.QuadPart = 0x90000;
    transfer.Transfer.Destination.pMdl = &mdl.mdl;
    test_build(&kernel, &transfer, PAGE);
    for (UINT i = 0; i < 3; i++)
        assert_true(page_store_is_fill(ram(), mdl.pfn[i] * PAGE, i < 2 ? PAGE : PAGE - 8,
                                       0x01020304, NULL));
    map.MapApertureSegment.NumberOfPages = 3;
    map.MapApertureSegment.SegmentId = 2;
    map.MapApertureSegment.pMdl = &mdl.mdl;
    test_build(&kernel, &map, PAGE);
    assert_int_equal(sgpu_aperture_page(kernel.gpu, 2), mdl.pfn[2]);
    test_mdl_fini(&kernel, &mdl);
}

/* ---- COPY_PAGE_TABLE_ENTRIES ----------------------------------------------------------------- */

/* CPTE-002, CPTE-006: as they are, one range behind the other, whatever fits into the buffer. */
static void entries_are_copied_verbatim_and_in_order(void **state)
{
    DXGK_BUILDPAGINGBUFFER_COPY_RANGE ranges[] = {
        {.NumPageTableEntries = 3, .SrcStartPteIndex = 0, .DstStartPteIndex = 100},
        {.NumPageTableEntries = 0, .SrcStartPteIndex = 0, .DstStartPteIndex = 300},
        {.NumPageTableEntries = 2, .SrcStartPteIndex = 101, .DstStartPteIndex = 200},
        {.NumPageTableEntries = 1, .SrcStartPteIndex = 5, .DstStartPteIndex = 200},
    };
    uint64_t words[] = {0x11, 0x2222, UINT64_C(0x8000000000333333), 4, 5, 6};

    for (UINT i = 0; i < RTL_NUMBER_OF(ranges); i++) {
        ranges[i].SrcPageTableAddress = SCRATCH_VA;
        ranges[i].DstPageTableAddress = SCRATCH_VA;
    }
    FOR_EACH_BUFFER_SIZE(dma_bytes)
    {
        DXGKARG_BUILDPAGINGBUFFER args = {.Operation = DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES};

        invalidate_scratch();
        page_store_write(local(), SCRATCH_TABLE, words, sizeof words);
        args.CopyPageTableEntries.NumRanges = RTL_NUMBER_OF(ranges);
        args.CopyPageTableEntries.pRanges = ranges;
        test_build(&kernel, &args, dma_bytes);
        for (UINT i = 0; i < 3; i++)
            assert_int_equal(table_entry(SCRATCH_TABLE, 100 + i), words[i]);
        assert_int_equal(table_entry(SCRATCH_TABLE, 200), words[5]);
        assert_int_equal(table_entry(SCRATCH_TABLE, 201), words[2]);
        assert_true(page_store_is_fill(local(), SCRATCH_TABLE + 103 * 8, 97 * 8, GUARD, NULL));
        assert_true(page_store_is_fill(local(), SCRATCH_TABLE + 202 * 8, 310 * 8, GUARD, NULL));
    }
}

/* CPTE-003: what is copied is what is there when the buffer runs. */
static void copied_entries_are_read_when_the_buffer_runs(void **state)
{
    DXGK_BUILDPAGINGBUFFER_COPY_RANGE range = {.NumPageTableEntries = 1,
                                               .SrcPageTableAddress = SCRATCH_VA,
                                               .DstPageTableAddress = SCRATCH_VA,
                                               .DstStartPteIndex = 9};
    DXGKARG_BUILDPAGINGBUFFER args = {.Operation = DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES};
    uint64_t before = 1, after = 2;

    page_store_write(local(), SCRATCH_TABLE, &before, sizeof before);
    args.CopyPageTableEntries.NumRanges = 1;
    args.CopyPageTableEntries.pRanges = &range;
    args.pDmaBuffer = kernel.buffer;
    args.DmaSize = PAGE;
    assert_int_equal(kernel.ddi.DxgkDdiBuildPagingBuffer(kernel.adapter, &args), STATUS_SUCCESS);
    page_store_write(local(), SCRATCH_TABLE, &after, sizeof after);
    test_run_paging(&kernel, 0, (UINT)((uint8_t *)args.pDmaBuffer - kernel.buffer), 0);
    assert_int_equal(table_entry(SCRATCH_TABLE, 9), after);
}

/* ---- FLUSH_TLB ------------------------------------------------------------------------------- */

static void fill_page_at(D3DGPU_VIRTUAL_ADDRESS va, UINT pattern)
{
    DXGKARG_BUILDPAGINGBUFFER args = {.Operation = DXGK_OPERATION_VIRTUAL_FILL};

    args.FillVirtual.DestinationVirtualAddress = va;
    args.FillVirtual.FillSizeInBytes = PAGE;
    args.FillVirtual.FillPattern = pattern;
    test_build(&kernel, &args, PAGE);
}

static void flush(D3DGPU_VIRTUAL_ADDRESS start, D3DGPU_VIRTUAL_ADDRESS end)
{
    DXGKARG_BUILDPAGINGBUFFER args = {.Operation = DXGK_OPERATION_FLUSH_TLB};

    args.FlushTlb.RootPageTableAddress.SegmentId = LOCAL;
    args.FlushTlb.RootPageTableAddress.SegmentOffset = TABLE(3);
    args.FlushTlb.hProcess = process;
    args.FlushTlb.StartVirtualAddress = start;
    args.FlushTlb.EndVirtualAddress = end;
    test_build(&kernel, &args, PAGE);
}

/*
 * The page at FREE_VA, once seen at one place, is written through the cached translation until the
 * flush, and at the new place after it. The bounds name the page in every way that the pages allow.
 */
static void a_flush_covers_its_range_however_the_end_is_meant(void **state)
{
    const struct {
        D3DGPU_VIRTUAL_ADDRESS start, end;
    } ranges[] = {
        {FREE_VA, FREE_VA + PAGE},     /* end exclusive */
        {FREE_VA, FREE_VA + PAGE - 1}, /* end inclusive, a byte */
        {FREE_VA, FREE_VA},            /* end inclusive, a page */
        {FREE_VA + 8, FREE_VA + 16},   /* not aligned */
        {FREE_VA - PAGE, FREE_VA},     /* the page is the last one, if inclusive */
        {0, 0},                        /* everything */
        {0, ~UINT64_C(0)},
        {FREE_VA + PAGE, FREE_VA}, /* no range: everything */
    };

    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        map_pages(0, 1, NULL, 0x80);
        flush(0, 0);
        fill_page_at(FREE_VA, 1);
        map_pages(0, 1, NULL, 0x90);
        page_store_fill(local(), 0x90000, PAGE, GUARD);
        fill_page_at(FREE_VA, 2);
        assert_true(page_store_is_fill(local(), 0x80000, PAGE, 2, NULL)); /* still the old place */
        assert_true(page_store_is_fill(local(), 0x90000, PAGE, GUARD, NULL));

        flush(ranges[i].start, ranges[i].end);
        fill_page_at(FREE_VA, 3);
        assert_true(page_store_is_fill(local(), 0x80000, PAGE, 2, NULL));
        assert_true(page_store_is_fill(local(), 0x90000, PAGE, 3, NULL));
    }
}

/* TLB-006: in one buffer, table write, flush and use take effect in their order. */
static void a_flush_is_ordered_behind_table_writes(void **state)
{
    DXGK_PTE moved = entry(LOCAL, 0x90);
    DXGKARG_BUILDPAGINGBUFFER args = update(0, &moved, FREE_INDEX, 1);
    UINT end;

    map_pages(0, 1, NULL, 0x80);
    fill_page_at(FREE_VA, 1);
    args.UpdatePageTable.UpdateMode = DXGK_PAGETABLEUPDATE_GPU_PHYSICAL;
    args.UpdatePageTable.PageTableAddress.GpuPhysical.SegmentId = LOCAL;
    args.UpdatePageTable.PageTableAddress.GpuPhysical.SegmentOffset = TABLE(0);
    args.pDmaBuffer = kernel.buffer;
    args.DmaSize = PAGE;
    assert_int_equal(kernel.ddi.DxgkDdiBuildPagingBuffer(kernel.adapter, &args), STATUS_SUCCESS);

    args.Operation = DXGK_OPERATION_FLUSH_TLB;
    memset(&args.FlushTlb, 0, sizeof args.FlushTlb);
    args.FlushTlb.RootPageTableAddress.SegmentId = LOCAL;
    args.FlushTlb.RootPageTableAddress.SegmentOffset = TABLE(3);
    args.FlushTlb.StartVirtualAddress = FREE_VA;
    args.FlushTlb.EndVirtualAddress = FREE_VA + PAGE;
    assert_int_equal(kernel.ddi.DxgkDdiBuildPagingBuffer(kernel.adapter, &args), STATUS_SUCCESS);

    args.Operation = DXGK_OPERATION_VIRTUAL_FILL;
    memset(&args.FillVirtual, 0, sizeof args.FillVirtual);
    args.FillVirtual.DestinationVirtualAddress = FREE_VA;
    args.FillVirtual.FillSizeInBytes = PAGE;
    args.FillVirtual.FillPattern = 2;
    assert_int_equal(kernel.ddi.DxgkDdiBuildPagingBuffer(kernel.adapter, &args), STATUS_SUCCESS);

    end = (UINT)((uint8_t *)args.pDmaBuffer - kernel.buffer);
    test_run_paging(&kernel, 0, end, 0);
    assert_true(page_store_is_fill(local(), 0x80000, PAGE, 1, NULL));
    assert_true(page_store_is_fill(local(), 0x90000, PAGE, 2, NULL));
}

/* ---- Submission ------------------------------------------------------------------------------ */

/* The other DDI, for the same context: the buffer is named by its virtual address there too. */
static void a_virtual_context_submits_by_virtual_address(void **state)
{
    struct sgpu_packet_fill fill = {
        .header = SGPU_PACKET_HEADER(SGPU_OP_FILL, sizeof fill / 4),
        .destination = FREE_VA,
        .bytes = PAGE,
        .pattern = 4,
    };
    DXGKARG_SUBMITCOMMAND args = {
        .hContext = context,
        .DmaBufferVirtualAddress = BASE_VA,
        .DmaBufferSubmissionStartOffset = 64,
        .DmaBufferSubmissionEndOffset = 64 + sizeof fill,
        .SubmissionFenceId = 1,
    };

    map_pages(0, 1, NULL, 0x80);
    memcpy(kernel.buffer + 64, &fill, sizeof fill);
    assert_int_equal(test_submit(&kernel, &args), STATUS_SUCCESS);
    test_run(&kernel);
    assert_int_equal(kernel.log_count, 1);
    assert_int_equal(kernel.log[0].InterruptType, DXGK_INTERRUPT_DMA_COMPLETED);
    assert_true(page_store_is_fill(local(), 0x80000, PAGE, 4, NULL));
}

/* NTF-009: a fence written by a command is told, so that its waiters look again. */
static void a_fence_written_by_the_gpu_is_told(void **state)
{
    struct sgpu_packet_fence fence = {
        .header = SGPU_PACKET_HEADER(SGPU_OP_FENCE, sizeof fence / 4),
        .flags = SGPU_FENCE_INTERRUPT,
        .address = FREE_VA + 8,
        .value = UINT64_C(0x123456789a),
    };
    DXGKARG_SUBMITCOMMANDVIRTUAL args = {
        .hContext = context,
        .DmaBufferVirtualAddress = BASE_VA,
        .DmaBufferSize = sizeof fence,
        .SubmissionFenceId = 1,
    };
    bool is_told = false;

    map_pages(0, 1, NULL, 0x80);
    memcpy(kernel.buffer, &fence, sizeof fence);
    assert_int_equal(test_submit_virtual(&kernel, &args), STATUS_SUCCESS);
    test_run(&kernel);
    for (int i = 0; i < kernel.log_count; i++) {
        if (kernel.log[i].InterruptType == DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED) {
            assert_int_equal(kernel.log[i].MonitoredFenceSignaled.NodeOrdinal, SGPU_NODE_COPY);
            is_told = true;
        }
    }
    assert_true(is_told);
    assert_int_equal(table_entry(0x80000, 1), UINT64_C(0x123456789a));
}

/* PT-008. */
static void the_root_has_one_size(void **state)
{
    DXGKARG_GETROOTPAGETABLESIZE args = {.NumberOfPte = 3};

    assert_int_equal(kernel.ddi.DxgkDdiGetRootPageTableSize(kernel.adapter, &args), PAGE);
    assert_int_equal(args.NumberOfPte, ENTRIES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(tables_made_by_the_cpu_translate_at_once),
        TEST(each_attribute_sets_its_own_bit),
        TEST(driver_protection_goes_to_leaf_entries),
        TEST(lists_of_entries_arrive_whole_in_both_gpu_modes),
        TEST(repeat_reads_one_entry_and_writes_all),
        TEST(gpu_updates_wait_for_the_gpu),
        TEST(an_update_of_nothing_writes_nothing),
        TEST(virtual_transfers_move_exactly_their_bytes),
        TEST(a_long_virtual_transfer_is_cut_and_resumed),
        TEST(virtual_fill_covers_its_range_and_no_more),
        TEST(monitored_fence_gets_its_value_and_an_interrupt),
        TEST(physical_operations_stay_physical_in_a_virtual_submission),
        TEST(entries_are_copied_verbatim_and_in_order),
        TEST(copied_entries_are_read_when_the_buffer_runs),
        TEST(a_flush_covers_its_range_however_the_end_is_meant),
        TEST(a_flush_is_ordered_behind_table_writes),
        TEST(a_virtual_context_submits_by_virtual_address),
        TEST(a_fence_written_by_the_gpu_is_told),
        TEST(the_root_has_one_size),
        cmocka_unit_test_setup_teardown(gpu_pages_get_their_first_entry_alone,
                                        setup_gpu_pages_of_16k, teardown),
#undef TEST
#define TEST(name)                                                                                 \
    {#name " in buffers without address", name, setup_without_address, teardown, NULL}
        TEST(lists_of_entries_arrive_whole_in_both_gpu_modes),
        TEST(gpu_updates_wait_for_the_gpu),
        TEST(virtual_transfers_move_exactly_their_bytes),
        TEST(a_long_virtual_transfer_is_cut_and_resumed),
        TEST(virtual_fill_covers_its_range_and_no_more),
        TEST(entries_are_copied_verbatim_and_in_order),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
