/* Makes DEFINE_GUID define what it names; see guiddef.h. */
#ifndef INITGUID
#define INITGUID
#endif

#include "guiddef.h"
