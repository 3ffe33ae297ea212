/*
 * dod: a display-only driver, whose device is a frame buffer that the firmware has set up.
 *
 * It offers the modes of its one monitor that fit into the frame buffer, and copies what is
 * presented, by the CPU. DOD_LATE presents behind the call: by a timer, with a report; it offers
 * text modes, too, and reads what is presented by an MDL, as Microsoft's KMDOD does. DOD_NEWEST is
 * built with the newest interface and is of WDDM 1.2 all the same, as that sample. DOD_BROKEN is
 * one mistake, by its number; each is at its place below.
 */
#include <ntddk.h>
#include <dispmprt.h>

#ifndef DOD_BROKEN
#define DOD_BROKEN 0
#endif

enum mistake {
    NO_MISTAKE,
    KEEPS_PATH,     /* a path info is not released */
    RELEASES_TWICE, /* a mode info is */
    READS_BEHIND,   /* the image has no such row */
    CHANGES_PIVOT,  /* the modes of the pivot are made anew */
    LAST_CHILD,     /* the element behind the children is written */
    WRONG_STATUS,   /* the monitor's descriptor fails by a status of another function's */
    NEVER_REPORTS,  /* a present that is pending has no end (with DOD_LATE) */
    REPORTS_TWICE,  /* (with DOD_LATE) */
    KEEPS_MEMORY,   /* a block is not freed */
    WRITES_MODE,    /* what is lent to be read is written */
    WRONG_HANDLE,   /* the handle of the network for that of its topology */
    NO_MODES,       /* no source mode is offered */
    SAME_CHILD,     /* two children with one identifier */
    SAYS_FAILED,    /* a present that was done is reported as failed (with DOD_LATE) */
    MISSES_COLUMN,  /* the last one of what is presented */
    FORGETS_MOVES,  /* only what is drawn anew is copied */
    MISTAKES,
};
#define BREAKS(mistake) (DOD_BROKEN == (mistake))

#define TAG         'doDd'
#define CHILD       7u
#define MOST_WIDTH  1024u
#define MOST_HEIGHT 768u
#define CHILDREN    (BREAKS(SAME_CHILD) ? 2u : 1u)

struct adapter {
    DXGKRNL_INTERFACE kernel;
    DXGK_DISPLAY_INFORMATION post;
    UCHAR *frame; /* the frame buffer, mapped; NULL: not started */
    ULONG frame_bytes;
    ULONG width, height, pitch; /* of the mode; 0: none */
    BOOLEAN is_visible;
    KTIMER timer;
    KDPC timer_dpc;
    BOOLEAN is_pending; /* a present, to be reported */
    PVOID kept;
};

/* ---- Life ------------------------------------------------------------------------------------ */

