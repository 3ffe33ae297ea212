/*
 * Native fences: their storage, what the driver is told of it, and who waits. Whole runs signal
 * them from the GPU (bench/whole_runs).
 */
#include "vidmm/memory/page_units.h"
#include "vidmm/notes.h"
#include "vidmm/rig/test_rig_notes.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#include "base/bits.h"
#include "base/failing_services.h"

#include <stdio.h>
#include <string.h>

#define FENCES      17 /* one more than the manager has room to tell of at first */
#define IN_A_BLOCK  4
#define BLOCKS_FULL 5 /* blocks that so many fences take */

/* The driver: what it was told of each fence last, by the handle that it gave out. */
struct witness {
    struct rig *rig;
    DXGK_FENCE_RESIDENCY_INFO infos[FENCES];
    unsigned told[FENCES];
    unsigned notices, last_notice; /* how many; of how many fences the last one told */
    unsigned created, destroyed;
    unsigned updates, largest_update;
    UINT64 monitored[FENCES];
    struct vidmm_native_fence *fences[FENCES];
    /* What it says of storage, by kind of value; and how often it was asked. */
    DXGK_ALLOCATIONINFO storage[2];
    NTSTATUS storage_status;
    unsigned asked;
    unsigned mapped; /* pages of segments that the CPU sees for fences */
};

static unsigned index_of(HANDLE handle)
{
    assert_in_range((uintptr_t)handle, 1, FENCES);
    return (unsigned)(uintptr_t)handle - 1;
}

static void take_notice(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct witness *witness = rig->test;

    if (args->Operation != DXGK_OPERATION_NOTIFY_FENCE_RESIDENCY)
        return;
    witness->notices++;
    witness->last_notice = args->NotifyFenceResidency.NumFences;
    for (unsigned i = 0; i < witness->last_notice; i++) {
        const DXGK_FENCE_RESIDENCY_INFO *info = &args->NotifyFenceResidency.FenceResidencyInfo[i];
        unsigned index = index_of(info->hGlobalNativeFence);

        witness->infos[index] = *info;
        witness->told[index]++;
    }
}

static NTSTATUS create_fence(struct miniport *self, HANDLE object, DXGKARG_CREATENATIVEFENCE *args)
{
    struct witness *witness = rig_of(self)->test;

    if (!NT_SUCCESS(rig_of(self)->fails_at_create))
        return rig_of(self)->fails_at_create;
    args->hGlobalNativeFence = (HANDLE)(uintptr_t)++witness->created;
    return STATUS_SUCCESS;
}

static NTSTATUS destroy_fence(struct miniport *self, HANDLE object,
                              DXGKARG_DESTROYNATIVEFENCE *args)
{
    struct witness *witness = rig_of(self)->test;

    index_of(args->hGlobalNativeFence);
    witness->destroyed++;
    return STATUS_SUCCESS;
}

static NTSTATUS update_values(struct miniport *self, HANDLE object,
                              const DXGKARG_UPDATEMONITOREDVALUES *args)
{
    struct witness *witness = rig_of(self)->test;

    witness->updates++;
    if (args->NumFences > witness->largest_update)
        witness->largest_update = args->NumFences;
    for (UINT i = 0; i < args->NumFences; i++) {
        unsigned index = index_of(args->NativeFenceArray[i]);

        assert_ptr_equal(args->MonitoredValueKernelCpuVa[i],
                         witness->infos[index].MonitoredValueKernelCpuVa);
        witness->monitored[index] = args->UpdatedValueArray[i];
        *(UINT64 *)args->MonitoredValueKernelCpuVa[i] = args->UpdatedValueArray[i];
    }
    return STATUS_SUCCESS;
}

static NTSTATUS reset(struct miniport *self, HANDLE adapter)
{
    rig_forget_packets(rig_of(self));
    return STATUS_SUCCESS;
}

static NTSTATUS say_storage(struct miniport *self, HANDLE object,
                            DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA *args)
{
    struct witness *witness = rig_of(self)->test;
    D3DKMDT_FENCESTORAGESURFACEDATA *storage = args->pCreateFenceStorageData;

    assert_int_equal(args->StandardAllocationType, D3DKMDT_STANDARDALLOCATION_FENCESTORAGE);
    assert_int_equal(storage->FenceStorageType, D3DDDI_NATIVEFENCE_TYPE_DEFAULT);
    assert_null(storage->pPrivateDriverData);
    witness->asked++;
    storage->AllocationInfo = witness->storage[storage->FenceStorageValueType];
    return witness->storage_status;
}

