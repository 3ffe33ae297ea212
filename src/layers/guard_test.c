/*
 * Guard: a driver that does one thing to what it is lent, and what is told of that.
 */
#include "layers/guard.h"
#include "layers/guard_slots.h"

#include "base/bits.h"
#include "miniport/poison.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Functions of this file play the driver: they write where they may not. */
#define DRIVER __attribute__((noinline, no_sanitize("address", "undefined")))

#define DMA_BYTES   8192u
#define LARGE_BYTES (3u << 20)
#define TURNS_MOST  16u /* calls in which a slot is taken again, and looked at */

struct rig {
    struct miniport driver; /* first */
    struct miniport_ops ops;
    struct miniport *top;
    void (*deed)(struct rig *rig, void *arg);
    NTSTATUS status;
    void *kept;
    unsigned told;
    struct loan_breach breaches[16];
    const void *copy, *stands_for;
    UINT dma_bytes; /* that Render is lent */
};

static DRIVER NTSTATUS drive_render(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    struct rig *rig = (struct rig *)self;

    memset(arg->pDmaBuffer, 0x11, 32);
    arg->pDmaBuffer = (char *)arg->pDmaBuffer + 32;
    memset(arg->pPatchLocationListOut, 0x22, sizeof *arg->pPatchLocationListOut);
    arg->pPatchLocationListOut++;
    if (rig->deed)
        rig->deed(rig, arg);
    return rig->status;
}

#define DRIVE(function, type, answer)                                                              \
    static DRIVER NTSTATUS drive_##function(struct miniport *self, HANDLE object, type *arg)       \
    {                                                                                              \
        struct rig *rig = (struct rig *)self;                                                      \
                                                                                                   \
        answer;                                                                                    \
        if (rig->deed)                                                                             \
            rig->deed(rig, (void *)(uintptr_t)arg);                                                \
        return rig->status;                                                                        \
    }
DRIVE(create_allocation, DXGKARG_CREATEALLOCATION, {
    for (UINT i = 0; i < arg->NumAllocations; i++) {
        DXGK_ALLOCATIONINFO *info = &arg->pAllocationInfo[i];

        info->Size = 65536;
        info->Alignment = info->SupportedReadSegmentSet = info->SupportedWriteSegmentSet = 0;
        info->EvictionSegmentSet = 0;
        info->hAllocation = (HANDLE)(uintptr_t)(i + 1);
    }
})
DRIVE(query_current_fence, DXGKARG_QUERYCURRENTFENCE, arg->CurrentFence = 7)
DRIVE(query_adapter_info, const DXGKARG_QUERYADAPTERINFO, (void)arg)
DRIVE(patch, const DXGKARG_PATCH, (void)arg)
DRIVE(build_paging_buffer, DXGKARG_BUILDPAGINGBUFFER, (void)arg)
DRIVE(destroy_allocation, const DXGKARG_DESTROYALLOCATION, (void)arg)
DRIVE(close_allocation, const DXGKARG_CLOSEALLOCATION, (void)arg)

static DRIVER NTSTATUS drive_start(struct miniport *self, const DXGK_START_INFO *start,
                                   ULONG *sources, ULONG *children)
{
    struct rig *rig = (struct rig *)self;

    *sources = 1;
    *children = 2;
    if (rig->deed)
        rig->deed(rig, children);
    return rig->status;
}

static NTSTATUS drive_remove(struct miniport *self)
{
    return STATUS_SUCCESS;
}

static void destroy(struct miniport *self)
{
}

static void on_breach(void *context, const struct loan_breach *breach)
{
    struct rig *rig = context;

    if (rig->told < ARRAY_COUNT(rig->breaches))
        rig->breaches[rig->told] = *breach;
    rig->told++;
}

static void on_stand_in(void *context, const void *copy, const void *buffer, size_t bytes)
{
    struct rig *rig = context;

    if (copy) {
        rig->copy = copy;
        rig->stands_for = buffer;
    }
}

