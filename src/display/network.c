/*
 * Networks: the functions of DXGK_VIDPN_INTERFACE, and what the kernel's half asks of a network.
 */
#include "display/display_private.h"

#include <limits.h>
#include <string.h>

#define TABLE "DXGK_VIDPN_INTERFACE"

static struct display_network *network_of(const void *handle, const char *function)
{
    struct object *object = object_find(handle, OBJECT_NETWORK, function);

    return object ? container_of(object, struct display_network, object) : NULL;
}

struct mode_set *network_set(const struct display_network *network,
                             const struct mode_family *family, uint32_t owner)
{
    struct mode_set *set;

    list_for_each (set, &network->sets, struct mode_set, link) {
        if (set->family == family && set->owner == owner && !set->is_new && !set->is_replaced)
            return set;
    }
    return NULL;
}

/* ---- Sets, of either kind -------------------------------------------------------------------- */

/* The identifier is one of the adapter's. */
static NTSTATUS judge_owner(const struct display *display, const struct mode_family *family,
                            uint32_t owner)
{
    if (family == &source_family)
        return owner < display->config.sources ? STATUS_SUCCESS
                                               : STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_SOURCE;
    return display_find_target(display, owner) ? STATUS_SUCCESS
                                               : STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_TARGET;
}

/* Room for both answers; the set behind them. */
struct set_answer {
    bool has_room;
    struct mode_set *set; /* NULL: none */
};

static NTSTATUS acquire(const void *handle, const struct mode_family *family, uint32_t owner,
                        struct set_answer *answer, const char *function)
{
    struct display_network *network = network_of(handle, function);
    struct mode_set *set;
    NTSTATUS status;

    if (!network)
        return STATUS_GRAPHICS_INVALID_VIDPN;
    if (!answer->has_room) {
        display_has_room(network->object.display, function, NULL);
        return STATUS_INVALID_PARAMETER;
    }
    status = judge_owner(network->object.display, family, owner);
    if (!NT_SUCCESS(status))
        return status;
    set = network_set(network, family, owner);
    if (!set)
        return family == &source_family ? STATUS_GRAPHICS_SOURCE_NOT_IN_TOPOLOGY
                                        : STATUS_GRAPHICS_TARGET_NOT_IN_TOPOLOGY;
    set->acquired++;
    answer->set = set;
    return STATUS_SUCCESS;
}

/* An owner has at most one set that is created and not assigned. */
static NTSTATUS create_new(const void *handle, const struct mode_family *family, uint32_t owner,
                           struct set_answer *answer, const char *function)
{
    struct display_network *network = network_of(handle, function);
    struct mode_set *set;
    NTSTATUS status;

    if (!network)
        return STATUS_GRAPHICS_INVALID_VIDPN;
    if (!answer->has_room) {
        display_has_room(network->object.display, function, NULL);
        return STATUS_INVALID_PARAMETER;
    }
    status = judge_owner(network->object.display, family, owner);
    if (!NT_SUCCESS(status))
        return status;
    list_for_each (set, &network->sets, struct mode_set, link) {
        if (set->family == family && set->owner == owner && set->is_new)
            return STATUS_GRAPHICS_UNASSIGNED_MODESET_ALREADY_EXISTS;
    }
    status = mode_set_create(network->object.display, network, family, owner, &set);
    if (!NT_SUCCESS(status))
        return status;
    set->is_new = true;
    answer->set = set;
    return STATUS_SUCCESS;
}

static NTSTATUS release(const void *handle, const struct mode_family *family, const void *of_set,
                        const char *function)
{
    const struct display_network *network = network_of(handle, function);
    struct mode_set *set;

    if (!network)
        return STATUS_GRAPHICS_INVALID_VIDPN;
    set = mode_set_find(of_set, family, function);
    if (!set)
        return bad_set_status(family);
    if (set->network != network)
        return STATUS_GRAPHICS_RESOURCES_NOT_RELATED;
    if (set->is_new) {
        mode_set_destroy(set);
        return STATUS_SUCCESS;
    }
    if (!set->acquired) {
        display_misuse(network->object.display, function,
                       "is given a %s that is not acquired: it was released, or assigned, before",
                       mode_set_name(family));
        return bad_set_status(family);
    }
    if (!--set->acquired && set->is_replaced)
        mode_set_destroy(set);
    return STATUS_SUCCESS;
}

