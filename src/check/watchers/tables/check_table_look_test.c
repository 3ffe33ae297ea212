#include "check/check_watch.h"
#include "check/rig/test_rig_tables.h"

/*
 * The tables for RIG_VA as a GPU has them in memory, and a driver that writes them when the rig
 * says so: rightly, but for one mistake.
 */
enum mistake {
    NO_MISTAKE,
    KEEPS_OLD_BITS,     /* a new table keeps what was in its memory */
    WRITES_FIRST_ONLY,  /* of a repetition */
    SHIFTS_ENTRIES,     /* entry i goes to index i + 1 */
    WRITES_ELSEWHERE,   /* nothing is there */
    FORGETS_PROTECTION, /* of the driver */
    WRITES_AT_ONCE,     /* though the GPU is to do it */
    COUNTS_IN_4K,       /* indices of a 64 KiB table */
    PACKS_ENTRIES,      /* the first entries of the array are those of GPU pages of 16 KiB */
    LEAVES_OUT_MIDDLES, /* no mistake: of each GPU page of 16 KiB the first entry alone */
    SWAPS_POINTERS,     /* of an entry with two */
    READS_EARLY,        /* copies what was there when the copy was built */
};

struct memory {
    struct check_gpu_entry leaf[RIG_ENTRIES], leaf_64k[RIG_ENTRIES], middle[RIG_ENTRIES],
        root[RIG_ENTRIES];
    bool has_16k_pages; /* the GPU's own: the first entry of four is that of all */
};

static bool walk_memory(struct rig *rig, bool is_system, uint64_t root, uint64_t va,
                        struct check_gpu_walk *out)
{
    struct memory *memory = rig->tables;

    if (is_system || root != 103 * 4096)
        return false;
    out->entries[2] = memory->root[va >> 30 & 511];
    out->entries[1] = memory->middle[va >> 21 & 511];
    out->entries[0] = memory->leaf[va >> 12 & 511];
    if (memory->has_16k_pages) {
        out->entries[0] = memory->leaf[va >> 12 & 508];
        out->entries[0].address += va & 0x3000;
        out->entries[0].gpu_page_bytes = 0x4000;
    }
    if (memory->leaf_64k[va >> 16 & 31].is_valid) {
        out->entries[0] = memory->leaf_64k[va >> 16 & 31];
        out->entries[0].is_64k = true;
    }
    for (unsigned i = 0; i < 3; i++)
        out->entries[i].is_read = true;
    return true;
}

static struct check_gpu_entry hardware(const DXGK_PTE *pte, uint64_t protection)
{
    return (struct check_gpu_entry){
        .is_valid = pte->Valid,
        .is_read_only = pte->ReadOnly,
        .address = pte->PageAddress << 12,
        .protection = pte->Valid ? protection : 0,
        .protection_mask = 0x7fff,
    };
}

static void write_memory(struct rig *rig, const struct rig_update *update, enum mistake mistake)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *pages = &update->arg.UpdatePageTable;
    struct memory *memory = rig->tables;
    struct check_gpu_entry *table = pages->PageTableLevel == 2   ? memory->root
                                    : pages->PageTableLevel == 1 ? memory->middle
                                    : pages->Flags.Use64KBPages  ? memory->leaf_64k
                                                                 : memory->leaf;
    unsigned count = pages->NumPageTableEntries;

    if (mistake == WRITES_ELSEWHERE)
        return;
    if (mistake == WRITES_FIRST_ONLY)
        count = 1;
    for (unsigned i = 0; i < count; i++) {
        const DXGK_PTE *pte = &update->entries[pages->Flags.Repeat ? 0 : i];
        unsigned index = pages->StartIndex + i;

        if (mistake == SHIFTS_ENTRIES)
            index = (index + 1) % RIG_ENTRIES;
        if (mistake == COUNTS_IN_4K)
            index = index * 16 % RIG_ENTRIES;
        if (mistake == KEEPS_OLD_BITS && table[index].is_valid)
            continue;
        if (mistake == PACKS_ENTRIES && pages->PageTableLevel == 0)
            pte = &update->entries[i / 4];
        if (mistake == LEAVES_OUT_MIDDLES && pages->PageTableLevel == 0 && i % 4)
            continue;
        if (mistake == SWAPS_POINTERS)
            pte = &update->entries_64k[i];
        table[index] = hardware(pte, mistake == FORGETS_PROTECTION ? 0 : pages->DriverProtection);
    }
}

/* Built, submitted and carried out; the GPU has flushed whatever it was told to. */
static void carry_out(struct rig *rig, struct rig_update *update, enum mistake mistake)
{
    uint32_t fence;

    rig_update(rig, update);
    fence = rig_submit(rig);
    write_memory(rig, update, mistake);
    rig_complete(rig, 0, fence);
}

static void begin_table(struct rig *rig, struct rig_update *update, unsigned level)
{
    rig_begin_update(rig, update, level, level == 2 ? 0 : RIG_VA, RIG_ENTRIES);
    update->arg.UpdatePageTable.Flags.InitialUpdate = update->arg.UpdatePageTable.Flags.Repeat = 1;
}

