/*
 * What packets do.
 *
 * One table row an opcode: how the packet is checked, what happens at its start, what at its end.
 * A packet is fetched whole when it starts, checked completely, and only then acts. The checks are
 * the manual's words; what they let through cannot hurt the model, whatever the bytes say.
 */
#include "sgpu/sgpu_private.h"

#include <string.h>

/* Sizes and durations above this are malformed; below it no sum of the model can overflow. */
#define FIELD_LIMIT (UINT64_C(1) << SGPU_VA_BITS)

struct packet_kind {
    uint32_t min_size;    /* of the fixed part */
    uint32_t known_flags; /* others are malformed; all bits for packets that ignore flags */
    bool (*is_well_formed)(struct sgpu_node *node);
    bool (*begin)(struct sgpu_node *node, uint64_t *end_ns); /* false: faulted */
    bool (*end)(struct sgpu_node *node);                     /* false: faulted */
    /*
     * Where data moves both ways: it starts, and nobody waits for its end. TIMED: it cannot. NULL:
     * it never does.
     */
    enum sgpu_begun (*fly)(struct sgpu_node *node);
    bool overtakes;     /* begins and ends while flights are under way */
    bool is_privileged; /* user mode has no such packet */
};

static bool raise(struct sgpu_node *node, const struct sgpu_span *span)
{
    sgpu_raise_fault(node, span->fault, span->fault_address);
    return false;
}

static bool raise_bus(struct sgpu_node *node, uint64_t address)
{
    sgpu_raise_fault(node, SGPU_FAULT_BUS, address);
    return false;
}

static struct sgpu_space packet_space(struct sgpu_node *node, uint32_t packet_flags)
{
    struct sgpu_submission *submission = running_submission(node);

    bool is_physical = packet_flags & SGPU_PACKET_PHYSICAL;

    if ((submission->flags & SGPU_SUBMIT_PASID) && !is_physical)
        return (struct sgpu_space){.pasid = (uint32_t)submission->root_pa};
    return (struct sgpu_space){
        .is_virtual = (submission->flags & SGPU_SUBMIT_VIRTUAL) && !is_physical,
        .root_pa = submission->root_pa,
    };
}

/* ---- Cost ----------------------------------------------------------------------------------- */

/* Data flows from one memory to another; a side that does not exist (fill, zero) is local. */
static uint64_t transfer_end(struct sgpu_node *node, bool from_system, bool to_system,
                             uint64_t bytes)
{
    struct machine *machine = node->gpu->machine;
    uint64_t start = machine_now(machine) + node->gpu->config.packet_ns;
    uint64_t end = start;

    if (!from_system && !to_system)
        return machine_link_occupy(machine_link_local(machine), start, bytes);
    if (from_system)
        end = machine_link_occupy(machine_link_to_device(machine), start, bytes);
    if (to_system)
        end = max_u64(end, machine_link_occupy(machine_link_from_device(machine), start, bytes));
    return end;
}

/* Whether the memory at an address is system memory: what a transfer costs is decided there. */
static bool probe(struct sgpu_node *node, const struct sgpu_space *space, uint64_t address,
                  uint64_t bytes, enum sgpu_access access, bool *out_is_system)
{
    struct sgpu_span span;

    *out_is_system = false;
    if (bytes == 0)
        return true;
    if (!sgpu_translate(node, space, address, bytes, access, &span))
        return raise(node, &span);
    *out_is_system = span.is_system;
    return true;
}

/* ---- COPY ----------------------------------------------------------------------------------- */

static bool copy_is_well_formed(struct sgpu_node *node)
{
    const struct sgpu_packet_copy *packet = (const void *)node->packet;

    return node->packet_size == sizeof *packet && packet->bytes <= FIELD_LIMIT;
}

static bool copy_begin(struct sgpu_node *node, uint64_t *end_ns)
{
    const struct sgpu_packet_copy *packet = (const void *)node->packet;
    struct sgpu_space space = packet_space(node, packet->flags);
    bool from_system;
    bool to_system;

    if (!probe(node, &space, packet->source, packet->bytes, SGPU_ACCESS_READ, &from_system) ||
        !probe(node, &space, packet->destination, packet->bytes, SGPU_ACCESS_WRITE, &to_system))
        return false;
    *end_ns = transfer_end(node, from_system, to_system, packet->bytes);
    return true;
}

/* Where a walk over a packet's memory leads: it moves the bytes at once, or the flight will. */
static bool move_now_or_later(struct sgpu_node *node, struct sgpu_flight *flight,
                              const struct sgpu_span *to, const struct sgpu_span *from,
                              uint64_t bytes)
{
    const struct sgpu_command command = sgpu_running_command(node);

    if (flight)
        return sgpu_flight_add(flight, to, from, bytes);
    sgpu_move_span(node, to, from, bytes, &command);
    return true;
}

/* A packet that cannot fly faults when it runs alone, behind what comes in front of the fault. */
static bool raise_unless_flight(struct sgpu_node *node, const struct sgpu_flight *flight,
                                const struct sgpu_span *span)
{
    return flight ? false : raise(node, span);
}

/*
 * The flight has all its pieces. One between two memories of one kind has no direction of its own
 * on the way to the system, and what it copies may be page tables: it runs alone.
 */
