/*
 * The loop, the operations that the CPU plays, and the life of allocations.
 */
#include "bench/player_private.h"

#include "base/assert.h"
#include "base/hash.h"
#include "miniport/miniport.h"

#include <drydock/sgpu.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define QUIET_EVENT_LIMIT   UINT64_C(2000000) /* events without progress: nothing will come of it */
#define PAGE_TABLE_WINDOW   256u              /* requests of pte lines under way at once */
#define FIRST_TAG           (UINT64_C(1) << 40) /* above keys that people write in cases */
#define PROGRESS_OPERATIONS 256u

/* ---- Reporting --------------------------------------------------------------------------------- */

struct run_finding *player_report(struct player *player, uint32_t op_index, const char *format, ...)
{
    const struct workload_op *op = player_op(player, op_index);
    char text[400];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return run_result_report(player->result, RUN_FINDING_SUBMISSION, op->line,
                             machine_now(player->machine), "%s", text);
}

bool player_stop_with(struct player *player, enum player_stop stop, const char *format, ...)
{
    va_list arguments;

    if (player->stop != PLAYER_NOT_STOPPED)
        return false;
    player->stop = stop;
    va_start(arguments, format);
    vsnprintf(player->stop_text, sizeof player->stop_text, format, arguments);
    va_end(arguments);
    return false;
}

void player_note_fault(struct player *player)
{
    player->has_faulted = true;
}

enum player_stop player_stop_reason(const struct player *player, char text[512])
{
    memcpy(text, player->stop_text, sizeof player->stop_text);
    return player->stop;
}

/* Nothing more will happen although something is pending: says what. */
static bool stop_stuck(struct player *player, const char *why)
{
    const struct workload_op *op = NULL;
    const char *name = "the end";
    unsigned waiting = 0;

    if (player->op_index < player->workload->op_count) {
        op = player_op(player, player->op_index);
        name = workload_op_name(op->kind);
    }
    for (uint32_t i = 0; i < player->workload->context_count; i++)
        waiting += player->contexts[i].count - player->contexts[i].running_count;
    if (player->has_faulted) {
        return player_stop_with(
            player, PLAYER_FAULTED,
            "the GPU stopped on a fault at operation %u (%s, line %u): %u submissions run, %u wait",
            player->op_index, name, op ? op->line : 0, player->running_count, waiting);
    }
    return player_stop_with(
        player, PLAYER_STUCK,
        "%s at operation %u (%s, line %u), %llu ns: %u submissions run, %u wait, %u residency "
        "requests and %u page-table requests are pending, and the memory manager is %s",
        why, player->op_index, name, op ? op->line : 0,
        (unsigned long long)machine_now(player->machine), player->running_count, waiting,
        player->requesting_count, player->page_table_pending,
        vidmm_is_idle(player->vidmm) ? "idle" : "not idle");
}

bool player_advance(struct player *player)
{
    const struct vidmm_statistics *statistics;
    uint64_t progress;

    if (player->stop != PLAYER_NOT_STOPPED)
        return false;
    if (player->needs_pump && !player->is_pumping) {
        player->needs_pump = false;
        player->quiet_events = 0;
        player_pump(player);
        return player->stop == PLAYER_NOT_STOPPED;
    }
    if (!machine_run_next(player->machine))
        return stop_stuck(player, "nothing more happens");
    statistics = vidmm_statistics(player->vidmm);
    progress = statistics->build_calls + statistics->paging_submissions;
    if (progress != player->last_progress) {
        player->last_progress = progress;
        player->quiet_events = 0;
    } else if (++player->quiet_events > QUIET_EVENT_LIMIT) {
        return stop_stuck(player, "events go on without progress");
    }
    return true;
}

bool player_should_repeat(struct player *player, NTSTATUS status, unsigned *attempts)
{
    if (status != STATUS_NO_MEMORY || ++*attempts >= PLAYER_ATTEMPTS)
        return false;
    player->result->no_memory_retries++;
    return true;
}

