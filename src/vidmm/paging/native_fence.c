/*
 * Native fences: 64-bit values that the GPU keeps by itself, and the driver is told where.
 *
 * Storage    Blocks of two pages (fence_storage.h), one of current values, one of monitored values,
 *            64 bytes a fence, so that no two fences share a line of anybody's cache. Both pages
 *            are mapped for the CPU as long as the block is there. A fence lives in the first slot
 *            that is free, and a block goes with its last fence.
 * Segments   A page is in system memory, or in a segment where the driver wants it. It leaves the
 *            segment when a request would fail otherwise, before a sleep, and when the embedder
 *            says so; it comes back when the GPU has nothing to do and an eighth of the segment is
 *            free. The CPU copies its values, as nothing is with the GPU that could signal a fence.
 *            Before a reset of the adapter the CPU reads what is in segments, because the memory
 *            may be lost.
 * Telling    NOTIFY_FENCE_RESIDENCY, in the order of the paging queue, of every fence whose storage
 *            has come or is another one: when it is created, when it is moved by packing, when its
 *            page comes to a segment or leaves it, and of all fences when the driver has lost its
 *            knowledge (a reset, a sleep). A fence may be used when its first notice has retired.
 *
 * Packing    Fences move to free slots of earlier blocks. None of the work that could signal them
 *            is with the GPU: it has retired, and new work is held until the driver knows. The old
 *            slots are given another value before they are free, so that a late write or read
 *            shows.
 *
 * Waiting    The monitored value of a fence is one less than the least value that somebody waits
 *            for on the CPU, and the largest there is when nobody does. The driver writes it
 *            (DxgkDdiUpdateMonitoredValues) whenever that changes, and the current value is looked
 *            at afterwards: what has been signalled before the GPU could see the new one is there
 *            then (FENCE-014), for the rest there is an interrupt, and the look is in the driver's
 *            next DPC. While fences are told of anew, an engine is reset, or the adapter is not on,
 *            nobody looks: it is made up for at the end of that.
 *
 * Fences have one process: DxgkDdiOpenNativeFence is never called.
 *
 * Source     contract.md NTF-010, NTF-011, FENCE-011, FENCE-013..015; docs/contract-choices.md, C8.
 */
#include "vidmm/paging/native_fence.h"

#include "vidmm/adapter/driver_error.h"
#include "vidmm/adapter/power.h"
#include "vidmm/adapter/pump.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/paging/fence_storage.h"
#include "vidmm/paging/job.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"
#include "vidmm/work/space_contexts.h"

#include "base/assert.h"
#include "base/bits.h"
#include "base/list.h"
#include "base/services.h"
#include "vidsch/vidsch.h"

#include <string.h>

#define NOBODY_WAITS     UINT64_MAX
#define MAX_FENCES       4096u
#define FIRST_INFO_COUNT 16u
#define UPDATE_BATCH     16u /* fences in one call */

struct fence_place {
    struct fence_block *block;
    unsigned slot;
};

struct vidmm_native_fence {
    struct vidmm *vidmm;
    struct vidmm_process *process;
    struct list link; /* in vidmm->native_fences.fences */
    HANDLE driver_handle;
    struct fence_place place;
    struct fence_place former; /* while it moves; block NULL otherwise */
    bool is_held;              /* its process is, while the driver is told of its block's move */
    unsigned notice_count;     /* that have not retired */
    struct list waits;         /* least value first */
    uint64_t monitored;        /* as the driver was told last */
};

/* Somebody who waits on the CPU. */
struct fence_wait {
    struct list link; /* in the fence's waits */
    uint64_t value;
    vidmm_done done;
    void *context;
    uint64_t number; /* of its notes */
};

/* One operation, about some fences. */
struct fence_notice {
    struct job job;
    struct vidmm *vidmm;
    bool is_move;
    vidmm_done done;
    void *context;
    unsigned count;
    struct vidmm_native_fence **fences;
    DXGK_FENCE_RESIDENCY_INFO *infos;
};

/* ---- Storage --------------------------------------------------------------------------------- */

static volatile uint64_t *word_of(const struct fence_place *place, enum fence_value value)
{
    return fence_block_word(place->block, value, place->slot);
}

