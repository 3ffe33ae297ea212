/*
 * Registers and queues.
 *
 * A node is one event at a time: the start of a submission or the end of a packet. Where a packet
 * ends the next one starts, in the same event, so what a packet did is visible to the next and to
 * nobody before.
 */
#include "sgpu/sgpu_private.h"

#include <string.h>

#define DEFAULT_PACKET_NS  200u
#define DEFAULT_NODE_COUNT 2u

static void start_next_submission(struct sgpu_node *node);

/* ---- Running submissions -------------------------------------------------------------------- */

/* An interrupt that tells of progress may get lost on its way. */
static void raise_progress(struct sgpu_node *node, uint32_t bits)
{
    if (node->loses_interrupt)
        node->loses_interrupt = false;
    else
        sgpu_raise_irq(node->gpu, bits);
}

/* What was dropped is gone and what ran has ended. */
static void end_preemption(struct sgpu_node *node)
{
    node->is_preempting = false;
    raise_progress(node, SGPU_IRQ_PREEMPTED(node->index));
}

/* The oldest submissions of the queue, so many, are all that is left of it. */
static void drop_submissions(struct sgpu_node *node, uint32_t kept)
{
    const struct sgpu *gpu = node->gpu;

    for (uint32_t i = kept; i < node->queue_count; i++) {
        if (gpu->observer && gpu->observer->submission_dropped)
            gpu->observer->submission_dropped(
                gpu->observer_context, node->index,
                node->queue[(node->queue_head + i) % SGPU_QUEUE_SLOTS].fence);
    }
    node->queue_count = kept;
}

static void preempt_node(struct sgpu_node *node)
{
    drop_submissions(node, node->landing + (node->is_running || node->is_faulted));
    node->preemption_left = node->queue_count;
    if (node->queue_count)
        node->is_preempting = true;
    else
        end_preemption(node);
}

/* Its end is told by a value in memory. */
static bool is_of_queue(const struct sgpu_node *node, const struct sgpu_submission *submission)
{
    return submission->flags & SGPU_SUBMIT_PROGRESS &&
           node->gpu->config.straps & SGPU_STRAP_QUEUES && node->index == SGPU_NODE_RENDER;
}

/* The submission at the head of the queue has. */
static void complete_submission(struct sgpu_node *node)
{
    struct sgpu *gpu = node->gpu;
    const struct sgpu_submission *submission = &node->queue[node->queue_head];
    uint32_t fence = submission->fence;

    node->queue_head = (node->queue_head + 1) % SGPU_QUEUE_SLOTS;
    node->queue_count--;
    if (!is_of_queue(node, submission))
        node->completed_fence = fence;
    gpu->statistics.submissions++;
    machine_digest_add(gpu->machine, (uint64_t)node->index << 32 | fence);
    machine_digest_add(gpu->machine, machine_now(gpu->machine));
    if (gpu->observer && gpu->observer->submission_done)
        gpu->observer->submission_done(gpu->observer_context, node->index, fence);
    raise_progress(node, SGPU_IRQ_COMPLETED(node->index));
    if (node->is_preempting && --node->preemption_left == 0)
        end_preemption(node);
    start_next_submission(node);
}

static void complete_landing(struct sgpu_node *node)
{
    node->landing--;
    complete_submission(node);
}

/*
 * The value of a hardware queue goes to memory when its submission has ended; on a node where
 * nothing flies. False: the node has faulted.
 */
static bool write_progress(struct sgpu_node *node)
{
    const struct sgpu_submission *submission = running_submission(node);
    const struct sgpu_space space = {
        .is_virtual = true, .root_pa = submission->root_pa, .pasid = MACHINE_NO_PASID};
    struct sgpu_span to;

    if (!is_of_queue(node, submission))
        return true;
    if (!is_aligned(submission->progress_va, sizeof(uint64_t))) {
        sgpu_raise_fault(node, SGPU_FAULT_PACKET, node->offset);
        return false;
    }
    if (!sgpu_translate(node, &space, submission->progress_va, sizeof(uint64_t), SGPU_ACCESS_WRITE,
                        &to)) {
        sgpu_raise_fault(node, to.fault, to.fault_address);
        return false;
    }
    sgpu_write_fence(node, &to, submission->progress, false);
    return true;
}

