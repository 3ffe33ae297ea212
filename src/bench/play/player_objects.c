/*
 * Objects of the player: allocations, their mappings, requests, and the content that they get.
 * Nothing here waits.
 */
#include "bench/play/player_private.h"

#include <string.h>

/* ---- Content --------------------------------------------------------------------------------- */

uint64_t player_take_tags(struct player *player, uint64_t offset, uint64_t bytes)
{
    uint64_t first = align_down(offset, PAGE_BYTES);
    uint64_t tag = player->next_tag;

    player->next_tag += bytes_to_pages(offset + bytes - first);
    return tag;
}

uint64_t player_key_of(const struct workload_ref *ref, uint64_t *tag)
{
    uint64_t first = align_down(ref->offset, PAGE_BYTES);
    uint64_t key;

    if (!(ref->access & WORKLOAD_ACCESS_WRITE))
        return 0;
    if (ref->key)
        return ref->key;
    key = *tag;
    *tag += bytes_to_pages(ref->offset + ref->size - first);
    return key;
}

void player_note_lost(struct player *player, const struct vidmm_allocation *allocation)
{
    for (uint32_t id = 0; player->oracle && id < player->workload->allocation_count; id++) {
        if (player->allocations[id].handle == allocation)
            oracle_reset_took(player->oracle, id);
    }
}

/* ---- Places ---------------------------------------------------------------------------------- */

bool player_segment_id(const struct player *player, enum workload_segment segment, unsigned *out_id)
{
    bool wants_aperture = segment == WORKLOAD_SEGMENT_APERTURE;
    unsigned memory_seen = 0;

    *out_id = 0;
    if (segment == WORKLOAD_SEGMENT_SYSTEM)
        return true;
    for (unsigned id = 1; id <= vidmm_segment_count(player->vidmm); id++) {
        struct vidmm_segment_info info;

        vidmm_segment_info(player->vidmm, id, &info);
        if (info.is_aperture) {
            if (wants_aperture) {
                *out_id = id;
                return true;
            }
            continue;
        }
        if (wants_aperture)
            continue;
        memory_seen++;
        if (memory_seen == (segment == WORKLOAD_SEGMENT_LOCAL ? 1u : 2u)) {
            *out_id = id;
            return true;
        }
    }
    /* A driver that leaves the board's memory alone has the system's in its place. */
    return !wants_aperture && !memory_seen;
}

bool player_is_foreign(const struct player *player)
{
    return !player->config.gpu;
}

unsigned player_node(const struct player *player, unsigned node)
{
    return node % vidmm_node_count(player->vidmm);
}

/* ---- Mappings -------------------------------------------------------------------------------- */

void player_mapping_done(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct player_mapping *mapping = context;

    mapping->is_ready = true;
    mapping->status = status;
    mapping->player->needs_pump = true;
}

struct player_mapping *player_find_mapping(struct player *player, uint32_t allocation,
                                           uint32_t process, uint64_t offset, uint64_t bytes,
                                           bool is_written)
{
    struct player_mapping *mapping = player->allocations[allocation].mappings;
    struct player_mapping *pending = NULL;

    for (; mapping; mapping = mapping->next) {
        if (mapping->process != process || offset < mapping->offset ||
            offset - mapping->offset > mapping->bytes ||
            bytes > mapping->bytes - (offset - mapping->offset) ||
            (is_written && (mapping->protect & VIDMM_PROTECT_READ_ONLY)))
            continue;
        if (mapping->is_ready && NT_SUCCESS(mapping->status))
            return mapping;
        if (!pending)
            pending = mapping;
    }
    return pending;
}

struct player_mapping *player_map(struct player *player, uint32_t allocation, uint32_t process,
                                  uint64_t offset, uint64_t bytes, uint64_t va, uint32_t protect,
                                  uint64_t driver_protection, NTSTATUS *out_status)
{
    struct player_allocation *entry = &player->allocations[allocation];
    struct player_mapping *mapping = base_alloc(player->services, sizeof *mapping);
    unsigned attempts = 0;

    *out_status = STATUS_NO_MEMORY;
    if (!mapping)
        return NULL;
    mapping->player = player;
    mapping->process = process;
    mapping->offset = offset;
    mapping->bytes = bytes;
    mapping->protect = protect;
    mapping->driver_protection = driver_protection;
    mapping->status = STATUS_PENDING;
    do {
        *out_status =
            vidmm_map_gpu_va(player->processes[process],
                             &(struct vidmm_map_request){.allocation = entry->handle,
                                                         .offset = offset,
                                                         .bytes = bytes,
                                                         .va = va,
                                                         .protect = protect,
                                                         .driver_protection = driver_protection,
                                                         .done = player_mapping_done,
                                                         .context = mapping},
                             &mapping->va);
    } while (player_should_repeat(player, *out_status, &attempts));
    if (!NT_SUCCESS(*out_status)) {
        base_free(player->services, mapping, sizeof *mapping);
        return NULL;
    }
    mapping->next = entry->mappings;
    entry->mappings = mapping;
    return mapping;
}

