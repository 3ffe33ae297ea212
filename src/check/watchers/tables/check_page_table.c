/*
 * Watcher: UPDATE_PAGE_TABLE, operation by operation: the level, the range, the entries (PT-002,
 * PT-012, PT-018, PT-020, PT-024, PT-025, PT-027, PT-029..034, PT-038). Its effect on the tables is
 * judged by check_table_life.c.
 *
 * Entries are looked at once an operation; a rule about entries is evaluated once for all of them.
 */
#include "check/check_watch.h"

#include "base/bits.h"
#include "miniport/operation.h"

#define PAGES_64K         16u
#define MAX_UNIQUE        32
#define PROTECTION_UNIQUE (UINT64_C(1) << 63)

/* A mapping with a protection that is to be the only one of these pages (PT-029). */
struct unique_mapping {
    HANDLE allocation;
    const struct check_process *process;
    uint64_t protection, va, first_page, page_count;
};

struct page_table_watch {
    struct unique_mapping unique[MAX_UNIQUE];
    unsigned unique_count;
};

/* An operation that is judged, with its process and allocation. */
struct subject {
    struct check *check;
    const struct check_ledger *ledger;
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update;
    const struct check_process *process;
    const struct check_allocation *allocation; /* NULL: none, or not one of CreateAllocation */
    uint64_t entry_pages;                      /* that one entry translates */
    uint32_t given;                            /* entries in the array */
    uint64_t mapped;                           /* entries of the table, up to the last valid one */
};

#define ENTRY_RULE(subject, rule, index, member, holds, ...)                                       \
    CHECK_RULE((subject)->check, rule, holds,                                                      \
               (subject)->allocation ? &(subject)->allocation->object : NULL,                      \
               check_field((subject)->check, "pPageTableEntries[%u].%s", index, member),           \
               __VA_ARGS__)

/* ---- The range ------------------------------------------------------------------------------- */

static bool check_range(const struct subject *subject)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = subject->update;
    const struct check_ledger *ledger = subject->ledger;
    uint64_t end = (uint64_t)update->StartIndex + update->NumPageTableEntries;
    uint32_t entries =
        check_level_entries(ledger, update->PageTableLevel, update->Flags.Use64KBPages);
    unsigned shift = update->Flags.Use64KBPages ? check_level_shift(ledger, 0) + 4
                                                : check_level_shift(ledger, update->PageTableLevel);
    bool is_growing_root = update->PageTableLevel == 1 && check_root_grows(ledger);
    uint64_t index = update->FirstPteVirtualAddress >> shift;

    if (entries &&
        !CHECK_RULE(subject->check, RULE_PT_018, end <= entries, NULL, "NumPageTableEntries",
                    "{%u} entries from index %u on; the table of level %u has {=~at most ~%u}",
                    update->NumPageTableEntries, update->StartIndex, update->PageTableLevel,
                    entries))
        return false;
    if (!is_growing_root && entries)
        index %= entries;
    CHECK_RULE(subject->check, RULE_PT_024,
               subject->process && index == update->StartIndex &&
                   update->FirstPteVirtualAddress % (UINT64_C(1) << shift) == 0,
               subject->process ? &subject->process->object : NULL,
               subject->process ? "FirstPteVirtualAddress" : "hProcess",
               "VA 0x%llx has index {%llu} at level %u; StartIndex is {=%u}%s",
               (unsigned long long)update->FirstPteVirtualAddress, (unsigned long long)index,
               update->PageTableLevel, update->StartIndex,
               subject->process ? "" : ", and there is no such process");
    return true;
}

static void check_mode(const struct subject *subject, const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = subject->update;
    bool is_bootstrap = !arg->pDmaBuffer && subject->process && subject->process->is_system;
    DXGK_PAGETABLEUPDATEMODE expected = is_bootstrap
                                            ? DXGK_PAGETABLEUPDATE_CPU_VIRTUAL
                                            : subject->ledger->caps.gpummu.PageTableUpdateMode;

    CHECK_RULE(subject->check, RULE_PT_020, update->UpdateMode == expected, NULL, "UpdateMode",
               "is {%u}; the driver's PageTableUpdateMode is {=%u} (only tables of the paging "
               "process are set up without a buffer, by the CPU)",
               (unsigned)update->UpdateMode,
               (unsigned)subject->ledger->caps.gpummu.PageTableUpdateMode);
}

static void check_second_array(const struct subject *subject)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = subject->update;
    const DXGK_GPUMMUCAPS *caps = &subject->ledger->caps.gpummu;

    CHECK_RULE(
        subject->check, RULE_PT_047,
        !update->pPageTableEntries64KB || (caps->DualPteSupported && update->PageTableLevel > 0),
        NULL, "pPageTableEntries64KB", "is {given} at level %u; DualPteSupported is %u{=~NULL~}",
        update->PageTableLevel, (unsigned)caps->DualPteSupported);
}

