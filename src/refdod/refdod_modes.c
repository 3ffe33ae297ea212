/*
 * What can be shown: a network with one path, from the source to the output with the connector.
 *
 * Every set of modes that is not pinned, and not the pivot, is made anew in each enumeration: the
 * source has the sizes that fit into the frame buffer, the target one mode of the frame buffer's
 * size, to which the board scales.
 */
#include "refdod/refdod_private.h"

#include <ntstatus.h>

static const struct {
    ULONG width, height;
} sizes[] = {{1024, 768}, {800, 600}, {640, 480}};

static NTSTATUS query_network(const struct refdod_adapter *adapter, D3DKMDT_HVIDPN network,
                              const DXGK_VIDPN_INTERFACE **out_vidpn)
{
    return adapter->dxgkrnl.DxgkCbQueryVidPnInterface(network, DXGK_VIDPN_INTERFACE_VERSION_V1,
                                                      out_vidpn);
}

/* The network's only path. STATUS_GRAPHICS_DATASET_IS_EMPTY, a success: it has none. */
static NTSTATUS find_path(const DXGK_VIDPN_INTERFACE *vidpn, D3DKMDT_HVIDPN network,
                          D3DKMDT_HVIDPNTOPOLOGY *out_topology,
                          const DXGK_VIDPNTOPOLOGY_INTERFACE **out_paths,
                          D3DKMDT_VIDPN_PRESENT_PATH *out_path)
{
    const D3DKMDT_VIDPN_PRESENT_PATH *path;
    NTSTATUS status = vidpn->pfnGetTopology(network, out_topology, out_paths);

    if (!NT_SUCCESS(status))
        return status;
    status = (*out_paths)->pfnAcquireFirstPathInfo(*out_topology, &path);
    if (!NT_SUCCESS(status) || status == STATUS_GRAPHICS_DATASET_IS_EMPTY)
        return status;
    *out_path = *path;
    return (*out_paths)->pfnReleasePathInfo(*out_topology, path);
}

NTSTATUS NTAPI RefDodIsSupportedVidPn(IN_CONST_HANDLE hAdapter,
                                      INOUT_PDXGKARG_ISSUPPORTEDVIDPN pIsSupportedVidPn)
{
    const DXGK_VIDPNTOPOLOGY_INTERFACE *paths;
    const DXGK_VIDPN_INTERFACE *vidpn;
    D3DKMDT_HVIDPNTOPOLOGY topology;
    D3DKMDT_VIDPN_PRESENT_PATH path;
    SIZE_T count = 0;
    NTSTATUS status;

    pIsSupportedVidPn->IsVidPnSupported = FALSE;
    status = query_network(hAdapter, pIsSupportedVidPn->hDesiredVidPn, &vidpn);
    if (!NT_SUCCESS(status))
        return status;
    status = find_path(vidpn, pIsSupportedVidPn->hDesiredVidPn, &topology, &paths, &path);
    if (!NT_SUCCESS(status))
        return status;
    if (status == STATUS_GRAPHICS_DATASET_IS_EMPTY) { /* nothing is shown: that can be done */
        pIsSupportedVidPn->IsVidPnSupported = TRUE;
        return STATUS_SUCCESS;
    }
    status = paths->pfnGetNumPaths(topology, &count);
    pIsSupportedVidPn->IsVidPnSupported =
        NT_SUCCESS(status) && count == 1 && path.VidPnTargetId == REFDOD_CHILD;
    return status;
}

NTSTATUS NTAPI RefDodRecommendFunctionalVidPn(
    IN_CONST_HANDLE hAdapter,
    IN_CONST_PDXGKARG_RECOMMENDFUNCTIONALVIDPN_CONST pRecommendFunctionalVidPn)
{
    UNREFERENCED_PARAMETER(hAdapter);
    UNREFERENCED_PARAMETER(pRecommendFunctionalVidPn);
    return STATUS_GRAPHICS_NO_RECOMMENDED_FUNCTIONAL_VIDPN;
}

/* ---- Sets of modes --------------------------------------------------------------------------- */

static NTSTATUS add_source_mode(const struct refdod_adapter *adapter,
                                D3DKMDT_HVIDPNSOURCEMODESET set,
                                const DXGK_VIDPNSOURCEMODESET_INTERFACE *modes, ULONG width,
                                ULONG height)
{
    D3DKMDT_VIDPN_SOURCE_MODE *mode;
    NTSTATUS status;

    if (width > adapter->post.Width || height > adapter->post.Height)
        return STATUS_SUCCESS;
    status = modes->pfnCreateNewModeInfo(set, &mode);
    if (!NT_SUCCESS(status))
        return status;
    mode->Type = D3DKMDT_RMT_GRAPHICS;
    mode->Format.Graphics.PrimSurfSize.cx = width;
    mode->Format.Graphics.PrimSurfSize.cy = height;
    mode->Format.Graphics.VisibleRegionSize = mode->Format.Graphics.PrimSurfSize;
    mode->Format.Graphics.Stride = width * 4;
    mode->Format.Graphics.PixelFormat = D3DDDIFMT_A8R8G8B8;
    mode->Format.Graphics.ColorBasis = D3DKMDT_CB_SCRGB;
    mode->Format.Graphics.PixelValueAccessMode = D3DKMDT_PVAM_DIRECT;
    status = modes->pfnAddMode(set, mode);
    if (NT_SUCCESS(status))
        return status;
    modes->pfnReleaseModeInfo(set, mode);
    return status == STATUS_GRAPHICS_MODE_ALREADY_IN_MODESET ? STATUS_SUCCESS : status;
}

