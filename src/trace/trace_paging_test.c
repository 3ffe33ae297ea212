/* Trace: the line of every paging operation, each field with a value of its own. */
#include "trace/trace.h"

#include "base/bits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A bottom that writes 32 bytes, fails when told, and then says how far it came. */
static NTSTATUS result;

static NTSTATUS build(struct miniport *m, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (arg->pDmaBuffer)
        arg->pDmaBuffer = (char *)arg->pDmaBuffer + 32;
    if (!NT_SUCCESS(result))
        arg->MultipassOffset += 7;
    arg->Operation = DXGK_OPERATION_FILL; /* a driver may scribble; the line must not care */
    return result;
}

static struct miniport_ops bottom_ops;
static struct miniport bottom = {&bottom_ops, NULL};

static char text[4096];

static void collect(void *context, const struct trace_event *event)
{
    size_t length = strlen(text);

    trace_event_format(event, text + length, sizeof text - length);
    strcat(text, "\n");
}

static char buffer[4096];
static char allocation, device, process, context, fence; /* what handles point at */

/* The MDL of three pages that starts in page frame 0x240. */
static struct {
    MDL mdl;
    PFN_NUMBER frames[3];
} pages = {.mdl = {.ByteCount = 3 * 4096}, .frames = {0x240, 0x111, 0x99}};

static DXGKARG_BUILDPAGINGBUFFER arguments(DXGK_BUILDPAGINGBUFFER_OPERATION operation)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {0};

    arg.Operation = operation;
    arg.pDmaBuffer = buffer;
    arg.DmaSize = 4096;
    arg.DmaBufferPrivateDataSize = 64;
    return arg;
}

/* Builds, and compares what stands between "MultipassOffset=0 " and the end of the first line. */
static void assert_fields(DXGKARG_BUILDPAGINGBUFFER arg, const char *operation, const char *golden)
{
    struct trace_sink sink = {collect, NULL};
    struct miniport *trace;
    char expected[2048];

    bottom_ops = miniport_forward_ops;
    bottom_ops.build_paging_buffer = build;
    text[0] = '\0';
    assert_int_equal(miniport_trace_create(base_services_libc(), &bottom, &trace), STATUS_SUCCESS);
    miniport_trace_set_sink(trace, &sink);
    assert_int_equal(miniport_build_paging_buffer(trace, NULL, &arg), result);
    snprintf(expected, sizeof expected,
             "> DxgkDdiBuildPagingBuffer %s DmaSize=4096 DmaBufferPrivateDataSize=64 "
             "MultipassOffset=0 %s\n"
             "< DxgkDdiBuildPagingBuffer %s 0x%08X written=32 MultipassOffset=%u\n",
             operation, golden, operation, (unsigned)result, NT_SUCCESS(result) ? 0 : 7);
    assert_string_equal(text, expected);
    miniport_destroy(trace);
}

