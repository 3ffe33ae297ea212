/*
 * Miniport: the one interface between the memory manager and a display miniport driver.
 *
 * Place      Everything that stands between manager and driver is a struct miniport that owns
 *            the next one: trace, check, fault, defect, and at the bottom the adapter from a
 *            driver's own table (miniport/raw.h). None is known to the manager or the driver.
 * Model      Downward, one function a DDI; the argument structures are the WDK's, unchanged.
 *            Upward, struct miniport_host: what the driver calls in the kernel (DxgkCb*). A
 *            layer that wants to see those passes a host of its own to the next layer.
 * Ownership  miniport_destroy() destroys the whole stack below. Arguments are borrowed for the
 *            call. The host outlives the stack.
 * Errors     NTSTATUS, the driver's own. A DDI that the driver does not have is
 *            STATUS_NOT_IMPLEMENTED, reported by the bottom; miniport_has() asks before.
 * Source     design.md, "the one idea".
 */
#ifndef MINIPORT_MINIPORT_H
#define MINIPORT_MINIPORT_H

#include "base/api.h"
#include "miniport/display_request.h"
#include "miniport/memory_request.h"
#include "miniport/power_request.h"

#include <stdbool.h>
#include <stdint.h>

#include <ntddk.h>
#include <dispmprt.h>
#include <d3dkmddi.h>

VIDMM_API_BEGIN

/*
 * The DDIs that take one handle and one argument structure, as
 * X(function, Ddi, argument type). The handle is the adapter's (object is NULL: the bottom
 * knows it), the device's, the context's or the process's, as the DDI wants it. A DDI that
 * returns nothing (SetRootPageTable) is STATUS_SUCCESS here.
 */
