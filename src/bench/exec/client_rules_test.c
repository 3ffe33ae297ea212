/*
 * Each rule of clients that is evaluated: a client that breaks it, and that rule alone is told; and
 * the nearest client that keeps it, of which nothing is told.
 */
#include "bench/exec/test_client.h"

#include <stdlib.h>
#include <string.h>

#define MIB     (UINT64_C(1) << 20)
#define FREE_VA UINT64_C(0x200000000000) /* nobody chooses addresses there */

/* ---- The client ------------------------------------------------------------------------------ */

struct world {
    struct exec_session *session;
    struct test_client client;
    struct test_buffer a, b; /* visible, in system memory; mapped and resident */
    bool breaks;
};

static void make_of(struct world *world, uint32_t flags, uint64_t bytes, struct test_buffer *out)
{
    test_resident_buffer(&world->client, flags, bytes, out);
}

static void make(struct world *world, uint32_t flags, struct test_buffer *out)
{
    make_of(world, flags, MIB, out);
}

/* A copy, and the fence behind it; gives the fence's value. Nothing runs before time passes. */
static uint64_t copy(struct world *world)
{
    return test_copy(&world->client, world->b.va, world->a.va, MIB);
}

static void finish(struct world *world, uint64_t value)
{
    test_wait_fence(&world->client, value);
}

static NTSTATUS ask(struct world *world, const struct test_buffer *buffer, UINT flags, UINT count,
                    UINT64 *out_value)
{
    D3DDDI_MAKERESIDENT resident = {.hPagingQueue = world->client.queue,
                                    .NumAllocations = count,
                                    .AllocationList = &buffer->handle,
                                    .Flags = {{.Value = flags}}};
    NTSTATUS status = TEST_CALL(&world->client, MakeResident, &resident);

    if (out_value)
        *out_value = resident.PagingFenceValue;
    return status;
}

static D3DKMT_HANDLE second_device(struct world *world)
{
    D3DKMT_CREATEDEVICE create = {0};

    create.hAdapter = world->client.adapter;
    assert_int_equal(TEST_CALL(&world->client, CreateDevice, &create), STATUS_SUCCESS);
    return create.hDevice;
}

static NTSTATUS signal_by_cpu(struct world *world, D3DKMT_HANDLE fence, UINT64 value, UINT count)
{
    return TEST_CALL(&world->client, SignalSynchronizationObjectFromCpu,
                     &((D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU){.hDevice = world->client.device,
                                                                   .ObjectCount = count,
                                                                   .ObjectHandleArray = &fence,
                                                                   .FenceValueArray = &value}));
}

static void wait_in(struct world *world, D3DKMT_HANDLE context, D3DKMT_HANDLE fence, UINT64 value)
{
    assert_int_equal(TEST_CALL(&world->client, WaitForSynchronizationObjectFromGpu,
                               &((D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU){
                                   .hContext = context,
                                   .ObjectCount = 1,
                                   .ObjectHandleArray = &fence,
                                   .MonitoredFenceValueArray = &value})),
                     STATUS_SUCCESS);
}

static void wait_by_gpu(struct world *world, D3DKMT_HANDLE fence, UINT64 value)
{
    wait_in(world, world->client.context, fence, value);
}

static D3DKMT_HANDLE make_fence(struct world *world)
{
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 create = {.Info.Type = D3DDDI_MONITORED_FENCE};

    create.hDevice = world->client.device;
    assert_int_equal(TEST_CALL(&world->client, CreateSynchronizationObject2, &create),
                     STATUS_SUCCESS);
    return create.hSyncObject;
}

static NTSTATUS offer(struct world *world, const D3DKMT_HANDLE *handles, UINT count,
                      D3DKMT_OFFER_PRIORITY priority, D3DKMT_HANDLE *resources)
{
    return TEST_CALL(&world->client, OfferAllocations,
                     &((D3DKMT_OFFERALLOCATIONS){.hDevice = world->client.device,
                                                 .HandleList = handles,
                                                 .pResources = resources,
                                                 .NumAllocations = count,
                                                 .Priority = priority}));
}

static NTSTATUS reclaim(struct world *world, const D3DKMT_HANDLE *handle, UINT64 *out_value)
{
    D3DDDI_RECLAIM_RESULT result;
    D3DKMT_RECLAIMALLOCATIONS2 arguments = {.hPagingQueue = world->client.queue,
                                            .NumAllocations = 1,
                                            .HandleList = handle,
                                            .pResults = &result};
    NTSTATUS status = TEST_CALL(&world->client, ReclaimAllocations2, &arguments);

    *out_value = arguments.PagingFenceValue;
    return status;
}

static NTSTATUS destroy(struct world *world, const struct test_buffer *buffer)
{
    return TEST_CALL(&world->client, DestroyAllocation2,
                     &((D3DKMT_DESTROYALLOCATION2){.hDevice = world->client.device,
                                                   .phAllocationList = &buffer->handle,
                                                   .AllocationCount = 1,
                                                   .Flags = {{{.AssumeNotInUse = 1}}}}));
}

/* ---- Residency ------------------------------------------------------------------------------- */

