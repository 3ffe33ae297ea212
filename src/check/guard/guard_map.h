/*
 * Guard map: pages for a copy, between two pages without access.
 *
 * Place      check, private to the guards.
 * Model      Maps that are given back stay with the process, some of them: the runs of a campaign
 *            follow each other, and to lay a map costs more than to write it. A map that is taken
 *            reads `fill` everywhere, whether it is fresh or not.
 *
 *                no access | fill ................ fill | no access
 *                ^ map                                            ^ map + map_bytes
 */
#ifndef DRYDOCK_CHECK_GUARD_MAP_H
#define DRYDOCK_CHECK_GUARD_MAP_H

#include <stddef.h>

#define GUARD_PAGE 4096u

/* At least so many bytes, both pages without access included. NULL: no memory. */
char *guard_map_take(size_t bytes, int fill, size_t *out_map_bytes);
/* NULL: there is none. */
void guard_map_give(char *map, size_t map_bytes);

#endif
