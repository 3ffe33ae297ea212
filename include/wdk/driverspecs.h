/* Annotations under another name: they are in sal.h. */
#ifndef _DRIVERSPECS_H_
#define _DRIVERSPECS_H_

#include "sal.h"

#endif
