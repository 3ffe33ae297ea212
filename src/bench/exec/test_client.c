#define _GNU_SOURCE
#include "bench/exec/test_client.h"

#include "base/rng.h"
#include "bench/config/run_config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define COMMAND_BYTES (64 * UINT64_C(1024))

static void (*current_test)(struct exec_session *session);

static void hear(void *session, void *memory, unsigned number, uint32_t flags, uint64_t bytes)
{
    struct test_client *client = container_of(memory, struct test_client, memory);

    client->notices++;
    client->notice_number = number;
    client->notice_flags = flags;
    client->notice_bytes = bytes;
}

char test_breaches[CLIENT_RULE_COUNT][256];
unsigned test_told[CLIENT_RULE_COUNT];

static void note_breach(void *context, const struct client_breach *breach)
{
    snprintf(test_breaches[breach->rule], sizeof test_breaches[0], "%s", breach->text);
    test_told[breach->rule]++;
}

unsigned test_told_wrongly(enum client_rule expected, bool is_broken)
{
    unsigned wrong = 0;

    for (enum client_rule rule = 0; rule < CLIENT_RULE_COUNT; rule++) {
        const bool is_told =
            test_breaches[rule][0] && (rule != CLIENT_RULE_LOCK_LEFT || rule == expected);

        if (is_told == (is_broken && rule == expected))
            continue;
        print_error("%s, %s: %s %s %s\n", client_rule_id(expected), is_broken ? "broken" : "kept",
                    client_rule_id(rule), is_told ? "is told:" : "is not told",
                    test_breaches[rule]);
        wrong++;
    }
    return wrong;
}

static void play(void *context, const struct run_board *board)
{
    struct exec_session *session = context;
    const struct seen_source source = exec_session_source(board);
    struct seen seen;

    session->notify = hear;
    seen_init(&seen, &source);
    session->seen = &seen;
    session->rules = client_rules_create(&seen, note_breach, session);
    assert_non_null(session->rules);
    memset(test_breaches, 0, sizeof test_breaches);
    memset(test_told, 0, sizeof test_told);
    assert_int_equal(exec_session_open(session, board), STATUS_SUCCESS);
    current_test(session);
    exec_session_close(session);
    client_rules_destroy(session->rules);
    seen_fini(&seen);
}

static void play_on(uint64_t local_bytes, void (*test)(struct exec_session *session),
                    enum test_faults faults, bool has_queues, unsigned most_files)
{
    struct exec_session session = {.most_files = most_files};
    const struct run_guest guest = {
        .context = &session, .play = play, .device_error = exec_device_error, .trim = exec_trim};
    struct run_result *result = calloc(1, sizeof *result);
    struct run_config config;
    bool is_clean = true;

    assert_non_null(result);
    run_config_defaults(&config);
    config.model = RUN_GPUMMU;
    config.local_bytes = local_bytes;
    config.ram_bytes = UINT64_C(1) << 30;
    config.checks_content = false;
    config.hardware_queues = has_queues;
    config.reference = RUN_REFERENCE_NEVER;
    current_test = test;
    run_execute_guest(&config, &guest, result);
    for (unsigned i = 0; i < result->finding_count; i++) {
        if (faults != TEST_NO_FAULTS && result->findings[i].kind == RUN_FINDING_FAULT)
            continue;
        is_clean = false;
        print_error("finding: %s\n", result->findings[i].text);
    }
    if (!is_clean || (result->outcome != RUN_CLEAN && faults == TEST_NO_FAULTS))
        print_error("outcome %d: %s\n", (int)result->outcome, result->error);
    assert_true(is_clean);
    if (faults == TEST_MUST_FAULT)
        assert_true(result->finding_totals[RUN_FINDING_FAULT] && !result->error[0]);
    else if (faults == TEST_NO_FAULTS)
        assert_int_equal(result->outcome, RUN_CLEAN);
    run_result_fini(result);
    free(result);
}

void test_on_board(uint64_t local_bytes, void (*test)(struct exec_session *session))
{
    play_on(local_bytes, test, TEST_NO_FAULTS, false, 0);
}

void test_on_board_with_faults(uint64_t local_bytes, void (*test)(struct exec_session *session))
{
    play_on(local_bytes, test, TEST_MUST_FAULT, false, 0);
}

void test_on_board_that_may_fault(uint64_t local_bytes, void (*test)(struct exec_session *session))
{
    play_on(local_bytes, test, TEST_MAY_FAULT, false, 0);
}

void test_on_board_with_queues(uint64_t local_bytes, void (*test)(struct exec_session *session),
                               enum test_faults faults)
{
    play_on(local_bytes, test, faults, true, 0);
}

