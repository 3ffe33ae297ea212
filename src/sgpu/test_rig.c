#include "sgpu/test_rig.h"

#include "base/hash.h"
#include "sgpu/sgpu_private.h"
#include "tests/told.h"

#include <string.h>

/* ---- What the golden file has of the tests (tests/told.h) ------------------------------------ */

static void tell_node(const struct sgpu_node *node)
{
    told_number(node->queue_count);
    told_number(node->landing);
    told_number(node->flight_count);
    told_number(node->queued_fence);
    told_number(node->completed_fence);
    told_number(node->fault_fence);
    told_number(node->fault_kind);
    told_number(node->fault_va);
    told_number(node->preemption_left);
    told_number(node->save_runs);
    told_number(node->offset);
    told_number(node->tlb.next_stamp);
    told_number(node->is_running | node->is_faulted << 1 | node->is_hung << 2 |
                node->is_preempting << 3 | node->loses_interrupt << 4 | node->will_hang << 5);
}

/* Not by registers: a read of one can have effects. */
static void tell_state(const struct rig *rig)
{
    const struct sgpu *gpu = rig->gpu;

    if (!told_is_wanted())
        return;
    for (uint32_t i = 0; i < gpu->node_count; i++)
        tell_node(&gpu->nodes[i]);
    told_number(gpu->irq_status);
    told_number(gpu->irq_enable);
    told_number(gpu->is_off | gpu->is_removed << 1);
    told_numbers(&gpu->statistics, sizeof gpu->statistics);
}

/* All memory, what shows it, and all that has happened in the machine. */
static void tell_end(const struct rig *rig)
{
    const struct sgpu *gpu = rig->gpu;

    tell_state(rig);
    if (!told_is_wanted())
        return;
    for (unsigned i = 0; i < SGPU_RANGES; i++) {
        told_number(gpu->range_first[i]);
        told_number(gpu->range_end[i]);
    }
    for (unsigned i = 0; i < SGPU_FENCES; i++) {
        told_number(gpu->fences[i].has_home ? gpu->fences[i].current : 1);
        told_number(gpu->fences[i].has_home ? gpu->fences[i].monitored : 1);
    }
    told_number(hash_bytes(gpu->slots, gpu->slot_count * sizeof *gpu->slots, 0));
    told_number(page_store_digest(rig->ram));
    told_number(page_store_digest(rig->local));
    told_number(machine_digest(rig->machine));
}

/* ---- Life ------------------------------------------------------------------------------------ */

void rig_init_with(struct rig *rig, const struct machine_config *board,
                   const struct sgpu_config *config)
{
    uint64_t pfn;

    memset(rig, 0, sizeof *rig);
    rig->machine = machine_create(base_services_libc(), board);
    assert_non_null(rig->machine);
    rig->gpu = sgpu_create(rig->machine, config);
    assert_non_null(rig->gpu);
    rig->ram = machine_ram(rig->machine);
    rig->local = machine_local(rig->machine);
    rig->bar0 = machine_map_physical(rig->machine, machine_bar0_pa(rig->machine), SGPU_BAR0_BYTES);
    assert_true(machine_alloc_contiguous(rig->machine, RIG_COMMAND_PAGES, 1, &pfn));
    rig->command_base = pfn * PAGE_BYTES;
    rig->command_pa = rig->command_base;
    rig->next_table = 32 * MiB;
}

struct machine_config rig_board(void)
{
    struct machine_config board;

    machine_config_defaults(&board, 1);
    board.ram_bytes = 64 * MiB;
    board.local_bytes = 64 * MiB;
    board.visible_bytes = 16 * MiB;
    board.aperture_bytes = 16 * MiB;
    return board;
}

void rig_init(struct rig *rig)
{
    struct machine_config board = rig_board();
    struct sgpu_config config = {0};

    rig_init_with(rig, &board, &config);
}

void rig_fini(struct rig *rig)
{
    tell_end(rig);
    sgpu_destroy(rig->gpu);
    machine_destroy(rig->machine);
}

uint32_t rig_read(struct rig *rig, uint64_t offset)
{
    return (uint32_t)machine_read_register(rig->machine, rig->bar0 + offset, 4);
}

void rig_write(struct rig *rig, uint64_t offset, unsigned size, uint64_t value)
{
    machine_write_register(rig->machine, rig->bar0 + offset, size, value);
}

/* ---- Packets -------------------------------------------------------------------------------- */

void rig_bytes(struct rig *rig, const void *bytes, uint64_t size)
{
    assert_true(rig->command_pa + rig->used + size <= rig->command_base + RIG_COMMAND_BYTES);
    page_store_write(rig->ram, rig->command_pa + rig->used, bytes, size);
    rig->used += size;
}

