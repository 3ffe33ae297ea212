/*
 * Fixed-width and pointer-width integer types of the Windows x64 data model.
 *
 * Place   include/wdk, the bottom: depends on the compiler's own headers only.
 * Model   LLP64 on every host. An image has the types of home, where LONG is a long and nothing of
 *         stdint.h is there unless the driver asks for it: it may have an int32_t of its own. In a
 *         native LP64 build LONG is an int, and has the size that it has in a Windows build.
 */
#ifndef _BASETSD_H_
#define _BASETSD_H_

#include <stddef.h>

#if defined(_WIN32)
typedef long nt_long;
typedef unsigned long nt_ulong;
typedef long long nt_int64;
typedef unsigned long long nt_uint64;
#else
#include <stdint.h>
typedef int32_t nt_long;
typedef uint32_t nt_ulong;
typedef int64_t nt_int64;
typedef uint64_t nt_uint64;
#endif

typedef signed char INT8, *PINT8;
typedef short INT16, *PINT16;
typedef int INT32, *PINT32;
typedef nt_int64 INT64, *PINT64;
typedef unsigned char UINT8, *PUINT8;
typedef unsigned short UINT16, *PUINT16;
typedef unsigned int UINT32, *PUINT32;
typedef nt_uint64 UINT64, *PUINT64;

typedef int LONG32, *PLONG32;
typedef nt_int64 LONG64, *PLONG64;
typedef unsigned int ULONG32, *PULONG32;
typedef nt_uint64 ULONG64, *PULONG64;
typedef unsigned int DWORD32, *PDWORD32;
typedef nt_uint64 DWORD64, *PDWORD64;

typedef nt_int64 INT_PTR, *PINT_PTR;
typedef nt_uint64 UINT_PTR, *PUINT_PTR;
typedef nt_int64 LONG_PTR, *PLONG_PTR;
typedef nt_uint64 ULONG_PTR, *PULONG_PTR;
typedef ULONG_PTR DWORD_PTR, *PDWORD_PTR;

typedef size_t SIZE_T, *PSIZE_T;
typedef INT_PTR SSIZE_T, *PSSIZE_T;
typedef ULONG_PTR KAFFINITY, *PKAFFINITY;

#define MAXULONG_PTR        (~(ULONG_PTR)0)
#define MAXULONG64          (~(ULONG64)0)
#define MAXULONG32          (~(ULONG32)0)
#define MAXLONG64           ((LONG64)(MAXULONG64 >> 1))
#define MINLONG64           (~MAXLONG64)
#define PtrToUlong(pointer) ((nt_ulong)(ULONG_PTR)(pointer))
#define UlongToPtr(value)   ((void *)(ULONG_PTR)(nt_ulong)(value))

#endif
