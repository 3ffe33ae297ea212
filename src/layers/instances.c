/*
 * Instances of renamed allocations get handles, and lose them again.
 */
#include "layers/instances.h"

#include "base/list.h"

struct instance_layer {
    struct miniport miniport;
    struct miniport_ops ops;
    const struct base_services *services;
    struct instances *instances;
};

static HANDLE *handle_in(DXGKARG_BUILDPAGINGBUFFER *arg)
{
    switch (arg->Operation) {
    case DXGK_OPERATION_TRANSFER:
        return &arg->Transfer.hAllocation;
    case DXGK_OPERATION_FILL:
        return &arg->Fill.hAllocation;
    case DXGK_OPERATION_DISCARD_CONTENT:
        return &arg->DiscardContent.hAllocation;
    case DXGK_OPERATION_MAP_APERTURE_SEGMENT:
        return &arg->MapApertureSegment.hAllocation;
    case DXGK_OPERATION_UNMAP_APERTURE_SEGMENT:
        return &arg->UnmapApertureSegment.hAllocation;
    default:
        return NULL;
    }
}

/* What another layer has put there meanwhile is its own. */
static void exchange(HANDLE *at, HANDLE from, HANDLE to)
{
    if (at && *at == from)
        *at = to;
}

static NTSTATUS build_above(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct instances *instances = container_of(self, struct instance_layer, miniport)->instances;
    HANDLE name = (HANDLE)instances->instance(instances->context);
    HANDLE *at = handle_in(arg);
    NTSTATUS status;

    if (!name || !at || !*at)
        return miniport_forward_build_paging_buffer(self, object, arg);
    instances->name = name;
    instances->handle = *at;
    *at = name;
    status = miniport_forward_build_paging_buffer(self, object, arg);
    exchange(handle_in(arg), name, instances->handle);
    instances->name = instances->handle = NULL;
    return status;
}

static NTSTATUS build_below(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct instances *instances =
        container_of(self, struct instance_layer, miniport)->instances;
    HANDLE name = instances->name, handle = instances->handle;
    NTSTATUS status;

    if (!name)
        return miniport_forward_build_paging_buffer(self, object, arg);
    exchange(handle_in(arg), name, handle);
    status = miniport_forward_build_paging_buffer(self, object, arg);
    exchange(handle_in(arg), handle, name);
    return status;
}

static void destroy(struct miniport *self)
{
    struct instance_layer *layer = container_of(self, struct instance_layer, miniport);

    base_free(layer->services, layer, sizeof *layer);
}

static NTSTATUS create(struct instances *instances, const struct base_services *services,
                       bool is_above, struct miniport *next, struct miniport **out_layer)
{
    struct instance_layer *layer = base_alloc(services, sizeof *layer);

    *out_layer = NULL;
    if (!layer)
        return STATUS_NO_MEMORY;
    layer->services = services;
    layer->instances = instances;
    layer->ops = miniport_forward_ops;
    layer->ops.name = is_above ? "instances" : "one handle";
    layer->ops.destroy = destroy;
    layer->ops.build_paging_buffer = is_above ? build_above : build_below;
    layer->miniport.ops = &layer->ops;
    layer->miniport.next = next;
    *out_layer = &layer->miniport;
    return STATUS_SUCCESS;
}

NTSTATUS instances_create_above(struct instances *instances, const struct base_services *services,
                                struct miniport *next, struct miniport **out_layer)
{
    return create(instances, services, true, next, out_layer);
}

NTSTATUS instances_create_below(struct instances *instances, const struct base_services *services,
                                struct miniport *next, struct miniport **out_layer)
{
    return create(instances, services, false, next, out_layer);
}
