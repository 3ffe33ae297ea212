/*
 * Watcher: allocations are resident when they are used, requests and offers end as they should, and
 * nothing comes to a place that is still in use (RES, OFFER).
 *
 * Places are followed as packets are submitted, because operations are built ahead. In the physical
 * model they are ranges; by page tables an allocation is in many pieces, and the first page of each
 * update stands for the others.
 */
#include "check/check_watch.h"

#include "base/bits.h"
#include "miniport/operation.h"

#include <string.h>

#define PAGE              4096u
#define WRITTEN_PRIMARIES 16u /* entries of a list that only notes writes */
#define MAX_BUDGETS       32u

/* Where an allocation is, or was until something else comes there. */
struct place {
    uint64_t start, end;
    void *allocation;
    uint64_t number;
    bool is_left, has_use;
    unsigned use_node;
    uint32_t use_fence;
};

struct places {
    struct place *list; /* by start; they do not overlap */
    size_t count, room;
};

/* The owner of a page, as page tables said last. */
struct owner {
    void *allocation;
    uint64_t number;
    unsigned stay;
};

/* The last answer about a process and a group. */
struct budget_watch {
    const void *process;
    unsigned group;
    bool was_asked; /* to trim, since it was not over its budget */
};

struct residency_watch {
    struct places places[CHECK_MAX_SEGMENTS];
    struct id_map owners; /* by segment and page */
    struct budget_watch budgets[MAX_BUDGETS];
    unsigned budget_count;
};

static bool is_iommu(struct check *check)
{
    const struct check_caps *caps = &check_ledger(check)->caps;

    return caps->has_driver && caps->driver.MemoryManagementCaps.IoMmuSupported &&
           !caps->driver.MemoryManagementCaps.GpuMmuSupported;
}

/* ---- Places ---------------------------------------------------------------------------------- */

