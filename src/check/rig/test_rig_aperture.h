/*
 * Test rig of the checking layer, continued: slots of the aperture, and drivers that fill them
 * wrong.
 *
 * Place      check, tests only.
 * Model      rig_map_of() and rig_unmap_of() are lawful operations as structures that a test may
 *            change. RIG_ANSWER_WITH() puts a function in the place of what a lawful driver does
 *            with slots; the ones here are wrong for lists of frames and of addresses alike.
 */
#ifndef DRYDOCK_CHECK_TEST_RIG_APERTURE_H
#define DRYDOCK_CHECK_TEST_RIG_APERTURE_H

#include "check/rig/test_rig_submit.h"

#define RIG_APERTURE 2u
#define RIG_PAGES    8u

/* A list of RIG_PAGES frames, 0x100 and up. */
struct rig_frames {
    MDL mdl;
    PFN_NUMBER pages[RIG_PAGES];
};

/* Stands for a lawful driver's answer to an operation on slots (RIG_ANSWER_WITH()). */
typedef NTSTATUS rig_build_function(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *arg);

struct rig_frames rig_frames_of(PFN_NUMBER first);
HANDLE rig_aperture_allocation(struct rig *rig);
DXGKARG_BUILDPAGINGBUFFER rig_map_of(struct rig *rig, HANDLE allocation, SIZE_T slot,
                                     struct rig_frames *frames);
DXGKARG_BUILDPAGINGBUFFER rig_unmap_of(struct rig *rig, HANDLE allocation, SIZE_T slot);

/* Submits the operations that were built; their packet retires. */
void rig_retire(struct rig *rig);
void rig_build_and_retire(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER arg);

/* Maps at slot 8 and gives the allocation. The MDL is dead behind it. */
HANDLE rig_map_some(struct rig *rig);
void rig_map_at(struct rig *rig, SIZE_T slot);
NTSTATUS rig_answer_slots(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg);
NTSTATUS rig_do_nothing(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *arg);
NTSTATUS rig_ignore_offset(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *arg);
NTSTATUS rig_keep_slots(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *arg);

#define RIG_ANSWER_WITH(function)                                                                  \
    static rig_build_function *const told = (function);                                            \
    rig->answer = rig_answer_slots;                                                                \
    rig->told = (void *)&told

#endif
