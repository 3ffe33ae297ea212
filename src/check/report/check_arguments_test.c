/*
 * What a finding tells of its call: reports are made in the middle of calls here, as a watcher
 * makes them.
 */
#include "check/check_watch.h"
#include "check/rig/test_rig.h"

/* rig->told: the field that is reported wrong while the driver has the call. */
static NTSTATUS report_inside(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    NTSTATUS status = rig_answer(rig, ddi, object, arg);

    check_report(rig->check, RULE_ALLOC_001, NULL, rig->told, "told");
    return status;
}

static struct rig *open_rig(char *field)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    rig->answer = report_inside;
    rig->told = field;
    return rig;
}

static void close_rig(struct rig *rig)
{
    rig->answer = NULL;
    rig_fini(rig);
    free(rig);
}

static void create_two(struct rig *rig)
{
    DXGK_ALLOCATIONINFO info[2] = {{.Size = 4096}, {.Size = 12345678, .Alignment = 65536}};
    DXGKARG_CREATEALLOCATION arg = {.NumAllocations = 2, .pAllocationInfo = info};

    miniport_create_allocation(rig->top, NULL, &arg);
}

static void the_element_that_a_field_names_is_told(void **state)
{
    struct rig *rig = open_rig("pAllocationInfo[1].Size");
    const char *text = rig->last.detail.arguments;

    create_two(rig);
    assert_non_null(strstr(text, "\nNumAllocations "));
    assert_non_null(strstr(text, "\npAllocationInfo[1].Alignment "));
    assert_non_null(strstr(text, "65536 (0x10000)\n"));
    assert_null(strstr(text, "pAllocationInfo[0]."));
    close_rig(rig);
}

static void an_element_that_is_not_there_is_not_read(void **state)
{
    struct rig *rig = open_rig("pAllocationInfo[2].Size");

    create_two(rig);
    assert_non_null(strstr(rig->last.detail.arguments, "NumAllocations "));
    assert_null(strstr(rig->last.detail.arguments, "pAllocationInfo["));
    close_rig(rig);
}

/* One element stands for all when Repeat says so. */
static void a_repeated_entry_is_the_first_one(void **state)
{
    static char *const fields[] = {"pPageTableEntries[0].Valid", "pPageTableEntries[1].Valid"};

    for (unsigned i = 0; i < 2; i++) {
        struct rig *rig = open_rig(fields[i]);
        DXGK_PTE entry = {.Valid = 1, .Segment = 1, .PageAddress = 0x77};
        DXGKARG_BUILDPAGINGBUFFER update = {
            .Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE,
            .UpdatePageTable = {.pPageTableEntries = &entry,
                                .NumPageTableEntries = 512,
                                .Flags.Repeat = 1,
                                .UpdateMode = DXGK_PAGETABLEUPDATE_GPU_VIRTUAL},
        };
        const char *text = rig->last.detail.arguments;

        rig_build(rig, &update);
        assert_non_null(strstr(text, "UpdatePageTable.Flags "));
        if (i) {
            assert_null(strstr(text, "pPageTableEntries["));
        } else {
            assert_non_null(strstr(text, "pPageTableEntries[0].Flags "));
            assert_non_null(strstr(text, " Valid Segment=1\n"));
            assert_non_null(strstr(text, "pPageTableEntries[0].PageAddress"));
        }
        close_rig(rig);
    }
}

/* Without an object, what the call is about. */
static void the_object_of_the_call_is_told(void **state)
{
    struct rig *rig = open_rig("");
    DXGKARG_BUILDPAGINGBUFFER fill;

    rig->answer = NULL;
    fill = rig_fill(rig_create_allocation(rig, NULL));
    rig->answer = report_inside;
    rig_build(rig, &fill);
    assert_int_equal(strncmp(rig->last.detail.objects, "allocation a1: event ", 21), 0);
    assert_int_equal(rig->last.object, 0); /* nobody said that it is about it */
    close_rig(rig);
}

static void a_callback_tells_its_own_structure(void **state)
{
    struct rig *rig = open_rig("");
    const DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {
        .InterruptType = DXGK_INTERRUPT_DMA_COMPLETED,
        .DmaCompleted = {.SubmissionFenceId = 0xfff0, .NodeOrdinal = 1},
    };

    /* A fence that nobody submitted: FENCE-002 says so. */
    rig->answer = NULL;
    rig->drivers_host->ops->notify_interrupt(rig->drivers_host, &data);
    assert_true(rig->finding_count > 0);
    assert_non_null(strstr(rig->last.detail.arguments, "1 DXGK_INTERRUPT_DMA_COMPLETED\n"));
    assert_non_null(strstr(rig->last.detail.arguments, "65520 (0xfff0)\n"));
    close_rig(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_element_that_a_field_names_is_told),
        cmocka_unit_test(an_element_that_is_not_there_is_not_read),
        cmocka_unit_test(a_repeated_entry_is_the_first_one),
        cmocka_unit_test(the_object_of_the_call_is_told),
        cmocka_unit_test(a_callback_tells_its_own_structure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
