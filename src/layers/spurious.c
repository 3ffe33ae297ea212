/*
 * Interrupts of other devices on the same line.
 */
#include "layers/spurious.h"

#include "base/rng.h"
#include "layers/layer.h"

#define SPURIOUS_RNG_STREAM UINT64_C(0x7370757269) /* "spuri" */
#define ONE_IN_DPCS         4u
#define ONE_IN_SUBMISSIONS  8u

struct spurious_layer {
    struct layer layer;
    struct machine *machine;
    struct rng rng;
};

static void interrupt_one_in(struct miniport *self, uint64_t one_in)
{
    struct spurious_layer *spurious = (struct spurious_layer *)self;

    if (rng_below(&spurious->rng, one_in) == 0)
        machine_interrupt_of_another(spurious->machine);
}

static void spurious_dpc(struct miniport *self)
{
    miniport_forward_ops.dpc(self);
    interrupt_one_in(self, ONE_IN_DPCS);
}

static NTSTATUS spurious_submit_command(struct miniport *self, HANDLE object,
                                        const DXGKARG_SUBMITCOMMAND *arg)
{
    NTSTATUS status = miniport_forward_submit_command(self, object, arg);

    interrupt_one_in(self, ONE_IN_SUBMISSIONS);
    return status;
}

static NTSTATUS spurious_submit_command_virtual(struct miniport *self, HANDLE object,
                                                const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    NTSTATUS status = miniport_forward_submit_command_virtual(self, object, arg);

    interrupt_one_in(self, ONE_IN_SUBMISSIONS);
    return status;
}

NTSTATUS spurious_layer_create(const struct base_services *services, struct machine *machine,
                               uint64_t seed, struct miniport *next, struct miniport **out_layer)
{
    struct spurious_layer *spurious = layer_create(services, sizeof *spurious, "spurious", next);
    struct rng parent;

    *out_layer = spurious ? &spurious->layer.miniport : NULL;
    if (!spurious)
        return STATUS_NO_MEMORY;
    spurious->machine = machine;
    rng_init(&parent, seed);
    rng_fork(&parent, SPURIOUS_RNG_STREAM, &spurious->rng);
    spurious->layer.ops.dpc = spurious_dpc;
    spurious->layer.ops.submit_command = spurious_submit_command;
    spurious->layer.ops.submit_command_virtual = spurious_submit_command_virtual;
    return STATUS_SUCCESS;
}
