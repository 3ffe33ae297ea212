/*
 * softcopy: a display miniport for a board with memory and no engine. It copies with the CPU.
 *
 * Model      WDDM 1.3, or 2.0 without GPU virtual addresses (SOFTCOPY_WDDM2), two nodes. Local
 *            memory is what BAR 1 shows, segment 1; segment 2 is an aperture that exists in
 *            software alone, as a table of slots. BuildPagingBuffer writes what is to be done as
 *            records of its own into the paging buffer; DxgkDdiSubmitCommand queues the buffer and
 *            a DPC; the DPC carries out one buffer a node and reports its fence.
 *
 *            Local memory and system pages are reached through views of all of it that StartDevice
 *            makes with DxgkCbMapMemory, so that the driver needs nothing but the graphics kernel.
 *            More than 64 GiB of either is refused. Page lists are the kernel's only while it
 *            calls: their page numbers go into the records.
 * Data       An allocation's private data is what a run without GPU model gives by default:
 *            size:u64,flags:u32,index:u32. Commands are none, and what comes is not looked at.
 * Language   C11 and C++17 alike: `drydock new` makes a driver of its own out of it.
 * Mistakes   SOFTCOPY_MISTAKE 1: a transfer from local memory leaves out its last page.
 *            SOFTCOPY_MISTAKE 2: a fence is reported before the buffer has been carried out.
 *            SOFTCOPY_MISTAKE 3, 4, 5: the table that is registered has a pointer to no code, a
 *            reserved member, a version that is none.
 * Source     contract.md; rules are named where they are kept.
 */
#include <ntddk.h>
#include <ntstatus.h>

#include <d3dkmddi.h>
#include <dispmprt.h>

#ifndef SOFTCOPY_MISTAKE
#define SOFTCOPY_MISTAKE 0
#endif

#define POOL_TAG             0x7466735au
#define PAGE                 4096u
#define PAGE_BITS            12
#define VIEW_BITS            30 /* memory is mapped in views of 1 GiB */
#define MOST_VIEWS           64u
#define SEGMENT_LOCAL        1u
#define SEGMENT_APERTURE     2u
#define APERTURE_BASE        (1ull << 40)
#define APERTURE_PAGES       16384u
#define NODE_COPY            1u
#define NODES                2u
#define QUEUE_SLOTS          64u
#define PAGING_BUFFER_BYTES  (64u * 1024u)
#define DMA_BUFFER_BYTES     (64u * 1024u)
#define LIST_ENTRIES         1024u
#define PRIORITY_NORMAL      0x78000000u
#define FLAG_CPU_VISIBLE     (1u << 0)
#define FLAG_CACHED          (1u << 1)
#define FLAG_APERTURE_ONLY   (1u << 3)
#define FLAG_PREFER_APERTURE (1u << 4)
#define FLAG_NO_APERTURE     (1u << 5)

/* ---- What there is --------------------------------------------------------------------------- */

enum command_kind { COMMAND_COPY, COMMAND_FILL, COMMAND_MAP, COMMAND_UNMAP, COMMAND_RENDER };

/* One record of a buffer. Lists: page numbers of the source, then of the destination. */
struct command {
    UINT kind;
    UINT bytes;                 /* of the record */
    UINT64 source, destination; /* of COPY and FILL, where the side has no list; MAP, UNMAP: slot */
    UINT64 size;                /* bytes */
    UINT pattern;
    UINT page_count; /* of each list; MAP, UNMAP: slots */
    BOOLEAN has_source_list, has_destination_list;
    UCHAR reserved[6];
    UINT64 pages[1];
};

#define COMMAND_BYTES ((UINT)FIELD_OFFSET(struct command, pages))

struct submission {
    UINT fence;
    UINT64 address; /* in system memory */
    UINT bytes;     /* 0: nothing is to be done */
};

struct node {
    struct submission queue[QUEUE_SLOTS];
    UINT oldest, newest; /* counters */
    UINT completed_fence;
    UINT preemption_fence;
    BOOLEAN is_preempted; /* still to be reported */
};

/* Memory from one physical address on, as the driver sees it. */
struct views {
    UCHAR *list[MOST_VIEWS];
    UINT count;
};

struct softcopy {
    DXGKRNL_INTERFACE dxgkrnl;
    PHYSICAL_ADDRESS window_pa;
    UINT64 local_bytes;
    struct views local, system;
    UINT64 *slots;   /* page number plus one; 0: none */
    KSPIN_LOCK lock; /* of the nodes */
    struct node nodes[NODES];
};

struct private_data {
    UINT64 size;
    UINT flags;
    UINT index;
};

struct device {
    struct softcopy *adapter;
};

struct context {
    struct softcopy *adapter;
    UINT node;
};

struct allocation {
    UINT64 size;
};

/* What a device has of an allocation. */
struct opening {
    struct allocation *allocation;
};

/* Of WDDM 2.0, without GPU virtual addresses: all engines are in physical mode. */
#ifdef SOFTCOPY_WDDM2
#define WDDM_INTERFACE DXGKDDI_INTERFACE_VERSION_WDDM2_0
#define WDDM_CAPS      DXGKDDI_WDDMv2
#else
#define WDDM_INTERFACE DXGKDDI_INTERFACE_VERSION_WDDM1_3
#define WDDM_CAPS      DXGKDDI_WDDMv1_3
#endif

EXTERN_C DRIVER_INITIALIZE DriverEntry;

static void *take(SIZE_T bytes)
{
    return ExAllocatePool2(POOL_FLAG_NON_PAGED, bytes, POOL_TAG);
}

static void give_back(void *memory)
{
    if (memory)
        ExFreePoolWithTag(memory, POOL_TAG);
}

/* ---- The engine ------------------------------------------------------------------------------ */

static UCHAR *look(const struct views *views, UINT64 offset)
{
    UINT64 view = offset >> VIEW_BITS;

    return view < views->count ? views->list[view] + (offset & ((1ull << VIEW_BITS) - 1)) : NULL;
}

static UCHAR *system_page(const struct softcopy *adapter, UINT64 pfn)
{
    return look(&adapter->system, pfn << PAGE_BITS);
}