void test_on_board_with_files(uint64_t local_bytes, void (*test)(struct exec_session *session),
                              unsigned most_files)
{
    play_on(local_bytes, test, TEST_NO_FAULTS, false, most_files);
}

/* ---- The client ------------------------------------------------------------------------------ */

static void gone(void *context)
{
    struct test_client *client = context;

    client_memory_close(&client->memory);
    munmap(client->window, CLIENT_WINDOW_BYTES);
    client->is_gone = true;
}

void test_client_open(struct test_client *client, struct exec_session *session)
{
    const D3DKMT_OPENADAPTERFROMLUID wanted = {
        .AdapterLuid = {.LowPart = EXEC_LUID_LOW, .HighPart = EXEC_LUID_HIGH}};
    D3DKMT_OPENADAPTERFROMLUID adapter = wanted;
    const int memory_file = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

    *client = (struct test_client){.session = session};
    assert_int_equal(client_memory_open(&client->memory, session->board->machine), STATUS_SUCCESS);
    client->window = mmap(NULL, CLIENT_WINDOW_BYTES, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_NORESERVE, client_memory_window(&client->memory), 0);
    assert_ptr_not_equal(client->window, MAP_FAILED);
    assert_true(
        client_memory_set(&client->memory, getpid(), (uintptr_t)client->window, memory_file));
    assert_int_equal(d3dkmt_process_create(session->front, &client->memory, &client->process),
                     STATUS_SUCCESS);
    assert_int_equal(TEST_CALL(client, OpenAdapterFromLuid, &adapter), STATUS_SUCCESS);
    client->adapter = adapter.hAdapter;
}

void test_client_close(struct test_client *client)
{
    d3dkmt_process_close(client->process, gone, client);
    while (!client->is_gone)
        assert_true(exec_step(client->session));
}

static void ended(struct d3dkmt_call *call)
{
    *(bool *)call->context = true;
}

NTSTATUS test_call_by(struct test_client *client, enum d3dkmt_function function, void *arguments,
                      uint64_t *nt_object)
{
    bool has_ended = false;
    struct d3dkmt_call call = {.function = function,
                               .arguments = arguments,
                               .ended = ended,
                               .context = &has_ended,
                               .nt_object = *nt_object,
                               .takes_nt_handle = true};

    if (!d3dkmt_call(client->process, &call)) {
        while (!has_ended)
            assert_true(exec_step(client->session));
    }
    *nt_object = call.nt_object;
    return call.status;
}

NTSTATUS test_call(struct test_client *client, enum d3dkmt_function function, void *arguments)
{
    uint64_t none = 0;

    return test_call_by(client, function, arguments, &none);
}

void *test_see(struct test_client *client, void *address)
{
    struct client_view view;

    if (client_memory_find_view(&client->memory, (uintptr_t)address, &view))
        assert_ptr_equal(
            mmap(address, view.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, view.file, 0),
            address);
    return address;
}

void test_let_run(struct exec_session *session)
{
    while (exec_step(session))
        continue;
}

void test_wait_paging(struct test_client *client, uint64_t value)
{
    while (*client->paging_fence < value)
        assert_true(exec_step(client->session));
}

void test_wait_fence(struct test_client *client, uint64_t value)
{
    while (*client->fence_value < value)
        assert_true(exec_step(client->session));
}

void test_hold_queue(struct test_client *client, UINT64 value)
{
    assert_int_equal(TEST_CALL(client, WaitForSynchronizationObjectFromGpu,
                               &((D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU){
                                   .hContext = client->context,
                                   .ObjectCount = 1,
                                   .ObjectHandleArray = &client->fence,
                                   .MonitoredFenceValueArray = &value})),
                     STATUS_SUCCESS);
}

void test_let_go(struct test_client *client, UINT64 value)
{
    client->next_value = value;
    assert_int_equal(
        TEST_CALL(client, SignalSynchronizationObjectFromCpu,
                  &((D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU){.hDevice = client->device,
                                                                .ObjectCount = 1,
                                                                .ObjectHandleArray = &client->fence,
                                                                .FenceValueArray = &value})),
        STATUS_SUCCESS);
}