static int setup(void **state)
{
    static struct rig rig;
    const struct guard_config config = {.context = &rig,
                                        .report = on_breach,
                                        .stands_in = on_stand_in,
                                        .lends_work = true,
                                        .lends_lists = true};

    memset(&rig, 0, sizeof rig);
    rig.dma_bytes = DMA_BYTES;
    rig.ops = miniport_forward_ops;
    rig.ops.destroy = destroy;
    rig.ops.render = drive_render;
    rig.ops.create_allocation = drive_create_allocation;
    rig.ops.query_current_fence = drive_query_current_fence;
    rig.ops.query_adapter_info = drive_query_adapter_info;
    rig.ops.patch = drive_patch;
    rig.ops.build_paging_buffer = drive_build_paging_buffer;
    rig.ops.destroy_allocation = drive_destroy_allocation;
    rig.ops.close_allocation = drive_close_allocation;
    rig.ops.start_device = drive_start;
    rig.ops.remove_device = drive_remove;
    rig.driver.ops = &rig.ops;
    *state = &rig;
    return guard_layer_create(base_services_libc(), &config, &rig.driver, &rig.top);
}

static int teardown(void **state)
{
    struct rig *rig = *state;

    miniport_destroy(rig->top);
    return 0;
}

static void expect_breach(const struct rig *rig, enum loan_breach_kind kind, const char *call,
                          const char *name, uint64_t offset)
{
    assert_int_equal(rig->told, 1);
    assert_int_equal(rig->breaches[0].kind, kind);
    assert_string_equal(rig->breaches[0].call, call);
    assert_string_equal(rig->breaches[0].name, name);
    assert_int_equal(rig->breaches[0].offset, offset);
}

/* ---- Render ---------------------------------------------------------------------------------- */

struct render {
    DXGKARG_RENDER arg;
    char private_data[24];
    DXGK_ALLOCATIONLIST allocations[2];
    D3DDDI_PATCHLOCATIONLIST in[1], out[10];
};

static char dma[LARGE_BYTES] __attribute__((aligned(4096)));

static void do_render(struct rig *rig, struct render *render)
{
    *render = (struct render){.arg = {.pDmaBuffer = dma,
                                      .DmaSize = rig->dma_bytes,
                                      .pDmaBufferPrivateData = render->private_data,
                                      .DmaBufferPrivateDataSize = sizeof render->private_data,
                                      .pAllocationList = render->allocations,
                                      .AllocationListSize = 2,
                                      .pPatchLocationListIn = render->in,
                                      .PatchLocationListInSize = 1,
                                      .pPatchLocationListOut = render->out,
                                      .PatchLocationListOutSize = 10}};
    memset(dma, 0x77, DMA_BYTES);
    assert_int_equal(miniport_render(rig->top, NULL, &render->arg), rig->status);
}

static void answers_come_back_where_the_caller_expects_them(void **state)
{
    struct rig *rig = *state;
    struct render render;

    for (unsigned i = 0; i < 40; i++) {
        do_render(rig, &render);
        assert_ptr_equal(render.arg.pDmaBuffer, dma + 32);
        assert_ptr_equal(render.arg.pPatchLocationListOut, render.out + 1);
        assert_ptr_equal(render.arg.pAllocationList, render.allocations);
        assert_ptr_equal(render.arg.pPatchLocationListIn, render.in);
        assert_ptr_equal(render.arg.pDmaBufferPrivateData, render.private_data);
        assert_int_equal(dma[0], 0x11);
        assert_int_equal(dma[31], 0x11);
        assert_int_equal(dma[32], 0x77);
        assert_int_equal(*(char *)render.out, 0x22);
        assert_int_equal(*(char *)(render.out + 1), 0);
    }
    assert_int_equal(rig->told, 0);
    assert_ptr_equal(rig->stands_for, dma);
    assert_int_equal((uintptr_t)rig->copy % 4096, 0);
}

static DRIVER void move_private_data(struct rig *rig, void *arg)
{
    DXGKARG_RENDER *render = arg;

    memset(render->pDmaBufferPrivateData, 0x33, 24);
    render->pDmaBufferPrivateData = (char *)render->pDmaBufferPrivateData + 8;
}

static void private_data_comes_back_as_a_whole(void **state)
{
    struct rig *rig = *state;
    struct render render;

    rig->deed = move_private_data;
    do_render(rig, &render);
    assert_ptr_equal(render.arg.pDmaBufferPrivateData, render.private_data + 8);
    assert_int_equal(render.private_data[23], 0x33);
    assert_int_equal(rig->told, 0);
}

/* ---- In front and behind --------------------------------------------------------------------- */

/* A write to a page without access ends in the handler, which tells what it means. */
static sigjmp_buf fault;
static struct loan_breach explained;
static bool has_explained;

