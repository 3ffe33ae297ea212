/*
 * Creation, time, the interrupt line, links and the digest.
 */
#include "machine/machine_private.h"

#define DEFAULT_PCIE_BYTES_PER_SECOND  UINT64_C(15754000000)  /* PCIe 3.0 x16 */
#define DEFAULT_LOCAL_BYTES_PER_SECOND UINT64_C(400000000000) /* GDDR6, 256 bits */

#define RNG_STREAM_JITTER UINT64_C(0x6a69)

/* System addresses have to fit in page-table entries and below SGPU_PA_SYSTEM: 64 TiB. */
#define MAX_MEMORY_BYTES (UINT64_C(1) << 46)

void machine_config_defaults(struct machine_config *out_config, uint64_t seed)
{
    *out_config = (struct machine_config){
        .seed = seed,
        .ram_bytes = 16 * GiB,
        .local_bytes = 4 * GiB,
        .visible_bytes = 256 * MiB,
        .aperture_bytes = 4 * GiB,
        .scatter = MACHINE_SCATTERED,
        .pcie_bytes_per_second = DEFAULT_PCIE_BYTES_PER_SECOND,
        .pcie_latency_ns = 500,
        .local_bytes_per_second = DEFAULT_LOCAL_BYTES_PER_SECOND,
        .local_latency_ns = 100,
        .interrupt_latency_ns = 2000,
    };
}

static bool is_lawful(const struct machine_config *config)
{
    return config->ram_bytes >= 4 * MiB && config->ram_bytes <= MAX_MEMORY_BYTES &&
           is_aligned(config->ram_bytes, 2 * MiB) && config->local_bytes <= MAX_MEMORY_BYTES / 64 &&
           is_aligned(config->local_bytes, PAGE_BYTES) &&
           config->visible_bytes <= config->local_bytes &&
           is_aligned(config->visible_bytes, PAGE_BYTES) &&
           config->aperture_bytes <= MAX_MEMORY_BYTES / 64 &&
           is_aligned(config->aperture_bytes, PAGE_BYTES) && config->scatter <= MACHINE_CONTIGUOUS;
}

static bool event_is_before(const struct heap_node *a, const struct heap_node *b)
{
    const struct machine_event *first = container_of(a, struct machine_event, node);
    const struct machine_event *second = container_of(b, struct machine_event, node);

    if (first->time_ns != second->time_ns)
        return first->time_ns < second->time_ns;
    return first->sequence < second->sequence;
}

struct machine *machine_create(const struct base_services *services,
                               const struct machine_config *config)
{
    struct machine *machine;

    if (!is_lawful(config))
        return NULL;
    machine = base_alloc(services, sizeof *machine);
    if (!machine)
        return NULL;
    machine->services = services;
    machine->config = *config;
    if (!machine_bars_are_lawful(machine)) {
        base_free(services, machine, sizeof *machine);
        return NULL;
    }
    if (config->pcie_bytes_per_second == 0)
        machine->config.pcie_bytes_per_second = DEFAULT_PCIE_BYTES_PER_SECOND;
    if (config->local_bytes_per_second == 0)
        machine->config.local_bytes_per_second = DEFAULT_LOCAL_BYTES_PER_SECOND;
    heap_init(&machine->events, event_is_before);
    machine->digest = hash_u64(config->seed);
    rng_init(&machine->seed_rng, config->seed);
    rng_fork(&machine->seed_rng, RNG_STREAM_JITTER, &machine->jitter_rng);

    machine->to_device.bytes_per_second = machine->config.pcie_bytes_per_second;
    machine->to_device.latency_ns = config->pcie_latency_ns;
    machine->from_device = machine->to_device;
    machine->local_link.bytes_per_second = machine->config.local_bytes_per_second;
    machine->local_link.latency_ns = config->local_latency_ns;

    machine->ram = page_store_create(services, config->ram_bytes / PAGE_BYTES);
    if (!machine->ram)
        goto fail;
    if (config->local_bytes) {
        machine->local = page_store_create(services, config->local_bytes / PAGE_BYTES);
        if (!machine->local)
            goto fail;
    }
    if (!machine_pages_init(machine))
        goto fail;
    machine->iommu = machine_iommu_create(services);
    if (!machine->iommu)
        goto fail;
    machine_pci_make_default(machine);
    return machine;

fail:
    machine_destroy(machine);
    return NULL;
}

