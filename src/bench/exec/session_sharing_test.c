/*
 * Objects of several processes: resources and fences that one makes and others open, by NT handles
 * and by global ones.
 */
#include "bench/exec/test_client.h"

#include <stdlib.h>
#include <string.h>
#include <uchar.h>

#define MIB (UINT64_C(1) << 20)

enum { COUNT = 2 };

static const char runtime_data[] = "of the runtime", driver_data[] = "of the driver's resource";

struct shared {
    D3DKMT_HANDLE resource, global;
    struct test_buffer buffers[COUNT];
};

/* A resource of two allocations; by NT handles, or by a global one. */
static NTSTATUS make_shared(struct test_client *client, uint32_t flags, uint64_t bytes,
                            bool is_by_nt_handles, struct shared *out_shared)
{
    struct sgpu_umd_allocation data[COUNT];
    D3DDDI_ALLOCATIONINFO2 infos[COUNT];
    D3DKMT_CREATEALLOCATION create = {.hDevice = client->device,
                                      .pPrivateRuntimeData = runtime_data,
                                      .PrivateRuntimeDataSize = sizeof runtime_data,
                                      .pPrivateDriverData = driver_data,
                                      .PrivateDriverDataSize = sizeof driver_data,
                                      .NumAllocations = COUNT,
                                      .pAllocationInfo2 = infos,
                                      .Flags = {.CreateResource = 1, .CreateShared = 1}};
    NTSTATUS status;

    create.Flags.NtSecuritySharing = is_by_nt_handles;
    for (unsigned i = 0; i < COUNT; i++) {
        data[i] = (struct sgpu_umd_allocation){
            .version = SGPU_UMD_VERSION, .flags = flags, .bytes = bytes * (i + 1)};
        infos[i] = (D3DDDI_ALLOCATIONINFO2){.pPrivateDriverData = &data[i],
                                            .PrivateDriverDataSize = sizeof data[i]};
    }
    status = TEST_CALL(client, CreateAllocation2, &create);
    *out_shared = (struct shared){.resource = create.hResource, .global = create.hGlobalShare};
    for (unsigned i = 0; i < COUNT; i++)
        out_shared->buffers[i] =
            (struct test_buffer){.handle = infos[i].hAllocation, .bytes = data[i].bytes};
    return status;
}

/* What an NT handle of it names. */
static uint64_t share(struct test_client *client, D3DKMT_HANDLE object)
{
    THUNK_SHARE_OBJECTS arguments = {.cObjects = 1, .hObjects = &object};
    uint64_t named = 0;

    assert_int_equal(test_call_by(client, D3DKMT_FN_ShareObjects, &arguments, &named),
                     STATUS_SUCCESS);
    assert_true(named != 0);
    return named;
}

static D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE query(struct test_client *client, uint64_t named)
{
    char runtime[64] = "";
    D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE query = {.hDevice = client->device};

    assert_int_equal(test_call_by(client, D3DKMT_FN_QueryResourceInfoFromNtHandle, &query, &named),
                     STATUS_SUCCESS);
    assert_int_equal(query.PrivateRuntimeDataSize, sizeof runtime_data);
    query.pPrivateRuntimeData = runtime;
    query.PrivateRuntimeDataSize = sizeof runtime;
    assert_int_equal(test_call_by(client, D3DKMT_FN_QueryResourceInfoFromNtHandle, &query, &named),
                     STATUS_SUCCESS);
    assert_int_equal(query.PrivateRuntimeDataSize, sizeof runtime_data);
    assert_string_equal(runtime, runtime_data);
    assert_int_equal(query.NumAllocations, COUNT);
    assert_int_equal(query.ResourcePrivateDriverDataSize, sizeof driver_data);
    assert_int_equal(query.TotalPrivateDriverDataSize, COUNT * sizeof(struct sgpu_umd_allocation));
    return query;
}

struct opened {
    char runtime[64], driver[64];
    struct sgpu_umd_allocation data[COUNT + 1];
    D3DDDI_OPENALLOCATIONINFO2 infos[COUNT + 1];
    D3DKMT_OPENRESOURCEFROMNTHANDLE arguments;
};

static struct opened *prepare(struct opened *opened, const struct test_client *client)
{
    memset(opened, 0, sizeof *opened);
    opened->arguments =
        (D3DKMT_OPENRESOURCEFROMNTHANDLE){.hDevice = client->device,
                                          .NumAllocations = COUNT,
                                          .pOpenAllocationInfo2 = opened->infos,
                                          .PrivateRuntimeDataSize = sizeof opened->runtime,
                                          .pPrivateRuntimeData = opened->runtime,
                                          .ResourcePrivateDriverDataSize = sizeof opened->driver,
                                          .pResourcePrivateDriverData = opened->driver,
                                          .TotalPrivateDriverDataBufferSize = sizeof opened->data,
                                          .pTotalPrivateDriverDataBuffer = opened->data};
    return opened;
}

static NTSTATUS open_by(struct test_client *client, struct opened *opened, uint64_t named)
{
    return test_call_by(client, D3DKMT_FN_OpenResourceFromNtHandle, &opened->arguments, &named);
}

static struct shared open_shared(struct test_client *client, uint64_t named, uint64_t bytes)
{
    struct opened opened;
    struct shared shared;

    assert_int_equal(open_by(client, prepare(&opened, client), named), STATUS_SUCCESS);
    assert_string_equal(opened.runtime, runtime_data);
    assert_string_equal(opened.driver, driver_data);
    assert_int_equal(opened.arguments.TotalPrivateDriverDataBufferSize, 2 * sizeof opened.data[0]);
    shared.resource = opened.arguments.hResource;
    assert_true(shared.resource != 0);
    for (unsigned i = 0; i < COUNT; i++) {
        assert_int_equal(opened.data[i].bytes, bytes * (i + 1));
        assert_ptr_equal(opened.infos[i].pPrivateDriverData, &opened.data[i]);
        assert_int_equal(opened.infos[i].PrivateDriverDataSize, sizeof opened.data[i]);
        shared.buffers[i] = (struct test_buffer){.handle = opened.infos[i].hAllocation,
                                                 .bytes = opened.data[i].bytes};
    }
    return shared;
}