static void NOT_RESIDENT(struct world *world)
{
    struct test_buffer to;

    assert_int_equal(test_create(&world->client, SGPU_UMD_NO_APERTURE, MIB, NULL, &to),
                     STATUS_SUCCESS);
    test_map(&world->client, &to, 0);
    if (!world->breaks)
        assert_true(NT_SUCCESS(test_make_resident(&world->client, &to)));
    test_copy(&world->client, to.va, world->a.va, MIB);
    test_let_run(world->session);
}

static void BEFORE_RESIDENT(struct world *world)
{
    struct test_buffer to;
    UINT64 value;

    assert_int_equal(test_create(&world->client, SGPU_UMD_NO_APERTURE, MIB, NULL, &to),
                     STATUS_SUCCESS);
    test_map(&world->client, &to, 0);
    assert_int_equal(ask(world, &to, 0, 1, &value), STATUS_PENDING);
    if (!world->breaks)
        wait_by_gpu(world, world->client.queue_fence, value);
    test_copy(&world->client, to.va, world->a.va, MIB);
    test_let_run(world->session);
}

static void EVICT_COUNT(struct world *world)
{
    assert_int_equal(test_evict(&world->client, &world->a), STATUS_SUCCESS);
    if (world->breaks)
        test_evict(&world->client, &world->a);
}

static void EVICT_IN_USE(struct world *world)
{
    const uint64_t value = copy(world);

    if (!world->breaks)
        finish(world, value);
    assert_int_equal(test_evict(&world->client, &world->a), STATUS_SUCCESS);
    finish(world, value);
}

static void MUST_SUCCEED(struct world *world)
{
    assert_true(NT_SUCCESS(ask(world, &world->a, world->breaks ? 2 : 3, 1, NULL)));
}

static void RESERVED_FLAGS(struct world *world)
{
    ask(world, &world->a, world->breaks ? 1u << 9 : 0, 1, NULL);
}

static void OTHER_QUEUE(struct world *world)
{
    D3DKMT_CREATEPAGINGQUEUE create = {.hDevice = second_device(world)};
    D3DDDI_MAKERESIDENT resident = {.NumAllocations = 1, .AllocationList = &world->a.handle};

    assert_int_equal(TEST_CALL(&world->client, CreatePagingQueue, &create), STATUS_SUCCESS);
    resident.hPagingQueue = world->breaks ? create.hPagingQueue : world->client.queue;
    TEST_CALL(&world->client, MakeResident, &resident);
}

/* Of 16 MiB so much is held that another buffer's 4 MiB are refused. */
static void be_refused(struct world *world, struct test_buffer *large, struct test_buffer *buffer)
{
    UINT64 value;

    make_of(world, SGPU_UMD_NO_APERTURE, 14 * MIB, large);
    assert_int_equal(test_create(&world->client, SGPU_UMD_NO_APERTURE, 4 * MIB, NULL, buffer),
                     STATUS_SUCCESS);
    assert_int_equal(ask(world, buffer, 0, 1, &value), STATUS_GRAPHICS_NO_VIDEO_MEMORY);
}

static void REFUSED_EVICTED(struct world *world)
{
    struct test_buffer large, buffer;

    be_refused(world, &large, &buffer);
    test_evict(&world->client, world->breaks ? &buffer : &large);
}

static void ASKED_AGAIN(struct world *world)
{
    struct test_buffer large, buffer;
    UINT64 value;

    be_refused(world, &large, &buffer);
    if (!world->breaks)
        assert_int_equal(test_evict(&world->client, &large), STATUS_SUCCESS);
    ask(world, &buffer, 0, 1, &value);
    test_let_run(world->session);
}

static void EMPTY_LIST(struct world *world)
{
    ask(world, &world->a, 0, world->breaks ? 0 : 1, NULL);
}

static void TRIM_LEFT(struct world *world)
{
    D3DKMT_REGISTERTRIMNOTIFICATION begin = {
        .AdapterLuid = {.LowPart = EXEC_LUID_LOW, .HighPart = EXEC_LUID_HIGH}};
    D3DKMT_UNREGISTERTRIMNOTIFICATION end = {0};

    begin.hDevice = second_device(world);
    assert_int_equal(TEST_CALL(&world->client, RegisterTrimNotification, &begin), STATUS_SUCCESS);
    end.Handle = begin.Handle;
    if (!world->breaks)
        assert_int_equal(TEST_CALL(&world->client, UnregisterTrimNotification, &end),
                         STATUS_SUCCESS);
    assert_int_equal(
        TEST_CALL(&world->client, DestroyDevice, &((D3DKMT_DESTROYDEVICE){begin.hDevice})),
        STATUS_SUCCESS);
}

static void RESERVATION(struct world *world)
{
    TEST_CALL(&world->client, ChangeVideoMemoryReservation,
              &((D3DKMT_CHANGEVIDEOMEMORYRESERVATION){
                  .hAdapter = world->client.adapter,
                  .MemorySegmentGroup = D3DKMT_MEMORY_SEGMENT_GROUP_LOCAL,
                  .Reservation = world->breaks ? 1024 * MIB : MIB}));
}

