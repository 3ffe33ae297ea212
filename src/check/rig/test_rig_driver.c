/*
 * Test rig: the side below the layer. A lawful driver, which answers as the rig's tables say, and
 * the kernel's callbacks, which do nothing.
 */
#include "check/rig/test_rig.h"

#include "check/rig/test_told.h"
#include "miniport/loans.h"

HANDLE rig_handle(struct rig *rig)
{
    return (HANDLE)(rig->next_handle += 16);
}

static NTSTATUS rig_answer_segments(struct rig *rig, const DXGKARG_QUERYADAPTERINFO *query)
{
    if (query->Type == DXGKQAITYPE_QUERYSEGMENT4) {
        DXGK_QUERYSEGMENTOUT4 *out = query->pOutputData;

        if (out->NbSegment && out->pSegmentDescriptor) {
            out->PagingBufferSegmentId = rig->paging_segment;
            out->PagingBufferSize = RIG_BUFFER_BYTES;
            out->PagingBufferPrivateDataSize = rig->paging_private_bytes;
            for (unsigned i = 0; i < rig->segment_count; i++)
                memcpy(out->pSegmentDescriptor + i * out->SegmentDescriptorStride,
                       &rig->segments[i], sizeof rig->segments[i]);
        }
        out->NbSegment = rig->segment_count;
        return STATUS_SUCCESS;
    }
    DXGK_QUERYSEGMENTOUT3 *out = query->pOutputData;

    if (out->pSegmentDescriptor) {
        out->PagingBufferSegmentId = rig->paging_segment;
        out->PagingBufferSize = RIG_BUFFER_BYTES;
        out->PagingBufferPrivateDataSize = rig->paging_private_bytes;
        for (unsigned i = 0; i < rig->segment_count; i++)
            out->pSegmentDescriptor[i] = (DXGK_SEGMENTDESCRIPTOR3){
                .Flags = rig->segments[i].Flags,
                .BaseAddress = rig->segments[i].BaseAddress,
                .CpuTranslatedAddress = rig->segments[i].CpuTranslatedAddress,
                .Size = rig->segments[i].Size,
                .CommitLimit = rig->segments[i].CommitLimit,
                .SystemMemoryEndAddress = rig->segments[i].SystemMemoryEndAddress,
            };
    }
    out->NbSegment = rig->segment_count;
    return STATUS_SUCCESS;
}

static NTSTATUS rig_answer_query(struct rig *rig, const DXGKARG_QUERYADAPTERINFO *query)
{
    switch ((unsigned)query->Type) {
    case DXGKQAITYPE_DRIVERCAPS:
        memcpy(query->pOutputData, &rig->caps, min_u64(query->OutputDataSize, sizeof rig->caps));
        return STATUS_SUCCESS;
    case DXGKQAITYPE_GPUMMUCAPS:
        memcpy(query->pOutputData, &rig->gpummu, sizeof rig->gpummu);
        return STATUS_SUCCESS;
    case DXGKQAITYPE_PHYSICALADAPTERCAPS:
        memcpy(query->pOutputData, &rig->physical, sizeof rig->physical);
        return STATUS_SUCCESS;
    case DXGKQAITYPE_PAGETABLELEVELDESC: {
        const DXGK_QUERYPAGETABLELEVELDESCIN *in = query->pInputData;

        memcpy(query->pOutputData, &rig->levels[in->LevelIndex], sizeof rig->levels[0]);
        return STATUS_SUCCESS;
    }
    default:
        return rig_answer_segments(rig, query);
    }
}

