/*
 * Player, inside: its objects, shared by its files.
 *
 * Place      bench, private.
 *
 *            From the top down: a file calls those below it, and none above.
 *
 *            | file                  | what it does                                             |
 *            | player.c              | which function plays which operation; steps, life        |
 *            | player_translations.c | page tables against the pte lines, at the end            |
 *            | player_memory.c       | alloc, free and close lines                              |
 *            | player_access.c       | read and write lines: the CPU                            |
 *            | player_residency.c    | resident, evict and wait-paging lines                    |
 *            | player_renew.c        | renew lines                                              |
 *            | player_offer.c        | offer, reclaim, priority, budget and move lines          |
 *            | player_mapping.c      | map, unmap and pte lines                                 |
 *            | player_tile.c         | tile lines                                               |
 *            | player_fence.c        | fence lines                                              |
 *            | player_gpu.c          | lines about the GPU: power, hangs, resets, its end       |
 *            | player_escape.c       | escape lines                                             |
 *            | player_submit.c       | submit lines                                             |
 *            | player_fault.c        | fault lines                                              |
 *            | player_context.c      | contexts and their rings, opened and closed              |
 *            | player_wait.c         | waiting: player_advance()                                |
 *            | player_pump.c         | the way of a submission                                  |
 *            | player_make.c         | contexts of the manager, made, and made anew             |
 *            | player_commands.c     | commands, written and handed to the manager              |
 *            | player_ring.c         | room in the ring of command buffers (GpuMmu)             |
 *            | player_foreign.c      | private data and commands for another GPU's driver       |
 *            | player_clock.c        | what comes by itself: watchdog, samples, preemptions     |
 *            | player_objects.c      | allocations, mappings, requests                          |
 *            | player_addresses.c    | addresses that the workload leaves free                  |
 *            | player_inform.c       | informs the checking layer of what the client does       |
 *            | player_report.c       | findings, and why the player stopped                     |
 */
#ifndef DRYDOCK_BENCH_PLAYER_PRIVATE_H
#define DRYDOCK_BENCH_PLAYER_PRIVATE_H

#include "base/rng.h"
#include "bench/play/player.h"

#define PLAYER_PAGE_TABLE_WINDOW 256u /* requests of pte lines under way at once */
#define PLAYER_PREEMPTIONS       64u  /* of the fault "preemptions", in a run */
#define PLAYER_MOST_QUEUES       16u  /* of a context (option queues-per-context) */
#define PLAYER_ATTEMPTS          4u   /* of a call that fails for lack of memory */

/* Part of an allocation at an address of a process. */
struct player_mapping {
    struct player_mapping *next;
    struct player *player;
    uint32_t process;
    uint64_t va, offset, bytes;
    uint32_t protect; /* VIDMM_PROTECT_* */
    uint64_t driver_protection;
    bool is_tile; /* player_tile.c: 64 KiB that no unmap line is about */
    bool is_ready;
    NTSTATUS status; /* when ready */
};

/* A residency reference that a `resident` line took. */
struct player_hold {
    struct player_hold *next;
    uint32_t device;
};

struct player_allocation {
    struct vidmm_allocation *handle; /* NULL: not alive, or creation failed */
    struct player_mapping *mappings;
    struct player_hold *holds;
    uint64_t stamp;         /* token of the submission that looked at it last */
    uint32_t slot;          /* its place in that submission's references */
    uint32_t waiting_count; /* submissions not with the manager yet */
    uint32_t running_count; /* submissions with the manager */
    bool is_freed;          /* by the workload; destroyed when waiting_count is 0 */
    bool is_locked;         /* by a lock line */
    bool is_made;           /* by a line before its own, as a part of a resource */
};

enum submission_state {
    SUBMISSION_WAITING,
    SUBMISSION_REQUESTING,
    SUBMISSION_READY,
    SUBMISSION_RUNNING
};

