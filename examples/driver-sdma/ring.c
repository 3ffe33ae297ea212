/*
 * Rings: submissions go in, fences and interrupts come out.
 *
 * The kernel keeps at most QUEUE_SLOTS submissions under way, all of whose packets a ring holds.
 * Fences are memory that the engine writes and the CPU reads; a trap says that it is time to look.
 */
#include "driver.h"

#define TRAP_FENCE     1u /* contexts */
#define TRAP_MONITORED 2u /* paging.c's */

static void write_register(const struct adapter *adapter, ULONG reg, ULONG value)
{
    *(volatile ULONG *)(adapter->registers + reg) = value;
}

static ULONG read_register(const struct adapter *adapter, ULONG reg)
{
    return *(volatile ULONG *)(adapter->registers + reg);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

NTSTATUS sdma_rings_open(struct adapter *adapter)
{
    PHYSICAL_ADDRESS highest;
    UINT64 address;
    UINT i;

    highest.QuadPart = (LONGLONG)SDMA_FB - 1;
    adapter->shared = MmAllocateContiguousMemory(SDMA_ENGINES * RING_BYTES + PAGE, highest);
    if (!adapter->shared)
        return STATUS_NO_MEMORY;
    RtlZeroMemory(adapter->shared, SDMA_ENGINES * RING_BYTES + PAGE);
    address = (UINT64)MmGetPhysicalAddress(adapter->shared).QuadPart;
    for (i = 0; i < SDMA_ENGINES; i++) {
        struct node *node = &adapter->nodes[i];
        UINT fence = SDMA_ENGINES * RING_BYTES + 64 * i;

        node->ring = (volatile ULONG *)((UCHAR *)adapter->shared + i * RING_BYTES);
        node->ring_address = address + i * RING_BYTES;
        node->fence = (volatile ULONG *)((UCHAR *)adapter->shared + fence);
        node->fence_address = address + fence;
    }
    return STATUS_SUCCESS;
}

void sdma_rings_close(struct adapter *adapter)
{
    if (adapter->shared)
        MmFreeContiguousMemory(adapter->shared);
    adapter->shared = NULL;
}

/*
 * From nothing: an engine that had a reset, or power again, knows neither its ring nor any page
 * table.
 */
void sdma_rings_start(struct adapter *adapter)
{
    UINT i;

    for (i = 0; i < SDMA_ENGINES; i++) {
        struct node *node = &adapter->nodes[i];

        node->wptr = 0;
        RtlZeroMemory(node->serials, sizeof node->serials);
        *node->fence = node->completed_fence;
        write_register(adapter, SDMA_BLOCK(i) + SDMA_RESET, 1);
        write_register(adapter, SDMA_BLOCK(i) + SDMA_RB_BASE, (ULONG)(node->ring_address >> 8));
        write_register(adapter, SDMA_BLOCK(i) + SDMA_RB_BASE_HI, (ULONG)(node->ring_address >> 40));
        write_register(adapter, SDMA_BLOCK(i) + SDMA_RB_CNTL, 11u << 1 | 1); /* 2048 dwords */
    }
}

/* ---- Submissions ----------------------------------------------------------------------------- */

static void put(struct node *node, ULONG dword)
{
    node->ring[node->wptr % RING_BYTES / sizeof(ULONG)] = dword;
    node->wptr += sizeof(ULONG);
}

static void put_address(struct node *node, UINT64 address)
{
    put(node, (ULONG)address);
    put(node, (ULONG)(address >> 32));
}

static void put_register(struct node *node, ULONG reg, ULONG value)
{
    put(node, SDMA_SRBM_WRITE);
    put(node, reg / sizeof(ULONG));
    put(node, value);
}

/*
 * The address space goes with each submission (SUB-011); what is cached of another one is not its
 * own.
 */
static void put_root(struct node *node, UINT vmid, const struct context *context)
{
    if (node->serials[vmid] == context->serial)
        return;
    node->serials[vmid] = context->serial;
    put_register(node, SDMA_VM_BASE(vmid), (ULONG)context->root);
    put_register(node, SDMA_VM_BASE(vmid) + 4, (ULONG)(context->root >> 32));
    put_register(node, SDMA_VM_INVALIDATE, 1u << vmid);
}

/* bytes 0: the fence alone. */
static void submit(struct adapter *adapter, UINT ordinal, const struct context *context,
                   UINT64 address, UINT bytes, UINT fence)
{
    struct node *node = &adapter->nodes[ordinal];
    UINT vmid = context && context->is_paging ? VMID_PAGING : VMID_OF_NODE(ordinal);

    node->submitted[node->newest++ % QUEUE_SLOTS] = fence; /* before the engine can be done */
    if (bytes) {
        put_root(node, vmid, context);
        put(node, SDMA_INDIRECT(vmid));
        put_address(node, address);
        put(node, bytes / sizeof(ULONG));
        put_address(node, 0);
    }
    if (SDMA_MISTAKE != 4 || ++node->submissions % 16) {
        put(node, SDMA_OP_FENCE); /* in its turn: all that was before has been done (FENCE-003) */
        put_address(node, node->fence_address);
        put(node, fence);
    }
    put(node, SDMA_OP_TRAP);
    put(node, TRAP_FENCE);
    KeMemoryBarrier(); /* the ring is in memory before the engine is told */
    *(volatile ULONG *)(adapter->doorbells + SDMA_DOORBELL(ordinal)) = (ULONG)node->wptr;
}

/*
 * Paging buffers, which are at virtual addresses of the paging process. Keeps SUB-001 to SUB-006.
 */
static NTSTATUS NTAPI SubmitCommand(IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_SUBMITCOMMAND args)
{
    const struct context *context = (const struct context *)args->hContext;
    UINT start = args->DmaBufferSubmissionStartOffset;
    UINT bytes = args->DmaBufferSubmissionEndOffset - start;

    submit((struct adapter *)hAdapter, context ? context->node : args->NodeOrdinal, context,
           args->DmaBufferVirtualAddress + start,
           args->Flags.NullRendering || !context || !context->has_root ? 0 : bytes,
           args->SubmissionFenceId);
    return STATUS_SUCCESS;
}

/* Buffers of user mode, as they are. One that cannot run completes in its turn (SUB-012). */
static NTSTATUS NTAPI SubmitCommandVirtual(IN_CONST_HANDLE hAdapter,
                                           IN_CONST_PDXGKARG_SUBMITCOMMANDVIRTUAL args)
{
    const struct context *context = (const struct context *)args->hContext;
    BOOLEAN is_valid = context && context->has_root &&
                       args->DmaBufferVirtualAddress % SDMA_IB_ALIGN == 0 &&
                       args->DmaBufferSize % sizeof(ULONG) == 0 &&
                       args->DmaBufferSize / sizeof(ULONG) < SDMA_MOST_DWORDS;

    submit((struct adapter *)hAdapter, context ? context->node : args->NodeOrdinal, context,
           args->DmaBufferVirtualAddress,
           is_valid && !args->Flags.NullRendering ? args->DmaBufferSize : 0,
           args->SubmissionFenceId);
    return is_valid ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

/* ---- Reports: at the level of the device's interrupt (FENCE-005) ----------------------------- */

static void notify(struct adapter *adapter, DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    adapter->dxgkrnl.DxgkCbNotifyInterrupt(adapter->dxgkrnl.DeviceHandle, data);
}

/* The fence in memory stands for all before it (FENCE-002). TRUE: there was news. */
static BOOLEAN report_completion(struct adapter *adapter, UINT ordinal)
{
    struct node *node = &adapter->nodes[ordinal];
    UINT fence = *node->fence, i;
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data;

    for (i = node->oldest; i != node->newest && node->submitted[i % QUEUE_SLOTS] != fence; i++)
        ;
    if (i == node->newest)
        return FALSE; /* none of what is under way */
    node->oldest = i + 1;
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

/* A fence of somebody's has its value: who waits for one is to look (NTF-009). */
static void report_monitored(struct adapter *adapter, UINT ordinal)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data;

    RtlZeroMemory(&data, sizeof data);
    data.InterruptType = DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED;
    data.MonitoredFenceSignaled.NodeOrdinal = ordinal;
    notify(adapter, &data);
}

/* Everything that there is to say of an engine; a DPC in any case (FENCE-004). */
static void look(struct adapter *adapter, UINT ordinal)
{
    report_completion(adapter, ordinal);
    report_preemption(adapter, ordinal);
    adapter->dxgkrnl.DxgkCbQueueDpc(adapter->dxgkrnl.DeviceHandle);
}

/* The message is the engine. One that is off reads as ones, and has said nothing. */
static BOOLEAN NTAPI InterruptRoutine(IN_CONST_PVOID MiniportDeviceContext, IN_ULONG MessageNumber)
{
    struct adapter *adapter = (struct adapter *)MiniportDeviceContext;
    ULONG traps;

    if (MessageNumber >= SDMA_ENGINES || !adapter->registers)
        return FALSE;
    traps = read_register(adapter, SDMA_BLOCK(MessageNumber) + SDMA_TRAPS);
    if (traps == MAXULONG)
        return FALSE;
    if (traps & TRAP_MONITORED)
        report_monitored(adapter, MessageNumber);
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

    for (i = 0; i < SDMA_ENGINES; i++) {
        struct node *node = &adapter->nodes[i];

        write_register(adapter, SDMA_BLOCK(i) + SDMA_RESET, 1);
        if (node->oldest != node->newest)
            node->completed_fence = node->submitted[(node->newest - 1) % QUEUE_SLOTS];
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
    sdma_rings_start((struct adapter *)hAdapter);
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

    for (i = 0; i < SDMA_ENGINES && (i + 1) * sizeof *out <= args->BufferSize; i++)
        out[i] = read_register(adapter, SDMA_BLOCK(i) + SDMA_RB_RPTR);
    return STATUS_SUCCESS;
}

void sdma_register_ring(DRIVER_INITIALIZATION_DATA *table)
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