static enum sgpu_begun take_off(struct sgpu_flight *flight)
{
    const struct sgpu_piece *first = flight->pieces;
    bool from_system, to_system;
    uint64_t bytes = 0;

    if (!flight->count)
        return SGPU_BEGUN_TIMED;
    to_system = first->to.is_system;
    from_system = flight->kind == SGPU_FLIGHT_COPY && first->from.is_system;
    for (uint32_t i = 0; i < flight->count; i++) {
        if (flight->kind == SGPU_FLIGHT_COPY &&
            flight->pieces[i].to.is_system == flight->pieces[i].from.is_system)
            return SGPU_BEGUN_TIMED;
        bytes += flight->pieces[i].bytes;
    }
    flight->lane = from_system ? SGPU_LANE_IN : to_system ? SGPU_LANE_OUT : SGPU_LANE_LOCAL;
    if (!sgpu_flight_may_start(flight))
        return SGPU_BEGUN_WAITS;
    sgpu_flight_start(flight, transfer_end(flight->node, from_system, to_system, bytes));
    return SGPU_BEGUN_FLIES;
}

static void advance_span(struct sgpu_span *span, uint64_t bytes)
{
    span->address += bytes;
    span->bytes -= bytes;
}

static bool copy_pieces(struct sgpu_node *node, struct sgpu_flight *flight)
{
    const struct sgpu_packet_copy *packet = (const void *)node->packet;
    struct sgpu_space space = packet_space(node, packet->flags);
    struct sgpu_span from = {0};
    struct sgpu_span to = {0};
    uint64_t piece;

    for (uint64_t done = 0; done < packet->bytes; done += piece) {
        uint64_t left = packet->bytes - done;

        if (!from.bytes &&
            !sgpu_translate(node, &space, packet->source + done, left, SGPU_ACCESS_READ, &from))
            return raise_unless_flight(node, flight, &from);
        if (!to.bytes &&
            !sgpu_translate(node, &space, packet->destination + done, left, SGPU_ACCESS_WRITE, &to))
            return raise_unless_flight(node, flight, &to);
        piece = min_u64(from.bytes, to.bytes);
        if (!move_now_or_later(node, flight, &to, &from, piece))
            return false;
        advance_span(&from, piece);
        advance_span(&to, piece);
    }
    return true;
}

static bool copy_end(struct sgpu_node *node)
{
    return copy_pieces(node, NULL);
}

static enum sgpu_begun copy_fly(struct sgpu_node *node)
{
    struct sgpu_flight *flight = sgpu_flight_prepare(node, SGPU_FLIGHT_COPY);

    return copy_pieces(node, flight) ? take_off(flight) : SGPU_BEGUN_TIMED;
}

/* ---- FILL ----------------------------------------------------------------------------------- */

static bool fill_is_well_formed(struct sgpu_node *node)
{
    const struct sgpu_packet_fill *packet = (const void *)node->packet;

    return node->packet_size == sizeof *packet && packet->bytes <= FIELD_LIMIT &&
           is_aligned(packet->bytes | packet->destination, 4) && packet->reserved == 0;
}

static bool fill_begin(struct sgpu_node *node, uint64_t *end_ns)
{
    const struct sgpu_packet_fill *packet = (const void *)node->packet;
    struct sgpu_space space = packet_space(node, packet->flags);
    bool to_system;

    if (!probe(node, &space, packet->destination, packet->bytes, SGPU_ACCESS_WRITE, &to_system))
        return false;
    *end_ns = transfer_end(node, false, to_system, packet->bytes);
    return true;
}

static bool fill_pieces(struct sgpu_node *node, struct sgpu_flight *flight)
{
    const struct sgpu_packet_fill *packet = (const void *)node->packet;
    const struct sgpu_command command = sgpu_running_command(node);
    struct sgpu_space space = packet_space(node, packet->flags);
    struct sgpu_span to;

    for (uint64_t done = 0; done < packet->bytes; done += to.bytes) {
        if (!sgpu_translate(node, &space, packet->destination + done, packet->bytes - done,
                            SGPU_ACCESS_WRITE, &to))
            return raise_unless_flight(node, flight, &to);
        if (!flight)
            sgpu_fill_span(node, &to, to.bytes, packet->pattern, &command);
        else if (!sgpu_flight_add(flight, &to, NULL, to.bytes))
            return false;
    }
    return true;
}

static bool fill_end(struct sgpu_node *node)
{
    return fill_pieces(node, NULL);
}

static enum sgpu_begun fill_fly(struct sgpu_node *node)
{
    const struct sgpu_packet_fill *packet = (const void *)node->packet;
    struct sgpu_flight *flight = sgpu_flight_prepare(node, SGPU_FLIGHT_FILL);

    flight->pattern = packet->pattern;
    return fill_pieces(node, flight) ? take_off(flight) : SGPU_BEGUN_TIMED;
}

/* ---- COPY_PAGES ----------------------------------------------------------------------------- */

static bool copy_pages_is_well_formed(struct sgpu_node *node)
{
    const struct sgpu_packet_copy_pages *packet = (const void *)node->packet;

    return node->packet_size == sizeof *packet + UINT64_C(8) * packet->page_count &&
           packet->reserved == 0 && is_aligned(packet->linear, PAGE_BYTES) &&
           (!(packet->linear & SGPU_PA_PITCHED) || !(packet->flags & SGPU_COPY_TILED));
}

