/* Test rig: the manager's calls above the layer, and what a test expects of the check. */
#include "check/rig/test_rig.h"

#include "check/check_watch.h"
#include "check/rig/test_told.h"

/* ---- The bench that the check asks ---- */

static bool rig_slot_page(void *context, uint64_t base, uint64_t slot, uint64_t *out_page)
{
    const struct rig *rig = context;

    *out_page = slot < RIG_SLOTS ? rig->slots[slot] - 1 : 0;
    return slot < RIG_SLOTS && rig->slots[slot];
}

static bool rig_slot_is_coherent(void *context, uint64_t base, uint64_t slot)
{
    return slot < RIG_SLOTS && ((const struct rig *)context)->is_coherent[slot];
}

static bool rig_read_page(void *context, uint64_t page, void *out, uint32_t bytes)
{
    memset(out, 0, bytes);
    if (page == RIG_DUMMY_PAGE)
        memcpy(out, ((const struct rig *)context)->dummy, bytes);
    return page < RIG_RAM_PAGES;
}

static uint64_t rig_system_bytes(void *context)
{
    return ((const struct rig *)context)->system_bytes;
}

static uint32_t rig_enabled_interrupts(void *context)
{
    return ((const struct rig *)context)->enabled_interrupts;
}

static bool rig_bus_local(void *context, uint64_t address, uint64_t *out_address)
{
    const struct rig *rig = context;
    uint64_t page = (address - RIG_BAR) / 4096;

    if (address < RIG_BAR || address >= RIG_BAR + (16u << 20))
        return false;
    *out_address = address - RIG_BAR;
    if (rig->has_window && page < RIG_SLOTS) {
        *out_address = (rig->window[page] - 1) * 4096 + address % 4096;
        return rig->window[page] != 0;
    }
    return true;
}

static bool rig_watch_place(void *context, unsigned segment, uint64_t base, uint64_t offset,
                            uint64_t bytes)
{
    return true;
}

static bool rig_end_watch(void *context, uint64_t *out_offset)
{
    *out_offset = 0x10008;
    return ((const struct rig *)context)->has_touched;
}

static bool rig_walk(void *context, bool is_system, uint64_t root, uint64_t va,
                     struct check_gpu_walk *out_walk)
{
    struct rig *rig = context;

    return rig->walk && rig->walk(rig, is_system, root, va, out_walk);
}

/* The rig's GPU takes an address as it is. */
static bool rig_patched_address(void *context, DXGK_SEGMENTFLAGS segment, uint64_t address,
                                uint64_t offset, bool is_pitched, uint64_t *out_bits)
{
    *out_bits = (address + offset);
    return true;
}

/* What a sentence says to be expected of a field is data too. */
static void expect_argument(const struct finding *finding)
{
    const struct finding_argument *argument = &finding->detail.argument;

    if (argument->name[0] && strstr(finding->text, "(expected ") && !argument->expected[0])
        fail_msg("%s: '%s' is expected in words alone", finding->detail.where, finding->text);
    assert_null(strpbrk(finding->text, "{}"));
}

static void rig_on_finding(void *context, const struct finding *finding)
{
    struct rig *rig = context;

    expect_argument(finding);
    rig->last = *finding;
    rig->finding_count++;
    told_finding(&rig->findings, finding);
}

static unsigned rig_irql(void *context)
{
    return ((struct rig *)context)->irql;
}

static unsigned rig_held(void *context)
{
    return ((struct rig *)context)->held;
}

/* ---- The manager's calls ---- */

NTSTATUS rig_query(struct rig *rig, unsigned type, void *in, size_t in_bytes, void *out,
                   size_t out_bytes)
{
    const DXGKARG_QUERYADAPTERINFO query = {
        .Type = (DXGK_QUERYADAPTERINFOTYPE)type,
        .pInputData = in,
        .InputDataSize = (UINT)in_bytes,
        .pOutputData = out,
        .OutputDataSize = (UINT)out_bytes,
    };

    return miniport_query_adapter_info(rig->top, NULL, &query);
}

