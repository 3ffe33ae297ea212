/*
 * Watcher: the system's requests of an aperture (APER, ADL): slots that are there and free, lists
 * that are long enough, the right owner, nobody at work on them.
 */
#include "check/watchers/aperture/check_aperture.h"

#include "miniport/operation.h"

static bool is_list_long_enough(const struct request *request, uint64_t *out_pages)
{
    *out_pages = 0;
    if (request->kind == CLAIM_UNMAP)
        return true;
    if (request->kind == CLAIM_MDL && !request->mdl)
        return false;
    *out_pages = request->kind == CLAIM_MDL
                     ? ADDRESS_AND_SIZE_TO_SPAN_PAGES(MmGetMdlVirtualAddress(request->mdl),
                                                      request->mdl->ByteCount)
                     : request->adl->PageCount;
    return request->list_offset <= *out_pages &&
           request->count <= *out_pages - request->list_offset;
}

bool check_bounds(struct check *check, const struct check_segment *segment,
                  const struct request *request)
{
    uint64_t slots = segment->size / APERTURE_PAGE;
    bool is_inside =
        request->count && request->first <= slots && request->count <= slots - request->first;
    uint64_t pages;
    bool is_covered = is_list_long_enough(request, &pages);
    bool is_locked =
        !request->mdl || request->mdl->MdlFlags & (MDL_PAGES_LOCKED | MDL_SOURCE_IS_NONPAGED_POOL);

    CHECK_RULE(check, RULE_APER_003,
               is_inside && is_locked && (request->kind != CLAIM_MDL || is_covered), NULL, "",
               "slots 0x%llx and %llu more of 0x%llx; the list has %llu pages from %llu on%s",
               (unsigned long long)request->first, (unsigned long long)request->count,
               (unsigned long long)slots, (unsigned long long)pages,
               (unsigned long long)request->list_offset, is_locked ? "" : ", not locked");
    if (request->kind == CLAIM_ADL)
        CHECK_RULE(check, RULE_ADL_007, is_covered, NULL, "MapApertureSegment2.AdlOffset",
                   "is {%llu}: %llu pages from there on, and Adl.PageCount is %llu",
                   (unsigned long long)request->list_offset, (unsigned long long)request->count,
                   (unsigned long long)pages);
    return is_inside && is_covered;
}

static bool is_page_there(struct check *check, uint64_t page)
{
    const struct check_config *config = check_configuration(check);
    unsigned char byte;

    return !config->read_page || config->read_page(config->context, page, &byte, sizeof byte);
}

void check_address_list(struct check *check, const DXGK_ADL *adl, const char *field)
{
    const struct check_config *config = check_configuration(check);
    enum rule_id rule = adl->Flags.Contiguous ? RULE_ADL_004 : RULE_ADL_005;
    bool has_pages = adl->PageCount && (adl->Flags.Contiguous || adl->Pages);
    bool is_there = has_pages;

    if (has_pages && adl->Flags.Contiguous)
        is_there = is_page_there(check, adl->BasePageNumber) &&
                   is_page_there(check, adl->BasePageNumber + adl->PageCount - 1);
    else if (has_pages)
        is_there = is_page_there(check, adl->Pages[0]) &&
                   is_page_there(check, adl->Pages[adl->PageCount - 1]);
    CHECK_RULE(check, rule, is_there, NULL, field,
               "says %u pages, %s; the %s of them is no page that the device may use",
               adl->PageCount, adl->Flags.Contiguous ? "contiguous" : "in an array",
               has_pages ? "first or last" : "first");
    if (config->remaps_dma)
        CHECK_RULE(check, RULE_ADL_008, adl->Flags.Contiguous, NULL, field,
                   "is an array of %u pages though the device's addresses are remapped",
                   adl->PageCount);
}

