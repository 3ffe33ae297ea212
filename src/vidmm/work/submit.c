/*
 * Processes, devices, contexts; submissions of the GpuMmu model.
 *
 * Source     contract.md PT-009, PT-010, SUB-011..014, RES-002; sequences S-15, S-23.
 */
#include "vidmm/work/submission.h"

#include "vidmm/adapter/driver_error.h"
#include "vidmm/adapter/pump.h"
#include "vidmm/adapter/recovery.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/iommu.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/sharing.h"
#include "vidmm/paging/monitored_fence.h"
#include "vidmm/residency/budget.h"
#include "vidmm/residency/residency.h"
#include "vidmm/tables/companion.h"
#include "vidmm/tables/null_context.h"
#include "vidmm/tables/page_table.h"
#include "vidmm/tables/table_burial.h"
#include "vidmm/tables/table_memory.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"
#include "vidmm/work/context_allocation.h"
#include "vidmm/work/render.h"

#include "base/assert.h"
#include "base/bits.h"
#include "base/list.h"
#include "base/range_allocator.h"
#include "base/services.h"
#include "vidsch/vidsch.h"

#include <string.h>

/* Address space below this stays free: null pointers fault. */
#define FIRST_VA (64 * KiB)

/* ---- Processes ------------------------------------------------------------------------------- */

NTSTATUS vidmm_process_create(struct vidmm *vidmm, struct vidmm_process **out_process)
{
    struct vidmm_process *process;
    NTSTATUS status = STATUS_NO_MEMORY;

    *out_process = NULL;
    if (!NT_SUCCESS(vidmm->refusal))
        return vidmm->refusal;
    process = base_alloc(vidmm->services, sizeof *process);
    if (!process)
        return STATUS_NO_MEMORY;
    process->vidmm = vidmm;
    process->space.vidmm = vidmm;
    budget_init(process);
    process->space.process = process;
    process->space.ranges_start = FIRST_VA;
    list_init(&process->devices);
    list_init(&process->mappings);
    list_init(&process->space.rebuilt);
    if (vidmm->caps.is_virtual) {
        DXGKARG_CREATEPROCESS create = {0};
        ULONG pasid = 0;
        uint64_t va_size = UINT64_C(1) << vidmm->caps.va_bits;

        if (range_allocator_init(&process->space.ranges, vidmm->services, FIRST_VA,
                                 va_size - FIRST_VA, PAGE_BYTES) != RANGE_OK)
            goto free_process;
        status = iommu_open_process(process);
        if (!NT_SUCCESS(status))
            goto fini_ranges;
        create.hDxgkProcess = process;
        if (process->has_pasid) {
            create.NumPasid = 1;
            create.pPasid = &pasid;
            pasid = process->pasid;
        }
        vidmm->process_in_creation = process;
        status = miniport_create_process(vidmm->miniport, NULL, &create);
        vidmm->process_in_creation = NULL;
        if (!NT_SUCCESS(status))
            goto close_iommu;
        process->space.driver_process = create.hKmdProcess;
    }
    list_push_back(&vidmm->processes, &process->link);
    *out_process = process;
    return STATUS_SUCCESS;

close_iommu:
    iommu_close_process(process);
fini_ranges:
    range_allocator_fini(&process->space.ranges);
free_process:
    base_free(vidmm->services, process, sizeof *process);
    return status;
}

void process_free(struct vidmm_process *process)
{
    struct vidmm *vidmm = process->vidmm;

    page_tables_free(&process->space);
    range_allocator_fini(&process->space.ranges);
    if (process->space.driver_process)
        miniport_destroy_process(vidmm->miniport, process->space.driver_process);
    iommu_close_process(process);
    base_free(vidmm->services, process, sizeof *process);
}

void vidmm_process_destroy(struct vidmm_process *process)
{
    struct vidmm *vidmm = process->vidmm;

    ASSERT(list_is_empty(&process->devices));
    ASSERT(list_is_empty(&process->mappings));
    budget_fini(process);
    list_remove(&process->link);
    if (tables_bury_all(process))
        vidmm_pump(vidmm);
    else
        process_free(process);
}

