/*
 * Operations that producers add often, in their own words. Each is one workload_builder_add().
 */
#include "workload/build/builder_private.h"

#include "base/bits.h"

static void add(struct workload_builder *builder, const struct workload_op *op)
{
    workload_builder_add(builder, op, NULL, 0);
}

void workload_builder_free(struct workload_builder *builder, uint32_t allocation)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_FREE, .object = allocation};

    add(builder, &op);
}

void workload_builder_write(struct workload_builder *builder, uint32_t allocation, uint64_t offset,
                            uint64_t size, uint64_t key)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_WRITE,
                                   .object = allocation,
                                   .offset = offset,
                                   .size = size,
                                   .value = key};

    add(builder, &op);
}

void workload_builder_read(struct workload_builder *builder, uint32_t allocation, uint64_t offset,
                           uint64_t size)
{
    const struct workload_op op = {
        .kind = WORKLOAD_OP_READ, .object = allocation, .offset = offset, .size = size};

    add(builder, &op);
}

void workload_builder_lock(struct workload_builder *builder, uint32_t allocation)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_LOCK, .object = allocation};

    add(builder, &op);
}

void workload_builder_unlock(struct workload_builder *builder, uint32_t allocation)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_UNLOCK, .object = allocation};

    add(builder, &op);
}

void workload_builder_wait(struct workload_builder *builder, uint32_t context)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_WAIT, .object = context};

    add(builder, &op);
}

void workload_builder_renew(struct workload_builder *builder, uint32_t context,
                            enum workload_renewal kind)
{
    const struct workload_op op = {
        .kind = WORKLOAD_OP_RENEW, .object = context, .flags = (uint32_t)kind};

    add(builder, &op);
}

void workload_builder_resident(struct workload_builder *builder, uint32_t device,
                               const uint32_t *allocations, uint32_t count)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_RESIDENT, .object = device};

    workload_builder_add_list(builder, &op, allocations, count);
}

void workload_builder_evict(struct workload_builder *builder, uint32_t device,
                            const uint32_t *allocations, uint32_t count)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_EVICT, .object = device};

    workload_builder_add_list(builder, &op, allocations, count);
}

void workload_builder_offer(struct workload_builder *builder, uint32_t device,
                            const uint32_t *allocations, uint32_t count, uint32_t priority)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_OFFER, .object = device, .value = priority};

    workload_builder_add_list(builder, &op, allocations, count);
}

void workload_builder_reclaim(struct workload_builder *builder, uint32_t device,
                              const uint32_t *allocations, uint32_t count)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_RECLAIM, .object = device};

    workload_builder_add_list(builder, &op, allocations, count);
}

void workload_builder_priority(struct workload_builder *builder, uint32_t allocation,
                               uint32_t priority)
{
    const struct workload_op op = {
        .kind = WORKLOAD_OP_PRIORITY, .object = allocation, .value = priority};

    add(builder, &op);
}

void workload_builder_move(struct workload_builder *builder, uint32_t allocation,
                           enum workload_segment segment)
{
    const struct workload_op op = {
        .kind = WORKLOAD_OP_MOVE, .object = allocation, .segment = (uint8_t)segment};

    add(builder, &op);
}

void workload_builder_budget(struct workload_builder *builder, uint32_t process, uint64_t bytes)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_BUDGET, .object = process, .value = bytes};

    add(builder, &op);
}

void workload_builder_step(struct workload_builder *builder, const char *name)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_STEP};

    workload_builder_add_text(builder, &op, name);
}

void workload_builder_escape(struct workload_builder *builder, uint32_t context, uint64_t by,
                             bool needs_hardware, const char *template)
{
    const struct workload_op op = {
        .kind = WORKLOAD_OP_ESCAPE, .object = context, .value = by, .flags = needs_hardware};

    workload_builder_add_text(builder, &op, template);
}

void workload_builder_note(struct workload_builder *builder, const char *text)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_NOTE};

    workload_builder_add_text(builder, &op, text);
}

void workload_builder_label(struct workload_builder *builder, uint32_t process, uint64_t va,
                            uint64_t size, const char *text)
{
    const struct workload_op op = {
        .kind = WORKLOAD_OP_LABEL, .object = process, .offset = va, .size = size};

    workload_builder_add_text(builder, &op, text);
}

void workload_builder_vm_reserve(struct workload_builder *builder, uint32_t process, uint64_t va,
                                 uint64_t size)
{
    const struct workload_op op = {
        .kind = WORKLOAD_OP_VM_RESERVE, .object = process, .offset = va, .size = size};

    add(builder, &op);
}

void workload_builder_vm_release(struct workload_builder *builder, uint32_t process, uint64_t va,
                                 uint64_t size)
{
    const struct workload_op op = {
        .kind = WORKLOAD_OP_VM_RELEASE, .object = process, .offset = va, .size = size};

    add(builder, &op);
}

void workload_builder_map(struct workload_builder *builder, uint32_t allocation, uint64_t va,
                          uint64_t offset, uint64_t size, uint32_t protection,
                          uint64_t driver_protection)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_MAP,
                                   .object = allocation,
                                   .offset = offset,
                                   .size = size,
                                   .value = va,
                                   .flags = (uint8_t)protection};
    const struct workload_ref protected_by = {.allocation = allocation, .key = driver_protection};

    workload_builder_add(builder, &op, &protected_by, driver_protection != 0);
}

void workload_builder_unmap(struct workload_builder *builder, uint32_t allocation, uint64_t va)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_UNMAP, .object = allocation, .value = va};

    add(builder, &op);
}

