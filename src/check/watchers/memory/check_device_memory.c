/*
 * Watcher: memory that the driver asks the graphics kernel for, for its device (IOMMU-005 and from
 * IOMMU-008 on).
 *
 * It keeps what the callbacks have given and what has been given back; what the driver does with
 * the memory is other watchers' subject.
 */
#include "check/check_watch.h"

#include "base/bits.h"

#include <string.h>

/* One thing that a callback has given and that nobody has given back. */
struct given {
    struct list link;
    enum miniport_memory_kind by; /* the callback */
    HANDLE handle;                /* of views: of their object; of ADLs: of the adapter's object */
    HANDLE adapter;               /* of objects: of the adapter's object; NULL: it is not open */
    const void *address;          /* of views and ADLs */
    uint64_t bytes;
    DXGK_PHYSICAL_MEMORY_TYPE type; /* of objects */
};

struct device_memory_watch {
    struct list given;
    bool has_asked, used_old_lists;
    bool is_remapped; /* the driver says so: DXGK_IOMMU_CAPS.DmaRemappingSupported */
};

/* ---- The account ----------------------------------------------------------------------------- */

static void enter(struct check *check, struct device_memory_watch *watch, struct given as)
{
    struct given *given = base_alloc(check_configuration(check)->services, sizeof *given);

    if (!given) {
        check_lost(check);
        return;
    }
    *given = as;
    list_push_back(&watch->given, &given->link);
}

static void leave(struct check *check, struct given *given)
{
    list_remove(&given->link);
    base_free(check_configuration(check)->services, given, sizeof *given);
}

/* address NULL: any. */
static struct given *find(struct device_memory_watch *watch, enum miniport_memory_kind by,
                          HANDLE handle, const void *address)
{
    struct given *given;

    list_for_each (given, &watch->given, struct given, link) {
        if (given->by == by && given->handle == handle && (!address || given->address == address))
            return given;
    }
    return NULL;
}

/* The object that is open by this handle. */
static struct given *find_open(struct device_memory_watch *watch, HANDLE adapter)
{
    struct given *given;

    list_for_each (given, &watch->given, struct given, link) {
        if (given->by == MINIPORT_MEMORY_create_object && adapter && given->adapter == adapter)
            return given;
    }
    return NULL;
}

/* With its views and ADLs. */
static void leave_object(struct check *check, struct device_memory_watch *watch,
                         struct given *object)
{
    struct given *part;

    while ((part = find(watch, MINIPORT_MEMORY_map_object, object->handle, NULL)))
        leave(check, part);
    while (object->adapter &&
           (part = find(watch, MINIPORT_MEMORY_allocate_adl, object->adapter, NULL)))
        leave(check, part);
    leave(check, object);
}

static unsigned long long number_of(HANDLE handle)
{
    return (unsigned long long)(uintptr_t)handle;
}

/* ---- IOMMU-005 ------------------------------------------------------------------------------- */

static void check_call(struct check *check, struct device_memory_watch *watch,
                       enum miniport_memory_kind kind)
{
    const bool is_old = miniport_memory_is_old(kind), is_level = check_irql(check) <= APC_LEVEL;

    watch->has_asked = true;
    watch->used_old_lists |= is_old;
    CHECK_RULE(check, RULE_IOMMU_005, is_level && !(is_old && watch->is_remapped), NULL, "",
               is_level ? "is not for a device behind a remapping IOMMU (IRQL %u)"
                        : "is called at IRQL {%u} (expected {=APC_LEVEL at most})",
               check_irql(check));
}

/* The rule is kept by a driver of a remapped device that never used the old callbacks. */
static void check_lists_unused(struct check *check, const struct device_memory_watch *watch)
{
    if (check_configuration(check)->remaps_dma && watch->is_remapped && !watch->used_old_lists)
        check_looked_at(check, RULE_IOMMU_005);
}

/* ---- What is asked for ----------------------------------------------------------------------- */

static void check_skip(struct check *check, LONGLONG skip, const char *field)
{
    CHECK_RULE(check, RULE_IOMMU_008, skip % PAGE_SIZE == 0, NULL, field,
               "is {0x%llx} (expected {=a multiple of the page})", (unsigned long long)skip);
}

static void check_boundary(struct check *check, LONGLONG boundary, const char *field)
{
    CHECK_RULE(check, RULE_IOMMU_009, !boundary || is_power_of_two((uint64_t)boundary), NULL, field,
               "is {0x%llx} (expected {=0 or a power of two})", (unsigned long long)boundary);
}

