/* What the graphics kernel gives a driver for its device, with and without an IOMMU that remaps. */
#include "nt/rig/test_fault.h"
#include "nt/rig/test_kernel.h"

#include "nt/memory/device_memory.h"

#include "base/bits.h"

#include <string.h>

#define TAG 0x31746754u

static PHYSICAL_ADDRESS at(uint64_t address)
{
    return (PHYSICAL_ADDRESS){.QuadPart = (LONGLONG)address};
}

static uint64_t count_left(struct test_kernel *kernel)
{
    uint64_t bytes;

    return nt_device_memory_count(kernel->nt, &bytes);
}

/* ---- Pages and contiguous memory ---- */

static void pages_are_all_there_where_the_driver_wants_them(void **state)
{
    struct test_kernel *kernel = *state;
    const uint64_t free_before = machine_free_page_count(kernel->machine);
    DXGKARGCB_ALLOCATEPAGESFORMDL arg = {
        .LowAddress = at(1 * MiB), .HighAddress = at(2 * MiB - 1), .TotalBytes = 5 * PAGE_SIZE - 7};
    DXGKARGCB_FREEPAGESFROMMDL give;
    uint64_t bytes;
    uint8_t *view;

    assert_int_equal(nt_device_allocate_pages(kernel->nt, &arg), STATUS_SUCCESS);
    assert_true((intptr_t)arg.hMemoryHandle < 0);
    assert_int_equal(arg.pMdl->ByteCount, 5 * PAGE_SIZE);
    for (unsigned i = 0; i < 5; i++) {
        assert_in_range(MmGetMdlPfnArray(arg.pMdl)[i], 0x100, 0x1ff);
        assert_true(machine_page_is_allocated(kernel->machine, MmGetMdlPfnArray(arg.pMdl)[i]));
    }
    view = MmGetSystemAddressForMdlSafe(arg.pMdl, NormalPagePriority);
    assert_int_equal(view[4 * PAGE_SIZE], 0);
    view[4 * PAGE_SIZE] = 7;
    assert_int_equal(nt_device_memory_count(kernel->nt, &bytes), 1);
    assert_int_equal(bytes, 5 * PAGE_SIZE - 7);
    assert_true(nt_system_bytes(kernel->nt) >= bytes);

    give.hMemoryHandle = arg.hMemoryHandle;
    assert_int_equal(nt_device_free_pages(kernel->nt, &give), STATUS_SUCCESS);
    assert_true(faults(view)); /* the view that was forgotten shows nobody else's pages */
    assert_int_equal(nt_device_free_pages(kernel->nt, &give), STATUS_INVALID_HANDLE);
    assert_int_equal(machine_free_page_count(kernel->machine), free_before);
    assert_int_equal(count_left(kernel), 0);
}

/* Nothing is given in part, and nothing that the arguments do not allow. */
static void pages_that_cannot_be_are_refused(void **state)
{
    struct test_kernel *kernel = *state;
    const uint64_t free_before = machine_free_page_count(kernel->machine);
    DXGKARGCB_ALLOCATEPAGESFORMDL arg = {.LowAddress = at(1 * MiB),
                                         .HighAddress = at(1 * MiB + 3 * PAGE_SIZE - 1)};

    arg.TotalBytes = 4 * PAGE_SIZE;
    assert_int_equal(nt_device_allocate_pages(kernel->nt, &arg), STATUS_NO_MEMORY);
    assert_int_equal(machine_free_page_count(kernel->machine), free_before);
    arg.SkipBytes = at(100);
    assert_int_equal(nt_device_allocate_pages(kernel->nt, &arg), STATUS_INVALID_PARAMETER);
    arg.SkipBytes = at(0);
    arg.TotalBytes = 4 * GiB;
    assert_int_equal(nt_device_allocate_pages(kernel->nt, &arg), STATUS_INVALID_PARAMETER);
    assert_int_equal(count_left(kernel), 0);
}

