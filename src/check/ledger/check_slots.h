/*
 * Slots: what operations said that the slots of an aperture show.
 *
 * Place      check, private. Used by check_aperture.c alone.
 * Model      A claim is what one operation said of a range of slots; each slot knows the last claim
 *            on it and the page that the claim put there. A claim lives as long as a slot knows it,
 *            or its operation is under way. Slots are made when they are first claimed, a chunk at
 *            a time, so that a large aperture costs as much as its used slots.
 * Ownership  claim_create() gives a claim that is held once; claim_put() ends a hold.
 * Errors     NULL or false: no memory.
 */
#ifndef DRYDOCK_CHECK_SLOTS_H
#define DRYDOCK_CHECK_SLOTS_H

#include "base/list.h"
#include "base/services.h"

#include <stdbool.h>
#include <stdint.h>

#define SLOT_CHUNK 512u

enum claim_kind { CLAIM_UNMAP, CLAIM_MDL, CLAIM_ADL };

struct claim {
    struct list link; /* of the operations that have not retired */
    struct list late; /* of those whose slots were not yet right when their packet retired */
    unsigned holds;   /* slots, and the operation while it is under way */
    uint64_t number;  /* of the operation */
    uint64_t event;   /* of its first call */
    unsigned segment; /* its id */
    uint64_t first, count;
    enum claim_kind kind;
    bool is_contiguous, is_other_kind; /* ADL: and not of the kind of the one before */
    bool is_coherent;
    uint64_t list_offset;
    const void *device, *allocation; /* handles */
    uint64_t object;                 /* number of the allocation: handles come again; 0: none */
    bool is_built;                   /* wholly, and with success */
    bool has_written;                /* commands, into the paging buffer */
    bool is_seen_right;              /* all of its slots, once */
    bool had_page;                   /* the first slot, before: */
    uint64_t page_before;
    unsigned epoch;
    uint64_t late_slot;
    /* The last packet that says it uses an address behind it. */
    bool is_used;
    unsigned use_node;
    uint32_t use_fence;
};

#define SLOT_UNTOLD UINT64_MAX
struct slot {
    struct claim *claim; /* NULL: no operation ever named it */
    uint64_t page;       /* SLOT_UNTOLD: nothing is expected of it (any more) */
};

struct slots {
    const struct base_services *services;
    uint64_t count;
    struct slot **chunks; /* NULL before the first claim, as each of them */
    uint64_t mapped;      /* slots with a last claim that is no unmap */
    uint64_t new_start, new_end;
};

void slots_init(struct slots *slots, const struct base_services *services, uint64_t count);
void slots_fini(struct slots *slots);

/* NULL: no memory, or (not is_made) nobody ever claimed it. */
struct slot *slots_at(struct slots *slots, uint64_t index, bool is_made);

/* The first index from this one on that may have been claimed; count when there is none. */
uint64_t slots_next(const struct slots *slots, uint64_t index);

struct claim *claim_create(const struct base_services *services);
void claim_put(const struct base_services *services, struct claim *claim);
/* The slot shows the claim's page from now on. */
void slots_claim(struct slots *slots, uint64_t index, struct slot *slot, struct claim *claim,
                 uint64_t page);

#endif
