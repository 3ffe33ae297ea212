/* Notes: the ones of jobs, operations, page-table entries, submissions and packets. */
#include "vidmm/notes/note.h"

#include "vidmm/memory/allocation.h"
#include "vidmm/paging/job.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/residency/request.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"
#include "vidmm/work/submission.h"

#include "miniport/entries.h"
#include "miniport/operation.h"
#include "vidsch/vidsch.h"

#include <stddef.h>

static void tell(const struct vidmm *vidmm, const struct vidmm_note *note)
{
    vidmm->config.events.told(vidmm->config.events.context, note);
}

static struct vidmm_noted_allocation noted(const struct vidmm_allocation *allocation)
{
    const struct vidmm_allocation *first = allocation ? allocation_first(allocation) : NULL;

    return (struct vidmm_noted_allocation){first, allocation == first ? NULL : allocation};
}

/* Of a job, whose record has 30 bits for it. */
#define NUMBER_MASK ((UINT32_C(1) << 30) - 1)

/* ---- Jobs ------------------------------------------------------------------------------------ */

static const char *name_of(const struct job *job)
{
    static const char *const names[] = {
        [JOB_ENTER] = "enter", [JOB_LEAVE] = "leave", [JOB_DROP] = "drop",
        [JOB_DIE] = "die",     [JOB_MOVE] = "move",   [JOB_MAP_AGAIN] = "map again",
    };

    if (job->ops->name)
        return job->ops->name;
    return job_is_of_allocation(job) ? names[job->ops->kind] : "other";
}

static struct vidmm_note_job job_note(const struct vidmm *vidmm, const struct job *job)
{
    return (struct vidmm_note_job){
        .number = job->number,
        .name = name_of(job),
        .request = vidmm->notes.serving ? vidmm->notes.serving->number : 0,
        .allocation = noted(allocation_of_job(job)),
    };
}

void note_job(struct vidmm *vidmm, struct job *job)
{
    job->number = ++vidmm->notes.jobs & NUMBER_MASK;
    tell(vidmm, &(struct vidmm_note){.kind = VIDMM_NOTE_JOB, .job = job_note(vidmm, job)});
}

void note_job_ends(struct vidmm *vidmm, const struct job *job, bool is_lost)
{
    struct vidmm_note note = {.kind = VIDMM_NOTE_JOB_ENDS, .job = job_note(vidmm, job)};

    note.job.is_lost = is_lost;
    tell(vidmm, &note);
}

void note_queue_waits(struct vidmm *vidmm, enum vidmm_queue_wait wait, const struct job *job)
{
    struct notes *notes = &vidmm->notes;
    uint64_t number = job ? job->number : 0;

    if (notes->has_told_wait && notes->queue_wait == wait && notes->waiting_job == number)
        return;
    notes->has_told_wait = true;
    notes->queue_wait = wait;
    notes->waiting_job = number;
    tell(vidmm, &(struct vidmm_note){.kind = VIDMM_NOTE_QUEUE_WAITS,
                                     .queue_waits = {.wait = wait, .job = number}});
}

/* ---- Operations ------------------------------------------------------------------------------ */

static const struct vidmm_process *process_of(const struct vidmm *vidmm, HANDLE driver_process)
{
    const struct vidmm_process *process;

    list_for_each (process, &vidmm->processes, struct vidmm_process, link) {
        if (process->space.driver_process == driver_process)
            return process;
    }
    return NULL;
}

/* Bytes of address space that an entry of the level translates (page_table_coverage()). */
static uint64_t entry_bytes(const struct vidmm *vidmm, unsigned level, bool is_64k)
{
    unsigned bits = 12;

    for (unsigned i = 0; i < level; i++)
        bits += vidmm->caps.levels[i].index_bits;
    return UINT64_C(1) << bits << (is_64k && level == 0 ? 4 : 0);
}

static struct vidmm_note_entries entry_note(const DXGK_PTE *entry)
{
    DXGK_PTE flags = *entry;

