/*
 * Memory as the kernel is told of it, and the objects of its clients.
 */
#include "driver.h"

#define APERTURE_BASE   (0xc0ull << 32)
#define APERTURE_BYTES  (4ull << 30)
#define LIST_ENTRIES    16u
#define PRIORITY_NORMAL 0x78000000u
#define SEGMENT_BIT(id) (1u << ((id)-1))
#define RESOURCE_MOST   16384u /* bytes of an allocation's private data */
#define LARGE_PAGE      (2u << 20)
#define ALIGNMENT_MOST  (1u << 30)

struct allocation {
    UINT64 size;
};

/* ---- Segments and page tables ---------------------------------------------------------------- */

/*
 * Local memory at its offset: so entries and a GPU model name it. Keeps SEG-001 to SEG-004,
 * SEG-016.
 */
NTSTATUS intel_query_segments(const struct adapter *adapter, const DXGKARG_QUERYADAPTERINFO *query)
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
    descriptors[0].Flags.Use64KBPages = 1;
    descriptors[0].Flags.LocalBudgetGroup = 1;
    descriptors[0].CpuTranslatedAddress = adapter->window_pa;
    descriptors[0].Size = (SIZE_T)(adapter->local_bytes & ~(UINT64)(PAGE_64K - 1));
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
    out->PagingBufferPrivateDataSize = PAGING_RECORDS * sizeof(UINT64);
    return STATUS_SUCCESS;
}

/* Keeps PT-005; invalid entries are never cached (TLB-005). */
NTSTATUS intel_query_mmu(const DXGKARG_QUERYADAPTERINFO *query)
{
    DXGK_GPUMMUCAPS *caps = (DXGK_GPUMMUCAPS *)query->pOutputData;

    RtlZeroMemory(caps, sizeof *caps);
    caps->ReadOnlyMemorySupported = 1;
    caps->ZeroInPteSupported = 1;
    caps->LargePageSupported = INTEL_LARGE_PAGES;
    caps->LeafPageTableSizeFor64KPagesInBytes = INTEL_LARGE_PAGES ? 0 : PAGE; /* PT-039 */
    caps->InvalidTlbEntriesNotCached = 1;
    caps->PageTableUpdateMode = DXGK_PAGETABLEUPDATE_GPU_VIRTUAL;
    caps->VirtualAddressBitCount = IBLT_VA_BITS;
    caps->PageTableLevelCount = IBLT_LEVELS;
    return STATUS_SUCCESS;
}

/* A page each, wherever it is (PT-006). */
NTSTATUS intel_query_level(const DXGKARG_QUERYADAPTERINFO *query)
{
    DXGK_PAGE_TABLE_LEVEL_DESC *level = (DXGK_PAGE_TABLE_LEVEL_DESC *)query->pOutputData;

    RtlZeroMemory(level, sizeof *level);
    level->PageTableIndexBitCount = IBLT_LEVEL_BITS;
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
    context->root = args->Address.SegmentOffset; /* tables are in local memory */
    context->has_root = TRUE;
    context->serial = ++context->adapter->serials;
}

/* ---- Allocations ----------------------------------------------------------------------------- */

/* The number that a path of tokens leads to; 0: none. */
static UINT64 value_at(const UINT *words, UINT64 count, const USHORT *path, UINT depth)
{
    unsigned long long value = 0;

    token_find(words, count, path, depth, &value);
    return value;
}
#define VALUE_AT(words, count, ...)                                                                \
    value_at(words, count, (const USHORT[]){TOKEN_RESOURCE, TOKEN_RESOURCE_BODY, __VA_ARGS__},     \
             sizeof((const USHORT[]){TOKEN_RESOURCE, TOKEN_RESOURCE_BODY, __VA_ARGS__}) /          \
                 sizeof(USHORT))

static BOOLEAN has_flag(const UINT *words, UINT64 count, USHORT id)
{
    return VALUE_AT(words, count, TOKEN_SURFACE, TOKEN_FLAGS, TOKEN_INFO_FLAGS, id) != 0;
}

/* Memory of the client's has a size of its own, whether or not the flag is there. */
static BOOLEAN is_over_memory(const UINT *words, UINT64 count)
{
    return has_flag(words, count, TOKEN_EXISTING) ||
           VALUE_AT(words, count, TOKEN_EXISTING_MEMORY, TOKEN_EXISTING_SIZE);
}

/* What the private data says of an allocation. */
struct resource {
    UINT64 size;
    UINT alignment;
    BOOLEAN is_local, is_system; /* only there */
    BOOLEAN is_never_demoted;    /* is_local: and stays there, or is not resident */
    BOOLEAN is_existing;         /* over memory of the client's */
    BOOLEAN is_visible, is_cached;
};

/* From a copy of the data: what user mode has may change meanwhile. FALSE: it makes no sense. */
static BOOLEAN read_resource(const UINT *words, UINT64 count, struct resource *out)
{
    UINT64 alignment = VALUE_AT(words, count, TOKEN_SURFACE, TOKEN_ALIGNMENTS, TOKEN_ALIGNMENT);

    out->size = VALUE_AT(words, count, TOKEN_SURFACE, TOKEN_SIZE);
    out->is_existing = is_over_memory(words, count);
    out->is_local = has_flag(words, count, TOKEN_LOCAL_ONLY) && !out->is_existing;
    out->is_never_demoted = out->is_local && has_flag(words, count, TOKEN_NEVER_DEMOTED);
    out->is_system = has_flag(words, count, TOKEN_NON_LOCAL_ONLY) || out->is_existing;
    out->is_visible = !has_flag(words, count, TOKEN_NOT_LOCKABLE);
    out->is_cached = out->is_visible && has_flag(words, count, TOKEN_CACHEABLE); /* ALLOC-009 */
    if (!alignment || (alignment & (alignment - 1)) || alignment > ALIGNMENT_MOST)
        alignment = PAGE;
    if (INTEL_LARGE_PAGES && out->is_local && out->size >= LARGE_PAGE && alignment < LARGE_PAGE)
        alignment = LARGE_PAGE;
    if (!out->is_system && alignment < PAGE_64K)
        alignment = PAGE_64K; /* ALLOC-003 */
    out->alignment = (UINT)alignment;
    return out->size && out->size <= 1ull << IBLT_VA_BITS && !(out->is_local && out->is_system);
}

