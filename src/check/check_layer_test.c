/* The layer: what it tells of the calls that go through it. */
#include "check/rig/test_rig.h"

/* What the checker said of copies, and what the driver was given. */
static struct {
    unsigned calls, returns, loans;
    uint64_t event;
    struct check_lent lent;
    const void *copy, *stands_for; /* NULL: nothing stands for anything */
} told;

static void on_call(void *context, uint64_t event, const struct check_lent *lent)
{
    if (!event) {
        assert_null(lent);
        told.returns++;
        return;
    }
    assert_true(event > told.event);
    assert_int_equal(told.calls, told.returns); /* one call at a time here */
    told.calls++;
    told.event = event;
    told.lent = *lent;
}

static void on_stand_in(void *context, const void *copy, const void *buffer, size_t bytes)
{
    told.copy = copy;
    told.stands_for = buffer;
    assert_true(!copy == !buffer && !copy == !bytes);
}

/* Of a paging buffer the driver has copies, which are said to be lent; of other calls nothing. */
static NTSTATUS compare(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    const DXGKARG_BUILDPAGINGBUFFER *build = arg;

    assert_int_equal(told.calls, told.returns + 1);
    if (ddi == MINIPORT_DDI_BuildPagingBuffer) {
        assert_ptr_equal(told.lent.commands, build->pDmaBuffer);
        assert_int_equal(told.lent.command_bytes, build->DmaSize);
        assert_ptr_equal(told.lent.private_data, build->pDmaBufferPrivateData);
        assert_int_equal(told.lent.private_bytes, build->DmaBufferPrivateDataSize);
        assert_true(told.lent.commands && told.lent.private_data);
        assert_ptr_equal((const char *)told.copy + rig->buffer_used, build->pDmaBuffer);
        assert_ptr_equal(told.stands_for, rig->buffer);
        assert_true((char *)build->pDmaBuffer < rig->buffer ||
                    (char *)build->pDmaBuffer >= rig->buffer + RIG_BUFFER_BYTES);
        told.loans++;
    } else {
        assert_true(!told.lent.commands && !told.lent.private_data);
    }
    return rig_answer(rig, ddi, object, arg);
}

static void whoever_watches_is_told_of_each_call_and_its_copies(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGKARG_BUILDPAGINGBUFFER fill = {
        .Operation = DXGK_OPERATION_FILL,
        .Fill = {.FillSize = 65536, .Destination = {.SegmentId = 1}},
    };

    assert_non_null(rig);
    memset(&told, 0, sizeof told);
    rig_prepare(rig, RIG_PHYSICAL);
    rig->config.calls_driver = on_call;
    rig->config.stands_in = on_stand_in;
    rig_init_prepared(rig);
    fill.Fill.hAllocation = rig_create_allocation(rig, NULL);
    rig->answer = compare;
    for (unsigned i = 0; i < 3; i++) {
        fill.MultipassOffset = 0;
        rig_build(rig, &fill);
        assert_null(told.copy); /* behind the call the buffer is itself again */
    }
    rig->answer = NULL;
    assert_int_equal(told.loans, 3);
    assert_int_equal(told.calls, told.returns);
    assert_true(told.calls > told.loans);
    rig_fini(rig);
    free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_watches_is_told_of_each_call_and_its_copies),
    };

    return cmocka_run_group_tests_name("check/layer", tests, NULL, NULL);
}
