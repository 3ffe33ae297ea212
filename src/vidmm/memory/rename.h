/*
 * Renaming: instances of one allocation, for a client that writes new content while the GPU reads
 * the old one.
 *
 * Place      vidmm. A lock with Discard asks for an instance; the end of each instance is told.
 * Model      rename.c. The client knows the first instance, which outlives the others.
 * Source     contract.md ALLOC-022.
 */
#ifndef VIDMM_RENAME_H
#define VIDMM_RENAME_H

struct vidmm_allocation;

/*
 * Gives an allocation that work uses another instance, with a backing store and undefined content,
 * and dooms the one in force. NULL, and nothing has changed: it cannot be, or there is no memory.
 */
struct vidmm_allocation *allocation_rename(struct vidmm_allocation *allocation);
/*
 * One instance has no place and no pages any more. NULL: others are left; else the first, to be
 * freed.
 */
struct vidmm_allocation *instance_ended(struct vidmm_allocation *instance);

#endif
