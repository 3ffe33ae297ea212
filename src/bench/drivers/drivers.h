/*
 * Drivers: what `--driver` can name.
 *
 * Place      bench. Used by run, which loads one, and by the command line, which adds sources of
 *            more.
 * Model      "ref" is the reference driver, "ref-display" that of display-only drivers. A source
 *            gives drivers by names of its own; one that is a reference driver with something
 *            between it and the kernel says so with wrap. A path names a driver that is a file
 *            (bench/drivers/driver_image.h).
 * Ownership  Names are lent by their source for the life of the process.
 */
#ifndef DRYDOCK_BENCH_DRIVERS_H
#define DRYDOCK_BENCH_DRIVERS_H

#include "base/services.h"
#include "bench/config/run_config.h"
#include "miniport/miniport.h"

struct run_driver {
    const char *name;
    /* Puts a layer right above the driver, below all others; NULL: none. */
    NTSTATUS(*wrap)
    (const struct run_driver *driver, const struct base_services *services, struct miniport *next,
     struct miniport **out_layer);
    /* Alters the table that the driver registers; NULL: it is as it is. */
    void (*registers)(const struct run_driver *driver, DRIVER_INITIALIZATION_DATA *table);
    const void *context; /* of wrap and registers */
    bool (*has_model)(const struct run_driver *driver, enum run_model model); /* NULL: all */
    /* Gives run_driver_level(); NULL: the levels are those of the reference driver. */
    bool (*level)(const struct run_driver *driver, unsigned index, enum run_model *out_model,
                  unsigned *out_wddm);
    const char *image_path; /* of a driver that is a file; NULL: linked in */
    /* The entry point of a driver that is linked in and is not the reference driver. */
    DRIVER_INITIALIZE *entry;
    unsigned wddm;        /* the one level of an image */
    bool is_display_only; /* it registers as a driver without memory to manage */
    /* The GPU that it is for, as run_config.gpu; NULL: it does not say. */
    const char *gpu;
    /*
     * It works where no driver needs to: with paging buffers and private data smaller than it
     * declares, down to a few packets, and without Patch for paging buffers.
     */
    bool is_tolerant;
    uint32_t local_traits; /* of the board that it is for, beside those of run_config */
};

#define RUN_DRIVER_DISPLAY "ref-display"
/* That one, to put a layer upon. */
void run_display_driver(struct run_driver *out_driver);

/* The GPU that a run of the driver has where nothing else is asked for. */
const char *run_driver_gpu(const struct run_driver *driver);

/* False: it has none of that name. */
typedef bool run_driver_finder(const char *name, struct run_driver *out_driver);

/* Once, at start. */
void run_add_drivers(run_driver_finder *find);
bool run_find_driver(const char *name, struct run_driver *out_driver);
/* The driver of that name manages no memory; false, too: there is none of that name. */
bool run_is_display_only(const char *name);

/* The levels that it has, from 0: false behind the last. The first of a model is its default. */
bool run_driver_level(const struct run_driver *driver, unsigned index, enum run_model *out_model,
                      unsigned *out_wddm);
bool run_driver_has_model(const struct run_driver *driver, enum run_model model);

/* The reference driver's entry point of the model's level; NULL: it has none. 0 gives the level. */
DRIVER_INITIALIZE *run_driver_entry(enum run_model model, unsigned *wddm);

/* Without is_model_given: the model of the configuration if the driver has it, else its first. */
void run_config_choose_model(struct run_config *config);

/*
 * The first option of the case, from *index on, by which a run loads code: a driver, a GPU model,
 * a policy or a client that the case names by a path. NULL: there is none. *index is then behind
 * it.
 */
const struct workload_option *run_next_code_option(const struct workload *workload,
                                                   uint32_t *index);

/* run_config_resolve(), and the model and GPU of the driver: a run begins with this. */
void run_config_complete(struct run_config *config, const struct workload *workload);

#endif
