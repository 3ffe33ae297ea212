/*
 * Kept object: a shared object of the user's, which a process loads once and keeps.
 *
 * Place      bench, for policies and clients in files (policy_file.h, client_file.h).
 * Model      A process whose cage is closed may load no library any more, but plays on with what it
 *            has. So an object stays from one run to the next, until another one takes its place.
 *            It runs with the rights of the process (docs/security.md).
 * Ownership  The process keeps the object.
 * Errors     A sentence about why it cannot be loaded, valid until the next call.
 */
#ifndef DRYDOCK_BENCH_KEPT_OBJECT_H
#define DRYDOCK_BENCH_KEPT_OBJECT_H

/* What the crash recorder says while such an object, or a GPU model, is loaded. */
#define KEPT_OBJECT_LOADING "the shared object, while it is loaded"

struct kept_object {
    char path[1024];
    void *object; /* of dlopen(); NULL: none has been loaded */
};

/* The object of this path is kept->object; NULL, or why it is not. */
const char *kept_object_load(struct kept_object *kept, const char *path);

#endif
