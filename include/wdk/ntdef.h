/*
 * Basic kernel types, and the calling convention that every driver boundary carries.
 *
 * Place       include/wdk, above basetsd.h. Everything else includes this.
 *
 * Convention  Driver entry points and kernel services use the Windows x64 convention on every
 *             x86-64 host, so NTAPI, APIENTRY and CALLBACK are an ms_abi attribute where the
 *             compiler's own convention is another one, and nothing on Windows targets. Most
 *             driver source declares its functions with the role types and leaves the word out of
 *             the definitions; natively that builds with clang, where a definition inherits the
 *             convention of its declaration, while gcc calls it a conflict of types. gcc
 *             -mabi=ms is no way out: it calls the C library with Windows registers.
 *
 * Characters  WCHAR has 16 bits. Native sources that write L"..." for it need -fshort-wchar.
 */
#ifndef _NTDEF_
#define _NTDEF_

#include "guiddef.h"
#include "sal.h"

#if defined(__x86_64__) && !defined(_WIN32)
#define NTAPI __attribute__((ms_abi))
#else
#define NTAPI
#endif

/* On Windows x64 the compilers accept these words and ignore them. */
#if defined(__x86_64__) && !defined(_WIN32)
#define __stdcall NTAPI
#define __fastcall NTAPI
#define __cdecl NTAPI
#endif

#define APIENTRY NTAPI
#define WINAPI   NTAPI
#define CALLBACK NTAPI
#define FASTCALL NTAPI
#define NTSYSAPI
#define NTKERNELAPI
#define NTHALAPI
#define DECLSPEC_IMPORT
#ifndef FORCEINLINE
#define FORCEINLINE static __inline__
#endif
#ifndef DECLSPEC_ALIGN
#define DECLSPEC_ALIGN(bytes) __attribute__((aligned(bytes)))
#endif
#ifndef DECLSPEC_NORETURN
#define DECLSPEC_NORETURN __attribute__((noreturn))
#endif

#ifdef __cplusplus
#define EXTERN_C       extern "C"
#define EXTERN_C_START extern "C" {
#define EXTERN_C_END   }
#else
#define EXTERN_C extern
#define EXTERN_C_START
#define EXTERN_C_END
#endif

/* Names of unnamed members, for compilers that have none: not these. */
#ifndef DUMMYSTRUCTNAME
#define DUMMYSTRUCTNAME
#define DUMMYUNIONNAME
#define DUMMYUNIONNAME2
#define DUMMYUNIONNAME3
#endif

#ifndef UNALIGNED
#define UNALIGNED
#endif

#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif
#ifndef OPTIONAL
#define OPTIONAL
#endif
#ifndef CONST
#define CONST const
#endif
#ifndef VOID
#define VOID void
#endif
#ifndef FALSE
#define FALSE 0
#endif
#ifndef TRUE
#define TRUE 1
#endif

typedef void *PVOID, **PPVOID;
typedef void *HANDLE, **PHANDLE;

typedef char CHAR, *PCHAR, *PCH, *PSTR, *LPSTR;
typedef const char *PCSTR, *PCCH, *PCSZ, *LPCSTR;
typedef short SHORT, *PSHORT;
typedef nt_long LONG, *PLONG;
typedef nt_int64 LONGLONG, *PLONGLONG;
typedef unsigned char UCHAR, *PUCHAR;
typedef unsigned short USHORT, *PUSHORT;
typedef nt_ulong ULONG, *PULONG;
typedef nt_uint64 ULONGLONG, *PULONGLONG;
typedef short CSHORT, *PCSHORT;
typedef UCHAR BOOLEAN, *PBOOLEAN;

#if defined(__SIZEOF_WCHAR_T__) && __SIZEOF_WCHAR_T__ == 2
typedef wchar_t WCHAR;
#elif defined(__cplusplus)
typedef char16_t WCHAR;
#else
typedef unsigned short WCHAR;
#endif
typedef const WCHAR *PCWCHAR;
typedef WCHAR *PWCHAR, *PWSTR, *PWCH, *LPWSTR, *PZZWSTR;
typedef const WCHAR *PCWSTR, *PCWCH, *LPCWSTR;

typedef LONG NTSTATUS, *PNTSTATUS;
typedef LONG HRESULT;
typedef ULONG ACCESS_MASK, *PACCESS_MASK;
typedef UCHAR KIRQL, *PKIRQL;
typedef CHAR CCHAR;
typedef LONG KPRIORITY;