/* All of the running submission's packets have started, and those that do not fly have ended. */
static void end_submission(struct sgpu_node *node)
{
    struct sgpu_flight *flight;

    if (!write_progress(node))
        return;
    node->is_running = false;
    if (!node->flight_count) {
        complete_submission(node);
        return;
    }
    flight = sgpu_flight_prepare(node, SGPU_FLIGHT_END);
    node->landing++;
    sgpu_flight_start(flight, 0);
    start_next_submission(node);
}

static void end_packet(void *context);

/* The packet that begins is the one that never ends. */
static bool must_hang(struct sgpu_node *node)
{
    if (!node->will_hang)
        return false;
    if (node->hangs_after) {
        node->hangs_after--;
        return false;
    }
    node->will_hang = false;
    node->is_hung = true;
    return true;
}

/*
 * What is under way has to end before the submission goes on: there is no room for more, or the
 * next thing happens on a node that does nothing else.
 */
static bool must_drain(struct sgpu_node *node)
{
    return node->flight_count == SGPU_FLIGHTS ||
           (node->flight_count &&
            (node->will_hang || (running_submission(node)->flags & SGPU_SUBMIT_SAVE)));
}

static void start_packet(void *context)
{
    struct sgpu_node *node = context;
    struct sgpu_submission *submission = running_submission(node);
    struct machine *machine = node->gpu->machine;
    uint64_t end_ns;

    if (must_drain(node)) {
        node->waits = true;
        node->drains = node->flight_count < SGPU_FLIGHTS;
        return;
    }
    if (submission->flags & SGPU_SUBMIT_FENCE_ONLY) {
        end_submission(node);
        return;
    }
    if (node->offset == 0 && !sgpu_load_save_area(node))
        return;
    if (node->offset == submission->size) {
        if (sgpu_store_save_area(node))
            end_submission(node);
        return;
    }
    if (must_hang(node))
        return;
    switch (sgpu_packet_begin(node, node->flights != NULL, &end_ns)) {
    case SGPU_BEGUN_FAULTED:
        break;
    case SGPU_BEGUN_TIMED:
        machine_schedule(machine, &node->event, end_ns + machine_jitter(machine), end_packet, node);
        break;
    case SGPU_BEGUN_FLIES:
        node->offset += node->packet_size;
        machine_schedule(machine, &node->event,
                         machine_now(machine) + node->gpu->config.packet_ns +
                             machine_jitter(machine),
                         start_packet, node);
        break;
    case SGPU_BEGUN_DRAINS:
        node->drains = true;
        /* fall through */
    case SGPU_BEGUN_WAITS:
        node->waits = true;
        break;
    }
}

static void end_packet(void *context)
{
    struct sgpu_node *node = context;

    if (!sgpu_packet_end(node)) {
        node->ends_again = node->waits;
        return;
    }
    node->offset += node->packet_size;
    start_packet(node);
}

static void go_on(struct sgpu_node *node)
{
    bool ends_again = node->ends_again;

    if (!node->waits || (node->drains && node->flight_count))
        return;
    node->waits = node->drains = node->ends_again = false;
    if (ends_again)
        end_packet(node);
    else
        start_packet(node);
}

void sgpu_end_hang(struct sgpu *gpu, uint32_t index)
{
    struct sgpu_node *node = index < gpu->node_count ? &gpu->nodes[index] : NULL;
    uint64_t end_ns;

    if (!node || !node->is_hung || !node->may_go_on)
        return;
    ASSERT(!node->flight_count);
    node->is_hung = false;
    while (node->offset != running_submission(node)->size) {
        if (sgpu_packet_begin(node, false, &end_ns) != SGPU_BEGUN_TIMED || !sgpu_packet_end(node))
            return; /* it faults */
        node->offset += node->packet_size;
    }
    if (sgpu_store_save_area(node))
        end_submission(node);
}

static void start_next_submission(struct sgpu_node *node)
{
    struct machine *machine = node->gpu->machine;

    if (node->is_running || node->is_faulted || node->is_preempting ||
        node->queue_count == node->landing)
        return;
    node->is_running = true;
    node->offset = 0;
    node->packet_size = 0;
    if (node->gpu->observer && node->gpu->observer->submission_begins)
        node->gpu->observer->submission_begins(
            node->gpu->observer_context, node->index,
            node->queue[(node->queue_head + node->landing) % SGPU_QUEUE_SLOTS].fence);
    machine_schedule(machine, &node->event,
                     machine_now(machine) + node->gpu->config.packet_ns + machine_jitter(machine),
                     start_packet, node);
}

