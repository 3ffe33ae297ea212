/* What the kernel exports of the C library's general utilities. */
#ifndef DRYDOCK_CRT_STDLIB_H
#define DRYDOCK_CRT_STDLIB_H

#include <limits.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

int abs(int value);
int atoi(const char *string);
long atol(const char *string);
int rand(void);
void srand(unsigned int seed);
void qsort(void *base, size_t count, size_t size, int (*compare)(const void *, const void *));
void *bsearch(const void *key, const void *base, size_t count, size_t size,
              int (*compare)(const void *, const void *));

/* The bytes of a number in the opposite order: always part of the caller, as an intrinsic. */
#define DRYDOCK_BYTESWAP(name, type, swap)                                                         \
    extern __inline__ __attribute__((__gnu_inline__, __always_inline__)) type name(type number)    \
    {                                                                                              \
        return swap(number);                                                                       \
    }
DRYDOCK_BYTESWAP(_byteswap_ushort, unsigned short, __builtin_bswap16)
DRYDOCK_BYTESWAP(_byteswap_ulong, unsigned long, __builtin_bswap32)
DRYDOCK_BYTESWAP(_byteswap_uint64, unsigned long long, __builtin_bswap64)
#undef DRYDOCK_BYTESWAP

#ifdef __cplusplus
}
#endif

#endif
