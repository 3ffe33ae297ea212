/*
 * The Drydock GPU, as a model: what drydock/sgpu.h says, executed.
 *
 * Place      sgpu. Uses base, machine and its public manual, drydock/sgpu.h. Knows no driver and
 *            no memory manager; they meet it only at registers, memory and the interrupt line.
 * Model      Each node runs its queue by itself. A packet is one timed event: it starts, takes time
 *            from the links it uses and a fixed cost, and ends. Copies, fills, table and aperture
 *            writes and TLB flushes take effect at the end; a render reads at its start and writes
 *            at its end. With SGPU_STRAP_BOTH_WAYS copies and fills are under way while later
 *            packets start (sgpu_flight.c). Translation goes through a TLB per node that really
 *            holds on to what it knows: a driver that forgets a flush reads and writes the old
 *            place. A fault stops the node: nothing more runs on it, the submission never
 *            completes, and the fault registers and SGPU_IRQ_FAULTED tell. SGPU_CONTROL_RESET
 *            starts it afresh, with an empty queue and an empty TLB.
 * Ownership  sgpu_create() gives the GPU; the machine must outlive it. Observers are borrowed.
 * Errors     create: NULL. What software does wrong becomes a fault, never a crash.
 * Source     include/drydock/sgpu.h.
 */
#ifndef DRYDOCK_SGPU_SGPU_H
#define DRYDOCK_SGPU_SGPU_H

#include "machine/machine.h"

#include <drydock/sgpu.h>

#include <stdbool.h>
#include <stdint.h>

struct sgpu;

#define SGPU_MAX_NODES 4u

struct sgpu_config {
    uint32_t straps;                     /* SGPU_STRAP_* */
    uint8_t index_bits[SGPU_MAX_LEVELS]; /* of page tables, leaf first; all 0: an ordinary board */
    uint32_t node_count;                 /* 2 to SGPU_MAX_NODES; 0: 2. Nodes from 1 on copy. */
    uint64_t packet_ns;                  /* fixed cost of a packet; 0: 200 */
    uint64_t kept_bytes;  /* of local memory, kept over hibernation if the strap says so; 0: all */
    uint64_t dead_offset; /* defective local memory, whole pages; a fault for whoever goes there */
    uint64_t dead_bytes;  /* 0: none */
    uint32_t traits;      /* SGPU_TRAIT_* */
    uint64_t protected_offset, protected_bytes; /* whole pages; 0 bytes: none */
    uint64_t picture_offset, picture_bytes;
    uint64_t own_bytes;     /* at the end of what BAR 1 reaches: the driver's own */
    bool ignores_tlb_flush; /* planted defect of the hardware, for tests of those who look for it */
};

/* Registers BAR 0 with the machine. */
struct sgpu *sgpu_create(struct machine *machine, const struct sgpu_config *config);
void sgpu_destroy(struct sgpu *gpu);

/* ---- Observing -------------------------------------------------------------------------------
 * Functions may be NULL. They are called in the order in which things happen, and change nothing.
 */
struct sgpu_fault {
    uint32_t node;
    uint32_t fence;         /* of the submission */
    uint32_t kind;          /* SGPU_FAULT_* */
    uint64_t address;       /* what SGPU_NODE_FAULT_VA reads */
    uint64_t packet_offset; /* in the submission */
    uint32_t packet_bytes;
    uint64_t token; /* of the RENDER packet, else 0 */
};

/* A command that runs: of a submission, so many bytes behind its start. */
struct sgpu_command {
    uint32_t node, fence;
    uint64_t offset;
    uint32_t bytes;
};

/*
 * A run is what one reference touches in one piece of physical memory: offset_in_ref and bytes say
 * which part of the reference, store and address where. A store of NULL is a page-table entry
 * with ZERO: reads are zero and writes vanish. address & 4095 is that of the reference's part.
 */