void rig_query_segments(struct rig *rig)
{
    DXGK_QUERYSEGMENTIN in = {0};

    for (unsigned i = 0; i < rig->segment_count; i++) {
        if (!rig->segments[i].Flags.Agp)
            continue;
        in.AgpApertureBase = rig->segments[i].BaseAddress;
        in.AgpApertureSize.QuadPart = (LONGLONG)rig->segments[i].Size;
    }

    if (rig->model == RIG_GPUMMU) {
        DXGK_SEGMENTDESCRIPTOR4 descriptors[RIG_MAX_SEGMENTS] = {0};
        DXGK_QUERYSEGMENTOUT4 out = {.SegmentDescriptorStride = sizeof descriptors[0]};

        rig_query(rig, DXGKQAITYPE_QUERYSEGMENT4, &in, sizeof in, &out, sizeof out);
        out.pSegmentDescriptor = (BYTE *)descriptors;
        rig_query(rig, DXGKQAITYPE_QUERYSEGMENT4, &in, sizeof in, &out, sizeof out);
    } else {
        DXGK_SEGMENTDESCRIPTOR3 descriptors[RIG_MAX_SEGMENTS] = {0};
        DXGK_QUERYSEGMENTOUT3 out = {0};

        rig_query(rig, DXGKQAITYPE_QUERYSEGMENT3, &in, sizeof in, &out, sizeof out);
        out.pSegmentDescriptor = descriptors;
        rig_query(rig, DXGKQAITYPE_QUERYSEGMENT3, &in, sizeof in, &out, sizeof out);
    }
}

/* The caps and segments of a small lawful adapter: 1 is local memory, 2 an aperture. */
static void rig_describe(struct rig *rig, enum rig_model model)
{
    rig->model = model;
    rig->version =
        model == RIG_GPUMMU ? DXGKDDI_INTERFACE_VERSION_WDDM2_6 : DXGKDDI_INTERFACE_VERSION_WDDM1_3;
    rig->segments[0] = (DXGK_SEGMENTDESCRIPTOR4){
        .BaseAddress.QuadPart = 0,
        .Size = 16 << 20,
        .CommitLimit = 16 << 20,
    };
    rig->segments[1] = (DXGK_SEGMENTDESCRIPTOR4){
        .Flags.Aperture = 1,
        .Flags.CacheCoherent = 1,
        .BaseAddress.QuadPart = 1 << 30,
        .Size = 4 << 20,
        .CommitLimit = 4 << 20,
    };
    rig->segment_count = 2;
    rig->paging_private_bytes = RIG_PRIVATE_BYTES;
    rig->caps.ApertureSegmentCommitLimit = 4 << 20;
    rig->caps.MaxAllocationListSlotId = 16;
    rig->caps.GpuEngineTopology.NbAsymetricProcessingNodes = 2;
    if (model != RIG_GPUMMU)
        return;
    rig->caps.MemoryManagementCaps.VirtualAddressingSupported = 1;
    rig->caps.MemoryManagementCaps.GpuMmuSupported = 1;
    rig->gpummu.PageTableUpdateMode = DXGK_PAGETABLEUPDATE_GPU_VIRTUAL;
    rig->gpummu.ReadOnlyMemorySupported = 1;
    rig->gpummu.VirtualAddressBitCount = 39;
    rig->gpummu.PageTableLevelCount = 3;
    for (unsigned i = 0; i < 3; i++)
        rig->levels[i] = (DXGK_PAGE_TABLE_LEVEL_DESC){
            .PageTableIndexBitCount = 9,
            .PageTableSegmentId = 1,
            .PagingProcessPageTableSegmentId = 1,
            .PageTableSizeInBytes = 4096,
            .PageTableAlignmentInBytes = 4096,
        };
    rig->physical.NumExecutionNodes = 2;
    rig->physical.PagingNodeIndex = 0;
    rig->physical.Flags.GpuMmuSupported = 1;
}