static bool wait_idle(struct player *player)
{
    for (uint32_t i = 0; i < player->workload->context_count; i++) {
        if (!player_wait_context(player, &player->contexts[i]))
            return false;
    }
    while (player->page_table_pending || player->needs_pump || !vidmm_is_idle(player->vidmm)) {
        if (!player_advance(player))
            return false;
    }
    return true;
}

/* ---- Content and mappings -------------------------------------------------------------------------- */

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
                                           uint32_t process, uint64_t offset, uint64_t bytes)
{
    struct player_mapping *mapping = player->allocations[allocation].mappings;

    for (; mapping; mapping = mapping->next) {
        if (mapping->process == process && offset >= mapping->offset &&
            offset - mapping->offset <= mapping->bytes &&
            bytes <= mapping->bytes - (offset - mapping->offset))
            return mapping;
    }
    return NULL;
}

struct player_mapping *player_map(struct player *player, uint32_t allocation, uint32_t process,
                                  uint64_t offset, uint64_t bytes, uint64_t va, uint32_t protect,
                                  NTSTATUS *out_status)
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
    mapping->status = STATUS_PENDING;
    do {
        *out_status = vidmm_map_gpu_va(player->processes[process], entry->handle, offset, bytes, va,
                                       protect, 0, player_mapping_done, mapping, &mapping->va);
    } while (player_should_repeat(player, *out_status, &attempts));
    if (!NT_SUCCESS(*out_status)) {
        base_free(player->services, mapping, sizeof *mapping);
        return NULL;
    }
    mapping->next = entry->mappings;
    entry->mappings = mapping;
    return mapping;
}

/* ---- Allocations --------------------------------------------------------------------------------- */

static bool is_local(uint8_t segment)
{
    return segment == WORKLOAD_SEGMENT_LOCAL || segment == WORKLOAD_SEGMENT_LOCAL_INVISIBLE;
}

/* What the user-mode half tells its driver about the allocation. */
static struct sgpu_umd_allocation private_data_of(const struct workload_allocation *allocation)
{
    struct sgpu_umd_allocation data = {
        .version = SGPU_UMD_VERSION,
        .bytes = allocation->size,
        .alignment = allocation->align > PAGE_BYTES ? (uint32_t)allocation->align : 0,
        .priority = allocation->priority,
    };
    bool has_local = false, has_system = false;

    for (unsigned i = 0; i < allocation->segment_count; i++) {
        if (is_local(allocation->segments[i]))
            has_local = true;
        else
            has_system = true;
    }
    if (has_system && !has_local)
        data.flags |= SGPU_UMD_APERTURE_ONLY;
    else if (has_local && !has_system)
        data.flags |= SGPU_UMD_NO_APERTURE;
    else if (has_system && !is_local(allocation->segments[0]))
        data.flags |= SGPU_UMD_PREFER_APERTURE;
    if (allocation->flags & WORKLOAD_ALLOCATION_CPU_VISIBLE)
        data.flags |= SGPU_UMD_CPU_VISIBLE;
    if (allocation->flags & WORKLOAD_ALLOCATION_CACHED)
        data.flags |= SGPU_UMD_CACHED;
    if (allocation->flags & WORKLOAD_ALLOCATION_ACCESSED_PHYSICALLY)
        data.flags |= SGPU_UMD_ACCESSED_PHYSICALLY;
    return data;
}