/* Where byte `offset` of a side is; what follows in its page follows there. NULL: nowhere. */
static UCHAR *locate(const struct softcopy *adapter, UINT64 address, const UINT64 *list,
                     UINT64 offset)
{
    UCHAR *page;

    if (list)
        page = system_page(adapter, list[offset >> PAGE_BITS]);
    else if (address + offset < adapter->local_bytes)
        return look(&adapter->local, address + offset);
    else if (address + offset >= APERTURE_BASE &&
             ((address + offset - APERTURE_BASE) >> PAGE_BITS) < APERTURE_PAGES &&
             adapter->slots[(address + offset - APERTURE_BASE) >> PAGE_BITS])
        page = system_page(adapter,
                           adapter->slots[(address + offset - APERTURE_BASE) >> PAGE_BITS] - 1);
    else
        return NULL;
    return page ? page + ((list ? offset : address + offset) & (PAGE - 1)) : NULL;
}

/* Sides agree in where pages begin: offsets are whole pages, and so are addresses (XFER-006). */
static void run_copy(const struct softcopy *adapter, const struct command *command)
{
    const UINT64 *from = command->has_source_list ? command->pages : NULL;
    const UINT64 *to =
        command->has_destination_list ? command->pages + (from ? command->page_count : 0) : NULL;
    UINT64 size = command->size, offset, piece;

#if SOFTCOPY_MISTAKE == 1
    if (!from && size > PAGE)
        size -= PAGE;
#endif
    for (offset = 0; offset < size; offset += piece) {
        UCHAR *source = locate(adapter, command->source, from, offset);
        UCHAR *destination = locate(adapter, command->destination, to, offset);

        piece = size - offset < PAGE ? size - offset : PAGE;
        if (source && destination)
            RtlCopyMemory(destination, source, (SIZE_T)piece);
    }
}

static void run_fill(const struct softcopy *adapter, const struct command *command)
{
    UINT64 offset;

    for (offset = 0; offset + sizeof command->pattern <= command->size;
         offset += sizeof command->pattern) {
        UCHAR *at = locate(adapter, command->destination, NULL, offset);

        if (at)
            RtlCopyMemory(at, &command->pattern, sizeof command->pattern);
    }
}

static void run_command(struct softcopy *adapter, const struct command *command)
{
    UINT i;

    switch (command->kind) {
    case COMMAND_COPY:
        run_copy(adapter, command);
        break;
    case COMMAND_FILL:
        run_fill(adapter, command);
        break;
    case COMMAND_MAP:
    case COMMAND_UNMAP:
        for (i = 0; i < command->page_count && command->destination + i < APERTURE_PAGES; i++)
            adapter->slots[command->destination + i] =
                command->kind == COMMAND_MAP ? command->pages[i] + 1 : 0;
        break;
    default:
        break; /* of a client: this board draws nothing */
    }
}

/* The records of a submission, wherever its buffer's pages are: it is contiguous (PB-018). */
static void run_submission(struct softcopy *adapter, const struct submission *submission)
{
    UINT done = 0;

    while (done + COMMAND_BYTES <= submission->bytes) {
        UINT64 address = submission->address + done;
        UCHAR *at = system_page(adapter, address >> PAGE_BITS);
        const struct command *command;

        if (!at)
            return;
        command = (const struct command *)(at + (address & (PAGE - 1)));
        if (command->bytes < COMMAND_BYTES || command->bytes > submission->bytes - done)
            return;
        run_command(adapter, command);
        done += command->bytes;
    }
}

struct node_call {
    struct softcopy *adapter;
    UINT node;
};

static void report(struct softcopy *adapter, UINT ordinal)
{
    struct node *node = &adapter->nodes[ordinal];
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data;

    if (!node->is_preempted)
        return;
    node->is_preempted = FALSE;
    RtlZeroMemory(&data, sizeof data);
    data.InterruptType = DXGK_INTERRUPT_DMA_PREEMPTED;
    data.DmaPreempted.PreemptionFenceId = node->preemption_fence;
    data.DmaPreempted.LastCompletedFenceId = node->completed_fence;
    data.DmaPreempted.NodeOrdinal = ordinal;
    adapter->dxgkrnl.DxgkCbNotifyInterrupt(adapter->dxgkrnl.DeviceHandle, &data);
}

/* At the level of the device's interrupt, where completions are told of (FENCE-005). */
static BOOLEAN NTAPI complete_oldest(PVOID context)
{
    const struct node_call *call = (const struct node_call *)context;
    struct node *node = &call->adapter->nodes[call->node];
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data;

    node->completed_fence = node->queue[node->oldest++ % QUEUE_SLOTS].fence;
    RtlZeroMemory(&data, sizeof data);
    data.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED;
    data.DmaCompleted.SubmissionFenceId = node->completed_fence;
    data.DmaCompleted.NodeOrdinal = call->node;
    call->adapter->dxgkrnl.DxgkCbNotifyInterrupt(call->adapter->dxgkrnl.DeviceHandle, &data);
    report(call->adapter, call->node);
    return TRUE;
}

static BOOLEAN NTAPI report_preemption(PVOID context)
{
    const struct node_call *call = (const struct node_call *)context;

    report(call->adapter, call->node);
    return TRUE;
}

static void synchronize(struct softcopy *adapter, PKSYNCHRONIZE_ROUTINE routine, UINT node)
{
    struct node_call call = {adapter, node};
    BOOLEAN result;

    adapter->dxgkrnl.DxgkCbSynchronizeExecution(adapter->dxgkrnl.DeviceHandle, routine, &call, 0,
                                                &result);
}

/* One submission a node and DPC: so others get their turn, and a preemption finds some to drop. */
static VOID NTAPI DpcRoutine(IN_CONST_PVOID MiniportDeviceContext)
{
    struct softcopy *adapter = (struct softcopy *)MiniportDeviceContext;
    BOOLEAN is_more = FALSE;
    UINT i;

    for (i = 0; i < NODES; i++) {
        struct node *node = &adapter->nodes[i];
        struct submission submission;
        BOOLEAN has_work;

        KeAcquireSpinLockAtDpcLevel(&adapter->lock);
        has_work = node->oldest != node->newest;
        submission = node->queue[node->oldest % QUEUE_SLOTS];
        KeReleaseSpinLockFromDpcLevel(&adapter->lock);
        if (!has_work)
            continue;
#if SOFTCOPY_MISTAKE == 2
        synchronize(adapter, complete_oldest, i);
        run_submission(adapter, &submission);
#else
        run_submission(adapter, &submission);
        synchronize(adapter, complete_oldest, i);
#endif
        is_more |= node->oldest != node->newest;
    }
    adapter->dxgkrnl.DxgkCbNotifyDpc(adapter->dxgkrnl.DeviceHandle);
    if (is_more)
        adapter->dxgkrnl.DxgkCbQueueDpc(adapter->dxgkrnl.DeviceHandle);
}

