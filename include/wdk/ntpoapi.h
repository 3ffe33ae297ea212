/* A part of wdm.h that some drivers include by its own name. */
#ifndef _NTPOAPI_
#define _NTPOAPI_

#include "wdm.h"

#endif