/* Kernel: all pages, where the driver wants them. */
static void check_list(struct check *check, const DXGKARGCB_ALLOCATEPAGESFORMDL *arg)
{
    const uint64_t pages = div_round_up(arg->TotalBytes, PAGE_SIZE);
    const MDL *mdl = arg->pMdl;

    if (!CHECK_RULE(check, RULE_IOMMU_021, mdl && div_round_up(mdl->ByteCount, PAGE_SIZE) == pages,
                    NULL, "pMdl", "has {%llu} pages (expected {=%llu})",
                    (unsigned long long)(mdl ? div_round_up(mdl->ByteCount, PAGE_SIZE) : 0),
                    (unsigned long long)pages) ||
        arg->SkipBytes.QuadPart)
        return;
    for (uint64_t i = 0; i < pages; i++) {
        const uint64_t first = MmGetMdlPfnArray(mdl)[i] * PAGE_SIZE;

        if (!CHECK_RULE(check, RULE_IOMMU_021,
                        first >= (uint64_t)arg->LowAddress.QuadPart &&
                            first + PAGE_SIZE - 1 <= (uint64_t)arg->HighAddress.QuadPart,
                        NULL, "pMdl", "has a page at 0x%llx, outside of [0x%llx, 0x%llx]",
                        (unsigned long long)first, (unsigned long long)arg->LowAddress.QuadPart,
                        (unsigned long long)arg->HighAddress.QuadPart))
            return;
    }
}

static void allocated_pages(struct check *check, struct device_memory_watch *watch,
                            const DXGKARGCB_ALLOCATEPAGESFORMDL *arg, NTSTATUS status)
{
    check_skip(check, arg->SkipBytes.QuadPart, "SkipBytes");
    CHECK_RULE(check, RULE_IOMMU_010, arg->TotalBytes < 4 * GiB, NULL, "TotalBytes",
               "is {%llu} (expected {=less than 4 GiB})", (unsigned long long)arg->TotalBytes);
    if (!NT_SUCCESS(status))
        return;
    check_list(check, arg);
    enter(check, watch,
          (struct given){.by = MINIPORT_MEMORY_allocate_pages,
                         .handle = arg->hMemoryHandle,
                         .bytes = arg->TotalBytes});
}

static void allocated_contiguous(struct check *check, struct device_memory_watch *watch,
                                 const DXGKARGCB_ALLOCATECONTIGUOUSMEMORY *arg, NTSTATUS status)
{
    check_boundary(check, arg->BoundaryAddressMultiple.QuadPart, "BoundaryAddressMultiple");
    if (NT_SUCCESS(status))
        enter(check, watch,
              (struct given){.by = MINIPORT_MEMORY_allocate_contiguous,
                             .handle = arg->hMemoryHandle,
                             .bytes = arg->NumberOfBytes});
}

static void mapped_mdl(struct check *check, struct device_memory_watch *watch,
                       const DXGKARGCB_MAPMDLTOIOMMU *arg, NTSTATUS status)
{
    const bool has_pages = arg->pMdl && arg->pMdl->MdlFlags & (MDL_PAGES_LOCKED | MDL_PARTIAL |
                                                               MDL_SOURCE_IS_NONPAGED_POOL);

    CHECK_RULE(check, RULE_IOMMU_012, has_pages, NULL, "pMdl",
               arg->pMdl ? "describes pages that are not locked" : "is NULL");
    if (NT_SUCCESS(status))
        enter(check, watch,
              (struct given){.by = MINIPORT_MEMORY_map_mdl,
                             .handle = arg->hMemoryHandle,
                             .bytes = arg->pMdl->ByteCount});
}

static void created(struct check *check, struct device_memory_watch *watch,
                    const DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT *arg, NTSTATUS status)
{
    switch (arg->Type) {
    case DXGK_PHYSICAL_MEMORY_TYPE_MDL:
        check_skip(check, arg->Mdl.SkipBytes.QuadPart, "Mdl.SkipBytes");
        break;
    case DXGK_PHYSICAL_MEMORY_TYPE_CONTIGUOUS_MEMORY:
        check_boundary(check, arg->ContiguousMemory.BoundaryAddressMultiple.QuadPart,
                       "ContiguousMemory.BoundaryAddressMultiple");
        break;
    case DXGK_PHYSICAL_MEMORY_TYPE_SECTION:
        CHECK_RULE(check, RULE_IOMMU_014,
                   arg->CacheType == DXGK_MEMORY_CACHING_TYPE_CACHED ||
                       arg->CacheType == DXGK_MEMORY_CACHING_TYPE_WRITE_COMBINED,
                   NULL, "CacheType", "of a section is {%u} (expected {=cached or write-combined})",
                   (unsigned)arg->CacheType);
        break;
    case DXGK_PHYSICAL_MEMORY_TYPE_IO_SPACE:
        CHECK_RULE(check, RULE_IOMMU_014, arg->IOSpace.BaseAddress.QuadPart % PAGE_SIZE == 0, NULL,
                   "IOSpace.BaseAddress", "is {0x%llx} (expected {=a multiple of the page})",
                   (unsigned long long)arg->IOSpace.BaseAddress.QuadPart);
        break;
    }
    if (NT_SUCCESS(status))
        enter(check, watch,
              (struct given){.by = MINIPORT_MEMORY_create_object,
                             .handle = arg->hPhysicalMemoryObject,
                             .adapter = arg->hAdapterMemoryObject,
                             .bytes = arg->Size,
                             .type = arg->Type});
}