static void prepare_tables(struct rig *rig, struct memory *memory)
{
    struct rig_update update;

    memset(memory, 0, sizeof *memory);
    rig->walk = walk_memory;
    rig->tables = memory;
    for (unsigned level = 0; level < 3; level++) {
        begin_table(rig, &update, level);
        carry_out(rig, &update, NO_MISTAKE);
    }
    for (unsigned level = 1; level < 3; level++) {
        rig_begin_link(rig, &update, level, RIG_VA, 100 + level);
        carry_out(rig, &update, NO_MISTAKE);
    }
}

static void map_sixteen(struct rig *rig, enum mistake mistake)
{
    struct memory memory;
    struct rig_update update;

    prepare_tables(rig, &memory);
    memory.has_16k_pages = mistake == PACKS_ENTRIES || mistake == LEAVES_OUT_MIDDLES;
    rig_begin_map(rig, &update, RIG_VA + 0x10000, rig_create_allocation(rig, NULL), 32, 16);
    update.arg.UpdatePageTable.DriverProtection = 5;
    carry_out(rig, &update, mistake);
    rig->tables = NULL;
    rig->walk = NULL;
}

RULE_BROKEN(PT_026)
{
    map_sixteen(rig, PACKS_ENTRIES);
}

RULE_KEPT(PT_026)
{
    map_sixteen(rig, LEAVES_OUT_MIDDLES);
}

RULE_BROKEN(PT_017)
{
    map_sixteen(rig, SHIFTS_ENTRIES);
    assert_string_equal(rig->last.detail.where,
                        "DxgkDdiBuildPagingBuffer(UPDATE_PAGE_TABLE).pPageTableEntries");
    assert_true(rig->last.detail.event && rig->last.detail.event < rig->calls.last);
}

RULE_KEPT(PT_017)
{
    map_sixteen(rig, NO_MISTAKE);
}

RULE_BROKEN(PT_028)
{
    map_sixteen(rig, FORGETS_PROTECTION);
    assert_non_null(strstr(rig->last.text, "leads to GPU address 0x20000, protection 0x0"));
}

RULE_KEPT(PT_028)
{
    map_sixteen(rig, NO_MISTAKE);
}

static NTSTATUS answer_in_part(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    DXGKARG_BUILDPAGINGBUFFER *build = arg;

    if (ddi != MINIPORT_DDI_BuildPagingBuffer)
        return rig_answer(rig, ddi, object, arg);
    memset(build->pDmaBuffer, 1, RIG_PACKET_BYTES);
    build->pDmaBuffer = (char *)build->pDmaBuffer + RIG_PACKET_BYTES;
    build->MultipassOffset = 8;
    return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
}

/* The paging process is set up by the CPU, without a buffer. */
static void update_by_cpu(struct rig *rig)
{
    struct rig_update update;

    rig_begin_update(rig, &update, 0, RIG_VA, RIG_ENTRIES);
    update.arg.UpdatePageTable.hProcess = rig->system_process;
    update.arg.UpdatePageTable.UpdateMode = DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
    update.arg.UpdatePageTable.PageTableAddress.CpuVirtual = rig->buffer;
    update.arg.UpdatePageTable.Flags.InitialUpdate = update.arg.UpdatePageTable.Flags.Repeat = 1;
    miniport_build_paging_buffer(rig->top, NULL, &update.arg);
}

enum ahead { NOT_BUILT, BUILT_IN_PART, BUILT_IN_PART_AND_CPU_UPDATED, AHEAD_COUNT };

/*
 * A mapping is built in part, and the GPU has carried that out when the packet in front of it,
 * which made the table and leads to it, is reported: its empty entries are not missed, whatever the
 * CPU writes before the rest is built. Else they are.
 */
static void write_ahead(struct rig *rig, enum ahead ahead)
{
    struct memory memory;
    struct rig_update update, map;
    uint32_t fence;

    prepare_tables(rig, &memory);
    rig_begin_link(rig, &update, 1, RIG_VA, 101);
    rig_update(rig, &update);
    fence = rig_submit(rig);
    rig_begin_map(rig, &map, RIG_VA, NULL, 32, RIG_ENTRIES);
    if (ahead != NOT_BUILT) {
        rig->answer = answer_in_part;
        rig_update(rig, &map);
        rig->answer = NULL;
    }
    if (ahead == BUILT_IN_PART_AND_CPU_UPDATED)
        update_by_cpu(rig);
    write_memory(rig, &map, NO_MISTAKE);
    rig_complete(rig, 0, fence);
    rig->walk = NULL;
}

static void an_operation_whose_first_part_has_run_is_no_mistake(void **state)
{
    for (unsigned ahead = 0; ahead < AHEAD_COUNT; ahead++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        write_ahead(rig, (enum ahead)ahead);
        rig_expect_only(rig, ahead == NOT_BUILT ? RULE_PT_014 : RULE_NONE);
        rig_fini(rig);
        free(rig);
    }
}