static ULONG newest(struct miniport *self)
{
    return DXGKDDI_INTERFACE_VERSION_WDDM3_2;
}

/* Memory of segments is words to the rig, one a page; fences need all of a page. */
static void *map_whole_pages(void *context, uint64_t address, uint64_t bytes)
{
    struct rig *rig = context;
    struct witness *witness = rig->test;
    void *page;

    if (address < rig_segment_window(0) || bytes != PAGE_BYTES)
        return rig_map_bus(context, address, bytes);
    page = calloc(1, PAGE_BYTES + sizeof(UINT64));
    assert_non_null(page);
    *(UINT64 *)((char *)page + PAGE_BYTES) = ~address;
    witness->mapped++;
    return page;
}

static void unmap_whole_pages(void *context, void *address, uint64_t bytes)
{
    struct witness *witness = ((struct rig *)context)->test;

    for (unsigned i = 0; i < RIG_BLOCKS; i++) {
        const struct rig_block *block = &witness->rig->blocks[i];

        if (block->memory && (uint8_t *)address >= block->memory &&
            (uint8_t *)address < block->memory + block->page_count * PAGE_BYTES) {
            rig_unmap_bus(context, address, bytes);
            return;
        }
    }
    assert_true(*(UINT64 *)((char *)address + PAGE_BYTES) >= ~rig_segment_window(RIG_SEGMENTS));
    witness->mapped--;
    free(address);
}

static void init_in(struct witness *witness, enum vidmm_fence_memory memory)
{
    struct rig_config config = rig_model(2);
    struct rig *rig;

    config.keeps_tables_in_system = true;
    rig = rig_new(&config);
    rig->manager.native_fences = IN_A_BLOCK;
    rig->ops.create_native_fence = create_fence;
    rig->ops.destroy_native_fence = destroy_fence;
    rig->ops.update_monitored_values = update_values;
    rig->ops.reset_from_timeout = rig->ops.restart_from_timeout = reset;
    rig->watch = take_notice;
    rig->manager.native_fence_memory = memory;
    if (memory) {
        rig->ops.get_standard_allocation_driver_data = say_storage;
        rig->ops.interface_version = newest;
        rig->manager.platform.map_bus = map_whole_pages;
        rig->manager.platform.unmap_bus = unmap_whole_pages;
    }
    *witness = (struct witness){.rig = rig};
    for (unsigned i = 0; i < 2; i++) {
        witness->storage[i].SupportedWriteSegmentSet = 1;
        witness->storage[i].PreferredSegment.SegmentId0 = 1;
    }
    rig->test = witness;
    assert_int_equal(rig_start(rig), STATUS_SUCCESS);
    rig->vidmm->caps.has_native_fences = true; /* the rig's driver is older */
    assert_int_equal(rig_open(rig), STATUS_SUCCESS);
}

static void init(struct witness *witness)
{
    init_in(witness, VIDMM_FENCES_IN_SYSTEM);
}

static NTSTATUS try_fence(struct witness *witness, unsigned index)
{
    uint8_t private_data[VIDMM_NATIVE_FENCE_DATA_BYTES] = {0};
    NTSTATUS status = vidmm_native_fence_create(witness->rig->process, 100 + index, private_data,
                                                NULL, NULL, &witness->fences[index]);

    assert_int_equal(NT_SUCCESS(status), witness->fences[index] != NULL);
    return status;
}

static void create(struct witness *witness, unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count; i++) {
        assert_int_equal(try_fence(witness, i), STATUS_SUCCESS);
        rig_drain(witness->rig);
    }
}

static void destroy(struct witness *witness, unsigned index)
{
    assert_int_equal(vidmm_native_fence_destroy(witness->fences[index]), STATUS_SUCCESS);
    witness->fences[index] = NULL;
}

static void fini(struct witness *witness)
{
    for (unsigned i = 0; i < FENCES; i++) {
        if (witness->fences[i])
            destroy(witness, i);
    }
    assert_int_equal(witness->created, witness->destroyed);
    rig_free(witness->rig);
}

/* Blocks that the rig has given out for fences alone are two pages each. */
static uint64_t fence_blocks(const struct witness *witness)
{
    return list_count(&witness->rig->vidmm->native_fences.blocks);
}

