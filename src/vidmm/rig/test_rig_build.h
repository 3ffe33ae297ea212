/*
 * Test rig, building: the miniport's DxgkDdiBuildPagingBuffer, operations into records.
 *
 * Place  vidmm, tests only; see test_rig.h.
 */
#ifndef DRYDOCK_VIDMM_TEST_RIG_BUILD_H
#define DRYDOCK_VIDMM_TEST_RIG_BUILD_H

#include "vidmm/rig/test_rig_gpu.h"

#define RIG_MAGIC        0x21474952u
#define RIG_RECORD_PAGES 64 /* that one record of a move covers */

/* Everything of it has been executed and told: what it pinned may be used again. */
void rig_end_operation(struct rig *rig, uint32_t index);
NTSTATUS rig_build(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *args);

#endif
