/*
 * Drivers that are files, by their paths: looked at once, and again when the file has changed.
 */
#include "bench/drivers/driver_files.h"

#include "base/bits.h"
#include "bench/child/cage.h"
#include "bench/drivers/driver_look.h"
#include "miniport/raw.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* The last file, as it was: a file that has been built anew is looked at anew. */
static struct {
    char path[1024];
    struct stat file;
    struct driver_traits traits;
    unsigned started_wddm; /* 0: not asked for, or it did not start */
} last;

static driver_level_function *ask_started;

void driver_files_ask_started(driver_level_function *function)
{
    ask_started = function;
}

static bool is_same_file(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino &&
           one->st_size == other->st_size && one->st_mtim.tv_sec == other->st_mtim.tv_sec &&
           one->st_mtim.tv_nsec == other->st_mtim.tv_nsec;
}

static char last_error[DRIVER_IMAGE_ERROR_BYTES];

const char *driver_file_error(void)
{
    return last_error;
}

bool driver_file_is_path(const char *name)
{
    size_t length = strlen(name);

    return strchr(name, '/') || (length > 4 && strcasecmp(name + length - 4, ".sys") == 0);
}

static bool physical_level(const struct run_driver *driver, unsigned index,
                           enum run_model *out_model, unsigned *out_wddm)
{
    *out_wddm = driver->wddm;
    *out_model = RUN_PHYSICAL;
    return index == 0;
}

static bool gpummu_level(const struct run_driver *driver, unsigned index, enum run_model *out_model,
                         unsigned *out_wddm)
{
    *out_wddm = driver->wddm;
    *out_model = RUN_GPUMMU;
    return index == 0;
}

static bool iommu_level(const struct run_driver *driver, unsigned index, enum run_model *out_model,
                        unsigned *out_wddm)
{
    *out_wddm = driver->wddm;
    *out_model = RUN_IOMMU;
    return index == 0;
}

/* A driver that is given virtual addresses, and does not say by which model. */
static bool virtual_level(const struct run_driver *driver, unsigned index,
                          enum run_model *out_model, unsigned *out_wddm)
{
    static const enum run_model models[] = {RUN_GPUMMU, RUN_IOMMU};

    *out_wddm = driver->wddm;
    *out_model = models[index % ARRAY_COUNT(models)];
    return index < ARRAY_COUNT(models);
}

static void choose_level(const struct driver_traits *traits, struct run_driver *driver)
{
    if (traits->has_caps)
        driver->level = !traits->caps.is_virtual  ? physical_level
                        : traits->caps.has_gpummu ? gpummu_level
                                                  : iommu_level;
    else
        driver->level = traits->is_physical ? physical_level : virtual_level;
}

bool driver_file_find(const char *name, struct run_driver *out_driver)
{
    struct stat file = {0};
    bool is_new = false;
    unsigned wddm;

    last_error[0] = '\0';
    if (!driver_file_is_path(name) || strlen(name) >= sizeof last.path)
        return false;
    if (cage_is_closed() || stat(name, &file) != 0)
        memset(&file, 0, sizeof file);
    /* Nobody looks out of a cage: there it is the file that it was. */
    if (strcmp(last.path, name) != 0 || (!cage_is_closed() && !is_same_file(&last.file, &file))) {
        driver_look(name, &last.traits);
        snprintf(last.path, sizeof last.path, "%s", name);
        last.file = file;
        last.started_wddm = 0;
        is_new = true;
    }
    wddm = last.started_wddm ? last.started_wddm : miniport_raw_wddm(last.traits.version);
    if (last.traits.is_known && !wddm)
        snprintf(last.traits.error, sizeof last.traits.error,
                 "%s: its interface version 0x%x is not known", name,
                 (unsigned)last.traits.version);
    snprintf(last_error, sizeof last_error, "%s", last.traits.error);
    if (!last.traits.is_known || !wddm)
        return false;
    *out_driver = (struct run_driver){.name = name,
                                      .image_path = name,
                                      .wddm = wddm,
                                      .is_display_only = last.traits.is_display_only,
                                      .gpu = last.traits.gpu[0] ? last.traits.gpu : NULL};
    choose_level(&last.traits, out_driver);
    if (is_new && ask_started && last.traits.version < last.traits.registered) {
        enum run_model model = RUN_GPUMMU;

        out_driver->level(out_driver, 0, &model, &wddm);
        last.started_wddm = ask_started(name, model); /* which finds it as it is now */
        if (last.started_wddm)
            out_driver->wddm = last.started_wddm;
    }
    return true;
}
