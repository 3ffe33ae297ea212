/*
 * Requests: they are made, and wait in line until residency.c serves them.
 *
 * Source     contract.md RES-001..005.
 */
#include "vidmm/residency/request.h"

#include "vidmm/memory/allocation_use.h"
#include "vidmm/residency/turns.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/list.h"
#include "base/services.h"

NTSTATUS request_create(struct vidmm_device *device, unsigned count, vidmm_done done, void *context,
                        struct request **out_request)
{
    struct vidmm *vidmm = device->vidmm;
    size_t bytes = sizeof(struct request) + (size_t)count * sizeof(struct vidmm_allocation *);
    struct request *request;

    *out_request = NULL;
    request = base_alloc(vidmm->services, bytes);
    if (!request)
        return STATUS_NO_MEMORY;
    request->vidmm = vidmm;
    request->device = device;
    request->done = done;
    request->context = context;
    request->count = count;
    request->bytes = bytes;
    list_init(&request->link);
    *out_request = request;
    return STATUS_SUCCESS;
}

NTSTATUS request_create_for_tables(struct vidmm *vidmm, uint64_t table_bytes,
                                   NTSTATUS (*make_tables)(void *subject), vidmm_done done,
                                   void *subject, struct request **out_request)
{
    struct request *request;

    *out_request = NULL;
    request = base_alloc(vidmm->services, sizeof *request);
    if (!request)
        return STATUS_NO_MEMORY;
    request->vidmm = vidmm;
    request->make_tables = make_tables;
    request->table_bytes = table_bytes;
    request->done = done;
    request->context = subject;
    request->bytes = sizeof *request;
    list_init(&request->link);
    *out_request = request;
    return STATUS_SUCCESS;
}

void request_free(struct request *request)
{
    base_free(request->vidmm->services, request, request->bytes);
}

/*
 * A request that waits for its turn holds nothing; but it uses its allocations, so that one that is
 * destroyed meanwhile stays.
 */
static void begin_waiting(struct request *request)
{
    unsigned i;

    for (i = 0; i < request->count; i++)
        allocation_use(request->allocations[i]);
    if (!request->device)
        return;
    request->device->pending_requests++;
    if (request->device->process->turn.order == VIDMM_NO_TURN)
        request->vidmm->turns.has_newcomer = true;
}

static const struct request *last_in_line(const struct vidmm *vidmm)
{
    return list_is_empty(&vidmm->requests)
               ? NULL
               : container_of(vidmm->requests.prev, struct request, link);
}

void request_queue(struct request *request)
{
    begin_waiting(request);
    if (notes_are_heard(request->vidmm))
        note_request(request, last_in_line(request->vidmm));
    list_push_back(&request->vidmm->requests, &request->link);
}

void request_queue_first(struct request *request)
{
    begin_waiting(request);
    if (notes_are_heard(request->vidmm))
        note_request(request, NULL);
    list_push_front(&request->vidmm->requests, &request->link);
}
