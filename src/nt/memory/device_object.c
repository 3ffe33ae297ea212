/*
 * Physical memory objects: created, opened for the adapter, seen by the CPU, listed for the device.
 */
#include "nt/memory/device_memory_private.h"
#include "nt/memory/take.h"

#include "base/bits.h"

struct device_adl {
    struct list link; /* in the item's adls */
    DXGK_ADL list;    /* the driver has its address */
};

static struct device_item *find_open(struct nt *nt, HANDLE adapter)
{
    struct device_item *item;

    list_for_each (item, &device_state(nt)->items, struct device_item, link) {
        if (item->kind == DEVICE_OBJECT_MEMORY && adapter && item->adapter == adapter)
            return item;
    }
    return NULL;
}

/* ---- Opened and closed ----------------------------------------------------------------------- */

/* Registers and memory of the board are no pages that an IOMMU stands before. */
bool device_show(struct nt *nt, struct device_item *item)
{
    const struct nt_device_pages *pages = &device_state(nt)->pages;

    if (!pages->show || item->is_io_space)
        return true;
    item->is_shown = pages->show(pages->context, item->pfns, item->count, &item->first_logical);
    return item->is_shown;
}

void device_hide(struct nt *nt, struct device_item *item)
{
    const struct nt_device_pages *pages = &device_state(nt)->pages;

    if (item->is_shown && pages->hide)
        pages->hide(pages->context, item->pfns, item->count);
    item->is_shown = false;
}

static bool open_item(struct nt *nt, struct device_item *item)
{
    if (!device_show(nt, item))
        return false;
    item->adapter = device_new_handle(nt);
    return true;
}

static void close_item(struct nt *nt, struct device_item *item)
{
    device_hide(nt, item);
    item->adapter = NULL;
}

NTSTATUS nt_device_open_object(struct nt *nt, DXGKARGCB_OPEN_PHYSICAL_MEMORY_OBJECT *arg)
{
    struct device_item *item = device_find(nt, DEVICE_OBJECT_MEMORY, arg->hPhysicalMemoryObject);

    arg->hAdapterMemoryObject = NULL;
    if (!item)
        return STATUS_INVALID_HANDLE;
    if (item->adapter)
        return STATUS_ALREADY_COMMITTED;
    if (!open_item(nt, item))
        return STATUS_NO_MEMORY;
    arg->hAdapterMemoryObject = item->adapter;
    return STATUS_SUCCESS;
}

NTSTATUS nt_device_close_object(struct nt *nt, const DXGKARGCB_CLOSE_PHYSICAL_MEMORY_OBJECT *arg)
{
    struct device_item *item = find_open(nt, arg->hAdapterMemoryObject);

    if (!item)
        return STATUS_INVALID_HANDLE;
    if (!list_is_empty(&item->adls))
        return STATUS_DEVICE_BUSY;
    close_item(nt, item);
    return STATUS_SUCCESS;
}

/* ---- Created and destroyed ------------------------------------------------------------------- */

static uint64_t *list_io_space(struct nt *nt, uint64_t address, uint64_t bytes, uint64_t *out_count)
{
    const uint64_t count = div_round_up(bytes, PAGE_SIZE);
    uint64_t *pfns = base_alloc_array(nt->services, count, sizeof *pfns);

    for (uint64_t i = 0; pfns && i < count; i++)
        pfns[i] = address / PAGE_SIZE + i;
    *out_count = pfns ? count : 0;
    return pfns;
}

/* False: the arguments cannot be. */
static bool is_lawful(const DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT *arg)
{
    const uint64_t boundary = (uint64_t)arg->ContiguousMemory.BoundaryAddressMultiple.QuadPart;

    if (!arg->Size)
        return false;
    switch (arg->Type) {
    case DXGK_PHYSICAL_MEMORY_TYPE_MDL:
        return arg->Mdl.SkipBytes.QuadPart % PAGE_SIZE == 0;
    case DXGK_PHYSICAL_MEMORY_TYPE_CONTIGUOUS_MEMORY:
        return !boundary || is_power_of_two(boundary);
    case DXGK_PHYSICAL_MEMORY_TYPE_SECTION:
        return arg->CacheType == DXGK_MEMORY_CACHING_TYPE_CACHED ||
               arg->CacheType == DXGK_MEMORY_CACHING_TYPE_WRITE_COMBINED;
    case DXGK_PHYSICAL_MEMORY_TYPE_IO_SPACE:
        return arg->IOSpace.BaseAddress.QuadPart % PAGE_SIZE == 0;
    }
    return false;
}

