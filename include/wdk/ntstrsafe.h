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

#define NTSTRSAFE_UNICODE_STRING_MAX_CCH (0xffff / sizeof(WCHAR))

/* What the functions that end in Ex do besides; the byte to fill with is the lowest of the flags.
 */
#define STRSAFE_IGNORE_NULLS            0x00000100 /* NULL is the empty text */
#define STRSAFE_FILL_BEHIND_NULL        0x00000200 /* success: behind the terminator */
#define STRSAFE_FILL_ON_FAILURE         0x00000400 /* failure: all but a terminator at the end */
#define STRSAFE_NULL_ON_FAILURE         0x00000800 /* failure: the empty text */
#define STRSAFE_NO_TRUNCATION           0x00001000 /* too long: what was there before */
#define STRSAFE_FILL_BEHIND             STRSAFE_FILL_BEHIND_NULL
#define STRSAFE_ZERO_LENGTH_ON_FAILURE  STRSAFE_NULL_ON_FAILURE
#define STRSAFE_FILL_BYTE(byte)         ((ULONG)(((byte)&0xff) | STRSAFE_FILL_BEHIND_NULL))
#define STRSAFE_FAILURE_BYTE(byte)      ((ULONG)(((byte)&0xff) | STRSAFE_FILL_ON_FAILURE))
#define STRSAFE_GET_FILL_PATTERN(flags) ((int)((flags)&0xff))

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

