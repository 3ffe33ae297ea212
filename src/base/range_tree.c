#include "base/range_tree.h"

#include "base/assert.h"
#include "base/bits.h"

#include <string.h>

/* A node that is not the root and has fewer merges with a sibling, where both have few enough. */
#define LEAF_MIN    6
#define LEAF_MERGE  18
#define INNER_MIN   16
#define INNER_MERGE 50

/* Room that a split leaves behind in a leaf that grows at its end. */
#define LEAF_ROOM 6

#define HEIGHT_MAX 12

#define TABLE_ALIGNMENT 64
#define TABLE_FIRST     4 /* items of a table that grows for the first time */
#define TABLE_GROWTH    4 /* it grows by this part of itself */

_Static_assert(RANGE_LEAF_TILES <= 32, "the hole bits of a leaf are 32");
_Static_assert(sizeof(struct range_leaf) == 128, "two cache lines");
_Static_assert(sizeof(struct range_node) == 32, "two tiles a cache line");
_Static_assert(offsetof(struct range_inner, count) == 504, "keys and count fill eight cache lines");
_Static_assert(LEAF_MERGE + 2 <= RANGE_LEAF_TILES, "a merged leaf has room");
_Static_assert(INNER_MERGE < RANGE_INNER_CHILDREN, "so has a merged inner node");

/* ---- Tables ---------------------------------------------------------------------------------- */

void range_table_init(struct range_table *table, size_t item_bytes)
{
    *table = (struct range_table){.item_bytes = item_bytes, .spare = RANGE_NONE};
}

void range_table_fini(struct range_table *table, const struct base_services *services)
{
    if (table->memory)
        services->free(services->context, table->memory, table->bytes);
    range_table_init(table, table->item_bytes);
}

/* The first address in memory, of size bytes more, that is aligned. */
static void *align_memory(void *memory)
{
    return (void *)(uintptr_t)align_up((uintptr_t)memory, TABLE_ALIGNMENT);
}

static bool table_grow(struct range_table *table, const struct base_services *services,
                       uint32_t wanted)
{
    uint64_t count = (uint64_t)table->count + table->count / TABLE_GROWTH;
    struct range_table grown = *table;

    count = max_u64(count, max_u64(wanted, TABLE_FIRST));
    if (count > INT32_MAX || count > (SIZE_MAX - TABLE_ALIGNMENT) / table->item_bytes)
        return false;
    /* Not base_alloc(): what is spare needs no zeroes. */
    grown.bytes = (size_t)count * table->item_bytes + TABLE_ALIGNMENT - 1;
    grown.memory = services->allocate(services->context, grown.bytes);
    if (!grown.memory)
        return false;
    grown.items = align_memory(grown.memory);
    if (table->memory) {
        memcpy(grown.items, table->items, table->count * table->item_bytes);
        services->free(services->context, table->memory, table->bytes);
    }
    /* Last first, so that items are handed out in the order of their addresses. */
    for (grown.count = (uint32_t)count; count > table->count; count--)
        range_table_put(&grown, (uint32_t)count - 1);
    *table = grown;
    return true;
}

bool range_table_reserve(struct range_table *table, const struct base_services *services,
                         uint32_t spare_count)
{
    return table->spare_count >= spare_count ||
           table_grow(table, services, table->count - table->spare_count + spare_count);
}

/* ---- Nodes by their numbers ------------------------------------------------------------------ */

static struct range_leaf *leaf_at(const struct range_tree *tree, uint32_t number)
{
    return (struct range_leaf *)tree->leaves.items + number;
}

static struct range_inner *inner_at(const struct range_tree *tree, uint32_t number)
{
    return (struct range_inner *)tree->inners.items + number;
}

static uint32_t leaf_of(const struct range_tree *tree, uint32_t tile)
{
    return ((const uint32_t *)tree->leaf_of.items)[tile];
}

static void set_leaf_of(struct range_tree *tree, uint32_t tile, uint32_t leaf)
{
    ((uint32_t *)tree->leaf_of.items)[tile] = leaf;
}

/* No branch: where in its leaf a tile is can be foretold by nobody. */
static unsigned index_of(const struct range_leaf *leaf, uint32_t tile)
{
    unsigned index = 0;

    for (unsigned i = 0; i < RANGE_LEAF_TILES; i++)
        index += leaf->tiles[i] == tile ? i : 0;
    return index;
}

