/*
 * Test rig, told: what the manager says to drivers and clients is hashed, when golden files are
 * made.
 *
 * Place  vidmm, tests only; see test_rig.h and tests/told.h.
 */
#ifndef DRYDOCK_VIDMM_TEST_RIG_TOLD_H
#define DRYDOCK_VIDMM_TEST_RIG_TOLD_H

#include "vidmm/rig/test_rig.h"

/* Gives the miniport for the manager: the rig's, or one above it that hashes all calls. */
struct miniport *rig_told_begin(struct rig *rig);
void rig_told_end(struct miniport *top);

/* The statistics, and the segments. */
void rig_told_state(const struct rig *rig);

#endif
