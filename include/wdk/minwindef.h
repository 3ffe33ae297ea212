/* The basic types under their newer name: they are in windef.h. */
#ifndef _MINWINDEF_
#define _MINWINDEF_

#include "windef.h"

#endif
