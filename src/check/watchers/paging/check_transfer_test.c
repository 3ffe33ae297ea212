#include "check/rig/test_rig_submit.h"

#include <string.h>

#define MDL_PAGES 16u
#define BYTES     65536u

/* Sixteen pages of system memory: what an allocation of the rig needs. */
static struct {
    MDL head;
    PFN_NUMBER pages[MDL_PAGES];
} page_list;

static MDL *list(void)
{
    memset(&page_list, 0, sizeof page_list);
    page_list.head.ByteCount = BYTES;
    page_list.head.Size = (CSHORT)sizeof page_list;
    for (unsigned i = 0; i < MDL_PAGES; i++)
        page_list.pages[i] = 0x100 + i * 3;
    return &page_list.head;
}

/* Sixteen pages from system memory to the start of local memory, at once. */
static DXGKARG_BUILDPAGINGBUFFER enter(HANDLE allocation)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_TRANSFER};

    arg.Transfer.hAllocation = allocation;
    arg.Transfer.TransferSize = BYTES;
    arg.Transfer.Source.pMdl = list();
    arg.Transfer.Destination.SegmentId = 1;
    arg.Transfer.Flags.TransferStart = arg.Transfer.Flags.TransferEnd = 1;
    return arg;
}

/* And back. */
static DXGKARG_BUILDPAGINGBUFFER leave(HANDLE allocation)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_TRANSFER};

    arg.Transfer.hAllocation = allocation;
    arg.Transfer.TransferSize = BYTES;
    arg.Transfer.Source.SegmentId = 1;
    arg.Transfer.Destination.pMdl = list();
    arg.Transfer.Flags.TransferStart = arg.Transfer.Flags.TransferEnd = 1;
    return arg;
}

/* Part of `enter`, with the flags that it should have. */
static DXGKARG_BUILDPAGINGBUFFER part(HANDLE allocation, unsigned offset, unsigned bytes)
{
    DXGKARG_BUILDPAGINGBUFFER arg = enter(allocation);

    arg.Transfer.TransferOffset = offset;
    arg.Transfer.TransferSize = bytes;
    arg.Transfer.MdlOffset = offset / 4096;
    arg.Transfer.Flags.TransferStart = offset == 0;
    arg.Transfer.Flags.TransferEnd = offset + bytes == BYTES;
    return arg;
}

static DXGKARG_BUILDPAGINGBUFFER discard(HANDLE allocation)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_DISCARD_CONTENT};

    arg.DiscardContent.hAllocation = allocation;
    arg.DiscardContent.SegmentId = 1;
    return arg;
}

static NTSTATUS answer_without_bytes(struct rig *rig, enum miniport_ddi ddi, HANDLE object,
                                     void *arg)
{
    return ddi == MINIPORT_DDI_BuildPagingBuffer ? STATUS_SUCCESS
                                                 : rig_answer(rig, ddi, object, arg);
}

/* BUSY, to what the test said in told: an operation. */
static NTSTATUS answer_busy(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    DXGKARG_BUILDPAGINGBUFFER *build = arg;

    if (ddi == MINIPORT_DDI_BuildPagingBuffer && build->Operation == *(unsigned *)rig->told)
        return STATUS_GRAPHICS_ALLOCATION_BUSY;
    return rig_answer(rig, ddi, object, arg);
}

static void be_busy(struct rig *rig, unsigned operation)
{
    static unsigned told;

    told = operation;
    rig->told = &told;
    rig->answer = answer_busy;
}

