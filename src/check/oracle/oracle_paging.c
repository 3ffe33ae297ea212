/*
 * Oracle: the shadow of where pages are.
 *
 * An operation (oracle_operation.c) takes effect when its packet has retired: all operations of the
 * packets that one fence completes are published in the order in which they were built, and then
 * compared where no later operation moved the page again. So packets that two interrupts merge into
 * one are judged by the content that is there now.
 */
#include "check/oracle/oracle_private.h"
#include "miniport/operation.h"

#include <string.h>

/* ---- Retiring ---- */

static inline bool goes_in(uint64_t former, uint64_t location)
{
    return location_kind(former) == LOCATION_SYSTEM && location_kind(location) == LOCATION_LOCAL;
}

static inline void publish_place(uint64_t *at, uint64_t *backing, uint64_t location)
{
    uint64_t former = *at;

    if (location_kind(former) == LOCATION_SYSTEM)
        *backing = goes_in(former, location) ? former : 0;
    *at = location;
}

static void publish_linear(uint64_t *at, uint64_t *backing, uint64_t count, uint64_t first)
{
    const uint64_t step = first != LOCATION_UNKNOWN;

    for (uint64_t i = 0; backing && i < count; i++)
        publish_place(&at[i], &backing[i], first + i * step);
    for (uint64_t i = 0; !backing && i < count; i++)
        at[i] = first + i * step;
}

static void publish_list(uint64_t *at, uint64_t *backing, uint64_t count, const uint64_t *locations)
{
    for (uint64_t i = 0; backing && i < count; i++)
        publish_place(&at[i], &backing[i], locations[i]);
    if (!backing)
        memcpy(at, locations, count * sizeof *at);
}

/* Some page goes from system memory to local memory. */
static bool some_go_in(const struct paging_operation *operation)
{
    const uint64_t *at = operation->allocation->locations + operation->first_page;

    if (operation->is_linear && location_kind(operation->locations[0]) != LOCATION_LOCAL)
        return false;
    for (uint64_t i = 0; i < operation->page_count; i++) {
        if (goes_in(at[i], operation_location(operation, i)))
            return true;
    }
    return false;
}

static void publish_places(struct oracle *oracle, const struct paging_operation *operation)
{
    struct oracle_allocation *allocation = operation->allocation;
    uint64_t *at = allocation->locations + operation->first_page;
    uint64_t *backing;

    if (!allocation->backing && some_go_in(operation))
        ensure_backing(oracle, allocation);
    backing = allocation->backing ? allocation->backing + operation->first_page : NULL;
    if (operation->is_linear)
        publish_linear(at, backing, operation->page_count, operation->locations[0]);
    else
        publish_list(at, backing, operation->page_count, operation->locations);
    if (operation->first_page + operation->page_count == allocation->page_count)
        drop_idle_backing(oracle, allocation);
}

/*
 * A discarded page is still where it was, and nobody has the place yet: the manager learns of the
 * end only now. That holds for an allocation that is being destroyed, too; offered content may be
 * gone already.
 */
static void look_at_discarded(struct oracle *oracle, const struct paging_operation *operation)
{
    struct oracle_allocation *allocation = operation->allocation;
    const struct occasion occasion = {.kind = OCCASION_OPERATION,
                                      .operation = operation->operation,
                                      .event = operation->event,
                                      .arg = &operation->arg,
                                      .by = operation};
    uint64_t i = 0;

    if (allocation->is_offered || (!allocation->is_live && oracle->reset_count))
        return;
    oracle_evaluate(oracle, operation);
    while (i < operation->page_count) {
        const uint64_t *locations = allocation->locations + operation->first_page + i;
        uint64_t run = location_run(locations, operation->page_count - i);

        if (location_kind(locations[0]) == LOCATION_LOCAL)
            compare_pages(oracle, allocation, operation->first_page + i, run, locations[0],
                          &occasion);
        i += run;
    }
}

/*
 * Counts pages that went from local memory to system memory. By their slots in an aperture: until
 * the slots are unmapped. By addresses: until an operation of another allocation has run. The
 * addresses are given back before, or with those of others: then nothing of it is lost any more.
 */