static void ring_doorbell(struct sgpu_node *node, uint32_t flags)
{
    uint32_t tail = (node->queue_head + node->queue_count) % SGPU_QUEUE_SLOTS;

    if (node->queue_count == SGPU_QUEUE_SLOTS) {
        node->gpu->statistics.lost_submissions++;
        return;
    }
    node->queue[tail] = (struct sgpu_submission){
        .address = node->address,
        .root_pa = node->root_pa,
        .size = node->size,
        .fence = node->fence,
        .flags = flags,
        .save_area = node->save_area,
        .save_bytes = node->save_bytes,
        .save_runs = node->save_runs_wanted,
        .progress_va = node->progress_va,
        .progress = node->progress,
    };
    node->queue_count++;
    node->queued_fence = node->fence;
    if (node->gpu->observer && node->gpu->observer->submission_queued)
        node->gpu->observer->submission_queued(
            node->gpu->observer_context, node->index, node->fence, node->address, node->size,
            flags & SGPU_SUBMIT_VIRTUAL ? &node->root_pa : NULL,
            flags & SGPU_SUBMIT_VIRTUAL ? sgpu_root_entries(node->gpu, node->root_pa) : 0);
    start_next_submission(node);
}

void sgpu_reset_node(struct sgpu_node *node)
{
    machine_cancel(node->gpu->machine, &node->event);
    sgpu_drop_flights(node);
    node->landing = 0;
    node->waits = node->drains = node->ends_again = false;
    drop_submissions(node, 0);
    node->queued_fence = node->completed_fence = 0;
    node->is_running = false;
    node->is_faulted = false;
    node->is_hung = false;
    node->will_hang = false;
    node->is_preempting = false;
    node->fault_fence = 0;
    node->fault_kind = SGPU_FAULT_NONE;
    node->fault_va = 0;
    sgpu_tlb_reset(node);
}

/* ---- Registers ------------------------------------------------------------------------------ */

/* The 32 bits of a 64-bit register that stand at an offset. */
static uint32_t half_of(uint64_t value, uint64_t offset)
{
    return (uint32_t)(offset & 4 ? value >> 32 : value);
}

static void set_half(uint64_t *reg, uint64_t offset, uint32_t value)
{
    if (offset & 4)
        *reg = (*reg & UINT32_MAX) | (uint64_t)value << 32;
    else
        *reg = (*reg & ~(uint64_t)UINT32_MAX) | value;
}

static struct sgpu_node *node_at(struct sgpu *gpu, uint64_t offset)
{
    uint64_t index = (offset - SGPU_REG_NODE(0)) / 0x100;

    return offset >= SGPU_REG_NODE(0) && index < gpu->node_count ? &gpu->nodes[index] : NULL;
}

static uint32_t read_node(const struct sgpu_node *node, uint64_t offset)
{
    switch (offset) {
    case SGPU_NODE_FREE:
        return SGPU_QUEUE_SLOTS - node->queue_count;
    case SGPU_NODE_COMPLETED:
        return node->completed_fence;
    case SGPU_NODE_FAULT_FENCE:
        return node->fault_fence;
    case SGPU_NODE_FAULT_VA:
    case SGPU_NODE_FAULT_VA + 4:
        return half_of(node->fault_va, offset);
    case SGPU_NODE_FAULT_KIND:
        return node->fault_kind;
    case SGPU_NODE_QUEUED:
        return node->queued_fence;
    case SGPU_NODE_POWER:
        return sgpu_node_power(node);
    default:
        return 0;
    }
}

static uint32_t index_bits_word(const struct sgpu *gpu, uint32_t first_level)
{
    uint32_t word = 0;

    for (uint32_t i = 0; i < 4 && first_level + i < gpu->mmu.levels; i++)
        word |= (uint32_t)gpu->mmu.bits[first_level + i] << 8 * i;
    return word;
}

