/*
 * Watcher: CPU host apertures (CHA), as the calls name their slots and as the CPU's bus shows them.
 */
#include "check/check_watch.h"

#include "base/bits.h"
#include "base/hash.h"

#define PAGE    4096u
#define SAMPLES 2u /* slots compared besides the first and the last of a call */

struct host_watch {
    /* Of segment id - 1: page + 1 that each slot shows, 0: none; NULL before the first call. */
    uint64_t *slots[CHECK_MAX_SEGMENTS];
    uint64_t slot_count[CHECK_MAX_SEGMENTS];
    uint64_t mapped;
    uint64_t calls;
    bool has_client; /* a context that is not the system's was made, or was to be */
};

static bool has_aperture(const struct check_segment *segment)
{
    return segment && segment->flags.SupportsCpuHostAperture &&
           segment->whole.CpuHostAperture.SizeInPages;
}

/* NULL: it has none, or there is no memory. */
static uint64_t *slots_of(struct check *check, struct host_watch *watch,
                          const struct check_segment *segment)
{
    unsigned index = segment ? segment->id - 1 : 0;
    uint64_t count;

    if (!has_aperture(segment) || watch->slots[index])
        return segment ? watch->slots[index] : NULL;
    count = segment->whole.CpuHostAperture.SizeInPages;
    watch->slots[index] = base_alloc_array(check_configuration(check)->services, (size_t)count,
                                           sizeof *watch->slots[index]);
    if (!watch->slots[index]) {
        check_lost(check);
        return NULL;
    }
    watch->slot_count[index] = count;
    return watch->slots[index];
}

/* What a page of the segment is, in both lists. */
static uint64_t unit_of(const struct check_segment *segment)
{
    return segment->flags.Use64KBPages ? 65536 : PAGE;
}

/* ---- Before ---------------------------------------------------------------------------------- */

static void before_map(struct check *check, struct host_watch *watch,
                       const DXGKARG_MAPCPUHOSTAPERTURE *arg)
{
    const struct check_segment *segment = check_find_segment(check_ledger(check), arg->SegmentId);
    const struct check_allocation *allocation =
        check_find_allocation(check_ledger(check), arg->hAllocation);
    uint64_t *slots = slots_of(check, watch, segment);
    uint64_t bad = 0, first_bad = 0;

    if (!slots) {
        CHECK_RULE(check, RULE_CHA_003, has_aperture(segment), NULL, "SegmentId",
                   "is {%u}, a segment without a CPU host aperture{=~a segment with one~}",
                   arg->SegmentId);
        return;
    }
    for (UINT64 i = 0; i < arg->NumberOfPages; i++) {
        uint64_t slot = arg->pCpuHostAperturePages[i];
        bool is_there = slot < watch->slot_count[segment->id - 1] &&
                        arg->pMemorySegmentPages[i] < segment->size / unit_of(segment);

        if (is_there && !slots[slot]) {
            slots[slot] = arg->pMemorySegmentPages[i] + 1;
            watch->mapped++;
        } else if (!bad++) {
            first_bad = i;
        }
    }
    CHECK_RULE(
        check, RULE_CHA_003, !bad, allocation ? &allocation->object : NULL, "pCpuHostAperturePages",
        "element %llu is slot 0x%x for page 0x%llx, and %llu more: mapped already, or "
        "not there",
        (unsigned long long)first_bad, arg->pCpuHostAperturePages[first_bad],
        (unsigned long long)arg->pMemorySegmentPages[first_bad], (unsigned long long)bad - 1);
}

static void before_unmap(struct check *check, struct host_watch *watch,
                         const DXGKARG_UNMAPCPUHOSTAPERTURE *arg)
{
    const struct check_segment *segment = check_find_segment(check_ledger(check), arg->SegmentId);
    uint64_t *slots = slots_of(check, watch, segment);
    uint64_t bad = 0, first_bad = 0;

    for (UINT64 i = 0; slots && i < arg->NumberOfPages; i++) {
        uint64_t slot = arg->pCpuHostAperturePages[i];

        if (slot < watch->slot_count[segment->id - 1] && slots[slot]) {
            slots[slot] = 0;
            watch->mapped--;
        } else if (!bad++) {
            first_bad = i;
        }
    }
    CHECK_RULE(check, RULE_CHA_003, slots && !bad, NULL, "pCpuHostAperturePages",
               "element %llu, slot 0x%x, and %llu more are not mapped",
               (unsigned long long)first_bad, arg->pCpuHostAperturePages[first_bad],
               (unsigned long long)(bad ? bad - 1 : 0));
}

