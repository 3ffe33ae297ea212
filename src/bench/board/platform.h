/*
 * Platform: the modelled machine as the memory manager wants to see one.
 *
 * Place      bench. Implements struct vidmm_platform over machine.
 * Model      Pages are handed out zeroed, which costs nothing: the page store keeps zero pages as a
 *            descriptor. Freed pages read as MACHINE_FREED_PATTERN, so that use after release
 *            shows. Mappings of scattered pages are ranges of the host; each is remembered until
 *            unmapped.
 * Ownership  Embedded by the run, initialised with platform_init(). Lent to the manager by
 *            platform_get(); everything it took must be back before platform_fini().
 */
#ifndef DRYDOCK_BENCH_PLATFORM_H
#define DRYDOCK_BENCH_PLATFORM_H

#include "base/list.h"
#include "bench/board/platform_remap.h"
#include "machine/machine.h"
#include "vidmm/vidmm.h"

struct platform {
    struct machine *machine;
    const struct base_services *services; /* the manager's own memory */
    void *mappings;                       /* by address; tsearch() */
    uint64_t mapping_count;
    struct list contiguous;       /* ranges of pages in one piece, while they have slack */
    bool has_slack;               /* behind each such range is a page of nobody's, mapped with it */
    uint64_t agp_bytes;           /* of the AGP window; 0: there is no bridge */
    struct machine_event wake;    /* that the manager has asked for */
    void (*woken)(void *context); /* when it happens; set before platform_get(). NULL: no time */
    void *woken_context;
    struct platform_remap remap; /* platform_remap_init() before platform_get() turns it on */
};

void platform_init(struct platform *platform, struct machine *machine,
                   const struct base_services *services);
void platform_fini(struct platform *platform); /* ends mappings that were left */
/* Bytes from there on that are nobody's, behind or in pages in one piece; 0: not known. */
uint64_t platform_slack(const struct platform *platform, const void *end);
struct vidmm_platform platform_get(struct platform *platform);

#endif
