/*
 * Defects of display-only drivers, over the reference driver of that kind.
 */
#include "zoo/zoo_tables.h"

#include <ntstatus.h>

/* ---- Children -------------------------------------------------------------------------------- */

static NTSTATUS fill_last_child(struct miniport *self, HANDLE object,
                                const struct miniport_children *arg)
{
    const size_t count = arg->ChildRelationsSize / sizeof *arg->ChildRelations;

    arg->ChildRelations[count - 1].ChildUid = 77;
    return miniport_forward_query_child_relations(self, object, arg);
}

static void plant_fill_last_child(struct zoo_layer *layer)
{
    layer->ops.query_child_relations = fill_last_child;
}

static NTSTATUS name_children_alike(struct miniport *self, HANDLE object,
                                    const struct miniport_children *arg)
{
    NTSTATUS status = miniport_forward_query_child_relations(self, object, arg);

    arg->ChildRelations[1].ChildUid = arg->ChildRelations[0].ChildUid;
    return status;
}

static void plant_name_children_alike(struct zoo_layer *layer)
{
    layer->ops.query_child_relations = name_children_alike;
}

static NTSTATUS say_not_connected(struct miniport *self, HANDLE object,
                                  const struct miniport_descriptor *arg)
{
    NTSTATUS status = miniport_forward_query_device_descriptor(self, object, arg);

    return NT_SUCCESS(status) ? STATUS_GRAPHICS_MONITOR_NOT_CONNECTED : status;
}

static void plant_say_not_connected(struct zoo_layer *layer)
{
    layer->ops.query_device_descriptor = say_not_connected;
}

/* ---- Modes ----------------------------------------------------------------------------------- */

static NTSTATUS add_mode(D3DKMDT_HVIDPNSOURCEMODESET set,
                         const DXGK_VIDPNSOURCEMODESET_INTERFACE *modes)
{
    D3DKMDT_VIDPN_SOURCE_MODE *mode;
    NTSTATUS status = modes->pfnCreateNewModeInfo(set, &mode);

    if (!NT_SUCCESS(status))
        return status;
    mode->Type = D3DKMDT_RMT_GRAPHICS;
    mode->Format.Graphics.PrimSurfSize.cx = 640;
    mode->Format.Graphics.PrimSurfSize.cy = 480;
    mode->Format.Graphics.VisibleRegionSize = mode->Format.Graphics.PrimSurfSize;
    mode->Format.Graphics.Stride = 640 * 4;
    mode->Format.Graphics.PixelFormat = D3DDDIFMT_A8R8G8B8;
    mode->Format.Graphics.ColorBasis = D3DKMDT_CB_SCRGB;
    mode->Format.Graphics.PixelValueAccessMode = D3DKMDT_PVAM_DIRECT;
    status = modes->pfnAddMode(set, mode);
    if (!NT_SUCCESS(status))
        modes->pfnReleaseModeInfo(set, mode);
    return status;
}

/* Where the source is the pivot its set is made anew, with one mode. */
static NTSTATUS make_pivot_anew(struct miniport *self, HANDLE object,
                                const DXGKARG_ENUMVIDPNCOFUNCMODALITY *arg)
{
    NTSTATUS status = miniport_forward_enum_vid_pn_cofunc_modality(self, object, arg);
    const D3DDDI_VIDEO_PRESENT_SOURCE_ID source = arg->EnumPivot.VidPnSourceId;
    struct zoo_layer *layer = zoo_layer_of(self);
    const DXGK_VIDPNSOURCEMODESET_INTERFACE *modes;
    const DXGK_VIDPN_INTERFACE *vidpn = NULL;
    const struct miniport_display_request ask = {
        .kind = MINIPORT_ASK_QueryVidPnInterface,
        .vidpn = {arg->hConstrainingVidPn, DXGK_VIDPN_INTERFACE_VERSION_V1, &vidpn}};
    D3DKMDT_HVIDPNSOURCEMODESET set;

    if (!NT_SUCCESS(status) || arg->EnumPivotType != D3DKMDT_EPT_VIDPNSOURCE ||
        !NT_SUCCESS(layer->host.upper->ops->display(layer->host.upper, &ask)) ||
        !NT_SUCCESS(
            vidpn->pfnCreateNewSourceModeSet(arg->hConstrainingVidPn, source, &set, &modes)))
        return status;
    if (!NT_SUCCESS(add_mode(set, modes)) ||
        !NT_SUCCESS(vidpn->pfnAssignSourceModeSet(arg->hConstrainingVidPn, source, set)))
        vidpn->pfnReleaseSourceModeSet(arg->hConstrainingVidPn, set);
    return status;
}

static void plant_make_pivot_anew(struct zoo_layer *layer)
{
    layer->ops.enum_vid_pn_cofunc_modality = make_pivot_anew;
}

