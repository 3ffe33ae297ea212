/* Annotations under another name: they are in sal.h. */
#ifndef _NO_SAL2_H_
#define _NO_SAL2_H_

#include "sal.h"

#endif
