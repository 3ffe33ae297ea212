/*
 * Defects of the aperture and of the CPU's windows (D50 to D55).
 */
#include "zoo/zoo_tables.h"

#include <string.h>

static NTSTATUS build(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return miniport_forward_build_paging_buffer(self, object, arg);
}

static bool is_map(const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return arg->Operation == DXGK_OPERATION_MAP_APERTURE_SEGMENT;
}

static bool is_map2(const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return arg->Operation == DXGK_OPERATION_MAP_APERTURE_SEGMENT2;
}

static bool is_unmap(const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return arg->Operation == DXGK_OPERATION_UNMAP_APERTURE_SEGMENT;
}

static void unmap_to_zero(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (is_unmap(arg))
        arg->UnmapApertureSegment.DummyPage.QuadPart = 0;
}

static NTSTATUS skip_unmap(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return is_unmap(arg) ? STATUS_SUCCESS : build(self, object, arg);
}

static NTSTATUS skip_unmap_of_buffer(struct miniport *self, HANDLE object,
                                     DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return is_unmap(arg) && !arg->UnmapApertureSegment.hAllocation ? STATUS_SUCCESS
                                                                   : build(self, object, arg);
}

static void unmap_half(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (is_unmap(arg) && arg->UnmapApertureSegment.NumberOfPages > 1)
        arg->UnmapApertureSegment.NumberOfPages /= 2;
}

static void clamp_map(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (is_map(arg) && arg->MapApertureSegment.NumberOfPages > 4)
        arg->MapApertureSegment.NumberOfPages = 4;
    if (is_map2(arg) && arg->MapApertureSegment2.NumberOfPages > 4)
        arg->MapApertureSegment2.NumberOfPages = 4;
}

static NTSTATUS skip_map(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return (is_map(arg) || is_map2(arg)) && EVERY(zoo_layer_of(self), 3) ? STATUS_SUCCESS
                                                                         : build(self, object, arg);
}

static NTSTATUS skip_unowned(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return (is_map(arg) && !arg->MapApertureSegment.hAllocation) ||
                   (is_map2(arg) && !arg->MapApertureSegment2.hAllocation) ||
                   (is_unmap(arg) && !arg->UnmapApertureSegment.hAllocation)
               ? STATUS_SUCCESS
               : build(self, object, arg);
}

static void never_coherent(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (is_map(arg))
        arg->MapApertureSegment.Flags.CacheCoherent = 0;
    if (is_map2(arg))
        arg->MapApertureSegment2.Flags.CacheCoherent = 0;
}

static void ignore_map_offset(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (is_map(arg))
        arg->MapApertureSegment.MdlOffset = 0;
    if (is_map2(arg))
        arg->MapApertureSegment2.AdlOffset = 0;
}

static void map_next_slot(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (is_map(arg))
        arg->MapApertureSegment.OffsetInPages++;
    if (is_map2(arg))
        arg->MapApertureSegment2.OffsetInPages++;
}

/* An array of pages read as a run, and a run as an array of one. */
static void array_is_run(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    DXGK_ADL *list = &arg->MapApertureSegment2.Adl;

    if (!is_map2(arg) || list->Flags.Contiguous || !list->PageCount)
        return;
    list->BasePageNumber = list->Pages[0];
    list->Flags.Contiguous = 1;
}

static NTSTATUS skip_host_map(struct miniport *self, HANDLE object,
                              const DXGKARG_MAPCPUHOSTAPERTURE *arg)
{
    return EVERY(zoo_layer_of(self), 3) ? STATUS_SUCCESS
                                        : miniport_forward_map_cpu_host_aperture(self, object, arg);
}

static void plant_host_map(struct zoo_layer *layer)
{
    layer->ops.map_cpu_host_aperture = skip_host_map;
}

static NTSTATUS fail_host_unmap(struct miniport *self, HANDLE object,
                                const DXGKARG_UNMAPCPUHOSTAPERTURE *arg)
{
    NTSTATUS status = miniport_forward_unmap_cpu_host_aperture(self, object, arg);

    return EVERY(zoo_layer_of(self), 4) ? STATUS_UNSUCCESSFUL : status;
}

static void plant_host_unmap(struct zoo_layer *layer)
{
    layer->ops.unmap_cpu_host_aperture = fail_host_unmap;
}

static NTSTATUS wrong_acquire(struct miniport *self, HANDLE object,
                              DXGKARG_ACQUIRESWIZZLINGRANGE *arg)
{
    miniport_forward_acquire_swizzling_range(self, object, arg);
    return STATUS_INVALID_PARAMETER;
}

static void plant_wrong_acquire(struct zoo_layer *layer)
{
    layer->ops.acquire_swizzling_range = wrong_acquire;
}

static NTSTATUS wrong_release(struct miniport *self, HANDLE object,
                              const DXGKARG_RELEASESWIZZLINGRANGE *arg)
{
    miniport_forward_release_swizzling_range(self, object, arg);
    return STATUS_UNSUCCESSFUL;
}

