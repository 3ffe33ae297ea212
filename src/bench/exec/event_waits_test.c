/* Waits of the CPU that hold no call up (hAsyncEvent; D3DKMT_MOST_EVENTS). */
#include "bench/exec/test_client.h"

#define MIB         (1u << 20)
#define ROOM_MIB    16u
#define AN_EVENT    ((UINT64)40)
#define WAIT_ANY    1u
#define NO_SUCH_ONE 90u

static D3DKMT_HANDLE make_fence_at(struct test_client *client, UINT64 **out_value)
{
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 create = {.hDevice = client->device,
                                                  .Info.Type = D3DDDI_MONITORED_FENCE};

    assert_int_equal(TEST_CALL(client, CreateSynchronizationObject2, &create), STATUS_SUCCESS);
    *out_value = create.Info.MonitoredFence.FenceValueCPUVirtualAddress;
    return create.hSyncObject;
}

static D3DKMT_HANDLE make_fence(struct test_client *client)
{
    UINT64 *value;

    return make_fence_at(client, &value);
}

static NTSTATUS await(struct test_client *client, UINT64 event, UINT count,
                      const D3DKMT_HANDLE *fences, const UINT64 *values, unsigned flags)
{
    D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU wait = {.hDevice = client->device,
                                                       .ObjectCount = count,
                                                       .ObjectHandleArray = fences,
                                                       .FenceValueArray = values,
                                                       .hAsyncEvent = (HANDLE)(uintptr_t)event};

    wait.Flags.WaitAny = flags & WAIT_ANY;
    return TEST_CALL(client, WaitForSynchronizationObjectFromCpu, &wait);
}

/* The end of the wait, which has come. */
static NTSTATUS end_of(struct test_client *client, UINT64 event)
{
    return await(client, event + 1, 0, NULL, NULL, 0);
}

static void signal(struct test_client *client, D3DKMT_HANDLE fence, UINT64 value, unsigned rewinds)
{
    D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU signal = {.hDevice = client->device,
                                                        .ObjectCount = 1,
                                                        .ObjectHandleArray = &fence,
                                                        .FenceValueArray = &value};

    signal.Flags.AllowFenceRewind = rewinds & 1;
    assert_int_equal(TEST_CALL(client, SignalSynchronizationObjectFromCpu, &signal),
                     STATUS_SUCCESS);
}

static void destroy_fence(struct test_client *client, D3DKMT_HANDLE fence)
{
    assert_int_equal(TEST_CALL(client, DestroySynchronizationObject,
                               &((D3DKMT_DESTROYSYNCHRONIZATIONOBJECT){fence})),
                     STATUS_SUCCESS);
}

static void expect_silence(void)
{
    for (unsigned rule = 0; rule < CLIENT_RULE_COUNT; rule++)
        assert_string_equal(test_breaches[rule], "");
}

static void reach(struct exec_session *session)
{
    struct test_client client;
    const UINT64 values[2] = {1, 3}, zero = 0;
    D3DKMT_HANDLE fences[2], again;

    test_client_start(&client, session);
    fences[0] = make_fence(&client);
    fences[1] = make_fence(&client);
    assert_int_equal(await(&client, AN_EVENT, 1, fences, &zero, 0), STATUS_SUCCESS);
    assert_int_equal(end_of(&client, AN_EVENT), STATUS_INVALID_PARAMETER); /* none was entered */

    /* All, and any. */
    assert_int_equal(await(&client, AN_EVENT, 2, fences, values, 0), STATUS_PENDING);
    assert_int_equal(await(&client, AN_EVENT + 2, 2, fences, values, WAIT_ANY), STATUS_PENDING);
    signal(&client, fences[1], 3, 0);
    assert_int_equal(end_of(&client, AN_EVENT + 2), STATUS_SUCCESS);
    assert_int_equal(end_of(&client, AN_EVENT + 2), STATUS_INVALID_PARAMETER); /* once */
    signal(&client, fences[0], 1, 0);
    assert_int_equal(end_of(&client, AN_EVENT), STATUS_SUCCESS);

    /* What was reached stays reached: the value goes back, and then the fence goes. */
    signal(&client, fences[0], 0, 1);
    assert_int_equal(await(&client, AN_EVENT, 1, fences, values, 0), STATUS_PENDING);
    signal(&client, fences[0], 1, 0);
    signal(&client, fences[0], 0, 1);
    assert_int_equal(end_of(&client, AN_EVENT), STATUS_SUCCESS);
    assert_int_equal(await(&client, AN_EVENT, 1, fences, values, 0), STATUS_PENDING);
    signal(&client, fences[0], 1, 0);
    destroy_fence(&client, fences[0]);
    assert_int_equal(end_of(&client, AN_EVENT), STATUS_SUCCESS);
    expect_silence();

    /* A wait that is over is nobody's when its fence goes, whatever the value is by then. */
    again = make_fence(&client);
    assert_int_equal(await(&client, AN_EVENT, 1, &again, values, 0), STATUS_PENDING);
    signal(&client, again, 1, 0);
    signal(&client, again, 0, 1);
    assert_int_equal(end_of(&client, AN_EVENT), STATUS_SUCCESS);
    destroy_fence(&client, again);
    expect_silence();

    assert_int_equal(await(&client, AN_EVENT, 1, &fences[1], &(const UINT64){4}, 0),
                     STATUS_PENDING);
    assert_int_equal(TEST_CALL(&client, SignalSynchronizationObjectFromGpu,
                               &((D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU){
                                   .hContext = client.context,
                                   .ObjectCount = 1,
                                   .ObjectHandleArray = &fences[1],
                                   .MonitoredFenceValueArray = &(const UINT64){4}})),
                     STATUS_SUCCESS);
    test_let_run(session);
    destroy_fence(&client, fences[1]);
    assert_int_equal(end_of(&client, AN_EVENT), STATUS_SUCCESS);
    expect_silence();
    test_client_close(&client);
}