static void destroy_resource(struct test_client *client, D3DKMT_HANDLE resource)
{
    D3DKMT_DESTROYALLOCATION2 destroy = {.hDevice = client->device, .hResource = resource};

    assert_int_equal(TEST_CALL(client, DestroyAllocation2, &destroy), STATUS_SUCCESS);
}

static void unlock(struct test_client *client, const struct test_buffer *buffer)
{
    D3DKMT_UNLOCK2 unlock = {.hDevice = client->device, .hAllocation = buffer->handle};

    assert_int_equal(TEST_CALL(client, Unlock2, &unlock), STATUS_SUCCESS);
}

static void map_and_hold(struct test_client *client, struct shared *shared)
{
    for (unsigned i = 0; i < COUNT; i++) {
        test_map(client, &shared->buffers[i], 0);
        assert_true(NT_SUCCESS(test_make_resident(client, &shared->buffers[i])));
    }
}

/* ---- One memory ------------------------------------------------------------------------------ */

static void see_the_same(struct exec_session *session)
{
    const uint64_t pages = machine_free_page_count(session->board->machine);
    struct test_client maker, opener;
    struct shared made, opened;
    uint8_t *here, *there;
    uint64_t named;

    test_client_start(&maker, session);
    test_client_start(&opener, session);
    assert_int_equal(make_shared(&maker, SGPU_UMD_CPU_VISIBLE, MIB, true, &made), STATUS_SUCCESS);
    assert_int_equal(made.global, 0);
    named = share(&maker, made.resource);
    query(&opener, named);
    opened = open_shared(&opener, named, MIB);
    map_and_hold(&maker, &made);
    map_and_hold(&opener, &opened);
    /* Both see what either writes, at once. */
    here = test_lock(&maker, &made.buffers[0]);
    there = test_lock(&opener, &opened.buffers[0]);
    assert_ptr_not_equal(here, there);
    test_fill(here, MIB, 3);
    test_expect(there, MIB, 3);
    there[5] ^= 0xff;
    assert_int_equal(here[5], there[5]);
    test_fill(there, MIB, 4);
    test_expect(here, MIB, 4);
    /* What the GPU of one writes the other one reads. */
    test_wait_fence(&opener, test_copy(&opener, opened.buffers[1].va, opened.buffers[0].va, MIB));
    test_expect(test_lock(&maker, &made.buffers[1]), MIB, 4);
    test_wait_fence(&maker, test_copy(&maker, made.buffers[1].va + MIB, made.buffers[1].va, MIB));
    there = test_lock(&opener, &opened.buffers[1]);
    test_expect(there + MIB, MIB, 4);
    /* A lock of one does not end with that of the other, and the address stays. */
    unlock(&maker, &made.buffers[1]);
    test_fill(there, MIB, 5);
    assert_ptr_equal(test_lock(&opener, &opened.buffers[1]), there);
    unlock(&opener, &opened.buffers[1]);
    unlock(&opener, &opened.buffers[1]);
    assert_int_equal(there[0] | there[MIB] | there[2 * MIB - 1], 0); /* nobody sees it */
    test_expect(test_lock(&maker, &made.buffers[1]), MIB, 5);
    /* Who has made it destroys it: here it is over, there it stays. */
    destroy_resource(&maker, made.resource);
    test_let_run(session);
    there = test_lock(&opener, &opened.buffers[1]);
    test_expect(there, MIB, 5);
    test_wait_fence(&opener, test_copy(&opener, opened.buffers[0].va, opened.buffers[1].va, MIB));
    there = test_lock(&opener, &opened.buffers[0]);
    test_expect(there, MIB, 5);
    /* The device that has made it can open it again, and so can another process. */
    made = open_shared(&maker, named, MIB);
    test_expect(test_lock(&maker, &made.buffers[0]), MIB, 5);
    /* The NT handle alone keeps it. */
    destroy_resource(&maker, made.resource);
    destroy_resource(&opener, opened.resource);
    test_let_run(session);
    opened = open_shared(&opener, named, MIB);
    test_expect(test_lock(&opener, &opened.buffers[0]), MIB, 5);
    destroy_resource(&opener, opened.resource);
    d3dkmt_nt_handle_closed(session->front, named);
    assert_int_equal(open_by(&opener, prepare(&(struct opened){0}, &opener), named),
                     STATUS_INVALID_HANDLE);
    test_client_close(&opener);
    test_client_close(&maker);
    test_let_run(session);
    assert_int_equal(machine_free_page_count(session->board->machine), pages);
}

static void two_processes_have_one_memory_until_the_last_closes_it(void **state)
{
    test_on_board(16 * MIB, see_the_same);
}