/* The first place that ends behind the address. */
static size_t place_from(const struct places *places, uint64_t address)
{
    size_t low = 0, high = places->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (places->list[middle].end > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static bool make_room(struct check *check, struct places *places)
{
    size_t room = places->room ? places->room * 2 : 64;
    struct place *list;

    if (places->count < places->room)
        return true;
    list = base_alloc_array(check_configuration(check)->services, room, sizeof *list);
    if (!list) {
        check_lost(check);
        return false;
    }
    if (places->count)
        memcpy(list, places->list, places->count * sizeof *list);
    base_free_array(check_configuration(check)->services, places->list, places->room, sizeof *list);
    places->list = list;
    places->room = room;
    return true;
}

static void check_place(struct check *check, const struct place *before,
                        const struct check_allocation *allocation, uint64_t address)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_packet *user =
        before->is_left && before->has_use
            ? check_find_packet(ledger, before->use_node, before->use_fence)
            : NULL;

    if (!before->is_left)
        CHECK_RULE(check, RULE_RES_011, false, &allocation->object, "",
                   "it comes to 0x%llx, where allocation a%llu is from 0x%llx on",
                   (unsigned long long)address, (unsigned long long)before->number,
                   (unsigned long long)before->start);
    else
        CHECK_RULE(check, RULE_RES_011, !user, &allocation->object, "",
                   "it comes to 0x%llx, where allocation a%llu was, which the packet with fence "
                   "0x%x on node %u uses and has not finished",
                   (unsigned long long)address, (unsigned long long)before->number,
                   before->use_fence, before->use_node);
}

static void occupy(struct check *check, struct residency_watch *watch,
                   const struct check_built *piece, const struct check_allocation *allocation)
{
    struct places *places = &watch->places[piece->segment - 1];
    uint64_t start = piece->address;
    uint64_t end =
        start + align_up(check_bytes_in(check_ledger(check), allocation, piece->segment), PAGE);
    size_t first = place_from(places, start), last;

    check_looked_at(check, RULE_RES_011);
    for (last = first; last < places->count && places->list[last].start < end; last++) {
        if (places->list[last].number != allocation->object.number)
            check_place(check, &places->list[last], allocation, start);
    }
    if (last == first) {
        if (!make_room(check, places))
            return;
        memmove(&places->list[first + 1], &places->list[first],
                (places->count - first) * sizeof places->list[0]);
        places->count++;
    } else if (last > first + 1) {
        memmove(&places->list[first + 1], &places->list[last],
                (places->count - last) * sizeof places->list[0]);
        places->count -= last - first - 1;
    }
    places->list[first] = (struct place){
        .start = start,
        .end = end,
        .allocation = piece->allocation,
        .number = piece->allocation_number,
    };
}

static void leave_place(struct residency_watch *watch, const struct check_allocation *allocation,
                        unsigned segment, uint64_t address)
{
    struct places *places = segment ? &watch->places[segment - 1] : NULL;
    size_t index = places ? place_from(places, address) : 0;
    struct place *place = places && index < places->count ? &places->list[index] : NULL;

    if (!place || place->number != allocation->object.number)
        return;
    place->is_left = true;
    place->has_use = allocation->has_use;
    place->use_node = allocation->use_node;
    place->use_fence = allocation->use_fence;
}

static void forget_places(struct check *check, struct residency_watch *watch)
{
    struct owner *owner;
    size_t position = 0;

    for (unsigned i = 0; i < CHECK_MAX_SEGMENTS; i++)
        watch->places[i].count = 0;
    while ((owner = id_map_next(&watch->owners, &position)))
        base_free(check_configuration(check)->services, owner, sizeof *owner);
    id_map_fini(&watch->owners);
    id_map_init(&watch->owners, check_configuration(check)->services);
}

/* What page tables say of the first page of an update. */
static void check_owner(struct check *check, struct residency_watch *watch,
                        const struct check_allocation *allocation,
                        const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    const struct check_ledger *ledger = check_ledger(check);
    const DXGK_PTE *first =
        update->pPageTableEntries ? update->pPageTableEntries : update->pPageTableEntries64KB;
    uint64_t key = (first->PageAddress << 5 | first->Segment) + 1;
    struct owner *owner = id_map_find(&watch->owners, key);
    const struct check_allocation *other;

    if (!check_is_memory(check_ledger(check), (unsigned)first->Segment))
        return;
    if (!owner) {
        owner = base_alloc(check_configuration(check)->services, sizeof *owner);
        if (!owner || !id_map_set(&watch->owners, key, owner)) {
            base_free(check_configuration(check)->services, owner, owner ? sizeof *owner : 0);
            check_lost(check);
            return;
        }
        *owner = (struct owner){.number = allocation->object.number};
    }
    other = check_find_allocation(ledger, owner->allocation);
    if (other && (other == allocation || other->object.number != owner->number))
        other = NULL;
    /* A large page of what is destroyed may go with an entry that names no allocation. */
    if (other && other->is_dying && !check_find_user(ledger, other))
        other = NULL;
    CHECK_RULE(check, RULE_RES_011, !other || other->stay != owner->stay, &allocation->object, "",
               "page 0x%llx of segment %u becomes its own; allocation a%llu is there",
               (unsigned long long)first->PageAddress, (unsigned)first->Segment,
               (unsigned long long)owner->number);
    owner->allocation = (void *)(uintptr_t)allocation->object.handle;
    owner->number = allocation->object.number;
    owner->stay = allocation->stay;
}

/* ---- Submissions ----------------------------------------------------------------------------- */

/* Offered content goes when the work that was submitted before the offer has ended. */
static void check_offered(struct check *check, const struct check_allocation *allocation,
                          enum check_effect effect)
{
    const struct check_packet *user;

    if (!allocation->is_offered ||
        (effect != CHECK_EFFECT_DISCARD && effect != CHECK_EFFECT_INVALID))
        return;
    user = check_find_user(check_ledger(check), allocation);
    CHECK_RULE(check, RULE_OFFER_002, !user, &allocation->object, "",
               "what was offered is dropped while the packet with fence 0x%x on node %u, "
               "submitted before, has not finished",
               user->fence, user->node);
}

static void before_paging_submit(struct check *check, struct residency_watch *watch,
                                 const struct check_packet *packet)
{
    const struct check_built *piece;

    if (packet->submit_count > 1)
        return;
    list_for_each (piece, &packet->built, struct check_built, link) {
        const struct check_allocation *allocation =
            check_built_allocation(check_ledger(check), piece);

        if (!allocation)
            continue;
        check_offered(check, allocation, piece->effect);
        if (check_is_version(check_ledger(check), DXGKDDI_INTERFACE_VERSION_WDDM2_0))
            continue;
        if (piece->effect == CHECK_EFFECT_OUT || piece->effect == CHECK_EFFECT_DISCARD ||
            piece->effect == CHECK_EFFECT_MOVE)
            leave_place(watch, allocation, piece->from_segment, piece->from_address);
        if ((piece->effect == CHECK_EFFECT_IN || piece->effect == CHECK_EFFECT_MOVE) &&
            check_is_memory(check_ledger(check), piece->segment))
            occupy(check, watch, piece, allocation);
    }
}

/* The device that a packet runs for holds nothing that is out. */
static void before_virtual_submit(struct check *check, const struct check_packet *packet)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_context *context = check_find_context(ledger, packet->context);
    const struct check_device *device = context ? context->device : NULL;
    struct check_object *object;
    size_t position = 0;
    unsigned counted = 0;

    if (!device || !ledger->has_client || packet->is_paging)
        return;
    check_looked_at(check, RULE_RES_002);
    if (!device->missing_count) {
        check_looked_at(check, RULE_RES_003);
        return;
    }
    while ((object = id_map_next(&ledger->objects[CHECK_ALLOCATION], &position))) {
        const struct check_allocation *allocation = (struct check_allocation *)object;
        const struct check_holder *holder = allocation->holders;

        while (holder && holder->device != device->object.number)
            holder = holder->next;
        if (!holder || holder->made <= holder->evicted || !allocation->is_out ||
            allocation->is_offered)
            continue;
        counted = holder->evicted;
        check_report(check, counted ? RULE_RES_003 : RULE_RES_002, object, "hContext",
                     "it is not resident; its device asked for it %u times and gave back %u, and "
                     "the context of that device runs",
                     holder->made, holder->evicted);
        return;
    }
}

