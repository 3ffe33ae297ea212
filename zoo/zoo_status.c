/*
 * Defects of what BuildPagingBuffer returns (D01 to D07).
 */
#include "zoo/zoo_tables.h"

#include "base/bits.h"
#include "miniport/operation.h"

static NTSTATUS build(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return miniport_forward_build_paging_buffer(self, object, arg);
}

static NTSTATUS out_of_memory(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return EVERY(zoo_layer_of(self), 5) ? STATUS_NO_MEMORY : build(self, object, arg);
}

static NTSTATUS out_of_resources(struct miniport *self, HANDLE object,
                                 DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return EVERY(zoo_layer_of(self), 6) ? STATUS_INSUFFICIENT_RESOURCES : build(self, object, arg);
}

static NTSTATUS no_discard(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return arg->Operation == DXGK_OPERATION_DISCARD_CONTENT ? STATUS_NOT_SUPPORTED
                                                            : build(self, object, arg);
}

static NTSTATUS no_late_operations(struct miniport *self, HANDLE object,
                                   DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return arg->Operation > DXGK_OPERATION_FLUSH_TLB ? STATUS_NOT_IMPLEMENTED
                                                     : build(self, object, arg);
}

static NTSTATUS no_unmap(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return arg->Operation == DXGK_OPERATION_UNMAP_APERTURE_SEGMENT ? STATUS_INVALID_PARAMETER
                                                                   : build(self, object, arg);
}

static NTSTATUS wants_private(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return !arg->pDmaBufferPrivateData ? STATUS_INVALID_PARAMETER : build(self, object, arg);
}

static NTSTATUS wants_buffer(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return !arg->pDmaBuffer ? STATUS_INVALID_PARAMETER : build(self, object, arg);
}

static NTSTATUS swallow_shortage(struct miniport *self, HANDLE object,
                                 DXGKARG_BUILDPAGINGBUFFER *arg)
{
    NTSTATUS status = build(self, object, arg);

    return status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER ? STATUS_SUCCESS : status;
}

static NTSTATUS never_enough(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    UINT passes = arg->MultipassOffset;

    if (layer->calls < 40 || !arg->pDmaBuffer) {
        layer->calls++;
        return build(self, object, arg);
    }
    arg->MultipassOffset = passes;
    return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
}

static NTSTATUS busy_transfer(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return arg->Operation == DXGK_OPERATION_TRANSFER && arg->Transfer.Flags.AllocationIsIdle
               ? STATUS_GRAPHICS_ALLOCATION_BUSY
               : build(self, object, arg);
}

static NTSTATUS busy_discard(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return arg->Operation == DXGK_OPERATION_DISCARD_CONTENT &&
                   arg->DiscardContent.Flags.AllocationIsIdle
               ? STATUS_GRAPHICS_ALLOCATION_BUSY
               : build(self, object, arg);
}

static NTSTATUS busy_fill(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return arg->Operation == DXGK_OPERATION_FILL || arg->Operation == DXGK_OPERATION_VIRTUAL_FILL
               ? STATUS_GRAPHICS_ALLOCATION_BUSY
               : build(self, object, arg);
}

static NTSTATUS busy_aperture(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return arg->Operation == DXGK_OPERATION_MAP_APERTURE_SEGMENT ||
                   arg->Operation == DXGK_OPERATION_MAP_APERTURE_SEGMENT2
               ? STATUS_GRAPHICS_ALLOCATION_BUSY
               : build(self, object, arg);
}

static NTSTATUS busy_virtual(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return arg->Operation == DXGK_OPERATION_VIRTUAL_TRANSFER ? STATUS_GRAPHICS_ALLOCATION_BUSY
                                                             : build(self, object, arg);
}

/* Only what is about content, so that nothing but content tells. */
static bool is_about_content(const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return arg->Operation == DXGK_OPERATION_TRANSFER ||
           arg->Operation == DXGK_OPERATION_VIRTUAL_TRANSFER;
}

static NTSTATUS hide_failure(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return is_about_content(arg) && EVERY(zoo_layer_of(self), 3) ? STATUS_SUCCESS
                                                                 : build(self, object, arg);
}

static NTSTATUS raise_level(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    NTSTATUS status = build(self, object, arg);
    KIRQL before;

    if (EVERY(zoo_layer_of(self), 10))
        KeRaiseIrql(DISPATCH_LEVEL, &before);
    return status;
}

/* A path that returns early, and leaves the lock that it has taken. */
static NTSTATUS leave_lock(struct miniport *self, HANDLE object,
                           const DXGKARG_DESTROYALLOCATION *arg)
{
    NTSTATUS status = miniport_forward_destroy_allocation(self, object, arg);
    KIRQL before;

    if (EVERY(zoo_layer_of(self), 3))
        KeRaiseIrql(DISPATCH_LEVEL, &before);
    return status;
}

static void plant_lock(struct zoo_layer *layer)
{
    layer->ops.destroy_allocation = leave_lock;
}

/* The same of a mutex, and of the region that has to be around it. */
static NTSTATUS stay_in_region(struct miniport *self, HANDLE object, DXGKARG_CREATEALLOCATION *arg)
{
    NTSTATUS status = miniport_forward_create_allocation(self, object, arg);

    if (EVERY(zoo_layer_of(self), 3))
        KeEnterCriticalRegion();
    return status;
}