static BOOLEAN NTAPI InterruptRoutine(IN_CONST_PVOID MiniportDeviceContext, IN_ULONG MessageNumber)
{
    UNREFERENCED_PARAMETER(MiniportDeviceContext);
    UNREFERENCED_PARAMETER(MessageNumber);
    return FALSE; /* the board has no interrupt */
}

/* Keeps SUB-001 to SUB-006: at DISPATCH_LEVEL, and it may not fail. */
static NTSTATUS NTAPI SubmitCommand(IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_SUBMITCOMMAND args)
{
    struct softcopy *adapter = (struct softcopy *)hAdapter;
    const struct context *context = (const struct context *)args->hContext;
    struct node *node = &adapter->nodes[context ? context->node : args->NodeOrdinal];
    struct submission *submission;

    KeAcquireSpinLockAtDpcLevel(&adapter->lock);
    submission = &node->queue[node->newest++ % QUEUE_SLOTS];
    submission->fence = args->SubmissionFenceId;
    submission->address =
        (UINT64)args->DmaBufferPhysicalAddress.QuadPart + args->DmaBufferSubmissionStartOffset;
    submission->bytes = args->Flags.NullRendering ? 0
                                                  : args->DmaBufferSubmissionEndOffset -
                                                        args->DmaBufferSubmissionStartOffset;
    KeReleaseSpinLockFromDpcLevel(&adapter->lock);
    adapter->dxgkrnl.DxgkCbQueueDpc(adapter->dxgkrnl.DeviceHandle);
    return STATUS_SUCCESS;
}