bool vidmm_process_root(const struct vidmm_process *process, unsigned *out_segment,
                        uint64_t *out_offset, uint64_t *out_entry_count)
{
    const struct page_table *root = process->space.root;

    *out_segment = root ? root->memory.segment : 0;
    *out_offset = root ? PAGE_BYTES_OF(table_memory_device_page(process->vidmm, &root->memory)) : 0;
    *out_entry_count = root ? root->memory.entry_count : 0;
    return root != NULL;
}

/* ---- Devices --------------------------------------------------------------------------------- */

NTSTATUS vidmm_device_create(struct vidmm_process *process, struct vidmm_device **out_device)
{
    struct vidmm *vidmm = process->vidmm;
    DXGKARG_CREATEDEVICE create = {0};
    struct vidmm_device *device;
    NTSTATUS status;

    *out_device = NULL;
    if (!NT_SUCCESS(vidmm->refusal))
        return vidmm->refusal;
    device = base_alloc(vidmm->services, sizeof *device);
    if (!device)
        return STATUS_NO_MEMORY;
    device->vidmm = vidmm;
    device->process = process;
    list_init(&device->contexts);
    list_init(&device->allocations);
    list_init(&device->context_allocations);
    list_init(&device->openings);
    status = monitored_fence_init(vidmm, &device->paging_fence);
    if (!NT_SUCCESS(status))
        goto free_device;
    create.hDevice = device;
    create.hKmdProcess = process->space.driver_process;
    create.Pasid = process->pasid;
    status = miniport_create_device(vidmm->miniport, NULL, &create);
    if (!NT_SUCCESS(status))
        goto fini_fence;
    device->driver_device = create.hDevice;
    list_push_back(&process->devices, &device->link);
    *out_device = device;
    return STATUS_SUCCESS;

fini_fence:
    monitored_fence_fini(vidmm, &device->paging_fence);
free_device:
    base_free(vidmm->services, device, sizeof *device);
    return status;
}

void device_free_if_done(struct vidmm_device *device)
{
    struct vidmm *vidmm = device->vidmm;

    if (!device->is_destroyed || !list_is_empty(&device->allocations))
        return;
    list_remove(&device->link);
    base_free(vidmm->services, device, sizeof *device);
}

void vidmm_device_destroy(struct vidmm_device *device)
{
    struct vidmm *vidmm = device->vidmm;
    const struct vidmm_allocation *allocation;

    ASSERT(list_is_empty(&device->contexts));
    list_for_each (allocation, &device->allocations, struct vidmm_allocation, device_link)
        ASSERT(allocation->is_for_context); /* the client's are destroyed */
    ASSERT(!device->submission_count);
    openings_close_of_device(device);
    miniport_destroy_device(vidmm->miniport, device->driver_device);
    context_allocations_drop(vidmm, &device->context_allocations);
    monitored_fence_fini(vidmm, &device->paging_fence);
    device->is_destroyed = true;
    device_free_if_done(device);
}

uint64_t submissions_retired(const struct vidmm *vidmm)
{
    if (list_is_empty(&vidmm->submissions))
        return vidmm->submitted;
    return container_of(vidmm->submissions.next, struct submission, link)->sequence - 1;
}

/* ---- Contexts -------------------------------------------------------------------------------- */

/* What an aperture segment would show of a DMA buffer are pages of system memory, too. */
static bool may_be_in_system_memory(const struct vidmm *vidmm, UINT set)
{
    for (unsigned i = 0; i < vidmm->caps.segment_count; i++) {
        if (set & 1u << i && vidmm->caps.segments[i].is_aperture)
            return true;
    }
    return !set;
}