/* A packet that uses the range at the start of local memory is under way. Gives its fence. */
static uint32_t use(struct rig *rig)
{
    DXGK_ALLOCATIONLIST entry = {.hDeviceSpecificAllocation = rig->context, .SegmentId = 1};
    D3DDDI_PATCHLOCATIONLIST location = {.SplitOffset = 0};
    char *commands = rig->buffer + RIG_BUFFER_BYTES - 4096;
    DXGKARG_SUBMITCOMMAND packet = rig_packet(rig);
    DXGKARG_PATCH arg = {
        .hContext = rig->context,
        .DmaBufferPhysicalAddress.QuadPart = 0x20000,
        .pDmaBuffer = commands,
        .DmaBufferSize = RIG_BUFFER_BYTES,
        .DmaBufferSubmissionEndOffset = RIG_CLIENT_BYTES,
        .pDmaBufferPrivateData = rig->private_data,
        .DmaBufferPrivateDataSize = RIG_PRIVATE_BYTES,
        .DmaBufferPrivateDataSubmissionEndOffset = RIG_PRIVATE_BYTES,
        .pAllocationList = &entry,
        .AllocationListSize = 1,
        .pPatchLocationList = &location,
        .PatchLocationListSize = 1,
        .PatchLocationListSubmissionLength = 1,
        .SubmissionFenceId = packet.SubmissionFenceId,
    };

    memset(commands, 0, 4096);
    miniport_patch(rig->top, NULL, &arg);
    rig_submit_packet(rig, &packet);
    return packet.SubmissionFenceId;
}

/* ---- TRANSFER -------------------------------------------------------------------------------- */

RULE_BROKEN_IN(XFER_001, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER arg = enter(rig_create_allocation(rig, NULL));

    arg.Transfer.Source.pMdl = NULL;
    rig_build(rig, &arg);
    arg = leave(arg.Transfer.hAllocation);
    rig_build(rig, &arg);
}

RULE_KEPT_IN(XFER_001, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER arg = enter(rig_create_allocation(rig, NULL));

    arg.Transfer.Destination.SegmentAddress.QuadPart = 16 * MiB - BYTES;
    rig_build(rig, &arg);
    arg = leave(arg.Transfer.hAllocation);
    arg.Transfer.Source.SegmentAddress.QuadPart = 16 * MiB - BYTES;
    rig_build(rig, &arg);
}

RULE_BROKEN_IN(XFER_002, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER arg = enter(rig_create_allocation(rig, NULL));

    arg.Transfer.TransferSize = BYTES + 4096;
    rig_build(rig, &arg);
    arg = leave(arg.Transfer.hAllocation);
    rig_build(rig, &arg);
}

/* The last page of an odd size goes whole. */
RULE_KEPT_IN(XFER_002, RIG_PHYSICAL)
{
    DXGK_ALLOCATIONINFO info = {.Size = BYTES - 100};
    DXGKARG_BUILDPAGINGBUFFER arg = enter(rig_create_allocation(rig, &info));

    rig_build(rig, &arg);
    arg = leave(arg.Transfer.hAllocation);
    rig_build(rig, &arg);
}

static void enter_in_parts(struct rig *rig, HANDLE allocation, unsigned second)
{
    DXGKARG_BUILDPAGINGBUFFER arg = part(allocation, 0, 16384);

    rig_build(rig, &arg);
    arg = part(allocation, second, BYTES - second);
    rig_build(rig, &arg);
}

RULE_BROKEN_IN(XFER_006, RIG_PHYSICAL)
{
    enter_in_parts(rig, rig_create_allocation(rig, NULL), 20480);
}

RULE_KEPT_IN(XFER_006, RIG_PHYSICAL)
{
    enter_in_parts(rig, rig_create_allocation(rig, NULL), 16384);
}

/* The offset counts from the address of the allocation: the second part alone is outside. */
static void a_part_that_ends_behind_its_segment_breaks_XFER_001(void **state)
{
    for (unsigned is_outside = 0; is_outside < 2; is_outside++) {
        DXGKARG_BUILDPAGINGBUFFER arg;
        HANDLE allocation;
        struct rig rig;

        rig_init(&rig, RIG_PHYSICAL);
        allocation = rig_create_allocation(&rig, NULL);
        for (unsigned offset = 0; offset < BYTES; offset += BYTES / 2) {
            arg = part(allocation, offset, BYTES / 2);
            arg.Transfer.Destination.SegmentAddress.QuadPart =
                16 * MiB - BYTES + (is_outside ? 4096 : 0);
            rig_build(&rig, &arg);
        }
        assert_int_equal(rig.counts.broken[RULE_XFER_001], is_outside);
        assert_int_equal(rig.counts.broken[RULE_SEG_023], is_outside); /* one mistake, both rules */
        rig_fini(&rig);
    }
}

