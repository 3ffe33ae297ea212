/*
 * Requests: a list of allocations that must be resident together, or tables that need memory.
 *
 * Place      vidmm. Whoever needs allocations resident makes a request: clients, submissions,
 *            mappings that wait for memory of their tables. residency.h serves them.
 * Model      Requests are served in order. Until its turn comes a request holds nothing.
 * Ownership  A request is the caller's until request_queue(); then done() is called once, and the
 *            request is freed.
 * Errors     STATUS_NO_MEMORY when it is made; done() hears STATUS_GRAPHICS_NO_VIDEO_MEMORY or why
 *            it could not be served.
 * Source     contract.md RES-001..005.
 */
#ifndef VIDMM_REQUEST_H
#define VIDMM_REQUEST_H

#include "vidmm/notes.h"
#include "vidmm/paging/job.h"
#include "vidmm/vidmm.h"

struct request {
    struct list link; /* in vidmm->requests, then, while it waits for its value, ->signalling */
    struct vidmm *vidmm;
    struct vidmm_device *device;
    vidmm_done done;
    void *context;
    struct vidmm_list *list; /* that asks; NULL: none does */
    uint64_t fence_value;    /* 0: none */
    /*
     * A request for page tables instead of allocations: makes them and queues the job, or says
     * STATUS_GRAPHICS_NO_VIDEO_MEMORY to be asked again; done then has subject as its context.
     */
    NTSTATUS (*make_tables)(void *subject);
    uint64_t table_bytes;
    bool is_active;    /* its references are held */
    bool must_succeed; /* or the device is in error */
    bool has_restored; /* page tables of its allocations: their jobs come first */
    bool is_reclaim;   /* references that were put aside come back with it */
    bool has_ended;    /* by its value in memory, before its barrier's packet has retired */
    /* What notes tell of it (notes/note.h). */
    enum vidmm_request_kind kind;
    uint64_t number;
    bool has_told_wait;
    struct vidmm_note_request_waits told_wait; /* the last one */
    unsigned resorts;                          /* last resorts that have been tried (residency.c) */
    unsigned count;
    unsigned placed;
    struct job barrier;
    size_t bytes; /* of this struct */
    struct vidmm_allocation *allocations[];
};

/* Gives a request that holds the allocations when done(STATUS_SUCCESS) is called. */
NTSTATUS request_create(struct vidmm_device *device, unsigned count, vidmm_done done, void *context,
                        struct request **out_request);
NTSTATUS request_create_for_tables(struct vidmm *vidmm, uint64_t table_bytes,
                                   NTSTATUS (*make_tables)(void *subject), vidmm_done done,
                                   void *subject, struct request **out_request);
void request_free(struct request *request);
void request_queue(struct request *request);
/* Before all that wait: in the place of a request that has just ended. */
void request_queue_first(struct request *request);

#endif
