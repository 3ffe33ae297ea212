/*
 * The device of virtio.c: its registers, its control queue and what comes back from it.
 */
#include "virtio.h"

void *take(SIZE_T bytes)
{
    return ExAllocatePool2(POOL_FLAG_NON_PAGED, bytes, POOL_TAG);
}

void give_back(void *memory)
{
    if (memory)
        ExFreePoolWithTag(memory, POOL_TAG);
}

void *take_contiguous(SIZE_T bytes)
{
    PHYSICAL_ADDRESS highest;
    void *block;

    highest.QuadPart = MAXLONGLONG;
    block = MmAllocateContiguousMemory(bytes, highest);
    if (block)
        RtlZeroMemory(block, bytes);
    return block;
}

/* ---- The control queue ----------------------------------------------------------------------- */

static UCHAR *common(const struct adapter *adapter, UINT offset)
{
    return adapter->registers + adapter->regions[REGION_COMMON] + offset;
}

/* With the lock. What was asked for first goes into the ring, while there is room. */
static void pump(struct adapter *adapter)
{
    struct rings *rings = adapter->rings;
    BOOLEAN is_new = FALSE;
    UINT slot;

    for (slot = 0; slot < SLOTS && adapter->oldest != adapter->newest; slot++) {
        struct descriptor *descriptor = &rings->descriptors[2 * slot];
        struct pending *pending = &adapter->pending[adapter->oldest % PENDING];

        if (adapter->is_slot_used[slot])
            continue;
        adapter->is_slot_used[slot] = TRUE;
        adapter->slots[slot] = *pending;
        adapter->oldest++;
        descriptor[0] = (struct descriptor){pending->address, pending->bytes, DESCRIPTOR_NEXT,
                                            (USHORT)(2 * slot + 1)};
        descriptor[1] = (struct descriptor){
            adapter->rings_pa + FIELD_OFFSET(struct rings, answers) + slot * ANSWER_BYTES,
            ANSWER_BYTES, DESCRIPTOR_WRITE, 0};
        rings->avail.ring[rings->avail.index % (2 * SLOTS)] = (USHORT)(2 * slot);
        KeMemoryBarrier();
        rings->avail.index++;
        is_new = TRUE;
    }
    KeMemoryBarrier();
    if (is_new)
        WRITE_REGISTER_USHORT((USHORT *)(adapter->registers + adapter->regions[REGION_NOTIFY]), 0);
}

NTSTATUS ask(struct adapter *adapter, const struct pending *pending)
{
    NTSTATUS status = STATUS_INSUFFICIENT_RESOURCES;
    KIRQL irql;

    KeAcquireSpinLock(&adapter->lock, &irql);
    if (adapter->newest - adapter->oldest < PENDING) {
        adapter->pending[adapter->newest++ % PENDING] = *pending;
        if (!pending->block)
            adapter->in_flight++;
        pump(adapter);
        status = STATUS_SUCCESS;
    }
    KeReleaseSpinLock(&adapter->lock, irql);
    return status;
}

/* Takes the block, which begins with a header. */
NTSTATUS ask_with(struct adapter *adapter, void *block, SIZE_T bytes, UINT type)
{
    struct pending pending = {0};
    NTSTATUS status;

    if (!block)
        return STATUS_NO_MEMORY;
    ((struct header *)block)->type = type;
    ((struct header *)block)->context = CONTEXT;
    pending.address = (UINT64)MmGetPhysicalAddress(block).QuadPart;
    pending.bytes = (UINT)bytes;
    pending.block = block;
    status = ask(adapter, &pending);
    if (!NT_SUCCESS(status))
        MmFreeContiguousMemory(block);
    return status;
}

NTSTATUS ask_about(struct adapter *adapter, UINT type, UINT id)
{
    struct resource_request *request = (struct resource_request *)take_contiguous(sizeof *request);

    if (request)
        request->id = id;
    return ask_with(adapter, request, FIELD_OFFSET(struct resource_request, entries), type);
}

