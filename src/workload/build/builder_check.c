/*
 * Checks that operations have in common: of the objects, ranges and addresses that they name.
 */
#include "workload/build/builder_private.h"

#include "base/bits.h"

#include <inttypes.h>

const char *workload_builder_name_of(const struct workload_builder *builder, uint32_t allocation)
{
    return builder->out->strings + builder->out->allocations[allocation].name;
}

struct workload_allocation *workload_builder_live_allocation(struct workload_builder *builder,
                                                             uint32_t allocation)
{
    struct workload_allocation *found;

    if (builder->failed)
        return NULL;
    if (allocation >= builder->out->view.allocation_count) {
        workload_builder_fail(builder, "allocation %u does not exist (expected below %u)",
                              allocation, builder->out->view.allocation_count);
        return NULL;
    }
    found = &builder->out->allocations[allocation];
    if (found->free_op != WORKLOAD_NONE) {
        workload_builder_fail(builder, "%s is already freed (expected a live allocation)",
                              workload_builder_name_of(builder, allocation));
        return NULL;
    }
    return found;
}

bool workload_builder_check_unlocked(struct workload_builder *builder, uint32_t allocation)
{
    const struct workload_allocation *a = workload_builder_live_allocation(builder, allocation);

    if (!a)
        return false;
    if (a->is_locked) {
        workload_builder_fail(builder, "%s is locked (expected an unlock before it is used)",
                              workload_builder_name_of(builder, allocation));
        return false;
    }
    return true;
}

bool workload_builder_check_not_offered(struct workload_builder *builder, uint32_t allocation)
{
    const struct workload_allocation *a = workload_builder_live_allocation(builder, allocation);

    if (!a)
        return false;
    if (a->is_offered) {
        workload_builder_fail(builder, "%s is offered (expected a reclaim before it is used)",
                              workload_builder_name_of(builder, allocation));
        return false;
    }
    return true;
}

static bool is_closed(const struct workload_builder *builder, uint32_t allocation, uint32_t device)
{
    for (uint32_t i = 0; i < builder->closing_count; i++) {
        if (builder->closings[i].allocation == allocation && builder->closings[i].device == device)
            return true;
    }
    return false;
}

bool workload_builder_check_owner(struct workload_builder *builder, uint32_t allocation,
                                  uint32_t device)
{
    const struct workload_owned *out = builder->out;
    const struct workload_allocation *a = workload_builder_live_allocation(builder, allocation);

    if (!a)
        return false;
    if (a->device != device && !(a->flags & WORKLOAD_ALLOCATION_SHARED)) {
        workload_builder_fail(builder,
                              "%s belongs to device %s, not %s (expected an allocation of that "
                              "device or one with the flag shared)",
                              workload_builder_name_of(builder, allocation),
                              out->strings + out->devices[a->device].name,
                              out->strings + out->devices[device].name);
        return false;
    }
    if (a->device != device && is_closed(builder, allocation, device)) {
        workload_builder_fail(builder, "device %s has closed %s (expected no use of it there)",
                              out->strings + out->devices[device].name,
                              workload_builder_name_of(builder, allocation));
        return false;
    }
    return true;
}

bool workload_builder_check_range(struct workload_builder *builder, uint32_t allocation,
                                  uint64_t offset, uint64_t *size)
{
    const struct workload_allocation *a = workload_builder_live_allocation(builder, allocation);

    if (!a)
        return false;
    if (*size == 0 && offset < a->size)
        *size = a->size - offset;
    if (*size == 0 || offset >= a->size || *size > a->size - offset) {
        workload_builder_fail(builder,
                              "range of %" PRIu64 " bytes at %" PRIu64
                              " is not inside %s (expected it within %" PRIu64 " bytes)",
                              *size, offset, workload_builder_name_of(builder, allocation),
                              a->size);
        return false;
    }
    return true;
}

/* An index of a table of the workload, which has so many entries. */
static bool check_index(struct workload_builder *builder, const char *what, uint32_t index,
                        uint32_t count)
{
    if (index < count)
        return true;
    workload_builder_fail(builder, "%s %u does not exist (expected below %u)", what, index, count);
    return false;
}

bool workload_builder_check_process(struct workload_builder *builder, uint32_t process)
{
    return workload_builder_end_header(builder) &&
           check_index(builder, "process", process, builder->out->view.process_count);
}

bool workload_builder_check_device(struct workload_builder *builder, uint32_t device)
{
    return workload_builder_end_header(builder) &&
           check_index(builder, "device", device, builder->out->view.device_count);
}

bool workload_builder_check_context(struct workload_builder *builder, uint32_t context)
{
    return workload_builder_end_header(builder) &&
           check_index(builder, "context", context, builder->out->view.context_count);
}

bool workload_builder_check_node(struct workload_builder *builder, uint32_t node)
{
    if (node < WORKLOAD_MAX_NODES)
        return true;
    workload_builder_fail(builder, "node %" PRIu32 " (expected 0 to %u)", node,
                          WORKLOAD_MAX_NODES - 1);
    return false;
}

bool workload_builder_check_va(struct workload_builder *builder, uint64_t va, uint64_t size,
                               uint64_t page)
{
    if (!is_aligned(va, page) || !is_aligned(size, page)) {
        workload_builder_fail(builder,
                              "va 0x%" PRIx64 " and its %" PRIu64
                              " bytes are not whole pages (expected multiples of %" PRIu64 ")",
                              va, size, page);
        return false;
    }
    if (size == 0 || va >= WORKLOAD_MAX_VA || size > WORKLOAD_MAX_VA - va) {
        workload_builder_fail(builder,
                              "va range of %" PRIu64 " bytes at 0x%" PRIx64
                              " (expected it not empty and below 0x%llx)",
                              size, va, WORKLOAD_MAX_VA);
        return false;
    }
    return true;
}

bool workload_builder_check_page_count(struct workload_builder *builder, uint64_t page_count)
{
    if (page_count <= WORKLOAD_MAX_PAGE)
        return true;
    workload_builder_fail(builder, "%" PRIu64 " pages (expected at most 0x%llx)", page_count,
                          WORKLOAD_MAX_PAGE);
    return false;
}

bool workload_builder_check_fence(struct workload_builder *builder, uint64_t fence, bool is_live)
{
    if (builder->failed)
        return false;
    if (fence >= WORKLOAD_MAX_FENCES) {
        workload_builder_fail(builder, "fence %" PRIu64 " (expected 0 to %u)", fence,
                              WORKLOAD_MAX_FENCES - 1);
        return false;
    }
    if ((builder->live_fences >> fence & 1) == is_live)
        return true;
    workload_builder_fail(builder, "fence %" PRIu64 " %s (expected %s)", fence,
                          is_live ? "does not exist" : "exists already",
                          is_live ? "one that was created" : "another number");
    return false;
}