static void initialise_again(struct rig *rig, enum mistake mistake)
{
    struct memory memory;
    struct rig_update update;

    prepare_tables(rig, &memory);
    /* The table is made anew where it was; entries of its former life are still there. */
    for (unsigned i = 0; i < RIG_ENTRIES; i++)
        memory.leaf[i] = (struct check_gpu_entry){.is_valid = true, .address = 0x7000};
    begin_table(rig, &update, 0);
    carry_out(rig, &update, mistake);
    rig->walk = NULL;
}

RULE_BROKEN(PT_014)
{
    initialise_again(rig, KEEPS_OLD_BITS);
}

RULE_KEPT(PT_014)
{
    initialise_again(rig, NO_MISTAKE);
}

/* The new root is somewhere else, and nobody has been told where: the old one is not looked at. */
static void a_root_that_is_made_anew_is_not_the_old_one(void **state)
{
    for (unsigned is_new = 0; is_new < 2; is_new++) {
        struct rig *rig = malloc(sizeof *rig);
        struct memory memory;
        struct rig_update update;

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        prepare_tables(rig, &memory);
        for (unsigned i = 0; i < RIG_ENTRIES; i++)
            memory.root[i] = (struct check_gpu_entry){.is_valid = true, .address = 0x7000};
        begin_table(rig, &update, 2);
        if (is_new)
            update.arg.UpdatePageTable.PageTableAddress.GpuVirtual += 0x1000000;
        carry_out(rig, &update, WRITES_ELSEWHERE);
        rig_expect_only(rig, is_new ? RULE_NONE : RULE_PT_014);
        rig->walk = NULL;
        rig_fini(rig);
        free(rig);
    }
}

static void clear_sixteen(struct rig *rig, enum mistake mistake)
{
    struct memory memory;
    struct rig_update update;

    prepare_tables(rig, &memory);
    rig_begin_map(rig, &update, RIG_VA, NULL, 32, 16);
    carry_out(rig, &update, NO_MISTAKE);
    rig_begin_update(rig, &update, 0, RIG_VA, 16);
    update.arg.UpdatePageTable.Flags.Repeat = 1;
    carry_out(rig, &update, mistake);
    rig->walk = NULL;
}

RULE_BROKEN(PT_016)
{
    clear_sixteen(rig, WRITES_FIRST_ONLY);
}

RULE_KEPT(PT_016)
{
    clear_sixteen(rig, NO_MISTAKE);
}

static void map_one(struct rig *rig, enum mistake mistake)
{
    struct memory memory;
    struct rig_update update;

    prepare_tables(rig, &memory);
    rig_begin_map(rig, &update, RIG_VA + 0x10000, NULL, 32, 1);
    carry_out(rig, &update, mistake);
    rig->walk = NULL;
}

RULE_BROKEN(PT_019)
{
    map_one(rig, WRITES_ELSEWHERE);
}

RULE_KEPT(PT_019)
{
    map_one(rig, NO_MISTAKE);
}

/* A driver of the CPU's mode, which writes before it returns, or not. */
static struct rig_update *current_update;

static NTSTATUS write_on_call(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_BuildPagingBuffer)
        write_memory(rig, current_update, *(enum mistake *)rig->told);
    return rig_answer(rig, ddi, object, arg);
}

static void build_and_write(struct rig *rig, enum mistake mistake, bool is_by_cpu)
{
    struct memory memory;
    struct rig_update update;
    static enum mistake told;

    prepare_tables(rig, &memory);
    if (is_by_cpu) {
        rig->gpummu.PageTableUpdateMode = DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
        rig->levels[1].PageTableSegmentId = rig->levels[2].PageTableSegmentId = 0;
        rig_query_mmu(rig);
    }
    rig_begin_map(rig, &update, RIG_VA + 0x10000, NULL, 32, 1);
    if (is_by_cpu)
        update.arg.UpdatePageTable.PageTableAddress.CpuVirtual = &memory;
    current_update = &update;
    told = mistake;
    rig->told = &told;
    rig->answer = write_on_call;
    rig_update(rig, &update);
    rig->answer = NULL;
    rig->walk = NULL;
}

RULE_BROKEN(PT_021)
{
    build_and_write(rig, WRITES_ELSEWHERE, true);
}

RULE_KEPT(PT_021)
{
    build_and_write(rig, NO_MISTAKE, true);
}

RULE_BROKEN(PT_023)
{
    build_and_write(rig, NO_MISTAKE, false);
}

RULE_KEPT(PT_023)
{
    build_and_write(rig, WRITES_ELSEWHERE, false); /* the GPU will */
}

/* ---- Two page sizes ---- */

