/*
 * Configuration of a run: board, driver, manager, player, judgement and what is written down.
 *
 * Place      bench. Given to run_execute(), kept in its result, drawn by campaigns, read from and
 *            written to the options of cases (bench/config/run_options.h).
 * Model      Filled in three steps: run_config_defaults(), the options of the case or the command
 *            line, run_config_complete() (bench/drivers/drivers.h). Behind the last step no member
 *            is 0 that the run needs as a number.
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

/* What a run can follow: system memory, and what a case has alive at once. More is refused. */
#define RUN_MAX_BYTES (UINT64_C(1) << 40)

enum run_model { RUN_PHYSICAL, RUN_GPUMMU, RUN_IOMMU };
enum run_update_mode { RUN_UPDATE_GPU_VIRTUAL, RUN_UPDATE_GPU_PHYSICAL, RUN_UPDATE_CPU };

/* How much of the calls is written down. */
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
unsigned run_update_mode_count(void);

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

/* What is made harder for the driver than it need be, by the run's seed; all of it lawful. */
enum run_fault {
    RUN_FAULT_PROBES = 1 << 0,     /* operations that no driver can know (layers/probe.h) */
    RUN_FAULT_PAGE_LISTS = 1 << 1, /* page lists are parts of longer ones (layers/lend.h) */
    RUN_FAULT_POOL = 1 << 2,       /* one of the driver's pool allocations fails, after its start */
    RUN_FAULT_START = 1 << 3,      /* a callback of the first start fails (layers/deny.h) */
    RUN_FAULT_CONTEXT_ALLOCATIONS = 1 << 4, /* callbacks that make or change them fail (the same) */
    RUN_FAULT_PREEMPTIONS = 1 << 5,         /* nodes are preempted in the middle of their work */
    RUN_FAULT_LATE_DPCS = 1 << 6, /* a DPC may come many interrupts later (bench/board/host.h) */
    RUN_FAULT_ALL = 127,
};

/* Where pages guard the pool blocks of the driver: by itself behind an image's, else nowhere. */
enum run_lending { RUN_LENT_AUTO, RUN_LENT_FOR_CALL, RUN_LENT_KEPT };
enum run_pool_guard { RUN_POOL_AUTO, RUN_POOL_NONE, RUN_POOL_END, RUN_POOL_BEGIN };

struct run_config {
    const char *driver; /* "ref" */
    const char *gpu; /* "sgpu", "none", a path; NULL: what the driver is for, none for an image that
                        is silent */
    const char *profile; /* how it is judged (bench/config/profile.h); NULL: by default */
    enum run_model model;
    bool is_model_given; /* else a driver that does not have it is played in the one that it has */
    unsigned wddm;       /* 11 is WDDM 1.1; 0: what the driver has for the model */
    uint64_t seed;

    /* The machine. 0: what run_config_resolve() makes of the workload. */
    uint64_t local_bytes;
    uint64_t visible_bytes; /* of local memory, from its start */
    uint64_t aperture_bytes;
    uint64_t ram_bytes;
    uint64_t link_bytes_per_second;
    uint64_t local_bytes_per_second;
    enum machine_scatter scatter;
    uint64_t agp_bytes;            /* of an AGP bridge's window; 0: there is none */
    uint64_t residency_part_bytes; /* NOTIFY_RESIDENCY2 by parts of so many bytes (3.2); 0: no */
    unsigned auxiliary_mmus;       /* MAP_MMU and UNMAP_MMU for so many (3.2) */
    unsigned native_fences;        /* that share a page of storage (3.1); 0: they are not enabled */
    bool remaps_dma;               /* an IOMMU gives the device addresses of its own */
    uint64_t jitter_ns;            /* longest random delay of an interrupt or transfer; 0: 100 */
    bool has_banks;                /* physical: local memory is four banks */
    bool has_pitch;                /* physical: rows have a pitch in visible local memory */
    bool evicts_through_aperture;  /* physical: EvictionSegmentSet is the aperture */
    bool has_no_ranges;            /* physical: no swizzling ranges */
    unsigned node_count;
    enum run_update_mode update_mode;
    bool has_tables_in_system_memory;
    struct run_mmu mmu;

    /*
     * Of drivers of other GPUs: private data of their user-mode halves (workload/case/template.h).
     */
    const char *allocation_data; /* NULL: RUN_ALLOCATION_DATA */
    const char *context_data;    /* NULL: none */
    const char *command_data;    /* NULL: none */
    const char *surroundings;    /* of the board (workload/case/surroundings.h); NULL: none */

