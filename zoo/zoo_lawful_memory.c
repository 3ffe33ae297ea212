/*
 * Lawful drivers that report and keep memory, allocations and power as few do.
 */
#include "zoo/zoo_tables.h"

#include <drydock/sgpu.h>
#include <string.h>

/* ---- L01: another success status ---- */

static NTSTATUS set_power_state(struct miniport *self, ULONG device_uid, DEVICE_POWER_STATE state,
                                POWER_ACTION action)
{
    NTSTATUS status = miniport_set_power_state(self->next, device_uid, state, action);

    return status == STATUS_SUCCESS ? STATUS_OBJECT_NAME_EXISTS : status;
}

static void plant_power_status(struct zoo_layer *layer)
{
    layer->ops.set_power_state = set_power_state;
}

/* ---- L02: an end without its flag ---- */

static NTSTATUS query_end(struct miniport *self, HANDLE object, const DXGKARG_QUERYADAPTERINFO *arg)
{
    NTSTATUS status = miniport_forward_query_adapter_info(self, object, arg);

    if (!NT_SUCCESS(status) || !arg->pOutputData)
        return status;
    if (arg->Type == DXGKQAITYPE_QUERYSEGMENT3) {
        DXGK_QUERYSEGMENTOUT3 *out = arg->pOutputData;

        for (UINT i = 0; out->pSegmentDescriptor && i < out->NbSegment; i++) {
            DXGK_SEGMENTDESCRIPTOR3 *one = &out->pSegmentDescriptor[i];

            if (!one->Flags.PartiallyPreservedDuringHibernate)
                one->SystemMemoryEndAddress = one->Size - 1;
        }
    } else if (arg->Type == DXGKQAITYPE_QUERYSEGMENT4) {
        DXGK_QUERYSEGMENTOUT4 *out = arg->pOutputData;

        for (UINT i = 0; out->pSegmentDescriptor && i < out->NbSegment; i++) {
            DXGK_SEGMENTDESCRIPTOR4 *one =
                (void *)(out->pSegmentDescriptor + i * out->SegmentDescriptorStride);

            if (!one->Flags.PartiallyPreservedDuringHibernate)
                one->SystemMemoryEndAddress = one->Size - 1;
        }
    }
    return status;
}

static void plant_end(struct zoo_layer *layer)
{
    layer->ops.query_adapter_info = query_end;
}

/* ---- L04: read and write sets that do not meet ---- */

/* Where there are several segments, the first one is for writing, the others for reading. */
static NTSTATUS create_split(struct miniport *self, HANDLE object, DXGKARG_CREATEALLOCATION *arg)
{
    NTSTATUS status = miniport_forward_create_allocation(self, object, arg);

    for (UINT i = 0; NT_SUCCESS(status) && i < arg->NumAllocations; i++) {
        DXGK_ALLOCATIONINFO *info = &arg->pAllocationInfo[i];
        UINT set = info->SupportedWriteSegmentSet, first = set & (0u - set);

        if (set == first)
            continue;
        info->SupportedWriteSegmentSet = first;
        info->SupportedReadSegmentSet = set & ~first;
    }
    return status;
}

static void plant_split(struct zoo_layer *layer)
{
    layer->ops.create_allocation = create_split;
}

/* ---- L08: an alignment that is no power of two ---- */

static NTSTATUS create_aligned(struct miniport *self, HANDLE object, DXGKARG_CREATEALLOCATION *arg)
{
    NTSTATUS status = miniport_forward_create_allocation(self, object, arg);

    for (UINT i = 0; NT_SUCCESS(status) && i < arg->NumAllocations; i++) {
        if (arg->pAllocationInfo[i].Alignment <= 4096)
            arg->pAllocationInfo[i].Alignment = 3 * 4096;
    }
    return status;
}

static void plant_alignment(struct zoo_layer *layer)
{
    layer->ops.create_allocation = create_aligned;
}

/* ---- L16: private data that the driver changes ---- */

