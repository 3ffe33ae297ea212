#include "check/watchers/tables/check_table_memory.h"

#include "base/bits.h"
#include "check/report/check_blame.h"

#include <stdio.h>

/* ---- The tables in memory -------------------------------------------------------------------- */

bool check_place_address(const struct check_ledger *ledger, uint64_t place, bool *out_is_system,
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

bool check_walk_tables(struct check *check, const struct check_process *process, uint64_t va,
                       struct check_gpu_walk *out)
{
    const struct check_config *config = check_configuration(check);
    const struct check_ledger *ledger = check_ledger(check);
    bool is_system;
    uint64_t place, address;

    return config->walk && root_of(ledger, process, &place) &&
           check_place_address(ledger, place, &is_system, &address) &&
           config->walk(config->context, is_system, address, va, out);
}

/* The tables that lead there are as the account has them. */
static bool is_way_settled(const struct check_ledger *ledger, uint64_t done,
                           const struct check_table *table, bool is_by_cpu)
{
    for (unsigned level = table->level + 1; level < ledger->caps.level_count; level++) {
        const struct check_table *parent = check_find_table(
            table->process, level, false, check_table_start(ledger, level, table->first_va));

        if (!check_table_is_known(ledger, parent) || (!is_by_cpu && parent->written > done))
            return false;
    }
    return true;
}

/* The entry as it is in memory. False: nobody can tell, or the walk does not come so far. */
bool check_sample_look(struct check *check, uint64_t done, const struct check_sample *sample,
                       const struct check_table *table, struct check_gpu_entry *out)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_table *reached;
    struct check_gpu_walk walk = {0};

    if (!is_way_settled(ledger, done, table, sample->is_by_cpu) ||
        !check_table_is_reachable(ledger, table, &reached) ||
        !check_walk_tables(check, sample->process, sample->va, &walk))
        return false;
    *out = walk.entries[sample->level];
    return out->is_read && out->is_64k == sample->is_64k;
}

bool check_entry_leads(const struct check_ledger *ledger, const struct check_gpu_entry *entry,
                       uint64_t word)
{
    bool is_system;
    uint64_t address;

    if (!word || !entry->is_valid)
        return !word && !entry->is_valid;
    if (check_word_entry(word).Zero)
        return entry->is_zero;
    return check_place_address(ledger, CHECK_PLACE(check_word_segment(word), check_word_page(word)),
                               &is_system, &address) &&
           entry->is_system == is_system && entry->address == address;
}

static bool has_attributes(const struct check_gpu_entry *entry, uint64_t word)
{
    DXGK_PTE pte = check_word_entry(word);

    return !word || (entry->is_read_only == pte.ReadOnly && entry->is_no_execute == pte.NoExecute &&
                     entry->is_zero == pte.Zero && entry->is_large == pte.LargePage);
}

static bool has_protection(const struct check_gpu_entry *entry, const struct check_sample *sample)
{
    return !sample->word || !sample->has_protection ||
           entry->protection == (sample->protection & entry->protection_mask);
}

/* Where one kind of leaf table is behind an entry, it says which. */
static bool leads_to_64k(const struct check_ledger *ledger, const struct check_sample *sample)
{
    return sample->level == 1 && !ledger->caps.gpummu.DualPteSupported &&
           check_word_entry(sample->word).PageTablePageSize == DXGK_PTE_PAGE_TABLE_PAGE_64KB;
}

static bool is_right_but_for_protection(const struct check_ledger *ledger,
                                        const struct check_gpu_entry *found,
                                        const struct check_sample *sample)
{
    return check_entry_leads(ledger, found, sample->word) && has_attributes(found, sample->word) &&
           (!found->is_valid || found->has_64k_table == leads_to_64k(ledger, sample));
}

bool check_sample_is_right(const struct check_ledger *ledger, const struct check_sample *sample,
                           const struct check_gpu_entry *found)
{
    return is_right_but_for_protection(ledger, found, sample) && has_protection(found, sample);
}