void rig_packet(struct rig *rig, enum sgpu_opcode opcode, void *packet, uint64_t size,
                const void *tail, uint64_t tail_size)
{
    *(uint32_t *)packet = SGPU_PACKET_HEADER(opcode, (size + tail_size) / 4);
    rig_bytes(rig, packet, size);
    if (tail_size)
        rig_bytes(rig, tail, tail_size);
}

void rig_copy(struct rig *rig, uint32_t flags, uint64_t to, uint64_t from, uint64_t bytes)
{
    struct sgpu_packet_copy packet = {
        .flags = flags, .source = from, .destination = to, .bytes = bytes};

    rig_packet(rig, SGPU_OP_COPY, &packet, sizeof packet, NULL, 0);
}

void rig_fill(struct rig *rig, uint64_t to, uint64_t bytes, uint32_t pattern)
{
    struct sgpu_packet_fill packet = {.destination = to, .bytes = bytes, .pattern = pattern};

    rig_packet(rig, SGPU_OP_FILL, &packet, sizeof packet, NULL, 0);
}

void rig_copy_pages(struct rig *rig, uint32_t flags, uint64_t linear, const uint64_t *pages,
                    uint32_t count)
{
    struct sgpu_packet_copy_pages packet = {.flags = flags, .linear = linear, .page_count = count};

    rig_packet(rig, SGPU_OP_COPY_PAGES, &packet, sizeof packet, pages, UINT64_C(8) * count);
}

void rig_gart(struct rig *rig, enum sgpu_opcode opcode, uint32_t flags, uint32_t first,
              uint32_t count, const uint64_t *pages)
{
    struct sgpu_packet_gart packet = {.flags = flags, .first_slot = first, .slot_count = count};

    rig_packet(rig, opcode, &packet, sizeof packet, pages,
               opcode == SGPU_OP_GART_FILL ? 8 : UINT64_C(8) * count);
}

void rig_pte(struct rig *rig, enum sgpu_opcode opcode, uint32_t flags, uint64_t table,
             uint32_t first, uint32_t count, const uint64_t *entries)
{
    struct sgpu_packet_pte packet = {
        .flags = flags, .table = table, .first = first, .count = count};

    rig_packet(rig, opcode, &packet, sizeof packet, entries,
               opcode == SGPU_OP_PTE_FILL ? 8 : UINT64_C(8) * count);
}

void rig_flush(struct rig *rig, uint32_t flags, uint64_t root, uint64_t start, uint64_t end)
{
    struct sgpu_packet_tlb_flush packet = {
        .flags = flags, .root = root, .start = start, .end = end};

    rig_packet(rig, SGPU_OP_TLB_FLUSH, &packet, sizeof packet, NULL, 0);
}

void rig_fence(struct rig *rig, uint32_t flags, uint64_t address, uint64_t value)
{
    struct sgpu_packet_fence packet = {.flags = flags, .address = address, .value = value};

    rig_packet(rig, SGPU_OP_FENCE, &packet, sizeof packet, NULL, 0);
}

void rig_render(struct rig *rig, uint64_t token, uint64_t duration_ns,
                const struct sgpu_render_ref *refs, uint32_t count)
{
    struct sgpu_packet_render packet = {
        .token = token, .duration_ns = duration_ns, .ref_count = count};

    rig_packet(rig, SGPU_OP_RENDER, &packet, sizeof packet, refs, count * sizeof *refs);
}

/* ---- Submitting ----------------------------------------------------------------------------- */

uint32_t rig_submit_at(struct rig *rig, uint32_t node, uint64_t address, uint64_t root,
                       uint64_t size, uint32_t flags)
{
    uint64_t base = SGPU_REG_NODE(node);

    rig_write(rig, base + SGPU_NODE_ADDRESS, 8, address);
    rig_write(rig, base + SGPU_NODE_ROOT, 8, root);
    rig_write(rig, base + SGPU_NODE_SIZE, 4, size);
    rig_write(rig, base + SGPU_NODE_FENCE, 4, ++rig->fence);
    rig_write(rig, base + SGPU_NODE_DOORBELL, 4, flags);
    return rig->fence;
}

uint32_t rig_submit(struct rig *rig, uint32_t node)
{
    uint64_t size = rig->used;
    uint32_t fence = rig_submit_at(rig, node, SGPU_PA_SYSTEM | rig->command_pa, 0, size, 0);

    rig->command_pa += align_up(size, SGPU_SUBMIT_ALIGN);
    rig->used = 0;
    return fence;
}

void rig_run(struct rig *rig)
{
    while (machine_run_next(rig->machine))
        ;
    tell_state(rig);
}

