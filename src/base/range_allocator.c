/*
 * Tiles in a table, and two ways to find one.
 *
 * Each live range and each hole is a node of 32 bytes in one table, under a number. A node knows
 * the numbers of its neighbours by address, so that a release merges without a search. The number
 * of a live range is its handle.
 *
 * The bins hold the holes by size, sixteen bins for each power of two, each a ring of nodes, last
 * in first out, closed by a node of the bin's own: linking and unlinking has no branch. A bit says
 * "not empty". A take without placement finds a bin by bit search, looks at three holes, and of
 * those that fit takes the one at the lowest address. A hole of which a part is taken, or which
 * grows, stays where it is in its bin while its size belongs there.
 *
 * Why that choice. Log-normal sizes at 90 % occupancy, 10,000 ranges, beside the usual segregated
 * fit, which takes the first hole of the next larger of eight bins for each power of two:
 *
 *     that segregated fit                               fails 32 % of the bytes
 *     the first hole that fits, from the own bin on     20 %
 *     the lowest of two, eight bins for each power      4.4 %
 *     the lowest of three, eight bins for each power    2.6 %, and takes a quarter longer
 *     the lowest of two, sixteen bins for each power    4.4 %, 5.4 % where ranges are kept (below)
 *     the lowest of three, sixteen bins, ranges kept    3.8 %
 *
 * Low addresses win over the perfect size because they keep the high end of the space empty, where
 * holes then merge.
 *
 * The size by which a hole is sorted is the size behind its first multiple of an alignment, the
 * one that most requests have (`key_mask`). Where every range begins at 64 KiB and the unit is a
 * page, the ends of the ranges leave holes that no request can use. Sorted by their whole size they
 * would stand in the way of every search.
 *
 * Those ends are no tiles at first, either: where the bins are sorted by an alignment, a range that
 * ends short of a multiple keeps the rest as `slack`. It is free, but no request with that
 * alignment could have it. When a request without it finds no other place, or one asks by address,
 * all slack becomes holes, and none is kept any more.
 *
 * The index (range_tree.h) is made when a search by address first needs it. A space that is only
 * ever asked for some place, and given back by handle, never pays for it.
 *
 * Most sizes come again. A range that is released by handle is kept as it is, so that a request of
 * its size takes it with no more than that: half of all takes and releases of the stream above.
 * Kept are few, and only those that lie lower than the mean of the places where other requests go:
 * kept anywhere, they undo what the choice of low addresses brings (11 % of the bytes failed,
 * instead of 3.8). A take that finds no place and whoever looks at holes by address makes holes of
 * them first.
 *
 * Memory. Only take needs nodes, and has them before it changes anything.
 */
#include "base/range_allocator_private.h"

#include "base/assert.h"
#include "base/bits.h"

#include <string.h>

#define HOLES_LOOKED_AT 3 /* of a bin, by a request that may lie anywhere */

_Static_assert(RANGE_BIN_COUNT % 64 != 0, "there is a word of bits behind every bin");

/* With a larger alignment than that of the keys, holes looked at before the next sure bin. */
#define ALIGNED_TRIES 32

/* Holes of the request's own bin that are looked at before a search by address. */
#define OWN_BIN_TRIES 64

/* Holes looked at for a window of at least this part of the space. */
#define WINDOW_TRIES 64
#define WINDOW_PART  8

/* With so many tiles at most, a search by address walks. */
#define WALK_TILES 32

/* For so many live ranges one is kept, of each size so many; below the mean of so many starts. */
#define KEPT_PART    64
#define KEPT_OF_SIZE 16
#define KEPT_MEAN    64

/* ---- Bins ------------------------------------------------------------------------------------ */

/* The first bin, from this one on, that is not empty; RANGE_BIN_COUNT when there is none. */
static inline unsigned next_bin(const struct range_allocator *ra, unsigned bin)
{
    unsigned word = bin / 64; /* RANGE_BIN_COUNT is no multiple of 64 */
    uint64_t bits = ra->bin_bits[word] & UINT64_MAX << bin % 64;

    while (!bits) {
        if (++word == ARRAY_COUNT(ra->bin_bits))
            return RANGE_BIN_COUNT;
        bits = ra->bin_bits[word];
    }
    return word * 64 + ctz_u64(bits);
}

/* The tile, whose start is set, is a hole of so many units from now on, and stands in this bin. */
static inline void bin_put(struct range_allocator *ra, uint32_t tile, uint64_t units, unsigned bin)
{
    struct range_node *nodes = nodes_of(ra);
    struct range_node *hole = &nodes[tile];

    hole->extent = range_hole(units, bin);
    hole->prev = bin;
    hole->next = nodes[bin].next;
    nodes[hole->next].prev = tile;
    nodes[bin].next = tile;
    ra->bin_bits[bin / 64] |= UINT64_C(1) << bin % 64;
}