static void transfers_have_their_lines(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg = arguments(DXGK_OPERATION_TRANSFER);

    arg.Transfer.hAllocation = &allocation;
    arg.Transfer.TransferOffset = 8192;
    arg.Transfer.TransferSize = 4096;
    arg.Transfer.Source.SegmentId = 2;
    arg.Transfer.Source.SegmentAddress.QuadPart = 0x240000;
    arg.Transfer.Destination.pMdl = &pages.mdl;
    arg.Transfer.Flags.TransferStart = 1;
    arg.Transfer.MdlOffset = 1;
    assert_fields(arg, "TRANSFER",
                  "hAllocation=a1 TransferOffset=8192 TransferSize=4096 Source=2:0x240000 "
                  "Destination.pMdl={bytes=12288 frame=0x240} Flags=0x8 MdlOffset=1");

    result = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    arg.Transfer.Destination.pMdl = NULL;
    assert_fields(arg, "TRANSFER",
                  "hAllocation=a1 TransferOffset=8192 TransferSize=4096 Source=2:0x240000 "
                  "Destination.pMdl=- Flags=0x8 MdlOffset=1");
    result = STATUS_SUCCESS;

    arg = arguments(DXGK_OPERATION_SPECIAL_LOCK_TRANSFER);
    arg.SpecialLockTransfer.TransferSize = 4096;
    arg.SpecialLockTransfer.Source.pMdl = &pages.mdl;
    arg.SpecialLockTransfer.Destination.SegmentId = 1;
    arg.SpecialLockTransfer.Destination.SegmentAddress.QuadPart = 0x1000;
    arg.SpecialLockTransfer.Flags.Swizzle = 1;
    arg.SpecialLockTransfer.SwizzlingRangeId = 5;
    arg.SpecialLockTransfer.SwizzlingRangeData = 6;
    assert_fields(arg, "SPECIAL_LOCK_TRANSFER",
                  "hAllocation=- TransferOffset=0 TransferSize=4096 "
                  "Source.pMdl={bytes=12288 frame=0x240} Destination=1:0x1000 Flags=0x1 "
                  "SwizzlingRangeId=5 SwizzlingRangeData=6");

    arg = arguments(DXGK_OPERATION_VIRTUAL_TRANSFER);
    arg.TransferVirtual.hAllocation = &allocation;
    arg.TransferVirtual.AllocationOffsetInBytes = 1;
    arg.TransferVirtual.TransferSizeInBytes = 2;
    arg.TransferVirtual.SourceVirtualAddress = 0x3000;
    arg.TransferVirtual.DestinationVirtualAddress = 0x4000;
    arg.TransferVirtual.SourcePageTable = 0x5000;
    arg.TransferVirtual.TransferDirection = DXGK_MEMORY_TRANSFER_SYSTEM_TO_LOCAL;
    arg.TransferVirtual.Flags.Dst64KBPages = 1;
    arg.TransferVirtual.DestinationPageTable = 0x6000;
    assert_fields(arg, "VIRTUAL_TRANSFER",
                  "hAllocation=a1 AllocationOffsetInBytes=1 TransferSizeInBytes=2 "
                  "SourceVirtualAddress=0x3000 DestinationVirtualAddress=0x4000 "
                  "SourcePageTable=0x5000 TransferDirection=1 Flags=0x2 "
                  "DestinationPageTable=0x6000");
}

static void fills_and_discards_have_their_lines(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg = arguments(DXGK_OPERATION_FILL);

    arg.Fill.hAllocation = &allocation;
    arg.Fill.FillSize = 65536;
    arg.Fill.FillPattern = 0xdeadbeef;
    arg.Fill.Destination.SegmentId = 1;
    arg.Fill.Destination.SegmentAddress.QuadPart = 0x7000;
    assert_fields(arg, "FILL",
                  "hAllocation=a1 FillSize=65536 FillPattern=0xdeadbeef Destination=1:0x7000");

    arg = arguments(DXGK_OPERATION_VIRTUAL_FILL);
    arg.FillVirtual.hAllocation = &allocation;
    arg.FillVirtual.AllocationOffsetInBytes = 1;
    arg.FillVirtual.FillSizeInBytes = 2;
    arg.FillVirtual.FillPattern = 3;
    arg.FillVirtual.DestinationVirtualAddress = 0x4000;
    assert_fields(arg, "VIRTUAL_FILL",
                  "hAllocation=a1 AllocationOffsetInBytes=1 FillSizeInBytes=2 FillPattern=0x3 "
                  "DestinationVirtualAddress=0x4000");

    arg = arguments(DXGK_OPERATION_DISCARD_CONTENT);
    arg.DiscardContent.hAllocation = &allocation;
    arg.DiscardContent.Flags.AllocationIsIdle = 1;
    arg.DiscardContent.SegmentId = 3;
    arg.DiscardContent.SegmentAddress.QuadPart = 0x9000;
    assert_fields(arg, "DISCARD_CONTENT", "hAllocation=a1 Flags=0x1 Segment=3:0x9000");

    arg = arguments(DXGK_OPERATION_READ_PHYSICAL);
    arg.ReadPhysical.SegmentId = 1;
    arg.ReadPhysical.PhysicalAddress.QuadPart = 0x1234;
    assert_fields(arg, "READ_PHYSICAL", "SegmentId=1 PhysicalAddress=0x1234");

    arg = arguments(DXGK_OPERATION_WRITE_PHYSICAL);
    arg.WritePhysical.SegmentId = 2;
    arg.WritePhysical.PhysicalAddress.QuadPart = 0x5678;
    assert_fields(arg, "WRITE_PHYSICAL", "SegmentId=2 PhysicalAddress=0x5678");
}

