/*
 * Memory as the kernel is told of it, and the objects of its clients.
 */
#include "driver.h"

#define APERTURE_BASE        (0xc0ull << 32)
#define APERTURE_BYTES       (4ull << 30)
#define LIST_ENTRIES         16u
#define PRIORITY_NORMAL      0x78000000u
#define FLAG_CPU_VISIBLE     (1u << 0) /* of an allocation's private data */
#define FLAG_CACHED          (1u << 1)
#define FLAG_APERTURE_ONLY   (1u << 3)
#define FLAG_PREFER_APERTURE (1u << 4)
#define FLAG_NO_APERTURE     (1u << 5)
#define SEGMENT_BIT(id)      (1u << ((id)-1))

struct private_data {
    UINT64 size;
    UINT flags;
    UINT index;
};

struct allocation {
    UINT64 size;
};

UINT64 sdma_entry_address(UINT segment, UINT64 offset)
{
    return segment == SEGMENT_SYSTEM ? SDMA_PTE_SYSTEM | offset : offset;
}

/* ---- Segments and page tables ---------------------------------------------------------------- */

/*
 * Local memory at its offset: so entries and a GPU model name it. Keeps SEG-001 to SEG-004,
 * SEG-016.
 */
NTSTATUS sdma_query_segments(const struct adapter *adapter, const DXGKARG_QUERYADAPTERINFO *query)
{
    DXGK_QUERYSEGMENTOUT4 *out = (DXGK_QUERYSEGMENTOUT4 *)query->pOutputData;
    DXGK_SEGMENTDESCRIPTOR4 descriptors[2];
    UINT i;

    if (!out->NbSegment || !out->pSegmentDescriptor) {
        out->NbSegment = 2;
        return STATUS_SUCCESS;
    }
    if (out->NbSegment < 2)
        return STATUS_BUFFER_TOO_SMALL;
    RtlZeroMemory(descriptors, sizeof descriptors);
    descriptors[0].Flags.CpuVisible = 1;
    descriptors[0].Flags.LocalBudgetGroup = 1;
    descriptors[0].CpuTranslatedAddress = adapter->window_pa;
    descriptors[0].Size = (SIZE_T)adapter->local_bytes;
    descriptors[1].Flags.Aperture = 1;
    descriptors[1].Flags.NonLocalBudgetGroup = 1;
    descriptors[1].BaseAddress.QuadPart = (LONGLONG)APERTURE_BASE;
    descriptors[1].Size = (SIZE_T)APERTURE_BYTES;
    out->NbSegment = 2;
    for (i = 0; i < 2; i++) {
        descriptors[i].CommitLimit = descriptors[i].Size;
        RtlCopyMemory((UCHAR *)out->pSegmentDescriptor + i * out->SegmentDescriptorStride,
                      &descriptors[i],
                      (SIZE_T)smaller_of(out->SegmentDescriptorStride, sizeof descriptors[i]));
    }
    /*
     * With 0 Windows gives them no GPU address, and a ring could not call them (docs/observed.md,
     * O27, O28).
     */
    out->PagingBufferSegmentId = SEGMENT_APERTURE;
    out->PagingBufferSize = PAGING_BUFFER_BYTES;
    out->PagingBufferPrivateDataSize = 0;
    return STATUS_SUCCESS;
}

/* Keeps PT-005; invalid entries are never cached (TLB-005). */
NTSTATUS sdma_query_mmu(const DXGKARG_QUERYADAPTERINFO *query)
{
    DXGK_GPUMMUCAPS *caps = (DXGK_GPUMMUCAPS *)query->pOutputData;

    RtlZeroMemory(caps, sizeof *caps);
    caps->ReadOnlyMemorySupported = 1;
    caps->NoExecuteMemorySupported = 1;
    caps->InvalidTlbEntriesNotCached = 1;
    caps->PageTableUpdateMode = DXGK_PAGETABLEUPDATE_GPU_VIRTUAL;
    caps->VirtualAddressBitCount = SDMA_VA_BITS;
    caps->PageTableLevelCount = SDMA_LEVELS;
    return STATUS_SUCCESS;
}

/* A page each, wherever it is (PT-006). */
NTSTATUS sdma_query_level(const DXGKARG_QUERYADAPTERINFO *query)
{
    DXGK_PAGE_TABLE_LEVEL_DESC *level = (DXGK_PAGE_TABLE_LEVEL_DESC *)query->pOutputData;

    RtlZeroMemory(level, sizeof *level);
    level->PageTableIndexBitCount = SDMA_LEVEL_BITS;
    level->PageTableSizeInBytes = PAGE;
    level->PageTableSegmentId = SEGMENT_LOCAL;
    level->PagingProcessPageTableSegmentId = SEGMENT_LOCAL;
    level->PageTableAlignmentInBytes = PAGE;
    return STATUS_SUCCESS;
}

