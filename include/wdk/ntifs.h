/*
 * The name under which file system drivers, and some others, include the kernel services: all are
 * in wdm.h.
 */
#ifndef _NTIFS_
#define _NTIFS_

#include "ntddk.h"

#endif