static void count_leaving(struct oracle *oracle, const struct paging_operation *operation)
{
    const DXGKARG_BUILDPAGINGBUFFER *arg = &operation->arg;
    struct oracle_allocation *allocation = operation->allocation;
    bool is_by_slots = operation->operation == DXGK_OPERATION_TRANSFER &&
                       is_memory_segment(oracle, arg->Transfer.Source.SegmentId) &&
                       arg->Transfer.Destination.SegmentId &&
                       !is_memory_segment(oracle, arg->Transfer.Destination.SegmentId);
    bool is_by_address =
        operation->operation == DXGK_OPERATION_VIRTUAL_TRANSFER &&
        arg->TransferVirtual.TransferDirection == DXGK_MEMORY_TRANSFER_LOCAL_TO_SYSTEM;

    if (is_by_slots || is_by_address)
        allocation->leaving_pages += operation->page_count;
    else
        allocation->leaving_pages = 0;
    if (is_by_address)
        oracle->leaving = allocation;
}

static void end_leaving(struct oracle *oracle, const struct oracle_allocation *by)
{
    if (!oracle->leaving || oracle->leaving == by)
        return;
    oracle->leaving->leaving_pages = 0;
    oracle->leaving = NULL;
}

/* Fills are remembered by where they end: oracle_blame.c finds one that went too far. */
static void note_fill(struct oracle *oracle, const struct paging_operation *operation)
{
    uint64_t first, last;

    if (miniport_operation_kind(operation->operation) != MINIPORT_KIND_FILL ||
        !operation->page_count)
        return;
    first = operation_location(operation, 0);
    last = operation_location(operation, operation->page_count - 1);
    if (location_kind(first) == LOCATION_LOCAL && last >= first)
        oracle->fills[oracle->fill_count++ % ORACLE_FILLS] =
            (struct oracle_fill){operation->event, first, last + 1, operation->arg};
}

static void publish(struct oracle *oracle, const struct paging_operation *operation)
{
    struct oracle_allocation *allocation = operation->allocation;

    end_leaving(oracle, allocation);
    if (operation->effect == EFFECT_UNMAP) {
        allocation->leaving_pages -=
            min_u64(allocation->leaving_pages, operation->arg.UnmapApertureSegment.NumberOfPages);
        return;
    }

    if (operation->effect == EFFECT_NOTICE || operation->effect == EFFECT_SHOWN ||
        operation->effect == EFFECT_FAREWELL) {
        publish_notice(oracle, operation);
        return;
    }
    if (operation->effect == EFFECT_PLACE) {
        check_noticed_move(oracle, operation);
        publish_places(oracle, operation);
        note_fill(oracle, operation);
        count_leaving(oracle, operation);
        return;
    }
    if (operation->effect == EFFECT_DISCARD)
        look_at_discarded(oracle, operation);
    for (uint64_t i = 0; i < operation->page_count; i++) {
        uint64_t page = operation->first_page + i;
        uint64_t *location = &allocation->locations[page];

        switch (operation->effect) {
        case EFFECT_LEARN:
            if (!is_located(*location))
                *location = operation_location(operation, i);
            break;
        case EFFECT_DISCARD:
            if (location_kind(*location) == LOCATION_LOCAL)
                *location = allocation->backing && allocation->backing[page]
                                ? allocation->backing[page]
                                : LOCATION_DROPPED;
            break;
        case EFFECT_PLACE:
        case EFFECT_NOTICE:
        case EFFECT_SHOWN:
        case EFFECT_FAREWELL:
        case EFFECT_UNMAP:
            break; /* above */
        }
    }
}

/*
 * Pages in one store from page i on that are where the list of the operation put them and hold what
 * is expected, as their descriptors tell: of system pages few follow each other, and looking at
 * each of them by itself was a sixth of what judging content costs. Those behind are looked at one
 * by one.
 */
#define BATCH_PAGES 64u

