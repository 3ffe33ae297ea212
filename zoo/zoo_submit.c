/*
 * Defects of submission and patching (D08, D16, D18, D70 to D72, D76).
 */
#include "zoo/zoo_tables.h"

#include <string.h>

/* ---- Statuses ---- */

static NTSTATUS submit_fails(struct miniport *self, HANDLE object, const DXGKARG_SUBMITCOMMAND *arg)
{
    return EVERY(zoo_layer_of(self), 11) ? STATUS_DEVICE_BUSY
                                         : miniport_forward_submit_command(self, object, arg);
}

static NTSTATUS submit_virtual_fails(struct miniport *self, HANDLE object,
                                     const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    return EVERY(zoo_layer_of(self), 11)
               ? STATUS_DEVICE_BUSY
               : miniport_forward_submit_command_virtual(self, object, arg);
}

static void plant_submit_fails(struct zoo_layer *layer)
{
    layer->ops.submit_command = submit_fails;
    layer->ops.submit_command_virtual = submit_virtual_fails;
}

static NTSTATUS patch_fails(struct miniport *self, HANDLE object, const DXGKARG_PATCH *arg)
{
    return EVERY(zoo_layer_of(self), 7) ? STATUS_INVALID_PARAMETER
                                        : miniport_forward_patch(self, object, arg);
}

static void plant_patch_fails(struct zoo_layer *layer)
{
    layer->ops.patch = patch_fails;
}

static NTSTATUS preempt_fails(struct miniport *self, HANDLE object,
                              const DXGKARG_PREEMPTCOMMAND *arg)
{
    miniport_forward_preempt_command(self, object, arg);
    return STATUS_NOT_SUPPORTED;
}

static void plant_preempt_fails(struct zoo_layer *layer)
{
    layer->ops.preempt_command = preempt_fails;
}

/* ---- What runs ---- */

static NTSTATUS submit_whole(struct miniport *self, HANDLE object, const DXGKARG_SUBMITCOMMAND *arg)
{
    DXGKARG_SUBMITCOMMAND as = *arg;

    if (as.DmaBufferSubmissionEndOffset > as.DmaBufferSubmissionStartOffset)
        as.DmaBufferSubmissionEndOffset = as.DmaBufferSize;
    return miniport_forward_submit_command(self, object, &as);
}

static NTSTATUS submit_virtual_whole(struct miniport *self, HANDLE object,
                                     const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    DXGKARG_SUBMITCOMMANDVIRTUAL as = *arg;

    if (as.DmaBufferSize)
        as.DmaBufferSize = (as.DmaBufferSize + 4095) & ~4095u;
    return miniport_forward_submit_command_virtual(self, object, &as);
}

static void plant_submit_whole(struct zoo_layer *layer)
{
    layer->ops.submit_command = submit_whole;
    layer->ops.submit_command_virtual = submit_virtual_whole;
}

static NTSTATUS submit_from_start(struct miniport *self, HANDLE object,
                                  const DXGKARG_SUBMITCOMMAND *arg)
{
    DXGKARG_SUBMITCOMMAND as = *arg;

    as.DmaBufferSubmissionStartOffset = 0;
    return miniport_forward_submit_command(self, object, &as);
}

static void plant_submit_from_start(struct zoo_layer *layer)
{
    layer->ops.submit_command = submit_from_start;
}

static NTSTATUS submit_by_address(struct miniport *self, HANDLE object,
                                  const DXGKARG_SUBMITCOMMAND *arg)
{
    DXGKARG_SUBMITCOMMAND as = *arg;

    if (!arg->Flags.Paging)
        as.DmaBufferSegmentId = 0;
    return miniport_forward_submit_command(self, object, &as);
}

static void plant_submit_by_address(struct zoo_layer *layer)
{
    layer->ops.submit_command = submit_by_address;
}

static NTSTATUS submit_lost(struct miniport *self, HANDLE object, const DXGKARG_SUBMITCOMMAND *arg)
{
    return EVERY(zoo_layer_of(self), 9) ? STATUS_SUCCESS
                                        : miniport_forward_submit_command(self, object, arg);
}

static NTSTATUS submit_virtual_lost(struct miniport *self, HANDLE object,
                                    const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    return EVERY(zoo_layer_of(self), 9)
               ? STATUS_SUCCESS
               : miniport_forward_submit_command_virtual(self, object, arg);
}

static void plant_submit_lost(struct zoo_layer *layer)
{
    layer->ops.submit_command = submit_lost;
    layer->ops.submit_command_virtual = submit_virtual_lost;
}