/* The last part says that it is, and a page is left. */
static void a_transfer_that_ends_early_breaks_XFER_006(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER arg;
    HANDLE allocation;
    struct rig rig;

    rig_init(&rig, RIG_PHYSICAL);
    allocation = rig_create_allocation(&rig, NULL);
    arg = part(allocation, 0, 16384);
    rig_build(&rig, &arg);
    arg = part(allocation, 16384, BYTES - 16384 - 4096);
    arg.Transfer.Flags.TransferEnd = 1;
    rig_build(&rig, &arg);
    rig_expect_only(&rig, RULE_XFER_006);
    rig_fini(&rig);
}

RULE_BROKEN_IN(XFER_007, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER arg = enter(rig_create_allocation(rig, NULL));

    arg.Transfer.Flags.TransferEnd = 0;
    rig_build(rig, &arg);
}

RULE_KEPT_IN(XFER_007, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER arg = enter(rig_create_allocation(rig, NULL));

    rig_build(rig, &arg);
}

/* The first part does not fit: what the driver writes the second time is the same, or is not. */
static NTSTATUS answer_in_two(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    unsigned *way = rig->told; /* 0: goes on; 1: begins anew; + 2: the second call */
    DXGKARG_BUILDPAGINGBUFFER *build = arg;
    bool is_second = *way & 2;

    if (ddi != MINIPORT_DDI_BuildPagingBuffer)
        return rig_answer(rig, ddi, object, arg);
    memset(build->pDmaBuffer, is_second && !(*way & 1) ? 0x22 : 0x11, RIG_PACKET_BYTES);
    build->pDmaBuffer = (char *)build->pDmaBuffer + RIG_PACKET_BYTES;
    build->MultipassOffset = 8;
    *way |= 2;
    return is_second ? STATUS_SUCCESS : STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
}

static void enter_in_two_passes(struct rig *rig, unsigned way)
{
    DXGKARG_BUILDPAGINGBUFFER arg = enter(rig_create_allocation(rig, NULL));

    rig->answer = answer_in_two;
    rig->told = &way;
    rig_build(rig, &arg);
    rig_submit(rig);
    rig_new_buffer(rig);
    rig_build(rig, &arg);
}

RULE_BROKEN_IN(XFER_008, RIG_PHYSICAL)
{
    enter_in_two_passes(rig, 1);
}

RULE_KEPT_IN(XFER_008, RIG_PHYSICAL)
{
    enter_in_two_passes(rig, 0);
}

RULE_BROKEN_IN(XFER_009, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER first = part(rig_create_allocation(rig, NULL), 0, 16384);
    DXGKARG_BUILDPAGINGBUFFER second = enter(rig_create_allocation(rig, NULL));

    rig_build(rig, &first);
    second.Transfer.Destination.SegmentAddress.QuadPart = MiB;
    rig_build(rig, &second);
}

RULE_KEPT_IN(XFER_009, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER second = enter(rig_create_allocation(rig, NULL));

    enter_in_parts(rig, rig_create_allocation(rig, NULL), 16384);
    second.Transfer.Destination.SegmentAddress.QuadPart = MiB;
    rig_build(rig, &second);
}

/* What a reset ends has no end. */
static void a_transfer_that_a_reset_ended_is_not_pending(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGKARG_BUILDPAGINGBUFFER arg;

    assert_non_null(rig);
    rig_init(rig, RIG_PHYSICAL);
    arg = part(rig_create_allocation(rig, NULL), 0, 16384);
    rig_build(rig, &arg);
    rig_reset_adapter(rig);
    rig_new_buffer(rig);
    arg = enter(rig_create_allocation(rig, NULL));
    rig_build(rig, &arg);
    rig_expect_silence(rig, RULE_XFER_009);
    rig_fini(rig);
    free(rig);
}

