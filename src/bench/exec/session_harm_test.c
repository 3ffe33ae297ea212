/*
 * Clients that mean harm, or do not care: nobody else notices.
 */
#include "bench/exec/test_client.h"

#include "base/rng.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)

static void call_has_ended(struct d3dkmt_call *call)
{
    *(bool *)call->context = true;
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
    test_let_run(client->session);
}

static void no_physical_addresses(struct exec_session *session)
{
    struct test_client spy, other;
    struct test_buffer theirs, mine;
    uint8_t *seen, *taken;

    test_client_start(&other, session);
    test_resident_buffer(&other, SGPU_UMD_CPU_VISIBLE, MIB, &theirs);
    seen = test_lock(&other, &theirs);
    test_fill(seen, MIB, 11);
    test_client_start(&spy, session);
    test_resident_buffer(&spy, SGPU_UMD_APERTURE_ONLY | SGPU_UMD_CPU_VISIBLE, MIB, &mine);
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

        if (test_state_of(&spy) != D3DKMT_DEVICEEXECUTION_ACTIVE)
            break;
        submit(&spy, &copy, sizeof copy);
    }
    assert_int_equal(test_state_of(&spy), D3DKMT_DEVICEEXECUTION_HUNG);
    assert_int_equal(test_state_of(&other), D3DKMT_DEVICEEXECUTION_ACTIVE);
    test_expect(seen, MIB, 11);
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
            test_resident_buffer(&first, kinds[kind], MIB, &buffer);
            memset(test_lock(&first, &buffer), 0xab, MIB);
        }
        test_client_close(&first);
        test_client_start(&next, session);
        for (unsigned i = 0; i < 10; i++) {
            test_resident_buffer(&next, kinds[kind], MIB, &buffer);
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
    test_let_run(session);
    assert_false(has_ended);
    /* Others work. */
    test_resident_buffer(&other, 0, MIB, &from);
    test_resident_buffer(&other, 0, MIB, &to);
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
    test_resident_buffer(&other, SGPU_UMD_CPU_VISIBLE, MIB, &theirs);
    seen = test_lock(&other, &theirs);
    test_fill(seen, MIB, seed);
    for (unsigned i = 0; i < 12; i++) {
        uint32_t words[128];

        test_client_start(&client, session);
        test_resident_buffer(&client, 0, MIB, &own);
        for (unsigned k = 0; k < 128; k++)
            words[k] = rng_below(&rng, 3)   ? (uint32_t)rng_below(&rng, 64)
                       : rng_below(&rng, 2) ? (uint32_t)(own.va >> rng_below(&rng, 2) * 32)
                                            : (uint32_t)rng_next(&rng);
        /* The first packet is whole, with fields of any value. */
        words[0] = SGPU_PACKET_HEADER(rng_below(&rng, 0x25), 2 * rng_below(&rng, 10));
        words[1] = (uint32_t)rng_below(&rng, 4);
        submit(&client, words, sizeof words);
        assert_int_equal(test_state_of(&other), D3DKMT_DEVICEEXECUTION_ACTIVE);
        test_client_close(&client);
    }
    test_expect(seen, MIB, seed);
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

/* A resource that one process has made and another one has opened: its allocation there. */
static D3DKMT_HANDLE share_between(struct test_client *maker, struct test_client *opener)
{
    struct sgpu_umd_allocation data = {
        .version = SGPU_UMD_VERSION, .flags = SGPU_UMD_CPU_VISIBLE, .bytes = MIB};
    D3DDDI_ALLOCATIONINFO2 info = {.pPrivateDriverData = &data,
                                   .PrivateDriverDataSize = sizeof data};
    D3DKMT_CREATEALLOCATION create = {
        .hDevice = maker->device,
        .NumAllocations = 1,
        .pAllocationInfo2 = &info,
        .Flags = {{{.CreateResource = 1, .CreateShared = 1, .NtSecuritySharing = 1}}}};
    D3DDDI_OPENALLOCATIONINFO2 opened = {0};
    D3DKMT_OPENRESOURCEFROMNTHANDLE open = {.hDevice = opener->device,
                                            .NumAllocations = 1,
                                            .pOpenAllocationInfo2 = &opened,
                                            .pTotalPrivateDriverDataBuffer = &data,
                                            .TotalPrivateDriverDataBufferSize = sizeof data};
    THUNK_SHARE_OBJECTS share = {.cObjects = 1, .hObjects = &create.hResource};
    uint64_t named = 0;

    assert_int_equal(TEST_CALL(maker, CreateAllocation2, &create), STATUS_SUCCESS);
    assert_int_equal(test_call_by(maker, D3DKMT_FN_ShareObjects, &share, &named), STATUS_SUCCESS);
    assert_int_equal(test_call_by(opener, D3DKMT_FN_OpenResourceFromNtHandle, &open, &named),
                     STATUS_SUCCESS);
    return opened.hAllocation;
}

/* The same of a fence. */
static D3DKMT_HANDLE share_fence_between(struct test_client *maker, struct test_client *opener)
{
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 create = {.hDevice = maker->device,
                                                  .Info.Type = D3DDDI_MONITORED_FENCE};
    D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 open = {.hDevice = opener->device};
    THUNK_SHARE_OBJECTS share = {.cObjects = 1, .hObjects = &create.hSyncObject};
    uint64_t named = 0;

    create.Info.Flags.Shared = create.Info.Flags.NtSecuritySharing = 1;
    assert_int_equal(TEST_CALL(maker, CreateSynchronizationObject2, &create), STATUS_SUCCESS);
    assert_int_equal(test_call_by(maker, D3DKMT_FN_ShareObjects, &share, &named), STATUS_SUCCESS);
    assert_int_equal(test_call_by(opener, D3DKMT_FN_OpenSyncObjectFromNtHandle2, &open, &named),
                     STATUS_SUCCESS);
    return open.hSyncObject;
}

static void make_and_hear_noise(struct exec_session *session)
{
    static uint64_t seed;
    struct noise *first = NULL, *noise;
    struct test_client client, other;
    struct test_buffer buffers[4], theirs;
    uint64_t calls = 0, succeeded;
    static uint64_t named[20000];
    size_t named_count = 0;
    D3DKMT_HANDLE shared[4];
    uint8_t *seen;
    struct rng rng;

    rng_init(&rng, ++seed);
    test_client_start(&other, session);
    assert_int_equal(test_create(&other, SGPU_UMD_CPU_VISIBLE, MIB, NULL, &theirs), STATUS_SUCCESS);
    seen = test_lock(&other, &theirs);
    test_fill(seen, MIB, seed);
    test_client_start(&client, session);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(
            test_create(&client, i % 2 ? SGPU_UMD_CPU_VISIBLE : 0, MIB, NULL, &buffers[i]),
            STATUS_SUCCESS);
        test_map(&client, &buffers[i], 0);
    }
    shared[0] = share_between(&other, &client);
    shared[1] = share_fence_between(&other, &client);
    shared[2] = share_between(&client, &client);
    shared[3] = share_fence_between(&client, &other);
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
                                    shared[0],
                                    shared[1],
                                    shared[2],
                                    shared[3],
                                    (uint32_t)rng_below(&rng, 4096)};

        noise = calloc(1, sizeof *noise);
        if (!make_noise(noise, &rng, handles, sizeof handles / sizeof handles[0])) {
            free(noise);
            continue;
        }
        noise->call.nt_object = rng_below(&rng, 5);
        noise->call.takes_nt_handle = true;
        if (is_left_out(noise->call.function, &rng) || d3dkmt_call(client.process, &noise->call)) {
            if (noise->call.function == D3DKMT_FN_ShareObjects && noise->call.process &&
                NT_SUCCESS(noise->call.status))
                named[named_count++] = noise->call.nt_object;
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
    test_expect(seen, MIB, seed);
    test_client_close(&other);
    while (named_count)
        d3dkmt_nt_handle_closed(session->front, named[--named_count]);
    for (uint64_t name = 1; name <= 4; name++)
        d3dkmt_nt_handle_closed(session->front, name);
}

