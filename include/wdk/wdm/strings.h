/*
 * Counted strings: compare, copy, convert; numbers and GUIDs as text.
 *
 * Place  include/wdk/wdm.
 * Units  Length and MaximumLength count bytes, without a terminator.
 */
#ifndef WDM_STRINGS_H
#define WDM_STRINGS_H

#include "base.h"

typedef const STRING *PCANSI_STRING;
typedef PSTRING POEM_STRING;
typedef STRING UTF8_STRING, *PUTF8_STRING;
typedef const STRING *PCUTF8_STRING;

#define UNICODE_NULL                  ((WCHAR)0)
#define ANSI_NULL                     ((CHAR)0)
#define UNICODE_STRING_MAX_BYTES      ((USHORT)65534)
#define UNICODE_STRING_MAX_CHARS      32767
#define HASH_STRING_ALGORITHM_DEFAULT 0
#define HASH_STRING_ALGORITHM_X65599  1

EXTERN_C_START

NTSYSAPI VOID NTAPI RtlInitString(PSTRING DestinationString, PCSTR SourceString);
NTSYSAPI VOID NTAPI RtlInitAnsiString(PANSI_STRING DestinationString, PCSTR SourceString);
NTSYSAPI NTSTATUS NTAPI RtlInitUnicodeStringEx(PUNICODE_STRING DestinationString,
                                               PCWSTR SourceString);
NTSYSAPI VOID NTAPI RtlFreeUnicodeString(PUNICODE_STRING UnicodeString);
NTSYSAPI VOID NTAPI RtlFreeAnsiString(PANSI_STRING AnsiString);
NTSYSAPI VOID NTAPI RtlFreeUTF8String(PUTF8_STRING Utf8String);
NTSYSAPI VOID NTAPI RtlCopyString(PSTRING DestinationString, const STRING *SourceString);

NTSYSAPI LONG NTAPI RtlCompareUnicodeString(PCUNICODE_STRING String1, PCUNICODE_STRING String2,
                                            BOOLEAN CaseInSensitive);
NTSYSAPI LONG NTAPI RtlCompareUnicodeStrings(PCWCH String1, SIZE_T String1Length, PCWCH String2,
                                             SIZE_T String2Length, BOOLEAN CaseInSensitive);
NTSYSAPI LONG NTAPI RtlCompareString(const STRING *String1, const STRING *String2,
                                     BOOLEAN CaseInSensitive);
NTSYSAPI BOOLEAN NTAPI RtlEqualUnicodeString(PCUNICODE_STRING String1, PCUNICODE_STRING String2,
                                             BOOLEAN CaseInSensitive);
NTSYSAPI BOOLEAN NTAPI RtlEqualString(const STRING *String1, const STRING *String2,
                                      BOOLEAN CaseInSensitive);
NTSYSAPI BOOLEAN NTAPI RtlPrefixUnicodeString(PCUNICODE_STRING String1, PCUNICODE_STRING String2,
                                              BOOLEAN CaseInSensitive);
NTSYSAPI NTSTATUS NTAPI RtlHashUnicodeString(PCUNICODE_STRING String, BOOLEAN CaseInSensitive,
                                             ULONG HashAlgorithm, PULONG HashValue);

NTSYSAPI NTSTATUS NTAPI RtlAppendUnicodeStringToString(PUNICODE_STRING Destination,
                                                       PCUNICODE_STRING Source);
NTSYSAPI NTSTATUS NTAPI RtlAppendUnicodeToString(PUNICODE_STRING Destination, PCWSTR Source);
NTSYSAPI WCHAR NTAPI RtlUpcaseUnicodeChar(WCHAR SourceCharacter);
NTSYSAPI WCHAR NTAPI RtlDowncaseUnicodeChar(WCHAR SourceCharacter);
NTSYSAPI NTSTATUS NTAPI RtlUpcaseUnicodeString(PUNICODE_STRING DestinationString,
                                               PCUNICODE_STRING SourceString,
                                               BOOLEAN AllocateDestinationString);
NTSYSAPI NTSTATUS NTAPI RtlDowncaseUnicodeString(PUNICODE_STRING DestinationString,
                                                 PCUNICODE_STRING SourceString,
                                                 BOOLEAN AllocateDestinationString);
NTSYSAPI CHAR NTAPI RtlUpperChar(CHAR Character);

NTSYSAPI NTSTATUS NTAPI RtlAnsiStringToUnicodeString(PUNICODE_STRING DestinationString,
                                                     PCANSI_STRING SourceString,
                                                     BOOLEAN AllocateDestinationString);
NTSYSAPI NTSTATUS NTAPI RtlUnicodeStringToAnsiString(PANSI_STRING DestinationString,
                                                     PCUNICODE_STRING SourceString,
                                                     BOOLEAN AllocateDestinationString);
NTSYSAPI ULONG NTAPI RtlxAnsiStringToUnicodeSize(PCANSI_STRING AnsiString);
NTSYSAPI ULONG NTAPI RtlxUnicodeStringToAnsiSize(PCUNICODE_STRING UnicodeString);
NTSYSAPI NTSTATUS NTAPI RtlUnicodeToUTF8N(PCHAR UTF8StringDestination, ULONG UTF8StringMaxByteCount,
                                          PULONG UTF8StringActualByteCount,
                                          PCWCH UnicodeStringSource, ULONG UnicodeStringByteCount);
NTSYSAPI NTSTATUS NTAPI RtlUTF8ToUnicodeN(PWSTR UnicodeStringDestination,
                                          ULONG UnicodeStringMaxByteCount,
                                          PULONG UnicodeStringActualByteCount,
                                          PCSTR UTF8StringSource, ULONG UTF8StringByteCount);

/* Base 0 lets a prefix (0x, 0o, 0b) say it. */
NTSYSAPI NTSTATUS NTAPI RtlIntegerToUnicodeString(ULONG Value, ULONG Base, PUNICODE_STRING String);
NTSYSAPI NTSTATUS NTAPI RtlInt64ToUnicodeString(ULONGLONG Value, ULONG Base,
                                                PUNICODE_STRING String);
NTSYSAPI NTSTATUS NTAPI RtlUnicodeStringToInteger(PCUNICODE_STRING String, ULONG Base,
                                                  PULONG Value);
NTSYSAPI NTSTATUS NTAPI RtlCharToInteger(PCSTR String, ULONG Base, PULONG Value);
NTSYSAPI NTSTATUS NTAPI RtlStringFromGUID(REFGUID Guid, PUNICODE_STRING GuidString);
NTSYSAPI NTSTATUS NTAPI RtlGUIDFromString(PCUNICODE_STRING GuidString, GUID *Guid);

EXTERN_C_END

#define RtlAnsiStringToUnicodeSize(string) RtlxAnsiStringToUnicodeSize(string)
#define RtlUnicodeStringToAnsiSize(string) RtlxUnicodeStringToAnsiSize(string)
#define RtlInitEmptyUnicodeString(string, buffer, bytes)                                           \
    ((string)->Buffer = (buffer), (string)->MaximumLength = (USHORT)(bytes), (string)->Length = 0)
#define RtlInitEmptyAnsiString(string, buffer, bytes)                                              \
    RtlInitEmptyUnicodeString(string, buffer, bytes)

#endif
