/*
 * Records of clients that give way to each other: the case has the work where the manager got it,
 * and plays whole without the clients.
 */
#define _GNU_SOURCE
#include "clients/recorder.h"

#include "bench/exec/test_client.h"
#include "bench/whole_runs/test_run.h"
#include "workload/workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB          (UINT64_C(1) << 20)
#define LOCAL_BYTES  (16 * MIB)
#define BUFFER_BYTES (10 * MIB) /* two of them do not fit */

static char *text; /* of the record */

static void finish(struct exec_session *session)
{
    const struct recorder_board board = {
        .title = "test", .local_bytes = LOCAL_BYTES, .system_bytes = UINT64_C(1) << 30, .seed = 1};
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    assert_non_null(file);
    assert_true(recorder_case_write(session->recorder, file, &board));
    fclose(file);
    recorder_case_destroy(session->recorder);
    session->recorder = NULL;
}

/* Without the clients: every byte is right, and all of it fits. */
static void play(const char *text)
{
    struct workload_error error;
    struct workload *workload;
    struct run_result *result;

    if (!workload_parse(text, strlen(text), "recorded.case", &workload, &error))
        fail_msg("%s", error.text);
    result = test_play(workload);
    test_assert_clean(result);
    test_finish(result);
}

/* The place of a line in the record; the last one that begins so. */
static size_t last_line(const char *line)
{
    const char *found = NULL, *at = text;

    while ((at = strstr(at, line)) != NULL)
        found = at++;
    if (!found)
        fail_msg("no '%s' in\n%s", line, text);
    return (size_t)(found - text);
}

struct taker {
    struct test_client client;
    struct test_buffer buffer, host;
    uint8_t *memory;
};

static void start(struct taker *taker, struct exec_session *session)
{
    test_client_start(&taker->client, session);
    taker->memory = aligned_alloc(65536, BUFFER_BYTES);
    assert_non_null(taker->memory);
    assert_int_equal(
        test_create(&taker->client, SGPU_UMD_NO_APERTURE, BUFFER_BYTES, NULL, &taker->buffer),
        STATUS_SUCCESS);
    test_map(&taker->client, &taker->buffer, 0);
    assert_int_equal(test_create(&taker->client, SGPU_UMD_EXISTING | SGPU_UMD_APERTURE_ONLY,
                                 BUFFER_BYTES, taker->memory, &taker->host),
                     STATUS_SUCCESS);
    test_map(&taker->client, &taker->host, 0);
    assert_true(NT_SUCCESS(test_make_resident(&taker->client, &taker->host)));
}

/* Resident, by others' giving way, with content of the client's. */
static void take(struct taker *taker, uint64_t seed)
{
    D3DDDI_MAKERESIDENT resident = {.hPagingQueue = taker->client.queue,
                                    .NumAllocations = 1,
                                    .AllocationList = &taker->buffer.handle,
                                    .Flags = {{{.CantTrimFurther = 1}}}};

    assert_int_equal(TEST_CALL(&taker->client, MakeResident, &resident), STATUS_PENDING);
    test_let_run(taker->client.session);
    d3dkmt_demote(taker->client.session->front);
    test_wait_paging(&taker->client, resident.PagingFenceValue);
    test_fill(taker->memory, BUFFER_BYTES, seed);
    test_wait_fence(&taker->client,
                    test_copy(&taker->client, taker->buffer.va, taker->host.va, BUFFER_BYTES));
}

/* The first one works while the second one has the memory: numbers are those of start(). */
static void record_turns(struct exec_session *session, bool destroys)
{
    struct taker takers[2], *first = &takers[0];
    D3DKMT_DESTROYALLOCATION2 destroy = {.phAllocationList = &first->buffer.handle,
                                         .AllocationCount = 1};
    uint64_t value;

    session->recorder = recorder_case_create(session->seen);
    assert_non_null(session->recorder);
    start(&takers[0], session);
    start(&takers[1], session);
    take(&takers[0], 1);
    take(&takers[1], 2);
    memset(first->memory, 0, BUFFER_BYTES);
    value = test_copy(&first->client, first->host.va, first->buffer.va, BUFFER_BYTES);
    destroy.hDevice = first->client.device;
    if (destroys)
        assert_int_equal(TEST_CALL(&first->client, DestroyAllocation2, &destroy), STATUS_SUCCESS);
    test_let_run(session);
    assert_true(*first->client.fence_value < value);
    assert_true(d3dkmt_demote(session->front));
    test_wait_fence(&first->client, value);
    test_expect(first->memory, BUFFER_BYTES, 1);
    for (unsigned i = 0; i < 2; i++) {
        test_client_close(&takers[i].client);
        free(takers[i].memory);
    }
    finish(session);
}

