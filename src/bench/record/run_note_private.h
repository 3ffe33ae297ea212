/*
 * What the files that record the manager's notes share (run_record_manager.h).
 *
 * | file                 | notes                                                              |
 * | -------------------- | ------------------------------------------------------------------ |
 * | run_note_known.c     | none: what is known of objects, and numbers                        |
 * | run_record_manager.c | objects; the rest goes to the others                               |
 * | run_note_fences.c    | values of fences, and who waits for them                           |
 * | run_note_work.c      | requests, submissions, packets                                     |
 * | run_note_paging.c    | places of allocations, paging operations and what packet has which |
 */
#ifndef DRYDOCK_BENCH_RECORD_RUN_NOTE_PRIVATE_H
#define DRYDOCK_BENCH_RECORD_RUN_NOTE_PRIVATE_H

#include "bench/record/run_record_manager.h"

#include "base/bits.h"

struct run_record_object {
    uint64_t number;     /* in the record */
    uint64_t instance;   /* of a renamed allocation; 0: the first */
    uint64_t process;    /* of a device or a native fence: its process */
    const char *why;     /* it leaves its place; NULL: it does not */
    uint64_t request;    /* ... for this one */
    uint32_t segment[2]; /* of its places, the newer one behind; plus one; 0: none */
    struct vidmm_noted_run *runs[2];
    unsigned run_counts[2];
};

struct run_record_submission {
    uint64_t number, context, request, time_ns;
    unsigned node;
    bool is_present;
    size_t reference_count;
    struct record_submission_group *references;
};

/* Bytes of an operation in a paging submission. */
struct run_record_part {
    uint64_t operation, paging;
    bool is_last;
};

#define FENCE_REQUESTS 64u

/* A native fence, or the paging fence of a device, which has the number of the device. */
struct run_record_fence {
    const void *paging; /* as packets name it that wait; NULL: a native fence */
    uint64_t number, value;
    bool is_told, has_value;
    bool has_home, is_in_system;
    uint64_t address; /* where the GPU writes the value, of system memory or its own */
    /* Requests whose end a value of a paging fence tells, by the value. */
    struct {
        uint64_t value, request;
    } requests[FENCE_REQUESTS];
};

/* Until a fence has a value: a process, on the CPU, or a packet. */
struct run_record_wait {
    uint64_t number, fence, value;
    bool is_for_paging;
    uint64_t noted;  /* number of the manager's notes; 0: there are none */
    uint64_t packet; /* 0: a process */
};

/* ---- What all use: run_note_known.c ---------------------------------------------------------- */

#define ITEM(manager, kind, ...)                                                                   \
    RECORD_ITEM((manager)->record->record, kind, run_record_now((manager)->record), __VA_ARGS__)

/* A literal of the manager's, as the number of a text. */
static inline uint64_t run_note_word(const struct run_record_manager *manager, const char *literal)
{
    return record_literal(manager->record->record, literal);
}

/* Makes an array larger. False: there is no memory; nothing has changed. */
bool run_note_grow(void **array, size_t *room, size_t size);
/*
 * A number of the manager's in the record. A manager that is raised again (restart) counts anew,
 * and goes on there.
 */
static inline uint64_t run_note_numbered(struct run_record_manager *manager,
                                         enum run_record_count count, uint64_t number)
{
    if (!number)
        return 0;
    number += manager->bases[count];
    manager->last[count] = max_u64(manager->last[count], number);
    return number;
}

/* What is kept of an object of the manager. NULL: it is not known, or there is no memory. */
struct run_record_object *run_note_object_of(struct run_record_manager *manager,
                                             const void *pointer);
/* The same of the allocation, or the instance of it, that a note is about. */
struct run_record_object *run_note_allocation(struct run_record_manager *manager,
                                              const struct vidmm_noted_allocation *noted);
/* The number of an object in the record, and that of a device's process; 0: none. */
uint64_t run_note_number_of(struct run_record_manager *manager, const void *pointer);
uint64_t run_note_process_of(struct run_record_manager *manager, const struct vidmm_device *device);
/* The object ends: its pointer may name another one from here on. */
void run_note_forget(struct run_record_manager *manager, const void *pointer);

/* ---- run_note_fences.c ----------------------------------------------------------------------- */

/* By the number of a native fence, or of the device whose paging fence it is. NULL: there is none.
 */
struct run_record_fence *run_note_fence_of(struct run_record_manager *manager, bool is_paging,
                                           uint64_t number);
/* paging: of a paging fence, as packets name it; NULL: a native fence. */
void run_note_add_fence(struct run_record_manager *manager, const void *paging, uint64_t number);
void run_note_fence_ends(struct run_record_manager *manager, bool is_paging, uint64_t number);
void run_note_fence_value(struct run_record_manager *manager, const struct vidmm_note_fence *noted);
void run_note_fence_waits(struct run_record_manager *manager,
                          const struct vidmm_note_fence_wait *noted);
void run_note_fence_wait_ends(struct run_record_manager *manager,
                              const struct vidmm_note_fence_wait *noted);
/* A packet is queued that waits for a paging fence, unless that has the value. */
void run_note_packet_waits(struct run_record_manager *manager, uint64_t packet,
                           const struct vidmm_note_packet *noted);
/* The packet does not wait any more, whatever the fence has. */
void run_note_packet_goes_on(struct run_record_manager *manager, uint64_t packet, NTSTATUS status);
/* Where the driver is told that values of fences are. */
void run_note_fence_homes(struct run_record_manager *manager,
                          const DXGK_BUILDPAGINGBUFFER_NOTIFY_FENCE_RESIDENCY *notice);

/* ---- run_note_work.c ------------------------------------------------------------------------- */

void run_note_request(struct run_record_manager *manager, const struct vidmm_note_request *noted);
void run_note_request_waits(struct run_record_manager *manager,
                            const struct vidmm_note_request_waits *noted);
void run_note_victim(struct run_record_manager *manager, const struct vidmm_note_victim *noted);
void run_note_submission(struct run_record_manager *manager,
                         const struct vidmm_note_submission *noted);
/* Writes its item and frees its references. packet 0: it never went to the driver. */
void run_note_put_submission(struct run_record_manager *manager,
                             const struct run_record_submission *submission, uint32_t fence,
                             uint64_t packet);
void run_note_packet(struct run_record_manager *manager, const struct vidmm_note_packet *noted);

/* ---- run_note_paging.c ----------------------------------------------------------------------- */

void run_note_departs(struct run_record_manager *manager, const struct vidmm_note_departs *noted);
void run_note_placed(struct run_record_manager *manager, const struct vidmm_note_place *noted);
void run_note_left(struct run_record_manager *manager, const struct vidmm_note_place *noted);
void run_note_operation(struct run_record_manager *manager,
                        const struct vidmm_note_operation *noted);
void run_note_built(struct run_record_manager *manager,
                    const struct vidmm_note_operation_built *noted);
void run_note_job_ends(struct run_record_manager *manager, const struct vidmm_note_job *noted);
void run_note_entries(struct run_record_manager *manager, const struct vidmm_note_entries *noted);
/* The operations that have parts in this paging submission are in the packet. */
void run_note_in_packet(struct run_record_manager *manager, uint64_t paging, uint64_t packet);
/* All parts up to this paging submission have run, or have failed with it. */
void run_note_retire_parts(struct run_record_manager *manager, uint64_t paging);

#endif