/* What no DPC has begun is dropped, and the kernel's to submit again (FENCE-007, FENCE-008). */
static NTSTATUS NTAPI PreemptCommand(IN_CONST_HANDLE hAdapter,
                                     IN_CONST_PDXGKARG_PREEMPTCOMMAND args)
{
    struct softcopy *adapter = (struct softcopy *)hAdapter;
    struct node *node = &adapter->nodes[args->NodeOrdinal];

    KeAcquireSpinLockAtDpcLevel(&adapter->lock);
    node->newest = node->oldest;
    node->preemption_fence = args->PreemptionFenceId;
    node->is_preempted = TRUE;
    KeReleaseSpinLockFromDpcLevel(&adapter->lock);
    synchronize(adapter, report_preemption, args->NodeOrdinal);
    adapter->dxgkrnl.DxgkCbQueueDpc(adapter->dxgkrnl.DeviceHandle);
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI QueryCurrentFence(IN_CONST_HANDLE hAdapter,
                                        INOUT_PDXGKARG_QUERYCURRENTFENCE args)
{
    const struct softcopy *adapter = (const struct softcopy *)hAdapter;

    args->CurrentFence = adapter->nodes[args->NodeOrdinal].completed_fence;
    return STATUS_SUCCESS;
}

/* The last fence submitted counts as completed (TDR-006), and nothing is touched any more. */
static NTSTATUS NTAPI ResetFromTimeout(IN_CONST_HANDLE hAdapter)
{
    struct softcopy *adapter = (struct softcopy *)hAdapter;
    UINT i;

    for (i = 0; i < NODES; i++) {
        struct node *node = &adapter->nodes[i];

        if (node->oldest != node->newest)
            node->completed_fence = node->queue[(node->newest - 1) % QUEUE_SLOTS].fence;
        node->oldest = node->newest;
        node->is_preempted = FALSE;
    }
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI RestartFromTimeout(IN_CONST_HANDLE hAdapter)
{
    UNREFERENCED_PARAMETER(hAdapter);
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI CollectDbgInfo(IN_CONST_HANDLE hAdapter,
                                     IN_CONST_PDXGKARG_COLLECTDBGINFO args)
{
    UNREFERENCED_PARAMETER(hAdapter);
    UNREFERENCED_PARAMETER(args);
    return STATUS_SUCCESS;
}

/* ---- Building -------------------------------------------------------------------------------- */

/* A record with so many page numbers; NULL: it does not fit. */
static struct command *begin_command(DXGKARG_BUILDPAGINGBUFFER *args, enum command_kind kind,
                                     UINT64 list_length)
{
    UINT64 bytes = COMMAND_BYTES + list_length * sizeof(UINT64);
    struct command *command = (struct command *)args->pDmaBuffer;

    if (!command || bytes > args->DmaSize)
        return NULL;
    RtlZeroMemory(command, COMMAND_BYTES);
    command->kind = kind;
    command->bytes = (UINT)bytes;
    return command;
}

/* Page numbers that fit into a record; each page needs so many. */
static UINT64 pages_that_fit(const DXGKARG_BUILDPAGINGBUFFER *args, UINT room, UINT lists)
{
    return args->pDmaBuffer && room > COMMAND_BYTES
               ? (room - COMMAND_BYTES) / (lists * sizeof(UINT64))
               : 0;
}

static UINT64 smaller_of(UINT64 a, UINT64 b)
{
    return a < b ? a : b;
}

/*
 * Behind the record: pDmaBuffer moves, DmaSize stays (PB-004, PB-007), so that what is left of it
 * is counted by who calls.
 */
static void end_command(DXGKARG_BUILDPAGINGBUFFER *args, const struct command *command, UINT *room)
{
    args->pDmaBuffer = (UCHAR *)args->pDmaBuffer + command->bytes;
    *room -= command->bytes;
}

static struct command *begin_in(DXGKARG_BUILDPAGINGBUFFER *args, UINT room, enum command_kind kind,
                                UINT64 list_length)
{
    UINT whole = args->DmaSize;
    struct command *command;

    args->DmaSize = room;
    command = begin_command(args, kind, list_length);
    args->DmaSize = whole;
    return command;
}

/* MultipassOffset counts pages. Keeps XFER-003 to XFER-005. */
static NTSTATUS build_transfer(DXGKARG_BUILDPAGINGBUFFER *args)
{
    const PFN_NUMBER *from = NULL, *to = NULL;
    UINT64 source = 0, destination = 0;
    UINT64 total = args->Transfer.TransferSize;
    UINT64 pages = (total + PAGE - 1) >> PAGE_BITS;
    UINT room = args->DmaSize;
    UINT lists, i;

    if (args->Transfer.Source.SegmentId)
        source =
            (UINT64)args->Transfer.Source.SegmentAddress.QuadPart + args->Transfer.TransferOffset;
    else
        from = MmGetMdlPfnArray(args->Transfer.Source.pMdl) + args->Transfer.MdlOffset;
    if (args->Transfer.Destination.SegmentId)
        destination = (UINT64)args->Transfer.Destination.SegmentAddress.QuadPart +
                      args->Transfer.TransferOffset;
    else
        to = MmGetMdlPfnArray(args->Transfer.Destination.pMdl) + args->Transfer.MdlOffset;
    lists = (from != NULL) + (to != NULL);

    while (args->MultipassOffset < pages) {
        UINT64 first = args->MultipassOffset;
        UINT64 count =
            lists ? smaller_of(pages - first, pages_that_fit(args, room, lists)) : pages - first;
        struct command *command = count ? begin_in(args, room, COMMAND_COPY, count * lists) : NULL;
        UINT64 *list;

        if (!command)
            return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
        command->source = source + (first << PAGE_BITS);
        command->destination = destination + (first << PAGE_BITS);
        command->size = smaller_of(count << PAGE_BITS, total - (first << PAGE_BITS));
        command->page_count = lists ? (UINT)count : 0;
        command->has_source_list = from != NULL;
        command->has_destination_list = to != NULL;
        list = command->pages;
        for (i = 0; from && i < count; i++)
            *list++ = from[first + i];
        for (i = 0; to && i < count; i++)
            *list++ = to[first + i];
        end_command(args, command, &room);
        args->MultipassOffset += (UINT)count;
    }
    return STATUS_SUCCESS;
}

static NTSTATUS build_fill(DXGKARG_BUILDPAGINGBUFFER *args)
{
    UINT room = args->DmaSize;
    struct command *command = begin_command(args, COMMAND_FILL, 0);

    if (!args->Fill.FillSize)
        return STATUS_SUCCESS;
    if (!command)
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    command->destination = (UINT64)args->Fill.Destination.SegmentAddress.QuadPart;
    command->size = args->Fill.FillSize;
    command->pattern = args->Fill.FillPattern;
    end_command(args, command, &room);
    return STATUS_SUCCESS;
}

static NTSTATUS build_map(DXGKARG_BUILDPAGINGBUFFER *args)
{
    const PFN_NUMBER *pfns =
        MmGetMdlPfnArray(args->MapApertureSegment.pMdl) + args->MapApertureSegment.MdlOffset;
    UINT room = args->DmaSize;
    UINT i;

    while (args->MultipassOffset < args->MapApertureSegment.NumberOfPages) {
        UINT64 first = args->MultipassOffset;
        UINT64 count = smaller_of(args->MapApertureSegment.NumberOfPages - first,
                                  pages_that_fit(args, room, 1));
        struct command *command = count ? begin_in(args, room, COMMAND_MAP, count) : NULL;

        if (!command)
            return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
        command->destination = args->MapApertureSegment.OffsetInPages + first;
        command->page_count = (UINT)count;
        for (i = 0; i < count; i++)
            command->pages[i] = pfns[first + i];
        end_command(args, command, &room);
        args->MultipassOffset += (UINT)count;
    }
    return STATUS_SUCCESS;
}

static NTSTATUS build_unmap(DXGKARG_BUILDPAGINGBUFFER *args)
{
    UINT room = args->DmaSize;
    struct command *command = begin_command(args, COMMAND_UNMAP, 0);

    if (!command)
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    command->destination = args->UnmapApertureSegment.OffsetInPages;
    command->page_count = (UINT)args->UnmapApertureSegment.NumberOfPages;
    end_command(args, command, &room);
    return STATUS_SUCCESS;
}

/* What is not known, and what this board has nothing for, is done when it is built (PB-028). */
static NTSTATUS NTAPI BuildPagingBuffer(IN_CONST_HANDLE hAdapter,
                                        IN_PDXGKARG_BUILDPAGINGBUFFER args)
{
    UNREFERENCED_PARAMETER(hAdapter);
    switch ((UINT)args->Operation) {
    case DXGK_OPERATION_TRANSFER:
        return build_transfer(args);
    case DXGK_OPERATION_FILL:
        return build_fill(args);
    case DXGK_OPERATION_MAP_APERTURE_SEGMENT:
        return build_map(args);
    case DXGK_OPERATION_UNMAP_APERTURE_SEGMENT:
        return build_unmap(args);
    default:
        return STATUS_SUCCESS;
    }
}

/*
 * A record with an address for every allocation of the list: that is how the kernel knows what must
 * be resident while it runs. The command itself is the client's, and means nothing here.
 */
static NTSTATUS NTAPI Render(IN_CONST_HANDLE hContext, INOUT_PDXGKARG_RENDER args)
{
    UINT64 bytes = COMMAND_BYTES + (UINT64)args->AllocationListSize * sizeof(UINT64);
    struct command *command = (struct command *)args->pDmaBuffer;
    UINT used = 0;
    UINT i;

    UNREFERENCED_PARAMETER(hContext);
    if (bytes > args->DmaSize || args->AllocationListSize > args->PatchLocationListOutSize)
        return STATUS_INVALID_USER_BUFFER;
    RtlZeroMemory(command, COMMAND_BYTES);
    command->kind = COMMAND_RENDER;
    for (i = 0; i < args->AllocationListSize; i++) {
        D3DDDI_PATCHLOCATIONLIST *location = args->pPatchLocationListOut;

        if (!args->pAllocationList[i].hDeviceSpecificAllocation)
            continue;
        command->pages[used] = (UINT64)args->pAllocationList[i].PhysicalAddress.QuadPart;
        RtlZeroMemory(location, sizeof *location);
        location->AllocationIndex = i;
        location->PatchOffset = COMMAND_BYTES + used * (UINT)sizeof(UINT64);
        args->pPatchLocationListOut++;
        used++;
    }
    command->bytes = COMMAND_BYTES + used * (UINT)sizeof(UINT64);
    args->pDmaBuffer = (UCHAR *)args->pDmaBuffer + command->bytes;
    args->MultipassOffset = args->CommandLength;
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI Patch(IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_PATCH args)
{
    UINT first = args->PatchLocationListSubmissionStart;
    UINT i;

    UNREFERENCED_PARAMETER(hAdapter);
    for (i = 0; !args->Flags.Paging && i < args->PatchLocationListSubmissionLength; i++) {
        const D3DDDI_PATCHLOCATIONLIST *location = &args->pPatchLocationList[first + i];
        UINT64 address =
            (UINT64)args->pAllocationList[location->AllocationIndex].PhysicalAddress.QuadPart;

        RtlCopyMemory((UCHAR *)args->pDmaBuffer + location->PatchOffset, &address, sizeof address);
    }
    return STATUS_SUCCESS;
}

/* ---- Objects --------------------------------------------------------------------------------- */

static NTSTATUS create_one(DXGK_ALLOCATIONINFO *info)
{
    const UINT both = 1u << (SEGMENT_LOCAL - 1) | 1u << (SEGMENT_APERTURE - 1);
    struct private_data data;
    struct allocation *allocation;
    UINT set = both;

    if (!info->pPrivateDriverData || info->PrivateDriverDataSize < sizeof data)
        return STATUS_INVALID_PARAMETER;
    RtlCopyMemory(&data, info->pPrivateDriverData, sizeof data);
    if (!data.size)
        return STATUS_INVALID_PARAMETER;
    allocation = (struct allocation *)take(sizeof *allocation);
    if (!allocation)
        return STATUS_NO_MEMORY;
    allocation->size = data.size;
    if (data.flags & FLAG_APERTURE_ONLY)
        set = 1u << (SEGMENT_APERTURE - 1);
    else if (data.flags & FLAG_NO_APERTURE)
        set = 1u << (SEGMENT_LOCAL - 1);
    info->Alignment = PAGE;
    info->Size = (SIZE_T)data.size;
    info->PitchAlignedSize = 0;
    info->HintedBank.Value = 0;
    info->PreferredSegment.Value = 0;
    info->PreferredSegment.SegmentId0 = set == both && !(data.flags & FLAG_PREFER_APERTURE)
                                            ? SEGMENT_LOCAL
                                        : set & 1u << (SEGMENT_APERTURE - 1) ? SEGMENT_APERTURE
                                                                             : SEGMENT_LOCAL;
    if (set == both)
        info->PreferredSegment.SegmentId1 =
            SEGMENT_LOCAL + SEGMENT_APERTURE - info->PreferredSegment.SegmentId0;
    info->SupportedReadSegmentSet = set;
    info->SupportedWriteSegmentSet = set;
    info->EvictionSegmentSet = 0; /* page lists serve */
    info->MaximumRenamingListLength = 0;
    info->pAllocationUsageHint = NULL;
    info->AllocationPriority = PRIORITY_NORMAL;
    info->Flags.Value = 0;
    info->Flags.CpuVisible = (data.flags & FLAG_CPU_VISIBLE) != 0;
    info->Flags.Cached = (data.flags & FLAG_CACHED) != 0;
    info->hAllocation = allocation;
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI CreateAllocation(IN_CONST_HANDLE hAdapter,
                                       INOUT_PDXGKARG_CREATEALLOCATION args)
{
    NTSTATUS status = STATUS_SUCCESS;
    UINT i;

    UNREFERENCED_PARAMETER(hAdapter);
    for (i = 0; i < args->NumAllocations; i++) {
        status = create_one(&args->pAllocationInfo[i]);
        if (!NT_SUCCESS(status))
            break;
    }
    while (!NT_SUCCESS(status) && i > 0)
        give_back(args->pAllocationInfo[--i].hAllocation);
    return status;
}

static NTSTATUS NTAPI DestroyAllocation(IN_CONST_HANDLE hAdapter,
                                        IN_CONST_PDXGKARG_DESTROYALLOCATION args)
{
    UINT i;

    UNREFERENCED_PARAMETER(hAdapter);
    for (i = 0; i < args->NumAllocations; i++)
        give_back(args->pAllocationList[i]);
    return STATUS_SUCCESS;
}

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

static NTSTATUS open_one(const struct softcopy *adapter, DXGK_OPENALLOCATIONINFO *info)
{
    DXGKARGCB_GETHANDLEDATA query = {info->hAllocation, DXGK_HANDLE_ALLOCATION, {{{0}}}};
    struct allocation *allocation =
        (struct allocation *)adapter->dxgkrnl.DxgkCbGetHandleData(&query);
    struct opening *opening = allocation ? (struct opening *)take(sizeof *opening) : NULL;

    if (!opening)
        return allocation ? STATUS_NO_MEMORY : STATUS_INVALID_HANDLE;
    opening->allocation = allocation;
    info->hDeviceSpecificAllocation = opening;
    return STATUS_SUCCESS;
}

/* All of them or none. */
static NTSTATUS NTAPI OpenAllocation(IN_CONST_HANDLE hDevice, IN_CONST_PDXGKARG_OPENALLOCATION args)
{
    const struct device *device = (const struct device *)hDevice;
    NTSTATUS status = STATUS_SUCCESS;
    UINT opened;

    for (opened = 0; opened < args->NumAllocations; opened++) {
        status = open_one(device->adapter, &args->pOpenAllocation[opened]);
        if (!NT_SUCCESS(status))
            break;
    }
    while (!NT_SUCCESS(status) && opened > 0)
        give_back(args->pOpenAllocation[--opened].hDeviceSpecificAllocation);
    return status;
}

static NTSTATUS NTAPI CloseAllocation(IN_CONST_HANDLE hDevice,
                                      IN_CONST_PDXGKARG_CLOSEALLOCATION args)
{
    UINT i;

    UNREFERENCED_PARAMETER(hDevice);
    for (i = 0; i < args->NumAllocations; i++)
        give_back(args->pOpenHandleList[i]);
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI CreateDevice(IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_CREATEDEVICE args)
{
    struct device *device = (struct device *)take(sizeof *device);

    args->hDevice = device;
    if (!device)
        return STATUS_NO_MEMORY;
    device->adapter = (struct softcopy *)hAdapter;
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI DestroyDevice(IN_CONST_HANDLE hDevice)
{
    give_back(hDevice);
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI CreateContext(IN_CONST_HANDLE hDevice, INOUT_PDXGKARG_CREATECONTEXT args)
{
    const struct device *device = (const struct device *)hDevice;
    struct context *context =
        args->NodeOrdinal < NODES ? (struct context *)take(sizeof *context) : NULL;

    args->hContext = context;
    if (!context)
        return args->NodeOrdinal < NODES ? STATUS_NO_MEMORY : STATUS_INVALID_PARAMETER;
    context->adapter = device->adapter;
    context->node = args->NodeOrdinal;
    args->ContextInfo.DmaBufferSize = DMA_BUFFER_BYTES;
    args->ContextInfo.DmaBufferSegmentSet = 0;
    args->ContextInfo.DmaBufferPrivateDataSize = 0;
    args->ContextInfo.AllocationListSize = LIST_ENTRIES;
    args->ContextInfo.PatchLocationListSize = LIST_ENTRIES;
    args->ContextInfo.Reserved = 0;
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI DestroyContext(IN_CONST_HANDLE hContext)
{
    give_back(hContext);
    return STATUS_SUCCESS;
}

/* ---- What the adapter says ------------------------------------------------------------------- */

static NTSTATUS query_caps(const DXGKARG_QUERYADAPTERINFO *query)
{
    DXGK_DRIVERCAPS caps;

    RtlZeroMemory(&caps, sizeof caps);
    caps.HighestAcceptableAddress.QuadPart = ((LONGLONG)MOST_VIEWS << VIEW_BITS) - 1;
    caps.MaxAllocationListSlotId = 1;
    caps.ApertureSegmentCommitLimit = (SIZE_T)APERTURE_PAGES * PAGE;
    caps.SchedulingCaps.MultiEngineAware = 1;
    caps.SchedulingCaps.PreemptionAware = 1;
    caps.MemoryManagementCaps.PagingNode = NODE_COPY;
    caps.GpuEngineTopology.NbAsymetricProcessingNodes = NODES;
    caps.WDDMVersion = WDDM_CAPS;
    caps.PreemptionCaps.GraphicsPreemptionGranularity =
        D3DKMDT_GRAPHICS_PREEMPTION_DMA_BUFFER_BOUNDARY;
    caps.PreemptionCaps.ComputePreemptionGranularity =
        D3DKMDT_COMPUTE_PREEMPTION_DMA_BUFFER_BOUNDARY;
    caps.SupportNonVGA = TRUE;
    RtlZeroMemory(query->pOutputData, query->OutputDataSize);
    RtlCopyMemory(query->pOutputData, &caps,
                  (SIZE_T)smaller_of(query->OutputDataSize, sizeof caps));
    return STATUS_SUCCESS;
}

static NTSTATUS query_segments(const struct softcopy *adapter,
                               const DXGKARG_QUERYADAPTERINFO *query)
{
    DXGK_QUERYSEGMENTOUT3 *out = (DXGK_QUERYSEGMENTOUT3 *)query->pOutputData;
    DXGK_SEGMENTDESCRIPTOR3 *descriptor = out->pSegmentDescriptor;

    out->NbSegment = 2;
    if (!descriptor)
        return STATUS_SUCCESS;
    RtlZeroMemory(descriptor, 2 * sizeof *descriptor);
    descriptor[0].Flags.CpuVisible = 1;
    descriptor[0].CpuTranslatedAddress = adapter->window_pa;
    descriptor[0].Size = (SIZE_T)adapter->local_bytes;
    descriptor[0].CommitLimit = descriptor[0].Size;
    descriptor[1].Flags.Aperture = 1;
    descriptor[1].BaseAddress.QuadPart = (LONGLONG)APERTURE_BASE;
    descriptor[1].Size = (SIZE_T)APERTURE_PAGES * PAGE;
    descriptor[1].CommitLimit = descriptor[1].Size;
    out->PagingBufferSegmentId = 0;
    out->PagingBufferSize = PAGING_BUFFER_BYTES;
    out->PagingBufferPrivateDataSize = 0;
    return STATUS_SUCCESS;
}

#ifdef SOFTCOPY_WDDM2
static NTSTATUS query_segments4(const struct softcopy *adapter,
                                const DXGKARG_QUERYADAPTERINFO *query)
{
    DXGK_QUERYSEGMENTOUT4 *out = (DXGK_QUERYSEGMENTOUT4 *)query->pOutputData;
    DXGK_SEGMENTDESCRIPTOR4 *local = (DXGK_SEGMENTDESCRIPTOR4 *)out->pSegmentDescriptor, *aperture;

    out->NbSegment = 2;
    if (!local)
        return STATUS_SUCCESS;
    aperture = (DXGK_SEGMENTDESCRIPTOR4 *)(out->pSegmentDescriptor + out->SegmentDescriptorStride);
    RtlZeroMemory(local, sizeof *local);
    RtlZeroMemory(aperture, sizeof *aperture);
    local->Flags.CpuVisible = 1;
    local->CpuTranslatedAddress = adapter->window_pa;
    local->Size = local->CommitLimit = (SIZE_T)adapter->local_bytes;
    aperture->Flags.Aperture = 1;
    aperture->BaseAddress.QuadPart = (LONGLONG)APERTURE_BASE;
    aperture->Size = aperture->CommitLimit = (SIZE_T)APERTURE_PAGES * PAGE;
    out->PagingBufferSegmentId = 0;
    out->PagingBufferSize = PAGING_BUFFER_BYTES;
    out->PagingBufferPrivateDataSize = 0;
    return STATUS_SUCCESS;
}

static NTSTATUS query_physical_adapter(const DXGKARG_QUERYADAPTERINFO *query)
{
    DXGK_PHYSICALADAPTERCAPS caps;

    RtlZeroMemory(&caps, sizeof caps);
    caps.NumExecutionNodes = NODES;
    caps.PagingNodeIndex = NODE_COPY;
    RtlCopyMemory(query->pOutputData, &caps,
                  (SIZE_T)smaller_of(query->OutputDataSize, sizeof caps));
    return STATUS_SUCCESS;
}
#endif

static NTSTATUS NTAPI QueryAdapterInfo(IN_CONST_HANDLE hAdapter,
                                       IN_CONST_PDXGKARG_QUERYADAPTERINFO query)
{
    if (query->Type == DXGKQAITYPE_DRIVERCAPS)
        return query->pOutputData &&
                       query->OutputDataSize >=
                           RTL_SIZEOF_THROUGH_FIELD(DXGK_DRIVERCAPS, GpuEngineTopology)
                   ? query_caps(query)
                   : STATUS_BUFFER_TOO_SMALL;
#ifdef SOFTCOPY_WDDM2
    if (query->Type == DXGKQAITYPE_QUERYSEGMENT4)
        return query->pOutputData && query->OutputDataSize >= sizeof(DXGK_QUERYSEGMENTOUT4)
                   ? query_segments4((const struct softcopy *)hAdapter, query)
                   : STATUS_BUFFER_TOO_SMALL;
    if (query->Type == DXGKQAITYPE_PHYSICALADAPTERCAPS)
        return query->pOutputData ? query_physical_adapter(query) : STATUS_INVALID_PARAMETER;
#endif
    if (query->Type == DXGKQAITYPE_QUERYSEGMENT3)
        return query->pOutputData && query->OutputDataSize >= sizeof(DXGK_QUERYSEGMENTOUT3)
                   ? query_segments((const struct softcopy *)hAdapter, query)
                   : STATUS_BUFFER_TOO_SMALL;
    return STATUS_NOT_SUPPORTED;
}

static NTSTATUS NTAPI GetNodeMetadata(IN_CONST_HANDLE hAdapter, UINT NodeOrdinalAndAdapterIndex,
                                      OUT_PDXGKARG_GETNODEMETADATA metadata)
{
    UNREFERENCED_PARAMETER(hAdapter);
    if (NodeOrdinalAndAdapterIndex >= NODES)
        return STATUS_INVALID_PARAMETER;
    RtlZeroMemory(metadata, sizeof *metadata);
    metadata->EngineType =
        NodeOrdinalAndAdapterIndex == NODE_COPY ? DXGK_ENGINE_TYPE_COPY : DXGK_ENGINE_TYPE_3D;
    return STATUS_SUCCESS;
}

/* ---- The adapter's life ---------------------------------------------------------------------- */

static NTSTATUS NTAPI AddDevice(IN_CONST_PDEVICE_OBJECT PhysicalDeviceObject,
                                OUT_PPVOID MiniportDeviceContext)
{
    *MiniportDeviceContext = NULL;
    if (!PhysicalDeviceObject)
        return STATUS_INVALID_PARAMETER;
    *MiniportDeviceContext = take(sizeof(struct softcopy));
    return *MiniportDeviceContext ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

static NTSTATUS NTAPI RemoveDevice(IN_CONST_PVOID MiniportDeviceContext)
{
    give_back(MiniportDeviceContext);
    return STATUS_SUCCESS;
}

/* One of 4 GiB or more has its length in other units than bytes. */
static UINT64 length_of(const CM_PARTIAL_RESOURCE_DESCRIPTOR *range)
{
    if (range->Type == CmResourceTypeMemory)
        return range->u.Memory.Length;
    if (range->Flags & CM_RESOURCE_MEMORY_LARGE_40)
        return (UINT64)range->u.Memory40.Length40 << 8;
    if (range->Flags & CM_RESOURCE_MEMORY_LARGE_48)
        return (UINT64)range->u.Memory48.Length48 << 16;
    return (UINT64)range->u.Memory64.Length64 << 32;
}

/* BAR 1 is the second memory range. */
static NTSTATUS find_window(struct softcopy *adapter, const CM_RESOURCE_LIST *resources)
{
    const CM_PARTIAL_RESOURCE_LIST *list;
    UINT found = 0;
    ULONG i;

    if (!resources || !resources->Count)
        return STATUS_DEVICE_NOT_CONNECTED;
    list = &resources->List[0].PartialResourceList;
    for (i = 0; i < list->Count; i++) {
        const CM_PARTIAL_RESOURCE_DESCRIPTOR *range = &list->PartialDescriptors[i];

        if ((range->Type != CmResourceTypeMemory && range->Type != CmResourceTypeMemoryLarge) ||
            found++ != 1)
            continue;
        adapter->window_pa = range->u.Memory.Start;
        adapter->local_bytes = length_of(range);
        return STATUS_SUCCESS;
    }
    return STATUS_NOT_SUPPORTED;
}

static NTSTATUS map(struct softcopy *adapter, UINT64 address, UINT64 bytes, struct views *views)
{
    while (bytes) {
        UINT64 piece = smaller_of(bytes, 1ull << VIEW_BITS);
        PHYSICAL_ADDRESS physical;
        PVOID view = NULL;
        NTSTATUS status;

        if (views->count == MOST_VIEWS)
            return STATUS_NOT_SUPPORTED;
        physical.QuadPart = (LONGLONG)address;
        status = adapter->dxgkrnl.DxgkCbMapMemory(adapter->dxgkrnl.DeviceHandle, physical,
                                                  (ULONG)piece, FALSE, FALSE, MmNonCached, &view);
        if (!NT_SUCCESS(status))
            return status;
        views->list[views->count++] = (UCHAR *)view;
        address += piece;
        bytes -= piece;
    }
    return STATUS_SUCCESS;
}

static void unmap(struct softcopy *adapter, struct views *views)
{
    while (views->count)
        adapter->dxgkrnl.DxgkCbUnmapMemory(adapter->dxgkrnl.DeviceHandle,
                                           views->list[--views->count]);
}

static void unmap_all(struct softcopy *adapter)
{
    unmap(adapter, &adapter->system);
    unmap(adapter, &adapter->local);
    give_back(adapter->slots);
    adapter->slots = NULL;
}

static NTSTATUS map_all(struct softcopy *adapter, UINT64 system_bytes)
{
    NTSTATUS status =
        map(adapter, (UINT64)adapter->window_pa.QuadPart, adapter->local_bytes, &adapter->local);

    if (NT_SUCCESS(status))
        status = map(adapter, 0, system_bytes, &adapter->system);
    adapter->slots =
        NT_SUCCESS(status) ? (UINT64 *)take(APERTURE_PAGES * sizeof *adapter->slots) : NULL;
    return NT_SUCCESS(status) && !adapter->slots ? STATUS_NO_MEMORY : status;
}

static NTSTATUS NTAPI StartDevice(IN_CONST_PVOID MiniportDeviceContext,
                                  IN_PDXGK_START_INFO DxgkStartInfo,
                                  IN_PDXGKRNL_INTERFACE DxgkInterface,
                                  OUT_PULONG NumberOfVideoPresentSources,
                                  OUT_PULONG NumberOfChildren)
{
    struct softcopy *adapter = (struct softcopy *)MiniportDeviceContext;
    DXGK_DEVICE_INFO info;
    NTSTATUS status;

    *NumberOfVideoPresentSources = 0;
    *NumberOfChildren = 0;
    if (DxgkStartInfo->RequiredDmaQueueEntry > QUEUE_SLOTS)
        return STATUS_NOT_SUPPORTED;
    RtlZeroMemory(adapter, sizeof *adapter);
    RtlCopyMemory(&adapter->dxgkrnl, DxgkInterface,
                  (SIZE_T)smaller_of(DxgkInterface->Size, sizeof adapter->dxgkrnl));
    KeInitializeSpinLock(&adapter->lock);
    RtlZeroMemory(&info, sizeof info);
    status = adapter->dxgkrnl.DxgkCbGetDeviceInformation(adapter->dxgkrnl.DeviceHandle, &info);
    if (NT_SUCCESS(status))
        status = find_window(adapter, info.TranslatedResourceList);
    if (NT_SUCCESS(status))
        status = map_all(adapter, (UINT64)info.SystemMemorySize.QuadPart);
    if (!NT_SUCCESS(status))
        unmap_all(adapter);
    return status;
}

static NTSTATUS NTAPI StopDevice(IN_CONST_PVOID MiniportDeviceContext)
{
    unmap_all((struct softcopy *)MiniportDeviceContext);
    return STATUS_SUCCESS;
}

/* Without power the aperture is empty: the kernel maps it anew (PWR-003). */
static NTSTATUS NTAPI SetPowerState(IN_CONST_PVOID MiniportDeviceContext, IN_ULONG DeviceUid,
                                    IN_DEVICE_POWER_STATE DevicePowerState,
                                    IN_POWER_ACTION ActionType)
{
    struct softcopy *adapter = (struct softcopy *)MiniportDeviceContext;

    UNREFERENCED_PARAMETER(DeviceUid);
    UNREFERENCED_PARAMETER(ActionType);
    if (DevicePowerState != PowerDeviceD0)
        RtlZeroMemory(adapter->slots, APERTURE_PAGES * sizeof *adapter->slots);
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI QueryChildRelations(IN_CONST_PVOID MiniportDeviceContext,
                                          PDXGK_CHILD_DESCRIPTOR ChildRelations,
                                          ULONG ChildRelationsSize)
{
    UNREFERENCED_PARAMETER(MiniportDeviceContext);
    UNREFERENCED_PARAMETER(ChildRelations);
    UNREFERENCED_PARAMETER(ChildRelationsSize);
    return STATUS_SUCCESS;
}

static VOID NTAPI ResetDevice(IN_CONST_PVOID MiniportDeviceContext)
{
    UNREFERENCED_PARAMETER(MiniportDeviceContext);
}

static VOID NTAPI Unload(VOID)
{
}

NTSTATUS NTAPI DriverEntry(DRIVER_OBJECT *DriverObject, UNICODE_STRING *RegistryPath)
{
    DRIVER_INITIALIZATION_DATA table;

    RtlZeroMemory(&table, sizeof table);
    table.Version = WDDM_INTERFACE;
    table.DxgkDdiAddDevice = AddDevice;
    table.DxgkDdiStartDevice = StartDevice;
    table.DxgkDdiStopDevice = StopDevice;
    table.DxgkDdiRemoveDevice = RemoveDevice;
    table.DxgkDdiSetPowerState = SetPowerState;
    table.DxgkDdiQueryChildRelations = QueryChildRelations;
    table.DxgkDdiResetDevice = ResetDevice;
    table.DxgkDdiUnload = Unload;
    table.DxgkDdiInterruptRoutine = InterruptRoutine;
    table.DxgkDdiDpcRoutine = DpcRoutine;
    table.DxgkDdiQueryAdapterInfo = QueryAdapterInfo;
    table.DxgkDdiGetNodeMetadata = GetNodeMetadata;
    table.DxgkDdiCreateAllocation = CreateAllocation;
    table.DxgkDdiDestroyAllocation = DestroyAllocation;
    table.DxgkDdiDescribeAllocation = DescribeAllocation;
    table.DxgkDdiOpenAllocation = OpenAllocation;
    table.DxgkDdiCloseAllocation = CloseAllocation;
    table.DxgkDdiCreateDevice = CreateDevice;
    table.DxgkDdiDestroyDevice = DestroyDevice;
    table.DxgkDdiCreateContext = CreateContext;
    table.DxgkDdiDestroyContext = DestroyContext;
    table.DxgkDdiRender = Render;
    table.DxgkDdiPatch = Patch;
    table.DxgkDdiBuildPagingBuffer = BuildPagingBuffer;
    table.DxgkDdiSubmitCommand = SubmitCommand;
    table.DxgkDdiPreemptCommand = PreemptCommand;
    table.DxgkDdiQueryCurrentFence = QueryCurrentFence;
    table.DxgkDdiResetFromTimeout = ResetFromTimeout;
    table.DxgkDdiRestartFromTimeout = RestartFromTimeout;
    table.DxgkDdiCollectDbgInfo = CollectDbgInfo;
#if SOFTCOPY_MISTAKE == 3
    RtlFillMemory(&table.DxgkDdiEscape, sizeof table.DxgkDdiEscape, 0xcd);
#elif SOFTCOPY_MISTAKE == 4
    table.Reserved = DriverObject;
#elif SOFTCOPY_MISTAKE == 5
    table.Version = 0xcdcdcdcd;
#endif
    return DxgkInitialize(DriverObject, RegistryPath, &table);
}
