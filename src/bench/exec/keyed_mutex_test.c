/* Keyed mutexes: who has one in which order, how long anybody waits, and what lies beside it. */
#include "bench/exec/test_client.h"

#include <string.h>
#include <uchar.h>

#define MIB (UINT64_C(1) << 20)

/* ---- Calls ----------------------------------------------------------------------------------- */

struct mutex {
    D3DKMT_HANDLE global, handle;
};

static struct mutex make(struct test_client *client, UINT64 key)
{
    D3DKMT_CREATEKEYEDMUTEX create = {.InitialValue = key};

    assert_int_equal(TEST_CALL(client, CreateKeyedMutex, &create), STATUS_SUCCESS);
    assert_true(create.hSharedHandle && create.hKeyedMutex);
    return (struct mutex){create.hSharedHandle, create.hKeyedMutex};
}

static D3DKMT_HANDLE open_global(struct test_client *client, D3DKMT_HANDLE global)
{
    D3DKMT_OPENKEYEDMUTEX open = {.hSharedHandle = global};

    assert_int_equal(TEST_CALL(client, OpenKeyedMutex, &open), STATUS_SUCCESS);
    return open.hKeyedMutex;
}

static NTSTATUS try_to_acquire(struct test_client *client, D3DKMT_HANDLE mutex, UINT64 key,
                               UINT64 *out_fence_value)
{
    LARGE_INTEGER none = {.QuadPart = 0};
    D3DKMT_ACQUIREKEYEDMUTEX acquire = {
        .hKeyedMutex = mutex, .Key = key, .pTimeout = &none, .FenceValue = 1};
    const NTSTATUS status = TEST_CALL(client, AcquireKeyedMutex, &acquire);

    *out_fence_value = acquire.FenceValue;
    return status;
}

static NTSTATUS release(struct test_client *client, D3DKMT_HANDLE mutex, UINT64 key,
                        UINT64 fence_value)
{
    return TEST_CALL(
        client, ReleaseKeyedMutex,
        &((D3DKMT_RELEASEKEYEDMUTEX){.hKeyedMutex = mutex, .Key = key, .FenceValue = fence_value}));
}

static NTSTATUS destroy(struct test_client *client, D3DKMT_HANDLE mutex)
{
    return TEST_CALL(client, DestroyKeyedMutex, &((D3DKMT_DESTROYKEYEDMUTEX){mutex}));
}

/* A call that may wait. */
struct waiter {
    D3DKMT_ACQUIREKEYEDMUTEX arguments;
    LARGE_INTEGER timeout;
    struct d3dkmt_call call;
    bool has_ended;
};

static void ended(struct d3dkmt_call *call)
{
    ((struct waiter *)call->context)->has_ended = true;
}

static void begin_to_wait(struct test_client *client, D3DKMT_HANDLE mutex, UINT64 key,
                          struct waiter *waiter)
{
    waiter->arguments.hKeyedMutex = mutex;
    waiter->arguments.Key = key;
    waiter->call = (struct d3dkmt_call){.function = D3DKMT_FN_AcquireKeyedMutex,
                                        .arguments = &waiter->arguments,
                                        .ended = ended,
                                        .context = waiter};
    waiter->has_ended = d3dkmt_call(client->process, &waiter->call);
    test_let_run(client->session);
}

/* ---- Turns ----------------------------------------------------------------------------------- */

static void hand_over(struct exec_session *session)
{
    struct test_client maker, other;
    struct mutex mutex;
    D3DKMT_HANDLE opened;
    UINT64 value;

    test_client_open(&maker, session);
    test_client_open(&other, session);
    mutex = make(&maker, 7);
    opened = open_global(&other, mutex.global);

    assert_int_equal(try_to_acquire(&other, opened, 8, &value), STATUS_TIMEOUT);
    assert_int_equal(try_to_acquire(&other, opened, 7, &value), STATUS_SUCCESS);
    assert_int_equal(value, 0);
    assert_int_equal(try_to_acquire(&maker, mutex.handle, 7, &value), STATUS_TIMEOUT);
    assert_int_equal(try_to_acquire(&other, opened, 7, &value), STATUS_TIMEOUT);
    assert_int_equal(release(&maker, mutex.handle, 7, 1), STATUS_INVALID_PARAMETER);
    assert_int_equal(release(&other, opened, 9, 44), STATUS_SUCCESS);
    assert_int_equal(release(&other, opened, 7, 45), STATUS_INVALID_PARAMETER);
    assert_int_equal(try_to_acquire(&maker, mutex.handle, 7, &value), STATUS_TIMEOUT);
    assert_int_equal(try_to_acquire(&maker, mutex.handle, 9, &value), STATUS_SUCCESS);
    assert_int_equal(value, 44);
    assert_int_equal(release(&maker, mutex.handle, 9, 46), STATUS_SUCCESS);

    /* Who has made it may leave: the others have it. */
    test_client_close(&maker);
    assert_int_equal(try_to_acquire(&other, opened, 9, &value), STATUS_SUCCESS);
    assert_int_equal(value, 46);
    assert_int_equal(release(&other, opened, 9, 0), STATUS_SUCCESS);
    assert_int_equal(destroy(&other, opened), STATUS_SUCCESS);
    assert_int_equal(destroy(&other, opened), STATUS_INVALID_PARAMETER);
    assert_int_equal(TEST_CALL(&other, OpenKeyedMutex,
                               &((D3DKMT_OPENKEYEDMUTEX){.hSharedHandle = mutex.global})),
                     STATUS_INVALID_PARAMETER);
    test_client_close(&other);
}

