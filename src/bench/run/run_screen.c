/*
 * The screen of a display-only driver's run goes up and down. run_show.c plays on it.
 */
#include "bench/run/run_private.h"

#include "bench/screen/screen.h"
#include "display/display.h"
#include "sgpu/sgpu.h"

_Static_assert(DISPLAY_EDID_BYTES == SGPU_EDID_BYTES, "the connector has the monitor's EDID");

/* With which a display-only driver begins, besides those of any driver. */
static const enum miniport_ddi needed[] = {
    MINIPORT_DDI_QueryChildRelations, MINIPORT_DDI_QueryChildStatus,
    MINIPORT_DDI_IsSupportedVidPn,    MINIPORT_DDI_EnumVidPnCofuncModality,
    MINIPORT_DDI_CommitVidPn,         MINIPORT_DDI_SetVidPnSourceVisibility,
    MINIPORT_DDI_PresentDisplayOnly,
};

bool run_can_show(struct run_assembly *run)
{
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        if (!miniport_has(run->top, needed[i]))
            return run_refuse(run,
                              "driver '%s' registers no %s, without which no display-only driver "
                              "can be played",
                              run->config->driver, miniport_ddi_name(needed[i]));
    }
    return true;
}

bool run_plug_monitor(struct run_assembly *run, bool is_plugged)
{
    uint8_t edid[DISPLAY_EDID_BYTES];

    if (!run->gpu)
        return false;
    display_make_edid(edid);
    sgpu_plug(run->gpu, is_plugged ? edid : NULL);
    return true;
}

bool run_raise_screen(struct run_assembly *run, const DXGK_DISPLAY_INFORMATION *post)
{
    const struct screen_config config = {
        .services = &run->own.services,
        .machine = run->machine,
        .nt = run->nt,
        .miniport = run->top,
        .host = &run->host,
        .check = run->check,
        .seed = run->config->seed,
        .post = post,
        .unpinned_is_success = run->config->unpinned_is_success,
        .has_model = run->plugin != NULL,
        .uncompared = run->uncompared,
    };

    run_plug_monitor(run, true);
    return NT_SUCCESS(screen_create(&config, &run->screen)) ||
           run_refuse(run, "no memory for the modes of the driver");
}

void run_lower_screen(struct run_assembly *run)
{
    screen_destroy(run->screen);
    run->screen = NULL;
}

NTSTATUS run_stop_screen(struct run_assembly *run)
{
    return screen_stop(run->screen, false);
}
