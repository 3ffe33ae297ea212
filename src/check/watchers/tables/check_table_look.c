/*
 * Watcher: the driver's page tables, seen in the memory that the GPU walks (PT-014, PT-016, PT-017,
 * PT-019, PT-021, PT-023, PT-026, PT-028, PT-039, PT-041, CPTE-002, CPTE-003), and its flushes
 * (TLB-002, TLB-005..007).
 *
 * Of each operation the first and the last entry and two between are remembered as samples; of one
 * that leads to a table, two of that table as well. They are compared with the tables when the
 * packet has retired, and with CPU_VIRTUAL when the call returns. A sample is given up when a later
 * operation has changed its entry, or the way to the entry, for the account is ahead of the GPU. It
 * is given up as well when its table is being written and the GPU has a part of that operation, for
 * the account is behind the GPU then. After the first operations only some are sampled, so that
 * long runs stay as fast.
 *
 * A mismatch has one cause, so it is told as one rule: the one that the way in which it differs
 * suggests.
 */
#include "check/check_watch.h"

#include "base/bits.h"
#include "base/hash.h"

#include <stdio.h>

#define MAX_SAMPLES  1024
#define MAX_FLUSHES  256
#define ALWAYS_UNTIL 2048 /* operations */
#define THEN_EVERY   16

struct sample {
    uint64_t operation;
    const struct check_process *process;
    uint64_t table; /* its number */
    unsigned level;
    bool is_64k;
    uint64_t first_va, va; /* of the table, of the entry */
    uint32_t index, start; /* of the entry, of the operation */
    uint64_t word;         /* of the entry that was asked for */
    uint64_t protection;
    bool has_protection;
    bool is_initial, is_repeat, is_copy, reads_late, is_by_cpu;
    unsigned mode;
};

/* A FLUSH_TLB that the GPU is to carry out: the rest of its range. */
struct flush {
    uint64_t operation;
    bool is_system;
    uint64_t root; /* address */
    uint64_t start, end;
    bool is_begun;
    bool was_early;       /* the GPU flushed some of the range before this entry was written: */
    struct sample behind; /* ... of an operation in front */
};

struct look_watch {
    struct sample samples[MAX_SAMPLES]; /* a ring, by operation */
    unsigned first, count;
    struct flush flushes[MAX_FLUSHES];
    unsigned flush_count;
    uint64_t seen;      /* operations */
    uint64_t retired;   /* the last operation that has */
    uint64_t submitted; /* the last operation that the GPU has */
    /* Of the operation that is being built: the first entry as it was before. */
    uint64_t old_word;
    bool is_old_known;
    /* The operation goes on in another buffer: the table that it writes (0: none), or a copy. */
    uint64_t open_table;
    bool is_copy_open;
    bool has_late_source; /* of a copy: the GPU has not written all that it copies */
};

/* ---- The tables in memory -------------------------------------------------------------------- */

static bool address_of_place(const struct check_ledger *ledger, uint64_t place, bool *out_is_system,
                             uint64_t *out_address)
{
    const struct check_segment *segment = check_find_segment(ledger, (unsigned)(place >> 48));
    uint64_t offset = (place & ((UINT64_C(1) << 48) - 1)) << PAGE_SHIFT;

    *out_is_system = place >> 48 == 0;
    *out_address = offset + (segment ? segment->base : 0);
    return place != CHECK_NOWHERE && (*out_is_system || segment);
}

static bool root_of(const struct check_ledger *ledger, const struct check_process *process,
                    uint64_t *out_place)
{
    const struct check_table *root =
        check_find_table(process, ledger->caps.level_count - 1, false, 0);

    *out_place = check_table_is_known(ledger, root) ? root->place : CHECK_NOWHERE;
    if (*out_place == CHECK_NOWHERE && process->has_root && !process->is_root_replaced)
        *out_place = process->root;
    return *out_place != CHECK_NOWHERE;
}

static uint64_t entry_bytes(const struct check_ledger *ledger, unsigned level, bool is_64k)
{
    return UINT64_C(1) << (is_64k ? PAGE_SHIFT + 4 : check_level_shift(ledger, level));
}

/* The tables that lead there are as the account has them. */
static bool is_way_settled(const struct check_ledger *ledger, const struct look_watch *watch,
                           const struct check_table *table, bool is_by_cpu)
{
    for (unsigned level = table->level + 1; level < ledger->caps.level_count; level++) {
        unsigned shift = check_level_shift(ledger, level + 1);
        uint64_t start =
            level + 1 == ledger->caps.level_count ? 0 : table->first_va >> shift << shift;
        const struct check_table *parent = check_find_table(table->process, level, false, start);

        if (!check_table_is_known(ledger, parent) ||
            (!is_by_cpu && parent->written > watch->retired))
            return false;
    }
    return true;
}

