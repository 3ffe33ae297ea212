/*
 * GUIDs: the type, definition and comparison.
 *
 * Place  include/wdk, above basetsd.h; included by ntdef.h.
 * Model  DEFINE_GUID declares a name. In source that includes initguid.h first, it defines it: in
 *        as many files as do so, and the linker keeps one.
 */
#ifndef GUID_DEFINED
#define GUID_DEFINED

#include "basetsd.h"

typedef struct _GUID {
    nt_ulong Data1;
    unsigned short Data2;
    unsigned short Data3;
    unsigned char Data4[8];
} GUID;

typedef GUID *LPGUID;
typedef const GUID *LPCGUID;

#ifdef __cplusplus
typedef const GUID &REFGUID;
#define IsEqualGUID(first, second) (__builtin_memcmp(&(first), &(second), sizeof(GUID)) == 0)
#define GUID_STORAGE               extern "C" const
#else
typedef const GUID *REFGUID;
#define IsEqualGUID(first, second) (__builtin_memcmp((first), (second), sizeof(GUID)) == 0)
#define GUID_STORAGE               extern const
#endif
/* One of several definitions is kept. Compilers want to be told so in different places. */
#if defined(_WIN32) && !defined(__MINGW32__)
#define GUID_DECLARED
#define GUID_IS_DEFINED __declspec(selectany)
#elif defined(_WIN32)
#define GUID_DECLARED __declspec(selectany)
#define GUID_IS_DEFINED
#else
#define GUID_DECLARED __attribute__((weak))
#define GUID_IS_DEFINED
#endif
#define InlineIsEqualGUID(first, second) IsEqualGUID(first, second)

#endif

/* Outside the guard: initguid.h changes its mind about DEFINE_GUID. */
#undef DEFINE_GUID
#ifdef INITGUID
#define DEFINE_GUID(name, l, w1, w2, b1, b2, b3, b4, b5, b6, b7, b8)                               \
    GUID_STORAGE GUID_DECLARED GUID name;                                                          \
    const GUID_IS_DEFINED GUID name = {l, w1, w2, {b1, b2, b3, b4, b5, b6, b7, b8}}
#else
#define DEFINE_GUID(name, l, w1, w2, b1, b2, b3, b4, b5, b6, b7, b8) GUID_STORAGE GUID name
#endif