#define NTSTRSAFE_EX_FUNCTIONS(letter, character)                                                  \
    FORCEINLINE NTSTATUS RtlStringCchCatN##letter(character *to, SIZE_T room,                      \
                                                  const character *from, SIZE_T most)              \
    {                                                                                              \
        SIZE_T length;                                                                             \
        NTSTATUS status = RtlStringCchLength##letter(to, room, &length);                           \
                                                                                                   \
        return NT_SUCCESS(status)                                                                  \
                   ? RtlStringCchCopyN##letter(to + length, room - length, from, most)             \
                   : status;                                                                       \
    }                                                                                              \
    FORCEINLINE NTSTATUS RtlStringCbCatN##letter(character *to, SIZE_T room,                       \
                                                 const character *from, SIZE_T most)               \
    {                                                                                              \
        return RtlStringCchCatN##letter(to, room / sizeof(character), from,                        \
                                        most / sizeof(character));                                 \
    }                                                                                              \
    /* The bytes of a room behind the character at place `from`. */                                \
    FORCEINLINE void NtStrSafeFill##letter(character *to, SIZE_T from, SIZE_T bytes, ULONG flags)  \
    {                                                                                              \
        for (SIZE_T i = from * sizeof(character); i < bytes; i++)                                  \
            ((UCHAR *)to)[i] = (UCHAR)flags;                                                       \
    }                                                                                              \
    /* What the flags say of a text that has got `status`, and was `start` long before. */         \
    FORCEINLINE NTSTATUS NtStrSafeEnd##letter(character *to, SIZE_T bytes, SIZE_T start,           \
                                              NTSTATUS status, character **end, SIZE_T *left,      \
                                              ULONG flags)                                         \
    {                                                                                              \
        const SIZE_T room = bytes / sizeof(character);                                             \
        SIZE_T count = 0;                                                                          \
                                                                                                   \
        if (!to || !room || room > NTSTRSAFE_MAX_CCH)                                              \
            return status;                                                                         \
        if (!NT_SUCCESS(status)) {                                                                 \
            if ((flags & STRSAFE_NO_TRUNCATION) && status == STATUS_BUFFER_OVERFLOW)               \
                to[start] = 0;                                                                     \
            if (flags & STRSAFE_FILL_ON_FAILURE) {                                                 \
                NtStrSafeFill##letter(to, 0, bytes, flags);                                        \
                to[room - 1] = 0;                                                                  \
            }                                                                                      \
            if (flags & STRSAFE_NULL_ON_FAILURE)                                                   \
                to[0] = 0;                                                                         \
        }                                                                                          \
        while (count < room - 1 && to[count])                                                      \
            count++;                                                                               \
        if (NT_SUCCESS(status) && (flags & STRSAFE_FILL_BEHIND_NULL))                              \
            NtStrSafeFill##letter(to, count + 1, bytes, flags);                                    \
        if (end && (NT_SUCCESS(status) || status == STATUS_BUFFER_OVERFLOW))                       \
            *end = to + count;                                                                     \
        if (left && (NT_SUCCESS(status) || status == STATUS_BUFFER_OVERFLOW))                      \
            *left = bytes - count * sizeof(character);                                             \
        return status;                                                                             \
    }                                                                                              \
    /* At most `most` characters behind the first `start` of a room of bytes. */                   \
    FORCEINLINE NTSTATUS NtStrSafePut##letter(character *to, SIZE_T bytes, SIZE_T start,           \
                                              const character *from, SIZE_T most, character **end, \
                                              SIZE_T *left, ULONG flags)                           \
    {                                                                                              \
        static const character nothing = 0;                                                        \
        const SIZE_T room = bytes / sizeof(character);                                             \
        NTSTATUS status;                                                                           \
                                                                                                   \
        if (flags & STRSAFE_IGNORE_NULLS) {                                                        \
            if (!from)                                                                             \
                from = &nothing;                                                                   \
            if (!to && !bytes) { /* a room of nothing takes the empty text */                      \
                if (end)                                                                           \
                    *end = to;                                                                     \
                if (left)                                                                          \
                    *left = 0;                                                                     \
                return most && *from ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS;                    \
            }                                                                                      \
        }                                                                                          \
        if (!to || !from)                                                                          \
            return STATUS_INVALID_PARAMETER;                                                       \
        status = RtlStringCchCopyN##letter(to + start, room - start, from, most);                  \
        return NtStrSafeEnd##letter(to, bytes, start, status, end, left, flags);                   \
    }                                                                                              \
    FORCEINLINE NTSTATUS RtlStringCbCopyNEx##letter(character *to, SIZE_T room,                    \
                                                    const character *from, SIZE_T most,            \
                                                    character **end, SIZE_T *left, ULONG flags)    \
    {                                                                                              \
        return NtStrSafePut##letter(to, room, 0, from, most / sizeof(character), end, left,        \
                                    flags);                                                        \
    }                                                                                              \
    FORCEINLINE NTSTATUS RtlStringCbCopyEx##letter(character *to, SIZE_T room,                     \
                                                   const character *from, character **end,         \
                                                   SIZE_T *left, ULONG flags)                      \
    {                                                                                              \
        return NtStrSafePut##letter(to, room, 0, from, NTSTRSAFE_MAX_CCH, end, left, flags);       \
    }                                                                                              \
    FORCEINLINE NTSTATUS RtlStringCbCatNEx##letter(character *to, SIZE_T room,                     \
                                                   const character *from, SIZE_T most,             \
                                                   character **end, SIZE_T *left, ULONG flags)     \
    {                                                                                              \
        SIZE_T start = 0;                                                                          \
        NTSTATUS status = STATUS_SUCCESS;                                                          \
                                                                                                   \
        if (to || room || !(flags & STRSAFE_IGNORE_NULLS))                                         \
            status = RtlStringCchLength##letter(to, room / sizeof(character), &start);             \
        return NT_SUCCESS(status)                                                                  \
                   ? NtStrSafePut##letter(to, room, start, from, most / sizeof(character), end,    \
                                          left, flags)                                             \
                   : status;                                                                       \
    }                                                                                              \
    FORCEINLINE NTSTATUS RtlStringCbCatEx##letter(character *to, SIZE_T room,                      \
                                                  const character *from, character **end,          \
                                                  SIZE_T *left, ULONG flags)                       \
    {                                                                                              \
        return RtlStringCbCatNEx##letter(to, room, from, NTSTRSAFE_MAX_CCH * sizeof(character),    \
                                         end, left, flags);                                        \
    }                                                                                              \
    /* The same, counted in characters. */                                                         \
    FORCEINLINE NTSTATUS NtStrSafeToCharacters##letter(NTSTATUS status, SIZE_T *left)              \
    {                                                                                              \
        if (left && (NT_SUCCESS(status) || status == STATUS_BUFFER_OVERFLOW))                      \
            *left /= sizeof(character);                                                            \
        return status;                                                                             \
    }                                                                                              \
    FORCEINLINE NTSTATUS RtlStringCchCopyNEx##letter(character *to, SIZE_T room,                   \
                                                     const character *from, SIZE_T most,           \
                                                     character **end, SIZE_T *left, ULONG flags)   \
    {                                                                                              \
        return NtStrSafeToCharacters##letter(                                                      \
            NtStrSafePut##letter(to, room * sizeof(character), 0, from, most, end, left, flags),   \
            left);                                                                                 \
    }                                                                                              \
    FORCEINLINE NTSTATUS RtlStringCchCopyEx##letter(character *to, SIZE_T room,                    \
                                                    const character *from, character **end,        \
                                                    SIZE_T *left, ULONG flags)                     \
    {                                                                                              \
        return RtlStringCchCopyNEx##letter(to, room, from, NTSTRSAFE_MAX_CCH, end, left, flags);   \
    }                                                                                              \
    FORCEINLINE NTSTATUS RtlStringCchCatNEx##letter(character *to, SIZE_T room,                    \
                                                    const character *from, SIZE_T most,            \
                                                    character **end, SIZE_T *left, ULONG flags)    \
    {                                                                                              \
        return NtStrSafeToCharacters##letter(                                                      \
            RtlStringCbCatNEx##letter(to, room * sizeof(character), from,                          \
                                      most * sizeof(character), end, left, flags),                 \
            left);                                                                                 \
    }                                                                                              \
    FORCEINLINE NTSTATUS RtlStringCchCatEx##letter(character *to, SIZE_T room,                     \
                                                   const character *from, character **end,         \
                                                   SIZE_T *left, ULONG flags)                      \
    {                                                                                              \
        return RtlStringCchCatNEx##letter(to, room, from, NTSTRSAFE_MAX_CCH, end, left, flags);    \
    }

