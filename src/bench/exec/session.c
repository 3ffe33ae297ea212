#include "bench/exec/session.h"

#include "bench/exec/client_rules.h"

#include "bench/board/client_memory.h"
#include "bench/board/gpu_plugin.h"
#include "bench/exec/registry.h"
#include "check/check.h"
#include "clients/recorder.h"
#include "clients/seen.h"
#include "miniport/miniport.h"
#include "miniport/raw.h"

#include <drydock/sgpu.h>

#include <string.h>
#include <time.h>

#define MOST_IDLE_STEPS 8u

/* The GPU's user-mode half says how large an allocation is. */
static bool size_of(void *context, const void *private_data, uint32_t bytes, uint64_t *out_bytes)
{
    const struct exec_session *session = context;
    struct sgpu_umd_allocation data;

    if (session->board->plugin) {
        *out_bytes = gpu_plugin_client_bytes(session->board->plugin, private_data, bytes);
    } else {
        if (bytes < sizeof data)
            return false;
        memcpy(&data, private_data, sizeof data);
        *out_bytes = data.bytes;
    }
    return *out_bytes && *out_bytes % PAGE_BYTES == 0 && *out_bytes <= RUN_MAX_BYTES;
}

/* The board is device 0 of bus 1, for its driver, too (HalGetBusDataByOffset). */
static NTSTATUS tell_of_bus(const struct exec_session *session, unsigned type, void *data,
                            uint32_t bytes)
{
    const struct machine_pci *pci = machine_pci(session->board->machine);

    if (type == KMTQAITYPE_ADAPTERADDRESS) {
        if (bytes < sizeof(D3DKMT_ADAPTERADDRESS))
            return STATUS_BUFFER_TOO_SMALL;
        *(D3DKMT_ADAPTERADDRESS *)data = (D3DKMT_ADAPTERADDRESS){.BusNumber = 1};
        return STATUS_SUCCESS;
    }
    if (type != KMTQAITYPE_PHYSICALADAPTERDEVICEIDS)
        return STATUS_NOT_SUPPORTED;
    if (bytes < sizeof(D3DKMT_QUERY_DEVICE_IDS))
        return STATUS_BUFFER_TOO_SMALL;
    if (((const D3DKMT_QUERY_DEVICE_IDS *)data)->PhysicalAdapterIndex)
        return STATUS_INVALID_PARAMETER;
    ((D3DKMT_QUERY_DEVICE_IDS *)data)->DeviceIds =
        (D3DKMT_DEVICE_IDS){.VendorID = pci->vendor_id,
                            .DeviceID = pci->device_id,
                            .SubVendorID = pci->subsystem_vendor_id,
                            .SubSystemID = pci->subsystem_id,
                            .RevisionID = pci->revision,
                            .BusType = PCIBus};
    return STATUS_SUCCESS;
}

/* What the model does not answer the driver may, which user mode's own type is for. */
static NTSTATUS query_adapter(void *context, unsigned type, void *data, uint32_t bytes)
{
    const struct exec_session *session = context;
    DXGKARG_QUERYADAPTERINFO query = {.Type = DXGKQAITYPE_UMDRIVERPRIVATE,
                                      .pInputData = data,
                                      .InputDataSize = bytes,
                                      .pOutputData = data,
                                      .OutputDataSize = bytes};
    NTSTATUS status = session->board->plugin
                          ? gpu_plugin_query_adapter(session->board->plugin, type, data, bytes)
                          : STATUS_NOT_SUPPORTED;

    if (status == STATUS_NOT_SUPPORTED)
        status = tell_of_bus(session, type, data, bytes);
    if (status == STATUS_NOT_SUPPORTED && type == KMTQAITYPE_QUERYREGISTRY)
        return exec_query_registry(session->store, data, bytes);
    return status == STATUS_NOT_SUPPORTED && type == KMTQAITYPE_UMDRIVERPRIVATE
               ? miniport_query_adapter_info(session->board->miniport, NULL, &query)
               : status;
}

static NTSTATUS escape(void *context, void *data, uint32_t bytes)
{
    const struct exec_session *session = context;

    return session->board->plugin ? gpu_plugin_escape(session->board->plugin, data, bytes)
                                  : STATUS_NOT_SUPPORTED;
}

#define SECONDS_BEFORE_1970 INT64_C(11644473600) /* since January 1, 1601 */

static int64_t now(void *context, enum d3dkmt_clock clock)
{
    const struct exec_session *session = context;
    const bool is_system = clock == D3DKMT_CLOCK_SYSTEM;
    struct timespec time;

    if (session->now)
        return session->now(session, clock);
    clock_gettime(is_system ? CLOCK_REALTIME : CLOCK_MONOTONIC, &time);
    return ((int64_t)time.tv_sec + (is_system ? SECONDS_BEFORE_1970 : 0)) * 10000000 +
           time.tv_nsec / 100;
}

/* ---- The recorder ---------------------------------------------------------------------------- */

static bool read_client(void *client, uint64_t address, void *out, uint64_t bytes)
{
    return client_memory_read(client, address, out, bytes);
}

static bool is_gone(void *client)
{
    return client_memory_is_gone(client);
}

