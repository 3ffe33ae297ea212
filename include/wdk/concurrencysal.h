/* Annotations under another name: they are in sal.h. */
#ifndef _CONCURRENCYSAL_H_
#define _CONCURRENCYSAL_H_

#include "sal.h"

#endif
