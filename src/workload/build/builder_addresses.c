/*
 * The operations of a builder that name GPU virtual addresses: mappings, page-table entries, tiles,
 * ranges that are taken.
 */
#include "workload/build/builder_private.h"

#include "base/bits.h"

#include <inttypes.h>

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

/* ---- Mappings ---- */

void workload_builder_map(struct workload_builder *builder, uint32_t allocation, uint64_t va,
                          uint64_t offset, uint64_t size, uint32_t protection,
                          uint64_t driver_protection)
{
    const struct workload_ref protected_by = {.allocation = allocation, .key = driver_protection};
    const struct workload_allocation *a;
    struct workload_op *op;
    uint64_t mapped;

    if (!workload_builder_check_range(builder, allocation, offset, &size) ||
        !check_protection(builder, protection))
        return;
    a = &builder->out->allocations[allocation];
    if (!is_aligned(offset, PAGE_BYTES) ||
        (!is_aligned(size, PAGE_BYTES) && offset + size != a->size)) {
        workload_builder_fail(builder,
                              "range of %" PRIu64 " bytes at %" PRIu64
                              " of %s is not whole pages (expected multiples of 4K, or the end)",
                              size, offset, workload_builder_name_of(builder, allocation));
        return;
    }
    mapped = align_up(size, PAGE_BYTES);
    if (va != WORKLOAD_VA_AUTO && !workload_builder_check_va(builder, va, mapped, PAGE_BYTES))
        return;
    op = workload_builder_op(builder, WORKLOAD_OP_MAP, allocation);
    if (!op)
        return;
    op->offset = offset;
    op->size = size;
    op->value = va;
    op->flags = (uint8_t)protection;
    op->first_ref = driver_protection ? builder->out->view.ref_count : 0;
    if (driver_protection)
        workload_builder_add_ref(builder, &protected_by);
}

void workload_builder_unmap(struct workload_builder *builder, uint32_t allocation, uint64_t va)
{
    struct workload_op *op;

    if (!workload_builder_live_allocation(builder, allocation))
        return;
    if (va != WORKLOAD_VA_AUTO && !workload_builder_check_va(builder, va, PAGE_BYTES, PAGE_BYTES))
        return;
    op = workload_builder_op(builder, WORKLOAD_OP_UNMAP, allocation);
    if (op)
        op->value = va;
}

void workload_builder_pte_map(struct workload_builder *builder, uint32_t process, uint64_t va,
                              enum workload_segment segment, uint64_t page, uint64_t page_count,
                              uint32_t page_shift, uint32_t protection)
{
    struct workload_op *op;

    if (!workload_builder_check_process(builder, process) || !check_protection(builder, protection))
        return;
    if (page_shift < PAGE_SHIFT_BITS || page_shift > WORKLOAD_MAX_PAGE_SHIFT) {
        workload_builder_fail(builder, "page size 2^%u (expected a power of two, 4K to 1G)",
                              page_shift);
        return;
    }
    if ((unsigned)segment >= WORKLOAD_SEGMENT_COUNT) {
        workload_builder_fail(builder, "segment %u (expected local, local-invisible or system)",
                              (unsigned)segment);
        return;
    }
    if (segment == WORKLOAD_SEGMENT_APERTURE) {
        workload_builder_fail(builder, "a pte line cannot name pages of the aperture (expected "
                                       "local, local-invisible or system)");
        return;
    }
    if (page_count > WORKLOAD_MAX_PAGE || page > WORKLOAD_MAX_PAGE - page_count) {
        workload_builder_fail(
            builder, "%" PRIu64 " pages from page 0x%" PRIx64 " (expected them below 0x%llx)",
            page_count, page, WORKLOAD_MAX_PAGE);
        return;
    }
    if (!workload_builder_check_va(builder, va, page_count << PAGE_SHIFT_BITS,
                                   (uint64_t)1 << page_shift) ||
        !check_kind(builder, process, false))
        return;
    op = workload_builder_op(builder, WORKLOAD_OP_PTE_MAP, process);
    if (!op)
        return;
    op->segment = (uint8_t)segment;
    op->page_shift = (uint8_t)page_shift;
    op->flags = (uint8_t)protection;
    op->offset = va;
    op->size = page_count << PAGE_SHIFT_BITS;
    op->value = page;
}

/* An operation on a range of GPU VA of a process; NULL after an error. */
static bool is_pte(enum workload_op_kind kind)
{
    return kind == WORKLOAD_OP_PTE_MAP || kind == WORKLOAD_OP_PTE_UNMAP;
}

static struct workload_op *add_va(struct workload_builder *builder, enum workload_op_kind kind,
                                  uint32_t process, uint64_t va, uint64_t size)
{
    struct workload_op *op;

    if (!workload_builder_check_process(builder, process) ||
        !workload_builder_check_va(builder, va, size, PAGE_BYTES) ||
        (is_pte(kind) && !check_kind(builder, process, false)))
        return NULL;
    op = workload_builder_op(builder, kind, process);
    if (!op)
        return NULL;
    op->offset = va;
    op->size = size;
    return op;
}