/* The entry as it is in memory. False: nobody can tell, or the walk does not come so far. */
static bool look_up(struct check *check, const struct look_watch *watch,
                    const struct sample *sample, const struct check_table *table,
                    struct check_gpu_entry *out)
{
    const struct check_config *config = check_configuration(check);
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_table *reached;
    struct check_gpu_walk walk = {0};
    bool is_system;
    uint64_t place, address;

    if (!config->walk || !is_way_settled(ledger, watch, table, sample->is_by_cpu) ||
        !check_table_is_reachable(ledger, table, &reached) ||
        !root_of(ledger, sample->process, &place) ||
        !address_of_place(ledger, place, &is_system, &address) ||
        !config->walk(config->context, is_system, address, sample->va, &walk))
        return false;
    *out = walk.entries[sample->level];
    return out->is_read && out->is_64k == sample->is_64k;
}

static bool leads_to(const struct check_ledger *ledger, const struct check_gpu_entry *entry,
                     uint64_t word)
{
    bool is_system;
    uint64_t address;

    if (!word || !entry->is_valid)
        return !word && !entry->is_valid;
    if (check_word_entry(word).Zero)
        return entry->is_zero;
    return address_of_place(ledger, CHECK_PLACE(check_word_segment(word), check_word_page(word)),
                            &is_system, &address) &&
           entry->is_system == is_system && entry->address == address;
}

static bool has_attributes(const struct check_gpu_entry *entry, uint64_t word)
{
    DXGK_PTE pte = check_word_entry(word);

    return !word || (entry->is_read_only == pte.ReadOnly && entry->is_no_execute == pte.NoExecute &&
                     entry->is_zero == pte.Zero);
}

static bool has_protection(const struct check_gpu_entry *entry, const struct sample *sample)
{
    return !sample->word || !sample->has_protection ||
           entry->protection == (sample->protection & entry->protection_mask);
}

/* Memory of the board, by an entry that may be one of several of a GPU page. */
static bool has_large_gpu_page(const struct sample *sample, const struct check_gpu_entry *found)
{
    return sample->level == 0 && sample->word && check_word_segment(sample->word) &&
           found->gpu_page_bytes > PAGE_BYTES;
}

/* An entry within a GPU page, whose first entry maps all of the page, is not looked at (PT-026). */
static bool is_mapped_from_before(const struct sample *sample, const struct check_gpu_entry *found)
{
    return sample->level == 0 && !sample->word && found->gpu_page_bytes > PAGE_BYTES &&
           sample->va % found->gpu_page_bytes && found->is_valid && !found->is_system &&
           !found->is_zero;
}

/* ---- Judging --------------------------------------------------------------------------------- */

/* Counts the rules that a look at a sample evaluates. */
static void count(struct check *check, const struct sample *sample,
                  const struct check_gpu_entry *found)
{
    const struct check_ledger *ledger = check_ledger(check);

    if (sample->is_copy) {
        check_looked_at(check, sample->reads_late ? RULE_CPTE_003 : RULE_CPTE_002);
        check_looked_at(check, RULE_CPTE_002);
        return;
    }
    check_looked_at(check, sample->is_initial                                    ? RULE_PT_014
                           : sample->is_repeat && sample->index != sample->start ? RULE_PT_016
                           : sample->level == 1 && ledger->caps.gpummu.DualPteSupported
                               ? RULE_PT_041
                               : RULE_PT_017);
    check_looked_at(check, sample->is_by_cpu ? RULE_PT_021 : RULE_PT_019);
    if (sample->has_protection && sample->word && found->protection_mask)
        check_looked_at(check, RULE_PT_028);
    if (sample->is_64k)
        check_looked_at(check, RULE_PT_039);
    if (has_large_gpu_page(sample, found))
        check_looked_at(check, RULE_PT_026);
}

/* The entry at an index of the sample's table, as it is in memory. */
static bool look_beside(struct check *check, const struct look_watch *watch,
                        const struct sample *sample, const struct check_table *table,
                        uint32_t index, struct check_gpu_entry *out)
{
    struct sample beside = *sample;

    beside.va =
        table->first_va + index * entry_bytes(check_ledger(check), table->level, table->is_64k);
    return index < check_level_entries(check_ledger(check), table->level, table->is_64k) &&
           look_up(check, watch, &beside, table, out);
}