static void on_fault(int number, siginfo_t *info, void *context)
{
    has_explained = guard_explain(info->si_addr, &explained);
    siglongjmp(fault, 1);
}

static struct {
    size_t member; /* of DXGKARG_RENDER */
    int64_t offset;
} target;

static DRIVER void write_at(struct rig *rig, void *arg)
{
    volatile char *at = *(char **)((char *)rig->kept + target.member) + target.offset;

    *at = (char)~*at;
}

static DRIVER NTSTATUS render_elsewhere(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    struct rig *rig = (struct rig *)self;

    rig->kept = arg;
    rig->deed(rig, arg);
    return STATUS_SUCCESS;
}

#define ROUNDS 4

/* Both kinds of slots: what is not on a page without access is told by the canary. */
static void expect_both_ways(struct rig *rig, enum loan_breach_kind kind, const char *name,
                             uint64_t offset)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    struct sigaction before;
    volatile unsigned faults = 0, canaries = 0;

    rig->ops.render = render_elsewhere;
    rig->deed = write_at;
    sigaction(SIGSEGV, &action, &before);
    for (volatile unsigned i = 0; i < ROUNDS; i++) {
        struct render render;

        rig->told = 0;
        if (sigsetjmp(fault, 1) == 0) {
            do_render(rig, &render);
            expect_breach(rig, kind, "DxgkDdiRender", name, offset);
            canaries++;
        } else {
            assert_true(has_explained);
            assert_int_equal(explained.kind, kind);
            assert_string_equal(explained.name, name);
            assert_int_equal(explained.offset, offset);
            faults++;
        }
    }
    sigaction(SIGSEGV, &before, NULL);
    assert_int_equal(faults + canaries, ROUNDS);
}

static void a_byte_around_each_loan_is_told(void **state)
{
    static const struct {
        const char *name;
        size_t member, bytes;
    } loans[] = {
        {"pDmaBuffer", offsetof(DXGKARG_RENDER, pDmaBuffer), DMA_BYTES},
        {"pDmaBufferPrivateData", offsetof(DXGKARG_RENDER, pDmaBufferPrivateData), 24},
        {"pAllocationList", offsetof(DXGKARG_RENDER, pAllocationList),
         2 * sizeof(DXGK_ALLOCATIONLIST)},
        {"pPatchLocationListIn", offsetof(DXGKARG_RENDER, pPatchLocationListIn),
         sizeof(D3DDDI_PATCHLOCATIONLIST)},
        {"pPatchLocationListOut", offsetof(DXGKARG_RENDER, pPatchLocationListOut),
         10 * sizeof(D3DDDI_PATCHLOCATIONLIST)},
    };
    static const int64_t distances[] = {1, 8};

    for (size_t i = 0; i < ARRAY_COUNT(loans); i++) {
        for (size_t j = 0; j < ARRAY_COUNT(distances); j++) {
            for (unsigned is_before = 0; is_before < 2; is_before++) {
                /* What a signal left lent is not given back: each round has a layer of its own. */
                teardown(state);
                setup(state);
                target.member = loans[i].member;
                target.offset =
                    is_before ? -distances[j] : (int64_t)loans[i].bytes + distances[j] - 1;
                expect_both_ways(*state, is_before ? LOAN_BEFORE : LOAN_BEHIND, loans[i].name,
                                 (uint64_t)(is_before ? distances[j] : distances[j] - 1));
            }
        }
    }
}

static void a_page_around_a_loan_is_told(void **state)
{
    struct rig *rig = *state;
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    struct sigaction before;

    rig->ops.render = render_elsewhere;
    rig->deed = write_at;
    target.member = offsetof(DXGKARG_RENDER, pDmaBuffer);
    sigaction(SIGSEGV, &action, &before);
    for (volatile int i = 0; i < 2; i++) {
        struct render render;

        target.offset = i ? (int)DMA_BYTES + 4096 : -4096;
        if (sigsetjmp(fault, 1) == 0) {
            do_render(rig, &render);
            fail();
        }
        assert_true(has_explained);
        assert_int_equal(explained.kind, i ? LOAN_BEHIND : LOAN_BEFORE);
        assert_int_equal(explained.offset, 4096);
        assert_string_equal(explained.name, "pDmaBuffer");
    }
    sigaction(SIGSEGV, &before, NULL);
}

