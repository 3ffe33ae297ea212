/*
 * Run record: what happens in a run, written into its record (record/record.h).
 *
 * Place      bench. Fed by the trace layer's sink, the GPU's observer, the player's steps, the
 *            driver's prints and the memory manager's events; one function for each of them.
 * Model      Objects have the numbers of the trace: allocation a1 is 1. A packet is known to the
 *            GPU by its node and fence; run_record_packet_submitted() says which number that is.
 * Ownership  The file of the configuration is the caller's; what was recorded is in it behind
 *            run_record_close(). A run that is not recorded has no `record`, and every function
 *            does nothing then.
 * Errors     A record that cannot be written is given up, and the run goes on;
 *            run_record_close() puts the reason into the result.
 */
#ifndef DRYDOCK_BENCH_RECORD_RUN_RECORD_H
#define DRYDOCK_BENCH_RECORD_RUN_RECORD_H

#include "bench/run/run_result.h"
#include "machine/machine.h"
#include "record/record.h"
#include "trace/trace.h"

#define RUN_RECORD_NODES   16u
#define RUN_RECORD_PACKETS 256u /* a node; more than any queue has */

struct run_record_packet {
    uint32_t fence;
    uint64_t number;
};

#define RUN_RECORD_PATTERNS 4096u /* a power of two */

/* The texts and types of a call's parts, by a hash of their addresses; 0: free. */
/* A pattern, and where it was found. */
#define RUN_RECORD_LIKELY 128u /* a power of two */
struct run_record_likely {
    const struct run_record_pattern *slot;
    const struct record_pattern *pattern;
};

struct run_record_pattern {
    uint64_t hash;
    struct record_pattern *pattern;
};

/* Page-table entries of the operation at hand that the manager has told, and their hash. */
struct run_record_entries {
    const DXGK_PTE *first;
    uint64_t count; /* 0: none */
    uint64_t hash;
};

struct run_record {
    struct record *record;         /* NULL: the run is not recorded */
    const struct machine *machine; /* NULL: it is gone, and it is last_ns */
    uint64_t last_ns;
    struct run_result *result; /* whose steps and findings are noted as they appear */
    struct trace_handles *handles;
    uint32_t steps_noted, findings_noted;
    uint64_t sequence; /* of the last call */
    uint64_t dpcs;
    uint64_t running[RUN_RECORD_NODES]; /* packet of each node; 0: none */
    struct run_record_packet in_flight[RUN_RECORD_NODES][RUN_RECORD_PACKETS];
    /*
     * The call that is being written: the values of its fields and behind them those of its parts,
     * and a hash of what is alike in calls of its pattern.
     */
    uint64_t *values;
    size_t value_room;
    struct trace_values parts;
    bool has_lost_parts;              /* there was no memory for all */
    struct record_call_group *groups; /* of a call whose pattern is not known yet; else NULL */
    size_t group_count;
    struct run_record_pattern *patterns; /* by hash, RUN_RECORD_PATTERNS */
    /* Those that were last found for calls of one function and depth: most likely the next one's.
     */
    struct run_record_likely likely[RUN_RECORD_LIKELY];
    /* For the next call, if no layer of a test is in between that could give the driver others. */
    struct run_record_entries entries;
    bool has_added_layer;
};

/* Before the cage is closed. Writes the facts that are known by now. False: no memory. */
bool run_record_open(struct run_record *record, const struct machine *machine,
                     const struct run_config *config, struct run_result *result);
/* The result is complete. */
void run_record_close(struct run_record *record);

/* Every call and callback, before and after. */
void run_record_event(struct run_record *record, const struct trace_event *event);
/* Steps that have begun and findings that were told since the last call of this. */
void run_record_progress(struct run_record *record);
/* The workload has been played; everything is taken down now. */
void run_record_stage(struct run_record *record, const char *name);
void run_record_print(struct run_record *record, const char *text);

/* The time of an item that is written now. */
uint64_t run_record_now(const struct run_record *record);

/* Number of the handle in the trace; 0: it has none, or the run is not recorded. */
uint64_t run_record_number(const struct run_record *record, char kind, const void *handle);

/*
 * A packet was queued (fence 0: it has none yet), has gone to the driver, begins on its node and
 * has ended there. The status is one of those of docs/record.md.
 */
void run_record_packet(struct run_record *record, uint64_t number, const char *type,
                       uint64_t context, unsigned node, uint32_t fence, uint64_t bytes);
void run_record_packet_submitted(struct run_record *record, uint64_t number, unsigned node,
                                 uint32_t fence);
void run_record_packet_begins(struct run_record *record, unsigned node, uint32_t fence);
void run_record_packet_ends(struct run_record *record, unsigned node, uint32_t fence,
                            NTSTATUS status);

#endif
