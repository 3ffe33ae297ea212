/* Rules of faults of the GPU, and of roots behind whose entries it has to fault. */
#include "check/rig/test_rig.h"
#include "check/rig/test_rig_submit.h"

#define FAULT_VA UINT64_C(0x5000)

/* The packet of the context that runs stops the GPU at FAULT_VA. Gives its fence. */
static uint32_t stop(struct rig *rig, enum check_gpu_access access)
{
    uint32_t fence = rig_render(rig);

    rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, fence, RIG_CLIENT_BYTES);
    check_gpu(rig->check, &(struct check_gpu_event){.kind = CHECK_GPU_FAULT,
                                                    .node = RIG_CLIENT_NODE,
                                                    .fence = fence,
                                                    .address = FAULT_VA + 8,
                                                    .access = access});
    return fence;
}

static DXGKARGCB_NOTIFY_INTERRUPT_DATA report_of(uint32_t fence)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_DMA_PAGE_FAULTED};

    data.DmaPageFaulted.NodeOrdinal = RIG_CLIENT_NODE;
    data.DmaPageFaulted.FaultedFenceId = fence;
    data.DmaPageFaulted.FaultedVirtualAddress = FAULT_VA;
    data.DmaPageFaulted.PageFaultFlags = DXGK_PAGE_FAULT_ENGINE_RESET_REQUIRED;
    return data;
}

/* ---- RES-010 ---- */

RULE_BROKEN(RES_010)
{
    stop(rig, CHECK_GPU_ACCESSES);
    check_end(rig->check, true);
}

RULE_KEPT(RES_010)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = report_of(stop(rig, CHECK_GPU_ACCESSES));

    rig_interrupt(rig, &data);
}

static void a_fault_that_is_never_told_is_found_when_nothing_more_happens(void **state)
{
    struct rig rig;

    rig_init(&rig, RIG_GPUMMU);
    stop(&rig, CHECK_GPU_ACCESSES);
    assert_true(check_stands_still(rig.check) > 0);
    assert_int_equal(rig.counts.broken[RULE_RES_010], 1);
    rig_fini(&rig);
}

/* The adapter that goes takes its faults along; whatever else a client does leaves them. */
static void a_fault_is_due_until_the_adapter_is_gone(void **state)
{
    static const struct {
        enum check_client_kind kind;
        bool is_due;
    } rows[] = {
        {CHECK_CLIENT_CREATE, true}, {CHECK_CLIENT_SLEEP, true},   {CHECK_CLIENT_DEVICE, true},
        {CHECK_CLIENT_GONE, false},  {CHECK_CLIENT_PULLED, false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rig rig;

        rig_init(&rig, RIG_GPUMMU);
        stop(&rig, CHECK_GPU_ACCESSES);
        check_client(rig.check, &(struct check_client_event){.kind = rows[i].kind});
        check_end(rig.check, true);
        assert_int_equal(rig.counts.broken[RULE_RES_010], rows[i].is_due);
        rig_fini(&rig);
    }
}

/* ---- FENCE-010 ---- */

RULE_BROKEN(FENCE_010)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_DMA_FAULTED};

    rig_interrupt(rig, &data);
}

RULE_KEPT(FENCE_010)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = report_of(stop(rig, CHECK_GPU_WRITES));

    data.DmaPageFaulted.PageFaultFlags |= DXGK_PAGE_FAULT_WRITE;
    rig_interrupt(rig, &data);
}

/*
 * What ran before the packet that faulted is complete, and so is that one where no reset is asked
 * for: nothing is left for which the node stands still.
 */
static void a_fault_ends_what_is_before_it(void **state)
{
    for (unsigned needs_reset = 0; needs_reset < 2; needs_reset++) {
        struct rig *rig = malloc(sizeof *rig);
        DXGKARGCB_NOTIFY_INTERRUPT_DATA data;
        uint32_t before;

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        before = rig_render(rig);
        rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, before, RIG_CLIENT_BYTES);
        rig_gpu_event(rig, CHECK_GPU_DONE, RIG_CLIENT_NODE, before, 0);
        data = report_of(stop(rig, CHECK_GPU_READS));
        if (!needs_reset)
            data.DmaPageFaulted.PageFaultFlags = 0;
        rig_interrupt(rig, &data);
        assert_int_equal(check_stands_still(rig->check), needs_reset);
        assert_int_equal(rig->counts.broken[RULE_FENCE_004], needs_reset);
        if (needs_reset)
            assert_non_null(strstr(rig->last.text, "fence 0x2 "));
        rig_fini(rig);
        free(rig);
    }
}