static bool copy_pages_begin(struct sgpu_node *node, uint64_t *end_ns)
{
    const struct sgpu_packet_copy_pages *packet = (const void *)node->packet;
    const struct sgpu_space physical = {.is_virtual = false};
    uint64_t bytes = packet->page_count * PAGE_BYTES;
    bool is_to_pages = packet->flags & SGPU_COPY_TO_PAGES;
    bool is_system;

    if (!probe(node, &physical, packet->linear & ~SGPU_PA_PITCHED, bytes,
               is_to_pages ? SGPU_ACCESS_READ : SGPU_ACCESS_WRITE, &is_system))
        return false;
    *end_ns = transfer_end(node, !is_to_pages || is_system, is_to_pages || is_system, bytes);
    return true;
}

/* Number of leading pages in the list that ascend by one in system memory, from *out_first on. */
static uint64_t ascending_pages(const struct sgpu *gpu, const uint64_t *pages, uint64_t count,
                                uint64_t *out_first)
{
    uint64_t run = 0;
    uint64_t page;

    *out_first = 0;
    if (count == 0 || !sgpu_system_page(gpu, pages[0], out_first))
        return 0;
    do {
        run++;
    } while (run < count && sgpu_system_page(gpu, pages[run], &page) && page == *out_first + run);
    return run;
}

/*
 * Where byte n behind an address in a row of a surface with a pitch is, and how many follow it in
 * its row. The address has SGPU_PA_PITCHED.
 */
static uint64_t pitched_address(uint64_t address, uint64_t n, uint64_t *out_left)
{
    uint64_t plain = address & ~SGPU_PA_PITCHED;

    n += plain % SGPU_PITCH_BYTES;
    *out_left = SGPU_ROW_BYTES - n % SGPU_ROW_BYTES;
    return SGPU_PITCHED(plain / SGPU_PITCH_BYTES * SGPU_PITCH_BYTES, n);
}

static bool copy_pages_pieces(struct sgpu_node *node, struct sgpu_flight *flight)
{
    const struct sgpu_packet_copy_pages *packet = (const void *)node->packet;
    const struct sgpu_space physical = {.is_virtual = false};
    struct sgpu *gpu = node->gpu;
    bool is_to_pages = packet->flags & SGPU_COPY_TO_PAGES;
    bool is_tiled = packet->flags & SGPU_COPY_TILED;
    struct sgpu_span linear = {0};
    uint64_t piece;

    for (uint64_t i = 0; i < packet->page_count; i += piece) {
        uint64_t left = packet->page_count - i;
        uint64_t first;
        uint64_t run = ascending_pages(gpu, packet->pages + i, left, &first);
        struct sgpu_span list = {
            .store = gpu->ram, .address = first * PAGE_BYTES, .is_system = true};

        if (run == 0 && flight)
            return false;
        if (run == 0)
            return raise_bus(node, SGPU_PA_SYSTEM | packet->pages[i] * PAGE_BYTES);
        if (!linear.bytes) {
            uint64_t address = packet->linear + i * PAGE_BYTES;
            uint64_t bytes = is_tiled ? PAGE_BYTES : left * PAGE_BYTES;
            uint64_t in_row;

            if (is_tiled)
                address = SGPU_TILED(address);
            if (packet->linear & SGPU_PA_PITCHED) {
                address = pitched_address(packet->linear, i * PAGE_BYTES, &in_row);
                bytes = min_u64(bytes, in_row);
            }
            if (!sgpu_translate(node, &physical, address, bytes,
                                is_to_pages ? SGPU_ACCESS_READ : SGPU_ACCESS_WRITE, &linear))
                return raise_unless_flight(node, flight, &linear);
        }
        /* Memories are whole pages, so a run of pages is. */
        piece = min_u64(run, linear.bytes / PAGE_BYTES);
        if (!move_now_or_later(node, flight, is_to_pages ? &list : &linear,
                               is_to_pages ? &linear : &list, piece * PAGE_BYTES))
            return false;
        advance_span(&linear, piece * PAGE_BYTES);
    }
    return true;
}

static bool copy_pages_end(struct sgpu_node *node)
{
    return copy_pages_pieces(node, NULL);
}

static enum sgpu_begun copy_pages_fly(struct sgpu_node *node)
{
    struct sgpu_flight *flight = sgpu_flight_prepare(node, SGPU_FLIGHT_COPY);

    return copy_pages_pieces(node, flight) ? take_off(flight) : SGPU_BEGUN_TIMED;
}

/* ---- Aperture ------------------------------------------------------------------------------- */

static bool gart_is_well_formed(struct sgpu_node *node)
{
    const struct sgpu_packet_gart *packet = (const void *)node->packet;
    bool is_fill = SGPU_PACKET_OPCODE(packet->header) == SGPU_OP_GART_FILL;
    uint64_t listed = is_fill ? 1 : packet->slot_count;
    uint64_t end = (uint64_t)packet->first_slot + packet->slot_count;

    return node->packet_size == sizeof *packet + 8 * listed && end <= node->gpu->slot_count;
}

static bool table_write_begin(struct sgpu_node *node, uint64_t *end_ns)
{
    *end_ns = transfer_end(node, false, false, node->packet_size);
    return true;
}