static bool play_alloc(struct player *player, uint32_t op_index)
{
    uint32_t id = player_op(player, op_index)->object;
    const struct workload_allocation *allocation = &player->workload->allocations[id];
    struct player_allocation *entry = &player->allocations[id];
    struct sgpu_umd_allocation data = private_data_of(allocation);
    const char *name = workload_allocation_name(player->workload, id);
    uint32_t process = player->workload->devices[allocation->device].process;
    unsigned attempts = 0;
    NTSTATUS status;

    if (player->oracle) {
        status = oracle_allocation_created(player->oracle, id, allocation->size, name);
        if (!NT_SUCCESS(status))
            return player_stop_with(player, PLAYER_OBJECT,
                                    "no room to follow the content of allocation '%s'", name);
    }
    do {
        status = vidmm_allocation_create(player->devices[allocation->device], &data, sizeof data,
                                         (void *)(uintptr_t)(id + 1), &entry->handle);
    } while (player_should_repeat(player, status, &attempts));
    if (!NT_SUCCESS(status)) {
        if (player->oracle)
            oracle_allocation_freed(player->oracle, id);
        player_report(player, op_index, "alloc %s of %llu bytes failed with status 0x%08x", name,
                      (unsigned long long)allocation->size, (unsigned)status);
        return true;
    }
    player->live_handles[id] = entry->handle;
    if (player->is_virtual && !(allocation->flags & WORKLOAD_ALLOCATION_NOMAP)) {
        uint64_t va = allocation->va == WORKLOAD_VA_AUTO ? 0 : allocation->va;

        if (!player_map(player, id, process, 0, vidmm_allocation_size(entry->handle), va, 0,
                        &status))
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
        vidmm_evict(player->devices[hold->device], 1, &entry->handle);
        base_free(player->services, hold, sizeof *hold);
        if (!all)
            return;
    }
}

bool player_bury(struct player *player, uint32_t allocation)
{
    struct player_allocation *entry = &player->allocations[allocation];

    if (!entry->handle || entry->waiting_count)
        return true;
    for (struct player_mapping *mapping = entry->mappings; mapping; mapping = mapping->next) {
        while (!mapping->is_ready) {
            if (!player_advance(player))
                return false;
        }
    }
    if (!entry->handle) /* buried while the machine ran */
        return true;
    drop_holds(player, entry, 0, true);
    player_release_running(player, allocation);
    if (player->oracle)
        oracle_allocation_freed(player->oracle, allocation);
    vidmm_allocation_destroy(entry->handle);
    entry->handle = NULL;
    player->live_handles[allocation] = NULL;
    while (entry->mappings) {
        struct player_mapping *mapping = entry->mappings;

        entry->mappings = mapping->next;
        base_free(player->services, mapping, sizeof *mapping);
    }
    return true;
}

static bool play_free(struct player *player, uint32_t op_index)
{
    uint32_t id = player_op(player, op_index)->object;

    player->allocations[id].is_freed = true;
    return player_bury(player, id);
}

/* ---- CPU access ------------------------------------------------------------------------------------- */

