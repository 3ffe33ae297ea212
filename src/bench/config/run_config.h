/*
 * Configuration of a run: board, driver, manager, player, judgement and what is written down.
 *
 * Place      bench. Given to run_execute(), kept in its result, drawn by campaigns, read from and
 *            written to the options of cases (bench/config/run_options.h).
 * Model      Filled in three steps: run_config_defaults(), the options of the case or the command
 *            line, run_config_complete() (bench/drivers/drivers.h). Behind the last step no member
 *            is 0 that the run needs as a number.
 *            An option is a row of workload/case/run_options.inc: the member, its word in a case,
 *            what seeds draw for it and all else that is made of it.
 * Ownership  Strings are borrowed, from the case or the caller, for as long as the configuration.
 * Units      Bytes; ns of the virtual clock.
 */
#ifndef DRYDOCK_BENCH_RUN_CONFIG_H
#define DRYDOCK_BENCH_RUN_CONFIG_H

#include "bench/config/run_mmu.h"
#include "machine/machine.h"
#include "sgpu/sgpu.h"
#include "vidmm/vidmm.h"
#include "workload/workload.h"

#include <stdbool.h>
#include <stdint.h>

#define RUN_GPU_DRYDOCK     "sgpu"
#define RUN_GPU_NONE        "none"
#define RUN_ALLOCATION_DATA "size:u64,flags:u32,index:u32"

/* Most system memory, and most bytes alive at once, that a run can follow. More is refused. */
#define RUN_MAX_BYTES (UINT64_C(1) << 40)

enum run_model { RUN_PHYSICAL, RUN_GPUMMU, RUN_IOMMU };
/* Who leaves local memory, and what comes in ahead (vidmm/policy.h). */
enum run_policy { RUN_POLICY_LRU, RUN_POLICY_LOOK_AHEAD, RUN_POLICY_HINTED, RUN_POLICY_TURNS };
enum run_update_mode {
    RUN_UPDATE_GPU_VIRTUAL,
    RUN_UPDATE_GPU_PHYSICAL,
    RUN_UPDATE_CPU,
    RUN_UPDATE_MODE_COUNT
};

/* Whether engines can be switched off. */
enum run_components { RUN_COMPONENTS_NONE, RUN_COMPONENTS_PROMPT, RUN_COMPONENTS_SLOW };

/* Which calls a list of them has (bench/run/run_text.h). */
enum run_events {
    RUN_EVENTS_NONE,
    RUN_EVENTS_PAGING, /* paging operations, and what they were for */
    RUN_EVENTS_ALL,    /* every call of every DDI */
};

/* Whether the run is played again with room for everything, for the slowdown. */
enum run_reference {
    RUN_REFERENCE_SHORT, /* if it took at most 200,000 calls of DxgkDdiBuildPagingBuffer */
    RUN_REFERENCE_ALWAYS,
    RUN_REFERENCE_NEVER,
};

struct coverage;

const char *run_model_name(enum run_model model);            /* "physical", "gpummu", "iommu" */
const char *run_update_mode_name(enum run_update_mode mode); /* "gpu-virtual", ... */

/*
 * What a test does behind the manager's back. Called once, when operation op_index of the workload
 * is about to be played and nothing is pending.
 */
struct run_live {
    struct machine *machine;
    struct sgpu *gpu;
    struct vidmm *vidmm;
    const struct workload *workload;
    struct vidmm_process *const *processes;      /* by index */
    struct vidmm_allocation *const *allocations; /* by index; NULL: not alive */
};
struct run_tamper {
    uint32_t op_index;
    void (*fn)(void *context, const struct run_live *live);
    void *context;
};

/* Through which sleep the board keeps local memory (SGPU_STRAP_KEEPS_*). */
enum run_preserve {
    RUN_PRESERVE_NOTHING,
    RUN_PRESERVE_STANDBY,
    RUN_PRESERVE_HIBERNATE, /* and standby */
    RUN_PRESERVE_PART,      /* the same, hibernation only the first quarter of the memory */
};

