#include "base/range_tree.h"

#include "base/assert.h"
#include "base/bits.h"

#include <string.h>

#define NODE_ALIGNMENT 64

_Static_assert(RANGE_LEAF_TILES <= 32, "the hole bits of a leaf are 32");
_Static_assert(RANGE_LEAF_MERGE >= 2 * RANGE_LEAF_MIN, "two minimal siblings must merge");
_Static_assert(RANGE_INNER_MERGE >= 2 * RANGE_INNER_MIN, "two minimal siblings must merge");
_Static_assert((RANGE_LEAF_SHARE + RANGE_LEAF_TILES) / 2 + 3 <= RANGE_LEAF_TILES,
               "sharing leaves room for two tiles on either side");
_Static_assert(RANGE_LEAF_MERGE < RANGE_LEAF_TILES, "a merged leaf has room for an insertion");
_Static_assert(RANGE_INNER_MERGE < RANGE_INNER_CHILDREN, "so has a merged inner node");
_Static_assert((RANGE_LEAF_TILES - 1) / 2 >= RANGE_LEAF_MIN, "a split leaves lawful halves");
_Static_assert(RANGE_INNER_CHILDREN / 2 >= RANGE_INNER_MIN, "a split leaves lawful halves");
_Static_assert(sizeof(void *) != 8 || sizeof(struct range_leaf) <= 512, "eight cache lines");
_Static_assert(offsetof(struct range_leaf, values) == 256, "starts fill four cache lines");
_Static_assert(offsetof(struct range_inner, count) == 504, "keys and count fill eight cache lines");

static size_t node_bytes(size_t size)
{
    return (size_t)align_up(size, NODE_ALIGNMENT);
}

static void clear_starts(struct range_leaf *leaf, unsigned from)
{
    for (unsigned i = from; i <= RANGE_LEAF_TILES; i++)
        leaf->starts[i] = UINT64_MAX;
}

static void clear_keys(struct range_inner *inner, unsigned from)
{
    for (unsigned i = from; i < RANGE_INNER_CHILDREN; i++)
        inner->keys[i] = UINT64_MAX;
}

bool range_tree_init(struct range_tree *tree, const struct base_services *services, uint64_t first,
                     uint64_t end)
{
    struct range_leaf *leaf;

    memset(tree, 0, sizeof *tree);
    node_pool_init(&tree->leaves, services, node_bytes(sizeof(struct range_leaf)), NODE_ALIGNMENT);
    node_pool_init(&tree->inners, services, node_bytes(sizeof(struct range_inner)), NODE_ALIGNMENT);
    leaf = node_pool_get(&tree->leaves);
    if (!leaf)
        return false;

    memset(leaf, 0, sizeof *leaf);
    leaf->starts[0] = first;
    leaf->starts[1] = end;
    clear_starts(leaf, 2);
    leaf->count = 1;
    leaf->holes = 1;
    tree->root = leaf;
    return true;
}

void range_tree_fini(struct range_tree *tree)
{
    node_pool_fini(&tree->leaves);
    node_pool_fini(&tree->inners);
    tree->root = NULL;
}

static unsigned slot_of(const struct range_inner *parent, uint64_t key)
{
    return range_inner_slot(parent->keys, key);
}

struct range_leaf *range_tree_prev(const struct range_leaf *leaf)
{
    const struct range_inner *inner = leaf->parent;
    unsigned up = 1;

    while (inner && slot_of(inner, leaf->starts[0]) == 0) {
        inner = inner->parent;
        up++;
    }
    if (!inner)
        return NULL;

    void *node = inner->children[slot_of(inner, leaf->starts[0]) - 1];

    for (; up > 1; up--) {
        inner = node;
        node = inner->children[inner->count - 1];
    }
    return node;
}

struct range_leaf *range_tree_next(const struct range_leaf *leaf)
{
    const struct range_inner *inner = leaf->parent;
    unsigned up = 1;