#define CHANGE 0x5a

static void change(void *data, UINT bytes)
{
    for (UINT i = 0; i < bytes; i++)
        ((unsigned char *)data)[i] ^= CHANGE;
}

/* What the driver leaves in an allocation's private data comes back when it is opened. */
static NTSTATUS create_changed(struct miniport *self, HANDLE object, DXGKARG_CREATEALLOCATION *arg)
{
    NTSTATUS status = miniport_forward_create_allocation(self, object, arg);

    for (UINT i = 0; NT_SUCCESS(status) && i < arg->NumAllocations; i++)
        change(arg->pAllocationInfo[i].pPrivateDriverData,
               arg->pAllocationInfo[i].PrivateDriverDataSize);
    return status;
}

static NTSTATUS open_changed(struct miniport *self, HANDLE object,
                             const DXGKARG_OPENALLOCATION *arg)
{
    NTSTATUS status;

    for (UINT i = 0; i < arg->NumAllocations; i++)
        change(arg->pOpenAllocation[i].pPrivateDriverData,
               arg->pOpenAllocation[i].PrivateDriverDataSize);
    status = miniport_forward_open_allocation(self, object, arg);
    for (UINT i = 0; i < arg->NumAllocations; i++)
        change(arg->pOpenAllocation[i].pPrivateDriverData,
               arg->pOpenAllocation[i].PrivateDriverDataSize);
    return status;
}

static void plant_changed(struct zoo_layer *layer)
{
    layer->ops.create_allocation = create_changed;
    layer->ops.open_allocation = open_changed;
}

/* ---- L17: sizes in units of 64 KiB ---- */

static NTSTATUS create_rounded(struct miniport *self, HANDLE object, DXGKARG_CREATEALLOCATION *arg)
{
    NTSTATUS status = miniport_forward_create_allocation(self, object, arg);

    for (UINT i = 0; NT_SUCCESS(status) && i < arg->NumAllocations; i++) {
        DXGK_ALLOCATIONINFO *info = &arg->pAllocationInfo[i];

        if (info->PitchAlignedSize)
            continue; /* its rows say how large it is */
        info->Size = (info->Size + 65535) & ~(SIZE_T)65535;
        if (info->Alignment < 65536)
            info->Alignment = 65536;
    }
    return status;
}

static void plant_rounded(struct zoo_layer *layer)
{
    layer->ops.create_allocation = create_rounded;
}

/* ---- L18: no preferences ---- */

static NTSTATUS create_indifferent(struct miniport *self, HANDLE object,
                                   DXGKARG_CREATEALLOCATION *arg)
{
    NTSTATUS status = miniport_forward_create_allocation(self, object, arg);

    for (UINT i = 0; NT_SUCCESS(status) && i < arg->NumAllocations; i++) {
        DXGK_ALLOCATIONINFO *info = &arg->pAllocationInfo[i];

        info->PreferredSegment.Value = 0;
        info->HintedBank.Value = 0;
        info->AllocationPriority =
            D3DDDI_ALLOCATIONPRIORITY_NORMAL + 1 + (UINT)(zoo_layer_of(self)->calls++ % 7);
    }
    return status;
}

static void plant_indifferent(struct zoo_layer *layer)
{
    layer->ops.create_allocation = create_indifferent;
}

/* ---- L19: much private data ---- */

#define MUCH_BYTES (256u * 1024)

/* The first of two calls asks how many segments there are, and tells nothing else. */
static NTSTATUS query_much(struct miniport *self, HANDLE object,
                           const DXGKARG_QUERYADAPTERINFO *arg)
{
    NTSTATUS status = miniport_forward_query_adapter_info(self, object, arg);
    UINT *bytes = NULL;

    if (!NT_SUCCESS(status) || !arg->pOutputData)
        return status;
    if (arg->Type == DXGKQAITYPE_QUERYSEGMENT)
        bytes = &((DXGK_QUERYSEGMENTOUT *)arg->pOutputData)->PagingBufferPrivateDataSize;
    else if (arg->Type == DXGKQAITYPE_QUERYSEGMENT3)
        bytes = &((DXGK_QUERYSEGMENTOUT3 *)arg->pOutputData)->PagingBufferPrivateDataSize;
    else if (arg->Type == DXGKQAITYPE_QUERYSEGMENT4)
        bytes = &((DXGK_QUERYSEGMENTOUT4 *)arg->pOutputData)->PagingBufferPrivateDataSize;
    if (bytes && *bytes)
        *bytes = MUCH_BYTES;
    return status;
}

