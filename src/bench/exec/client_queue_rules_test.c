/*
 * Rules of clients, and hardware queues: those that are of queues alone, and those of all work
 * where it goes to a queue. Each has a client that breaks it, and that rule alone is told; and the
 * nearest client that keeps it, of which nothing is told.
 */
#include "bench/exec/test_client.h"

#include <stdlib.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

struct world {
    struct exec_session *session;
    struct test_client client;
    D3DKMT_HANDLE context;
    D3DKMT_CREATEHWQUEUE queue;
    const volatile uint64_t *progress;
    struct test_buffer a, b; /* visible, in system memory; mapped and resident */
    uint64_t last_id;
    bool breaks;
};

static NTSTATUS submit_at(struct world *world, D3DKMT_HANDLE queue, uint64_t id, uint64_t va,
                          UINT bytes)
{
    return TEST_CALL(&world->client, SubmitCommandToHwQueue,
                     &((D3DKMT_SUBMITCOMMANDTOHWQUEUE){.hHwQueue = queue,
                                                       .HwQueueProgressFenceId = id,
                                                       .CommandBuffer = va,
                                                       .CommandLength = bytes}));
}

/* A copy, from a command buffer of its own, without a fence in it. */
static NTSTATUS copy_with(struct world *world, uint64_t id, uint64_t to_va, uint64_t from_va)
{
    const struct sgpu_packet_copy copy = {.header =
                                              SGPU_PACKET_HEADER(SGPU_OP_COPY, sizeof copy / 4),
                                          .source = from_va,
                                          .destination = to_va,
                                          .bytes = MIB};
    const uint64_t at = world->client.command_head;

    world->client.command_head += align_up(sizeof copy, SGPU_SUBMIT_ALIGN);
    memcpy(world->client.command_memory + at, &copy, sizeof copy);
    return submit_at(world, world->queue.hHwQueue, id, world->client.command_va + at, sizeof copy);
}

static uint64_t copy(struct world *world, uint64_t to_va, uint64_t from_va)
{
    assert_int_equal(copy_with(world, ++world->last_id, to_va, from_va), STATUS_SUCCESS);
    return world->last_id;
}

static uint64_t copy_a(struct world *world)
{
    return copy(world, world->b.va, world->a.va);
}

static void finish(struct world *world, uint64_t id)
{
    while (*world->progress < id)
        assert_true(exec_step(world->session));
}

static NTSTATUS wait_in(struct world *world, D3DKMT_HANDLE queue, D3DKMT_HANDLE fence, UINT64 value)
{
    return TEST_CALL(&world->client, SubmitWaitForSyncObjectsToHwQueue,
                     &((D3DKMT_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE){.hHwQueue = queue,
                                                                  .ObjectCount = 1,
                                                                  .ObjectHandleArray = &fence,
                                                                  .FenceValueArray = &value}));
}

static NTSTATUS signal_with(struct world *world, D3DKMT_HANDLE fence, UINT64 value, UINT count)
{
    return TEST_CALL(
        &world->client, SubmitSignalSyncObjectsToHwQueue,
        &((D3DKMT_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE){.BroadcastHwQueueCount = 1,
                                                    .BroadcastHwQueueArray = &world->queue.hHwQueue,
                                                    .ObjectCount = count,
                                                    .ObjectHandleArray = &fence,
                                                    .FenceValueArray = &value}));
}

static NTSTATUS signal_by_cpu(struct world *world, D3DKMT_HANDLE fence, UINT64 value)
{
    return TEST_CALL(&world->client, SignalSynchronizationObjectFromCpu,
                     &((D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU){.hDevice = world->client.device,
                                                                   .ObjectCount = 1,
                                                                   .ObjectHandleArray = &fence,
                                                                   .FenceValueArray = &value}));
}

static D3DKMT_HANDLE make_fence(struct world *world)
{
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 create = {.Info.Type = D3DDDI_MONITORED_FENCE};

    create.hDevice = world->client.device;
    assert_int_equal(TEST_CALL(&world->client, CreateSynchronizationObject2, &create),
                     STATUS_SUCCESS);
    return create.hSyncObject;
}

static NTSTATUS destroy_queue(struct world *world, D3DKMT_HANDLE queue)
{
    return TEST_CALL(&world->client, DestroyHwQueue, &((D3DKMT_DESTROYHWQUEUE){queue}));
}

