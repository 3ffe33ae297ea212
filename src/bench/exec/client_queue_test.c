/*
 * Hardware queues of clients: made, filled and waited for by their progress fences; each mistake
 * has the status that is documented; and clients die amid their work.
 */
#include "bench/exec/test_client.h"

#include <string.h>

#define MIB   (UINT64_C(1) << 20)
#define PIECE UINT64_C(4096)

struct world {
    struct test_client client;
    D3DKMT_HANDLE context;
    D3DKMT_CREATEHWQUEUE queue;
    const volatile uint64_t *progress;
    struct test_buffer a, b; /* visible, mapped, resident */
    uint8_t *from, *to;
};

static NTSTATUS destroy_queue(struct world *world, D3DKMT_HANDLE queue)
{
    return TEST_CALL(&world->client, DestroyHwQueue, &((D3DKMT_DESTROYHWQUEUE){queue}));
}

static void start(struct world *world, struct exec_session *session)
{
    test_client_start(&world->client, session);
    test_resident_buffer(&world->client, SGPU_UMD_APERTURE_ONLY | SGPU_UMD_CPU_VISIBLE, MIB,
                         &world->a);
    test_resident_buffer(&world->client, SGPU_UMD_APERTURE_ONLY | SGPU_UMD_CPU_VISIBLE, MIB,
                         &world->b);
    world->from = test_lock(&world->client, &world->a);
    world->to = test_lock(&world->client, &world->b);
    test_fill(world->from, MIB, 5);
    memset(world->to, 0, MIB);
    world->context = test_make_context(&world->client, true);
    assert_int_equal(test_make_queue(&world->client, world->context, 0, &world->queue),
                     STATUS_SUCCESS);
    assert_true(world->queue.hHwQueue && world->queue.hHwQueueProgressFence &&
                world->queue.HwQueueProgressFenceGPUVirtualAddress);
    world->progress = world->queue.HwQueueProgressFenceCPUVirtualAddress;
    assert_int_equal(*world->progress, 0);
}

/* Copies a piece of a to b, from a command buffer of its own. */
static NTSTATUS submit(struct world *world, uint64_t id, uint64_t piece)
{
    const struct sgpu_packet_copy copy = {.header =
                                              SGPU_PACKET_HEADER(SGPU_OP_COPY, sizeof copy / 4),
                                          .source = world->a.va + piece * PIECE,
                                          .destination = world->b.va + piece * PIECE,
                                          .bytes = PIECE};
    const uint64_t at = piece * align_up(sizeof copy, SGPU_SUBMIT_ALIGN);

    memcpy(world->client.command_memory + at, &copy, sizeof copy);
    return TEST_CALL(
        &world->client, SubmitCommandToHwQueue,
        &((D3DKMT_SUBMITCOMMANDTOHWQUEUE){.hHwQueue = world->queue.hHwQueue,
                                          .HwQueueProgressFenceId = id,
                                          .CommandBuffer = world->client.command_va + at,
                                          .CommandLength = sizeof copy}));
}

static NTSTATUS wait_by_cpu(struct world *world, D3DKMT_HANDLE fence, UINT64 value)
{
    return TEST_CALL(&world->client, WaitForSynchronizationObjectFromCpu,
                     &((D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU){.hDevice = world->client.device,
                                                                    .ObjectCount = 1,
                                                                    .ObjectHandleArray = &fence,
                                                                    .FenceValueArray = &value}));
}

static NTSTATUS wait_in_queue(struct world *world, D3DKMT_HANDLE fence, UINT64 value, UINT count)
{
    return TEST_CALL(&world->client, SubmitWaitForSyncObjectsToHwQueue,
                     &((D3DKMT_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE){.hHwQueue = world->queue.hHwQueue,
                                                                  .ObjectCount = count,
                                                                  .ObjectHandleArray = &fence,
                                                                  .FenceValueArray = &value}));
}

