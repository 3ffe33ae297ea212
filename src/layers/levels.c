#include "layers/levels.h"

#include <string.h>

struct levels_layer {
    struct miniport miniport;
    struct miniport_ops ops;
    const struct base_services *services;
    struct nt *nt;
};

static KIRQL level_of(enum miniport_ddi ddi)
{
    switch ((unsigned)ddi) {
    case MINIPORT_DDI_SubmitCommand:
    case MINIPORT_DDI_SubmitCommandVirtual:
    case MINIPORT_DDI_PreemptCommand:
    case MINIPORT_DDI_QueryCurrentFence:
        return DISPATCH_LEVEL;
    case MINIPORT_DDI_UpdateMonitoredValues: /* never at the time of an interrupt */
        return NT_DEVICE_IRQL;
    default:
        return PASSIVE_LEVEL;
    }
}

static struct nt *nt_of(struct miniport *self)
{
    return ((struct levels_layer *)self)->nt;
}

#define X(function, ddi, argument)                                                                 \
    static NTSTATUS at_level_##function(struct miniport *self, HANDLE object, argument arg)        \
    {                                                                                              \
        KIRQL before = nt_set_irql(nt_of(self), level_of(MINIPORT_DDI_##ddi));                     \
        NTSTATUS status = miniport_##function(self->next, object, arg);                            \
                                                                                                   \
        nt_set_irql(nt_of(self), before);                                                          \
        return status;                                                                             \
    }
MINIPORT_DDI_LIST(X)
#undef X
#define X(function, ddi)                                                                           \
    static NTSTATUS at_level_##function(struct miniport *self, HANDLE object)                      \
    {                                                                                              \
        KIRQL before = nt_set_irql(nt_of(self), level_of(MINIPORT_DDI_##ddi));                     \
        NTSTATUS status = miniport_##function(self->next, object);                                 \
                                                                                                   \
        nt_set_irql(nt_of(self), before);                                                          \
        return status;                                                                             \
    }
MINIPORT_PLAIN_LIST(X)
#undef X

static void levels_destroy(struct miniport *self)
{
    base_free(((struct levels_layer *)self)->services, self, sizeof(struct levels_layer));
}

NTSTATUS levels_create(const struct base_services *services, struct nt *nt, struct miniport *next,
                       struct miniport **out_layer)
{
    struct levels_layer *layer = base_alloc(services, sizeof *layer);

    *out_layer = NULL;
    if (!layer)
        return STATUS_NO_MEMORY;
    memset(layer, 0, sizeof *layer);
    layer->services = services;
    layer->nt = nt;
    layer->ops = miniport_forward_ops;
    layer->ops.name = "levels";
    layer->ops.destroy = levels_destroy;
#define X(function, ddi, argument) layer->ops.function = at_level_##function;
    MINIPORT_DDI_LIST(X)
#undef X
#define X(function, ddi) layer->ops.function = at_level_##function;
    MINIPORT_PLAIN_LIST(X)
#undef X
    layer->miniport.ops = &layer->ops;
    layer->miniport.next = next;
    *out_layer = &layer->miniport;
    return STATUS_SUCCESS;
}