static NTSTATUS renew_source(const struct refdod_adapter *adapter,
                             const DXGK_VIDPN_INTERFACE *vidpn, D3DKMDT_HVIDPN network,
                             D3DDDI_VIDEO_PRESENT_SOURCE_ID source)
{
    const DXGK_VIDPNSOURCEMODESET_INTERFACE *modes;
    D3DKMDT_HVIDPNSOURCEMODESET set;
    NTSTATUS status = vidpn->pfnCreateNewSourceModeSet(network, source, &set, &modes);
    ULONG i;

    if (!NT_SUCCESS(status))
        return status;
    for (i = 0; i < RTL_NUMBER_OF(sizes) && NT_SUCCESS(status); i++)
        status = add_source_mode(adapter, set, modes, sizes[i].width, sizes[i].height);
    if (NT_SUCCESS(status))
        status = vidpn->pfnAssignSourceModeSet(network, source, set);
    if (!NT_SUCCESS(status))
        vidpn->pfnReleaseSourceModeSet(network, set);
    return status;
}

static NTSTATUS add_target_mode(const struct refdod_adapter *adapter,
                                D3DKMDT_HVIDPNTARGETMODESET set,
                                const DXGK_VIDPNTARGETMODESET_INTERFACE *modes)
{
    D3DKMDT_VIDPN_TARGET_MODE *mode;
    NTSTATUS status = modes->pfnCreateNewModeInfo(set, &mode);

    if (!NT_SUCCESS(status))
        return status;
    mode->VideoSignalInfo.VideoStandard = D3DKMDT_VSS_OTHER;
    mode->VideoSignalInfo.ActiveSize.cx = adapter->post.Width;
    mode->VideoSignalInfo.ActiveSize.cy = adapter->post.Height;
    mode->VideoSignalInfo.TotalSize = mode->VideoSignalInfo.ActiveSize;
    mode->VideoSignalInfo.VSyncFreq.Numerator = 60;
    mode->VideoSignalInfo.VSyncFreq.Denominator = 1;
    mode->VideoSignalInfo.ScanLineOrdering = D3DDDI_VSSLO_PROGRESSIVE;
    mode->Preference = D3DKMDT_MP_PREFERRED;
    status = modes->pfnAddMode(set, mode);
    if (!NT_SUCCESS(status))
        modes->pfnReleaseModeInfo(set, mode);
    return status;
}

static NTSTATUS renew_target(const struct refdod_adapter *adapter,
                             const DXGK_VIDPN_INTERFACE *vidpn, D3DKMDT_HVIDPN network,
                             D3DDDI_VIDEO_PRESENT_TARGET_ID target)
{
    const DXGK_VIDPNTARGETMODESET_INTERFACE *modes;
    D3DKMDT_HVIDPNTARGETMODESET set;
    NTSTATUS status = vidpn->pfnCreateNewTargetModeSet(network, target, &set, &modes);

    if (!NT_SUCCESS(status))
        return status;
    status = add_target_mode(adapter, set, modes);
    if (NT_SUCCESS(status))
        status = vidpn->pfnAssignTargetModeSet(network, target, set);
    if (!NT_SUCCESS(status))
        vidpn->pfnReleaseTargetModeSet(network, set);
    return status;
}

/* Whether the source has a pinned mode; its size, if so. */
static BOOLEAN find_pinned(const DXGK_VIDPN_INTERFACE *vidpn, D3DKMDT_HVIDPN network,
                           D3DDDI_VIDEO_PRESENT_SOURCE_ID source, D3DKMDT_2DREGION *out_size)
{
    const DXGK_VIDPNSOURCEMODESET_INTERFACE *modes;
    const D3DKMDT_VIDPN_SOURCE_MODE *pinned = NULL;
    D3DKMDT_HVIDPNSOURCEMODESET set;

    if (!NT_SUCCESS(vidpn->pfnAcquireSourceModeSet(network, source, &set, &modes)))
        return FALSE;
    modes->pfnAcquirePinnedModeInfo(set, &pinned);
    if (pinned) {
        *out_size = pinned->Format.Graphics.PrimSurfSize;
        modes->pfnReleaseModeInfo(set, pinned);
    }
    vidpn->pfnReleaseSourceModeSet(network, set);
    return pinned != NULL;
}