uint32_t rig_completed(struct rig *rig, uint32_t node)
{
    return rig_read(rig, SGPU_REG_NODE(node) + SGPU_NODE_COMPLETED);
}

void rig_reset_node(struct rig *rig, uint32_t node)
{
    rig_write(rig, SGPU_REG_NODE(node) + SGPU_NODE_CONTROL, 4, SGPU_CONTROL_RESET);
    tell_state(rig);
}

void rig_expect_done(struct rig *rig, uint32_t node, uint32_t fence)
{
    rig_run(rig);
    rig->command_pa = rig->command_base;
    assert_int_equal(rig_read(rig, SGPU_REG_NODE(node) + SGPU_NODE_FAULT_KIND), SGPU_FAULT_NONE);
    assert_int_equal(rig_completed(rig, node), fence);
    assert_true(sgpu_is_idle(rig->gpu));
}

void rig_execute(struct rig *rig, uint32_t node)
{
    rig_expect_done(rig, node, rig_submit(rig, node));
}

void rig_expect_fault_at(struct rig *rig, uint32_t node, uint32_t fence, uint32_t kind,
                         uint64_t address)
{
    uint64_t base = SGPU_REG_NODE(node);

    rig_run(rig);
    rig->command_pa = rig->command_base;
    assert_int_equal(rig_read(rig, base + SGPU_NODE_FAULT_KIND), kind);
    assert_int_equal(machine_read_register(rig->machine, rig->bar0 + base + SGPU_NODE_FAULT_VA, 8),
                     address);
    assert_int_equal(rig_read(rig, base + SGPU_NODE_FAULT_FENCE), fence);
    assert_int_not_equal(rig_completed(rig, node), fence);
    assert_true(rig_read(rig, SGPU_REG_IRQ_STATUS) & SGPU_IRQ_FAULTED(node));
    assert_false(sgpu_is_idle(rig->gpu));
    rig_write(rig, SGPU_REG_IRQ_STATUS, 4, SGPU_IRQ_FAULTED(node));
    rig_reset_node(rig, node);
    assert_int_equal(rig_read(rig, base + SGPU_NODE_FAULT_KIND), SGPU_FAULT_NONE);
    assert_true(sgpu_is_idle(rig->gpu));
}

void rig_expect_fault(struct rig *rig, uint32_t node, uint32_t kind, uint64_t address)
{
    uint32_t fence = rig_submit(rig, node);

    rig_expect_fault_at(rig, node, fence, kind, address);
}

/* ---- Page tables by CPU --------------------------------------------------------------------- */

uint64_t *rig_entries(struct rig *rig, uint64_t table)
{
    return (uint64_t *)(void *)page_store_bytes(rig->local, table / PAGE_BYTES);
}

uint64_t rig_table(struct rig *rig)
{
    uint64_t table = rig->next_table;

    rig->next_table += PAGE_BYTES;
    memset(rig_entries(rig, table), 0, PAGE_BYTES);
    return table;
}

uint64_t *rig_leaf(struct rig *rig, uint64_t root, uint64_t va)
{
    uint64_t table = root;

    for (unsigned level = 3; level > 0; level--) {
        uint64_t *entry = &rig_entries(rig, table)[va >> (12 + 9 * level) & 511];

        if (!(*entry & SGPU_PTE_VALID))
            *entry = rig_table(rig) | SGPU_PTE_VALID;
        table = *entry & SGPU_PTE_ADDRESS_MASK;
    }
    return &rig_entries(rig, table)[va >> 12 & 511];
}

void rig_map(struct rig *rig, uint64_t root, uint64_t va, uint64_t pages, uint64_t entry)
{
    for (uint64_t i = 0; i < pages; i++)
        *rig_leaf(rig, root, va + i * PAGE_BYTES) = entry + i * PAGE_BYTES;
}

uint64_t rig_root(struct rig *rig)
{
    uint64_t root = rig_table(rig);

    rig_map(rig, root, RIG_COMMAND_VA, RIG_COMMAND_PAGES,
            rig->command_base | SGPU_PTE_VALID | SGPU_PTE_SYSTEM);
    return root;
}

uint32_t rig_submit_virtual(struct rig *rig, uint32_t node, uint64_t root)
{
    uint64_t address = RIG_COMMAND_VA + (rig->command_pa - rig->command_base);
    uint64_t size = rig->used;

    rig->command_pa += align_up(size, SGPU_SUBMIT_ALIGN);
    rig->used = 0;
    return rig_submit_at(rig, node, address, root, size, SGPU_SUBMIT_VIRTUAL);
}

void rig_execute_virtual(struct rig *rig, uint32_t node, uint64_t root)
{
    rig_expect_done(rig, node, rig_submit_virtual(rig, node, root));
}