static uint64_t *take_pages(struct nt *nt, const DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT *arg,
                            uint64_t *out_count)
{
    struct nt_page_range range = {0, UINT64_MAX, 0};
    ULONG flags = 0;

    switch (arg->Type) {
    case DXGK_PHYSICAL_MEMORY_TYPE_IO_SPACE:
        return list_io_space(nt, (uint64_t)arg->IOSpace.BaseAddress.QuadPart, arg->Size, out_count);
    case DXGK_PHYSICAL_MEMORY_TYPE_CONTIGUOUS_MEMORY:
        range.lowest = (uint64_t)arg->ContiguousMemory.LowestAcceptableAddress.QuadPart;
        range.highest = (uint64_t)arg->ContiguousMemory.HighestAcceptableAddress.QuadPart;
        return nt_take_contiguous(nt, &range, arg->Size,
                                  (uint64_t)arg->ContiguousMemory.BoundaryAddressMultiple.QuadPart,
                                  out_count);
    case DXGK_PHYSICAL_MEMORY_TYPE_MDL:
        range.lowest = (uint64_t)arg->Mdl.LowAddress.QuadPart;
        range.highest = (uint64_t)arg->Mdl.HighAddress.QuadPart;
        range.skip = (uint64_t)arg->Mdl.SkipBytes.QuadPart;
        flags = arg->Mdl.Flags;
        break;
    case DXGK_PHYSICAL_MEMORY_TYPE_SECTION:
        break;
    }
    return nt_take_pages(nt, &range, arg->Size, flags | MM_ALLOCATE_FULLY_REQUIRED, out_count);
}

NTSTATUS nt_device_create_object(struct nt *nt, DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT *arg)
{
    struct device_item *item;

    arg->hPhysicalMemoryObject = arg->hAdapterMemoryObject = NULL;
    if (!is_lawful(arg))
        return STATUS_INVALID_PARAMETER;
    item = device_new_item(nt, DEVICE_OBJECT_MEMORY, arg->Size);
    if (!item)
        return STATUS_NO_MEMORY;
    item->type = arg->Type;
    item->is_io_space = arg->Type == DXGK_PHYSICAL_MEMORY_TYPE_IO_SPACE;
    item->pfns = take_pages(nt, arg, &item->count);
    if (!item->pfns || (arg->hAdapter && !open_item(nt, item))) {
        device_free_item(nt, item);
        return STATUS_NO_MEMORY;
    }
    arg->hPhysicalMemoryObject = item->handle = device_new_handle(nt);
    arg->hAdapterMemoryObject = item->adapter;
    return STATUS_SUCCESS;
}

NTSTATUS nt_device_destroy_object(struct nt *nt,
                                  const DXGKARGCB_DESTROY_PHYSICAL_MEMORY_OBJECT *arg)
{
    struct device_item *item = device_find(nt, DEVICE_OBJECT_MEMORY, arg->hPhysicalMemoryObject);

    if (!item || (arg->hAdapterMemoryObject && arg->hAdapterMemoryObject != item->adapter))
        return STATUS_INVALID_HANDLE;
    if (!list_is_empty(&item->adls))
        return STATUS_DEVICE_BUSY;
    device_free_item(nt, item);
    return STATUS_SUCCESS;
}

/* ---- Seen by the CPU ------------------------------------------------------------------------- */

static bool is_inside(const struct device_item *item, uint64_t offset, uint64_t bytes)
{
    const uint64_t all = item->count * PAGE_SIZE;

    return bytes && bytes <= all && offset <= all - bytes;
}

/* Whole pages; a process of a client's has no addresses of its own here, and gets the kernel's. */
NTSTATUS nt_device_map_object(struct nt *nt, DXGKARGCB_MAP_PHYSICAL_MEMORY *arg)
{
    struct device_item *item = device_find(nt, DEVICE_OBJECT_MEMORY, arg->hPhysicalMemoryObject);
    const uint64_t into = arg->Offset % PAGE_SIZE;
    struct nt_mapping *mapping;
    uint64_t count;

    arg->pMappedAddress = NULL;
    if (!item)
        return STATUS_INVALID_HANDLE;
    if (!is_inside(item, arg->Offset, arg->Size))
        return STATUS_INVALID_PARAMETER;
    count = div_round_up(into + arg->Size, PAGE_SIZE);
    mapping = nt_map(nt, NT_MAPPING_DEVICE, item->pfns + arg->Offset / PAGE_SIZE, count, 0,
                     count * PAGE_SIZE, item);
    if (!mapping)
        return STATUS_NO_MEMORY;
    arg->pMappedAddress = mapping->address;
    arg->Offset = into;
    arg->Size = count * PAGE_SIZE;
    return STATUS_SUCCESS;
}

struct nt_mapping *device_find_view(struct nt *nt, const struct device_item *item,
                                    const void *address, uint64_t bytes)
{
    struct nt_mapping *mapping;

    list_for_each (mapping, &nt->mappings, struct nt_mapping, link) {
        if (mapping->kind == NT_MAPPING_DEVICE && mapping->owner == item &&
            (!address || mapping->address == address) && (!bytes || mapping->bytes == bytes))
            return mapping;
    }
    return NULL;
}