/* ---- Lists ----------------------------------------------------------------------------------- */

static void before_patch(struct check *check, const DXGKARG_PATCH *arg)
{
    struct check_ledger *ledger = check_ledger(check);
    const struct check_context *context = check_find_context(ledger, arg->hContext);
    bool is_new = check_is_version(check_ledger(check), DXGKDDI_INTERFACE_VERSION_WDDM2_0);
    enum rule_id rule = is_new ? RULE_RES_008 : RULE_RES_001;

    if (arg->Flags.Paging)
        return;
    for (unsigned i = 0; i < arg->AllocationListSize; i++) {
        const DXGK_ALLOCATIONLIST *entry = &arg->pAllocationList[i];
        struct check_allocation *allocation = check_find_listed(ledger, entry);
        const char *field = "pAllocationList";
        bool is_there;

        if (!allocation)
            continue;
        if (!entry->SegmentId) {
            if (is_new)
                CHECK_RULE(check, rule, false, &allocation->object, field,
                           "it is not resident, and the driver is asked to patch");
            continue;
        }
        allocation->is_written |= entry->WriteOperation;
        allocation->has_use = context != NULL;
        allocation->use_node = context ? context->node : 0;
        allocation->use_fence = arg->SubmissionFenceId;
        if (is_new || allocation->is_place_lost ||
            !check_is_memory(check_ledger(check), entry->SegmentId)) {
            check_looked_at(check, rule);
            continue;
        }
        is_there = allocation->is_placed && allocation->segment == entry->SegmentId &&
                   allocation->address == (uint64_t)entry->PhysicalAddress.QuadPart;
        CHECK_RULE(check, rule, is_there && !allocation->entering, &allocation->object, field,
                   "entry %u: segment %u, 0x%llx; %s (segment %u, 0x%llx)", i, entry->SegmentId,
                   (unsigned long long)entry->PhysicalAddress.QuadPart,
                   !allocation->is_placed ? "paging operations have it nowhere"
                   : is_there             ? "the operation that brings it in has not finished"
                                          : "paging operations put it elsewhere",
                   allocation->segment, (unsigned long long)allocation->address);
    }
}

/* ---- Offers ---------------------------------------------------------------------------------- */

/*
 * Another allocation in the same segment that had to go before, and could. Its offer takes effect
 * behind the work that was queued before (OFFER-002).
 */
static const struct check_allocation *find_lower(const struct check_ledger *ledger,
                                                 const struct check_allocation *than)
{
    struct check_object *object;
    size_t position = 0;

    while ((object = id_map_next(&ledger->objects[CHECK_ALLOCATION], &position))) {
        const struct check_allocation *allocation = (struct check_allocation *)object;

        if (allocation->is_offered && allocation->is_placed && !allocation->is_dying &&
            allocation->offer_class < than->offer_class && allocation->segment == than->segment &&
            !allocation->departs && !allocation->pending && !allocation->work_count &&
            !check_find_user(ledger, allocation))
            return allocation;
    }
    return NULL;
}

