/*
 * The life of a screen; the order of a start and an end; sleeps, changes of the mode.
 */
#include "bench/screen/screen_private.h"

#include "base/bits.h"
#include "nt/nt.h"

#include <stdio.h>
#include <string.h>

#define SCREEN_RNG_STREAM 0x73637265656eu /* "screen" */

#define POST_WIDTH  1024u
#define POST_HEIGHT 768u

/* ---- What the driver calls ------------------------------------------------------------------- */

static void note_called(void *context, const char *function)
{
    struct nt *nt = ((struct screen *)context)->config.nt;

    if (nt_irql(nt) > PASSIVE_LEVEL)
        nt_misuse(nt, "%s is called at IRQL %u; it is for PASSIVE_LEVEL", function,
                  (unsigned)nt_irql(nt));
}

static void note_misuse(void *context, const char *text)
{
    nt_misuse(((struct screen *)context)->config.nt, "%s", text);
}

static const void *bind(void *context, const void *function)
{
    return nt_function_for_driver(((struct screen *)context)->config.nt, function);
}

/* ---- Life ------------------------------------------------------------------------------------ */

/* The firmware's picture lies at the begin of local memory that the processor sees. */
static DXGK_DISPLAY_INFORMATION firmware_display(const struct machine *machine)
{
    DXGK_DISPLAY_INFORMATION post = {.Width = POST_WIDTH,
                                     .Height = POST_HEIGHT,
                                     .Pitch = POST_WIDTH * 4,
                                     .ColorFormat = D3DDDIFMT_X8R8G8B8,
                                     .TargetId = D3DDDI_ID_UNINITIALIZED};

    post.PhysicAddress.QuadPart = (LONGLONG)machine_bar1_pa(machine);
    if (machine_bar1_bytes(machine) < (uint64_t)post.Pitch * post.Height)
        post.Width = 0;
    return post;
}

NTSTATUS screen_create(const struct screen_config *config, struct screen **out_screen)
{
    struct screen *screen = base_alloc(config->services, sizeof *screen);
    struct display_config display = {.services = config->services,
                                     .called = note_called,
                                     .misuse = note_misuse,
                                     .bind = bind,
                                     .sources = 1,
                                     .unpinned_status = config->unpinned_is_success
                                                            ? STATUS_SUCCESS
                                                            : STATUS_GRAPHICS_MODE_NOT_PINNED};
    NTSTATUS status;

    *out_screen = NULL;
    if (!screen)
        return STATUS_NO_MEMORY;
    screen->config = *config;
    rng_init(&screen->rng, config->seed ^ SCREEN_RNG_STREAM);
    display.context = screen;
    status = display_create(&display, &screen->display);
    if (!NT_SUCCESS(status)) {
        base_free(config->services, screen, sizeof *screen);
        return status;
    }
    config->host->display = screen->display;
    config->host->post = config->post ? *config->post : firmware_display(config->machine);
    config->host->is_post_taken = false;
    config->host->display_context = screen;
    config->host->child_changed = screen_child_changed;
    config->host->interrupted = screen_interrupted;
    *out_screen = screen;
    return STATUS_SUCCESS;
}

void screen_destroy(struct screen *screen)
{
    const struct base_services *services;

    if (!screen)
        return;
    services = screen->config.services;
    screen->config.host->display = NULL;
    screen->config.host->child_changed = NULL;
    screen->config.host->interrupted = NULL;
    screen_forget_mode(screen);
    screen_free_image(screen, &screen->image);
    screen_free_image(screen, &screen->shape);
    base_free_array(services, screen->relations, screen->children + 1, sizeof *screen->relations);
    display_destroy(screen->display);
    base_free(services, screen, sizeof *screen);
}

/* ---- Start and end --------------------------------------------------------------------------- */

static void ask_caps(struct screen *screen)
{
    const DXGKARG_QUERYADAPTERINFO query = {
        .Type = DXGKQAITYPE_DRIVERCAPS,
        .pOutputData = &screen->caps,
        .OutputDataSize =
            vidmm_driver_caps_bytes(miniport_interface_version(screen->config.miniport)),
    };
    NTSTATUS status = miniport_query_adapter_info(screen->config.miniport, NULL, &query);

    screen_succeeds(screen, "DxgkDdiQueryAdapterInfo(DRIVERCAPS)", status);
}