void machine_destroy(struct machine *machine)
{
    if (!machine)
        return;
    machine_bus_fini(machine);
    machine_iommu_destroy(machine->iommu);
    machine_pages_fini(machine);
    page_store_destroy(machine->local);
    page_store_destroy(machine->ram);
    base_free(machine->services, machine, sizeof *machine);
}

const struct machine_config *machine_get_config(const struct machine *machine)
{
    return &machine->config;
}

const struct base_services *machine_services(const struct machine *machine)
{
    return machine->services;
}

struct page_store *machine_ram(struct machine *machine)
{
    return machine->ram;
}

struct page_store *machine_local(struct machine *machine)
{
    return machine->local;
}

struct machine_iommu *machine_iommu(struct machine *machine)
{
    return machine->iommu;
}

/* ---- Time ----------------------------------------------------------------------------------- */

uint64_t machine_now(const struct machine *machine)
{
    return machine->now_ns;
}

void machine_schedule(struct machine *machine, struct machine_event *event, uint64_t time_ns,
                      void (*fn)(void *context), void *context)
{
    ASSERT(!event->is_scheduled);
    machine_tell_before(
        machine, &(struct machine_deed){
                     .kind = MACHINE_DEED_SCHEDULE, .event = event, .fn = fn, .value = time_ns});
    event->time_ns = max_u64(time_ns, machine->now_ns);
    event->sequence = machine->next_sequence++;
    event->fn = fn;
    event->context = context;
    event->is_scheduled = true;
    heap_insert(&machine->events, &event->node);
}

void machine_cancel(struct machine *machine, struct machine_event *event)
{
    if (!event->is_scheduled || machine->has_forgotten_events)
        return;
    machine_tell_before(machine,
                        &(struct machine_deed){.kind = MACHINE_DEED_CANCEL, .event = event});
    heap_remove(&machine->events, &event->node);
    event->is_scheduled = false;
}

void machine_forget_events(struct machine *machine)
{
    heap_init(&machine->events, machine->events.is_before);
    machine->has_forgotten_events = true;
}

static bool run_next(struct machine *machine)
{
    struct heap_node *node = heap_pop(&machine->events);
    struct machine_deed deed = {.kind = MACHINE_DEED_RUN};
    struct machine_event *event;
    bool is_told;

    if (!node)
        return false;
    event = container_of(node, struct machine_event, node);
    event->is_scheduled = false;
    machine->now_ns = event->time_ns;
    deed.event = event;
    is_told = machine_tell_before(machine, &deed);
    event->fn(event->context);
    machine_tell_after(machine, is_told, &deed);
    return true;
}

bool machine_run_next(struct machine *machine)
{
    const struct machine_deed deed = {.kind = MACHINE_DEED_NEXT};
    const bool is_told = machine_tell_before(machine, &deed);
    const bool has_run = run_next(machine);

    machine_tell_after(machine, is_told, &deed);
    return has_run;
}

void machine_run_until(struct machine *machine, uint64_t time_ns)
{
    const struct machine_deed deed = {.kind = MACHINE_DEED_UNTIL, .value = time_ns};
    const bool is_told = machine_tell_before(machine, &deed);

    while (!heap_is_empty(&machine->events) && machine_next_event_time(machine) <= time_ns)
        run_next(machine);
    machine->now_ns = max_u64(machine->now_ns, time_ns);
    machine_tell_after(machine, is_told, &deed);
}

void machine_set_witness(struct machine *machine, const struct machine_witness *witness)
{
    machine->witness = witness;
}

