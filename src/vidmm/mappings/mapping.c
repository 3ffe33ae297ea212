/*
 * Mappings: which of them an address is in, and which entries they are to have.
 *
 * Source     contract.md PT-013, PT-029, PT-038.
 */
#include "vidmm/mappings/mapping.h"

#include "vidmm/adapter/adapter_caps.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"
#include "vidmm/tables/address_space.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/bits.h"
#include "base/list.h"
#include "base/range_allocator.h"

/* Of a root that grows: pools are not larger, and the root is small that reaches behind it. */
#define LOW_PRIVILEGED_END (UINT64_C(2) << 30)

NTSTATUS range_result(enum range_status status)
{
    switch (status) {
    case RANGE_OK:
        return STATUS_SUCCESS;
    case RANGE_NO_MEMORY:
        return STATUS_NO_MEMORY;
    case RANGE_FULL:
        return STATUS_RESOURCE_IN_USE;
    case RANGE_INVALID:
        break;
    }
    return STATUS_INVALID_PARAMETER;
}

static bool is_mapping(uint64_t owner)
{
    return owner != OWNER_PHYSICAL && owner != OWNER_RESERVED;
}

struct mapping *mapping_find(struct vidmm_process *process, uint64_t va)
{
    struct range_info info;

    if (!range_allocator_find(&process->space.ranges, va, &info) || info.offset != va ||
        !is_mapping(info.owner))
        return NULL;
    return (struct mapping *)(uintptr_t)info.owner;
}

struct mapping *mapping_at(const struct address_space *space, uint64_t va, uint64_t *out_end,
                           bool *is_physical)
{
    struct range_info info;

    *is_physical = false;
    if (va < space->ranges_start) {
        *out_end = space->ranges_start;
        return NULL;
    }
    if (!range_allocator_range_at(&space->ranges, va, &info)) {
        *out_end = UINT64_MAX;
        return NULL;
    }
    *out_end = info.offset + info.size;
    *is_physical = !info.is_free && info.owner == OWNER_PHYSICAL;
    return info.is_free || !is_mapping(info.owner) ? NULL : (struct mapping *)(uintptr_t)info.owner;
}

uint64_t mapping_unique_protection(const struct vidmm_allocation *allocation, uint64_t page,
                                   uint64_t *page_count)
{
    const struct mapping *mapping;
    uint64_t protection = 0;
    uint64_t end = allocation->page_count;

    list_for_each (mapping, &allocation->mappings, struct mapping, allocation_link) {
        uint64_t mapping_end = mapping->first_page + mapping->page_count;

        if (!(mapping->driver_protection & VIDMM_UNIQUE_PROTECTION) || mapping_end <= page)
            continue;
        if (mapping->first_page > page) {
            end = min_u64(end, mapping->first_page);
        } else {
            protection = mapping->driver_protection;
            end = min_u64(end, mapping_end);
        }
    }
    *page_count = end - page;
    return protection;
}

bool mapping_is_64k(const struct mapping *mapping)
{
    const struct segment *segment = mapping->allocation->place.segment;

    return mapping->may_be_64k && segment && segment->unit_pages == PAGES_64K;
}

bool mapping_privileged_range(const struct address_space *space, uint64_t *out_start,
                              uint64_t *out_end)
{
    const struct vidmm_caps *caps = &space->vidmm->caps;
    uint64_t limit = UINT64_C(1) << caps->va_bits;

    if (!caps->has_page_tables || caps->update_mode != DXGK_PAGETABLEUPDATE_GPU_VIRTUAL ||
        caps->update_requires_idle)
        return false;
    *out_start = caps->root_is_resizable ? space->ranges_start : limit - limit / 8;
    *out_end = caps->root_is_resizable ? min_u64(LOW_PRIVILEGED_END, limit / 8) : limit;
    return true;
}

bool mapping_touches_privileged(const struct address_space *space, uint64_t va, uint64_t bytes)
{
    uint64_t start, end;

    return mapping_privileged_range(space, &start, &end) && va < end &&
           (va >= start || bytes > start - va);
}