static void plant_region(struct zoo_layer *layer)
{
    layer->ops.create_allocation = stay_in_region;
}

/* At DISPATCH_LEVEL a kept lock raises nothing. The next one is another node's. */
static NTSTATUS keep_lock(struct miniport *self, HANDLE object,
                          const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    NTSTATUS status = miniport_forward_submit_command_virtual(self, object, arg);

    if (EVERY(layer, 3) && layer->calls < 3 * ARRAY_COUNT(layer->state))
        KeAcquireSpinLockAtDpcLevel((PKSPIN_LOCK)&layer->state[layer->calls / 3]);
    return status;
}

static void plant_kept_lock(struct zoo_layer *layer)
{
    layer->ops.submit_command_virtual = keep_lock;
}

/* A lock is released to a level that was never asked for. */
static NTSTATUS release_to_passive(struct miniport *self, HANDLE object,
                                   const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    NTSTATUS status = miniport_forward_submit_command_virtual(self, object, arg);

    if (EVERY(zoo_layer_of(self), 3))
        KeLowerIrql(PASSIVE_LEVEL);
    return status;
}

static void plant_release(struct zoo_layer *layer)
{
    layer->ops.submit_command_virtual = release_to_passive;
}

static NTSTATUS answer_unknown(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return (unsigned)arg->Operation >= MINIPORT_OPERATION_COUNT ? STATUS_INVALID_PARAMETER
                                                                : build(self, object, arg);
}

/* clang-format off */
const struct zoo_defect zoo_status_defects[] = {
    BUILD("D01-no-memory", ZOO_ALL, "PB-009 PB-008", out_of_memory,
          "returns STATUS_NO_MEMORY for a shortage of its own"),
    BUILD("D01-no-resources", ZOO_ALL, "PB-009 PB-008", out_of_resources,
          "returns STATUS_INSUFFICIENT_RESOURCES for a shortage of its own"),
    BUILD("D02-discard-not-supported", ZOO_PHYSICAL, "PB-008", no_discard,
          "returns STATUS_NOT_SUPPORTED for DISCARD_CONTENT"),
    BUILD("D02-late-not-implemented", ZOO_GPUMMU, "PB-008", no_late_operations,
          "returns STATUS_NOT_IMPLEMENTED for every operation after FLUSH_TLB"),
    BUILD("D02-unmap-invalid", ZOO_ALL, "PB-008 APER-015", no_unmap,
          "returns STATUS_INVALID_PARAMETER for UNMAP_APERTURE_SEGMENT"),
    BUILD("D02-unknown-fails", ZOO_ALL, "PB-028 PB-008", answer_unknown,
          "fails an operation that it does not know"),
    BUILD("D03-wants-private", ZOO_ALL, "PB-008", wants_private,
          "fails when there are no private data, where that is lawful"),
    BUILD("D03-wants-buffer", ZOO_GPUMMU, "PB-008 PB-026", wants_buffer,
          "fails when there is no paging buffer, where that is lawful"),
    BUILD("D04-shortage-swallowed", ZOO_ALL, "XFER-006 PB-011 FILL-005 VX-003 VX-008 PT-017 APER-002",
          swallow_shortage, "turns INSUFFICIENT_DMA_BUFFER into SUCCESS: the rest is dropped"),
    BUILD("D05-never-enough", ZOO_ALL, "PB-012 PB-020", never_enough,
          "asks for a larger buffer for ever, and writes nothing"),
    BUILD("D06-busy-transfer", ZOO_PHYSICAL, "XFER-011", busy_transfer,
          "answers ALLOCATION_BUSY to a TRANSFER though the allocation is idle"),
    BUILD("D06-busy-discard", ZOO_PHYSICAL, "DISC-004", busy_discard,
          "answers ALLOCATION_BUSY to DISCARD_CONTENT though the allocation is idle"),
    BUILD("D06-busy-fill", ZOO_BOTH, "FILL-004 VX-010", busy_fill,
          "answers ALLOCATION_BUSY to a fill, which cannot be"),
    BUILD("D06-busy-aperture", ZOO_ALL, "APER-015", busy_aperture,
          "answers ALLOCATION_BUSY to a map of the aperture"),
    BUILD("D06-busy-virtual", ZOO_GPUMMU, "VX-010", busy_virtual,
          "answers ALLOCATION_BUSY to VIRTUAL_TRANSFER"),
    BUILD("D07-failure-hidden", ZOO_BOTH, "XFER-006 VX-003", hide_failure,
          "reports SUCCESS for transfers that it did not build"),
    BUILD("D75-level-left-raised", ZOO_ALL, "PB-030", raise_level,
          "comes back from BuildPagingBuffer at DISPATCH_LEVEL"),
    PLANT("CALL-level-left-raised", ZOO_ALL, "CALL-006", plant_lock,
          "comes back from DestroyAllocation at DISPATCH_LEVEL"),
    PLANT("CALL-level-lowered", ZOO_GPUMMU, "CALL-006", plant_release,
          "comes back from SubmitCommandVirtual at PASSIVE_LEVEL"),
    PLANT("CALL-lock-left", ZOO_GPUMMU, "CALL-007", plant_kept_lock,
          "comes back from SubmitCommandVirtual with the spin lock that it has taken"),
    PLANT("CALL-region-left", ZOO_ALL, "CALL-007", plant_region,
          "comes back from CreateAllocation in the critical region that it has entered"),
    {0},
};
/* clang-format on */