static void map_64k(struct rig *rig, enum mistake of_leaf, enum mistake of_pointer)
{
    struct memory memory;
    struct rig_update update;

    rig->gpummu.LeafPageTableSizeFor64KPagesInBytes = 4096;
    rig->gpummu.DualPteSupported = 1;
    rig_query_mmu(rig);
    rig->segments[0].Flags.Use64KBPages = 1;
    rig_query_segments(rig);
    prepare_tables(rig, &memory);
    rig_begin_update(rig, &update, 0, RIG_VA, 32);
    update.arg.UpdatePageTable.Flags.Use64KBPages = 1;
    update.arg.UpdatePageTable.PageTableAddress.GpuVirtual += 0x1000000;
    update.arg.UpdatePageTable.Flags.InitialUpdate = update.arg.UpdatePageTable.Flags.Repeat = 1;
    carry_out(rig, &update, NO_MISTAKE);
    rig_begin_link(rig, &update, 1, RIG_VA, 101);
    update.entries_64k[0] = update.entries[0];
    update.entries_64k[0].PageAddress = 99;
    update.arg.UpdatePageTable.pPageTableEntries64KB = update.entries_64k;
    carry_out(rig, &update, of_pointer);
    rig_begin_update(rig, &update, 0, RIG_VA + 0x20000, 1);
    update.arg.UpdatePageTable.Flags.Use64KBPages = 1;
    update.arg.UpdatePageTable.StartIndex = 2;
    update.arg.UpdatePageTable.PageTableAddress.GpuVirtual += 0x1000000;
    update.entries[0].Valid = 1;
    update.entries[0].Segment = 1;
    update.entries[0].PageAddress = 64;
    /* The GPU sees an entry of 64 KiB where it was before, at another page. */
    memory.leaf_64k[2] = (struct check_gpu_entry){.is_valid = true, .address = 0x50000};
    carry_out(rig, &update, of_leaf);
    rig->walk = NULL;
}

RULE_BROKEN(PT_039)
{
    map_64k(rig, COUNTS_IN_4K, NO_MISTAKE);
}

RULE_KEPT(PT_039)
{
    map_64k(rig, NO_MISTAKE, NO_MISTAKE);
}

RULE_BROKEN(PT_041)
{
    map_64k(rig, NO_MISTAKE, SWAPS_POINTERS);
}

RULE_KEPT(PT_041)
{
    map_64k(rig, NO_MISTAKE, NO_MISTAKE);
}

/* ---- Copies ---- */

static void begin_copy(DXGKARG_BUILDPAGINGBUFFER *arg, DXGK_BUILDPAGINGBUFFER_COPY_RANGE *range)
{
    *range = (DXGK_BUILDPAGINGBUFFER_COPY_RANGE){
        .NumPageTableEntries = 16,
        .SrcPageTableAddress = rig_table_va(0, RIG_VA),
        .DstPageTableAddress = rig_table_va(0, RIG_VA),
        .SrcStartPteIndex = 16,
        .DstStartPteIndex = 64,
    };
    *arg = (DXGKARG_BUILDPAGINGBUFFER){.Operation = DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES};
    arg->CopyPageTableEntries.NumRanges = 1;
    arg->CopyPageTableEntries.pRanges = range;
}

/* The source changes in front of the copy, in the same buffer or in one that has retired. */
static void copy_entries(struct rig *rig, bool is_late, enum mistake mistake)
{
    struct memory memory, before;
    struct rig_update update;
    DXGK_BUILDPAGINGBUFFER_COPY_RANGE range;
    DXGKARG_BUILDPAGINGBUFFER arg;
    uint32_t fence;

    rig_enter_companion(rig);
    prepare_tables(rig, &memory);
    rig_begin_map(rig, &update, RIG_VA + 0x10000, NULL, 32, 16);
    if (!is_late)
        carry_out(rig, &update, NO_MISTAKE);
    else
        rig_update(rig, &update);
    before = memory;
    begin_copy(&arg, &range);
    rig_build(rig, &arg);
    fence = rig_submit(rig);
    if (is_late)
        write_memory(rig, &update, NO_MISTAKE);
    for (unsigned i = 0; i < 16 && mistake != WRITES_ELSEWHERE; i++)
        memory.leaf[64 + i] = mistake == READS_EARLY ? before.leaf[16 + i] : memory.leaf[16 + i];
    rig_complete(rig, 0, fence);
    rig->walk = NULL;
}

RULE_BROKEN(CPTE_002)
{
    copy_entries(rig, false, WRITES_ELSEWHERE);
}

RULE_KEPT(CPTE_002)
{
    copy_entries(rig, false, NO_MISTAKE);
}

RULE_BROKEN(CPTE_003)
{
    copy_entries(rig, true, READS_EARLY);
}

RULE_KEPT(CPTE_003)
{
    copy_entries(rig, true, NO_MISTAKE);
}

static NTSTATUS write_nothing(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    return STATUS_SUCCESS;
}

/*
 * Behind a copy that waits in the buffer of another context the driver is asked for something that
 * needs no commands. It counts as run with the commands before it in its own buffer, and the copy
 * does not.
 */