NTSTRSAFE_FUNCTIONS(A, CHAR)
NTSTRSAFE_FUNCTIONS(W, WCHAR)
NTSTRSAFE_EX_FUNCTIONS(A, CHAR)
NTSTRSAFE_EX_FUNCTIONS(W, WCHAR)

typedef const WCHAR UNALIGNED *PCUNALIGNED_WSTR;

FORCEINLINE NTSTATUS RtlUnalignedStringCchLengthW(PCUNALIGNED_WSTR text, SIZE_T room,
                                                  SIZE_T *length)
{
    SIZE_T count = 0;
    const BOOLEAN is_valid = text && room <= NTSTRSAFE_MAX_CCH;

    while (is_valid && count < room && text[count])
        count++;
    if (length)
        *length = is_valid && count < room ? count : 0;
    return is_valid && count < room ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}
FORCEINLINE NTSTATUS RtlUnalignedStringCbLengthW(PCUNALIGNED_WSTR text, SIZE_T room, SIZE_T *length)
{
    NTSTATUS status = RtlUnalignedStringCchLengthW(text, room / sizeof(WCHAR), length);

    if (length)
        *length *= sizeof(WCHAR);
    return status;
}

/* ---- Counted strings: MaximumLength is the room, and no terminator is written ---- */

FORCEINLINE NTSTATUS RtlUnicodeStringValidateEx(PCUNICODE_STRING text, ULONG flags)
{
    if (!text)
        return flags & STRSAFE_IGNORE_NULLS ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
    if (text->Length % sizeof(WCHAR) || text->MaximumLength % sizeof(WCHAR) ||
        text->Length > text->MaximumLength || (text->MaximumLength && !text->Buffer))
        return STATUS_INVALID_PARAMETER;
    return STATUS_SUCCESS;
}
FORCEINLINE NTSTATUS RtlUnicodeStringValidate(PCUNICODE_STRING text)
{
    return RtlUnicodeStringValidateEx(text, 0);
}
FORCEINLINE NTSTATUS RtlUnicodeStringInitEx(PUNICODE_STRING to, PCWSTR text, ULONG flags)
{
    SIZE_T length = 0;

    if (!to || (flags & ~STRSAFE_IGNORE_NULLS))
        return STATUS_INVALID_PARAMETER;
    to->Length = to->MaximumLength = 0;
    to->Buffer = NULL;
    if (!text)
        return STATUS_SUCCESS;
    while (length < NTSTRSAFE_UNICODE_STRING_MAX_CCH && text[length])
        length++;
    if (length == NTSTRSAFE_UNICODE_STRING_MAX_CCH)
        return STATUS_INVALID_PARAMETER;
    to->Length = (USHORT)(length * sizeof(WCHAR));
    to->MaximumLength = (USHORT)((length + 1) * sizeof(WCHAR));
    to->Buffer = (PWSTR)text;
    return STATUS_SUCCESS;
}
FORCEINLINE NTSTATUS RtlUnicodeStringInit(PUNICODE_STRING to, PCWSTR text)
{
    return RtlUnicodeStringInitEx(to, text, 0);
}
/* What the flags say of a string that has got `status`, and was `start` bytes long before. */
FORCEINLINE NTSTATUS NtStrSafeEndUnicode(PUNICODE_STRING to, USHORT start, NTSTATUS status,
                                         PUNICODE_STRING left, ULONG flags)
{
    UCHAR *const bytes = (UCHAR *)to->Buffer;

    if (!NT_SUCCESS(status)) {
        if ((flags & STRSAFE_NO_TRUNCATION) && status == STATUS_BUFFER_OVERFLOW)
            to->Length = start;
        if (flags & STRSAFE_FILL_ON_FAILURE) {
            for (USHORT i = 0; i < to->MaximumLength; i++)
                bytes[i] = (UCHAR)flags;
            to->Length = to->MaximumLength;
        }
        if (flags & STRSAFE_NULL_ON_FAILURE)
            to->Length = 0;
    } else if (flags & STRSAFE_FILL_BEHIND_NULL) {
        for (USHORT i = to->Length; i < to->MaximumLength; i++)
            bytes[i] = (UCHAR)flags;
    }
    if (left) {
        left->Length = 0;
        left->MaximumLength = (USHORT)(to->MaximumLength - to->Length);
        left->Buffer = to->Buffer + to->Length / sizeof(WCHAR);
    }
    return status;
}
/* At most `most` characters of so many, behind the first `start` bytes. */
FORCEINLINE NTSTATUS NtStrSafePutUnicode(PUNICODE_STRING to, USHORT start, PCWSTR from,
                                         SIZE_T length, SIZE_T most, PUNICODE_STRING left,
                                         ULONG flags)
{
    const SIZE_T wanted = length < most ? length : most;
    SIZE_T room, count;

    if (NT_ERROR(RtlUnicodeStringValidate(to)))
        return STATUS_INVALID_PARAMETER;
    room = (SIZE_T)(to->MaximumLength - start) / sizeof(WCHAR);
    count = wanted < room ? wanted : room;
    for (SIZE_T i = 0; i < count; i++)
        to->Buffer[start / sizeof(WCHAR) + i] = from[i];
    to->Length = (USHORT)(start + count * sizeof(WCHAR));
    return NtStrSafeEndUnicode(to, start, count < wanted ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS,
                               left, flags);
}
FORCEINLINE NTSTATUS NtStrSafePutString(PUNICODE_STRING to, BOOLEAN is_behind, PCWSTR from,
                                        SIZE_T most, PUNICODE_STRING left, ULONG flags)
{
    SIZE_T length = 0;

    if (!to || (!from && !(flags & STRSAFE_IGNORE_NULLS)))
        return STATUS_INVALID_PARAMETER;
    while (from && length < most && length <= NTSTRSAFE_UNICODE_STRING_MAX_CCH && from[length])
        length++;
    return NtStrSafePutUnicode(to, is_behind ? to->Length : 0, from, length, most, left, flags);
}
FORCEINLINE NTSTATUS NtStrSafePutCounted(PUNICODE_STRING to, BOOLEAN is_behind,
                                         PCUNICODE_STRING from, SIZE_T most, PUNICODE_STRING left,
                                         ULONG flags)
{
    if (!to || NT_ERROR(RtlUnicodeStringValidateEx(from, flags)))
        return STATUS_INVALID_PARAMETER;
    return NtStrSafePutUnicode(to, is_behind ? to->Length : 0, from ? from->Buffer : NULL,
                               from ? from->Length / sizeof(WCHAR) : 0, most, left, flags);
}

