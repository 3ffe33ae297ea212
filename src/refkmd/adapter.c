/*
 * The adapter's life: added, started, stopped, removed.
 *
 * AddDevice makes the context and touches no hardware. StartDevice finds the board, maps it and
 * learns its features from its registers. StopDevice undoes StartDevice and may be followed by
 * another StartDevice; RemoveDevice undoes AddDevice.
 */
#include "refkmd/adapter.h"

#include "refkmd/ddi.h"
#include "refkmd/memory/mmu.h"
#include "refkmd/memory/segments.h"
#include "refkmd/memory/swizzling.h"
#include "refkmd/registers.h"
#include "refkmd/traits.h"
#include "refkmd/memory/own_memory.h"
#include "refkmd/work/components.h"
#include "refkmd/work/interrupt.h"
#include "refkmd/work/schedule.h"

#include <ntstatus.h>

/* ---- Add and remove -------------------------------------------------------------------------- */

static NTSTATUS add_device(enum refkmd_model model, PVOID *out_context)
{
    struct refkmd_adapter *adapter = refkmd_alloc(sizeof *adapter);

    *out_context = adapter;
    if (!adapter)
        return STATUS_NO_MEMORY;
    adapter->model = model;
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI RefKmdAddDevicePhysical(IN_CONST_PDEVICE_OBJECT PhysicalDeviceObject,
                                       OUT_PPVOID MiniportDeviceContext)
{
    UNREFERENCED_PARAMETER(PhysicalDeviceObject);
    return add_device(REFKMD_PHYSICAL, MiniportDeviceContext);
}

NTSTATUS NTAPI RefKmdAddDeviceGpuMmu(IN_CONST_PDEVICE_OBJECT PhysicalDeviceObject,
                                     OUT_PPVOID MiniportDeviceContext)
{
    UNREFERENCED_PARAMETER(PhysicalDeviceObject);
    return add_device(REFKMD_GPU_MMU, MiniportDeviceContext);
}

NTSTATUS NTAPI RefKmdAddDeviceIoMmu(IN_CONST_PDEVICE_OBJECT PhysicalDeviceObject,
                                    OUT_PPVOID MiniportDeviceContext)
{
    UNREFERENCED_PARAMETER(PhysicalDeviceObject);
    return add_device(REFKMD_IO_MMU, MiniportDeviceContext);
}

NTSTATUS NTAPI RefKmdRemoveDevice(IN_CONST_PVOID MiniportDeviceContext)
{
    refkmd_free(MiniportDeviceContext);
    return STATUS_SUCCESS;
}

/* The image goes; it has nothing outside its adapters. */
VOID NTAPI RefKmdUnload(VOID)
{
}

/* ---- Start and stop -------------------------------------------------------------------------- */

/*
 * The board's two memory ranges, in the order of its base-address registers. The kernel describes
 * a range of 4 GiB or more as "large", with its length in other units; only starts are needed
 * here, the lengths are in registers.
 */
static NTSTATUS find_memory(struct refkmd_adapter *adapter, const CM_RESOURCE_LIST *resources)
{
    PHYSICAL_ADDRESS *const ranges[] = {&adapter->registers_pa, &adapter->window_pa};
    const CM_PARTIAL_RESOURCE_LIST *list;
    UINT found = 0;
    ULONG i;

    if (!resources || !resources->Count)
        return STATUS_DEVICE_NOT_CONNECTED;
    list = &resources->List[0].PartialResourceList;
    for (i = 0; i < list->Count && found < RTL_NUMBER_OF(ranges); i++) {
        const CM_PARTIAL_RESOURCE_DESCRIPTOR *range = &list->PartialDescriptors[i];

        if (range->Type == CmResourceTypeMemory || range->Type == CmResourceTypeMemoryLarge)
            *ranges[found++] = range->u.Memory.Start;
    }
    return found == RTL_NUMBER_OF(ranges) ? STATUS_SUCCESS : STATUS_DEVICE_NOT_CONNECTED;
}

static NTSTATUS map_registers(struct refkmd_adapter *adapter)
{
    PVOID registers = NULL;
    NTSTATUS status;

    status =
        adapter->dxgkrnl.DxgkCbMapMemory(adapter->dxgkrnl.DeviceHandle, adapter->registers_pa,
                                         SGPU_BAR0_BYTES, FALSE, FALSE, MmNonCached, &registers);
    if (NT_SUCCESS(status))
        adapter->registers = registers;
    return status;
}

static void unmap_registers(struct refkmd_adapter *adapter)
{
    adapter->dxgkrnl.DxgkCbUnmapMemory(adapter->dxgkrnl.DeviceHandle, adapter->registers);
    adapter->registers = NULL;
}

/* Without memory segments tables are in system memory, where a table has a page (PT-006). */
static BOOLEAN needs_memory_segments(const struct refkmd_adapter *adapter)
{
    if (adapter->model == REFKMD_IO_MMU)
        return FALSE;
    return adapter->model == REFKMD_PHYSICAL || !(adapter->traits & SGPU_TRAIT_LEFT_ALONE) ||
           !refkmd_tables_are_pages(adapter);
}

static NTSTATUS read_board(struct refkmd_adapter *adapter)
{
    UINT i;

    if (refkmd_read(adapter, SGPU_REG_ID) != SGPU_ID)
        return STATUS_DEVICE_NOT_CONNECTED;
    adapter->straps = refkmd_read(adapter, SGPU_REG_STRAPS);
    adapter->has_queues = refkmd_may_have_queues(adapter);
    adapter->node_count = refkmd_read(adapter, SGPU_REG_NODE_COUNT);
    adapter->local_bytes = refkmd_read64(adapter, SGPU_REG_LOCAL_SIZE);
    adapter->visible_bytes = refkmd_read64(adapter, SGPU_REG_VISIBLE_SIZE);
    adapter->aperture_bytes = refkmd_read64(adapter, SGPU_REG_APERTURE_SIZE);
    adapter->kept_bytes = refkmd_read64(adapter, SGPU_REG_KEPT_SIZE);
    adapter->dead_offset = refkmd_read64(adapter, SGPU_REG_DEAD_OFFSET);
    adapter->dead_bytes = refkmd_read64(adapter, SGPU_REG_DEAD_SIZE);
    adapter->traits = refkmd_read(adapter, SGPU_REG_TRAITS);
    adapter->protected_offset = refkmd_read64(adapter, SGPU_REG_PROTECTED_OFFSET);
    adapter->protected_bytes = refkmd_read64(adapter, SGPU_REG_PROTECTED_SIZE);
    adapter->picture_offset = refkmd_read64(adapter, SGPU_REG_PICTURE_OFFSET);
    adapter->picture_bytes = refkmd_read64(adapter, SGPU_REG_PICTURE_SIZE);
    if (adapter->node_count <= SGPU_NODE_COPY || adapter->node_count > REFKMD_MAX_NODES)
        return STATUS_NOT_SUPPORTED;
    if (!refkmd_has_contexts(adapter))
        adapter->node_count = 1; /* the others are left alone */

    if (!NT_SUCCESS(refkmd_mmu_init(adapter)))
        return STATUS_NOT_SUPPORTED;

    RtlZeroMemory(adapter->nodes, sizeof adapter->nodes);
    /* The board may have worked before: no translation and no fence of that time counts. */
    for (i = 0; i < adapter->node_count; i++) {
        refkmd_switch_on(adapter, i);
        refkmd_write(adapter, SGPU_REG_NODE(i) + SGPU_NODE_CONTROL, SGPU_CONTROL_RESET);
        adapter->nodes[i].completed_register =
            refkmd_read(adapter, SGPU_REG_NODE(i) + SGPU_NODE_COMPLETED);
    }
    adapter->has_memory_segments = needs_memory_segments(adapter);
    refkmd_own_memory_init(adapter);
    refkmd_segments_init(adapter);
    refkmd_populate(adapter);
    return STATUS_SUCCESS;
}

/*
 * The kernel's table of callbacks may be longer or shorter than ours: its Size says how long.
 * RequiredDmaQueueEntry is how many submissions the kernel wants to have under way on a node.
 */
NTSTATUS NTAPI RefKmdStartDevice(IN_CONST_PVOID MiniportDeviceContext,
                                 IN_PDXGK_START_INFO DxgkStartInfo,
                                 IN_PDXGKRNL_INTERFACE DxgkInterface,
                                 OUT_PULONG NumberOfVideoPresentSources,
                                 OUT_PULONG NumberOfChildren)
{
    struct refkmd_adapter *adapter = MiniportDeviceContext;
    DXGK_DEVICE_INFO info;
    NTSTATUS status;

    adapter->is_gone = FALSE;
    *NumberOfVideoPresentSources = 0;
    *NumberOfChildren = 0;
    if (DxgkStartInfo->RequiredDmaQueueEntry > SGPU_QUEUE_SLOTS)
        return STATUS_NOT_SUPPORTED;

    RtlZeroMemory(&adapter->dxgkrnl, sizeof adapter->dxgkrnl);
    RtlCopyMemory(&adapter->dxgkrnl, DxgkInterface,
                  DxgkInterface->Size < sizeof adapter->dxgkrnl ? DxgkInterface->Size
                                                                : sizeof adapter->dxgkrnl);

    RtlZeroMemory(&info, sizeof info);
    status = adapter->dxgkrnl.DxgkCbGetDeviceInformation(adapter->dxgkrnl.DeviceHandle, &info);
    if (!NT_SUCCESS(status))
        return status;
    status = find_memory(adapter, info.TranslatedResourceList);
    if (!NT_SUCCESS(status))
        return status;
    status = map_registers(adapter);
    if (!NT_SUCCESS(status))
        return status;
    status = read_board(adapter);
    if (NT_SUCCESS(status))
        status = refkmd_map_own_memory(adapter);
    if (!NT_SUCCESS(status))
        goto unmap_registers;
    refkmd_fill_own_memory(adapter);

    *NumberOfVideoPresentSources = refkmd_has_display(adapter);
    refkmd_write(adapter, SGPU_REG_IRQ_STATUS, MAXULONG);
    refkmd_write(adapter, SGPU_REG_IRQ_ENABLE, refkmd_interrupt_mask(adapter));
    DbgPrintEx(DPFLTR_IHVVIDEO_ID, DPFLTR_INFO_LEVEL,
               "refkmd: started, %u nodes, %I64u MiB local (%I64u visible), %I64u MiB aperture\n",
               adapter->node_count, adapter->local_bytes >> 20, adapter->visible_bytes >> 20,
               adapter->aperture_bytes >> 20);
    return STATUS_SUCCESS;

unmap_registers:
    refkmd_depopulate(adapter);
    unmap_registers(adapter);
    return status;
}

/* The kernel has emptied the segments and drained the nodes before, or the board has gone. */
NTSTATUS NTAPI RefKmdStopDevice(IN_CONST_PVOID MiniportDeviceContext)
{
    struct refkmd_adapter *adapter = MiniportDeviceContext;
    UINT i;

    if (adapter->registers) {
        refkmd_write(adapter, SGPU_REG_IRQ_ENABLE, 0);
        unmap_registers(adapter);
    }
    refkmd_unmap_own_memory(adapter);
    for (i = 0; i < REFKMD_MAX_NODES; i++)
        adapter->nodes[i].log = NULL; /* the kernel's, which gives another one after the start */
    refkmd_depopulate(adapter);
    return STATUS_SUCCESS;
}

/* ---- Power and children ---------------------------------------------------------------------- */

/* Never fails (PWR-008). Without power the registers do not answer, so interrupts go first. */
NTSTATUS NTAPI RefKmdSetPowerState(IN_CONST_PVOID MiniportDeviceContext, IN_ULONG DeviceUid,
                                   IN_DEVICE_POWER_STATE DevicePowerState,
                                   IN_POWER_ACTION ActionType)
{
    struct refkmd_adapter *adapter = MiniportDeviceContext;

    UNREFERENCED_PARAMETER(DeviceUid); /* there are no children: it is the adapter's own */
    UNREFERENCED_PARAMETER(ActionType);
    if (DevicePowerState != PowerDeviceD0)
        refkmd_save_own_memory(adapter);
    if (adapter->registers) {
        refkmd_write(adapter, SGPU_REG_IRQ_ENABLE,
                     DevicePowerState == PowerDeviceD0 ? refkmd_interrupt_mask(adapter) : 0);
        if (DevicePowerState == PowerDeviceD0)
            refkmd_restore_ranges(adapter);
    }
    if (DevicePowerState == PowerDeviceD0) {
        refkmd_restore_own_memory(adapter);
        refkmd_wake_nodes(adapter);
    }
    return STATUS_SUCCESS;
}

/*
 * The IOMMU is about to give the device another domain, and accesses on their way meanwhile may be
 * translated by either. The kernel has let everything end that the device had to do, and hands it
 * nothing before RefKmdEndExclusiveAccess(). This device reaches system memory for packets alone,
 * so it is silent already (IOMMU-002): the one thing left to do is to have no interrupt in the
 * window.
 */
NTSTATUS NTAPI RefKmdBeginExclusiveAccess(IN_CONST_HANDLE hAdapter,
                                          INOUT_PDXGKARG_BEGINEXCLUSIVEACCESS pArgs)
{
    struct refkmd_adapter *adapter = hAdapter;

    UNREFERENCED_PARAMETER(pArgs);
    refkmd_write(adapter, SGPU_REG_IRQ_ENABLE, 0);
    return STATUS_SUCCESS;
}

/* The new domain is in force, whatever it maps; nothing is remembered of the old one here. */
NTSTATUS NTAPI RefKmdEndExclusiveAccess(IN_CONST_HANDLE hAdapter,
                                        IN_PDXGKARG_ENDEXCLUSIVEACCESS pArgs)
{
    struct refkmd_adapter *adapter = hAdapter;

    UNREFERENCED_PARAMETER(pArgs);
    refkmd_write(adapter, SGPU_REG_IRQ_ENABLE, refkmd_interrupt_mask(adapter));
    return STATUS_SUCCESS;
}

/*
 * The board has been pulled out, asleep or in the middle of its work. There is nothing to be done
 * at this moment, which may be in the midst of any other call, but to stop touching it: from here
 * on registers are not accessed, and interrupts are somebody else's. The kernel ends the work under
 * way, destroys the objects that it has created and stops the device, and all that frees memory as
 * always.
 */
NTSTATUS NTAPI RefKmdNotifySurpriseRemoval(IN_CONST_PVOID MiniportDeviceContext,
                                           DXGK_SURPRISE_REMOVAL_TYPE RemovalType)
{
    struct refkmd_adapter *adapter = MiniportDeviceContext;

    UNREFERENCED_PARAMETER(RemovalType);
    adapter->is_gone = TRUE;
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI RefKmdQueryChildRelations(IN_CONST_PVOID MiniportDeviceContext,
                                         INOUT_PDXGK_CHILD_DESCRIPTOR ChildRelations,
                                         IN_ULONG ChildRelationsSize)
{
    UNREFERENCED_PARAMETER(MiniportDeviceContext);
    UNREFERENCED_PARAMETER(ChildRelations);
    UNREFERENCED_PARAMETER(ChildRelationsSize);
    return STATUS_SUCCESS;
}

/* For a crash screen. There is no screen. */
VOID NTAPI RefKmdResetDevice(IN_CONST_PVOID MiniportDeviceContext)
{
    UNREFERENCED_PARAMETER(MiniportDeviceContext);
}
