/*
 * Watcher: the life of page tables. They are initialised before anything leads to them, nothing
 * leads to them when their memory gets another use, and what leads to two kinds of them agrees
 * (PT-013, PT-015, PT-035, PT-037, PT-040, PT-042..045).
 *
 * An operation is judged against the account as it was before it. What 64 KiB and 4 KiB entries say
 * of the same addresses (PT-042) may contradict for as long as the batch is being built: such
 * ranges are remembered, and looked at again when it is submitted.
 */
#include "check/check_watch.h"

#include "base/bits.h"

#include <stdio.h>

#define PAGES_64K     16u
#define MAX_RESERVED  16
#define MAX_SUSPECTED 32

struct reserved_range {
    HANDLE process; /* NULL: of the one that is being created */
    uint64_t va, bytes;
};

/* A leaf of 4 KiB entries whose range has valid 64 KiB entries. */
struct suspected_leaf {
    HANDLE process;
    uint64_t first_va;
};

struct table_watch {
    struct reserved_range reserved[MAX_RESERVED];
    unsigned reserved_count;
    struct suspected_leaf suspected[MAX_SUSPECTED];
    unsigned suspected_count;
};

static const char *name_table(const struct check_table *table, char *out, size_t size)
{
    if (table->place == CHECK_NOWHERE)
        snprintf(out, size, "the table of level %u for VA 0x%llx (event %llu)", table->level,
                 (unsigned long long)table->first_va, (unsigned long long)table->event);
    else
        snprintf(out, size,
                 "the table of level %u for VA 0x%llx in segment %u at 0x%llx (event %llu)",
                 table->level, (unsigned long long)table->first_va, (unsigned)(table->place >> 48),
                 (unsigned long long)((table->place & ((UINT64_C(1) << 48) - 1)) << PAGE_SHIFT),
                 (unsigned long long)table->event);
    return out;
}

static bool has_two_pointers(const struct check_ledger *ledger)
{
    return ledger->caps.gpummu.LeafPageTableSizeFor64KPagesInBytes &&
           ledger->caps.gpummu.DualPteSupported;
}

static bool has_page_size(const struct check_ledger *ledger)
{
    return ledger->caps.gpummu.LeafPageTableSizeFor64KPagesInBytes &&
           !ledger->caps.gpummu.DualPteSupported;
}

/* ---- Memory that gets another use ------------------------------------------------------------ */

/* A context that could be scheduled is at home in the root. */
static bool is_root_in_use(const struct check_ledger *ledger, const struct check_table *root)
{
    const struct id_map *contexts = &ledger->objects[CHECK_CONTEXT];
    const struct check_object *object;
    size_t position = 0;

    while ((object = id_map_next(contexts, &position))) {
        const struct check_context *context = (const struct check_context *)object;

        if (context->has_root && context->device && context->device->process == root->process)
            return true;
    }
    return false;
}

static void check_former_use(struct check *check, const struct check_table *there)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_table *root;
    char name[128];
    bool is_reachable = check_table_is_reachable(ledger, there, &root) &&
                        there->level + 1 < ledger->caps.level_count && is_root_in_use(ledger, root);

    CHECK_RULE(check, RULE_PT_015, !is_reachable, &there->process->object, "PageTableAddress",
               "%s is there, and the entry that leads to it is still valid",
               name_table(there, name, sizeof name));
    if (!ledger->caps.gpummu.ExplicitPageTableInvalidation ||
        there->epoch != ledger->tables.epoch || there->process->is_system)
        return;
    CHECK_RULE(check, RULE_PT_035, !there->runs.count, &there->process->object, "PageTableAddress",
               "%s was there, and still has valid entries", name_table(there, name, sizeof name));
}