struct submission {
    struct list link; /* in its context, in order */
    struct player *player;
    struct player_context *context;
    enum submission_state state;
    uint32_t op_index;
    uint64_t token;
    unsigned attempts;
    bool is_known_to_oracle; /* to the oracle */
    bool is_alone;           /* this try runs alone */
    bool is_requesting;      /* counted in player.requesting_count */
    bool is_resident;        /* holds residency references */
    bool is_reported;        /* the manager has called back */
    bool has_lost_reference; /* the workload freed what it uses while it ran */
    NTSTATUS status;
    uint64_t needed, available;
    struct run_refusal refusal; /* who refused it, when it failed */
    uint64_t paging_fence;      /* of its request */
    uint64_t first_key;         /* keys of automatic writes follow each other from here */
    uint64_t ring_start, ring_bytes;
    size_t bytes;              /* of this struct */
    unsigned allocation_count; /* distinct ones */
    uint32_t *ids;             /* behind handles */
    struct vidmm_allocation *handles[];
};

struct player_context {
    struct vidmm_context *handle;
    /* Where the kernel draws its presents; NULL: not yet, or never. */
    struct vidmm_context *kernels;
    uint32_t id, device, process;
    struct list submissions; /* running ones first */
    unsigned count;
    unsigned running_count;
    uint64_t unasked_token; /* submissions from this token on have asked for nothing yet */
    /* GpuMmu: command buffers, one behind the other, used and freed in order. */
    struct vidmm_allocation *ring;
    bool is_ring_resident, is_ring_locked;
    struct player_mapping ring_mapping;
    uint64_t ring_bytes, ring_head;
    uint64_t longest_command; /* of its lines, in bytes */
};

struct player_fence {
    struct vidmm_native_fence *handle; /* NULL: none */
    uint32_t number;                   /* that command buffers name it by */
    bool is_waiting;                   /* a wait line has not ended */
};

struct player_preemptions {
    struct machine_event event;
    struct rng rng;
    unsigned left;
    bool is_due;
};

/* The one request that a line has under way (player_request_done()). */
struct player_request {
    bool is_reported;
    NTSTATUS status;
    uint64_t needed, available; /* bytes, when it failed for lack of memory */
    struct run_refusal refusal; /* who refused it, when it failed */
    /* Its end, for the checking layer; device NULL: the checking layer is not informed. */
    struct check_client_event event;
    const void *allocation; /* of the event */
};

/* The `fault` line that is being played (player_fault.c). */
struct player_fault {
    enum workload_fault kind;
    bool is_under_way; /* its submission is queued, and has not ended */
    bool is_write;
    uint32_t node;
    uint64_t token; /* of its submission */
    uint64_t va;    /* that it reaches */
    struct player_mapping mapping;
    NTSTATUS status;  /* with which it ended ... */
    bool is_in_error; /* ... and whether its device was in error then */
};

/* How long nothing has moved on (player_wait.c). */
struct player_progress {
    uint64_t quiet_events;   /* since anything was seen to move on */
    uint64_t calls;          /* of the manager to the driver, when last seen */
    uint32_t op_index;       /* the operation that resets_before is about */
    uint64_t resets_before;  /* when that operation began to wait */
    uint64_t adapter_resets; /* ... after which the driver was asked for its fences */
};

struct player {
    /* Set by player_create(), and the same for the whole run. */
    struct player_config config;
    const struct base_services *services;
    const struct workload *workload;
    struct run_result *result;
    struct vidmm *vidmm;
    struct machine *machine;
    struct oracle *oracle;
    bool is_virtual, has_page_tables;
    unsigned queue_depth;
    uint8_t protections; /* enum workload_protection, and VIDMM_PROTECT_*: what entries can say */

    /* Objects, by their index in the workload. */
    struct vidmm_process **processes;
    struct vidmm_device **devices;
    struct player_context *contexts;
    uint64_t *stirring_contexts; /* bit i: a pump may move on what context i has (player_pump.c) */
    struct player_allocation *allocations;
    struct vidmm_allocation **live_handles; /* the handles that a tamper sees */
    struct player_fence fences[WORKLOAD_MAX_FENCES];
    uint32_t shown; /* the primary of the last show line that went well so far; WORKLOAD_NONE */
    struct list memories; /* that allocations are made over (player_memory.c) */

    /* Given out one after the other. */
    uint64_t va_next, va_end; /* addresses that no line names; empty: the manager chooses */
    uint64_t next_token;      /* of submissions */
    uint64_t next_tag;        /* of content */

    /* The operation that is being played, and its step. */
    uint32_t op_index;
    struct player_request request;
    struct run_step *step;
    struct vidmm_statistics step_start;