#define MINIPORT_HANDLE_LIST(X)                                                                    \
    X(query_adapter_info, QueryAdapterInfo, const DXGKARG_QUERYADAPTERINFO *)                      \
    X(create_process, CreateProcess, DXGKARG_CREATEPROCESS *)                                      \
    X(create_device, CreateDevice, DXGKARG_CREATEDEVICE *)                                         \
    X(create_context, CreateContext, DXGKARG_CREATECONTEXT *)                                      \
    X(create_allocation, CreateAllocation, DXGKARG_CREATEALLOCATION *)                             \
    X(destroy_allocation, DestroyAllocation, const DXGKARG_DESTROYALLOCATION *)                    \
    X(describe_allocation, DescribeAllocation, DXGKARG_DESCRIBEALLOCATION *)                       \
    X(open_allocation, OpenAllocation, const DXGKARG_OPENALLOCATION *)                             \
    X(close_allocation, CloseAllocation, const DXGKARG_CLOSEALLOCATION *)                          \
    X(build_paging_buffer, BuildPagingBuffer, DXGKARG_BUILDPAGINGBUFFER *)                         \
    X(render, Render, DXGKARG_RENDER *)                                                            \
    X(present, Present, DXGKARG_PRESENT *)                                                         \
    X(patch, Patch, const DXGKARG_PATCH *)                                                         \
    X(submit_command, SubmitCommand, const DXGKARG_SUBMITCOMMAND *)                                \
    X(submit_command_virtual, SubmitCommandVirtual, const DXGKARG_SUBMITCOMMANDVIRTUAL *)          \
    X(preempt_command, PreemptCommand, const DXGKARG_PREEMPTCOMMAND *)                             \
    X(query_current_fence, QueryCurrentFence, DXGKARG_QUERYCURRENTFENCE *)                         \
    X(reset_engine, ResetEngine, DXGKARG_RESETENGINE *)                                            \
    X(query_engine_status, QueryEngineStatus, DXGKARG_QUERYENGINESTATUS *)                         \
    X(query_dependent_engine_group, QueryDependentEngineGroup,                                     \
      DXGKARG_QUERYDEPENDENTENGINEGROUP *)                                                         \
    X(cancel_command, CancelCommand, const DXGKARG_CANCELCOMMAND *)                                \
    X(acquire_swizzling_range, AcquireSwizzlingRange, DXGKARG_ACQUIRESWIZZLINGRANGE *)             \
    X(release_swizzling_range, ReleaseSwizzlingRange, const DXGKARG_RELEASESWIZZLINGRANGE *)       \
    X(set_root_page_table, SetRootPageTable, const DXGKARG_SETROOTPAGETABLE *)                     \
    X(map_cpu_host_aperture, MapCpuHostAperture, const DXGKARG_MAPCPUHOSTAPERTURE *)               \
    X(unmap_cpu_host_aperture, UnmapCpuHostAperture, const DXGKARG_UNMAPCPUHOSTAPERTURE *)         \
    X(create_native_fence, CreateNativeFence, DXGKARG_CREATENATIVEFENCE *)                         \
    X(begin_exclusive_access, BeginExclusiveAccess, DXGKARG_BEGINEXCLUSIVEACCESS *)                \
    X(end_exclusive_access, EndExclusiveAccess, DXGKARG_ENDEXCLUSIVEACCESS *)                      \
    X(get_standard_allocation_driver_data, GetStandardAllocationDriverData,                        \
      DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA *)                                                   \
    X(set_vid_pn_source_address, SetVidPnSourceAddress, const DXGKARG_SETVIDPNSOURCEADDRESS *)     \
    X(set_vid_pn_source_visibility, SetVidPnSourceVisibility,                                      \
      const DXGKARG_SETVIDPNSOURCEVISIBILITY *)                                                    \
    X(render_km, RenderKm, DXGKARG_RENDER *)                                                       \
    X(render_gdi, RenderGdi, DXGKARG_RENDERGDI *)                                                  \
    X(escape, Escape, const DXGKARG_ESCAPE *)                                                      \
    X(collect_dbg_info, CollectDbgInfo, const DXGKARG_COLLECTDBGINFO *)                            \
    X(collect_dbg_info2, CollectDbgInfo2, DXGKARG_COLLECTDBGINFO2 *)                               \
    X(control_interrupt3, ControlInterrupt3, const DXGKARG_CONTROLINTERRUPT3 *)                    \
    X(create_hw_queue, CreateHwQueue, DXGKARG_CREATEHWQUEUE *)                                     \
    X(submit_command_to_hw_queue, SubmitCommandToHwQueue, const DXGKARG_SUBMITCOMMANDTOHWQUEUE *)  \
    X(present_to_hw_queue, PresentToHwQueue, DXGKARG_PRESENT *)                                    \
    X(setup_priority_bands, SetupPriorityBands, const DXGKARG_SETUPPRIORITYBANDS *)                \
    X(set_context_scheduling_properties, SetContextSchedulingProperties,                           \
      const DXGKARG_SETCONTEXTSCHEDULINGPROPERTIES *)                                              \
    X(set_scheduling_log_buffer, SetSchedulingLogBuffer, const DXGKARG_SETSCHEDULINGLOGBUFFER *)   \
    X(suspend_context, SuspendContext, const DXGKARG_SUSPENDCONTEXT *)                             \
    X(resume_context, ResumeContext, const DXGKARG_RESUMECONTEXT *)                                \
    X(reset_hw_engine, ResetHwEngine, DXGKARG_RESETHWENGINE *)                                     \
    X(resume_hw_engine, ResumeHwEngine, DXGKARG_RESUMEHWENGINE *)                                  \
    X(switch_to_hw_context_list, SwitchToHwContextList, const DXGKARG_SWITCHTOHWCONTEXTLIST *)

/* The arguments of DxgkDdiControlInterrupt. */
struct miniport_interrupt {
    DXGK_INTERRUPT_TYPE InterruptType;
    BOOLEAN EnableInterrupt;
};

/* The arguments of DxgkDdiGetNodeMetadata, which writes metadata. */
struct miniport_node {
    UINT NodeOrdinalAndAdapterIndex;
    DXGKARG_GETNODEMETADATA metadata;
};

/* The arguments of DxgkDdiCalibrateGpuClock, which writes calibration. */
struct miniport_clock {
    UINT32 NodeOrdinal, EngineOrdinal;
    DXGKARG_CALIBRATEGPUCLOCK calibration;
};

/* The arguments of DxgkDdiSetPowerComponentFState. */
struct miniport_f_state {
    UINT ComponentIndex;
    UINT FState;
};

/* Of DxgkDdiPowerRuntimeControlRequest: the kernel's own requests have neither buffer. */
struct miniport_power_control {
    LPCGUID PowerControlCode;
};