/* Behind the first range the next ones begin SkipBytes further on. */
static void skipped_bytes_lead_to_the_next_range(void **state)
{
    struct test_kernel *kernel = *state;
    DXGKARGCB_ALLOCATEPAGESFORMDL arg = {.LowAddress = at(1 * MiB),
                                         .HighAddress = at(1 * MiB + 2 * PAGE_SIZE - 1),
                                         .SkipBytes = at(16 * PAGE_SIZE),
                                         .TotalBytes = 6 * PAGE_SIZE};
    DXGKARGCB_FREEPAGESFROMMDL give;

    assert_int_equal(nt_device_allocate_pages(kernel->nt, &arg), STATUS_SUCCESS);
    for (unsigned i = 0; i < 6; i++)
        assert_in_range((MmGetMdlPfnArray(arg.pMdl)[i] - 0x100) % 16, 0, 1);
    give.hMemoryHandle = arg.hMemoryHandle;
    assert_int_equal(nt_device_free_pages(kernel->nt, &give), STATUS_SUCCESS);
}

static void contiguous_memory_is_seen_by_the_processor(void **state)
{
    struct test_kernel *kernel = *state;
    const uint64_t free_before = machine_free_page_count(kernel->machine);
    DXGKARGCB_ALLOCATECONTIGUOUSMEMORY arg = {.NumberOfBytes = 3 * PAGE_SIZE,
                                              .HighestAcceptableAddress = at(INT64_MAX),
                                              .BoundaryAddressMultiple = at(16 * PAGE_SIZE)};
    DXGKARGCB_FREECONTIGUOUSMEMORY give;
    uint64_t first, bytes;
    uint8_t *memory;

    assert_int_equal(nt_device_allocate_contiguous(kernel->nt, &arg), STATUS_SUCCESS);
    memory = arg.pMemory;
    first = (uint64_t)MmGetPhysicalAddress(memory).QuadPart;
    assert_int_equal(first / (16 * PAGE_SIZE), (first + 3 * PAGE_SIZE - 1) / (16 * PAGE_SIZE));
    assert_int_equal(MmGetPhysicalAddress(memory + 2 * PAGE_SIZE).QuadPart, first + 2 * PAGE_SIZE);
    memory[3 * PAGE_SIZE - 1] = 1;
    assert_int_equal(nt_mapping_count(kernel->nt, &bytes),
                     0); /* it is no mapping of the driver's */

    give.hMemoryHandle = arg.hMemoryHandle;
    assert_int_equal(nt_device_free_contiguous(kernel->nt, &give), STATUS_SUCCESS);
    assert_true(faults(memory));
    assert_int_equal(machine_free_page_count(kernel->machine), free_before);
    arg.BoundaryAddressMultiple = at(3 * PAGE_SIZE);
    assert_int_equal(nt_device_allocate_contiguous(kernel->nt, &arg), STATUS_INVALID_PARAMETER);
}

/* ---- MDLs of the driver ---- */

static void an_mdl_outlives_its_mapping(void **state)
{
    struct test_kernel *kernel = *state;
    const NTSTATUS found[] = {STATUS_SUCCESS, STATUS_CONFLICTING_ADDRESSES,
                              STATUS_CONFLICTING_ADDRESSES, STATUS_MEMORY_NOT_ALLOCATED};

    for (unsigned i = 0; i < 4; i++) {
        PMDL mdl = MmAllocatePagesForMdl(at(0), at(INT64_MAX), at(0), 2 * PAGE_SIZE);
        DXGKARGCB_MAPMDLTOIOMMU map = {.pMdl = mdl};
        DXGKARGCB_UNMAPMDLFROMIOMMU unmap;
        PFN_NUMBER was = MmGetMdlPfnArray(mdl)[1];

        assert_int_equal(nt_device_map_mdl(kernel->nt, &map), STATUS_SUCCESS);
        unmap.hMemoryHandle = map.hMemoryHandle;
        if (i == 1)
            MmGetMdlPfnArray(mdl)[1] = 3;
        if (i >= 2)
            MmFreePagesFromMdl(mdl);
        if (i == 3)
            ExFreePool(mdl);
        assert_int_equal(nt_device_unmap_mdl(kernel->nt, &unmap), found[i]);
        assert_int_equal(nt_device_unmap_mdl(kernel->nt, &unmap), STATUS_INVALID_HANDLE);
        if (i < 2) {
            MmGetMdlPfnArray(mdl)[1] = was;
            MmFreePagesFromMdl(mdl);
        }
        if (i < 3)
            ExFreePool(mdl);
    }
    assert_int_equal(count_left(kernel), 0);
}