void player_page_table_done(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct player *player = context;

    player->page_table_pending--;
    player->page_table_failures += !NT_SUCCESS(status);
    player->needs_pump = true;
}

/* ---- Requests and the end of an allocation --------------------------------------------------- */

void player_request_done(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct player *player = context;

    player->request.is_reported = true;
    player->request.status = status;
    player->request.needed = needed;
    player->request.available = available;
    player_take_refusal(player, status, &player->request.refusal);
    player->needs_pump = true;
    if (player->request.event.device) {
        player->request.event.status = status;
        player_inform(player, &player->request.event);
    }
    player->request.event.device = NULL;
}

void player_drop_holds(struct player *player, struct player_allocation *entry, uint32_t device,
                       bool all)
{
    struct player_hold **link = &entry->holds;

    while (*link) {
        struct player_hold *hold = *link;

        if (!all && hold->device != device) {
            link = &hold->next;
            continue;
        }
        *link = hold->next;
        player_evict(player, player->devices[hold->device], 1, &entry->handle);
        base_free(player->services, hold, sizeof *hold);
        if (!all)
            return;
    }
}

void player_drop_holds_of_device(struct player *player, struct player_allocation *entry,
                                 uint32_t device)
{
    const struct player_hold *hold = entry->holds;

    while (hold) {
        if (hold->device == device) {
            player_drop_holds(player, entry, device, false);
            hold = entry->holds;
        } else {
            hold = hold->next;
        }
    }
}

static void release_running(struct player *player, uint32_t allocation)
{
    struct player_allocation *entry = &player->allocations[allocation];
    struct submission *submission;

    for (uint32_t c = 0; player->is_virtual && c < player->workload->context_count; c++) {
        list_for_each (submission, &player->contexts[c].submissions, struct submission, link) {
            for (unsigned i = 0; submission->is_resident && i < submission->allocation_count; i++) {
                unsigned last = submission->allocation_count - 1;

                if (submission->ids[i] != allocation)
                    continue;
                player_evict(player, player->devices[player->contexts[c].device], 1,
                             &entry->handle);
                memmove(&submission->ids[i], &submission->ids[i + 1],
                        (last - i) * sizeof submission->ids[0]);
                memmove(&submission->handles[i], &submission->handles[i + 1],
                        (last - i) * sizeof submission->handles[0]);
                submission->allocation_count--;
                submission->has_lost_reference = true;
                entry->running_count--;
                break;
            }
        }
    }
}

void player_unlock(struct player *player, uint32_t allocation)
{
    struct player_allocation *entry = &player->allocations[allocation];

    if (!entry->is_locked)
        return;
    entry->is_locked = false;
    player_inform_of(player, CHECK_CLIENT_UNLOCK, entry->handle, STATUS_SUCCESS);
    vidmm_unlock(entry->handle);
}

void player_bury(struct player *player, uint32_t allocation)
{
    struct player_allocation *entry = &player->allocations[allocation];

    if (!entry->handle || entry->waiting_count)
        return;
    player_unlock(player, allocation);
    player_drop_holds(player, entry, 0, true);
    release_running(player, allocation);
    if (player->oracle)
        oracle_allocation_freed(player->oracle, allocation);
    player_inform_of(player, CHECK_CLIENT_DESTROY, entry->handle, STATUS_SUCCESS);
    vidmm_allocation_destroy(entry->handle);
    entry->handle = NULL;
    player->live_handles[allocation] = NULL;
    while (entry->mappings) {
        struct player_mapping *mapping = entry->mappings;

        entry->mappings = mapping->next;
        base_free(player->services, mapping, sizeof *mapping);
    }
}
