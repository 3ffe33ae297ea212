/*
 * Children and their monitors: found at the start, and as they come and go.
 *
 * A driver tells of a child by DxgkCbIndicateChildStatus, mostly from its DPC. What follows from it
 * calls the driver at PASSIVE_LEVEL, and waits for screen_attend(): the monitor's EDID is asked
 * for, and a network with another path is committed, or one without any.
 */
#include "bench/screen/screen_private.h"

#include "base/bits.h"
#include "nt/nt.h"

#include <string.h>

#define TOLD_WITHIN_NS UINT64_C(100000000) /* a driver may wait until contacts rest */
#define MOST_ROUNDS    64u                 /* of changes that bring calls that bring changes */

static bool is_video_output(const DXGK_CHILD_DESCRIPTOR *child)
{
    return child->ChildDeviceType == TypeVideoOutput ||
           child->ChildDeviceType == TypeIntegratedDisplay;
}

/* The monitor's EDID, as the driver reads it; 0 bytes: there is none. */
static size_t read_edid(struct screen *screen, ULONG child, uint8_t edid[DISPLAY_EDID_BYTES])
{
    DXGK_DEVICE_DESCRIPTOR descriptor = {.DescriptorLength = DISPLAY_EDID_BYTES,
                                         .DescriptorBuffer = edid};
    const struct miniport_descriptor arg = {child, &descriptor};
    NTSTATUS status;

    memset(edid, 0, DISPLAY_EDID_BYTES);
    status = miniport_query_device_descriptor(screen->config.miniport, NULL, &arg);
    return status == STATUS_SUCCESS ? DISPLAY_EDID_BYTES : 0;
}

static void plug_in(struct screen *screen, ULONG child)
{
    const DXGK_MONITORSOURCEMODESET_INTERFACE *functions;
    DXGKARG_RECOMMENDMONITORMODES recommend = {.VideoPresentTargetId = child};
    uint8_t edid[DISPLAY_EDID_BYTES];
    size_t bytes = 0;

    if (screen_has(screen, MINIPORT_DDI_QueryDeviceDescriptor))
        bytes = read_edid(screen, child, edid);
    if (!NT_SUCCESS(display_connect(screen->display, child, edid, bytes)) ||
        !screen_has(screen, MINIPORT_DDI_RecommendMonitorModes))
        return;
    recommend.hMonitorSourceModeSet = display_monitor_set(screen->display, child, &functions);
    recommend.pMonitorSourceModeSetInterface = functions;
    miniport_recommend_monitor_modes(screen->config.miniport, NULL, &recommend);
    display_settle(screen->display, "DxgkDdiRecommendMonitorModes");
}

/* One that is always there is not asked about. */
static bool is_connected(struct screen *screen, const DXGK_CHILD_DESCRIPTOR *child)
{
    DXGK_CHILD_STATUS status = {.Type = StatusConnection, .ChildUid = child->ChildUid};
    const struct miniport_child_status arg = {&status, FALSE};

    if (child->ChildCapabilities.HpdAwareness == HpdAwarenessAlwaysConnected)
        return true;
    return miniport_query_child_status(screen->config.miniport, NULL, &arg) == STATUS_SUCCESS &&
           status.HotPlug.Connected;
}

static void choose_target(struct screen *screen)
{
    screen->has_target = false;
    for (ULONG i = 0; i < screen->children && !screen->has_target; i++) {
        const DXGK_CHILD_DESCRIPTOR *child = &screen->relations[i];

        screen->has_target =
            is_video_output(child) && display_is_connected(screen->display, child->ChildUid);
        if (screen->has_target)
            screen->target = child->ChildUid;
    }
}

bool screen_find_children(struct screen *screen)
{
    const struct miniport_children arg = {
        screen->relations, (ULONG)((screen->children + 1) * sizeof *screen->relations)};

    memset(screen->relations, 0, arg.ChildRelationsSize);
    if (!screen_succeeds(screen, "DxgkDdiQueryChildRelations",
                         miniport_query_child_relations(screen->config.miniport, NULL, &arg)))
        return false;
    for (ULONG i = 0; i < screen->children; i++) {
        const DXGK_CHILD_DESCRIPTOR *child = &screen->relations[i];

        if (!is_video_output(child) || !display_add_target(screen->display, child->ChildUid))
            continue;
        if (is_connected(screen, child))
            plug_in(screen, child->ChildUid);
    }
    choose_target(screen);
    return screen->has_target || screen_give_up(screen, "no child of the driver's has a monitor");
}

