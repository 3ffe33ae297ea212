/*
 * Single values that a child process hands back, before the parent believes them.
 *
 * Place      bench. Used by validate.c for whole structures, and by drivers/driver_look.c. Uses
 *            base alone.
 * Errors     None: a value that makes no sense becomes the least one that does.
 */
#ifndef DRYDOCK_BENCH_VALIDATE_VALUE_H
#define DRYDOCK_BENCH_VALIDATE_VALUE_H

#include <stdbool.h>

/* The pointer if it leads to a short text in this process, else NULL. */
const char *validate_literal(const char *text);

/* Reads the byte, whatever it is: any byte but 0 is true. */
bool validate_truth(const bool *value);

#endif
