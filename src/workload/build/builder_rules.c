/*
 * The rules of operations: conditions beyond the types of their members, and the state that they
 * leave behind for later operations. A rule may complete its operation.
 */
#include "workload/build/builder_private.h"
#include "workload/case/template.h"
#include "workload/words.h"

#include "base/bits.h"

#include <inttypes.h>
#include <string.h>

/* ---- Allocations ---- */

static bool keeps_free(struct workload_builder *builder, struct workload_op *op,
                       const struct workload_ref *refs)
{
    struct workload_name *entry;
    const char *text;

    builder->out->allocations[op->object].free_op = builder->out->view.op_count;
    text = workload_builder_name_of(builder, op->object);
    entry = workload_builder_intern(builder, text, strlen(text));
    if (entry)
        entry->allocation = WORKLOAD_NONE;
    return entry != NULL;
}

static bool keeps_close(struct workload_builder *builder, struct workload_op *op,
                        const struct workload_ref *refs)
{
    uint32_t device = (uint32_t)op->value;

    if (builder->out->allocations[op->object].device == device) {
        workload_builder_fail(builder, "%s belongs to device %s (expected one that has opened it)",
                              workload_builder_name_of(builder, op->object),
                              builder->out->strings + builder->out->devices[device].name);
        return false;
    }
    if (!workload_builder_check_owner(builder, op->object, device))
        return false;
    if (!workload_grow(builder->out->services, &builder->closings, &builder->closing_room,
                       builder->closing_count, 1, sizeof *builder->closings)) {
        workload_builder_fail_memory(builder);
        return false;
    }
    builder->closings[builder->closing_count++] =
        (struct workload_closing){.allocation = op->object, .device = device};
    return true;
}

static bool keeps_access(struct workload_builder *builder, struct workload_op *op,
                         const struct workload_ref *refs)
{
    return workload_builder_check_range(builder, op->object, op->offset, &op->size) &&
           workload_builder_check_not_offered(builder, op->object);
}

static bool keeps_show(struct workload_builder *builder, struct workload_op *op,
                       const struct workload_ref *refs)
{
    if (!(builder->out->allocations[op->object].flags & WORKLOAD_ALLOCATION_PRIMARY)) {
        workload_builder_fail(builder, "%s is no primary (expected one with flags=primary)",
                              workload_builder_name_of(builder, op->object));
        return false;
    }
    return workload_builder_check_not_offered(builder, op->object);
}

static bool keeps_lock(struct workload_builder *builder, struct workload_op *op,
                       const struct workload_ref *refs)
{
    if (!workload_builder_check_unlocked(builder, op->object) ||
        !workload_builder_check_not_offered(builder, op->object))
        return false;
    builder->out->allocations[op->object].is_locked = true;
    return true;
}

static bool keeps_unlock(struct workload_builder *builder, struct workload_op *op,
                         const struct workload_ref *refs)
{
    struct workload_allocation *a = &builder->out->allocations[op->object];

    if (!a->is_locked)
        workload_builder_fail(builder, "%s is not locked (expected a lock before)",
                              workload_builder_name_of(builder, op->object));
    else
        a->is_locked = false;
    return !builder->failed;
}

static bool keeps_resident(struct workload_builder *builder, struct workload_op *op,
                           const struct workload_ref *refs)
{
    for (uint32_t i = 0; i < op->ref_count; i++) {
        if (!workload_builder_check_unlocked(builder, refs[i].allocation) ||
            !workload_builder_check_not_offered(builder, refs[i].allocation))
            return false;
    }
    return true;
}

static bool keeps_offer(struct workload_builder *builder, struct workload_op *op,
                        const struct workload_ref *refs)
{
    if (op->value > 2) {
        workload_builder_fail(builder, "offer of priority %" PRIu64 " (expected 0, 1 or 2)",
                              op->value);
        return false;
    }
    if (!keeps_resident(builder, op, refs))
        return false;
    for (uint32_t i = 0; i < op->ref_count; i++) {
        struct workload_allocation *a = &builder->out->allocations[refs[i].allocation];

        if (a->is_offered) {
            workload_builder_fail(builder, "%s is named twice (expected each once)",
                                  workload_builder_name_of(builder, refs[i].allocation));
            return false;
        }
        a->is_offered = true;
    }
    return true;
}

static bool keeps_reclaim(struct workload_builder *builder, struct workload_op *op,
                          const struct workload_ref *refs)
{
    for (uint32_t i = 0; i < op->ref_count; i++) {
        struct workload_allocation *a = &builder->out->allocations[refs[i].allocation];

        if (!a->is_offered) {
            workload_builder_fail(builder, "%s is not offered (expected an offer before)",
                                  workload_builder_name_of(builder, refs[i].allocation));
            return false;
        }
        a->is_offered = false;
    }
    return true;
}

