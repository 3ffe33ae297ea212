/*
 * A story that no run told: as large as a test wants it, and alike for the same size.
 *
 * Two segments, three processes, a node that pages and one that renders. Allocations are placed,
 * the oldest leave when a segment is full, and each move has its operation, packet, interrupt and
 * calls.
 */
#ifndef DRYDOCK_STORY_TEST_SYNTHETIC_H
#define DRYDOCK_STORY_TEST_SYNTHETIC_H

#include "story/story.h"

/* About so many rows in all tables but those of arguments and references. NULL: no memory. */
struct story *synthetic_story(const struct base_services *services, size_t events);

#endif