    /* Submissions: player_pump.c. */
    struct submission *alone; /* all others wait for it */
    unsigned running_count;   /* with the manager, all contexts */
    unsigned requesting_count;
    bool is_window_open; /* exclusive access: nothing is asked of the manager (IOMMU-001) */
    bool needs_pump, is_pumping;
    const struct vidmm_allocation *awaited_ring; /* a submission waits until it is settled */
    uint8_t *command;                            /* a command buffer being made */
    size_t command_room;

    /* Requests of pte lines. */
    unsigned page_table_pending;
    uint64_t page_table_failures;
    bool has_refused_page_table; /* told at its line: what the tables hold is not known */

    struct player_fault fault;
    struct player_forecast *forecast; /* player_forecast.c; NULL: nothing is told */

    struct player_mapping tile_update; /* of a tile line; its answer may come when that has ended */

    /* Waiting and stopping: player_wait.c, player_report.c. */
    struct player_progress progress;
    uint64_t samples_start_ns; /* when the samples of the result began */
    bool has_faulted, is_giving_up;
    bool has_ended; /* the adapter was stopped or removed: giving up is as it should be */
    enum player_stop stop;
    char stop_text[512];

    /* Events of the machine that come by themselves: player_clock.c, player_gpu.c. */
    struct machine_event watchdog;
    struct player_preemptions preemptions;
    uint64_t next_calibration_ns;
    bool shares_components;          /* another driver needs what the driver shares with it */
    struct machine_event removal;    /* of a `remove` line */
    struct nt_deferred late_removal; /* that came amid a call of the driver */
    bool is_asleep;                  /* the GPU, since a `power` line */
};

static inline const struct workload_op *player_op(const struct player *player, uint32_t op_index)
{
    return &player->workload->ops[op_index];
}

/* Of the submission of a line: it is not to run; the GPU time that it takes. */
static inline bool player_op_is_null(const struct workload_op *op)
{
    return op->kind == WORKLOAD_OP_SUBMIT && (op->flags & WORKLOAD_SUBMIT_NULL);
}

static inline uint64_t player_op_duration(const struct workload_op *op)
{
    return op->kind == WORKLOAD_OP_SUBMIT ? op->value : 0;
}

/* ---- Operations: each plays the line at op_index; false: stopped ----------------------------- */

/* player_play_<name>() for each row of the table of directives. */
#define OPERATION(NAME, name, ...)                                                                 \
    bool player_play_##name(struct player *player, uint32_t op_index);
#define VARIANT(...)
#define HEADER(...)
#include "workload/case/directives.inc"
#undef OPERATION
#undef VARIANT
#undef HEADER

/* ---- player_translations.c ------------------------------------------------------------------- */

bool player_check_translations(struct player *player);
/* Unmaps what the pte lines left. False: stopped. */
bool player_unmap_translations(struct player *player);

/* ---- player_memory.c ------------------------------------------------------------------------- */

/*
 * Frees it for the workload: at once, or when the last submission that waits to use it has started.
 * False: stopped.
 */
bool player_free(struct player *player, uint32_t allocation);
/* Behind a stop: what allocations that have not ended are made over. */
void player_free_memories(struct player *player);
/* Tiles are a matter of WDDM 1: above it, drivers are not told when the CPU looks. */
bool player_is_tiled(const struct player *player, const struct workload_allocation *allocation);

/* ---- player_access.c ------------------------------------------------------------------------- */

/*
 * The CPU writes what a submit line has the GPU write, when nothing uses the allocations: each with
 * its key, or fresh names. An allocation that cannot be locked is left alone. False: stopped.
 */
bool player_write_for_gpu(struct player *player, uint32_t op_index);

/* ---- player_mapping.c ------------------------------------------------------------------------ */

/*
 * By which lines map: the user-mode half of a driver maps whole pages of its GPU. Another GPU has
 * none of ours.
 */
uint64_t player_mapped_page_bytes(const struct player *player);
/*
 * player_map() for a line of the case, at an address that the line may name. Waits while a mapping
 * that a `free` or `unmap` line has ended still holds the address. False: stopped.
 */
bool player_map_for_line(struct player *player, uint32_t allocation, uint64_t offset,
                         uint64_t bytes, uint64_t va, uint32_t protect, uint64_t driver_protection,
                         NTSTATUS *out_status);

/* ---- player_tile.c --------------------------------------------------------------------------- */