/* ---- As they come and go --------------------------------------------------------------------- */

static void note_change(struct screen *screen, ULONG child, bool is_connected)
{
    if (screen->change_count == ARRAY_COUNT(screen->changes)) { /* the oldest counts no more */
        screen->change_count--;
        memmove(screen->changes, screen->changes + 1,
                screen->change_count * sizeof screen->changes[0]);
    }
    screen->changes[screen->change_count++] = (struct screen_change){child, is_connected};
}

/* The child of that number, if it is a video output; else NULL. */
static const DXGK_CHILD_DESCRIPTOR *find_output(const struct screen *screen, ULONG child)
{
    for (ULONG i = 0; i < screen->children; i++) {
        if (screen->relations[i].ChildUid == child && is_video_output(&screen->relations[i]))
            return &screen->relations[i];
    }
    return NULL;
}

void screen_child_changed(void *context, const DXGK_CHILD_STATUS *status)
{
    struct screen *screen = context;

    if (status->Type == StatusConnection && find_output(screen, status->ChildUid))
        note_change(screen, status->ChildUid, status->HotPlug.Connected);
}

/* The monitor of the target has gone: another one's is shown, or nothing. */
static void lose_target(struct screen *screen)
{
    if (screen->is_visible && !screen_set_visible(screen, false))
        return;
    choose_target(screen);
    screen_show_target(screen);
}

static void attend(struct screen *screen, const struct screen_change *change)
{
    const bool is_known = display_is_connected(screen->display, change->child);

    if (change->is_connected == is_known)
        return;
    if (!change->is_connected) {
        display_disconnect(screen->display, change->child);
        if (screen->has_target && screen->target == change->child)
            lose_target(screen);
        return;
    }
    plug_in(screen, change->child);
    if (screen->has_target)
        return;
    choose_target(screen);
    if (screen->has_target)
        screen_show_target(screen);
}

void screen_attend(struct screen *screen)
{
    for (unsigned round = 0; screen->change_count && !screen->is_over; round++) {
        const struct screen_change change = screen->changes[0];

        if (round == MOST_ROUNDS) {
            screen_give_up(screen, "its children come and go without end, each time in the calls "
                                   "that the change before has brought");
            return;
        }

        screen->change_count--;
        memmove(screen->changes, screen->changes + 1,
                screen->change_count * sizeof screen->changes[0]);
        attend(screen, &change);
    }
}

/* Children that nobody tells of are asked. */
static void poll_children(struct screen *screen)
{
    for (ULONG i = 0; i < screen->children; i++) {
        const DXGK_CHILD_DESCRIPTOR *child = &screen->relations[i];

        if (is_video_output(child) && child->ChildCapabilities.HpdAwareness == HpdAwarenessPolled)
            note_change(screen, child->ChildUid, is_connected(screen, child));
    }
}

void screen_plugged(struct screen *screen, bool is_plugged)
{
    struct check_client_event event = {.kind = CHECK_CLIENT_PLUGGED, .is_plugged = is_plugged};
    const DXGK_CHILD_DESCRIPTOR *child; /* that is shown, or was shown last */

    if (screen->is_over)
        return;
    screen_attend(screen); /* what was told before is of something else */
    child = find_output(screen, screen->target);
    screen_pass(screen, TOLD_WITHIN_NS);
    for (unsigned i = 0; i < screen->change_count; i++)
        event.is_told |= screen->changes[i].child == screen->target &&
                         screen->changes[i].is_connected == is_plugged;
    if (screen->config.check && child &&
        child->ChildCapabilities.HpdAwareness == HpdAwarenessInterruptible)
        check_client(screen->config.check, &event);
    poll_children(screen);
    screen_attend(screen);
}
