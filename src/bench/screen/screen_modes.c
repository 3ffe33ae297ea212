/*
 * The mode: negotiated, committed, made visible.
 */
#include "bench/screen/screen_private.h"

#include "base/bits.h"
#include "nt/nt.h"

#include <limits.h>
#include <string.h>

bool screen_give_up(struct screen *screen, const char *why)
{
    if (!screen->is_over)
        nt_misuse(screen->config.nt, "%s: nothing can be shown", why);
    screen->is_over = true;
    return false;
}

/* ---- Negotiating ----------------------------------------------------------------------------- */

/* What the check is told of an enumeration: what it may not have changed, what it has left. */
static void tell_enumerated(struct screen *screen, struct display_network *network,
                            const DXGKARG_ENUMVIDPNCOFUNCMODALITY *arg, const void *source_before,
                            unsigned source_modes, const void *target_before, unsigned target_modes)
{
    const void *source = display_network_source_set(network, SCREEN_SOURCE);
    const void *target = display_network_target_set(network, screen->target);
    struct check_client_event event = {.kind = CHECK_CLIENT_ENUMERATED};

    if (!screen->config.check)
        return;
    if (arg->EnumPivotType == D3DKMDT_EPT_VIDPNSOURCE)
        event.is_pivot_changed =
            source != source_before ||
            display_network_source_modes(network, SCREEN_SOURCE) != source_modes;
    if (arg->EnumPivotType == D3DKMDT_EPT_VIDPNTARGET)
        event.is_pivot_changed =
            target != target_before ||
            display_network_target_modes(network, screen->target) != target_modes;
    event.source_modes = display_network_source_modes(network, SCREEN_SOURCE);
    event.target_modes = display_network_target_modes(network, screen->target);
    check_client(screen->config.check, &event);
}

static bool enumerate(struct screen *screen, struct display_network *network,
                      D3DKMDT_ENUMCOFUNCMODALITY_PIVOT_TYPE pivot)
{
    DXGKARG_ENUMVIDPNCOFUNCMODALITY arg = {
        .hConstrainingVidPn = display_network_handle(network),
        .EnumPivotType = pivot,
        .EnumPivot = {.VidPnSourceId = D3DDDI_ID_UNINITIALIZED,
                      .VidPnTargetId = D3DDDI_ID_UNINITIALIZED},
    };
    const void *source = display_network_source_set(network, SCREEN_SOURCE);
    const void *target = display_network_target_set(network, screen->target);
    const unsigned source_modes = display_network_source_modes(network, SCREEN_SOURCE);
    const unsigned target_modes = display_network_target_modes(network, screen->target);
    NTSTATUS status;

    if (pivot == D3DKMDT_EPT_VIDPNSOURCE || pivot == D3DKMDT_EPT_SCALING ||
        pivot == D3DKMDT_EPT_ROTATION)
        arg.EnumPivot.VidPnSourceId = SCREEN_SOURCE;
    if (pivot == D3DKMDT_EPT_VIDPNTARGET || pivot == D3DKMDT_EPT_SCALING ||
        pivot == D3DKMDT_EPT_ROTATION)
        arg.EnumPivot.VidPnTargetId = screen->target;
    status = miniport_enum_vid_pn_cofunc_modality(screen->config.miniport, NULL, &arg);
    display_settle(screen->display, "DxgkDdiEnumVidPnCofuncModality");
    if (!screen_succeeds(screen, "DxgkDdiEnumVidPnCofuncModality", status))
        return false;
    tell_enumerated(screen, network, &arg, source, source_modes, target, target_modes);
    return true;
}

static bool is_supported(struct screen *screen, const struct display_network *network)
{
    DXGKARG_ISSUPPORTEDVIDPN arg = {.hDesiredVidPn = display_network_handle(network)};
    NTSTATUS status = miniport_is_supported_vid_pn(screen->config.miniport, NULL, &arg);

    display_settle(screen->display, "DxgkDdiIsSupportedVidPn");
    return screen_succeeds(screen, "DxgkDdiIsSupportedVidPn", status) && arg.IsVidPnSupported;
}

#define MOST_PIXELS 16384u /* of a side: what this bench draws */

/* A mode of text has no image. */
static bool can_be_drawn(const D3DKMDT_VIDPN_SOURCE_MODE *mode)
{
    const D3DKMDT_2DREGION *size = &mode->Format.Graphics.PrimSurfSize;

    return mode->Type != D3DKMDT_RMT_TEXT && size->cx && size->cx <= MOST_PIXELS && size->cy &&
           size->cy <= MOST_PIXELS;
}

static bool is_of_size(const D3DKMDT_VIDPN_SOURCE_MODE *mode, const D3DKMDT_2DREGION *size)
{
    return mode->Format.Graphics.PrimSurfSize.cx == size->cx &&
           mode->Format.Graphics.PrimSurfSize.cy == size->cy;
}

/* The monitor's preferred size mostly, or any that the driver offers and that can be drawn. */
static bool choose_source_mode(struct screen *screen, const struct display_network *network,
                               unsigned *out_mode)
{
    const unsigned count = display_network_source_modes(network, SCREEN_SOURCE);
    const bool wants_preferred = rng_chance(&screen->rng, 1, 2);
    const unsigned first = (unsigned)rng_below(&screen->rng, count);
    D3DKMDT_MONITOR_SOURCE_MODE preferred;
    bool is_preferred = false, has_any = false;

    if (wants_preferred)
        is_preferred = display_get_monitor_mode(screen->display, screen->target, 0, &preferred);
    for (unsigned i = 0; i < count; i++) {
        const unsigned number = (first + i) % count;
        D3DKMDT_VIDPN_SOURCE_MODE mode;

        display_network_get_source_mode(network, SCREEN_SOURCE, number, &mode);
        if (!can_be_drawn(&mode))
            continue;
        if (is_preferred && is_of_size(&mode, &preferred.VideoSignalInfo.ActiveSize)) {
            *out_mode = number;
            return true;
        }
        if (!has_any)
            *out_mode = number;
        has_any = true;
    }
    return has_any;
}

