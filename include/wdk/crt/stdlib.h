/* What the kernel exports of the C library's general utilities. */
#ifndef DRYDOCK_CRT_STDLIB_H
#define DRYDOCK_CRT_STDLIB_H

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

#ifdef __cplusplus
}
#endif

#endif
