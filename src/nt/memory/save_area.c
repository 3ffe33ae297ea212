#include "nt/memory/save_area.h"

#include "nt/memory/device_memory_private.h"
#include "nt/memory/take.h"

#include "base/bits.h"

#define VIEW_BYTES (64 * KiB)

static struct device_item *find_area(struct nt *nt)
{
    struct device_item *item;

    list_for_each (item, &device_state(nt)->items, struct device_item, link) {
        if (item->kind == DEVICE_SAVE_AREA)
            return item;
    }
    return NULL;
}

bool nt_set_save_area(struct nt *nt, uint64_t bytes)
{
    struct nt_page_range anywhere = {0, UINT64_MAX, 0};
    struct device_item *area = find_area(nt);

    if (area)
        device_free_item(nt, area);
    if (!bytes)
        return true;
    area = device_new_item(nt, DEVICE_SAVE_AREA, bytes);
    if (!area)
        return false;
    area->pfns = nt_take_pages(nt, &anywhere, bytes, MM_ALLOCATE_FULLY_REQUIRED, &area->count);
    if (!area->pfns)
        device_free_item(nt, area);
    return find_area(nt) != NULL;
}

/* ---- As a whole, for the device -------------------------------------------------------------- */

static bool is_pinned(const struct device_item *area)
{
    return area->mdl || !list_is_empty(&area->adls);
}

/* Why these bytes of it cannot be pinned. */
static NTSTATUS refuse_pin(const struct device_item *area, UINT adapter, uint64_t bytes)
{
    if (!area || adapter || !bytes || bytes % PAGE_SIZE || bytes > area->bytes)
        return STATUS_INVALID_PARAMETER;
    return is_pinned(area) ? STATUS_ALREADY_COMMITTED : STATUS_SUCCESS;
}

NTSTATUS nt_device_pin_save_area(struct nt *nt, DXGKARGCB_PINFRAMEBUFFERFORSAVE *arg)
{
    struct device_item *area = find_area(nt);
    const NTSTATUS status = refuse_pin(area, arg->PhysicalAdapterIndex, arg->CommitSize);

    arg->pMdl = NULL;
    if (device_is_remapped(nt))
        return STATUS_NOT_SUPPORTED;
    if (!NT_SUCCESS(status))
        return status;
    if (arg->CommitSize > UINT32_MAX || !device_describe(nt, area, arg->CommitSize))
        return STATUS_NO_MEMORY;
    arg->pMdl = area->mdl;
    return STATUS_SUCCESS;
}

NTSTATUS nt_device_pin_save_area_2(struct nt *nt, DXGKARGCB_PINFRAMEBUFFERFORSAVE2 *arg)
{
    struct device_item *area = find_area(nt);
    const NTSTATUS status = refuse_pin(area, arg->PhysicalAdapterIndex, arg->CommitSize);

    arg->pAdl = NULL;
    if (arg->Flags.Reserved)
        return STATUS_INVALID_PARAMETER;
    if (!NT_SUCCESS(status))
        return status;
    if (arg->CommitSize / PAGE_SIZE > UINT32_MAX || !device_show(nt, area))
        return STATUS_NO_MEMORY;
    arg->pAdl = device_new_adl(nt, area, 0, arg->CommitSize, arg->Flags.PreferContiguous);
    if (arg->pAdl)
        return STATUS_SUCCESS;
    device_hide(nt, area);
    return STATUS_NO_MEMORY;
}

NTSTATUS nt_device_unpin_save_area(struct nt *nt, const DXGKARGCB_UNPINFRAMEBUFFERFORSAVE *arg)
{
    struct device_item *area = find_area(nt);

    if (!area || arg->PhysicalAdapterIndex || !is_pinned(area))
        return STATUS_INVALID_PARAMETER;
    if (area->mdl)
        device_free_mdl(nt, area);
    device_end_adls(nt, area);
    device_hide(nt, area);
    return STATUS_SUCCESS;
}

/* ---- In pieces, for the CPU ------------------------------------------------------------------ */

NTSTATUS nt_device_map_save_area(struct nt *nt, DXGKARGCB_MAPFRAMEBUFFERPOINTER *arg)
{
    const struct device_item *area = find_area(nt);
    const uint64_t first = align_down(arg->Offset, VIEW_BYTES), into = arg->Offset - first;
    struct nt_mapping *view;

    arg->pBaseAddress = NULL;
    if (!area || arg->PhysicalAdapterIndex || !arg->Size || arg->Size % PAGE_SIZE ||
        arg->Offset % PAGE_SIZE || arg->Size > area->bytes || arg->Offset > area->bytes - arg->Size)
        return STATUS_INVALID_PARAMETER;
    view = nt_map(nt, NT_MAPPING_DEVICE, area->pfns + first / PAGE_SIZE,
                  (into + arg->Size) / PAGE_SIZE, 0, into + arg->Size, area);
    if (!view)
        return STATUS_NO_MEMORY;
    arg->pBaseAddress = view->address;
    arg->Offset = into;
    return STATUS_SUCCESS;
}

NTSTATUS nt_device_unmap_save_area(struct nt *nt, const DXGKARGCB_UNMAPFRAMEBUFFERPOINTER *arg)
{
    const struct device_item *area = find_area(nt);
    struct nt_mapping *view =
        area && arg->pBaseAddress ? device_find_view(nt, area, arg->pBaseAddress, 0) : NULL;

    if (!view || arg->PhysicalAdapterIndex)
        return STATUS_INVALID_PARAMETER;
    nt_unmap(nt, view);
    return STATUS_SUCCESS;
}