static void opened(struct check *check, struct device_memory_watch *watch,
                   const DXGKARGCB_OPEN_PHYSICAL_MEMORY_OBJECT *arg, NTSTATUS status)
{
    struct given *object =
        find(watch, MINIPORT_MEMORY_create_object, arg->hPhysicalMemoryObject, NULL);

    if (!object)
        return;
    CHECK_RULE(check, RULE_IOMMU_015, !object->adapter, NULL, "hPhysicalMemoryObject",
               "0x%llx is open for the adapter already", number_of(object->handle));
    if (NT_SUCCESS(status))
        object->adapter = arg->hAdapterMemoryObject;
}

static void mapped_object(struct check *check, struct device_memory_watch *watch,
                          const DXGKARGCB_MAP_PHYSICAL_MEMORY *arg, NTSTATUS status)
{
    if (NT_SUCCESS(status))
        enter(check, watch,
              (struct given){.by = MINIPORT_MEMORY_map_object,
                             .handle = arg->hPhysicalMemoryObject,
                             .address = arg->pMappedAddress,
                             .bytes = arg->Size});
}

/* Kernel: a list of as many pages as there are in Size, contiguous where that is required. */
static void check_adl(struct check *check, const DXGKARGCB_ALLOCATE_ADL *arg)
{
    const DXGK_ADL *adl = arg->pAdl;

    if (!CHECK_RULE(check, RULE_IOMMU_021, adl && adl->PageCount == arg->Size / PAGE_SIZE, NULL,
                    "pAdl", "has {%u} pages (expected {=%llu})", adl ? adl->PageCount : 0,
                    (unsigned long long)(arg->Size / PAGE_SIZE)))
        return;
    CHECK_RULE(check, RULE_IOMMU_021, adl->Flags.Contiguous || !arg->Flags.RequireContiguous, NULL,
               "pAdl", "is not contiguous, which RequireContiguous asks for");
}

static void allocated_adl(struct check *check, struct device_memory_watch *watch,
                          const DXGKARGCB_ALLOCATE_ADL *arg, NTSTATUS status)
{
    const struct given *object = find_open(watch, arg->hAdapterMemoryObject);

    CHECK_RULE(check, RULE_IOMMU_016, arg->Offset % PAGE_SIZE == 0 && arg->Size % PAGE_SIZE == 0,
               NULL, arg->Offset % PAGE_SIZE ? "Offset" : "Size",
               "is {0x%llx} (expected {=a multiple of the page})",
               (unsigned long long)(arg->Offset % PAGE_SIZE ? arg->Offset : arg->Size));
    CHECK_RULE(check, RULE_IOMMU_016, arg->Flags.Reserved == 0, NULL, "Flags.Reserved",
               "is {0x%x} (expected {=0})", (unsigned)arg->Flags.Reserved);
    if (object && arg->Flags.RequireContiguous)
        CHECK_RULE(check, RULE_IOMMU_017,
                   object->type == DXGK_PHYSICAL_MEMORY_TYPE_CONTIGUOUS_MEMORY ||
                       object->type == DXGK_PHYSICAL_MEMORY_TYPE_IO_SPACE,
                   NULL, "Flags.RequireContiguous",
                   "is set for an object of the type {%u} (expected {=contiguous memory or IO "
                   "space})",
                   (unsigned)object->type);
    if (!NT_SUCCESS(status))
        return;
    check_adl(check, arg);
    enter(check, watch,
          (struct given){.by = MINIPORT_MEMORY_allocate_adl,
                         .handle = arg->hAdapterMemoryObject,
                         .address = arg->pAdl,
                         .bytes = arg->Size});
}

/* ---- What is given back ---------------------------------------------------------------------- */