static BOOLEAN has_pinned_target(const DXGK_VIDPN_INTERFACE *vidpn, D3DKMDT_HVIDPN network,
                                 D3DDDI_VIDEO_PRESENT_TARGET_ID target)
{
    const DXGK_VIDPNTARGETMODESET_INTERFACE *modes;
    const D3DKMDT_VIDPN_TARGET_MODE *pinned = NULL;
    D3DKMDT_HVIDPNTARGETMODESET set;

    if (!NT_SUCCESS(vidpn->pfnAcquireTargetModeSet(network, target, &set, &modes)))
        return FALSE;
    modes->pfnAcquirePinnedModeInfo(set, &pinned);
    if (pinned)
        modes->pfnReleaseModeInfo(set, pinned);
    vidpn->pfnReleaseTargetModeSet(network, set);
    return pinned != NULL;
}

/* VIDPN-004, VIDPN-005. */
NTSTATUS NTAPI RefDodEnumVidPnCofuncModality(
    IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_ENUMVIDPNCOFUNCMODALITY_CONST pEnumCofuncModality)
{
    const struct refdod_adapter *adapter = hAdapter;
    const D3DKMDT_HVIDPN network = pEnumCofuncModality->hConstrainingVidPn;
    const DXGK_VIDPNTOPOLOGY_INTERFACE *paths;
    const DXGK_VIDPN_INTERFACE *vidpn;
    D3DKMDT_HVIDPNTOPOLOGY topology;
    D3DKMDT_VIDPN_PRESENT_PATH path;
    D3DKMDT_2DREGION size;
    NTSTATUS status = query_network(adapter, network, &vidpn);

    if (!NT_SUCCESS(status))
        return status;
    status = find_path(vidpn, network, &topology, &paths, &path);
    if (!NT_SUCCESS(status) || status == STATUS_GRAPHICS_DATASET_IS_EMPTY)
        return NT_SUCCESS(status) ? STATUS_SUCCESS : status;
    if (pEnumCofuncModality->EnumPivotType != D3DKMDT_EPT_VIDPNSOURCE &&
        !find_pinned(vidpn, network, path.VidPnSourceId, &size))
        status = renew_source(adapter, vidpn, network, path.VidPnSourceId);
    if (NT_SUCCESS(status) && pEnumCofuncModality->EnumPivotType != D3DKMDT_EPT_VIDPNTARGET &&
        !has_pinned_target(vidpn, network, path.VidPnTargetId))
        status = renew_target(adapter, vidpn, network, path.VidPnTargetId);
    if (!NT_SUCCESS(status))
        return status;
    path.ContentTransformation.ScalingSupport.Identity = 1;
    path.ContentTransformation.RotationSupport.Identity = 1;
    return paths->pfnUpdatePathSupportInfo(topology, &path);
}

/* ---- Commits --------------------------------------------------------------------------------- */

/* A network without a path ends what is shown, as when the monitor has gone. */
NTSTATUS NTAPI RefDodCommitVidPn(IN_CONST_HANDLE hAdapter,
                                 IN_CONST_PDXGKARG_COMMITVIDPN_CONST pCommitVidPn)
{
    struct refdod_adapter *adapter = hAdapter;
    const D3DKMDT_HVIDPN network = pCommitVidPn->hFunctionalVidPn;
    const DXGK_VIDPNTOPOLOGY_INTERFACE *paths;
    const DXGK_VIDPN_INTERFACE *vidpn;
    D3DKMDT_HVIDPNTOPOLOGY topology;
    D3DKMDT_VIDPN_PRESENT_PATH path;
    D3DKMDT_2DREGION size;
    NTSTATUS status = query_network(adapter, network, &vidpn);

    if (!NT_SUCCESS(status))
        return status;
    status = find_path(vidpn, network, &topology, &paths, &path);
    if (!NT_SUCCESS(status))
        return status;
    if (status == STATUS_GRAPHICS_DATASET_IS_EMPTY ||
        !find_pinned(vidpn, network, pCommitVidPn->AffectedVidPnSourceId, &size)) {
        adapter->width = adapter->height = 0;
        return STATUS_SUCCESS;
    }
    if (pCommitVidPn->MonitorConnectivityChecks == D3DKMDT_MCC_ENFORCE &&
        !(refdod_read(adapter, SGPU_REG_CONNECTOR) & SGPU_CONNECTED))
        return STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY;
    adapter->width = size.cx;
    adapter->height = size.cy;
    adapter->pitch = size.cx * 4;
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI RefDodUpdateActiveVidPnPresentPath(
    IN_CONST_HANDLE hAdapter,
    IN_CONST_PDXGKARG_UPDATEACTIVEVIDPNPRESENTPATH_CONST pUpdateActiveVidPnPresentPath)
{
    UNREFERENCED_PARAMETER(hAdapter);
    UNREFERENCED_PARAMETER(pUpdateActiveVidPnPresentPath);
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI RefDodSetVidPnSourceVisibility(
    IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_SETVIDPNSOURCEVISIBILITY pSetVisibility)
{
    struct refdod_adapter *adapter = hAdapter;

    adapter->is_visible = pSetVisibility->Visible;
    refdod_write(adapter, SGPU_REG_SCAN_CONTROL,
                 adapter->is_visible ? SGPU_SCAN_SHOW : SGPU_SCAN_HIDE);
    return STATUS_SUCCESS;
}
