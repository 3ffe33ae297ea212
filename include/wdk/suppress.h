/* Names of warnings to suppress, for annotations: all are in sal.h. */
#ifndef _SUPPRESS_H_
#define _SUPPRESS_H_

#include "sal.h"

#endif
