/*
 * The thunk functions on the Drydock GPU and the reference driver, in one process.
 */
#include "bench/exec/test_client.h"

#include "base/rng.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MIB (UINT64_C(1) << 20)

static void fill(uint8_t *memory, uint64_t bytes, uint64_t seed)
{
    struct rng rng;

    rng_init(&rng, seed);
    for (uint64_t i = 0; i < bytes; i += 8) {
        const uint64_t word = rng_next(&rng);

        memcpy(memory + i, &word, 8);
    }
}

static void expect(const uint8_t *memory, uint64_t bytes, uint64_t seed)
{
    uint8_t *expected = malloc(bytes);

    fill(expected, bytes, seed);
    assert_memory_equal(memory, expected, bytes);
    free(expected);
}

/* ---- Copies ---------------------------------------------------------------------------------- */

enum { BUFFERS = 16 };

/* 16 buffers of 4 MiB in 16 MiB of local memory, written and read through the client's own pages.
 */
static void copies_under_pressure(struct exec_session *session)
{
    const uint64_t bytes = 4 * MIB;
    uint8_t *memory = aligned_alloc(65536, bytes);
    struct test_buffer buffers[BUFFERS], host;
    struct test_client client;

    test_client_start(&client, session);
    for (unsigned i = 0; i < BUFFERS; i++) {
        assert_int_equal(test_create(&client, SGPU_UMD_NO_APERTURE, bytes, NULL, &buffers[i]),
                         STATUS_SUCCESS);
        test_map(&client, &buffers[i], 0);
    }
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < BUFFERS; i++) {
            fill(memory, bytes, 100 * round + i);
            assert_int_equal(test_create(&client, SGPU_UMD_EXISTING | SGPU_UMD_APERTURE_ONLY, bytes,
                                         memory, &host),
                             STATUS_SUCCESS);
            test_map(&client, &host, 0);
            assert_true(NT_SUCCESS(test_make_resident(&client, &host)));
            assert_true(NT_SUCCESS(test_make_resident(&client, &buffers[i])));
            test_wait_fence(&client, test_copy(&client, buffers[i].va, host.va, bytes));
            assert_int_equal(test_evict(&client, &buffers[i]), STATUS_SUCCESS);
            test_destroy(&client, &host);
        }
        for (unsigned i = 0; i < BUFFERS; i++) {
            memset(memory, 0xee, bytes);
            assert_int_equal(test_create(&client, SGPU_UMD_EXISTING | SGPU_UMD_APERTURE_ONLY, bytes,
                                         memory, &host),
                             STATUS_SUCCESS);
            test_map(&client, &host, 0);
            assert_true(NT_SUCCESS(test_make_resident(&client, &host)));
            assert_true(NT_SUCCESS(test_make_resident(&client, &buffers[i])));
            /* As the driver of the facts does it: nobody may touch the memory meanwhile. */
            assert_int_equal(mprotect(memory, bytes, PROT_NONE), 0);
            test_wait_fence(&client, test_copy(&client, host.va, buffers[i].va, bytes));
            assert_int_equal(mprotect(memory, bytes, PROT_READ | PROT_WRITE), 0);
            expect(memory, bytes, 100 * round + i);
            assert_int_equal(test_evict(&client, &buffers[i]), STATUS_SUCCESS);
            test_destroy(&client, &host);
        }
    }
    assert_true(vidmm_statistics(session->board->vidmm)->evictions >= BUFFERS);
    test_client_close(&client);
    free(memory);
}

static void content_outlives_eviction_through_the_clients_own_pages(void **state)
{
    test_on_board(16 * MIB, copies_under_pressure);
}

/* ---- Waits and signals ----------------------------------------------------------------------- */

static void wait_order(struct exec_session *session)
{
    const UINT64 one = 1, two = 2, zero = 0;
    struct test_buffer from, to;
    struct test_client client;
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 create = {.Info.Type = D3DDDI_MONITORED_FENCE};
    const volatile uint64_t *gate;
    uint8_t *source, *target;

    test_client_start(&client, session);
    create.hDevice = client.device;
    create.Info.MonitoredFence.InitialFenceValue = 0;
    assert_int_equal(TEST_CALL(&client, CreateSynchronizationObject2, &create), STATUS_SUCCESS);
    gate = create.Info.MonitoredFence.FenceValueCPUVirtualAddress;
    assert_int_equal(
        test_create(&client, SGPU_UMD_APERTURE_ONLY | SGPU_UMD_CPU_VISIBLE, MIB, NULL, &from),
        STATUS_SUCCESS);
    assert_int_equal(
        test_create(&client, SGPU_UMD_APERTURE_ONLY | SGPU_UMD_CPU_VISIBLE, MIB, NULL, &to),
        STATUS_SUCCESS);
    test_map(&client, &from, 0);
    test_map(&client, &to, 0);
    source = test_lock(&client, &from);
    target = test_lock(&client, &to);
    assert_true(NT_SUCCESS(test_make_resident(&client, &from)));
    assert_true(NT_SUCCESS(test_make_resident(&client, &to)));
    fill(source, MIB, 5);
    memset(target, 0, MIB);

    D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU wait = {.hContext = client.context,
                                                       .ObjectCount = 1,
                                                       .ObjectHandleArray = &create.hSyncObject,
                                                       .MonitoredFenceValueArray = &one};
    assert_int_equal(TEST_CALL(&client, WaitForSynchronizationObjectFromGpu, &wait),
                     STATUS_SUCCESS);
    const uint64_t value = test_copy(&client, to.va, from.va, MIB);
    D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU signal = {.hContext = client.context,
                                                        .ObjectCount = 1,
                                                        .ObjectHandleArray = &create.hSyncObject,
                                                        .MonitoredFenceValueArray = &two};
    assert_int_equal(TEST_CALL(&client, SignalSynchronizationObjectFromGpu, &signal),
                     STATUS_SUCCESS);
    while (exec_step(session))
        continue;
    /* The gate is shut: nothing has run. */
    assert_int_equal(*gate, 0);
    assert_int_equal(*client.fence_value, value - 1);
    assert_int_equal(target[0], 0);

    D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU open = {.hDevice = client.device,
                                                      .ObjectCount = 1,
                                                      .ObjectHandleArray = &create.hSyncObject,
                                                      .FenceValueArray = &one};
    assert_int_equal(TEST_CALL(&client, SignalSynchronizationObjectFromCpu, &open), STATUS_SUCCESS);
    D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU until = {.hDevice = client.device,
                                                        .ObjectCount = 1,
                                                        .ObjectHandleArray = &create.hSyncObject,
                                                        .FenceValueArray = &two};
    assert_int_equal(TEST_CALL(&client, WaitForSynchronizationObjectFromCpu, &until),
                     STATUS_SUCCESS);
    assert_int_equal(*client.fence_value, value);
    assert_memory_equal(source, target, MIB);
    until.FenceValueArray = &zero;
    assert_int_equal(TEST_CALL(&client, WaitForSynchronizationObjectFromCpu, &until),
                     STATUS_SUCCESS);
    test_client_close(&client);
}

