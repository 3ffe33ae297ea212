/*
 * Whether an address may be written.
 *
 * Place      nt, tests only.
 */
#ifndef DRYDOCK_NT_TEST_FAULT_H
#define DRYDOCK_NT_TEST_FAULT_H

#include <stdbool.h>
#include <stdint.h>

/* Writes 1 there, and tells whether that faulted. */
bool faults(volatile uint8_t *address);

#endif