static void aperture_operations_have_their_lines(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg = arguments(DXGK_OPERATION_MAP_APERTURE_SEGMENT);
    DXGK_PAGE_NUMBER numbers[] = {0x77, 0x88};

    arg.MapApertureSegment.hDevice = &device;
    arg.MapApertureSegment.hAllocation = &allocation;
    arg.MapApertureSegment.SegmentId = 3;
    arg.MapApertureSegment.OffsetInPages = 16;
    arg.MapApertureSegment.NumberOfPages = 2;
    arg.MapApertureSegment.pMdl = &pages.mdl;
    arg.MapApertureSegment.Flags.CacheCoherent = 1;
    arg.MapApertureSegment.MdlOffset = 1;
    assert_fields(arg, "MAP_APERTURE_SEGMENT",
                  "hDevice=d1 hAllocation=a1 SegmentId=3 OffsetInPages=16 NumberOfPages=2 "
                  "pMdl={bytes=12288 frame=0x240} Flags=0x1 MdlOffset=1");

    arg = arguments(DXGK_OPERATION_UNMAP_APERTURE_SEGMENT);
    arg.UnmapApertureSegment.hDevice = &device;
    arg.UnmapApertureSegment.hAllocation = &allocation;
    arg.UnmapApertureSegment.SegmentId = 3;
    arg.UnmapApertureSegment.OffsetInPages = 16;
    arg.UnmapApertureSegment.NumberOfPages = 2;
    arg.UnmapApertureSegment.DummyPage.QuadPart = 0xabc000;
    assert_fields(arg, "UNMAP_APERTURE_SEGMENT",
                  "hDevice=d1 hAllocation=a1 SegmentId=3 OffsetInPages=16 NumberOfPages=2 "
                  "DummyPage=0xabc000");

    arg = arguments(DXGK_OPERATION_MAP_APERTURE_SEGMENT2);
    arg.MapApertureSegment2.hAllocation = &allocation;
    arg.MapApertureSegment2.SegmentId = 3;
    arg.MapApertureSegment2.OffsetInPages = 4;
    arg.MapApertureSegment2.NumberOfPages = 1;
    arg.MapApertureSegment2.Adl.PageCount = 2;
    arg.MapApertureSegment2.Adl.Pages = numbers;
    arg.MapApertureSegment2.AdlOffset = 1;
    arg.MapApertureSegment2.CpuVisibleAddress = buffer;
    assert_fields(arg, "MAP_APERTURE_SEGMENT2",
                  "hDevice=- hAllocation=a1 SegmentId=3 OffsetInPages=4 NumberOfPages=1 "
                  "Adl={pages=2 first=0x77} Flags=0x0 AdlOffset=1 CpuVisibleAddress=cpu");

    arg = arguments(DXGK_OPERATION_MAP_MMU);
    arg.MmapMmu.hAllocation = &allocation;
    arg.MmapMmu.VirtualAddress = 0x10000;
    arg.MmapMmu.MmuId = 1;
    arg.MmapMmu.SegmentId = 2;
    arg.MmapMmu.AllocationOffsetInPages = 3;
    arg.MmapMmu.Adl.PageCount = 4;
    arg.MmapMmu.Adl.Flags.Contiguous = 1;
    arg.MmapMmu.Adl.BasePageNumber = 0x55;
    assert_fields(arg, "MAP_MMU",
                  "hAllocation=a1 VirtualAddress=0x10000 MmuId=1 SegmentId=2 "
                  "AllocationOffsetInPages=3 Adl={pages=4 base=0x55}");

    arg = arguments(DXGK_OPERATION_UNMAP_MMU);
    arg.UnmapMmu.hAllocation = &allocation;
    arg.UnmapMmu.VirtualAddress = 0x10000;
    arg.UnmapMmu.MmuId = 1;
    arg.UnmapMmu.AllocationOffset = 3;
    arg.UnmapMmu.NumberOfPages = 4;
    assert_fields(arg, "UNMAP_MMU",
                  "hAllocation=a1 VirtualAddress=0x10000 MmuId=1 AllocationOffset=3 "
                  "NumberOfPages=4");
}

