/*
 * The paging operations, executed: every byte of memory that an operation may and may not touch,
 * for every buffer size from one packet to a page.
 */
#include "refkmd/rig/test_kernel.h"

#include "miniport/operation.h"

#include <string.h>

#define LOCAL 1u
#define GUARD 0x11223344u /* of memory that no operation may touch */
#define PAGE  SGPU_PAGE_BYTES
#define PAGES 21u /* of most operations: several passes with small buffers */
#define TAIL  100u
#define TOKEN 0x1000u /* names of content */

static struct test_kernel kernel;

static int setup_physical(void **state)
{
    test_create_default(&kernel, RefKmdDriverEntryPhysical);
    return 0;
}

static int teardown(void **state)
{
    test_destroy(&kernel);
    return 0;
}

/* One packet of the smallest size to a page, in all sizes that differ for the packer. */
#define FOR_EACH_BUFFER_SIZE(bytes) for (UINT bytes = SGPU_SUBMIT_ALIGN; bytes <= PAGE; bytes += 40)

static struct page_store *ram(void)
{
    return machine_ram(kernel.machine);
}

static struct page_store *local(void)
{
    return machine_local(kernel.machine);
}

/* Every page of the list has the guard pattern. */
static void fill_mdl(const struct test_mdl *mdl)
{
    for (uint64_t i = 0; i < mdl->count; i++)
        page_store_fill(ram(), mdl->pfn[i] * PAGE, PAGE, GUARD);
}

/* Page i of the list from first on: content TOKEN + i for bytes, the guard elsewhere. */
static void check_mdl(const struct test_mdl *mdl, uint64_t first, uint64_t bytes)
{
    for (uint64_t i = 0; i < mdl->count; i++) {
        uint64_t address = mdl->pfn[i] * PAGE;
        uint64_t done = i >= first && (i - first) * PAGE < bytes ? bytes - (i - first) * PAGE : 0;

        if (done > PAGE)
            done = PAGE;
        assert_true(page_store_is_tag(ram(), address, done, TOKEN + i - first, NULL));
        assert_true(page_store_is_fill(ram(), address + done, PAGE - done, GUARD, NULL));
    }
}

static void check_local(uint64_t address, uint64_t bytes)
{
    assert_true(page_store_is_fill(local(), address - PAGE, PAGE, GUARD, NULL));
    assert_true(page_store_is_tag(local(), address, bytes, TOKEN, NULL));
    assert_true(page_store_is_fill(local(), address + bytes, PAGE, GUARD, NULL));
}

/* ---- TRANSFER, FILL, DISCARD_CONTENT --------------------------------------------------------- */

static DXGKARG_BUILDPAGINGBUFFER transfer(uint64_t bytes)
{
    DXGKARG_BUILDPAGINGBUFFER args = {.Operation = DXGK_OPERATION_TRANSFER};

    args.Transfer.TransferSize = bytes;
    args.Transfer.Flags.TransferStart = 1;
    args.Transfer.Flags.TransferEnd = 1;
    return args;
}

/* An offset on the segment side that is not one of the MDL, and the reverse. */
static void transfer_to_system_memory_moves_exactly_its_bytes(void **state)
{
    struct test_mdl mdl;

    test_mdl_init(&kernel, &mdl, PAGES + 8);
    FOR_EACH_BUFFER_SIZE(dma_bytes)
    {
        DXGKARG_BUILDPAGINGBUFFER args = transfer(PAGES * PAGE + TAIL);

        page_store_write_tag(local(), 0x42000, (PAGES + 1) * PAGE, TOKEN);
        fill_mdl(&mdl);
        args.Transfer.Source.SegmentId = LOCAL;
        args.Transfer.Source.SegmentAddress.QuadPart = 0x40000;
        args.Transfer.TransferOffset = 0x2000;
        args.Transfer.Destination.pMdl = &mdl.mdl;
        args.Transfer.MdlOffset = 3;
        test_build(&kernel, &args, dma_bytes);
        check_mdl(&mdl, 3, PAGES * PAGE + TAIL);
        assert_true(kernel.pass_count == 1 || dma_bytes < 320);
    }
    test_mdl_fini(&kernel, &mdl);
}

