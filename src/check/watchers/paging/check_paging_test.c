#include "miniport/operation.h"
#include "check/rig/test_rig_submit.h"

/* What the driver does to an operation, as the test says. */
struct way {
    NTSTATUS status;
    int64_t written; /* bytes, of them */
    int64_t said;    /* by which the pointer moves; 0: written */
    int64_t dma_size_lowered;
    int64_t private_moved;
    UINT multipass;
    unsigned irql; /* left behind */
};

static NTSTATUS build_in_a_way(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    DXGKARG_BUILDPAGINGBUFFER *build = arg;
    const struct way *way = rig->told;

    if (ddi != MINIPORT_DDI_BuildPagingBuffer)
        return rig_answer(rig, ddi, object, arg);
    if (way->written)
        memset(build->pDmaBuffer, 0x11, (size_t)way->written);
    build->pDmaBuffer = (char *)build->pDmaBuffer + (way->said ? way->said : way->written);
    build->DmaSize -= (UINT)way->dma_size_lowered;
    build->pDmaBufferPrivateData = (char *)build->pDmaBufferPrivateData + way->private_moved;
    build->MultipassOffset = way->multipass;
    rig->irql += way->irql;
    return way->status;
}

/* One FILL, done in a way. */
static DXGKARG_BUILDPAGINGBUFFER fill_in_a_way(struct rig *rig, struct way *way)
{
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));

    rig->answer = build_in_a_way;
    rig->told = way;
    rig_build(rig, &fill);
    return fill;
}

/* The same operation again, in a fresh buffer and with what the driver left. */
static void fill_again(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *fill)
{
    DXGKARG_BUILDPAGINGBUFFER again = *fill;

    rig_new_buffer(rig);
    rig_build(rig, &again);
}

RULE_BROKEN(PB_001)
{
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));

    rig_build(rig, &fill);
    rig->buffer_used += 8;
    fill = rig_fill(fill.Fill.hAllocation);
    fill.DmaSize = RIG_BUFFER_BYTES;
    rig_build(rig, &fill);
}

RULE_KEPT(PB_001)
{
    HANDLE allocation = rig_create_allocation(rig, NULL);
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(allocation);

    rig_build(rig, &fill);
    fill = rig_fill(allocation);
    rig_build(rig, &fill);
    rig_submit(rig);
    rig_new_buffer(rig);
    fill = rig_fill(allocation);
    rig_build(rig, &fill);
}

RULE_BROKEN(PB_002)
{
    struct way way = {.written = 16, .said = 48};

    fill_in_a_way(rig, &way);
}

RULE_KEPT(PB_002)
{
    struct way way = {.written = 48};

    fill_in_a_way(rig, &way);
}

RULE_BROKEN(PB_003)
{
    struct way way = {.written = 24};

    fill_in_a_way(rig, &way);
    rig_submit(rig);
}

RULE_KEPT(PB_003)
{
    struct way way = {.written = 32};

    fill_in_a_way(rig, &way);
    rig_submit(rig);
}

static void build_with_size(struct rig *rig, UINT too_much)
{
    HANDLE allocation = rig_create_allocation(rig, NULL);
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(allocation);

    rig_build(rig, &fill);
    fill = rig_fill(allocation);
    rig->buffer_bytes += too_much;
    rig_build(rig, &fill);
    rig->buffer_bytes -= too_much;
}

RULE_BROKEN(PB_006)
{
    build_with_size(rig, (UINT)-64);
}

RULE_KEPT(PB_006)
{
    build_with_size(rig, 0);
}

RULE_BROKEN(PB_007)
{
    struct way way = {.written = 32, .dma_size_lowered = 16};

    fill_in_a_way(rig, &way);
}

RULE_KEPT(PB_007)
{
    struct way way = {.written = 32, .dma_size_lowered = 32};

    fill_in_a_way(rig, &way);
}

