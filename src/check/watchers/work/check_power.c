/*
 * Watcher: allocations that a sleep takes, which have to leave before and come back behind, and
 * what a device that has stopped still may do (PWR).
 *
 * Where allocations are is known from the operations of the physical model, which name segments;
 * those of the others name virtual addresses. An allocation that a sleep does not keep may have
 * been destroyed already, which no driver is told before its content is discarded: so the breach is
 * its use after the sleep.
 */
#include "check/check_watch.h"
#include "miniport/operation.h"

/* The content of an allocation, in a memory segment. */
struct power_place {
    unsigned segment; /* 0: not in any */
    uint64_t start, bytes;
    bool is_discarded; /* and not put anywhere since */
    enum rule_id lost; /* in a sleep, by this rule; RULE_NONE: it was not */
};

struct power_watch {
    struct id_map places; /* by the handle of the allocation */
    bool has_lost;        /* one of them, perhaps */
    bool is_off;
    POWER_ACTION action;
    bool has_system_tables;  /* were written, ever */
    bool owes_system_tables; /* they are to be written before all others */
    bool knows_of_removal;   /* the driver was told */
};

static struct power_place *place_of(struct check *check, struct power_watch *watch, HANDLE handle)
{
    uint64_t key = (uint64_t)(uintptr_t)handle;
    struct power_place *place = id_map_find(&watch->places, key);
    const struct base_services *services = check_configuration(check)->services;

    if (place || !handle)
        return place;
    place = base_alloc(services, sizeof *place);
    if (!place || !id_map_set(&watch->places, key, place)) {
        base_free(services, place, sizeof *place);
        check_lost(check);
        return NULL;
    }
    return place;
}

static void forget(struct check *check, struct power_watch *watch, HANDLE handle)
{
    base_free(check_configuration(check)->services,
              id_map_remove(&watch->places, (uint64_t)(uintptr_t)handle),
              sizeof(struct power_place));
}

static const struct check_segment *memory_segment(struct check *check, unsigned id)
{
    const struct check_segment *segment = check_find_segment(check_ledger(check), id);

    return segment && !segment->flags.Aperture ? segment : NULL;
}

static const struct check_object *allocation_of(struct check *check, HANDLE handle)
{
    const struct check_allocation *allocation = check_find_allocation(check_ledger(check), handle);

    return allocation ? &allocation->object : NULL;
}

/* ---- Flags of segments ----------------------------------------------------------------------- */

static void check_flags(struct check *check, const struct check_segment *segment)
{
    unsigned standby = segment->flags.PreservedDuringStandby;
    unsigned hibernate = segment->flags.PreservedDuringHibernate;
    unsigned part = segment->flags.PartiallyPreservedDuringHibernate;
    uint64_t end = segment->whole.SystemMemoryEndAddress;

    CHECK_RULE(check, RULE_PWR_001, !(hibernate && part) && (standby || !(hibernate || part)), NULL,
               check_field(check, "pSegmentDescriptor[%u].Flags", segment->id - 1),
               "preserves {standby %u, hibernate %u, hibernate in part %u} (expected {=000, 100, "
               "101 or 110})",
               standby, hibernate, part);
    if (end && !part)
        CHECK_ADVICE(
            check, RULE_PWR_006, check_configuration(check)->profile.wants_end_with_flag, false,
            NULL,
            check_field(check, "pSegmentDescriptor[%u].SystemMemoryEndAddress", segment->id - 1),
            "is {0x%llx}, and PartiallyPreservedDuringHibernate is 0: by one reading of the page "
            "an end without the flag is ignored, by the other it should be 0",
            (unsigned long long)end);
    else if (part)
        CHECK_RULE(
            check, RULE_PWR_006, end && end < segment->size, NULL,
            check_field(check, "pSegmentDescriptor[%u].SystemMemoryEndAddress", segment->id - 1),
            "is {0x%llx} of a segment of {=~more than 0, less than ~0x%llx} bytes, whose "
            "PartiallyPreservedDuringHibernate is %u",
            (unsigned long long)end, (unsigned long long)segment->size, part);
}

static void after_query(struct check *check, const struct check_call *call)
{
    const struct check_ledger *ledger = check_ledger(check);
    const DXGKARG_QUERYADAPTERINFO *query = call->arg.query_adapter_info;
    bool has_descriptors;

    if (!NT_SUCCESS(call->status) || !query->pOutputData)
        return;
    switch ((unsigned)query->Type) {
    case DXGKQAITYPE_QUERYSEGMENT3:
        has_descriptors = ((DXGK_QUERYSEGMENTOUT3 *)query->pOutputData)->pSegmentDescriptor;
        break;
    case DXGKQAITYPE_QUERYSEGMENT4:
        has_descriptors = ((DXGK_QUERYSEGMENTOUT4 *)query->pOutputData)->pSegmentDescriptor;
        break;
    default:
        return;
    }
    for (unsigned i = 0; has_descriptors && i < ledger->segment_count; i++)
        check_flags(check, &ledger->segments[i]);
}

