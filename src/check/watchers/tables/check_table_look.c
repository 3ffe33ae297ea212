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
#include "check/watchers/tables/check_table_memory.h"

#include "base/bits.h"
#include "base/hash.h"

#include <stdio.h>

#define MAX_SAMPLES  1024
#define MAX_FLUSHES  256
#define ALWAYS_UNTIL 2048 /* operations */
#define THEN_EVERY   16

/* A FLUSH_TLB that the GPU is to carry out: the rest of its range. */
struct flush {
    uint64_t operation;
    bool is_system;
    uint64_t root; /* address */
    uint64_t start, end;
    bool is_begun;
    bool was_early; /* the GPU flushed some of the range before this entry was written: */
    struct check_sample behind; /* ... of an operation in front */
};

struct look_watch {
    struct check_sample samples[MAX_SAMPLES]; /* a ring, by operation */
    unsigned first, count;
    struct flush flushes[MAX_FLUSHES];
    unsigned flush_count;
    uint64_t seen;      /* operations */
    uint64_t retired;   /* the last operation that has */
    uint64_t submitted; /* the last operation that the GPU has */
    /* Of the operation that is being built: the first entry as it was before. */
    uint64_t old_word;
    bool is_old_known;
    /* Of one that the CPU carries out: the entries beside its own that are as they should be. */
    struct check_sample beside[2];
    unsigned beside_count;
    /* The operation goes on in another buffer: the table that it writes (0: none), or a copy. */
    uint64_t open_table;
    bool is_copy_open;
    bool has_late_source; /* of a copy: the GPU has not written all that it copies */
};

/* ---- Judging --------------------------------------------------------------------------------- */

static const struct check_table *table_of_sample(const struct check_ledger *ledger,
                                                 const struct look_watch *watch,
                                                 const struct check_sample *sample)
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

/* In a larger GPU page the entries of the operation say what those beside them mean. */
static bool is_beside_changed(const struct check_ledger *ledger, const struct check_sample *sample,
                              const struct check_gpu_entry *found)
{
    return (sample->level || found->gpu_page_bytes <= PAGE_BYTES) &&
           !check_sample_is_right(ledger, sample, found);
}

static void judge(struct check *check, const struct look_watch *watch,
                  const struct check_sample *sample)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_table *table = table_of_sample(ledger, watch, sample);
    struct check_gpu_entry found;

    if (!table || !check_sample_look(check, watch->retired, sample, table, &found) ||
        check_sample_is_hidden(sample, &found))
        return;
    if (sample->is_beside) {
        if (is_beside_changed(ledger, sample, &found) &&
            check_tables_find_write(&ledger->tables, found.place) == sample->operation)
            check_sample_tell_trespass(check, sample->operation, sample, &found);
        return;
    }
    check_sample_count(check, sample, &found);
    if (!check_sample_is_right(ledger, sample, &found) &&
        !check_tell_way(check, sample->process, sample->va, sample->level + 1, watch->retired))
        check_sample_tell(check, watch->retired, sample, table, &found);
}

/* ---- Taking samples -------------------------------------------------------------------------- */

static void add_sample(struct check *check, struct look_watch *watch,
                       const struct check_sample *sample)
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

static void fill_sample(const struct check_ledger *ledger, struct check_sample *sample,
                        const struct check_table *table, uint32_t index)
{
    sample->process = table->process;
    sample->table = table->number;
    sample->level = table->level;
    sample->is_64k = table->is_64k;
    sample->first_va = table->first_va;
    sample->index = index;
    sample->va = table->first_va + index * check_level_bytes(ledger, table->level, table->is_64k);
    sample->word = check_runs_word(&table->runs, index);
}

static void sample_entry(struct check *check, struct look_watch *watch, struct check_sample sample,
                         const struct check_table *table, uint32_t index)
{
    fill_sample(check_ledger(check), &sample, table, index);
    add_sample(check, watch, &sample);
}