/* A pinned mode stays pinned; the driver's handle of the new set is no more. */
static void replace(struct mode_set *former, struct mode_set *set)
{
    if (former && former->pinned)
        set->pinned = mode_set_find_same(set, former->pinned);
    set->is_new = false;
    if (!former)
        return;
    former->is_replaced = true;
    if (!former->acquired)
        mode_set_destroy(former);
}

static NTSTATUS assign(const void *handle, const struct mode_family *family, uint32_t owner,
                       const void *of_set, const char *function)
{
    struct display_network *network = network_of(handle, function);
    struct mode_set *set, *former;
    NTSTATUS status;

    if (!network)
        return STATUS_GRAPHICS_INVALID_VIDPN;
    status = judge_owner(network->object.display, family, owner);
    if (!NT_SUCCESS(status))
        return status;
    set = mode_set_find(of_set, family, function);
    if (!set)
        return bad_set_status(family);
    if (set->network != network || set->owner != owner)
        return STATUS_GRAPHICS_RESOURCES_NOT_RELATED;
    if (!set->is_new) {
        display_misuse(network->object.display, function,
                       "is given a %s that was not created for it, or is assigned already",
                       mode_set_name(family));
        return bad_set_status(family);
    }
    former = network_set(network, family, owner);
    if (former && former->pinned && !mode_set_find_same(set, former->pinned))
        return STATUS_GRAPHICS_PINNED_MODE_MUST_REMAIN_IN_SET;
    replace(former, set);
    return STATUS_SUCCESS;
}

/* ---- The functions --------------------------------------------------------------------------- */

