/* Test rig: commands with addresses, which the driver renders and patches. */
#include "check/rig/test_rig_commands.h"

static uint64_t address_of(const DXGK_ALLOCATIONLIST *list,
                           const D3DDDI_PATCHLOCATIONLIST *location)
{
    return (uint64_t)list[location->AllocationIndex].PhysicalAddress.QuadPart +
           location->AllocationOffset;
}

static NTSTATUS render(const struct rig_commands *commands, DXGKARG_RENDER *arg)
{
    char *buffer = arg->pDmaBuffer;

    if (!NT_SUCCESS(commands->status) &&
        commands->status != STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER)
        return commands->status;
    if (commands->status && !commands->multipass)
        return commands->status;
    memset(buffer, 0, RIG_LOCATIONS * RIG_LOCATION_BYTES);
    for (unsigned i = 0; i < RIG_LOCATIONS; i++) {
        D3DDDI_PATCHLOCATIONLIST *location = arg->pPatchLocationListOut++;

        *location = (D3DDDI_PATCHLOCATIONLIST){
            .AllocationIndex = i % 2,
            .AllocationOffset = i * 4096,
            .PatchOffset = i * RIG_LOCATION_BYTES,
            .SplitOffset = i * RIG_LOCATION_BYTES,
        };
        if (i == 0 && commands->patch_offset)
            location->PatchOffset = commands->patch_offset;
        if (i == 1) {
            location->SlotId = commands->slot;
            location->SplitOffset += commands->split;
            if (commands->allocation_offset)
                location->AllocationOffset = commands->allocation_offset;
        }
        if (arg->pAllocationList[location->AllocationIndex].SegmentId) {
            uint64_t address =
                address_of(arg->pAllocationList, location) + commands->prepatch_error;

            memcpy(buffer + location->PatchOffset, &address, sizeof address);
        }
    }
    arg->pDmaBuffer = buffer + RIG_LOCATIONS * RIG_LOCATION_BYTES;
    arg->MultipassOffset = commands->multipass;
    return commands->status;
}

static void patch_one(const struct rig_commands *commands, const DXGKARG_PATCH *arg, unsigned index)
{
    const D3DDDI_PATCHLOCATIONLIST *location = &arg->pPatchLocationList[index];
    uint64_t address = address_of(arg->pAllocationList, location) + commands->patch_error;
    uint64_t old;

    memcpy(&old, (char *)arg->pDmaBuffer + location->PatchOffset, sizeof old);
    if (commands->patches_once && old)
        return;
    memcpy((char *)arg->pDmaBuffer + location->PatchOffset, &address, sizeof address);
}

static NTSTATUS answer(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    const struct rig_commands *commands = rig->told;
    const DXGKARG_PATCH *patch = arg;

    if (ddi == MINIPORT_DDI_OpenAllocation) {
        const DXGKARGCB_GETHANDLEDATA data = {
            .hObject = ((const DXGKARG_OPENALLOCATION *)arg)->pOpenAllocation[0].hAllocation};

        rig->drivers_host->ops->get_handle_data(rig->drivers_host, &data);
    }
    if (ddi == MINIPORT_DDI_Render)
        return render(commands, arg);
    if (ddi == MINIPORT_DDI_Present)
        return commands->status; /* commands that name no allocation */
    if (ddi != MINIPORT_DDI_Patch)
        return rig_answer(rig, ddi, object, arg);
    for (unsigned i = 0; i < patch->PatchLocationListSize; i++) {
        if (commands->patches_all || (i >= patch->PatchLocationListSubmissionStart &&
                                      i < patch->PatchLocationListSubmissionStart +
                                              patch->PatchLocationListSubmissionLength))
            patch_one(commands, patch, i);
    }
    if (commands->writes_at)
        ((char *)patch->pDmaBuffer)[commands->writes_at]++;
    if (commands->edits)
        ((char *)patch->pDmaBuffer)[patch->DmaBufferSubmissionStartOffset]++;
    return commands->status;
}