/* Operations on slots take effect at once, as with a driver that writes registers. */
static void rig_set_slots(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const DXGK_ADL *adl = &arg->MapApertureSegment2.Adl;

    if (arg->Operation == DXGK_OPERATION_MAP_APERTURE_SEGMENT) {
        const PFN_NUMBER *pages = MmGetMdlPfnArray(arg->MapApertureSegment.pMdl);

        for (SIZE_T i = 0; i < arg->MapApertureSegment.NumberOfPages; i++) {
            SIZE_T slot = (arg->MapApertureSegment.OffsetInPages + i) % RIG_SLOTS;

            rig->slots[slot] = pages[arg->MapApertureSegment.MdlOffset + i] + 1;
            rig->is_coherent[slot] = arg->MapApertureSegment.Flags.CacheCoherent;
        }
    } else if (arg->Operation == DXGK_OPERATION_MAP_APERTURE_SEGMENT2) {
        for (SIZE_T i = 0; i < arg->MapApertureSegment2.NumberOfPages; i++) {
            SIZE_T at = arg->MapApertureSegment2.AdlOffset + i;

            rig->slots[(arg->MapApertureSegment2.OffsetInPages + i) % RIG_SLOTS] =
                (adl->Flags.Contiguous ? adl->BasePageNumber + at : adl->Pages[at]) + 1;
        }
    } else if (arg->Operation == DXGK_OPERATION_UNMAP_APERTURE_SEGMENT) {
        for (SIZE_T i = 0; i < arg->UnmapApertureSegment.NumberOfPages; i++)
            rig->slots[(arg->UnmapApertureSegment.OffsetInPages + i) % RIG_SLOTS] =
                (uint64_t)arg->UnmapApertureSegment.DummyPage.QuadPart / 4096 + 1;
    }
}

NTSTATUS rig_answer_build(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (!arg->pDmaBuffer)
        return STATUS_SUCCESS;
    if (arg->Operation == DXGK_OPERATION_TRANSFER && !arg->Transfer.TransferSize)
        return STATUS_SUCCESS; /* only to be noted (XFER-017) */
    if (arg->DmaSize < RIG_PACKET_BYTES)
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    rig_set_slots(rig, arg);
    memset(arg->pDmaBuffer, 0x11, RIG_PACKET_BYTES);
    arg->pDmaBuffer = (char *)arg->pDmaBuffer + RIG_PACKET_BYTES;
    return STATUS_SUCCESS;
}

NTSTATUS rig_answer(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    switch ((unsigned)ddi) {
    case MINIPORT_DDI_QueryAdapterInfo:
        return rig_answer_query(rig, arg);
    case MINIPORT_DDI_QueryDependentEngineGroup: {
        DXGKARG_QUERYDEPENDENTENGINEGROUP *group = arg;

        group->DependentNodeOrdinalMask = 1ull << group->NodeOrdinal;
        return STATUS_SUCCESS;
    }
    case MINIPORT_DDI_CreateProcess:
        ((DXGKARG_CREATEPROCESS *)arg)->hKmdProcess = rig_handle(rig);
        return STATUS_SUCCESS;
    case MINIPORT_DDI_CreateDevice:
        ((DXGKARG_CREATEDEVICE *)arg)->hDevice = rig_handle(rig);
        return STATUS_SUCCESS;
    case MINIPORT_DDI_CreateContext:
        ((DXGKARG_CREATECONTEXT *)arg)->hContext = rig_handle(rig);
        return STATUS_SUCCESS;
    case MINIPORT_DDI_CreateAllocation: {
        DXGKARG_CREATEALLOCATION *create = arg;

        for (UINT i = 0; i < create->NumAllocations; i++) {
            DXGK_ALLOCATIONINFO *info = &create->pAllocationInfo[i];

            info->hAllocation = rig_handle(rig);
            if (!info->Size)
                info->Size = 65536;
            if (!info->Alignment)
                info->Alignment = 4096;
            if (!info->SupportedWriteSegmentSet)
                info->SupportedReadSegmentSet = info->SupportedWriteSegmentSet = 1;
            if (!info->AllocationPriority)
                info->AllocationPriority = D3DDDI_ALLOCATIONPRIORITY_NORMAL;
        }
        return STATUS_SUCCESS;
    }
    case MINIPORT_DDI_OpenAllocation: {
        const DXGKARG_OPENALLOCATION *open = arg;

        for (UINT i = 0; i < open->NumAllocations; i++)
            open->pOpenAllocation[i].hDeviceSpecificAllocation = rig_handle(rig);
        return STATUS_SUCCESS;
    }
    case MINIPORT_DDI_BuildPagingBuffer:
        return rig_answer_build(rig, arg);
    default:
        return STATUS_SUCCESS;
    }
}

