/*
 * Oracle: which rule is broken where content is wrong.
 *
 * Each mistake leaves its own picture. The wrong content is looked for in the allocation: the
 * content of another page tells a shift, and the shift tells which offset was misused. Where the
 * old content stands, the page is looked for where a driver with a certain mistake would have put
 * it. A mismatch that fits no picture is blamed on no rule.
 */
#include "check/oracle/oracle_private.h"

#include "base/assert.h"
#include "miniport/operation.h"

#include <stdio.h>

#define MOST_PAGES_SEARCHED 65536u

static bool is_transfer(const struct paging_operation *operation)
{
    return operation->operation == DXGK_OPERATION_TRANSFER ||
           operation->operation == DXGK_OPERATION_SPECIAL_LOCK_TRANSFER;
}

static bool is_out(const struct paging_operation *operation)
{
    return operation->arg.Transfer.Destination.SegmentId == 0;
}

static bool has_segment(const struct paging_operation *operation)
{
    return operation->arg.Transfer.Source.SegmentId ||
           operation->arg.Transfer.Destination.SegmentId;
}

/* Pages of the allocation in front of the operation's first. */
static uint64_t offset_of(const struct paging_operation *operation)
{
    return miniport_operation_offset(&operation->arg) / PAGE_BYTES;
}

/* Rows have a pitch on one of the sides at least. */
static bool has_pitch(const struct oracle *oracle, const struct paging_operation *operation)
{
    return operation->allocation->is_pitched && is_transfer(operation) &&
           (has_layout_in(oracle, operation->allocation,
                          operation->arg.Transfer.Source.SegmentId) ||
            has_layout_in(oracle, operation->allocation,
                          operation->arg.Transfer.Destination.SegmentId));
}

/* ---- Evaluations ---- */

static void evaluate(struct oracle *oracle, enum rule_id rule, bool could_break)
{
    if (could_break)
        oracle->config.counts->evaluated[rule]++;
}

void oracle_evaluate(struct oracle *oracle, const struct paging_operation *operation)
{
    const DXGKARG_BUILDPAGINGBUFFER *arg = &operation->arg;
    bool has_order = operation->allocation->layout && !operation->allocation->is_pitched;
    bool is_swizzled = operation->allocation->is_swizzled;

    if (!oracle->config.counts)
        return;
    switch (operation->operation) {
    case DXGK_OPERATION_TRANSFER:
        evaluate(oracle, RULE_XFER_003, has_segment(operation) && offset_of(operation));
        evaluate(oracle, RULE_XFER_004, operation->has_list && arg->Transfer.MdlOffset);
        evaluate(oracle, RULE_XFER_005, operation->list_is_scattered);
        evaluate(oracle, RULE_XFER_006, true);
        evaluate(oracle, RULE_XFER_014, has_order && is_swizzled);
        evaluate(oracle, RULE_XFER_018, has_pitch(oracle, operation));
        evaluate(oracle, RULE_SWZ_007, has_order && !is_swizzled);
        evaluate(oracle, RULE_PB_011, operation->is_repeated);
        break;
    case DXGK_OPERATION_SPECIAL_LOCK_TRANSFER:
        evaluate(oracle, RULE_SLT_003, operation->has_list);
        evaluate(oracle, RULE_SLT_004, has_order);
        evaluate(oracle, RULE_SLT_007, true);
        break;
    case DXGK_OPERATION_FILL:
        evaluate(oracle, RULE_FILL_001, true);
        evaluate(oracle, RULE_FILL_005, true);
        evaluate(oracle, RULE_FILL_007, has_order);
        break;
    case DXGK_OPERATION_DISCARD_CONTENT:
        evaluate(oracle, RULE_DISC_003, true);
        break;
    case DXGK_OPERATION_VIRTUAL_TRANSFER:
        evaluate(oracle, RULE_VX_003, true);
        evaluate(oracle, RULE_VX_002, offset_of(operation) != 0);
        evaluate(oracle, RULE_PB_011, operation->is_repeated);
        break;
    case DXGK_OPERATION_VIRTUAL_FILL:
        evaluate(oracle, RULE_VX_008, true);
        break;
    default:
        break;
    }
}

