/*
 * Seen, inside: what seen.c and seen_sharing.c do for each other.
 *
 * Model      seen.c         | objects of processes, and what calls do with them
 *            seen_sharing.c | what processes share, and keyed mutexes
 *            seen_calls.c   | what a call hands in, waits for or signals
 */
#ifndef DRYDOCK_CLIENTS_SEEN_OWN_H
#define DRYDOCK_CLIENTS_SEEN_OWN_H

#include "clients/seen.h"

/* ---- seen.c ---- */

/* body: one that is there already; NULL: a new one. NULL: no memory, and the sight is lost. */
struct seen_object *seen_add_sight(struct seen *seen, struct seen_process *process,
                                   enum seen_kind kind, D3DKMT_HANDLE handle,
                                   struct seen_object *device, struct seen_body *body);
void seen_drop_body(struct seen_body *body);
/* What a user-mode driver of the Drydock GPU says. */
void seen_note_private_data(struct seen_object *allocation, const void *private_data, UINT bytes);

/* ---- seen_sharing.c ---- */

void seen_free_shared(struct seen *seen, struct seen_shared *shared);
/* The object is not one of its sights any more. */
void seen_leave_shared(struct seen_object *object);
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