/* U1: a profile may want it one way. */
static void a_profile_may_want_DmaSize_untouched(void **state)
{
    for (int wants = 0; wants < 2; wants++) {
        struct rig *rig = malloc(sizeof *rig);
        struct way way = {.written = 32, .dma_size_lowered = 32};

        assert_non_null(rig);
        rig_prepare(rig, RIG_GPUMMU);
        rig->config.profile.wants_dma_size_unchanged = wants;
        rig_init_prepared(rig);
        fill_in_a_way(rig, &way);
        rig_expect_only(rig, wants ? RULE_PB_007 : RULE_NONE);
        rig_fini(rig);
        free(rig);
    }
}

RULE_BROKEN(PB_008)
{
    struct way way = {.status = STATUS_NOT_SUPPORTED};

    fill_in_a_way(rig, &way);
}

RULE_KEPT(PB_008)
{
    struct way way = {.status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER, .written = 16};

    fill_in_a_way(rig, &way);
}

RULE_BROKEN(PB_009)
{
    struct way way = {.status = STATUS_NO_MEMORY};

    fill_in_a_way(rig, &way);
}

RULE_KEPT(PB_009)
{
    struct way way = {.status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER, .written = 16};

    fill_in_a_way(rig, &way);
}

RULE_BROKEN(PB_010)
{
    struct way way = {.status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER, .written = 16};
    DXGKARG_BUILDPAGINGBUFFER fill = fill_in_a_way(rig, &way);
    DXGKARG_BUILDPAGINGBUFFER other = {.Operation = DXGK_OPERATION_DISCARD_CONTENT};

    way.status = STATUS_SUCCESS;
    other.DiscardContent.hAllocation = fill.Fill.hAllocation;
    other.DiscardContent.SegmentId = 1;
    fill_again(rig, &other);
}

RULE_KEPT(PB_010)
{
    struct way way = {.status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER, .written = 16};
    DXGKARG_BUILDPAGINGBUFFER fill = fill_in_a_way(rig, &way);

    way.status = STATUS_SUCCESS;
    fill_again(rig, &fill);
}

static void stall(struct rig *rig, unsigned times)
{
    struct way way = {.status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER};
    DXGKARG_BUILDPAGINGBUFFER fill;

    rig->buffer_bytes = 4096; /* less than was declared */
    fill = fill_in_a_way(rig, &way);
    for (unsigned i = 1; i < times; i++)
        fill_again(rig, &fill);
    way = (struct way){.written = 16};
    if (times < 2)
        fill_again(rig, &fill);
}

RULE_BROKEN(PB_012)
{
    stall(rig, 2);
}

RULE_KEPT(PB_012)
{
    stall(rig, 1);
}

RULE_BROKEN(PB_020)
{
    struct way way = {.status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER};
    DXGKARG_BUILDPAGINGBUFFER fill = fill_in_a_way(rig, &way);

    fill_again(rig, &fill);
}

RULE_KEPT(PB_020)
{
    struct way way = {.status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER, .multipass = 1};
    DXGKARG_BUILDPAGINGBUFFER fill = fill_in_a_way(rig, &way);

    way = (struct way){.written = 16, .multipass = 1};
    fill_again(rig, &fill);
}

RULE_BROKEN(PB_013)
{
    struct way way = {
        .status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER, .written = 16, .multipass = 7};
    DXGKARG_BUILDPAGINGBUFFER fill = fill_in_a_way(rig, &way);

    way.status = STATUS_SUCCESS;
    fill.MultipassOffset = 6;
    fill_again(rig, &fill);
}

RULE_KEPT(PB_013)
{
    struct way way = {
        .status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER, .written = 16, .multipass = 7};
    DXGKARG_RESETENGINE reset = {.NodeOrdinal = 1};
    DXGKARG_BUILDPAGINGBUFFER fill = fill_in_a_way(rig, &way);

    miniport_reset_engine(rig->top, NULL, &reset); /* of clients: paging goes on where it was */
    way.status = STATUS_SUCCESS;
    fill_again(rig, &fill);
}

