/*
 * Requests: packets (IRPs) that the driver has built, until they are complete.
 *
 * Place      nt, private. Below devices, which serve requests; uses the pool and events only.
 * Model      A request is complete when its status has been told with IofCompleteRequest(), and
 *            ends when the last dispatch routine that has it returns. A request that no routine has
 *            when it is completed was pending, and ends at once.
 * Ownership  A block of the pool: a request that is never completed is a leak.
 */
#ifndef DRYDOCK_NT_REQUEST_H
#define DRYDOCK_NT_REQUEST_H

#include "base/list.h"
#include "nt/nt.h"

#include <wdm/device.h>

#define NT_REQUEST_TAG 0x20707249u /* "Irp " */

struct nt_request {
    IRP irp;
    IO_STACK_LOCATION location; /* the one that the called driver gets */
    struct list link;           /* of those under way */
    PVOID out;
    ULONG out_bytes;
    ULONG buffer_bytes; /* of irp.AssociatedIrp.SystemBuffer, in the pool; 0: there is none */
    unsigned calls;     /* dispatch routines that have it: one may send it on to another device */
    bool is_complete;
};

/* NULL: no memory. */
struct nt_request *nt_request_create(struct nt *nt, UCHAR major, PDEVICE_OBJECT device,
                                     PKEVENT event, PIO_STATUS_BLOCK result);
void nt_request_free(struct nt_request *request);

/* The request of a packet. NULL, and a misuse of the service: there is none, or it has ended. */
struct nt_request *nt_request_of(struct nt *nt, const char *service, PIRP irp);

/* Signals the event of the request, and ends it. */
void nt_request_finish(struct nt_request *request);

#endif
