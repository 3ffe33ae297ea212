/*
 * Test rig of the checking layer: a driver that does what a test tells it, below the layer, and the
 * calls of a manager above it.
 *
 * Place      check, tests only.
 * Model      rig_init() brings an adapter up as a lawful manager and a lawful driver would: caps,
 *            segments, in the GpuMmu model a system process, a device and contexts. Everything that
 *            a test does not change is lawful, so a test states one deviation and nothing else.
 *
 *            A rule has a pair of tests, made with
 *
 *                RULE_BROKEN(PB_004) { rig->answer = move_too_far; rig_build(rig, &operation); }
 *                RULE_KEPT(PB_004) { ... the nearest lawful call ... }
 *
 *            and entered in the list of tests as RULE_PAIR(PB_004). Broken: this rule is found and
 *            no other one. Kept: no rule is found, and this one was looked at. Both start with a
 *            rig in the GpuMmu model; RULE_BROKEN_IN(PB_004, RIG_PHYSICAL) and RULE_KEPT_IN choose.
 */
#ifndef DRYDOCK_CHECK_TEST_RIG_H
#define DRYDOCK_CHECK_TEST_RIG_H

#include "check/check.h"

#include "base/bits.h"
#include "base/services.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum rig_model { RIG_PHYSICAL, RIG_GPUMMU };

#define RIG_BUFFER_BYTES  16384u
#define RIG_PRIVATE_BYTES 64u
#define RIG_PACKET_BYTES  16u /* what the driver writes for an operation */
#define RIG_MAX_SEGMENTS  8u
#define RIG_SLOTS         1024u    /* of the aperture, segment 2 */
#define RIG_RAM_PAGES     0x10000u /* that the device may use; their bytes are 0 */
#define RIG_DUMMY_PAGE    0x77u

struct rig {
    struct miniport bottom; /* first: the driver's miniport is the rig */
    struct miniport *top;
    struct miniport_host host;
    struct miniport_host *drivers_host; /* whom the driver calls */
    struct check *check;
    struct check_config config;
    struct rule_counts counts;
    struct finding last;
    unsigned finding_count;
    unsigned irql;

    enum rig_model model;
    ULONG version;
    /* What the driver answers to queries. */
    DXGK_DRIVERCAPS caps;
    DXGK_GPUMMUCAPS gpummu;
    DXGK_PHYSICALADAPTERCAPS physical;
    DXGK_PAGE_TABLE_LEVEL_DESC levels[4];
    DXGK_SEGMENTDESCRIPTOR4 segments[RIG_MAX_SEGMENTS];
    unsigned segment_count;
    unsigned paging_segment;
    uint32_t paging_private_bytes;

    /* Says what the driver does in a call, instead of rig_answer(); NULL: that. */
    NTSTATUS (*answer)(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg);
    void *told; /* to answer, by the test */
    /* What the GPU finds in page tables (struct check_config.walk); NULL: nobody can tell. */
    bool (*walk)(struct rig *rig, bool is_system, uint64_t root, uint64_t va,
                 struct check_gpu_walk *out_walk);
    void *tables;              /* to walk, by the test */
    enum miniport_ddi lacking; /* a DDI that the driver does not have; 0: it has all */

    uintptr_t next_handle;
    HANDLE system_process, process, device, system_context, context;
    /* The GPU's aperture: device page + 1, 0: nothing. */
    uint64_t slots[RIG_SLOTS];
    bool is_coherent[RIG_SLOTS];
    /* BAR 1 shows pages that the driver points: local page + 1, 0: nothing. */
    bool has_window;
    uint64_t window[RIG_SLOTS];
    unsigned char dummy[4096]; /* what is in RIG_DUMMY_PAGE */
    char *buffer;              /* the paging buffer, 4 KiB aligned */
    uint32_t buffer_bytes;     /* that the manager gives it */
    uint32_t buffer_used, buffer_submitted;
    unsigned submit_segment; /* in which the manager says that the buffer is */
    char private_data[RIG_PRIVATE_BYTES];
    uint32_t fence;
};

/* ---- The driver ---- */

static inline HANDLE rig_handle(struct rig *rig)
{
    return (HANDLE)(rig->next_handle += 16);
}

