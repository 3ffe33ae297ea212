/*
 * Defects that show only where a seed draws what few machines and few days have: memory beyond
 * 4 GiB, counters that wrap, interrupts at a bad moment, things that end and are made anew.
 */
#include "zoo/zoo_tables.h"

#include "drydock/sgpu.h"

#include <string.h>

#define PAGE       4096u
#define MOST_PAGES 4096u
#define LOW_PAGES  0xfffffu /* numbers of the pages of 4 GiB */
#define LOW_BYTES  0xffffffffu

static NTSTATUS build(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return miniport_forward_build_paging_buffer(self, object, arg);
}

/* ---- Addresses beyond 4 GiB ------------------------------------------------------------------ */

/* Of local memory; the aperture's addresses are high on every board. */
static void cut_address(LARGE_INTEGER *address)
{
    if ((UINT64)address->QuadPart < SGPU_PA_APERTURE)
        address->QuadPart &= LOW_BYTES;
}

static NTSTATUS build_with_entries(struct miniport *self, HANDLE object,
                                   DXGKARG_BUILDPAGINGBUFFER *arg, bool is_system)
{
    DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &arg->UpdatePageTable;
    UINT count = update->Flags.Repeat ? 1 : update->NumPageTableEntries;
    DXGKARG_BUILDPAGINGBUFFER as = *arg;
    DXGK_PTE entries[MOST_PAGES];

    if (update->PageTableLevel || count > MOST_PAGES || !update->pPageTableEntries)
        return build(self, object, arg);
    memcpy(entries, update->pPageTableEntries, count * sizeof entries[0]);
    for (UINT i = 0; i < count; i++) {
        if (entries[i].Valid && !entries[i].Zero && !entries[i].Segment == is_system)
            entries[i].PageAddress &= LOW_PAGES;
    }
    as.UpdatePageTable.pPageTableEntries = entries;
    return zoo_build_as(self, object, arg, &as);
}

static NTSTATUS build_local_cut(struct miniport *self, HANDLE object,
                                DXGKARG_BUILDPAGINGBUFFER *arg)
{
    DXGKARG_BUILDPAGINGBUFFER as = *arg;

    switch ((unsigned)arg->Operation) {
    case DXGK_OPERATION_TRANSFER:
        if (arg->Transfer.Source.SegmentId)
            cut_address(&as.Transfer.Source.SegmentAddress);
        if (arg->Transfer.Destination.SegmentId)
            cut_address(&as.Transfer.Destination.SegmentAddress);
        break;
    case DXGK_OPERATION_FILL:
        cut_address(&as.Fill.Destination.SegmentAddress);
        break;
    case DXGK_OPERATION_UPDATE_PAGE_TABLE:
        return build_with_entries(self, object, arg, false);
    default:
        return build(self, object, arg);
    }
    return zoo_build_as(self, object, arg, &as);
}

/* A list of pages, whose numbers an unsigned long of bytes has lost the high half of. */
struct cut_list {
    MDL head;
    PFN_NUMBER pages[MOST_PAGES];
};

static bool cut_pages(struct cut_list *list, MDL **mdl, ULONG *offset, SIZE_T count)
{
    if (!*mdl || count > MOST_PAGES)
        return false;
    list->head = **mdl;
    list->head.ByteCount = (ULONG)(count * PAGE);
    for (SIZE_T i = 0; i < count; i++)
        list->pages[i] = MmGetMdlPfnArray(*mdl)[*offset + i] & LOW_PAGES;
    *offset = 0;
    *mdl = &list->head;
    return true;
}

static NTSTATUS build_system_cut(struct miniport *self, HANDLE object,
                                 DXGKARG_BUILDPAGINGBUFFER *arg)
{
    DXGKARG_BUILDPAGINGBUFFER as = *arg;
    struct cut_list list;
    ULONG offset;
    MDL **mdl;

    switch ((unsigned)arg->Operation) {
    case DXGK_OPERATION_TRANSFER:
        mdl = !arg->Transfer.Source.SegmentId        ? &as.Transfer.Source.pMdl
              : !arg->Transfer.Destination.SegmentId ? &as.Transfer.Destination.pMdl
                                                     : NULL;
        offset = arg->Transfer.MdlOffset;
        if (!mdl || !cut_pages(&list, mdl, &offset, (arg->Transfer.TransferSize + PAGE - 1) / PAGE))
            return build(self, object, arg);
        as.Transfer.MdlOffset = offset;
        break;
    case DXGK_OPERATION_MAP_APERTURE_SEGMENT:
        if (!cut_pages(&list, &as.MapApertureSegment.pMdl, &as.MapApertureSegment.MdlOffset,
                       arg->MapApertureSegment.NumberOfPages))
            return build(self, object, arg);
        break;
    case DXGK_OPERATION_UPDATE_PAGE_TABLE:
        return build_with_entries(self, object, arg, true);
    default:
        return build(self, object, arg);
    }
    return zoo_build_as(self, object, arg, &as);
}

