/*
 * Check: the layer that judges both sides of the driver's interface by the rules of the contract.
 *
 * Place      check. A miniport among others, right above the layers that lend and tamper, so that
 *            it sees the manager's calls and the driver's answers. Knows neither the memory manager
 *            nor the GPU model; keeps an account of its own (check_ledger.h) and trusts neither
 *            side.
 * Model      The layer turns every DDI call and every callback into an event and shows it to the
 *            watchers (check_watch.h), each of which judges one area of the catalogue: it counts
 *            every evaluation of a rule and reports every breach. A rule of the driver's side that
 *            is broken is the driver's fault; one of the other side is a fault of our manager.
 *            Buffers go down as copies between guard pages, with canaries behind the offered bytes
 *            (check_guard.h). A driver that keeps its buffers gets these, and they are marked.
 * Ownership  check_create() gives the check, check_layer_create() a miniport that owns the next one
 *            and borrows the check, which must outlive it.
 * Errors     NTSTATUS: STATUS_NO_MEMORY. What is wrong with the run is a report, never a status.
 *            When the account runs out of memory, check_is_whole() is false from then on.
 * Source     data/ddi/contract.md; docs/contract-choices.md where it leaves a choice.
 */
#ifndef DRYDOCK_CHECK_CHECK_H
#define DRYDOCK_CHECK_CHECK_H

#include "base/services.h"
#include "check/report/finding.h"
#include "check/rules/rules.h"
#include "miniport/loans.h"
#include "miniport/miniport.h"

#include <stdbool.h>
#include <stdint.h>

struct check;
struct check_packet;

/* The readings that a profile forbids; all false accepts every lawful one. */
struct check_profile {
    bool keeps_straddling; /* PWR-005: what begins in the kept part of a segment may stay there */
    bool wants_dma_size_lowered;   /* U1: DmaSize must be lowered by the bytes written */
    bool wants_dma_size_unchanged; /* U1: it must not */
    bool wants_host_aperture_last; /* SEG-017: behind all other segments */
    bool wants_end_with_flag;      /* PWR-006: no SystemMemoryEndAddress without its flag */
    bool wants_offset_progress;    /* PB-014: progress between repeats is in MultipassOffset */
    bool wants_gone_untouched;     /* PWR-014: a board that has gone is not read, either */
    bool wants_stuck_told;         /* TDR-016: an engine that does nothing is not responsive */
    bool wants_own_addresses;      /* SEG-006: no two segments at one address, 0 neither */
    bool wants_power_of_two;       /* ALLOC-001: of Alignment */
    bool wants_built_complete;     /* PATCH-009: paging buffers need no Patch */
    bool wants_one_mmu;            /* C3: GpuMmu and IoMmu not both */
    bool wants_answers_complete;   /* MEM-004: what is [out] is written, be it zero */
    bool
        wants_buffers_returned; /* MEM-003: of DMA buffers, too, by pointers of a call that ended */
    bool wants_reserved_zero;   /* CALL-002: reserved members that the driver fills in */
};

/* Numbers of calls and callbacks, from 1; 0: none yet. */
struct check_calls {
    uint64_t last;
    uint64_t outermost; /* of the last call that was not made in the middle of another */
};

/* A byte of the machine: of its RAM, or of local memory. */
struct check_place {
    bool is_ram;
    uint64_t address;
};

/* An entry of a page table, as the GPU reads it from memory. */
struct check_gpu_entry {
    bool is_read; /* the walk came to it */
    bool is_64k;  /* of a leaf of 64 KiB pages */
    bool is_valid, is_system, is_zero, is_read_only, is_no_execute;
    bool is_large;      /* above the leaf: it maps pages */
    bool has_64k_table; /* it leads to a leaf of 64 KiB pages, and says so */
    bool is_placed;     /* the entry itself lies in: */
    struct check_place place;
    uint64_t address;        /* GPU physical, or of system memory */
    uint64_t gpu_page_bytes; /* above 4 KiB: GPU pages have several entries of a leaf each */
    uint64_t protection;
    uint64_t protection_mask; /* the bits of DriverProtection that an entry holds */
};