    while (inner && slot_of(inner, leaf->starts[0]) + 1 == inner->count) {
        inner = inner->parent;
        up++;
    }
    if (!inner)
        return NULL;

    void *node = inner->children[slot_of(inner, leaf->starts[0]) + 1];

    for (; up > 1; up--) {
        inner = node;
        node = inner->children[0];
    }
    return node;
}

/* Bounds. */

static const uint64_t tier_alignments[RANGE_TIER_COUNT] = {1, 16, 512};

/* The last tier whose alignment is at most this one. */
static unsigned tier_of(uint64_t alignment)
{
    unsigned tier = RANGE_TIER_COUNT - 1;

    while (tier_alignments[tier] > alignment)
        tier--;
    return tier;
}

/* How much of [start, end) is left behind the first multiple of the tier's alignment. */
static uint64_t aligned_size(unsigned tier, uint64_t start, uint64_t end)
{
    uint64_t padding = (0 - start) & (tier_alignments[tier] - 1);

    return end - start > padding ? end - start - padding : 0;
}

static uint64_t leaf_largest(const struct range_leaf *leaf, unsigned tier)
{
    uint64_t largest = 0;

    for (uint32_t left = leaf->holes; left; left &= left - 1) {
        unsigned i = ctz_u64(left);

        largest = max_u64(largest, aligned_size(tier, leaf->starts[i], leaf->starts[i + 1]));
    }
    return largest;
}

static uint64_t inner_largest(const struct range_inner *inner, unsigned tier)
{
    uint64_t largest = 0;

    for (unsigned i = 0; i < inner->count; i++)
        largest = max_u64(largest, inner->largest[i][tier]);
    return largest;
}

/* Level 0 is that of the leaves. */
static uint64_t node_largest(const void *node, unsigned level, unsigned tier)
{
    return level ? inner_largest(node, tier) : leaf_largest(node, tier);
}

/* Lower the bounds of a child, of this level, to what it holds. */
static void set_bounds(struct range_inner *parent, unsigned slot, unsigned level)
{
    for (unsigned tier = 0; tier < RANGE_TIER_COUNT; tier++)
        parent->largest[slot][tier] = node_largest(parent->children[slot], level, tier);
}

static uint64_t node_first_start(const void *node, unsigned level)
{
    return level ? ((const struct range_inner *)node)->keys[0]
                 : ((const struct range_leaf *)node)->starts[0];
}

static void set_parent(void *node, unsigned level, struct range_inner *parent)
{
    if (level)
        ((struct range_inner *)node)->parent = parent;
    else
        ((struct range_leaf *)node)->parent = parent;
}

void range_tree_raise(struct range_leaf *leaf, uint64_t start, uint64_t end)
{
    uint64_t sizes[RANGE_TIER_COUNT];
    bool is_raised = true;

    for (unsigned tier = 0; tier < RANGE_TIER_COUNT; tier++)
        sizes[tier] = aligned_size(tier, start, end);
    for (struct range_inner *inner = leaf->parent; inner && is_raised; inner = inner->parent) {
        unsigned slot = slot_of(inner, leaf->starts[0]);

        is_raised = false;
        for (unsigned tier = 0; tier < RANGE_TIER_COUNT; tier++) {
            if (inner->largest[slot][tier] < sizes[tier]) {
                inner->largest[slot][tier] = sizes[tier];
                is_raised = true;
            }
        }
    }
}

/* Growing. */

static void adopt_holes(struct range_leaf *leaf, unsigned from, unsigned count)
{
    uint64_t moved = leaf->holes & low_mask_u64(from + count) & ~low_mask_u64(from);

    for (; moved; moved &= moved - 1) {
        struct range_hole *hole = leaf->values[ctz_u64(moved)].hole;

        if (hole)
            hole->leaf = leaf;
    }
}

