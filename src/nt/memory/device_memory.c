/*
 * What the graphics kernel keeps for a driver: pages, contiguous memory, mapped MDLs.
 * device_object.c has the objects, save_area.c the save area.
 */
#include "nt/memory/device_memory_private.h"
#include "nt/memory/take.h"

#include "base/bits.h"

#include <string.h>

/* Of the upper half of all addresses, which no process has. */
#define FIRST_HANDLE ((uintptr_t)0xffffd00000000000u)

void nt_set_device_pages(struct nt *nt, const struct nt_device_pages *pages)
{
    static const struct nt_device_pages none;

    device_state(nt)->pages = pages ? *pages : none;
}

struct device_item *device_new_item(struct nt *nt, enum device_kind kind, uint64_t bytes)
{
    struct device_item *item = base_alloc(nt->services, sizeof *item);

    if (!item)
        return NULL;
    item->kind = kind;
    item->bytes = bytes;
    list_init(&item->adls);
    list_push_back(&device_state(nt)->items, &item->link);
    return item;
}

HANDLE device_new_handle(struct nt *nt)
{
    return (HANDLE)(FIRST_HANDLE + 16 * ++device_state(nt)->handles_given);
}

struct device_item *device_find(struct nt *nt, enum device_kind kind, HANDLE handle)
{
    struct device_item *item;

    list_for_each (item, &device_state(nt)->items, struct device_item, link) {
        if (item->kind == kind && handle && item->handle == handle)
            return item;
    }
    return NULL;
}

void device_free_mdl(struct nt *nt, struct device_item *item)
{
    nt_unmap_list(nt, item->mdl);
    base_free(nt->services, item->mdl, sizeof(MDL) + item->count * sizeof(PFN_NUMBER));
    item->mdl = NULL;
}

void device_free_item(struct nt *nt, struct device_item *item)
{
    list_remove(&item->link);
    if (item->kind == DEVICE_OBJECT_MEMORY || item->kind == DEVICE_SAVE_AREA)
        device_end_object(nt, item);
    if (item->mapping)
        nt_unmap(nt, item->mapping);
    if (item->kind != DEVICE_MDL && item->mdl)
        device_free_mdl(nt, item);
    if (item->pfns && (item->kind == DEVICE_MDL || item->is_io_space))
        base_free_array(nt->services, item->pfns, item->count, sizeof *item->pfns);
    else if (item->pfns)
        nt_free_taken(nt, item->pfns, item->count);
    base_free(nt->services, item, sizeof *item);
}

/* ---- Pages and contiguous memory ------------------------------------------------------------- */

/* The MDL is memory of the kernel's, not a block of the driver's pool. */
bool device_describe(struct nt *nt, struct device_item *item, uint64_t bytes)
{
    const uint64_t size = sizeof(MDL) + item->count * sizeof(PFN_NUMBER);

    item->mdl = base_alloc(nt->services, size);
    if (!item->mdl)
        return false;
    item->mdl->Size = (CSHORT)size;
    item->mdl->ByteCount = (ULONG)bytes;
    item->mdl->MdlFlags = MDL_PAGES_LOCKED;
    memcpy(MmGetMdlPfnArray(item->mdl), item->pfns, item->count * sizeof *item->pfns);
    return true;
}

NTSTATUS nt_device_allocate_pages(struct nt *nt, DXGKARGCB_ALLOCATEPAGESFORMDL *arg)
{
    const struct nt_page_range range = {(uint64_t)arg->LowAddress.QuadPart,
                                        (uint64_t)arg->HighAddress.QuadPart,
                                        (uint64_t)arg->SkipBytes.QuadPart};
    struct device_item *item;

    if (device_is_remapped(nt))
        return STATUS_NOT_SUPPORTED;
    if (!arg->TotalBytes || arg->TotalBytes >= 4 * GiB || range.skip % PAGE_SIZE)
        return STATUS_INVALID_PARAMETER;
    item = device_new_item(nt, DEVICE_PAGES, arg->TotalBytes);
    if (!item)
        return STATUS_NO_MEMORY;
    item->pfns = nt_take_pages(nt, &range, arg->TotalBytes, arg->Flags | MM_ALLOCATE_FULLY_REQUIRED,
                               &item->count);
    if (!item->pfns || !device_describe(nt, item, item->count * PAGE_SIZE)) {
        device_free_item(nt, item);
        return STATUS_NO_MEMORY;
    }
    arg->hMemoryHandle = item->handle = device_new_handle(nt);
    arg->pMdl = item->mdl;
    return STATUS_SUCCESS;
}

static NTSTATUS give_back(struct nt *nt, enum device_kind kind, HANDLE handle)
{
    struct device_item *item = device_find(nt, kind, handle);

    if (!item)
        return STATUS_INVALID_HANDLE;
    device_free_item(nt, item);
    return STATUS_SUCCESS;
}

NTSTATUS nt_device_free_pages(struct nt *nt, const DXGKARGCB_FREEPAGESFROMMDL *arg)
{
    return give_back(nt, DEVICE_PAGES, arg->hMemoryHandle);
}