uint64_t machine_next_event_time(const struct machine *machine)
{
    struct heap_node *node = heap_first(&machine->events);

    return node ? container_of(node, struct machine_event, node)->time_ns : UINT64_MAX;
}

uint64_t machine_jitter(struct machine *machine)
{
    if (machine->config.jitter_ns == 0)
        return 0;
    return rng_between(&machine->jitter_rng, 0, machine->config.jitter_ns);
}

void machine_fork_rng(const struct machine *machine, uint64_t stream, struct rng *out_rng)
{
    rng_fork(&machine->seed_rng, stream, out_rng);
}

/* ---- Interrupt ------------------------------------------------------------------------------ */

static void deliver_interrupt(void *context);

static void schedule_interrupt(struct machine *machine)
{
    if (machine->is_interrupt_asserted && !machine->is_interrupt_lost &&
        machine->interrupt_handler && !machine->interrupt_event.is_scheduled)
        machine_schedule(machine, &machine->interrupt_event,
                         machine->now_ns + machine->config.interrupt_latency_ns +
                             machine_jitter(machine),
                         deliver_interrupt, machine);
}

static void deliver_interrupt(void *context)
{
    struct machine *machine = context;

    machine->interrupt_count++;
    machine->interrupt_streak++;
    machine->interrupt_handler(machine->interrupt_context);
    if (machine->is_interrupt_asserted && machine->interrupt_streak >= MACHINE_INTERRUPT_STORM) {
        machine->is_interrupt_lost = true;
        machine->interrupt_storm_count++;
    }
    schedule_interrupt(machine);
}

void machine_set_interrupt_handler(struct machine *machine, void (*fn)(void *context),
                                   void *context)
{
    machine->interrupt_handler = fn;
    machine->interrupt_context = context;
    machine_cancel(machine, &machine->interrupt_event);
    schedule_interrupt(machine);
}

void machine_set_interrupt_line(struct machine *machine, bool is_asserted)
{
    if (machine->is_interrupt_asserted == is_asserted)
        return;
    machine->is_interrupt_asserted = is_asserted;
    if (is_asserted) {
        schedule_interrupt(machine);
        return;
    }
    machine->is_interrupt_lost = false;
    machine->interrupt_streak = 0;
    machine_cancel(machine, &machine->interrupt_event);
}

void machine_interrupt_of_another(struct machine *machine)
{
    if (machine->interrupt_handler)
        machine->interrupt_handler(machine->interrupt_context);
}

uint64_t machine_interrupt_count(const struct machine *machine)
{
    return machine->interrupt_count;
}

uint64_t machine_interrupt_storm_count(const struct machine *machine)
{
    return machine->interrupt_storm_count;
}

/* ---- Links ---------------------------------------------------------------------------------- */

uint64_t machine_link_occupy(struct machine_link *link, uint64_t start_ns, uint64_t bytes)
{
    uint64_t begin = max_u64(start_ns, link->free_at_ns);
    unsigned __int128 bit_time = (unsigned __int128)bytes * 1000000000u;
    uint64_t duration = (uint64_t)(bit_time / link->bytes_per_second);

    link->free_at_ns = begin + duration;
    link->carried_bytes += bytes;
    return link->free_at_ns + link->latency_ns;
}

struct machine_link *machine_link_to_device(struct machine *machine)
{
    return &machine->to_device;
}

struct machine_link *machine_link_from_device(struct machine *machine)
{
    return &machine->from_device;
}

struct machine_link *machine_link_local(struct machine *machine)
{
    return &machine->local_link;
}

/* ---- Digest --------------------------------------------------------------------------------- */

void machine_digest_add(struct machine *machine, uint64_t value)
{
    /* On the path of every register write: one multiplication; machine_digest() mixes it well. */
    machine->digest = (rotate_left_u64(machine->digest, 23) ^ value) * UINT64_C(0x9e3779b97f4a7c15);
}

uint64_t machine_digest(const struct machine *machine)
{
    return hash_u64(machine->digest);
}
