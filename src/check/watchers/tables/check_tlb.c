/*
 * Watcher: the GPU comes to use page tables as they are: roots, idle address spaces, flushes
 * (PT-009, PT-010, PT-036, TLB-001, TLB-003, TLB-004, CPTE-001, CPTE-004, CPTE-005,
 * CPTE-007).
 *
 * Ranges that have changed and have not been flushed are a short list (struct change). It is looked
 * at when an operation of the paging process uses one of these addresses, and when one of the pages
 * is mapped for another allocation. A full list forgets its oldest range, which is not judged
 * then.
 */
#include "check/check_watch.h"

#include "base/bits.h"
#include "miniport/operation.h"

#include <string.h>

#define MAX_CHANGES 64
#define MAX_UPDATED 64

/* Entries of a leaf that were written, with their old values. */
struct change {
    const struct check_process *process;
    uint64_t va, bytes;
    bool was_valid;
    uint64_t word, pages; /* was_valid: the pages, from that of the word on */
    bool is_same;
    bool is_passed;    /* the operation that followed was neither its flush nor more entries */
    HANDLE allocation; /* that the operation named, NULL: none */
};

/* A process whose tables are written by operations that have not retired. */
struct updated_process {
    const struct check_process *process;
    uint64_t operation; /* the last of them */
};

struct tlb_watch {
    struct change *changes; /* in slots, through which they move; at the end they begin anew */
    unsigned change_count;  /* MAX_CHANGES at most */
    struct change slots[2 * MAX_CHANGES];
    unsigned updated_count;
    struct updated_process updated[MAX_UPDATED];
    uint64_t
        emptied; /* event of the last reset or change of power: nothing is cached from before */
    HANDLE system_context;    /* the first that was created: all other paging runs on it */
    uint64_t companion_nodes; /* that the driver named, a bit each */
};

/* ---- Roots ----------------------------------------------------------------------------------- */

static bool uses_page_tables(const struct check_ledger *ledger)
{
    return ledger->caps.level_count && ledger->caps.driver.MemoryManagementCaps.GpuMmuSupported;
}

static uint64_t place_of_root(const DXGKARG_SETROOTPAGETABLE *root)
{
    return CHECK_PLACE(root->Address.SegmentId, root->Address.SegmentOffset >> PAGE_SHIFT);
}

static const struct check_process *process_of(const struct check_context *context)
{
    return context && context->device ? context->device->process : NULL;
}

/* PT-009: a context that is scheduled has the root that its process has now. */
static void check_root(struct check *check, const struct check_packet *packet)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_context *context = check_find_context(ledger, packet->context);
    const struct check_process *process = process_of(context);
    const struct check_table *root;

    if (!process || packet->is_null || !packet->bytes || !uses_page_tables(ledger))
        return;
    if (!CHECK_RULE(check, RULE_PT_009, context->has_root, &context->object, "hContext",
                    "is scheduled, and DxgkDdiSetRootPageTable was never called for it"))
        return;
    root = check_find_table(process, ledger->caps.level_count - 1, false, 0);
    if (!check_table_is_known(ledger, root) || root->place == CHECK_NOWHERE)
        return;
    CHECK_RULE(check, RULE_PT_009, place_of_root(&context->root) == root->place, &context->object,
               "hContext",
               "has its root in {segment %u at 0x%llx}; the root table of its process is in "
               "{=segment %u, page 0x%llx}",
               context->root.Address.SegmentId,
               (unsigned long long)context->root.Address.SegmentOffset,
               (unsigned)(root->place >> 48),
               (unsigned long long)(root->place & ((UINT64_C(1) << 48) - 1)));
}

/*
 * Under way, as far as anybody can know: an interrupt may be lost, and the system learns otherwise
 * that a packet has run.
 */
static bool is_running(const struct check_packet *packet)
{
    return packet->state == CHECK_SUBMITTED && !packet->is_gpu_done;
}

