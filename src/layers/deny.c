#include "layers/deny.h"

#include "base/list.h"
#include "base/rng.h"
#include "layers/layer.h"

#define DENY_RNG_STREAM 0x64656e79u /* "deny" */
#define ONE_IN          3u          /* calls about context allocations that may fail, one does */

struct deny_layer {
    struct layer layer;
    struct miniport_host_layer host;
    struct miniport_host_ops host_ops;
    struct rng rng;
    unsigned kinds;
    bool is_starting, has_started;
    bool is_of_application; /* a process that is being created */
    bool denies_map;        /* at the start, rather than the question before it */
    unsigned maps_before;   /* mappings that are made before the one that fails */
    unsigned grace;
    uint64_t count;
};

static struct deny_layer *deny_of(struct miniport_host *host)
{
    return container_of((struct miniport_host_layer *)host, struct deny_layer, host);
}

/* ---- The start ------------------------------------------------------------------------------- */

static bool denies_at_start(struct deny_layer *deny, bool is_map)
{
    if (!deny->is_starting || deny->denies_map != is_map)
        return false;
    if (is_map && deny->maps_before) {
        deny->maps_before--;
        return false;
    }
    deny->is_starting = false;
    deny->count++;
    return true;
}

static NTSTATUS deny_start_device(struct miniport *self, const DXGK_START_INFO *start,
                                  ULONG *video_present_sources, ULONG *children)
{
    struct deny_layer *deny = (struct deny_layer *)self;
    NTSTATUS status;

    deny->is_starting = (deny->kinds & DENY_START) && !deny->has_started;
    deny->has_started = true;
    status = miniport_start_device(self->next, start, video_present_sources, children);
    deny->is_starting = false;
    return status;
}

static NTSTATUS deny_get_device_information(struct miniport_host *host, DXGK_DEVICE_INFO *info)
{
    if (denies_at_start(deny_of(host), false))
        return STATUS_NO_MEMORY;
    return miniport_host_forward_ops.get_device_information(host, info);
}

static NTSTATUS deny_map_memory(struct miniport_host *host, PHYSICAL_ADDRESS translated,
                                ULONG length, BOOLEAN in_io_space, BOOLEAN map_to_user_mode,
                                ULONG cache_type, PVOID *virtual_address)
{
    if (denies_at_start(deny_of(host), true))
        return STATUS_NO_MEMORY;
    return miniport_host_forward_ops.map_memory(host, translated, length, in_io_space,
                                                map_to_user_mode, cache_type, virtual_address);
}

/* ---- Now and then ---------------------------------------------------------------------------- */

/* Now and then; the calls behind one that fails are carried out. */
static bool denies_now(struct deny_layer *deny, unsigned kind)
{
    if (!(deny->kinds & kind))
        return false;
    if (deny->grace) {
        deny->grace--;
        return false;
    }
    if (rng_below(&deny->rng, ONE_IN) != 0)
        return false;
    deny->grace = DENY_GRACE;
    deny->count++;
    return true;
}

static bool denies_context_allocation(struct miniport_host *host)
{
    return denies_now(deny_of(host), DENY_CONTEXT_ALLOCATIONS);
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

static NTSTATUS deny_create_process(struct miniport *self, HANDLE object,
                                    DXGKARG_CREATEPROCESS *arg)
{
    struct deny_layer *deny = (struct deny_layer *)self;
    NTSTATUS status;

    deny->is_of_application = !arg->Flags.SystemProcess;
    status = miniport_forward_create_process(self, object, arg);
    deny->is_of_application = false;
    return status;
}

static NTSTATUS deny_reserve_range(struct miniport_host *host, HANDLE process,
                                   DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE *range)
{
    struct deny_layer *deny = deny_of(host);

    if (deny->is_of_application && denies_now(deny, DENY_RESERVED_RANGES))
        return STATUS_NO_MEMORY;
    return miniport_host_forward_ops.reserve_gpu_virtual_address_range(host, process, range);
}

/* A driver that asks again has no better hope, so there is no grace. */
static NTSTATUS deny_memory(struct miniport_host *host,
                            const struct miniport_memory_request *request)
{
    struct deny_layer *deny = deny_of(host);
    const bool is_pin = request->kind == MINIPORT_MEMORY_pin_save_area ||
                        request->kind == MINIPORT_MEMORY_pin_save_area_2;

    if (is_pin && (deny->kinds & DENY_SAVE_AREA) && rng_chance(&deny->rng, 1, 2)) {
        deny->count++;
        return STATUS_NO_MEMORY;
    }
    return miniport_host_forward_ops.memory(host, request);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void deny_set_host(struct miniport *self, struct miniport_host *host)
{
    struct deny_layer *deny = (struct deny_layer *)self;

    deny->host.upper = host;
    miniport_set_host(self->next, host ? &deny->host.host : NULL);
}

uint64_t deny_layer_count(const struct miniport *layer)
{
    return ((const struct deny_layer *)layer)->count;
}

NTSTATUS deny_layer_create(const struct base_services *services, unsigned kinds, uint64_t seed,
                           struct miniport *next, struct miniport **out_layer)
{
    struct deny_layer *deny = layer_create(services, sizeof *deny, "deny", next);
    struct rng parent;

    *out_layer = deny ? &deny->layer.miniport : NULL;
    if (!deny)
        return STATUS_NO_MEMORY;
    rng_init(&parent, seed);
    rng_fork(&parent, DENY_RNG_STREAM, &deny->rng);
    deny->denies_map = rng_chance(&deny->rng, 1, 2);
    deny->maps_before = (unsigned)rng_below(&deny->rng, 2);
    deny->kinds = kinds;
    deny->layer.ops.set_host = deny_set_host;
    deny->layer.ops.start_device = deny_start_device;
    deny->layer.ops.create_process = deny_create_process;
    deny->host_ops = miniport_host_forward_ops;
    deny->host_ops.get_device_information = deny_get_device_information;
    deny->host_ops.map_memory = deny_map_memory;
    deny->host_ops.reserve_gpu_virtual_address_range = deny_reserve_range;
    deny->host_ops.memory = deny_memory;
    deny->host_ops.create_context_allocation = deny_create_context_allocation;
    deny->host_ops.map_context_allocation = deny_map_context_allocation;
    deny->host_ops.update_context_allocation = deny_update_context_allocation;
    deny->host.host.ops = &deny->host_ops;
    return STATUS_SUCCESS;
}
