#include "layers/late_end.h"

#include "layers/layer.h"

struct late_end {
    struct layer layer;
    void (*end)(void *context, unsigned node);
    void *context;
};

static NTSTATUS query_engine_status(struct miniport *self, HANDLE object,
                                    DXGKARG_QUERYENGINESTATUS *arg)
{
    const struct late_end *late = (const struct late_end *)self;

    late->end(late->context, arg->NodeOrdinal);
    return miniport_forward_query_engine_status(self, object, arg);
}

NTSTATUS late_end_layer_create(const struct base_services *services,
                               void (*end)(void *context, unsigned node), void *context,
                               struct miniport *next, struct miniport **out_layer)
{
    struct late_end *late = layer_create(services, sizeof *late, "late end", next);

    *out_layer = late ? &late->layer.miniport : NULL;
    if (!late)
        return STATUS_NO_MEMORY;
    late->end = end;
    late->context = context;
    late->layer.ops.query_engine_status = query_engine_status;
    return STATUS_SUCCESS;
}