static uint32_t read_word(struct sgpu *gpu, uint64_t offset)
{
    const struct sgpu_node *node = node_at(gpu, offset);

    if (node)
        return read_node(node, offset % 0x100);
    switch (offset) {
    case SGPU_REG_ID:
        return SGPU_ID;
    case SGPU_REG_STRAPS:
        return gpu->config.straps;
    case SGPU_REG_NODE_COUNT:
        return gpu->node_count;
    case SGPU_REG_LOCAL_SIZE:
    case SGPU_REG_LOCAL_SIZE + 4:
        return half_of(gpu->local_bytes, offset - SGPU_REG_LOCAL_SIZE);
    case SGPU_REG_VISIBLE_SIZE:
    case SGPU_REG_VISIBLE_SIZE + 4:
        return half_of(machine_get_config(gpu->machine)->visible_bytes,
                       offset - SGPU_REG_VISIBLE_SIZE);
    case SGPU_REG_APERTURE_SIZE:
    case SGPU_REG_APERTURE_SIZE + 4:
        return half_of(gpu->aperture_bytes, offset - SGPU_REG_APERTURE_SIZE);
    case SGPU_REG_KEPT_SIZE:
    case SGPU_REG_KEPT_SIZE + 4:
        return half_of(gpu->config.kept_bytes, offset - SGPU_REG_KEPT_SIZE);
    case SGPU_REG_DEAD_OFFSET:
    case SGPU_REG_DEAD_OFFSET + 4:
        return half_of(gpu->config.dead_offset, offset - SGPU_REG_DEAD_OFFSET);
    case SGPU_REG_DEAD_SIZE:
    case SGPU_REG_DEAD_SIZE + 4:
        return half_of(gpu->config.dead_bytes, offset - SGPU_REG_DEAD_SIZE);
    case SGPU_REG_TRAITS:
        return gpu->config.traits;
    case SGPU_REG_PROTECTED_OFFSET:
    case SGPU_REG_PROTECTED_OFFSET + 4:
        return half_of(gpu->config.protected_offset, offset - SGPU_REG_PROTECTED_OFFSET);
    case SGPU_REG_PROTECTED_SIZE:
    case SGPU_REG_PROTECTED_SIZE + 4:
        return half_of(gpu->config.protected_bytes, offset - SGPU_REG_PROTECTED_SIZE);
    case SGPU_REG_OWN_SIZE:
    case SGPU_REG_OWN_SIZE + 4:
        return half_of(gpu->config.own_bytes, offset - SGPU_REG_OWN_SIZE);
    case SGPU_REG_PICTURE_OFFSET:
    case SGPU_REG_PICTURE_OFFSET + 4:
        return half_of(gpu->config.picture_offset, offset - SGPU_REG_PICTURE_OFFSET);
    case SGPU_REG_PICTURE_SIZE:
    case SGPU_REG_PICTURE_SIZE + 4:
        return half_of(gpu->config.picture_bytes, offset - SGPU_REG_PICTURE_SIZE);
    case SGPU_REG_CLOCK:
    case SGPU_REG_CLOCK + 4:
        return half_of(machine_now(gpu->machine) / (1000000000 / SGPU_CLOCK_HZ),
                       offset - SGPU_REG_CLOCK);
    case SGPU_REG_SCAN_CURRENT:
    case SGPU_REG_SCAN_CURRENT + 4:
        return half_of(gpu->scan_current, offset - SGPU_REG_SCAN_CURRENT);
    case SGPU_REG_INDEX_BITS:
    case SGPU_REG_INDEX_BITS + 4:
        return index_bits_word(gpu, (uint32_t)(offset - SGPU_REG_INDEX_BITS));
    case SGPU_REG_IRQ_STATUS:
        return gpu->irq_status;
    case SGPU_REG_IRQ_ENABLE:
        return gpu->irq_enable;
    default:
        return sgpu_connector_read(gpu, offset);
    }
}

/* All but the fence that it has completed last. */
static void lose_node(struct sgpu_node *node)
{
    const uint32_t completed = node->completed_fence;

    sgpu_reset_node(node);
    node->completed_fence = completed;
    node->address = node->root_pa = 0;
    node->save_area = node->save_runs_wanted = 0;
    node->progress_va = node->progress = 0;
    node->size = node->fence = node->save_bytes = 0;
}

