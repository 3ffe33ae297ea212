/*
 * The reference driver as an image that asks the graphics kernel for memory for its device, for
 * tests/images/memory.sh, from DxgkDdiStartDevice to DxgkDdiStopDevice: before WDDM 2.9 pages,
 * contiguous memory and a mapped MDL, from then on physical memory objects, views and ADLs.
 *
 * The driver is compiled with DxgkInitialize renamed, so that its table comes here first. Memory
 * that is not as the pages of the callbacks say stops the machine with bug check 0xbad, whose first
 * parameter is the line. MEMORY_MISTAKE is what the driver does wrong: 1 leaves pages; 2 gives
 * contiguous memory back twice; 3 unmaps a view by another size; 4 asks at DISPATCH_LEVEL; 5 frees
 * an ADL of another object; 6 destroys an object that has an ADL; 7 frees an MDL that is mapped to
 * the IOMMU; 8 writes behind its contiguous memory; 9 writes to a view that has ended; 10 asks for
 * pages although its device lies behind an IOMMU that remaps, as it says.
 */
#include <ntddk.h>
#include <dispmprt.h>

#include <d3dkmddi.h>

#ifndef MEMORY_MISTAKE
#define MEMORY_MISTAKE 0
#endif

#undef DxgkInitialize
NTSTATUS NTAPI DxgkInitialize(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath,
                              PDRIVER_INITIALIZATION_DATA DriverInitializationData);

#define PAGES 4
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition))                                                                          \
            KeBugCheckEx(0xbad, __LINE__, 0, 0, 0);                                                \
    } while (0)

static PDXGKDDI_START_DEVICE start_reference;
static PDXGKDDI_STOP_DEVICE stop_reference;
static DXGKRNL_INTERFACE dxgkrnl;
static PHYSICAL_ADDRESS highest;

static void write_and_read(volatile UCHAR *memory, SIZE_T bytes, UCHAR value)
{
    memory[0] = memory[bytes - 1] = value;
    REQUIRE(memory[0] == value && memory[bytes - 1] == value);
}

/* ---- Until WDDM 2.9 -------------------------------------------------------------------------- */

static HANDLE pages, contiguous, mapped;
static PMDL own;

static void ask_for_pages(void)
{
    DXGKARGCB_ALLOCATEPAGESFORMDL arg = {.HighAddress = highest,
                                         .TotalBytes = PAGES * PAGE_SIZE,
                                         .CacheType = DXGK_MEMORY_CACHING_TYPE_CACHED};
    PVOID view;

    REQUIRE(NT_SUCCESS(dxgkrnl.DxgkCbAllocatePagesForMdl(dxgkrnl.DeviceHandle, &arg)));
    REQUIRE(arg.hMemoryHandle && MmGetMdlByteCount(arg.pMdl) == PAGES * PAGE_SIZE);
    view = MmMapLockedPagesSpecifyCache(arg.pMdl, KernelMode, MmCached, NULL, FALSE,
                                        NormalPagePriority);
    REQUIRE(view);
    write_and_read(view, PAGES * PAGE_SIZE, 0x51);
    MmUnmapLockedPages(view, arg.pMdl);
    pages = arg.hMemoryHandle;
}

static void ask_for_contiguous(void)
{
    DXGKARGCB_ALLOCATECONTIGUOUSMEMORY arg = {.NumberOfBytes = PAGES * PAGE_SIZE,
                                              .HighestAcceptableAddress = highest,
                                              .CacheType = DXGK_MEMORY_CACHING_TYPE_CACHED};
    PHYSICAL_ADDRESS first, last;

    REQUIRE(NT_SUCCESS(dxgkrnl.DxgkCbAllocateContiguousMemory(dxgkrnl.DeviceHandle, &arg)));
    REQUIRE(arg.hMemoryHandle && arg.pMemory);
    write_and_read(arg.pMemory, PAGES * PAGE_SIZE, 0x52);
    first = MmGetPhysicalAddress(arg.pMemory);
    last = MmGetPhysicalAddress((UCHAR *)arg.pMemory + (PAGES - 1) * PAGE_SIZE);
    REQUIRE(first.QuadPart && last.QuadPart - first.QuadPart == (PAGES - 1) * PAGE_SIZE);
#if MEMORY_MISTAKE == 8
    ((volatile UCHAR *)arg.pMemory)[PAGES * PAGE_SIZE] = 1;
#endif
    contiguous = arg.hMemoryHandle;
}