/* Where the first entry should be there is none, and it is not in the place behind either. */
static bool is_nothing_written(struct check *check, const struct look_watch *watch,
                               const struct sample *sample, const struct check_table *table)
{
    const struct check_ledger *ledger = check_ledger(check);
    uint64_t word = check_runs_word(&table->runs, sample->start);
    struct check_gpu_entry entry;

    return word && look_beside(check, watch, sample, table, sample->start, &entry) &&
           !entry.is_valid &&
           !(look_beside(check, watch, sample, table, sample->start + 1, &entry) &&
             leads_to(ledger, &entry, word));
}

static enum rule_id diagnose(struct check *check, const struct look_watch *watch,
                             const struct sample *sample, const struct check_table *table,
                             const struct check_gpu_entry *found)
{
    const struct check_ledger *ledger = check_ledger(check);

    if (sample->is_copy)
        return sample->reads_late ? RULE_CPTE_003 : RULE_CPTE_002;
    if (leads_to(ledger, found, sample->word) && has_attributes(found, sample->word))
        return RULE_PT_028;
    if (sample->is_initial)
        return RULE_PT_014;
    if (sample->is_repeat && sample->index != sample->start)
        return RULE_PT_016;
    if (sample->is_64k)
        return RULE_PT_039;
    if (sample->level == 1 && ledger->caps.gpummu.DualPteSupported)
        return RULE_PT_041;
    if (!found->is_valid && is_nothing_written(check, watch, sample, table))
        return sample->is_by_cpu ? RULE_PT_021 : RULE_PT_019;
    return has_large_gpu_page(sample, found) ? RULE_PT_026 : RULE_PT_017;
}

static const char *describe(const struct check_gpu_entry *entry, char *text, size_t size)
{
    if (!entry->is_valid)
        snprintf(text, size, "is invalid");
    else
        snprintf(text, size, "leads to %s 0x%llx%s%s%s, protection 0x%llx",
                 entry->is_system ? "system memory" : "GPU address",
                 (unsigned long long)entry->address, entry->is_zero ? ", zero" : "",
                 entry->is_read_only ? ", read-only" : "",
                 entry->is_no_execute ? ", no-execute" : "", (unsigned long long)entry->protection);
    return text;
}

static void tell(struct check *check, const struct sample *sample, enum rule_id rule,
                 const struct check_gpu_entry *found)
{
    const struct check_ledger *ledger = check_ledger(check);
    struct check_gpu_entry wanted = {0};
    DXGK_PTE pte = check_word_entry(sample->word);
    char is[160], was_asked[160];

    if (sample->word) {
        wanted.is_valid = true;
        address_of_place(
            ledger, CHECK_PLACE(check_word_segment(sample->word), check_word_page(sample->word)),
            &wanted.is_system, &wanted.address);
        wanted.is_zero = pte.Zero;
        wanted.is_read_only = pte.ReadOnly;
        wanted.is_no_execute = pte.NoExecute;
        wanted.protection = sample->protection & found->protection_mask;
    }
    check_ledger(check)->tables.has_wrong_entry = true;
    check_blame_operation(check, sample->operation);
    check_report(
        check, rule, &sample->process->object,
        sample->is_copy  ? "pRanges"
        : sample->is_64k ? "pPageTableEntries64KB"
                         : "pPageTableEntries",
        "entry %u of level %u, VA 0x%llx, %s after operation %llu; the entry that was asked "
        "for %s",
        sample->index, sample->level, (unsigned long long)sample->va,
        describe(found, is, sizeof is), (unsigned long long)sample->operation,
        describe(&wanted, was_asked, sizeof was_asked));
    check_blame_current(check);
}

static const struct check_table *table_of_sample(const struct check_ledger *ledger,
                                                 const struct look_watch *watch,
                                                 const struct sample *sample)
{
    const struct check_table *table =
        check_find_table(sample->process, sample->level, sample->is_64k, sample->first_va);

    if (!check_table_is_known(ledger, table) || table->number != sample->table ||
        watch->is_copy_open || watch->open_table == table->number ||
        (!sample->is_by_cpu && table->rewritten > sample->operation) ||
        check_runs_word(&table->runs, sample->index) != sample->word)
        return NULL;
    return table;
}