static NTSTATUS enumerate_nothing(struct miniport *self, HANDLE object,
                                  const DXGKARG_ENUMVIDPNCOFUNCMODALITY *arg)
{
    return STATUS_SUCCESS;
}

static void plant_enumerate_nothing(struct zoo_layer *layer)
{
    layer->ops.enum_vid_pn_cofunc_modality = enumerate_nothing;
}

/* ---- Presents -------------------------------------------------------------------------------- */

static bool is_progress(const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    return data->InterruptType == DXGK_INTERRUPT_DISPLAYONLY_PRESENT_PROGRESS;
}

/* Every eighth present has no end. */
static void lose_progress(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);

    if (!is_progress(data) || ++layer->calls % 8)
        zoo_tell(layer, data);
}

static void plant_lose_progress(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = lose_progress;
}

static void tell_progress_twice(struct miniport_host *host,
                                const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);

    zoo_tell(layer, data);
    if (is_progress(data))
        zoo_tell(layer, data);
}

static void plant_tell_progress_twice(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_progress_twice;
}

static NTSTATUS forget_moves(struct miniport *self, HANDLE object,
                             const DXGKARG_PRESENT_DISPLAYONLY *arg)
{
    DXGKARG_PRESENT_DISPLAYONLY as = *arg;

    as.NumMoves = 0;
    return miniport_forward_present_display_only(self, object, &as);
}

static void plant_forget_moves(struct zoo_layer *layer)
{
    layer->ops.present_display_only = forget_moves;
}

/* ---- Monitors that come and go --------------------------------------------------------------- */

static bool is_connection(const struct miniport_display_request *request)
{
    return request->kind == MINIPORT_ASK_IndicateChildStatus &&
           request->child->Type == StatusConnection;
}

static NTSTATUS keep_departure(struct miniport_host *host,
                               const struct miniport_display_request *request)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);

    if (is_connection(request) && !request->child->HotPlug.Connected)
        return STATUS_SUCCESS;
    return layer->host.upper->ops->display(layer->host.upper, request);
}

static void plant_keep_departure(struct zoo_layer *layer)
{
    layer->host_ops.display = keep_departure;
}

static NTSTATUS tell_the_opposite(struct miniport_host *host,
                                  const struct miniport_display_request *request)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);
    struct miniport_display_request as = *request;
    DXGK_CHILD_STATUS child;

    if (is_connection(request)) {
        child = *request->child;
        child.HotPlug.Connected = !child.HotPlug.Connected;
        as.child = &child;
    }
    return layer->host.upper->ops->display(layer->host.upper, &as);
}

static void plant_tell_the_opposite(struct zoo_layer *layer)
{
    layer->host_ops.display = tell_the_opposite;
}

/* clang-format off */
#define DISPLAY_ONLY .is_display_only = true

const struct zoo_defect zoo_display_only_defects[] = {
    PLANT("VIDPN-last-child", ZOO_PHYSICAL, "VIDPN-001", plant_fill_last_child,
          "writes to the element behind its last child", DISPLAY_ONLY),
    PLANT("VIDPN-children-alike", ZOO_PHYSICAL, "VIDPN-002", plant_name_children_alike,
          "gives two children one ChildUid", DISPLAY_ONLY),
    PLANT("VIDPN-edid-status", ZOO_PHYSICAL, "VIDPN-003", plant_say_not_connected,
          "fails DxgkDdiQueryDeviceDescriptor with STATUS_GRAPHICS_MONITOR_NOT_CONNECTED",
          DISPLAY_ONLY),
    PLANT("VIDPN-pivot-anew", ZOO_PHYSICAL, "VIDPN-004", plant_make_pivot_anew,
          "makes the modes of the pivot anew", DISPLAY_ONLY, .calls_functions = true),
    PLANT("VIDPN-no-modes", ZOO_PHYSICAL, "VIDPN-005", plant_enumerate_nothing,
          "enumerates no mode", DISPLAY_ONLY),
    PLANT("VIDPN-present-endless", ZOO_PHYSICAL, "VIDPN-006", plant_lose_progress,
          "does not report the end of every eighth present", DISPLAY_ONLY),
    PLANT("VIDPN-present-twice", ZOO_PHYSICAL, "VIDPN-007", plant_tell_progress_twice,
          "reports the end of a present twice", DISPLAY_ONLY),
    PLANT("VIDPN-moves-forgotten", ZOO_PHYSICAL, "VIDPN-008", plant_forget_moves,
          "presents without the moves", DISPLAY_ONLY),
    PLANT("VIDPN-departure-untold", ZOO_PHYSICAL, "VIDPN-009", plant_keep_departure,
          "does not tell of a monitor that is pulled out", DISPLAY_ONLY),
    PLANT("VIDPN-opposite-told", ZOO_PHYSICAL, "VIDPN-009", plant_tell_the_opposite,
          "tells the opposite of what the connector says", DISPLAY_ONLY),
    {0},
};
/* clang-format on */