static void signal(struct witness *witness, unsigned index, uint64_t value)
{
    *(UINT64 *)witness->infos[index].CurrentValueKernelCpuVa = value;
}

/* ---- Storage --------------------------------------------------------------------------------- */

static void a_fence_for_which_there_is_no_memory_leaves_nothing(void **state)
{
    for (unsigned is_pages = 0; is_pages < 2; is_pages++) {
        uint64_t n = 1;
        bool has_failed = true;

        for (; has_failed; n++) {
            struct witness witness;
            NTSTATUS status;

            init(&witness);
            if (is_pages)
                witness.rig->fail_pages_at = n;
            else
                failing_services_fail_at(&witness.rig->memory, n);
            status = try_fence(&witness, 0);
            has_failed = is_pages ? !witness.rig->fail_pages_at : witness.rig->memory.has_failed;
            assert_int_equal(status, has_failed ? STATUS_NO_MEMORY : STATUS_SUCCESS);
            assert_int_equal(fence_blocks(&witness), !has_failed);
            witness.rig->fail_pages_at = 0;
            failing_services_fail_at(&witness.rig->memory, 0);
            rig_drain(witness.rig);
            assert_int_equal(witness.notices, !has_failed);
            if (has_failed)
                create(&witness, 0, 1);
            assert_int_equal(vidmm_native_fence_value(witness.fences[0]), 100);
            fini(&witness);
        }
        assert_int_equal(n - 2, is_pages ? 2 : 6); /* calls that can fail */
    }
}

