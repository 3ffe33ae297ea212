/* The name of old for the annotations: they are in sal.h. */
#ifndef _SPECSTRINGS_H_
#define _SPECSTRINGS_H_

#include "sal.h"

#endif
