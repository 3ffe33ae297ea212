/*
 * The topology of a network: its paths, and the functions of DXGK_VIDPNTOPOLOGY_INTERFACE.
 */
#include "display/display_private.h"

#include <string.h>

#define TABLE "DXGK_VIDPNTOPOLOGY_INTERFACE"

static struct display_network *network_of(const void *handle, const char *function)
{
    struct object *object = object_find(handle, OBJECT_TOPOLOGY, function);

    return object ? container_of(object, struct display_network, topology) : NULL;
}

static bool is_source(const struct display_network *network, uint32_t source)
{
    return source < network->object.display->config.sources;
}

static bool is_target(const struct display_network *network, uint32_t target)
{
    return display_find_target(network->object.display, target) != NULL;
}

static NTSTATUS lend_path(struct display_network *network, const struct path *path,
                          NTSTATUS without, const D3DKMDT_VIDPN_PRESENT_PATH **out_info,
                          const char *function)
{
    *out_info = NULL;
    if (!path)
        return without;
    *out_info = lend_info(&network->topology, function, path, &path->info, sizeof path->info);
    return *out_info ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

static NTSTATUS APIENTRY get_count(const D3DKMDT_HVIDPNTOPOLOGY topology, SIZE_T *out_count)
{
    static const char function[] = TABLE ".pfnGetNumPaths";
    const struct display_network *network = network_of(topology, function);

    if (!network)
        return STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY;
    if (!display_has_room(network->object.display, function, out_count))
        return STATUS_INVALID_PARAMETER;
    *out_count = list_count(&network->paths);
    return STATUS_SUCCESS;
}

static const struct path *path_of_source(const struct display_network *network, uint32_t source,
                                         SIZE_T index)
{
    const struct path *path;

    list_for_each (path, &network->paths, struct path, link) {
        if (path->info.VidPnSourceId == source && !index--)
            return path;
    }
    return NULL;
}

static NTSTATUS APIENTRY get_count_of_source(const D3DKMDT_HVIDPNTOPOLOGY topology,
                                             const D3DDDI_VIDEO_PRESENT_SOURCE_ID source,
                                             SIZE_T *out_count)
{
    static const char function[] = TABLE ".pfnGetNumPathsFromSource";
    const struct display_network *network = network_of(topology, function);
    SIZE_T count = 0;

    if (!network)
        return STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY;
    if (!is_source(network, source))
        return STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_SOURCE;
    if (!display_has_room(network->object.display, function, out_count))
        return STATUS_INVALID_PARAMETER;
    while (path_of_source(network, source, count))
        count++;
    *out_count = count;
    return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY enum_targets(const D3DKMDT_HVIDPNTOPOLOGY topology,
                                      const D3DDDI_VIDEO_PRESENT_SOURCE_ID source,
                                      const SIZE_T index,
                                      D3DDDI_VIDEO_PRESENT_TARGET_ID *out_target)
{
    static const char function[] = TABLE ".pfnEnumPathTargetsFromSource";
    const struct display_network *network = network_of(topology, function);
    const struct path *path;

    if (!network)
        return STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY;
    if (!display_has_room(network->object.display, function, out_target))
        return STATUS_INVALID_PARAMETER;
    *out_target = D3DDDI_ID_UNINITIALIZED;
    if (!is_source(network, source))
        return STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_SOURCE;
    path = path_of_source(network, source, index);
    if (!path)
        return path_of_source(network, source, 0) ? STATUS_INVALID_PARAMETER
                                                  : STATUS_GRAPHICS_SOURCE_NOT_IN_TOPOLOGY;
    *out_target = path->info.VidPnTargetId;
    return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY get_source(const D3DKMDT_HVIDPNTOPOLOGY topology,
                                    const D3DDDI_VIDEO_PRESENT_TARGET_ID target,
                                    D3DDDI_VIDEO_PRESENT_SOURCE_ID *out_source)
{
    static const char function[] = TABLE ".pfnGetPathSourceFromTarget";
    const struct display_network *network = network_of(topology, function);
    const struct path *path;

    if (!network)
        return STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY;
    if (!display_has_room(network->object.display, function, out_source))
        return STATUS_INVALID_PARAMETER;
    *out_source = D3DDDI_ID_UNINITIALIZED;
    if (!is_target(network, target))
        return STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_TARGET;
    list_for_each (path, &network->paths, struct path, link) {
        if (path->info.VidPnTargetId == target) {
            *out_source = path->info.VidPnSourceId;
            return STATUS_SUCCESS;
        }
    }
    return STATUS_GRAPHICS_TARGET_NOT_IN_TOPOLOGY;
}

static NTSTATUS APIENTRY acquire(const D3DKMDT_HVIDPNTOPOLOGY topology,
                                 const D3DDDI_VIDEO_PRESENT_SOURCE_ID source,
                                 const D3DDDI_VIDEO_PRESENT_TARGET_ID target,
                                 const D3DKMDT_VIDPN_PRESENT_PATH **out_info)
{
    static const char function[] = TABLE ".pfnAcquirePathInfo";
    struct display_network *network = network_of(topology, function);

    if (!network)
        return STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY;
    if (!display_has_room(network->object.display, function, out_info))
        return STATUS_INVALID_PARAMETER;
    *out_info = NULL;
    if (!is_source(network, source))
        return STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_SOURCE;
    if (!is_target(network, target))
        return STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_TARGET;
    return lend_path(network, network_path(network, source, target),
                     STATUS_GRAPHICS_PATH_NOT_IN_TOPOLOGY, out_info, function);
}

static NTSTATUS APIENTRY acquire_first(const D3DKMDT_HVIDPNTOPOLOGY topology,
                                       const D3DKMDT_VIDPN_PRESENT_PATH **out_info)
{
    static const char function[] = TABLE ".pfnAcquireFirstPathInfo";
    struct display_network *network = network_of(topology, function);

    if (!network)
        return STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY;
    if (!display_has_room(network->object.display, function, out_info))
        return STATUS_INVALID_PARAMETER;
    return lend_path(network,
                     list_is_empty(&network->paths)
                         ? NULL
                         : list_first_entry(&network->paths, struct path, link),
                     STATUS_GRAPHICS_DATASET_IS_EMPTY, out_info, function);
}

static NTSTATUS APIENTRY acquire_next(const D3DKMDT_HVIDPNTOPOLOGY topology,
                                      const D3DKMDT_VIDPN_PRESENT_PATH *const info,
                                      const D3DKMDT_VIDPN_PRESENT_PATH **out_info)
{
    static const char function[] = TABLE ".pfnAcquireNextPathInfo";
    struct display_network *network = network_of(topology, function);
    const struct lent *lent;
    const struct path *path;

    if (!network)
        return STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY;
    if (!display_has_room(network->object.display, function, out_info))
        return STATUS_INVALID_PARAMETER;
    *out_info = NULL;
    lent = find_lent(&network->topology, function, info);
    if (!lent || !lent->item)
        return STATUS_GRAPHICS_INVALID_VIDPN_PRESENT_PATH;
    path = lent->item;
    return lend_path(
        network,
        path->link.next == &network->paths ? NULL : list_entry(path->link.next, struct path, link),
        STATUS_GRAPHICS_NO_MORE_ELEMENTS_IN_DATASET, out_info, function);
}

/* The info is the driver's own copy, or what it has been lent: its two identifiers count. */
static NTSTATUS APIENTRY update_support(const D3DKMDT_HVIDPNTOPOLOGY topology,
                                        const D3DKMDT_VIDPN_PRESENT_PATH *const info)
{
    static const char function[] = TABLE ".pfnUpdatePathSupportInfo";
    struct display_network *network = network_of(topology, function);
    struct path *path;

    if (!network)
        return STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY;
    if (!display_has_room(network->object.display, function, info))
        return STATUS_INVALID_PARAMETER;
    path = network_path(network, info->VidPnSourceId, info->VidPnTargetId);
    if (!path)
        return STATUS_GRAPHICS_INVALID_VIDPN_PRESENT_PATH;
    path->info.ContentTransformation.ScalingSupport = info->ContentTransformation.ScalingSupport;
    path->info.ContentTransformation.RotationSupport = info->ContentTransformation.RotationSupport;
    path->info.CopyProtection.CopyProtectionSupport = info->CopyProtection.CopyProtectionSupport;
    return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY release(const D3DKMDT_HVIDPNTOPOLOGY topology,
                                 const D3DKMDT_VIDPN_PRESENT_PATH *const info)
{
    static const char function[] = TABLE ".pfnReleasePathInfo";
    const struct display_network *network = network_of(topology, function);
    struct lent *lent;

    if (!network)
        return STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY;
    lent = find_lent(&network->topology, function, info);
    if (!lent)
        return STATUS_GRAPHICS_INVALID_VIDPN_PRESENT_PATH;
    end_lent(lent, function);
    return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY create_new(const D3DKMDT_HVIDPNTOPOLOGY topology,
                                    D3DKMDT_VIDPN_PRESENT_PATH **out_info)
{
    static const char function[] = TABLE ".pfnCreateNewPathInfo";
    const struct display_network *network = network_of(topology, function);
    D3DKMDT_VIDPN_PRESENT_PATH info;

    if (!network)
        return STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY;
    if (!display_has_room(network->object.display, function, out_info))
        return STATUS_INVALID_PARAMETER;
    memset(&info, 0, sizeof info);
    info.VidPnSourceId = info.VidPnTargetId = D3DDDI_ID_UNINITIALIZED;
    *out_info = lend_info(&network->topology, function, NULL, &info, sizeof info);
    return *out_info ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

static NTSTATUS APIENTRY add(const D3DKMDT_HVIDPNTOPOLOGY topology,
                             D3DKMDT_VIDPN_PRESENT_PATH *const info)
{
    static const char function[] = TABLE ".pfnAddPath";
    struct display_network *network = network_of(topology, function);
    struct lent *lent;
    NTSTATUS status;

    if (!network)
        return STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY;
    lent = find_lent(&network->topology, function, info);
    if (!lent)
        return STATUS_GRAPHICS_INVALID_VIDPN_PRESENT_PATH;
    if (lent->item) {
        display_misuse(network->object.display, function, "is given an info of %s, not a new one",
                       lent->by);
        return STATUS_GRAPHICS_INVALID_VIDPN_PRESENT_PATH;
    }
    status = network_add_path(network, info);
    if (NT_SUCCESS(status))
        end_lent(lent, function);
    return status;
}

static NTSTATUS APIENTRY remove_path(const D3DKMDT_HVIDPNTOPOLOGY topology,
                                     const D3DDDI_VIDEO_PRESENT_SOURCE_ID source,
                                     const D3DDDI_VIDEO_PRESENT_TARGET_ID target)
{
    struct display_network *network = network_of(topology, TABLE ".pfnRemovePath");
    struct path *path = network ? network_path(network, source, target) : NULL;

    if (!network)
        return STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY;
    if (!path)
        return STATUS_GRAPHICS_PATH_NOT_IN_TOPOLOGY;
    network_remove_path(network, path);
    return STATUS_SUCCESS;
}

const DXGK_VIDPNTOPOLOGY_INTERFACE topology_functions = {
    .pfnGetNumPaths = get_count,
    .pfnGetNumPathsFromSource = get_count_of_source,
    .pfnEnumPathTargetsFromSource = enum_targets,
    .pfnGetPathSourceFromTarget = get_source,
    .pfnAcquirePathInfo = acquire,
    .pfnAcquireFirstPathInfo = acquire_first,
    .pfnAcquireNextPathInfo = acquire_next,
    .pfnUpdatePathSupportInfo = update_support,
    .pfnReleasePathInfo = release,
    .pfnCreateNewPathInfo = create_new,
    .pfnAddPath = add,
    .pfnRemovePath = remove_path,
};