static NTSTATUS create_much(struct miniport *self, HANDLE object, DXGKARG_CREATECONTEXT *arg)
{
    NTSTATUS status = miniport_forward_create_context(self, object, arg);

    if (NT_SUCCESS(status))
        arg->ContextInfo.DmaBufferPrivateDataSize = MUCH_BYTES;
    return status;
}

static void plant_much(struct zoo_layer *layer)
{
    layer->ops.query_adapter_info = query_much;
    layer->ops.create_context = create_much;
}

/* ---- L31: large alignments ---- */

#define LARGE_ALIGNMENT (128u * 1024)

/* What is as large as that begins at a multiple of it. */
static NTSTATUS create_far_apart(struct miniport *self, HANDLE object,
                                 DXGKARG_CREATEALLOCATION *arg)
{
    NTSTATUS status = miniport_forward_create_allocation(self, object, arg);

    for (UINT i = 0; NT_SUCCESS(status) && i < arg->NumAllocations; i++) {
        DXGK_ALLOCATIONINFO *info = &arg->pAllocationInfo[i];

        if (info->Size >= LARGE_ALIGNMENT && info->Alignment < LARGE_ALIGNMENT)
            info->Alignment = LARGE_ALIGNMENT;
    }
    return status;
}

static void plant_far_apart(struct zoo_layer *layer)
{
    layer->ops.create_allocation = create_far_apart;
}

/* ---- L32: from the other end ---- */

/*
 * Prefers the segments in the opposite order, and the other end of each. Banks are those of the
 * first one, which stays where banks are hinted (BANK-004).
 */
static NTSTATUS create_from_the_end(struct miniport *self, HANDLE object,
                                    DXGKARG_CREATEALLOCATION *arg)
{
    NTSTATUS status = miniport_forward_create_allocation(self, object, arg);

    for (UINT i = 0; NT_SUCCESS(status) && i < arg->NumAllocations; i++) {
        DXGK_SEGMENTPREFERENCE *preference = &arg->pAllocationInfo[i].PreferredSegment;
        const UINT ids[] = {preference->SegmentId4, preference->SegmentId3, preference->SegmentId2,
                            preference->SegmentId1, preference->SegmentId0};
        UINT list[6] = {0}, count = 0;

        if (arg->pAllocationInfo[i].HintedBank.Value)
            continue;
        for (UINT at = 0; at < 5; at++) {
            if (ids[at])
                list[count++] = ids[at];
        }
        preference->SegmentId0 = list[0];
        preference->SegmentId1 = list[1];
        preference->SegmentId2 = list[2];
        preference->SegmentId3 = list[3];
        preference->SegmentId4 = list[4];
        preference->Direction0 = count > 0 && !preference->Direction0;
        preference->Direction1 = count > 1 && !preference->Direction1;
        preference->Direction2 = count > 2 && !preference->Direction2;
    }
    return status;
}

static void plant_from_the_end(struct zoo_layer *layer)
{
    layer->ops.create_allocation = create_from_the_end;
}

/* ---- L33: a segment that nobody uses ---- */

/* Above the local memory of any board, below its aperture. */
#define SPARE_BASE  (INT64_C(1) << 39)
#define SPARE_BYTES (64u * 1024)

/*
 * Whether the board has memory of its own: else cases map pages of the segment by their numbers,
 * which the driver would have to know. The pass for the count does not tell.
 */