static inline void bin_add(struct range_allocator *ra, uint32_t tile, uint64_t units)
{
    bin_put(ra, tile, units, bin_for(ra, nodes_of(ra)[tile].start, units));
}

/* The bin is empty when the hole's two neighbours in the ring are one, which is the bin's node. */
static inline void bin_remove(struct range_allocator *ra, uint32_t tile)
{
    struct range_node *nodes = nodes_of(ra);
    struct range_node *hole = &nodes[tile];
    uint32_t prev = hole->prev, next = hole->next;
    unsigned bin = prev == next ? prev : 0;

    nodes[prev].next = next;
    nodes[next].prev = prev;
    ra->bin_bits[bin / 64] &= ~((uint64_t)(prev == next) << bin % 64);
}

/* The hole has other bounds. In most cases it stays where it is among the bins. */
static inline void resize_hole(struct range_allocator *ra, uint32_t tile, uint64_t start,
                               uint64_t units)
{
    struct range_node *hole = &nodes_of(ra)[tile];
    unsigned bin = bin_for(ra, start, units);

    hole->start = start;
    if (bin == range_bin(hole)) {
        hole->extent = range_hole(units, bin);
    } else {
        bin_remove(ra, tile);
        bin_put(ra, tile, units, bin);
    }
}

static void empty_bins(struct range_allocator *ra)
{
    struct range_node *nodes = nodes_of(ra);

    for (uint32_t bin = 0; bin < ra->bin_count; bin++)
        nodes[bin].prev = nodes[bin].next = bin;
    memset(ra->bin_bits, 0, sizeof ra->bin_bits);
}

RARE static void merge_kept(const struct range_allocator *ra);

static void set_most_slack(struct range_allocator *ra, unsigned log2)
{
    ra->most_slack_log2 = log2;
    ra->most_slack = low_mask_u64(log2);
}

/* Sorts all holes by another key. */
static void rekey(struct range_allocator *ra, unsigned tier)
{
    const struct range_node *nodes = nodes_of(ra);
    uint32_t wall = wall_of(ra);

    merge_kept(ra);
    ra->key_tier = tier;
    ra->key_mask = range_tier_alignments[tier] - 1;
    if (!ra->keeps_no_slack)
        set_most_slack(ra, ctz_u64(range_tier_alignments[tier]));
    ra->votes = 0;
    empty_bins(ra);
    for (uint32_t tile = nodes[wall].after; tile != wall; tile = nodes[tile].after) {
        if (range_is_free(&nodes[tile]))
            bin_add(ra, tile, range_units(&nodes[tile]));
    }
}

/* Each request votes for its tier; the work of a new key is shared by those that asked for it. */
RARE static void vote_otherwise(struct range_allocator *ra, uint64_t alignment)
{
    unsigned tier = range_tier_of(alignment);

    if (tier != ra->key_tier && ++ra->votes > 16 + tile_count(ra) / 4)
        rekey(ra, tier);
}