/* ---- Where things are ------------------------------------------------------------------------ */

/* An allocation of a context, which the ledger does not have, has no size here. */
static void put(struct check *check, struct power_watch *watch, HANDLE handle, unsigned segment,
                uint64_t start)
{
    const struct check_allocation *allocation = check_find_allocation(check_ledger(check), handle);
    struct power_place *place = place_of(check, watch, handle);

    if (place)
        *place = (struct power_place){
            .segment = segment,
            .start = start,
            .bytes = allocation ? check_bytes_in(check_ledger(check), allocation, segment) : 0,
        };
}

static void report_lost(struct check *check, struct power_place *place,
                        const struct check_object *object, const char *field)
{
    CHECK_RULE(check, place->lost, false, object, field,
               "0x%llx bytes at 0x%llx of segment %u are used after a sleep that does not keep "
               "them; they had to leave before",
               (unsigned long long)place->bytes, (unsigned long long)place->start, place->segment);
    place->lost = RULE_NONE;
}

/* PWR-011: content that was thrown away is not copied. */
static void check_copied(struct check *check, const struct power_watch *watch, HANDLE handle)
{
    struct power_place *place = id_map_find(&watch->places, (uint64_t)(uintptr_t)handle);

    if (place && place->lost != RULE_NONE)
        report_lost(check, place, allocation_of(check, handle), "hAllocation");
    if (place)
        CHECK_RULE(check, RULE_PWR_011, !place->is_discarded, allocation_of(check, handle),
                   "hAllocation",
                   "is copied out of segment memory; its content was discarded, and nothing was "
                   "put there since");
}

static void follow(struct check *check, struct power_watch *watch, const struct check_call *call)
{
    const struct check_ledger *ledger = check_ledger(check);
    const DXGKARG_BUILDPAGINGBUFFER *arg = call->before.build_paging_buffer;
    struct miniport_place to = miniport_operation_destination(arg);
    HANDLE handle = miniport_operation_allocation(arg);
    uint64_t bytes = miniport_operation_bytes(arg);
    struct power_place *place;
    bool leaves_memory;

    switch (miniport_operation_kind((unsigned)arg->Operation)) {
    case MINIPORT_KIND_TRANSFER:
        leaves_memory = memory_segment(check, miniport_operation_source(arg).segment);
        if (leaves_memory && bytes)
            check_copied(check, watch, handle);
        if (memory_segment(check, to.segment))
            put(check, watch, handle, to.segment, to.address);
        else if (leaves_memory && (miniport_operation_is_end(arg) || !bytes))
            forget(check, watch, handle);
        break;
    case MINIPORT_KIND_CONTEXT:
        /* With virtual addresses nothing tells that it leaves again. */
        if (!ledger->caps.driver.MemoryManagementCaps.VirtualAddressingSupported &&
            memory_segment(check, to.segment))
            put(check, watch, handle, to.segment, to.address);
        break;
    case MINIPORT_KIND_FILL:
        if (memory_segment(check, to.segment))
            put(check, watch, handle, to.segment, to.address);
        break;
    case MINIPORT_KIND_DISCARD:
        place = place_of(check, watch, handle);
        if (place)
            *place = (struct power_place){.is_discarded = true};
        break;
    default:
        break;
    }
}

/* ---- Going to sleep -------------------------------------------------------------------------- */

/* Which rule says that an allocation may not stay there; RULE_NONE: it may. */
static enum rule_id rule_of_stay(const struct check *check, const struct check_segment *segment,
                                 const struct power_place *place, POWER_ACTION action)
{
    uint64_t kept = segment->whole.SystemMemoryEndAddress + 1;
    uint64_t first = place->start - segment->base;

    if (action != PowerActionHibernate)
        return segment->flags.PreservedDuringStandby ? RULE_NONE : RULE_PWR_002;
    if (segment->flags.PreservedDuringHibernate)
        return RULE_NONE;
    if (!segment->flags.PartiallyPreservedDuringHibernate)
        return RULE_PWR_003;
    if (first >= kept)
        return RULE_PWR_004;
    if (first + place->bytes <= kept || check_configuration(check)->profile.keeps_straddling)
        return RULE_NONE;
    return RULE_PWR_005;
}

