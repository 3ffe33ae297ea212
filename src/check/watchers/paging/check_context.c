/*
 * Watcher: context allocations, memory that a driver asks for with a callback and gives its first
 * content (CTX-001..012, CTX-014).
 *
 * That it is resident is judged when work of its context is submitted, by the operations built so
 * far: these are followed from its first content on, and again from the next one behind a reset or
 * a sleep. Which context the system means is known from the call in whose middle the driver asked.
 */
#include "check/check_watch.h"
#include "miniport/operation.h"

#define MAX_ALLOCATIONS  256
#define UPDATES_FOLLOWED 64u /* that have not retired, at a time */

struct context_allocation {
    DXGKARGCB_CREATECONTEXTALLOCATION made; /* with the system's handle */
    uint64_t initialised_epoch;             /* 0: INIT_CONTEXT_RESOURCE has not come */
    HANDLE context, device; /* the driver's; NULL: not known, or of the other kind */
    uint64_t place_epoch;   /* of is_in */
    bool is_in;             /* content is where the GPU reaches it */
    unsigned segment;       /* 0: not known */
    uint64_t last_update;   /* number of the last update that the driver asked for; 0: none */
};

/* Handles are few: contexts are. When there is no more room nothing more is judged. */
struct context_watch {
    struct context_allocation allocations[MAX_ALLOCATIONS];
    unsigned count;
    bool is_full;
    uint64_t written; /* bytes, by the operation that is being built */
    /* Since update_epoch began. */
    uint64_t update_epoch;
    uint64_t updates_asked, updates_built, updates_retired;
    uint64_t updates_at_call; /* built, when DxgkCbUpdateContextAllocation was called last */
    uint64_t update_operations[UPDATES_FOLLOWED]; /* of update n at n % UPDATES_FOLLOWED */
};

static struct context_allocation *find(struct context_watch *watch, HANDLE handle)
{
    for (unsigned i = 0; i < watch->count; i++) {
        if (watch->allocations[i].made.hAllocation == handle ||
            watch->allocations[i].made.hDriverAllocation == handle)
            return &watch->allocations[i];
    }
    return NULL;
}

/* ---- Where DMA buffers may be ---------------------------------------------------------------- */

/*
 * CTX-015. Pages say that DMA buffers are in apertures or in system memory. They do not say that a
 * set may have no other segment beside an aperture.
 */
static void check_dma_segments(struct check *check, UINT set)
{
    const struct check_ledger *ledger = check_ledger(check);
    UINT apertures = 0;

    if (!ledger->segment_count ||
        ledger->caps.driver.MemoryManagementCaps.VirtualAddressingSupported)
        return;
    for (unsigned i = 0; i < ledger->segment_count; i++) {
        if (ledger->segments[i].flags.Aperture || ledger->segments[i].flags.Agp)
            apertures |= UINT32_C(1) << (ledger->segments[i].id - 1);
    }
    CHECK_RULE(check, RULE_CTX_015, !set || set & apertures, NULL, "DmaBufferSegmentSet",
               "is {0x%x}; the aperture segments of the adapter are {=~some of ~0x%x}", set,
               apertures);
}

/* ---- Drivers without contexts ---------------------------------------------------------------- */

static void check_awareness(struct check *check, const DXGKARG_QUERYADAPTERINFO *query)
{
    const struct check_ledger *ledger = check_ledger(check);

    if (query->Type == DXGKQAITYPE_DRIVERCAPS)
        CHECK_RULE(check, RULE_CTX_016,
                   check_has_contexts(ledger) ||
                       !ledger->caps.driver.SchedulingCaps.MultiEngineAware,
                   NULL, "SchedulingCaps.MultiEngineAware",
                   "is {1}, and the driver has no DxgkDdiCreateContext{=~0~}");
}