static void write_node(struct sgpu_node *node, uint64_t offset, uint32_t value)
{
    const struct sgpu *gpu = node->gpu;

    if (offset == SGPU_NODE_POWER) {
        if (sgpu_switch_node(node, value))
            lose_node(node);
        return;
    }
    if (sgpu_node_is_off(node)) {
        if (gpu->observer && gpu->observer->touched_off)
            gpu->observer->touched_off(gpu->observer_context, node->index, offset);
        return;
    }
    switch (offset) {
    case SGPU_NODE_ADDRESS:
    case SGPU_NODE_ADDRESS + 4:
        set_half(&node->address, offset, value);
        break;
    case SGPU_NODE_ROOT:
    case SGPU_NODE_ROOT + 4:
        set_half(&node->root_pa, offset, value);
        break;
    case SGPU_NODE_SAVE_AREA:
    case SGPU_NODE_SAVE_AREA + 4:
        set_half(&node->save_area, offset, value);
        break;
    case SGPU_NODE_SAVE_RUNS:
    case SGPU_NODE_SAVE_RUNS + 4:
        set_half(&node->save_runs_wanted, offset, value);
        break;
    case SGPU_NODE_PROGRESS_VA:
    case SGPU_NODE_PROGRESS_VA + 4:
        set_half(&node->progress_va, offset, value);
        break;
    case SGPU_NODE_PROGRESS:
    case SGPU_NODE_PROGRESS + 4:
        set_half(&node->progress, offset, value);
        break;
    case SGPU_NODE_SAVE_BYTES:
        node->save_bytes = value;
        break;
    case SGPU_NODE_SIZE:
        node->size = value;
        break;
    case SGPU_NODE_FENCE:
        node->fence = value;
        break;
    case SGPU_NODE_DOORBELL:
        ring_doorbell(node, value);
        break;
    case SGPU_NODE_CONTROL:
        if (value & SGPU_CONTROL_RESET)
            sgpu_reset_node(node);
        else if (value & SGPU_CONTROL_PREEMPT)
            preempt_node(node);
        break;
    default:
        break;
    }
}

/* ---- Ranges of BAR 1 ------------------------------------------------------------------------ */

static uint64_t shown_page(void *context, uint64_t page)
{
    const struct sgpu *gpu = context;

    for (unsigned i = 0; i < SGPU_RANGES; i++) {
        if (page >= gpu->range_first[i] && page < gpu->range_end[i])
            return SGPU_TILED(page * PAGE_BYTES) / PAGE_BYTES;
    }
    return page;
}

/* Without a range that shows anything BAR 1 is linear, and costs nothing to look through. */
static void set_range(struct sgpu *gpu, uint32_t *bound, uint32_t value)
{
    bool is_any = false;

    *bound = value;
    for (unsigned i = 0; i < SGPU_RANGES; i++)
        is_any = is_any || gpu->range_first[i] < gpu->range_end[i];
    if (!gpu->window_pages)
        machine_set_window_function(gpu->machine, is_any ? shown_page : NULL, gpu);
}

void sgpu_forget_ranges(struct sgpu *gpu)
{
    for (unsigned i = 0; i < SGPU_RANGES; i++)
        set_range(gpu, &gpu->range_end[i], 0);
}

/* The bound that a register holds; NULL: it is none of them. */
static uint32_t *range_bound(struct sgpu *gpu, uint64_t offset)
{
    if (gpu->config.straps & SGPU_STRAP_NO_RANGES)
        return NULL;
    for (unsigned i = 0; i < SGPU_RANGES; i++) {
        if (offset == SGPU_REG_RANGE_FIRST(i))
            return &gpu->range_first[i];
        if (offset == SGPU_REG_RANGE_END(i))
            return &gpu->range_end[i];
    }
    return NULL;
}

static void write_word(struct sgpu *gpu, uint64_t offset, uint32_t value)
{
    struct sgpu_node *node = node_at(gpu, offset);

    if (node) {
        write_node(node, offset % 0x100, value);
    } else if (offset == SGPU_REG_IRQ_STATUS) {
        gpu->irq_status &= ~value;
        sgpu_update_line(gpu);
    } else if (offset == SGPU_REG_IRQ_ENABLE) {
        gpu->irq_enable = value;
        sgpu_update_line(gpu);
    } else if (offset == SGPU_REG_WINDOW_SLOT) {
        gpu->window_slot = value;
    } else if (offset == SGPU_REG_WINDOW_PAGE && gpu->window_slot < gpu->window_page_count) {
        gpu->window_pages[gpu->window_slot] =
            value < gpu->local_bytes / PAGE_BYTES ? value : UINT64_MAX;
    } else if (offset == SGPU_REG_SLOT) {
        gpu->register_slot = value & ~SGPU_SLOT_COHERENT;
        gpu->register_attributes = value & SGPU_SLOT_COHERENT ? SLOT_COHERENT : 0;
    } else if (offset == SGPU_REG_SLOT_PAGE) {
        gpu->register_page = value;
    } else if (offset == SGPU_REG_SLOT_PAGE + 4 && gpu->register_slot < gpu->slot_count) {
        sgpu_note_slots(gpu, gpu->register_slot, 1);
        gpu->slots[gpu->register_slot++] =
            (((gpu->register_page | (uint64_t)value << 32) + 1) & ~SLOT_COHERENT) |
            gpu->register_attributes;
    } else if (range_bound(gpu, offset)) {
        set_range(gpu, range_bound(gpu, offset), value);
    } else if (sgpu_scan_write(gpu, offset, value)) {
        return;
    } else if (offset == SGPU_REG_FENCE_FORGET) {
        sgpu_forget_fence(gpu, value);
    } else if (offset == SGPU_REG_RESET && value == SGPU_RESET_KEY) {
        sgpu_reset_device(gpu);
    }
}