static void check_places(struct check *check, struct power_watch *watch, POWER_ACTION action)
{
    static const enum rule_id rules[] = {RULE_PWR_002, RULE_PWR_003, RULE_PWR_004, RULE_PWR_005};
    uint64_t lost = 0;
    size_t position = 0;
    struct power_place *place;

    if (!watch->places.slot_count)
        return; /* this model does not tell where things are */
    while ((place = id_map_next(&watch->places, &position)) != NULL) {
        const struct check_segment *segment = memory_segment(check, place->segment);

        place->lost = segment ? rule_of_stay(check, segment, place, action) : RULE_NONE;
        if (place->lost == RULE_NONE)
            continue;
        lost |= UINT64_C(1) << (place->lost - RULE_PWR_001);
        watch->has_lost = true;
    }
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        bool is_of_standby = rules[i] == RULE_PWR_002;

        if (is_of_standby == (action != PowerActionHibernate) &&
            !(lost >> (rules[i] - RULE_PWR_001) & 1))
            check_looked_at(check, rules[i]);
    }
}

/* The places that a client's packet is about to use. */
static void check_patched(struct check *check, struct power_watch *watch, const DXGKARG_PATCH *arg)
{
    struct power_place *place;
    size_t position = 0;
    bool has_lost = false;

    while ((place = id_map_next(&watch->places, &position)) != NULL) {
        for (UINT i = 0; i < arg->AllocationListSize && place->lost != RULE_NONE; i++) {
            const DXGK_ALLOCATIONLIST *entry = &arg->pAllocationList[i];
            uint64_t address = (uint64_t)entry->PhysicalAddress.QuadPart;

            if (entry->SegmentId == place->segment && address >= place->start &&
                address - place->start < place->bytes)
                report_lost(check, place, NULL, "pAllocationList");
        }
        has_lost |= place->lost != RULE_NONE;
    }
    watch->has_lost = has_lost;
}

/* Tables that are in a segment which the sleep does not keep. */
static bool loses_tables(struct check *check, POWER_ACTION action)
{
    const struct check_caps *caps = &check_ledger(check)->caps;

    for (unsigned i = 0; i < caps->level_count && i < CHECK_MAX_LEVELS; i++) {
        const struct check_segment *segment =
            memory_segment(check, caps->levels[i].PagingProcessPageTableSegmentId);

        if (segment && (action == PowerActionHibernate ? !segment->flags.PreservedDuringHibernate
                                                       : !segment->flags.PreservedDuringStandby))
            return true;
    }
    return false;
}

static void before_sleep(struct check *check, struct power_watch *watch,
                         const struct check_call *call)
{
    const struct check_packet *left = check_find_in_flight(check_ledger(check));

    CHECK_RULE(check, RULE_PWR_007, !left && !check_call_around(call), NULL, "DevicePowerState",
               left ? "the packet with fence 0x%x of node %u is still under way"
                    : "is called in the middle of another call",
               left ? left->fence : 0, left ? left->node : 0);
    check_places(check, watch, call->power_action);
    watch->action = call->power_action;
}

static void check_asleep(struct check *check, const struct power_watch *watch,
                         const struct check_call *call)
{
    bool is_work = call->ddi == MINIPORT_DDI_BuildPagingBuffer ||
                   call->ddi == MINIPORT_DDI_SubmitCommand ||
                   call->ddi == MINIPORT_DDI_SubmitCommandVirtual;

    if (watch->is_off && is_work)
        CHECK_RULE(check, RULE_PWR_007, false, NULL, "", "is called while the device sleeps");
}

/* ---- Coming back ----------------------------------------------------------------------------- */

static void before_update(struct check *check, struct power_watch *watch,
                          const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &arg->UpdatePageTable;
    const struct check_process *process = check_find_process(check_ledger(check), update->hProcess);
    bool is_system = process && process->is_system;

    watch->has_system_tables |= is_system;
    if (!watch->owes_system_tables)
        return;
    watch->owes_system_tables = false;
    CHECK_RULE(check, RULE_PWR_009,
               is_system && !arg->pDmaBuffer &&
                   update->UpdateMode == DXGK_PAGETABLEUPDATE_CPU_VIRTUAL,
               process ? &process->object : NULL, "hProcess",
               "the first page table after the sleep is %s; those of the paging process are "
               "first, written by the CPU",
               is_system ? "written through a buffer" : "of another process");
}

/* ---- A board that has gone ------------------------------------------------------------------- */

/* Of a board that was pulled out while it ran, the system does not look at the answer. */
static void after_removal(struct check *check, struct power_watch *watch,
                          const struct check_call *call)
{
    watch->knows_of_removal = true;
    if (call->removal == DxgkRemovalHibernation)
        CHECK_RULE(check, RULE_PWR_015, call->status == STATUS_SUCCESS, NULL, "status",
                   "{0x%08x} for DxgkRemovalHibernation (expected {=STATUS_SUCCESS})",
                   (unsigned)call->status);
}