NTSTATUS create_resource(struct adapter *adapter, const struct allocation *allocation)
{
    struct create_request *request = (struct create_request *)take_contiguous(sizeof *request);

    if (request) {
        request->id = allocation->id;
        RtlCopyMemory(request->options, allocation->options, sizeof request->options);
    }
    return ask_with(adapter, request, sizeof *request, RESOURCE_CREATE_3D);
}

/* ---- Ends ------------------------------------------------------------------------------------ */

struct end_call {
    struct adapter *adapter;
    UINT fence;
    BOOLEAN is_completion;
};

/* At the level of the device's interrupt, where completions are told of (FENCE-005). */
static BOOLEAN NTAPI tell(PVOID context)
{
    const struct end_call *call = (const struct end_call *)context;
    struct adapter *adapter = call->adapter;
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data;

    RtlZeroMemory(&data, sizeof data);
    if (call->is_completion) {
        adapter->completed_fence = call->fence;
        data.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED;
        data.DmaCompleted.SubmissionFenceId = call->fence;
    } else {
        data.InterruptType = DXGK_INTERRUPT_DMA_PREEMPTED;
        data.DmaPreempted.PreemptionFenceId = adapter->preemption_fence;
        data.DmaPreempted.LastCompletedFenceId = adapter->completed_fence;
    }
    adapter->dxgkrnl.DxgkCbNotifyInterrupt(adapter->dxgkrnl.DeviceHandle, &data);
    adapter->dxgkrnl.DxgkCbQueueDpc(adapter->dxgkrnl.DeviceHandle);
    return TRUE;
}

static void synchronize(struct adapter *adapter, UINT fence, BOOLEAN is_completion)
{
    struct end_call call = {adapter, fence, is_completion};
    BOOLEAN result;

    adapter->dxgkrnl.DxgkCbSynchronizeExecution(adapter->dxgkrnl.DeviceHandle, tell, &call, 0,
                                                &result);
}

/*
 * What has been given to the host cannot be taken back: a preemption is over when all of it has
 * ended.
 */
void end_preemption(struct adapter *adapter)
{
    if (!adapter->is_preempted || adapter->in_flight)
        return;
    adapter->is_preempted = FALSE;
    synchronize(adapter, 0, FALSE);
}

/* The next request that has ended. False: there is none. */
static BOOLEAN take_ended(struct adapter *adapter, struct pending *out)
{
    struct rings *rings = adapter->rings;
    BOOLEAN has_ended;

    KeAcquireSpinLockAtDpcLevel(&adapter->lock);
    has_ended = rings && rings->used.index != adapter->next_used;
    if (has_ended) {
        UINT slot = rings->used.ring[adapter->next_used++ % (2 * SLOTS)].id / 2;

        *out = adapter->slots[slot];
        adapter->is_slot_used[slot] = FALSE;
        if (!out->block)
            adapter->in_flight--;
        pump(adapter);
    }
    KeReleaseSpinLockFromDpcLevel(&adapter->lock);
    return has_ended;
}

VOID NTAPI DpcRoutine(IN_CONST_PVOID MiniportDeviceContext)
{
    struct adapter *adapter = (struct adapter *)MiniportDeviceContext;
    struct pending ended;

    while (take_ended(adapter, &ended)) {
        if (ended.block)
            MmFreeContiguousMemory(ended.block);
        else
            synchronize(adapter, ended.fence, TRUE);
    }
    end_preemption(adapter);
    adapter->dxgkrnl.DxgkCbNotifyDpc(adapter->dxgkrnl.DeviceHandle);
}

/*
 * Message 0 is the configuration's: its events are cleared, and there is no display to follow them.
 */
BOOLEAN NTAPI InterruptRoutine(IN_CONST_PVOID MiniportDeviceContext, IN_ULONG MessageNumber)
{
    struct adapter *adapter = (struct adapter *)MiniportDeviceContext;
    UCHAR *device = adapter->registers + adapter->regions[REGION_DEVICE];

    if (!adapter->rings)
        return FALSE;
    if (MessageNumber == 0)
        WRITE_REGISTER_ULONG((ULONG *)(device + 4), READ_REGISTER_ULONG((ULONG *)device));
    else
        adapter->dxgkrnl.DxgkCbQueueDpc(adapter->dxgkrnl.DeviceHandle);
    return TRUE;
}