static void page_table_updates_have_their_lines(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg = arguments(DXGK_OPERATION_UPDATE_PAGE_TABLE);
    DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &arg.UpdatePageTable;
    DXGK_BUILDPAGINGBUFFER_COPY_RANGE ranges[5] = {{1, 0x1000, 0x2000, 3, 4}};
    DXGK_PTE entries[5] = {{{{0}}, {0}}};

    for (unsigned i = 0; i < ARRAY_COUNT(entries); i++) {
        entries[i].Valid = 1;
        entries[i].PageAddress = 0x40 + i;
    }
    update->PageTableLevel = 1;
    update->hAllocation = &allocation;
    update->PageTableAddress.GpuPhysical.SegmentId = 1;
    update->PageTableAddress.GpuPhysical.SegmentOffset = 0x8000;
    update->UpdateMode = DXGK_PAGETABLEUPDATE_GPU_PHYSICAL;
    update->pPageTableEntries = entries;
    update->StartIndex = 2;
    update->NumPageTableEntries = 2;
    update->Flags.InitialUpdate = 1;
    update->DriverProtection = 0x11;
    update->AllocationOffsetInBytes = 4096;
    update->hProcess = &process;
    update->FirstPteVirtualAddress = 0x200000;
    assert_fields(arg, "UPDATE_PAGE_TABLE",
                  "PageTableLevel=1 hAllocation=a1 PageTableAddress=1:0x8000 UpdateMode=2 "
                  "StartIndex=2 NumPageTableEntries=2 Flags=0x2 DriverProtection=0x11 "
                  "AllocationOffsetInBytes=4096 hProcess=p1 FirstPteVirtualAddress=0x200000 "
                  "pPageTableEntries=[0x1:0x40 0x1:0x41]");

    /* Repeat gives one entry for all; the CPU's address of a page table is not for comparing. */
    update->Flags.Repeat = 1;
    update->NumPageTableEntries = 512;
    update->UpdateMode = DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
    memset(&update->PageTableAddress, 0, sizeof update->PageTableAddress);
    update->PageTableAddress.CpuVirtual = buffer;
    update->pPageTableEntries64KB = &entries[4];
    assert_fields(arg, "UPDATE_PAGE_TABLE",
                  "PageTableLevel=1 hAllocation=a1 PageTableAddress=cpu UpdateMode=0 "
                  "StartIndex=2 NumPageTableEntries=512 Flags=0x3 DriverProtection=0x11 "
                  "AllocationOffsetInBytes=4096 hProcess=p1 FirstPteVirtualAddress=0x200000 "
                  "pPageTableEntries=[0x1:0x40] pPageTableEntries64KB=[0x1:0x44]");

    /* Many entries are four and a hash, which is another if any entry is. */
    memset(update, 0, sizeof *update);
    update->UpdateMode = DXGK_PAGETABLEUPDATE_GPU_VIRTUAL;
    update->PageTableAddress.GpuVirtual = 0x9000;
    update->pPageTableEntries = entries;
    update->NumPageTableEntries = 5;
    assert_fields(arg, "UPDATE_PAGE_TABLE",
                  "PageTableLevel=0 hAllocation=- PageTableAddress=0x9000 UpdateMode=1 "
                  "StartIndex=0 NumPageTableEntries=5 Flags=0x0 DriverProtection=0x0 "
                  "AllocationOffsetInBytes=0 hProcess=- FirstPteVirtualAddress=0x0 "
                  "pPageTableEntries=[0x1:0x40 0x1:0x41 0x1:0x42 0x1:0x43 .. #c46958e61f96bef5]");
    entries[4].PageAddress++;
    assert_fields(arg, "UPDATE_PAGE_TABLE",
                  "PageTableLevel=0 hAllocation=- PageTableAddress=0x9000 UpdateMode=1 "
                  "StartIndex=0 NumPageTableEntries=5 Flags=0x0 DriverProtection=0x0 "
                  "AllocationOffsetInBytes=0 hProcess=- FirstPteVirtualAddress=0x0 "
                  "pPageTableEntries=[0x1:0x40 0x1:0x41 0x1:0x42 0x1:0x43 .. #583fa679cf5d8873]");

    arg = arguments(DXGK_OPERATION_FLUSH_TLB);
    arg.FlushTlb.RootPageTableAddress.SegmentId = 1;
    arg.FlushTlb.RootPageTableAddress.SegmentOffset = 0x8000;
    arg.FlushTlb.hProcess = &process;
    arg.FlushTlb.StartVirtualAddress = 0x1000;
    arg.FlushTlb.EndVirtualAddress = 0x2000;
    assert_fields(arg, "FLUSH_TLB",
                  "RootPageTableAddress=1:0x8000 hProcess=p1 StartVirtualAddress=0x1000 "
                  "EndVirtualAddress=0x2000");

    arg = arguments(DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES);
    arg.CopyPageTableEntries.NumRanges = 1;
    arg.CopyPageTableEntries.pRanges = ranges;
    assert_fields(arg, "COPY_PAGE_TABLE_ENTRIES", "NumRanges=1 pRanges=[1*0x1000+3>0x2000+4]");
    arg.CopyPageTableEntries.NumRanges = 5;
    assert_fields(arg, "COPY_PAGE_TABLE_ENTRIES",
                  "NumRanges=5 pRanges=[1*0x1000+3>0x2000+4 0*0x0+0>0x0+0 0*0x0+0>0x0+0 "
                  "0*0x0+0>0x0+0 .. #1ab68cfed0d6511a]");
}