/* PT-010. */
static void before_set_root(struct check *check, const DXGKARG_SETROOTPAGETABLE *arg)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_context *context = check_find_context(ledger, arg->hContext);
    const struct check_packet *packet, *running = NULL;

    list_for_each (packet, &ledger->packets, struct check_packet, link) {
        if (packet->context == arg->hContext && is_running(packet))
            running = packet;
    }
    CHECK_RULE(check, RULE_PT_010, !running, context ? &context->object : NULL, "hContext",
               "fence %u of the context on node %u has not been reported complete", running->fence,
               running->node);
}

/* ---- Address spaces that are to be idle ------------------------------------------------------ */

static bool needs_idle(const struct check_ledger *ledger)
{
    return ledger->caps.gpummu.PageTableUpdateRequireAddressSpaceIdle != 0;
}

static const struct check_packet *running_packet(const struct check_ledger *ledger,
                                                 const struct check_process *process)
{
    const struct check_packet *packet;

    list_for_each (packet, &ledger->packets, struct check_packet, link) {
        if (!packet->is_paging && is_running(packet) &&
            process_of(check_find_context(ledger, packet->context)) == process)
            return packet;
    }
    return NULL;
}

static void check_idle(struct check *check, const struct check_process *process, const char *field)
{
    const struct check_packet *packet = running_packet(check_ledger(check), process);

    CHECK_RULE(check, RULE_PT_036, !packet, &process->object, field,
               "the tables of the process change while fence %u is under way on node %u "
               "(PageTableUpdateRequireAddressSpaceIdle)",
               packet->fence, packet->node);
}

static void note_updated(struct check *check, struct tlb_watch *watch,
                         const struct check_process *process, bool is_at_once)
{
    const struct check_ledger *ledger = check_ledger(check);
    unsigned i = 0;

    if (!needs_idle(ledger) || !process || process->is_system)
        return;
    if (is_at_once) { /* and it is over when the call returns */
        check_idle(check, process, "hProcess");
        return;
    }
    while (i < watch->updated_count && watch->updated[i].process != process)
        i++;
    if (i == MAX_UPDATED)
        return;
    watch->updated[i] = (struct updated_process){process, ledger->operation + 1};
    watch->updated_count = (unsigned)max_u64(watch->updated_count, i + 1);
}

static bool has_bytes(const struct list *built, uint64_t last)
{
    const struct check_built *piece;

    list_for_each (piece, built, struct check_built, link) {
        if (piece->bytes && piece->number <= last)
            return true;
    }
    return false;
}

/*
 * Something of the operations up to this one has not run. One that wrote nothing is in no packet.
 */
static bool is_outstanding(const struct check_ledger *ledger, uint64_t last)
{
    const struct check_packet *packet;

    for (unsigned i = 0; i < ledger->stream_count; i++) {
        if (has_bytes(&ledger->streams[i].built, last))
            return true;
    }
    list_for_each (packet, &ledger->packets, struct check_packet, link) {
        if (has_bytes(&packet->built, last))
            return true;
    }
    return false;
}

static void check_updated(struct check *check, const struct tlb_watch *watch,
                          const struct check_packet *packet)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_process *process = process_of(check_find_context(ledger, packet->context));

    for (unsigned i = 0; i < watch->updated_count; i++) {
        const struct updated_process *updated = &watch->updated[i];
        bool is_over = !is_outstanding(ledger, updated->operation);

        if (packet->is_paging) {
            if (!is_over)
                check_idle(check, updated->process, "");
            continue;
        }
        CHECK_RULE(check, RULE_PT_036, updated->process != process || is_over, &process->object,
                   "hContext",
                   "is scheduled while operation %llu on the tables of its process has not "
                   "retired (PageTableUpdateRequireAddressSpaceIdle)",
                   (unsigned long long)updated->operation);
    }
}

static void retired(struct check *check, void *state, const struct check_packet *packet)
{
    struct tlb_watch *watch = state;
    uint64_t last = 0;
    unsigned kept = 0;

    if (check_ledger(check)->tables.is_off)
        return;
    if (!watch->updated_count || list_is_empty(&packet->built))
        return;
    last = check_packet_last(check_ledger(check), packet);
    for (unsigned i = 0; i < watch->updated_count; i++) {
        if (watch->updated[i].operation > last)
            watch->updated[kept++] = watch->updated[i];
    }
    watch->updated_count = kept;
}