static bool is_right(const struct check_ledger *ledger, const struct sample *sample,
                     const struct check_gpu_entry *found)
{
    return leads_to(ledger, found, sample->word) && has_attributes(found, sample->word) &&
           has_protection(found, sample);
}

static void judge(struct check *check, const struct look_watch *watch, const struct sample *sample)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_table *table = table_of_sample(ledger, watch, sample);
    struct check_gpu_entry found;

    if (!table || !look_up(check, watch, sample, table, &found) ||
        is_mapped_from_before(sample, &found))
        return;
    count(check, sample, &found);
    if (!is_right(ledger, sample, &found)) {
        tell(check, sample, diagnose(check, watch, sample, table, &found), &found);
        return;
    }
}

/* ---- Taking samples -------------------------------------------------------------------------- */

static void add_sample(struct check *check, struct look_watch *watch, const struct sample *sample)
{
    if (sample->is_by_cpu) {
        judge(check, watch, sample);
        return;
    }
    if (watch->count == MAX_SAMPLES) {
        watch->first = (watch->first + 1) % MAX_SAMPLES;
        watch->count--;
    }
    watch->samples[(watch->first + watch->count++) % MAX_SAMPLES] = *sample;
}

static void sample_entry(struct check *check, struct look_watch *watch, struct sample sample,
                         const struct check_table *table, uint32_t index)
{
    const struct check_ledger *ledger = check_ledger(check);

    sample.process = table->process;
    sample.table = table->number;
    sample.level = table->level;
    sample.is_64k = table->is_64k;
    sample.first_va = table->first_va;
    sample.index = index;
    sample.va = table->first_va + index * entry_bytes(ledger, table->level, table->is_64k);
    sample.word = check_runs_word(&table->runs, index);
    add_sample(check, watch, &sample);
}

/* Entries first .. first + count - 1 of a table: both ends and two between. */
static void sample_range(struct check *check, struct look_watch *watch, const struct sample *sample,
                         const struct check_table *table, uint32_t first, uint32_t count)
{
    uint64_t random = hash_pair(sample->operation, table->number);

    sample_entry(check, watch, *sample, table, first);
    if (count > 1)
        sample_entry(check, watch, *sample, table, first + count - 1);
    for (unsigned i = 0; i < 2 && count > 2; i++, random = hash_u64(random))
        sample_entry(check, watch, *sample, table, first + 1 + (uint32_t)(random % (count - 2)));
}

/* A table that is linked now: two entries as its initial update wrote them. */
static void sample_child(struct check *check, struct look_watch *watch, struct sample sample,
                         const struct check_table *table, uint64_t va)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_table *child = check_find_table(table->process, table->level - 1, false, va);
    uint32_t entries;

    if (!check_table_is_known(ledger, child))
        return;
    entries = check_level_entries(ledger, child->level, false);
    sample.is_initial = true;
    sample.is_repeat = false;
    sample.has_protection = false;
    for (unsigned i = 0; i < 2 && entries; i++) {
        uint32_t index = (uint32_t)(hash_pair(child->number, sample.operation + i) % entries);

        if (!check_runs_word(&child->runs, index))
            sample_entry(check, watch, sample, child, index);
    }
}

static bool is_sampled(struct look_watch *watch, uint64_t operation)
{
    return watch->seen++ < ALWAYS_UNTIL || hash_u64(operation) % THEN_EVERY == 0;
}

/* PT-023: nothing is there before the GPU has executed it. */
static void check_too_early(struct check *check, const struct look_watch *watch,
                            const struct sample *like, const struct check_table *table,
                            uint32_t index)
{
    const struct check_ledger *ledger = check_ledger(check);
    struct sample sample = *like;
    struct check_gpu_entry found;

    sample.process = table->process;
    sample.level = table->level;
    sample.is_64k = table->is_64k;
    sample.index = index;
    sample.va = table->first_va + index * entry_bytes(ledger, table->level, table->is_64k);
    sample.word = check_runs_word(&table->runs, index);
    if (!watch->is_old_known || watch->old_word == sample.word ||
        !look_up(check, watch, &sample, table, &found))
        return;
    CHECK_RULE(check, RULE_PT_023,
               !leads_to(ledger, &found, sample.word) || leads_to(ledger, &found, watch->old_word),
               &sample.process->object, "pDmaBuffer",
               "entry %u of level %u, VA 0x%llx has changed in memory when the call returns: "
               "commands in the buffer are to change it, and neither the CPU nor what was built "
               "for another entry",
               index, sample.level, (unsigned long long)sample.va);
}

