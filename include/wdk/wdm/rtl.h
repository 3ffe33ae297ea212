/*
 * Run-time library: memory, linked lists, strings, debug output.
 *
 * Place  include/wdk/wdm.
 */
#ifndef WDM_RTL_H
#define WDM_RTL_H

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
#define RtlZeroMemory(destination, length)       ((void)memset((destination), 0, (length)))
#define RtlEqualMemory(first, second, length)    (memcmp((first), (second), (length)) == 0)

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
NTSYSAPI ULONG NTAPI DbgPrompt(PCCH Prompt, PCH Response, ULONG Length);
NTKERNELAPI BOOLEAN NTAPI KdRefreshDebuggerNotPresent(VOID);
NTSYSAPI ULONG NTAPI DbgPrint(PCSTR Format, ...);
NTSYSAPI ULONG NTAPI DbgPrintEx(ULONG ComponentId, ULONG Level, PCSTR Format, ...);

#ifdef _WIN32
NTSYSAPI ULONG NTAPI vDbgPrintEx(ULONG ComponentId, ULONG Level, PCCH Format, va_list arglist);
#endif

EXTERN_C_END

#define DPFLTR_MASK          0x80000000
#define DPFLTR_DEFAULT_ID    101
#define DPFLTR_VIDEO_ID      16
#define DPFLTR_IHVVIDEO_ID   78
#define DPFLTR_ERROR_LEVEL   0
#define DPFLTR_WARNING_LEVEL 1
#define DPFLTR_TRACE_LEVEL   2
#define DPFLTR_INFO_LEVEL    3
/* There is no debugger here. */
#define KD_DEBUGGER_ENABLED     FALSE
#define KD_DEBUGGER_NOT_PRESENT TRUE
#define KdPrint(arguments)      ((void)0)
#define KdPrintEx(arguments)    ((void)0)

#endif