/* ---- Fences that wrap ------------------------------------------------------------------------ */

/* A fence that is older than the last of its node, as the driver compares them, is not told of. */
static void tell_newer(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data,
                       bool (*is_older)(UINT fence, uint64_t last))
{
    struct zoo_layer *layer = zoo_layer_of_host(host);
    uint64_t *last = layer->state;

    if (zoo_is_completion(data) &&
        data->DmaCompleted.NodeOrdinal < sizeof layer->state / sizeof layer->state[0]) {
        last += data->DmaCompleted.NodeOrdinal;
        if (is_older(data->DmaCompleted.SubmissionFenceId, *last))
            return;
        *last = data->DmaCompleted.SubmissionFenceId;
    }
    zoo_tell(layer, data);
}

/* Knows the last fence by its number alone. */
static bool is_smaller(UINT fence, uint64_t last)
{
    return fence < last;
}

static void tell_rising(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    tell_newer(host, data, is_smaller);
}

static void plant_rising(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_rising;
}

/* One of the upper half is older than all of the lower. */
static bool is_smaller_signed(UINT fence, uint64_t last)
{
    return (INT)fence < (INT)(UINT)last;
}

static void tell_signed(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    tell_newer(host, data, is_smaller_signed);
}

static void plant_signed(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_signed;
}

/* ---- Another start --------------------------------------------------------------------------- */

/* Right across a wrap; but what was reported last before the device was stopped counts on. */
static bool is_not_behind(UINT fence, uint64_t last)
{
    return last && (INT)(fence - (UINT)last) <= 0;
}

static void tell_later(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    tell_newer(host, data, is_not_behind);
}

static void plant_fences_kept(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_later;
}

static NTSTATUS start_once(struct miniport *self, const DXGK_START_INFO *start, ULONG *sources,
                           ULONG *children)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    NTSTATUS status;

    if (layer->state[0])
        return STATUS_UNSUCCESSFUL;
    status = miniport_start_device(self->next, start, sources, children);
    layer->state[0] = NT_SUCCESS(status);
    return status;
}

static void plant_start_once(struct zoo_layer *layer)
{
    layer->ops.start_device = start_once;
}

/* ---- Reports of engines that are not --------------------------------------------------------- */

/* The engine's number in its chip, as its registers count. */
static void tell_engine(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);
    DXGKARGCB_NOTIFY_INTERRUPT_DATA as = *data;

    if (zoo_is_completion(data))
        as.DmaCompleted.EngineOrdinal = data->DmaCompleted.NodeOrdinal;
    zoo_tell(layer, &as);
}

static void plant_engine(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_engine;
}

/* The bit of the node in its status register, and not its number. */
static void tell_bit(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);
    DXGKARGCB_NOTIFY_INTERRUPT_DATA as = *data;

    if (zoo_is_completion(data) && EVERY(layer, 8))
        as.DmaCompleted.NodeOrdinal = SGPU_IRQ_COMPLETED(data->DmaCompleted.NodeOrdinal + 8);
    zoo_tell(layer, &as);
}

static void plant_bit(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_bit;
}

/* ---- Interrupts at a bad moment -------------------------------------------------------------- */

/* What the defects of interrupts remember, in layer->state. */
enum { SUBMITTING, COMPLETION, COMPLETED_NODE, IS_TOLD };

static volatile ULONG *reg(const struct zoo_layer *layer, ULONG offset)
{
    return (volatile ULONG *)(layer->registers + offset);
}