/* ---- The allocation -------------------------------------------------------------------------- */

static void check_allocation_range(const struct subject *subject)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = subject->update;
    uint64_t bytes = subject->mapped * subject->entry_pages * PAGE_SIZE;
    uint64_t unit = subject->entry_pages * PAGE_SIZE;
    uint64_t size = subject->allocation ? align_up(subject->allocation->bytes, unit) : 0;

    if (!subject->allocation || !subject->mapped)
        return;
    CHECK_RULE(subject->check, RULE_PT_025,
               update->AllocationOffsetInBytes % PAGE_SIZE == 0 &&
                   update->AllocationOffsetInBytes <= size &&
                   bytes <= size - update->AllocationOffsetInBytes,
               &subject->allocation->object, "AllocationOffsetInBytes",
               "0x%llx bytes from offset 0x%llx on; the allocation has 0x%llx",
               (unsigned long long)bytes, (unsigned long long)update->AllocationOffsetInBytes,
               (unsigned long long)subject->allocation->bytes);
}

static bool is_large(const DXGK_PTE *entry)
{
    return entry->Valid && entry->LargePage;
}

static void check_pointers(const struct subject *subject)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = subject->update;
    bool is_of_allocation = update->PageTableLevel == 0;

    CHECK_RULE(subject->check, RULE_PT_027,
               update->PageTableLevel == 0 || !update->DriverProtection, NULL, "DriverProtection",
               "is {0x%llx} at level %u; only leaf entries have one{=~0~}",
               (unsigned long long)update->DriverProtection, update->PageTableLevel);
    for (uint32_t i = 0; i < subject->given && !is_of_allocation; i++)
        is_of_allocation = is_large(&update->pPageTableEntries[i]);
    if (is_of_allocation)
        return;
    CHECK_RULE(subject->check, RULE_PT_012, !update->hAllocation, NULL, "hAllocation",
               "is {%p} where entries of level %u point at tables, which have no handle{=~NULL~}",
               update->hAllocation, update->PageTableLevel);
}

/* ---- Entries --------------------------------------------------------------------------------- */

/* The first entry that breaks each rule; given: none. */
struct breaches {
    uint32_t zero, attribute, place, large, forbidden, shape_64k, repeated;
};

static bool is_attribute_known(const DXGK_GPUMMUCAPS *caps, const DXGK_PTE *entry)
{
    return (!entry->ReadOnly || caps->ReadOnlyMemorySupported) &&
           (!entry->NoExecute || caps->NoExecuteMemorySupported) &&
           (!entry->CacheCoherent || caps->CacheCoherentMemorySupported);
}

/* Where a valid entry of the flags of this one may point: below so many pages of its memory. */
static uint64_t count_places(const struct subject *subject, const DXGK_PTE *entry)
{
    const struct check_segment *segment =
        check_find_segment(subject->ledger, (unsigned)entry->Segment);
    uint64_t needed =
        subject->update->PageTableLevel && !entry->LargePage ? 1 : subject->entry_pages;
    uint64_t pages;

    if (!entry->Segment)
        return CHECK_WORD_PAGE_MASK + 1;
    pages = segment ? align_up(segment->size, PAGE_SIZE) / PAGE_SIZE : 0;
    return pages < needed ? 0 : min_u64(pages - needed, CHECK_WORD_PAGE_MASK) + 1;
}

static bool is_lawful_large(const struct subject *subject, const DXGK_PTE *entry)
{
    const DXGK_GPUMMUCAPS *caps = &subject->ledger->caps.gpummu;

    return subject->update->PageTableLevel > 0 && caps->LargePageSupported &&
           (caps->AllowNonAlignedLargePageAddress ||
            entry->PageAddress % subject->entry_pages == 0);
}

/* PT-038: as the call has 64 KiB pages, the memory has them too, and the address is of one. */
static bool is_lawful_64k(const struct subject *subject, const DXGK_PTE *entry)
{
    const DXGK_GPUMMUCAPS *caps = &subject->ledger->caps.gpummu;
    const struct check_segment *segment =
        check_find_segment(subject->ledger, (unsigned)entry->Segment);
    bool has_64k = entry->Segment ? segment && segment->flags.Use64KBPages
                                  : caps->SysMem64KBPageSupported != 0;

    return has_64k && caps->LeafPageTableSizeFor64KPagesInBytes &&
           entry->PageAddress % PAGES_64K == 0;
}