static void OTHER_PROCESS(struct world *world)
{
    TEST_CALL(
        &world->client, QueryVideoMemoryInfo,
        &((D3DKMT_QUERYVIDEOMEMORYINFO){.hProcess = world->breaks ? (HANDLE)(uintptr_t)1 : NULL,
                                        .hAdapter = world->client.adapter,
                                        .MemorySegmentGroup = D3DKMT_MEMORY_SEGMENT_GROUP_LOCAL}));
}

/* ---- Addresses ------------------------------------------------------------------------------- */

static void UNMAPPED(struct world *world)
{
    test_copy(&world->client, world->breaks ? world->b.va + 64 * 1024 * MIB : world->b.va,
              world->a.va, MIB);
    test_let_run(world->session);
}

static void BEFORE_MAPPED(struct world *world)
{
    D3DDDI_MAPGPUVIRTUALADDRESS map = {.hPagingQueue = world->client.queue,
                                       .hAllocation = world->b.handle,
                                       .SizeInPages = MIB / 4096,
                                       .Protection = {.Write = 1}};

    assert_int_equal(TEST_CALL(&world->client, MapGpuVirtualAddress, &map), STATUS_PENDING);
    if (!world->breaks)
        test_wait_paging(&world->client, map.PagingFenceValue);
    test_copy(&world->client, map.VirtualAddress, world->a.va, MIB);
    test_let_run(world->session);
}

static void map_of_a(struct world *world, uint64_t base, uint64_t offset, uint64_t size, bool write)
{
    D3DDDI_MAPGPUVIRTUALADDRESS map = {.hPagingQueue = world->client.queue,
                                       .BaseAddress = base,
                                       .hAllocation = world->a.handle,
                                       .OffsetInPages = offset,
                                       .SizeInPages = size,
                                       .Protection = {.Write = write}};

    if (NT_SUCCESS(TEST_CALL(&world->client, MapGpuVirtualAddress, &map)))
        test_wait_paging(&world->client, map.PagingFenceValue);
}

static void MAP_ALIGNMENT(struct world *world)
{
    map_of_a(world, UINT64_C(0x700000000000) + (world->breaks ? 512 : 0), 0, 16, true);
}

static void MAP_RANGE(struct world *world)
{
    map_of_a(world, 0, 16, world->breaks ? 256 : 240, true);
}

static void free_range(struct world *world, uint64_t start, uint64_t size)
{
    TEST_CALL(&world->client, FreeGpuVirtualAddress,
              &((D3DKMT_FREEGPUVIRTUALADDRESS){
                  .hAdapter = world->client.adapter, .BaseAddress = start, .Size = size}));
}

static void FREE_ALIGNMENT(struct world *world)
{
    free_range(world, world->a.va, world->breaks ? MIB - 512 : MIB);
}

static void FREE_IN_USE(struct world *world)
{
    const uint64_t value = copy(world);

    if (!world->breaks)
        finish(world, value);
    free_range(world, world->a.va, MIB);
    test_let_run(world->session);
}

static void READ_ONLY(struct world *world)
{
    const uint64_t va = UINT64_C(0x700000000000);

    map_of_a(world, va, 0, 256, !world->breaks);
    test_copy(&world->client, va, world->b.va, MIB);
    test_let_run(world->session);
}

static NTSTATUS map_at(struct world *world, uint64_t va, D3DKMT_HANDLE allocation, bool is_zero)
{
    D3DDDI_MAPGPUVIRTUALADDRESS map = {
        .hPagingQueue = world->client.queue,
        .BaseAddress = va,
        .hAllocation = allocation,
        .SizeInPages = MIB / 4096,
        .Protection = {.Write = !is_zero, .Zero = is_zero},
    };

    return TEST_CALL(&world->client, MapGpuVirtualAddress, &map);
}

static NTSTATUS reserve(struct world *world, uint64_t va, uint64_t minimum, uint64_t maximum)
{
    D3DDDI_RESERVEGPUVIRTUALADDRESS arguments = {.hAdapter = world->client.adapter,
                                                 .BaseAddress = va,
                                                 .MinimumAddress = minimum,
                                                 .MaximumAddress = maximum,
                                                 .Size = MIB};

    return TEST_CALL(&world->client, ReserveGpuVirtualAddress, &arguments);
}

static void MAP_OVER_SYSTEM(struct world *world)
{
    map_at(world, world->breaks ? world->client.fence_va & ~UINT64_C(4095) : FREE_VA,
           world->b.handle, false);
    test_let_run(world->session);
}

static void RESERVE_TWICE(struct world *world)
{
    assert_int_equal(reserve(world, FREE_VA, 0, 0), STATUS_SUCCESS);
    reserve(world, world->breaks ? FREE_VA + MIB / 2 : FREE_VA + MIB, 0, 0);
}

static void ZERO_OVER_ALLOCATION(struct world *world)
{
    map_at(world, world->breaks ? world->a.va : FREE_VA, 0, true);
}

