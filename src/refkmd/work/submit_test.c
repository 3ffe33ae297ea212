/*
 * Submissions and their ends: rendering and patching, fences, lost interrupts, preemption, faults,
 * resets.
 */
#include "refkmd/adapter.h"
#include "refkmd/rig/test_kernel.h"

#include <drydock/sgpu.h>
#include <string.h>

#define PAGE  SGPU_PAGE_BYTES
#define LOCAL 1u
#define NODE  SGPU_NODE_RENDER
#define GUARD 0x0badf00du

static struct test_kernel kernel;
static HANDLE device;
static HANDLE context;

static void create_context(HANDLE *out, UINT node, UINT is_virtual)
{
    DXGKARG_CREATECONTEXT args = {.NodeOrdinal = node};

    args.Flags.VirtualAddressing = is_virtual;
    assert_int_equal(kernel.ddi.DxgkDdiCreateContext(device, &args), STATUS_SUCCESS);
    *out = args.hContext;
}

static int set_up(PDRIVER_INITIALIZE entry, UINT is_virtual)
{
    DXGKARG_CREATEDEVICE args = {0};

    test_create_default(&kernel, entry);
    assert_int_equal(kernel.ddi.DxgkDdiCreateDevice(kernel.adapter, &args), STATUS_SUCCESS);
    device = args.hDevice;
    create_context(&context, NODE, is_virtual);
    return 0;
}

static int setup_physical(void **state)
{
    return set_up(RefKmdDriverEntryPhysical, 0);
}

static int setup_virtual(void **state)
{
    return set_up(RefKmdDriverEntryGpuMmu, 1);
}

static int teardown(void **state)
{
    kernel.ddi.DxgkDdiDestroyContext(context);
    kernel.ddi.DxgkDdiDestroyDevice(device);
    test_destroy(&kernel);
    return 0;
}

static struct page_store *local(void)
{
    return machine_local(kernel.machine);
}

/* Packets of the tests' own, in the buffer. */
static void put_fill(UINT offset, uint64_t destination, UINT pattern)
{
    struct sgpu_packet_fill packet = {
        .header = SGPU_PACKET_HEADER(SGPU_OP_FILL, sizeof packet / 4),
        .destination = destination,
        .bytes = PAGE,
        .pattern = pattern,
    };

    memcpy(kernel.buffer + offset, &packet, sizeof packet);
}

#define FILL_BYTES ((UINT)sizeof(struct sgpu_packet_fill))

/* Does not run the machine. */
static void submit(UINT start, UINT end, UINT fence)
{
    DXGKARG_SUBMITCOMMAND args = {
        .hContext = context,
        .DmaBufferPhysicalAddress.QuadPart = (LONGLONG)(kernel.buffer_pfn << SGPU_PAGE_SHIFT),
        .DmaBufferSize = PAGE,
        .DmaBufferSubmissionStartOffset = start,
        .DmaBufferSubmissionEndOffset = end,
        .SubmissionFenceId = fence,
    };

    assert_int_equal(test_submit(&kernel, &args), STATUS_SUCCESS);
}

static void check_completed(int entry, UINT fence, UINT node)
{
    assert_true(entry < kernel.log_count);
    assert_int_equal(kernel.log[entry].InterruptType, DXGK_INTERRUPT_DMA_COMPLETED);
    assert_int_equal(kernel.log[entry].DmaCompleted.SubmissionFenceId, fence);
    assert_int_equal(kernel.log[entry].DmaCompleted.NodeOrdinal, node);
    assert_int_equal(kernel.log[entry].DmaCompleted.EngineOrdinal, 0);
}

static UINT current_fence(UINT node)
{
    DXGKARG_QUERYCURRENTFENCE args = {.NodeOrdinal = node};

    assert_int_equal(kernel.ddi.DxgkDdiQueryCurrentFence(kernel.adapter, &args), STATUS_SUCCESS);
    return args.CurrentFence;
}

static void set_interrupts(bool are_delivered)
{
    machine_set_interrupt_handler(kernel.machine, are_delivered ? test_on_interrupt : NULL,
                                  &kernel);
}

/* ---- Fences ---------------------------------------------------------------------------------- */

static void exactly_the_submitted_bytes_run(void **state)
{
    page_store_fill(local(), 0, 16 * PAGE, GUARD);
    put_fill(0, 0x0000, 1);
    put_fill(64, 0x2000, 2);
    put_fill(128, 0x4000, 3);
    submit(64, 64 + FILL_BYTES, 9);
    test_run(&kernel);
    assert_true(page_store_is_fill(local(), 0x0000, 2 * PAGE, GUARD, NULL));
    assert_true(page_store_is_fill(local(), 0x2000, PAGE, 2, NULL));
    assert_true(page_store_is_fill(local(), 0x3000, 5 * PAGE, GUARD, NULL));
    assert_int_equal(kernel.log_count, 1);
    check_completed(0, 9, NODE);
    assert_int_equal(kernel.notified_dpc_count, 1);
    assert_int_equal(current_fence(NODE), 9);
}

/* Many at once, on both nodes: each id at most once, in order, and the last one for certain. */
static void fences_are_reported_in_order_and_once(void **state)
{
    HANDLE render = context;
    HANDLE copy;
    UINT last[2] = {0, 0};

    create_context(&copy, SGPU_NODE_COPY, 0);
    put_fill(0, 0x1000, 1);
    for (UINT fence = 1; fence <= 40; fence++) {
        context = render;
        submit(0, FILL_BYTES, 100 + fence);
        context = copy;
        submit(0, FILL_BYTES, 200 + fence);
    }
    context = render;
    test_run(&kernel);
    for (int i = 0; i < kernel.log_count; i++) {
        UINT node = kernel.log[i].DmaCompleted.NodeOrdinal;

        assert_int_equal(kernel.log[i].InterruptType, DXGK_INTERRUPT_DMA_COMPLETED);
        assert_true(kernel.log[i].DmaCompleted.SubmissionFenceId > last[node]);
        last[node] = kernel.log[i].DmaCompleted.SubmissionFenceId;
    }
    assert_int_equal(last[0], 140);
    assert_int_equal(last[1], 240);
    kernel.ddi.DxgkDdiDestroyContext(copy);
}

