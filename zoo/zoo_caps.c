/*
 * Defects of caps, segments and allocations (D73, D74, and the catalogue's SEG, PT and ALLOC).
 */
#include "zoo/zoo_tables.h"

#include <string.h>

/* The answer, and then something else in it. */
static NTSTATUS query(struct miniport *self, HANDLE object, const DXGKARG_QUERYADAPTERINFO *arg)
{
    return miniport_forward_query_adapter_info(self, object, arg);
}

/* Goes through the descriptors of whichever version was asked for, in the second pass. */
static void change_segments(const DXGKARG_QUERYADAPTERINFO *arg,
                            void (*change)(unsigned index, DXGK_SEGMENTFLAGS *flags,
                                           PHYSICAL_ADDRESS *base, SIZE_T *size, SIZE_T *limit))
{
    if (!arg->pOutputData)
        return;
    if (arg->Type == DXGKQAITYPE_QUERYSEGMENT4) {
        DXGK_QUERYSEGMENTOUT4 *out = arg->pOutputData;

        for (UINT i = 0; out->pSegmentDescriptor && i < out->NbSegment; i++) {
            DXGK_SEGMENTDESCRIPTOR4 *one =
                (void *)(out->pSegmentDescriptor + i * out->SegmentDescriptorStride);

            change(i, &one->Flags, &one->BaseAddress, &one->Size, &one->CommitLimit);
        }
    } else if (arg->Type == DXGKQAITYPE_QUERYSEGMENT3) {
        DXGK_QUERYSEGMENTOUT3 *out = arg->pOutputData;

        for (UINT i = 0; out->pSegmentDescriptor && i < out->NbSegment; i++) {
            DXGK_SEGMENTDESCRIPTOR3 *one = &out->pSegmentDescriptor[i];

            change(i, &one->Flags, &one->BaseAddress, &one->Size, &one->CommitLimit);
        }
    } else if (arg->Type == DXGKQAITYPE_QUERYSEGMENT) {
        DXGK_QUERYSEGMENTOUT *out = arg->pOutputData;

        for (UINT i = 0; out->pSegmentDescriptor && i < out->NbSegment; i++) {
            DXGK_SEGMENTDESCRIPTOR *one = &out->pSegmentDescriptor[i];

            change(i, &one->Flags, &one->BaseAddress, &one->Size, &one->CommitLimit);
        }
    }
}

static NTSTATUS query_reserved_caps(struct miniport *self, HANDLE object,
                                    const DXGKARG_QUERYADAPTERINFO *arg)
{
    const NTSTATUS status = query(self, object, arg);

    if (NT_SUCCESS(status) && arg->Type == DXGKQAITYPE_DRIVERCAPS)
        ((DXGK_DRIVERCAPS *)arg->pOutputData)->MemoryManagementCaps.Reserved = 1;
    return status;
}

static void plant_reserved_caps(struct zoo_layer *layer)
{
    layer->ops.query_adapter_info = query_reserved_caps;
}

static void both_flags(unsigned index, DXGK_SEGMENTFLAGS *flags, PHYSICAL_ADDRESS *base,
                       SIZE_T *size, SIZE_T *limit)
{
    if (!flags->Aperture)
        flags->CacheCoherent = 1;
}

static void bad_preserve(unsigned index, DXGK_SEGMENTFLAGS *flags, PHYSICAL_ADDRESS *base,
                         SIZE_T *size, SIZE_T *limit)
{
    flags->PreservedDuringStandby = 0;
    flags->PreservedDuringHibernate = 1;
}

static void low_limit(unsigned index, DXGK_SEGMENTFLAGS *flags, PHYSICAL_ADDRESS *base,
                      SIZE_T *size, SIZE_T *limit)
{
    if (!flags->Aperture)
        *limit = *size / 2;
}

static void overlap(unsigned index, DXGK_SEGMENTFLAGS *flags, PHYSICAL_ADDRESS *base, SIZE_T *size,
                    SIZE_T *limit)
{
    if (flags->Aperture)
        base->QuadPart = 4096;
}

static void odd_size(unsigned index, DXGK_SEGMENTFLAGS *flags, PHYSICAL_ADDRESS *base, SIZE_T *size,
                     SIZE_T *limit)
{
    if (!flags->Aperture) {
        *size -= 512;
        *limit = *size;
    }
}

static void reserved_bit(unsigned index, DXGK_SEGMENTFLAGS *flags, PHYSICAL_ADDRESS *base,
                         SIZE_T *size, SIZE_T *limit)
{
    flags->Reserved |= 1;
}

