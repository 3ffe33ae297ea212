/*
 * Watcher: what a driver says about its page tables (PT-001, PT-003..008, PT-022), judged when the
 * query that says it comes back. What needs two answers is judged when the later one is there.
 */
#include "check/check_watch.h"

#define PAGE            4096u
#define PAGE_64K        65536u
#define PAGE_BITS       12u
#define MAX_LEVEL_COUNT 6u /* DXGK_MAX_PAGE_TABLE_LEVEL_COUNT */

static const char *level_field(struct check *check, unsigned level, const char *member)
{
    return check_field(check, "pOutputData, level %u, %s", level, member);
}

/* PT-001: the caps page forbids both models at once, the overview allows them. */
static void check_model(struct check *check, const DXGK_DRIVERCAPS *caps)
{
    const DXGK_VIDMMCAPS *memory = &caps->MemoryManagementCaps;
    bool has_model = memory->GpuMmuSupported || memory->IoMmuSupported;
    bool has_both = memory->GpuMmuSupported && memory->IoMmuSupported;

    if (!memory->VirtualAddressingSupported && !has_model)
        return;
    CHECK_RULE(check, RULE_PT_001,
               memory->VirtualAddressingSupported && has_model &&
                   !(has_both && check_configuration(check)->profile.wants_one_mmu),
               NULL, "pOutputData, MemoryManagementCaps",
               "{VirtualAddressingSupported %u, GpuMmuSupported %u, IoMmuSupported %u} (expected "
               "{=the first with %s})",
               memory->VirtualAddressingSupported, memory->GpuMmuSupported, memory->IoMmuSupported,
               check_configuration(check)->profile.wants_one_mmu ? "exactly one of the others"
                                                                 : "one of the others");
}

static bool is_resizable(const struct check_caps *caps, unsigned level)
{
    return caps->level_count == 2 && level == 1;
}

/* PT-005, for all levels: the addresses that they translate are those that the driver reports. */
static void check_bits(struct check *check, const struct check_caps *caps)
{
    unsigned bits = PAGE_BITS;
    bool is_fixed = true;

    for (unsigned level = 0; level < caps->level_count; level++) {
        if (level >= CHECK_MAX_LEVELS || !caps->has_level[level])
            return;
        bits += caps->levels[level].PageTableIndexBitCount;
        is_fixed &= caps->levels[level].PageTableIndexBitCount != 0;
    }
    CHECK_RULE(check, RULE_PT_005,
               is_fixed ? caps->gpummu.VirtualAddressBitCount == bits
                        : caps->gpummu.VirtualAddressBitCount > bits,
               NULL, "pOutputData, VirtualAddressBitCount",
               "{%u} bits of address; 12 and the index bits of %u levels make {=%u%s}",
               caps->gpummu.VirtualAddressBitCount, caps->level_count, bits,
               is_fixed ? "" : " without the root's");
}

static void check_level(struct check *check, const struct check_caps *caps, unsigned level)
{
    const DXGK_PAGE_TABLE_LEVEL_DESC *desc = &caps->levels[level];
    bool is_in_system = !desc->PageTableSegmentId || !desc->PagingProcessPageTableSegmentId;
    bool has_size = desc->PageTableIndexBitCount && desc->PageTableSizeInBytes;

    CHECK_RULE(check, RULE_PT_007, has_size || is_resizable(caps, level), NULL,
               level_field(check, level,
                           desc->PageTableIndexBitCount ? "PageTableSizeInBytes"
                                                        : "PageTableIndexBitCount"),
               "is {0} with %u levels: only the root of exactly two is sized later{=~not 0~}",
               caps->level_count);
    CHECK_RULE(check, RULE_PT_006,
               desc->PageTableSizeInBytes % PAGE == 0 &&
                   (!is_in_system || desc->PageTableSizeInBytes <= PAGE),
               NULL, level_field(check, level, "PageTableSizeInBytes"),
               "{0x%x} bytes for tables in %s (expected {=whole 4 KiB pages, and in system memory "
               "at most one})",
               desc->PageTableSizeInBytes, is_in_system ? "system memory" : "local memory");
}