struct sgpu_observer {
    /* Of a RENDER packet whose token is 0: which it is of, by the fence of its submission. */
    uint64_t (*token_of)(void *context, uint32_t node, uint32_t fence);
    void (*render_begin)(void *context, uint64_t token, uint32_t node);
    void (*render_read)(void *context, uint64_t token, uint32_t index, uint64_t offset_in_ref,
                        struct page_store *store, uint64_t address, uint64_t bytes);
    /* Before the content is written; it will be key + i as drydock/sgpu.h says. */
    void (*render_write)(void *context, uint64_t token, uint32_t index, uint64_t offset_in_ref,
                         struct page_store *store, uint64_t address, uint64_t bytes);
    /* A packet of it that goes on has ended: what it wrote is written. */
    void (*render_piece_end)(void *context, uint64_t token);
    void (*render_end)(void *context, uint64_t token);
    /*
     * A command that copies or fills has written there.
     */
    void (*wrote)(void *context, const struct sgpu_command *command, struct page_store *store,
                  uint64_t address, uint64_t bytes);
    /* A command has written entries of a page table there. */
    void (*wrote_entries)(void *context, const struct sgpu_command *command,
                          struct page_store *store, uint64_t address, uint64_t bytes);
    void (*fault)(void *context, const struct sgpu_fault *fault);
    /*
     * A doorbell queued it; *root as SGPU_NODE_ROOT holds it, and the entries of that table; NULL
     * and 0: it goes through none.
     */
    void (*submission_queued)(void *context, uint32_t node, uint32_t fence, uint64_t address,
                              uint32_t bytes, const uint64_t *root, uint64_t root_entries);
    /* The node turns to it; its first packet starts a little later. */
    void (*submission_begins)(void *context, uint32_t node, uint32_t fence);
    /* COMPLETED already reads fence; the interrupt has not been delivered. */
    void (*submission_done)(void *context, uint32_t node, uint32_t fence);
    /* It goes without having run: a preemption or a reset of the node takes it. */
    void (*submission_dropped)(void *context, uint32_t node, uint32_t fence);
    /* A native fence passed the value that is waited for; the interrupt has not been delivered. */
    void (*fence_passed)(void *context, uint32_t node);
    /* The value of a native fence is about to be written at a GPU address. */
    void (*fence_written)(void *context, uint32_t node, uint64_t address, uint64_t value);
    /* A GPU address is scanned out from now on; the interrupt has not been delivered. */
    void (*scanned)(void *context, uint64_t address);
    /* A packet dropped cached translations of a root, whose bits are SGPU_ROOT()'s; end 0: all. */
    void (*tlb_flushed)(void *context, uint32_t node, uint64_t root, uint64_t start, uint64_t end);
    /* System memory was reached: only while sgpu_watch_system_memory() asks for it. */
    void (*system_reached)(void *context);
    /* A register was accessed, and the board has been removed. */
    void (*touched_gone)(void *context, uint64_t offset, bool is_write);
    /* A register of a node that is off was written, at that offset of its block. */
    void (*touched_off)(void *context, uint32_t node, uint64_t offset);
};
void sgpu_set_observer(struct sgpu *gpu, const struct sgpu_observer *observer, void *context);

/*
 * For a while in which the device is to be silent: system_reached() from here on, or not any more.
 */
void sgpu_watch_system_memory(struct sgpu *gpu, bool is_watched);

/* ---- Physical addresses ---------------------------------------------------------------------- */

/*
 * The longest run from a GPU physical address, at most bytes: its store and address in it. False,
 * with *out_bytes 0, when nothing answers, or the address lies in an aperture slot that points
 * nowhere.
 */
bool sgpu_resolve(struct sgpu *gpu, uint64_t pa, uint64_t bytes, struct page_store **out_store,
                  uint64_t *out_address, uint64_t *out_bytes);

/* Where an aperture slot points: a system page number, or SGPU_NO_PAGE before the first write. */
#define SGPU_NO_PAGE UINT64_MAX
uint64_t sgpu_aperture_page(const struct sgpu *gpu, uint64_t slot);
bool sgpu_aperture_is_coherent(const struct sgpu *gpu, uint64_t slot);

/* What SGPU_REG_IRQ_ENABLE holds; 0 without power. */
uint32_t sgpu_enabled_interrupts(const struct sgpu *gpu);

/* ---- Page tables, past the TLB --------------------------------------------------------------- */