static void FREE_NOTHING(struct world *world)
{
    assert_int_equal(reserve(world, FREE_VA, 0, 0), STATUS_SUCCESS);
    TEST_CALL(
        &world->client, FreeGpuVirtualAddress,
        &((D3DKMT_FREEGPUVIRTUALADDRESS){.hAdapter = world->client.adapter,
                                         .BaseAddress = world->breaks ? FREE_VA + MIB : FREE_VA,
                                         .Size = MIB}));
}

static void NO_ROOM_BETWEEN(struct world *world)
{
    reserve(world, 0, FREE_VA, FREE_VA + (world->breaks ? MIB / 2 : 4 * MIB));
}

static void TILES_NOT_RESERVED(struct world *world)
{
    D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION operation = {
        .OperationType = D3DDDI_UPDATEGPUVIRTUALADDRESS_UNMAP,
        .Unmap = {.BaseAddress = world->breaks ? FREE_VA + MIB / 2 : FREE_VA, .SizeInBytes = MIB}};

    assert_int_equal(reserve(world, FREE_VA, 0, 0), STATUS_SUCCESS);
    TEST_CALL(&world->client, UpdateGpuVirtualAddress,
              &((D3DKMT_UPDATEGPUVIRTUALADDRESS){.hDevice = world->client.device,
                                                 .hContext = world->client.context,
                                                 .NumOperations = 1,
                                                 .Operations = &operation}));
    test_let_run(world->session);
}

static void ADDRESS_IN_USE(struct world *world)
{
    const uint64_t value = copy(world);

    if (!world->breaks)
        finish(world, value);
    map_at(world, world->a.va, world->b.handle, false);
    finish(world, value);
}

/* ---- Submissions ----------------------------------------------------------------------------- */

static NTSTATUS submit(struct world *world, UINT contexts, uint64_t va, UINT bytes)
{
    return TEST_CALL(&world->client, SubmitCommand,
                     &((D3DKMT_SUBMITCOMMAND){.Commands = va,
                                              .CommandLength = bytes,
                                              .BroadcastContextCount = contexts,
                                              .BroadcastContext = {world->client.context}}));
}

static void put_nop(struct world *world, UINT words)
{
    const uint64_t header = SGPU_PACKET_HEADER(SGPU_OP_NOP, words);

    memset(world->client.command_memory, 0, 64);
    memcpy(world->client.command_memory, &header, sizeof header);
}

static void NO_CONTEXT(struct world *world)
{
    put_nop(world, 4);
    submit(world, world->breaks ? 0 : 1, world->client.command_va, 16);
    test_let_run(world->session);
}

static void COMMANDS_UNMAPPED(struct world *world)
{
    put_nop(world, 4);
    submit(world, 1, world->client.command_va + (world->breaks ? UINT64_C(1) << 40 : 0), 16);
    test_let_run(world->session);
}

static void BROKEN_BATCH(struct world *world)
{
    put_nop(world, world->breaks ? 400 : 4);
    submit(world, 1, world->client.command_va, 16);
    test_let_run(world->session);
}

/* The reference driver wants none. */
static void PRIVATE_DATA(struct world *world)
{
    const uint32_t nop[2] = {SGPU_PACKET_HEADER(SGPU_OP_NOP, 2)};
    uint64_t data = 0;
    D3DKMT_SUBMITCOMMAND submit = {.Commands = world->client.command_va,
                                   .CommandLength = sizeof nop,
                                   .BroadcastContextCount = 1,
                                   .BroadcastContext = {world->client.context},
                                   .pPrivateDriverData = &data};

    memcpy(world->client.command_memory, nop, sizeof nop);
    submit.PrivateDriverDataSize = world->breaks ? sizeof data : 0;
    assert_int_equal(TEST_CALL(&world->client, SubmitCommand, &submit),
                     world->breaks ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS);
    test_let_run(world->session);
}

static void COMMANDS_CHANGED(struct world *world)
{
    const uint64_t at = world->client.command_head, value = copy(world);

    if (!world->breaks)
        finish(world, value);
    world->client.command_memory[at + 40]++; /* padding of the fence's flags: it does no harm */
    ask(world, &world->a, 0, 1, NULL);
    world->client.command_memory[at + 40]--;
    finish(world, value);
}

static void MEMORY_CHANGED(struct world *world)
{
    uint8_t *memory = aligned_alloc(65536, MIB);
    struct test_buffer host;
    uint64_t value;

    assert_non_null(memory);
    memset(memory, 1, MIB);
    assert_int_equal(
        test_create(&world->client, SGPU_UMD_EXISTING | SGPU_UMD_APERTURE_ONLY, MIB, memory, &host),
        STATUS_SUCCESS);
    test_map(&world->client, &host, 0);
    assert_true(NT_SUCCESS(test_make_resident(&world->client, &host)));
    value = test_copy(&world->client, world->b.va, host.va, MIB);
    if (!world->breaks)
        finish(world, value);
    memory[100] = 2;
    test_evict(&world->client, &world->a);
    finish(world, value);
    test_destroy(&world->client, &host);
    test_let_run(world->session);
    free(memory);
}