static bool gart_end(struct sgpu_node *node)
{
    const struct sgpu_packet_gart *packet = (const void *)node->packet;
    bool is_fill = SGPU_PACKET_OPCODE(packet->header) == SGPU_OP_GART_FILL;
    uint64_t attributes = packet->flags & SGPU_GART_COHERENT ? SLOT_COHERENT : 0;
    uint64_t *slots = node->gpu->slots + packet->first_slot;

    for (uint64_t i = 0; i < packet->slot_count; i++)
        slots[i] = ((packet->pages[is_fill ? 0 : i] + 1) & ~SLOT_COHERENT) | attributes;
    sgpu_note_slots(node->gpu, packet->first_slot, packet->slot_count);
    return true;
}

/* ---- Page tables ---------------------------------------------------------------------------- */

static bool pte_is_well_formed(struct sgpu_node *node)
{
    const struct sgpu_packet_pte *packet = (const void *)node->packet;
    bool is_fill = SGPU_PACKET_OPCODE(packet->header) == SGPU_OP_PTE_FILL;
    uint64_t listed = is_fill ? 1 : packet->count;

    return node->packet_size == sizeof *packet + 8 * listed &&
           (uint64_t)packet->first + packet->count <= SGPU_PTE_WORDS_MAX &&
           is_aligned(packet->table, PAGE_BYTES);
}

static struct sgpu_space table_space(struct sgpu_node *node, uint32_t packet_flags)
{
    return (struct sgpu_space){
        .is_virtual = packet_flags & SGPU_PTE_TABLE_VIRTUAL,
        .root_pa = running_submission(node)->root_pa,
    };
}

static bool pte_begin(struct sgpu_node *node, uint64_t *end_ns)
{
    const struct sgpu_packet_pte *packet = (const void *)node->packet;
    struct sgpu_space space = table_space(node, packet->flags);
    bool to_system;

    if (!probe(node, &space, packet->table + UINT64_C(8) * packet->first,
               UINT64_C(8) * packet->count, SGPU_ACCESS_WRITE, &to_system))
        return false;
    *end_ns = transfer_end(node, false, to_system, UINT64_C(8) * packet->count);
    return true;
}

/* Entries are written while flights are under way, but not into what they touch. */
static enum sgpu_begun pte_fly(struct sgpu_node *node)
{
    const struct sgpu_packet_pte *packet = (const void *)node->packet;
    struct sgpu_space space = table_space(node, packet->flags);
    uint64_t bytes = UINT64_C(8) * packet->count;
    struct sgpu_span to;

    for (uint64_t done = 0; done < bytes; done += to.bytes) {
        if (!sgpu_translate(node, &space, packet->table + UINT64_C(8) * packet->first + done,
                            bytes - done, SGPU_ACCESS_WRITE, &to))
            break; /* a fault, which waits by itself */
        if (!sgpu_may_write(node, &to))
            return SGPU_BEGUN_WAITS;
    }
    return SGPU_BEGUN_TIMED;
}

/* Entries [first, first + count) of the packet, which lie in one page of the table. */
static bool write_entries(struct sgpu_node *node, const struct sgpu_space *space, uint32_t first,
                          uint32_t count)
{
    const struct sgpu_packet_pte *packet = (const void *)node->packet;
    const uint64_t value = packet->entries[0];
    uint64_t address = packet->table + UINT64_C(8) * (packet->first + first);
    uint64_t bytes = UINT64_C(8) * count;
    struct sgpu_span table;
    uint64_t *entries;

    if (!sgpu_translate(node, space, align_down(address, PAGE_BYTES), PAGE_BYTES, SGPU_ACCESS_WRITE,
                        &table))
        return raise(node, &table);
    node->gpu->statistics.entries_written += count;
    if (!table.store)
        return true;
    table.address += address % PAGE_BYTES;
    sgpu_tell_entries(node, &table, bytes);
    if (SGPU_PACKET_OPCODE(packet->header) == SGPU_OP_PTE_WRITE) {
        page_store_write(table.store, table.address, packet->entries + first, bytes);
        return true;
    }
    /* A table without a valid entry, of an allocation that is out, costs no bytes. */
    if (bytes == PAGE_BYTES && (uint32_t)value == value >> 32) {
        page_store_fill(table.store, table.address, bytes, (uint32_t)value);
        return true;
    }
    entries = (uint64_t *)(void *)page_store_bytes(table.store, table.address / PAGE_BYTES);
    entries += address % PAGE_BYTES / 8;
    for (uint32_t i = 0; i < count; i++)
        entries[i] = value;
    return true;
}

static bool pte_end(struct sgpu_node *node)
{
    const struct sgpu_packet_pte *packet = (const void *)node->packet;
    struct sgpu_space space = table_space(node, packet->flags);
    uint32_t done = 0;

    while (done < packet->count) {
        uint32_t in_page = (packet->first + done) % SGPU_TABLE_ENTRIES;
        uint32_t count = (uint32_t)min_u64(packet->count - done, SGPU_TABLE_ENTRIES - in_page);

        if (!write_entries(node, &space, done, count))
            return false;
        done += count;
    }
    return true;
}