static bool has_memory(struct miniport *self, HANDLE object, const DXGKARG_QUERYADAPTERINFO *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    DXGKARG_QUERYADAPTERINFO look = *arg;
    DXGK_SEGMENTFLAGS first = {0};

    memset(&layer->memory, 0, sizeof layer->memory);
    if (arg->Type == DXGKQAITYPE_QUERYSEGMENT) {
        DXGK_QUERYSEGMENTOUT out = *(DXGK_QUERYSEGMENTOUT *)arg->pOutputData;

        out.pSegmentDescriptor = (void *)layer->memory.words;
        look.pOutputData = &out;
        miniport_forward_query_adapter_info(self, object, &look);
        first = out.pSegmentDescriptor[0].Flags;
    } else if (arg->Type == DXGKQAITYPE_QUERYSEGMENT3) {
        DXGK_QUERYSEGMENTOUT3 out = *(DXGK_QUERYSEGMENTOUT3 *)arg->pOutputData;

        out.pSegmentDescriptor = (void *)layer->memory.words;
        look.pOutputData = &out;
        miniport_forward_query_adapter_info(self, object, &look);
        first = out.pSegmentDescriptor[0].Flags;
    } else {
        DXGK_QUERYSEGMENTOUT4 out = *(DXGK_QUERYSEGMENTOUT4 *)arg->pOutputData;

        out.pSegmentDescriptor = (void *)layer->memory.words;
        look.pOutputData = &out;
        miniport_forward_query_adapter_info(self, object, &look);
        first = ((DXGK_SEGMENTDESCRIPTOR4 *)out.pSegmentDescriptor)->Flags;
    }
    return !first.Aperture;
}

/* Of pOutputData. */
static UINT *find_count(const DXGKARG_QUERYADAPTERINFO *arg)
{
    switch ((unsigned)arg->Type) {
    case DXGKQAITYPE_QUERYSEGMENT:
        return &((DXGK_QUERYSEGMENTOUT *)arg->pOutputData)->NbSegment;
    case DXGKQAITYPE_QUERYSEGMENT3:
        return &((DXGK_QUERYSEGMENTOUT3 *)arg->pOutputData)->NbSegment;
    case DXGKQAITYPE_QUERYSEGMENT4:
        return &((DXGK_QUERYSEGMENTOUT4 *)arg->pOutputData)->NbSegment;
    default:
        return NULL;
    }
}

/* One segment more, behind the others, of memory that no allocation may be in. */
static NTSTATUS query_one_more(struct miniport *self, HANDLE object,
                               const DXGKARG_QUERYADAPTERINFO *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    NTSTATUS status = miniport_forward_query_adapter_info(self, object, arg);
    UINT *count = arg->pOutputData ? find_count(arg) : NULL;
    char *descriptors = NULL;

    if (!NT_SUCCESS(status) || !count)
        return status;
    if (arg->Type == DXGKQAITYPE_QUERYSEGMENT) {
        DXGK_SEGMENTDESCRIPTOR *list =
            ((DXGK_QUERYSEGMENTOUT *)arg->pOutputData)->pSegmentDescriptor;

        descriptors = (char *)list;
        if (list && layer->state[0])
            list[*count] = (DXGK_SEGMENTDESCRIPTOR){.BaseAddress.QuadPart = SPARE_BASE,
                                                    .Size = SPARE_BYTES,
                                                    .CommitLimit = SPARE_BYTES};
    } else if (arg->Type == DXGKQAITYPE_QUERYSEGMENT3) {
        DXGK_SEGMENTDESCRIPTOR3 *list =
            ((DXGK_QUERYSEGMENTOUT3 *)arg->pOutputData)->pSegmentDescriptor;

        descriptors = (char *)list;
        if (list && layer->state[0])
            list[*count] = (DXGK_SEGMENTDESCRIPTOR3){.BaseAddress.QuadPart = SPARE_BASE,
                                                     .Size = SPARE_BYTES,
                                                     .CommitLimit = SPARE_BYTES};
    } else {
        const DXGK_QUERYSEGMENTOUT4 *out = arg->pOutputData;
        const DXGK_SEGMENTDESCRIPTOR4 spare = {
            .BaseAddress.QuadPart = SPARE_BASE, .Size = SPARE_BYTES, .CommitLimit = SPARE_BYTES};

        descriptors = (char *)out->pSegmentDescriptor;
        if (descriptors && layer->state[0])
            memcpy(descriptors + *count * out->SegmentDescriptorStride, &spare, sizeof spare);
    }
    if (!descriptors)
        layer->state[0] = has_memory(self, object, arg);
    *count += layer->state[0] ? 1 : 0;
    return status;
}

