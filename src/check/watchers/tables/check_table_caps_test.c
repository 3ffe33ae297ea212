#include "check/rig/test_rig.h"

static void query_levels(struct rig *rig)
{
    for (unsigned level = 0; level < rig->gpummu.PageTableLevelCount && level < 4; level++) {
        DXGK_QUERYPAGETABLELEVELDESCIN in = {.LevelIndex = (WORD)level};
        DXGK_PAGE_TABLE_LEVEL_DESC out = {0};

        rig_query(rig, DXGKQAITYPE_PAGETABLELEVELDESC, &in, sizeof in, &out, sizeof out);
    }
}

/* What the driver says of its page tables by now. */
static void query_mmu(struct rig *rig)
{
    DXGK_GPUMMUCAPS out = {0};
    UINT adapter = 0;

    rig_query(rig, DXGKQAITYPE_GPUMMUCAPS, &adapter, sizeof adapter, &out, sizeof out);
}

static void query_caps(struct rig *rig)
{
    DXGK_DRIVERCAPS out = {0};

    rig_query(rig, DXGKQAITYPE_DRIVERCAPS, NULL, 0, &out, sizeof out);
}

RULE_BROKEN(PT_001)
{
    rig->caps.MemoryManagementCaps.GpuMmuSupported = 0;
    query_caps(rig);
}

/* Both models: one page forbids it, another one allows it. */
RULE_KEPT(PT_001)
{
    rig->caps.MemoryManagementCaps.IoMmuSupported = 1;
    query_caps(rig);
}

static void a_profile_may_forbid_two_mmus(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_prepare(rig, RIG_GPUMMU);
    rig->config.profile.wants_one_mmu = true;
    rig_init_prepared(rig);
    rig_expect_only(rig, RULE_NONE);
    rig->caps.MemoryManagementCaps.IoMmuSupported = 1;
    query_caps(rig);
    rig_expect_only(rig, RULE_PT_001);
    rig_fini(rig);
    free(rig);
}

RULE_BROKEN(PT_003)
{
    rig->gpummu.PageTableLevelCount = 7;
    query_mmu(rig);
}

RULE_KEPT(PT_003)
{
    rig->gpummu.PageTableLevelCount = 6;
    query_mmu(rig);
}

RULE_BROKEN(PT_004)
{
    DXGK_QUERYPAGETABLELEVELDESCIN in = {.LevelIndex = 3};
    DXGK_PAGE_TABLE_LEVEL_DESC out = {0};

    rig_query(rig, DXGKQAITYPE_PAGETABLELEVELDESC, &in, sizeof in, &out, sizeof out);
}

RULE_KEPT(PT_004)
{
    query_levels(rig);
}

RULE_BROKEN(PT_005)
{
    rig->levels[1].PageTableIndexBitCount = 10;
    rig->levels[1].PageTableSizeInBytes = 8192;
    query_levels(rig);
}

RULE_KEPT(PT_005)
{
    rig->levels[1].PageTableIndexBitCount = 10;
    rig->levels[1].PageTableSizeInBytes = 8192;
    rig->levels[2].PageTableIndexBitCount = 8;
    query_mmu(rig);
    query_levels(rig);
}

RULE_BROKEN(PT_006)
{
    rig->levels[0].PageTableSegmentId = 0;
    rig->levels[0].PageTableSizeInBytes = 8192;
    query_levels(rig);
}

RULE_KEPT(PT_006)
{
    rig->levels[0].PageTableSizeInBytes = 8192;
    rig->levels[1].PageTableSegmentId = 0;
    query_levels(rig);
}

RULE_BROKEN(PT_007)
{
    rig->levels[2].PageTableSizeInBytes = 0;
    query_levels(rig);
}

RULE_KEPT(PT_007)
{
    rig->gpummu.PageTableLevelCount = 2;
    query_mmu(rig);
    rig->levels[1].PageTableIndexBitCount = 0;
    rig->levels[1].PageTableSizeInBytes = 0;
    query_levels(rig);
}

static NTSTATUS give_fewer_entries(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_GetRootPageTableSize)
        ((DXGKARG_GETROOTPAGETABLESIZE *)arg)->NumberOfPte--;
    return rig_answer(rig, ddi, object, arg);
}

RULE_BROKEN(PT_008)
{
    DXGKARG_GETROOTPAGETABLESIZE arg = {.NumberOfPte = 512};

    rig->answer = give_fewer_entries;
    miniport_get_root_page_table_size(rig->top, &arg);
}

static NTSTATUS give_more_entries(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_GetRootPageTableSize)
        ((DXGKARG_GETROOTPAGETABLESIZE *)arg)->NumberOfPte = 512;
    return rig_answer(rig, ddi, object, arg);
}

RULE_KEPT(PT_008)
{
    DXGKARG_GETROOTPAGETABLESIZE arg = {.NumberOfPte = 3};

    rig->answer = give_more_entries;
    miniport_get_root_page_table_size(rig->top, &arg);
}

RULE_BROKEN(PT_022)
{
    rig->gpummu.PageTableUpdateMode = DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
    query_mmu(rig);
    query_levels(rig);
}

/* Leaf tables may be in local memory: what may not are directories. */
RULE_KEPT(PT_022)
{
    rig->gpummu.PageTableUpdateMode = DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
    query_mmu(rig);
    rig->levels[1].PageTableSegmentId = rig->levels[2].PageTableSegmentId = 0;
    query_levels(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_profile_may_forbid_two_mmus),
    };

    return RIG_RUN_TESTS(tests);
}
