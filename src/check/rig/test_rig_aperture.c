/* Test rig: slots of the aperture, and drivers that fill them wrong. */
#include "check/rig/test_rig_aperture.h"

struct rig_frames rig_frames_of(PFN_NUMBER first)
{
    struct rig_frames frames = {
        .mdl = {.MdlFlags = MDL_PAGES_LOCKED, .ByteCount = RIG_PAGES * 4096}};

    for (unsigned i = 0; i < RIG_PAGES; i++)
        frames.pages[i] = first + 3 * i;
    return frames;
}

HANDLE rig_aperture_allocation(struct rig *rig)
{
    DXGK_ALLOCATIONINFO info = {
        .Size = RIG_PAGES * 4096, .SupportedReadSegmentSet = 2, .SupportedWriteSegmentSet = 2};

    info.FlagsWddm2.AccessedPhysically = rig->model == RIG_GPUMMU;
    return rig_create_allocation(rig, &info);
}

DXGKARG_BUILDPAGINGBUFFER rig_map_of(struct rig *rig, HANDLE allocation, SIZE_T slot,
                                     struct rig_frames *frames)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_MAP_APERTURE_SEGMENT};

    arg.MapApertureSegment.hDevice = rig->device;
    arg.MapApertureSegment.hAllocation = allocation;
    arg.MapApertureSegment.SegmentId = RIG_APERTURE;
    arg.MapApertureSegment.OffsetInPages = slot;
    arg.MapApertureSegment.NumberOfPages = RIG_PAGES;
    arg.MapApertureSegment.pMdl = &frames->mdl;
    return arg;
}

DXGKARG_BUILDPAGINGBUFFER rig_unmap_of(struct rig *rig, HANDLE allocation, SIZE_T slot)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_UNMAP_APERTURE_SEGMENT};

    arg.UnmapApertureSegment.hDevice = rig->device;
    arg.UnmapApertureSegment.hAllocation = allocation;
    arg.UnmapApertureSegment.SegmentId = RIG_APERTURE;
    arg.UnmapApertureSegment.OffsetInPages = slot;
    arg.UnmapApertureSegment.NumberOfPages = RIG_PAGES;
    arg.UnmapApertureSegment.DummyPage.QuadPart = RIG_DUMMY_PAGE * 4096;
    return arg;
}

void rig_retire(struct rig *rig)
{
    rig_complete(rig, 0, rig_submit(rig));
}

void rig_build_and_retire(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER arg)
{
    rig_build(rig, &arg);
    rig_retire(rig);
}

HANDLE rig_map_some(struct rig *rig)
{
    struct rig_frames frames = rig_frames_of(0x100);
    HANDLE allocation = rig_aperture_allocation(rig);

    rig_build_and_retire(rig, rig_map_of(rig, allocation, 8, &frames));
    return allocation;
}

void rig_map_at(struct rig *rig, SIZE_T slot)
{
    struct rig_frames frames = rig_frames_of(0x100);

    rig_build_and_retire(rig, rig_map_of(rig, rig_aperture_allocation(rig), slot, &frames));
}

NTSTATUS rig_answer_slots(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    DXGKARG_BUILDPAGINGBUFFER *build = arg;
    rig_build_function *const *function = rig->told;

    if (ddi != MINIPORT_DDI_BuildPagingBuffer || build->Operation == DXGK_OPERATION_FILL)
        return rig_answer(rig, ddi, object, arg);
    return (*function)(rig, build);
}

NTSTATUS rig_do_nothing(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return STATUS_SUCCESS;
}

NTSTATUS rig_ignore_offset(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    DXGKARG_BUILDPAGINGBUFFER lawful = *arg;
    NTSTATUS status;

    if (lawful.Operation == DXGK_OPERATION_MAP_APERTURE_SEGMENT)
        lawful.MapApertureSegment.MdlOffset = 0;
    else
        lawful.MapApertureSegment2.AdlOffset = 0;
    status = rig_answer_build(rig, &lawful);
    arg->pDmaBuffer = lawful.pDmaBuffer;
    return status;
}

NTSTATUS rig_keep_slots(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    uint64_t slots[RIG_SLOTS];
    NTSTATUS status;

    memcpy(slots, rig->slots, sizeof slots);
    status = rig_answer_build(rig, arg);
    memcpy(rig->slots, slots, sizeof slots);
    return status;
}
