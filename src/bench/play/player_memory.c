/*
 * Operations on memory: allocations, CPU access, residency by hand, mappings and pte lines.
 */
#include "bench/play/player_private.h"

#include "base/assert.h"
#include "workload/words.h"

#include <drydock/sgpu.h>

#include <string.h>

/* ---- Content and mappings -------------------------------------------------------------------- */

uint64_t player_take_tags(struct player *player, uint64_t offset, uint64_t bytes)
{
    uint64_t first = align_down(offset, PAGE_BYTES);
    uint64_t tag = player->next_tag;

    player->next_tag += bytes_to_pages(offset + bytes - first);
    return tag;
}

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
            vidmm_map_gpu_va(player->processes[process], entry->handle, offset, bytes, va, protect,
                             driver_protection, player_mapping_done, mapping, &mapping->va);
    } while (player_should_repeat(player, *out_status, &attempts));
    if (!NT_SUCCESS(*out_status)) {
        base_free(player->services, mapping, sizeof *mapping);
        return NULL;
    }
    mapping->next = entry->mappings;
    entry->mappings = mapping;
    return mapping;
}

/*
 * The same for a line of the case, at an address that it may name: what was there before it went
 * with a `free` or `unmap`, which the manager ends behind the work that still uses it. An address
 * that is taken when nothing is under way any more stays so. False: stopped.
 */
static bool map_for_line(struct player *player, uint32_t allocation, uint64_t offset,
                         uint64_t bytes, uint64_t va, uint32_t protect, uint64_t driver_protection,
                         NTSTATUS *out_status)
{
    uint32_t device = player->workload->allocations[allocation].device;
    uint32_t process = player->workload->devices[device].process;

    while (!player_map(player, allocation, process, offset, bytes, va, protect, driver_protection,
                       out_status) &&
           *out_status == STATUS_RESOURCE_IN_USE &&
           (player->needs_pump || !vidmm_is_idle(player->vidmm))) {
        if (!player_advance(player))
            return false;
    }
    return true;
}

/* ---- Allocations ----------------------------------------------------------------------------- */

static bool is_local(uint8_t segment)
{
    return segment == WORKLOAD_SEGMENT_LOCAL || segment == WORKLOAD_SEGMENT_LOCAL_INVISIBLE;
}

/* Tiles are a matter of WDDM 1: above it, drivers are not told when the CPU looks. */
static bool is_tiled(const struct player *player, const struct workload_allocation *allocation)
{
    return !player->is_virtual && !player_is_bare(player) &&
           (allocation->flags & (WORKLOAD_ALLOCATION_TILED | WORKLOAD_ALLOCATION_SWIZZLED));
}

static bool has_rows(const struct player *player, const struct workload_allocation *allocation)
{
    return !player->is_virtual && !player_is_bare(player) &&
           (allocation->flags & WORKLOAD_ALLOCATION_ROWS);
}

static uint64_t tiled_page(uint64_t page)
{
    return SGPU_TILED(page * PAGE_BYTES) / PAGE_BYTES;
}

static uint64_t page_in_rows(uint64_t page)
{
    return SGPU_PITCHED(0, page * PAGE_BYTES) / PAGE_BYTES;
}