static bool tlb_flush_is_well_formed(struct sgpu_node *node)
{
    const struct sgpu_packet_tlb_flush *packet = (const void *)node->packet;

    return node->packet_size == sizeof *packet &&
           ((packet->flags & SGPU_TLB_ALL) ||
            (packet->start <= packet->end && packet->end <= FIELD_LIMIT));
}

static bool short_begin(struct sgpu_node *node, uint64_t *end_ns)
{
    *end_ns = machine_now(node->gpu->machine) + node->gpu->config.packet_ns;
    return true;
}

static bool tlb_flush_end(struct sgpu_node *node)
{
    const struct sgpu_packet_tlb_flush *packet = (const void *)node->packet;
    bool is_all = packet->flags & SGPU_TLB_ALL;

    sgpu_tlb_flush(node->gpu, packet->root, is_all ? 0 : packet->start,
                   is_all ? FIELD_LIMIT : packet->end);
    if (node->gpu->observer && node->gpu->observer->tlb_flushed)
        node->gpu->observer->tlb_flushed(node->gpu->observer_context, node->index, packet->root,
                                         is_all ? 0 : packet->start, is_all ? 0 : packet->end);
    return true;
}

/* ---- FENCE, NOP ----------------------------------------------------------------------------- */

static bool fence_is_well_formed(struct sgpu_node *node)
{
    const struct sgpu_packet_fence *packet = (const void *)node->packet;

    return node->packet_size == sizeof *packet && is_aligned(packet->address, 8);
}

static bool fence_end(struct sgpu_node *node)
{
    const struct sgpu_packet_fence *packet = (const void *)node->packet;
    struct sgpu_space space = packet_space(node, packet->flags);
    struct sgpu_span to;

    if (!sgpu_translate(node, &space, packet->address, 8, SGPU_ACCESS_WRITE, &to))
        return raise(node, &to);
    sgpu_write_fence(node, &to, packet->value, packet->flags & SGPU_FENCE_INTERRUPT);
    return true;
}

/* Its value is written behind all that is under way; without anything it is an ordinary packet. */
static enum sgpu_begun fence_fly(struct sgpu_node *node)
{
    const struct sgpu_packet_fence *packet = (const void *)node->packet;
    struct sgpu_space space = packet_space(node, packet->flags);
    struct sgpu_flight *flight;
    struct sgpu_span to;

    if (!node->flight_count ||
        !sgpu_translate(node, &space, packet->address, 8, SGPU_ACCESS_WRITE, &to))
        return SGPU_BEGUN_TIMED;
    flight = sgpu_flight_prepare(node, SGPU_FLIGHT_FENCE);
    flight->value = packet->value;
    flight->interrupts = packet->flags & SGPU_FENCE_INTERRUPT;
    if (!sgpu_flight_add(flight, &to, NULL, 8))
        return SGPU_BEGUN_TIMED;
    sgpu_flight_start(flight, 0);
    return SGPU_BEGUN_FLIES;
}

static bool always_well_formed(struct sgpu_node *node)
{
    return true;
}

static bool no_end(struct sgpu_node *node)
{
    return true;
}

/* ---- TOUCH ---------------------------------------------------------------------------------- */

static bool touch_is_well_formed(struct sgpu_node *node)
{
    const struct sgpu_packet_touch *packet = (const void *)node->packet;

    return node->packet_size == sizeof *packet && packet->reserved == 0 && packet->bytes >= 1 &&
           packet->bytes <= 8;
}

static bool touch_end(struct sgpu_node *node)
{
    const struct sgpu_packet_touch *packet = (const void *)node->packet;
    struct sgpu_space space = packet_space(node, packet->flags);
    bool is_write = packet->flags & SGPU_TOUCH_WRITE;
    const uint64_t zero = 0;
    struct sgpu_span span;

    for (uint64_t done = 0; done < packet->bytes; done += span.bytes) {
        if (!sgpu_translate(node, &space, packet->address + done, packet->bytes - done,
                            is_write ? SGPU_ACCESS_WRITE : SGPU_ACCESS_READ, &span))
            return raise(node, &span);
        if (is_write && span.store)
            page_store_write(span.store, span.address, &zero, span.bytes);
    }
    node->gpu->statistics.touches++;
    return true;
}

/* ---- CLEAN ---------------------------------------------------------------------------------- */

static bool clean_is_well_formed(struct sgpu_node *node)
{
    const struct sgpu_packet_clean *packet = (const void *)node->packet;

    return node->packet_size == sizeof *packet && packet->bytes <= FIELD_LIMIT;
}

static bool clean_end(struct sgpu_node *node)
{
    const struct sgpu_packet_clean *packet = (const void *)node->packet;
    struct sgpu_space space = packet_space(node, packet->flags);
    struct sgpu_span span;

    if (packet->root)
        space = (struct sgpu_space){.is_virtual = true, .root_pa = packet->root};
    for (uint64_t done = 0; done < packet->bytes; done += span.bytes) {
        if (!sgpu_translate(node, &space, packet->address + done, packet->bytes - done,
                            SGPU_ACCESS_READ, &span))
            return raise(node, &span);
    }
    node->gpu->statistics.cleaned_bytes += packet->bytes;
    return true;
}

/* ---- RENDER --------------------------------------------------------------------------------- */

