#include "nt/devices/request.h"

#include "nt/nt_private.h"

#include <string.h>

#define IO_TYPE_IRP 6

/* The state of the area: of struct nt_request. */
static struct list *requests(const struct nt *nt)
{
    return NT_STATE(nt, request);
}

struct nt_request *nt_request_create(struct nt *nt, UCHAR major, PDEVICE_OBJECT device,
                                     PKEVENT event, PIO_STATUS_BLOCK result)
{
    struct nt_request *request =
        ExAllocatePool2(POOL_FLAG_NON_PAGED, sizeof *request, NT_REQUEST_TAG);

    if (!request)
        return NULL;
    request->irp.Type = IO_TYPE_IRP;
    request->irp.Size = sizeof request->irp + sizeof request->location;
    request->irp.StackCount = 1;
    request->irp.CurrentLocation = 2;
    request->irp.UserIosb = result;
    request->irp.UserEvent = event;
    request->irp.Tail.Overlay.CurrentStackLocation = &request->location + 1;
    request->irp.Tail.Overlay.Thread = KeGetCurrentThread();
    request->location.MajorFunction = major;
    request->location.DeviceObject = device;
    list_push_back(requests(nt), &request->link);
    return request;
}

void nt_request_free(struct nt_request *request)
{
    list_remove(&request->link);
    if (request->buffer_bytes)
        ExFreePoolWithTag(request->irp.AssociatedIrp.SystemBuffer, NT_REQUEST_TAG);
    ExFreePoolWithTag(request, NT_REQUEST_TAG);
}

void nt_request_finish(struct nt_request *request)
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

struct nt_request *nt_request_of(struct nt *nt, const char *service, PIRP irp)
{
    struct nt_request *request;

    list_for_each (request, requests(nt), struct nt_request, link) {
        if (&request->irp == irp)
            return request;
    }
    nt_misuse(nt, "%s: there is no such request, or it was completed before", service);
    return NULL;
}

VOID NTAPI IofCompleteRequest(PIRP Irp, CCHAR PriorityBoost)
{
    struct nt *nt = nt_current();
    struct nt_request *request = nt_request_of(nt, "IofCompleteRequest", Irp);

    nt_require_irql(nt, "IofCompleteRequest", DISPATCH_LEVEL);
    if (!request)
        return;
    if (request->is_complete) {
        nt_misuse(nt, "IofCompleteRequest: the request is completed a second time");
        return;
    }
    request->is_complete = true;
    if (!request->calls)
        nt_request_finish(request); /* it was pending */
}

static void init(struct nt *nt)
{
    list_init(requests(nt));
}

static const struct nt_export services[] = {
    NT_SERVICE(IofCompleteRequest),
    {0},
};

const struct nt_area nt_request_area = {
    .exports = services,
    .state_bytes = sizeof(struct list),
    .init = init,
};
