/* Of the C library's input and output a driver has formatting only, and that is in ntstrsafe.h. */
#ifndef DRYDOCK_CRT_STDIO_H
#define DRYDOCK_CRT_STDIO_H

#include <stdarg.h>
#include <stddef.h>

#endif
