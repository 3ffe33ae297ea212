/*
 * Each rule of clients about what processes share: a client that breaks it, and that rule alone is
 * told; and the nearest client that keeps it, of which nothing is told. And rules that have nothing
 * to say of what another process has done.
 */
#include "bench/exec/test_client.h"

#include <string.h>
#include <uchar.h>

#define MIB (UINT64_C(1) << 20)

static const char runtime_data[] = "runtime", driver_data[] = "resource";

/* A maker, and an opener, which breaks or keeps the rule. */
struct world {
    struct test_client maker, client;
    D3DKMT_HANDLE resource, allocation, fence;
    uint64_t resource_name, fence_name;
    bool breaks;
};

static NTSTATUS make_resource(struct test_client *client, D3DKMT_CREATEALLOCATIONFLAGS flags,
                              D3DKMT_HANDLE *out_resource, D3DKMT_HANDLE *out_allocation)
{
    struct sgpu_umd_allocation data = {
        .version = SGPU_UMD_VERSION, .flags = SGPU_UMD_CPU_VISIBLE, .bytes = MIB};
    D3DDDI_ALLOCATIONINFO2 info = {.pPrivateDriverData = &data,
                                   .PrivateDriverDataSize = sizeof data};
    D3DKMT_CREATEALLOCATION create = {.hDevice = client->device,
                                      .pPrivateRuntimeData = runtime_data,
                                      .PrivateRuntimeDataSize = sizeof runtime_data,
                                      .pPrivateDriverData = driver_data,
                                      .PrivateDriverDataSize = sizeof driver_data,
                                      .NumAllocations = 1,
                                      .pAllocationInfo2 = &info,
                                      .Flags = flags};
    const NTSTATUS status = TEST_CALL(client, CreateAllocation2, &create);

    *out_resource = create.hResource;
    *out_allocation = info.hAllocation;
    return status;
}

static NTSTATUS make_fence(struct test_client *client, D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS flags,
                           D3DKMT_HANDLE *out_fence)
{
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 create = {.hDevice = client->device,
                                                  .Info.Type = D3DDDI_MONITORED_FENCE};
    NTSTATUS status;

    create.Info.Flags = flags;
    status = TEST_CALL(client, CreateSynchronizationObject2, &create);
    *out_fence = create.hSyncObject;
    return status;
}

static NTSTATUS share(struct test_client *client, UINT count, const D3DKMT_HANDLE *objects,
                      uint64_t *out_name)
{
    THUNK_SHARE_OBJECTS arguments = {.cObjects = count, .hObjects = objects};

    *out_name = 0;
    return test_call_by(client, D3DKMT_FN_ShareObjects, &arguments, out_name);
}

struct opening {
    char runtime[16], driver[16];
    struct sgpu_umd_allocation data;
    D3DDDI_OPENALLOCATIONINFO2 infos[2];
    D3DKMT_OPENRESOURCEFROMNTHANDLE arguments;
};

static void prepare(struct opening *opening, const struct test_client *client)
{
    memset(opening, 0, sizeof *opening);
    opening->arguments =
        (D3DKMT_OPENRESOURCEFROMNTHANDLE){.hDevice = client->device,
                                          .NumAllocations = 1,
                                          .pOpenAllocationInfo2 = opening->infos,
                                          .PrivateRuntimeDataSize = sizeof opening->runtime,
                                          .pPrivateRuntimeData = opening->runtime,
                                          .ResourcePrivateDriverDataSize = sizeof opening->driver,
                                          .pResourcePrivateDriverData = opening->driver,
                                          .TotalPrivateDriverDataBufferSize = sizeof opening->data,
                                          .pTotalPrivateDriverDataBuffer = &opening->data};
}

static NTSTATUS open_prepared(struct test_client *client, struct opening *opening, uint64_t name)
{
    return test_call_by(client, D3DKMT_FN_OpenResourceFromNtHandle, &opening->arguments, &name);
}