void rig_prepare(struct rig *rig, enum rig_model model)
{
    memset(rig, 0, sizeof *rig);
    rig->next_handle = 0x1000;
    failing_services_init(&rig->memory);
    hash_init(&rig->findings, 0);
    rig_describe(rig, model);
    rig->bottom.ops = &rig_driver_ops;
    rig->host.ops = &rig_host_ops;
    rig->config = (struct check_config){
        .services = &rig->memory.services,
        .counts = &rig->counts,
        .calls = &rig->calls,
        .guards_buffers = true,
        .watches_loans = true,
        .submission_alignment = RIG_PACKET_BYTES,
        .context = rig,
        .patched_address = rig_patched_address,
        .report = rig_on_finding,
        .irql = rig_irql,
        .held = rig_held,
        .walk = rig_walk,
        .slot_page = rig_slot_page,
        .slot_is_coherent = rig_slot_is_coherent,
        .read_page = rig_read_page,
        .bus_local = rig_bus_local,
        .system_bytes = rig_system_bytes,
        .enabled_interrupts = rig_enabled_interrupts,
        .watch_place = rig_watch_place,
        .end_watch = rig_end_watch,
    };
    rig->buffer_bytes = RIG_BUFFER_BYTES;
}

void rig_init_layer(struct rig *rig)
{
    assert_int_equal(check_create(&rig->config, &rig->check), STATUS_SUCCESS);
    assert_int_equal(check_layer_create(rig->check, &rig->bottom, &rig->top), STATUS_SUCCESS);
    rig->buffer = aligned_alloc(4096, RIG_BUFFER_BYTES);
    assert_non_null(rig->buffer);
    miniport_set_host(rig->top, &rig->host);
}

void rig_start(struct rig *rig)
{
    DXGK_START_INFO start = {.RequiredDmaQueueEntry = 2};
    ULONG sources = 0, children = 0;
    DXGK_DRIVERCAPS caps = {0};

    miniport_add_device(rig->top);
    miniport_start_device(rig->top, &start, &sources, &children);
    rig_query(rig, DXGKQAITYPE_DRIVERCAPS, NULL, 0, &caps, sizeof caps);
    rig_query_segments(rig);
    if (rig->model == RIG_GPUMMU) {
        DXGK_QUERYPAGETABLELEVELDESCIN in = {0};
        DXGK_PHYSICALADAPTERCAPS physical = {0};
        DXGK_PAGE_TABLE_LEVEL_DESC level = {0};
        DXGK_GPUMMUCAPS gpummu = {0};
        UINT adapter = 0;

        rig_query(rig, DXGKQAITYPE_PHYSICALADAPTERCAPS, &adapter, sizeof adapter, &physical,
                  sizeof physical);
        rig_query(rig, DXGKQAITYPE_GPUMMUCAPS, &adapter, sizeof adapter, &gpummu, sizeof gpummu);
        for (; in.LevelIndex < gpummu.PageTableLevelCount && in.LevelIndex < 4; in.LevelIndex++)
            rig_query(rig, DXGKQAITYPE_PAGETABLELEVELDESC, &in, sizeof in, &level, sizeof level);
    }
}

HANDLE rig_create_process(struct rig *rig, bool is_system)
{
    DXGKARG_CREATEPROCESS arg = {.Flags.SystemProcess = is_system};

    assert_int_equal(miniport_create_process(rig->top, NULL, &arg), STATUS_SUCCESS);
    return arg.hKmdProcess;
}

HANDLE rig_create_device(struct rig *rig, HANDLE process)
{
    DXGKARG_CREATEDEVICE arg = {.hKmdProcess = process};

    assert_int_equal(miniport_create_device(rig->top, NULL, &arg), STATUS_SUCCESS);
    return arg.hDevice;
}

HANDLE rig_create_context(struct rig *rig, HANDLE device, unsigned node, bool is_system)
{
    DXGKARG_CREATECONTEXT arg = {.NodeOrdinal = node, .EngineAffinity = 1};

    arg.Flags.SystemContext = is_system;
    arg.Flags.VirtualAddressing = rig->model == RIG_GPUMMU;
    assert_int_equal(miniport_create_context(rig->top, device, &arg), STATUS_SUCCESS);
    if (rig->model == RIG_GPUMMU) {
        DXGKARG_SETROOTPAGETABLE root = {.hContext = arg.hContext, .NumEntries = 512};

        root.Address.SegmentId = 1;
        root.Address.SegmentOffset = 103 * 4096;
        miniport_set_root_page_table(rig->top, NULL, &root);
    }
    return arg.hContext;
}