static void transfer_from_system_memory_moves_exactly_its_bytes(void **state)
{
    struct test_mdl mdl;

    test_mdl_init(&kernel, &mdl, PAGES + 8);
    for (uint64_t i = 0; i < mdl.count; i++)
        page_store_write_tag(ram(), mdl.pfn[i] * PAGE, PAGE, TOKEN + i - 5);
    FOR_EACH_BUFFER_SIZE(dma_bytes)
    {
        DXGKARG_BUILDPAGINGBUFFER args = transfer(PAGES * PAGE + TAIL);

        page_store_fill(local(), 0, 0x100000, GUARD);
        args.Transfer.Source.pMdl = &mdl.mdl;
        args.Transfer.MdlOffset = 5;
        args.Transfer.Destination.SegmentId = LOCAL;
        args.Transfer.Destination.SegmentAddress.QuadPart = 0x40000;
        args.Transfer.TransferOffset = 0x3000;
        test_build(&kernel, &args, dma_bytes);
        check_local(0x43000, PAGES * PAGE + TAIL);
    }
    test_mdl_fini(&kernel, &mdl);
}

static void transfer_between_places_in_segments_is_linear(void **state)
{
    FOR_EACH_BUFFER_SIZE(dma_bytes)
    {
        DXGKARG_BUILDPAGINGBUFFER args = transfer(PAGES * PAGE + TAIL);

        page_store_fill(local(), 0x100000, 0x100000, GUARD);
        page_store_write_tag(local(), 0x41000, (PAGES + 1) * PAGE, TOKEN);
        args.Transfer.Source.SegmentId = LOCAL;
        args.Transfer.Source.SegmentAddress.QuadPart = 0x40000;
        args.Transfer.Destination.SegmentId = LOCAL;
        args.Transfer.Destination.SegmentAddress.QuadPart = 0x140000;
        args.Transfer.TransferOffset = 0x1000;
        test_build(&kernel, &args, dma_bytes);
        check_local(0x141000, PAGES * PAGE + TAIL);
    }
}

/* Longer than the largest copy that a packet asks for. */
static void a_long_linear_transfer_is_cut_and_resumed(void **state)
{
    const uint64_t bytes = UINT64_C(40) << 20;
    struct machine_config config;
    struct sgpu_config gpu_config;
    DXGKARG_BUILDPAGINGBUFFER args = transfer(bytes);

    test_destroy(&kernel);
    test_config_defaults(&config, &gpu_config);
    config.local_bytes = config.visible_bytes = UINT64_C(128) << 20;
    test_create(&kernel, RefKmdDriverEntryPhysical, &config, &gpu_config);
    assert_int_equal(test_start(&kernel), STATUS_SUCCESS);

    page_store_fill(local(), UINT64_C(64) << 20, UINT64_C(64) << 20, GUARD);
    page_store_write_tag(local(), 0, bytes, TOKEN);
    args.Transfer.Source.SegmentId = LOCAL;
    args.Transfer.Destination.SegmentId = LOCAL;
    args.Transfer.Destination.SegmentAddress.QuadPart = UINT64_C(65) << 20;
    test_build(&kernel, &args, SGPU_SUBMIT_ALIGN);
    check_local(UINT64_C(65) << 20, bytes);
    assert_int_equal(kernel.pass_count, 2); /* three copies, two a buffer */
}

static void transfer_between_system_pages_moves_them(void **state)
{
    struct test_mdl from;
    struct test_mdl to;

    test_mdl_init(&kernel, &from, PAGES + 4);
    test_mdl_init(&kernel, &to, PAGES + 4);
    for (uint64_t i = 0; i < from.count; i++)
        page_store_write_tag(ram(), from.pfn[i] * PAGE, PAGE, TOKEN + i - 2);
    FOR_EACH_BUFFER_SIZE(dma_bytes)
    {
        DXGKARG_BUILDPAGINGBUFFER args = transfer(PAGES * PAGE);

        fill_mdl(&to);
        args.Transfer.Source.pMdl = &from.mdl;
        args.Transfer.Destination.pMdl = &to.mdl;
        args.Transfer.MdlOffset = 2;
        test_build(&kernel, &args, dma_bytes);
        check_mdl(&to, 2, PAGES * PAGE);
    }
    test_mdl_fini(&kernel, &from);
    test_mdl_fini(&kernel, &to);
}

