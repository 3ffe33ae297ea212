/*
 * Presents where addresses are virtual: what the driver is told, where its commands lie, and their
 * place among the other submissions of the context.
 */
#include "vidmm/memory/page_units.h"
#include "vidmm/rig/test_rig_driver.h"
#include "vidmm/rig/test_rig_gpu.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#define PART_BYTES  64u
#define MOST_PARTS  4u
#define SUBMISSIONS 16u

/* The one present of a test: how many buffers the driver wants, and what it and the GPU got. */
static struct {
    unsigned parts, calls;
    uint64_t source_va, destination_va;
    uint64_t buffers[MOST_PARTS]; /* their addresses in the process, and the page that it is */
    struct rig_page *pages[MOST_PARTS];
    bool is_present[SUBMISSIONS]; /* in the order in which the driver got them */
    unsigned submitted;
} seen;

static bool has_no_present(struct miniport *self, enum miniport_ddi ddi)
{
    return ddi != MINIPORT_DDI_Present && rig_has(self, ddi);
}

static NTSTATUS present(struct miniport *self, HANDLE context, DXGKARG_PRESENT *args)
{
    const DXGK_ALLOCATIONLIST *list = args->pAllocationList;

    EXPECT(context && args->Flags.Blt && !args->Flags.ColorFill);
    EXPECT(args->MultipassOffset == seen.calls && seen.calls < seen.parts);
    EXPECT(!args->pPatchLocationListOut && !args->PatchLocationListOutSize);
    EXPECT(!args->DmaBufferSegmentId && !args->DmaBufferPhysicalAddress.QuadPart);
    EXPECT(!list[0].hDeviceSpecificAllocation && !list[0].VirtualAddress);
    for (unsigned i = 1; i <= 2; i++)
        EXPECT(list[i].hDeviceSpecificAllocation && !list[i].SegmentId &&
               list[i].WriteOperation == (i == 2));
    EXPECT(list[1].VirtualAddress == seen.source_va &&
           list[2].VirtualAddress == seen.destination_va);
    seen.pages[seen.calls] = rig_cpu_table_page(rig_of(self), args->pDmaBuffer);
    args->pDmaBuffer = (uint8_t *)args->pDmaBuffer + PART_BYTES;
    seen.buffers[seen.calls++] = args->DmaBufferGpuVirtualAddress;
    args->MultipassOffset = seen.calls;
    return seen.calls < seen.parts ? STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER : STATUS_SUCCESS;
}

static NTSTATUS refuse(struct miniport *self, HANDLE context, DXGKARG_PRESENT *args)
{
    return STATUS_INVALID_HANDLE;
}

/* By the tables of the process the GPU finds the page that the driver has written. */
static NTSTATUS submit(struct miniport *self, HANDLE object,
                       const DXGKARG_SUBMITCOMMANDVIRTUAL *args)
{
    struct rig *rig = rig_of(self);
    struct rig_context *context = args->hContext;
    unsigned part = 0;
    DXGK_PTE entry;

    if (!args->Flags.Paging) {
        EXPECT(seen.submitted < SUBMISSIONS);
        seen.is_present[seen.submitted++] = args->Flags.Present;
    }
    if (!args->Flags.Present)
        return rig_submit_virtual(self, object, args);
    EXPECT(args->DmaBufferSize == PART_BYTES && args->NodeOrdinal == context->node);
    while (part < seen.parts && seen.buffers[part] != args->DmaBufferVirtualAddress)
        part++;
    entry = rig_walk(rig, context->root, args->DmaBufferVirtualAddress);
    EXPECT(part < seen.parts && entry.Valid && !entry.Segment);
    EXPECT(rig_page(rig, 0, entry.PageAddress) == seen.pages[part]);
    return rig_submit_virtual(self, object, args);
}

static struct rig *start(unsigned model, struct rig_object objects[2])
{
    struct rig_config config = rig_model(model);
    struct rig *rig = rig_create(&config);

    memset(&seen, 0, sizeof seen);
    rig->ops.present = present;
    rig->ops.submit_command_virtual = submit;
    for (unsigned i = 0; i < 2; i++) {
        rig_object(rig, 4, 1, &objects[i]);
        rig_make_resident(rig, &objects[i]);
        rig_map(rig, &objects[i]);
    }
    seen.source_va = objects[0].va;
    seen.destination_va = objects[1].va;
    return rig;
}

static NTSTATUS call(struct rig *rig, struct rig_object objects[2], unsigned parts,
                     struct rig_done *done)
{
    const RECT whole = {0, 0, 1024, 4};
    const struct vidmm_present wanted = {
        .source = objects[0].allocation,
        .destination = objects[1].allocation,
        .source_va = objects[0].va,
        .destination_va = objects[1].va,
        .source_rectangle = whole,
        .destination_rectangle = whole,
        .rectangles = &whole,
        .rectangle_count = 1,
    };

    seen.parts = parts;
    seen.calls = 0;
    return vidmm_present(rig->context, &wanted, rig_done, done);
}

static void count_range(void *context, uint64_t va, uint64_t bytes)
{
    unsigned *count = context;

    for (unsigned i = 0; i < seen.parts; i++)
        *count += seen.buffers[i] == va && bytes == PAGE_BYTES;
}

static void finish(struct rig *rig, struct rig_object objects[2])
{
    for (unsigned i = 0; i < 2; i++) {
        rig_evict(rig, &objects[i]);
        rig_destroy_object(rig, &objects[i]);
    }
    rig_free(rig);
}