/* How many of the keys 1 to 6 of a cache line are at most key. */
static unsigned line_slot(const uint64_t *line, uint64_t key)
{
    return (unsigned)(line[1] <= key) + (line[2] <= key) + (line[3] <= key) + (line[4] <= key) +
           (line[5] <= key) + (line[6] <= key);
}

/*
 * The last i with keys[i] <= key; keys[0] is taken to be. Unused keys are larger than any key. The
 * first keys of the cache lines tell the line, the line tells the rest: no branch, and no line is
 * waited for twice.
 */
static unsigned slot_of(const struct range_inner *inner, uint64_t key)
{
    const uint64_t *keys = inner->keys;
    unsigned base =
        8u * ((keys[8] <= key) + (keys[16] <= key) + (keys[24] <= key) + (keys[32] <= key) +
              (keys[40] <= key) + (keys[48] <= key) + (keys[56] <= key));
    const uint64_t *line = keys + base;

    return base + line_slot(line, key) + (unsigned)((base != 56) & (line[7] <= key));
}

static uint32_t parent_of(const struct range_tree *tree, uint32_t number, unsigned level)
{
    return level ? inner_at(tree, number)->parent : leaf_at(tree, number)->parent;
}

static void set_parent(struct range_tree *tree, uint32_t number, unsigned level, uint32_t parent)
{
    if (level)
        inner_at(tree, number)->parent = parent;
    else
        leaf_at(tree, number)->parent = parent;
}

static uint64_t first_start(const struct range_tree *tree, uint32_t number, unsigned level)
{
    return level ? inner_at(tree, number)->keys[0] : leaf_at(tree, number)->first;
}

/* ---- Bounds ---------------------------------------------------------------------------------- */

const uint64_t range_tier_alignments[RANGE_TIER_COUNT] = {1, 16, 512};

unsigned range_tier_of(uint64_t alignment)
{
    unsigned tier = RANGE_TIER_COUNT - 1;

    while (range_tier_alignments[tier] > alignment)
        tier--;
    return tier;
}

static uint64_t tier_units(const struct range_node *node, unsigned tier)
{
    return range_units_behind(node->start, range_units(node), range_tier_alignments[tier] - 1);
}

/* Level 0 is that of the leaves. */
static uint64_t node_largest(const struct range_tree *tree, const struct range_node *nodes,
                             uint32_t number, unsigned level, unsigned tier)
{
    uint64_t largest = 0;

    if (level) {
        const struct range_inner *inner = inner_at(tree, number);

        for (unsigned i = 0; i < inner->count; i++)
            largest = max_u64(largest, inner->largest[tier][i]);
    } else {
        const struct range_leaf *leaf = leaf_at(tree, number);

        for (uint32_t left = leaf->holes; left; left &= left - 1)
            largest = max_u64(largest, tier_units(&nodes[leaf->tiles[ctz_u64(left)]], tier));
    }
    return largest;
}

static void set_bound(struct range_tree *tree, const struct range_node *nodes, uint32_t parent,
                      unsigned slot, unsigned level, unsigned tier)
{
    struct range_inner *inner = inner_at(tree, parent);
    uint32_t child = inner->children[slot];
    uint64_t largest = node_largest(tree, nodes, child, level, tier);

    inner->largest[tier][slot] = largest;
    if (level == 0)
        leaf_at(tree, child)->largest[tier] = (uint32_t)min_u64(largest, UINT32_MAX);
}

/* Set the bounds of a child, of this level, to what it holds. */
static void set_bounds(struct range_tree *tree, const struct range_node *nodes, uint32_t parent,
                       unsigned slot, unsigned level)
{
    for (unsigned tier = 0; tier < RANGE_TIER_COUNT; tier++)
        set_bound(tree, nodes, parent, slot, level, tier);
}