/* Wishes that it hands on as they are. */
static const struct {
    enum workload_allocation_flag flag;
    uint32_t told; /* SGPU_UMD_* */
} wishes[] = {
    {WORKLOAD_ALLOCATION_PRIMARY, SGPU_UMD_PRIMARY},
    {WORKLOAD_ALLOCATION_CPU_VISIBLE, SGPU_UMD_CPU_VISIBLE},
    {WORKLOAD_ALLOCATION_CACHED, SGPU_UMD_CACHED},
    {WORKLOAD_ALLOCATION_ACCESSED_PHYSICALLY, SGPU_UMD_ACCESSED_PHYSICALLY},
    {WORKLOAD_ALLOCATION_PERMANENT_SYSMEM, SGPU_UMD_PERMANENT},
    {WORKLOAD_ALLOCATION_FROM_END_OF_SEGMENT, SGPU_UMD_FROM_END},
    {WORKLOAD_ALLOCATION_OVERLAY, SGPU_UMD_OVERLAY},
    {WORKLOAD_ALLOCATION_CAPTURE, SGPU_UMD_CAPTURE},
    {WORKLOAD_ALLOCATION_USE_ALTERNATE_VA, SGPU_UMD_ALTERNATE_VA},
    {WORKLOAD_ALLOCATION_SYNCHRONOUS_PAGING, SGPU_UMD_SYNCHRONOUS},
    {WORKLOAD_ALLOCATION_HISTORY_BUFFER, SGPU_UMD_HISTORY},
    {WORKLOAD_ALLOCATION_EXPLICIT_RESIDENCY_NOTIFICATION, SGPU_UMD_NOTIFY_RESIDENCY},
    {WORKLOAD_ALLOCATION_CPU_VISIBLE_ON_DEMAND, SGPU_UMD_CPU_ON_DEMAND},
    {WORKLOAD_ALLOCATION_DISABLE_LARGE_PAGE_MAPPING, SGPU_UMD_NO_LARGE_PAGES},
    {WORKLOAD_ALLOCATION_MAP_APERTURE_CPU_VISIBLE, SGPU_UMD_APERTURE_CPU_VIEW},
    {WORKLOAD_ALLOCATION_DISABLE_PARTIAL_RESIDENCY, SGPU_UMD_WHOLE},
    {WORKLOAD_ALLOCATION_RESTRICTED_TO_SINGLE_SEGMENT, SGPU_UMD_ONE_SEGMENT},
    {WORKLOAD_ALLOCATION_NOTIFY_EVICTION, SGPU_UMD_NOTIFY_EVICTION},
    {WORKLOAD_ALLOCATION_NOTIFY_IOMMU_UNMAP, SGPU_UMD_NOTIFY_IOMMU_UNMAP},
};

/* What the user-mode half tells its driver about the allocation. */
static struct sgpu_umd_allocation private_data_of(const struct player *player,
                                                  const struct workload_allocation *allocation)
{
    struct sgpu_umd_allocation data = {
        .version = SGPU_UMD_VERSION,
        .bytes = allocation->size,
        .alignment = allocation->align > PAGE_BYTES ? (uint32_t)allocation->align : 0,
        .priority = allocation->priority,
    };
    bool has_local = false, has_visible = false, has_system = false;

    for (unsigned i = 0; i < allocation->segment_count; i++) {
        if (is_local(allocation->segments[i]))
            has_local = true;
        else
            has_system = true;
        has_visible |= allocation->segments[i] == WORKLOAD_SEGMENT_LOCAL;
    }
    if (has_local && !has_visible && !(allocation->flags & WORKLOAD_ALLOCATION_CPU_VISIBLE))
        data.flags |= SGPU_UMD_HIDDEN_ONLY;
    if (has_system && !has_local)
        data.flags |= SGPU_UMD_APERTURE_ONLY;
    else if (has_local && !has_system)
        data.flags |= SGPU_UMD_NO_APERTURE;
    else if (has_system && !is_local(allocation->segments[0]))
        data.flags |= SGPU_UMD_PREFER_APERTURE;
    for (size_t i = 0; i < ARRAY_COUNT(wishes); i++) {
        if (allocation->flags & wishes[i].flag)
            data.flags |= wishes[i].told;
    }
    if (is_tiled(player, allocation))
        data.flags |= SGPU_UMD_TILED;
    if (has_rows(player, allocation))
        data.flags |= SGPU_UMD_ROWS;
    if (is_tiled(player, allocation) && (allocation->flags & WORKLOAD_ALLOCATION_SWIZZLED))
        data.flags |= SGPU_UMD_SWIZZLED;
    return data;
}

