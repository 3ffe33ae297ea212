#include "bench/measure/range_bench_peers.h"

#include "base/bits.h"
#include "base/services.h"

#include <string.h>

#define NONE        UINT32_MAX
#define STEPS_LOG2  3
#define LEVEL_COUNT 32
#define STEP_COUNT  (1u << STEPS_LOG2)

struct node {
    uint32_t offset;
    uint32_t size;
    uint32_t before; /* neighbours by address */
    uint32_t after;
    uint32_t prev; /* in the bin */
    uint32_t next;
    uint32_t is_free;
};

struct segregated_fit {
    uint32_t level_bits;
    uint8_t step_bits[LEVEL_COUNT];
    uint32_t bins[LEVEL_COUNT * STEP_COUNT];
    struct node *nodes;
    uint32_t *spare; /* a stack */
    uint32_t spare_count;
    uint32_t spare_fewest;
    uint32_t node_count;
};

static unsigned bin_below(uint32_t size)
{
    unsigned exponent = log2_floor_u64(size);

    if (exponent < STEPS_LOG2)
        return size;
    exponent -= STEPS_LOG2;
    return (exponent << STEPS_LOG2) + (size >> exponent);
}

static unsigned bin_above(uint32_t size)
{
    unsigned exponent = log2_floor_u64(size);
    unsigned bin = bin_below(size);

    if (exponent > STEPS_LOG2 && size & (uint32_t)low_mask_u64(exponent - STEPS_LOG2))
        bin++;
    return bin;
}

static void bin_push(struct segregated_fit *fit, uint32_t index)
{
    struct node *node = &fit->nodes[index];
    unsigned bin = bin_below(node->size);

    node->is_free = 1;
    node->prev = NONE;
    node->next = fit->bins[bin];
    if (node->next != NONE)
        fit->nodes[node->next].prev = index;
    fit->bins[bin] = index;
    fit->step_bits[bin / STEP_COUNT] |= (uint8_t)(1u << bin % STEP_COUNT);
    fit->level_bits |= UINT32_C(1) << bin / STEP_COUNT;
}

static void bin_unlink(struct segregated_fit *fit, uint32_t index)
{
    struct node *node = &fit->nodes[index];
    unsigned bin;

    node->is_free = 0;
    if (node->next != NONE)
        fit->nodes[node->next].prev = node->prev;
    if (node->prev != NONE) {
        fit->nodes[node->prev].next = node->next;
        return;
    }
    bin = bin_below(node->size);
    fit->bins[bin] = node->next;
    if (node->next != NONE)
        return;
    fit->step_bits[bin / STEP_COUNT] &= (uint8_t) ~(1u << bin % STEP_COUNT);
    if (!fit->step_bits[bin / STEP_COUNT])
        fit->level_bits &= ~(UINT32_C(1) << bin / STEP_COUNT);
}

static uint32_t node_get(struct segregated_fit *fit)
{
    uint32_t index = fit->spare[--fit->spare_count];

    if (fit->spare_count < fit->spare_fewest)
        fit->spare_fewest = fit->spare_count;
    return index;
}

static void node_put(struct segregated_fit *fit, uint32_t index)
{
    fit->spare[fit->spare_count++] = index;
}

struct segregated_fit *segregated_fit_create(const struct base_services *services, uint32_t size,
                                             uint32_t ranges_max)
{
    uint32_t count = 2 * ranges_max + 2, first;
    struct segregated_fit *fit = base_alloc(services, sizeof *fit);

    if (!fit)
        return NULL;
    fit->nodes = base_alloc_array(services, count, sizeof *fit->nodes);
    fit->spare = base_alloc_array(services, count, sizeof *fit->spare);
    if (!fit->nodes || !fit->spare)
        return NULL;
    memset(fit->bins, 0xff, sizeof fit->bins);
    for (uint32_t i = 0; i < count; i++)
        fit->spare[i] = count - 1 - i;
    fit->spare_count = fit->spare_fewest = fit->node_count = count;
    first = node_get(fit);
    fit->nodes[first] = (struct node){.size = size, .before = NONE, .after = NONE};
    bin_push(fit, first);
    return fit;
}

bool segregated_fit_take(struct segregated_fit *fit, uint32_t size, uint32_t *out_handle)
{
    unsigned bin = bin_above(size);
    unsigned level = bin / STEP_COUNT;
    unsigned steps = fit->step_bits[level] & (0xffu << bin % STEP_COUNT) & 0xff;
    uint32_t index;
    struct node *node;

    if (!steps) {
        uint32_t levels = fit->level_bits & ~(uint32_t)low_mask_u64(level + 1);

        if (!levels)
            return false;
        level = ctz_u64(levels);
        steps = fit->step_bits[level];
    }
    index = fit->bins[level * STEP_COUNT + ctz_u64(steps)];
    node = &fit->nodes[index];
    bin_unlink(fit, index);
    if (node->size > size) {
        uint32_t rest = node_get(fit);

        fit->nodes[rest] = (struct node){
            .offset = node->offset + size,
            .size = node->size - size,
            .before = index,
            .after = node->after,
        };
        if (node->after != NONE)
            fit->nodes[node->after].before = rest;
        node->after = rest;
        node->size = size;
        bin_push(fit, rest);
    }
    *out_handle = index;
    return true;
}

uint32_t segregated_fit_offset(const struct segregated_fit *fit, uint32_t handle)
{
    return fit->nodes[handle].offset;
}

void segregated_fit_release(struct segregated_fit *fit, uint32_t handle)
{
    struct node *node = &fit->nodes[handle];

    if (node->before != NONE && fit->nodes[node->before].is_free) {
        uint32_t before = node->before;

        bin_unlink(fit, before);
        node->offset = fit->nodes[before].offset;
        node->size += fit->nodes[before].size;
        node->before = fit->nodes[before].before;
        if (node->before != NONE)
            fit->nodes[node->before].after = handle;
        node_put(fit, before);
    }
    if (node->after != NONE && fit->nodes[node->after].is_free) {
        uint32_t after = node->after;

        bin_unlink(fit, after);
        node->size += fit->nodes[after].size;
        node->after = fit->nodes[after].after;
        if (node->after != NONE)
            fit->nodes[node->after].before = handle;
        node_put(fit, after);
    }
    bin_push(fit, handle);
}

uint64_t segregated_fit_metadata_bytes(const struct segregated_fit *fit)
{
    uint64_t used = fit->node_count - fit->spare_fewest;

    return sizeof *fit + used * (sizeof *fit->nodes + sizeof *fit->spare);
}