/* The first free slot of a block before the one given, or of any with NULL. */
static bool find_place(const struct vidmm *vidmm, const struct fence_block *before,
                       struct fence_place *out_place)
{
    struct fence_block *block;

    list_for_each (block, &vidmm->native_fences.blocks, struct fence_block, link) {
        if (block == before)
            break;
        for (unsigned slot = 0; slot < vidmm->config.native_fences; slot++) {
            if (block->taken >> slot & 1)
                continue;
            *out_place = (struct fence_place){block, slot};
            return true;
        }
    }
    return false;
}

static void take_place(const struct fence_place *place, uint64_t value, uint64_t monitored)
{
    place->block->taken |= UINT64_C(1) << place->slot;
    *word_of(place, FENCE_CURRENT) = value;
    *word_of(place, FENCE_MONITORED) = monitored;
}

static void release_place(struct vidmm *vidmm, struct fence_place *place)
{
    if (!vidmm->is_removed) {
        *word_of(place, FENCE_CURRENT) = FENCE_POISON;
        *word_of(place, FENCE_MONITORED) = FENCE_POISON;
    }
    place->block->taken &= ~(UINT64_C(1) << place->slot);
    if (!place->block->taken) {
        list_remove(&place->block->link);
        fence_block_destroy(vidmm, place->block);
    }
    place->block = NULL;
}

/* ---- Notices --------------------------------------------------------------------------------- */

static void describe(const struct vidmm_native_fence *fence, DXGK_FENCE_RESIDENCY_INFO *out_info)
{
    const struct fence_place *place = &fence->place;

    *out_info = (DXGK_FENCE_RESIDENCY_INFO){
        .hGlobalNativeFence = fence->driver_handle,
        .CurrentValuePhysicalAddress =
            fence_block_address(fence->vidmm, place->block, FENCE_CURRENT, place->slot),
        .MonitoredValuePhysicalAddress =
            fence_block_address(fence->vidmm, place->block, FENCE_MONITORED, place->slot),
        .CurrentValueKernelCpuVa = (void *)word_of(place, FENCE_CURRENT),
        .MonitoredValueKernelCpuVa = (void *)word_of(place, FENCE_MONITORED),
    };
}

static void fill_operation(DXGKARG_BUILDPAGINGBUFFER *args, unsigned count,
                           DXGK_FENCE_RESIDENCY_INFO *infos)
{
    args->Operation = DXGK_OPERATION_NOTIFY_FENCE_RESIDENCY;
    args->NotifyFenceResidency.NumFences = count;
    args->NotifyFenceResidency.FenceResidencyInfo = infos;
}

static void notice_free(struct fence_notice *notice)
{
    const struct base_services *services = notice->vidmm->services;

    base_free_array(services, notice->fences, notice->count, sizeof *notice->fences);
    base_free_array(services, notice->infos, notice->count, sizeof *notice->infos);
    base_free(services, notice, sizeof *notice);
}

static enum job_step notice_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct fence_notice *notice = container_of(job, struct fence_notice, job);

    if (job->phase++)
        return JOB_DONE;
    for (unsigned i = 0; i < notice->count; i++)
        describe(notice->fences[i], &notice->infos[i]);
    fill_operation(args, notice->count, notice->infos);
    return JOB_OPERATION;
}

static void notice_finished(struct job *job)
{
    struct fence_notice *notice = container_of(job, struct fence_notice, job);
    struct vidmm *vidmm = notice->vidmm;
    vidmm_done done = notice->done;
    void *context = notice->context;

    for (unsigned i = 0; i < notice->count; i++) {
        struct vidmm_native_fence *fence = notice->fences[i];

        fence->notice_count--;
        if (!notice->is_move)
            continue;
        release_place(vidmm, &fence->former);
        space_release(&fence->process->space);
    }
    if (notice->is_move)
        vidmm->native_fences.is_moving = false;
    notice_free(notice);
    if (done)
        done(context, STATUS_SUCCESS, 0, 0);
    native_fences_rescan(vidmm);
}

static const struct job_ops notice_ops = {
    .name = "native fence", .next = notice_next, .finished = notice_finished};

/* Gives a notice about so many fences, which are the caller's to fill in. */
static NTSTATUS notice_create(struct vidmm *vidmm, unsigned count, vidmm_done done, void *context,
                              struct fence_notice **out_notice)
{
    struct fence_notice *notice = base_alloc(vidmm->services, sizeof *notice);