void test_client_start(struct test_client *client, struct exec_session *session)
{
    D3DKMT_CREATEDEVICE device = {0};
    D3DKMT_CREATEPAGINGQUEUE queue = {0};
    D3DKMT_CREATECONTEXTVIRTUAL context = {.NodeOrdinal = SGPU_NODE_COPY};
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = {.Info.Type = D3DDDI_MONITORED_FENCE};
    struct test_buffer commands;

    test_client_open(client, session);
    device.hAdapter = client->adapter;
    assert_int_equal(TEST_CALL(client, CreateDevice, &device), STATUS_SUCCESS);
    client->device = device.hDevice;
    queue.hDevice = client->device;
    assert_int_equal(TEST_CALL(client, CreatePagingQueue, &queue), STATUS_SUCCESS);
    client->queue = queue.hPagingQueue;
    client->queue_fence = queue.hSyncObject;
    client->paging_fence = queue.FenceValueCPUVirtualAddress;
    context.hDevice = client->device;
    assert_int_equal(TEST_CALL(client, CreateContextVirtual, &context), STATUS_SUCCESS);
    client->context = context.hContext;
    fence.hDevice = client->device;
    assert_int_equal(TEST_CALL(client, CreateSynchronizationObject2, &fence), STATUS_SUCCESS);
    client->fence = fence.hSyncObject;
    client->fence_value = fence.Info.MonitoredFence.FenceValueCPUVirtualAddress;
    client->fence_va = fence.Info.MonitoredFence.FenceValueGPUVirtualAddress;
    assert_int_equal(test_create(client, SGPU_UMD_APERTURE_ONLY | SGPU_UMD_CPU_VISIBLE,
                                 COMMAND_BYTES, NULL, &commands),
                     STATUS_SUCCESS);
    client->commands = commands.handle;
    client->command_memory = test_lock(client, &commands);
    test_map(client, &commands, (uintptr_t)client->command_memory);
    client->command_va = commands.va;
    assert_true(NT_SUCCESS(test_make_resident(client, &commands)));
}

/* ---- Allocations ----------------------------------------------------------------------------- */

NTSTATUS test_create(struct test_client *client, uint32_t flags, uint64_t bytes, const void *memory,
                     struct test_buffer *out_buffer)
{
    struct sgpu_umd_allocation data = {.version = SGPU_UMD_VERSION, .flags = flags, .bytes = bytes};
    D3DDDI_ALLOCATIONINFO2 info = {
        .pSystemMem = memory, .pPrivateDriverData = &data, .PrivateDriverDataSize = sizeof data};
    D3DKMT_CREATEALLOCATION create = {
        .hDevice = client->device, .NumAllocations = 1, .pAllocationInfo2 = &info};
    NTSTATUS status = TEST_CALL(client, CreateAllocation2, &create);

    *out_buffer = (struct test_buffer){.handle = info.hAllocation, .bytes = bytes};
    return status;
}

D3DKMT_HANDLE test_create_resource(struct test_client *client, unsigned count, uint64_t bytes,
                                   struct test_buffer *out_buffers)
{
    struct sgpu_umd_allocation data = {
        .version = SGPU_UMD_VERSION, .flags = SGPU_UMD_NO_APERTURE, .bytes = bytes};
    D3DDDI_ALLOCATIONINFO2 infos[4];
    D3DKMT_CREATEALLOCATION create = {.hDevice = client->device,
                                      .NumAllocations = count,
                                      .pAllocationInfo2 = infos,
                                      .Flags = {.CreateResource = 1}};

    assert_true(count <= 4);
    for (unsigned i = 0; i < count; i++)
        infos[i] = (D3DDDI_ALLOCATIONINFO2){.pPrivateDriverData = &data,
                                            .PrivateDriverDataSize = sizeof data};
    assert_int_equal(TEST_CALL(client, CreateAllocation2, &create), STATUS_SUCCESS);
    for (unsigned i = 0; i < count; i++)
        out_buffers[i] = (struct test_buffer){.handle = infos[i].hAllocation, .bytes = bytes};
    return create.hResource;
}

void test_map(struct test_client *client, struct test_buffer *buffer, uint64_t va)
{
    D3DDDI_MAPGPUVIRTUALADDRESS map = {
        .hPagingQueue = client->queue,
        .BaseAddress = va,
        .hAllocation = buffer->handle,
        .SizeInPages = buffer->bytes / 4096,
        .Protection = {.Write = 1},
    };

    assert_int_equal(TEST_CALL(client, MapGpuVirtualAddress, &map), STATUS_PENDING);
    assert_true(!va || map.VirtualAddress == va);
    buffer->va = map.VirtualAddress;
    test_wait_paging(client, map.PagingFenceValue);
}

NTSTATUS test_make_resident(struct test_client *client, const struct test_buffer *buffer)
{
    D3DDDI_MAKERESIDENT resident = {
        .hPagingQueue = client->queue, .NumAllocations = 1, .AllocationList = &buffer->handle};
    NTSTATUS status = TEST_CALL(client, MakeResident, &resident);

    if (status == STATUS_PENDING)
        test_wait_paging(client, resident.PagingFenceValue);
    return status;
}