/* SUB-004, SUB-005: nothing runs, and the fence completes. */
static void empty_and_null_submissions_complete(void **state)
{
    DXGKARG_SUBMITCOMMAND args = {
        .hContext = context,
        .DmaBufferPhysicalAddress.QuadPart = (LONGLONG)(kernel.buffer_pfn << SGPU_PAGE_SHIFT),
        .DmaBufferSubmissionEndOffset = FILL_BYTES,
        .SubmissionFenceId = 2,
    };

    page_store_fill(local(), 0, 16 * PAGE, GUARD);
    put_fill(0, 0x2000, 1);
    submit(0, 0, 1);
    test_run(&kernel);
    check_completed(0, 1, NODE);
    args.Flags.NullRendering = 1;
    assert_int_equal(test_submit(&kernel, &args), STATUS_SUCCESS);
    test_run(&kernel);
    check_completed(1, 2, NODE);
    assert_true(page_store_is_fill(local(), 0, 16 * PAGE, GUARD, NULL));
}

/* FENCE ids wrap, and paging ids come back after a preemption (SUB-010). */
static void fence_ids_are_not_compared_by_size(void **state)
{
    const UINT fences[] = {0xfffffffe, 0xffffffff, 0, 1, 7, 3, 4, 3};

    for (int i = 0; i < 8; i++) {
        submit(0, 0, fences[i]);
        test_run(&kernel);
        assert_int_equal(kernel.log_count, i + 1);
        check_completed(i, fences[i], NODE);
        assert_int_equal(current_fence(NODE), fences[i]);
    }
}

/* COMPLETED still reads the id of the time before. */
static void an_id_reported_before_a_restart_is_reported_after_it(void **state)
{
    submit(0, 0, 1);
    test_run(&kernel);
    assert_int_equal(kernel.log_count, 1);
    assert_int_equal(kernel.ddi.DxgkDdiStopDevice(kernel.adapter), STATUS_SUCCESS);
    assert_int_equal(test_start(&kernel), STATUS_SUCCESS);
    submit(0, 0, 1);
    assert_int_equal(current_fence(NODE), 0);
    test_run(&kernel);
    assert_int_equal(kernel.log_count, 2);
    check_completed(1, 1, NODE);
}

/* FENCE-006. */
static void a_lost_interrupt_is_made_up_for(void **state)
{
    set_interrupts(false);
    submit(0, 0, 5);
    submit(0, 0, 6);
    test_run(&kernel);
    assert_int_equal(kernel.log_count, 0);
    assert_int_equal(current_fence(NODE), 6);
    assert_int_equal(kernel.log_count, 1);
    check_completed(0, 6, NODE);
    assert_true(kernel.is_dpc_queued);
    assert_int_equal(current_fence(NODE), 6);
    assert_int_equal(kernel.log_count, 1);
    /* When it comes after all, there is nothing to report. */
    nt_set_irql(kernel.nt, NT_DEVICE_IRQL);
    assert_true(kernel.ddi.DxgkDdiInterruptRoutine(kernel.adapter, 0));
    assert_false(kernel.ddi.DxgkDdiInterruptRoutine(kernel.adapter, 0));
    nt_set_irql(kernel.nt, PASSIVE_LEVEL);
    assert_int_equal(kernel.log_count, 1);
}

/* ---- Rendering ------------------------------------------------------------------------------- */

enum { ALLOCATIONS = 3, ALLOCATION_BYTES = 8 * PAGE };

struct scene {
    DXGK_ALLOCATIONLIST list[ALLOCATIONS];
    DXGK_OPENALLOCATIONINFO opens[ALLOCATIONS];
    DXGK_ALLOCATIONINFO infos[ALLOCATIONS];
};

static void scene_init(struct scene *scene)
{
    struct sgpu_umd_allocation request = {SGPU_UMD_VERSION, 0, ALLOCATION_BYTES, 0, 0};
    DXGKARG_CREATEALLOCATION create_args = {.NumAllocations = ALLOCATIONS,
                                            .pAllocationInfo = scene->infos};
    DXGKARG_OPENALLOCATION open_args = {.NumAllocations = ALLOCATIONS,
                                        .pOpenAllocation = scene->opens};

    memset(scene, 0, sizeof *scene);
    for (int i = 0; i < ALLOCATIONS; i++) {
        scene->infos[i].pPrivateDriverData = &request;
        scene->infos[i].PrivateDriverDataSize = sizeof request;
        scene->opens[i].hAllocation = (D3DKMT_HANDLE)(i + 1);
    }
    assert_int_equal(kernel.ddi.DxgkDdiCreateAllocation(kernel.adapter, &create_args),
                     STATUS_SUCCESS);
    for (int i = 0; i < ALLOCATIONS; i++)
        kernel.handles[i + 1] = scene->infos[i].hAllocation;
    assert_int_equal(kernel.ddi.DxgkDdiOpenAllocation(device, &open_args), STATUS_SUCCESS);
    for (int i = 0; i < ALLOCATIONS; i++) {
        scene->list[i].hDeviceSpecificAllocation = scene->opens[i].hDeviceSpecificAllocation;
        scene->list[i].WriteOperation = i > 0;
    }
}