/* One piece of a locked allocation that is contiguous on the bus. */
static bool access_piece(struct player *player, uint32_t op_index, uint64_t offset, uint64_t pa,
                         uint64_t bytes, bool is_write, uint64_t tag)
{
    uint32_t id = player_op(player, op_index)->object;
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
static void access_locked(struct player *player, uint32_t op_index, uint64_t offset, uint64_t end,
                          bool is_write, uint64_t tag)
{
    const struct vidmm_allocation *handle =
        player->allocations[player_op(player, op_index)->object].handle;

    while (offset < end) {
        uint64_t page = offset / PAGE_BYTES;
        uint64_t in_page = offset % PAGE_BYTES;
        uint64_t pa = vidmm_locked_page_address(handle, page);
        uint64_t pages = 1;
        uint64_t bytes;

        while ((page + pages) * PAGE_BYTES < end &&
               vidmm_locked_page_address(handle, page + pages) == pa + pages * PAGE_BYTES)
            pages++;
        bytes = min_u64(pages * PAGE_BYTES - in_page, end - offset);
        if (!access_piece(player, op_index, offset, pa + in_page, bytes, is_write, tag))
            return;
        offset += bytes;
        tag += pages;
    }
}

static bool play_access(struct player *player, uint32_t op_index, bool is_write)
{
    const struct workload_op *op = player_op(player, op_index);
    struct player_allocation *entry = &player->allocations[op->object];
    unsigned attempts = 0;
    uint64_t tag = 0;
    NTSTATUS status;

    while (entry->waiting_count || entry->running_count) {
        if (!player_advance(player))
            return false;
    }
    if (!entry->handle)
        return true; /* it could not be created, which has been reported */
    for (;;) {
        status = vidmm_lock(entry->handle);
        if (status == STATUS_GRAPHICS_ALLOCATION_BUSY) {
            if (!player_advance(player))
                return false;
        } else if (!player_should_repeat(player, status, &attempts)) {
            break;
        }
    }
    if (!NT_SUCCESS(status)) {
        player_report(player, op_index, "allocation '%s' cannot be locked: status 0x%08x",
                      workload_allocation_name(player->workload, op->object), (unsigned)status);
        return true;
    }
    if (is_write)
        tag = op->value ? op->value : player_take_tags(player, op->offset, op->size);
    access_locked(player, op_index, op->offset, op->offset + op->size, is_write, tag);
    vidmm_unlock(entry->handle);
    return true;
}

/* ---- Residency by hand --------------------------------------------------------------------------- */

static void request_done(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct player *player = context;

    player->is_request_reported = true;
    player->request_status = status;
    player->request_needed = needed;
    player->request_available = available;
    player->needs_pump = true;
}

/* A reference for one allocation; waits for the answer. False: stopped. */
static bool make_resident(struct player *player, uint32_t device,
                          struct vidmm_allocation *allocation, NTSTATUS *out_status)
{
    unsigned attempts = 0;
    uint64_t fence_value;

    do {
        player->is_request_reported = false;
        *out_status = vidmm_make_resident(player->devices[device], 1, &allocation, request_done,
                                          player, &fence_value);
        if (*out_status == STATUS_PENDING) {
            player->requesting_count++;
            while (!player->is_request_reported) {
                if (!player_advance(player))
                    return false;
            }
            player->requesting_count--;
            *out_status = player->request_status;
        }
    } while (player_should_repeat(player, *out_status, &attempts));
    return true;
}

static bool play_resident(struct player *player, uint32_t op_index)
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
            vidmm_evict(player->devices[op->object], 1, &entry->handle);
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

static bool play_evict(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);

    for (uint32_t i = 0; i < op->ref_count && player->is_virtual; i++) {
        uint32_t id = player->workload->refs[op->first_ref + i].allocation;

        if (player->allocations[id].handle)
            drop_holds(player, &player->allocations[id], op->object, false);
    }
    return true;
}

/* ---- Mapping by hand ------------------------------------------------------------------------------- */

static bool play_map(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);
    const struct workload_allocation *allocation = &player->workload->allocations[op->object];
    uint64_t va = op->value == WORKLOAD_VA_AUTO ? 0 : op->value;
    uint64_t start = align_down(op->offset, PAGE_BYTES);
    uint64_t bytes = align_up(op->offset + op->size, PAGE_BYTES) - start;
    uint32_t protect = 0;
    NTSTATUS status;

    if (!player->is_virtual || !player->allocations[op->object].handle)
        return true;
    if (op->flags & WORKLOAD_PROTECT_READ_ONLY)
        protect |= VIDMM_PROTECT_READ_ONLY;
    if (op->flags & WORKLOAD_PROTECT_NO_EXECUTE)
        protect |= VIDMM_PROTECT_NO_EXECUTE;
    if (!player_map(player, op->object, player->workload->devices[allocation->device].process,
                    start, bytes, va, protect, &status))
        player_report(player, op_index, "map %s at 0x%llx failed with status 0x%08x",
                      workload_allocation_name(player->workload, op->object),
                      (unsigned long long)va, (unsigned)status);
    return true;
}

static bool play_unmap(struct player *player, uint32_t op_index)
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

        if (op->value != WORKLOAD_VA_AUTO && mapping->va != op->value) {
            link = &mapping->next;
            continue;
        }
        while (!mapping->is_ready) {
            if (!player_advance(player))
                return false;
        }
        do {
            status =
                vidmm_unmap_gpu_va(player->processes[mapping->process], mapping->va, NULL, NULL);
        } while (player_should_repeat(player, status, &attempts));
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