/* Two buffers are full of it, and nothing says how far it is. */
static void go_in_circles(struct rig *rig, UINT step)
{
    struct way way = {.status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER, .written = 16};
    DXGKARG_BUILDPAGINGBUFFER fill;

    way.multipass = step;
    fill = fill_in_a_way(rig, &way);
    way.multipass = 2 * step;
    fill_again(rig, &fill);
}

/* Longer than any operation of its size takes: whoever knows how far it is, it never ends. */
RULE_BROKEN(PB_014)
{
    struct way way = {.status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER, .written = 16};
    DXGKARG_BUILDPAGINGBUFFER fill = fill_in_a_way(rig, &way);
    uint64_t most = miniport_operation_most_aimless(&fill);

    for (uint64_t i = 1; i < most; i++) {
        rig_expect_only(rig, RULE_NONE);
        fill_again(rig, &fill);
    }
}

static void progress_that_the_driver_keeps_is_advice(void **state)
{
    for (int is_strict = 0; is_strict < 2; is_strict++) {
        struct rig *rig = malloc(sizeof *rig);
        DXGKARG_BUILDPAGINGBUFFER discard;

        assert_non_null(rig);
        rig_prepare(rig, RIG_GPUMMU);
        rig->config.profile.wants_offset_progress = is_strict;
        rig_init_prepared(rig);
        go_in_circles(rig, 0);
        assert_int_equal(rig->last.is_advice, !is_strict);
        assert_int_equal(rig->last.rule, RULE_PB_014);
        rig_expect_only(rig, is_strict ? RULE_PB_014 : RULE_NONE);
        if (is_strict) { /* the operation is given up: another one may follow */
            rig->answer = NULL;
            rig_new_buffer(rig);
            discard = (DXGKARG_BUILDPAGINGBUFFER){.Operation = DXGK_OPERATION_DISCARD_CONTENT};
            discard.DiscardContent.hAllocation = rig_create_allocation(rig, NULL);
            discard.DiscardContent.SegmentId = 1;
            rig_build(rig, &discard);
            rig_expect_only(rig, RULE_PB_014);
        }
        rig_fini(rig);
        free(rig);
    }
}

RULE_KEPT(PB_014)
{
    go_in_circles(rig, 1);
}

RULE_BROKEN(PB_015)
{
    struct way way = {.status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER, .written = 16};
    DXGKARG_BUILDPAGINGBUFFER fill = fill_in_a_way(rig, &way);

    way.status = STATUS_SUCCESS;
    fill.Fill.Destination.SegmentAddress.QuadPart += 4096;
    fill_again(rig, &fill);
}

RULE_KEPT(PB_015)
{
    struct way way = {.status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER, .written = 16};
    DXGKARG_BUILDPAGINGBUFFER fill = fill_in_a_way(rig, &way);

    way.status = STATUS_SUCCESS;
    fill_again(rig, &fill);
}

RULE_BROKEN(PB_016)
{
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));

    rig_build(rig, &fill);
    rig->buffer_used += 16;
    rig_submit(rig);
}

/* Built ahead: both are submitted afterwards, each on its own. */
RULE_KEPT(PB_016)
{
    struct way way = {.status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER, .written = 32};
    DXGKARG_BUILDPAGINGBUFFER fill = fill_in_a_way(rig, &way);

    way = (struct way){.written = 16};
    fill_again(rig, &fill);
    rig->buffer_submitted = 0;
    rig->buffer_used = 32;
    rig_submit(rig);
    rig->buffer_submitted = 0;
    rig->buffer_used = 16;
    rig_submit(rig);
}

RULE_BROKEN(PB_018)
{
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));

    rig_build(rig, &fill);
    rig->submit_segment = 2;
    rig_submit(rig);
}