void workload_builder_pte_map(struct workload_builder *builder, uint32_t process, uint64_t va,
                              enum workload_segment segment, uint64_t page, uint64_t page_count,
                              uint32_t page_shift, uint32_t protection)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_PTE_MAP,
                                   .object = process,
                                   .offset = va,
                                   .size = page_count << PAGE_SHIFT_BITS,
                                   .value = page,
                                   .segment = (uint8_t)segment,
                                   .page_shift = (uint8_t)page_shift,
                                   .flags = (uint8_t)protection};

    if (workload_builder_check_page_count(builder, page_count))
        add(builder, &op);
}

void workload_builder_pte_zero(struct workload_builder *builder, uint32_t process, uint64_t va,
                               uint64_t page_count)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_PTE_MAP,
                                   .object = process,
                                   .offset = va,
                                   .size = page_count << PAGE_SHIFT_BITS,
                                   .segment = WORKLOAD_SEGMENT_SYSTEM,
                                   .page_shift = PAGE_SHIFT_BITS,
                                   .flags = WORKLOAD_PROTECT_ZERO};

    if (workload_builder_check_page_count(builder, page_count))
        add(builder, &op);
}

void workload_builder_pte_unmap(struct workload_builder *builder, uint32_t process, uint64_t va,
                                uint64_t page_count)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_PTE_UNMAP,
                                   .object = process,
                                   .offset = va,
                                   .size = page_count << PAGE_SHIFT_BITS};

    if (workload_builder_check_page_count(builder, page_count))
        add(builder, &op);
}

void workload_builder_tile_map(struct workload_builder *builder, uint32_t context, uint32_t pool,
                               uint64_t va, uint64_t page, uint64_t page_count)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_TILE_MAP,
                                   .object = context,
                                   .offset = va,
                                   .size = page_count << PAGE_SHIFT_BITS,
                                   .value = page};
    const struct workload_ref ref = {.allocation = pool};

    if (workload_builder_check_page_count(builder, page_count))
        workload_builder_add(builder, &op, &ref, 1);
}

void workload_builder_tile_unmap(struct workload_builder *builder, uint32_t context, uint64_t va,
                                 uint64_t page_count)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_TILE_UNMAP,
                                   .object = context,
                                   .offset = va,
                                   .size = page_count << PAGE_SHIFT_BITS};

    if (workload_builder_check_page_count(builder, page_count))
        add(builder, &op);
}

void workload_builder_tile_copy(struct workload_builder *builder, uint32_t context, uint64_t from,
                                uint64_t to, uint64_t page_count)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_TILE_COPY,
                                   .object = context,
                                   .offset = to,
                                   .size = page_count << PAGE_SHIFT_BITS,
                                   .value = from};

    if (workload_builder_check_page_count(builder, page_count))
        add(builder, &op);
}

void workload_builder_fence_create(struct workload_builder *builder, uint32_t process,
                                   uint64_t fence, uint64_t value)
{
    const struct workload_op op = {
        .kind = WORKLOAD_OP_FENCE_CREATE, .object = process, .offset = fence, .value = value};

    add(builder, &op);
}

void workload_builder_fence_destroy(struct workload_builder *builder, uint64_t fence)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_FENCE_DESTROY, .offset = fence};

    add(builder, &op);
}

void workload_builder_fence_wait(struct workload_builder *builder, uint64_t fence, uint64_t value)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_FENCE_WAIT, .offset = fence, .value = value};

    add(builder, &op);
}

void workload_builder_pack_fences(struct workload_builder *builder)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_PACK_FENCES};

    add(builder, &op);
}

void workload_builder_show(struct workload_builder *builder, uint32_t allocation)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_SHOW, .object = allocation};

    add(builder, &op);
}

void workload_builder_hide(struct workload_builder *builder)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_HIDE};

    add(builder, &op);
}

void workload_builder_evict_fences(struct workload_builder *builder)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_EVICT_FENCES};

    add(builder, &op);
}

void workload_builder_hang(struct workload_builder *builder, uint32_t node, uint64_t packets,
                           bool ends_when_asked)
{
    const struct workload_op op = {
        .kind = WORKLOAD_OP_HANG, .object = node, .value = packets, .flags = ends_when_asked};

    add(builder, &op);
}

void workload_builder_fault(struct workload_builder *builder, uint32_t context,
                            enum workload_fault fault, bool is_write)
{
    const struct workload_op op = {
        .kind = WORKLOAD_OP_FAULT, .object = context, .flags = (uint8_t)fault, .value = is_write};

    add(builder, &op);
}

void workload_builder_preempt(struct workload_builder *builder, uint32_t node)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_PREEMPT, .object = node};

    add(builder, &op);
}

void workload_builder_lose_interrupt(struct workload_builder *builder, uint32_t node)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_LOSE_INTERRUPT, .object = node};

    add(builder, &op);
}

void workload_builder_reset(struct workload_builder *builder)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_RESET};

    add(builder, &op);
}

void workload_builder_switch_domain(struct workload_builder *builder, uint64_t duration_ns)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_SWITCH_DOMAIN, .value = duration_ns};

    add(builder, &op);
}

void workload_builder_power(struct workload_builder *builder, enum workload_power power)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_POWER, .flags = (uint8_t)power};

    add(builder, &op);
}

void workload_builder_unplug(struct workload_builder *builder)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_UNPLUG};

    add(builder, &op);
}

void workload_builder_plug(struct workload_builder *builder)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_PLUG};

    add(builder, &op);
}

void workload_builder_remove(struct workload_builder *builder, uint64_t after_ns)
{
    const struct workload_op op = {.kind = WORKLOAD_OP_REMOVE, .value = after_ns};

    add(builder, &op);
}
