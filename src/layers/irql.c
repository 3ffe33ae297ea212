/*
 * IRQL: the level of each DDI, set before the call and restored behind it, with the locks.
 */
#include "layers/irql.h"

#include "layers/layer.h"

struct irql_layer {
    struct layer layer;
    struct nt *nt;
};

static KIRQL level_of(enum miniport_ddi ddi, const void *argument)
{
    const DXGKARG_SETVIDPNSOURCEADDRESS *address = argument;

    switch ((unsigned)ddi) {
    case MINIPORT_DDI_SetVidPnSourceAddress: /* a flip; a change of the mode names no context */
        return address->ContextCount ? NT_DEVICE_IRQL : PASSIVE_LEVEL;
    case MINIPORT_DDI_SubmitCommand:
    case MINIPORT_DDI_SubmitCommandVirtual:
    case MINIPORT_DDI_SubmitCommandToHwQueue:
    case MINIPORT_DDI_PreemptCommand:
    case MINIPORT_DDI_QueryCurrentFence:
    case MINIPORT_DDI_CalibrateGpuClock:
        return DISPATCH_LEVEL;
    case MINIPORT_DDI_UpdateMonitoredValues: /* never at the time of an interrupt */
        return NT_DEVICE_IRQL;
    default:
        return PASSIVE_LEVEL;
    }
}

static struct nt *nt_of(struct miniport *self)
{
    return ((struct irql_layer *)self)->nt;
}

struct before {
    KIRQL irql;
    uint32_t locks;
};

static struct before enter(struct miniport *self, KIRQL irql)
{
    struct nt *nt = nt_of(self);

    return (struct before){nt_set_irql(nt, irql), nt_held_lock_count(nt)};
}

static void leave(struct miniport *self, struct before before)
{
    nt_forget_locks(nt_of(self), before.locks);
    nt_set_irql(nt_of(self), before.irql);
}

#define X(function, ddi, argument)                                                                 \
    static NTSTATUS at_level_##function(struct miniport *self, HANDLE object, argument arg)        \
    {                                                                                              \
        struct before before = enter(self, level_of(MINIPORT_DDI_##ddi, arg));                     \
        NTSTATUS status = miniport_##function(self->next, object, arg);                            \
                                                                                                   \
        leave(self, before);                                                                       \
        return status;                                                                             \
    }
MINIPORT_DDI_LIST(X)
#undef X
#define X(function, ddi)                                                                           \
    static NTSTATUS at_level_##function(struct miniport *self, HANDLE object)                      \
    {                                                                                              \
        struct before before = enter(self, level_of(MINIPORT_DDI_##ddi, NULL));                    \
        NTSTATUS status = miniport_##function(self->next, object);                                 \
                                                                                                   \
        leave(self, before);                                                                       \
        return status;                                                                             \
    }
MINIPORT_PLAIN_LIST(X)
#undef X

/* Those that have no handle run at PASSIVE_LEVEL, but for the interrupt routine and the DPC. */
#define AT_PASSIVE(type, name, parameters, arguments)                                              \
    static type at_passive_##name parameters                                                       \
    {                                                                                              \
        struct before before = enter(self, PASSIVE_LEVEL);                                         \
        type result = miniport_##name arguments;                                                   \
                                                                                                   \
        leave(self, before);                                                                       \
        return result;                                                                             \
    }
AT_PASSIVE(NTSTATUS, add_device, (struct miniport * self), (self->next))
AT_PASSIVE(NTSTATUS, start_device,
           (struct miniport * self, const DXGK_START_INFO *start, ULONG *sources, ULONG *children),
           (self->next, start, sources, children))
AT_PASSIVE(NTSTATUS, stop_device, (struct miniport * self), (self->next))
AT_PASSIVE(NTSTATUS, remove_device, (struct miniport * self), (self->next))
AT_PASSIVE(NTSTATUS, set_power_state,
           (struct miniport * self, ULONG device, DEVICE_POWER_STATE state, POWER_ACTION action),
           (self->next, device, state, action))
AT_PASSIVE(NTSTATUS, notify_surprise_removal,
           (struct miniport * self, DXGK_SURPRISE_REMOVAL_TYPE type), (self->next, type))
AT_PASSIVE(SIZE_T, get_root_page_table_size,
           (struct miniport * self, DXGKARG_GETROOTPAGETABLESIZE *size), (self->next, size))

NTSTATUS irql_layer_create(const struct base_services *services, struct nt *nt,
                           struct miniport *next, struct miniport **out_layer)
{
    struct irql_layer *irql = layer_create(services, sizeof *irql, "irql", next);

    *out_layer = irql ? &irql->layer.miniport : NULL;
    if (!irql)
        return STATUS_NO_MEMORY;
    irql->nt = nt;
#define X(function, ddi, argument) irql->layer.ops.function = at_level_##function;
    MINIPORT_DDI_LIST(X)
#undef X
#define X(function, ddi) irql->layer.ops.function = at_level_##function;
    MINIPORT_PLAIN_LIST(X)
#undef X
    irql->layer.ops.add_device = at_passive_add_device;
    irql->layer.ops.start_device = at_passive_start_device;
    irql->layer.ops.stop_device = at_passive_stop_device;
    irql->layer.ops.remove_device = at_passive_remove_device;
    irql->layer.ops.set_power_state = at_passive_set_power_state;
    irql->layer.ops.notify_surprise_removal = at_passive_notify_surprise_removal;
    irql->layer.ops.get_root_page_table_size = at_passive_get_root_page_table_size;
    return STATUS_SUCCESS;
}
