#include "check/rig/test_rig_submit.h"
#include "check/rig/test_rig_tables.h"

#define BYTES     65536u
#define LOCAL_VA  RIG_VA
#define SYSTEM_VA (RIG_VA + MAPPED)
#define MAPPED    (2u << 20) /* of each: one leaf table */

/* The leaf table of the paging process at va, whole; segment 0: system memory. */
static void map(struct rig *rig, uint64_t va, unsigned segment, bool is_64k, bool is_valid)
{
    unsigned count = is_64k ? RIG_ENTRIES / 16 : RIG_ENTRIES;
    struct rig_update update;

    rig_begin_update(rig, &update, 0, va, count);
    update.arg.UpdatePageTable.hProcess = rig->system_process;
    update.arg.UpdatePageTable.Flags.Use64KBPages = is_64k;
    update.arg.UpdatePageTable.Flags.InitialUpdate = 1;
    for (unsigned i = 0; i < count; i++) {
        update.entries[i].Valid = is_valid;
        update.entries[i].Segment = segment;
        update.entries[i].PageAddress = 512 + i * (is_64k ? 16 : 1);
    }
    rig_update(rig, &update);
}

static void map_both(struct rig *rig)
{
    map(rig, LOCAL_VA, 1, false, true);
    map(rig, SYSTEM_VA, 0, false, true);
}

/* All of an allocation of the rig, in. */
static DXGKARG_BUILDPAGINGBUFFER enter(HANDLE allocation)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_VIRTUAL_TRANSFER};

    arg.TransferVirtual.hAllocation = allocation;
    arg.TransferVirtual.TransferSizeInBytes = BYTES;
    arg.TransferVirtual.SourceVirtualAddress = SYSTEM_VA;
    arg.TransferVirtual.DestinationVirtualAddress = LOCAL_VA;
    arg.TransferVirtual.TransferDirection = DXGK_MEMORY_TRANSFER_SYSTEM_TO_LOCAL;
    return arg;
}

static void enter_from(struct rig *rig, uint64_t va, bool is_mapped)
{
    DXGKARG_BUILDPAGINGBUFFER arg = enter(rig_create_allocation(rig, NULL));

    map(rig, LOCAL_VA, 1, false, true);
    map(rig, SYSTEM_VA, 0, false, is_mapped);
    arg.TransferVirtual.SourceVirtualAddress = va;
    rig_build(rig, &arg);
}

RULE_BROKEN(VX_001)
{
    enter_from(rig, SYSTEM_VA, false);
}

RULE_KEPT(VX_001)
{
    enter_from(rig, SYSTEM_VA + MAPPED - BYTES, true);
}

/* The second half of an allocation; the GPU faults at an address, or at none. */
static void run_second_half(struct rig *rig, uint64_t fault)
{
    DXGKARG_BUILDPAGINGBUFFER arg = enter(rig_create_allocation(rig, NULL));
    uint32_t fence;

    arg.TransferVirtual.TransferSizeInBytes = BYTES / 2;
    rig_build(rig, &arg);
    arg.TransferVirtual.AllocationOffsetInBytes = BYTES / 2;
    rig_build(rig, &arg);
    fence = rig_submit(rig);
    rig_gpu_event(rig, CHECK_GPU_QUEUED, 0, fence, 2 * RIG_PACKET_BYTES);
    if (fault) {
        check_gpu(rig->check, &(struct check_gpu_event){
                                  .kind = CHECK_GPU_FAULT, .fence = fence, .address = fault});
        return;
    }
    rig_gpu_event(rig, CHECK_GPU_DONE, 0, fence, 0);
    rig_complete(rig, 0, fence);
}

RULE_BROKEN(VX_002)
{
    run_second_half(rig, LOCAL_VA + BYTES / 2 + 0x1000);
}

RULE_KEPT(VX_002)
{
    run_second_half(rig, 0);
}

static void a_fault_where_the_operation_points_is_the_managers(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    run_second_half(rig, LOCAL_VA + 0x1000);
    rig_expect_only(rig, RULE_VX_001);
    rig_fini(rig);
    free(rig);
}

