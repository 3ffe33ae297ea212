/*
 * POSIX over Windows: what its sources share.
 *
 * Place      windows. Its headers stand in posix/ under their POSIX names; each has what the bench
 *            calls, and what it says is not there fails as POSIX lets it fail.
 */
#ifndef DRYDOCK_WINDOWS_OWN_H
#define DRYDOCK_WINDOWS_OWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In a handler of faults: true when the access may repeat, memory having been committed. */
bool posix_memory_touch(const void *address);

/* Sets errno after a call of Windows has failed. -1. */
int posix_failed(void);

#endif