static void what_writes_nothing_does_not_end_what_waits_before_it(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGKARG_BUILDPAGINGBUFFER copy, empty = {0};
    DXGK_BUILDPAGINGBUFFER_COPY_RANGE range;
    struct rig_update update;
    struct memory memory;
    HANDLE first;
    uint32_t end;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    first = rig->system_context;
    prepare_tables(rig, &memory);
    rig_begin_map(rig, &update, RIG_VA + 0x10000, NULL, 32, 16);
    carry_out(rig, &update, NO_MISTAKE);

    rig_flush(rig, rig->process, RIG_VA, RIG_VA + 0x20000);
    end = rig->buffer_used;
    rig_enter_companion(rig);
    begin_copy(&copy, &range);
    rig_build(rig, &copy);
    rig->system_context = first;
    rig->answer = write_nothing;
    empty.Operation = (DXGK_BUILDPAGINGBUFFER_OPERATION)0x7fffffff;
    rig_build(rig, &empty);
    rig->answer = NULL;
    rig->buffer_used = end;
    rig_complete(rig, 0, rig_submit(rig));
    assert_int_equal(rig->counts.evaluated[RULE_CPTE_002], 0);
    assert_int_equal(rig->counts.broken[RULE_CPTE_002], 0);
    rig_fini(rig);
    free(rig);
}

/* ---- Flushes ---- */

static void gpu_flushes(struct rig *rig, uint64_t start, uint64_t end)
{
    check_gpu(rig->check, &(struct check_gpu_event){
                              .kind = CHECK_GPU_FLUSHED,
                              .address = 103 * 4096,
                              .start = start,
                              .end = end,
                          });
}

static void gpu_runs(struct rig *rig, uint32_t fence, unsigned operations)
{
    check_gpu(rig->check, &(struct check_gpu_event){.kind = CHECK_GPU_QUEUED,
                                                    .fence = fence,
                                                    .address = 0x10000,
                                                    .bytes = operations * RIG_PACKET_BYTES});
    check_gpu(rig->check, &(struct check_gpu_event){.kind = CHECK_GPU_DONE, .fence = fence});
}

/* An entry changes and is flushed by a GPU that carries out [start, end) of it, 0, 0: nothing. */
static void flush_on_gpu(struct rig *rig, uint64_t start, uint64_t end, bool is_in_order)
{
    struct memory memory;
    struct rig_update update;
    uint32_t fence;

    prepare_tables(rig, &memory);
    rig_begin_map(rig, &update, RIG_VA + 0x10000, NULL, 32, 16);
    rig_update(rig, &update);
    rig_flush(rig, rig->process, RIG_VA + 0x10000, RIG_VA + 0x20000);
    fence = rig_submit(rig);
    if (is_in_order)
        write_memory(rig, &update, NO_MISTAKE);
    if (end)
        gpu_flushes(rig, start, end);
    if (!is_in_order)
        write_memory(rig, &update, NO_MISTAKE);
    gpu_runs(rig, fence, 2);
    rig_complete(rig, 0, fence);
    rig->walk = NULL;
}

RULE_BROKEN(TLB_002)
{
    flush_on_gpu(rig, 0, 0, true);
    assert_string_equal(rig->last.detail.where, "DxgkDdiBuildPagingBuffer(FLUSH_TLB)");
}

RULE_KEPT(TLB_002)
{
    flush_on_gpu(rig, RIG_VA + 0x10000, RIG_VA + 0x20000, true);
}

RULE_BROKEN(TLB_007)
{
    flush_on_gpu(rig, RIG_VA + 0x10000, RIG_VA + 0x1f000, true);
}

/* Wider than asked. */
RULE_KEPT(TLB_007)
{
    flush_on_gpu(rig, RIG_VA, RIG_VA + 0x200000, true);
}

RULE_BROKEN(TLB_006)
{
    flush_on_gpu(rig, RIG_VA + 0x10000, RIG_VA + 0x20000, false);
}

RULE_KEPT(TLB_006)
{
    flush_on_gpu(rig, RIG_VA + 0x10000, RIG_VA + 0x20000, true);
}

/*
 * Two flushes of one range, an entry written between them: the GPU's first one serves the first
 * operation alone. Whether it serves the second one in order is the test's.
 */
static void a_flush_serves_what_was_written_before_it(void **state)
{
    for (unsigned is_in_order = 0; is_in_order < 2; is_in_order++) {
        struct rig *rig = malloc(sizeof *rig);
        struct rig_update first, second;
        struct memory memory;
        uint32_t fence;

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        prepare_tables(rig, &memory);
        rig_begin_map(rig, &first, RIG_VA + 0x10000, NULL, 32, 16);
        rig_update(rig, &first);
        rig_flush(rig, rig->process, RIG_VA + 0x10000, RIG_VA + 0x20000);
        rig_flush(rig, rig->process, RIG_VA + 0x10000, RIG_VA + 0x20000);
        rig_begin_map(rig, &second, RIG_VA + 0x20000, NULL, 64, 16);
        rig_update(rig, &second);
        rig_flush(rig, rig->process, RIG_VA + 0x10000, RIG_VA + 0x30000);
        fence = rig_submit(rig);
        write_memory(rig, &first, NO_MISTAKE);
        gpu_flushes(rig, RIG_VA + 0x10000, RIG_VA + 0x20000);
        gpu_flushes(rig, RIG_VA + 0x10000, RIG_VA + 0x20000);
        if (is_in_order)
            write_memory(rig, &second, NO_MISTAKE);
        gpu_flushes(rig, RIG_VA + 0x10000, RIG_VA + 0x30000);
        if (!is_in_order)
            write_memory(rig, &second, NO_MISTAKE);
        gpu_runs(rig, fence, 5);
        rig_complete(rig, 0, fence);
        if (is_in_order)
            rig_expect_silence(rig, RULE_TLB_006);
        else
            rig_expect_only(rig, RULE_TLB_006);
        rig->walk = NULL;
        rig_fini(rig);
        free(rig);
    }
}

