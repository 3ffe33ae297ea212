#include "check/ledger/check_tables.h"

#include "base/bits.h"
#include "check/ledger/check_ledger.h"

#include <string.h>

#define PAGES_64K 16u

/* ---- Words ----------------------------------------------------------------------------------- */

/* The flags of DXGK_PTE that say something, above the page. */
#define FLAGS_MASK UINT64_C(0x3ffff)

uint64_t check_word_of(const DXGK_PTE *entry)
{
    uint64_t flags = entry->Flags & FLAGS_MASK;

    if (!entry->Valid)
        return 0;
    return flags << CHECK_WORD_PAGE_BITS |
           (entry->Zero ? 0 : entry->PageAddress & CHECK_WORD_PAGE_MASK);
}

DXGK_PTE check_word_entry(uint64_t word)
{
    return (DXGK_PTE){
        .Flags = word >> CHECK_WORD_PAGE_BITS,
        .PageAddress = check_word_page(word),
    };
}

unsigned check_word_segment(uint64_t word)
{
    return (unsigned)check_word_entry(word).Segment;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

uint64_t check_run_word(const struct check_run *run, uint32_t index)
{
    return run->word + (run->is_same ? 0 : index - run->first);
}

/* Number of the first run that ends behind index. */
static uint32_t lower_bound(const struct check_runs *runs, uint32_t index)
{
    uint32_t low = 0, high = runs->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct check_run *run = &runs->items[middle];

        if (run->first + run->count <= index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct check_run *check_runs_from(const struct check_runs *runs, uint32_t index)
{
    uint32_t at = lower_bound(runs, index);

    return at < runs->count ? &runs->items[at] : NULL;
}

const struct check_run *check_runs_next(const struct check_runs *runs, const struct check_run *run)
{
    return ++run < runs->items + runs->count ? run : NULL;
}

uint64_t check_runs_word(const struct check_runs *runs, uint32_t index)
{
    const struct check_run *run = check_runs_from(runs, index);

    return run && run->first <= index ? check_run_word(run, index) : 0;
}

bool check_runs_has_valid(const struct check_runs *runs, uint32_t first, uint32_t count)
{
    const struct check_run *run = check_runs_from(runs, first);

    return run && run->first < first + count;
}

static void runs_fini(const struct base_services *services, struct check_runs *runs)
{
    base_free_array(services, runs->items, runs->capacity, sizeof *runs->items);
    *runs = (struct check_runs){0};
}

static bool runs_reserve(const struct base_services *services, struct check_runs *runs,
                         uint32_t more)
{
    uint32_t capacity = runs->capacity;
    struct check_run *items;

    if (runs->count + more <= capacity)
        return true;
    while (capacity < runs->count + more)
        capacity = capacity ? 2 * capacity : 2;
    items = base_alloc_array(services, capacity, sizeof *items);
    if (!items)
        return false;
    if (runs->count)
        memcpy(items, runs->items, runs->count * sizeof *items);
    base_free_array(services, runs->items, runs->capacity, sizeof *items);
    runs->items = items;
    runs->capacity = capacity;
    return true;
}

/* Whether b goes on where a ends; a run of one entry may become either kind. */
static bool continues(const struct check_run *a, const struct check_run *b)
{
    bool is_same =
        a->word == b->word && (a->is_same || a->count == 1) && (b->is_same || b->count == 1);
    bool is_ascending = a->word + a->count == b->word && (!a->is_same || a->count == 1) &&
                        (!b->is_same || b->count == 1);

    return a->first + a->count == b->first && (is_same || is_ascending);
}

static void merge(struct check_run *a, const struct check_run *b)
{
    a->is_same = a->word == b->word;
    a->count += b->count;
}

/* Makes room: entries [first, first + count) belong to no run. One run may become two. */
static bool runs_cut(const struct base_services *services, struct check_runs *runs, uint32_t first,
                     uint32_t count)
{
    uint32_t end = first + count;
    uint32_t at = lower_bound(runs, first), last;

    if (at == runs->count || runs->items[at].first >= end)
        return true;
    if (runs->items[at].first < first) {
        struct check_run rest = runs->items[at];

        if (rest.first + rest.count > end) {
            if (!runs_reserve(services, runs, 1))
                return false;
            memmove(&runs->items[at + 1], &runs->items[at],
                    (runs->count - at) * sizeof *runs->items);
            runs->count++;
            rest.word = check_run_word(&rest, end);
            rest.count = rest.first + rest.count - end;
            rest.first = end;
            runs->items[at + 1] = rest;
            runs->items[at].count = first - runs->items[at].first;
            return true;
        }
        runs->items[at].count = first - runs->items[at].first;
        at++;
    }
    for (last = at; last < runs->count && runs->items[last].first < end; last++) {
        struct check_run *run = &runs->items[last];

        if (run->first + run->count > end) {
            run->word = check_run_word(run, end);
            run->count = run->first + run->count - end;
            run->first = end;
            break;
        }
    }
    memmove(&runs->items[at], &runs->items[last], (runs->count - last) * sizeof *runs->items);
    runs->count -= last - at;
    return true;
}

/* Puts a run where there is none, joined with its neighbours where they go on. */
static bool runs_put(const struct base_services *services, struct check_runs *runs,
                     const struct check_run *run)
{
    uint32_t at = lower_bound(runs, run->first);

    if (at && continues(&runs->items[at - 1], run)) {
        merge(&runs->items[at - 1], run);
        if (at < runs->count && continues(&runs->items[at - 1], &runs->items[at])) {
            merge(&runs->items[at - 1], &runs->items[at]);
            memmove(&runs->items[at], &runs->items[at + 1],
                    (runs->count - at - 1) * sizeof *runs->items);
            runs->count--;
        }
        return true;
    }
    if (at < runs->count && continues(run, &runs->items[at])) {
        struct check_run joined = *run;

        merge(&joined, &runs->items[at]);
        runs->items[at] = joined;
        return true;
    }
    if (!runs_reserve(services, runs, 1))
        return false;
    memmove(&runs->items[at + 1], &runs->items[at], (runs->count - at) * sizeof *runs->items);
    runs->items[at] = *run;
    runs->count++;
    return true;
}

/* The entries of an operation; entries[0] for all of them with is_repeat. */
static bool runs_write(const struct base_services *services, struct check_runs *runs,
                       uint32_t first, uint32_t count, const DXGK_PTE *entries, bool is_repeat)
{
    struct check_run run = {.first = first};

    if (!runs_cut(services, runs, first, count))
        return false;
    if (is_repeat) {
        run = (struct check_run){first, count, check_word_of(&entries[0]), true};
        return !run.word || runs_put(services, runs, &run);
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct check_run next = {first + i, 1, check_word_of(&entries[i]), false};

        if (run.count && next.word && continues(&run, &next)) {
            merge(&run, &next);
            continue;
        }
        if (run.count && !runs_put(services, runs, &run))
            return false;
        run = next;
        run.count = next.word != 0;
    }
    return !run.count || runs_put(services, runs, &run);
}

/* ---- Shape ----------------------------------------------------------------------------------- */

unsigned check_level_shift(const struct check_ledger *ledger, unsigned level)
{
    unsigned shift = PAGE_SHIFT;

    for (unsigned i = 0; i < level && i < CHECK_MAX_LEVELS; i++)
        shift += ledger->caps.levels[i].PageTableIndexBitCount;
    return shift;
}

bool check_root_grows(const struct check_ledger *ledger)
{
    return ledger->caps.level_count == 2 && !ledger->caps.levels[1].PageTableIndexBitCount;
}

uint32_t check_level_entries(const struct check_ledger *ledger, unsigned level, bool is_64k)
{
    unsigned bits =
        level < CHECK_MAX_LEVELS ? ledger->caps.levels[level].PageTableIndexBitCount : 0;

    if (level == 1 && check_root_grows(ledger))
        return ledger->tables.most_root_entries;
    return (UINT32_C(1) << min_u64(bits, 31)) / (is_64k ? PAGES_64K : 1);
}

uint64_t check_level_bytes(const struct check_ledger *ledger, unsigned level, bool is_64k)
{
    return UINT64_C(1) << (is_64k ? PAGE_SHIFT + 4 : check_level_shift(ledger, level));
}

uint64_t check_table_start(const struct check_ledger *ledger, unsigned level, uint64_t va)
{
    unsigned shift = check_level_shift(ledger, level + 1);

    if (level + 1 >= ledger->caps.level_count || shift >= 64)
        return 0;
    return va >> shift << shift;
}

uint32_t check_table_index(const struct check_ledger *ledger, const struct check_table *table,
                           uint64_t va)
{
    return (uint32_t)((va - table->first_va) >>
                      (table->is_64k ? PAGE_SHIFT + 4 : check_level_shift(ledger, table->level)));
}

/* ---- Finding --------------------------------------------------------------------------------- */

static uint64_t key_of(unsigned level, bool is_64k, uint64_t first_va)
{
    return first_va | level << 1 | is_64k; /* the address is a multiple of a page */
}

struct check_table *check_find_table(const struct check_process *process, unsigned level,
                                     bool is_64k, uint64_t first_va)
{
    return id_map_find(&process->tables, key_of(level, is_64k, first_va));
}

/* As the operation names it. */
static uint64_t address_of(const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    const DXGK_PAGETABLEUPDATEADDRESS *address = &update->PageTableAddress;

    switch ((unsigned)update->UpdateMode) {
    case DXGK_PAGETABLEUPDATE_CPU_VIRTUAL:
        return (uint64_t)(uintptr_t)address->CpuVirtual;
    case DXGK_PAGETABLEUPDATE_GPU_VIRTUAL:
        return address->GpuVirtual;
    default: /* not 0 */
        return CHECK_PLACE(address->GpuPhysical.SegmentId + 1,
                           address->GpuPhysical.SegmentOffset >> PAGE_SHIFT);
    }
}

static unsigned mode_of(const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    return (unsigned)update->UpdateMode <= DXGK_PAGETABLEUPDATE_GPU_PHYSICAL
               ? (unsigned)update->UpdateMode
               : DXGK_PAGETABLEUPDATE_GPU_PHYSICAL;
}

static uint64_t *address_field(struct check_table *table, unsigned mode)
{
    return mode == DXGK_PAGETABLEUPDATE_CPU_VIRTUAL ? &table->cpu_address : &table->gpu_address;
}

struct check_table *check_table_in_role_of(const struct check_ledger *ledger,
                                           const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    const struct check_process *process = check_find_process(ledger, update->hProcess);

    return process ? check_find_table(process, update->PageTableLevel, update->Flags.Use64KBPages,
                                      check_table_start(ledger, update->PageTableLevel,
                                                        update->FirstPteVirtualAddress))
                   : NULL;
}

struct check_table *check_table_of_update(const struct check_ledger *ledger,
                                          const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    unsigned mode = mode_of(update);
    struct check_table *table = id_map_find(&ledger->tables.by_address[mode], address_of(update));

    if (table)
        return table;
    /* The table is named in this way for the first time. */
    table = check_table_in_role_of(ledger, update);
    return table && !*address_field(table, mode) ? table : NULL;
}

/* The memory of the table that the operation writes, as CHECK_PLACE(); CHECK_NOWHERE: not known. */
static uint64_t place_of_update(const struct check_ledger *ledger,
                                const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    const DXGK_PAGETABLEUPDATEADDRESS *address = &update->PageTableAddress;
    uint64_t word, page;

    switch ((unsigned)update->UpdateMode) {
    case DXGK_PAGETABLEUPDATE_GPU_PHYSICAL:
        return CHECK_PLACE(address->GpuPhysical.SegmentId,
                           address->GpuPhysical.SegmentOffset >> PAGE_SHIFT);
    case DXGK_PAGETABLEUPDATE_GPU_VIRTUAL:
        word = ledger->system_process
                   ? check_translate(ledger, ledger->system_process, address->GpuVirtual, &page)
                   : 0;
        return word ? CHECK_PLACE(check_word_segment(word), page) : CHECK_NOWHERE;
    default:
        return CHECK_NOWHERE;
    }
}

/* The key of a table's memory: its place, else its CPU address. */
static uint64_t place_key(uint64_t place, uint64_t cpu_address)
{
    return place != CHECK_NOWHERE ? place + 1 : cpu_address | UINT64_C(1) << 63;
}

struct check_table *check_table_in_place_of(const struct check_ledger *ledger,
                                            const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    uint64_t place = place_of_update(ledger, update);

    if (place == CHECK_NOWHERE && update->UpdateMode != DXGK_PAGETABLEUPDATE_CPU_VIRTUAL)
        return NULL;
    return id_map_find(&ledger->tables.by_place, place_key(place, address_of(update)));
}

struct check_table *check_table_at_address(const struct check_ledger *ledger, uint64_t va,
                                           uint32_t *out_index)
{
    const DXGK_PAGE_TABLE_LEVEL_DESC *leaf = &ledger->caps.levels[0];
    uint64_t bytes = max_u64(leaf->PageTableSizeInBytes, 1u << PAGE_SHIFT);
    uint32_t entry_bytes = leaf->PageTableSizeInBytes >> min_u64(leaf->PageTableIndexBitCount, 31);
    uint64_t start = va - va % bytes;

    *out_index = entry_bytes ? (uint32_t)((va - start) / entry_bytes) : 0;
    return id_map_find(&ledger->tables.by_address[DXGK_PAGETABLEUPDATE_GPU_VIRTUAL], start);
}

bool check_table_is_known(const struct check_ledger *ledger, const struct check_table *table)
{
    return table && table->is_initialised && !table->is_evicted &&
           table->epoch == ledger->tables.epoch;
}

/* Where one entry leads to either kind of leaf, it says to which. */
static bool leads_to_kind(const struct check_ledger *ledger, uint64_t word,
                          const struct check_table *table)
{
    return table->level || ledger->caps.gpummu.DualPteSupported ||
           (check_word_entry(word).PageTablePageSize == DXGK_PTE_PAGE_TABLE_PAGE_64KB) ==
               table->is_64k;
}

bool check_table_is_reachable(const struct check_ledger *ledger, const struct check_table *table,
                              const struct check_table **out_root)
{
    *out_root = NULL;
    while (table->process && check_table_is_known(ledger, table) &&
           table->level + 1 < ledger->caps.level_count) {
        const struct check_table *parent =
            check_find_table(table->process, table->level + 1, false,
                             check_table_start(ledger, table->level + 1, table->first_va));
        uint64_t word;

        if (!check_table_is_known(ledger, parent))
            return false;
        word = check_runs_word(table->is_64k && ledger->caps.gpummu.DualPteSupported
                                   ? &parent->pointers_64k
                                   : &parent->runs,
                               check_table_index(ledger, parent, table->first_va));
        if (!word || check_word_entry(word).LargePage || !leads_to_kind(ledger, word, table))
            return false;
        if (table->place == CHECK_NOWHERE
                ? !table->is_current
                : table->place != CHECK_PLACE(check_word_segment(word), check_word_page(word)))
            return false;
        table = parent;
    }
    if (!table->process || !check_table_is_known(ledger, table))
        return false;
    *out_root = table;
    return true;
}

bool check_is_leaf_known(const struct check_ledger *ledger, const struct check_process *process,
                         uint64_t va)
{
    uint64_t start = check_table_start(ledger, 0, va);
    const struct check_table *large = check_find_table(process, 0, true, start);

    return check_table_is_known(ledger, check_find_table(process, 0, false, start)) &&
           (!large || check_table_is_known(ledger, large));
}

uint64_t check_translate(const struct check_ledger *ledger, const struct check_process *process,
                         uint64_t va, uint64_t *out_page)
{
    *out_page = 0;
    for (unsigned level = 0; level < ledger->caps.level_count; level++) {
        for (unsigned is_64k = 0; is_64k < (level ? 1u : 2u); is_64k++) {
            const struct check_table *table =
                check_find_table(process, level, is_64k, check_table_start(ledger, level, va));
            unsigned shift = is_64k ? PAGE_SHIFT + 4 : check_level_shift(ledger, level);
            uint64_t word;

            if (!check_table_is_known(ledger, table))
                continue;
            word = check_runs_word(&table->runs, check_table_index(ledger, table, va));
            if (!word || (level && !check_word_entry(word).LargePage))
                continue;
            *out_page = check_word_page(word) + ((va & ((UINT64_C(1) << shift) - 1)) >> PAGE_SHIFT);
            return word;
        }
    }
    return 0;
}

/* ---- Writing --------------------------------------------------------------------------------- */

void check_tables_init(struct check_tables *tables, const struct base_services *services)
{
    id_map_init(&tables->by_place, services);
    for (unsigned i = 0; i < 3; i++)
        id_map_init(&tables->by_address[i], services);
    tables->epoch = 1;
}

void check_tables_fini(struct check_tables *tables)
{
    id_map_fini(&tables->by_place);
    for (unsigned i = 0; i < 3; i++)
        id_map_fini(&tables->by_address[i]);
}

/* ---- What was asked for, and who wrote ------------------------------------------------------- */

static struct check_asking *add_asking(struct check_ledger *ledger, const struct check_table *table,
                                       uint32_t first, uint32_t count)
{
    struct check_tables *tables = &ledger->tables;
    struct check_asking *asking = &tables->askings[tables->asking_count++ % CHECK_ASKINGS];

    *asking = (struct check_asking){
        .operation = ledger->operation, .table = table->number, .first = first, .count = count};
    return asking;
}

static void note_update(struct check_ledger *ledger, const struct check_table *table,
                        const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    struct check_asking *asking =
        add_asking(ledger, table, update->StartIndex, update->NumPageTableEntries);
    const DXGK_PTE *entries = update->pPageTableEntries;

    asking->word = check_word_of(entries);
    asking->is_initial = update->Flags.InitialUpdate;
    asking->is_repeat = update->Flags.Repeat;
    asking->is_by_cpu = update->UpdateMode == DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
    for (asking->known = 1; !asking->is_repeat && asking->known < asking->count; asking->known++) {
        if (check_word_of(&entries[asking->known]) != asking->word + asking->known)
            break;
    }
    if (asking->is_repeat)
        asking->known = asking->count;
}

/* Copied entries come one by one. */
static void note_copied(struct check_ledger *ledger, const struct check_table *table,
                        uint32_t index)
{
    struct check_tables *tables = &ledger->tables;
    struct check_asking *last = &tables->askings[(tables->asking_count - 1) % CHECK_ASKINGS];

    if (tables->asking_count && last->is_copy && last->operation == ledger->operation &&
        last->table == table->number && last->first + last->count == index)
        last->count++;
    else
        add_asking(ledger, table, index, 1)->is_copy = true;
}

const struct check_asking *check_tables_asked(const struct check_tables *tables,
                                              const struct check_table *table, uint32_t index,
                                              const struct check_asking *before)
{
    uint64_t known = min_u64(tables->asking_count, CHECK_ASKINGS);
    bool is_behind = before == NULL;

    for (uint64_t back = 1; back <= known; back++) {
        const struct check_asking *asking =
            &tables->askings[(tables->asking_count - back) % CHECK_ASKINGS];

        if (is_behind && asking->table == table->number && index - asking->first < asking->count)
            return asking;
        is_behind |= asking == before;
    }
    return NULL;
}

uint64_t check_asking_word(const struct check_asking *asking, uint32_t index)
{
    return asking->word + (asking->is_repeat ? 0 : index - asking->first);
}

void check_tables_note_write(struct check_tables *tables, struct check_place place, uint64_t bytes,
                             uint64_t operation)
{
    if (operation)
        tables->writes[tables->write_count++ % CHECK_TABLE_WRITES] =
            (struct check_table_write){place, bytes, operation};
}

uint64_t check_tables_find_write(const struct check_tables *tables, struct check_place place)
{
    uint64_t known = min_u64(tables->write_count, CHECK_TABLE_WRITES);

    for (uint64_t back = 1; back <= known; back++) {
        const struct check_table_write *write =
            &tables->writes[(tables->write_count - back) % CHECK_TABLE_WRITES];

        if (write->place.is_ram == place.is_ram &&
            place.address - write->place.address < write->bytes)
            return write->operation;
    }
    return 0;
}

void check_tables_lose(struct check_tables *tables)
{
    tables->epoch++;
}

static void leave_map(struct id_map *map, uint64_t key, const struct check_table *table)
{
    if (id_map_find(map, key) == table)
        id_map_remove(map, key);
}

static void forget_table(struct check_ledger *ledger, struct check_table *table)
{
    struct check_tables *tables = &ledger->tables;

    list_remove(&table->link);
    if (table->is_current)
        leave_map(&table->process->tables, key_of(table->level, table->is_64k, table->first_va),
                  table);
    leave_map(&tables->by_place, place_key(table->place, table->cpu_address), table);
    for (unsigned mode = 0; mode < 3; mode++)
        leave_map(&tables->by_address[mode], *address_field(table, mode), table);
    runs_fini(ledger->services, &table->runs);
    runs_fini(ledger->services, &table->pointers_64k);
    base_free(ledger->services, table, sizeof *table);
}

void check_tables_forget_process(struct check_ledger *ledger, struct check_process *process)
{
    while (process->table_list.next && !list_is_empty(&process->table_list))
        forget_table(ledger, list_first_entry(&process->table_list, struct check_table, link));
    id_map_fini(&process->tables);
}

static bool name_table(struct check_ledger *ledger, struct check_table *table,
                       const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    unsigned mode = mode_of(update);

    *address_field(table, mode) = address_of(update);
    return id_map_set(&ledger->tables.by_address[mode], address_of(update), table);
}

/* A table whose first entries are being initialised: its memory held something else, or nothing. */
static struct check_table *begin_table(struct check_ledger *ledger,
                                       const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    struct check_process *process = check_find_process(ledger, update->hProcess);
    struct check_table *there = check_table_in_place_of(ledger, update);
    struct check_table *old = check_table_in_role_of(ledger, update);
    struct check_table *table;

    if (!process)
        return NULL;
    if (there)
        forget_table(ledger, there);
    if (there == old)
        old = NULL;
    there = id_map_find(&ledger->tables.by_address[mode_of(update)], address_of(update));
    if (there)
        forget_table(ledger, there);
    if (there == old)
        old = NULL;
    if (old) {
        old->is_current = false;
        process->is_root_replaced |= old->level + 1 == ledger->caps.level_count;
    }
    table = base_alloc(ledger->services, sizeof *table);
    if (!table)
        return NULL;
    *table = (struct check_table){
        .process = process,
        .level = update->PageTableLevel,
        .is_64k = update->Flags.Use64KBPages,
        .first_va =
            check_table_start(ledger, update->PageTableLevel, update->FirstPteVirtualAddress),
        .number = ++ledger->tables.count,
        .place = place_of_update(ledger, update),
        .epoch = ledger->tables.epoch,
        .is_current = true,
    };
    list_init(&table->link);
    list_push_back(&process->table_list, &table->link);
    if (!name_table(ledger, table, update) ||
        !id_map_set(&ledger->tables.by_place, place_key(table->place, table->cpu_address), table) ||
        !id_map_set(&process->tables, key_of(table->level, table->is_64k, table->first_va),
                    table)) {
        forget_table(ledger, table);
        return NULL;
    }
    return table;
}

/* What a table says that is not of the present epoch is not known. */
#define UNKNOWN_EPOCH 0

static bool lose_runs(struct check_ledger *ledger, struct check_table *table)
{
    runs_fini(ledger->services, &table->runs);
    runs_fini(ledger->services, &table->pointers_64k);
    table->epoch = UNKNOWN_EPOCH;
    return false;
}

static bool write_table(struct check_ledger *ledger, struct check_table *table,
                        const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    const struct base_services *services = ledger->services;
    uint32_t first = update->StartIndex, count = update->NumPageTableEntries;
    bool is_repeat = update->Flags.Repeat;

    if (!count || !update->pPageTableEntries)
        return true;
    note_update(ledger, table, update);
    table->written = ledger->operation;
    table->is_by_cpu = update->UpdateMode == DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
    if (check_runs_has_valid(&table->runs, first, count))
        table->rewritten = ledger->operation;
    if (!runs_write(services, &table->runs, first, count, update->pPageTableEntries, is_repeat) ||
        (update->pPageTableEntries64KB && !runs_write(services, &table->pointers_64k, first, count,
                                                      update->pPageTableEntries64KB, is_repeat)))
        return lose_runs(ledger, table);
    return true;
}

bool check_tables_update(struct check_ledger *ledger,
                         const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update, uint64_t event)
{
    bool is_initial = update->Flags.InitialUpdate;
    uint64_t end = (uint64_t)update->StartIndex + update->NumPageTableEntries;
    struct check_table *table;

    if (ledger->tables.is_off || ++ledger->tables.updates > CHECK_TABLES_FOLLOWED) {
        ledger->tables.epoch += !ledger->tables.is_off; /* none is known any more */
        ledger->tables.is_off = true;
        return true;
    }
    table = is_initial && !update->StartIndex ? begin_table(ledger, update)
                                              : check_table_of_update(ledger, update);
    if (!table)
        return !is_initial || !check_find_process(ledger, update->hProcess);
    if (!*address_field(table, mode_of(update)) && !name_table(ledger, table, update))
        return false;
    if (end > UINT32_MAX || update->PageTableLevel != table->level)
        return true; /* unlawful, and told */
    if (is_initial) {
        table->initialised_count += update->NumPageTableEntries;
        table->is_initialised =
            table->initialised_count >= check_level_entries(ledger, table->level, table->is_64k);
        if (table->level == 1 && check_root_grows(ledger))
            table->is_initialised = true; /* as large as it is made */
        table->event = event;
    }
    if (!write_table(ledger, table, update))
        return false;
    if (update->Flags.NotifyEviction)
        table->is_evicted = true;
    return true;
}

/* Entry by entry: source and destination may be one table. */
bool check_tables_copy(struct check_ledger *ledger,
                       const DXGK_BUILDPAGINGBUFFER_COPYPAGETABLEENTRIES *copy)
{
    for (UINT i = 0; i < copy->NumRanges; i++) {
        const DXGK_BUILDPAGINGBUFFER_COPY_RANGE *range = &copy->pRanges[i];
        uint32_t from, to, bytes;
        struct check_table *source, *destination;

        bytes = ledger->caps.levels[0].PageTableSizeInBytes >>
                min_u64(ledger->caps.levels[0].PageTableIndexBitCount, 31);
        for (UINT k = 0; k < range->NumPageTableEntries; k++) {
            source = check_table_at_address(ledger,
                                            range->SrcPageTableAddress +
                                                (uint64_t)(range->SrcStartPteIndex + k) * bytes,
                                            &from);
            destination = check_table_at_address(
                ledger,
                range->DstPageTableAddress + (uint64_t)(range->DstStartPteIndex + k) * bytes, &to);
            if (!destination)
                continue;
            if (check_table_is_known(ledger, source)) {
                const DXGK_PTE entry = check_word_entry(check_runs_word(&source->runs, from));

                if (!runs_write(ledger->services, &destination->runs, to, 1, &entry, false))
                    return lose_runs(ledger, destination);
            } else {
                destination->epoch = UNKNOWN_EPOCH;
            }
            note_copied(ledger, destination, to);
            destination->written = destination->rewritten = ledger->operation;
            destination->is_by_cpu = false;
        }
    }
    return true;
}
