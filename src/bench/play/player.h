/*
 * Player: plays a workload over the memory manager the way applications would.
 *
 * Place      bench. Uses vidmm, workload, machine, sgpu and the oracle. Is to the manager what
 *            user-mode driver and runtime are: it makes private data and command buffers, keeps
 *            residency, maps addresses, waits for fences.
 * Model      Operations are played in order. Operations that wait let the machine run until their
 *            event has happened; submissions do not wait but for a place in the queue of their
 *            context. Callbacks of the manager only note what happened, and player_advance() acts
 *            on it, so the manager is never entered from inside itself.
 *
 *            A submission, both models:
 *
 *            | state      | waits for                                                           |
 *            | WAITING    | its turn, its mappings, and nobody who must run alone               |
 *            | REQUESTING | GpuMmu: all that it refers to, resident                             |
 *            | READY      | GpuMmu: room in the context's ring of command buffers               |
 *            | RUNNING    | the GPU                                                             |
 *
 *            GpuMmu makes resident, writes a command buffer, submits, and takes its references
 *            back when the submission has run: so the order in which submissions end is the
 *            order of last use. The physical model hands the whole to vidmm_render().
 *            A submission that finds no room while others run is tried once more alone (GpuMmu; in
 *            the physical model the manager waits for them); then it
 *            is a failed submission, a finding that names line, context and sizes, and the run
 *            goes on without it.
 *
 *            An allocation that is freed while submissions wait is destroyed as soon as the last
 *            of them is with the manager. `step` waits for everything, so that what a step
 *            counts is its own. A call that fails with STATUS_NO_MEMORY is repeated.
 * Ownership  player_create() gives the player, which borrows all that it is given.
 * Errors     player_play(): false when it had to stop early; stop_reason says why.
 */
#ifndef DRYDOCK_BENCH_PLAYER_H
#define DRYDOCK_BENCH_PLAYER_H

#include "bench/config/run_config.h"
#include "bench/run/run_result.h"

#include "base/list.h"
#include "check/check.h"
#include "check/oracle/oracle.h"
#include "nt/nt.h"

struct player_config {
    const struct run_config *run;
    const struct workload *workload;
    struct machine *machine;
    struct sgpu *gpu;           /* NULL: another one, or none */
    struct gpu_plugin *plugin;  /* that other one */
    struct client_file *client; /* the driver's user-mode half; NULL: the bench's own */
    struct nt *nt;              /* the driver's kernel; NULL: nobody asks */
    struct vidmm *vidmm;
    const struct vidmm_platform *platform; /* the manager's: system pages for clients, too */
    struct oracle *oracle;                 /* NULL: content is not checked */
    struct check *check; /* NULL: rules are not checked; told what the application does */
    struct run_result *result;
    /* The CPU begins to wait for a device's paging fence, or has seen the value. NULL: nobody asks.
     */
    void (*paging_wait)(void *context, const struct vidmm_device *device, uint64_t value,
                        bool is_over);
    void *context;
};

struct player;

/* Why the player stopped before the end. */
enum player_stop {
    PLAYER_NOT_STOPPED,
    PLAYER_OBJECT,  /* a process, device or context could not be created */
    PLAYER_CLIENT,  /* the client's file did what drydock/client.h does not allow */
    PLAYER_FAULTED, /* the GPU stopped on a fault, and everything waits for it */
    PLAYER_STUCK,   /* something is pending and nothing will happen: an error of ours */
    PLAYER_ENDED,   /* the adapter was stopped or removed, as the workload says, or given up */
};

NTSTATUS player_create(const struct player_config *config, struct player **out_player);

/*
 * The manager has ended the adapter by itself: the player stops, or goes on taking everything down.
 */
void player_adapter_ended(struct player *player);

/*
 * Plays the first lines, at most so many, and waits for them. Behind the last line page tables are
 * compared with what the workload's lines say.
 */
bool player_play(struct player *player, uint32_t most_lines);
enum player_stop player_stop_reason(const struct player *player, char text[512]);

/*
 * After a stop: makes the manager drop the work that the GPU has (vidmm_abort; not of an adapter
 * that has ended, of which everything ends by itself), forgets what waits, and goes on as if it had
 * never been stopped, so that everything can be taken down. Where an object could not be created
 * the GPU still answers: the work that was played until then ends first.
 */
void player_give_up(struct player *player);

/*
 * Destroys the objects that are alive, in order, and waits until the manager is idle. False: it got
 * stuck.
 */
bool player_take_down(struct player *player);

/* Frees the player. After a stop, its objects in the manager are left there. */
void player_destroy(struct player *player);

/* Line of the case whose submission has this token; 0 when there is none. */
uint32_t player_line_of(const struct player *player, uint64_t token);

/* The manager's events.page_fault, and the GPU's. */
void player_note_fault(struct player *player);
/* The allocation that the display shows, or is about to. False: none. */
bool player_shown(const struct player *player, uint32_t *out_allocation, uint64_t *out_bytes);
/* The case makes this fault on purpose: a `fault` line is being played. */
bool player_expects_fault(const struct player *player, uint32_t node, uint64_t token,
                          uint64_t address);

/* The manager says that a reset took what the allocation held. */
void player_note_lost(struct player *player, const struct vidmm_allocation *allocation);

#endif