static bool check_page_count(struct workload_builder *builder, uint64_t page_count)
{
    if (page_count <= WORKLOAD_MAX_PAGE)
        return true;
    workload_builder_fail(builder, "%" PRIu64 " pages (expected at most 0x%llx)", page_count,
                          WORKLOAD_MAX_PAGE);
    return false;
}

void workload_builder_pte_zero(struct workload_builder *builder, uint32_t process, uint64_t va,
                               uint64_t page_count)
{
    struct workload_op *op;

    if (!check_page_count(builder, page_count))
        return;
    op = add_va(builder, WORKLOAD_OP_PTE_MAP, process, va, page_count << PAGE_SHIFT_BITS);
    if (!op)
        return;
    op->segment = WORKLOAD_SEGMENT_SYSTEM;
    op->page_shift = PAGE_SHIFT_BITS;
    op->flags = WORKLOAD_PROTECT_ZERO;
}

void workload_builder_pte_unmap(struct workload_builder *builder, uint32_t process, uint64_t va,
                                uint64_t page_count)
{
    if (!check_page_count(builder, page_count))
        return;
    add_va(builder, WORKLOAD_OP_PTE_UNMAP, process, va, page_count << PAGE_SHIFT_BITS);
}

static struct workload_op *add_tiles(struct workload_builder *builder, enum workload_op_kind kind,
                                     uint32_t context, uint64_t va, uint64_t page_count)
{
    const uint64_t tile_pages = WORKLOAD_TILE_BYTES / PAGE_BYTES;
    struct workload_op *op;

    if (!workload_builder_end_header(builder) || !check_page_count(builder, page_count))
        return NULL;
    if (context >= builder->out->view.context_count) {
        workload_builder_fail(builder, "context %u does not exist (expected below %u)", context,
                              builder->out->view.context_count);
        return NULL;
    }
    if (!is_aligned(page_count, tile_pages)) {
        workload_builder_fail(builder, "%" PRIu64 " pages (expected a multiple of 16)", page_count);
        return NULL;
    }
    if (!workload_builder_check_va(builder, va, page_count << PAGE_SHIFT_BITS,
                                   WORKLOAD_TILE_BYTES) ||
        !check_kind(builder, builder->out->devices[builder->out->contexts[context].device].process,
                    true))
        return NULL;
    op = workload_builder_op(builder, kind, context);
    if (!op)
        return NULL;
    op->offset = va;
    op->size = page_count << PAGE_SHIFT_BITS;
    return op;
}

void workload_builder_tile_map(struct workload_builder *builder, uint32_t context, uint32_t pool,
                               uint64_t va, uint64_t page, uint64_t page_count)
{
    const struct workload_ref ref = {.allocation = pool};
    const struct workload_allocation *a = workload_builder_live_allocation(builder, pool);
    struct workload_op *op;

    if (!a)
        return;
    if (page > a->size / PAGE_BYTES || page_count > a->size / PAGE_BYTES - page ||
        !is_aligned(page, WORKLOAD_TILE_BYTES / PAGE_BYTES)) {
        workload_builder_fail(builder,
                              "%" PRIu64 " pages from page 0x%" PRIx64
                              " of %s (expected a multiple of 16, and them in it)",
                              page_count, page, workload_builder_name_of(builder, pool));
        return;
    }
    op = add_tiles(builder, WORKLOAD_OP_TILE_MAP, context, va, page_count);
    if (!op)
        return;
    op->value = page;
    op->first_ref = builder->out->view.ref_count;
    workload_builder_add_ref(builder, &ref);
}

void workload_builder_tile_unmap(struct workload_builder *builder, uint32_t context, uint64_t va,
                                 uint64_t page_count)
{
    add_tiles(builder, WORKLOAD_OP_TILE_UNMAP, context, va, page_count);
}

void workload_builder_tile_copy(struct workload_builder *builder, uint32_t context, uint64_t from,
                                uint64_t to, uint64_t page_count)
{
    uint64_t bytes = page_count << PAGE_SHIFT_BITS;
    struct workload_op *op;

    if (!check_page_count(builder, page_count) ||
        !workload_builder_check_va(builder, from, bytes, WORKLOAD_TILE_BYTES))
        return;
    if (from < to + bytes && to < from + bytes) {
        workload_builder_fail(builder, "a copy to a part of itself (expected two ranges apart)");
        return;
    }
    op = add_tiles(builder, WORKLOAD_OP_TILE_COPY, context, to, page_count);
    if (op)
        op->value = from;
}

void workload_builder_vm_reserve(struct workload_builder *builder, uint32_t process, uint64_t va,
                                 uint64_t size)
{
    add_va(builder, WORKLOAD_OP_VM_RESERVE, process, va, size);
}

void workload_builder_vm_release(struct workload_builder *builder, uint32_t process, uint64_t va,
                                 uint64_t size)
{
    add_va(builder, WORKLOAD_OP_VM_RELEASE, process, va, size);
}
