/*
 * The life of a display, its tables of functions, settling.
 */
#include "display/display_private.h"

#include <string.h>

/* ---- Settling -------------------------------------------------------------------------------- */

static bool settle_sets(struct display *display, const char *ddi, bool of_monitors)
{
    struct object *object, *following;
    bool is_whole = true;

    list_for_each_safe (object, following, &display->objects, struct object, link) {
        struct mode_set *set = container_of(object, struct mode_set, object);

        if ((object->kind != OBJECT_SOURCE_SET && object->kind != OBJECT_TARGET_SET &&
             object->kind != OBJECT_MONITOR_SET) ||
            object_is_of_monitor(object) != of_monitors)
            continue;
        if (set->acquired || set->is_new) {
            display_misuse(display, ddi, "has returned, and a %s that it has %s has not been %s",
                           object_kind_name(object->kind), set->is_new ? "created" : "acquired",
                           set->is_new ? "assigned or released" : "released");
            is_whole = false;
        }
        set->acquired = 0;
        if (set->is_new || set->is_replaced)
            mode_set_destroy(set);
    }
    return is_whole;
}

bool display_settle(struct display *display, const char *ddi)
{
    bool is_whole = infos_settle(display, ddi, false);

    return settle_sets(display, ddi, false) && is_whole;
}

bool display_settle_monitors(struct display *display, const char *ddi)
{
    bool is_whole = infos_settle(display, ddi, true);

    is_whole = settle_sets(display, ddi, true) && is_whole;
    monitors_bury(display);
    return is_whole;
}

/* ---- Life ------------------------------------------------------------------------------------ */

/* False: bind() has none. */
static bool bind_functions(struct display *display, void *first, const void *end)
{
    const struct display_config *config = &display->config;

    for (char *place = first; config->bind && place < (const char *)end; place += sizeof(void *)) {
        const void *function;

        memcpy(&function, place, sizeof function);
        if (!function)
            continue;
        function = config->bind(config->context, function);
        if (!function)
            return false;
        memcpy(place, &function, sizeof function);
    }
    return true;
}

static bool fill_tables(struct display *display)
{
    display->topology = topology_functions;
    display->source_modes = source_mode_functions;
    display->target_modes = target_mode_functions;
    display->monitor_modes = monitor_mode_functions;
    display->descriptors = descriptor_functions;
    display->ranges = range_functions;
    display->vidpn[0] = vidpn_functions;
    display->monitor2 = monitor_functions;
    if (!bind_functions(display, &display->vidpn[0].pfnGetTopology, &display->vidpn[0] + 1) ||
        !bind_functions(display, &display->topology, &display->topology + 1) ||
        !bind_functions(display, &display->source_modes, &display->source_modes + 1) ||
        !bind_functions(display, &display->target_modes, &display->target_modes + 1) ||
        !bind_functions(display, &display->monitor_modes, &display->monitor_modes + 1) ||
        !bind_functions(display, &display->descriptors, &display->descriptors + 1) ||
        !bind_functions(display, &display->ranges, &display->ranges + 1) ||
        !bind_functions(display, &display->monitor2.pfnAcquireMonitorSourceModeSet,
                        &display->monitor2 + 1))
        return false;
    display->vidpn[0].Version = DXGK_VIDPN_INTERFACE_VERSION_V1;
    display->vidpn[1] = display->vidpn[0];
    display->vidpn[1].Version = DXGK_VIDPN_INTERFACE_VERSION_V2;
    display->monitor2.Version = DXGK_MONITOR_INTERFACE_VERSION_V2;
    memcpy(&display->monitor, &display->monitor2, sizeof display->monitor);
    display->monitor.Version = DXGK_MONITOR_INTERFACE_VERSION_V1;
    return true;
}

NTSTATUS display_create(const struct display_config *config, struct display **out_display)
{
    struct display *display = base_alloc(config->services, sizeof *display);

    *out_display = NULL;
    if (!display)
        return STATUS_NO_MEMORY;
    display->config = *config;
    list_init(&display->objects);
    list_init(&display->networks);
    list_init(&display->lent);
    list_init(&display->unplugged);
    if (!fill_tables(display)) {
        base_free(config->services, display, sizeof *display);
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    display_enter(display);
    *out_display = display;
    return STATUS_SUCCESS;
}

void display_destroy(struct display *display)
{
    if (!display)
        return;
    while (!list_is_empty(&display->networks))
        display_network_destroy(list_first_entry(&display->networks, struct display_network, link));
    monitors_forget(display);
    infos_forget(display);
    display_leave(display);
    base_free(display->config.services, display, sizeof *display);
}

bool display_add_target(struct display *display, D3DDDI_VIDEO_PRESENT_TARGET_ID target)
{
    if (display->target_count == DISPLAY_MOST_TARGETS || display_find_target(display, target))
        return false;
    display->targets[display->target_count++].id = target;
    return true;
}
