/*
 * Test rig, run: what tests call. Completions in a seeded order, life of a rig, allocations, work.
 *
 * Place  vidmm, tests only; see test_rig.h.
 */
#ifndef DRYDOCK_VIDMM_TEST_RIG_RUN_H
#define DRYDOCK_VIDMM_TEST_RIG_RUN_H

#include "vidmm/rig/test_rig_driver.h"

/* ---- Completion ------------------------------------------------------------------------------ */

/* Runs the first packet of the node and raises its interrupt; the DPC comes with rig_tell(). */
void rig_run_next(struct rig *rig, unsigned node);
void rig_tell(struct rig *rig);

/* One thing that the machine may do next; false: there is nothing. */
bool rig_step_machine(struct rig *rig);

/* Runs the machine until nothing is pending; a manager that waits for nothing hangs: an error. */
void rig_drain(struct rig *rig);

/* The GPU will never run what it has. */
void rig_forget_packets(struct rig *rig);
/* ... and the driver forgets its operations, too. */
void rig_forget_work(struct rig *rig);

/*
 * The GPU has hung: it forgets its packets, the driver its operations, and it builds nothing from
 * now on, because what the model knows of the places of things is void.
 */
void rig_hang(struct rig *rig);

/* ---- Life ------------------------------------------------------------------------------------ */

/* The machine without a manager. */
struct rig *rig_new(const struct rig_config *config);

/* Behind rig_new(): options of the manager that change how content moves, and not what it is. */
void rig_draw_options(struct rig *rig, uint64_t seed);

/* All or nothing, and the status that says why. */
NTSTATUS rig_start(struct rig *rig);
NTSTATUS rig_open(struct rig *rig);

/* A started manager with a process, a device and a context. */
struct rig *rig_create(const struct rig_config *config);

/* Everything has been destroyed: whatever is left over is a leak. */
void rig_free(struct rig *rig);

/* ---- What clients do ------------------------------------------------------------------------- */

struct rig_object {
    struct vidmm_allocation *allocation; /* NULL: none */
    struct rig_allocation *driver;
    uint64_t pages;
    uint64_t va; /* GpuMmu, mapped whole */
    unsigned references;
};

struct rig_done {
    unsigned calls;
    NTSTATUS status;
    uint64_t needed, available;
};

void rig_done(void *context, NTSTATUS status, uint64_t needed, uint64_t available);
NTSTATUS rig_try_object(struct rig *rig, struct vidmm_device *device,
                        const struct rig_request *request, struct rig_object *object);

/* In one segment: id from 1; the aperture is segment_count. */
void rig_object(struct rig *rig, uint64_t pages, unsigned segment, struct rig_object *object);
void rig_destroy_object(struct rig *rig, struct rig_object *object);
void rig_make_resident(struct rig *rig, struct rig_object *object);
void rig_evict(struct rig *rig, struct rig_object *object);
void rig_map(struct rig *rig, struct rig_object *object);
void rig_lock(struct rig *rig, struct rig_object *object);

/* The CPU compares every page with the model, or writes new content to all of them. */
void rig_touch_locked(struct rig *rig, struct rig_object *object, bool is_write);
void rig_cpu(struct rig *rig, struct rig_object *object, bool is_write);

/* One packet that touches some pages of each object; resident and mapped, in GpuMmu. */
NTSTATUS rig_gpu_in(struct rig *rig, struct vidmm_context *context,
                    struct rig_object *const *objects, unsigned count, unsigned step_count,
                    vidmm_done done, void *done_context);
void rig_gpu(struct rig *rig, struct rig_object *object, unsigned step_count);

/* How often an operation was given to the driver. */
uint64_t rig_count(const struct rig *rig, unsigned operation);

/* The three update modes and the physical model. */
struct rig_config rig_model(unsigned index);

#define RIG_MODELS 4

#endif