/* What is shared is opened in every device. */
static bool open_in_other_devices(struct player *player, uint32_t id, const void *data,
                                  uint32_t bytes)
{
    const struct workload_allocation *allocation = &player->workload->allocations[id];

    if (!(allocation->flags & WORKLOAD_ALLOCATION_SHARED))
        return true;
    for (uint32_t i = 0; i < player->workload->device_count; i++) {
        unsigned attempts = 0;
        NTSTATUS status;

        if (i == allocation->device)
            continue;
        do {
            status = vidmm_allocation_open(player->devices[i], player->allocations[id].handle, data,
                                           bytes);
        } while (player_should_repeat(player, status, &attempts));
        if (!NT_SUCCESS(status))
            return false;
    }
    return true;
}

bool player_play_alloc(struct player *player, uint32_t op_index)
{
    uint32_t id = player_op(player, op_index)->object;
    const struct workload_allocation *allocation = &player->workload->allocations[id];
    struct player_allocation *entry = &player->allocations[id];
    struct sgpu_umd_allocation data = private_data_of(player, allocation);
    const char *name = workload_allocation_name(player->workload, id);
    NTSTATUS(*create)
    (struct vidmm_device *, const void *, uint32_t, void *, struct vidmm_allocation **) =
        allocation->flags & WORKLOAD_ALLOCATION_PRIMARY ? vidmm_primary_create
                                                        : vidmm_allocation_create;
    const void *told = &data;
    uint32_t told_bytes = sizeof data, bare_bytes = 0;
    uint8_t *bare_data = NULL;
    unsigned attempts = 0;
    NTSTATUS status;
    bool is_open;

    if (player->oracle) {
        status = oracle_allocation_created(player->oracle, id, allocation->size, name);
        if (!NT_SUCCESS(status))
            return player_stop_with(player, PLAYER_OBJECT,
                                    "no room to follow the content of allocation '%s'", name);
        if (is_tiled(player, allocation))
            oracle_allocation_reordered(player->oracle, id, tiled_page,
                                        allocation->flags & WORKLOAD_ALLOCATION_SWIZZLED);
        else if (has_rows(player, allocation))
            oracle_allocation_pitched(player->oracle, id, page_in_rows);
    }
    if (player_is_bare(player)) {
        if (!player_bare_allocation(player, allocation->size, data.flags, id, &bare_data,
                                    &bare_bytes))
            return player_stop_with(player, PLAYER_OBJECT,
                                    "no memory for the private data of allocation '%s'", name);
        told = bare_data;
        told_bytes = bare_bytes;
    }
    do {
        player_tell(player,
                    &(struct check_client_event){
                        .kind = CHECK_CLIENT_CREATE,
                        .is_primary = (allocation->flags & WORKLOAD_ALLOCATION_PRIMARY) != 0});
        status = create(player->devices[allocation->device], told, told_bytes,
                        (void *)(uintptr_t)(id + 1), &entry->handle);
        player_tell_of(player, CHECK_CLIENT_CREATED, entry->handle, status);
    } while (player_should_repeat(player, status, &attempts));
    is_open = NT_SUCCESS(status) && open_in_other_devices(player, id, told, told_bytes);
    base_free(player->services, bare_data, bare_bytes);
    if (!NT_SUCCESS(status)) {
        if (player->oracle)
            oracle_allocation_freed(player->oracle, id);
        player_report(player, op_index, "alloc %s of %llu bytes failed with status 0x%08x", name,
                      (unsigned long long)allocation->size, (unsigned)status);
        return true;
    }
    player->live_handles[id] = entry->handle;
    if (!is_open)
        player_report(player, op_index, "alloc %s cannot be opened in every device", name);
    if (player->is_virtual && !(allocation->flags & WORKLOAD_ALLOCATION_NOMAP)) {
        uint64_t bytes = vidmm_allocation_size(entry->handle);
        uint64_t va =
            allocation->va == WORKLOAD_VA_AUTO ? player_choose_va(player, bytes) : allocation->va;

        if (!map_for_line(player, id, 0, bytes, va, 0, 0, &status))
            return false;
        if (!NT_SUCCESS(status))
            player_report(player, op_index, "alloc %s cannot be mapped at 0x%llx: status 0x%08x",
                          name, (unsigned long long)va, (unsigned)status);
    }
    return true;
}

