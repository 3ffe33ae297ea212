/* Coverage: a fake driver that reads what it is told, between the two layers. */
#include "coverage/coverage.h"

#include "base/bits.h"
#include "coverage/access_watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct {
    struct miniport driver;
    struct miniport_ops ops;
    struct coverage *coverage;
    struct miniport *bottom, *top; /* the layers */
    volatile uint64_t sink;
} rig;

static NTSTATUS fake_build(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *args)
{
    if (args->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE)
        rig.sink = (uint64_t)args->UpdatePageTable.pPageTableEntries[1].PageAddress;
    else
        rig.sink = args->Transfer.TransferSize;
    args->pDmaBuffer = (uint8_t *)args->pDmaBuffer + 8;
    args->MultipassOffset = 3;
    return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
}

static NTSTATUS fake_patch(struct miniport *self, HANDLE object, const DXGKARG_PATCH *args)
{
    rig.sink = args->pAllocationList[0].SegmentId;
    return STATUS_SUCCESS;
}

/* Where the second command begins; a size of none: there is no second one. */
static const DXGK_RENDERKM_COMMAND *second_command(const DXGKARG_RENDER *args)
{
    const DXGK_RENDERKM_COMMAND *first = args->pCommand;

    return (const void *)((const uint8_t *)first + first->CommandSize);
}

static NTSTATUS fake_render_km(struct miniport *self, HANDLE object, DXGKARG_RENDER *args)
{
    rig.sink = second_command(args)->Command.ColorFill.Color;
    args->pDmaBuffer = (uint8_t *)args->pDmaBuffer + 8;
    args->MultipassOffset = 3;
    return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
}

static NTSTATUS fake_query(struct miniport *self, HANDLE object,
                           const DXGKARG_QUERYADAPTERINFO *query)
{
    DXGK_QUERYSEGMENTOUT3 *out = query->pOutputData;

    out->NbSegment = 2;
    if (out->pSegmentDescriptor) {
        out->pSegmentDescriptor[0].Size = 4096;
        out->pSegmentDescriptor[1].Size = 8192;
    }
    return STATUS_SUCCESS;
}

static NTSTATUS fake_control(struct miniport *self, HANDLE object,
                             const struct miniport_interrupt *args)
{
    return args->EnableInterrupt ? STATUS_SUCCESS : STATUS_NOT_IMPLEMENTED;
}

static NTSTATUS fake_collect(struct miniport *self, HANDLE object, DXGKARG_COLLECTDBGINFO2 *args)
{
    args->TdrType = DXGK_TDR_TYPE_UNKNOWN; /* behind the note */
    return STATUS_SUCCESS;
}

static NTSTATUS fake_submit(struct miniport *self, HANDLE object, const DXGKARG_SUBMITCOMMAND *args)
{
    return STATUS_SUCCESS;
}

static NTSTATUS fake_present(struct miniport *self, HANDLE object, DXGKARG_PRESENT *args)
{
    args->Flags.Blt = 0; /* behind the note */
    return STATUS_SUCCESS;
}

/* What an allocation is, the driver says: the second one can be seen by the CPU. */
static NTSTATUS fake_create(struct miniport *self, HANDLE object, DXGKARG_CREATEALLOCATION *args)
{
    args->pAllocationInfo[1].Flags.CpuVisible = 1;
    return STATUS_SUCCESS;
}

static int raise_rig(void **state)
{
    memset(&rig, 0, sizeof rig);
    rig.ops = miniport_forward_ops;
    rig.ops.build_paging_buffer = fake_build;
    rig.ops.patch = fake_patch;
    rig.ops.render_km = fake_render_km;
    rig.ops.control_interrupt = fake_control;
    rig.ops.collect_dbg_info2 = fake_collect;
    rig.ops.query_adapter_info = fake_query;
    rig.ops.submit_command = fake_submit;
    rig.ops.present = rig.ops.present_to_hw_queue = fake_present;
    rig.ops.create_allocation = fake_create;
    rig.driver.ops = &rig.ops;
    rig.coverage = coverage_create();
    if (!rig.coverage || !coverage_begin_case(rig.coverage, "one") ||
        !NT_SUCCESS(coverage_driver_layer_create(rig.coverage, base_services_libc(), &rig.driver,
                                                 &rig.bottom)) ||
        !NT_SUCCESS(coverage_manager_layer_create(rig.coverage, base_services_libc(), rig.bottom,
                                                  &rig.top)))
        return -1;
    coverage_begin_run(rig.coverage);
    return 0;
}