static void before_destroy_process(struct check *check, const struct check_call *call)
{
    const struct check_ledger *ledger = check_ledger(check);
    struct check_process *process = check_find_process(ledger, call->object);
    struct check_table *table;

    if (!process || process->is_system || !ledger->caps.gpummu.ExplicitPageTableInvalidation)
        return;
    list_for_each (table, &process->table_list, struct check_table, link) {
        char name[128];

        if (table->epoch == ledger->tables.epoch)
            CHECK_RULE(check, RULE_PT_035, !table->runs.count, &process->object, "",
                       "%s still has valid entries", name_table(table, name, sizeof name));
    }
}

/* ---- First use ------------------------------------------------------------------------------- */

static void check_first_use(struct check *check,
                            const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update,
                            const struct check_process *process, const struct check_table *table)
{
    const struct check_ledger *ledger = check_ledger(check);
    bool is_new = update->Flags.InitialUpdate;
    char name[128];

    if (is_new && !update->StartIndex) {
        const struct check_table *there = check_table_in_place_of(ledger, update);

        if (there && there != check_table_in_role_of(ledger, update))
            check_former_use(check, there);
        if (there && there->is_evicted)
            check_looked_at(check, RULE_PT_037);
        check_looked_at(check, RULE_PT_013);
        return;
    }
    if (table && table->epoch != ledger->tables.epoch)
        return;
    if (table && table->is_evicted && !update->Flags.NotifyEviction) {
        CHECK_RULE(check, RULE_PT_037, is_new, &process->object, "Flags",
                   "%s has left with NotifyEviction; its next use has no InitialUpdate",
                   name_table(table, name, sizeof name));
        return;
    }
    /* In pieces of any order (docs/observed.md): what they leave out is told when it is linked. */
    CHECK_RULE(check, RULE_PT_013, table, &process->object, "Flags",
               "level %u, VA 0x%llx: the first update of a table %s", update->PageTableLevel,
               (unsigned long long)update->FirstPteVirtualAddress,
               is_new ? "does not begin with its first entry" : "has no InitialUpdate");
}

/* ---- Entries that lead to tables ------------------------------------------------------------- */

static void check_child(struct check *check, const struct check_process *process,
                        const DXGK_PTE *entry, unsigned level, uint64_t va, bool is_64k,
                        const char *array, uint32_t index)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_table *child = check_find_table(process, level - 1, is_64k, va);
    uint64_t place;

    if (child && child->epoch != ledger->tables.epoch)
        return;
    if (!CHECK_RULE(check, RULE_PT_015, check_table_is_known(ledger, child), &process->object,
                    check_field(check, "%s[%u]", array, index),
                    "becomes valid for VA 0x%llx; the table of level %u there %s",
                    (unsigned long long)va, level - 1,
                    !child              ? "has never been initialised"
                    : child->is_evicted ? "has left"
                                        : "is not initialised throughout"))
        return;
    place = child->place;
    if (place == CHECK_NOWHERE)
        return;
    CHECK_RULE(check, RULE_PT_015, place == CHECK_PLACE(entry->Segment, entry->PageAddress),
               &process->object, check_field(check, "%s[%u]", array, index),
               "leads to {segment %u, page 0x%llx} for VA 0x%llx; the table that was initialised "
               "is in {=segment %u, page 0x%llx}",
               (unsigned)entry->Segment, (unsigned long long)entry->PageAddress,
               (unsigned long long)va, (unsigned)(place >> 48),
               (unsigned long long)(place & ((UINT64_C(1) << 48) - 1)));
}

/* PT-040: an entry that leads to 4 KiB pages does not come to lead to 64 KiB pages. */
static void check_page_size(struct check *check, const struct check_process *process,
                            const struct check_table *table, const DXGK_PTE *entry, uint32_t index,
                            uint32_t i)
{
    uint64_t word =
        check_table_is_known(check_ledger(check), table) ? check_runs_word(&table->runs, index) : 0;
    bool was_4k = word && !check_word_entry(word).LargePage &&
                  check_word_entry(word).PageTablePageSize == DXGK_PTE_PAGE_TABLE_PAGE_4KB;

    CHECK_RULE(check, RULE_PT_040,
               !was_4k || entry->PageTablePageSize == DXGK_PTE_PAGE_TABLE_PAGE_4KB,
               &process->object, check_field(check, "pPageTableEntries[%u].PageTablePageSize", i),
               "turns 4 KiB pages of index %u into 64 KiB pages", index);
}

