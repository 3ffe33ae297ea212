/*
 * alloc and free lines: an allocation is made as the user-mode half would make it, and destroyed.
 */
#include "bench/play/player_private.h"
#include "check/report/decode.h"

#include "base/assert.h"
#include "workload/words.h"

#include <drydock/sgpu.h>

#include <string.h>

/* ---- Allocations ----------------------------------------------------------------------------- */

static bool is_local(uint8_t segment)
{
    return segment == WORKLOAD_SEGMENT_LOCAL || segment == WORKLOAD_SEGMENT_LOCAL_INVISIBLE;
}

/* Tiles are a matter of WDDM 1: above it, drivers are not told when the CPU looks. */
bool player_is_tiled(const struct player *player, const struct workload_allocation *allocation)
{
    return !player->is_virtual && !player_is_foreign(player) &&
           (allocation->flags & (WORKLOAD_ALLOCATION_TILED | WORKLOAD_ALLOCATION_SWIZZLED));
}

static bool has_rows(const struct player *player, const struct workload_allocation *allocation)
{
    return !player->is_virtual && !player_is_foreign(player) &&
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

/* Flags of an allocation that the user-mode half hands on as they are. */
static const struct {
    enum workload_allocation_flag flag;
    uint32_t umd_flag; /* SGPU_UMD_* */
} wishes[] = {
    {WORKLOAD_ALLOCATION_PRIMARY, SGPU_UMD_PRIMARY},
    {WORKLOAD_ALLOCATION_CPU_VISIBLE, SGPU_UMD_CPU_VISIBLE},
    {WORKLOAD_ALLOCATION_CACHED, SGPU_UMD_CACHED},
    {WORKLOAD_ALLOCATION_ACCESSED_PHYSICALLY, SGPU_UMD_ACCESSED_PHYSICALLY},
    {WORKLOAD_ALLOCATION_PERMANENT_SYSMEM, SGPU_UMD_PERMANENT},
    {WORKLOAD_ALLOCATION_EXISTING_SYSMEM, SGPU_UMD_EXISTING},
    {WORKLOAD_ALLOCATION_EXISTING_KERNEL_SYSMEM, SGPU_UMD_EXISTING_KERNEL},
    {WORKLOAD_ALLOCATION_PROTECTED, SGPU_UMD_PROTECTED},
    {WORKLOAD_ALLOCATION_HARDWARE_PROTECTED, SGPU_UMD_HARDWARE_PROTECTED},
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

/* The private data with which the user-mode half describes the allocation to its driver. */
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
            data.flags |= wishes[i].umd_flag;
    }
    if (player_is_tiled(player, allocation))
        data.flags |= SGPU_UMD_TILED;
    if (has_rows(player, allocation))
        data.flags |= SGPU_UMD_ROWS;
    if (player_is_tiled(player, allocation) && (allocation->flags & WORKLOAD_ALLOCATION_SWIZZLED))
        data.flags |= SGPU_UMD_SWIZZLED;
    return data;
}

/* A shared allocation is opened in every device. */
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

bool player_play_close(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);
    struct player_allocation *entry = &player->allocations[op->object];
    uint32_t device = (uint32_t)op->value;
    NTSTATUS status;

    if (!entry->handle)
        return true; /* its alloc line has been reported */
    for (uint32_t i = 0; i < player->workload->context_count; i++) {
        if (player->contexts[i].device == device &&
            !player_wait_context(player, &player->contexts[i]))
            return false;
    }
    player_drop_holds_of_device(player, entry, device);
    while ((status = vidmm_allocation_close(player->devices[device], entry->handle)) ==
           STATUS_GRAPHICS_ALLOCATION_BUSY) {
        if (!player_advance(player))
            return false;
    }
    if (!NT_SUCCESS(status))
        player_report_failure(player, op_index, status, "close %s",
                              workload_allocation_name(player->workload, op->object));
    return true;
}

/* Allocations that are made together: of one line, or of several as a resource. */
struct making {
    uint32_t count;
    uint32_t lines[VIDMM_RESOURCE_MOST];
    uint32_t ids[VIDMM_RESOURCE_MOST];
    struct sgpu_umd_allocation data[VIDMM_RESOURCE_MOST];
    uint8_t
        *foreign_data[VIDMM_RESOURCE_MOST]; /* in place of data; NULL: it is the Drydock GPU's */
    struct vidmm_new_allocation wanted[VIDMM_RESOURCE_MOST];
    struct vidmm_allocation *handles[VIDMM_RESOURCE_MOST];
};

