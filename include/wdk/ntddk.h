/* The name under which much driver source includes the kernel services: all are in wdm.h. */
#ifndef _NTDDK_
#define _NTDDK_

#include "bugcodes.h"
#include "wdm.h"

#endif
