/*
 * Sets of modes: of a source, of a target, of a monitor. What the three have in common is here
 * once; a family says what they differ in, and each has its functions under the names of its page.
 */
#include "display/display_private.h"

#include "base/bits.h"

#include <string.h>

/* Bytes of a structure between its members: a driver that assigns a member leaves anything there.
 */
struct hole {
    size_t offset, bytes;
};

struct mode_family {
    const char *name; /* "source mode set" */
    enum object_kind kind;
    size_t bytes;
    NTSTATUS bad_set, bad_mode;
    const struct hole *holes; /* to one of no bytes; NULL: it has none */
    /* The mode has every member that its page wants. */
    bool (*is_mode)(const void *info);
};

/* ---- Families -------------------------------------------------------------------------------- */

static bool is_region(const D3DKMDT_2DREGION *region)
{
    return region->cx && region->cy;
}

static bool is_source_mode(const void *info)
{
    const D3DKMDT_VIDPN_SOURCE_MODE *mode = info;

    if (mode->Type == D3DKMDT_RMT_TEXT)
        return true;
    return mode->Type > D3DKMDT_RMT_UNINITIALIZED &&
           mode->Type <= D3DKMDT_RMT_GRAPHICS_STEREO_ADVANCED_SCAN &&
           is_region(&mode->Format.Graphics.PrimSurfSize) &&
           is_region(&mode->Format.Graphics.VisibleRegionSize) &&
           mode->Format.Graphics.PixelFormat != D3DDDIFMT_UNKNOWN;
}

/*
 * Of the two sizes one is enough: pages of pfnAddMode name no refusal for the other one, and
 * virtio's display-only driver, which Windows runs, leaves ActiveSize as it got it.
 */
static bool is_signal(const D3DKMDT_VIDEO_SIGNAL_INFO *signal)
{
    return signal->VideoStandard != D3DKMDT_VSS_UNINITIALIZED &&
           (is_region(&signal->ActiveSize) || is_region(&signal->TotalSize));
}

static bool is_target_mode(const void *info)
{
    return is_signal(&((const D3DKMDT_VIDPN_TARGET_MODE *)info)->VideoSignalInfo);
}

static bool is_monitor_mode(const void *info)
{
    return is_signal(&((const D3DKMDT_MONITOR_SOURCE_MODE *)info)->VideoSignalInfo);
}

#define END_OF(type, member) (offsetof(type, member) + sizeof(((const type *)NULL)->member))
#define BETWEEN(type, member, following)                                                           \
    {                                                                                              \
        END_OF(type, member), offsetof(type, following) - END_OF(type, member)                     \
    }
#define BEHIND(type, member)                                                                       \
    {                                                                                              \
        END_OF(type, member), sizeof(type) - END_OF(type, member)                                  \
    }
#define HOLES_OF_SIGNAL(type)                                                                      \
    BETWEEN(type, Id, VideoSignalInfo),                                                            \
        BETWEEN(type, VideoSignalInfo.HSyncFreq, VideoSignalInfo.PixelRate),                       \
    {                                                                                              \
        END_OF(type, VideoSignalInfo.ScanLineOrdering),                                            \
            END_OF(type, VideoSignalInfo) - END_OF(type, VideoSignalInfo.ScanLineOrdering)         \
    }

static const struct hole target_holes[] = {
    HOLES_OF_SIGNAL(D3DKMDT_VIDPN_TARGET_MODE),
    BEHIND(D3DKMDT_VIDPN_TARGET_MODE, MinimumVSyncFreq),
    {0, 0},
};
static const struct hole monitor_holes[] = {
    HOLES_OF_SIGNAL(D3DKMDT_MONITOR_SOURCE_MODE),
    BEHIND(D3DKMDT_MONITOR_SOURCE_MODE, Preference),
    {0, 0},
};

