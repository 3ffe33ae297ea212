#include "check/rig/test_rig.h"

static NTSTATUS build_as_told(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    DXGKARG_BUILDPAGINGBUFFER *build = arg;
    int64_t moved = *(int64_t *)rig->told;

    if (ddi != MINIPORT_DDI_BuildPagingBuffer)
        return rig_answer(rig, ddi, object, arg);
    memset(build->pDmaBuffer, 0x11, min_u64((uint64_t)moved, build->DmaSize));
    build->pDmaBuffer = (char *)build->pDmaBuffer + moved;
    return STATUS_SUCCESS;
}

RULE_BROKEN(PB_004)
{
    int64_t moved = RIG_BUFFER_BYTES + 32;
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));

    rig->answer = build_as_told;
    rig->told = &moved;
    rig_build(rig, &fill);
    assert_string_equal(rig->last.detail.where, "DxgkDdiBuildPagingBuffer(FILL).pDmaBuffer");
    assert_string_equal(rig->last.text, "moved 16416 bytes; 16384 were offered");
    /* What the driver answered, and the argument before and after. */
    assert_non_null(strstr(rig->last.detail.arguments, "(returned 0x00000000 STATUS_SUCCESS)\n"));
    assert_non_null(strstr(rig->last.detail.arguments, "not NULL, moved by 16416 bytes\n"));
    assert_non_null(strstr(rig->last.detail.arguments, "1 DXGK_OPERATION_FILL\n"));
    assert_non_null(strstr(rig->last.detail.arguments, "allocation a1\n"));
}

RULE_KEPT(PB_004)
{
    int64_t moved = RIG_BUFFER_BYTES;
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));

    rig->answer = build_as_told;
    rig->told = &moved;
    rig_build(rig, &fill);
}

static NTSTATUS write_behind(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    DXGKARG_BUILDPAGINGBUFFER *build = arg;
    const int64_t *offset = rig->told;

    if (ddi != MINIPORT_DDI_BuildPagingBuffer)
        return rig_answer(rig, ddi, object, arg);
    ((char *)build->pDmaBuffer)[*offset] = 1;
    return rig_answer(rig, ddi, object, arg);
}

RULE_BROKEN(PB_005)
{
    int64_t offset = RIG_BUFFER_BYTES;
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));

    rig->answer = write_behind;
    rig->told = &offset;
    rig_build(rig, &fill);
}

RULE_KEPT(PB_005)
{
    int64_t offset = RIG_PACKET_BYTES - 1;
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));

    rig->answer = write_behind;
    rig->told = &offset;
    rig_build(rig, &fill);
}

/* What was written and not said is of the same rule as the pointer. */
static void bytes_behind_the_pointer_are_found(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    int64_t offset = RIG_PACKET_BYTES + 3;
    DXGKARG_BUILDPAGINGBUFFER fill;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    fill = rig_fill(rig_create_allocation(rig, NULL));
    rig->answer = write_behind;
    rig->told = &offset;
    rig_build(rig, &fill);
    rig_expect_only(rig, RULE_PB_004);
    assert_non_null(strstr(rig->last.text, "byte 3 behind them"));
    rig_fini(rig);
    free(rig);
}

/* By one byte as by many. */
static void a_pointer_just_behind_the_end_is_found(void **state)
{
    static const int64_t beyond[] = {1, 4, 8};

    for (size_t i = 0; i < ARRAY_COUNT(beyond); i++) {
        int64_t moved = RIG_BUFFER_BYTES + beyond[i];
        DXGKARG_BUILDPAGINGBUFFER fill;
        struct rig rig;

        rig_init(&rig, RIG_GPUMMU);
        fill = rig_fill(rig_create_allocation(&rig, NULL));
        rig.answer = build_as_told;
        rig.told = &moved;
        rig_build(&rig, &fill);
        rig_expect_only(&rig, RULE_PB_004);
        assert_non_null(strstr(rig.last.text, "bytes; 16384 were offered"));
        rig_fini(&rig);
    }
}