/* ---- Changes --------------------------------------------------------------------------------- */

static bool goes_on(const struct change *last, const struct change *next)
{
    uint64_t pages = last->is_same ? 0 : last->pages;

    return last->process == next->process && last->was_valid == next->was_valid &&
           last->allocation == next->allocation && last->va + last->bytes == next->va &&
           (!last->was_valid ||
            (last->is_same == next->is_same && last->word + pages == next->word));
}

static void add_change(struct tlb_watch *watch, const struct change *next)
{
    struct change *last = watch->change_count ? &watch->changes[watch->change_count - 1] : NULL;

    if (last && goes_on(last, next)) {
        last->bytes += next->bytes;
        last->pages += next->pages;
        return;
    }
    if (watch->change_count == MAX_CHANGES) {
        watch->changes++;
        watch->change_count--;
    }
    if (watch->changes + watch->change_count == watch->slots + 2 * MAX_CHANGES) {
        memcpy(watch->slots, watch->changes, watch->change_count * sizeof *watch->changes);
        watch->changes = watch->slots;
    }
    watch->changes[watch->change_count++] = *next;
}

static void note_passed(struct tlb_watch *watch, const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (!arg->pDmaBuffer || arg->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE ||
        arg->Operation == DXGK_OPERATION_FLUSH_TLB ||
        miniport_operation_kind((unsigned)arg->Operation) == MINIPORT_KIND_NONE)
        return; /* the last: a probe of the bench */
    for (unsigned i = 0; i < watch->change_count; i++)
        watch->changes[i].is_passed |= !watch->changes[i].was_valid;
}

/* The GPU may keep that there is no translation. */
static bool caches_invalid(const struct check_ledger *ledger)
{
    return !ledger->caps.gpummu.InvalidTlbEntriesNotCached;
}

/* What an operation takes out of, or puts into, entries of a leaf. */
static void note_changes(struct check *check, struct tlb_watch *watch,
                         const DXGKARG_BUILDPAGINGBUFFER *arg, const struct check_process *process)
{
    const struct check_ledger *ledger = check_ledger(check);
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &arg->UpdatePageTable;
    const struct check_table *table = check_table_of_update(ledger, update);
    uint64_t entry_bytes = update->Flags.Use64KBPages ? 16 * PAGE_SIZE : PAGE_SIZE;
    uint32_t end = update->StartIndex + update->NumPageTableEntries;
    const struct check_run *run;
    struct change change = {.process = process, .allocation = update->hAllocation};

    if (!check_table_is_known(ledger, table) || !table->is_current)
        return;
    if ((process->is_system || (caches_invalid(ledger) && process->scheduled > watch->emptied)) &&
        arg->pDmaBuffer && update->pPageTableEntries[0].Valid) {
        change.va = update->FirstPteVirtualAddress;
        change.bytes = miniport_update_mapped(update) * entry_bytes;
        add_change(watch, &change);
    }
    run = check_runs_from(&table->runs, update->StartIndex);
    for (; run && run->first < end; run = check_runs_next(&table->runs, run)) {
        uint32_t first = (uint32_t)max_u64(run->first, update->StartIndex);
        uint32_t stop = (uint32_t)min_u64(run->first + run->count, end);

        for (uint32_t i = first; i < stop; i++) {
            uint32_t given = update->Flags.Repeat ? 0 : i - update->StartIndex;
            uint64_t word = check_run_word(run, i);

            if (word == check_word_of(&update->pPageTableEntries[given]))
                continue;
            change.was_valid = true;
            change.word = word;
            change.is_same = run->is_same;
            change.pages = entry_bytes / PAGE_SIZE;
            change.bytes = entry_bytes;
            change.va =
                update->FirstPteVirtualAddress + (uint64_t)(i - update->StartIndex) * entry_bytes;
            change.allocation = update->pPageTableEntries[given].Valid ? NULL : update->hAllocation;
            add_change(watch, &change);
        }
    }
}