static void LOST_DEVICE(struct world *world)
{
    const uint64_t nothing_known = SGPU_PACKET_HEADER(0x7f, 4);

    memcpy(world->client.command_memory, &nothing_known, sizeof nothing_known);
    submit(world, 1, world->client.command_va, 16); /* the device is lost by it */
    test_let_run(world->session);
    for (unsigned i = 0; i < (world->breaks ? 2u : 1u); i++)
        assert_int_equal(submit(world, 1, world->client.command_va, 16), STATUS_DEVICE_REMOVED);
}

/* ---- Fences ---------------------------------------------------------------------------------- */

static void NEVER_SIGNALLED(struct world *world)
{
    const D3DKMT_HANDLE fence = make_fence(world);

    wait_by_gpu(world, fence, 2);
    assert_int_equal(signal_by_cpu(world, fence, world->breaks ? 1 : 2, 1), STATUS_SUCCESS);
    test_let_run(world->session);
}

static void FENCE_FALLS(struct world *world)
{
    const D3DKMT_HANDLE fence = make_fence(world);

    assert_int_equal(signal_by_cpu(world, fence, 5, 1), STATUS_SUCCESS);
    assert_int_equal(signal_by_cpu(world, fence, world->breaks ? 4 : 6, 1), STATUS_SUCCESS);
    if (world->breaks)
        return;
    assert_int_equal(TEST_CALL(&world->client, SignalSynchronizationObjectFromCpu,
                               &((D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU){
                                   .hDevice = world->client.device,
                                   .ObjectCount = 1,
                                   .ObjectHandleArray = &fence,
                                   .FenceValueArray = &(const UINT64){2},
                                   .Flags = {{{.AllowFenceRewind = 1}}}})),
                     STATUS_SUCCESS);
    assert_int_equal(signal_by_cpu(world, fence, 3, 1), STATUS_SUCCESS);
}

static void SIGNALS_PAGING(struct world *world)
{
    signal_by_cpu(world, world->breaks ? world->client.queue_fence : make_fence(world), 1000, 1);
}

static void FENCE_BY_CPU(struct world *world)
{
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 create = {.Info.Type = D3DDDI_MONITORED_FENCE};

    create.hDevice = world->client.device;
    assert_int_equal(TEST_CALL(&world->client, CreateSynchronizationObject2, &create),
                     STATUS_SUCCESS);
    if (world->breaks)
        *(UINT64 *)create.Info.MonitoredFence.FenceValueCPUVirtualAddress = 7;
    else
        assert_int_equal(signal_by_cpu(world, create.hSyncObject, 7, 1), STATUS_SUCCESS);
    TEST_CALL(&world->client, DestroySynchronizationObject,
              &((D3DKMT_DESTROYSYNCHRONIZATIONOBJECT){create.hSyncObject}));
}

/* A wait that is over, or that has gone with its context, is none any more. */
static void FENCE_AWAITED(struct world *world)
{
    const D3DKMT_HANDLE fence = make_fence(world), other = test_make_context(&world->client, false);

    wait_in(world, other, fence, 2);
    assert_int_equal(TEST_CALL(&world->client, DestroyContext, &((D3DKMT_DESTROYCONTEXT){other})),
                     STATUS_SUCCESS);
    wait_by_gpu(world, fence, 1);
    if (!world->breaks)
        assert_int_equal(signal_by_cpu(world, fence, 1, 1), STATUS_SUCCESS);
    else
        world->client.next_value = 0; /* nothing more is submitted */
    assert_int_equal(TEST_CALL(&world->client, DestroySynchronizationObject,
                               &((D3DKMT_DESTROYSYNCHRONIZATIONOBJECT){fence})),
                     STATUS_SUCCESS);
}

static void PAGING_FENCE_GOES(struct world *world)
{
    TEST_CALL(&world->client, DestroySynchronizationObject,
              &((D3DKMT_DESTROYSYNCHRONIZATIONOBJECT){world->breaks ? world->client.queue_fence
                                                                    : make_fence(world)}));
}

static void OBJECT_COUNT(struct world *world)
{
    signal_by_cpu(world, make_fence(world), 1, world->breaks ? 0 : 1);
}

/* ---- Allocations ----------------------------------------------------------------------------- */

static NTSTATUS unlock(struct world *world, D3DKMT_HANDLE handle)
{
    return TEST_CALL(&world->client, Unlock2,
                     &((D3DKMT_UNLOCK2){.hDevice = world->client.device, .hAllocation = handle}));
}

static void LOST_VALUE(struct world *world)
{
    const D3DKMT_HANDLE fence = make_fence(world);

    assert_int_equal(signal_by_cpu(world, fence, UINT64_MAX - !world->breaks, 1), STATUS_SUCCESS);
}

/* Beyond the first page, and seen at the next lock. */
static void WRITTEN_HIDDEN(struct world *world)
{
    uint8_t *memory = test_lock(&world->client, &world->a);

    if (world->breaks)
        assert_int_equal(unlock(world, world->a.handle), STATUS_SUCCESS);
    memory[5000] = 1;
    if (!world->breaks)
        assert_int_equal(unlock(world, world->a.handle), STATUS_SUCCESS);
    test_lock(&world->client, &world->b);
    assert_int_equal(unlock(world, world->b.handle), STATUS_SUCCESS);
}