static uint64_t count_right(const struct oracle *oracle, const struct paging_operation *operation,
                            uint64_t i)
{
    const struct oracle_allocation *allocation = operation->allocation;
    const uint64_t *locations = allocation->locations + operation->first_page + i;
    const uint64_t *placed = operation->locations + i;
    uint64_t most = min_u64(operation->page_count - i, BATCH_PAGES), count = 0;
    const struct page_store *store = location_store(oracle, locations[0]);

    if (!store || allocation->undefined || allocation->is_unfollowed)
        return 0;
    while (count < most && locations[count] == placed[count] &&
           location_kind(locations[count]) == location_kind(locations[0]))
        count++;
    return page_store_count_same(oracle->expected,
                                 allocation->expected_page + operation->first_page + i, store,
                                 locations, LOCATION_PAGE_MASK, count);
}

/* Looks at the pages that are where this operation left them. */
static void look_at(struct oracle *oracle, const struct paging_operation *operation,
                    const struct paging_packet *packet)
{
    struct oracle_allocation *allocation = operation->allocation;
    struct occasion occasion = {
        .kind = OCCASION_OPERATION,
        .operation = operation->operation,
        .event = operation->event,
        .arg = &operation->arg,
        .by =
            operation->effect == EFFECT_PLACE ? operation : NULL, /* the copy elsewhere: not its */
        .has_packet = packet != NULL,
        .fence = packet ? packet->fence : 0,
        .node = packet ? packet->node : 0,
    };
    const uint64_t *locations = allocation->locations + operation->first_page;
    bool is_list = operation->effect == EFFECT_PLACE && !operation->is_linear;
    uint64_t i = 0;

    if (operation->effect == EFFECT_DISCARD && !allocation->is_live)
        return; /* it goes with its content */
    if (allocation->is_offered)
        return; /* the content may be gone: what is expected is known when it is reclaimed */
    if (operation->effect == EFFECT_UNMAP)
        return; /* no page is anywhere else for it */
    if (operation->effect == EFFECT_FAREWELL || operation->effect == EFFECT_NOTICE ||
        operation->effect == EFFECT_SHOWN)
        return; /* judged when it was published */
    oracle->counters.operations_checked++;
    if (operation->effect == EFFECT_PLACE)
        oracle_evaluate(oracle, operation);
    if (packet && oracle->config.judges_reports && oracle->config.counts)
        oracle->config.counts->evaluated[RULE_FENCE_003]++;
    while (i < operation->page_count) {
        uint64_t right = is_list ? count_right(oracle, operation, i) : 0;
        uint64_t run;
        bool is_here;

        oracle->counters.pages_checked += right;
        i += right;
        if (right)
            continue;
        run = location_run(locations + i, operation->page_count - i);
        is_here =
            operation->effect != EFFECT_PLACE || locations[i] == operation_location(operation, i);
        if (!is_here)
            run = 1;
        else if (is_list)
            run = min_u64(run, location_run(operation->locations + i, operation->page_count - i));
        if (is_here && location_store(oracle, locations[i]))
            compare_pages(oracle, allocation, operation->first_page + i, run, locations[i],
                          &occasion);
        i += run;
    }
}

static void complete_now(struct oracle *oracle, struct paging_operation *operation)
{
    if (!oracle->is_blind) {
        publish(oracle, operation);
        look_at(oracle, operation, NULL);
    }
    free_operation(oracle, operation);
}

static void free_packet(struct oracle *oracle, struct paging_packet *packet)
{
    struct list *link;

    while ((link = list_pop_front(&packet->operations)))
        free_operation(oracle, list_entry(link, struct paging_operation, link));
    base_free(oracle->services, packet, sizeof *packet);
}

