/* Whether a range allocator is whole, and what is in it. */
#include "base/range_allocator_private.h"

#include <inttypes.h>
#include <stdio.h>

static const char *check_bins(const struct range_allocator *ra)
{
    const struct range_node *nodes = nodes_of(ra);
    uint64_t seen = 0, hole_count = tile_count(ra) - ra->live_count - ra->kept_count;

    for (uint32_t bin = 0; bin < RANGE_BIN_COUNT; bin++) {
        bool is_marked = ra->bin_bits[bin / 64] >> bin % 64 & 1;

        if (is_marked != (bin < ra->bin_count && nodes[bin].next != bin))
            return "the bit of a bin is wrong";
        if (bin >= ra->bin_count)
            continue;
        for (uint32_t at = bin; at != bin || nodes[at].next != bin; at = nodes[at].next) {
            uint32_t next = nodes[at].next;

            if (nodes[next].prev != at)
                return "a bin is badly linked";
            if (next == bin)
                break;
            if (++seen > hole_count)
                return "the bins hold more tiles than there are holes";
            if (!range_is_free(&nodes[next]) || range_bin(&nodes[next]) != bin ||
                bin_for(ra, nodes[next].start, range_units(&nodes[next])) != bin)
                return "a tile is in the wrong bin";
        }
    }
    return seen == hole_count ? NULL : "a hole is in no bin";
}

static bool check_kept(const struct range_allocator *ra)
{
    const struct range_node *nodes = nodes_of(ra);
    uint32_t seen = 0;

    for (unsigned size = 0; size < RANGE_KEPT_SIZES; size++) {
        uint32_t tile = ra->kept[size];

        for (unsigned i = 0; i < ra->kept_counts[size]; i++, seen++, tile = nodes[tile].next) {
            const struct range_node *node = &nodes[tile];

            if (range_is_free(node) || range_is_live(node) ||
                range_units(node) >> ra->most_slack_log2 != size ||
                ((range_units(node) | node->start) & ra->most_slack))
                return false;
        }
    }
    return seen == ra->kept_count;
}

const char *range_allocator_check(const struct range_allocator *ra)
{
    const struct range_node *nodes = nodes_of(ra);
    uint32_t wall = wall_of(ra), before = wall;
    uint64_t live_count = 0, hole_count = 0, free_units = 0, slack_units = 0;
    uint64_t kept_count = 0;
    uint64_t next = ra->first_unit;

    for (uint32_t tile = nodes[wall].after; tile != wall; tile = nodes[tile].after) {
        const struct range_node *node = &nodes[tile];
        bool is_free = range_is_free(node), is_live = range_is_live(node);

        if (node->before != before)
            return "a tile does not know the tile before it";
        if (node->start != next || range_units(node) == 0)
            return "the tiles leave a gap, overlap or are empty";
        if (is_free && range_is_free(&nodes[before]))
            return "two holes touch";
        live_count += is_live;
        hole_count += is_free;
        kept_count += !is_live && !is_free;
        slack_units += is_live ? range_slack(node) : 0;
        free_units += is_live ? range_slack(node) : range_units(node);
        if (is_live && (range_slack(node) > ra->slack_mask || taken_units(node) == 0))
            return "a range has more slack than any may have";
        next = range_end(node);
        before = tile;
    }
    if (next != ra->end_unit || nodes[wall].before != before || range_is_free(&nodes[wall]))
        return "the tiles do not end where the space ends";
    if (live_count != ra->live_count || kept_count != ra->kept_count ||
        live_count + hole_count + kept_count != tile_count(ra) || free_units != ra->free_units ||
        slack_units != ra->slack_units)
        return "a total is wrong";
    if (ra->tree.is_made) {
        const char *broken = range_tree_check(&ra->tree, nodes, nodes[wall].after, wall);

        if (broken)
            return broken;
    }
    return check_kept(ra) ? check_bins(ra) : "a range that is kept stands under another size";
}

void range_allocator_dump(const struct range_allocator *ra,
                          void (*print)(void *context, const char *line), void *context)
{
    uint64_t at = ra->first_unit << ra->unit_shift;
    struct range_info info;
    char line[128];

    for (; range_allocator_range_at(ra, at, &info); at = info.offset + info.size) {
        if (info.is_free)
            snprintf(line, sizeof line, "0x%012" PRIx64 " 0x%012" PRIx64 " free", info.offset,
                     info.size);
        else
            snprintf(line, sizeof line, "0x%012" PRIx64 " 0x%012" PRIx64 " owner 0x%" PRIx64,
                     info.offset, info.size, info.owner);
        print(context, line);
    }
}