static void work_waits_for_its_fence_and_signals_come_behind_it(void **state)
{
    test_on_board(16 * MIB, wait_order);
}

/* ---- Addresses ------------------------------------------------------------------------------- */

static void address_calls(struct exec_session *session)
{
    struct test_client client;
    struct test_buffer a, b;
    D3DDDI_RESERVEGPUVIRTUALADDRESS reserve = {0};
    D3DKMT_FREEGPUVIRTUALADDRESS free_call = {0};
    D3DDDI_MAPGPUVIRTUALADDRESS map = {0};

    test_client_start(&client, session);
    /* "These addresses are the process's own." */
    reserve.hAdapter = client.adapter;
    reserve.BaseAddress = 0x200000;
    reserve.Size = 0x7fffffe00000 - 0x200000;
    map.hPagingQueue = client.queue;
    /* The command buffer is mapped where the CPU sees it, inside: the rest can be reserved. */
    assert_int_equal(TEST_CALL(&client, ReserveGpuVirtualAddress, &reserve),
                     STATUS_INVALID_PARAMETER);
    reserve.BaseAddress = 0;
    reserve.MinimumAddress = 0x800000000000;
    reserve.MaximumAddress = 0x800100000000;
    reserve.Size = 8 * MIB;
    assert_int_equal(TEST_CALL(&client, ReserveGpuVirtualAddress, &reserve), STATUS_SUCCESS);
    assert_true(reserve.VirtualAddress >= reserve.MinimumAddress);
    assert_int_equal(test_create(&client, 0, MIB, NULL, &a), STATUS_SUCCESS);
    assert_int_equal(test_create(&client, 0, MIB, NULL, &b), STATUS_SUCCESS);
    test_map(&client, &a, reserve.VirtualAddress + MIB);
    /* The same place is taken. */
    map.hAllocation = b.handle;
    map.BaseAddress = a.va;
    map.SizeInPages = 256;
    map.Protection.Write = 1;
    assert_int_equal(TEST_CALL(&client, MapGpuVirtualAddress, &map), STATUS_INVALID_PARAMETER);
    assert_int_equal(map.VirtualAddress, 0);
    /* Free ends what lies inside, though the allocation lives; its destruction harms no successor.
     */
    free_call.hAdapter = client.adapter;
    free_call.BaseAddress = reserve.VirtualAddress;
    free_call.Size = reserve.Size;
    assert_int_equal(TEST_CALL(&client, FreeGpuVirtualAddress, &free_call), STATUS_SUCCESS);
    test_map(&client, &b, a.va);
    test_destroy(&client, &a);
    assert_int_equal(TEST_CALL(&client, MapGpuVirtualAddress, &map), STATUS_INVALID_PARAMETER);
    assert_int_equal(TEST_CALL(&client, FreeGpuVirtualAddress,
                               &((D3DKMT_FREEGPUVIRTUALADDRESS){
                                   .hAdapter = client.adapter, .BaseAddress = b.va, .Size = MIB})),
                     STATUS_SUCCESS);
    assert_int_equal(TEST_CALL(&client, FreeGpuVirtualAddress,
                               &((D3DKMT_FREEGPUVIRTUALADDRESS){
                                   .hAdapter = client.adapter, .BaseAddress = b.va, .Size = MIB})),
                     STATUS_INVALID_PARAMETER);
    /* A limit without room. */
    map.BaseAddress = 0;
    map.MinimumAddress = 0x900000000000;
    map.MaximumAddress = 0x900000010000;
    assert_int_equal(TEST_CALL(&client, MapGpuVirtualAddress, &map), STATUS_INVALID_PARAMETER);
    test_client_close(&client);
}

static void addresses_are_reserved_mapped_freed_and_given_again(void **state)
{
    test_on_board(16 * MIB, address_calls);
}

/* ---- Wrong arguments ------------------------------------------------------------------------- */