void range_tree_update(struct range_tree *tree, const struct range_node *nodes, uint32_t tile)
{
    struct range_leaf *leaf = leaf_at(tree, leaf_of(tree, tile));
    const struct range_node *node = &nodes[tile];
    uint32_t bit = UINT32_C(1) << index_of(leaf, tile);
    uint64_t sizes[RANGE_TIER_COUNT];
    uint32_t parent = leaf->parent;
    bool is_raised = false;

    if (!range_is_free(node)) {
        leaf->holes &= ~bit;
        return;
    }
    leaf->holes |= bit;
    for (unsigned tier = 0; tier < RANGE_TIER_COUNT; tier++) {
        sizes[tier] = tier_units(node, tier);
        if (sizes[tier] > leaf->largest[tier]) {
            leaf->largest[tier] = (uint32_t)min_u64(sizes[tier], UINT32_MAX);
            is_raised = true;
        }
    }
    while (parent != RANGE_NONE && is_raised) {
        struct range_inner *inner = inner_at(tree, parent);
        unsigned slot = slot_of(inner, leaf->first);

        is_raised = false;
        for (unsigned tier = 0; tier < RANGE_TIER_COUNT; tier++) {
            if (inner->largest[tier][slot] < sizes[tier]) {
                inner->largest[tier][slot] = sizes[tier];
                is_raised = true;
            }
        }
        parent = inner->parent;
    }
}

/* ---- Growing --------------------------------------------------------------------------------- */

static uint32_t new_leaf(struct range_tree *tree)
{
    uint32_t number = range_table_get(&tree->leaves);
    struct range_leaf *leaf = leaf_at(tree, number);

    memset(leaf, 0, sizeof *leaf);
    memset(leaf->tiles, 0xff, sizeof leaf->tiles);
    leaf->parent = RANGE_NONE;
    return number;
}

static void clear_keys(struct range_inner *inner, unsigned from)
{
    for (unsigned i = from; i < RANGE_INNER_CHILDREN; i++)
        inner->keys[i] = UINT64_MAX;
}

static uint32_t new_inner(struct range_tree *tree)
{
    uint32_t number = range_table_get(&tree->inners);
    struct range_inner *inner = inner_at(tree, number);

    memset(inner, 0, sizeof *inner);
    clear_keys(inner, 0);
    inner->parent = RANGE_NONE;
    return number;
}

/* Move tiles [from, from + count) of leaf `right` to the end of leaf `left`. */
static void move_tiles(struct range_tree *tree, uint32_t left, uint32_t right, unsigned from,
                       unsigned count)
{
    struct range_leaf *to = leaf_at(tree, left);
    struct range_leaf *source = leaf_at(tree, right);

    memcpy(to->tiles + to->count, source->tiles + from, count * sizeof *to->tiles);
    to->holes |= (source->holes >> from & (uint32_t)low_mask_u64(count)) << to->count;
    for (unsigned i = 0; i < count; i++) {
        set_leaf_of(tree, source->tiles[from + i], left);
        source->tiles[from + i] = RANGE_NONE;
    }
    source->holes &= (uint32_t)low_mask_u64(from);
    to->count += count;
    source->count -= count;
}

/* Move children [first, first + count) of `from` to `to`, at index `at`; they are of this level. */
static void move_children(struct range_tree *tree, uint32_t to, unsigned at, uint32_t from,
                          unsigned first, unsigned count, unsigned level)
{
    struct range_inner *target = inner_at(tree, to);
    const struct range_inner *source = inner_at(tree, from);

    memmove(target->keys + at, source->keys + first, count * sizeof *target->keys);
    memmove(target->children + at, source->children + first, count * sizeof *target->children);
    for (unsigned tier = 0; tier < RANGE_TIER_COUNT; tier++)
        memmove(target->largest[tier] + at, source->largest[tier] + first,
                count * sizeof *target->largest[tier]);
    if (to != from) {
        for (unsigned i = 0; i < count; i++)
            set_parent(tree, target->children[at + i], level, to);
    }
}

