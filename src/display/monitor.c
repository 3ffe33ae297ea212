/*
 * Monitors: the EDID of the modelled one, modes that any EDID names, and the functions of
 * DXGK_MONITOR_INTERFACE.
 *
 * The base block of an EDID (VESA E-EDID 1.4) has three lists of modes: a bit for each established
 * timing, two bytes for each standard timing, 18 bytes for each detailed timing, the first of
 * which is the preferred one. Standard timings are not read.
 */
#include "display/display_private.h"

#include "base/bits.h"

#include <string.h>

#define TABLE "DXGK_MONITOR_INTERFACE"

#define EDID_ESTABLISHED 35u
#define EDID_STANDARD    38u
#define EDID_DETAILED    54u
#define EDID_CHECKSUM    127u

/* ---- EDIDs ----------------------------------------------------------------------------------- */

/* A detailed timing of 1920x1080 at 60 Hz: 148.5 MHz, blanking of 280 and 45. */
static const uint8_t full_hd[18] = {0x02, 0x3a, 0x80, 0x18, 0x71, 0x38, 0x2d, 0x40, 0x58,
                                    0x2c, 0x45, 0x00, 0x09, 0x25, 0x21, 0x00, 0x00, 0x1e};

void display_make_edid(uint8_t edid[DISPLAY_EDID_BYTES])
{
    static const uint8_t head[8] = {0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00};
    static const uint8_t name[18] = {0,   0,   0,   0xfc, 0,   'D', 'r', 'y', 'd',
                                     'o', 'c', 'k', '\n', ' ', ' ', ' ', ' ', ' '};
    uint8_t sum = 0;

    memset(edid, 0, DISPLAY_EDID_BYTES);
    memcpy(edid, head, sizeof head);
    edid[8] = 0x13; /* "DRY", 15 bits big endian */
    edid[9] = 0x59;
    edid[10] = 0x01;
    edid[16] = 1;  /* week */
    edid[17] = 34; /* year, from 1990 */
    edid[18] = 1;  /* version 1.4 */
    edid[19] = 4;
    edid[20] = 0xa5; /* digital, 8 bits a colour, DisplayPort */
    edid[21] = 52;   /* centimetres */
    edid[22] = 29;
    edid[23] = 0x78;                   /* gamma 2.2 */
    edid[24] = 0x06;                   /* sRGB, the first detailed timing is preferred */
    edid[EDID_ESTABLISHED] = 0x20;     /* 640x480 at 60 Hz */
    edid[EDID_ESTABLISHED + 1] = 0x08; /* 1024x768 at 60 Hz */
    memset(edid + EDID_STANDARD, 0x01, 16);
    memcpy(edid + EDID_DETAILED, full_hd, sizeof full_hd);
    memcpy(edid + EDID_DETAILED + 18, name, sizeof name);
    edid[EDID_DETAILED + 36 + 3] = 0x10; /* two that say nothing */
    edid[EDID_DETAILED + 54 + 3] = 0x10;
    for (unsigned i = 0; i < EDID_CHECKSUM; i++)
        sum = (uint8_t)(sum + edid[i]);
    edid[EDID_CHECKSUM] = (uint8_t)(0x100 - sum);
}

bool display_is_edid(const uint8_t *edid, size_t bytes)
{
    uint8_t sum = 0;

    if (bytes < DISPLAY_EDID_BYTES || edid[0] != 0 || edid[7] != 0)
        return false;
    for (unsigned i = 1; i < 7; i++) {
        if (edid[i] != 0xff)
            return false;
    }
    for (unsigned i = 0; i < DISPLAY_EDID_BYTES; i++)
        sum = (uint8_t)(sum + edid[i]);
    return sum == 0;
}

struct timing {
    uint32_t width, height, total_width, total_height;
    uint64_t pixel_rate;
    D3DKMDT_VIDEO_SIGNAL_STANDARD standard;
};

/* Established timings of the bits that monitors of today set, from the highest bit of byte 35 on.
 */
static const struct established {
    unsigned bit;
    struct timing timing;
} established[] = {
    {5, {640, 480, 800, 525, 25175000, D3DKMDT_VSS_VESA_DMT}},
    {0, {800, 600, 1056, 628, 40000000, D3DKMDT_VSS_VESA_DMT}},
    {8 + 3, {1024, 768, 1344, 806, 65000000, D3DKMDT_VSS_VESA_DMT}},
    {8 + 0, {1280, 1024, 1688, 1066, 135000000, D3DKMDT_VSS_VESA_DMT}},
};

