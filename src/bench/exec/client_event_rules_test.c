/*
 * Each rule of clients about events that signals set: a client that breaks it, and that rule alone
 * is told; and the nearest client that keeps it, of which nothing is told.
 */
#include "bench/exec/test_client.h"

#define MIB      (UINT64_C(1) << 20)
#define AN_EVENT ((HANDLE)(uintptr_t)40)

struct world {
    struct test_client client;
    D3DKMT_HANDLE notification;
    bool breaks;
};

static NTSTATUS make_notification(struct test_client *client, HANDLE event,
                                  D3DKMT_HANDLE *out_notification)
{
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 create = {.hDevice = client->device,
                                                  .Info.Type = D3DDDI_CPU_NOTIFICATION};
    NTSTATUS status;

    create.Info.CPUNotification.Event = event;
    status = TEST_CALL(client, CreateSynchronizationObject2, &create);
    *out_notification = create.hSyncObject;
    return status;
}

static NTSTATUS enqueue(struct test_client *client, HANDLE event, UINT count)
{
    D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 signal = {.ObjectCount = count,
                                                         .ObjectHandleArray = &client->fence,
                                                         .Flags = {{{.EnqueueCpuEvent = 1}}},
                                                         .BroadcastContextCount = 1,
                                                         .BroadcastContextArray = &client->context,
                                                         .CpuEventHandle = event};

    return TEST_CALL(client, SignalSynchronizationObjectFromGpu2, &signal);
}

static void NO_EVENT(struct world *world)
{
    const NTSTATUS expected = world->breaks ? STATUS_INVALID_HANDLE : STATUS_SUCCESS;
    D3DKMT_HANDLE other;

    assert_int_equal(
        make_notification(&world->client, world->breaks ? NULL : (HANDLE)(uintptr_t)60, &other),
        expected);
}

/* The same, of the other call. */
static void NO_EVENT_OF_SIGNAL(struct world *world)
{
    assert_int_equal(enqueue(&world->client, world->breaks ? NULL : (HANDLE)(uintptr_t)60, 0),
                     world->breaks ? STATUS_INVALID_HANDLE : STATUS_SUCCESS);
}

static void EVENT_AND_OBJECTS(struct world *world)
{
    assert_int_equal(enqueue(&world->client, (HANDLE)(uintptr_t)60, world->breaks),
                     world->breaks ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS);
}

static void NOTIFICATION_USE(struct world *world)
{
    D3DKMT_SIGNALSYNCHRONIZATIONOBJECT signal = {
        .hContext = world->client.context,
        .ObjectCount = 1,
        .ObjectHandleArray = {world->notification},
    };
    const UINT64 value = 1;

    assert_int_equal(TEST_CALL(&world->client, SignalSynchronizationObject, &signal),
                     STATUS_SUCCESS);
    if (world->breaks)
        assert_int_equal(TEST_CALL(&world->client, SignalSynchronizationObjectFromGpu,
                                   &((D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU){
                                       .hContext = world->client.context,
                                       .ObjectCount = 1,
                                       .ObjectHandleArray = &world->notification,
                                       .MonitoredFenceValueArray = &value})),
                         STATUS_INVALID_PARAMETER);
}

/* The same, of a wait. */
static void NOTIFICATION_USE_OF_WAIT(struct world *world)
{
    const D3DKMT_HANDLE *object = world->breaks ? &world->notification : &world->client.fence;
    const UINT64 zero = 0;

    assert_int_equal(TEST_CALL(&world->client, WaitForSynchronizationObjectFromGpu,
                               &((D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU){
                                   .hContext = world->client.context,
                                   .ObjectCount = 1,
                                   .ObjectHandleArray = object,
                                   .MonitoredFenceValueArray = &zero})),
                     world->breaks ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS);
}

static const struct {
    enum client_rule rule;
    void (*play)(struct world *world);
} rows[] = {
#define RULE(name, id, text)
#define QUEUE_RULE(name, id, text)
#define SHARING_RULE(name, id, text)
#define EVENT_RULE(name, id, text) {CLIENT_RULE_##name, name},
#include "bench/exec/client_rules.inc"
#undef RULE
    {CLIENT_RULE_NO_EVENT, NO_EVENT_OF_SIGNAL},
    {CLIENT_RULE_NOTIFICATION_USE, NOTIFICATION_USE_OF_WAIT},
};

static unsigned current;
static bool breaks_it;

static void play(struct exec_session *session)
{
    struct world world = {.breaks = breaks_it};

    test_client_start(&world.client, session);
    assert_int_equal(make_notification(&world.client, AN_EVENT, &world.notification),
                     STATUS_SUCCESS);
    rows[current].play(&world);
    test_let_run(session);
    test_client_close(&world.client);
}

static unsigned play_all(bool breaks)
{
    unsigned wrong = 0;

    breaks_it = breaks;
    for (current = 0; current < ARRAY_COUNT(rows); current++) {
        test_on_board(16 * MIB, play);
        wrong += test_told_wrongly(rows[current].rule, breaks_it);
    }
    return wrong;
}

static void each_rule_is_told_when_it_is_broken(void **state)
{
    assert_int_equal(play_all(true), 0);
}

static void nothing_is_told_of_who_keeps_it(void **state)
{
    assert_int_equal(play_all(false), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_is_told_when_it_is_broken),
        cmocka_unit_test(nothing_is_told_of_who_keeps_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