static NTSTATUS open_fence(struct test_client *client, uint64_t name,
                           D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS flags, D3DKMT_HANDLE *out_fence)
{
    D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 arguments = {.hDevice = client->device, .Flags = flags};
    const NTSTATUS status =
        test_call_by(client, D3DKMT_FN_OpenSyncObjectFromNtHandle2, &arguments, &name);

    *out_fence = arguments.hSyncObject;
    return status;
}

static void signal_fence(struct test_client *client, D3DKMT_HANDLE fence, UINT64 value,
                         NTSTATUS expected)
{
    assert_int_equal(
        TEST_CALL(client, SignalSynchronizationObjectFromCpu,
                  &((D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU){.hDevice = client->device,
                                                                .ObjectCount = 1,
                                                                .ObjectHandleArray = &fence,
                                                                .FenceValueArray = &value})),
        expected);
}

static void await_fence(struct test_client *client, D3DKMT_HANDLE fence, UINT64 value,
                        NTSTATUS expected)
{
    assert_int_equal(
        TEST_CALL(client, WaitForSynchronizationObjectFromCpu,
                  &((D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU){.hDevice = client->device,
                                                                 .ObjectCount = 1,
                                                                 .ObjectHandleArray = &fence,
                                                                 .FenceValueArray = &value})),
        expected);
}

#define NAME u"\\fence"

static NTSTATUS share_named(struct test_client *client, D3DKMT_HANDLE object, const char16_t *text,
                            UINT bytes, uint64_t *out_name)
{
    THUNK_SHARE_OBJECTS arguments = {
        .cObjects = 1, .hObjects = &object, .Name = text, .NameBytes = bytes};

    *out_name = 0;
    return test_call_by(client, D3DKMT_FN_ShareObjects, &arguments, out_name);
}

static NTSTATUS open_named(struct test_client *client, enum d3dkmt_function function,
                           uint64_t *out_name)
{
    THUNK_OPEN_BY_NAME arguments = {.Name = NAME, .NameBytes = sizeof NAME - 2};

    *out_name = 0;
    return test_call_by(client, function, &arguments, out_name);
}

/* ---- Rules ----------------------------------------------------------------------------------- */

static void OPENED_COUNT(struct world *world)
{
    struct opening opening;

    prepare(&opening, &world->client);
    opening.arguments.NumAllocations = world->breaks ? 2 : 1;
    assert_int_equal(open_prepared(&world->client, &opening, world->resource_name),
                     world->breaks ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS);
}

static void OPENED_SIZES(struct world *world)
{
    struct opening opening;

    for (unsigned i = 0; i < 3; i++) {
        prepare(&opening, &world->client);
        opening.arguments.PrivateRuntimeDataSize = sizeof runtime_data - (world->breaks && i == 0);
        opening.arguments.ResourcePrivateDriverDataSize =
            sizeof driver_data - (world->breaks && i == 1);
        opening.arguments.TotalPrivateDriverDataBufferSize =
            sizeof opening.data - (world->breaks && i == 2);
        assert_int_equal(open_prepared(&world->client, &opening, world->resource_name),
                         world->breaks ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS);
    }
    if (world->breaks)
        assert_int_equal(
            client_rules_broken(world->client.session->rules, CLIENT_RULE_OPENED_SIZES), 3);
}

static void NOT_SHARED(struct world *world)
{
    const D3DKMT_CREATEALLOCATIONFLAGS global = {{{.CreateResource = 1, .CreateShared = 1}}};
    D3DKMT_HANDLE resource, allocation;
    uint64_t name;

    assert_int_equal(make_resource(&world->maker, global, &resource, &allocation), STATUS_SUCCESS);
    if (!world->breaks) {
        assert_int_equal(share(&world->maker, 1, &world->allocation, &name), STATUS_SUCCESS);
        d3dkmt_nt_handle_closed(world->maker.session->front, name);
        return;
    }
    assert_int_equal(share(&world->maker, 1, &resource, &name), STATUS_INVALID_PARAMETER);
    assert_int_equal(share(&world->maker, 1, &world->maker.fence, &name), STATUS_INVALID_PARAMETER);
}