static void check_pointers(struct check *check,
                           const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update,
                           const struct check_process *process, const struct check_table *table)
{
    const struct check_ledger *ledger = check_ledger(check);
    unsigned level = update->PageTableLevel;
    uint32_t count = update->Flags.Repeat ? 1 : update->NumPageTableEntries;
    uint64_t va = update->FirstPteVirtualAddress;

    for (uint32_t i = 0; i < count; i++, va += UINT64_C(1) << check_level_shift(ledger, level)) {
        const DXGK_PTE *entry = &update->pPageTableEntries[i];
        bool is_64k = level == 1 && has_page_size(ledger) &&
                      entry->PageTablePageSize == DXGK_PTE_PAGE_TABLE_PAGE_64KB;

        if (entry->Valid && !entry->LargePage) {
            check_child(check, process, entry, level, va, is_64k, "pPageTableEntries", i);
            if (level == 1 && has_page_size(ledger))
                check_page_size(check, process, table, entry, update->StartIndex + i, i);
        }
        if (level == 1 && update->pPageTableEntries64KB && has_two_pointers(ledger) &&
            update->pPageTableEntries64KB[i].Valid)
            check_child(check, process, &update->pPageTableEntries64KB[i], level, va, true,
                        "pPageTableEntries64KB", i);
    }
}

/* ---- Both kinds of leaf ---------------------------------------------------------------------- */

/* The first 64 KiB of the leaf's range that both kinds of entries translate; UINT32_MAX: none. */
static uint32_t find_contradiction(const struct check_ledger *ledger,
                                   const struct check_process *process, uint64_t first_va)
{
    const struct check_table *large = check_find_table(process, 0, true, first_va);
    const struct check_table *small = check_find_table(process, 0, false, first_va);

    if (!check_table_is_known(ledger, large) || !check_table_is_known(ledger, small))
        return UINT32_MAX;
    for (uint32_t i = 0; i < large->runs.count; i++) {
        const struct check_run *run = &large->runs.items[i];

        for (uint32_t k = run->first; k < run->first + run->count; k++) {
            if (check_runs_has_valid(&small->runs, k * PAGES_64K, PAGES_64K))
                return k;
        }
    }
    return UINT32_MAX;
}

/* The batch goes to the GPU: what contradicts now is found. */
static void check_suspected(struct check *check, struct table_watch *watch)
{
    const struct check_ledger *ledger = check_ledger(check);

    for (unsigned i = 0; i < watch->suspected_count; i++) {
        const struct suspected_leaf *leaf = &watch->suspected[i];
        const struct check_process *process = check_find_process(ledger, leaf->process);
        uint32_t at = process ? find_contradiction(ledger, process, leaf->first_va) : UINT32_MAX;

        if (process)
            CHECK_RULE(check, RULE_PT_042, at == UINT32_MAX, &process->object, "",
                       "the 64 KiB entry %u for VA 0x%llx is valid, and 4 KiB entries of the "
                       "same range are too",
                       at,
                       (unsigned long long)(leaf->first_va + (uint64_t)at * PAGES_64K * PAGE_SIZE));
    }
    watch->suspected_count = 0;
}

static void suspect_leaf(const struct check *check, struct table_watch *watch,
                         const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    unsigned shift = check_level_shift(check_ledger((struct check *)check), 1);
    struct suspected_leaf leaf = {update->hProcess,
                                  update->FirstPteVirtualAddress >> shift << shift};

    for (unsigned i = 0; i < watch->suspected_count; i++) {
        if (watch->suspected[i].process == leaf.process &&
            watch->suspected[i].first_va == leaf.first_va)
            return;
    }
    if (watch->suspected_count < MAX_SUSPECTED)
        watch->suspected[watch->suspected_count++] = leaf;
}