/*
 * Judged when the manager decides, not when the operation is built: the operation may wait in the
 * paging queue, and others are offered meanwhile.
 */
static void on_departure(struct check *check, struct check_allocation *allocation, bool is_dropped)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_allocation *lower;

    if (!allocation || !allocation->is_offered)
        return;
    allocation->departs = true;
    if (is_dropped)
        CHECK_RULE(
            check, RULE_OFFER_002, !allocation->work_count, &allocation->object, "",
            "what was offered is dropped while work that was queued before waits (%u pieces)",
            allocation->work_count);
    if (!is_dropped || !allocation->is_placed || allocation->is_dying || ledger->is_asleep ||
        ledger->is_gone || check_is_version(ledger, DXGKDDI_INTERFACE_VERSION_WDDM2_0))
        return;
    lower = find_lower(ledger, allocation);
    CHECK_RULE(check, RULE_OFFER_001, !lower, &allocation->object, "",
               "it is dropped, offered with priority %u, while allocation a%llu, offered with "
               "%u, is in segment %u and idle",
               allocation->offer_class, (unsigned long long)lower->object.number,
               lower->offer_class, lower->segment);
}

static void check_offer_in(struct check *check, const struct check_allocation *allocation,
                           const DXGKARG_BUILDPAGINGBUFFER *arg, enum check_effect effect)
{
    const struct check_ledger *ledger = check_ledger(check);
    bool is_fill = miniport_operation_kind((unsigned)arg->Operation) == MINIPORT_KIND_FILL;

    if (effect != CHECK_EFFECT_IN || !ledger->has_client)
        return;
    if (allocation->reclaimed == CHECK_RECLAIMED_WHOLE)
        CHECK_RULE(check, RULE_OFFER_003, !is_fill, &allocation->object, "",
                   "it is filled; the reclaim said that its content is what it was");
    if (allocation->reclaimed == CHECK_RECLAIMED_EMPTY)
        CHECK_RULE(check, RULE_OFFER_005, is_fill, &allocation->object, "",
                   "it is brought in from a backing store; its content was dropped when it was "
                   "offered, and nobody wrote to it since");
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void check_iommu(struct check *check, const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    enum miniport_operation_kind kind = miniport_operation_kind((unsigned)arg->Operation);
    bool is_of_tables = kind == MINIPORT_KIND_TABLE;
    bool is_of_memory =
        kind == MINIPORT_KIND_FILL || arg->Operation == DXGK_OPERATION_VIRTUAL_TRANSFER;

    if (is_iommu(check))
        CHECK_RULE(check, RULE_RES_017, !is_of_tables && !is_of_memory, NULL, "Operation",
                   "the adapter is of the IoMmu model, which has %s",
                   is_of_tables ? "no page tables of its own" : "system memory only");
}

static void before_build(struct check *check, struct residency_watch *watch,
                         const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct check_ledger *ledger = check_ledger(check);
    struct check_allocation *allocation =
        check_find_allocation(ledger, miniport_operation_allocation(arg));
    uint64_t address, size;
    unsigned segment;
    enum check_effect effect;

    check_iommu(check, arg);
    if (!allocation || ledger->is_operation_open)
        return;
    effect = check_paging_effect(ledger, arg, &segment, &address, &size);
    check_offer_in(check, allocation, arg, effect);
    if (effect == CHECK_EFFECT_IN)
        CHECK_RULE(check, RULE_RES_014, !allocation->is_locked_outside, &allocation->object, "",
                   "it is locked since it was not resident, and can be in no aperture");
    if (effect == CHECK_EFFECT_VALID)
        check_owner(check, watch, allocation, &arg->UpdatePageTable);
    if (!arg->pDmaBuffer) /* the CPU writes the entries at once */
        check_offered(check, allocation, effect);
}

static void before(struct check *check, void *state, const struct check_call *call)
{
    struct residency_watch *watch = state;

    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_BuildPagingBuffer:
        before_build(check, watch, call->arg.build_paging_buffer);
        break;
    case MINIPORT_DDI_Patch:
        before_patch(check, call->arg.patch);
        break;
    case MINIPORT_DDI_SubmitCommand:
        if (call->packet && call->packet->is_paging)
            before_paging_submit(check, watch, call->packet);
        break;
    case MINIPORT_DDI_SubmitCommandVirtual:
        if (call->packet)
            before_virtual_submit(check, call->packet);
        break;
    case MINIPORT_DDI_DestroyAllocation: {
        const DXGKARG_DESTROYALLOCATION *arg = call->arg.destroy_allocation;

        for (unsigned i = 0; i < arg->NumAllocations; i++) {
            const struct check_allocation *allocation =
                check_find_allocation(check_ledger(check), arg->pAllocationList[i]);

            if (allocation)
                leave_place(watch, allocation, allocation->segment, allocation->address);
        }
        break;
    }
    case MINIPORT_DDI_CreateProcess: {
        const DXGKARG_CREATEPROCESS *arg = call->arg.create_process;

        if (is_iommu(check) && !arg->Flags.SystemProcess)
            CHECK_RULE(check, RULE_RES_017, arg->NumPasid && arg->pPasid, NULL, "pPasid",
                       "%u PASIDs: the IOMMU does not know the process", arg->NumPasid);
        break;
    }
    default:
        break;
    }
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    struct residency_watch *watch = state;

    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_CreateContext: {
        const DXGK_CONTEXTINFO *info = &call->arg.create_context->ContextInfo;

        if (!NT_SUCCESS(call->status) || !info->Caps.NoPatchingRequired ||
            !check_is_version(check_ledger(check), DXGKDDI_INTERFACE_VERSION_WDDM2_0))
            break;
        CHECK_RULE(check, RULE_RES_009,
                   !info->PatchLocationListSize && info->AllocationListSize == WRITTEN_PRIMARIES,
                   NULL, "ContextInfo",
                   "NoPatchingRequired with {%u patch locations and a list of %u allocations} "
                   "(expected {=0 and %u})",
                   info->PatchLocationListSize, info->AllocationListSize, WRITTEN_PRIMARIES);
        break;
    }
    case MINIPORT_DDI_ResetFromTimeout:
        forget_places(check, watch);
        break;
    default:
        break;
    }
}