static void turns(struct exec_session *session)
{
    record_turns(session, false);
}

static void work_of_who_has_given_way_is_a_line_when_it_is_handed_over(void **state)
{
    test_on_board(LOCAL_BYTES, turns);
    assert_true(last_line("\nevict a5") < last_line("\nresident a2"));
    assert_true(last_line("\nresident a2") < last_line("\nsubmit c1 a2@"));
    play(text);
    free(text);
}

static void destroyed_meanwhile(struct exec_session *session)
{
    record_turns(session, true);
}

static void what_is_destroyed_behind_held_work_is_freed_behind_it(void **state)
{
    test_on_board(LOCAL_BYTES, destroyed_meanwhile);
    assert_true(last_line("\nsubmit c1 a2@") < last_line("\nfree a2\n"));
    play(text);
    free(text);
}

/* Two buffers side by side, which the GPU reads and writes as one. */
static void copy_over_both(struct exec_session *session)
{
    const uint64_t va = UINT64_C(0x200000000000);
    struct test_buffer from[2], to;
    struct test_client client;
    uint8_t *memory;

    session->recorder = recorder_case_create(session->seen);
    assert_non_null(session->recorder);
    test_client_start(&client, session);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(test_create(&client, SGPU_UMD_APERTURE_ONLY | SGPU_UMD_CPU_VISIBLE, MIB,
                                     NULL, &from[i]),
                         STATUS_SUCCESS);
        test_map(&client, &from[i], va + i * MIB);
        assert_true(NT_SUCCESS(test_make_resident(&client, &from[i])));
        memory = test_lock(&client, &from[i]);
        test_fill(memory, MIB, 1 + i);
    }
    test_resident_buffer(&client, SGPU_UMD_NO_APERTURE, MIB, &to);
    test_let_run(session);
    test_wait_fence(&client, test_copy(&client, to.va, va + MIB / 2, MIB));
    test_client_close(&client);
    for (unsigned rule = 0; rule < CLIENT_RULE_COUNT; rule++) {
        if (rule != CLIENT_RULE_LOCK_LEFT)
            assert_string_equal(test_breaches[rule], "");
    }
    finish(session);
}

