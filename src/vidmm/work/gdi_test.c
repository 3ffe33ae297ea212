/*
 * Work of the kernel's own where addresses are virtual: what DxgkDdiRenderGdi is told, that its
 * commands run where they were written, and who may ask for it.
 */
#include "vidmm/rig/test_rig_driver.h"
#include "vidmm/rig/test_rig_gpu.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#define PART_BYTES 64u
#define MOST_PARTS 4u

/* The one call of a test: how many buffers the driver wants, and what it and the GPU got. */
static struct {
    unsigned parts, calls, submitted;
    const void *commands;
    uint64_t va;                  /* of the one reference */
    uint64_t buffers[MOST_PARTS]; /* their addresses in the process */
    NTSTATUS refusal;
} seen;

static NTSTATUS render(struct miniport *self, HANDLE context, DXGKARG_RENDER *args)
{
    fail_msg("DxgkDdiRender is called for a context of the kernel's own");
    return STATUS_SUCCESS;
}

static NTSTATUS render_gdi(struct miniport *self, HANDLE context, DXGKARG_RENDERGDI *args)
{
    const DXGK_ALLOCATIONLIST *list = args->pAllocationList;

    EXPECT(context && args->pCommand == seen.commands && args->CommandLength == 24);
    EXPECT(args->MultipassOffset == seen.calls && seen.calls < seen.parts);
    EXPECT(args->DmaSize >= PART_BYTES && args->pDmaBuffer);
    EXPECT(args->AllocationListSize == 1 && list[0].hDeviceSpecificAllocation);
    EXPECT(list[0].WriteOperation && list[0].VirtualAddress == seen.va);
    EXPECT(rig_cpu_table_page(rig_of(self), args->pDmaBuffer));
    if (!NT_SUCCESS(seen.refusal))
        return seen.refusal;
    args->pDmaBuffer = (uint8_t *)args->pDmaBuffer + PART_BYTES;
    seen.buffers[seen.calls++] = args->DmaBufferGpuVirtualAddress;
    args->MultipassOffset = seen.calls;
    return seen.calls < seen.parts ? STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER : STATUS_SUCCESS;
}

/* What the driver has written runs buffer by buffer, in the address space of the process. */
static NTSTATUS submit(struct miniport *self, HANDLE object,
                       const DXGKARG_SUBMITCOMMANDVIRTUAL *args)
{
    DXGKARG_SUBMITCOMMANDVIRTUAL as_present = *args;
    struct rig_context *context = args->hContext;

    if (args->Flags.Paging || args->Flags.ContextSwitch)
        return rig_submit_virtual(self, object, args);
    EXPECT(args->DmaBufferSize == PART_BYTES && !args->Flags.Present && context->has_root);
    EXPECT(args->DmaBufferVirtualAddress == seen.buffers[seen.submitted++]);
    EXPECT(rig_walk(rig_of(self), context->root, args->DmaBufferVirtualAddress).Valid);
    as_present.Flags.Present = true; /* to the rig: commands that the driver has made */
    return rig_submit_virtual(self, object, &as_present);
}

static struct rig *start(unsigned model, struct rig_object *object, struct vidmm_context **out)
{
    struct rig_config config = rig_model(model);
    struct rig *rig = rig_create(&config);

    memset(&seen, 0, sizeof seen);
    rig->ops.render = render;
    rig->ops.render_gdi = render_gdi;
    rig->ops.submit_command_virtual = submit;
    rig_object(rig, 4, 1, object);
    rig_make_resident(rig, object);
    rig_map(rig, object);
    seen.va = object->va;
    rig->vidmm->caps.renders_for_kernel = true;
    assert_int_equal(vidmm_gdi_context_create(rig->device, 0, out), STATUS_SUCCESS);
    return rig;
}

static NTSTATUS call(struct vidmm_context *context, const struct rig_object *object, unsigned parts,
                     struct rig_done *done)
{
    static const uint32_t commands[6] = {0x4744, 1, 2, 3, 4, 5};
    const struct vidmm_reference reference = {.allocation = object->allocation, .is_written = true};

    seen.parts = parts;
    seen.calls = seen.submitted = 0;
    seen.commands = commands;
    return vidmm_render_gdi(context, commands, sizeof commands, 1, &reference, &object->va,
                            rig_done, done);
}

static void finish(struct rig *rig, struct rig_object *object, struct vidmm_context *context)
{
    vidmm_context_destroy(context);
    rig_evict(rig, object);
    rig_destroy_object(rig, object);
    rig_free(rig);
}

static void the_kernels_commands_go_to_RenderGdi_in_as_many_buffers_as_it_wants(void **state)
{
    for (unsigned model = 1; model < RIG_MODELS; model++) {
        struct vidmm_context *context;
        struct rig_object object;
        struct rig *rig = start(model, &object, &context);

        for (unsigned parts = 1; parts <= MOST_PARTS; parts++) {
            struct rig_done done = {0};

            assert_int_equal(call(context, &object, parts, &done), STATUS_SUCCESS);
            rig_drain(rig);
            assert_int_equal(seen.calls, parts);
            assert_int_equal(seen.submitted, parts);
            assert_true(done.calls == 1 && done.status == STATUS_SUCCESS);
        }
        finish(rig, &object, context);
    }
}

static void what_RenderGdi_refuses_runs_nowhere(void **state)
{
    struct vidmm_context *context;
    struct rig_done done = {0};
    struct rig_object object;
    struct rig *rig = start(1, &object, &context);

    seen.refusal = STATUS_INVALID_USER_BUFFER;
    assert_int_equal(call(context, &object, 1, &done), seen.refusal);
    rig_drain(rig); /* nothing is left to be done */
    assert_int_equal(seen.submitted + done.calls, 0);
    seen.refusal = STATUS_SUCCESS;
    assert_int_equal(call(context, &object, 1, &done), STATUS_SUCCESS);
    rig_drain(rig);
    assert_int_equal(seen.submitted + done.calls, 2);
    finish(rig, &object, context);
}

/* RenderGdi is for contexts of the kernel's own, and these for nothing else. */
static void only_contexts_of_the_kernel_render_for_it(void **state)
{
    struct vidmm_context *context;
    struct rig_done done = {0};
    struct rig_object object;
    struct rig *rig = start(1, &object, &context);

    assert_int_equal(call(rig->context, &object, 1, &done), STATUS_INVALID_PARAMETER);
    assert_int_equal(vidmm_render(context, NULL, 0, 0, NULL, rig_done, &done),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(seen.calls + done.calls, 0);
    finish(rig, &object, context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernels_commands_go_to_RenderGdi_in_as_many_buffers_as_it_wants),
        cmocka_unit_test(what_RenderGdi_refuses_runs_nowhere),
        cmocka_unit_test(only_contexts_of_the_kernel_render_for_it),
    };

    return cmocka_run_group_tests_name("vidmm/gdi", tests, NULL, NULL);
}