static void scene_fini(struct scene *scene)
{
    for (int i = 0; i < ALLOCATIONS; i++) {
        DXGKARG_CLOSEALLOCATION close_args = {1, &scene->opens[i].hDeviceSpecificAllocation};
        DXGKARG_DESTROYALLOCATION destroy_args = {1, &scene->infos[i].hAllocation, NULL, {{{0}}}};

        kernel.ddi.DxgkDdiCloseAllocation(device, &close_args);
        kernel.ddi.DxgkDdiDestroyAllocation(kernel.adapter, &destroy_args);
    }
}

static void place(struct scene *scene, int index, UINT segment, uint64_t address)
{
    scene->list[index].SegmentId = segment;
    scene->list[index].PhysicalAddress.QuadPart = (LONGLONG)address;
}

/*
 * struct sgpu_umd_render with two references; C has no structure with an open end inside another.
 */
struct command {
    struct {
        uint32_t version;
        uint32_t ref_count;
        uint64_t token;
        uint64_t duration_ns;
    } head;
    struct sgpu_umd_ref refs[2];
};
_Static_assert(offsetof(struct command, head.ref_count) ==
                   offsetof(struct sgpu_umd_render, ref_count),
               "it is laid out as the manual says");
_Static_assert(offsetof(struct command, head.duration_ns) ==
                   offsetof(struct sgpu_umd_render, duration_ns),
               "it is laid out as the manual says");
_Static_assert(offsetof(struct command, refs) == offsetof(struct sgpu_umd_render, refs),
               "it is laid out as the manual says");

/* A command buffer of count commands; command i writes page i of allocation 1 and of 2. */
static void make_commands(struct command *commands, UINT count)
{
    memset(commands, 0, count * sizeof *commands);
    for (UINT i = 0; i < count; i++) {
        commands[i].head.version = SGPU_UMD_VERSION;
        commands[i].head.ref_count = 2;
        commands[i].head.duration_ns = 100;
        for (UINT r = 0; r < 2; r++) {
            commands[i].refs[r].allocation_index = r + 1;
            commands[i].refs[r].flags = SGPU_REF_WRITE;
            commands[i].refs[r].offset = i * PAGE;
            commands[i].refs[r].bytes = PAGE;
            commands[i].refs[r].key = 0x500 * (r + 1) + i;
        }
    }
}

static DXGKARG_RENDER render(struct scene *scene, const void *commands, UINT bytes, UINT dma_bytes,
                             D3DDDI_PATCHLOCATIONLIST *locations, UINT count)
{
    DXGKARG_RENDER args = {
        .pCommand = (void *)commands,
        .CommandLength = bytes,
        .pDmaBuffer = kernel.buffer,
        .DmaSize = dma_bytes,
        .pAllocationList = scene->list,
        .AllocationListSize = ALLOCATIONS,
        .pPatchLocationListOut = locations,
        .PatchLocationListOutSize = count,
    };

    memset(kernel.buffer, TEST_POISON, dma_bytes + TEST_GUARD_BYTES);
    return args;
}

/* Patch locations [first, first + count) of a list of size elements. */
static void patch(struct scene *scene, D3DDDI_PATCHLOCATIONLIST *locations, UINT size, UINT first,
                  UINT count, UINT start, UINT end)
{
    DXGKARG_PATCH args = {
        .hContext = context,
        .pDmaBuffer = kernel.buffer,
        .DmaBufferSize = PAGE,
        .DmaBufferSubmissionStartOffset = start,
        .DmaBufferSubmissionEndOffset = end,
        .pAllocationList = scene->list,
        .AllocationListSize = ALLOCATIONS,
        .pPatchLocationList = locations,
        .PatchLocationListSize = size,
        .PatchLocationListSubmissionStart = first,
        .PatchLocationListSubmissionLength = count,
    };

    assert_int_equal(kernel.ddi.DxgkDdiPatch(kernel.adapter, &args), STATUS_SUCCESS);
}

/* PATCH-011: addresses that the list already has are used without Patch. */
static void known_addresses_need_no_patch(void **state)
{
    struct scene scene;
    struct command commands[2];
    D3DDDI_PATCHLOCATIONLIST locations[8];
    DXGKARG_RENDER args;
    UINT end;

    scene_init(&scene);
    make_commands(commands, 2);
    place(&scene, 1, LOCAL, 0x40000);
    place(&scene, 2, LOCAL, 0x80000);
    args = render(&scene, commands, sizeof commands, PAGE, locations, 8);
    assert_int_equal(kernel.ddi.DxgkDdiRender(context, &args), STATUS_SUCCESS);
    assert_int_equal(args.MultipassOffset, sizeof commands);
    assert_int_equal(args.pPatchLocationListOut - locations, 4);
    end = (UINT)((uint8_t *)args.pDmaBuffer - kernel.buffer);
    assert_true(test_is_poison(kernel.buffer + end, PAGE));
    submit(0, end, 1);
    test_run(&kernel);
    check_completed(0, 1, NODE);
    assert_true(page_store_is_tag(local(), 0x40000, 2 * PAGE, 0x500, NULL));
    assert_true(page_store_is_tag(local(), 0x80000, 2 * PAGE, 0xa00, NULL));
    scene_fini(&scene);
}