static NTSTATUS destroy_fence(struct world *world, D3DKMT_HANDLE fence)
{
    return TEST_CALL(&world->client, DestroySynchronizationObject,
                     &((D3DKMT_DESTROYSYNCHRONIZATIONOBJECT){fence}));
}

/* ---- Of queues alone ------------------------------------------------------------------------- */

static void QUEUE_ID(struct world *world)
{
    copy_with(world, 5, world->b.va, world->a.va);
    copy_with(world, world->breaks ? 5 : 6, world->b.va, world->a.va);
    test_let_run(world->session);
}

static void SIGNALS_PROGRESS(struct world *world)
{
    finish(world, copy_a(world));
    signal_with(world, world->breaks ? world->queue.hHwQueueProgressFence : make_fence(world), 9,
                1);
    test_let_run(world->session);
}

static void PROGRESS_FENCE_GOES(struct world *world)
{
    if (world->breaks)
        destroy_fence(world, world->queue.hHwQueueProgressFence);
    else
        assert_int_equal(destroy_queue(world, world->queue.hHwQueue), STATUS_SUCCESS);
}

static void QUEUE_FLAGS(struct world *world)
{
    D3DKMT_CREATEHWQUEUE queue;
    const D3DDDI_CREATEHWQUEUEFLAGS kept = {{{.DisableGpuTimeout = 1}}},
                                    broken = {{{.NoKmdAccess = 1}}};

    test_make_queue(&world->client, test_make_context(&world->client, true),
                    world->breaks ? broken.Value : kept.Value, &queue);
}

static void QUEUE_CONTEXT(struct world *world)
{
    D3DKMT_CREATEHWQUEUE queue;

    assert_int_equal(test_make_queue(&world->client,
                                     test_make_context(&world->client, !world->breaks), 0, &queue),
                     world->breaks ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS);
}

/* ---- Of all work ----------------------------------------------------------------------------- */

static void NOT_RESIDENT(struct world *world)
{
    struct test_buffer to;

    assert_int_equal(test_create(&world->client, SGPU_UMD_NO_APERTURE, MIB, NULL, &to),
                     STATUS_SUCCESS);
    test_map(&world->client, &to, 0);
    if (!world->breaks)
        assert_true(NT_SUCCESS(test_make_resident(&world->client, &to)));
    copy(world, to.va, world->a.va);
    test_let_run(world->session);
}

static void BEFORE_RESIDENT(struct world *world)
{
    struct test_buffer to;
    D3DDDI_MAKERESIDENT resident = {
        .hPagingQueue = world->client.queue, .NumAllocations = 1, .AllocationList = &to.handle};

    assert_int_equal(test_create(&world->client, SGPU_UMD_NO_APERTURE, MIB, NULL, &to),
                     STATUS_SUCCESS);
    test_map(&world->client, &to, 0);
    assert_int_equal(TEST_CALL(&world->client, MakeResident, &resident), STATUS_PENDING);
    if (!world->breaks)
        assert_int_equal(wait_in(world, world->queue.hHwQueue, world->client.queue_fence,
                                 resident.PagingFenceValue),
                         STATUS_SUCCESS);
    copy(world, to.va, world->a.va);
    test_let_run(world->session);
}

/* A wait in one queue of a context is none in another one. */
static void BEFORE_RESIDENT_BESIDE(struct world *world)
{
    D3DKMT_CREATEHWQUEUE second;
    struct test_buffer to;
    D3DDDI_MAKERESIDENT resident = {
        .hPagingQueue = world->client.queue, .NumAllocations = 1, .AllocationList = &to.handle};

    assert_int_equal(test_make_queue(&world->client, world->context, 0, &second), STATUS_SUCCESS);
    assert_int_equal(test_create(&world->client, SGPU_UMD_NO_APERTURE, MIB, NULL, &to),
                     STATUS_SUCCESS);
    test_map(&world->client, &to, 0);
    assert_int_equal(TEST_CALL(&world->client, MakeResident, &resident), STATUS_PENDING);
    assert_int_equal(wait_in(world, world->breaks ? second.hHwQueue : world->queue.hHwQueue,
                             world->client.queue_fence, resident.PagingFenceValue),
                     STATUS_SUCCESS);
    copy(world, to.va, world->a.va);
    test_let_run(world->session);
}

