/* Included by driver source beside the Direct3D interfaces, for types that are in windef.h. */
#ifndef _WINGDI_
#define _WINGDI_

#include "windef.h"

#endif