/* Move the tiles [from, count) of left to the front of right, which follows it. */
static void move_tiles_right(struct range_leaf *left, struct range_leaf *right, unsigned from)
{
    unsigned moved = left->count - from;

    memmove(right->starts + moved, right->starts, (right->count + 1) * sizeof *right->starts);
    memmove(right->values + moved, right->values, right->count * sizeof *right->values);
    memcpy(right->starts, left->starts + from, moved * sizeof *right->starts);
    memcpy(right->values, left->values + from, moved * sizeof *right->values);
    right->holes = right->holes << moved | left->holes >> from;
    right->count += moved;
    left->holes &= (uint32_t)low_mask_u64(from);
    left->count = from;
    clear_starts(left, from + 1);
    adopt_holes(right, 0, moved);
}

/* Move the first count tiles of right to the end of left, which precedes it. */
static void move_tiles_left(struct range_leaf *left, struct range_leaf *right, unsigned moved)
{
    unsigned old_count = left->count;

    memcpy(left->starts + old_count, right->starts, (moved + 1) * sizeof *left->starts);
    memcpy(left->values + old_count, right->values, moved * sizeof *left->values);
    left->holes |= (right->holes & (uint32_t)low_mask_u64(moved)) << old_count;
    left->count += moved;
    right->count -= moved;
    right->holes = (uint32_t)((uint64_t)right->holes >> moved);
    memmove(right->starts, right->starts + moved, (right->count + 1) * sizeof *right->starts);
    memmove(right->values, right->values + moved, right->count * sizeof *right->values);
    clear_starts(right, right->count + 1);
    adopt_holes(left, old_count, moved);
}

static void move_children(struct range_inner *to, unsigned at, const struct range_inner *from,
                          unsigned first, unsigned count, unsigned level)
{
    memmove(to->keys + at, from->keys + first, count * sizeof *to->keys);
    memmove(to->children + at, from->children + first, count * sizeof *to->children);
    memmove(to->largest + at, from->largest + first, count * sizeof *to->largest);
    if (to != from) {
        for (unsigned i = 0; i < count; i++)
            set_parent(to->children[at + i], level - 1, to);
    }
}

static struct range_inner *new_inner(struct range_tree *tree)
{
    struct range_inner *inner = node_pool_get(&tree->inners);

    ASSERT(inner);
    memset(inner, 0, sizeof *inner);
    clear_keys(inner, 0);
    return inner;
}

/*
 * Node right was split off node left, both at level; its parent is to know. The bound of left is
 * lowered to what left still holds.
 */
static void add_sibling(struct range_tree *tree, struct range_inner *parent, void *left,
                        void *right, unsigned level)
{
    uint64_t key = node_first_start(right, level);

    if (!parent) {
        parent = new_inner(tree);
        parent->keys[0] = node_first_start(left, level);
        parent->children[0] = left;
        parent->count = 1;
        set_parent(left, level, parent);
        tree->root = parent;
        tree->height++;
    } else if (parent->count == RANGE_INNER_CHILDREN) {
        struct range_inner *upper = new_inner(tree);
        unsigned kept = RANGE_INNER_CHILDREN / 2;

        upper->count = RANGE_INNER_CHILDREN - kept;
        move_children(upper, 0, parent, kept, (unsigned)upper->count, level + 1);
        parent->count = kept;
        clear_keys(parent, kept);
        add_sibling(tree, parent->parent, parent, upper, level + 1);
        if (key >= upper->keys[0])
            parent = upper;
    }

    unsigned slot = slot_of(parent, key);

    move_children(parent, slot + 2, parent, slot + 1, (unsigned)parent->count - slot - 1,
                  level + 1);
    parent->keys[slot + 1] = key;
    parent->children[slot + 1] = right;
    parent->count++;
    set_parent(right, level, parent);
    set_bounds(parent, slot, level);
    set_bounds(parent, slot + 1, level);
}

/* Children slot and slot + 1 of parent, two leaves, have exchanged tiles. */
static void set_border(struct range_inner *parent, unsigned slot)
{
    struct range_leaf *left = parent->children[slot];
    struct range_leaf *right = parent->children[slot + 1];

    left->starts[left->count] = right->starts[0];
    parent->keys[slot + 1] = right->starts[0];
    set_bounds(parent, slot, 0);
    set_bounds(parent, slot + 1, 0);
}