static NTSTATUS make_mutex(struct test_client *client, UINT flags, D3DKMT_HANDLE *out_mutex)
{
    D3DKMT_CREATEKEYEDMUTEX2 create = {.Flags = {{.Value = flags}}};
    const NTSTATUS status = TEST_CALL(client, CreateKeyedMutex2, &create);

    *out_mutex = create.hKeyedMutex;
    return status;
}

static NTSTATUS acquire(struct test_client *client, D3DKMT_HANDLE mutex)
{
    LARGE_INTEGER none = {.QuadPart = 0};

    return TEST_CALL(client, AcquireKeyedMutex,
                     &((D3DKMT_ACQUIREKEYEDMUTEX){.hKeyedMutex = mutex, .pTimeout = &none}));
}

static NTSTATUS release(struct test_client *client, D3DKMT_HANDLE mutex)
{
    return TEST_CALL(client, ReleaseKeyedMutex,
                     &((D3DKMT_RELEASEKEYEDMUTEX){.hKeyedMutex = mutex}));
}

static void SHARED_KINDS(struct world *world)
{
    const unsigned counts[] = {2, 1, 3};
    D3DKMT_HANDLE objects[] = {world->resource, world->fence, 0}, mutex;
    uint64_t name;

    assert_int_equal(make_mutex(&world->maker, 1, &mutex), STATUS_SUCCESS);
    if (!world->breaks) {
        objects[2] = mutex;
        assert_int_equal(share(&world->maker, 3, objects, &name), STATUS_SUCCESS);
        d3dkmt_nt_handle_closed(world->maker.session->front, name);
        assert_int_equal(share(&world->maker, 1, objects, &name), STATUS_SUCCESS);
        d3dkmt_nt_handle_closed(world->maker.session->front, name);
        return;
    }
    for (unsigned i = 0; i < ARRAY_COUNT(counts); i++) {
        objects[0] = i == 1 ? mutex : world->resource;
        objects[2] = world->allocation; /* the resource again */
        assert_int_equal(share(&world->maker, counts[i], objects, &name), STATUS_INVALID_PARAMETER);
    }
    assert_int_equal(client_rules_broken(world->maker.session->rules, CLIENT_RULE_SHARED_KINDS), 3);
}

static void SHARING_FLAGS(struct world *world)
{
    const D3DKMT_CREATEALLOCATIONFLAGS kept = {
        {{.CreateResource = 1, .CreateShared = 1, .NtSecuritySharing = 1}}};
    const D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS kept_of_fence = {{{.Shared = 1, .NoWait = 1}}};
    const NTSTATUS expected = world->breaks ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS;
    D3DKMT_CREATEALLOCATIONFLAGS flags = kept;
    D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS flags_of_fence = kept_of_fence;
    D3DKMT_HANDLE object, allocation;

    flags.CreateResource = !world->breaks;
    assert_int_equal(make_resource(&world->client, flags, &object, &allocation), expected);
    flags = kept;
    flags.CreateShared = !world->breaks;
    assert_int_equal(make_resource(&world->client, flags, &object, &allocation), expected);
    flags_of_fence.NoSignal = world->breaks;
    assert_int_equal(make_fence(&world->client, flags_of_fence, &object), expected);
    flags_of_fence = (D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS){{{.NtSecuritySharing = 1}}};
    flags_of_fence.Shared = !world->breaks;
    assert_int_equal(make_fence(&world->client, flags_of_fence, &object), expected);
    flags_of_fence = (D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS){{{.NoSignal = 1}}};
    flags_of_fence.NoWait = world->breaks;
    assert_int_equal(open_fence(&world->client, world->fence_name, flags_of_fence, &object),
                     expected);
    if (world->breaks)
        assert_int_equal(
            client_rules_broken(world->client.session->rules, CLIENT_RULE_SHARING_FLAGS), 5);
}