/* ---- Pictures ---- */

/* What is found, and where it should be. */
struct picture {
    struct oracle *oracle;
    const struct oracle_allocation *allocation;
    uint64_t page; /* of the allocation */
    struct page_store *store;
    uint64_t store_page;
    const struct paging_operation *by;
};

static bool has_content_of(const struct picture *picture, struct page_store *store,
                           uint64_t store_page, uint64_t page)
{
    return store && store_page < page_store_page_count(store) &&
           page_store_compare(picture->oracle->expected, picture->allocation->expected_page + page,
                              store, store_page, 1, NULL);
}

/* Nobody wrote the page: it looks like any other that nobody wrote. */
static bool is_plain(const struct picture *picture, uint64_t page)
{
    return is_as_at_first(picture->oracle, picture->allocation, page);
}

/* Another page of the allocation whose content is found, the nearest to the start; false: none. */
static bool find_content(const struct picture *picture, uint64_t *out_page)
{
    uint64_t count = min_u64(picture->allocation->page_count, MOST_PAGES_SEARCHED);

    for (uint64_t page = 0; picture->store && page < count; page++) {
        *out_page = page;
        if (page != picture->page && !is_plain(picture, page) &&
            has_content_of(picture, picture->store, picture->store_page, page))
            return true;
    }
    return false;
}

static bool is_initial(const struct picture *picture)
{
    uint32_t pattern = picture->oracle->config.initial_pattern;

    return picture->store ? page_store_is_fill(picture->store, picture->store_page * PAGE_BYTES,
                                               PAGE_BYTES, pattern, NULL)
                          : pattern == 0;
}

static bool is_uniform(const struct picture *picture)
{
    enum page_kind kind = page_store_kind(picture->store, picture->store_page);

    return kind == PAGE_ZERO || kind == PAGE_PATTERN;
}

/* Filled, and not as the manager fills. */
static bool is_pattern(const struct picture *picture)
{
    return picture->store && !is_initial(picture) && is_uniform(picture);
}

/* The content of the page stands where the operation's destination would be `back` pages before. */
static bool stands_before(const struct picture *picture, uint64_t back)
{
    uint64_t location = LOCATION_UNKNOWN;

    if (is_plain(picture, picture->page) || !back || back > picture->page)
        return false;
    if (picture->allocation->locations)
        location = picture->allocation->locations[picture->page - back];
    return has_content_of(picture, location_store(picture->oracle, location),
                          location_page(location), picture->page);
}

/* What a list whose pages follow its first would have shown. */
static bool is_one_run(const struct picture *picture)
{
    const struct paging_operation *by = picture->by;
    struct page_store *ram = picture->oracle->config.ram;
    uint64_t page;

    if (!by->has_list || !by->list_is_scattered || picture->page <= by->first_page ||
        is_plain(picture, picture->page))
        return false;
    page = by->list_page + picture->page - by->first_page;
    if (page >= page_store_page_count(ram))
        return false;
    if (is_out(by))
        return has_content_of(picture, ram, page, picture->page);
    return picture->store && !is_uniform(picture) &&
           page_store_compare(ram, page, picture->store, picture->store_page, 1, NULL);
}

static enum rule_id say(enum rule_id rule, char text[BLAME_BYTES], const char *sentence)
{
    ASSERT(rule_get(rule)->side == RULE_SIDE_DRIVER || rule_is_carried_out(rule));
    snprintf(text, BLAME_BYTES, ": %s", sentence);
    return rule;
}

/* ---- Content that something else has spoilt -------------------------------------------------- */

/*
 * The last fill that ends in front of the page, not further away than it is long itself; NULL: none
 * that is known.
 */
static const struct oracle_fill *find_fill(const struct oracle *oracle, uint64_t location)
{
    const struct oracle_fill *found = NULL;

    for (unsigned i = 0; i < ORACLE_FILLS && i < oracle->fill_count; i++) {
        const struct oracle_fill *fill = &oracle->fills[i];

        if (fill->end <= location && location - fill->end < fill->end - fill->start &&
            (!found || fill->end > found->end ||
             (fill->end == found->end && fill->event > found->event)))
            found = fill;
    }
    return found;
}