#define NTSTRSAFE_UNICODE_FUNCTIONS(name, source, put, is_behind)                                  \
    FORCEINLINE NTSTATUS RtlUnicodeString##name##Ex(PUNICODE_STRING to, source from,               \
                                                    PUNICODE_STRING left, ULONG flags)             \
    {                                                                                              \
        return put(to, is_behind, from, NTSTRSAFE_MAX_CCH, left, flags);                           \
    }                                                                                              \
    FORCEINLINE NTSTATUS RtlUnicodeString##name(PUNICODE_STRING to, source from)                   \
    {                                                                                              \
        return put(to, is_behind, from, NTSTRSAFE_MAX_CCH, NULL, 0);                               \
    }                                                                                              \
    FORCEINLINE NTSTATUS RtlUnicodeStringCch##name##NEx(                                           \
        PUNICODE_STRING to, source from, SIZE_T most, PUNICODE_STRING left, ULONG flags)           \
    {                                                                                              \
        return put(to, is_behind, from, most, left, flags);                                        \
    }                                                                                              \
    FORCEINLINE NTSTATUS RtlUnicodeStringCch##name##N(PUNICODE_STRING to, source from,             \
                                                      SIZE_T most)                                 \
    {                                                                                              \
        return put(to, is_behind, from, most, NULL, 0);                                            \
    }                                                                                              \
    FORCEINLINE NTSTATUS RtlUnicodeStringCb##name##NEx(                                            \
        PUNICODE_STRING to, source from, SIZE_T most, PUNICODE_STRING left, ULONG flags)           \
    {                                                                                              \
        return put(to, is_behind, from, most / sizeof(WCHAR), left, flags);                        \
    }                                                                                              \
    FORCEINLINE NTSTATUS RtlUnicodeStringCb##name##N(PUNICODE_STRING to, source from, SIZE_T most) \
    {                                                                                              \
        return put(to, is_behind, from, most / sizeof(WCHAR), NULL, 0);                            \
    }