static void NO_NT_HANDLE(struct world *world)
{
    const D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS none = {{{0}}};
    const NTSTATUS expected = world->breaks ? STATUS_INVALID_HANDLE : STATUS_SUCCESS;
    uint64_t name = world->breaks ? 0 : world->resource_name;
    D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE query = {.hDevice = world->client.device};
    struct opening opening;
    D3DKMT_HANDLE fence;

    assert_int_equal(
        test_call_by(&world->client, D3DKMT_FN_QueryResourceInfoFromNtHandle, &query, &name),
        expected);
    prepare(&opening, &world->client);
    name = world->breaks ? world->fence_name : world->resource_name;
    assert_int_equal(open_prepared(&world->client, &opening, name), expected);
    name = world->breaks ? world->resource_name : world->fence_name;
    assert_int_equal(open_fence(&world->client, name, none, &fence), expected);
    if (world->breaks)
        assert_int_equal(
            client_rules_broken(world->client.session->rules, CLIENT_RULE_NO_NT_HANDLE), 3);
}

static void NOT_ALLOWED(struct world *world)
{
    const NTSTATUS expected = world->breaks ? STATUS_ACCESS_DENIED : STATUS_SUCCESS;
    D3DKMT_HANDLE fence;

    assert_int_equal(open_fence(&world->client, world->fence_name,
                                (D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS){{{.NoSignal = 1}}}, &fence),
                     STATUS_SUCCESS);
    if (world->breaks)
        signal_fence(&world->client, fence, 1, expected);
    else
        await_fence(&world->client, fence, 0, expected);
    assert_int_equal(open_fence(&world->client, world->fence_name,
                                (D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS){{{.NoWait = 1}}}, &fence),
                     STATUS_SUCCESS);
    if (world->breaks)
        await_fence(&world->client, fence, 0, expected);
    else
        signal_fence(&world->client, fence, 1, expected);
    if (world->breaks)
        assert_int_equal(client_rules_broken(world->client.session->rules, CLIENT_RULE_NOT_ALLOWED),
                         2);
}

/* ---- Keyed mutexes --------------------------------------------------------------------------- */

static void MUTEX_NOT_HELD(struct world *world)
{
    D3DKMT_CREATEKEYEDMUTEX create = {0};
    D3DKMT_OPENKEYEDMUTEX open;

    assert_int_equal(TEST_CALL(&world->maker, CreateKeyedMutex, &create), STATUS_SUCCESS);
    open = (D3DKMT_OPENKEYEDMUTEX){.hSharedHandle = create.hSharedHandle};
    assert_int_equal(TEST_CALL(&world->client, OpenKeyedMutex, &open), STATUS_SUCCESS);
    if (world->breaks)
        assert_int_equal(release(&world->client, open.hKeyedMutex), STATUS_INVALID_PARAMETER);
    assert_int_equal(acquire(&world->maker, create.hKeyedMutex), STATUS_SUCCESS);
    assert_int_equal(acquire(&world->client, open.hKeyedMutex), STATUS_TIMEOUT);
    if (world->breaks)
        assert_int_equal(release(&world->client, open.hKeyedMutex), STATUS_INVALID_PARAMETER);
    assert_int_equal(release(&world->maker, create.hKeyedMutex), STATUS_SUCCESS);
    assert_int_equal(acquire(&world->client, open.hKeyedMutex), STATUS_SUCCESS);
    assert_int_equal(release(&world->client, open.hKeyedMutex), STATUS_SUCCESS);
    if (world->breaks)
        assert_int_equal(
            client_rules_broken(world->client.session->rules, CLIENT_RULE_MUTEX_NOT_HELD), 2);
}

static void MUTEX_LEFT(struct world *world)
{
    D3DKMT_HANDLE mutex;

    assert_int_equal(make_mutex(&world->client, 0, &mutex), STATUS_SUCCESS);
    assert_int_equal(acquire(&world->client, mutex), STATUS_SUCCESS);
    if (!world->breaks)
        assert_int_equal(release(&world->client, mutex), STATUS_SUCCESS);
    assert_int_equal(
        TEST_CALL(&world->client, DestroyKeyedMutex, &((D3DKMT_DESTROYKEYEDMUTEX){mutex})),
        STATUS_SUCCESS);
}