static void map_a_list(void)
{
    const PHYSICAL_ADDRESS none = {0};
    DXGKARGCB_MAPMDLTOIOMMU arg = {0};

    own = arg.pMdl = MmAllocatePagesForMdl(none, highest, none, PAGE_SIZE);
    REQUIRE(own && NT_SUCCESS(dxgkrnl.DxgkCbMapMdlToIoMmu(dxgkrnl.DeviceHandle, &arg)));
    mapped = arg.hMemoryHandle;
}

static void free_own_list(void)
{
    MmFreePagesFromMdl(own);
    ExFreePool(own);
}

static void give_lists_back(void)
{
    const DXGKARGCB_FREEPAGESFROMMDL free_pages = {pages};
    const DXGKARGCB_FREECONTIGUOUSMEMORY free_contiguous = {contiguous};
    const DXGKARGCB_UNMAPMDLFROMIOMMU unmap = {mapped};

#if MEMORY_MISTAKE == 7
    free_own_list();
#endif
    dxgkrnl.DxgkCbUnmapMdlFromIoMmu(dxgkrnl.DeviceHandle, &unmap);
#if MEMORY_MISTAKE != 7
    free_own_list();
#endif
    REQUIRE(NT_SUCCESS(dxgkrnl.DxgkCbFreeContiguousMemory(dxgkrnl.DeviceHandle, &free_contiguous)));
#if MEMORY_MISTAKE == 2
    dxgkrnl.DxgkCbFreeContiguousMemory(dxgkrnl.DeviceHandle, &free_contiguous);
#endif
#if MEMORY_MISTAKE != 1
    REQUIRE(NT_SUCCESS(dxgkrnl.DxgkCbFreePagesFromMdl(dxgkrnl.DeviceHandle, &free_pages)));
#endif
}

static void ask_for_lists(void)
{
    ask_for_pages();
    ask_for_contiguous();
    map_a_list();
}

/* ---- From WDDM 2.9 on ------------------------------------------------------------------------ */

/* The first is created for the adapter, the second is opened for it. */
static struct object {
    HANDLE object, adapter;
    PVOID view;
    SIZE_T view_bytes;
    DXGK_ADL *adl;
} objects[2];

static void create(struct object *object, HANDLE adapter, DXGK_PHYSICAL_MEMORY_TYPE type)
{
    DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT arg = {.hAdapter = adapter,
                                                   .Size = PAGES * PAGE_SIZE,
                                                   .Type = type,
                                                   .CacheType = DXGK_MEMORY_CACHING_TYPE_CACHED};
    DXGKARGCB_OPEN_PHYSICAL_MEMORY_OBJECT open = {.hAdapter = dxgkrnl.DeviceHandle};

    if (type == DXGK_PHYSICAL_MEMORY_TYPE_MDL)
        arg.Mdl.HighAddress = highest;
    else
        arg.ContiguousMemory.HighestAcceptableAddress = highest;
    REQUIRE(NT_SUCCESS(dxgkrnl.DxgkCbCreatePhysicalMemoryObject(&arg)));
    object->object = arg.hPhysicalMemoryObject;
    object->adapter = arg.hAdapterMemoryObject;
    REQUIRE(object->object && !object->adapter == !adapter);
    if (adapter)
        return;
    open.hPhysicalMemoryObject = object->object;
    REQUIRE(NT_SUCCESS(dxgkrnl.DxgkCbOpenPhysicalMemoryObject(&open)));
    object->adapter = open.hAdapterMemoryObject;
}

static void view(struct object *object)
{
    DXGKARGCB_MAP_PHYSICAL_MEMORY arg = {.hPhysicalMemoryObject = object->object,
                                         .Size = PAGES * PAGE_SIZE};

    REQUIRE(NT_SUCCESS(dxgkrnl.DxgkCbMapPhysicalMemory(&arg)));
    write_and_read((UCHAR *)arg.pMappedAddress + arg.Offset, PAGES * PAGE_SIZE, 0x53);
    object->view = arg.pMappedAddress;
    object->view_bytes = arg.Size;
}