static bool add_timing(struct mode_set *set, const struct timing *timing, bool is_preferred)
{
    D3DKMDT_MONITOR_SOURCE_MODE mode;
    D3DKMDT_VIDEO_SIGNAL_INFO *signal = &mode.VideoSignalInfo;

    memset(&mode, 0, sizeof mode);
    signal->VideoStandard = timing->standard;
    signal->TotalSize.cx = timing->total_width;
    signal->TotalSize.cy = timing->total_height;
    signal->ActiveSize.cx = timing->width;
    signal->ActiveSize.cy = timing->height;
    signal->VSyncFreq.Numerator = (UINT)timing->pixel_rate;
    signal->VSyncFreq.Denominator = timing->total_width * timing->total_height;
    signal->HSyncFreq.Numerator = (UINT)timing->pixel_rate;
    signal->HSyncFreq.Denominator = timing->total_width;
    signal->PixelRate = (SIZE_T)timing->pixel_rate;
    signal->ScanLineOrdering = D3DDDI_VSSLO_PROGRESSIVE;
    mode.ColorBasis = D3DKMDT_CB_SRGB;
    mode.ColorCoeffDynamicRanges.FirstChannel = 8;
    mode.ColorCoeffDynamicRanges.SecondChannel = 8;
    mode.ColorCoeffDynamicRanges.ThirdChannel = 8;
    mode.Origin = D3DKMDT_MCO_MONITORDESCRIPTOR;
    mode.Preference = is_preferred ? D3DKMDT_MP_PREFERRED : D3DKMDT_MP_NOTPREFERRED;
    return mode_set_add(set, &mode) != NULL;
}

static bool read_detailed(const uint8_t *from, struct timing *out)
{
    const uint32_t clock = from[0] | (uint32_t)from[1] << 8;

    if (!clock)
        return false;
    out->width = from[2] | (uint32_t)(from[4] & 0xf0) << 4;
    out->height = from[5] | (uint32_t)(from[7] & 0xf0) << 4;
    out->total_width = out->width + (from[3] | (uint32_t)(from[4] & 0x0f) << 8);
    out->total_height = out->height + (from[6] | (uint32_t)(from[7] & 0x0f) << 8);
    out->pixel_rate = (uint64_t)clock * 10000;
    out->standard = D3DKMDT_VSS_OTHER;
    return out->width && out->height;
}

/* False: no memory. */
static bool add_modes(struct mode_set *set, const uint8_t *edid)
{
    const unsigned bits = edid[EDID_ESTABLISHED] | (unsigned)edid[EDID_ESTABLISHED + 1] << 8;
    struct timing timing;

    for (unsigned i = 0; i < 4; i++) {
        if (read_detailed(edid + EDID_DETAILED + 18 * i, &timing) &&
            !add_timing(set, &timing, list_is_empty(&set->modes)))
            return false;
    }
    for (size_t i = ARRAY_COUNT(established); i-- > 0;) {
        if (bits >> established[i].bit & 1 &&
            !add_timing(set, &established[i].timing, list_is_empty(&set->modes)))
            return false;
    }
    return true;
}

/* ---- Monitors -------------------------------------------------------------------------------- */

static struct target *find_target(struct display *display, uint32_t id)
{
    return (struct target *)(uintptr_t)display_find_target(display, id);
}

static void unplug(struct display *display, struct target *target)
{
    struct monitor *monitor = target->monitor;

    if (!monitor)
        return;
    /* A driver that has something of it gives that back, or reads on, until all settles. */
    list_push_back(&display->unplugged, &monitor->link);
    target->monitor = NULL;
}

void monitors_bury(struct display *display)
{
    while (!list_is_empty(&display->unplugged)) {
        struct monitor *monitor = list_first_entry(&display->unplugged, struct monitor, link);

        list_remove(&monitor->link);
        mode_set_destroy(monitor->set);
        object_fini(&monitor->descriptors);
        object_fini(&monitor->ranges);
        base_free(display->config.services, monitor, sizeof *monitor);
    }
}

