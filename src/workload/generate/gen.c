/*
 * What generators share: allocations, submissions and sizes in their own words.
 */
#include "workload/generate/gen.h"
#include "workload/build/builder_private.h"

#include "base/bits.h"

#include <stdarg.h>
#include <stdio.h>

uint32_t gen_alloc(struct gen *gen, uint64_t size, uint32_t flags, const char *format, ...)
{
    struct workload_allocation_info info = {.size = size, .flags = flags};
    char name[WORKLOAD_MAX_NAME + 2];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    if (flags & WORKLOAD_ALLOCATION_CPU_VISIBLE) {
        info.segments[info.segment_count++] = WORKLOAD_SEGMENT_APERTURE;
        info.segments[info.segment_count++] = WORKLOAD_SEGMENT_LOCAL;
    } else {
        info.segments[info.segment_count++] = WORKLOAD_SEGMENT_LOCAL;
    }
    return workload_builder_alloc(gen->builder, name, &info);
}

void gen_submit(struct gen *gen, uint32_t context, double duration_ns,
                const struct gen_access *accesses, size_t count)
{
    double most = (double)WORKLOAD_MAX_DURATION_NS;
    uint64_t duration = duration_ns < 1 ? 1 : (uint64_t)(duration_ns < most ? duration_ns : most);

    workload_builder_submit_begin(gen->builder, context, duration);
    for (size_t i = 0; i < count; i++)
        workload_builder_ref(gen->builder, accesses[i].allocation, 0, 0, accesses[i].access, 0);
    workload_builder_submit_end(gen->builder);
}

uint64_t gen_bytes(struct gen *gen, const char *what, const uint64_t *factors, size_t count)
{
    uint64_t product = 1;

    for (size_t i = 0; i < count; i++) {
        if (!mul_u64_checked(product, factors[i], &product) || product > WORKLOAD_MAX_ALLOCATION) {
            workload_builder_fail(gen->builder,
                                  "%s is too large (expected parameters that keep each tensor "
                                  "below 1024 GiB)",
                                  what);
            return 1;
        }
    }
    return product;
}
