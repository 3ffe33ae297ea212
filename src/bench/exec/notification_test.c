/* CPU notifications, and events that a signal of a queue sets by itself (D3DKMT_MOST_EVENTS). */
#include "bench/exec/test_client.h"

#define MIB      (UINT64_C(1) << 20)
#define AN_EVENT ((UINT64)40)

static NTSTATUS make_notification(struct test_client *client, UINT64 event,
                                  D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS flags,
                                  D3DKMT_HANDLE *out_notification)
{
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 create = {.hDevice = client->device,
                                                  .Info.Type = D3DDDI_CPU_NOTIFICATION};
    NTSTATUS status;

    create.Info.Flags = flags;
    create.Info.CPUNotification.Event = (HANDLE)(uintptr_t)event;
    status = TEST_CALL(client, CreateSynchronizationObject2, &create);
    *out_notification = create.hSyncObject;
    return status;
}

static D3DKMT_HANDLE notification_of(struct test_client *client, UINT64 event)
{
    const D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS none = {{{0}}};
    D3DKMT_HANDLE notification;

    assert_int_equal(make_notification(client, event, none, &notification), STATUS_SUCCESS);
    return notification;
}

static NTSTATUS signal_object(struct test_client *client, D3DKMT_HANDLE object)
{
    D3DKMT_SIGNALSYNCHRONIZATIONOBJECT signal = {
        .hContext = client->context, .ObjectCount = 1, .ObjectHandleArray = {object}};

    return TEST_CALL(client, SignalSynchronizationObject, &signal);
}

static NTSTATUS signal_two(struct test_client *client, D3DKMT_HANDLE first, D3DKMT_HANDLE second)
{
    D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2 signal = {
        .hContext = client->context, .ObjectCount = 2, .ObjectHandleArray = {first, second}};

    return TEST_CALL(client, SignalSynchronizationObject2, &signal);
}

static NTSTATUS enqueue(struct test_client *client, UINT64 event)
{
    D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2 signal = {.hContext = client->context,
                                                  .Flags = {{{.EnqueueCpuEvent = 1}}},
                                                  .CpuEventHandle = (HANDLE)(uintptr_t)event};

    return TEST_CALL(client, SignalSynchronizationObject2, &signal);
}

static NTSTATUS enqueue_from_gpu(struct test_client *client, UINT64 event)
{
    D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 signal = {.Flags = {{{.EnqueueCpuEvent = 1}}},
                                                         .BroadcastContextCount = 1,
                                                         .BroadcastContextArray = &client->context,
                                                         .CpuEventHandle =
                                                             (HANDLE)(uintptr_t)event};

    return TEST_CALL(client, SignalSynchronizationObjectFromGpu2, &signal);
}

/* The library's call, which has not ended when it is begun, unless the event was to be set. */
struct listener {
    D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU arguments;
    struct d3dkmt_call call;
    bool has_ended;
};

static void heard(struct d3dkmt_call *call)
{
    ((struct listener *)call->context)->has_ended = true;
}

static void listen(struct test_client *client, UINT64 event, struct listener *listener)
{
    *listener = (struct listener){.arguments.hAsyncEvent = (HANDLE)(uintptr_t)(event + 1)};
    listener->call = (struct d3dkmt_call){.function = D3DKMT_FN_WaitForSynchronizationObjectFromCpu,
                                          .arguments = &listener->arguments,
                                          .ended = heard,
                                          .context = listener};
    listener->has_ended = d3dkmt_call(client->process, &listener->call);
}

static void destroy(struct test_client *client, D3DKMT_HANDLE object)
{
    assert_int_equal(TEST_CALL(client, DestroySynchronizationObject,
                               &((D3DKMT_DESTROYSYNCHRONIZATIONOBJECT){object})),
                     STATUS_SUCCESS);
}

static NTSTATUS heard_of(struct test_client *client, UINT64 event)
{
    struct listener listener;

    listen(client, event, &listener);
    assert_true(listener.has_ended);
    return listener.call.status;
}