static int lower_rig(void **state)
{
    miniport_destroy(rig.top);
    coverage_destroy(rig.coverage);
    return 0;
}

static unsigned find(unsigned group, const char *name)
{
    for (unsigned i = 0; i < coverage_member_count(); i++) {
        if (coverage_member(i)->group == group && strcmp(coverage_member(i)->name, name) == 0)
            return i;
    }
    fail_msg("no member %s of %s", name, coverage_group_name(group));
    return 0;
}

static void assert_tally(unsigned group, const char *name, bool is_set, bool is_read,
                         bool is_varied)
{
    const struct coverage_tally *tally = coverage_tally(rig.coverage, find(group, name));

    if (tally->is_set != is_set || tally->is_varied != is_varied ||
        (access_watch_is_available() && tally->is_read != is_read))
        fail_msg("%s.%s: set %d, read %d, varied %d", coverage_group_name(group), name,
                 tally->is_set, tally->is_read, tally->is_varied);
}

static unsigned find_arm(unsigned group, const char *name)
{
    for (unsigned i = 0; i < coverage_arm_count(); i++) {
        const struct coverage_arm *arm = coverage_arm(rig.coverage, i);

        if (arm->group == group && strcmp(arm->name, name) == 0)
            return i;
    }
    fail_msg("no arm '%s' of %s", name, coverage_group_name(group));
    return 0;
}

static void assert_arm(unsigned group, const char *name, uint64_t calls)
{
    assert_int_equal(coverage_arm_calls(rig.coverage, find_arm(group, name)), calls);
}