static void EVICT_IN_USE(struct world *world)
{
    const uint64_t id = copy_a(world);

    if (!world->breaks)
        finish(world, id);
    assert_int_equal(test_evict(&world->client, &world->a), STATUS_SUCCESS);
    finish(world, id);
}

static void DESTROY_IN_USE(struct world *world)
{
    const uint64_t id = copy_a(world);

    if (!world->breaks)
        finish(world, id);
    test_destroy(&world->client, &world->a);
    test_let_run(world->session);
}

static void UNMAPPED(struct world *world)
{
    copy(world, world->breaks ? world->b.va + 64 * 1024 * MIB : world->b.va, world->a.va);
    test_let_run(world->session);
}

static void COMMANDS_UNMAPPED(struct world *world)
{
    const uint64_t nop = SGPU_PACKET_HEADER(SGPU_OP_NOP, 4);

    memset(world->client.command_memory, 0, 16);
    memcpy(world->client.command_memory, &nop, sizeof nop);
    submit_at(world, world->queue.hHwQueue, 1,
              world->client.command_va + (world->breaks ? UINT64_C(1) << 40 : 0), 16);
    test_let_run(world->session);
}

static void note_end(struct d3dkmt_call *call)
{
    *(bool *)call->context = true;
}

/* What is submitted while another thread destroys the queue is refused for that alone. */
static void submit_to_a_queue_that_goes(struct world *world, D3DKMT_SUBMITCOMMANDTOHWQUEUE *submit)
{
    D3DKMT_DESTROYHWQUEUE destroy = {world->queue.hHwQueue};
    bool has_ended = false;
    struct d3dkmt_call call = {.function = D3DKMT_FN_DestroyHwQueue,
                               .arguments = &destroy,
                               .ended = note_end,
                               .context = &has_ended};

    world->last_id = submit->HwQueueProgressFenceId;
    world->client.command_head = SGPU_SUBMIT_ALIGN; /* behind its commands */
    submit->HwQueueProgressFenceId = copy_a(world) + 1;
    assert_true(exec_step(world->session)); /* the GPU has it: the queue goes when it has ended */
    assert_false(d3dkmt_call(world->client.process, &call));
    submit->PrivateDriverDataSize = sizeof(uint64_t);
    assert_int_equal(TEST_CALL(&world->client, SubmitCommandToHwQueue, submit),
                     STATUS_INVALID_PARAMETER);
    while (!has_ended)
        assert_true(exec_step(world->session));
}

static void PRIVATE_DATA(struct world *world)
{
    const uint64_t nop = SGPU_PACKET_HEADER(SGPU_OP_NOP, 2);
    uint64_t data = 0;
    D3DKMT_SUBMITCOMMANDTOHWQUEUE submit = {.hHwQueue = world->queue.hHwQueue,
                                            .HwQueueProgressFenceId = 1,
                                            .CommandBuffer = world->client.command_va,
                                            .CommandLength = 8,
                                            .pPrivateDriverData = &data};

    memcpy(world->client.command_memory, &nop, sizeof nop);
    submit.PrivateDriverDataSize = world->breaks ? sizeof data : 0;
    assert_int_equal(TEST_CALL(&world->client, SubmitCommandToHwQueue, &submit),
                     world->breaks ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS);
    test_let_run(world->session);
    if (!world->breaks)
        submit_to_a_queue_that_goes(world, &submit);
}

static void COMMANDS_CHANGED(struct world *world)
{
    const uint64_t at = world->client.command_head, id = copy_a(world);
    uint8_t *memory = world->client.command_memory + at + sizeof(uint32_t);

    if (!world->breaks)
        finish(world, id);
    (*memory)++; /* padding of the header: it does no harm */
    assert_int_equal(test_make_resident(&world->client, &world->a), STATUS_SUCCESS);
    (*memory)--;
    finish(world, id);
}

static void MEMORY_CHANGED(struct world *world)
{
    uint8_t *memory = aligned_alloc(65536, MIB);
    struct test_buffer host;
    uint64_t id;

    assert_non_null(memory);
    memset(memory, 1, MIB);
    assert_int_equal(
        test_create(&world->client, SGPU_UMD_EXISTING | SGPU_UMD_APERTURE_ONLY, MIB, memory, &host),
        STATUS_SUCCESS);
    test_map(&world->client, &host, 0);
    assert_true(NT_SUCCESS(test_make_resident(&world->client, &host)));
    id = copy(world, world->b.va, host.va);
    if (!world->breaks)
        finish(world, id);
    memory[100] = 2;
    test_evict(&world->client, &world->a);
    finish(world, id);
    test_destroy(&world->client, &host);
    test_let_run(world->session);
    free(memory);
}

