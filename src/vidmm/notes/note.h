/*
 * Notes: what the manager does is told to the embedder's observer (vidmm/notes.h).
 *
 * Place      vidmm. Called where requests, places, jobs and packets change their state. Calls
 *            nothing of the manager: it reads what it is given.
 * Model      A place that tells asks notes_are_heard() of vidmm_private.h first, so that it costs
 *            one branch when nobody listens. All functions here are for a manager that is heard.
 *            What only notes need (numbers, what was told last) is in struct notes, in the request
 *            and in the job, and means nothing when nobody listens.
 */
#ifndef VIDMM_NOTE_H
#define VIDMM_NOTE_H

#include "vidmm/notes.h"
#include "vidmm/policy.h"
#include "vidmm/vidmm.h"

struct job;
struct mapping;
struct placement;
struct request;
struct segment;
struct submission;
struct vidmm;
struct vidmm_native_fence;
struct vidsch_told;

/* How the victim that room.c has found last was chosen. */
struct noted_choice {
    const struct vidmm_allocation *victim;
    struct vidmm_candidate candidate; /* allocation NULL: it was the first, and was not compared */
    bool is_over_budget;              /* only allocations of processes over their budget counted */
    unsigned compared, passed_over;
};

struct notes {
    bool is_heard;
    void (*tell_samples)(struct vidmm *vidmm); /* at the end of the pump */
    bool sample_is_due;                        /* sums of segments have changed */
    const struct request *serving; /* that is being served: for it others leave; NULL: none */
    uint64_t requests, jobs, operations, fence_waits; /* numbers that were given last */
    const struct vidmm_allocation *victim;            /* that leaves to make room */
    struct noted_choice choice;                       /* how it was found */
    uint64_t building;                                /* number of the paging queue's operation */
    bool has_told_wait; /* VIDMM_NOTE_QUEUE_WAITS since the last operation: why, and of which job */
    enum vidmm_queue_wait queue_wait;
    uint64_t waiting_job;
};

/* ---- Objects ---- */

void note_process(struct vidmm_process *process, bool is_there);
void note_device(struct vidmm_device *device, bool is_there);
void note_context(struct vidmm_context *context, bool is_there);
/* Any allocation or instance; it is in the list of its device. */
void note_allocation(const struct vidmm_allocation *allocation, bool is_there);
void note_native_fence(struct vidmm_process *process, const struct vidmm_native_fence *fence,
                       HANDLE driver_handle, bool is_there);
/* Its members are others than before; it ends: none. */
void note_list(const struct vidmm_list *list, bool ends);

/* ---- Requests ---- */

/* It waits in line, behind another one or behind none. */
void note_request(struct request *request, const struct request *before);
/* References that are given at once. */
void note_request_at_once(struct vidmm_device *device, const struct vidmm_list *list,
                          unsigned count, struct vidmm_allocation *const *allocations);
/* waits->number is filled in. */
void note_request_waits(struct request *request, struct vidmm_note_request_waits *waits);
void note_request_begins(const struct request *request);
void note_request_ends(const struct request *request, NTSTATUS status, uint64_t needed,
                       uint64_t available);
void note_given_up(const struct vidmm_device *device, const struct vidmm_list *list, unsigned count,
                   struct vidmm_allocation *const *allocations);
void note_offer(const struct vidmm_allocation *allocation);
/* kind: VIDMM_NOTE_BUDGET or VIDMM_NOTE_TRIM. */
void note_budget(enum vidmm_note_kind kind, const struct vidmm_process *process,
                 enum vidmm_budget_group group, uint64_t bytes);

/* ---- Places ---- */

/* With how it was chosen, if it is notes.victim. */
void note_departs(const struct vidmm_allocation *allocation, enum vidmm_departure how,
                  const char *reason);
void note_placed(const struct vidmm_allocation *allocation, const struct placement *place);
/* The place is still there. */
void note_left(const struct vidmm_allocation *allocation, const struct placement *place);
void note_state(const struct vidmm_allocation *allocation, unsigned former);
void note_range(struct vidmm *vidmm, const struct segment *segment, uint64_t offset, uint64_t bytes,
                enum vidmm_range_use use, bool is_taken);
/* Told unless all is as it was told last. */
void note_sample(struct vidmm *vidmm, struct segment *segment, uint64_t free, uint64_t wanted);
void note_mapping(const struct mapping *mapping, bool is_mapped);

/* ---- Work ---- */

void note_job(struct vidmm *vidmm, struct job *job);
void note_job_ends(struct vidmm *vidmm, const struct job *job, bool is_lost);
/* Told unless it waited for the same before. */
void note_queue_waits(struct vidmm *vidmm, enum vidmm_queue_wait wait, const struct job *job);
/* With its entries, if it writes any; job NULL: it is executed at once. */
void note_operation(struct vidmm *vidmm, const struct job *job,
                    const DXGKARG_BUILDPAGINGBUFFER *arguments);
/* Of the operation that was told of last; its number is filled in. */
void note_operation_built(struct vidmm *vidmm, struct vidmm_note_operation_built *built);
void note_submission(const struct submission *submission);
/* Of a native fence, with the value that it has. */
void note_native_fence_value(struct vidmm *vidmm, const struct vidmm_native_fence *fence,
                             uint64_t value);
/* Of a device, before the packets go that wait for the value; a value that it has is not told. */
void note_paging_fence_value(const struct request *request, uint64_t value);
/* Gives the number of the wait. */
uint64_t note_fence_waits(struct vidmm *vidmm, const struct vidmm_native_fence *fence,
                          uint64_t value);
void note_fence_wait_ends(struct vidmm *vidmm, uint64_t number, NTSTATUS status);
/* vidsch_events.told of the manager. */
void note_packet(void *vidmm, const struct vidsch_told *told);

#endif