/* Entries first .. first + count - 1 of a table: both ends and two between. */
static void sample_range(struct check *check, struct look_watch *watch,
                         const struct check_sample *sample, const struct check_table *table,
                         uint32_t first, uint32_t count)
{
    uint64_t random = hash_pair(sample->operation, table->number);

    sample_entry(check, watch, *sample, table, first);
    if (count > 1)
        sample_entry(check, watch, *sample, table, first + count - 1);
    for (unsigned i = 0; i < 2 && count > 2; i++, random = hash_u64(random))
        sample_entry(check, watch, *sample, table, first + 1 + (uint32_t)(random % (count - 2)));
}

/* A table that is linked now: two entries as its initial update wrote them. */
static void sample_child(struct check *check, struct look_watch *watch, struct check_sample sample,
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
                            const struct check_sample *like, const struct check_table *table,
                            uint32_t index)
{
    const struct check_ledger *ledger = check_ledger(check);
    struct check_sample sample = *like;
    struct check_gpu_entry found;

    fill_sample(ledger, &sample, table, index);
    if (!watch->is_old_known || watch->old_word == sample.word ||
        !check_sample_look(check, watch->retired, &sample, table, &found))
        return;
    CHECK_RULE(check, RULE_PT_023,
               !check_entry_leads(ledger, &found, sample.word) ||
                   check_entry_leads(ledger, &found, watch->old_word),
               &sample.process->object, "pDmaBuffer",
               "entry %u of level %u, VA 0x%llx has changed in memory when the call returns: "
               "commands in the buffer are to change it, and neither the CPU nor what was built "
               "for another entry",
               index, sample.level, (unsigned long long)sample.va);
}

/* The entries in front of those of an operation and behind, where something is mapped. */
static void sample_beside(struct check *check, struct look_watch *watch,
                          const struct check_sample *like, const struct check_table *table,
                          const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    const uint32_t indices[] = {update->StartIndex - 1,
                                update->StartIndex + update->NumPageTableEntries};

    for (unsigned i = 0; i < ARRAY_COUNT(indices); i++) {
        if (check_runs_word(&table->runs, indices[i]))
            sample_entry(check, watch,
                         (struct check_sample){.operation = like->operation, .is_beside = true},
                         table, indices[i]);
    }
}

/* What the CPU writes beside its own entries is written when the call returns. */
static void note_beside(struct check *check, struct look_watch *watch,
                        const struct check_table *table,
                        const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    const struct check_ledger *ledger = check_ledger(check);
    const uint32_t entries = check_level_entries(ledger, table->level, table->is_64k);
    const uint32_t indices[] = {update->StartIndex - 1,
                                update->StartIndex + update->NumPageTableEntries};

    for (unsigned i = 0; i < ARRAY_COUNT(indices); i++) {
        struct check_sample sample = {.is_by_cpu = true};
        struct check_gpu_entry found;

        if (indices[i] >= entries)
            continue;
        fill_sample(ledger, &sample, table, indices[i]);
        if (check_sample_look(check, watch->retired, &sample, table, &found) &&
            check_sample_is_right(ledger, &sample, &found))
            watch->beside[watch->beside_count++] = sample;
    }
}

static void look_beside(struct check *check, struct look_watch *watch,
                        const struct check_table *table)
{
    const struct check_ledger *ledger = check_ledger(check);

    for (unsigned i = 0; i < watch->beside_count; i++) {
        const struct check_sample *sample = &watch->beside[i];
        struct check_gpu_entry found;

        if (sample->table == table->number &&
            check_sample_look(check, watch->retired, sample, table, &found) &&
            is_beside_changed(ledger, sample, &found))
            check_sample_tell_trespass(check, ledger->operation, sample, &found);
    }
}

