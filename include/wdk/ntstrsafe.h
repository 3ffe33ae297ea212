/*
 * Strings in buffers of a known size: RtlStringCb* counts bytes, RtlStringCch* characters.
 *
 * Place   include/wdk, above wdm.h.
 * Errors  STATUS_INVALID_PARAMETER for a size of 0 or beyond NTSTRSAFE_MAX_CCH;
 *         STATUS_BUFFER_OVERFLOW when the text was cut. What is written always has its terminator.
 * Source  Public documentation of Ntstrsafe.h. Formatting is what the kernel exports, so it is
 *         there in images.
 */
#ifndef _NTSTRSAFE_H_INCLUDED_
#define _NTSTRSAFE_H_INCLUDED_

#include "wdm.h"

#include <stdarg.h>

#define NTSTRSAFE_MAX_CCH 2147483647
#define NTSTRSAFE_PSTR    PSTR
#define NTSTRSAFE_PCSTR   PCSTR
#define NTSTRSAFE_PWSTR   PWSTR
#define NTSTRSAFE_PCWSTR  PCWSTR

/* The functions for one type of character; A and W. */
#define NTSTRSAFE_FUNCTIONS(letter, character)                                                     \
    FORCEINLINE NTSTATUS RtlStringCchLength##letter(const character *text, SIZE_T room,            \
                                                    SIZE_T *length)                                \
    {                                                                                              \
        SIZE_T count = 0;                                                                          \
                                                                                                   \
        if (text && room <= NTSTRSAFE_MAX_CCH)                                                     \
            while (count < room && text[count])                                                    \
                count++;                                                                           \
        if (length)                                                                                \
            *length = text && count < room && room <= NTSTRSAFE_MAX_CCH ? count : 0;               \
        return text && count < room && room <= NTSTRSAFE_MAX_CCH ? STATUS_SUCCESS                  \
                                                                 : STATUS_INVALID_PARAMETER;       \
    }                                                                                              \
    FORCEINLINE NTSTATUS RtlStringCchCopyN##letter(character *to, SIZE_T room,                     \
                                                   const character *from, SIZE_T most)             \
    {                                                                                              \
        SIZE_T count = 0;                                                                          \
                                                                                                   \
        if (!room || room > NTSTRSAFE_MAX_CCH)                                                     \
            return STATUS_INVALID_PARAMETER;                                                       \
        for (; count < room - 1 && count < most && from[count]; count++)                           \
            to[count] = from[count];                                                               \
        to[count] = 0;                                                                             \
        return count < most && from[count] ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS;              \
    }                                                                                              \
    FORCEINLINE NTSTATUS RtlStringCchCopy##letter(character *to, SIZE_T room,                      \
                                                  const character *from)                           \
    {                                                                                              \
        return RtlStringCchCopyN##letter(to, room, from, NTSTRSAFE_MAX_CCH);                       \
    }                                                                                              \
    FORCEINLINE NTSTATUS RtlStringCchCat##letter(character *to, SIZE_T room,                       \
                                                 const character *from)                            \
    {                                                                                              \
        SIZE_T length;                                                                             \
        NTSTATUS status = RtlStringCchLength##letter(to, room, &length);                           \
                                                                                                   \
        return NT_SUCCESS(status) ? RtlStringCchCopy##letter(to + length, room - length, from)     \
                                  : status;                                                        \
    }                                                                                              \
    FORCEINLINE NTSTATUS RtlStringCbLength##letter(const character *text, SIZE_T room,             \
                                                   SIZE_T *length)                                 \
    {                                                                                              \
        NTSTATUS status = RtlStringCchLength##letter(text, room / sizeof(character), length);      \
                                                                                                   \
        if (length)                                                                                \
            *length *= sizeof(character);                                                          \
        return status;                                                                             \
    }                                                                                              \
    FORCEINLINE NTSTATUS RtlStringCbCopyN##letter(character *to, SIZE_T room,                      \
                                                  const character *from, SIZE_T most)              \
    {                                                                                              \
        return RtlStringCchCopyN##letter(to, room / sizeof(character), from,                       \
                                         most / sizeof(character));                                \
    }                                                                                              \
    FORCEINLINE NTSTATUS RtlStringCbCopy##letter(character *to, SIZE_T room,                       \
                                                 const character *from)                            \
    {                                                                                              \
        return RtlStringCchCopy##letter(to, room / sizeof(character), from);                       \
    }                                                                                              \
    FORCEINLINE NTSTATUS RtlStringCbCat##letter(character *to, SIZE_T room, const character *from) \
    {                                                                                              \
        return RtlStringCchCat##letter(to, room / sizeof(character), from);                        \
    }