const struct mode_family source_family = {
    .name = "source mode set",
    .kind = OBJECT_SOURCE_SET,
    .bytes = sizeof(D3DKMDT_VIDPN_SOURCE_MODE),
    .bad_set = STATUS_GRAPHICS_INVALID_VIDPN_SOURCEMODESET,
    .bad_mode = STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_SOURCE_MODE,
    .is_mode = is_source_mode,
};
const struct mode_family target_family = {
    .name = "target mode set",
    .kind = OBJECT_TARGET_SET,
    .bytes = sizeof(D3DKMDT_VIDPN_TARGET_MODE),
    .bad_set = STATUS_GRAPHICS_INVALID_VIDPN_TARGETMODESET,
    .bad_mode = STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_TARGET_MODE,
    .holes = target_holes,
    .is_mode = is_target_mode,
};
const struct mode_family monitor_family = {
    .name = "monitor source mode set",
    .kind = OBJECT_MONITOR_SET,
    .bytes = sizeof(D3DKMDT_MONITOR_SOURCE_MODE),
    .bad_set = STATUS_GRAPHICS_INVALID_MONITOR_SOURCEMODESET,
    .bad_mode = STATUS_GRAPHICS_INVALID_MONITOR_SOURCE_MODE,
    .holes = monitor_holes,
    .is_mode = is_monitor_mode,
};

/* Each of the three structures begins with its identifier. */
_Static_assert(offsetof(D3DKMDT_VIDPN_SOURCE_MODE, Id) == 0 &&
                   offsetof(D3DKMDT_VIDPN_TARGET_MODE, Id) == 0 &&
                   offsetof(D3DKMDT_MONITOR_SOURCE_MODE, Id) == 0,
               "a mode begins with its identifier");

NTSTATUS bad_set_status(const struct mode_family *family)
{
    return family->bad_set;
}

const char *mode_set_name(const struct mode_family *family)
{
    return family->name;
}

/* ---- Modes ----------------------------------------------------------------------------------- */

#define MODE_HEAD align_up(sizeof(struct mode), _Alignof(max_align_t))

const void *mode_info(const struct mode *mode)
{
    return (const char *)mode + MODE_HEAD;
}

static void *mode_place(struct mode *mode)
{
    return (char *)mode + MODE_HEAD;
}

static void write_id(void *info, UINT id)
{
    memcpy(info, &id, sizeof id);
}

static UINT read_id(const void *info)
{
    UINT id;

    memcpy(&id, info, sizeof id);
    return id;
}

static void close_holes(const struct mode_family *family, void *info)
{
    for (const struct hole *hole = family->holes; hole && hole->offset; hole++)
        memset((char *)info + hole->offset, 0, hole->bytes);
}

struct mode *mode_set_add(struct mode_set *set, const void *info)
{
    struct display *display = set->object.display;
    struct mode *mode = base_alloc(display->config.services, MODE_HEAD + set->family->bytes);

    if (!mode)
        return NULL;
    memcpy(mode_place(mode), info, set->family->bytes);
    close_holes(set->family, mode_place(mode));
    mode->id = ++display->next_id;
    write_id(mode_place(mode), (UINT)mode->id);
    list_push_back(&set->modes, &mode->link);
    return mode;
}

unsigned mode_set_count(const struct mode_set *set)
{
    return (unsigned)list_count(&set->modes);
}

struct mode *mode_set_at(const struct mode_set *set, unsigned index)
{
    struct mode *mode;

    list_for_each (mode, &set->modes, struct mode, link) {
        if (!index--)
            return mode;
    }
    return NULL;
}

static struct mode *mode_set_with_id(const struct mode_set *set, UINT id)
{
    struct mode *mode;

    list_for_each (mode, &set->modes, struct mode, link) {
        if (mode->id == id)
            return mode;
    }
    return NULL;
}

/* But for the identifier, in front. */
static struct mode *find_values(const struct mode_set *set, const void *info)
{
    const size_t head = sizeof(UINT), bytes = set->family->bytes;
    union {
        D3DKMDT_VIDPN_SOURCE_MODE source;
        D3DKMDT_VIDPN_TARGET_MODE target;
        D3DKMDT_MONITOR_SOURCE_MODE monitor;
    } wanted;
    struct mode *mode;

    memcpy(&wanted, info, bytes);
    close_holes(set->family, &wanted);
    list_for_each (mode, &set->modes, struct mode, link) {
        if (memcmp((const char *)mode_info(mode) + head, (const char *)&wanted + head,
                   bytes - head) == 0)
            return mode;
    }
    return NULL;
}

struct mode *mode_set_find_same(const struct mode_set *set, const struct mode *mode)
{
    return find_values(set, mode_info(mode));
}

/* ---- Sets ------------------------------------------------------------------------------------ */

NTSTATUS mode_set_create(struct display *display, struct display_network *network,
                         const struct mode_family *family, uint32_t owner,
                         struct mode_set **out_set)
{
    struct mode_set *set = base_alloc(display->config.services, sizeof *set);