static void any_well_formed_call_gets_a_status_and_harms_nobody_else(void **state)
{
    for (unsigned i = 0; i < 4; i++)
        test_on_board(16 * MIB, make_and_hear_noise);
}

/* ---- A process that ends amid a call --------------------------------------------------------- */

/* The memory of a process that has been, as a file. */
static int memory_of_nobody(void)
{
    int ready[2], file;
    char path[64], byte;
    pid_t child;

    assert_int_equal(pipe(ready), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ready[1]);
        _exit(read(ready[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(ready[0]);
    snprintf(path, sizeof path, "/proc/%d/mem", (int)child);
    file = open(path, O_RDWR | O_CLOEXEC);
    assert_true(file >= 0);
    close(ready[1]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    return file;
}

/* It has waited for its copy, and is killed when it has asked for the next and for an eviction. */
static void end_amid_calls(struct exec_session *session)
{
    struct test_client client;
    struct test_buffer a, b;
    uint64_t value;

    test_client_start(&client, session);
    test_resident_buffer(&client, SGPU_UMD_CPU_VISIBLE, MIB, &a);
    test_resident_buffer(&client, SGPU_UMD_CPU_VISIBLE, MIB, &b);
    value = test_copy(&client, b.va, a.va, MIB);
    test_wait_fence(&client, value);
    close(client.memory.memory_file);
    client.memory.memory_file = memory_of_nobody();
    assert_false(client_memory_is_gone(&client.memory));
    test_evict(&client, &b);
    test_copy(&client, b.va, a.va, MIB);
    assert_true(client_memory_is_gone(&client.memory));
    test_let_run(session);
    test_client_close(&client);
    for (unsigned rule = 0; rule < CLIENT_RULE_COUNT; rule++)
        assert_string_equal(test_breaches[rule], "");
}

static void who_has_ended_amid_a_call_is_not_judged_by_memory_that_is_gone(void **state)
{
    test_on_board(16 * MIB, end_amid_calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_of_a_client_reaches_its_own_addresses_only),
        cmocka_unit_test(what_a_client_had_is_zero_for_the_next),
        cmocka_unit_test(a_device_that_cannot_go_holds_nobody_up),
        cmocka_unit_test(work_of_any_bytes_harms_nobody_else),
        cmocka_unit_test(any_well_formed_call_gets_a_status_and_harms_nobody_else),
        cmocka_unit_test(who_has_ended_amid_a_call_is_not_judged_by_memory_that_is_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