/* Node `right` was split off node `left`, both at this level: the nodes above are to know. */
static void add_sibling(struct range_tree *tree, const struct range_node *nodes, uint32_t left,
                        uint32_t right, unsigned level)
{
    uint32_t parent = parent_of(tree, left, level);
    uint64_t key = first_start(tree, right, level);
    struct range_inner *inner;
    unsigned slot;

    if (parent == RANGE_NONE) {
        parent = new_inner(tree);
        inner = inner_at(tree, parent);
        inner->keys[0] = first_start(tree, left, level);
        inner->children[0] = left;
        inner->count = 1;
        set_parent(tree, left, level, parent);
        tree->root = parent;
        tree->height++;
    } else if (inner_at(tree, parent)->count == RANGE_INNER_CHILDREN) {
        uint32_t upper = new_inner(tree);
        unsigned kept = RANGE_INNER_CHILDREN / 2;

        move_children(tree, upper, 0, parent, kept, RANGE_INNER_CHILDREN - kept, level);
        inner_at(tree, upper)->count = RANGE_INNER_CHILDREN - kept;
        inner_at(tree, parent)->count = kept;
        clear_keys(inner_at(tree, parent), kept);
        add_sibling(tree, nodes, parent, upper, level + 1);
        if (key >= inner_at(tree, upper)->keys[0])
            parent = upper;
    }

    inner = inner_at(tree, parent);
    slot = slot_of(inner, key);
    move_children(tree, parent, slot + 2, parent, slot + 1, (unsigned)inner->count - slot - 1,
                  level);
    inner->keys[slot + 1] = key;
    inner->children[slot + 1] = right;
    inner->count++;
    set_parent(tree, right, level, parent);
    set_bounds(tree, nodes, parent, slot, level);
    set_bounds(tree, nodes, parent, slot + 1, level);
}

/* What a split needs at most: a leaf, and an inner node for each full level above, or a new root.
 */
static bool reserve_split(struct range_tree *tree)
{
    return range_table_reserve(&tree->leaves, tree->services, 1) &&
           range_table_reserve(&tree->inners, tree->services, tree->height + 1);
}

/* A number for each node of the allocator's table. */
static bool reserve_leaf_of(struct range_tree *tree, uint32_t node_count)
{
    struct range_table *table = &tree->leaf_of;

    return table->count >= node_count ||
           range_table_reserve(table, tree->services,
                               table->spare_count + node_count - table->count);
}

bool range_tree_make_room(struct range_tree *tree, const struct range_node *nodes,
                          uint32_t node_count, uint32_t tile)
{
    uint32_t left = leaf_of(tree, tile);
    const struct range_leaf *leaf = leaf_at(tree, left);
    unsigned kept = leaf->count / 2;
    uint32_t right;

    if (!reserve_leaf_of(tree, node_count))
        return false;
    if (leaf->count + 2 <= RANGE_LEAF_TILES)
        return true;
    if (!reserve_split(tree))
        return false;

    leaf = leaf_at(tree, left);
    /* A cut at the end is most likely one of many, going up: leave little room behind. */
    if (leaf->tiles[leaf->count - 1] == tile)
        kept = leaf->count - LEAF_ROOM;
    right = new_leaf(tree);
    move_tiles(tree, right, left, kept, leaf_at(tree, left)->count - kept);
    leaf_at(tree, right)->first = nodes[leaf_at(tree, right)->tiles[0]].start;
    add_sibling(tree, nodes, left, right, 0);
    return true;
}

/* In the leaf, at the index. */
static void insert_tile(struct range_tree *tree, const struct range_node *nodes, uint32_t number,
                        unsigned index, uint32_t added)
{
    struct range_leaf *leaf = leaf_at(tree, number);
    uint32_t below = (uint32_t)low_mask_u64(index);

    ASSERT(leaf->count < RANGE_LEAF_TILES);
    memmove(leaf->tiles + index + 1, leaf->tiles + index,
            (leaf->count - index) * sizeof *leaf->tiles);
    leaf->tiles[index] = added;
    leaf->holes = (leaf->holes & below) | (leaf->holes & ~below) << 1 |
                  (uint32_t)range_is_free(&nodes[added]) << index;
    leaf->count++;
    set_leaf_of(tree, added, number);
}

void range_tree_insert_after(struct range_tree *tree, const struct range_node *nodes, uint32_t tile,
                             uint32_t added)
{
    uint32_t number = leaf_of(tree, tile);

    insert_tile(tree, nodes, number, index_of(leaf_at(tree, number), tile) + 1, added);
}

/* The added tile has the start that the other one had: no first start changes. */
void range_tree_insert_before(struct range_tree *tree, const struct range_node *nodes,
                              uint32_t tile, uint32_t added)
{
    uint32_t number = leaf_of(tree, tile);

    insert_tile(tree, nodes, number, index_of(leaf_at(tree, number), tile), added);
}

/* ---- Shrinking ------------------------------------------------------------------------------- */

