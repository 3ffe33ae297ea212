/*
 * Raw: the bottom of a stack of miniports, a driver's own table.
 *
 * Place      miniport. Used by whoever loads a driver; nothing above it knows that it is there.
 * Model      Down: each function calls the driver's slot. A NULL object stands for the adapter:
 *            the driver gets the MiniportDeviceContext that its AddDevice gave. A slot that is
 *            NULL, or that the Version the driver registered with does not have, is absent: its
 *            DDI is STATUS_NOT_IMPLEMENTED and miniport_has() is false. Before AddDevice every
 *            DDI is STATUS_DEVICE_NOT_READY.
 *            The version is that of the table, until DRIVERCAPS.WDDMVersion names a lower one.
 *            Up: StartDevice gets a DXGKRNL_INTERFACE of the driver's Version with every slot
 *            filled. The callbacks of struct miniport_host_ops go to the host; each other one
 *            tells host->ops->unsupported its name and fails with STATUS_NOT_SUPPORTED, or gives
 *            NULL or nothing, as its type wants. A callback with a device handle that is no
 *            adapter's is STATUS_INVALID_PARAMETER.
 * Ownership  The driver's table is copied; the code behind it must outlive the miniport.
 * Errors     NTSTATUS, the driver's own. STATUS_REVISION_MISMATCH: a Version that we do not know.
 * Limits     Some callbacks name no adapter (DxgkCbGetHandleData), so the adapters of a process
 *            stand in a list, and one thread at a time creates, destroys and calls them.
 * Source     data/ddi/layout-x64.tsv: the slots and their first versions.
 */
#ifndef MINIPORT_RAW_H
#define MINIPORT_RAW_H

#include "base/services.h"
#include "miniport/miniport.h"

VIDMM_API_BEGIN

/*
 * Gives the miniport. Reads of data only the part that its Version has: an older driver's table
 * is shorter.
 */
NTSTATUS miniport_raw_create(const struct base_services *services,
                             const DRIVER_INITIALIZATION_DATA *data, struct miniport **out_raw);

/*
 * Forgets DRIVERCAPS.WDDMVersion, as if they had never been asked for: their size is by Version
 * then.
 */
void miniport_raw_ask_anew(struct miniport *raw);

/* The driver is display-only: what its table has beside the slots of a full driver's. */
void miniport_raw_set_display_only(struct miniport *raw, PDXGKDDI_PRESENTDISPLAYONLY present);

/* The device object for AddDevice, which is NULL otherwise. Borrowed for the miniport's life. */
void miniport_raw_set_device_object(struct miniport *raw, PDEVICE_OBJECT device_object);

/*
 * Who is told when a driver has overwritten what it was only lent to read: the offset of the first
 * such byte in its argument structure. It is put right before. NULL: nobody.
 */
void miniport_raw_set_witness(struct miniport *raw,
                              void (*overwritten)(void *context, enum miniport_ddi ddi,
                                                  size_t offset),
                              void *context);

/*
 * DxgkDdiUnload, behind the removal of the driver's last device. Nothing is called of the driver
 * any more.
 */
void miniport_raw_unload(struct miniport *raw);

/* The DDI whose driver code is running, "DxgkDdiRender"; NULL: none. */
const char *miniport_raw_running(void);

/* Behind a longjmp() out of a driver: none is running. */
void miniport_raw_abandon(void);

/* The WDDM of a version, 26 for 2.6; 0 for a version that we do not know. */
unsigned miniport_raw_wddm(ULONG version);

/* Sizes of the two tables in a version, 0 for a version that we do not know. */
size_t miniport_raw_table_size(ULONG version);
size_t miniport_raw_interface_size(ULONG version);

VIDMM_API_END

#endif