static DRIVER void write_behind_argument(struct rig *rig, void *arg)
{
    volatile char *behind = (char *)arg + sizeof(DXGKARG_QUERYCURRENTFENCE);

    *behind = (char)~*behind;
}

/*
 * 12 bytes leave a gap of 4 to the page: the canary there tells of the first time, the processor of
 * a later one.
 */
static void what_a_canary_has_told_once_faults_when_it_is_done_again(void **state)
{
    struct rig *rig = *state;
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    struct sigaction before;
    volatile unsigned calls = 0;

    rig->deed = write_behind_argument;
    sigaction(SIGSEGV, &action, &before);
    if (sigsetjmp(fault, 1) == 0) {
        for (; calls < TURNS_MOST; calls++)
            miniport_query_current_fence(rig->top, NULL, &(DXGKARG_QUERYCURRENTFENCE){0});
        fail();
    }
    sigaction(SIGSEGV, &before, NULL);
    assert_int_equal(rig->told, calls);
    assert_in_range(calls, 1, 2);
    assert_int_equal(explained.kind, LOAN_BEHIND);
    assert_int_equal(explained.offset, 0);
    assert_string_equal(explained.call, "DxgkDdiQueryCurrentFence");
}

/* ---- Read only ------------------------------------------------------------------------------- */

static DRIVER void change_list(struct rig *rig, void *arg)
{
    ((DXGKARG_RENDER *)arg)->pAllocationList[1].SegmentId ^= 1;
}

static void a_list_that_is_read_only_and_changed_is_told(void **state)
{
    struct rig *rig = *state;
    struct render render;

    rig->deed = change_list;
    do_render(rig, &render);
    expect_breach(rig, LOAN_CHANGED, "DxgkDdiRender", "pAllocationList",
                  sizeof(DXGK_ALLOCATIONLIST) + 8);
    assert_int_equal(render.allocations[1].SegmentId, 0);
}

static DRIVER void change_size(struct rig *rig, void *arg)
{
    ((DXGKARG_RENDER *)arg)->AllocationListSize = 9;
}

static void a_member_that_is_read_only_and_changed_is_put_back(void **state)
{
    struct rig *rig = *state;
    struct render render;

    rig->deed = change_size;
    do_render(rig, &render);
    expect_breach(rig, LOAN_CHANGED, "DxgkDdiRender", "AllocationListSize",
                  offsetof(DXGKARG_RENDER, AllocationListSize));
    assert_int_equal(render.arg.AllocationListSize, 2);
}

struct list {
    MDL mdl;
    PFN_NUMBER pages[4];
};

static void transfer(struct rig *rig, struct list *list)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_TRANSFER};

    *list = (struct list){.mdl = {.Size = sizeof *list, .ByteCount = 4 * 4096}};
    arg.Transfer.Source.SegmentId = 1;
    arg.Transfer.Destination.pMdl = &list->mdl;
    miniport_build_paging_buffer(rig->top, NULL, &arg);
    assert_ptr_equal(arg.Transfer.Destination.pMdl, &list->mdl);
}

static MDL *mdl_of(void *arg)
{
    return ((DXGKARG_BUILDPAGINGBUFFER *)arg)->Transfer.Destination.pMdl;
}

static DRIVER void change_count(struct rig *rig, void *arg)
{
    mdl_of(arg)->ByteCount = 1;
}

static DRIVER void change_page(struct rig *rig, void *arg)
{
    MmGetMdlPfnArray(mdl_of(arg))[3] = 1;
}

static DRIVER void map_it(struct rig *rig, void *arg)
{
    mdl_of(arg)->MdlFlags |= MDL_MAPPED_TO_SYSTEM_VA;
    mdl_of(arg)->MappedSystemVa = rig;
}

static DRIVER void keep_it(struct rig *rig, void *arg)
{
    rig->kept = mdl_of(arg);
}

static void an_mdl_is_the_callers(void **state)
{
    struct rig *rig = *state;
    struct list list;

    rig->deed = map_it;
    transfer(rig, &list);
    assert_int_equal(rig->told, 0);
    rig->deed = change_count;
    transfer(rig, &list);
    expect_breach(rig, LOAN_CHANGED, "DxgkDdiBuildPagingBuffer",
                  "Transfer.Destination.pMdl.ByteCount", offsetof(MDL, ByteCount));
    rig->told = 0;
    rig->deed = change_page;
    transfer(rig, &list);
    expect_breach(rig, LOAN_CHANGED, "DxgkDdiBuildPagingBuffer", "Transfer.Destination.pMdl",
                  sizeof(MDL) + 3 * 8);
    assert_int_equal(list.pages[3], 0);
}

