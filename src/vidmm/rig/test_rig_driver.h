/*
 * Test rig, driver: the miniport at the bottom.
 *
 * Place  vidmm, tests only; see test_rig.h. Caps from struct rig_config, handles with counts,
 *        Render and Patch of the physical model, packets into queues; operations: test_rig_build.h.
 */
#ifndef DRYDOCK_VIDMM_TEST_RIG_DRIVER_H
#define DRYDOCK_VIDMM_TEST_RIG_DRIVER_H

#include "vidmm/rig/test_rig_build.h"

#define RIG_COMMAND_MAGIC UINT64_C(0x646e616d6d6f4321)

/* ---- Caps ------------------------------------------------------------------------------------ */

ULONG rig_version(struct miniport *self);
bool rig_has(struct miniport *self, enum miniport_ddi ddi);
NTSTATUS rig_collect(struct miniport *self, HANDLE object, const DXGKARG_COLLECTDBGINFO *args);
NTSTATUS rig_collect2(struct miniport *self, HANDLE object, DXGKARG_COLLECTDBGINFO2 *args);
NTSTATUS rig_query(struct miniport *self, HANDLE object, const DXGKARG_QUERYADAPTERINFO *query);

/* ---- Objects --------------------------------------------------------------------------------- */

NTSTATUS rig_create_process(struct miniport *self, HANDLE object, DXGKARG_CREATEPROCESS *create);
NTSTATUS rig_destroy_process(struct miniport *self, HANDLE object);
NTSTATUS rig_create_device(struct miniport *self, HANDLE object, DXGKARG_CREATEDEVICE *create);
NTSTATUS rig_destroy_device(struct miniport *self, HANDLE object);
NTSTATUS rig_create_context(struct miniport *self, HANDLE device, DXGKARG_CREATECONTEXT *create);
NTSTATUS rig_destroy_context(struct miniport *self, HANDLE object);
NTSTATUS rig_create_allocation(struct miniport *self, HANDLE object,
                               DXGKARG_CREATEALLOCATION *create);
NTSTATUS rig_open_allocation(struct miniport *self, HANDLE device,
                             const DXGKARG_OPENALLOCATION *open);
NTSTATUS rig_close_allocation(struct miniport *self, HANDLE device,
                              const DXGKARG_CLOSEALLOCATION *close);

/* Nothing that names it is unfinished (ALLOC-020). */
NTSTATUS rig_destroy_allocation(struct miniport *self, HANDLE object,
                                const DXGKARG_DESTROYALLOCATION *destroy);
SIZE_T rig_root_size(struct miniport *self, DXGKARG_GETROOTPAGETABLESIZE *size);
NTSTATUS rig_set_root(struct miniport *self, HANDLE object, const DXGKARG_SETROOTPAGETABLE *root);

/* ---- Submission ------------------------------------------------------------------------------ */

struct rig_program *rig_program_at(struct rig *rig, uint64_t number);
NTSTATUS rig_submit_virtual(struct miniport *self, HANDLE object,
                            const DXGKARG_SUBMITCOMMANDVIRTUAL *submit);

/* Patches addresses in, and pins all that the packet may touch. */
NTSTATUS rig_patch(struct miniport *self, HANDLE object, const DXGKARG_PATCH *patch);
NTSTATUS rig_submit(struct miniport *self, HANDLE object, const DXGKARG_SUBMITCOMMAND *submit);

/* A command buffer is an array of struct rig_step. */
NTSTATUS rig_render(struct miniport *self, HANDLE object, DXGKARG_RENDER *render);

#endif
