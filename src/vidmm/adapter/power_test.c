/* What a sleep keeps in place, and what it moves out. */
#include "vidmm/memory/page_units.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#include "base/bits.h"

#define KEPT_PAGES 10

/* Segment 1 keeps its first pages in hibernation, and no more. */
static struct {
    NTSTATUS (*query)(struct miniport *self, HANDLE adapter, const DXGKARG_QUERYADAPTERINFO *arg);
    HANDLE moved[8]; /* out of a segment, in order */
    unsigned moved_count;
} seen;

static NTSTATUS query(struct miniport *self, HANDLE adapter, const DXGKARG_QUERYADAPTERINFO *arg)
{
    NTSTATUS status = seen.query(self, adapter, arg);
    DXGK_QUERYSEGMENTOUT3 *out = arg->pOutputData;

    if (NT_SUCCESS(status) && arg->Type == DXGKQAITYPE_QUERYSEGMENT3 && out->pSegmentDescriptor) {
        out->pSegmentDescriptor[0].Flags.PreservedDuringStandby = 1;
        out->pSegmentDescriptor[0].Flags.PartiallyPreservedDuringHibernate = 1;
        out->pSegmentDescriptor[0].SystemMemoryEndAddress = PAGE_BYTES_OF(KEPT_PAGES) - 1;
    }
    return status;
}

static NTSTATUS set_power_state(struct miniport *self, ULONG device, DEVICE_POWER_STATE state,
                                POWER_ACTION action)
{
    return STATUS_SUCCESS;
}

static void see_move(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    if (args->Operation == DXGK_OPERATION_TRANSFER && args->Transfer.Source.SegmentId &&
        seen.moved_count < ARRAY_COUNT(seen.moved))
        seen.moved[seen.moved_count++] = args->Transfer.hAllocation;
}

static void sleep(struct rig *rig, enum vidmm_sleep how)
{
    struct rig_done done = {0};

    seen.moved_count = 0;
    assert_int_equal(vidmm_power_down(rig->vidmm, how, rig_done, &done), STATUS_SUCCESS);
    rig_drain(rig);
    assert_int_equal(done.calls, 1);
    assert_int_equal(vidmm_power_up(rig->vidmm), STATUS_SUCCESS);
    rig_drain(rig);
}

/* PWR-004, PWR-005: what ends with the last byte that is kept stays, one page behind it goes. */
static void hibernation_keeps_what_ends_in_the_kept_part(void **state)
{
    struct rig_config config = rig_model(0);
    struct rig *rig = rig_new(&config);
    struct rig_object kept, beyond;

    seen.query = rig->ops.query_adapter_info;
    rig->ops.query_adapter_info = query;
    rig->ops.set_power_state = set_power_state;
    rig->watch = see_move;
    assert_int_equal(rig_start(rig), STATUS_SUCCESS);
    assert_int_equal(rig_open(rig), STATUS_SUCCESS);
    rig_object(rig, KEPT_PAGES, 1, &kept);
    rig_object(rig, 1, 1, &beyond);
    rig_gpu(rig, &kept, 4); /* which writes, so that there is content to lose */
    rig_gpu(rig, &beyond, 4);
    rig_drain(rig);

    sleep(rig, VIDMM_SLEEP_STANDBY);
    assert_int_equal(seen.moved_count, 0);
    sleep(rig, VIDMM_SLEEP_HIBERNATE);
    assert_int_equal(seen.moved_count, 1);
    assert_ptr_equal(seen.moved[0], beyond.driver);
    rig_destroy_object(rig, &kept);
    rig_destroy_object(rig, &beyond);
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hibernation_keeps_what_ends_in_the_kept_part),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