static void others_handles(struct exec_session *session)
{
    struct test_client a, b;
    struct test_buffer buffer, wild = {0};
    D3DKMT_LOCK2 lock = {0};
    D3DKMT_UNLOCK2 unlock = {0};

    test_client_start(&a, session);
    test_client_start(&b, session);
    assert_int_equal(test_create(&a, SGPU_UMD_CPU_VISIBLE, MIB, NULL, &buffer), STATUS_SUCCESS);
    lock.hDevice = b.device;
    lock.hAllocation = buffer.handle; /* a number that is nobody's in b, or another object's */
    assert_int_equal(TEST_CALL(&b, Lock2, &lock), STATUS_INVALID_PARAMETER);
    assert_int_equal(test_evict(&b, &buffer), STATUS_INVALID_PARAMETER);
    assert_int_equal(test_evict(&a, &buffer), STATUS_INVALID_PARAMETER); /* has no reference */
    assert_int_equal(test_make_resident(&b, &wild), STATUS_INVALID_PARAMETER);
    unlock.hDevice = a.device;
    unlock.hAllocation = buffer.handle;
    assert_int_equal(TEST_CALL(&a, Unlock2, &unlock), STATUS_INVALID_PARAMETER);
    assert_int_equal(TEST_CALL(&a, DestroyDevice, &((D3DKMT_DESTROYDEVICE){b.context + 64})),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(
        test_create(&a, SGPU_UMD_EXISTING | SGPU_UMD_APERTURE_ONLY, MIB, (void *)0x10000, &wild),
        STATUS_INVALID_PARAMETER);
    assert_int_equal(wild.handle, 0);
    test_destroy(&a, &buffer);
    assert_int_equal(test_evict(&a, &buffer), STATUS_INVALID_PARAMETER); /* the handle is old */
    test_client_close(&a);
    /* The other goes on. */
    assert_int_equal(test_create(&b, SGPU_UMD_CPU_VISIBLE, MIB, NULL, &buffer), STATUS_SUCCESS);
    memset(test_lock(&b, &buffer), 1, MIB);
    test_client_close(&b);
}

static void handles_of_others_and_old_ones_are_refused(void **state)
{
    test_on_board(16 * MIB, others_handles);
}

/* ---- No room --------------------------------------------------------------------------------- */

static D3DDDI_MAKERESIDENT ask_for(struct test_client *client, const struct test_buffer *buffer,
                                   NTSTATUS expected)
{
    D3DDDI_MAKERESIDENT resident = {.hPagingQueue = client->queue,
                                    .NumAllocations = 1,
                                    .AllocationList = &buffer->handle,
                                    .Flags = {{{.CantTrimFurther = 1}}}};

    assert_int_equal(TEST_CALL(client, MakeResident, &resident), expected);
    while (exec_step(client->session))
        continue;
    return resident;
}

static D3DKMT_DEVICEEXECUTION_STATE state_of(struct test_client *client)
{
    D3DKMT_GETDEVICESTATE state = {.hDevice = client->device,
                                   .StateType = D3DKMT_DEVICESTATE_EXECUTION};

    assert_int_equal(TEST_CALL(client, GetDeviceState, &state), STATUS_SUCCESS);
    return state.ExecutionState;
}

static void starve(struct exec_session *session)
{
    struct test_client client, other;
    struct test_buffer first, second, theirs;
    D3DDDI_MAKERESIDENT resident;

    test_client_start(&client, session);
    test_client_start(&other, session);
    assert_int_equal(test_create(&client, SGPU_UMD_NO_APERTURE, 10 * MIB, NULL, &first),
                     STATUS_SUCCESS);
    assert_int_equal(test_create(&client, SGPU_UMD_NO_APERTURE, 10 * MIB, NULL, &second),
                     STATUS_SUCCESS);
    assert_int_equal(test_create(&other, SGPU_UMD_NO_APERTURE, 10 * MIB, NULL, &theirs),
                     STATUS_SUCCESS);
    resident = ask_for(&client, &first, STATUS_PENDING);
    assert_true(*client.paging_fence >= resident.PagingFenceValue);
    /* Another process waits for room, and gets it when the first one gives it up. */
    resident = ask_for(&other, &theirs, STATUS_PENDING);
    assert_true(*other.paging_fence < resident.PagingFenceValue);
    assert_int_equal(test_evict(&client, &first), STATUS_SUCCESS);
    test_wait_paging(&other, resident.PagingFenceValue);
    assert_int_equal(state_of(&other), D3DKMT_DEVICEEXECUTION_ACTIVE);
    /* What is destroyed while it waits costs no device. */
    resident = ask_for(&client, &second, STATUS_PENDING);
    assert_true(*client.paging_fence < resident.PagingFenceValue);
    test_destroy(&client, &second);
    test_wait_paging(&client, resident.PagingFenceValue);
    assert_int_equal(state_of(&client), D3DKMT_DEVICEEXECUTION_ACTIVE);
    /* Nobody gives anything up: the device is lost, and its fences say so. */
    resident = ask_for(&client, &first, STATUS_PENDING);
    assert_true(*client.paging_fence < resident.PagingFenceValue);
    assert_true(d3dkmt_give_up(session->front));
    assert_false(d3dkmt_give_up(session->front));
    test_wait_paging(&client, resident.PagingFenceValue);
    assert_int_equal(state_of(&client), D3DKMT_DEVICEEXECUTION_ERROR_OUTOFMEMORY);
    assert_true(*client.fence_value == UINT64_MAX);
    assert_int_equal(state_of(&other), D3DKMT_DEVICEEXECUTION_ACTIVE);
    /* A process that goes while it waits. */
    test_client_close(&client);
    test_client_start(&client, session);
    assert_int_equal(test_create(&client, SGPU_UMD_NO_APERTURE, 10 * MIB, NULL, &first),
                     STATUS_SUCCESS);
    ask_for(&client, &first, STATUS_PENDING);
    test_client_close(&client);
    test_client_close(&other);
}

static void who_finds_no_room_waits_until_somebody_gives_some_up(void **state)
{
    test_on_board(16 * MIB, starve);
}

static void make_resident_buffer_of(struct test_client *client, uint32_t flags, uint64_t bytes,
                                    struct test_buffer *out_buffer)
{
    assert_int_equal(test_create(client, flags, bytes, NULL, out_buffer), STATUS_SUCCESS);
    test_map(client, out_buffer, 0);
    assert_true(NT_SUCCESS(test_make_resident(client, out_buffer)));
}

/* ---- Budgets, demotion, offers --------------------------------------------------------------- */

static D3DKMT_QUERYVIDEOMEMORYINFO budget_of(struct test_client *client)
{
    D3DKMT_QUERYVIDEOMEMORYINFO info = {.hAdapter = client->adapter,
                                        .MemorySegmentGroup = D3DKMT_MEMORY_SEGMENT_GROUP_LOCAL};

    assert_int_equal(TEST_CALL(client, QueryVideoMemoryInfo, &info), STATUS_SUCCESS);
    return info;
}

static NTSTATUS reserve(struct test_client *client, uint64_t bytes)
{
    D3DKMT_CHANGEVIDEOMEMORYRESERVATION change = {.hAdapter = client->adapter,
                                                  .MemorySegmentGroup =
                                                      D3DKMT_MEMORY_SEGMENT_GROUP_LOCAL,
                                                  .Reservation = bytes};

    return TEST_CALL(client, ChangeVideoMemoryReservation, &change);
}

static void budgets(struct exec_session *session)
{
    struct test_client a, b;
    struct test_buffer buffers[4];
    D3DKMT_REGISTERTRIMNOTIFICATION registration = {
        .AdapterLuid = {.LowPart = EXEC_LUID_LOW, .HighPart = EXEC_LUID_HIGH}};
    D3DKMT_UNREGISTERTRIMNOTIFICATION end = {0};
    D3DDDI_MAKERESIDENT resident = {.NumAllocations = 1};
    uint64_t whole, usage;
    unsigned notices;

    test_client_start(&a, session);
    whole = budget_of(&a).Budget;
    assert_true(whole > 12 * MIB && whole <= 16 * MIB);
    registration.hDevice = a.device;
    assert_int_equal(TEST_CALL(&a, RegisterTrimNotification, &registration), STATUS_SUCCESS);
    assert_non_null(registration.Handle);
    usage = budget_of(&a).CurrentUsage;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(test_create(&a, SGPU_UMD_NO_APERTURE, 4 * MIB, NULL, &buffers[i]),
                         STATUS_SUCCESS);
        test_map(&a, &buffers[i], 0);
        assert_true(NT_SUCCESS(test_make_resident(&a, &buffers[i])));
    }
    assert_int_equal(budget_of(&a).CurrentUsage, usage + 12 * MIB);
    /* Alone it may have everything, and no more: what it would have to trim is said exactly. */
    assert_int_equal(test_create(&a, SGPU_UMD_NO_APERTURE, 8 * MIB, NULL, &buffers[3]),
                     STATUS_SUCCESS);
    resident.hPagingQueue = a.queue;
    resident.AllocationList = &buffers[3].handle;
    assert_int_equal(TEST_CALL(&a, MakeResident, &resident), STATUS_GRAPHICS_NO_VIDEO_MEMORY);
    assert_true(resident.NumBytesToTrim >= 20 * MIB - whole &&
                resident.NumBytesToTrim <= 20 * MIB - whole + MIB);
    assert_int_equal(resident.PagingFenceValue, 0);
    assert_int_equal(a.notices, 0);
    /* A second process halves it, and the first one is asked to trim. */
    test_client_start(&b, session);
    assert_int_equal(budget_of(&a).Budget, whole / 2);
    assert_int_equal(budget_of(&b).Budget, whole / 2);
    assert_int_equal(a.notices, 1);
    assert_int_equal(a.notice_flags, 4); /* TrimToBudget */
    assert_int_equal(a.notice_number + 1, (uintptr_t)registration.Handle);
    assert_true(a.notice_bytes >= 12 * MIB - whole / 2);
    /* Reservations: at most half of it in all; budgets follow. */
    assert_int_equal(budget_of(&b).AvailableForReservation, whole / 2);
    assert_int_equal(reserve(&b, whole / 2 + 1), STATUS_INVALID_PARAMETER);
    assert_int_equal(reserve(&b, 4 * MIB), STATUS_SUCCESS);
    assert_int_equal(budget_of(&b).CurrentReservation, 4 * MIB);
    assert_int_equal(budget_of(&b).Budget, 4 * MIB + (whole - 4 * MIB) / 2);
    assert_int_equal(budget_of(&a).Budget, (whole - 4 * MIB) / 2);
    assert_int_equal(budget_of(&a).AvailableForReservation, whole / 2 - 4 * MIB);
    /* It trims: no more notices, and everything again when the other one goes. */
    assert_int_equal(test_evict(&a, &buffers[0]), STATUS_SUCCESS);
    assert_int_equal(test_evict(&a, &buffers[1]), STATUS_SUCCESS);
    notices = a.notices;
    assert_true(notices <= 2); /* the second one for the reservation */
    assert_true(d3dkmt_wants_trims(session->front));
    d3dkmt_trim_periodically(session->front);
    assert_int_equal(a.notices, notices + 1);
    assert_int_equal(a.notice_flags, 1); /* PeriodicTrim */
    test_client_close(&b);
    assert_int_equal(budget_of(&a).Budget, whole);
    end.Handle = registration.Handle;
    assert_int_equal(TEST_CALL(&a, UnregisterTrimNotification, &end), STATUS_SUCCESS);
    assert_int_equal(TEST_CALL(&a, UnregisterTrimNotification, &end), STATUS_INVALID_PARAMETER);
    assert_false(d3dkmt_wants_trims(session->front));
    test_client_close(&a);
}