/* The first start below the leaf goes from its old value to start. */
static void move_first_start(struct range_tree *tree, uint32_t number, uint64_t start)
{
    struct range_leaf *leaf = leaf_at(tree, number);
    uint64_t old = leaf->first;
    uint32_t parent = leaf->parent;

    leaf->first = start;
    while (parent != RANGE_NONE) {
        struct range_inner *inner = inner_at(tree, parent);
        unsigned slot = slot_of(inner, old);

        inner->keys[slot] = start;
        if (slot != 0)
            return;
        parent = inner->parent;
    }
}

static void remove_child(struct range_tree *tree, const struct range_node *nodes, uint32_t parent,
                         unsigned slot, unsigned level);

/* An inner node of this level has lost a child. */
static void fix_inner(struct range_tree *tree, const struct range_node *nodes, uint32_t number,
                      unsigned level)
{
    struct range_inner *inner = inner_at(tree, number);
    uint32_t parent = inner->parent;
    unsigned slot;

    if (parent == RANGE_NONE) {
        for (; level && inner_at(tree, tree->root)->count == 1; level--) {
            number = tree->root;
            tree->root = inner_at(tree, number)->children[0];
            tree->height--;
            set_parent(tree, tree->root, level - 1, RANGE_NONE);
            range_table_put(&tree->inners, number);
        }
        return;
    }
    slot = slot_of(inner_at(tree, parent), inner->keys[0]);
    if (inner->count == 0) {
        range_table_put(&tree->inners, number);
        remove_child(tree, nodes, parent, slot, level);
        return;
    }
    if (inner->count >= INNER_MIN || inner_at(tree, parent)->count == 1)
        return;
    if (slot + 1 == inner_at(tree, parent)->count)
        slot--;

    uint32_t left = inner_at(tree, parent)->children[slot];
    uint32_t right = inner_at(tree, parent)->children[slot + 1];
    struct range_inner *to = inner_at(tree, left);
    unsigned moved = (unsigned)inner_at(tree, right)->count;

    if (to->count + moved > INNER_MERGE)
        return;
    move_children(tree, left, (unsigned)to->count, right, 0, moved, level - 1);
    to->count += moved;
    set_bounds(tree, nodes, parent, slot, level);
    range_table_put(&tree->inners, right);
    remove_child(tree, nodes, parent, slot + 1, level);
}

/* The child of this level has gone. The first start of the parent may be another one now. */
static void remove_child(struct range_tree *tree, const struct range_node *nodes, uint32_t parent,
                         unsigned slot, unsigned level)
{
    struct range_inner *inner = inner_at(tree, parent);
    uint64_t old = inner->keys[0];

    move_children(tree, parent, slot, parent, slot + 1, (unsigned)inner->count - slot - 1, level);
    inner->count--;
    inner->keys[inner->count] = UINT64_MAX;
    if (slot == 0 && inner->count) {
        uint64_t start = inner->keys[0];

        for (uint32_t up = inner->parent; up != RANGE_NONE; up = inner_at(tree, up)->parent) {
            unsigned above = slot_of(inner_at(tree, up), old);

            inner_at(tree, up)->keys[above] = start;
            if (above != 0)
                break;
        }
    } else if (slot == 0) {
        inner->keys[0] = old; /* by which the nodes above find it */
    }
    fix_inner(tree, nodes, parent, level + 1);
}

/* A leaf has lost a tile. */
static void fix_leaf(struct range_tree *tree, const struct range_node *nodes, uint32_t number)
{
    const struct range_leaf *leaf = leaf_at(tree, number);
    uint32_t parent = leaf->parent;
    const struct range_inner *inner;
    unsigned slot;

    if (leaf->count >= LEAF_MIN || parent == RANGE_NONE)
        return;
    inner = inner_at(tree, parent);
    slot = slot_of(inner, leaf->first);
    if (leaf->count == 0) {
        range_table_put(&tree->leaves, number);
        remove_child(tree, nodes, parent, slot, 0);
        return;
    }
    if (inner->count == 1)
        return;
    if (slot + 1 == inner->count)
        slot--;

    uint32_t left = inner->children[slot];
    uint32_t right = inner->children[slot + 1];
    unsigned moved = leaf_at(tree, right)->count;

    if (leaf_at(tree, left)->count + moved > LEAF_MERGE)
        return;
    move_tiles(tree, left, right, 0, moved);
    set_bounds(tree, nodes, parent, slot, 0);
    range_table_put(&tree->leaves, right);
    remove_child(tree, nodes, parent, slot + 1, 0);
}