/* NULL: it is none that this callback has given. */
static struct given *check_handle(struct check *check, struct device_memory_watch *watch,
                                  enum miniport_memory_kind by, HANDLE handle, const char *field)
{
    struct given *given = find(watch, by, handle, NULL);

    CHECK_RULE(check, RULE_IOMMU_011, given != NULL, NULL, field,
               "0x%llx is nothing that %s gave, or was given back before", number_of(handle),
               miniport_memory_name(by));
    return given;
}

static void gave_back(struct check *check, struct device_memory_watch *watch,
                      enum miniport_memory_kind by, HANDLE handle)
{
    struct given *given = check_handle(check, watch, by, handle, "hMemoryHandle");

    if (given)
        leave(check, given);
}

static void unmapped_mdl(struct check *check, struct device_memory_watch *watch,
                         const DXGKARGCB_UNMAPMDLFROMIOMMU *arg, NTSTATUS status)
{
    gave_back(check, watch, MINIPORT_MEMORY_map_mdl, arg->hMemoryHandle);
    CHECK_RULE(check, RULE_IOMMU_012,
               status != STATUS_MEMORY_NOT_ALLOCATED && status != STATUS_CONFLICTING_ADDRESSES,
               NULL, "hMemoryHandle", "is of an MDL that %s since DxgkCbMapMdlToIoMmu",
               status == STATUS_MEMORY_NOT_ALLOCATED ? "was freed" : "or whose pages have changed");
}

static void destroyed(struct check *check, struct device_memory_watch *watch,
                      const DXGKARGCB_DESTROY_PHYSICAL_MEMORY_OBJECT *arg)
{
    struct given *object = check_handle(check, watch, MINIPORT_MEMORY_create_object,
                                        arg->hPhysicalMemoryObject, "hPhysicalMemoryObject");

    if (!object)
        return;
    if (arg->hAdapterMemoryObject)
        CHECK_RULE(check, RULE_IOMMU_011, arg->hAdapterMemoryObject == object->adapter, NULL,
                   "hAdapterMemoryObject", "0x%llx is not open for this object, or was closed",
                   number_of(arg->hAdapterMemoryObject));
    CHECK_RULE(check, RULE_IOMMU_019,
               !object->adapter ||
                   !find(watch, MINIPORT_MEMORY_allocate_adl, object->adapter, NULL),
               NULL, "hPhysicalMemoryObject", "0x%llx has an ADL", number_of(object->handle));
    leave_object(check, watch, object);
}

static void closed(struct check *check, struct device_memory_watch *watch,
                   const DXGKARGCB_CLOSE_PHYSICAL_MEMORY_OBJECT *arg, NTSTATUS status)
{
    struct given *object = find_open(watch, arg->hAdapterMemoryObject);

    CHECK_RULE(check, RULE_IOMMU_011, object != NULL, NULL, "hAdapterMemoryObject",
               "0x%llx is not open", number_of(arg->hAdapterMemoryObject));
    if (object && NT_SUCCESS(status))
        object->adapter = NULL;
}

static void unmapped_object(struct check *check, struct device_memory_watch *watch,
                            const DXGKARGCB_UNMAP_PHYSICAL_MEMORY *arg)
{
    struct given *view = arg->pBaseAddress ? find(watch, MINIPORT_MEMORY_map_object,
                                                  arg->hPhysicalMemoryObject, arg->pBaseAddress)
                                           : NULL;

    if (!CHECK_RULE(check, RULE_IOMMU_020, view != NULL, NULL, "pBaseAddress",
                    "is none that DxgkCbMapPhysicalMemory gave for 0x%llx",
                    number_of(arg->hPhysicalMemoryObject)))
        return;
    CHECK_RULE(check, RULE_IOMMU_020, arg->Size == view->bytes, NULL, "Size",
               "is {%llu} (expected {=%llu}), which DxgkCbMapPhysicalMemory gave",
               (unsigned long long)arg->Size, (unsigned long long)view->bytes);
    leave(check, view);
}

static void freed_adl(struct check *check, struct device_memory_watch *watch,
                      const DXGKARGCB_FREE_ADL *arg)
{
    struct given *adl =
        arg->pAdl ? find(watch, MINIPORT_MEMORY_allocate_adl, arg->hAdapterMemoryObject, arg->pAdl)
                  : NULL;

    CHECK_RULE(check, RULE_IOMMU_018, adl != NULL, NULL, "pAdl",
               "is none that DxgkCbAllocateAdl gave for 0x%llx, or was freed before",
               number_of(arg->hAdapterMemoryObject));
    if (adl)
        leave(check, adl);
}