/* The page is where it was left, and nobody but a fill has been there. */
static enum rule_id blame_other_fill(const struct picture *picture, uint64_t location,
                                     char text[BLAME_BYTES], const struct oracle_fill **out_fill)
{
    *out_fill = find_fill(picture->oracle, location);
    return say(picture->oracle->has_paging_process ? RULE_VX_008 : RULE_FILL_005, text,
               "a fill of something else went there");
}

/* The place in local memory that the transfer took the page from; LOCATION_UNKNOWN: none. */
static uint64_t source_of(const struct picture *picture)
{
    const DXGKARG_BUILDPAGINGBUFFER *arg = &picture->by->arg;
    const struct oracle_segment *segment =
        picture->by->operation == DXGK_OPERATION_TRANSFER && !picture->allocation->layout
            ? find_segment(picture->oracle, arg->Transfer.Source.SegmentId)
            : NULL;
    uint64_t address;

    if (!segment || segment->is_aperture)
        return LOCATION_UNKNOWN;
    address = (uint64_t)arg->Transfer.Source.SegmentAddress.QuadPart;
    if (address < segment->base)
        return LOCATION_UNKNOWN;
    return segment_location(picture->oracle, segment->id,
                            address - segment->base + picture->page * PAGE_BYTES);
}

/* What the transfer brought stands where it took it from: it was wrong there already. */
static bool was_wrong_before(const struct picture *picture, uint64_t source)
{
    struct page_store *store = location_store(picture->oracle, source);

    return store && picture->store && location_page(source) < page_store_page_count(store) &&
           !has_content_of(picture, store, location_page(source), picture->page) &&
           page_store_compare(store, location_page(source), picture->store, picture->store_page, 1,
                              NULL);
}

static enum rule_id blame_shift(const struct picture *picture, uint64_t holds,
                                char text[BLAME_BYTES])
{
    bool is_low = holds < picture->page; /* what stands in front of the right content */
    bool is_list = is_low != is_out(picture->by);
    const char *what = is_list ? "MdlOffset had been ignored" : "TransferOffset had been misused";
    enum rule_id rule = is_list ? RULE_XFER_004 : RULE_XFER_003;

    if (picture->by->operation == DXGK_OPERATION_SPECIAL_LOCK_TRANSFER) {
        what = "TransferOffset had been applied to the page list";
        rule = RULE_SLT_003;
    }
    if (has_pitch(picture->oracle, picture->by)) {
        what = "its rows had no pitch, or another one";
        rule = RULE_XFER_018;
    } else if (picture->allocation->layout && !picture->allocation->is_pitched) {
        what = "the order of its tiles had not been changed";
        rule = rule == RULE_SLT_003               ? RULE_SLT_004
               : picture->allocation->is_swizzled ? RULE_XFER_014
                                                  : RULE_SWZ_007;
    }
    snprintf(text, BLAME_BYTES, ": page %llu holds what belongs to page %llu, as if %s",
             (unsigned long long)picture->page, (unsigned long long)holds, what);
    return rule;
}

static enum rule_id blame_transfer(const struct picture *picture, char text[BLAME_BYTES])
{
    const struct paging_operation *by = picture->by;
    bool is_special = by->operation == DXGK_OPERATION_SPECIAL_LOCK_TRANSFER;
    uint64_t offset = offset_of(by);
    uint64_t list_offset = is_special ? 0 : by->arg.Transfer.MdlOffset;
    uint64_t holds;
    bool is_part = offset || !by->arg.Transfer.Flags.TransferEnd;

