/*
 * The CPU host aperture.
 *
 * Place      refkmd, private.
 */
#ifndef REFKMD_HOST_APERTURE_H
#define REFKMD_HOST_APERTURE_H

#include "refkmd/adapter.h"

/* Slots, each a page of the segment. */
UINT refkmd_host_aperture_slots(const struct refkmd_adapter *adapter);

#endif