/* ---- Clients --------------------------------------------------------------------------------- */

/* Its paging operations have run, and nothing has taken it out since. */
static void check_is_there(struct check *check, const struct check_client_event *event,
                           enum rule_id rule)
{
    const struct check_ledger *ledger = check_ledger(check);
    /* The value may be seen before the packet is reported. */
    bool is_early = check_is_version(check_ledger(check), DXGKDDI_INTERFACE_VERSION_WDDM2_2);

    for (unsigned i = 0; i < event->count; i++) {
        const struct check_allocation *allocation =
            check_find_client_allocation(ledger, event->allocations[i]);
        unsigned entering = !allocation ? 0
                            : is_early  ? allocation->entering_unsubmitted
                                        : allocation->entering;

        if (!allocation || allocation->is_dying || ledger->is_gone)
            continue;
        CHECK_RULE(check, rule, !entering, &allocation->object, "fence",
                   "%llu is told to be reached; %u operations that bring it in have not %s",
                   (unsigned long long)event->fence, entering,
                   is_early ? "been submitted" : "finished");
    }
}

static void check_order(struct check *check, const struct check_client_event *event)
{
    struct check_device *device = check_find_client_device(check_ledger(check), event->device);

    if (!device || !event->fence || !NT_SUCCESS(event->status))
        return;
    CHECK_RULE(check, RULE_RES_006, event->fence > device->last_paging_fence, &device->object,
               "fence", "the request with fence value %llu ends after the one with %llu",
               (unsigned long long)event->fence, (unsigned long long)device->last_paging_fence);
    device->last_paging_fence = event->fence;
}

/* Fence value, bytes to trim, and status of the answer to a request agree. */
static void check_request(struct check *check, const struct check_client_event *event,
                          enum rule_id rule)
{
    bool is_pending = event->status == STATUS_PENDING;
    bool is_short = event->status == STATUS_GRAPHICS_NO_VIDEO_MEMORY && event->is_within_budget;
    bool is_fence_right = is_pending == (event->fence != 0);
    bool is_trim_right = is_short == (event->bytes != 0);

    CHECK_RULE(check, rule, is_fence_right && is_trim_right, NULL,
               is_fence_right ? "NumBytesToTrim" : "PagingFenceValue",
               "{%llu} with status 0x%08x; bytes to trim: %llu", (unsigned long long)event->fence,
               (unsigned)event->status, (unsigned long long)event->bytes);
}