static void a_call_goes_through_unchanged(void **state)
{
    char buffer[16];
    DXGKARG_BUILDPAGINGBUFFER args = {.Operation = DXGK_OPERATION_TRANSFER, .pDmaBuffer = buffer};

    args.Transfer.TransferSize = 0x5000;
    assert_int_equal(miniport_build_paging_buffer(rig.top, NULL, &args),
                     STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
    assert_ptr_equal(args.pDmaBuffer, buffer + 8);
    assert_int_equal(args.MultipassOffset, 3);
    assert_int_equal(rig.sink, 0x5000);
    assert_int_equal(coverage_calls(rig.coverage, DXGK_OPERATION_TRANSFER), 1);
    assert_true(coverage_case_has(rig.coverage, 0, DXGK_OPERATION_TRANSFER));
    assert_false(coverage_case_has(rig.coverage, 0, DXGK_OPERATION_FILL));
}

static void only_what_the_driver_loads_counts_as_read(void **state)
{
    char buffer[16];
    DXGKARG_BUILDPAGINGBUFFER args = {.Operation = DXGK_OPERATION_TRANSFER, .pDmaBuffer = buffer};

    args.Transfer.TransferSize = 0x5000;
    args.Transfer.TransferOffset = 0x1000;
    args.Transfer.Source.SegmentId = 1;
    miniport_build_paging_buffer(rig.top, NULL, &args);
    assert_tally(DXGK_OPERATION_TRANSFER, "TransferSize", true, true, false);
    assert_tally(DXGK_OPERATION_TRANSFER, "TransferOffset", true, false, false);
    assert_tally(DXGK_OPERATION_TRANSFER, "Flags.TransferStart", false, false, false);
    assert_tally(COVERAGE_BUILD, "Operation", false, true, false);
    assert_tally(COVERAGE_BUILD, "DmaBufferWriteOffset", false, false, false);
    args.pDmaBuffer = buffer;
    args.Transfer.TransferSize = 0x6000;
    miniport_build_paging_buffer(rig.top, NULL, &args);
    assert_tally(DXGK_OPERATION_TRANSFER, "TransferSize", true, true, true);
    assert_tally(DXGK_OPERATION_TRANSFER, "TransferOffset", true, false, false);
}

static void of_alternatives_the_one_that_is_meant_counts(void **state)
{
    char buffer[16];
    DXGKARG_BUILDPAGINGBUFFER args = {.Operation = DXGK_OPERATION_TRANSFER, .pDmaBuffer = buffer};

    args.Transfer.Source.SegmentId = 1;
    args.Transfer.Source.SegmentAddress.QuadPart = 0x7000;
    miniport_build_paging_buffer(rig.top, NULL, &args);
    assert_tally(DXGK_OPERATION_TRANSFER, "Source.SegmentAddress", true, false, false);
    assert_tally(DXGK_OPERATION_TRANSFER, "Source.pMdl", false, false, false);
}

static void elements_of_arrays_are_watched_where_they_lie(void **state)
{
    char buffer[16];
    DXGK_PTE entries[2] = {{.PageAddress = 4}, {.PageAddress = 9}};
    DXGKARG_BUILDPAGINGBUFFER args = {.Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE,
                                      .pDmaBuffer = buffer};

    entries[0].Valid = 1;
    args.UpdatePageTable.pPageTableEntries = entries;
    args.UpdatePageTable.NumPageTableEntries = 2;
    miniport_build_paging_buffer(rig.top, NULL, &args);
    assert_int_equal(rig.sink, 9);
    assert_ptr_equal(args.UpdatePageTable.pPageTableEntries, entries);
    assert_tally(COVERAGE_PTE, "PageAddress", true, true, true);
    assert_tally(COVERAGE_PTE, "PageTableAddress", false, false, false);
    assert_tally(COVERAGE_PTE, "Valid", true, false, true);
    assert_int_equal(coverage_calls(rig.coverage, COVERAGE_PTE), 2);
}

static void patching_is_watched_with_its_lists(void **state)
{
    DXGK_ALLOCATIONLIST list[1] = {{.SegmentId = 2}};
    const DXGKARG_PATCH args = {.pAllocationList = list, .AllocationListSize = 1};

    miniport_patch(rig.top, NULL, &args);
    assert_tally(COVERAGE_PATCH, "pAllocationList", true, true, true);
    assert_tally(COVERAGE_PATCH, "AllocationListSize", true, false, false);
    assert_tally(COVERAGE_ALLOCATION_LIST, "SegmentId", true, true, false);
    assert_tally(COVERAGE_ALLOCATION_LIST, "PhysicalAddress", false, false, false);
}

/* A copy with two sub-rectangles behind it, a fill with one, and what is no whole command. */
static void commands_of_the_kernel_are_as_long_as_they_say(void **state)
{
    struct {
        DXGK_RENDERKM_COMMAND copy;
        RECT copied[2];
        DXGK_RENDERKM_COMMAND fill;
        RECT filled[1];
        DXGK_RENDERKM_COMMAND cut;
    } commands = {
        .copy = {.OpCode = DXGK_GDIOP_BITBLT,
                 .CommandSize = sizeof commands.copy + 2 * sizeof(RECT)},
        .fill = {.OpCode = DXGK_GDIOP_COLORFILL,
                 .CommandSize = sizeof commands.fill + sizeof(RECT)},
        .cut = {.OpCode = DXGK_GDIOP_ESCAPE, .CommandSize = sizeof commands.cut + 1},
    };
    char buffer[16];
    DXGKARG_RENDER args = {.pCommand = &commands, .CommandLength = sizeof commands};

    args.pDmaBuffer = buffer;
    commands.copy.Command.BitBlt.NumSubRects = 2;
    commands.copy.Command.BitBlt.DstAllocationIndex = 1;
    commands.copy.Command.BitBlt.Rop = DXGK_GDIROP_SRCCOPY;
    commands.fill.Command.ColorFill.NumSubRects = 1;
    commands.fill.Command.ColorFill.Color = 0x204060;
    assert_int_equal(miniport_render_km(rig.top, NULL, &args),
                     STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
    assert_int_equal(rig.sink, 0x204060);
    assert_ptr_equal(args.pCommand, &commands);
    assert_ptr_equal(args.pDmaBuffer, buffer + 8);
    assert_int_equal(args.MultipassOffset, 3);
    assert_int_equal(coverage_calls(rig.coverage, COVERAGE_RENDER_KM), 1);
    assert_int_equal(coverage_calls(rig.coverage, COVERAGE_RENDER), 0);
    assert_int_equal(coverage_calls(rig.coverage, COVERAGE_DRAWING), 2);
    assert_tally(COVERAGE_DRAWING, "OpCode", true, false, true);
    assert_tally(COVERAGE_DRAWING, "CommandSize", true, true, true); /* of the first */
    assert_tally(COVERAGE_DRAWING, "Command.ColorFill.Color", true, true, false);
    assert_tally(COVERAGE_DRAWING, "Command.BitBlt.NumSubRects", true, false, false);
    assert_tally(COVERAGE_DRAWING, "Command.AlphaBlend.NumSubRects", false, false, false);
    assert_arm(COVERAGE_DRAWING, "a copy", 1);
    assert_arm(COVERAGE_DRAWING, "a copy of several sub-rectangles", 1);
    assert_arm(COVERAGE_DRAWING, "a fill of one sub-rectangle", 1);
    assert_arm(COVERAGE_DRAWING, "a fill", 0); /* Rop is none of its operations */
    assert_arm(COVERAGE_DRAWING, "a private command", 0);
}

static void descriptors_are_read_by_the_manager(void **state)
{
    DXGK_SEGMENTDESCRIPTOR3 *descriptors = access_watch_alloc(2 * sizeof *descriptors);
    DXGK_QUERYSEGMENTOUT3 out = {0};
    const DXGKARG_QUERYADAPTERINFO query = {
        .Type = DXGKQAITYPE_QUERYSEGMENT3, .pOutputData = &out, .OutputDataSize = sizeof out};
    DXGKARG_BUILDPAGINGBUFFER args = {.pDmaBuffer = descriptors};

    assert_non_null(descriptors);
    miniport_query_adapter_info(rig.top, NULL, &query);
    assert_int_equal(out.NbSegment, 2);
    out.pSegmentDescriptor = descriptors;
    miniport_query_adapter_info(rig.top, NULL, &query);
    rig.sink = ((volatile DXGK_SEGMENTDESCRIPTOR3 *)descriptors)[1].Size;
    assert_int_equal(rig.sink, 8192);
    args.Operation = DXGK_OPERATION_FILL;
    miniport_build_paging_buffer(rig.top, NULL, &args); /* the next call ends the watch */
    assert_tally(COVERAGE_SEGMENT3, "Size", true, true, true);
    assert_tally(COVERAGE_SEGMENT3, "CommitLimit", false, false, false);
    assert_int_equal(coverage_calls(rig.coverage, COVERAGE_SEGMENT3), 2);
    access_watch_free(descriptors, 2 * sizeof *descriptors);
}

static void reserved_members_have_a_reason_and_others_must_be_covered(void **state)
{
    assert_true(coverage_is_settled(rig.coverage, find(DXGK_OPERATION_TRANSFER, "Flags.Reserved")));
    assert_false(coverage_is_settled(rig.coverage, find(DXGK_OPERATION_TRANSFER, "TransferSize")));
    for (unsigned group = 0; group < COVERAGE_GROUP_COUNT; group++) {
        unsigned members = 0;

        for (unsigned i = 0; i < coverage_member_count(); i++)
            members += coverage_member(i)->group == group;
        assert_true(members > 0);
    }
}

static uint64_t calls_of(const char *name)
{
    return coverage_arm_calls(rig.coverage, find_arm(DXGK_OPERATION_TRANSFER, name));
}

static void a_call_counts_for_the_arms_that_it_has(void **state)
{
    char buffer[16];
    DXGKARG_BUILDPAGINGBUFFER args = {.Operation = DXGK_OPERATION_TRANSFER, .pDmaBuffer = buffer};

    args.Transfer.Destination.SegmentId = 2;
    args.Transfer.Flags.TransferStart = 1;
    miniport_build_paging_buffer(rig.top, NULL, &args);
    args.Transfer.Source.SegmentId = 1;
    args.Transfer.hAllocation = (HANDLE)8;
    miniport_build_paging_buffer(rig.top, NULL, &args);
    assert_int_equal(calls_of("system memory to segment"), 1);
    assert_int_equal(calls_of("segment to segment"), 1);
    assert_int_equal(calls_of("segment to system memory"), 0);
    assert_int_equal(calls_of("first part"), 2);
    assert_int_equal(calls_of("whole at once"), 0);
    assert_int_equal(calls_of("no allocation"), 1);
    assert_int_equal(calls_of("an allocation"), 1);
}

static void an_arm_is_settled_by_a_call(void **state)
{
    char buffer[16];
    DXGKARG_BUILDPAGINGBUFFER args = {.Operation = DXGK_OPERATION_TRANSFER, .pDmaBuffer = buffer};
    unsigned arm = find_arm(DXGK_OPERATION_TRANSFER, "lost in a reset: no bytes");

    assert_false(coverage_arm_is_settled(rig.coverage, arm));
    miniport_build_paging_buffer(rig.top, NULL, &args);
    assert_true(coverage_arm_is_settled(rig.coverage, arm));
}

static void small_calls_count_for_their_arms_and_are_not_watched(void **state)
{
    struct miniport_interrupt interrupt = {DXGK_INTERRUPT_CRTC_VSYNC, TRUE};
    DXGKARG_COLLECTDBGINFO2 report = {.Reason = 0x141, .TdrType = DXGK_TDR_TYPE_ENGINE_TIMEOUT};

    assert_int_equal(miniport_control_interrupt(rig.top, NULL, &interrupt), STATUS_SUCCESS);
    interrupt.EnableInterrupt = FALSE;
    assert_int_equal(miniport_control_interrupt(rig.top, NULL, &interrupt), STATUS_NOT_IMPLEMENTED);
    assert_arm(COVERAGE_INTERRUPT, "vertical syncs, on", 1);
    assert_arm(COVERAGE_INTERRUPT, "vertical syncs, off", 1);
    assert_arm(COVERAGE_INTERRUPT, "another type", 0);
    assert_int_equal(miniport_collect_dbg_info2(rig.top, NULL, &report), STATUS_SUCCESS);
    assert_int_equal(report.TdrType, DXGK_TDR_TYPE_UNKNOWN);
    assert_arm(COVERAGE_COLLECT2, "for engines", 1);
    assert_arm(COVERAGE_COLLECT2, "an engine, without payload", 1);
    assert_arm(COVERAGE_COLLECT2, "an engine, with payload", 0);
    assert_non_null(coverage_reason(find(COVERAGE_INTERRUPT, "EnableInterrupt")));
}

static void submissions_and_presents_count_for_their_arms(void **state)
{
    DXGKARG_SUBMITCOMMAND paging = {.DmaBufferSegmentId = 1, .Flags.Paging = 1};
    DXGKARG_PRESENT copy = {.SubRectCnt = 1, .Flags.Blt = 1};

    assert_int_equal(miniport_submit_command(rig.top, NULL, &paging), STATUS_SUCCESS);
    assert_arm(COVERAGE_SUBMIT, "of paging", 1);
    assert_arm(COVERAGE_SUBMIT, "of a client", 0);
    assert_arm(COVERAGE_SUBMIT, "buffer in a segment", 1);
    assert_arm(COVERAGE_SUBMIT, "of nobody", 1);
    assert_int_equal(miniport_present(rig.top, NULL, &copy), STATUS_SUCCESS);
    assert_arm(COVERAGE_PRESENT, "a copy", 1);
    assert_arm(COVERAGE_PRESENT, "a fill", 0);
    assert_arm(COVERAGE_PRESENT_QUEUE, "one rectangle", 0);
    assert_int_equal(miniport_present_to_hw_queue(rig.top, NULL, &copy), STATUS_SUCCESS);
    assert_arm(COVERAGE_PRESENT_QUEUE, "one rectangle", 1);
    assert_arm(COVERAGE_PRESENT_QUEUE, "a copy", 0);
}

static void what_the_driver_makes_of_allocations_counts_for_their_arms(void **state)
{
    DXGK_ALLOCATIONINFO infos[2] = {{.Flags.CpuVisible = 0}};
    DXGKARG_CREATEALLOCATION create = {
        .NumAllocations = 2, .pAllocationInfo = infos, .Flags.Resource = 1};

    assert_int_equal(miniport_create_allocation(rig.top, NULL, &create), STATUS_SUCCESS);
    assert_arm(COVERAGE_CREATION, "several allocations", 1);
    assert_arm(COVERAGE_CREATION, "a new resource", 1);
    assert_arm(COVERAGE_ALLOCATION, "seen by CPUs", 1);
    assert_arm(COVERAGE_ALLOCATION, "not seen by CPUs", 1);
    assert_arm(COVERAGE_ALLOCATION, "cached", 0);
}

static void the_arms_of_a_structure_stand_side_by_side_and_have_names_of_their_own(void **state)
{
    bool is_over[COVERAGE_GROUP_COUNT] = {false};

    for (unsigned i = 0; i < coverage_arm_count(); i++) {
        const struct coverage_arm *arm = coverage_arm(rig.coverage, i);

        assert_false(is_over[arm->group]);
        if (i + 1 == coverage_arm_count() || coverage_arm(rig.coverage, i + 1)->group != arm->group)
            is_over[arm->group] = true;
        assert_int_equal(find_arm(arm->group, arm->name), i);
        assert_true(arm->term_count > 0);
    }
}

/* Which alternatives calls had is the same without watching; nothing else is looked at. */
static void counting_alone_sees_the_same_arms(void **state)
{
    struct coverage *counting = coverage_create_counting();
    struct coverage_arm_counts counts = {{0}};
    struct coverage_arm_set watched, counted;
    struct miniport *layers[2];
    char buffer[16];
    DXGK_PTE entries[40] = {{.Valid = 1}};
    DXGKARG_BUILDPAGINGBUFFER args = {.Operation = DXGK_OPERATION_TRANSFER, .pDmaBuffer = buffer};

    for (unsigned i = 1; i < 39; i++) /* alike where an arm looks, but for two of them */
        entries[i] = (DXGK_PTE){.Valid = 1, .Segment = 1, .PageAddress = i};
    entries[20].ReadOnly = entries[30].NoExecute = 1;

    assert_non_null(counting);
    assert_true(NT_SUCCESS(
        coverage_driver_layer_create(counting, base_services_libc(), &rig.driver, &layers[0])));
    assert_true(NT_SUCCESS(
        coverage_manager_layer_create(counting, base_services_libc(), layers[0], &layers[1])));
    coverage_arms_seen(counting, &counted);
    coverage_arm_counts_add_run(&counts, &counted);
    assert_int_equal(coverage_arm_counts_seen(&counts), 0);
    for (unsigned i = 0; i < 2; i++) {
        args.Transfer.Source.SegmentId = i;
        args.MultipassOffset = 0;
        miniport_build_paging_buffer(layers[1], NULL, &args);
        assert_int_equal(args.MultipassOffset, 3);
        args.MultipassOffset = 0;
        miniport_build_paging_buffer(rig.top, NULL, &args);
    }
    args = (DXGKARG_BUILDPAGINGBUFFER){
        .Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE,
        .pDmaBuffer = buffer,
        .UpdatePageTable = {.pPageTableEntries = entries, .NumPageTableEntries = 40}};
    miniport_build_paging_buffer(layers[1], NULL, &args);
    args.pDmaBuffer = buffer;
    args.MultipassOffset = 0;
    miniport_build_paging_buffer(rig.top, NULL, &args);
    coverage_arms_seen(rig.coverage, &watched);
    coverage_arms_seen(counting, &counted);
    assert_memory_equal(&watched, &counted, sizeof watched);
    coverage_arm_counts_add_run(&counts, &counted);
    coverage_arm_counts_add_run(&counts, &counted);
    assert_true(coverage_arm_counts_seen(&counts) > 4);
    for (unsigned i = 0; i < coverage_member_count(); i++)
        assert_false(coverage_tally(counting, i)->is_read || coverage_tally(counting, i)->is_set);
    for (unsigned i = 0; i < COVERAGE_ARMS_MOST; i++)
        assert_true(counts.runs[i] == 0 || counts.runs[i] == 2);
    assert_true(coverage_arms_possible(counting) < coverage_arm_count());
    for (unsigned i = 0; i < 2; i++) /* the driver below them is the rig's */
        layers[i]->ops->destroy(layers[i]);
    coverage_destroy(counting);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(test) cmocka_unit_test_setup_teardown(test, raise_rig, lower_rig)
        T(a_call_goes_through_unchanged),
        T(only_what_the_driver_loads_counts_as_read),
        T(of_alternatives_the_one_that_is_meant_counts),
        T(elements_of_arrays_are_watched_where_they_lie),
        T(patching_is_watched_with_its_lists),
        T(commands_of_the_kernel_are_as_long_as_they_say),
        T(descriptors_are_read_by_the_manager),
        T(submissions_and_presents_count_for_their_arms),
        T(what_the_driver_makes_of_allocations_counts_for_their_arms),
        T(small_calls_count_for_their_arms_and_are_not_watched),
        T(counting_alone_sees_the_same_arms),
        T(reserved_members_have_a_reason_and_others_must_be_covered),
        T(a_call_counts_for_the_arms_that_it_has),
        T(an_arm_is_settled_by_a_call),
        T(the_arms_of_a_structure_stand_side_by_side_and_have_names_of_their_own),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