static void page_table_done(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct player *player = context;

    player->page_table_pending--;
    player->page_table_failures += !NT_SUCCESS(status);
    player->needs_pump = true;
}

static bool play_page_table(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);
    struct vidmm_process *process = player->processes[op->object];
    unsigned attempts = 0;
    unsigned segment = 0;
    NTSTATUS status;

    if (!player->is_virtual) {
        player->result->page_table_lines_skipped++;
        return true;
    }
    while (player->page_table_pending >= PAGE_TABLE_WINDOW) {
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
            status = vidmm_map_physical(process, op->offset, segment, op->value,
                                        op->size / PAGE_BYTES, page_table_done, player);
        else
            status = vidmm_unmap_physical(process, op->offset, op->size, page_table_done, player);
        if (!NT_SUCCESS(status))
            player->page_table_pending--;
    } while (player_should_repeat(player, status, &attempts));
    if (!NT_SUCCESS(status))
        player_report(player, op_index, "%s at 0x%llx failed with status 0x%08x",
                      workload_op_name(op->kind), (unsigned long long)op->offset, (unsigned)status);
    return true;
}

/* ---- Steps ------------------------------------------------------------------------------------------ */

static void step_end(struct player *player)
{
    const struct vidmm_statistics *now = vidmm_statistics(player->vidmm);
    struct run_step *step = player->step;

    if (!step)
        return;
    step->end_ns = machine_now(player->machine);
    step->moved_in_bytes = now->moved_in_bytes - player->step_start.moved_in_bytes;
    step->moved_out_bytes = now->moved_out_bytes - player->step_start.moved_out_bytes;
    step->evictions = now->evictions - player->step_start.evictions;
}

static void step_begin(struct player *player, const char *name, uint32_t line)
{
    player->step = &player->result->steps[player->result->step_count++];
    *player->step =
        (struct run_step){.name = name, .line = line, .start_ns = machine_now(player->machine)};
    player->step_start = *vidmm_statistics(player->vidmm);
}

static bool play_step(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);

    if (!wait_idle(player))
        return false;
    step_end(player);
    step_begin(player, workload_string(player->workload, op->text), op->line);
    return true;
}

static bool play_wait(struct player *player, uint32_t op_index)
{
    uint32_t context = player_op(player, op_index)->object;

    for (uint32_t i = 0; i < player->workload->context_count; i++) {
        if ((context == WORKLOAD_NONE || context == i) &&
            !player_wait_context(player, &player->contexts[i]))
            return false;
    }
    return true;
}

/* ---- The whole -------------------------------------------------------------------------------------- */

static bool play_operation(struct player *player, uint32_t op_index)
{
    switch ((enum workload_op_kind)player_op(player, op_index)->kind) {
    case WORKLOAD_OP_ALLOC:
        return play_alloc(player, op_index);
    case WORKLOAD_OP_FREE:
        return play_free(player, op_index);
    case WORKLOAD_OP_WRITE:
        return play_access(player, op_index, true);
    case WORKLOAD_OP_READ:
        return play_access(player, op_index, false);
    case WORKLOAD_OP_SUBMIT:
        return player_submit(player, op_index);
    case WORKLOAD_OP_WAIT:
        return play_wait(player, op_index);
    case WORKLOAD_OP_RESIDENT:
        return play_resident(player, op_index);
    case WORKLOAD_OP_EVICT:
        return play_evict(player, op_index);
    case WORKLOAD_OP_STEP:
        return play_step(player, op_index);
    case WORKLOAD_OP_MAP:
        return play_map(player, op_index);
    case WORKLOAD_OP_UNMAP:
        return play_unmap(player, op_index);
    case WORKLOAD_OP_PTE_MAP:
    case WORKLOAD_OP_PTE_UNMAP:
        return play_page_table(player, op_index);
    case WORKLOAD_OP_VM_RESERVE:
    case WORKLOAD_OP_VM_RELEASE: /* what a reservation holds is said by the pte lines */
    case WORKLOAD_OP_NOTE:
    case WORKLOAD_OP_LABEL:
    case WORKLOAD_OP_COUNT:
        break;
    }
    return true;
}