static bool walk_batch(const void *plugin, uint64_t va, uint64_t bytes,
                       const struct drydock_gpu_walk *walk)
{
    return gpu_plugin_walk_batch(plugin, va, bytes, walk);
}

struct seen_source exec_session_source(const struct run_board *board)
{
    return (struct seen_source){.read = read_client,
                                .is_gone = is_gone,
                                .walk_batch = board->plugin ? walk_batch : NULL,
                                .context = board->plugin};
}

static bool is_local(const struct vidmm *vidmm, const struct vidmm_allocation *allocation,
                     unsigned choice)
{
    const unsigned segment = vidmm_allocation_choice(allocation, choice);
    struct vidmm_segment_info info = {.is_aperture = true};

    if (segment && segment <= vidmm_segment_count(vidmm))
        vidmm_segment_info(vidmm, segment, &info);
    return !info.is_aperture;
}

static void record_references(struct recorder_case *recorder, const struct d3dkmt_deed *deed,
                              bool is_gain)
{
    for (unsigned i = 0; i < deed->count; i++) {
        void *client;
        const D3DKMT_HANDLE handle = d3dkmt_handle_of(deed->allocations[i], deed->device, &client);

        recorder_case_refer(recorder, client, handle, is_gain);
    }
    recorder_case_end_refer(recorder);
}

/* What the front does with the manager: residency, as it comes and goes, work, allocations. */
static void record_deed(struct recorder_case *recorder, const struct vidmm *vidmm,
                        const struct d3dkmt_deed *deed)
{
    const struct vidmm_allocation *created = deed->count ? deed->allocations[0] : NULL;

    if (deed->kind == D3DKMT_DEED_SUBMIT)
        recorder_case_handed_over(recorder, deed->client, deed->context);
    else if (deed->kind == D3DKMT_DEED_CREATED && NT_SUCCESS(deed->status))
        recorder_case_created(
            recorder, &(struct recorder_created){
                          .bytes = vidmm_allocation_size(created),
                          .first_is_local = is_local(vidmm, created, 0),
                          .second_is_local = is_local(vidmm, created, 1),
                          .has_second = vidmm_allocation_choice(created, 1) != VIDMM_NO_CHOICE});
    else if (deed->kind == D3DKMT_DEED_EVICT)
        record_references(recorder, deed, false);
    else if ((deed->kind == D3DKMT_DEED_MAKE_RESIDENT && deed->status == STATUS_SUCCESS) ||
             (deed->kind == D3DKMT_DEED_RESIDENT && NT_SUCCESS(deed->status) && !deed->is_reclaim))
        record_references(recorder, deed, true);
}

/* The checking layer sees the driver's side only, work among it, and a recorder calls only. */
static void tell_others(void *context, const struct d3dkmt_deed *deed)
{
    static const enum check_client_kind kinds[] = {
        [D3DKMT_DEED_DEVICE] = CHECK_CLIENT_DEVICE,
        [D3DKMT_DEED_CREATE] = CHECK_CLIENT_CREATE,
        [D3DKMT_DEED_CREATED] = CHECK_CLIENT_CREATED,
        [D3DKMT_DEED_DESTROY] = CHECK_CLIENT_DESTROY,
        [D3DKMT_DEED_MAKE_RESIDENT] = CHECK_CLIENT_MAKE_RESIDENT,
        [D3DKMT_DEED_RESIDENT] = CHECK_CLIENT_RESIDENT,
        [D3DKMT_DEED_EVICT] = CHECK_CLIENT_EVICT,
        [D3DKMT_DEED_LOCK] = CHECK_CLIENT_LOCK,
        [D3DKMT_DEED_LOCKED] = CHECK_CLIENT_LOCKED,
        [D3DKMT_DEED_UNLOCK] = CHECK_CLIENT_UNLOCK,
        [D3DKMT_DEED_OFFER] = CHECK_CLIENT_OFFER,
        [D3DKMT_DEED_RECLAIM] = CHECK_CLIENT_RECLAIM,
    };
    static const enum check_reclaim results[] = {
        [VIDMM_RECLAIM_OK] = CHECK_RECLAIM_OK,
        [VIDMM_RECLAIM_DISCARDED] = CHECK_RECLAIM_DISCARDED,
        [VIDMM_RECLAIM_NOT_COMMITTED] = CHECK_RECLAIM_NOT_COMMITTED,
    };
    const struct exec_session *session = context;

    if (session->recorder)
        record_deed(session->recorder, session->board->vidmm, deed);
    if (!session->board->check || deed->kind == D3DKMT_DEED_SUBMIT)
        return;
    check_client(session->board->check,
                 &(struct check_client_event){
                     .kind = kinds[deed->kind],
                     .device = deed->device,
                     .count = deed->count,
                     .allocations = (const void *const *)deed->allocations,
                     .status = deed->status,
                     .fence = deed->fence,
                     .is_within_budget = deed->is_within_budget,
                     .bytes = deed->bytes_to_trim,
                     .ignores_sync = deed->kind == D3DKMT_DEED_LOCK,
                     .priority = deed->priority,
                     .result = results[deed->result],
                     .is_reclaim = deed->is_reclaim,
                     .memory = {.pages = deed->pages, .page_count = deed->page_count},
                 });
}

