/*
 * Ports: the 64 Ki addresses of the processor's I/O space.
 *
 * Place      nt, private. READ_PORT_UCHAR() and its like, and "in" and "out" of a driver's own.
 * Model      No device of the machine answers at a port. A port reads as ones, as an empty bus
 *            does, until something was written there or the surroundings said what it says
 *            (nt_set_port()); then it says that. Each address is a port of its own, whatever the
 *            size of an access: an index at 0x1ce and its data at 0x1cf do not overlap. A read of a
 *            port that nobody gave a number is told the host as asked for in vain.
 */
#ifndef DRYDOCK_NT_PORT_H
#define DRYDOCK_NT_PORT_H

#include "nt/nt.h"

/* Accesses of 1, 2 or 4 bytes. */
uint32_t nt_read_port(struct nt *nt, uint16_t port, unsigned bytes);
void nt_write_port(struct nt *nt, uint16_t port, unsigned bytes, uint32_t value);

#endif
