/*
 * The display half of a miniport as it is written for the WDK: a path is walked, modes are made,
 * a child is described. Compiled like driver_source.c, for every interface version and compiler.
 *
 * Sizes are counted by hand from the documented members: four bytes for enumerations and UINT,
 * eight for pointers, handles and SIZE_T, each at its natural alignment.
 */
#include <ntddk.h>
#include <dispmprt.h>

#ifdef SAMPLE_OMITS_CONVENTION
#undef APIENTRY
#define APIENTRY
#endif

C_ASSERT(sizeof(D3DKMDT_2DREGION) == 8);
C_ASSERT(sizeof(D3DKMDT_COLOR_COEFF_DYNAMIC_RANGES) == 16);
C_ASSERT(FIELD_OFFSET(D3DKMDT_VIDEO_SIGNAL_INFO, PixelRate) == 40);
C_ASSERT(sizeof(D3DKMDT_VIDEO_SIGNAL_INFO) == 56);
C_ASSERT(sizeof(D3DKMDT_FREQUENCY_RANGE) == 32);
C_ASSERT(FIELD_OFFSET(D3DKMDT_MONITOR_FREQUENCY_RANGE, Constraint) == 40);
C_ASSERT(sizeof(D3DKMDT_MONITOR_DESCRIPTOR) == 32);
C_ASSERT(sizeof(D3DKMDT_MONITOR_SOURCE_MODE) == 8 + 56 + 4 + 16 + 4 + 4 + 4);
C_ASSERT(sizeof(D3DKMDT_GAMMA_RAMP) == 24);
C_ASSERT(sizeof(D3DDDI_GAMMA_RAMP_RGB256x3x16) == 3 * 256 * 2);
C_ASSERT(sizeof(D3DDDI_GAMMA_RAMP_DXGI_1) == (1 + 1 + 1025) * 12);
C_ASSERT(sizeof(D3DKMDT_PALETTEDATA) == 4);

C_ASSERT(sizeof(D3DKMDT_GRAPHICS_RENDERING_FORMAT) == 32);
C_ASSERT(sizeof(D3DKMDT_VIDPN_SOURCE_MODE) == 40);
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_9
C_ASSERT(sizeof(D3DKMDT_VIDPN_TARGET_MODE) == 80);
#else
C_ASSERT(sizeof(D3DKMDT_VIDPN_TARGET_MODE) == 72);
#endif
C_ASSERT(FIELD_OFFSET(D3DKMDT_VIDPN_TARGET_MODE, Id) == 0);
C_ASSERT(sizeof(D3DKMDT_WIRE_FORMAT_AND_PREFERENCE) == 4);
C_ASSERT(sizeof(D3DKMDT_VIDPN_PRESENT_PATH_SCALING_SUPPORT) == 4);
C_ASSERT(sizeof(D3DKMDT_VIDPN_PRESENT_PATH_ROTATION_SUPPORT) == 4);
C_ASSERT(sizeof(D3DKMDT_VIDPN_PRESENT_PATH_TRANSFORMATION) == 16);
C_ASSERT(FIELD_OFFSET(D3DKMDT_VIDPN_PRESENT_PATH, ContentTransformation) == 12);
C_ASSERT(FIELD_OFFSET(D3DKMDT_VIDPN_PRESENT_PATH, Content) == 64);

C_ASSERT(sizeof(DXGK_VIDPN_INTERFACE) == 11 * 8);
C_ASSERT(sizeof(DXGK_VIDPNTOPOLOGY_INTERFACE) == 12 * 8);
C_ASSERT(sizeof(DXGK_VIDPNSOURCEMODESET_INTERFACE) == 8 * 8);
C_ASSERT(sizeof(DXGK_VIDPNTARGETMODESET_INTERFACE) == 8 * 8);
C_ASSERT(sizeof(DXGK_MONITOR_INTERFACE) == 5 * 8);
C_ASSERT(sizeof(DXGK_MONITORSOURCEMODESET_INTERFACE) == 7 * 8);
C_ASSERT(sizeof(DXGK_MONITORFREQUENCYRANGESET_INTERFACE) == 4 * 8);
C_ASSERT(sizeof(DXGK_MONITORDESCRIPTORSET_INTERFACE) == 4 * 8);