/* Rings the doorbell, reads back to be sure of it, and writes down only then what it submitted. */
static NTSTATUS submit_then_note(struct miniport *self, HANDLE object,
                                 const DXGKARG_SUBMITCOMMAND *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    NTSTATUS status;

    layer->state[SUBMITTING] = UINT64_C(1) << 32 | arg->SubmissionFenceId;
    status = miniport_forward_submit_command(self, object, arg);
    READ_REGISTER_ULONG(reg(layer, SGPU_REG_ID));
    layer->state[SUBMITTING] = 0;
    return status;
}

static NTSTATUS submit_virtual_then_note(struct miniport *self, HANDLE object,
                                         const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    NTSTATUS status;

    layer->state[SUBMITTING] = UINT64_C(1) << 32 | arg->SubmissionFenceId;
    status = miniport_forward_submit_command_virtual(self, object, arg);
    READ_REGISTER_ULONG(reg(layer, SGPU_REG_ID));
    layer->state[SUBMITTING] = 0;
    return status;
}

static void tell_noted(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);

    if (zoo_is_completion(data) &&
        layer->state[SUBMITTING] == (UINT64_C(1) << 32 | data->DmaCompleted.SubmissionFenceId))
        return; /* of nothing that it knows */
    zoo_tell(layer, data);
}

static void plant_noted_late(struct zoo_layer *layer)
{
    zoo_note_registers(layer);
    layer->host_ops.notify_interrupt = tell_noted;
    layer->ops.submit_command = submit_then_note;
    layer->ops.submit_command_virtual = submit_virtual_then_note;
}

/* What the GPU raises while the routine is under way is acknowledged and was never looked at. */
static bool interrupt_and_acknowledge(struct miniport *self, ULONG message)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    bool is_ours = miniport_interrupt(self->next, message);

    if (is_ours)
        WRITE_REGISTER_ULONG(reg(layer, SGPU_REG_IRQ_STATUS), 0xffffffff);
    return is_ours;
}

static void plant_acknowledged_late(struct zoo_layer *layer)
{
    zoo_note_registers(layer);
    layer->ops.interrupt = interrupt_and_acknowledge;
}

static void tell_and_remember(struct miniport_host *host,
                              const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);

    layer->state[IS_TOLD] = 1;
    if (zoo_is_completion(data)) {
        layer->state[COMPLETION] = UINT64_C(1) << 32 | data->DmaCompleted.SubmissionFenceId;
        layer->state[COMPLETED_NODE] = data->DmaCompleted.NodeOrdinal;
    }
    zoo_tell(layer, data);
}

static void complete(struct zoo_layer *layer, UINT fence, UINT node)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED};

    data.DmaCompleted.SubmissionFenceId = fence;
    data.DmaCompleted.NodeOrdinal = node;
    zoo_tell(layer, &data);
    layer->host.upper->ops->queue_dpc(layer->host.upper);
}

/* Does not ask the device whether it has raised the line. */
static bool interrupt_is_completion(struct miniport *self, ULONG message)
{
    struct zoo_layer *layer = zoo_layer_of(self);

    layer->state[IS_TOLD] = 0;
    if (!miniport_interrupt(self->next, message) && !layer->state[IS_TOLD] &&
        layer->state[COMPLETION])
        complete(layer, (UINT)layer->state[COMPLETION], (UINT)layer->state[COMPLETED_NODE]);
    return true;
}

static void plant_never_asked(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_and_remember;
    layer->ops.interrupt = interrupt_is_completion;
}

/* A device without power reads as all ones: every bit of its status says that something is new. */
static bool interrupt_without_power(struct miniport *self, ULONG message)
{
    struct zoo_layer *layer = zoo_layer_of(self);

    if (READ_REGISTER_ULONG(reg(layer, SGPU_REG_IRQ_STATUS)) == 0xffffffff) {
        complete(layer, READ_REGISTER_ULONG(reg(layer, SGPU_REG_NODE(0) + SGPU_NODE_COMPLETED)), 0);
        return true;
    }
    return miniport_interrupt(self->next, message);
}

static void plant_without_power(struct zoo_layer *layer)
{
    zoo_note_registers(layer);
    layer->ops.interrupt = interrupt_without_power;
}

/* ---- Objects that are made anew -------------------------------------------------------------- */

#define SLOTS 14 /* more than any case has at once */