static void after_update(struct check *check, struct look_watch *watch,
                         const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_table *table = check_table_of_update(ledger, update);
    uint64_t va = update->FirstPteVirtualAddress;
    struct check_sample sample = {
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
    if (sample.is_by_cpu) {
        look_beside(check, watch, table);
    } else {
        check_too_early(check, watch, &sample, table, update->StartIndex);
        sample_beside(check, watch, &sample, table, update);
    }
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
        struct check_sample sample = {
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
        !check_place_address(ledger,
                             CHECK_PLACE(arg->RootPageTableAddress.SegmentId,
                                         arg->RootPageTableAddress.SegmentOffset >> PAGE_SHIFT),
                             &flush.is_system, &flush.root))
        return;
    watch->flushes[watch->flush_count++] = flush;
}

/* The first entry that is not written yet, of what the GPU has; NULL: all of them are. */
static const struct check_sample *find_unwritten(struct check *check,
                                                 const struct look_watch *watch)
{
    const struct check_ledger *ledger = check_ledger(check);

    for (unsigned i = 0; i < watch->count; i++) {
        const struct check_sample *sample = &watch->samples[(watch->first + i) % MAX_SAMPLES];
        const struct check_table *table;
        struct check_gpu_entry found;

        if (sample->operation > watch->submitted)
            break;
        table = table_of_sample(ledger, watch, sample);
        if (!table || !check_sample_look(check, watch->retired, sample, table, &found))
            continue;
        check_looked_at(check, RULE_TLB_006);
        if (!check_sample_is_right(ledger, sample, &found))
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
    const struct check_sample *unwritten = NULL;
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
    else if (table && check_sample_look(check, watch->retired, &flush->behind, table, &found) &&
             check_sample_is_right(check_ledger(check), &flush->behind, &found))
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
        struct check_sample sample = watch->samples[(watch->first + i) % MAX_SAMPLES];

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
    watch->beside_count = 0;
    if (check_table_is_known(ledger, table) && watch->seen < ALWAYS_UNTIL &&
        arg->UpdatePageTable.UpdateMode == DXGK_PAGETABLEUPDATE_CPU_VIRTUAL)
        note_beside(check, watch, table, &arg->UpdatePageTable);
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
static void check_fault(struct check *check, const struct check_process *process,
                        const struct check_gpu_event *event)
{
    const struct check_ledger *ledger = check_ledger(check);
    struct check_gpu_walk walk = {0};

    if (!ledger->caps.gpummu.InvalidTlbEntriesNotCached || event->is_malformed_packet ||
        !check_walk_tables(check, process, event->address, &walk))
        return;
    CHECK_RULE(check, RULE_TLB_005,
               !walk.entries[0].is_read || !is_plain_entry(ledger, &walk.entries[0]),
               &process->object, "",
               "the GPU faulted at VA 0x%llx, for which the page tables of the process have GPU "
               "address 0x%llx: an invalid translation was kept (InvalidTlbEntriesNotCached), or "
               "the GPU walks another root",
               (unsigned long long)event->address, (unsigned long long)walk.entries[0].address);
}

/* Of a packet's commands. A driver may say that there is any number of bytes. */
#define MAX_COMMAND_PAGES 1024

/* Where the GPU was when it stopped: what stands before it in the packet has been carried out. */
static uint64_t done_at(const struct look_watch *watch, const struct check_gpu_event *event)
{
    uint64_t operation = check_operation_at(event->packet, event->offset, NULL);

    return operation ? max_u64(watch->retired, operation - 1) : watch->retired;
}

/*
 * A fault, or commands that are none: an entry on the way there may be another than was asked for,
 * or one on the way to the commands.
 */
static void look_at_fault(struct check *check, const struct look_watch *watch,
                          const struct check_gpu_event *event)
{
    const struct check_context *context =
        event->packet ? check_find_context(check_ledger(check), event->packet->context) : NULL;
    const struct check_process *process =
        context && context->device ? context->device->process : NULL;
    const uint64_t done = done_at(watch, event);
    uint64_t va = event->address, pages = 1;

    if (!process)
        return;
    if (event->is_malformed_packet) {
        va = event->packet->gpu_address;
        pages = min_u64((va % PAGE_BYTES + event->packet->bytes + PAGE_BYTES - 1) / PAGE_BYTES,
                        MAX_COMMAND_PAGES);
    }
    for (; pages; pages--, va = (va | (PAGE_BYTES - 1)) + 1) {
        if (check_tell_way(check, process, va, 0, done))
            return;
    }
    check_fault(check, process, event);
}

static void on_gpu(struct check *check, void *state, const struct check_gpu_event *event)
{
    if (event->kind == CHECK_GPU_FLUSHED) {
        on_flushed(check, state, event);
    } else if (event->kind == CHECK_GPU_FAULT) {
        look_at_fault(check, state, event);
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
