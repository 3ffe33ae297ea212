/*
 * Driver objects: the driver's, and that of the bus driver below it.
 *
 * Place      nt, private: for devices, which name their driver. Hosts make and take over the
 *            driver's object with nt.h.
 */
#ifndef DRYDOCK_NT_DRIVER_OBJECT_H
#define DRYDOCK_NT_DRIVER_OBJECT_H

#include "nt/nt.h"

#include <wdm/device.h>

DRIVER_OBJECT *nt_bus_driver_object(struct nt *nt);

#endif