static NTSTATUS NTAPI add_device(IN_CONST_PDEVICE_OBJECT device, OUT_PPVOID out_context)
{
    struct adapter *adapter = ExAllocatePoolWithTag(NonPagedPoolNx, sizeof *adapter, TAG);

    if (!adapter)
        return STATUS_NO_MEMORY;
    RtlZeroMemory(adapter, sizeof *adapter);
    *out_context = adapter;
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI remove_device(IN_CONST_PVOID context)
{
    ExFreePoolWithTag((PVOID)context, TAG);
    return STATUS_SUCCESS;
}

static BOOLEAN NTAPI tell_progress(PVOID context)
{
    struct adapter *adapter = context;
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data;

    RtlZeroMemory(&data, sizeof data);
    data.InterruptType = DXGK_INTERRUPT_DISPLAYONLY_PRESENT_PROGRESS;
    data.DisplayOnlyPresentProgress.ProgressId =
        BREAKS(SAYS_FAILED) ? DXGK_PRESENT_DISPLAYONLY_PROGRESS_ID_FAILED
                            : DXGK_PRESENT_DISPLAYONLY_PROGRESS_ID_COMPLETE;
    adapter->kernel.DxgkCbNotifyInterrupt(adapter->kernel.DeviceHandle, &data);
    if (BREAKS(REPORTS_TWICE))
        adapter->kernel.DxgkCbNotifyInterrupt(adapter->kernel.DeviceHandle, &data);
    return TRUE;
}

static VOID NTAPI timer_ended(PKDPC dpc, PVOID context, PVOID first, PVOID second)
{
    struct adapter *adapter = context;
    BOOLEAN result;

    if (!adapter->is_pending || BREAKS(NEVER_REPORTS))
        return;
    adapter->is_pending = FALSE;
    NT_VERIFY(NT_SUCCESS(adapter->kernel.DxgkCbSynchronizeExecution(
        adapter->kernel.DeviceHandle, tell_progress, adapter, 0, &result)));
    adapter->kernel.DxgkCbQueueDpc(adapter->kernel.DeviceHandle);
}

static NTSTATUS NTAPI start_device(IN_CONST_PVOID context, IN_PDXGK_START_INFO start,
                                   IN_PDXGKRNL_INTERFACE kernel, OUT_PULONG sources,
                                   OUT_PULONG children)
{
    struct adapter *adapter = (struct adapter *)context;
    PVOID frame;
    NTSTATUS status;

    adapter->kernel = *kernel;
    status = kernel->DxgkCbAcquirePostDisplayOwnership(kernel->DeviceHandle, &adapter->post);
    if (!NT_SUCCESS(status) || !adapter->post.Width)
        return STATUS_UNSUCCESSFUL;
    adapter->frame_bytes = MOST_WIDTH * MOST_HEIGHT * 4;
    status = kernel->DxgkCbMapMemory(kernel->DeviceHandle, adapter->post.PhysicAddress,
                                     adapter->frame_bytes, FALSE, FALSE, MmWriteCombined, &frame);
    if (!NT_SUCCESS(status))
        return status;
    adapter->frame = frame;
    KeInitializeTimer(&adapter->timer);
    KeInitializeDpc(&adapter->timer_dpc, timer_ended, adapter);
    if (BREAKS(KEEPS_MEMORY))
        adapter->kept = ExAllocatePoolWithTag(NonPagedPoolNx, 100, TAG);
    *sources = 1;
    *children = CHILDREN;
    return STATUS_SUCCESS;
}

static VOID end(struct adapter *adapter)
{
    KeCancelTimer(&adapter->timer);
    adapter->kernel.DxgkCbUnmapMemory(adapter->kernel.DeviceHandle, adapter->frame);
    adapter->frame = NULL;
    adapter->width = 0;
}

static NTSTATUS NTAPI stop_device(IN_CONST_PVOID context)
{
    end((struct adapter *)context);
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI give_back(IN_CONST_PVOID context, D3DDDI_VIDEO_PRESENT_TARGET_ID target,
                                PDXGK_DISPLAY_INFORMATION info)
{
    struct adapter *adapter = (struct adapter *)context;

    *info = adapter->post;
    info->TargetId = target;
    end(adapter);
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI set_power(IN_CONST_PVOID context, IN_ULONG child, IN_DEVICE_POWER_STATE state,
                                IN_POWER_ACTION action)
{
    return STATUS_SUCCESS;
}

static BOOLEAN NTAPI interrupt(IN_CONST_PVOID context, IN_ULONG message)
{
    return FALSE;
}

static VOID NTAPI run_dpc(IN_CONST_PVOID context)
{
    struct adapter *adapter = (struct adapter *)context;

    adapter->kernel.DxgkCbNotifyDpc(adapter->kernel.DeviceHandle);
}

static VOID NTAPI unload(VOID)
{
}

static NTSTATUS NTAPI query_adapter(IN_CONST_HANDLE context,
                                    IN_CONST_PDXGKARG_QUERYADAPTERINFO query)
{
    DXGK_DRIVERCAPS *caps = query->pOutputData;

    if (query->Type != DXGKQAITYPE_DRIVERCAPS)
        return STATUS_NOT_SUPPORTED;
#ifdef DOD_NEWEST
    if (query->OutputDataSize < sizeof *caps)
        return STATUS_BUFFER_TOO_SMALL;
#endif
    RtlZeroMemory(caps, query->OutputDataSize);
    caps->HighestAcceptableAddress.QuadPart = -1;
    caps->WDDMVersion = DXGKDDI_WDDMv1_2;
    caps->SupportNonVGA = TRUE;
    caps->PointerCaps.Color = 1;
    caps->MaxPointerWidth = caps->MaxPointerHeight = 32;
    return STATUS_SUCCESS;
}

/* ---- Children -------------------------------------------------------------------------------- */

static NTSTATUS NTAPI query_relations(IN_CONST_PVOID context,
                                      INOUT_PDXGK_CHILD_DESCRIPTOR relations, IN_ULONG bytes)
{
    ULONG count = CHILDREN + (BREAKS(LAST_CHILD) ? 1 : 0);

    for (ULONG i = 0; i < count; i++) {
        relations[i].ChildDeviceType = TypeVideoOutput;
        relations[i].ChildCapabilities.HpdAwareness = HpdAwarenessInterruptible;
        relations[i].ChildCapabilities.Type.VideoOutput.InterfaceTechnology = D3DKMDT_VOT_INTERNAL;
        relations[i].ChildUid = BREAKS(SAME_CHILD) ? CHILD : CHILD + i;
    }
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI query_status(IN_CONST_PVOID context, INOUT_PDXGK_CHILD_STATUS status,
                                   IN_BOOLEAN is_gentle)
{
    if (status->Type != StatusConnection)
        return STATUS_NOT_SUPPORTED;
    status->HotPlug.Connected = status->ChildUid == CHILD;
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI query_descriptor(IN_CONST_PVOID context, IN_ULONG child,
                                       INOUT_PDXGK_DEVICE_DESCRIPTOR descriptor)
{
    return BREAKS(WRONG_STATUS) ? STATUS_GRAPHICS_MONITOR_NOT_CONNECTED
                                : STATUS_MONITOR_NO_DESCRIPTOR;
}

/* ---- Modes ----------------------------------------------------------------------------------- */

static NTSTATUS NTAPI is_supported(IN_CONST_HANDLE context, INOUT_PDXGKARG_ISSUPPORTEDVIDPN arg)
{
    struct adapter *adapter = (struct adapter *)context;
    const DXGK_VIDPNTOPOLOGY_INTERFACE *paths;
    const DXGK_VIDPN_INTERFACE *vidpn;
    D3DKMDT_HVIDPNTOPOLOGY topology;
    SIZE_T count = 0;
    NTSTATUS status = adapter->kernel.DxgkCbQueryVidPnInterface(
        arg->hDesiredVidPn, DXGK_VIDPN_INTERFACE_VERSION_V1, &vidpn);

    arg->IsVidPnSupported = FALSE;
    if (!NT_SUCCESS(status))
        return status;
    status = vidpn->pfnGetTopology(arg->hDesiredVidPn, &topology, &paths);
    if (BREAKS(WRONG_HANDLE))
        topology = (D3DKMDT_HVIDPNTOPOLOGY)arg->hDesiredVidPn;
    if (NT_SUCCESS(status))
        status = paths->pfnGetNumPathsFromSource(topology, 0, &count);
    if (BREAKS(WRONG_HANDLE))
        status = STATUS_SUCCESS;
    arg->IsVidPnSupported = NT_SUCCESS(status) && count <= 1;
    return status;
}

static NTSTATUS NTAPI recommend(IN_CONST_HANDLE context,
                                IN_CONST_PDXGKARG_RECOMMENDFUNCTIONALVIDPN_CONST arg)
{
    return STATUS_GRAPHICS_NO_RECOMMENDED_FUNCTIONAL_VIDPN;
}

static const struct {
    ULONG width, height;
} sizes[] = {{1024, 768}, {800, 600}, {640, 480}};

#ifdef DOD_LATE
static NTSTATUS add_text_mode(D3DKMDT_HVIDPNSOURCEMODESET set,
                              const DXGK_VIDPNSOURCEMODESET_INTERFACE *modes)
{
    D3DKMDT_VIDPN_SOURCE_MODE *mode;
    NTSTATUS status = modes->pfnCreateNewModeInfo(set, &mode);

    if (!NT_SUCCESS(status))
        return status;
    mode->Type = D3DKMDT_RMT_TEXT;
    status = modes->pfnAddMode(set, mode);
    if (!NT_SUCCESS(status))
        modes->pfnReleaseModeInfo(set, mode);
    return status == STATUS_GRAPHICS_MODE_ALREADY_IN_MODESET ? STATUS_SUCCESS : status;
}
#endif

static NTSTATUS add_source_modes(D3DKMDT_HVIDPNSOURCEMODESET set,
                                 const DXGK_VIDPNSOURCEMODESET_INTERFACE *modes)
{
#ifdef DOD_LATE
    NTSTATUS added = add_text_mode(set, modes);

    if (!NT_SUCCESS(added))
        return added;
#endif
    for (ULONG i = 0; i < RTL_NUMBER_OF(sizes) && !BREAKS(NO_MODES); i++) {
        D3DKMDT_VIDPN_SOURCE_MODE *mode;
        NTSTATUS status = modes->pfnCreateNewModeInfo(set, &mode);

        if (!NT_SUCCESS(status))
            return status;
        mode->Type = D3DKMDT_RMT_GRAPHICS;
        mode->Format.Graphics.PrimSurfSize.cx = sizes[i].width;
        mode->Format.Graphics.PrimSurfSize.cy = sizes[i].height;
        mode->Format.Graphics.VisibleRegionSize = mode->Format.Graphics.PrimSurfSize;
        mode->Format.Graphics.Stride = sizes[i].width * 4;
        mode->Format.Graphics.PixelFormat = D3DDDIFMT_A8R8G8B8;
        mode->Format.Graphics.ColorBasis = D3DKMDT_CB_SCRGB;
        mode->Format.Graphics.PixelValueAccessMode = D3DKMDT_PVAM_DIRECT;
        status = modes->pfnAddMode(set, mode);
        if (!NT_SUCCESS(status)) {
            modes->pfnReleaseModeInfo(set, mode);
            if (status != STATUS_GRAPHICS_MODE_ALREADY_IN_MODESET)
                return status;
        }
    }
    return STATUS_SUCCESS;
}

static NTSTATUS add_target_mode(D3DKMDT_HVIDPNTARGETMODESET set,
                                const DXGK_VIDPNTARGETMODESET_INTERFACE *modes)
{
    D3DKMDT_VIDPN_TARGET_MODE *mode;
    NTSTATUS status = modes->pfnCreateNewModeInfo(set, &mode);

    if (!NT_SUCCESS(status))
        return status;
    mode->VideoSignalInfo.VideoStandard = D3DKMDT_VSS_OTHER;
    mode->VideoSignalInfo.ActiveSize.cx = MOST_WIDTH;
    mode->VideoSignalInfo.ActiveSize.cy = MOST_HEIGHT;
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

/* Whether the source has a pinned mode; its sizes, if so. */
static BOOLEAN find_pinned(const DXGK_VIDPN_INTERFACE *vidpn, D3DKMDT_HVIDPN network, ULONG source,
                           ULONG *width, ULONG *height)
{
    const DXGK_VIDPNSOURCEMODESET_INTERFACE *modes;
    const D3DKMDT_VIDPN_SOURCE_MODE *pinned = NULL;
    D3DKMDT_HVIDPNSOURCEMODESET set;

    if (!NT_SUCCESS(vidpn->pfnAcquireSourceModeSet(network, source, &set, &modes)))
        return FALSE;
    modes->pfnAcquirePinnedModeInfo(set, &pinned);
    if (pinned) {
        *width = pinned->Format.Graphics.PrimSurfSize.cx;
        *height = pinned->Format.Graphics.PrimSurfSize.cy;
        if (BREAKS(WRITES_MODE))
            ((D3DKMDT_VIDPN_SOURCE_MODE *)pinned)->Format.Graphics.Stride = 1;
        modes->pfnReleaseModeInfo(set, pinned);
        if (BREAKS(RELEASES_TWICE))
            modes->pfnReleaseModeInfo(set, pinned);
    }
    vidpn->pfnReleaseSourceModeSet(network, set);
    return pinned != NULL;
}

static BOOLEAN has_pinned_target(const DXGK_VIDPN_INTERFACE *vidpn, D3DKMDT_HVIDPN network,
                                 ULONG target)
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

static NTSTATUS renew_source(const DXGK_VIDPN_INTERFACE *vidpn, D3DKMDT_HVIDPN network,
                             ULONG source)
{
    const DXGK_VIDPNSOURCEMODESET_INTERFACE *modes;
    D3DKMDT_HVIDPNSOURCEMODESET set;
    NTSTATUS status = vidpn->pfnCreateNewSourceModeSet(network, source, &set, &modes);

    if (!NT_SUCCESS(status))
        return status;
    status = add_source_modes(set, modes);
    if (NT_SUCCESS(status))
        status = vidpn->pfnAssignSourceModeSet(network, source, set);
    if (!NT_SUCCESS(status))
        vidpn->pfnReleaseSourceModeSet(network, set);
    return status;
}

static NTSTATUS renew_target(const DXGK_VIDPN_INTERFACE *vidpn, D3DKMDT_HVIDPN network,
                             ULONG target)
{
    const DXGK_VIDPNTARGETMODESET_INTERFACE *modes;
    D3DKMDT_HVIDPNTARGETMODESET set;
    NTSTATUS status = vidpn->pfnCreateNewTargetModeSet(network, target, &set, &modes);

    if (!NT_SUCCESS(status))
        return status;
    status = add_target_mode(set, modes);
    if (NT_SUCCESS(status))
        status = vidpn->pfnAssignTargetModeSet(network, target, set);
    if (!NT_SUCCESS(status))
        vidpn->pfnReleaseTargetModeSet(network, set);
    return status;
}

static NTSTATUS NTAPI enumerate(IN_CONST_HANDLE context,
                                IN_CONST_PDXGKARG_ENUMVIDPNCOFUNCMODALITY_CONST arg)
{
    struct adapter *adapter = (struct adapter *)context;
    const D3DKMDT_HVIDPN network = arg->hConstrainingVidPn;
    const DXGK_VIDPNTOPOLOGY_INTERFACE *paths;
    const D3DKMDT_VIDPN_PRESENT_PATH *path;
    const DXGK_VIDPN_INTERFACE *vidpn;
    D3DKMDT_HVIDPNTOPOLOGY topology;
    D3DKMDT_VIDPN_PRESENT_PATH own;
    ULONG width, height;
    NTSTATUS status =
        adapter->kernel.DxgkCbQueryVidPnInterface(network, DXGK_VIDPN_INTERFACE_VERSION_V1, &vidpn);

    if (!NT_SUCCESS(status))
        return status;
    status = vidpn->pfnGetTopology(network, &topology, &paths);
    if (!NT_SUCCESS(status))
        return status;
    status = paths->pfnAcquireFirstPathInfo(topology, &path);
    if (status == STATUS_GRAPHICS_DATASET_IS_EMPTY)
        return STATUS_SUCCESS;
    if (!NT_SUCCESS(status))
        return status;
    own = *path;
    if (!BREAKS(KEEPS_PATH))
        paths->pfnReleasePathInfo(topology, path);
    if (BREAKS(CHANGES_PIVOT) || (arg->EnumPivotType != D3DKMDT_EPT_VIDPNSOURCE &&
                                  !find_pinned(vidpn, network, own.VidPnSourceId, &width, &height)))
        status = renew_source(vidpn, network, own.VidPnSourceId);
    if (NT_SUCCESS(status) && arg->EnumPivotType != D3DKMDT_EPT_VIDPNTARGET &&
        !has_pinned_target(vidpn, network, own.VidPnTargetId))
        status = renew_target(vidpn, network, own.VidPnTargetId);
    if (!NT_SUCCESS(status))
        return status;
    own.ContentTransformation.ScalingSupport.Identity = 1;
    own.ContentTransformation.RotationSupport.Identity = 1;
    return paths->pfnUpdatePathSupportInfo(topology, &own);
}

static NTSTATUS NTAPI commit(IN_CONST_HANDLE context, IN_CONST_PDXGKARG_COMMITVIDPN_CONST arg)
{
    struct adapter *adapter = (struct adapter *)context;
    const DXGK_VIDPN_INTERFACE *vidpn;
    ULONG width = 0, height = 0;
    NTSTATUS status = adapter->kernel.DxgkCbQueryVidPnInterface(
        arg->hFunctionalVidPn, DXGK_VIDPN_INTERFACE_VERSION_V1, &vidpn);

    if (!NT_SUCCESS(status))
        return status;
    if (!find_pinned(vidpn, arg->hFunctionalVidPn, arg->AffectedVidPnSourceId, &width, &height)) {
        adapter->width = 0;
        return STATUS_SUCCESS;
    }
    adapter->width = width;
    adapter->height = height;
    adapter->pitch = width * 4;
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI update_path(IN_CONST_HANDLE context,
                                  IN_CONST_PDXGKARG_UPDATEACTIVEVIDPNPRESENTPATH_CONST arg)
{
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI set_visibility(IN_CONST_HANDLE context,
                                     IN_CONST_PDXGKARG_SETVIDPNSOURCEVISIBILITY arg)
{
    struct adapter *adapter = (struct adapter *)context;

    adapter->is_visible = arg->Visible;
    return STATUS_SUCCESS;
}

/* ---- Presents -------------------------------------------------------------------------------- */

static VOID copy_rows(struct adapter *adapter, const UCHAR *from, LONG pitch, const RECT *rect)
{
    LONG bottom = rect->bottom + (BREAKS(READS_BEHIND) ? 1 : 0);

    for (LONG y = rect->top; y < bottom; y++)
        RtlCopyMemory(adapter->frame + (SIZE_T)(y % MOST_HEIGHT) * adapter->pitch + rect->left * 4,
                      from + (SIZE_T)y * pitch + rect->left * 4,
                      (rect->right - rect->left - (BREAKS(MISSES_COLUMN) ? 1 : 0)) * 4);
}

static VOID move_rows(struct adapter *adapter, const D3DKMT_MOVE_RECT *move)
{
    const RECT *to = &move->DestRect;
    const LONG rows = to->bottom - to->top, bytes = (to->right - to->left) * 4;
    const BOOLEAN is_down = to->top > move->SourcePoint.y;

    for (LONG i = 0; i < rows; i++) {
        const LONG row = is_down ? rows - 1 - i : i;

        RtlMoveMemory(adapter->frame + (SIZE_T)(to->top + row) * adapter->pitch + to->left * 4,
                      adapter->frame + (SIZE_T)(move->SourcePoint.y + row) * adapter->pitch +
                          move->SourcePoint.x * 4,
                      bytes);
    }
}

/* The image, where it lies or by an MDL; NULL: its pages cannot be locked. */
static const UCHAR *lock_image(const DXGKARG_PRESENT_DISPLAYONLY *arg, ULONG bytes, PMDL *out_mdl)
{
    *out_mdl = NULL;
#ifdef DOD_LATE
    *out_mdl = IoAllocateMdl(arg->pSource, bytes, FALSE, FALSE, NULL);
    if (!*out_mdl)
        return NULL;
    MmProbeAndLockPages(*out_mdl,
                        (ULONG_PTR)arg->pSource < MM_USER_PROBE_ADDRESS ? UserMode : KernelMode,
                        IoReadAccess);
    return MmGetSystemAddressForMdlSafe(*out_mdl, NormalPagePriority);
#else
    return arg->pSource;
#endif
}

static VOID unlock_image(PMDL mdl)
{
    if (!mdl)
        return;
    MmUnlockPages(mdl);
    IoFreeMdl(mdl);
}

static NTSTATUS NTAPI present(IN_CONST_HANDLE context, IN_CONST_PDXGKARG_PRESENT_DISPLAYONLY arg)
{
    struct adapter *adapter = (struct adapter *)context;
    const UCHAR *image;
    PMDL mdl;

    if (!adapter->width || !adapter->is_visible)
        return STATUS_UNSUCCESSFUL;
    image = lock_image(arg, arg->Pitch * adapter->height, &mdl);
    for (ULONG i = 0; i < arg->NumMoves && !BREAKS(FORGETS_MOVES); i++)
        move_rows(adapter, &arg->pMoves[i]);
    for (ULONG i = 0; i < arg->NumDirtyRects && image; i++)
        copy_rows(adapter, image, arg->Pitch, &arg->pDirtyRect[i]);
    unlock_image(mdl);
#ifdef DOD_LATE
    {
        LARGE_INTEGER due = {.QuadPart = -10 * 100}; /* 100 microseconds */

        adapter->is_pending = TRUE;
        KeSetTimer(&adapter->timer, due, &adapter->timer_dpc);
        return STATUS_PENDING;
    }
#else
    return STATUS_SUCCESS;
#endif
}

static NTSTATUS NTAPI set_position(IN_CONST_HANDLE context,
                                   IN_CONST_PDXGKARG_SETPOINTERPOSITION arg)
{
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI set_shape(IN_CONST_HANDLE context, IN_CONST_PDXGKARG_SETPOINTERSHAPE arg)
{
    volatile const UCHAR *pixels = arg->pPixels;
    UCHAR sum = 0;

    for (UINT i = 0; i < arg->Pitch * arg->Height; i++)
        sum += pixels[i];
    return sum ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath);

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
    KMDDOD_INITIALIZATION_DATA data = {
#ifdef DOD_NEWEST
        .Version = DXGKDDI_INTERFACE_VERSION,
#else
        .Version = DXGKDDI_INTERFACE_VERSION_WIN8,
#endif
        .DxgkDdiAddDevice = add_device,
        .DxgkDdiStartDevice = start_device,
        .DxgkDdiStopDevice = stop_device,
        .DxgkDdiRemoveDevice = remove_device,
        .DxgkDdiInterruptRoutine = interrupt,
        .DxgkDdiDpcRoutine = run_dpc,
        .DxgkDdiQueryChildRelations = query_relations,
        .DxgkDdiQueryChildStatus = query_status,
        .DxgkDdiQueryDeviceDescriptor = query_descriptor,
        .DxgkDdiSetPowerState = set_power,
        .DxgkDdiUnload = unload,
        .DxgkDdiQueryAdapterInfo = query_adapter,
        .DxgkDdiSetPointerPosition = set_position,
        .DxgkDdiSetPointerShape = set_shape,
        .DxgkDdiIsSupportedVidPn = is_supported,
        .DxgkDdiRecommendFunctionalVidPn = recommend,
        .DxgkDdiEnumVidPnCofuncModality = enumerate,
        .DxgkDdiSetVidPnSourceVisibility = set_visibility,
        .DxgkDdiCommitVidPn = commit,
        .DxgkDdiUpdateActiveVidPnPresentPath = update_path,
        .DxgkDdiPresentDisplayOnly = present,
        .DxgkDdiStopDeviceAndReleasePostDisplayOwnership = give_back,
    };

    return DxgkInitializeDisplayOnlyDriver(DriverObject, RegistryPath, &data);
}