static void be_in_turn(struct exec_session *session)
{
    struct test_client client;
    struct test_buffer from, to;
    struct listener listener;
    D3DKMT_HANDLE first, second;
    UINT64 behind;

    test_client_start(&client, session);
    test_resident_buffer(&client, SGPU_UMD_CPU_VISIBLE, MIB, &from);
    test_resident_buffer(&client, SGPU_UMD_CPU_VISIBLE, MIB, &to);
    first = notification_of(&client, AN_EVENT);
    second = notification_of(&client, AN_EVENT + 2);
    listen(&client, AN_EVENT, &listener);
    test_let_run(session);
    assert_false(listener.has_ended);

    /* Behind a wait of the queue's, and behind its work. */
    test_hold_queue(&client, 1000);
    assert_int_equal(signal_object(&client, first), STATUS_SUCCESS);
    test_let_run(session);
    assert_false(listener.has_ended);
    test_let_go(&client, 1000);
    test_let_run(session);
    assert_true(listener.has_ended);
    assert_int_equal(listener.call.status, STATUS_SUCCESS);
    behind = test_copy(&client, to.va, from.va, MIB);
    assert_int_equal(signal_two(&client, first, second), STATUS_SUCCESS);
    assert_int_equal(signal_object(&client, second), STATUS_SUCCESS);
    listen(&client, AN_EVENT, &listener);
    assert_false(listener.has_ended);
    while (!listener.has_ended)
        assert_true(exec_step(session));
    assert_true(*client.fence_value >= behind);

    /* Each signal is told once. */
    test_let_run(session);
    assert_int_equal(heard_of(&client, AN_EVENT + 2), STATUS_SUCCESS);
    assert_int_equal(heard_of(&client, AN_EVENT + 2), STATUS_SUCCESS);
    listen(&client, AN_EVENT + 2, &listener);
    test_let_run(session);
    assert_false(listener.has_ended);

    /* Who listens learns of the end; what is queued before it comes first. */
    destroy(&client, second);
    test_let_run(session);
    assert_true(listener.has_ended);
    assert_int_equal(listener.call.status, STATUS_INVALID_HANDLE);
    assert_int_equal(heard_of(&client, AN_EVENT + 2), STATUS_INVALID_PARAMETER);
    test_hold_queue(&client, 2000);
    assert_int_equal(signal_object(&client, first), STATUS_SUCCESS);
    destroy(&client, first);
    assert_int_equal(signal_object(&client, first), STATUS_INVALID_PARAMETER);
    listen(&client, AN_EVENT, &listener);
    assert_false(listener.has_ended);
    test_let_go(&client, 2000);
    test_let_run(session);
    assert_true(listener.has_ended);
    assert_int_equal(listener.call.status, STATUS_SUCCESS);
    assert_int_equal(heard_of(&client, AN_EVENT), STATUS_INVALID_PARAMETER);
    test_client_close(&client);
}

static void a_notification_sets_its_event_when_its_turn_comes(void **state)
{
    test_on_board(16 * MIB, be_in_turn);
}

static void enqueue_alone(struct exec_session *session)
{
    NTSTATUS (*const ways[])(struct test_client *, UINT64) = {enqueue, enqueue_from_gpu};
    struct test_client client;
    struct listener listener;

    test_client_start(&client, session);
    for (UINT64 i = 0; i < ARRAY_COUNT(ways); i++) {
        test_hold_queue(&client, 1000 * (i + 1));
        assert_int_equal(ways[i](&client, AN_EVENT), STATUS_SUCCESS);
        assert_int_equal(ways[i](&client, AN_EVENT),
                         STATUS_INVALID_PARAMETER); /* it is another's */
        listen(&client, AN_EVENT, &listener);
        test_let_run(session);
        assert_false(listener.has_ended);
        test_let_go(&client, 1000 * (i + 1));
        test_let_run(session);
        assert_true(listener.has_ended);
        assert_int_equal(listener.call.status, STATUS_SUCCESS);
        assert_int_equal(heard_of(&client, AN_EVENT), STATUS_INVALID_PARAMETER);
    }
    /* It goes with its context, unset. */
    test_hold_queue(&client, 5000);
    assert_int_equal(enqueue(&client, AN_EVENT), STATUS_SUCCESS);
    listen(&client, AN_EVENT, &listener);
    assert_int_equal(TEST_CALL(&client, DestroyContext, &((D3DKMT_DESTROYCONTEXT){client.context})),
                     STATUS_SUCCESS);
    test_let_run(session);
    assert_true(listener.has_ended);
    assert_int_equal(listener.call.status, STATUS_CANCELLED);
    test_client_close(&client);
}