static bool tamper(struct player *player)
{
    const struct run_live live = {
        .machine = player->machine,
        .gpu = player->config.gpu,
        .vidmm = player->vidmm,
        .workload = player->workload,
        .allocations = player->live_handles,
    };

    if (!wait_idle(player))
        return false;
    player->config.run->tamper->fn(player->config.run->tamper->context, &live);
    return true;
}

static bool open_objects(struct player *player)
{
    const struct workload *workload = player->workload;
    NTSTATUS status;

    for (uint32_t i = 0; i < workload->process_count; i++) {
        unsigned attempts = 0;

        do {
            status = vidmm_process_create(player->vidmm, &player->processes[i]);
        } while (player_should_repeat(player, status, &attempts));
        if (!NT_SUCCESS(status))
            return player_stop_with(player, PLAYER_OBJECT, "process %u: status 0x%08x", i,
                                    (unsigned)status);
    }
    for (uint32_t i = 0; i < workload->device_count; i++) {
        unsigned attempts = 0;

        do {
            status = vidmm_device_create(player->processes[workload->devices[i].process],
                                         &player->devices[i]);
        } while (player_should_repeat(player, status, &attempts));
        if (!NT_SUCCESS(status))
            return player_stop_with(player, PLAYER_OBJECT, "device %u: status 0x%08x", i,
                                    (unsigned)status);
    }
    for (uint32_t i = 0; i < workload->context_count; i++) {
        status = player_context_open(player, i);
        if (player->stop != PLAYER_NOT_STOPPED)
            return false;
        if (!NT_SUCCESS(status))
            return player_stop_with(player, PLAYER_OBJECT, "context '%s' on node %u: status 0x%08x",
                                    workload_string(workload, workload->contexts[i].name),
                                    workload->contexts[i].node, (unsigned)status);
    }
    return true;
}

bool player_play(struct player *player)
{
    const struct run_config *run = player->config.run;
    uint32_t op_count = player->workload->op_count;
    uint64_t start;

    if (!open_objects(player))
        return false;
    start = machine_now(player->machine);
    step_begin(player, "", 0);
    for (uint32_t i = 0; i < op_count; i++) {
        player->op_index = i;
        if (run->progress && i % PROGRESS_OPERATIONS == 0)
            run->progress(run->progress_context, run_model_name(run->model), i, op_count);
        if (run->tamper && run->tamper->op_index == i && !tamper(player))
            return false;
        if (!play_operation(player, i))
            return false;
        player->result->operations_played++;
#ifdef DRYDOCK_DEBUG
        if (i % (run->check_interval ? run->check_interval : 64) == 0)
            vidmm_check(player->vidmm);
#endif
    }
    player->op_index = op_count;
    if (!wait_idle(player))
        return false;
    if (run->tamper && run->tamper->op_index >= op_count && !tamper(player))
        return false;
    step_end(player);
    player->result->virtual_time_ns = machine_now(player->machine) - start;
    if (player->page_table_failures)
        player_report(player, op_count ? op_count - 1 : 0, "%llu page-table requests failed",
                      (unsigned long long)player->page_table_failures);
    if (run->progress)
        run->progress(run->progress_context, run_model_name(run->model), op_count, op_count);
    return player_check_translations(player);
}