static void a_fault_where_entries_were_asked_for_is_the_drivers(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    map_both(rig);
    rig_complete(rig, 0, rig_submit(rig));
    run_second_half(rig, LOCAL_VA + 0x1000);
    rig_expect_only(rig, RULE_PT_017);
    rig_fini(rig);
    free(rig);
}

static void a_fault_behind_the_end_is_of_a_driver_that_moves_too_much(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    run_second_half(rig, SYSTEM_VA + BYTES);
    rig_expect_only(rig, RULE_VX_003);
    assert_true(rig->last.is_carried_out);
    rig_fini(rig);
    free(rig);
}

static void enter_in_chunks(struct rig *rig, unsigned second)
{
    DXGKARG_BUILDPAGINGBUFFER arg = enter(rig_create_allocation(rig, NULL));

    arg.TransferVirtual.TransferSizeInBytes = 16384;
    rig_build(rig, &arg);
    arg.TransferVirtual.AllocationOffsetInBytes = second;
    arg.TransferVirtual.TransferSizeInBytes = BYTES - second;
    rig_build(rig, &arg);
}

RULE_BROKEN(VX_003)
{
    enter_in_chunks(rig, 20480);
}

RULE_KEPT(VX_003)
{
    enter_in_chunks(rig, 16384);
}

/* An engine that does no paging is reset between two chunks: they go on, or begin anew. */
static void chunks_go_on_behind_a_reset_of_another_engine(void **state)
{
    static const unsigned seconds[] = {16384, 0, 20480};

    for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
        struct rig *rig = malloc(sizeof *rig);
        DXGKARG_BUILDPAGINGBUFFER arg;

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        arg = enter(rig_create_allocation(rig, NULL));
        arg.TransferVirtual.TransferSizeInBytes = 16384;
        rig_build(rig, &arg);
        rig_reset_engine(rig);
        arg.TransferVirtual.AllocationOffsetInBytes = seconds[i];
        arg.TransferVirtual.TransferSizeInBytes = BYTES - seconds[i];
        rig_build(rig, &arg);
        assert_int_equal(rig->counts.broken[RULE_VX_003], i == 2);
        rig_fini(rig);
        free(rig);
    }
}

static void enter_as(struct rig *rig, DXGK_MEMORY_TRANSFER_DIRECTION direction)
{
    DXGKARG_BUILDPAGINGBUFFER arg = enter(rig_create_allocation(rig, NULL));

    map_both(rig);
    arg.TransferVirtual.TransferDirection = direction;
    rig_build(rig, &arg);
}

RULE_BROKEN(VX_005)
{
    enter_as(rig, DXGK_MEMORY_TRANSFER_LOCAL_TO_LOCAL);
}

RULE_KEPT(VX_005)
{
    enter_as(rig, DXGK_MEMORY_TRANSFER_SYSTEM_TO_LOCAL);
}

static void enter_with_tables(struct rig *rig, uint64_t destination)
{
    DXGK_GPUMMUCAPS gpummu = {0};
    DXGKARG_BUILDPAGINGBUFFER arg;
    UINT adapter = 0;

    rig->gpummu.LegacyBehaviors.SourcePageTableVaInTransfer = 1;
    rig_query(rig, DXGKQAITYPE_GPUMMUCAPS, &adapter, sizeof adapter, &gpummu, sizeof gpummu);
    arg = enter(rig_create_allocation(rig, NULL));
    arg.TransferVirtual.SourcePageTable = 0x30000000;
    arg.TransferVirtual.DestinationPageTable = destination;
    rig_build(rig, &arg);
}

RULE_BROKEN(VX_006)
{
    enter_with_tables(rig, 0);
}

RULE_KEPT(VX_006)
{
    enter_with_tables(rig, 0x30001000);
}