static inline NTSTATUS rig_answer_segments(struct rig *rig, const DXGKARG_QUERYADAPTERINFO *query)
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

static inline NTSTATUS rig_answer_query(struct rig *rig, const DXGKARG_QUERYADAPTERINFO *query)
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
static inline void rig_set_slots(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *arg)
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

static inline NTSTATUS rig_answer_build(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *arg)
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

/* What a lawful driver does. Creations give new handles. */
static inline NTSTATUS rig_answer(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    switch ((unsigned)ddi) {
    case MINIPORT_DDI_QueryAdapterInfo:
        return rig_answer_query(rig, arg);
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

static inline NTSTATUS rig_dispatch(struct miniport *self, enum miniport_ddi ddi, HANDLE object,
                                    const void *arg)
{
    struct rig *rig = (struct rig *)self;

    return (rig->answer ? rig->answer : rig_answer)(rig, ddi, object, (void *)arg);
}

#define X(function, ddi, argument)                                                                 \
    static inline NTSTATUS rig_driver_##function(struct miniport *self, HANDLE object,             \
                                                 argument arg)                                     \
    {                                                                                              \
        return rig_dispatch(self, MINIPORT_DDI_##ddi, object, arg);                                \
    }
MINIPORT_DDI_LIST(X)
#undef X
#define X(function, ddi)                                                                           \
    static inline NTSTATUS rig_driver_##function(struct miniport *self, HANDLE object)             \
    {                                                                                              \
        return rig_dispatch(self, MINIPORT_DDI_##ddi, object, NULL);                               \
    }
MINIPORT_PLAIN_LIST(X)
#undef X

static inline void rig_driver_destroy(struct miniport *self)
{
}

static inline ULONG rig_driver_version(struct miniport *self)
{
    return ((struct rig *)self)->version;
}

static inline void rig_driver_set_host(struct miniport *self, struct miniport_host *host)
{
    ((struct rig *)self)->drivers_host = host;
}

static inline bool rig_driver_has(struct miniport *self, enum miniport_ddi ddi)
{
    const struct rig *rig = (struct rig *)self;

    return !rig->lacking || rig->lacking != ddi;
}

static inline NTSTATUS rig_driver_add_device(struct miniport *self)
{
    return rig_dispatch(self, MINIPORT_DDI_AddDevice, NULL, NULL);
}

static inline NTSTATUS rig_driver_start_device(struct miniport *self, const DXGK_START_INFO *start,
                                               ULONG *sources, ULONG *children)
{
    return rig_dispatch(self, MINIPORT_DDI_StartDevice, NULL, start);
}

static inline NTSTATUS rig_driver_stop_device(struct miniport *self)
{
    return rig_dispatch(self, MINIPORT_DDI_StopDevice, NULL, NULL);
}

static inline NTSTATUS rig_driver_remove_device(struct miniport *self)
{
    return rig_dispatch(self, MINIPORT_DDI_RemoveDevice, NULL, NULL);
}

static inline NTSTATUS rig_driver_set_power_state(struct miniport *self, ULONG uid,
                                                  DEVICE_POWER_STATE state, POWER_ACTION action)
{
    return rig_dispatch(self, MINIPORT_DDI_SetPowerState, NULL, &state);
}

static inline NTSTATUS rig_driver_surprise_removal(struct miniport *self,
                                                   DXGK_SURPRISE_REMOVAL_TYPE type)
{
    return rig_dispatch(self, MINIPORT_DDI_NotifySurpriseRemoval, NULL, &type);
}

static inline bool rig_driver_interrupt(struct miniport *self, ULONG message)
{
    return NT_SUCCESS(rig_dispatch(self, MINIPORT_DDI_InterruptRoutine, NULL, &message));
}

static inline void rig_driver_dpc(struct miniport *self)
{
    rig_dispatch(self, MINIPORT_DDI_DpcRoutine, NULL, NULL);
}

static inline SIZE_T rig_driver_root_size(struct miniport *self, DXGKARG_GETROOTPAGETABLESIZE *arg)
{
    return rig_dispatch(self, MINIPORT_DDI_GetRootPageTableSize, NULL, arg) ? 0 : 4096;
}

/* clang-format off */
static const struct miniport_ops rig_driver_ops = {
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

static inline void rig_host_interrupt(struct miniport_host *host,
                                      const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
}
static inline void rig_host_dpc(struct miniport_host *host)
{
}
static inline bool rig_host_queue_dpc(struct miniport_host *host)
{
    return true;
}
static inline PVOID rig_host_handle_data(struct miniport_host *host,
                                         const DXGKARGCB_GETHANDLEDATA *data)
{
    return (PVOID)(uintptr_t)data->hObject;
}
static inline NTSTATUS rig_host_reserve(struct miniport_host *host, HANDLE process,
                                        DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE *range)
{
    return STATUS_SUCCESS;
}
static inline NTSTATUS rig_host_create(struct miniport_host *host,
                                       DXGKARGCB_CREATECONTEXTALLOCATION *allocation)
{
    return STATUS_SUCCESS;
}
static inline NTSTATUS rig_host_destroy(struct miniport_host *host, HANDLE allocation)
{
    return STATUS_SUCCESS;
}
static inline NTSTATUS rig_host_update(struct miniport_host *host,
                                       const DXGKARGCB_UPDATECONTEXTALLOCATION *update)
{
    return STATUS_SUCCESS;
}
static inline void rig_host_unsupported(struct miniport_host *host, const char *callback)
{
}

static const struct miniport_host_ops rig_host_ops = {
    .notify_interrupt = rig_host_interrupt,
    .notify_dpc = rig_host_dpc,
    .queue_dpc = rig_host_queue_dpc,
    .get_handle_data = rig_host_handle_data,
    .reserve_gpu_virtual_address_range = rig_host_reserve,
    .create_context_allocation = rig_host_create,
    .destroy_context_allocation = rig_host_destroy,
    .update_context_allocation = rig_host_update,
    .unsupported = rig_host_unsupported,
};

/* ---- The manager's calls ---- */

/* The rig's GPU takes an address as it is. */
static inline bool rig_patched_address(void *context, DXGK_SEGMENTFLAGS segment, uint64_t address,
                                       uint64_t offset, bool is_pitched, uint64_t *out_bits)
{
    *out_bits = (address + offset);
    return true;
}

static inline void rig_on_finding(void *context, const struct finding *finding)
{
    struct rig *rig = context;

    rig->last = *finding;
    rig->finding_count++;
}

static inline unsigned rig_irql(void *context)
{
    return ((struct rig *)context)->irql;
}

/* ---- The board ---- */

static inline bool rig_slot_page(void *context, uint64_t base, uint64_t slot, uint64_t *out_page)
{
    const struct rig *rig = context;

    *out_page = slot < RIG_SLOTS ? rig->slots[slot] - 1 : 0;
    return slot < RIG_SLOTS && rig->slots[slot];
}

static inline bool rig_slot_is_coherent(void *context, uint64_t base, uint64_t slot)
{
    return slot < RIG_SLOTS && ((const struct rig *)context)->is_coherent[slot];
}

static inline bool rig_read_page(void *context, uint64_t page, void *out, uint32_t bytes)
{
    memset(out, 0, bytes);
    if (page == RIG_DUMMY_PAGE)
        memcpy(out, ((const struct rig *)context)->dummy, bytes);
    return page < RIG_RAM_PAGES;
}

/* BAR 1 is at RIG_BAR and shows local memory in order. */
#define RIG_BAR UINT64_C(0xe0000000)

static inline bool rig_bus_local(void *context, uint64_t address, uint64_t *out_address)
{
    const struct rig *rig = context;
    uint64_t page = (address - RIG_BAR) / 4096;

    if (address < RIG_BAR || address >= RIG_BAR + (16u << 20))
        return false;
    *out_address = address - RIG_BAR;
    if (rig->has_window && page < RIG_SLOTS) {
        *out_address = (rig->window[page] - 1) * 4096 + address % 4096;
        return rig->window[page] != 0;
    }
    return true;
}

static inline bool rig_walk(void *context, bool is_system, uint64_t root, uint64_t va,
                            struct check_gpu_walk *out_walk)
{
    struct rig *rig = context;

    return rig->walk && rig->walk(rig, is_system, root, va, out_walk);
}

static inline NTSTATUS rig_query(struct rig *rig, unsigned type, void *in, size_t in_bytes,
                                 void *out, size_t out_bytes)
{
    const DXGKARG_QUERYADAPTERINFO query = {
        .Type = (DXGK_QUERYADAPTERINFOTYPE)type,
        .pInputData = in,
        .InputDataSize = (UINT)in_bytes,
        .pOutputData = out,
        .OutputDataSize = (UINT)out_bytes,
    };

    return miniport_query_adapter_info(rig->top, NULL, &query);
}

/* Both passes. The window of an AGP segment is where the segment says. */
static inline void rig_query_segments(struct rig *rig)
{
    DXGK_QUERYSEGMENTIN in = {0};

    for (unsigned i = 0; i < rig->segment_count; i++) {
        if (!rig->segments[i].Flags.Agp)
            continue;
        in.AgpApertureBase = rig->segments[i].BaseAddress;
        in.AgpApertureSize.QuadPart = (LONGLONG)rig->segments[i].Size;
    }

    if (rig->model == RIG_GPUMMU) {
        DXGK_SEGMENTDESCRIPTOR4 descriptors[RIG_MAX_SEGMENTS] = {0};
        DXGK_QUERYSEGMENTOUT4 out = {.SegmentDescriptorStride = sizeof descriptors[0]};

        rig_query(rig, DXGKQAITYPE_QUERYSEGMENT4, &in, sizeof in, &out, sizeof out);
        out.pSegmentDescriptor = (BYTE *)descriptors;
        rig_query(rig, DXGKQAITYPE_QUERYSEGMENT4, &in, sizeof in, &out, sizeof out);
    } else {
        DXGK_SEGMENTDESCRIPTOR3 descriptors[RIG_MAX_SEGMENTS] = {0};
        DXGK_QUERYSEGMENTOUT3 out = {0};

        rig_query(rig, DXGKQAITYPE_QUERYSEGMENT3, &in, sizeof in, &out, sizeof out);
        out.pSegmentDescriptor = descriptors;
        rig_query(rig, DXGKQAITYPE_QUERYSEGMENT3, &in, sizeof in, &out, sizeof out);
    }
}

/* The caps and segments of a small lawful adapter: 1 is local memory, 2 an aperture. */
static inline void rig_describe(struct rig *rig, enum rig_model model)
{
    rig->model = model;
    rig->version =
        model == RIG_GPUMMU ? DXGKDDI_INTERFACE_VERSION_WDDM2_6 : DXGKDDI_INTERFACE_VERSION_WDDM1_3;
    rig->segments[0] = (DXGK_SEGMENTDESCRIPTOR4){
        .BaseAddress.QuadPart = 0,
        .Size = 16 << 20,
        .CommitLimit = 16 << 20,
    };
    rig->segments[1] = (DXGK_SEGMENTDESCRIPTOR4){
        .Flags.Aperture = 1,
        .Flags.CacheCoherent = 1,
        .BaseAddress.QuadPart = 1 << 30,
        .Size = 4 << 20,
        .CommitLimit = 4 << 20,
    };
    rig->segment_count = 2;
    rig->paging_private_bytes = RIG_PRIVATE_BYTES;
    rig->caps.ApertureSegmentCommitLimit = 4 << 20;
    rig->caps.MaxAllocationListSlotId = 16;
    if (model != RIG_GPUMMU)
        return;
    rig->caps.MemoryManagementCaps.VirtualAddressingSupported = 1;
    rig->caps.MemoryManagementCaps.GpuMmuSupported = 1;
    rig->gpummu.PageTableUpdateMode = DXGK_PAGETABLEUPDATE_GPU_VIRTUAL;
    rig->gpummu.ReadOnlyMemorySupported = 1;
    rig->gpummu.VirtualAddressBitCount = 39;
    rig->gpummu.PageTableLevelCount = 3;
    for (unsigned i = 0; i < 3; i++)
        rig->levels[i] = (DXGK_PAGE_TABLE_LEVEL_DESC){
            .PageTableIndexBitCount = 9,
            .PageTableSegmentId = 1,
            .PagingProcessPageTableSegmentId = 1,
            .PageTableSizeInBytes = 4096,
            .PageTableAlignmentInBytes = 4096,
        };
    rig->physical.NumExecutionNodes = 2;
    rig->physical.PagingNodeIndex = 0;
    rig->physical.Flags.GpuMmuSupported = 1;
}

/* A rig that a test changes before rig_init_prepared(): config, caps, segments. */
static inline void rig_prepare(struct rig *rig, enum rig_model model)
{
    memset(rig, 0, sizeof *rig);
    rig->next_handle = 0x1000;
    rig_describe(rig, model);
    rig->bottom.ops = &rig_driver_ops;
    rig->host.ops = &rig_host_ops;
    rig->config = (struct check_config){
        .services = base_services_libc(),
        .counts = &rig->counts,
        .guards_buffers = true,
        .submission_alignment = RIG_PACKET_BYTES,
        .context = rig,
        .patched_address = rig_patched_address,
        .report = rig_on_finding,
        .irql = rig_irql,
        .walk = rig_walk,
        .slot_page = rig_slot_page,
        .slot_is_coherent = rig_slot_is_coherent,
        .read_page = rig_read_page,
        .bus_local = rig_bus_local,
    };
    rig->buffer_bytes = RIG_BUFFER_BYTES;
}

/* The layer over the driver, nothing called yet: for tests of how an adapter comes up. */
static inline void rig_init_layer(struct rig *rig)
{
    assert_int_equal(check_create(&rig->config, &rig->check), STATUS_SUCCESS);
    assert_int_equal(check_layer_create(rig->check, &rig->bottom, &rig->top), STATUS_SUCCESS);
    rig->buffer = aligned_alloc(4096, RIG_BUFFER_BYTES);
    assert_non_null(rig->buffer);
    miniport_set_host(rig->top, &rig->host);
}

/* AddDevice, StartDevice and the queries that a manager makes at its start. */
static inline void rig_start(struct rig *rig)
{
    DXGK_START_INFO start = {.RequiredDmaQueueEntry = 2};
    ULONG sources = 0, children = 0;
    DXGK_DRIVERCAPS caps = {0};

    miniport_add_device(rig->top);
    miniport_start_device(rig->top, &start, &sources, &children);
    rig_query(rig, DXGKQAITYPE_DRIVERCAPS, NULL, 0, &caps, sizeof caps);
    rig_query_segments(rig);
    if (rig->model == RIG_GPUMMU) {
        DXGK_QUERYPAGETABLELEVELDESCIN in = {0};
        DXGK_PHYSICALADAPTERCAPS physical = {0};
        DXGK_PAGE_TABLE_LEVEL_DESC level = {0};
        DXGK_GPUMMUCAPS gpummu = {0};
        UINT adapter = 0;

        rig_query(rig, DXGKQAITYPE_PHYSICALADAPTERCAPS, &adapter, sizeof adapter, &physical,
                  sizeof physical);
        rig_query(rig, DXGKQAITYPE_GPUMMUCAPS, &adapter, sizeof adapter, &gpummu, sizeof gpummu);
        for (; in.LevelIndex < gpummu.PageTableLevelCount && in.LevelIndex < 4; in.LevelIndex++)
            rig_query(rig, DXGKQAITYPE_PAGETABLELEVELDESC, &in, sizeof in, &level, sizeof level);
    }
}

static inline HANDLE rig_create_process(struct rig *rig, bool is_system)
{
    DXGKARG_CREATEPROCESS arg = {.Flags.SystemProcess = is_system};

    assert_int_equal(miniport_create_process(rig->top, NULL, &arg), STATUS_SUCCESS);
    return arg.hKmdProcess;
}

static inline HANDLE rig_create_device(struct rig *rig, HANDLE process)
{
    DXGKARG_CREATEDEVICE arg = {.hKmdProcess = process};

    assert_int_equal(miniport_create_device(rig->top, NULL, &arg), STATUS_SUCCESS);
    return arg.hDevice;
}

/* With the root of its page tables at page 103 of local memory. */
static inline HANDLE rig_create_context(struct rig *rig, HANDLE device, unsigned node,
                                        bool is_system)
{
    DXGKARG_CREATECONTEXT arg = {.NodeOrdinal = node, .EngineAffinity = 1};

    arg.Flags.SystemContext = is_system;
    assert_int_equal(miniport_create_context(rig->top, device, &arg), STATUS_SUCCESS);
    if (rig->model == RIG_GPUMMU) {
        DXGKARG_SETROOTPAGETABLE root = {.hContext = arg.hContext, .NumEntries = 512};

        root.Address.SegmentId = 1;
        root.Address.SegmentOffset = 103 * 4096;
        miniport_set_root_page_table(rig->top, NULL, &root);
    }
    return arg.hContext;
}

/* Of 64 KiB in local memory. info gives what is to be otherwise, and has the driver's answer. */
static inline HANDLE rig_create_allocation(struct rig *rig, DXGK_ALLOCATIONINFO *info)
{
    DXGK_ALLOCATIONINFO plain = {0};
    DXGKARG_CREATEALLOCATION arg = {
        .NumAllocations = 1,
        .pAllocationInfo = info ? info : &plain,
    };

    miniport_create_allocation(rig->top, NULL, &arg);
    return arg.pAllocationInfo->hAllocation;
}

static inline void rig_destroy_allocation(struct rig *rig, HANDLE allocation)
{
    const DXGKARG_DESTROYALLOCATION arg = {.NumAllocations = 1, .pAllocationList = &allocation};

    miniport_destroy_allocation(rig->top, NULL, &arg);
}

/* An adapter that is up, with a device and contexts. */
static inline void rig_init_prepared(struct rig *rig)
{
    rig_init_layer(rig);
    rig_start(rig);
    if (rig->model == RIG_GPUMMU) {
        HANDLE system_device;

        rig->system_process = rig_create_process(rig, true);
        system_device = rig_create_device(rig, rig->system_process);
        rig->system_context = rig_create_context(rig, system_device, 0, true);
        rig->process = rig_create_process(rig, false);
    }
    rig->device = rig_create_device(rig, rig->process);
    rig->context = rig_create_context(rig, rig->device, 1, false);
}

static inline void rig_init(struct rig *rig, enum rig_model model)
{
    rig_prepare(rig, model);
    rig_init_prepared(rig);
}

static inline void rig_init_cold(struct rig *rig, enum rig_model model)
{
    rig_prepare(rig, model);
    rig_init_layer(rig);
}

static inline void rig_fini(struct rig *rig)
{
    miniport_destroy(rig->top);
    check_destroy(rig->check);
    free(rig->buffer);
}

/* The operation, behind what stands in the buffer; the rest of the structure is filled in. */
static inline NTSTATUS rig_build(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    NTSTATUS status;

    arg->pDmaBuffer = rig->buffer + rig->buffer_used;
    arg->DmaSize = rig->buffer_bytes - rig->buffer_used;
    arg->pDmaBufferPrivateData = rig->private_data;
    arg->DmaBufferPrivateDataSize = rig->paging_private_bytes;
    arg->hSystemContext = rig->system_context;
    arg->DmaBufferWriteOffset = rig->buffer_used;
    status = miniport_build_paging_buffer(rig->top, NULL, arg);
    if ((char *)arg->pDmaBuffer >= rig->buffer &&
        (char *)arg->pDmaBuffer <= rig->buffer + RIG_BUFFER_BYTES)
        rig->buffer_used = (uint32_t)((char *)arg->pDmaBuffer - rig->buffer);
    return status;
}

/* Submits what was built to node 0. Gives the fence. */
static inline uint32_t rig_submit(struct rig *rig)
{
    DXGKARG_SUBMITCOMMAND arg = {
        .hContext = rig->system_context,
        .DmaBufferSegmentId = rig->submit_segment,
        .DmaBufferSize = RIG_BUFFER_BYTES,
        .DmaBufferPhysicalAddress.QuadPart = 0x10000,
        .DmaBufferSubmissionStartOffset = rig->buffer_submitted,
        .DmaBufferSubmissionEndOffset = rig->buffer_used,
        .pDmaBufferPrivateData = rig->private_data,
        .DmaBufferPrivateDataSize = rig->paging_private_bytes,
        .SubmissionFenceId = ++rig->fence,
        .Flags.Paging = 1,
    };
    unsigned before = rig->irql;

    rig->irql = DISPATCH_LEVEL;
    miniport_submit_command(rig->top, NULL, &arg);
    rig->irql = before;
    rig->buffer_submitted = rig->buffer_used;
    return rig->fence;
}

/* The next operation goes to the start of the buffer. */
static inline void rig_new_buffer(struct rig *rig)
{
    rig->buffer_used = rig->buffer_submitted = 0;
}

/* The driver reports the fence of a node complete. */
static inline void rig_complete(struct rig *rig, unsigned node, uint32_t fence)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED};
    unsigned before = rig->irql;

    data.DmaCompleted.SubmissionFenceId = fence;
    data.DmaCompleted.NodeOrdinal = node;
    rig->irql = 5; /* the device's */
    rig->drivers_host->ops->notify_interrupt(rig->drivers_host, &data);
    rig->drivers_host->ops->queue_dpc(rig->drivers_host);
    rig->irql = DISPATCH_LEVEL;
    rig->drivers_host->ops->notify_dpc(rig->drivers_host);
    rig->irql = before;
}

/* A FILL of 64 KiB at the start of local memory, the plainest lawful operation. */
static inline DXGKARG_BUILDPAGINGBUFFER rig_fill(HANDLE allocation)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_FILL};

    arg.Fill.hAllocation = allocation;
    arg.Fill.FillSize = 65536;
    arg.Fill.Destination.SegmentId = 1;
    return arg;
}