static NTSTATUS rig_dispatch(struct miniport *self, enum miniport_ddi ddi, HANDLE object,
                             const void *arg, bool is_const)
{
    struct rig *rig = (struct rig *)self;

    return told_answer(ddi, (void *)arg, is_const,
                       (rig->answer ? rig->answer : rig_answer)(rig, ddi, object, (void *)arg));
}

#define X(function, ddi, argument)                                                                 \
    static NTSTATUS rig_driver_##function(struct miniport *self, HANDLE object, argument arg)      \
    {                                                                                              \
        return rig_dispatch(self, MINIPORT_DDI_##ddi, object, arg, LOANS_IS_CONST(arg));           \
    }
MINIPORT_DDI_LIST(X)
#undef X
#define X(function, ddi)                                                                           \
    static NTSTATUS rig_driver_##function(struct miniport *self, HANDLE object)                    \
    {                                                                                              \
        return rig_dispatch(self, MINIPORT_DDI_##ddi, object, NULL, true);                         \
    }
MINIPORT_PLAIN_LIST(X)
#undef X

static void rig_driver_destroy(struct miniport *self)
{
}

static ULONG rig_driver_version(struct miniport *self)
{
    return ((struct rig *)self)->version;
}

static void rig_driver_set_host(struct miniport *self, struct miniport_host *host)
{
    ((struct rig *)self)->drivers_host = host;
}

static bool rig_driver_has(struct miniport *self, enum miniport_ddi ddi)
{
    const struct rig *rig = (struct rig *)self;

    return !rig->lacking || rig->lacking != ddi;
}

static NTSTATUS rig_driver_add_device(struct miniport *self)
{
    return rig_dispatch(self, MINIPORT_DDI_AddDevice, NULL, NULL, true);
}

static NTSTATUS rig_driver_start_device(struct miniport *self, const DXGK_START_INFO *start,
                                        ULONG *sources, ULONG *children)
{
    return rig_dispatch(self, MINIPORT_DDI_StartDevice, NULL, start, true);
}

static NTSTATUS rig_driver_stop_device(struct miniport *self)
{
    return rig_dispatch(self, MINIPORT_DDI_StopDevice, NULL, NULL, true);
}

static NTSTATUS rig_driver_remove_device(struct miniport *self)
{
    return rig_dispatch(self, MINIPORT_DDI_RemoveDevice, NULL, NULL, true);
}

static NTSTATUS rig_driver_set_power_state(struct miniport *self, ULONG uid,
                                           DEVICE_POWER_STATE state, POWER_ACTION action)
{
    return rig_dispatch(self, MINIPORT_DDI_SetPowerState, NULL, &state, true);
}

static NTSTATUS rig_driver_surprise_removal(struct miniport *self, DXGK_SURPRISE_REMOVAL_TYPE type)
{
    return rig_dispatch(self, MINIPORT_DDI_NotifySurpriseRemoval, NULL, &type, true);
}

static bool rig_driver_interrupt(struct miniport *self, ULONG message)
{
    return NT_SUCCESS(rig_dispatch(self, MINIPORT_DDI_InterruptRoutine, NULL, &message, true));
}

static void rig_driver_dpc(struct miniport *self)
{
    rig_dispatch(self, MINIPORT_DDI_DpcRoutine, NULL, NULL, true);
}

static SIZE_T rig_driver_root_size(struct miniport *self, DXGKARG_GETROOTPAGETABLESIZE *arg)
{
    return rig_dispatch(self, MINIPORT_DDI_GetRootPageTableSize, NULL, arg, false) ? 0 : 4096;
}

/* clang-format off */
const struct miniport_ops rig_driver_ops = {
    .name = "rig",
    .destroy = rig_driver_destroy,
    .interface_version = rig_driver_version,
    .set_host = rig_driver_set_host,
    .has = rig_driver_has,
    .add_device = rig_driver_add_device,
    .start_device = rig_driver_start_device,
    .stop_device = rig_driver_stop_device,
    .remove_device = rig_driver_remove_device,
    .set_power_state = rig_driver_set_power_state,
    .notify_surprise_removal = rig_driver_surprise_removal,
    .interrupt = rig_driver_interrupt,
    .dpc = rig_driver_dpc,
#define X(function, ddi, argument) .function = rig_driver_##function,
    MINIPORT_DDI_LIST(X)
#undef X
#define X(function, ddi) .function = rig_driver_##function,
    MINIPORT_PLAIN_LIST(X)
#undef X
    .get_root_page_table_size = rig_driver_root_size,
};
/* clang-format on */

/* ---- The kernel ---- */

static void rig_host_interrupt(struct miniport_host *host,
                               const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
}
static void rig_host_dpc(struct miniport_host *host)
{
}
static bool rig_host_queue_dpc(struct miniport_host *host)
{
    return true;
}
static PVOID rig_host_handle_data(struct miniport_host *host, const DXGKARGCB_GETHANDLEDATA *data)
{
    return (PVOID)(uintptr_t)data->hObject;
}
static D3DKMT_HANDLE rig_host_parent(struct miniport_host *host, D3DKMT_HANDLE allocation)
{
    return 0;
}
static D3DKMT_HANDLE rig_host_child(struct miniport_host *host,
                                    const DXGKARGCB_ENUMHANDLECHILDREN *children)
{
    return 0;
}
static NTSTATUS rig_host_reserve(struct miniport_host *host, HANDLE process,
                                 DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE *range)
{
    return STATUS_SUCCESS;
}
static NTSTATUS rig_host_create(struct miniport_host *host,
                                DXGKARGCB_CREATECONTEXTALLOCATION *allocation)
{
    return STATUS_SUCCESS;
}
static NTSTATUS rig_host_destroy(struct miniport_host *host, HANDLE allocation)
{
    return STATUS_SUCCESS;
}
static NTSTATUS rig_host_update(struct miniport_host *host,
                                const DXGKARGCB_UPDATECONTEXTALLOCATION *update)
{
    return STATUS_SUCCESS;
}
/* As it is; a test that wants handles puts a function of its own in place. */
static NTSTATUS rig_host_memory(struct miniport_host *host,
                                const struct miniport_memory_request *request)
{
    return STATUS_SUCCESS;
}
static NTSTATUS rig_host_power(struct miniport_host *host,
                               const struct miniport_power_request *request)
{
    return STATUS_SUCCESS;
}
static NTSTATUS rig_host_feature(struct miniport_host *host, DXGKARGCB_ISFEATUREENABLED *feature)
{
    feature->Enabled = TRUE;
    return STATUS_SUCCESS;
}
static NTSTATUS rig_host_invalidate(struct miniport_host *host,
                                    const DXGKARGCB_INVALIDATEHWCONTEXT *context)
{
    return STATUS_SUCCESS;
}
static void rig_host_unsupported(struct miniport_host *host, const char *callback)
{
}

const struct miniport_host_ops rig_host_ops = {
    .notify_interrupt = rig_host_interrupt,
    .notify_dpc = rig_host_dpc,
    .queue_dpc = rig_host_queue_dpc,
    .get_handle_data = rig_host_handle_data,
    .get_handle_parent = rig_host_parent,
    .enum_handle_children = rig_host_child,
    .reserve_gpu_virtual_address_range = rig_host_reserve,
    .create_context_allocation = rig_host_create,
    .destroy_context_allocation = rig_host_destroy,
    .update_context_allocation = rig_host_update,
    .memory = rig_host_memory,
    .power = rig_host_power,
    .is_feature_enabled = rig_host_feature,
    .invalidate_hw_context = rig_host_invalidate,
    .unsupported = rig_host_unsupported,
};