static void what_is_reached_counts_whatever_follows(void **state)
{
    test_on_board(ROOM_MIB * MIB, reach);
}

/* As the GPU does it: the value is in memory, and the front has not looked when the fence goes. */
static void write_unseen(struct exec_session *session)
{
    struct test_client client;
    const UINT64 one = 1;
    D3DKMT_HANDLE fence;
    UINT64 *value;

    test_client_start(&client, session);
    fence = make_fence_at(&client, &value);
    assert_int_equal(await(&client, AN_EVENT, 1, &fence, &one, 0), STATUS_PENDING);
    *value = 1;
    destroy_fence(&client, fence);
    assert_int_equal(end_of(&client, AN_EVENT), STATUS_SUCCESS);
    test_client_close(&client);
}

static void a_value_that_nobody_has_looked_at_counts(void **state)
{
    test_on_board(ROOM_MIB * MIB, write_unseen);
}

static void lose(struct exec_session *session)
{
    struct test_client client;
    const UINT64 one = 1;
    D3DKMT_HANDLE fence;

    test_client_start(&client, session);
    fence = make_fence(&client);
    assert_int_equal(await(&client, AN_EVENT, 1, &fence, &one, 0), STATUS_PENDING);
    destroy_fence(&client, fence);
    assert_int_equal(test_told[CLIENT_RULE_FENCE_AWAITED], 1);
    assert_int_equal(end_of(&client, AN_EVENT), STATUS_INVALID_HANDLE);
    assert_int_equal(await(&client, AN_EVENT, 1, &fence, &one, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(end_of(&client, NO_SUCH_ONE), STATUS_INVALID_PARAMETER);
    test_client_close(&client);
}

static void a_wait_ends_with_its_fence_and_a_rule_tells_of_it(void **state)
{
    test_on_board(ROOM_MIB * MIB, lose);
}

/* They go with their process, which is closed with all of them entered. */
static void fill(struct exec_session *session)
{
    struct test_client client;
    const UINT64 one = 1;
    D3DKMT_HANDLE fence;

    test_client_start(&client, session);
    fence = make_fence(&client);
    for (UINT64 i = 1; i <= D3DKMT_MOST_EVENTS; i++)
        assert_int_equal(await(&client, 2 * i, 1, &fence, &one, 0), STATUS_PENDING);
    assert_int_equal(await(&client, 2 * D3DKMT_MOST_EVENTS + 2, 1, &fence, &one, 0),
                     STATUS_NO_MEMORY);
    assert_int_equal(await(&client, 0, 1, &fence, &(const UINT64){0}, 0), STATUS_SUCCESS);
    test_client_close(&client);
    test_let_run(session);
    assert_true(test_told[CLIENT_RULE_NEVER_SIGNALLED] > 0);
}

static void a_process_has_so_many_waits_and_no_more(void **state)
{
    test_on_board(ROOM_MIB * MIB, fill);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_reached_counts_whatever_follows),
        cmocka_unit_test(a_value_that_nobody_has_looked_at_counts),
        cmocka_unit_test(a_wait_ends_with_its_fence_and_a_rule_tells_of_it),
        cmocka_unit_test(a_process_has_so_many_waits_and_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