/* The same, by the end of the process. */
static void MUTEX_LEFT_AT_END(struct world *world)
{
    D3DKMT_HANDLE mutex;

    assert_int_equal(make_mutex(&world->client, 0, &mutex), STATUS_SUCCESS);
    assert_int_equal(acquire(&world->client, mutex), STATUS_SUCCESS);
    if (!world->breaks)
        assert_int_equal(release(&world->client, mutex), STATUS_SUCCESS);
}

/* Another process has left it. */
static void MUTEX_ABANDONED(struct world *world)
{
    D3DKMT_CREATEKEYEDMUTEX create = {0};
    D3DKMT_OPENKEYEDMUTEX open;
    struct test_client leaver;

    test_client_open(&leaver, world->client.session);
    assert_int_equal(TEST_CALL(&world->client, CreateKeyedMutex, &create), STATUS_SUCCESS);
    open = (D3DKMT_OPENKEYEDMUTEX){.hSharedHandle = create.hSharedHandle};
    assert_int_equal(TEST_CALL(&leaver, OpenKeyedMutex, &open), STATUS_SUCCESS);
    if (world->breaks)
        assert_int_equal(acquire(&leaver, open.hKeyedMutex), STATUS_SUCCESS);
    test_client_close(&leaver);
    if (world->breaks) /* the leaver's own breach */
        assert_string_not_equal(test_breaches[CLIENT_RULE_MUTEX_LEFT], "");
    test_breaches[CLIENT_RULE_MUTEX_LEFT][0] = '\0';
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(acquire(&world->client, create.hKeyedMutex),
                         world->breaks ? STATUS_ABANDONED : STATUS_SUCCESS);
        if (!world->breaks)
            assert_int_equal(release(&world->client, create.hKeyedMutex), STATUS_SUCCESS);
    }
}

static void MUTEX_DATA(struct world *world)
{
    struct opening opening;
    char data[4] = "";

    prepare(&opening, &world->client);
    opening.arguments.pKeyedMutexPrivateRuntimeData = world->breaks ? NULL : data;
    opening.arguments.KeyedMutexPrivateRuntimeDataSize = sizeof data;
    assert_int_equal(open_prepared(&world->client, &opening, world->resource_name),
                     world->breaks ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS);
}

static void MUTEX_FLAGS(struct world *world)
{
    D3DKMT_HANDLE mutex;

    assert_int_equal(make_mutex(&world->client, world->breaks ? 3 : 1, &mutex), STATUS_SUCCESS);
}

/* Both copy out of the resource, in turns or not. */
static void MUTEX_NOT_ACQUIRED(struct world *world)
{
    struct test_buffer from = {.bytes = MIB}, to;
    struct opening opening;
    D3DKMT_HANDLE mutex;
    uint64_t name;

    assert_int_equal(make_mutex(&world->maker, 1, &mutex), STATUS_SUCCESS);
    assert_int_equal(
        share(&world->maker, 3, (D3DKMT_HANDLE[]){world->resource, mutex, world->fence}, &name),
        STATUS_SUCCESS);
    prepare(&opening, &world->client);
    assert_int_equal(open_prepared(&world->client, &opening, name), STATUS_SUCCESS);
    from.handle = opening.infos[0].hAllocation;
    test_resident_buffer(&world->client, 0, MIB, &to);
    test_map(&world->client, &from, 0);
    assert_true(NT_SUCCESS(test_make_resident(&world->client, &from)));
    test_let_run(world->client.session);
    assert_int_equal(acquire(&world->client, opening.arguments.hKeyedMutex), STATUS_SUCCESS);
    test_wait_fence(&world->client, test_copy(&world->client, to.va, from.va, MIB));
    assert_int_equal(release(&world->client, opening.arguments.hKeyedMutex), STATUS_SUCCESS);
    if (world->breaks) {
        test_wait_fence(&world->client, test_copy(&world->client, to.va, from.va, MIB));
        assert_int_equal(acquire(&world->maker, mutex), STATUS_SUCCESS);
        test_wait_fence(&world->client, test_copy(&world->client, to.va, from.va, MIB));
        assert_int_equal(release(&world->maker, mutex), STATUS_SUCCESS);
        assert_int_equal(
            client_rules_broken(world->client.session->rules, CLIENT_RULE_MUTEX_NOT_ACQUIRED), 2);
    }
    d3dkmt_nt_handle_closed(world->client.session->front, name);
}

