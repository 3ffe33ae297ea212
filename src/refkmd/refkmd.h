/*
 * The reference display miniport driver for the Drydock GPU: its entry points.
 *
 * Place      refkmd. A driver like any other: it includes the WDK headers and the GPU's manual,
 *            drydock/sgpu.h, and calls the kernel by its WDK names. Nothing in this folder knows
 *            which kernel answers.
 * Model      One source, several drivers. What a machine loads as images of their own is here an
 *            entry point each:
 *
 *            | entry point                    | version  | addresses in commands                  |
 *            | RefKmdDriverEntryPhysical      | WDDM 1.3 | physical; DxgkDdiPatch writes them     |
 *            | RefKmdDriverEntryPhysicalWin7  | WDDM 1.1 | the same                               |
 *            | RefKmdDriverEntryGpuMmu        | WDDM 2.6 | virtual; the GPU walks page tables     |
 *            | RefKmdDriverEntryGpuMmu30      | WDDM 3.0 | the same                               |
 *            | RefKmdDriverEntryGpuMmu32      | WDDM 3.2 | the same                               |
 *            | RefKmdDriverEntryIoMmu         | WDDM 2.6 | the process's own, through an IOMMU    |
 *            | RefKmdDriverEntryIoMmu30       | WDDM 3.0 | the same                               |
 *
 *            What a level adds the driver offers from that level on: the kernel says in the Version
 *            of its table of callbacks which one it took the driver for. All fill a
 *            DRIVER_INITIALIZATION_DATA and hand it to DxgkInitialize. The driver has no global
 *            variables: all state hangs on the context that DxgkDdiAddDevice returns, so any number
 *            of adapters of both models live side by side.
 * Source     contract.md; each function names the rules that it keeps.
 *
 * Where to read on, in the order in which a driver meets the contract:
 *
 *            driver_entry.c     which functions a driver of either model registers
 *            adapter.c          AddDevice, StartDevice, StopDevice, RemoveDevice
 *            caps.c, segments.c what the adapter says about itself
 *            allocation.c       what an allocation needs, and where it may live
 *            process.c, device.c, context.c
 *            packet.h           commands into a buffer without ever leaving it
 *            paging_buffer.c    the packer: one operation after another, split where it must be
 *            paging_transfer.c, paging_page_table.c, paging_notify.c, aperture.c    the operations
 *            render_patch.c     commands of the physical model
 *            submit.c, interrupt.c, recovery.c    running them, and when they do not run
 */
#ifndef REFKMD_REFKMD_H
#define REFKMD_REFKMD_H

#include <ntddk.h>

NTSTATUS NTAPI RefKmdDriverEntryPhysical(DRIVER_OBJECT *driver, UNICODE_STRING *registry_path);
NTSTATUS NTAPI RefKmdDriverEntryPhysicalWin7(DRIVER_OBJECT *driver, UNICODE_STRING *registry_path);
NTSTATUS NTAPI RefKmdDriverEntryGpuMmu(DRIVER_OBJECT *driver, UNICODE_STRING *registry_path);
NTSTATUS NTAPI RefKmdDriverEntryGpuMmu30(DRIVER_OBJECT *driver, UNICODE_STRING *registry_path);
NTSTATUS NTAPI RefKmdDriverEntryGpuMmu32(DRIVER_OBJECT *driver, UNICODE_STRING *registry_path);
NTSTATUS NTAPI RefKmdDriverEntryIoMmu(DRIVER_OBJECT *driver, UNICODE_STRING *registry_path);
NTSTATUS NTAPI RefKmdDriverEntryIoMmu30(DRIVER_OBJECT *driver, UNICODE_STRING *registry_path);

#endif