/* DDIs whose arguments come by value: one structure holds them here. */
#define MINIPORT_VALUE_LIST(X)                                                                     \
    X(set_power_component_f_state, SetPowerComponentFState, const struct miniport_f_state *)       \
    X(power_runtime_control_request, PowerRuntimeControlRequest,                                   \
      const struct miniport_power_control *)                                                       \
    X(control_interrupt, ControlInterrupt, const struct miniport_interrupt *)                      \
    X(control_interrupt2, ControlInterrupt2, const DXGKARG_CONTROLINTERRUPT2 *)                    \
    X(get_node_metadata, GetNodeMetadata, struct miniport_node *)                                  \
    X(calibrate_gpu_clock, CalibrateGpuClock, struct miniport_clock *)

/* Elements of DXGKARG_PRESENT.pAllocationList: nothing, the source, the destination. */
#define MINIPORT_PRESENT_ALLOCATIONS 3u

/* DDIs whose argument structure alone says what they are about; their handle here is NULL. */
#define MINIPORT_ARGUMENT_LIST(X)                                                                  \
    X(destroy_native_fence, DestroyNativeFence, DXGKARG_DESTROYNATIVEFENCE *)                      \
    X(update_monitored_values, UpdateMonitoredValues, const DXGKARG_UPDATEMONITOREDVALUES *)

/* DDIs of modes, children and the pointer, by a handle and an argument structure, too. */
#define MINIPORT_DISPLAY_LIST(X)                                                                   \
    X(is_supported_vid_pn, IsSupportedVidPn, DXGKARG_ISSUPPORTEDVIDPN *)                           \
    X(recommend_functional_vid_pn, RecommendFunctionalVidPn,                                       \
      const DXGKARG_RECOMMENDFUNCTIONALVIDPN *)                                                    \
    X(enum_vid_pn_cofunc_modality, EnumVidPnCofuncModality,                                        \
      const DXGKARG_ENUMVIDPNCOFUNCMODALITY *)                                                     \
    X(commit_vid_pn, CommitVidPn, const DXGKARG_COMMITVIDPN *)                                     \
    X(update_active_vid_pn_present_path, UpdateActiveVidPnPresentPath,                             \
      const DXGKARG_UPDATEACTIVEVIDPNPRESENTPATH *)                                                \
    X(recommend_monitor_modes, RecommendMonitorModes, const DXGKARG_RECOMMENDMONITORMODES *)       \
    X(query_vid_pn_hw_capability, QueryVidPnHWCapability, DXGKARG_QUERYVIDPNHWCAPABILITY *)        \
    X(set_pointer_position, SetPointerPosition, const DXGKARG_SETPOINTERPOSITION *)                \
    X(set_pointer_shape, SetPointerShape, const DXGKARG_SETPOINTERSHAPE *)

/* The arguments of DxgkDdiQueryChildRelations. */
struct miniport_children {
    DXGK_CHILD_DESCRIPTOR *ChildRelations;
    ULONG ChildRelationsSize;
};

/* Of DxgkDdiQueryChildStatus. */
struct miniport_child_status {
    DXGK_CHILD_STATUS *ChildStatus;
    BOOLEAN NonDestructiveOnly;
};

/* Of DxgkDdiQueryDeviceDescriptor. */
struct miniport_descriptor {
    ULONG ChildUid;
    DXGK_DEVICE_DESCRIPTOR *DeviceDescriptor;
};

/* Of DxgkDdiStopDeviceAndReleasePostDisplayOwnership. */
struct miniport_post_display {
    D3DDDI_VIDEO_PRESENT_TARGET_ID TargetId;
    DXGK_DISPLAY_INFORMATION *DisplayInfo;
};

#define MINIPORT_DISPLAY_VALUE_LIST(X)                                                             \
    X(query_child_relations, QueryChildRelations, const struct miniport_children *)                \
    X(query_child_status, QueryChildStatus, const struct miniport_child_status *)                  \
    X(query_device_descriptor, QueryDeviceDescriptor, const struct miniport_descriptor *)          \
    X(stop_device_and_release_post_display_ownership, StopDeviceAndReleasePostDisplayOwnership,    \
      const struct miniport_post_display *)

/* Those of display-only drivers, which have no slot in DRIVER_INITIALIZATION_DATA. */
#define MINIPORT_DISPLAY_ONLY_LIST(X)                                                              \
    X(present_display_only, PresentDisplayOnly, const DXGKARG_PRESENT_DISPLAYONLY *)

