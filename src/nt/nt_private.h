/*
 * Inside of nt: the kernel as one driver sees it, and what every service begins with.
 *
 * Place      nt, private. service.c has the functions. Functions of one source for a few others are
 *            in the header of that source.
 * Model      A service finds its kernel by nt_current(), asks nt_require_irql() whether it may be
 *            called now, and tells nt_misuse() of rules that Windows does not stop the machine for.
 *            The state of one area is its own (area.h); struct nt has the state that several share.
 */
#ifndef DRYDOCK_NT_NT_PRIVATE_H
#define DRYDOCK_NT_NT_PRIVATE_H

#include "base/list.h"
#include "nt/area.h"
#include "nt/memory/pages.h"
#include "nt/memory/paging.h"
#include "nt/nt.h"
#include "nt/threads/scheduler.h"

#define NT_STOPPED_BYTES 4096u

struct boundary;
struct boundary_thread;
struct image;

struct nt {
    /* From nt_create() on. */
    const struct base_services *services;
    struct nt_host host;
    const struct nt_area *const *areas; /* NT_AREA_COUNT of them */
    void *states[NT_AREA_COUNT];        /* in the block of this structure */
    uint64_t block_bytes;
    struct machine *machine; /* NULL: none, or it has gone (nt_abandon()) */

    /* Who follows what the driver does; NULL: nobody. */
    void (*tell_entry)(void *context);
    void *entry_context;

    /* The driver, as the host has set it. */
    struct boundary *boundary; /* NULL: the driver is linked in */
    const struct image *image; /* the same */
    const char *image_name;
    const struct nt_lacking *lacking;
    const struct boundary_thread *first_thread; /* of the boundary: none of the driver's */
    const struct nt_callback *callbacks;
    size_t callback_count;

    /* The processor and its threads. */
    KIRQL irql;
    uint32_t held_locks; /* spin locks */
    struct nt_scheduler scheduler;
    struct {
        uint64_t most_ns; /* of an access; 0: none takes time */
        struct rng rng;
    } registers;

    /* State of several areas. */
    struct list objects;   /* of struct nt_object */
    struct list mappings;  /* of struct nt_mapping */
    struct nt_pages pages; /* host addresses of pool and mappings */

    struct nt_paging paging;
    uintptr_t user_start, user_end; /* nt_set_user_memory() */

    /* While an exception is dispatched, and at the end. */
    const void *explained;             /* the exception record of a fault in a service... */
    const char *explanation;           /* ...and the sentence about it */
    char stopped_at[NT_STOPPED_BYTES]; /* frames of the image at its bug check */
};

/* The state of an area, zeroed when the kernel began. */
#define NT_STATE(nt, area) ((nt)->states[NT_AREA_##area])

/* The kernel bound to this thread. A driver that runs without one is a mistake of its host. */
struct nt *nt_current(void);

/* Where the image called the service that runs; 0: nobody called, or the driver is linked in. */
uint64_t nt_caller(const struct nt *nt);

/* False: a thread of the driver, or one that serves its work items, runs. */
bool nt_is_first_thread(const struct nt *nt);

/* The service may be called at this IRQL and below; above it, a misuse. */
void nt_require_irql(struct nt *nt, const char *service, KIRQL highest);

#endif