/*
 * The engine is reset for a packet of a client: no part of the transfer was lost, and it goes on.
 */
static void a_transfer_that_a_reset_did_not_hit_goes_on(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGKARG_BUILDPAGINGBUFFER arg;
    HANDLE allocation;

    assert_non_null(rig);
    rig_init(rig, RIG_PHYSICAL);
    allocation = rig_create_allocation(rig, NULL);
    arg = part(allocation, 0, 16384);
    rig_build(rig, &arg);
    rig_reset_engine(rig);
    arg = part(allocation, 16384, BYTES - 16384);
    rig_build(rig, &arg);
    rig_expect_silence(rig, RULE_XFER_007);
    rig_fini(rig);
    free(rig);
}

static void leave_busily(struct rig *rig, bool is_idle)
{
    DXGKARG_BUILDPAGINGBUFFER arg = enter(rig_create_allocation(rig, NULL));

    rig_build(rig, &arg);
    be_busy(rig, DXGK_OPERATION_TRANSFER);
    arg = leave(arg.Transfer.hAllocation);
    arg.Transfer.Flags.AllocationIsIdle = is_idle;
    rig_build(rig, &arg);
}

RULE_BROKEN_IN(XFER_010, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER arg = enter(NULL);

    rig->answer = answer_without_bytes;
    rig_build(rig, &arg);
}

RULE_KEPT_IN(XFER_010, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER arg = enter(NULL);

    rig_build(rig, &arg);
}

RULE_BROKEN_IN(XFER_011, RIG_PHYSICAL)
{
    leave_busily(rig, true);
}

RULE_KEPT_IN(XFER_011, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER arg = enter(rig_create_allocation(rig, NULL));

    arg.Transfer.Flags.AllocationIsIdle = 1;
    rig_build(rig, &arg);
    leave_busily(rig, false);
}

RULE_BROKEN_IN(XFER_012, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER arg = enter(rig_create_allocation(rig, NULL));

    rig_build(rig, &arg);
    be_busy(rig, DXGK_OPERATION_TRANSFER);
    arg = leave(arg.Transfer.hAllocation);
    rig_build(rig, &arg);
    rig->answer = NULL;
    rig_build(rig, &arg);
}

static void leave_while_used(struct rig *rig, bool is_finished)
{
    DXGKARG_BUILDPAGINGBUFFER arg = enter(rig_create_allocation(rig, NULL));
    uint32_t fence;

    rig_build(rig, &arg);
    fence = use(rig);
    be_busy(rig, DXGK_OPERATION_TRANSFER);
    arg = leave(arg.Transfer.hAllocation);
    rig_build(rig, &arg);
    if (is_finished)
        rig_complete(rig, RIG_CLIENT_NODE, fence);
    rig->answer = NULL;
    arg.Transfer.Flags.AllocationIsIdle = 1;
    rig_build(rig, &arg);
}

RULE_KEPT_IN(XFER_012, RIG_PHYSICAL)
{
    leave_while_used(rig, true);
}

static void an_allocation_in_use_is_not_idle(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_PHYSICAL);
    leave_while_used(rig, false);
    rig_expect_only(rig, RULE_XFER_012);
    rig_fini(rig);
    free(rig);
}

RULE_BROKEN_IN(XFER_015, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER arg = enter(rig_create_allocation(rig, NULL));

    arg.Transfer.Flags.Swizzle = arg.Transfer.Flags.Unswizzle = 1;
    rig_build(rig, &arg);
}

RULE_KEPT_IN(XFER_015, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER arg = enter(rig_create_allocation(rig, NULL));

    arg.Transfer.Flags.Swizzle = 1;
    rig_build(rig, &arg);
}