/* ---- The device ------------------------------------------------------------------------------ */

static UINT config(const struct adapter *adapter, UINT offset, UINT bytes)
{
    ULONG done = 0;
    UINT value = 0;
    NTSTATUS status = adapter->dxgkrnl.DxgkCbReadDeviceSpace(
        adapter->dxgkrnl.DeviceHandle, DXGK_WHICHSPACE_CONFIG, &value, offset, bytes, &done);

    return NT_SUCCESS(status) && done == bytes ? value : 0;
}

/* The base address of the common configuration is that of all regions. */
static NTSTATUS find_regions(struct adapter *adapter, PHYSICAL_ADDRESS *out_start)
{
    UINT at = config(adapter, CONFIG_CAPABILITIES, 1), bar = 0;

    if (config(adapter, 0, 4) != 0x10501af4)
        return STATUS_DEVICE_NOT_CONNECTED;
    for (; at; at = config(adapter, at + 1, 1)) {
        UINT region = config(adapter, at + 3, 1);

        if (config(adapter, at, 1) != CAPABILITY_VENDOR || !region || region >= REGIONS)
            continue;
        adapter->regions[region] = config(adapter, at + 8, 4);
        bar = config(adapter, at + 4, 1);
    }
    out_start->QuadPart = (LONGLONG)((config(adapter, CONFIG_BARS + 4 * bar, 4) & ~0xfu) |
                                     (UINT64)config(adapter, CONFIG_BARS + 4 * bar + 4, 4) << 32);
    return adapter->regions[REGION_NOTIFY] ? STATUS_SUCCESS : STATUS_DEVICE_NOT_CONNECTED;
}

static NTSTATUS map_registers(struct adapter *adapter)
{
    const CM_PARTIAL_RESOURCE_LIST *list;
    PHYSICAL_ADDRESS start;
    DXGK_DEVICE_INFO info;
    PVOID mapped = NULL;
    NTSTATUS status = find_regions(adapter, &start);
    ULONG i;

    RtlZeroMemory(&info, sizeof info);
    if (NT_SUCCESS(status))
        status = adapter->dxgkrnl.DxgkCbGetDeviceInformation(adapter->dxgkrnl.DeviceHandle, &info);
    if (!NT_SUCCESS(status))
        return status;
    list = &info.TranslatedResourceList->List[0].PartialResourceList;
    status = STATUS_DEVICE_NOT_CONNECTED;
    for (i = 0; i < list->Count; i++) {
        const CM_PARTIAL_RESOURCE_DESCRIPTOR *range = &list->PartialDescriptors[i];

        if (range->Type == CmResourceTypeMemory && range->u.Memory.Start.QuadPart == start.QuadPart)
            status = adapter->dxgkrnl.DxgkCbMapMemory(adapter->dxgkrnl.DeviceHandle, start,
                                                      range->u.Memory.Length, FALSE, FALSE,
                                                      MmNonCached, &mapped);
    }
    adapter->registers = (UCHAR *)mapped;
    return status;
}

static void write_address(struct adapter *adapter, UINT offset, UINT64 address)
{
    WRITE_REGISTER_ULONG((ULONG *)common(adapter, offset), (ULONG)address);
    WRITE_REGISTER_ULONG((ULONG *)common(adapter, offset + 4), (ULONG)(address >> 32));
}