/* Of the firmware, or of nobody: the driver has not allocated it. */
static void others_memory(unsigned index, DXGK_SEGMENTFLAGS *flags, PHYSICAL_ADDRESS *base,
                          SIZE_T *size, SIZE_T *limit)
{
    flags->PopulatedFromSystemMemory = 1;
}

#define CHANGE_SEGMENTS(name, change)                                                              \
    static NTSTATUS query_##name(struct miniport *self, HANDLE object,                             \
                                 const DXGKARG_QUERYADAPTERINFO *arg)                              \
    {                                                                                              \
        NTSTATUS status = query(self, object, arg);                                                \
                                                                                                   \
        change_segments(arg, change);                                                              \
        return status;                                                                             \
    }                                                                                              \
    static void plant_##name(struct zoo_layer *layer)                                              \
    {                                                                                              \
        layer->ops.query_adapter_info = query_##name;                                              \
    }

/* The CPU finds the aperture a page behind where the driver says. */
static NTSTATUS query_misplaced_view(struct miniport *self, HANDLE object,
                                     const DXGKARG_QUERYADAPTERINFO *arg)
{
    NTSTATUS status = query(self, object, arg);
    DXGK_QUERYSEGMENTOUT3 *out = arg->pOutputData;

    if (!NT_SUCCESS(status) || arg->Type != DXGKQAITYPE_QUERYSEGMENT3)
        return status;
    for (UINT i = 0; out->pSegmentDescriptor && i < out->NbSegment; i++) {
        if (out->pSegmentDescriptor[i].Flags.Aperture &&
            out->pSegmentDescriptor[i].CpuTranslatedAddress.QuadPart)
            out->pSegmentDescriptor[i].CpuTranslatedAddress.QuadPart -= 4096;
    }
    return status;
}

static void plant_misplaced_view(struct zoo_layer *layer)
{
    layer->ops.query_adapter_info = query_misplaced_view;
}

CHANGE_SEGMENTS(both_flags, both_flags)
CHANGE_SEGMENTS(bad_preserve, bad_preserve)
CHANGE_SEGMENTS(low_limit, low_limit)
CHANGE_SEGMENTS(overlap, overlap)
CHANGE_SEGMENTS(odd_size, odd_size)
CHANGE_SEGMENTS(others_memory, others_memory)
CHANGE_SEGMENTS(reserved_bit, reserved_bit)

static UINT *count_of(const DXGKARG_QUERYADAPTERINFO *arg, bool *out_is_second)
{
    switch ((unsigned)arg->Type) {
    case DXGKQAITYPE_QUERYSEGMENT4:
        *out_is_second = ((DXGK_QUERYSEGMENTOUT4 *)arg->pOutputData)->pSegmentDescriptor != NULL;
        return &((DXGK_QUERYSEGMENTOUT4 *)arg->pOutputData)->NbSegment;
    case DXGKQAITYPE_QUERYSEGMENT3:
        *out_is_second = ((DXGK_QUERYSEGMENTOUT3 *)arg->pOutputData)->pSegmentDescriptor != NULL;
        return &((DXGK_QUERYSEGMENTOUT3 *)arg->pOutputData)->NbSegment;
    case DXGKQAITYPE_QUERYSEGMENT:
        *out_is_second = ((DXGK_QUERYSEGMENTOUT *)arg->pOutputData)->pSegmentDescriptor != NULL;
        return &((DXGK_QUERYSEGMENTOUT *)arg->pOutputData)->NbSegment;
    default:
        return NULL;
    }
}

static NTSTATUS count_differs(struct miniport *self, HANDLE object,
                              const DXGKARG_QUERYADAPTERINFO *arg)
{
    NTSTATUS status = query(self, object, arg);
    bool is_second = false;
    UINT *count = arg->pOutputData ? count_of(arg, &is_second) : NULL;

    if (count && is_second && *count > 1)
        --*count;
    return status;
}

static void plant_count_differs(struct zoo_layer *layer)
{
    layer->ops.query_adapter_info = count_differs;
}

static NTSTATUS paging_segment_wrong(struct miniport *self, HANDLE object,
                                     const DXGKARG_QUERYADAPTERINFO *arg)
{
    NTSTATUS status = query(self, object, arg);
    bool is_second = false;

    if (!arg->pOutputData || !count_of(arg, &is_second) || !is_second)
        return status;
    if (arg->Type == DXGKQAITYPE_QUERYSEGMENT4)
        ((DXGK_QUERYSEGMENTOUT4 *)arg->pOutputData)->PagingBufferSegmentId = 1;
    if (arg->Type == DXGKQAITYPE_QUERYSEGMENT3)
        ((DXGK_QUERYSEGMENTOUT3 *)arg->pOutputData)->PagingBufferSegmentId = 1;
    if (arg->Type == DXGKQAITYPE_QUERYSEGMENT)
        ((DXGK_QUERYSEGMENTOUT *)arg->pOutputData)->PagingBufferSegmentId = 1;
    return status;
}