    *out_notice = NULL;
    if (!notice)
        return STATUS_NO_MEMORY;
    notice->vidmm = vidmm;
    notice->count = count;
    notice->done = done;
    notice->context = context;
    notice->job.ops = &notice_ops;
    notice->fences = base_alloc_array(vidmm->services, count, sizeof *notice->fences);
    notice->infos = base_alloc_array(vidmm->services, count, sizeof *notice->infos);
    if (!notice->fences || !notice->infos) {
        notice_free(notice);
        return STATUS_NO_MEMORY;
    }
    *out_notice = notice;
    return STATUS_SUCCESS;
}

static void notice_queue(struct fence_notice *notice)
{
    for (unsigned i = 0; i < notice->count; i++)
        notice->fences[i]->notice_count++;
    paging_queue_add(notice->vidmm, &notice->job);
}

/* ---- Telling of all of them again ------------------------------------------------------------ */

static enum job_step restore_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct vidmm *vidmm = container_of(job, struct vidmm, native_fences.restore_job);
    struct native_fences *fences = &vidmm->native_fences;
    struct vidmm_native_fence *fence;
    unsigned count = 0;

    if (job->phase++)
        return JOB_DONE;
    list_for_each (fence, &fences->fences, struct vidmm_native_fence, link)
        describe(fence, &fences->infos[count++]);
    fill_operation(args, count, fences->infos);
    return JOB_OPERATION;
}

static void restore_finished(struct job *job)
{
    struct vidmm *vidmm = container_of(job, struct vidmm, native_fences.restore_job);

    vidmm->native_fences.is_restoring = false;
    native_fences_rescan(vidmm); /* what an interrupt was lost of */
}

static const struct job_ops restore_ops = {.kind = JOB_OF_RECOVERY,
                                           .name = "fences again",
                                           .next = restore_next,
                                           .finished = restore_finished};

void native_fences_restore(struct vidmm *vidmm)
{
    struct native_fences *fences = &vidmm->native_fences;

    if (list_is_empty(&fences->fences))
        return;
    fences->is_restoring = true;
    fences->restore_job.ops = &restore_ops;
    paging_queue_add(vidmm, &fences->restore_job);
}

/* Room to tell of one more. */
static NTSTATUS reserve_info(struct vidmm *vidmm)
{
    struct native_fences *fences = &vidmm->native_fences;
    unsigned capacity = fences->capacity ? 2 * fences->capacity : FIRST_INFO_COUNT;
    DXGK_FENCE_RESIDENCY_INFO *infos;

    if (fences->count < fences->capacity)
        return STATUS_SUCCESS;
    infos = base_alloc_array(vidmm->services, capacity, sizeof *infos);
    if (!infos)
        return STATUS_NO_MEMORY;
    base_free_array(vidmm->services, fences->infos, fences->capacity, sizeof *fences->infos);
    fences->infos = infos;
    fences->capacity = capacity;
    return STATUS_SUCCESS;
}

/* ---- Life ------------------------------------------------------------------------------------ */

void native_fences_init(struct vidmm *vidmm)
{
    list_init(&vidmm->native_fences.blocks);
    list_init(&vidmm->native_fences.fences);
}

void native_fences_fini(struct vidmm *vidmm)
{
    struct native_fences *fences = &vidmm->native_fences;

    ASSERT(list_is_empty(&fences->fences) && list_is_empty(&fences->blocks));
    base_free_array(vidmm->services, fences->infos, fences->capacity, sizeof *fences->infos);
    fences->infos = NULL;
    fences->capacity = 0;
}

static bool is_busy(const struct vidmm *vidmm)
{
    return vidmm->native_fences.is_moving || vidmm->native_fences.is_restoring ||
           vidmm->power.state != POWER_ON;
}

/* ---- Waiting --------------------------------------------------------------------------------- */

/* The value beyond which there is an interrupt. */
static uint64_t wanted_monitored(const struct vidmm_native_fence *fence)
{
    return list_is_empty(&fence->waits)
               ? NOBODY_WAITS
               : container_of(fence->waits.next, struct fence_wait, link)->value - 1;
}

