/*
 * Told: the state of a scheduler enters the hash of what tests were told (tests/told.h).
 *
 * Place  vidsch, tests only.
 */
#ifndef DRYDOCK_VIDSCH_TEST_TOLD_H
#define DRYDOCK_VIDSCH_TEST_TOLD_H

#include "vidsch/vidsch.h"

void vidsch_told_state(const struct vidsch *vidsch);

#endif