C_ASSERT(sizeof(DXGKARG_ISSUPPORTEDVIDPN) == 16);
C_ASSERT(sizeof(DXGKARG_RECOMMENDFUNCTIONALVIDPN) == 48);
C_ASSERT(sizeof(DXGKARG_ENUMVIDPNCOFUNCMODALITY) == 24);
C_ASSERT(sizeof(DXGKARG_COMMITVIDPN) == 32);
C_ASSERT(sizeof(DXGKARG_RECOMMENDMONITORMODES) == 24);
C_ASSERT(sizeof(DXGKARG_RECOMMENDVIDPNTOPOLOGY) == 24);
C_ASSERT(sizeof(DXGK_SETVIDPNSOURCEADDRESS_FLAGS) == 4);
C_ASSERT(FIELD_OFFSET(DXGKARG_SETVIDPNSOURCEADDRESS, Context) == 32);
C_ASSERT(FIELD_OFFSET(DXGKARG_SETVIDPNSOURCEADDRESS, Flags) == 32 + 65 * 8);
C_ASSERT(sizeof(DXGKARG_SETVIDPNSOURCEVISIBILITY) == 8);
C_ASSERT(sizeof(DXGKARG_SETPOINTERPOSITION) == 16);
C_ASSERT(sizeof(DXGKARG_SETPOINTERSHAPE) == 40);
C_ASSERT(sizeof(DXGKARG_SETPALETTE) == 24);
C_ASSERT(sizeof(DXGK_OVERLAYINFO) == 8 + 8 + 8 + 16 + 16 + 8 + 8);
C_ASSERT(sizeof(DXGKARG_GETSCANLINE) == 12);
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN8
C_ASSERT(sizeof(DXGKARG_PRESENT_DISPLAYONLY) == 64);
C_ASSERT(sizeof(D3DKMT_MOVE_RECT) == 24);
C_ASSERT(sizeof(DXGK_MULTIPLANE_OVERLAY_ATTRIBUTES) == 104);
C_ASSERT(sizeof(DXGK_MULTIPLANE_OVERLAY_PLANE) == 32 + 104);
#endif

C_ASSERT(sizeof(DXGK_VIDEO_OUTPUT_CAPABILITIES) == 12);
C_ASSERT(sizeof(DXGK_CHILD_DESCRIPTOR) == 4 + 16 + 4 + 4);
C_ASSERT(sizeof(DXGK_DEVICE_DESCRIPTOR) == 16);
C_ASSERT(sizeof(STATUS_BLOCK) == 16);
C_ASSERT(sizeof(VIDEO_REQUEST_PACKET) == 48);
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_0
C_ASSERT(sizeof(KMDDOD_INITIALIZATION_DATA) == 42 * 8);
#elif DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN8
C_ASSERT(sizeof(KMDDOD_INITIALIZATION_DATA) == 41 * 8);
#endif

