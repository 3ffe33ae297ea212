/*
 * Instances of renamed allocations get handles, and lose them again.
 */
#include "layers/instances.h"

#include "layers/layer.h"
#include "miniport/operation.h"

struct instance_layer {
    struct layer layer;
    struct instances *instances;
};

static struct instances *instances_of(struct miniport *self)
{
    return ((struct instance_layer *)self)->instances;
}

/* A handle that another layer has put there meanwhile stays. */
static void exchange(HANDLE *at, HANDLE from, HANDLE to)
{
    if (at && *at == from)
        *at = to;
}

static NTSTATUS build_above(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct instances *instances = instances_of(self);
    HANDLE name = (HANDLE)instances->instance(instances->context);
    HANDLE *at = miniport_operation_allocation_member(arg);
    NTSTATUS status;

    if (!name || !at || !*at)
        return miniport_forward_build_paging_buffer(self, object, arg);
    instances->name = name;
    instances->handle = *at;
    *at = name;
    status = miniport_forward_build_paging_buffer(self, object, arg);
    exchange(miniport_operation_allocation_member(arg), name, instances->handle);
    instances->name = instances->handle = NULL;
    return status;
}

static NTSTATUS build_below(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct instances *instances = instances_of(self);
    HANDLE name = instances->name, handle = instances->handle;
    NTSTATUS status;

    if (!name)
        return miniport_forward_build_paging_buffer(self, object, arg);
    exchange(miniport_operation_allocation_member(arg), name, handle);
    status = miniport_forward_build_paging_buffer(self, object, arg);
    exchange(miniport_operation_allocation_member(arg), handle, name);
    return status;
}

static NTSTATUS create(struct instances *instances, const struct base_services *services,
                       bool is_above, struct miniport *next, struct miniport **out_layer)
{
    struct instance_layer *side =
        layer_create(services, sizeof *side, is_above ? "instances" : "one handle", next);

    *out_layer = side ? &side->layer.miniport : NULL;
    if (!side)
        return STATUS_NO_MEMORY;
    side->instances = instances;
    side->layer.ops.build_paging_buffer = is_above ? build_above : build_below;
    return STATUS_SUCCESS;
}

NTSTATUS instances_layer_create(struct instances *instances, const struct base_services *services,
                                struct miniport *next, struct miniport **out_layer)
{
    return create(instances, services, true, next, out_layer);
}

NTSTATUS one_handle_layer_create(struct instances *instances, const struct base_services *services,
                                 struct miniport *next, struct miniport **out_layer)
{
    return create(instances, services, false, next, out_layer);
}