/* ---- Use of changed ranges ------------------------------------------------------------------- */

/* An operation reads or writes addresses of the paging process. */
static void check_use(struct check *check, const struct tlb_watch *watch, uint64_t va,
                      uint64_t bytes, const char *field)
{
    const struct check_ledger *ledger = check_ledger(check);

    for (unsigned i = 0; i < watch->change_count; i++) {
        const struct change *change = &watch->changes[i];
        enum rule_id rule = change->was_valid ? RULE_TLB_003 : RULE_TLB_004;
        bool is_used = change->process == ledger->system_process && change->va < va + bytes &&
                       va < change->va + change->bytes;

        if (!change->was_valid && !caches_invalid(ledger))
            continue;
        CHECK_RULE(check, rule, !is_used, NULL, field,
                   "VA 0x%llx is used; its entry became %s, and no FLUSH_TLB followed",
                   (unsigned long long)max_u64(va, change->va),
                   change->was_valid ? "another one" : "valid (invalid ones may be cached)");
    }
    if (!watch->change_count)
        check_looked_at(check, RULE_TLB_003);
}

/*
 * TLB-004: the flush of what a process has mapped is built right behind the entries. When something
 * else was built there, and nothing of the paging is left to run, the client's work may use the
 * mapping and find none.
 */
static void check_use_by_client(struct check *check, const struct tlb_watch *watch,
                                const struct check_packet *packet)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_process *process = process_of(check_find_context(ledger, packet->context));
    const struct change *change = NULL;

    if (packet->is_paging || !process || process->is_system || !uses_page_tables(ledger) ||
        !caches_invalid(ledger) || is_outstanding(ledger, UINT64_MAX))
        return;
    for (unsigned i = 0; i < watch->change_count && !change; i++) {
        if (watch->changes[i].process == process && watch->changes[i].is_passed)
            change = &watch->changes[i];
    }
    CHECK_RULE(check, RULE_TLB_004, !change, &process->object, "hContext",
               "is scheduled; the entry of VA 0x%llx in its process became valid (invalid ones may "
               "be cached), and no FLUSH_TLB followed",
               (unsigned long long)change->va);
}

static void check_use_of_place(struct check *check, const struct tlb_watch *watch,
                               struct miniport_place place, uint64_t bytes, const char *field)
{
    if (place.kind == MINIPORT_PLACE_VIRTUAL)
        check_use(check, watch, place.address, bytes, field);
}

static void check_use_of_operation(struct check *check, const struct tlb_watch *watch,
                                   const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct miniport_operation *row = miniport_operation((unsigned)arg->Operation);

    if (arg->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE &&
        arg->UpdatePageTable.UpdateMode == DXGK_PAGETABLEUPDATE_GPU_VIRTUAL)
        check_use(check, watch, arg->UpdatePageTable.PageTableAddress.GpuVirtual, PAGE_SIZE,
                  "PageTableAddress");
    if (row->kind == MINIPORT_KIND_NOTICE || row->kind == MINIPORT_KIND_FENCE)
        return;
    check_use_of_place(check, watch, miniport_operation_source(arg), miniport_operation_bytes(arg),
                       row->source.address.name);
    check_use_of_place(check, watch, miniport_operation_destination(arg),
                       miniport_operation_bytes(arg), row->destination.address.name);
}

static bool holds_page(const struct change *change, const DXGK_PTE *entry)
{
    uint64_t page = check_word_page(change->word);

    return entry->Valid && !entry->Zero && entry->Segment == check_word_segment(change->word) &&
           entry->PageAddress >= page &&
           entry->PageAddress < page + (change->is_same ? 1 : change->pages);
}