    *out_set = NULL;
    if (!set)
        return STATUS_NO_MEMORY;
    object_init(&set->object, display, family->kind);
    set->family = family;
    set->network = network;
    set->owner = owner;
    list_init(&set->modes);
    list_init(&set->link);
    if (network)
        list_push_back(&network->sets, &set->link);
    *out_set = set;
    return STATUS_SUCCESS;
}

void mode_set_destroy(struct mode_set *set)
{
    const struct base_services *services = set->object.display->config.services;
    struct mode *mode, *following;

    list_for_each_safe (mode, following, &set->modes, struct mode, link) {
        list_remove(&mode->link);
        base_free(services, mode, MODE_HEAD + set->family->bytes);
    }
    list_remove(&set->link);
    object_fini(&set->object);
    base_free(services, set, sizeof *set);
}

struct mode_set *mode_set_find(const void *handle, const struct mode_family *family,
                               const char *function)
{
    struct object *object = object_find(handle, family->kind, function);

    return object ? container_of(object, struct mode_set, object) : NULL;
}

/* ---- What all three can ---------------------------------------------------------------------- */

static NTSTATUS get_count(const struct mode_family *family, const void *handle, SIZE_T *out_count,
                          const char *function)
{
    const struct mode_set *set = mode_set_find(handle, family, function);

    if (!set)
        return family->bad_set;
    if (!display_has_room(set->object.display, function, out_count))
        return STATUS_INVALID_PARAMETER;
    *out_count = mode_set_count(set);
    return STATUS_SUCCESS;
}