static void update_driver(struct vidmm *vidmm, unsigned count, struct vidmm_native_fence **changed)
{
    HANDLE handles[UPDATE_BATCH];
    UINT64 values[UPDATE_BATCH];
    void *addresses[UPDATE_BATCH];
    const DXGKARG_UPDATEMONITOREDVALUES args = {
        .NativeFenceArray = handles,
        .UpdatedValueArray = values,
        .MonitoredValueKernelCpuVa = addresses,
        .NumFences = count,
    };
    NTSTATUS status;

    for (unsigned i = 0; i < count; i++) {
        handles[i] = changed[i]->driver_handle;
        values[i] = changed[i]->monitored = wanted_monitored(changed[i]);
        addresses[i] = (void *)word_of(&changed[i]->place, FENCE_MONITORED);
    }
    status = miniport_update_monitored_values(vidmm->miniport, NULL, &args);
    if (status != STATUS_SUCCESS)
        vidmm_driver_error(vidmm, "FENCE-014", "DxgkDdiUpdateMonitoredValues returned 0x%08x",
                           (unsigned)status);
}

/* Tells the driver of the fences whose least awaited value is another one. */
static bool update_changed(struct vidmm *vidmm)
{
    struct vidmm_native_fence *changed[UPDATE_BATCH], *fence;
    unsigned count = 0;
    bool has_any = false;

    list_for_each (fence, &vidmm->native_fences.fences, struct vidmm_native_fence, link) {
        if (wanted_monitored(fence) == fence->monitored)
            continue;
        changed[count++] = fence;
        has_any = true;
        if (count == UPDATE_BATCH) {
            update_driver(vidmm, count, changed);
            count = 0;
        }
    }
    if (count)
        update_driver(vidmm, count, changed);
    return has_any;
}

/* Takes the waits that need not go on: those for at most a value. */
static void take_waits(struct vidmm_native_fence *fence, uint64_t value, struct list *ended)
{
    while (!list_is_empty(&fence->waits)) {
        struct fence_wait *wait = container_of(fence->waits.next, struct fence_wait, link);

        if (wait->value > value)
            break;
        list_remove(&wait->link);
        list_push_back(ended, &wait->link);
        fence->vidmm->native_fences.wait_count--;
    }
}

/* Takes the waits for what the fence has. */
static void take_reached(struct vidmm_native_fence *fence, struct list *ended)
{
    uint64_t value = vidmm_native_fence_value(fence);
    unsigned before = fence->vidmm->native_fences.wait_count;

    take_waits(fence, value, ended);
    if (fence->vidmm->native_fences.wait_count != before && notes_are_heard(fence->vidmm))
        note_native_fence_value(fence->vidmm, fence, value);
}

/* Tells whoever waited; none of them looks at a fence any more. */
static void end_waits(struct vidmm *vidmm, struct list *ended, NTSTATUS status)
{
    while (!list_is_empty(ended)) {
        struct fence_wait *wait = container_of(ended->next, struct fence_wait, link);
        vidmm_done done = wait->done;
        void *context = wait->context;

        list_remove(&wait->link);
        if (notes_are_heard(vidmm))
            note_fence_wait_ends(vidmm, wait->number, status);
        base_free(vidmm->services, wait, sizeof *wait);
        if (done)
            done(context, status, 0, 0);
    }
}

void native_fences_rescan(struct vidmm *vidmm)
{
    struct vidmm_native_fence *fence;
    struct list ended;

    if (!vidmm->native_fences.wait_count || is_busy(vidmm) || vidmm->recovery.is_under_way ||
        vidmm->is_removed)
        return;
    list_init(&ended);
    do {
        list_for_each (fence, &vidmm->native_fences.fences, struct vidmm_native_fence, link)
            take_reached(fence, &ended);
    } while (update_changed(vidmm));
    end_waits(vidmm, &ended, STATUS_SUCCESS);
}

void native_fences_end_waits(struct vidmm *vidmm, NTSTATUS status)
{
    struct vidmm_native_fence *fence;
    struct list ended;

    list_init(&ended);
    list_for_each (fence, &vidmm->native_fences.fences, struct vidmm_native_fence, link)
        take_waits(fence, UINT64_MAX, &ended);
    end_waits(vidmm, &ended, status);
}