    flags.Valid = 0;
    flags.Segment = 0;
    return (struct vidmm_note_entries){
        .is_valid = entry->Valid,
        .segment = entry->Valid ? entry->Segment : 0,
        .offset = entry->Valid ? PAGE_BYTES_OF(entry->PageAddress) : 0,
        .flags = flags.Flags,
    };
}

static void tell_entries(const struct vidmm *vidmm, const struct vidmm_process *process,
                         const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    const DXGK_PTE *entries = update->pPageTableEntries;
    uint64_t count = update->NumPageTableEntries;
    uint64_t bytes = entry_bytes(vidmm, update->PageTableLevel, update->Flags.Use64KBPages);
    uint64_t at = 0;

    do {
        struct miniport_entries range = {.count = count};
        struct vidmm_note note = {.kind = VIDMM_NOTE_ENTRIES};

        if (count) {
            note.entries = entry_note(&entries[at]);
            if (!update->Flags.Repeat)
                range = miniport_entries_first(
                    entries + at, count - at,
                    entries + at == vidmm->even.entries ? vidmm->even.count : 0);
            note.entries.stride = range.stride * (int64_t)PAGE_BYTES;
            note.entries.is_scattered = range.is_scattered;
            note.entries.hash = range.hash;
            note.entries.count = range.count;
            note.entries.entries = entries + at;
        }
        note.entries.operation = vidmm->notes.operations;
        note.entries.process = process;
        note.entries.level = update->PageTableLevel;
        note.entries.is_64k = update->Flags.Use64KBPages;
        note.entries.va = update->FirstPteVirtualAddress + at * bytes;
        note.entries.entry_bytes = bytes;
        tell(vidmm, &note);
        at += range.count;
    } while (at < count);

    /* The second word of an entry that has two pointers. */
    if (update->pPageTableEntries64KB) {
        struct vidmm_note note = {.kind = VIDMM_NOTE_ENTRIES,
                                  .entries = entry_note(update->pPageTableEntries64KB)};

        note.entries.operation = vidmm->notes.operations;
        note.entries.process = process;
        note.entries.level = update->PageTableLevel;
        note.entries.is_64k = true;
        note.entries.va = update->FirstPteVirtualAddress;
        note.entries.count = update->Flags.Repeat ? count : 1;
        note.entries.entry_bytes = bytes;
        tell(vidmm, &note);
    }
}

void note_operation(struct vidmm *vidmm, const struct job *job,
                    const DXGKARG_BUILDPAGINGBUFFER *arguments)
{
    const struct vidmm_process *process = process_of(vidmm, miniport_operation_process(arguments));
    const struct vidmm_allocation *subject = job ? allocation_of_job(job) : NULL;

    vidmm->notes.has_told_wait = false;
    vidmm->notes.operations++;
    if (job)
        vidmm->notes.building = vidmm->notes.operations;
    tell(vidmm, &(struct vidmm_note){.kind = VIDMM_NOTE_OPERATION,
                                     .operation = {.number = vidmm->notes.operations,
                                                   .job = job ? job->number : 0,
                                                   .job_name = job ? name_of(job) : NULL,
                                                   .arguments = arguments,
                                                   .allocation = noted(subject),
                                                   .process = process}});
    if (arguments->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE)
        tell_entries(vidmm, process, &arguments->UpdatePageTable);
}

void note_operation_built(struct vidmm *vidmm, struct vidmm_note_operation_built *built)
{
    built->number = vidmm->notes.building;
    tell(vidmm, &(struct vidmm_note){.kind = VIDMM_NOTE_OPERATION_BUILT, .built = *built});
}

/* ---- Submissions and packets ----------------------------------------------------------------- */

