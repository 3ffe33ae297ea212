/*
 * Registry: the keys and values that a driver finds and writes.
 *
 * Place      nt, private.
 * Model      A tree in memory, one for each run: it begins with the keys that every system has,
 *            those of the service of the driver and those that the installation of a display device
 *            leaves, and it ends with the run. Names compare without case; a path goes from the
 *            root.
 * Ownership  The kernel's, with all keys and values.
 * Errors     NTSTATUS as the services.
 */
#ifndef DRYDOCK_NT_REGISTRY_H
#define DRYDOCK_NT_REGISTRY_H

#include "base/list.h"
#include "nt/nt.h"

struct nt_value {
    struct list link;
    UNICODE_STRING name;
    ULONG type;
    ULONG bytes;
    UCHAR *data;
};

struct nt_key {
    struct nt_key *parent; /* NULL: the root */
    struct list link;      /* among its parent's */
    struct list keys, values;
    UNICODE_STRING name;
};

/* Where the driver's parts are. */
#define NT_REGISTRY_SERVICES "\\Registry\\Machine\\System\\CurrentControlSet\\Services"
#define NT_REGISTRY_CONTROL  "\\Registry\\Machine\\System\\CurrentControlSet\\Control"
#define NT_REGISTRY_DEVICE                                                                         \
    "\\Registry\\Machine\\System\\CurrentControlSet\\Enum\\PCI\\drydock\\0\\Device Parameters"
#define NT_REGISTRY_DRIVER                                                                         \
    NT_REGISTRY_CONTROL "\\Class\\{4d36e968-e325-11ce-bfc1-08002be10318}\\0000"

/*
 * From a key, or the root for NULL, by a path. Creates missing keys when out_is_new is given.
 * STATUS_OBJECT_NAME_NOT_FOUND, STATUS_NO_MEMORY.
 */
NTSTATUS nt_key_find(struct nt *nt, struct nt_key *from, PCWSTR path, size_t characters,
                     bool *out_is_new, struct nt_key **out_key);
NTSTATUS nt_key_find_text(struct nt *nt, const char *path, bool *out_is_new,
                          struct nt_key **out_key);

/* NULL: there is none. */
struct nt_value *nt_value_find(const struct nt_key *key, PCWSTR name, size_t characters);
NTSTATUS nt_value_set(struct nt *nt, struct nt_key *key, PCWSTR name, size_t characters, ULONG type,
                      const void *data, ULONG bytes);
/* Nothing of this name is there, and somebody asked: for nt_host.in_vain. */
void nt_value_lacks(struct nt *nt, const struct nt_key *key, PCWSTR name, size_t characters);
void nt_value_delete(struct nt *nt, struct nt_value *value);

/* STATUS_INVALID_HANDLE, STATUS_OBJECT_TYPE_MISMATCH. */
NTSTATUS nt_key_of_handle(struct nt *nt, HANDLE handle, struct nt_key **out_key);

#endif
