/*
 * The system that drivers find: its version.
 *
 * Place      nt, private.
 */
#ifndef DRYDOCK_NT_SYSTEM_H
#define DRYDOCK_NT_SYSTEM_H

#include <wdm.h>

void nt_version(PRTL_OSVERSIONINFOW version);

#endif