/* Commands for every operation, for a transfer of no bytes too. */
static NTSTATUS answer_with_bytes(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    DXGKARG_BUILDPAGINGBUFFER *build = arg;

    if (ddi != MINIPORT_DDI_BuildPagingBuffer)
        return rig_answer(rig, ddi, object, arg);
    memset(build->pDmaBuffer, 0x11, RIG_PACKET_BYTES);
    build->pDmaBuffer = (char *)build->pDmaBuffer + RIG_PACKET_BYTES;
    return STATUS_SUCCESS;
}

static void lose(struct rig *rig, bool is_reset)
{
    DXGKARG_BUILDPAGINGBUFFER arg = enter(rig_create_allocation(rig, NULL));

    rig_build(rig, &arg);
    if (is_reset) {
        rig_reset_adapter(rig);
        rig_new_buffer(rig);
    }
    arg = leave(arg.Transfer.hAllocation);
    arg.Transfer.TransferSize = 0;
    rig_build(rig, &arg);
}

RULE_BROKEN_IN(XFER_016, RIG_PHYSICAL)
{
    lose(rig, false);
}

RULE_KEPT_IN(XFER_016, RIG_PHYSICAL)
{
    lose(rig, true);
}

RULE_BROKEN_IN(XFER_017, RIG_PHYSICAL)
{
    rig->answer = answer_with_bytes;
    lose(rig, true);
}

RULE_KEPT_IN(XFER_017, RIG_PHYSICAL)
{
    lose(rig, true);
}

static void move_by(struct rig *rig, unsigned distance)
{
    DXGKARG_BUILDPAGINGBUFFER arg = enter(rig_create_allocation(rig, NULL));

    rig_build(rig, &arg);
    memset(&arg.Transfer.Source, 0, sizeof arg.Transfer.Source);
    arg.Transfer.Source.SegmentId = 1;
    arg.Transfer.Destination.SegmentAddress.QuadPart = distance;
    rig_build(rig, &arg);
}

RULE_BROKEN_IN(XFER_019, RIG_PHYSICAL)
{
    move_by(rig, BYTES - 4096);
}

RULE_KEPT_IN(XFER_019, RIG_PHYSICAL)
{
    move_by(rig, BYTES);
}

/* ---- FILL ------------------------------------------------------------------------------------ */

RULE_BROKEN_IN(FILL_002, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER arg = rig_fill(rig_create_allocation(rig, NULL));

    arg.Fill.Destination.SegmentId = 2;
    arg.Fill.Destination.SegmentAddress.QuadPart = 1 << 30;
    rig_build(rig, &arg);
}

RULE_KEPT_IN(FILL_002, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER arg = rig_fill(rig_create_allocation(rig, NULL));

    rig_build(rig, &arg);
}

static void fill_again(struct rig *rig, bool is_finished)
{
    DXGKARG_BUILDPAGINGBUFFER arg = rig_fill(rig_create_allocation(rig, NULL));
    uint32_t fence;

    rig_build(rig, &arg);
    fence = use(rig);
    arg = discard(arg.Fill.hAllocation);
    rig_build(rig, &arg);
    if (is_finished)
        rig_complete(rig, RIG_CLIENT_NODE, fence);
    arg = rig_fill(arg.DiscardContent.hAllocation);
    rig_build(rig, &arg);
}

RULE_BROKEN_IN(FILL_003, RIG_PHYSICAL)
{
    fill_again(rig, false);
}

RULE_KEPT_IN(FILL_003, RIG_PHYSICAL)
{
    fill_again(rig, true);
}

RULE_BROKEN_IN(FILL_004, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER arg = rig_fill(rig_create_allocation(rig, NULL));

    be_busy(rig, DXGK_OPERATION_FILL);
    rig_build(rig, &arg);
}

RULE_KEPT_IN(FILL_004, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER arg = rig_fill(rig_create_allocation(rig, NULL));

    be_busy(rig, DXGK_OPERATION_TRANSFER);
    rig_build(rig, &arg);
}