static void work_over_mappings_side_by_side_is_lawful_and_in_the_record(void **state)
{
    test_on_board(LOCAL_BYTES, copy_over_both);
    assert_non_null(strstr(text, "\nsubmit c1 a2@524288+524288:r a4@0+524288:w=0x"));
    assert_non_null(strstr(text, " a3@0+524288:r a4@524288+524288:w=0x"));
    play(text);
    free(text);
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* The event that the signal behind the copy sets is all that the client hears of it. */
static void copy_and_hear(struct exec_session *session)
{
    const HANDLE event = (HANDLE)(uintptr_t)40, told = (HANDLE)(uintptr_t)41;
    struct test_buffer from, to;
    struct test_client client;

    session->recorder = recorder_case_create(session->seen);
    assert_non_null(session->recorder);
    test_client_start(&client, session);
    test_resident_buffer(&client, SGPU_UMD_APERTURE_ONLY | SGPU_UMD_CPU_VISIBLE, MIB, &from);
    test_resident_buffer(&client, SGPU_UMD_NO_APERTURE, MIB, &to);
    test_fill(test_lock(&client, &from), MIB, 3);
    test_copy(&client, to.va, from.va, MIB);
    assert_int_equal(TEST_CALL(&client, SignalSynchronizationObjectFromGpu2,
                               &((D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2){
                                   .Flags = {{{.EnqueueCpuEvent = 1}}},
                                   .BroadcastContextCount = 1,
                                   .BroadcastContextArray = &client.context,
                                   .CpuEventHandle = event})),
                     STATUS_SUCCESS);
    assert_int_equal(
        TEST_CALL(&client, WaitForSynchronizationObjectFromCpu,
                  &((D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU){.hAsyncEvent = told})),
        STATUS_SUCCESS);
    test_client_close(&client);
    finish(session);
}

static void an_event_that_was_set_is_a_wait_of_the_record(void **state)
{
    test_on_board(LOCAL_BYTES, copy_and_hear);
    assert_true(last_line("\nsubmit c1 a2@0+1048576:r a3@0+1048576:w=0x") <
                last_line("\nwait c1\n"));
    play(text);
    free(text);
}

/* ---- Hardware queues ------------------------------------------------------------------------- */

static void queue_copy(struct test_client *client, D3DKMT_HANDLE queue, uint64_t to, uint64_t from)
{
    const struct sgpu_packet_copy copy = {.header =
                                              SGPU_PACKET_HEADER(SGPU_OP_COPY, sizeof copy / 4),
                                          .source = from,
                                          .destination = to,
                                          .bytes = MIB};
    const uint64_t at = client->command_head;

    client->command_head += align_up(sizeof copy, SGPU_SUBMIT_ALIGN);
    memcpy(client->command_memory + at, &copy, sizeof copy);
    assert_int_equal(
        TEST_CALL(client, SubmitCommandToHwQueue,
                  &((D3DKMT_SUBMITCOMMANDTOHWQUEUE){.hHwQueue = queue,
                                                    .HwQueueProgressFenceId = 7,
                                                    .CommandBuffer = client->command_va + at,
                                                    .CommandLength = sizeof copy})),
        STATUS_SUCCESS);
}

/*
 * Through local memory and back, by two queues: the one that copies back waits for the other one,
 * and is given its work first or last.
 */
static void copy_by_queues_of(struct exec_session *session, bool of_one_context)
{
    D3DKMT_CREATEHWQUEUE made[2];
    const D3DKMT_CREATEHWQUEUE *out = &made[of_one_context], *back = &made[!of_one_context];
    struct test_buffer from, between, to;
    struct test_client client;
    const UINT64 seven = 7;

    session->recorder = recorder_case_create(session->seen);
    assert_non_null(session->recorder);
    test_client_start(&client, session);
    assert_int_equal(test_make_queue(&client, test_make_context(&client, true), 0, &made[0]),
                     STATUS_SUCCESS);
    assert_int_equal(
        test_make_queue(&client,
                        of_one_context ? made[0].hHwContext : test_make_context(&client, true), 0,
                        &made[1]),
        STATUS_SUCCESS);
    test_resident_buffer(&client, SGPU_UMD_APERTURE_ONLY | SGPU_UMD_CPU_VISIBLE, MIB, &from);
    test_resident_buffer(&client, SGPU_UMD_NO_APERTURE, MIB, &between);
    test_resident_buffer(&client, SGPU_UMD_APERTURE_ONLY | SGPU_UMD_CPU_VISIBLE, MIB, &to);
    test_fill(test_lock(&client, &from), MIB, 3);
    if (!of_one_context)
        queue_copy(&client, out->hHwQueue, between.va, from.va);
    assert_int_equal(TEST_CALL(&client, SubmitWaitForSyncObjectsToHwQueue,
                               &((D3DKMT_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE){
                                   .hHwQueue = back->hHwQueue,
                                   .ObjectCount = 1,
                                   .ObjectHandleArray = &out->hHwQueueProgressFence,
                                   .FenceValueArray = &seven})),
                     STATUS_SUCCESS);
    queue_copy(&client, back->hHwQueue, to.va, between.va);
    if (of_one_context)
        queue_copy(&client, out->hHwQueue, between.va, from.va);
    while (*(const volatile UINT64 *)back->HwQueueProgressFenceCPUVirtualAddress < 7)
        assert_true(exec_step(session));
    test_expect(test_lock(&client, &to), MIB, 3);
    test_client_close(&client);
    for (unsigned rule = 0; rule < CLIENT_RULE_COUNT; rule++) {
        if (rule != CLIENT_RULE_LOCK_LEFT)
            assert_string_equal(test_breaches[rule], "");
    }
    finish(session);
}

static void copy_by_queues(struct exec_session *session)
{
    copy_by_queues_of(session, false);
}

static void copy_by_one_context(struct exec_session *session)
{
    copy_by_queues_of(session, true);
}

static void work_of_hardware_queues_is_in_the_record(void **state)
{
    test_on_board_with_queues(LOCAL_BYTES, copy_by_queues, TEST_NO_FAULTS);
    assert_non_null(strstr(text, "\noption hardware-queues yes\n"));
    assert_true(last_line("\nsubmit c2 a2@0+1048576:r a3@0+1048576:w=0x") <
                last_line("\nwait c2\nsubmit c3 a3@0+1048576:r a4@0+1048576:w=0x"));
    assert_null(strstr(text, "\nnote "));
    play(text);
    free(text);
}

static void queues_of_one_context_are_contexts_of_the_record(void **state)
{
    test_on_board_with_queues(LOCAL_BYTES, copy_by_one_context, TEST_NO_FAULTS);
    assert_non_null(strstr(text, "\ncontext c3 device=d1 node=0\n"));
    assert_true(last_line("\nsubmit c3 a2@0+1048576:r a3@0+1048576:w=0x") <
                last_line("\nwait c3\nsubmit c2 a3@0+1048576:r a4@0+1048576:w=0x"));
    assert_null(strstr(text, "\nnote "));
    play(text);
    free(text);
}

/* A copy waits in a queue that goes; the context's next queue does another one. */
static void copy_behind_a_queue_that_went(struct exec_session *session)
{
    D3DKMT_CREATEHWQUEUE first, second, next;
    struct test_buffer from, dropped, to;
    struct test_client client;
    const UINT64 seven = 7;

    session->recorder = recorder_case_create(session->seen);
    assert_non_null(session->recorder);
    test_client_start(&client, session);
    assert_int_equal(test_make_queue(&client, test_make_context(&client, true), 0, &first),
                     STATUS_SUCCESS);
    assert_int_equal(test_make_queue(&client, test_make_context(&client, true), 0, &second),
                     STATUS_SUCCESS);
    test_resident_buffer(&client, SGPU_UMD_APERTURE_ONLY | SGPU_UMD_CPU_VISIBLE, MIB, &from);
    test_resident_buffer(&client, SGPU_UMD_NO_APERTURE, MIB, &dropped);
    test_resident_buffer(&client, SGPU_UMD_APERTURE_ONLY | SGPU_UMD_CPU_VISIBLE, MIB, &to);
    test_fill(test_lock(&client, &from), MIB, 3);
    assert_int_equal(TEST_CALL(&client, SubmitWaitForSyncObjectsToHwQueue,
                               &((D3DKMT_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE){
                                   .hHwQueue = first.hHwQueue,
                                   .ObjectCount = 1,
                                   .ObjectHandleArray = &second.hHwQueueProgressFence,
                                   .FenceValueArray = &seven})),
                     STATUS_SUCCESS);
    queue_copy(&client, first.hHwQueue, dropped.va, from.va);
    assert_int_equal(
        TEST_CALL(&client, DestroyHwQueue, &((D3DKMT_DESTROYHWQUEUE){.hHwQueue = first.hHwQueue})),
        STATUS_SUCCESS);
    assert_int_equal(test_make_queue(&client, first.hHwContext, 0, &next), STATUS_SUCCESS);
    queue_copy(&client, next.hHwQueue, to.va, from.va);
    while (*(const volatile UINT64 *)next.HwQueueProgressFenceCPUVirtualAddress < 7)
        assert_true(exec_step(session));
    test_expect(test_lock(&client, &to), MIB, 3);
    test_client_close(&client);
    finish(session);
}

static void work_that_went_with_its_queue_is_not_in_the_record(void **state)
{
    test_on_board_with_queues(LOCAL_BYTES, copy_behind_a_queue_that_went, TEST_NO_FAULTS);
    assert_non_null(strstr(text, "\nsubmit c2 a2@0+1048576:r a4@0+1048576:w=0x"));
    assert_null(strstr(text, "a3@0+1048576:w"));
    play(text);
    free(text);
}

/* ---- What two processes share ---------------------------------------------------------------- */

/* One allocation; its name for NT handles, or what has opened it. */
static uint64_t make_shared(struct test_client *client, struct test_buffer *out_buffer,
                            D3DKMT_HANDLE *out_resource)
{
    struct sgpu_umd_allocation data = {
        .version = SGPU_UMD_VERSION, .flags = SGPU_UMD_NO_APERTURE, .bytes = MIB};
    D3DDDI_ALLOCATIONINFO2 info = {.pPrivateDriverData = &data,
                                   .PrivateDriverDataSize = sizeof data};
    D3DKMT_CREATEALLOCATION create = {
        .hDevice = client->device,
        .NumAllocations = 1,
        .pAllocationInfo2 = &info,
        .Flags = {{{.CreateResource = 1, .CreateShared = 1, .NtSecuritySharing = 1}}}};
    THUNK_SHARE_OBJECTS share = {.cObjects = 1, .hObjects = &create.hResource};
    uint64_t name = 0;

    assert_int_equal(TEST_CALL(client, CreateAllocation2, &create), STATUS_SUCCESS);
    assert_int_equal(test_call_by(client, D3DKMT_FN_ShareObjects, &share, &name), STATUS_SUCCESS);
    *out_buffer = (struct test_buffer){.handle = info.hAllocation, .bytes = MIB};
    *out_resource = create.hResource;
    return name;
}

static void open_shared(struct test_client *client, uint64_t name, struct test_buffer *out_buffer)
{
    struct sgpu_umd_allocation data;
    D3DDDI_OPENALLOCATIONINFO2 info = {0};
    D3DKMT_OPENRESOURCEFROMNTHANDLE open = {.hDevice = client->device,
                                            .NumAllocations = 1,
                                            .pOpenAllocationInfo2 = &info,
                                            .pTotalPrivateDriverDataBuffer = &data,
                                            .TotalPrivateDriverDataBufferSize = sizeof data};

    assert_int_equal(test_call_by(client, D3DKMT_FN_OpenResourceFromNtHandle, &open, &name),
                     STATUS_SUCCESS);
    *out_buffer = (struct test_buffer){.handle = info.hAllocation, .bytes = MIB};
}

static uint64_t make_fence(struct test_client *client, D3DKMT_HANDLE *out_fence)
{
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 create = {.hDevice = client->device,
                                                  .Info.Type = D3DDDI_MONITORED_FENCE};
    THUNK_SHARE_OBJECTS share = {.cObjects = 1, .hObjects = out_fence};
    uint64_t name = 0;

    create.Info.Flags.Shared = create.Info.Flags.NtSecuritySharing = 1;
    assert_int_equal(TEST_CALL(client, CreateSynchronizationObject2, &create), STATUS_SUCCESS);
    *out_fence = create.hSyncObject;
    assert_int_equal(test_call_by(client, D3DKMT_FN_ShareObjects, &share, &name), STATUS_SUCCESS);
    return name;
}

static D3DKMT_HANDLE open_fence(struct test_client *client, uint64_t name)
{
    D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 open = {.hDevice = client->device};

    assert_int_equal(test_call_by(client, D3DKMT_FN_OpenSyncObjectFromNtHandle2, &open, &name),
                     STATUS_SUCCESS);
    return open.hSyncObject;
}

static void host_buffer(struct test_client *client, uint8_t *memory, struct test_buffer *out_buffer)
{
    assert_int_equal(
        test_create(client, SGPU_UMD_EXISTING | SGPU_UMD_APERTURE_ONLY, MIB, memory, out_buffer),
        STATUS_SUCCESS);
    test_map(client, out_buffer, 0);
    assert_true(NT_SUCCESS(test_make_resident(client, out_buffer)));
}

/* One writes what both have and signals, the other one waits and reads; the first one goes before.
 */
static void share(struct exec_session *session)
{
    const UINT64 one = 1, two = 2;
    struct test_client maker, opener;
    struct test_buffer made, opened, from, to, never;
    D3DKMT_HANDLE resource, others, made_fence, opened_fence;
    uint8_t *source = aligned_alloc(65536, MIB), *target = aligned_alloc(65536, MIB);
    uint64_t name, fence_name, other_name;

    session->recorder = recorder_case_create(session->seen);
    assert_non_null(session->recorder);
    test_client_start(&maker, session);
    test_client_start(&opener, session);
    name = make_shared(&maker, &made, &resource);
    other_name = make_shared(&maker, &never, &others); /* which nobody opens */
    fence_name = make_fence(&maker, &made_fence);
    open_shared(&opener, name, &opened);
    opened_fence = open_fence(&opener, fence_name);
    test_fill(source, MIB, 4);
    host_buffer(&maker, source, &from);
    host_buffer(&opener, target, &to);
    test_map(&maker, &made, 0);
    test_map(&opener, &opened, 0);
    assert_true(NT_SUCCESS(test_make_resident(&maker, &made)));
    assert_true(NT_SUCCESS(test_make_resident(&opener, &opened)));
    assert_int_equal(TEST_CALL(&opener, WaitForSynchronizationObjectFromGpu,
                               &((D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU){
                                   .hContext = opener.context,
                                   .ObjectCount = 1,
                                   .ObjectHandleArray = &opened_fence,
                                   .MonitoredFenceValueArray = &one})),
                     STATUS_SUCCESS);
    test_copy(&opener, to.va, opened.va, MIB);
    test_let_run(session);
    test_copy(&maker, made.va, from.va, MIB);
    assert_int_equal(
        TEST_CALL(&maker, SignalSynchronizationObjectFromGpu,
                  &((D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU){.hContext = maker.context,
                                                                .ObjectCount = 1,
                                                                .ObjectHandleArray = &made_fence,
                                                                .MonitoredFenceValueArray = &one})),
        STATUS_SUCCESS);
    test_wait_fence(&opener, opener.next_value);
    test_expect(target, MIB, 4);
    /* The fence alone orders what has nothing else in common. */
    test_wait_fence(&maker, test_copy(&maker, made.va, from.va, MIB));
    assert_int_equal(
        TEST_CALL(&maker, SignalSynchronizationObjectFromGpu,
                  &((D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU){.hContext = maker.context,
                                                                .ObjectCount = 1,
                                                                .ObjectHandleArray = &made_fence,
                                                                .MonitoredFenceValueArray = &two})),
        STATUS_SUCCESS);
    assert_int_equal(
        TEST_CALL(&opener, WaitForSynchronizationObjectFromCpu,
                  &((D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU){.hDevice = opener.device,
                                                                 .ObjectCount = 1,
                                                                 .ObjectHandleArray = &opened_fence,
                                                                 .FenceValueArray = &two})),
        STATUS_SUCCESS);
    assert_int_equal(test_evict(&maker, &made), STATUS_SUCCESS);
    test_client_close(&maker);
    test_expect(target, MIB, 4);
    test_client_close(&opener);
    d3dkmt_nt_handle_closed(session->front, name);
    d3dkmt_nt_handle_closed(session->front, other_name);
    d3dkmt_nt_handle_closed(session->front, fence_name);
    finish(session);
    free(source);
    free(target);
}

static void what_processes_share_is_one_allocation_of_the_record(void **state)
{
    test_on_board(LOCAL_BYTES, share);
    /* a1 and a2 are command buffers; a3 and a4 were made to be shared, and a3 is. */
    last_line("alloc a3 size=1048576 device=d1 segments=local flags=shared\n");
    last_line("alloc a4 size=1048576 device=d1 segments=local\n");
    assert_null(strstr(text, "alloc a5 size=1048576 device=d2 segments=local"));
    assert_true(strstr(text, "wait c1") < text + last_line("submit c2 a3@0+1048576:r"));
    assert_true(last_line("submit c2 ") < last_line("submit c1 "));
    assert_true(last_line("submit c1 ") < last_line("wait c1"));
    assert_true(last_line("submit c2 ") < last_line("free a3"));
    assert_true(last_line("free a4") < last_line("free a3"));
    play(text);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_of_who_has_given_way_is_a_line_when_it_is_handed_over),
        cmocka_unit_test(what_is_destroyed_behind_held_work_is_freed_behind_it),
        cmocka_unit_test(work_over_mappings_side_by_side_is_lawful_and_in_the_record),
        cmocka_unit_test(an_event_that_was_set_is_a_wait_of_the_record),
        cmocka_unit_test(work_of_hardware_queues_is_in_the_record),
        cmocka_unit_test(queues_of_one_context_are_contexts_of_the_record),
        cmocka_unit_test(what_processes_share_is_one_allocation_of_the_record),
        cmocka_unit_test(work_that_went_with_its_queue_is_not_in_the_record),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