static bool share_with_sibling(struct range_fit *fit)
{
    struct range_leaf *leaf = fit->leaf;
    struct range_inner *parent = leaf->parent;
    struct range_leaf *sibling;
    unsigned slot;

    if (!parent)
        return false;
    slot = slot_of(parent, leaf->starts[0]);

    if (slot + 1 < parent->count) {
        sibling = parent->children[slot + 1];
        if (sibling->count <= RANGE_LEAF_SHARE) {
            unsigned kept = (leaf->count + sibling->count) / 2;

            move_tiles_right(leaf, sibling, kept);
            set_border(parent, slot);
            if (fit->index >= kept) {
                fit->leaf = sibling;
                fit->index -= kept;
            }
            return true;
        }
    }
    if (slot > 0) {
        sibling = parent->children[slot - 1];
        if (sibling->count <= RANGE_LEAF_SHARE) {
            unsigned old_count = sibling->count;
            unsigned moved = (leaf->count - old_count) / 2;

            move_tiles_left(sibling, leaf, moved);
            set_border(parent, slot - 1);
            if (fit->index < moved) {
                fit->leaf = sibling;
                fit->index += old_count;
            } else {
                fit->index -= moved;
            }
            return true;
        }
    }
    return false;
}

/* The nodes that a split of the leaf needs: one leaf, and one inner for each full level above. */
static bool reserve_split(struct range_tree *tree, const struct range_leaf *leaf)
{
    const struct range_inner *inner = leaf->parent;
    size_t inner_count = 0;

    for (; inner && inner->count == RANGE_INNER_CHILDREN; inner = inner->parent)
        inner_count++;
    if (!inner)
        inner_count++;
    return node_pool_reserve(&tree->leaves, 1) && node_pool_reserve(&tree->inners, inner_count);
}

bool range_tree_make_room(struct range_tree *tree, struct range_fit *fit)
{
    struct range_leaf *left = fit->leaf;
    struct range_leaf *right;
    unsigned kept = left->count / 2;

    if (share_with_sibling(fit))
        return true;
    if (!reserve_split(tree, left))
        return false;

    /* A cut at the end is most likely one of many, going up: leave little room behind. */
    if (fit->index + 2 >= left->count)
        kept = left->count - RANGE_LEAF_MIN;

    right = node_pool_get(&tree->leaves);
    right->starts[0] = left->starts[left->count];
    clear_starts(right, 1);
    right->holes = 0;
    right->count = 0;
    move_tiles_right(left, right, kept);
    left->starts[kept] = right->starts[0];
    add_sibling(tree, left->parent, left, right, 0);

    if (fit->index >= kept) {
        fit->leaf = right;
        fit->index -= kept;
    }
    return true;
}

void range_leaf_insert(struct range_leaf *leaf, unsigned index, uint64_t start,
                       union range_value value, bool is_hole)
{
    uint32_t below = (uint32_t)low_mask_u64(index);

    ASSERT(index > 0 && index <= leaf->count && leaf->count < RANGE_LEAF_TILES);
    ASSERT(leaf->starts[index - 1] < start && start < leaf->starts[index]);

    memmove(leaf->starts + index + 1, leaf->starts + index,
            (leaf->count + 1 - index) * sizeof *leaf->starts);
    memmove(leaf->values + index + 1, leaf->values + index,
            (leaf->count - index) * sizeof *leaf->values);
    leaf->starts[index] = start;
    leaf->values[index] = value;
    leaf->holes = (leaf->holes & below) | (leaf->holes & ~below) << 1 | (uint32_t)is_hole << index;
    leaf->count++;
}

/* Shrinking. */

/* The first start below leaf goes from its old value to start. */
static void move_first_start(struct range_leaf *leaf, uint64_t old, uint64_t start)
{
    for (struct range_inner *inner = leaf->parent; inner; inner = inner->parent) {
        unsigned slot = slot_of(inner, old);

        inner->keys[slot] = start;
        if (slot != 0)
            return;
    }
}

