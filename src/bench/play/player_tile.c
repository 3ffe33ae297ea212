/*
 * Tile lines: which tiles show what, and the check at the end that the page tables say so too.
 *
 * Every tile that shows something is a player_mapping of its pool, so that submissions use it like
 * any other. A line goes on when the manager says that the update counts; earlier submissions may
 * still run when it is asked for.
 */
#include "bench/play/player_private.h"

#include "sgpu/sgpu.h"
#include "workload/words.h"

#define TILE_PAGES (VIDMM_TILE_BYTES / PAGE_BYTES)

/* The link to the tile at va, whose allocation goes to *out_allocation; NULL: there is none. */
static struct player_mapping **find_tile(struct player *player, uint32_t process, uint64_t va,
                                         uint32_t *out_allocation)
{
    for (uint32_t i = 0; i < player->workload->allocation_count; i++) {
        struct player_mapping **link = &player->allocations[i].mappings;

        for (; *link; link = &(*link)->next) {
            if ((*link)->is_tile && (*link)->process == process && (*link)->va == va) {
                *out_allocation = i;
                return link;
            }
        }
    }
    return NULL;
}

static void remove_tile(struct player *player, uint32_t process, uint64_t va)
{
    uint32_t allocation;
    struct player_mapping **link = find_tile(player, process, va, &allocation);

    if (link) {
        struct player_mapping *tile = *link;

        *link = tile->next;
        base_free(player->services, tile, sizeof *tile);
    }
}

static bool add_tile(struct player *player, uint32_t process, uint64_t va, uint32_t allocation,
                     uint64_t offset)
{
    struct player_mapping *tile = base_alloc(player->services, sizeof *tile);

    if (!tile)
        return player_stop_with(player, PLAYER_OBJECT, "no memory for a tile");
    tile->player = player;
    tile->process = process;
    tile->va = va;
    tile->offset = offset;
    tile->bytes = VIDMM_TILE_BYTES;
    tile->is_tile = tile->is_ready = true;
    tile->next = player->allocations[allocation].mappings;
    player->allocations[allocation].mappings = tile;
    return true;
}

/* The tiles that the line leaves, once the manager has done it. */
static bool record(struct player *player, const struct workload_op *op, uint32_t process)
{
    for (uint64_t at = 0; at < op->size; at += VIDMM_TILE_BYTES) {
        struct player_mapping **source;
        uint32_t allocation = 0;

        remove_tile(player, process, op->offset + at);
        if (op->kind == WORKLOAD_OP_TILE_MAP &&
            !add_tile(player, process, op->offset + at,
                      player->workload->refs[op->first_ref].allocation,
                      op->value * PAGE_BYTES + at))
            return false;
        if (op->kind != WORKLOAD_OP_TILE_COPY)
            continue;
        source = find_tile(player, process, op->value + at, &allocation);
        if (source && !add_tile(player, process, op->offset + at, allocation, (*source)->offset))
            return false;
    }
    return true;
}

static bool play_tile(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);
    struct player_context *context = &player->contexts[op->object];
    struct vidmm_tile_operation operation = {
        .kind = VIDMM_TILE_UNMAP, .va = op->offset, .page_count = op->size / PAGE_BYTES};
    struct player_mapping *update = &player->tile_update;
    unsigned attempts = 0;
    NTSTATUS status;

    if (!player->has_page_tables || !context->handle)
        return true;
    /*
     * A submission that looks for its addresses only when it is handed over would not find them
     * then.
     */
    for (uint32_t i = 0; i < player->workload->context_count; i++) {
        while (player->contexts[i].count > player->contexts[i].running_count) {
            if (!player_advance(player))
                return false;
        }
    }
    if (op->kind == WORKLOAD_OP_TILE_MAP) {
        operation.kind = VIDMM_TILE_MAP;
        operation.pool =
            player->allocations[player->workload->refs[op->first_ref].allocation].handle;
        operation.first_page = op->value;
        if (!operation.pool)
            return true; /* its line has been reported */
    } else if (op->kind == WORKLOAD_OP_TILE_COPY) {
        operation.kind = VIDMM_TILE_COPY;
        operation.source_va = op->value;
    }
    *update = (struct player_mapping){.player = player};
    do {
        status = vidmm_update_gpu_va(context->handle, 1, &operation, player_mapping_done, update);
    } while (player_should_repeat(player, status, &attempts));
    while (NT_SUCCESS(status) && !update->is_ready) {
        if (!player_advance(player))
            return false;
    }
    if (NT_SUCCESS(status))
        status = update->status;
    if (NT_SUCCESS(status))
        return record(player, op, context->process);
    player_report_failure(player, op_index, status, "%s at 0x%llx", workload_op_name(op->kind),
                          (unsigned long long)op->offset);
    return true;
}

bool player_play_tile_map(struct player *player, uint32_t op_index)
{
    return play_tile(player, op_index);
}

bool player_play_tile_unmap(struct player *player, uint32_t op_index)
{
    return play_tile(player, op_index);
}

bool player_play_tile_copy(struct player *player, uint32_t op_index)
{
    return play_tile(player, op_index);
}

/* ---- The check ------------------------------------------------------------------------------- */

struct places {
    uint64_t start;
    uint64_t page[TILE_PAGES]; /* address plus 1; 0: invalid */
};

static bool note_run(void *context, const struct sgpu_run *run)
{
    struct places *places = context;

    for (uint64_t at = 0; at < run->bytes; at += PAGE_BYTES)
        places->page[(run->va + at - places->start) / PAGE_BYTES] = run->pa + at + 1;
    return true;
}

static const struct player_mapping *ordinary(const struct player_allocation *entry,
                                             const struct player_mapping *tile)
{
    const struct player_mapping *mapping;

    for (mapping = entry->mappings; mapping; mapping = mapping->next) {
        if (!mapping->is_tile && mapping->is_ready && NT_SUCCESS(mapping->status) &&
            mapping->process == tile->process && mapping->offset <= tile->offset &&
            tile->offset + tile->bytes <= mapping->offset + mapping->bytes)
            return mapping;
    }
    return NULL;
}

void player_check_tile(struct player *player, uint32_t allocation,
                       const struct player_mapping *tile, uint64_t root)
{
    const struct player_mapping *other = ordinary(&player->allocations[allocation], tile);
    struct places found = {.start = tile->va}, expected = {0};

    if (!other || player_is_foreign(player))
        return;
    expected.start = other->va + tile->offset - other->offset;
    sgpu_mmu_for_each_run(player->config.gpu, root, found.start, found.start + tile->bytes,
                          note_run, &found);
    sgpu_mmu_for_each_run(player->config.gpu, root, expected.start, expected.start + tile->bytes,
                          note_run, &expected);
    for (unsigned i = 0; i < TILE_PAGES; i++) {
        player->result->translations_checked++;
        if (found.page[i] == expected.page[i])
            continue;
        player->result->translation_mismatches++;
        player_name_translation_rule(
            player,
            run_result_report(player->result, RUN_FINDING_TRANSLATION, 0,
                              machine_now(player->machine),
                              "the tile at VA 0x%llx does not show page %llu of '%s'",
                              (unsigned long long)(tile->va + i * PAGE_BYTES),
                              (unsigned long long)(tile->offset / PAGE_BYTES + i),
                              workload_allocation_name(player->workload, allocation)),
            RULE_CPTE_002);
    }
}
