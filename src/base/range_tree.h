/*
 * Range tree: the address-ordered tiles below the range allocator.
 *
 * Place      base, private to range_allocator.c: others use the allocator.
 * Model      A B+-tree. A leaf holds up to 30 consecutive tiles as two arrays: where each starts,
 *            and what it is: the owner of a live range, or the record of a hole (a bit of `holes`
 *            says which). starts[count] is where the last tile ends, which is where the next leaf
 *            starts, so the size of tile i is always starts[i + 1] - starts[i]. Entries beyond are
 *            UINT64_MAX, so a search needs no count.
 *
 *            An inner node holds for each child its first start, exactly, and a bound for each
 *            tier of alignments: no hole below has more units behind its first multiple of 1, 16
 *            or 512. Bounds are raised at once and lowered lazily, by the searches that find them
 *            too high; each such visit is paid for by the change that made it stale.
 *
 *            A take splits a hole, and a release makes it whole (range_allocator.c). In one leaf:
 *
 *                before     | A |            hole h            | B |
 *                take C         |  low  |    C    |    high    |
 *                after      | A |   h   |    C    |     i      | B |   h shrinks, i is new
 *                release C  | A |            hole h            | B |   i goes into h
 *
 *            Where low or high is empty there is no such tile. A leaf without room for two more
 *            tiles shares with a sibling, or splits (range_tree_make_room()), before anything
 *            changes.
 * Layout     A leaf is 512 bytes in eight cache lines, four of starts and four of values, 16.5
 *            bytes a tile when full. A search of the starts touches those four lines, in parallel.
 * Errors     Only range_tree_init() and range_tree_make_room() can fail, for memory.
 */
#ifndef DRYDOCK_BASE_RANGE_TREE_H
#define DRYDOCK_BASE_RANGE_TREE_H

#include "base/node_pool.h"
#include "base/services.h"

#include <stdbool.h>
#include <stdint.h>

#define RANGE_LEAF_TILES     30
#define RANGE_INNER_CHILDREN 63

/* Alignments that have bounds of their own: 1, 16 and 512 units. */
#define RANGE_TIER_COUNT 3

/* A node that is not the root holds at least this many; siblings merge up to the second. */
#define RANGE_LEAF_MIN    8
#define RANGE_LEAF_MERGE  24
#define RANGE_INNER_MIN   16
#define RANGE_INNER_MERGE 50

/* A full leaf shares with a sibling that has at most this many, rather than split. */
#define RANGE_LEAF_SHARE 24

struct range_leaf;
struct range_inner;

/* A hole that is in a size bin of the allocator. */
struct range_hole {
    uint64_t start;
    uint64_t size;
    struct range_leaf *leaf;
    struct range_hole *next;  /* in the bin */
    struct range_hole **link; /* what points at this hole: a next, or the bin */
};

union range_value {
    uint64_t owner;
    struct range_hole *hole; /* NULL when there was no memory for a record */
};

struct range_leaf {
    union {
        uint64_t starts[RANGE_LEAF_TILES + 2]; /* the last word is not a start */
        struct {
            uint64_t starts_alone[RANGE_LEAF_TILES + 1];
            uint32_t holes; /* bit i: tile i is a hole */
            uint32_t count;
        };
    };
    union range_value values[RANGE_LEAF_TILES];
    struct range_inner *parent;
};

struct range_inner {
    union {
        uint64_t keys[RANGE_INNER_CHILDREN + 1]; /* the last word is not a key */
        struct {
            uint64_t keys_alone[RANGE_INNER_CHILDREN]; /* the first starts below each child */
            uint64_t count;
        };
    };
    void *children[RANGE_INNER_CHILDREN]; /* inner nodes, or leaves at level 1 */
    struct range_inner *parent;
    uint64_t largest[RANGE_INNER_CHILDREN][RANGE_TIER_COUNT]; /* bounds of children[i], in units */
};

struct range_tree {
    void *root;
    unsigned height; /* levels of inner nodes; 0 when the root is a leaf */
    struct node_pool leaves;
    struct node_pool inners;
};

/* Where a search ended: tile index of leaf, and the first unit to take. */
struct range_fit {
    struct range_leaf *leaf;
    unsigned index;
    uint64_t start;
};