/* ---- Memory of the client's ------------------------------------------------------------------ */

#define EXISTING_FLAGS                                                                             \
    (WORKLOAD_ALLOCATION_EXISTING_SYSMEM | WORKLOAD_ALLOCATION_EXISTING_KERNEL_SYSMEM)

struct player_memory {
    struct list link;
    struct player *player;
    struct vidmm_client_memory given;
    uint64_t pages[];
};

static size_t memory_bytes(uint64_t page_count)
{
    return sizeof(struct player_memory) + (size_t)page_count * sizeof(uint64_t);
}

static void memory_released(void *context)
{
    struct player_memory *memory = context;
    const struct vidmm_platform *platform = memory->player->config.platform;

    platform->release_pages(platform->context, memory->given.page_count, memory->pages);
    list_remove(&memory->link);
    base_free(memory->player->services, memory, memory_bytes(memory->given.page_count));
}

void player_free_memories(struct player *player)
{
    while (!list_is_empty(&player->memories))
        memory_released(container_of(player->memories.next, struct player_memory, link));
}

/* Content that the client had before it knew of the allocation, in each of its pages. */
static void write_memory(struct player *player, uint32_t id, const struct player_memory *memory)
{
    struct page_store *ram = machine_ram(player->machine);
    const uint64_t size = player->workload->allocations[id].size;
    const uint64_t first_tag = player_take_tags(player, 0, size);
    uint64_t tag = first_tag;

    for (uint64_t offset = 0; offset < size; offset += PAGE_BYTES, tag++) {
        const uint64_t address = memory->pages[offset / PAGE_BYTES] * PAGE_BYTES;
        const uint64_t bytes = min_u64(PAGE_BYTES, size - offset);

        page_store_fill(ram, address, PAGE_BYTES, player->config.run->fill_pattern);
        page_store_write_tag(ram, address, bytes, tag);
        if (player->oracle)
            oracle_cpu_wrote(player->oracle, id, offset, ram, address, bytes);
    }
    if (player->oracle && size)
        oracle_cpu_content(player->oracle, id, 0, size, first_tag);
}

/* The memory that the allocation of a line is to be made over, where the line says so. */
static NTSTATUS take_memory(struct player *player, uint32_t id, struct player_memory **out_memory)
{
    const struct vidmm_platform *platform = player->config.platform;
    const struct workload_allocation *allocation = &player->workload->allocations[id];
    const uint64_t count = align_up(allocation->size, SGPU_64K_BYTES) / PAGE_BYTES;
    struct player_memory *memory;
    NTSTATUS status;

    *out_memory = NULL;
    if (!(allocation->flags & EXISTING_FLAGS) || player_is_foreign(player))
        return STATUS_SUCCESS;
    memory = base_alloc(player->services, memory_bytes(count));
    if (!memory)
        return STATUS_NO_MEMORY;
    status = platform->take_pages(platform->context, count, memory->pages);
    if (!NT_SUCCESS(status)) {
        base_free(player->services, memory, memory_bytes(count));
        return status;
    }
    memory->player = player;
    memory->given = (struct vidmm_client_memory){
        .pages = memory->pages,
        .page_count = count,
        .is_kernels = (allocation->flags & WORKLOAD_ALLOCATION_EXISTING_KERNEL_SYSMEM) != 0,
        .released = memory_released,
        .context = memory,
    };
    list_push_back(&player->memories, &memory->link);
    write_memory(player, id, memory);
    *out_memory = memory;
    return STATUS_SUCCESS;
}

/* ---- Making ---------------------------------------------------------------------------------- */

/*
 * Primaries, what several devices open, and what is made over the client's memory are made by a
 * line of their own.
 */
static bool may_be_of_resource(const struct player *player, uint32_t op_index, uint32_t device)
{
    const struct workload_op *op = player_op(player, op_index);
    const struct workload_allocation *allocation;

    if (op->kind != WORKLOAD_OP_ALLOC)
        return false;
    allocation = &player->workload->allocations[op->object];
    return allocation->device == device &&
           !(allocation->flags &
             (WORKLOAD_ALLOCATION_PRIMARY | WORKLOAD_ALLOCATION_SHARED | EXISTING_FLAGS));
}

