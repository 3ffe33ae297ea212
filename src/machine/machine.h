/*
 * Machine: the computer around the GPU. RAM, the physical bus, time, interrupts, links.
 *
 * Place      machine. Uses base only. The GPU model, the kernel services and the bench stand on it.
 * Model      One address space as the CPU sees it:
 *
 *            | physical address          | what answers                                       |
 *            | [0, ram_bytes)            | RAM; page 0 is never handed out                    |
 *            | bar0_pa + register bytes  | registers of the device, by callbacks              |
 *            | bar1_pa + visible_bytes   | local memory from its offset 0                     |
 *            | ... + aperture_bytes      | with shows_aperture: RAM as the aperture shows it  |
 *
 *            Time is virtual, in nanoseconds, and moves only in machine_run_next(): the machine is
 *            a queue of events, and events at one time run in the order they were scheduled.
 *            Everything is a function of the configuration and its seed.
 * Ownership  machine_create() gives the machine; it owns the page stores. Events are embedded in
 *            their owners' objects and borrowed while scheduled.
 * Errors     NULL or false. machine_destroy() forgives pages that are still handed out;
 *            machine_allocated_pages() counts them before.
 * Units      Bytes and ns; a page frame number (pfn) is a physical address divided by 4096.
 */
#ifndef DRYDOCK_MACHINE_MACHINE_H
#define DRYDOCK_MACHINE_MACHINE_H

#include "base/heap.h"
#include "base/rng.h"
#include "base/services.h"
#include "machine/machine_iommu.h"
#include "machine/machine_pci.h"
#include "machine/page_store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which system pages follow each other in what machine_alloc_pages() hands out. */
enum machine_scatter {
    MACHINE_SCATTERED,  /* permuted within 2 MiB, the 2 MiB pieces permuted; no two neighbours */
    MACHINE_FRAGMENTED, /* every page from anywhere; no two neighbours                          */
    MACHINE_CONTIGUOUS, /* ascending                                                            */
};

struct machine_config {
    uint64_t seed;
    uint64_t ram_bytes;     /* multiple of 2 MiB, at least 4 MiB */
    uint64_t local_bytes;   /* multiple of a page; may be 0      */
    uint64_t visible_bytes; /* of local memory, through BAR 1    */
    uint64_t aperture_bytes;
    bool shows_aperture; /* through BAR 1, behind visible_bytes */
    enum machine_scatter scatter;
    uint64_t pcie_bytes_per_second; /* each direction; 0: PCIe 3.0 x16, 15.754e9 */
    uint64_t pcie_latency_ns;
    uint64_t local_bytes_per_second; /* 0: 400e9 */
    uint64_t local_latency_ns;
    uint64_t interrupt_latency_ns; /* from the line to the handler */
    uint64_t jitter_ns;            /* machine_jitter() draws from [0, jitter_ns]; 0: none */
    /*
     * Physical addresses of BAR 0 (the registers) and of BAR 1 (the window on local memory), above
     * RAM, multiples of 128 MiB and of the window's size; 0: the machine chooses.
     */
    uint64_t registers_pa, window_pa;
};

/* 16 GiB of RAM, 4 GiB local, 256 MiB visible, 4 GiB aperture, scattered, no jitter. */
void machine_config_defaults(struct machine_config *out_config, uint64_t seed);

struct machine;

/* NULL when the configuration is not lawful or the host has no memory. */
struct machine *machine_create(const struct base_services *services,
                               const struct machine_config *config);
void machine_destroy(struct machine *machine);

const struct machine_config *machine_get_config(const struct machine *machine);
const struct base_services *machine_services(const struct machine *machine);
struct page_store *machine_ram(struct machine *machine);
struct page_store *machine_local(struct machine *machine);
/* Between the device and RAM; it remaps nothing until it is told to. */
struct machine_iommu *machine_iommu(struct machine *machine);

/* ---- System pages ---------------------------------------------------------------------------- */

/* What freed memory reads as, so that its use after that shows. */
#define MACHINE_FREED_PATTERN 0xfeeefeeeu
/* What a board's local memory may read as where nobody has written since it was switched on. */
#define MACHINE_FRESH_PATTERN 0xf2e5f2e5u

/* All count pages or none. Their content is not cleared. */
bool machine_alloc_pages(struct machine *machine, uint64_t count, uint64_t *out_pfns);
void machine_free_pages(struct machine *machine, const uint64_t *pfns, uint64_t count);

/* The kernel gives pages of somebody's their content, count of them. */
void machine_write_pages(struct machine *machine, const uint64_t *pfns, uint64_t count,
                         const void *bytes);