    if (is_one_run(picture))
        return say(RULE_XFER_005, text, "as if the pages of the list followed each other");
    if (find_content(picture, &holds)) {
        if (is_part || is_special || picture->allocation->layout)
            return blame_shift(picture, holds, text);
        if (by->is_repeated)
            return say(RULE_PB_011, text, "as if the parts of the operation were not its prefixes");
        return RULE_NONE;
    }
    if (!is_out(by) && stands_before(picture, offset))
        return say(RULE_XFER_003, text, "it stands as if TransferOffset had been ignored");
    if (is_out(by) && stands_before(picture, list_offset))
        return say(RULE_XFER_004, text, "it stands as if MdlOffset had been ignored");
    if (has_pitch(picture->oracle, by))
        return say(RULE_XFER_018, text, "its rows came to other places than those of their pitch");
    if (is_special && picture->allocation->layout)
        return say(RULE_SLT_004, text, "the transfer brought something else");
    if (is_special)
        return say(RULE_SLT_007, text, "the transfer was not executed, or in part");
    if (picture->allocation->is_swizzled)
        return say(RULE_XFER_014, text,
                   "it holds no page of it as the flags say: another order, or other bytes");
    if (by->is_repeated)
        return say(RULE_PB_011, text, "a part of the operation was lost");
    if (has_segment(by) && offset && !is_out(by) && picture->page == by->first_page)
        return say(RULE_XFER_003, text, "nothing was brought to where TransferOffset points");
    return say(RULE_XFER_006, text, "the transfer was not executed, or in part");
}

static enum rule_id blame_virtual(const struct picture *picture, char text[BLAME_BYTES])
{
    if (offset_of(picture->by))
        return say(
            RULE_VX_002, text,
            "nothing was brought to the address, as if AllocationOffsetInBytes belonged to it");
    if (picture->by->is_repeated)
        return say(RULE_PB_011, text, "a part of the operation was lost");
    return say(RULE_VX_003, text, "the transfer was not executed, or in part");
}

static enum rule_id blame_fill(const struct picture *picture, char text[BLAME_BYTES])
{
    if (!is_plain(picture, picture->page))
        return say(RULE_FILL_001, text, "it had content, and was filled");
    if (picture->by->operation == DXGK_OPERATION_VIRTUAL_FILL)
        return say(RULE_VX_008, text, "the fill left another pattern, or did not come so far");
    if (picture->allocation->layout && !picture->allocation->is_pitched)
        return say(RULE_FILL_007, text, "the fill did not cover all of its tiles");
    return say(RULE_FILL_005, text, "the fill left another pattern, or did not come so far");
}

enum rule_id oracle_blame(struct oracle *oracle, const struct oracle_allocation *allocation,
                          uint64_t page, struct page_store *store, uint64_t store_page,
                          const struct occasion *occasion, char text[BLAME_BYTES],
                          const struct oracle_fill **out_fill)
{
    const struct picture picture = {.oracle = oracle,
                                    .allocation = allocation,
                                    .page = page,
                                    .store = store,
                                    .store_page = store_page,
                                    .by = occasion->by};
    uint64_t location = allocation->locations ? allocation->locations[page] : LOCATION_UNKNOWN;

    text[0] = '\0';
    *out_fill = NULL;
    if (oracle->discards_write && is_pattern(&picture))
        return say(RULE_DISC_003, text,
                   "nobody fills with that, but the driver has commands for DISCARD_CONTENT");
    if (occasion->kind != OCCASION_OPERATION) {
        /* Where it was left: not a matter of translations, then. */
        if (location_kind(location) != LOCATION_LOCAL ||
            location_store(oracle, location) != store || location_page(location) != store_page ||
            !is_initial(&picture))
            return RULE_NONE;
        return blame_other_fill(&picture, location, text, out_fill);
    }
    if (!occasion->by)
        return RULE_NONE;
    if (is_transfer(occasion->by)) {
        uint64_t source = source_of(&picture);

        if (is_initial(&picture) && was_wrong_before(&picture, source) && find_fill(oracle, source))
            return blame_other_fill(&picture, source, text, out_fill);
        return blame_transfer(&picture, text);
    }
    switch (occasion->operation) {
    case DXGK_OPERATION_VIRTUAL_TRANSFER:
        return blame_virtual(&picture, text);
    case DXGK_OPERATION_FILL:
    case DXGK_OPERATION_VIRTUAL_FILL:
        return blame_fill(&picture, text);
    case DXGK_OPERATION_DISCARD_CONTENT:
        if (!oracle->discards_write && is_initial(&picture))
            return blame_other_fill(&picture, location, text, out_fill);
        return say(RULE_DISC_003, text, "it was discarded, which moves nothing");
    default:
        return RULE_NONE;
    }
}
