/*
 * Allocation state: the life of an allocation, and the one function that changes its state.
 *
 * Place      vidmm. Used by everything that moves an allocation or gives it content.
 * Model
 *                           place               entered
 *             EMPTY ---------------> ENTERING ----------> RESIDENT
 *              |  ^                    ^   ^               |  |  ^
 *        lock, |  | offered            |   |   map again   |  |  |
 *         map, |  | pages go           |   +---------------+  |  | moved
 *       rename |  |         place      |                      |  |
 *              v  |  +-----------------+     leave, drop, move|  |
 *             BACKED                                          v  |
 *                ^                 left                     LEAVING
 *                +---------------------------------------------+
 *
 *             event                     from                          to
 *             create                    -                             EMPTY
 *             dropped                   LEAVING                       EMPTY
 *             die                       EMPTY, BACKED, RESIDENT       DYING, then freed
 *             died, others of its       DYING                         EMPTY
 *             instances live (rename.c)
 *             reset, it is wanted       ENTERING, RESIDENT, LEAVING   BACKED in its place, and it
 *                                                                     enters again
 *             reset, nobody wants it    ENTERING, RESIDENT, LEAVING   LEAVING, then BACKED or EMPTY
 *
 *            Entering, leaving, moving and dying are jobs of the paging queue. The first half of
 *            the change is made when the job is queued, the second half by the job's finished
 *            function, when the last packet of the job has retired. A reset (recovery.c) changes
 *            states without a job: content and jobs are lost.
 * Lists      State and users decide on which list of the manager an allocation is:
 *                an LRU list of its segment   RESIDENT, and nobody holds it
 *                vidmm->offered               BACKED and offered
 *                vidmm->dying                 destroyed; nobody holds or uses it; no job moves it
 *            They also decide which byte counter of its segment includes it: leaving (LEAVING,
 *            DYING), doomed (destroyed), or none. While it moves, it has two places: none.
 */
#ifndef VIDMM_ALLOCATION_STATE_H
#define VIDMM_ALLOCATION_STATE_H

enum allocation_state {
    ALLOCATION_EMPTY,    /* no content yet, no place      */
    ALLOCATION_BACKED,   /* content in the backing store  */
    ALLOCATION_ENTERING, /* placed; paging in             */
    ALLOCATION_RESIDENT, /* usable by the GPU             */
    ALLOCATION_LEAVING,  /* paging out, or moving         */
    ALLOCATION_DYING,    /* destroyed; last operations    */
};

struct vidmm_allocation;

const char *allocation_state_name(enum allocation_state state);

/* Changes the state, which must be lawful, and what follows from it: lists and byte counters. */
void allocation_set_state(struct vidmm_allocation *allocation, enum allocation_state state);

/* A destroyed allocation that nobody holds and nothing moves waits for its last work to retire. */
void allocation_bury_if_dead(struct vidmm_allocation *allocation);

/* The system pages of an offered allocation that is BACKED may be dropped. */
void allocation_list_if_offered(struct vidmm_allocation *allocation);
/* It is on no list then. */
void allocation_leave_list(struct vidmm_allocation *allocation);

#endif