NTSTATUS test_evict(struct test_client *client, const struct test_buffer *buffer)
{
    D3DKMT_EVICT evict = {
        .hDevice = client->device, .NumAllocations = 1, .AllocationList = &buffer->handle};

    return TEST_CALL(client, Evict, &evict);
}

void test_destroy(struct test_client *client, const struct test_buffer *buffer)
{
    D3DKMT_DESTROYALLOCATION2 destroy = {.hDevice = client->device,
                                         .phAllocationList = &buffer->handle,
                                         .AllocationCount = 1,
                                         .Flags = {{{.AssumeNotInUse = 1}}}};

    assert_int_equal(TEST_CALL(client, DestroyAllocation2, &destroy), STATUS_SUCCESS);
}

void *test_lock(struct test_client *client, const struct test_buffer *buffer)
{
    D3DKMT_LOCK2 lock = {.hDevice = client->device, .hAllocation = buffer->handle};

    assert_int_equal(TEST_CALL(client, Lock2, &lock), STATUS_SUCCESS);
    assert_non_null(lock.pData);
    return test_see(client, lock.pData);
}

uint64_t test_copy(struct test_client *client, uint64_t to_va, uint64_t from_va, uint64_t bytes)
{
    struct {
        struct sgpu_packet_copy copy;
        struct sgpu_packet_fence fence;
    } packets = {
        .copy = {.header = SGPU_PACKET_HEADER(SGPU_OP_COPY, sizeof packets.copy / 4),
                 .source = from_va,
                 .destination = to_va,
                 .bytes = bytes},
        .fence = {.header = SGPU_PACKET_HEADER(SGPU_OP_FENCE, sizeof packets.fence / 4),
                  .address = client->fence_va,
                  .value = ++client->next_value},
    };
    D3DKMT_SUBMITCOMMAND submit = {.CommandLength = sizeof packets, .BroadcastContextCount = 1};
    const uint64_t at = client->command_head;

    client->command_head = (at + align_up(sizeof packets, SGPU_SUBMIT_ALIGN)) % COMMAND_BYTES;
    memcpy(client->command_memory + at, &packets, sizeof packets);
    submit.Commands = client->command_va + at;
    submit.BroadcastContext[0] = client->context;
    assert_int_equal(TEST_CALL(client, SubmitCommand, &submit), STATUS_SUCCESS);
    return client->next_value;
}

void test_resident_buffer(struct test_client *client, uint32_t flags, uint64_t bytes,
                          struct test_buffer *out_buffer)
{
    assert_int_equal(test_create(client, flags, bytes, NULL, out_buffer), STATUS_SUCCESS);
    test_map(client, out_buffer, 0);
    assert_true(NT_SUCCESS(test_make_resident(client, out_buffer)));
}

D3DKMT_HANDLE test_make_context(struct test_client *client, bool for_queues)
{
    D3DKMT_CREATECONTEXTVIRTUAL create = {.NodeOrdinal = SGPU_NODE_RENDER};

    create.hDevice = client->device;
    create.Flags.HwQueueSupported = for_queues;
    assert_int_equal(TEST_CALL(client, CreateContextVirtual, &create), STATUS_SUCCESS);
    return create.hContext;
}

NTSTATUS test_make_queue(struct test_client *client, D3DKMT_HANDLE context, UINT flags,
                         D3DKMT_CREATEHWQUEUE *out_queue)
{
    *out_queue = (D3DKMT_CREATEHWQUEUE){.hHwContext = context};
    out_queue->Flags.Value = flags;
    return TEST_CALL(client, CreateHwQueue, out_queue);
}

D3DKMT_DEVICEEXECUTION_STATE test_state_of(struct test_client *client)
{
    D3DKMT_GETDEVICESTATE state = {.hDevice = client->device,
                                   .StateType = D3DKMT_DEVICESTATE_EXECUTION};

    assert_int_equal(TEST_CALL(client, GetDeviceState, &state), STATUS_SUCCESS);
    return state.ExecutionState;
}

void test_fill(uint8_t *memory, uint64_t bytes, uint64_t seed)
{
    struct rng rng;

    rng_init(&rng, seed);
    for (uint64_t i = 0; i < bytes; i += 8) {
        const uint64_t word = rng_next(&rng);

        memcpy(memory + i, &word, 8);
    }
}

void test_expect(const uint8_t *memory, uint64_t bytes, uint64_t seed)
{
    uint8_t *expected = malloc(bytes);

    test_fill(expected, bytes, seed);
    assert_memory_equal(memory, expected, bytes);
    free(expected);
}