/* Behind those that wait for as much or for less. */
static void insert_wait(struct vidmm_native_fence *fence, struct fence_wait *wait)
{
    struct list *before = &fence->waits;
    struct fence_wait *other;

    list_for_each (other, &fence->waits, struct fence_wait, link) {
        if (other->value > wait->value) {
            before = &other->link;
            break;
        }
    }
    list_push_back(before, &wait->link);
    fence->vidmm->native_fences.wait_count++;
}

NTSTATUS vidmm_native_fence_wait(struct vidmm_native_fence *fence, uint64_t value, vidmm_done done,
                                 void *context)
{
    struct vidmm *vidmm = fence->vidmm;
    struct fence_wait *wait;

    if (!NT_SUCCESS(vidmm->refusal))
        return vidmm->refusal;
    if (is_busy(vidmm) || fence->notice_count)
        return STATUS_DEVICE_BUSY;
    if (vidmm_native_fence_value(fence) >= value)
        return STATUS_SUCCESS;
    wait = base_alloc(vidmm->services, sizeof *wait);
    if (!wait)
        return STATUS_NO_MEMORY;
    *wait = (struct fence_wait){.value = value, .done = done, .context = context};
    insert_wait(fence, wait);
    if (notes_are_heard(vidmm))
        wait->number = note_fence_waits(vidmm, fence, value);
    update_changed(vidmm);
    if (vidmm_native_fence_value(fence) < value)
        return STATUS_PENDING;
    list_remove(&wait->link); /* signalled before the GPU could see that somebody waits */
    vidmm->native_fences.wait_count--;
    if (notes_are_heard(vidmm)) {
        note_native_fence_value(vidmm, fence, vidmm_native_fence_value(fence));
        note_fence_wait_ends(vidmm, wait->number, STATUS_SUCCESS);
    }
    base_free(vidmm->services, wait, sizeof *wait);
    update_changed(vidmm);
    return STATUS_SUCCESS;
}

NTSTATUS vidmm_native_fence_cancel_waits(struct vidmm_native_fence *fence)
{
    struct vidmm *vidmm = fence->vidmm;
    struct list ended;

    if (is_busy(vidmm))
        return STATUS_DEVICE_BUSY;
    list_init(&ended);
    take_waits(fence, UINT64_MAX, &ended);
    if (NT_SUCCESS(vidmm->refusal))
        update_changed(vidmm);
    end_waits(vidmm, &ended, STATUS_CANCELLED);
    return STATUS_SUCCESS;
}

/* ---- Coming and going ------------------------------------------------------------------------ */

static void driver_destroy(struct vidmm *vidmm, HANDLE handle)
{
    DXGKARG_DESTROYNATIVEFENCE args = {.hGlobalNativeFence = handle};
    NTSTATUS status = miniport_destroy_native_fence(vidmm->miniport, NULL, &args);

    if (status != STATUS_SUCCESS)
        vidmm_driver_error(vidmm, "FENCE-013", "DxgkDdiDestroyNativeFence returned 0x%08x",
                           (unsigned)status);
}

/* Makes the driver's object, and copies its message to the user-mode half. */
static NTSTATUS driver_create(struct vidmm_native_fence *fence,
                              uint8_t private_data[VIDMM_NATIVE_FENCE_DATA_BYTES])
{
    DXGKARG_CREATENATIVEFENCE args = {.hGlobalNativeFence = fence,
                                      .Type = D3DDDI_NATIVEFENCE_TYPE_DEFAULT};
    NTSTATUS status;

    memcpy(args.pPrivateDriverData, private_data, sizeof args.pPrivateDriverData);
    status = miniport_create_native_fence(fence->vidmm->miniport, NULL, &args);
    if (!NT_SUCCESS(status))
        return status;
    memcpy(private_data, args.pPrivateDriverData, sizeof args.pPrivateDriverData);
    fence->driver_handle = args.hGlobalNativeFence;
    return STATUS_SUCCESS;
}

static NTSTATUS take_first_place(struct vidmm *vidmm, uint64_t value, struct fence_place *out_place)
{
    struct fence_block *block;
    NTSTATUS status;

    if (!find_place(vidmm, NULL, out_place)) {
        status = fence_block_create(vidmm, &block);
        if (!NT_SUCCESS(status))
            return status;
        list_push_back(&vidmm->native_fences.blocks, &block->link);
        fence_block_enter(vidmm, block);
        fence_block_settle(vidmm, block); /* the driver knows of no former place */
        *out_place = (struct fence_place){block, 0};
    }
    take_place(out_place, value, NOBODY_WAITS);
    return STATUS_SUCCESS;
}

