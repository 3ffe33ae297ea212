/*
 * Run record of the manager: each note of the memory manager (vidmm/notes.h) becomes an item of the
 * run's record.
 *
 * Place      bench. run_manager.c hands the notes in; run_record.h writes the items.
 * Model      Objects get the numbers that the trace has for the driver's handles. What the driver
 *            has no handle of has numbers of its own: DMA buffers from RUN_RECORD_OWN_NUMBERS on;
 *            instances of a renamed allocation, and processes of the physical model, from 1 on.
 *            A submission is written when it goes to the driver, with the time of the client's
 *            call. An operation is retired when the last packet with bytes of it has.
 *            The GPU's observer gives the value of a native fence and where it is written;
 *            NOTIFY_FENCE_RESIDENCY has told which fence that is. Without an observer, values are
 *            known when a wait is over.
 * Ownership  The record and the workload are borrowed.
 * Errors     Without memory an object has no number (0), or a submission no references; the record
 *            goes on.
 */
#ifndef DRYDOCK_BENCH_RECORD_RUN_RECORD_MANAGER_H
#define DRYDOCK_BENCH_RECORD_RUN_RECORD_MANAGER_H

#include "bench/record/run_record.h"
#include "trace/trace_handles.h"
#include "vidmm/notes.h"
#include "vidmm/vidmm.h"
#include "workload/workload.h"

#define RUN_RECORD_OWN_NUMBERS UINT64_C(1000000000)

#define RUN_RECORD_SEGMENTS 32u

struct run_record_object;
struct run_record_submission;
struct run_record_part;
struct run_record_fence;
struct run_record_wait;

/* What a manager counts, from 1 on. */
enum run_record_count {
    RUN_RECORD_REQUESTS,
    RUN_RECORD_JOBS,
    RUN_RECORD_OPERATIONS,
    RUN_RECORD_PACKETS_QUEUED,
    RUN_RECORD_SUBMISSIONS,
    RUN_RECORD_COUNTS
};

struct run_record_manager {
    struct run_record *record;
    const struct workload *workload;
    uint64_t bases[RUN_RECORD_COUNTS]; /* what the manager counts goes on behind these */
    uint64_t last[RUN_RECORD_COUNTS];
    uint64_t segment_bases[RUN_RECORD_SEGMENTS]; /* their GPU addresses, by id */
    struct trace_handles pointers; /* of the manager's objects: places in objects, from 1 */
    struct run_record_object *objects;
    size_t object_room;
    uint64_t buffers, instances, processes, contexts; /* so many there have been */
    struct run_record_submission *submissions;        /* that have not gone to the driver */
    size_t submission_count, submission_room;
    struct run_record_part *parts; /* of operations, in packets that have not retired */
    size_t part_first, part_end, part_room;
    uint64_t complete;               /* the operation that was complete last */
    struct run_record_fence *fences; /* native fences and paging fences that are there */
    size_t fence_count, fence_room;
    struct run_record_wait *waits; /* for values of fences, that go on */
    size_t wait_count, wait_room;
    uint64_t waits_begun; /* so many waits there have been */
};

/* A manager is about to be raised, the first or, in the same record, another one. */
void run_record_manager_init(struct run_record_manager *manager, struct run_record *record,
                             const struct workload *workload);
/* Submissions that never went to the driver are written now. */
void run_record_manager_fini(struct run_record_manager *manager);

/* A segment of the driver's: one call for each, when the manager has started. */
void run_record_manager_segment(struct run_record_manager *manager,
                                const struct vidmm_segment_info *segment);

/* The GPU writes the value of a native fence at a GPU address. */
void run_record_manager_fence_written(struct run_record_manager *manager, unsigned node,
                                      uint64_t address, uint64_t value);

/* A client begins to wait on the CPU for its device's paging fence, or has seen the value. */
void run_record_manager_paging_wait(struct run_record_manager *manager,
                                    const struct vidmm_device *device, uint64_t value,
                                    bool is_over);

/* The process is a program's, of this name. Gives its number; 0: it has none, or no record. */
uint64_t run_record_manager_process(struct run_record_manager *manager,
                                    const struct vidmm_process *process, const char *name);

/* vidmm_events.told, with the structure as its context. */
void run_record_manager_note(void *manager, const struct vidmm_note *note);

#endif
