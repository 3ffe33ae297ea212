/*
 * Clients that are refused, or that a run has to survive: one of ODD_OLD, ODD_NAMELESS, ODD_POOR,
 * ODD_NONE, ODD_LYING, ODD_CRASHING, ODD_HANGING, ODD_TAKEN, ODD_TALKING.
 */
#include <drydock/client.h>

#include <stdlib.h>
#include <string.h>

static void *create(uint64_t seed)
{
#ifdef ODD_POOR
    return NULL;
#else
    return malloc(sizeof seed);
#endif
}

static uint32_t allocation_data(void *self, const struct drydock_gpu_allocation *allocation,
                                void *out, uint32_t room)
{
#ifdef ODD_CRASHING
    *(volatile int *)16 = 1;
#endif
#ifdef ODD_HANGING
    for (volatile int i = 0; i < 1;)
        ;
#endif
    return room ? 24 : 16; /* another length than it said */
}

static uint64_t choose_address(void *self, const struct drydock_client_range *range)
{
    return range->lowest - range->alignment; /* not its own to give */
}

/* Eight bytes in place of the template's, and what the driver made of them is looked at. */
static uint32_t escape(void *self, const struct drydock_client_escape *escape, void *out,
                       uint32_t room)
{
    if (room >= 8)
        memset(out, 0x5a, 8);
    return 8;
}

static void escaped(void *self, const struct drydock_client_escape *escape, int32_t status,
                    const void *data, uint32_t bytes)
{
    if (bytes != 8 || !data)
        abort();
}

#ifndef ODD_NONE
extern const struct drydock_client drydock_client;

const struct drydock_client drydock_client = {
#ifdef ODD_OLD
    .api_version = DRYDOCK_CLIENT_API - 1,
#else
    .api_version = DRYDOCK_CLIENT_API,
#endif
#ifndef ODD_NAMELESS
    .name = "odd",
#endif
    .create = create,
    .destroy = free,
#if defined ODD_LYING || defined ODD_CRASHING || defined ODD_HANGING
    .allocation_data = allocation_data,
#endif
#ifdef ODD_TAKEN
    .choose_address = choose_address,
#endif
#ifdef ODD_TALKING
    .escape = escape,
    .escaped = escaped,
#endif
};
#endif