/* 6 MiB of shared memory, and 12 of each process's own, in 12 MiB. */
static void share_under_pressure(struct exec_session *session)
{
    struct test_client clients[2];
    struct test_buffer own[2][2];
    struct shared shared[2];
    uint64_t named;

    for (unsigned i = 0; i < 2; i++) {
        test_client_start(&clients[i], session);
        for (unsigned k = 0; k < 2; k++) {
            assert_int_equal(
                test_create(&clients[i], SGPU_UMD_NO_APERTURE, 6 * MIB, NULL, &own[i][k]),
                STATUS_SUCCESS);
            test_map(&clients[i], &own[i][k], 0);
        }
    }
    assert_int_equal(make_shared(&clients[0], SGPU_UMD_NO_APERTURE | SGPU_UMD_CPU_VISIBLE, 2 * MIB,
                                 true, &shared[0]),
                     STATUS_SUCCESS);
    named = share(&clients[0], shared[0].resource);
    shared[1] = open_shared(&clients[1], named, 2 * MIB);
    d3dkmt_nt_handle_closed(session->front, named);
    for (unsigned i = 0; i < 2; i++) {
        test_map(&clients[i], &shared[i].buffers[0], 0);
        test_map(&clients[i], &shared[i].buffers[1], 0);
    }
    for (unsigned round = 0; round < 6; round++) {
        struct test_client *writer = &clients[round % 2], *reader = &clients[!(round % 2)];
        struct shared *from = &shared[round % 2], *to = &shared[!(round % 2)];
        uint8_t *memory = test_lock(writer, &from->buffers[0]);

        test_fill(memory, 2 * MIB, round);
        unlock(writer, &from->buffers[0]);
        assert_true(NT_SUCCESS(test_make_resident(writer, &from->buffers[0])));
        assert_true(NT_SUCCESS(test_make_resident(writer, &from->buffers[1])));
        test_wait_fence(writer,
                        test_copy(writer, from->buffers[1].va, from->buffers[0].va, 2 * MIB));
        assert_int_equal(test_evict(writer, &from->buffers[0]), STATUS_SUCCESS);
        assert_int_equal(test_evict(writer, &from->buffers[1]), STATUS_SUCCESS);
        for (unsigned k = 0; k < 2; k++) {
            assert_true(NT_SUCCESS(test_make_resident(reader, &own[!(round % 2)][k])));
            assert_int_equal(test_evict(reader, &own[!(round % 2)][k]), STATUS_SUCCESS);
        }
        test_expect(test_lock(reader, &to->buffers[1]), 2 * MIB, round);
        unlock(reader, &to->buffers[1]);
    }
    assert_true(vidmm_statistics(session->board->vidmm)->evictions >= 6);
    test_client_close(&clients[0]);
    test_expect(test_lock(&clients[1], &shared[1].buffers[1]), 2 * MIB, 5);
    test_client_close(&clients[1]);
}

static void shared_content_outlives_eviction_and_its_maker(void **state)
{
    test_on_board(12 * MIB, share_under_pressure);
}

/* References are each process's own: the manager holds it for as long as one has some. */
static void count_references(struct exec_session *session)
{
    struct test_client clients[2];
    struct shared shared[2];
    struct test_buffer large;
    uint64_t named;

    for (unsigned i = 0; i < 2; i++)
        test_client_start(&clients[i], session);
    assert_int_equal(make_shared(&clients[0], SGPU_UMD_NO_APERTURE, 4 * MIB, true, &shared[0]),
                     STATUS_SUCCESS);
    named = share(&clients[0], shared[0].resource);
    shared[1] = open_shared(&clients[1], named, 4 * MIB);
    for (unsigned i = 0; i < 2; i++)
        assert_true(NT_SUCCESS(test_make_resident(&clients[i], &shared[i].buffers[1])));
    assert_int_equal(test_evict(&clients[0], &shared[0].buffers[1]), STATUS_SUCCESS);
    assert_int_equal(test_evict(&clients[0], &shared[0].buffers[1]), STATUS_INVALID_PARAMETER);
    /* 10 of 16 MiB want to come beside 8 that the other one holds. */
    assert_int_equal(test_create(&clients[0], SGPU_UMD_NO_APERTURE, 10 * MIB, NULL, &large),
                     STATUS_SUCCESS);
    D3DDDI_MAKERESIDENT resident = {.hPagingQueue = clients[0].queue,
                                    .NumAllocations = 1,
                                    .AllocationList = &large.handle,
                                    .Flags = {{{.CantTrimFurther = 1}}}};
    assert_int_equal(TEST_CALL(&clients[0], MakeResident, &resident), STATUS_PENDING);
    test_let_run(session);
    assert_true(*clients[0].paging_fence < resident.PagingFenceValue);
    /* It gives way, and gets its reference back when there is room. */
    assert_true(d3dkmt_demote(session->front));
    test_wait_paging(&clients[0], resident.PagingFenceValue);
    assert_int_equal(test_evict(&clients[0], &large), STATUS_SUCCESS);
    test_let_run(session);
    assert_int_equal(test_evict(&clients[1], &shared[1].buffers[1]), STATUS_SUCCESS);
    assert_int_equal(test_state_of(&clients[1]), D3DKMT_DEVICEEXECUTION_ACTIVE);
    /* What others have cannot be offered. */
    D3DKMT_OFFERALLOCATIONS offer = {.hDevice = clients[0].device,
                                     .HandleList = &shared[0].buffers[0].handle,
                                     .NumAllocations = 1,
                                     .Priority = D3DKMT_OFFER_PRIORITY_NORMAL};
    assert_int_equal(TEST_CALL(&clients[0], OfferAllocations, &offer), STATUS_INVALID_PARAMETER);
    test_client_close(&clients[1]);
    assert_int_equal(TEST_CALL(&clients[0], OfferAllocations, &offer), STATUS_INVALID_PARAMETER);
    d3dkmt_nt_handle_closed(session->front, named);
    assert_int_equal(TEST_CALL(&clients[0], OfferAllocations, &offer), STATUS_SUCCESS);
    test_client_close(&clients[0]);
}

static void references_to_residency_are_of_each_process(void **state)
{
    test_on_board(16 * MIB, count_references);
}

/* ---- Ends ------------------------------------------------------------------------------------ */