static void a_mutex_goes_to_who_acquires_its_key(void **state)
{
    test_on_board(16 * MIB, hand_over);
}

static void wait_in_order(struct exec_session *session)
{
    struct waiter first = {0}, second = {0}, elsewhere = {0}, gone = {0};
    struct test_client maker, other;
    struct mutex mutex;
    D3DKMT_HANDLE opened, again;
    UINT64 value;

    test_client_open(&maker, session);
    test_client_open(&other, session);
    mutex = make(&maker, 0);
    opened = open_global(&other, mutex.global);
    again = open_global(&other, mutex.global);
    assert_int_equal(try_to_acquire(&maker, mutex.handle, 0, &value), STATUS_SUCCESS);
    begin_to_wait(&other, opened, 5, &first);
    begin_to_wait(&other, again, 5, &second);
    begin_to_wait(&other, opened, 6, &elsewhere);
    assert_false(first.has_ended || second.has_ended || elsewhere.has_ended);
    assert_int_equal(d3dkmt_next_timeout(session->front), UINT64_MAX);

    assert_int_equal(release(&maker, mutex.handle, 5, 1), STATUS_SUCCESS);
    test_let_run(session);
    assert_true(first.has_ended);
    assert_int_equal(first.call.status, STATUS_SUCCESS);
    assert_int_equal(first.arguments.FenceValue, 1);
    assert_false(second.has_ended || elsewhere.has_ended);
    assert_int_equal(release(&other, again, 5, 2), STATUS_INVALID_PARAMETER); /* another handle */
    assert_int_equal(release(&other, opened, 5, 2), STATUS_SUCCESS);
    test_let_run(session);
    assert_true(second.has_ended);
    assert_int_equal(second.arguments.FenceValue, 2);
    assert_int_equal(release(&other, again, 6, 3), STATUS_SUCCESS);
    test_let_run(session);
    assert_true(elsewhere.has_ended);

    /* A handle that goes ends who waits by it. */
    begin_to_wait(&other, again, 0, &gone);
    assert_int_equal(destroy(&other, again), STATUS_SUCCESS);
    test_let_run(session);
    assert_true(gone.has_ended);
    assert_int_equal(gone.call.status, STATUS_INVALID_HANDLE);
    assert_int_equal(release(&other, opened, 0, 0), STATUS_SUCCESS);
    test_client_close(&other);
    test_client_close(&maker);
}

static void who_waits_for_a_key_has_it_in_turn(void **state)
{
    test_on_board(16 * MIB, wait_in_order);
}

static void desert(struct exec_session *session)
{
    struct waiter deserted = {.has_ended = false}, next = {.has_ended = false};
    struct test_client client;
    struct mutex mutex;
    UINT64 value;

    test_client_open(&client, session);
    mutex = make(&client, 0);
    assert_int_equal(try_to_acquire(&client, mutex.handle, 0, &value), STATUS_SUCCESS);
    begin_to_wait(&client, mutex.handle, 1, &deserted);
    begin_to_wait(&client, mutex.handle, 1, &next);
    deserted.call.is_deserted = true;
    assert_int_equal(release(&client, mutex.handle, 1, 0), STATUS_SUCCESS);
    test_let_run(session);
    assert_true(deserted.has_ended && next.has_ended);
    assert_int_equal(deserted.call.status, STATUS_CANCELLED);
    assert_int_equal(next.call.status, STATUS_SUCCESS);
    test_client_close(&client);
}