/* The context is not scheduled (PT-010): its next submission takes the root along. */
static VOID NTAPI SetRootPageTable(IN_CONST_HANDLE hAdapter,
                                   IN_CONST_PDXGKARG_SETROOTPAGETABLE args)
{
    struct context *context = (struct context *)args->hContext;

    UNREFERENCED_PARAMETER(hAdapter);
    context->root = sdma_entry_address(args->Address.SegmentId, args->Address.SegmentOffset);
    context->has_root = TRUE;
    context->serial = ++context->adapter->serials;
}

/* ---- Allocations ----------------------------------------------------------------------------- */

static NTSTATUS create_one(DXGK_ALLOCATIONINFO *info)
{
    UINT set = SEGMENT_BIT(SEGMENT_LOCAL) | SEGMENT_BIT(SEGMENT_APERTURE), first = SEGMENT_LOCAL;
    struct private_data data;
    struct allocation *allocation;

    if (!info->pPrivateDriverData || info->PrivateDriverDataSize < sizeof data)
        return STATUS_INVALID_PARAMETER;
    RtlCopyMemory(&data, info->pPrivateDriverData, sizeof data); /* once: it is user mode's */
    if (!data.size)
        return STATUS_INVALID_PARAMETER;
    allocation = (struct allocation *)sdma_alloc(sizeof *allocation);
    if (!allocation)
        return STATUS_NO_MEMORY;
    allocation->size = data.size;
    if (data.flags & (FLAG_APERTURE_ONLY | FLAG_PREFER_APERTURE))
        first = SEGMENT_APERTURE;
    if (data.flags & FLAG_APERTURE_ONLY)
        set = SEGMENT_BIT(SEGMENT_APERTURE);
    else if (data.flags & FLAG_NO_APERTURE)
        set = SEGMENT_BIT(SEGMENT_LOCAL);
    info->Alignment = PAGE;
    info->Size = (SIZE_T)data.size;
    info->PitchAlignedSize = 0;
    info->HintedBank.Value = 0;
    info->PreferredSegment.Value = 0;
    info->PreferredSegment.SegmentId0 = first;
    if (set & (set - 1)) /* both */
        info->PreferredSegment.SegmentId1 = SEGMENT_LOCAL + SEGMENT_APERTURE - first;
    info->SupportedReadSegmentSet = set;
    info->SupportedWriteSegmentSet = set;
    info->EvictionSegmentSet = 0;
    info->PhysicalAdapterIndex = 0;
    info->pAllocationUsageHint = NULL;
    info->AllocationPriority = PRIORITY_NORMAL;
    info->FlagsWddm2.Value = 0;
    info->FlagsWddm2.CpuVisible = (data.flags & (FLAG_CPU_VISIBLE | FLAG_CACHED)) != 0;
    info->FlagsWddm2.Cached = (data.flags & FLAG_CACHED) != 0;
    info->hAllocation = allocation;
    return STATUS_SUCCESS;
}

/* All of them or none. */
static NTSTATUS NTAPI CreateAllocation(IN_CONST_HANDLE hAdapter,
                                       INOUT_PDXGKARG_CREATEALLOCATION args)
{
    NTSTATUS status = STATUS_SUCCESS;
    UINT i;

    UNREFERENCED_PARAMETER(hAdapter);
    for (i = 0; i < args->NumAllocations && NT_SUCCESS(status); i++)
        status = create_one(&args->pAllocationInfo[i]);
    if (!NT_SUCCESS(status)) {
        for (i--; i > 0; i--)
            sdma_free(args->pAllocationInfo[i - 1].hAllocation);
    }
    return status;
}

static NTSTATUS NTAPI DestroyAllocation(IN_CONST_HANDLE hAdapter,
                                        IN_CONST_PDXGKARG_DESTROYALLOCATION args)
{
    UINT i;

    UNREFERENCED_PARAMETER(hAdapter);
    for (i = 0; i < args->NumAllocations; i++)
        sdma_free(args->pAllocationList[i]);
    return STATUS_SUCCESS;
}

/* A buffer, as a surface of one row. */
static NTSTATUS NTAPI DescribeAllocation(IN_CONST_HANDLE hAdapter,
                                         INOUT_PDXGKARG_DESCRIBEALLOCATION args)
{
    const struct allocation *allocation = (const struct allocation *)args->hAllocation;

    UNREFERENCED_PARAMETER(hAdapter);
    args->Width = (UINT)smaller_of(allocation->size, MAXULONG);
    args->Height = 1;
    args->Format = D3DDDIFMT_UNKNOWN;
    args->MultisampleMethod.NumSamples = 0;
    args->MultisampleMethod.NumQualityLevels = 0;
    args->RefreshRate.Numerator = 0;
    args->RefreshRate.Denominator = 1;
    args->PrivateDriverFormatAttribute = 0;
    args->Rotation = D3DDDI_ROTATION_IDENTITY;
    return STATUS_SUCCESS;
}