/*
 * A GPU that tells of flushes and of nothing else, and that flushes everything at any time: before
 * the entry is written, and behind it, or not.
 */
static void flush_by_the_way(bool is_early, bool is_late, enum rule_id expected)
{
    struct rig *rig = malloc(sizeof *rig);
    const struct check_gpu_event everything = {.kind = CHECK_GPU_FLUSHED, .is_everywhere = true};
    struct rig_update update;
    struct memory memory;
    uint32_t fence;

    assert_non_null(rig);
    rig_prepare(rig, RIG_GPUMMU);
    rig->config.hears_flushes = true;
    rig_init_prepared(rig);
    prepare_tables(rig, &memory);
    rig_begin_map(rig, &update, RIG_VA + 0x10000, NULL, 32, 16);
    rig_update(rig, &update);
    rig_flush(rig, rig->process, RIG_VA + 0x10000, RIG_VA + 0x20000);
    fence = rig_submit(rig);
    if (is_early)
        check_gpu(rig->check, &everything);
    write_memory(rig, &update, NO_MISTAKE);
    if (is_late)
        check_gpu(rig->check, &everything);
    rig_complete(rig, 0, fence);
    if (expected)
        rig_expect_only(rig, expected);
    else
        rig_expect_silence(rig, RULE_TLB_002);
    rig->walk = NULL;
    rig_fini(rig);
    free(rig);
}

static void flushes_of_a_gpu_that_tells_nothing_else_are_judged(void **state)
{
    flush_by_the_way(false, true, RULE_NONE);
    flush_by_the_way(true, true, RULE_NONE);
    flush_by_the_way(false, false, RULE_TLB_002);
    flush_by_the_way(true, false, RULE_TLB_006);
}

/* A GPU whose entries hold a bit of it is compared in that bit. */
static void protection_is_compared_where_entries_hold_it(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (int is_held = 0; is_held < 2; is_held++) {
        struct rig_update update;
        struct memory memory;

        rig_init(rig, RIG_GPUMMU);
        prepare_tables(rig, &memory);
        rig_begin_map(rig, &update, RIG_VA, NULL, 32, 1);
        update.arg.UpdatePageTable.DriverProtection = 0x22;
        rig_update(rig, &update);
        write_memory(rig, &update, NO_MISTAKE);
        memory.leaf[0].protection = 0x20;
        memory.leaf[0].protection_mask = is_held ? 0x22 : 0x20;
        rig_complete(rig, 0, rig_submit(rig));
        if (is_held)
            rig_expect_only(rig, RULE_PT_028);
        else
            rig_expect_silence(rig, RULE_PT_028);
        rig->walk = NULL;
        rig_fini(rig);
    }
    free(rig);
}

/*
 * Work of the context faults at an address whose entry is valid in memory, or is not; or the GPU
 * cannot read the commands that it finds where its buffer is mapped, whose entry has been lost
 * since, or has not.
 */
static void fault_of(struct rig *rig, uint64_t va, bool is_of_commands, bool is_lost)
{
    struct check_gpu_event event = {.kind = CHECK_GPU_FAULT,
                                    .node = 1,
                                    .fence = 1,
                                    .address = is_of_commands ? 0 : va,
                                    .is_malformed_packet = is_of_commands};
    const struct check_gpu_event queued = {
        .kind = CHECK_GPU_QUEUED, .node = 1, .fence = 1, .bytes = RIG_PACKET_BYTES, .address = va};
    DXGKARG_SUBMITCOMMANDVIRTUAL submit = {.hContext = rig->context,
                                           .DmaBufferVirtualAddress = RIG_VA,
                                           .DmaBufferSize = RIG_PACKET_BYTES,
                                           .SubmissionFenceId = 1,
                                           .NodeOrdinal = 1};
    struct memory memory;
    struct rig_update update;

    rig->gpummu.InvalidTlbEntriesNotCached = 1;
    rig_query_mmu(rig);
    prepare_tables(rig, &memory);
    rig_begin_map(rig, &update, RIG_VA, NULL, 32, 16);
    carry_out(rig, &update, NO_MISTAKE);
    rig->irql = DISPATCH_LEVEL;
    submit.DmaBufferVirtualAddress = is_of_commands ? va : RIG_VA;
    miniport_submit_command_virtual(rig->top, NULL, &submit);
    if (is_of_commands)
        check_gpu(rig->check, &queued);
    if (is_lost)
        memory.leaf[va >> 12 & 511].is_valid = false;
    check_gpu(rig->check, &event);
    rig->walk = NULL;
}