void range_tree_absorb(struct range_tree *tree, const struct range_node *nodes, uint32_t tile,
                       uint32_t gone)
{
    uint32_t number = leaf_of(tree, gone);
    struct range_leaf *leaf = leaf_at(tree, number);
    unsigned index = index_of(leaf, gone);
    uint32_t below = (uint32_t)low_mask_u64(index);
    bool was_before = nodes[gone].start == nodes[tile].start;
    bool is_elsewhere = leaf_of(tree, tile) != number;

    memmove(leaf->tiles + index, leaf->tiles + index + 1,
            (leaf->count - index - 1) * sizeof *leaf->tiles);
    leaf->count--;
    leaf->tiles[leaf->count] = RANGE_NONE;
    leaf->holes = (leaf->holes & below) | (leaf->holes >> 1 & ~below);
    if (is_elsewhere && !was_before && leaf->count)
        move_first_start(tree, number, nodes[leaf->tiles[0]].start);
    if (is_elsewhere && was_before) {
        /* An empty leaf has the start that the tile's has from now on: it goes first. */
        if (leaf->count == 0) {
            fix_leaf(tree, nodes, number);
            move_first_start(tree, leaf_of(tree, tile), nodes[tile].start);
            return;
        }
        move_first_start(tree, leaf_of(tree, tile), nodes[tile].start);
    }
    fix_leaf(tree, nodes, number);
}

/* ---- Making ---------------------------------------------------------------------------------- */

void range_tree_init(struct range_tree *tree, const struct base_services *services)
{
    memset(tree, 0, sizeof *tree);
    tree->services = services;
    range_table_init(&tree->leaves, sizeof(struct range_leaf));
    range_table_init(&tree->inners, sizeof(struct range_inner));
    range_table_init(&tree->leaf_of, sizeof(uint32_t));
}

void range_tree_drop(struct range_tree *tree)
{
    range_table_fini(&tree->leaves, tree->services);
    range_table_fini(&tree->inners, tree->services);
    range_table_fini(&tree->leaf_of, tree->services);
    tree->is_made = false;
    tree->height = 0;
}

bool range_tree_make(struct range_tree *tree, const struct range_node *nodes, uint32_t node_count,
                     uint32_t first, uint32_t end)
{
    struct range_leaf *leaf;

    if (!reserve_split(tree) || !reserve_leaf_of(tree, node_count)) {
        range_tree_drop(tree);
        return false;
    }
    tree->root = new_leaf(tree);
    leaf = leaf_at(tree, tree->root);
    leaf->tiles[0] = first;
    leaf->first = nodes[first].start;
    leaf->holes = range_is_free(&nodes[first]);
    leaf->count = 1;
    set_leaf_of(tree, first, tree->root);
    for (uint32_t at = first; nodes[at].after != end; at = nodes[at].after) {
        if (!range_tree_make_room(tree, nodes, node_count, at)) {
            range_tree_drop(tree);
            return false;
        }
        range_tree_insert_after(tree, nodes, at, nodes[at].after);
        range_tree_update(tree, nodes, nodes[at].after);
    }
    tree->is_made = true;
    return true;
}

size_t range_tree_bytes(const struct range_tree *tree)
{
    return tree->leaves.bytes + tree->inners.bytes + tree->leaf_of.bytes;
}

/* ---- Searching ------------------------------------------------------------------------------- */

uint32_t range_tree_find(const struct range_tree *tree, const struct range_node *nodes,
                         uint64_t unit)
{
    uint32_t number = tree->root;
    const struct range_leaf *leaf;
    unsigned index = 0;

    for (unsigned level = tree->height; level; level--) {
        const struct range_inner *inner = inner_at(tree, number);

        number = inner->children[slot_of(inner, unit)];
    }
    leaf = leaf_at(tree, number);
    /* All starts at once, rather than one after the other in a search by halves. */
    for (unsigned i = 1; i < leaf->count; i++)
        index += nodes[leaf->tiles[i]].start <= unit;
    return leaf->tiles[index];
}

