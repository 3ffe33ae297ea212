#include "vidmm/memory/allocation.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/list.h"
#include "base/node_pool.h"
#include "base/services.h"

#include <string.h>

struct vidmm_allocation *allocation_alloc(struct vidmm_device *device)
{
    struct vidmm_allocation *allocation = node_pool_get(&device->vidmm->allocation_pool);

    if (!allocation)
        return NULL;
    memset(allocation, 0, sizeof *allocation);
    allocation->vidmm = device->vidmm;
    allocation->device = device;
    list_init(&allocation->link);
    list_init(&allocation->mappings);
    list_init(&allocation->device_link);
    return allocation;
}

void allocation_free(struct vidmm_allocation *allocation)
{
    struct vidmm *vidmm = allocation->vidmm;

    base_free(vidmm->services, allocation->context, sizeof *allocation->context);
    node_pool_put(&vidmm->allocation_pool, allocation);
}