/* Those that follow what clients have. */
static void tell_seers(const struct exec_session *session, enum d3dkmt_moment moment, void *client,
                       const struct d3dkmt_call *call)
{
    struct client_call made = {0};

    if (call)
        made = (struct client_call){call->function, call->arguments, call->status, call->nt_object};
    if (moment == D3DKMT_UNSHARED) {
        seen_unshared(session->seen, call->nt_object);
    } else if (moment == D3DKMT_CLOSED) {
        if (session->rules)
            client_rules_closed(session->rules, client);
        if (session->recorder)
            recorder_case_closed(session->recorder, client);
        seen_closed(session->seen, client);
    } else if (moment == D3DKMT_CALLED) {
        if (session->rules)
            client_rules_called(session->rules, client, call);
        if (session->recorder)
            recorder_case_called(session->recorder, client, &made);
    } else {
        if (session->recorder)
            recorder_case_before(session->recorder, client, &made);
        seen_ended(session->seen, client, &made);
        if (session->rules)
            client_rules_ended(session->rules, client, call);
        if (session->recorder)
            recorder_case_behind(session->recorder, client, &made);
    }
}

static void tap(void *context, enum d3dkmt_moment moment, void *client,
                const struct d3dkmt_call *call)
{
    struct exec_session *session = context;

    if (moment == D3DKMT_CALLED)
        client_calls_made(&session->calls, client, call);
    if (session->seen)
        tell_seers(session, moment, client, call);
    if (moment == D3DKMT_ENDED)
        client_calls_ended(&session->calls, call);
    else if (moment == D3DKMT_CLOSED)
        client_calls_closed(&session->calls, client);
}

static uint64_t timeout_of(const struct exec_session *session)
{
    const uint64_t timeout_ns = session->board->config->timeout_ns;

    return timeout_ns ? timeout_ns : VIDMM_DEFAULT_TIMEOUT_NS;
}

NTSTATUS exec_session_open(struct exec_session *session, const struct run_board *board)
{
    struct d3dkmt_config config;

    client_calls_init(&session->calls, board);
    config = (struct d3dkmt_config){
        .services = machine_services(board->machine),
        .vidmm = board->vidmm,
        .luid = {.LowPart = EXEC_LUID_LOW, .HighPart = EXEC_LUID_HIGH},
        .secret = session->secret,
        .most_files = session->most_files,
        .wddm = miniport_raw_wddm(miniport_interface_version(board->miniport)),
        .witness = board->check || session->recorder ? tell_others : NULL,
        .witness_context = session,
        .tap = session->seen || session->calls.record ? tap : NULL,
        .tap_context = session,
    };

    session->board = board;
    session->front = NULL;
    session->next_watch_ns = 0;
    client_memory_board(&config.board);
    config.board.context = session;
    config.board.now = now;
    config.board.size_of = size_of;
    config.board.query_adapter = query_adapter;
    config.board.escape = escape;
    config.board.notify = session->notify;
    return d3dkmt_create(&config, &session->front);
}

/*
 * Nothing happens by itself any more, and somebody waits: for work that does not end. Time passes
 * until the watchdog is due. A few times without effect, and nothing ever will.
 */
static bool let_time_pass(struct exec_session *session)
{
    const struct vidmm_statistics *statistics = vidmm_statistics(session->board->vidmm);
    const uint64_t resets = statistics->engine_resets + statistics->adapter_resets;

    for (unsigned i = 0; i < MOST_IDLE_STEPS && !vidmm_is_idle(session->board->vidmm); i++) {
        machine_run_until(session->board->machine,
                          machine_now(session->board->machine) + timeout_of(session));
        vidmm_watch(session->board->vidmm, machine_now(session->board->machine));
        if (d3dkmt_pump(session->front) ||
            statistics->engine_resets + statistics->adapter_resets != resets)
            return true;
    }
    return false;
}

bool exec_step(struct exec_session *session)
{
    const uint64_t now_ns = machine_now(session->board->machine);

    if (d3dkmt_pump(session->front))
        return true;
    if (now_ns >= session->next_watch_ns) {
        session->next_watch_ns = now_ns + timeout_of(session) / 2;
        vidmm_watch(session->board->vidmm, now_ns);
    }
    return machine_run_next(session->board->machine) || vidmm_pass_turn(session->board->vidmm) ||
           let_time_pass(session);
}

void exec_session_close(struct exec_session *session)
{
    while (exec_step(session))
        continue;
    d3dkmt_destroy(session->front);
    session->front = NULL;
    client_calls_fini(&session->calls);
}

void exec_trim(void *context, struct vidmm_process *process, enum vidmm_budget_group group,
               uint64_t bytes)
{
    struct exec_session *session = context;

    if (session->front)
        d3dkmt_note_trim(session->front, process, group, bytes);
}

void exec_device_error(void *context, struct vidmm_device *device)
{
    struct exec_session *session = context;

    if (session->front)
        d3dkmt_note_device_error(session->front, device);
}