RULE_BROKEN_IN(FILL_006, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER arg = rig_fill(rig_create_allocation(rig, NULL));

    arg.Fill.FillSize = BYTES - 2;
    rig_build(rig, &arg);
}

RULE_KEPT_IN(FILL_006, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER arg = rig_fill(rig_create_allocation(rig, NULL));

    arg.Fill.FillSize = BYTES - 4;
    rig_build(rig, &arg);
}

/* ---- DISCARD_CONTENT ------------------------------------------------------------------------- */

RULE_BROKEN_IN(DISC_001, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER arg = rig_fill(rig_create_allocation(rig, NULL));

    rig_build(rig, &arg);
    rig_complete(rig, 0, rig_submit(rig));
    rig_destroy_allocation(rig, arg.Fill.hAllocation);
}

RULE_KEPT_IN(DISC_001, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER arg = rig_fill(rig_create_allocation(rig, NULL));

    rig_build(rig, &arg);
    arg = discard(arg.Fill.hAllocation);
    rig_build(rig, &arg);
    rig_complete(rig, 0, rig_submit(rig));
    rig_destroy_allocation(rig, arg.DiscardContent.hAllocation);
}

static void discard_from(struct rig *rig, unsigned address)
{
    DXGKARG_BUILDPAGINGBUFFER arg = rig_fill(rig_create_allocation(rig, NULL));

    rig_build(rig, &arg);
    arg = discard(arg.Fill.hAllocation);
    arg.DiscardContent.SegmentAddress.QuadPart = address;
    rig_build(rig, &arg);
}

RULE_BROKEN_IN(DISC_002, RIG_PHYSICAL)
{
    discard_from(rig, 4096);
}

RULE_KEPT_IN(DISC_002, RIG_PHYSICAL)
{
    discard_from(rig, 0);
}

static DXGKARG_BUILDPAGINGBUFFER discard_busily(struct rig *rig, bool is_idle)
{
    DXGKARG_BUILDPAGINGBUFFER arg = rig_fill(rig_create_allocation(rig, NULL));

    rig_build(rig, &arg);
    be_busy(rig, DXGK_OPERATION_DISCARD_CONTENT);
    arg = discard(arg.Fill.hAllocation);
    arg.DiscardContent.Flags.AllocationIsIdle = is_idle;
    rig_build(rig, &arg);
    rig->answer = NULL;
    return arg;
}

RULE_BROKEN_IN(DISC_004, RIG_PHYSICAL)
{
    discard_busily(rig, true);
}

RULE_KEPT_IN(DISC_004, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER arg = discard_busily(rig, false);

    arg.DiscardContent.Flags.AllocationIsIdle = 1;
    rig_build(rig, &arg);
}

RULE_BROKEN_IN(DISC_005, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER arg = discard_busily(rig, false);

    rig_build(rig, &arg);
}

RULE_KEPT_IN(DISC_005, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER arg = discard_busily(rig, false);

    arg.DiscardContent.Flags.AllocationIsIdle = 1;
    rig_build(rig, &arg);
}

/* ---- READ_PHYSICAL, WRITE_PHYSICAL ----------------------------------------------------------- */

/* In a third segment, of AGP, unless the test wants none: then of the aperture. */
static void read_physical(struct rig *rig, bool has_agp)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_READ_PHYSICAL};

    if (has_agp) {
        rig->segments[rig->segment_count++] = (DXGK_SEGMENTDESCRIPTOR4){
            .Flags.Agp = 1,
            .BaseAddress.QuadPart = 2u << 30,
            .Size = 4 * MiB,
            .CommitLimit = 4 * MiB,
        };
        /* A new adapter: of one the count never changes (SEG-002). */
        miniport_add_device(rig->top);
        rig_query_segments(rig);
    }
    arg.ReadPhysical.SegmentId = has_agp ? 3 : 2;
    arg.ReadPhysical.PhysicalAddress.QuadPart = has_agp ? 2u << 30 : 1u << 30;
    rig_build(rig, &arg);
}