static void context_operations_have_their_lines(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg = arguments(DXGK_OPERATION_INIT_CONTEXT_RESOURCE);

    arg.InitContextResource.hAllocation = &allocation;
    arg.InitContextResource.Destination.SegmentId = 1;
    arg.InitContextResource.Destination.SegmentAddress.QuadPart = 0x3000;
    arg.InitContextResource.Destination.VirtualAddress = buffer;
    arg.InitContextResource.Destination.GpuVirtualAddress = 0x4000;
    assert_fields(arg, "INIT_CONTEXT_RESOURCE",
                  "hAllocation=a1 Destination=1:0x3000 VirtualAddress=cpu "
                  "GpuVirtualAddress=0x4000");

    arg = arguments(DXGK_OPERATION_UPDATE_CONTEXT_ALLOCATION);
    arg.UpdateContextAllocation.ContextAllocation = 0x1000;
    arg.UpdateContextAllocation.ContextAllocationSize = 8192;
    arg.UpdateContextAllocation.pDriverPrivateData = buffer;
    arg.UpdateContextAllocation.DriverPrivateDataSize = 16;
    arg.hSystemContext = &context;
    arg.DmaBufferGpuVirtualAddress = 0x7000;
    arg.DmaBufferWriteOffset = 24;
    assert_fields(arg, "UPDATE_CONTEXT_ALLOCATION",
                  "ContextAllocation=0x1000 ContextAllocationSize=8192 DriverPrivateDataSize=16 "
                  "hSystemContext=c1 DmaBufferGpuVirtualAddress=0x7000 DmaBufferWriteOffset=24");
}