static bool commit(struct screen *screen, struct display_network *network)
{
    const DXGKARG_COMMITVIDPN arg = {.hFunctionalVidPn = display_network_handle(network),
                                     .AffectedVidPnSourceId = SCREEN_SOURCE,
                                     .MonitorConnectivityChecks = D3DKMDT_MCC_ENFORCE};
    NTSTATUS status = miniport_commit_vid_pn(screen->config.miniport, NULL, &arg);

    display_settle(screen->display, "DxgkDdiCommitVidPn");
    return screen_succeeds(screen, "DxgkDdiCommitVidPn", status);
}

/* Neither set is empty behind an enumeration without a pinned mode of its own (VIDPN-005). */
static bool has_modes(struct screen *screen, const struct display_network *network)
{
    if (display_network_source_modes(network, SCREEN_SOURCE) &&
        display_network_target_modes(network, screen->target))
        return true;
    if (!screen->config.check)
        nt_misuse(screen->config.nt,
                  "DxgkDdiEnumVidPnCofuncModality leaves %u source modes and %u target modes",
                  display_network_source_modes(network, SCREEN_SOURCE),
                  display_network_target_modes(network, screen->target));
    screen->is_over = true;
    return false;
}

static bool negotiate(struct screen *screen, struct display_network *network)
{
    unsigned mode;

    if (!is_supported(screen, network))
        return screen_give_up(screen,
                              "DxgkDdiIsSupportedVidPn does not support source 0 on the one target "
                              "with a monitor");
    if (!enumerate(screen, network, D3DKMDT_EPT_NOPIVOT) || !has_modes(screen, network))
        return false;
    if (!choose_source_mode(screen, network, &mode))
        return screen_give_up(screen,
                              "all source modes are of text, or have more than 16384 pixels on a "
                              "side");
    display_network_get_source_mode(network, SCREEN_SOURCE, mode, &screen->mode);
    display_network_pin_source(network, SCREEN_SOURCE, mode);
    if (!enumerate(screen, network, D3DKMDT_EPT_VIDPNSOURCE) || !has_modes(screen, network))
        return false;
    mode = (unsigned)rng_below(&screen->rng, display_network_target_modes(network, screen->target));
    display_network_pin_target(network, screen->target, mode);
    if (!enumerate(screen, network, D3DKMDT_EPT_VIDPNTARGET))
        return false;
    display_network_set_transformation(network, D3DKMDT_VPPS_IDENTITY, D3DKMDT_VPPR_IDENTITY);
    if (!enumerate(screen, network, D3DKMDT_EPT_NOPIVOT))
        return false;
    return is_supported(screen, network) ||
           screen_give_up(screen,
                          "DxgkDdiIsSupportedVidPn does not support the network with the modes "
                          "that the driver has enumerated");
}

/* What the driver recommends is listened to, and not shown. */
static void ask_recommendation(struct screen *screen)
{
    const D3DDDI_VIDEO_PRESENT_TARGET_ID targets[] = {screen->target};
    DXGKARG_RECOMMENDFUNCTIONALVIDPN arg = {.NumberOfVidPnTargets = ARRAY_COUNT(targets),
                                            .pVidPnTargetPrioritizationVector = targets,
                                            .RequestReason = DXGK_RFVR_USERMODE};
    struct display_network *network;

    if (!screen_has(screen, MINIPORT_DDI_RecommendFunctionalVidPn) ||
        !NT_SUCCESS(display_network_create(screen->display, &network)))
        return;
    arg.hRecommendedFunctionalVidPn = display_network_handle(network);
    miniport_recommend_functional_vid_pn(screen->config.miniport, NULL, &arg);
    display_settle(screen->display, "DxgkDdiRecommendFunctionalVidPn");
    display_network_destroy(network);
}

bool screen_set_mode(struct screen *screen)
{
    struct display_network *network;

    if (screen->is_over || !screen->has_target)
        return false;
    ask_recommendation(screen);
    if (!NT_SUCCESS(display_network_create(screen->display, &network)))
        return false;
    if (!NT_SUCCESS(display_network_add_path(network, SCREEN_SOURCE, screen->target)) ||
        !negotiate(screen, network) || !commit(screen, network)) {
        display_network_destroy(network);
        return false;
    }
    screen_forget_mode(screen);
    screen->network = network;
    return true;
}

bool screen_show_nothing(struct screen *screen)
{
    struct display_network *network;

    if (screen->is_over || !NT_SUCCESS(display_network_create(screen->display, &network)))
        return false;
    if (!commit(screen, network)) {
        display_network_destroy(network);
        return false;
    }
    screen_forget_mode(screen);
    screen->network = network;
    return true;
}

bool screen_commit_again(struct screen *screen)
{
    return screen->network && commit(screen, screen->network);
}

void screen_forget_mode(struct screen *screen)
{
    if (screen->network)
        display_network_destroy(screen->network);
    screen->network = NULL;
}

bool screen_set_visible(struct screen *screen, bool is_visible)
{
    const DXGKARG_SETVIDPNSOURCEVISIBILITY arg = {.VidPnSourceId = SCREEN_SOURCE,
                                                  .Visible = is_visible};

    screen->is_visible = is_visible;
    return screen_succeeds(
        screen, "DxgkDdiSetVidPnSourceVisibility",
        miniport_set_vid_pn_source_visibility(screen->config.miniport, NULL, &arg));
}