/* PATCH-019, PATCH-020, PATCH-023. */
static void each_buffer_is_shown_in_the_process_and_submitted(void **state)
{
    for (unsigned model = 1; model < RIG_MODELS; model++) {
        struct rig_object objects[2];
        struct rig *rig = start(model, objects);

        for (unsigned turn = 0; turn < 3; turn++) {
            struct rig_done done = {0};
            unsigned own = 0;

            EXPECT(call(rig, objects, MOST_PARTS, &done) == STATUS_SUCCESS);
            rig_drain(rig);
            EXPECT(done.calls == 1 && done.status == STATUS_SUCCESS);
            EXPECT(seen.calls == MOST_PARTS && seen.submitted == (turn + 1) * MOST_PARTS);
            vidmm_process_own_ranges(rig->process, count_range, &own);
            EXPECT(own == MOST_PARTS); /* the same in each turn */
        }
        finish(rig, objects);
    }
}

/* Its buffer has to be mapped first; what is behind it could run at once, and does not. */
static void nothing_of_the_context_overtakes_a_present(void **state)
{
    for (unsigned model = 1; model < RIG_MODELS; model++) {
        struct rig_object objects[2], *object = &objects[0];
        struct rig *rig = start(model, objects);
        struct rig_done done[3] = {{0}};

        EXPECT(rig_gpu_in(rig, rig->context, &object, 1, 4, rig_done, &done[0]) == STATUS_SUCCESS);
        EXPECT(call(rig, objects, 2, &done[1]) == STATUS_SUCCESS);
        EXPECT(rig_gpu_in(rig, rig->context, &object, 1, 4, rig_done, &done[2]) == STATUS_SUCCESS);
        rig_drain(rig);
        for (unsigned i = 0; i < 3; i++)
            EXPECT(done[i].calls == 1 && done[i].status == STATUS_SUCCESS);
        EXPECT(seen.submitted == 4 && !seen.is_present[0] && seen.is_present[1] &&
               seen.is_present[2] && !seen.is_present[3]);
        finish(rig, objects);
    }
}

/* SUB-011. */
static NTSTATUS refuse_submission(struct miniport *self, HANDLE object,
                                  const DXGKARG_SUBMITCOMMANDVIRTUAL *args)
{
    return args->Flags.Present ? STATUS_INVALID_PARAMETER : submit(self, object, args);
}

static void a_present_that_is_refused_when_it_is_submitted_fails_its_device(void **state)
{
    for (unsigned model = 1; model < RIG_MODELS; model++) {
        struct rig_object objects[2];
        struct rig *rig = start(model, objects);
        struct rig_done done = {0};

        rig->ops.submit_command_virtual = refuse_submission;
        EXPECT(call(rig, objects, 1, &done) == STATUS_SUCCESS);
        rig_drain(rig);
        EXPECT(done.calls == 1 && done.status == STATUS_INVALID_PARAMETER);
        EXPECT(vidmm_device_is_in_error(rig->device));
        vidmm_device_clear_error(rig->device);
        finish(rig, objects);
    }
}

/* Its client has asked for something to come in, and waits for that. */
static void a_present_waits_for_the_paging_of_its_client(void **state)
{
    for (unsigned model = 1; model < RIG_MODELS; model++) {
        struct rig_object objects[2], third;
        struct rig *rig = start(model, objects);
        struct rig_done first = {0}, came = {0}, done = {0};
        uint64_t fence;

        EXPECT(call(rig, objects, 1, &first) ==
               STATUS_SUCCESS); /* the buffer is shown, and stays */
        rig_object(rig, 100, 1, &third);
        rig_drain(rig);
        EXPECT(first.calls == 1);
        EXPECT(vidmm_make_resident(rig->device, 1, &third.allocation, rig_done, &came, &fence) ==
               STATUS_PENDING);
        third.references++;
        EXPECT(vidmm_context_wait_for_paging(rig->context, fence) == STATUS_SUCCESS);
        EXPECT(call(rig, objects, 1, &done) == STATUS_SUCCESS);
        while (!came.calls) {
            EXPECT(!done.calls && rig_step_machine(rig));
            EXPECT(came.calls || seen.submitted == 1);
        }
        rig_drain(rig);
        EXPECT(done.calls == 1 && seen.submitted == 2);
        rig_evict(rig, &third);
        rig_destroy_object(rig, &third);
        finish(rig, objects);
    }
}

/* Nothing has changed then, and the buffer serves the next one. */
static void a_present_that_the_driver_refuses_leaves_nothing(void **state)
{
    for (unsigned model = 1; model < RIG_MODELS; model++) {
        struct rig_object objects[2];
        struct rig *rig = start(model, objects);
        struct rig_done done = {0};

        rig->ops.has = has_no_present;
        EXPECT(call(rig, objects, 1, &done) == STATUS_NOT_SUPPORTED);
        rig->ops.has = rig_has;
        rig->ops.present = refuse;
        EXPECT(call(rig, objects, 1, &done) == STATUS_INVALID_HANDLE);
        rig->ops.present = present;
        EXPECT(call(rig, objects, 1, &done) == STATUS_SUCCESS);
        rig_drain(rig);
        EXPECT(done.calls == 1 && seen.submitted == 1);
        finish(rig, objects);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_buffer_is_shown_in_the_process_and_submitted),
        cmocka_unit_test(nothing_of_the_context_overtakes_a_present),
        cmocka_unit_test(a_present_that_the_driver_refuses_leaves_nothing),
        cmocka_unit_test(a_present_that_is_refused_when_it_is_submitted_fails_its_device),
        cmocka_unit_test(a_present_waits_for_the_paging_of_its_client),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
