/*
 * Display requests: the callbacks by which a driver asks about modes, monitors, children and the
 * boot display.
 *
 * Place      miniport. struct miniport_host_ops has one function for all of them, display().
 * Model      A request is the kind of callback and its arguments, which the driver lends for the
 *            call.
 * Source     The pages of DXGKCB_QUERYVIDPNINTERFACE, DXGKCB_QUERYMONITORINTERFACE,
 *            DXGKCB_INDICATE_CHILD_STATUS, DXGKCB_ACQUIRE_POST_DISPLAY_OWNERSHIP and its newer one.
 */
#ifndef MINIPORT_DISPLAY_REQUEST_H
#define MINIPORT_DISPLAY_REQUEST_H

#include <ntddk.h>
#include <dispmprt.h>
#include <d3dkmddi.h>

/* X(slot of DXGKRNL_INTERFACE). */
#define MINIPORT_ASK_LIST(X)                                                                       \
    X(QueryVidPnInterface)                                                                         \
    X(QueryMonitorInterface)                                                                       \
    X(IndicateChildStatus)                                                                         \
    X(AcquirePostDisplayOwnership)                                                                 \
    X(AcquirePostDisplayOwnership2)

enum miniport_ask_kind {
#define X(slot) MINIPORT_ASK_##slot,
    MINIPORT_ASK_LIST(X)
#undef X
        MINIPORT_ASK_COUNT
};

struct miniport_display_request {
    enum miniport_ask_kind kind;
    HANDLE adapter; /* as the driver named it; NULL for QueryVidPnInterface */
    union {
        struct {
            D3DKMDT_HVIDPN network;
            DXGK_VIDPN_INTERFACE_VERSION version;
            const DXGK_VIDPN_INTERFACE **out_interface;
        } vidpn;
        struct {
            DXGK_MONITOR_INTERFACE_VERSION version;
            const DXGK_MONITOR_INTERFACE **out_interface;
        } monitor;
        DXGK_CHILD_STATUS *child;
        struct {
            DXGK_DISPLAY_INFORMATION *out_info;
            DXGK_DISPLAY_OWNERSHIP_FLAGS *out_flags; /* NULL: the older callback */
        } post;
    };
};

/* "DxgkCbQueryVidPnInterface" */
const char *miniport_ask_name(enum miniport_ask_kind kind);

#endif