static void plant_paging_segment(struct zoo_layer *layer)
{
    layer->ops.query_adapter_info = paging_segment_wrong;
}

static NTSTATUS dma_segment_wrong(struct miniport *self, HANDLE object, DXGKARG_CREATECONTEXT *arg)
{
    NTSTATUS status = miniport_forward_create_context(self, object, arg);

    if (!arg->Flags.SystemContext)
        arg->ContextInfo.DmaBufferSegmentSet = 1;
    return status;
}

static void plant_dma_segment(struct zoo_layer *layer)
{
    layer->ops.create_context = dma_segment_wrong;
}

static NTSTATUS one_level(struct miniport *self, HANDLE object, const DXGKARG_QUERYADAPTERINFO *arg)
{
    NTSTATUS status = query(self, object, arg);

    if (arg->Type == DXGKQAITYPE_GPUMMUCAPS)
        ((DXGK_GPUMMUCAPS *)arg->pOutputData)->PageTableLevelCount = 1;
    return status;
}

static void plant_one_level(struct zoo_layer *layer)
{
    layer->ops.query_adapter_info = one_level;
}

static NTSTATUS claim_no_invalid(struct miniport *self, HANDLE object,
                                 const DXGKARG_QUERYADAPTERINFO *arg)
{
    NTSTATUS status = query(self, object, arg);

    if (arg->Type == DXGKQAITYPE_GPUMMUCAPS)
        ((DXGK_GPUMMUCAPS *)arg->pOutputData)->InvalidTlbEntriesNotCached = 1;
    return status;
}

static void plant_no_invalid(struct zoo_layer *layer)
{
    layer->ops.query_adapter_info = claim_no_invalid;
}

static NTSTATUS odd_table(struct miniport *self, HANDLE object, const DXGKARG_QUERYADAPTERINFO *arg)
{
    NTSTATUS status = query(self, object, arg);

    if (arg->Type == DXGKQAITYPE_PAGETABLELEVELDESC)
        ((DXGK_PAGE_TABLE_LEVEL_DESC *)arg->pOutputData)->PageTableSizeInBytes += 8;
    return status;
}

static void plant_odd_table(struct zoo_layer *layer)
{
    layer->ops.query_adapter_info = odd_table;
}

/* The version that the headers were made for, whatever the driver has found since. */
static NTSTATUS newer_device(struct miniport *self, HANDLE object,
                             const DXGKARG_QUERYADAPTERINFO *arg)
{
    NTSTATUS status = query(self, object, arg);

    if (NT_SUCCESS(status) && arg->Type == DXGKQAITYPE_WDDMDEVICECAPS)
        ((DXGK_WDDMDEVICECAPS *)arg->pOutputData)->WDDMVersion += 0x100;
    return status;
}

static void plant_newer_device(struct zoo_layer *layer)
{
    layer->ops.query_adapter_info = newer_device;
}

static NTSTATUS odd_save_area(struct miniport *self, HANDLE object,
                              const DXGKARG_QUERYADAPTERINFO *arg)
{
    NTSTATUS status = query(self, object, arg);

    if (NT_SUCCESS(status) && arg->Type == DXGKQAITYPE_FRAMEBUFFERSAVESIZE)
        ((DXGK_FRAMEBUFFERSAVEAREA *)arg->pOutputData)->MaximumSize = 1000;
    return status;
}

static void plant_odd_save_area(struct zoo_layer *layer)
{
    layer->ops.query_adapter_info = odd_save_area;
}

/* ---- Allocations ---- */

static NTSTATUS create_as(struct miniport *self, HANDLE object, DXGKARG_CREATEALLOCATION *arg,
                          void (*change)(DXGK_ALLOCATIONINFO *info))
{
    NTSTATUS status = miniport_forward_create_allocation(self, object, arg);

    for (UINT i = 0; NT_SUCCESS(status) && i < arg->NumAllocations; i++)
        change(&arg->pAllocationInfo[i]);
    return status;
}

static void no_priority(DXGK_ALLOCATIONINFO *info)
{
    info->AllocationPriority = 0;
}