/* By level, the leaf's first. */
#define CHECK_WALK_LEVELS 8
struct check_gpu_walk {
    struct check_gpu_entry entries[CHECK_WALK_LEVELS];
};

/* Copies between guards; NULL and 0: none. */
struct check_lent {
    char *commands, *private_data;
    size_t command_bytes, private_bytes;
};

struct check_config {
    const struct base_services *services;
    struct rule_counts *counts; /* borrowed; added to */
    struct check_calls *calls;  /* borrowed; kept up to date; NULL: nowhere */
    struct check_profile profile;
    unsigned report_limit; /* findings told; 0: 64 */
    bool guards_buffers;   /* the driver sees copies between guard pages, for the call */
    bool marks_buffers;    /* it sees the buffers themselves, each in front of bytes of nobody's */
    bool enables_native_fences; /* the system does, for drivers that have them */
    bool guarantees_one_buffer; /* by the contract of DMA buffers: a Render never needs another */
    unsigned submission_alignment; /* the GPU's, of the start and end of a submission; 0: unknown */
    void *context;                 /* of the functions below, each of which may be NULL */

    /*
     * The 64 bits that the GPU is to find at a patched location, offset bytes behind an address of
     * a segment, where rows may have a pitch (XFER-018); false: nobody knows. NULL: the bench does
     * not know its GPU's addresses.
     */
    bool (*patched_address)(void *context, DXGK_SEGMENTFLAGS segment, uint64_t address,
                            uint64_t offset, bool is_pitched, uint64_t *out_bits);
    /* Addresses of allocations in commands that Render made. NULL: the bench does not know them. */
    uint32_t (*count_references)(void *context, const void *commands, uint64_t bytes);

    /* A new finding; a repeat on the same object is counted and not told. */
    void (*report)(void *context, const struct finding *finding);
    /* The processor's level. */
    unsigned (*irql)(void *context);
    /* Regions without APCs that the thread is in, mutexes and spin locks that it has. NULL: none.
     */
    unsigned (*held)(void *context);
    /*
     * The page table entries in memory for an address, past all caches, with the root table at an
     * address of system memory or of the GPU's own. False: nothing answers there.
     */
    bool (*walk)(void *context, bool is_system, uint64_t root, uint64_t va,
                 struct check_gpu_walk *out_walk);

    /*
     * The device's own state: the page, as the device names it, that slot number `slot` of the
     * aperture segment that starts at GPU address base shows; false: none.
     */
    bool (*slot_page)(void *context, uint64_t base, uint64_t slot, uint64_t *out_page);
    bool (*slot_is_coherent)(void *context, uint64_t base, uint64_t slot);
    /* The interrupts that the device may raise, as the bits of its register. */
    uint32_t (*enabled_interrupts)(void *context);
    /* Bytes of the system page that the device names so; false: there is no such page in use. */
    bool (*read_page)(void *context, uint64_t page, void *out, uint32_t bytes);
    /* Bytes of system memory that the driver has allocated. */
    uint64_t (*system_bytes)(void *context);
    /* The address in local memory behind an address of the CPU's bus; false: none. */
    bool (*bus_local)(void *context, uint64_t address, uint64_t *out_address);
    /*
     * Without it: any memory behind an address of the CPU's bus, by a number that goes on where the
     * memory does; false: none.
     */
    bool (*bus_memory)(void *context, uint64_t address, uint64_t *out_number);
    /* The machine's time; NULL: nobody tells. A packet may take timeout_ns of it; 0: any time. */
    uint64_t (*now)(void *context);
    uint64_t timeout_ns;
    /*
     * Accesses of the CPU to bytes of the segment that starts at GPU address base, offset bytes
     * behind its start, are noticed from here to end_watch(), which tells the offset of one. False:
     * no mapping there is watched.
     */
    bool (*watch_place)(void *context, unsigned segment, uint64_t base, uint64_t offset,
                        uint64_t bytes);
    bool (*end_watch)(void *context, uint64_t *out_offset);
    /* The table that the driver registered, borrowed, zero behind its version. NULL: not known. */
    const DRIVER_INITIALIZATION_DATA *registered;
    /* A function of the driver can lie at this address. */
    bool (*is_code)(void *context, const void *address);
    bool remaps_dma;    /* the device's pages are an IOMMU's */
    bool hears_flushes; /* check_gpu() is told of every FLUSHED, even if of nothing else */
    /*
     * With guards_buffers: what the driver is given stands for a paging buffer; 0 bytes: not any
     * more.
     */
    void (*stands_in)(void *context, const void *copy, const void *buffer, size_t bytes);
    /*
     * The driver is about to be called, in the call with this number, and is lent these copies: of
     * a paging buffer, and of its private data. Event 0: it has returned. NULL: nobody asks.
     */
    void (*calls_driver)(void *context, uint64_t event, const struct check_lent *lent);
    bool watches_loans; /* check_loan() is told of every breach of what calls lend */
};

