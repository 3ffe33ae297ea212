/*
 * The name under which display drivers include what GDI and they share; nothing of it reaches
 * memory.
 */
#ifndef _WINDDI_
#define _WINDDI_

#include "wingdi.h"

#endif