bool range_query_fits(const struct range_query *query, const struct range_node *hole,
                      bool is_highest, uint64_t *out_start)
{
    uint64_t low = max_u64(hole->start, query->low);
    uint64_t limit = min_u64(range_end(hole), query->high);

    if (is_highest) {
        if (limit < query->units)
            return false;
        *out_start = align_down(limit - query->units, query->alignment);
        return *out_start >= low;
    }
    return align_up_checked(low, query->alignment, out_start) && *out_start <= limit &&
           limit - *out_start >= query->units;
}

static bool find_in_leaf(const struct range_tree *tree, const struct range_node *nodes,
                         uint32_t number, const struct range_query *query, bool is_highest,
                         struct range_fit *out_fit)
{
    const struct range_leaf *leaf = leaf_at(tree, number);
    uint32_t left = leaf->holes;

    while (left) {
        unsigned i = is_highest ? log2_floor_u64(left) : ctz_u64(left);
        const struct range_node *hole = &nodes[leaf->tiles[i]];

        left &= ~(UINT32_C(1) << i);
        if (range_query_fits(query, hole, is_highest, &out_fit->start)) {
            out_fit->tile = leaf->tiles[i];
            return true;
        }
    }
    return false;
}

/* The first or the last child in [from, to] that is large enough; RANGE_INNER_CHILDREN: none. */
static unsigned next_child(const uint64_t *largest, unsigned from, unsigned to, uint64_t units,
                           bool is_highest)
{
    const uint64_t *low = largest + from, *high = largest + to;

    if (is_highest) {
        while (high > low && *high < units)
            high--;
        return *high >= units ? (unsigned)(high - largest) : RANGE_INNER_CHILDREN;
    }
    while (low < high && *low < units)
        low++;
    return *low >= units ? (unsigned)(low - largest) : RANGE_INNER_CHILDREN;
}

/* Which ends of the window a node may hold, and from which end the search comes. */
struct ends {
    bool has_low, has_high, is_highest;
};

/*
 * Recursion is as deep as the tree is high. Only nodes on the way to an end of the window look for
 * where it is: elsewhere all children are inside. A child that was searched in vain gets its bound.
 */
static bool find_below(struct range_tree *tree, const struct range_node *nodes, uint32_t number,
                       unsigned level, const struct range_query *query, struct ends ends,
                       struct range_fit *out_fit)
{
    unsigned tier = range_tier_of(query->alignment);
    struct range_inner *inner;
    unsigned first, last;

    if (level == 0)
        return find_in_leaf(tree, nodes, number, query, ends.is_highest, out_fit);

    inner = inner_at(tree, number);
    first = ends.has_low && query->low > inner->keys[0] ? slot_of(inner, query->low) : 0;
    last = ends.has_high ? slot_of(inner, query->high - 1) : (unsigned)inner->count - 1;
    for (unsigned from = first, to = last;;) {
        unsigned i = next_child(inner->largest[tier], from, to, query->units, ends.is_highest);
        struct ends below = {ends.has_low && i == first, ends.has_high && i == last,
                             ends.is_highest};

        if (i == RANGE_INNER_CHILDREN)
            return false;
        if (find_below(tree, nodes, inner->children[i], level - 1, query, below, out_fit))
            return true;
        set_bound(tree, nodes, number, i, level - 1, tier);
        if (i == (ends.is_highest ? first : last))
            return false;
        from = ends.is_highest ? first : i + 1;
        to = ends.is_highest ? i - 1 : last;
    }
}

static bool find_from_root(struct range_tree *tree, const struct range_node *nodes,
                           const struct range_query *query, bool is_highest,
                           struct range_fit *out_fit)
{
    const struct ends ends = {true, query->high != UINT64_MAX, is_highest};

    return find_below(tree, nodes, tree->root, tree->height, query, ends, out_fit);
}

bool range_tree_find_lowest(struct range_tree *tree, const struct range_node *nodes,
                            const struct range_query *query, struct range_fit *out_fit)
{
    return find_from_root(tree, nodes, query, false, out_fit);
}

bool range_tree_find_highest(struct range_tree *tree, const struct range_node *nodes,
                             const struct range_query *query, struct range_fit *out_fit)
{
    return find_from_root(tree, nodes, query, true, out_fit);
}

