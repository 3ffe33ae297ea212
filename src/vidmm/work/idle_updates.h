/*
 * Idle updates: operations that must have the GPU, or an address space of it, for themselves.
 *
 * Place      vidmm. The paging queue asks before it builds an operation.
 * Model      idle_updates.c: contexts are held and become quiet, the operation runs, they go on.
 * Source     contract.md PT-036, TLB-003, ALLOC-015.
 */
#ifndef VIDMM_IDLE_UPDATES_H
#define VIDMM_IDLE_UPDATES_H

#include <stdbool.h>

#include <ntddk.h>
#include <d3dkmddi.h>

struct job;
struct vidmm;
struct vidmm_process;

/* False: not yet; contexts are held, ask again. */
bool idle_updates_may_go(struct vidmm *vidmm, struct job *job,
                         const DXGKARG_BUILDPAGINGBUFFER *args);
/* A process that comes while contexts of all processes are held is held, too. */
void idle_updates_meet(struct vidmm_process *process);
/* Everything that was built has retired. */
void idle_updates_end(struct vidmm *vidmm);

#endif