static void after_update(struct check *check, struct look_watch *watch,
                         const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_table *table = check_table_of_update(ledger, update);
    uint64_t va = update->FirstPteVirtualAddress;
    struct sample sample = {
        .operation = ledger->operation,
        .start = update->StartIndex,
        .protection = update->DriverProtection,
        .has_protection = update->PageTableLevel == 0,
        .is_initial = update->Flags.InitialUpdate,
        .is_repeat = update->Flags.Repeat,
        .is_by_cpu = update->UpdateMode == DXGK_PAGETABLEUPDATE_CPU_VIRTUAL,
        .mode = (unsigned)update->UpdateMode,
    };

    if (!check_table_is_known(ledger, table) || !table->is_current ||
        !update->NumPageTableEntries || !update->pPageTableEntries)
        return;
    sample_range(check, watch, &sample, table, update->StartIndex, update->NumPageTableEntries);
    if (!sample.is_by_cpu)
        check_too_early(check, watch, &sample, table, update->StartIndex);
    if (table->level && update->NumPageTableEntries == 1 && update->pPageTableEntries[0].Valid &&
        !update->pPageTableEntries[0].LargePage)
        sample_child(check, watch, sample, table, va);
}

static uint32_t leaf_entry_bytes(const struct check_ledger *ledger)
{
    const DXGK_PAGE_TABLE_LEVEL_DESC *leaf = &ledger->caps.levels[0];

    return leaf->PageTableSizeInBytes >> min_u64(leaf->PageTableIndexBitCount, 31);
}

static void after_copy(struct check *check, struct look_watch *watch,
                       const DXGK_BUILDPAGINGBUFFER_COPYPAGETABLEENTRIES *copy)
{
    const struct check_ledger *ledger = check_ledger(check);
    uint32_t bytes = leaf_entry_bytes(ledger);

    for (UINT i = 0; i < copy->NumRanges; i++) {
        const DXGK_BUILDPAGINGBUFFER_COPY_RANGE *range = &copy->pRanges[i];
        uint32_t from, to;
        const struct check_table *source = check_table_at_address(
            ledger, range->SrcPageTableAddress + (uint64_t)range->SrcStartPteIndex * bytes, &from);
        const struct check_table *destination = check_table_at_address(
            ledger, range->DstPageTableAddress + (uint64_t)range->DstStartPteIndex * bytes, &to);
        struct sample sample = {
            .operation = ledger->operation,
            .start = to,
            .is_copy = true,
            .reads_late = watch->has_late_source,
            .mode = DXGK_PAGETABLEUPDATE_GPU_VIRTUAL,
        };

        if (check_table_is_known(ledger, source) && check_table_is_known(ledger, destination) &&
            range->NumPageTableEntries &&
            to + range->NumPageTableEntries <= check_level_entries(ledger, 0, false))
            sample_range(check, watch, &sample, destination, to, range->NumPageTableEntries);
    }
}

/* ---- Flushes --------------------------------------------------------------------------------- */

static void after_flush(struct check *check, struct look_watch *watch,
                        const DXGK_BUILDPAGINGBUFFER_FLUSHTLB *arg)
{
    const struct check_ledger *ledger = check_ledger(check);
    bool is_all = !arg->StartVirtualAddress && !arg->EndVirtualAddress;
    struct flush flush = {
        .operation = ledger->operation,
        .start = arg->StartVirtualAddress,
        .end = is_all ? UINT64_MAX : arg->EndVirtualAddress,
    };

    if (watch->flush_count == MAX_FLUSHES ||
        !address_of_place(ledger,
                          CHECK_PLACE(arg->RootPageTableAddress.SegmentId,
                                      arg->RootPageTableAddress.SegmentOffset >> PAGE_SHIFT),
                          &flush.is_system, &flush.root))
        return;
    watch->flushes[watch->flush_count++] = flush;
}

/* The first entry that is not written yet, of what the GPU has; NULL: all of them are. */
static const struct sample *find_unwritten(struct check *check, const struct look_watch *watch)
{
    const struct check_ledger *ledger = check_ledger(check);

    for (unsigned i = 0; i < watch->count; i++) {
        const struct sample *sample = &watch->samples[(watch->first + i) % MAX_SAMPLES];
        const struct check_table *table;
        struct check_gpu_entry found;

        if (sample->operation > watch->submitted)
            break;
        table = table_of_sample(ledger, watch, sample);
        if (!table || !look_up(check, watch, sample, table, &found))
            continue;
        check_looked_at(check, RULE_TLB_006);
        if (!is_right(ledger, sample, &found))
            return sample;
    }
    return NULL;
}