static void LOCK_LEFT(struct world *world)
{
    test_lock(&world->client, &world->a);
    if (!world->breaks)
        assert_int_equal(unlock(world, world->a.handle), STATUS_SUCCESS);
    assert_int_equal(destroy(world, &world->a), STATUS_SUCCESS);
}

static void NOT_LOCKED(struct world *world)
{
    if (!world->breaks)
        test_lock(&world->client, &world->a);
    unlock(world, world->a.handle);
}

static void NOT_VISIBLE(struct world *world)
{
    struct test_buffer hidden;
    D3DKMT_LOCK2 lock = {.hDevice = world->client.device};

    assert_int_equal(test_create(&world->client, SGPU_UMD_NO_APERTURE, MIB, NULL, &hidden),
                     STATUS_SUCCESS);
    lock.hAllocation = world->breaks ? hidden.handle : world->a.handle;
    if (NT_SUCCESS(TEST_CALL(&world->client, Lock2, &lock)))
        assert_int_equal(unlock(world, lock.hAllocation), STATUS_SUCCESS);
}

static void DESTROY_IN_USE(struct world *world)
{
    const uint64_t value = copy(world);

    if (!world->breaks)
        finish(world, value);
    assert_int_equal(destroy(world, &world->a), STATUS_SUCCESS);
    test_let_run(world->session);
}

static void OLD_HANDLE(struct world *world)
{
    if (world->breaks)
        assert_int_equal(destroy(world, &world->a), STATUS_SUCCESS);
    ask(world, &world->a, 0, 1, NULL);
}

static void LIST_AND_RESOURCE(struct world *world)
{
    TEST_CALL(&world->client, DestroyAllocation2,
              &((D3DKMT_DESTROYALLOCATION2){.hDevice = world->client.device,
                                            .hResource = world->breaks ? 0x77 : 0,
                                            .phAllocationList = &world->a.handle,
                                            .AllocationCount = 1}));
}

static void OTHER_DEVICE(struct world *world)
{
    TEST_CALL(
        &world->client, Evict,
        &((D3DKMT_EVICT){.hDevice = world->breaks ? second_device(world) : world->client.device,
                         .NumAllocations = 1,
                         .AllocationList = &world->a.handle}));
}

static void NAMED_TWICE(struct world *world)
{
    const D3DKMT_HANDLE handles[2] = {world->a.handle,
                                      world->breaks ? world->a.handle : world->b.handle};

    offer(world, handles, 2, D3DKMT_OFFER_PRIORITY_LOW, NULL);
}

static void TWO_LISTS(struct world *world)
{
    D3DKMT_HANDLE handle = world->a.handle;

    offer(world, &handle, 1, D3DKMT_OFFER_PRIORITY_LOW, world->breaks ? &handle : NULL);
}

static void OFFERED_USED(struct world *world)
{
    UINT64 value;

    assert_int_equal(offer(world, &world->a.handle, 1, D3DKMT_OFFER_PRIORITY_LOW, NULL),
                     STATUS_SUCCESS);
    if (!world->breaks) {
        assert_true(NT_SUCCESS(reclaim(world, &world->a.handle, &value)));
        test_wait_paging(&world->client, value);
    }
    copy(world);
    test_let_run(world->session);
}

static void NOT_OFFERED(struct world *world)
{
    UINT64 value;

    if (!world->breaks)
        assert_int_equal(offer(world, &world->a.handle, 1, D3DKMT_OFFER_PRIORITY_LOW, NULL),
                         STATUS_SUCCESS);
    reclaim(world, &world->a.handle, &value);
}

/* Something large takes the room of what is offered; the offer is taken back. */
static UINT64 lose_content(struct world *world, struct test_buffer *buffer)
{
    struct test_buffer large;
    UINT64 value;

    make(world, SGPU_UMD_NO_APERTURE, buffer);
    assert_int_equal(offer(world, &buffer->handle, 1, D3DKMT_OFFER_PRIORITY_LOW, NULL),
                     STATUS_SUCCESS);
    assert_int_equal(test_create(&world->client, SGPU_UMD_NO_APERTURE, 15 * MIB, NULL, &large),
                     STATUS_SUCCESS);
    test_map(&world->client, &large, 0);
    assert_true(NT_SUCCESS(ask(world, &large, 1, 1, &value)));
    test_wait_paging(&world->client, value);
    assert_int_equal(test_evict(&world->client, &large), STATUS_SUCCESS);
    test_let_run(world->session);
    assert_int_equal(reclaim(world, &buffer->handle, &value), STATUS_PENDING);
    return value;
}

static void DISCARDED_READ(struct world *world)
{
    struct test_buffer buffer;

    test_wait_paging(&world->client, lose_content(world, &buffer));
    if (!world->breaks)
        test_copy(&world->client, buffer.va, world->a.va, MIB);
    test_copy(&world->client, world->a.va, buffer.va, MIB);
    test_let_run(world->session);
}