static void drop_holds(struct player *player, struct player_allocation *entry, uint32_t device,
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

void player_bury(struct player *player, uint32_t allocation)
{
    struct player_allocation *entry = &player->allocations[allocation];

    if (!entry->handle || entry->waiting_count)
        return;
    drop_holds(player, entry, 0, true);
    player_release_running(player, allocation);
    if (player->oracle)
        oracle_allocation_freed(player->oracle, allocation);
    player_tell_of(player, CHECK_CLIENT_DESTROY, entry->handle, STATUS_SUCCESS);
    vidmm_allocation_destroy(entry->handle);
    entry->handle = NULL;
    player->live_handles[allocation] = NULL;
    while (entry->mappings) {
        struct player_mapping *mapping = entry->mappings;

        entry->mappings = mapping->next;
        base_free(player->services, mapping, sizeof *mapping);
    }
}

static bool mappings_are_ready(const struct player_allocation *entry)
{
    for (const struct player_mapping *mapping = entry->mappings; mapping; mapping = mapping->next) {
        if (!mapping->is_ready)
            return false;
    }
    return true;
}

bool player_free(struct player *player, uint32_t allocation)
{
    struct player_allocation *entry = &player->allocations[allocation];

    /* A mapping under way has its callback still to come. */
    while (!mappings_are_ready(entry)) {
        if (!player_advance(player))
            return false;
    }
    entry->is_freed = true;
    player_bury(player, allocation);
    return true;
}

bool player_play_free(struct player *player, uint32_t op_index)
{
    return player_free(player, player_op(player, op_index)->object);
}

/* ---- CPU access ------------------------------------------------------------------------------ */

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
            oracle_cpu_write(player->oracle, id, offset, target.store, target.address, bytes, tag);
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
            return;
        offset += bytes;
        tag += pages;
    }
}