/* Whoever ends, in the middle of work on it: the others go on, and all of it goes with the last. */
static void end_in_order(struct exec_session *session, bool maker_first)
{
    const uint64_t pages = machine_free_page_count(session->board->machine);
    struct test_client clients[2];
    struct shared shared[2];
    const unsigned first = maker_first ? 0 : 1, last = !first;
    uint64_t named;

    for (unsigned i = 0; i < 2; i++)
        test_client_start(&clients[i], session);
    assert_int_equal(make_shared(&clients[0], SGPU_UMD_CPU_VISIBLE, MIB, true, &shared[0]),
                     STATUS_SUCCESS);
    named = share(&clients[0], shared[0].resource);
    shared[1] = open_shared(&clients[1], named, MIB);
    d3dkmt_nt_handle_closed(session->front, named);
    for (unsigned i = 0; i < 2; i++)
        map_and_hold(&clients[i], &shared[i]);
    test_fill(test_lock(&clients[last], &shared[last].buffers[0]), MIB, 8);
    test_lock(&clients[first], &shared[first].buffers[0]);
    test_copy(&clients[first], shared[first].buffers[1].va, shared[first].buffers[0].va, MIB);
    test_client_close(&clients[first]);
    test_wait_fence(&clients[last], test_copy(&clients[last], shared[last].buffers[1].va + MIB,
                                              shared[last].buffers[0].va, MIB));
    test_expect((uint8_t *)test_lock(&clients[last], &shared[last].buffers[1]) + MIB, MIB, 8);
    test_client_close(&clients[last]);
    test_let_run(session);
    assert_int_equal(machine_free_page_count(session->board->machine), pages);
}

static void end_with_maker(struct exec_session *session)
{
    end_in_order(session, true);
}

static void end_with_opener(struct exec_session *session)
{
    end_in_order(session, false);
}

static void a_process_that_ends_takes_nothing_from_the_others(void **state)
{
    test_on_board(16 * MIB, end_with_maker);
    test_on_board(16 * MIB, end_with_opener);
}

/* The maker's device goes while another process has the resource: nobody waits for that one. */
static void end_device(struct exec_session *session)
{
    struct test_client maker, opener;
    struct shared made, opened;
    uint64_t named;

    test_client_start(&maker, session);
    test_client_start(&opener, session);
    assert_int_equal(make_shared(&maker, SGPU_UMD_CPU_VISIBLE, MIB, true, &made), STATUS_SUCCESS);
    named = share(&maker, made.resource);
    opened = open_shared(&opener, named, MIB);
    test_fill(test_lock(&maker, &made.buffers[0]), MIB, 2);
    map_and_hold(&maker, &made);
    test_wait_fence(&maker, test_copy(&maker, made.buffers[1].va, made.buffers[0].va, MIB));
    test_copy(&maker, made.buffers[1].va, made.buffers[0].va, MIB);
    D3DKMT_DESTROYDEVICE destroy = {.hDevice = maker.device};
    assert_int_equal(TEST_CALL(&maker, DestroyDevice, &destroy), STATUS_SUCCESS);
    test_expect(test_lock(&opener, &opened.buffers[0]), MIB, 2);
    test_expect(test_lock(&opener, &opened.buffers[1]), MIB, 2);
    map_and_hold(&opener, &opened);
    /* Closed amid work that runs, behind which its addresses are another's. */
    for (unsigned i = 0; i < 8; i++)
        test_copy(&opener, opened.buffers[1].va, opened.buffers[0].va, MIB);
    for (unsigned i = 0; i < 3; i++)
        exec_step(session);
    assert_true(*opener.fence_value < opener.next_value);
    destroy_resource(&opener, opened.resource);
    made = open_shared(&opener, named, MIB);
    test_map(&opener, &made.buffers[0], opened.buffers[0].va);
    test_expect(test_lock(&opener, &made.buffers[1]), MIB, 2);
    d3dkmt_nt_handle_closed(session->front, named);
    test_client_close(&opener);
    test_client_close(&maker);
}

static void a_device_goes_though_others_have_what_it_made(void **state)
{
    test_on_board(16 * MIB, end_device);
}

/* ---- Fences ---------------------------------------------------------------------------------- */

struct fence {
    D3DKMT_HANDLE handle;
    const volatile uint64_t *value;
    uint64_t va;
};

static struct fence make_fence(struct test_client *client, uint64_t value)
{
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 create = {.hDevice = client->device,
                                                  .Info.Type = D3DDDI_MONITORED_FENCE};

    create.Info.Flags.Shared = create.Info.Flags.NtSecuritySharing = 1;
    create.Info.MonitoredFence.InitialFenceValue = value;
    assert_int_equal(TEST_CALL(client, CreateSynchronizationObject2, &create), STATUS_SUCCESS);
    return (struct fence){create.hSyncObject,
                          test_see(client, create.Info.MonitoredFence.FenceValueCPUVirtualAddress),
                          create.Info.MonitoredFence.FenceValueGPUVirtualAddress};
}

static NTSTATUS open_fence(struct test_client *client, uint64_t named,
                           D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS flags, struct fence *out_fence)
{
    D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 open = {.hDevice = client->device, .Flags = flags};
    const NTSTATUS status =
        test_call_by(client, D3DKMT_FN_OpenSyncObjectFromNtHandle2, &open, &named);

    *out_fence = (struct fence){0};
    if (NT_SUCCESS(status))
        *out_fence = (struct fence){
            open.hSyncObject, test_see(client, open.MonitoredFence.FenceValueCPUVirtualAddress),
            open.MonitoredFence.FenceValueGPUVirtualAddress};
    return status;
}

static NTSTATUS signal_fence(struct test_client *client, D3DKMT_HANDLE fence, uint64_t value)
{
    D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU signal = {.hDevice = client->device,
                                                        .ObjectCount = 1,
                                                        .ObjectHandleArray = &fence,
                                                        .FenceValueArray = &value};

    return TEST_CALL(client, SignalSynchronizationObjectFromCpu, &signal);
}

static NTSTATUS await_fence(struct test_client *client, D3DKMT_HANDLE fence, uint64_t value)
{
    D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU wait = {.hDevice = client->device,
                                                       .ObjectCount = 1,
                                                       .ObjectHandleArray = &fence,
                                                       .FenceValueArray = &value};

    return TEST_CALL(client, WaitForSynchronizationObjectFromCpu, &wait);
}