/* CTX-017. Some paging operations are nobody's. */
static void check_named_device(struct check *check, HANDLE handle, bool is_paging)
{
    const struct check_ledger *ledger = check_ledger(check);

    if (!check_has_contexts(ledger))
        CHECK_RULE(check, RULE_CTX_017,
                   (is_paging && !handle) || check_find_device(ledger, handle) != NULL, NULL,
                   "hDevice", "%p is the handle of no device, and the driver has no contexts",
                   handle);
}

static void check_named(struct check *check, const struct check_call *call)
{
    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_Render:
    case MINIPORT_DDI_RenderKm:
    case MINIPORT_DDI_Present:
        check_named_device(check, call->object, false);
        break;
    case MINIPORT_DDI_Patch:
        check_named_device(check, call->arg.patch->hDevice, call->arg.patch->Flags.Paging);
        break;
    case MINIPORT_DDI_SubmitCommand:
        check_named_device(check, call->arg.submit_command->hDevice,
                           call->arg.submit_command->Flags.Paging);
        break;
    case MINIPORT_DDI_BuildPagingBuffer:
        if (!check_has_contexts(check_ledger(check)))
            CHECK_RULE(check, RULE_CTX_017, !call->arg.build_paging_buffer->hSystemContext, NULL,
                       "hSystemContext", "is {not NULL}, and the driver has no contexts{=~NULL~}");
        break;
    default:
        break;
    }
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

/* CTX-014: there is somewhere to be contiguous, or to be mapped. */
static void check_segments(struct check *check, const DXGKARGCB_CREATECONTEXTALLOCATION *arg)
{
    const struct check_ledger *ledger = check_ledger(check);
    uint32_t there = 0;

    if (!arg->Flags.AccessedPhysically || !ledger->segment_count)
        return;
    for (unsigned i = 0; i < ledger->segment_count; i++)
        there |= UINT32_C(1) << (ledger->segments[i].id - 1);
    CHECK_RULE(check, RULE_CTX_014, arg->SupportedSegmentSet & there, NULL, "SupportedSegmentSet",
               "{0x%x} has no segment of the adapter ({=~some of ~0x%x}): an allocation with "
               "AccessedPhysically is in none",
               arg->SupportedSegmentSet, there);
}

static void on_create(struct check *check, struct context_watch *watch,
                      const struct check_callback *callback)
{
    const DXGKARGCB_CREATECONTEXTALLOCATION *arg = callback->data;
    bool is_shared = arg->ContextAllocationFlags.SharedAcrossContexts;
    const struct check_call *outer = callback->outer;
    bool is_system = outer && outer->ddi == MINIPORT_DDI_CreateContext &&
                     outer->before.create_context->Flags.SystemContext;

    CHECK_RULE(check, RULE_CTX_001, !is_system, NULL, "hContext",
               "is the system's: 0x%llx bytes are asked for while it is created",
               (unsigned long long)arg->Size);
    CHECK_RULE(check, RULE_CTX_002,
               is_shared ? arg->hDevice && !arg->hContext : arg->hContext != NULL, NULL,
               "ContextAllocationFlags.SharedAcrossContexts",
               "is {%u}; hDevice is %s, hContext is %s (expected {=with 1 a device alone, with 0 a "
               "context})",
               is_shared, arg->hDevice ? "not NULL" : "NULL", arg->hContext ? "not NULL" : "NULL");
    check_segments(check, arg);
    if (!NT_SUCCESS(callback->status))
        return;
    watch->is_full |= watch->count == MAX_ALLOCATIONS;
    if (!watch->is_full)
        watch->allocations[watch->count++] = (struct context_allocation){
            .made = *arg,
            .device = is_shared && outer && outer->ddi == MINIPORT_DDI_CreateContext ? outer->object
                                                                                     : NULL,
            .place_epoch = check_ledger(check)->tables.epoch,
        };
}

static void on_destroy(struct context_watch *watch, HANDLE handle)
{
    struct context_allocation *gone = find(watch, handle);

    if (gone)
        *gone = watch->allocations[--watch->count];
}