static void notices_have_their_lines(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg = arguments(DXGK_OPERATION_NOTIFY_RESIDENCY);
    DXGK_FENCE_RESIDENCY_INFO info = {.hGlobalNativeFence = &fence};

    arg.NotifyResidency.hAllocation = &allocation;
    arg.NotifyResidency.PhysicalAddress.SegmentId = 2;
    arg.NotifyResidency.PhysicalAddress.SegmentOffset = 0x4000;
    arg.NotifyResidency.Resident = 1;
    assert_fields(arg, "NOTIFY_RESIDENCY", "hAllocation=a1 PhysicalAddress=2:0x4000 Resident=1");

    arg = arguments(DXGK_OPERATION_NOTIFY_RESIDENCY2);
    arg.NotifyResidency2.hAllocation = &allocation;
    arg.NotifyResidency2.AllocationOffsetInPages = 1;
    arg.NotifyResidency2.SizeInPages = 2;
    arg.NotifyResidency2.SegmentId = 3;
    arg.NotifyResidency2.PhysicalAddress.SegmentId = 3;
    arg.NotifyResidency2.PhysicalAddress.SegmentOffset = 0x5000;
    arg.NotifyResidency2.Resident = 1;
    assert_fields(arg, "NOTIFY_RESIDENCY2",
                  "hAllocation=a1 AllocationOffsetInPages=1 SizeInPages=2 SegmentId=3 "
                  "PhysicalAddress=3:0x5000 Resident=1");
    arg.NotifyResidency2.SegmentId = 0;
    arg.NotifyResidency2.Mdl = &pages.mdl;
    assert_fields(arg, "NOTIFY_RESIDENCY2",
                  "hAllocation=a1 AllocationOffsetInPages=1 SizeInPages=2 SegmentId=0 "
                  "Mdl={bytes=12288 frame=0x240} Resident=1");

    arg = arguments(DXGK_OPERATION_SIGNAL_MONITORED_FENCE);
    arg.SignalMonitoredFence.MonitoredFenceGpuVa = 0x1000;
    arg.SignalMonitoredFence.MonitoredFenceValue = 99;
    assert_fields(arg, "SIGNAL_MONITORED_FENCE",
                  "MonitoredFenceGpuVa=0x1000 MonitoredFenceValue=99");

    arg = arguments(DXGK_OPERATION_NOTIFY_FENCE_RESIDENCY);
    info.CurrentValuePhysicalAddress.SegmentId = 1;
    info.CurrentValuePhysicalAddress.SegmentOffset = 0x10;
    info.MonitoredValuePhysicalAddress.SegmentId = 1;
    info.MonitoredValuePhysicalAddress.SegmentOffset = 0x18;
    arg.NotifyFenceResidency.NumFences = 1;
    arg.NotifyFenceResidency.FenceResidencyInfo = &info;
    assert_fields(arg, "NOTIFY_FENCE_RESIDENCY",
                  "NumFences=1 Flags=0x0 FenceResidencyInfo=[{f1 current=1:0x10 "
                  "monitored=1:0x18}]");

    arg = arguments(DXGK_OPERATION_NOTIFY_ALLOC);
    arg.NotifyAllocation.hAllocation = &allocation;
    arg.NotifyAllocation.hKmdProcessHandle = &process;
    arg.NotifyAllocation.Flags.Eviction = 1;
    arg.NotifyAllocation.OffsetInBytes = 4096;
    arg.NotifyAllocation.SizeInBytes = 8192;
    arg.NotifyAllocation.GpuVirtualAddressAtOffset = 0x6000;
    assert_fields(arg, "NOTIFY_ALLOC",
                  "hAllocation=a1 hKmdProcessHandle=p1 Flags=0x1 OffsetInBytes=4096 "
                  "SizeInBytes=8192 GpuVirtualAddressAtOffset=0x6000");
}

static void an_unknown_operation_shows_its_number(void **state)
{
    struct trace_sink sink = {collect, NULL};
    DXGKARG_BUILDPAGINGBUFFER arg = arguments((DXGK_BUILDPAGINGBUFFER_OPERATION)23);
    struct miniport *trace;

    bottom_ops = miniport_forward_ops;
    bottom_ops.build_paging_buffer = build;
    text[0] = '\0';
    assert_int_equal(miniport_trace_create(base_services_libc(), &bottom, &trace), STATUS_SUCCESS);
    miniport_trace_set_sink(trace, &sink);
    miniport_build_paging_buffer(trace, NULL, &arg);
    assert_string_equal(text, "> DxgkDdiBuildPagingBuffer ? Operation=23 DmaSize=4096 "
                              "DmaBufferPrivateDataSize=64 MultipassOffset=0\n"
                              "< DxgkDdiBuildPagingBuffer ? Operation=23 0x00000000 written=32 "
                              "MultipassOffset=0\n");
    miniport_destroy(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transfers_have_their_lines),
        cmocka_unit_test(fills_and_discards_have_their_lines),
        cmocka_unit_test(aperture_operations_have_their_lines),
        cmocka_unit_test(page_table_updates_have_their_lines),
        cmocka_unit_test(context_operations_have_their_lines),
        cmocka_unit_test(notices_have_their_lines),
        cmocka_unit_test(an_unknown_operation_shows_its_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
