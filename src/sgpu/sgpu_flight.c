/*
 * Work that is under way on a node that moves data both ways.
 *
 * A copy between local and system memory, or a fill, is looked up whole when its packet starts: the
 * flight keeps the pieces of memory that it goes through, and takes the link for its time. The node
 * goes on with the next packet meanwhile. A flight takes effect at its end, whatever is in front of
 * it; fences and ends of submissions, which are flights without a time of their own, wait for all
 * that is in front of them.
 *
 *     flights, the oldest first       copy out | copy in | FENCE | end of submission | fill
 *     when they take effect              (2)      (1)      (3)        (4)               (2)
 *
 * A packet does not start as long as a flight reads what it would write, or writes what it would
 * touch. So all that software can see is as if the packets had run one behind the other. What a
 * flight touches is kept as a few ranges (struct sgpu_touched): of system memory they become 2 MiB
 * large when there are too many of them, and everything when there are still too many. A packet
 * that waits for nothing then loses time, and nothing else.
 */
#include "sgpu/sgpu_private.h"

#include <string.h>

#define COARSE_BYTES (2 * MiB)
/* System memory, in the ranges of struct sgpu_touched. */
#define SYSTEM_BASE (UINT64_C(1) << 62)

/* ---- What is touched ------------------------------------------------------------------------- */

static void widen(struct sgpu_touched *touched, uint64_t start, uint64_t end)
{
    for (unsigned i = touched->count; i-- > 0;) {
        if (start <= touched->ranges[i].end && end >= touched->ranges[i].start) {
            touched->ranges[i].start = min_u64(touched->ranges[i].start, start);
            touched->ranges[i].end = max_u64(touched->ranges[i].end, end);
            return;
        }
    }
    if (touched->count < SGPU_TOUCHED_RANGES) {
        touched->ranges[touched->count].start = start;
        touched->ranges[touched->count++].end = end;
        return;
    }
    if (touched->is_coarse) {
        touched->is_all = true;
    } else {
        struct sgpu_touched fine = *touched;

        touched->is_coarse = true;
        touched->count = 0;
        for (unsigned i = 0; i < fine.count; i++)
            widen(touched, align_down(fine.ranges[i].start, COARSE_BYTES),
                  align_up(fine.ranges[i].end, COARSE_BYTES));
        widen(touched, align_down(start, COARSE_BYTES), align_up(end, COARSE_BYTES));
    }
}

static void touch(const struct sgpu *gpu, struct sgpu_touched *touched,
                  const struct page_store *store, uint64_t address, uint64_t bytes)
{
    uint64_t start = address + (store == gpu->local ? 0 : SYSTEM_BASE);

    if (!store || !bytes)
        return;
    if (touched->is_coarse)
        widen(touched, align_down(start, COARSE_BYTES), align_up(start + bytes, COARSE_BYTES));
    else
        widen(touched, start, start + bytes);
}

static bool do_meet(const struct sgpu_touched *a, const struct sgpu_touched *b)
{
    if (!a->count || !b->count)
        return false;
    if (a->is_all || b->is_all)
        return true;
    for (unsigned i = 0; i < a->count; i++) {
        for (unsigned j = 0; j < b->count; j++) {
            if (a->ranges[i].start < b->ranges[j].end && b->ranges[j].start < a->ranges[i].end)
                return true;
        }
    }
    return false;
}

/* Flights on one lane end in the order in which they started, so none of them waits for another. */
static bool must_wait(const struct sgpu_node *node, enum sgpu_lane lane,
                      const struct sgpu_touched *reads, const struct sgpu_touched *writes)
{
    for (uint32_t i = 0; i < node->flight_count; i++) {
        const struct sgpu_flight *flight = &node->flights[(node->flight_head + i) % SGPU_FLIGHTS];

        if (!flight->has_ended && flight->lane != lane &&
            (do_meet(writes, &flight->reads) || do_meet(writes, &flight->writes) ||
             do_meet(reads, &flight->writes)))
            return true;
    }
    return false;
}

bool sgpu_may_write(struct sgpu_node *node, const struct sgpu_span *to)
{
    struct sgpu_touched none = {0}, writes = {0};

    touch(node->gpu, &writes, to->store, to->address, to->bytes);
    return !must_wait(node, SGPU_LANE_NONE, &none, &writes);
}

/* ---- Taking off ------------------------------------------------------------------------------ */

struct sgpu_flight *sgpu_flight_prepare(struct sgpu_node *node, enum sgpu_flight_kind kind)
{
    struct sgpu_flight *flight;
    struct sgpu_piece *pieces;
    uint32_t room;