NTSTATUS vidmm_context_create(struct vidmm_device *device, unsigned node, const void *private_data,
                              uint32_t private_data_bytes, struct vidmm_context **out_context)
{
    struct vidmm *vidmm = device->vidmm;
    DXGKARG_CREATECONTEXT create = {0};
    struct vidmm_context *context;
    void *private_copy = NULL;
    NTSTATUS status;
    unsigned i;

    *out_context = NULL;
    if (!NT_SUCCESS(vidmm->refusal))
        return vidmm->refusal;
    if (node >= vidmm->caps.node_count)
        return STATUS_INVALID_PARAMETER;
    if (private_data_bytes) {
        private_copy = base_alloc(vidmm->services, private_data_bytes);
        if (!private_copy)
            return STATUS_NO_MEMORY;
        memcpy(private_copy, private_data, private_data_bytes);
    }
    context = base_alloc(vidmm->services, sizeof *context);
    if (!context) {
        base_free(vidmm->services, private_copy, private_data_bytes);
        return STATUS_NO_MEMORY;
    }
    context->device = device;
    context->node = node;
    list_init(&context->allocations);
    status = vidsch_context_create(vidmm->vidsch, node, false, &context->scheduler);
    if (!NT_SUCCESS(status))
        goto free_context;
    for (i = 0; i < device->process->space.hold_count; i++)
        vidsch_context_hold(context->scheduler);
    /* Known from here on: the driver may ask for allocations of it. */
    list_push_back(&device->contexts, &context->link);
    create.hContext = context;
    create.pPrivateDriverData = private_copy;
    create.PrivateDriverDataSize = private_data_bytes;
    create.NodeOrdinal = node;
    create.EngineAffinity = 1;
    create.Flags.VirtualAddressing = vidmm->caps.is_virtual;
    status = miniport_create_context(vidmm->miniport, device->driver_device, &create);
    if (!NT_SUCCESS(status))
        goto destroy_scheduler;
    if (!vidmm->caps.is_virtual &&
        !may_be_in_system_memory(vidmm, create.ContextInfo.DmaBufferSegmentSet)) {
        vidmm_driver_error(
            vidmm, "",
            "DxgkDdiCreateContext.ContextInfo.DmaBufferSegmentSet is 0x%x; this manager "
            "has DMA buffers in system memory only, for sets that are 0 or have an aperture "
            "segment",
            create.ContextInfo.DmaBufferSegmentSet);
        status = STATUS_NOT_SUPPORTED;
        miniport_destroy_context(vidmm->miniport, create.hContext);
        goto destroy_scheduler;
    }
    base_free(vidmm->services, private_copy, private_data_bytes);
    context->driver_context = create.hContext;
    context->info = create.ContextInfo;
    *out_context = context;
    return STATUS_SUCCESS;

destroy_scheduler:
    context_allocations_drop(vidmm, &context->allocations);
    list_remove(&context->link);
    vidsch_context_destroy(context->scheduler);
free_context:
    base_free(vidmm->services, private_copy, private_data_bytes);
    base_free(vidmm->services, context, sizeof *context);
    return status;
}

void vidmm_context_destroy(struct vidmm_context *context)
{
    struct vidmm *vidmm = context->device->vidmm;

    ASSERT(!context->tile_update_count);
    null_contexts_forget(vidmm, context);
    companion_destroy(context);
    dma_buffers_free(context);
    miniport_destroy_context(vidmm->miniport, context->driver_context);
    context_allocations_drop(vidmm, &context->allocations);
    /*
     * The driver destroys allocations from in the call, which may hold the contexts of the space.
     */
    list_remove(&context->link);
    vidsch_context_destroy(context->scheduler);
    base_free(vidmm->services, context, sizeof *context);
}

uint64_t vidmm_device_paging_fence(const struct vidmm_device *device)
{
    return device->paging_fence.cpu ? *device->paging_fence.cpu
                                    : device->paging_fence.waiters.value;
}

NTSTATUS vidmm_context_wait_for_paging(struct vidmm_context *context, uint64_t value)
{
    if (value > context->device->requests_made)
        return STATUS_INVALID_PARAMETER;
    if (value > context->paging_wait)
        context->paging_wait = value;
    return STATUS_SUCCESS;
}

/* ---- Submissions, both models ---------------------------------------------------------------- */