static void a_fence_that_the_driver_refuses_leaves_nothing(void **state)
{
    struct witness witness;

    init(&witness);
    witness.rig->fails_at_create = STATUS_INVALID_PARAMETER;
    assert_int_equal(try_fence(&witness, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(fence_blocks(&witness), 0);
    witness.rig->vidmm->caps.has_native_fences = false;
    assert_int_equal(try_fence(&witness, 0), STATUS_NOT_SUPPORTED);
    assert_int_equal(vidmm_native_fences_pack(witness.rig->vidmm, NULL, NULL),
                     STATUS_NOT_SUPPORTED);
    fini(&witness);
}

/* The room to tell of all grows before there are more fences than it holds. */
static void after_a_reset_the_driver_is_told_of_every_fence_at_once(void **state)
{
    struct witness witness;

    init(&witness);
    create(&witness, 0, FENCES - 1);
    failing_services_fail_at(&witness.rig->memory, 1);
    assert_int_equal(try_fence(&witness, FENCES - 1), STATUS_NO_MEMORY);
    assert_int_equal(witness.created, FENCES - 1);
    create(&witness, FENCES - 1, 1);
    assert_int_equal(witness.notices, FENCES);
    assert_int_equal(fence_blocks(&witness), BLOCKS_FULL);
    for (unsigned i = 0; i < FENCES; i++)
        memset(&witness.infos[i], 0, sizeof witness.infos[i]);
    vidmm_reset(witness.rig->vidmm);
    assert_int_equal(vidmm_native_fence_wait(witness.fences[0], 1, NULL, NULL), STATUS_DEVICE_BUSY);
    assert_int_equal(vidmm_native_fence_destroy(witness.fences[0]), STATUS_DEVICE_BUSY);
    assert_int_equal(vidmm_native_fence_cancel_waits(witness.fences[0]), STATUS_DEVICE_BUSY);
    rig_drain(witness.rig);
    assert_int_equal(witness.notices, FENCES + 1);
    assert_int_equal(witness.last_notice, FENCES);
    for (unsigned i = 0; i < FENCES; i++) {
        assert_int_equal(witness.told[i], 2);
        assert_int_equal(*(UINT64 *)witness.infos[i].CurrentValueKernelCpuVa, 100 + i);
        assert_int_equal(*(UINT64 *)witness.infos[i].MonitoredValueKernelCpuVa, UINT64_MAX);
    }
    vidmm_device_clear_error(witness.rig->device);
    fini(&witness);
}

/* ---- Packing --------------------------------------------------------------------------------- */

/* Of five blocks two hold what is left, with the values that it had. */
static void packed_fences_take_as_few_blocks_as_they_can(void **state)
{
    static const unsigned left[] = {1, 5, 6, 9, 16};
    struct rig_done done = {0};
    struct witness witness;
    uint64_t *old;
    unsigned at = 0;

    init(&witness);
    assert_int_equal(vidmm_native_fences_pack(witness.rig->vidmm, rig_done, &done), STATUS_SUCCESS);
    create(&witness, 0, FENCES);
    for (unsigned i = 0; i < FENCES; i++) {
        if (at < ARRAY_COUNT(left) && left[at] == i)
            at++;
        else
            destroy(&witness, i);
    }
    assert_int_equal(fence_blocks(&witness), 4); /* the fourth one went with its last fence */
    old = witness.infos[1].CurrentValueKernelCpuVa;
    witness.notices = 0;
    assert_int_equal(vidmm_native_fences_pack(witness.rig->vidmm, rig_done, &done), STATUS_PENDING);
    assert_int_equal(vidmm_native_fence_destroy(witness.fences[1]), STATUS_DEVICE_BUSY);
    rig_drain(witness.rig);
    assert_int_equal(done.calls, 1);
    assert_int_equal(witness.notices, 1);
    assert_int_equal(witness.last_notice, 2); /* those of the last two blocks */
    assert_int_equal(fence_blocks(&witness), 2);
    assert_ptr_equal(witness.infos[1].CurrentValueKernelCpuVa, old);
    for (at = 0; at < ARRAY_COUNT(left); at++) {
        const UINT64 *value = witness.infos[left[at]].CurrentValueKernelCpuVa;

        assert_int_equal(vidmm_native_fence_value(witness.fences[left[at]]), 100 + left[at]);
        assert_int_equal(*value, 100 + left[at]);
    }
    assert_int_equal(vidmm_native_fences_pack(witness.rig->vidmm, rig_done, &done), STATUS_SUCCESS);
    assert_int_equal(done.calls, 1);
    fini(&witness);
}

/* ---- Waiting --------------------------------------------------------------------------------- */

/* The driver monitors one less than the least value that somebody waits for. */
static void the_least_awaited_value_is_the_monitored_one(void **state)
{
    struct rig_done done[3] = {{0}};
    struct witness witness;
    struct vidmm_native_fence *fence;

    init(&witness);
    create(&witness, 0, 1);
    fence = witness.fences[0];
    assert_int_equal(vidmm_native_fence_wait(fence, 100, rig_done, &done[0]), STATUS_SUCCESS);
    assert_int_equal(witness.updates, 0);
    assert_int_equal(vidmm_native_fence_wait(fence, 110, rig_done, &done[0]), STATUS_PENDING);
    assert_int_equal(witness.monitored[0], 109);
    assert_int_equal(vidmm_native_fence_wait(fence, 120, rig_done, &done[1]), STATUS_PENDING);
    assert_int_equal(witness.updates, 1);
    assert_int_equal(vidmm_native_fence_wait(fence, 101, rig_done, &done[2]), STATUS_PENDING);
    assert_int_equal(witness.monitored[0], 100);
    signal(&witness, 0, 110);
    vidmm_notify_dpc(witness.rig->vidmm);
    assert_true(done[0].calls == 1 && done[1].calls == 0 && done[2].calls == 1);
    assert_int_equal(done[0].status, STATUS_SUCCESS);
    assert_int_equal(witness.monitored[0], 119);
    assert_int_equal(vidmm_native_fence_cancel_waits(fence), STATUS_SUCCESS);
    assert_true(done[1].calls == 1 && done[1].status == STATUS_CANCELLED);
    assert_int_equal(witness.monitored[0], UINT64_MAX);
    assert_int_equal(vidmm_native_fence_wait(fence, 111, rig_done, &done[2]), STATUS_PENDING);
    destroy(&witness, 0);
    assert_true(done[2].calls == 2 && done[2].status == STATUS_CANCELLED);
    fini(&witness);
}

/* What the notes have said of fences, as "v100 w110 e0 ": values, waits and how they ended. */
static char told[256];

static void keep_told(struct rig *rig, const struct vidmm_note *note)
{
    size_t length = strlen(told);

    if (note->kind == VIDMM_NOTE_FENCE_VALUE && note->fence.fence)
        snprintf(told + length, sizeof told - length, "v%llu ",
                 (unsigned long long)note->fence.value);
    else if (note->kind == VIDMM_NOTE_FENCE_WAITS)
        snprintf(told + length, sizeof told - length, "w%llu ",
                 (unsigned long long)note->fence_wait.value);
    else if (note->kind == VIDMM_NOTE_FENCE_WAIT_ENDS)
        snprintf(told + length, sizeof told - length, "%llu:%x ",
                 (unsigned long long)note->fence_wait.number, (unsigned)note->fence_wait.status);
}

static void notes_say_who_waits_and_which_value_ends_it(void **state)
{
    struct rig_done done[3] = {{0}};
    struct witness witness;
    struct vidmm_native_fence *fence;

    told[0] = '\0';
    init(&witness);
    witness.rig->note_hook = keep_told;
    create(&witness, 0, 1);
    fence = witness.fences[0];
    assert_int_equal(vidmm_native_fence_wait(fence, 110, rig_done, &done[0]), STATUS_PENDING);
    assert_int_equal(vidmm_native_fence_wait(fence, 105, rig_done, &done[1]), STATUS_PENDING);
    assert_int_equal(vidmm_native_fence_wait(fence, 120, rig_done, &done[2]), STATUS_PENDING);
    signal(&witness, 0, 112);
    vidmm_notify_dpc(witness.rig->vidmm);
    vidmm_notify_dpc(witness.rig->vidmm); /* no news */
    assert_int_equal(vidmm_native_fence_wait(fence, 112, rig_done, &done[0]), STATUS_SUCCESS);
    assert_int_equal(vidmm_native_fence_cancel_waits(fence), STATUS_SUCCESS);
    assert_string_equal(told, "v100 w110 w105 w120 v112 2:0 1:0 3:c0000120 ");
    destroy(&witness, 0);
    fini(&witness);
}

/* Nobody signals them any more, and nothing of them goes to the driver. */
static void who_waits_when_the_adapter_is_removed_hears_of_it(void **state)
{
    struct rig_done done[3] = {{0}};
    struct witness witness;

    init(&witness);
    create(&witness, 0, 2);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(
            vidmm_native_fence_wait(witness.fences[i % 2], 200 + i, rig_done, &done[i]),
            STATUS_PENDING);
    vidmm_remove(witness.rig->vidmm);
    for (unsigned i = 0; i < 3; i++)
        assert_true(done[i].calls == 1 && done[i].status == STATUS_DEVICE_REMOVED);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(vidmm_native_fence_destroy(witness.fences[i]), STATUS_SUCCESS);
    rig_forget_packets(witness.rig);
    rig_free(witness.rig);
}

static void many_fences_are_monitored_anew_in_calls_of_a_limited_size(void **state)
{
    struct rig_done done = {0};
    struct witness witness;

    init(&witness);
    create(&witness, 0, FENCES);
    for (unsigned i = 0; i < FENCES; i++) {
        assert_int_equal(vidmm_native_fence_wait(witness.fences[i], 200, rig_done, &done),
                         STATUS_PENDING);
        assert_int_equal(witness.monitored[i], 199);
    }
    for (unsigned i = 0; i < FENCES; i++)
        signal(&witness, i, 200);
    witness.updates = 0;
    vidmm_notify_dpc(witness.rig->vidmm);
    assert_int_equal(done.calls, FENCES);
    assert_int_equal(witness.updates, 2);
    assert_int_equal(witness.largest_update, FENCES - 1);
    for (unsigned i = 0; i < FENCES; i++)
        assert_int_equal(witness.monitored[i], UINT64_MAX);
    fini(&witness);
}

/* ---- Segments -------------------------------------------------------------------------------- */

static void expect_segments(const struct witness *witness, unsigned index, unsigned current,
                            unsigned monitored)
{
    const DXGK_FENCE_RESIDENCY_INFO *info = &witness->infos[index];

    assert_int_equal(info->CurrentValuePhysicalAddress.SegmentId, current);
    assert_int_equal(info->MonitoredValuePhysicalAddress.SegmentId, monitored);
    assert_int_equal(*(UINT64 *)info->CurrentValueKernelCpuVa,
                     vidmm_native_fence_value(witness->fences[index]));
    assert_int_equal(*(UINT64 *)info->MonitoredValueKernelCpuVa, UINT64_MAX);
}

static void values_are_where_the_driver_wants_them(void **state)
{
    for (unsigned memory = VIDMM_FENCES_IN_SYSTEM; memory <= VIDMM_FENCES_IN_SEGMENTS; memory++) {
        struct witness witness;

        init_in(&witness, (enum vidmm_fence_memory)memory);
        create(&witness, 0, IN_A_BLOCK + 1);
        assert_int_equal(witness.asked, 2 * memory); /* for each of two pages */
        assert_int_equal(witness.mapped, 2 * memory);
        for (unsigned i = 0; i <= IN_A_BLOCK; i++) {
            assert_int_equal(witness.told[i], 1);
            expect_segments(&witness, i, memory == VIDMM_FENCES_IN_SEGMENTS,
                            memory != VIDMM_FENCES_IN_SYSTEM);
            assert_int_equal(vidmm_native_fence_value(witness.fences[i]), 100 + i);
        }
        fini(&witness);
        assert_int_equal(witness.mapped, 0);
    }
}

/* They are told of before their former places are given other values, and come back. */
static void values_leave_the_segment_and_come_back(void **state)
{
    struct rig_done done = {0};
    struct witness witness;

    init_in(&witness, VIDMM_FENCES_IN_SEGMENTS);
    assert_int_equal(vidmm_native_fences_evict(witness.rig->vidmm, rig_done, &done),
                     STATUS_SUCCESS);
    create(&witness, 0, IN_A_BLOCK + 1);
    signal(&witness, 1, 500);
    witness.notices = 0;
    assert_int_equal(vidmm_native_fences_evict(witness.rig->vidmm, rig_done, &done),
                     STATUS_PENDING);
    assert_int_equal(witness.notices, 1);
    assert_int_equal(witness.last_notice, IN_A_BLOCK + 1);
    assert_int_equal(vidmm_native_fence_destroy(witness.fences[0]), STATUS_DEVICE_BUSY);
    assert_int_equal(vidmm_native_fences_evict(witness.rig->vidmm, rig_done, &done),
                     STATUS_DEVICE_BUSY);
    for (unsigned i = 0; i <= IN_A_BLOCK; i++)
        expect_segments(&witness, i, 0, 0);
    assert_int_equal(vidmm_native_fence_value(witness.fences[1]), 500);
    rig_drain(witness.rig);
    assert_int_equal(done.calls, 1);
    assert_int_equal(witness.notices, 2);
    for (unsigned i = 0; i <= IN_A_BLOCK; i++)
        expect_segments(&witness, i, 1, 1);
    assert_int_equal(vidmm_native_fence_value(witness.fences[1]), 500);
    fini(&witness);
    assert_int_equal(witness.mapped, 0);
}

static void a_reset_takes_no_value(void **state)
{
    struct witness witness;

    init_in(&witness, VIDMM_FENCES_IN_SEGMENTS);
    create(&witness, 0, 2);
    signal(&witness, 1, 700);
    vidmm_reset(witness.rig->vidmm);
    assert_int_equal(witness.mapped, 0);
    expect_segments(&witness, 1, 0, 0);
    assert_int_equal(vidmm_native_fence_value(witness.fences[1]), 700);
    rig_drain(witness.rig);
    expect_segments(&witness, 1, 1, 1);
    assert_int_equal(vidmm_native_fence_value(witness.fences[1]), 700);
    vidmm_device_clear_error(witness.rig->device);
    fini(&witness);
}

/* The reset comes while the driver is being told that they leave, or that they come. */
static void a_reset_in_the_middle_of_a_move_takes_no_value(void **state)
{
    for (unsigned is_coming = 0; is_coming < 2; is_coming++) {
        struct rig_done done = {0};
        struct witness witness;

        init_in(&witness, VIDMM_FENCES_IN_SEGMENTS);
        create(&witness, 0, 2);
        assert_int_equal(vidmm_native_fences_evict(witness.rig->vidmm, rig_done, &done),
                         STATUS_PENDING);
        while (is_coming && !done.calls)
            assert_true(rig_step_machine(witness.rig));
        expect_segments(&witness, 0, is_coming, is_coming);
        vidmm_reset(witness.rig->vidmm);
        assert_int_equal(witness.mapped, 0);
        rig_drain(witness.rig);
        assert_int_equal(done.calls, 1);
        expect_segments(&witness, 0, 1, 1);
        assert_int_equal(vidmm_native_fence_value(witness.fences[1]), 101);
        vidmm_device_clear_error(witness.rig->device);
        fini(&witness);
    }
}

/* Answers that break FENCE-018 and FENCE-019 are told; the values stay in system memory. */
static void wishes_that_cannot_be_met_are_passed_over(void **state)
{
    static const struct {
        UINT set, preferred;
        NTSTATUS status;
        unsigned segment;
        const char *rules;
    } cases[] = {{1, 1, STATUS_SUCCESS, 1, NULL},
                 {1, 0, STATUS_SUCCESS, 1, NULL},
                 {0, 0, STATUS_SUCCESS, 0, "FENCE-018"},
                 {1u << 20, 1, STATUS_SUCCESS, 0, "FENCE-018"},
                 {1, 1, STATUS_NOT_SUPPORTED, 0, NULL},
                 {2, 2, STATUS_SUCCESS, 0, NULL}, /* the aperture */
                 {1, 1, STATUS_INVALID_PARAMETER, 0, NULL}};

    for (unsigned i = 0; i < ARRAY_COUNT(cases); i++) {
        struct witness witness;

        init_in(&witness, VIDMM_FENCES_IN_SEGMENTS);
        for (unsigned value = 0; value < 2; value++) {
            witness.storage[value].SupportedWriteSegmentSet = cases[i].set;
            witness.storage[value].PreferredSegment.SegmentId0 = cases[i].preferred;
        }
        witness.storage_status = cases[i].status;
        witness.rig->expected_rules = cases[i].rules;
        create(&witness, 0, 1);
        expect_segments(&witness, 0, cases[i].segment, cases[i].segment);
        fini(&witness);
    }
}

static void a_driver_without_memory_for_its_answer_fails_the_fence(void **state)
{
    struct witness witness;

    init_in(&witness, VIDMM_FENCES_IN_SEGMENTS);
    witness.storage_status = STATUS_NO_MEMORY;
    assert_int_equal(try_fence(&witness, 0), STATUS_NO_MEMORY);
    assert_int_equal(fence_blocks(&witness), 0);
    witness.storage_status = STATUS_SUCCESS;
    create(&witness, 0, 1);
    fini(&witness);
}

/* What one life of the manager had told the driver of is no list of the next one's. */
static void fences_of_a_manager_that_starts_again_are_new_ones(void **state)
{
    struct witness witness;
    struct rig *rig;

    init(&witness);
    rig = witness.rig;
    for (unsigned life = 0; life < 3; life++) {
        struct vidmm_failure failure;

        create(&witness, 0, 5);
        for (unsigned i = 0; i < 5; i++) {
            assert_int_equal(vidmm_native_fence_value(witness.fences[i]), 100 + i);
            destroy(&witness, i);
        }
        witness.created = witness.destroyed = 0; /* the driver gives out its numbers again */
        vidmm_context_destroy(rig->context);
        rig_drain(rig);
        vidmm_device_destroy(rig->device);
        vidmm_process_destroy(rig->process);
        vidmm_stop(rig->vidmm);
        assert_int_equal(rig->taken_pages + rig->taken_blocks, 0);
        rig_notes_stopped(rig);
        assert_int_equal(vidmm_start(rig->vidmm, &failure), STATUS_SUCCESS);
        rig->vidmm->caps.has_native_fences = true;
        assert_int_equal(rig_open(rig), STATUS_SUCCESS);
    }
    fini(&witness);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fences_of_a_manager_that_starts_again_are_new_ones),
        cmocka_unit_test(a_fence_for_which_there_is_no_memory_leaves_nothing),
        cmocka_unit_test(a_fence_that_the_driver_refuses_leaves_nothing),
        cmocka_unit_test(after_a_reset_the_driver_is_told_of_every_fence_at_once),
        cmocka_unit_test(packed_fences_take_as_few_blocks_as_they_can),
        cmocka_unit_test(the_least_awaited_value_is_the_monitored_one),
        cmocka_unit_test(notes_say_who_waits_and_which_value_ends_it),
        cmocka_unit_test(who_waits_when_the_adapter_is_removed_hears_of_it),
        cmocka_unit_test(many_fences_are_monitored_anew_in_calls_of_a_limited_size),
        cmocka_unit_test(values_are_where_the_driver_wants_them),
        cmocka_unit_test(values_leave_the_segment_and_come_back),
        cmocka_unit_test(a_reset_takes_no_value),
        cmocka_unit_test(a_reset_in_the_middle_of_a_move_takes_no_value),
        cmocka_unit_test(wishes_that_cannot_be_met_are_passed_over),
        cmocka_unit_test(a_driver_without_memory_for_its_answer_fails_the_fence),
    };

    return cmocka_run_group_tests_name("vidmm/native_fence", tests, NULL, NULL);
}