NTSTATUS vidmm_native_fence_create(struct vidmm_process *process, uint64_t value,
                                   uint8_t private_data[VIDMM_NATIVE_FENCE_DATA_BYTES],
                                   vidmm_done done, void *context,
                                   struct vidmm_native_fence **out_fence)
{
    struct vidmm *vidmm = process->vidmm;
    struct vidmm_native_fence *fence;
    struct fence_notice *notice;
    NTSTATUS status;

    *out_fence = NULL;
    if (!vidmm->caps.has_native_fences)
        return STATUS_NOT_SUPPORTED;
    if (is_busy(vidmm))
        return STATUS_DEVICE_BUSY;
    if (vidmm->native_fences.count == MAX_FENCES)
        return STATUS_INSUFFICIENT_RESOURCES;
    status = reserve_info(vidmm);
    if (!NT_SUCCESS(status))
        return status;
    fence = base_alloc(vidmm->services, sizeof *fence);
    if (!fence)
        return STATUS_NO_MEMORY;
    fence->vidmm = vidmm;
    fence->process = process;
    fence->monitored = NOBODY_WAITS;
    list_init(&fence->waits);
    status = notice_create(vidmm, 1, done, context, &notice);
    if (!NT_SUCCESS(status))
        goto free_fence;
    status = take_first_place(vidmm, value, &fence->place);
    if (!NT_SUCCESS(status))
        goto free_notice;
    status = driver_create(fence, private_data);
    if (!NT_SUCCESS(status))
        goto release_place;
    list_push_back(&vidmm->native_fences.fences, &fence->link);
    vidmm->native_fences.count++;
    if (notes_are_heard(vidmm)) {
        note_native_fence(process, fence, fence->driver_handle, true);
        note_native_fence_value(vidmm, fence, value);
    }
    notice->fences[0] = fence;
    *out_fence = fence;
    notice_queue(notice);
    vidmm_pump(vidmm);
    return STATUS_SUCCESS;

release_place:
    release_place(vidmm, &fence->place);
free_notice:
    notice_free(notice);
free_fence:
    base_free(vidmm->services, fence, sizeof *fence);
    return status;
}

NTSTATUS vidmm_native_fence_destroy(struct vidmm_native_fence *fence)
{
    struct vidmm *vidmm = fence->vidmm;
    struct list ended;

    if (is_busy(vidmm) || fence->notice_count)
        return STATUS_DEVICE_BUSY;
    list_init(&ended);
    take_waits(fence, UINT64_MAX, &ended);
    if (notes_are_heard(vidmm))
        note_native_fence(fence->process, fence, fence->driver_handle, false);
    driver_destroy(vidmm, fence->driver_handle);
    release_place(vidmm, &fence->place);
    list_remove(&fence->link);
    vidmm->native_fences.count--;
    base_free(vidmm->services, fence, sizeof *fence);
    end_waits(vidmm, &ended, STATUS_CANCELLED);
    return STATUS_SUCCESS;
}

uint64_t vidmm_native_fence_value(const struct vidmm_native_fence *fence)
{
    return *word_of(&fence->place, FENCE_CURRENT);
}

/* ---- Packing --------------------------------------------------------------------------------- */

/* Fences that have a free slot before them, as many as such slots, last ones first. */
static unsigned count_moves(const struct vidmm *vidmm)
{
    const struct native_fences *fences = &vidmm->native_fences;
    unsigned wanted_blocks = (unsigned)div_round_up(fences->count, vidmm->config.native_fences);
    const struct fence_block *block;
    const struct vidmm_native_fence *fence;
    unsigned index = 0, count = 0;

    list_for_each (block, &fences->blocks, struct fence_block, link) {
        if (index++ < wanted_blocks)
            continue;
        list_for_each (fence, &fences->fences, struct vidmm_native_fence, link)
            count += fence->place.block == block;
    }
    return count;
}

