/*
 * Addresses for what the workload does not place.
 *
 * A capture names GPU virtual addresses line by line, and the manager, asked for any address, could
 * give one that a later line uses. So where a workload names addresses, everything else goes into
 * the widest gap between them and those that the driver has for itself:
 *
 *     [-- line 3 --)   [- line 9 -)............ gap ............[---- alloc va= ----)
 *                                   ^ va_next                   ^ va_end
 *
 * The same gap is what a client's file chooses addresses from (docs/clients.md).
 *
 * Where the root grows, it is the lowest gap that is wide enough: in the widest one, which is above
 * most lines, the first mapping would make the root as large as it ever gets.
 */
#include "bench/play/player_private.h"

#include "bench/board/client_file.h"

#include <stdlib.h>

#define LOWEST_VA (4 * GiB)
#define VA_UNIT   (64 * KiB)
#define WIDE_GAP  (32 * GiB) /* for a case on a board whose root grows */
/*
 * The bytes that the largest leaf table of any board translates: physical mappings own whole leaf
 * tables.
 */
#define LARGEST_LEAF (8 * MiB)

struct named_range {
    uint64_t start, end;
};

static int by_start(const void *a, const void *b)
{
    const struct named_range *x = a, *y = b;

    return x->start < y->start ? -1 : x->start > y->start;
}

/* The addresses that an operation names, in whole pages of the GPU; false: none. */
static bool named_by(const struct workload *workload, const struct workload_op *op,
                     uint64_t page_bytes, struct named_range *out)
{
    switch ((enum workload_op_kind)op->kind) {
    case WORKLOAD_OP_PTE_MAP:
    case WORKLOAD_OP_PTE_UNMAP:
        *out = (struct named_range){align_down(op->offset, LARGEST_LEAF),
                                    align_up(op->offset + op->size, LARGEST_LEAF)};
        return true;
    case WORKLOAD_OP_TILE_MAP:
    case WORKLOAD_OP_TILE_UNMAP:
    case WORKLOAD_OP_TILE_COPY:
    case WORKLOAD_OP_VM_RESERVE:
        *out = (struct named_range){op->offset, op->offset + op->size};
        return true;
    case WORKLOAD_OP_MAP:
        *out = (struct named_range){op->value, op->value +
                                                   align_up(op->offset + op->size, page_bytes) -
                                                   align_down(op->offset, page_bytes)};
        return op->value != WORKLOAD_VA_AUTO;
    case WORKLOAD_OP_ALLOC: {
        const struct workload_allocation *allocation = &workload->allocations[op->object];

        *out = (struct named_range){allocation->va,
                                    allocation->va + align_up(allocation->size, page_bytes)};
        return allocation->va != WORKLOAD_VA_AUTO;
    }
    default:
        return false;
    }
}

static bool is_better_gap(const struct player *player, uint64_t bytes)
{
    uint64_t best = player->va_end - player->va_next;

    return bytes > best && !(player->config.run->mmu.levels == 2 && best >= WIDE_GAP);
}

static bool client_chooses(const struct player *player)
{
    const struct drydock_client *client = client_file_table(player->config.client);

    return client && client->choose_address;
}

bool player_survey_addresses(struct player *player)
{
    const struct workload *workload = player->workload;
    const uint64_t page_bytes = player_mapped_page_bytes(player);
    struct named_range *ranges = malloc(((size_t)workload->op_count + 2) * sizeof *ranges);
    uint64_t highest = UINT64_C(1) << (run_mmu_va_bits(&player->config.run->mmu) - 1);
    uint64_t end = LOWEST_VA;
    size_t count = 0;

    if (!ranges)
        return false;
    for (uint32_t i = 0; i < workload->op_count; i++)
        count += named_by(workload, &workload->ops[i], page_bytes, &ranges[count]);
    if ((count || client_chooses(player)) && player->config.run->mmu.reserves_range) {
        run_mmu_reserved(&player->config.run->mmu, &ranges[count].start, &ranges[count].end);
        count++;
    }
    qsort(ranges, count, sizeof *ranges, by_start);
    if (count || client_chooses(player)) {
        ranges[count] = (struct named_range){highest, highest};
        for (size_t i = 0; i <= count; i++) {
            uint64_t start = min_u64(ranges[i].start, highest);

            if (start > end && is_better_gap(player, start - end)) {
                player->va_next = align_up(end, VA_UNIT);
                player->va_end = start;
            }
            end = max_u64(end, ranges[i].end);
        }
    }
    free(ranges);
    return true;
}

/* 0: it has none, or said one that is not free; then the run ends, and not as the driver's. */
static uint64_t ask_client(struct player *player, uint64_t bytes)
{
    const struct drydock_client_range range = {
        .bytes = bytes, .lowest = player->va_next, .end = player->va_end, .alignment = VA_UNIT};
    const uint64_t va = client_file_choose_address(player->config.client, &range);

    if (va && (va % VA_UNIT || va < range.lowest || va > range.end || range.end - va < bytes)) {
        player_stop_with(player, PLAYER_CLIENT,
                         "client '%.100s': choose_address() gives 0x%llx, which is not aligned or "
                         "not inside of [0x%llx, 0x%llx); this tells nothing of the driver",
                         client_file_table(player->config.client)->name, (unsigned long long)va,
                         (unsigned long long)range.lowest, (unsigned long long)range.end);
        return 0;
    }
    return va;
}

uint64_t player_choose_va(struct player *player, uint64_t bytes)
{
    uint64_t va = player->va_next;
    uint64_t size = align_up(bytes, VA_UNIT);

    if (client_chooses(player))
        return ask_client(player, size);

    if (player->va_end < va || player->va_end - va < size)
        return 0;
    player->va_next = va + size;
    return va;
}
