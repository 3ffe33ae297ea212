/*
 * Watcher: children, modes, and presents of display-only drivers (VIDPN).
 *
 * What a network looks like is known to whoever negotiates with the driver, and told by
 * CHECK_CLIENT_ENUMERATED.
 */
#include "check/check_watch.h"

#include <stdio.h>
#include <string.h>

struct modes_watch {
    bool is_pending; /* a present, with this source */
    UINT source;
};

/* ---- Children -------------------------------------------------------------------------------- */

static bool is_zero(const void *bytes, size_t count)
{
    const unsigned char *byte = bytes;

    for (size_t i = 0; i < count; i++) {
        if (byte[i])
            return false;
    }
    return true;
}

static void check_children(struct check *check, const struct miniport_children *arg)
{
    const DXGK_CHILD_DESCRIPTOR *children = arg->ChildRelations;
    const size_t count = arg->ChildRelationsSize / sizeof *children;

    if (!count)
        return;
    CHECK_RULE(check, RULE_VIDPN_001, is_zero(&children[count - 1], sizeof *children), NULL,
               "ChildRelations", "has something in element %zu, the last one, which has to be zero",
               count - 1);
    for (size_t i = 0; i + 1 < count; i++) {
        size_t other = 0;

        while (other < i && children[other].ChildUid != children[i].ChildUid)
            other++;
        CHECK_RULE(check, RULE_VIDPN_002, other == i, NULL, "ChildUid",
                   "of element %zu is 0x%x, as that of element %zu", i,
                   (unsigned)children[i].ChildUid, other);
    }
}

static bool may_describe_by(NTSTATUS status)
{
    return status == STATUS_SUCCESS || status == STATUS_GRAPHICS_CHILD_DESCRIPTOR_NOT_SUPPORTED ||
           status == STATUS_MONITOR_NO_DESCRIPTOR ||
           status == STATUS_MONITOR_NO_MORE_DESCRIPTOR_DATA;
}

/* ---- Hooks ----------------------------------------------------------------------------------- */

static void before(struct check *check, void *state, const struct check_call *call)
{
    struct modes_watch *watch = state;

    watch->is_pending = true;
    watch->source = call->arg.present_display_only->VidPnSourceId;
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    struct modes_watch *watch = state;

    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_QueryChildRelations:
        if (NT_SUCCESS(call->status))
            check_children(check, call->arg.query_child_relations);
        break;
    case MINIPORT_DDI_QueryDeviceDescriptor:
        CHECK_RULE(check, RULE_VIDPN_003, may_describe_by(call->status), NULL, "",
                   "returned {0x%08x}", (unsigned)call->status);
        break;
    case MINIPORT_DDI_PresentDisplayOnly:
        if (call->status != STATUS_PENDING)
            watch->is_pending = false;
        break;
    default:
        break;
    }
}

static void callback(struct check *check, void *state, const struct check_callback *callback)
{
    const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data = callback->data;
    struct modes_watch *watch = state;
    UINT source;

    if (callback->callback != TRACE_CALLBACK_notify_interrupt ||
        data->InterruptType != DXGK_INTERRUPT_DISPLAYONLY_PRESENT_PROGRESS)
        return;
    source = data->DisplayOnlyPresentProgress.VidPnSourceId;
    CHECK_RULE(check, RULE_VIDPN_007, watch->is_pending, NULL, "DisplayOnlyPresentProgress",
               "is reported of source %u, which has no present pending", source);
    if (watch->is_pending)
        CHECK_RULE(check, RULE_VIDPN_007, source == watch->source, NULL,
                   "DisplayOnlyPresentProgress.VidPnSourceId",
                   "is {%u}; the present that is pending is of {=%u}", source, watch->source);
    CHECK_RULE(check, RULE_VIDPN_006, true, NULL, "", "in time");
    watch->is_pending = false;
}

static void check_shown(struct check *check, const struct check_client_shown *shown)
{
    char part[64] = "no move and no dirty rectangle covers it";

    if (shown->part != CHECK_SHOWN_UNCHANGED)
        snprintf(part, sizeof part, "%s[%u] covers it",
                 shown->part == CHECK_SHOWN_MOVED ? "the move pMoves" : "pDirtyRect", shown->index);
    CHECK_RULE(check, RULE_VIDPN_008, !shown->is_other, NULL, "pSource",
               "has {=0x%06x} at (%u, %u), where the screen shows {0x%06x} (mode %ux%u): %s",
               shown->presented, shown->x, shown->y, shown->shown, shown->width, shown->height,
               part);
}

static void client(struct check *check, void *state, const struct check_client_event *event)
{
    struct modes_watch *watch = state;

    if (event->kind == CHECK_CLIENT_PRESENT_LATE) {
        watch->is_pending = false;
        CHECK_RULE(check, RULE_VIDPN_006, false, NULL, "",
                   "DxgkDdiPresentDisplayOnly returned STATUS_PENDING, and its progress has not "
                   "been reported within two seconds");
    }
    if (event->kind == CHECK_CLIENT_SHOWN)
        check_shown(check, &event->shown);
    if (event->kind == CHECK_CLIENT_PLUGGED)
        CHECK_RULE(check, RULE_VIDPN_009, event->is_told, NULL, "",
                   "a monitor has been %s, and no DxgkCbIndicateChildStatus has told so",
                   event->is_plugged ? "plugged in" : "pulled out");
    if (event->kind != CHECK_CLIENT_ENUMERATED)
        return;
    CHECK_RULE(check, RULE_VIDPN_004, !event->is_pivot_changed, NULL, "EnumPivot",
               "names the set of modes that has been changed");
    CHECK_RULE(check, RULE_VIDPN_005, event->source_modes && event->target_modes, NULL,
               "hConstrainingVidPn", "has %u source modes and %u target modes now",
               event->source_modes, event->target_modes);
}

const struct check_watcher check_modes_watcher = {
    .name = "modes",
    .state_bytes = sizeof(struct modes_watch),
    .before = before,
    .before_calls = CHECK_CALLS(MINIPORT_DDI_PresentDisplayOnly),
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_QueryChildRelations, MINIPORT_DDI_QueryDeviceDescriptor,
                               MINIPORT_DDI_PresentDisplayOnly),
    .callback = callback,
    .client = client,
};
