/*
 * Watcher: page tables that the CPU writes, as bytes (PT-014, PT-021). Without a model of the GPU
 * nobody knows what an entry says, but how long it is the driver has told, and the memory is there.
 *
 * PT-014     What an InitialUpdate is to write is filled with garbage first, as memory may hold
 *            when it becomes a table. Behind the call no entry is still garbage, and entries that
 *            are to be invalid are alike: bits that were kept differ.
 * PT-021     Where entries become valid or invalid, bytes change before the call returns, and what
 *            it left is there unchanged when the next call of the driver has returned.
 *
 * Left out: roots that grow and dual tables, whose entries have no one length. A driver may pass
 * over entries inside a large page of its GPU (PT-026), so that changes are asked of 64 KiB at
 * least.
 */
#include "check/check_watch.h"
#include "check/report/check_blame.h"

#include "base/bits.h"

#include <string.h>

#define MOST_BYTES    4096u /* of the entries of a call, from the first on, that are looked at */
#define ENTRIES_64K   16u
#define LONGEST_ENTRY 32u

struct bytes_watch {
    uint8_t *at; /* entries of the call under way; NULL: not looked at */
    uint32_t bytes, entry_bytes, count;
    bool is_initial, has_change;
    const uint8_t *left_at; /* as the last call left them; NULL: nothing is to be compared */
    uint32_t left_bytes;
    uint8_t before[MOST_BYTES], left[MOST_BYTES];
};

/* Garbage that differs from entry to entry. */
static uint8_t garbage_at(uint32_t offset)
{
    return (uint8_t)((offset + 1) * UINT32_C(2654435761) >> 17);
}

static uint32_t entry_bytes_of(const struct check_ledger *ledger, unsigned level)
{
    uint32_t entries = check_level_entries(ledger, level, false);
    uint32_t bytes = level < CHECK_MAX_LEVELS ? ledger->caps.levels[level].PageTableSizeInBytes : 0;

    return entries && bytes % entries == 0 ? bytes / entries : 0;
}

static const DXGK_PTE *entry_of(const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update, uint32_t i)
{
    return &update->pPageTableEntries[update->Flags.Repeat ? 0 : i];
}

/* Whether memory has another entry than the operation asks for, as far as it was written before. */
static bool changes_validity(const struct check_ledger *ledger,
                             const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update, uint32_t count)
{
    const struct check_table *table = check_table_of_update(ledger, update);

    if (!table || !table->is_initialised || update->StartIndex % ENTRIES_64K || count < ENTRIES_64K)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t word = check_runs_word(&table->runs, update->StartIndex + i);

        if (!check_word_of(entry_of(update, i)) != !word)
            return true;
    }
    return false;
}

static void look_at_left(struct check *check, struct bytes_watch *watch)
{
    uint32_t i = 0;

    if (!watch->left_at)
        return;
    while (i < watch->left_bytes && watch->left_at[i] == watch->left[i])
        i++;
    if (i == watch->left_bytes)
        return;
    watch->left_at = NULL;
    check_blame_call(check, MINIPORT_DDI_BuildPagingBuffer, 0);
    CHECK_RULE(check, RULE_PT_021, false, NULL, "PageTableAddress.CpuVirtual",
               "byte %u of the %u that the call was to write has changed when it had returned", i,
               watch->left_bytes);
    check_blame_current(check);
}

