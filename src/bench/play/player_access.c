/*
 * The CPU reads and writes allocations: write and read lines, and what a submission's line has the
 * GPU write where no model of the GPU follows its work.
 */
#include "bench/play/player_private.h"
#include "check/report/decode.h"

#include "base/assert.h"

/* One piece of a locked allocation that is contiguous on the bus. */
static bool access_piece(struct player *player, uint32_t op_index, uint32_t id, uint64_t offset,
                         uint64_t pa, uint64_t bytes, bool is_write, uint64_t tag)
{
    struct machine_target target;

    if (!machine_bus_find(player->machine, pa, bytes, &target) || !target.store) {
        player_report(player, op_index,
                      "locked allocation '%s': nothing answers at bus address 0x%llx",
                      workload_allocation_name(player->workload, id), (unsigned long long)pa);
        return false;
    }
    if (is_write) {
        page_store_write_tag(target.store, target.address, bytes, tag);
        if (player->oracle)
            oracle_cpu_wrote(player->oracle, id, offset, target.store, target.address, bytes);
    } else if (player->oracle) {
        oracle_cpu_read(player->oracle, id, offset, target.store, target.address, bytes);
    }
    return true;
}

/* Reads or writes [offset, end) of a locked allocation, in pieces contiguous on the bus. */
static void access_locked(struct player *player, uint32_t op_index, uint32_t id, uint64_t offset,
                          uint64_t end, bool is_write, uint64_t tag)
{
    const struct vidmm_allocation *handle = player->allocations[id].handle;
    const uint64_t start = offset, first_tag = tag;

    if (end > vidmm_allocation_size(handle)) {
        player_report(
            player, op_index,
            "locked allocation '%s': the CPU comes to byte 0x%llx, and the driver has given "
            "it 0x%llx bytes",
            workload_allocation_name(player->workload, id), (unsigned long long)end,
            (unsigned long long)vidmm_allocation_size(handle));
        return;
    }
    while (offset < end) {
        uint64_t page = offset / PAGE_BYTES;
        uint64_t in_page = offset % PAGE_BYTES;
        uint64_t pa = vidmm_locked_page_address(handle, page);
        uint64_t pages = 1;
        struct machine_target target;
        uint64_t bytes;

        while ((page + pages) * PAGE_BYTES < end &&
               vidmm_locked_page_address(handle, page + pages) == pa + pages * PAGE_BYTES)
            pages++;
        bytes = min_u64(pages * PAGE_BYTES - in_page, end - offset);
        /* Neighbours in a CPU host aperture may be strangers in local memory. */
        if (pages > 1 && !machine_bus_find(player->machine, pa + in_page, bytes, &target)) {
            pages = 1;
            bytes = PAGE_BYTES - in_page;
        }
        if (!access_piece(player, op_index, id, offset, pa + in_page, bytes, is_write, tag))
            break;
        offset += bytes;
        tag += pages;
    }
    if (is_write && player->oracle && offset > start)
        oracle_cpu_content(player->oracle, id, start, offset - start, first_tag);
}

/*
 * The content of the allocation is not needed any more, and the allocation may be another instance
 * than it was.
 */
static bool inform_of_discard(struct player *player, uint32_t id, const void *former)
{
    const struct vidmm_allocation *handle = player->allocations[id].handle;
    const void *instance = vidmm_allocation_instance(handle), *name = handle;

    if (instance == former) {
        if (player->oracle)
            oracle_content_lost(player->oracle, id);
        return true;
    }
    player_inform(player, &(struct check_client_event){.kind = CHECK_CLIENT_RENAMED,
                                                       .count = 1,
                                                       .allocations = &name,
                                                       .instance = instance});
    if (!player->oracle || NT_SUCCESS(oracle_allocation_renamed(player->oracle, id, instance)))
        return true;
    return player_stop_with(player, PLAYER_OBJECT,
                            "no room to follow the content of another instance of '%s'",
                            workload_allocation_name(player->workload, id));
}

/*
 * Waits until nothing uses it, or with is_discard until the manager gives another instance, and
 * locks it; STATUS_INVALID_HANDLE: it is not there. False: stopped.
 */