/* Takes a slot of its table for each context, and gives none back. */
static NTSTATUS create_context_in_slot(struct miniport *self, HANDLE object,
                                       DXGKARG_CREATECONTEXT *arg)
{
    if (zoo_layer_of(self)->calls++ >= SLOTS)
        return STATUS_INSUFFICIENT_RESOURCES;
    return miniport_forward_create_context(self, object, arg);
}

static void plant_context_slots(struct zoo_layer *layer)
{
    layer->ops.create_context = create_context_in_slot;
}

static NTSTATUS create_device_in_slot(struct miniport *self, HANDLE object,
                                      DXGKARG_CREATEDEVICE *arg)
{
    if (zoo_layer_of(self)->calls++ >= SLOTS / 2)
        return STATUS_INSUFFICIENT_RESOURCES;
    return miniport_forward_create_device(self, object, arg);
}

static void plant_device_slots(struct zoo_layer *layer)
{
    layer->ops.create_device = create_device_in_slot;
}

/* ---- Callbacks that fail --------------------------------------------------------------------- */

/* Two views of the registers; where there is no second one, the first stays. */
static NTSTATUS map_twice(struct miniport_host *host, PHYSICAL_ADDRESS translated, ULONG length,
                          BOOLEAN in_io_space, BOOLEAN map_to_user_mode, ULONG cache_type,
                          PVOID *virtual_address)
{
    PVOID second;
    NTSTATUS status = miniport_host_forward_ops.map_memory(
        host, translated, length, in_io_space, map_to_user_mode, cache_type, virtual_address);

    if (!NT_SUCCESS(status) || !zoo_is_of_registers(length, cache_type))
        return status;
    status = miniport_host_forward_ops.map_memory(host, translated, length, in_io_space,
                                                  map_to_user_mode, cache_type, &second);
    if (NT_SUCCESS(status))
        miniport_host_forward_ops.unmap_memory(host, second);
    return status;
}

static void plant_map_twice(struct zoo_layer *layer)
{
    layer->host_ops.map_memory = map_twice;
}

#define RANGE_TAG 0x676e6152 /* "Rang" */

/* Writes down what it asks for, and forgets the note when it does not get it. */
static NTSTATUS reserve_with_note(struct miniport_host *host, HANDLE process,
                                  DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE *range)
{
    void *note = ExAllocatePoolWithTag(NonPagedPoolNx, sizeof *range, RANGE_TAG);
    NTSTATUS status =
        miniport_host_forward_ops.reserve_gpu_virtual_address_range(host, process, range);

    if (NT_SUCCESS(status) && note)
        ExFreePoolWithTag(note, RANGE_TAG);
    return status;
}

static void plant_reserve_with_note(struct zoo_layer *layer)
{
    layer->host_ops.reserve_gpu_virtual_address_range = reserve_with_note;
}

/* ---- Resources of several allocations -------------------------------------------------------- */

static NTSTATUS create_first(struct miniport *self, HANDLE object, DXGKARG_CREATEALLOCATION *arg)
{
    DXGKARG_CREATEALLOCATION as = *arg;

    as.NumAllocations = 1;
    return miniport_forward_create_allocation(self, object, &as);
}

static void plant_create_first(struct zoo_layer *layer)
{
    layer->ops.create_allocation = create_first;
}

static NTSTATUS destroy_first(struct miniport *self, HANDLE object,
                              const DXGKARG_DESTROYALLOCATION *arg)
{
    DXGKARG_DESTROYALLOCATION as = *arg;

    as.NumAllocations = 1;
    return miniport_forward_destroy_allocation(self, object, &as);
}

static void plant_destroy_first(struct zoo_layer *layer)
{
    layer->ops.destroy_allocation = destroy_first;
}

/* Where one of them cannot be made, those before it stay. */
static NTSTATUS create_each(struct miniport *self, HANDLE object, DXGKARG_CREATEALLOCATION *arg)
{
    DXGKARG_CREATEALLOCATION one = *arg;
    NTSTATUS status = STATUS_SUCCESS;

    one.NumAllocations = 1;
    for (UINT i = 0; NT_SUCCESS(status) && i < arg->NumAllocations; i++) {
        one.pAllocationInfo = &arg->pAllocationInfo[i];
        status = miniport_forward_create_allocation(self, object, &one);
    }
    return status;
}

static void plant_create_each(struct zoo_layer *layer)
{
    layer->ops.create_allocation = create_each;
}

/* ---- Memory that may be paged out ------------------------------------------------------------ */

