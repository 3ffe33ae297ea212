/*
 * Busy: ALLOCATION_BUSY until the allocation is said to be idle.
 */
#include "layers/busy.h"

#include "base/list.h"

struct busy_layer {
    struct miniport miniport;
    struct miniport_ops ops;
    const struct base_services *services;
};

static bool must_be_idle(const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    switch (arg->Operation) {
    case DXGK_OPERATION_TRANSFER:
        return !arg->Transfer.Flags.AllocationIsIdle;
    case DXGK_OPERATION_DISCARD_CONTENT:
        return !arg->DiscardContent.Flags.AllocationIsIdle;
    case DXGK_OPERATION_SPECIAL_LOCK_TRANSFER:
        return !arg->SpecialLockTransfer.Flags.AllocationIsIdle;
    default:
        return false;
    }
}

static NTSTATUS busy_build_paging_buffer(struct miniport *self, HANDLE object,
                                         DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (must_be_idle(arg))
        return STATUS_GRAPHICS_ALLOCATION_BUSY;
    return miniport_forward_build_paging_buffer(self, object, arg);
}

static void busy_destroy(struct miniport *self)
{
    struct busy_layer *layer = container_of(self, struct busy_layer, miniport);

    base_free(layer->services, layer, sizeof *layer);
}

NTSTATUS miniport_busy_create(const struct base_services *services, struct miniport *next,
                              struct miniport **out_layer)
{
    struct busy_layer *layer = base_alloc(services, sizeof *layer);

    *out_layer = NULL;
    if (!layer)
        return STATUS_NO_MEMORY;
    layer->services = services;
    layer->ops = miniport_forward_ops;
    layer->ops.name = "busy";
    layer->ops.destroy = busy_destroy;
    layer->ops.build_paging_buffer = busy_build_paging_buffer;
    layer->miniport.ops = &layer->ops;
    layer->miniport.next = next;
    *out_layer = &layer->miniport;
    return STATUS_SUCCESS;
}
