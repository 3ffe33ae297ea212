/* Test rig: the operations that a lawful manager writes page tables with. */
#include "check/rig/test_rig_tables.h"

unsigned rig_level_shift(unsigned level)
{
    return 12 + 9 * level;
}

uint64_t rig_table_va(unsigned level, uint64_t va)
{
    return RIG_WINDOW + ((uint64_t)level << 32) +
           (level < 2 ? va >> rig_level_shift(level + 1) << 12 : 0);
}

void rig_begin_update(struct rig *rig, struct rig_update *update, unsigned level, uint64_t va,
                      unsigned count)
{
    DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *pages = &update->arg.UpdatePageTable;

    memset(update, 0, sizeof *update);
    update->arg.Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE;
    pages->PageTableLevel = level;
    pages->hProcess = rig->process;
    pages->UpdateMode = rig->gpummu.PageTableUpdateMode;
    pages->PageTableAddress.GpuVirtual = rig_table_va(level, va);
    pages->pPageTableEntries = update->entries;
    pages->StartIndex = va >> rig_level_shift(level) & (RIG_ENTRIES - 1);
    pages->NumPageTableEntries = count;
    pages->FirstPteVirtualAddress = va;
}

void rig_begin_map(struct rig *rig, struct rig_update *update, uint64_t va, HANDLE allocation,
                   uint64_t page, unsigned count)
{
    rig_begin_update(rig, update, 0, va, count);
    update->arg.UpdatePageTable.hAllocation = allocation;
    for (unsigned i = 0; i < count; i++) {
        update->entries[i].Valid = 1;
        update->entries[i].Segment = 1;
        update->entries[i].PageAddress = page + i;
    }
}

NTSTATUS rig_update(struct rig *rig, struct rig_update *update)
{
    return rig_build(rig, &update->arg);
}

void rig_initialise_table(struct rig *rig, unsigned level, uint64_t va)
{
    struct rig_update update;

    rig_begin_update(rig, &update, level,
                     va >> rig_level_shift(level + 1) << rig_level_shift(level + 1), RIG_ENTRIES);
    update.arg.UpdatePageTable.Flags.InitialUpdate = 1;
    update.arg.UpdatePageTable.Flags.Repeat = 1;
    rig_update(rig, &update);
}

void rig_begin_link(struct rig *rig, struct rig_update *update, unsigned level, uint64_t va,
                    uint64_t page)
{
    rig_begin_update(rig, update, level, va >> rig_level_shift(level) << rig_level_shift(level), 1);
    update->entries[0].Valid = 1;
    update->entries[0].Segment = 1;
    update->entries[0].PageAddress = page;
}

void rig_make_tables(struct rig *rig)
{
    struct rig_update update;

    for (unsigned level = 0; level < 3; level++)
        rig_initialise_table(rig, level, RIG_VA);
    for (unsigned level = 1; level < 3; level++) {
        rig_begin_link(rig, &update, level, RIG_VA, 100 + level);
        rig_update(rig, &update);
    }
}

void rig_map(struct rig *rig, uint64_t va, HANDLE allocation, uint64_t page, unsigned count)
{
    struct rig_update update;

    rig_begin_map(rig, &update, va, allocation, page, count);
    rig_update(rig, &update);
}

void rig_unmap(struct rig *rig, uint64_t va, HANDLE allocation, unsigned count)
{
    struct rig_update update;

    rig_begin_update(rig, &update, 0, va, count);
    update.arg.UpdatePageTable.hAllocation = allocation;
    update.arg.UpdatePageTable.Flags.Repeat = 1;
    rig_update(rig, &update);
}

void rig_enter_companion(struct rig *rig)
{
    HANDLE device = rig_create_device(rig, rig->system_process);

    rig->system_context = rig_create_context(rig, device, 0, true);
}

void rig_flush(struct rig *rig, HANDLE process, uint64_t start, uint64_t end)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_FLUSH_TLB};

    arg.FlushTlb.hProcess = process;
    arg.FlushTlb.RootPageTableAddress.SegmentId = 1;
    arg.FlushTlb.RootPageTableAddress.SegmentOffset = 103 * 4096;
    arg.FlushTlb.StartVirtualAddress = start;
    arg.FlushTlb.EndVirtualAddress = end;
    rig_build(rig, &arg);
}

void rig_set_root(struct rig *rig, HANDLE context)
{
    DXGKARG_SETROOTPAGETABLE root = {.hContext = context, .NumEntries = RIG_ENTRIES};

    root.Address.SegmentId = 1;
    root.Address.SegmentOffset = 103 * 4096;
    miniport_set_root_page_table(rig->top, NULL, &root);
}

void rig_query_mmu(struct rig *rig)
{
    DXGK_GPUMMUCAPS gpummu = {0};
    DXGK_QUERYPAGETABLELEVELDESCIN in = {0};
    DXGK_PAGE_TABLE_LEVEL_DESC level = {0};
    UINT adapter = 0;

    rig_query(rig, DXGKQAITYPE_GPUMMUCAPS, &adapter, sizeof adapter, &gpummu, sizeof gpummu);
    for (; in.LevelIndex < gpummu.PageTableLevelCount && in.LevelIndex < 4; in.LevelIndex++)
        rig_query(rig, DXGKQAITYPE_PAGETABLELEVELDESC, &in, sizeof in, &level, sizeof level);
}