static NTSTATUS signal_in_queue(struct world *world, D3DKMT_HANDLE fence, UINT64 value, UINT queues)
{
    const D3DKMT_HANDLE handles[] = {world->queue.hHwQueue, world->queue.hHwQueue};

    return TEST_CALL(&world->client, SubmitSignalSyncObjectsToHwQueue,
                     &((D3DKMT_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE){.BroadcastHwQueueCount = queues,
                                                                 .BroadcastHwQueueArray = handles,
                                                                 .ObjectCount = 1,
                                                                 .ObjectHandleArray = &fence,
                                                                 .FenceValueArray = &value}));
}

/* ---- Work ------------------------------------------------------------------------------------ */

static void count(struct exec_session *session)
{
    struct world world;

    start(&world, session);
    for (uint64_t i = 0; i < 200; i++) {
        assert_int_equal(submit(&world, 3 * (i + 1), i), STATUS_SUCCESS);
        assert_true(*world.progress <= 3 * (i + 1));
    }
    assert_int_equal(wait_by_cpu(&world, world.queue.hHwQueueProgressFence, 300), STATUS_SUCCESS);
    assert_true(*world.progress >= 300 && *world.progress % 3 == 0);
    test_expect(world.to, 100 * PIECE, 5);
    assert_int_equal(wait_by_cpu(&world, world.queue.hHwQueueProgressFence, 600), STATUS_SUCCESS);
    assert_int_equal(*world.progress, 600);
    test_expect(world.to, 200 * PIECE, 5);
    assert_int_equal(destroy_queue(&world, world.queue.hHwQueue), STATUS_SUCCESS);
    test_client_close(&world.client);
}

static void the_progress_fence_has_the_value_of_what_has_run(void **state)
{
    test_on_board_with_queues(16 * MIB, count, TEST_NO_FAULTS);
}

static void take_turns(struct exec_session *session)
{
    struct world world;
    UINT64 one = 1;

    start(&world, session);
    assert_int_equal(wait_in_queue(&world, world.client.fence, 1, 1), STATUS_SUCCESS);
    assert_int_equal(submit(&world, 1, 0), STATUS_SUCCESS);
    assert_int_equal(signal_in_queue(&world, world.client.fence, 2, 1), STATUS_SUCCESS);
    test_let_run(session);
    assert_int_equal(*world.progress, 0);
    assert_int_equal(TEST_CALL(&world.client, SignalSynchronizationObjectFromCpu,
                               &((D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU){
                                   .hDevice = world.client.device,
                                   .ObjectCount = 1,
                                   .ObjectHandleArray = &world.client.fence,
                                   .FenceValueArray = &one})),
                     STATUS_SUCCESS);
    assert_int_equal(wait_by_cpu(&world, world.client.fence, 2), STATUS_SUCCESS);
    assert_int_equal(*world.progress, 1);
    test_expect(world.to, PIECE, 5);
    test_client_close(&world.client);
}

static void waits_and_signals_stand_between_submissions(void **state)
{
    test_on_board_with_queues(16 * MIB, take_turns, TEST_NO_FAULTS);
}

/* One behind the other, amid work, of one context: each has a fence that begins at 0. */
static void queue_again(struct exec_session *session)
{
    struct world world;

    start(&world, session);
    for (uint64_t i = 0; i < 6; i++) {
        assert_int_equal(submit(&world, 10 - i, i), STATUS_SUCCESS);
        if (i % 2)
            assert_int_equal(wait_by_cpu(&world, world.queue.hHwQueueProgressFence, 10 - i),
                             STATUS_SUCCESS);
        else
            assert_true(exec_step(session));
        assert_int_equal(destroy_queue(&world, world.queue.hHwQueue), STATUS_SUCCESS);
        assert_int_equal(submit(&world, 20, i), STATUS_INVALID_PARAMETER);
        assert_int_equal(test_make_queue(&world.client, world.context, 0, &world.queue),
                         STATUS_SUCCESS);
        world.progress = world.queue.HwQueueProgressFenceCPUVirtualAddress;
        assert_int_equal(*world.progress, 0);
    }
    assert_int_equal(submit(&world, 1, 6), STATUS_SUCCESS);
    assert_int_equal(wait_by_cpu(&world, world.queue.hHwQueueProgressFence, 1), STATUS_SUCCESS);
    assert_memory_equal(world.to + 6 * PIECE, world.from + 6 * PIECE, PIECE);
    test_client_close(&world.client);
}

