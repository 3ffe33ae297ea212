/*
 * The objects of the manager, and which note goes where: run_note_fences.c, run_note_work.c and
 * run_note_paging.c have a function a kind of note. The structures that a note points at are the
 * manager's and are gone behind the call: what is needed later is kept in objects, submissions,
 * fences and parts.
 */
#include "bench/record/run_note_private.h"

#include "base/services.h"

#include <stdlib.h>
#include <string.h>

static const char *case_name(const struct run_record_manager *manager,
                             const struct vidmm_note_object *object)
{
    const struct workload *workload = manager->workload;
    uint64_t id;

    switch (object->kind) {
    case VIDMM_OBJECT_ALLOCATION:
        id = (uintptr_t)vidmm_allocation_cookie(object->object);
        if (!id)
            return "commands"; /* the buffer that a context's command buffers are in */
        return id <= workload->allocation_count
                   ? workload_allocation_name(workload, (uint32_t)(id - 1))
                   : "";
    case VIDMM_OBJECT_PROCESS: /* opened in the order of the case; one that is renewed has none */
        return manager->processes <= workload->process_count
                   ? workload->strings + workload->processes[manager->processes - 1].name
                   : "";
    case VIDMM_OBJECT_CONTEXT:
        return manager->contexts <= workload->context_count
                   ? workload->strings + workload->contexts[manager->contexts - 1].name
                   : "";
    default:
        return "";
    }
}

static const char *const types[VIDMM_OBJECT_KINDS] = {
    [VIDMM_OBJECT_PROCESS] = "process",           [VIDMM_OBJECT_DEVICE] = "device",
    [VIDMM_OBJECT_CONTEXT] = "context",           [VIDMM_OBJECT_ALLOCATION] = "allocation",
    [VIDMM_OBJECT_OWN_ALLOCATION] = "allocation", [VIDMM_OBJECT_BUFFER] = "allocation",
    [VIDMM_OBJECT_INSTANCE] = "allocation",       [VIDMM_OBJECT_NATIVE_FENCE] = "fence",
};

static const char letters[VIDMM_OBJECT_KINDS] = {
    [VIDMM_OBJECT_PROCESS] = TRACE_HANDLE_PROCESS,
    [VIDMM_OBJECT_DEVICE] = TRACE_HANDLE_DEVICE,
    [VIDMM_OBJECT_CONTEXT] = TRACE_HANDLE_CONTEXT,
    [VIDMM_OBJECT_ALLOCATION] = TRACE_HANDLE_ALLOCATION,
    [VIDMM_OBJECT_OWN_ALLOCATION] = TRACE_HANDLE_ALLOCATION,
    [VIDMM_OBJECT_BUFFER] = TRACE_HANDLE_ALLOCATION,
    [VIDMM_OBJECT_INSTANCE] = TRACE_HANDLE_ALLOCATION,
    [VIDMM_OBJECT_NATIVE_FENCE] = TRACE_HANDLE_FENCE,
};

static const char *parent_type(enum vidmm_object_kind kind)
{
    switch (kind) {
    case VIDMM_OBJECT_DEVICE:
    case VIDMM_OBJECT_NATIVE_FENCE:
        return "process";
    case VIDMM_OBJECT_PROCESS:
        return "";
    default:
        return "device";
    }
}

/* ---- Objects that come and go ---------------------------------------------------------------- */

/*
 * What the driver has been asked to make has an item from that call, and gets its name here. What
 * it has not made, or has asked the manager for, has its item here.
 */
static void note_object(struct run_record_manager *manager, const struct vidmm_note_object *noted)
{
    struct run_record_object *object = run_note_object_of(manager, noted->object);
    uint64_t parent = run_note_number_of(manager, noted->parent), name;
    bool is_new = false;

    if (!object)
        return;
    *object = (struct run_record_object){0};
    manager->processes += noted->kind == VIDMM_OBJECT_PROCESS;
    manager->contexts += noted->kind == VIDMM_OBJECT_CONTEXT;
    if (noted->kind == VIDMM_OBJECT_INSTANCE) {
        object->number = parent;
        object->instance = ++manager->instances;
        return;
    }
    object->number = run_record_number(manager->record, letters[noted->kind], noted->driver_handle);
    if (!object->number &&
        (noted->kind == VIDMM_OBJECT_BUFFER || noted->kind == VIDMM_OBJECT_OWN_ALLOCATION))
        object->number = RUN_RECORD_OWN_NUMBERS + ++manager->buffers;
    else if (!object->number && noted->kind == VIDMM_OBJECT_PROCESS)
        object->number = manager->processes;
    if (noted->kind == VIDMM_OBJECT_DEVICE || noted->kind == VIDMM_OBJECT_NATIVE_FENCE)
        object->process = parent;
    if (!object->number)
        return;
    if (noted->kind == VIDMM_OBJECT_DEVICE || noted->kind == VIDMM_OBJECT_NATIVE_FENCE)
        run_note_add_fence(manager, noted->paging_fence, object->number);
    is_new = !noted->driver_handle || noted->kind == VIDMM_OBJECT_OWN_ALLOCATION;
    name = noted->kind == VIDMM_OBJECT_BUFFER ? run_note_word(manager, "DMA buffer")
           : noted->kind == VIDMM_OBJECT_OWN_ALLOCATION
               ? run_note_word(manager, "context allocation")
               : record_text(manager->record->record, case_name(manager, noted));
    if (is_new)
        ITEM(manager, object, .type = run_note_word(manager, types[noted->kind]),
             .number = object->number,
             .parent_type = run_note_word(manager, parent_type(noted->kind)), .parent = parent,
             .name = name, .bytes = noted->bytes);
    else
        ITEM(manager, named, .type = run_note_word(manager, types[noted->kind]),
             .number = object->number,
             .parent_type = run_note_word(manager, parent_type(noted->kind)), .parent = parent,
             .name = name);
}