void oracle_completed(struct oracle *oracle, uint32_t fence, unsigned node)
{
    struct list done = LIST_INITIALIZER(done);
    struct paging_packet *packet;
    struct paging_packet *following;
    struct paging_operation *operation;

    oracle_look_for_late(oracle);
    list_for_each_safe (packet, following, &oracle->packets, struct paging_packet, link) {
        if (packet->node == node && (int32_t)(fence - packet->fence) >= 0)
            list_move_back(&done, &packet->link);
    }
    list_for_each (packet, &done, struct paging_packet, link) {
        list_for_each (operation, &packet->operations, struct paging_operation, link) {
            if (!oracle->is_blind)
                publish(oracle, operation);
        }
    }
    list_for_each_safe (packet, following, &done, struct paging_packet, link) {
        list_for_each (operation, &packet->operations, struct paging_operation, link) {
            if (!oracle->is_blind)
                look_at(oracle, operation, packet);
        }
        list_remove(&packet->link);
        free_packet(oracle, packet);
        oracle->counters.packets++;
    }
}

/* ---- Building and submitting ---- */

/* Which buffer a call wrote into: the same as the last call when it goes on where that stopped. */
static void enter_buffer(struct oracle *oracle, const DXGKARG_BUILDPAGINGBUFFER *arg,
                         uint32_t bytes)
{
    const uint8_t *start = arg->pDmaBuffer;

    if (!start)
        return;
    if (start != oracle->buffer_at || start + arg->DmaSize != oracle->buffer_end)
        oracle->buffer_number++;
    oracle->buffer_at = start + bytes;
    oracle->buffer_end = start + arg->DmaSize;
}

void oracle_built(struct oracle *oracle, const DXGKARG_BUILDPAGINGBUFFER *arg, uint32_t bytes,
                  bool is_complete)
{
    struct paging_operation *operation = NULL;
    struct paging_part *part;

    oracle_look_for_late(oracle);
    enter_buffer(oracle, arg, bytes);
    oracle->discards_write |= bytes && arg->Operation == DXGK_OPERATION_DISCARD_CONTENT;
    if (is_complete)
        operation = enter_operation(oracle, arg);
    if (operation)
        operation->is_repeated = oracle->has_parts_before;
    oracle->has_parts_before = !is_complete;
    if (!bytes && !operation)
        return;
    if (!bytes && list_is_empty(&oracle->parts)) {
        if (list_is_empty(&oracle->packets)) {
            complete_now(oracle, operation);
        } else {
            struct paging_packet *last =
                list_last_entry(&oracle->packets, struct paging_packet, link);

            list_push_back(&last->operations, &operation->link);
        }
        return;
    }
    part = base_alloc(oracle->services, sizeof *part);
    if (!part) {
        lose_operation(oracle);
        if (operation)
            free_operation(oracle, operation);
        return;
    }
    part->buffer = oracle->buffer_number;
    part->bytes = bytes;
    part->operation = operation;
    list_push_back(&oracle->parts, &part->link);
}

/* Moves the parts that the submission covers, from the oldest one on, into the packet. */
static uint64_t take_parts(struct oracle *oracle, uint64_t bytes, struct paging_packet *packet)
{
    struct list *link;
    uint64_t taken = 0;
    uint64_t buffer = 0;

    while ((link = list_first(&oracle->parts))) {
        struct paging_part *part = list_entry(link, struct paging_part, link);

        if (part->bytes && ((taken && part->buffer != buffer) || part->bytes > bytes - taken))
            break;
        if (part->bytes)
            buffer = part->buffer;
        taken += part->bytes;
        list_remove(&part->link);
        if (part->operation)
            list_push_back(&packet->operations, &part->operation->link);
        base_free(oracle->services, part, sizeof *part);
    }
    return taken;
}

/* A packet that was preempted comes back with its fence id (SUB-009), flagged or not (SUB-008). */
static bool is_under_way(const struct oracle *oracle, uint32_t fence, unsigned node)
{
    const struct paging_packet *packet;

    list_for_each (packet, &oracle->packets, struct paging_packet, link) {
        if (packet->fence == fence && packet->node == node)
            return true;
    }
    return false;
}

void oracle_submitted(struct oracle *oracle, uint64_t bytes, uint32_t fence, unsigned node)
{
    struct paging_packet *packet;

    if (is_under_way(oracle, fence, node))
        return;
    packet = base_alloc(oracle->services, sizeof *packet);
    if (!packet) {
        lose_operation(oracle);
        return;
    }
    list_init(&packet->operations);
    packet->event = oracle_event(oracle);
    packet->fence = fence;
    packet->node = node;
    list_push_back(&oracle->packets, &packet->link);
    if (take_parts(oracle, bytes, packet) != bytes)
        oracle->counters.unmatched_packets++;
}