static void list_pages(struct object *object, BOOLEAN is_contiguous)
{
    DXGKARGCB_ALLOCATE_ADL arg = {.hAdapterMemoryObject = object->adapter,
                                  .Size = PAGES * PAGE_SIZE};

    arg.Flags.RequireContiguous = is_contiguous;
    REQUIRE(NT_SUCCESS(dxgkrnl.DxgkCbAllocateAdl(&arg)));
    REQUIRE(arg.pAdl->PageCount == PAGES && (arg.pAdl->Flags.Contiguous || !is_contiguous));
    REQUIRE(arg.pAdl->Flags.Contiguous ? arg.pAdl->BasePageNumber : arg.pAdl->Pages[PAGES - 1]);
    object->adl = arg.pAdl;
}

static void ask_for_objects(void)
{
    create(&objects[0], dxgkrnl.DeviceHandle, DXGK_PHYSICAL_MEMORY_TYPE_MDL);
    create(&objects[1], NULL, DXGK_PHYSICAL_MEMORY_TYPE_CONTIGUOUS_MEMORY);
    for (int i = 0; i < 2; i++) {
        view(&objects[i]);
        list_pages(&objects[i], i == 1);
    }
}

/* The second is closed for the adapter before it is destroyed. */
static void give_object_back(struct object *object, BOOLEAN is_closed)
{
    const DXGKARGCB_UNMAP_PHYSICAL_MEMORY unmap = {
        object->object, object->view, object->view_bytes - (MEMORY_MISTAKE == 3 ? PAGE_SIZE : 0)};
    const DXGKARGCB_FREE_ADL free = {objects[MEMORY_MISTAKE == 5 ? 0 : object - objects].adapter,
                                     object->adl};
    const DXGKARGCB_CLOSE_PHYSICAL_MEMORY_OBJECT close = {object->adapter};
    const DXGKARGCB_DESTROY_PHYSICAL_MEMORY_OBJECT destroy = {object->object,
                                                              is_closed ? NULL : object->adapter};

    dxgkrnl.DxgkCbUnmapPhysicalMemory(&unmap);
#if MEMORY_MISTAKE == 9
    *(volatile UCHAR *)object->view = 1;
#endif
#if MEMORY_MISTAKE == 6
    if (is_closed)
#endif
        dxgkrnl.DxgkCbFreeAdl(&free);
    if (is_closed)
        dxgkrnl.DxgkCbClosePhysicalMemoryObject(&close);
    dxgkrnl.DxgkCbDestroyPhysicalMemoryObject(&destroy);
}

/* ---- The driver ------------------------------------------------------------------------------ */

static BOOLEAN has_objects(void)
{
    return dxgkrnl.Version >= DXGKDDI_INTERFACE_VERSION_WDDM2_9;
}

static NTSTATUS APIENTRY start(PVOID context, PDXGK_START_INFO info, PDXGKRNL_INTERFACE interface,
                               PULONG sources, PULONG children)
{
    const NTSTATUS status = start_reference(context, info, interface, sources, children);
    KIRQL level = PASSIVE_LEVEL;

    if (!NT_SUCCESS(status))
        return status;
    RtlCopyMemory(&dxgkrnl, interface, interface->Size);
    highest.QuadPart = 0xffffffff;
    if (MEMORY_MISTAKE == 4)
        KeRaiseIrql(DISPATCH_LEVEL, &level);
    if (has_objects())
        ask_for_objects();
    if (!has_objects() || MEMORY_MISTAKE == 10)
        ask_for_lists();
    if (MEMORY_MISTAKE == 4)
        KeLowerIrql(level);
    return status;
}

static NTSTATUS APIENTRY stop(PVOID context)
{
    if (has_objects()) {
        give_object_back(&objects[1], TRUE);
        give_object_back(&objects[0], FALSE);
    } else {
        give_lists_back();
    }
    return stop_reference(context);
}

NTSTATUS NTAPI MemoryInitialize(PDRIVER_OBJECT driver, PUNICODE_STRING path,
                                PDRIVER_INITIALIZATION_DATA table)
{
    start_reference = table->DxgkDdiStartDevice;
    stop_reference = table->DxgkDdiStopDevice;
    table->DxgkDdiStartDevice = start;
    table->DxgkDdiStopDevice = stop;
    return DxgkInitialize(driver, path, table);
}
