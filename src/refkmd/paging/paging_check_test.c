/*
 * What the driver prints of operations that contradict what it knows of its own objects.
 */
#include "refkmd/rig/test_kernel.h"

#include <string.h>

#define LOCAL    1u
#define APERTURE 2u
#define PAGE     SGPU_PAGE_BYTES
#define BYTES    (8u * PAGE)

static struct test_kernel kernel;
static HANDLE allocation;

static int setup(void **state)
{
    struct sgpu_umd_allocation request = {.version = SGPU_UMD_VERSION, .bytes = BYTES};
    DXGK_ALLOCATIONINFO info = {.pPrivateDriverData = &request,
                                .PrivateDriverDataSize = sizeof request};
    DXGKARG_CREATEALLOCATION create = {.NumAllocations = 1, .pAllocationInfo = &info};

    test_create_default(&kernel, RefKmdDriverEntryPhysical);
    assert_int_equal(kernel.ddi.DxgkDdiCreateAllocation(kernel.adapter, &create), STATUS_SUCCESS);
    allocation = info.hAllocation;
    return 0;
}

static int teardown(void **state)
{
    DXGKARG_DESTROYALLOCATION destroy = {1, &allocation, NULL, {{{0}}}};

    assert_int_equal(kernel.ddi.DxgkDdiDestroyAllocation(kernel.adapter, &destroy), STATUS_SUCCESS);
    test_destroy(&kernel);
    return 0;
}

/* The operation is built, and what is printed begins so; NULL: nothing is. */
static void expect(DXGKARG_BUILDPAGINGBUFFER args, const char *rule)
{
    kernel.last_line[0] = '\0';
    test_build(&kernel, &args, PAGE);
    if (rule)
        assert_non_null(strstr(kernel.last_line, rule));
    else
        assert_string_equal(kernel.last_line, "");
}

static DXGKARG_BUILDPAGINGBUFFER fill(void)
{
    DXGKARG_BUILDPAGINGBUFFER args = {.Operation = DXGK_OPERATION_FILL};

    args.Fill.hAllocation = allocation;
    args.Fill.FillSize = BYTES;
    args.Fill.Destination.SegmentId = LOCAL;
    args.Fill.Destination.SegmentAddress.QuadPart = 0x10000;
    return args;
}

static void lawful_operations_print_nothing(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER unmap = {.Operation = DXGK_OPERATION_UNMAP_APERTURE_SEGMENT};
    DXGKARG_BUILDPAGINGBUFFER args = fill();

    expect(args, NULL);
    args.Fill.hAllocation = NULL; /* nobody's */
    args.Fill.FillSize = 2 * BYTES;
    expect(args, NULL);
    unmap.UnmapApertureSegment.hAllocation = allocation;
    unmap.UnmapApertureSegment.SegmentId = APERTURE;
    unmap.UnmapApertureSegment.NumberOfPages = 8;
    expect(unmap, NULL);
}

static void ranges_that_leave_their_allocation_are_printed(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER transfer = {.Operation = DXGK_OPERATION_TRANSFER};
    DXGKARG_BUILDPAGINGBUFFER args = fill();

    args.Fill.FillSize = BYTES + PAGE;
    expect(args, "FILL-005");
    transfer.Transfer.hAllocation = allocation;
    transfer.Transfer.TransferOffset = PAGE;
    transfer.Transfer.TransferSize = BYTES;
    transfer.Transfer.Source.SegmentId = LOCAL;
    transfer.Transfer.Destination.SegmentId = LOCAL;
    transfer.Transfer.Destination.SegmentAddress.QuadPart = 0x20000;
    expect(transfer, "XFER-002");
    transfer.Transfer.TransferSize = BYTES - PAGE;
    expect(transfer, NULL);
    transfer.Transfer.Flags.TransferStart = 1;
    expect(transfer, "XFER-007");
}

static void addresses_outside_their_segment_are_printed(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER discard = {.Operation = DXGK_OPERATION_DISCARD_CONTENT};
    DXGKARG_BUILDPAGINGBUFFER unmap = {.Operation = DXGK_OPERATION_UNMAP_APERTURE_SEGMENT};

    discard.DiscardContent.hAllocation = allocation;
    discard.DiscardContent.SegmentId = APERTURE;
    discard.DiscardContent.SegmentAddress.QuadPart = 0x10000;
    expect(discard, "DISC-002");
    discard.DiscardContent.SegmentId = LOCAL;
    expect(discard, NULL);
    unmap.UnmapApertureSegment.SegmentId = LOCAL;
    unmap.UnmapApertureSegment.NumberOfPages = 1;
    expect(unmap, "APER-016");
}

static void handles_of_something_else_are_printed(void **state)
{
    DXGKARG_CREATEDEVICE create = {0};
    DXGKARG_BUILDPAGINGBUFFER args = fill();
    DXGKARG_BUILDPAGINGBUFFER unmap = {.Operation = DXGK_OPERATION_UNMAP_APERTURE_SEGMENT};

    assert_int_equal(kernel.ddi.DxgkDdiCreateDevice(kernel.adapter, &create), STATUS_SUCCESS);
    args.Fill.hAllocation = create.hDevice;
    expect(args, "FILL-005");
    unmap.UnmapApertureSegment.hDevice = allocation;
    unmap.UnmapApertureSegment.SegmentId = APERTURE;
    unmap.UnmapApertureSegment.NumberOfPages = 1;
    expect(unmap, "APER-006");
    unmap.UnmapApertureSegment.hDevice = create.hDevice;
    expect(unmap, NULL);
    assert_int_equal(kernel.ddi.DxgkDdiDestroyDevice(create.hDevice), STATUS_SUCCESS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lawful_operations_print_nothing),
        TEST(ranges_that_leave_their_allocation_are_printed),
        TEST(addresses_outside_their_segment_are_printed),
        TEST(handles_of_something_else_are_printed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