void oracle_drop_operations(struct oracle *oracle)
{
    struct list *link;

    while ((link = list_pop_front(&oracle->parts))) {
        struct paging_part *part = list_entry(link, struct paging_part, link);

        if (part->operation)
            free_operation(oracle, part->operation);
        base_free(oracle->services, part, sizeof *part);
    }
    while ((link = list_pop_front(&oracle->packets)))
        free_packet(oracle, list_entry(link, struct paging_packet, link));
}

void oracle_forget_paging(struct oracle *oracle)
{
    struct va_chunk *chunk;
    size_t position = 0;

    oracle_drop_operations(oracle);
    free_slots(oracle);
    while ((chunk = id_map_next(&oracle->va_chunks, &position)))
        base_free(oracle->services, chunk, sizeof *chunk);
    id_map_fini(&oracle->va_chunks);
}

/* ---- The end ---- */

static void check_allocation(struct oracle *oracle, struct oracle_allocation *allocation)
{
    struct occasion occasion = {.kind = OCCASION_FINAL};
    uint64_t page = 0;

    while (page < allocation->page_count && !allocation->is_offered) {
        uint64_t location = allocation->locations ? allocation->locations[page] : LOCATION_UNKNOWN;
        uint64_t run = 1;

        /* Never written and never seen: the size of such a range costs nothing. */
        if (!allocation->locations)
            run = max_u64(1, page_store_count_untouched(oracle->expected,
                                                        allocation->expected_page + page,
                                                        allocation->page_count - page));
        if (location_store(oracle, location)) {
            run = location_run(allocation->locations + page, allocation->page_count - page);
            compare_pages(oracle, allocation, page, run, location, &occasion);
        } else if (!is_undefined(allocation, page) && !is_as_at_first(oracle, allocation, page)) {
            oracle->counters.unlocated_pages++;
            oracle_problem(
                oracle, ORACLE_UNLOCATED, allocation, NULL, page * PAGE_BYTES,
                "%s (allocation %llu), page %llu: written content is nowhere (%s)",
                allocation->name, (unsigned long long)allocation->id, (unsigned long long)page,
                location == LOCATION_DROPPED ? "discarded, and no copy of it is known"
                                             : "no operation and no access told where it is");
        }
        page += run;
    }
}

static void check_unfinished(struct oracle *oracle)
{
    const struct paging_packet *packet;
    const struct paging_part *part;

    list_for_each (packet, &oracle->packets, struct paging_packet, link) {
        oracle_problem(oracle, ORACLE_UNFINISHED, NULL, NULL, 0,
                       "paging packet with fence %u of node %u, submitted at event %llu, was never "
                       "reported complete",
                       packet->fence, packet->node, (unsigned long long)packet->event);
    }
    list_for_each (part, &oracle->parts, struct paging_part, link) {
        const struct paging_operation *operation = part->operation;

        if (operation)
            oracle_problem(oracle, ORACLE_UNFINISHED, operation->allocation, NULL,
                           operation->first_page * PAGE_BYTES,
                           "%s of event %llu on %s (allocation %llu) was built and never submitted",
                           miniport_operation_name(operation->operation),
                           (unsigned long long)operation->event, operation->allocation->name,
                           (unsigned long long)operation->allocation->id);
    }
}

bool oracle_final_check(struct oracle *oracle)
{
    struct oracle_allocation *allocation;
    uint64_t problems = 0;

    check_unfinished(oracle);
    oracle_look_for_late(oracle);
    list_for_each (allocation, &oracle->allocations, struct oracle_allocation, link) {
        if (allocation->is_live && !oracle->is_blind)
            check_allocation(oracle, allocation);
    }
    for (unsigned i = 0; i < ORACLE_PROBLEM_COUNT; i++)
        problems += oracle->counters.problems[i];
    return problems == 0;
}