static DRIVER void change_const(struct rig *rig, void *arg)
{
    ((DXGKARG_PATCH *)arg)->SubmissionFenceId = 3;
}

static void a_structure_that_is_const_is_put_back(void **state)
{
    struct rig *rig = *state;
    DXGKARG_PATCH patch = {0};

    rig->deed = change_const;
    miniport_patch(rig->top, NULL, &patch);
    expect_breach(rig, LOAN_CHANGED, "DxgkDdiPatch", "",
                  offsetof(DXGKARG_PATCH, SubmissionFenceId));
    assert_int_equal(patch.SubmissionFenceId, 0);
}

/* ---- Late ------------------------------------------------------------------------------------ */

static DRIVER void keep_argument(struct rig *rig, void *arg)
{
    rig->kept = arg;
}

static DRIVER uint64_t read_kept(const struct rig *rig, size_t offset)
{
    return *(volatile uint64_t *)((char *)rig->kept + offset);
}

static DRIVER void write_kept(const struct rig *rig, size_t offset)
{
    *(volatile char *)((char *)rig->kept + offset) = 1;
}

static void what_is_kept_is_poison_and_a_write_to_it_is_told(void **state)
{
    struct rig *rig = *state;
    HANDLE list[4] = {0};
    DXGKARG_PATCH patch = {0};
    DXGKARG_DESTROYALLOCATION destroy = {.NumAllocations = 4, .pAllocationList = list};
    struct list pages;

    rig->deed = keep_it;
    transfer(rig, &pages);
    assert_int_equal(read_kept(rig, sizeof(MDL)), LEND_STALE_PAGE);
    rig->deed = keep_argument;
    miniport_destroy_allocation(rig->top, NULL, &destroy);
    assert_int_equal(read_kept(rig, 8), UINT64_C(0xa5a5a5a5a5a5a5a5));
    for (unsigned i = 0; i < TURNS_MOST && !rig->told; i++) {
        write_kept(rig, 16);
        for (unsigned j = 0; j < TURNS_MOST && !rig->told; j++)
            miniport_patch(rig->top, NULL, &patch);
        miniport_destroy_allocation(rig->top, NULL, &destroy);
    }
    expect_breach(rig, LOAN_LATE, "DxgkDdiDestroyAllocation", "", 16);
}

/* However many calls of other kinds there are: the mistake is told of the call that lent it. */
static void a_late_write_meets_nothing_that_another_call_was_lent(void **state)
{
    struct rig *rig = *state;
    HANDLE list[4] = {0};
    DXGKARG_DESTROYALLOCATION destroy = {.NumAllocations = 4, .pAllocationList = list};
    DXGKARG_CLOSEALLOCATION close = {.NumAllocations = 4, .pOpenHandleList = list};

    for (unsigned others = 0; others < TURNS_MOST; others++) {
        rig->told = 0;
        rig->deed = keep_argument;
        miniport_destroy_allocation(rig->top, NULL, &destroy);
        rig->deed = NULL;
        for (unsigned i = 0; i < others; i++)
            miniport_close_allocation(rig->top, NULL, &close);
        for (unsigned i = 0; i < TURNS_MOST && !rig->told; i++) {
            write_kept(rig, 0);
            for (unsigned j = 0; j < 8; j++)
                miniport_close_allocation(rig->top, NULL, &close);
            assert_int_equal(rig->told, 0);
            miniport_destroy_allocation(rig->top, NULL, &destroy);
        }
        expect_breach(rig, LOAN_LATE, "DxgkDdiDestroyAllocation", "", 0);
    }
}

/* ---- Large ----------------------------------------------------------------------------------- */

static void a_buffer_of_megabytes_stands_between_guards(void **state)
{
    for (unsigned is_before = 0; is_before < 2; is_before++) {
        struct rig *rig = *state;

        teardown(state);
        setup(state);
        rig->dma_bytes = LARGE_BYTES;
        target.member = offsetof(DXGKARG_RENDER, pDmaBuffer);
        target.offset = is_before ? -1 : (int64_t)LARGE_BYTES;
        expect_both_ways(rig, is_before ? LOAN_BEFORE : LOAN_BEHIND, "pDmaBuffer", is_before);
    }
}