RULE_BROKEN_IN(PHYS_001, RIG_PHYSICAL)
{
    rig->answer = answer_without_bytes;
    read_physical(rig, true);
}

RULE_KEPT_IN(PHYS_001, RIG_PHYSICAL)
{
    read_physical(rig, true);
}

static void write_physical(struct rig *rig, unsigned address)
{
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_WRITE_PHYSICAL};

    read_physical(rig, true);
    rig_build(rig, &fill);
    arg.WritePhysical.SegmentId = 1;
    arg.WritePhysical.PhysicalAddress.QuadPart = address;
    rig_build(rig, &arg);
}

RULE_BROKEN_IN(PHYS_004, RIG_PHYSICAL)
{
    write_physical(rig, 8);
}

RULE_KEPT_IN(PHYS_004, RIG_PHYSICAL)
{
    write_physical(rig, 2 * MiB);
}

RULE_BROKEN_IN(PHYS_005, RIG_PHYSICAL)
{
    read_physical(rig, false);
}

RULE_KEPT_IN(PHYS_005, RIG_PHYSICAL)
{
    read_physical(rig, true);
}

/* ---- SPECIAL_LOCK_TRANSFER ------------------------------------------------------------------- */

static void acquire(struct rig *rig, HANDLE allocation)
{
    DXGKARG_ACQUIRESWIZZLINGRANGE arg = {
        .hAllocation = allocation,
        .PrivateDriverData = 0x55,
        .RangeId = 1,
        .SegmentId = 1,
        .RangeSize = BYTES,
    };
    DXGK_DRIVERCAPS caps;

    rig->caps.NumberOfSwizzlingRanges = 4;
    rig_query(rig, DXGKQAITYPE_DRIVERCAPS, NULL, 0, &caps, sizeof caps);
    miniport_acquire_swizzling_range(rig->top, NULL, &arg);
}

static DXGKARG_BUILDPAGINGBUFFER special(HANDLE allocation)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_SPECIAL_LOCK_TRANSFER};

    arg.SpecialLockTransfer.hAllocation = allocation;
    arg.SpecialLockTransfer.TransferSize = BYTES;
    arg.SpecialLockTransfer.Source.SegmentId = 1;
    arg.SpecialLockTransfer.Destination.pMdl = list();
    arg.SpecialLockTransfer.Flags.TransferStart = arg.SpecialLockTransfer.Flags.TransferEnd = 1;
    arg.SpecialLockTransfer.SwizzlingRangeId = 1;
    arg.SpecialLockTransfer.SwizzlingRangeData = 0x55;
    return arg;
}

/* An allocation in local memory with a range. */
static HANDLE with_range(struct rig *rig, bool has_alternate_va)
{
    DXGK_ALLOCATIONINFO info = {.Size = BYTES};
    DXGKARG_BUILDPAGINGBUFFER arg;

    info.Flags.UseAlternateVA = has_alternate_va;
    arg = rig_fill(rig_create_allocation(rig, &info));
    rig_build(rig, &arg);
    acquire(rig, arg.Fill.hAllocation);
    return arg.Fill.hAllocation;
}

static HANDLE primary(struct rig *rig)
{
    return with_range(rig, true);
}

static void a_range_of_a_lock_alone_is_no_alternate_address(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGKARG_BUILDPAGINGBUFFER arg;

    assert_non_null(rig);
    rig_init(rig, RIG_PHYSICAL);
    rig_create_allocation(rig, &(DXGK_ALLOCATIONINFO){.Size = BYTES, .Flags.UseAlternateVA = 1});
    arg = special(with_range(rig, false));
    rig_build(rig, &arg);
    rig_expect_only(rig, RULE_SLT_001);
    rig_fini(rig);
    free(rig);
}