/* Where the tile leads, an ordinary mapping of the same pages leads too, if there is one. */
void player_check_tile(struct player *player, uint32_t allocation,
                       const struct player_mapping *tile, uint64_t root);

/* ---- player_fence.c -------------------------------------------------------------------------- */

/* After all work that may signal it; nothing if there is none. False: stopped. */
bool player_destroy_fence(struct player *player, uint64_t index);

/* ---- player_gpu.c ---------------------------------------------------------------------------- */

/* The power is back, if it was off. */
void player_wake(struct player *player);

/* ---- player_submit.c ------------------------------------------------------------------------- */

/*
 * A submission of what the line refers to, which the caller queues in a context; NULL: no memory.
 */
struct submission *player_submission_create(struct player *player, uint32_t op_index);

/* ---- player_fault.c -------------------------------------------------------------------------- */

/* The submission of a fault line has ended so, and its device is in error or not. */
static inline void player_note_fault_status(struct player *player, NTSTATUS status,
                                            bool is_in_error)
{
    player->fault.status = status;
    player->fault.is_in_error = is_in_error;
}

/* The status is the one that such a submission is made to end with. */
static inline bool player_fault_is_answered(const struct player *player, NTSTATUS status)
{
    return player->fault.kind == WORKLOAD_FAULT_REFUSED && status == STATUS_INVALID_PARAMETER;
}

/* ---- player_context.c ------------------------------------------------------------------------ */

/* Each makes the object of that number; false: stopped. */
bool player_open_process(struct player *player, uint32_t id);
bool player_open_device(struct player *player, uint32_t id);
bool player_open_context(struct player *player, uint32_t id);
NTSTATUS player_context_open(struct player *player, uint32_t id);
/* Notes the longest command of each context, before any is opened. */
void player_measure_commands(struct player *player);
bool player_context_close(struct player *player, struct player_context *context);
/* Those that are chosen, which are closed: nothing of them runs. */
void player_destroy_contexts(struct player *player,
                             bool (*is_chosen)(const struct player *player, uint32_t id,
                                               const void *choice),
                             const void *choice);
/* An allocation of the player's own, in system memory by preference: no line names it. */
NTSTATUS player_own_allocation(struct player *player, const struct player_context *context,
                               uint64_t bytes, struct vidmm_allocation **out_allocation);
/* Holds it resident until player_evict(). STATUS_UNSUCCESSFUL: stopped, among others. */
NTSTATUS player_own_resident(struct player *player, struct vidmm_device *device,
                             struct vidmm_allocation **allocation);

/* ---- player_wait.c: false: stopped ----------------------------------------------------------- */

/*
 * Lets something happen: acts on callbacks that have come, else runs one event. False: stopped (the
 * reason is noted), so that every wait is `while (!done) if (!player_advance(p)) return false`.
 */
bool player_advance(struct player *player);
/* The manager has something to do, or is to be asked to go on. */
bool player_manager_is_busy(const struct player *player);
bool player_wait_context(struct player *player, struct player_context *context);
/* Until nothing at all is pending. */
bool player_wait_idle(struct player *player);
/* Asks the driver what it takes for complete, where little or nothing is under way. */
void player_ask_for_fences(struct player *player);
/* Until player_request_done() has been called. */
bool player_wait_request(struct player *player);

/* ---- player_make.c --------------------------------------------------------------------------- */

/* The context whose driver's context it is to have: itself, or one that was declared before. */
uint32_t player_first_context(const struct player *player, uint32_t id);
/* The manager's context, without a ring. */
NTSTATUS player_context_make(struct player *player, uint32_t id);

/* ---- player_pump.c --------------------------------------------------------------------------- */

/* Takes each submission as far as it goes now; true if any has moved. */
bool player_pump(struct player *player);
/* The submission becomes the last of the context, and is taken as far as it goes. */
void player_queue(struct player *player, struct player_context *context,
                  struct submission *submission);
/* The manager has said something of what the context has: the next pump looks at it. */
void player_context_stirs(struct player *player, const struct player_context *context);
void player_abandon_submissions(struct player *player);

/* ---- player_commands.c ----------------------------------------------------------------------- */

