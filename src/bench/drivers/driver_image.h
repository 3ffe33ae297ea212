/*
 * Driver image: a driver that is a file (.sys), brought up like one that is linked in.
 *
 * Place      bench. Between image (which loads it), nt (whose services it imports) and run.
 * Model      Imports are bound to the services of nt by name, through the boundary; DxgkInitialize
 *            to the host's. A name that nobody has is bound to a report of it. Every function of
 *            the table that the driver registers passes the boundary, and so does, the other way,
 *            every callback of the DXGKRNL_INTERFACE that its DxgkDdiStartDevice gets. Neither side
 *            knows of it.
 * Ownership  driver_image_load() gives it; it borrows nt, and holds its boundary until unloaded.
 *            The table is good until then.
 * Errors     False and a message that names the file and its defect.
 */
#ifndef DRYDOCK_BENCH_DRIVER_IMAGE_H
#define DRYDOCK_BENCH_DRIVER_IMAGE_H

#include "base/services.h"
#include "nt/nt.h"

#include <d3dkmddi.h>
#include <dispmprt.h>

struct driver_image;

/*
 * An export of this name is a text that says which GPU the driver is for, as run_config.gpu does.
 * An image without it is played without a GPU model, unless the run says otherwise.
 */
#define DRIVER_IMAGE_GPU_MARK "DrydockGpu"

#define DRIVER_IMAGE_ERROR_BYTES 2048

bool driver_image_load(const struct base_services *services, const char *path, struct nt *nt,
                       struct driver_image **out, char error[DRIVER_IMAGE_ERROR_BYTES]);
/* NULL is fine. */
void driver_image_unload(struct driver_image *driver);

/* Runs DriverEntry, which registers. As host_load_driver(). */
NTSTATUS driver_image_enter(struct driver_image *driver, DRIVER_INITIALIZATION_DATA *out_data);

/* The table as the driver registered it, before its functions pass the boundary. */
const DRIVER_INITIALIZATION_DATA *driver_image_registered(const struct driver_image *driver);
/* The address lies in code of the image. */
bool driver_image_has_code(const struct driver_image *driver, const void *address);

/* Behind a longjmp() out of the driver: no call is under way in it any more. NULL is fine. */
void driver_image_abandon(struct driver_image *driver);

/*
 * The address that an import of this name is bound to; NULL: nobody has it. Direct: calls do not
 * pass the boundary. For a verb that lists the imports of an image.
 */
const void *driver_image_service(const char *name, bool *out_is_direct);

/* The text behind an export of the name; false: there is none, or it does not fit. */
bool driver_image_exported_text(const struct driver_image *driver, const char *name, char *out,
                                size_t size);

/*
 * Where the driver is, a line for each of its frames (exception_backtrace()). For signal handlers.
 */
size_t driver_image_backtrace(const struct driver_image *driver, const void *signal_context,
                              char *text, size_t size);

/*
 * Names the driver's function behind the DDI that a text begins with,
 * "DxgkDdiBuildPagingBuffer(TRANSFER)...": "mygpu.sys!BuildPagingBuffer (+0x1a30)"
 * (source_places.h). False: it begins with none, or the driver has none.
 */
bool driver_image_function(const struct driver_image *driver, const char *ddi, char *text,
                           size_t size);

#endif