static NTSTATUS resubmission_lost(struct miniport *self, HANDLE object,
                                  const DXGKARG_SUBMITCOMMAND *arg)
{
    return arg->Flags.Resubmission ? STATUS_SUCCESS
                                   : miniport_forward_submit_command(self, object, arg);
}

static NTSTATUS resubmission_virtual_lost(struct miniport *self, HANDLE object,
                                          const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    return arg->Flags.Resubmission ? STATUS_SUCCESS
                                   : miniport_forward_submit_command_virtual(self, object, arg);
}

static void plant_resubmission_lost(struct zoo_layer *layer)
{
    layer->ops.submit_command = resubmission_lost;
    layer->ops.submit_command_virtual = resubmission_virtual_lost;
}

/* The GPU goes on with the root table that it had first. */
static NTSTATUS keep_first_root(struct miniport *self, HANDLE object,
                                const DXGKARG_SETROOTPAGETABLE *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    DXGKARG_SETROOTPAGETABLE as = *arg;

    if (!layer->calls++)
        memcpy(&layer->state[0], &arg->Address, sizeof arg->Address);
    memcpy(&as.Address, &layer->state[0], sizeof as.Address);
    return miniport_forward_set_root_page_table(self, object, &as);
}

static void plant_first_root(struct zoo_layer *layer)
{
    layer->ops.set_root_page_table = keep_first_root;
}

/* The contexts whose roots are kept: the first is the system's, whose root stays. */
#define ROOTS_KEPT 2

/* A root that has grown is somewhere else; a context goes on with the one that it had first. */
static NTSTATUS keep_own_root(struct miniport *self, HANDLE object,
                              const DXGKARG_SETROOTPAGETABLE *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    DXGKARG_SETROOTPAGETABLE as = *arg;

    for (unsigned i = 0; i < ROOTS_KEPT; i++) {
        uint64_t *kept = &layer->state[4 * i];

        if (!kept[0]) {
            kept[0] = (uint64_t)(uintptr_t)arg->hContext;
            kept[1] = arg->NumEntries;
            kept[2] = arg->Address.SegmentId;
            kept[3] = arg->Address.SegmentOffset;
        }
        if (kept[0] != (uint64_t)(uintptr_t)arg->hContext)
            continue;
        as.NumEntries = (UINT)kept[1];
        as.Address.SegmentId = (UINT)kept[2];
        as.Address.SegmentOffset = kept[3];
        break;
    }
    return miniport_forward_set_root_page_table(self, object, &as);
}

static void plant_own_root(struct zoo_layer *layer)
{
    layer->ops.set_root_page_table = keep_own_root;
}

/* ---- Patching ---- */

#define MOST_LOCATIONS 1024u

static NTSTATUS patch_as(struct miniport *self, HANDLE object, const DXGKARG_PATCH *arg,
                         void (*change)(const DXGKARG_PATCH *arg, DXGK_ALLOCATIONLIST *list))
{
    DXGK_ALLOCATIONLIST list[MOST_LOCATIONS];
    DXGKARG_PATCH as = *arg;

    if (!arg->pAllocationList || !arg->AllocationListSize ||
        arg->AllocationListSize > MOST_LOCATIONS)
        return miniport_forward_patch(self, object, arg);
    memcpy(list, arg->pAllocationList, arg->AllocationListSize * sizeof list[0]);
    change(arg, list);
    as.pAllocationList = list;
    return miniport_forward_patch(self, object, &as);
}

static void truncate_addresses(const DXGKARG_PATCH *arg, DXGK_ALLOCATIONLIST *list)
{
    for (UINT i = 0; i < arg->AllocationListSize; i++)
        list[i].PhysicalAddress.QuadPart &= 0xfffff;
}

static NTSTATUS patch_truncated(struct miniport *self, HANDLE object, const DXGKARG_PATCH *arg)
{
    return patch_as(self, object, arg, truncate_addresses);
}

static void plant_patch_truncated(struct zoo_layer *layer)
{
    layer->ops.patch = patch_truncated;
}

static NTSTATUS patch_wrong_range(struct miniport *self, HANDLE object, const DXGKARG_PATCH *arg)
{
    DXGKARG_PATCH as = *arg;

    /* Start for length, and the other way round. */
    if (as.PatchLocationListSubmissionStart < as.PatchLocationListSubmissionLength)
        as.PatchLocationListSubmissionLength = as.PatchLocationListSubmissionStart;
    return miniport_forward_patch(self, object, &as);
}

static void plant_patch_wrong_range(struct zoo_layer *layer)
{
    layer->ops.patch = patch_wrong_range;
}