static void fix_inner(struct range_tree *tree, struct range_inner *inner, unsigned level);

/* Child slot of parent, at level, has been merged into the one before. */
static void remove_child(struct range_tree *tree, struct range_inner *parent, unsigned slot,
                         unsigned level)
{
    ASSERT(slot > 0);
    move_children(parent, slot, parent, slot + 1, (unsigned)parent->count - slot - 1, level + 1);
    parent->count--;
    parent->keys[parent->count] = UINT64_MAX;
    fix_inner(tree, parent, level + 1);
}

static void fix_inner(struct range_tree *tree, struct range_inner *inner, unsigned level)
{
    struct range_inner *parent = inner->parent;
    struct range_inner *left;
    struct range_inner *right;
    unsigned slot;
    unsigned total;

    if (!parent) {
        if (inner->count == 1) {
            tree->root = inner->children[0];
            tree->height--;
            set_parent(tree->root, level - 1, NULL);
            node_pool_put(&tree->inners, inner);
        }
        return;
    }
    if (inner->count >= RANGE_INNER_MIN)
        return;

    slot = slot_of(parent, inner->keys[0]);
    if (slot + 1 == parent->count)
        slot--;
    left = parent->children[slot];
    right = parent->children[slot + 1];
    total = (unsigned)(left->count + right->count);
    if (total <= RANGE_INNER_MERGE) {
        move_children(left, (unsigned)left->count, right, 0, (unsigned)right->count, level);
        left->count = total;
        set_bounds(parent, slot, level);
        node_pool_put(&tree->inners, right);
        remove_child(tree, parent, slot + 1, level);
        return;
    }

    if (left->count < right->count) {
        unsigned moved = total / 2 - (unsigned)left->count;

        move_children(left, (unsigned)left->count, right, 0, moved, level);
        move_children(right, 0, right, moved, (unsigned)right->count - moved, level);
        left->count += moved;
        right->count -= moved;
        clear_keys(right, (unsigned)right->count);
    } else {
        unsigned moved = total / 2 - (unsigned)right->count;

        move_children(right, moved, right, 0, (unsigned)right->count, level);
        move_children(right, 0, left, (unsigned)left->count - moved, moved, level);
        left->count -= moved;
        right->count += moved;
        clear_keys(left, (unsigned)left->count);
    }
    parent->keys[slot + 1] = right->keys[0];
    set_bounds(parent, slot, level);
    set_bounds(parent, slot + 1, level);
}

static void fix_leaf(struct range_tree *tree, struct range_leaf *leaf)
{
    struct range_inner *parent = leaf->parent;
    struct range_leaf *left;
    struct range_leaf *right;
    unsigned slot;
    unsigned total;

    if (!parent || leaf->count >= RANGE_LEAF_MIN)
        return;

    slot = slot_of(parent, leaf->starts[0]);
    if (slot + 1 == parent->count)
        slot--;
    left = parent->children[slot];
    right = parent->children[slot + 1];
    total = left->count + right->count;
    if (total <= RANGE_LEAF_MERGE) {
        move_tiles_left(left, right, right->count);
        set_bounds(parent, slot, 0);
        node_pool_put(&tree->leaves, right);
        remove_child(tree, parent, slot + 1, 0);
        return;
    }

    if (left->count < right->count)
        move_tiles_left(left, right, total / 2 - left->count);
    else
        move_tiles_right(left, right, left->count - (total / 2 - right->count));
    set_border(parent, slot);
}