/* Behind a reset or a sleep nobody knows which updates are done again. */
static void begin_updates(const struct check_ledger *ledger, struct context_watch *watch)
{
    if (watch->update_epoch == ledger->tables.epoch)
        return;
    watch->update_epoch = ledger->tables.epoch;
    watch->updates_asked = watch->updates_built = watch->updates_retired = 0;
    watch->updates_at_call = 0;
    for (unsigned i = 0; i < watch->count; i++)
        watch->allocations[i].last_update = 0;
}

/*
 * The driver asks for an update. While the system waits for its packet the driver may ask for
 * another one, which is built behind it: numbers are given when the driver asks.
 */
static void note_asked(struct context_watch *watch, struct context_allocation *allocation)
{
    watch->updates_asked++;
    if (allocation)
        allocation->last_update = watch->updates_asked;
}

/*
 * The system refuses the update. When another one has been asked for since, the numbers no longer
 * say which is which, and check_updated() judges nothing.
 */
static void take_back(struct context_watch *watch, struct context_allocation *allocation)
{
    if (!allocation || allocation->last_update != watch->updates_asked)
        return;
    allocation->last_update = 0;
    watch->updates_asked--;
}

/*
 * CTX-011. A call in whose middle the driver asks may be one that the system cannot leave: there it
 * waits for nothing, and before_submission() looks whether the context does.
 */
static void on_updated(struct check *check, struct context_watch *watch,
                       const struct check_callback *callback)
{
    const DXGKARGCB_UPDATECONTEXTALLOCATION *arg = callback->data;
    struct context_allocation *allocation = find(watch, arg->hAllocation);

    if (watch->update_epoch != check_ledger(check)->tables.epoch)
        return;
    if (!NT_SUCCESS(callback->status)) {
        take_back(watch, allocation);
        return;
    }
    if (!callback->outer)
        CHECK_RULE(check, RULE_CTX_011,
                   watch->updates_built > watch->updates_at_call &&
                       watch->updates_retired == watch->updates_built,
                   NULL, "status", "STATUS_SUCCESS; %s UPDATE_CONTEXT_ALLOCATION was built, and %s",
                   watch->updates_built > watch->updates_at_call ? "an" : "no",
                   watch->updates_built > watch->updates_at_call ? "its packet has not retired"
                                                                 : "nothing has run");
}

static void count_update(struct check *check, struct context_watch *watch)
{
    const struct check_ledger *ledger = check_ledger(check);

    begin_updates(ledger, watch);
    watch->updates_built++;
    watch->update_operations[watch->updates_built % UPDATES_FOLLOWED] = ledger->operation + 1;
}

/*
 * CTX-011, where the callback could not wait. Updates run in the order in which they were asked
 * for. One that failed for want of memory is never built: from then on nobody can tell which is
 * which, and nothing is judged.
 */
static void check_updated(struct check *check, const struct context_watch *watch,
                          const struct context_allocation *allocation,
                          const struct check_context *context)
{
    if (!allocation->last_update || watch->update_epoch != check_ledger(check)->tables.epoch ||
        watch->updates_built != watch->updates_asked)
        return;
    CHECK_RULE(check, RULE_CTX_011, watch->updates_retired >= allocation->last_update,
               &context->object, "hContext",
               "runs, and the update of context allocation %p that the driver asked for has not "
               "run",
               allocation->made.hAllocation);
}

/* CTX-012: the system would wait for an operation that it is building. */
static void on_update(struct check *check, struct context_watch *watch,
                      const struct check_callback *callback)
{
    const DXGKARGCB_UPDATECONTEXTALLOCATION *arg = callback->data;
    bool is_inside = false;

    if (callback->has_returned) {
        on_updated(check, watch, callback);
        return;
    }
    begin_updates(check_ledger(check), watch);
    watch->updates_at_call = watch->updates_built;
    note_asked(watch, find(watch, arg->hAllocation));

    for (const struct check_call *outer = callback->outer; outer; outer = outer->outer)
        is_inside |= outer->ddi == MINIPORT_DDI_BuildPagingBuffer;
    CHECK_RULE(check, RULE_CTX_012, !is_inside, NULL, "",
               "is called inside DxgkDdiBuildPagingBuffer, on which it would wait");
}