/* XFER-017: the allocation was lost in a reset. */
static void transfer_of_nothing_writes_nothing(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER args = transfer(0);

    args.Transfer.Source.SegmentId = LOCAL;
    test_build(&kernel, &args, PAGE);
    assert_ptr_equal(args.pDmaBuffer, kernel.buffer);
}

/* Progress beyond 4 GiB of bytes: the counter is in pages. Nothing is run. */
static void multipass_progress_survives_more_bytes_than_32_bits_count(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER args = transfer(UINT64_C(1) << 40);
    struct sgpu_packet_copy *copy = (void *)kernel.buffer;

    args.Transfer.Source.SegmentId = LOCAL;
    args.Transfer.Destination.SegmentId = LOCAL;
    args.Transfer.Destination.SegmentAddress.QuadPart = INT64_C(1) << 41;
    args.MultipassOffset = 0x300000; /* 12 GiB */
    args.pDmaBuffer = kernel.buffer;
    args.DmaSize = SGPU_SUBMIT_ALIGN;
    assert_int_equal(kernel.ddi.DxgkDdiBuildPagingBuffer(kernel.adapter, &args),
                     STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
    assert_int_equal(copy->source, UINT64_C(12) << 30);
    assert_int_equal(copy->destination, (UINT64_C(1) << 41) + (UINT64_C(12) << 30));
    assert_int_equal(copy[1].source, copy->source + copy->bytes);
    assert_int_equal((uint64_t)args.MultipassOffset * PAGE, copy[1].source + copy[1].bytes);
}

static void fill_covers_its_range_and_no_more(void **state)
{
    FOR_EACH_BUFFER_SIZE(dma_bytes)
    {
        DXGKARG_BUILDPAGINGBUFFER args = {.Operation = DXGK_OPERATION_FILL};

        page_store_fill(local(), 0, 0x100000, GUARD);
        args.Fill.FillSize = PAGES * PAGE + TAIL;
        args.Fill.FillPattern = 0xc0ffee00;
        args.Fill.Destination.SegmentId = LOCAL;
        args.Fill.Destination.SegmentAddress.QuadPart = 0x40000;
        test_build(&kernel, &args, dma_bytes);
        assert_true(page_store_is_fill(local(), 0x3f000, PAGE, GUARD, NULL));
        assert_true(page_store_is_fill(local(), 0x40000, PAGES * PAGE + TAIL, 0xc0ffee00, NULL));
        assert_true(page_store_is_fill(local(), 0x40000 + PAGES * PAGE + TAIL, PAGE, GUARD, NULL));
    }
}

static void discard_needs_no_gpu_whether_idle_or_not(void **state)
{
    for (UINT is_idle = 0; is_idle < 2; is_idle++) {
        DXGKARG_BUILDPAGINGBUFFER args = {.Operation = DXGK_OPERATION_DISCARD_CONTENT};

        args.DiscardContent.Flags.AllocationIsIdle = is_idle;
        args.DiscardContent.SegmentId = LOCAL;
        test_build(&kernel, &args, PAGE);
        assert_ptr_equal(args.pDmaBuffer, kernel.buffer);
    }
}

/* ---- Aperture -------------------------------------------------------------------------------- */

static HANDLE create_allocation(uint64_t bytes)
{
    struct sgpu_umd_allocation request = {.version = SGPU_UMD_VERSION, .bytes = bytes};
    DXGK_ALLOCATIONINFO info = {.pPrivateDriverData = &request,
                                .PrivateDriverDataSize = sizeof request};
    DXGKARG_CREATEALLOCATION create = {.NumAllocations = 1, .pAllocationInfo = &info};

    assert_int_equal(kernel.ddi.DxgkDdiCreateAllocation(kernel.adapter, &create), STATUS_SUCCESS);
    return info.hAllocation;
}

static void destroy_allocation(HANDLE allocation)
{
    DXGKARG_DESTROYALLOCATION destroy = {1, &allocation, NULL, {{{0}}}};

    assert_int_equal(kernel.ddi.DxgkDdiDestroyAllocation(kernel.adapter, &destroy), STATUS_SUCCESS);
}

/* APER-005: what nobody's operation maps is a paging buffer, in which no command can run yet. */
static void a_mapping_without_an_allocation_is_done_at_once(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER map = {.Operation = DXGK_OPERATION_MAP_APERTURE_SEGMENT};
    struct test_mdl mdl;

    test_mdl_init(&kernel, &mdl, 4);
    map.MapApertureSegment.SegmentId = 2;
    map.MapApertureSegment.OffsetInPages = 5;
    map.MapApertureSegment.NumberOfPages = 3;
    map.MapApertureSegment.pMdl = &mdl.mdl;
    map.MapApertureSegment.MdlOffset = 1;
    map.pDmaBuffer = kernel.buffer;
    map.DmaSize = PAGE;
    assert_int_equal(kernel.ddi.DxgkDdiBuildPagingBuffer(kernel.adapter, &map), STATUS_SUCCESS);
    assert_ptr_equal(map.pDmaBuffer, kernel.buffer);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(sgpu_aperture_page(kernel.gpu, 5 + i), mdl.pfn[1 + i]);
    assert_int_equal(sgpu_aperture_page(kernel.gpu, 8), SGPU_NO_PAGE);
    test_mdl_fini(&kernel, &mdl);
}

static void aperture_slots_follow_the_list_and_unmap_to_the_dummy_page(void **state)
{
    HANDLE allocation = create_allocation((uint64_t)3 * PAGES * PAGE);
    struct test_mdl mdl;
    uint64_t dummy;

    test_mdl_init(&kernel, &mdl, 4 * PAGES);
    assert_true(machine_alloc_pages(kernel.machine, 1, &dummy));
    FOR_EACH_BUFFER_SIZE(dma_bytes)
    {
        DXGKARG_BUILDPAGINGBUFFER map = {.Operation = DXGK_OPERATION_MAP_APERTURE_SEGMENT};
        DXGKARG_BUILDPAGINGBUFFER unmap = {.Operation = DXGK_OPERATION_UNMAP_APERTURE_SEGMENT};

        map.MapApertureSegment.hAllocation = allocation;
        map.MapApertureSegment.SegmentId = 2;
        map.MapApertureSegment.OffsetInPages = 10;
        map.MapApertureSegment.NumberOfPages = 3 * PAGES;
        map.MapApertureSegment.pMdl = &mdl.mdl;
        map.MapApertureSegment.MdlOffset = 7;
        test_build(&kernel, &map, dma_bytes);
        for (uint64_t i = 0; i < 3 * PAGES; i++)
            assert_int_equal(sgpu_aperture_page(kernel.gpu, 10 + i), mdl.pfn[7 + i]);

        unmap.UnmapApertureSegment.SegmentId = 2;
        unmap.UnmapApertureSegment.OffsetInPages = 11;
        unmap.UnmapApertureSegment.NumberOfPages = 3 * PAGES - 2;
        unmap.UnmapApertureSegment.DummyPage.QuadPart = (LONGLONG)(dummy * PAGE);
        test_build(&kernel, &unmap, dma_bytes);
        assert_int_equal(sgpu_aperture_page(kernel.gpu, 10), mdl.pfn[7]);
        for (uint64_t i = 1; i < 3 * PAGES - 1; i++)
            assert_int_equal(sgpu_aperture_page(kernel.gpu, 10 + i), dummy);
        assert_int_equal(sgpu_aperture_page(kernel.gpu, 10 + 3 * PAGES - 1),
                         mdl.pfn[7 + 3 * PAGES - 1]);
    }
    destroy_allocation(allocation);
    test_mdl_fini(&kernel, &mdl);
}

static void cache_coherence_of_the_aperture_is_as_asked(void **state)
{
    HANDLE allocation = create_allocation(PAGE);
    struct test_mdl mdl;

    test_mdl_init(&kernel, &mdl, 1);
    for (UINT is_coherent = 0; is_coherent < 2; is_coherent++) {
        DXGKARG_BUILDPAGINGBUFFER args = {.Operation = DXGK_OPERATION_MAP_APERTURE_SEGMENT};
        const struct sgpu_packet_gart *gart = (const void *)kernel.buffer;

        args.MapApertureSegment.hAllocation = allocation;
        args.MapApertureSegment.SegmentId = 2;
        args.MapApertureSegment.NumberOfPages = 1;
        args.MapApertureSegment.pMdl = &mdl.mdl;
        args.MapApertureSegment.Flags.CacheCoherent = is_coherent;
        test_build(&kernel, &args, PAGE);
        assert_int_equal(SGPU_PACKET_OPCODE(gart->header), SGPU_OP_GART_WRITE);
        assert_int_equal(gart->flags, is_coherent ? SGPU_GART_COHERENT : 0);
    }
    destroy_allocation(allocation);
    test_mdl_fini(&kernel, &mdl);
}

/* ---- The packer ------------------------------------------------------------------------------ */

/* Several operations in one buffer run in the order in which they were built, as one submission. */
static void operations_are_packed_one_behind_the_other(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER args = {.Operation = DXGK_OPERATION_FILL};

    page_store_fill(local(), 0, 0x100000, GUARD);
    args.pDmaBuffer = kernel.buffer;
    args.DmaSize = PAGE;
    args.pDmaBufferPrivateData = kernel.private_data;
    args.DmaBufferPrivateDataSize = TEST_PRIVATE_BYTES;
    for (UINT i = 0; i < 8; i++) {
        uint8_t *start = args.pDmaBuffer;

        args.Fill.FillSize = PAGE;
        args.Fill.FillPattern = i;
        args.Fill.Destination.SegmentId = LOCAL;
        args.Fill.Destination.SegmentAddress.QuadPart = 0x40000 + i * PAGE / 2;
        assert_int_equal(kernel.ddi.DxgkDdiBuildPagingBuffer(kernel.adapter, &args),
                         STATUS_SUCCESS);
        assert_int_equal((uint8_t *)args.pDmaBuffer - start, SGPU_SUBMIT_ALIGN);
        args.DmaSize -= SGPU_SUBMIT_ALIGN;
        args.DmaBufferPrivateDataSize =
            TEST_PRIVATE_BYTES -
            (UINT)((uint8_t *)args.pDmaBufferPrivateData - kernel.private_data);
    }
    test_run_paging(&kernel, 0, 8 * SGPU_SUBMIT_ALIGN,
                    (UINT)((uint8_t *)args.pDmaBufferPrivateData - kernel.private_data));
    for (UINT i = 0; i < 8; i++)
        assert_true(page_store_is_fill(local(), 0x40000 + i * PAGE / 2, PAGE / 2, i, NULL));
}

/* A later part of a buffer is its own submission and does not depend on the beginning. */
static void an_operation_behind_others_runs_by_itself(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER args = {.Operation = DXGK_OPERATION_FILL};

    page_store_fill(local(), 0, 0x100000, GUARD);
    args.Fill.FillSize = PAGE;
    args.Fill.FillPattern = 5;
    args.Fill.Destination.SegmentId = LOCAL;
    args.Fill.Destination.SegmentAddress.QuadPart = 0x40000;
    memset(kernel.buffer, 0xff, 3 * SGPU_SUBMIT_ALIGN); /* no packet */
    test_build_at(&kernel, &args, 3 * SGPU_SUBMIT_ALIGN, PAGE - 3 * SGPU_SUBMIT_ALIGN);
    assert_true(page_store_is_fill(local(), 0x40000, PAGE, 5, NULL));
}

/* D05: with no room at all the answer is INSUFFICIENT, and nothing has happened. */
static void no_room_is_insufficient_and_changes_nothing(void **state)
{
    const UINT sizes[] = {0, 8, SGPU_SUBMIT_ALIGN - 1};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        DXGKARG_BUILDPAGINGBUFFER args = {.Operation = DXGK_OPERATION_FILL};

        args.Fill.FillSize = PAGE;
        args.Fill.Destination.SegmentId = LOCAL;
        args.pDmaBuffer = kernel.buffer;
        args.DmaSize = sizes[i];
        memset(kernel.buffer, TEST_POISON, PAGE);
        assert_int_equal(kernel.ddi.DxgkDdiBuildPagingBuffer(kernel.adapter, &args),
                         STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
        assert_ptr_equal(args.pDmaBuffer, kernel.buffer);
        assert_int_equal(args.MultipassOffset, 0);
        assert_true(test_is_poison(kernel.buffer, PAGE));
    }
}

static void private_data_is_optional(void **state)
{
    const UINT sizes[] = {0, 1, 7, 8, 9};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        DXGKARG_BUILDPAGINGBUFFER args = {.Operation = DXGK_OPERATION_FILL};

        args.Fill.FillSize = PAGE;
        args.Fill.Destination.SegmentId = LOCAL;
        args.pDmaBuffer = kernel.buffer;
        args.DmaSize = PAGE;
        args.pDmaBufferPrivateData = sizes[i] ? kernel.private_data : NULL;
        args.DmaBufferPrivateDataSize = sizes[i];
        memset(kernel.private_data, TEST_POISON, sizeof kernel.private_data);
        assert_int_equal(kernel.ddi.DxgkDdiBuildPagingBuffer(kernel.adapter, &args),
                         STATUS_SUCCESS);
        assert_true(test_is_poison(kernel.private_data + sizes[i], 64));
        test_run_paging(&kernel, 0, SGPU_SUBMIT_ALIGN, 0);
    }
}

