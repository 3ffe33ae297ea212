/*
 * Seen, inside: what its files do for each other. A file calls only files below it.
 *
 * Model      seen.c         | processes, and what calls do with what they have
 *            seen_sharing.c | what processes share, and keyed mutexes
 *            seen_calls.c   | what a call hands in, waits for or signals
 *            seen_objects.c | objects by handle
 */
#ifndef DRYDOCK_CLIENTS_SEEN_OWN_H
#define DRYDOCK_CLIENTS_SEEN_OWN_H

#include "clients/seen.h"

/* ---- seen_objects.c ---- */

/* body: one that is there already; NULL: a new one. NULL: no memory, and the sight is lost. */
struct seen_object *seen_add_sight(struct seen *seen, struct seen_process *process,
                                   enum seen_kind kind, D3DKMT_HANDLE handle,
                                   struct seen_object *device, struct seen_body *body);
void seen_free_object(struct seen_object *object);
void seen_drop_body(struct seen_body *body);
/* The object is not one of its sights any more. */
void seen_leave_shared(struct seen_object *object);
/* What a user-mode driver of the Drydock GPU says. */
void seen_note_private_data(struct seen_object *allocation, const void *private_data, UINT bytes);

/* ---- seen_sharing.c ---- */

void seen_free_shared(struct seen *seen, struct seen_shared *shared);
/* A resource that was made to be shared: its allocations follow. NULL: no memory. */
struct seen_shared *seen_share_resource(struct seen *seen, const struct client_call *call);
void seen_share_fence(struct seen *seen, struct seen_object *fence, uint64_t name);
/* The sight is of it; an allocation's body is the resource's. */
void seen_keep_shared(struct seen_shared *shared, struct seen_object *sight);
void seen_keep_body(struct seen_shared *shared, struct seen_object *sight);
/* A call has ended that shares, opens, or has to do with keyed mutexes. */
void seen_sharing_ended(struct seen *seen, struct seen_process *process,
                        const struct client_call *call);

#endif