NTSTATUS check_create(const struct check_config *config, struct check **out_check);
void check_destroy(struct check *check); /* after its layer */

NTSTATUS check_layer_create(struct check *check, struct miniport *next,
                            struct miniport **out_layer);

/*
 * The GPU's events, in the order in which they happen: the truth behind the driver's reports. A
 * bench whose GPU cannot tell gives none, and rules that need them are not evaluated.
 */
enum check_gpu_kind {
    CHECK_GPU_QUEUED,  /* the driver handed it a submission */
    CHECK_GPU_DONE,    /* it has run, or there was nothing to run */
    CHECK_GPU_DROPPED, /* it has it no more, and it has not run: of a GPU that tells_drops */
    CHECK_GPU_FAULT,   /* it stopped */
    CHECK_GPU_FENCE,   /* a native fence passed the value that is waited for */
    CHECK_GPU_HUNG, /* the bench makes it stop, or has it reset: what times out is nobody's fault */
    CHECK_GPU_FLUSHED,   /* it forgot cached translations */
    CHECK_GPU_VALUE,     /* it wrote the value of a native fence, to an address of memory */
    CHECK_GPU_SCANS,     /* it scans out another surface from now on, at an address of the GPU's */
    CHECK_GPU_SYSTEM,    /* it reached system memory: told of a window of exclusive access */
    CHECK_GPU_TOUCHED,   /* a register was accessed, and the board has gone */
    CHECK_GPU_UNPOWERED, /* a register of a node was written that is off, at address of its block */
    CHECK_GPU_ENTRIES,   /* a command has written entries of a page table */
};
enum check_gpu_access { CHECK_GPU_ACCESSES, CHECK_GPU_READS, CHECK_GPU_WRITES };
struct check_gpu_event {
    enum check_gpu_kind kind;
    unsigned node;
    uint32_t fence;
    uint32_t bytes;           /* QUEUED; FAULT: of the command; ENTRIES: written from place on */
    struct check_place place; /* ENTRIES */
    bool has_root;            /* QUEUED: the GPU will translate by the root table at: */
    uint64_t root;            /* ... this address, in system memory with is_system */
    uint64_t root_entries;    /* QUEUED: of the root that goes with it; 0: none, or not known */
    bool tells_drops;         /* QUEUED: DONE or DROPPED will say when the GPU has it no more */
    bool has_start;           /* QUEUED: the GPU will fetch commands by physical address from: */
    bool starts_in_system;    /* ... system memory, else by the GPU's own addresses */
    uint64_t first_byte;      /* ... this address there */
    enum check_gpu_access access; /* TOUCHED; FAULT: as far as it is known */
    /* QUEUED: of the buffer; FAULT: that faulted; FLUSHED: root; VALUE; TOUCHED: in the BAR */
    uint64_t address;
    uint64_t start, end; /* FLUSHED: the range; end 0: all */
    bool is_system;      /* FLUSHED, QUEUED: the root is in system memory; VALUE: so is the value */
    bool is_everywhere;  /* FLUSHED: whatever the root */
    bool is_malformed_packet; /* FAULT: not the address was wrong but the command */
    uint64_t offset;          /* FAULT, ENTRIES: of the command, behind the submission's start */
    const struct check_packet *packet; /* as the layer knows it; filled in, NULL: it does not */
};
void check_gpu(struct check *check, const struct check_gpu_event *event);

/* The driver has these pages of the machine mapped for the CPU. */
void check_maps(struct check *check, const uint64_t *pages, uint64_t count);