static bool is_register_access(uint64_t offset, unsigned size)
{
    return (size == 4 || size == 8) && is_aligned(offset, size);
}

static void tell_removed(const struct sgpu *gpu, uint64_t offset, bool is_write)
{
    if (gpu->is_removed && gpu->observer && gpu->observer->touched_gone)
        gpu->observer->touched_gone(gpu->observer_context, offset, is_write);
}

static uint64_t read_register(void *context, uint64_t offset, unsigned size)
{
    struct sgpu *gpu = context;

    tell_removed(gpu, offset, false);
    if (!is_register_access(offset, size) || gpu->is_off)
        return UINT64_MAX;
    if (size == 4)
        return read_word(gpu, offset);
    return read_word(gpu, offset) | (uint64_t)read_word(gpu, offset + 4) << 32;
}

static void write_register(void *context, uint64_t offset, unsigned size, uint64_t value)
{
    struct sgpu *gpu = context;

    machine_digest_add(gpu->machine, offset << 8 | size);
    machine_digest_add(gpu->machine, value);
    tell_removed(gpu, offset, true);
    if (!is_register_access(offset, size) || gpu->is_off)
        return;
    write_word(gpu, offset, (uint32_t)value);
    if (size == 8)
        write_word(gpu, offset + 4, (uint32_t)(value >> 32));
}

/* The page of RAM that BAR 1 shows where an aperture slot stands. */
static uint64_t seen_page(void *context, uint64_t slot)
{
    struct sgpu *gpu = context;
    uint64_t page;

    return !gpu->is_off && sgpu_system_page(gpu, sgpu_aperture_page(gpu, slot), &page) ? page
                                                                                       : UINT64_MAX;
}

/* ---- Creation ------------------------------------------------------------------------------- */

struct sgpu *sgpu_create(struct machine *machine, const struct sgpu_config *config)
{
    static const struct machine_registers registers = {
        .bytes = SGPU_BAR0_BYTES,
        .read = read_register,
        .write = write_register,
    };
    const struct base_services *services = machine_services(machine);
    const struct machine_config *board = machine_get_config(machine);
    uint32_t node_count = config->node_count ? config->node_count : DEFAULT_NODE_COUNT;
    struct sgpu *gpu;

