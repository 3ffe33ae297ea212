/* The name under which display drivers of old include the error codes. */
#ifndef _DDERROR_
#define _DDERROR_

#include "winerror.h"

#endif