/* What it held is not needed any more, and what it is now may be another instance than it was. */
static bool tell_discard(struct player *player, uint32_t id, const void *former)
{
    const struct vidmm_allocation *handle = player->allocations[id].handle;
    const void *instance = vidmm_allocation_instance(handle), *name = handle;

    if (instance == former) {
        if (player->oracle)
            oracle_content_lost(player->oracle, id);
        return true;
    }
    player_tell(player, &(struct check_client_event){.kind = CHECK_CLIENT_RENAMED,
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
    unsigned flags =
        is_tiled(player, &player->workload->allocations[id]) ? VIDMM_LOCK_ACQUIRE_APERTURE : 0;
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
    player_tell(player, &(struct check_client_event){
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
    if (NT_SUCCESS(status) && is_discard && !tell_discard(player, id, instance))
        return false;
    player_tell_of(player, CHECK_CLIENT_LOCKED, entry->handle, status);
    *out_status = status;
    return true;
}

static void unlock_allocation(struct player *player, uint32_t id)
{
    struct player_allocation *entry = &player->allocations[id];

    player_tell_of(player, CHECK_CLIENT_UNLOCK, entry->handle, STATUS_SUCCESS);
    vidmm_unlock(entry->handle);
}

bool player_write_locked(struct player *player, uint32_t op_index, const struct workload_ref *ref)
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

bool player_play_access(struct player *player, uint32_t op_index, bool is_write)
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
        player_report(player, op_index, "allocation '%s' cannot be locked: status 0x%08x",
                      workload_allocation_name(player->workload, op->object), (unsigned)status);
        return true;
    }
    if (is_write)
        tag = op->value ? op->value : player_take_tags(player, op->offset, op->size);
    access_locked(player, op_index, op->object, op->offset, op->offset + op->size, is_write, tag);
    unlock_allocation(player, op->object);
    return true;
}

/* ---- Residency by hand ----------------------------------------------------------------------- */

void player_request_done(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct player *player = context;

    player->is_request_reported = true;
    player->request_status = status;
    player->request_needed = needed;
    player->request_available = available;
    player->needs_pump = true;
    if (player->request_told.device) {
        player->request_told.status = status;
        player_tell(player, &player->request_told);
    }
    player->request_told.device = NULL;
}

bool player_wait_request(struct player *player)
{
    player->requesting_count++;
    while (!player->is_request_reported) {
        if (!player_advance(player))
            return false;
    }
    player->requesting_count--;
    return true;
}

/* A reference for one allocation; waits for the answer. False: stopped. */
static bool make_resident(struct player *player, uint32_t device,
                          struct vidmm_allocation *allocation, NTSTATUS *out_status)
{
    unsigned attempts = 0;

    do {
        player->is_request_reported = false;
        player_expect_request(player, player->devices[device], allocation, false);
        *out_status = vidmm_make_resident(player->devices[device], 1, &allocation,
                                          player_request_done, player, &player->request_told.fence);
        player_tell_request(player, CHECK_CLIENT_MAKE_RESIDENT, player->devices[device], 1,
                            &allocation, *out_status, player->request_told.fence);
        if (*out_status != STATUS_PENDING)
            player->request_told.device = NULL;
        if (*out_status == STATUS_PENDING) {
            if (!player_wait_request(player))
                return false;
            *out_status = player->request_status;
        }
    } while (player_should_repeat(player, *out_status, &attempts));
    return true;
}

bool player_play_resident(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);

    if (!player->is_virtual)
        return true; /* a 1.x application has no such call */
    for (uint32_t i = 0; i < op->ref_count; i++) {
        uint32_t id = player->workload->refs[op->first_ref + i].allocation;
        struct player_allocation *entry = &player->allocations[id];
        struct player_hold *hold;
        struct run_finding *finding;
        NTSTATUS status;

        if (!entry->handle)
            continue;
        if (!make_resident(player, op->object, entry->handle, &status))
            return false;
        hold = NT_SUCCESS(status) ? base_alloc(player->services, sizeof *hold) : NULL;
        if (hold) {
            hold->device = op->object;
            hold->next = entry->holds;
            entry->holds = hold;
            continue;
        }
        if (NT_SUCCESS(status)) {
            player_evict(player, player->devices[op->object], 1, &entry->handle);
            status = STATUS_NO_MEMORY;
        }
        finding = player_report(player, op_index,
                                "resident %s failed with status 0x%08x: needs %llu bytes, %llu are "
                                "available",
                                workload_allocation_name(player->workload, id), (unsigned)status,
                                (unsigned long long)player->request_needed,
                                (unsigned long long)player->request_available);
        if (finding) {
            finding->needed = player->request_needed;
            finding->available = player->request_available;
        }
    }
    return true;
}

bool player_play_evict(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);

    for (uint32_t i = 0; i < op->ref_count && player->is_virtual; i++) {
        uint32_t id = player->workload->refs[op->first_ref + i].allocation;

        if (player->allocations[id].handle)
            drop_holds(player, &player->allocations[id], op->object, false);
    }
    return true;
}

/* ---- Mapping by hand ------------------------------------------------------------------------- */

static uint32_t protection_of(uint8_t flags)
{
    return (flags & WORKLOAD_PROTECT_READ_ONLY ? VIDMM_PROTECT_READ_ONLY : 0) |
           (flags & WORKLOAD_PROTECT_NO_EXECUTE ? VIDMM_PROTECT_NO_EXECUTE : 0) |
           (flags & WORKLOAD_PROTECT_ZERO ? VIDMM_PROTECT_ZERO : 0);
}

