/*
 * Fence storage: the pages that native fences lie in, in system memory or in a segment.
 *
 * Place      vidmm, below native_fence.c. Uses segments and the driver.
 * Model      A block is two pages, one of current and one of monitored values, with as many slots
 *            each. Each page has a system page. The driver may want values of one kind in a
 *            segment; the page in force is there then, as long as there is room, and the system
 *            page is where its values go when it leaves.
 *
 *                 enter()   values are copied to a page of the segment  | the driver is told,
 *                 leave()   values are copied to the system page        | then settle()
 *
 *            The CPU copies: nothing that could change a value is with the GPU.
 * Ownership  A block is the caller's from fence_block_create() to fence_block_destroy().
 * Errors     NTSTATUS; fence_block_create() gives the driver's own, too.
 * Source     contract.md FENCE-018..020, NTF-010; docs/contract-choices.md, C8.
 */
#ifndef VIDMM_FENCE_STORAGE_H
#define VIDMM_FENCE_STORAGE_H

#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>

#include <ntddk.h>
#include <d3dkmddi.h>

struct segment;
struct vidmm;

enum fence_value { FENCE_CURRENT, FENCE_MONITORED, FENCE_VALUES };

#define FENCE_WISHES 5                            /* segments that PreferredSegment names */
#define FENCE_POISON UINT64_C(0xdeaddeaddeaddead) /* of words where no fence is any more */

/* A page of a segment; segment 0: the block's system page. */
struct fence_page {
    unsigned segment;
    uint64_t page;
    uint8_t *cpu;
};

struct fence_block {
    struct list link; /* in native_fences.blocks */
    uint64_t taken;   /* slots */

    /* System pages, one behind the other, and the CPU's view of them. */
    uint64_t first_page;
    uint8_t *cpu;

    /* By kind of value. */
    uint8_t wishes[FENCE_VALUES][FENCE_WISHES]; /* segments that the driver wants, best first */
    struct fence_page places[FENCE_VALUES];     /* in force */
    struct fence_page formers[FENCE_VALUES];    /* of those that have moved */
    bool has_moved[FENCE_VALUES];               /* and the driver has not been told */
};

NTSTATUS fence_block_create(struct vidmm *vidmm, struct fence_block **out_block);
void fence_block_destroy(struct vidmm *vidmm, struct fence_block *block);

/* Where the CPU, and where the GPU finds a value. */
volatile uint64_t *fence_block_word(const struct fence_block *block, enum fence_value value,
                                    unsigned slot);
D3DGPU_PHYSICAL_ADDRESS fence_block_address(const struct vidmm *vidmm,
                                            const struct fence_block *block, enum fence_value value,
                                            unsigned slot);

/* Values that are wanted in a segment with room go there. False: none did. */
bool fence_block_enter(struct vidmm *vidmm, struct fence_block *block);
/* Values go to the system pages: those in the segment, or, with NULL, all. False: there are none.
 */
bool fence_block_leave(struct fence_block *block, const struct segment *segment);
bool fence_block_is_moving(const struct fence_block *block);
/* The driver knows where they are: the former pages hold other values from now on, and go. */
void fence_block_settle(struct vidmm *vidmm, struct fence_block *block);

/* The memory of segments is about to be lost: the values go to the system pages; then, the pages.
 */
void fence_block_rescue(struct fence_block *block);
void fence_block_drop(struct vidmm *vidmm, struct fence_block *block);

#endif