/* What the flags of an entry alone can break. */
static void look_at_flags(const struct subject *subject, uint32_t i, struct breaches *first)
{
    const DXGK_PTE *entry = &subject->update->pPageTableEntries[i];
    const DXGK_GPUMMUCAPS *caps = &subject->ledger->caps.gpummu;

    if (entry->Zero && (!entry->Valid || !caps->ZeroInPteSupported) && first->zero > i)
        first->zero = i;
    if (!is_attribute_known(caps, entry) && first->attribute > i)
        first->attribute = i;
    if (entry->Valid && !entry->Zero && entry->LargePage && subject->allocation &&
        subject->allocation->info.FlagsWddm2.DisableLargePageMapping && first->forbidden > i)
        first->forbidden = i;
}

/* A valid entry that is not zero; places: as count_places() counts for its flags. */
static void look_at_page(const struct subject *subject, uint32_t i, uint64_t places,
                         struct breaches *first)
{
    const DXGK_PTE *entry = &subject->update->pPageTableEntries[i];

    if (entry->PageAddress >= places && first->place > i)
        first->place = i;
    if (entry->LargePage && !is_lawful_large(subject, entry) && first->large > i)
        first->large = i;
    if (subject->update->Flags.Use64KBPages && !is_lawful_64k(subject, entry) &&
        first->shape_64k > i)
        first->shape_64k = i;
    if (i && subject->update->hAllocation && subject->update->PageTableLevel == 0 &&
        entry->PageAddress == entry[-1].PageAddress && entry->Flags == entry[-1].Flags &&
        first->repeated > i)
        first->repeated = i;
}

static void tell_entries(const struct subject *subject, const struct breaches *first)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = subject->update;
    const DXGK_GPUMMUCAPS *caps = &subject->ledger->caps.gpummu;
    uint32_t none = subject->given;
    bool has_large = false;

#define ENTRY(member) (&update->pPageTableEntries[first->member < none ? first->member : 0])
    ENTRY_RULE(subject, RULE_PT_031, first->zero, "Zero", first->zero == none,
               "is {set} with Valid %u; ZeroInPteSupported is %u", (unsigned)ENTRY(zero)->Valid,
               caps->ZeroInPteSupported);
    ENTRY_RULE(subject, RULE_PT_032, first->attribute, "Flags", first->attribute == none,
               "ReadOnly %u, NoExecute %u, CacheCoherent %u; the driver supports %u, %u, %u",
               (unsigned)ENTRY(attribute)->ReadOnly, (unsigned)ENTRY(attribute)->NoExecute,
               (unsigned)ENTRY(attribute)->CacheCoherent, caps->ReadOnlyMemorySupported,
               caps->NoExecuteMemorySupported, caps->CacheCoherentMemorySupported);
    ENTRY_RULE(subject, RULE_PT_030, first->place, "PageAddress", first->place == none,
               "page 0x%llx of segment %u is not there (an offset in the segment, in 4 KiB pages)",
               (unsigned long long)ENTRY(place)->PageAddress, (unsigned)ENTRY(place)->Segment);
    for (uint32_t i = 0; i < none && update->PageTableLevel && !has_large; i++)
        has_large = is_large(&update->pPageTableEntries[i]);
    if (has_large || first->large < none) {
        ENTRY_RULE(subject, RULE_PT_033, first->large, "LargePage", first->large == none,
                   "at level %u, page 0x%llx for a range of %llu pages; LargePageSupported is %u",
                   update->PageTableLevel, (unsigned long long)ENTRY(large)->PageAddress,
                   (unsigned long long)subject->entry_pages, caps->LargePageSupported);
        ENTRY_RULE(subject, RULE_PT_034, first->forbidden, "LargePage", first->forbidden == none,
                   "is {set} for an allocation with DisableLargePageMapping{=~clear~}");
    }
    if (update->Flags.Use64KBPages)
        ENTRY_RULE(subject, RULE_PT_038, first->shape_64k, "PageAddress", first->shape_64k == none,
                   "page 0x%llx of segment %u is not a 64 KiB page of memory that has them",
                   (unsigned long long)ENTRY(shape_64k)->PageAddress,
                   (unsigned)ENTRY(shape_64k)->Segment);
    if (subject->allocation && none > 1)
        ENTRY_RULE(subject, RULE_PT_025, first->repeated, "PageAddress", first->repeated == none,
                   "is page 0x%llx of segment %u again: two pages of the allocation in one place",
                   (unsigned long long)ENTRY(repeated)->PageAddress,
                   (unsigned)ENTRY(repeated)->Segment);
#undef ENTRY
}

static void check_entries(const struct subject *subject)
{
    uint32_t none = subject->given;
    struct breaches first = {none, none, none, none, none, none, none};
    const DXGK_PTE *entries = subject->update->pPageTableEntries;
    uint64_t places = 0;

    for (uint32_t i = 0; i < subject->given; i++) {
        if (!i || entries[i].Flags != entries[i - 1].Flags) {
            look_at_flags(subject, i, &first);
            places = count_places(subject, &entries[i]);
        }
        if (entries[i].Valid && !entries[i].Zero)
            look_at_page(subject, i, places, &first);
    }
    if (subject->given)
        tell_entries(subject, &first);
}