struct submission *submission_create(struct vidmm_context *context,
                                     const struct vidsch_packet_ops *ops, unsigned reference_count)
{
    struct vidmm_device *device = context->device;
    unsigned held_count = reference_count + context_allocations_count(context);
    size_t bytes = sizeof(struct submission) + (size_t)held_count * sizeof(struct vidmm_reference) +
                   (size_t)reference_count * sizeof(bool);
    struct submission *submission = base_alloc(device->vidmm->services, bytes);

    if (!submission)
        return NULL;
    submission->bytes = bytes;
    submission->context = context;
    submission->is_null = context->is_null_rendering;
    submission->packet.ops = ops;
    submission->reference_count = reference_count;
    submission->held_count = held_count;
    context_allocations_refer(context, submission->references + reference_count);
    submission->is_needed = (bool *)(submission->references + held_count);
    list_init(&submission->link);
    return submission;
}

void submission_begin(struct submission *submission)
{
    struct vidmm_device *device = submission->context->device;

    submission->sequence = ++device->vidmm->submitted;
    list_push_back(&device->vidmm->submissions, &submission->link);
    device->submission_count++;
}

void submission_free(struct submission *submission)
{
    if (list_is_linked(&submission->link))
        submission->context->device->submission_count--;
    list_remove(&submission->link);
    base_free(submission->context->device->vidmm->services, submission, submission->bytes);
}

NTSTATUS submission_request(struct submission *submission, vidmm_done done,
                            struct request **out_request)
{
    NTSTATUS status = request_create(submission->context->device, submission->held_count, done,
                                     submission, out_request);
    unsigned i;

    for (i = 0; NT_SUCCESS(status) && i < submission->held_count; i++)
        (*out_request)->allocations[i] = submission->references[i].allocation;
    return status;
}

void submission_unhold(struct submission *submission)
{
    unsigned i;

    for (i = 0; i < submission->held_count; i++)
        allocation_unhold(submission->references[i].allocation);
}

void vidmm_context_set_null_rendering(struct vidmm_context *context, bool is_null)
{
    context->is_null_rendering = is_null;
}

void vidmm_context_set_patch_input(struct vidmm_context *context, bool names_references)
{
    context->names_references = names_references;
}

/* ---- Submissions, GpuMmu --------------------------------------------------------------------- */

static NTSTATUS submit_virtual(struct vidsch_packet *packet, struct miniport *miniport)
{
    struct submission *submission = container_of(packet, struct submission, packet);
    DXGKARG_SUBMITCOMMANDVIRTUAL args = {0};

    null_contexts_ran(submission->context->device->vidmm, submission->context->node,
                      submission->context);
    args.hContext = submission->context->driver_context;
    args.DmaBufferVirtualAddress = submission->va;
    args.DmaBufferSize = submission->va_bytes;
    args.SubmissionFenceId = packet->fence_id;
    args.Flags.NullRendering = submission->is_null;
    args.Flags.Resubmission =
        packet->is_resubmission && !submission->context->device->vidmm->config.marks_paging_only;
    args.NodeOrdinal = submission->context->node;
    return miniport_submit_command_virtual(miniport, NULL, &args);
}

static void virtual_retired(struct vidsch_packet *packet, NTSTATUS status)
{
    struct submission *submission = container_of(packet, struct submission, packet);
    vidmm_done done = submission->done;
    void *context = submission->done_context;

    submission_unhold(submission);
    if (status_means_reset(status))
        device_fail(submission->context->device, "its submission did not end");
    if (status == STATUS_INVALID_PARAMETER) /* the driver took it for malformed (SUB-011) */
        device_fail(submission->context->device, "the driver refused its submission");
    submission_free(submission);
    if (done)
        done(context, status, 0, 0);
}

static const struct vidsch_packet_ops virtual_packet_ops = {NULL, submit_virtual, virtual_retired};

static NTSTATUS set_root(struct vidmm_context *context)
{
    const struct page_table *root = context->device->process->space.root;
    struct vidmm *vidmm = context->device->vidmm;
    DXGKARG_SETROOTPAGETABLE args = {0};
    NTSTATUS status;

    if (!vidmm->caps.has_page_tables)
        return STATUS_SUCCESS;
    if (!root)
        return STATUS_INVALID_PARAMETER; /* nothing is mapped: nothing to submit */
    args.hContext = context->driver_context;
    args.Address.SegmentId = root->memory.segment;
    args.Address.SegmentOffset = PAGE_BYTES_OF(table_memory_device_page(vidmm, &root->memory));
    args.NumEntries = (UINT)root->memory.entry_count;
    vidmm->root_calls++; /* the driver may wait in it for an update of a context allocation */
    status = miniport_set_root_page_table(vidmm->miniport, NULL, &args);
    vidmm->root_calls--;
    if (NT_SUCCESS(status))
        context->root_is_set = true;
    return status;
}