static void an_mdl_without_pages_is_not_mapped(void **state)
{
    struct test_kernel *kernel = *state;
    uint8_t *block = ExAllocatePool2(POOL_FLAG_NON_PAGED, 2 * PAGE_SIZE, TAG);
    PMDL mdl = IoAllocateMdl(block, PAGE_SIZE, FALSE, FALSE, NULL);
    DXGKARGCB_MAPMDLTOIOMMU map = {.pMdl = mdl};
    DXGKARGCB_UNMAPMDLFROMIOMMU unmap;

    assert_int_equal(nt_device_map_mdl(kernel->nt, &map), STATUS_INVALID_PARAMETER);
    MmBuildMdlForNonPagedPool(mdl);
    assert_int_equal(nt_device_map_mdl(kernel->nt, &map), STATUS_SUCCESS);
    unmap.hMemoryHandle = map.hMemoryHandle;
    assert_int_equal(nt_device_unmap_mdl(kernel->nt, &unmap), STATUS_SUCCESS);
    IoFreeMdl(mdl);
    ExFreePool(block);
}

/* ---- Objects ---- */

static DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT create(struct test_kernel *kernel,
                                                      DXGK_PHYSICAL_MEMORY_TYPE type)
{
    DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT arg = {
        .hAdapter = kernel, .Size = 4 * PAGE_SIZE, .Type = type, .CacheType = 1};

    if (type == DXGK_PHYSICAL_MEMORY_TYPE_MDL)
        arg.Mdl.HighAddress = at(INT64_MAX);
    if (type == DXGK_PHYSICAL_MEMORY_TYPE_CONTIGUOUS_MEMORY)
        arg.ContiguousMemory.HighestAcceptableAddress = at(INT64_MAX);
    if (type == DXGK_PHYSICAL_MEMORY_TYPE_IO_SPACE)
        arg.IOSpace.BaseAddress = at(machine_bar1_pa(kernel->machine));
    assert_int_equal(nt_device_create_object(kernel->nt, &arg), STATUS_SUCCESS);
    return arg;
}

static NTSTATUS destroy(struct test_kernel *kernel,
                        const DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT *object)
{
    const DXGKARGCB_DESTROY_PHYSICAL_MEMORY_OBJECT arg = {object->hPhysicalMemoryObject,
                                                          object->hAdapterMemoryObject};

    return nt_device_destroy_object(kernel->nt, &arg);
}

static void a_view_shows_whole_pages(void **state)
{
    struct test_kernel *kernel = *state;
    DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT object = create(kernel, DXGK_PHYSICAL_MEMORY_TYPE_MDL);
    DXGKARGCB_MAP_PHYSICAL_MEMORY map = {.hPhysicalMemoryObject = object.hPhysicalMemoryObject,
                                         .Offset = PAGE_SIZE + 100,
                                         .Size = PAGE_SIZE};
    DXGKARGCB_MAP_PHYSICAL_MEMORY all = {.hPhysicalMemoryObject = object.hPhysicalMemoryObject,
                                         .Size = 4 * PAGE_SIZE};
    DXGKARGCB_UNMAP_PHYSICAL_MEMORY unmap = {.hPhysicalMemoryObject = object.hPhysicalMemoryObject};

    assert_int_equal(nt_device_map_object(kernel->nt, &map), STATUS_SUCCESS);
    assert_int_equal(map.Offset, 100);
    assert_int_equal(map.Size, 2 * PAGE_SIZE);
    assert_int_equal(nt_device_map_object(kernel->nt, &all), STATUS_SUCCESS);
    ((uint8_t *)map.pMappedAddress)[map.Offset] = 0x5a;
    assert_int_equal(((uint8_t *)all.pMappedAddress)[PAGE_SIZE + 100], 0x5a);

    unmap.pBaseAddress = map.pMappedAddress;
    unmap.Size = PAGE_SIZE;
    assert_int_equal(nt_device_unmap_object(kernel->nt, &unmap), STATUS_INVALID_PARAMETER);
    unmap.Size = map.Size;
    assert_int_equal(nt_device_unmap_object(kernel->nt, &unmap), STATUS_SUCCESS);
    assert_true(faults(map.pMappedAddress));
    all.Offset = 3 * PAGE_SIZE;
    assert_int_equal(nt_device_map_object(kernel->nt, &all), STATUS_INVALID_PARAMETER);
    assert_int_equal(destroy(kernel, &object), STATUS_SUCCESS); /* with the view that is left */
    assert_int_equal(destroy(kernel, &object), STATUS_INVALID_HANDLE);
    assert_int_equal(nt_device_map_object(kernel->nt, &map), STATUS_INVALID_HANDLE);
}