/* Its thread has gone, and the process has not: the mutex is for those who are there. */
static void a_wait_that_was_deserted_takes_no_mutex(void **state)
{
    test_on_board(16 * MIB, desert);
}

/* ---- Time ------------------------------------------------------------------------------------ */

static int64_t steady, of_system;

static int64_t tell_time(const struct exec_session *session, enum d3dkmt_clock clock)
{
    return clock == D3DKMT_CLOCK_SYSTEM ? of_system : steady;
}

static void run_out(struct exec_session *session)
{
    struct waiter relative = {.timeout.QuadPart = -1000}, absolute = {.timeout.QuadPart = 50700},
                  longest = {.timeout.QuadPart = INT64_MIN};
    struct test_client client;
    struct mutex mutex;
    UINT64 value;

    steady = 20;
    of_system = 50000;
    session->now = tell_time;
    test_client_open(&client, session);
    mutex = make(&client, 0);
    assert_int_equal(try_to_acquire(&client, mutex.handle, 0, &value), STATUS_SUCCESS);
    relative.arguments.pTimeout = &relative.timeout;
    absolute.arguments.pTimeout = &absolute.timeout;
    longest.arguments.pTimeout = &longest.timeout;
    begin_to_wait(&client, mutex.handle, 1, &longest);
    assert_int_equal(d3dkmt_next_timeout(session->front), UINT64_MAX);
    begin_to_wait(&client, mutex.handle, 1, &relative);
    assert_int_equal(d3dkmt_next_timeout(session->front), 1000 * 100);
    begin_to_wait(&client, mutex.handle, 1, &absolute);
    assert_int_equal(d3dkmt_next_timeout(session->front), 700 * 100);

    /* One is for an interval, the other one for what the system's clock says. */
    of_system = 50699;
    steady = 1019;
    test_let_run(session);
    assert_false(relative.has_ended || absolute.has_ended);
    assert_int_equal(d3dkmt_next_timeout(session->front), 100);
    of_system = 50700;
    test_let_run(session);
    assert_true(absolute.has_ended);
    assert_int_equal(absolute.call.status, STATUS_TIMEOUT);
    assert_false(relative.has_ended);
    steady = 1020;
    assert_int_equal(d3dkmt_next_timeout(session->front), 0);
    test_let_run(session);
    assert_true(relative.has_ended);
    assert_int_equal(relative.call.status, STATUS_TIMEOUT);
    begin_to_wait(&client, mutex.handle, 1, &absolute); /* over when it begins */
    assert_true(absolute.has_ended);
    assert_int_equal(absolute.call.status, STATUS_TIMEOUT);
    assert_false(longest.has_ended);

    /* What comes in time ends it, and is no one's after a timeout. */
    begin_to_wait(&client, mutex.handle, 2, &relative);
    assert_int_equal(release(&client, mutex.handle, 1, 0), STATUS_SUCCESS);
    test_let_run(session);
    assert_true(longest.has_ended);
    assert_int_equal(longest.call.status, STATUS_SUCCESS);
    steady = INT64_MAX;
    test_let_run(session);
    assert_true(relative.has_ended);
    assert_int_equal(relative.call.status, STATUS_TIMEOUT);
    assert_int_equal(release(&client, mutex.handle, 2, 0), STATUS_SUCCESS);
    assert_int_equal(try_to_acquire(&client, mutex.handle, 2, &value), STATUS_SUCCESS);
    assert_int_equal(release(&client, mutex.handle, 2, 0), STATUS_SUCCESS);
    test_client_close(&client);
}

static void nobody_waits_for_longer_than_the_call_says(void **state)
{
    test_on_board(16 * MIB, run_out);
}

/* ---- The end of who holds it ----------------------------------------------------------------- */