/* ---- Ranges that are the driver's ------------------------------------------------------------ */

static void check_reserved(struct check *check, const struct table_watch *watch,
                           const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update,
                           const struct check_process *process)
{
    unsigned shift = check_level_shift(check_ledger(check), update->PageTableLevel);
    uint32_t given = update->Flags.Repeat ? 1 : update->NumPageTableEntries;

    for (unsigned i = 0; i < watch->reserved_count; i++) {
        const struct reserved_range *range = &watch->reserved[i];
        uint64_t first = range->va >> shift, end = (range->va + range->bytes) >> shift;
        uint64_t at = max_u64(first, update->StartIndex);
        bool is_valid = false;

        if (range->process != update->hProcess)
            continue;
        for (; at < end && at < (uint64_t)update->StartIndex + update->NumPageTableEntries; at++)
            is_valid |=
                update->pPageTableEntries[min_u64(at - update->StartIndex, given - 1)].Valid;
        CHECK_RULE(check, RULE_PT_045, !is_valid, &process->object, "pPageTableEntries",
                   "makes entries of the range valid that the driver reserved, 0x%llx bytes "
                   "from VA 0x%llx on",
                   (unsigned long long)range->bytes, (unsigned long long)range->va);
    }
}

static void on_reserve(struct check *check, struct table_watch *watch,
                       const struct check_callback *callback)
{
    const struct check_ledger *ledger = check_ledger(check);
    const DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE *range = callback->data;
    unsigned root = ledger->caps.level_count ? ledger->caps.level_count - 1 : 0;
    uint64_t unit = UINT64_C(1) << check_level_shift(ledger, root);
    bool is_inside = callback->outer && callback->outer->ddi == MINIPORT_DDI_CreateProcess;
    bool is_aligned_well = unit > UINT32_MAX || !range->Alignment || range->Alignment % unit == 0;

    if (!ledger->caps.level_count)
        return;
    CHECK_RULE(check, RULE_PT_044,
               is_inside && range->SizeInBytes && range->SizeInBytes % unit == 0 &&
                   range->BaseAddress % unit == 0 && is_aligned_well,
               NULL,
               !is_inside                  ? ""
               : range->SizeInBytes % unit ? "SizeInBytes"
               : range->BaseAddress % unit ? "BaseAddress"
               : is_aligned_well           ? "SizeInBytes"
                                           : "Alignment",
               "0x%llx bytes at 0x%llx, alignment 0x%x, %s DxgkDdiCreateProcess; an entry of "
               "the root translates 0x%llx bytes",
               (unsigned long long)range->SizeInBytes, (unsigned long long)range->BaseAddress,
               range->Alignment, is_inside ? "inside" : "outside", (unsigned long long)unit);
    if (NT_SUCCESS(callback->status) && is_inside && watch->reserved_count < MAX_RESERVED)
        watch->reserved[watch->reserved_count++] =
            (struct reserved_range){NULL, range->StartVirtualAddress, range->SizeInBytes};
}

static void after_create_process(struct table_watch *watch, const struct check_call *call)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < watch->reserved_count; i++) {
        if (!watch->reserved[i].process && NT_SUCCESS(call->status))
            watch->reserved[i].process = call->arg.create_process->hKmdProcess;
        if (watch->reserved[i].process)
            watch->reserved[kept++] = watch->reserved[i];
    }
    watch->reserved_count = kept;
}

static void after_destroy_process(struct table_watch *watch, HANDLE process)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < watch->reserved_count; i++) {
        if (watch->reserved[i].process != process)
            watch->reserved[kept++] = watch->reserved[i];
    }
    watch->reserved_count = kept;
}