    /* The manager. */
    uint64_t budget; /* local memory that each process should have resident; 0: no limit */
    uint32_t paging_buffer_bytes;
    unsigned paging_buffer_count;
    bool has_private_data;       /* the driver says that a paging buffer needs ... */
    uint32_t private_data_bytes; /* ... so much private data (layers/private_data.h) */
    unsigned hardware_queue_depth;
    uint64_t local_limit;
    unsigned faults;         /* enum run_fault */
    bool is_busy_until_idle; /* the driver answers BUSY where it may */
    bool lowers_dma_size;    /* the driver lowers DmaSize by what it writes (U1) */
    uint32_t fill_pattern;   /* of content that was never written */
    bool tells_tables_in_transfer;
    uint32_t local_traits; /* SGPU_TRAIT_* */
    bool has_coherent_aperture;
    uint64_t protected_bytes, picture_bytes; /* of local memory; at most an eighth each (WDDM 2) */
    bool has_host_aperture; /* BAR 1 shows pages that the driver points, not a window (GpuMmu) */
    uint64_t dead_bytes;    /* of local memory, from its middle on: defective */
    uint64_t transfer_piece_bytes; /* of one TRANSFER, page multiple; 0: 1 GiB */
    uint64_t scratch_bytes; /* of the paging process (GpuMmu), whole leaf tables; 0: 256 MiB */
    bool
        switches_to_null_context; /* before an allocation of the context goes that ran last (1.2) */
    bool announces_idle;          /* AllocationIsIdle is set from the first call */
    bool marks_paging_only;       /* Resubmission is for paging packets alone */
    bool skips_paging_patch;      /* DxgkDdiPatch is not called for paging buffers */
    bool starts_as_observed;      /* more queries, two system devices: docs/observed.md */
    bool pages_through_aperture;  /* the driver wants paging buffers in its aperture */
    bool hides_buffer_address;    /* GpuMmu: paging buffers have no GPU address */
    bool names_allocations;       /* physical: the client, in patch locations that it hands in */
    bool initialises_in_pieces;   /* GpuMmu: a new table comes by several calls */
    bool pages_in_patched_only;   /* physical: not what is in a list and no patch location names */
    unsigned render_piece_refs;   /* physical: split points after so many references; 0: none */
    bool splits_dma_buffers;      /* at every one of them */
    bool renames;                 /* physical: on writes with discard (ALLOC-022) */
    bool guarantees_one_buffer;   /* a command buffer goes into one DMA buffer or is refused */
    bool inits_by_driver_handle;  /* INIT_CONTEXT_RESOURCE (C10) */
    uint64_t aperture_piece_bytes; /* of one map operation; 0: any */
    uint64_t timeout_ns;           /* of the manager's watchdog; 0: none, or 2 s if a node hangs */
    unsigned timeout_limit;        /* so many within 60 s are suffered; 0: any number */
    enum run_preserve preserve;
    bool resets_whole_adapter; /* never one engine alone */

    /* The player. */
    unsigned queue_depth; /* submissions that a context has in flight; 0: 4 */
    bool checks_content;
    bool checks_rules; /* the checking layer judges every call */
    bool hashes_calls; /* the calls are part of the digest, whether they are recorded or not */
    enum run_reference reference;

    enum run_events events;
    const char *events_path; /* NULL: nothing is written, whatever events says */
    uint64_t events_limit;   /* calls; 0: 200,000 and no more than events_bytes */
    uint64_t events_bytes;   /* of the file; 0: 32 MiB, or any number with an events_limit */
    const char *calls_path;  /* the order of the calls (bench/run/run_calls.h); NULL: not written */

    unsigned check_interval; /* debug builds: vidmm_check() every so many operations; 0: 64 */

    struct coverage *coverage; /* borrowed: records what is set, read and varied; NULL: nothing */

    enum run_pool_guard pool_guard;
    enum run_lending lending; /* of paging buffers and page lists */
    uint64_t fail_allocation; /* fail the n-th allocation of the manager from its start; 0: none */
    const struct run_tamper *tamper;
    /* Puts a layer of the caller's above all others, and gives it; the run destroys it. */
    struct miniport *(*add_layer)(void *context, struct miniport *next);
    void *layer_context;
    void (*progress)(void *context, const char *what, uint64_t done, uint64_t total);
    void *progress_context;
};

/*
 * Scattered pages, content and rules checked, calls hashed, seed 1, reference of short runs, no
 * events; the rest 0.
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
 * A flag of an allocation with which the run is refused, because documents do not say what becomes
 * of the content of such an allocation when it is paged; NULL: none.
 */
const char *run_config_refused_flag(const struct workload *workload);

/*
 * Replaces every 0 by what the run will use: 4 GiB of local memory, or half of what is alive at
 * the peak when that is less, but at least twice the largest submission; RAM enough to back
 * everything twice; and so on.
 */
void run_config_resolve(struct run_config *config, const struct workload *workload);

#endif
