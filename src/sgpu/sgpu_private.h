/*
 * The GPU model, inside: its state, and the functions that its files have for each other.
 *
 * Place   sgpu. Nobody else includes this header, but for the tests' rig. From the bottom up:
 *         sgpu_fault.c (interrupts and faults), sgpu_iommu.c, sgpu_tables.c and sgpu_mmu.c
 *         (addresses), sgpu_fences.c and sgpu_save_area.c, sgpu_effects.c, sgpu_flight.c (what is
 *         under way), sgpu_packets.c (the effects of packets), sgpu_device.c (power, resets) and
 *         sgpu.c (registers and queues).
 */
#ifndef DRYDOCK_SGPU_SGPU_PRIVATE_H
#define DRYDOCK_SGPU_SGPU_PRIVATE_H

#include "sgpu/sgpu.h"

#include "base/assert.h"
#include "base/bits.h"

/*
 * Translation cache of a node: 512 sets of 4. An entry stands for 2 MiB of address space, whatever
 * the tables look like, and holds one 4 KiB translation each in the format of a leaf entry; one
 * that is not valid means not cached. A miss walks the tables and takes over the aligned 64
 * translations around the one wanted (fewer where the page tables end, or where a 64 KiB table may
 * have the next ones), as far as they are valid and not cached yet; an access that goes on behind
 * them, the next 64. The least recently used entry of a set is replaced.
 */
#define TLB_SETS       512u
#define TLB_WAYS       4u
#define TLB_FILL       64u
#define TLB_BLOCK_BITS (SGPU_PAGE_SHIFT + SGPU_INDEX_BITS)

struct tlb_entry {
    uint64_t root_pa;
    uint64_t block;  /* virtual address >> TLB_BLOCK_BITS */
    uint64_t stamp;  /* of last use; 0: empty */
    uint64_t *table; /* 512 translations */
};

struct tlb {
    struct tlb_entry entries[TLB_SETS][TLB_WAYS];
    struct tlb_entry *last; /* looked up last, whatever it is by now; NULL: the spare */
    uint64_t next_stamp;
    struct tlb_entry
        spare; /* serves when the host has no memory for a set; holds nothing for long */
    uint64_t spare_table[SGPU_TABLE_ENTRIES];
};

/* An address space: virtual through a root, of a process through the IOMMU, or physical. */
struct sgpu_space {
    bool is_virtual;
    uint64_t root_pa;
    uint32_t pasid; /* not MACHINE_NO_PASID: addresses are that process's */
};

enum sgpu_access { SGPU_ACCESS_READ, SGPU_ACCESS_WRITE, SGPU_ACCESS_FETCH };

/* Page tables of the board, from its index bits and straps. */
struct mmu_shape {
    uint32_t levels;
    uint8_t bits[SGPU_MAX_LEVELS];
    uint8_t shift[SGPU_MAX_LEVELS + 1]; /* of the index in an address; [levels]: address bits */
    uint64_t va_limit;
    uint64_t reserved; /* entry bits that may not be set */
    bool has_64k_single, has_64k_dual, has_large;
    uint64_t gpu_page_entries; /* 4 KiB entries of a GPU page: 1, 4 or 16 */
};

/* What answers a run of addresses; store NULL: a ZERO entry. Or, without bytes, the fault. */
struct sgpu_span {
    struct page_store *store;
    uint64_t address;
    uint64_t bytes;
    bool is_system;
    uint32_t fault;
    uint64_t fault_address;
};

struct sgpu_submission {
    uint64_t address;
    uint64_t root_pa;
    uint32_t size;
    uint32_t fence;
    uint32_t flags; /* SGPU_SUBMIT_* */
    uint32_t save_bytes;
    uint64_t save_area;
    uint64_t save_runs;
    uint64_t progress_va;
    uint64_t progress;
};

/* Memory that something touches (sgpu_flight.c). */
#define SGPU_TOUCHED_RANGES 64u
struct sgpu_touched {
    unsigned count;
    bool is_coarse; /* ranges are whole pieces of 2 MiB */
    bool is_all;    /* ... and there would be more of them */
    struct {
        uint64_t start, end;
    } ranges[SGPU_TOUCHED_RANGES];
};

/* A run of memory that is moved or filled; from means nothing of a fill. */
struct sgpu_piece {
    struct sgpu_span to, from;
    uint64_t bytes;
};

enum sgpu_flight_kind { SGPU_FLIGHT_COPY, SGPU_FLIGHT_FILL, SGPU_FLIGHT_FENCE, SGPU_FLIGHT_END };

