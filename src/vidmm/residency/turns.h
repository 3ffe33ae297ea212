/*
 * Turns: processes whose memory does not fit together use it one after the other.
 *
 * Place      vidmm. residency.c asks which request is to be served, room.c how far the turn of a
 *            candidate's process is, ahead.c what is to come in for a turn.
 * Model      One process has the turn, for turn_ns of the policy as long as it has work and others
 *            wait; the order is that of the manager's list of processes. What leaves a process that
 *            does not have the turn, and was used in its last one or since the one before, is away:
 *            it stands in a list of its process, in the order in which it left, until it comes in
 *            again or goes. While nothing is away and a request fits into what is free, nobody
 *            waits for a turn.
 * Errors     None.
 * Units      Nanoseconds of the platform's clock; bytes.
 */
#ifndef VIDMM_TURNS_H
#define VIDMM_TURNS_H

#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>

struct request;
struct vidmm;
struct vidmm_allocation;
struct vidmm_device;
struct vidmm_process;

/* Of one process. */
struct process_turn {
    struct list away; /* allocations (LISTED_AWAY), the first that left first */
    uint64_t ended;   /* vidmm->submitted + 1 when its last turn ended; 0: none has */
    uint64_t from;    /* the same of the turn in front of its last one: its set begins there */
    unsigned order;   /* 0: it has the turn; VIDMM_NO_TURN: it waits for none */
};

struct turns {
    struct vidmm_process *holder; /* NULL: nobody has had a turn yet */
    uint64_t since_ns;            /* the holder has had what it needs since then */
    uint64_t worked_ns;           /* the holder was last seen to have work then */
    uint64_t away_bytes;          /* of all processes */
    bool has_newcomer;            /* a request waits of a process without a place in the order */
};

void turns_init(struct vidmm_process *process);
/* The process is being destroyed. */
void turns_forget(struct vidmm_process *process);

/* The policy has turns. */
bool turns_are_taken(const struct vidmm *vidmm);

/*
 * The request that is to be served, which is moved to the front of the line; NULL: all have to wait
 * for what is under way. There is a request.
 */
struct request *turns_choose(struct vidmm *vidmm);

/* A request or a submission of the device has ended: its process is not idle before now. */
void turns_note_work(struct vidmm_device *device);

/* What comes in next, for the process that has the turn or the one behind it; NULL: nothing. */
struct vidmm_allocation *turns_next_away(const struct vidmm *vidmm);
/* It comes in now. */
void turns_note_coming(struct vidmm_allocation *allocation);
/* Whether it may leave for what turns_next_away() gave: its own turn is farther. */
bool turns_are_farther(const struct vidmm_allocation *victim,
                       const struct vidmm_allocation *coming);

#endif
