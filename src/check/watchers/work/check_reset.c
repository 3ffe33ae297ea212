/*
 * Watcher: engines and adapters that are reset, and what may happen until they go on (TDR). Reports
 * of fences around a reset (TDR-006, TDR-010) are judged with the other fences.
 *
 * A packet that does not end is the driver's fault when nothing else explains it: no fault, no hang
 * that the bench made (CHECK_GPU_HUNG), and the commands are the driver's own, a paging buffer.
 */
#include "check/check_watch.h"
#include "miniport/operation.h"

struct reset_node {
    bool has_completed, has_submitted;
    uint32_t completed, submitted;
    bool has_refused; /* and a packet behind the last that completed was: it may count, too */
    uint32_t refused;
    bool has_faulted;  /* and was not reset since */
    bool is_stuck;     /* it was asked to preempt, and has ended nothing since */
    uint64_t begun_ns; /* since when its oldest packet has had it for itself */
};

/* A packet that the GPU had and had not run when the adapter was reset. */
struct dropped {
    unsigned node;
    uint32_t fence;
};
#define MAX_DROPPED 32

struct reset_watch {
    struct reset_node nodes[CHECK_MAX_NODES];
    bool is_silent;    /* from ResetFromTimeout to RestartFromTimeout */
    bool is_excused;   /* since the last reset something happened that explains one */
    bool owes_reset;   /* an engine was reset in the middle of paging work */
    uint32_t hit;      /* the fence of that */
    uint64_t reset_at; /* event of the last reset of the adapter, 0: none */
    struct dropped dropped[MAX_DROPPED]; /* by that reset */
    unsigned dropped_count;
    /* Allocations that were put into memory segments, by handle: the event of the last time. */
    struct id_map entered;
};

/* Events are kept as values of the map, so none may be NULL. */
static void *value_of(uint64_t event)
{
    return (void *)(uintptr_t)event;
}

static bool is_memory_segment(struct check *check, unsigned id)
{
    const struct check_segment *segment = check_find_segment(check_ledger(check), id);

    return segment && !segment->flags.Aperture;
}

/* ---- Between reset and restart --------------------------------------------------------------- */

/* The operation only takes note of where nothing is any more. */
static bool is_clean_up(const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    switch (miniport_operation_kind((unsigned)arg->Operation)) {
    case MINIPORT_KIND_TRANSFER:
        return (unsigned)arg->Operation == DXGK_OPERATION_TRANSFER && !arg->Transfer.TransferSize;
    case MINIPORT_KIND_FILL:
    case MINIPORT_KIND_ACCESS:
    case MINIPORT_KIND_MAP:
        return false;
    default:
        return true;
    }
}

static bool is_submission(const struct check_call *call)
{
    return call->ddi == MINIPORT_DDI_SubmitCommand ||
           call->ddi == MINIPORT_DDI_SubmitCommandVirtual;
}

static void check_silence(struct check *check, const struct check_call *call)
{
    if (is_submission(call)) {
        CHECK_RULE(check, RULE_TDR_003, false, NULL, "",
                   "is called between ResetFromTimeout and RestartFromTimeout");
    } else if (call->ddi == MINIPORT_DDI_BuildPagingBuffer) {
        CHECK_RULE(check, RULE_TDR_003, is_clean_up(call->arg.build_paging_buffer), NULL,
                   "Operation",
                   "moves or maps content between ResetFromTimeout and RestartFromTimeout: "
                   "only what is lost is told then");
        check_looked_at(check, RULE_TDR_004);
    }
}

static void check_alone(struct check *check, const struct check_call *call)
{
    const struct check_call *outer;

    for (outer = call->outer; outer; outer = outer->outer) {
        if (outer->ddi == MINIPORT_DDI_ResetFromTimeout)
            break;
    }
    if (!outer && call->ddi == MINIPORT_DDI_ResetFromTimeout && call->outer &&
        call->outer->ddi != MINIPORT_DDI_InterruptRoutine &&
        call->outer->ddi != MINIPORT_DDI_DpcRoutine)
        outer = call->outer;
    if (!outer && call->ddi != MINIPORT_DDI_ResetFromTimeout)
        return;
    CHECK_RULE(check, RULE_TDR_002,
               !outer || call->ddi == MINIPORT_DDI_InterruptRoutine ||
                   call->ddi == MINIPORT_DDI_DpcRoutine || call->ddi == MINIPORT_DDI_SetPowerState,
               NULL, "", "is called in the middle of %s: a reset is alone in the driver",
               miniport_ddi_name(outer->ddi));
}