/* The way that a flight takes; NONE: of fences and ends. */
enum sgpu_lane { SGPU_LANE_NONE, SGPU_LANE_IN, SGPU_LANE_OUT, SGPU_LANE_LOCAL, SGPU_LANES };

/* What is under way while the node goes on with the packets behind it (sgpu_flight.c). */
struct sgpu_flight {
    struct sgpu_node *node;
    enum sgpu_flight_kind kind;
    enum sgpu_lane lane;
    bool has_ended; /* of copies and fills: it has taken effect */
    struct sgpu_command command;
    uint32_t pattern; /* of a fill */
    uint64_t value;   /* of a fence, whose memory is the first piece */
    bool interrupts;  /* ... and which raises SGPU_IRQ_FENCE */
    struct sgpu_piece *pieces;
    uint32_t count, room;
    struct sgpu_touched reads, writes;
    struct machine_event event;
};
#define SGPU_FLIGHTS 32u

enum sgpu_begun {
    SGPU_BEGUN_FAULTED, /* the node has */
    SGPU_BEGUN_TIMED,   /* it ends at a time */
    SGPU_BEGUN_FLIES,   /* it is under way, and the next packet may start */
    SGPU_BEGUN_WAITS,   /* nothing has happened; ask again when a flight has ended */
    SGPU_BEGUN_DRAINS,  /* ... when no flight is left */
};

struct sgpu_node {
    struct sgpu *gpu;
    uint32_t index;

    uint64_t address; /* as written to the registers, for the next doorbell */
    uint64_t root_pa;
    uint32_t size;
    uint32_t fence;

    uint64_t save_area, save_runs_wanted;
    uint64_t progress_va, progress;
    uint32_t save_bytes;
    uint64_t save_runs; /* of the area that is loaded */

    struct sgpu_submission queue[SGPU_QUEUE_SLOTS]; /* a ring */
    uint32_t queue_head;
    uint32_t queue_count; /* the running one, at the head, included */
    uint32_t queued_fence;
    uint32_t completed_fence;

    /* Where the node moves data both ways. */
    struct sgpu_flight *flights; /* a ring; NULL: it does not */
    uint32_t flight_head, flight_count;
    uint64_t lane_ends_ns[SGPU_LANES];       /* when the last flight on it ends */
    void (*landed)(struct sgpu_node *node);  /* the oldest submission that waits for flights has */
    void (*goes_on)(struct sgpu_node *node); /* a flight has ended: what waits for it may start */
    uint32_t landing;   /* submissions at the head of the queue that wait for flights alone */
    bool waits, drains; /* for a flight that ends; for all of them: then the packet starts again */
    bool ends_again;    /* ... or ends */

    bool is_running;
    bool is_faulted;
    bool is_hung;   /* the running packet never ends */
    bool may_go_on; /* ... until sgpu_end_hang() */
    bool will_hang; /* after this many more packets */
    uint32_t hangs_after;
    bool is_preempting; /* a preemption waits for so many submissions */
    uint32_t preemption_left;
    bool loses_interrupt; /* the next one of a completion or preemption */
    uint32_t fault_fence;
    uint32_t fault_kind;
    uint64_t fault_va;

    uint64_t offset;      /* of the current packet in the submission */
    uint64_t *packet;     /* its bytes, fetched when it started */
    uint64_t packet_size; /* of them */
    uint64_t packet_room; /* of the buffer */
    struct machine_event event;

    uint32_t power; /* as POWER was written */
    bool power_changes;
    struct machine_event power_event;

    struct tlb tlb;
};

struct sgpu_fence {
    bool has_home;
    uint64_t current, monitored; /* physical addresses */
};

struct sgpu {
    struct machine *machine;
    const struct base_services *services;
    struct sgpu_config config;
    struct page_store *ram;
    struct page_store *local;
    struct machine_iommu *iommu;
    uint64_t ram_bytes;
    uint64_t local_bytes;
    uint64_t *window_pages; /* of BAR 1, with SGPU_STRAP_HOST_APERTURE; else NULL */
    uint64_t window_page_count;
    uint32_t window_slot;
    uint32_t register_slot;       /* of the aperture, as SGPU_REG_SLOT names it */
    uint32_t register_page;       /* the first half of SGPU_REG_SLOT_PAGE */
    uint64_t register_attributes; /* of the slots that registers point somewhere */
    uint32_t range_first[SGPU_RANGES], range_end[SGPU_RANGES]; /* pages of BAR 1 */
    uint64_t dead_start, dead_end; /* defective local memory; both local_bytes when none is */
    uint64_t aperture_bytes;
    struct mmu_shape mmu;