void range_tree_remove(struct range_tree *tree, struct range_leaf *leaf, unsigned index)
{
    uint32_t below = (uint32_t)low_mask_u64(index);

    if (index == 0) {
        struct range_leaf *before = range_tree_prev(leaf);

        ASSERT(before && leaf->count > 1);
        before->starts[before->count] = leaf->starts[1];
        move_first_start(leaf, leaf->starts[0], leaf->starts[1]);
    }
    memmove(leaf->starts + index, leaf->starts + index + 1,
            (leaf->count - index) * sizeof *leaf->starts);
    memmove(leaf->values + index, leaf->values + index + 1,
            (leaf->count - index - 1) * sizeof *leaf->values);
    leaf->starts[leaf->count] = UINT64_MAX;
    leaf->holes = (leaf->holes & below) | (leaf->holes >> 1 & ~below);
    leaf->count--;
    fix_leaf(tree, leaf);
}

/* Searching. */

static bool fits_low(const struct range_query *query, uint64_t start, uint64_t end,
                     uint64_t *out_start)
{
    uint64_t limit = min_u64(end, query->high);

    return align_up_checked(max_u64(start, query->low), query->alignment, out_start) &&
           *out_start <= limit && limit - *out_start >= query->units;
}

static bool fits_high(const struct range_query *query, uint64_t start, uint64_t end,
                      uint64_t *out_start)
{
    uint64_t limit = min_u64(end, query->high);

    if (limit < query->units)
        return false;
    *out_start = align_down(limit - query->units, query->alignment);
    return *out_start >= max_u64(start, query->low);
}

static bool find_in_leaf(struct range_leaf *leaf, const struct range_query *query, bool is_highest,
                         struct range_fit *out_fit)
{
    uint32_t left = leaf->holes;

    while (left) {
        unsigned i = is_highest ? log2_floor_u64(left) : ctz_u64(left);
        uint64_t start = leaf->starts[i];
        uint64_t end = leaf->starts[i + 1];

        left &= ~(UINT32_C(1) << i);
        if (end - start < query->units)
            continue;
        if (is_highest ? fits_high(query, start, end, &out_fit->start)
                       : fits_low(query, start, end, &out_fit->start)) {
            out_fit->leaf = leaf;
            out_fit->index = i;
            return true;
        }
    }
    return false;
}

/* Recursion is as deep as the tree is high. A child that was searched in vain gets its bound. */
static bool find_below(void *node, unsigned level, const struct range_query *query, bool is_highest,
                       struct range_fit *out_fit)
{
    struct range_inner *inner = node;
    unsigned tier = tier_of(query->alignment);
    unsigned first;
    unsigned last;

    if (level == 0)
        return find_in_leaf(node, query, is_highest, out_fit);

    first = query->low > inner->keys[0] ? slot_of(inner, query->low) : 0;
    last = query->high - 1 > inner->keys[0] ? slot_of(inner, query->high - 1) : 0;
    for (unsigned step = 0; step <= last - first; step++) {
        unsigned i = is_highest ? last - step : first + step;

        if (inner->largest[i][tier] < query->units)
            continue;
        if (find_below(inner->children[i], level - 1, query, is_highest, out_fit))
            return true;
        inner->largest[i][tier] = node_largest(inner->children[i], level - 1, tier);
    }
    return false;
}

static bool find(struct range_tree *tree, const struct range_query *query, bool is_highest,
                 struct range_fit *out_fit)
{
    memset(out_fit, 0, sizeof *out_fit);
    if (query->low >= query->high || query->high - query->low < query->units ||
        !find_below(tree->root, tree->height, query, is_highest, out_fit)) {
        memset(out_fit, 0, sizeof *out_fit);
        return false;
    }
    return true;
}

bool range_tree_find_lowest(struct range_tree *tree, const struct range_query *query,
                            struct range_fit *out_fit)
{
    return find(tree, query, false, out_fit);
}

bool range_tree_find_highest(struct range_tree *tree, const struct range_query *query,
                             struct range_fit *out_fit)
{
    return find(tree, query, true, out_fit);
}

/* Follow the highest bound down until one proves exact. */
static uint64_t exact_largest(void *node, unsigned level)
{
    struct range_inner *inner = node;

    if (level == 0)
        return leaf_largest(node, 0);
    for (;;) {
        unsigned best = 0;
        uint64_t bound;

        for (unsigned i = 1; i < inner->count; i++) {
            if (inner->largest[i][0] > inner->largest[best][0])
                best = i;
        }
        bound = inner->largest[best][0];
        inner->largest[best][0] = exact_largest(inner->children[best], level - 1);
        if (inner->largest[best][0] == bound)
            return bound;
    }
}