#define LARGE_PAGES 4096u

static DRIVER void change_far_page(struct rig *rig, void *arg)
{
    rig->kept = mdl_of(arg);
    MmGetMdlPfnArray(mdl_of(arg))[LARGE_PAGES - 1] = 1;
}

/* What the call was lent is poison as a whole when it has returned. */
static void a_list_of_thousands_of_pages_stands_between_guards(void **state)
{
    static PFN_NUMBER large[sizeof(MDL) / sizeof(PFN_NUMBER) + LARGE_PAGES];
    struct rig *rig = *state;
    MDL *mdl = (MDL *)(void *)large;
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_TRANSFER};

    mdl->ByteCount = LARGE_PAGES * 4096;
    arg.Transfer.Source.SegmentId = 1;
    arg.Transfer.Destination.pMdl = mdl;
    rig->deed = change_far_page;
    miniport_build_paging_buffer(rig->top, NULL, &arg);
    expect_breach(rig, LOAN_CHANGED, "DxgkDdiBuildPagingBuffer", "Transfer.Destination.pMdl",
                  sizeof large - sizeof large[0]);
    assert_int_equal(MmGetMdlPfnArray(mdl)[LARGE_PAGES - 1], 0);
    assert_int_equal(read_kept(rig, sizeof(MDL)), LEND_STALE_PAGE);
}

static DRIVER void keep_work(struct rig *rig, void *arg)
{
    rig->kept = (char *)((DXGKARG_RENDER *)arg)->pDmaBuffer - 32;
    dma[DMA_BYTES + 3]++;
}

static uint64_t slack_of(void *context, const void *end)
{
    return end == dma + DMA_BYTES ? 256 : 0;
}

/* The driver reads its commands with the CPU when they run; a canary stands behind the buffer. */
static void work_that_the_driver_may_keep_is_in_its_buffer(void **state)
{
    struct rig *rig = *state;
    const struct guard_config config = {
        .context = rig, .report = on_breach, .lends_lists = true, .find_slack = slack_of};
    struct render render;

    miniport_destroy(rig->top);
    assert_int_equal(guard_layer_create(base_services_libc(), &config, &rig->driver, &rig->top),
                     STATUS_SUCCESS);
    rig->deed = keep_work;
    do_render(rig, &render);
    assert_ptr_equal(rig->kept, dma);
    assert_ptr_equal(render.arg.pDmaBuffer, dma + 32);
    expect_breach(rig, LOAN_BEHIND, "DxgkDdiRender", "pDmaBuffer", 3);
}

static DRIVER void keep_list(struct rig *rig, void *arg)
{
    rig->kept = mdl_of(arg);
}

/* A board without a model of its engines: the driver works with the list until the packet ends. */
static void a_list_that_the_driver_may_keep_is_the_kernels(void **state)
{
    struct rig *rig = *state;
    const struct guard_config config = {.context = rig, .report = on_breach, .lends_work = true};
    struct list list = {.mdl = {.Size = sizeof list, .ByteCount = 4 * 4096}, .pages = {7}};
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_TRANSFER};

    miniport_destroy(rig->top);
    assert_int_equal(guard_layer_create(base_services_libc(), &config, &rig->driver, &rig->top),
                     STATUS_SUCCESS);
    arg.Transfer.Source.SegmentId = 1;
    arg.Transfer.Destination.pMdl = &list.mdl;
    rig->deed = keep_list;
    miniport_build_paging_buffer(rig->top, NULL, &arg);
    assert_ptr_equal(rig->kept, &list.mdl);
    assert_int_equal(MmGetMdlPfnArray(&list.mdl)[0], 7);
    assert_int_equal(rig->told, 0);
}

/* ---- Answers --------------------------------------------------------------------------------- */

static DRIVER void forget_fence(struct rig *rig, void *arg)
{
    ((DXGKARG_QUERYCURRENTFENCE *)arg)->CurrentFence = *(UINT *)rig->kept;
}

