/*
 * Test rig, told: what the manager says to drivers, clients and its observer is hashed, when golden
 * files are made.
 *
 * Place  vidmm, tests only; see test_rig.h and tests/told.h.
 */
#ifndef DRYDOCK_VIDMM_TEST_RIG_TOLD_H
#define DRYDOCK_VIDMM_TEST_RIG_TOLD_H

#include "vidmm/rig/test_rig.h"

/* Gives the miniport for the manager: the rig's, or one above it that hashes all calls. */
struct miniport *rig_told_begin(struct rig *rig);
void rig_told_end(struct miniport *top);

/* The statistics, the segments, budgets, and where each allocation is. */
void rig_told_state(const struct rig *rig);

/* What a note says, without its addresses of this program. */
void rig_told_note(const struct vidmm_note *note);

#endif