/* ---- Engines --------------------------------------------------------------------------------- */

static void after_reset_engine(struct check *check, struct reset_watch *watch,
                               const struct check_call *call)
{
    const DXGKARG_RESETENGINE *arg = call->arg.reset_engine;
    const struct check_packet *packet;
    struct reset_node *node;
    bool is_drained = true;

    if (!NT_SUCCESS(call->status) || arg->NodeOrdinal >= CHECK_MAX_NODES)
        return;
    node = &watch->nodes[arg->NodeOrdinal];
    list_for_each (packet, &check_ledger(check)->packets, struct check_packet, link) {
        if (packet->node != arg->NodeOrdinal || packet->state != CHECK_SUBMITTED)
            continue;
        is_drained = false;
        if (packet->is_paging && check_fence_reached(packet->fence, arg->LastAbortedFenceId)) {
            watch->owes_reset = true;
            watch->hit = packet->fence;
        }
    }
    if (is_drained && node->has_completed) {
        CHECK_RULE(check, RULE_TDR_008,
                   arg->LastAbortedFenceId == node->completed ||
                       (node->has_refused && arg->LastAbortedFenceId == node->refused),
                   NULL, "LastAbortedFenceId",
                   "is {0x%x}; the queue of node %u had run empty, and {=0x%x} was the last that "
                   "completed",
                   arg->LastAbortedFenceId, arg->NodeOrdinal, node->completed);
    } else if (!is_drained && node->has_submitted) {
        CHECK_RULE(check, RULE_TDR_007,
                   check_fence_reached(arg->LastAbortedFenceId, node->submitted) &&
                       (!node->has_completed ||
                        check_fence_reached(node->completed, arg->LastAbortedFenceId) ||
                        (node->has_refused &&
                         check_fence_reached(node->refused, arg->LastAbortedFenceId))),
                   NULL, "LastAbortedFenceId",
                   "is {0x%x}; on node %u {=0x%x~ to~} is the last that completed and 0x%x the "
                   "last that was submitted",
                   arg->LastAbortedFenceId, arg->NodeOrdinal, node->completed, node->submitted);
    }
    node->has_completed = true;
    node->has_faulted = node->is_stuck = false;
    node->completed = arg->LastAbortedFenceId;
    node->has_refused = false;
}

static void note_preemption(struct check *check, struct reset_watch *watch, unsigned node)
{
    const struct check_packet *packet;

    list_for_each (packet, &check_ledger(check)->packets, struct check_packet, link) {
        if (node < CHECK_MAX_NODES && packet->node == node && packet->state == CHECK_SUBMITTED &&
            packet->bytes && !packet->is_gpu_done)
            watch->nodes[node].is_stuck = true;
    }
}

static void note_progress(struct reset_watch *watch, unsigned node)
{
    if (node < CHECK_MAX_NODES)
        watch->nodes[node].is_stuck = false;
}

/* The page does not say what counts as progress. */
static void after_engine_status(struct check *check, const struct reset_watch *watch,
                                const struct check_call *call)
{
    const DXGKARG_QUERYENGINESTATUS *arg = call->arg.query_engine_status;
    const struct reset_node *node;

    if (!CHECK_RULE(check, RULE_TDR_013, call->status == STATUS_SUCCESS, NULL, "status",
                    "{0x%08x} (expected {=STATUS_SUCCESS})", (unsigned)call->status) ||
        arg->NodeOrdinal >= CHECK_MAX_NODES)
        return;
    node = &watch->nodes[arg->NodeOrdinal];
    if (node->has_faulted || node->is_stuck)
        CHECK_ADVICE(check, RULE_TDR_016, check_configuration(check)->profile.wants_stuck_told,
                     !arg->EngineStatus.Responsive, NULL, "EngineStatus.Responsive",
                     "is 1 for node %u, which %s: the page says that it is 0 for a node that does "
                     "not respond to queries for its progress, and not what counts as progress",
                     arg->NodeOrdinal,
                     node->has_faulted ? "has stopped at a fault"
                                       : "was asked to preempt and has ended nothing since");
}