static void LOST_DEVICE(struct world *world)
{
    const uint64_t nothing_known = SGPU_PACKET_HEADER(0x7f, 4);

    memcpy(world->client.command_memory, &nothing_known, sizeof nothing_known);
    submit_at(world, world->queue.hHwQueue, 1, world->client.command_va, 16);
    test_let_run(world->session);
    for (unsigned i = 2; i < (world->breaks ? 4u : 3u); i++)
        assert_int_equal(submit_at(world, world->queue.hHwQueue, i, world->client.command_va, 16),
                         STATUS_DEVICE_REMOVED);
}

/* Of a fence of the client's, and of the queue's own. */
static void NEVER_SIGNALLED(struct world *world)
{
    const D3DKMT_HANDLE fence = make_fence(world);
    D3DKMT_CREATEHWQUEUE other;

    assert_int_equal(wait_in(world, world->queue.hHwQueue, fence, 1), STATUS_SUCCESS);
    copy_a(world);
    assert_int_equal(
        test_make_queue(&world->client, test_make_context(&world->client, true), 0, &other),
        STATUS_SUCCESS);
    assert_int_equal(
        wait_in(world, other.hHwQueue, world->queue.hHwQueueProgressFence, world->breaks ? 2 : 1),
        STATUS_SUCCESS);
    assert_int_equal(signal_by_cpu(world, fence, 1), STATUS_SUCCESS);
    test_let_run(world->session);
}

static void FENCE_FALLS(struct world *world)
{
    const D3DKMT_HANDLE fence = make_fence(world);

    assert_int_equal(signal_with(world, fence, 5, 1), STATUS_SUCCESS);
    assert_int_equal(signal_with(world, fence, world->breaks ? 4 : 6, 1), STATUS_SUCCESS);
    test_let_run(world->session);
}

static void SIGNALS_PAGING(struct world *world)
{
    signal_with(world, world->breaks ? world->client.queue_fence : make_fence(world), 1000, 1);
    test_let_run(world->session);
}

static void LOST_VALUE(struct world *world)
{
    copy_with(world, UINT64_MAX - !world->breaks, world->b.va, world->a.va);
    test_let_run(world->session);
}

static void OBJECT_COUNT(struct world *world)
{
    signal_with(world, make_fence(world), 1, world->breaks ? 0 : 1);
    test_let_run(world->session);
}

/* The page says that the CPU's mapping of it is to be read only. */
static void FENCE_BY_CPU(struct world *world)
{
    const D3DKMT_HANDLE fence = world->queue.hHwQueueProgressFence;
    const UINT64 value = 1;

    if (world->breaks)
        *(UINT64 *)world->queue.HwQueueProgressFenceCPUVirtualAddress = 1;
    else
        copy_a(world);
    assert_int_equal(
        TEST_CALL(&world->client, WaitForSynchronizationObjectFromCpu,
                  &((D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU){.hDevice = world->client.device,
                                                                 .ObjectCount = 1,
                                                                 .ObjectHandleArray = &fence,
                                                                 .FenceValueArray = &value})),
        STATUS_SUCCESS);
    if (world->breaks)
        copy_a(world); /* so that somebody signals it */
    test_let_run(world->session);
}

/* The queue goes while work of another one waits for it; what waits in it goes with it. */
static void FENCE_AWAITED(struct world *world)
{
    const D3DKMT_HANDLE fence = make_fence(world);
    D3DKMT_CREATEHWQUEUE other;

    assert_int_equal(
        test_make_queue(&world->client, test_make_context(&world->client, true), 0, &other),
        STATUS_SUCCESS);
    assert_int_equal(wait_in(world, world->queue.hHwQueue, fence, 1), STATUS_SUCCESS);
    copy_a(world);
    assert_int_equal(wait_in(world, world->breaks ? other.hHwQueue : world->queue.hHwQueue,
                             world->queue.hHwQueueProgressFence, 1),
                     STATUS_SUCCESS);
    assert_int_equal(destroy_queue(world, world->queue.hHwQueue), STATUS_SUCCESS);
    destroy_fence(world, fence);
    test_let_run(world->session);
}