#define NT_SUCCESS(status)     (((NTSTATUS)(status)) >= 0)
#define NT_INFORMATION(status) ((((ULONG)(status)) >> 30) == 1)
#define NT_WARNING(status)     ((((ULONG)(status)) >> 30) == 2)
#define NT_ERROR(status)       ((((ULONG)(status)) >> 30) == 3)

typedef union _LARGE_INTEGER {
    struct {
        ULONG LowPart;
        LONG HighPart;
    };
    struct {
        ULONG LowPart;
        LONG HighPart;
    } u;
    LONGLONG QuadPart;
} LARGE_INTEGER, *PLARGE_INTEGER;

#define Int32x32To64(first, second)  ((LONGLONG)(LONG)(first) * (LONGLONG)(LONG)(second))
#define UInt32x32To64(first, second) ((ULONGLONG)(ULONG)(first) * (ULONGLONG)(ULONG)(second))

typedef union _ULARGE_INTEGER {
    struct {
        ULONG LowPart;
        ULONG HighPart;
    };
    struct {
        ULONG LowPart;
        ULONG HighPart;
    } u;
    ULONGLONG QuadPart;
} ULARGE_INTEGER, *PULARGE_INTEGER;

typedef LARGE_INTEGER PHYSICAL_ADDRESS, *PPHYSICAL_ADDRESS;

typedef struct _LUID {
    ULONG LowPart;
    LONG HighPart;
} LUID, *PLUID;

typedef struct _UNICODE_STRING {
    USHORT Length;
    USHORT MaximumLength;
    PWSTR Buffer;
} UNICODE_STRING, *PUNICODE_STRING;
typedef const UNICODE_STRING *PCUNICODE_STRING;

typedef struct _STRING {
    USHORT Length;
    USHORT MaximumLength;
    PCHAR Buffer;
} STRING, ANSI_STRING, *PSTRING, *PANSI_STRING;

typedef struct _OBJECT_ATTRIBUTES {
    ULONG Length;
    HANDLE RootDirectory;
    PUNICODE_STRING ObjectName;
    ULONG Attributes;
    PVOID SecurityDescriptor;
    PVOID SecurityQualityOfService;
} OBJECT_ATTRIBUTES, *POBJECT_ATTRIBUTES;

typedef struct _LIST_ENTRY {
    struct _LIST_ENTRY *Flink;
    struct _LIST_ENTRY *Blink;
} LIST_ENTRY, *PLIST_ENTRY;

typedef struct _SINGLE_LIST_ENTRY {
    struct _SINGLE_LIST_ENTRY *Next;
} SINGLE_LIST_ENTRY, *PSINGLE_LIST_ENTRY;

#define FIELD_OFFSET(type, field)             ((LONG)offsetof(type, field))
#define UFIELD_OFFSET(type, field)            ((ULONG)offsetof(type, field))
#define RTL_FIELD_SIZE(type, field)           (sizeof(((type *)0)->field))
#define RTL_SIZEOF_THROUGH_FIELD(type, field) (offsetof(type, field) + RTL_FIELD_SIZE(type, field))
#define RTL_NUMBER_OF(array)                  (sizeof(array) / sizeof((array)[0]))
#ifndef ARRAYSIZE
#define ARRAYSIZE(array) RTL_NUMBER_OF(array)
#endif
#ifndef CONTAINING_RECORD
#define CONTAINING_RECORD(address, type, field) ((type *)((PCHAR)(address)-offsetof(type, field)))
#endif
#ifndef C_ASSERT
#ifdef __cplusplus
#define C_ASSERT(expression) static_assert(expression, #expression)
#else
#define C_ASSERT(expression) _Static_assert(expression, #expression)
#endif
#endif

#define ARGUMENT_PRESENT(pointer)             ((CHAR *)(pointer) != (CHAR *)0)
#define UNREFERENCED_PARAMETER(parameter)     ((void)(parameter))
#define DBG_UNREFERENCED_PARAMETER(parameter) ((void)(parameter))
#define UNREFERENCED_LOCAL_VARIABLE(variable) ((void)(variable))

#define MAXUCHAR     0xff
#define MAXUSHORT    0xffff
#define MAXLONG      0x7fffffff
#define MAXULONG     0xffffffffu
#define MAXLONGLONG  0x7fffffffffffffffll
#define MAXULONGLONG 0xffffffffffffffffull

#endif