static void add_line(const struct player *player, uint32_t op_index, struct making *making)
{
    making->lines[making->count] = op_index;
    making->ids[making->count++] = player_op(player, op_index)->object;
}

/* The line, and others of its device among the alloc lines that follow. */
static void choose_lines(const struct player *player, uint32_t op_index, struct making *making)
{
    uint32_t device = player->workload->allocations[player_op(player, op_index)->object].device;
    uint64_t most = min_u64(player->config.run->resource_size, VIDMM_RESOURCE_MOST);

    add_line(player, op_index, making);
    if (!may_be_of_resource(player, op_index, device))
        return;
    for (uint32_t i = op_index + 1; making->count < most && i < player->workload->op_count &&
                                    player_op(player, i)->kind == WORKLOAD_OP_ALLOC;
         i++) {
        if (may_be_of_resource(player, i, device) &&
            !player->allocations[player_op(player, i)->object].is_made)
            add_line(player, i, making);
    }
}

static bool follow_content(struct player *player, uint32_t id)
{
    const struct workload_allocation *allocation = &player->workload->allocations[id];
    const char *name = workload_allocation_name(player->workload, id);

    if (!player->oracle)
        return true;
    if (!NT_SUCCESS(oracle_allocation_created(player->oracle, id, allocation->size, name)))
        return player_stop_with(player, PLAYER_OBJECT,
                                "no room to follow the content of allocation '%s'", name);
    if (player_is_tiled(player, allocation))
        oracle_allocation_reordered(player->oracle, id, tiled_page,
                                    allocation->flags & WORKLOAD_ALLOCATION_SWIZZLED);
    else if (has_rows(player, allocation))
        oracle_allocation_pitched(player->oracle, id, page_in_rows);
    return true;
}

/* What the user-mode half says of an allocation. */
static bool describe(struct player *player, struct making *making, uint32_t i)
{
    uint32_t id = making->ids[i];
    const struct workload_allocation *allocation = &player->workload->allocations[id];
    struct vidmm_new_allocation *wanted = &making->wanted[i];

    making->data[i] = private_data_of(player, allocation);
    wanted->private_data = &making->data[i];
    wanted->private_data_bytes = sizeof making->data[i];
    wanted->cookie = (void *)(uintptr_t)(id + 1);
    if (!player_is_foreign(player))
        return true;
    if (!player_foreign_allocation_data(player, allocation->size, making->data[i].flags, id,
                                        &making->foreign_data[i], &wanted->private_data_bytes))
        return player_stop_with(player, PLAYER_OBJECT,
                                "no memory for the private data of allocation '%s'",
                                workload_allocation_name(player->workload, id));
    wanted->private_data = making->foreign_data[i];
    return true;
}

/*
 * A primary of which the line says nothing but its size may as well be the kernel's own, of rows of
 * a page; one that the Drydock GPU's driver describes.
 */
static bool is_surface(const struct player *player, const struct workload_allocation *allocation)
{
    return !player_is_foreign(player) && player->config.run->has_display &&
           !allocation->segment_count && !allocation->align && allocation->size % PAGE_BYTES == 0;
}

static NTSTATUS make(struct player *player, struct making *making)
{
    const struct workload_allocation *first = &player->workload->allocations[making->ids[0]];
    const struct vidmm_new_allocation *wanted = &making->wanted[0];
    struct vidmm_device *device = player->devices[first->device];

    if (first->flags == WORKLOAD_ALLOCATION_PRIMARY && is_surface(player, first)) {
        NTSTATUS status = vidmm_shared_primary_create(device, SGPU_ROW_PIXELS,
                                                      (uint32_t)(first->size / PAGE_BYTES),
                                                      wanted->cookie, making->handles);

        if (status != STATUS_NOT_SUPPORTED)
            return status;
    }
    if (first->flags & WORKLOAD_ALLOCATION_PRIMARY)
        return vidmm_primary_create(device, wanted->private_data, wanted->private_data_bytes,
                                    wanted->cookie, making->handles);
    if (player->config.run->resource_size > 1 &&
        !(first->flags & (WORKLOAD_ALLOCATION_SHARED | EXISTING_FLAGS)))
        return vidmm_resource_create(device, making->ids[0] % 2, making->count, wanted,
                                     making->handles);
    return vidmm_allocation_create_over(device, wanted->private_data, wanted->private_data_bytes,
                                        wanted->cookie, wanted->memory, making->handles);
}

