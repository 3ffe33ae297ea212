/*
 * Rings: submissions go in, fences and interrupts come out.
 *
 * The kernel keeps at most QUEUE_SLOTS submissions under way, all of whose packets a ring holds.
 * Fences are memory that the engine writes and the CPU reads; an interrupt, whose message is the
 * engine, says that it is time to look.
 */
#include "driver.h"

static const UINT bases[IBLT_ENGINES] = IBLT_BASES;

static void write_register(const struct adapter *adapter, ULONG reg, ULONG value)
{
    *(volatile ULONG *)(adapter->registers + reg) = value;
}

static ULONG read_register(const struct adapter *adapter, ULONG reg)
{
    return *(volatile ULONG *)(adapter->registers + reg);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

NTSTATUS intel_rings_open(struct adapter *adapter)
{
    PHYSICAL_ADDRESS highest;
    UINT i;

    highest.QuadPart = (LONGLONG)((1ull << SYSTEM_ADDRESS_BITS) - 1);
    adapter->shared = MmAllocateContiguousMemory(SHARED_BYTES, highest);
    if (!adapter->shared)
        return STATUS_NO_MEMORY;
    RtlZeroMemory(adapter->shared, SHARED_BYTES);
    adapter->shared_pa = MmGetPhysicalAddress(adapter->shared);
    for (i = 0; i < IBLT_ENGINES; i++) {
        struct node *node = &adapter->nodes[i];
        UINT fence = IBLT_ENGINES * RING_BYTES + 64 * i;

        node->ring = (volatile ULONG *)((UCHAR *)adapter->shared + i * RING_BYTES);
        node->ring_address = i * RING_BYTES;
        node->fence = (volatile UINT64 *)((UCHAR *)adapter->shared + fence);
        node->fence_address = fence;
    }
    return STATUS_SUCCESS;
}

void intel_rings_close(struct adapter *adapter)
{
    if (adapter->shared)
        MmFreeContiguousMemory(adapter->shared);
    adapter->shared = NULL;
}

/* Global addresses: what is shared, from 0 on. */
static void map_shared(const struct adapter *adapter)
{
    UINT64 entry = (UINT64)adapter->shared_pa.QuadPart | IBLT_PTE_PRESENT;
    UINT i;

    for (i = 0; i < SHARED_BYTES / PAGE; i++, entry += PAGE)
        *(volatile UINT64 *)(adapter->registers + IBLT_GGTT + 8 * i) = entry;
}

/*
 * From nothing: engines that had a reset, or power again, know neither their rings nor any page
 * table, and let no batch write a register. Batches of the paging engine flush the caches of all.
 */
void intel_rings_start(struct adapter *adapter)
{
    static const ULONG flushes[] = {IBLT_TLB_RENDER, IBLT_TLB_VIDEO, IBLT_TLB_COPY};
    UINT i;

    write_register(adapter, IBLT_RESET, 1);
    map_shared(adapter);
    for (i = 0; i < RTL_NUMBER_OF(flushes); i++)
        write_register(adapter, bases[IBLT_NODE_PAGING] + IBLT_NONPRIV(i), flushes[i]);
    for (i = 0; i < IBLT_ENGINES; i++) {
        struct node *node = &adapter->nodes[i];

        node->tail = 0;
        node->serial = 0;
        *node->fence = node->completed_fence;
        write_register(adapter, bases[i] + IBLT_RING_START, (ULONG)node->ring_address);
        write_register(adapter, bases[i] + IBLT_RING_CTL, (RING_BYTES - PAGE) | 1);
    }
}

/* ---- Submissions ----------------------------------------------------------------------------- */

static void put(struct node *node, ULONG word)
{
    node->ring[node->tail / sizeof(ULONG)] = word;
    node->tail = (node->tail + sizeof(ULONG)) % RING_BYTES;
}

static void put_wide(struct node *node, UINT64 value)
{
    put(node, (ULONG)value);
    put(node, (ULONG)(value >> 32));
}

/*
 * The address space goes with each submission (SUB-011). Another root takes what is cached of the
 * one before along.
 */
static void put_root(struct node *node, UINT ordinal, const struct context *context)
{
    if (node->serial == context->serial)
        return;
    node->serial = context->serial;
    put(node, IBLT_MI_LOAD_REGISTER | 3);
    put(node, bases[ordinal] + IBLT_PDP0_UDW);
    put(node, (ULONG)(context->root >> 32));
    put(node, bases[ordinal] + IBLT_PDP0);
    put(node, (ULONG)context->root);
}

static void put_batch(struct node *node, UINT64 address)
{
    put(node, IBLT_MI_BATCH_START | IBLT_PPGTT | (IBLT_BATCH_START_WORDS - 2));
    put_wide(node, address);
}

/* Behind everything before it (FENCE-003). */
static void put_store(struct node *node, UINT64 address, UINT64 value)
{
    put(node, IBLT_MI_FLUSH_DW | IBLT_FLUSH_WRITE | (IBLT_FLUSH_WORDS - 2));
    put_wide(node, address);
    put_wide(node, value);
}

/* What the engine is to do for one submission. */
struct work {
    const struct context *context;
    UINT64 batch;          /* 0: none, or ... */
    const UINT64 *records; /* ... batches one after the other */
    UINT record_count;
    unsigned long long fence_address, fence_value; /* of the client's; address 0: none */
};

static void submit(struct adapter *adapter, UINT ordinal, const struct work *work, UINT fence)
{
    struct node *node = &adapter->nodes[ordinal];
    struct slot *slot = &node->submitted[node->newest % QUEUE_SLOTS];
    UINT i;

    slot->fence = fence;
    slot->signals = work->fence_address != 0;
    if (work->context && (work->batch || work->record_count || work->fence_address))
        put_root(node, ordinal, work->context);
    if (work->batch)
        put_batch(node, work->batch);
    for (i = 0; i < work->record_count; i++) {
        put_batch(node, work->records[i] & ~(UINT64)RECORD_SIGNALS);
        slot->signals |= (work->records[i] & RECORD_SIGNALS) != 0;
    }
    if (work->fence_address)
        put_store(node, work->fence_address, work->fence_value);
    if (INTEL_MISTAKE != 4 || ++node->submissions % 16)
        put_store(node, node->fence_address | IBLT_ADDRESS_GGTT, fence);
    put(node, IBLT_MI_USER_INTERRUPT);
    if (node->tail % sizeof(UINT64))
        put(node, IBLT_MI_NOOP);
    node->newest++;    /* before the engine can be done */
    KeMemoryBarrier(); /* the ring is in memory before the engine is told */
    write_register(adapter, bases[ordinal] + IBLT_RING_TAIL, node->tail);
}

/* Paging operations, whose addresses are in the paging process. */
static void take_records(struct work *work, const VOID *records, UINT bytes)
{
    work->records = (const UINT64 *)records;
    work->record_count = records ? (UINT)smaller_of(bytes / sizeof(UINT64), PAGING_RECORDS) : 0;
}

/*
 * The fence of its own that a client's submission names, with the value that it has when the batch
 * has ended. The kernel has copied the data; it is the client's all the same.
 */
static void take_fence(struct work *work, const VOID *data, UINT bytes)
{
    static const USHORT address[] = {TOKEN_COMMANDS, TOKEN_FENCE_ADDRESS};
    static const USHORT value[] = {TOKEN_COMMANDS, TOKEN_FENCE_VALUE};
    const UINT *words = (const UINT *)data;
    const UINT64 count = smaller_of(bytes, PRIVATE_MOST) / sizeof(UINT);

    if (!words || !token_find(words, count, value, RTL_NUMBER_OF(value), &work->fence_value) ||
        !token_find(words, count, address, RTL_NUMBER_OF(address), &work->fence_address) ||
        work->fence_address % sizeof(UINT64))
        work->fence_address = 0;
}

/* Keeps SUB-001 to SUB-006. */
static NTSTATUS NTAPI SubmitCommand(IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_SUBMITCOMMAND args)
{
    const struct context *context = (const struct context *)args->hContext;
    UINT start = args->DmaBufferPrivateDataSubmissionStartOffset;
    struct work work = {context, 0, NULL, 0, 0, 0};

    if (context && context->has_root && !args->Flags.NullRendering && args->pDmaBufferPrivateData)
        take_records(&work, (const UCHAR *)args->pDmaBufferPrivateData + start,
                     args->DmaBufferPrivateDataSubmissionEndOffset - start);
    submit((struct adapter *)hAdapter, context ? context->node : args->NodeOrdinal, &work,
           args->SubmissionFenceId);
    return STATUS_SUCCESS;
}

/* One that cannot run completes in its turn (SUB-012). */
static NTSTATUS NTAPI SubmitCommandVirtual(IN_CONST_HANDLE hAdapter,
                                           IN_CONST_PDXGKARG_SUBMITCOMMANDVIRTUAL args)
{
    const struct context *context = (const struct context *)args->hContext;
    BOOLEAN is_valid =
        context && context->has_root && args->DmaBufferVirtualAddress % sizeof(ULONG) == 0;
    struct work work = {context, 0, NULL, 0, 0, 0};

    if (is_valid && args->Flags.Paging) {
        take_records(&work, args->pDmaBufferPrivateData, args->DmaBufferPrivateDataSize);
    } else if (is_valid) {
        work.batch = args->DmaBufferVirtualAddress;
        take_fence(&work, args->pDmaBufferPrivateData, args->DmaBufferUmdPrivateDataSize);
    }
    if (args->Flags.NullRendering) {
        work.batch = 0;
        work.record_count = 0;
    }
    submit((struct adapter *)hAdapter, context ? context->node : args->NodeOrdinal, &work,
           args->SubmissionFenceId);
    return is_valid ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

/* ---- Reports: at the level of the device's interrupt (FENCE-005) ----------------------------- */

static void notify(struct adapter *adapter, DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    adapter->dxgkrnl.DxgkCbNotifyInterrupt(adapter->dxgkrnl.DeviceHandle, data);
}

/* A fence of somebody's has its value: who waits for one is to look (NTF-009). */
static void report_monitored(struct adapter *adapter, UINT ordinal)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data;

    RtlZeroMemory(&data, sizeof data);
    data.InterruptType = DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED;
    data.MonitoredFenceSignaled.NodeOrdinal = ordinal;
    notify(adapter, &data);
}

/* The fence in memory stands for all before it (FENCE-002). TRUE: there was news. */
static BOOLEAN report_completion(struct adapter *adapter, UINT ordinal)
{
    struct node *node = &adapter->nodes[ordinal];
    UINT fence = (UINT)*node->fence, i;
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data;
    BOOLEAN signals = FALSE;

    for (i = node->oldest; i != node->newest && node->submitted[i % QUEUE_SLOTS].fence != fence;
         i++)
        ;
    if (i == node->newest)
        return FALSE; /* none of what is under way */
    for (; node->oldest != i + 1; node->oldest++)
        signals |= node->submitted[node->oldest % QUEUE_SLOTS].signals;
    if (signals)
        report_monitored(adapter, ordinal);
    node->completed_fence = fence;
    RtlZeroMemory(&data, sizeof data);
    data.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED;
    data.DmaCompleted.SubmissionFenceId = fence;
    data.DmaCompleted.NodeOrdinal = ordinal;
    notify(adapter, &data);
    return TRUE;
}

/*
 * The engines end what they have: a preemption is over when nothing is under way (FENCE-007,
 * FENCE-008).
 */
static BOOLEAN report_preemption(struct adapter *adapter, UINT ordinal)
{
    struct node *node = &adapter->nodes[ordinal];
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data;

    if (!node->is_preempted || node->oldest != node->newest)
        return FALSE;
    node->is_preempted = FALSE;
    RtlZeroMemory(&data, sizeof data);
    data.InterruptType = DXGK_INTERRUPT_DMA_PREEMPTED;
    data.DmaPreempted.PreemptionFenceId = node->preemption_fence;
    data.DmaPreempted.LastCompletedFenceId = node->completed_fence;
    data.DmaPreempted.NodeOrdinal = ordinal;
    notify(adapter, &data);
    return TRUE;
}

/* Everything that there is to say of an engine; a DPC in any case (FENCE-004). */
static void look(struct adapter *adapter, UINT ordinal)
{
    report_completion(adapter, ordinal);
    report_preemption(adapter, ordinal);
    adapter->dxgkrnl.DxgkCbQueueDpc(adapter->dxgkrnl.DeviceHandle);
}

/* The message is the engine. */
static BOOLEAN NTAPI InterruptRoutine(IN_CONST_PVOID MiniportDeviceContext, IN_ULONG MessageNumber)
{
    struct adapter *adapter = (struct adapter *)MiniportDeviceContext;

    if (MessageNumber >= IBLT_ENGINES || !adapter->registers)
        return FALSE;
    look(adapter, MessageNumber);
    return TRUE;
}

static VOID NTAPI DpcRoutine(IN_CONST_PVOID MiniportDeviceContext)
{
    struct adapter *adapter = (struct adapter *)MiniportDeviceContext;

    adapter->dxgkrnl.DxgkCbNotifyDpc(adapter->dxgkrnl.DeviceHandle);
}

/* ---- At the kernel's wish, at the same level ------------------------------------------------- */

struct node_call {
    struct adapter *adapter;
    UINT ordinal;
    UINT fence; /* of a preemption */
};

static void synchronize(struct node_call *call, PKSYNCHRONIZE_ROUTINE routine)
{
    const DXGKRNL_INTERFACE *dxgkrnl = &call->adapter->dxgkrnl;
    BOOLEAN result;

    dxgkrnl->DxgkCbSynchronizeExecution(dxgkrnl->DeviceHandle, routine, call, 0, &result);
}

static BOOLEAN NTAPI preempt(PVOID context)
{
    struct node_call *call = (struct node_call *)context;
    struct node *node = &call->adapter->nodes[call->ordinal];

    node->preemption_fence = call->fence;
    node->is_preempted = TRUE;
    look(call->adapter, call->ordinal);
    return TRUE;
}

static NTSTATUS NTAPI PreemptCommand(IN_CONST_HANDLE hAdapter,
                                     IN_CONST_PDXGKARG_PREEMPTCOMMAND args)
{
    struct node_call call = {(struct adapter *)hAdapter, args->NodeOrdinal,
                             args->PreemptionFenceId};

    synchronize(&call, preempt);
    return STATUS_SUCCESS;
}

static BOOLEAN NTAPI look_now(PVOID context)
{
    struct node_call *call = (struct node_call *)context;

    look(call->adapter, call->ordinal);
    return TRUE;
}

/* Asked when an interrupt may have been lost: what it would have said is said now (FENCE-006). */
static NTSTATUS NTAPI QueryCurrentFence(IN_CONST_HANDLE hAdapter,
                                        INOUT_PDXGKARG_QUERYCURRENTFENCE args)
{
    struct node_call call = {(struct adapter *)hAdapter, args->NodeOrdinal, 0};

    synchronize(&call, look_now);
    args->CurrentFence = call.adapter->nodes[args->NodeOrdinal].completed_fence;
    return STATUS_SUCCESS;
}

/* ---- Resets ---------------------------------------------------------------------------------- */

static BOOLEAN NTAPI reset_all(PVOID context)
{
    struct adapter *adapter = ((struct node_call *)context)->adapter;
    UINT i;

    write_register(adapter, IBLT_RESET, 1);
    for (i = 0; i < IBLT_ENGINES; i++) {
        struct node *node = &adapter->nodes[i];

        if (node->oldest != node->newest)
            node->completed_fence = node->submitted[(node->newest - 1) % QUEUE_SLOTS].fence;
        node->oldest = node->newest;
        node->is_preempted = FALSE;
    }
    return TRUE;
}

/*
 * No memory is touched from here on (TDR-001); the last fence submitted counts as completed
 * (TDR-006).
 */
static NTSTATUS NTAPI ResetFromTimeout(IN_CONST_HANDLE hAdapter)
{
    struct node_call call = {(struct adapter *)hAdapter, 0, 0};

    synchronize(&call, reset_all);
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI RestartFromTimeout(IN_CONST_HANDLE hAdapter)
{
    intel_rings_start((struct adapter *)hAdapter);
    return STATUS_SUCCESS;
}

/* Buffers have no physical addresses in them. */
static NTSTATUS NTAPI Patch(IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_PATCH args)
{
    UNREFERENCED_PARAMETER(hAdapter);
    UNREFERENCED_PARAMETER(args);
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI CollectDbgInfo(IN_CONST_HANDLE hAdapter,
                                     IN_CONST_PDXGKARG_COLLECTDBGINFO args)
{
    const struct adapter *adapter = (const struct adapter *)hAdapter;
    ULONG *out = (ULONG *)args->pBuffer;
    UINT i;

    for (i = 0; i < IBLT_ENGINES && (i + 1) * sizeof *out <= args->BufferSize; i++)
        out[i] = read_register(adapter, bases[i] + IBLT_RING_HEAD);
    return STATUS_SUCCESS;
}

void intel_register_ring(DRIVER_INITIALIZATION_DATA *table)
{
    table->DxgkDdiPatch = Patch;
    table->DxgkDdiSubmitCommand = SubmitCommand;
    table->DxgkDdiSubmitCommandVirtual = SubmitCommandVirtual;
    table->DxgkDdiPreemptCommand = PreemptCommand;
    table->DxgkDdiQueryCurrentFence = QueryCurrentFence;
    table->DxgkDdiInterruptRoutine = InterruptRoutine;
    table->DxgkDdiDpcRoutine = DpcRoutine;
    table->DxgkDdiResetFromTimeout = ResetFromTimeout;
    table->DxgkDdiRestartFromTimeout = RestartFromTimeout;
    table->DxgkDdiCollectDbgInfo = CollectDbgInfo;
}