static void abandon(struct exec_session *session)
{
    struct test_client maker, other;
    struct waiter waiter = {0};
    struct mutex mutex;
    D3DKMT_HANDLE opened;
    UINT64 value;

    test_client_open(&maker, session);
    test_client_open(&other, session);
    mutex = make(&maker, 0);
    opened = open_global(&other, mutex.global);
    assert_int_equal(try_to_acquire(&other, opened, 0, &value), STATUS_SUCCESS);
    begin_to_wait(&maker, mutex.handle, 0, &waiter);
    assert_false(waiter.has_ended);
    test_client_close(&other);
    test_let_run(session);
    assert_true(waiter.has_ended);
    assert_int_equal(waiter.call.status, STATUS_ABANDONED);

    /* It is for good, for whoever opens it then, and held by nobody. */
    assert_int_equal(try_to_acquire(&maker, mutex.handle, 0, &value), STATUS_ABANDONED);
    assert_int_equal(release(&maker, mutex.handle, 0, 0), STATUS_INVALID_PARAMETER);
    opened = open_global(&maker, mutex.global);
    assert_int_equal(try_to_acquire(&maker, opened, 1, &value), STATUS_ABANDONED);
    assert_int_equal(destroy(&maker, opened), STATUS_SUCCESS);

    /* A handle that does not hold it abandons nothing; the one that does is enough. */
    mutex = make(&maker, 0);
    opened = open_global(&maker, mutex.global);
    assert_int_equal(try_to_acquire(&maker, opened, 0, &value), STATUS_SUCCESS);
    assert_int_equal(destroy(&maker, mutex.handle), STATUS_SUCCESS);
    assert_int_equal(release(&maker, opened, 0, 0), STATUS_SUCCESS);
    assert_int_equal(try_to_acquire(&maker, opened, 0, &value), STATUS_SUCCESS);
    mutex.handle = open_global(&maker, mutex.global);
    assert_int_equal(destroy(&maker, opened), STATUS_SUCCESS);
    assert_int_equal(try_to_acquire(&maker, mutex.handle, 0, &value), STATUS_ABANDONED);

    test_client_close(&maker);
}

static void a_mutex_whose_holder_goes_is_abandoned(void **state)
{
    test_on_board(16 * MIB, abandon);
}

/* ---- Private data ---------------------------------------------------------------------------- */

static NTSTATUS make_with(struct test_client *client, const char *data, UINT bytes,
                          bool is_by_nt_handles, struct mutex *out_mutex)
{
    D3DKMT_CREATEKEYEDMUTEX2 create = {.pPrivateRuntimeData = (VOID *)(uintptr_t)data,
                                       .PrivateRuntimeDataSize = bytes};
    NTSTATUS status;

    create.Flags.NtSecuritySharing = is_by_nt_handles;
    status = TEST_CALL(client, CreateKeyedMutex2, &create);
    *out_mutex = (struct mutex){create.hSharedHandle, create.hKeyedMutex};
    return status;
}

static D3DKMT_HANDLE open_with(struct test_client *client, D3DKMT_HANDLE global, const char *data)
{
    D3DKMT_OPENKEYEDMUTEX2 open = {.hSharedHandle = global,
                                   .pPrivateRuntimeData = (VOID *)(uintptr_t)data,
                                   .PrivateRuntimeDataSize = (UINT)strlen(data) + 1};

    assert_int_equal(TEST_CALL(client, OpenKeyedMutex2, &open), STATUS_SUCCESS);
    return open.hKeyedMutex;
}

static void expect_data_for(struct test_client *client, D3DKMT_HANDLE mutex, UINT64 key,
                            const char *expected)
{
    LARGE_INTEGER none = {.QuadPart = 0};
    char room[32] = "as it was";
    D3DKMT_ACQUIREKEYEDMUTEX2 acquire = {.hKeyedMutex = mutex,
                                         .Key = key,
                                         .pTimeout = &none,
                                         .pPrivateRuntimeData = room,
                                         .PrivateRuntimeDataSize = sizeof room};

    assert_int_equal(TEST_CALL(client, AcquireKeyedMutex2, &acquire), STATUS_SUCCESS);
    assert_string_equal(room, expected);
}

/* The mutex is free for 0. */
static void expect_data(struct test_client *client, D3DKMT_HANDLE mutex, const char *expected)
{
    expect_data_for(client, mutex, 0, expected);
}

static NTSTATUS release_with(struct test_client *client, D3DKMT_HANDLE mutex, const char *data,
                             UINT bytes)
{
    return TEST_CALL(client, ReleaseKeyedMutex2,
                     &((D3DKMT_RELEASEKEYEDMUTEX2){.hKeyedMutex = mutex,
                                                   .pPrivateRuntimeData = (VOID *)(uintptr_t)data,
                                                   .PrivateRuntimeDataSize = bytes}));
}