/* PT-022: where the tables are is a matter of the segments. */
static void check_places(struct check *check, const struct check_ledger *ledger)
{
    const struct check_caps *caps = &ledger->caps;

    if (!ledger->segment_count || !caps->has_gpummu ||
        caps->gpummu.PageTableUpdateMode != DXGK_PAGETABLEUPDATE_CPU_VIRTUAL)
        return;
    for (unsigned level = 1; level < CHECK_MAX_LEVELS; level++) {
        const struct check_segment *segment =
            check_find_segment(ledger, caps->levels[level].PageTableSegmentId);

        if (!caps->has_level[level])
            continue;
        CHECK_RULE(check, RULE_PT_022, !segment || segment->flags.Aperture, NULL,
                   level_field(check, level, "PageTableSegmentId"),
                   "{%u} is local memory; with PageTableUpdateMode CPU_VIRTUAL page directories "
                   "may not be there",
                   caps->levels[level].PageTableSegmentId);
    }
}

static void check_mmu(struct check *check, const struct check_caps *caps)
{
    unsigned count = caps->gpummu.PageTableLevelCount;

    CHECK_RULE(check, RULE_PT_003, count >= 2 && count <= MAX_LEVEL_COUNT, NULL,
               "pOutputData, PageTableLevelCount", "is {%u} (expected {=2 to %u})", count,
               MAX_LEVEL_COUNT);
}

static void after_query(struct check *check, const DXGKARG_QUERYADAPTERINFO *query)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_caps *caps = &ledger->caps;

    if (!query->pOutputData)
        return;
    switch ((unsigned)query->Type) {
    case DXGKQAITYPE_DRIVERCAPS:
        if (ledger->interface_version >= DXGKDDI_INTERFACE_VERSION_WDDM2_0)
            check_model(check, &caps->driver);
        break;
    case DXGKQAITYPE_GPUMMUCAPS:
        check_mmu(check, caps);
        break;
    case DXGKQAITYPE_PAGETABLELEVELDESC: {
        const DXGK_QUERYPAGETABLELEVELDESCIN *in = query->pInputData;

        if (!in || in->LevelIndex >= CHECK_MAX_LEVELS || in->LevelIndex >= caps->level_count)
            break;
        check_level(check, caps, in->LevelIndex);
        check_bits(check, caps);
        check_places(check, ledger);
        break;
    }
    case DXGKQAITYPE_QUERYSEGMENT4:
        check_places(check, ledger);
        break;
    default:
        break;
    }
}

/* PT-004: a level of those that there are. */
static void before_query(struct check *check, const DXGKARG_QUERYADAPTERINFO *query)
{
    const struct check_caps *caps = &check_ledger(check)->caps;
    const DXGK_QUERYPAGETABLELEVELDESCIN *in = query->pInputData;

    if (query->Type != DXGKQAITYPE_PAGETABLELEVELDESC || !in || !caps->has_gpummu)
        return;
    CHECK_RULE(check, RULE_PT_004, in->LevelIndex < caps->level_count, NULL,
               "pInputData, LevelIndex", "is {%u} of {=~less than ~%u} levels, which count from 0",
               in->LevelIndex, caps->level_count);
}

/* PT-008. */
static void after_root_size(struct check *check, const struct check_call *call)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_caps *caps = &ledger->caps;
    unsigned root = caps->level_count ? caps->level_count - 1 : 0;
    const struct check_segment *segment =
        check_find_segment(ledger, caps->levels[root].PageTableSegmentId);
    uint32_t unit = segment && segment->flags.Use64KBPages ? PAGE_64K : PAGE;
    uint32_t asked = call->before.get_root_page_table_size->NumberOfPte;
    uint32_t given = call->arg.get_root_page_table_size->NumberOfPte;

    CHECK_RULE(check, RULE_PT_008, call->bytes && call->bytes % unit == 0 && given >= asked, NULL,
               given >= asked ? "" : "NumberOfPte",
               "{%llu bytes with %u entries} for the %u that were asked for (expected {=a multiple "
               "of %u bytes, and as many entries})",
               (unsigned long long)call->bytes, given, asked, unit);
}

static void before(struct check *check, void *state, const struct check_call *call)
{
    before_query(check, call->arg.query_adapter_info);
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    if (call->ddi == MINIPORT_DDI_QueryAdapterInfo && NT_SUCCESS(call->status))
        after_query(check, call->arg.query_adapter_info);
    else if (call->ddi == MINIPORT_DDI_GetRootPageTableSize)
        after_root_size(check, call);
}

const struct check_watcher check_table_caps_watcher = {
    .name = "table caps",
    .before = before,
    .before_calls = CHECK_CALLS(MINIPORT_DDI_QueryAdapterInfo),
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_QueryAdapterInfo, MINIPORT_DDI_GetRootPageTableSize),
};
