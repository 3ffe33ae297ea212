/* Annotations under another name: they are in sal.h. */
#ifndef _SPECSTRINGS_STRICT_H_
#define _SPECSTRINGS_STRICT_H_

#include "sal.h"

#endif