/* What a device has of an allocation is the allocation. */
static NTSTATUS NTAPI OpenAllocation(IN_CONST_HANDLE hDevice, IN_CONST_PDXGKARG_OPENALLOCATION args)
{
    const struct device *device = (const struct device *)hDevice;
    UINT i;

    for (i = 0; i < args->NumAllocations; i++) {
        DXGK_OPENALLOCATIONINFO *info = &args->pOpenAllocation[i];
        DXGKARGCB_GETHANDLEDATA query = {info->hAllocation, DXGK_HANDLE_ALLOCATION, {{{0}}}};

        info->hDeviceSpecificAllocation = device->adapter->dxgkrnl.DxgkCbGetHandleData(&query);
        if (!info->hDeviceSpecificAllocation)
            return STATUS_INVALID_HANDLE;
    }
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI CloseAllocation(IN_CONST_HANDLE hDevice,
                                      IN_CONST_PDXGKARG_CLOSEALLOCATION args)
{
    UNREFERENCED_PARAMETER(hDevice);
    UNREFERENCED_PARAMETER(args);
    return STATUS_SUCCESS;
}

/* ---- Processes, devices, contexts ------------------------------------------------------------ */

/* Address spaces are the kernel's; a process is a name here. */
static NTSTATUS NTAPI CreateProcess(IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_CREATEPROCESS args)
{
    struct process *process = (struct process *)sdma_alloc(sizeof *process);

    args->hKmdProcess = process;
    if (!process)
        return STATUS_NO_MEMORY;
    process->adapter = (struct adapter *)hAdapter;
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI DestroyProcess(IN_CONST_HANDLE hAdapter, IN_CONST_HANDLE hKmdProcess)
{
    UNREFERENCED_PARAMETER(hAdapter);
    sdma_free(hKmdProcess);
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI CreateDevice(IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_CREATEDEVICE args)
{
    struct device *device = (struct device *)sdma_alloc(sizeof *device);

    args->hDevice = device;
    if (!device)
        return STATUS_NO_MEMORY;
    device->adapter = (struct adapter *)hAdapter;
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI DestroyDevice(IN_CONST_HANDLE hDevice)
{
    sdma_free(hDevice);
    return STATUS_SUCCESS;
}

/*
 * Buffers are user mode's own: nothing is patched. Entries are copied by the paging node
 * (CPTE-007).
 */
static NTSTATUS NTAPI CreateContext(IN_CONST_HANDLE hDevice, INOUT_PDXGKARG_CREATECONTEXT args)
{
    const struct device *device = (const struct device *)hDevice;
    struct context *context;

    args->hContext = NULL;
    if (args->NodeOrdinal >= SDMA_ENGINES)
        return STATUS_INVALID_PARAMETER;
    context = (struct context *)sdma_alloc(sizeof *context);
    if (!context)
        return STATUS_NO_MEMORY;
    context->adapter = device->adapter;
    context->node = args->NodeOrdinal;
    context->is_paging = args->Flags.SystemContext;
    RtlZeroMemory(&args->ContextInfo, sizeof args->ContextInfo);
    args->ContextInfo.DmaBufferSize = PAGING_BUFFER_BYTES;
    args->ContextInfo.AllocationListSize = LIST_ENTRIES;
    args->ContextInfo.Caps.NoPatchingRequired = 1;
    args->ContextInfo.PagingCompanionNodeId = NODE_PAGING;
    args->hContext = context;
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI DestroyContext(IN_CONST_HANDLE hContext)
{
    sdma_free(hContext);
    return STATUS_SUCCESS;
}

void sdma_register_memory(DRIVER_INITIALIZATION_DATA *table)
{
    table->DxgkDdiCreateAllocation = CreateAllocation;
    table->DxgkDdiDestroyAllocation = DestroyAllocation;
    table->DxgkDdiDescribeAllocation = DescribeAllocation;
    table->DxgkDdiOpenAllocation = OpenAllocation;
    table->DxgkDdiCloseAllocation = CloseAllocation;
    table->DxgkDdiCreateProcess = CreateProcess;
    table->DxgkDdiDestroyProcess = DestroyProcess;
    table->DxgkDdiCreateDevice = CreateDevice;
    table->DxgkDdiDestroyDevice = DestroyDevice;
    table->DxgkDdiCreateContext = CreateContext;
    table->DxgkDdiDestroyContext = DestroyContext;
    table->DxgkDdiSetRootPageTable = SetRootPageTable;
}