    uint32_t irq_status;
    uint32_t irq_enable;
    bool is_off;     /* without power */
    bool is_removed; /* and it will not come back */
    uint32_t node_count;
    struct sgpu_node *nodes;

    uint64_t slot_count;
    uint64_t *slots;       /* of the aperture: page number + 1, 0 for none; and SLOT_COHERENT */
    uint64_t *slot_blocks; /* a bit each: some of it was written; most of a large aperture is not */

    struct sgpu_fence fences[SGPU_FENCES];

    /* Scan-out (sgpu_scan.c). */
    uint64_t scan_next, scan_current; /* SCAN_NOTHING: none */
    uint32_t scan_low;                /* half of an address that is being written */
    bool scan_is_shown;
    struct machine_event scan_event;

    /* The connector (sgpu_connector.c). */
    bool is_connected;
    uint8_t edid[SGPU_EDID_BYTES];

    bool watches_system;
    const struct sgpu_observer *observer;
    void *observer_context;
    struct sgpu_statistics statistics;
};

#define BLOCK_SLOTS   512u /* a page of the host's memory */
#define SLOT_COHERENT (UINT64_C(1) << 63)

static inline struct sgpu_submission *running_submission(struct sgpu_node *node)
{
    ASSERT(node->queue_count > node->landing);
    return &node->queue[(node->queue_head + node->landing) % SGPU_QUEUE_SLOTS];
}

/* ---- sgpu_fault.c --------------------------------------------------------------------------- */

/* Stops the node and interrupts. */
void sgpu_raise_fault(struct sgpu_node *node, uint32_t kind, uint64_t address);
void sgpu_raise_irq(struct sgpu *gpu, uint32_t bits);
/* Sets the interrupt line by the bits that are raised and enabled. */
void sgpu_update_line(struct sgpu *gpu);

/* ---- sgpu.c --------------------------------------------------------------------------------- */

/* Ends all swizzling ranges: BAR 1 shows local memory in its own order. */
void sgpu_forget_ranges(struct sgpu *gpu);

/* Drops the queue and whatever the node was doing. */
void sgpu_reset_node(struct sgpu_node *node);

/* ---- sgpu_power.c ---- */

bool sgpu_node_is_off(const struct sgpu_node *node);
/* The register, read and written. True: the node goes off, and what it has is to be lost. */
uint32_t sgpu_node_power(const struct sgpu_node *node);
bool sgpu_switch_node(struct sgpu_node *node, uint32_t value);
/* It is on, whatever was. */
void sgpu_end_node_power(struct sgpu_node *node);

/* ---- sgpu.c, again ---- */

/* ---- sgpu_device.c -------------------------------------------------------------------------- */

void sgpu_reset_device(struct sgpu *gpu);

/* ---- sgpu_packets.c ------------------------------------------------------------------------- */

/*
 * Fetch the packet at node->offset and do what happens at its start. *out_end_ns is when a packet
 * that is TIMED ends. may_fly: the node moves data both ways.
 */
enum sgpu_begun sgpu_packet_begin(struct sgpu_node *node, bool may_fly, uint64_t *out_end_ns);

/* Do what happens at its end; false when the node has faulted, or drains. */
bool sgpu_packet_end(struct sgpu_node *node);

/* ---- sgpu_effects.c ------------------------------------------------------------------------- */

/* The one that the node carries out. */
struct sgpu_command sgpu_running_command(struct sgpu_node *node);
/* Effects, told to the observer as the command's. */
void sgpu_tell_entries(struct sgpu_node *node, const struct sgpu_span *to, uint64_t bytes);
void sgpu_move_span(struct sgpu_node *node, const struct sgpu_span *to,
                    const struct sgpu_span *from, uint64_t bytes,
                    const struct sgpu_command *command);
void sgpu_fill_span(struct sgpu_node *node, const struct sgpu_span *to, uint64_t bytes,
                    uint32_t pattern, const struct sgpu_command *command);
void sgpu_write_fence(struct sgpu_node *node, const struct sgpu_span *to, uint64_t value,
                      bool interrupts);

/* ---- sgpu_flight.c -------------------------------------------------------------------------- */

/* The next flight of the running submission's packet, which has not started. There is room. */
struct sgpu_flight *sgpu_flight_prepare(struct sgpu_node *node, enum sgpu_flight_kind kind);
/* from NULL: it is only written. False: the host has no memory. */
bool sgpu_flight_add(struct sgpu_flight *flight, const struct sgpu_span *to,
                     const struct sgpu_span *from, uint64_t bytes);