static void check_list_of(struct check *check, const struct request *request,
                          const struct check_allocation *allocation)
{
    check_address_list(check, request->adl, "MapApertureSegment2.Adl");
    if (!allocation)
        return;
    CHECK_RULE(check, RULE_ADL_011,
               (request->cpu_view != NULL) == allocation->info.FlagsWddm2.MapApertureCpuVisible,
               &allocation->object, "MapApertureSegment2.CpuVisibleAddress",
               "is {%s}, and the allocation was created %s MapApertureCpuVisible",
               request->cpu_view ? "given" : "NULL",
               allocation->info.FlagsWddm2.MapApertureCpuVisible ? "with" : "without");
    if (check_ledger(check)->caps.driver.MemoryManagementCaps.VirtualAddressingSupported)
        CHECK_RULE(check, RULE_ADL_013, allocation->info.FlagsWddm2.AccessedPhysically,
                   &allocation->object, "MapApertureSegment2.hAllocation",
                   "was created without AccessedPhysically: it is for page tables alone");
}

void check_map(struct check *check, const struct check_segment *segment,
               const struct request *request, const struct check_allocation *allocation)
{
    const struct check_ledger *ledger = check_ledger(check);
    bool is_two = ledger->caps.driver.MemoryManagementCaps.MapAperture2Supported;
    bool has_two = ledger->interface_version >= DXGKDDI_INTERFACE_VERSION_WDDM2_9 && is_two;

    if (has_two || request->kind == CLAIM_ADL)
        CHECK_RULE(check, RULE_ADL_002, has_two == (request->kind == CLAIM_ADL), NULL, "Operation",
                   has_two ? "is {MAP_APERTURE_SEGMENT} for a driver with "
                             "MapAperture2Supported{=~MAP_APERTURE_SEGMENT2~}"
                           : "is {MAP_APERTURE_SEGMENT2} for a driver without "
                             "MapAperture2Supported{=~MAP_APERTURE_SEGMENT~}");
    if (request->is_coherent)
        CHECK_RULE(check, RULE_APER_008,
                   segment->flags.CacheCoherent && (!allocation || allocation->info.Flags.Cached),
                   allocation ? &allocation->object : NULL, "Flags.CacheCoherent",
                   "is set for %s in aperture segment %u, which is %scoherent",
                   !allocation || allocation->info.Flags.Cached ? "cached backing"
                                                                : "write-combined backing",
                   segment->id, segment->flags.CacheCoherent ? "" : "not ");
    if (request->kind == CLAIM_ADL)
        check_list_of(check, request, allocation);
}

/* Of several devices that have the allocation open, the system chooses the owner. */
static bool is_owner(const struct check_allocation *allocation, const struct check_device *device)
{
    if (!allocation || !allocation->was_made_by_device)
        return true;
    if (!device || allocation->is_primary)
        return !device && allocation->is_primary;
    return !allocation->creator || allocation->open_count > 1 ||
           device->object.number == allocation->creator;
}

void check_owner(struct check *check, const struct request *request, const struct claim *mapped)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_device *device =
        request->device ? check_find_device(ledger, request->device) : NULL;
    bool is_alive = !request->device || device;
    bool is_same = !mapped || mapped->device == request->device ||
                   (mapped->device && !check_find_device(ledger, mapped->device));
    bool is_known = is_owner(check_find_allocation(ledger, (HANDLE)request->allocation), device);

    CHECK_RULE(check, RULE_APER_006, is_alive && is_same && is_known, NULL, "hDevice",
               !is_alive  ? "is no device that there is"
               : !is_same ? "is another device than the one that was given when it was mapped "
                            "(event %llu)"
                          : "is not the owner of the allocation: the device that made it, or "
                            "nobody for a primary",
               mapped ? (unsigned long long)mapped->event : 0);
}

/* An allocation for a context has no handle any more when the driver has destroyed it. */
uint64_t allocation_number(struct check *check, const void *handle)
{
    const struct check_allocation *allocation =
        check_find_allocation(check_ledger(check), (HANDLE)handle);

    return allocation ? allocation->object.number : 0;
}

static bool is_same_allocation(struct check *check, const struct claim *claim,
                               const struct request *request)
{
    return claim->allocation == request->allocation ||
           (!request->allocation &&
            (!claim->object || allocation_number(check, claim->allocation) != claim->object));
}