HANDLE rig_create_allocation(struct rig *rig, DXGK_ALLOCATIONINFO *info)
{
    DXGK_ALLOCATIONINFO plain = {0};
    DXGKARG_CREATEALLOCATION arg = {
        .NumAllocations = 1,
        .pAllocationInfo = info ? info : &plain,
    };

    miniport_create_allocation(rig->top, NULL, &arg);
    return arg.pAllocationInfo->hAllocation;
}

void rig_destroy_allocation(struct rig *rig, HANDLE allocation)
{
    const DXGKARG_DESTROYALLOCATION arg = {.NumAllocations = 1, .pAllocationList = &allocation};

    miniport_destroy_allocation(rig->top, NULL, &arg);
}

/* An adapter that is up. */
static void bring_up(struct rig *rig)
{
    rig_start(rig);
    if (rig->model == RIG_GPUMMU) {
        HANDLE system_device;

        rig->system_process = rig_create_process(rig, true);
        system_device = rig_create_device(rig, rig->system_process);
        rig->system_context = rig_create_context(rig, system_device, 0, true);
        rig->process = rig_create_process(rig, false);
    }
    rig->device = rig_create_device(rig, rig->process);
    rig->context = rig_create_context(rig, rig->device, 1, false);
}

void rig_init_prepared(struct rig *rig)
{
    rig_init_layer(rig);
    bring_up(rig);
}

void rig_init(struct rig *rig, enum rig_model model)
{
    rig_prepare(rig, model);
    rig_init_prepared(rig);
}

void rig_init_cold(struct rig *rig, enum rig_model model)
{
    rig_prepare(rig, model);
    rig_init_layer(rig);
}

uint64_t rig_said(const struct rig *rig)
{
    return hash_pair(hash_final(&rig->findings), check_is_whole(rig->check));
}

void rig_fini(struct rig *rig)
{
    if (!rig->memory.has_failed)
        told_add(&rig->counts, rig_said(rig));
    miniport_destroy(rig->top);
    check_destroy(rig->check);
    assert_int_equal(rig->memory.live_blocks, 0);
    free(rig->buffer);
}

NTSTATUS rig_build(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    NTSTATUS status;

    arg->pDmaBuffer = rig->buffer + rig->buffer_used;
    arg->DmaSize = rig->buffer_bytes - rig->buffer_used;
    arg->pDmaBufferPrivateData = rig->private_data;
    arg->DmaBufferPrivateDataSize = rig->paging_private_bytes;
    arg->hSystemContext = rig->system_context;
    arg->DmaBufferWriteOffset = rig->buffer_used;
    status = miniport_build_paging_buffer(rig->top, NULL, arg);
    if ((char *)arg->pDmaBuffer >= rig->buffer &&
        (char *)arg->pDmaBuffer <= rig->buffer + RIG_BUFFER_BYTES)
        rig->buffer_used = (uint32_t)((char *)arg->pDmaBuffer - rig->buffer);
    return status;
}

uint32_t rig_submit(struct rig *rig)
{
    DXGKARG_SUBMITCOMMAND arg = {
        .hContext = rig->system_context,
        .DmaBufferSegmentId = rig->submit_segment,
        .DmaBufferSize = RIG_BUFFER_BYTES,
        .DmaBufferPhysicalAddress.QuadPart = 0x10000,
        .DmaBufferSubmissionStartOffset = rig->buffer_submitted,
        .DmaBufferSubmissionEndOffset = rig->buffer_used,
        .pDmaBufferPrivateData = rig->private_data,
        .DmaBufferPrivateDataSize = rig->paging_private_bytes,
        .SubmissionFenceId = ++rig->fence,
        .Flags.Paging = 1,
    };
    unsigned before = rig->irql;

    rig->irql = DISPATCH_LEVEL;
    miniport_submit_command(rig->top, NULL, &arg);
    rig->irql = before;
    rig->buffer_submitted = rig->buffer_used;
    return rig->fence;
}

void rig_new_buffer(struct rig *rig)
{
    rig->buffer_used = rig->buffer_submitted = 0;
}

void rig_complete(struct rig *rig, unsigned node, uint32_t fence)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED};
    unsigned before = rig->irql;

    data.DmaCompleted.SubmissionFenceId = fence;
    data.DmaCompleted.NodeOrdinal = node;
    rig->irql = 5; /* the device's */
    rig->drivers_host->ops->notify_interrupt(rig->drivers_host, &data);
    rig->drivers_host->ops->queue_dpc(rig->drivers_host);
    rig->irql = DISPATCH_LEVEL;
    rig->drivers_host->ops->notify_dpc(rig->drivers_host);
    rig->irql = before;
}