/* False: an earlier flight has to end first. */
bool sgpu_flight_may_start(const struct sgpu_flight *flight);
void sgpu_flight_start(struct sgpu_flight *flight, uint64_t end_ns);
/* No flight touches that memory. */
bool sgpu_may_write(struct sgpu_node *node, const struct sgpu_span *to);
/* Without effect. */
void sgpu_drop_flights(struct sgpu_node *node);
void sgpu_flights_fini(struct sgpu_node *node);

/* ---- sgpu_tables.c -------------------------------------------------------------------------- */

/* Sets gpu->mmu. False: no board has these index bits. */
bool sgpu_mmu_init(struct sgpu *gpu);
/* How many entries the root of SGPU_ROOT() has. */
uint64_t sgpu_root_entries(const struct sgpu *gpu, uint64_t root);

/*
 * Takes over translations around va into the cache entry of its 2 MiB. A fault, when there is none
 * for va itself.
 */
uint32_t sgpu_tables_fill(struct sgpu *gpu, uint64_t root, uint64_t va, uint64_t *translations);

/* ---- sgpu_save_area.c ----------------------------------------------------------------------- */

/* At the start and end of the running submission; true also when it has none. */
bool sgpu_load_save_area(struct sgpu_node *node);
bool sgpu_store_save_area(struct sgpu_node *node);

/* ---- sgpu_fences.c -------------------------------------------------------------------------- */

bool sgpu_fence_home_is_well_formed(struct sgpu_node *node);
bool sgpu_fence_home_end(struct sgpu_node *node);
bool sgpu_fence_signal_is_well_formed(struct sgpu_node *node);
bool sgpu_fence_signal_end(struct sgpu_node *node);
void sgpu_forget_fence(struct sgpu *gpu, uint32_t fence);
void sgpu_forget_fences(struct sgpu *gpu);

/* ---- sgpu_scan.c ---------------------------------------------------------------------------- */

#define SCAN_NOTHING UINT64_MAX
/* True: it was a register of the scan-out. */
bool sgpu_scan_write(struct sgpu *gpu, uint64_t offset, uint32_t value);
void sgpu_scan_end(struct sgpu *gpu);

/* ---- sgpu_connector.c ----------------------------------------------------------------------- */

/* 0: it is no register of the connector. */
uint32_t sgpu_connector_read(const struct sgpu *gpu, uint64_t offset);

/* ---- sgpu_mmu.c ----------------------------------------------------------------------------- */

/* Number of entries, from table[index] and at most limit, that go on where it goes. */
uint64_t sgpu_run_length(const uint64_t *table, uint64_t index, uint64_t limit);

/* The longest run at address, at most bytes (not 0). False: out_span->fault says why. */
bool sgpu_translate(struct sgpu_node *node, const struct sgpu_space *space, uint64_t address,
                    uint64_t bytes, enum sgpu_access access, struct sgpu_span *out_span);

/* ---- sgpu_iommu.c --------------------------------------------------------------------------- */

/* The longest run of RAM from a system address as the device names it; span->bytes 0: none. */
void sgpu_resolve_system(const struct sgpu *gpu, uint64_t address, uint64_t bytes,
                         struct sgpu_span *span);
/* The RAM page behind a system page that the device names; false: none answers. */
static inline uint64_t sgpu_block_words(const struct sgpu *gpu)
{
    return div_round_up(gpu->slot_count, (uint64_t)BLOCK_SLOTS * 64);
}
static inline void sgpu_note_slots(struct sgpu *gpu, uint64_t first, uint64_t count)
{
    for (uint64_t slot = align_down(first, BLOCK_SLOTS); slot < first + count; slot += BLOCK_SLOTS)
        gpu->slot_blocks[slot / BLOCK_SLOTS / 64] |= UINT64_C(1) << slot / BLOCK_SLOTS % 64;
}
static inline void sgpu_note_system(const struct sgpu *gpu)
{
    if (gpu->watches_system && gpu->observer && gpu->observer->system_reached)
        gpu->observer->system_reached(gpu->observer_context);
}
bool sgpu_system_page(const struct sgpu *gpu, uint64_t page, uint64_t *out_page);
/* The same as the first for an address of a process. */
void sgpu_resolve_process(const struct sgpu *gpu, uint32_t pasid, uint64_t va, uint64_t bytes,
                          struct sgpu_span *span);

void sgpu_tlb_flush(struct sgpu *gpu, uint64_t root_pa, uint64_t start, uint64_t end);
void sgpu_tlb_reset(struct sgpu_node *node);
void sgpu_tlb_fini(struct sgpu_node *node);

#endif
