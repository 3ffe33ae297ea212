/* Exceptions by their names of the C library: all are in wdm.h. */
#ifndef DRYDOCK_CRT_EXCPT_H
#define DRYDOCK_CRT_EXCPT_H

#include <wdm.h>

#endif
