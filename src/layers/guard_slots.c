#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "layers/guard_slots.h"

#include "base/bits.h"
#include "miniport/poison.h"

#include <string.h>
#include <sys/mman.h>

#define GAP_BYTES  (GUARD_GAP_PAGES * PAGE_BYTES)
#define LOOK_BYTES 256u /* of what was lent, for late writes */

#define TURNS 2u /* slots of a ring that are taken in turn while they suffice */
/* The first turns of a slot, each of which is looked at for late writes, and then a part. */
#define LOOKED_AT 8u
#define LOOKED_OF 4u

/* By class: how many there are. */
static const unsigned slot_counts[GUARD_CLASSES] = {
    GUARD_SLOTS_MOST, 64, 48, 32, 24, 16, 16, 8, 8, 8, 8, 4, 4, 4, 4};

static unsigned char fill[PAGE_BYTES]; /* GUARD_FILL; made once */

static size_t class_bytes(unsigned class)
{
    return (size_t)PAGE_BYTES << class;
}

static size_t stride_of(unsigned class)
{
    return class_bytes(class) + GAP_BYTES;
}

static size_t map_bytes(unsigned class)
{
    return slot_counts[class] * stride_of(class) + GAP_BYTES;
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

/* The first byte of [at, end) that is not fill; end: none. */
static char *find_written(char *at, char *end)
{
    while (at < end) {
        size_t bytes = min_u64((size_t)(end - at), sizeof fill);

        if (memcmp(at, fill, bytes) != 0)
            break;
        at += bytes;
    }
    while (at < end && (unsigned char)*at == GUARD_FILL)
        at++;
    return at;
}

/* The first byte of what was lent as page numbers that is none of LEND_STALE_PAGE; end: none. */
static char *find_page_written(char *at, char *end)
{
    const uint64_t stale = LEND_STALE_PAGE;

    for (; (size_t)(end - at) >= sizeof stale; at += sizeof stale) {
        if (memcmp(at, &stale, sizeof stale) != 0)
            return at;
    }
    return end;
}

/* What is lent begins at an aligned address. */
static void make_stale(char *at, size_t bytes)
{
    uint64_t *pages = (uint64_t *)(void *)at;

    for (size_t i = 0; i < bytes / sizeof *pages; i++)
        pages[i] = LEND_STALE_PAGE;
    memset(at + bytes / sizeof *pages * sizeof *pages, GUARD_FILL, bytes % sizeof *pages);
}

/* Whether the process keeps its memory between two calls. */
static bool is_kept(const struct guard_slot *slot)
{
    return slot->bytes <= GUARD_KEPT_BYTES;
}

static char *near_before(const struct guard_slot *slot)
{
    return (size_t)(slot->at - slot->start) > GUARD_NEAR_BYTES ? slot->at - GUARD_NEAR_BYTES
                                                               : slot->start;
}

static char *near_behind(const struct guard_slot *slot)
{
    char *end = slot->at + slot->lent_bytes;
    size_t room = (size_t)(slot->start + slot->bytes - end);

    return end + min_u64(room, GUARD_NEAR_BYTES);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static struct guard_slots all;
static bool is_in_use;

struct guard_slots *guard_slots_begin(void)
{
    if (is_in_use)
        return NULL;
    is_in_use = true;
    memset(fill, GUARD_FILL, sizeof fill);
    return &all;
}

/* Slots that a run has left without returning from the driver come back, too. */
void guard_slots_end(struct guard_slots *slots)
{
    for (unsigned i = 0; i < GUARD_CLASSES; i++) {
        struct guard_class *class = &slots->classes[i];
        const unsigned used = class->used;

        class->used = 0;
        for (unsigned j = 0; j < used; j++) {
            struct guard_slot *slot = &class->slots[j];

            if (slot->is_sealed)
                mprotect(slot->start, slot->bytes, PROT_READ | PROT_WRITE);
            slot->is_sealed = slot->is_lent = slot->is_marked = false;
            slot->lent_bytes = 0;
            slot->turns = 0;
        }
    }
    memset(slots->rings, 0, sizeof slots->rings);
    slots->ring_count = 0;
    slots->released = 0;
    is_in_use = false;
}

/* ---- Taking ---------------------------------------------------------------------------------- */

static bool lay(struct guard_class *class, unsigned number, unsigned index)
{
    struct guard_slot *slot = &class->slots[index];

    if (!class->map) {
        class->map = mmap(NULL, map_bytes(number), PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (class->map == MAP_FAILED) {
            class->map = NULL;
            return false;
        }
    }
    slot->start = class->map + GAP_BYTES + index * stride_of(number);
    slot->bytes = class_bytes(number);
    slot->is_at_start = index % 2;
    if (mprotect(slot->start, slot->bytes, PROT_READ | PROT_WRITE) == 0)
        return true;
    slot->start = NULL;
    return false;
}

static void poison(struct guard_slot *slot)
{
    if (slot->has_stale_pages)
        make_stale(slot->at, slot->lent_bytes);
    else
        memset(slot->at, GUARD_FILL, min_u64(slot->lent_bytes, GUARD_POISONED));
}

/* Looks for late writes, and makes good what it finds. */
static bool look_late(struct guard_slot *slot, struct guard_late *out_late)
{
    char *end = slot->at + min_u64(slot->lent_bytes, LOOK_BYTES), *found;

    if (slot->is_lent || slot->is_sealed || !slot->lent_bytes || !is_kept(slot))
        return false;
    found = slot->has_stale_pages ? find_page_written(slot->at, end) : find_written(slot->at, end);
    if (found == end)
        return false;
    *out_late = (struct guard_late){slot->label, (size_t)(found - slot->at), slot->lent_bytes};
    poison(slot);
    return true;
}

/*
 * The ring of what a label names: elements of an array have one together. NULL: there are too many.
 * Where a ring is in the table depends on addresses, but nothing that a driver sees does.
 */
static struct guard_ring *ring_of(struct guard_slots *slots, const struct guard_label *label,
                                  unsigned number)
{
    const struct loan_member *member = label->members[label->members[1] != NULL];
    uint64_t hash = ((uintptr_t)label->call * 31 + (uintptr_t)member) * 31 + number;
    size_t at = (size_t)(hash * UINT64_C(0x9e3779b97f4a7c15) >> 32) % GUARD_RINGS;

    for (;; at = (at + 1) % GUARD_RINGS) {
        struct guard_ring *ring = &slots->rings[at];

        if (ring->call == label->call && ring->member == member && ring->number == number)
            return ring;
        if (ring->call)
            continue;
        if (slots->ring_count == GUARD_RINGS / 2)
            return NULL;
        slots->ring_count++;
        *ring = (struct guard_ring){.call = label->call, .member = member, .number = number};
        return ring;
    }
}

/* A slot that was not in the run yet comes behind the last of the ring; NULL: there is none. */
static struct guard_slot *add_slot(struct guard_class *class, struct guard_ring *ring)
{
    struct guard_slot *slot = &class->slots[class->used];

    if (class->used == slot_counts[ring->number] ||
        (!slot->start && !lay(class, ring->number, class->used)))
        return NULL;
    class->used++;
    ring->count++;
    slot->ring = ring;
    slot->next = ring->last ? ring->last->next : slot;
    if (ring->last)
        ring->last->next = slot;
    return slot;
}

static struct guard_slot *find_free(struct guard_slots *slots, struct guard_ring *ring)
{
    struct guard_class *class = &slots->classes[ring->number];
    struct guard_slot *slot = ring->count < TURNS ? add_slot(class, ring) : NULL;

    for (unsigned i = 0; !slot && i < ring->count; i++) {
        ring->last = ring->last->next;
        if (!ring->last->is_lent)
            slot = ring->last;
    }
    if (!slot)
        slot = add_slot(class, ring);
    if (slot)
        ring->last = slot;
    return slot;
}

void guard_slot_mend(struct guard_slot *slot)
{
    char *end = slot->at + slot->lent_bytes;

    if (slot->is_marked)
        return;
    memset(near_before(slot), GUARD_FILL, (size_t)(slot->at - near_before(slot)));
    memset(end, GUARD_FILL, (size_t)(near_behind(slot) - end));
    slot->is_marked = true;
}

/* Where so many bytes are lent in the slot, and canaries around them. */
static void place(struct guard_slot *slot, size_t bytes, uint32_t alignment)
{
    if (slot->lent_bytes != bytes || slot->alignment != alignment) {
        uintptr_t last = (uintptr_t)(slot->start + slot->bytes - bytes);

        slot->at = slot->is_at_start ? slot->start : (char *)(last & ~((uintptr_t)alignment - 1));
        slot->lent_bytes = bytes;
        slot->alignment = alignment;
        slot->is_marked = false;
    }
    guard_slot_mend(slot);
}

static bool is_to_look_at(const struct guard_slot *slot)
{
    return slot->turns <= LOOKED_AT || slot->turns % LOOKED_OF == 0;
}

struct guard_slot *guard_slot_take(struct guard_slots *slots, const struct guard_label *label,
                                   size_t bytes, uint32_t alignment, bool *out_is_late,
                                   struct guard_late *out_late)
{
    struct guard_slot *slot;
    struct guard_ring *ring;
    unsigned number = 0;

    if (bytes > GUARD_MOST_BYTES)
        return NULL;
    while (class_bytes(number) < bytes)
        number++;
    ring = ring_of(slots, label, number);
    slot = ring ? find_free(slots, ring) : NULL;
    if (!slot)
        return NULL;
    if (slot->is_sealed) {
        mprotect(slot->start, slot->bytes, PROT_READ | PROT_WRITE);
        slot->is_sealed = false;
    }
    slot->turns++;
    *out_is_late = is_to_look_at(slot) && look_late(slot, out_late);
    slot->label = *label;
    slot->is_lent = true;
    if (ring->is_tight && bytes % alignment)
        alignment = (uint32_t)(bytes & -bytes);
    place(slot, bytes, alignment);
    return slot;
}

/* A canary of the usual length, without a call. */
static bool is_whole(const char *at, size_t bytes)
{
    uint64_t word, other = 0;

    if (bytes != GUARD_NEAR_BYTES)
        return memcmp(at, fill, bytes) == 0;
    for (unsigned i = 0; i < GUARD_NEAR_BYTES; i += sizeof word) {
        memcpy(&word, at + i, sizeof word);
        other |= word ^ UINT64_C(0xa5a5a5a5a5a5a5a5);
    }
    return !other;
}

bool guard_slot_look(struct guard_slot *slot, bool *out_is_before, size_t *out_distance)
{
    char *end = slot->at + slot->lent_bytes, *last = near_behind(slot);
    char *front = near_before(slot), *found;

    if ((front == slot->at || is_whole(front, (size_t)(slot->at - front))) &&
        (end == last || is_whole(end, (size_t)(last - end))))
        return false;
    slot->is_marked = false;
    slot->ring->is_tight = true;
    found = find_written(end, last);
    if (found < last) {
        *out_is_before = false;
        *out_distance = (size_t)(found - end);
        return true;
    }
    /* The nearest byte is told. */
    for (found = slot->at - 1; (unsigned char)*found == GUARD_FILL; found--)
        ;
    *out_is_before = true;
    *out_distance = (size_t)(slot->at - found);
    return true;
}

void guard_slot_release(struct guard_slots *slots, struct guard_slot *slot, bool has_pages)
{
    slot->has_stale_pages = has_pages;
    slot->is_lent = false;
    if (is_kept(slot)) {
        poison(slot);
    } else {
        madvise(slot->start, slot->bytes, MADV_DONTNEED);
        slot->is_marked = false;
    }
    if (++slots->released % GUARD_SEALED_OF == 0 || !is_kept(slot))
        slot->is_sealed = mprotect(slot->start, slot->bytes, PROT_NONE) == 0;
}

bool guard_slots_find_late(struct guard_slots *slots, struct guard_late *out_late)
{
    for (unsigned i = 0; i < GUARD_CLASSES; i++) {
        for (unsigned j = 0; j < slots->classes[i].used; j++) {
            if (look_late(&slots->classes[i].slots[j], out_late))
                return true;
        }
    }
    return false;
}

const struct guard_slot *guard_slots_at(const void *address)
{
    for (unsigned i = 0; i < GUARD_CLASSES; i++) {
        const struct guard_class *class = &all.classes[i];
        size_t into = (size_t)((const char *)address - class->map);
        size_t index;

        if (!class->map || (const char *)address < class->map || into >= map_bytes(i))
            continue;
        /* Half of the gap belongs to the slot in front of it, half to the slot behind it. */
        index = into < GAP_BYTES / 2 ? 0 : (into - GAP_BYTES / 2) / stride_of(i);
        if (index >= slot_counts[i])
            index = slot_counts[i] - 1;
        return class->slots[index].start && class->slots[index].lent_bytes ? &class->slots[index]
                                                                           : NULL;
    }
    return NULL;
}
