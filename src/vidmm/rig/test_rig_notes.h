/*
 * Rig notes: a world that is built from the manager's notes alone (vidmm/notes.h).
 *
 * Place  Tests of vidmm: each rig has one, which hears everything.
 * Model  The world has the objects, requests, jobs, operations, packets, places, mappings and page
 *        tables that the notes tell of. Each note is judged when it comes: it may only go on with
 *        what there is. rig_notes_check() compares the world with the manager: each allocation is
 *        where the world has it, in the state that the world has it in, and so on.
 */
#ifndef VIDMM_TEST_RIG_NOTES_H
#define VIDMM_TEST_RIG_NOTES_H

#include "vidmm/notes.h"

struct rig;
struct rig_notes;

struct rig_notes *rig_notes_create(void);
void rig_notes_free(struct rig_notes *notes);
/* The manager has stopped: nothing is left in its segments, which are new when it starts again. */
void rig_notes_stopped(struct rig *rig);

/* vidmm_events.told of a rig. */
void rig_notes_hear(void *rig, const struct vidmm_note *note);

/* The world is as the manager says; when the manager is idle, nothing of it is unfinished. */
void rig_notes_check(struct rig *rig);

/* How many ranges of page-table entries followed no stride. */
uint64_t rig_notes_scattered(const struct rig *rig);

/* How many notes of the kind there have been. */
uint64_t rig_notes_count(const struct rig *rig, enum vidmm_note_kind kind);

#endif