/* PATCH-006: the same buffer, patched again with other addresses, writes to the other places. */
static void a_buffer_can_be_patched_again_with_other_addresses(void **state)
{
    struct scene scene;
    struct command commands[2];
    D3DDDI_PATCHLOCATIONLIST locations[8];
    DXGKARG_RENDER args;
    UINT end;

    scene_init(&scene);
    make_commands(commands, 2);
    args = render(&scene, commands, sizeof commands, PAGE, locations, 8);
    assert_int_equal(kernel.ddi.DxgkDdiRender(context, &args), STATUS_SUCCESS);
    end = (UINT)((uint8_t *)args.pDmaBuffer - kernel.buffer);
    for (UINT i = 1; i <= 3; i++) {
        page_store_fill(local(), 0, 16 << 20, GUARD);
        place(&scene, 1, LOCAL, i * 0x100000);
        place(&scene, 2, LOCAL, i * 0x100000 + 0x80000);
        patch(&scene, locations, 4, 0, 4, 0, end);
        submit(0, end, i);
        test_run(&kernel);
        check_completed((int)i - 1, i, NODE);
        assert_true(page_store_is_tag(local(), i * 0x100000, 2 * PAGE, 0x500, NULL));
        assert_true(page_store_is_tag(local(), i * 0x100000 + 0x80000, 2 * PAGE, 0xa00, NULL));
        assert_true(page_store_is_fill(local(), 0, i * 0x100000, GUARD, NULL));
        assert_true(page_store_is_fill(local(), i * 0x100000 + 2 * PAGE, PAGE, GUARD, NULL));
    }
    scene_fini(&scene);
}

/* PATCH-003, PATCH-012: the buffer is split in front of its second packet, and patched in parts. */
static void a_split_buffer_is_patched_and_run_in_parts(void **state)
{
    struct scene scene;
    struct command commands[3];
    D3DDDI_PATCHLOCATIONLIST locations[8];
    DXGKARG_RENDER args;
    UINT split = 0;
    UINT end;

    scene_init(&scene);
    make_commands(commands, 3);
    args = render(&scene, commands, sizeof commands, PAGE, locations, 8);
    assert_int_equal(kernel.ddi.DxgkDdiRender(context, &args), STATUS_SUCCESS);
    end = (UINT)((uint8_t *)args.pDmaBuffer - kernel.buffer);
    for (int i = 0; i < 6; i++) {
        uint64_t written = TEST_POISON;

        assert_true(locations[i].SplitOffset >= split);
        split = locations[i].SplitOffset;
        assert_int_equal(split % SGPU_SUBMIT_ALIGN, 0);
        assert_true(locations[i].PatchOffset > split && locations[i].PatchOffset < end);
        assert_int_equal(locations[i].AllocationIndex, 1 + i % 2);
        assert_int_equal(locations[i].AllocationOffset, i / 2 * PAGE);
        memcpy(&written, kernel.buffer + locations[i].PatchOffset, sizeof written);
        assert_int_equal(written, 0); /* not resident when rendered */
    }
    split = locations[2].SplitOffset;
    assert_true(split > 0 && split < end);

    page_store_fill(local(), 0, 16 << 20, GUARD);
    place(&scene, 1, LOCAL, 0x100000);
    place(&scene, 2, LOCAL, 0x180000);
    patch(&scene, locations, 6, 0, 6, 0, split); /* PATCH-005: what is behind split is left alone */
    for (int i = 0; i < 6; i++) {
        uint64_t written = TEST_POISON;

        memcpy(&written, kernel.buffer + locations[i].PatchOffset, sizeof written);
        assert_int_equal(written != 0, locations[i].PatchOffset < split);
    }
    patch(&scene, locations, 6, 0, 2, 0, split);
    submit(0, split, 1);
    test_run(&kernel);
    check_completed(0, 1, NODE);
    assert_true(page_store_is_tag(local(), 0x100000, PAGE, 0x500, NULL));
    assert_true(page_store_is_fill(local(), 0x101000, PAGE, GUARD, NULL));

    place(&scene, 1, LOCAL, 0x200000); /* moved in between */
    place(&scene, 2, LOCAL, 0x280000);
    patch(&scene, locations, 6, 2, 4, split, end);
    submit(split, end, 2);
    test_run(&kernel);
    check_completed(1, 2, NODE);
    assert_true(page_store_is_fill(local(), 0x200000, PAGE, GUARD, NULL));
    assert_true(page_store_is_tag(local(), 0x201000, 2 * PAGE, 0x501, NULL));
    assert_true(page_store_is_tag(local(), 0x281000, 2 * PAGE, 0xa01, NULL));
    scene_fini(&scene);
}