static void plant_wrong_release(struct zoo_layer *layer)
{
    layer->ops.release_swizzling_range = wrong_release;
}

/* Looks into the first page of each address list. */
static NTSTATUS map_list_for_cpu(struct miniport *self, HANDLE object,
                                 DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const DXGK_ADL *list = &arg->MapApertureSegment2.Adl;
    PHYSICAL_ADDRESS address;
    PVOID mapped;

    if (arg->Operation == DXGK_OPERATION_MAP_APERTURE_SEGMENT2 && list->PageCount) {
        address.QuadPart =
            (LONGLONG)((list->Flags.Contiguous ? list->BasePageNumber : list->Pages[0]) * 4096);
        mapped = MmMapIoSpace(address, 4096, MmCached);
        if (mapped)
            MmUnmapIoSpace(mapped, 4096);
    }
    return miniport_forward_build_paging_buffer(self, object, arg);
}

/* clang-format off */
const struct zoo_defect zoo_aperture_defects[] = {
    {.id = "D50-unmap-to-zero", .models = ZOO_ALL, .rules = "APER-009", .since = ZOO_SINCE,
     .sentence = "unmaps to page 0 instead of the dummy page", .alter = unmap_to_zero},
    {.id = "D50-unmap-skipped", .models = ZOO_ALL, .rules = "APER-009 APER-001 APER-019", .since = ZOO_SINCE,
     .sentence = "leaves slots mapped that were to be unmapped", .build = skip_unmap},
    {.id = "D50-unmap-half", .models = ZOO_ALL, .rules = "APER-009", .since = ZOO_SINCE,
     .sentence = "unmaps the first half", .alter = unmap_half},
    {.id = "D51-pages-clamped", .models = ZOO_ALL, .rules = "APER-002 ADL-003 ADL-006", .since = ZOO_SINCE,
     .sentence = "maps at most four pages and says nothing", .alter = clamp_map},
    {.id = "D52-map-skipped", .models = ZOO_ALL, .rules = "APER-002 ADL-003 ADL-006", .since = ZOO_SINCE,
     .sentence = "reports SUCCESS for maps that it never did", .build = skip_map},
    {.id = "D53-unowned-skipped", .models = ZOO_BOTH, .rules = "APER-002 APER-009 ADL-003 APER-001 APER-019", .since = ZOO_SINCE,
     .sentence = "neither maps nor unmaps what has no allocation", .build = skip_unowned},
    {.id = "D53-buffer-stays-mapped", .models = ZOO_PHYSICAL, .rules = "APER-009 APER-001", .since = ZOO_SINCE,
     .sentence = "leaves the slots of buffers mapped, which have no allocation", .build = skip_unmap_of_buffer},
    {.id = "D54-never-coherent", .models = ZOO_PHYSICAL, .rules = "APER-007", .since = ZOO_SINCE,
     .sentence = "ignores CacheCoherent", .alter = never_coherent},
    {.id = "D51-list-offset-ignored", .models = ZOO_ALL, .rules = "APER-002 ADL-006", .since = ZOO_SINCE,
     .sentence = "maps from the start of the list, whatever its offset", .alter = ignore_map_offset},
    {.id = "D51-slot-off-by-one", .models = ZOO_ALL, .rules = "APER-002 ADL-003 APER-009", .since = ZOO_SINCE,
     .sentence = "maps one slot too far", .alter = map_next_slot},
    {.id = "D55-array-is-run", .models = ZOO_GPUMMU | ZOO_IOMMU, .rules = "ADL-003 ADL-009 APER-002", .since = ZOO_SINCE,
     .sentence = "takes an array of pages for a contiguous run", .alter = array_is_run},
    {.id = "ADL-mapped-for-cpu", .models = ZOO_GPUMMU | ZOO_IOMMU, .rules = "ADL-010", .since = ZOO_SINCE,
     .sentence = "maps pages of address lists for the CPU by their numbers", .build = map_list_for_cpu},
    {.id = "CHA-map-skipped", .models = ZOO_GPUMMU, .rules = "CHA-002", .since = ZOO_SINCE,
     .sentence = "reports SUCCESS for CPU host aperture maps that it never did", .plant = plant_host_map},
    {.id = "CHA-unmap-fails", .models = ZOO_GPUMMU, .rules = "CHA-004", .since = ZOO_SINCE,
     .sentence = "fails UnmapCpuHostAperture", .plant = plant_host_unmap},
    {.id = "SWZ-acquire-status", .models = ZOO_PHYSICAL, .rules = "SWZ-003", .since = ZOO_SINCE,
     .sentence = "fails AcquireSwizzlingRange with a status that means nothing", .plant = plant_wrong_acquire},
    {.id = "SWZ-release-status", .models = ZOO_PHYSICAL, .rules = "SWZ-004", .since = ZOO_SINCE,
     .sentence = "fails ReleaseSwizzlingRange", .plant = plant_wrong_release},
    {0},
};
/* clang-format on */