static void before(struct check *check, void *state, const struct check_call *call)
{
    const struct check_ledger *ledger = check_ledger(check);
    const DXGKARG_BUILDPAGINGBUFFER *arg = call->arg.build_paging_buffer;
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &arg->UpdatePageTable;
    struct bytes_watch *watch = state;
    uint32_t entry_bytes;

    if (check_configuration(check)->walk || call->outer)
        return;
    look_at_left(check, watch);
    if (call->ddi != MINIPORT_DDI_BuildPagingBuffer ||
        arg->Operation != DXGK_OPERATION_UPDATE_PAGE_TABLE || arg->MultipassOffset ||
        update->UpdateMode != DXGK_PAGETABLEUPDATE_CPU_VIRTUAL ||
        !update->PageTableAddress.CpuVirtual || !update->pPageTableEntries ||
        update->Flags.Use64KBPages || ledger->caps.gpummu.DualPteSupported ||
        (update->PageTableLevel == 1 && check_root_grows(ledger)))
        return;
    entry_bytes = entry_bytes_of(ledger, update->PageTableLevel);
    if (!entry_bytes || entry_bytes > LONGEST_ENTRY || !update->NumPageTableEntries)
        return;
    watch->at =
        (uint8_t *)update->PageTableAddress.CpuVirtual + (uint64_t)update->StartIndex * entry_bytes;
    watch->count = (uint32_t)min_u64(update->NumPageTableEntries, MOST_BYTES / entry_bytes);
    watch->bytes = watch->count * entry_bytes;
    watch->entry_bytes = entry_bytes;
    watch->is_initial = update->Flags.InitialUpdate;
    watch->has_change = !watch->is_initial && changes_validity(ledger, update, watch->count);
    for (uint32_t i = 0; watch->is_initial && i < watch->bytes; i++)
        watch->at[i] = garbage_at(i);
    memcpy(watch->before, watch->at, watch->bytes);
}

/* PT-014 */
static void check_initial(struct check *check, const struct bytes_watch *watch,
                          const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    const uint8_t *first = NULL; /* invalid entry */
    uint32_t bytes = watch->entry_bytes, kept = watch->count, other = watch->count;

    for (uint32_t i = 0; i < watch->count && kept == watch->count; i++) {
        const uint8_t *entry = watch->at + (size_t)i * bytes;

        if (memcmp(entry, watch->before + (size_t)i * bytes, bytes) == 0)
            kept = i;
        if (check_word_of(entry_of(update, i)))
            continue;
        if (first && other == watch->count && memcmp(entry, first, bytes) != 0)
            other = i;
        first = first ? first : entry;
    }
    CHECK_RULE(check, RULE_PT_014, kept == watch->count && other == watch->count, NULL,
               "PageTableAddress.CpuVirtual",
               kept < watch->count
                   ? "entry %u of %u is what the memory held before: it was not written"
                   : "entry %u of %u is invalid and not like others: bits of what the memory held "
                     "before were kept",
               kept < watch->count ? kept : other, watch->count);
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    struct bytes_watch *watch = state;

    if (check_configuration(check)->walk || call->outer)
        return;
    if (!watch->at)
        look_at_left(check, watch); /* the driver had this call for it */
    watch->left_at = NULL;
    if (!watch->at || call->status != STATUS_SUCCESS) {
        watch->at = NULL;
        return;
    }
    if (watch->is_initial)
        check_initial(check, watch, &call->arg.build_paging_buffer->UpdatePageTable);
    if (watch->has_change)
        CHECK_RULE(check, RULE_PT_021, memcmp(watch->at, watch->before, watch->bytes) != 0, NULL,
                   "PageTableAddress.CpuVirtual",
                   "entries become valid or invalid, and none of the %u bytes has changed when the "
                   "call returns",
                   watch->bytes);
    watch->left_at = watch->at;
    watch->left_bytes = watch->bytes;
    memcpy(watch->left, watch->at, watch->bytes);
    watch->at = NULL;
}

#define CALLS                                                                                      \
    CHECK_CALLS(MINIPORT_DDI_BuildPagingBuffer, MINIPORT_DDI_SubmitCommand,                        \
                MINIPORT_DDI_SubmitCommandVirtual, MINIPORT_DDI_SetRootPageTable)

const struct check_watcher check_table_bytes_watcher = {
    .name = "table bytes",
    .state_bytes = sizeof(struct bytes_watch),
    .before = before,
    .before_calls = CALLS,
    .after = after,
    .after_calls = CALLS,
};