#ifdef __cplusplus
extern "C" {
#endif

DXGKDDI_ISSUPPORTEDVIDPN SampleIsSupportedVidPn;
DXGKDDI_RECOMMENDMONITORMODES SampleRecommendMonitorModes;
DXGKDDI_QUERY_CHILD_RELATIONS SampleQueryChildRelations;
DXGKDDI_SETVIDPNSOURCEADDRESS SampleSetVidPnSourceAddress;

extern DXGKRNL_INTERFACE SampleDxgk;

NTSTATUS APIENTRY SampleIsSupportedVidPn(IN_CONST_HANDLE Adapter,
                                         INOUT_PDXGKARG_ISSUPPORTEDVIDPN Args)
{
    CONST DXGK_VIDPN_INTERFACE *Network;
    CONST DXGK_VIDPNTOPOLOGY_INTERFACE *Topology;
    CONST D3DKMDT_VIDPN_PRESENT_PATH *Path;
    D3DKMDT_HVIDPNTOPOLOGY Handle;
    SIZE_T Paths = 0;
    NTSTATUS Status = SampleDxgk.DxgkCbQueryVidPnInterface(
        Args->hDesiredVidPn, DXGK_VIDPN_INTERFACE_VERSION_V1, &Network);

    UNREFERENCED_PARAMETER(Adapter);
    if (!NT_SUCCESS(Status))
        return Status;
    Status = Network->pfnGetTopology(Args->hDesiredVidPn, &Handle, &Topology);
    if (NT_SUCCESS(Status))
        Status = Topology->pfnGetNumPaths(Handle, &Paths);
    if (!NT_SUCCESS(Status) || Paths == 0)
        return Status;

    Status = Topology->pfnAcquireFirstPathInfo(Handle, &Path);
    if (NT_SUCCESS(Status)) {
        Args->IsVidPnSupported = Path->ContentTransformation.Scaling == D3DKMDT_VPPS_IDENTITY &&
                                 Path->ContentTransformation.Rotation == D3DKMDT_VPPR_IDENTITY;
        Topology->pfnReleasePathInfo(Handle, Path);
    }
    return Status;
}

NTSTATUS APIENTRY SampleRecommendMonitorModes(IN_CONST_HANDLE Adapter,
                                              IN_CONST_PDXGKARG_RECOMMENDMONITORMODES_CONST Args)
{
    D3DKMDT_MONITOR_SOURCE_MODE *Mode;
    NTSTATUS Status = Args->pMonitorSourceModeSetInterface->pfnCreateNewModeInfo(
        Args->hMonitorSourceModeSet, &Mode);

    UNREFERENCED_PARAMETER(Adapter);
    if (!NT_SUCCESS(Status))
        return Status;
    Mode->VideoSignalInfo.VideoStandard = D3DKMDT_VSS_OTHER;
    Mode->VideoSignalInfo.VSyncFreq.Numerator = D3DKMDT_FREQUENCY_NOTSPECIFIED;
    Mode->VideoSignalInfo.ScanLineOrdering = D3DDDI_VSSLO_PROGRESSIVE;
    Mode->Origin = D3DKMDT_MCO_DRIVER;
    Mode->Preference = D3DKMDT_MP_PREFERRED;
    return Args->pMonitorSourceModeSetInterface->pfnAddMode(Args->hMonitorSourceModeSet, Mode);
}

NTSTATUS APIENTRY SampleQueryChildRelations(IN_CONST_PVOID Adapter,
                                            INOUT_PDXGK_CHILD_DESCRIPTOR Children,
                                            IN_ULONG ChildrenSize)
{
    DXGK_CHILD_CAPABILITIES *Caps = &Children[0].ChildCapabilities;

    UNREFERENCED_PARAMETER(Adapter);
    if (ChildrenSize < 2 * sizeof(Children[0]))
        return STATUS_BUFFER_TOO_SMALL;
    Children[0].ChildDeviceType = TypeVideoOutput;
    Caps->HpdAwareness = HpdAwarenessAlwaysConnected;
    Caps->Type.VideoOutput.InterfaceTechnology = D3DKMDT_VOT_HDMI;
    Caps->Type.VideoOutput.MonitorOrientationAwareness = D3DKMDT_MOA_NONE;
    return STATUS_SUCCESS;
}

NTSTATUS APIENTRY SampleSetVidPnSourceAddress(IN_CONST_HANDLE Adapter,
                                              IN_CONST_PDXGKARG_SETVIDPNSOURCEADDRESS Args)
{
    UNREFERENCED_PARAMETER(Adapter);
    return Args->Flags.FlipImmediate && Args->VidPnSourceId != D3DDDI_ID_ALL
               ? STATUS_SUCCESS
               : STATUS_INVALID_PARAMETER;
}

#ifdef __cplusplus
}
#endif