NTSTRSAFE_UNICODE_FUNCTIONS(Copy, PCUNICODE_STRING, NtStrSafePutCounted, FALSE)
NTSTRSAFE_UNICODE_FUNCTIONS(Cat, PCUNICODE_STRING, NtStrSafePutCounted, TRUE)
NTSTRSAFE_UNICODE_FUNCTIONS(CopyString, PCWSTR, NtStrSafePutString, FALSE)
NTSTRSAFE_UNICODE_FUNCTIONS(CatString, PCWSTR, NtStrSafePutString, TRUE)

/* A counted string as one with a terminator. */
FORCEINLINE NTSTATUS RtlStringCbCopyUnicodeStringEx(PWSTR to, SIZE_T room, PCUNICODE_STRING from,
                                                    PWSTR *end, SIZE_T *left, ULONG flags)
{
    static const WCHAR nothing = 0;

    if (NT_ERROR(RtlUnicodeStringValidateEx(from, flags)))
        return STATUS_INVALID_PARAMETER;
    return NtStrSafePutW(to, room, 0, from && from->Buffer ? from->Buffer : &nothing,
                         from ? from->Length / sizeof(WCHAR) : 0, end, left, flags);
}
FORCEINLINE NTSTATUS RtlStringCbCopyUnicodeString(PWSTR to, SIZE_T room, PCUNICODE_STRING from)
{
    return RtlStringCbCopyUnicodeStringEx(to, room, from, NULL, NULL, 0);
}
FORCEINLINE NTSTATUS RtlStringCchCopyUnicodeStringEx(PWSTR to, SIZE_T room, PCUNICODE_STRING from,
                                                     PWSTR *end, SIZE_T *left, ULONG flags)
{
    return NtStrSafeToCharactersW(
        RtlStringCbCopyUnicodeStringEx(to, room * sizeof(WCHAR), from, end, left, flags), left);
}
FORCEINLINE NTSTATUS RtlStringCchCopyUnicodeString(PWSTR to, SIZE_T room, PCUNICODE_STRING from)
{
    return RtlStringCchCopyUnicodeStringEx(to, room, from, NULL, NULL, 0);
}

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
    }                                                                                              \
    FORCEINLINE NTSTATUS RtlStringCbVPrintfEx##letter(character *to, SIZE_T room, character **end, \
                                                      SIZE_T *left, ULONG flags,                   \
                                                      const character *format, va_list arguments)  \
    {                                                                                              \
        static const character nothing = 0;                                                        \
                                                                                                   \
        if (flags & STRSAFE_IGNORE_NULLS) {                                                        \
            if (!format)                                                                           \
                format = &nothing;                                                                 \
            if (!to && !room)                                                                      \
                return NtStrSafePut##letter(to, room, 0, format, 1, end, left, flags);             \
        }                                                                                          \
        if (!to || !format)                                                                        \
            return STATUS_INVALID_PARAMETER;                                                       \
        return NtStrSafeEnd##letter(to, room, 0,                                                   \
                                    RtlStringCbVPrintf##letter(to, room, format, arguments), end,  \
                                    left, flags);                                                  \
    }                                                                                              \
    FORCEINLINE NTSTATUS RtlStringCbPrintfEx##letter(character *to, SIZE_T room, character **end,  \
                                                     SIZE_T *left, ULONG flags,                    \
                                                     const character *format, ...)                 \
    {                                                                                              \
        va_list arguments;                                                                         \
        NTSTATUS status;                                                                           \
                                                                                                   \
        va_start(arguments, format);                                                               \
        status = RtlStringCbVPrintfEx##letter(to, room, end, left, flags, format, arguments);      \
        va_end(arguments);                                                                         \
        return status;                                                                             \
    }                                                                                              \
    FORCEINLINE NTSTATUS RtlStringCchVPrintfEx##letter(character *to, SIZE_T room,                 \
                                                       character **end, SIZE_T *left, ULONG flags, \
                                                       const character *format, va_list arguments) \
    {                                                                                              \
        return NtStrSafeToCharacters##letter(                                                      \
            RtlStringCbVPrintfEx##letter(to, room * sizeof(character), end, left, flags, format,   \
                                         arguments),                                               \
            left);                                                                                 \
    }                                                                                              \
    FORCEINLINE NTSTATUS RtlStringCchPrintfEx##letter(character *to, SIZE_T room, character **end, \
                                                      SIZE_T *left, ULONG flags,                   \
                                                      const character *format, ...)                \
    {                                                                                              \
        va_list arguments;                                                                         \
        NTSTATUS status;                                                                           \
                                                                                                   \
        va_start(arguments, format);                                                               \
        status = RtlStringCchVPrintfEx##letter(to, room, end, left, flags, format, arguments);     \
        va_end(arguments);                                                                         \
        return status;                                                                             \
    }