/* A refused submission counts as complete in its turn (SUB-012). */
static void note_refused(struct reset_watch *watch, const struct check_call *call)
{
    const DXGKARG_SUBMITCOMMANDVIRTUAL *arg = call->arg.submit_command_virtual;

    if (call->status != STATUS_INVALID_PARAMETER || arg->NodeOrdinal >= CHECK_MAX_NODES)
        return;
    watch->nodes[arg->NodeOrdinal].has_refused = true;
    watch->nodes[arg->NodeOrdinal].refused = arg->SubmissionFenceId;
}

/* What follows an engine's reset that hit paging work is a reset of the adapter. */
static void check_debt(struct check *check, struct reset_watch *watch,
                       const struct check_call *call)
{
    bool is_work = is_submission(call) || call->ddi == MINIPORT_DDI_BuildPagingBuffer;

    if (!watch->owes_reset || (!is_work && call->ddi != MINIPORT_DDI_ResetFromTimeout))
        return;
    watch->owes_reset = false;
    CHECK_RULE(check, RULE_TDR_009, !is_work, NULL, "",
               "is called after an engine was reset in the middle of the paging packet with "
               "fence 0x%x; the adapter has to be reset first",
               watch->hit);
}

/* ---- Time ------------------------------------------------------------------------------------ */

/* Where no GPU tells of its packets, the machine's clock tells how long they took. */
static bool has_clock(struct check *check)
{
    const struct check_config *config = check_configuration(check);

    return !check_ledger(check)->has_gpu && config->now && config->timeout_ns;
}

static uint64_t now(struct check *check)
{
    return check_configuration(check)->now(check_configuration(check)->context);
}

static void begin_packet(struct check *check, struct reset_watch *watch,
                         const struct check_packet *added)
{
    const struct check_packet *packet;

    if (!added || added->node >= CHECK_MAX_NODES || !has_clock(check))
        return;
    list_for_each (packet, &check_ledger(check)->packets, struct check_packet, link) {
        if (packet != added && packet->node == added->node && packet->state == CHECK_SUBMITTED)
            return;
    }
    watch->nodes[added->node].begun_ns = now(check);
}

/* The commands of paging packets are the driver's own. */
static void check_time(struct check *check, const struct reset_watch *watch,
                       const struct check_packet *packet, const char *what)
{
    uint64_t timeout_ns = check_configuration(check)->timeout_ns;
    uint64_t taken_ns = now(check) - watch->nodes[packet->node].begun_ns;

    if (packet->is_paging)
        CHECK_RULE(check, RULE_TDR_012, taken_ns <= timeout_ns, NULL, "",
                   "the paging packet with fence 0x%x %s: node %u has had it for %llu ms "
                   "(expected %llu at most)",
                   packet->fence, what, packet->node, (unsigned long long)(taken_ns / 1000000),
                   (unsigned long long)(timeout_ns / 1000000));
}

/* A node hangs in its oldest packet. */
static void check_hang(struct check *check, struct reset_watch *watch)
{
    const struct check_packet *packet;
    uint64_t seen = 0;

    if (watch->is_excused || (!check_ledger(check)->has_gpu && !has_clock(check)))
        return;
    list_for_each (packet, &check_ledger(check)->packets, struct check_packet, link) {
        if (packet->state != CHECK_SUBMITTED || packet->node >= CHECK_MAX_NODES ||
            seen >> packet->node & 1)
            continue;
        seen |= UINT64_C(1) << packet->node;
        if (has_clock(check))
            check_time(check, watch, packet, "was not reported complete");
        else if (packet->is_paging && packet->gpu_queued && !packet->is_gpu_done)
            CHECK_RULE(check, RULE_TDR_012, false, NULL, "",
                       "the paging packet with fence 0x%x did not end on node %u, nor could it be "
                       "preempted",
                       packet->fence, packet->node);
    }
}

/* ---- Content --------------------------------------------------------------------------------- */

