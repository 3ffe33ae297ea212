/*
 * Kernel services that display miniport drivers use.
 *
 * Place  include/wdk, above windef.h and ntstatus.h. The parts lie in wdm/.
 * Model  Declarations, with the names and types of the public driver reference. A native run
 *        links the services of the bench (src/nt); a service that the bench lacks is an
 *        unresolved symbol there and an import like any other in a Windows driver.
 *        Objects that drivers embed have the size and alignment of the Windows x64 object and
 *        no public members; objects that drivers only point at have no body.
 */
#ifndef _WDM_H_
#define _WDM_H_

#include "devioctl.h"
#include "wdm/constants.h"
#include "wdm/callback.h"
#include "wdm/exception.h"
#include "wdm/memory.h"
#include "wdm/interlocked.h"
#include "wdm/rtl.h"
#include "wdm/sync.h"
#include "wdm/lock.h"
#include "wdm/lookaside.h"
#include "wdm/remove_lock.h"
#include "wdm/generic_table.h"
#include "wdm/clock.h"
#include "wdm/shared_data.h"
#include "wdm/io.h"
#include "wdm/pci.h"
#include "wdm/bus.h"
#include "wdm/port.h"
#include "wdm/bitmap.h"
#include "wdm/strings.h"
#include "wdm/system.h"
#include "wdm/process.h"
#include "wdm/irp.h"
#include "wdm/device.h"
#include "wdm/device_stack.h"
#include "wdm/interrupt.h"
#include "wdm/registry.h"
#include "wdm/declared.h"

#endif