/* PB-028. */
static void unknown_operations_succeed_and_write_nothing(void **state)
{
    const int operations[] = {MINIPORT_OPERATION_COUNT, MINIPORT_OPERATION_COUNT + 1, 0x7fffffff,
                              -1};

    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        DXGKARG_BUILDPAGINGBUFFER args = {.Operation = DXGK_OPERATION_TRANSFER};

        args.Operation = (DXGK_BUILDPAGINGBUFFER_OPERATION)operations[i];
        memset(&args.Reserved, 0xff, sizeof args.Reserved);
        kernel.last_line[0] = 0;
        test_build(&kernel, &args, PAGE);
        assert_ptr_equal(args.pDmaBuffer, kernel.buffer);
        assert_int_equal(kernel.pass_count, 1);
        assert_non_null(strstr(kernel.last_line, "nothing done"));
    }
}

/* PB-009: building takes no memory, so the lack of it is no reason to fail. */
static void building_allocates_nothing(void **state)
{
    uint64_t before = nt_pool_allocation_count(kernel.nt);

    transfer_to_system_memory_moves_exactly_its_bytes(state);
    fill_covers_its_range_and_no_more(state);
    assert_int_equal(nt_pool_allocation_count(kernel.nt), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_physical, teardown)
        TEST(transfer_to_system_memory_moves_exactly_its_bytes),
        TEST(transfer_from_system_memory_moves_exactly_its_bytes),
        TEST(transfer_between_places_in_segments_is_linear),
        TEST(a_long_linear_transfer_is_cut_and_resumed),
        TEST(transfer_between_system_pages_moves_them),
        TEST(transfer_of_nothing_writes_nothing),
        TEST(multipass_progress_survives_more_bytes_than_32_bits_count),
        TEST(fill_covers_its_range_and_no_more),
        TEST(discard_needs_no_gpu_whether_idle_or_not),
        TEST(aperture_slots_follow_the_list_and_unmap_to_the_dummy_page),
        TEST(cache_coherence_of_the_aperture_is_as_asked),
        TEST(a_mapping_without_an_allocation_is_done_at_once),
        TEST(operations_are_packed_one_behind_the_other),
        TEST(an_operation_behind_others_runs_by_itself),
        TEST(no_room_is_insufficient_and_changes_nothing),
        TEST(private_data_is_optional),
        TEST(unknown_operations_succeed_and_write_nothing),
        TEST(building_allocates_nothing),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
