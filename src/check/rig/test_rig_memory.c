#include "check/rig/test_rig_memory.h"

bool rig_walk_memory(struct rig *rig, bool is_system, uint64_t root, uint64_t va,
                     struct check_gpu_walk *out)
{
    struct rig_memory *memory = rig->tables;

    if (is_system || root != 103 * 4096)
        return false;
    out->entries[2] = memory->root[va >> 30 & 511];
    out->entries[1] = memory->middle[va >> 21 & 511];
    out->entries[0] = memory->leaf[va >> 12 & 511];
    if (memory->has_16k_pages) {
        out->entries[0] = memory->leaf[va >> 12 & 508];
        out->entries[0].address += va & 0x3000;
        out->entries[0].gpu_page_bytes = 0x4000;
    }
    if (memory->leaf_64k[va >> 16 & 31].is_valid) {
        out->entries[0] = memory->leaf_64k[va >> 16 & 31];
        out->entries[0].is_64k = true;
    }
    for (unsigned i = 0; i < 3; i++)
        out->entries[i].is_read = true;
    return true;
}

static struct check_gpu_entry hardware(const DXGK_PTE *pte, uint64_t protection)
{
    return (struct check_gpu_entry){
        .is_valid = pte->Valid,
        .is_read_only = pte->ReadOnly,
        .address = pte->PageAddress << 12,
        .protection = pte->Valid ? protection : 0,
        .protection_mask = 0x7fff,
    };
}

void rig_write_memory(struct rig *rig, const struct rig_update *update, enum rig_mistake mistake)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *pages = &update->arg.UpdatePageTable;
    struct rig_memory *memory = rig->tables;
    struct check_gpu_entry *table = pages->PageTableLevel == 2   ? memory->root
                                    : pages->PageTableLevel == 1 ? memory->middle
                                    : pages->Flags.Use64KBPages  ? memory->leaf_64k
                                                                 : memory->leaf;
    unsigned count = pages->NumPageTableEntries;

    if (mistake == WRITES_ELSEWHERE)
        return;
    if (mistake == WRITES_FIRST_ONLY)
        count = 1;
    if (mistake == WRITES_ONE_MORE)
        count++;
    for (unsigned i = 0; i < count; i++) {
        const DXGK_PTE *pte = &update->entries[pages->Flags.Repeat ? 0 : i];
        unsigned index = pages->StartIndex + i;

        if (mistake == SHIFTS_ENTRIES)
            index = (index + 1) % RIG_ENTRIES;
        if (mistake == COUNTS_IN_4K)
            index = index * 16 % RIG_ENTRIES;
        if (mistake == KEEPS_OLD_BITS && table[index].is_valid)
            continue;
        if (mistake == PACKS_ENTRIES && pages->PageTableLevel == 0)
            pte = &update->entries[i / 4];
        if (mistake == LEAVES_OUT_MIDDLES && pages->PageTableLevel == 0 && i % 4)
            continue;
        if (mistake == SWAPS_POINTERS)
            pte = &update->entries_64k[i];
        table[index] = hardware(pte, mistake == FORGETS_PROTECTION ? 0 : pages->DriverProtection);
    }
}

void rig_carry_out(struct rig *rig, struct rig_update *update, enum rig_mistake mistake)
{
    uint32_t fence;

    rig_update(rig, update);
    fence = rig_submit(rig);
    rig_write_memory(rig, update, mistake);
    rig_complete(rig, 0, fence);
}

void rig_begin_table(struct rig *rig, struct rig_update *update, unsigned level)
{
    rig_begin_update(rig, update, level, level == 2 ? 0 : RIG_VA, RIG_ENTRIES);
    update->arg.UpdatePageTable.Flags.InitialUpdate = update->arg.UpdatePageTable.Flags.Repeat = 1;
}

void rig_make_memory(struct rig *rig, struct rig_memory *memory)
{
    struct rig_update update;

    memset(memory, 0, sizeof *memory);
    rig->walk = rig_walk_memory;
    rig->tables = memory;
    for (unsigned level = 0; level < 3; level++) {
        rig_begin_table(rig, &update, level);
        rig_carry_out(rig, &update, NO_MISTAKE);
    }
    for (unsigned level = 1; level < 3; level++) {
        rig_begin_link(rig, &update, level, RIG_VA, 100 + level);
        rig_carry_out(rig, &update, NO_MISTAKE);
    }
}

void rig_carry_out_map(struct rig *rig, uint64_t va, enum rig_mistake mistake)
{
    struct rig_update update;

    rig_begin_map(rig, &update, va, NULL, 32, 16);
    rig_carry_out(rig, &update, mistake);
}

void rig_make_memory_64k(struct rig *rig, struct rig_memory *memory, enum rig_mistake of_pointer)
{
    struct rig_update update;

    rig->gpummu.LeafPageTableSizeFor64KPagesInBytes = 4096;
    rig->gpummu.DualPteSupported = 1;
    rig_query_mmu(rig);
    rig->segments[0].Flags.Use64KBPages = 1;
    rig_query_segments(rig);
    rig_make_memory(rig, memory);
    rig_begin_update(rig, &update, 0, RIG_VA, 32);
    update.arg.UpdatePageTable.Flags.Use64KBPages = 1;
    update.arg.UpdatePageTable.PageTableAddress.GpuVirtual += 0x1000000;
    update.arg.UpdatePageTable.Flags.InitialUpdate = update.arg.UpdatePageTable.Flags.Repeat = 1;
    rig_carry_out(rig, &update, NO_MISTAKE);
    rig_begin_link(rig, &update, 1, RIG_VA, 101);
    update.entries_64k[0] = update.entries[0];
    update.entries_64k[0].PageAddress = 99;
    update.arg.UpdatePageTable.pPageTableEntries64KB = update.entries_64k;
    rig_carry_out(rig, &update, of_pointer);
}

void rig_begin_map_64k(struct rig *rig, struct rig_update *update, uint64_t va)
{
    rig_begin_update(rig, update, 0, va, 1);
    update->arg.UpdatePageTable.Flags.Use64KBPages = 1;
    update->arg.UpdatePageTable.StartIndex = (UINT)((va - RIG_VA) >> 16);
    update->arg.UpdatePageTable.PageTableAddress.GpuVirtual += 0x1000000;
    update->entries[0].Valid = 1;
    update->entries[0].Segment = 1;
    update->entries[0].PageAddress = 64;
}

NTSTATUS rig_answer_in_part(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    DXGKARG_BUILDPAGINGBUFFER *build = arg;

    if (ddi != MINIPORT_DDI_BuildPagingBuffer)
        return rig_answer(rig, ddi, object, arg);
    memset(build->pDmaBuffer, 1, RIG_PACKET_BYTES);
    build->pDmaBuffer = (char *)build->pDmaBuffer + RIG_PACKET_BYTES;
    build->MultipassOffset = 8;
    return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
}