#define NOTE_TAG 0x65746f4e /* "Note" */

static NTSTATUS start_with_paged_note(struct miniport *self, const DXGK_START_INFO *start,
                                      ULONG *sources, ULONG *children)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    const NTSTATUS status = miniport_start_device(self->next, start, sources, children);

    if (NT_SUCCESS(status))
        layer->state[0] = (uintptr_t)ExAllocatePoolWithTag(PagedPool, 64, NOTE_TAG);
    return status;
}

static NTSTATUS stop_with_paged_note(struct miniport *self)
{
    struct zoo_layer *layer = zoo_layer_of(self);

    if (layer->state[0])
        ExFreePoolWithTag((void *)(uintptr_t)layer->state[0], NOTE_TAG);
    layer->state[0] = 0;
    return miniport_stop_device(self->next);
}

static void count_in_paged_note(struct miniport *self)
{
    volatile uint64_t *note = (void *)(uintptr_t)zoo_layer_of(self)->state[0];

    if (note)
        note[1]++;
    miniport_dpc(self->next);
}

static void plant_paged_note(struct zoo_layer *layer)
{
    layer->ops.start_device = start_with_paged_note;
    layer->ops.stop_device = stop_with_paged_note;
    layer->ops.dpc = count_in_paged_note;
}

/* ---- A board that is pulled out -------------------------------------------------------------- */

/* The clean driver does this itself where the board is there. */
static NTSTATUS stop_and_silence(struct miniport *self)
{
    WRITE_REGISTER_ULONG(reg(zoo_layer_of(self), SGPU_REG_IRQ_ENABLE), 0);
    return miniport_stop_device(self->next);
}

static void plant_gone_silenced(struct zoo_layer *layer)
{
    zoo_note_registers(layer);
    layer->ops.stop_device = stop_and_silence;
}

static NTSTATUS refuse_to_go(struct miniport *self, DXGK_SURPRISE_REMOVAL_TYPE type)
{
    miniport_notify_surprise_removal(self->next, type);
    return STATUS_DEVICE_REMOVED;
}

static void plant_gone_refused(struct zoo_layer *layer)
{
    layer->ops.notify_surprise_removal = refuse_to_go;
}

/* ---- Memory of the client -------------------------------------------------------------------- */

/* The index of its first reference is looked at, and read again where it is used. */
static NTSTATUS render_index_again(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    const volatile struct sgpu_umd_render *command = arg->pCommand;
    const volatile struct sgpu_umd_ref *ref = (const volatile void *)(command + 1);
    D3DDDI_PATCHLOCATIONLIST *first = arg->pPatchLocationListOut;
    const bool is_start = !arg->MultipassOffset;
    const NTSTATUS status = miniport_forward_render(self, object, arg);

    if (NT_SUCCESS(status) && is_start && arg->pPatchLocationListOut > first)
        first->AllocationIndex = ref->allocation_index;
    return status;
}

static void plant_index_again(struct zoo_layer *layer)
{
    layer->ops.render = render_index_again;
}

#define MOST_ENTRIES 1024u
#define MOST_REFS    256u

/* The references of the first command, if all of it is there and starts here; how many. */
static uint32_t first_refs(const DXGKARG_RENDER *arg, const struct sgpu_umd_ref **out_refs)
{
    const struct sgpu_umd_render *command = arg->pCommand;

    *out_refs = command->refs;
    if (arg->MultipassOffset || arg->CommandLength < sizeof *command ||
        command->ref_count > (arg->CommandLength - sizeof *command) / sizeof command->refs[0] ||
        command->ref_count > MOST_REFS)
        return 0;
    return command->ref_count;
}

/* Looks at each entry that the client's commands name, wherever the list ends. */
static NTSTATUS render_index_unchecked(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    const struct sgpu_umd_ref *refs;
    const uint32_t count = first_refs(arg, &refs);
    volatile uintptr_t seen;

    for (uint32_t i = 0; i < count; i++)
        seen = (uintptr_t)arg->pAllocationList[refs[i].allocation_index].hDeviceSpecificAllocation;
    (void)seen;
    return miniport_forward_render(self, object, arg);
}

static void plant_index_unchecked(struct zoo_layer *layer)
{
    layer->ops.render = render_index_unchecked;
}

