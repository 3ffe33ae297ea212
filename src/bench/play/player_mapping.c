/*
 * Mappings by hand: map and unmap lines, and pte lines.
 */
#include "bench/play/player_private.h"

#include "workload/words.h"

/*
 * The address may still be taken by a mapping whose `free` or `unmap` line was played: the manager
 * ends it behind the work that uses it. An address that is taken when nothing is under way any more
 * stays so.
 */
bool player_map_for_line(struct player *player, uint32_t allocation, uint64_t offset,
                         uint64_t bytes, uint64_t va, uint32_t protect, uint64_t driver_protection,
                         NTSTATUS *out_status)
{
    uint32_t device = player->workload->allocations[allocation].device;
    uint32_t process = player->workload->devices[device].process;

    while (!player_map(player, allocation, process, offset, bytes, va, protect, driver_protection,
                       out_status) &&
           *out_status == STATUS_RESOURCE_IN_USE && player_manager_is_busy(player)) {
        if (!player_advance(player))
            return false;
    }
    return true;
}

static uint32_t protection_of(uint8_t flags)
{
    return (flags & WORKLOAD_PROTECT_READ_ONLY ? VIDMM_PROTECT_READ_ONLY : 0) |
           (flags & WORKLOAD_PROTECT_NO_EXECUTE ? VIDMM_PROTECT_NO_EXECUTE : 0) |
           (flags & WORKLOAD_PROTECT_ZERO ? VIDMM_PROTECT_ZERO : 0);
}

uint64_t player_mapped_page_bytes(const struct player *player)
{
    return player_is_foreign(player) ? PAGE_BYTES
                                     : run_mmu_gpu_page_bytes(&player->config.run->mmu);
}

/* Whether the board translates the addresses; where it does not, that is told. */
static bool has_addresses(struct player *player, uint32_t op_index, uint64_t va, uint64_t bytes)
{
    const unsigned bits = run_mmu_va_bits(&player->config.run->mmu);

    if (player_is_foreign(player) || (va >> bits == 0 && bytes <= (UINT64_C(1) << bits) - va))
        return true;
    player_report(player, op_index, "%s at 0x%llx: the addresses of this board have %u bits",
                  workload_op_name(player_op(player, op_index)->kind), (unsigned long long)va,
                  bits);
    return false;
}

static bool is_of_local_memory(const struct workload_op *op)
{
    return op->kind == WORKLOAD_OP_PTE_MAP && op->segment != WORKLOAD_SEGMENT_SYSTEM;
}

/* Whether the lines before leave local memory mapped in the GPU page that has the address. */
static bool is_local_gpu_page(const struct player *player, uint32_t op_index, uint64_t va)
{
    const uint32_t process = player_op(player, op_index)->object;
    const uint64_t page_bytes = player_mapped_page_bytes(player);
    const uint64_t start = align_down(va, page_bytes), end = start + page_bytes;

    for (uint32_t i = op_index; i-- > 0;) {
        const struct workload_op *op = player_op(player, i);

        if ((op->kind != WORKLOAD_OP_PTE_MAP && op->kind != WORKLOAD_OP_PTE_UNMAP) ||
            op->object != process || op->offset >= end || op->offset + op->size <= start)
            continue;
        if (is_of_local_memory(op))
            return true;
        if (op->offset <= start && op->offset + op->size >= end)
            return false;
    }
    return false;
}

/*
 * Whether the line leaves GPU pages whole; where it does not, that is told. Of a page of local
 * memory the GPU takes the first entry alone (PT-026): all of it leads to one place, or none.
 * System memory has entries of 4 KiB.
 */
static bool has_whole_gpu_pages(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);
    const uint64_t page_bytes = player_mapped_page_bytes(player);
    const uint64_t end = op->offset + op->size;
    bool is_whole;

    if (is_of_local_memory(op))
        is_whole = is_aligned(op->offset | op->size | op->value * PAGE_BYTES, page_bytes);
    else
        is_whole = (is_aligned(op->offset, page_bytes) ||
                    !is_local_gpu_page(player, op_index, op->offset)) &&
                   (is_aligned(end, page_bytes) || !is_local_gpu_page(player, op_index, end));
    if (!is_whole)
        player_report(player, op_index, "%s at 0x%llx: the GPU pages of this board have %llu bytes",
                      workload_op_name(op->kind), (unsigned long long)op->offset,
                      (unsigned long long)page_bytes);
    return is_whole;
}

bool player_play_map(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);
    const uint64_t page_bytes = player_mapped_page_bytes(player);
    uint64_t va = op->value;
    uint64_t start = align_down(op->offset, page_bytes);
    uint64_t bytes = align_up(op->offset + op->size, page_bytes) - start;
    uint64_t driver_protection = op->ref_count ? player->workload->refs[op->first_ref].key : 0;
    NTSTATUS status;

    if (!player->is_virtual || !player->allocations[op->object].handle)
        return true;
    if (va == WORKLOAD_VA_AUTO)
        va = player_choose_va(player, bytes);
    else if (!has_addresses(player, op_index, va, bytes))
        return true;
    if (!player_map_for_line(player, op->object, start, bytes, va, protection_of(op->flags),
                             driver_protection, &status))
        return false;
    if (!NT_SUCCESS(status))
        player_report_failure(player, op_index, status, "map %s at 0x%llx",
                              workload_allocation_name(player->workload, op->object),
                              (unsigned long long)va);
    return true;
}

/* Waits for the end of the last request, map or unmap. False: stopped. */
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
            player_report_failure(player, op_index, status, "unmap at 0x%llx",
                                  (unsigned long long)mapping->va);
            return true;
        }
        *link = mapping->next;
        base_free(player->services, mapping, sizeof *mapping);
    }
    return true;
}

static bool play_page_table(struct player *player, uint32_t op_index)
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
    if (!has_addresses(player, op_index, op->offset, op->size) ||
        !has_whole_gpu_pages(player, op_index)) {
        player->has_refused_page_table = true;
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
    if (status == STATUS_NOT_SUPPORTED && player_is_foreign(player))
        player->result
            ->page_table_lines_skipped++; /* its entries cannot say that: its own business */
    else if (!NT_SUCCESS(status))
        player_report_failure(player, op_index, status, "%s at 0x%llx", workload_op_name(op->kind),
                              (unsigned long long)op->offset);
    player->has_refused_page_table |= !NT_SUCCESS(status);
    return true;
}

bool player_play_pte_map(struct player *player, uint32_t op_index)
{
    return play_page_table(player, op_index);
}

bool player_play_pte_unmap(struct player *player, uint32_t op_index)
{
    return play_page_table(player, op_index);
}