static void before_sleep(struct check *check, const struct host_watch *watch)
{
    const struct check_ledger *ledger = check_ledger(check);
    bool is_concerned = false;

    for (unsigned i = 0; i < ledger->segment_count; i++)
        is_concerned |= has_aperture(&ledger->segments[i]);
    if (is_concerned)
        CHECK_RULE(check, RULE_CHA_005, !watch->mapped, NULL, "DevicePowerState",
                   "is {D3} with %llu pages of CPU host apertures mapped",
                   (unsigned long long)watch->mapped);
}

static void before(struct check *check, void *state, const struct check_call *call)
{
    struct host_watch *watch = state;

    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_MapCpuHostAperture:
        before_map(check, watch, call->arg.map_cpu_host_aperture);
        break;
    case MINIPORT_DDI_UnmapCpuHostAperture:
        before_unmap(check, watch, call->arg.unmap_cpu_host_aperture);
        break;
    case MINIPORT_DDI_CreateContext:
        watch->has_client |= !call->arg.create_context->Flags.SystemContext;
        break;
    case MINIPORT_DDI_SetPowerState:
        if (call->power_state == PowerDeviceD3)
            before_sleep(check, watch);
        break;
    default:
        break;
    }
}

/* ---- After ----------------------------------------------------------------------------------- */

/* True: the CPU sees the page of the list in the slot of the list. */
static bool check_shown(struct check *check, const struct check_segment *segment, uint64_t slot,
                        uint64_t page, uint64_t element)
{
    const struct check_config *config = check_configuration(check);
    uint64_t unit = unit_of(segment);
    uint64_t address = segment->whole.CpuHostAperture.PhysicalAddress + slot * unit;
    uint64_t expected = segment->base + page * unit;
    uint64_t shown;
    bool is_shown = config->bus_local(config->context, address, &shown);

    if (is_shown && shown == expected)
        return true;
    check_report(check, RULE_CHA_002, NULL, "pCpuHostAperturePages",
                 "element %llu, slot 0x%llx: the CPU sees %s{0x%llx} of local memory behind bus "
                 "address 0x%llx (expected {=0x%llx}, page 0x%llx of segment %u)",
                 (unsigned long long)element, (unsigned long long)slot,
                 is_shown ? "" : "nothing, not ", (unsigned long long)(is_shown ? shown : expected),
                 (unsigned long long)address, (unsigned long long)expected,
                 (unsigned long long)page, segment->id);
    return false;
}

static void after_map(struct check *check, struct host_watch *watch, const struct check_call *call)
{
    const DXGKARG_MAPCPUHOSTAPERTURE *arg = call->arg.map_cpu_host_aperture;
    const struct check_segment *segment = check_find_segment(check_ledger(check), arg->SegmentId);
    bool is_early = !watch->has_client;
    enum rule_id rule = is_early ? RULE_CHA_001 : RULE_CHA_002;

    if (!CHECK_RULE(check, rule, call->status == STATUS_SUCCESS, NULL, "status",
                    "{0x%08x}%s (expected {=STATUS_SUCCESS})", (unsigned)call->status,
                    is_early ? " before any context of a client exists" : ""))
        return;
    watch->calls++;
    if (!has_aperture(segment) || !arg->NumberOfPages || !check_configuration(check)->bus_local)
        return;
    check_looked_at(check, RULE_CHA_002);
    for (unsigned i = 0; i < 2 + SAMPLES; i++) {
        uint64_t element = i == 0   ? 0
                           : i == 1 ? arg->NumberOfPages - 1
                                    : hash_pair(watch->calls, i) % arg->NumberOfPages;

        if (!check_shown(check, segment, arg->pCpuHostAperturePages[element],
                         arg->pMemorySegmentPages[element], element))
            return;
    }
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    if (call->ddi == MINIPORT_DDI_MapCpuHostAperture)
        after_map(check, state, call);
    if (call->ddi == MINIPORT_DDI_UnmapCpuHostAperture)
        CHECK_RULE(check, RULE_CHA_004, call->status == STATUS_SUCCESS, NULL, "status",
                   "{0x%08x} (expected {=STATUS_SUCCESS})", (unsigned)call->status);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void fini(struct check *check, void *state)
{
    const struct base_services *services = check_configuration(check)->services;
    struct host_watch *watch = state;

    for (unsigned i = 0; i < CHECK_MAX_SEGMENTS; i++)
        base_free_array(services, watch->slots[i], (size_t)watch->slot_count[i],
                        sizeof *watch->slots[i]);
}

const struct check_watcher check_host_aperture_watcher = {
    .name = "host aperture",
    .state_bytes = sizeof(struct host_watch),
    .fini = fini,
    .before = before,
    .before_calls = CHECK_CALLS(MINIPORT_DDI_MapCpuHostAperture, MINIPORT_DDI_UnmapCpuHostAperture,
                                MINIPORT_DDI_CreateContext, MINIPORT_DDI_SetPowerState),
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_MapCpuHostAperture, MINIPORT_DDI_UnmapCpuHostAperture),
};
