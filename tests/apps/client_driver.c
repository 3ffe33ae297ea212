/* The client's user-mode driver: a device, a context, and buffers that the GPU copies. */
#define _GNU_SOURCE
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define COMMAND_BYTES 65536u
#define COMMAND_SLOT  512u /* of one submission */

_Static_assert(MOST_MOVES * sizeof(struct sgpu_packet_copy) + sizeof(struct sgpu_packet_fence) <=
                   COMMAND_SLOT,
               "a slot has room for a submission");

D3DKMT_HANDLE adapter;
LUID adapter_luid;

void fail(const char *what, NTSTATUS status)
{
    fprintf(stderr, "client: %s: status 0x%08x\n", what, (unsigned)status);
    exit(3);
}

void must(const char *what, NTSTATUS status)
{
    if (status < 0)
        fail(what, status);
}

void open_adapter(void)
{
    static const GUID compute = {
        0x248e2800, 0xa793, 0x4724, {0xab, 0xaa, 0x23, 0xa6, 0xde, 0x1b, 0xe0, 0x90}};
    D3DKMT_OPENADAPTERFROMLUID open = {0};
    IDXCoreAdapterFactory *factory;
    IDXCoreAdapterList *list;
    IDXCoreAdapter *first;
    char text[64] = "";

    if (DXCoreCreateAdapterFactory(NULL, (void **)&factory) ||
        factory->lpVtbl->CreateAdapterList(factory, 1, &compute, NULL, (void **)&list) ||
        !list->lpVtbl->GetAdapterCount(list) ||
        list->lpVtbl->GetAdapter(list, 0, NULL, (void **)&first) ||
        first->lpVtbl->GetProperty(first, DXCoreAdapterProperty_InstanceLuid,
                                   sizeof open.AdapterLuid, &open.AdapterLuid) ||
        first->lpVtbl->GetProperty(first, DXCoreAdapterProperty_DriverDescription, sizeof text,
                                   text))
        fail("there is no adapter", 0);
    must("OpenAdapterFromLuid", D3DKMTOpenAdapterFromLuid(&open));
    adapter = open.hAdapter;
    adapter_luid = open.AdapterLuid;
}

void wait_until(const struct driver *driver, D3DKMT_HANDLE fence, uint64_t value)
{
    const D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU wait = {.hDevice = driver->device,
                                                             .ObjectCount = 1,
                                                             .ObjectHandleArray = &fence,
                                                             .FenceValueArray = &value};

    must("WaitForSynchronizationObjectFromCpu", D3DKMTWaitForSynchronizationObjectFromCpu(&wait));
}

struct buffer create(struct driver *driver, uint32_t flags, uint64_t bytes, const void *over)
{
    struct sgpu_umd_allocation data = {.version = SGPU_UMD_VERSION, .flags = flags, .bytes = bytes};
    D3DDDI_ALLOCATIONINFO2 info = {
        .pSystemMem = over, .pPrivateDriverData = &data, .PrivateDriverDataSize = sizeof data};
    D3DKMT_CREATEALLOCATION call = {
        .hDevice = driver->device, .NumAllocations = 1, .pAllocationInfo2 = &info};

    must("CreateAllocation2", D3DKMTCreateAllocation2(&call));
    return (struct buffer){.handle = info.hAllocation, .bytes = bytes};
}

void map(struct driver *driver, struct buffer *buffer, uint64_t va)
{
    D3DDDI_MAPGPUVIRTUALADDRESS call = {.hPagingQueue = driver->queue,
                                        .BaseAddress = va,
                                        .hAllocation = buffer->handle,
                                        .SizeInPages = buffer->bytes / 4096,
                                        .Protection = {.Write = 1}};

    must("MapGpuVirtualAddress", D3DKMTMapGpuVirtualAddress(&call));
    wait_until(driver, driver->queue_fence, call.PagingFenceValue);
    buffer->va = call.VirtualAddress;
}

void make_all_resident(struct driver *driver, const D3DKMT_HANDLE *handles, unsigned count)
{
    D3DDDI_MAKERESIDENT call = {.hPagingQueue = driver->queue,
                                .NumAllocations = count,
                                .AllocationList = handles,
                                .Flags = {{{.CantTrimFurther = 1}}}};

    must("MakeResident", D3DKMTMakeResident(&call));
    wait_until(driver, driver->queue_fence, call.PagingFenceValue);
}

void make_resident(struct driver *driver, const struct buffer *buffer)
{
    make_all_resident(driver, &buffer->handle, 1);
}

void evict_all(struct driver *driver, const D3DKMT_HANDLE *handles, unsigned count)
{
    D3DKMT_EVICT call = {
        .hDevice = driver->device, .NumAllocations = count, .AllocationList = handles};

    must("Evict", D3DKMTEvict(&call));
}

void evict(struct driver *driver, const struct buffer *buffer)
{
    evict_all(driver, &buffer->handle, 1);
}

void destroy(struct driver *driver, const struct buffer *buffer)
{
    const D3DKMT_DESTROYALLOCATION2 call = {.hDevice = driver->device,
                                            .phAllocationList = &buffer->handle,
                                            .AllocationCount = 1,
                                            .Flags = {{{.AssumeNotInUse = 1}}}};

    must("DestroyAllocation2", D3DKMTDestroyAllocation2(&call));
}