static bool render_is_well_formed(struct sgpu_node *node)
{
    const struct sgpu_packet_render *packet = (const void *)node->packet;
    const uint32_t known =
        SGPU_REF_READ | SGPU_REF_WRITE | SGPU_REF_TILED | SGPU_REF_COPY | SGPU_REF_FILL;

    if (node->packet_size != sizeof *packet + packet->ref_count * sizeof *packet->refs ||
        packet->reserved != 0 || packet->duration_ns > FIELD_LIMIT)
        return false;
    for (uint32_t i = 0; i < packet->ref_count; i++) {
        const struct sgpu_render_ref *ref = &packet->refs[i];
        bool is_copy = (ref->flags & SGPU_REF_COPY) != 0;
        bool is_fill = (ref->flags & SGPU_REF_FILL) != 0;

        if ((ref->flags & ~known) || ref->bytes > FIELD_LIMIT || (is_copy && is_fill) ||
            ((is_copy || is_fill) && !(ref->flags & SGPU_REF_WRITE)) ||
            (is_copy && (!i || ref[-1].bytes != ref->bytes)))
            return false;
    }
    return true;
}

/*
 * The longest run of a reference from done bytes on: of a tiled one, no more than a page, of one
 * with a pitch, than a row.
 */
static bool translate_reference(struct sgpu_node *node, const struct sgpu_space *space,
                                const struct sgpu_render_ref *ref, uint64_t done,
                                enum sgpu_access access, struct sgpu_span *out_span)
{
    uint64_t address = ref->address + done;
    uint64_t bytes = ref->bytes - done;

    if (ref->flags & SGPU_REF_TILED) {
        bytes = min_u64(bytes, PAGE_BYTES - address % PAGE_BYTES);
        address = SGPU_TILED(address);
    }
    if (!space->is_virtual && space->pasid == MACHINE_NO_PASID &&
        (ref->address & SGPU_PA_PITCHED)) {
        uint64_t in_row;

        address = pitched_address(ref->address, done, &in_row);
        bytes = min_u64(bytes, in_row);
    }
    return sgpu_translate(node, space, address, bytes, access, out_span);
}

static bool render_read(struct sgpu_node *node, const struct sgpu_space *space, uint64_t token,
                        const struct sgpu_render_ref *ref)
{
    struct sgpu *gpu = node->gpu;
    const struct sgpu_observer *observer = gpu->observer;
    struct sgpu_span span;

    for (uint64_t done = 0; done < ref->bytes; done += span.bytes) {
        if (!translate_reference(node, space, ref, done, SGPU_ACCESS_READ, &span))
            return raise(node, &span);
        gpu->statistics.render_read_bytes += span.bytes;
        if (observer && observer->render_read)
            observer->render_read(gpu->observer_context, token, ref->index, done, span.store,
                                  span.address, span.bytes);
    }
    return true;
}

static bool render_write(struct sgpu_node *node, const struct sgpu_space *space, uint64_t token,
                         const struct sgpu_render_ref *ref)
{
    struct sgpu *gpu = node->gpu;
    const struct sgpu_observer *observer = gpu->observer;
    struct sgpu_span span;

    for (uint64_t done = 0; done < ref->bytes; done += span.bytes) {
        uint64_t address = ref->address + done;
        uint64_t first_page = address / PAGE_BYTES - ref->address / PAGE_BYTES;

        if (!translate_reference(node, space, ref, done, SGPU_ACCESS_WRITE, &span))
            return raise(node, &span);
        gpu->statistics.render_written_bytes += span.bytes;
        if (observer && observer->render_write)
            observer->render_write(gpu->observer_context, token, ref->index, done, span.store,
                                   span.address, span.bytes);
        if (span.store)
            page_store_write_tag(span.store, span.address, span.bytes, ref->key + first_page);
    }
    return true;
}

/* The same with the content of the reference before it, or with a pattern. */
static bool render_blit(struct sgpu_node *node, const struct sgpu_space *space, uint64_t token,
                        const struct sgpu_render_ref *ref)
{
    struct sgpu *gpu = node->gpu;
    const struct sgpu_observer *observer = gpu->observer;
    struct sgpu_span source = {0}, span;

    for (uint64_t done = 0; done < ref->bytes; done += span.bytes) {
        if (!translate_reference(node, space, ref, done, SGPU_ACCESS_WRITE, &span))
            return raise(node, &span);
        if ((ref->flags & SGPU_REF_COPY) &&
            !translate_reference(node, space, ref - 1, done, SGPU_ACCESS_READ, &source))
            return raise(node, &source);
        if (ref->flags & SGPU_REF_COPY)
            span.bytes = min_u64(span.bytes, source.bytes);
        gpu->statistics.render_written_bytes += span.bytes;
        if (observer && observer->render_write)
            observer->render_write(gpu->observer_context, token, ref->index, done, span.store,
                                   span.address, span.bytes);
        if (!span.store)
            continue;
        if (source.store)
            page_store_copy_bytes(span.store, span.address, source.store, source.address,
                                  span.bytes);
        else
            page_store_fill(span.store, span.address, span.bytes,
                            ref->flags & SGPU_REF_FILL ? (uint32_t)ref->key : 0);
    }
    return true;
}

