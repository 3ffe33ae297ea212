/*
 * The Win32 spellings that display driver headers use.
 *
 * Place   include/wdk, above ntdef.h.
 */
#ifndef _WINDEF_
#define _WINDEF_

#include "ntdef.h"

typedef int INT, *PINT;
typedef unsigned int UINT, *PUINT;
typedef int BOOL, *PBOOL, *LPBOOL;
typedef unsigned char BYTE, *PBYTE, *LPBYTE;
typedef unsigned short WORD, *PWORD, *LPWORD;
typedef nt_ulong DWORD, *PDWORD, *LPDWORD;
#define S_OK          ((HRESULT)0)
#define E_FAIL        ((HRESULT)0x80004005)
#define E_OUTOFMEMORY ((HRESULT)0x8007000E)
#define E_INVALIDARG  ((HRESULT)0x80070057)

typedef float FLOAT, *PFLOAT;
typedef VOID *LPVOID;
typedef const VOID *LPCVOID;
typedef nt_uint64 QWORD;

typedef struct _RECT {
    LONG left;
    LONG top;
    LONG right;
    LONG bottom;
} RECT, *PRECT, *LPRECT;

typedef struct _POINT {
    LONG x;
    LONG y;
} POINT, *PPOINT, *LPPOINT;

typedef struct _SIZE {
    LONG cx;
    LONG cy;
} SIZE, *PSIZE, *LPSIZE;

/* For images only: host source has functions of these names. */
#if defined(_KERNEL_MODE) && !defined(NOMINMAX) && !defined(min)
#define min(first, second) ((first) < (second) ? (first) : (second))
#define max(first, second) ((first) > (second) ? (first) : (second))
#endif

#define LOBYTE(value) ((BYTE)((DWORD_PTR)(value)&0xff))
#define HIBYTE(value) ((BYTE)(((DWORD_PTR)(value) >> 8) & 0xff))
#define LOWORD(value) ((WORD)((DWORD_PTR)(value)&0xffff))
#define HIWORD(value) ((WORD)(((DWORD_PTR)(value) >> 16) & 0xffff))

#endif