/*
 * Says where the commands of a fault came from: the call that built them, or that submitted them,
 * with its number, arguments and object. False: nobody knows.
 */
bool check_place_fault(struct check *check, const struct check_gpu_event *event,
                       struct finding_detail *detail);

/*
 * The number of the paging operation whose commands stand offset bytes behind the start of the
 * submission with this fence, while it runs; 0: none that is known. *out_commands, unless NULL: the
 * call that wrote them, and where in what it wrote.
 */
uint64_t check_running_operation(const struct check *check, unsigned node, uint32_t fence,
                                 uint64_t offset, struct finding_commands *out_commands);
/*
 * The same of commands at this address, in a submission that is under way on the node. *out_fence
 * and *out_offset: which submission, and how far behind its start. False: there is none.
 */
bool check_find_running(const struct check *check, unsigned node, uint64_t address,
                        uint32_t *out_fence, uint64_t *out_offset);
/*
 * The same as check_place_fault() for the paging operation with the number, as long as it is
 * remembered. *out_allocation is the handle that it named.
 */
bool check_place_operation(struct check *check, uint64_t number, struct finding_detail *detail,
                           const void **out_allocation);

/*
 * What a client of the manager asks for and is answered, where no call of the driver shows it. A
 * bench that tells nothing has none of it judged. Devices and allocations have the client's own
 * names: any pointer that is one for as long as the object exists, the driver's half included.
 */
enum check_client_kind {
    CHECK_CLIENT_DEVICE,        /* the device that was created last has this name */
    CHECK_CLIENT_CREATE,        /* an allocation is about to be created; is_primary, memory */
    CHECK_CLIENT_CREATED,       /* it has been: status, its name */
    CHECK_CLIENT_DESTROY,       /* about to be destroyed */
    CHECK_CLIENT_MAKE_RESIDENT, /* asked for references: status, fence, bytes to trim */
    CHECK_CLIENT_RESIDENT,      /* a request that was pending has ended: status, fence */
    CHECK_CLIENT_EVICT,         /* one reference each is being taken back */
    CHECK_CLIENT_QUEUED,        /* work with a list of allocations goes to the manager: work */
    CHECK_CLIENT_ENDED,         /* it has ended, or was refused: work */
    CHECK_CLIENT_OFFER,         /* status, priority */
    CHECK_CLIENT_RECLAIM,       /* status, result, fence */
    CHECK_CLIENT_DEPARTS,       /* was told: it will leave its place; is_dropped */
    CHECK_CLIENT_LOST,          /* was told: its content is lost, behind a reset */
    CHECK_CLIENT_LOCK,          /* about to be asked for */
    CHECK_CLIENT_LOCKED,        /* the answer: status */
    CHECK_CLIENT_UNLOCK,
    CHECK_CLIENT_RENAMED,        /* by the lock: its name stands for another instance from now on */
    CHECK_CLIENT_INSTANCE_ENDED, /* an instance is no more, and the allocation is */
    CHECK_CLIENT_BUDGET,         /* the answer about a group: budget, bytes, held, used */
    CHECK_CLIENT_TRIM,           /* the process was asked to trim: bytes */
    CHECK_CLIENT_SLEEP,          /* about to go to sleep */
    CHECK_CLIENT_WAKE,           /* awake, or it did not sleep */
    CHECK_CLIENT_PULLED,         /* the board is gone by surprise: nothing is judged from here on */
    CHECK_CLIENT_GONE,           /* the adapter goes, or work is given up: nothing ends in order */
    CHECK_CLIENT_ENUMERATED,   /* modes, by DxgkDdiEnumVidPnCofuncModality: is_pivot_changed, ... */
    CHECK_CLIENT_PRESENT_LATE, /* the report of a DxgkDdiPresentDisplayOnly has not come */
    CHECK_CLIENT_SHOWN,        /* the monitor was compared with what was presented: shown */
    CHECK_CLIENT_PLUGGED,      /* a monitor came or went, some time ago: is_plugged, is_told */
    CHECK_CLIENT_SHARE_COMPONENTS,  /* another driver is about to need, or not, what is shared */
    CHECK_CLIENT_COMPONENTS_SHARED, /* ... and it does: is_active */
};
/* Memory that the client has an allocation made over; it stays until the allocation is gone. */
struct check_client_memory {
    const uint64_t *pages; /* NULL: there is none */
    uint64_t page_count;
    bool is_kernels;
};
enum check_shown_part { CHECK_SHOWN_UNCHANGED, CHECK_SHOWN_MOVED, CHECK_SHOWN_DIRTY };
/* The first pixel of the monitor that is another one than that of the image. */
struct check_client_shown {
    bool is_other; /* false: there is none */
    unsigned x, y, shown, presented, width, height;
    enum check_shown_part part; /* what the present says of that pixel, */
    unsigned index;             /* by this element of pMoves or pDirtyRect */
};
enum check_reclaim { CHECK_RECLAIM_OK, CHECK_RECLAIM_DISCARDED, CHECK_RECLAIM_NOT_COMMITTED };
struct check_client_event {
    enum check_client_kind kind;
    const void *device; /* or process, of BUDGET and TRIM */
    unsigned count;
    const void *const *allocations;
    NTSTATUS status;
    const void *work; /* QUEUED, ENDED: the client's name for it, until it has ended */
    uint64_t fence;   /* paging fence value; 0: none */
    bool is_primary;  /* CREATE */
    struct check_client_memory memory; /* CREATE */
    bool is_reclaim;                   /* RESIDENT: it was a reclaim's, and gives no references */
    bool is_within_budget;             /* MAKE_RESIDENT: was to stay within it */
    bool wants_aperture;               /* LOCK: linear, whatever the order in memory */
    bool ignores_sync;                 /* LOCK */
    bool discards;                     /* LOCK */
    bool is_dropped;                   /* DEPARTS: its content is given up */
    const void *instance; /* RENAMED, INSTANCE_ENDED: its handle, below; NULL: the one made first */
    unsigned priority;    /* OFFER: 0 goes first */
    enum check_reclaim result;
    unsigned group;        /* BUDGET, TRIM */
    uint64_t bytes;        /* MAKE_RESIDENT, TRIM: to trim; BUDGET: resident of the process */
    uint64_t budget;       /* BUDGET; 0: none */
    uint64_t held, used;   /* BUDGET: of the bytes; and of the segments of the group, by anybody */
    bool is_pivot_changed; /* ENUMERATED: the set of the pivot is another one */
    unsigned source_modes, target_modes; /* ENUMERATED: in the two sets now */
    struct check_client_shown shown;     /* SHOWN */
    bool is_plugged, is_told;            /* PLUGGED: a monitor is there; the driver has told so */
    bool is_active;                      /* SHARE_COMPONENTS, COMPONENTS_SHARED */
};
void check_client(struct check *check, const struct check_client_event *event);

