/*
 * The arrays behind a workload, which grow by doubling, and the one line of an error.
 */
#include "workload/owned.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void workload_error_set(struct workload_error *error, const char *format, ...)
{
    va_list arguments;

    if (!error)
        return;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
}

bool workload_grow(const struct base_services *services, void *array, uint32_t *room,
                   uint32_t count, uint32_t more, size_t element_size)
{
    void *old, *grown;
    uint64_t wanted = (uint64_t)count + more;
    uint64_t new_room = *room ? *room : 16;

    if (wanted <= *room)
        return true;
    while (new_room < wanted)
        new_room *= 2;
    if (new_room > UINT32_MAX)
        return false;
    grown = base_alloc_array(services, (size_t)new_room, element_size);
    if (!grown)
        return false;
    memcpy(&old, array, sizeof old);
    if (count)
        memcpy(grown, old, (size_t)count * element_size);
    base_free_array(services, old, *room, element_size);
    memcpy(array, &grown, sizeof grown);
    *room = (uint32_t)new_room;
    return true;
}

void workload_owned_free(struct workload_owned *owned)
{
    const struct base_services *services = owned->services;

    base_free_array(services, owned->options, owned->option_room, sizeof *owned->options);
    base_free_array(services, owned->processes, owned->process_room, sizeof *owned->processes);
    base_free_array(services, owned->devices, owned->device_room, sizeof *owned->devices);
    base_free_array(services, owned->contexts, owned->context_room, sizeof *owned->contexts);
    base_free_array(services, owned->allocations, owned->allocation_room,
                    sizeof *owned->allocations);
    base_free_array(services, owned->ops, owned->op_room, sizeof *owned->ops);
    base_free_array(services, owned->refs, owned->ref_room, sizeof *owned->refs);
    base_free_array(services, owned->strings, owned->string_room, 1);
    base_free(services, owned->path, owned->path_bytes);
    base_free(services, owned, sizeof *owned);
}

struct workload_owned *workload_owned_create(const struct base_services *services, const char *path)
{
    struct workload_owned *owned = base_alloc(services, sizeof *owned);
    size_t path_bytes = strlen(path) + 1;

    if (!owned)
        return NULL;
    owned->services = services;
    owned->path_bytes = path_bytes;
    owned->path = base_alloc(services, path_bytes);
    /* Offset 0 of the strings is the empty string. */
    if (!owned->path || !workload_grow(services, &owned->strings, &owned->string_room, 0, 1, 1)) {
        workload_owned_free(owned);
        return NULL;
    }
    memcpy(owned->path, path, path_bytes);
    owned->strings[0] = '\0';
    owned->view.string_bytes = 1;
    return owned;
}

void workload_free(struct workload *workload)
{
    if (workload)
        workload_owned_free((struct workload_owned *)workload);
}

void workload_owned_publish(struct workload_owned *owned)
{
    struct workload *view = &owned->view;

    view->options = owned->options;
    view->processes = owned->processes;
    view->devices = owned->devices;
    view->contexts = owned->contexts;
    view->allocations = owned->allocations;
    view->ops = owned->ops;
    view->refs = owned->refs;
    view->strings = owned->strings;
    view->path = owned->path;
    view->name = owned->strings + owned->title;
}