/* With a NULL mode there is nothing to lend. */
static NTSTATUS lend_mode(const struct mode_set *set, const struct mode *mode, NTSTATUS without,
                          const void **out_info, const char *function)
{
    *out_info = NULL;
    if (!mode)
        return without;
    *out_info = lend_info(&set->object, function, mode, mode_info(mode), set->family->bytes);
    return *out_info ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

enum which { THE_FIRST, THE_PINNED, THE_PREFERRED };

static const struct mode *find_preferred(const struct mode_set *set)
{
    const struct mode *mode;

    list_for_each (mode, &set->modes, struct mode, link) {
        const D3DKMDT_MONITOR_SOURCE_MODE *info = mode_info(mode);

        if (info->Preference == D3DKMDT_MP_PREFERRED)
            return mode;
    }
    return NULL;
}

static NTSTATUS acquire(const struct mode_family *family, const void *handle, enum which which,
                        const void **out_info, const char *function)
{
    const struct mode_set *set = mode_set_find(handle, family, function);

    if (!set)
        return family->bad_set;
    if (!display_has_room(set->object.display, function, out_info))
        return STATUS_INVALID_PARAMETER;
    if (which == THE_PINNED)
        return lend_mode(set, set->pinned, set->object.display->config.unpinned_status, out_info,
                         function);
    if (which == THE_PREFERRED)
        return lend_mode(set, find_preferred(set), STATUS_GRAPHICS_NO_PREFERRED_MODE, out_info,
                         function);
    return lend_mode(set, mode_set_at(set, 0), STATUS_GRAPHICS_DATASET_IS_EMPTY, out_info,
                     function);
}

/* The one behind an info that the driver has. */
static NTSTATUS acquire_next(const struct mode_family *family, const void *handle, const void *info,
                             const void **out_info, const char *function)
{
    const struct mode_set *set = mode_set_find(handle, family, function);
    const struct lent *lent;
    const struct mode *mode;

    if (!set)
        return family->bad_set;
    if (!display_has_room(set->object.display, function, out_info))
        return STATUS_INVALID_PARAMETER;
    *out_info = NULL;
    lent = find_lent(&set->object, function, info);
    if (!lent || !lent->item)
        return family->bad_mode;
    mode = lent->item;
    return lend_mode(
        set, mode->link.next == &set->modes ? NULL : list_entry(mode->link.next, struct mode, link),
        STATUS_GRAPHICS_NO_MORE_ELEMENTS_IN_DATASET, out_info, function);
}

static NTSTATUS release(const struct mode_family *family, const void *handle, const void *info,
                        const char *function)
{
    const struct mode_set *set = mode_set_find(handle, family, function);
    struct lent *lent;

    if (!set)
        return family->bad_set;
    lent = find_lent(&set->object, function, info);
    if (!lent)
        return family->bad_mode;
    end_lent(lent, function);
    return STATUS_SUCCESS;
}

static NTSTATUS create_new(const struct mode_family *family, const void *handle, void **out_info,
                           const char *function)
{
    const struct mode_set *set = mode_set_find(handle, family, function);
    union {
        D3DKMDT_VIDPN_SOURCE_MODE source;
        D3DKMDT_VIDPN_TARGET_MODE target;
        D3DKMDT_MONITOR_SOURCE_MODE monitor;
    } info;

    if (!set)
        return family->bad_set;
    if (!display_has_room(set->object.display, function, out_info))
        return STATUS_INVALID_PARAMETER;
    memset(&info, 0, sizeof info);
    write_id(&info, ++set->object.display->next_id);
    *out_info = lend_info(&set->object, function, NULL, &info, family->bytes);
    return *out_info ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

/*
 * The mode has the identifier that the kernel gave to its info, also where the driver has written
 * over it: no page forbids that. On failure the info stays the driver's, to be released.
 */
static NTSTATUS add(const struct mode_family *family, const void *handle, void *info,
                    const char *function)
{
    struct mode_set *set = mode_set_find(handle, family, function);
    struct lent *lent;
    struct mode *mode;
    UINT id;

    if (!set)
        return family->bad_set;
    lent = find_lent(&set->object, function, info);
    if (!lent)
        return family->bad_mode;
    if (lent->item) {
        display_misuse(set->object.display, function, "is given an info of %s, not a new one",
                       lent->by);
        return family->bad_mode;
    }
    id = read_id((const char *)info + family->bytes + LENT_GUARD);
    if (!family->is_mode(info))
        return family->bad_mode;
    if (find_values(set, info))
        return STATUS_GRAPHICS_MODE_ALREADY_IN_MODESET;
    mode = mode_set_add(set, info);
    if (!mode)
        return STATUS_NO_MEMORY;
    mode->id = id;
    write_id(mode_place(mode), id);
    end_lent(lent, function);
    return STATUS_SUCCESS;
}

static NTSTATUS pin(const struct mode_family *family, const void *handle, UINT id,
                    const char *function)
{
    struct mode_set *set = mode_set_find(handle, family, function);
    struct mode *mode = set ? mode_set_with_id(set, id) : NULL;

    if (!set)
        return family->bad_set;
    if (!mode)
        return family->bad_mode;
    set->pinned = mode;
    return STATUS_SUCCESS;
}

/* ---- The functions of each ------------------------------------------------------------------- */

/*
 * What sources and targets have in common: X(kind, TABLE, handle type, mode type, identifier).
 */
#define VIDPN_MODE_FUNCTIONS(kind, TABLE, HANDLE_TYPE, MODE, MODE_ID)                              \
    static NTSTATUS APIENTRY kind##_get_count(const HANDLE_TYPE set, SIZE_T *out_count)            \
    {                                                                                              \
        return get_count(&kind##_family, set, out_count, TABLE ".pfnGetNumModes");                 \
    }                                                                                              \
    static NTSTATUS APIENTRY kind##_acquire_first(const HANDLE_TYPE set, const MODE **out_info)    \
    {                                                                                              \
        return acquire(&kind##_family, set, THE_FIRST, (const void **)out_info,                    \
                       TABLE ".pfnAcquireFirstModeInfo");                                          \
    }                                                                                              \
    static NTSTATUS APIENTRY kind##_acquire_next(const HANDLE_TYPE set, const MODE *const info,    \
                                                 const MODE **out_info)                            \
    {                                                                                              \
        return acquire_next(&kind##_family, set, info, (const void **)out_info,                    \
                            TABLE ".pfnAcquireNextModeInfo");                                      \
    }                                                                                              \
    static NTSTATUS APIENTRY kind##_release(const HANDLE_TYPE set, const MODE *const info)         \
    {                                                                                              \
        return release(&kind##_family, set, info, TABLE ".pfnReleaseModeInfo");                    \
    }                                                                                              \
    static NTSTATUS APIENTRY kind##_create_new(const HANDLE_TYPE set, MODE **out_info)             \
    {                                                                                              \
        return create_new(&kind##_family, set, (void **)out_info, TABLE ".pfnCreateNewModeInfo");  \
    }                                                                                              \
    static NTSTATUS APIENTRY kind##_add(const HANDLE_TYPE set, MODE *const info)                   \
    {                                                                                              \
        return add(&kind##_family, set, info, TABLE ".pfnAddMode");                                \
    }

/* A monitor has no pinned mode, and a preferred one; a source and a target have it otherwise. */
#define PINNED_FUNCTIONS(kind, TABLE, HANDLE_TYPE, MODE, MODE_ID)                                  \
    static NTSTATUS APIENTRY kind##_acquire_pinned(const HANDLE_TYPE set, const MODE **out_info)   \
    {                                                                                              \
        return acquire(&kind##_family, set, THE_PINNED, (const void **)out_info,                   \
                       TABLE ".pfnAcquirePinnedModeInfo");                                         \
    }                                                                                              \
    static NTSTATUS APIENTRY kind##_pin(const HANDLE_TYPE set, const MODE_ID id)                   \
    {                                                                                              \
        return pin(&kind##_family, set, id, TABLE ".pfnPinMode");                                  \
    }

VIDPN_MODE_FUNCTIONS(source, "DXGK_VIDPNSOURCEMODESET_INTERFACE", D3DKMDT_HVIDPNSOURCEMODESET,
                     D3DKMDT_VIDPN_SOURCE_MODE, D3DKMDT_VIDEO_PRESENT_SOURCE_MODE_ID)
PINNED_FUNCTIONS(source, "DXGK_VIDPNSOURCEMODESET_INTERFACE", D3DKMDT_HVIDPNSOURCEMODESET,
                 D3DKMDT_VIDPN_SOURCE_MODE, D3DKMDT_VIDEO_PRESENT_SOURCE_MODE_ID)
VIDPN_MODE_FUNCTIONS(target, "DXGK_VIDPNTARGETMODESET_INTERFACE", D3DKMDT_HVIDPNTARGETMODESET,
                     D3DKMDT_VIDPN_TARGET_MODE, D3DKMDT_VIDEO_PRESENT_TARGET_MODE_ID)
PINNED_FUNCTIONS(target, "DXGK_VIDPNTARGETMODESET_INTERFACE", D3DKMDT_HVIDPNTARGETMODESET,
                 D3DKMDT_VIDPN_TARGET_MODE, D3DKMDT_VIDEO_PRESENT_TARGET_MODE_ID)
VIDPN_MODE_FUNCTIONS(monitor, "DXGK_MONITORSOURCEMODESET_INTERFACE", D3DKMDT_HMONITORSOURCEMODESET,
                     D3DKMDT_MONITOR_SOURCE_MODE, D3DKMDT_MONITOR_SOURCE_MODE_ID)

static NTSTATUS APIENTRY monitor_acquire_preferred(const D3DKMDT_HMONITORSOURCEMODESET set,
                                                   const D3DKMDT_MONITOR_SOURCE_MODE **out_info)
{
    return acquire(&monitor_family, set, THE_PREFERRED, (const void **)out_info,
                   "DXGK_MONITORSOURCEMODESET_INTERFACE.pfnAcquirePreferredModeInfo");
}

#define VIDPN_MODE_TABLE(kind)                                                                     \
    {                                                                                              \
        .pfnGetNumModes = kind##_get_count, .pfnAcquireFirstModeInfo = kind##_acquire_first,       \
        .pfnAcquireNextModeInfo = kind##_acquire_next,                                             \
        .pfnAcquirePinnedModeInfo = kind##_acquire_pinned, .pfnReleaseModeInfo = kind##_release,   \
        .pfnCreateNewModeInfo = kind##_create_new, .pfnAddMode = kind##_add,                       \
        .pfnPinMode = kind##_pin,                                                                  \
    }

const DXGK_VIDPNSOURCEMODESET_INTERFACE source_mode_functions = VIDPN_MODE_TABLE(source);
const DXGK_VIDPNTARGETMODESET_INTERFACE target_mode_functions = VIDPN_MODE_TABLE(target);
const DXGK_MONITORSOURCEMODESET_INTERFACE monitor_mode_functions = {
    .pfnGetNumModes = monitor_get_count,
    .pfnAcquirePreferredModeInfo = monitor_acquire_preferred,
    .pfnAcquireFirstModeInfo = monitor_acquire_first,
    .pfnAcquireNextModeInfo = monitor_acquire_next,
    .pfnCreateNewModeInfo = monitor_create_new,
    .pfnAddMode = monitor_add,
    .pfnReleaseModeInfo = monitor_release,
};