static void hand_data_over(struct exec_session *session)
{
    LARGE_INTEGER none = {.QuadPart = 0};
    D3DKMT_ACQUIREKEYEDMUTEX2 small = {.pTimeout = &none};
    struct test_client maker, other;
    struct mutex mutex, bare;
    D3DKMT_HANDLE opened;
    char room[4];

    test_client_open(&maker, session);
    test_client_open(&other, session);
    assert_int_equal(make_with(&maker, "first", 6, false, &mutex), STATUS_SUCCESS);
    opened = open_with(&other, mutex.global, "is too late");
    expect_data(&other, opened, "first");
    assert_int_equal(release_with(&other, opened, "the second", 11), STATUS_SUCCESS);
    expect_data(&maker, mutex.handle, "the second");
    assert_int_equal(release(&maker, mutex.handle, 0, 0), STATUS_SUCCESS);
    expect_data(&maker, mutex.handle, "the second"); /* a release without data leaves it */
    assert_int_equal(release_with(&maker, mutex.handle, NULL, 5), STATUS_INVALID_PARAMETER);
    assert_int_equal(release_with(&maker, mutex.handle, NULL, 0), STATUS_SUCCESS);

    /* A room that is too small: the mutex stays free, and no byte too many is written. */
    memset(room, 'x', sizeof room);
    small.hKeyedMutex = opened;
    small.pPrivateRuntimeData = room;
    small.PrivateRuntimeDataSize = 3;
    assert_int_equal(TEST_CALL(&other, AcquireKeyedMutex2, &small), STATUS_INVALID_PARAMETER);
    assert_memory_equal(room, "xxxx", 4);
    small.pPrivateRuntimeData = NULL;
    assert_int_equal(TEST_CALL(&other, AcquireKeyedMutex2, &small), STATUS_INVALID_PARAMETER);
    expect_data(&maker, mutex.handle, "the second");
    assert_int_equal(release(&maker, mutex.handle, 0, 0), STATUS_SUCCESS);

    /* The first one who brings data gives it to a mutex that has none. */
    bare = make(&maker, 0);
    expect_data(&maker, bare.handle, "as it was");
    assert_int_equal(release(&maker, bare.handle, 0, 0), STATUS_SUCCESS);
    opened = open_with(&other, bare.global, "brought");
    open_with(&maker, bare.global, "too late");
    expect_data(&other, opened, "brought");
    assert_int_equal(release(&other, opened, 0, 0), STATUS_SUCCESS);
    test_client_close(&other);
    test_client_close(&maker);
}

static void private_data_goes_from_release_to_acquire(void **state)
{
    test_on_board(16 * MIB, hand_data_over);
}

/* ---- What is wrong --------------------------------------------------------------------------- */