static DXGKARGCB_ALLOCATE_ADL list(struct test_kernel *kernel, HANDLE adapter, uint32_t flags)
{
    DXGKARGCB_ALLOCATE_ADL arg = {.hAdapterMemoryObject = adapter,
                                  .Offset = PAGE_SIZE,
                                  .Size = 3 * PAGE_SIZE,
                                  .Flags.Value = flags};

    assert_int_equal(nt_device_allocate_adl(kernel->nt, &arg), STATUS_SUCCESS);
    assert_int_equal(arg.pAdl->PageCount, 3);
    return arg;
}

static NTSTATUS unlist(struct test_kernel *kernel, const DXGKARGCB_ALLOCATE_ADL *of)
{
    const DXGKARGCB_FREE_ADL arg = {of->hAdapterMemoryObject, of->pAdl};

    return nt_device_free_adl(kernel->nt, &arg);
}

#define REQUIRED  1u
#define PREFERRED 2u

static void an_adl_tells_the_pages_of_the_object(void **state)
{
    struct test_kernel *kernel = *state;
    DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT scattered =
        create(kernel, DXGK_PHYSICAL_MEMORY_TYPE_MDL);
    DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT contiguous =
        create(kernel, DXGK_PHYSICAL_MEMORY_TYPE_CONTIGUOUS_MEMORY);
    DXGKARGCB_MAP_PHYSICAL_MEMORY map = {.hPhysicalMemoryObject = scattered.hPhysicalMemoryObject,
                                         .Size = 4 * PAGE_SIZE};
    DXGKARGCB_ALLOCATE_ADL adl,
        wrong = {.hAdapterMemoryObject = scattered.hAdapterMemoryObject, .Size = PAGE_SIZE};

    assert_int_equal(nt_device_map_object(kernel->nt, &map), STATUS_SUCCESS);
    adl = list(kernel, scattered.hAdapterMemoryObject, PREFERRED);
    assert_int_equal(adl.pAdl->Flags.Contiguous, 0);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(
            adl.pAdl->Pages[i] * PAGE_SIZE,
            MmGetPhysicalAddress((uint8_t *)map.pMappedAddress + (1 + i) * PAGE_SIZE).QuadPart);
    assert_int_equal(destroy(kernel, &scattered), STATUS_DEVICE_BUSY);
    assert_int_equal(unlist(kernel, &adl), STATUS_SUCCESS);
    assert_int_equal(unlist(kernel, &adl), STATUS_INVALID_PARAMETER);

    adl = list(kernel, contiguous.hAdapterMemoryObject, REQUIRED);
    assert_int_equal(adl.pAdl->Flags.Contiguous, 1);
    assert_true(machine_page_is_allocated(kernel->machine, adl.pAdl->BasePageNumber + 2));
    assert_int_equal(unlist(kernel, &adl), STATUS_SUCCESS);
    adl = list(kernel, contiguous.hAdapterMemoryObject, 0); /* nobody has asked for it */
    assert_int_equal(adl.pAdl->Flags.Contiguous, 0);
    assert_int_equal(adl.pAdl->Pages[2], adl.pAdl->Pages[0] + 2);
    assert_int_equal(unlist(kernel, &adl), STATUS_SUCCESS);

    wrong.Flags.Value = REQUIRED; /* of pages that are scattered */
    assert_int_equal(nt_device_allocate_adl(kernel->nt, &wrong), STATUS_INVALID_PARAMETER);
    wrong.Flags.Value = 4;
    assert_int_equal(nt_device_allocate_adl(kernel->nt, &wrong), STATUS_INVALID_PARAMETER);
    wrong.Flags.Value = 0;
    wrong.Offset = 8;
    assert_int_equal(nt_device_allocate_adl(kernel->nt, &wrong), STATUS_INVALID_PARAMETER);
    wrong.Offset = 4 * PAGE_SIZE;
    assert_int_equal(nt_device_allocate_adl(kernel->nt, &wrong), STATUS_INVALID_PARAMETER);
    assert_int_equal(destroy(kernel, &scattered), STATUS_SUCCESS);
    assert_int_equal(destroy(kernel, &contiguous), STATUS_SUCCESS);
    assert_int_equal(count_left(kernel), 0);
}