/*
 * The GPU has flushed. It may do more of that than it was asked for, at any time, and once for
 * several operations: this one serves those in front of which everything is written by now.
 */
static void on_flushed(struct check *check, struct look_watch *watch,
                       const struct check_gpu_event *event)
{
    uint64_t end = event->end ? event->end : UINT64_MAX;
    const struct sample *unwritten = NULL;
    bool has_looked = false;

    for (unsigned i = 0; i < watch->flush_count; i++) {
        struct flush *flush = &watch->flushes[i];

        if (flush->operation > watch->submitted)
            break;
        if ((!event->is_everywhere &&
             (flush->is_system != event->is_system || flush->root != event->address)) ||
            event->start >= flush->end || end <= flush->start)
            continue;
        if (!has_looked)
            unwritten = find_unwritten(check, watch);
        has_looked = flush->is_begun = true;
        if (unwritten && unwritten->operation < flush->operation) {
            flush->was_early = true;
            flush->behind = *unwritten;
        } else if (event->start <= flush->start) {
            flush->start = min_u64(end, flush->end);
        } else if (end >= flush->end) {
            flush->end = event->start;
        }
    }
}

/* The packet has retired, and the GPU flushed too early or too little, or not at all. */
static void tell_flush(struct check *check, const struct look_watch *watch,
                       const struct flush *flush)
{
    const struct check_table *table =
        flush->was_early ? table_of_sample(check_ledger(check), watch, &flush->behind) : NULL;
    struct check_gpu_entry found;

    check_blame_operation(check, flush->operation);
    if (!flush->was_early)
        check_report(check, flush->is_begun ? RULE_TLB_007 : RULE_TLB_002, NULL, "",
                     "operation %llu has retired; the GPU was %s VA 0x%llx to 0x%llx of root "
                     "0x%llx",
                     (unsigned long long)flush->operation,
                     flush->is_begun ? "told to flush less, and not" : "never told to flush",
                     (unsigned long long)flush->start, (unsigned long long)flush->end,
                     (unsigned long long)flush->root);
    /* An entry that is wrong to this day was not late: it is told of by itself. */
    else if (table && look_up(check, watch, &flush->behind, table, &found) &&
             is_right(check_ledger(check), &flush->behind, &found))
        check_report(check, RULE_TLB_006, &flush->behind.process->object, "",
                     "was carried out before entry %u of level %u, VA 0x%llx was written, which "
                     "operation %llu did in front of it",
                     flush->behind.index, flush->behind.level, (unsigned long long)flush->behind.va,
                     (unsigned long long)flush->behind.operation);
    check_blame_current(check);
}

static void retire_flushes(struct check *check, struct look_watch *watch)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < watch->flush_count; i++) {
        const struct flush *flush = &watch->flushes[i];

        if (flush->operation > watch->retired) {
            watch->flushes[kept++] = *flush;
            continue;
        }
        check_looked_at(check, RULE_TLB_002);
        check_looked_at(check, RULE_TLB_007);
        if (flush->start < flush->end)
            tell_flush(check, watch, flush);
    }
    watch->flush_count = kept;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void forget(struct look_watch *watch)
{
    watch->count = 0;
    watch->flush_count = 0;
}

static void forget_process(struct look_watch *watch, const struct check_process *process)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < watch->count; i++) {
        struct sample sample = watch->samples[(watch->first + i) % MAX_SAMPLES];

        if (sample.process != process)
            watch->samples[(watch->first + kept++) % MAX_SAMPLES] = sample;
    }
    watch->count = kept;
    for (unsigned i = 0; i < watch->flush_count; i++) {
        struct flush *flush = &watch->flushes[i];

        if (flush->was_early && flush->behind.process == process)
            flush->start = flush->end; /* nothing is left to compare */
    }
}

static bool has_late_source(const struct check_ledger *ledger, const struct look_watch *watch,
                            const DXGK_BUILDPAGINGBUFFER_COPYPAGETABLEENTRIES *copy)
{
    for (UINT i = 0; i < copy->NumRanges; i++) {
        uint32_t index;
        const struct check_table *source = check_table_at_address(
            ledger,
            copy->pRanges[i].SrcPageTableAddress +
                (uint64_t)copy->pRanges[i].SrcStartPteIndex * leaf_entry_bytes(ledger),
            &index);
        if (source && source->written > watch->retired)
            return true;
    }
    return false;
}