struct sgpu_walk {
    uint32_t fault;                       /* SGPU_FAULT_NONE, NOT_VALID or BUS */
    uint32_t level;                       /* the level at which the walk ended; 0 the leaf */
    uint32_t read_levels;                 /* a bit for each level at which an entry was read: */
    uint64_t tables_pa[SGPU_MAX_LEVELS];  /* by level: table visited */
    uint64_t entries_pa[SGPU_MAX_LEVELS]; /* by level: of the entry read */
    uint64_t entries[SGPU_MAX_LEVELS];    /* by level: entry read, without the bits that this GPU
                                             ignores; in a GPU page, what it means here */
    uint64_t pa;                          /* of va, a GPU physical address; 0 unless valid */
    uint64_t pte;                         /* the leaf entry; 0 unless reached */
    uint64_t page_bytes;     /* that it maps: 4 KiB, 64 KiB or a large page; 0 as pte */
    uint64_t gpu_page_bytes; /* of a leaf of 4 KiB entries: of a GPU page */
};
/* root is SGPU_ROOT(). */
void sgpu_mmu_walk(struct sgpu *gpu, uint64_t root, uint64_t va, struct sgpu_walk *out_walk);

/* Valid and equal in all bits but the address, which ascends with va (or is ignored, with ZERO). */
struct sgpu_run {
    uint64_t va;
    uint64_t bytes;
    uint64_t pa;         /* GPU physical address of va */
    uint64_t attributes; /* the leaf entries without the address, whatever the page size */
};

/*
 * Every valid run in [va_start, va_end), ascending, as long as they go. The callback returns false
 * to stop; the result is false then, and when a table lies where no memory answers.
 * Tables that contain themselves are walked as the tree they pretend to be: bound the range.
 */
bool sgpu_mmu_for_each_run(struct sgpu *gpu, uint64_t root, uint64_t va_start, uint64_t va_end,
                           bool (*callback)(void *context, const struct sgpu_run *run),
                           void *context);

/* ---- Misfortune and power (sgpu_device.c) ---------------------------------------------------- */

/*
 * The node hangs: of the packets that are under way or will start, the one with so many before it
 * never ends and has no effect. A reset of the node or the device heals it.
 */
void sgpu_hang(struct sgpu *gpu, uint32_t node, uint32_t packets_before);
/*
 * The same, and sgpu_end_hang() ends the packet after all, with the rest of its submission, at
 * once. It does nothing with a node that hangs otherwise, or not.
 */
void sgpu_hang_for_a_while(struct sgpu *gpu, uint32_t node, uint32_t packets_before);
void sgpu_end_hang(struct sgpu *gpu, uint32_t node);
bool sgpu_is_hung(const struct sgpu *gpu, uint32_t node); /* it has come to that packet */

/* A monitor with this EDID, of SGPU_EDID_BYTES, is plugged in; NULL: there is none any more. */
void sgpu_plug(struct sgpu *gpu, const uint8_t *edid);

/* The interrupt of the node's next completion or preemption gets lost; the registers tell. */
void sgpu_lose_interrupt(struct sgpu *gpu, uint32_t node);

/*
 * Takes the power away and gives it back, as drydock/sgpu.h describes. What the straps do not keep
 * of local memory in this state reads as SGPU_LOST_PATTERN afterwards.
 */
enum sgpu_sleep { SGPU_SLEEP_STANDBY, SGPU_SLEEP_HIBERNATE, SGPU_SLEEP_D3 };
#define SGPU_LOST_PATTERN 0xdead1057u
void sgpu_power_off(struct sgpu *gpu, enum sgpu_sleep sleep);
void sgpu_power_on(struct sgpu *gpu);

/* Pulled out of its slot, asleep or at work: without power for good, and local memory is lost. */
void sgpu_remove(struct sgpu *gpu);

/* ---- State ----------------------------------------------------------------------------------- */

struct sgpu_statistics {
    uint64_t submissions;
    uint64_t packets;
    uint64_t faults;
    uint64_t lost_submissions; /* doorbells rung with the queue full */
    uint64_t tlb_hits;         /* a hit serves a run, not a page */
    uint64_t tlb_misses;
    uint64_t tlb_flushes;
    uint64_t copied_bytes;
    uint64_t filled_bytes;
    uint64_t touches;         /* TOUCH packets */
    uint64_t cleaned_bytes;   /* by CLEAN packets */
    uint64_t entries_written; /* page-table entries */
    uint64_t render_read_bytes;
    uint64_t render_written_bytes;
};
void sgpu_get_statistics(const struct sgpu *gpu, struct sgpu_statistics *out_statistics);

/* Nothing queued and nothing running on any node; a faulted node is not idle. */
bool sgpu_is_idle(const struct sgpu *gpu);

#endif