static void alien_preference(DXGK_ALLOCATIONINFO *info)
{
    info->PreferredSegment.SegmentId0 = 9;
}

static void both_kinds(DXGK_ALLOCATIONINFO *info)
{
    info->Flags.PermanentSysMem = 1;
    info->Flags.ExistingSysMem = 1;
}

static void in_whole_chunks(DXGK_ALLOCATIONINFO *info)
{
    if (info->Flags.ExistingSysMem || info->Flags.ExistingKernelSysMem)
        info->Size = (info->Size + 0x1ffff) & ~(SIZE_T)0x1ffff;
}

static void over_nothing(DXGK_ALLOCATIONINFO *info)
{
    if (info->Flags.Cached && !info->Flags.PermanentSysMem && !info->Flags.ExistingKernelSysMem)
        info->Flags.ExistingSysMem = 1;
}

static void cached_unseen(DXGK_ALLOCATIONINFO *info)
{
    info->Flags.Cached = 1;
    info->Flags.CpuVisible = 0;
}

#define CHANGE_ALLOCATIONS(name)                                                                   \
    static NTSTATUS create_##name(struct miniport *self, HANDLE object,                            \
                                  DXGKARG_CREATEALLOCATION *arg)                                   \
    {                                                                                              \
        return create_as(self, object, arg, name);                                                 \
    }                                                                                              \
    static void plant_##name(struct zoo_layer *layer)                                              \
    {                                                                                              \
        layer->ops.create_allocation = create_##name;                                              \
    }

CHANGE_ALLOCATIONS(no_priority)
CHANGE_ALLOCATIONS(alien_preference)
CHANGE_ALLOCATIONS(both_kinds)
CHANGE_ALLOCATIONS(cached_unseen)
CHANGE_ALLOCATIONS(in_whole_chunks)
CHANGE_ALLOCATIONS(over_nothing)

/* In the IoMmu model there is one segment, an aperture: ZOO_BOTH where a defect needs another. */
/* ---- The table that the driver registers ---- */

static void point_to_data(DRIVER_INITIALIZATION_DATA *table)
{
    static int variable;
    void *address = &variable;

    memcpy(&table->DxgkDdiSetPalette, &address, sizeof address);
}

static void keep_lower_half(DRIVER_INITIALIZATION_DATA *table)
{
    uint64_t address = 0;

    memcpy(&address, &table->DxgkDdiAddDevice, sizeof table->DxgkDdiAddDevice);
    address &= UINT32_MAX;
    memcpy(&table->DxgkDdiRecommendMonitorModes, &address, sizeof address);
}

/* ---- Clocks ---- */

static NTSTATUS tell_no_frequency(struct miniport *self, HANDLE object, struct miniport_clock *arg)
{
    NTSTATUS status = miniport_forward_calibrate_gpu_clock(self, object, arg);

    arg->calibration.GpuFrequency = 0;
    return status;
}

static void plant_tell_no_frequency(struct zoo_layer *layer)
{
    layer->ops.calibrate_gpu_clock = tell_no_frequency;
}

/* The counter counts what is left, as some timers do. */
static NTSTATUS count_down(struct miniport *self, HANDLE object, struct miniport_clock *arg)
{
    NTSTATUS status = miniport_forward_calibrate_gpu_clock(self, object, arg);

    arg->calibration.GpuClockCounter = UINT64_MAX / 2 - arg->calibration.GpuClockCounter;
    return status;
}

static void plant_count_down(struct zoo_layer *layer)
{
    layer->ops.calibrate_gpu_clock = count_down;
}

/* In nanoseconds, not in ticks of the performance counter. */
static NTSTATUS tell_nanoseconds(struct miniport *self, HANDLE object, struct miniport_clock *arg)
{
    NTSTATUS status = miniport_forward_calibrate_gpu_clock(self, object, arg);

    arg->calibration.CpuClockCounter *= 100;
    return status;
}

static void plant_tell_nanoseconds(struct zoo_layer *layer)
{
    layer->ops.calibrate_gpu_clock = tell_nanoseconds;
}