/* ---- The contexts of an address space -------------------------------------------------------- */

/* The next context of the process's devices; NULL after the last. */
static struct vidmm_context *next_context(const struct address_space *space,
                                          const struct vidmm_context *after)
{
    const struct vidmm_process *process = space->process;
    const struct list *device = after ? &after->device->link : process->devices.next;
    const struct list *link = after ? after->link.next : NULL;

    for (; device != &process->devices; device = device->next, link = NULL) {
        const struct vidmm_device *at = container_of(device, struct vidmm_device, link);

        if (!link)
            link = at->contexts.next;
        if (link != &at->contexts)
            return container_of(link, struct vidmm_context, link);
    }
    return NULL;
}

void space_hold(struct address_space *space)
{
    struct vidmm_context *context = NULL;

    space->hold_count++;
    while ((context = next_context(space, context)) != NULL)
        vidsch_context_hold(context->scheduler);
}

void space_release(struct address_space *space)
{
    struct vidmm_context *context = NULL;

    ASSERT(space->hold_count);
    space->hold_count--;
    while ((context = next_context(space, context)) != NULL)
        vidsch_context_release(context->scheduler);
}

bool space_is_quiet(const struct address_space *space)
{
    const struct vidmm_context *context = NULL;

    while ((context = next_context(space, context)) != NULL) {
        if (!vidsch_context_is_quiet(context->scheduler))
            return false;
    }
    return true;
}

void space_set_root(struct address_space *space)
{
    struct vidmm_context *context = NULL;

    while ((context = next_context(space, context)) != NULL) {
        if (context->root_is_set)
            set_root(context);
    }
}

/*
 * The context's own allocations are there (CTX-003, CTX-004). Requests of a device end in the order
 * in which they were made, so its submissions keep theirs.
 */
static void context_resident(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct submission *submission = context;
    vidmm_done done = submission->done;
    void *done_context = submission->done_context;

    if (NT_SUCCESS(status)) {
        status = device_refusal(submission->context->device);
        if (NT_SUCCESS(status)) {
            vidsch_submit(submission->context->scheduler, &submission->packet);
            return;
        }
        submission_unhold(submission);
    }
    submission_free(submission);
    if (done)
        done(done_context, status, needed, available);
}

NTSTATUS vidmm_submit_virtual(struct vidmm_context *context, uint64_t va, uint32_t bytes,
                              vidmm_done done, void *done_context)
{
    struct vidmm *vidmm = context->device->vidmm;
    struct submission *submission;
    struct request *request = NULL;
    NTSTATUS status;

    if (!vidmm->caps.is_virtual)
        return STATUS_NOT_SUPPORTED;
    status = device_refusal(context->device);
    if (!NT_SUCCESS(status))
        return status;
    status = context->root_is_set ? STATUS_SUCCESS : set_root(context);
    if (!NT_SUCCESS(status))
        return status;
    submission = submission_create(context, &virtual_packet_ops, 0);
    if (!submission)
        return STATUS_NO_MEMORY;
    if (submission->held_count) {
        status = submission_request(submission, context_resident, &request);
        if (!NT_SUCCESS(status)) {
            submission_free(submission);
            return status;
        }
    }
    submission->packet.is_virtual = true;
    submission->va = va;
    submission->va_bytes = bytes;
    submission->done = done;
    submission->done_context = done_context;
    if (context->paging_wait) {
        submission->packet.wait_fence = &context->device->paging_fence.waiters;
        submission->packet.wait_value = context->paging_wait;
    }
    /* From here on what is in use is in use by it, too, though it may wait for its request. */
    submission_begin(submission);
    if (request) {
        request_queue(request);
        vidmm_pump(vidmm);
    } else {
        vidsch_submit(context->scheduler, &submission->packet);
    }
    return STATUS_SUCCESS;
}