static bool lock_allocation(struct player *player, uint32_t id, bool is_discard,
                            NTSTATUS *out_status)
{
    struct player_allocation *entry = &player->allocations[id];
    bool may_rename = is_discard && player->config.run->renames && !player->is_virtual;
    unsigned attempts = 0;
    unsigned flags = player_is_tiled(player, &player->workload->allocations[id])
                         ? VIDMM_LOCK_ACQUIRE_APERTURE
                         : 0;
    const void *instance;
    NTSTATUS status;

    *out_status = STATUS_INVALID_HANDLE;
    while (entry->waiting_count || (entry->running_count && !may_rename)) {
        if (!player_advance(player))
            return false;
    }
    if (!entry->handle)
        return true;
    flags |= is_discard ? VIDMM_LOCK_DISCARD : 0;
    instance = vidmm_allocation_instance(entry->handle);
    player_inform(player, &(struct check_client_event){
                              .kind = CHECK_CLIENT_LOCK,
                              .count = 1,
                              .allocations = (const void *const *)&entry->handle,
                              .wants_aperture = (flags & VIDMM_LOCK_ACQUIRE_APERTURE) != 0,
                              .discards = is_discard});
    for (;;) {
        status = vidmm_lock_with(entry->handle, flags);
        if (status == STATUS_GRAPHICS_ALLOCATION_BUSY) {
            if (!player_advance(player))
                return false;
        } else if (!player_should_repeat(player, status, &attempts)) {
            break;
        }
    }
    if (NT_SUCCESS(status) && is_discard && !inform_of_discard(player, id, instance))
        return false;
    player_inform_of(player, CHECK_CLIENT_LOCKED, entry->handle, status);
    *out_status = status;
    return true;
}

static void unlock_allocation(struct player *player, uint32_t id)
{
    struct player_allocation *entry = &player->allocations[id];

    player_inform_of(player, CHECK_CLIENT_UNLOCK, entry->handle, STATUS_SUCCESS);
    vidmm_unlock(entry->handle);
}

static bool write_locked(struct player *player, uint32_t op_index, const struct workload_ref *ref)
{
    uint64_t tag = ref->key ? ref->key : player_take_tags(player, ref->offset, ref->size);
    NTSTATUS status;

    if (player->is_asleep) /* who waited would wait for ever */
        return true;
    if (!lock_allocation(player, ref->allocation, false, &status))
        return false;
    if (!NT_SUCCESS(status))
        return true;
    access_locked(player, op_index, ref->allocation, ref->offset, ref->offset + ref->size, true,
                  tag);
    unlock_allocation(player, ref->allocation);
    return true;
}

static bool play_access(struct player *player, uint32_t op_index, bool is_write)
{
    const struct workload_op *op = player_op(player, op_index);
    uint64_t tag = 0;
    NTSTATUS status;

    if (!lock_allocation(player, op->object, is_write && (op->flags & WORKLOAD_WRITE_DISCARD),
                         &status))
        return false;
    if (!player->allocations[op->object].handle)
        return true; /* it could not be created, which has been reported */
    if (!NT_SUCCESS(status)) {
        player_report(player, op_index, "allocation '%s' cannot be locked: status %s",
                      workload_allocation_name(player->workload, op->object),
                      decode_status(status).text);
        return true;
    }
    if (is_write)
        tag = op->value ? op->value : player_take_tags(player, op->offset, op->size);
    access_locked(player, op_index, op->object, op->offset, op->offset + op->size, is_write, tag);
    unlock_allocation(player, op->object);
    return true;
}

bool player_play_write(struct player *player, uint32_t op_index)
{
    return play_access(player, op_index, true);
}

bool player_play_read(struct player *player, uint32_t op_index)
{
    return play_access(player, op_index, false);
}

bool player_play_lock(struct player *player, uint32_t op_index)
{
    uint32_t id = player_op(player, op_index)->object;
    NTSTATUS status;

    if (!lock_allocation(player, id, false, &status))
        return false;
    player->allocations[id].is_locked = NT_SUCCESS(status);
    if (!NT_SUCCESS(status) && player->allocations[id].handle)
        player_report(player, op_index, "allocation '%s' cannot be locked: status %s",
                      workload_allocation_name(player->workload, id), decode_status(status).text);
    return true;
}

bool player_play_unlock(struct player *player, uint32_t op_index)
{
    player_unlock(player, player_op(player, op_index)->object);
    return true;
}

bool player_write_for_gpu(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);

    if (op->flags & WORKLOAD_SUBMIT_NULL)
        return true;
    for (uint32_t i = 0; i < op->ref_count; i++) {
        const struct workload_ref *ref = &player->workload->refs[op->first_ref + i];

        if ((ref->access & WORKLOAD_ACCESS_WRITE) && !write_locked(player, op_index, ref))
            return false;
    }
    return true;
}