NTSTATUS nt_device_unmap_object(struct nt *nt, const DXGKARGCB_UNMAP_PHYSICAL_MEMORY *arg)
{
    struct device_item *item = device_find(nt, DEVICE_OBJECT_MEMORY, arg->hPhysicalMemoryObject);
    struct nt_mapping *mapping;

    if (!item)
        return STATUS_INVALID_HANDLE;
    mapping = arg->pBaseAddress && arg->Size
                  ? device_find_view(nt, item, arg->pBaseAddress, arg->Size)
                  : NULL;
    if (!mapping)
        return STATUS_INVALID_PARAMETER;
    nt_unmap(nt, mapping);
    return STATUS_SUCCESS;
}

/* ---- Listed for the device ------------------------------------------------------------------- */

static bool follow_each_other(const uint64_t *pfns, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++) {
        if (pfns[i] != pfns[0] + i)
            return false;
    }
    return true;
}

/*
 * Contiguous where the driver wants that and the device sees the pages so; else a list. Logical
 * pages of an object follow each other always.
 */
static bool fill_adl(struct nt *nt, const struct device_item *item, uint64_t first, uint64_t count,
                     bool may_be_contiguous, DXGK_ADL *adl)
{
    const uint64_t *pfns = item->pfns + first;

    adl->PageCount = (UINT32)count;
    if (may_be_contiguous && (item->is_shown || follow_each_other(pfns, count))) {
        adl->Flags.Contiguous = 1;
        adl->BasePageNumber = item->is_shown ? item->first_logical + first : pfns[0];
        return true;
    }
    adl->Pages = base_alloc_array(nt->services, count, sizeof *adl->Pages);
    for (uint64_t i = 0; adl->Pages && i < count; i++)
        adl->Pages[i] = item->is_shown ? item->first_logical + first + i : pfns[i];
    return adl->Pages != NULL;
}

static void end_adl(struct nt *nt, struct device_adl *adl)
{
    list_remove(&adl->link);
    if (!adl->list.Flags.Contiguous)
        base_free_array(nt->services, adl->list.Pages, adl->list.PageCount,
                        sizeof *adl->list.Pages);
    base_free(nt->services, adl, sizeof *adl);
}

DXGK_ADL *device_new_adl(struct nt *nt, struct device_item *item, uint64_t offset, uint64_t bytes,
                         bool may_be_contiguous)
{
    struct device_adl *adl = base_alloc(nt->services, sizeof *adl);

    if (!adl)
        return NULL;
    if (!fill_adl(nt, item, offset / PAGE_SIZE, bytes / PAGE_SIZE, may_be_contiguous, &adl->list)) {
        base_free(nt->services, adl, sizeof *adl);
        return NULL;
    }
    list_push_back(&item->adls, &adl->link);
    return &adl->list;
}

void device_end_adls(struct nt *nt, struct device_item *item)
{
    struct list *node;

    while ((node = list_first(&item->adls)))
        end_adl(nt, container_of(node, struct device_adl, link));
}

NTSTATUS nt_device_allocate_adl(struct nt *nt, DXGKARGCB_ALLOCATE_ADL *arg)
{
    struct device_item *item = find_open(nt, arg->hAdapterMemoryObject);

    arg->pAdl = NULL;
    if (!item)
        return STATUS_INVALID_HANDLE;
    if (arg->Offset % PAGE_SIZE || arg->Size % PAGE_SIZE || arg->Flags.Reserved ||
        !is_inside(item, arg->Offset, arg->Size) || arg->Size / PAGE_SIZE > UINT32_MAX ||
        (arg->Flags.RequireContiguous && item->type != DXGK_PHYSICAL_MEMORY_TYPE_IO_SPACE &&
         item->type != DXGK_PHYSICAL_MEMORY_TYPE_CONTIGUOUS_MEMORY))
        return STATUS_INVALID_PARAMETER;
    arg->pAdl = device_new_adl(nt, item, arg->Offset, arg->Size, arg->Flags.Value != 0);
    return arg->pAdl ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

NTSTATUS nt_device_free_adl(struct nt *nt, const DXGKARGCB_FREE_ADL *arg)
{
    struct device_item *item = find_open(nt, arg->hAdapterMemoryObject);
    struct device_adl *adl;

    if (!item)
        return STATUS_INVALID_HANDLE;
    list_for_each (adl, &item->adls, struct device_adl, link) {
        if (&adl->list == arg->pAdl) {
            end_adl(nt, adl);
            return STATUS_SUCCESS;
        }
    }
    return STATUS_INVALID_PARAMETER;
}

void device_end_object(struct nt *nt, struct device_item *item)
{
    struct nt_mapping *mapping;

    device_end_adls(nt, item);
    while ((mapping = device_find_view(nt, item, NULL, 0)))
        nt_unmap(nt, mapping);
    close_item(nt, item);
}
