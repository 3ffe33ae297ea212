#include "layers/deny.h"

#include "base/list.h"
#include "base/rng.h"

#include <string.h>

#define DENY_RNG_STREAM 0x64656e79u /* "deny" */
#define ONE_IN          3u          /* calls about context allocations that may fail, one does */

struct deny_layer {
    struct miniport miniport; /* first */
    struct miniport_ops ops;
    struct miniport_host_layer host;
    struct miniport_host_ops host_ops;
    const struct base_services *services;
    struct rng rng;
    unsigned kinds;
    bool is_starting, has_started;
    bool denies_map; /* at the start, rather than the question before it */
    unsigned grace;
    uint64_t count;
};

static struct deny_layer *layer_of(struct miniport_host *host)
{
    return container_of((struct miniport_host_layer *)host, struct deny_layer, host);
}

/* ---- The start ------------------------------------------------------------------------------- */

static bool denies_at_start(struct deny_layer *layer, bool is_map)
{
    if (!layer->is_starting || layer->denies_map != is_map)
        return false;
    layer->is_starting = false;
    layer->count++;
    return true;
}

static NTSTATUS deny_start_device(struct miniport *self, const DXGK_START_INFO *start,
                                  ULONG *video_present_sources, ULONG *children)
{
    struct deny_layer *layer = (struct deny_layer *)self;
    NTSTATUS status;

    layer->is_starting = (layer->kinds & DENY_START) && !layer->has_started;
    layer->has_started = true;
    status = miniport_start_device(self->next, start, video_present_sources, children);
    layer->is_starting = false;
    return status;
}

static NTSTATUS deny_get_device_information(struct miniport_host *host, DXGK_DEVICE_INFO *info)
{
    if (denies_at_start(layer_of(host), false))
        return STATUS_NO_MEMORY;
    return miniport_host_forward_ops.get_device_information(host, info);
}

static NTSTATUS deny_map_memory(struct miniport_host *host, PHYSICAL_ADDRESS translated,
                                ULONG length, BOOLEAN in_io_space, BOOLEAN map_to_user_mode,
                                ULONG cache_type, PVOID *virtual_address)
{
    if (denies_at_start(layer_of(host), true))
        return STATUS_NO_MEMORY;
    return miniport_host_forward_ops.map_memory(host, translated, length, in_io_space,
                                                map_to_user_mode, cache_type, virtual_address);
}

/* ---- Context allocations --------------------------------------------------------------------- */

static bool denies_context_allocation(struct miniport_host *host)
{
    struct deny_layer *layer = layer_of(host);

    if (!(layer->kinds & DENY_CONTEXT_ALLOCATIONS))
        return false;
    if (layer->grace) {
        layer->grace--;
        return false;
    }
    if (rng_below(&layer->rng, ONE_IN) != 0)
        return false;
    layer->grace = DENY_GRACE;
    layer->count++;
    return true;
}

static NTSTATUS deny_create_context_allocation(struct miniport_host *host,
                                               DXGKARGCB_CREATECONTEXTALLOCATION *allocation)
{
    if (denies_context_allocation(host))
        return STATUS_NO_MEMORY;
    return miniport_host_forward_ops.create_context_allocation(host, allocation);
}

static D3DGPU_VIRTUAL_ADDRESS deny_map_context_allocation(struct miniport_host *host,
                                                          const DXGKARGCB_MAPCONTEXTALLOCATION *map)
{
    if (denies_context_allocation(host))
        return 0;
    return miniport_host_forward_ops.map_context_allocation(host, map);
}

static NTSTATUS deny_update_context_allocation(struct miniport_host *host,
                                               const DXGKARGCB_UPDATECONTEXTALLOCATION *update)
{
    if (denies_context_allocation(host))
        return STATUS_NO_MEMORY;
    return miniport_host_forward_ops.update_context_allocation(host, update);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void deny_set_host(struct miniport *self, struct miniport_host *host)
{
    struct deny_layer *layer = (struct deny_layer *)self;

    layer->host.upper = host;
    miniport_set_host(self->next, host ? &layer->host.host : NULL);
}

static void deny_destroy(struct miniport *self)
{
    base_free(((struct deny_layer *)self)->services, self, sizeof(struct deny_layer));
}

uint64_t miniport_deny_count(const struct miniport *layer)
{
    return ((const struct deny_layer *)layer)->count;
}

NTSTATUS miniport_deny_create(const struct base_services *services, unsigned kinds, uint64_t seed,
                              struct miniport *next, struct miniport **out_layer)
{
    struct deny_layer *layer = base_alloc(services, sizeof *layer);
    struct rng parent;

    *out_layer = NULL;
    if (!layer)
        return STATUS_NO_MEMORY;
    memset(layer, 0, sizeof *layer);
    rng_init(&parent, seed);
    rng_fork(&parent, DENY_RNG_STREAM, &layer->rng);
    layer->denies_map = rng_chance(&layer->rng, 1, 2);
    layer->services = services;
    layer->kinds = kinds;
    layer->ops = miniport_forward_ops;
    layer->ops.name = "deny";
    layer->ops.destroy = deny_destroy;
    layer->ops.set_host = deny_set_host;
    layer->ops.start_device = deny_start_device;
    layer->host_ops = miniport_host_forward_ops;
    layer->host_ops.get_device_information = deny_get_device_information;
    layer->host_ops.map_memory = deny_map_memory;
    layer->host_ops.create_context_allocation = deny_create_context_allocation;
    layer->host_ops.map_context_allocation = deny_map_context_allocation;
    layer->host_ops.update_context_allocation = deny_update_context_allocation;
    layer->host.host.ops = &layer->host_ops;
    layer->miniport.ops = &layer->ops;
    layer->miniport.next = next;
    *out_layer = &layer->miniport;
    return STATUS_SUCCESS;
}
