/* Annotations under another name: they are in sal.h. */
#ifndef _KERNELSPECS_H_
#define _KERNELSPECS_H_

#include "sal.h"

#endif