/* ---- Rules that are about other things, too -------------------------------------------------- */

/* What was opened is closed here: its handles are old, whoever else has the resource. */
static void OLD_HANDLE(struct world *world)
{
    D3DKMT_DESTROYALLOCATION2 destroy = {.hDevice = world->client.device};
    struct opening opening;
    D3DKMT_LOCK2 lock = {.hDevice = world->client.device};

    prepare(&opening, &world->client);
    assert_int_equal(open_prepared(&world->client, &opening, world->resource_name), STATUS_SUCCESS);
    destroy.hResource = opening.arguments.hResource;
    lock.hAllocation = opening.infos[0].hAllocation;
    if (world->breaks) {
        assert_int_equal(TEST_CALL(&world->client, DestroyAllocation2, &destroy), STATUS_SUCCESS);
        assert_int_equal(TEST_CALL(&world->client, Lock2, &lock), STATUS_INVALID_PARAMETER);
        return;
    }
    assert_int_equal(TEST_CALL(&world->client, Lock2, &lock), STATUS_SUCCESS);
    assert_int_equal(
        TEST_CALL(&world->client, Unlock2,
                  &((D3DKMT_UNLOCK2){.hDevice = lock.hDevice, .hAllocation = lock.hAllocation})),
        STATUS_SUCCESS);
    assert_int_equal(TEST_CALL(&world->client, DestroyAllocation2, &destroy), STATUS_SUCCESS);
}

/* References are of each device: those of the maker are none of the opener's. */
static void EVICT_COUNT(struct world *world)
{
    const struct test_buffer made = {.handle = world->allocation, .bytes = MIB};
    struct test_buffer buffer = {.bytes = MIB};
    struct opening opening;

    prepare(&opening, &world->client);
    assert_int_equal(open_prepared(&world->client, &opening, world->resource_name), STATUS_SUCCESS);
    buffer.handle = opening.infos[0].hAllocation;
    assert_true(NT_SUCCESS(test_make_resident(&world->maker, &made)));
    if (!world->breaks)
        assert_true(NT_SUCCESS(test_make_resident(&world->client, &buffer)));
    assert_int_equal(test_evict(&world->client, &buffer),
                     world->breaks ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS);
}

static void NAME_ROOT(struct world *world)
{
    const NTSTATUS status = world->breaks ? STATUS_OBJECT_PATH_SYNTAX_BAD : STATUS_SUCCESS;
    const unsigned from = world->breaks;
    uint64_t name;

    assert_int_equal(share_named(&world->maker, world->fence, &NAME[from],
                                 (UINT)(sizeof NAME - 2 - 2 * from), &name),
                     status);
    if (NT_SUCCESS(status))
        d3dkmt_nt_handle_closed(world->maker.session->front, name);
}

static void NAME_KIND(struct world *world)
{
    struct d3dkmt *front = world->maker.session->front;
    uint64_t name, opened;

    assert_int_equal(share_named(&world->maker, world->fence, NAME, sizeof NAME - 2, &name),
                     STATUS_SUCCESS);
    assert_int_equal(open_named(&world->client,
                                world->breaks ? D3DKMT_FN_OpenNtHandleFromName
                                              : D3DKMT_FN_OpenSyncObjectNtHandleFromName,
                                &opened),
                     world->breaks ? STATUS_OBJECT_TYPE_MISMATCH : STATUS_SUCCESS);
    d3dkmt_nt_handle_closed(front, name);
    if (!world->breaks)
        d3dkmt_nt_handle_closed(front, opened);
}

