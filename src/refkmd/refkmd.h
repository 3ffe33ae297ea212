/*
 * The reference display miniport driver for the Drydock GPU: its entry points.
 *
 * Place      refkmd. A driver like any other: it includes the WDK headers and the GPU's manual,
 *            drydock/sgpu.h, and calls the kernel by its WDK names. Nothing in this folder knows
 *            which kernel answers.
 * Model      One source, several drivers: each has an entry point, and a machine would load each as
 *            an image of its own:
 *
 *            | entry point                    | version  | addresses in commands                  |
 *            | RefKmdDriverEntryPhysical      | WDDM 1.3 | physical; DxgkDdiPatch writes them     |
 *            | RefKmdDriverEntryPhysicalWin7  | WDDM 1.1 | the same                               |
 *            | RefKmdDriverEntryPhysicalVista | WDDM 1.0 | the same; one engine, no contexts      |
 *            | RefKmdDriverEntryGpuMmu        | WDDM 2.6 | virtual; the GPU walks page tables     |
 *            | RefKmdDriverEntryGpuMmu30      | WDDM 3.0 | the same                               |
 *            | RefKmdDriverEntryGpuMmu32      | WDDM 3.2 | the same                               |
 *            | RefKmdDriverEntryIoMmu         | WDDM 2.6 | the process's own, through an IOMMU    |
 *            | RefKmdDriverEntryIoMmu30       | WDDM 3.0 | the same                               |
 *
 *            A feature of WDDM is offered from the version on that knows it: the kernel says in the
 *            Version of its table of callbacks which version it took the driver for. All entry
 *            points fill a DRIVER_INITIALIZATION_DATA and hand it to DxgkInitialize. The driver has
 *            no global variables: all state hangs on the context that DxgkDdiAddDevice returns, so
 *            any number of adapters of all models live side by side.
 * Source     contract.md; each function names the rules that it keeps.
 *
 * Layers     A file calls files of its own layer and of those below it.
 *
 *            | driver_entry.c                              | the table of DDIs (ddi.h)          |
 *            | adapter.c, caps.c                           | the device's life; its answers     |
 *            | process.c, device.c, context.c              | the objects of processes           |
 *            | paging/paging_buffer.c                      | the packer of paging operations    |
 *            | paging/, memory/, work/                     | operations, memory, submissions    |
 *            | work/packet.c, paging/paging_units.c        | commands, and operations in pieces |
 *            | adapter.h, objects.h, registers.c, traits.c | the board, and what it can do      |
 *
 * Reading    In the order in which a driver meets the contract:
 *
 *            | driver_entry.c                  | which functions a driver of each model registers |
 *            | adapter.c                       | AddDevice, StartDevice, StopDevice, RemoveDevice |
 *            | caps.c, memory/segments.c       | what the adapter says about itself               |
 *            | memory/allocation.c             | what an allocation needs, and where it may live  |
 *            | process.c, device.c, context.c  | who works with the adapter                       |
 *            | work/packet.h                   | commands into a buffer, never beyond its end     |
 *            | paging/paging_buffer.c          | the packer: one operation behind another         |
 *            | paging/paging_*.c               | the operations, split where they must be         |
 *            | work/render_patch.c             | commands of the physical model                   |
 *            | work/submit.c, work/interrupt.c | running them                                     |
 *            | work/recovery.c                 | when they do not run                             |
 */
#ifndef REFKMD_REFKMD_H
#define REFKMD_REFKMD_H

#include <ntddk.h>

NTSTATUS NTAPI RefKmdDriverEntryPhysical(DRIVER_OBJECT *driver, UNICODE_STRING *registry_path);
NTSTATUS NTAPI RefKmdDriverEntryPhysicalWin7(DRIVER_OBJECT *driver, UNICODE_STRING *registry_path);
NTSTATUS NTAPI RefKmdDriverEntryPhysicalVista(DRIVER_OBJECT *driver, UNICODE_STRING *registry_path);
NTSTATUS NTAPI RefKmdDriverEntryGpuMmu(DRIVER_OBJECT *driver, UNICODE_STRING *registry_path);
NTSTATUS NTAPI RefKmdDriverEntryGpuMmu30(DRIVER_OBJECT *driver, UNICODE_STRING *registry_path);
NTSTATUS NTAPI RefKmdDriverEntryGpuMmu32(DRIVER_OBJECT *driver, UNICODE_STRING *registry_path);
NTSTATUS NTAPI RefKmdDriverEntryIoMmu(DRIVER_OBJECT *driver, UNICODE_STRING *registry_path);
NTSTATUS NTAPI RefKmdDriverEntryIoMmu30(DRIVER_OBJECT *driver, UNICODE_STRING *registry_path);

#endif