static void on_callback(struct check *check, void *state, const struct check_callback *callback)
{
    switch ((unsigned)callback->callback) {
    case TRACE_CALLBACK_create_context_allocation:
        on_create(check, state, callback);
        break;
    case TRACE_CALLBACK_destroy_context_allocation:
        if (NT_SUCCESS(callback->status))
            on_destroy(state, callback->result);
        break;
    case TRACE_CALLBACK_update_context_allocation:
        on_update(check, state, callback);
        break;
    default:
        break;
    }
}

/* ---- First content --------------------------------------------------------------------------- */

static bool may_have_cpu_address(const struct check_ledger *ledger,
                                 const DXGKARGCB_CREATECONTEXTALLOCATION *made)
{
    for (unsigned i = 0; i < ledger->segment_count; i++) {
        if ((made->SupportedSegmentSet >> i & 1) && !ledger->segments[i].flags.Aperture)
            return false;
    }
    return made->Flags.CpuVisible && made->Flags.Protected;
}

static void before_init(struct check *check, struct context_watch *watch,
                        const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct check_ledger *ledger = check_ledger(check);
    struct context_allocation *allocation = find(watch, arg->InitContextResource.hAllocation);
    uint64_t va = arg->InitContextResource.Destination.GpuVirtualAddress, page;

    if (watch->is_full)
        return;
    if (!CHECK_RULE(check, RULE_CTX_009, allocation != NULL, NULL, "hAllocation",
                    "%p is of no allocation that DxgkCbCreateContextAllocation has made",
                    arg->InitContextResource.hAllocation))
        return;
    CHECK_RULE(check, RULE_CTX_005, allocation->initialised_epoch != ledger->tables.epoch, NULL,
               "hAllocation", "%p gets its first content again; nothing was lost",
               arg->InitContextResource.hAllocation);
    allocation->initialised_epoch = ledger->tables.epoch;
    CHECK_RULE(check, RULE_CTX_007,
               !arg->InitContextResource.Destination.VirtualAddress ||
                   may_have_cpu_address(ledger, &allocation->made),
               NULL, "Destination.VirtualAddress",
               "is {not NULL}: CpuVisible %u, Protected %u, segments 0x%x (expected both, and "
               "apertures only){=~NULL~}",
               allocation->made.Flags.CpuVisible, allocation->made.Flags.Protected,
               allocation->made.SupportedSegmentSet);
    if (!ledger->system_process || !check_is_leaf_known(ledger, ledger->system_process, va))
        return;
    CHECK_RULE(check, RULE_CTX_008, check_translate(ledger, ledger->system_process, va, &page) != 0,
               NULL, "Destination.GpuVirtualAddress",
               "nothing is mapped at VA 0x%llx of the paging process", (unsigned long long)va);
}

/* ---- Where it is ----------------------------------------------------------------------------- */