/* Its values go to a slot further in front; from now on the driver is told of that slot. */
static bool move_forward(struct vidmm_native_fence *fence, const struct fence_block *end)
{
    struct fence_place place;

    if (!find_place(fence->vidmm, end, &place))
        return false;
    take_place(&place, *word_of(&fence->place, FENCE_CURRENT),
               *word_of(&fence->place, FENCE_MONITORED));
    fence->former = fence->place;
    fence->place = place;
    return true;
}

/* The first block that no fence will be in; those in front of it hold them all. */
static const struct fence_block *first_spare_block(const struct vidmm *vidmm)
{
    const struct native_fences *fences = &vidmm->native_fences;
    unsigned wanted_blocks = (unsigned)div_round_up(fences->count, vidmm->config.native_fences);
    const struct fence_block *block;

    list_for_each (block, &fences->blocks, struct fence_block, link) {
        if (!wanted_blocks--)
            return block;
    }
    return NULL;
}

static bool is_before(const struct vidmm *vidmm, const struct fence_block *block,
                      const struct fence_block *end)
{
    const struct fence_block *at;

    list_for_each (at, &vidmm->native_fences.blocks, struct fence_block, link) {
        if (at == end)
            return false;
        if (at == block)
            return true;
    }
    return false;
}

NTSTATUS vidmm_native_fences_pack(struct vidmm *vidmm, vidmm_done done, void *context)
{
    struct native_fences *fences = &vidmm->native_fences;
    const struct fence_block *end;
    struct vidmm_native_fence *fence;
    struct fence_notice *notice;
    unsigned count, at = 0;
    NTSTATUS status;

    if (!vidmm->caps.has_native_fences)
        return STATUS_NOT_SUPPORTED;
    if (is_busy(vidmm) || vidmm->retired != vidmm->submitted)
        return STATUS_DEVICE_BUSY;
    list_for_each (fence, &fences->fences, struct vidmm_native_fence, link) {
        if (fence->notice_count)
            return STATUS_DEVICE_BUSY;
    }
    count = count_moves(vidmm);
    if (!count)
        return STATUS_SUCCESS;
    status = notice_create(vidmm, count, done, context, &notice);
    if (!NT_SUCCESS(status))
        return status;
    notice->is_move = true;
    fences->is_moving = true;
    end = first_spare_block(vidmm);
    list_for_each (fence, &fences->fences, struct vidmm_native_fence, link) {
        if (is_before(vidmm, fence->place.block, end) || !move_forward(fence, end))
            continue;
        space_hold(&fence->process->space);
        notice->fences[at++] = fence;
    }
    ASSERT(at == count);
    notice_queue(notice);
    vidmm_pump(vidmm);
    return STATUS_PENDING;
}

/* ---- Into segments and out of them ----------------------------------------------------------- */

static enum job_step move_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct vidmm *vidmm = container_of(job, struct vidmm, native_fences.move_job);
    struct native_fences *fences = &vidmm->native_fences;
    struct vidmm_native_fence *fence;
    unsigned count = 0;

    if (job->phase++)
        return JOB_DONE;
    list_for_each (fence, &fences->fences, struct vidmm_native_fence, link) {
        if (fence->is_held)
            describe(fence, &fences->infos[count++]);
    }
    fill_operation(args, count, fences->infos);
    return JOB_OPERATION;
}

static void move_finished(struct job *job)
{
    struct vidmm *vidmm = container_of(job, struct vidmm, native_fences.move_job);
    struct native_fences *fences = &vidmm->native_fences;
    vidmm_done done = fences->move_done;
    struct vidmm_native_fence *fence;
    struct fence_block *block;

    list_for_each (block, &fences->blocks, struct fence_block, link)
        fence_block_settle(vidmm, block);
    list_for_each (fence, &fences->fences, struct vidmm_native_fence, link) {
        if (fence->is_held)
            space_release(&fence->process->space);
        fence->is_held = false;
    }
    fences->is_moving = false;
    fences->move_done = NULL;
    if (done)
        done(fences->move_context, STATUS_SUCCESS, 0, 0);
    native_fences_rescan(vidmm);
}

static const struct job_ops move_ops = {
    .name = "fences move", .next = move_next, .finished = move_finished};