static void BEFORE_RECLAIMED(struct world *world)
{
    struct test_buffer buffer;
    const UINT64 value = lose_content(world, &buffer);

    if (!world->breaks)
        wait_by_gpu(world, world->client.queue_fence, value);
    test_copy(&world->client, buffer.va, world->a.va, MIB);
    test_let_run(world->session);
}

static void OFFER_PRIORITY(struct world *world)
{
    offer(world, &world->a.handle, 1, (D3DKMT_OFFER_PRIORITY)(world->breaks ? 5 : 4), NULL);
}

static void PRIORITY_ZERO(struct world *world)
{
    const UINT priority = world->breaks ? 0 : 0x78000000;

    TEST_CALL(&world->client, SetAllocationPriority,
              &((D3DKMT_SETALLOCATIONPRIORITY){.hDevice = world->client.device,
                                               .phAllocationList = &world->a.handle,
                                               .AllocationCount = 1,
                                               .pPriorities = &priority}));
}

static void DEVICES_LEFT(struct world *world)
{
    D3DKMT_OPENADAPTERFROMLUID open = {
        .AdapterLuid = {.LowPart = EXEC_LUID_LOW, .HighPart = EXEC_LUID_HIGH}};
    D3DKMT_CREATEDEVICE create = {0};

    assert_int_equal(TEST_CALL(&world->client, OpenAdapterFromLuid, &open), STATUS_SUCCESS);
    create.hAdapter = open.hAdapter;
    assert_int_equal(TEST_CALL(&world->client, CreateDevice, &create), STATUS_SUCCESS);
    if (!world->breaks)
        assert_int_equal(
            TEST_CALL(&world->client, DestroyDevice, &((D3DKMT_DESTROYDEVICE){create.hDevice})),
            STATUS_SUCCESS);
    assert_int_equal(
        TEST_CALL(&world->client, CloseAdapter, &((D3DKMT_CLOSEADAPTER){open.hAdapter})),
        STATUS_SUCCESS);
}

static void EVICT_GONE(struct world *world)
{
    ask(world, &world->a, 0, 1, NULL);
    if (world->breaks) {
        assert_int_equal(destroy(world, &world->a), STATUS_SUCCESS);
        assert_false(NT_SUCCESS(test_evict(&world->client, &world->a)));
    } else {
        assert_int_equal(test_evict(&world->client, &world->a), STATUS_SUCCESS);
    }
}

/* ---- All of them ----------------------------------------------------------------------------- */

/* Those of hardware queues, of sharing and of events are in client_queue_rules_test.c,
 * client_sharing_rules_test.c and client_event_rules_test.c. */
static void (*const players[CLIENT_RULE_COUNT])(struct world *world) = {
#define RULE(name, id, text) [CLIENT_RULE_##name] = name,
#define QUEUE_RULE(name, id, text)
#define SHARING_RULE(name, id, text)
#define EVENT_RULE(name, id, text)
#include "bench/exec/client_rules.inc"
#undef RULE
};

static enum client_rule current;
static bool breaks_it;

static void play(struct exec_session *session)
{
    struct world world = {.session = session, .breaks = breaks_it};

    test_client_start(&world.client, session);
    make(&world, SGPU_UMD_APERTURE_ONLY | SGPU_UMD_CPU_VISIBLE, &world.a);
    make(&world, SGPU_UMD_APERTURE_ONLY | SGPU_UMD_CPU_VISIBLE, &world.b);
    players[current](&world);
    test_client_close(&world.client);
}

static void each_rule_is_told_when_it_is_broken(void **state)
{
    unsigned wrong = 0;

    breaks_it = true;
    for (unsigned rule = 0; rule < CLIENT_RULE_COUNT; rule++) {
        if (!players[rule])
            continue;
        current = rule;
        test_on_board_that_may_fault(16 * MIB, play);
        wrong += test_told_wrongly(current, breaks_it);
    }
    assert_int_equal(wrong, 0);
}

static void nothing_is_told_of_who_keeps_it(void **state)
{
    unsigned wrong = 0;

    breaks_it = false;
    for (unsigned rule = 0; rule < CLIENT_RULE_COUNT; rule++) {
        if (!players[rule])
            continue;
        current = rule;
        test_on_board_that_may_fault(16 * MIB, play);
        wrong += test_told_wrongly(current, breaks_it);
    }
    assert_int_equal(wrong, 0);
}

/* ---- Who is told, and how often -------------------------------------------------------------- */

static void evict_too_often(struct exec_session *session, unsigned times)
{
    struct world world = {.session = session};

    test_client_start(&world.client, session);
    make(&world, SGPU_UMD_NO_APERTURE, &world.a);
    for (unsigned i = 0; i <= times; i++)
        test_evict(&world.client, &world.a);
    test_client_close(&world.client);
}

static void many_processes(struct exec_session *session)
{
    const enum client_rule rule = CLIENT_RULE_EVICT_COUNT;
    struct test_client client;

    evict_too_often(session, 3);
    assert_int_equal(test_told[rule], 1);
    assert_int_equal(client_rules_broken(session->rules, rule), 3);
    evict_too_often(session, 1);
    assert_int_equal(test_told[rule], 2);
    for (unsigned i = 0; i < 62; i++) {
        test_client_open(&client, session);
        test_client_close(&client);
    }
    evict_too_often(session, 1);
    assert_int_equal(test_told[rule], 3);
    assert_int_equal(client_rules_broken(session->rules, rule), 5);
}