/* What the host had is gone: resources are made anew, without backing until they are mapped. */
NTSTATUS device_begin(struct adapter *adapter)
{
    UCHAR *status = common(adapter, STATUS_BYTE);
    NTSTATUS made;
    LIST_ENTRY *at;

    WRITE_REGISTER_UCHAR(status, 0);
    WRITE_REGISTER_UCHAR(status, STATUS_ACKNOWLEDGE | STATUS_DRIVER);
    WRITE_REGISTER_ULONG((ULONG *)common(adapter, FEATURE_SELECT), 0);
    WRITE_REGISTER_ULONG((ULONG *)common(adapter, FEATURE), 1); /* VIRGL */
    WRITE_REGISTER_ULONG((ULONG *)common(adapter, FEATURE_SELECT), 1);
    WRITE_REGISTER_ULONG((ULONG *)common(adapter, FEATURE), 1); /* VERSION_1 */
    WRITE_REGISTER_UCHAR(status, STATUS_ACKNOWLEDGE | STATUS_DRIVER | STATUS_FEATURES);
    if (!(READ_REGISTER_UCHAR(status) & STATUS_FEATURES))
        return STATUS_DEVICE_CONFIGURATION_ERROR;
    RtlZeroMemory(adapter->rings, sizeof *adapter->rings);
    adapter->rings->nothing[0] = GET_DISPLAY_INFO;
    adapter->next_used = 0;
    WRITE_REGISTER_USHORT((USHORT *)common(adapter, CONFIG_VECTOR), 0);
    WRITE_REGISTER_USHORT((USHORT *)common(adapter, QUEUE_SELECT), 0);
    WRITE_REGISTER_USHORT((USHORT *)common(adapter, QUEUE_SIZE), 2 * SLOTS);
    WRITE_REGISTER_USHORT((USHORT *)common(adapter, QUEUE_VECTOR), 1);
    write_address(adapter, QUEUE_DESC, adapter->rings_pa);
    write_address(adapter, QUEUE_AVAIL, adapter->rings_pa + FIELD_OFFSET(struct rings, avail));
    write_address(adapter, QUEUE_USED, adapter->rings_pa + FIELD_OFFSET(struct rings, used));
    WRITE_REGISTER_USHORT((USHORT *)common(adapter, QUEUE_ENABLE), 1);
    WRITE_REGISTER_UCHAR(status,
                         STATUS_ACKNOWLEDGE | STATUS_DRIVER | STATUS_FEATURES | STATUS_READY);
    made = ask_with(adapter, take_contiguous(96), 96, CTX_CREATE);
    for (at = adapter->allocations.Flink; NT_SUCCESS(made) && at != &adapter->allocations;
         at = at->Flink)
        made = create_resource(adapter, CONTAINING_RECORD(at, struct allocation, link));
    return made;
}

/*
 * The host stops, and forgets all requests. A DPC that was queued before may still run on another
 * processor: what has ended is taken here, and not by it again.
 */
void device_end(struct adapter *adapter)
{
    KIRQL irql;
    UINT i;

    WRITE_REGISTER_UCHAR(common(adapter, STATUS_BYTE), 0);
    KeAcquireSpinLock(&adapter->lock, &irql);
    adapter->next_used = adapter->rings->used.index;
    for (i = 0; i < SLOTS; i++) {
        if (adapter->is_slot_used[i] && adapter->slots[i].block)
            MmFreeContiguousMemory(adapter->slots[i].block);
        adapter->is_slot_used[i] = FALSE;
    }
    for (; adapter->oldest != adapter->newest; adapter->oldest++) {
        if (adapter->pending[adapter->oldest % PENDING].block)
            MmFreeContiguousMemory(adapter->pending[adapter->oldest % PENDING].block);
    }
    adapter->in_flight = 0;
    adapter->is_preempted = FALSE;
    KeReleaseSpinLock(&adapter->lock, irql);
}

void device_close(struct adapter *adapter)
{
    if (adapter->registers && adapter->rings)
        device_end(adapter);
    if (adapter->registers)
        adapter->dxgkrnl.DxgkCbUnmapMemory(adapter->dxgkrnl.DeviceHandle, adapter->registers);
    if (adapter->rings)
        MmFreeContiguousMemory(adapter->rings);
    adapter->registers = NULL;
    adapter->rings = NULL;
}

NTSTATUS device_open(struct adapter *adapter)
{
    NTSTATUS status = map_registers(adapter);

    if (NT_SUCCESS(status)) {
        adapter->rings = (struct rings *)take_contiguous(sizeof *adapter->rings);
        status = adapter->rings ? STATUS_SUCCESS : STATUS_NO_MEMORY;
    }
    if (NT_SUCCESS(status)) {
        adapter->rings_pa = (UINT64)MmGetPhysicalAddress(adapter->rings).QuadPart;
        status = device_begin(adapter);
    }
    if (!NT_SUCCESS(status))
        device_close(adapter);
    return status;
}
