/*
 * Busy: ALLOCATION_BUSY until the allocation is said to be idle.
 */
#include "layers/busy.h"

#include "layers/layer.h"
#include "miniport/operation.h"

static NTSTATUS busy_build_paging_buffer(struct miniport *self, HANDLE object,
                                         DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (miniport_operation_may_be_busy(arg))
        return STATUS_GRAPHICS_ALLOCATION_BUSY;
    return miniport_forward_build_paging_buffer(self, object, arg);
}

NTSTATUS busy_layer_create(const struct base_services *services, struct miniport *next,
                           struct miniport **out_layer)
{
    struct layer *layer = layer_create(services, sizeof *layer, "busy", next);

    *out_layer = layer ? &layer->miniport : NULL;
    if (!layer)
        return STATUS_NO_MEMORY;
    layer->ops.build_paging_buffer = busy_build_paging_buffer;
    return STATUS_SUCCESS;
}