/* PB-005, at either end of what is offered. */
static void bytes_around_the_buffer_are_found(void **state)
{
    static const int64_t offsets[] = {-1, -8, -64, RIG_BUFFER_BYTES, RIG_BUFFER_BYTES + 7};

    for (size_t i = 0; i < ARRAY_COUNT(offsets); i++) {
        int64_t offset = offsets[i];
        DXGKARG_BUILDPAGINGBUFFER fill;
        struct rig rig;

        rig_init(&rig, RIG_GPUMMU);
        fill = rig_fill(rig_create_allocation(&rig, NULL));
        rig.answer = write_behind;
        rig.told = &offset;
        rig_build(&rig, &fill);
        rig_expect_only(&rig, RULE_PB_005);
        rig_fini(&rig);
    }
}

static NTSTATUS write_private(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    DXGKARG_BUILDPAGINGBUFFER *build = arg;

    if (ddi != MINIPORT_DDI_BuildPagingBuffer)
        return rig_answer(rig, ddi, object, arg);
    ((char *)build->pDmaBufferPrivateData)[*(int64_t *)rig->told] = 1;
    return rig_answer(rig, ddi, object, arg);
}

RULE_BROKEN(PB_023)
{
    int64_t offset = RIG_PRIVATE_BYTES;
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));

    rig->answer = write_private;
    rig->told = &offset;
    rig_build(rig, &fill);
}

RULE_KEPT(PB_023)
{
    int64_t offset = RIG_PRIVATE_BYTES - 1;
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));

    rig->answer = write_private;
    rig->told = &offset;
    rig_build(rig, &fill);
    assert_int_equal(rig->private_data[RIG_PRIVATE_BYTES - 1], 1);
}

/* ---- By a pointer that was kept ---- */

struct keeper {
    char *buffer, *private_data; /* of the call that has returned */
    bool is_private;
};

static NTSTATUS keep_and_write(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    struct keeper *keeper = rig->told;
    DXGKARG_BUILDPAGINGBUFFER *build = arg;
    char *at = keeper->is_private ? keeper->private_data : keeper->buffer;

    if (ddi == MINIPORT_DDI_BuildPagingBuffer) {
        keeper->buffer = build->pDmaBuffer;
        keeper->private_data = build->pDmaBufferPrivateData;
    } else if (at) {
        at[5] ^= 1;
        keeper->buffer = keeper->private_data = NULL;
    }
    return rig_answer(rig, ddi, object, arg);
}

/* Not of the next call, and not the system's: advice, as no page says how long it is lent. */
static void what_is_written_by_a_pointer_that_was_kept_is_of_the_call_that_lent_it(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (unsigned way = 0; way < 2; way++) {
        struct keeper keeper = {.is_private = way == 1};
        DXGKARG_BUILDPAGINGBUFFER fill;
        HANDLE allocation;

        rig_init(rig, RIG_PHYSICAL);
        allocation = rig_create_allocation(rig, NULL);
        rig->answer = keep_and_write;
        rig->told = &keeper;
        fill = rig_fill(allocation);
        rig_build(rig, &fill);
        rig_create_allocation(rig, NULL); /* the driver writes meanwhile */
        fill = rig_fill(allocation);
        rig_build(rig, &fill);
        assert_true(rig->last.is_advice);
        assert_int_equal(rig->last.rule, RULE_MEM_003);
        assert_string_equal(rig->last.detail.where,
                            keeper.is_private ? "DxgkDdiBuildPagingBuffer.pDmaBufferPrivateData"
                                              : "DxgkDdiBuildPagingBuffer.pDmaBuffer");
        assert_non_null(strstr(rig->last.text, "byte 5 of its "));
        assert_int_equal(rig->counts.broken[RULE_PB_021] + rig->counts.broken[RULE_PB_004], 0);
        rig_fini(rig);
    }
    free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_behind_the_pointer_are_found),
        cmocka_unit_test(a_pointer_just_behind_the_end_is_found),
        cmocka_unit_test(bytes_around_the_buffer_are_found),
        cmocka_unit_test(what_is_written_by_a_pointer_that_was_kept_is_of_the_call_that_lent_it),
    };

    return RIG_RUN_TESTS(tests);
}