static void plant_one_more(struct zoo_layer *layer)
{
    layer->ops.query_adapter_info = query_one_more;
}

/* clang-format off */
const struct zoo_defect zoo_lawful_memory[] = {
    {.id = "L01-power-status", .models = ZOO_ALL, .rules = "",
     .sentence = "answers DxgkDdiSetPowerState with another success status than STATUS_SUCCESS",
     .lawful = "nc-dispmprt-dxgkddi_set_power_state", .plant = plant_power_status},
    {.id = "L02-memory-end", .models = ZOO_ALL, .rules = "",
     .sentence = "reports a SystemMemoryEndAddress without PartiallyPreservedDuringHibernate",
     .lawful = "ns-_dxgk_segmentdescriptor3", .plant = plant_end},
    {.id = "L04-split-sets", .models = ZOO_PHYSICAL, .rules = "",
     .sentence = "supports one segment for writing and others for reading",
     .lawful = "ns-_dxgk_allocationinfo", .plant = plant_split},
    {.id = "L08-alignment", .models = ZOO_ALL, .rules = "",
     .sentence = "wants allocations at multiples of 12 KiB",
     .lawful = "ns-_dxgk_allocationinfo", .plant = plant_alignment},
    {.id = "L16-data-changed", .models = ZOO_ALL, .rules = "",
     .sentence = "leaves other private data of an allocation than it was given",
     .lawful = "ns-_dxgk_allocationinfo", .plant = plant_changed},
    {.id = "L17-sizes-rounded", .models = ZOO_ALL, .rules = "",
     .sentence = "makes allocations of whole 64 KiB, at multiples of 64 KiB",
     .lawful = "ns-_dxgk_allocationinfo", .plant = plant_rounded},
    {.id = "L18-no-preference", .models = ZOO_ALL, .rules = "",
     .sentence = "prefers no segment, and has priorities between those that have names",
     .lawful = "ns-_dxgk_allocationinfo", .plant = plant_indifferent},
    {.id = "L19-much-private-data", .models = ZOO_ALL, .rules = "", .is_particular = true,
     .sentence = "wants 256 KiB of private data with each buffer",
     .lawful = "ns-_dxgk_contextinfo", .plant = plant_much},
    {.id = "L31-large-alignment", .models = ZOO_ALL, .rules = "",
     .sentence = "wants allocations of 128 KiB and more at multiples of 128 KiB",
     .lawful = "ns-_dxgk_allocationinfo", .plant = plant_far_apart},
    {.id = "L32-from-the-end", .models = ZOO_ALL, .rules = "",
     .sentence = "prefers the segments in the opposite order, from their other end",
     .lawful = "ns-_dxgk_segmentpreference", .plant = plant_from_the_end},
    {.id = "L33-spare-segment", .models = ZOO_ALL, .rules = "",
     .sentence = "reports a segment more than its allocations use",
     .lawful = "ns-_dxgk_segmentdescriptor", .plant = plant_one_more},
    {.id = "L26-aperture-alone", .models = ZOO_GPUMMU, .rules = "",
     .sentence = "leaves the board's own memory alone: the aperture is its only segment",
     .lawful = "ns-_dxgk_segmentflags", .local_traits = SGPU_TRAIT_LEFT_ALONE},
    {0},
};
/* clang-format on */