static void note_place(struct check *check, struct context_watch *watch,
                       const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct check_ledger *ledger = check_ledger(check);
    HANDLE handle = miniport_operation_allocation(arg);
    struct context_allocation *allocation = handle ? find(watch, handle) : NULL;
    uint64_t address, size;
    unsigned segment;

    if (!allocation)
        return;
    if (arg->Operation == DXGK_OPERATION_NOTIFY_RESIDENCY) {
        allocation->is_in = arg->NotifyResidency.Resident;
        allocation->segment = arg->NotifyResidency.PhysicalAddress.SegmentId;
        allocation->place_epoch = ledger->tables.epoch;
        return;
    }
    if (arg->Operation == DXGK_OPERATION_INIT_CONTEXT_RESOURCE) {
        allocation->is_in = true;
        allocation->segment = arg->InitContextResource.Destination.SegmentId;
        allocation->place_epoch = ledger->tables.epoch;
        return;
    }
    switch (check_paging_effect(ledger, arg, &segment, &address, &size)) {
    case CHECK_EFFECT_IN:
    case CHECK_EFFECT_MOVE:
    case CHECK_EFFECT_MAP:
    case CHECK_EFFECT_VALID:
        allocation->is_in = true;
        allocation->segment = segment;
        break;
    case CHECK_EFFECT_UNMAP:
        if (allocation->segment != arg->UnmapApertureSegment.SegmentId)
            return;
        allocation->is_in = false;
        break;
    case CHECK_EFFECT_OUT:
    case CHECK_EFFECT_DISCARD:
        allocation->is_in = false;
        break;
    default:
        return;
    }
    allocation->place_epoch = ledger->tables.epoch;
}

/* CTX-003, CTX-004. */
static void before_submission(struct check *check, const struct context_watch *watch,
                              const struct check_packet *packet)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_context *context = check_find_context(ledger, packet->context);

    if (packet->is_paging || packet->is_null || !packet->bytes || !context)
        return;
    for (unsigned i = 0; i < watch->count; i++) {
        const struct context_allocation *allocation = &watch->allocations[i];
        bool is_own = allocation->context == packet->context;
        bool is_of_device = allocation->device && context->device &&
                            check_find_device(ledger, allocation->device) == context->device;
        enum rule_id rule = is_own ? RULE_CTX_003 : RULE_CTX_004;

        if (is_own || is_of_device)
            check_updated(check, watch, allocation, context);
        if ((!is_own && !is_of_device) || allocation->place_epoch != ledger->tables.epoch)
            continue;
        CHECK_RULE(check, rule, allocation->is_in, &context->object, "hContext",
                   "0x%llx bytes of context allocation %p%s are %s",
                   (unsigned long long)allocation->made.Size, allocation->made.hAllocation,
                   is_own ? "" : ", which its device's contexts share,",
                   allocation->initialised_epoch ? "not resident"
                                                 : "nowhere: they have no first content");
    }
}

/* Allocations that the driver asked for in the middle of CreateContext belong to that context. */
static void after_create_context(struct context_watch *watch, const struct check_call *call)
{
    for (unsigned i = 0; i < watch->count; i++) {
        struct context_allocation *allocation = &watch->allocations[i];

        if (allocation->made.hContext &&
            allocation->made.hContext == call->before.create_context->hContext)
            allocation->context = call->arg.create_context->hContext;
    }
}

static void forget_context(struct context_watch *watch, HANDLE context)
{
    for (unsigned i = 0; i < watch->count; i++) {
        if (watch->allocations[i].context == context)
            watch->allocations[i].context = NULL;
    }
}

static void forget_device(struct context_watch *watch, HANDLE device)
{
    for (unsigned i = 0; i < watch->count; i++) {
        if (watch->allocations[i].device == device)
            watch->allocations[i].device = NULL;
    }
}

/* ---- The driver's bytes ---------------------------------------------------------------------- */

/*
 * CTX-006, CTX-010: only the driver knows the bytes, but without a command and without an address
 * for the CPU there are none.
 */