/* What a search looks for: units in [low, high), from an aligned one on. */
struct range_query {
    uint64_t units;
    uint64_t alignment; /* power of two, in units */
    uint64_t low;
    uint64_t high;
};

/* One leaf with one hole, [first, end), that has no record yet. False without memory. */
bool range_tree_init(struct range_tree *tree, const struct base_services *services, uint64_t first,
                     uint64_t end);
void range_tree_fini(struct range_tree *tree);

/* How many of the keys 1 to 6 of a cache line are at most key. */
static inline unsigned range_line_slot(const uint64_t *line, uint64_t key)
{
    return (unsigned)(line[1] <= key) + (line[2] <= key) + (line[3] <= key) + (line[4] <= key) +
           (line[5] <= key) + (line[6] <= key);
}

/*
 * The last i of a sorted node with keys[i] <= key; keys[0] is taken to be. Unused keys are larger
 * than any key, and the word after the last is not a key. The first keys of the cache lines tell
 * the line, the line tells the rest: no branch, and no line is waited for twice.
 */
static inline unsigned range_leaf_slot(const uint64_t starts[RANGE_LEAF_TILES + 2], uint64_t key)
{
    unsigned base = 8u * ((starts[8] <= key) + (starts[16] <= key) + (starts[24] <= key));
    const uint64_t *line = starts + base;

    return base + range_line_slot(line, key) + (unsigned)((base != 24) & (line[7] <= key));
}

static inline unsigned range_inner_slot(const uint64_t keys[RANGE_INNER_CHILDREN + 1], uint64_t key)
{
    unsigned base =
        8u * ((keys[8] <= key) + (keys[16] <= key) + (keys[24] <= key) + (keys[32] <= key) +
              (keys[40] <= key) + (keys[48] <= key) + (keys[56] <= key));
    const uint64_t *line = keys + base;

    return base + range_line_slot(line, key) + (unsigned)((base != 56) & (line[7] <= key));
}

static inline struct range_leaf *range_tree_leaf(const struct range_tree *tree, uint64_t start)
{
    void *node = tree->root;

    for (unsigned level = tree->height; level; level--) {
        struct range_inner *inner = node;

        node = inner->children[range_inner_slot(inner->keys, start)];
    }
    return node;
}

static inline bool range_leaf_is_hole(const struct range_leaf *leaf, unsigned index)
{
    return leaf->holes >> index & 1;
}

static inline uint64_t range_leaf_size(const struct range_leaf *leaf, unsigned index)
{
    return leaf->starts[index + 1] - leaf->starts[index];
}

/* The leaf before or after in address order, or NULL. */
struct range_leaf *range_tree_prev(const struct range_leaf *leaf);
struct range_leaf *range_tree_next(const struct range_leaf *leaf);

/*
 * Make room for two more tiles in the leaf of the fit, which follows its tile: share with a
 * sibling, or else split. False, with nothing changed, when a split finds no memory.
 */
bool range_tree_make_room(struct range_tree *tree, struct range_fit *fit);

/*
 * Cut the tile before index in two: the part from start on becomes tile index. The leaf has room,
 * and index is not 0. A hole's record, if any, is the caller's to fill.
 */
void range_leaf_insert(struct range_leaf *leaf, unsigned index, uint64_t start,
                       union range_value value, bool is_hole);

/*
 * Remove a tile that was given to the one before it in the address order, which may be in the
 * leaf before. Leaves may merge: no leaf pointer or index of the caller survives.
 */
void range_tree_remove(struct range_tree *tree, struct range_leaf *leaf, unsigned index);

/* The leaf has a hole [start, end) now: raise the bounds. */
void range_tree_raise(struct range_leaf *leaf, uint64_t start, uint64_t end);

/* The lowest or the highest start that satisfies the query; false when there is none. */
bool range_tree_find_lowest(struct range_tree *tree, const struct range_query *query,
                            struct range_fit *out_fit);
bool range_tree_find_highest(struct range_tree *tree, const struct range_query *query,
                             struct range_fit *out_fit);

uint64_t range_tree_largest(struct range_tree *tree);

/* NULL, or what is wrong with the nodes. Bins and totals are the allocator's to check. */
const char *range_tree_check(const struct range_tree *tree, uint64_t first, uint64_t end);

#endif