/* The bytes of a submission's commands: a RENDER packet, and one that signals a fence. */
uint64_t player_command_bytes(const struct player *player, const struct workload_op *op);
/* Writes the commands, at ring_start in GpuMmu, and gives them to the manager. */
NTSTATUS player_hand_over(struct player *player, struct submission *submission);
/*
 * The manager's answer to a request for residency, and the end of a submission that was handed
 * over.
 */
void player_submission_done(void *context, NTSTATUS status, uint64_t needed, uint64_t available);
void player_release_residency(struct player *player, struct submission *submission);

/* ---- player_ring.c --------------------------------------------------------------------------- */

/* Takes a command buffer for the submission; false: not before an earlier one has ended. */
bool player_ring_take(struct player_context *context, struct submission *submission,
                      uint64_t bytes);
/* The CPU writes; false when nothing answers there. */
bool player_ring_write(struct player *player, struct player_context *context, uint64_t offset,
                       const uint8_t *from, uint64_t bytes);

/* ---- player_forecast.c: nothing without a policy that goes by forecasts ---------------------- */

void player_forecast_begin(struct player *player);
void player_forecast_end(struct player *player);
/* The allocation has been made. */
void player_forecast_made(struct player *player, uint32_t id);
/* The submission of a line has been queued, asks the manager for residency, or has ended. */
void player_forecast_queued(struct player *player, uint32_t op_index);
void player_forecast_asked(struct player *player, uint32_t op_index);
void player_forecast_done(struct player *player, uint32_t op_index);

/* ---- player_foreign.c: the driver is of another GPU than the Drydock GPU --------------------- */

/*
 * Private data by the run's templates, or by the user-mode half of the GPU's model; the caller
 * frees it. False: there is none, or no memory.
 */
bool player_foreign_allocation_data(struct player *player, uint64_t size, uint32_t flags,
                                    uint32_t index, uint8_t **out_data, uint32_t *out_bytes);
bool player_foreign_context_data(struct player *player, uint32_t index, uint8_t **out_data,
                                 uint32_t *out_bytes);
/*
 * Whether the GPU tells what the client's work touches: its model has a user-mode half that makes
 * commands.
 */
bool player_follows_work(const struct player *player);
/* Commands of a submission; 0 bytes: it has none. False: no memory. */
uint64_t player_foreign_command_bytes(const struct player *player, const struct workload_op *op);
bool player_foreign_command(struct player *player, const struct submission *submission,
                            uint8_t *out, uint64_t bytes);

/* ---- player_clock.c -------------------------------------------------------------------------- */

/* Lets the manager look at the clock from now on, when the run has a watchdog. */
void player_start_watchdog(struct player *player);
void player_stop_watchdog(struct player *player);
/*
 * The fault "preemptions": PLAYER_PREEMPTIONS times in a run, at moments and on nodes that the seed
 * draws, the manager has a node preempted. Carried out between two events of the machine, whatever
 * packet is being executed.
 */
void player_start_preemptions(struct player *player);
void player_stop_preemptions(struct player *player);
void player_preempt_when_due(struct player *player);
/* Between two lines of the workload: the clock of each node, the first time at once. */
void player_calibrate_when_due(struct player *player);
/* Between two lines, too: another driver begins or ends to need the components that are shared. */
void player_share_components(struct player *player);

/* Whether or not it is time for one: how full local memory is goes to the samples of the result. */
void player_take_sample(struct player *player);

/* ---- player_objects.c: nothing here waits ---------------------------------------------------- */

/* Fresh names for the content of a range. */
uint64_t player_take_tags(struct player *player, uint64_t offset, uint64_t bytes);
/*
 * The key of a reference that is written: the case's, or the next fresh names. Called for the
 * references in order, with *tag starting at submission->first_key.
 */
uint64_t player_key_of(const struct workload_ref *ref, uint64_t *tag);

/*
 * The manager's id for a place of the workload; false: there is no such segment. Where the driver
 * has no memory segment at all, system memory (0) is in the place of local memory.
 */
bool player_segment_id(const struct player *player, enum workload_segment segment,
                       unsigned *out_id);
/* Whether the driver is of another GPU than the Drydock GPU. */
bool player_is_foreign(const struct player *player);
/* The engine that a case means by this number: a foreign driver may have fewer. */
unsigned player_node(const struct player *player, unsigned node);

/* A mapping of the allocation in the process that holds the range; NULL: there is none. */
struct player_mapping *player_find_mapping(struct player *player, uint32_t allocation,
                                           uint32_t process, uint64_t offset, uint64_t bytes,
                                           bool is_written);