static void budgets_follow_processes_and_reservations(void **state)
{
    test_on_board(16 * MIB, budgets);
}

static void counts_of_residency(struct exec_session *session)
{
    struct test_client client;
    struct test_buffer buffer;
    D3DKMT_HANDLE twice[2];
    D3DDDI_MAKERESIDENT resident = {.NumAllocations = 2, .AllocationList = twice};
    D3DKMT_EVICT evict = {.NumAllocations = 2, .AllocationList = twice};
    uint64_t before;

    test_client_start(&client, session);
    assert_int_equal(test_create(&client, SGPU_UMD_NO_APERTURE, MIB, NULL, &buffer),
                     STATUS_SUCCESS);
    test_map(&client, &buffer, 0);
    before = *client.paging_fence;
    twice[0] = twice[1] = buffer.handle;
    resident.hPagingQueue = client.queue;
    evict.hDevice = client.device;
    /* Named twice it has two references; pending, its fence comes when it is there. */
    assert_int_equal(TEST_CALL(&client, MakeResident, &resident), STATUS_PENDING);
    assert_true(resident.PagingFenceValue > before);
    test_wait_paging(&client, resident.PagingFenceValue);
    assert_int_equal(test_make_resident(&client, &buffer), STATUS_SUCCESS); /* is there: no wait */
    assert_int_equal(TEST_CALL(&client, Evict, &evict), STATUS_SUCCESS);
    assert_int_equal(TEST_CALL(&client, Evict, &evict), STATUS_INVALID_PARAMETER);
    assert_int_equal(test_evict(&client, &buffer), STATUS_SUCCESS);
    assert_int_equal(test_evict(&client, &buffer), STATUS_INVALID_PARAMETER);
    test_client_close(&client);
}

static void references_are_counted_and_none_is_given_back_twice(void **state)
{
    test_on_board(16 * MIB, counts_of_residency);
}

static void settle(struct exec_session *session)
{
    while (exec_step(session))
        continue;
}

static void fill_buffer(struct test_client *client, const struct test_buffer *to,
                        const struct test_buffer *host, uint8_t *memory, uint64_t seed)
{
    fill(memory, to->bytes, seed);
    test_wait_fence(client, test_copy(client, to->va, host->va, to->bytes));
}

/* 10 MiB each in 16: one has to give way to the other again and again, and loses nothing. */
static void taking_turns(struct exec_session *session)
{
    const uint64_t bytes = 10 * MIB;
    struct test_client clients[2];
    struct test_buffer buffers[2], hosts[2];
    uint8_t *memory[2];
    D3DDDI_MAKERESIDENT resident;

    for (unsigned i = 0; i < 2; i++) {
        test_client_start(&clients[i], session);
        memory[i] = aligned_alloc(65536, bytes);
        assert_int_equal(test_create(&clients[i], SGPU_UMD_NO_APERTURE, bytes, NULL, &buffers[i]),
                         STATUS_SUCCESS);
        test_map(&clients[i], &buffers[i], 0);
        assert_int_equal(test_create(&clients[i], SGPU_UMD_EXISTING | SGPU_UMD_APERTURE_ONLY, bytes,
                                     memory[i], &hosts[i]),
                         STATUS_SUCCESS);
        test_map(&clients[i], &hosts[i], 0);
        assert_true(NT_SUCCESS(test_make_resident(&clients[i], &hosts[i])));
    }
    /* More than its budget: by the way of who cannot trim. */
    assert_int_equal(test_make_resident(&clients[0], &buffers[0]), STATUS_GRAPHICS_NO_VIDEO_MEMORY);
    resident = ask_for(&clients[0], &buffers[0], STATUS_PENDING);
    test_wait_paging(&clients[0], resident.PagingFenceValue);
    fill_buffer(&clients[0], &buffers[0], &hosts[0], memory[0], 1);
    assert_false(d3dkmt_demote(session->front)); /* for nobody */
    resident = ask_for(&clients[1], &buffers[1], STATUS_PENDING);
    assert_true(*clients[1].paging_fence < resident.PagingFenceValue);
    assert_true(d3dkmt_demote(session->front));
    test_wait_paging(&clients[1], resident.PagingFenceValue);
    fill_buffer(&clients[1], &buffers[1], &hosts[1], memory[1], 2);
    /* The first one's work waits until it has its memory again. */
    memset(memory[0], 0, bytes);
    const uint64_t value = test_copy(&clients[0], hosts[0].va, buffers[0].va, bytes);
    settle(session);
    assert_true(*clients[0].fence_value < value);
    assert_true(d3dkmt_demote(session->front));
    test_wait_fence(&clients[0], value);
    expect(memory[0], bytes, 1);
    /* Now the second one is out; it evicts by itself, and asks again. */
    assert_int_equal(test_evict(&clients[1], &buffers[1]), STATUS_SUCCESS);
    assert_int_equal(test_evict(&clients[1], &buffers[1]), STATUS_INVALID_PARAMETER);
    settle(session);
    resident = ask_for(&clients[1], &buffers[1], STATUS_PENDING);
    assert_true(*clients[1].paging_fence < resident.PagingFenceValue);
    /* The first one goes while it is suspended. */
    assert_true(d3dkmt_demote(session->front));
    test_wait_paging(&clients[1], resident.PagingFenceValue);
    test_client_close(&clients[0]);
    memset(memory[1], 0, bytes);
    test_wait_fence(&clients[1], test_copy(&clients[1], hosts[1].va, buffers[1].va, bytes));
    expect(memory[1], bytes, 2);
    assert_int_equal(state_of(&clients[1]), D3DKMT_DEVICEEXECUTION_ACTIVE);
    assert_true(d3dkmt_statistics(session->front)->demotions >= 3);
    test_client_close(&clients[1]);
    free(memory[0]);
    free(memory[1]);
}

