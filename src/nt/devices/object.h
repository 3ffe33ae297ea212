/*
 * Object: something of the kernel's with references, and with handles that stand for it.
 *
 * Place      nt, private. Threads, events with handles, keys of the registry: their makers embed a
 *            struct nt_object.
 * Model      An object lives until its last reference is given up. A handle is one; a pointer that
 *            ObReferenceObjectByHandle() gave is another. Drivers hold the address of its body,
 *            which may be anything of the maker's; the object is found by that address.
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

/* With one reference, the caller's. */
void nt_object_init(struct nt *nt, struct nt_object *object, const struct nt_object_type *type,
                    void *body);

void nt_object_reference(struct nt_object *object);
void nt_object_dereference(struct nt *nt, struct nt_object *object);

/* A handle, which holds a reference of its own. STATUS_INSUFFICIENT_RESOURCES. */
NTSTATUS nt_handle_create(struct nt *nt, struct nt_object *object, HANDLE *out_handle);

/*
 * The object of a handle, without a reference. NULL: there is no such handle, or its object is not
 * of this type (NULL: any).
 */
struct nt_object *nt_handle_find(struct nt *nt, HANDLE handle, const struct nt_object_type *type);

/* False: there is no such handle. */
bool nt_handle_close(struct nt *nt, HANDLE handle);

/* Types that drivers name by a variable of the kernel; the makers of the objects define them. */
extern const struct nt_object_type nt_thread_type, nt_process_type, nt_event_type, nt_file_type;

#endif
