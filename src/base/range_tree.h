/*
 * Range tree: finds the tiles of a range allocator by address.
 *
 * Place      base, private to range_allocator.c: others use the allocator.
 * Model      The allocator's tiles are nodes in a table, linked in address order. The tree is an
 *            index over them: a B+-tree whose leaves name up to 24 consecutive tiles. It is made
 *            when it is first needed, and kept up to date from then on. What it knows can be made
 *            again at any time: without memory for a change it is dropped.
 *
 *            A tile knows its leaf (leaf_of), so that a take or a release beside a known tile needs
 *            no descent. Only a leaf that comes or goes is told to the nodes above.
 *
 *            An inner node holds for each child its first start, exactly, and a bound for each tier
 *            of alignments: no hole below has more units behind its first multiple of 1, 16 or 512.
 *            Bounds are raised at once and lowered lazily, by the searches that find them too high;
 *            each such visit is paid for by the change that made it stale. A leaf has its bounds,
 *            too: a hole that is no larger is no news above.
 * Layout     Leaves of two cache lines. Leaves and inner nodes are numbers in two tables that grow
 *            by a quarter; 8 to 10 bytes a tile.
 * Errors     Only range_tree_make() and range_tree_make_room() can fail, for memory.
 */
#ifndef DRYDOCK_BASE_RANGE_TREE_H
#define DRYDOCK_BASE_RANGE_TREE_H

#include "base/services.h"

#include <stdbool.h>
#include <stdint.h>

#define RANGE_LEAF_TILES     24
#define RANGE_INNER_CHILDREN 63

/* Alignments that have bounds of their own: 1, 16 and 512 units. */
#define RANGE_TIER_COUNT 3

#define RANGE_NONE UINT32_MAX /* no tile, leaf or inner node */

/* A tile: a live range or a hole. */
struct range_node {
    uint64_t start;
    uint64_t extent; /* range_extent(): written as a whole, for parts would be waited for */
    uint32_t before; /* the neighbours by address */
    uint32_t after;
    union {
        struct {
            uint32_t prev; /* a hole: in its size bin */
            uint32_t next; /* or a range that is kept: the one before it */
        };
        uint64_t owner; /* a live range */
    };
};

/* An extent: a length of up to 2^54 - 1 units, and what is in it. */
#define RANGE_UNITS_BITS 54
#define RANGE_SLACK_BITS 9
#define RANGE_FREE       (UINT64_C(1) << 63)
/* Released, and no hole yet. The tree takes it for live. */
#define RANGE_KEPT (UINT64_C(0x3ff) << RANGE_UNITS_BITS)

/* A live range, of whose units the last `slack` ones nobody has taken. */
static inline uint64_t range_live(uint64_t units, uint64_t slack)
{
    return units | slack << RANGE_UNITS_BITS;
}

/* A hole, and the size bin (below 511) that it is in, where a live range has its slack. */
static inline uint64_t range_hole(uint64_t units, unsigned bin)
{
    return units | (uint64_t)bin << RANGE_UNITS_BITS | RANGE_FREE;
}

static inline bool range_is_live(const struct range_node *node)
{
    return node->extent < RANGE_FREE;
}

static inline uint64_t range_units(const struct range_node *node)
{
    return node->extent & ((UINT64_C(1) << RANGE_UNITS_BITS) - 1);
}

static inline uint64_t range_slack(const struct range_node *node)
{
    return node->extent >> RANGE_UNITS_BITS & ((UINT64_C(1) << RANGE_SLACK_BITS) - 1);
}

static inline unsigned range_bin(const struct range_node *node)
{
    return (unsigned)range_slack(node);
}

static inline bool range_is_free(const struct range_node *node)
{
    return node->extent >= RANGE_FREE && node->extent < RANGE_KEPT;
}

static inline uint64_t range_end(const struct range_node *node)
{
    return node->start + range_units(node);
}

struct range_leaf {
    uint32_t tiles[RANGE_LEAF_TILES]; /* in address order; RANGE_NONE beyond count */
    uint64_t first;                   /* the start of tile 0 */
    uint32_t holes;                   /* bit i: tile i is a hole */
    uint32_t count;
    uint32_t parent;
    uint32_t largest[RANGE_TIER_COUNT]; /* bounds as in its parent, or lower */
};

struct range_inner {
    union {
        uint64_t keys[RANGE_INNER_CHILDREN + 1]; /* the last word is not a key */
        struct {
            uint64_t keys_alone[RANGE_INNER_CHILDREN]; /* the first starts below each child */
            uint64_t count;
        };
    };
    uint32_t children[RANGE_INNER_CHILDREN]; /* inner nodes, or leaves at level 1 */
    uint32_t parent;
    uint64_t largest[RANGE_TIER_COUNT][RANGE_INNER_CHILDREN]; /* bounds, in units */
};