void note_submission(const struct submission *submission)
{
    const struct vidmm_context *context = submission->context;
    uint32_t bytes =
        submission->va_bytes ? submission->va_bytes : submission->dma_end - submission->dma_start;

    tell(context->device->vidmm,
         &(struct vidmm_note){.kind = VIDMM_NOTE_SUBMISSION,
                              .submission = {
                                  .number = submission->sequence,
                                  .context = context,
                                  .node = context->node,
                                  .is_present = submission->is_present,
                                  .is_null = submission->is_null,
                                  .va = submission->va,
                                  .bytes = bytes,
                                  .reference_count = submission->reference_count,
                                  .references = submission->references,
                              }});
}

/* What the packet is, by the one who submitted it. */
static void describe(const struct vidsch_packet *packet, struct vidmm_note_packet *note)
{
    note->kind = (enum vidmm_packet_kind)packet->ops->kind;
    if (note->kind == VIDMM_PACKET_PAGING) {
        const struct paging_submission *paging =
            container_of(packet, struct paging_submission, packet);

        note->subject = paging->number;
        note->driver_context =
            paging->companion ? paging->companion->driver_context : paging->driver_context;
        note->bytes = paging->end - paging->start;
    } else if (note->kind == VIDMM_PACKET_SUBMISSION) {
        const struct submission *submission = container_of(packet, struct submission, packet);

        note->subject = submission->sequence;
        note->driver_context = submission->context->driver_context;
        note->bytes = submission->va_bytes ? submission->va_bytes
                                           : submission->dma_end - submission->dma_start;
    }
}

void note_packet(void *vidmm, const struct vidsch_told *told)
{
    static const enum vidmm_packet_step steps[] = {
        [VIDSCH_QUEUED] = VIDMM_PACKET_QUEUED,
        [VIDSCH_SUBMITTED] = VIDMM_PACKET_SUBMITTED,
        [VIDSCH_CAME_BACK] = VIDMM_PACKET_CAME_BACK,
        [VIDSCH_RETIRED] = VIDMM_PACKET_RETIRED,
    };
    const struct vidsch_packet *packet = told->packet;
    struct vidmm_note note = {.kind = VIDMM_NOTE_PACKET,
                              .packet = {
                                  .step = steps[told->step],
                                  .number = packet->sequence,
                                  .node = told->node,
                                  .fence_id = packet->fence_id,
                                  .status = told->status,
                                  .queue_depth = told->in_flight,
                              }};

    describe(packet, &note.packet);
    if (told->step == VIDSCH_QUEUED && packet->wait_fence &&
        packet->wait_fence->value < packet->wait_value) {
        note.packet.wait_fence = packet->wait_fence;
        note.packet.wait_value = packet->wait_value;
    }
    tell(vidmm, &note);
}

/* ---- Fences ---------------------------------------------------------------------------------- */

void note_native_fence_value(struct vidmm *vidmm, const struct vidmm_native_fence *fence,
                             uint64_t value)
{
    tell(vidmm, &(struct vidmm_note){.kind = VIDMM_NOTE_FENCE_VALUE,
                                     .fence = {.fence = fence, .value = value}});
}

void note_paging_fence_value(const struct request *request, uint64_t value)
{
    const struct vidmm_device *device = request->device;

    if (value > device->paging_fence.waiters.value)
        tell(request->vidmm,
             &(struct vidmm_note){
                 .kind = VIDMM_NOTE_FENCE_VALUE,
                 .fence = {.device = device, .value = value, .request = request->number}});
}

uint64_t note_fence_waits(struct vidmm *vidmm, const struct vidmm_native_fence *fence,
                          uint64_t value)
{
    uint64_t number = ++vidmm->notes.fence_waits;

    tell(vidmm,
         &(struct vidmm_note){.kind = VIDMM_NOTE_FENCE_WAITS,
                              .fence_wait = {.number = number, .fence = fence, .value = value}});
    return number;
}

void note_fence_wait_ends(struct vidmm *vidmm, uint64_t number, NTSTATUS status)
{
    tell(vidmm, &(struct vidmm_note){.kind = VIDMM_NOTE_FENCE_WAIT_ENDS,
                                     .fence_wait = {.number = number, .status = status}});
}