NTSTRSAFE_FORMATTING(A, CHAR, _vsnprintf)
NTSTRSAFE_FORMATTING(W, WCHAR, _vsnwprintf)

FORCEINLINE NTSTATUS RtlUnicodeStringVPrintfEx(PUNICODE_STRING to, PUNICODE_STRING left,
                                               ULONG flags, PCWSTR format, va_list arguments)
{
    static const WCHAR nothing = 0;
    SIZE_T room;
    int count;

    if (!format && (flags & STRSAFE_IGNORE_NULLS))
        format = &nothing;
    if (!format || NT_ERROR(RtlUnicodeStringValidate(to)))
        return STATUS_INVALID_PARAMETER;
    room = to->MaximumLength / sizeof(WCHAR);
    count = room ? _vsnwprintf(to->Buffer, room, format, arguments) : *format ? -1 : 0;
    to->Length =
        (USHORT)((count < 0 || (SIZE_T)count > room ? room : (SIZE_T)count) * sizeof(WCHAR));
    return NtStrSafeEndUnicode(
        to, 0, count < 0 || (SIZE_T)count > room ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS, left,
        flags);
}
FORCEINLINE NTSTATUS RtlUnicodeStringPrintfEx(PUNICODE_STRING to, PUNICODE_STRING left, ULONG flags,
                                              PCWSTR format, ...)
{
    va_list arguments;
    NTSTATUS status;

    va_start(arguments, format);
    status = RtlUnicodeStringVPrintfEx(to, left, flags, format, arguments);
    va_end(arguments);
    return status;
}
FORCEINLINE NTSTATUS RtlUnicodeStringVPrintf(PUNICODE_STRING to, PCWSTR format, va_list arguments)
{
    return RtlUnicodeStringVPrintfEx(to, NULL, 0, format, arguments);
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