static void who_does_not_fit_beside_another_takes_turns(void **state)
{
    test_on_board(16 * MIB, taking_turns);
}

/* Both take 12 MiB of 16 piece by piece; each gets all of it in the end. */
static void piece_by_piece(struct exec_session *session)
{
    struct test_client clients[2];
    struct test_buffer buffers[2][3];
    uint64_t awaited[2] = {0}, copied[2] = {0};
    unsigned asked[2] = {0};

    for (unsigned i = 0; i < 2; i++) {
        test_client_start(&clients[i], session);
        for (unsigned k = 0; k < 3; k++) {
            assert_int_equal(
                test_create(&clients[i], SGPU_UMD_NO_APERTURE, 4 * MIB, NULL, &buffers[i][k]),
                STATUS_SUCCESS);
            test_map(&clients[i], &buffers[i][k], 0);
        }
    }
    for (unsigned round = 0; round < 200; round++) {
        bool is_done = true;

        for (unsigned i = 0; i < 2; i++) {
            if (*clients[i].paging_fence < awaited[i])
                is_done = false;
            else if (asked[i] < 3)
                awaited[i] =
                    ask_for(&clients[i], &buffers[i][asked[i]++], STATUS_PENDING).PagingFenceValue;
            else if (!copied[i])
                copied[i] = test_copy(&clients[i], buffers[i][0].va, buffers[i][2].va, 4 * MIB);
            is_done &= copied[i] && *clients[i].fence_value >= copied[i];
        }
        settle(session);
        if (is_done)
            break;
        d3dkmt_demote(session->front);
        settle(session);
    }
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(asked[i], 3);
        assert_true(copied[i] && *clients[i].fence_value >= copied[i]);
        assert_int_equal(state_of(&clients[i]), D3DKMT_DEVICEEXECUTION_ACTIVE);
    }
    test_client_close(&clients[0]);
    test_client_close(&clients[1]);
}

static void two_that_take_memory_piece_by_piece_get_all_of_it(void **state)
{
    test_on_board(16 * MIB, piece_by_piece);
}

/* ... and a device within itself, where its driver allows system memory as well. */
static void giving_way(struct exec_session *session)
{
    struct test_client client;
    struct test_buffer buffers[10], host;
    uint8_t *memory = aligned_alloc(65536, 2 * MIB);
    const struct d3dkmt_statistics *statistics = d3dkmt_statistics(session->front);

    assert_non_null(memory);
    test_client_start(&client, session);
    assert_int_equal(
        test_create(&client, SGPU_UMD_EXISTING | SGPU_UMD_APERTURE_ONLY, 2 * MIB, memory, &host),
        STATUS_SUCCESS);
    test_map(&client, &host, 0);
    assert_true(NT_SUCCESS(test_make_resident(&client, &host)));
    for (unsigned i = 0; i < ARRAY_COUNT(buffers); i++) {
        make_resident_buffer_of(&client, 0, 2 * MIB, &buffers[i]);
        fill_buffer(&client, &buffers[i], &host, memory, i);
    }
    assert_true(statistics->demotions >= 3);
    assert_true(statistics->demoted_bytes >= 6 * MIB);
    for (unsigned i = 0; i < ARRAY_COUNT(buffers); i++) {
        memset(memory, 0, 2 * MIB);
        test_wait_fence(&client, test_copy(&client, host.va, buffers[i].va, 2 * MIB));
        expect(memory, 2 * MIB, i);
    }
    for (unsigned i = 0; i < ARRAY_COUNT(buffers); i++) {
        assert_int_equal(test_evict(&client, &buffers[i]), STATUS_SUCCESS);
        assert_int_equal(test_evict(&client, &buffers[i]), STATUS_INVALID_PARAMETER);
        test_destroy(&client, &buffers[i]);
    }
    test_destroy(&client, &host);
    test_client_close(&client);
    free(memory);
}

static void what_comes_new_gets_local_memory_before_what_came_first(void **state)
{
    test_on_board(16 * MIB, giving_way);
}

static void offers(struct exec_session *session)
{
    struct test_client client;
    struct test_buffer host, kept, dropped, large;
    D3DKMT_OFFERALLOCATIONS offer = {.NumAllocations = 1, .Priority = D3DKMT_OFFER_PRIORITY_LOW};
    D3DDDI_RECLAIM_RESULT result = D3DDDI_RECLAIM_RESULT_NOT_COMMITTED;
    D3DKMT_RECLAIMALLOCATIONS2 reclaim = {.NumAllocations = 1, .pResults = &result};
    uint8_t *memory = aligned_alloc(65536, 4 * MIB);
    NTSTATUS status;

    test_client_start(&client, session);
    assert_int_equal(
        test_create(&client, SGPU_UMD_EXISTING | SGPU_UMD_APERTURE_ONLY, 4 * MIB, memory, &host),
        STATUS_SUCCESS);
    test_map(&client, &host, 0);
    assert_true(NT_SUCCESS(test_make_resident(&client, &host)));
    make_resident_buffer_of(&client, SGPU_UMD_NO_APERTURE, 4 * MIB, &kept);
    make_resident_buffer_of(&client, SGPU_UMD_NO_APERTURE, 4 * MIB, &dropped);
    fill_buffer(&client, &kept, &host, memory, 3);
    fill_buffer(&client, &dropped, &host, memory, 4);
    offer.hDevice = client.device;
    reclaim.hPagingQueue = client.queue;
    /* Nothing needs room: the content is what it was. */
    offer.HandleList = reclaim.HandleList = &kept.handle;
    assert_int_equal(TEST_CALL(&client, ReclaimAllocations2, &reclaim), STATUS_INVALID_PARAMETER);
    assert_int_equal(TEST_CALL(&client, OfferAllocations, &offer), STATUS_SUCCESS);
    assert_int_equal(TEST_CALL(&client, OfferAllocations, &offer), STATUS_INVALID_PARAMETER);
    assert_int_equal(test_make_resident(&client, &kept), STATUS_GRAPHICS_INVALID_ALLOCATION_USAGE);
    status = TEST_CALL(&client, ReclaimAllocations2, &reclaim);
    assert_true(NT_SUCCESS(status));
    assert_int_equal(result, D3DDDI_RECLAIM_RESULT_OK);
    test_wait_paging(&client, reclaim.PagingFenceValue);
    memset(memory, 0, 4 * MIB);
    test_wait_fence(&client, test_copy(&client, host.va, kept.va, 4 * MIB));
    expect(memory, 4 * MIB, 3);
    /* Something large needs the room: what was offered is gone. */
    offer.HandleList = reclaim.HandleList = &dropped.handle;
    assert_int_equal(TEST_CALL(&client, OfferAllocations, &offer), STATUS_SUCCESS);
    make_resident_buffer_of(&client, SGPU_UMD_NO_APERTURE, 11 * MIB, &large);
    assert_int_equal(test_evict(&client, &large), STATUS_SUCCESS);
    status = TEST_CALL(&client, ReclaimAllocations2, &reclaim);
    assert_true(NT_SUCCESS(status));
    assert_int_equal(result, D3DDDI_RECLAIM_RESULT_DISCARDED);
    test_wait_paging(&client, reclaim.PagingFenceValue);
    fill_buffer(&client, &dropped, &host, memory, 5);
    /* Neither both lists, nor none, nor a priority that is none. */
    offer.pResources = &dropped.handle;
    assert_int_equal(TEST_CALL(&client, OfferAllocations, &offer), STATUS_INVALID_PARAMETER);
    offer.pResources = NULL;
    offer.Priority = (D3DKMT_OFFER_PRIORITY)0;
    assert_int_equal(TEST_CALL(&client, OfferAllocations, &offer), STATUS_INVALID_PARAMETER);
    assert_int_equal(state_of(&client), D3DKMT_DEVICEEXECUTION_ACTIVE);
    test_client_close(&client);
    free(memory);
}