static void a_rule_is_told_once_of_each_process_and_counted_each_time(void **state)
{
    test_on_board(16 * MIB, many_processes);
}

/* ---- Resources ------------------------------------------------------------------------------- */

static void offer_resource(struct exec_session *session)
{
    struct world world = {.session = session};
    struct test_buffer buffers[2];
    D3DKMT_HANDLE resource;
    UINT64 value;

    test_client_start(&world.client, session);
    make(&world, SGPU_UMD_APERTURE_ONLY | SGPU_UMD_CPU_VISIBLE, &world.b);
    resource = test_create_resource(&world.client, 2, MIB, buffers);
    for (unsigned i = 0; i < 2; i++) {
        test_map(&world.client, &buffers[i], 0);
        assert_true(NT_SUCCESS(test_make_resident(&world.client, &buffers[i])));
    }
    assert_int_equal(offer(&world, NULL, 1, D3DKMT_OFFER_PRIORITY_LOW, &resource), STATUS_SUCCESS);
    /* One is used while it is offered, the other one is reclaimed by its own handle. */
    test_copy(&world.client, world.b.va, buffers[0].va, MIB);
    test_let_run(world.session);
    assert_true(NT_SUCCESS(reclaim(&world, &buffers[1].handle, &value)));
    test_wait_paging(&world.client, value);
    test_copy(&world.client, world.b.va, buffers[1].va, MIB);
    test_let_run(world.session);
    test_client_close(&world.client);
    for (unsigned rule = 0; rule < CLIENT_RULE_COUNT; rule++) {
        if (rule != CLIENT_RULE_LOCK_LEFT)
            assert_int_equal(client_rules_broken(session->rules, rule),
                             rule == CLIENT_RULE_OFFERED_USED);
    }
}

static void what_is_offered_with_its_resource_is_offered(void **state)
{
    test_on_board_that_may_fault(16 * MIB, offer_resource);
}

/* One batch fills what the client sees, and copies it on: the client has changed nothing. */
static void fill_and_copy(struct exec_session *session)
{
    struct world world = {.session = session};
    D3DKMT_SUBMITCOMMAND submit = {.BroadcastContextCount = 1};
    struct {
        struct sgpu_packet_copy first, second;
        struct sgpu_packet_fence fence;
    } packets = {.first.header = SGPU_PACKET_HEADER(SGPU_OP_COPY, sizeof packets.first / 4),
                 .second.header = SGPU_PACKET_HEADER(SGPU_OP_COPY, sizeof packets.second / 4),
                 .fence.header = SGPU_PACKET_HEADER(SGPU_OP_FENCE, sizeof packets.fence / 4)};
    struct test_buffer last, more[12];
    uint8_t *memory;

    test_client_start(&world.client, session);
    make(&world, SGPU_UMD_APERTURE_ONLY | SGPU_UMD_CPU_VISIBLE, &world.a);
    make(&world, SGPU_UMD_APERTURE_ONLY | SGPU_UMD_CPU_VISIBLE, &world.b);
    make(&world, SGPU_UMD_APERTURE_ONLY | SGPU_UMD_CPU_VISIBLE, &last);
    test_let_run(session);
    memory = test_lock(&world.client, &world.a);
    memset(memory, 7, MIB);
    test_lock(&world.client, &world.b);
    packets.first.source = world.a.va;
    packets.first.destination = packets.second.source = world.b.va;
    packets.second.destination = last.va;
    packets.first.bytes = packets.second.bytes = MIB;
    packets.fence.address = world.client.fence_va;
    packets.fence.value = ++world.client.next_value;
    memcpy(world.client.command_memory, &packets, sizeof packets);
    submit.Commands = world.client.command_va;
    submit.CommandLength = sizeof packets;
    submit.BroadcastContext[0] = world.client.context;
    assert_int_equal(TEST_CALL(&world.client, SubmitCommand, &submit), STATUS_SUCCESS);
    for (unsigned i = 0; i < ARRAY_COUNT(more); i++) { /* calls while it runs */
        make_of(&world, SGPU_UMD_NO_APERTURE, 65536, &more[i]);
        ask(&world, &more[i], 0, 1, NULL);
        for (unsigned k = 0; k < 3; k++)
            exec_step(session);
    }
    finish(&world, packets.fence.value);
    test_client_close(&world.client);
    assert_string_equal(test_breaches[CLIENT_RULE_MEMORY_CHANGED], "");
}

static void what_a_batch_writes_and_reads_is_its_own(void **state)
{
    test_on_board(16 * MIB, fill_and_copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_is_told_when_it_is_broken),
        cmocka_unit_test(nothing_is_told_of_who_keeps_it),
        cmocka_unit_test(a_rule_is_told_once_of_each_process_and_counted_each_time),
        cmocka_unit_test(what_is_offered_with_its_resource_is_offered),
        cmocka_unit_test(what_a_batch_writes_and_reads_is_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