static NTSTATUS make_and_tell(struct player *player, struct making *making)
{
    struct player_memory *memory;
    struct check_client_event event = {
        .kind = CHECK_CLIENT_CREATE,
        .is_primary = (player->workload->allocations[making->ids[0]].flags &
                       WORKLOAD_ALLOCATION_PRIMARY) != 0,
    };
    unsigned attempts = 0;
    NTSTATUS status = take_memory(player, making->ids[0], &memory);

    if (!NT_SUCCESS(status))
        return status;
    if (memory) {
        making->wanted[0].memory = &memory->given;
        event.memory = (struct check_client_memory){.pages = memory->pages,
                                                    .page_count = memory->given.page_count,
                                                    .is_kernels = memory->given.is_kernels};
    }
    do {
        player_inform(player, &event);
        status = make(player, making);
        for (uint32_t i = 0; i < making->count; i++)
            player_inform_of(player, CHECK_CLIENT_CREATED, making->handles[i], status);
    } while (player_should_repeat(player, status, &attempts));
    if (!NT_SUCCESS(status) && memory)
        memory_released(memory);
    return status;
}

/* It is there, or it is not: what follows for its line. */
static bool finish_alloc(struct player *player, const struct making *making, uint32_t i,
                         NTSTATUS status)
{
    uint32_t id = making->ids[i], op_index = making->lines[i];
    const struct workload_allocation *allocation = &player->workload->allocations[id];
    struct player_allocation *entry = &player->allocations[id];
    const char *name = workload_allocation_name(player->workload, id);

    entry->handle = making->handles[i];
    if (!NT_SUCCESS(status)) {
        if (player->oracle)
            oracle_allocation_freed(player->oracle, id);
        player_report_failure(player, op_index, status, "alloc %s of %llu bytes", name,
                              (unsigned long long)allocation->size);
        return true;
    }
    player->live_handles[id] = entry->handle;
    player_forecast_made(player, id);
    if (!open_in_other_devices(player, id, making->wanted[i].private_data,
                               making->wanted[i].private_data_bytes))
        player_report(player, op_index, "alloc %s cannot be opened in every device", name);
    if (player->is_virtual && !(allocation->flags & WORKLOAD_ALLOCATION_NOMAP)) {
        uint64_t bytes = vidmm_allocation_size(entry->handle);
        uint64_t va =
            allocation->va == WORKLOAD_VA_AUTO ? player_choose_va(player, bytes) : allocation->va;

        if (!player_map_for_line(player, id, 0, bytes, va, 0, 0, &status))
            return false;
        if (!NT_SUCCESS(status))
            player_report(player, op_index, "alloc %s cannot be mapped at 0x%llx: status %s", name,
                          (unsigned long long)va, decode_status(status).text);
    }
    return true;
}

bool player_play_alloc(struct player *player, uint32_t op_index)
{
    struct player_allocation *entry = &player->allocations[player_op(player, op_index)->object];
    struct making making = {0};
    bool is_ready = true;
    NTSTATUS status;

    if (entry->is_made) {
        entry->is_made = false;
        return true;
    }
    choose_lines(player, op_index, &making);
    for (uint32_t i = 1; i < making.count; i++)
        player->allocations[making.ids[i]].is_made = true;
    for (uint32_t i = 0; is_ready && i < making.count; i++)
        is_ready = follow_content(player, making.ids[i]) && describe(player, &making, i);
    if (is_ready) {
        status = make_and_tell(player, &making);
        for (uint32_t i = 0; is_ready && i < making.count; i++)
            is_ready = finish_alloc(player, &making, i, status);
    }
    for (uint32_t i = 0; i < making.count; i++) {
        if (making.foreign_data[i])
            base_free(player->services, making.foreign_data[i],
                      making.wanted[i].private_data_bytes);
    }
    return is_ready;
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
