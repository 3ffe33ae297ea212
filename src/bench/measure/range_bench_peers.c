#include "bench/measure/range_bench_peers.h"

#include "base/bits.h"

#include <stdlib.h>
#include <string.h>

struct tile {
    uint64_t offset;
    uint64_t size;
    bool is_free;
};

struct first_fit {
    uint64_t count;
    uint64_t capacity;
    struct tile tiles[];
};

struct first_fit *first_fit_create(uint64_t size, uint64_t ranges_max)
{
    uint64_t capacity = 2 * ranges_max + 2;
    struct first_fit *fit = malloc(sizeof *fit + capacity * sizeof fit->tiles[0]);

    if (!fit)
        return NULL;
    fit->count = 1;
    fit->capacity = capacity;
    fit->tiles[0] = (struct tile){0, size, true};
    return fit;
}

void first_fit_destroy(struct first_fit *fit)
{
    free(fit);
}

bool first_fit_take(struct first_fit *fit, uint64_t size, uint64_t *out_offset)
{
    for (uint64_t i = 0; i < fit->count; i++) {
        struct tile *tile = &fit->tiles[i];

        if (!tile->is_free || tile->size < size)
            continue;
        *out_offset = tile->offset;
        if (tile->size > size) {
            if (fit->count == fit->capacity)
                return false;
            memmove(tile + 1, tile, (fit->count - i) * sizeof *tile);
            fit->count++;
            tile[1].offset += size;
            tile[1].size -= size;
        }
        tile->size = size;
        tile->is_free = false;
        return true;
    }
    return false;
}

static void merge_with_next(struct first_fit *fit, uint64_t i)
{
    fit->tiles[i].size += fit->tiles[i + 1].size;
    memmove(&fit->tiles[i + 1], &fit->tiles[i + 2], (fit->count - i - 2) * sizeof fit->tiles[0]);
    fit->count--;
}

void first_fit_release(struct first_fit *fit, uint64_t offset)
{
    uint64_t low = 0, high = fit->count;

    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (fit->tiles[middle].offset <= offset)
            low = middle;
        else
            high = middle;
    }
    fit->tiles[low].is_free = true;
    if (low + 1 < fit->count && fit->tiles[low + 1].is_free)
        merge_with_next(fit, low);
    if (low > 0 && fit->tiles[low - 1].is_free)
        merge_with_next(fit, low - 1);
}

uint64_t first_fit_metadata_bytes(const struct first_fit *fit)
{
    return sizeof *fit + fit->count * sizeof fit->tiles[0];
}

#define NONE        UINT32_MAX
#define STEPS_LOG2  3
#define LEVEL_COUNT 64
#define STEP_COUNT  (1 << STEPS_LOG2)

struct node {
    uint64_t offset;
    uint64_t size;
    uint32_t before; /* neighbours by address */
    uint32_t after;
    uint32_t prev; /* in the bin */
    uint32_t next;
    bool is_free;
};

struct segregated_fit {
    uint64_t level_bits;
    uint8_t step_bits[LEVEL_COUNT];
    uint32_t bins[LEVEL_COUNT * STEP_COUNT];
    uint32_t spare;
    uint32_t used;
    uint32_t used_peak;
    struct node nodes[];
};

static unsigned bin_below(uint64_t size)
{
    unsigned exponent = log2_floor_u64(size);

    if (exponent < STEPS_LOG2)
        return (unsigned)size;
    exponent -= STEPS_LOG2;
    return (exponent << STEPS_LOG2) + (unsigned)(size >> exponent);
}

static unsigned bin_above(uint64_t size)
{
    unsigned exponent = log2_floor_u64(size);

    if (exponent > STEPS_LOG2)
        size += (UINT64_C(1) << (exponent - STEPS_LOG2)) - 1;
    return bin_below(size);
}

static void bin_push(struct segregated_fit *fit, uint32_t index)
{
    struct node *node = &fit->nodes[index];
    unsigned bin = bin_below(node->size);

    node->is_free = true;
    node->prev = NONE;
    node->next = fit->bins[bin];
    if (node->next != NONE)
        fit->nodes[node->next].prev = index;
    fit->bins[bin] = index;
    fit->step_bits[bin / STEP_COUNT] |= (uint8_t)(1u << bin % STEP_COUNT);
    fit->level_bits |= UINT64_C(1) << bin / STEP_COUNT;
}

static void bin_unlink(struct segregated_fit *fit, uint32_t index)
{
    struct node *node = &fit->nodes[index];

    node->is_free = false;
    if (node->next != NONE)
        fit->nodes[node->next].prev = node->prev;
    if (node->prev != NONE) {
        fit->nodes[node->prev].next = node->next;
        return;
    }

    unsigned bin = bin_below(node->size);

    fit->bins[bin] = node->next;
    if (node->next != NONE)
        return;
    fit->step_bits[bin / STEP_COUNT] &= (uint8_t) ~(1u << bin % STEP_COUNT);
    if (!fit->step_bits[bin / STEP_COUNT])
        fit->level_bits &= ~(UINT64_C(1) << bin / STEP_COUNT);
}

static uint32_t node_get(struct segregated_fit *fit)
{
    uint32_t index = fit->spare;

    fit->spare = fit->nodes[index].next;
    fit->used++;
    if (fit->used_peak < fit->used)
        fit->used_peak = fit->used;
    return index;
}

static void node_put(struct segregated_fit *fit, uint32_t index)
{
    fit->nodes[index].next = fit->spare;
    fit->spare = index;
    fit->used--;
}

struct segregated_fit *segregated_fit_create(uint64_t size, uint64_t ranges_max)
{
    uint32_t capacity = (uint32_t)(2 * ranges_max + 2);
    struct segregated_fit *fit = calloc(1, sizeof *fit + capacity * sizeof fit->nodes[0]);
    uint32_t first;

    if (!fit)
        return NULL;
    memset(fit->bins, 0xff, sizeof fit->bins);
    for (uint32_t i = 0; i < capacity; i++)
        fit->nodes[i].next = i + 1;
    first = node_get(fit);
    fit->nodes[first] = (struct node){.size = size, .before = NONE, .after = NONE};
    bin_push(fit, first);
    return fit;
}

void segregated_fit_destroy(struct segregated_fit *fit)
{
    free(fit);
}

bool segregated_fit_take(struct segregated_fit *fit, uint64_t size, uint32_t *out_handle)
{
    unsigned bin = bin_above(size);
    unsigned level = bin / STEP_COUNT;
    unsigned steps = fit->step_bits[level] & (0xffu << bin % STEP_COUNT);
    uint32_t index;
    struct node *node;

    if (!steps) {
        uint64_t levels = fit->level_bits & ~low_mask_u64(level + 1);

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
    return sizeof *fit + fit->used_peak * sizeof fit->nodes[0];
}