/* clang-format off */
const struct zoo_defect zoo_caps_defects[] = {
    PLANT("D73-count-differs", ZOO_BOTH, "SEG-002 SEG-001", plant_count_differs,
          "reports another number of segments in the second pass"),
    PLANT("CAPS-invalid-not-cached", ZOO_GPUMMU, "TLB-005", plant_no_invalid,
          "claims InvalidTlbEntriesNotCached on every board",
          .focus = "cached-invalid-entries=yes"),
    PLANT("CAPS-reserved-bits", ZOO_ALL, "CALL-002", plant_reserved_caps,
          "sets a reserved bit of its memory management caps", .profile = "strict-open"),
    PLANT("CAPS-device-is-newer", ZOO_GPUMMU | ZOO_IOMMU, "CALL-005", plant_newer_device,
          "tells another version by WDDMDEVICECAPS than by DRIVERCAPS"),
    PLANT("CLOCK-no-frequency", ZOO_ALL, "CLK-002", plant_tell_no_frequency,
          "tells no frequency of a node's clock"),
    PLANT("CLOCK-counts-down", ZOO_ALL, "CLK-003", plant_count_down,
          "tells what is left of the counter of a node's clock"),
    PLANT("CLOCK-nanoseconds", ZOO_ALL, "CLK-004", plant_tell_nanoseconds,
          "tells the processor's time in nanoseconds"),
    PLANT("CAPS-odd-save-area", ZOO_GPUMMU | ZOO_IOMMU, "IOMMU-022", plant_odd_save_area,
          "wants to save 1000 bytes of its frame buffer"),
    PLANT("SEG-aperture-misplaced", ZOO_PHYSICAL, "content", plant_misplaced_view,
          "says that the CPU finds its aperture a page in front of where it is", .focus = "aperture-view=yes local-invisible=0 wishes=no ops=2000"),
    PLANT("D74-flags-exclude", ZOO_BOTH, "SEG-012", plant_both_flags,
          "reports a coherent memory segment"),
    PLANT("D74-preserve-illegal", ZOO_ALL, "PWR-001", plant_bad_preserve,
          "reports preservation over hibernation and not over standby"),
    PLANT("D74-commit-limit", ZOO_BOTH, "SEG-009", plant_low_limit,
          "reports a commit limit below the size of a memory segment"),
    PLANT("SEG-overlap", ZOO_BOTH, "SEG-006", plant_overlap,
          "reports segments that overlap"),
    {.id = "TABLE-points-to-data", .models = ZOO_ALL, .rules = "CALL-003", .since = ZOO_SINCE,
     .sentence = "registers the address of a variable as DxgkDdiSetPalette",
     .registers = point_to_data},
    {.id = "TABLE-half-an-address", .models = ZOO_ALL, .rules = "CALL-003", .since = ZOO_SINCE,
     .sentence = "registers the lower half of a function's address as DxgkDdiRecommendMonitorModes",
     .registers = keep_lower_half},
    PLANT("SEG-odd-size", ZOO_BOTH, "SEG-007", plant_odd_size,
          "reports a segment that is not whole pages"),
    PLANT("SEG-not-its-memory", ZOO_BOTH, "SEG-013", plant_others_memory,
          "says of memory that it has not allocated that it is the system's"),
    PLANT("SEG-reserved-bit", ZOO_GPUMMU | ZOO_IOMMU, "SEG-014", plant_reserved_bit,
          "sets a reserved bit in segment flags"),
    PLANT("PB-segment-of-memory", ZOO_BOTH, "PB-019", plant_paging_segment,
          "wants its paging buffers in a memory segment"),
    PLANT("CTX-buffers-in-memory", ZOO_PHYSICAL, "CTX-015", plant_dma_segment,
          "wants the DMA buffers of contexts in a memory segment"),
    PLANT("PT-one-level", ZOO_GPUMMU, "PT-003", plant_one_level,
          "reports page tables of one level"),
    PLANT("PT-odd-table", ZOO_GPUMMU, "PT-006", plant_odd_table,
          "reports page tables that are not whole pages"),
    PLANT("ALLOC-no-priority", ZOO_ALL, "ALLOC-008", plant_no_priority,
          "returns allocations of priority 0"),
    PLANT("ALLOC-alien-preference", ZOO_ALL, "ALLOC-005", plant_alien_preference,
          "prefers a segment that it does not support"),
    PLANT("ALLOC-flags-exclude", ZOO_ALL, "ALLOC-010 ALLOC-009", plant_both_kinds,
          "returns flags that exclude each other"),
    PLANT("ALLOC-cached-unseen", ZOO_ALL, "ALLOC-009", plant_cached_unseen,
          "returns a cached allocation that is not CPU visible"),
    PLANT("ALLOC-beyond-memory", ZOO_ALL, "ALLOC-023", plant_in_whole_chunks,
          "rounds up the size of what lies over memory of the client's"),
    PLANT("ALLOC-over-nothing", ZOO_ALL, "ALLOC-023", plant_over_nothing,
          "says ExistingSysMem of every cached allocation"),
    {0},
};
/* clang-format on */