RULE_BROKEN_IN(SLT_001, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER arg;

    primary(rig);
    arg = special(rig_create_allocation(rig, NULL));
    rig_build(rig, &arg);
}

RULE_KEPT_IN(SLT_001, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER arg = special(primary(rig));

    rig_build(rig, &arg);
}

/* It was locked behind a range, which is not what asks for the operation. */
RULE_BROKEN_IN(SLT_002, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER arg = special(with_range(rig, false));

    rig_build(rig, &arg);
}

RULE_KEPT_IN(SLT_002, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER arg = special(primary(rig));

    rig_build(rig, &arg);
}

RULE_BROKEN_IN(SLT_005, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER arg = special(primary(rig));

    arg.SpecialLockTransfer.SwizzlingRangeData = 0;
    rig_build(rig, &arg);
}

RULE_KEPT_IN(SLT_005, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER arg = special(primary(rig));

    rig_build(rig, &arg);
}

static void special_busily(struct rig *rig, bool is_idle)
{
    DXGKARG_BUILDPAGINGBUFFER arg = special(primary(rig));

    be_busy(rig, DXGK_OPERATION_SPECIAL_LOCK_TRANSFER);
    arg.SpecialLockTransfer.Flags.AllocationIsIdle = is_idle;
    rig_build(rig, &arg);
    rig->answer = NULL;
    arg.SpecialLockTransfer.Flags.AllocationIsIdle = 1;
    rig_build(rig, &arg);
}

RULE_BROKEN_IN(SLT_006, RIG_PHYSICAL)
{
    special_busily(rig, true);
}

RULE_KEPT_IN(SLT_006, RIG_PHYSICAL)
{
    special_busily(rig, false);
}

/* ---- The GPU --------------------------------------------------------------------------------- */

static void fault_in_two_passes(struct rig *rig, bool is_partial)
{
    DXGKARG_BUILDPAGINGBUFFER arg = enter(rig_create_allocation(rig, NULL));
    unsigned way = is_partial ? 0 : 2;
    uint32_t fence;

    rig->answer = answer_in_two;
    rig->told = &way;
    rig_build(rig, &arg);
    fence = rig_submit(rig);
    check_gpu(rig->check, &(struct check_gpu_event){.kind = CHECK_GPU_FAULT,
                                                    .fence = fence,
                                                    .is_malformed_packet = true});
}

static void commands_that_the_GPU_cannot_read_break_a_rule(void **state)
{
    for (int is_partial = 0; is_partial < 2; is_partial++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        fault_in_two_passes(rig, is_partial);
        rig_expect_only(rig, is_partial ? RULE_PB_011 : RULE_PB_002);
        assert_non_null(strstr(rig->last.detail.where, "DxgkDdiBuildPagingBuffer"));
        rig_fini(rig);
        free(rig);
    }
}

RULE_BROKEN(PB_011)
{
    fault_in_two_passes(rig, true);
}

RULE_KEPT(PB_011)
{
    DXGKARG_BUILDPAGINGBUFFER arg = enter(rig_create_allocation(rig, NULL));
    unsigned way = 0;
    uint32_t fence;

    rig->answer = answer_in_two;
    rig->told = &way;
    rig_build(rig, &arg);
    fence = rig_submit(rig);
    rig_run(rig, 0, fence, RIG_PACKET_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_that_ends_behind_its_segment_breaks_XFER_001),
        cmocka_unit_test(a_transfer_that_ends_early_breaks_XFER_006),
        cmocka_unit_test(a_transfer_that_a_reset_ended_is_not_pending),
        cmocka_unit_test(a_transfer_that_a_reset_did_not_hit_goes_on),
        cmocka_unit_test(an_allocation_in_use_is_not_idle),
        cmocka_unit_test(a_range_of_a_lock_alone_is_no_alternate_address),
        cmocka_unit_test(commands_that_the_GPU_cannot_read_break_a_rule),
    };

    return RIG_RUN_TESTS(tests);
}