static void be_wrong(struct exec_session *session)
{
    struct test_client maker, other;
    struct mutex mutex, second;
    UINT64 value;

    test_client_start(&maker, session);
    test_client_open(&other, session);
    mutex = make(&maker, 0);
    assert_int_equal(try_to_acquire(&other, mutex.handle, 0, &value), STATUS_INVALID_PARAMETER);
    assert_int_equal(try_to_acquire(&maker, maker.fence, 0, &value), STATUS_INVALID_PARAMETER);
    assert_int_equal(try_to_acquire(&maker, 0, 0, &value), STATUS_INVALID_PARAMETER);
    assert_int_equal(release(&maker, mutex.handle, 0, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(release(&other, mutex.handle, 0, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(destroy(&other, mutex.handle), STATUS_INVALID_PARAMETER);
    assert_int_equal(destroy(&maker, maker.fence), STATUS_INVALID_PARAMETER);
    assert_int_equal(TEST_CALL(&other, OpenKeyedMutex,
                               &((D3DKMT_OPENKEYEDMUTEX){.hSharedHandle = mutex.handle})),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(TEST_CALL(&other, OpenKeyedMutex, &((D3DKMT_OPENKEYEDMUTEX){0})),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(make_with(&maker, NULL, 1, false, &second), STATUS_INVALID_PARAMETER);
    assert_int_equal(second.handle, 0);
    assert_int_equal(second.global, 0);
    assert_int_equal(make_with(&maker, "x", (1u << 20) + 1, false, &second), STATUS_NO_MEMORY);
    assert_int_equal(second.handle, 0);
    assert_int_equal(make_with(&maker, NULL, 0, true, &second), STATUS_SUCCESS);
    assert_int_equal(second.global, 0);
    test_client_close(&other);
    test_client_close(&maker);
}

static void what_is_wrong_gets_its_status(void **state)
{
    test_on_board(16 * MIB, be_wrong);
}

/* ---- One NT handle of three ------------------------------------------------------------------ */

struct three {
    D3DKMT_HANDLE resource, allocation, mutex, fence;
};

static struct three make_three(struct test_client *client)
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
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = {
        .hDevice = client->device,
        .Info = {.Type = D3DDDI_MONITORED_FENCE,
                 .Flags = {{{.Shared = 1, .NtSecuritySharing = 1}}}}};
    struct mutex mutex;

    assert_int_equal(TEST_CALL(client, CreateAllocation2, &create), STATUS_SUCCESS);
    assert_int_equal(TEST_CALL(client, CreateSynchronizationObject2, &fence), STATUS_SUCCESS);
    assert_int_equal(make_with(client, NULL, 0, true, &mutex), STATUS_SUCCESS);
    return (struct three){create.hResource, info.hAllocation, mutex.handle, fence.hSyncObject};
}

static NTSTATUS share(struct test_client *client, UINT count, const D3DKMT_HANDLE *objects,
                      uint64_t *out_name)
{
    THUNK_SHARE_OBJECTS arguments = {.cObjects = count, .hObjects = objects};

    *out_name = 0;
    return test_call_by(client, D3DKMT_FN_ShareObjects, &arguments, out_name);
}

struct opening {
    struct sgpu_umd_allocation data;
    D3DDDI_OPENALLOCATIONINFO2 info;
    D3DKMT_OPENRESOURCEFROMNTHANDLE arguments;
};

static NTSTATUS open_three(struct test_client *client, uint64_t name, const char *data,
                           struct opening *out_opening)
{
    *out_opening = (struct opening){
        .arguments = {.hDevice = client->device,
                      .NumAllocations = 1,
                      .TotalPrivateDriverDataBufferSize = sizeof out_opening->data,
                      .pKeyedMutexPrivateRuntimeData = (VOID *)(uintptr_t)data,
                      .KeyedMutexPrivateRuntimeDataSize = data ? (UINT)strlen(data) + 1 : 0}};
    out_opening->arguments.pOpenAllocationInfo2 = &out_opening->info;
    out_opening->arguments.pTotalPrivateDriverDataBuffer = &out_opening->data;
    return test_call_by(client, D3DKMT_FN_OpenResourceFromNtHandle, &out_opening->arguments, &name);
}

static NTSTATUS signal_fence(struct test_client *client, D3DKMT_HANDLE fence, UINT64 value)
{
    return TEST_CALL(client, SignalSynchronizationObjectFromCpu,
                     &((D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU){.hDevice = client->device,
                                                                   .ObjectCount = 1,
                                                                   .ObjectHandleArray = &fence,
                                                                   .FenceValueArray = &value}));
}

static NTSTATUS await_fence(struct test_client *client, D3DKMT_HANDLE fence, UINT64 value)
{
    return TEST_CALL(client, WaitForSynchronizationObjectFromCpu,
                     &((D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU){.hDevice = client->device,
                                                                    .ObjectCount = 1,
                                                                    .ObjectHandleArray = &fence,
                                                                    .FenceValueArray = &value}));
}

static void share_three(struct exec_session *session)
{
    D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 fence = {0};
    D3DKMT_OPENKEYEDMUTEXFROMNTHANDLE by_handle = {0};
    D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE query = {0};
    struct test_client maker, other;
    struct opening opening, again;
    struct three three;
    uint64_t name;
    UINT64 value;

    test_client_start(&maker, session);
    test_client_start(&other, session);
    three = make_three(&maker);
    assert_int_equal(
        share(&maker, 3, (D3DKMT_HANDLE[]){three.fence, three.allocation, three.mutex}, &name),
        STATUS_SUCCESS);
    query.hDevice = other.device;
    assert_int_equal(test_call_by(&other, D3DKMT_FN_QueryResourceInfoFromNtHandle, &query, &name),
                     STATUS_SUCCESS);
    assert_int_equal(query.NumAllocations, 1);
    assert_int_equal(open_three(&other, name, "brought", &opening), STATUS_SUCCESS);
    assert_true(opening.arguments.hResource && opening.info.hAllocation);
    expect_data(&other, opening.arguments.hKeyedMutex, "brought");
    assert_int_equal(try_to_acquire(&maker, three.mutex, 0, &value), STATUS_TIMEOUT);
    assert_int_equal(release(&other, opening.arguments.hKeyedMutex, 3, 9), STATUS_SUCCESS);
    assert_int_equal(signal_fence(&other, opening.arguments.hSyncObject, 9), STATUS_SUCCESS);
    assert_int_equal(try_to_acquire(&maker, three.mutex, 3, &value), STATUS_SUCCESS);
    assert_int_equal(await_fence(&maker, three.fence, value), STATUS_SUCCESS);
    assert_int_equal(release(&maker, three.mutex, 3, 9), STATUS_SUCCESS);

    /* Each part by itself, too. */
    assert_int_equal(test_call_by(&other, D3DKMT_FN_OpenKeyedMutexFromNtHandle, &by_handle, &name),
                     STATUS_SUCCESS);
    assert_int_equal(try_to_acquire(&other, by_handle.hKeyedMutex, 3, &value), STATUS_SUCCESS);
    assert_int_equal(release(&other, by_handle.hKeyedMutex, 3, 9), STATUS_SUCCESS);
    fence.hDevice = other.device;
    assert_int_equal(test_call_by(&other, D3DKMT_FN_OpenSyncObjectFromNtHandle2, &fence, &name),
                     STATUS_SUCCESS);
    assert_int_equal(
        *(const UINT64 *)test_see(&other, fence.MonitoredFence.FenceValueCPUVirtualAddress), 9);

    /* The NT handle keeps all three when nobody else does. */
    assert_int_equal(
        TEST_CALL(&other, DestroyAllocation2,
                  &((D3DKMT_DESTROYALLOCATION2){.hDevice = other.device,
                                                .hResource = opening.arguments.hResource})),
        STATUS_SUCCESS);
    test_client_close(&maker);
    test_client_close(&other);
    test_client_start(&other, session);
    assert_int_equal(open_three(&other, name, NULL, &again), STATUS_SUCCESS);
    expect_data_for(&other, again.arguments.hKeyedMutex, 3, "brought");
    test_client_close(&other);
    d3dkmt_nt_handle_closed(session->front, name);
    test_client_start(&other, session);
    assert_int_equal(open_three(&other, name, NULL, &again), STATUS_INVALID_HANDLE);
    test_client_close(&other);
    assert_true(list_is_empty(&session->seen->shared)); /* who looks on has been told */
}

static void one_nt_handle_names_a_resource_a_mutex_and_a_fence(void **state)
{
    test_on_board(16 * MIB, share_three);
}

#define NAME u"\\three"

static NTSTATUS open_named(struct test_client *client, enum d3dkmt_function function,
                           uint64_t *out_name)
{
    THUNK_OPEN_BY_NAME arguments = {.Name = NAME, .NameBytes = sizeof NAME - 2};

    *out_name = 0;
    return test_call_by(client, function, &arguments, out_name);
}

/* A name is that of the resource; what fails has opened nothing. */
static void name_three(struct exec_session *session)
{
    static char much[(1u << 20) + 2];
    struct test_client maker, other;
    struct opening opening;
    struct three three;
    uint64_t name, named, handles;

    test_client_start(&maker, session);
    test_client_start(&other, session);
    three = make_three(&maker);
    THUNK_SHARE_OBJECTS arguments = {
        .cObjects = 3,
        .hObjects = (D3DKMT_HANDLE[]){three.resource, three.mutex, three.fence},
        .Name = NAME,
        .NameBytes = sizeof NAME - 2};
    name = 0;
    assert_int_equal(test_call_by(&maker, D3DKMT_FN_ShareObjects, &arguments, &name),
                     STATUS_SUCCESS);
    named = 0;
    assert_int_equal(test_call_by(&maker, D3DKMT_FN_ShareObjects, &arguments, &named),
                     STATUS_OBJECT_NAME_COLLISION);
    assert_int_equal(open_named(&other, D3DKMT_FN_OpenSyncObjectNtHandleFromName, &named),
                     STATUS_OBJECT_TYPE_MISMATCH);
    assert_int_equal(open_named(&other, D3DKMT_FN_OpenNtHandleFromName, &named), STATUS_SUCCESS);
    assert_int_equal(named, name);
    handles = d3dkmt_process_handles(other.process);
    memset(much, 'x', sizeof much - 1);
    assert_int_equal(open_three(&other, named, much, &opening), STATUS_NO_MEMORY);
    assert_int_equal(opening.arguments.hResource, 0);
    assert_int_equal(opening.info.hAllocation, 0);
    assert_int_equal(opening.arguments.hKeyedMutex, 0);
    assert_int_equal(opening.arguments.hSyncObject, 0);
    test_let_run(session);
    assert_int_equal(d3dkmt_process_handles(other.process), handles);
    assert_int_equal(open_three(&other, named, NULL, &opening), STATUS_SUCCESS);
    assert_int_equal(d3dkmt_process_handles(other.process), handles + 4);
    d3dkmt_nt_handle_closed(session->front, name);
    assert_int_equal(open_named(&other, D3DKMT_FN_OpenNtHandleFromName, &named), STATUS_SUCCESS);
    d3dkmt_nt_handle_closed(session->front, named);
    d3dkmt_nt_handle_closed(session->front, named);
    assert_int_equal(open_named(&other, D3DKMT_FN_OpenNtHandleFromName, &named),
                     STATUS_OBJECT_NAME_NOT_FOUND);
    test_client_close(&maker);
    test_client_close(&other);
}

static void three_have_a_name_and_open_whole_or_not_at_all(void **state)
{
    test_on_board(16 * MIB, name_three);
}

static void share_wrongly(struct exec_session *session)
{
    struct test_client maker, other;
    struct opening opening;
    struct mutex global;
    struct three three;
    uint64_t name, name_of_resource;

    test_client_start(&maker, session);
    test_client_start(&other, session);
    three = make_three(&maker);
    global = make(&maker, 0);
    assert_int_equal(share(&maker, 1, &three.mutex, &name), STATUS_INVALID_PARAMETER);
    assert_int_equal(share(&maker, 2, (D3DKMT_HANDLE[]){three.resource, three.mutex}, &name),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(
        share(&maker, 3, (D3DKMT_HANDLE[]){three.resource, three.mutex, three.mutex}, &name),
        STATUS_INVALID_PARAMETER);
    assert_int_equal(
        share(&maker, 3, (D3DKMT_HANDLE[]){three.resource, global.handle, three.fence}, &name),
        STATUS_INVALID_PARAMETER);
    assert_int_equal(
        share(&maker, 3, (D3DKMT_HANDLE[]){three.resource, three.mutex, maker.fence}, &name),
        STATUS_INVALID_PARAMETER);
    assert_int_equal(
        share(&other, 3, (D3DKMT_HANDLE[]){three.resource, three.mutex, three.fence}, &name),
        STATUS_INVALID_PARAMETER);
    assert_int_equal(share(&maker, 4, &three.resource, &name), STATUS_INVALID_PARAMETER);
    assert_int_equal(share(&maker, 0, &three.resource, &name), STATUS_INVALID_PARAMETER);

    /* A resource by itself has no mutex; data without a buffer is refused. */
    assert_int_equal(share(&maker, 1, &three.resource, &name_of_resource), STATUS_SUCCESS);
    assert_int_equal(open_three(&other, name_of_resource, NULL, &opening), STATUS_SUCCESS);
    assert_int_equal(opening.arguments.hKeyedMutex, 0);
    assert_int_equal(opening.arguments.hSyncObject, 0);
    assert_int_equal(test_call_by(&other, D3DKMT_FN_OpenKeyedMutexFromNtHandle,
                                  &((D3DKMT_OPENKEYEDMUTEXFROMNTHANDLE){0}), &name_of_resource),
                     STATUS_INVALID_HANDLE);
    assert_int_equal(
        share(&maker, 3, (D3DKMT_HANDLE[]){three.resource, three.mutex, three.fence}, &name),
        STATUS_SUCCESS);
    assert_int_not_equal(name, name_of_resource);
    opening.arguments.KeyedMutexPrivateRuntimeDataSize = 4;
    assert_int_equal(
        test_call_by(&other, D3DKMT_FN_OpenResourceFromNtHandle, &opening.arguments, &name),
        STATUS_INVALID_PARAMETER);
    d3dkmt_nt_handle_closed(session->front, name_of_resource);
    test_client_close(&maker);
    test_client_close(&other);
    d3dkmt_nt_handle_closed(session->front, name);
}

static void other_combinations_are_refused(void **state)
{
    test_on_board(16 * MIB, share_wrongly);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mutex_goes_to_who_acquires_its_key),
        cmocka_unit_test(who_waits_for_a_key_has_it_in_turn),
        cmocka_unit_test(a_wait_that_was_deserted_takes_no_mutex),
        cmocka_unit_test(nobody_waits_for_longer_than_the_call_says),
        cmocka_unit_test(a_mutex_whose_holder_goes_is_abandoned),
        cmocka_unit_test(private_data_goes_from_release_to_acquire),
        cmocka_unit_test(what_is_wrong_gets_its_status),
        cmocka_unit_test(one_nt_handle_names_a_resource_a_mutex_and_a_fence),
        cmocka_unit_test(three_have_a_name_and_open_whole_or_not_at_all),
        cmocka_unit_test(other_combinations_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