/* Content in memory is lost when the adapter is reset: nobody reads it from there any more. */
static void check_source(struct check *check, struct reset_watch *watch, HANDLE handle)
{
    uint64_t event = (uint64_t)(uintptr_t)id_map_find(&watch->entered, (uint64_t)(uintptr_t)handle);
    const struct check_allocation *allocation;

    if (!event || !watch->reset_at)
        return;
    allocation = check_find_allocation(check_ledger(check), handle);
    CHECK_RULE(check, RULE_TDR_011, event > watch->reset_at,
               allocation ? &allocation->object : NULL, "hAllocation",
               "is read from memory where it was put at event %llu; the adapter was reset at "
               "event %llu, and its content is lost",
               (unsigned long long)event, (unsigned long long)watch->reset_at);
}

static void follow_content(struct check *check, struct reset_watch *watch,
                           const struct check_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *arg = call->before.build_paging_buffer;
    enum miniport_operation_kind kind = miniport_operation_kind((unsigned)arg->Operation);
    HANDLE handle = miniport_operation_allocation(arg);
    uint64_t key = (uint64_t)(uintptr_t)handle;
    uint64_t bytes = miniport_operation_bytes(arg);
    bool is_from_memory = is_memory_segment(check, miniport_operation_source(arg).segment);
    bool is_to_memory = is_memory_segment(check, miniport_operation_destination(arg).segment);

    if (kind == MINIPORT_KIND_TRANSFER && bytes && is_from_memory)
        check_source(check, watch, handle);
    if ((kind == MINIPORT_KIND_TRANSFER || kind == MINIPORT_KIND_FILL ||
         kind == MINIPORT_KIND_CONTEXT) &&
        key && is_to_memory) {
        if (!id_map_set(&watch->entered, key, value_of(call->event)))
            check_lost(check);
    } else if (kind == MINIPORT_KIND_DISCARD ||
               (kind == MINIPORT_KIND_TRANSFER && is_from_memory && !is_to_memory &&
                (miniport_operation_is_end(arg) || !bytes))) {
        id_map_remove(&watch->entered, key);
    }
}

/* ---- Work that a reset drops ----------------------------------------------------------------- */

static void note_dropped(struct check *check, struct reset_watch *watch)
{
    const struct check_packet *packet;

    watch->dropped_count = 0;
    list_for_each (packet, &check_ledger(check)->packets, struct check_packet, link) {
        if (packet->gpu_queued && !packet->is_gpu_done && watch->dropped_count < MAX_DROPPED)
            watch->dropped[watch->dropped_count++] =
                (struct dropped){.node = packet->node, .fence = packet->fence};
    }
}

/* The GPU has run what it had before the reset: it was not reset. */
static void check_dropped(struct check *check, struct reset_watch *watch,
                          const struct check_gpu_event *event)
{
    for (unsigned i = 0; i < watch->dropped_count; i++) {
        if (watch->dropped[i].node != event->node || watch->dropped[i].fence != event->fence)
            continue;
        watch->dropped[i] = watch->dropped[--watch->dropped_count];
        check_blame_call(check, MINIPORT_DDI_ResetFromTimeout, watch->reset_at);
        CHECK_RULE(check, RULE_TDR_001, false, NULL, "",
                   "the GPU was not reset: node %u has run fence 0x%x since, which it was handed "
                   "before",
                   event->node, event->fence);
        check_blame_current(check);
        return;
    }
}

/* ---- The watcher ----------------------------------------------------------------------------- */

static void before(struct check *check, void *state, const struct check_call *call)
{
    struct reset_watch *watch = state;

    check_alone(check, call);
    check_debt(check, watch, call);
    if (watch->is_silent)
        check_silence(check, call);
    if (call->packet && call->packet->node < CHECK_MAX_NODES && call->packet->submit_count == 1) {
        watch->nodes[call->packet->node].has_submitted = true;
        watch->nodes[call->packet->node].submitted = call->packet->fence;
    }
    begin_packet(check, watch, call->packet);
    if (call->ddi == MINIPORT_DDI_ResetFromTimeout || call->ddi == MINIPORT_DDI_ResetEngine)
        check_hang(check, watch);
    if (call->ddi == MINIPORT_DDI_ResetFromTimeout)
        note_dropped(check, watch);
    else if (call->ddi == MINIPORT_DDI_PreemptCommand)
        note_preemption(check, watch, call->arg.preempt_command->NodeOrdinal);
}

