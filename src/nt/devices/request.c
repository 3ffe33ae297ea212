#include "nt/devices/request.h"

#include "nt/machine/bug_check.h"
#include "nt/nt_private.h"
#include "nt/threads/spin_lock.h"

#include <string.h>
#include <wdm.h>

/* The state of the area. */
struct requests {
    struct list under_way; /* of struct nt_request */
    uint64_t count;        /* ever made */
    KSPIN_LOCK cancel_lock;
};

static struct requests *requests_of(const struct nt *nt)
{
    return NT_STATE(nt, request);
}

/* ---- Life ------------------------------------------------------------------------------------ */

/* As IoAllocateIrp() leaves it: nobody has been called. */
static void begin(IRP *irp, IO_STACK_LOCATION *locations, CCHAR stack_size)
{
    memset(irp, 0, sizeof *irp);
    memset(locations, 0, (size_t)stack_size * sizeof *locations);
    irp->Type = IO_TYPE_IRP;
    irp->Size = (USHORT)IoSizeOfIrp(stack_size);
    irp->StackCount = stack_size;
    irp->CurrentLocation = (CHAR)(stack_size + 1);
    irp->Tail.Overlay.CurrentStackLocation = locations + stack_size;
}

static struct nt_request *allocate(struct nt *nt, CCHAR stack_size)
{
    struct nt_request *request = ExAllocatePool2(
        POOL_FLAG_NON_PAGED, sizeof *request + (size_t)stack_size * sizeof request->locations[0],
        NT_REQUEST_TAG);

    if (!request)
        return NULL;
    begin(&request->irp, request->locations, stack_size);
    request->number = ++requests_of(nt)->count;
    list_push_back(&requests_of(nt)->under_way, &request->link);
    return request;
}

struct nt_request *nt_request_create(struct nt *nt, UCHAR major, PDEVICE_OBJECT device,
                                     PKEVENT event, PIO_STATUS_BLOCK result)
{
    struct nt_request *request = allocate(nt, device ? device->StackSize : 1);

    if (!request)
        return NULL;
    request->irp.UserIosb = result;
    request->irp.UserEvent = event;
    request->irp.Tail.Overlay.Thread = KeGetCurrentThread();
    IoGetNextIrpStackLocation(&request->irp)->MajorFunction = major;
    return request;
}

static void free_buffer(struct nt_request *request)
{
    if (request->buffer_bytes)
        ExFreePoolWithTag(request->irp.AssociatedIrp.SystemBuffer, NT_REQUEST_TAG);
    request->buffer_bytes = 0;
}

void nt_request_free(struct nt_request *request)
{
    list_remove(&request->link);
    free_buffer(request);
    ExFreePoolWithTag(request, NT_REQUEST_TAG);
}

static struct nt_request *find(const struct nt *nt, const IRP *irp)
{
    struct nt_request *request;

    list_for_each (request, &requests_of(nt)->under_way, struct nt_request, link) {
        if (&request->irp == irp)
            return request;
    }
    return NULL;
}

struct nt_request *nt_request_of(struct nt *nt, const char *service, PIRP irp)
{
    struct nt_request *request = find(nt, irp);

    if (!request)
        nt_misuse(nt, "%s: there is no such request, or it was completed before", service);
    return request;
}

bool nt_request_is_alive(const struct nt *nt, const IRP *irp, uint64_t number)
{
    const struct nt_request *request = find(nt, irp);

    return request && request->number == number;
}

/* NULL: nobody has been called, or the packet is back at its maker. */
static PDEVICE_OBJECT current_device(const IRP *irp)
{
    return irp->CurrentLocation <= irp->StackCount ? IoGetCurrentIrpStackLocation(irp)->DeviceObject
                                                   : NULL;
}

/* ---- Completing ------------------------------------------------------------------------------ */

/* The caller gets its answer, its status and its event; the request is gone. */
static void finish(struct nt_request *request)
{
    PKEVENT event = request->irp.UserEvent;
    ULONG_PTR bytes = request->irp.IoStatus.Information;

    if (request->buffer_bytes && request->out_bytes && !NT_ERROR(request->irp.IoStatus.Status) &&
        bytes)
        memcpy(request->out, request->irp.AssociatedIrp.SystemBuffer,
               bytes < request->out_bytes ? bytes : request->out_bytes);
    if (request->irp.UserIosb)
        *request->irp.UserIosb = request->irp.IoStatus;
    nt_request_free(request);
    if (event)
        KeSetEvent(event, IO_NO_INCREMENT, FALSE);
}