/* Items of one size under small numbers. Memory is moved when the table grows. */
struct range_table {
    void *items;
    void *memory; /* items, before it was aligned */
    size_t item_bytes;
    size_t bytes; /* of memory */
    uint32_t count;
    uint32_t spare; /* the first of the spare items, each of which begins with the next */
    uint32_t spare_count;
};

struct range_tree {
    const struct base_services *services;
    struct range_table leaves;
    struct range_table inners;
    struct range_table leaf_of; /* by tile: a number of a leaf (uint32_t) */
    uint32_t root;
    unsigned height; /* levels of inner nodes; 0 when the root is a leaf */
    bool is_made;
};

/* Where a search ended: the hole, and the first unit to take. */
struct range_fit {
    uint32_t tile;
    uint64_t start;
};

/* A search for aligned units in [low, high); without a bound, high is better UINT64_MAX. */
struct range_query {
    uint64_t units;
    uint64_t alignment; /* power of two, in units */
    uint64_t low;
    uint64_t high;
};

/* ---- Tables ---------------------------------------------------------------------------------- */

void range_table_init(struct range_table *table, size_t item_bytes);
void range_table_fini(struct range_table *table, const struct base_services *services);

/* Make at least so many spare items; false, with nothing changed, without memory. */
bool range_table_reserve(struct range_table *table, const struct base_services *services,
                         uint32_t spare_count);

/* A spare item, which there is. */
static inline uint32_t range_table_get(struct range_table *table)
{
    uint32_t number = table->spare;

    table->spare = *(uint32_t *)((uint8_t *)table->items + number * table->item_bytes);
    table->spare_count--;
    return number;
}

static inline void range_table_put(struct range_table *table, uint32_t number)
{
    *(uint32_t *)((uint8_t *)table->items + number * table->item_bytes) = table->spare;
    table->spare = number;
    table->spare_count++;
}

/* ---- Tiers ----------------------------------------------------------------------------------- */

/* The last tier whose alignment is at most this one. */
unsigned range_tier_of(uint64_t alignment);

extern const uint64_t range_tier_alignments[RANGE_TIER_COUNT];

/* How much of a tile is left behind its first multiple of mask + 1. */
static inline uint64_t range_units_behind(uint64_t start, uint64_t units, uint64_t mask)
{
    uint64_t padding = (0 - start) & mask;

    return units > padding ? units - padding : 0;
}

/* ---- The tree -------------------------------------------------------------------------------- */

void range_tree_init(struct range_tree *tree, const struct base_services *services);

/* Over the tiles from first on, to the one whose `after` is end. False without memory. */
bool range_tree_make(struct range_tree *tree, const struct range_node *nodes, uint32_t node_count,
                     uint32_t first, uint32_t end);

/* The tree is not made any more; its memory goes. Fine on one that was never made. */
void range_tree_drop(struct range_tree *tree);

/*
 * Make room for two tiles more beside this one, with the table of nodes as large as it is now.
 * False, with the tree as it was, without memory.
 */
bool range_tree_make_room(struct range_tree *tree, const struct range_node *nodes,
                          uint32_t node_count, uint32_t tile);

/*
 * A tile that was cut off the end of another one. There is room. Bounds stay: what is cut off a
 * hole is no larger than the hole was.
 */
void range_tree_insert_after(struct range_tree *tree, const struct range_node *nodes, uint32_t tile,
                             uint32_t added);

/* The same for a tile that was cut off the beginning of another one. */
void range_tree_insert_before(struct range_tree *tree, const struct range_node *nodes,
                              uint32_t tile, uint32_t added);

/* The kind of a tile, or the extent of a hole, has changed: marks it, and raises bounds. */
void range_tree_update(struct range_tree *tree, const struct range_node *nodes, uint32_t tile);

/*
 * The tile has taken over its neighbour `gone`, which the list does not have any more, while its
 * node is still as it was; the tile has its new extent already.
 */
void range_tree_absorb(struct range_tree *tree, const struct range_node *nodes, uint32_t tile,
                       uint32_t gone);

/* The tile that holds the unit, which is in the space. */
uint32_t range_tree_find(const struct range_tree *tree, const struct range_node *nodes,
                         uint64_t unit);

/* The lowest or the highest start that satisfies the query; false when there is none. */
bool range_tree_find_lowest(struct range_tree *tree, const struct range_node *nodes,
                            const struct range_query *query, struct range_fit *out_fit);
bool range_tree_find_highest(struct range_tree *tree, const struct range_node *nodes,
                             const struct range_query *query, struct range_fit *out_fit);

/* Whether the hole satisfies the query, and where its lowest or highest fit starts. */
bool range_query_fits(const struct range_query *query, const struct range_node *hole,
                      bool is_highest, uint64_t *out_start);

uint64_t range_tree_largest(struct range_tree *tree, const struct range_node *nodes);

size_t range_tree_bytes(const struct range_tree *tree);

/* NULL, or what is wrong with the tree over the list of tiles. */
const char *range_tree_check(const struct range_tree *tree, const struct range_node *nodes,
                             uint32_t first, uint32_t end);

#endif