static NTSTATUS queue_wait(struct test_client *client, D3DKMT_HANDLE fence, uint64_t value)
{
    D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU wait = {.hContext = client->context,
                                                       .ObjectCount = 1,
                                                       .ObjectHandleArray = &fence,
                                                       .MonitoredFenceValueArray = &value};

    return TEST_CALL(client, WaitForSynchronizationObjectFromGpu, &wait);
}

static NTSTATUS queue_signal(struct test_client *client, D3DKMT_HANDLE fence, uint64_t value)
{
    D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU signal = {.hContext = client->context,
                                                        .ObjectCount = 1,
                                                        .ObjectHandleArray = &fence,
                                                        .MonitoredFenceValueArray = &value};

    return TEST_CALL(client, SignalSynchronizationObjectFromGpu, &signal);
}

static void destroy_fence(struct test_client *client, D3DKMT_HANDLE fence)
{
    D3DKMT_DESTROYSYNCHRONIZATIONOBJECT destroy = {.hSyncObject = fence};

    assert_int_equal(TEST_CALL(client, DestroySynchronizationObject, &destroy), STATUS_SUCCESS);
}

static void order_by_fence(struct exec_session *session)
{
    const uint64_t pages = machine_free_page_count(session->board->machine);
    const D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS none = {{{0}}};
    struct test_client a, b;
    struct test_buffer from, to;
    struct fence made, opened, second;
    uint64_t named, value;

    test_client_start(&a, session);
    test_client_start(&b, session);
    test_resident_buffer(&a, SGPU_UMD_CPU_VISIBLE, MIB, &from);
    test_resident_buffer(&a, SGPU_UMD_CPU_VISIBLE, MIB, &to);
    made = make_fence(&a, 7);
    named = share(&a, made.handle);
    assert_int_equal(open_fence(&b, named, none, &opened), STATUS_SUCCESS);
    assert_true(*made.value == 7 && *opened.value == 7);
    /* Work of the one waits for the other one's signal, of the CPU's ... */
    assert_int_equal(queue_wait(&a, made.handle, 8), STATUS_SUCCESS);
    value = test_copy(&a, to.va, from.va, MIB);
    test_let_run(session);
    assert_true(*a.fence_value < value);
    assert_int_equal(signal_fence(&b, opened.handle, 8), STATUS_SUCCESS);
    test_wait_fence(&a, value);
    assert_true(*made.value == 8 && *opened.value == 8);
    /* ... and of its queue's. */
    assert_int_equal(queue_signal(&b, opened.handle, 9), STATUS_SUCCESS);
    assert_int_equal(await_fence(&a, made.handle, 9), STATUS_SUCCESS);
    /* The GPU writes it at the address that the process has it at. */
    b.fence_va = opened.va;
    b.next_value = 19;
    test_resident_buffer(&b, 0, MIB, &from);
    test_copy(&b, from.va + 4096, from.va, 4096);
    assert_int_equal(await_fence(&a, made.handle, 20), STATUS_SUCCESS);
    assert_int_equal(*opened.value, 20);
    /* Twice in one process; what a device may do is its own. */
    assert_int_equal(
        open_fence(&b, named, (D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS){{{.NoSignal = 1}}}, &second),
        STATUS_SUCCESS);
    assert_int_equal(signal_fence(&b, second.handle, 21), STATUS_ACCESS_DENIED);
    assert_int_equal(queue_signal(&b, second.handle, 21), STATUS_ACCESS_DENIED);
    assert_int_equal(await_fence(&b, second.handle, 20), STATUS_SUCCESS);
    destroy_fence(&b, second.handle);
    assert_int_equal(
        open_fence(&b, named, (D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS){{{.NoWait = 1}}}, &second),
        STATUS_SUCCESS);
    assert_int_equal(await_fence(&b, second.handle, 20), STATUS_ACCESS_DENIED);
    assert_int_equal(queue_wait(&b, second.handle, 20), STATUS_ACCESS_DENIED);
    assert_int_equal(signal_fence(&b, second.handle, 22), STATUS_SUCCESS);
    assert_int_equal(*made.value, 22);
    destroy_fence(&b, second.handle);
    assert_int_equal(
        open_fence(&b, named, (D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS){{{.NoSignal = 1, .NoWait = 1}}},
                   &second),
        STATUS_INVALID_PARAMETER);
    /* One that nobody else has goes at once, with its page. */
    test_let_run(session);
    value = machine_free_page_count(session->board->machine);
    second = make_fence(&a, 1);
    assert_true(machine_free_page_count(session->board->machine) < value);
    destroy_fence(&a, second.handle);
    test_let_run(session);
    assert_int_equal(machine_free_page_count(session->board->machine), value);
    /* Who has made it goes: the other one has it, and the handle names it. */
    destroy_fence(&a, made.handle);
    assert_int_equal(signal_fence(&b, opened.handle, 23), STATUS_SUCCESS);
    assert_int_equal(open_fence(&a, named, none, &made), STATUS_SUCCESS);
    assert_int_equal(*made.value, 23);
    d3dkmt_nt_handle_closed(session->front, named);
    assert_int_equal(open_fence(&b, named, none, &second), STATUS_INVALID_HANDLE);
    test_client_close(&a);
    assert_int_equal(signal_fence(&b, opened.handle, 24), STATUS_SUCCESS);
    assert_int_equal(*opened.value, 24);
    test_client_close(&b);
    test_let_run(session);
    assert_int_equal(machine_free_page_count(session->board->machine), pages);
}

static void a_fence_of_two_processes_orders_their_work(void **state)
{
    test_on_board(16 * MIB, order_by_fence);
}

/* ---- Names ----------------------------------------------------------------------------------- */

#define NO_CASE 0x40u /* OBJ_CASE_INSENSITIVE */

static NTSTATUS share_as(struct test_client *client, D3DKMT_HANDLE object, const char16_t *name,
                         UINT units, uint64_t *out_named)
{
    THUNK_SHARE_OBJECTS arguments = {
        .cObjects = 1, .hObjects = &object, .Name = name, .NameBytes = 2 * units};

    *out_named = 0;
    return test_call_by(client, D3DKMT_FN_ShareObjects, &arguments, out_named);
}

