/*
 * Formatting, as the kernel's DbgPrint and the Windows C run time do it.
 *
 * Place      nt, private. Uses the C library only.
 * Model      The conversions of the Windows C run time, in its data model (l is 32 bits), with I64,
 *            I32, Z and wZ. Floating point is not formatted, as in the kernel.
 */
#ifndef DRYDOCK_NT_FORMAT_H
#define DRYDOCK_NT_FORMAT_H

#include <wdm.h>

#include <stdbool.h>
#include <stddef.h>

/* The argument list of a function with the driver's calling convention. */
#if defined(__x86_64__) && !defined(_WIN32)
typedef __builtin_ms_va_list nt_va_list;
#define NT_VA_START(list, last) __builtin_ms_va_start(list, last)
#define NT_VA_END(list)         __builtin_ms_va_end(list)
#define NT_VA_ARG(list, type)   __builtin_va_arg(list, type)
#else
#include <stdarg.h>
typedef va_list nt_va_list;
#define NT_VA_START(list, last) va_start(list, last)
#define NT_VA_END(list)         va_end(list)
#define NT_VA_ARG(list, type)   va_arg(list, type)
#endif

/* Always ends with 0; the result is the length of the text, cut to what fits. */
size_t nt_format(char *out, size_t size, const char *format, nt_va_list *arguments);

/*
 * The same in characters of either kind; the result is the length with room for all. Ended: there
 * is always a 0; else only where the text leaves room for it. A size of 0: only the length is
 * wanted.
 */
size_t nt_print(char *out, size_t size, bool is_ended, const char *format, nt_va_list *arguments);
size_t nt_print_wide(WCHAR *out, size_t size, bool is_ended, const WCHAR *format,
                     nt_va_list *arguments);

#endif