static bool keeps_priority(struct workload_builder *builder, struct workload_op *op,
                           const struct workload_ref *refs)
{
    if (!op->value)
        workload_builder_fail(builder, "priority 0 (expected at least 1)");
    return op->value != 0;
}

static bool keeps_move(struct workload_builder *builder, struct workload_op *op,
                       const struct workload_ref *refs)
{
    if (!workload_builder_check_unlocked(builder, op->object) ||
        !workload_builder_check_not_offered(builder, op->object))
        return false;
    if (op->segment == WORKLOAD_SEGMENT_LOCAL || op->segment == WORKLOAD_SEGMENT_LOCAL_INVISIBLE)
        return true;
    workload_builder_fail(builder, "%s moves to %s memory (expected local or local-invisible)",
                          workload_builder_name_of(builder, op->object),
                          workload_segment_name((enum workload_segment)op->segment));
    return false;
}

static bool keeps_step(struct workload_builder *builder, struct workload_op *op,
                       const struct workload_ref *refs)
{
    if (!op->text)
        workload_builder_fail(builder, "a step without a name (expected one)");
    return op->text != 0;
}

static bool keeps_escape(struct workload_builder *builder, struct workload_op *op,
                         const struct workload_ref *refs)
{
    struct workload_error error;

    if (!op->text) {
        workload_builder_fail(builder, "an escape without data (expected a template)");
        return false;
    }
    if (workload_template_check(builder->out->strings + op->text, &error))
        return true;
    workload_builder_fail(builder, "%s", error.text);
    return false;
}

static bool keeps_submit(struct workload_builder *builder, struct workload_op *op,
                         const struct workload_ref *refs)
{
    if (op->value > WORKLOAD_MAX_DURATION_NS)
        workload_builder_fail(builder, "duration %" PRIu64 " ns (expected at most %llu)", op->value,
                              WORKLOAD_MAX_DURATION_NS);
    return op->value <= WORKLOAD_MAX_DURATION_NS;
}

/* ---- Addresses ---- */

/*
 * The manager maps a tile pool a second time where it likes, which a pte line may name: a process
 * has lines of one kind only.
 */
static bool check_kind(struct workload_builder *builder, uint32_t process, bool is_tile)
{
    struct workload_process *entry = &builder->out->processes[process];

    if (is_tile ? entry->has_entries : entry->has_tiles) {
        workload_builder_fail(builder,
                              "process %s has pte and tile lines (expected one kind of them)",
                              builder->out->strings + entry->name);
        return false;
    }
    if (is_tile)
        entry->has_tiles = true;
    else
        entry->has_entries = true;
    return true;
}

static bool check_protection(struct workload_builder *builder, uint32_t protection)
{
    if (protection & ~(uint32_t)(WORKLOAD_PROTECT_READ_ONLY | WORKLOAD_PROTECT_NO_EXECUTE)) {
        workload_builder_fail(builder, "protection 0x%x (expected ro, nx or both)", protection);
        return false;
    }
    return true;
}

static bool keeps_map(struct workload_builder *builder, struct workload_op *op,
                      const struct workload_ref *refs)
{
    uint64_t bytes;

    if (!workload_builder_check_range(builder, op->object, op->offset, &op->size) ||
        !check_protection(builder, op->flags))
        return false;
    bytes = builder->out->allocations[op->object].size;
    if (!is_aligned(op->offset, PAGE_BYTES) ||
        (!is_aligned(op->size, PAGE_BYTES) && op->offset + op->size != bytes)) {
        workload_builder_fail(builder,
                              "range of %" PRIu64 " bytes at %" PRIu64
                              " of %s is not whole pages (expected multiples of 4K, or the end)",
                              op->size, op->offset, workload_builder_name_of(builder, op->object));
        return false;
    }
    return op->value == WORKLOAD_VA_AUTO ||
           workload_builder_check_va(builder, op->value, align_up(op->size, PAGE_BYTES),
                                     PAGE_BYTES);
}

static bool keeps_unmap(struct workload_builder *builder, struct workload_op *op,
                        const struct workload_ref *refs)
{
    return op->value == WORKLOAD_VA_AUTO ||
           workload_builder_check_va(builder, op->value, PAGE_BYTES, PAGE_BYTES);
}

static bool keeps_reservation(struct workload_builder *builder, struct workload_op *op,
                              const struct workload_ref *refs)
{
    return workload_builder_check_va(builder, op->offset, op->size, PAGE_BYTES);
}

/* Resources begin and end anywhere, not only at pages. */
static bool keeps_label(struct workload_builder *builder, struct workload_op *op,
                        const struct workload_ref *refs)
{
    return workload_builder_check_va(builder, op->offset, op->size, 1);
}

