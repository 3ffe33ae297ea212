/*
 * Client rules, inside: what the files client_rules*.c share.
 *
 * Model      client_rules.c         | calls, residency, fences, hardware queues, allocations
 *            client_rules_address.c | addresses: reserve, map, free, tiles
 *            client_rules_memory.c  | what the CPU writes while the GPU uses it
 *            client_rules_sharing.c | resources and fences of several processes
 *            client_rules_events.c  | events that signals set
 *            client_rules_mutexes.c | keyed mutexes
 *            client_rules_told.c    | what these share: a breach, a fence's value, a handle
 */
#ifndef DRYDOCK_BENCH_EXEC_CLIENT_RULES_OWN_H
#define DRYDOCK_BENCH_EXEC_CLIENT_RULES_OWN_H

#include "bench/exec/client_rules.h"

#define MOST_BATCHES 32u
#define MOST_SOURCES 32u
#define MOST_WAITS   256u
#define MOST_HIDDEN  4u

/* Addresses come signed or cut to 48 bits. */
#define PLAIN_ADDRESS(va) ((va) & ((UINT64_C(1) << 48) - 1))

/* A wait that has not ended, or that the GPU has been given. */
struct wait {
    const struct seen_process *process; /* NULL: free */
    const struct d3dkmt_call *call;     /* of the CPU's; NULL: the GPU's */
    uint64_t event;                     /* of one of the CPU's that holds no call up */
    const struct seen_object *context;  /* of the GPU's */
    struct seen_object *fence;
    uint64_t value;
};

/* Memory of the client's that the GPU may not have read yet: commands, or what work reads. */
struct batch {
    const struct seen_process *process; /* NULL: free */
    struct seen_use use;
    uint64_t address, bytes, hash;
};

/* Where a lock was, that has ended. */
struct hidden {
    const struct seen_process *process; /* NULL: free */
    uint64_t address, bytes;
    unsigned allocation; /* its number */
};

struct client_rules {
    struct seen *seen;
    void (*told)(void *context, const struct client_breach *breach);
    void *context;
    uint64_t broken[CLIENT_RULE_COUNT];
    struct wait waits[MOST_WAITS];
    struct batch batches[MOST_BATCHES], sources[MOST_SOURCES];
    struct hidden hidden[MOST_HIDDEN];
    unsigned next_batch, next_source, next_hidden;
    /* What the batch of the call has written so far, where the client sees it. */
    const struct d3dkmt_call *writing;
    struct {
        uint64_t address, bytes;
    } written[MOST_SOURCES];
    unsigned written_count; /* MOST_SOURCES + 1: more than there is room for */
    /* Of the call that is looked at. */
    struct seen_process *process;
    const struct d3dkmt_call *call;
    bool is_work; /* the call hands in work */
    struct seen_work work;
};

/* ---- client_rules_told.c ---- */

void client_rules_break(struct client_rules *rules, enum client_rule rule, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* What the fence has now, as the client sees it; 0 where that cannot be read. */
uint64_t client_rules_value(const struct seen_object *fence);
/*
 * True: work of the context up to there has not ended, as a fence shows that is signalled behind
 * it. Without such a fence nobody knows.
 */
bool client_rules_is_running(const struct seen_use *use);
/* NULL: there is none; a handle of something that was destroyed is a breach, of OLD_HANDLE. */
struct seen_object *client_rules_find(struct client_rules *rules, D3DKMT_HANDLE handle);
struct seen_object *client_rules_find_by(struct client_rules *rules, D3DKMT_HANDLE handle,
                                         enum client_rule rule);

/* ---- client_rules_address.c ---- */

void client_rules_map(struct client_rules *rules, const D3DDDI_MAPGPUVIRTUALADDRESS *arguments);
void client_rules_reserve(struct client_rules *rules,
                          const D3DDDI_RESERVEGPUVIRTUALADDRESS *arguments);
void client_rules_free_addresses(struct client_rules *rules,
                                 const D3DKMT_FREEGPUVIRTUALADDRESS *arguments);
void client_rules_tiles(struct client_rules *rules,
                        const D3DKMT_UPDATEGPUVIRTUALADDRESS *arguments);

/* ---- client_rules_sharing.c ---- */

void client_rules_sharing(struct client_rules *rules);
void client_rules_sharing_ended(struct client_rules *rules);
/* The call signals it, or waits for it. */
void client_rules_fence_use(struct client_rules *rules, const struct seen_object *fence,
                            bool is_signal);

/* ---- client_rules_events.c ---- */

void client_rules_events(struct client_rules *rules);
void client_rules_events_ended(struct client_rules *rules);

/* ---- client_rules_mutexes.c ---- */

void client_rules_mutexes(struct client_rules *rules);
void client_rules_mutexes_closed(struct client_rules *rules);
/* Work of the call uses it. */
void client_rules_mutex_of(struct client_rules *rules, const struct seen_object *allocation,
                           const char *how);

/* ---- client_rules_memory.c ---- */

/* Before a call is made: has the client written over what has not run? */
void client_rules_look_at_memory(struct client_rules *rules);
/* What a batch is about to read and write, one packet; and behind the call. */
void client_rules_keep_source(struct client_rules *rules, const struct seen_access *access);
void client_rules_keep_batch(struct client_rules *rules);
/* A submission has failed; the process has ended. */
void client_rules_drop_sources(struct client_rules *rules);
void client_rules_forget_memory(struct client_rules *rules);
/* An unlock has ended; before a call that may show something there anew, and at the end. */
void client_rules_keep_hidden(struct client_rules *rules, const struct seen_object *allocation);
void client_rules_look_at_hidden(struct client_rules *rules);
/* Before a fence is awaited or destroyed: who has written its value? */
void client_rules_look_at_fence(struct client_rules *rules, const struct seen_object *fence);

#endif
