/*
 * Run: which model the started driver is of, and whether it has the functions without which no
 * driver of that model can be played.
 *
 * By its interface version (DRIVER_INITIALIZATION_DATA.Version, or DRIVERCAPS.WDDMVersion where
 * that is lower) and model a driver has to register them; others are asked for where they are
 * called, and their absence is a lawful answer or a finding there.
 */
#include "bench/run/run_private.h"

#include "base/bits.h"
#include "miniport/raw.h"

#include <stdio.h>

#define IN_PHYSICAL (1u << RUN_PHYSICAL)
#define IN_GPUMMU   (1u << RUN_GPUMMU)
#define IN_IOMMU    (1u << RUN_IOMMU)
#define IN_VIRTUAL  (IN_GPUMMU | IN_IOMMU)
#define IN_ALL      (IN_PHYSICAL | IN_VIRTUAL)

/* With which a driver begins, before it says of which model it is. */
static const enum miniport_ddi needed_to_start[] = {
    MINIPORT_DDI_AddDevice,    MINIPORT_DDI_StartDevice,      MINIPORT_DDI_StopDevice,
    MINIPORT_DDI_RemoveDevice, MINIPORT_DDI_QueryAdapterInfo,
};

static const struct {
    enum miniport_ddi ddi;
    unsigned models;
} needed_to_play[] = {
    {MINIPORT_DDI_CreateDevice, IN_ALL},        {MINIPORT_DDI_DestroyDevice, IN_ALL},
    {MINIPORT_DDI_CreateAllocation, IN_ALL},    {MINIPORT_DDI_DestroyAllocation, IN_ALL},
    {MINIPORT_DDI_OpenAllocation, IN_ALL},      {MINIPORT_DDI_CloseAllocation, IN_ALL},
    {MINIPORT_DDI_BuildPagingBuffer, IN_ALL},   {MINIPORT_DDI_SubmitCommand, IN_PHYSICAL},
    {MINIPORT_DDI_Render, IN_PHYSICAL},         {MINIPORT_DDI_CreateProcess, IN_VIRTUAL},
    {MINIPORT_DDI_DestroyProcess, IN_VIRTUAL},  {MINIPORT_DDI_CreateContext, IN_VIRTUAL},
    {MINIPORT_DDI_DestroyContext, IN_VIRTUAL},  {MINIPORT_DDI_SubmitCommandVirtual, IN_VIRTUAL},
    {MINIPORT_DDI_SetRootPageTable, IN_GPUMMU},
};

struct lacking {
    struct run_assembly *run;
    char names[360];
    size_t used;
    bool to_start;
};

static bool ask_for(struct lacking *lacking, enum miniport_ddi ddi)
{
    if (miniport_has(lacking->run->top, ddi))
        return true;
    if (lacking->used < sizeof lacking->names)
        lacking->used +=
            (size_t)snprintf(lacking->names + lacking->used, sizeof lacking->names - lacking->used,
                             "%s%s", lacking->used ? ", " : "", miniport_ddi_name(ddi));
    return false;
}

/* All that are missing are told at once. */
static struct lacking ask_for_functions(struct run_assembly *run)
{
    struct lacking lacking = {.run = run};

    for (size_t i = 0; i < ARRAY_COUNT(needed_to_start); i++)
        lacking.to_start |= !ask_for(&lacking, needed_to_start[i]);
    for (size_t i = 0; i < ARRAY_COUNT(needed_to_play) && !run->is_display_only; i++) {
        if (needed_to_play[i].models & 1u << run->config->model)
            ask_for(&lacking, needed_to_play[i].ddi);
    }
    return lacking;
}

static bool refuse_lacking(const struct lacking *lacking)
{
    struct run_assembly *run = lacking->run;
    unsigned wddm = miniport_raw_wddm(miniport_interface_version(run->top));

    return run_refuse(run,
                      "driver '%s' registers no %s, without which no driver of WDDM %u.%u and the "
                      "%s model can be played",
                      run->config->driver, lacking->names, wddm / 10, wddm % 10,
                      run_model_name(run->config->model));
}

bool run_can_start(struct run_assembly *run)
{
    struct lacking lacking = ask_for_functions(run);

    return !lacking.to_start || refuse_lacking(&lacking);
}

static bool has_functions(struct run_assembly *run)
{
    struct lacking lacking = ask_for_functions(run);

    return !lacking.used || refuse_lacking(&lacking);
}

static bool is_of_model(struct run_assembly *run)
{
    struct vidmm_model_caps caps;
    enum run_model has;

    if (!vidmm_query_model(run->bottom, &caps))
        return true; /* the manager asks, too, and says why it cannot go on */
    has = !caps.is_virtual ? RUN_PHYSICAL : caps.has_gpummu ? RUN_GPUMMU : RUN_IOMMU;
    if (has != run->config->model)
        return run_refuse(run,
                          "driver '%s' is not of the %s model: by its "
                          "DRIVERCAPS.MemoryManagementCaps it is of %s (expected --model %s)",
                          run->config->driver, run_model_name(run->config->model),
                          run_model_name(has), run_model_name(has));
    return has_functions(run);
}

void run_ask_anew(struct run_assembly *run)
{
    if (run->raw)
        miniport_raw_ask_anew(run->raw);
    else if (run->retold)
        retold_ask_anew(run->retold);
}

/* The driver's answer of now counts, whatever it said before its start (driver_look.c). */
bool run_is_of_model(struct run_assembly *run)
{
    bool is = is_of_model(run);

    run->result->started_wddm = miniport_raw_wddm(miniport_interface_version(run->bottom));
    /* The manager asks in the shape of the driver's headers, too. */
    run_ask_anew(run);
    return is;
}
