/*
 * Fixed-width and pointer-width integer types of the Windows x64 data model.
 *
 * Place   include/wdk, the bottom: depends on the compiler's own headers only.
 * Model   LLP64 on every host. Nothing here is a long, so a native LP64 build has the sizes
 *         that a Windows build has.
 */
#ifndef _BASETSD_H_
#define _BASETSD_H_

#include <stddef.h>
#include <stdint.h>

typedef int8_t INT8, *PINT8;
typedef int16_t INT16, *PINT16;
typedef int32_t INT32, *PINT32;
typedef int64_t INT64, *PINT64;
typedef uint8_t UINT8, *PUINT8;
typedef uint16_t UINT16, *PUINT16;
typedef uint32_t UINT32, *PUINT32;
typedef uint64_t UINT64, *PUINT64;

typedef int32_t LONG32, *PLONG32;
typedef int64_t LONG64, *PLONG64;
typedef uint32_t ULONG32, *PULONG32;
typedef uint64_t ULONG64, *PULONG64;
typedef uint32_t DWORD32, *PDWORD32;
typedef uint64_t DWORD64, *PDWORD64;

typedef int64_t INT_PTR, *PINT_PTR;
typedef uint64_t UINT_PTR, *PUINT_PTR;
typedef int64_t LONG_PTR, *PLONG_PTR;
typedef uint64_t ULONG_PTR, *PULONG_PTR;
typedef ULONG_PTR DWORD_PTR, *PDWORD_PTR;

typedef size_t SIZE_T, *PSIZE_T;
typedef INT_PTR SSIZE_T, *PSSIZE_T;
typedef ULONG_PTR KAFFINITY, *PKAFFINITY;

#define MAXULONG_PTR        (~(ULONG_PTR)0)
#define PtrToUlong(pointer) ((uint32_t)(ULONG_PTR)(pointer))
#define UlongToPtr(value)   ((void *)(ULONG_PTR)(uint32_t)(value))

#endif