static void what_is_offered_may_be_gone_when_it_is_reclaimed(void **state)
{
    test_on_board(16 * MIB, offers);
}

/* By resources: each has the worst result of its allocations, in whichever order they are named. */
static void offers_of_resources(struct exec_session *session)
{
    struct test_client client;
    struct test_buffer kept[1], dropped[2], large;
    D3DKMT_HANDLE resources[2];
    D3DKMT_OFFERALLOCATIONS offer = {.NumAllocations = 1};
    D3DDDI_RECLAIM_RESULT results[2];
    D3DKMT_RECLAIMALLOCATIONS2 reclaim = {
        .NumAllocations = 2, .pResources = resources, .pResults = results};

    test_client_start(&client, session);
    offer.hDevice = client.device;
    reclaim.hPagingQueue = client.queue;
    for (unsigned round = 0; round < 2; round++) {
        D3DKMT_HANDLE keeps = test_create_resource(&client, 1, 4 * MIB, kept);
        D3DKMT_HANDLE drops = test_create_resource(&client, 2, 2 * MIB, dropped);

        test_map(&client, &kept[0], 0);
        assert_true(NT_SUCCESS(test_make_resident(&client, &kept[0])));
        for (unsigned i = 0; i < 2; i++) {
            test_map(&client, &dropped[i], 0);
            assert_true(NT_SUCCESS(test_make_resident(&client, &dropped[i])));
        }
        offer.pResources = &keeps;
        offer.Priority = D3DKMT_OFFER_PRIORITY_HIGH;
        assert_int_equal(TEST_CALL(&client, OfferAllocations, &offer), STATUS_SUCCESS);
        offer.pResources = &drops;
        offer.Priority = D3DKMT_OFFER_PRIORITY_LOW;
        assert_int_equal(TEST_CALL(&client, OfferAllocations, &offer), STATUS_SUCCESS);
        make_resident_buffer_of(&client, SGPU_UMD_NO_APERTURE, 9 * MIB, &large);
        assert_int_equal(test_evict(&client, &large), STATUS_SUCCESS);
        test_destroy(&client, &large);
        resources[round] = keeps;
        resources[!round] = drops;
        assert_true(NT_SUCCESS(TEST_CALL(&client, ReclaimAllocations2, &reclaim)));
        assert_int_equal(results[round], D3DDDI_RECLAIM_RESULT_OK);
        assert_int_equal(results[!round], D3DDDI_RECLAIM_RESULT_DISCARDED);
        test_wait_paging(&client, reclaim.PagingFenceValue);
        /* Nothing is offered any more, and a resource that is named twice is refused. */
        assert_int_equal(TEST_CALL(&client, ReclaimAllocations2, &reclaim),
                         STATUS_INVALID_PARAMETER);
        offer.pResources = (D3DKMT_HANDLE[]){keeps, keeps};
        offer.NumAllocations = 2;
        assert_int_equal(TEST_CALL(&client, OfferAllocations, &offer), STATUS_INVALID_PARAMETER);
        offer.NumAllocations = 1;
        test_destroy(&client, &kept[0]);
        test_destroy(&client, &dropped[0]);
        test_destroy(&client, &dropped[1]);
    }
    test_client_close(&client);
}

static void a_resource_is_offered_and_reclaimed_with_all_it_has(void **state)
{
    test_on_board(16 * MIB, offers_of_resources);
}

/* Of two that are given up, the one of lower priority leaves first. */
static void priorities(struct exec_session *session)
{
    const UINT minimum = 0x28000000, high = 0xa0000000;
    struct test_client client;
    struct test_buffer low_one, high_one, more;
    D3DKMT_SETALLOCATIONPRIORITY set = {.AllocationCount = 1};
    uint64_t before;

    test_client_start(&client, session);
    set.hDevice = client.device;
    make_resident_buffer_of(&client, SGPU_UMD_NO_APERTURE, 5 * MIB, &low_one);
    make_resident_buffer_of(&client, SGPU_UMD_NO_APERTURE, 5 * MIB, &high_one);
    set.phAllocationList = &low_one.handle;
    set.pPriorities = &minimum;
    assert_int_equal(TEST_CALL(&client, SetAllocationPriority, &set), STATUS_SUCCESS);
    set.phAllocationList = &high_one.handle;
    set.pPriorities = &high;
    assert_int_equal(TEST_CALL(&client, SetAllocationPriority, &set), STATUS_SUCCESS);
    assert_int_equal(test_evict(&client, &high_one), STATUS_SUCCESS); /* unused for longer */
    assert_int_equal(test_evict(&client, &low_one), STATUS_SUCCESS);
    make_resident_buffer_of(&client, SGPU_UMD_NO_APERTURE, 7 * MIB, &more);
    before = vidmm_statistics(session->board->vidmm)->moved_in_bytes;
    assert_int_equal(test_make_resident(&client, &high_one), STATUS_SUCCESS); /* had not left */
    assert_int_equal(vidmm_statistics(session->board->vidmm)->moved_in_bytes, before);
    test_client_close(&client);
}

static void the_lower_priority_leaves_first(void **state)
{
    test_on_board(16 * MIB, priorities);
}

/* ---- Others ---------------------------------------------------------------------------------- */

static void call_has_ended(struct d3dkmt_call *call)
{
    *(bool *)call->context = true;
}

static void let_run(struct exec_session *session)
{
    while (exec_step(session))
        continue;
}