NTSTATUS nt_device_allocate_contiguous(struct nt *nt, DXGKARGCB_ALLOCATECONTIGUOUSMEMORY *arg)
{
    const struct nt_page_range range = {(uint64_t)arg->LowestAcceptableAddress.QuadPart,
                                        (uint64_t)arg->HighestAcceptableAddress.QuadPart, 0};
    const uint64_t boundary = (uint64_t)arg->BoundaryAddressMultiple.QuadPart;
    struct device_item *item;

    if (device_is_remapped(nt))
        return STATUS_NOT_SUPPORTED;
    if (!arg->NumberOfBytes || (boundary && !is_power_of_two(boundary)))
        return STATUS_INVALID_PARAMETER;
    item = device_new_item(nt, DEVICE_CONTIGUOUS, arg->NumberOfBytes);
    if (!item)
        return STATUS_NO_MEMORY;
    item->pfns = nt_take_contiguous(nt, &range, arg->NumberOfBytes, boundary, &item->count);
    if (item->pfns)
        item->mapping =
            nt_map(nt, NT_MAPPING_DEVICE, item->pfns, item->count, 0, arg->NumberOfBytes, item);
    if (!item->mapping) {
        device_free_item(nt, item);
        return STATUS_NO_MEMORY;
    }
    arg->hMemoryHandle = item->handle = device_new_handle(nt);
    arg->pMemory = item->mapping->address;
    return STATUS_SUCCESS;
}

NTSTATUS nt_device_free_contiguous(struct nt *nt, const DXGKARGCB_FREECONTIGUOUSMEMORY *arg)
{
    return give_back(nt, DEVICE_CONTIGUOUS, arg->hMemoryHandle);
}

/* ---- MDLs of the driver ---------------------------------------------------------------------- */

static bool has_pages(const MDL *mdl)
{
    return mdl->MdlFlags & (MDL_PAGES_LOCKED | MDL_SOURCE_IS_NONPAGED_POOL | MDL_PARTIAL);
}

static uint64_t pages_of(const MDL *mdl)
{
    return ADDRESS_AND_SIZE_TO_SPAN_PAGES(mdl->ByteOffset, mdl->ByteCount);
}

NTSTATUS nt_device_map_mdl(struct nt *nt, DXGKARGCB_MAPMDLTOIOMMU *arg)
{
    struct device_item *item;
    uint64_t count;

    if (device_is_remapped(nt))
        return STATUS_NOT_SUPPORTED;
    if (!arg->pMdl || !has_pages(arg->pMdl) || !arg->pMdl->ByteCount)
        return STATUS_INVALID_PARAMETER;
    count = pages_of(arg->pMdl);
    item = device_new_item(nt, DEVICE_MDL, arg->pMdl->ByteCount);
    if (!item)
        return STATUS_NO_MEMORY;
    item->pfns = base_alloc_array(nt->services, count, sizeof *item->pfns);
    if (!item->pfns) {
        device_free_item(nt, item);
        return STATUS_NO_MEMORY;
    }
    memcpy(item->pfns, MmGetMdlPfnArray(arg->pMdl), count * sizeof *item->pfns);
    item->count = count;
    item->mdl = arg->pMdl;
    arg->hMemoryHandle = item->handle = device_new_handle(nt);
    return STATUS_SUCCESS;
}

static NTSTATUS look_at_mdl(const struct device_item *item)
{
    if (!item->mdl)
        return STATUS_MEMORY_NOT_ALLOCATED;
    if (!has_pages(item->mdl) || pages_of(item->mdl) != item->count ||
        memcmp(MmGetMdlPfnArray(item->mdl), item->pfns, item->count * sizeof *item->pfns) != 0)
        return STATUS_CONFLICTING_ADDRESSES;
    return STATUS_SUCCESS;
}

NTSTATUS nt_device_unmap_mdl(struct nt *nt, const DXGKARGCB_UNMAPMDLFROMIOMMU *arg)
{
    struct device_item *item = device_find(nt, DEVICE_MDL, arg->hMemoryHandle);
    NTSTATUS status;

    if (!item)
        return STATUS_INVALID_HANDLE;
    status = look_at_mdl(item);
    device_free_item(nt, item);
    return status;
}

/* An MDL that is freed while it is mapped is not looked at again. */
static void freed(struct nt *nt, const void *memory, uint64_t bytes)
{
    struct device_item *item;

    list_for_each (item, &device_state(nt)->items, struct device_item, link) {
        if (item->kind == DEVICE_MDL && (uintptr_t)item->mdl - (uintptr_t)memory < bytes)
            item->mdl = NULL;
    }
}

/* ---- Life ------------------------------------------------------------------------------------ */

uint64_t nt_device_memory_count(const struct nt *nt, uint64_t *out_bytes)
{
    const struct device_item *item;
    uint64_t count = 0;

    *out_bytes = 0;
    list_for_each (item, &device_state(nt)->items, struct device_item, link) {
        if (item->kind == DEVICE_SAVE_AREA)
            continue;
        count++;
        *out_bytes += item->bytes;
    }
    return count;
}

static void init(struct nt *nt)
{
    list_init(&device_state(nt)->items);
}

static void fini(struct nt *nt)
{
    struct list *node;

    while ((node = list_first(&device_state(nt)->items)))
        device_free_item(nt, container_of(node, struct device_item, link));
}

const struct nt_area nt_device_memory_area = {
    .state_bytes = sizeof(struct device_state),
    .init = init,
    .fini = fini,
    .freed = freed,
};