typedef void change_report(DXGKARGCB_NOTIFY_INTERRUPT_DATA *data);

static void no_change(DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
}

static void of_another_packet(DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    data->DmaPageFaulted.FaultedFenceId++;
}

static void at_another_page(DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    data->DmaPageFaulted.FaultedVirtualAddress += 0x1000;
}

static void at_no_address(DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    data->DmaPageFaulted.FaultedVirtualAddress = 0;
}

static void of_a_write(DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    data->DmaPageFaulted.PageFaultFlags |= DXGK_PAGE_FAULT_WRITE;
}

static void without_a_reset(DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    data->DmaPageFaulted.PageFaultFlags = 0;
}

static void of_no_packet(DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    data->DmaPageFaulted.PageFaultFlags = DXGK_PAGE_FAULT_FENCE_INVALID;
}

static void of_a_packet_that_is_not_known(DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    data->DmaPageFaulted.FaultedFenceId = 0x7777;
    data->DmaPageFaulted.PageFaultFlags |= DXGK_PAGE_FAULT_FENCE_INVALID;
}

static void of_the_iommu(DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    data->DmaPageFaulted.PageFaultFlags |= DXGK_PAGE_FAULT_IOMMU;
}

static void at_the_root(DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    data->DmaPageFaulted.PageTableLevel = 2; /* the rig's tables have three levels */
}

static void right_above_the_root(DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    data->DmaPageFaulted.PageTableLevel = 3;
}

static void above_the_root(DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    data->DmaPageFaulted.PageTableLevel = 8;
}

static void every_member_of_a_report_is_judged(void **state)
{
    static const struct {
        change_report *change;
        bool is_broken;
        const char *field;
    } rows[] = {
        {no_change, false, ""},
        {of_another_packet, true, "FaultedFenceId"},
        {at_another_page, true, "FaultedVirtualAddress"},
        {at_no_address, false, ""},
        {of_a_write, true, "PageFaultFlags"},
        {without_a_reset, true, "PageFaultFlags"},
        {of_no_packet, true, "PageFaultFlags"},
        {of_a_packet_that_is_not_known, false, ""},
        {of_the_iommu, true, "PageFaultFlags"},
        {at_the_root, false, ""},
        {right_above_the_root, true, "PageTableLevel"},
        {above_the_root, true, "PageTableLevel"},
    };

    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        DXGKARGCB_NOTIFY_INTERRUPT_DATA data;
        struct rig rig;

        rig_init(&rig, RIG_GPUMMU);
        data = report_of(stop(&rig, CHECK_GPU_READS));
        rows[i].change(&data);
        rig_interrupt(&rig, &data);
        if (rows[i].is_broken)
            rig_expect_only(&rig, RULE_FENCE_010);
        else
            rig_expect_silence(&rig, RULE_FENCE_010);
        assert_non_null(strstr(rig.last.detail.where, rows[i].field));
        rig_fini(&rig);
    }
}

/* ---- PT-011 ---- */

static void tell_of_root(struct rig *rig, uint64_t entries)
{
    check_gpu(rig->check, &(struct check_gpu_event){.kind = CHECK_GPU_QUEUED,
                                                    .node = RIG_CLIENT_NODE,
                                                    .fence = rig_render(rig),
                                                    .bytes = RIG_CLIENT_BYTES,
                                                    .root_entries = entries});
}

#define ROOT_ENTRIES 512u /* that rig_create_context() tells the driver of */

RULE_BROKEN(PT_011)
{
    tell_of_root(rig, 2 * ROOT_ENTRIES);
}

RULE_KEPT(PT_011)
{
    tell_of_root(rig, ROOT_ENTRIES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_that_is_never_told_is_found_when_nothing_more_happens),
        cmocka_unit_test(a_fault_is_due_until_the_adapter_is_gone),
        cmocka_unit_test(a_fault_ends_what_is_before_it),
        cmocka_unit_test(every_member_of_a_report_is_judged),
    };

    return RIG_RUN_TESTS(tests);
}