NTSTATUS display_connect(struct display *display, D3DDDI_VIDEO_PRESENT_TARGET_ID id,
                         const uint8_t *edid, size_t bytes)
{
    struct target *target = find_target(display, id);
    struct monitor *monitor;
    uint8_t own[DISPLAY_EDID_BYTES];
    NTSTATUS status;

    if (!target)
        return STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_TARGET;
    unplug(display, target);
    monitor = base_alloc(display->config.services, sizeof *monitor);
    if (!monitor)
        return STATUS_NO_MEMORY;
    status = mode_set_create(display, NULL, &monitor_family, id, &monitor->set);
    if (!NT_SUCCESS(status)) {
        base_free(display->config.services, monitor, sizeof *monitor);
        return status;
    }
    object_init(&monitor->descriptors, display, OBJECT_DESCRIPTORS);
    object_init(&monitor->ranges, display, OBJECT_RANGES);
    target->monitor = monitor;
    monitor->has_edid = edid && display_is_edid(edid, bytes);
    display_make_edid(own);
    memcpy(monitor->edid, monitor->has_edid ? edid : own, sizeof monitor->edid);
    monitor->descriptor = (D3DKMDT_MONITOR_DESCRIPTOR){
        .Id = 1,
        .Type = D3DKMDT_MDT_VESA_EDID_V1_BASEBLOCK,
        .DataSize = sizeof monitor->edid,
        .pData = monitor->edid,
        .Origin = D3DKMDT_MCO_MONITORDESCRIPTOR,
    };
    if (!add_modes(monitor->set, monitor->edid) ||
        (list_is_empty(&monitor->set->modes) && !add_modes(monitor->set, own))) {
        unplug(display, target);
        return STATUS_NO_MEMORY;
    }
    return STATUS_SUCCESS;
}

void display_disconnect(struct display *display, D3DDDI_VIDEO_PRESENT_TARGET_ID id)
{
    struct target *target = find_target(display, id);

    if (target)
        unplug(display, target);
}

bool display_is_connected(const struct display *display, D3DDDI_VIDEO_PRESENT_TARGET_ID id)
{
    const struct target *target = display_find_target(display, id);

    return target && target->monitor;
}

void monitors_forget(struct display *display)
{
    for (unsigned i = 0; i < display->target_count; i++)
        unplug(display, &display->targets[i]);
    monitors_bury(display);
}

static const struct mode_set *set_of(const struct display *display, uint32_t id)
{
    const struct target *target = display_find_target(display, id);

    return target && target->monitor ? target->monitor->set : NULL;
}

unsigned display_monitor_modes(const struct display *display, D3DDDI_VIDEO_PRESENT_TARGET_ID id)
{
    const struct mode_set *set = set_of(display, id);

    return set ? mode_set_count(set) : 0;
}

bool display_get_monitor_mode(const struct display *display, D3DDDI_VIDEO_PRESENT_TARGET_ID id,
                              unsigned index, D3DKMDT_MONITOR_SOURCE_MODE *out_mode)
{
    const struct mode_set *set = set_of(display, id);
    const struct mode *mode = set ? mode_set_at(set, index) : NULL;

    if (mode)
        memcpy(out_mode, mode_info(mode), sizeof *out_mode);
    return mode != NULL;
}

D3DKMDT_HMONITORSOURCEMODESET
display_monitor_set(struct display *display, D3DDDI_VIDEO_PRESENT_TARGET_ID id,
                    const DXGK_MONITORSOURCEMODESET_INTERFACE **out_interface)
{
    const struct mode_set *set = set_of(display, id);

    *out_interface = &display->monitor_modes;
    return set ? set->object.handle : NULL;
}

/* ---- The functions --------------------------------------------------------------------------- */

/* The monitor that a driver asks about, or why there is none. */
static NTSTATUS find_monitor(const void *adapter, uint32_t id, const char *function,
                             struct display **out_display, struct monitor **out_monitor)
{
    const struct target *target;

    *out_monitor = NULL;
    *out_display = display_of_adapter(adapter, function);
    if (!*out_display)
        return STATUS_GRAPHICS_INVALID_DISPLAY_ADAPTER;
    target = display_find_target(*out_display, id);
    if (!target)
        return STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_TARGET;
    *out_monitor = target->monitor;
    return target->monitor ? STATUS_SUCCESS : STATUS_GRAPHICS_MONITOR_NOT_CONNECTED;
}