static void before(struct check *check, void *state, const struct check_call *call)
{
    struct look_watch *watch = state;
    const struct check_ledger *ledger = check_ledger(check);
    const DXGKARG_BUILDPAGINGBUFFER *arg = call->before.build_paging_buffer;
    const struct check_table *table;

    if (check_ledger(check)->tables.is_off)
        return;
    if ((call->ddi == MINIPORT_DDI_SubmitCommand ||
         call->ddi == MINIPORT_DDI_SubmitCommandVirtual) &&
        call->packet && call->packet->is_paging && !list_is_empty(&call->packet->built))
        watch->submitted = max_u64(watch->submitted, check_packet_end(ledger, call->packet));
    if (call->ddi != MINIPORT_DDI_BuildPagingBuffer)
        return;
    if (arg->Operation == DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES)
        watch->has_late_source = has_late_source(ledger, watch, &arg->CopyPageTableEntries);
    if (arg->Operation != DXGK_OPERATION_UPDATE_PAGE_TABLE)
        return;
    table = check_table_of_update(ledger, &arg->UpdatePageTable);
    watch->is_old_known = check_table_is_known(ledger, table) &&
                          !arg->UpdatePageTable.Flags.InitialUpdate && !ledger->is_operation_open &&
                          table->written <= watch->retired;
    if (watch->is_old_known)
        watch->old_word = check_runs_word(&table->runs, arg->UpdatePageTable.StartIndex);
}

/*
 * An update in parts is entered when all of it is built; the GPU may be faster. Tables that the CPU
 * writes between two parts, without a buffer, do not end it.
 */
static void note_open(struct look_watch *watch, const struct check_ledger *ledger,
                      const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct check_table *table = NULL;

    if (!arg->pDmaBuffer)
        return;
    if (ledger->is_operation_open && arg->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE)
        table = check_table_of_update(ledger, &arg->UpdatePageTable);
    watch->open_table = table ? table->number : 0;
    watch->is_copy_open =
        ledger->is_operation_open && arg->Operation == DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES;
}

static void after_build(struct check *check, struct look_watch *watch,
                        const struct check_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *arg = call->before.build_paging_buffer;

    note_open(watch, check_ledger(check), arg);
    if (!NT_SUCCESS(call->status) || !check_ledger(check)->caps.level_count ||
        !check_configuration(check)->walk)
        return;
    switch ((unsigned)arg->Operation) {
    case DXGK_OPERATION_UPDATE_PAGE_TABLE:
        if (is_sampled(watch, check_ledger(check)->operation))
            after_update(check, watch, &arg->UpdatePageTable);
        break;
    case DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES:
        after_copy(check, watch, &arg->CopyPageTableEntries);
        break;
    case DXGK_OPERATION_FLUSH_TLB:
        after_flush(check, watch, &arg->FlushTlb);
        break;
    default:
        break;
    }
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    struct look_watch *watch = state;

    if (check_ledger(check)->tables.is_off)
        return;
    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_BuildPagingBuffer:
        after_build(check, watch, call);
        break;
    case MINIPORT_DDI_DestroyProcess:
        forget_process(watch, check_find_process(check_ledger(check), call->object));
        break;
    case MINIPORT_DDI_ResetFromTimeout:
    case MINIPORT_DDI_ResetEngine:
    case MINIPORT_DDI_SetPowerState:
    case MINIPORT_DDI_StopDevice:
        forget(watch);
        break;
    default:
        break;
    }
}

static void retired(struct check *check, void *state, const struct check_packet *packet)
{
    struct look_watch *watch = state;

    if (check_ledger(check)->tables.is_off)
        return;
    if (!packet->is_paging || packet->state != CHECK_COMPLETED || list_is_empty(&packet->built))
        return;
    watch->retired = max_u64(watch->retired, check_packet_last(check_ledger(check), packet));
    while (watch->count && watch->samples[watch->first].operation <= watch->retired) {
        judge(check, watch, &watch->samples[watch->first]);
        watch->first = (watch->first + 1) % MAX_SAMPLES;
        watch->count--;
    }
    if (check_ledger(check)->has_gpu || check_configuration(check)->hears_flushes)
        retire_flushes(check, watch);
}