static void check_left(struct check *check, struct device_memory_watch *watch)
{
    const struct list *first = list_first(&watch->given);
    const struct given *given = first ? container_of(first, struct given, link) : NULL;
    unsigned count = 0;
    struct given *each;

    if (!watch->has_asked)
        return;
    list_for_each (each, &watch->given, struct given, link)
        count++;
    CHECK_RULE(check, RULE_IOMMU_013, !given, NULL, "",
               "leaves {%u} (expected {=0}) that callbacks gave for the device; the first by %s, "
               "%llu bytes",
               count, given ? miniport_memory_name(given->by) : "",
               (unsigned long long)(given ? given->bytes : 0));
}

/* ---- The watcher ----------------------------------------------------------------------------- */

static void callback(struct check *check, void *state, const struct check_callback *event)
{
    const struct miniport_memory_request *request = event->data;
    struct device_memory_watch *watch = state;
    const NTSTATUS status = event->status;

    if (event->callback != TRACE_CALLBACK_memory || miniport_memory_is_of_save_area(request->kind))
        return;
    check_call(check, watch, request->kind);
    switch ((unsigned)request->kind) {
    case MINIPORT_MEMORY_allocate_pages:
        allocated_pages(check, watch, request->allocate_pages, status);
        break;
    case MINIPORT_MEMORY_free_pages:
        gave_back(check, watch, MINIPORT_MEMORY_allocate_pages, request->free_pages->hMemoryHandle);
        break;
    case MINIPORT_MEMORY_allocate_contiguous:
        allocated_contiguous(check, watch, request->allocate_contiguous, status);
        break;
    case MINIPORT_MEMORY_free_contiguous:
        gave_back(check, watch, MINIPORT_MEMORY_allocate_contiguous,
                  request->free_contiguous->hMemoryHandle);
        break;
    case MINIPORT_MEMORY_map_mdl:
        mapped_mdl(check, watch, request->map_mdl, status);
        break;
    case MINIPORT_MEMORY_unmap_mdl:
        unmapped_mdl(check, watch, request->unmap_mdl, status);
        break;
    case MINIPORT_MEMORY_create_object:
        created(check, watch, request->create_object, status);
        break;
    case MINIPORT_MEMORY_destroy_object:
        destroyed(check, watch, request->destroy_object);
        break;
    case MINIPORT_MEMORY_map_object:
        mapped_object(check, watch, request->map_object, status);
        break;
    case MINIPORT_MEMORY_unmap_object:
        unmapped_object(check, watch, request->unmap_object);
        break;
    case MINIPORT_MEMORY_allocate_adl:
        allocated_adl(check, watch, request->allocate_adl, status);
        break;
    case MINIPORT_MEMORY_free_adl:
        freed_adl(check, watch, request->free_adl);
        break;
    case MINIPORT_MEMORY_open_object:
        opened(check, watch, request->open_object, status);
        break;
    case MINIPORT_MEMORY_close_object:
        closed(check, watch, request->close_object, status);
        break;
    default:
        break;
    }
}

static void before(struct check *check, void *state, const struct check_call *call)
{
    check_lists_unused(check, state);
}

static void note_caps(struct device_memory_watch *watch, const DXGKARG_QUERYADAPTERINFO *query)
{
    DXGK_IOMMU_CAPS caps;

    if (query->Type != DXGKQAITYPE_IOMMU_CAPS || !query->pOutputData ||
        query->OutputDataSize < sizeof caps)
        return;
    memcpy(&caps, query->pOutputData, sizeof caps);
    watch->is_remapped = caps.DmaRemappingSupported;
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    if (call->ddi == MINIPORT_DDI_RemoveDevice)
        check_left(check, state);
    else if (NT_SUCCESS(call->status))
        note_caps(state, call->arg.query_adapter_info);
}

static void init(struct check *check, void *state)
{
    struct device_memory_watch *watch = state;

    list_init(&watch->given);
}

static void fini(struct check *check, void *state)
{
    struct device_memory_watch *watch = state;
    struct list *node;

    while ((node = list_first(&watch->given)))
        leave(check, container_of(node, struct given, link));
}

const struct check_watcher check_device_memory_watcher = {
    .name = "device memory",
    .state_bytes = sizeof(struct device_memory_watch),
    .init = init,
    .fini = fini,
    .before = before,
    .after = after,
    .before_calls = CHECK_CALLS(MINIPORT_DDI_StopDevice),
    .after_calls = CHECK_CALLS(MINIPORT_DDI_QueryAdapterInfo, MINIPORT_DDI_RemoveDevice),
    .callback = callback,
};
