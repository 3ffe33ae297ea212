/*
 * The kernel-mode display driver interface (WDDM), written from its public documentation.
 *
 * Place     include/wdk. A driver includes this file or dispmprt.h; the parts lie in d3dkmddi/.
 *
 * Versions  DXGKDDI_INTERFACE_VERSION, defined before the first include, gives every type the
 *           shape of that interface version; without it the newest (WDDM 3.2) counts.
 *             - A member that the declared version does not have is absent. Members never move:
 *               one that is absent before a present one leaves its place reserved, and one at
 *               the end, or in a union, leaves nothing. So structures are never longer than in
 *               a later version, and sizeof is what a driver of the declared version has.
 *             - A type, enumeration or function of which nothing exists yet is absent.
 *             - Bits that do not exist yet belong to the reserved remainder when they lie
 *               before it, and are unnamed otherwise; bits never change their place.
 *             - An enumerator that the declared version does not have is absent.
 *             - A member whose first version is not documented exists in all of them.
 *           The places and first versions are data/ddi/layout-x64.tsv, and tests/wdk holds
 *           every version to it.
 *
 * Layout    Windows x64: LLP64, four-byte enumerations, bit-fields in units of their type. The
 *           same for gcc and clang on Linux, mingw-w64 and clang for the MSVC target.
 */
#ifndef _D3DKMDDI_H_
#define _D3DKMDDI_H_

#include "d3dkmddi/base.h"
#include "d3dkmddi/device.h"
#include "d3dkmddi/paging.h"
#include "d3dkmddi/segments.h"
#include "d3dkmddi/caps.h"
#include "d3dkmddi/allocation.h"
#include "d3dkmddi/context.h"
#include "d3dkmddi/submission.h"
#include "d3dkmddi/interrupt.h"
#include "d3dkmddi/callback_types.h"
#include "d3dkmddi/callbacks.h"
#include "d3dkmddi/functions.h"
#include "d3dkmddi/power.h"
#include "d3dkmddi/monitor.h"
#include "d3dkmddi/vidpn.h"
#include "d3dkmddi/directions.h"
#include "d3dkmddi/display.h"
#include "d3dkmddi/multiplane.h"
#include "d3dkmddi/overlay.h"
#include "d3dkmddi/scheduling.h"
#include "d3dkmddi/doorbell.h"
#include "d3dkmddi/gdi.h"
#include "d3dkmddi/gamma.h"
#include "d3dkmddi/target.h"
#include "d3dkmddi/adapter_memory.h"
#include "d3dkmddi/performance.h"
#include "d3dkmddi/testing.h"

#endif