static void a_context_has_one_queue_behind_the_other(void **state)
{
    test_on_board_with_queues(16 * MIB, queue_again, TEST_NO_FAULTS);
}

/* The first one waits; others of its context run, end and go meanwhile. */
static void queue_beside(struct exec_session *session)
{
    D3DKMT_CREATEHWQUEUE first;
    struct world world;
    UINT64 one = 1;

    start(&world, session);
    first = world.queue;
    assert_int_equal(wait_in_queue(&world, world.client.fence, 1, 1), STATUS_SUCCESS);
    assert_int_equal(submit(&world, 1, 0), STATUS_SUCCESS);
    for (uint64_t i = 1; i < 4; i++) {
        assert_int_equal(test_make_queue(&world.client, world.context, 0, &world.queue),
                         STATUS_SUCCESS);
        assert_int_not_equal(world.queue.HwQueueProgressFenceGPUVirtualAddress,
                             first.HwQueueProgressFenceGPUVirtualAddress);
        assert_int_equal(submit(&world, 7, i), STATUS_SUCCESS);
        assert_int_equal(wait_by_cpu(&world, world.queue.hHwQueueProgressFence, 7), STATUS_SUCCESS);
        assert_memory_equal(world.to + i * PIECE, world.from + i * PIECE, PIECE);
        assert_int_equal(submit(&world, 8, i + 4), STATUS_SUCCESS);
        if (i < 3)
            assert_int_equal(destroy_queue(&world, world.queue.hHwQueue), STATUS_SUCCESS);
    }
    assert_int_equal(*world.progress, 0);
    assert_int_equal(TEST_CALL(&world.client, SignalSynchronizationObjectFromCpu,
                               &((D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU){
                                   .hDevice = world.client.device,
                                   .ObjectCount = 1,
                                   .ObjectHandleArray = &world.client.fence,
                                   .FenceValueArray = &one})),
                     STATUS_SUCCESS);
    assert_int_equal(wait_by_cpu(&world, first.hHwQueueProgressFence, 1), STATUS_SUCCESS);
    test_expect(world.to, PIECE, 5);

    /* The first one goes, and the other one goes on; then all of the context goes. */
    assert_int_equal(destroy_queue(&world, first.hHwQueue), STATUS_SUCCESS);
    assert_int_equal(submit(&world, 9, 9), STATUS_SUCCESS);
    assert_int_equal(wait_by_cpu(&world, world.queue.hHwQueueProgressFence, 9), STATUS_SUCCESS);
    assert_int_equal(submit(&world, 10, 10), STATUS_SUCCESS);
    assert_int_equal(
        TEST_CALL(&world.client, DestroyContext, &((D3DKMT_DESTROYCONTEXT){world.context})),
        STATUS_SUCCESS);
    assert_int_equal(submit(&world, 11, 11), STATUS_INVALID_PARAMETER);
    assert_int_equal(destroy_queue(&world, world.queue.hHwQueue), STATUS_INVALID_PARAMETER);
    assert_int_equal(test_state_of(&world.client), D3DKMT_DEVICEEXECUTION_ACTIVE);
    test_client_close(&world.client);
}

static void a_context_has_queues_beside_each_other(void **state)
{
    test_on_board_with_queues(16 * MIB, queue_beside, TEST_NO_FAULTS);
}

/* ---- Mistakes -------------------------------------------------------------------------------- */

