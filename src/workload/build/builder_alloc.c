/*
 * Allocations of a builder: their entries, and from where to where a name means them.
 */
#include "workload/build/builder_private.h"
#include "workload/words.h"

#include "base/bits.h"

#include <inttypes.h>
#include <string.h>

static bool check_info(struct workload_builder *builder, const char *name, int length,
                       const struct workload_allocation_info *info)
{
    const struct workload *view = &builder->out->view;

    if (info->size == 0 || info->size > WORKLOAD_MAX_ALLOCATION) {
        workload_builder_fail(builder,
                              "size %" PRIu64 " of %.*s (expected 1 to %llu bytes, 1024 GiB)",
                              info->size, length, name, WORKLOAD_MAX_ALLOCATION);
        return false;
    }
    if (info->align && (!is_power_of_two(info->align) || info->align > GiB)) {
        workload_builder_fail(builder,
                              "alignment %" PRIu64 " of %.*s (expected a power of two up to 1G)",
                              info->align, length, name);
        return false;
    }
    if (info->device >= view->device_count) {
        workload_builder_fail(builder, "device %u does not exist (expected below %u)", info->device,
                              view->device_count);
        return false;
    }
    if (info->segment_count > WORKLOAD_MAX_SEGMENTS) {
        workload_builder_fail(builder, "%u segments for %.*s (expected at most %u)",
                              info->segment_count, length, name, WORKLOAD_MAX_SEGMENTS);
        return false;
    }
    for (uint32_t i = 0; i < info->segment_count; i++) {
        bool repeats = memchr(info->segments, info->segments[i], i) != NULL;

        if (info->segments[i] >= WORKLOAD_SEGMENT_COUNT || repeats) {
            workload_builder_fail(builder,
                                  "segments of %.*s: number %u is unknown or repeated (expected "
                                  "each of local, local-invisible, aperture, system at most once)",
                                  length, name, i + 1);
            return false;
        }
    }
    for (uint32_t bits = info->flags; bits; bits &= bits - 1) {
        if (!workload_allocation_flag_name(bits & (0u - bits))) {
            workload_builder_fail(builder, "flags 0x%x of %.*s (expected known bits)", info->flags,
                                  length, name);
            return false;
        }
    }
    if (info->va && info->va != WORKLOAD_VA_AUTO &&
        !workload_builder_check_va(builder, info->va, align_up(info->size, PAGE_BYTES), PAGE_BYTES))
        return false;
    if (info->va && info->va != WORKLOAD_VA_AUTO && (info->flags & WORKLOAD_ALLOCATION_NOMAP)) {
        workload_builder_fail(builder, "%.*s has a va and the flag nomap (expected one of them)",
                              length, name);
        return false;
    }
    return true;
}

uint32_t workload_builder_alloc_n(struct workload_builder *builder, const char *name, size_t length,
                                  const struct workload_allocation_info *info)
{
    struct workload_owned *out = builder->out;
    struct workload_name *entry;
    struct workload_allocation *a;
    uint32_t id = out->view.allocation_count;

    if (!workload_builder_end_header(builder))
        return WORKLOAD_NONE;
    if (!workload_is_identifier(name, length)) {
        workload_builder_fail(builder,
                              "'%.*s' is no name for an allocation (expected a letter or '_', then "
                              "letters, digits or one of _.-/, at most %d characters)",
                              (int)(length > 80 ? 80 : length), name, WORKLOAD_MAX_NAME);
        return WORKLOAD_NONE;
    }
    if (!check_info(builder, name, (int)length, info))
        return WORKLOAD_NONE;
    if (id >= WORKLOAD_MAX_ALLOCATIONS) {
        workload_builder_fail(builder, "too many allocations (expected at most %u)",
                              WORKLOAD_MAX_ALLOCATIONS);
        return WORKLOAD_NONE;
    }
    entry = workload_builder_intern(builder, name, length);
    if (!entry)
        return WORKLOAD_NONE;
    if (entry->allocation != WORKLOAD_NONE) {
        workload_builder_fail(builder, "%.*s is alive already (expected a new name, or free first)",
                              (int)length, name);
        return WORKLOAD_NONE;
    }
    if (!workload_grow(out->services, &out->allocations, &out->allocation_room, id, 1, sizeof *a) ||
        !workload_grow(out->services, &builder->stamps, &builder->stamp_room, id, 1,
                       sizeof *builder->stamps)) {
        workload_builder_fail_memory(builder);
        return WORKLOAD_NONE;
    }
    if (!workload_builder_append(builder, WORKLOAD_OP_ALLOC, id))
        return WORKLOAD_NONE;

    a = &out->allocations[id];
    *a = (struct workload_allocation){
        .name = entry->text,
        .device = info->device,
        .size = info->size,
        .va = info->va ? info->va : WORKLOAD_VA_AUTO,
        .align = info->align,
        .priority = info->priority ? info->priority : WORKLOAD_PRIORITY_NORMAL,
        .flags = info->flags,
        .segment_count = info->segment_count,
        .alloc_op = out->view.op_count - 1,
        .free_op = WORKLOAD_NONE,
    };
    memcpy(a->segments, info->segments, info->segment_count);
    builder->stamps[id] = 0;
    entry->allocation = entry->last_allocation = id;
    out->view.allocation_count = id + 1;
    return id;
}

uint32_t workload_builder_alloc(struct workload_builder *builder, const char *name,
                                const struct workload_allocation_info *info)
{
    return workload_builder_alloc_n(builder, name, strlen(name), info);
}

uint32_t workload_builder_find(const struct workload_builder *builder, const char *name)
{
    const struct workload_name *entry = workload_builder_lookup(builder, name, strlen(name));

    return entry ? entry->allocation : WORKLOAD_NONE;
}