NTSTRSAFE_FUNCTIONS(A, CHAR)
NTSTRSAFE_FUNCTIONS(W, WCHAR)

#ifdef _WIN32
EXTERN_C_START
int _vsnprintf(char *to, size_t room, const char *format, va_list arguments);
int _vsnwprintf(wchar_t *to, size_t room, const wchar_t *format, va_list arguments);
EXTERN_C_END

#define NTSTRSAFE_FORMATTING(letter, character, print)                                             \
    FORCEINLINE NTSTATUS RtlStringCchVPrintf##letter(character *to, SIZE_T room,                   \
                                                     const character *format, va_list arguments)   \
    {                                                                                              \
        int count;                                                                                 \
                                                                                                   \
        if (!room || room > NTSTRSAFE_MAX_CCH)                                                     \
            return STATUS_INVALID_PARAMETER;                                                       \
        count = print(to, room - 1, format, arguments);                                            \
        to[count < 0 || (SIZE_T)count > room - 1 ? room - 1 : (SIZE_T)count] = 0;                  \
        return count < 0 || (SIZE_T)count > room - 1 ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS;    \
    }                                                                                              \
    FORCEINLINE NTSTATUS RtlStringCchPrintf##letter(character *to, SIZE_T room,                    \
                                                    const character *format, ...)                  \
    {                                                                                              \
        va_list arguments;                                                                         \
        NTSTATUS status;                                                                           \
                                                                                                   \
        va_start(arguments, format);                                                               \
        status = RtlStringCchVPrintf##letter(to, room, format, arguments);                         \
        va_end(arguments);                                                                         \
        return status;                                                                             \
    }                                                                                              \
    FORCEINLINE NTSTATUS RtlStringCbVPrintf##letter(character *to, SIZE_T room,                    \
                                                    const character *format, va_list arguments)    \
    {                                                                                              \
        return RtlStringCchVPrintf##letter(to, room / sizeof(character), format, arguments);       \
    }                                                                                              \
    FORCEINLINE NTSTATUS RtlStringCbPrintf##letter(character *to, SIZE_T room,                     \
                                                   const character *format, ...)                   \
    {                                                                                              \
        va_list arguments;                                                                         \
        NTSTATUS status;                                                                           \
                                                                                                   \
        va_start(arguments, format);                                                               \
        status = RtlStringCbVPrintf##letter(to, room, format, arguments);                          \
        va_end(arguments);                                                                         \
        return status;                                                                             \
    }

NTSTRSAFE_FORMATTING(A, CHAR, _vsnprintf)
NTSTRSAFE_FORMATTING(W, WCHAR, _vsnwprintf)

/* Into a counted string: its MaximumLength is the room, and no terminator is written. */
FORCEINLINE NTSTATUS RtlUnicodeStringVPrintf(PUNICODE_STRING to, PCWSTR format, va_list arguments)
{
    SIZE_T room = to ? to->MaximumLength / sizeof(WCHAR) : 0;
    int count;

    if (!to || (to->MaximumLength && !to->Buffer) || to->MaximumLength % sizeof(WCHAR))
        return STATUS_INVALID_PARAMETER;
    count = room ? _vsnwprintf(to->Buffer, room, format, arguments) : -1;
    to->Length =
        (USHORT)((count < 0 || (SIZE_T)count > room ? room : (SIZE_T)count) * sizeof(WCHAR));
    return count < 0 || (SIZE_T)count > room ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS;
}
FORCEINLINE NTSTATUS RtlUnicodeStringPrintf(PUNICODE_STRING to, PCWSTR format, ...)
{
    va_list arguments;
    NTSTATUS status;

    va_start(arguments, format);
    status = RtlUnicodeStringVPrintf(to, format, arguments);
    va_end(arguments);
    return status;
}
#endif

#endif