/* Follow the highest bound down until one proves exact. */
static uint64_t exact_largest(struct range_tree *tree, const struct range_node *nodes,
                              uint32_t number, unsigned level)
{
    struct range_inner *inner;

    if (level == 0)
        return node_largest(tree, nodes, number, 0, 0);
    inner = inner_at(tree, number);
    for (;;) {
        unsigned best = 0;
        uint64_t bound;

        for (unsigned i = 1; i < inner->count; i++) {
            if (inner->largest[0][i] > inner->largest[0][best])
                best = i;
        }
        bound = inner->largest[0][best];
        if (level == 1)
            set_bound(tree, nodes, number, best, 0, 0);
        else
            inner->largest[0][best] = exact_largest(tree, nodes, inner->children[best], level - 1);
        if (inner->largest[0][best] == bound)
            return bound;
    }
}

uint64_t range_tree_largest(struct range_tree *tree, const struct range_node *nodes)
{
    return exact_largest(tree, nodes, tree->root, tree->height);
}

/* ---- Checking -------------------------------------------------------------------------------- */

struct check_state {
    const struct range_tree *tree;
    const struct range_node *nodes;
    uint32_t next; /* the tile that must come next */
    uint32_t leaf_count;
    uint32_t inner_count;
};

static const char *check_leaf(uint32_t number, uint32_t parent, struct check_state *state)
{
    const struct range_leaf *leaf = leaf_at(state->tree, number);

    state->leaf_count++;
    if (leaf->parent != parent)
        return "a leaf does not know its parent";
    if (leaf->count == 0 || leaf->count > RANGE_LEAF_TILES)
        return "a leaf has too few or too many tiles";
    if (leaf->first != state->nodes[leaf->tiles[0]].start)
        return "a leaf does not begin where its first tile does";
    for (unsigned i = 0; i < RANGE_LEAF_TILES; i++) {
        uint32_t tile = leaf->tiles[i];
        bool is_marked = leaf->holes >> i & 1;

        if (i >= leaf->count) {
            if (tile != RANGE_NONE || is_marked)
                return "a leaf names or marks a tile beyond its count";
            continue;
        }
        if (tile != state->next)
            return "the tree has not the tiles of the list, in their order";
        if (leaf_of(state->tree, tile) != number)
            return "a tile does not know its leaf";
        if (is_marked != range_is_free(&state->nodes[tile]))
            return "a leaf marks a tile wrongly as a hole or as live";
        state->next = state->nodes[tile].after;
    }
    return NULL;
}

static const char *check_below(uint32_t number, unsigned level, uint32_t parent,
                               struct check_state *state)
{
    const struct range_inner *inner;

    if (level == 0)
        return check_leaf(number, parent, state);

    inner = inner_at(state->tree, number);
    state->inner_count++;
    if (inner->parent != parent)
        return "an inner node does not know its parent";
    if (inner->count < (parent == RANGE_NONE ? 2 : 1) || inner->count > RANGE_INNER_CHILDREN)
        return "an inner node has too few or too many children";
    for (unsigned i = 0; i < RANGE_INNER_CHILDREN; i++) {
        const char *broken;

        if (i >= inner->count) {
            if (inner->keys[i] != UINT64_MAX)
                return "an unused key is not UINT64_MAX";
            continue;
        }
        if (inner->keys[i] != first_start(state->tree, inner->children[i], level - 1))
            return "a key is not the first start of its child";
        broken = check_below(inner->children[i], level - 1, number, state);
        for (unsigned tier = 0; tier < RANGE_TIER_COUNT && !broken; tier++) {
            if (level == 1 &&
                leaf_at(state->tree, inner->children[i])->largest[tier] > inner->largest[tier][i])
                broken = "a leaf's bound is above the one in its parent";
            if (node_largest(state->tree, state->nodes, inner->children[i], level - 1, tier) >
                inner->largest[tier][i])
                broken = "a bound is below a hole, or below a bound";
        }
        if (broken)
            return broken;
    }
    return NULL;
}

const char *range_tree_check(const struct range_tree *tree, const struct range_node *nodes,
                             uint32_t first, uint32_t end)
{
    struct check_state state = {.tree = tree, .nodes = nodes, .next = first};
    const char *broken = check_below(tree->root, tree->height, RANGE_NONE, &state);

    if (broken)
        return broken;
    if (state.next != end)
        return "the tree has not all tiles";
    if (state.leaf_count + tree->leaves.spare_count != tree->leaves.count ||
        state.inner_count + tree->inners.spare_count != tree->inners.count)
        return "a node is neither used nor spare";
    return NULL;
}
