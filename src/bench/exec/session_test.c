/*
 * The thunk functions on the Drydock GPU and the reference driver, in one process: copies, waits,
 * addresses, handles.
 */
#include "bench/exec/test_client.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MIB (UINT64_C(1) << 20)

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
            test_fill(memory, bytes, 100 * round + i);
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
            test_expect(memory, bytes, 100 * round + i);
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
    test_fill(source, MIB, 5);
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
    test_let_run(session);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_outlives_eviction_through_the_clients_own_pages),
        cmocka_unit_test(work_waits_for_its_fence_and_signals_come_behind_it),
        cmocka_unit_test(addresses_are_reserved_mapped_freed_and_given_again),
        cmocka_unit_test(handles_of_others_and_old_ones_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
