/*
 * Run-time library: memory, linked lists, strings, debug output.
 *
 * Place  include/wdk/wdm.
 */
#ifndef WDM_RTL_H
#define WDM_RTL_H

#include "../dpfilter.h"

#include "base.h"

#ifdef _WIN32
#include <stdarg.h>
#endif

/* Drivers call memcpy and its like by their own names too. */
#if __has_include(<string.h>)
#include <string.h>
#else
EXTERN_C_START
void *memcpy(void *destination, const void *source, size_t length);
void *memmove(void *destination, const void *source, size_t length);
void *memset(void *destination, int fill, size_t length);
int memcmp(const void *first, const void *second, size_t length);
EXTERN_C_END
#endif

#define RtlCopyMemory(destination, source, length) ((void)memcpy((destination), (source), (length)))
#define RtlMoveMemory(destination, source, length)                                                 \
    ((void)memmove((destination), (source), (length)))
#define RtlFillMemory(destination, length, fill) ((void)memset((destination), (fill), (length)))
/* No compiler leaves it out, although nobody reads what it has written. */
FORCEINLINE PVOID RtlSecureZeroMemory(PVOID ptr, SIZE_T cnt)
{
    volatile UCHAR *at = (volatile UCHAR *)ptr;

    while (cnt--)
        *at++ = 0;
    return ptr;
}
#define RtlZeroMemory(destination, length)    ((void)memset((destination), 0, (length)))
#define RtlEqualMemory(first, second, length) (memcmp((first), (second), (length)) == 0)

/* Doubly linked lists: circular, with a head that is no element. */

FORCEINLINE VOID InitializeListHead(PLIST_ENTRY ListHead)
{
    ListHead->Flink = ListHead;
    ListHead->Blink = ListHead;
}

FORCEINLINE BOOLEAN IsListEmpty(const LIST_ENTRY *ListHead)
{
    return ListHead->Flink == ListHead;
}

/* Returns whether the list is empty afterwards. */
FORCEINLINE BOOLEAN RemoveEntryList(PLIST_ENTRY Entry)
{
    PLIST_ENTRY next = Entry->Flink;
    PLIST_ENTRY previous = Entry->Blink;

    previous->Flink = next;
    next->Blink = previous;
    return next == previous;
}

FORCEINLINE PLIST_ENTRY RemoveHeadList(PLIST_ENTRY ListHead)
{
    PLIST_ENTRY entry = ListHead->Flink;

    RemoveEntryList(entry);
    return entry;
}

FORCEINLINE PLIST_ENTRY RemoveTailList(PLIST_ENTRY ListHead)
{
    PLIST_ENTRY entry = ListHead->Blink;

    RemoveEntryList(entry);
    return entry;
}

FORCEINLINE VOID InsertHeadList(PLIST_ENTRY ListHead, PLIST_ENTRY Entry)
{
    Entry->Flink = ListHead->Flink;
    Entry->Blink = ListHead;
    ListHead->Flink->Blink = Entry;
    ListHead->Flink = Entry;
}

FORCEINLINE VOID InsertTailList(PLIST_ENTRY ListHead, PLIST_ENTRY Entry)
{
    Entry->Flink = ListHead;
    Entry->Blink = ListHead->Blink;
    ListHead->Blink->Flink = Entry;
    ListHead->Blink = Entry;
}

/* The elements of a list without a head, behind those of another one. */
FORCEINLINE VOID AppendTailList(PLIST_ENTRY ListHead, PLIST_ENTRY ListToAppend)
{
    PLIST_ENTRY end = ListHead->Blink;

    ListHead->Blink->Flink = ListToAppend;
    ListHead->Blink = ListToAppend->Blink;
    ListToAppend->Blink->Flink = ListHead;
    ListToAppend->Blink = end;
}
FORCEINLINE VOID PushEntryList(PSINGLE_LIST_ENTRY ListHead, PSINGLE_LIST_ENTRY Entry)
{
    Entry->Next = ListHead->Next;
    ListHead->Next = Entry;
}

FORCEINLINE PSINGLE_LIST_ENTRY PopEntryList(PSINGLE_LIST_ENTRY ListHead)
{
    PSINGLE_LIST_ENTRY first = ListHead->Next;

    if (first)
        ListHead->Next = first->Next;
    return first;
}

/* Strings. Length counts bytes, without a terminator. */

#define RTL_CONSTANT_STRING(literal)                                                               \
    {                                                                                              \
        sizeof(literal) - sizeof((literal)[0]), sizeof(literal), (PWSTR)(literal)                  \
    }
#define DECLARE_CONST_UNICODE_STRING(name, literal)                                                \
    const UNICODE_STRING name = RTL_CONSTANT_STRING(literal)
/* An empty one with room for so many characters. */
#define DECLARE_UNICODE_STRING_SIZE(name, characters)                                              \
    WCHAR name##_buffer[characters];                                                               \
    UNICODE_STRING name = {0, (characters) * sizeof(WCHAR), name##_buffer}

EXTERN_C_START

NTSYSAPI VOID NTAPI RtlInitUnicodeString(PUNICODE_STRING DestinationString, PCWSTR SourceString);
NTSYSAPI VOID NTAPI RtlCopyUnicodeString(PUNICODE_STRING DestinationString,
                                         PCUNICODE_STRING SourceString);
NTSYSAPI SIZE_T NTAPI RtlCompareMemory(const VOID *Source1, const VOID *Source2, SIZE_T Length);

NTSYSAPI VOID NTAPI DbgBreakPoint(VOID);
NTSYSAPI VOID NTAPI DbgBreakPointWithStatus(ULONG Status);
NTSYSAPI ULONG NTAPI DbgPrompt(PCCH Prompt, PCH Response, ULONG Length);
NTKERNELAPI BOOLEAN NTAPI KdRefreshDebuggerNotPresent(VOID);
/* There is no debugger here. */
extern PBOOLEAN KdDebuggerEnabled;
extern PBOOLEAN KdDebuggerNotPresent;
NTSYSAPI ULONG NTAPI DbgPrint(PCSTR Format, ...);
NTSYSAPI ULONG NTAPI DbgPrintEx(ULONG ComponentId, ULONG Level, PCSTR Format, ...);

#ifdef _WIN32
NTSYSAPI ULONG NTAPI vDbgPrintEx(ULONG ComponentId, ULONG Level, PCCH Format, va_list arglist);
NTSYSAPI ULONG NTAPI vDbgPrintExWithPrefix(PCCH Prefix, ULONG ComponentId, ULONG Level, PCCH Format,
                                           va_list arglist);
#endif

EXTERN_C_END

#define KD_DEBUGGER_ENABLED     (*KdDebuggerEnabled)
#define KD_DEBUGGER_NOT_PRESENT (*KdDebuggerNotPresent)
/* In a checked build alone, as in the WDK. */
#if defined(DBG) && DBG
#define KdPrint(arguments)   DbgPrint arguments
#define KdPrintEx(arguments) DbgPrintEx arguments
#else
#define KdPrint(arguments)   ((void)0)
#define KdPrintEx(arguments) ((void)0)
#endif

#endif