/* TLB-003: pages that somebody may still reach come to belong to another allocation. */
static void check_reuse(struct check *check, const struct tlb_watch *watch,
                        const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    uint32_t given = update->Flags.Repeat ? 1 : update->NumPageTableEntries;

    for (unsigned i = 0; i < watch->change_count; i++) {
        const struct change *change = &watch->changes[i];
        uint32_t at = 0;

        if (!change->was_valid || !change->allocation || !update->hAllocation ||
            change->allocation == update->hAllocation)
            continue;
        while (at < given && !holds_page(change, &update->pPageTableEntries[at]))
            at++;
        CHECK_RULE(check, RULE_TLB_003, at == given, &change->process->object, "pPageTableEntries",
                   "page 0x%llx of segment %u gets another use; VA 0x%llx led there, and no "
                   "FLUSH_TLB followed when it no longer did",
                   (unsigned long long)update->pPageTableEntries[at].PageAddress,
                   (unsigned)update->pPageTableEntries[at].Segment, (unsigned long long)change->va);
    }
}

/* ---- Flushes --------------------------------------------------------------------------------- */

static void skip_bytes(struct change *change, uint64_t bytes)
{
    change->va += bytes;
    change->bytes -= bytes;
    change->word += change->is_same ? 0 : bytes >> PAGE_SHIFT;
    change->pages -= min_u64(change->pages, bytes >> PAGE_SHIFT);
}

static void flush_changes(struct tlb_watch *watch, const struct check_process *process,
                          uint64_t start, uint64_t end)
{
    struct change behind[MAX_CHANGES]; /* the rest of a range behind a flush in its middle */
    unsigned kept = 0, behind_count = 0;

    for (unsigned i = 0; i < watch->change_count; i++) {
        struct change change = watch->changes[i];
        uint64_t last = change.va + change.bytes;
        bool is_hit = change.process == process && start < last && end > change.va;

        if (is_hit && end < last && start > change.va) {
            behind[behind_count] = change;
            skip_bytes(&behind[behind_count++], end - change.va);
        }
        if (is_hit && start <= change.va) {
            skip_bytes(&change, min_u64(end, last) - change.va);
        } else if (is_hit) {
            change.bytes = start - change.va;
            change.pages = min_u64(change.pages, change.bytes >> PAGE_SHIFT);
        }
        if (change.bytes)
            watch->changes[kept++] = change;
    }
    for (unsigned i = 0; i < behind_count && kept < MAX_CHANGES; i++)
        watch->changes[kept++] = behind[i];
    watch->change_count = kept;
}

static void before_flush(struct check *check, struct tlb_watch *watch,
                         const DXGK_BUILDPAGINGBUFFER_FLUSHTLB *flush)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_process *process = check_find_process(ledger, flush->hProcess);
    uint64_t start = flush->StartVirtualAddress, end = flush->EndVirtualAddress;
    bool is_all = !start && !end;
    uint64_t place = CHECK_PLACE(flush->RootPageTableAddress.SegmentId,
                                 flush->RootPageTableAddress.SegmentOffset >> PAGE_SHIFT);
    const struct check_table *root = NULL;
    bool is_root = true, is_known = false;

    if (process && uses_page_tables(ledger))
        root = id_map_find(&ledger->tables.by_place, place + 1);
    if (process) {
        const struct check_table *current =
            check_find_table(process, ledger->caps.level_count - 1, false, 0);

        is_known = (process->has_root && !process->is_root_replaced) ||
                   (current && current->place != CHECK_NOWHERE);
        is_root =
            (root && root->process == process && root->level + 1 == ledger->caps.level_count) ||
            (process->has_root && process->root == place) ||
            (process->has_former_root && process->former_root == place);
    }
    CHECK_RULE(check, RULE_TLB_001, process && (is_all || start < end) && (is_root || !is_known),
               process ? &process->object : NULL,
               !process                ? "hProcess"
               : is_all || start < end ? "RootPageTableAddress"
                                       : "EndVirtualAddress",
               "VA 0x%llx to 0x%llx, root in segment %u at 0x%llx%s", (unsigned long long)start,
               (unsigned long long)end, flush->RootPageTableAddress.SegmentId,
               (unsigned long long)flush->RootPageTableAddress.SegmentOffset,
               process ? "" : ", of no process");
    if (process && (is_all || start < end))
        flush_changes(watch, process, start, is_all ? UINT64_MAX : end);
}