/* Tells the driver of all fences in blocks that have moved; their processes are held until then. */
static void begin_move(struct vidmm *vidmm)
{
    struct native_fences *fences = &vidmm->native_fences;
    struct vidmm_native_fence *fence;

    list_for_each (fence, &fences->fences, struct vidmm_native_fence, link) {
        if (!fence_block_is_moving(fence->place.block))
            continue;
        fence->is_held = true;
        space_hold(&fence->process->space);
    }
    fences->is_moving = true;
    fences->move_job.ops = &move_ops;
    fences->move_job.phase = 0;
    paging_queue_add(vidmm, &fences->move_job);
}

/* Nothing that could signal a fence is with the GPU, and no notice, a job, is under way. */
static bool can_move(const struct vidmm *vidmm)
{
    return !vidmm->native_fences.is_moving && !vidmm->native_fences.is_restoring &&
           !vidmm->recovery.is_under_way && !vidmm->is_removed &&
           vidsch_is_drained(vidmm->vidsch) && paging_queue_is_idle(vidmm);
}

bool native_fences_leave(struct vidmm *vidmm, const struct segment *segment)
{
    struct fence_block *block;
    bool has_any = false;

    if (vidmm->config.native_fence_memory == VIDMM_FENCES_IN_SYSTEM || !can_move(vidmm))
        return false;
    list_for_each (block, &vidmm->native_fences.blocks, struct fence_block, link)
        has_any |= fence_block_leave(block, segment);
    if (has_any)
        begin_move(vidmm);
    return has_any;
}

bool native_fences_run(struct vidmm *vidmm)
{
    struct fence_block *block;
    bool has_any = false;

    if (vidmm->config.native_fence_memory == VIDMM_FENCES_IN_SYSTEM ||
        list_is_empty(&vidmm->native_fences.blocks) || !list_is_empty(&vidmm->requests) ||
        !NT_SUCCESS(vidmm->refusal) || !vidsch_is_idle(vidmm->vidsch) || !can_move(vidmm))
        return false;
    list_for_each (block, &vidmm->native_fences.blocks, struct fence_block, link)
        has_any |= fence_block_enter(vidmm, block);
    if (has_any)
        begin_move(vidmm);
    return has_any;
}

void native_fences_rescue(struct vidmm *vidmm)
{
    struct fence_block *block;

    list_for_each (block, &vidmm->native_fences.blocks, struct fence_block, link)
        fence_block_rescue(block);
}

void native_fences_drop(struct vidmm *vidmm)
{
    struct fence_block *block;

    list_for_each (block, &vidmm->native_fences.blocks, struct fence_block, link)
        fence_block_drop(vidmm, block);
}

NTSTATUS vidmm_native_fences_evict(struct vidmm *vidmm, vidmm_done done, void *context)
{
    const struct fence_block *block;
    bool has_any = false;

    if (!vidmm->caps.has_native_fences)
        return STATUS_NOT_SUPPORTED;
    if (is_busy(vidmm) || vidmm->retired != vidmm->submitted || !can_move(vidmm))
        return STATUS_DEVICE_BUSY;
    list_for_each (block, &vidmm->native_fences.blocks, struct fence_block, link)
        has_any |= block->places[FENCE_CURRENT].segment || block->places[FENCE_MONITORED].segment;
    if (!has_any)
        return STATUS_SUCCESS;
    vidmm->native_fences.move_done = done;
    vidmm->native_fences.move_context = context;
    native_fences_leave(vidmm, NULL);
    vidmm_pump(vidmm);
    return STATUS_PENDING;
}

/* ---- The invariant walk ---------------------------------------------------------------------- */

bool native_fences_check(const struct vidmm *vidmm)
{
    const struct native_fences *fences = &vidmm->native_fences;
    const struct vidmm_native_fence *fence;
    const struct fence_block *block;
    uint64_t taken = 0, places = 0, waits = 0;
    const struct fence_wait *wait;

    list_for_each (block, &fences->blocks, struct fence_block, link) {
        for (uint64_t left = block->taken; left; left &= left - 1)
            taken++;
        if (!block->taken)
            return false;
    }
    list_for_each (fence, &fences->fences, struct vidmm_native_fence, link) {
        places += fence->former.block ? 2 : 1;
        if (!(fence->place.block->taken >> fence->place.slot & 1))
            return false;
        list_for_each (wait, &fence->waits, struct fence_wait, link)
            waits++;
    }
    return taken == places && waits == fences->wait_count;
}