RULE_KEPT(PB_018)
{
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));

    rig_build(rig, &fill);
    rig_submit(rig);
}

RULE_BROKEN(PB_019)
{
    rig->paging_segment = 1;
    rig_query_segments(rig);
}

RULE_KEPT(PB_019)
{
    rig->paging_segment = 2;
    rig_query_segments(rig);
}

static void build_twice_with_private(struct rig *rig, char changed)
{
    HANDLE allocation = rig_create_allocation(rig, NULL);
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(allocation);

    rig_build(rig, &fill);
    rig->private_data[3] = changed;
    fill = rig_fill(allocation);
    rig_build(rig, &fill);
}

RULE_BROKEN(PB_021)
{
    build_twice_with_private(rig, 1);
}

/* Of a client's buffer, which is used again, the driver writes it as it renders. */
RULE_KEPT(PB_021)
{
    DXGKARG_SUBMITCOMMAND packet;

    build_twice_with_private(rig, 0);
    rig_submit(rig);
    packet = rig_packet(rig);
    packet.pDmaBufferPrivateData = rig->buffer;
    memset(rig->buffer, 1, RIG_PRIVATE_BYTES);
    rig_submit_packet(rig, &packet);
    memset(rig->buffer, 2, RIG_PRIVATE_BYTES);
    packet.SubmissionFenceId = ++rig->fence;
    rig_submit_packet(rig, &packet);
}

static void build_without_private(struct rig *rig, uint32_t given)
{
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));

    rig->paging_private_bytes = 0;
    rig_query_segments(rig);
    rig->paging_private_bytes = given;
    rig_build(rig, &fill);
}

RULE_BROKEN(PB_022)
{
    build_without_private(rig, 16);
}

RULE_KEPT(PB_022)
{
    build_without_private(rig, 0);
}

RULE_BROKEN(PB_024)
{
    struct way way = {.written = 16, .private_moved = -8};

    fill_in_a_way(rig, &way);
}

RULE_KEPT(PB_024)
{
    struct way way = {.written = 16, .private_moved = 8};

    fill_in_a_way(rig, &way);
}

RULE_BROKEN(PB_025)
{
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));

    rig->system_context = rig->context;
    rig_build(rig, &fill);
}

RULE_KEPT(PB_025)
{
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));

    rig_build(rig, &fill);
}

static void build_nowhere(struct rig *rig, unsigned operation)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = (DXGK_BUILDPAGINGBUFFER_OPERATION)operation};
    DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &arg.UpdatePageTable;
    DXGK_PTE invalid = {0};

    /* A leaf table of the paging process is set up. */
    if (operation == DXGK_OPERATION_UPDATE_PAGE_TABLE) {
        update->UpdateMode = DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
        update->PageTableAddress.CpuVirtual = rig->private_data;
        update->hProcess = rig->system_process;
        update->pPageTableEntries = &invalid;
        update->NumPageTableEntries = 512;
        update->Flags.InitialUpdate = update->Flags.Repeat = 1;
    }
    miniport_build_paging_buffer(rig->top, NULL, &arg);
}

RULE_BROKEN(PB_026)
{
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));

    miniport_build_paging_buffer(rig->top, NULL, &fill);
}

RULE_KEPT(PB_026)
{
    build_nowhere(rig, DXGK_OPERATION_UPDATE_PAGE_TABLE);
}

static void build_unknown(struct rig *rig, struct way *way)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = (DXGK_BUILDPAGINGBUFFER_OPERATION)0x7fffffff};

    rig->answer = build_in_a_way;
    rig->told = way;
    rig_build(rig, &arg);
}

RULE_BROKEN(PB_028)
{
    struct way way = {.status = STATUS_NOT_SUPPORTED};

    build_unknown(rig, &way);
}

RULE_KEPT(PB_028)
{
    struct way way = {.status = STATUS_SUCCESS};

    build_unknown(rig, &way);
}

