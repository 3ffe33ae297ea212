/*
 * Services: where memory comes from.
 *
 * Place      base. All of libvidmm allocates through one of these and never through malloc().
 * Model      Two functions and a context that the embedder gives. free is told the size, so an
 *            embedder needs no header before each block. A third one may give memory that is zero
 *            already: a large table of which little is used then costs what is used of it. Where it
 *            is NULL, base_alloc() fills what allocate gave.
 * Ownership  The struct is borrowed: it must outlive everything that was allocated through it.
 * Errors     allocate returns NULL when there is no memory; that is always survivable.
 */
#ifndef DRYDOCK_BASE_SERVICES_H
#define DRYDOCK_BASE_SERVICES_H

#include "base/api.h"

#include <stddef.h>

VIDMM_API_BEGIN

struct base_services {
    void *context;
    void *(*allocate)(void *context, size_t size);
    void (*free)(void *context, void *memory, size_t size);
    void *(*allocate_zeroed)(void *context, size_t size); /* may be NULL */
};

/* Zeroed memory, aligned for any type, or NULL. Size 0 gives NULL. */
void *base_alloc(const struct base_services *services, size_t size);

/* The same for count elements; NULL when the product does not fit either. */
void *base_alloc_array(const struct base_services *services, size_t count, size_t element_size);

/* Size is the size that was asked for. Memory may be NULL. */
void base_free(const struct base_services *services, void *memory, size_t size);
void base_free_array(const struct base_services *services, void *memory, size_t count,
                     size_t element_size);

/* malloc(), calloc() and free(). Never NULL, lives forever. */
const struct base_services *base_services_libc(void);

VIDMM_API_END

#endif