static void an_answer_that_is_not_written_is_told(void **state)
{
    struct rig *rig = *state;
    DXGKARG_QUERYCURRENTFENCE query = {.CurrentFence = 5};
    UINT fill = 0xa5a5a5a5;

    miniport_query_current_fence(rig->top, NULL, &query);
    assert_int_equal(query.CurrentFence, 7);
    assert_int_equal(rig->told, 0);
    query.CurrentFence = 5;
    rig->kept = &fill;
    rig->deed = forget_fence;
    miniport_query_current_fence(rig->top, NULL, &query);
    expect_breach(rig, LOAN_UNWRITTEN, "DxgkDdiQueryCurrentFence", "CurrentFence", 0);
    assert_true(rig->breaches[0].is_needed);
    assert_int_equal(query.CurrentFence, 5);
    rig->told = 0;
    rig->status = STATUS_UNSUCCESSFUL;
    miniport_query_current_fence(rig->top, NULL, &query);
    assert_int_equal(rig->told, 0);
}

static DRIVER void forget_handle(struct rig *rig, void *arg)
{
    DXGKARG_CREATEALLOCATION *create = arg;

    memset(&create->pAllocationInfo[1].hAllocation, GUARD_FILL, sizeof(HANDLE));
}

static DRIVER void write_behind_data(struct rig *rig, void *arg)
{
    ((volatile char *)((DXGKARG_CREATEALLOCATION *)arg)
         ->pAllocationInfo[1]
         .pPrivateDriverData)[5]++;
}

static void elements_of_an_array_are_named(void **state)
{
    struct rig *rig = *state;
    char data[2][5] = {"four", "ruof"};
    DXGK_ALLOCATIONINFO info[2] = {
        {.pPrivateDriverData = data[0], .PrivateDriverDataSize = 5},
        {.pPrivateDriverData = data[1], .PrivateDriverDataSize = 5},
    };
    DXGKARG_CREATEALLOCATION create = {.NumAllocations = 2, .pAllocationInfo = info};

    rig->deed = forget_handle;
    miniport_create_allocation(rig->top, NULL, &create);
    expect_breach(rig, LOAN_UNWRITTEN, "DxgkDdiCreateAllocation", "pAllocationInfo[1].hAllocation",
                  sizeof info[0] + offsetof(DXGK_ALLOCATIONINFO, hAllocation));
    assert_ptr_equal(info[0].hAllocation, (HANDLE)1);
    assert_ptr_equal(info[1].pPrivateDriverData, data[1]);
    assert_int_equal(info[1].Size, 65536);
    rig->told = 0;
    rig->deed = write_behind_data;
    miniport_create_allocation(rig->top, NULL, &create);
    expect_breach(rig, LOAN_BEHIND, "DxgkDdiCreateAllocation",
                  "pAllocationInfo[1].pPrivateDriverData", 0);
}

static DRIVER void write_through_input(struct rig *rig, void *arg)
{
    const DXGKARG_QUERYADAPTERINFO *query = arg;
    DXGK_QUERYSEGMENTMEMORYSTATE *state = query->pOutputData;

    assert_ptr_equal(query->pInputData, query->pOutputData);
    state->pMemoryRanges[1].SizeInBytes = 42;
    state->DriverSegmentId = 9;
}

/* The manager asks for ranges of memory with one structure for the question and the answer. */
static void memory_that_is_lent_twice_is_lent_once(void **state)
{
    struct rig *rig = *state;
    DXGK_MEMORYRANGE ranges[2] = {0};
    DXGK_QUERYSEGMENTMEMORYSTATE memory = {.NumInvalidMemoryRanges = 2, .pMemoryRanges = ranges};
    DXGKARG_QUERYADAPTERINFO query = {.Type = DXGKQAITYPE_SEGMENTMEMORYSTATE,
                                      .pInputData = &memory,
                                      .InputDataSize = sizeof memory,
                                      .pOutputData = &memory,
                                      .OutputDataSize = sizeof memory};

    rig->deed = write_through_input;
    miniport_query_adapter_info(rig->top, NULL, &query);
    assert_int_equal(rig->told, 0);
    assert_int_equal(ranges[1].SizeInBytes, 42);
    assert_int_equal(memory.DriverSegmentId, 9);
    assert_ptr_equal(memory.pMemoryRanges, ranges);
}

static DRIVER void forget_children(struct rig *rig, void *arg)
{
    memset(arg, GUARD_FILL, sizeof(ULONG));
}