static void fault_at(struct rig *rig, uint64_t va)
{
    fault_of(rig, va, false, false);
}

static void a_fault_is_blamed_on_the_entry_that_is_not_as_asked(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (unsigned i = 0; i < 4; i++) {
        rig_init(rig, RIG_GPUMMU);
        if (i == 3) /* an entry that was never to be valid */
            fault_of(rig, RIG_VA + 0x10000, false, true);
        else
            fault_of(rig, RIG_VA + 0x5000, i > 0, i < 2);
        rig_expect_only(rig, i < 2 ? RULE_PT_017 : RULE_NONE);
        rig_fini(rig);
    }
    free(rig);
}

RULE_BROKEN(TLB_005)
{
    fault_at(rig, RIG_VA + 0xf000);
}

RULE_KEPT(TLB_005)
{
    fault_at(rig, RIG_VA + 0x10000);
}

static void fault_in_context(struct rig *rig, uint64_t va)
{
    const struct check_gpu_event event = {
        .kind = CHECK_GPU_FAULT, .node = 1, .fence = 1, .address = va};
    DXGKARG_SUBMITCOMMANDVIRTUAL submit = {.hContext = rig->context,
                                           .DmaBufferVirtualAddress = RIG_VA,
                                           .DmaBufferSize = RIG_PACKET_BYTES,
                                           .SubmissionFenceId = 1,
                                           .NodeOrdinal = 1};

    rig->irql = DISPATCH_LEVEL;
    miniport_submit_command_virtual(rig->top, NULL, &submit);
    check_gpu(rig->check, &event);
    rig->walk = NULL;
}

/* What of the way to RIG_VA is not as asked for, when work of the context faults there. */
static void a_fault_is_blamed_on_the_first_entry_from_the_root_that_is_wrong(void **state)
{
    static const struct {
        const char *text; /* NULL: nothing is wrong */
        unsigned level;
        struct check_gpu_entry wrong;
    } cases[] = {
        {NULL, 3, {0}},
        {"entry 1 of level 2, VA 0x40000000, is invalid", 2, {0}},
        {"entry 0 of level 1, VA 0x40000000, leads to GPU address 0x66000",
         1,
         {.is_valid = true, .address = 0x66000}},
        {"entry 0 of level 1, VA 0x40000000, leads to GPU address 0x65000, a large page",
         1,
         {.is_valid = true, .is_large = true, .address = 0x65000}},
        {"entry 0 of level 1, VA 0x40000000, leads to GPU address 0x65000, a table of 64 KiB",
         1,
         {.is_valid = true, .has_64k_table = true, .address = 0x65000}},
        {"entry 0 of level 0, VA 0x40000000, leads to GPU address 0x20000, read-only",
         0,
         {.is_valid = true, .is_read_only = true, .address = 0x20000}},
        {"entry 0 of level 0, VA 0x40000000, leads to GPU address 0x20000, zero",
         0,
         {.is_valid = true, .is_zero = true, .address = 0x20000}},
    };
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (unsigned i = 0; i < ARRAY_COUNT(cases); i++) {
        struct memory memory;
        struct rig_update update;

        rig_init(rig, RIG_GPUMMU);
        prepare_tables(rig, &memory);
        rig_begin_map(rig, &update, RIG_VA, NULL, 32, 16);
        carry_out(rig, &update, NO_MISTAKE);
        if (cases[i].level == 2)
            memory.root[1] = cases[i].wrong;
        if (cases[i].level == 1)
            memory.middle[0] = cases[i].wrong;
        if (cases[i].level == 0)
            memory.leaf[0] = cases[i].wrong;
        fault_in_context(rig, RIG_VA);
        if (cases[i].text) {
            assert_non_null(strstr(rig->last.text, cases[i].text));
            assert_string_equal(rig->last.detail.where,
                                "DxgkDdiBuildPagingBuffer(UPDATE_PAGE_TABLE).pPageTableEntries");
        } else {
            rig_expect_only(rig, RULE_NONE);
        }
        rig_fini(rig);
    }
    free(rig);
}

/* Of an entry that no operation has written nobody knows what is in memory. */
static void what_nobody_asked_for_is_not_judged(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (int is_written = 0; is_written < 2; is_written++) {
        struct memory memory;
        struct rig_update update;

        rig_init(rig, RIG_GPUMMU);
        prepare_tables(rig, &memory);
        rig_begin_map(rig, &update, RIG_VA, NULL, 32, 16);
        carry_out(rig, &update, NO_MISTAKE);
        memory.leaf[20] = (struct check_gpu_entry){.is_valid = true, .address = 0x5000};
        if (!is_written) /* nobody remembers that it was */
            check_ledger(rig->check)->tables.asking_count = 0;
        fault_in_context(rig, RIG_VA + 0x14000);
        rig_expect_only(rig, is_written ? RULE_PT_014 : RULE_NONE);
        rig_fini(rig);
    }
    free(rig);
}