/* All that have a slot in DRIVER_INITIALIZATION_DATA; and all that there are. */
#define MINIPORT_SLOT_LIST(X)                                                                      \
    MINIPORT_HANDLE_LIST(X)                                                                        \
    MINIPORT_ARGUMENT_LIST(X)                                                                      \
    MINIPORT_VALUE_LIST(X)                                                                         \
    MINIPORT_DISPLAY_LIST(X)                                                                       \
    MINIPORT_DISPLAY_VALUE_LIST(X)
#define MINIPORT_DDI_LIST(X) MINIPORT_SLOT_LIST(X) MINIPORT_DISPLAY_ONLY_LIST(X)

/* DDIs without an argument structure. DestroyProcess takes the process, not the adapter. */
#define MINIPORT_PLAIN_LIST(X)                                                                     \
    X(destroy_process, DestroyProcess)                                                             \
    X(destroy_device, DestroyDevice)                                                               \
    X(destroy_context, DestroyContext)                                                             \
    X(destroy_hw_queue, DestroyHwQueue)                                                            \
    X(reset_from_timeout, ResetFromTimeout)                                                        \
    X(restart_from_timeout, RestartFromTimeout)

enum miniport_ddi {
#define X(function, ddi, argument) MINIPORT_DDI_##ddi,
    MINIPORT_DDI_LIST(X)
#undef X
#define X(function, ddi) MINIPORT_DDI_##ddi,
        MINIPORT_PLAIN_LIST(X)
#undef X
            MINIPORT_DDI_GetRootPageTableSize,
    MINIPORT_DDI_AddDevice,
    MINIPORT_DDI_StartDevice,
    MINIPORT_DDI_StopDevice,
    MINIPORT_DDI_RemoveDevice,
    MINIPORT_DDI_SetPowerState,
    MINIPORT_DDI_InterruptRoutine,
    MINIPORT_DDI_DpcRoutine,
    MINIPORT_DDI_NotifySurpriseRemoval,
    MINIPORT_DDI_COUNT
};

/* "DxgkDdiBuildPagingBuffer" */
const char *miniport_ddi_name(enum miniport_ddi ddi);

struct miniport_host;

/* The arguments of DxgkCbReadDeviceSpace and DxgkCbWriteDeviceSpace. */
struct miniport_space {
    ULONG type; /* DXGK_WHICHSPACE_CONFIG, ... */
    PVOID buffer;
    ULONG offset, length;
    ULONG done; /* out: bytes that were read or written */
};

/*
 * The functions of the kernel that the driver calls. None is NULL. A function that is called at
 * another level than PASSIVE_LEVEL says so.
 */