static NTSTATUS APIENTRY get_topology(const D3DKMDT_HVIDPN handle,
                                      D3DKMDT_HVIDPNTOPOLOGY *out_topology,
                                      const DXGK_VIDPNTOPOLOGY_INTERFACE **out_interface)
{
    static const char function[] = TABLE ".pfnGetTopology";
    const struct display_network *network = network_of(handle, function);

    if (!network)
        return STATUS_GRAPHICS_INVALID_VIDPN;
    if (!display_has_room(network->object.display, function, out_topology) ||
        !display_has_room(network->object.display, function, out_interface))
        return STATUS_INVALID_PARAMETER;
    *out_topology = network->topology.handle;
    *out_interface = &network->object.display->topology;
    return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY assign_multisampling(const D3DKMDT_HVIDPN handle,
                                              const D3DDDI_VIDEO_PRESENT_SOURCE_ID source,
                                              const SIZE_T count,
                                              const D3DDDI_MULTISAMPLINGMETHOD *methods)
{
    static const char function[] = TABLE ".pfnAssignMultisamplingMethodSet";
    const struct display_network *network = network_of(handle, function);

    if (!network)
        return STATUS_GRAPHICS_INVALID_VIDPN;
    if (count && !display_has_room(network->object.display, function, methods))
        return STATUS_INVALID_PARAMETER;
    return judge_owner(network->object.display, &source_family, source);
}

#define SET_FUNCTIONS(kind, Kind, ID, HANDLE_TYPE, INTERFACE)                                      \
    static NTSTATUS answer_##kind(const struct set_answer *answer, NTSTATUS status,                \
                                  HANDLE_TYPE *out_set, const INTERFACE **out_interface)           \
    {                                                                                              \
        if (answer->has_room) {                                                                    \
            *out_set = answer->set ? answer->set->object.handle : NULL;                            \
            *out_interface = answer->set ? &answer->set->object.display->kind##_modes : NULL;      \
        }                                                                                          \
        return status;                                                                             \
    }                                                                                              \
    static NTSTATUS APIENTRY acquire_##kind(const D3DKMDT_HVIDPN network, const ID owner,          \
                                            HANDLE_TYPE *out_set, const INTERFACE **out_interface) \
    {                                                                                              \
        struct set_answer answer = {.has_room = out_set && out_interface};                         \
        NTSTATUS status =                                                                          \
            acquire(network, &kind##_family, owner, &answer, TABLE ".pfnAcquire" Kind "ModeSet");  \
                                                                                                   \
        return answer_##kind(&answer, status, out_set, out_interface);                             \
    }                                                                                              \
    static NTSTATUS APIENTRY create_##kind(const D3DKMDT_HVIDPN network, const ID owner,           \
                                           HANDLE_TYPE *out_set, const INTERFACE **out_interface)  \
    {                                                                                              \
        struct set_answer answer = {.has_room = out_set && out_interface};                         \
        NTSTATUS status = create_new(network, &kind##_family, owner, &answer,                      \
                                     TABLE ".pfnCreateNew" Kind "ModeSet");                        \
                                                                                                   \
        return answer_##kind(&answer, status, out_set, out_interface);                             \
    }                                                                                              \
    static NTSTATUS APIENTRY release_##kind(const D3DKMDT_HVIDPN network, const HANDLE_TYPE set)   \
    {                                                                                              \
        return release(network, &kind##_family, set, TABLE ".pfnRelease" Kind "ModeSet");          \
    }                                                                                              \
    static NTSTATUS APIENTRY assign_##kind(D3DKMDT_HVIDPN network, const ID owner,                 \
                                           const HANDLE_TYPE set)                                  \
    {                                                                                              \
        return assign(network, &kind##_family, owner, set, TABLE ".pfnAssign" Kind "ModeSet");     \
    }

SET_FUNCTIONS(source, "Source", D3DDDI_VIDEO_PRESENT_SOURCE_ID, D3DKMDT_HVIDPNSOURCEMODESET,
              DXGK_VIDPNSOURCEMODESET_INTERFACE)
SET_FUNCTIONS(target, "Target", D3DDDI_VIDEO_PRESENT_TARGET_ID, D3DKMDT_HVIDPNTARGETMODESET,
              DXGK_VIDPNTARGETMODESET_INTERFACE)

const DXGK_VIDPN_INTERFACE vidpn_functions = {
    .pfnGetTopology = get_topology,
    .pfnAcquireSourceModeSet = acquire_source,
    .pfnReleaseSourceModeSet = release_source,
    .pfnCreateNewSourceModeSet = create_source,
    .pfnAssignSourceModeSet = assign_source,
    .pfnAssignMultisamplingMethodSet = assign_multisampling,
    .pfnAcquireTargetModeSet = acquire_target,
    .pfnReleaseTargetModeSet = release_target,
    .pfnCreateNewTargetModeSet = create_target,
    .pfnAssignTargetModeSet = assign_target,
};

NTSTATUS display_query_vidpn_interface(struct display *display, D3DKMDT_HVIDPN network,
                                       DXGK_VIDPN_INTERFACE_VERSION version,
                                       const DXGK_VIDPN_INTERFACE **out_interface)
{
    static const char function[] = "DxgkCbQueryVidPnInterface";

    if (!display_has_room(display, function, out_interface))
        return STATUS_INVALID_PARAMETER;
    *out_interface = NULL;
    if (!network_of(network, function))
        return STATUS_GRAPHICS_INVALID_VIDPN;
    if (version != DXGK_VIDPN_INTERFACE_VERSION_V1 && version != DXGK_VIDPN_INTERFACE_VERSION_V2)
        return STATUS_NOT_SUPPORTED;
    *out_interface = &display->vidpn[version - DXGK_VIDPN_INTERFACE_VERSION_V1];
    return STATUS_SUCCESS;
}

/* ---- The kernel's half ----------------------------------------------------------------------- */

NTSTATUS display_network_create(struct display *display, struct display_network **out_network)
{
    struct display_network *network = base_alloc(display->config.services, sizeof *network);

    *out_network = NULL;
    if (!network)
        return STATUS_NO_MEMORY;
    object_init(&network->object, display, OBJECT_NETWORK);
    object_init(&network->topology, display, OBJECT_TOPOLOGY);
    list_init(&network->paths);
    list_init(&network->sets);
    list_push_back(&display->networks, &network->link);
    *out_network = network;
    return STATUS_SUCCESS;
}

void display_network_destroy(struct display_network *network)
{
    const struct base_services *services = network->object.display->config.services;

    while (!list_is_empty(&network->paths))
        network_remove_path(network, list_first_entry(&network->paths, struct path, link));
    while (!list_is_empty(&network->sets))
        mode_set_destroy(list_first_entry(&network->sets, struct mode_set, link));
    list_remove(&network->link);
    object_fini(&network->topology);
    object_fini(&network->object);
    base_free(services, network, sizeof *network);
}

D3DKMDT_HVIDPN display_network_handle(const struct display_network *network)
{
    return network->object.handle;
}

struct path *network_path(const struct display_network *network, uint32_t source, uint32_t target)
{
    struct path *path;

    list_for_each (path, &network->paths, struct path, link) {
        if (path->info.VidPnSourceId == source && path->info.VidPnTargetId == target)
            return path;
    }
    return NULL;
}

/* A target is in one path, a source in any number of them. */
static bool has_target(const struct display_network *network, uint32_t target)
{
    const struct path *path;

    list_for_each (path, &network->paths, struct path, link) {
        if (path->info.VidPnTargetId == target)
            return true;
    }
    return false;
}

NTSTATUS network_add_path(struct display_network *network, const D3DKMDT_VIDPN_PRESENT_PATH *info)
{
    struct display *display = network->object.display;
    struct mode_set *source = network_set(network, &source_family, info->VidPnSourceId);
    struct mode_set *target = NULL;
    const bool has_source = source != NULL;
    NTSTATUS status = judge_owner(display, &source_family, info->VidPnSourceId);
    struct path *path;

    if (NT_SUCCESS(status))
        status = judge_owner(display, &target_family, info->VidPnTargetId);
    if (!NT_SUCCESS(status))
        return status;
    if (has_target(network, info->VidPnTargetId))
        return STATUS_GRAPHICS_PATH_ALREADY_IN_TOPOLOGY;
    path = base_alloc(display->config.services, sizeof *path);
    if (!path)
        return STATUS_NO_MEMORY;
    if (!source)
        status = mode_set_create(display, network, &source_family, info->VidPnSourceId, &source);
    if (NT_SUCCESS(status))
        status = mode_set_create(display, network, &target_family, info->VidPnTargetId, &target);
    if (!NT_SUCCESS(status)) {
        if (source && !has_source)
            mode_set_destroy(source);
        base_free(display->config.services, path, sizeof *path);
        return status;
    }
    path->info = *info;
    list_push_back(&network->paths, &path->link);
    return STATUS_SUCCESS;
}

/* What the driver has of a path stays readable: infos are copies. */
void network_remove_path(struct display_network *network, struct path *path)
{
    struct display *display = network->object.display;
    const uint32_t source = path->info.VidPnSourceId;
    struct mode_set *set = network_set(network, &target_family, path->info.VidPnTargetId);
    bool is_last = true;
    struct lent *lent;

    list_for_each (lent, &display->lent, struct lent, link) {
        if (lent->item == path)
            lent->item = NULL;
    }
    list_remove(&path->link);
    base_free(display->config.services, path, sizeof *path);
    if (set && set->acquired)
        set->is_replaced = true;
    else if (set)
        mode_set_destroy(set);
    list_for_each (path, &network->paths, struct path, link)
        is_last &= path->info.VidPnSourceId != source;
    set = is_last ? network_set(network, &source_family, source) : NULL;
    if (set && set->acquired)
        set->is_replaced = true;
    else if (set)
        mode_set_destroy(set);
}

NTSTATUS display_network_add_path(struct display_network *network,
                                  D3DDDI_VIDEO_PRESENT_SOURCE_ID source,
                                  D3DDDI_VIDEO_PRESENT_TARGET_ID target)
{
    D3DKMDT_VIDPN_PRESENT_PATH info;

    memset(&info, 0, sizeof info);
    info.VidPnSourceId = source;
    info.VidPnTargetId = target;
    info.ImportanceOrdinal =
        (D3DKMDT_VIDPN_PRESENT_PATH_IMPORTANCE)(D3DKMDT_VPPI_PRIMARY + list_count(&network->paths));
    info.ContentTransformation.Scaling = D3DKMDT_VPPS_UNPINNED;
    info.ContentTransformation.Rotation = D3DKMDT_VPPR_UNPINNED;
    /* What Microsoft's display-only sample takes: it refuses a path of D3DKMDT_CB_SRGB. */
    info.VidPnTargetColorBasis = D3DKMDT_CB_SCRGB;
    info.VidPnTargetColorCoeffDynamicRanges.FirstChannel = 8;
    info.VidPnTargetColorCoeffDynamicRanges.SecondChannel = 8;
    info.VidPnTargetColorCoeffDynamicRanges.ThirdChannel = 8;
    info.Content = D3DKMDT_VPPC_GRAPHICS;
    info.CopyProtection.CopyProtectionType = D3DKMDT_VPPMT_NOPROTECTION;
    info.GammaRamp.Type = D3DDDI_GAMMARAMP_DEFAULT;
    return network_add_path(network, &info);
}

bool display_network_get_path(const struct display_network *network, unsigned index,
                              D3DKMDT_VIDPN_PRESENT_PATH *out_path)
{
    const struct path *path;

    list_for_each (path, &network->paths, struct path, link) {
        if (index--)
            continue;
        *out_path = path->info;
        return true;
    }
    return false;
}

void display_network_set_transformation(struct display_network *network,
                                        D3DKMDT_VIDPN_PRESENT_PATH_SCALING scaling,
                                        D3DKMDT_VIDPN_PRESENT_PATH_ROTATION rotation)
{
    struct path *path;

    list_for_each (path, &network->paths, struct path, link) {
        path->info.ContentTransformation.Scaling = scaling;
        path->info.ContentTransformation.Rotation = rotation;
    }
}

D3DKMDT_HVIDPNSOURCEMODESET display_network_source_set(const struct display_network *network,
                                                       D3DDDI_VIDEO_PRESENT_SOURCE_ID source)
{
    const struct mode_set *set = network_set(network, &source_family, source);

    return set ? set->object.handle : NULL;
}

D3DKMDT_HVIDPNTARGETMODESET display_network_target_set(const struct display_network *network,
                                                       D3DDDI_VIDEO_PRESENT_TARGET_ID target)
{
    const struct mode_set *set = network_set(network, &target_family, target);

    return set ? set->object.handle : NULL;
}

unsigned display_network_source_modes(const struct display_network *network,
                                      D3DDDI_VIDEO_PRESENT_SOURCE_ID source)
{
    const struct mode_set *set = network_set(network, &source_family, source);

    return set ? mode_set_count(set) : 0;
}

unsigned display_network_target_modes(const struct display_network *network,
                                      D3DDDI_VIDEO_PRESENT_TARGET_ID target)
{
    const struct mode_set *set = network_set(network, &target_family, target);

    return set ? mode_set_count(set) : 0;
}

static bool get_mode(const struct display_network *network, const struct mode_family *family,
                     uint32_t owner, unsigned index, void *out_mode, size_t bytes)
{
    const struct mode_set *set = network_set(network, family, owner);
    const struct mode *mode = set ? mode_set_at(set, index) : NULL;

    if (mode)
        memcpy(out_mode, mode_info(mode), bytes);
    return mode != NULL;
}

bool display_network_get_source_mode(const struct display_network *network,
                                     D3DDDI_VIDEO_PRESENT_SOURCE_ID source, unsigned index,
                                     D3DKMDT_VIDPN_SOURCE_MODE *out_mode)
{
    return get_mode(network, &source_family, source, index, out_mode, sizeof *out_mode);
}

bool display_network_get_target_mode(const struct display_network *network,
                                     D3DDDI_VIDEO_PRESENT_TARGET_ID target, unsigned index,
                                     D3DKMDT_VIDPN_TARGET_MODE *out_mode)
{
    return get_mode(network, &target_family, target, index, out_mode, sizeof *out_mode);
}

static bool pin(struct display_network *network, const struct mode_family *family, uint32_t owner,
                unsigned index)
{
    struct mode_set *set = network_set(network, family, owner);
    struct mode *mode = set && index != UINT_MAX ? mode_set_at(set, index) : NULL;

    if (!set || (!mode && index != UINT_MAX))
        return false;
    set->pinned = mode;
    return true;
}

bool display_network_pin_source(struct display_network *network,
                                D3DDDI_VIDEO_PRESENT_SOURCE_ID source, unsigned index)
{
    return pin(network, &source_family, source, index);
}

bool display_network_pin_target(struct display_network *network,
                                D3DDDI_VIDEO_PRESENT_TARGET_ID target, unsigned index)
{
    return pin(network, &target_family, target, index);
}