    if (node_count < 2 || node_count > SGPU_MAX_NODES)
        return NULL;
    gpu = base_alloc(services, sizeof *gpu);
    if (!gpu)
        return NULL;
    gpu->machine = machine;
    gpu->services = services;
    gpu->config = *config;
    if (gpu->config.packet_ns == 0)
        gpu->config.packet_ns = DEFAULT_PACKET_NS;
    if (gpu->config.kept_bytes == 0 || gpu->config.kept_bytes > board->local_bytes)
        gpu->config.kept_bytes = board->local_bytes;
    if (!sgpu_mmu_init(gpu))
        goto fail;
    gpu->ram = machine_ram(machine);
    gpu->local = machine_local(machine);
    gpu->iommu = machine_iommu(machine);
    gpu->ram_bytes = board->ram_bytes;
    gpu->local_bytes = board->local_bytes;
    gpu->dead_start = gpu->dead_end = gpu->local_bytes;
    if (config->dead_bytes) {
        gpu->dead_start = min_u64(config->dead_offset, gpu->local_bytes);
        gpu->dead_end =
            gpu->dead_start + min_u64(config->dead_bytes, gpu->local_bytes - gpu->dead_start);
    }
    gpu->aperture_bytes = board->aperture_bytes;
    gpu->slot_count = board->aperture_bytes / PAGE_BYTES;
    gpu->node_count = node_count;
    gpu->nodes = base_alloc_array(services, node_count, sizeof *gpu->nodes);
    if (!gpu->nodes)
        goto fail;
    for (uint32_t i = 0; i < node_count; i++) {
        gpu->nodes[i].gpu = gpu;
        gpu->nodes[i].index = i;
        if (i == SGPU_NODE_RENDER || !(config->straps & SGPU_STRAP_BOTH_WAYS))
            continue;
        gpu->nodes[i].landed = complete_landing;
        gpu->nodes[i].goes_on = go_on;
        gpu->nodes[i].flights =
            base_alloc_array(services, SGPU_FLIGHTS, sizeof *gpu->nodes[i].flights);
        if (!gpu->nodes[i].flights)
            goto fail;
    }
    if (gpu->slot_count) {
        gpu->slots = base_alloc_array(services, gpu->slot_count, sizeof *gpu->slots);
        gpu->slot_blocks =
            base_alloc_array(services, sgpu_block_words(gpu), sizeof *gpu->slot_blocks);
        if (!gpu->slots || !gpu->slot_blocks)
            goto fail;
    }
    if (config->straps & SGPU_STRAP_HOST_APERTURE && board->visible_bytes) {
        gpu->window_page_count = board->visible_bytes / PAGE_BYTES;
        gpu->window_pages =
            base_alloc_array(services, gpu->window_page_count, sizeof *gpu->window_pages);
        if (!gpu->window_pages)
            goto fail;
        memset(gpu->window_pages, 0xff, gpu->window_page_count * sizeof *gpu->window_pages);
        machine_set_window_pages(machine, gpu->window_pages);
    }
    if (config->straps & SGPU_STRAP_SEEN_APERTURE)
        machine_set_aperture_function(machine, seen_page, gpu);
    gpu->scan_next = gpu->scan_current = SCAN_NOTHING;
    if (!machine_set_registers(machine, &registers, gpu))
        goto fail;
    return gpu;

fail:
    sgpu_destroy(gpu);
    return NULL;
}

void sgpu_destroy(struct sgpu *gpu)
{
    if (!gpu)
        return;
    machine_cancel(gpu->machine, &gpu->scan_event);
    for (uint32_t i = 0; gpu->nodes && i < gpu->node_count; i++) {
        machine_cancel(gpu->machine, &gpu->nodes[i].event);
        machine_cancel(gpu->machine, &gpu->nodes[i].power_event);
        sgpu_tlb_fini(&gpu->nodes[i]);
        sgpu_flights_fini(&gpu->nodes[i]);
        base_free(gpu->services, gpu->nodes[i].packet, gpu->nodes[i].packet_room);
    }
    machine_set_interrupt_line(gpu->machine, false);
    machine_set_registers(gpu->machine, NULL, NULL);
    machine_set_window_pages(gpu->machine, NULL);
    machine_set_window_function(gpu->machine, NULL, NULL);
    machine_set_aperture_function(gpu->machine, NULL, NULL);
    base_free_array(gpu->services, gpu->window_pages, gpu->window_page_count,
                    sizeof *gpu->window_pages);
    base_free_array(gpu->services, gpu->slot_blocks, sgpu_block_words(gpu),
                    sizeof *gpu->slot_blocks);
    base_free_array(gpu->services, gpu->slots, gpu->slot_count, sizeof *gpu->slots);
    base_free_array(gpu->services, gpu->nodes, gpu->node_count, sizeof *gpu->nodes);
    base_free(gpu->services, gpu, sizeof *gpu);
}

void sgpu_set_observer(struct sgpu *gpu, const struct sgpu_observer *observer, void *context)
{
    gpu->observer = observer;
    gpu->observer_context = context;
}

void sgpu_watch_system_memory(struct sgpu *gpu, bool is_watched)
{
    gpu->watches_system = is_watched;
}

void sgpu_get_statistics(const struct sgpu *gpu, struct sgpu_statistics *out_statistics)
{
    *out_statistics = gpu->statistics;
}

bool sgpu_is_idle(const struct sgpu *gpu)
{
    for (uint32_t i = 0; i < gpu->node_count; i++)
        if (gpu->nodes[i].queue_count || gpu->nodes[i].is_faulted)
            return false;
    return true;
}