/* What the client of a test does wrong is set in it before. */
struct rig_commands *rig_new_commands(struct rig *rig)
{
    /* A wrong word (test_told.h) leads the driver past the lists: nothing else lies there. */
    static struct {
        char before[4096];
        struct rig_commands commands;
        char behind[4096];
    } room;
    struct rig_commands *const commands = &room.commands;

    *commands = (struct rig_commands){.buffer = rig->buffer};
    for (unsigned i = 0; i < 2; i++)
        commands->allocations[i] = (DXGK_ALLOCATIONLIST){
            .hDeviceSpecificAllocation = rig->context, /* any handle: nobody looks behind it */
            .SegmentId = 1,
            .PhysicalAddress.QuadPart = (LONGLONG)(i + 1) << 20,
        };
    rig->answer = answer;
    rig->told = commands;
    return commands;
}

NTSTATUS rig_render_commands(struct rig *rig, struct rig_commands *commands)
{
    DXGKARG_RENDER arg = {
        .CommandLength = commands->bytes,
        .pDmaBuffer = commands->buffer,
        .DmaSize = RIG_COMMANDS_BYTES,
        .pAllocationList = commands->allocations,
        .AllocationListSize = 2,
        .pPatchLocationListOut = commands->locations,
        .PatchLocationListOutSize = RIG_LOCATIONS,
        .DmaBufferPhysicalAddress.QuadPart = RIG_COMMANDS_PHYSICAL,
    };

    return miniport_render(rig->top, rig->context, &arg);
}

/* Locations [first, end) and their commands. */
DXGKARG_PATCH rig_patch_of(struct rig *rig, struct rig_commands *commands, unsigned first,
                           unsigned end)
{
    return (DXGKARG_PATCH){
        .hContext = rig->context,
        .DmaBufferPhysicalAddress.QuadPart = RIG_COMMANDS_PHYSICAL,
        .pDmaBuffer = commands->buffer,
        .DmaBufferSize = RIG_COMMANDS_BYTES,
        .DmaBufferSubmissionStartOffset = first * RIG_LOCATION_BYTES,
        .DmaBufferSubmissionEndOffset = end * RIG_LOCATION_BYTES,
        .pAllocationList = commands->allocations,
        .AllocationListSize = 2,
        .pPatchLocationList = commands->locations,
        .PatchLocationListSize = RIG_LOCATIONS,
        .PatchLocationListSubmissionStart = first,
        .PatchLocationListSubmissionLength = end - first,
        .SubmissionFenceId = ++rig->fence,
    };
}

DXGKARG_SUBMITCOMMAND rig_submit_of(const struct rig *rig, const DXGKARG_PATCH *patch)
{
    return (DXGKARG_SUBMITCOMMAND){
        .hContext = rig->context,
        .DmaBufferPhysicalAddress = patch->DmaBufferPhysicalAddress,
        .DmaBufferSize = RIG_COMMANDS_BYTES,
        .DmaBufferSubmissionStartOffset = patch->DmaBufferSubmissionStartOffset,
        .DmaBufferSubmissionEndOffset = patch->DmaBufferSubmissionEndOffset,
        .SubmissionFenceId = patch->SubmissionFenceId,
        .NodeOrdinal = RIG_CLIENT_NODE,
    };
}

uint32_t rig_patch_and_submit(struct rig *rig, struct rig_commands *commands, unsigned first,
                              unsigned end)
{
    const DXGKARG_PATCH patch = rig_patch_of(rig, commands, first, end);
    const DXGKARG_SUBMITCOMMAND submit = rig_submit_of(rig, &patch);

    miniport_patch(rig->top, NULL, &patch);
    rig_submit_packet(rig, &submit);
    return patch.SubmissionFenceId;
}

/* Everything, in one piece. */
uint32_t rig_run_commands(struct rig *rig, struct rig_commands *commands)
{
    rig_render_commands(rig, commands);
    return rig_patch_and_submit(rig, commands, 0, RIG_LOCATIONS);
}