/* ---- Pairs ---- */

static inline void rig_expect_only(const struct rig *rig, enum rule_id rule)
{
    for (unsigned i = RULE_NONE + 1; i < RULE_COUNT; i++) {
        bool should = i == (unsigned)rule;

        if ((rig->counts.broken[i] != 0) == should)
            continue;
        if (should)
            fail_msg("%s was not found (looked at %llu times)", rule_get(rule)->id,
                     (unsigned long long)rig->counts.evaluated[rule]);
        fail_msg("%s was found: %s: %s", rule_get((enum rule_id)i)->id, rig->last.detail.where,
                 rig->last.text);
    }
}

static inline void rig_expect_silence(const struct rig *rig, enum rule_id rule)
{
    rig_expect_only(rig, RULE_NONE);
    if (!rig->counts.evaluated[rule])
        fail_msg("%s was never looked at", rule_get(rule)->id);
}

#define RULE_BROKEN_IN(identifier, model)                                                          \
    static void break_##identifier(struct rig *rig);                                               \
    static void rule_##identifier##_is_found_when_broken(void **state)                             \
    {                                                                                              \
        struct rig *rig = malloc(sizeof *rig);                                                     \
                                                                                                   \
        assert_non_null(rig);                                                                      \
        rig_init(rig, model);                                                                      \
        break_##identifier(rig);                                                                   \
        check_end(rig->check, false);                                                              \
        rig_expect_only(rig, RULE_##identifier);                                                   \
        rig_fini(rig);                                                                             \
        free(rig);                                                                                 \
    }                                                                                              \
    static void break_##identifier(struct rig *rig)
#define RULE_KEPT_IN(identifier, model)                                                            \
    static void keep_##identifier(struct rig *rig);                                                \
    static void rule_##identifier##_is_silent_when_kept(void **state)                              \
    {                                                                                              \
        struct rig *rig = malloc(sizeof *rig);                                                     \
                                                                                                   \
        assert_non_null(rig);                                                                      \
        rig_init(rig, model);                                                                      \
        keep_##identifier(rig);                                                                    \
        check_end(rig->check, false);                                                              \
        rig_expect_silence(rig, RULE_##identifier);                                                \
        rig_fini(rig);                                                                             \
        free(rig);                                                                                 \
    }                                                                                              \
    static void keep_##identifier(struct rig *rig)
#define RULE_BROKEN(identifier) RULE_BROKEN_IN(identifier, RIG_GPUMMU)
#define RULE_KEPT(identifier)   RULE_KEPT_IN(identifier, RIG_GPUMMU)
#define RULE_PAIR(identifier)                                                                      \
    cmocka_unit_test(rule_##identifier##_is_found_when_broken),                                    \
        cmocka_unit_test(rule_##identifier##_is_silent_when_kept)

#endif
