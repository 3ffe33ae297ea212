/*
 * Owned: the arrays behind a workload, and the line of an error.
 *
 * Place      workload, private to the module. Uses base only, and calls no other file of the
 *            module, so that every file can use it.
 * Model      struct workload is a view. The arrays behind it grow in struct workload_owned, which
 *            begins with the view.
 * Ownership  workload_owned_create() gives a workload without content, ended by
 *            workload_owned_free().
 * Errors     bool: false when there is no memory, and then nothing has changed.
 */
#ifndef WORKLOAD_OWNED_H
#define WORKLOAD_OWNED_H

#include "base/services.h"
#include "workload/workload.h"

struct workload_owned {
    struct workload view; /* first: workload_free() and workload_set_option() rely on it */
    const struct base_services *services;
    struct workload_option *options;
    struct workload_process *processes;
    struct workload_device *devices;
    struct workload_context *contexts;
    struct workload_allocation *allocations;
    struct workload_op *ops;
    struct workload_ref *refs;
    char *strings;
    char *path;
    uint32_t option_room;
    uint32_t process_room;
    uint32_t device_room;
    uint32_t context_room;
    uint32_t allocation_room;
    uint32_t op_room;
    uint32_t ref_room;
    uint32_t string_room;
    size_t path_bytes;
    uint32_t title; /* offset into strings */
    uint64_t largest_submission_bytes;
};

/* NULL without memory. It has the path, and the empty string at offset 0. */
struct workload_owned *workload_owned_create(const struct base_services *services,
                                             const char *path);
void workload_owned_free(struct workload_owned *owned);

/* Points the view at the arrays, which may have moved. */
void workload_owned_publish(struct workload_owned *owned);

/* Room for one more element of an array; false when there is no memory. The array may move. */
bool workload_grow(const struct base_services *services, void *array, uint32_t *room,
                   uint32_t count, uint32_t more, size_t element_size);

/* Makes the line of an error; nothing where error is NULL. */
void workload_error_set(struct workload_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