/* Submits bytes as they are. */
static void submit(struct test_client *client, const void *bytes, uint32_t count)
{
    const D3DKMT_SUBMITCOMMAND call = {.Commands = client->command_va,
                                       .CommandLength = count,
                                       .BroadcastContextCount = 1,
                                       .BroadcastContext = {client->context}};

    memcpy(client->command_memory, bytes, count);
    assert_int_equal(TEST_CALL(client, SubmitCommand, (void *)(uintptr_t)&call), STATUS_SUCCESS);
    let_run(client->session);
}

static void make_resident_buffer(struct test_client *client, uint32_t flags,
                                 struct test_buffer *out_buffer)
{
    make_resident_buffer_of(client, flags, MIB, out_buffer);
}

static void no_physical_addresses(struct exec_session *session)
{
    struct test_client spy, other;
    struct test_buffer theirs, mine;
    uint8_t *seen, *taken;

    test_client_start(&other, session);
    make_resident_buffer(&other, SGPU_UMD_CPU_VISIBLE, &theirs);
    seen = test_lock(&other, &theirs);
    fill(seen, MIB, 11);
    test_client_start(&spy, session);
    make_resident_buffer(&spy, SGPU_UMD_APERTURE_ONLY | SGPU_UMD_CPU_VISIBLE, &mine);
    taken = test_lock(&spy, &mine);
    memset(taken, 0, MIB);
    /* All of local memory, by physical addresses. */
    for (uint64_t from = 0; from < 16 * MIB; from += MIB) {
        const struct sgpu_packet_copy copy = {.header =
                                                  SGPU_PACKET_HEADER(SGPU_OP_COPY, sizeof copy / 4),
                                              .flags = SGPU_PACKET_PHYSICAL,
                                              .source = from,
                                              .destination = SGPU_PA_SYSTEM | from,
                                              .bytes = MIB};

        if (state_of(&spy) != D3DKMT_DEVICEEXECUTION_ACTIVE)
            break;
        submit(&spy, &copy, sizeof copy);
    }
    assert_int_equal(state_of(&spy), D3DKMT_DEVICEEXECUTION_HUNG);
    assert_int_equal(state_of(&other), D3DKMT_DEVICEEXECUTION_ACTIVE);
    expect(seen, MIB, 11);
    test_client_close(&spy);
    test_client_close(&other);
}

static void work_of_a_client_reaches_its_own_addresses_only(void **state)
{
    test_on_board_with_faults(16 * MIB, no_physical_addresses);
}

/* What a client had is zero for the next one, in local memory and in the system's. */
static void used_memory(struct exec_session *session)
{
    static const uint32_t kinds[] = {SGPU_UMD_NO_APERTURE | SGPU_UMD_CPU_VISIBLE,
                                     SGPU_UMD_APERTURE_ONLY | SGPU_UMD_CPU_VISIBLE};
    struct test_client first, next;
    struct test_buffer buffer;
    uint8_t *zeros = calloc(1, MIB);

    for (unsigned kind = 0; kind < 2; kind++) {
        test_client_start(&first, session);
        for (unsigned i = 0; i < 10; i++) {
            make_resident_buffer(&first, kinds[kind], &buffer);
            memset(test_lock(&first, &buffer), 0xab, MIB);
        }
        test_client_close(&first);
        test_client_start(&next, session);
        for (unsigned i = 0; i < 10; i++) {
            make_resident_buffer(&next, kinds[kind], &buffer);
            assert_memory_equal(test_lock(&next, &buffer), zeros, MIB);
        }
        test_client_close(&next);
    }
    free(zeros);
}

static void what_a_client_had_is_zero_for_the_next(void **state)
{
    test_on_board(16 * MIB, used_memory);
}

static void device_that_never_goes(struct exec_session *session)
{
    const UINT64 never = 1;
    D3DKMT_CREATEDEVICE second = {0};
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 create = {.Info.Type = D3DDDI_MONITORED_FENCE};
    struct d3dkmt_call call = {.function = D3DKMT_FN_DestroyDevice};
    D3DKMT_DESTROYDEVICE destroy;
    struct test_client client, other;
    struct test_buffer from, to;
    bool has_ended = false;

    test_client_start(&client, session);
    test_client_start(&other, session);
    /* A context of one device waits for a fence of another one, which is to go. */
    second.hAdapter = client.adapter;
    assert_int_equal(TEST_CALL(&client, CreateDevice, &second), STATUS_SUCCESS);
    create.hDevice = second.hDevice;
    assert_int_equal(TEST_CALL(&client, CreateSynchronizationObject2, &create), STATUS_SUCCESS);
    assert_int_equal(TEST_CALL(&client, WaitForSynchronizationObjectFromGpu,
                               &((D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU){
                                   .hContext = client.context,
                                   .ObjectCount = 1,
                                   .ObjectHandleArray = &create.hSyncObject,
                                   .MonitoredFenceValueArray = &never})),
                     STATUS_SUCCESS);
    destroy.hDevice = second.hDevice;
    call.arguments = &destroy;
    call.context = &has_ended;
    call.ended = call_has_ended;
    assert_false(d3dkmt_call(client.process, &call));
    let_run(session);
    assert_false(has_ended);
    /* Others work. */
    make_resident_buffer(&other, 0, &from);
    make_resident_buffer(&other, 0, &to);
    test_wait_fence(&other, test_copy(&other, to.va, from.va, MIB));
    test_client_close(&client);
    assert_true(has_ended);
    assert_int_equal(call.status, STATUS_CANCELLED);
    test_client_close(&other);
}

static void a_device_that_cannot_go_holds_nobody_up(void **state)
{
    test_on_board(16 * MIB, device_that_never_goes);
}

static void bad_bytes(struct exec_session *session)
{
    static uint64_t seed;
    struct test_client client, other;
    struct test_buffer theirs, own;
    uint8_t *seen;
    struct rng rng;

    rng_init(&rng, ++seed);
    test_client_start(&other, session);
    make_resident_buffer(&other, SGPU_UMD_CPU_VISIBLE, &theirs);
    seen = test_lock(&other, &theirs);
    fill(seen, MIB, seed);
    for (unsigned i = 0; i < 12; i++) {
        uint32_t words[128];

        test_client_start(&client, session);
        make_resident_buffer(&client, 0, &own);
        for (unsigned k = 0; k < 128; k++)
            words[k] = rng_below(&rng, 3)   ? (uint32_t)rng_below(&rng, 64)
                       : rng_below(&rng, 2) ? (uint32_t)(own.va >> rng_below(&rng, 2) * 32)
                                            : (uint32_t)rng_next(&rng);
        /* The first packet is whole, with fields of any value. */
        words[0] = SGPU_PACKET_HEADER(rng_below(&rng, 0x25), 2 * rng_below(&rng, 10));
        words[1] = (uint32_t)rng_below(&rng, 4);
        submit(&client, words, sizeof words);
        assert_int_equal(state_of(&other), D3DKMT_DEVICEEXECUTION_ACTIVE);
        test_client_close(&client);
    }
    expect(seen, MIB, seed);
    test_client_close(&other);
}