/* The manager calls again from inside of a call. */
static NTSTATUS submit_from_inside(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == *(enum miniport_ddi *)rig->told) {
        rig->answer = NULL;
        miniport_preempt_command(rig->top, NULL, &(DXGKARG_PREEMPTCOMMAND){0});
    }
    return rig_answer(rig, ddi, object, arg);
}

static void call_inside(struct rig *rig, enum miniport_ddi outer)
{
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));

    rig->answer = submit_from_inside;
    rig->told = &outer;
    rig_build(rig, &fill);
    rig_create_process(rig, false);
}

RULE_BROKEN(PB_029)
{
    call_inside(rig, MINIPORT_DDI_BuildPagingBuffer);
}

RULE_KEPT(PB_029)
{
    call_inside(rig, MINIPORT_DDI_CreateProcess);
}

RULE_BROKEN(PB_030)
{
    struct way way = {.written = 16, .irql = DISPATCH_LEVEL};

    fill_in_a_way(rig, &way);
    rig->irql = PASSIVE_LEVEL;
}

RULE_KEPT(PB_030)
{
    struct way way = {.written = 16};

    fill_in_a_way(rig, &way);
}

static void patch_paging(struct rig *rig, UINT allocations)
{
    DXGKARG_PATCH arg = {
        .pDmaBuffer = rig->buffer,
        .DmaBufferSize = RIG_BUFFER_BYTES,
        .AllocationListSize = allocations,
        .Flags.Paging = 1,
        .SubmissionFenceId = 1,
    };

    miniport_patch(rig->top, NULL, &arg);
}

RULE_BROKEN_IN(PB_031, RIG_PHYSICAL)
{
    patch_paging(rig, 1);
}

RULE_KEPT_IN(PB_031, RIG_PHYSICAL)
{
    patch_paging(rig, 0);
}

/* The driver takes 8 bytes of its private data; the next operation comes with what is left. */
static void build_behind_private(struct rig *rig, uint32_t left)
{
    struct way way = {.written = 16, .private_moved = 8};
    DXGKARG_BUILDPAGINGBUFFER fill = fill_in_a_way(rig, &way);
    DXGKARG_BUILDPAGINGBUFFER next = fill;

    next.DmaSize = rig->buffer_bytes - rig->buffer_used;
    next.DmaBufferWriteOffset = rig->buffer_used;
    next.DmaBufferPrivateDataSize = left;
    next.MultipassOffset = 0;
    miniport_build_paging_buffer(rig->top, NULL, &next);
}

RULE_BROKEN(PB_032)
{
    build_behind_private(rig, RIG_PRIVATE_BYTES);
}

RULE_KEPT(PB_032)
{
    build_behind_private(rig, RIG_PRIVATE_BYTES - 8);
}

static NTSTATUS answer_mmu(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    return ddi == MINIPORT_DDI_BuildPagingBuffer ? *(NTSTATUS *)rig->told
                                                 : rig_answer(rig, ddi, object, arg);
}

static void unmap_from_mmu(struct rig *rig, NTSTATUS status)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_UNMAP_MMU};

    arg.UnmapMmu.hAllocation = rig_create_allocation(rig, NULL);
    arg.UnmapMmu.NumberOfPages = 1;
    arg.UnmapMmu.VirtualAddress = 0x10000;
    rig->answer = answer_mmu;
    rig->told = &status;
    rig_build(rig, &arg);
    rig->answer = NULL;
}

RULE_BROKEN(NTF_013)
{
    unmap_from_mmu(rig, STATUS_NOT_SUPPORTED);
}

RULE_KEPT(NTF_013)
{
    unmap_from_mmu(rig, STATUS_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_profile_may_want_DmaSize_untouched),
        cmocka_unit_test(progress_that_the_driver_keeps_is_advice),
    };

    return RIG_RUN_TESTS(tests);
}
