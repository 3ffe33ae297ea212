/*
 * Devices by their names, whoever created them.
 *
 * Place      nt, private.
 */
#ifndef DRYDOCK_NT_DEVICE_H
#define DRYDOCK_NT_DEVICE_H

#include "nt/nt.h"

/* NULL: there is none of that name, which the host is told (nt_report_in_vain()). */
PDEVICE_OBJECT nt_find_device(struct nt *nt, PCUNICODE_STRING name);

#endif
