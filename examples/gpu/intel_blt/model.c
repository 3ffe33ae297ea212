/*
 * What the bench asks of the model: its life, registers, and translations.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

static void reset(void *self)
{
    struct iblt *gpu = self;

    iblt_reset_engines(gpu);
    memset(gpu->ggtt, 0, sizeof gpu->ggtt);
}

static uint64_t read_register(void *self, uint64_t offset, unsigned size)
{
    (void)size;
    return iblt_read_any(self, offset & ~UINT64_C(3));
}

static void write_register(void *self, uint64_t offset, unsigned size, uint64_t value)
{
    struct iblt *gpu = self;
    struct engine *engine = iblt_engine_of(gpu, offset);

    if (offset == IBLT_RESET && (value & 1))
        iblt_reset_engines(gpu);
    else if (offset >= IBLT_GGTT)
        iblt_write_ggtt(gpu, offset - IBLT_GGTT, &value, size);
    else
        iblt_write_any(gpu, offset & ~UINT64_C(3), (uint32_t)value);
    if (engine && !engine->is_running && !engine->has_faulted && iblt_has_packets(engine))
        iblt_rest(engine, PACKET_NS);
}

static bool translate(void *self, struct drydock_gpu_place root, uint64_t va,
                      struct drydock_gpu_translation *out)
{
    uint64_t entry;
    unsigned bits;

    *out = (struct drydock_gpu_translation){0};
    if (!root.is_local || !iblt_walk(self, root.address, va & VA_MASK, &entry, &bits))
        return false;
    out->page_bytes = UINT64_C(1) << bits;
    if (!entry)
        return true;
    out->is_valid = true;
    out->is_read_only = !(entry & IBLT_PTE_WRITABLE);
    out->is_zero = entry & IBLT_PTE_NULL;
    out->at = (struct drydock_gpu_place){entry & IBLT_PTE_LOCAL, entry & IBLT_PTE_ADDRESS_MASK};
    return true;
}

static void *create(const struct drydock_gpu_host *host, const struct drydock_gpu_board *board)
{
    struct iblt *gpu = calloc(1, sizeof *gpu);

    if (!gpu)
        return NULL;
    gpu->host = host;
    gpu->board = *board;
    for (unsigned i = 0; i < IBLT_ENGINES; i++) {
        gpu->engines[i].gpu = gpu;
        gpu->engines[i].number = i;
    }
    return gpu;
}

const struct drydock_gpu_model *drydock_gpu_model(uint32_t api_version)
{
    static const struct drydock_gpu_pci pci = {
        .vendor_id = 0x8086,
        .device_id = 0x56a0,
        .class_code = 0x030000,
        .bars[0] = {.is_there = true, .bytes = IBLT_REGISTER_BYTES},
        .bars[2] = {.is_there = true, .is_local = true},
        .message_count = IBLT_ENGINES,
    };
    static const struct drydock_gpu_application application = {
        .description = "Drydock's model of Intel graphics (DG2)",
        .client_bytes = iblt_client_bytes,
        .escape = iblt_escape,
        .walk_batch = iblt_walk_batch,
    };
    static const struct drydock_gpu_model model = {
        .api_version = DRYDOCK_GPU_MODEL_API,
        .name = "intel_blt",
        .register_bytes = IBLT_REGISTER_BYTES,
        .create = create,
        .destroy = free,
        .reset = reset,
        .read_register = read_register,
        .write_register = write_register,
        .translate = translate,
        .allocation_data = iblt_allocation_data,
        .commands = iblt_commands,
        .pci = &pci,
        .application = &application,
        .tells_flushes = true,
    };

    return api_version == DRYDOCK_GPU_MODEL_API ? &model : NULL;
}