void look_at_slot(struct check *check, const struct aperture_watch *watch,
                  const struct request *request, uint64_t index, const struct slot *slot,
                  struct walk *walk)
{
    const struct claim *claim = slot->claim;
    bool is_mapped = claim && claim->kind != CLAIM_UNMAP;
    bool is_old = claim && claim->epoch != watch->epoch;
    uint64_t bad = walk->twice + walk->skipped_reset + walk->strange;

    if (is_mapped && !walk->has_mapped && !is_old) {
        walk->has_mapped = true;
        walk->mapped = *claim;
    }
    if (request->kind == CLAIM_UNMAP) {
        /* Behind a reset all places are unmapped, also those that were never mapped. */
        bool may_be_unmapped = is_old || (!claim && watch->epoch);

        walk->strange += is_mapped ? !is_same_allocation(check, claim, request) : !may_be_unmapped;
    } else if (is_mapped && !is_old) {
        walk->twice++;
    } else if (is_mapped && claim->epoch < watch->last_reset && claim->allocation) {
        walk->skipped_reset++; /* a paging buffer, which is no allocation, stays mapped */
    }
    if (!bad && walk->twice + walk->skipped_reset + walk->strange)
        walk->first_bad = index;
    if (claim && claim->is_used && !is_old && !walk->has_user) {
        const struct check_packet *packet =
            check_find_packet(check_ledger(check), claim->use_node, claim->use_fence);

        walk->has_user = true;
        walk->user = *claim;
        walk->in_use += packet && packet->state == CHECK_SUBMITTED;
    }
}

/* Of the pieces, one with commands that put content into the slots; NULL: none does. */
static const struct check_built *find_writer(const struct list *built,
                                             const struct check_segment *segment,
                                             const struct request *request)
{
    uint64_t start = segment->base + request->first * APERTURE_PAGE;
    uint64_t end = start + request->count * APERTURE_PAGE;
    const struct check_built *piece;

    list_for_each (piece, built, struct check_built, link) {
        if (piece->bytes && piece->target_segment == segment->id && !piece->is_before_reset &&
            piece->target < end && start < piece->target + piece->target_bytes &&
            miniport_operation_kind(piece->operation) != MINIPORT_KIND_MAP)
            return piece;
    }
    return NULL;
}

/* A driver may change slots before it returns: what was built to go through them has run by then.
 */
static void check_writers(struct check *check, const struct check_segment *segment,
                          const struct request *request, const struct check_object *object)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_built *writer = NULL;
    const struct check_packet *packet;

    for (unsigned i = 0; i < ledger->stream_count && !writer; i++)
        writer = find_writer(&ledger->streams[i].built, segment, request);
    list_for_each (packet, &ledger->packets, struct check_packet, link) {
        if (!writer && packet->state == CHECK_SUBMITTED && !packet->is_gpu_done)
            writer = find_writer(&packet->built, segment, request);
    }
    if (writer)
        CHECK_RULE(check, RULE_APER_012, false, object, "OffsetInPages",
                   "0x%llx: %s, operation %llu, was built to write through these slots, and has "
                   "not retired",
                   (unsigned long long)request->first, miniport_operation_name(writer->operation),
                   (unsigned long long)writer->number);
}