static bool keeps_pte_map(struct workload_builder *builder, struct workload_op *op,
                          const struct workload_ref *refs)
{
    uint64_t pages = op->size >> PAGE_SHIFT_BITS;

    if (op->flags != WORKLOAD_PROTECT_ZERO && !check_protection(builder, op->flags))
        return false;
    if (op->page_shift < PAGE_SHIFT_BITS || op->page_shift > WORKLOAD_MAX_PAGE_SHIFT) {
        workload_builder_fail(builder, "page size 2^%u (expected a power of two, 4K to 1G)",
                              op->page_shift);
        return false;
    }
    if (op->segment >= WORKLOAD_SEGMENT_COUNT) {
        workload_builder_fail(builder, "segment %u (expected local, local-invisible or system)",
                              op->segment);
        return false;
    }
    if (op->segment == WORKLOAD_SEGMENT_APERTURE) {
        workload_builder_fail(builder, "a pte line cannot name pages of the aperture (expected "
                                       "local, local-invisible or system)");
        return false;
    }
    if (pages > WORKLOAD_MAX_PAGE || op->value > WORKLOAD_MAX_PAGE - pages) {
        workload_builder_fail(
            builder, "%" PRIu64 " pages from page 0x%" PRIx64 " (expected them below 0x%llx)",
            pages, op->value, WORKLOAD_MAX_PAGE);
        return false;
    }
    return workload_builder_check_va(builder, op->offset, op->size,
                                     UINT64_C(1) << op->page_shift) &&
           check_kind(builder, op->object, false);
}

static bool keeps_pte_unmap(struct workload_builder *builder, struct workload_op *op,
                            const struct workload_ref *refs)
{
    return workload_builder_check_va(builder, op->offset, op->size, PAGE_BYTES) &&
           check_kind(builder, op->object, false);
}

static bool keeps_tiles(struct workload_builder *builder, struct workload_op *op,
                        const struct workload_ref *refs)
{
    uint32_t device = builder->out->contexts[op->object].device;

    if (!is_aligned(op->size, WORKLOAD_TILE_BYTES)) {
        workload_builder_fail(builder, "%" PRIu64 " pages (expected a multiple of 16)",
                              op->size >> PAGE_SHIFT_BITS);
        return false;
    }
    return workload_builder_check_va(builder, op->offset, op->size, WORKLOAD_TILE_BYTES) &&
           check_kind(builder, builder->out->devices[device].process, true);
}

static bool keeps_tile_map(struct workload_builder *builder, struct workload_op *op,
                           const struct workload_ref *refs)
{
    const struct workload_allocation *a =
        workload_builder_live_allocation(builder, refs[0].allocation);
    uint64_t pages = op->size >> PAGE_SHIFT_BITS, pool_pages;

    if (!a)
        return false;
    pool_pages = a->size / PAGE_BYTES;
    if (op->value > pool_pages || pages > pool_pages - op->value ||
        !is_aligned(op->value, WORKLOAD_TILE_BYTES / PAGE_BYTES)) {
        workload_builder_fail(builder,
                              "%" PRIu64 " pages from page 0x%" PRIx64
                              " of %s (expected a multiple of 16, and them in it)",
                              pages, op->value,
                              workload_builder_name_of(builder, refs[0].allocation));
        return false;
    }
    return keeps_tiles(builder, op, refs);
}

static bool keeps_tile_copy(struct workload_builder *builder, struct workload_op *op,
                            const struct workload_ref *refs)
{
    uint64_t from = op->value, to = op->offset;

    if (!workload_builder_check_va(builder, from, op->size, WORKLOAD_TILE_BYTES))
        return false;
    if (from < to + op->size && to < from + op->size) {
        workload_builder_fail(builder, "a copy to a part of itself (expected two ranges apart)");
        return false;
    }
    return keeps_tiles(builder, op, refs);
}

/* ---- Native fences ---- */

static bool keeps_fence_create(struct workload_builder *builder, struct workload_op *op,
                               const struct workload_ref *refs)
{
    builder->live_fences |= UINT64_C(1) << op->offset;
    builder->fence_processes[op->offset] = op->object;
    return true;
}

static bool keeps_fence_destroy(struct workload_builder *builder, struct workload_op *op,
                                const struct workload_ref *refs)
{
    builder->live_fences &= ~(UINT64_C(1) << op->offset);
    return true;
}

/* ---- Objects that are made anew ---- */

static bool has_fences(const struct workload_builder *builder, uint32_t process)
{
    for (uint32_t i = 0; i < builder->out->view.op_count; i++) {
        if (builder->out->ops[i].kind == WORKLOAD_OP_FENCE_CREATE &&
            builder->out->ops[i].object == process)
            return true;
    }
    return false;
}