static void on_reclaim(struct check *check, const struct check_client_event *event)
{
    struct check_allocation *allocation =
        event->count ? check_find_client_allocation(check_ledger(check), event->allocations[0])
                     : NULL;
    const struct check_holder *holder;
    bool is_held = false;

    if (!allocation || !NT_SUCCESS(event->status))
        return;

    if (event->result == CHECK_RECLAIM_OK)
        CHECK_RULE(check, RULE_OFFER_003, !allocation->is_dropped || !allocation->had_content,
                   &allocation->object, "result",
                   "is {OK}; its content was discarded while it was offered");

    if (event->result == CHECK_RECLAIM_DISCARDED && !allocation->has_entered)
        allocation->reclaimed = CHECK_RECLAIMED_EMPTY;
    else if (event->result == CHECK_RECLAIM_OK && !allocation->has_entered &&
             allocation->had_content && !allocation->is_history_lost)
        allocation->reclaimed = CHECK_RECLAIMED_WHOLE;
    else
        allocation->reclaimed = CHECK_RECLAIMED_NOT;
    for (holder = allocation->holders; holder; holder = holder->next)
        is_held |= holder->made > holder->evicted;
    if (event->result == CHECK_RECLAIM_NOT_COMMITTED || !is_held)
        return;
    CHECK_RULE(
        check, RULE_OFFER_004,
        event->status == STATUS_PENDING ? event->fence != 0 : !event->fence && !allocation->is_out,
        &allocation->object, "PagingFenceValue",
        "%llu with status 0x%08x: it is held resident, and %s", (unsigned long long)event->fence,
        (unsigned)event->status, allocation->is_out ? "is not there" : "is there");
}

static void on_lock(struct check *check, const struct check_client_event *event)
{
    struct check_allocation *allocation =
        event->count ? check_find_client_allocation(check_ledger(check), event->allocations[0])
                     : NULL;
    const struct check_ledger *ledger = check_ledger(check);
    bool has_aperture = false, is_local = false, is_outside;

    if (!allocation)
        return;
    for (unsigned i = 0; i < ledger->segment_count; i++) {
        const struct check_segment *segment = check_find_segment(ledger, i + 1);

        if (!(allocation->info.SupportedWriteSegmentSet >> i & 1))
            continue;
        has_aperture |= !check_is_memory(check_ledger(check), i + 1);
        is_local |= check_is_memory(check_ledger(check), i + 1) && !segment->flags.CpuVisible;
    }
    if (!NT_SUCCESS(event->status)) {
        bool is_lawful = event->status == STATUS_GRAPHICS_ALLOCATION_BUSY ||
                         event->status == STATUS_NO_MEMORY || allocation->is_offered ||
                         allocation->is_dying || ledger->is_gone || event->ignores_sync ||
                         allocation->info.Flags.Overlay || allocation->info.Flags.Capture ||
                         event->status == STATUS_GRAPHICS_NO_VIDEO_MEMORY;

        if (has_aperture && is_local && allocation->info.Flags.CpuVisible &&
            !allocation->info.Flags.Protected)
            CHECK_RULE(check, RULE_RES_013, is_lawful, &allocation->object, "status",
                       "{0x%08x}: it can be in an aperture (segments 0x%x), where the CPU sees "
                       "it{=~a success status~}",
                       (unsigned)event->status, allocation->info.SupportedWriteSegmentSet);
        return;
    }
    if (has_aperture && is_local && allocation->info.Flags.CpuVisible)
        check_looked_at(check, RULE_RES_013);
    allocation->reclaimed = CHECK_RECLAIMED_NOT;
    is_outside =
        check_is_version(check_ledger(check), DXGKDDI_INTERFACE_VERSION_WDDM2_0)
            ? allocation->is_out || (!allocation->has_content && !allocation->is_history_lost)
            : !allocation->is_placed && !allocation->is_place_lost;
    if (!has_aperture && is_outside)
        allocation->is_locked_outside = true;
}

static struct budget_watch *budget_of(struct residency_watch *watch,
                                      const struct check_client_event *event)
{
    for (unsigned i = 0; i < watch->budget_count; i++) {
        if (watch->budgets[i].process == event->device && watch->budgets[i].group == event->group)
            return &watch->budgets[i];
    }
    if (watch->budget_count == MAX_BUDGETS)
        return NULL;
    watch->budgets[watch->budget_count] =
        (struct budget_watch){.process = event->device, .group = event->group};
    return &watch->budgets[watch->budget_count++];
}

