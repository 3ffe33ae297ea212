#include "base/services.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *base_alloc(const struct base_services *services, size_t size)
{
    void *memory;

    if (!size)
        return NULL;
    if (services->allocate_zeroed)
        return services->allocate_zeroed(services->context, size);
    memory = services->allocate(services->context, size);
    if (memory)
        memset(memory, 0, size);
    return memory;
}

void *base_alloc_array(const struct base_services *services, size_t count, size_t element_size)
{
    if (element_size && count > SIZE_MAX / element_size)
        return NULL;
    return base_alloc(services, count * element_size);
}

void base_free(const struct base_services *services, void *memory, size_t size)
{
    if (memory)
        services->free(services->context, memory, size);
}

void base_free_array(const struct base_services *services, void *memory, size_t count,
                     size_t element_size)
{
    base_free(services, memory, count * element_size);
}

static void *libc_allocate(void *context, size_t size)
{
    (void)context;
    return malloc(size);
}

static void *libc_allocate_zeroed(void *context, size_t size)
{
    (void)context;
    return calloc(1, size);
}

static void libc_free(void *context, void *memory, size_t size)
{
    (void)context;
    (void)size;
    free(memory);
}

const struct base_services *base_services_libc(void)
{
    static const struct base_services libc = {
        .allocate = libc_allocate,
        .free = libc_free,
        .allocate_zeroed = libc_allocate_zeroed,
    };

    return &libc;
}