static void check_content(struct check *check, const struct context_watch *watch,
                          const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    bool is_update = arg->Operation == DXGK_OPERATION_UPDATE_CONTEXT_ALLOCATION;
    enum rule_id rule = is_update ? RULE_CTX_010 : RULE_CTX_006;

    if (is_update ? !arg->UpdateContextAllocation.DriverPrivateDataSize
                  : arg->InitContextResource.Destination.VirtualAddress != NULL)
        return;
    CHECK_RULE(check, rule, watch->written, NULL, "pDmaBuffer",
               is_update ? "nothing was written: the content stays, though %u bytes say how "
                           "it is to change"
                         : "nothing was written: the place has no first content",
               arg->UpdateContextAllocation.DriverPrivateDataSize);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void before_build(struct check *check, struct context_watch *watch,
                         const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (check_ledger(check)->is_operation_open)
        return;
    watch->written = 0;
    if (arg->Operation == DXGK_OPERATION_INIT_CONTEXT_RESOURCE)
        before_init(check, watch, arg);
    else if (arg->Operation == DXGK_OPERATION_UPDATE_CONTEXT_ALLOCATION)
        count_update(check, watch);
    note_place(check, watch, arg);
}

static void before(struct check *check, void *state, const struct check_call *call)
{
    check_named(check, call);
    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_BuildPagingBuffer:
        before_build(check, state, call->before.build_paging_buffer);
        break;
    case MINIPORT_DDI_SubmitCommand:
    case MINIPORT_DDI_SubmitCommandVirtual:
        if (call->packet)
            before_submission(check, state, call->packet);
        break;
    case MINIPORT_DDI_DestroyContext:
        forget_context(state, call->object);
        break;
    case MINIPORT_DDI_DestroyDevice:
        forget_device(state, call->object);
        break;
    default:
        break;
    }
}

static void after_build(struct check *check, struct context_watch *watch,
                        const struct check_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *was = call->before.build_paging_buffer;

    if (was->Operation != DXGK_OPERATION_INIT_CONTEXT_RESOURCE &&
        was->Operation != DXGK_OPERATION_UPDATE_CONTEXT_ALLOCATION)
        return;
    watch->written +=
        (uintptr_t)call->arg.build_paging_buffer->pDmaBuffer - (uintptr_t)was->pDmaBuffer;
    if (call->status == STATUS_SUCCESS)
        check_content(check, watch, was);
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    if (call->ddi == MINIPORT_DDI_BuildPagingBuffer)
        after_build(check, state, call);
    else if (call->ddi == MINIPORT_DDI_QueryAdapterInfo && NT_SUCCESS(call->status))
        check_awareness(check, call->arg.query_adapter_info);
    else if (call->ddi == MINIPORT_DDI_CreateDevice && NT_SUCCESS(call->status) &&
             !check_has_contexts(check_ledger(check)) && call->arg.create_device->pInfo)
        check_dma_segments(check, call->arg.create_device->pInfo->DmaBufferSegmentSet);
    else if (call->ddi == MINIPORT_DDI_CreateContext && NT_SUCCESS(call->status)) {
        check_dma_segments(check, call->arg.create_context->ContextInfo.DmaBufferSegmentSet);
        after_create_context(state, call);
    }
}

static void retired(struct check *check, void *state, const struct check_packet *packet)
{
    struct context_watch *watch = state;

    uint64_t last;

    if (!packet->is_paging || packet->state != CHECK_COMPLETED || list_is_empty(&packet->built))
        return;
    last = check_packet_last(check_ledger(check), packet);
    while (watch->updates_retired < watch->updates_built &&
           watch->update_operations[(watch->updates_retired + 1) % UPDATES_FOLLOWED] <= last)
        watch->updates_retired++;
}

const struct check_watcher check_context_watcher = {
    .name = "context allocations",
    .state_bytes = sizeof(struct context_watch),
    .before = before,
    .before_calls = CHECK_CALLS(MINIPORT_DDI_BuildPagingBuffer, MINIPORT_DDI_SubmitCommand,
                                MINIPORT_DDI_SubmitCommandVirtual, MINIPORT_DDI_DestroyContext,
                                MINIPORT_DDI_DestroyDevice, MINIPORT_DDI_Render,
                                MINIPORT_DDI_RenderKm, MINIPORT_DDI_Present, MINIPORT_DDI_Patch),
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_BuildPagingBuffer, MINIPORT_DDI_QueryAdapterInfo,
                               MINIPORT_DDI_CreateDevice, MINIPORT_DDI_CreateContext),
    .retired = retired,
    .callback = on_callback,
};