/*
 * A driver did to what a call had lent to it what it may not do (MEM-001 to MEM-004). In the middle
 * of the call in which that was found.
 */
void check_loan(struct check *check, const struct loan_breach *breach);

/*
 * The device has been stopped, and will be started again: its life is judged as at its end, and
 * nothing of it is known from here on but the driver. False: no memory; the check must be
 * destroyed.
 */
bool check_begin_again(struct check *check);

/* Everything has been destroyed, or given up: what must be balanced at the end is. */
void check_end(struct check *check, bool is_orderly);

/*
 * An access to the address ended the process: fills in a finding when it is a guard page around a
 * paging buffer or its private data. Allocates nothing and may be called from a signal handler.
 */
bool check_explain_address(const struct check *check, const void *address,
                           struct finding *out_finding);

/*
 * The same for a page around what a call lent (layers/guard.h). Calls nothing that the memory of
 * the check leads to: a driver may have written over it.
 */
void check_explain_loan(const struct check *check, const struct loan_breach *breach,
                        struct finding *out_finding);

/*
 * Nothing more will happen in the bench. Packets that the driver was handed and has not reported
 * are findings (FENCE-004), one for each node, and so are preemptions. Gives how many; 0: the
 * standstill has nothing to do with the driver. The manager's rules are silent from then on: its
 * objects do not end in order.
 */
unsigned check_stands_still(struct check *check);

bool check_is_whole(const struct check *check);

#endif