/*
 * User mode holds all that it has ever used resident, so that what it wants in local memory has to
 * be able to give way to system memory: else an application that has more than there is of local
 * memory could not run. Its commands reach both alike.
 */
static NTSTATUS describe(DXGK_ALLOCATIONINFO *info, const struct resource *resource)
{
    UINT set = SEGMENT_BIT(SEGMENT_LOCAL) | SEGMENT_BIT(SEGMENT_APERTURE);
    struct allocation *allocation = (struct allocation *)intel_alloc(sizeof *allocation);

    if (!allocation)
        return STATUS_NO_MEMORY;
    if (resource->is_never_demoted)
        set = SEGMENT_BIT(SEGMENT_LOCAL);
    else if (resource->is_system)
        set = SEGMENT_BIT(SEGMENT_APERTURE);
    allocation->size = resource->size;
    info->Alignment = resource->alignment;
    info->Size = (SIZE_T)resource->size;
    info->PitchAlignedSize = 0;
    info->HintedBank.Value = 0;
    info->PreferredSegment.Value = 0;
    info->PreferredSegment.SegmentId0 = resource->is_system ? SEGMENT_APERTURE : SEGMENT_LOCAL;
    if (set & (set - 1)) /* both */
        info->PreferredSegment.SegmentId1 = SEGMENT_APERTURE;
    info->SupportedReadSegmentSet = set;
    info->SupportedWriteSegmentSet = set;
    info->EvictionSegmentSet = 0;
    info->PhysicalAdapterIndex = 0;
    info->pAllocationUsageHint = NULL;
    info->AllocationPriority = PRIORITY_NORMAL;
    info->FlagsWddm2.Value = 0;
    info->FlagsWddm2.CpuVisible = resource->is_visible;
    info->FlagsWddm2.Cached = resource->is_cached;
    info->FlagsWddm2.ExistingSysMem = resource->is_existing;
    info->hAllocation = allocation;
    return STATUS_SUCCESS;
}

static NTSTATUS create_one(DXGK_ALLOCATIONINFO *info)
{
    const UINT bytes = info->PrivateDriverDataSize;
    struct resource resource;
    BOOLEAN is_valid;
    UINT *words;

    if (!info->pPrivateDriverData || bytes < sizeof(UINT) || bytes > RESOURCE_MOST)
        return STATUS_INVALID_PARAMETER;
    words = (UINT *)intel_alloc(bytes);
    if (!words)
        return STATUS_NO_MEMORY;
    RtlCopyMemory(words, info->pPrivateDriverData, bytes);
    is_valid = read_resource(words, bytes / sizeof(UINT), &resource);
    intel_free(words);
    return is_valid ? describe(info, &resource) : STATUS_INVALID_PARAMETER;
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
            intel_free(args->pAllocationInfo[i - 1].hAllocation);
    }
    return status;
}

static NTSTATUS NTAPI DestroyAllocation(IN_CONST_HANDLE hAdapter,
                                        IN_CONST_PDXGKARG_DESTROYALLOCATION args)
{
    UINT i;

    UNREFERENCED_PARAMETER(hAdapter);
    for (i = 0; i < args->NumAllocations; i++)
        intel_free(args->pAllocationList[i]);
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
    struct process *process = (struct process *)intel_alloc(sizeof *process);

    args->hKmdProcess = process;
    if (!process)
        return STATUS_NO_MEMORY;
    process->adapter = (struct adapter *)hAdapter;
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI DestroyProcess(IN_CONST_HANDLE hAdapter, IN_CONST_HANDLE hKmdProcess)
{
    UNREFERENCED_PARAMETER(hAdapter);
    intel_free(hKmdProcess);
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI CreateDevice(IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_CREATEDEVICE args)
{
    struct device *device = (struct device *)intel_alloc(sizeof *device);

    args->hDevice = device;
    if (!device)
        return STATUS_NO_MEMORY;
    device->adapter = (struct adapter *)hAdapter;
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI DestroyDevice(IN_CONST_HANDLE hDevice)
{
    intel_free(hDevice);
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
    if (args->NodeOrdinal >= IBLT_ENGINES)
        return STATUS_INVALID_PARAMETER;
    context = (struct context *)intel_alloc(sizeof *context);
    if (!context)
        return STATUS_NO_MEMORY;
    context->adapter = device->adapter;
    context->node = args->NodeOrdinal;
    RtlZeroMemory(&args->ContextInfo, sizeof args->ContextInfo);
    args->ContextInfo.DmaBufferSize = PAGING_BUFFER_BYTES;
    args->ContextInfo.DmaBufferPrivateDataSize = PRIVATE_MOST; /* the client's */
    args->ContextInfo.AllocationListSize = LIST_ENTRIES;
    args->ContextInfo.Caps.NoPatchingRequired = 1;
    args->ContextInfo.PagingCompanionNodeId = IBLT_NODE_PAGING;
    args->hContext = context;
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI DestroyContext(IN_CONST_HANDLE hContext)
{
    intel_free(hContext);
    return STATUS_SUCCESS;
}

void intel_register_memory(DRIVER_INITIALIZATION_DATA *table)
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