bool player_play_map(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);
    uint64_t va = op->value;
    uint64_t start = align_down(op->offset, PAGE_BYTES);
    uint64_t bytes = align_up(op->offset + op->size, PAGE_BYTES) - start;
    uint64_t driver_protection = op->ref_count ? player->workload->refs[op->first_ref].key : 0;
    NTSTATUS status;

    if (!player->is_virtual || !player->allocations[op->object].handle)
        return true;
    if (va == WORKLOAD_VA_AUTO)
        va = player_choose_va(player, bytes);
    if (!map_for_line(player, op->object, start, bytes, va, protection_of(op->flags),
                      driver_protection, &status))
        return false;
    if (!NT_SUCCESS(status))
        player_report(player, op_index, "map %s at 0x%llx failed with status 0x%08x",
                      workload_allocation_name(player->workload, op->object),
                      (unsigned long long)va, (unsigned)status);
    return true;
}

/* For the end of what was asked for last, map or unmap. False: stopped. */
static bool wait_mapping(const struct player_mapping *mapping)
{
    while (!mapping->is_ready) {
        if (!player_advance(mapping->player))
            return false;
    }
    return true;
}

bool player_play_unmap(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);
    struct player_allocation *entry = &player->allocations[op->object];
    struct player_mapping **link = &entry->mappings;

    if (!player->is_virtual)
        return true;
    while (entry->waiting_count || entry->running_count) {
        if (!player_advance(player))
            return false;
    }
    while (*link) {
        struct player_mapping *mapping = *link;
        unsigned attempts = 0;
        NTSTATUS status;

        if (mapping->is_tile || (op->value != WORKLOAD_VA_AUTO && mapping->va != op->value)) {
            link = &mapping->next;
            continue;
        }
        if (!wait_mapping(mapping))
            return false;
        mapping->is_ready = false;
        do {
            status = vidmm_unmap_gpu_va(player->processes[mapping->process], mapping->va,
                                        player_mapping_done, mapping);
        } while (player_should_repeat(player, status, &attempts));
        if (NT_SUCCESS(status) && !wait_mapping(mapping))
            return false;
        mapping->is_ready = true;
        if (!NT_SUCCESS(status)) {
            player_report(player, op_index, "unmap at 0x%llx failed with status 0x%08x",
                          (unsigned long long)mapping->va, (unsigned)status);
            return true;
        }
        *link = mapping->next;
        base_free(player->services, mapping, sizeof *mapping);
    }
    return true;
}

void player_page_table_done(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct player *player = context;

    player->page_table_pending--;
    player->page_table_failures += !NT_SUCCESS(status);
    player->needs_pump = true;
}

bool player_play_page_table(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);
    struct vidmm_process *process = player->processes[op->object];
    unsigned attempts = 0;
    unsigned segment = 0;
    NTSTATUS status;

    if (!player->has_page_tables) {
        player->result->page_table_lines_skipped++;
        return true;
    }
    while (player->page_table_pending >= PLAYER_PAGE_TABLE_WINDOW) {
        if (!player_advance(player))
            return false;
    }
    if (op->kind == WORKLOAD_OP_PTE_MAP && !player_segment_id(player, op->segment, &segment)) {
        player_report(player, op_index, "this machine has no %s memory",
                      workload_segment_name(op->segment));
        return true;
    }
    do {
        player->page_table_pending++;
        if (op->kind == WORKLOAD_OP_PTE_MAP)
            status =
                vidmm_map_physical(process, op->offset, segment, op->value, op->size / PAGE_BYTES,
                                   protection_of(op->flags), player_page_table_done, player);
        else
            status =
                vidmm_unmap_physical(process, op->offset, op->size, player_page_table_done, player);
        if (!NT_SUCCESS(status))
            player->page_table_pending--;
    } while (player_should_repeat(player, status, &attempts));
    if (status == STATUS_NOT_SUPPORTED && player_is_bare(player))
        player->result
            ->page_table_lines_skipped++; /* its entries cannot say that: its own business */
    else if (!NT_SUCCESS(status))
        player_report(player, op_index, "%s at 0x%llx failed with status 0x%08x",
                      workload_op_name(op->kind), (unsigned long long)op->offset, (unsigned)status);
    return true;
}
