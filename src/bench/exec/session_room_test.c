/*
 * Clients that share memory which is too small: who waits, who gives way, budgets, offers.
 */
#include "bench/exec/test_client.h"

#include <stdlib.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

/* ---- No room --------------------------------------------------------------------------------- */

static D3DDDI_MAKERESIDENT ask_for(struct test_client *client, const struct test_buffer *buffer,
                                   NTSTATUS expected)
{
    D3DDDI_MAKERESIDENT resident = {.hPagingQueue = client->queue,
                                    .NumAllocations = 1,
                                    .AllocationList = &buffer->handle,
                                    .Flags = {{{.CantTrimFurther = 1}}}};

    assert_int_equal(TEST_CALL(client, MakeResident, &resident), expected);
    test_let_run(client->session);
    return resident;
}

static void starve(struct exec_session *session)
{
    struct test_client client, other;
    struct test_buffer first, second, theirs;
    D3DDDI_MAKERESIDENT resident;

    test_client_start(&client, session);
    test_client_start(&other, session);
    assert_int_equal(test_create(&client, SGPU_UMD_NO_APERTURE, 10 * MIB, NULL, &first),
                     STATUS_SUCCESS);
    assert_int_equal(test_create(&client, SGPU_UMD_NO_APERTURE, 10 * MIB, NULL, &second),
                     STATUS_SUCCESS);
    assert_int_equal(test_create(&other, SGPU_UMD_NO_APERTURE, 10 * MIB, NULL, &theirs),
                     STATUS_SUCCESS);
    resident = ask_for(&client, &first, STATUS_PENDING);
    assert_true(*client.paging_fence >= resident.PagingFenceValue);
    /* Another process waits for room, and gets it when the first one gives it up. */
    resident = ask_for(&other, &theirs, STATUS_PENDING);
    assert_true(*other.paging_fence < resident.PagingFenceValue);
    assert_int_equal(test_evict(&client, &first), STATUS_SUCCESS);
    test_wait_paging(&other, resident.PagingFenceValue);
    assert_int_equal(test_state_of(&other), D3DKMT_DEVICEEXECUTION_ACTIVE);
    /* What is destroyed while it waits costs no device. */
    resident = ask_for(&client, &second, STATUS_PENDING);
    assert_true(*client.paging_fence < resident.PagingFenceValue);
    test_destroy(&client, &second);
    test_wait_paging(&client, resident.PagingFenceValue);
    assert_int_equal(test_state_of(&client), D3DKMT_DEVICEEXECUTION_ACTIVE);
    /* Nobody gives anything up: the device is lost, and its fences say so. */
    resident = ask_for(&client, &first, STATUS_PENDING);
    assert_true(*client.paging_fence < resident.PagingFenceValue);
    assert_true(d3dkmt_give_up(session->front));
    assert_false(d3dkmt_give_up(session->front));
    test_wait_paging(&client, resident.PagingFenceValue);
    assert_int_equal(test_state_of(&client), D3DKMT_DEVICEEXECUTION_ERROR_OUTOFMEMORY);
    assert_true(*client.fence_value == UINT64_MAX);
    assert_int_equal(test_state_of(&other), D3DKMT_DEVICEEXECUTION_ACTIVE);
    /* A process that goes while it waits. */
    test_client_close(&client);
    test_client_start(&client, session);
    assert_int_equal(test_create(&client, SGPU_UMD_NO_APERTURE, 10 * MIB, NULL, &first),
                     STATUS_SUCCESS);
    ask_for(&client, &first, STATUS_PENDING);
    test_client_close(&client);
    test_client_close(&other);
}

static void who_finds_no_room_waits_until_somebody_gives_some_up(void **state)
{
    test_on_board(16 * MIB, starve);
}

/* ---- Budgets, demotion, offers --------------------------------------------------------------- */

static D3DKMT_QUERYVIDEOMEMORYINFO budget_of(struct test_client *client)
{
    D3DKMT_QUERYVIDEOMEMORYINFO info = {.hAdapter = client->adapter,
                                        .MemorySegmentGroup = D3DKMT_MEMORY_SEGMENT_GROUP_LOCAL};

    assert_int_equal(TEST_CALL(client, QueryVideoMemoryInfo, &info), STATUS_SUCCESS);
    return info;
}

static NTSTATUS reserve(struct test_client *client, uint64_t bytes)
{
    D3DKMT_CHANGEVIDEOMEMORYRESERVATION change = {.hAdapter = client->adapter,
                                                  .MemorySegmentGroup =
                                                      D3DKMT_MEMORY_SEGMENT_GROUP_LOCAL,
                                                  .Reservation = bytes};

    return TEST_CALL(client, ChangeVideoMemoryReservation, &change);
}

static NTSTATUS ask(struct test_client *client, D3DKMT_QUERYSTATISTICS_TYPE type, unsigned id,
                    D3DKMT_QUERYSTATISTICS *out)
{
    memset(out, 0x5a, sizeof *out);
    out->Type = type;
    out->AdapterLuid = (LUID){.LowPart = EXEC_LUID_LOW, .HighPart = EXEC_LUID_HIGH};
    out->hProcess = NULL;
    out->QuerySegment.SegmentId = id;
    return TEST_CALL(client, QueryStatistics, out);
}