uint64_t run_record_manager_process(struct run_record_manager *manager,
                                    const struct vidmm_process *process, const char *name)
{
    const uint64_t number =
        manager->record && manager->record->record ? run_note_number_of(manager, process) : 0;

    if (number)
        ITEM(manager, named, .type = run_note_word(manager, "process"), .number = number,
             .name = record_text(manager->record->record, name));
    return number;
}

static void note_object_ends(struct run_record_manager *manager,
                             const struct vidmm_note_object *noted)
{
    struct run_record_object *object = run_note_object_of(manager, noted->object);

    if (object && object->number && !noted->driver_handle && noted->kind != VIDMM_OBJECT_INSTANCE)
        ITEM(manager, object_end, .type = run_note_word(manager, types[noted->kind]),
             .number = object->number);
    if (object && (noted->kind == VIDMM_OBJECT_DEVICE || noted->kind == VIDMM_OBJECT_NATIVE_FENCE))
        run_note_fence_ends(manager, noted->kind == VIDMM_OBJECT_DEVICE, object->number);
    for (unsigned i = 0; object && i < 2; i++)
        free(object->runs[i]);
    if (object)
        *object = (struct run_record_object){0};
    run_note_forget(manager, noted->object);
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* What is known of the objects and of unfinished work of a manager. */
static void forget(struct run_record_manager *manager)
{
    for (size_t i = 0; i < manager->submission_count; i++)
        run_note_put_submission(manager, &manager->submissions[i], 0, 0);
    for (size_t i = 0; i < manager->object_room; i++) {
        free(manager->objects[i].runs[0]);
        free(manager->objects[i].runs[1]);
    }
    free(manager->submissions);
    free(manager->objects);
    free(manager->parts);
    free(manager->fences);
    free(manager->waits);
    trace_handles_fini(&manager->pointers);
}

void run_record_manager_init(struct run_record_manager *manager, struct run_record *record,
                             const struct workload *workload)
{
    struct run_record_manager former = *manager;

    if (former.record) {
        run_record_stage(record, "restart");
        forget(&former);
    }
    *manager = (struct run_record_manager){.record = record,
                                           .workload = workload,
                                           .buffers = former.buffers,
                                           .instances = former.instances,
                                           .waits_begun = former.waits_begun};
    memcpy(manager->bases, former.last, sizeof manager->bases);
    memcpy(manager->last, former.last, sizeof manager->last);
    trace_handles_init(&manager->pointers, base_services_libc());
}

void run_record_manager_fini(struct run_record_manager *manager)
{
    if (manager->record)
        forget(manager);
    *manager = (struct run_record_manager){.record = NULL};
}

void run_record_manager_segment(struct run_record_manager *manager,
                                const struct vidmm_segment_info *segment)
{
    if (segment->id < RUN_RECORD_SEGMENTS)
        manager->segment_bases[segment->id] = segment->base;
    if (manager->record->record)
        ITEM(manager, object, .type = run_note_word(manager, "segment"), .number = segment->id,
             .name = run_note_word(manager, segment->is_aperture ? "aperture" : "local memory"),
             .bytes = segment->size);
}

void run_record_manager_note(void *context, const struct vidmm_note *note)
{
    struct run_record_manager *manager = context;

    switch (note->kind) {
    case VIDMM_NOTE_OBJECT:
        note_object(manager, &note->object);
        break;
    case VIDMM_NOTE_OBJECT_ENDS:
        note_object_ends(manager, &note->object);
        break;
    case VIDMM_NOTE_REQUEST:
        run_note_request(manager, &note->request);
        break;
    case VIDMM_NOTE_REQUEST_WAITS:
        run_note_request_waits(manager, &note->request_waits);
        break;
    case VIDMM_NOTE_REQUEST_BEGINS:
        ITEM(manager, request_begins,
             .number =
                 run_note_numbered(manager, RUN_RECORD_REQUESTS, note->request_begins.number));
        break;
    case VIDMM_NOTE_REQUEST_ENDS:
        ITEM(manager, request_ends,
             .number = run_note_numbered(manager, RUN_RECORD_REQUESTS, note->request_ends.number),
             .status = (uint32_t)note->request_ends.status);
        break;
    case VIDMM_NOTE_GIVEN_UP:
        ITEM(manager, given_up, .process = run_note_process_of(manager, note->given_up.device),
             .allocations = note->given_up.count);
        break;
    case VIDMM_NOTE_VICTIM:
        run_note_victim(manager, &note->victim);
        break;
    case VIDMM_NOTE_OFFER:
        ITEM(manager, offer,
             .allocation = run_note_number_of(manager, note->offer.allocation.named),
             .is_offered = note->offer.is_offered, .priority = note->offer.priority);
        break;
    case VIDMM_NOTE_BUDGET:
        ITEM(manager, budget, .process = run_note_number_of(manager, note->budget.process),
             .group = note->budget.group, .bytes = note->budget.bytes);
        break;
    case VIDMM_NOTE_TRIM:
        ITEM(manager, trim, .process = run_note_number_of(manager, note->budget.process),
             .group = note->budget.group, .bytes = note->budget.bytes);
        break;
    case VIDMM_NOTE_DEPARTS:
        run_note_departs(manager, &note->departs);
        break;
    case VIDMM_NOTE_PLACED:
        run_note_placed(manager, &note->place);
        break;
    case VIDMM_NOTE_LEFT:
        run_note_left(manager, &note->place);
        break;
    case VIDMM_NOTE_STATE: {
        const struct run_record_object *object =
            run_note_allocation(manager, &note->state.allocation);

        if (object)
            ITEM(manager, allocation_state, .allocation = object->number,
                 .instance = object->instance,
                 .state = run_note_word(manager, vidmm_state_name(note->state.state)));
        break;
    }
    case VIDMM_NOTE_RANGE:
        ITEM(manager, range, .segment = note->range.segment, .offset = note->range.offset,
             .bytes = note->range.bytes,
             .use = run_note_word(manager, vidmm_range_name(note->range.use)),
             .is_taken = note->range.is_taken);
        break;
    case VIDMM_NOTE_SAMPLE:
        ITEM(manager, sample, .segment = note->sample.segment, .resident = note->sample.resident,
             .free = note->sample.free, .committed = note->sample.committed,
             .demand = note->sample.demand, .leaving = note->sample.leaving,
             .doomed = note->sample.doomed, .tables = note->sample.tables);
        break;
    case VIDMM_NOTE_MAPPING:
        ITEM(manager, mapping, .process = run_note_number_of(manager, note->mapping.process),
             .allocation = run_note_number_of(manager, note->mapping.allocation),
             .va = note->mapping.va, .bytes = note->mapping.bytes, .offset = note->mapping.offset,
             .is_mapped = note->mapping.is_mapped);
        break;
    case VIDMM_NOTE_FENCE_VALUE:
        run_note_fence_value(manager, &note->fence);
        break;
    case VIDMM_NOTE_FENCE_WAITS:
        run_note_fence_waits(manager, &note->fence_wait);
        break;
    case VIDMM_NOTE_FENCE_WAIT_ENDS:
        run_note_fence_wait_ends(manager, &note->fence_wait);
        break;
    case VIDMM_NOTE_JOB: {
        const struct run_record_object *object =
            note->job.allocation.named ? run_note_allocation(manager, &note->job.allocation) : NULL;

        ITEM(manager, job, .number = run_note_numbered(manager, RUN_RECORD_JOBS, note->job.number),
             .name = run_note_word(manager, note->job.name),
             .allocation = object ? object->number : 0, .instance = object ? object->instance : 0,
             .request = run_note_numbered(manager, RUN_RECORD_REQUESTS, note->job.request));
        break;
    }
    case VIDMM_NOTE_JOB_ENDS:
        run_note_job_ends(manager, &note->job);
        break;
    case VIDMM_NOTE_QUEUE_WAITS:
        ITEM(manager, queue_waits,
             .reason = run_note_word(manager, vidmm_queue_wait_name(note->queue_waits.wait)),
             .job = run_note_numbered(manager, RUN_RECORD_JOBS, note->queue_waits.job));
        break;
    case VIDMM_NOTE_OPERATION:
        run_note_operation(manager, &note->operation);
        break;
    case VIDMM_NOTE_OPERATION_BUILT:
        run_note_built(manager, &note->built);
        break;
    case VIDMM_NOTE_ENTRIES:
        run_note_entries(manager, &note->entries);
        break;
    case VIDMM_NOTE_SUBMISSION:
        run_note_submission(manager, &note->submission);
        break;
    case VIDMM_NOTE_PACKET:
        run_note_packet(manager, &note->packet);
        break;
    case VIDMM_NOTE_LIST:
    case VIDMM_NOTE_KINDS:
        break;
    }
}