uint64_t range_tree_largest(struct range_tree *tree)
{
    return exact_largest(tree->root, tree->height);
}

/* Checking. */

struct check_state {
    uint64_t next; /* where the next tile must start */
    bool was_hole;
    size_t leaf_count;
    size_t inner_count;
};

/* The bounds of child i of inner, which is at this level. */
static const char *check_bounds(const struct range_inner *inner, unsigned i, unsigned level)
{
    for (unsigned tier = 0; tier < RANGE_TIER_COUNT; tier++) {
        if (node_largest(inner->children[i], level, tier) > inner->largest[i][tier])
            return "a bound is below a hole, or below a bound";
    }
    return NULL;
}

static const char *check_leaf(const struct range_leaf *leaf, const struct range_inner *parent,
                              struct check_state *state)
{
    state->leaf_count++;
    if (leaf->parent != parent)
        return "a leaf does not know its parent";
    if (leaf->count < (parent ? RANGE_LEAF_MIN : 1) || leaf->count > RANGE_LEAF_TILES)
        return "a leaf has too few or too many tiles";
    if (leaf->holes & ~(uint32_t)low_mask_u64(leaf->count))
        return "a leaf marks a hole beyond its tiles";
    for (unsigned i = leaf->count + 1; i <= RANGE_LEAF_TILES; i++) {
        if (leaf->starts[i] != UINT64_MAX)
            return "an unused start is not UINT64_MAX";
    }
    for (unsigned i = 0; i < leaf->count; i++) {
        bool is_hole = range_leaf_is_hole(leaf, i);
        const struct range_hole *hole = leaf->values[i].hole;

        if (leaf->starts[i] != state->next || leaf->starts[i + 1] <= leaf->starts[i])
            return "the tiles leave a gap, overlap or are empty";
        if (is_hole && state->was_hole)
            return "two holes touch";
        if (is_hole && hole &&
            (hole->leaf != leaf || hole->start != leaf->starts[i] ||
             hole->size != range_leaf_size(leaf, i)))
            return "the record of a hole is wrong";
        state->was_hole = is_hole;
        state->next = leaf->starts[i + 1];
    }
    return NULL;
}

static const char *check_below(const void *node, unsigned level, const struct range_inner *parent,
                               struct check_state *state)
{
    const struct range_inner *inner = node;

    if (level == 0)
        return check_leaf(node, parent, state);

    state->inner_count++;
    if (inner->parent != parent)
        return "an inner node does not know its parent";
    if (inner->count < (parent ? RANGE_INNER_MIN : 2) || inner->count > RANGE_INNER_CHILDREN)
        return "an inner node has too few or too many children";
    for (unsigned i = 0; i < RANGE_INNER_CHILDREN; i++) {
        const char *broken;

        if (i >= inner->count) {
            if (inner->keys[i] != UINT64_MAX)
                return "an unused key is not UINT64_MAX";
            continue;
        }
        if (inner->keys[i] != state->next)
            return "a key is not the first start of its child";
        broken = check_below(inner->children[i], level - 1, inner, state);
        if (!broken)
            broken = check_bounds(inner, i, level - 1);
        if (broken)
            return broken;
    }
    return NULL;
}

const char *range_tree_check(const struct range_tree *tree, uint64_t first, uint64_t end)
{
    struct check_state state = {.next = first};
    const char *broken = check_below(tree->root, tree->height, NULL, &state);

    if (broken)
        return broken;
    if (state.next != end)
        return "the tiles do not end where the space ends";
    if (state.leaf_count + tree->leaves.spare_count != tree->leaves.node_count ||
        state.inner_count + tree->inners.spare_count != tree->inners.node_count)
        return "a node is neither used nor spare";
    return NULL;
}