static NTSTATUS open_as(struct test_client *client, bool is_fence, const char16_t *name, UINT bytes,
                        UINT attributes, uint64_t *out_named)
{
    THUNK_OPEN_BY_NAME arguments = {.Name = name, .NameBytes = bytes, .Attributes = attributes};

    *out_named = 0;
    return test_call_by(client,
                        is_fence ? D3DKMT_FN_OpenSyncObjectNtHandleFromName
                                 : D3DKMT_FN_OpenNtHandleFromName,
                        &arguments, out_named);
}

/* There can be no NT handle more of the object that the client shares, with or without a name. */
static void share_in_vain(struct test_client *client, D3DKMT_HANDLE object, const char16_t *name,
                          UINT units)
{
    THUNK_SHARE_OBJECTS arguments = {
        .cObjects = 1, .hObjects = &object, .Name = name, .NameBytes = 2 * units};
    struct d3dkmt_call call = {
        .function = D3DKMT_FN_ShareObjects, .arguments = &arguments, .takes_nt_handle = true};

    assert_true(d3dkmt_call(client->process, &call));
    assert_int_equal(call.status, STATUS_SUCCESS);
    d3dkmt_nt_handle_refused(client->session->front, &call);
}

static void go_by_names(struct exec_session *session)
{
    static const char16_t long_name[D3DKMT_MOST_NAME_BYTES / 2 + 1] = u"\\";
    const D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS none = {{{0}}};
    struct test_client a, b;
    struct shared made, opened;
    struct fence fence, second, there;
    uint64_t named, named_fence, copy, nothing;

    test_client_start(&a, session);
    test_client_start(&b, session);
    assert_int_equal(make_shared(&a, SGPU_UMD_CPU_VISIBLE, MIB, true, &made), STATUS_SUCCESS);
    fence = make_fence(&a, 7);
    second = make_fence(&a, 8);
    assert_int_equal(share_as(&a, made.resource, u"\\Data", 5, &named), STATUS_SUCCESS);
    assert_int_equal(share_as(&a, fence.handle, u"\\Data\\Fence", 11, &named_fence),
                     STATUS_SUCCESS);
    /* What is opened by its name is what has it. */
    assert_int_equal(open_as(&b, false, u"\\Data", 10, 0, &copy), STATUS_SUCCESS);
    opened = open_shared(&b, copy, MIB);
    test_fill(test_lock(&a, &made.buffers[0]), MIB, 3);
    test_expect(test_lock(&b, &opened.buffers[0]), MIB, 3);
    d3dkmt_nt_handle_closed(session->front, copy);
    assert_int_equal(open_as(&b, true, u"\\DATA\\FENCE", 22, NO_CASE, &copy), STATUS_SUCCESS);
    assert_int_equal(open_fence(&b, copy, none, &there), STATUS_SUCCESS);
    assert_int_equal(*there.value, 7);
    /* Nothing else is. */
    assert_int_equal(open_as(&b, true, u"\\DATA\\FENCE", 22, 0, &nothing),
                     STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(open_as(&b, true, u"\\Data\\Fence", 20, 0, &nothing),
                     STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(open_as(&b, false, u"\\Data\\Fence", 22, 0, &nothing),
                     STATUS_OBJECT_TYPE_MISMATCH);
    assert_int_equal(open_as(&b, true, u"Data", 8, 0, &nothing), STATUS_OBJECT_PATH_SYNTAX_BAD);
    assert_int_equal(open_as(&b, true, u"\\Data", 9, 0, &nothing), STATUS_OBJECT_NAME_INVALID);
    assert_int_equal(open_as(&b, true, u"\\Data", 0, 0, &nothing), STATUS_OBJECT_NAME_INVALID);
    assert_int_equal(open_as(&b, true, long_name, sizeof long_name, 0, &nothing),
                     STATUS_OBJECT_NAME_INVALID);
    assert_int_equal(
        TEST_CALL(&b, OpenNtHandleFromName,
                  &((THUNK_OPEN_BY_NAME){
                      .RootDirectory = (HANDLE)(uintptr_t)1, .Name = u"\\Data", .NameBytes = 10})),
        STATUS_INVALID_HANDLE);
    /* A name is one object's, which has no other; and then the call shares nothing. */
    assert_int_equal(share_as(&a, second.handle, u"\\Data", 5, &nothing),
                     STATUS_OBJECT_NAME_COLLISION);
    assert_int_equal(share_as(&a, fence.handle, u"\\Other", 6, &nothing), STATUS_INVALID_PARAMETER);
    assert_int_equal(nothing, 0);
    /* It is there as long as an NT handle is, whoever has made that. */
    d3dkmt_nt_handle_closed(session->front, named_fence);
    assert_int_equal(open_as(&a, true, u"\\Data\\Fence", 22, 0, &named_fence), STATUS_SUCCESS);
    d3dkmt_nt_handle_closed(session->front, named_fence);
    d3dkmt_nt_handle_closed(session->front, copy);
    assert_int_equal(open_as(&a, true, u"\\Data\\Fence", 22, 0, &nothing),
                     STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(share_as(&a, second.handle, u"\\Data\\Fence", 11, &copy), STATUS_SUCCESS);
    d3dkmt_nt_handle_closed(session->front, copy);
    /* What comes of no NT handle is no name; the one that was there before stays. */
    assert_int_equal(share_as(&a, second.handle, NULL, 0, &copy), STATUS_SUCCESS);
    share_in_vain(&a, second.handle, u"\\Vain", 5);
    assert_int_equal(open_as(&a, true, u"\\Vain", 10, 0, &nothing), STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(share_as(&a, second.handle, u"\\Vain", 5, &named_fence), STATUS_SUCCESS);
    share_in_vain(&a, second.handle, NULL, 0);
    d3dkmt_nt_handle_closed(session->front, copy);
    assert_int_equal(open_as(&a, true, u"\\Vain", 10, 0, &copy), STATUS_SUCCESS);
    d3dkmt_nt_handle_closed(session->front, copy);
    d3dkmt_nt_handle_closed(session->front, named_fence);
    test_client_close(&a);
    assert_int_equal(open_as(&b, false, u"\\Data", 10, 0, &copy), STATUS_SUCCESS);
    d3dkmt_nt_handle_closed(session->front, copy);
    d3dkmt_nt_handle_closed(session->front, named);
    test_client_close(&b);
}

static void a_name_leads_to_what_has_it_while_an_nt_handle_is_there(void **state)
{
    test_on_board(16 * MIB, go_by_names);
}

/* ---- Who pays -------------------------------------------------------------------------------- */

static NTSTATUS share_fence(struct test_client *client, D3DKMT_HANDLE *out_fence)
{
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 create = {.hDevice = client->device,
                                                  .Info.Type = D3DDDI_MONITORED_FENCE};
    NTSTATUS status;

    create.Info.Flags.Shared = create.Info.Flags.NtSecuritySharing = 1;
    status = TEST_CALL(client, CreateSynchronizationObject2, &create);
    *out_fence = create.hSyncObject;
    return status;
}

static NTSTATUS lock_status(struct test_client *client, const struct test_buffer *buffer)
{
    D3DKMT_LOCK2 lock = {.hDevice = client->device, .hAllocation = buffer->handle};

    return TEST_CALL(client, Lock2, &lock);
}

/* Each process has one file. */
static void pay_for_files(struct exec_session *session)
{
    struct test_client maker, opener;
    struct shared made, opened;
    D3DKMT_HANDLE fence;
    uint64_t named;

    test_client_start(&maker, session);
    test_client_start(&opener, session);
    assert_int_equal(make_shared(&maker, SGPU_UMD_CPU_VISIBLE, MIB, true, &made), STATUS_SUCCESS);
    named = share(&maker, made.resource);
    opened = open_shared(&opener, named, MIB);
    /* The opener locks first, and the maker has paid: it has no other file, the opener has. */
    assert_int_equal(lock_status(&opener, &opened.buffers[0]), STATUS_SUCCESS);
    assert_int_equal(share_fence(&maker, &fence), STATUS_NO_MEMORY);
    assert_int_equal(lock_status(&opener, &opened.buffers[1]), STATUS_NO_MEMORY);
    assert_int_equal(share_fence(&opener, &fence), STATUS_SUCCESS);
    assert_int_equal(lock_status(&maker, &made.buffers[0]), STATUS_SUCCESS);
    /* When the maker is gone the opener pays. */
    test_client_close(&maker);
    test_let_run(session);
    assert_int_equal(lock_status(&opener, &opened.buffers[1]), STATUS_NO_MEMORY);
    destroy_fence(&opener, fence);
    test_let_run(session);
    assert_int_equal(lock_status(&opener, &opened.buffers[1]), STATUS_SUCCESS);
    assert_int_equal(share_fence(&opener, &fence), STATUS_NO_MEMORY);
    d3dkmt_nt_handle_closed(session->front, named);
    test_client_close(&opener);
}

static void the_maker_pays_for_files_as_long_as_it_is_there(void **state)
{
    test_on_board_with_files(16 * MIB, pay_for_files, 1);
}

/* ---- What is wrong --------------------------------------------------------------------------- */

static void be_wrong(struct exec_session *session)
{
    const D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS none = {{{0}}};
    struct test_client client, other;
    struct shared made, global;
    struct opened opened;
    struct test_buffer plain;
    struct fence fence, second;
    D3DKMT_HANDLE handles[2];
    THUNK_SHARE_OBJECTS wanted = {.cObjects = 1, .hObjects = handles};
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 create = {.Info.Type = D3DDDI_MONITORED_FENCE};
    uint64_t named, named_fence, none_named = 0;

    test_client_start(&client, session);
    test_client_start(&other, session);
    assert_int_equal(make_shared(&client, 0, MIB, true, &made), STATUS_SUCCESS);
    assert_int_equal(make_shared(&client, 0, MIB, false, &global), STATUS_SUCCESS);
    named = share(&client, made.resource);
    fence = make_fence(&client, 0);
    named_fence = share(&client, fence.handle);

    /* Only what was made for it is shared by NT handles, and one object at a time. */
    assert_int_equal(test_create(&client, 0, MIB, NULL, &plain), STATUS_SUCCESS);
    for (unsigned i = 0; i < 4; i++) {
        handles[0] =
            (const D3DKMT_HANDLE[]){plain.handle, client.fence, global.resource, client.device}[i];
        assert_int_equal(test_call_by(&client, D3DKMT_FN_ShareObjects, &wanted, &none_named),
                         STATUS_INVALID_PARAMETER);
    }
    handles[0] = handles[1] = made.resource;
    assert_int_equal(test_call_by(&other, D3DKMT_FN_ShareObjects, &wanted, &none_named),
                     STATUS_INVALID_PARAMETER);
    wanted.cObjects = 2;
    assert_int_equal(test_call_by(&client, D3DKMT_FN_ShareObjects, &wanted, &none_named),
                     STATUS_INVALID_PARAMETER);
    wanted.cObjects = 0;
    assert_int_equal(test_call_by(&client, D3DKMT_FN_ShareObjects, &wanted, &none_named),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(none_named, 0);

    /* Names of nothing, and of something else. */
    assert_int_equal(open_by(&other, prepare(&opened, &other), 0), STATUS_INVALID_HANDLE);
    assert_int_equal(open_by(&other, prepare(&opened, &other), 999), STATUS_INVALID_HANDLE);
    assert_int_equal(open_by(&other, prepare(&opened, &other), named_fence), STATUS_INVALID_HANDLE);
    assert_int_equal(open_fence(&other, named, none, &second), STATUS_INVALID_HANDLE);

    /* Fewer allocations, or less room, than the query says. */
    prepare(&opened, &other)->arguments.NumAllocations = COUNT - 1;
    assert_int_equal(open_by(&other, &opened, named), STATUS_INVALID_PARAMETER);
    prepare(&opened, &other)->arguments.NumAllocations = COUNT + 1;
    assert_int_equal(open_by(&other, &opened, named), STATUS_INVALID_PARAMETER);
    prepare(&opened, &other)->arguments.PrivateRuntimeDataSize = sizeof runtime_data - 1;
    assert_int_equal(open_by(&other, &opened, named), STATUS_INVALID_PARAMETER);
    prepare(&opened, &other)->arguments.ResourcePrivateDriverDataSize = sizeof driver_data - 1;
    assert_int_equal(open_by(&other, &opened, named), STATUS_INVALID_PARAMETER);
    prepare(&opened, &other)->arguments.TotalPrivateDriverDataBufferSize =
        2 * sizeof opened.data[0] - 1;
    assert_int_equal(open_by(&other, &opened, named), STATUS_INVALID_PARAMETER);
    prepare(&opened, &other)->arguments.hDevice = other.adapter;
    assert_int_equal(open_by(&other, &opened, named), STATUS_INVALID_PARAMETER);
    assert_int_equal(opened.infos[0].hAllocation | opened.arguments.hResource, 0);

    /* A global handle is of global resources alone; anybody opens those. */
    D3DKMT_QUERYRESOURCEINFO info = {.hDevice = other.device, .hGlobalShare = global.global};
    assert_true(global.global != 0);
    assert_int_equal(TEST_CALL(&other, QueryResourceInfo, &info), STATUS_SUCCESS);
    assert_int_equal(info.NumAllocations, COUNT);
    info.hGlobalShare++;
    assert_int_equal(TEST_CALL(&other, QueryResourceInfo, &info), STATUS_INVALID_PARAMETER);
    info.hGlobalShare = made.resource;
    assert_int_equal(TEST_CALL(&other, QueryResourceInfo, &info), STATUS_INVALID_PARAMETER);
    D3DKMT_OPENRESOURCE open = {.hDevice = other.device,
                                .hGlobalShare = global.global,
                                .NumAllocations = COUNT,
                                .pOpenAllocationInfo2 = opened.infos,
                                .pPrivateRuntimeData = opened.runtime,
                                .PrivateRuntimeDataSize = sizeof opened.runtime,
                                .pResourcePrivateDriverData = opened.driver,
                                .ResourcePrivateDriverDataSize = sizeof opened.driver,
                                .pTotalPrivateDriverDataBuffer = opened.data,
                                .TotalPrivateDriverDataBufferSize = sizeof opened.data};
    assert_int_equal(TEST_CALL(&other, OpenResource, &open), STATUS_SUCCESS);
    assert_true(open.hResource && opened.infos[1].hAllocation);
    destroy_resource(&client, global.resource);
    test_let_run(session);
    destroy_resource(&other, open.hResource);
    test_let_run(session);
    assert_int_equal(TEST_CALL(&other, OpenResource, &open), STATUS_INVALID_PARAMETER);

    /* A handle of one process is none of the other's, and what is closed is over. */
    D3DKMT_LOCK2 lock = {.hDevice = other.device, .hAllocation = made.buffers[0].handle};
    assert_int_equal(TEST_CALL(&other, Lock2, &lock), STATUS_INVALID_PARAMETER);

    /* Flags that need others. */
    create.hDevice = client.device;
    create.Info.Flags.NtSecuritySharing = 1;
    assert_int_equal(TEST_CALL(&client, CreateSynchronizationObject2, &create),
                     STATUS_INVALID_PARAMETER);
    D3DKMT_CREATEALLOCATION bad = {.hDevice = client.device,
                                   .NumAllocations = 1,
                                   .pAllocationInfo2 = &(D3DDDI_ALLOCATIONINFO2){0},
                                   .Flags = {.CreateShared = 1}};
    assert_int_equal(TEST_CALL(&client, CreateAllocation2, &bad), STATUS_INVALID_PARAMETER);
    bad.Flags = (D3DKMT_CREATEALLOCATIONFLAGS){{{.CreateResource = 1, .NtSecuritySharing = 1}}};
    assert_int_equal(TEST_CALL(&client, CreateAllocation2, &bad), STATUS_INVALID_PARAMETER);

    /* Of a resource that is not whole any more nothing is shared or opened. */
    d3dkmt_nt_handle_closed(session->front, named);
    test_destroy(&client, &made.buffers[1]);
    test_let_run(session);
    handles[0] = made.resource;
    wanted.cObjects = 1;
    assert_int_equal(test_call_by(&client, D3DKMT_FN_ShareObjects, &wanted, &none_named),
                     STATUS_INVALID_PARAMETER);
    test_client_close(&other);
    test_client_close(&client);
    d3dkmt_nt_handle_closed(session->front, named_fence);
}

static void what_is_wrong_gets_its_status_and_opens_nothing(void **state)
{
    test_on_board(16 * MIB, be_wrong);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_processes_have_one_memory_until_the_last_closes_it),
        cmocka_unit_test(shared_content_outlives_eviction_and_its_maker),
        cmocka_unit_test(references_to_residency_are_of_each_process),
        cmocka_unit_test(a_process_that_ends_takes_nothing_from_the_others),
        cmocka_unit_test(a_device_goes_though_others_have_what_it_made),
        cmocka_unit_test(a_fence_of_two_processes_orders_their_work),
        cmocka_unit_test(a_name_leads_to_what_has_it_while_an_nt_handle_is_there),
        cmocka_unit_test(the_maker_pays_for_files_as_long_as_it_is_there),
        cmocka_unit_test(what_is_wrong_gets_its_status_and_opens_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
