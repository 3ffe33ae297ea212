/*
 * Spin locks, without a rule about the level: for services that have raised it themselves.
 *
 * Place      nt, private.
 * Errors     Bug check SPIN_LOCK_ALREADY_OWNED or SPIN_LOCK_NOT_OWNED: there is one processor.
 */
#ifndef DRYDOCK_NT_SPIN_LOCK_H
#define DRYDOCK_NT_SPIN_LOCK_H

#include "nt/nt.h"

#include <wdm.h>

void nt_spin_lock_acquire(struct nt *nt, PKSPIN_LOCK lock);
void nt_spin_lock_release(struct nt *nt, PKSPIN_LOCK lock);

#endif