/* Memory of the board, by an entry that may be one of several of a GPU page. */
static bool has_large_gpu_page(const struct check_sample *sample,
                               const struct check_gpu_entry *found)
{
    return sample->level == 0 && sample->word && check_word_segment(sample->word) &&
           found->gpu_page_bytes > PAGE_BYTES;
}

/* An entry within a GPU page, whose first entry maps all of the page, is not looked at (PT-026). */
bool check_sample_is_hidden(const struct check_sample *sample, const struct check_gpu_entry *found)
{
    return sample->level == 0 && !sample->word && found->gpu_page_bytes > PAGE_BYTES &&
           sample->va % found->gpu_page_bytes && found->is_valid && !found->is_system &&
           !found->is_zero;
}

/* ---- Judging --------------------------------------------------------------------------------- */

/* Counts the rules that a look at a sample evaluates. */
void check_sample_count(struct check *check, const struct check_sample *sample,
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
static bool look_beside(struct check *check, uint64_t done, const struct check_sample *sample,
                        const struct check_table *table, uint32_t index,
                        struct check_gpu_entry *out)
{
    struct check_sample beside = *sample;

    beside.va = table->first_va +
                index * check_level_bytes(check_ledger(check), table->level, table->is_64k);
    return index < check_level_entries(check_ledger(check), table->level, table->is_64k) &&
           check_sample_look(check, done, &beside, table, out);
}

/* Where the first entry should be there is none, and it is not in the place behind either. */
static bool is_nothing_written(struct check *check, uint64_t done,
                               const struct check_sample *sample, const struct check_table *table)
{
    const struct check_ledger *ledger = check_ledger(check);
    uint64_t word = check_runs_word(&table->runs, sample->start);
    struct check_gpu_entry entry;

    return word && look_beside(check, done, sample, table, sample->start, &entry) &&
           !entry.is_valid &&
           !(look_beside(check, done, sample, table, sample->start + 1, &entry) &&
             check_entry_leads(ledger, &entry, word));
}

static enum rule_id diagnose(struct check *check, uint64_t done, const struct check_sample *sample,
                             const struct check_table *table, const struct check_gpu_entry *found)
{
    const struct check_ledger *ledger = check_ledger(check);

    if (sample->is_copy)
        return sample->reads_late ? RULE_CPTE_003 : RULE_CPTE_002;
    if (is_right_but_for_protection(ledger, found, sample))
        return RULE_PT_028;
    if (sample->is_initial)
        return RULE_PT_014;
    if (sample->is_repeat && sample->index != sample->start)
        return RULE_PT_016;
    if (sample->is_64k)
        return RULE_PT_039;
    if (sample->level == 1 && ledger->caps.gpummu.DualPteSupported)
        return RULE_PT_041;
    if (!found->is_valid && is_nothing_written(check, done, sample, table))
        return sample->is_by_cpu ? RULE_PT_021 : RULE_PT_019;
    return has_large_gpu_page(sample, found) ? RULE_PT_026 : RULE_PT_017;
}

static const char *describe(const struct check_gpu_entry *entry, char *text, size_t size)
{
    if (!entry->is_valid)
        snprintf(text, size, "is invalid");
    else
        snprintf(text, size, "leads to %s 0x%llx%s%s%s%s%s, protection 0x%llx",
                 entry->is_system ? "system memory" : "GPU address",
                 (unsigned long long)entry->address, entry->is_large ? ", a large page" : "",
                 entry->has_64k_table ? ", a table of 64 KiB pages" : "",
                 entry->is_zero ? ", zero" : "", entry->is_read_only ? ", read-only" : "",
                 entry->is_no_execute ? ", no-execute" : "", (unsigned long long)entry->protection);
    return text;
}

/* The entry that was asked for. */
static struct check_gpu_entry asked_entry(const struct check_ledger *ledger,
                                          const struct check_sample *sample,
                                          const struct check_gpu_entry *found)
{
    const DXGK_PTE pte = check_word_entry(sample->word);
    struct check_gpu_entry asked = {0};

    if (!sample->word)
        return asked;
    asked.is_valid = true;
    check_place_address(
        ledger, CHECK_PLACE(check_word_segment(sample->word), check_word_page(sample->word)),
        &asked.is_system, &asked.address);
    asked.is_zero = pte.Zero;
    asked.is_read_only = pte.ReadOnly;
    asked.is_no_execute = pte.NoExecute;
    asked.is_large = pte.LargePage;
    asked.has_64k_table = leads_to_64k(ledger, sample);
    asked.protection = sample->protection & found->protection_mask;
    return asked;
}

/*
 * A later operation whose commands were the last to write there, and which is not asked for that
 * entry; 0: none is known.
 */
static uint64_t find_trespasser(struct check *check, const struct check_sample *sample,
                                const struct check_gpu_entry *found)
{
    const struct check_tables *tables = &check_ledger(check)->tables;
    const uint64_t writer = found->is_placed ? check_tables_find_write(tables, found->place) : 0;

    return writer > sample->operation && !sample->is_copy && check_find_asked(check, writer)
               ? writer
               : 0;
}

void check_sample_tell_trespass(struct check *check, uint64_t writer,
                                const struct check_sample *sample,
                                const struct check_gpu_entry *found)
{
    const enum rule_id rule = check_rule_of_entries(check, writer);
    struct check_ledger *ledger = check_ledger(check);
    const struct check_gpu_entry asked = asked_entry(ledger, sample, found);
    char is[200], was_asked[200];

    ledger->tables.has_wrong_entry = true;
    check_blame_operation(check, writer);
    check_report(check, rule, &sample->process->object, "NumPageTableEntries",
                 "entry %u of level %u, VA 0x%llx, which operation %llu is not about, %s after it; "
                 "the entry that was asked for before %s",
                 sample->index, sample->level, (unsigned long long)sample->va,
                 (unsigned long long)writer, describe(found, is, sizeof is),
                 describe(&asked, was_asked, sizeof was_asked));
    check_blame_current(check);
}

void check_sample_tell(struct check *check, uint64_t done, const struct check_sample *sample,
                       const struct check_table *table, const struct check_gpu_entry *found)
{
    struct check_ledger *ledger = check_ledger(check);
    const struct check_gpu_entry asked = asked_entry(ledger, sample, found);
    const uint64_t trespasser = find_trespasser(check, sample, found);
    char is[200], was_asked[200];

    if (trespasser) {
        check_sample_tell_trespass(check, trespasser, sample, found);
        return;
    }
    ledger->tables.has_wrong_entry = true;
    check_blame_operation(check, sample->operation);
    check_report(check, diagnose(check, done, sample, table, found), &sample->process->object,
                 sample->is_copy ? "pRanges" : "pPageTableEntries",
                 "entry %u of level %u, VA 0x%llx, %s after operation %llu; the entry that was "
                 "asked for %s",
                 sample->index, sample->level, (unsigned long long)sample->va,
                 describe(found, is, sizeof is), (unsigned long long)sample->operation,
                 describe(&asked, was_asked, sizeof was_asked));
    check_blame_current(check);
}

/* ---- The way to an address ------------------------------------------------------------------- */

/* An operation goes on in another buffer, so that a part of it may have been carried out. */
static bool may_be_under_way(struct check *check, const struct check_table *table, uint32_t index)
{
    const struct check_ledger *ledger = check_ledger(check);
    const DXGKARG_BUILDPAGINGBUFFER *arg =
        ledger->is_operation_open ? check_find_asked(check, ledger->operation) : NULL;

    if (!arg || arg->Operation == DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES)
        return arg && !table->level;
    return arg->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE &&
           index - arg->UpdatePageTable.StartIndex < arg->UpdatePageTable.NumPageTableEntries &&
           check_table_of_update(ledger, &arg->UpdatePageTable) == table;
}

/*
 * Enters in the sample what is to be in memory: the entry that the last operation of those that
 * have been carried out asked for, and that operation, as long as it is known. False: nobody can
 * tell.
 */
static bool find_asking(struct check *check, uint64_t done, const struct check_table *table,
                        const struct check_gpu_entry *found, struct check_sample *sample)
{
    const struct check_tables *tables = &check_ledger(check)->tables;
    const struct check_asking *asking = NULL;
    bool is_ahead = false;

    if (may_be_under_way(check, table, sample->index))
        return false;
    while ((asking = check_tables_asked(tables, table, sample->index, asking))) {
        if (asking->operation <= done || asking->is_by_cpu)
            break;
        is_ahead = true; /* the account has what is to be written; perhaps it has been */
        if (sample->index - asking->first >= asking->known ||
            check_entry_leads(check_ledger(check), found, check_asking_word(asking, sample->index)))
            return false;
    }
    if (is_ahead && (!asking || sample->index - asking->first >= asking->known))
        return false;
    if (!asking) /* an index that was never written has what was in memory: of a root that grows */
        return sample->word != 0;
    sample->operation = asking->operation;
    sample->start = asking->first;
    sample->is_initial = asking->is_initial;
    sample->is_repeat = asking->is_repeat;
    sample->is_by_cpu = asking->is_by_cpu;
    sample->is_copy = asking->is_copy;
    if (is_ahead)
        sample->word = check_asking_word(asking, sample->index);
    return true;
}

/* The account's table of a level for the address, of the kind that the GPU comes to. */
static const struct check_table *table_on_way(const struct check_ledger *ledger,
                                              const struct check_process *process, unsigned level,
                                              uint64_t va, const struct check_gpu_entry *found)
{
    const uint64_t start = check_table_start(ledger, level, va);
    const struct check_table *table = check_find_table(process, level, false, start), *of_64k;

    if (level)
        return table;
    of_64k = check_find_table(process, 0, true, start);
    if (found->is_64k || !table)
        return of_64k;
    /* What is mapped by 64 KiB, and is not to be found there. */
    return of_64k && check_runs_word(&of_64k->runs, check_table_index(ledger, of_64k, va)) ? of_64k
                                                                                           : table;
}

enum step { STEP_RIGHT, STEP_END, STEP_WRONG };

/* Looks at one entry of the way. */
static enum step look_at_step(struct check *check, const struct check_process *process,
                              unsigned level, uint64_t va, uint64_t done,
                              const struct check_gpu_entry *found)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_table *table = table_on_way(ledger, process, level, va, found), *root;
    struct check_sample sample = {.process = process, .level = level};

    if (!check_table_is_known(ledger, table) || !check_table_is_reachable(ledger, table, &root))
        return STEP_END;
    sample.table = table->number;
    sample.is_64k = table->is_64k;
    sample.first_va = table->first_va;
    sample.index = sample.start = check_table_index(ledger, table, va);
    sample.va = va - va % check_level_bytes(ledger, level, table->is_64k);
    sample.word = check_runs_word(&table->runs, sample.index);
    if (!find_asking(check, done, table, found, &sample) || check_sample_is_hidden(&sample, found))
        return STEP_END;
    check_sample_count(check, &sample, found);
    if (!check_sample_is_right(ledger, &sample, found)) {
        check_sample_tell(check, done, &sample, table, found);
        return STEP_WRONG;
    }
    return sample.word && !check_word_entry(sample.word).LargePage ? STEP_RIGHT : STEP_END;
}

bool check_tell_way(struct check *check, const struct check_process *process, uint64_t va,
                    unsigned lowest_level, uint64_t done)
{
    const struct check_ledger *ledger = check_ledger(check);
    struct check_gpu_walk walk = {0};
    enum step step = STEP_RIGHT;

    if (ledger->tables.is_off || !ledger->caps.level_count ||
        !check_walk_tables(check, process, va, &walk))
        return false;
    for (unsigned level = ledger->caps.level_count; level-- > lowest_level && step == STEP_RIGHT;) {
        if (walk.entries[level].is_read) /* else a model tells of leaves alone */
            step = look_at_step(check, process, level, va, done, &walk.entries[level]);
    }
    return step == STEP_WRONG;
}