void judge_walk(struct check *check, struct aperture_watch *watch,
                const struct check_segment *segment, const struct request *request,
                const struct walk *walk)
{
    const struct check_allocation *allocation =
        check_find_allocation(check_ledger(check), request->allocation);
    const struct check_object *object = allocation ? &allocation->object : NULL;
    bool is_unmap = request->kind == CLAIM_UNMAP;

    if (is_unmap)
        CHECK_RULE(check, RULE_APER_016, !walk->strange, object,
                   "UnmapApertureSegment.OffsetInPages",
                   "0x%llx: slot 0x%llx of segment %u, and %llu more, is not mapped for this "
                   "allocation",
                   (unsigned long long)request->first, (unsigned long long)walk->first_bad,
                   segment->id, (unsigned long long)(walk->strange ? walk->strange - 1 : 0));
    if (!is_unmap)
        CHECK_RULE(check, RULE_APER_004, !walk->twice, object, "OffsetInPages",
                   "0x%llx: slot 0x%llx of segment %u, and %llu more, is mapped already",
                   (unsigned long long)request->first, (unsigned long long)walk->first_bad,
                   segment->id, (unsigned long long)(walk->twice ? walk->twice - 1 : 0));
    if (watch->last_reset)
        CHECK_RULE(check, RULE_APER_018, !walk->skipped_reset, object, "OffsetInPages",
                   "0x%llx: slot 0x%llx of segment %u is mapped anew, and was not unmapped since "
                   "the reset",
                   (unsigned long long)request->first, (unsigned long long)walk->first_bad,
                   segment->id);
    if (walk->has_user)
        CHECK_RULE(check, RULE_APER_012, !walk->in_use, object, "OffsetInPages",
                   "0x%llx: the packet with fence %u of node %u uses these slots, and has not "
                   "retired",
                   (unsigned long long)request->first, walk->user.use_fence, walk->user.use_node);
    check_writers(check, segment, request, object);
}

void check_limits(struct check *check, const struct aperture_watch *watch,
                  const struct check_segment *segment)
{
    uint64_t limit = check_ledger(check)->caps.driver.ApertureSegmentCommitLimit;
    uint64_t here = watch->slots[segment->id - 1].mapped * APERTURE_PAGE;
    bool is_inside = here <= segment->commit_limit;

    CHECK_RULE(
        check, RULE_APER_017, is_inside && (!limit || watch->mapped * APERTURE_PAGE <= limit), NULL,
        "NumberOfPages", "{0x%llx bytes} are mapped in %s now; its limit is {=~at most ~0x%llx}",
        (unsigned long long)(is_inside ? watch->mapped * APERTURE_PAGE : here),
        is_inside ? "all apertures" : "the aperture",
        (unsigned long long)(is_inside ? limit : segment->commit_limit));
}

/* ---- The CPU --------------------------------------------------------------------------------- */

static bool is_among(uint64_t page, const uint64_t *pages, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        if (pages[i] == page)
            return true;
    }
    return false;
}

static bool list_names(const DXGK_ADL *list, const uint64_t *pages, uint64_t count,
                       uint64_t *out_page)
{
    for (uint64_t i = 0; i < list->PageCount; i++) {
        *out_page = list->Flags.Contiguous ? list->BasePageNumber + i : list->Pages[i];
        if (is_among(*out_page, pages, count))
            return true;
    }
    return false;
}

/* A page that an aperture slot shows because an ADL named it, or that is in the ADL of this call.
 */
void judge_cpu_mapping(struct check *check, void *state, const uint64_t *pages, uint64_t count)
{
    struct aperture_watch *watch = state;
    const struct check_call *call = check_current_call(check);
    bool is_named = false;
    uint64_t page = 0;

    if (call && call->ddi == MINIPORT_DDI_BuildPagingBuffer &&
        call->before.build_paging_buffer->Operation == DXGK_OPERATION_MAP_APERTURE_SEGMENT2)
        is_named = list_names(&call->before.build_paging_buffer->MapApertureSegment2.Adl, pages,
                              count, &page);
    for (unsigned i = 0; i < check_ledger(check)->segment_count && !is_named; i++) {
        struct slots *slots = &watch->slots[i];

        for (uint64_t index = slots_next(slots, 0); index < slots->count && !is_named;
             index = slots_next(slots, index + 1)) {
            const struct slot *slot = slots_at(slots, index, false);

            is_named = slot && slot->claim && slot->claim->kind == CLAIM_ADL &&
                       slot->page != SLOT_UNTOLD && is_among(slot->page, pages, count);
            page = is_named ? slot->page : page;
        }
    }
    CHECK_RULE(check, RULE_ADL_010, !is_named, NULL, "",
               "page 0x%llx of an ADL is mapped for the CPU (expected CpuVisibleAddress)",
               (unsigned long long)page);
}