#define MOST_CHILDREN 1024u

bool screen_begin(struct screen *screen, ULONG sources, ULONG children)
{
    if (children > MOST_CHILDREN) {
        nt_misuse(screen->config.nt,
                  "DxgkDdiStartDevice gives %u children; the bench asks %u at most",
                  (unsigned)children, MOST_CHILDREN);
        screen->is_over = true;
        return false;
    }
    screen->sources = sources;
    screen->children = children;
    screen->relations =
        base_alloc_array(screen->config.services, children + 1, sizeof *screen->relations);
    if (!screen->relations) {
        screen->children = 0;
        screen->is_over = true;
        return false;
    }
    if (!sources || !children) {
        nt_misuse(screen->config.nt,
                  "DxgkDdiStartDevice gives %u video present sources and %u children: nothing can "
                  "be shown",
                  (unsigned)sources, (unsigned)children);
        screen->is_over = true;
        return false;
    }
    ask_caps(screen);
    if (screen->is_over || !screen_find_children(screen) || !screen_set_mode(screen))
        return false;
    return screen_set_visible(screen, true);
}

void screen_show(struct screen *screen, unsigned images)
{
    for (unsigned i = 0; i < images && !screen->is_over; i++) {
        screen_attend(screen);
        screen_present(screen, screen->presents == 0);
        screen_move_pointer(screen);
        screen_pass(screen, rng_between(&screen->rng, 1000, 16000000));
    }
}

bool screen_show_target(struct screen *screen)
{
    screen_pass(screen, SCREEN_SETTLE_NS);
    if (!screen->has_target)
        return screen_show_nothing(screen);
    if (!screen_set_mode(screen) || !screen_set_visible(screen, true))
        return false;
    screen_present(screen, true);
    return !screen->is_over;
}

void screen_change_mode(struct screen *screen)
{
    screen_attend(screen);
    if (!screen->is_over && screen->has_target && screen_set_visible(screen, false))
        screen_show_target(screen);
}

static bool set_power(struct screen *screen, DEVICE_POWER_STATE state, POWER_ACTION action)
{
    return screen_succeeds(
        screen, "DxgkDdiSetPowerState",
        miniport_set_power_state(screen->config.miniport, DISPLAY_ADAPTER_HW_ID, state, action));
}

void screen_sleep(struct screen *screen, DEVICE_POWER_STATE state, POWER_ACTION action)
{
    screen_attend(screen);
    if (!screen_has(screen, MINIPORT_DDI_SetPowerState) || screen->is_over ||
        (screen->is_visible && !screen_set_visible(screen, false)) ||
        !set_power(screen, state, action))
        return;
    screen_pass(screen, SCREEN_SETTLE_NS);
    if (!set_power(screen, PowerDeviceD0, PowerActionNone) || !screen_commit_again(screen) ||
        !screen->has_target || !screen_set_visible(screen, true))
        return;
    screen->has_shape = false;
    screen_present(screen, true);
}

NTSTATUS screen_stop(struct screen *screen, bool gives_back)
{
    DXGK_DISPLAY_INFORMATION info;
    const struct miniport_post_display post = {screen->target, &info};
    NTSTATUS status;

    if (screen->is_visible)
        screen_set_visible(screen, false);
    memset(&info, 0, sizeof info);
    if (gives_back && screen_has(screen, MINIPORT_DDI_StopDeviceAndReleasePostDisplayOwnership)) {
        status = miniport_stop_device_and_release_post_display_ownership(screen->config.miniport,
                                                                         NULL, &post);
        if (NT_SUCCESS(status)) {
            if (info.Width)
                screen->config.host->post = info;
            display_settle_monitors(screen->display,
                                    "DxgkDdiStopDeviceAndReleasePostDisplayOwnership");
            return status;
        }
        /* Its page has a driver refuse where the target has no monitor: it is stopped all the same.
         */
    }
    status = miniport_stop_device(screen->config.miniport);
    display_settle_monitors(screen->display, "DxgkDdiStopDevice");
    return status;
}

void screen_lose(struct screen *screen)
{
    screen->is_over = true;
    screen->is_visible = false;
    screen->is_pending = false;
}

unsigned screen_presents(const struct screen *screen)
{
    return screen->presents;
}