bool player_take_down(struct player *player)
{
    const struct workload *workload = player->workload;

    for (uint32_t i = 0; i < workload->allocation_count; i++) {
        if (!player_bury(player, i))
            return false;
    }
    for (uint32_t i = 0; i < workload->process_count && player->is_virtual; i++) {
        unsigned attempts = 0;
        NTSTATUS status;

        if (!player->processes[i])
            continue;
        do {
            player->page_table_pending++;
            status = vidmm_unmap_physical(player->processes[i], 0, UINT64_C(1) << SGPU_VA_BITS,
                                          page_table_done, player);
            if (!NT_SUCCESS(status))
                player->page_table_pending--;
        } while (player_should_repeat(player, status, &attempts));
    }
    for (uint32_t i = 0; i < workload->context_count; i++) {
        if (!player_context_close(player, &player->contexts[i]))
            return false;
    }
    if (!wait_idle(player))
        return false;
    for (uint32_t i = 0; i < workload->context_count; i++) {
        if (player->contexts[i].handle)
            vidmm_context_destroy(player->contexts[i].handle);
        player->contexts[i].handle = NULL;
    }
    for (uint32_t i = 0; i < workload->device_count; i++) {
        if (player->devices[i])
            vidmm_device_destroy(player->devices[i]);
        player->devices[i] = NULL;
    }
    for (uint32_t i = 0; i < workload->process_count; i++) {
        if (player->processes[i])
            vidmm_process_destroy(player->processes[i]);
        player->processes[i] = NULL;
    }
    return wait_idle(player);
}

NTSTATUS player_create(const struct player_config *config, struct player **out_player)
{
    const struct base_services *services = machine_services(config->machine);
    const struct workload *workload = config->workload;
    struct player *player = base_alloc(services, sizeof *player);

    *out_player = NULL;
    if (!player)
        return STATUS_NO_MEMORY;
    player->config = *config;
    player->services = services;
    player->workload = workload;
    player->result = config->result;
    player->vidmm = config->vidmm;
    player->machine = config->machine;
    player->oracle = config->oracle;
    player->is_virtual = vidmm_is_virtual(config->vidmm);
    player->queue_depth = config->run->queue_depth;
    player->next_token = 1;
    player->next_tag = FIRST_TAG;
    player->processes =
        base_alloc_array(services, workload->process_count, sizeof *player->processes);
    player->devices = base_alloc_array(services, workload->device_count, sizeof *player->devices);
    player->contexts =
        base_alloc_array(services, workload->context_count, sizeof *player->contexts);
    player->allocations =
        base_alloc_array(services, workload->allocation_count + 1, sizeof *player->allocations);
    player->live_handles =
        base_alloc_array(services, workload->allocation_count + 1, sizeof *player->live_handles);
    if (!player->processes || !player->devices || !player->contexts || !player->allocations ||
        !player->live_handles) {
        player_destroy(player);
        return STATUS_NO_MEMORY;
    }
    for (uint32_t i = 0; i < workload->context_count; i++)
        list_init(&player->contexts[i].submissions);
    *out_player = player;
    return STATUS_SUCCESS;
}

void player_destroy(struct player *player)
{
    const struct base_services *services;
    const struct workload *workload;

    if (!player)
        return;
    services = player->services;
    workload = player->workload;
    if (player->contexts)
        player_abandon_submissions(player);
    for (uint32_t i = 0; player->allocations && i < workload->allocation_count; i++) {
        struct player_allocation *entry = &player->allocations[i];

        while (entry->mappings) {
            struct player_mapping *mapping = entry->mappings;

            entry->mappings = mapping->next;
            base_free(services, mapping, sizeof *mapping);
        }
        while (entry->holds) {
            struct player_hold *hold = entry->holds;

            entry->holds = hold->next;
            base_free(services, hold, sizeof *hold);
        }
    }
    base_free(services, player->command, player->command_room);
    base_free_array(services, player->processes, workload->process_count,
                    sizeof *player->processes);
    base_free_array(services, player->devices, workload->device_count, sizeof *player->devices);
    base_free_array(services, player->contexts, workload->context_count, sizeof *player->contexts);
    base_free_array(services, player->allocations, workload->allocation_count + 1,
                    sizeof *player->allocations);
    base_free_array(services, player->live_handles, workload->allocation_count + 1,
                    sizeof *player->live_handles);
    base_free(services, player, sizeof *player);
}
