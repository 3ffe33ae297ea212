/*
 * The C library's allocations, as compilers' headers of vector instructions name them. The kernel
 * exports none of them: a driver that calls one has an import that nobody answers.
 */
#ifndef DRYDOCK_CRT_MALLOC_H
#define DRYDOCK_CRT_MALLOC_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *block, size_t size);
void free(void *block);
void *_aligned_malloc(size_t size, size_t alignment);
void _aligned_free(void *block);

/* Memory of the function's own frame, size bytes; gone when the function returns. */
#define _alloca(size) __builtin_alloca(size)
#define alloca(size)  _alloca(size)

#ifdef __cplusplus
}
#endif

#endif