/* The observer knows better what a packet without a token is of. */
static uint64_t token_of(struct sgpu_node *node)
{
    const struct sgpu_packet_render *packet = (const void *)node->packet;
    const struct sgpu *gpu = node->gpu;

    return packet->token || !gpu->observer || !gpu->observer->token_of
               ? packet->token
               : gpu->observer->token_of(gpu->observer_context, node->index,
                                         running_submission(node)->fence);
}

static bool render_begin(struct sgpu_node *node, uint64_t *end_ns)
{
    const struct sgpu_packet_render *packet = (const void *)node->packet;
    struct sgpu_space space = packet_space(node, packet->flags);
    uint64_t token = token_of(node);
    struct sgpu *gpu = node->gpu;

    if (gpu->observer && gpu->observer->render_begin && !(packet->flags & SGPU_RENDER_CONTINUES))
        gpu->observer->render_begin(gpu->observer_context, token, node->index);
    for (uint32_t i = 0; i < packet->ref_count; i++)
        if ((packet->refs[i].flags & SGPU_REF_READ) &&
            !render_read(node, &space, token, &packet->refs[i]))
            return false;
    *end_ns = machine_now(gpu->machine) + gpu->config.packet_ns + packet->duration_ns;
    return true;
}

static bool render_end(struct sgpu_node *node)
{
    const struct sgpu_packet_render *packet = (const void *)node->packet;
    struct sgpu_space space = packet_space(node, packet->flags);
    uint64_t token = token_of(node);
    struct sgpu *gpu = node->gpu;

    for (uint32_t i = 0; i < packet->ref_count; i++) {
        const struct sgpu_render_ref *ref = &packet->refs[i];
        bool is_blit = (ref->flags & (SGPU_REF_COPY | SGPU_REF_FILL)) != 0;

        if ((ref->flags & SGPU_REF_WRITE) &&
            !(is_blit ? render_blit : render_write)(node, &space, token, ref))
            return false;
    }
    if (packet->flags & SGPU_RENDER_GOES_ON) {
        if (gpu->observer && gpu->observer->render_piece_end)
            gpu->observer->render_piece_end(gpu->observer_context, token);
    } else if (gpu->observer && gpu->observer->render_end) {
        gpu->observer->render_end(gpu->observer_context, token);
    }
    return true;
}

/* ---- The table ------------------------------------------------------------------------------ */

static const struct packet_kind packet_kinds[] = {
    [SGPU_OP_NOP] = {8, UINT32_MAX, always_well_formed, short_begin, no_end, NULL, true},
    [SGPU_OP_COPY] = {sizeof(struct sgpu_packet_copy), SGPU_PACKET_PHYSICAL, copy_is_well_formed,
                      copy_begin, copy_end, copy_fly, false},
    [SGPU_OP_FILL] = {sizeof(struct sgpu_packet_fill), SGPU_PACKET_PHYSICAL, fill_is_well_formed,
                      fill_begin, fill_end, fill_fly, false},
    [SGPU_OP_COPY_PAGES] = {sizeof(struct sgpu_packet_copy_pages),
                            SGPU_COPY_TO_PAGES | SGPU_COPY_TILED, copy_pages_is_well_formed,
                            copy_pages_begin, copy_pages_end, copy_pages_fly, false, true},
    [SGPU_OP_GART_WRITE] = {sizeof(struct sgpu_packet_gart), SGPU_GART_COHERENT,
                            gart_is_well_formed, table_write_begin, gart_end, NULL, true, true},
    [SGPU_OP_GART_FILL] = {sizeof(struct sgpu_packet_gart), SGPU_GART_COHERENT, gart_is_well_formed,
                           table_write_begin, gart_end, NULL, true, true},
    [SGPU_OP_PTE_WRITE] = {sizeof(struct sgpu_packet_pte), SGPU_PTE_TABLE_VIRTUAL,
                           pte_is_well_formed, pte_begin, pte_end, pte_fly, true, true},
    [SGPU_OP_PTE_FILL] = {sizeof(struct sgpu_packet_pte), SGPU_PTE_TABLE_VIRTUAL,
                          pte_is_well_formed, pte_begin, pte_end, pte_fly, true, true},
    [SGPU_OP_TLB_FLUSH] = {sizeof(struct sgpu_packet_tlb_flush), SGPU_TLB_ALL,
                           tlb_flush_is_well_formed, short_begin, tlb_flush_end, NULL, true, true},
    [SGPU_OP_FENCE] = {sizeof(struct sgpu_packet_fence),
                       SGPU_FENCE_INTERRUPT | SGPU_PACKET_PHYSICAL, fence_is_well_formed,
                       short_begin, fence_end, fence_fly, false},
    [SGPU_OP_TOUCH] = {sizeof(struct sgpu_packet_touch), SGPU_TOUCH_WRITE | SGPU_PACKET_PHYSICAL,
                       touch_is_well_formed, short_begin, touch_end, NULL, false},
    [SGPU_OP_CLEAN] = {sizeof(struct sgpu_packet_clean), 0, clean_is_well_formed, short_begin,
                       clean_end, NULL, false, true},
    [SGPU_OP_FENCE_HOME] = {sizeof(struct sgpu_packet_fence_home), 0,
                            sgpu_fence_home_is_well_formed, short_begin, sgpu_fence_home_end, NULL,
                            false, true},
    [SGPU_OP_FENCE_SIGNAL] = {sizeof(struct sgpu_packet_fence_signal), 0,
                              sgpu_fence_signal_is_well_formed, short_begin, sgpu_fence_signal_end,
                              NULL, false},
    [SGPU_OP_RENDER] = {sizeof(struct sgpu_packet_render),
                        SGPU_PACKET_PHYSICAL | SGPU_RENDER_GOES_ON | SGPU_RENDER_CONTINUES,
                        render_is_well_formed, render_begin, render_end, NULL, false},
};