static void after_destroy(struct reset_watch *watch, const DXGKARG_DESTROYALLOCATION *arg)
{
    for (UINT i = 0; i < arg->NumAllocations; i++)
        id_map_remove(&watch->entered, (uint64_t)(uintptr_t)arg->pAllocationList[i]);
}

static void callback(struct check *check, void *state, const struct check_callback *callback)
{
    struct reset_watch *watch = state;
    const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data = callback->data;

    (void)check;
    if (callback->callback == TRACE_CALLBACK_notify_interrupt &&
        data->InterruptType == DXGK_INTERRUPT_DMA_PREEMPTED)
        note_progress(watch, data->DmaPreempted.NodeOrdinal);
    if (callback->gone)
        id_map_remove(&watch->entered, (uint64_t)(uintptr_t)callback->gone);
}

static void after_reset(struct check *check, struct reset_watch *watch,
                        const struct check_call *call)
{
    CHECK_RULE(check, RULE_TDR_001, call->status == STATUS_SUCCESS, NULL, "status",
               "{0x%08x} (expected {=STATUS_SUCCESS}): Windows stops with bug check 0x116",
               (unsigned)call->status);
    watch->is_silent = true;
    watch->is_excused = false;
    watch->reset_at = call->event;
    for (unsigned i = 0; i < CHECK_MAX_NODES; i++) {
        watch->nodes[i].has_completed = watch->nodes[i].has_submitted;
        watch->nodes[i].completed = watch->nodes[i].submitted;
        watch->nodes[i].has_refused = false;
        watch->nodes[i].has_faulted = watch->nodes[i].is_stuck = false;
    }
}

static void check_engine_ddis(struct check *check, const struct check_call *call)
{
    static const enum miniport_ddi needed[] = {MINIPORT_DDI_QueryDependentEngineGroup,
                                               MINIPORT_DDI_QueryEngineStatus,
                                               MINIPORT_DDI_ResetEngine};
    const struct check_ledger *ledger = check_ledger(check);

    if (call->arg.query_adapter_info->Type != DXGKQAITYPE_DRIVERCAPS || !NT_SUCCESS(call->status) ||
        !ledger->caps.driver.SupportPerEngineTDR)
        return;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        CHECK_RULE(check, RULE_TDR_013, ledger->has_ddi[needed[i]], NULL,
                   "pOutputData, SupportPerEngineTDR", "is {1}, and the driver has no %s{=~0~}",
                   miniport_ddi_name(needed[i]));
    }
}

/* TDR-014. Of a node that the adapter does not have the driver may say no. */
static void check_group(struct check *check, const struct check_call *call)
{
    const DXGKARG_QUERYDEPENDENTENGINEGROUP *arg = call->arg.query_dependent_engine_group;
    const UINT nodes =
        check_ledger(check)->caps.driver.GpuEngineTopology.NbAsymetricProcessingNodes;

    if (!nodes || arg->NodeOrdinal >= nodes)
        return;
    if (!CHECK_RULE(check, RULE_TDR_014, NT_SUCCESS(call->status), NULL, "status",
                    "{0x%08x} (expected {=STATUS_SUCCESS})", (unsigned)call->status))
        return;
    CHECK_RULE(check, RULE_TDR_014,
               (arg->DependentNodeOrdinalMask >> arg->NodeOrdinal & 1) &&
                   (nodes >= 64 || !(arg->DependentNodeOrdinalMask >> nodes)),
               NULL, "DependentNodeOrdinalMask",
               "is {0x%llx} for node %u of %u (expected {=the bit of the node itself, and of no "
               "node that there is none of})",
               (unsigned long long)arg->DependentNodeOrdinalMask, arg->NodeOrdinal, nodes);
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    struct reset_watch *watch = state;

    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_ResetFromTimeout:
        after_reset(check, watch, call);
        break;
    case MINIPORT_DDI_RestartFromTimeout:
        watch->is_silent = false;
        CHECK_RULE(check, RULE_TDR_005, call->status == STATUS_SUCCESS, NULL, "status",
                   "{0x%08x} (expected {=STATUS_SUCCESS})", (unsigned)call->status);
        break;
    case MINIPORT_DDI_ResetEngine:
        after_reset_engine(check, watch, call);
        break;
    case MINIPORT_DDI_SubmitCommandVirtual:
        note_refused(watch, call);
        break;
    case MINIPORT_DDI_QueryEngineStatus:
        after_engine_status(check, watch, call);
        break;
    case MINIPORT_DDI_QueryDependentEngineGroup:
        check_group(check, call);
        break;
    case MINIPORT_DDI_QueryAdapterInfo:
        check_engine_ddis(check, call);
        break;
    case MINIPORT_DDI_BuildPagingBuffer:
        if (NT_SUCCESS(call->status))
            follow_content(check, watch, call);
        break;
    case MINIPORT_DDI_DestroyAllocation:
        after_destroy(watch, call->arg.destroy_allocation);
        break;
    default:
        break;
    }
}