static inline void vote(struct range_allocator *ra, uint64_t alignment)
{
    if (alignment - 1 != ra->key_mask)
        vote_otherwise(ra, alignment);
    else if (ra->votes)
        ra->votes--;
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

enum range_status range_allocator_init(struct range_allocator *ra,
                                       const struct base_services *services, uint64_t base,
                                       uint64_t size, uint64_t granularity)
{
    struct range_node *nodes;
    uint32_t tile, wall;

    memset(ra, 0, sizeof *ra);
    if (!is_power_of_two(granularity) || size == 0 || base > UINT64_MAX - size ||
        !is_aligned(base | size, granularity) || (size >> ctz_u64(granularity)) >> RANGE_UNITS_BITS)
        return RANGE_INVALID;

    ra->services = services;
    ra->unit_shift = ctz_u64(granularity);
    ra->first_unit = base >> ra->unit_shift;
    ra->end_unit = (base + size) >> ra->unit_shift;
    ra->free_units = ra->end_unit - ra->first_unit;
    ra->bin_count = bin_of(ra->free_units) + 1;
    range_tree_init(&ra->tree, services);
    range_table_init(&ra->nodes, sizeof(struct range_node));
    wall = wall_of(ra);
    if (!range_table_reserve(&ra->nodes, services, wall + 2))
        return RANGE_NO_MEMORY;

    nodes = nodes_of(ra);
    for (uint32_t i = 0; i <= wall; i++) {
        tile = range_table_get(&ra->nodes);
        ASSERT(tile == i);
        nodes[tile] = (struct range_node){0};
    }
    empty_bins(ra);
    tile = range_table_get(&ra->nodes);
    nodes[tile] = (struct range_node){.start = ra->first_unit, .before = wall, .after = wall};
    nodes[wall].before = nodes[wall].after = tile;
    bin_add(ra, tile, ra->free_units);
    return RANGE_OK;
}

void range_allocator_fini(struct range_allocator *ra)
{
    if (ra->services) {
        range_tree_drop(&ra->tree);
        range_table_fini(&ra->nodes, ra->services);
    }
    memset(ra, 0, sizeof *ra);
}

/* ---- Finding by address ---------------------------------------------------------------------- */

/*
 * Whether there is an index, which is made where it pays. It is a cache of what the tiles say: a
 * lookup may make it in an allocator that is const for its caller.
 */
static bool has_index(const struct range_allocator *ra)
{
    struct range_allocator *cache = (struct range_allocator *)ra;

    if (!ra->tree.is_made && tile_count(ra) > WALK_TILES)
        range_tree_make(&cache->tree, nodes_of(ra), ra->nodes.count,
                        nodes_of(ra)[wall_of(ra)].after, wall_of(ra));
    return ra->tree.is_made;
}

static uint32_t tile_at(const struct range_allocator *ra, uint64_t unit)
{
    const struct range_node *nodes = nodes_of(ra);
    uint32_t tile = nodes[wall_of(ra)].after;

    if (has_index(ra))
        return range_tree_find(&ra->tree, nodes, unit);
    while (range_end(&nodes[tile]) <= unit)
        tile = nodes[tile].after;
    return tile;
}

static bool walk(const struct range_allocator *ra, const struct range_query *query, bool is_highest,
                 struct range_fit *out_fit)
{
    const struct range_node *nodes = nodes_of(ra);
    uint32_t wall = wall_of(ra), tile = is_highest ? nodes[wall].before : nodes[wall].after;

    for (; tile != wall; tile = is_highest ? nodes[tile].before : nodes[tile].after) {
        if (range_is_free(&nodes[tile]) &&
            range_query_fits(query, &nodes[tile], is_highest, &out_fit->start)) {
            out_fit->tile = tile;
            return true;
        }
    }
    return false;
}

RARE static bool find_by_address(struct range_allocator *ra, const struct range_query *query,
                                 enum range_place place, struct range_fit *out_fit)
{
    struct range_query known = *query;

    if (query->low >= query->high || query->high - query->low < query->units)
        return false;
    if (!has_index(ra))
        return walk(ra, query, place == RANGE_HIGHEST, out_fit);
    if (query->high == ra->end_unit)
        known.high = UINT64_MAX;
    return place == RANGE_HIGHEST
               ? range_tree_find_highest(&ra->tree, nodes_of(ra), &known, out_fit)
               : range_tree_find_lowest(&ra->tree, nodes_of(ra), &known, out_fit);
}

/* ---- Finding by size ------------------------------------------------------------------------- */

/* What a search among the bins ended with. */
enum found { FOUND, FOUND_NONE, FOUND_MAYBE /* only a search by address can tell */ };

/* No hole with a larger key is left: one of the request's own bin may still do. */
RARE static enum found search_own_bin(const struct range_allocator *ra, uint64_t units,
                                      uint64_t alignment, struct range_fit *out_fit)
{
    const struct range_node *nodes = nodes_of(ra);
    unsigned own = bin_of(units);
    uint32_t tile = own < ra->bin_count ? nodes[own].next : own;

    for (unsigned i = 0; tile != own; i++) {
        if (i == OWN_BIN_TRIES)
            return FOUND_MAYBE;
        if (range_units_behind(nodes[tile].start, range_units(&nodes[tile]), ra->key_mask) >=
            units) {
            out_fit->tile = tile;
            out_fit->start = align_up(nodes[tile].start, alignment);
            return FOUND;
        }
        tile = nodes[tile].next;
    }
    /* With a smaller alignment, a hole may fit whose padding the key leaves out. */
    return alignment <= ra->key_mask ? FOUND_MAYBE : FOUND_NONE;
}

/*
 * The alignment is at most that of the keys: a hole with a large enough key fits. Only in the
 * request's own bin may one be too small.
 */
static inline enum found find_by_key(const struct range_allocator *ra, uint64_t units,
                                     uint64_t alignment, struct range_fit *out_fit)
{
    const struct range_node *nodes = nodes_of(ra);
    uint64_t mask = ra->key_mask;

    for (unsigned bin = next_bin(ra, bin_of(units)); bin < RANGE_BIN_COUNT;
         bin = next_bin(ra, bin + 1)) {
        /* Which hole fits and which is lowest is anybody's guess: masks, and no branch. */
        uint64_t lowest = UINT64_MAX;
        uint32_t tile = bin, chosen = bin;

        for (unsigned i = 0; i < HOLES_LOOKED_AT; i++) {
            const struct range_node *hole = &nodes[tile = nodes[tile].next];
            uint64_t behind = range_units_behind(hole->start, range_units(hole), mask);
            uint64_t start = hole->start | ((uint64_t)(behind >= units) - 1);

            chosen ^= (chosen ^ tile) & (0 - (uint32_t)(start < lowest));
            lowest = min_u64(start, lowest);
        }
        if (lowest != UINT64_MAX) {
            prefetch(&nodes[nodes[tile].next]); /* the next take of this size will look at it */
            out_fit->tile = chosen;
            out_fit->start = (lowest + alignment - 1) & ~(alignment - 1);
            return FOUND;
        }
    }

    return search_own_bin(ra, units, alignment, out_fit);
}

/* The alignment is larger: only a hole with room for the most padding fits for sure. */
RARE static enum found find_with_padding(const struct range_allocator *ra, uint64_t units,
                                         uint64_t alignment, struct range_fit *out_fit)
{
    const struct range_query query = {.units = units, .alignment = alignment, .high = UINT64_MAX};
    const struct range_node *nodes = nodes_of(ra);
    unsigned tries_left = ALIGNED_TRIES;
    unsigned sure_bin = RANGE_BIN_COUNT;
    uint64_t sure_units;

    if (add_u64_checked(units, alignment - ra->key_mask - 1, &sure_units))
        sure_bin = bin_of(sure_units) + 1;
    for (unsigned bin = next_bin(ra, bin_of(units)); bin < RANGE_BIN_COUNT;
         bin = next_bin(ra, bin + 1)) {
        if (bin < sure_bin && tries_left == 0) {
            bin = next_bin(ra, sure_bin);
            if (bin == RANGE_BIN_COUNT)
                break;
        }
        for (uint32_t tile = nodes[bin].next; tile != bin; tile = nodes[tile].next) {
            if (range_query_fits(&query, &nodes[tile], false, &out_fit->start)) {
                out_fit->tile = tile;
                return FOUND;
            }
            if (tries_left == 0 || --tries_left == 0)
                break;
        }
    }
    return FOUND_MAYBE;
}

/*
 * For a window that is no small part of the space, with any alignment: the first hole in which the
 * request fits, of the first holes of each bin. False: holes are left that nobody has looked at,
 * and only a search by address can tell.
 */
RARE static bool find_in_window(const struct range_allocator *ra, const struct range_query *query,
                                struct range_fit *out_fit)
{
    const struct range_node *nodes = nodes_of(ra);
    unsigned tries_left = WINDOW_TRIES;

    if (query->low >= query->high ||
        query->high - query->low < (ra->end_unit - ra->first_unit) / WINDOW_PART)
        return false;
    for (unsigned bin = next_bin(ra, bin_of(query->units)); bin < RANGE_BIN_COUNT && tries_left;
         bin = next_bin(ra, bin + 1)) {
        uint32_t tile = nodes[bin].next;

        for (unsigned i = 0; i < HOLES_LOOKED_AT && tile != bin && tries_left; i++, tries_left--) {
            uint64_t start;

            if (range_query_fits(query, &nodes[tile], false, &start)) {
                *out_fit = (struct range_fit){tile, start};
                return true;
            }
            tile = nodes[tile].next;
        }
    }
    return false;
}

/* ---- Merging --------------------------------------------------------------------------------- */

/* Its handle says no more that it is live. */
static inline void put_tile(struct range_allocator *ra, uint32_t tile)
{
    nodes_of(ra)[tile].extent = RANGE_FREE;
    range_table_put(&ra->nodes, tile);
}

/*
 * The released tile becomes a hole, or a part of the holes beside it. The index has to be told of
 * the larger hole first, and then of the tiles that are gone, whose nodes are still as they were.
 */
static void release(struct range_allocator *ra, uint32_t tile)
{
    struct range_node *nodes = nodes_of(ra);
    const struct range_node *node = &nodes[tile];
    uint32_t before = node->before, after = node->after;
    const struct range_node *low = &nodes[before], *high = &nodes[after];
    uint64_t units = range_units(node), slack = range_slack(node);

    ra->live_count--;
    ra->free_units += units - slack;
    if (slack)
        ra->slack_units -= slack;
    if (range_is_free(low)) {
        bool merges_after = range_is_free(high);

        units += range_units(low);
        if (merges_after) {
            bin_remove(ra, after);
            units += range_units(high);
        }
        nodes[before].after = merges_after ? high->after : after;
        nodes[nodes[before].after].before = before;
        resize_hole(ra, before, low->start, units);
        if (ra->tree.is_made) {
            range_tree_update(&ra->tree, nodes, before);
            range_tree_absorb(&ra->tree, nodes, before, tile);
            if (merges_after)
                range_tree_absorb(&ra->tree, nodes, before, after);
        }
        if (merges_after)
            put_tile(ra, after);
        put_tile(ra, tile);
    } else if (range_is_free(high)) {
        nodes[after].before = before;
        nodes[before].after = after;
        resize_hole(ra, after, node->start, units + range_units(high));
        if (ra->tree.is_made) {
            range_tree_update(&ra->tree, nodes, after);
            range_tree_absorb(&ra->tree, nodes, after, tile);
        }
        put_tile(ra, tile);
    } else {
        bin_add(ra, tile, units);
        if (ra->tree.is_made)
            range_tree_update(&ra->tree, nodes, tile);
    }
}

/* ---- Keeping --------------------------------------------------------------------------------- */

/* The range that is released stays as it is for the next request of its size, if it may. */
static inline bool keep(struct range_allocator *ra, uint32_t tile)
{
    struct range_node *node = &nodes_of(ra)[tile];
    uint64_t units = range_units(node), slack = range_slack(node);
    uint64_t size = units >> ra->most_slack_log2;

    if (node->start >= ra->kept_below || size >= RANGE_KEPT_SIZES ||
        ra->kept_counts[size] == KEPT_OF_SIZE || ra->kept_count >= ra->kept_most ||
        ((units | node->start) & ra->most_slack))
        return false;
    node->extent = units | RANGE_KEPT;
    node->next = ra->kept[size];
    ra->kept[size] = tile;
    ra->kept_counts[size]++;
    ra->kept_count++;
    ra->live_count--;
    ra->free_units += units - slack;
    if (slack)
        ra->slack_units -= slack;
    return true;
}

/* A range that was kept with the size of the request. */
static inline bool take_kept(struct range_allocator *ra, uint64_t units, uint64_t alignment,
                             uint64_t owner, uint64_t *out_start, uint32_t *out_handle)
{
    uint64_t whole = (units + ra->most_slack) & ~ra->most_slack;
    uint64_t size = whole >> ra->most_slack_log2;
    struct range_node *node;
    uint32_t tile;

    if (size >= RANGE_KEPT_SIZES || !ra->kept_counts[size])
        return false;
    tile = ra->kept[size];
    node = &nodes_of(ra)[tile];
    if (node->start & (alignment - 1))
        return false;
    ra->kept[size] = node->next;
    ra->kept_counts[size]--;
    node->extent = range_live(whole, whole - units);
    node->owner = owner;
    ra->kept_count--;
    ra->live_count++;
    ra->free_units -= units;
    if (whole != units) {
        ra->slack_units += whole - units;
        ra->slack_mask |= ra->most_slack;
    }
    *out_start = node->start;
    *out_handle = tile;
    return true;
}

/*
 * What is kept becomes holes, before somebody looks at the holes; the next request without
 * placement allows to keep again. That changes nothing of what the caller sees: a lookup may do it
 * in an allocator that is const for its caller.
 */
RARE static void merge_kept(const struct range_allocator *ra)
{
    struct range_allocator *all = (struct range_allocator *)ra;

    for (unsigned size = 0; size < RANGE_KEPT_SIZES && ra->kept_count; size++) {
        for (; ra->kept_counts[size]; all->kept_counts[size]--, all->kept_count--) {
            uint32_t tile = ra->kept[size];
            struct range_node *node = &nodes_of(ra)[tile];

            all->kept[size] = node->next;
            node->extent = range_live(range_units(node), 0);
            all->live_count++;
            all->free_units -= range_units(node);
            release(all, tile);
        }
    }
    all->kept_most = 0;
}

/* The bins had a place at this unit: from now on, ranges are kept below what is usual for them. */
static inline void allow_to_keep(struct range_allocator *ra, uint64_t start)
{
    ra->kept_below += start / KEPT_MEAN - ra->kept_below / KEPT_MEAN;
    ra->kept_most = (uint32_t)(ra->live_count / KEPT_PART);
}

/* ---- Taking ---------------------------------------------------------------------------------- */

/* A tile between two others. There is a spare node. */
static inline uint32_t add_between(struct range_allocator *ra, uint32_t before, uint32_t after,
                                   uint64_t start)
{
    uint32_t added = range_table_get(&ra->nodes);
    struct range_node *nodes = nodes_of(ra);
    struct range_node *node = &nodes[added];

    node->start = start;
    node->before = before;
    node->after = after;
    nodes[before].after = added;
    nodes[after].before = added;
    return added;
}

/* Spare nodes, and room in the index for them. */
INLINE bool make_room(struct range_allocator *ra, uint32_t tile)
{
    if (ra->nodes.spare_count < 2 && !range_table_reserve(&ra->nodes, ra->services, 2))
        return false;
    if (ra->tree.is_made && !range_tree_make_room(&ra->tree, nodes_of(ra), ra->nodes.count, tile))
        range_tree_drop(&ra->tree);
    return true;
}

/* The hole was cut: live is its tile, before it or behind it; high is behind live, if anywhere. */
RARE static void tell_index(struct range_allocator *ra, uint32_t hole, uint32_t live, uint32_t high)
{
    const struct range_node *nodes = nodes_of(ra);

    if (live == hole)
        range_tree_update(&ra->tree, nodes, live);
    else if (nodes[live].after == hole)
        range_tree_insert_before(&ra->tree, nodes, hole, live);
    else
        range_tree_insert_after(&ra->tree, nodes, hole, live);
    if (high != RANGE_NONE)
        range_tree_insert_after(&ra->tree, nodes, live, high);
}

/*
 * A hole keeps what is left of it, and the taken part becomes a new tile.
 *
 *     hole   |-----------------|
 *     take   |-----------------|     exact: the tile changes its kind
 *     take   |-----|                 low: a new tile before the hole
 *     take               |-----|     high: a new tile behind the hole
 *     take         |-----|           middle: a new tile, and a second hole behind it
 */
INLINE enum range_status carve(struct range_allocator *ra, const struct range_fit *fit,
                               uint64_t units, uint64_t owner, uint32_t *out_handle)
{
    uint32_t hole = fit->tile, live = hole, high = RANGE_NONE;
    uint64_t hole_start, low_units, high_units, slack;
    struct range_node *nodes;

    if (!make_room(ra, hole))
        return RANGE_NO_MEMORY;
    nodes = nodes_of(ra);
    hole_start = nodes[hole].start;
    low_units = fit->start - hole_start;
    high_units = range_units(&nodes[hole]) - low_units - units;
    slack = min_u64((0 - fit->start - units) & ra->most_slack, high_units);
    high_units -= slack;
    if (low_units) {
        resize_hole(ra, hole, hole_start, low_units);
        live = add_between(ra, hole, nodes[hole].after, fit->start);
        if (high_units) {
            high = add_between(ra, live, nodes[live].after, fit->start + units + slack);
            bin_add(ra, high, high_units);
        }
    } else if (high_units) {
        live = add_between(ra, nodes[hole].before, hole, hole_start);
        resize_hole(ra, hole, hole_start + units + slack, high_units);
    } else {
        bin_remove(ra, hole);
    }
    nodes[live].extent = range_live(units + slack, slack);
    nodes[live].owner = owner;
    if (slack) {
        ra->slack_units += slack;
        ra->slack_mask |= ra->key_mask;
    }
    if (ra->tree.is_made)
        tell_index(ra, hole, live, high);

    ra->live_count++;
    ra->free_units -= units;
    *out_handle = live;
    return RANGE_OK;
}

/* Clip a query to [low, high) bytes; a high of 0 is no bound. */
static void clip(const struct range_allocator *ra, struct range_query *query, uint64_t low,
                 uint64_t high)
{
    uint64_t low_unit = (low >> ra->unit_shift) + !is_aligned(low, UINT64_C(1) << ra->unit_shift);

    query->low = max_u64(query->low, low_unit);
    if (high)
        query->high = min_u64(query->high, high >> ra->unit_shift);
}

/* Bytes to units, rounded up; false for 0. */
static inline bool size_to_units(const struct range_allocator *ra, uint64_t size,
                                 uint64_t *out_units)
{
    *out_units = ((size - 1) >> ra->unit_shift) + 1;
    return size != 0;
}

/* All slack becomes holes. False, with some of it left, without memory. */
RARE static bool free_slack(struct range_allocator *ra)
{
    uint32_t wall = wall_of(ra);

    merge_kept(ra);
    ra->keeps_no_slack = true;
    set_most_slack(ra, 0);
    for (uint32_t tile = nodes_of(ra)[wall].after; tile != wall && ra->slack_units;
         tile = nodes_of(ra)[tile].after) {
        struct range_node *node = &nodes_of(ra)[tile];
        uint64_t units, slack;
        uint32_t hole;

        if (!range_is_live(node) || !range_slack(node))
            continue;
        if (!make_room(ra, tile))
            return false;
        node = &nodes_of(ra)[tile];
        units = taken_units(node);
        slack = range_slack(node);
        node->extent = range_live(units, 0);
        hole = add_between(ra, tile, node->after, node->start + units);
        nodes_of(ra)[hole].extent = range_live(slack, 0);
        if (ra->tree.is_made)
            range_tree_insert_after(&ra->tree, nodes_of(ra), tile, hole);
        ra->slack_units -= slack;
        ra->free_units -= slack; /* release() gives it back */
        ra->live_count++;
        release(ra, hole);
    }
    ra->slack_mask = 0;
    return true;
}

RARE static bool search_all(struct range_allocator *ra, uint64_t units, uint64_t alignment,
                            struct range_fit *out_fit)
{
    const struct range_query query = {units, alignment, ra->first_unit, ra->end_unit};

    return find_by_address(ra, &query, RANGE_ANYWHERE, out_fit);
}

static inline enum found search_bins(const struct range_allocator *ra, uint64_t units,
                                     uint64_t alignment, struct range_fit *out_fit)
{
    return alignment <= ra->key_mask + 1 ? find_by_key(ra, units, alignment, out_fit)
                                         : find_with_padding(ra, units, alignment, out_fit);
}

/* The bins had no sure place. */
RARE static bool find_last_place(struct range_allocator *ra, enum found found, uint64_t units,
                                 uint64_t alignment, struct range_fit *out_fit)
{
    if (ra->kept_count) {
        merge_kept(ra);
        found = search_bins(ra, units, alignment, out_fit);
    }
    return found == FOUND || (found == FOUND_MAYBE && search_all(ra, units, alignment, out_fit));
}

/* FOUND_MAYBE: any place will do. */
RARE static enum found find_placed(struct range_allocator *ra, const struct range_request *request,
                                   uint64_t units, uint64_t alignment, struct range_fit *out_fit)
{
    struct range_query query = {units, alignment, ra->first_unit, ra->end_unit};

    clip(ra, &query, request->window_low, request->window_high);
    if (request->preferred_high) {
        struct range_query preferred = query;

        clip(ra, &preferred, request->preferred_low, request->preferred_high);
        if (find_by_address(ra, &preferred, request->place, out_fit))
            return FOUND;
    }
    if (request->place == RANGE_ANYWHERE && query.low == ra->first_unit &&
        query.high == ra->end_unit)
        return FOUND_MAYBE;
    if (request->place == RANGE_ANYWHERE && find_in_window(ra, &query, out_fit))
        return FOUND;
    return find_by_address(ra, &query, request->place, out_fit) ? FOUND : FOUND_NONE;
}

/* Not of what is kept. */
NOINLINE static enum range_status
take_from_holes(struct range_allocator *ra, const struct range_request *request, bool is_placed,
                uint64_t units, uint64_t alignment, uint64_t *out_offset, uint32_t *out_handle)
{
    enum found found = FOUND_MAYBE;
    struct range_fit fit;
    enum range_status status;
    bool is_found;

    if (is_placed) {
        merge_kept(ra);
        if (ra->slack_units && !free_slack(ra))
            return RANGE_NO_MEMORY;
        found = find_placed(ra, request, units, alignment, &fit);
    }
    is_found = found == FOUND;
    if (found == FOUND_MAYBE) {
        vote(ra, alignment);
        found = search_bins(ra, units, alignment, &fit);
        is_found = found == FOUND || find_last_place(ra, found, units, alignment, &fit);
    }
    if (!is_found && ra->slack_units && alignment <= ra->slack_mask) {
        if (!free_slack(ra))
            return RANGE_NO_MEMORY;
        is_found = search_all(ra, units, alignment, &fit);
    }
    if (!is_found)
        return RANGE_FULL;

    if (!is_placed)
        allow_to_keep(ra, fit.start);
    status = carve(ra, &fit, units, request->owner, out_handle);
    if (status == RANGE_OK)
        *out_offset = fit.start << ra->unit_shift;
    return status;
}

enum range_status range_allocator_take_handle(struct range_allocator *ra,
                                              const struct range_request *request,
                                              uint64_t *out_offset, uint32_t *out_handle)
{
    uint64_t alignment = max_u64(request->alignment >> ra->unit_shift, 1);
    bool is_placed = ((uint64_t)request->place | request->window_low | request->window_high |
                      request->preferred_high) != 0;
    uint64_t units, start;

    *out_offset = 0;
    *out_handle = 0;
    if (!size_to_units(ra, request->size, &units) || request->alignment & (request->alignment - 1))
        return RANGE_INVALID;
    if (is_placed || !take_kept(ra, units, alignment, request->owner, &start, out_handle))
        return take_from_holes(ra, request, is_placed, units, alignment, out_offset, out_handle);
    *out_offset = start << ra->unit_shift;
    return RANGE_OK;
}

enum range_status range_allocator_take(struct range_allocator *ra,
                                       const struct range_request *request, uint64_t *out_offset)
{
    uint32_t handle;

    return range_allocator_take_handle(ra, request, out_offset, &handle);
}

/* True when offset and size are whole units inside the space. */
static bool to_units(const struct range_allocator *ra, uint64_t offset, uint64_t size,
                     uint64_t *out_start, uint64_t *out_units)
{
    *out_start = offset >> ra->unit_shift;
    return size_to_units(ra, size, out_units) &&
           is_aligned(offset, UINT64_C(1) << ra->unit_shift) && *out_start >= ra->first_unit &&
           *out_start < ra->end_unit && ra->end_unit - *out_start >= *out_units;
}

enum range_status range_allocator_take_at(struct range_allocator *ra, uint64_t offset,
                                          uint64_t size, uint64_t owner)
{
    const struct range_node *node;
    struct range_fit fit;
    uint64_t units;
    uint32_t handle;

    if (!to_units(ra, offset, size, &fit.start, &units))
        return RANGE_INVALID;
    merge_kept(ra);
    if (ra->slack_units && !free_slack(ra))
        return RANGE_NO_MEMORY;

    fit.tile = tile_at(ra, fit.start);
    node = &nodes_of(ra)[fit.tile];
    if (!range_is_free(node) || range_end(node) - fit.start < units)
        return RANGE_FULL;
    return carve(ra, &fit, units, owner, &handle);
}

/* ---- Releasing ------------------------------------------------------------------------------- */

enum range_status range_allocator_release_handle(struct range_allocator *ra, uint32_t handle)
{
    if (handle <= wall_of(ra) || handle >= ra->nodes.count || !range_is_live(&nodes_of(ra)[handle]))
        return RANGE_INVALID;
    if (!keep(ra, handle))
        release(ra, handle);
    return RANGE_OK;
}

enum range_status range_allocator_release(struct range_allocator *ra, uint64_t offset,
                                          uint64_t size)
{
    const struct range_node *node;
    uint64_t start, units;
    uint32_t tile;

    if (!to_units(ra, offset, size, &start, &units))
        return RANGE_INVALID;
    tile = tile_at(ra, start);
    node = &nodes_of(ra)[tile];
    if (!range_is_live(node) || node->start != start || taken_units(node) != units)
        return RANGE_INVALID;
    release(ra, tile);
    return RANGE_OK;
}

/* ---- Asking ---------------------------------------------------------------------------------- */

/* The part of the tile that the unit is in: a hole, a live range, or its slack, which is free. */
static void describe(const struct range_allocator *ra, uint32_t tile, uint64_t unit,
                     struct range_info *out_info)
{
    const struct range_node *node = &nodes_of(ra)[tile];
    uint64_t taken = taken_units(node);
    bool is_slack = unit >= node->start + taken;

    out_info->offset = (is_slack ? node->start + taken : node->start) << ra->unit_shift;
    out_info->size = (is_slack ? range_slack(node) : taken) << ra->unit_shift;
    out_info->is_free = is_slack || !range_is_live(node);
    out_info->owner = out_info->is_free ? 0 : node->owner;
}

bool range_allocator_range_at(const struct range_allocator *ra, uint64_t offset,
                              struct range_info *out_info)
{
    uint64_t unit = offset >> ra->unit_shift;

    memset(out_info, 0, sizeof *out_info);
    if (unit < ra->first_unit || unit >= ra->end_unit)
        return false;
    describe(ra, tile_at(ra, unit), unit, out_info);
    if (out_info->is_free && ra->kept_count) {
        merge_kept(ra);
        describe(ra, tile_at(ra, unit), unit, out_info);
    }
    return true;
}

bool range_allocator_find(const struct range_allocator *ra, uint64_t offset,
                          struct range_info *out_info)
{
    if (range_allocator_range_at(ra, offset, out_info) && !out_info->is_free)
        return true;
    memset(out_info, 0, sizeof *out_info);
    return false;
}

uint64_t range_allocator_free_bytes(const struct range_allocator *ra)
{
    return ra->free_units << ra->unit_shift;
}

uint64_t range_allocator_largest_free(struct range_allocator *ra)
{
    const struct range_node *nodes = nodes_of(ra);
    uint32_t wall = wall_of(ra);
    uint64_t largest = 0;

    merge_kept(ra);
    /* Without memory for that, no slack is as large as a hole of the keys; or there is no hole. */
    if (ra->slack_units)
        free_slack(ra);
    nodes = nodes_of(ra);
    if (has_index(ra))
        return range_tree_largest(&ra->tree, nodes) << ra->unit_shift;
    for (uint32_t tile = nodes[wall].after; tile != wall; tile = nodes[tile].after)
        largest =
            range_is_free(&nodes[tile]) ? max_u64(largest, range_units(&nodes[tile])) : largest;
    return largest << ra->unit_shift;
}

uint64_t range_allocator_live_count(const struct range_allocator *ra)
{
    return ra->live_count;
}

uint64_t range_allocator_hole_count(const struct range_allocator *ra)
{
    merge_kept(ra);
    return tile_count(ra) - ra->live_count;
}

uint64_t range_allocator_metadata_bytes(const struct range_allocator *ra)
{
    return sizeof *ra + ra->nodes.bytes + range_tree_bytes(&ra->tree);
}
