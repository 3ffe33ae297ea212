/*
 * Swizzling ranges.
 *
 * Place      refkmd, private.
 */
#ifndef REFKMD_SWIZZLING_H
#define REFKMD_SWIZZLING_H

#include "refkmd/adapter.h"

/* The board shows the ranges again that are acquired. */
void refkmd_restore_ranges(const struct refkmd_adapter *adapter);

#endif
