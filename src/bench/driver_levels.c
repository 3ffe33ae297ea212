/*
 * Which levels the reference driver comes in, for which model.
 */
#include "bench/run.h"

#include "base/bits.h"
#include "refkmd/refkmd.h"

/* The first of a model is its default. */
static const struct {
    enum run_model model;
    unsigned wddm;
    DRIVER_INITIALIZE *entry;
} driver_levels[] = {
    {RUN_PHYSICAL, 13, RefKmdDriverEntryPhysical},
    {RUN_PHYSICAL, 11, RefKmdDriverEntryPhysicalWin7},
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

bool run_driver_level(unsigned index, enum run_model *out_model, unsigned *out_wddm)
{
    if (index >= ARRAY_COUNT(driver_levels))
        return false;
    *out_model = driver_levels[index].model;
    *out_wddm = driver_levels[index].wddm;
    return true;
}