static void work_of_any_bytes_harms_nobody_else(void **state)
{
    for (unsigned i = 0; i < 4; i++)
        test_on_board_with_faults(16 * MIB, bad_bytes);
}

/* ---- Noise ----------------------------------------------------------------------------------- */

struct noise {
    struct d3dkmt_call call;
    uint64_t message[160];
    struct noise *next;
    bool has_ended;
};

static void noise_ended(struct d3dkmt_call *call)
{
    ((struct noise *)call->context)->has_ended = true;
}

/* A structure of plausible words, and as many bytes behind it as its counts ask for. */
static bool make_noise(struct noise *noise, struct rng *rng, const uint32_t *handles, size_t count)
{
    const unsigned function = (unsigned)rng_below(rng, D3DKMT_FN_COUNT);
    const size_t structure = (thunk_structure_bytes(function) + 7) / 8 * 8;
    const size_t first = sizeof(struct thunk_header) + structure;
    uint32_t *words = (uint32_t *)noise->message;
    uint64_t copy[160];

    for (size_t i = 0; i < sizeof noise->message / 4; i++) {
        switch (rng_below(rng, 6)) {
        case 0:
        case 1:
            words[i] = handles[rng_below(rng, count)];
            break;
        case 2:
            words[i] = (uint32_t)rng_below(rng, 9);
            break;
        case 3:
            words[i] = (uint32_t)rng_below(rng, 64) << 12;
            break;
        case 4:
            words[i] = rng_below(rng, 20) ? 0 : (uint32_t)rng_next(rng);
            break;
        default:
            words[i] = 0;
        }
    }
    for (size_t bytes = first; bytes <= sizeof noise->message; bytes += 8) {
        const struct thunk_header header = {
            .magic = THUNK_MAGIC, .function = function, .bytes = (uint32_t)bytes};
        unsigned found;
        void *arguments;

        memcpy(noise->message, &header, sizeof header);
        memcpy(copy, noise->message, sizeof copy);
        if (!thunk_open(copy, bytes, &found, &arguments))
            continue;
        assert_true(thunk_open(noise->message, bytes, &found, &arguments));
        noise->call = (struct d3dkmt_call){.function = (enum d3dkmt_function)found,
                                           .arguments = arguments,
                                           .ended = noise_ended,
                                           .context = noise};
        return true;
    }
    return false;
}

/* Work of a client names addresses that a fault may be at, and that is no defect of the driver's.
 */
static bool is_left_out(unsigned function, struct rng *rng)
{
    if (function == D3DKMT_FN_SubmitCommand)
        return true;
    return (function == D3DKMT_FN_DestroyDevice || function == D3DKMT_FN_CloseAdapter ||
            function == D3DKMT_FN_DestroyPagingQueue) &&
           rng_below(rng, 400);
}

static void make_and_hear_noise(struct exec_session *session)
{
    static uint64_t seed;
    struct noise *first = NULL, *noise;
    struct test_client client, other;
    struct test_buffer buffers[4], theirs;
    uint64_t calls = 0, succeeded;
    uint8_t *seen;
    struct rng rng;

    rng_init(&rng, ++seed);
    test_client_start(&other, session);
    assert_int_equal(test_create(&other, SGPU_UMD_CPU_VISIBLE, MIB, NULL, &theirs), STATUS_SUCCESS);
    seen = test_lock(&other, &theirs);
    fill(seen, MIB, seed);
    test_client_start(&client, session);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(
            test_create(&client, i % 2 ? SGPU_UMD_CPU_VISIBLE : 0, MIB, NULL, &buffers[i]),
            STATUS_SUCCESS);
        test_map(&client, &buffers[i], 0);
    }
    for (unsigned i = 0; i < 20000; i++) {
        const uint32_t handles[] = {client.adapter,
                                    client.device,
                                    client.queue,
                                    client.context,
                                    client.fence,
                                    client.queue_fence,
                                    client.commands,
                                    buffers[0].handle,
                                    buffers[1].handle,
                                    buffers[2].handle,
                                    buffers[3].handle,
                                    theirs.handle,
                                    (uint32_t)rng_below(&rng, 4096)};

        noise = calloc(1, sizeof *noise);
        if (!make_noise(noise, &rng, handles, sizeof handles / sizeof handles[0]) ||
            is_left_out(noise->call.function, &rng) || d3dkmt_call(client.process, &noise->call)) {
            free(noise);
        } else {
            noise->next = first;
            first = noise;
        }
        for (unsigned k = (unsigned)rng_below(&rng, 4); k > 0; k--)
            exec_step(session);
    }
    for (unsigned i = 0; i < D3DKMT_FN_COUNT; i++)
        calls += d3dkmt_statistics(session->front)->calls[i];
    succeeded = calls - d3dkmt_statistics(session->front)->failed_calls;
    assert_in_range(calls, 5000, 20100); /* the rest asks for more than a message had */
    assert_in_range(succeeded, 300, calls);
    test_client_close(&client);
    while ((noise = first)) {
        assert_true(noise->has_ended);
        first = noise->next;
        free(noise);
    }
    /* Nobody else has noticed. */
    expect(seen, MIB, seed);
    test_client_close(&other);
}

static void any_well_formed_call_gets_a_status_and_harms_nobody_else(void **state)
{
    for (unsigned i = 0; i < 4; i++)
        test_on_board(16 * MIB, make_and_hear_noise);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_outlives_eviction_through_the_clients_own_pages),
        cmocka_unit_test(work_waits_for_its_fence_and_signals_come_behind_it),
        cmocka_unit_test(addresses_are_reserved_mapped_freed_and_given_again),
        cmocka_unit_test(handles_of_others_and_old_ones_are_refused),
        cmocka_unit_test(who_finds_no_room_waits_until_somebody_gives_some_up),
        cmocka_unit_test(budgets_follow_processes_and_reservations),
        cmocka_unit_test(references_are_counted_and_none_is_given_back_twice),
        cmocka_unit_test(who_does_not_fit_beside_another_takes_turns),
        cmocka_unit_test(two_that_take_memory_piece_by_piece_get_all_of_it),
        cmocka_unit_test(what_comes_new_gets_local_memory_before_what_came_first),
        cmocka_unit_test(what_is_offered_may_be_gone_when_it_is_reclaimed),
        cmocka_unit_test(a_resource_is_offered_and_reclaimed_with_all_it_has),
        cmocka_unit_test(the_lower_priority_leaves_first),
        cmocka_unit_test(work_of_a_client_reaches_its_own_addresses_only),
        cmocka_unit_test(what_a_client_had_is_zero_for_the_next),
        cmocka_unit_test(a_device_that_cannot_go_holds_nobody_up),
        cmocka_unit_test(work_of_any_bytes_harms_nobody_else),
        cmocka_unit_test(any_well_formed_call_gets_a_status_and_harms_nobody_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