/* Takes a list for longer than it is: what the entries behind it hold is like the first one. */
static NTSTATUS render_long_list(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    DXGK_ALLOCATIONLIST list[MOST_ENTRIES];
    const DXGK_ALLOCATIONLIST *own = arg->pAllocationList;
    const UINT own_size = arg->AllocationListSize;
    NTSTATUS status;

    if (!own_size || own_size >= MOST_ENTRIES)
        return miniport_forward_render(self, object, arg);
    for (UINT i = 0; i < MOST_ENTRIES; i++)
        list[i] = own[i < own_size ? i : 0];
    arg->pAllocationList = list;
    arg->AllocationListSize = MOST_ENTRIES;
    status = miniport_forward_render(self, object, arg);
    arg->pAllocationList = (DXGK_ALLOCATIONLIST *)own;
    arg->AllocationListSize = own_size;
    return status;
}

static void plant_long_list(struct zoo_layer *layer)
{
    layer->ops.render = render_long_list;
}

/* The offset of the first reference goes into the list of locations as the client said it. */
static NTSTATUS render_offset_unchecked(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    D3DDDI_PATCHLOCATIONLIST *first = arg->pPatchLocationListOut;
    void *const own = arg->pCommand;
    const struct sgpu_umd_ref *refs;
    const uint32_t count = first_refs(arg, &refs);
    NTSTATUS status = miniport_forward_render(self, object, arg);
    UINT64 offset;
    char *commands;

    if (status != STATUS_INVALID_USER_BUFFER || !count || arg->CommandLength > 65536)
        return status;
    commands = ExAllocatePoolWithTag(PagedPool, arg->CommandLength, NOTE_TAG);
    if (!commands)
        return STATUS_NO_MEMORY;
    memcpy(commands, own, arg->CommandLength);
    offset = refs[0].offset;
    ((struct sgpu_umd_render *)commands)->refs[0].offset = 0;
    arg->pCommand = commands;
    status = miniport_forward_render(self, object, arg);
    arg->pCommand = own;
    ExFreePoolWithTag(commands, NOTE_TAG);
    if (NT_SUCCESS(status) && arg->pPatchLocationListOut > first)
        first->AllocationOffset = (UINT)offset;
    return status;
}

static void plant_offset_unchecked(struct zoo_layer *layer)
{
    layer->ops.render = render_offset_unchecked;
}

/* The number of its references is looked at, and read again as the length of a list. */
static NTSTATUS render_count_again(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    const volatile struct sgpu_umd_render *command = arg->pCommand;
    D3DDDI_PATCHLOCATIONLIST *first = arg->pPatchLocationListOut;
    const bool is_start = !arg->MultipassOffset;
    const NTSTATUS status = miniport_forward_render(self, object, arg);

    if (NT_SUCCESS(status) && is_start && arg->pPatchLocationListOut > first) {
        for (uint32_t i = 0, count = command->ref_count; i < count; i++)
            ((volatile D3DDDI_PATCHLOCATIONLIST *)first)[i].DriverId = 0;
    }
    return status;
}

static void plant_count_again(struct zoo_layer *layer)
{
    layer->ops.render = render_count_again;
}