static const struct {
    enum client_rule rule;
    void (*play)(struct world *world);
} rows[] = {
#define RULE(name, id, text)
#define QUEUE_RULE(name, id, text)
#define EVENT_RULE(name, id, text)
#define SHARING_RULE(name, id, text) {CLIENT_RULE_##name, name},
#include "bench/exec/client_rules.inc"
#undef RULE
    {CLIENT_RULE_OLD_HANDLE, OLD_HANDLE},
    {CLIENT_RULE_EVICT_COUNT, EVICT_COUNT},
    {CLIENT_RULE_MUTEX_LEFT, MUTEX_LEFT_AT_END},
};

static unsigned current;
static bool breaks_it;

static void play(struct exec_session *session)
{
    const D3DKMT_CREATEALLOCATIONFLAGS flags = {
        {{.CreateResource = 1, .CreateShared = 1, .NtSecuritySharing = 1}}};
    struct world world = {.breaks = breaks_it};

    test_client_start(&world.maker, session);
    test_client_start(&world.client, session);
    assert_int_equal(make_resource(&world.maker, flags, &world.resource, &world.allocation),
                     STATUS_SUCCESS);
    assert_int_equal(
        make_fence(&world.maker,
                   (D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS){{{.Shared = 1, .NtSecuritySharing = 1}}},
                   &world.fence),
        STATUS_SUCCESS);
    assert_int_equal(share(&world.maker, 1, &world.resource, &world.resource_name), STATUS_SUCCESS);
    assert_int_equal(share(&world.maker, 1, &world.fence, &world.fence_name), STATUS_SUCCESS);
    rows[current].play(&world);
    test_client_close(&world.client);
    test_client_close(&world.maker);
    d3dkmt_nt_handle_closed(session->front, world.resource_name);
    d3dkmt_nt_handle_closed(session->front, world.fence_name);
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

/* ---- What another process has done ----------------------------------------------------------- */

/* Signals in any order of two, a wait whose signal is another's, which comes too late. */
static void take_turns(struct exec_session *session)
{
    const D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS none = {{{0}}};
    const UINT64 never = 100;
    struct world world = {0};
    D3DKMT_HANDLE opened;

    test_client_start(&world.maker, session);
    test_client_start(&world.client, session);
    assert_int_equal(
        make_fence(&world.maker,
                   (D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS){{{.Shared = 1, .NtSecuritySharing = 1}}},
                   &world.fence),
        STATUS_SUCCESS);
    assert_int_equal(share(&world.maker, 1, &world.fence, &world.fence_name), STATUS_SUCCESS);
    assert_int_equal(open_fence(&world.client, world.fence_name, none, &opened), STATUS_SUCCESS);
    signal_fence(&world.maker, world.fence, 3, STATUS_SUCCESS);
    signal_fence(&world.client, opened, 2, STATUS_SUCCESS);
    signal_fence(&world.client, opened, 5, STATUS_SUCCESS);
    await_fence(&world.maker, world.fence, 4, STATUS_SUCCESS);
    assert_int_equal(TEST_CALL(&world.maker, WaitForSynchronizationObjectFromGpu,
                               &((D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU){
                                   .hContext = world.maker.context,
                                   .ObjectCount = 1,
                                   .ObjectHandleArray = &world.fence,
                                   .MonitoredFenceValueArray = &never})),
                     STATUS_SUCCESS);
    test_client_close(&world.maker);
    signal_fence(&world.client, opened, never, STATUS_SUCCESS);
    test_client_close(&world.client);
    d3dkmt_nt_handle_closed(session->front, world.fence_name);
    for (unsigned rule = 0; rule < CLIENT_RULE_COUNT; rule++) {
        if (rule != CLIENT_RULE_LOCK_LEFT)
            assert_int_equal(client_rules_broken(session->rules, rule), 0);
    }
}

static void no_process_is_told_of_for_what_another_has_done(void **state)
{
    test_on_board(16 * MIB, take_turns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_is_told_when_it_is_broken),
        cmocka_unit_test(nothing_is_told_of_who_keeps_it),
        cmocka_unit_test(no_process_is_told_of_for_what_another_has_done),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