/* ---- The paging process ---------------------------------------------------------------------- */

static void check_paging_process(struct check *check,
                                 const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update,
                                 const struct check_process *process)
{
    bool maps_first_page = update->PageTableLevel == 0 && !update->FirstPteVirtualAddress &&
                           update->NumPageTableEntries && update->pPageTableEntries &&
                           update->pPageTableEntries[0].Valid;

    CHECK_RULE(check, RULE_PT_043, !maps_first_page && !update->Flags.NotifyEviction,
               &process->object, maps_first_page ? "pPageTableEntries[0].Valid" : "Flags",
               maps_first_page ? "the first page of the paging process is to stay invalid"
                               : "the tables of the paging process are pinned; one leaves");
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void before_update(struct check *check, struct table_watch *watch,
                          const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_process *process = check_find_process(ledger, update->hProcess);
    const struct check_table *table = check_table_of_update(ledger, update);
    uint32_t given;

    if (!process || update->PageTableLevel >= ledger->caps.level_count)
        return;
    check_first_use(check, update, process, table);
    if (process->is_system)
        check_paging_process(check, update, process);
    given = !update->pPageTableEntries || !update->NumPageTableEntries ? 0
            : update->Flags.Repeat                                     ? 1
                                   : update->NumPageTableEntries;
    if (!given)
        return;
    if (update->PageTableLevel)
        check_pointers(check, update, process, table);
    else if (has_two_pointers(ledger))
        suspect_leaf(check, watch, update);
    if (update->PageTableLevel + 1 == ledger->caps.level_count)
        check_reserved(check, watch, update, process);
}

static void before(struct check *check, void *state, const struct check_call *call)
{
    const struct check_ledger *ledger = check_ledger(check);
    const DXGKARG_BUILDPAGINGBUFFER *arg = call->before.build_paging_buffer;

    if (check_ledger(check)->tables.is_off)
        return;
    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_BuildPagingBuffer:
        if (arg->Operation != DXGK_OPERATION_UPDATE_PAGE_TABLE || !ledger->caps.level_count ||
            (ledger->is_operation_open && arg->pDmaBuffer))
            break; /* not, or judged already: it goes on */
        before_update(check, state, &arg->UpdatePageTable);
        break;
    case MINIPORT_DDI_SubmitCommand:
        if (call->arg.submit_command->Flags.Paging)
            check_suspected(check, state);
        break;
    case MINIPORT_DDI_SubmitCommandVirtual:
        check_suspected(check, state);
        break;
    case MINIPORT_DDI_DestroyProcess:
        before_destroy_process(check, call);
        break;
    default:
        break;
    }
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    struct table_watch *watch = state;

    if (check_ledger(check)->tables.is_off)
        return;
    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_CreateProcess:
        after_create_process(watch, call);
        break;
    case MINIPORT_DDI_DestroyProcess:
        after_destroy_process(watch, call->object);
        break;
    case MINIPORT_DDI_ResetFromTimeout:
    case MINIPORT_DDI_SetPowerState:
        watch->suspected_count = 0;
        break;
    default:
        break;
    }
}

static void on_callback(struct check *check, void *state, const struct check_callback *callback)
{
    if (callback->callback == TRACE_CALLBACK_reserve_gpu_virtual_address_range)
        on_reserve(check, state, callback);
}

const struct check_watcher check_table_life_watcher = {
    .name = "table life",
    .state_bytes = sizeof(struct table_watch),
    .before = before,
    .before_calls = CHECK_CALLS(MINIPORT_DDI_BuildPagingBuffer, MINIPORT_DDI_SubmitCommand,
                                MINIPORT_DDI_SubmitCommandVirtual, MINIPORT_DDI_DestroyProcess),
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_CreateProcess, MINIPORT_DDI_DestroyProcess,
                               MINIPORT_DDI_ResetFromTimeout, MINIPORT_DDI_SetPowerState),
    .callback = on_callback,
};