/* ---- Copies of entries ----------------------------------------------------------------------- */

/*
 * CPTE-001: a companion is a context of the paging process that is not the system context, on a
 * node that the driver named for some context. Its waits are the system's business.
 */
static void check_companion(struct check *check, const struct tlb_watch *watch, HANDLE handle)
{
    const struct check_context *context = check_find_context(check_ledger(check), handle);
    const struct check_process *process = process_of(context);
    bool is_system = handle == watch->system_context;

    CHECK_RULE(check, RULE_CPTE_001,
               context && !is_system && context->flags.SystemContext && process &&
                   process->is_system && context->node < 64 &&
                   watch->companion_nodes >> context->node & 1,
               context ? &context->object : NULL, "hSystemContext", "%s",
               !context    ? "is no context: entries are copied on a companion"
               : is_system ? "is the system context: entries are copied on a companion"
               : !context->flags.SystemContext || !process || !process->is_system
                   ? "is a context without the privileged address space"
                   : "is on a node that is no context's PagingCompanionNodeId");
}

/*
 * CPTE-004: where the pool is mapped is a table. Entries of a pool that is not resident are
 * invalid, and copied as they are (docs/contract-choices.md).
 */
static void before_copy(struct check *check,
                        const DXGK_BUILDPAGINGBUFFER_COPYPAGETABLEENTRIES *copy)
{
    const struct check_ledger *ledger = check_ledger(check);
    const DXGK_PAGE_TABLE_LEVEL_DESC *leaf = &ledger->caps.levels[0];
    uint32_t entry_bytes = leaf->PageTableSizeInBytes >> min_u64(leaf->PageTableIndexBitCount, 31);

    CHECK_RULE(check, RULE_CPTE_005,
               ledger->caps.gpummu.PageTableUpdateMode != DXGK_PAGETABLEUPDATE_CPU_VIRTUAL, NULL,
               "Operation",
               "entries are to be copied by a driver with PageTableUpdateMode CPU_VIRTUAL");
    for (UINT i = 0; i < copy->NumRanges; i++) {
        const DXGK_BUILDPAGINGBUFFER_COPY_RANGE *range = &copy->pRanges[i];
        uint32_t index;
        const struct check_table *table = check_table_at_address(
            ledger, range->SrcPageTableAddress + (uint64_t)range->SrcStartPteIndex * entry_bytes,
            &index);

        if (table && table->epoch != ledger->tables.epoch)
            continue;
        CHECK_RULE(check, RULE_CPTE_004, check_table_is_known(ledger, table), NULL, "pRanges",
                   "range %u: source table 0x%llx, index %u: no table is there%s", i,
                   (unsigned long long)range->SrcPageTableAddress, range->SrcStartPteIndex,
                   table ? " any more" : " that was initialised");
    }
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void before_build(struct check *check, struct tlb_watch *watch,
                         const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct check_ledger *ledger = check_ledger(check);
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &arg->UpdatePageTable;
    const struct check_process *process;

    if (!uses_page_tables(ledger) || (ledger->is_operation_open && arg->pDmaBuffer))
        return;
    check_use_of_operation(check, watch, arg);
    note_passed(watch, arg);
    switch ((unsigned)arg->Operation) {
    case DXGK_OPERATION_UPDATE_PAGE_TABLE:
        process = check_find_process(ledger, update->hProcess);
        if (!process)
            break;
        note_updated(check, watch, process, update->UpdateMode == DXGK_PAGETABLEUPDATE_CPU_VIRTUAL);
        if (update->PageTableLevel || !update->pPageTableEntries || !update->NumPageTableEntries)
            break;
        check_reuse(check, watch, update);
        if (!update->Flags.InitialUpdate)
            note_changes(check, watch, arg, process);
        break;
    case DXGK_OPERATION_FLUSH_TLB:
        note_updated(check, watch, check_find_process(ledger, arg->FlushTlb.hProcess), false);
        before_flush(check, watch, &arg->FlushTlb);
        break;
    case DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES:
        check_companion(check, watch, arg->hSystemContext);
        before_copy(check, &arg->CopyPageTableEntries);
        break;
    default:
        break;
    }
}

static void before(struct check *check, void *state, const struct check_call *call)
{
    struct tlb_watch *watch = state;

    if (check_ledger(check)->tables.is_off)
        return;
    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_BuildPagingBuffer:
        before_build(check, watch, call->before.build_paging_buffer);
        break;
    case MINIPORT_DDI_SetRootPageTable:
        before_set_root(check, call->arg.set_root_page_table);
        break;
    case MINIPORT_DDI_SubmitCommand:
    case MINIPORT_DDI_SubmitCommandVirtual:
        if (!call->packet)
            break;
        check_root(check, call->packet);
        check_use_by_client(check, watch, call->packet);
        check_updated(check, watch, call->packet);
        break;
    default:
        break;
    }
}

