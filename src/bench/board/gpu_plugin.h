/*
 * GPU plug-in: the hardware of a run is a shared object (include/drydock/gpu_model.h).
 *
 * Place      bench. Answers BAR 0 for the machine; calls the model, and is called by it.
 * Model      Everything that the model wants to happen later is an event of the machine: what it
 *            scheduled, and its interrupts, which come HOST latency after they were raised, in
 *            order. Without power registers read as ones and neither comes.
 * Ownership  gpu_plugin_load() gives it; it borrows the machine. Observer and host are borrowed
 *            until it is unloaded; they may be set later than it is loaded. While a function of the
 *            model runs, the recorder knows: a crash or an end that does not come is the model's
 *            then, and so is what goes on without end though the driver is given nothing.
 * Errors     False and a sentence that names the file.
 */
#ifndef DRYDOCK_BENCH_GPU_PLUGIN_H
#define DRYDOCK_BENCH_GPU_PLUGIN_H

#include "bench/board/host.h"
#include "machine/machine.h"

#include <drydock/gpu_model.h>

#include <stdbool.h>
#include <stddef.h>

struct gpu_plugin;

#define GPU_PLUGIN_ERROR_BYTES 400

/* A name with a slash in it, or that ends in ".so". */
bool gpu_plugin_is_path(const char *name);

bool gpu_plugin_load(const struct base_services *services, const char *path,
                     struct machine *machine, struct gpu_plugin **out,
                     char error[GPU_PLUGIN_ERROR_BYTES]);
/* NULL is fine. */
void gpu_plugin_unload(struct gpu_plugin *plugin);

/* A command that takes effect, as the model says (executes()). */
struct gpu_plugin_command {
    uint32_t node;
    uint64_t address;
    uint32_t bytes; /* 0: none that is known */
};

/* Callbacks of the model. An access with a store of NULL is not reported. */
struct gpu_plugin_observer {
    void *context;
    void (*fault)(void *context, uint32_t node, uint32_t fence, uint64_t address, const char *text,
                  const struct gpu_plugin_command *command);
    /* A command has written there. */
    void (*wrote)(void *context, const struct gpu_plugin_command *command, struct page_store *store,
                  uint64_t address, uint64_t bytes);
    void (*begin)(void *context, uint64_t token, uint32_t node);
    void (*read)(void *context, uint64_t token, uint32_t index, uint64_t offset,
                 struct page_store *store, uint64_t address, uint64_t bytes);
    void (*write)(void *context, uint64_t token, uint32_t index, uint64_t offset,
                  struct page_store *store, uint64_t address, uint64_t bytes);
    void (*end)(void *context, uint64_t token);
    /* root NULL: of every address space. */
    void (*flushed)(void *context, const struct drydock_gpu_place *root, uint64_t start,
                    uint64_t end);
    /* The model never comes to rest; text is a sentence that says so. Need not return. */
    void (*endless)(void *context, const char *text);
};
/* Functions may be NULL. */
void gpu_plugin_set_observer(struct gpu_plugin *plugin, const struct gpu_plugin_observer *observer);

/* The host whose interrupt routine is called; NULL: none. */
void gpu_plugin_set_host(struct gpu_plugin *plugin, struct bench_host *host);

void gpu_plugin_power(struct gpu_plugin *plugin, bool is_on);

/* Every flush of translations comes to the observer. */
bool gpu_plugin_tells_flushes(const struct gpu_plugin *plugin);

/* Its client hands in patch locations. */
bool gpu_plugin_names_allocations(const struct gpu_plugin *plugin);

/* The driver was given something: what the model does is counted anew. */
void gpu_plugin_note_progress(struct gpu_plugin *plugin);

/*
 * The model's table: which functions it has. The functions below call them only where they are
 * there.
 */
const struct drydock_gpu_model *gpu_plugin_model(const struct gpu_plugin *plugin);

bool gpu_plugin_translate(const struct gpu_plugin *plugin, struct drydock_gpu_place root,
                          uint64_t va, struct drydock_gpu_translation *out);
uint32_t gpu_plugin_allocation_data(const struct gpu_plugin *plugin,
                                    const struct drydock_gpu_allocation *allocation, void *out,
                                    uint32_t room);
uint32_t gpu_plugin_context_data(const struct gpu_plugin *plugin, uint32_t node, void *out,
                                 uint32_t room);
uint32_t gpu_plugin_commands(const struct gpu_plugin *plugin, const struct drydock_gpu_work *work,
                             void *out, uint32_t room);

/* Commands that the model has not carried out, and says so: what they write is not known. */
uint64_t gpu_plugin_left_out(const struct gpu_plugin *plugin);

/* What it has for applications; NULL: nothing. */
const struct drydock_gpu_application *gpu_plugin_application(const struct gpu_plugin *plugin);
/* 0: the model does not say. */
uint64_t gpu_plugin_client_bytes(const struct gpu_plugin *plugin, const void *private_data,
                                 uint32_t bytes);
/* STATUS_NOT_SUPPORTED: also when it has no such function. */
NTSTATUS gpu_plugin_query_adapter(const struct gpu_plugin *plugin, uint32_t type, void *data,
                                  uint32_t bytes);
NTSTATUS gpu_plugin_escape(const struct gpu_plugin *plugin, void *data, uint32_t bytes);
/* False: also when it has no such function. */
bool gpu_plugin_walk_batch(const struct gpu_plugin *plugin, uint64_t va, uint64_t bytes,
                           const struct drydock_gpu_walk *walk);

#endif
