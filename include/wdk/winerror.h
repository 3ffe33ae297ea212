/* The name under which some driver source includes the results of windef.h. */
#ifndef _WINERROR_
#define _WINERROR_

#include "windef.h"

#endif
