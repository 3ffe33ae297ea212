/*
 * Requests: packets (IRPs) that the driver has built, until they are complete.
 *
 * Place      nt, private. Below request_send.c, which sends them; uses the pool and events only.
 * Model      A packet has a location for each device of the stack that it is sent to, the last of
 *            them for the first device. IofCallDriver() goes down by one, and completing goes up by
 *            one for each device that was called, through the completion routines. A request ends
 *            behind the last of them, unless one keeps it (STATUS_MORE_PROCESSING_REQUIRED). The
 *            driver frees what it has allocated itself, in its completion routine.
 * Ownership  A block of the pool: a request that is never completed is a leak.
 */
#ifndef DRYDOCK_NT_REQUEST_H
#define DRYDOCK_NT_REQUEST_H

#include "base/list.h"
#include "nt/nt.h"

#include <wdm/device.h>

#define NT_REQUEST_TAG 0x20707249u /* "Irp " */

struct nt_request {
    struct list link;  /* of those under way */
    uint64_t number;   /* no other request of the kernel has it */
    bool is_of_driver; /* which frees it with IoFreeIrp() */
    PVOID out;         /* of the caller, where a buffered answer goes */
    ULONG out_bytes;
    ULONG buffer_bytes; /* of irp.AssociatedIrp.SystemBuffer, in the pool; 0: there is none */
    IRP irp;
    IO_STACK_LOCATION locations[]; /* irp.StackCount of them */
};

/*
 * For the stack of devices whose top is this one; the next location has the function and is the
 * caller's to fill in. NULL: no memory.
 */
struct nt_request *nt_request_create(struct nt *nt, UCHAR major, PDEVICE_OBJECT device,
                                     PKEVENT event, PIO_STATUS_BLOCK result);
void nt_request_free(struct nt_request *request);

/* The request of a packet. NULL, and a misuse of the service: there is none, or it has ended. */
struct nt_request *nt_request_of(struct nt *nt, const char *service, PIRP irp);

/* Whether this packet is still the request of that number. */
bool nt_request_is_alive(const struct nt *nt, const IRP *irp, uint64_t number);

/* The device that has it is done: completion routines run, then it ends or is kept. */
void nt_request_complete(struct nt *nt, struct nt_request *request);

/*
 * A completion routine of the kernel's own: sets the event that is its context, and keeps the
 * request.
 */
IO_COMPLETION_ROUTINE nt_request_wake;

#endif