/* With its device or process goes what is left of those. */
static bool keeps_renew(struct workload_builder *builder, struct workload_op *op,
                        const struct workload_ref *refs)
{
    const struct workload_owned *out = builder->out;
    const uint32_t device = out->contexts[op->object].device,
                   process = out->devices[device].process;
    const bool is_process = op->flags == WORKLOAD_RENEW_PROCESS;

    if (is_process && (out->processes[process].has_entries || out->processes[process].has_tiles ||
                       has_fences(builder, process))) {
        workload_builder_fail(builder,
                              "process %s has pte, tile or fence lines (expected none in "
                              "front of renew with=process)",
                              out->strings + out->processes[process].name);
        return false;
    }
    for (uint32_t i = 0; op->flags != WORKLOAD_RENEW_CONTEXT && i < out->view.allocation_count;
         i++) {
        const struct workload_allocation *a = &out->allocations[i];

        if (a->free_op != WORKLOAD_NONE ||
            (a->device != device && (!is_process || (out->devices[a->device].process != process &&
                                                     !(a->flags & WORKLOAD_ALLOCATION_SHARED)))))
            continue;
        workload_builder_fail(builder, "%s is alive (expected a free line in front)",
                              workload_builder_name_of(builder, i));
        return false;
    }
    return true;
}

/* ---- What happens to the GPU ---- */

static bool keeps_hang(struct workload_builder *builder, struct workload_op *op,
                       const struct workload_ref *refs)
{
    if (op->value > UINT32_MAX)
        workload_builder_fail(builder, "%" PRIu64 " packets before it (expected at most %u)",
                              op->value, UINT32_MAX);
    return op->value <= UINT32_MAX;
}

static bool keeps_power(struct workload_builder *builder, struct workload_op *op,
                        const struct workload_ref *refs)
{
    bool goes_off = op->flags != WORKLOAD_POWER_ON;

    if (builder->is_off == goes_off) {
        workload_builder_fail(builder, goes_off ? "the power is off already (expected power on)"
                                                : "the power is on already");
        return false;
    }
    builder->is_off = goes_off;
    return true;
}

/* A board that is asleep can be pulled out, too: lines behind this one may never be played. */
static bool keeps_remove(struct workload_builder *builder, struct workload_op *op,
                         const struct workload_ref *refs)
{
    builder->is_off = false;
    return true;
}

/* ---- The table ---- */

workload_rule *const workload_rules[WORKLOAD_OP_COUNT] = {
    [WORKLOAD_OP_FREE] = keeps_free,
    [WORKLOAD_OP_CLOSE] = keeps_close,
    [WORKLOAD_OP_WRITE] = keeps_access,
    [WORKLOAD_OP_READ] = keeps_access,
    [WORKLOAD_OP_LOCK] = keeps_lock,
    [WORKLOAD_OP_SHOW] = keeps_show,
    [WORKLOAD_OP_UNLOCK] = keeps_unlock,
    [WORKLOAD_OP_SUBMIT] = keeps_submit,
    [WORKLOAD_OP_ESCAPE] = keeps_escape,
    [WORKLOAD_OP_RESIDENT] = keeps_resident,
    [WORKLOAD_OP_OFFER] = keeps_offer,
    [WORKLOAD_OP_RECLAIM] = keeps_reclaim,
    [WORKLOAD_OP_PRIORITY] = keeps_priority,
    [WORKLOAD_OP_MOVE] = keeps_move,
    [WORKLOAD_OP_STEP] = keeps_step,
    [WORKLOAD_OP_MAP] = keeps_map,
    [WORKLOAD_OP_UNMAP] = keeps_unmap,
    [WORKLOAD_OP_PTE_MAP] = keeps_pte_map,
    [WORKLOAD_OP_PTE_UNMAP] = keeps_pte_unmap,
    [WORKLOAD_OP_TILE_MAP] = keeps_tile_map,
    [WORKLOAD_OP_TILE_UNMAP] = keeps_tiles,
    [WORKLOAD_OP_TILE_COPY] = keeps_tile_copy,
    [WORKLOAD_OP_FENCE_CREATE] = keeps_fence_create,
    [WORKLOAD_OP_FENCE_DESTROY] = keeps_fence_destroy,
    [WORKLOAD_OP_VM_RESERVE] = keeps_reservation,
    [WORKLOAD_OP_VM_RELEASE] = keeps_reservation,
    [WORKLOAD_OP_LABEL] = keeps_label,
    [WORKLOAD_OP_RENEW] = keeps_renew,
    [WORKLOAD_OP_HANG] = keeps_hang,
    [WORKLOAD_OP_POWER] = keeps_power,
    [WORKLOAD_OP_REMOVE] = keeps_remove,
};