void start(struct driver *driver)
{
    D3DKMT_CREATEDEVICE device = {.hAdapter = adapter};
    D3DKMT_CREATEPAGINGQUEUE queue = {0};
    D3DKMT_CREATECONTEXTVIRTUAL context = {.NodeOrdinal = SGPU_NODE_COPY};
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = {.Info = {.Type = D3DDDI_MONITORED_FENCE}};
    D3DKMT_LOCK2 lock = {0};
    struct buffer commands;

    memset(driver, 0, sizeof *driver);
    must("CreateDevice", D3DKMTCreateDevice(&device));
    driver->device = queue.hDevice = context.hDevice = fence.hDevice = lock.hDevice =
        device.hDevice;
    must("CreatePagingQueue", D3DKMTCreatePagingQueue(&queue));
    driver->queue = queue.hPagingQueue;
    driver->queue_fence = queue.hSyncObject;
    driver->paging = queue.FenceValueCPUVirtualAddress;
    must("CreateContextVirtual", D3DKMTCreateContextVirtual(&context));
    driver->context = context.hContext;
    must("CreateSynchronizationObject2", D3DKMTCreateSynchronizationObject2(&fence));
    driver->fence = fence.hSyncObject;
    driver->done = fence.Info.MonitoredFence.FenceValueCPUVirtualAddress;
    driver->fence_va = fence.Info.MonitoredFence.FenceValueGPUVirtualAddress;
    commands = create(driver, SGPU_UMD_APERTURE_ONLY | SGPU_UMD_CPU_VISIBLE, COMMAND_BYTES, NULL);
    driver->commands = lock.hAllocation = commands.handle;
    must("Lock2", D3DKMTLock2(&lock));
    driver->memory = lock.pData;
    map(driver, &commands, (uintptr_t)driver->memory); /* where the CPU sees it */
    make_resident(driver, &commands);
}

/* Starts copies; the driver's fence has the value behind them. */
uint64_t copy_all(struct driver *driver, const struct move *moves, unsigned count)
{
    struct {
        struct sgpu_packet_copy copies[MOST_MOVES];
        struct sgpu_packet_fence fence; /* right behind the last copy */
    } packets;
    const size_t bytes = count * sizeof packets.copies[0];
    const struct sgpu_packet_fence fence = {.header =
                                                SGPU_PACKET_HEADER(SGPU_OP_FENCE, sizeof fence / 4),
                                            .address = driver->fence_va,
                                            .value = ++driver->value};
    D3DKMT_SUBMITCOMMAND call = {.CommandLength = (UINT)(bytes + sizeof fence),
                                 .BroadcastContextCount = 1};

    for (unsigned i = 0; i < count; i++)
        packets.copies[i] = (struct sgpu_packet_copy){
            .header = SGPU_PACKET_HEADER(SGPU_OP_COPY, sizeof packets.copies[i] / 4),
            .source = moves[i].from,
            .destination = moves[i].to,
            .bytes = moves[i].bytes};
    memcpy(driver->memory + driver->at, packets.copies, bytes);
    memcpy(driver->memory + driver->at + bytes, &fence, sizeof fence);
    call.Commands = (uintptr_t)driver->memory + driver->at;
    call.BroadcastContext[0] = driver->context;
    driver->at = (driver->at + COMMAND_SLOT) % COMMAND_BYTES;
    must("SubmitCommand", D3DKMTSubmitCommand(&call));
    return driver->value;
}

uint64_t copy(struct driver *driver, uint64_t to, uint64_t from, uint64_t bytes)
{
    const struct move move = {to, from, bytes};

    return copy_all(driver, &move, 1);
}

/* Work that is submitted from here on waits until let_go(). */
void hold(struct driver *driver)
{
    const UINT64 value = 1;
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 gate = {.Info = {.Type = D3DDDI_MONITORED_FENCE}};
    D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU wait = {
        .ObjectCount = 1, .ObjectHandleArray = &driver->gate, .MonitoredFenceValueArray = &value};

    gate.hDevice = driver->device;
    must("CreateSynchronizationObject2", D3DKMTCreateSynchronizationObject2(&gate));
    driver->gate = gate.hSyncObject;
    wait.hContext = driver->context;
    must("WaitForSynchronizationObjectFromGpu", D3DKMTWaitForSynchronizationObjectFromGpu(&wait));
}

void let_go(struct driver *driver)
{
    const UINT64 value = 1;

    must("SignalSynchronizationObjectFromCpu",
         D3DKMTSignalSynchronizationObjectFromCpu(
             &(D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU){.hDevice = driver->device,
                                                          .ObjectCount = 1,
                                                          .ObjectHandleArray = &driver->gate,
                                                          .FenceValueArray = &value}));
}

/* One transfer between the application's memory and a buffer, by the GPU. */
void transfer(struct driver *driver, const struct buffer *buffer, uint8_t *memory, int is_read)
{
    struct buffer host =
        create(driver, SGPU_UMD_EXISTING | SGPU_UMD_APERTURE_ONLY, buffer->bytes, memory);

    map(driver, &host, 0);
    make_resident(driver, &host);
    make_resident(driver, buffer);
    mprotect(memory, buffer->bytes, PROT_NONE);
    wait_until(driver, driver->fence,
               is_read ? copy(driver, host.va, buffer->va, buffer->bytes)
                       : copy(driver, buffer->va, host.va, buffer->bytes));
    mprotect(memory, buffer->bytes, PROT_READ | PROT_WRITE);
    evict(driver, buffer);
    destroy(driver, &host);
}
