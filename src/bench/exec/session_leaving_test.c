/* What a process gives up of what others have, while it works on. */
#include "bench/exec/test_client.h"

#include <string.h>

#define MIB  (UINT64_C(1) << 20)
#define MOST 50u /* copies */

static uint64_t share(struct test_client *client, D3DKMT_HANDLE object)
{
    THUNK_SHARE_OBJECTS arguments = {.cObjects = 1, .hObjects = &object};
    uint64_t named = 0;

    assert_int_equal(test_call_by(client, D3DKMT_FN_ShareObjects, &arguments, &named),
                     STATUS_SUCCESS);
    return named;
}

/* ---- Fences ---------------------------------------------------------------------------------- */

static D3DKMT_HANDLE make_fence(struct test_client *client)
{
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 create = {
        .hDevice = client->device,
        .Info = {.Type = D3DDDI_MONITORED_FENCE,
                 .Flags = {{{.Shared = 1, .NtSecuritySharing = 1}}}}};

    assert_int_equal(TEST_CALL(client, CreateSynchronizationObject2, &create), STATUS_SUCCESS);
    return create.hSyncObject;
}

static bool is_seen(struct test_client *client, const void *address)
{
    struct client_view view;

    return client_memory_find_view(&client->memory, (uintptr_t)address, &view);
}

static void close_fence(struct exec_session *session)
{
    D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 open = {0};
    struct test_client maker, client;
    struct test_buffer from, to;
    uint64_t named, last;
    unsigned copies = 2;

    test_client_start(&maker, session);
    test_client_start(&client, session);
    named = share(&maker, make_fence(&maker));
    open.hDevice = client.device;
    assert_int_equal(test_call_by(&client, D3DKMT_FN_OpenSyncObjectFromNtHandle2, &open, &named),
                     STATUS_SUCCESS);
    assert_true(is_seen(&client, open.MonitoredFence.FenceValueCPUVirtualAddress));
    test_resident_buffer(&client, 0, MIB, &from);
    test_resident_buffer(&client, 0, MIB, &to);
    test_let_run(session);

    /* One that runs when the fence goes keeps its page; those behind it do not. */
    test_copy(&client, to.va, from.va, MIB);
    assert_int_equal(
        TEST_CALL(&client, DestroySynchronizationObject,
                  &((D3DKMT_DESTROYSYNCHRONIZATIONOBJECT){.hSyncObject = open.hSyncObject})),
        STATUS_SUCCESS);
    assert_true(is_seen(&client, open.MonitoredFence.FenceValueCPUVirtualAddress));
    last = test_copy(&client, to.va, from.va, MIB);
    while (is_seen(&client, open.MonitoredFence.FenceValueCPUVirtualAddress)) {
        assert_true(copies++ < MOST);
        test_wait_fence(&client, last - 1);
        last = test_copy(&client, to.va, from.va, MIB);
        assert_true(*client.fence_value < last - 1); /* the one before has not ended */
    }
    test_client_close(&client);
    test_client_close(&maker);
    d3dkmt_nt_handle_closed(session->front, named);
}

static void the_page_of_a_closed_fence_goes_while_others_work(void **state)
{
    test_on_board(16 * MIB, close_fence);
}

/* ---- Addresses ------------------------------------------------------------------------------- */

static D3DKMT_HANDLE make_resource(struct test_client *client)
{
    struct sgpu_umd_allocation data = {
        .version = SGPU_UMD_VERSION, .flags = SGPU_UMD_CPU_VISIBLE, .bytes = MIB};
    D3DDDI_ALLOCATIONINFO2 info = {.pPrivateDriverData = &data,
                                   .PrivateDriverDataSize = sizeof data};
    D3DKMT_CREATEALLOCATION create = {
        .hDevice = client->device,
        .NumAllocations = 1,
        .pAllocationInfo2 = &info,
        .Flags = {.CreateResource = 1, .CreateShared = 1, .NtSecuritySharing = 1}};

    assert_int_equal(TEST_CALL(client, CreateAllocation2, &create), STATUS_SUCCESS);
    return create.hResource;
}

static D3DKMT_HANDLE open_resource(struct test_client *client, uint64_t named,
                                   struct test_buffer *out_buffer)
{
    struct sgpu_umd_allocation data;
    D3DDDI_OPENALLOCATIONINFO2 info = {0};
    D3DKMT_OPENRESOURCEFROMNTHANDLE open = {.hDevice = client->device,
                                            .NumAllocations = 1,
                                            .pOpenAllocationInfo2 = &info,
                                            .TotalPrivateDriverDataBufferSize = sizeof data,
                                            .pTotalPrivateDriverDataBuffer = &data};

    assert_int_equal(test_call_by(client, D3DKMT_FN_OpenResourceFromNtHandle, &open, &named),
                     STATUS_SUCCESS);
    *out_buffer = (struct test_buffer){.handle = info.hAllocation, .bytes = MIB};
    return open.hResource;
}

/* A queue waits for what the client does behind the mapping. */
static void map_again(struct exec_session *session)
{
    struct test_client maker, client;
    struct test_buffer old, from, next;
    D3DKMT_HANDLE resource, made;
    uint64_t named, va;
    uint8_t *memory;

    test_client_start(&maker, session);
    test_client_start(&client, session);
    made = make_resource(&maker);
    named = share(&maker, made);
    resource = open_resource(&client, named, &old);
    test_map(&client, &old, 0);
    va = old.va;
    assert_true(NT_SUCCESS(test_make_resident(&client, &old)));
    test_resident_buffer(&client, SGPU_UMD_CPU_VISIBLE, MIB, &from);
    assert_int_equal(test_create(&client, SGPU_UMD_CPU_VISIBLE, MIB, NULL, &next), STATUS_SUCCESS);
    assert_true(NT_SUCCESS(test_make_resident(&client, &next)));
    test_let_run(session);
    test_hold_queue(&client, 1000);
    assert_int_equal(
        TEST_CALL(&client, DestroyAllocation2,
                  &((D3DKMT_DESTROYALLOCATION2){.hDevice = client.device, .hResource = resource})),
        STATUS_SUCCESS);
    test_map(&client, &next, va);
    test_let_go(&client, 1000);
    test_let_run(session);

    /* The addresses lead to the new one, and the maker has the old one still. */
    memory = test_lock(&client, &from);
    test_fill(memory, MIB, 8);
    test_wait_fence(&client, test_copy(&client, va, from.va, MIB));
    test_expect(test_lock(&client, &next), MIB, 8);
    test_client_close(&client);
    test_client_close(&maker);
    d3dkmt_nt_handle_closed(session->front, named);
}

static void addresses_of_what_is_closed_are_given_anew_at_once(void **state)
{
    test_on_board(16 * MIB, map_again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_of_a_closed_fence_goes_while_others_work),
        cmocka_unit_test(addresses_of_what_is_closed_are_given_anew_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