/* Of all memory segments, in all and of the client's. */
static uint64_t local_in_use(struct test_client *client, uint64_t *out_own)
{
    D3DKMT_QUERYSTATISTICS query;
    uint64_t bytes = 0;
    unsigned apertures = 0;
    ULONG count;

    assert_int_equal(ask(client, D3DKMT_QUERYSTATISTICS_ADAPTER, 0, &query), STATUS_SUCCESS);
    count = query.QueryResult.AdapterInformation.NbSegments;
    assert_true(count > 0 && query.QueryResult.AdapterInformation.NodeCount == 2);
    assert_int_equal(query.QueryResult.AdapterInformation.Reserved[6], 0);
    *out_own = 0;
    for (ULONG id = 0; id < count; id++) {
        assert_int_equal(ask(client, D3DKMT_QUERYSTATISTICS_SEGMENT, id, &query), STATUS_SUCCESS);
        assert_true(query.QueryResult.SegmentInformation.CommitLimit > 0);
        apertures += query.QueryResult.SegmentInformation.Aperture != 0;
        if (query.QueryResult.SegmentInformation.Aperture)
            continue;
        bytes += query.QueryResult.SegmentInformation.BytesResident;
        assert_true(query.QueryResult.SegmentInformation.CommitLimit >= bytes);
        assert_int_equal(ask(client, D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT, id, &query),
                         STATUS_SUCCESS);
        *out_own += query.QueryResult.ProcessSegmentInformation.BytesCommitted;
    }
    assert_int_equal(apertures, 1); /* the last one is among them */
    assert_int_equal(ask(client, D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT, count, &query),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(ask(client, D3DKMT_QUERYSTATISTICS_SEGMENT, count, &query),
                     STATUS_INVALID_PARAMETER);
    return bytes;
}

static NTSTATUS ask_adapter(struct test_client *client, KMTQUERYADAPTERINFOTYPE type, void *data,
                            UINT bytes)
{
    return TEST_CALL(client, QueryAdapterInfo,
                     &((D3DKMT_QUERYADAPTERINFO){.hAdapter = client->adapter,
                                                 .Type = type,
                                                 .pPrivateDriverData = data,
                                                 .PrivateDriverDataSize = bytes}));
}

/* What a Vulkan driver asks before it makes a device. */
static void know_the_board(struct exec_session *session)
{
    struct test_client client;
    D3DKMT_QUERY_DEVICE_IDS ids = {0};
    D3DKMT_ADAPTERADDRESS address;
    D3DKMT_WSL_NODEMETADATA node = {.NodeOrdinalAndAdapterIndex = 1};
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = {.Info.Type = D3DDDI_MONITORED_FENCE};

    test_client_start(&client, session);
    assert_int_equal(ask_adapter(&client, KMTQAITYPE_PHYSICALADAPTERDEVICEIDS, &ids, sizeof ids),
                     STATUS_SUCCESS);
    assert_int_equal(ids.DeviceIds.VendorID, MACHINE_PCI_NO_VENDOR);
    assert_int_equal(ids.DeviceIds.DeviceID, MACHINE_PCI_NO_DEVICE);
    assert_int_equal(ids.DeviceIds.BusType, PCIBus);
    assert_int_equal(
        ask_adapter(&client, KMTQAITYPE_PHYSICALADAPTERDEVICEIDS, &ids, sizeof ids - 1),
        STATUS_BUFFER_TOO_SMALL);
    ids.PhysicalAdapterIndex = 1;
    assert_int_equal(ask_adapter(&client, KMTQAITYPE_PHYSICALADAPTERDEVICEIDS, &ids, sizeof ids),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(ask_adapter(&client, KMTQAITYPE_ADAPTERADDRESS, &address, sizeof address),
                     STATUS_SUCCESS);
    assert_int_equal(address.BusNumber, 1);
    assert_int_equal(address.DeviceNumber + address.FunctionNumber, 0);
    assert_int_equal(ask_adapter(&client, KMTQAITYPE_ADAPTERADDRESS, &address, 8),
                     STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(ask_adapter(&client, KMTQAITYPE_NODEMETADATA, &node, sizeof node),
                     STATUS_SUCCESS);
    assert_int_equal(node.NodeData.EngineType, DXGK_ENGINE_TYPE_COPY);
    assert_int_equal(node.NodeData.GpuMmuSupported, 1);
    assert_int_equal(ask_adapter(&client, KMTQAITYPE_NODEMETADATA, &node, sizeof node - 1),
                     STATUS_BUFFER_TOO_SMALL);
    node.NodeOrdinalAndAdapterIndex = 2;
    assert_int_equal(ask_adapter(&client, KMTQAITYPE_NODEMETADATA, &node, sizeof node),
                     STATUS_INVALID_PARAMETER);
    node.NodeOrdinalAndAdapterIndex = 1 << 16;
    assert_int_equal(ask_adapter(&client, KMTQAITYPE_NODEMETADATA, &node, sizeof node),
                     STATUS_INVALID_PARAMETER);
    /* Fences that could be shared are fences like others. */
    fence.hDevice = client.device;
    fence.Info.Flags.Shared = 1;
    fence.Info.Flags.NtSecuritySharing = 1;
    assert_int_equal(TEST_CALL(&client, CreateSynchronizationObject2, &fence), STATUS_SUCCESS);
    assert_int_equal(TEST_CALL(&client, DestroySynchronizationObject,
                               &((D3DKMT_DESTROYSYNCHRONIZATIONOBJECT){fence.hSyncObject})),
                     STATUS_SUCCESS);
    test_client_close(&client);
}

static void the_board_is_told(void **state)
{
    test_on_board(16 * MIB, know_the_board);
}

static void count(struct exec_session *session)
{
    struct test_client a, b;
    struct test_buffer buffer;
    D3DKMT_QUERYSTATISTICS query;
    D3DKMT_QUERYCLOCKCALIBRATION clock = {0}, later;
    uint64_t before, own, other;

    test_client_start(&a, session);
    test_client_start(&b, session);
    before = local_in_use(&a, &own);
    other = own;
    assert_int_equal(test_create(&a, SGPU_UMD_NO_APERTURE, 3 * MIB, NULL, &buffer), STATUS_SUCCESS);
    ask_for(&a, &buffer, STATUS_PENDING);
    test_let_run(session);
    assert_true(local_in_use(&a, &own) >= before + 3 * MIB);
    assert_int_equal(own, other + 3 * MIB);
    assert_true(local_in_use(&b, &other) >= before + 3 * MIB);
    assert_true(other < 3 * MIB); /* what is another's is none of its own */
    assert_int_equal(ask(&a, D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT_GROUP,
                         D3DKMT_MEMORY_SEGMENT_GROUP_LOCAL, &query),
                     STATUS_SUCCESS);
    assert_int_equal(query.QueryResult.ProcessSegmentGroupInformation.Budget, budget_of(&a).Budget);
    assert_int_equal(query.QueryResult.ProcessSegmentGroupInformation.Usage,
                     budget_of(&a).CurrentUsage);
    assert_int_equal(ask(&a, D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT_GROUP, 2, &query),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(ask(&a, D3DKMT_QUERYSTATISTICS_VIDPNSOURCE, 0, &query), STATUS_NOT_SUPPORTED);
    assert_int_equal(ask(&a, 11, 0, &query), STATUS_INVALID_PARAMETER);
    query.Type = D3DKMT_QUERYSTATISTICS_ADAPTER;
    query.AdapterLuid.LowPart++;
    assert_int_equal(TEST_CALL(&a, QueryStatistics, &query), STATUS_INVALID_PARAMETER);

    clock.hAdapter = a.adapter;
    clock.NodeOrdinal = 1;
    assert_int_equal(TEST_CALL(&a, QueryClockCalibration, &clock), STATUS_SUCCESS);
    later = clock;
    assert_int_equal(TEST_CALL(&a, QueryClockCalibration, &later), STATUS_SUCCESS);
    assert_int_equal(clock.ClockData.GpuFrequency, SGPU_CLOCK_HZ);
    assert_true(later.ClockData.GpuClockCounter >= clock.ClockData.GpuClockCounter);
    assert_true(later.ClockData.CpuClockCounter >= clock.ClockData.CpuClockCounter);
    clock.NodeOrdinal = 2;
    assert_int_equal(TEST_CALL(&a, QueryClockCalibration, &clock), STATUS_INVALID_PARAMETER);
    test_client_close(&a);
    test_client_close(&b);
}

static void statistics_and_clocks_are_told(void **state)
{
    test_on_board(16 * MIB, count);
}

typedef D3DKMT_QUERYSTATISTICS_PROCESS_NODE_INFORMATION node_information;

static node_information own_part(struct test_client *client, unsigned node)
{
    D3DKMT_QUERYSTATISTICS query;

    assert_int_equal(ask(client, D3DKMT_QUERYSTATISTICS_PROCESS_NODE, node, &query),
                     STATUS_SUCCESS);
    return query.QueryResult.ProcessNodeInformation;
}

static D3DKMT_QUERYSTATISTICS_NODE_INFORMATION all_of(struct test_client *client, unsigned node)
{
    D3DKMT_QUERYSTATISTICS query;

    assert_int_equal(ask(client, D3DKMT_QUERYSTATISTICS_NODE, node, &query), STATUS_SUCCESS);
    return query.QueryResult.NodeInformation;
}

#define WORK(information) (&(information).PacketStatistics.DmaPacket[D3DKMT_ClientRenderBuffer])

/* Three copies of one and six of the other, in turns of three, on the clients' node. */
static void count_nodes(struct exec_session *session)
{
    struct test_client clients[2];
    struct test_buffer from[2], to[2];
    D3DKMT_QUERYSTATISTICS_NODE_INFORMATION before, after;
    node_information own[2], other;
    D3DKMT_QUERYSTATISTICS query;
    uint64_t began_ns, elapsed_us;

    for (unsigned i = 0; i < 2; i++) {
        test_client_start(&clients[i], session);
        test_resident_buffer(&clients[i], 0, MIB, &from[i]);
        test_resident_buffer(&clients[i], 0, MIB, &to[i]);
    }
    test_let_run(session);
    before = all_of(&clients[0], SGPU_NODE_COPY);
    assert_int_equal(own_part(&clients[0], SGPU_NODE_COPY).RunningTime.QuadPart, 0);
    assert_int_equal(own_part(&clients[0], SGPU_NODE_COPY).ContextSwitch, 0);
    began_ns = machine_now(session->board->machine);
    for (unsigned turn = 0; turn < 3; turn++) {
        const unsigned i = turn != 1;

        for (unsigned k = 0; k < 3; k++)
            test_wait_fence(&clients[i], test_copy(&clients[i], to[i].va, from[i].va, MIB));
    }
    test_let_run(session); /* what the fence tells of has ended for the manager, too */
    elapsed_us = (machine_now(session->board->machine) - began_ns) / 1000;
    for (unsigned i = 0; i < 2; i++) {
        own[i] = own_part(&clients[i], SGPU_NODE_COPY);
        assert_int_equal(WORK(own[i])->PacketSubmited, 3 * (i + 1));
        assert_int_equal(WORK(own[i])->PacketCompleted, 3 * (i + 1));
        assert_int_equal(WORK(own[i])->PacketFaulted + WORK(own[i])->PacketPreempted, 0);
        assert_int_equal(own[i].ContextSwitch, i + 1);
        assert_int_equal(
            own[i].PacketStatistics.DmaPacket[D3DKMT_SystemPagingBuffer].PacketSubmited, 0);
        assert_int_equal(
            own[i].PacketStatistics.QueuePacket[D3DKMT_RenderCommandBuffer].PacketCompleted,
            3 * (i + 1));
    }
    /* Twice as many take about twice as long, and both no longer than time has passed. */
    assert_true(own[0].RunningTime.QuadPart > 0);
    assert_in_range(own[1].RunningTime.QuadPart, 3 * own[0].RunningTime.QuadPart / 2,
                    5 * own[0].RunningTime.QuadPart / 2);
    assert_true((uint64_t)(own[0].RunningTime.QuadPart + own[1].RunningTime.QuadPart) <=
                elapsed_us + 1);
    after = all_of(&clients[0], SGPU_NODE_COPY);
    assert_in_range(after.GlobalInformation.RunningTime.QuadPart -
                        before.GlobalInformation.RunningTime.QuadPart,
                    own[0].RunningTime.QuadPart + own[1].RunningTime.QuadPart,
                    own[0].RunningTime.QuadPart + own[1].RunningTime.QuadPart + 2);
    assert_int_equal(WORK(after.GlobalInformation)->PacketCompleted,
                     WORK(before.GlobalInformation)->PacketCompleted + 9);
    assert_int_equal(after.GlobalInformation.ContextSwitch,
                     before.GlobalInformation.ContextSwitch + 3);
    assert_int_equal(WORK(after.SystemInformation)->PacketSubmited, 0);
    /* What the system has done before for them is nobody's; the other node has done nothing. */
    assert_true(after.SystemInformation.PacketStatistics.DmaPacket[D3DKMT_SystemPagingBuffer]
                    .PacketCompleted > 0);
    assert_true(after.SystemInformation.RunningTime.QuadPart > 0);
    assert_memory_equal(&after.SystemInformation, &before.SystemInformation,
                        sizeof before.SystemInformation);
    other = own_part(&clients[0], SGPU_NODE_RENDER);
    assert_int_equal(WORK(other)->PacketSubmited, 0);
    assert_int_equal(all_of(&clients[0], SGPU_NODE_RENDER).GlobalInformation.RunningTime.QuadPart,
                     0);
    assert_int_equal(ask(&clients[0], D3DKMT_QUERYSTATISTICS_NODE, 2, &query),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(ask(&clients[0], D3DKMT_QUERYSTATISTICS_PROCESS_NODE, 2, &query),
                     STATUS_INVALID_PARAMETER);
    test_client_close(&clients[0]);
    test_client_close(&clients[1]);
}

static void what_nodes_have_done_is_told(void **state)
{
    test_on_board(16 * MIB, count_nodes);
}

static void budgets(struct exec_session *session)
{
    struct test_client a, b;
    struct test_buffer buffers[4];
    D3DKMT_REGISTERTRIMNOTIFICATION registration = {
        .AdapterLuid = {.LowPart = EXEC_LUID_LOW, .HighPart = EXEC_LUID_HIGH}};
    D3DKMT_UNREGISTERTRIMNOTIFICATION end = {0};
    D3DDDI_MAKERESIDENT resident = {.NumAllocations = 1};
    uint64_t whole, usage;
    unsigned notices;

    test_client_start(&a, session);
    whole = budget_of(&a).Budget;
    assert_true(whole > 12 * MIB && whole <= 16 * MIB);
    registration.hDevice = a.device;
    assert_int_equal(TEST_CALL(&a, RegisterTrimNotification, &registration), STATUS_SUCCESS);
    assert_non_null(registration.Handle);
    usage = budget_of(&a).CurrentUsage;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(test_create(&a, SGPU_UMD_NO_APERTURE, 4 * MIB, NULL, &buffers[i]),
                         STATUS_SUCCESS);
        test_map(&a, &buffers[i], 0);
        assert_true(NT_SUCCESS(test_make_resident(&a, &buffers[i])));
    }
    assert_int_equal(budget_of(&a).CurrentUsage, usage + 12 * MIB);
    /* Alone it may have everything, and no more: what it would have to trim is said exactly. */
    assert_int_equal(test_create(&a, SGPU_UMD_NO_APERTURE, 8 * MIB, NULL, &buffers[3]),
                     STATUS_SUCCESS);
    resident.hPagingQueue = a.queue;
    resident.AllocationList = &buffers[3].handle;
    assert_int_equal(TEST_CALL(&a, MakeResident, &resident), STATUS_GRAPHICS_NO_VIDEO_MEMORY);
    assert_true(resident.NumBytesToTrim >= 20 * MIB - whole &&
                resident.NumBytesToTrim <= 20 * MIB - whole + MIB);
    assert_int_equal(resident.PagingFenceValue, 0);
    assert_int_equal(a.notices, 0);
    /* A second process halves it, and the first one is asked to trim. */
    test_client_start(&b, session);
    assert_int_equal(budget_of(&a).Budget, whole / 2);
    assert_int_equal(budget_of(&b).Budget, whole / 2);
    assert_int_equal(a.notices, 1);
    assert_int_equal(a.notice_flags, 4); /* TrimToBudget */
    assert_int_equal(a.notice_number + 1, (uintptr_t)registration.Handle);
    assert_true(a.notice_bytes >= 12 * MIB - whole / 2);
    /* Reservations: at most half of it in all; budgets follow. */
    assert_int_equal(budget_of(&b).AvailableForReservation, whole / 2);
    assert_int_equal(reserve(&b, whole / 2 + 1), STATUS_INVALID_PARAMETER);
    assert_int_equal(reserve(&b, 4 * MIB), STATUS_SUCCESS);
    assert_int_equal(budget_of(&b).CurrentReservation, 4 * MIB);
    assert_int_equal(budget_of(&b).Budget, 4 * MIB + (whole - 4 * MIB) / 2);
    assert_int_equal(budget_of(&a).Budget, (whole - 4 * MIB) / 2);
    assert_int_equal(budget_of(&a).AvailableForReservation, whole / 2 - 4 * MIB);
    /* It trims: no more notices, and everything again when the other one goes. */
    assert_int_equal(test_evict(&a, &buffers[0]), STATUS_SUCCESS);
    assert_int_equal(test_evict(&a, &buffers[1]), STATUS_SUCCESS);
    notices = a.notices;
    assert_true(notices <= 2); /* the second one for the reservation */
    assert_true(d3dkmt_wants_trims(session->front));
    d3dkmt_trim_periodically(session->front);
    assert_int_equal(a.notices, notices + 1);
    assert_int_equal(a.notice_flags, 1); /* PeriodicTrim */
    test_client_close(&b);
    assert_int_equal(budget_of(&a).Budget, whole);
    end.Handle = registration.Handle;
    assert_int_equal(TEST_CALL(&a, UnregisterTrimNotification, &end), STATUS_SUCCESS);
    assert_int_equal(TEST_CALL(&a, UnregisterTrimNotification, &end), STATUS_INVALID_PARAMETER);
    assert_false(d3dkmt_wants_trims(session->front));
    test_client_close(&a);
}

/* A process without a device has no share, and all of the group as its budget: both calls say so.
 */
static void ask_before_a_device(struct exec_session *session)
{
    D3DKMT_QUERYSTATISTICS query;
    struct test_client client;

    test_client_open(&client, session);
    assert_int_equal(ask(&client, D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT_GROUP,
                         D3DKMT_MEMORY_SEGMENT_GROUP_LOCAL, &query),
                     STATUS_SUCCESS);
    assert_true(budget_of(&client).Budget > 0);
    assert_int_equal(query.QueryResult.ProcessSegmentGroupInformation.Budget,
                     budget_of(&client).Budget);
    test_client_close(&client);
}

static void two_calls_tell_one_budget_before_there_is_a_device(void **state)
{
    test_on_board(16 * MIB, ask_before_a_device);
}

static void budgets_follow_processes_and_reservations(void **state)
{
    test_on_board(16 * MIB, budgets);
}

static void counts_of_residency(struct exec_session *session)
{
    struct test_client client;
    struct test_buffer buffer;
    D3DKMT_HANDLE twice[2];
    D3DDDI_MAKERESIDENT resident = {.NumAllocations = 2, .AllocationList = twice};
    D3DKMT_EVICT evict = {.NumAllocations = 2, .AllocationList = twice};
    uint64_t before;

    test_client_start(&client, session);
    assert_int_equal(test_create(&client, SGPU_UMD_NO_APERTURE, MIB, NULL, &buffer),
                     STATUS_SUCCESS);
    test_map(&client, &buffer, 0);
    before = *client.paging_fence;
    twice[0] = twice[1] = buffer.handle;
    resident.hPagingQueue = client.queue;
    evict.hDevice = client.device;
    /* Named twice it has two references; pending, its fence comes when it is there. */
    assert_int_equal(TEST_CALL(&client, MakeResident, &resident), STATUS_PENDING);
    assert_true(resident.PagingFenceValue > before);
    test_wait_paging(&client, resident.PagingFenceValue);
    assert_int_equal(test_make_resident(&client, &buffer), STATUS_SUCCESS); /* is there: no wait */
    assert_int_equal(TEST_CALL(&client, Evict, &evict), STATUS_SUCCESS);
    assert_int_equal(TEST_CALL(&client, Evict, &evict), STATUS_INVALID_PARAMETER);
    assert_int_equal(test_evict(&client, &buffer), STATUS_SUCCESS);
    assert_int_equal(test_evict(&client, &buffer), STATUS_INVALID_PARAMETER);
    test_client_close(&client);
}

static void references_are_counted_and_none_is_given_back_twice(void **state)
{
    test_on_board(16 * MIB, counts_of_residency);
}

static void fill_buffer(struct test_client *client, const struct test_buffer *to,
                        const struct test_buffer *host, uint8_t *memory, uint64_t seed)
{
    test_fill(memory, to->bytes, seed);
    test_wait_fence(client, test_copy(client, to->va, host->va, to->bytes));
}

/* 10 MiB each in 16: one has to give way to the other again and again, and loses nothing. */
static void taking_turns(struct exec_session *session)
{
    const uint64_t bytes = 10 * MIB;
    struct test_client clients[2];
    struct test_buffer buffers[2], hosts[2];
    uint8_t *memory[2];
    D3DDDI_MAKERESIDENT resident;

    for (unsigned i = 0; i < 2; i++) {
        test_client_start(&clients[i], session);
        memory[i] = aligned_alloc(65536, bytes);
        assert_int_equal(test_create(&clients[i], SGPU_UMD_NO_APERTURE, bytes, NULL, &buffers[i]),
                         STATUS_SUCCESS);
        test_map(&clients[i], &buffers[i], 0);
        assert_int_equal(test_create(&clients[i], SGPU_UMD_EXISTING | SGPU_UMD_APERTURE_ONLY, bytes,
                                     memory[i], &hosts[i]),
                         STATUS_SUCCESS);
        test_map(&clients[i], &hosts[i], 0);
        assert_true(NT_SUCCESS(test_make_resident(&clients[i], &hosts[i])));
    }
    /* More than its budget: by the way of who cannot trim. */
    assert_int_equal(test_make_resident(&clients[0], &buffers[0]), STATUS_GRAPHICS_NO_VIDEO_MEMORY);
    resident = ask_for(&clients[0], &buffers[0], STATUS_PENDING);
    test_wait_paging(&clients[0], resident.PagingFenceValue);
    fill_buffer(&clients[0], &buffers[0], &hosts[0], memory[0], 1);
    assert_false(d3dkmt_demote(session->front)); /* for nobody */
    resident = ask_for(&clients[1], &buffers[1], STATUS_PENDING);
    assert_true(*clients[1].paging_fence < resident.PagingFenceValue);
    assert_true(d3dkmt_demote(session->front));
    test_wait_paging(&clients[1], resident.PagingFenceValue);
    fill_buffer(&clients[1], &buffers[1], &hosts[1], memory[1], 2);
    /* The first one's work waits until it has its memory again. */
    memset(memory[0], 0, bytes);
    const uint64_t value = test_copy(&clients[0], hosts[0].va, buffers[0].va, bytes);
    test_let_run(session);
    assert_true(*clients[0].fence_value < value);
    assert_true(d3dkmt_demote(session->front));
    test_wait_fence(&clients[0], value);
    test_expect(memory[0], bytes, 1);
    /* Now the second one is out; it evicts by itself, and asks again. */
    assert_int_equal(test_evict(&clients[1], &buffers[1]), STATUS_SUCCESS);
    assert_int_equal(test_evict(&clients[1], &buffers[1]), STATUS_INVALID_PARAMETER);
    test_let_run(session);
    resident = ask_for(&clients[1], &buffers[1], STATUS_PENDING);
    assert_true(*clients[1].paging_fence < resident.PagingFenceValue);
    /* The first one goes while it is suspended. */
    assert_true(d3dkmt_demote(session->front));
    test_wait_paging(&clients[1], resident.PagingFenceValue);
    test_client_close(&clients[0]);
    memset(memory[1], 0, bytes);
    test_wait_fence(&clients[1], test_copy(&clients[1], hosts[1].va, buffers[1].va, bytes));
    test_expect(memory[1], bytes, 2);
    assert_int_equal(test_state_of(&clients[1]), D3DKMT_DEVICEEXECUTION_ACTIVE);
    assert_true(d3dkmt_statistics(session->front)->demotions >= 3);
    test_client_close(&clients[1]);
    free(memory[0]);
    free(memory[1]);
}

static void who_does_not_fit_beside_another_takes_turns(void **state)
{
    test_on_board(16 * MIB, taking_turns);
}

/* Both take 12 MiB of 16 piece by piece; each gets all of it in the end. */
static void piece_by_piece(struct exec_session *session)
{
    struct test_client clients[2];
    struct test_buffer buffers[2][3];
    uint64_t awaited[2] = {0}, copied[2] = {0};
    unsigned asked[2] = {0};

    for (unsigned i = 0; i < 2; i++) {
        test_client_start(&clients[i], session);
        for (unsigned k = 0; k < 3; k++) {
            assert_int_equal(
                test_create(&clients[i], SGPU_UMD_NO_APERTURE, 4 * MIB, NULL, &buffers[i][k]),
                STATUS_SUCCESS);
            test_map(&clients[i], &buffers[i][k], 0);
        }
    }
    for (unsigned round = 0; round < 200; round++) {
        bool is_done = true;

        for (unsigned i = 0; i < 2; i++) {
            if (*clients[i].paging_fence < awaited[i])
                is_done = false;
            else if (asked[i] < 3)
                awaited[i] =
                    ask_for(&clients[i], &buffers[i][asked[i]++], STATUS_PENDING).PagingFenceValue;
            else if (!copied[i])
                copied[i] = test_copy(&clients[i], buffers[i][0].va, buffers[i][2].va, 4 * MIB);
            is_done &= copied[i] && *clients[i].fence_value >= copied[i];
        }
        test_let_run(session);
        if (is_done)
            break;
        d3dkmt_demote(session->front);
        test_let_run(session);
    }
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(asked[i], 3);
        assert_true(copied[i] && *clients[i].fence_value >= copied[i]);
        assert_int_equal(test_state_of(&clients[i]), D3DKMT_DEVICEEXECUTION_ACTIVE);
    }
    test_client_close(&clients[0]);
    test_client_close(&clients[1]);
}

static void two_that_take_memory_piece_by_piece_get_all_of_it(void **state)
{
    test_on_board(16 * MIB, piece_by_piece);
}

/* ... and a device within itself, where its driver allows system memory as well. */
static void giving_way(struct exec_session *session)
{
    struct test_client client;
    struct test_buffer buffers[10], host;
    uint8_t *memory = aligned_alloc(65536, 2 * MIB);
    const struct d3dkmt_statistics *statistics = d3dkmt_statistics(session->front);

    assert_non_null(memory);
    test_client_start(&client, session);
    assert_int_equal(
        test_create(&client, SGPU_UMD_EXISTING | SGPU_UMD_APERTURE_ONLY, 2 * MIB, memory, &host),
        STATUS_SUCCESS);
    test_map(&client, &host, 0);
    assert_true(NT_SUCCESS(test_make_resident(&client, &host)));
    for (unsigned i = 0; i < ARRAY_COUNT(buffers); i++) {
        test_resident_buffer(&client, 0, 2 * MIB, &buffers[i]);
        fill_buffer(&client, &buffers[i], &host, memory, i);
    }
    assert_true(statistics->demotions >= 3);
    assert_true(statistics->demoted_bytes >= 6 * MIB);
    for (unsigned i = 0; i < ARRAY_COUNT(buffers); i++) {
        memset(memory, 0, 2 * MIB);
        test_wait_fence(&client, test_copy(&client, host.va, buffers[i].va, 2 * MIB));
        test_expect(memory, 2 * MIB, i);
    }
    for (unsigned i = 0; i < ARRAY_COUNT(buffers); i++) {
        assert_int_equal(test_evict(&client, &buffers[i]), STATUS_SUCCESS);
        assert_int_equal(test_evict(&client, &buffers[i]), STATUS_INVALID_PARAMETER);
        test_destroy(&client, &buffers[i]);
    }
    test_destroy(&client, &host);
    test_client_close(&client);
    free(memory);
}

static void what_comes_new_gets_local_memory_before_what_came_first(void **state)
{
    test_on_board(16 * MIB, giving_way);
}

static void offers(struct exec_session *session)
{
    struct test_client client;
    struct test_buffer host, kept, dropped, large;
    D3DKMT_OFFERALLOCATIONS offer = {.NumAllocations = 1, .Priority = D3DKMT_OFFER_PRIORITY_LOW};
    D3DDDI_RECLAIM_RESULT result = D3DDDI_RECLAIM_RESULT_NOT_COMMITTED;
    D3DKMT_RECLAIMALLOCATIONS2 reclaim = {.NumAllocations = 1, .pResults = &result};
    uint8_t *memory = aligned_alloc(65536, 4 * MIB);
    NTSTATUS status;

    test_client_start(&client, session);
    assert_int_equal(
        test_create(&client, SGPU_UMD_EXISTING | SGPU_UMD_APERTURE_ONLY, 4 * MIB, memory, &host),
        STATUS_SUCCESS);
    test_map(&client, &host, 0);
    assert_true(NT_SUCCESS(test_make_resident(&client, &host)));
    test_resident_buffer(&client, SGPU_UMD_NO_APERTURE, 4 * MIB, &kept);
    test_resident_buffer(&client, SGPU_UMD_NO_APERTURE, 4 * MIB, &dropped);
    fill_buffer(&client, &kept, &host, memory, 3);
    fill_buffer(&client, &dropped, &host, memory, 4);
    offer.hDevice = client.device;
    reclaim.hPagingQueue = client.queue;
    /* Nothing needs room: the content is what it was. */
    offer.HandleList = reclaim.HandleList = &kept.handle;
    assert_int_equal(TEST_CALL(&client, ReclaimAllocations2, &reclaim), STATUS_INVALID_PARAMETER);
    assert_int_equal(TEST_CALL(&client, OfferAllocations, &offer), STATUS_SUCCESS);
    assert_int_equal(TEST_CALL(&client, OfferAllocations, &offer), STATUS_INVALID_PARAMETER);
    assert_int_equal(test_make_resident(&client, &kept), STATUS_GRAPHICS_INVALID_ALLOCATION_USAGE);
    status = TEST_CALL(&client, ReclaimAllocations2, &reclaim);
    assert_true(NT_SUCCESS(status));
    assert_int_equal(result, D3DDDI_RECLAIM_RESULT_OK);
    test_wait_paging(&client, reclaim.PagingFenceValue);
    memset(memory, 0, 4 * MIB);
    test_wait_fence(&client, test_copy(&client, host.va, kept.va, 4 * MIB));
    test_expect(memory, 4 * MIB, 3);
    /* Something large needs the room: what was offered is gone. */
    offer.HandleList = reclaim.HandleList = &dropped.handle;
    assert_int_equal(TEST_CALL(&client, OfferAllocations, &offer), STATUS_SUCCESS);
    test_resident_buffer(&client, SGPU_UMD_NO_APERTURE, 11 * MIB, &large);
    assert_int_equal(test_evict(&client, &large), STATUS_SUCCESS);
    status = TEST_CALL(&client, ReclaimAllocations2, &reclaim);
    assert_true(NT_SUCCESS(status));
    assert_int_equal(result, D3DDDI_RECLAIM_RESULT_DISCARDED);
    test_wait_paging(&client, reclaim.PagingFenceValue);
    fill_buffer(&client, &dropped, &host, memory, 5);
    /* Neither both lists, nor none, nor a priority that is none. */
    offer.pResources = &dropped.handle;
    assert_int_equal(TEST_CALL(&client, OfferAllocations, &offer), STATUS_INVALID_PARAMETER);
    offer.pResources = NULL;
    offer.Priority = (D3DKMT_OFFER_PRIORITY)0;
    assert_int_equal(TEST_CALL(&client, OfferAllocations, &offer), STATUS_INVALID_PARAMETER);
    assert_int_equal(test_state_of(&client), D3DKMT_DEVICEEXECUTION_ACTIVE);
    test_client_close(&client);
    free(memory);
}

static void what_is_offered_may_be_gone_when_it_is_reclaimed(void **state)
{
    test_on_board(16 * MIB, offers);
}

/* By resources: each has the worst result of its allocations, in whichever order they are named. */
static void offers_of_resources(struct exec_session *session)
{
    struct test_client client;
    struct test_buffer kept[1], dropped[2], large;
    D3DKMT_HANDLE resources[2];
    D3DKMT_OFFERALLOCATIONS offer = {.NumAllocations = 1};
    D3DDDI_RECLAIM_RESULT results[2];
    D3DKMT_RECLAIMALLOCATIONS2 reclaim = {
        .NumAllocations = 2, .pResources = resources, .pResults = results};

    test_client_start(&client, session);
    offer.hDevice = client.device;
    reclaim.hPagingQueue = client.queue;
    for (unsigned round = 0; round < 2; round++) {
        D3DKMT_HANDLE keeps = test_create_resource(&client, 1, 4 * MIB, kept);
        D3DKMT_HANDLE drops = test_create_resource(&client, 2, 2 * MIB, dropped);

        test_map(&client, &kept[0], 0);
        assert_true(NT_SUCCESS(test_make_resident(&client, &kept[0])));
        for (unsigned i = 0; i < 2; i++) {
            test_map(&client, &dropped[i], 0);
            assert_true(NT_SUCCESS(test_make_resident(&client, &dropped[i])));
        }
        offer.pResources = &keeps;
        offer.Priority = D3DKMT_OFFER_PRIORITY_HIGH;
        assert_int_equal(TEST_CALL(&client, OfferAllocations, &offer), STATUS_SUCCESS);
        offer.pResources = &drops;
        offer.Priority = D3DKMT_OFFER_PRIORITY_LOW;
        assert_int_equal(TEST_CALL(&client, OfferAllocations, &offer), STATUS_SUCCESS);
        test_resident_buffer(&client, SGPU_UMD_NO_APERTURE, 9 * MIB, &large);
        assert_int_equal(test_evict(&client, &large), STATUS_SUCCESS);
        test_destroy(&client, &large);
        resources[round] = keeps;
        resources[!round] = drops;
        assert_true(NT_SUCCESS(TEST_CALL(&client, ReclaimAllocations2, &reclaim)));
        assert_int_equal(results[round], D3DDDI_RECLAIM_RESULT_OK);
        assert_int_equal(results[!round], D3DDDI_RECLAIM_RESULT_DISCARDED);
        test_wait_paging(&client, reclaim.PagingFenceValue);
        /* Nothing is offered any more, and a resource that is named twice is refused. */
        assert_int_equal(TEST_CALL(&client, ReclaimAllocations2, &reclaim),
                         STATUS_INVALID_PARAMETER);
        offer.pResources = (D3DKMT_HANDLE[]){keeps, keeps};
        offer.NumAllocations = 2;
        assert_int_equal(TEST_CALL(&client, OfferAllocations, &offer), STATUS_INVALID_PARAMETER);
        offer.NumAllocations = 1;
        test_destroy(&client, &kept[0]);
        test_destroy(&client, &dropped[0]);
        test_destroy(&client, &dropped[1]);
    }
    test_client_close(&client);
}

static void a_resource_is_offered_and_reclaimed_with_all_it_has(void **state)
{
    test_on_board(16 * MIB, offers_of_resources);
}

/* Of two that are given up, the one of lower priority leaves first. */
static void priorities(struct exec_session *session)
{
    const UINT minimum = 0x28000000, high = 0xa0000000;
    struct test_client client;
    struct test_buffer low_one, high_one, more;
    D3DKMT_SETALLOCATIONPRIORITY set = {.AllocationCount = 1};
    uint64_t before;

    test_client_start(&client, session);
    set.hDevice = client.device;
    test_resident_buffer(&client, SGPU_UMD_NO_APERTURE, 5 * MIB, &low_one);
    test_resident_buffer(&client, SGPU_UMD_NO_APERTURE, 5 * MIB, &high_one);
    set.phAllocationList = &low_one.handle;
    set.pPriorities = &minimum;
    assert_int_equal(TEST_CALL(&client, SetAllocationPriority, &set), STATUS_SUCCESS);
    set.phAllocationList = &high_one.handle;
    set.pPriorities = &high;
    assert_int_equal(TEST_CALL(&client, SetAllocationPriority, &set), STATUS_SUCCESS);
    assert_int_equal(test_evict(&client, &high_one), STATUS_SUCCESS); /* unused for longer */
    assert_int_equal(test_evict(&client, &low_one), STATUS_SUCCESS);
    test_resident_buffer(&client, SGPU_UMD_NO_APERTURE, 7 * MIB, &more);
    before = vidmm_statistics(session->board->vidmm)->moved_in_bytes;
    assert_int_equal(test_make_resident(&client, &high_one), STATUS_SUCCESS); /* had not left */
    assert_int_equal(vidmm_statistics(session->board->vidmm)->moved_in_bytes, before);
    test_client_close(&client);
}

static void the_lower_priority_leaves_first(void **state)
{
    test_on_board(16 * MIB, priorities);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_finds_no_room_waits_until_somebody_gives_some_up),
        cmocka_unit_test(the_board_is_told),
        cmocka_unit_test(statistics_and_clocks_are_told),
        cmocka_unit_test(what_nodes_have_done_is_told),
        cmocka_unit_test(two_calls_tell_one_budget_before_there_is_a_device),
        cmocka_unit_test(budgets_follow_processes_and_reservations),
        cmocka_unit_test(references_are_counted_and_none_is_given_back_twice),
        cmocka_unit_test(who_does_not_fit_beside_another_takes_turns),
        cmocka_unit_test(two_that_take_memory_piece_by_piece_get_all_of_it),
        cmocka_unit_test(what_comes_new_gets_local_memory_before_what_came_first),
        cmocka_unit_test(what_is_offered_may_be_gone_when_it_is_reclaimed),
        cmocka_unit_test(a_resource_is_offered_and_reclaimed_with_all_it_has),
        cmocka_unit_test(the_lower_priority_leaves_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