/* Consecutive pages, the first a multiple of alignment_pages (a power of two). */
bool machine_alloc_contiguous(struct machine *machine, uint64_t count, uint64_t alignment_pages,
                              uint64_t *out_first_pfn);
void machine_free_contiguous(struct machine *machine, uint64_t first_pfn, uint64_t count);

/* True when the page is handed out; false too for a pfn that is not RAM. */
bool machine_page_is_allocated(const struct machine *machine, uint64_t pfn);
uint64_t machine_allocated_pages(const struct machine *machine);
uint64_t machine_free_page_count(const struct machine *machine);

/* ---- Physical bus ---------------------------------------------------------------------------- */

enum machine_target_kind { MACHINE_NOTHING, MACHINE_RAM, MACHINE_REGISTERS, MACHINE_LOCAL };

struct machine_target {
    enum machine_target_kind kind;
    struct page_store *store; /* RAM and LOCAL */
    uint64_t address;         /* in the store, or offset in the registers */
};

/*
 * What BAR 1 shows: page i of it the local page pages[i], or nothing where that is UINT64_MAX. Lent
 * until the next call; NULL: local memory in order, as at first. Mappings keep what they showed.
 */
void machine_set_window_pages(struct machine *machine, const uint64_t *pages);

/*
 * The same by a function, which says for a page of BAR 1 which local page it shows; NULL: as the
 * list says. It must not be set together with a list.
 */
typedef uint64_t machine_window_page(void *context, uint64_t page);
void machine_set_window_function(struct machine *machine, machine_window_page *function,
                                 void *context);

/*
 * What the part of BAR 1 behind local memory shows: the function says for a page of the aperture
 * which page of RAM; UINT64_MAX: none. NULL: nothing is shown.
 */
void machine_set_aperture_function(struct machine *machine, machine_window_page *function,
                                   void *context);

/* Of BAR 1. */
uint64_t machine_bar1_bytes(const struct machine *machine);
uint64_t machine_bar0_pa(const struct machine *machine);
uint64_t machine_bar1_pa(const struct machine *machine);

/* Who answers the whole of [pa, pa + bytes); MACHINE_NOTHING and false when no one does. */
bool machine_bus_find(struct machine *machine, uint64_t pa, uint64_t bytes,
                      struct machine_target *out_target);

/* RAM and BAR 1 any bytes; BAR 0 one register of 1, 2, 4 or 8 bytes. Unanswered reads give ones. */
bool machine_bus_read(struct machine *machine, uint64_t pa, void *out, uint64_t bytes);
bool machine_bus_write(struct machine *machine, uint64_t pa, const void *from, uint64_t bytes);

/* The device behind BAR 0. Sizes are 1, 2, 4 or 8. */
struct machine_registers {
    uint64_t bytes; /* multiple of a page */
    uint64_t (*read)(void *context, uint64_t offset, unsigned size);
    void (*write)(void *context, uint64_t offset, unsigned size, uint64_t value);
};
bool machine_set_registers(struct machine *machine, const struct machine_registers *registers,
                           void *context);
/* Of BAR 0; 0: there are none. */
uint64_t machine_register_bytes(const struct machine *machine);

/*
 * A host pointer to [pa, pa + bytes), or NULL. RAM and BAR 1 read and write as memory. BAR 0 gives
 * a pointer that must not be followed: register functions recognise it and go to the device.
 * A range above 16 MiB is a page_window, with what that header says about SIGSEGV; a smaller one
 * becomes real bytes at once. Unmap with the same pointer and size, before machine_destroy().
 */
void *machine_map_physical(struct machine *machine, uint64_t pa, uint64_t bytes);
void machine_unmap_physical(struct machine *machine, void *pointer, uint64_t bytes);

/* True when the pointer lies in a BAR 0 mapping. */
bool machine_register_at(const struct machine *machine, const volatile void *pointer,
                         uint64_t *out_offset);

/* Through a BAR 0 mapping to the device; through any other pointer, to memory. */
uint64_t machine_read_register(struct machine *machine, const volatile void *pointer,
                               unsigned size);
void machine_write_register(struct machine *machine, volatile void *pointer, unsigned size,
                            uint64_t value);

/* ---- Time ------------------------------------------------------------------------------------ */

struct machine_event {
    struct heap_node node;
    uint64_t time_ns;
    uint64_t sequence;
    void (*fn)(void *context);
    void *context;
    bool is_scheduled;
};

uint64_t machine_now(const struct machine *machine);

/* The event is zeroed memory or one that is not scheduled. Times in the past mean now. */
void machine_schedule(struct machine *machine, struct machine_event *event, uint64_t time_ns,
                      void (*fn)(void *context), void *context);