static NTSTATUS APIENTRY acquire_set(const D3DKMDT_ADAPTER adapter,
                                     const D3DDDI_VIDEO_PRESENT_TARGET_ID id,
                                     D3DKMDT_HMONITORSOURCEMODESET *out_set,
                                     const DXGK_MONITORSOURCEMODESET_INTERFACE **out_interface)
{
    static const char function[] = TABLE ".pfnAcquireMonitorSourceModeSet";
    struct display *display;
    struct monitor *monitor;
    NTSTATUS status = find_monitor(adapter, id, function, &display, &monitor);

    if (out_set)
        *out_set = NULL;
    if (out_interface)
        *out_interface = NULL;
    if (!NT_SUCCESS(status))
        return status;
    if (!display_has_room(display, function, out_set) ||
        !display_has_room(display, function, out_interface))
        return STATUS_INVALID_PARAMETER;
    monitor->set->acquired++;
    *out_set = monitor->set->object.handle;
    *out_interface = &display->monitor_modes;
    return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY release_set(const D3DKMDT_ADAPTER adapter,
                                     const D3DKMDT_HMONITORSOURCEMODESET handle)
{
    static const char function[] = TABLE ".pfnReleaseMonitorSourceModeSet";
    const struct display *display = display_of_adapter(adapter, function);
    struct mode_set *set;

    if (!display)
        return STATUS_GRAPHICS_INVALID_DISPLAY_ADAPTER;
    set = mode_set_find(handle, &monitor_family, function);
    if (!set)
        return STATUS_GRAPHICS_INVALID_MONITOR_SOURCEMODESET;
    if (!set->acquired) {
        display_misuse(display, function, "is given a set that is not acquired: it was released");
        return STATUS_GRAPHICS_INVALID_MONITOR_SOURCEMODESET;
    }
    set->acquired--;
    return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY get_ranges(const D3DKMDT_ADAPTER adapter,
                                    const D3DDDI_VIDEO_PRESENT_TARGET_ID id,
                                    D3DKMDT_HMONITORFREQUENCYRANGESET *out_set,
                                    const DXGK_MONITORFREQUENCYRANGESET_INTERFACE **out_interface)
{
    static const char function[] = TABLE ".pfnGetMonitorFrequencyRangeSet";
    struct display *display;
    struct monitor *monitor;
    NTSTATUS status = find_monitor(adapter, id, function, &display, &monitor);

    if (!NT_SUCCESS(status))
        return status;
    if (!display_has_room(display, function, out_set) ||
        !display_has_room(display, function, out_interface))
        return STATUS_INVALID_PARAMETER;
    *out_set = monitor->ranges.handle;
    *out_interface = &display->ranges;
    return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY get_descriptors(const D3DKMDT_ADAPTER adapter,
                                         const D3DDDI_VIDEO_PRESENT_TARGET_ID id,
                                         D3DKMDT_HMONITORDESCRIPTORSET *out_set,
                                         const DXGK_MONITORDESCRIPTORSET_INTERFACE **out_interface)
{
    static const char function[] = TABLE ".pfnGetMonitorDescriptorSet";
    struct display *display;
    struct monitor *monitor;
    NTSTATUS status = find_monitor(adapter, id, function, &display, &monitor);

    if (!NT_SUCCESS(status))
        return status;
    if (!display_has_room(display, function, out_set) ||
        !display_has_room(display, function, out_interface))
        return STATUS_INVALID_PARAMETER;
    *out_set = monitor->descriptors.handle;
    *out_interface = &display->descriptors;
    return STATUS_SUCCESS;
}

/* A DisplayID block with timings, which this monitor does not have. */
static NTSTATUS APIENTRY get_additional(const D3DKMDT_ADAPTER adapter,
                                        const D3DDDI_VIDEO_PRESENT_TARGET_ID id, UINT *out_count,
                                        const DXGK_TARGETMODE_DETAIL_TIMING **out_modes)
{
    static const char function[] = TABLE ".pfnGetAdditionalMonitorModeSet";
    struct display *display;
    struct monitor *monitor;
    NTSTATUS status = find_monitor(adapter, id, function, &display, &monitor);

    if (!NT_SUCCESS(status))
        return status;
    if (!display_has_room(display, function, out_count) ||
        !display_has_room(display, function, out_modes))
        return STATUS_INVALID_PARAMETER;
    *out_count = 0;
    *out_modes = NULL;
    return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY release_additional(const D3DKMDT_ADAPTER adapter,
                                            const D3DDDI_VIDEO_PRESENT_TARGET_ID id,
                                            const DXGK_TARGETMODE_DETAIL_TIMING *modes)
{
    static const char function[] = TABLE ".pfnReleaseAdditionalMonitorModeSet";
    struct display *display;
    struct monitor *monitor;
    NTSTATUS status = find_monitor(adapter, id, function, &display, &monitor);

    if (!NT_SUCCESS(status))
        return status;
    if (modes) {
        display_misuse(display, function, "is given modes; none were handed out");
        return STATUS_INVALID_PARAMETER;
    }
    return STATUS_SUCCESS;
}

const DXGK_MONITOR_INTERFACE_V2 monitor_functions = {
    .pfnAcquireMonitorSourceModeSet = acquire_set,
    .pfnReleaseMonitorSourceModeSet = release_set,
    .pfnGetMonitorFrequencyRangeSet = get_ranges,
    .pfnGetMonitorDescriptorSet = get_descriptors,
    .pfnGetAdditionalMonitorModeSet = get_additional,
    .pfnReleaseAdditionalMonitorModeSet = release_additional,
};

NTSTATUS display_query_monitor_interface(struct display *display, HANDLE adapter,
                                         DXGK_MONITOR_INTERFACE_VERSION version,
                                         const DXGK_MONITOR_INTERFACE **out_interface)
{
    static const char function[] = "DxgkCbQueryMonitorInterface";

    if (!display_has_room(display, function, out_interface))
        return STATUS_INVALID_PARAMETER;
    *out_interface = NULL;
    display->adapter = adapter;
    if (!display_of_adapter(adapter, function))
        return STATUS_GRAPHICS_INVALID_DISPLAY_ADAPTER;
    if (version == DXGK_MONITOR_INTERFACE_VERSION_V1)
        *out_interface = &display->monitor;
    else if (version == DXGK_MONITOR_INTERFACE_VERSION_V2)
        *out_interface = (const DXGK_MONITOR_INTERFACE *)&display->monitor2;
    return *out_interface ? STATUS_SUCCESS : STATUS_NOT_SUPPORTED;
}

/* ---- Descriptors: one, the EDID -------------------------------------------------------------- */

#define DESCRIPTORS "DXGK_MONITORDESCRIPTORSET_INTERFACE"

static struct monitor *monitor_of(const void *handle, const char *function)
{
    struct object *object = object_find(handle, OBJECT_DESCRIPTORS, function);

    return object ? container_of(object, struct monitor, descriptors) : NULL;
}

static NTSTATUS APIENTRY count_descriptors(const D3DKMDT_HMONITORDESCRIPTORSET set,
                                           SIZE_T *out_count)
{
    static const char function[] = DESCRIPTORS ".pfnGetNumDescriptors";
    const struct monitor *monitor = monitor_of(set, function);

    if (!monitor)
        return STATUS_GRAPHICS_INVALID_MONITORDESCRIPTORSET;
    if (!display_has_room(monitor->descriptors.display, function, out_count))
        return STATUS_INVALID_PARAMETER;
    *out_count = monitor->has_edid;
    return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY first_descriptor(const D3DKMDT_HMONITORDESCRIPTORSET set,
                                          const D3DKMDT_MONITOR_DESCRIPTOR **out_info)
{
    static const char function[] = DESCRIPTORS ".pfnAcquireFirstDescriptorInfo";
    const struct monitor *monitor = monitor_of(set, function);

    if (!monitor)
        return STATUS_GRAPHICS_INVALID_MONITORDESCRIPTORSET;
    if (!display_has_room(monitor->descriptors.display, function, out_info))
        return STATUS_INVALID_PARAMETER;
    *out_info = NULL;
    if (!monitor->has_edid)
        return STATUS_GRAPHICS_DATASET_IS_EMPTY;
    *out_info = lend_info(&monitor->descriptors, function, monitor, &monitor->descriptor,
                          sizeof monitor->descriptor);
    return *out_info ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

static NTSTATUS APIENTRY next_descriptor(const D3DKMDT_HMONITORDESCRIPTORSET set,
                                         const D3DKMDT_MONITOR_DESCRIPTOR *const info,
                                         const D3DKMDT_MONITOR_DESCRIPTOR **out_info)
{
    static const char function[] = DESCRIPTORS ".pfnAcquireNextDescriptorInfo";
    const struct monitor *monitor = monitor_of(set, function);

    if (!monitor)
        return STATUS_GRAPHICS_INVALID_MONITORDESCRIPTORSET;
    if (!display_has_room(monitor->descriptors.display, function, out_info))
        return STATUS_INVALID_PARAMETER;
    *out_info = NULL;
    return find_lent(&monitor->descriptors, function, info)
               ? STATUS_GRAPHICS_NO_MORE_ELEMENTS_IN_DATASET
               : STATUS_GRAPHICS_INVALID_MONITORDESCRIPTOR;
}

static NTSTATUS APIENTRY release_descriptor(const D3DKMDT_HMONITORDESCRIPTORSET set,
                                            const D3DKMDT_MONITOR_DESCRIPTOR *const info)
{
    static const char function[] = DESCRIPTORS ".pfnReleaseDescriptorInfo";
    const struct monitor *monitor = monitor_of(set, function);
    struct lent *lent = monitor ? find_lent(&monitor->descriptors, function, info) : NULL;

    if (!monitor)
        return STATUS_GRAPHICS_INVALID_MONITORDESCRIPTORSET;
    if (!lent)
        return STATUS_GRAPHICS_INVALID_MONITORDESCRIPTOR;
    end_lent(lent, function);
    return STATUS_SUCCESS;
}

const DXGK_MONITORDESCRIPTORSET_INTERFACE descriptor_functions = {
    .pfnGetNumDescriptors = count_descriptors,
    .pfnAcquireFirstDescriptorInfo = first_descriptor,
    .pfnAcquireNextDescriptorInfo = next_descriptor,
    .pfnReleaseDescriptorInfo = release_descriptor,
};

/* ---- Frequency ranges: this monitor names none ----------------------------------------------- */

#define RANGES "DXGK_MONITORFREQUENCYRANGESET_INTERFACE"

static NTSTATUS APIENTRY count_ranges(const D3DKMDT_HMONITORFREQUENCYRANGESET set,
                                      SIZE_T *out_count)
{
    static const char function[] = RANGES ".pfnGetNumFrequencyRanges";
    const struct object *object = object_find(set, OBJECT_RANGES, function);

    if (!object)
        return STATUS_GRAPHICS_INVALID_MONITOR_FREQUENCYRANGESET;
    if (!display_has_room(object->display, function, out_count))
        return STATUS_INVALID_PARAMETER;
    *out_count = 0;
    return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY first_range(const D3DKMDT_HMONITORFREQUENCYRANGESET set,
                                     const D3DKMDT_MONITOR_FREQUENCY_RANGE **out_info)
{
    static const char function[] = RANGES ".pfnAcquireFirstFrequencyRangeInfo";
    const struct object *object = object_find(set, OBJECT_RANGES, function);

    if (!object)
        return STATUS_GRAPHICS_INVALID_MONITOR_FREQUENCYRANGESET;
    if (!display_has_room(object->display, function, out_info))
        return STATUS_INVALID_PARAMETER;
    *out_info = NULL;
    return STATUS_GRAPHICS_DATASET_IS_EMPTY;
}

static NTSTATUS APIENTRY next_range(const D3DKMDT_HMONITORFREQUENCYRANGESET set,
                                    const D3DKMDT_MONITOR_FREQUENCY_RANGE *const info,
                                    const D3DKMDT_MONITOR_FREQUENCY_RANGE **out_info)
{
    static const char function[] = RANGES ".pfnAcquireNextFrequencyRangeInfo";
    const struct object *object = object_find(set, OBJECT_RANGES, function);

    if (out_info)
        *out_info = NULL;
    if (!object)
        return STATUS_GRAPHICS_INVALID_MONITOR_FREQUENCYRANGESET;
    find_lent(object, function, info);
    return STATUS_GRAPHICS_INVALID_MONITOR_FREQUENCYRANGE;
}

static NTSTATUS APIENTRY release_range(const D3DKMDT_HMONITORFREQUENCYRANGESET set,
                                       const D3DKMDT_MONITOR_FREQUENCY_RANGE *const info)
{
    static const char function[] = RANGES ".pfnReleaseFrequencyRangeInfo";
    const struct object *object = object_find(set, OBJECT_RANGES, function);

    if (!object)
        return STATUS_GRAPHICS_INVALID_MONITOR_FREQUENCYRANGESET;
    find_lent(object, function, info);
    return STATUS_GRAPHICS_INVALID_MONITOR_FREQUENCYRANGE;
}

const DXGK_MONITORFREQUENCYRANGESET_INTERFACE range_functions = {
    .pfnGetNumFrequencyRanges = count_ranges,
    .pfnAcquireFirstFrequencyRangeInfo = first_range,
    .pfnAcquireNextFrequencyRangeInfo = next_range,
    .pfnReleaseFrequencyRangeInfo = release_range,
};
