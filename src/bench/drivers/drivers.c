/*
 * Drivers by name, and the levels of the reference driver for each model.
 */
#include "bench/drivers/drivers.h"

#include "bench/board/gpu_plugin.h"
#include "bench/drivers/driver_files.h"

#include "base/assert.h"

#include "base/bits.h"
#include "refdod/refdod.h"
#include "refkmd/refkmd.h"

#include <string.h>

/* The first of a model is its default. */
static const struct {
    enum run_model model;
    unsigned wddm;
    DRIVER_INITIALIZE *entry;
} driver_levels[] = {
    {RUN_PHYSICAL, 13, RefKmdDriverEntryPhysical},
    {RUN_PHYSICAL, 11, RefKmdDriverEntryPhysicalWin7},
    {RUN_PHYSICAL, 10, RefKmdDriverEntryPhysicalVista},
    {RUN_GPUMMU, 26, RefKmdDriverEntryGpuMmu},
    {RUN_GPUMMU, 30, RefKmdDriverEntryGpuMmu30},
    {RUN_GPUMMU, 32, RefKmdDriverEntryGpuMmu32},
    {RUN_IOMMU, 26, RefKmdDriverEntryIoMmu},
    {RUN_IOMMU, 30, RefKmdDriverEntryIoMmu30},
};

DRIVER_INITIALIZE *run_driver_entry(enum run_model model, unsigned *wddm)
{
    for (size_t i = 0; i < ARRAY_COUNT(driver_levels); i++) {
        if (driver_levels[i].model != model || (*wddm && *wddm != driver_levels[i].wddm))
            continue;
        *wddm = driver_levels[i].wddm;
        return driver_levels[i].entry;
    }
    return NULL;
}

bool run_driver_level(const struct run_driver *driver, unsigned index, enum run_model *out_model,
                      unsigned *out_wddm)
{
    if (driver->level)
        return driver->level(driver, index, out_model, out_wddm);
    if (index >= ARRAY_COUNT(driver_levels))
        return false;
    *out_model = driver_levels[index].model;
    *out_wddm = driver_levels[index].wddm;
    return true;
}

bool run_driver_has_model(const struct run_driver *driver, enum run_model model)
{
    enum run_model has;
    unsigned wddm;

    if (driver->has_model && !driver->has_model(driver, model))
        return false;
    for (unsigned i = 0; run_driver_level(driver, i, &has, &wddm); i++) {
        if (has == model)
            return true;
    }
    return false;
}

void run_config_choose_model(struct run_config *config)
{
    struct run_driver driver;
    unsigned wddm;

    if (!config->is_model_given && run_find_driver(config->driver, &driver) &&
        !run_driver_has_model(&driver, config->model))
        run_driver_level(&driver, 0, &config->model, &wddm);
}

const char *run_driver_gpu(const struct run_driver *driver)
{
    if (driver->gpu)
        return driver->gpu;
    return driver->image_path || driver->entry ? RUN_GPU_NONE : RUN_GPU_DRYDOCK;
}

#define MAX_FINDERS 4

static run_driver_finder *finders[MAX_FINDERS];
static unsigned finder_count;

void run_add_drivers(run_driver_finder *find)
{
    ASSERT(finder_count < MAX_FINDERS);
    finders[finder_count++] = find;
}

/* It manages no memory: addresses are whoever's. */
static bool display_level(const struct run_driver *driver, unsigned index,
                          enum run_model *out_model, unsigned *out_wddm)
{
    *out_model = RUN_PHYSICAL;
    *out_wddm = 12;
    return index == 0;
}

void run_display_driver(struct run_driver *out_driver)
{
    *out_driver = (struct run_driver){.name = RUN_DRIVER_DISPLAY,
                                      .level = display_level,
                                      .entry = RefDodDriverEntry,
                                      .is_display_only = true,
                                      .gpu = RUN_GPU_DRYDOCK};
}

bool run_find_driver(const char *name, struct run_driver *out_driver)
{
    if (strcmp(name, RUN_DRIVER_DISPLAY) == 0) {
        run_display_driver(out_driver);
        return true;
    }
    *out_driver = (struct run_driver){.name = "ref", .is_tolerant = true};
    if (strcmp(name, "ref") == 0)
        return true;
    for (unsigned i = 0; i < finder_count; i++) {
        if (finders[i](name, out_driver))
            return true;
    }
    return driver_file_find(name, out_driver);
}

static void choose_gpu(struct run_config *config)
{
    struct run_driver driver;

    /* A driver that is not there is told of when it is to be loaded. */
    if (!config->gpu)
        config->gpu =
            run_find_driver(config->driver, &driver) ? run_driver_gpu(&driver) : RUN_GPU_DRYDOCK;
}

bool run_is_display_only(const char *name)
{
    struct run_driver driver;

    return run_find_driver(name, &driver) && driver.is_display_only;
}

#define SCREEN_BYTES (16 * MiB) /* that the processor sees: a frame buffer and more */

/* What a display-only driver's device has at least, however little memory a case is about. */
static void make_room_for_screen(struct run_config *config)
{
    if (!run_is_display_only(config->driver))
        return;
    config->local_bytes = max_u64(config->local_bytes, SCREEN_BYTES);
    config->visible_bytes = max_u64(config->visible_bytes, SCREEN_BYTES);
}

void run_config_complete(struct run_config *config, const struct workload *workload)
{
    run_config_resolve(config, workload);
    run_config_choose_model(config);
    choose_gpu(config);
    make_room_for_screen(config);
}

/* ---- Code that a case names ------------------------------------------------------------------ */

const struct workload_option *run_next_code_option(const struct workload *workload, uint32_t *index)
{
    while (*index < workload->option_count) {
        const struct workload_option *option = &workload->options[(*index)++];
        const char *key = workload_string(workload, option->key);
        const char *value = workload_string(workload, option->value);

        if ((strcmp(key, "driver") == 0 && driver_file_is_path(value)) ||
            (strcmp(key, "gpu") == 0 && gpu_plugin_is_path(value)) ||
            strcmp(key, "policy-file") == 0 || strcmp(key, "client-file") == 0)
            return option;
    }
    return NULL;
}