DXGKARG_BUILDPAGINGBUFFER rig_fill(HANDLE allocation)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_FILL};

    arg.Fill.hAllocation = allocation;
    arg.Fill.FillSize = 65536;
    arg.Fill.Destination.SegmentId = 1;
    return arg;
}

/* ---- Rules ---- */

void rig_expect_only(const struct rig *rig, enum rule_id rule)
{
    for (unsigned i = RULE_NONE + 1; i < RULE_COUNT; i++) {
        bool should = i == (unsigned)rule;

        if ((rig->counts.broken[i] != 0) == should)
            continue;
        if (should)
            fail_msg("%s was not found (looked at %llu times)", rule_get(rule)->id,
                     (unsigned long long)rig->counts.evaluated[rule]);
        fail_msg("%s was found: %s: %s", rule_get((enum rule_id)i)->id, rig->last.detail.where,
                 rig->last.text);
    }
}

void rig_expect_silence(const struct rig *rig, enum rule_id rule)
{
    rig_expect_only(rig, RULE_NONE);
    if (!rig->counts.evaluated[rule])
        fail_msg("%s was never looked at", rule_get(rule)->id);
}

/* The n-th allocation from the function's start on fails; 0: none. */
static struct rig *play(enum rig_model model, uint64_t n, void (*function)(struct rig *rig))
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, model);
    failing_services_fail_at(&rig->memory, n);
    function(rig);
    check_end(rig->check, false);
    return rig;
}

static void end_play(struct rig *rig)
{
    rig_fini(rig);
    assert_int_equal(rig->memory.live_blocks, 0);
    free(rig);
}

void rig_play_broken(enum rig_model model, enum rule_id rule, void (*function)(struct rig *rig))
{
    struct rig *rig = play(model, 0, function);

    told_calls(model, function);
    rig_expect_only(rig, rule);
    end_play(rig);
}

/* A check that lacks the memory for its account accuses nobody, or says that it is not whole. */
static void play_without_memory(enum rig_model model, void (*function)(struct rig *rig))
{
    bool has_failed = true;

    for (uint64_t n = 1; has_failed; n++) {
        struct rig *rig = play(model, n, function);

        has_failed = rig->memory.has_failed;
        if (check_is_whole(rig->check))
            rig_expect_only(rig, RULE_NONE);
        end_play(rig);
    }
}

/* The adapter has been stopped and comes up again, with the same driver. */
static void begin_again(struct rig *rig)
{
    struct rig before;

    assert_true(check_begin_again(rig->check));
    before = *rig;
    rig_prepare(rig, before.model);
    rig->memory = before.memory;
    rig->top = before.top;
    rig->drivers_host = before.drivers_host;
    rig->check = before.check;
    rig->buffer = before.buffer;
    rig->next_handle = before.next_handle;
    bring_up(rig);
}

void rig_play_kept(enum rig_model model, enum rule_id rule, void (*function)(struct rig *rig))
{
    struct rig *rig = play(model, 0, function);

    told_calls(model, function);
    rig_expect_silence(rig, rule);
    /* Of a run are the GPU that has spoken once, and advice that was given. */
    if (!check_ledger(rig->check)->has_gpu && !rig->last.is_advice) {
        begin_again(rig);
        function(rig);
        check_end(rig->check, false);
        rig_expect_silence(rig, rule);
    }
    end_play(rig);
    play_without_memory(model, function);
}

/* ---- The tests of a file ---- */

void rig_enter_test(struct rig_tests *tests, const char *name, CMUnitTestFunction function)
{
    if (tests->count == RIG_TESTS_MOST)
        abort();
    tests->list[tests->count++] = (struct CMUnitTest){.name = name, .test_func = function};
}

int rig_run_tests(struct rig_tests *rules, const struct CMUnitTest *tests, size_t count,
                  const char *file)
{
    for (size_t i = 0; i < count; i++)
        rig_enter_test(rules, tests[i].name, tests[i].test_func);
    return told_run(rules->list, rules->count, file);
}