/* CPTE-007: the node that copies entries for a context is one of the driver's. */
static void after_create_context(struct check *check, struct tlb_watch *watch,
                                 const DXGKARG_CREATECONTEXT *arg)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_context *context = check_find_context(ledger, arg->hContext);

    if (!uses_page_tables(ledger) || !context)
        return;
    if (context->flags.SystemContext) {
        if (!watch->system_context)
            watch->system_context = arg->hContext;
        return; /* nothing is copied for it */
    }
    if (arg->ContextInfo.PagingCompanionNodeId < 64)
        watch->companion_nodes |= UINT64_C(1) << arg->ContextInfo.PagingCompanionNodeId;
    if (!ledger->caps.has_physical)
        return;
    CHECK_RULE(check, RULE_CPTE_007,
               arg->ContextInfo.PagingCompanionNodeId < ledger->caps.physical.NumExecutionNodes,
               &context->object, "ContextInfo.PagingCompanionNodeId",
               "is {%u} of {=~less than ~%u} nodes",
               (unsigned)arg->ContextInfo.PagingCompanionNodeId,
               (unsigned)ledger->caps.physical.NumExecutionNodes);
}

static void forget_process(struct tlb_watch *watch, const struct check_process *process)
{
    unsigned kept = 0;

    flush_changes(watch, process, 0, UINT64_MAX);
    for (unsigned i = 0; i < watch->updated_count; i++) {
        if (watch->updated[i].process != process)
            watch->updated[kept++] = watch->updated[i];
    }
    watch->updated_count = kept;
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    struct tlb_watch *watch = state;

    if (check_ledger(check)->tables.is_off)
        return;
    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_CreateContext:
        if (NT_SUCCESS(call->status))
            after_create_context(check, watch, call->arg.create_context);
        break;
    case MINIPORT_DDI_DestroyContext:
        if (call->object == watch->system_context)
            watch->system_context = NULL;
        break;
    case MINIPORT_DDI_DestroyProcess:
        forget_process(watch, check_find_process(check_ledger(check), call->object));
        break;
    case MINIPORT_DDI_ResetFromTimeout: /* nothing is cached, nothing is under way */
    case MINIPORT_DDI_SetPowerState:
        watch->change_count = 0;
        watch->updated_count = 0;
        watch->emptied = call->event;
        break;
    default:
        break;
    }
}

static void init(struct check *check, void *state)
{
    struct tlb_watch *watch = state;

    watch->changes = watch->slots;
}

const struct check_watcher check_tlb_watcher = {
    .name = "translations",
    .state_bytes = sizeof(struct tlb_watch),
    .init = init,
    .before = before,
    .before_calls = CHECK_CALLS(MINIPORT_DDI_BuildPagingBuffer, MINIPORT_DDI_SetRootPageTable,
                                MINIPORT_DDI_SubmitCommand, MINIPORT_DDI_SubmitCommandVirtual),
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_CreateContext, MINIPORT_DDI_DestroyContext,
                               MINIPORT_DDI_DestroyProcess, MINIPORT_DDI_ResetFromTimeout,
                               MINIPORT_DDI_SetPowerState),
    .retired = retired,
};
