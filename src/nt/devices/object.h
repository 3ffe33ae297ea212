/*
 * Object: what has references, and handles that stand for it.
 *
 * Place      nt, private. Threads, events with handles, keys of the registry: whoever makes one
 *            embeds a struct nt_object.
 * Model      An object lives until its last reference is given up. A handle is one; a pointer that
 *            ObReferenceObjectByHandle() gave is another. What drivers hold is the address of its
 *            body, which may be anything of the maker's, and the object is found by it.
 * Ownership  The maker's memory; destroy() gives it back.
 * Errors     NTSTATUS as the services that they serve.
 */
#ifndef DRYDOCK_NT_OBJECT_H
#define DRYDOCK_NT_OBJECT_H

#include "base/list.h"
#include "nt/nt.h"

struct nt_object;

struct nt_object_type {
    const char *name; /* "thread" */
    /* Behind the last reference; it is on no list any more. */
    void (*destroy)(struct nt *nt, struct nt_object *object);
};

struct nt_object {
    struct list link; /* in nt->objects */
    const struct nt_object_type *type;
    void *body;
    uint32_t references, handles; /* a handle is a reference */
    bool is_held;                 /* one more is the bench's own */
};

struct nt_handle {
    struct nt_object *object; /* NULL: free */
};

/* With one reference, the caller's. */
void nt_object_init(struct nt *nt, struct nt_object *object, const struct nt_object_type *type,
                    void *body);

void nt_object_reference(struct nt_object *object);
void nt_object_dereference(struct nt *nt, struct nt_object *object);

/* A handle, which holds a reference of its own. STATUS_INSUFFICIENT_RESOURCES. */
NTSTATUS nt_handle_create(struct nt *nt, struct nt_object *object, HANDLE *out_handle);

/*
 * What the handle stands for, without a reference. NULL: nothing, or not an object of this type
 * (NULL: any).
 */
struct nt_object *nt_handle_find(struct nt *nt, HANDLE handle, const struct nt_object_type *type);

void nt_objects_init(struct nt *nt);
void nt_objects_fini(struct nt *nt); /* handles only: objects are their makers' */

#endif
