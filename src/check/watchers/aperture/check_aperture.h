/*
 * Aperture: declarations that the two files of the watcher share. check_aperture.c follows the
 * slots and looks at the GPU's; check_aperture_request.c judges the system's requests, address
 * lists for everybody.
 */
#ifndef DRYDOCK_CHECK_APERTURE_H
#define DRYDOCK_CHECK_APERTURE_H

#include "check/ledger/check_slots.h"
#include "check/check_watch.h"

#define APERTURE_PAGE 4096u

struct aperture_watch {
    struct slots slots[CHECK_MAX_SEGMENTS]; /* of segment id - 1 */
    uint64_t mapped;                        /* slots of all apertures */
    struct list pending;                    /* claims, in the order of their operations */
    struct list late;
    struct claim *open; /* the operation that is being built */
    unsigned epoch;     /* counts resets and sleeps */
    unsigned last_reset;
    bool has_kind, is_contiguous; /* of the last address list */

    struct id_map context_allocations; /* the driver's handles; callbacks made them */

    uint64_t dummy; /* device page number */
    bool has_dummy, has_dummy_bytes, is_dummy_told;
    unsigned char dummy_bytes[APERTURE_PAGE];
    unsigned quiet_count;
};

/* What an operation says, whichever of the three it is. */
struct request {
    enum claim_kind kind;
    HANDLE device, allocation;
    unsigned segment;
    uint64_t first, count;
    uint64_t list_offset;
    bool is_coherent;
    const MDL *mdl;
    const DXGK_ADL *adl;
    const void *cpu_view;
    uint64_t dummy;
};

/* Of a walk over the slots of an operation. */
struct walk {
    uint64_t twice, skipped_reset, strange, in_use, first_bad;
    /* As they were: a claim is gone when the last of its slots is another's. */
    bool has_mapped, has_user;
    struct claim mapped; /* the first claim that was a map */
    struct claim user;
};

/* Of the live allocation with that handle; 0: none. */
uint64_t allocation_number(struct check *check, const void *handle);

/* False: there are no such slots or pages, and nothing more can be said. */
bool check_bounds(struct check *check, const struct check_segment *segment,
                  const struct request *request);
/* A list of system memory, as the device sees it (ADL-004, ADL-005, ADL-008). */
void check_address_list(struct check *check, const DXGK_ADL *adl, const char *field);
/* A map is lawful for its allocation: owner, caching, operation. */
void check_map(struct check *check, const struct check_segment *segment,
               const struct request *request, const struct check_allocation *allocation);
/* mapped is what an unmap takes away, NULL: nothing that is known. */
void check_owner(struct check *check, const struct request *request, const struct claim *mapped);
/* The slot as it was before the operation. */
void look_at_slot(struct check *check, const struct aperture_watch *watch,
                  const struct request *request, uint64_t index, const struct slot *slot,
                  struct walk *walk);
void judge_walk(struct check *check, struct aperture_watch *watch,
                const struct check_segment *segment, const struct request *request,
                const struct walk *walk);
/* How much is mapped, with this operation. */
void check_limits(struct check *check, const struct aperture_watch *watch,
                  const struct check_segment *segment);

/* ADL-010: the driver has pages mapped for the CPU. */
void judge_cpu_mapping(struct check *check, void *state, const uint64_t *pages, uint64_t count);

#endif
