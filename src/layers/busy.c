/*
 * Busy: ALLOCATION_BUSY until the allocation is said to be idle.
 */
#include "layers/busy.h"

#include "layers/layer.h"

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