    ASSERT(node->flight_count < SGPU_FLIGHTS);
    flight = &node->flights[(node->flight_head + node->flight_count) % SGPU_FLIGHTS];
    pieces = flight->pieces;
    room = flight->room;
    memset(flight, 0, sizeof *flight);
    flight->pieces = pieces;
    flight->room = room;
    flight->node = node;
    flight->kind = kind;
    flight->command = sgpu_running_command(node);
    return flight;
}

bool sgpu_flight_add(struct sgpu_flight *flight, const struct sgpu_span *to,
                     const struct sgpu_span *from, uint64_t bytes)
{
    const struct sgpu *gpu = flight->node->gpu;
    const struct base_services *services = gpu->services;

    if (flight->count == flight->room) {
        uint32_t room = flight->room ? 2 * flight->room : 16;
        struct sgpu_piece *pieces = base_alloc_array(services, room, sizeof *pieces);

        if (!pieces)
            return false;
        if (flight->count)
            memcpy(pieces, flight->pieces, flight->count * sizeof *pieces);
        base_free_array(services, flight->pieces, flight->room, sizeof *flight->pieces);
        flight->pieces = pieces;
        flight->room = room;
    }
    flight->pieces[flight->count++] = (struct sgpu_piece){*to, from ? *from : *to, bytes};
    touch(gpu, &flight->writes, to->store, to->address, bytes);
    if (from)
        touch(gpu, &flight->reads, from->store, from->address, bytes);
    return true;
}

bool sgpu_flight_may_start(const struct sgpu_flight *flight)
{
    return !must_wait(flight->node, flight->lane, &flight->reads, &flight->writes);
}

static void land(struct sgpu_node *node);

static void end_flight(void *context)
{
    struct sgpu_flight *flight = context;

    for (uint32_t i = 0; i < flight->count; i++) {
        const struct sgpu_piece *piece = &flight->pieces[i];

        if (flight->kind == SGPU_FLIGHT_FILL)
            sgpu_fill_span(flight->node, &piece->to, piece->bytes, flight->pattern,
                           &flight->command);
        else
            sgpu_move_span(flight->node, &piece->to, &piece->from, piece->bytes, &flight->command);
    }
    flight->has_ended = true;
    land(flight->node);
}

void sgpu_flight_start(struct sgpu_flight *flight, uint64_t end_ns)
{
    struct sgpu_node *node = flight->node;
    struct machine *machine = node->gpu->machine;
    bool is_ordered = flight->kind == SGPU_FLIGHT_FENCE || flight->kind == SGPU_FLIGHT_END;

    ASSERT(flight == &node->flights[(node->flight_head + node->flight_count) % SGPU_FLIGHTS]);
    node->flight_count++;
    if (is_ordered) {
        land(node);
        return;
    }
    end_ns = max_u64(end_ns + machine_jitter(machine), node->lane_ends_ns[flight->lane]);
    node->lane_ends_ns[flight->lane] = end_ns;
    machine_schedule(machine, &flight->event, end_ns, end_flight, flight);
}

/* ---- Landing --------------------------------------------------------------------------------- */

/* Takes the flights away that have ended with everything in front of them. */
static void land(struct sgpu_node *node)
{
    while (node->flight_count) {
        struct sgpu_flight *flight = &node->flights[node->flight_head];

        if (flight->kind == SGPU_FLIGHT_FENCE)
            sgpu_write_fence(node, &flight->pieces[0].to, flight->value, flight->interrupts);
        else if (flight->kind != SGPU_FLIGHT_END && !flight->has_ended)
            break;
        node->flight_head = (node->flight_head + 1) % SGPU_FLIGHTS;
        node->flight_count--;
        if (flight->kind == SGPU_FLIGHT_END)
            node->landed(node);
    }
    node->goes_on(node);
}

void sgpu_drop_flights(struct sgpu_node *node)
{
    memset(node->lane_ends_ns, 0, sizeof node->lane_ends_ns);
    while (node->flight_count) {
        machine_cancel(node->gpu->machine, &node->flights[node->flight_head].event);
        node->flight_head = (node->flight_head + 1) % SGPU_FLIGHTS;
        node->flight_count--;
    }
}

void sgpu_flights_fini(struct sgpu_node *node)
{
    sgpu_drop_flights(node);
    for (unsigned i = 0; node->flights && i < SGPU_FLIGHTS; i++)
        base_free_array(node->gpu->services, node->flights[i].pieces, node->flights[i].room,
                        sizeof *node->flights[i].pieces);
    base_free_array(node->gpu->services, node->flights, SGPU_FLIGHTS, sizeof *node->flights);
    node->flights = NULL;
}