static const struct packet_kind *packet_kind(uint32_t header)
{
    uint32_t opcode = SGPU_PACKET_OPCODE(header);

    return opcode < ARRAY_COUNT(packet_kinds) && packet_kinds[opcode].end ? &packet_kinds[opcode]
                                                                          : NULL;
}

/* ---- Fetching ------------------------------------------------------------------------------- */

static bool grow_packet(struct sgpu_node *node, uint64_t size)
{
    uint64_t room = max_u64(node->packet_room, 4096);
    uint64_t *packet;

    if (size <= node->packet_room)
        return true;
    while (room < size)
        room *= 2;
    packet = base_alloc(node->gpu->services, room);
    if (!packet)
        return false;
    if (node->packet_size)
        memcpy(packet, node->packet, node->packet_size);
    base_free(node->gpu->services, node->packet, node->packet_room);
    node->packet = packet;
    node->packet_room = room;
    return true;
}

/* Extend what is fetched of the packet to size bytes. */
static bool fetch(struct sgpu_node *node, uint64_t size)
{
    struct sgpu_submission *submission = running_submission(node);
    bool is_physical = submission->flags & SGPU_SUBMIT_FETCH_PHYSICAL;
    struct sgpu_space space = packet_space(node, is_physical ? SGPU_PACKET_PHYSICAL : 0);
    uint64_t address = submission->address + node->offset;
    struct sgpu_span span;

    if (!grow_packet(node, size))
        return raise_bus(node, address);
    while (node->packet_size < size) {
        uint8_t *to = (uint8_t *)node->packet + node->packet_size;

        if (!sgpu_translate(node, &space, address + node->packet_size, size - node->packet_size,
                            SGPU_ACCESS_FETCH, &span))
            return raise(node, &span);
        if (span.store)
            page_store_read(span.store, span.address, to, span.bytes);
        else
            memset(to, 0, span.bytes);
        node->packet_size += span.bytes;
    }
    return true;
}

static const struct packet_kind *raise_malformed(struct sgpu_node *node)
{
    sgpu_raise_fault(node, SGPU_FAULT_PACKET, node->offset);
    return NULL;
}

static bool is_allowed(const struct sgpu_submission *submission, const struct packet_kind *kind,
                       uint32_t flags)
{
    return !(submission->flags & SGPU_SUBMIT_USER) ||
           (!kind->is_privileged && !(flags & SGPU_PACKET_PHYSICAL));
}

/* The packet at node->offset; NULL: there is none, and the node has faulted or will. */
static const struct packet_kind *fetch_packet(struct sgpu_node *node)
{
    const struct sgpu_submission *submission = running_submission(node);
    uint64_t left = submission->size - node->offset;
    const struct packet_kind *kind;
    uint64_t size;
    uint32_t words;
    uint32_t flags;

    node->packet_size = 0;
    if (!is_aligned(submission->address, SGPU_SUBMIT_ALIGN) || left < 8)
        return raise_malformed(node);
    if (!fetch(node, 8))
        return NULL;
    words = SGPU_PACKET_WORDS((uint32_t)node->packet[0]);
    flags = (uint32_t)(node->packet[0] >> 32);
    size = UINT64_C(4) * words;
    kind = packet_kind((uint32_t)node->packet[0]);
    if (!kind || words % 2 || size < kind->min_size || size > left ||
        (flags & ~kind->known_flags) || !is_allowed(submission, kind, flags))
        return raise_malformed(node);
    if (!fetch(node, size))
        return NULL;
    return kind->is_well_formed(node) ? kind : raise_malformed(node);
}

static enum sgpu_begun fault_or_wait(const struct sgpu_node *node)
{
    return node->waits ? SGPU_BEGUN_DRAINS : SGPU_BEGUN_FAULTED;
}

enum sgpu_begun sgpu_packet_begin(struct sgpu_node *node, bool may_fly, uint64_t *out_end_ns)
{
    const struct packet_kind *kind = fetch_packet(node);
    enum sgpu_begun begun = SGPU_BEGUN_TIMED;

    *out_end_ns = 0;
    if (!kind)
        return fault_or_wait(node);
    if (may_fly && kind->fly)
        begun = kind->fly(node);
    if (begun == SGPU_BEGUN_TIMED && node->flight_count && !kind->overtakes)
        begun = SGPU_BEGUN_DRAINS;
    if (begun == SGPU_BEGUN_TIMED && !kind->begin(node, out_end_ns))
        begun = fault_or_wait(node);
    if (begun != SGPU_BEGUN_WAITS && begun != SGPU_BEGUN_DRAINS)
        node->gpu->statistics.packets++;
    return begun;
}

bool sgpu_packet_end(struct sgpu_node *node)
{
    return packet_kind((uint32_t)node->packet[0])->end(node);
}