/* Asks the manager for a mapping; NULL: the status says why not. */
struct player_mapping *player_map(struct player *player, uint32_t allocation, uint32_t process,
                                  uint64_t offset, uint64_t bytes, uint64_t va, uint32_t protect,
                                  uint64_t driver_protection, NTSTATUS *out_status);
void player_mapping_done(void *context, NTSTATUS status, uint64_t needed, uint64_t available);
void player_page_table_done(void *context, NTSTATUS status, uint64_t needed, uint64_t available);

/* The end of a request of one line; player_wait_request() waits for it. */
void player_request_done(void *context, NTSTATUS status, uint64_t needed, uint64_t available);

/* Gives back the references of `resident` lines: the first of the device, or all. */
void player_drop_holds(struct player *player, struct player_allocation *entry, uint32_t device,
                       bool all);
void player_drop_holds_of_device(struct player *player, struct player_allocation *entry,
                                 uint32_t device);
/* Destroys an allocation that was freed, unless a submission still waits to use it. */
void player_bury(struct player *player, uint32_t allocation);
/* Ends the access of a lock line, if there is one. */
void player_unlock(struct player *player, uint32_t allocation);

/* ---- player_inform.c: nothing when rules are not checked ------------------------------------- */

void player_inform(struct player *player, const struct check_client_event *event);
/* An event about one allocation. */
void player_inform_of(struct player *player, enum check_client_kind kind,
                      const struct vidmm_allocation *allocation, NTSTATUS status);
/* MAKE_RESIDENT, RESIDENT and EVICT. */
void player_inform_request(struct player *player, enum check_client_kind kind,
                           const struct vidmm_device *device, unsigned count,
                           struct vidmm_allocation *const *allocations, NTSTATUS status,
                           uint64_t fence);
/* QUEUED and ENDED. Nothing is told of work that names no allocations: that of a virtual model. */
void player_inform_work(struct player *player, enum check_client_kind kind,
                        const struct submission *submission);
/*
 * player_request_done() will inform of the end of this request; its fence value goes to
 * request.event.fence.
 */
void player_expect_request(struct player *player, const struct vidmm_device *device,
                           const struct vidmm_allocation *allocation, bool is_reclaim);
/* vidmm_evict(), of which the checking layer is informed. */
void player_evict(struct player *player, struct vidmm_device *device, unsigned count,
                  struct vidmm_allocation *const *allocations);
void player_inform_budgets(struct player *player);
/* The GPU hangs: work that does not end from here on is not the driver's doing. */
void player_inform_hang(struct player *player, uint32_t node);

/* ---- player_addresses.c ---------------------------------------------------------------------- */

/* Finds the widest gap between the addresses that the workload names. False: no memory. */
bool player_survey_addresses(struct player *player);

/* An address for so many bytes that no line will use; 0 leaves it to the manager. */
uint64_t player_choose_va(struct player *player, uint64_t bytes);

/* ---- player_report.c ------------------------------------------------------------------------- */

/* A finding about an operation: "FILE:LINE: text". */
struct run_finding *player_report(struct player *player, uint32_t op_index, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/*
 * The same of what the manager has answered with a failure: "... failed with status 0x...: who
 * refused it". The rest of the text is what was asked for.
 */
struct run_finding *player_report_failure(struct player *player, uint32_t op_index, NTSTATUS status,
                                          const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/*
 * The same for what ends some time after it was asked for: the refusal is that of its end, which
 * player_take_refusal() keeps in the callback. The status is the caller's to say.
 */
struct run_finding *player_report_late(struct player *player, uint32_t op_index,
                                       const struct run_refusal *refusal, NTSTATUS status,
                                       const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void player_take_refusal(struct player *player, NTSTATUS status, struct run_refusal *out_refusal);

/*
 * The rule of a finding (NULL: none) about a translation: the one that the checking layer saw
 * broken before, else the suggested one.
 */
void player_name_translation_rule(const struct player *player, struct run_finding *finding,
                                  enum rule_id suggested);
/* Always false. The first reason stays. */
bool player_stop_with(struct player *player, enum player_stop stop, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* True, and counted, when a call that failed so should be repeated. */
bool player_should_repeat(struct player *player, NTSTATUS status, unsigned *attempts);

#endif