static void err(struct exec_session *session)
{
    const D3DKMT_SUBMITCOMMAND plain = {.CommandLength = 64, .BroadcastContextCount = 1};
    D3DKMT_CREATEHWQUEUE queue;
    struct world world;

    start(&world, session);
    assert_int_equal(test_make_queue(&world.client, 0x7777, 0, &queue), STATUS_INVALID_PARAMETER);
    assert_int_equal(test_make_queue(&world.client, world.client.context, 0, &queue),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(queue.hHwQueue, 0);
    world.context = test_make_context(&world.client, true);
    assert_int_equal(test_make_queue(&world.client, world.context, 1u << 31, &queue),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(test_make_queue(&world.client, world.context, 1u << 4, &queue),
                     STATUS_NOT_SUPPORTED);
    assert_int_equal(test_make_queue(&world.client, world.context, 1, &queue), STATUS_SUCCESS);

    assert_int_equal(submit(&world, 0, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(submit(&world, UINT64_MAX, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(submit(&world, 2, 0), STATUS_SUCCESS);
    assert_int_equal(submit(&world, 2, 1), STATUS_INVALID_PARAMETER);
    {
        D3DKMT_SUBMITCOMMANDTOHWQUEUE wrong = {.hHwQueue = world.queue.hHwQueue,
                                               .HwQueueProgressFenceId = 3,
                                               .CommandBuffer = world.client.command_va,
                                               .CommandLength = 64,
                                               .PrivateDriverDataSize = 1u << 16,
                                               .pPrivateDriverData = world.from};
        D3DKMT_SUBMITCOMMAND by_context = plain;

        assert_int_equal(TEST_CALL(&world.client, SubmitCommandToHwQueue, &wrong),
                         STATUS_INVALID_PARAMETER);
        wrong.PrivateDriverDataSize = 0;
        wrong.NumPrimaries = 1; /* and no list */
        assert_int_equal(TEST_CALL(&world.client, SubmitCommandToHwQueue, &wrong),
                         STATUS_INVALID_PARAMETER);
        wrong.NumPrimaries = 0;
        wrong.CommandLength = 0;
        assert_int_equal(TEST_CALL(&world.client, SubmitCommandToHwQueue, &wrong),
                         STATUS_INVALID_PARAMETER);
        wrong.CommandLength = 64;
        wrong.hHwQueue = world.context;
        assert_int_equal(TEST_CALL(&world.client, SubmitCommandToHwQueue, &wrong),
                         STATUS_INVALID_PARAMETER);
        by_context.BroadcastContext[0] = world.context;
        assert_int_equal(TEST_CALL(&world.client, SubmitCommand, &by_context),
                         STATUS_INVALID_PARAMETER);
    }
    assert_int_equal(wait_in_queue(&world, world.client.fence, 1, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(wait_in_queue(&world, 0x7777, 1, 1), STATUS_INVALID_PARAMETER);
    assert_int_equal(signal_in_queue(&world, world.client.fence, 1, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(signal_in_queue(&world, world.client.fence, 1, 2), STATUS_NOT_SUPPORTED);
    assert_int_equal(signal_in_queue(&world, world.queue.hHwQueueProgressFence, 9, 1),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(
        TEST_CALL(&world.client, DestroySynchronizationObject,
                  &((D3DKMT_DESTROYSYNCHRONIZATIONOBJECT){world.queue.hHwQueueProgressFence})),
        STATUS_INVALID_PARAMETER);
    assert_int_equal(destroy_queue(&world, 0x7777), STATUS_INVALID_PARAMETER);
    assert_int_equal(destroy_queue(&world, world.queue.hHwQueue), STATUS_SUCCESS);
    assert_int_equal(destroy_queue(&world, world.queue.hHwQueue), STATUS_INVALID_PARAMETER);
    assert_int_equal(submit(&world, 4, 0), STATUS_INVALID_PARAMETER);
    test_client_close(&world.client);
}

static void each_mistake_has_its_status(void **state)
{
    test_on_board_with_queues(16 * MIB, err, TEST_NO_FAULTS);
}

static void ask_in_vain(struct exec_session *session)
{
    struct world world = {0};

    test_client_start(&world.client, session);
    assert_int_equal(
        test_make_queue(&world.client, test_make_context(&world.client, true), 0, &world.queue),
        STATUS_NOT_SUPPORTED);
    assert_int_equal(test_state_of(&world.client), D3DKMT_DEVICEEXECUTION_ACTIVE);
    test_client_close(&world.client);
}

static void a_board_without_queues_says_so(void **state)
{
    test_on_board(16 * MIB, ask_in_vain);
}

/* ---- Ends ------------------------------------------------------------------------------------ */

enum end { END_QUEUE, END_CONTEXT, END_DEVICE, END_PROCESS };

static void end_amid_work(struct exec_session *session, enum end end)
{
    struct world world;

    start(&world, session);
    for (uint64_t i = 0; i < 20; i++)
        assert_int_equal(submit(&world, i + 1, i), STATUS_SUCCESS);
    /* Nobody signals that: what stands behind it is dropped. */
    assert_int_equal(wait_in_queue(&world, world.client.fence, 7, 1), STATUS_SUCCESS);
    assert_int_equal(submit(&world, 100, 20), STATUS_SUCCESS);
    exec_step(session);
    if (end == END_QUEUE)
        assert_int_equal(destroy_queue(&world, world.queue.hHwQueue), STATUS_SUCCESS);
    if (end == END_CONTEXT)
        assert_int_equal(TEST_CALL(&world.client, DestroyContext,
                                   &((D3DKMT_DESTROYCONTEXT){.hContext = world.context})),
                         STATUS_SUCCESS);
    if (end == END_DEVICE)
        assert_int_equal(TEST_CALL(&world.client, DestroyDevice,
                                   &((D3DKMT_DESTROYDEVICE){.hDevice = world.client.device})),
                         STATUS_SUCCESS);
    if (end != END_PROCESS)
        assert_int_equal(submit(&world, 101, 21), STATUS_INVALID_PARAMETER);
    test_client_close(&world.client);
}

static void end_queue(struct exec_session *session)
{
    end_amid_work(session, END_QUEUE);
}

static void end_context(struct exec_session *session)
{
    end_amid_work(session, END_CONTEXT);
}

static void end_device(struct exec_session *session)
{
    end_amid_work(session, END_DEVICE);
}

static void end_process(struct exec_session *session)
{
    end_amid_work(session, END_PROCESS);
}

static void a_queue_goes_with_its_context_device_and_process_amid_work(void **state)
{
    test_on_board_with_queues(16 * MIB, end_queue, TEST_NO_FAULTS);
    test_on_board_with_queues(16 * MIB, end_context, TEST_NO_FAULTS);
    test_on_board_with_queues(16 * MIB, end_device, TEST_NO_FAULTS);
    test_on_board_with_queues(16 * MIB, end_process, TEST_NO_FAULTS);
}

static void fault(struct exec_session *session)
{
    struct world world;

    start(&world, session);
    world.a.va = UINT64_C(0x200000000000); /* nothing is mapped there */
    assert_int_equal(submit(&world, 1, 0), STATUS_SUCCESS);
    assert_int_equal(wait_by_cpu(&world, world.queue.hHwQueueProgressFence, 1), STATUS_SUCCESS);
    test_let_run(session);
    assert_int_equal(*world.progress, UINT64_MAX);
    assert_int_equal(submit(&world, 2, 0), STATUS_DEVICE_REMOVED);
    test_client_close(&world.client);
}

static void a_lost_device_shows_in_the_progress_fence(void **state)
{
    test_on_board_with_queues(16 * MIB, fault, TEST_MUST_FAULT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_progress_fence_has_the_value_of_what_has_run),
        cmocka_unit_test(waits_and_signals_stand_between_submissions),
        cmocka_unit_test(a_context_has_one_queue_behind_the_other),
        cmocka_unit_test(a_context_has_queues_beside_each_other),
        cmocka_unit_test(each_mistake_has_its_status),
        cmocka_unit_test(a_board_without_queues_says_so),
        cmocka_unit_test(a_queue_goes_with_its_context_device_and_process_amid_work),
        cmocka_unit_test(a_lost_device_shows_in_the_progress_fence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