static void enter_large(struct rig *rig, bool says_64k)
{
    DXGKARG_BUILDPAGINGBUFFER arg = enter(rig_create_allocation(rig, NULL));

    rig->gpummu.LeafPageTableSizeFor64KPagesInBytes = 4096;
    rig->segments[0].Flags.Use64KBPages = 1;
    rig_query_mmu(rig);
    rig_query_segments(rig);
    map(rig, LOCAL_VA, 1, true, true);
    map(rig, SYSTEM_VA, 0, false, true);
    arg.TransferVirtual.Flags.Dst64KBPages = says_64k;
    rig_build(rig, &arg);
}

RULE_BROKEN(VX_007)
{
    enter_large(rig, false);
}

RULE_KEPT(VX_007)
{
    enter_large(rig, true);
}

static void hand_over(struct rig *rig, unsigned node)
{
    DXGKARG_BUILDPAGINGBUFFER arg = enter(rig_create_allocation(rig, NULL));

    rig_build(rig, &arg);
    rig_gpu_event(rig, CHECK_GPU_QUEUED, node, rig_submit(rig), RIG_PACKET_BYTES);
}

/* As a driver with page tables is handed its packets. */
static void hand_over_virtual(unsigned node, enum rule_id expected)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGKARG_SUBMITCOMMANDVIRTUAL packet;
    DXGKARG_BUILDPAGINGBUFFER arg;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    arg = enter(rig_create_allocation(rig, NULL));
    rig_build(rig, &arg);
    packet = rig_packet_virtual(rig);
    packet.hContext = rig->system_context;
    packet.DmaBufferSize = rig->buffer_used;
    packet.Flags.Paging = 1;
    packet.NodeOrdinal = 0;
    rig_submit_virtual(rig, &packet);
    rig_gpu_event(rig, CHECK_GPU_QUEUED, node, packet.SubmissionFenceId, packet.DmaBufferSize);
    assert_int_equal(rig->counts.evaluated[RULE_VX_009], 1);
    assert_int_equal(rig->counts.broken[RULE_VX_009], expected == RULE_VX_009);
    rig_fini(rig);
    free(rig);
}

static void virtual_packets_are_for_the_paging_node(void **state)
{
    hand_over_virtual(0, RULE_NONE);
    hand_over_virtual(1, RULE_VX_009);
}

RULE_BROKEN(VX_009)
{
    hand_over(rig, 1);
}

RULE_KEPT(VX_009)
{
    hand_over(rig, 0);
}

static NTSTATUS answer_busy(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    return ddi == MINIPORT_DDI_BuildPagingBuffer ? STATUS_GRAPHICS_ALLOCATION_BUSY
                                                 : rig_answer(rig, ddi, object, arg);
}

RULE_BROKEN(VX_010)
{
    DXGKARG_BUILDPAGINGBUFFER arg = enter(rig_create_allocation(rig, NULL));

    rig->answer = answer_busy;
    rig_build(rig, &arg);
}

RULE_KEPT(VX_010)
{
    DXGKARG_BUILDPAGINGBUFFER arg = enter(rig_create_allocation(rig, NULL));

    rig_build(rig, &arg);
}

static void map_protected(struct rig *rig, uint64_t protection)
{
    HANDLE allocation = rig_create_allocation(rig, NULL);
    struct rig_update update;

    map(rig, LOCAL_VA, 1, false, false);
    rig_begin_map(rig, &update, LOCAL_VA, allocation, 512, 16);
    update.arg.UpdatePageTable.hProcess = rig->system_process;
    update.arg.UpdatePageTable.DriverProtection = protection;
    rig_update(rig, &update);
}

RULE_BROKEN(VX_012)
{
    map_protected(rig, 7);
}

RULE_KEPT(VX_012)
{
    map_protected(rig, UINT64_C(1) << 63 | 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_go_on_behind_a_reset_of_another_engine),
        cmocka_unit_test(virtual_packets_are_for_the_paging_node),
        cmocka_unit_test(a_fault_where_the_operation_points_is_the_managers),
        cmocka_unit_test(a_fault_where_entries_were_asked_for_is_the_drivers),
        cmocka_unit_test(a_fault_behind_the_end_is_of_a_driver_that_moves_too_much),
    };

    return RIG_RUN_TESTS(tests);
}