static void an_object_is_opened_before_it_is_listed(void **state)
{
    struct test_kernel *kernel = *state;
    DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT object = {
        .Size = 4 * PAGE_SIZE, .Type = DXGK_PHYSICAL_MEMORY_TYPE_SECTION, .CacheType = 1};
    DXGKARGCB_OPEN_PHYSICAL_MEMORY_OBJECT open = {.hAdapter = kernel};
    DXGKARGCB_CLOSE_PHYSICAL_MEMORY_OBJECT close;
    DXGKARGCB_ALLOCATE_ADL adl = {.Size = PAGE_SIZE};

    assert_int_equal(nt_device_create_object(kernel->nt, &object), STATUS_SUCCESS);
    assert_null(object.hAdapterMemoryObject);
    assert_int_equal(nt_device_allocate_adl(kernel->nt, &adl), STATUS_INVALID_HANDLE);
    open.hPhysicalMemoryObject = object.hPhysicalMemoryObject;
    assert_int_equal(nt_device_open_object(kernel->nt, &open), STATUS_SUCCESS);
    close.hAdapterMemoryObject = open.hAdapterMemoryObject;
    adl = list(kernel, open.hAdapterMemoryObject, 0);
    assert_int_equal(nt_device_open_object(kernel->nt, &open), STATUS_ALREADY_COMMITTED);
    assert_int_equal(nt_device_close_object(kernel->nt, &close), STATUS_DEVICE_BUSY);
    assert_int_equal(unlist(kernel, &adl), STATUS_SUCCESS);
    assert_int_equal(nt_device_close_object(kernel->nt, &close), STATUS_SUCCESS);
    assert_int_equal(nt_device_close_object(kernel->nt, &close), STATUS_INVALID_HANDLE);
    assert_int_equal(destroy(kernel, &object), STATUS_SUCCESS);
    object.CacheType = DXGK_MEMORY_CACHING_TYPE_NON_CACHED;
    assert_int_equal(nt_device_create_object(kernel->nt, &object), STATUS_INVALID_PARAMETER);
}

/* ---- Behind an IOMMU that remaps ---- */

#define FIRST_LOGICAL 0x70000u

static unsigned shown;

static bool show(void *context, const uint64_t *pfns, uint64_t count, uint64_t *out_first)
{
    shown += (unsigned)count;
    *out_first = FIRST_LOGICAL;
    return true;
}

static void hide(void *context, const uint64_t *pfns, uint64_t count)
{
    shown -= (unsigned)count;
}