/* clang-format off */
struct miniport_host_ops {
    NTSTATUS (*get_device_information)(struct miniport_host *host, DXGK_DEVICE_INFO *info);
    NTSTATUS (*map_memory)(struct miniport_host *host, PHYSICAL_ADDRESS translated, ULONG length,
                           BOOLEAN in_io_space, BOOLEAN map_to_user_mode, ULONG cache_type,
                           PVOID *virtual_address);
    NTSTATUS (*unmap_memory)(struct miniport_host *host, PVOID virtual_address);
    NTSTATUS (*read_device_space)(struct miniport_host *host, struct miniport_space *space);
    NTSTATUS (*write_device_space)(struct miniport_host *host, struct miniport_space *space);
    /* At device IRQL. */
    void (*notify_interrupt)(struct miniport_host *host,
                             const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data);
    /* At DISPATCH_LEVEL. */
    void (*notify_dpc)(struct miniport_host *host);
    /* At any IRQL; true if it was not queued already. */
    bool (*queue_dpc)(struct miniport_host *host);
    /* Runs routine(context) at device IRQL; returns what it returned. */
    NTSTATUS (*synchronize_execution)(struct miniport_host *host, PKSYNCHRONIZE_ROUTINE routine,
                                      PVOID context, ULONG message, BOOLEAN *return_value);
    PVOID (*get_handle_data)(struct miniport_host *host, const DXGKARGCB_GETHANDLEDATA *data);
    /* The resource of an allocation, and the allocations of a resource; 0: there is none. */
    D3DKMT_HANDLE (*get_handle_parent)(struct miniport_host *host, D3DKMT_HANDLE allocation);
    D3DKMT_HANDLE (*enum_handle_children)(struct miniport_host *host,
                                          const DXGKARGCB_ENUMHANDLECHILDREN *children);
    NTSTATUS (*reserve_gpu_virtual_address_range)(struct miniport_host *host, HANDLE process,
                                                  DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE *range);
    NTSTATUS (*create_context_allocation)(struct miniport_host *host,
                                          DXGKARGCB_CREATECONTEXTALLOCATION *allocation);
    NTSTATUS (*destroy_context_allocation)(struct miniport_host *host, HANDLE allocation);
    /* The address; 0: it failed. */
    D3DGPU_VIRTUAL_ADDRESS (*map_context_allocation)(struct miniport_host *host,
                                                     const DXGKARGCB_MAPCONTEXTALLOCATION *map);
    /* Returns when the update has run. */
    NTSTATUS (*update_context_allocation)(struct miniport_host *host,
                                          const DXGKARGCB_UPDATECONTEXTALLOCATION *update);
    /* Whether the system enables a feature; without success it does not say. */
    NTSTATUS (*is_feature_enabled)(struct miniport_host *host, DXGKARGCB_ISFEATUREENABLED *feature);
    /* A reset of its engine has hit a context, which the system's handle names. */
    NTSTATUS (*invalidate_hw_context)(struct miniport_host *host,
                                      const DXGKARGCB_INVALIDATEHWCONTEXT *context);
    /* System memory for the device: 14 callbacks (memory_request.h). */
    NTSTATUS (*memory)(struct miniport_host *host, const struct miniport_memory_request *request);
    /* Modes, monitors, children, the boot display: 5 callbacks (display_request.h). */
    NTSTATUS (*display)(struct miniport_host *host, const struct miniport_display_request *request);
    /* Power components: 6 callbacks (power_request.h). */
    NTSTATUS (*power)(struct miniport_host *host, const struct miniport_power_request *request);
    void (*log)(struct miniport_host *host, const char *text);
    /* A callback of DXGKRNL_INTERFACE that has no function here was called. */
    void (*unsupported)(struct miniport_host *host, const char *callback);
};
/* clang-format on */

struct miniport_host {
    const struct miniport_host_ops *ops;
};

struct miniport;

/* clang-format off */
struct miniport_ops {
    const char *name; /* of the layer: "raw", "trace", "check", ... */
    /* Frees this layer alone: miniport_destroy() goes down the stack. */
    void (*destroy)(struct miniport *self);
    ULONG (*interface_version)(struct miniport *self);
    void (*set_host)(struct miniport *self, struct miniport_host *host);
    bool (*has)(struct miniport *self, enum miniport_ddi ddi);

    /* AddDevice .. RemoveDevice, in the order of a device's life. */
    NTSTATUS (*add_device)(struct miniport *self);
    NTSTATUS (*start_device)(struct miniport *self, const DXGK_START_INFO *start,
                             ULONG *video_present_sources, ULONG *children);
    NTSTATUS (*stop_device)(struct miniport *self);
    NTSTATUS (*remove_device)(struct miniport *self);
    NTSTATUS (*set_power_state)(struct miniport *self, ULONG device_uid, DEVICE_POWER_STATE state,
                                POWER_ACTION action);
    /* The device has gone, in the middle of any work of the driver's (WDDM 1.2 and later). */
    NTSTATUS (*notify_surprise_removal)(struct miniport *self, DXGK_SURPRISE_REMOVAL_TYPE type);
    bool (*interrupt)(struct miniport *self, ULONG message); /* at device IRQL */
    void (*dpc)(struct miniport *self);                      /* at DISPATCH_LEVEL */

#define X(function, ddi, argument)                                                                 \
    NTSTATUS (*function)(struct miniport * self, HANDLE object, argument arg);
    MINIPORT_DDI_LIST(X)
#undef X
#define X(function, ddi) NTSTATUS (*function)(struct miniport * self, HANDLE object);
    MINIPORT_PLAIN_LIST(X)
#undef X
    /* In bytes; 0 if the driver does not have it. */
    SIZE_T (*get_root_page_table_size)(struct miniport *self, DXGKARG_GETROOTPAGETABLESIZE *arg);
};
/* clang-format on */