NTSTATUS NTAPI nt_request_wake(PDEVICE_OBJECT device, PIRP irp, PVOID event)
{
    KeSetEvent(event, IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

static bool wants_to_know(const IRP *irp, const IO_STACK_LOCATION *location)
{
    const UCHAR when = NT_SUCCESS(irp->IoStatus.Status) ? SL_INVOKE_ON_SUCCESS : SL_INVOKE_ON_ERROR;

    return location->CompletionRoutine &&
           (location->Control & when || (irp->Cancel && location->Control & SL_INVOKE_ON_CANCEL));
}

/* True: the routine keeps the request, which may be gone by now. */
static bool is_kept(struct nt *nt, struct nt_request *request, const IO_STACK_LOCATION *location)
{
    PIRP irp = &request->irp;
    const uint64_t number = request->number;
    PIO_COMPLETION_ROUTINE routine = location->CompletionRoutine;
    PDEVICE_OBJECT device = current_device(irp);

    if (routine != nt_request_wake)
        routine = (PIO_COMPLETION_ROUTINE)nt_driver_function(nt, (const void *)routine);
    if (routine && routine(device, irp, location->Context) == STATUS_MORE_PROCESSING_REQUIRED)
        return true;
    if (nt_request_is_alive(nt, irp, number))
        return false;
    nt_misuse(nt, "a completion routine has ended its request and does not return "
                  "STATUS_MORE_PROCESSING_REQUIRED");
    return true;
}

void nt_request_complete(struct nt *nt, struct nt_request *request)
{
    PIRP irp = &request->irp;

    while (irp->CurrentLocation <= irp->StackCount) {
        const IO_STACK_LOCATION done = *IoGetCurrentIrpStackLocation(irp);

        IoSkipCurrentIrpStackLocation(irp);
        irp->PendingReturned = (done.Control & SL_PENDING_RETURNED) != 0;
        if (wants_to_know(irp, &done)) {
            if (is_kept(nt, request, &done))
                return;
        } else if (irp->PendingReturned && irp->CurrentLocation <= irp->StackCount) {
            IoMarkIrpPending(irp);
        }
    }
    if (request->is_of_driver) {
        nt_misuse(nt, "a request that the driver has allocated is completed to its end: the "
                      "driver's completion routine frees it and returns "
                      "STATUS_MORE_PROCESSING_REQUIRED");
        nt_request_free(request);
        return;
    }
    finish(request);
}

VOID NTAPI IofCompleteRequest(PIRP Irp, CCHAR PriorityBoost)
{
    struct nt *nt = nt_current();
    struct nt_request *request = nt_request_of(nt, "IofCompleteRequest", Irp);

    nt_require_irql(nt, "IofCompleteRequest", DISPATCH_LEVEL);
    if (!request)
        return;
    if (Irp->CurrentLocation > Irp->StackCount)
        KeBugCheckEx(NT_MULTIPLE_IRP_COMPLETE_REQUESTS, (ULONG_PTR)Irp, 0, 0, 0);
    nt_request_complete(nt, request);
}

/* ---- Requests of the driver's ---------------------------------------------------------------- */

PIRP NTAPI IoAllocateIrp(CCHAR StackSize, BOOLEAN ChargeQuota)
{
    struct nt *nt = nt_current();
    struct nt_request *request = StackSize > 0 ? allocate(nt, StackSize) : NULL;

    nt_require_irql(nt, "IoAllocateIrp", DISPATCH_LEVEL);
    if (!request)
        return NULL;
    request->is_of_driver = true;
    return &request->irp;
}

/* One that the driver may free and use again; NULL, and a misuse. */
static struct nt_request *of_driver(struct nt *nt, const char *service, PIRP irp)
{
    struct nt_request *request = nt_request_of(nt, service, irp);

    nt_require_irql(nt, service, DISPATCH_LEVEL);
    if (!request || request->is_of_driver)
        return request;
    nt_misuse(nt,
              "%s: the request was not allocated with IoAllocateIrp or "
              "IoBuildAsynchronousFsdRequest",
              service);
    return NULL;
}

VOID NTAPI IoFreeIrp(PIRP Irp)
{
    struct nt_request *request = of_driver(nt_current(), "IoFreeIrp", Irp);

    if (request)
        nt_request_free(request);
}

VOID NTAPI IoReuseIrp(PIRP Irp, NTSTATUS Status)
{
    struct nt_request *request = of_driver(nt_current(), "IoReuseIrp", Irp);

    if (!request)
        return;
    free_buffer(request);
    request->out = NULL;
    request->out_bytes = 0;
    begin(Irp, request->locations, Irp->StackCount);
    Irp->IoStatus.Status = Status;
}

NTSTATUS NTAPI IoSetCompletionRoutineEx(PDEVICE_OBJECT Device, PIRP Irp,
                                        PIO_COMPLETION_ROUTINE Routine, PVOID Context,
                                        BOOLEAN OnSuccess, BOOLEAN OnError, BOOLEAN OnCancel)
{
    nt_require_irql(nt_current(), "IoSetCompletionRoutineEx", DISPATCH_LEVEL);
    IoSetCompletionRoutine(Irp, Routine, Context, OnSuccess, OnError, OnCancel);
    return STATUS_SUCCESS;
}

/* ---- Cancelling ------------------------------------------------------------------------------ */

static KIRQL acquire_cancel_lock(struct nt *nt)
{
    const KIRQL irql = nt_set_irql(nt, DISPATCH_LEVEL);

    nt_spin_lock_acquire(nt, &requests_of(nt)->cancel_lock);
    return irql;
}

static void release_cancel_lock(struct nt *nt, KIRQL irql)
{
    nt_spin_lock_release(nt, &requests_of(nt)->cancel_lock);
    nt_set_irql(nt, irql);
}

VOID NTAPI IoAcquireCancelSpinLock(PKIRQL Irql)
{
    nt_require_irql(nt_current(), "IoAcquireCancelSpinLock", DISPATCH_LEVEL);
    *Irql = acquire_cancel_lock(nt_current());
}

VOID NTAPI IoReleaseCancelSpinLock(KIRQL Irql)
{
    release_cancel_lock(nt_current(), Irql);
}

/* The driver's routine releases the lock, with the packet's CancelIrql. */
BOOLEAN NTAPI IoCancelIrp(PIRP Irp)
{
    struct nt *nt = nt_current();
    PDRIVER_CANCEL routine;
    KIRQL irql;

    nt_require_irql(nt, "IoCancelIrp", DISPATCH_LEVEL);
    if (!nt_request_of(nt, "IoCancelIrp", Irp))
        return FALSE;
    irql = acquire_cancel_lock(nt);
    Irp->Cancel = TRUE;
    routine = Irp->CancelRoutine
                  ? (PDRIVER_CANCEL)nt_driver_function(nt, (const void *)Irp->CancelRoutine)
                  : NULL;
    if (!routine) {
        release_cancel_lock(nt, irql);
        return FALSE;
    }
    Irp->CancelRoutine = NULL;
    Irp->CancelIrql = irql;
    routine(current_device(Irp), Irp);
    if (requests_of(nt)->cancel_lock) {
        nt_misuse(nt, "a cancel routine returns without IoReleaseCancelSpinLock");
        release_cancel_lock(nt, irql);
    }
    return TRUE;
}

static void init(struct nt *nt)
{
    list_init(&requests_of(nt)->under_way);
}

static const struct nt_export services[] = {
    NT_SERVICE(IofCompleteRequest),
    NT_SERVICE(IoAllocateIrp),
    NT_SERVICE(IoFreeIrp),
    NT_SERVICE(IoReuseIrp),
    NT_SERVICE(IoSetCompletionRoutineEx),
    NT_SERVICE(IoAcquireCancelSpinLock),
    NT_SERVICE(IoReleaseCancelSpinLock),
    NT_SERVICE(IoCancelIrp),
    {0},
};

const struct nt_area nt_request_area = {
    .exports = services,
    .state_bytes = sizeof(struct requests),
    .init = init,
};