/* The entry says an address that the GPU may read and write: no fault comes of it. */
static bool is_plain_entry(const struct check_ledger *ledger, const struct check_gpu_entry *entry)
{
    if (!entry->is_valid || entry->is_zero || entry->is_read_only || entry->is_no_execute)
        return false;
    if (entry->is_system)
        return true;
    for (unsigned i = 0; i < ledger->segment_count; i++) {
        const struct check_segment *segment = &ledger->segments[i];

        if (!segment->flags.Aperture && entry->address >= segment->base &&
            entry->address - segment->base < segment->size)
            return true;
    }
    return false;
}

/* TLB-005: who keeps no invalid translations does not fault where memory has a valid one. */
static void check_fault(struct check *check, const struct check_gpu_event *event)
{
    const struct check_config *config = check_configuration(check);
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_context *context =
        event->packet ? check_find_context(ledger, event->packet->context) : NULL;
    const struct check_process *process =
        context && context->device ? context->device->process : NULL;
    struct check_gpu_walk walk = {0};
    bool is_system;
    uint64_t place, address;

    if (!ledger->caps.gpummu.InvalidTlbEntriesNotCached || event->is_malformed_packet || !process ||
        !config->walk || !root_of(ledger, process, &place) ||
        !address_of_place(ledger, place, &is_system, &address) ||
        !config->walk(config->context, is_system, address, event->address, &walk))
        return;
    CHECK_RULE(check, RULE_TLB_005,
               !walk.entries[0].is_read || !is_plain_entry(ledger, &walk.entries[0]),
               &process->object, "",
               "the GPU faulted at VA 0x%llx, for which the page tables of the process have GPU "
               "address 0x%llx: an invalid translation was kept (InvalidTlbEntriesNotCached), or "
               "the GPU walks another root than 0x%llx",
               (unsigned long long)event->address, (unsigned long long)walk.entries[0].address,
               (unsigned long long)address);
}

/*
 * A fault, or commands that are none: the entry of their page may be another than was asked for.
 * Only where all that was written to its table has been carried out.
 */
static void look_at_fault(struct check *check, const struct look_watch *watch,
                          const struct check_gpu_event *event)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_context *context =
        event->packet ? check_find_context(ledger, event->packet->context) : NULL;
    uint64_t va =
        event->is_malformed_packet && event->packet ? event->packet->gpu_address : event->address;
    unsigned shift = ledger->caps.level_count ? check_level_shift(ledger, 1) : 0;
    struct sample sample = {.va = va >> PAGE_SHIFT << PAGE_SHIFT};
    const struct check_table *table;
    struct check_gpu_entry found;

    if (!context || !context->device || !context->device->process || !shift)
        return;
    sample.process = context->device->process;
    sample.first_va = va >> shift << shift;
    table = check_find_table(sample.process, 0, false, sample.first_va);
    if (!check_table_is_known(ledger, table) || watch->is_copy_open ||
        watch->open_table == table->number ||
        (!table->is_by_cpu && table->written > watch->retired))
        return;
    sample.operation = table->written;
    sample.table = table->number;
    sample.index = (uint32_t)((va - sample.first_va) >> PAGE_SHIFT);
    sample.start = sample.index;
    sample.word = check_runs_word(&table->runs, sample.index);
    sample.is_by_cpu = table->is_by_cpu;
    if (!sample.word || !look_up(check, watch, &sample, table, &found))
        return;
    check_looked_at(check, RULE_PT_017);
    if (!leads_to(ledger, &found, sample.word))
        tell(check, &sample, has_large_gpu_page(&sample, &found) ? RULE_PT_026 : RULE_PT_017,
             &found);
}

static void on_gpu(struct check *check, void *state, const struct check_gpu_event *event)
{
    if (event->kind == CHECK_GPU_FLUSHED) {
        on_flushed(check, state, event);
    } else if (event->kind == CHECK_GPU_FAULT) {
        look_at_fault(check, state, event);
        check_fault(check, event);
        forget(state); /* what comes of the packet is not known */
    }
}

const struct check_watcher check_table_look_watcher = {
    .name = "tables in memory",
    .state_bytes = sizeof(struct look_watch),
    .before = before,
    .before_calls = CHECK_CALLS(MINIPORT_DDI_SubmitCommand, MINIPORT_DDI_SubmitCommandVirtual,
                                MINIPORT_DDI_BuildPagingBuffer),
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_BuildPagingBuffer, MINIPORT_DDI_DestroyProcess,
                               MINIPORT_DDI_ResetFromTimeout, MINIPORT_DDI_ResetEngine,
                               MINIPORT_DDI_SetPowerState, MINIPORT_DDI_StopDevice),
    .retired = retired,
    .gpu = on_gpu,
};