struct miniport {
    const struct miniport_ops *ops;
    struct miniport *next; /* owned; NULL at the bottom */
};

#define X(function, ddi, argument)                                                                 \
    static inline NTSTATUS miniport_##function(struct miniport *m, HANDLE object, argument arg)    \
    {                                                                                              \
        return m->ops->function(m, object, arg);                                                   \
    }
MINIPORT_DDI_LIST(X)
#undef X
#define X(function, ddi)                                                                           \
    static inline NTSTATUS miniport_##function(struct miniport *m, HANDLE object)                  \
    {                                                                                              \
        return m->ops->function(m, object);                                                        \
    }
MINIPORT_PLAIN_LIST(X)
#undef X

static inline SIZE_T miniport_get_root_page_table_size(struct miniport *m,
                                                       DXGKARG_GETROOTPAGETABLESIZE *arg)
{
    return m->ops->get_root_page_table_size(m, arg);
}

static inline bool miniport_has(struct miniport *m, enum miniport_ddi ddi)
{
    return m->ops->has(m, ddi);
}

/*
 * The WDDM version of the driver, DXGKDDI_INTERFACE_VERSION_*: the one that it registered with,
 * until DRIVERCAPS.WDDMVersion says that it is of an older one.
 */
static inline ULONG miniport_interface_version(struct miniport *m)
{
    return m->ops->interface_version(m);
}

/* Whom the driver's callbacks reach. Before miniport_start_device(); the host is borrowed. */
static inline void miniport_set_host(struct miniport *m, struct miniport_host *host)
{
    m->ops->set_host(m, host);
}

static inline NTSTATUS miniport_add_device(struct miniport *m)
{
    return m->ops->add_device(m);
}

static inline NTSTATUS miniport_start_device(struct miniport *m, const DXGK_START_INFO *start,
                                             ULONG *video_present_sources, ULONG *children)
{
    return m->ops->start_device(m, start, video_present_sources, children);
}

static inline NTSTATUS miniport_stop_device(struct miniport *m)
{
    return m->ops->stop_device(m);
}

static inline NTSTATUS miniport_remove_device(struct miniport *m)
{
    return m->ops->remove_device(m);
}

static inline NTSTATUS miniport_set_power_state(struct miniport *m, ULONG device_uid,
                                                DEVICE_POWER_STATE state, POWER_ACTION action)
{
    return m->ops->set_power_state(m, device_uid, state, action);
}

static inline NTSTATUS miniport_notify_surprise_removal(struct miniport *m,
                                                        DXGK_SURPRISE_REMOVAL_TYPE type)
{
    return m->ops->notify_surprise_removal(m, type);
}

static inline bool miniport_interrupt(struct miniport *m, ULONG message)
{
    return m->ops->interrupt(m, message);
}

static inline void miniport_dpc(struct miniport *m)
{
    m->ops->dpc(m);
}

/* Destroys m and every layer below it. NULL is nothing. */
void miniport_destroy(struct miniport *m);

/*
 * Functions that hand a call on unchanged: what a layer puts in its table for every DDI that it
 * does not watch.
 */
#define X(function, ddi, argument)                                                                 \
    NTSTATUS miniport_forward_##function(struct miniport *m, HANDLE object, argument arg);
MINIPORT_DDI_LIST(X)
#undef X
#define X(function, ddi) NTSTATUS miniport_forward_##function(struct miniport *m, HANDLE object);
MINIPORT_PLAIN_LIST(X)
#undef X

SIZE_T miniport_forward_get_root_page_table_size(struct miniport *m,
                                                 DXGKARG_GETROOTPAGETABLESIZE *arg);

/*
 * A complete table of forwards, to be copied and changed. Its destroy frees nothing, which is
 * right for a layer in its caller's memory.
 */
extern const struct miniport_ops miniport_forward_ops;

/*
 * The same for the way up: a host that hands every callback on to upper. A layer that watches
 * callbacks embeds one, copies and changes the table, and in its set_host() keeps the host it is
 * given as upper and passes its own to the next layer.
 */
struct miniport_host_layer {
    struct miniport_host host;
    struct miniport_host *upper;
};
extern const struct miniport_host_ops miniport_host_forward_ops;

VIDMM_API_END

#endif