/* Harmless when not scheduled. */
void machine_cancel(struct machine *machine, struct machine_event *event);

/*
 * Some that are scheduled lie in memory that is gone: none of them is looked at again, nor is any
 * cancelled.
 */
void machine_forget_events(struct machine *machine);

/* Advance to the first event and run it; false when there is none. It may schedule itself again. */
bool machine_run_next(struct machine *machine);

/* Run all events up to and including time_ns, then be there. */
void machine_run_until(struct machine *machine, uint64_t time_ns);

/* Time of the first event, UINT64_MAX without one. */
uint64_t machine_next_event_time(const struct machine *machine);

uint64_t machine_jitter(struct machine *machine);

/* A generator of its own for a part of the run, from the machine's seed. */
void machine_fork_rng(const struct machine *machine, uint64_t stream, struct rng *out_rng);

/* ---- Interrupt -------------------------------------------------------------------------------
 * One line, by level. While the device asserts it, the handler is called from an event,
 * interrupt_latency_ns after the line rose or after the handler last returned. A handler that
 * lets it asserted MACHINE_INTERRUPT_STORM times in a row has lost it: the line is then masked
 * until the device lowers it, and counted.
 */
#define MACHINE_INTERRUPT_STORM 10000u

void machine_set_interrupt_handler(struct machine *machine, void (*fn)(void *context),
                                   void *context);
void machine_set_interrupt_line(struct machine *machine, bool is_asserted);
/* Another device on the line raises it for a moment: the handler is called now. */
void machine_interrupt_of_another(struct machine *machine);
uint64_t machine_interrupt_count(const struct machine *machine);
uint64_t machine_interrupt_storm_count(const struct machine *machine);

/* ---- Links -----------------------------------------------------------------------------------
 * A link carries one transfer after another at bytes_per_second; latency comes on top.
 */
struct machine_link {
    uint64_t bytes_per_second;
    uint64_t latency_ns;
    uint64_t free_at_ns;
    uint64_t carried_bytes; /* so far */
};

/* Returns when the last byte has arrived. */
uint64_t machine_link_occupy(struct machine_link *link, uint64_t start_ns, uint64_t bytes);

struct machine_link *machine_link_to_device(struct machine *machine);
struct machine_link *machine_link_from_device(struct machine *machine);
struct machine_link *machine_link_local(struct machine *machine);

/* ---- Witness ---------------------------------------------------------------------------------
 * Who wants to know what somebody does to the machine by its functions.
 */
enum machine_deed_kind {
    MACHINE_DEED_READ,       /* of a register: offset, size */
    MACHINE_DEED_WRITE,      /* offset, size, value */
    MACHINE_DEED_SCHEDULE,   /* event; fn; value: the time */
    MACHINE_DEED_CANCEL,     /* event, which is scheduled */
    MACHINE_DEED_RUN,        /* event: its time has come, and its function runs */
    MACHINE_DEED_NEXT,       /* machine_run_next() */
    MACHINE_DEED_UNTIL,      /* value: the time */
    MACHINE_DEED_TAKE,       /* count pages; pfns, behind the deed */
    MACHINE_DEED_GIVE,       /* the same */
    MACHINE_DEED_TAKE_RANGE, /* count pages, aligned to size pages; value: the first, behind it */
    MACHINE_DEED_GIVE_RANGE, /* the same, without an alignment */
    MACHINE_DEED_FILL,       /* count pages; pfns: machine_write_pages() */
    MACHINE_DEED_CONFIGURE,  /* the PCI function's space is written: offset, count bytes */
};

struct machine_deed {
    enum machine_deed_kind kind;
    unsigned size;
    uint64_t offset, value, count;
    const uint64_t *pfns;
    const void *bytes;
    const struct machine_event *event;
    void (*fn)(void *context);
};

struct machine_witness {
    void *context;
    /* False: the deed is of no interest, and its end is not told. */
    bool (*before)(void *context, const struct machine_deed *deed);
    /* Not of a deed that failed: it has changed nothing. */
    void (*after)(void *context, const struct machine_deed *deed);
};

/* Borrowed; NULL: nobody. */
void machine_set_witness(struct machine *machine, const struct machine_witness *witness);

/* ---- Digest ----------------------------------------------------------------------------------
 * A running hash of what happened: the device enters register writes and retired submissions;
 * whoever else wants to be part of a run's identity may add to it.
 */
void machine_digest_add(struct machine *machine, uint64_t value);
uint64_t machine_digest(const struct machine *machine);

#endif