static void retired(struct check *check, void *state, const struct check_packet *packet)
{
    struct reset_watch *watch = state;

    if (packet->state != CHECK_COMPLETED || packet->node >= CHECK_MAX_NODES)
        return;
    note_progress(watch, packet->node);
    watch->nodes[packet->node].has_completed = true;
    watch->nodes[packet->node].completed = packet->fence;
    watch->nodes[packet->node].has_refused &=
        !check_fence_reached(watch->nodes[packet->node].refused, packet->fence);
    if (has_clock(check)) {
        if (!watch->is_excused)
            check_time(check, watch, packet, "was reported complete late");
        watch->nodes[packet->node].begun_ns = now(check);
    } else if (packet->gpu_queued) {
        check_looked_at(check, RULE_TDR_012);
    }
}

static void gpu(struct check *check, void *state, const struct check_gpu_event *event)
{
    struct reset_watch *watch = state;
    const struct check_call *call = check_current_call(check);
    enum rule_id rule =
        call && call->ddi == MINIPORT_DDI_BuildPagingBuffer ? RULE_TDR_004 : RULE_TDR_001;

    watch->is_excused |= event->kind == CHECK_GPU_HUNG || event->kind == CHECK_GPU_FAULT;
    if (event->kind == CHECK_GPU_FAULT && event->node < CHECK_MAX_NODES)
        watch->nodes[event->node].has_faulted = true;
    else if (event->kind == CHECK_GPU_DONE)
        note_progress(watch, event->node);
    if (!watch->is_silent && event->kind == CHECK_GPU_DONE && !event->packet)
        check_dropped(check, watch, event);
    if (!watch->is_silent || event->kind == CHECK_GPU_HUNG || event->kind == CHECK_GPU_FENCE ||
        event->kind == CHECK_GPU_DROPPED)
        return;
    CHECK_RULE(check, rule, false, NULL, "",
               "%s fence 0x%x %s; it is silent until RestartFromTimeout",
               event->kind == CHECK_GPU_QUEUED ? "was handed" : "went on with", event->fence,
               rule == RULE_TDR_004 ? "while a paging buffer was built in the clean-up"
                                    : "after ResetFromTimeout had come back");
}

static void init(struct check *check, void *state)
{
    struct reset_watch *watch = state;

    id_map_init(&watch->entered, check_configuration(check)->services);
}

static void fini(struct check *check, void *state)
{
    struct reset_watch *watch = state;

    id_map_fini(&watch->entered);
}

const struct check_watcher check_reset_watcher = {
    .name = "reset",
    .state_bytes = sizeof(struct reset_watch),
    .init = init,
    .fini = fini,
    .before = before,
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_ResetFromTimeout, MINIPORT_DDI_RestartFromTimeout,
                               MINIPORT_DDI_ResetEngine, MINIPORT_DDI_QueryEngineStatus,
                               MINIPORT_DDI_QueryAdapterInfo, MINIPORT_DDI_BuildPagingBuffer,
                               MINIPORT_DDI_DestroyAllocation, MINIPORT_DDI_SubmitCommandVirtual,
                               MINIPORT_DDI_QueryDependentEngineGroup),
    .callback = callback,
    .retired = retired,
    .gpu = gpu,
};
