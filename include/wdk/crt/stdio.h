/*
 * Of the C library's input and output the kernel exports formatting alone.
 *
 * Place   include/wdk/crt, where drydock cc looks after the driver headers.
 */
#ifndef DRYDOCK_CRT_STDIO_H
#define DRYDOCK_CRT_STDIO_H

#include <stdarg.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

int sprintf(char *to, const char *format, ...);
int vsprintf(char *to, const char *format, va_list arguments);
int _snprintf(char *to, size_t room, const char *format, ...);
int _vsnprintf(char *to, size_t room, const char *format, va_list arguments);
int sprintf_s(char *to, size_t size, const char *format, ...);
int vsprintf_s(char *to, size_t size, const char *format, va_list arguments);
int _snprintf_s(char *to, size_t size, size_t length, const char *format, ...);
int _vsnprintf_s(char *to, size_t size, size_t length, const char *format, va_list arguments);

#ifdef __cplusplus
}
#endif

#endif