/*
 * The account is ahead of the GPU: the mapping that it faulted at is to be taken away by an
 * operation that has not been carried out.
 */
static void what_is_still_to_be_written_is_not_missed(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (unsigned i = 0; i < 3; i++) {
        const bool is_wrong = i == 1, is_carried_out = i == 2; /* though nobody was told */
        struct memory memory;
        struct rig_update update;

        rig_init(rig, RIG_GPUMMU);
        prepare_tables(rig, &memory);
        rig_begin_map(rig, &update, RIG_VA, NULL, 32, 16);
        carry_out(rig, &update, NO_MISTAKE);
        memory.leaf[3].address += is_wrong ? 0x1000 : 0;
        rig_unmap(rig, RIG_VA, NULL, 16);
        memory.leaf[3].is_valid = !is_carried_out;
        fault_in_context(rig, RIG_VA + 0x3000);
        rig_expect_only(rig, is_wrong ? RULE_PT_017 : RULE_NONE);
        rig_fini(rig);
    }
    free(rig);
}

/* A later operation writes one entry too many, and its commands were the last to write there. */
static void an_entry_that_another_operation_has_written_is_that_one_s(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (int is_told = 0; is_told < 2; is_told++) {
        struct check_gpu_event written = {
            .kind = CHECK_GPU_ENTRIES, .node = 0, .bytes = 18 * 8, .place = {true, 0x5000}};
        struct memory memory;
        struct rig_update update;

        rig_init(rig, RIG_GPUMMU);
        prepare_tables(rig, &memory);
        rig_begin_map(rig, &update, RIG_VA + 0x10000, NULL, 32, 16);
        carry_out(rig, &update, NO_MISTAKE);
        rig_begin_map(rig, &update, RIG_VA, NULL, 64, 16);
        rig_update(rig, &update);
        written.fence = rig_submit(rig);
        if (is_told)
            check_gpu(rig->check, &written);
        write_memory(rig, &update, NO_MISTAKE);
        rig_complete(rig, 0, written.fence);
        memory.leaf[17] = (struct check_gpu_entry){.is_placed = true, .place = {true, 0x5088}};
        fault_in_context(rig, RIG_VA + 0x11000);
        rig_expect_only(rig, RULE_PT_017);
        assert_string_equal(rig->last.detail.where,
                            is_told
                                ? "DxgkDdiBuildPagingBuffer(UPDATE_PAGE_TABLE).NumPageTableEntries"
                                : "DxgkDdiBuildPagingBuffer(UPDATE_PAGE_TABLE).pPageTableEntries");
        rig_fini(rig);
    }
    free(rig);
}

/*
 * Behind a mapping that goes wrong the same table gets another one, before anybody could look. Only
 * what it changes of entries that were valid hides the mistake.
 */
static void entries_beside_a_wrong_one_do_not_hide_it(void **state)
{
    for (unsigned is_same = 0; is_same < 2; is_same++) {
        struct rig *rig = malloc(sizeof *rig);
        struct rig_update first, second;
        struct memory memory;
        uint32_t fence;

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        prepare_tables(rig, &memory);
        rig_begin_map(rig, &first, RIG_VA + 0x10000, NULL, 32, 16);
        rig_update(rig, &first);
        fence = rig_submit(rig);
        rig_begin_map(rig, &second, RIG_VA + (is_same ? 0x10000 : 0x40000), NULL, 64, 16);
        rig_update(rig, &second);
        write_memory(rig, &first, SHIFTS_ENTRIES);
        rig_complete(rig, 0, fence);
        assert_int_equal(rig->counts.broken[RULE_PT_017] != 0, !is_same);
        rig->walk = NULL;
        rig_fini(rig);
        free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_writes_nothing_does_not_end_what_waits_before_it),
        cmocka_unit_test(an_operation_whose_first_part_has_run_is_no_mistake),
        cmocka_unit_test(a_root_that_is_made_anew_is_not_the_old_one),
        cmocka_unit_test(a_fault_is_blamed_on_the_entry_that_is_not_as_asked),
        cmocka_unit_test(a_fault_is_blamed_on_the_first_entry_from_the_root_that_is_wrong),
        cmocka_unit_test(what_nobody_asked_for_is_not_judged),
        cmocka_unit_test(what_is_still_to_be_written_is_not_missed),
        cmocka_unit_test(an_entry_that_another_operation_has_written_is_that_one_s),
        cmocka_unit_test(a_flush_serves_what_was_written_before_it),
        cmocka_unit_test(flushes_of_a_gpu_that_tells_nothing_else_are_judged),
        cmocka_unit_test(protection_is_compared_where_entries_hold_it),
        cmocka_unit_test(entries_beside_a_wrong_one_do_not_hide_it),
    };

    return RIG_RUN_TESTS(tests);
}