static void a_signal_sets_an_event_by_itself_once(void **state)
{
    test_on_board(16 * MIB, enqueue_alone);
}

static void be_wrong(struct exec_session *session)
{
    const D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS none = {{{0}}}, shared = {{{.Shared = 1}}},
                                             by_driver = {{{.SignalByKmd = 1}}};
    struct test_client client, other;
    D3DKMT_HANDLE notification, second;
    UINT64 made = 1;

    test_client_start(&client, session);
    test_client_start(&other, session);
    notification = notification_of(&client, AN_EVENT);
    notification_of(&other, AN_EVENT); /* numbers are each process's own */
    assert_int_equal(make_notification(&client, AN_EVENT, none, &second), STATUS_INVALID_PARAMETER);
    assert_int_equal(make_notification(&client, AN_EVENT + 3, none, &second),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(make_notification(&client, 0, none, &second), STATUS_INVALID_HANDLE);
    assert_int_equal(make_notification(&client, AN_EVENT + 2, shared, &second),
                     STATUS_NOT_SUPPORTED);
    assert_int_equal(make_notification(&client, AN_EVENT + 2, by_driver, &second),
                     STATUS_NOT_SUPPORTED);
    assert_int_equal(signal_object(&client, client.fence), STATUS_INVALID_PARAMETER);
    assert_int_equal(signal_object(&client, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(signal_two(&client, notification, client.fence), STATUS_INVALID_PARAMETER);
    assert_int_equal(enqueue(&client, 0), STATUS_INVALID_HANDLE);
    D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2 many = {
        .hContext = client.context, .ObjectCount = 1, .ObjectHandleArray = {notification}};
    many.BroadcastContextCount = 1;
    assert_int_equal(TEST_CALL(&client, SignalSynchronizationObject2, &many), STATUS_NOT_SUPPORTED);
    many.BroadcastContextCount = 0;
    many.ObjectCount = D3DDDI_MAX_OBJECT_SIGNALED + 1;
    assert_int_equal(TEST_CALL(&client, SignalSynchronizationObject2, &many),
                     STATUS_INVALID_PARAMETER);
    many.ObjectCount = 0;
    assert_int_equal(TEST_CALL(&client, SignalSynchronizationObject2, &many),
                     STATUS_INVALID_PARAMETER);
    /* So many, which go with their process, in whatever state. */
    while (NT_SUCCESS(make_notification(&client, AN_EVENT + 2 * made, none, &second)))
        made++;
    assert_int_equal(made, D3DKMT_MOST_EVENTS);
    assert_int_equal(enqueue(&client, 2), STATUS_NO_MEMORY);
    test_hold_queue(&client, 1000);
    assert_int_equal(signal_object(&client, notification), STATUS_SUCCESS);
    destroy(&client, notification);
    test_client_close(&client);
    test_client_close(&other);
}

static void what_is_wrong_gets_its_status(void **state)
{
    test_on_board(16 * MIB, be_wrong);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_notification_sets_its_event_when_its_turn_comes),
        cmocka_unit_test(a_signal_sets_an_event_by_itself_once),
        cmocka_unit_test(what_is_wrong_gets_its_status),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