static void a_remapped_device_gets_logical_pages(void **state)
{
    struct test_kernel *kernel = *state;
    const struct nt_device_pages pages = {NULL, show, hide};
    DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT object, board;
    DXGKARGCB_ALLOCATEPAGESFORMDL old = {.HighAddress = at(INT64_MAX), .TotalBytes = PAGE_SIZE};
    DXGKARGCB_ALLOCATECONTIGUOUSMEMORY old_too = {.NumberOfBytes = PAGE_SIZE};
    DXGKARGCB_MAPMDLTOIOMMU old_also = {0};
    DXGKARGCB_ALLOCATE_ADL adl;

    shown = 0;
    nt_set_device_pages(kernel->nt, &pages);
    object = create(kernel, DXGK_PHYSICAL_MEMORY_TYPE_MDL);
    assert_int_equal(shown, 4);
    adl = list(kernel, object.hAdapterMemoryObject, PREFERRED);
    assert_int_equal(adl.pAdl->Flags.Contiguous, 1);
    assert_int_equal(adl.pAdl->BasePageNumber, FIRST_LOGICAL + 1);
    assert_int_equal(unlist(kernel, &adl), STATUS_SUCCESS);
    adl = list(kernel, object.hAdapterMemoryObject, 0);
    assert_int_equal(adl.pAdl->Pages[1], FIRST_LOGICAL + 2);
    assert_int_equal(unlist(kernel, &adl), STATUS_SUCCESS);
    assert_int_equal(destroy(kernel, &object), STATUS_SUCCESS);
    assert_int_equal(shown, 0);

    board = create(kernel, DXGK_PHYSICAL_MEMORY_TYPE_IO_SPACE);
    assert_int_equal(shown, 0); /* no pages of RAM */
    adl = list(kernel, board.hAdapterMemoryObject, REQUIRED);
    assert_int_equal(adl.pAdl->BasePageNumber, machine_bar1_pa(kernel->machine) / PAGE_SIZE + 1);
    assert_int_equal(unlist(kernel, &adl), STATUS_SUCCESS);
    assert_int_equal(destroy(kernel, &board), STATUS_SUCCESS);

    assert_int_equal(nt_device_allocate_pages(kernel->nt, &old), STATUS_NOT_SUPPORTED);
    assert_int_equal(nt_device_allocate_contiguous(kernel->nt, &old_too), STATUS_NOT_SUPPORTED);
    assert_int_equal(nt_device_map_mdl(kernel->nt, &old_also), STATUS_NOT_SUPPORTED);

    /* What the driver has left ends when the IOMMU has gone. */
    object = create(kernel, DXGK_PHYSICAL_MEMORY_TYPE_MDL);
    nt_set_device_pages(kernel->nt, NULL);
}

/* The kernel lacks memory in each place once; nothing is left of what failed. */
static void nothing_is_left_of_what_fails(void **state)
{
    struct test_kernel *kernel = *state;
    const uint64_t free_before = machine_free_page_count(kernel->machine);
    bool has_failed = true;

    for (unsigned n = 1; has_failed; n++) {
        DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT object = {
            .hAdapter = kernel, .Size = 4 * PAGE_SIZE, .Mdl.HighAddress = at(INT64_MAX)};
        DXGKARGCB_ALLOCATEPAGESFORMDL pages = {.HighAddress = at(1 * MiB),
                                               .TotalBytes = 2 * PAGE_SIZE};
        DXGKARGCB_ALLOCATE_ADL adl = {.Size = 2 * PAGE_SIZE};
        DXGKARGCB_FREEPAGESFROMMDL give;

        failing_services_fail_at(&kernel->memory, n);
        if (NT_SUCCESS(nt_device_allocate_pages(kernel->nt, &pages))) {
            give.hMemoryHandle = pages.hMemoryHandle;
            nt_device_free_pages(kernel->nt, &give);
        }
        if (NT_SUCCESS(nt_device_create_object(kernel->nt, &object))) {
            adl.hAdapterMemoryObject = object.hAdapterMemoryObject;
            if (NT_SUCCESS(nt_device_allocate_adl(kernel->nt, &adl)))
                unlist(kernel, &adl);
            assert_int_equal(destroy(kernel, &object), STATUS_SUCCESS);
        }
        has_failed = kernel->memory.has_failed;
        failing_services_fail_at(&kernel->memory, 0);
        assert_int_equal(machine_free_page_count(kernel->machine), free_before);
        assert_int_equal(count_left(kernel), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MACHINE_TEST(pages_are_all_there_where_the_driver_wants_them),
        MACHINE_TEST(pages_that_cannot_be_are_refused),
        MACHINE_TEST(skipped_bytes_lead_to_the_next_range),
        MACHINE_TEST(contiguous_memory_is_seen_by_the_processor),
        MACHINE_TEST(an_mdl_outlives_its_mapping),
        MACHINE_TEST(an_mdl_without_pages_is_not_mapped),
        MACHINE_TEST(a_view_shows_whole_pages),
        MACHINE_TEST(an_adl_tells_the_pages_of_the_object),
        MACHINE_TEST(an_object_is_opened_before_it_is_listed),
        MACHINE_TEST(a_remapped_device_gets_logical_pages),
        MACHINE_TEST(nothing_is_left_of_what_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