static NTSTATUS patch_without_offset(struct miniport *self, HANDLE object, const DXGKARG_PATCH *arg)
{
    D3DDDI_PATCHLOCATIONLIST list[MOST_LOCATIONS];
    DXGKARG_PATCH as = *arg;

    if (!arg->pPatchLocationList || arg->PatchLocationListSize > MOST_LOCATIONS)
        return miniport_forward_patch(self, object, arg);
    memcpy(list, arg->pPatchLocationList, arg->PatchLocationListSize * sizeof list[0]);
    for (UINT i = 0; i < arg->PatchLocationListSize; i++)
        list[i].AllocationOffset = 0;
    as.pPatchLocationList = list;
    return miniport_forward_patch(self, object, &as);
}

static void plant_patch_without_offset(struct zoo_layer *layer)
{
    layer->ops.patch = patch_without_offset;
}

static void wait_for_zero(const DXGKARG_PATCH *arg, DXGK_ALLOCATIONLIST *list)
{
    /* What is at the start of a segment has "no address": that of its neighbour in the list. */
    for (UINT i = 0; i < arg->AllocationListSize; i++) {
        if (!list[i].PhysicalAddress.QuadPart)
            list[i].PhysicalAddress.QuadPart = 0x100000;
    }
}

static NTSTATUS patch_zero(struct miniport *self, HANDLE object, const DXGKARG_PATCH *arg)
{
    return patch_as(self, object, arg, wait_for_zero);
}

static void plant_patch_zero(struct zoo_layer *layer)
{
    layer->ops.patch = patch_zero;
}

static NTSTATUS patch_outside(struct miniport *self, HANDLE object, const DXGKARG_PATCH *arg)
{
    NTSTATUS status = miniport_forward_patch(self, object, arg);

    if (arg->pDmaBuffer && arg->DmaBufferSubmissionEndOffset + 8 <= arg->DmaBufferSize)
        memset((char *)arg->pDmaBuffer + arg->DmaBufferSubmissionEndOffset, 0x77, 8);
    return status;
}

static void plant_patch_outside(struct zoo_layer *layer)
{
    layer->ops.patch = patch_outside;
}

/* clang-format off */
const struct zoo_defect zoo_submit_defects[] = {
    PLANT("D08-submit-fails", ZOO_ALL, "SUB-001 SUB-003 SUB-007 SUB-010 SUB-011",
          plant_submit_fails, "fails SubmitCommand when it is busy"),
    PLANT("D08-patch-fails", ZOO_PHYSICAL, "PATCH-002", plant_patch_fails,
          "fails Patch"),
    PLANT("D08-preempt-fails", ZOO_ALL, "FENCE-009", plant_preempt_fails,
          "fails PreemptCommand"),
    PLANT("D16-whole-buffer", ZOO_ALL, "SUB-002", plant_submit_whole,
          "runs the whole buffer, whatever was submitted of it"),
    PLANT("D16-from-start", ZOO_PHYSICAL | ZOO_IOMMU, "SUB-002", plant_submit_from_start,
          "runs the buffer from its start, and what ran before again"),
    PLANT("SUB-segment-ignored", ZOO_PHYSICAL, "SUB-002", plant_submit_by_address,
          "takes the address of every client's DMA buffer for one in system memory"),
    PLANT("D18-submission-lost", ZOO_ALL, "SUB-002 SUB-004 FENCE-004", plant_submit_lost,
          "loses a submission now and then"),
    PLANT("SUB-first-root", ZOO_GPUMMU, "SUB-011", plant_first_root,
          "gives every context the root table that the first one had"),
    PLANT("SUB-root-kept", ZOO_GPUMMU, "SUB-011", plant_own_root,
          "goes on with the first root table of a context when the root has grown"),
    PLANT("D76-resubmission-lost", ZOO_GPUMMU, "SUB-010", plant_resubmission_lost,
          "takes a fence that comes back after a preemption for a stale one"),
    PLANT("D70-range-confused", ZOO_PHYSICAL, "PATCH-003 PATCH-004", plant_patch_wrong_range,
          "confuses start and length of the patch locations"),
    PLANT("D71-address-truncated", ZOO_PHYSICAL, "PATCH-004", plant_patch_truncated,
          "truncates physical addresses when it patches"),
    PLANT("D70-offset-ignored", ZOO_PHYSICAL, "PATCH-004", plant_patch_without_offset,
          "ignores AllocationOffset when it patches"),
    PLANT("D72-zero-no-address", ZOO_PHYSICAL, "PATCH-004", plant_patch_zero,
          "takes offset 0 of a segment for no address"),
    PLANT("D70-patch-outside", ZOO_PHYSICAL, "PATCH-007", plant_patch_outside,
          "writes behind the submission when it patches"),
    {0},
};
/* clang-format on */
