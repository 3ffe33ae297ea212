/*
 * Machine internals, shared by machine.c, machine_pages.c and machine_bus.c.
 *
 * Place   machine. Nobody else includes this.
 */
#ifndef DRYDOCK_MACHINE_MACHINE_PRIVATE_H
#define DRYDOCK_MACHINE_MACHINE_PRIVATE_H

#include "machine/machine.h"

#include "base/assert.h"
#include "base/hash.h"
#include "base/list.h"

#define REGION_PAGES UINT64_C(512)

/* Orders in which the pages of a region are handed out; each region uses one of them, turned. */
#define REGION_ORDERS 16u

struct page_region {
    uint16_t free_count;
    uint16_t cursor; /* position in the order */
    uint8_t order;
    bool is_queued;
};

/* Regions that may have free pages, first in, first out. A ring: each region is in it once. */
struct region_queue {
    uint32_t *regions;
    uint64_t capacity;
    uint64_t head;
    uint64_t count;
};

/*
 * The upper sixteenth of RAM is the zone for contiguous blocks: scattered pages come from it only
 * when the rest is full.
 */
struct page_allocator {
    uint64_t page_count;
    uint64_t region_count;
    uint64_t zone_region; /* the first of the zone */
    uint64_t allocated_count;
    uint64_t last_pfn;
    uint64_t *allocated; /* one bit a page; page 0 is set from the start */
    struct page_region *regions;
    struct region_queue general;
    struct region_queue zone;
    uint16_t orders[REGION_ORDERS][REGION_PAGES];
    struct rng rng;
};

struct machine {
    const struct base_services *services;
    struct machine_config config;
    struct page_store *ram;
    struct page_store *local; /* NULL without local memory */
    struct machine_iommu *iommu;
    struct page_allocator pages;

    struct rng seed_rng; /* only forked from */
    struct rng jitter_rng;

    uint64_t now_ns;
    uint64_t next_sequence;
    struct heap events;
    bool has_forgotten_events;

    const struct machine_registers *registers;
    void *registers_context;
    const uint64_t *window_pages; /* NULL: BAR 1 is linear, unless... */
    machine_window_page *window_function;
    void *window_context;
    machine_window_page *aperture_function; /* NULL: the aperture is not shown */
    void *aperture_context;
    uint8_t *register_window; /* reserved host addresses that stand for BAR 0 */
    uint64_t register_window_bytes;

    struct machine_pci pci;
    uint8_t pci_space[MACHINE_PCI_SPACE_BYTES];
    bool has_own_pci; /* else it is made from the machine */

    void (*interrupt_handler)(void *context);
    void *interrupt_context;
    bool is_interrupt_asserted;
    bool is_interrupt_lost; /* a storm: masked until the line falls */
    uint32_t interrupt_streak;
    uint64_t interrupt_count;
    uint64_t interrupt_storm_count;
    struct machine_event interrupt_event;

    struct machine_link to_device;
    struct machine_link from_device;
    struct machine_link local_link;

    uint64_t digest;

    const struct machine_witness *witness; /* NULL: nobody */
};

/* Around a deed; the second takes what the first gave. */
static inline bool machine_tell_before(const struct machine *machine,
                                       const struct machine_deed *deed)
{
    return machine->witness && machine->witness->before(machine->witness->context, deed);
}

static inline void machine_tell_after(const struct machine *machine, bool is_told,
                                      const struct machine_deed *deed)
{
    if (is_told && machine->witness)
        machine->witness->after(machine->witness->context, deed);
}

bool machine_pages_init(struct machine *machine);
void machine_pages_fini(struct machine *machine);
void machine_bus_fini(struct machine *machine);
/* What a base address register can say that is so long: a power of two. */
uint64_t machine_pci_bar_size(uint64_t bytes);
/* Where the BARs were asked for: apart, above RAM, each at a multiple of its size. */
bool machine_bars_are_lawful(const struct machine *machine);
void machine_pci_make_default(struct machine *machine);

#endif