/* What a driver reads to find out whether the board is there is no change of its settings. */
static void gpu(struct check *check, void *state, const struct check_gpu_event *event)
{
    const struct power_watch *watch = state;

    if (event->kind != CHECK_GPU_TOUCHED || !watch->knows_of_removal)
        return;
    if (event->access == CHECK_GPU_WRITES)
        CHECK_RULE(check, RULE_PWR_014, false, NULL, "",
                   "a register of the board that has gone is written, at offset 0x%llx",
                   (unsigned long long)event->address);
    else
        CHECK_ADVICE(check, RULE_PWR_014, check_configuration(check)->profile.wants_gone_untouched,
                     false, NULL, "",
                     "a register of the board that has gone is read, at offset 0x%llx: one page "
                     "says that settings are not touched, the same page as it is now that any "
                     "access may hang",
                     (unsigned long long)event->address);
}

/* ---- The watcher ----------------------------------------------------------------------------- */

static void before(struct check *check, void *state, const struct check_call *call)
{
    struct power_watch *watch = state;

    if (call->ddi == MINIPORT_DDI_SetPowerState && call->power_state != PowerDeviceD0)
        before_sleep(check, watch, call);
    else if (watch->is_off)
        check_asleep(check, watch, call);
    if (call->ddi == MINIPORT_DDI_Patch && watch->has_lost)
        check_patched(check, watch, call->arg.patch);
    if (call->ddi == MINIPORT_DDI_BuildPagingBuffer &&
        call->arg.build_paging_buffer->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE)
        before_update(check, watch, call->arg.build_paging_buffer);
}

static void after_power(struct check *check, struct power_watch *watch,
                        const struct check_call *call)
{
    bool is_on = call->power_state == PowerDeviceD0;

    CHECK_RULE(check, RULE_PWR_008, NT_SUCCESS(call->status), NULL, "status",
               "{0x%08x} for D%u (expected {=a success status})", (unsigned)call->status,
               (unsigned)call->power_state - PowerDeviceD0);
    watch->owes_system_tables =
        is_on && watch->is_off && watch->has_system_tables && loses_tables(check, watch->action);
    watch->is_off = !is_on;
}

static void after_stop(struct check *check)
{
    const struct check_config *config = check_configuration(check);
    uint32_t enabled;

    if (!config->enabled_interrupts)
        return;
    enabled = config->enabled_interrupts(config->context);
    CHECK_RULE(check, RULE_PWR_013, !enabled, NULL, "",
               "returns and the device may still interrupt: 0x%x is enabled (expected none)",
               enabled);
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    struct power_watch *watch = state;

    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_QueryAdapterInfo:
        after_query(check, call);
        break;
    case MINIPORT_DDI_SetPowerState:
        after_power(check, watch, call);
        break;
    case MINIPORT_DDI_StopDevice:
        after_stop(check);
        if (watch->knows_of_removal && check_ledger(check)->has_gpu)
            check_looked_at(check, RULE_PWR_014);
        watch->knows_of_removal = false;
        break;
    case MINIPORT_DDI_NotifySurpriseRemoval:
        after_removal(check, watch, call);
        break;
    case MINIPORT_DDI_BuildPagingBuffer:
        if (NT_SUCCESS(call->status))
            follow(check, watch, call);
        break;
    case MINIPORT_DDI_DestroyAllocation:
        for (UINT i = 0; i < call->arg.destroy_allocation->NumAllocations; i++)
            forget(check, watch, call->arg.destroy_allocation->pAllocationList[i]);
        break;
    default:
        break;
    }
}

static void callback(struct check *check, void *state, const struct check_callback *callback)
{
    if (callback->gone)
        forget(check, state, callback->gone);
}

static void init(struct check *check, void *state)
{
    struct power_watch *watch = state;

    id_map_init(&watch->places, check_configuration(check)->services);
}

static void fini(struct check *check, void *state)
{
    const struct base_services *services = check_configuration(check)->services;
    struct power_watch *watch = state;
    size_t position = 0;
    void *place;

    while ((place = id_map_next(&watch->places, &position)))
        base_free(services, place, sizeof(struct power_place));
    id_map_fini(&watch->places);
}

const struct check_watcher check_power_watcher = {
    .name = "power",
    .state_bytes = sizeof(struct power_watch),
    .init = init,
    .fini = fini,
    .before = before,
    .before_calls = CHECK_CALLS(MINIPORT_DDI_SetPowerState, MINIPORT_DDI_BuildPagingBuffer,
                                MINIPORT_DDI_SubmitCommand, MINIPORT_DDI_SubmitCommandVirtual,
                                MINIPORT_DDI_Patch),
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_QueryAdapterInfo, MINIPORT_DDI_SetPowerState,
                               MINIPORT_DDI_BuildPagingBuffer, MINIPORT_DDI_DestroyAllocation,
                               MINIPORT_DDI_StopDevice, MINIPORT_DDI_NotifySurpriseRemoval),
    .gpu = gpu,
    .callback = callback,
};