/* Faults: the run's seed makes these harder for the driver than need be, all of it lawful. */
enum run_fault {
    RUN_FAULT_PROBES = 1 << 0,     /* operations that no driver can know (layers/probe.h) */
    RUN_FAULT_PAGE_LISTS = 1 << 1, /* page lists are parts of longer ones (layers/lend.h) */
    RUN_FAULT_POOL = 1 << 2,       /* one of the driver's pool allocations fails, after its start */
    RUN_FAULT_START = 1 << 3,      /* a callback of the first start fails (layers/deny.h) */
    RUN_FAULT_CONTEXT_ALLOCATIONS = 1 << 4, /* callbacks that make or change them fail (the same) */
    RUN_FAULT_PREEMPTIONS = 1 << 5,         /* nodes are preempted in the middle of their work */
    RUN_FAULT_LATE_DPCS = 1 << 6, /* a DPC may come many interrupts later (bench/board/host.h) */
    RUN_FAULT_RESERVED_RANGES = 1 << 7, /* a callback that reserves addresses fails (deny.h) */
    RUN_FAULT_SAVE_AREA = 1 << 8,       /* callbacks that pin the save area fail (deny.h) */
    RUN_FAULT_ALL = 511,
};

/* How long the driver may use paging buffers and page lists, and where pages guard its pool. */
enum run_lending { RUN_LENT_AUTO, RUN_LENT_FOR_CALL, RUN_LENT_KEPT };
enum run_pool_guard { RUN_POOL_AUTO, RUN_POOL_NONE, RUN_POOL_END, RUN_POOL_BEGIN };

/* private_data_bytes: what the driver itself declares. */
#define RUN_DRIVERS_OWN UINT32_MAX

/* Numbers of calls of DxgkDdiBuildPagingBuffer (bench/run/run_writers.h). */
#define RUN_MOST_WATCHED 32
struct run_watched {
    uint32_t count;
    uint64_t events[RUN_MOST_WATCHED];
};

/* How far a run is. */
struct run_progress {
    const char *what;     /* a literal: the model */
    uint64_t done, total; /* operations */
    uint64_t findings;    /* until now; advice is none */
};

struct run_config {
    /*
     * What a case says: a member for each RUN_OPTION, with its meaning, in the order of the rows.
     * 0 and NULL of many stand for what run_config_resolve() makes of the workload.
     */
#define RUN_OPTION(type, member, ...) type member;
#define RUN_MMU_OPTION(...)
#define CASE_OPTION(...)
#include "workload/case/run_options.inc"
    struct run_mmu mmu;
    bool is_model_given; /* else a driver that does not have it is played in the one that it has */

    /*
     * What no case says, so that a case with its options plays the same anywhere. First what is
     * written down, and what the digest holds.
     */
    bool hashes_calls; /* the calls are part of the digest, whether they are recorded or not */
    enum run_reference reference;
    int record_file;       /* to which the record of the run is written, open; 0: none */
    uint64_t record_limit; /* of that file, in bytes; 0: RECORD_LIMIT_BYTES */
    int transcript_file;   /* to which a transcript of the driver is written, open; 0: none */
    /* A transcript that is played in place of the driver (layers/transcript/retold.h); NULL: none
     */
    const uint8_t *transcript;
    uint64_t transcript_bytes;
    const struct run_watched
        *watched;              /* who writes what in these calls is told; NULL: nobody asks */
    struct coverage *coverage; /* borrowed: records what is set, read and varied; NULL: nothing */

    /* Who looks on, and what a test does. */
    void (*progress)(void *context, const struct run_progress *progress);
    const volatile bool
        *stops; /* true: the case ends with the operation before; NULL: it goes on */
    void *progress_context;
    unsigned check_interval; /* debug builds: vidmm_check() every so many operations; 0: 64 */
    const struct run_tamper *tamper;
    /* Puts a layer of the caller's above all others, and gives it; the run destroys it. */
    struct miniport *(*add_layer)(void *context, struct miniport *next);
    void *layer_context;
};

/*
 * The initial values of all options; calls hashed, the reference of short runs, no events; the rest
 * 0.
 */
void run_config_defaults(struct run_config *out_config);

/* What the workload's options say, over what is there. Names are lent by the workload. */
void run_config_from_workload(struct run_config *config, const struct workload *workload);
/*
 * Makes the workload's options what is not as by default, and nothing else: the case then stands
 * alone, and plays so without a command line (run_options.h says what has an option). Names that
 * the workload lent to the configuration are gone behind this.
 */
bool run_config_to_options(const struct run_config *config, struct workload *workload,
                           struct workload_error *error);

/* An option that the workload sets and this bench does not follow yet; NULL: none. */
const char *run_config_unsupported_option(const struct workload *workload);

/*
 * Replaces every 0 by what the run will use: 4 GiB of local memory, or half of what is alive at
 * the peak when that is less, but at least twice the largest submission; RAM enough to back
 * everything twice; and so on.
 */
void run_config_resolve(struct run_config *config, const struct workload *workload);

#endif
