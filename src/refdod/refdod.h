/*
 * The reference display-only miniport driver for the Drydock GPU: its entry point.
 *
 * Place      refdod. A driver like any other: it includes the WDK headers and the GPU's manual,
 *            drydock/sgpu.h, and calls the kernel by its WDK names.
 * Model      WDDM 1.2. One source; two video outputs, of which the first has a connector. The frame
 *            buffer is the firmware's (DxgkCbAcquirePostDisplayOwnership). Presents are copied by
 *            the CPU and have ended when the next vertical sync has come, by an interrupt. A
 *            monitor that comes or goes is an interrupt, too, and told by its DPC
 *            (DxgkCbIndicateChildStatus).
 *
 *            | refdod.c           | the table of DDIs; the device's life, children, interrupts |
 *            | refdod_modes.c     | what can be shown: networks, their modes, commits          |
 *            | refdod_show.c      | presents and the pointer                                   |
 *            | refdod_registers.c | the board's registers                                      |
 *
 *            There are no global variables: all state hangs on the context of DxgkDdiAddDevice.
 * Source     contract.md VIDPN-001..VIDPN-009.
 */
#ifndef REFDOD_REFDOD_H
#define REFDOD_REFDOD_H

#include <ntddk.h>

NTSTATUS NTAPI RefDodDriverEntry(DRIVER_OBJECT *driver, UNICODE_STRING *registry_path);

#endif