static void OLD_HANDLE(struct world *world)
{
    const uint64_t nop = SGPU_PACKET_HEADER(SGPU_OP_NOP, 2);

    memcpy(world->client.command_memory, &nop, sizeof nop);
    if (world->breaks)
        assert_int_equal(destroy_queue(world, world->queue.hHwQueue), STATUS_SUCCESS);
    submit_at(world, world->queue.hHwQueue, 1, world->client.command_va, 8);
    test_let_run(world->session);
}

/* ---- All of them ----------------------------------------------------------------------------- */

static const struct {
    enum client_rule rule;
    void (*play)(struct world *world);
} rows[] = {
#define RULE(name, id, text)
#define SHARING_RULE(name, id, text)
#define EVENT_RULE(name, id, text)
#define QUEUE_RULE(name, id, text) {CLIENT_RULE_##name, name},
#include "bench/exec/client_rules.inc"
#undef RULE
    {CLIENT_RULE_NOT_RESIDENT, NOT_RESIDENT},
    {CLIENT_RULE_BEFORE_RESIDENT, BEFORE_RESIDENT},
    {CLIENT_RULE_BEFORE_RESIDENT, BEFORE_RESIDENT_BESIDE},
    {CLIENT_RULE_EVICT_IN_USE, EVICT_IN_USE},
    {CLIENT_RULE_DESTROY_IN_USE, DESTROY_IN_USE},
    {CLIENT_RULE_UNMAPPED, UNMAPPED},
    {CLIENT_RULE_COMMANDS_UNMAPPED, COMMANDS_UNMAPPED},
    {CLIENT_RULE_PRIVATE_DATA, PRIVATE_DATA},
    {CLIENT_RULE_COMMANDS_CHANGED, COMMANDS_CHANGED},
    {CLIENT_RULE_MEMORY_CHANGED, MEMORY_CHANGED},
    {CLIENT_RULE_LOST_DEVICE, LOST_DEVICE},
    {CLIENT_RULE_NEVER_SIGNALLED, NEVER_SIGNALLED},
    {CLIENT_RULE_FENCE_FALLS, FENCE_FALLS},
    {CLIENT_RULE_SIGNALS_PAGING, SIGNALS_PAGING},
    {CLIENT_RULE_LOST_VALUE, LOST_VALUE},
    {CLIENT_RULE_OBJECT_COUNT, OBJECT_COUNT},
    {CLIENT_RULE_FENCE_BY_CPU, FENCE_BY_CPU},
    {CLIENT_RULE_FENCE_AWAITED, FENCE_AWAITED},
    {CLIENT_RULE_OLD_HANDLE, OLD_HANDLE},
};

static unsigned current;
static bool breaks_it;

static void play(struct exec_session *session)
{
    struct world world = {.session = session, .breaks = breaks_it};

    test_client_start(&world.client, session);
    test_resident_buffer(&world.client, SGPU_UMD_APERTURE_ONLY | SGPU_UMD_CPU_VISIBLE, MIB,
                         &world.a);
    test_resident_buffer(&world.client, SGPU_UMD_APERTURE_ONLY | SGPU_UMD_CPU_VISIBLE, MIB,
                         &world.b);
    world.context = test_make_context(&world.client, true);
    assert_int_equal(test_make_queue(&world.client, world.context, 0, &world.queue),
                     STATUS_SUCCESS);
    world.progress = world.queue.HwQueueProgressFenceCPUVirtualAddress;
    rows[current].play(&world);
    test_client_close(&world.client);
}

static unsigned play_all(bool breaks)
{
    unsigned wrong = 0;

    breaks_it = breaks;
    for (current = 0; current < ARRAY_COUNT(rows); current++) {
        test_on_board_with_queues(16 * MIB, play, TEST_MAY_FAULT);
        wrong += test_told_wrongly(rows[current].rule, breaks_it);
    }
    return wrong;
}

static void each_rule_is_told_when_work_of_a_queue_breaks_it(void **state)
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
        cmocka_unit_test(each_rule_is_told_when_work_of_a_queue_breaks_it),
        cmocka_unit_test(nothing_is_told_of_who_keeps_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
