#include "bench/board/sgpu_walk.h"

#include <drydock/sgpu.h>

#include <string.h>

_Static_assert((int)SGPU_MAX_LEVELS <= (int)CHECK_WALK_LEVELS,
               "every level of a walk has its place");

static struct check_gpu_entry entry_of(uint64_t entry, unsigned level)
{
    return (struct check_gpu_entry){
        .is_read = true,
        .is_valid = entry & SGPU_PTE_VALID,
        .is_system = entry & SGPU_PTE_SYSTEM,
        .is_zero = entry & SGPU_PTE_ZERO,
        .is_read_only = entry & SGPU_PTE_READ_ONLY,
        .is_no_execute = entry & SGPU_PTE_NO_EXECUTE,
        .is_large = (entry & SGPU_PTE_LARGE) != 0, /* without effect in a leaf: told all the same */
        .has_64k_table = level && entry & SGPU_PTE_TABLE_64K,
        .address = entry & SGPU_PTE_ADDRESS_MASK,
        .protection = entry >> SGPU_PTE_PROTECTION_SHIFT & SGPU_PTE_PROTECTION_MASK,
        .protection_mask = SGPU_PTE_PROTECTION_MASK,
    };
}

static void place_entry(struct sgpu *gpu, uint64_t pa, struct check_gpu_entry *entry)
{
    struct page_store *store;
    uint64_t bytes;

    entry->is_placed = sgpu_resolve(gpu, pa, 8, &store, &entry->place.address, &bytes);
    entry->place.is_ram = pa >= SGPU_PA_SYSTEM;
}

bool sgpu_walk_tables(struct sgpu *gpu, bool is_system, uint64_t root, uint64_t va,
                      struct check_gpu_walk *out_walk)
{
    struct sgpu_walk walk;

    memset(out_walk, 0, sizeof *out_walk);
    sgpu_mmu_walk(gpu, is_system ? SGPU_PA_SYSTEM + root : root, va, &walk);
    for (unsigned level = 0; level < SGPU_MAX_LEVELS; level++) {
        if (!(walk.read_levels >> level & 1))
            continue;
        out_walk->entries[level] = entry_of(walk.entries[level], level);
        place_entry(gpu, walk.entries_pa[level], &out_walk->entries[level]);
    }
    out_walk->entries[0].is_64k = walk.level == 0 && walk.page_bytes == 16 * 4096;
    out_walk->entries[0].gpu_page_bytes = walk.gpu_page_bytes;
    return walk.read_levels != 0;
}