static void the_start_is_lent_like_a_structure(void **state)
{
    struct rig *rig = *state;
    DXGK_START_INFO start = {0};
    ULONG sources = 0, children = 0;

    miniport_start_device(rig->top, &start, &sources, &children);
    assert_int_equal(sources, 1);
    assert_int_equal(children, 2);
    assert_int_equal(rig->told, 0);
    children = 4;
    rig->deed = forget_children;
    miniport_start_device(rig->top, &start, &sources, &children);
    expect_breach(rig, LOAN_UNWRITTEN, "DxgkDdiStartDevice", "NumberOfChildren", 0);
    assert_int_equal(children, 4);
}

/* ---- What callbacks hand out ----------------------------------------------------------------- */

static CM_RESOURCE_LIST resources;
static WCHAR path[8];

static NTSTATUS inform(struct miniport_host *host, DXGK_DEVICE_INFO *info)
{
    *info = (DXGK_DEVICE_INFO){
        .TranslatedResourceList = &resources,
        .DeviceRegistryPath = {sizeof path, sizeof path, path},
    };
    return STATUS_SUCCESS;
}

static void keep_host(struct miniport *self, struct miniport_host *host)
{
    ((struct rig *)self)->kept = host;
}

static DRIVER void flip_byte(void *start, int64_t offset)
{
    volatile char *at = (char *)start + offset;

    *at = (char)~*at;
}

static NTSTATUS stop(struct miniport *self)
{
    return STATUS_SUCCESS;
}

/* Lent at the end of a slot and at its start: one side of each has canaries. */
static void what_a_callback_hands_out_stands_between_guards(void **state)
{
    struct rig *rig = *state;
    struct miniport_host_ops ops = {.get_device_information = inform};
    struct miniport_host host = {&ops}, *lower;
    DXGK_DEVICE_INFO info[2];

    resources.Count = 1;
    resources.List[0].PartialResourceList.Count = 1;
    rig->ops.set_host = keep_host;
    rig->ops.stop_device = stop;
    miniport_set_host(rig->top, &host);
    lower = rig->kept;
    for (unsigned i = 0; i < ARRAY_COUNT(info); i++) {
        assert_int_equal(lower->ops->get_device_information(lower, &info[i]), STATUS_SUCCESS);
        assert_ptr_not_equal(info[i].TranslatedResourceList, &resources);
        assert_int_equal(info[i].TranslatedResourceList->Count, 1);
    }
    miniport_stop_device(rig->top);
    assert_int_equal(rig->told, 0);
    flip_byte(info[0].TranslatedResourceList, -1);
    miniport_stop_device(rig->top);
    expect_breach(rig, LOAN_BEFORE, "DxgkCbGetDeviceInformation", "TranslatedResourceList", 1);
    miniport_stop_device(rig->top);
    assert_int_equal(rig->told, 1);
    rig->told = 0;
    flip_byte(info[1].DeviceRegistryPath.Buffer, sizeof path);
    miniport_remove_device(rig->top);
    expect_breach(rig, LOAN_BEHIND, "DxgkCbGetDeviceInformation", "DeviceRegistryPath.Buffer", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(answers_come_back_where_the_caller_expects_them),
        TEST(private_data_comes_back_as_a_whole),
        TEST(a_byte_around_each_loan_is_told),
        TEST(a_page_around_a_loan_is_told),
        TEST(what_a_canary_has_told_once_faults_when_it_is_done_again),
        TEST(a_list_that_is_read_only_and_changed_is_told),
        TEST(a_member_that_is_read_only_and_changed_is_put_back),
        TEST(an_mdl_is_the_callers),
        TEST(a_structure_that_is_const_is_put_back),
        TEST(what_is_kept_is_poison_and_a_write_to_it_is_told),
        TEST(a_late_write_meets_nothing_that_another_call_was_lent),
        TEST(a_buffer_of_megabytes_stands_between_guards),
        TEST(a_list_of_thousands_of_pages_stands_between_guards),
        TEST(work_that_the_driver_may_keep_is_in_its_buffer),
        TEST(a_list_that_the_driver_may_keep_is_the_kernels),
        TEST(an_answer_that_is_not_written_is_told),
        TEST(elements_of_an_array_are_named),
        TEST(memory_that_is_lent_twice_is_lent_once),
        TEST(the_start_is_lent_like_a_structure),
        TEST(what_a_callback_hands_out_stands_between_guards),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