/* ---- Unique protections ---------------------------------------------------------------------- */

static bool overlap(uint64_t a, uint64_t a_count, uint64_t b, uint64_t b_count)
{
    return a < b + b_count && b < a + a_count;
}

/* PT-029: pages that have a mapping with bit 63 have no other one that differs from it. */
static void check_unique(const struct subject *subject, struct page_table_watch *watch)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = subject->update;
    uint64_t written = update->NumPageTableEntries * subject->entry_pages;
    uint64_t pages = subject->mapped * subject->entry_pages;
    uint64_t first_page = update->AllocationOffsetInBytes / PAGE_SIZE;
    bool is_valid = subject->mapped != 0;
    bool is_unique = update->DriverProtection & PROTECTION_UNIQUE;

    if (update->PageTableLevel || !subject->process || subject->process->is_system)
        return;
    for (unsigned i = 0; i < watch->unique_count;) {
        struct unique_mapping *mapping = &watch->unique[i];

        if (mapping->process == subject->process &&
            overlap(mapping->va, mapping->page_count * PAGE_SIZE, update->FirstPteVirtualAddress,
                    written * PAGE_SIZE)) {
            *mapping = watch->unique[--watch->unique_count]; /* it is written anew */
            continue;
        }
        if (is_valid && update->hAllocation && mapping->allocation == update->hAllocation &&
            overlap(mapping->first_page, mapping->page_count, first_page, pages))
            CHECK_RULE(subject->check, RULE_PT_029, mapping->protection == update->DriverProtection,
                       subject->allocation ? &subject->allocation->object : NULL,
                       "DriverProtection",
                       "{0x%llx} for pages that VA 0x%llx maps with the unique {=0x%llx}",
                       (unsigned long long)update->DriverProtection,
                       (unsigned long long)mapping->va, (unsigned long long)mapping->protection);
        i++;
    }
    if (is_valid && is_unique && update->hAllocation && watch->unique_count < MAX_UNIQUE)
        watch->unique[watch->unique_count++] = (struct unique_mapping){
            .allocation = update->hAllocation,
            .process = subject->process,
            .protection = update->DriverProtection,
            .va = update->FirstPteVirtualAddress,
            .first_page = first_page,
            .page_count = pages,
        };
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void before_update(struct check *check, struct page_table_watch *watch,
                          const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct check_ledger *ledger = check_ledger(check);
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &arg->UpdatePageTable;
    struct subject subject = {
        .check = check,
        .ledger = ledger,
        .update = update,
        .process = check_find_process(ledger, update->hProcess),
        .allocation = check_find_allocation(ledger, update->hAllocation),
    };

    if (!CHECK_RULE(check, RULE_PT_002, update->PageTableLevel < ledger->caps.level_count, NULL,
                    "PageTableLevel", "is {%u} of {=~less than ~%u} levels", update->PageTableLevel,
                    ledger->caps.level_count))
        return;
    subject.entry_pages =
        update->Flags.Use64KBPages
            ? PAGES_64K
            : UINT64_C(1) << (check_level_shift(ledger, update->PageTableLevel) - PAGE_SHIFT);
    check_mode(&subject, arg);
    check_second_array(&subject);
    if (!check_range(&subject) || !update->pPageTableEntries)
        return;
    if (update->NumPageTableEntries)
        subject.given = update->Flags.Repeat ? 1 : update->NumPageTableEntries;
    subject.mapped = miniport_update_mapped(update);
    check_pointers(&subject);
    check_allocation_range(&subject);
    check_entries(&subject);
    check_unique(&subject, watch);
}

static void before(struct check *check, void *state, const struct check_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *arg = call->before.build_paging_buffer;

    if (check_ledger(check)->tables.is_off)
        return;
    if (call->ddi == MINIPORT_DDI_BuildPagingBuffer &&
        arg->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE && check_ledger(check)->caps.level_count)
        before_update(check, state, arg);
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    struct page_table_watch *watch = state;

    if (call->ddi == MINIPORT_DDI_DestroyProcess || call->ddi == MINIPORT_DDI_ResetFromTimeout ||
        call->ddi == MINIPORT_DDI_SetPowerState || call->ddi == MINIPORT_DDI_DestroyAllocation)
        watch->unique_count = 0;
}

const struct check_watcher check_page_table_watcher = {
    .name = "page tables",
    .state_bytes = sizeof(struct page_table_watch),
    .before = before,
    .before_calls = CHECK_CALLS(MINIPORT_DDI_BuildPagingBuffer),
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_DestroyProcess, MINIPORT_DDI_ResetFromTimeout,
                               MINIPORT_DDI_SetPowerState, MINIPORT_DDI_DestroyAllocation),
};
