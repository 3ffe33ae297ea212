/*
 * Area: one group of kernel services, in one source file.
 *
 * Place      nt, private. nt.c makes a table of NT_AREAS; everything else goes through it.
 * Model      An area names its services, and says how much state it keeps for each kernel. Its
 *            functions tell it when a kernel begins and ends, when memory of the driver is freed,
 *            and when somebody asks what the driver has left. All of them may be NULL.
 *
 *            init, left and freed are called in the order of NT_AREAS, end_threads and fini in the
 *            opposite order. So an area may use the areas before it until its own end.
 *
 *            To add an area: a file that defines nt_NAME_area, and its name below.
 * Ownership  The state is zeroed memory of the kernel's, freed with it: NT_STATE(nt, timer).
 */
#ifndef DRYDOCK_NT_AREA_H
#define DRYDOCK_NT_AREA_H

#include "nt/exports.h"
#include "nt/nt.h"

/*
 * The areas in their order. Mappings end before the reserved ranges that they point to, and the
 * pages of MDLs behind both. From bitmap on areas have services only, or state that needs no end.
 */
#define NT_AREAS(X)                                                                                \
    X(pool_blocks)                                                                                 \
    X(mdl)                                                                                         \
    X(thread)                                                                                      \
    X(object)                                                                                      \
    X(process)                                                                                     \
    X(scheduler)                                                                                   \
    X(work_item)                                                                                   \
    X(timer)                                                                                       \
    X(dpc)                                                                                         \
    X(request)                                                                                     \
    X(other_device)                                                                                \
    X(device)                                                                                      \
    X(device_stack)                                                                                \
    X(interrupt)                                                                                   \
    X(callback_object)                                                                             \
    X(lookaside)                                                                                   \
    X(remove_lock)                                                                                 \
    X(wait)                                                                                        \
    X(reserved_mapping)                                                                            \
    X(mapping)                                                                                     \
    X(device_memory)                                                                               \
    X(device_interface)                                                                            \
    X(device_property)                                                                             \
    X(registry)                                                                                    \
    X(auxiliary)                                                                                   \
    X(bitmap)                                                                                      \
    X(bug_check)                                                                                   \
    X(bus_data)                                                                                    \
    X(calendar)                                                                                    \
    X(clock)                                                                                       \
    X(debug)                                                                                       \
    X(driver_object)                                                                               \
    X(event)                                                                                       \
    X(exception_services)                                                                          \
    X(file)                                                                                        \
    X(float_state)                                                                                 \
    X(generic_table)                                                                               \
    X(interlocked)                                                                                 \
    X(irql)                                                                                        \
    X(memory)                                                                                      \
    X(mutex)                                                                                       \
    X(object_services)                                                                             \
    X(pool)                                                                                        \
    X(port)                                                                                        \
    X(register_access)                                                                             \
    X(registry_query)                                                                              \
    X(request_send)                                                                                \
    X(resource)                                                                                    \
    X(resource_list)                                                                               \
    X(runtime)                                                                                     \
    X(shared_data)                                                                                 \
    X(spin_lock)                                                                                   \
    X(system)                                                                                      \
    X(text)                                                                                        \
    X(unicode)                                                                                     \
    X(wide_text)

enum {
#define X(area) NT_AREA_##area,
    NT_AREAS(X)
#undef X
        NT_AREA_COUNT
};

typedef void nt_leftover(void *context, const char *text);

struct nt_area {
    const struct nt_export *exports; /* ended by a row without a name */
    size_t state_bytes;
    void (*init)(struct nt *nt);
    /* Threads of the driver are about to end where they stand. May be called more than once. */
    void (*end_threads)(struct nt *nt);
    void (*fini)(struct nt *nt);
    /* A sentence for each thing of the driver's that is still set, queued, registered or open. */
    void (*left)(struct nt *nt, nt_leftover *tell, void *context);
    /* Memory of the driver ends, with whatever of this area still lies in it. */
    void (*freed)(struct nt *nt, const void *memory, uint64_t bytes);
};

#define X(area) extern const struct nt_area nt_##area##_area;
NT_AREAS(X)
#undef X

/*
 * Tells every area: memory of the driver is about to be freed. A timer, a DPC or a work item in it
 * is a bug check.
 */
void nt_memory_freed(struct nt *nt, const void *memory, uint64_t bytes);

/* Services of all areas of a table, by number from 0; NULL behind the last. */
const struct nt_export *nt_area_export_at(const struct nt_area *const *areas, size_t index);
const struct nt_export *nt_area_find_export(const struct nt_area *const *areas, const char *name);

#endif