/* PATCH-014: short buffers and short lists, resumed until all commands have run. */
static void resume_where_room_ran_out(bool is_in_pieces)
{
    struct scene scene;
    struct command commands[8];
    D3DDDI_PATCHLOCATIONLIST locations[16];
    unsigned amid = 0;

    scene_init(&scene);
    make_commands(commands, 8);
    for (unsigned i = 0; i < 8; i++)
        commands[i].refs[1].starts_piece = is_in_pieces;
    place(&scene, 1, LOCAL, 0x40000);
    place(&scene, 2, LOCAL, 0x80000);
    for (UINT dma_bytes = 128; dma_bytes <= 2048; dma_bytes += 72) {
        for (UINT count = is_in_pieces ? 1 : 2; count <= 16; count++) {
            UINT offset = 0;
            NTSTATUS status;

            page_store_fill(local(), 0, 16 << 20, GUARD);
            do {
                DXGKARG_RENDER args =
                    render(&scene, commands, sizeof commands, dma_bytes, locations, count);
                UINT end;

                args.MultipassOffset = offset;
                memset(locations, TEST_POISON, sizeof locations);
                status = kernel.ddi.DxgkDdiRender(context, &args);
                assert_true(status == STATUS_SUCCESS ||
                            status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
                assert_true(args.MultipassOffset > offset);
                offset = args.MultipassOffset;
                amid += offset % sizeof commands[0] != 0;
                end = (UINT)((uint8_t *)args.pDmaBuffer - kernel.buffer);
                assert_true(end <= dma_bytes);
                assert_true(test_is_poison(kernel.buffer + end, dma_bytes - end + PAGE));
                assert_true(args.pPatchLocationListOut <= locations + count);
                assert_true(test_is_poison(
                    (uint8_t *)args.pPatchLocationListOut,
                    (size_t)((uint8_t *)(locations + 16) - (uint8_t *)args.pPatchLocationListOut)));
                submit(0, end, ++kernel.fences[NODE]);
                test_run(&kernel);
                kernel.log_count = 0;
            } while (status != STATUS_SUCCESS);
            assert_int_equal(offset, sizeof commands);
            assert_true(page_store_is_tag(local(), 0x40000, 8 * PAGE, 0x500, NULL));
            assert_true(page_store_is_tag(local(), 0x80000, 8 * PAGE, 0xa00, NULL));
        }
    }
    assert_int_equal(amid != 0, is_in_pieces);
    scene_fini(&scene);
}

static void rendering_resumes_where_room_ran_out(void **state)
{
    resume_where_room_ran_out(false);
}

/* A command need not be in one buffer: the client has said where it may be interrupted. */
static void rendering_resumes_between_two_pieces_of_a_command(void **state)
{
    resume_where_room_ran_out(true);
}

/* The kernel gives back what the driver said, but the commands are the client's. */
static void progress_that_is_no_place_of_a_command_is_refused(void **state)
{
    struct scene scene;
    struct command commands[2];
    D3DDDI_PATCHLOCATIONLIST locations[8];

    scene_init(&scene);
    make_commands(commands, 2);
    for (UINT offset = 1; offset < sizeof commands; offset++) {
        DXGKARG_RENDER args = render(&scene, commands, sizeof commands, PAGE, locations, 8);
        UINT into = offset % sizeof commands[0];
        bool is_place =
            !into || (into >= sizeof commands[0].head &&
                      (into - sizeof commands[0].head) % sizeof(struct sgpu_umd_ref) == 0);

        args.MultipassOffset = offset;
        assert_int_equal(kernel.ddi.DxgkDdiRender(context, &args),
                         is_place ? STATUS_SUCCESS : STATUS_INVALID_USER_BUFFER);
        assert_int_equal(args.MultipassOffset, is_place ? sizeof commands : offset);
    }
    for (unsigned lie = 0; lie < 2; lie++) {
        DXGKARG_RENDER args = render(&scene, commands, sizeof commands, PAGE, locations, 8);

        args.MultipassOffset = sizeof commands[0] + sizeof commands[0].head;
        if (lie)
            commands[0].head.ref_count = 1; /* so that no command begins behind it */
        else
            commands[0].head.version = 0;
        assert_int_equal(kernel.ddi.DxgkDdiRender(context, &args), STATUS_INVALID_USER_BUFFER);
        make_commands(commands, 2);
    }
    scene_fini(&scene);
}

/* Every way in which a command can lie, one at a time, next to one that does not. */
static void bad_commands_are_refused_and_publish_nothing(void **state)
{
    struct scene scene;
    D3DDDI_PATCHLOCATIONLIST locations[8];

    scene_init(&scene);
    for (int lie = 0; lie <= 13; lie++) {
        struct command commands[2];
        DXGKARG_RENDER args;
        UINT length = sizeof commands;
        NTSTATUS status;

        make_commands(commands, 2);
        switch (lie) {
        case 1:
            commands[1].head.version = 0;
            break;
        case 2:
            commands[1].head.ref_count = 3;
            break;
        case 3:
            commands[1].head.ref_count = UINT32_MAX;
            break;
        case 4:
            commands[1].refs[1].allocation_index = ALLOCATIONS;
            break;
        case 5:
            commands[1].refs[1].flags |= 4;
            break;
        case 6:
            commands[1].refs[1].offset = ALLOCATION_BYTES - PAGE + 1;
            break;
        case 7:
            commands[1].refs[1].bytes = UINT64_MAX;
            break;
        case 8:
            commands[1].refs[1].offset = UINT64_MAX - PAGE + 1;
            break;
        case 9:
            commands[1].refs[1].allocation_index = 0; /* not said to be written */
            break;
        case 10:
            length -= 1;
            break;
        case 11:
            length = sizeof commands[0] + 8;
            break;
        case 12:
            commands[1].refs[1].offset = 1u << 30;
            break;
        case 13:
            scene.list[2].hDeviceSpecificAllocation = NULL;
            break;
        }
        args = render(&scene, commands, length, PAGE, locations, 8);
        status = kernel.ddi.DxgkDdiRender(context, &args);
        assert_int_equal(status, lie ? STATUS_INVALID_USER_BUFFER : STATUS_SUCCESS);
        if (lie) {
            assert_ptr_equal(args.pDmaBuffer, kernel.buffer);
            assert_ptr_equal(args.pPatchLocationListOut, locations);
            assert_int_equal(args.MultipassOffset, 0);
        }
    }
    scene_fini(&scene);
}

/* ---- Virtual submissions --------------------------------------------------------------------- */

/* SUB-012: refused, and its fence completes in its turn. */
static void a_refused_virtual_submission_completes_its_fence(void **state)
{
    DXGKARG_SUBMITCOMMANDVIRTUAL args = {
        .hContext = context,
        .DmaBufferVirtualAddress = 0x10000,
        .DmaBufferSize = 64,
        .SubmissionFenceId = 1,
    };
    DXGKARG_SETROOTPAGETABLE root = {.hContext = context, .NumEntries = SGPU_TABLE_ENTRIES};

    assert_int_equal(test_submit_virtual(&kernel, &args), STATUS_INVALID_PARAMETER); /* no root */
    test_run(&kernel);
    check_completed(0, 1, NODE);

    root.Address.SegmentId = LOCAL;
    kernel.ddi.DxgkDdiSetRootPageTable(kernel.adapter, &root);
    args.DmaBufferVirtualAddress = 0x10008; /* the GPU cannot start here */
    args.SubmissionFenceId = 2;
    assert_int_equal(test_submit_virtual(&kernel, &args), STATUS_INVALID_PARAMETER);
    test_run(&kernel);
    check_completed(1, 2, NODE);
    assert_int_equal(current_fence(NODE), 2);
}

/* RES-010, TDR-007: an access to nothing is reported, and the node works again after its reset. */
static void a_page_fault_is_reported_and_reset(void **state)
{
    DXGKARG_SUBMITCOMMANDVIRTUAL args = {
        .hContext = context,
        .DmaBufferVirtualAddress = 0x200040,
        .DmaBufferSize = 64,
        .SubmissionFenceId = 4,
    };
    DXGKARG_SETROOTPAGETABLE root = {.hContext = context, .NumEntries = SGPU_TABLE_ENTRIES};
    DXGKARG_RESETENGINE reset = {.NodeOrdinal = NODE, .LastAbortedFenceId = 99};
    DXGKARG_QUERYENGINESTATUS engine = {.NodeOrdinal = NODE};
    const DXGKARGCB_NOTIFY_INTERRUPT_DATA *fault = &kernel.log[0];

    root.Address.SegmentId = LOCAL; /* a table of zeroes */
    kernel.ddi.DxgkDdiSetRootPageTable(kernel.adapter, &root);
    assert_int_equal(test_submit_virtual(&kernel, &args), STATUS_SUCCESS);
    args.SubmissionFenceId = 5;
    assert_int_equal(test_submit_virtual(&kernel, &args), STATUS_SUCCESS);
    test_run(&kernel);
    assert_int_equal(kernel.log_count, 1);
    assert_int_equal(fault->InterruptType, DXGK_INTERRUPT_DMA_PAGE_FAULTED);
    assert_int_equal(fault->DmaPageFaulted.FaultedFenceId, 4);
    assert_int_equal(fault->DmaPageFaulted.FaultedVirtualAddress, 0x200040);
    assert_int_equal(fault->DmaPageFaulted.NodeOrdinal, NODE);
    assert_int_equal(fault->DmaPageFaulted.PageFaultFlags, DXGK_PAGE_FAULT_ENGINE_RESET_REQUIRED);
    assert_int_equal(kernel.notified_dpc_count, 1);
    assert_int_equal(kernel.ddi.DxgkDdiQueryEngineStatus(kernel.adapter, &engine), STATUS_SUCCESS);
    assert_false(engine.EngineStatus.Responsive);

    assert_int_equal(kernel.ddi.DxgkDdiResetEngine(kernel.adapter, &reset), STATUS_SUCCESS);
    assert_int_equal(reset.LastAbortedFenceId, 4);
    assert_int_equal(current_fence(NODE), 4);
    assert_int_equal(kernel.ddi.DxgkDdiQueryEngineStatus(kernel.adapter, &engine), STATUS_SUCCESS);
    assert_true(engine.EngineStatus.Responsive);
    test_run(&kernel);
    assert_int_equal(kernel.log_count, 1);

    args.DmaBufferSize = 0;
    args.SubmissionFenceId = 6;
    assert_int_equal(test_submit_virtual(&kernel, &args), STATUS_SUCCESS);
    test_run(&kernel);
    check_completed(1, 6, NODE);
}

/* ---- Preemption and resets ------------------------------------------------------------------- */

static void preempt(UINT fence)
{
    DXGKARG_PREEMPTCOMMAND args = {.PreemptionFenceId = fence, .NodeOrdinal = NODE};

    assert_int_equal(kernel.ddi.DxgkDdiPreemptCommand(kernel.adapter, &args), STATUS_SUCCESS);
}

static void check_preempted(int entry, UINT fence, UINT last_completed)
{
    assert_true(entry < kernel.log_count);
    assert_int_equal(kernel.log[entry].InterruptType, DXGK_INTERRUPT_DMA_PREEMPTED);
    assert_int_equal(kernel.log[entry].DmaPreempted.PreemptionFenceId, fence);
    assert_int_equal(kernel.log[entry].DmaPreempted.LastCompletedFenceId, last_completed);
    assert_int_equal(kernel.log[entry].DmaPreempted.NodeOrdinal, NODE);
}

/* FENCE-008. */
static void preemption_of_an_empty_queue_is_answered_at_once(void **state)
{
    submit(0, 0, 3);
    test_run(&kernel);
    preempt(4);
    assert_int_equal(kernel.log_count, 2);
    check_preempted(1, 4, 3);
    assert_true(kernel.is_dpc_queued);
}

/* FENCE-007, SUB-010: what runs ends, what is queued behind it is dropped and comes back. */
static void preemption_drops_what_is_queued_behind_the_running_submission(void **state)
{
    put_fill(0, 0x1000, 1);
    submit(0, FILL_BYTES, 3);
    submit(0, FILL_BYTES, 4);
    submit(0, FILL_BYTES, 5);
    preempt(1);
    assert_int_equal(kernel.log_count, 0);
    test_run(&kernel);
    assert_int_equal(kernel.log_count, 2);
    check_completed(0, 3, NODE);
    check_preempted(1, 1, 3);
    page_store_fill(local(), 0x1000, PAGE, GUARD);
    test_run(&kernel);
    assert_true(page_store_is_fill(local(), 0x1000, PAGE, GUARD, NULL));

    submit(0, FILL_BYTES, 4);
    submit(0, FILL_BYTES, 6);
    test_run(&kernel);
    check_completed(kernel.log_count - 1, 6, NODE);
    assert_true(page_store_is_fill(local(), 0x1000, PAGE, 1, NULL));
}

/* FENCE-006: the interrupts of completion and preemption are lost, and the kernel asks. */
static void a_lost_preemption_is_reported_when_the_kernel_asks(void **state)
{
    put_fill(0, 0x1000, 1);
    submit(0, FILL_BYTES, 3);
    submit(0, FILL_BYTES, 4);
    preempt(7);
    set_interrupts(false);
    test_run(&kernel);
    assert_int_equal(kernel.log_count, 0);
    assert_int_equal(current_fence(NODE), 3);
    assert_int_equal(kernel.log_count, 2);
    check_completed(0, 3, NODE);
    check_preempted(1, 7, 3);
}

/* TDR-007, TDR-008, TDR-010. */
static void an_engine_reset_tells_what_it_aborted(void **state)
{
    DXGKARG_RESETENGINE reset = {.NodeOrdinal = NODE};

    put_fill(0, 0x1000, 1);
    submit(0, FILL_BYTES, 1);
    test_run(&kernel);
    assert_int_equal(kernel.ddi.DxgkDdiResetEngine(kernel.adapter, &reset), STATUS_SUCCESS);
    assert_int_equal(reset.LastAbortedFenceId, 1);

    page_store_fill(local(), 0x1000, PAGE, GUARD);
    submit(0, FILL_BYTES, 2);
    submit(0, FILL_BYTES, 3);
    assert_int_equal(kernel.ddi.DxgkDdiResetEngine(kernel.adapter, &reset), STATUS_SUCCESS);
    assert_int_equal(reset.LastAbortedFenceId, 2); /* 3 had not begun */
    kernel.log_count = 0;
    test_run(&kernel);
    assert_int_equal(kernel.log_count, 0);
    assert_true(page_store_is_fill(local(), 0x1000, PAGE, GUARD, NULL));
    assert_int_equal(current_fence(NODE), 2);
    preempt(50); /* nothing is left on the node */
    check_preempted(0, 50, 2);
    kernel.log_count = 0;

    /* Completed before the reset, unseen because the interrupt got lost. */
    set_interrupts(false);
    submit(0, FILL_BYTES, 4);
    test_run(&kernel);
    assert_int_equal(kernel.ddi.DxgkDdiResetEngine(kernel.adapter, &reset), STATUS_SUCCESS);
    assert_int_equal(reset.LastAbortedFenceId, 4);
    assert_int_equal(kernel.log_count, 1);
    check_completed(0, 4, NODE);
}

/* S-17. */
static void a_timeout_silences_the_gpu_until_the_restart(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER lost = {.Operation = DXGK_OPERATION_TRANSFER};

    put_fill(0, 0x1000, 1);
    submit(0, FILL_BYTES, 1);
    submit(0, FILL_BYTES, 2);
    assert_int_equal(kernel.ddi.DxgkDdiResetFromTimeout(kernel.adapter), STATUS_SUCCESS);
    page_store_fill(local(), 0x1000, PAGE, GUARD);
    test_run(&kernel);
    assert_int_equal(kernel.log_count, 0);
    assert_true(page_store_is_fill(local(), 0x1000, PAGE, GUARD, NULL));
    lost.Transfer.Source.SegmentId = LOCAL;
    lost.pDmaBuffer = kernel.buffer;
    lost.DmaSize = PAGE;
    assert_int_equal(kernel.ddi.DxgkDdiBuildPagingBuffer(kernel.adapter, &lost), STATUS_SUCCESS);
    assert_ptr_equal(lost.pDmaBuffer, kernel.buffer);

    assert_int_equal(kernel.ddi.DxgkDdiRestartFromTimeout(kernel.adapter), STATUS_SUCCESS);
    test_run(&kernel);
    assert_int_equal(kernel.log_count, 0);
    assert_int_equal(current_fence(NODE), 2);
    submit(0, FILL_BYTES, 3);
    test_run(&kernel);
    assert_int_equal(kernel.log_count, 1);
    check_completed(0, 3, NODE);
    assert_true(page_store_is_fill(local(), 0x1000, PAGE, 1, NULL));
}

/* A fault in the physical model has no report; what the driver knows of it goes to the log. */
static void a_faulted_paging_submission_names_its_operations(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER args = {.Operation = DXGK_OPERATION_FILL};
    DXGKARG_SUBMITCOMMAND submit_args = {
        .DmaBufferPhysicalAddress.QuadPart = (LONGLONG)(kernel.buffer_pfn << SGPU_PAGE_SHIFT),
        .pDmaBufferPrivateData = kernel.private_data,
        .DmaBufferPrivateDataSize = TEST_PRIVATE_BYTES,
        .SubmissionFenceId = 1,
        .NodeOrdinal = SGPU_NODE_COPY,
    };

    args.Fill.FillSize = PAGE;
    args.Fill.Destination.SegmentId = LOCAL;
    args.Fill.Destination.SegmentAddress.QuadPart = 64 << 20; /* nothing there */
    args.pDmaBuffer = kernel.buffer;
    args.DmaSize = PAGE;
    args.pDmaBufferPrivateData = kernel.private_data;
    args.DmaBufferPrivateDataSize = TEST_PRIVATE_BYTES;
    assert_int_equal(kernel.ddi.DxgkDdiBuildPagingBuffer(kernel.adapter, &args), STATUS_SUCCESS);
    submit_args.DmaBufferSubmissionEndOffset = (UINT)((uint8_t *)args.pDmaBuffer - kernel.buffer);
    submit_args.DmaBufferPrivateDataSubmissionEndOffset =
        (UINT)((uint8_t *)args.pDmaBufferPrivateData - kernel.private_data);
    submit_args.Flags.Paging = 1;
    assert_int_equal(test_submit(&kernel, &submit_args), STATUS_SUCCESS);
    test_run(&kernel);
    assert_int_equal(kernel.log_count, 0);
    assert_non_null(strstr(kernel.last_line, "node 1 stopped in fence 1"));
    assert_non_null(strstr(kernel.last_line, "operations 0x2)"));
}

/* A device without power reads as ones, and the line may be another device's. */
static void an_interrupt_of_somebody_else_is_not_claimed(void **state)
{
    KIRQL before = nt_set_irql(kernel.nt, NT_DEVICE_IRQL);

    assert_false(kernel.ddi.DxgkDdiInterruptRoutine(kernel.adapter, 0));
    nt_set_irql(kernel.nt, before);
    assert_int_equal(kernel.log_count, 0);
    assert_false(kernel.is_dpc_queued);
}

static void a_dump_gets_as_many_registers_as_fit(void **state)
{
    uint8_t buffer[256];
    DXGKARG_COLLECTDBGINFO_EXT extension = {0};
    DXGKARG_COLLECTDBGINFO args = {.pBuffer = buffer, .BufferSize = 30, .pExtension = &extension};

    memset(buffer, TEST_POISON, sizeof buffer);
    assert_int_equal(kernel.ddi.DxgkDdiCollectDbgInfo(kernel.adapter, &args), STATUS_SUCCESS);
    assert_false(test_is_poison(buffer, 28));
    assert_true(test_is_poison(buffer + 28, sizeof buffer - 28));
    /* No node is busy. */
    assert_int_equal(extension.BucketingKey,
                     ((const struct refkmd_adapter *)kernel.adapter)->node_count + 1);
    args.pExtension = NULL;
    assert_int_equal(kernel.ddi.DxgkDdiCollectDbgInfo(kernel.adapter, &args), STATUS_SUCCESS);
}

/* The key is that of the engine that the system names, where it names one in a whole payload. */
static void a_dump_is_of_the_engine_that_timed_out(void **state)
{
    DXGK_TDR_PAYLOAD_ENGINE_TIMEOUT timeout = {.NodeOrdinal = 0};
    DXGKARG_COLLECTDBGINFO_EXT extension = {0};
    DXGKARG_COLLECTDBGINFO2 args = {.pExtension = &extension,
                                    .TdrType = DXGK_TDR_TYPE_ENGINE_TIMEOUT,
                                    .TdrPayloadSize = sizeof timeout,
                                    .TdrPayload = &timeout};
    UINT nobody = ((const struct refkmd_adapter *)kernel.adapter)->node_count + 1;

    assert_int_equal(kernel.ddi.DxgkDdiCollectDbgInfo2(kernel.adapter, &args), STATUS_SUCCESS);
    assert_int_equal(extension.BucketingKey, 1);
    args.TdrPayloadSize--;
    assert_int_equal(kernel.ddi.DxgkDdiCollectDbgInfo2(kernel.adapter, &args), STATUS_SUCCESS);
    assert_int_equal(extension.BucketingKey, nobody);
    args.TdrPayload = NULL;
    args.TdrPayloadSize = 0;
    args.pExtension = NULL;
    assert_int_equal(kernel.ddi.DxgkDdiCollectDbgInfo2(kernel.adapter, &args), STATUS_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define PHYSICAL(name) cmocka_unit_test_setup_teardown(name, setup_physical, teardown)
#define VIRTUAL(name)  cmocka_unit_test_setup_teardown(name, setup_virtual, teardown)
        PHYSICAL(exactly_the_submitted_bytes_run),
        PHYSICAL(fences_are_reported_in_order_and_once),
        PHYSICAL(empty_and_null_submissions_complete),
        PHYSICAL(fence_ids_are_not_compared_by_size),
        PHYSICAL(an_id_reported_before_a_restart_is_reported_after_it),
        PHYSICAL(a_lost_interrupt_is_made_up_for),
        PHYSICAL(known_addresses_need_no_patch),
        PHYSICAL(a_buffer_can_be_patched_again_with_other_addresses),
        PHYSICAL(a_split_buffer_is_patched_and_run_in_parts),
        PHYSICAL(rendering_resumes_where_room_ran_out),
        PHYSICAL(rendering_resumes_between_two_pieces_of_a_command),
        PHYSICAL(progress_that_is_no_place_of_a_command_is_refused),
        PHYSICAL(bad_commands_are_refused_and_publish_nothing),
        VIRTUAL(a_refused_virtual_submission_completes_its_fence),
        VIRTUAL(a_page_fault_is_reported_and_reset),
        PHYSICAL(preemption_of_an_empty_queue_is_answered_at_once),
        PHYSICAL(preemption_drops_what_is_queued_behind_the_running_submission),
        PHYSICAL(a_lost_preemption_is_reported_when_the_kernel_asks),
        PHYSICAL(an_engine_reset_tells_what_it_aborted),
        PHYSICAL(a_timeout_silences_the_gpu_until_the_restart),
        PHYSICAL(a_faulted_paging_submission_names_its_operations),
        PHYSICAL(an_interrupt_of_somebody_else_is_not_claimed),
        PHYSICAL(a_dump_gets_as_many_registers_as_fit),
        VIRTUAL(a_dump_is_of_the_engine_that_timed_out),
#undef PHYSICAL
#undef VIRTUAL
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