static void on_budget(struct check *check, struct residency_watch *watch,
                      const struct check_client_event *event)
{
    struct budget_watch *budget = budget_of(watch, event);
    bool is_over = event->budget && event->held > event->budget;

    CHECK_RULE(check, RULE_RES_015, event->held <= event->bytes && event->bytes <= event->used,
               NULL, "",
               "group %u: %llu bytes are held, %llu resident of the process, and %llu of all",
               event->group, (unsigned long long)event->held, (unsigned long long)event->bytes,
               (unsigned long long)event->used);
    if (!budget)
        return;
    if (is_over)
        CHECK_RULE(check, RULE_RES_016, budget->was_asked, NULL, "",
                   "group %u: the process holds %llu bytes, over its budget of %llu, and was not "
                   "asked to trim",
                   event->group, (unsigned long long)event->held,
                   (unsigned long long)event->budget);
    if (!is_over)
        budget->was_asked = false;
}

static void client(struct check *check, void *state, const struct check_client_event *event)
{
    struct residency_watch *watch = state;
    struct check_allocation *allocation =
        event->count ? check_find_client_allocation(check_ledger(check), event->allocations[0])
                     : NULL;

    switch (event->kind) {
    case CHECK_CLIENT_MAKE_RESIDENT:
        check_request(check, event, RULE_RES_004);
        if (event->status == STATUS_SUCCESS)
            check_is_there(check, event, RULE_RES_005);
        break;
    case CHECK_CLIENT_RESIDENT:
        if (NT_SUCCESS(event->status))
            check_is_there(check, event, event->is_reclaim ? RULE_OFFER_004 : RULE_RES_005);
        check_order(check, event);
        break;
    case CHECK_CLIENT_OFFER:
        if (allocation && NT_SUCCESS(event->status)) {
            allocation->had_content = allocation->has_content;
            allocation->reclaimed = CHECK_RECLAIMED_NOT;
            allocation->has_entered = false;
        }
        break;
    case CHECK_CLIENT_DEPARTS:
        on_departure(check, allocation, event->is_dropped);
        break;
    case CHECK_CLIENT_RECLAIM:
        on_reclaim(check, event);
        break;
    case CHECK_CLIENT_LOCKED:
        on_lock(check, event);
        break;
    case CHECK_CLIENT_INSTANCE_ENDED: {
        const struct check_allocation *ended = check_find_ended(check_ledger(check), event);

        if (ended)
            leave_place(watch, ended, ended->segment, ended->address);
        break;
    }
    case CHECK_CLIENT_UNLOCK:
        if (allocation && !allocation->lock_count)
            allocation->is_locked_outside = false;
        break;
    case CHECK_CLIENT_BUDGET:
        on_budget(check, watch, event);
        break;
    case CHECK_CLIENT_TRIM: {
        struct budget_watch *budget = budget_of(watch, event);

        if (budget)
            budget->was_asked = true;
        break;
    }
    case CHECK_CLIENT_GONE:
        forget_places(check, watch);
        break;
    default:
        break;
    }
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void init(struct check *check, void *state)
{
    struct residency_watch *watch = state;

    id_map_init(&watch->owners, check_configuration(check)->services);
}

static void fini(struct check *check, void *state)
{
    const struct base_services *services = check_configuration(check)->services;
    struct residency_watch *watch = state;

    forget_places(check, watch);
    for (unsigned i = 0; i < CHECK_MAX_SEGMENTS; i++)
        base_free_array(services, watch->places[i].list, watch->places[i].room,
                        sizeof watch->places[i].list[0]);
}

const struct check_watcher check_residency_watcher = {
    .name = "residency",
    .state_bytes = sizeof(struct residency_watch),
    .init = init,
    .fini = fini,
    .before = before,
    .before_calls = CHECK_CALLS(MINIPORT_DDI_BuildPagingBuffer, MINIPORT_DDI_Patch,
                                MINIPORT_DDI_SubmitCommand, MINIPORT_DDI_SubmitCommandVirtual,
                                MINIPORT_DDI_DestroyAllocation, MINIPORT_DDI_CreateProcess),
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_CreateContext, MINIPORT_DDI_ResetFromTimeout),
    .client = client,
};