/* clang-format off */
const struct zoo_defect zoo_drawn_defects[] = {
    BUILD("FAR-local-32-bits", ZOO_BOTH, "FILL-005 XFER-006 XFER-003 PT-013 PT-015 content fault",
          build_local_cut, "keeps addresses of local memory in 32 bits"),
    BUILD("FAR-system-32-bits", ZOO_ALL, "XFER-005 XFER-006 APER-002 PT-013 PT-015 content fault",
          build_system_cut, "keeps addresses of system pages in 32 bits", .focus = "system-memory=32G"),
    PLANT("FENCE-wrap-is-old", ZOO_ALL, "FENCE-004 FENCE-006", plant_rising,
          "takes a fence that has wrapped for one that was reported before",
          .focus = "fence-wrap=8"),
    PLANT("FENCE-ids-signed", ZOO_ALL, "FENCE-004 FENCE-006", plant_signed,
          "compares fences as signed numbers, and takes one above 2^31 for an old one",
          .focus = "fence-wrap=8"),
    PLANT("FENCE-engine-counted", ZOO_ALL, "FENCE-004", plant_engine,
          "reports the node's number as EngineOrdinal, too"),
    PLANT("FENCE-node-beyond", ZOO_ALL, "FENCE-004", plant_bit,
          "reports a NodeOrdinal that the adapter does not have, now and then"),
    PLANT("INT-noted-late", ZOO_ALL, "FENCE-004 FENCE-006 SUB-002", plant_noted_late,
          "writes down what it has submitted behind the doorbell, when it may be done",
          .focus = "register-time=2000"),
    PLANT("INT-acknowledged-late", ZOO_ALL, "FENCE-004 FENCE-006 FENCE-007 FENCE-008 FENCE-013",
          plant_acknowledged_late,
          "acknowledges interrupts at the end of its routine, those that came meanwhile too",
          .focus = "register-time=2000 ops=800"),
    PLANT("INT-never-asked", ZOO_ALL, "FENCE-002", plant_never_asked,
          "takes each interrupt of the shared line for a completion"),
    PLANT("INT-without-power", ZOO_ALL, "FENCE-002 PWR-007", plant_without_power,
          "takes the ones that a device without power reads as for news",
          .focus = "shared-interrupt=yes power=yes"),
    PLANT("RESTART-fences-kept", ZOO_ALL, "FENCE-004 FENCE-006", plant_fences_kept,
          "remembers the fences of the time before its device was stopped", .focus = "restart-after=24"),
    PLANT("RESTART-once", ZOO_ALL, "refused", plant_start_once,
          "does not start a device again that was stopped", .focus = "restart-after=24"),
    PLANT("GONE-silenced", ZOO_ALL, "PWR-014", plant_gone_silenced,
          "disables interrupts when it is stopped, of a board that was pulled out, too",
          .focus = "removal=120"),
    PLANT("GONE-refused", ZOO_ALL, "PWR-015", plant_gone_refused,
          "fails the notice that its board was pulled out in a sleep", .focus = "removal=120"),
    PLANT("RENEW-context-slots", ZOO_ALL, "refused", plant_context_slots,
          "gives no slot of its table of contexts back", .focus = "renewals=yes ops=800"),
    PLANT("RENEW-device-slots", ZOO_ALL, "refused", plant_device_slots,
          "gives no slot of its table of devices back", .focus = "renewals=yes ops=800"),
    PLANT("RESOURCE-first-made", ZOO_ALL, "MEM-004 ALLOC-001", plant_create_first,
          "makes the first allocation of a resource alone"),
    PLANT("RESOURCE-first-destroyed", ZOO_ALL, "leak", plant_destroy_first,
          "destroys the first allocation of a list alone"),
    PLANT("RESOURCE-not-undone", ZOO_ALL, "leak", plant_create_each,
          "keeps what it has made of a resource that it fails", .focus = "faults=pool resources=16"),
    PLANT("DENIED-first-map-kept", ZOO_ALL, "leak", plant_map_twice,
          "keeps its first mapping of the registers where the second fails"),
    PLANT("DENIED-range-noted", ZOO_GPUMMU, "leak", plant_reserve_with_note,
          "keeps its note of a range that it could not reserve", .focus = "faults=reserved-ranges reserved-range=yes processes=16"),
    PLANT("USER-index-read-again", ZOO_PHYSICAL, "PATCH-013 PATCH-011", plant_index_again,
          "reads an index of its client's commands again when it has looked at it",
          .focus = "user-memory=changes"),
    PLANT("USER-count-read-again", ZOO_PHYSICAL, "MEM-001", plant_count_again,
          "reads the number of its client's references again when it has looked at it",
          .focus = "user-memory=changes"),
    PLANT("CLIENT-index-unchecked", ZOO_PHYSICAL, "MEM-001", plant_index_unchecked,
          "looks up an index of its client's commands without a look at the length of the list",
          .focus = "client=hostile"),
    PLANT("CLIENT-list-longer", ZOO_PHYSICAL, "PATCH-013", plant_long_list,
          "takes its client's list of allocations for longer than it is",
          .focus = "client=hostile"),
    PLANT("CLIENT-offset-unchecked", ZOO_PHYSICAL, "PATCH-022", plant_offset_unchecked,
          "takes its client's word for it that an offset is inside of the allocation",
          .focus = "client=hostile"),
    PLANT("PAGED-note-in-dpc", ZOO_ALL, "MEM-005", plant_paged_note,
          "counts its DPCs in paged pool"),
    {0},
};
/* clang-format on */
